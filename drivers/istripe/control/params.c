// SPDX-License-Identifier: GPL-2.0
/*
 * The params of a volume: copies, and whether one makes sense.
 */
#include <linux/crc32c.h>
#include <linux/errno.h>
#include <linux/in6.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>

#include <istripe/reason.h>
#include "control/params.h"
#include "iscsi/chap.h"
#include "transport/login.h"

struct istripe_volume_params *istripe_volume_params_alloc(const struct istripe_volume_params *own,
							  u32 leg_count)
{
	struct istripe_volume_params *params;

	params = kmemdup(own, sizeof(*own), GFP_KERNEL);
	if (!params)
		return NULL;
	params->legs = kvcalloc(leg_count, sizeof(*params->legs), GFP_KERNEL);
	if (!params->legs) {
		kfree(params);
		return NULL;
	}
	params->leg_count = leg_count;
	return params;
}

int istripe_leg_params_alloc_paths(struct istripe_leg_params *leg, u32 path_count)
{
	leg->paths = kvcalloc(path_count, sizeof(*leg->paths), GFP_KERNEL);
	if (!leg->paths)
		return -ENOMEM;
	leg->path_count = path_count;
	return 0;
}

void istripe_volume_params_free(struct istripe_volume_params *params)
{
	u32 i;

	if (!params)
		return;
	for (i = 0; i < params->leg_count; i++) {
		struct istripe_leg_params *leg = &params->legs[i];

		/* The paths hold secrets. */
		kvfree_sensitive(leg->paths, leg->path_count * sizeof(*leg->paths));
	}
	kvfree(params->legs);
	kfree(params);
}

const char *istripe_credentials_problem(const struct istripe_credentials *chap)
{
	const struct istripe_chap_identity *own = &chap->own;
	const struct istripe_chap_identity *target = &chap->target;
	struct istripe_chap_config config = istripe_login_chap_config(chap);

	if (!own->name[0] && !own->secret_bytes)
		return target->name[0] || target->secret_bytes ?
			"mutual CHAP also needs chap_user and chap_secret" : NULL;
	if (!own->name[0])
		return "chap_secret is set, chap_user is not";
	if (!own->secret_bytes)
		return "chap_user is set, chap_secret is not";
	if (target->name[0] && !target->secret_bytes)
		return "chap_mutual_user is set, chap_mutual_secret is not";
	return istripe_chap_config_problem(&config);
}

const char *istripe_path_params_problem(const struct istripe_path_params *path)
{
	const u32 *offer = path->offer.value;
	sa_family_t source = path->source_address.ss_family;

	if (path->portal.ss_family == AF_UNSPEC)
		return "portal is not set";
	if (!path->target_name[0])
		return "target_name is not set";
	if (source != AF_UNSPEC && source != path->portal.ss_family)
		return "source_address and portal are of different IP versions";
	if (offer[ISTRIPE_KEY_FIRST_BURST_LENGTH] > offer[ISTRIPE_KEY_MAX_BURST_LENGTH])
		return "first_burst_length is greater than max_burst_length";
	return NULL;
}

u32 istripe_path_params_nexus_print(const struct istripe_path_params *path,
				    const char *initiator_name)
{
	u32 hash = crc32c(~0u, initiator_name, strlen(initiator_name) + 1);

	hash = crc32c(hash, path->target_name, strlen(path->target_name) + 1);
	hash = crc32c(hash, path->isid, sizeof(path->isid));
	/* The drain is a reset of this LUN. */
	return crc32c(hash, &path->lun, sizeof(path->lun));
}

u32 istripe_path_params_fingerprint(const struct istripe_path_params *path,
				    const char *initiator_name)
{
	u32 hash = istripe_path_params_nexus_print(path, initiator_name);
	struct sockaddr_storage portal = path->portal;

	/* An interface that was made anew has another number. */
	if (portal.ss_family == AF_INET6)
		((struct sockaddr_in6 *)&portal)->sin6_scope_id = 0;
	/* Zero but for the address and the port; elsewhere there may be a target of that name. */
	return crc32c(hash, &portal, sizeof(portal));
}

bool istripe_path_params_super_is_lost(const struct istripe_path_params *path, u32 connection,
				       const struct istripe_unfenced *saved, u32 nexus_print)
{
	return saved->undrained.super && (connection >= istripe_path_connections(path) ||
					  saved->nexus_print != nexus_print);
}

