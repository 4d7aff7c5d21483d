/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Superblocks of legs, read with the driver's own code (drivers/istripe/layout): what is good here
 * is good there.
 */
#ifndef ISTRIPECTL_SUPERBLOCK_H
#define ISTRIPECTL_SUPERBLOCK_H

#include <stdbool.h>
#include <stddef.h>

#define SUPERBLOCK_REASON_BYTES	160

enum superblock_result {
	SUPERBLOCK_LEG,	/* a leg of an array that the driver takes */
	SUPERBLOCK_NONE,	/* nothing known is there */
	SUPERBLOCK_FOREIGN,	/* something else is there */
	SUPERBLOCK_DAMAGED,	/* it was one, and cannot be used */
};

struct superblock {
	enum superblock_result result;
	const char *reason;		/* a phrase, of results other than SUPERBLOCK_LEG */
	const char *signature;		/* of what is there instead; NULL: nothing known */
	bool has_fields;		/* all below; else it could not be told */
	unsigned char array_uuid[16];
	unsigned char device_uuid[16];
	char name[33];
	unsigned int legs, role;
	unsigned int layout;		/* of raid0: 0 not told, 1 original, 2 alternate */
	unsigned long long chunk_bytes;
	unsigned long long data_offset_bytes;
	unsigned long long data_bytes;	/* room for data */
	unsigned long long share_bytes;	/* of it, in whole chunks */
	unsigned int logical_block_bytes;	/* of the array; 0: not told */
	unsigned long long events;
	unsigned long long created_s, updated_s;	/* since 1970 */
};

/**
 * superblock_read() - read what is on a device; nothing is written
 * @fd: open for reading
 * @bytes: its size
 * @super: filled
 *
 * Return: 0; -errno: it cannot be read.
 */
int superblock_read(int fd, unsigned long long bytes, struct superblock *super);

/**
 * superblock_check() - whether legs make their array, as the driver decides when it comes up
 * @fds: open for reading, in the order of the legs
 * @bytes: their sizes
 * @count: their number, at most ISTRIPE_LEGS_MAX
 * @reason: SUPERBLOCK_REASON_BYTES, set to one line; empty on success
 *
 * Return: 0; -errno.
 */
int superblock_check(const int *fds, const unsigned long long *bytes, unsigned int count,
		     char *reason);

#endif
