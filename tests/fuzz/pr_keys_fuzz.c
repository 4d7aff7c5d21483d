// SPDX-License-Identifier: GPL-2.0
/*
 * Input: a key (8 bytes), then what a target might answer to READ KEYS or READ RESERVATION.
 * The keys are counted here, too, from the end of the list on. Those that are added to a list are
 * all but that key, which it has already.
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

static void check_added(const u8 *data, u32 bytes, u64 key)
{
	u32 all = bytes < HEADER_BYTES ? 0 :
		  min(bytes - HEADER_BYTES, get_unaligned_be32(data + 4)) / KEY_BYTES;
	u32 ours = all ? count(data + HEADER_BYTES, all * KEY_BYTES, key) : 0;
	u32 room = 1 + (u8)key % (all - ours + 2);
	u64 *keys = malloc(room * sizeof(*keys));
	u32 added, i;

	require(keys);
	keys[0] = key;
	added = istripe_pr_keys_add(data, bytes, keys, 1, room);
	require(added == min(room, 1 + all - ours));
	for (i = 1; i < added; i++)
		require(keys[i] != key && count(data + HEADER_BYTES, all * KEY_BYTES, keys[i]));
	free(keys);
}

static void check_holder(const u8 *data, u32 bytes)
{
	bool listed = bytes >= HEADER_BYTES && get_unaligned_be32(data + 4);
	struct istripe_pr_holder holder = { .type = 0xff };
	int ret = istripe_pr_holder_decode(data, bytes, &holder);

	require(ret == (bytes < (listed ? HOLDER_BYTES : HEADER_BYTES) ? -EPROTO : 0));
	if (ret)
		return;
	require(holder.type < 16);
	require(holder.generation == get_unaligned_be32(data));
	if (!listed)
		require(!holder.key && !holder.type);
	else
		require(holder.key == get_unaligned_be64(data + HEADER_BYTES));
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
	check_added(exact, size - KEY_BYTES, key);
	check_holder(exact, size - KEY_BYTES);
	free(exact);
	return 0;
}