/* Nobody could end the old session any more. */
static bool unfenced_is_lost(const struct istripe_path_params *path, const char *initiator_name)
{
	u32 fingerprint = istripe_path_params_fingerprint(path, initiator_name);
	u32 print = istripe_path_params_nexus_print(path, initiator_name);
	const struct istripe_unfenced *saved;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(path->saved); i++) {
		saved = &path->saved[i];
		if (saved->unfenced && (i >= istripe_path_connections(path) ||
					saved->fingerprint != fingerprint))
			return true;
		if (istripe_path_params_super_is_lost(path, i, saved, print))
			return true;
	}
	return false;
}

static int leg_check(const struct istripe_leg_params *leg, u32 index, const char *initiator_name,
		     struct istripe_reason *why)
{
	u32 i;

	if (!leg->path_count)
		return istripe_reason_fail(why, -EINVAL, "leg %u has no path", index);
	for (i = 0; i < leg->path_count; i++) {
		const char *problem = istripe_path_params_problem(&leg->paths[i]) ?:
				      istripe_credentials_problem(&leg->paths[i].chap);

		if (problem)
			return istripe_reason_fail(why, -EINVAL, "leg %u path %u: %s", index,
						   leg->paths[i].index, problem);
		if (unfenced_is_lost(&leg->paths[i], initiator_name))
			return istripe_reason_fail(why, -EINVAL,
						   "leg %u path %u: it has left writes that its target may still carry out: set initiator_name, target_name, portal, lun, isid and connections as they were, or see unfenced",
						   index, leg->paths[i].index);
	}
	return 0;
}

/* A path may come to have as many sessions as connections, each with an ISID of its own. */
static bool isids_meet(const struct istripe_path_params *a, const struct istripe_path_params *b)
{
	u32 count_a = istripe_path_connections(a), count_b = istripe_path_connections(b);
	u8 isid[sizeof(a->isid)];
	u32 i, j;

	for (i = 0; i < count_a; i++) {
		for (j = 0; j < count_b; j++) {
			memcpy(isid, a->isid, sizeof(isid));
			istripe_isid_of_nexus(isid, i);
			istripe_isid_of_nexus(isid, j);
			if (!memcmp(isid, b->isid, sizeof(isid)))
				return true;
		}
	}
	return false;
}

/* Two sessions with one ISID at one target would throw each other out (RFC 7143 4.4.3.1). */
static int isid_check(const struct istripe_leg_params *a, u32 leg_a,
		      const struct istripe_leg_params *b, u32 leg_b, struct istripe_reason *why)
{
	static const u8 unset[sizeof(a->paths->isid)];
	u32 i, j;

	for (i = 0; i < a->path_count; i++) {
		if (!memcmp(a->paths[i].isid, unset, sizeof(unset)))
			continue;
		for (j = 0; j < b->path_count; j++) {
			if ((leg_a == leg_b && j <= i) ||
			    !memcmp(b->paths[j].isid, unset, sizeof(unset)) ||
			    !isids_meet(&a->paths[i], &b->paths[j]) ||
			    strcmp(a->paths[i].target_name, b->paths[j].target_name))
				continue;
			return istripe_reason_fail(why, -EINVAL,
						   "leg %u path %u and leg %u path %u have the same isid at the same target, or their further sessions would",
						   leg_a, a->paths[i].index, leg_b,
						   b->paths[j].index);
		}
	}
	return 0;
}

static int isids_check(const struct istripe_volume_params *params, struct istripe_reason *why)
{
	int ret = 0;
	u32 i, j;

	for (i = 0; !ret && i < params->leg_count; i++)
		for (j = i; !ret && j < params->leg_count; j++)
			ret = isid_check(&params->legs[i], i, &params->legs[j], j, why);
	return ret;
}

int istripe_volume_params_check(const struct istripe_volume_params *params,
				struct istripe_reason *why)
{
	int ret;
	u32 i;

	if (!params->initiator_name[0])
		return istripe_reason_fail(why, -EINVAL, "initiator_name is not set");
	if (!params->leg_count)
		return istripe_reason_fail(why, -EINVAL, "the volume has no leg");
	if (params->metadata == ISTRIPE_METADATA_NONE &&
	    params->metadata_create != ISTRIPE_METADATA_KEEP)
		return istripe_reason_fail(why, -EINVAL,
					   "metadata_create is set, but metadata is none");
	for (i = 0; i < params->leg_count; i++) {
		ret = leg_check(&params->legs[i], i, params->initiator_name, why);
		if (ret)
			return ret;
	}
	return isids_check(params, why);
}
