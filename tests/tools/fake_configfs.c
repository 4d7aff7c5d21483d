// SPDX-License-Identifier: GPL-2.0
/*
 * A configfs of the tests' own: linked into istripectl-test in the place of
 * mkdir, rmdir and write. Below $ISTRIPECTL_ROOT/sys/kernel/config/istripe a new
 * directory comes with its files, a directory goes with them, and values are
 * looked at, and read back, as the module does; everything else is as ever.
 *
 *	FAKE_REFUSE=file=value		this value is refused with EINVAL and a line in the log;
 *					"file=": each value
 *	FAKE_REFUSE_AFTER=n		and all after n others
 *	FAKE_MKDIR=errno, FAKE_RMDIR=errno	directories cannot be made, or removed
 *	FAKE_HOLD=VOLUME/...		this directory is made once the file "go" is there in
 *					$ISTRIPECTL_ROOT; "held" is there when it waits
 *	FAKE_HOLD_REMOVE=VOLUME/...	the same, before it is removed
 *	FAKE_HOLD_ENABLE=VOLUME/enable	the same, before it is written and the volume starts
 *	FAKE_ENABLE=errno		enabling fails; "hang": it waits for a fatal signal
 *	FAKE_REASON=text		for this reason
 *	FAKE_ENABLE_TIMES=n		but only so often
 *	FAKE_LEFT=n			and path n of leg 0 has left writes then
 *	FAKE_MARKS=1			what fails leaves superblocks, which the next create refuses
 *	FAKE_CHUNK=bytes		the chunk that superblocks say: another one is refused when
 *					it was written, else it is that of the volume
 *	FAKE_ENABLE_PATH=errno		the same for a path of a volume that is up
 *	FAKE_OPEN=1			the disk is open: 0 is refused, force is not
 *	FAKE_LOST=1			the last dirty data cannot be written
 *	FAKE_RECONNECT=state		of a path in sysfs that is to log in again; a number: it
 *					fails with this errno; "hang": it waits for a fatal signal
 *	FAKE_RELOGIN=live		a path that is lost has a session again before its login
 *					gets other settings
 *	FAKE_RESCAN=text		of a rescan, a line in the log
 *	FAKE_DISABLE=errno		0 is refused for no reason
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <istripe/settings.h>
#include "fake_configfs.h"
#include "fake_values.h"
#include "file.h"
#include "known.h"
#include "model.h"

struct attribute {
	const char *name;
	mode_t mode;
	const char *value;
};

#define MODE_fixed	0644
#define MODE_secret	0200
#define MODE_hotplug	0644
#define MODE_shown	0644
#define MODE_live	0644
#define FILE_OF_ROW(_name, _file, _apply, _default, ...) { #_name, MODE_##_file, _default },

static const struct attribute volume_files[] = {
	ISTRIPE_VOLUME_SETTINGS(FILE_OF_ROW)
	{ "enable", 0644, "0" }, { "device", 0444, "" }, { "last_error", 0444, "" },
	{ "phase", 0444, "down" }, { NULL, 0, NULL },
};

static const struct attribute leg_files[] = {
	ISTRIPE_LEG_SETTINGS(FILE_OF_ROW)
	{ "later_leg_setting", 0644, "" }, { "unfenced", 0644, "" }, { NULL, 0, NULL },
};

static const struct attribute path_files[] = {
	ISTRIPE_PATH_SETTINGS(FILE_OF_ROW)
	{ "enable", 0644, "0" }, { NULL, 0, NULL },
};

#define NAME_OF_LIVE_fixed(_name)
#define NAME_OF_LIVE_secret(_name)
#define NAME_OF_LIVE_hotplug(_name)	#_name,
#define NAME_OF_LIVE_shown(_name)
#define NAME_OF_LIVE_live(_name)	#_name,
#define NAME_OF_LIVE(_name, _file, ...)	NAME_OF_LIVE_##_file(_name)

/* May be written while the volume is up. */
static bool is_live(const char *name)
{
	static const char *const names[] = {
		ISTRIPE_VOLUME_SETTINGS(NAME_OF_LIVE)
		ISTRIPE_LEG_SETTINGS(NAME_OF_LIVE)
		ISTRIPE_PATH_SETTINGS(NAME_OF_LIVE)
		NULL,
	};
	const char *const *known = names;

	while (*known && strcmp(*known, name))
		known++;
	return *known;
}

