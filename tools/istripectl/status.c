// SPDX-License-Identifier: GPL-2.0
/* status and list: how volumes are. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "changes.h"
#include "command.h"
#include "conf.h"
#include "file.h"
#include "interrupt.h"
#include "json_out.h"
#include "live.h"
#include "slow.h"
#include "table.h"
#include "tree.h"
#include "value.h"
#include "volumes.h"
#include "watch.h"

#define WATCH_MS		2000
#define FENCE_WAIT_MIN_MS	30000	/* before I/O that waits for a fence fails */

/* A volume as status and list see it. */
struct view {
	struct volume volume;
	struct live live;
	bool is_live;
	unsigned long long bytes;	/* of its disk */
	bool is_saved;		/* it is in its file only */
};

static bool view_has_file(const char *name)
{
	char *path = conf_path(name);
	bool has = file_is_named(path);

	free(path);
	return has;
}

/* Nobody may write into a pipe: only a regular file is opened. */
static int view_read_file(const char *name, struct view *view, struct fault *fault)
{
	char *path = conf_path(name);
	int ret;

	if (file_mode(path) < 0)
		ret = fault_set(fault, -ENOENT,
				"%s is not a regular file\n"
				"next: mend it, or move it away; a link is to lead to a file",
				path);
	else
		ret = conf_read(path, name, &view->volume, fault);
	view->is_saved = !ret;
	free(path);
	return ret;
}

/* The rest of one that goes down meanwhile says nothing. */
static void view_read_live(struct view *view)
{
	struct volume *volume = &view->volume;

	view->is_live = !live_read(volume->device, &view->live);
	view->bytes = live_size(volume->device);
	if (view->is_live && volume_was_up(volume->name, volume->device)) {
		live_add_off(&view->live, volume);
		return;
	}
	view->is_live = false;
	live_free(&view->live);
	tree_read_states(volume);
}

static int view_read(const char *name, struct view *view, struct fault *fault)
{
	int ret = tree_read(name, &view->volume, fault);
	const char *device = view->volume.device;

	/* A device name is a name: nothing else is looked up. */
	if (!ret && device && *device && !strchr(device, '/'))
		view_read_live(view);
	return ret;
}

static void view_free(struct view *view)
{
	volume_free(&view->volume);
	live_free(&view->live);
}

static const char *view_state(const struct view *view)
{
	if (view->is_saved)
		return "saved";
	if (!view->is_live)
		return view->volume.up ? "going" : "down";
	return settings_value(&view->live.values, "state");
}

static char *view_device(const struct view *view)
{
	return alloc_text(view->is_live ? view->live.name : "-");
}

static char *view_size(const struct view *view)
{
	return view->is_live ? value_size(view->bytes) : alloc_text("-");
}

/* status: rows */

static const char *value(const struct live *live, const char *name)
{
	const char *text = settings_value(&live->values, name);

	return *text ? text : "-";
}

static char *bytes_text(const struct live *live, const char *name)
{
	return value_size(strtoull(value(live, name), NULL, 10));
}

static void row(struct table *table, char *name, const char *state, char *where, char *what)
{
	char *const cells[TABLE_COLUMNS] = { name, alloc_text(state), where, what };

	table_add(table, cells);
}

static void text_row(struct table *table, int indent, const char *label, const char *text)
{
	if (*text)
		row(table, alloc_printf("%*s%s", indent, "", label), "", alloc_text(""),
		    alloc_text(text));
}

static void connection_row(struct table *table, const struct live *live, int indent)
{
	char *sent = bytes_text(live, "bytes_sent"), *received = bytes_text(live, "bytes_received");

	row(table, alloc_printf("%*sconnection %s", indent, "", live->name), value(live, "state"),
	    alloc_printf("%s > %s", value(live, "local_address"), value(live, "remote_address")),
	    alloc_printf("%s sent, %s received, ping %s us, %s digest errors", sent, received,
			 value(live, "ping_rtt_us"), value(live, "digest_errors")));
	free(sent);
	free(received);
}

