/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The params of a volume: copies, and whether one makes sense.
 */
#ifndef ISTRIPE_CONTROL_PARAMS_H
#define ISTRIPE_CONTROL_PARAMS_H

#include <istripe/params.h>

struct istripe_reason;

/*
 * A copy of the params of a volume, which have no legs, with @leg_count zeroed legs that have room
 * for no path yet; NULL: no memory.
 */
struct istripe_volume_params *istripe_volume_params_alloc(const struct istripe_volume_params *own,
							  u32 leg_count);

/* Room for a leg's paths: 0 or -ENOMEM. */
int istripe_leg_params_alloc_paths(struct istripe_leg_params *leg, u32 path_count);

/* Also wipes the secrets; NULL is fine. */
void istripe_volume_params_free(struct istripe_volume_params *params);

/*
 * Tells one path's sessions from another's: another login ends a path's old session only while
 * this stays the same (RFC 7143 6.3.5: the initiator's name, the target's, the portal, the ISID),
 * and the reset after it reaches the same LUN.
 */
u32 istripe_path_params_fingerprint(const struct istripe_path_params *path,
				    const char *initiator_name);

/* The same without the portal, which may change within the portal group. */
u32 istripe_path_params_nexus_print(const struct istripe_path_params *path,
				    const char *initiator_name);

/* Has this session left a superblock that no login of the path ends, as it is now? */
bool istripe_path_params_super_is_lost(const struct istripe_path_params *path, u32 connection,
				       const struct istripe_unfenced *saved, u32 nexus_print);

/* The first thing that does not fit together in one path, but for CHAP; NULL: nothing. */
const char *istripe_path_params_problem(const struct istripe_path_params *path);

/* The same of CHAP. */
const char *istripe_credentials_problem(const struct istripe_credentials *chap);

/*
 * Checks what no single value can tell: that the required ones are there and fit together
 * (RFC 7143 9.2.1, 13.14). 0, or -EINVAL with a reason in @why.
 */
int istripe_volume_params_check(const struct istripe_volume_params *params,
				struct istripe_reason *why);

#endif
