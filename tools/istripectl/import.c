// SPDX-License-Identifier: GPL-2.0
/* import: the configuration of a volume from node records of open-iscsi. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <istripe/settings.h>
#include "alloc.h"
#include "command.h"
#include "conf.h"
#include "discoveryd.h"
#include "fact.h"
#include "file.h"
#include "host_lun.h"
#include "import.h"
#include "import_login.h"
#include "import_secret.h"
#include "initiator.h"
#include "interrupt.h"
#include "lock.h"
#include "node.h"
#include "openiscsi.h"
#include "parse.h"
#include "portal.h"
#include "records.h"
#include "same.h"
#include "save.h"
#include "text.h"
#include "value.h"

#define ALL_TARGETS	"*"
#define SOON_MS		30000	/* dm-multipath is rarely made to give up before */

/* The command line */

/* Takes the options out that create does not have. */
static int own_options(struct import *import, int argc, char **argv)
{
	struct {
		const char *word;
		bool *flag;
	} own[] = {
		{ "--take-over", &import->take_over },
		{ "--once", &import->once },
		{ "--table", &import->table },
	};
	int i, kept = 0;
	size_t j;

	for (i = 0; i < argc; i++) {
		for (j = 0; j < 3 && strcmp(argv[i], own[j].word); j++)
			;
		if (j < 3)
			*own[j].flag = true;
		else
			argv[kept++] = argv[i];
	}
	argv[kept] = NULL;
	return kept;
}

static bool has_legs(int argc, char **argv)
{
	int i;

	for (i = 1; i < argc; i++)
		if (!strncmp(argv[i], "--leg", strlen("--leg")) || !strncmp(argv[i], "-l", 2))
			return true;
	return false;
}

/* A setting that a record says cannot be given as well: the next apply would change it. */
static int given_check(const struct settings *given, struct fault *fault)
{
	size_t i;

	for (i = 0; i < given->count; i++) {
		const char *theirs = openiscsi_name(given->items[i].name);

		/* The name of this host may be given for records that have none. */
		if (theirs && strcmp(given->items[i].name, "initiator_name"))
			return fault_set(fault, -EINVAL,
					 "%s is %s of the records, which apply reads again\n"
					 "next: iscsiadm -m node -o update -n %s -v VALUE, or --once to read the records only now",
					 given->items[i].name, theirs, theirs);
	}
	return 0;
}

/* Whether a leg, as it was given, follows the records; NULL: whether the volume does. */
static bool follows(const struct import *import, const struct settings *leg)
{
	const struct settings *volume = &import->given.settings;

	if (leg && settings_find(leg, NODE_SETTING))
		return !strcmp(settings_value(leg, NODE_SETTING), "yes");
	if (settings_find(volume, NODE_SETTING))
		return !strcmp(settings_value(volume, NODE_SETTING), "yes");
	return !import->once;
}

/* The paths of a leg are those of its target, and of others that are given with --path. */
static int leg_check(const struct import *import, const struct leg *leg)
{
	int ret = 0;
	size_t i, j;

	for (i = 0; !ret && i < leg->path_count; i++) {
		const struct settings *path = &leg->paths[i].settings;
		const char *target = settings_value(path, "target_name");

		if (!*target)
			return fault_set(import->fault, -EINVAL,
					 "--leg target=NAME: a target is needed");
		for (j = 0; j < i; j++)
			if (!strcmp(target, settings_value(&leg->paths[j].settings, "target_name")))
				return fault_set(import->fault, -EINVAL,
						 "no --path: the records say the paths of a leg; --path target=OTHER adds those of another target");
		if (follows(import, path))
			ret = given_check(path, import->fault);
	}
	return ret;
}

static int options_check(const struct import *import)
{
	const struct volume *given = &import->given;
	struct fault *fault = import->fault;
	int ret = 0;
	size_t i;

	if (import->options.no_up || import->options.wait_ms)
		return fault_set(fault, -EINVAL, "import does not connect: no --no-up, no --wait");
	if (import->options.save && import->options.dry_run)
		return fault_either(fault, "--save", "--dry-run");
	if (import->take_over && !import->options.save)
		return fault_set(fault, -EINVAL, "--take-over goes with --save");
	for (i = 0; !ret && i < given->leg_count; i++)
		ret = leg_check(import, &given->legs[i]);
	if (!ret && node_follows(given, fault) < 0)
		ret = -EINVAL;
	return ret || !follows(import, NULL) ? ret : given_check(&given->settings, fault);
}