/* Those of the path that are the session's; a module that does not tell has one session. */
static void connections_rows(struct table *table, const struct live *path, const char *session,
			     int indent)
{
	const struct live *all = live_child(path, "connections");
	size_t i;

	for (i = 0; all && i < all->child_count; i++) {
		const char *its = settings_value(&all->children[i].values, "session");

		if (!strcmp(*its ? its : "0", session))
			connection_row(table, &all->children[i], indent);
	}
}

/* A session that is not there has no state; its connections neither. */
static bool session_is_there(const struct live *session)
{
	return *settings_value(&session->values, "state");
}

/* @several: its number is said. */
static void session_rows(struct table *table, const struct live *path, const struct live *live,
			 const char *number, bool several, int indent)
{
	const char *said = several ? number : "", *blank = several ? " " : "";

	if (session_is_there(live))
		row(table, alloc_printf("%*ssession%s%s", indent, "", blank, said),
		    value(live, "state"),
		    alloc_printf("isid %s tsih %s tpgt %s", value(live, "isid"),
				 value(live, "tsih"), value(live, "target_portal_group_tag")),
		    alloc_printf("%s commands sent", value(live, "commands_sent")));
	else
		row(table, alloc_printf("%*ssession%s%s", indent, "", blank, said), "none",
		    alloc_text(""), alloc_text(""));
	if (session_is_there(live))
		connections_rows(table, path, number, indent + 2);
}

/* Writes of its lost session that the target may still carry out. */
static void ghosts_row(struct table *table, const struct live *live, int indent)
{
	const char *ghosts = settings_value(&live->values, "ghost_writes");

	if (*ghosts && strcmp(ghosts, "0"))
		row(table, alloc_printf("%*sghost writes", indent, ""), ghosts, alloc_text(""),
		    alloc_text("sent again elsewhere, or failed; "
			       "other data for their blocks wait"));
}

static const char confirm_words[] =
	"'istripectl path confirm' (only if its target was switched off or restarted since)";

/* The volume and the leg of a path. */
struct owners {
	const char *name;
	const struct live *volume, *leg;
};

/* A limit in ms; -1: there is none, or the module does not tell. */
static long long limit_ms(const struct live *live, const char *name)
{
	const char *text = settings_value(&live->values, name);

	return *text ? atoll(text) : -1;
}

/*
 * The other ends of a wait for the fence. The write that a ghost keeps from its blocks goes
 * on after ghost_timeout_ms; the lost write itself, with another fence, does not.
 */
static char *wait_end(const struct owners *owners, const struct live *path)
{
	long long fence_ms = limit_ms(owners->leg, "fence_timeout_ms");
	long long ghost_ms = limit_ms(owners->leg, "ghost_timeout_ms");
	long long fail_ms = limit_ms(owners->volume, "recovery_timeout_ms");
	char *fence = fence_ms >= 0 ? alloc_printf(", or for %lld ms", fence_ms) :
				      alloc_printf(", or until %s", confirm_words);
	char *text;

	if (fail_ms >= 0 && fail_ms < FENCE_WAIT_MIN_MS)
		fail_ms = FENCE_WAIT_MIN_MS;
	/* After that there was no room for a copy of the data. */
	if (ghost_ms >= 0 && limit_ms(path, "ghost_writes") > 0 &&
	    limit_ms(path, "waiting_ms") <= ghost_ms &&
	    !strcmp(settings_value(&owners->leg->values, "fence"), "auto"))
		text = alloc_printf("%s, or, behind ghost writes, for %lld ms; "
				    "not while keys are registered", fence_ms >= 0 ? fence : "",
				    ghost_ms);
	else if (fail_ms >= 0 && (fence_ms < 0 || fail_ms < fence_ms))
		text = alloc_printf("%s; they fail after %lld ms", fence, fail_ms);
	else
		text = alloc_text(fence);
	free(fence);
	return text;
}

