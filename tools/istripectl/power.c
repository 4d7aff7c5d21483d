// SPDX-License-Identifier: GPL-2.0
/*
 * The switch of a volume.
 *
 * Nothing but a fatal signal ends the waiting for a login, and the tool still
 * has to clean up then: a child of it waits, and is killed.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "alloc.h"
#include "file.h"
#include "interrupt.h"
#include "klog.h"
#include "power.h"
#include "tree.h"
#include "value.h"

#define PAUSE_MS	1000

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

/* The module refuses logins with these numbers, too: then it has a reason. */
static bool wants_root(int error)
{
	return (error == -EACCES || error == -EPERM) && geteuid();
}

/* The advice when the module has looked at the legs and gone no further. */
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
	if (wants_root(error))
		fault_add(fault, "next: try again as root");
	else if (why && *why && error != -EINTR)
		fault_add(fault, "reason: %s", why);
	else if (error == -EBUSY)
		fault_add(fault, "it is just coming up or going down; next: istripectl status %s",
			  name);
	else if (error != -EINTR)
		klog_explain(log, name, fault);
	free(why);
	metadata_fault(error, fault);
}

static int up_once(const char *name, struct fault *fault)
{
	int log = klog_open(), ret;

	ret = switch_child(name, "enable", "1");
	if (ret)
		up_fault(name, ret, log, fault);
	klog_close(log);
	return ret;
}

/* Errors of an array, a switch or this host's network that is starting. */
static bool may_pass(int error)
{
	static const int errors[] = {
		EADDRNOTAVAIL, EAGAIN, EBUSY, ECONNABORTED, ECONNREFUSED, ECONNRESET, EHOSTDOWN,
		EHOSTUNREACH, EIO, ENETDOWN, ENETUNREACH, ENODEV, ENOTCONN, ENXIO, EPIPE, ETIMEDOUT,
	};
	size_t i;

	for (i = 0; i < sizeof(errors) / sizeof(*errors); i++)
		if (error == -errors[i])
			return true;
	return false;
}

static long long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

/* Whether it may be tried again, after a pause that a signal ends. */
static bool up_pause(long long end_ms)
{
	const struct timespec pause = { .tv_sec = PAUSE_MS / 1000 };

	if (interrupt_seen() || (end_ms >= 0 && now_ms() + PAUSE_MS > end_ms))
		return false;
	nanosleep(&pause, NULL);
	return !interrupt_seen();
}

/* The setting that makes superblocks is for one attempt: the module takes it back. */
static int up_again(const char *name, const char *create)
{
	return create && strcmp(create, "0") ? switch_write(name, "metadata_create", create) : 0;
}

int power_up(const char *name, long long wait_ms, struct fault *fault)
{
	char *create = file_text(name, "metadata_create");
	long long end_ms = VALUE_FOREVER;
	struct fault said = { 0 };
	int ret;

	if (wait_ms != VALUE_FOREVER && __builtin_add_overflow(now_ms(), wait_ms, &end_ms))
		end_ms = VALUE_FOREVER;
	while ((ret = up_once(name, fault)) && may_pass(ret)) {
		/* Without patience nothing is said that the caller would say again. */
		if (!up_pause(end_ms) || up_again(name, create))
			break;
		if (strcmp(said.text, fault->text)) {
			said = *fault;
			fault_print(&said);
			fprintf(stderr, "            trying again\n");
		}
	}
	free(create);
	return ret;
}

/* The module has a reason when it has looked at the volume at all. */
static int down_fault(const char *name, int error, struct fault *fault)
{
	char *why = file_text(name, "last_error");
	bool lost = error == -EIO && !power_is_up(name);
	bool reason = why && *why;

	if (lost)
		fault_set(fault, error,
			  "volume %s is down, but not all that was written has reached its LUNs",
			  name);
	else
		fault_set(fault, error, "volume %s does not go down: %s", name, strerror(-error));
	if (wants_root(error))
		fault_add(fault, "next: try again as root");
	else if (reason)
		fault_add(fault, "reason: %s", why);
	else if (error == -EBUSY)
		fault_add(fault, "it is just coming up or going down; next: istripectl status %s",
			  name);
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
	fault_set(fault, ret, "leg %u path %u of %s is not %s: %s", leg, path, name,
		  on ? "added" : "removed", ret == -EINTR ? "interrupted" : strerror(-ret));
	why = file_text(name, "last_error");
	if (wants_root(ret))
		fault_add(fault, "next: try again as root");
	else if (ret != -EINTR && why && *why)
		fault_add(fault, "reason: %s", why);
	free(why);
	return ret;
}
