// SPDX-License-Identifier: GPL-2.0
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/mutex.h>
#include <linux/string.h>

#include "block/claim.h"
#include "block/leg.h"
#include "block/volume.h"

static LIST_HEAD(claims);
static DEFINE_MUTEX(claims_lock);

const struct istripe_leg *istripe_claim_find(const struct istripe_volume *volume, u32 end,
					     const char *designator)
{
	u32 i;

	for (i = 0; i < end; i++)
		if (!strcmp(volume->legs[i]->lun.designator, designator))
			return volume->legs[i];
	return NULL;
}

static int claim_check_leg(const struct istripe_volume *volume, u32 index, char *why,
			   size_t why_bytes)
{
	const char *designator = volume->legs[index]->lun.designator;
	const struct istripe_leg *leg = istripe_claim_find(volume, index, designator);
	const struct istripe_volume *other;

	if (leg) {
		scnprintf(why, why_bytes, "legs %u and %u are the same LUN, %s", leg->index,
			  index, designator);
		return -EINVAL;
	}
	list_for_each_entry(other, &claims, claim.entry) {
		leg = istripe_claim_find(other, other->leg_count, designator);
		if (!leg)
			continue;
		scnprintf(why, why_bytes,
			  "leg %u is LUN %s, which is leg %u of volume %s already: that volume must be down first",
			  index, designator, leg->index, other->name);
		return -EBUSY;
	}
	return 0;
}

int istripe_claim_luns(struct istripe_volume *volume, char *why, size_t why_bytes)
{
	int ret = 0;
	u32 i;

	mutex_lock(&claims_lock);
	for (i = 0; !ret && i < volume->leg_count; i++)
		ret = claim_check_leg(volume, i, why, why_bytes);
	if (!ret)
		list_add(&volume->claim.entry, &claims);
	mutex_unlock(&claims_lock);
	return ret;
}

static bool claim_is_array(const struct istripe_volume *other, const u8 *uuid)
{
	return other->claim.array &&
	       !memcmp(other->metadata.legs[0].array_uuid, uuid,
		       sizeof(other->metadata.legs[0].array_uuid));
}

int istripe_claim_array(struct istripe_volume *volume, char *why, size_t why_bytes)
{
	const struct istripe_volume *other;
	const u8 *uuid;
	int ret = 0;

	if (volume->metadata.kind == ISTRIPE_METADATA_NONE)
		return 0;
	uuid = volume->metadata.legs[0].array_uuid;
	mutex_lock(&claims_lock);
	list_for_each_entry(other, &claims, claim.entry) {
		if (!claim_is_array(other, uuid))
			continue;
		scnprintf(why, why_bytes,
			  "its superblocks are of array %4phN:%4phN:%4phN:%4phN, which is volume %s already: these LUNs, or that volume's, are copies",
			  uuid, uuid + 4, uuid + 8, uuid + 12, other->name);
		ret = -EBUSY;
		break;
	}
	volume->claim.array = !ret;
	mutex_unlock(&claims_lock);
	return ret;
}

void istripe_claim_drop(struct istripe_volume *volume)
{
	mutex_lock(&claims_lock);
	list_del_init(&volume->claim.entry);
	mutex_unlock(&claims_lock);
}
