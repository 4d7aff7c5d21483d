/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Directories of the configfs tree: what they hold and who may touch it.
 *
 *	istripe/			subsystem
 *	  <volume>/			struct istripe_volume_dir
 *	    legs/<n>/			struct istripe_leg_dir
 *	      paths/<n>/		struct istripe_path_dir
 *
 * Lock order:
 *   configfs fragment of the file (held shared by configfs around show and store)
 *     subsystem su_mutex (held by configfs around make_group and drop_item)
 *       volume_dir->lock
 *         configfs_dirent_lock (inside configfs_depend_item_unlocked())
 *
 * volume_dir->lock covers everything below the volume's directory. It is not
 * held while a volume starts or stops, or one of its paths comes or goes, which
 * may take as long as a login: then @phase keeps all others out, and they get
 * -EBUSY at once.
 *
 * A volume that is not down pins its directory and those below that it was made
 * of, so that none of them can be removed. A path's directory that is made later
 * is pinned as long as the path is one of the volume's. An object dies with its
 * directory: show and store run only while the directory is alive (configfs sees
 * to that), drop_item takes it out of its parent's array, the last reference
 * frees it.
 */
#ifndef ISTRIPE_CONTROL_DIR_H
#define ISTRIPE_CONTROL_DIR_H

#include <linux/configfs.h>
#include <linux/mutex.h>

#include <istripe/params.h>
#include "control/settings.h"

struct istripe_volume;

#define ISTRIPE_LAST_ERROR_BYTES	256
#define ISTRIPE_DIR_LABEL_BYTES		(ISTRIPE_NAME_BYTES + 16)	/* "volume/leg/path" */

enum istripe_volume_phase {
	ISTRIPE_VOLUME_DOWN,
	ISTRIPE_VOLUME_STARTING,
	ISTRIPE_VOLUME_UP,
	ISTRIPE_VOLUME_CHANGING,	/* up, and one of its paths comes, goes or changes */
	ISTRIPE_VOLUME_STOPPING,
};

struct istripe_path_dir {
	struct config_group group;
	struct istripe_leg_dir *leg;
	u32 index;
	bool pinned;				/* the running volume has the path */
	struct istripe_path_params params;
};

struct istripe_leg_dir {
	struct config_group group;
	struct config_group paths_group;
	struct istripe_volume_dir *volume;
	u32 index;
	bool pinned;
	struct istripe_leg_params params;	/* without paths */
	struct istripe_path_dir *paths[ISTRIPE_PATHS_MAX];
	/* While the volume is down: of paths by number, also when their directories are gone. */
	struct istripe_unfenced saved[ISTRIPE_PATHS_MAX][ISTRIPE_CONNECTIONS_MAX];
};

struct istripe_volume_dir {
	struct config_group group;
	struct config_group legs_group;
	struct mutex lock;			/* see above */
	enum istripe_volume_phase phase;
	bool pinned;
	struct istripe_volume *running;		/* while ISTRIPE_VOLUME_UP or _CHANGING */
	struct istripe_volume_params params;	/* without legs */
	struct istripe_leg_dir *legs[ISTRIPE_LEGS_MAX];
	char last_error[ISTRIPE_LAST_ERROR_BYTES];
};

extern const struct config_item_type istripe_legs_type;
extern const struct config_item_type istripe_paths_type;

/**
 * istripe_dir_show() - show a setting
 * @volume: the volume it belongs to
 * @setting: what to show
 * @params: of its directory
 * @page: the file's page
 *
 * Context: process, a show callback.
 * Return: see istripe_setting_show().
 */
ssize_t istripe_dir_show(struct istripe_volume_dir *volume, const struct istripe_setting *setting,
			 const void *params, char *page);

