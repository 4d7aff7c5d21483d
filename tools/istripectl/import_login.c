// SPDX-License-Identifier: GPL-2.0
/* import: records by which open-iscsi logs in to targets of the volume. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "conf.h"
#include "discoveryd.h"
#include "fact.h"
#include "file.h"
#include "holder.h"
#include "host_lun.h"
#include "import.h"
#include "import_login.h"
#include "place.h"
#include "records.h"
#include "text.h"

#define SHOWN	8	/* commands in one message */

static bool is_target_used(const struct import *import, const char *target)
{
	size_t i;

	if (file_names_have(&import->others, target))
		return true;
	for (i = 0; i < import->used_count; i++)
		if (!strcmp(settings_value(import->used[i], "node.name"), target))
			return true;
	return false;
}

/* @startup: one of record_startups */
typedef int (*startup_call)(struct import *import, struct settings *record, const char *startup);

/*
 * Calls for each setting by which open-iscsi logs in at boot. Any record of a target of the volume,
 * whichever way it goes, shows its LUNs to this host.
 */
static int logins_each(struct import *import, startup_call call)
{
	int ret = 0;
	size_t i, j;

	for (i = 0; !ret && i < import->records.count; i++) {
		struct settings *record = &import->records.items[i];

		for (j = 0; !ret && j < RECORD_STARTUPS; j++)
			if (record_is_automatic(record, record_startups[j]) &&
			    is_target_used(import, settings_value(record, "node.name")))
				ret = call(import, record, record_startups[j]);
	}
	return ret;
}

/* The command that keeps open-iscsi from logging in by a record. */
static int manual_add(struct import *import, struct settings *record, const char *startup)
{
	char *words = record_words(record), *name = text_quoted(startup);

	if (import->shown++ < SHOWN)
		fault_add(import->fault, "  iscsiadm -m node %s -o update -n %s -v manual", words,
			  name);
	free(name);
	free(words);
	return 0;
}

static void manuals_add(struct import *import)
{
	import->shown = 0;
	logins_each(import, manual_add);
	if (import->shown > SHOWN)
		fault_add(import->fault, "  and %u more", import->shown - SHOWN);
}

static int first_one(struct import *import, struct settings *record, const char *startup)
{
	(void)record;
	return fault_set(import->fault, -EBUSY,
			 "open-iscsi logs in at boot by these records (%s = automatic or onboot), and two users of a LUN destroy its data:",
			 startup);
}

void import_logins_find(struct import *import)
{
	struct file_names addresses = { 0 };
	size_t i;

	for (i = 0; i < import->records.count; i++) {
		const struct settings *record = &import->records.items[i];

		if (!is_target_used(import, settings_value(record, "node.name")))
			continue;
		file_names_add_new(&addresses, settings_value(record, "node.conn[0].address"));
		file_names_add_new(&addresses, settings_value(record, "node.discovery_address"));
	}
	discoveries_read(&addresses, &import->discoveries);
	file_names_free(&addresses);
}

/* @first: number of the first one that is on */
static void discoveries_add(const struct import *import, size_t first)
{
	size_t i;

	if (first < import->discoveries.count)
		fault_add(import->fault,
			  "iscsid logs in to all targets that these portals tell it of, whatever node.startup says:");
	for (i = first; i < import->discoveries.count; i++) {
		char *words = discovery_words(&import->discoveries.items[i]);

		fault_add(import->fault, "  %s No && systemctl restart iscsid", words);
		free(words);
	}
}

static bool is_saved(const struct import *import)
{
	char *path = conf_path(import->volume.name);
	bool saved = file_mode(path) >= 0;

	free(path);
	return saved;
}

int import_logins_check(struct import *import)
{
	bool any = logins_each(import, first_one);

	if (!any && !import->discoveries.count)
		return 0;
	if (any)
		manuals_add(import);
	else
		*import->fault->text = '\0';
	discoveries_add(import, 0);
	fault_add(import->fault,
		  "next: %s; log out of each with iscsiadm -m node -T TARGET --logout",
		  is_saved(import) ? "these commands" : "import --save --take-over does that");
	return -EBUSY;
}

/* LUNs of a target that are legs, as such or by what they are */
static void luns_find(const struct import *import, const char *target, struct file_names *luns)
{
	const struct host_luns *host = &import->host;
	size_t i, j;

	for (i = 0; i < import->volume.leg_count; i++)
		for (j = 0; j < import->volume.legs[i].path_count; j++) {
			const struct settings *path = &import->volume.legs[i].paths[j].settings;
			const char *lun = settings_value(path, "lun");

			if (!strcmp(settings_value(path, "target_name"), target))
				file_names_add_new(luns, *lun ? lun : "0");
		}
	for (i = 0; i < host->count; i++)
		for (j = 0; j < host->count; j++)
			if (!strcmp(host->items[i].target, target) &&
			    !strcmp(host->items[i].wwid, host->items[j].wwid) &&
			    host_lun_leg(&host->items[j], &import->volume))
				file_names_add_new(luns, host->items[i].lun);
}

/* Disks of the volume's targets that are no legs would not be there after the next boot. */
static int session_check(const struct import *import, const char *session)
{
	char *target = fact_text(place_path("/sys/class/iscsi_session/%s/targetname", session));
	struct file_names luns = { 0 };
	struct fault users = { 0 };
	int ret = 0;

	if (target)
		luns_find(import, target, &luns);
	if (target && is_target_used(import, target) &&
	    holder_find_session(session, &luns, &users))
		ret = fault_set(import->fault, -EBUSY,
				"target %s: a disk of this host, which is no leg, is in use:\n%s\n"
				"next: end that use, or import its LUN, too; or set node.startup of the records yourself",
				target, users.text);
	file_names_free(&luns);
	free(target);
	return ret;
}

