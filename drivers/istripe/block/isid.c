// SPDX-License-Identifier: GPL-2.0
#include <linux/crc32c.h>
#include <linux/string.h>
#include <compat/unaligned.h>

#include "block/isid.h"
#include "block/leg.h"
#include "block/nexus.h"
#include "block/path.h"
#include "block/volume.h"

/* Type 10b. istripe_isid_of_nexus() adds the bits of the nexus's index. */
static void isid_derive(const struct istripe_nexus *nexus, u8 *isid)
{
	const char *volume = nexus->leg->volume->name;
	const char *target = nexus->path->params.target_name;
	u32 hash;

	hash = crc32c(~0u, volume, strlen(volume) + 1);
	hash = crc32c(hash, target, strlen(target) + 1);
	isid[0] = 0x80;
	put_unaligned_be24(hash, isid + 1);
	/* The qualifier: leg, path, and the rest of the hash. */
	put_unaligned_be16((hash >> 24 & 0x3f) << 10 | nexus->leg->index << 4 |
			   nexus->path->index, isid + 4);
}

void istripe_isid_choose(struct istripe_nexus *nexus)
{
	memcpy(nexus->isid, nexus->path->params.isid, sizeof(nexus->isid));
	if (!memchr_inv(nexus->isid, 0, sizeof(nexus->isid)))
		isid_derive(nexus, nexus->isid);
	istripe_isid_of_nexus(nexus->isid, nexus->index);
}

void istripe_isid_of_test_session(const struct istripe_nexus *nexus, u8 *isid)
{
	u32 i;

	isid_derive(nexus, isid);
	/* All nexuses at this target have the same hash, so none uses its complement. */
	for (i = 1; i < 4; i++)
		isid[i] = ~isid[i];
}
