/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A volume as plain values: what a command line describes, what configfs holds.
 *
 * A name of a setting is whatever the module has a file for. Known are those that are secrets,
 * those of a leg (known.h), and those that belong to one path alone.
 */
#ifndef ISTRIPECTL_MODEL_H
#define ISTRIPECTL_MODEL_H

#include <stdbool.h>
#include <stddef.h>

struct setting {
	char *name;
	char *value;		/* NULL: there is one that cannot be read */
	bool invented;		/* the name of a file that nobody has given */
	char *from;		/* FILE:LINE of a configuration that it is from, or NULL */
};

struct settings {
	struct setting *items;
	size_t count;
};

struct path {
	unsigned int index;
	bool off;		/* the kernel has its directory, but does not use it */
	int left_out;		/* -errno why it cannot be made now, or 0: leave_out.h */
	struct settings settings;
};

struct leg {
	unsigned int index;
	struct settings settings;	/* of the LUN, not of a way to it */
	struct path *paths;
	size_t path_count;
	/* Set by the kernel. */
	char *found;		/* the designator of its LUN while the volume is up, or NULL */
};

struct volume {
	char *name;
	struct settings settings;
	struct leg *legs;
	size_t leg_count;
	/* Set by the kernel; nothing that can be set. */
	bool up;
	char *device;		/* NULL or empty: none */
	char *last_error;	/* NULL or empty: none */
};

/**
 * settings_find() - the setting of a name
 * @settings: where to look
 * @name: the name of its file
 *
 * Return: the setting, or NULL.
 */
const struct setting *settings_find(const struct settings *settings, const char *name);

/**
 * settings_value() - the value of a setting
 * @settings: where to look
 * @name: the name of its file
 *
 * Return: the value, empty when there is none.
 */
const char *settings_value(const struct settings *settings, const char *name);

/**
 * settings_put() - set a value, whether there is one already or not
 * @settings: where to
 * @name: the name of its file
 * @value: copied; NULL for one that cannot be read
 *
 * Return: the setting; it stays where it is until the next one is added.
 */
struct setting *settings_put(struct settings *settings, const char *name, const char *value);

/**
 * settings_take() - settings_put() with where it is from
 * @settings: where to
 * @setting: copied
 */
void settings_take(struct settings *settings, const struct setting *setting);

/**
 * settings_drop() - forget one setting, if it is there
 * @settings: where it is
 * @name: the name of its file
 */
void settings_drop(struct settings *settings, const char *name);

/**
 * settings_free() - forget all settings, the secrets among them thoroughly
 * @settings: empty afterwards
 */
void settings_free(struct settings *settings);

/**
 * setting_is_secret() - whether nobody may see it
 * @name: the name of its file
 *
 * Return: whether it is a secret.
 */
bool setting_is_secret(const char *name);

/**
 * setting_is_of_leg() - whether it is about the LUN and not about a way to it
 * @name: the name of its file
 *
 * For those that are known without asking the module; the module's word counts.
 *
 * Return: whether it is.
 */
bool setting_is_of_leg(const char *name);

/**
 * setting_is_of_one_path() - whether further paths of a leg go without it
 * @name: the name of its file
 *
 * Return: true for where a path leads from and to.
 */
bool setting_is_of_one_path(const char *name);

/**
 * volume_name_valid() - whether a volume may have this name
 * @name: as typed
 *
 * Return: true for 1 to 63 letters, digits, '.', '_', '-', not '.' or '-' first nor
 * -part and digits at the end, as links of partitions have it.
 */
bool volume_name_valid(const char *name);

/**
 * volume_add_leg() - one more leg behind the others
 * @volume: where to
 * @index: its position in the stripe
 *
 * Return: the leg; it stays where it is until the next one is added.
 */
struct leg *volume_add_leg(struct volume *volume, unsigned int index);

/**
 * leg_add_path() - one more path behind the others
 * @leg: where to
 * @index: its number
 *
 * Return: the path; it stays where it is until the next one is added.
 */
struct path *leg_add_path(struct leg *leg, unsigned int index);

/**
 * volume_drop_leg() - take back the last volume_add_leg()
 * @volume: where from
 */
void volume_drop_leg(struct volume *volume);

/**
 * leg_drop_path() - take back the last leg_add_path()
 * @leg: where from
 */
void leg_drop_path(struct leg *leg);

/**
 * volume_find_leg() - the leg of a number
 * @volume: where to look
 * @index: its position in the stripe
 *
 * Return: the leg, or NULL.
 */
struct leg *volume_find_leg(const struct volume *volume, unsigned int index);

/**
 * leg_find_path() - the path of a number
 * @leg: where to look
 * @index: its number
 *
 * Return: the path, or NULL.
 */
struct path *leg_find_path(const struct leg *leg, unsigned int index);

/**
 * volume_path_count() - paths of all legs
 * @volume: whose
 *
 * Return: how many there are.
 */
size_t volume_path_count(const struct volume *volume);

/**
 * volume_copy() - copy the configuration of a volume, without its state in the kernel
 * @volume: what to copy
 * @copy: zeroed by the caller, filled
 */
void volume_copy(const struct volume *volume, struct volume *copy);

/**
 * volume_free() - free all that a volume holds; secrets are overwritten
 * @volume: empty afterwards
 */
void volume_free(struct volume *volume);

#endif
