// SPDX-License-Identifier: GPL-2.0
/*
 * The switch of a volume.
 *
 * Nothing but a fatal signal ends the waiting for a login, and the tool still
 * has to clean up then: a child of it waits, and is killed.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "advice.h"
#include "alloc.h"
#include "file.h"
#include "interrupt.h"
#include "klog.h"
#include "lock.h"
#include "place.h"
#include "power.h"
#include "remains.h"
#include "run.h"
#include "tree.h"

bool power_is_up(const char *name)
{
	char *text = tree_value(name, "enable");
	bool up = text && !strcmp(text, "1");

	free(text);
	return up;
}

char *power_device(const char *name)
{
	char *text = tree_value(name, "device");

	if (text && *text && !strchr(text, '/'))
		return text;
	free(text);
	return NULL;
}

/* udev makes the link a moment later: the disk is first, for scripts that use it at once. */
void power_print(const char *name)
{
	char *device = power_device(name);

	if (device)
		printf("%s: /dev/%s (link: /dev/istripe/%s)\n", name, device, name);
	free(device);
}

static int switch_write(const char *name, const char *file, const char *value)
{
	char *path = tree_path(name, file);
	int ret = file_write(path, value);

	free(path);
	return ret;
}

struct switching {
	const char *name, *file, *value;
	int lock;		/* from lock_take(), or -1 */
};

/* Numbers of errors fit into an exit code. */
static int switch_body(void *context)
{
	const struct switching *it = context;

	return -switch_write(it->name, it->file, it->value);
}

/* Writes @value, and can be interrupted. */
static int switch_child(const char *name, const char *file, const char *value)
{
	struct switching it = { .name = name, .file = file, .value = value };
	int code, ret = run_child(switch_body, &it, &code);

	return ret ? ret : -code;
}

/*
 * Leaves the lock when the module has begun to log in: from then on it refuses changes itself. A
 * module that tells no phase is an older one.
 */
static bool switch_is_locked(void *context)
{
	struct switching *it = context;
	char *phase = it->lock < 0 ? NULL : tree_value(it->name, "phase");
	bool locked = phase && !strcmp(phase, "down");

	free(phase);
	if (!locked) {
		lock_leave(it->lock);
		it->lock = -1;
	}
	return locked;
}

/* The advice when the module has looked at the legs and gone no further. */
static void metadata_fault(int error, struct fault *fault)
{
	if (error == -EEXIST)
		fault_add(fault,
			  "next: istripectl assemble, if this is what is to come up (up without --create, of a volume that is configured); create --force, if it may be lost");
	else if (error == -ENODATA)
		fault_add(fault,
			  "next: istripectl create makes superblocks, if there have never been any (up --create, of a volume that is configured); up and assemble only read them; metadata=none, if its legs have none");
}

/* Directories of configfs are not used: all users can read, and so lock, them. */
static int lock_open(const char *name, int flags)
{
	char *path = place_path("/run/istripe-%s.lock", name);
	int fd = open(path, flags | O_RDWR | O_NOFOLLOW | O_CLOEXEC, 0600);

	free(path);
	return fd;
}

/* Shared, since several may try; children, which one that is killed leaves behind, have no part. */
int power_begin(const char *name)
{
	struct flock lock = { .l_type = F_RDLCK, .l_whence = SEEK_SET };
	int fd = lock_open(name, O_CREAT);

	if (fd < 0 || !fcntl(fd, F_SETLK, &lock))
		return fd;
	close(fd);
	return -1;
}

int power_check_others(const char *name, struct fault *fault)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	int fd = lock_open(name, 0), ret;
	char *process;

	if (fd < 0)
		return 0;
	ret = fcntl(fd, F_GETLK, &lock);
	close(fd);
	if (ret || lock.l_type == F_UNLCK)
		return 0;
	process = lock_process(lock.l_pid);
	fault_set(fault, -EBUSY, "volume %s does not go down: %s", name, strerror(EBUSY));
	fault_add(fault, "it is just coming up or going down: %s brings it up", process);
	fault_add(fault, "next: end %s, then this command again",
		  lock.l_pid > 0 ? process : "that process where it runs");
	free(process);
	return -EBUSY;
}

static void reason_add(const char *name, const char *why, struct fault *fault)
{
	fault_add(fault, "reason: %s", why);
	advice_login(name, why, true, fault);
}

/* Without a disk it is the volume that comes or goes. The module's reason may be gone by now. */
static void busy_add(const char *name, const char *why, struct fault *fault)
{
	char *device = power_device(name);

	if (why && *why)
		fault_add(fault, "reason: %s", why);
	else if (device)
		fault_add(fault, "one of its paths is just being added, removed or changed");
	else
		fault_add(fault, "it is just coming up or going down");
	fault_add(fault, "next: istripectl status %s", name);
	free(device);
}

/* A reason of the module that is no fault of the volume, and passes by itself. */
static bool is_change(const char *why)
{
	static const char change[] = "a change of leg ";

	return !strncmp(why, change, sizeof(change) - 1);
}

int power_not_up(const char *name, const char *why, struct fault *fault)
{
	fault_set(fault, -EINVAL, "volume %s does not come up: %s", name, strerror(EINVAL));
	reason_add(name, why, fault);
	return -EINVAL;
}