/* The part of @path behind the tree's root, or NULL. */
static const char *below(const char *path)
{
	const char *root = getenv("ISTRIPECTL_ROOT"), *tree = "/sys/kernel/config/istripe/";
	size_t bytes = root ? strlen(root) : 0;

	if (!root || strncmp(path, root, bytes) || strncmp(path + bytes, tree, strlen(tree)))
		return NULL;
	return path + bytes + strlen(tree);
}

static int depth(const char *path)
{
	int slashes = 0;

	for (; *path; path++)
		slashes += *path == '/';
	return slashes;
}

static const struct attribute *files_of(const char *rest)
{
	switch (depth(rest)) {
	case 0:
		return volume_files;
	case 2:
		return leg_files;
	case 4:
		return path_files;
	default:
		return NULL;
	}
}

static const char *group_of(const char *rest)
{
	switch (depth(rest)) {
	case 0:
		return "legs";
	case 2:
		return "paths";
	default:
		return NULL;
	}
}

static void file_put(const char *dir, const char *name, const char *value, mode_t mode)
{
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
	if (fd < 0)
		abort();
	fchmod(fd, mode);
	if (dprintf(fd, "%s\n", value) < 0)
		abort();
	close(fd);
}

static bool is_on(const char *dir)
{
	char file[PATH_MAX + sizeof("/enable")], state = '0';
	int fd;

	snprintf(file, sizeof(file), "%s/enable", dir);
	fd = open(file, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		if (read(fd, &state, 1) != 1)
			state = '0';
		close(fd);
	}
	return state == '1';
}

static void volume_dir(const char *path, const char *rest, char *dir, size_t size)
{
	snprintf(dir, size, "%.*s%.*s", (int)(rest - path), path, (int)strcspn(rest, "/"), rest);
}

static bool volume_is_up(const char *path, const char *rest)
{
	char dir[PATH_MAX];

	volume_dir(path, rest, dir, sizeof(dir));
	return is_on(dir);
}

