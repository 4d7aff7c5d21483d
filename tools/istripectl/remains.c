// SPDX-License-Identifier: GPL-2.0
/* A volume that is there in part: a command was killed while it made or removed it. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lock.h"
#include "power.h"
#include "remains.h"
#include "tree.h"

/* The number of its directory, which no other one has until the host boots; 0: there is none. */
static unsigned long long dir_number(const char *name)
{
	char *dir = tree_path(name, NULL);
	struct stat st;
	bool there = !stat(dir, &st) && S_ISDIR(st.st_mode);

	free(dir);
	return there ? st.st_ino : 0;
}

static bool has_legs(const char *name)
{
	char *legs = tree_path(name, "legs");
	struct file_names names = { 0 };
	bool has = !file_list(legs, &names) && names.count;

	file_names_free(&names);
	free(legs);
	return has;
}

void remains_begin(int lock, const char *name)
{
	char text[32];

	/* Of one length, so that it is always the whole file. */
	snprintf(text, sizeof(text), "%020llu\n", dir_number(name));
	if (lock >= 0 && pwrite(lock, text, strlen(text), 0) < 0)
		remains_end(lock);
}

void remains_end(int lock)
{
	/* In memory it always can be; a note that stays is that of one directory. */
	if (lock >= 0 && ftruncate(lock, 0))
		return;
}

/* The command may have been killed before it could note the number of a new directory. */
static bool note_is_of(int lock, const char *name)
{
	unsigned long long number = dir_number(name), noted;
	char text[32] = "", *end;

	if (lock < 0 || !number || pread(lock, text, sizeof(text) - 1, 0) <= 0)
		return false;
	noted = strtoull(text, &end, 10);
	return *end == '\n' && (noted ? noted == number : !has_legs(name));
}

/* A part never comes up, and so no login of it ends them. */
static int unfenced_fault(const char *name, int error, struct fault *fault)
{
	return fault_set(fault, error,
			 "volume %s is there in part, and has left writes that a target may still carry out\n"
			 "next: restart the target; then istripectl delete --force %s",
			 name, name);
}

int remains_fault(const char *name, struct fault *fault)
{
	struct fault ignored;

	if (tree_check_fenced(name, &ignored) == -EBUSY)
		return unfenced_fault(name, -EUCLEAN, fault);
	return fault_set(fault, -EUCLEAN,
			 "volume %s is there in part: the command that made or removed it did not come to its end\n"
			 "next: make it anew, with istripectl create, assemble when its LUNs have data, or a file: that removes this; or: istripectl delete %s",
			 name, name);
}

int remains_check_fenced(const char *name, struct fault *fault)
{
	int ret = tree_check_fenced(name, fault);

	return ret == -EBUSY && remains_are(name) ? unfenced_fault(name, ret, fault) : ret;
}

/* Somebody who brings it up by hand has made the rest of it, too. */
static bool are_left(int lock, const char *name)
{
	bool left = note_is_of(lock, name);

	if (!left || !power_is_up(name))
		return left;
	remains_end(lock);
	return false;
}

int remains_refuse(int lock, const char *name, struct fault *fault)
{
	return are_left(lock, name) ? remains_fault(name, fault) : 0;
}

int remains_clear(int lock, const char *name, struct fault *fault)
{
	int ret;

	if (!are_left(lock, name))
		return 0;
	ret = tree_check_fenced(name, fault);
	if (ret)
		return ret == -EBUSY ? unfenced_fault(name, ret, fault) : ret;
	ret = tree_remove(name, lock, fault);
	if (!ret)
		fprintf(stderr, "%s: what an unfinished command has left of it is removed\n",
			name);
	return ret;
}

bool remains_are(const char *name)
{
	int lock = lock_peek(name);
	bool are = note_is_of(lock, name) && !power_is_up(name);

	lock_leave(lock);
	return are;
}

void remains_forget(const char *name)
{
	int lock = lock_peek(name);
	bool noted = note_is_of(lock, name);
	struct fault ignored = { 0 };

	lock_leave(lock);
	if (!noted || lock_take(name, &lock, &ignored))
		return;
	are_left(lock, name);
	lock_leave(lock);
}

int remains_lock(const char *name, int *lock, struct fault *fault)
{
	int ret = tree_has_volume(name, fault);

	*lock = -1;
	if (!ret)
		ret = lock_take(name, lock, fault);
	/* It may have gone meanwhile. */
	if (!ret)
		ret = tree_has_volume(name, fault);
	if (!ret)
		ret = remains_refuse(*lock, name, fault);
	if (ret) {
		lock_leave(*lock);
		*lock = -1;
	}
	return ret;
}
