// SPDX-License-Identifier: GPL-2.0
/* doctor: the list of checks, and what is printed of them. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "command.h"
#include "conf.h"
#include "doctor.h"
#include "json_out.h"
#include "pacemaker.h"
#include "table.h"
#include "text.h"

#define WHY_BYTES	1024

/* With a unit the values of warnings are numbers of it, without one they are texts. */
struct doctor_check {
	const char *name;
	const char *asserts;		/* what holds when it passes */
	const char *unit;
	bool of_file;			/* a name is enough */
	/* One of these: */
	void (*host)(struct doctor *doctor);
	void (*nic)(struct doctor *doctor, const char *nic);
	void (*volume)(struct doctor *doctor, const struct doctor_volume *volume);
	void (*path)(struct doctor *doctor, const struct doctor_path *path);
};

#define TOP_HAS	"istripectl top has those of now"

static const struct doctor_check checks[] = {
	{ "state", "the volume and its legs are live", .volume = doctor_volume_state },
	{ "path-state", "each path is live", .path = doctor_path_state },
	{ "single-path", "each leg has two paths or more", "paths", .volume = doctor_single_path },
	{ "fence", "writes of a lost path can be ended over another one", .path = doctor_fence },
	{ "timers", "the timers of a path fit each other", "ms", .path = doctor_timers },
	{ "recovery-timeout", "I/O waits for a lost leg, but not for ever", "ms",
	  .volume = doctor_recovery },
	{ "negotiated", "the target grants what makes transfers fast", .path = doctor_negotiated },
	{ "digests", "digests are wanted, and computed by the processor's instruction",
	  .path = doctor_digests },
	{ "route", "there is a route to the portal, from the source address's interface",
	  .path = doctor_route },
	{ "portal", "the portal accepts connections", .path = doctor_portal },
	{ "path-mtu", "packets of the NIC's MTU reach the portal", "bytes",
	  .path = doctor_path_mtu },
	{ "mtu-equal", "the paths of a leg have NICs of one MTU", .volume = doctor_mtus },
	{ "speed-equal", "the paths of a leg are equally fast, or weighted",
	  .volume = doctor_speeds },
	{ "shared-nic", "the paths of a leg share no network port", .volume = doctor_shared_nic },
	{ "shared-switch", "the paths of a leg lead to different switches",
	  .volume = doctor_shared_switch },
	{ "slow-path",
	  "commands over all paths of a leg have taken about as long since they have come; "
	  TOP_HAS, .volume = doctor_slow_path },
	{ "slow-leg",
	  "commands over all legs have taken about as long since they have come; " TOP_HAS,
	  .volume = doctor_slow_leg },
	{ "arp", "NICs in one subnet answer ARP for their own addresses only",
	  .host = doctor_subnet_arp },
	{ "rp-filter", "answers are not dropped since a route leads by another NIC", .host =
	  doctor_subnet_rp_filter },
	{ "link", "the NIC is there and has a link", .nic = doctor_link },
	{ "duplex", "the link is full duplex", .nic = doctor_duplex },
	{ "link-errors", "the link damages and the NIC drops next to no frames", "frames",
	  .nic = doctor_link_errors },
	{ "pause", "flow control is on", .nic = doctor_pause },
	{ "rings", "the rings have half of their largest size or more", "descriptors",
	  .nic = doctor_rings },
	{ "offloads", "segmentation and checksums are offloaded", .nic = doctor_offloads },
	{ "interrupts", "the queues of the NIC interrupt more than one processor", "processors",
	  .nic = doctor_interrupts },
	{ "tcp-buffers", "TCP's buffers hold bandwidth times round-trip time", "bytes",
	  .path = doctor_tcp_buffers },
	{ "congestion", "the congestion control suits the round-trip time",
	  .path = doctor_congestion },
	{ "tcp-loss", "TCP sends next to nothing again, and receives it in order", "bytes",
	  .path = doctor_tcp_loss },
	{ "slow-start", "TCP does not begin slowly after a pause", "value",
	  .volume = doctor_slow_start },
	{ "tcp-options", "SACK, timestamps and window scaling are on", "value",
	  .host = doctor_tcp_options },
	{ "tcp-memory", "TCP is not short of memory", "pages", .host = doctor_tcp_memory },
	{ "tcp-pressure", "TCP has not been short of memory since boot", "times",
	  .host = doctor_tcp_pressure },
	{ "governor", "processors run at full frequency", .host = doctor_governor },
	{ "clock", "the clock is synchronised", .host = doctor_clock },
	{ "scheduler", "the disk has no I/O scheduler", .volume = doctor_scheduler },
	{ "read-ahead", "read-ahead covers a stripe", "bytes", .volume = doctor_read_ahead },
	{ "max-sectors", "a request may cover a stripe", "bytes", .volume = doctor_max_sectors },
	{ "chunk", "the chunk suits the requests so far", "bytes", .volume = doctor_chunk },
	{ "throttling", "buffered writes have no limit for all legs together", "us",
	  .volume = doctor_throttling },
	{ "write-cache", "the disk asks for flushes", .volume = doctor_write_cache },
	{ "initiator-name", "the host has an initiator name of its own", .host =
	  doctor_initiator_file },
	{ "session-twice", "no two volumes end each other's sessions", .volume =
	  doctor_session_twice },
	{ "second-host", "sessions are not lost again and again",
	  .path = doctor_second_host },
	{ "open-iscsi-session", "open-iscsi has not logged in to the targets", .volume =
	  doctor_open_iscsi_session },
	{ "open-iscsi-record", "open-iscsi does not log in to the targets at boot", .volume =
	  doctor_open_iscsi_record },
	{ "conf", "the configuration outlives a reboot, as it is", .volume = doctor_conf },
	{ "unit", "the volume comes up at boot", .of_file = true, .volume = doctor_unit },
	{ "secret-modes", "only root can read secrets", .host = doctor_secret_modes },
	{ "fstab", "/etc/fstab mounts the disk after the network", .of_file = true,
	  .volume = doctor_fstab },
	{ "crypttab", "/etc/crypttab opens the disk after the network", .of_file = true,
	  .volume = doctor_crypttab },
	{ "multipath", "multipathd leaves the disk alone", .volume = doctor_multipath },
};

