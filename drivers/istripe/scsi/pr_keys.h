/* SPDX-License-Identifier: GPL-2.0 */
/* Keys of persistent reservations, and the reservation, as a LUN tells them (SPC-5 6.15). */
#ifndef ISTRIPE_SCSI_PR_KEYS_H
#define ISTRIPE_SCSI_PR_KEYS_H

#include <linux/types.h>

struct istripe_pr_keys {
	u32 generation;		/* PRGENERATION: changes of registrations so far, modulo 2^32 */
	u32 count;		/* nexuses, of all hosts, that are registered with the key */
	u32 listed;		/* bytes of all keys */
	bool cut;		/* the list is longer than what has come */
};

struct istripe_pr_holder {
	u32 generation;		/* as above */
	u64 key;		/* 0: there is none, or each registered nexus is one */
	u8 type;		/* of the reservation; 0: there is none */
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

/**
 * istripe_pr_keys_add() - add the keys of an answer to READ KEYS to a list
 * @data: the answer
 * @bytes: of it that have come
 * @keys: the list
 * @count: keys that it has; none of these is added again
 * @room: keys that it can have
 * Return: keys that it has then.
 */
u32 istripe_pr_keys_add(const u8 *data, u32 bytes, u64 *keys, u32 count, u32 room);

/**
 * istripe_pr_holder_decode() - the answer to READ RESERVATION
 * @data: the answer
 * @bytes: of it that have come
 * @holder: filled
 * Return: 0; -EPROTO: it is too short.
 */
int istripe_pr_holder_decode(const u8 *data, u32 bytes, struct istripe_pr_holder *holder);

#endif