static int words_read(struct import *import, int argc, char **argv)
{
	char **words = alloc_array(NULL, argc + 3, sizeof(*words));
	char assemble[] = "assemble", leg[] = "--leg", all[] = "target=" ALL_TARGETS;
	int ret;

	memcpy(words, argv, (argc + 1) * sizeof(*words));
	argc = own_options(import, argc, words);
	words[0] = assemble;
	if (!has_legs(argc, words)) {
		words[argc++] = leg;
		words[argc++] = all;
		words[argc] = NULL;
	}
	ret = import->table && argc == 3 ? 0 :
		parse_create(argc, words, &import->options, &import->given, import->fault);
	if (!ret && !import->table && !import->options.help)
		ret = options_check(import);
	free(words);
	return ret;
}

/* Paths */

/* A record that is bound to no interface goes over the one that is given. */
static bool allows(const struct settings *given, const struct settings *way, const char *name)
{
	const char *wanted = settings_value(given, name), *has = settings_value(way, name);

	return !*wanted || !*has || same_value(KNOWN_PATH, name, wanted, has);
}

static bool way_is_given(const struct settings *given, const struct settings *way)
{
	const char *portal = settings_value(given, "portal");

	return (!*portal || portal_equal(portal, settings_value(way, "portal"))) &&
	       allows(given, way, "nic") && allows(given, way, "source_address");
}

/* Discovery may have made several records of one way, with group tags or without. */
static bool leg_has_way(const struct leg *leg, const struct settings *way)
{
	size_t i;

	for (i = 0; i < leg->path_count; i++) {
		const struct settings *its = &leg->paths[i].settings;

		if (!strcmp(settings_value(its, "target_name"),
			    settings_value(way, "target_name")) &&
		    portal_equal(settings_value(its, "portal"), settings_value(way, "portal")) &&
		    !strcmp(settings_value(its, "nic"), settings_value(way, "nic")) &&
		    address_equal(settings_value(its, "source_address"),
				  settings_value(way, "source_address")))
			return true;
	}
	return false;
}

static void settings_fill(struct settings *settings, const struct settings *from)
{
	size_t i;

	for (i = 0; i < from->count; i++)
		if (from->items[i].value && *from->items[i].value &&
		    !settings_find(settings, from->items[i].name))
			settings_put(settings, from->items[i].name, from->items[i].value);
}

static int said_check(const struct import *import, const struct settings *way,
		      const struct settings *said, const struct settings *of_volume)
{
	const char *name = settings_value(of_volume, "initiator_name");
	const char *given = settings_value(&import->given.settings, "initiator_name");
	size_t i;

	if (*name && *given && strcmp(name, given) && follows(import, NULL))
		return fault_set(import->fault, -EINVAL,
				 "--initiator %s, but iface.initiatorname of the records is %s\n"
				 "next: leave --initiator out, or --once to read the records only now",
				 given, name);
	for (i = 0; i < said->count; i++)
		if (setting_is_secret(said->items[i].name) && said->items[i].value[0] == '@' &&
		    !settings_find(way, said->items[i].name))
			return fault_set(import->fault, -EINVAL,
					 "%s: a secret that begins with @ cannot be imported\n"
					 "next: put it into a file, and give --once and %s=@FILE in --leg",
					 openiscsi_name(said->items[i].name), said->items[i].name);
	return 0;
}

/* The target as --leg and --path have it, for free(); @lun: NULL: it goes without saying */
static char *target_word(const char *target, const char *lun)
{
	char *entry = NULL, *word;
	size_t bytes;
	FILE *out = open_memstream(&entry, &bytes);

	if (!out)
		abort();
	fputs("target=", out);
	parse_escape(out, target);
	if (lun)
		fprintf(out, ",lun=%s", lun);
	fclose(out);
	word = text_quoted(entry);
	free(entry);
	return word;
}

