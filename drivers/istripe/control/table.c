// SPDX-License-Identifier: GPL-2.0
#include <linux/blkdev.h>
#include <linux/bug.h>
#include <linux/build_bug.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/stddef.h>

#include "block/leg.h"
#include "block/lun_reset.h"
#include "block/nexus.h"
#include "block/path.h"
#include "block/proof.h"
#include "block/volume.h"
#include "control/table.h"
#include "transport/socket.h"

/* The functions of the column "apply": they make a change of a live setting take effect. */

#define apply_nothing	NULL

static void apply_command_timeout(void *object)
{
	const struct istripe_volume *volume = object;

	blk_queue_rq_timeout(volume->disk->queue,
			     msecs_to_jiffies(READ_ONCE(volume->command_timeout_ms)));
}

static void apply_recovery_timeout(void *object)
{
	const struct istripe_volume *volume = object;
	u32 i;

	for (i = 0; i < volume->leg_count; i++)
		istripe_leg_set_recovery_timeout(volume->legs[i]);
}

static void apply_fence(void *object)
{
	istripe_proof_schedule_again(object);
	istripe_leg_fence_mode_changed(object);
}

static void apply_fence_timeout(void *object)
{
	struct istripe_leg *leg = object;

	istripe_leg_set_fence_timeout(leg);
	istripe_lun_reset_hurry(leg);
}

static void apply_alua(void *object)
{
	istripe_leg_tell(object, NULL, ISTRIPE_NEXUS_REVALIDATE);
}

static void apply_sockets(void *object)
{
	istripe_path_tune(object);
}

static void apply_keepalive(void *object)
{
	istripe_path_keepalive_anew(object);
}

static void apply_login_retry(void *object)
{
	istripe_path_wake(object);
}

static void apply_login(void *object)
{
}

bool istripe_setting_is_of_login(const struct istripe_setting *setting)
{
	return setting->apply == apply_login;
}

/* The kinds; PARAMS is the struct that has the field. */

#define AT(_field)									\
	.offset = offsetof(PARAMS, _field), .size = sizeof_field(PARAMS, _field) RUNNING_AT(_field)

#define IS_WORD(_field)		(sizeof_field(PARAMS, _field) == sizeof(u32))
#define IS_SHORT(_field)	(sizeof_field(PARAMS, _field) == sizeof(u16))

/* u16, u32 or, with a negative minimum, s32. */
#define KIND_number(_field, _min, _max)							\
	AT(_field), .max = (_max), .kind = &istripe_setting_number,			\
	.min = (_min) + BUILD_BUG_ON_ZERO(!IS_WORD(_field) && !(IS_SHORT(_field) && (_min) >= 0))
#define KIND_buffer(_field, _min, _max)							\
	AT(_field), .max = (_max), .kind = &istripe_setting_buffer,			\
	.min = (_min) + BUILD_BUG_ON_ZERO(!IS_WORD(_field))
#define KIND_chunk(_field, _min, _max)							\
	AT(_field), .min = (_min), .max = (_max), .kind = &istripe_setting_chunk
#define KIND_chap_secret(_field, _min, _max)						\
	AT(_field), .min = (_min), .max = (_max), .kind = &istripe_setting_chap_secret