/* Has a lock, which ends with the process that writes enable; -1: another process has it. */
static int phase_lock(const char *dir)
{
	char file[PATH_MAX + sizeof("/phase")];
	int fd;

	snprintf(file, sizeof(file), "%s/phase", dir);
	fd = open(file, O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static bool volume_is_starting(const char *path, const char *rest)
{
	char dir[PATH_MAX];
	int fd;

	volume_dir(path, rest, dir, sizeof(dir));
	fd = phase_lock(dir);
	if (fd >= 0)
		close(fd);
	return fd < 0 && !access(dir, F_OK);
}

/* While the volume is up, a path that is off may change, come and go. */
static bool is_in_use(const char *path, const char *rest, const char *dir)
{
	return volume_is_starting(path, rest) ||
	       (volume_is_up(path, rest) && (depth(rest) < 4 || is_on(dir)));
}

static int refuse(int error)
{
	errno = error;
	return -1;
}

/* Whether the environment has an error for calls below the tree. */
static bool is_refused(const char *name, const char *rest)
{
	const char *failure = rest ? getenv(name) : NULL;

	if (failure)
		errno = atoi(failure);
	return failure;
}

/* A file that is there when the chunk of a volume was written. */
static void chunk_given_path(const char *dir, char *path, size_t size)
{
	snprintf(path, size, "%s/chunk_given.%s", getenv("ISTRIPECTL_ROOT"),
		 strrchr(dir, '/') + 1);
}

static void chunk_given_set(const char *dir, bool given)
{
	char path[PATH_MAX];
	int fd;

	chunk_given_path(dir, path, sizeof(path));
	if (!given) {
		unlink(path);
		return;
	}
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	if (fd < 0)
		abort();
	close(fd);
}

/* For two minutes at most: a test that has failed leaves no process behind. */
static void wait_to_go(const char *rest, const char *name)
{
	const char *held = getenv(name);
	char path[PATH_MAX];
	int left = 12000;

	if (!rest || !held || strcmp(rest, held))
		return;
	times_count("held");
	snprintf(path, sizeof(path), "%s/go", getenv("ISTRIPECTL_ROOT"));
	for (; access(path, F_OK); usleep(10000))
		if (!left--)
			abort();
}

int __wrap_mkdir(const char *path, mode_t mode)
{
	const char *rest = below(path), *group;
	const struct attribute *file;
	char child[PATH_MAX];

	if (is_refused("FAKE_MKDIR", rest))
		return -1;
	if (rest && depth(rest) && ((depth(rest) < 4 && volume_is_up(path, rest)) ||
				    volume_is_starting(path, rest)))
		return refuse(EBUSY);
	wait_to_go(rest, "FAKE_HOLD");
	if (__real_mkdir(path, mode))
		return -1;
	for (file = rest ? files_of(rest) : NULL; file && file->name; file++)
		file_put(path, file->name, file->value, file->mode);
	if (rest && !depth(rest))
		chunk_given_set(path, false);
	group = rest ? group_of(rest) : NULL;
	if (!group)
		return 0;
	snprintf(child, sizeof(child), "%s/%s", path, group);
	return __real_mkdir(child, mode);
}

int __wrap_rmdir(const char *path)
{
	const char *rest = below(path), *group;
	const struct attribute *file;
	char child[PATH_MAX];

	if (!rest)
		return __real_rmdir(path);
	wait_to_go(rest, "FAKE_HOLD_REMOVE");
	if (is_refused("FAKE_RMDIR", rest))
		return -1;
	if (is_in_use(path, rest, path))
		return refuse(EBUSY);
	group = group_of(rest);
	snprintf(child, sizeof(child), "%s/%s", path, group ? group : "none");
	if (group && __real_rmdir(child))
		return -1;
	for (file = files_of(rest); file && file->name; file++) {
		snprintf(child, sizeof(child), "%s/%s", path, file->name);
		unlink(child);
	}
	return __real_rmdir(path);
}

static void log_line(const char *place, const char *text, const char *why)
{
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s/dev/kmsg", getenv("ISTRIPECTL_ROOT"));
	fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
	if (fd < 0)
		return;
	if (dprintf(fd, "3,1,1,-;istripe: %s: %s%s\n", place, text, why) < 0)
		abort();
	close(fd);
}

static void log_refusal(const char *name, const char *why)
{
	char text[PATH_MAX];

	snprintf(text, sizeof(text), "%s: is refused", name);
	log_line("db/0/0", text, why);
}

long times_count(const char *name)
{
	char path[PATH_MAX];
	FILE *file;
	long before;

	snprintf(path, sizeof(path), "%s/%s", getenv("ISTRIPECTL_ROOT"), name);
	file = fopen(path, "a");
	/* Processes that count at the same time: each has a number of its own. */
	if (!file || flock(fileno(file), LOCK_EX) || fseek(file, 0, SEEK_END))
		abort();
	before = ftell(file);
	fputc('x', file);
	fclose(file);
	return before;
}

static bool enable_fails(void)
{
	const char *times = getenv("FAKE_ENABLE_TIMES");

	return !times || times_count("failures") < atoi(times);
}

/* Whether superblocks are to be made; that is said for one attempt, whatever comes of it. */
static bool create_take(const char *dir)
{
	char path[PATH_MAX + sizeof("/metadata_create")], create = '0';
	FILE *file;

	snprintf(path, sizeof(path), "%s/metadata_create", dir);
	file = fopen(path, "r");
	if (file) {
		create = fgetc(file);
		fclose(file);
		file_put(dir, "metadata_create", "0", 0644);
	}
	return create != '0';
}

/* Blank legs get superblocks when that was said. */
static bool legs_have_superblocks(const char *dir)
{
	return !getenv("FAKE_BLANK") || create_take(dir);
}

/* As istripe_path_params_problem() and istripe_credentials_problem() have it. */
static const char *path_problem(const char *path)
{
	struct settings its = { 0 };
	const struct attribute *file;
	char name[PATH_MAX], *value;
	const char *problem;

	for (file = path_files; file->name; file++) {
		snprintf(name, sizeof(name), "%s/%s", path, file->name);
		if (file_read(name, &value))
			continue;
		settings_put(&its, file->name, value);
		free(value);
	}
	problem = known_path_problem(&its);
	settings_free(&its);
	return problem;
}

static bool paths_are_refused(const char *dir, const char *pattern)
{
	const char *problem = NULL;
	unsigned int leg, path;
	char reason[256];
	glob_t found;
	size_t i;

	if (glob(pattern, 0, NULL, &found))
		return false;
	for (i = 0; !problem && i < found.gl_pathc; i++) {
		problem = path_problem(found.gl_pathv[i]);
		if (!problem)
			continue;
		if (sscanf(found.gl_pathv[i] + strlen(dir), "/legs/%u/paths/%u", &leg, &path) != 2)
			abort();
		snprintf(reason, sizeof(reason), "leg %u path %u: %s", leg, path, problem);
		file_put(dir, "enable", "0", 0644);
		file_put(dir, "last_error", reason, 0444);
	}
	globfree(&found);
	return problem;
}

static bool legs_are_marked(const char *dir)
{
	if (!getenv("FAKE_MARKS") || !create_take(dir) || !times_count("marks"))
		return false;
	file_put(dir, "enable", "0", 0644);
	file_put(dir, "last_error", "leg 0: it holds an MD superblock: nothing was written; "
		 "metadata_create=force would overwrite it", 0444);
	return true;
}

static bool chunk_is_refused(const char *dir)
{
	const char *chunk = getenv("FAKE_CHUNK");
	char path[PATH_MAX + sizeof("/chunk_bytes")], text[128], now[32] = "";
	FILE *file;

	if (!chunk)
		return false;
	snprintf(path, sizeof(path), "%s/chunk_bytes", dir);
	file = fopen(path, "r");
	if (!file || fscanf(file, "%31s", now) != 1)
		abort();
	fclose(file);
	chunk_given_path(dir, path, sizeof(path));
	if (access(path, F_OK) || !strcmp(now, chunk)) {
		file_put(dir, "chunk_bytes", chunk, 0644);
		return false;
	}
	snprintf(text, sizeof(text), "chunk_bytes is %s, but the superblocks say %s", now, chunk);
	file_put(dir, "enable", "0", 0644);
	file_put(dir, "last_error", text, 0444);
	return true;
}

static unsigned int paths_on(const char *pattern, const char *value)
{
	unsigned int on = 0;
	glob_t found;
	size_t i;

	if (glob(pattern, 0, NULL, &found))
		return 0;
	for (i = 0; i < found.gl_pathc; i++) {
		if (value)
			file_put(found.gl_pathv[i], "enable", value, 0644);
		on += is_on(found.gl_pathv[i]);
	}
	globfree(&found);
	return on;
}

/* A leg keeps one of its paths. The file is empty while it is written. */
static int path_enable_write(const char *path, const char *value)
{
	const char *failure = getenv("FAKE_ENABLE_PATH");
	char pattern[PATH_MAX + sizeof("/../*")];

	snprintf(pattern, sizeof(pattern), "%.*s/../*", (int)(strrchr(path, '/') - path), path);
	if (value[0] == '0' && !paths_on(pattern, NULL)) {
		snprintf(pattern, sizeof(pattern), "%.*s", (int)(strrchr(path, '/') - path), path);
		file_put(pattern, "enable", "1", 0644);
		return refuse(EBUSY);
	}
	if (value[0] != '1' || !failure || !enable_fails())
		return 0;
	while (!strcmp(failure, "hang"))
		pause();
	return refuse(atoi(failure));
}

static int enable_write(const char *path, const char *value)
{
	const char *failure = getenv("FAKE_ENABLE"), *reason = getenv("FAKE_REASON");
	char dir[PATH_MAX], pattern[PATH_MAX + sizeof("/legs/*/paths/*")];
	bool up = value[0] == '1', forced = !strcmp(value, "force"), superblocks;

	snprintf(dir, sizeof(dir), "%.*s", (int)(strrchr(path, '/') - path), path);
	snprintf(pattern, sizeof(pattern), "%s/legs/*/paths/*", dir);
	if (up && paths_are_refused(dir, pattern))
		return refuse(EINVAL);
	if (up && legs_are_marked(dir))
		return refuse(EEXIST);
	if (up && chunk_is_refused(dir))
		return refuse(EINVAL);
	superblocks = !up || legs_have_superblocks(dir);
	if (up && failure && enable_fails()) {
		file_put(dir, "enable", "0", 0644);
		if (getenv("FAKE_LEFT"))
			file_put(dir, "legs/0/unfenced", getenv("FAKE_LEFT"), 0644);
		while (!strcmp(failure, "hang"))
			pause();
		file_put(dir, "last_error", reason ? reason :
			 "leg 0 path 0: nobody\033[2J answers", 0444);
		return refuse(atoi(failure));
	}
	if (!up && getenv("FAKE_DISABLE")) {
		file_put(dir, "enable", "1", 0644);
		if (reason)
			file_put(dir, "last_error", reason, 0444);
		return refuse(atoi(getenv("FAKE_DISABLE")));
	}
	if (!up && !forced && getenv("FAKE_OPEN")) {
		times_count("refusals");
		file_put(dir, "enable", "1", 0644);
		file_put(dir, "last_error", "its disk is open", 0444);
		return refuse(EBUSY);
	}
	if (!superblocks) {
		file_put(dir, "enable", "0", 0644);
		return refuse(ENODATA);
	}
	file_put(dir, "device", up ? "istripe0" : "", 0444);
	paths_on(pattern, up ? "1" : "0");
	if (up || !getenv("FAKE_LOST"))
		return 0;
	file_put(dir, "enable", "0", 0644);
	file_put(dir, "last_error", "not all has reached the legs", 0444);
	return refuse(EIO);
}

static int volume_switch(const char *path, const char *rest, const char *value)
{
	char dir[PATH_MAX];
	int ret, lock;

	wait_to_go(rest, "FAKE_HOLD_ENABLE");
	volume_dir(path, rest, dir, sizeof(dir));
	lock = phase_lock(dir);
	file_put(dir, "phase", value[0] == '1' ? "starting" : "stopping", 0444);
	ret = enable_write(path, value);
	file_put(dir, "phase", (value[0] == '1') == !ret ? "up" : "down", 0444);
	if (lock >= 0)
		close(lock);
	return ret;
}

static bool value_is_bad(const char *name, const char *value)
{
	const char *bad = getenv("FAKE_REFUSE"), *after = getenv("FAKE_REFUSE_AFTER");
	size_t bytes = strlen(name);

	if (after && times_count("writes") >= atoi(after))
		return true;
	return bad && !strncmp(bad, name, bytes) && bad[bytes] == '=' &&
	       (!bad[bytes + 1] || !strcmp(bad + bytes + 1, value));
}

#define NAME_OF_APPLY_nothing(_name)
#define NAME_OF_APPLY_sockets(_name)
#define NAME_OF_APPLY_keepalive(_name)
#define NAME_OF_APPLY_login_retry(_name)
#define NAME_OF_APPLY_login(_name)	#_name,
#define NAME_OF_LOGIN(_name, _file, _apply, ...)	NAME_OF_APPLY_##_apply(_name)

/* May be written while no session of the path is live, as its state in sysfs says. */
static bool is_of_lost_path(const char *rest, const char *name)
{
	static const char *const names[] = { ISTRIPE_PATH_SETTINGS(NAME_OF_LOGIN) NULL };
	const char *const *known = names, *path = strchr(rest, '/');
	char file[PATH_MAX], state[32] = "";
	FILE *stream;

	while (*known && strcmp(*known, name))
		known++;
	if (!*known || depth(rest) != 5 || getenv("FAKE_RELOGIN"))
		return false;
	snprintf(file, sizeof(file), "%s/sys/block/istripe0/istripe%.*sstate",
		 getenv("ISTRIPECTL_ROOT"), (int)(strrchr(path, '/') + 1 - path), path);
	stream = fopen(file, "r");
	if (!stream)
		return false;
	if (!fgets(state, sizeof(state), stream))
		state[0] = '\0';
	fclose(stream);
	return !strncmp(state, "backoff", 7) || !strncmp(state, "refused", 7) ||
	       !strncmp(state, "draining", 8);
}

static int value_check(const char *path, const char *rest, const char *value)
{
	const char *name = strrchr(path, '/') + 1;
	char dir[PATH_MAX];

	if (!strcmp(name, "enable"))
		return depth(rest) == 1 ? volume_switch(path, rest, value) :
		       path_enable_write(path, value);
	snprintf(dir, sizeof(dir), "%.*s", (int)(name - path - 1), path);
	if (volume_is_starting(path, rest) ||
	    (!is_live(name) && !is_of_lost_path(rest, name) && is_in_use(path, rest, dir))) {
		log_refusal(name, " while the volume is up");
		return refuse(EBUSY);
	}
	if (value_is_bad(name, value)) {
		log_refusal(name, ", allowed is less");
		return refuse(EINVAL);
	}
	if (!strcmp(name, "chunk_bytes"))
		chunk_given_set(dir, true);
	if (!strcmp(name, "unfenced"))
		file_put(getenv("ISTRIPECTL_ROOT"), "confirmed", value, 0644);
	return 0;
}

static int reconnect_write(const char *path)
{
	const char *state = getenv("FAKE_RECONNECT");
	char dir[PATH_MAX];

	if (!state)
		return 0;
	while (!strcmp(state, "hang"))
		pause();
	if (atoi(state))
		return refuse(atoi(state));
	snprintf(dir, sizeof(dir), "%.*s", (int)(strrchr(path, '/') - path), path);
	file_put(dir, "state", state, 0644);
	return 0;
}

/* A write that leaves another text than its own. */
static ssize_t write_instead(int fd, const char *text, size_t bytes)
{
	char line[4096];
	ssize_t length = snprintf(line, sizeof(line), "%s\n", text);

	return __real_write(fd, line, length) == length ? (ssize_t)bytes : -1;
}

static ssize_t write_read_back(int fd, const char *name, const char *value, size_t bytes)
{
	char *text = value_read_back(name, value);
	ssize_t ret = write_instead(fd, text ? text : value, bytes);

	free(text);
	return ret;
}

ssize_t __wrap_write(int fd, const void *data, size_t bytes)
{
	char link[64], path[PATH_MAX], value[4096];
	const char *rest;
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, path, sizeof(path) - 1);
	if (length < 0 || bytes >= sizeof(value))
		return __real_write(fd, data, bytes);
	path[length] = '\0';
	memcpy(value, data, bytes);
	value[bytes] = '\0';
	value[strcspn(value, "\n")] = '\0';
	rest = below(path);
	if (rest && value_check(path, rest, value))
		return -1;
	if (strstr(path, "/sys/block/") && !strcmp(strrchr(path, '/'), "/reconnect") &&
	    reconnect_write(path))
		return -1;
	if (!strcmp(strrchr(path, '/'), "/rescan") && getenv("FAKE_RESCAN"))
		log_line("db", getenv("FAKE_RESCAN"), "");
	if (rest && !strcmp(value, "force") && !strcmp(strrchr(path, '/'), "/enable"))
		return write_instead(fd, "0", bytes);
	if (rest && !strcmp(strrchr(path, '/'), "/unfenced"))
		return write_instead(fd, "", bytes);
	if (rest)
		return write_read_back(fd, strrchr(path, '/') + 1, value, bytes);
	return __real_write(fd, data, bytes);
}