#define CHECKS	(sizeof(checks) / sizeof(*checks))

enum result { RESULT_PASS, RESULT_WARN, RESULT_SKIP };

static const char *const result_names[] = { "pass", "warn", "skip" };

struct doctor_finding {
	const struct doctor_check *check;
	const char *volume;		/* NULL: the host */
	enum result result;
	struct doctor_warning text;	/* only subject unless it is a warning */
	char *why;
};

/* Results */

static void finding_add(struct doctor *doctor, enum result result,
			const struct doctor_warning *text, const char *why)
{
	struct doctor_finding *finding;

	finding = alloc_append(doctor->findings, doctor->finding_count);
	*finding = (struct doctor_finding) {
		.check = doctor->check, .volume = doctor->volume, .result = result, .text = *text,
		.why = alloc_text(why),
	};
	if (!text->subject && doctor->subject)
		finding->text.subject = alloc_text(doctor->subject);
}

void doctor_pass(struct doctor *doctor)
{
	doctor->passed++;
}

void doctor_warn(struct doctor *doctor, const struct doctor_warning *warning, const char *why, ...)
{
	char text[WHY_BYTES];
	va_list args;

	va_start(args, why);
	vsnprintf(text, sizeof(text), why, args);
	va_end(args);
	finding_add(doctor, RESULT_WARN, warning, text);
}

void doctor_skip(struct doctor *doctor, const char *fmt, ...)
{
	static const struct doctor_warning none;
	char text[WHY_BYTES];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	finding_add(doctor, RESULT_SKIP, &none, text);
}

void doctor_unread(struct doctor *doctor, const char *what, int error)
{
	if (error)
		doctor_skip(doctor, "%s cannot be read: %s", what, strerror(-error));
	else
		doctor_skip(doctor, "%s cannot be read", what);
}

char *doctor_edit_step(const char *file, const char *then)
{
	char *word = text_quoted(file);
	char *step = alloc_printf("${EDITOR:-vi} %s && %s", word, then);

	free(word);
	return step;
}

char *doctor_down_step(const struct doctor_volume *volume, char *change)
{
	char *step;

	if (!volume->up)
		return change;
	step = alloc_printf("istripectl down %s && %s && istripectl up %s", volume->name, change,
			    volume->name);
	free(change);
	return step;
}

/* Running them */

static void paths_check(struct doctor *doctor, const struct doctor_volume *volume)
{
	size_t i;

	for (i = 0; i < volume->path_count; i++) {
		const struct doctor_path *path = &volume->paths[i];

		doctor->subject = alloc_printf("leg %u path %u", path->leg->index,
					       path->path->index);
		doctor->check->path(doctor, path);
		free(doctor->subject);
	}
	doctor->subject = NULL;
}

static void nics_check(struct doctor *doctor)
{
	size_t i;

	for (i = 0; i < doctor->nics.count; i++) {
		doctor->subject = doctor->nics.items[i];
		doctor->check->nic(doctor, doctor->nics.items[i]);
	}
	doctor->subject = NULL;
}

