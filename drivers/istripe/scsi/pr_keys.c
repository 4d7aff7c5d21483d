// SPDX-License-Identifier: GPL-2.0
#include <linux/errno.h>
#include <linux/minmax.h>
#include <compat/unaligned.h>

#include "scsi/pr_keys.h"

#define HEADER_BYTES	8
#define KEY_BYTES	8
#define HOLDER_BYTES	24

int istripe_pr_keys_decode(const u8 *data, u32 bytes, u64 key, struct istripe_pr_keys *keys)
{
	u32 listed, at;

	if (bytes < HEADER_BYTES)
		return -EPROTO;
	bytes -= HEADER_BYTES;
	listed = get_unaligned_be32(data + 4);
	*keys = (struct istripe_pr_keys) {
		.generation = get_unaligned_be32(data),
		.listed = listed,
		.cut = listed > bytes,
	};
	bytes = min(bytes, listed);
	for (at = HEADER_BYTES; bytes >= KEY_BYTES; at += KEY_BYTES, bytes -= KEY_BYTES)
		keys->count += get_unaligned_be64(data + at) == key;
	return 0;
}

static bool keys_have(const u64 *keys, u32 count, u64 key)
{
	while (count--)
		if (keys[count] == key)
			return true;
	return false;
}

u32 istripe_pr_keys_add(const u8 *data, u32 bytes, u64 *keys, u32 count, u32 room)
{
	u32 had = count;
	u32 at;
	u64 key;

	if (bytes < HEADER_BYTES)
		return count;
	bytes = min(bytes - HEADER_BYTES, get_unaligned_be32(data + 4));
	for (at = HEADER_BYTES; bytes >= KEY_BYTES && count < room;
	     at += KEY_BYTES, bytes -= KEY_BYTES) {
		key = get_unaligned_be64(data + at);
		if (!keys_have(keys, had, key))
			keys[count++] = key;
	}
	return count;
}

int istripe_pr_holder_decode(const u8 *data, u32 bytes, struct istripe_pr_holder *holder)
{
	if (bytes < HEADER_BYTES)
		return -EPROTO;
	*holder = (struct istripe_pr_holder) { .generation = get_unaligned_be32(data) };
	if (!get_unaligned_be32(data + 4))
		return 0;
	if (bytes < HOLDER_BYTES)
		return -EPROTO;
	holder->key = get_unaligned_be64(data + HEADER_BYTES);
	holder->type = data[21] & 0x0f;
	return 0;
}
