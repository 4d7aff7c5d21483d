// SPDX-License-Identifier: GPL-2.0
/* Superblocks of legs. Compiled with tests/host/include, as the driver's code is in user space. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include <linux/string.h>

#include <istripe/reason.h>
#include <istripe/settings.h>
#include <layout/md.h>
#include <layout/signature.h>

#include "superblock.h"

#define SUPER_AT	((off_t)ISTRIPE_MD_SUPER_SECTOR << 9)

/* Of a device that is open with O_DIRECT, too; less than @bytes at its end. */
static ssize_t block_read(int fd, off_t at, void **block, size_t bytes)
{
	ssize_t got;

	if (posix_memalign(block, ISTRIPE_MD_SUPER_BYTES, bytes))
		abort();
	memset(*block, 0, bytes);
	got = pread(fd, *block, bytes, at);
	if (got >= 0)
		return got;
	free(*block);
	*block = NULL;
	return -errno;
}

static int md_read(int fd, unsigned long long bytes, struct istripe_md *md)
{
	void *block;
	ssize_t got = block_read(fd, SUPER_AT, &block, ISTRIPE_MD_SUPER_BYTES);

	if (got < 0)
		return got;
	istripe_md_decode(block, got, bytes >> 9, md);
	/* A device that ends before it has none. */
	if (!got)
		md->problem = ISTRIPE_MD_ABSENT;
	free(block);
	return 0;
}

static int signature_read(int fd, unsigned long long bytes, const char **what)
{
	u64 at;
	u32 n;

	for (n = 0; !*what && istripe_signature_place(bytes, n, &at); n++) {
		void *block;
		ssize_t got = block_read(fd, at, &block, ISTRIPE_SIGNATURE_BLOCK_BYTES);

		if (got < 0)
			return got;
		*what = istripe_signature_find(block, bytes, at);
		free(block);
	}
	return 0;
}

static void fields_take(const struct istripe_md *md, struct superblock *super)
{
	super->has_fields = true;
	memcpy(super->array_uuid, md->array_uuid, sizeof(super->array_uuid));
	memcpy(super->device_uuid, md->device_uuid, sizeof(super->device_uuid));
	strscpy(super->name, md->name, sizeof(super->name));
	super->legs = md->legs;
	super->role = md->role;
	super->layout = md->layout;
	super->chunk_bytes = (u64)md->chunk_sectors << 9;
	super->data_offset_bytes = md->data_offset_sectors << 9;
	super->data_bytes = md->data_sectors << 9;
	super->share_bytes = istripe_md_share_sectors(md) << 9;
	super->logical_block_bytes = md->logical_block_bytes;
	super->events = md->events;
	super->created_s = md->ctime_s;
	super->updated_s = md->utime_s;
}

static enum superblock_result result_of(enum istripe_md_problem problem)
{
	switch (problem) {
	case ISTRIPE_MD_OK:
		return SUPERBLOCK_LEG;
	case ISTRIPE_MD_ABSENT:
		return SUPERBLOCK_NONE;
	case ISTRIPE_MD_UNREAD:
	case ISTRIPE_MD_TRUNCATED:
	case ISTRIPE_MD_CHECKSUM:
	case ISTRIPE_MD_DATA_OFFSET:
	case ISTRIPE_MD_SIZE:
		return SUPERBLOCK_DAMAGED;
	default:
		return SUPERBLOCK_FOREIGN;
	}
}

int superblock_read(int fd, unsigned long long bytes, struct superblock *super)
{
	struct istripe_md md = {};
	int ret = md_read(fd, bytes, &md);

	memset(super, 0, sizeof(*super));
	if (ret)
		return ret;
	super->result = result_of(md.problem);
	super->reason = istripe_md_problem_text(md.problem);
	/* The sum was right, and its numbers were read. */
	if (md.problem == ISTRIPE_MD_OK || md.problem >= ISTRIPE_MD_LAYOUT)
		fields_take(&md, super);
	if (super->result != SUPERBLOCK_NONE)
		return 0;
	ret = signature_read(fd, bytes, &super->signature);
	if (super->signature)
		super->result = SUPERBLOCK_FOREIGN;
	return ret;
}

int superblock_check(const int *fds, const unsigned long long *bytes, unsigned int count,
		     char *reason)
{
	struct istripe_md legs[ISTRIPE_LEGS_MAX] = {};
	struct istripe_reason why;
	u32 bad_leg;
	unsigned int i;
	int ret;

	for (i = 0; i < count; i++)
		if (md_read(fds[i], bytes[i], &legs[i]))
			return -EIO;
	ret = istripe_md_check_array(legs, count, &bad_leg, &why);
	strscpy(reason, why.text, SUPERBLOCK_REASON_BYTES);
	return ret;
}