/* The kernel does not know it, and there is nothing to check. */
static void unconfigured_warn(struct doctor *doctor, const char *name)
{
	if (pacemaker_may_have(name)) {
		doctor_skip(doctor, "it is in its file only: a cluster manager may bring it up");
		return;
	}
	doctor_warn(doctor, &(struct doctor_warning){
		.measured = alloc_text("not configured"),
		.wanted = alloc_printf("configured as in " CONF_DIR "/%s.conf", name),
		.next = doctor->module_step ? alloc_text(doctor->module_step) :
			alloc_printf("istripectl up %s", name),
	},
	"the volume is in its file only: it has no disk");
}

/* One check of one volume, or of the host. */
static void check_run(struct doctor *doctor, const struct doctor_volume *volume)
{
	const struct doctor_check *check = doctor->check;
	static const struct doctor_warning none;
	size_t before = doctor->finding_count, i, warned = 0;

	doctor->passed = 0;
	if (check->host)
		check->host(doctor);
	else if (check->nic)
		nics_check(doctor);
	else if (check->volume)
		check->volume(doctor, volume);
	else
		paths_check(doctor, volume);
	for (i = before; i < doctor->finding_count; i++)
		warned += doctor->findings[i].result == RESULT_WARN;
	if (warned || (!doctor->passed && doctor->finding_count > before))
		return;
	if (doctor->passed)
		finding_add(doctor, RESULT_PASS, &none, check->asserts);
	else
		doctor_skip(doctor, "there is nothing to check");
}

/* Without the module all that can be checked of any volume is what files say. */
static void file_check(struct doctor *doctor, const char *name)
{
	const struct doctor_volume volume = { .name = name };

	doctor->volume = name;
	if (doctor->check->volume == doctor_volume_state)
		unconfigured_warn(doctor, name);
	else if (doctor->module_step && doctor->check->of_file)
		check_run(doctor, &volume);
	doctor->volume = NULL;
}

static void checks_run(struct doctor *doctor)
{
	size_t i, j;

	for (i = 0; i < CHECKS; i++) {
		doctor->check = &checks[i];
		if (checks[i].host || checks[i].nic) {
			check_run(doctor, NULL);
			continue;
		}
		for (j = 0; j < doctor->volume_count; j++) {
			if (!doctor->volumes[j].checked)
				continue;
			doctor->volume = doctor->volumes[j].name;
			check_run(doctor, &doctor->volumes[j]);
		}
		doctor->volume = NULL;
		for (j = 0; j < doctor->files.count; j++)
			file_check(doctor, doctor->files.items[j]);
	}
}

/* Printing */

static void row(struct table *table, const char *name, const char *check, const char *result,
		char *what)
{
	char *const cells[TABLE_COLUMNS] = { alloc_text(name), alloc_text(check),
					     alloc_text(result), what };

	table_add(table, cells);
}

static char *finding_text(const struct doctor_finding *finding)
{
	const struct doctor_warning *text = &finding->text;
	const char *subject = text->subject ? text->subject : "";
	const char *colon = *subject ? ": " : "", *unit = finding->check->unit;

	if (finding->result != RESULT_WARN)
		return alloc_printf("%s%s%s", subject, colon, finding->why);
	return alloc_printf("%s%s%s%s%s, wanted: %s", subject, colon, text->measured,
			    unit ? " " : "", unit ? unit : "", text->wanted);
}

static void finding_rows(struct table *table, const struct doctor_finding *finding)
{
	row(table, finding->volume ? finding->volume : "(host)", finding->check->name,
	    result_names[finding->result], finding_text(finding));
	if (finding->result != RESULT_WARN)
		return;
	row(table, "", "", "", alloc_printf("  why: %s", finding->why));
	row(table, "", "", "", alloc_printf("  next: %s", finding->text.next));
}

static void value_add(struct json_object *object, const char *name,
		      const struct doctor_finding *finding, const char *text)
{
	if (text && finding->check->unit)
		json_object_object_add(object, name,
				       json_object_new_int64(strtoll(text, NULL, 10)));
	else
		json_text(object, name, text);
}

static struct json_object *finding_object(const struct doctor_finding *finding)
{
	struct json_object *object = json_object_new_object();

	json_text(object, "volume", finding->volume);
	json_text(object, "check", finding->check->name);
	json_text(object, "result", result_names[finding->result]);
	json_text(object, "subject", finding->text.subject);
	value_add(object, "measured", finding, finding->text.measured);
	value_add(object, "wanted", finding, finding->text.wanted);
	json_text(object, "unit", finding->check->unit);
	json_text(object, "why", finding->why);
	json_text(object, "next", finding->text.next);
	return object;
}