/**
 * istripe_dir_store() - change a setting while nothing runs with it
 * @volume: the volume it belongs to
 * @pinned: flag of a directory that may change while the volume is up, but does not have
 *	it; NULL: only while the volume is down
 * @setting: what to set
 * @label: whose it is, for the log
 * @params: of its directory
 * @page: the file's page
 * @count: bytes in @page
 *
 * Context: process, a store callback.
 * Return: @count; -EBUSY the value is in use; -EINVAL a bad value, logged.
 */
ssize_t istripe_dir_store(struct istripe_volume_dir *volume, const bool *pinned,
			  const struct istripe_setting *setting, const char *label, void *params,
			  const char *page, size_t count);

/**
 * istripe_leg_dir_unfenced() - has a path left writes that its target may still carry out?
 * @leg: of a volume whose lock is held
 * @path: number of the path, whose directory may be gone
 *
 * Context: process.
 * Return: true or false; false while the volume is up.
 */
bool istripe_leg_dir_unfenced(const struct istripe_leg_dir *leg, u32 path);

/**
 * istripe_dir_index() - the number that is the name of a leg's or path's directory
 * @name: what was given to mkdir
 * @max: numbers go from 0 to @max - 1
 * @index: set on success
 *
 * Context: any.
 * Return: 0; -EINVAL when @name is not that number's one decimal form.
 */
int istripe_dir_index(const char *name, u32 max, u32 *index);

/**
 * istripe_dir_refuse() - say in the log why there is no such directory
 * @label: where it would have been
 * @what: what it would have been
 * @name: what was given to mkdir
 * @range: what is allowed, in words
 *
 * Context: process.
 */
void istripe_dir_refuse(const char *label, const char *what, const char *name, const char *range);

/**
 * istripe_volume_dir_enable() - make a volume of a blueprint
 * @volume: its directory
 *
 * Checks, pins the directories, starts the volume. Nothing happens when it is up
 * already. The reason of a failure is kept in last_error and logged.
 *
 * Context: process, a store callback of the volume's directory; as long as
 * connecting and logging in takes, a fatal signal ends it.
 * Return: 0; -EBUSY it is just starting or stopping, or a directory of it is being
 * made or removed; -EINVAL the blueprint makes no sense; -ENOMEM; else what
 * istripe_volume_start() said.
 */
int istripe_volume_dir_enable(struct istripe_volume_dir *volume);

/**
 * istripe_volume_dir_disable() - take a volume down
 * @volume: its directory
 * @force: whoever uses the disk
 *
 * Nothing happens when it is down already. The reason of a failure is kept in last_error and
 * logged.
 *
 * Context: process, a store callback of the volume's directory.
 * Return: 0; -EBUSY somebody has the disk open, or the volume is just starting or stopping;
 * -EIO it is down, but dirty data have not been written.
 */
int istripe_volume_dir_disable(struct istripe_volume_dir *volume, bool force);

/**
 * istripe_volume_dir_is_up() - has the volume a disk
 * @volume: its directory
 *
 * Context: process.
 * Return: true or false; for good only under volume->lock.
 */
static inline bool istripe_volume_dir_is_up(const struct istripe_volume_dir *volume)
{
	enum istripe_volume_phase phase = READ_ONCE(volume->phase);

	return phase == ISTRIPE_VOLUME_UP || phase == ISTRIPE_VOLUME_CHANGING;
}

/**
 * istripe_volume_dir_copy() - make a blueprint of the directories
 * @volume: the volume
 * @coming: while it is up: a path that is not one of the volume's yet, but counts; those
 *	that are not do not; NULL while it is down: then all count
 * @why: filled with a readable reason on failure, ISTRIPE_LAST_ERROR_BYTES
 *
 * Context: process, volume->lock.
 * Return: a blueprint that makes sense; ERR_PTR(-EINVAL), ERR_PTR(-ENOMEM).
 */
struct istripe_volume_params *istripe_volume_dir_copy(const struct istripe_volume_dir *volume,
						      const struct istripe_path_dir *coming,
						      char *why);