static void up_fault(const char *name, int error, int log, struct fault *fault)
{
	char *why = tree_value(name, "last_error");

	fault_set(fault, error, "volume %s does not come up: %s", name,
		  advice_error(error, why));
	if (error != -EINTR && !advice_root(error, fault)) {
		if (why && *why)
			reason_add(name, why, fault);
		else if (error == -EBUSY)
			busy_add(name, NULL, fault);
		else
			klog_explain(log, name, fault);
	}
	free(why);
	metadata_fault(error, fault);
}

/*
 * Whether an attempt to make superblocks may have begun to write them. Only reasons that the module
 * has before that are sure; it writes none before all legs are logged in, and looked at.
 */
static bool may_have_written(const char *why, int error)
{
	static const char *const before[] = {
		"nothing was written", "was connecting", "write protected", "has blocks of",
		"was lost again", "no target port takes I/O", "has no path", "is missing",
		"is not set", "has no leg", "metadata is none", "being made or removed",
		"cannot create the volume", "are the same LUN", "which this host uses",
		"of this host, through another", "that volume must be down", "the smallest leg has",
	};
	unsigned int leg, path;
	size_t i;

	if (!why || !*why)
		return error == -EINTR;
	for (i = 0; i < sizeof(before) / sizeof(*before); i++)
		if (strstr(why, before[i]))
			return false;
	/* Of a login. */
	return sscanf(why, "leg %u path %u", &leg, &path) != 2;
}

static bool has_marked(const char *name, const char *create, int error)
{
	char *why = create && strcmp(create, "0") ? tree_value(name, "last_error") : NULL;
	bool marked = why && may_have_written(why, error);

	free(why);
	return marked;
}

static void marked_add(struct fault *fault)
{
	fault_add(fault,
		  "legs may have superblocks now: this command may have written them\n"
		  "next: istripectl assemble, if all have theirs (up without --create, of a volume that is configured); create --force, if not, and they may be overwritten;\n"
		  "istripectl examine DEVICE... tells, where their LUNs are devices");
}

/*
 * Of a volume that is down, half of what another process does would come up. The login is waited
 * for without the lock.
 */
static int up_once(const char *name, const char *create, bool *marked, struct fault *fault)
{
	struct switching it = { .name = name, .file = "enable", .value = "1", .lock = -1 };
	int log, code, ret = 0;

	if (power_is_up(name))
		remains_forget(name);
	else
		ret = remains_lock(name, &it.lock, fault);
	if (ret)
		return ret;
	log = klog_open();
	ret = run_child_beside(switch_body, switch_is_locked, &it, &code);
	lock_leave(it.lock);
	ret = ret ? ret : -code;
	if (ret) {
		up_fault(name, ret, log, fault);
		*marked |= has_marked(name, create, ret);
	}
	klog_close(log);
	return ret;
}

/* The setting that makes superblocks is for one attempt: the module takes it back. */
static int up_again(const char *name, const char *create)
{
	return create && strcmp(create, "0") ? switch_write(name, "metadata_create", create) : 0;
}

int power_up(const char *name, struct retry *retry, struct fault *fault)
{
	char *create = tree_value(name, "metadata_create");
	int ret;

	while ((ret = up_once(name, create, &retry->marked, fault))) {
		if (!retry_may_help(ret) || !retry_again(retry, fault) || up_again(name, create))
			break;
	}
	if (ret && retry->marked)
		marked_add(fault);
	free(create);
	return ret;
}

/* The module has a reason when it has looked at the volume at all. */
static int down_fault(const char *name, int error, struct fault *fault)
{
	char *why = tree_value(name, "last_error");
	bool lost = error == -EIO && !power_is_up(name);
	bool reason = why && *why && !is_change(why);

	if (lost)
		fault_set(fault, error,
			  "volume %s is down, but not all that was written has reached its LUNs",
			  name);
	else
		fault_set(fault, error, "volume %s does not go down: %s", name, strerror(-error));
	if (!advice_root(error, fault) && reason)
		fault_add(fault, "reason: %s", why);
	else if (error == -EBUSY)
		busy_add(name, why, fault);
	if (lost)
		fault_add(fault,
			  "next: bring it up, and check what is on it, or restore a copy");
	free(why);
	return error == -EBUSY && reason ? -ETXTBSY : error;
}

int power_down(const char *name, bool force, struct fault *fault)
{
	int ret = switch_write(name, "enable", force ? "force" : "0");

	return ret ? down_fault(name, ret, fault) : 0;
}

int power_path(const char *name, unsigned int leg, unsigned int path, bool on,
	       struct fault *fault)
{
	char *file = alloc_printf("legs/%u/paths/%u/enable", leg, path), *why;
	int ret = switch_child(name, file, on ? "1" : "0");

	free(file);
	if (!ret)
		return 0;
	why = tree_value(name, "last_error");
	fault_set(fault, ret, "leg %u path %u of %s is not %s: %s", leg, path, name,
		  on ? "added" : "removed", advice_error(ret, why));
	if (!advice_root(ret, fault) && ret != -EINTR && why && *why)
		reason_add(name, why, fault);
	free(why);
	return ret;
}
