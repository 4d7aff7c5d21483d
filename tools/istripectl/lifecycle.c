// SPDX-License-Identifier: GPL-2.0
/* up, down, delete: what happens to a volume that is there. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "alloc.h"
#include "apply.h"
#include "command.h"
#include "conf.h"
#include "file.h"
#include "holder.h"
#include "interrupt.h"
#include "live.h"
#include "lock.h"
#include "module.h"
#include "notify.h"
#include "place.h"
#include "power.h"
#include "remains.h"
#include "retry.h"
#include "run.h"
#include "show.h"
#include "together.h"
#include "tree.h"
#include "unit.h"
#include "value.h"

#define LATE_MS		10000	/* for a path that the volume comes up without */
#define OPEN_MOMENTS	50	/* of 100 ms */
#define GHOST_MOMENTS	50

static const struct timespec moment = { .tv_nsec = 100000000 };

/* Its unit starts again when the volume is in use and cannot stop: up changes nothing then. */
static bool stays(const char *name, const struct command_line *line)
{
	return line->flags & (COMMAND_SAVED | COMMAND_ALL) && power_is_up(name);
}

/* A volume that the kernel does not know, or not all of it, may have a file. */
static int missing_make(const char *name, unsigned int flags, struct retry *late,
			struct fault *fault)
{
	bool in_part;
	int ret = 0;

	/* Another process may be just making or removing it. */
	if (!(flags & APPLY_DRY_RUN) && !power_is_up(name))
		ret = lock_pass(name, fault);
	if (ret)
		return ret;
	ret = tree_has_volume(name, fault);
	in_part = !ret && remains_are(name);
	if ((ret || in_part) && apply_has_file(name))
		return apply_file(name, flags | APPLY_MISSING, late, fault);
	return in_part ? remains_fault(name, fault) : ret;
}

static int volume_find(const char *name, const struct command_line *line, struct retry *late,
		       struct fault *fault)
{
	bool dry_run = line->flags & COMMAND_DRY_RUN;
	unsigned int flags = dry_run ? APPLY_DRY_RUN : 0;
	int ret = dry_run ? 0 : tree_check(fault);

	if (ret)
		return ret;
	if (stays(name, line)) {
		apply_differs(name);
		return 0;
	}
	/* At boot nobody is there to choose. */
	if (line->flags & (COMMAND_SAVED | COMMAND_ALL))
		return apply_file(name, flags | APPLY_FIRST, late, fault);
	return missing_make(name, flags, late, fault);
}

/* One that is configured already comes up as it is, and its file may say something else. */
static bool keeps_settings(const char *name, const struct command_line *line)
{
	struct fault ignored;

	return !(line->flags & (COMMAND_SAVED | COMMAND_ALL)) &&
	       !tree_has_volume(name, &ignored) && apply_has_file(name);
}

/* In what a volume that keeps its settings is not as its file says. */
static void differences_mention(const char *name, bool up)
{
	struct fault said = { 0 };

	if (up) {
		apply_differs(name);
		return;
	}
	apply_add_differences(name, &said);
	fault_print(&said);
}

static int up_plan(const char *name, const struct command_line *line, struct fault *fault)
{
	bool keeps = keeps_settings(name, line), up;
	int ret = volume_find(name, line, NULL, fault);

	if (ret)
		return ret;
	up = power_is_up(name);
	if (!up && (line->flags & COMMAND_CREATE))
		printf("%s: would make superblocks on its legs\n", name);
	printf("%s: %s\n", name, up ? "is up already" : "would come up");
	if (keeps)
		differences_mention(name, up);
	return 0;
}

/* The kernel forgets it after one attempt. */
static int superblocks_allow(const char *name, struct fault *fault)
{
	int lock, ret = remains_lock(name, &lock, fault);

	if (!ret)
		ret = tree_set(name, -1, -1, "metadata_create", "1", fault);
	lock_leave(lock);
	return ret;
}

