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
 *     subsystem su_mutex (held by configfs around make_group and disconnect_notify)
 *       volume_dir->lock
 *         configfs_dirent_lock (inside configfs_depend_item_unlocked())
 *
 * volume_dir->lock covers everything below the volume's directory. It is not
 * held while a volume starts or stops, or one of its paths comes or goes, which
 * may take as long as a login: then @phase keeps all others out, and they get
 * -EBUSY at once. Live settings of the volume, of legs and of paths other than
 * @changing may be written while a path comes or goes.
 *
 * A volume that is not down pins its directory and those below that it was made
 * of, so that none of them can be removed. A path's directory that is made later
 * is pinned as long as the path is one of the volume's. An object dies with its
 * directory: show and store run only while the directory is alive (configfs sees
 * to that), disconnect_notify takes it out of its parent's array, the last reference
 * frees it.
 */
#ifndef ISTRIPE_CONTROL_CONFIGFS_DIR_H
#define ISTRIPE_CONTROL_CONFIGFS_DIR_H

#include <linux/configfs.h>
#include <linux/mutex.h>

#include <istripe/params.h>
#include <istripe/reason.h>
#include "control/table.h"

struct istripe_path;
struct istripe_volume;

#define ISTRIPE_DIR_LABEL_BYTES		(ISTRIPE_NAME_BYTES + 16)	/* "volume/leg/path" */

enum istripe_volume_phase {
	ISTRIPE_VOLUME_DOWN,
	ISTRIPE_VOLUME_STARTING,
	ISTRIPE_VOLUME_UP,
	ISTRIPE_VOLUME_CHANGING,	/* up, and one of its paths comes, goes or changes */
	ISTRIPE_VOLUME_STOPPING,
};

/* A directory of a volume, of a leg or of a path. */
struct istripe_dir {
	struct config_group group;
	struct istripe_volume_dir *volume;
	struct istripe_leg_dir *leg;		/* NULL: of a volume */
	struct istripe_path_dir *path;		/* NULL: of a volume or of a leg */
	void *params;				/* that its files are of */
	bool pinned;				/* the running volume has it */
};

struct istripe_path_dir {
	struct istripe_dir base;
	u32 index;
	struct istripe_path_params params;
};

struct istripe_leg_dir {
	struct istripe_dir base;
	struct config_group paths_group;
	u32 index;
	struct istripe_leg_params params;	/* without paths */
	struct istripe_path_dir *paths[ISTRIPE_PATHS_MAX];
	/* While they, or the volume, are down: of paths by number, also without directories. */
	struct istripe_unfenced saved[ISTRIPE_PATHS_MAX][ISTRIPE_CONNECTIONS_MAX];
};

struct istripe_volume_dir {
	struct istripe_dir base;
	struct config_group legs_group;
	struct mutex lock;			/* see above */
	enum istripe_volume_phase phase;
	struct istripe_volume *running;		/* while ISTRIPE_VOLUME_UP or _CHANGING */
	const struct istripe_path_dir *changing;	/* while ISTRIPE_VOLUME_CHANGING */
	struct istripe_volume_params params;	/* without legs */
	struct istripe_leg_dir *legs[ISTRIPE_LEGS_MAX];
	char last_error[ISTRIPE_REASON_BYTES];
	unsigned long noted_at;		/* jiffies */
};

extern const struct config_item_type istripe_legs_type;
extern const struct config_item_type istripe_paths_type;

static inline struct istripe_dir *istripe_dir_of(struct config_item *item)
{
	return container_of(to_config_group(item), struct istripe_dir, group);
}

ssize_t istripe_dir_show(struct config_item *item, const struct istripe_setting *setting,
			 char *page);

/* "volume", "volume/leg" or "volume/leg/path". */
void istripe_dir_label(const struct istripe_dir *dir, char *label);

/*
 * Takes a value of a volume, of a leg or of a path. A live setting may be written while the volume
 * is up, too, and takes effect; the others while it is down, or does not have the path; one of the
 * column "hotplug" changes the path that the volume has. -EBUSY else, and while what is written to
 * comes, goes or changes; -EINVAL for a bad value. Both are logged and change nothing. -EPERM also.
 */
ssize_t istripe_dir_store(struct config_item *item, const struct istripe_setting *setting,
			  const char *page, size_t count);

/*
 * Has the path, whose directory may be gone, left writes that keep the volume down, or a superblock
 * that no login of it ends, as it is now? False while the volume is up.
 */
bool istripe_leg_dir_unfenced(const struct istripe_leg_dir *leg, u32 path);