static int paths_fault(const struct leg *leg, const char *target, struct fault *fault)
{
	char *word = target_word(target, NULL);

	fault_set(fault, -EINVAL,
		  "leg %u: the records of target %s make more than %u paths\n"
		  "next: give --leg %s,portal=ADDRESS or nic=NIC",
		  leg->index, target, ISTRIPE_PATHS_MAX, word);
	free(word);
	return -EINVAL;
}

/* @way: where it leads, and what was given for the leg. */
static int path_make(struct import *import, struct leg *leg, const struct settings *way,
		     const struct settings *record)
{
	const struct settings *first = import->used_count ? import->used[0] : NULL;
	struct settings said = { 0 }, of_volume = { 0 };
	struct settings *path;
	int ret = openiscsi_path(record, &said, import->fault);

	if (!ret)
		ret = openiscsi_volume(record, first, &of_volume, import->fault);
	if (!ret)
		ret = said_check(import, way, &said, &of_volume);
	if (!ret && leg->path_count == ISTRIPE_PATHS_MAX)
		ret = paths_fault(leg, settings_value(way, "target_name"), import->fault);
	if (!ret) {
		path = &leg_add_path(leg, leg->path_count)->settings;
		settings_fill(path, way);
		settings_fill(path, &said);
		settings_fill(&import->volume.settings, &of_volume);
		*alloc_append(import->used, import->used_count) = record;
	}
	settings_free(&said);
	settings_free(&of_volume);
	return ret;
}

/* One address of several of a host name. */
static void taken_warn(const struct import *import, const struct leg *leg,
		       const struct fault *taken)
{
	struct fault warning;

	fault_set(&warning, 0, "warning: leg %u path %zu of %s: %s", leg->index,
		  leg->path_count - 1, import->volume.name, taken->text);
	fault_print(&warning);
}

static int record_take(struct import *import, struct leg *leg, const struct settings *given,
		       const struct settings *record)
{
	struct settings way = { 0 };
	struct fault taken = { 0 };
	int ret = node_way(record, settings_value(given, "portal"), &way, &taken, import->fault);

	if (!ret && way_is_given(given, &way)) {
		settings_fill(&way, given);
		if (!leg_has_way(leg, &way)) {
			ret = path_make(import, leg, &way, record);
			if (!ret && *taken.text)
				taken_warn(import, leg, &taken);
		}
	}
	settings_free(&way);
	return ret;
}

static int leg_missing(struct import *import, const char *target, const char *portal)
{
	char *words;
	size_t i;

	fault_set(import->fault, -ENOENT, "open-iscsi has no node record of target %s%s%s for TCP",
		  target, *portal ? " at portal " : "", portal);
	for (i = 0; i < import->records.count && i < ISTRIPE_PATHS_MAX; i++) {
		words = record_words(&import->records.items[i]);
		fault_add(import->fault, "  there is %s", words);
		free(words);
	}
	fault_add(import->fault, RECORDS_NEXT);
	return -ENOENT;
}

/* @given: a path as it was given; @target: as there, or one of all. */
static int target_take(struct import *import, struct leg *leg, const struct settings *given,
		       const char *target)
{
	size_t i, before = leg->path_count;
	int ret = 0;

	for (i = 0; !ret && i < import->records.count; i++) {
		const struct settings *record = &import->records.items[i];

		if (node_usable(record) && !strcmp(settings_value(record, "node.name"), target))
			ret = record_take(import, leg, given, record);
	}
	if (!ret && leg->path_count == before)
		ret = leg_missing(import, target, settings_value(given, "portal"));
	return ret;
}

/* @given: a leg as it was given; @target: as there, or one of all. */
static int leg_make(struct import *import, const struct leg *given, const char *target)
{
	struct leg *leg = volume_add_leg(&import->volume, import->volume.leg_count);
	int ret;
	size_t i;

	settings_fill(&leg->settings, &given->settings);
	ret = target_take(import, leg, &given->paths[0].settings, target);
	for (i = 1; !ret && i < given->path_count; i++) {
		const struct settings *path = &given->paths[i].settings;

		ret = target_take(import, leg, path, settings_value(path, "target_name"));
	}
	return ret;
}