/* Writes of its lost session have failed, and the target may still carry them out. */
static void unfenced_row(struct table *table, const struct live *live, int indent)
{
	if (!strcmp(settings_value(&live->values, "unfenced"), "1"))
		row(table, alloc_printf("%*sunfenced", indent, ""), "", alloc_text(""),
		    alloc_printf("no I/O of the leg before a login through it, or %s",
				 confirm_words));
}

/* Writes that wait for the end of the path's lost session: how many, since when, until when. */
static void waiting_row(struct table *table, const struct owners *owners, const struct live *live,
			int indent)
{
	const char *writes = settings_value(&live->values, "waiting_writes");
	const char *through = settings_value(&live->values, "fenced_through");
	char *at_most;

	if (!*writes || !strcmp(writes, "0"))
		return;
	at_most = wait_end(owners, live);
	row(table, alloc_printf("%*swaiting writes", indent, ""), writes,
	    alloc_printf("since %s ms", value(live, "waiting_ms")),
	    alloc_printf("until a login through this path%s%s ends its lost session%s",
			 *through ? " or path " : "", through, at_most));
	free(at_most);
}

/* The state of the path's target port; empty when the target does not tell. */
static char *access_text(const struct live *live)
{
	const char *state = settings_value(&live->values, "access_state");

	if (!*state)
		return alloc_text("");
	return alloc_printf("%s%s in port group %s, ", state,
			    strcmp(value(live, "preferred"), "1") ? "" : " and preferred",
			    value(live, "port_group"));
}

/* How slow it is, behind a comma; empty when it is not, or cannot be judged. */
static char *slow_text(const struct slow_group *group, const struct live *live, const char *what)
{
	char *why = slow_why(group, live, what);
	char *text = *why ? alloc_printf(", slow: %s", why) : alloc_text("");

	free(why);
	return text;
}

/* When a path that is lost logs in again, behind a comma; empty when the module does not tell. */
static char *login_text(const struct live *live)
{
	const char *failed = settings_value(&live->values, "login_failures");
	long long next_ms = limit_ms(live, "next_login_ms");
	const char *state = value(live, "state");

	if (!*failed || next_ms < 0)
		return alloc_text("");
	if (next_ms)
		return alloc_printf(", next login in %.1f s, %s failed", next_ms / 1000.0, failed);
	if (!strcmp(state, "backoff") || !strcmp(state, "refused"))
		return alloc_printf(", next login now, %s failed", failed);
	if (!strcmp(state, "connecting"))
		return alloc_printf(", logging in, %s failed", failed);
	return strcmp(failed, "0") ? alloc_printf(", %s logins failed", failed) : alloc_text("");
}

static void path_row(struct table *table, const struct live *live, const struct slow_group *group,
		     int indent)
{
	const char *nic = settings_value(&live->values, "nic");
	char *access = access_text(live), *slow = slow_text(group, live, "path");
	char *login = login_text(live);
	char *counts = alloc_printf("%s faults, %s reconnects%s", value(live, "faults"),
				    value(live, "reconnects"), login);
	bool off = !strcmp(value(live, "state"), "off");

	row(table, alloc_printf("%*spath %s", indent, "", live->name), value(live, "state"),
	    alloc_printf("%s%s%s", value(live, "portal"), *nic ? " via " : "", nic),
	    alloc_printf("%s lun %s, %s%s%s", value(live, "target_name"), value(live, "lun"),
			 access, off ? "until istripectl apply brings it back" : counts, slow));
	free(counts);
	free(login);
	free(access);
	free(slow);
}

