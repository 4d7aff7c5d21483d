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

int istripe_pr_holder_decode(const u8 *data, u32 bytes, u64 *key, u8 *type)
{
	if (bytes < HEADER_BYTES)
		return -EPROTO;
	*key = 0;
	*type = 0;
	if (!get_unaligned_be32(data + 4))
		return 0;
	if (bytes < HOLDER_BYTES)
		return -EPROTO;
	*key = get_unaligned_be64(data + HEADER_BYTES);
	*type = data[21] & 0x0f;
	return 0;
}
