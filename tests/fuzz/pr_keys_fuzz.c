// SPDX-License-Identifier: GPL-2.0
/*
 * Input: a key (8 bytes), then what a target might answer to READ KEYS or READ RESERVATION.
 * The keys are counted here, too, from the end of the list on.
 */
#include <stdlib.h>
#include <string.h>

#include <linux/errno.h>
#include <linux/minmax.h>

#include <compat/unaligned.h>

#include "scsi/pr_keys.h"
#include "fuzz.h"

#define KEY_BYTES	8
#define HEADER_BYTES	8
#define HOLDER_BYTES	24

#define require(condition) do { if (!(condition)) __builtin_trap(); } while (0)

static u32 count(const u8 *list, u32 bytes, u64 key)
{
	u32 found = 0, left = bytes / KEY_BYTES;

	while (left--)
		found += get_unaligned_be64(list + left * KEY_BYTES) == key;
	return found;
}

static void check_keys(const u8 *data, u32 bytes, u64 key)
{
	struct istripe_pr_keys keys;
	int ret = istripe_pr_keys_decode(data, bytes, key, &keys);

	require(ret == (bytes < HEADER_BYTES ? -EPROTO : 0));
	if (ret)
		return;
	bytes -= HEADER_BYTES;
	require(keys.generation == get_unaligned_be32(data));
	require(keys.listed == get_unaligned_be32(data + 4));
	require(keys.cut == (keys.listed > bytes));
	require(keys.count == count(data + HEADER_BYTES, min(bytes, keys.listed), key));
}

static void check_holder(const u8 *data, u32 bytes)
{
	bool listed = bytes >= HEADER_BYTES && get_unaligned_be32(data + 4);
	u64 key = ~0ULL;
	u8 type = 0xff;
	int ret = istripe_pr_holder_decode(data, bytes, &key, &type);

	require(ret == (bytes < (listed ? HOLDER_BYTES : HEADER_BYTES) ? -EPROTO : 0));
	if (ret)
		return;
	require(type < 16);
	if (!listed)
		require(!key && !type);
	else
		require(key == get_unaligned_be64(data + HEADER_BYTES));
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	u64 key;
	u8 *exact;

	if (size < KEY_BYTES || size > KEY_BYTES + 4096)
		return 0;
	key = get_unaligned_be64(data);
	exact = malloc(size - KEY_BYTES ?: 1);
	require(exact);
	memcpy(exact, data + KEY_BYTES, size - KEY_BYTES);
	check_keys(exact, size - KEY_BYTES, key);
	check_holder(exact, size - KEY_BYTES);
	free(exact);
	return 0;
}