/**
 * istripe_volume_dir_note() - keep, and log, why something has failed
 * @volume: the volume
 * @what: what it was, for the log
 * @error: 0: it has not
 * @why: in words; empty: @error has to do
 *
 * Context: process, volume->lock.
 */
void istripe_volume_dir_note(struct istripe_volume_dir *volume, const char *what, int error,
			     const char *why);

/**
 * istripe_dir_pin() - keep a directory from being removed
 * @group: the directory
 * @pinned: its flag, set
 *
 * Context: process, volume->lock.
 * Return: 0; -ENOENT it is just being removed, or another error of configfs.
 */
int istripe_dir_pin(struct config_group *group, bool *pinned);

/**
 * istripe_dir_unpin() - undo istripe_dir_pin(), if it was done
 * @group: the directory
 * @pinned: its flag, cleared
 *
 * Context: process, volume->lock.
 */
void istripe_dir_unpin(struct config_group *group, bool *pinned);

/**
 * istripe_path_dir_enable() - add a path to the volume that is up
 * @path: its directory
 *
 * Nothing happens when the volume has it already. The reason of a failure is kept in the
 * volume's last_error and logged.
 *
 * Context: process, a store callback of the path's directory; as long as connecting and
 * logging in takes, a fatal signal ends it.
 * Return: 0; -EBUSY the volume is starting, stopping or changing; -EINVAL it is down, or the
 * path makes no sense; else see istripe_path_add().
 */
int istripe_path_dir_enable(struct istripe_path_dir *path);

/**
 * istripe_path_dir_disable() - take a path out of the volume that is up
 * @path: its directory
 *
 * Nothing happens when the volume does not have it.
 *
 * Context: process, a store callback of the path's directory.
 * Return: 0; -EBUSY the volume is starting, stopping or changing, or see
 * istripe_path_retire().
 */
int istripe_path_dir_disable(struct istripe_path_dir *path);

/**
 * istripe_path_dir_connections() - change the number of connections of a path
 * @path: its directory; the volume that is up has it
 * @connections: 1..ISTRIPE_CONNECTIONS_MAX
 *
 * Context: process, a store callback of the path's directory.
 * Return: 0; -EBUSY see istripe_path_dir_disable(); -ENOMEM; -EINVAL its explicit ISIDs would
 * meet those of other paths.
 */
int istripe_path_dir_connections(struct istripe_path_dir *path, u32 connections);

/* The files of a row of the table of settings, by its column "file". */
#define ISTRIPE_DIR_FILE_READ(_dir, _name, _setting)					\
static ssize_t _dir##_##_name##_show(struct config_item *item, char *page)		\
{											\
	return _dir##_show(item, _setting, page);					\
}

#define ISTRIPE_DIR_FILE_WRITE(_dir, _name, _setting)					\
static ssize_t _dir##_##_name##_store(struct config_item *item, const char *page,	\
				      size_t count)					\
{											\
	return _dir##_store(item, _setting, page, count);				\
}

#define ISTRIPE_DIR_FILE_fixed(_dir, _name, _setting)					\
	ISTRIPE_DIR_FILE_READ(_dir, _name, _setting)					\
	ISTRIPE_DIR_FILE_WRITE(_dir, _name, _setting)					\
	CONFIGFS_ATTR(_dir##_, _name);
#define ISTRIPE_DIR_FILE_secret(_dir, _name, _setting)					\
	ISTRIPE_DIR_FILE_WRITE(_dir, _name, _setting)					\
	CONFIGFS_ATTR_WO(_dir##_, _name);
#define ISTRIPE_DIR_FILE_hotplug	ISTRIPE_DIR_FILE_fixed
#define ISTRIPE_DIR_FILE_shown		ISTRIPE_DIR_FILE_fixed
#define ISTRIPE_DIR_FILE_live		ISTRIPE_DIR_FILE_fixed

#endif
