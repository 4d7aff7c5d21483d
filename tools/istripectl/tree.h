/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The configfs tree: configurations of volumes, as the kernel has them.
 *
 * Every function that fails says why, and what to do next, in its fault.
 */
#ifndef ISTRIPECTL_TREE_H
#define ISTRIPECTL_TREE_H

#include <stdbool.h>

#include "fault.h"
#include "file.h"
#include "model.h"

/* How a configuration is written: for the kernel, or as lines for a shell. */
struct tree_writer {
	int (*make)(const char *dir, struct fault *fault);
	int (*set)(const char *dir, const char *name, const char *value, struct fault *fault);
	/* Whether the directory has the setting; true when nobody knows. */
	bool (*has)(const char *dir, const char *name);
};

/**
 * tree_check() - whether there is a tree
 * @fault: set on failure
 *
 * Return: 0; -errno.
 */
int tree_check(struct fault *fault);

/**
 * tree_has_volume() - whether there is a volume
 * @name: a valid name
 * @fault: set when there is none
 *
 * Return: 0; -errno.
 */
int tree_has_volume(const char *name, struct fault *fault);

/**
 * tree_volume_missing() - say that there is no volume, and what it may be that was meant
 * @name: a valid name
 * @fault: set
 *
 * Return: -ENOENT.
 */
int tree_volume_missing(const char *name, struct fault *fault);

/**
 * tree_volume_exists() - say that a name is taken
 * @name: of a volume that there is
 * @fault: set
 *
 * Return: -EEXIST.
 */
int tree_volume_exists(const char *name, struct fault *fault);

/**
 * tree_names_add() - add the names that exist: the one that was meant, volumes, files of volumes
 * @name: as typed, which does not exist
 * @fault: what is said already
 */
void tree_names_add(const char *name, struct fault *fault);

/**
 * tree_check_fenced() - whether a volume that is down may be forgotten
 * @name: a valid name
 * @fault: set when its paths have left writes that a target may still carry out
 *
 * Return: 0; -EBUSY.
 */
int tree_check_fenced(const char *name, struct fault *fault);

/**
 * tree_has_left() - whether a path has left writes that its target may still carry out
 * @name: a volume that is down
 * @leg: the number of its leg
 * @path: the number of the path, which may be gone
 *
 * Return: whether it is so; false when it cannot be found out.
 */
bool tree_has_left(const char *name, unsigned int leg, unsigned int path);

/**
 * tree_is_setting() - whether a file of a directory is a setting
 * @path: the file
 * @name: its name
 *
 * One that nobody may write is a state, enable is the switch, and unfenced takes a word of the
 * administrator.
 *
 * Return: whether it is.
 */
bool tree_is_setting(const char *path, const char *name);

/**
 * tree_list() - the names of all volumes
 * @names: zeroed by the caller, filled
 * @fault: set on failure
 *
 * Return: 0; -errno.
 */
int tree_list(struct file_names *names, struct fault *fault);

/**
 * tree_read() - what a volume's directory says
 * @name: a valid name
 * @volume: zeroed by the caller, filled, without legs and paths that are gone meanwhile
 * @fault: set on failure
 *
 * Return: 0; -errno: -ENOENT there is no such volume, or it is gone meanwhile.
 */
int tree_read(const char *name, struct volume *volume, struct fault *fault);

/**
 * tree_read_states() - read anew whether a volume is up, its disk, and its last error
 * @volume: as tree_read() has filled it
 */
void tree_read_states(struct volume *volume);

/**
 * tree_walk() - make all directories of a volume and write all its settings
 * @volume: what to write
 * @writer: how
 * @fault: set on failure
 *
 * Return: 0; what @writer says.
 */
int tree_walk(const struct volume *volume, const struct tree_writer *writer, struct fault *fault);

/**
 * tree_check_values() - refuse what the module, of the version of this tool, would refuse
 * @volume: as tree_create() would make it
 * @of_file: it is from its file, whose line is said; otherwise the file of the kernel
 * @fault: set on failure
 *
 * Return: 0, also when it cannot be told; -EINVAL.
 */
int tree_check_values(const struct volume *volume, bool of_file, struct fault *fault);

/**
 * tree_create() - write a configuration, or leave nothing behind
 * @volume: what to write
 * @lock: of the volume, from lock_take()
 * @fault: set on failure
 *
 * Return: 0; -errno: -EEXIST there is such a volume, which is left alone.
 */
int tree_create(const struct volume *volume, int lock, struct fault *fault);

/**
 * tree_remove() - remove all directories of a volume that is down
 * @name: a valid name
 * @lock: of the volume, from lock_take()
 * @fault: set on failure
 *
 * Return: 0; -errno.
 */
int tree_remove(const char *name, int lock, struct fault *fault);

/**
 * tree_add_path() - make a path's directory and write its settings, all or nothing
 * @name: a volume that exists
 * @leg: number of a leg that exists
 * @path: its number must be free
 * @fault: set on failure
 *
 * Return: 0; -errno.
 */
int tree_add_path(const char *name, unsigned int leg, const struct path *path,
		  struct fault *fault);

/**
 * tree_check_name() - is there such a setting?
 * @name: a volume that exists
 * @leg: as of tree_set()
 * @path: as of tree_set()
 * @setting: the name of its file
 * @fault: set on failure
 *
 * Return: 0; -ENOENT.
 */
int tree_check_name(const char *name, int leg, int path, const char *setting,
		    struct fault *fault);

/**
 * tree_set() - write one setting
 * @name: a volume that exists
 * @leg: number of a leg that exists; negative: the setting is the volume's
 * @path: number of a path that exists; negative: the setting is not a path's
 * @setting: the name of its file
 * @value: what to write
 * @fault: set on failure, with what the kernel has said
 *
 * Return: 0; -errno.
 */
int tree_set(const char *name, int leg, int path, const char *setting, const char *value,
	     struct fault *fault);

/**
 * tree_add_anew() - say how a setting of a path changes that is refused while the volume is up
 * @name: the volume
 * @fault: what is said already
 */
void tree_add_anew(const char *name, struct fault *fault);

/**
 * tree_remove_path() - remove a path's directory
 * @name: the volume
 * @leg: number of the leg
 * @path: number of the path, which is not in use
 * @fault: set on failure
 *
 * Return: 0; -errno.
 */
int tree_remove_path(const char *name, unsigned int leg, unsigned int path,
		     struct fault *fault);

/**
 * tree_path() - the path of a volume's directory or file
 * @name: a valid name
 * @file: in its directory, or NULL
 *
 * Return: the path, for free().
 */
char *tree_path(const char *name, const char *file);

/**
 * tree_value() - what a file of a volume's directory says
 * @name: a valid name
 * @file: in its directory
 *
 * Return: the value, for free(); NULL: there is none to read.
 */
char *tree_value(const char *name, const char *file);

#endif
