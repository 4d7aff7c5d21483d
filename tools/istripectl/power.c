// SPDX-License-Identifier: GPL-2.0
/*
 * The switch of a volume.
 *
 * Nothing but a fatal signal ends the waiting for a login, and the tool still
 * has to clean up then: a child of it waits, and is killed.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "alloc.h"
#include "file.h"
#include "interrupt.h"
#include "klog.h"
#include "power.h"
#include "tree.h"

static char *file_text(const char *name, const char *file)
{
	char *path = tree_path(name, file), *text = NULL;

	file_read(path, &text);
	free(path);
	return text;
}

bool power_is_up(const char *name)
{
	char *text = file_text(name, "enable");
	bool up = text && !strcmp(text, "1");

	free(text);
	return up;
}

char *power_device(const char *name)
{
	char *text = file_text(name, "device");

	if (text && *text && !strchr(text, '/'))
		return text;
	free(text);
	return NULL;
}

static int switch_write(const char *name, const char *file, const char *value)
{
	char *path = tree_path(name, file);
	int ret = file_write(path, value);

	free(path);
	return ret;
}

static int child_wait(pid_t child)
{
	int status;

	interrupt_child(child);
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR) {
			interrupt_child(0);
			return -errno;
		}
	interrupt_child(0);
	return WIFEXITED(status) ? -WEXITSTATUS(status) : -EINTR;
}

/* Writes @value, and can be interrupted. */
static int switch_child(const char *name, const char *file, const char *value)
{
	pid_t child = fork();

	if (child < 0)
		return -errno;
	if (!child) {
		interrupt_release();
		/* Numbers of errors fit into an exit code. */
		_exit(-switch_write(name, file, value));
	}
	return child_wait(child);
}

/* What to do next, when the module has looked at the legs and gone no further. */
static void metadata_fault(int error, struct fault *fault)
{
	if (error == -EEXIST)
		fault_add(fault,
			  "next: istripectl assemble, if this is what is to come up; create --force, if it may be lost");
	else if (error == -ENODATA)
		fault_add(fault,
			  "next: istripectl create makes superblocks, if there have never been any; up and assemble only read them");
}

static void up_fault(const char *name, int error, int log, struct fault *fault)
{
	char *why = file_text(name, "last_error");

	fault_set(fault, error, "volume %s does not come up: %s", name,
		  error == -EINTR ? "interrupted" : strerror(-error));
	if (error == -EBUSY)
		fault_add(fault, "it is just coming up or going down; next: istripectl status %s",
			  name);
	else if (error == -EACCES || error == -EPERM)
		fault_add(fault, "next: try again as root");
	else if (why && *why && error != -EINTR)
		fault_add(fault, "reason: %s", why);
	else if (error != -EINTR)
		klog_explain(log, name, fault);
	free(why);
	metadata_fault(error, fault);
}

int power_up(const char *name, struct fault *fault)
{
	int log = klog_open(), ret;

	ret = switch_child(name, "enable", "1");
	if (ret)
		up_fault(name, ret, log, fault);
	klog_close(log);
	return ret;
}

int power_down(const char *name, struct fault *fault)
{
	int ret = switch_write(name, "enable", "0");

	if (!ret)
		return 0;
	fault_set(fault, ret, "volume %s does not go down: %s", name, strerror(-ret));
	if (ret == -EBUSY)
		fault_add(fault, "it is just coming up or going down; next: istripectl status %s",
			  name);
	else if (ret == -EACCES || ret == -EPERM)
		fault_add(fault, "next: try again as root");
	return ret;
}

int power_path(const char *name, unsigned int leg, unsigned int path, bool on,
	       struct fault *fault)
{
	char *file = alloc_printf("legs/%u/paths/%u/enable", leg, path), *why;
	int ret = switch_child(name, file, on ? "1" : "0");

	free(file);
	if (!ret)
		return 0;
	fault_set(fault, ret, "leg %u path %u of %s is not %s: %s", leg, path, name,
		  on ? "added" : "removed", ret == -EINTR ? "interrupted" : strerror(-ret));
	why = file_text(name, "last_error");
	if (ret == -EACCES || ret == -EPERM)
		fault_add(fault, "next: try again as root");
	else if (ret != -EINTR && why && *why)
		fault_add(fault, "reason: %s", why);
	free(why);
	return ret;
}