static void findings_json(const struct doctor *doctor)
{
	struct json_object *object = json_begin(), *all = json_object_new_array();
	size_t i;

	for (i = 0; i < doctor->finding_count; i++)
		json_object_array_add(all, finding_object(&doctor->findings[i]));
	json_object_object_add(object, "findings", all);
	json_end(object);
}

static void findings_table(const struct doctor *doctor)
{
	static const char *const columns[] = { "NAME", "CHECK", "RESULT", "WHAT", NULL };
	static const struct table_style style = { .headings = true };
	struct fault none = { 0 };
	struct table table;
	size_t i;

	if (table_begin(&table, columns, &style, &none))
		return;
	for (i = 0; i < doctor->finding_count; i++)
		finding_rows(&table, &doctor->findings[i]);
	table_print(&table);
}

static size_t findings_count(const struct doctor *doctor, enum result result)
{
	size_t i, count = 0;

	for (i = 0; i < doctor->finding_count; i++)
		count += doctor->findings[i].result == result;
	return count;
}

static void finding_free(struct doctor_finding *finding)
{
	free(finding->text.subject);
	free(finding->text.measured);
	free(finding->text.wanted);
	free(finding->why);
	free(finding->text.next);
}

static int doctor_run(struct doctor *doctor, bool json)
{
	size_t warnings, i;

	checks_run(doctor);
	warnings = findings_count(doctor, RESULT_WARN);
	if (json)
		findings_json(doctor);
	else
		findings_table(doctor);
	if (!json)
		printf("%zu passed, %zu warnings, %zu skipped\n",
		       findings_count(doctor, RESULT_PASS), warnings,
		       findings_count(doctor, RESULT_SKIP));
	for (i = 0; i < doctor->finding_count; i++)
		finding_free(&doctor->findings[i]);
	free(doctor->findings);
	return warnings ? EXIT_FAILED : EXIT_DONE;
}

static int checks_list(void)
{
	static const char *const columns[] = { "CHECK", "ASSERTS", NULL };
	static const struct table_style style = { .headings = false };
	struct fault none = { 0 };
	struct table table;
	size_t i;

	if (table_begin(&table, columns, &style, &none))
		return EXIT_FAILED;
	for (i = 0; i < CHECKS; i++) {
		char *const cells[TABLE_COLUMNS] = { alloc_text(checks[i].name),
						     alloc_text(checks[i].asserts) };

		table_add(&table, cells);
	}
	table_print(&table);
	return EXIT_DONE;
}

/* Those that were named; else all that the kernel has, and those that have a file only. */
static int volumes_choose(const struct command_line *line, struct file_names *names,
			  struct file_names *only_files, struct fault *fault)
{
	struct file_names files = { 0 };
	struct fault ignored;
	int ret = command_volumes(line, names, fault);
	size_t i;

	if (!ret && !line->count)
		conf_list(&files, &ignored);
	for (i = 0; i < files.count; i++)
		if (!file_names_have(names, files.items[i]))
			file_names_add(only_files, files.items[i]);
	file_names_free(&files);
	return ret;
}

/* Without the module: those of which there is a file, of the named ones if there are any. */
static void files_choose(const struct file_names *named, struct file_names *files)
{
	struct file_names all = { 0 };
	struct fault ignored;
	size_t i;

	conf_list(&all, &ignored);
	for (i = 0; i < all.count; i++)
		if (!named->count || file_names_have(named, all.items[i]))
			file_names_add(files, all.items[i]);
	file_names_free(&all);
}

int command_doctor(const struct command *command, int argc, char **argv)
{
	struct file_names names = { 0 };
	struct doctor doctor = { 0 };
	struct fault fault = { 0 };
	struct command_line line;
	int code, ret;

	if (!command_begin(command, argc, argv, COMMAND_JSON | COMMAND_LIST, &line, false, &code))
		return code;
	if (line.flags & COMMAND_LIST)
		return checks_list();
	ret = volumes_choose(&line, &names, &doctor.files, &fault);
	if (!ret)
		ret = doctor_load(&doctor, &names, line.count, &fault);
	if (ret)
		fault_print(&fault);
	if (ret == -ENODEV) {
		files_choose(&names, &doctor.files);
		doctor.module_step = fault_next(&fault);
	}
	if (!ret || doctor.module_step)
		code = doctor_run(&doctor, line.flags & COMMAND_JSON);
	else if (line.flags & COMMAND_JSON)
		findings_json(&doctor);
	if (ret)
		code = EXIT_FAILED;
	free(doctor.module_step);
	doctor_unload(&doctor);
	file_names_free(&doctor.files);
	file_names_free(&names);
	return code;
}