int import_sessions_check(const struct import *import)
{
	char *dir = place_path("/sys/class/iscsi_session");
	struct file_names names = { 0 };
	int ret = 0;
	size_t i;

	file_list(dir, &names);
	for (i = 0; !ret && i < names.count; i++)
		ret = session_check(import, names.items[i]);
	file_names_free(&names);
	free(dir);
	return ret;
}

/*
 * The unit stays off as long as a record is left automatic: two users are worse than none.
 * @first: number of the first discovery record that is on
 */
static void automatic_left(struct import *import, size_t first)
{
	const char *name = import->volume.name;

	fault_add(import->fault,
		  "%s is saved, but open-iscsi still logs in at boot by these records, and two users of a LUN destroy its data:",
		  name);
	manuals_add(import);
	discoveries_add(import, first);
	fault_add(import->fault,
		  "next: these commands, before the host boots; the same import without --save and --take-over prints what is left");
	if (import->options.boot)
		fault_add(import->fault,
			  "next: systemctl enable istripe@%s after that: it does not start at boot yet",
			  name);
}

static int manual_set(struct import *import, struct settings *record, const char *startup)
{
	char *words = record_words(record), *name = text_quoted(startup);
	char *back = alloc_printf("iscsiadm -m node %s -o update -n %s -v %s", words, name,
				  settings_value(record, startup));
	int ret = record_set_manual(record, startup, import->fault);

	if (!ret) {
		printf("%s: %s is manual now: %s\n", import->volume.name, startup, words);
		file_names_add(&import->back, back);
	}
	free(back);
	free(name);
	free(words);
	return ret;
}

/* iscsiadm makes each record anew when it discovers its target, unless it is told otherwise. */
static void defaults_warn(void)
{
	char *path = place_path(ISCSID_CONF), *text = fact_text(alloc_text(path));
	struct settings defaults = { 0 };
	struct fault warning;
	size_t i;

	for (i = 0; i < RECORD_STARTUPS; i++) {
		char *rest = fact_line(text, record_startups[i]);
		char *value = rest ? fact_word(rest, 1) : NULL;

		settings_put(&defaults, record_startups[i], value ? value : "");
		if (record_is_automatic(&defaults, record_startups[i])) {
			fault_set(&warning, 0,
				  "warning: %s has %s = %s: the next discovery of these targets sets their records to that again\n"
				  "next: %s = manual there; or discover with iscsiadm -m discovery -o new, or istripectl discover",
				  path, record_startups[i], value, record_startups[i]);
			fault_print(&warning);
		}
		free(value);
		free(rest);
	}
	settings_free(&defaults);
	free(text);
	free(path);
}

static int discovery_off(struct import *import, const struct discovery *discovery)
{
	int ret = discovery_turn_off(discovery, import->fault);
	char *words, *back;

	if (ret)
		return ret;
	printf("%s: %s is No now: portal %s\n", import->volume.name, discovery->name,
	       discovery->portal);
	words = discovery_words(discovery);
	back = alloc_printf("%s Yes", words);
	file_names_add(&import->back, back);
	free(back);
	free(words);
	return 0;
}

static bool has_login(const struct records *records, const char *target)
{
	size_t i, j;

	for (i = 0; i < records->count; i++)
		for (j = 0; j < RECORD_STARTUPS; j++)
			if (record_is_automatic(&records->items[i], record_startups[j]) &&
			    !strcmp(settings_value(&records->items[i], "node.name"), target))
				return true;
	return false;
}

static void session_warn(const char *target)
{
	struct fault warning;
	char *word = text_quoted(target);

	fault_set(&warning, 0,
		  "warning: target %s, which is not of the volume, has a session, but no record that logs in at boot: use_discoveryd, which is No now, may have made it\n"
		  "next: if it shall stay, iscsiadm -m node -T %s -o update -n node.startup -v automatic",
		  target, word);
	fault_print(&warning);
	free(word);
}

/* Discovery records tell of all targets of their portals, not only of the volume's. */
static void sessions_warn(const struct import *import)
{
	char *dir = place_path("/sys/class/iscsi_session");
	struct file_names names = { 0 }, targets = { 0 };
	size_t i;

	file_list(dir, &names);
	for (i = 0; i < names.count; i++) {
		char *target = fact_text(place_path("/sys/class/iscsi_session/%s/targetname",
						    names.items[i]));

		if (target && !is_target_used(import, target) &&
		    !has_login(&import->records, target))
			file_names_add_new(&targets, target);
		free(target);
	}
	for (i = 0; i < targets.count; i++)
		session_warn(targets.items[i]);
	file_names_free(&targets);
	file_names_free(&names);
	free(dir);
}

static void back_print(const struct import *import, FILE *out)
{
	size_t i;

	if (import->back.count)
		fprintf(out,
			"%s: keep these commands, which give the records back to open-iscsi:\n",
			import->volume.name);
	for (i = 0; i < import->back.count; i++)
		fprintf(out, "  %s\n", import->back.items[i]);
}

/* Nothing else knows them. */
static void back_tell(const struct import *import)
{
	back_print(import, stdout);
	if (fflush(stdout) || ferror(stdout))
		back_print(import, stderr);
}

int import_take_over(struct import *import)
{
	int ret = logins_each(import, manual_set);
	size_t i = 0;

	while (!ret && i < import->discoveries.count) {
		ret = discovery_off(import, &import->discoveries.items[i]);
		i += !ret;
	}
	back_tell(import);
	if (i)
		sessions_warn(import);
	defaults_warn();
	if (ret)
		automatic_left(import, i);
	else if (i)
		printf("iscsid logs in until it is restarted: systemctl restart iscsid\n");
	return ret;
}