static int attempts_make(const char *name, const struct command_line *line, struct fault *fault)
{
	bool patient = line->wait_ms == VALUE_FOREVER || line->wait_ms > LATE_MS;
	struct retry retry, late;
	int ret;

	/* One that is just going down is to come up as its file says: another command does that. */
	retry_begin(&retry, stays(name, line) ? 0 : line->wait_ms);
	retry_begin(&late, patient ? LATE_MS : line->wait_ms);
	/* Host names of its portals. */
	while ((ret = volume_find(name, line, &late, fault)) == -EAGAIN)
		if (!retry_again(&retry, fault))
			break;
	if (!ret && (line->flags & COMMAND_CREATE) && !power_is_up(name))
		ret = superblocks_allow(name, fault);
	return ret ? ret : power_up(name, &retry, fault);
}

static int volume_up(const char *name, const struct command_line *line, struct fault *fault)
{
	bool keeps;
	int ret;

	if (line->flags & COMMAND_DRY_RUN)
		return up_plan(name, line, fault);
	keeps = keeps_settings(name, line);
	ret = attempts_make(name, line, fault);
	/* Of attempts before the last one. */
	if (!ret)
		*fault = (struct fault) { 0 };
	notify_status(fault);
	if (ret && keeps)
		apply_add_differences(name, fault);
	if (ret)
		return ret;
	power_print(name);
	if (keeps)
		apply_differs(name);
	return 0;
}

/* udev, for one, opens a disk for a moment when somebody has closed it. */
static int down_again(const char *name, const char *device, struct fault *fault)
{
	int i, ret = -ETXTBSY;

	for (i = 0; i < OPEN_MOMENTS && ret == -ETXTBSY && !interrupt_seen(); i++) {
		struct fault users = { 0 };

		if (holder_find(device, &users))
			return ret;
		nanosleep(&moment, NULL);
		ret = power_down(name, false, fault);
	}
	return ret;
}

static int in_use_fault(const char *device, struct fault *fault)
{
	fault_set(fault, 0, "/dev/%s is in use:", device);
	if (!(holder_find(device, fault) + holder_find_processes(device, fault)))
		fault_add(fault, "by somebody not seen from here");
	fault_add(fault,
		  "next: end that use (umount, swapoff, vgchange -an, mdadm --stop), or --force, which fails its I/O from then on");
	return -EBUSY;
}

/* As far as it can be seen from here. */
static bool is_in_use(const char *device)
{
	struct fault ignored = { 0 };

	return holder_find(device, &ignored) || holder_find_processes(device, &ignored);
}

static int down_plan(const char *name, bool force, struct fault *fault)
{
	char *device = power_device(name);
	bool used = device && is_in_use(device);
	int ret = 0;

	if (!device)
		printf("%s: is down already\n", name);
	else if (used && !force)
		ret = in_use_fault(device, fault);
	else
		printf("%s: would take /dev/%s away%s\n", name, device,
		       used ? ", which is in use: its I/O would fail" : "");
	free(device);
	return ret;
}

static unsigned long ghosts_sum(const struct live *live)
{
	unsigned long sum = strtoul(settings_value(&live->values, "ghost_writes"), NULL, 10);
	size_t i;

	for (i = 0; i < live->child_count; i++)
		sum += ghosts_sum(&live->children[i]);
	return sum;
}

/* Of legs that have a path, or had one so short a time ago that I/O still waits for one. */
static unsigned long ghosts_count(const char *device)
{
	const struct live *legs;
	struct live live = { 0 };
	unsigned long ghosts = 0;
	size_t i;

	legs = live_read(device, &live) ? NULL : live_child(&live, "legs");
	for (i = 0; legs && i < legs->child_count; i++)
		if (strcmp(settings_value(&legs->children[i].values, "state"), "failed"))
			ghosts += ghosts_sum(&legs->children[i]);
	live_free(&live);
	return ghosts;
}

/* A login through another path, or the lost one's, ends them: mostly within a second or two. */
static void ghosts_wait(const char *name, const char *device)
{
	unsigned long ghosts;
	int i;

	for (i = 0; i < GHOST_MOMENTS && !interrupt_seen(); i++) {
		ghosts = ghosts_count(device);
		if (!ghosts)
			return;
		if (i == 10)
			fprintf(stderr,
				"%s: waits up to 5 s: the target may still carry out %lu lost write(s)\n",
				name, ghosts);
		nanosleep(&moment, NULL);
	}
}

