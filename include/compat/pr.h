/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reading persistent reservations: older kernels have no operations for it, nor functions that
 * translate types.
 */
#ifndef ISTRIPE_COMPAT_PR_H
#define ISTRIPE_COMPAT_PR_H

#include <linux/pr.h>
#include <scsi/scsi_common.h>

#ifdef ISTRIPE_HAVE_PR_READ_KEYS
#define ISTRIPE_COMPAT_PR_READS(keys, reservation) \
	.pr_read_keys = (keys), .pr_read_reservation = (reservation)

/* 0: no type that Linux knows; as in the next one. */
static inline u8 istripe_compat_pr_type_to_scsi(enum pr_type type)
{
	return block_pr_type_to_scsi(type);
}

static inline enum pr_type istripe_compat_pr_type_of_scsi(u8 type)
{
	return scsi_pr_type_to_block(type);
}
#else
/* Nobody calls the functions then. */
#define ISTRIPE_COMPAT_PR_READS(...)

struct pr_keys {
	u32 generation;
	u32 num_keys;
	u64 keys[];
};

struct pr_held_reservation {
	u64 key;
	u32 generation;
	enum pr_type type;
};

static inline u8 istripe_compat_pr_type_to_scsi(enum pr_type type)
{
	switch (type) {
	case PR_WRITE_EXCLUSIVE:
		return 0x01;
	case PR_EXCLUSIVE_ACCESS:
		return 0x03;
	case PR_WRITE_EXCLUSIVE_REG_ONLY:
		return 0x05;
	case PR_EXCLUSIVE_ACCESS_REG_ONLY:
		return 0x06;
	case PR_WRITE_EXCLUSIVE_ALL_REGS:
		return 0x07;
	case PR_EXCLUSIVE_ACCESS_ALL_REGS:
		return 0x08;
	default:
		return 0;
	}
}

static inline enum pr_type istripe_compat_pr_type_of_scsi(u8 type)
{
	return 0;
}
#endif

#endif
