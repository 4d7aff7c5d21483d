// SPDX-License-Identifier: GPL-2.0
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/mutex.h>
#include <linux/string.h>

#include <istripe/reason.h>
#include "block/exclusive.h"
#include "block/leg.h"
#include "block/volume.h"

static LIST_HEAD(owners);
static DEFINE_MUTEX(owners_lock);

/* The first of legs 0..@end - 1 that is the LUN; either may be known by another designator. */
static const struct istripe_leg *exclusive_find(const struct istripe_volume *volume, u32 end,
						const struct istripe_lun *lun)
{
	const struct istripe_lun *other;
	u32 i;

	for (i = 0; i < end; i++) {
		other = &volume->legs[i]->lun;
		if (istripe_lun_was(other, lun->designator, "") ||
		    istripe_lun_was(lun, other->designator, ""))
			return volume->legs[i];
	}
	return NULL;
}

static int exclusive_check_leg(const struct istripe_volume *volume, u32 index,
			       struct istripe_reason *why)
{
	const struct istripe_lun *lun = &volume->legs[index]->lun;
	const struct istripe_leg *leg = exclusive_find(volume, index, lun);
	const struct istripe_volume *other;

	if (leg)
		return istripe_reason_fail(why, -EINVAL, "legs %u and %u are the same LUN, %s",
					   leg->index, index, lun->designator);
	list_for_each_entry(other, &owners, exclusive.entry) {
		leg = exclusive_find(other, other->leg_count, lun);
		if (!leg)
			continue;
		return istripe_reason_fail(why, -EBUSY,
					   "leg %u is LUN %s, which is leg %u of volume %s already: that volume must be down first",
					   index, lun->designator, leg->index, other->name);
	}
	return 0;
}

int istripe_exclusive_luns(struct istripe_volume *volume, struct istripe_reason *why)
{
	int ret = 0;
	u32 i;

	mutex_lock(&owners_lock);
	for (i = 0; !ret && i < volume->leg_count; i++)
		ret = exclusive_check_leg(volume, i, why);
	if (!ret)
		list_add(&volume->exclusive.entry, &owners);
	mutex_unlock(&owners_lock);
	return ret;
}

static bool exclusive_is_array(const struct istripe_volume *other, const u8 *uuid)
{
	return other->exclusive.array &&
	       !memcmp(other->metadata.legs[0].array_uuid, uuid,
		       sizeof(other->metadata.legs[0].array_uuid));
}

int istripe_exclusive_array(struct istripe_volume *volume, struct istripe_reason *why)
{
	const struct istripe_volume *other;
	const u8 *uuid;
	int ret = 0;

	if (volume->metadata.kind == ISTRIPE_METADATA_NONE)
		return 0;
	uuid = volume->metadata.legs[0].array_uuid;
	mutex_lock(&owners_lock);
	list_for_each_entry(other, &owners, exclusive.entry) {
		if (!exclusive_is_array(other, uuid))
			continue;
		istripe_reason_set(why,
				   "its superblocks are of array %4phN:%4phN:%4phN:%4phN, which is volume %s already: these LUNs, or that volume's, are copies",
				   uuid, uuid + 4, uuid + 8, uuid + 12, other->name);
		ret = -EBUSY;
		break;
	}
	volume->exclusive.array = !ret;
	mutex_unlock(&owners_lock);
	return ret;
}

void istripe_exclusive_drop(struct istripe_volume *volume)
{
	mutex_lock(&owners_lock);
	list_del_init(&volume->exclusive.entry);
	mutex_unlock(&owners_lock);
}
