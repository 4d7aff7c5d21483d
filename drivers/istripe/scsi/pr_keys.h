/* SPDX-License-Identifier: GPL-2.0 */
/* The keys of persistent reservations as a LUN lists them (SPC-5 6.15.2). */
#ifndef ISTRIPE_SCSI_PR_KEYS_H
#define ISTRIPE_SCSI_PR_KEYS_H

#include <linux/types.h>

struct istripe_pr_keys {
	u32 generation;		/* PRGENERATION: changes of registrations so far, modulo 2^32 */
	u32 count;		/* nexuses, of all hosts, that are registered with the key */
	u32 listed;		/* bytes of all keys */
	bool cut;		/* the list is longer than what has come */
};

/**
 * istripe_pr_keys_decode() - look for a key in the answer to READ KEYS
 * @data: the answer
 * @bytes: of it that have come
 * @key: the key
 * @keys: filled
 * Return: 0; -EPROTO: no header.
 */
int istripe_pr_keys_decode(const u8 *data, u32 bytes, u64 key, struct istripe_pr_keys *keys);

#endif