/* Commands of a live session that are not sent yet: what for, and what ends it. */
static void holding_row(struct table *table, const struct live *live, int indent)
{
	static const struct {
		const char *word, *end;
	} reasons[] = {
		/* Without a row: the last two come and go under load; --json has them. */
		{ "", NULL },
		{ "none", NULL },
		{ "window", NULL },
		{ "pace", NULL },
		{ "fence", "until the leg is not unfenced any more" },
		{ "reset", "until the LUN reset is answered, or for 10 s" },
		{ "revalidation", "until the LUN, which has changed, has said what it is" },
	};
	const char *holding = settings_value(&live->values, "holding");
	const char *end = "";
	size_t i;

	for (i = 0; i < sizeof(reasons) / sizeof(*reasons); i++)
		if (!strcmp(holding, reasons[i].word))
			end = reasons[i].end;
	if (!end)
		return;
	row(table, alloc_printf("%*sholding", indent, ""), holding, alloc_text(""),
	    alloc_printf("commands wait%s%s", *end ? " " : "", end));
}

/* Nothing tries it again by itself. */
static void dead_row(struct table *table, const struct owners *owners, const struct live *live,
		     int indent)
{
	if (!strcmp(settings_value(&live->values, "state"), "dead"))
		row(table, alloc_printf("%*snext", indent, ""), "", alloc_text(""),
		    alloc_printf("when that has been mended: istripectl reconnect %s %s %s",
				 owners->name, owners->leg->name, live->name));
}

static void path_rows(struct table *table, const struct owners *owners, const struct live *live,
		      const struct slow_group *group, int indent)
{
	const struct live *session = live_child(live, "session");
	const struct live *all = live_child(live, "sessions");
	bool several = all && all->child_count;
	size_t i;

	path_row(table, live, group, indent);
	if (session)
		session_rows(table, live, session, "0", several, indent + 2);
	for (i = 0; all && i < all->child_count; i++)
		session_rows(table, live, &all->children[i], all->children[i].name, several,
			     indent + 2);
	text_row(table, indent + 2, "last error", settings_value(&live->values, "last_error"));
	dead_row(table, owners, live, indent + 2);
	text_row(table, indent + 2, "moved to", settings_value(&live->values, "moved_to"));
	text_row(table, indent + 2, "unproven", settings_value(&live->values, "unproven"));
	ghosts_row(table, live, indent + 2);
	unfenced_row(table, live, indent + 2);
	holding_row(table, live, indent + 2);
	waiting_row(table, owners, live, indent + 2);
}

/* Only when it says something about the safety of writes, or about why they wait. */
static void lun_reset_row(struct table *table, const struct live *live, int indent)
{
	const char *result = settings_value(&live->values, "lun_reset");

	if (!strcmp(result, "unsupported"))
		row(table, alloc_printf("%*sLUN reset", indent, ""), result, alloc_text(""),
		    alloc_text("a lost session's writes are believed to end with the next login"));
	else if (!strcmp(result, "unanswered") || !strcmp(result, "rejected"))
		row(table, alloc_printf("%*sLUN reset", indent, ""), result, alloc_text(""),
		    alloc_text("writes of a lost session, if any, wait for the next one"));
}

/* Why the disk is read-only. */
static void write_protected_row(struct table *table, const struct live *live, int indent)
{
	const char *how = settings_value(&live->values, "write_protected");

	if (!strcmp(how, "reported"))
		row(table, alloc_printf("%*swrite protected", indent, ""), how, alloc_text(""),
		    alloc_text("the LUN says so: the disk is read-only"));
	else if (!strcmp(how, "refused"))
		row(table, alloc_printf("%*swrite protected", indent, ""), how, alloc_text(""),
		    alloc_text("it has refused a write: the disk is read-only; rescan asks it"));
}

/* Newer data of the blocks of lost writes: only this host has them for sure. */
static void overlay_row(struct table *table, const struct live *live, int indent)
{
	const char *bytes = settings_value(&live->values, "overlay_bytes");

	if (*bytes && strcmp(bytes, "0"))
		row(table, alloc_printf("%*soverlays", indent, ""), bytes, alloc_text("bytes"),
		    alloc_text("data of blocks of lost writes in memory: do not reset this host"));
}