/* A leg for each target, in the order of their names as iscsiadm has them. */
static int legs_of_all(struct import *import, const struct leg *given)
{
	int ret = 0;
	size_t i, j;

	for (i = 0; !ret && i < import->records.count; i++) {
		const char *target = settings_value(&import->records.items[i], "node.name");

		for (j = 0; j < i; j++)
			if (!strcmp(target, settings_value(&import->records.items[j], "node.name")))
				break;
		if (j == i && node_usable(&import->records.items[i]))
			ret = leg_make(import, given, target);
	}
	return ret;
}

static int portals_resolve(struct leg *leg, struct fault *fault)
{
	int ret = 0;
	size_t i;

	for (i = 0; !ret && i < leg->path_count; i++)
		ret = portal_resolve(&leg->paths[i].settings, fault);
	return ret;
}

/* A value of --set is that of all legs. */
static void queue_depth_fit(struct import *import)
{
	static const char name[] = "queue_depth";
	struct volume *volume = &import->volume;
	struct fault warning;
	char *each;

	if (settings_find(&import->given.settings, name))
		return;
	each = alloc_text(settings_value(&volume->settings, name));
	if (openiscsi_of_all_legs(&volume->settings, name, volume->leg_count)) {
		fault_set(&warning, 0,
			  "warning: %s: queue_depth = %s is for all of its %zu legs: node.session.queue_depth = %s of the records is that of each",
			  volume->name, settings_value(&volume->settings, name),
			  volume->leg_count, each);
		fault_print(&warning);
	}
	free(each);
}

static int volume_fill(struct import *import)
{
	const struct volume *given = &import->given;
	int ret = 0;
	size_t i;

	import->volume.name = alloc_text(given->name);
	settings_fill(&import->volume.settings, &given->settings);
	for (i = 0; !ret && i < given->leg_count; i++) {
		struct leg *leg = &given->legs[i];
		const char *target = settings_value(&leg->paths[0].settings, "target_name");

		ret = portals_resolve(leg, import->fault);
		if (ret)
			break;
		if (strcmp(target, ALL_TARGETS))
			ret = leg_make(import, leg, target);
		else
			ret = legs_of_all(import, leg);
	}
	if (!ret && !import->volume.leg_count)
		ret = fault_set(import->fault, -ENOENT,
				"open-iscsi has no node record for TCP\n" RECORDS_NEXT);
	if (!ret)
		ret = initiator_take(&import->volume, import->fault);
	if (!ret)
		queue_depth_fit(import);
	if (!ret && follows(import, NULL))
		settings_put(&import->volume.settings, NODE_SETTING, "yes");
	return ret;
}

/* LUNs that sessions of open-iscsi show */

/* @lun: what a session shows of @leg; @other: what another one shows of it, too */
static int same_lun_check(struct import *import, const struct leg *leg,
			  const struct host_lun *lun, const struct host_lun *other)
{
	const struct leg *its = host_lun_leg(other, &import->volume);
	const char *number = settings_value(&leg->paths[0].settings, "lun");
	struct fault warning;
	char *word;
	int ret = 0;

	if (its == leg)
		return 0;
	word = target_word(other->target, strcmp(*number ? number : "0", other->lun) ?
			   other->lun : NULL);
	if (its) {
		ret = fault_set(import->fault, -EINVAL,
				"legs %u and %u are one LUN, %s: /dev/%s and /dev/%s show it\n"
				"next: one --leg, and behind it --path %s", leg->index, its->index,
				lun->wwid, lun->disk, other->disk, word);
	} else if (!file_names_have(&import->others, other->target)) {
		file_names_add(&import->others, other->target);
		fault_set(&warning, 0,
			  "warning: target %s shows the LUN of leg %u, too, as /dev/%s, and its records are no paths of it\n"
			  "next: --path %s behind the --leg makes them paths",
			  other->target, leg->index, other->disk, word);
		fault_print(&warning);
	}
	free(word);
	return ret;
}

static int same_luns_check(struct import *import)
{
	const struct host_luns *host = &import->host;
	int ret = 0;
	size_t i, j;

	host_luns_read(&import->host);
	for (i = 0; !ret && i < host->count; i++) {
		const struct leg *leg = host_lun_leg(&host->items[i], &import->volume);

		for (j = 0; !ret && leg && j < host->count; j++)
			if (!strcmp(host->items[i].wwid, host->items[j].wwid))
				ret = same_lun_check(import, leg, &host->items[i],
						     &host->items[j]);
	}
	return ret;
}