/* In a chroot systemctl does nothing, which it says, and succeeds. */
static void unit_advise(const char *name, bool offline, struct fault *fault)
{
	if (offline)
		fault_add(fault,
			  "next: this command again outside of the chroot, and without SYSTEMD_OFFLINE\n"
			  "or, when systemctl status istripe@%s there is not activating, --force, which fails the I/O of a disk in use",
			  name);
	else
		fault_add(fault,
			  "next: systemctl status istripe@%s; or, when that is not activating, --force, which fails the I/O of a disk in use",
			  name);
}

/* @why: what has become of systemctl itself; NULL: it has run. */
static int unit_unknown(const char *name, const char *unit, const struct fault *why,
			const struct run *run, struct fault *fault)
{
	struct fault said = { 0 };
	bool offline = false;

	if (why) {
		said = *why;
	} else if (run->code) {
		run_fault(run, "systemctl show", &said);
	} else {
		fault_set(&said, 0, "systemctl show says nothing");
		run_add_errors(run, &said);
		offline = *run->err;
	}
	fault_set(fault, 0,
		  "volume %s does not go down: whether %s is just bringing it up cannot be told:",
		  name, unit);
	fault_add(fault, "%s", said.text);
	unit_advise(name, offline, fault);
	return -EBUSY;
}

static bool is_run_by_systemd(void)
{
	char *dir = place_path("/run/systemd/system");
	bool is = file_is_dir(dir);

	free(dir);
	return is;
}

/*
 * Whether the unit of a volume is to bring it up: between two of its attempts the volume is down,
 * and comes up when another host has it. Without systemd there is no unit.
 */
static int unit_check(const char *name, bool force, struct fault *fault)
{
	char *unit = unit_of_volume(name);
	char *const argv[] = { "systemctl", "show", "-p", "ActiveState", "--value", unit, NULL };
	struct fault why = { 0 };
	struct run run;
	int ret = run_program(argv, NULL, NULL, &run, &why);

	if (ret == -EINTR)
		*fault = why;
	else if (!ret && !run.code && !strcmp(run.out, "activating\n"))
		ret = fault_set(fault, -EBUSY,
				"volume %s does not go down: %s is just bringing it up, and tries until it is\n"
				"next: systemctl stop istripe@%s, then this command again",
				name, unit, name);
	else if ((!ret && (run.code == RUN_MISSING || (!run.code && *run.out))) || force ||
		 !is_run_by_systemd())
		ret = 0;
	else
		ret = unit_unknown(name, unit, ret ? &why : NULL, &run, fault);
	run_free(&run);
	free(unit);
	return ret;
}

/* The advice to bring it up would be none. */
static int configured_check(const char *name, struct fault *fault)
{
	int ret = tree_has_volume(name, fault);

	if (ret == -ENOENT && apply_has_file(name))
		fault_set(fault, ret,
			  "there is no volume %s: it is in its file, but not configured, and so it is down",
			  name);
	return ret;
}

static int volume_down(const char *name, const struct command_line *line, struct fault *fault)
{
	bool force = line->flags & COMMAND_FORCE;
	int ret = configured_check(name, fault);
	char *device;

	if (!ret)
		ret = unit_check(name, force, fault);
	if (!ret)
		ret = power_check_others(name, fault);
	if (ret)
		return ret;
	if (line->flags & COMMAND_DRY_RUN)
		return down_plan(name, force, fault);
	if (power_is_up(name))
		remains_forget(name);
	device = power_device(name);
	if (device && !force)
		ghosts_wait(name, device);
	/* Also one that is down is told to be: it may be just coming up. */
	if (interrupt_seen())
		ret = fault_set(fault, -EINTR, "interrupted: %s stays up", name);
	else
		ret = power_down(name, force, fault);
	if (ret == -ETXTBSY && device)
		ret = down_again(name, device, fault);
	if (ret == -ETXTBSY && device)
		ret = in_use_fault(device, fault);
	free(device);
	return ret;
}

/* Another host may take the LUN now: with an exit code of 0 it is safe to. */
static int volume_hand_over(const char *name, const struct command_line *line,
			    struct fault *fault)
{
	int ret = volume_down(name, line, fault);