/* I/O waits although paths are live: none serves it. */
static void unserved_row(struct table *table, const struct live *live, int indent)
{
	const char *ms = settings_value(&live->values, "waiting_ms");

	if (*ms && strcmp(ms, "0"))
		row(table, alloc_printf("%*swaiting I/O", indent, ""), "",
		    alloc_printf("since %s ms", ms),
		    alloc_printf("no path serves it: %s", value(live, "last_error")));
}

/* The LUN refuses all commands for now. */
static void busy_row(struct table *table, const struct live *live, int indent)
{
	const char *ms = settings_value(&live->values, "busy_ms");

	if (*ms && strcmp(ms, "0"))
		row(table, alloc_printf("%*sbusy", indent, ""), "",
		    alloc_printf("since %s ms", ms),
		    alloc_text("the LUN takes no command, each is sent again and again"));
}

/* They have no request yet, so the disk's statistics do not have them. */
static void kept_row(struct table *table, const struct live *live, int indent)
{
	const char *bios = settings_value(&live->values, "kept_bios");

	if (*bios && strcmp(bios, "0"))
		row(table, alloc_printf("%*skept", indent, ""), bios, alloc_text("bios"),
		    alloc_text("wait without a request until the leg answers"));
}

/* No path takes I/O: since when, until when it waits, and why, if paths are live. */
static void outage_row(struct table *table, const struct live *live, int indent)
{
	const char *ms = settings_value(&live->values, "down_ms");
	const char *error = settings_value(&live->values, "last_error");
	const char *left = settings_value(&live->values, "recovery_left_ms");
	char *end;

	if (!*ms || !strcmp(ms, "0"))
		return;
	if (!strcmp(left, "-1"))
		end = alloc_text("waits for ever");
	else if (!strcmp(left, "0"))
		end = alloc_text("fails");
	else
		end = alloc_printf("fails in %s ms", left);
	row(table, alloc_printf("%*soutage", indent, ""), "", alloc_printf("since %s ms", ms),
	    alloc_printf("no path takes I/O, which %s%s%s", end, *error ? ": " : "", error));
	free(end);
}

static void leg_rows(struct table *table, const char *name, const struct live *volume,
		     const struct live *live, const struct slow_group *legs, int indent)
{
	const struct owners owners = { .name = name, .volume = volume, .leg = live };
	const struct live *paths = live_child(live, "paths");
	char *slow = slow_text(legs, live, "leg");
	struct slow_group group;
	size_t i;

	row(table, alloc_printf("%*sleg %s", indent, "", live->name), value(live, "state"),
	    alloc_text(value(live, "designator")),
	    alloc_printf("%s commands, %s redriven, %s retried%s", value(live, "commands"),
			 value(live, "redriven"), value(live, "retried"), slow));
	free(slow);
	lun_reset_row(table, live, indent + 2);
	write_protected_row(table, live, indent + 2);
	overlay_row(table, live, indent + 2);
	unserved_row(table, live, indent + 2);
	busy_row(table, live, indent + 2);
	kept_row(table, live, indent + 2);
	outage_row(table, live, indent + 2);
	slow_compare(paths, &group);
	for (i = 0; paths && i < paths->child_count; i++)
		path_rows(table, &owners, &paths->children[i], &group, indent + 2);
}

static void live_rows(struct table *table, const struct view *view)
{
	const struct live *live = &view->live, *legs = live_child(live, "legs");
	char *size = view_size(view);
	struct slow_group group;
	size_t i;

	row(table, alloc_text(view->volume.name), view_state(view),
	    alloc_printf("/dev/%s", live->name),
	    alloc_printf("%s, legs: %zu, chunk %s bytes, recovery timeout %s ms", size,
			 legs ? legs->child_count : 0, value(live, "chunk_bytes"),
			 value(live, "recovery_timeout_ms")));
	free(size);
	slow_compare(legs, &group);
	for (i = 0; legs && i < legs->child_count; i++)
		leg_rows(table, view->volume.name, live, &legs->children[i], &group, 2);
}

