/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The params of a volume: copies, and whether one makes sense.
 */
#ifndef ISTRIPE_CONTROL_PARAMS_H
#define ISTRIPE_CONTROL_PARAMS_H

#include <istripe/params.h>

/**
 * istripe_volume_params_alloc() - make a blueprint with room for legs
 * @leg_count: 0..ISTRIPE_LEGS_MAX; every leg has room for no path yet
 *
 * Context: process, GFP_KERNEL.
 * Return: a zeroed blueprint with leg_count and legs set, or NULL.
 */
struct istripe_volume_params *istripe_volume_params_alloc(u32 leg_count);

/**
 * istripe_leg_params_alloc_paths() - make room for a leg's paths
 * @leg: of a blueprint, without paths
 * @path_count: 0..ISTRIPE_PATHS_MAX
 *
 * Context: process, GFP_KERNEL.
 * Return: 0 with path_count and zeroed paths set, or -ENOMEM.
 */
int istripe_leg_params_alloc_paths(struct istripe_leg_params *leg, u32 path_count);

/**
 * istripe_volume_params_free() - wipe and free a blueprint
 * @params: from istripe_volume_params_alloc(), or NULL
 *
 * Context: process.
 */
void istripe_volume_params_free(struct istripe_volume_params *params);

/**
 * istripe_path_params_fingerprint() - whose sessions a path makes
 * @path: the path
 * @initiator_name: the volume's
 *
 * Another login ends a path's old session only while this stays the same (RFC 7143 6.3.5):
 * the initiator's name, the target's and where that is, and the ISID.
 *
 * Context: any.
 * Return: a number that tells one from another.
 */
u32 istripe_path_params_fingerprint(const struct istripe_path_params *path,
				    const char *initiator_name);

/**
 * istripe_volume_params_check() - can a volume be made of this
 * @params: every single value is within its range
 * @why: filled with a readable reason on failure
 * @why_bytes: size of @why
 *
 * Checks what no single value can tell: that the required ones are there, and
 * that they fit together (RFC 7143 sections 9.2.1, 13.14).
 *
 * Context: any.
 * Return: 0 or -EINVAL.
 */
int istripe_volume_params_check(const struct istripe_volume_params *params, char *why,
				size_t why_bytes);

#endif
