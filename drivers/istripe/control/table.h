/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The table of settings (istripe/settings.h) as the driver has it: an array for each kind of
 * directory, and an index for each of its rows.
 */
#ifndef ISTRIPE_CONTROL_TABLE_H
#define ISTRIPE_CONTROL_TABLE_H

#include <linux/types.h>

#include <istripe/settings.h>
#include "control/setting.h"

#define ISTRIPE_SETTING_INDEX_VOLUME(_name, ...)	ISTRIPE_VOLUME_SETTING_##_name,
#define ISTRIPE_SETTING_INDEX_LEG(_name, ...)		ISTRIPE_LEG_SETTING_##_name,
#define ISTRIPE_SETTING_INDEX_PATH(_name, ...)		ISTRIPE_PATH_SETTING_##_name,

enum {
	ISTRIPE_VOLUME_SETTINGS(ISTRIPE_SETTING_INDEX_VOLUME)
	ISTRIPE_VOLUME_SETTING_COUNT
};

enum {
	ISTRIPE_LEG_SETTINGS(ISTRIPE_SETTING_INDEX_LEG)
	ISTRIPE_LEG_SETTING_COUNT
};

enum {
	ISTRIPE_PATH_SETTINGS(ISTRIPE_SETTING_INDEX_PATH)
	ISTRIPE_PATH_SETTING_COUNT
};

extern const struct istripe_setting istripe_volume_settings[ISTRIPE_VOLUME_SETTING_COUNT];
extern const struct istripe_setting istripe_leg_settings[ISTRIPE_LEG_SETTING_COUNT];
extern const struct istripe_setting istripe_path_settings[ISTRIPE_PATH_SETTING_COUNT];

/* Sets everything to its default; @params are zeroed. */
void istripe_settings_default(const struct istripe_setting *settings, size_t count,
			      void *params);

/* The value that a running volume, leg or path has now. */
ssize_t istripe_setting_show_running(const struct istripe_setting *setting, const void *object,
				     char *page);

/* One that a path takes while no session of it is live. */
bool istripe_setting_is_of_login(const struct istripe_setting *setting);

/* Changes a live setting of a running volume, leg or path. Sleeps. */
void istripe_setting_change(const struct istripe_setting *setting, void *object,
			    const union istripe_setting_live *value);

#endif