static bool has_multipath(const struct import *import)
{
	size_t i;

	for (i = 0; i < import->host.count; i++)
		if (host_lun_leg(&import->host.items[i], &import->volume) &&
		    host_lun_has_map(&import->host.items[i]))
			return true;
	return fact_process("multipathd");
}

/* Beneath dm-multipath open-iscsi gives up soon, and no_path_retry says for how long I/O waits. */
static void timeout_warn(struct import *import)
{
	const char *text = settings_value(&import->volume.settings, "recovery_timeout_ms");
	struct fault warning = { 0 };
	long long ms;

	if (!value_number(text, &ms) || ms < 0 || ms >= SOON_MS || !has_multipath(import))
		return;
	fault_set(&warning, 0,
		  "warning: dm-multipath is in use, whose no_path_retry may have held I/O without end; %s fails it %lld s after the last path is lost, as replacement_timeout says",
		  import->volume.name, ms / 1000);
	if (follows(import, NULL))
		fault_add(&warning,
			  "next: iscsiadm -m node -T TARGET -o update -n %s -v -1 for each target makes it recovery_timeout = -1, without end, as no_path_retry queue; or a number of seconds",
			  openiscsi_name("recovery_timeout_ms"));
	else
		fault_add(&warning,
			  "next: --set recovery_timeout=-1, without end, as no_path_retry queue; or a time");
	fault_print(&warning);
}

/* The whole */

static int file_make(struct import *import)
{
	struct volume *volume = &import->volume;
	char *path = conf_path(volume->name);
	int ret = 0;

	if (file_mode(path) >= 0)
		ret = fault_set(import->fault, -EEXIST,
				"%s is there already\nnext: istripectl apply %s reads the records again, if it has "
				NODE_SETTING " = yes; or remove it first", path, volume->name);
	free(path);
	if (!ret)
		ret = import->take_over ? import_sessions_check(import) :
			import_logins_check(import);
	interrupt_catch();
	if (!ret)
		ret = import_secrets_write(volume, import->fault);
	/* Otherwise neither stack would have the disk at the next boot. */
	if (!ret)
		ret = save_volume(volume, false, import->fault);
	return ret;
}

static int volume_write(struct import *import)
{
	const struct volume *volume = &import->volume;
	int lock, ret = lock_take(volume->name, &lock, import->fault);

	/* Another one may be just writing it. */
	if (!ret)
		ret = file_make(import);
	lock_leave(lock);
	if (!ret && import->take_over)
		ret = import_take_over(import);
	if (!ret && import->options.boot)
		ret = save_boot(volume->name, false, import->fault);
	/* Started by its unit, it is also stopped by it. */
	if (!ret)
		printf("next: %s%s\n",
		       import->options.boot ? "systemctl start istripe@" : "istripectl up ",
		       volume->name);
	return ret;
}

static int volume_show(struct import *import)
{
	struct fault note = { 0 };
	int ret;

	import_secrets_name(&import->volume);
	ret = conf_print(stdout, &import->volume, import->fault);
	fflush(stdout);
	if (!ret && import_logins_check(import)) {
		note = *import->fault;
		fault_print(&note);
	}
	return ret;
}

static int import_run(struct import *import)
{
	int ret = records_read(&import->records, import->fault);

	if (!ret)
		ret = volume_fill(import);
	if (!ret)
		ret = same_luns_check(import);
	if (!ret) {
		timeout_warn(import);
		import_logins_find(import);
	}
	if (!ret)
		ret = import->options.save ? volume_write(import) : volume_show(import);
	return ret;
}

int command_import(const struct command *command, int argc, char **argv)
{
	struct fault fault = { 0 };
	struct import import = { .fault = &fault };
	int code = EXIT_DONE;

	if (words_read(&import, argc, argv)) {
		code = command_usage(command, &fault);
	} else if (import.options.help) {
		command_help(command);
	} else if (import.table) {
		openiscsi_table();
	} else if (import_run(&import)) {
		fault_print(&fault);
		code = EXIT_FAILED;
	}
	free(import.used);
	records_free(&import.records);
	discoveries_free(&import.discoveries);
	host_luns_free(&import.host);
	file_names_free(&import.others);
	file_names_free(&import.back);
	volume_free(&import.given);
	volume_free(&import.volume);
	return code;
}