static void down_rows(struct table *table, const struct view *view)
{
	row(table, alloc_text(view->volume.name), view_state(view), alloc_text(""),
	    alloc_printf("configured, legs: %zu, paths: %zu", view->volume.leg_count,
			 volume_path_count(&view->volume)));
	if (view->volume.last_error)
		text_row(table, 2, "last error", view->volume.last_error);
}

static void status_rows(struct table *table, const struct view *view)
{
	if (view->is_live)
		live_rows(table, view);
	else
		down_rows(table, view);
}

static const char *const status_columns[] = { "NAME", "STATE", "WHERE", "DETAILS", NULL };

static struct json_object *slow_object(enum slow slow)
{
	return slow == SLOW_UNKNOWN ? NULL : json_object_new_boolean(slow == SLOW_YES);
}

/* In the objects of @owner's directory @group, which json_live() has made in the same order. */
static void slow_add(struct json_object *object, const struct live *owner, const char *group)
{
	const struct live *all = live_child(owner, group);
	struct json_object *array;
	struct slow_group compared;
	size_t i;

	if (!all || !json_object_object_get_ex(object, group, &array))
		return;
	slow_compare(all, &compared);
	for (i = 0; i < all->child_count; i++) {
		const struct live *place = &all->children[i];
		struct json_object *member = json_object_array_get_idx(array, i);

		json_object_object_add(member, "slow", slow_object(slow_of(&compared, place)));
		slow_add(member, place, "paths");
	}
}

static struct json_object *status_object(const struct view *view)
{
	struct json_object *object = json_object_new_object();

	json_text(object, "name", view->volume.name);
	json_object_object_add(object, "up", json_object_new_boolean(view->volume.up));
	json_text(object, "device", view->is_live ? view->live.name : NULL);
	json_text(object, "last_error", view->volume.last_error);
	json_object_object_add(object, "size_bytes", view->is_live ?
			       json_object_new_int64(view->bytes) : NULL);
	/* The volume's own words come last, and count. */
	json_text(object, "state", view_state(view));
	if (view->is_live) {
		json_live(object, &view->live);
		slow_add(object, &view->live, "legs");
	}
	return object;
}

/* list: rows */

static const char *const list_columns[] = {
	"VOLUME", "DEVICE", "STATE", "SIZE", "LEGS", "PATHS", NULL
};

static void list_rows(struct table *table, const struct view *view)
{
	char *const cells[TABLE_COLUMNS] = {
		alloc_text(view->volume.name), view_device(view), alloc_text(view_state(view)),
		view_size(view), alloc_printf("%zu", view->volume.leg_count),
		alloc_printf("%zu", volume_path_count(&view->volume)),
	};

	table_add(table, cells);
}

static struct json_object *list_object(const struct view *view)
{
	struct json_object *object = json_object_new_object();

	json_text(object, "name", view->volume.name);
	json_text(object, "device", view->is_live ? view->live.name : NULL);
	json_text(object, "state", view_state(view));
	json_object_object_add(object, "size_bytes", view->is_live ?
			       json_object_new_int64(view->bytes) : NULL);
	json_object_object_add(object, "legs", json_object_new_int64(view->volume.leg_count));
	json_object_object_add(object, "paths",
			       json_object_new_int64(volume_path_count(&view->volume)));
	return object;
}

/* Both */

struct report {
	const char *const *columns;
	void (*rows)(struct table *table, const struct view *view);
	struct json_object *(*object)(const struct view *view);
	bool saved;		/* also volumes that have a file only */
};

