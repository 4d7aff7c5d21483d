// SPDX-License-Identifier: GPL-2.0
#include <linux/crc32c.h>
#include <linux/string.h>
#include <compat/unaligned.h>

#include "block/bundle.h"
#include "block/isid.h"
#include "block/leg.h"
#include "block/path.h"
#include "block/volume.h"

/* Type 10b. The members' own bits are not in it yet. */
static void isid_derive(const struct istripe_path *path, u8 *isid)
{
	u32 hash;

	hash = crc32c(~0u, path->leg->volume->name, strlen(path->leg->volume->name) + 1);
	hash = crc32c(hash, path->params.target_name, strlen(path->params.target_name) + 1);
	isid[0] = 0x80;
	put_unaligned_be24(hash, isid + 1);
	/* The qualifier: which of the volume's paths, and what is left of the hash. */
	put_unaligned_be16((hash >> 24 & 0x3f) << 10 | path->leg->index << 4 |
			   path->bundle->index, isid + 4);
}

void istripe_isid_choose(struct istripe_path *path)
{
	if (memchr_inv(path->params.isid, 0, sizeof(path->params.isid)))
		memcpy(path->isid, path->params.isid, sizeof(path->isid));
	else
		isid_derive(path, path->isid);
	istripe_isid_of_member(path->isid, path->member);
}

void istripe_isid_spare(const struct istripe_path *path, u8 *isid)
{
	u32 i;

	isid_derive(path, isid);
	/* That of no path of the volume at this target: there the hash is the same for all. */
	for (i = 1; i < 4; i++)
		isid[i] = ~isid[i];
}