/* The number that is a directory's name, below @max; -EINVAL unless it is in its one form. */
int istripe_dir_index(const char *name, u32 max, u32 *index);

void istripe_dir_refuse(const char *label, const char *what, const char *name, const char *range);

/*
 * Both take as long as logins or writeback do, and do nothing when the volume is up or down
 * already. The reason of a failure is kept in last_error and logged. A fatal signal ends enable.
 * -EBUSY: the volume is starting or stopping, one of its directories is being made or removed or,
 * without @force, the disk is open. -EINVAL: the params make no sense together. -EIO: the volume
 * is down, but dirty data have not been written. Else see istripe_volume_start().
 */
int istripe_volume_dir_enable(struct istripe_volume_dir *volume);

int istripe_volume_dir_disable(struct istripe_volume_dir *volume, bool force);

/* Final only under volume->lock. */
static inline bool istripe_volume_dir_is_up(const struct istripe_volume_dir *volume)
{
	enum istripe_volume_phase phase = READ_ONCE(volume->phase);

	return phase == ISTRIPE_VOLUME_UP || phase == ISTRIPE_VOLUME_CHANGING;
}

/*
 * Makes checked params of the directories, under volume->lock. While the volume is up only pinned
 * paths count, and @coming. ERR_PTR(-EINVAL or -ENOMEM).
 */
struct istripe_volume_params *istripe_volume_dir_copy(const struct istripe_volume_dir *volume,
						      const struct istripe_path_dir *coming,
						      struct istripe_reason *why);

/* For the next time: what the target may still do to it, session by session. Under volume->lock. */
void istripe_path_dir_remember(struct istripe_path_dir *dir, const struct istripe_path *running);

/* Sets @params->saved. No login of the path, as it is now, ends what is left out there. */
void istripe_path_dir_recall(const struct istripe_path_dir *dir,
			     struct istripe_path_params *params);

/* Keeps and logs why @what has failed, under volume->lock; empty @why: @error must do. */
void istripe_volume_dir_note(struct istripe_volume_dir *volume, const char *what, int error,
			     const char *why);

/*
 * -EBUSY, under volume->lock: the volume is not up, or a path of it comes, goes or changes. The
 * latter, which no file shows, is kept and logged, with @what has failed.
 */
int istripe_volume_dir_busy(struct istripe_volume_dir *volume, const char *what);

/* Pinned directories cannot be removed. Under volume->lock; -ENOENT: it is being removed. */
int istripe_dir_pin(struct istripe_dir *dir);

void istripe_dir_unpin(struct istripe_dir *dir);

/*
 * Of a volume that is up; else -EINVAL. Nothing happens when the volume has the path, or does not
 * have it, already. The reason of a failure is kept in last_error and logged. -EBUSY: the volume
 * is starting, stopping or changing. Else see istripe_path_add() and istripe_path_retire().
 * A fatal signal ends the waiting for a login.
 */
int istripe_path_dir_enable(struct istripe_path_dir *path);

int istripe_path_dir_disable(struct istripe_path_dir *path);

/*
 * Of a path that the volume has: takes a setting of its logins, with which it logs in at once.
 * -EBUSY: a session of it is live, or see above; -EINVAL: a bad value. While CHAP lacks something
 * the path keeps what it has of that.
 */
int istripe_path_dir_login(struct istripe_path_dir *path, const struct istripe_setting *setting,
			   const char *label, const char *page, size_t count);

/* Of a path that the volume has. -EINVAL: explicit ISIDs would meet those of other paths. */
int istripe_path_dir_connections(struct istripe_path_dir *path, u32 connections);

/* The files of a row of the table of settings, by its column "file". */
#define ISTRIPE_DIR_FILE_READ(_dir, _name, _setting)					\
static ssize_t _dir##_##_name##_show(struct config_item *item, char *page)		\
{											\
	return istripe_dir_show(item, _setting, page);					\
}

#define ISTRIPE_DIR_FILE_WRITE(_dir, _name, _setting)					\
static ssize_t _dir##_##_name##_store(struct config_item *item, const char *page,	\
				      size_t count)					\
{											\
	return istripe_dir_store(item, _setting, page, count);				\
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

/* @_dir_type: of a directory with the files of @_dir_attrs, which @_dir_release() ends. */
#define ISTRIPE_DIR_TYPE(_dir)								\
static struct configfs_item_operations _dir##_item_ops = {				\
	.release = _dir##_release,							\
};											\
											\
static const struct config_item_type _dir##_type = {					\
	.ct_item_ops = &_dir##_item_ops,						\
	.ct_attrs = _dir##_attrs,							\
	.ct_owner = THIS_MODULE,							\
}

#endif