static int names_find(const struct command_line *line, const struct report *report,
		      struct file_names *names, struct fault *fault)
{
	bool loaded;
	int ret;

	if (line->count || !report->saved)
		ret = command_volumes(line, names, fault);
	else
		ret = volumes_list(names, &loaded, fault);
	return ret || !report->saved ? ret : tree_check(fault);
}

/* @named: it is to be there. */
static int view_report(const char *name, bool named, const struct report *report,
		       struct table *table, struct json_object *all)
{
	struct fault fault = { 0 };
	struct view view = { 0 };
	int ret = view_read(name, &view, &fault);

	if (ret && report->saved && view_has_file(name) && tree_has_volume(name, &fault)) {
		view_free(&view);
		view = (struct view){ 0 };
		ret = view_read_file(name, &view, &fault);
	}
	if (!ret && all)
		json_object_array_add(all, report->object(&view));
	else if (!ret)
		report->rows(table, &view);
	else if (ret == -ENOENT && !named && !(report->saved && view_has_file(name)))
		ret = 0;
	/* names_find() has said that the module is not loaded. */
	else if (!report->saved || ret != -ENODEV)
		fault_print(&fault);
	view_free(&view);
	return ret ? EXIT_FAILED : EXIT_DONE;
}

static int volumes_report(const struct command_line *line, const struct report *report,
			  struct table *table)
{
	struct json_object *all = line->flags & COMMAND_JSON ? json_object_new_array() : NULL;
	struct file_names names = { 0 };
	struct fault fault = { 0 };
	int code = EXIT_DONE;
	size_t i;

	if (names_find(line, report, &names, &fault)) {
		fault_print(&fault);
		code = EXIT_FAILED;
	}
	for (i = 0; i < names.count; i++)
		if (view_report(names.items[i], line->count, report, table, all))
			code = EXIT_FAILED;
	if (all)
		json_print(all);
	table_print(table);
	file_names_free(&names);
	return code;
}

/* Of a watch: one that is not there is rather a word that was meant for something else. */
static bool volumes_are_there(const struct command_line *line)
{
	struct fault fault = { 0 };
	long long ms;
	size_t i;

	for (i = 0; i < line->count; i++) {
		if (!tree_has_volume(line->names[i], &fault))
			continue;
		if (value_wait(line->names[i], &ms) && ms > 0)
			fault_add(&fault, "next: --watch=%s for an interval", line->names[i]);
		fault_print(&fault);
		return false;
	}
	return true;
}

/* Both list and status. */
static int report_run(const struct command *command, int argc, char **argv, unsigned int also,
		      const struct report *report)
{
	struct command_line line;
	struct table_style style;
	struct fault fault = { 0 };
	struct changes changes;
	struct table table;
	int code, blocks = 0;

	if (!command_begin(command, argc, argv, COMMAND_JSON | COMMAND_TABLE | also, &line, false,
			   &code))
		return code;
	if (command_style(&line, &style, &fault) ||
	    table_begin(&table, report->columns, &style, &fault))
		return command_usage(command, &fault);
	if (!(line.flags & COMMAND_WATCH))
		return volumes_report(&line, report, &table);
	if (!volumes_are_there(&line))
		return EXIT_FAILED;
	if (!line.interval_ms)
		line.interval_ms = WATCH_MS;
	interrupt_catch();
	changes_begin(&changes);
	do {
		changes.lost = false;
		watch_block(!blocks++);
		code = volumes_report(&line, report, &table);
	} while (watch_change(&changes, line.interval_ms));
	changes_end(&changes);
	return code;
}

int command_status(const struct command *command, int argc, char **argv)
{
	static const struct report report = { status_columns, status_rows, status_object, false };

	return report_run(command, argc, argv, COMMAND_WATCH, &report);
}

int command_list(const struct command *command, int argc, char **argv)
{
	static const struct report report = { list_columns, list_rows, list_object, true };

	return report_run(command, argc, argv, 0, &report);
}