	if (ret || line->flags & (COMMAND_FORCE | COMMAND_DRY_RUN))
		return ret;
	return remains_check_fenced(name, fault);
}

/* It may have waited for another process, which was about to bring the volume up. */
static int settings_remove(const char *name, struct fault *fault)
{
	int lock, ret = lock_take(name, &lock, fault);

	if (!ret)
		ret = power_check_others(name, fault);
	if (!ret && power_is_up(name))
		ret = fault_set(fault, -EBUSY, "volume %s is up: its settings stay", name);
	if (!ret)
		ret = tree_remove(name, lock, fault);
	lock_leave(lock);
	return ret;
}

/* The last that is known of it. */
static void forgetting_mention(const char *name)
{
	struct volume volume = { 0 };
	struct fault ignored;
	char *text = NULL;
	size_t bytes;
	FILE *out;

	if (apply_has_file(name) || remains_are(name))
		return;
	out = open_memstream(&text, &bytes);
	if (out && !tree_read(name, &volume, &ignored)) {
		conf_leave_chunk(&volume);
		/* No line makes one with gaps. */
		if (show_line(&volume, out, &ignored))
			conf_print(out, &volume, &ignored);
	}
	if (out && !fclose(out) && *text)
		fprintf(stderr,
			"%s: is in no file, where its settings would stay; they are:\n%s", name,
			text);
	volume_free(&volume);
	free(text);
}

static int volume_delete(const char *name, const struct command_line *line, struct fault *fault)
{
	bool force = line->flags & COMMAND_FORCE, dry_run = line->flags & COMMAND_DRY_RUN;
	int ret = volume_down(name, line, fault);
	struct fault after = { 0 }, missing;

	if (ret == -ENOENT && apply_has_file(name) && tree_has_volume(name, &missing)) {
		char *file = conf_path(name);

		fault_add(fault, "next: to have it forgotten: systemctl disable istripe@%s; rm %s",
			  name, file);
		free(file);
		return ret;
	}
	/* While it is up nobody knows yet. */
	if (!ret && !force && !(dry_run && power_is_up(name)))
		ret = remains_check_fenced(name, fault);
	/* Lost data do not come back, whether its directories stay or not. */
	if (ret && !(force && ret == -EIO))
		return ret;
	forgetting_mention(name);
	if (dry_run) {
		printf("%s: would forget its settings\n", name);
		return 0;
	}
	if (!settings_remove(name, &after))
		return ret;
	fault_add(fault, "%s", after.text);
	return -EIO;
}

/*
 * Whether nothing but the administrator's work mends an error: a file, a secret, a value. All else
 * is left to be tried again, which does no harm.
 */
static bool is_permanent(int error)
{
	return error == -EINVAL || error == -ENOENT || error == -EACCES || error == -EPERM ||
		error == -EMSGSIZE;
}

/* Of all volumes: as long as one may come up when it is tried again, so does the command. */
static int code_after(int code, int error)
{
	return code != EXIT_FAILED && is_permanent(error) ? EXIT_CONFIGURATION : EXIT_FAILED;
}

/* A command does this for each of its volumes. */
struct turns {
	int (*act)(const char *name, const struct command_line *line, struct fault *fault);
	const struct command_line *line;
	int *begun;		/* of power_begin(), or NULL */
	struct said *said;	/* shared by processes, to be told in order; NULL: told at once */
	size_t told;
	int code;
};

struct said {
	bool ended;
	struct fault fault;
};

static int turn_take(void *context, size_t number)
{
	const struct turns *turns = context;
	struct fault fault = { 0 };
	int ret = turns->act(turns->line->names[number], turns->line, &fault);

	if (ret && turns->said)
		turns->said[number].fault = fault;
	else if (ret)
		fault_print(&fault);
	return -ret;
}

/* Errors are told as far as all volumes before have ended. */
static void said_tell(struct turns *turns)
{
	while (turns->told < turns->line->count && turns->said[turns->told].ended)
		fault_print(&turns->said[turns->told++].fault);
}