#define KIND_key(_key)									\
	AT(offer.value[ISTRIPE_KEY_##_key]), .key = ISTRIPE_KEY_##_key,			\
	.kind = &istripe_setting_key
#define KIND_key_max(_key, _max)							\
	KIND_key(_key), .max = (_max)
#define KIND_text(_field)	AT(_field), .kind = &istripe_setting_text
#define KIND_iscsi_name(_field)	AT(_field), .kind = &istripe_setting_iscsi_name
#define KIND_nic(_field)	AT(_field), .kind = &istripe_setting_nic
#define KIND_portal(_field)	AT(_field), .kind = &istripe_setting_portal
#define KIND_address(_field)	AT(_field), .kind = &istripe_setting_address
#define KIND_isid(_field)	AT(_field), .kind = &istripe_setting_isid
#define KIND_algorithms(_field)	AT(_field), .kind = &istripe_setting_algorithms
#define KIND_congestion_control(_field)							\
	AT(_field), .kind = &istripe_setting_congestion_control

#define NAME(_value, _name)	[_value] = (_name),
#define NAMES(_choices)		((const char *const []) { _choices(NAME) })
#define KIND_choice(_field, _choices)							\
	AT(_field), .names = NAMES(_choices), .name_count = ARRAY_SIZE(NAMES(_choices)), \
	.kind = &istripe_setting_choice

/* A volume or leg that runs has the value in a field of the same name, a path in its params. */
#define RUNNING_fixed(_object, _name)
#define RUNNING_secret(_object, _name)
#define RUNNING_hotplug(_object, _name)
#define RUNNING_shown(_object, _name)	.running = offsetof(_object, _name),
#define RUNNING_live(_object, _name)	.running = offsetof(_object, _name),

#define FILE_fixed	ISTRIPE_SETTING_FIXED
#define FILE_secret	ISTRIPE_SETTING_SECRET
#define FILE_hotplug	ISTRIPE_SETTING_HOTPLUG
#define FILE_shown	ISTRIPE_SETTING_SHOWN
#define FILE_live	ISTRIPE_SETTING_LIVE

#define ROW(_name, _file, _apply, _default, _kind, _args)				\
	.name = #_name, .file = FILE_##_file, .apply = apply_##_apply,			\
	.initial = (_default), KIND_##_kind _args

#define VOLUME_ROW(_name, _file, ...)							\
	[ISTRIPE_VOLUME_SETTING_##_name] = {						\
		RUNNING_##_file(struct istripe_volume, _name) ROW(_name, _file, __VA_ARGS__) \
	},
#define LEG_ROW(_name, _file, ...)							\
	[ISTRIPE_LEG_SETTING_##_name] = {						\
		RUNNING_##_file(struct istripe_leg, _name) ROW(_name, _file, __VA_ARGS__) \
	},
#define PATH_ROW(_name, _file, ...)							\
	[ISTRIPE_PATH_SETTING_##_name] = {						\
		ROW(_name, _file, __VA_ARGS__)						\
	},

#define RUNNING_AT(_field)

#define PARAMS	struct istripe_volume_params
const struct istripe_setting istripe_volume_settings[] = {
	ISTRIPE_VOLUME_SETTINGS(VOLUME_ROW)
};
#undef PARAMS

#define PARAMS	struct istripe_leg_params
const struct istripe_setting istripe_leg_settings[] = {
	ISTRIPE_LEG_SETTINGS(LEG_ROW)
};
#undef PARAMS

#undef RUNNING_AT
#define RUNNING_AT(_field)	, .running = offsetof(struct istripe_path, params._field)

#define PARAMS	struct istripe_path_params
const struct istripe_setting istripe_path_settings[] = {
	ISTRIPE_PATH_SETTINGS(PATH_ROW)
};
#undef PARAMS

void istripe_settings_default(const struct istripe_setting *settings, size_t count, void *params)
{
	size_t i;

	for (i = 0; i < count; i++) {
		WARN_ON_ONCE(settings[i].file == ISTRIPE_SETTING_LIVE &&
			     settings[i].size > sizeof(union istripe_setting_live));
		WARN_ON_ONCE(*settings[i].initial &&
			     settings[i].kind->parse(&settings[i], settings[i].initial,
						     params + settings[i].offset));
	}
}

ssize_t istripe_setting_show_running(const struct istripe_setting *setting, const void *object,
				     char *page)
{
	const void *value = object + setting->running;
	union {
		union istripe_setting_live live;
		struct sockaddr_storage address;
	} copy;

	if (setting->file == ISTRIPE_SETTING_LIVE || istripe_setting_is_of_login(setting)) {
		istripe_params_read(&copy, value, setting->size);
		value = &copy;
	}
	return istripe_setting_show(setting, value, page);
}

void istripe_setting_change(const struct istripe_setting *setting, void *object,
			    const union istripe_setting_live *value)
{
	istripe_params_write(object + setting->running, value, setting->size);
	if (setting->apply)
		setting->apply(object);
}