static void turn_end(void *context, size_t number, int error)
{
	struct turns *turns = context;

	if (turns->begun && turns->begun[number] >= 0)
		close(turns->begun[number]);
	if (turns->said) {
		turns->said[number].ended = true;
		said_tell(turns);
	}
	if (error)
		turns->code = turns->act == volume_up ? code_after(turns->code, -error) :
			      EXIT_FAILED;
}

/* Each volume gets its turn, whatever became of those before it. */
static void each_in_turn(struct turns *turns)
{
	size_t i;

	for (i = 0; i < turns->line->count; i++)
		turn_end(turns, i, interrupt_seen() ? EINTR : turn_take(turns, i));
}

static void repeated_drop(struct command_line *line)
{
	size_t i, j, kept = 0;

	for (i = 0; i < line->count; i++) {
		for (j = 0; j < kept && strcmp(line->names[j], line->names[i]); j++)
			;
		if (j == kept)
			line->names[kept++] = line->names[i];
	}
	line->count = kept;
}

/* At the same time: a volume whose array is off delays none of the others. */
static void all_up(struct command_line *line, struct turns *turns)
{
	struct fault ignored;
	size_t i;

	/* The module is loaded once; each volume says that it is not there. */
	module_wanted();
	tree_check(&ignored);
	repeated_drop(line);
	turns->begun = alloc_array(NULL, line->count, sizeof(*turns->begun));
	/* In this process, whose end is that of all attempts. */
	for (i = 0; i < line->count; i++)
		turns->begun[i] = power_begin(line->names[i]);
	if (line->count > 1)
		together_run(line->count, turn_take, turn_end, turns);
	else
		each_in_turn(turns);
	free(turns->begun);
}

/*
 * At the same time: a volume whose array hangs keeps none of the others from its flush. One that
 * another one is made of, by a target of this host, is in use as long as that target has it.
 */
static void all_down(struct command_line *line, struct turns *turns)
{
	size_t bytes;
	void *said;

	repeated_drop(line);
	bytes = line->count * sizeof(*turns->said);
	if (line->count < 2) {
		each_in_turn(turns);
		return;
	}
	said = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	turns->said = said == MAP_FAILED ? NULL : said;
	together_run(line->count, turn_take, turn_end, turns);
	if (turns->said)
		munmap(said, bytes);
}

/* Those that have a file; or those that the kernel has, which are none without the module. */
static int all_list(bool of_files, struct file_names *names, struct fault *fault)
{
	int ret = of_files ? conf_list(names, fault) : tree_list(names, fault);

	return ret == -ENODEV ? 0 : ret;
}

static int each_run(const struct command *command, int argc, char **argv, unsigned int allowed,
		    int (*act)(const char *name, const struct command_line *line,
			       struct fault *fault))
{
	struct command_line line;
	struct turns turns = { .act = act, .line = &line, .code = EXIT_DONE };
	struct file_names files = { 0 };
	struct fault fault = { 0 };

	if (!command_begin(command, argc, argv, allowed | COMMAND_DRY_RUN, &line, true,
			   &turns.code))
		return turns.code;
	interrupt_catch();
	if ((line.flags & COMMAND_ALL) && all_list(act == volume_up, &files, &fault)) {
		fault_print(&fault);
		turns.code = EXIT_FAILED;
	}
	if (line.flags & COMMAND_ALL) {
		line.names = files.items;
		line.count = files.count;
	}
	if (act == volume_up && !(line.flags & COMMAND_DRY_RUN))
		all_up(&line, &turns);
	else if (act == volume_hand_over && !(line.flags & COMMAND_DRY_RUN))
		all_down(&line, &turns);
	else
		each_in_turn(&turns);
	file_names_free(&files);
	return turns.code;
}

int command_up(const struct command *command, int argc, char **argv)
{
	return each_run(command, argc, argv,
			COMMAND_WAIT | COMMAND_ALL | COMMAND_SAVED | COMMAND_CREATE, volume_up);
}

int command_down(const struct command *command, int argc, char **argv)
{
	return each_run(command, argc, argv, COMMAND_FORCE | COMMAND_ALL, volume_hand_over);
}

int command_delete(const struct command *command, int argc, char **argv)
{
	return each_run(command, argc, argv, COMMAND_FORCE, volume_delete);
}
