// SPDX-License-Identifier: GPL-2.0
/*
 * metrics: what Prometheus reads, in its text format 0.0.4, by way of the textfile collector of its
 * node_exporter. Names and labels stay as they are: rules and dashboards depend on them.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "command.h"
#include "latency.h"
#include "live.h"
#include "output.h"
#include "place.h"
#include "power.h"
#include "slow.h"
#include "value.h"
#include "volumes.h"

#define SECTOR_BYTES	512
#define MODE		0644	/* the exporter is another user */
#define NS_PER_SECOND	1000000000

/*
 * Every second bound of the module's buckets, from 16 us to 17 s: each one is a series for each
 * kind and path. The last one is where the last bucket of the module begins.
 */
#define BUCKET_FIRST	4
#define BUCKET_STEP	2

/* All volumes that are configured in the kernel, or have a file. */
struct subjects {
	struct volume_now *items;
	size_t count;
	struct file_names names;
	bool loaded;		/* the module */
	char *version;		/* of the module; NULL: not known */
};

enum level {
	OF_MODULE,
	OF_VOLUME,
	OF_LEG,
	OF_PATH,
	OF_CONNECTION,
};

struct metric;

/* Where a sample is of; what is deeper than the level of the metric is NULL. */
struct sample {
	FILE *out;
	const struct metric *metric;
	const struct subjects *all;
	const struct volume_now *volume;
	const struct live *leg, *path, *connection;
	const struct live *live;	/* the deepest of them; NULL: the volume is down */
	struct slow_group slow;		/* of those beside @live, for slow_put() */
	bool begun;			/* the lines before the first sample are printed */
	unsigned int labels;		/* printed of the sample that is being printed */
};

struct metric {
	const char *name;
	const char *type;
	const char *help;
	enum level level;
	void (*put)(struct sample *sample);
	const char *file;	/* in sysfs, for some of the functions */
	unsigned int field;	/* in the file stat of the disk instead, from 1 on */
};

/* Lines */

/* The format has three characters that stand for themselves behind a backslash only. */
static void label_put(struct sample *sample, const char *name, const char *value)
{
	FILE *out = sample->out;

	fprintf(out, "%c%s=\"", sample->labels++ ? ',' : '{', name);
	for (; *value; value++) {
		if (*value == '\n') {
			fputs("\\n", out);
			continue;
		}
		if (*value == '"' || *value == '\\')
			fputc('\\', out);
		fputc(*value, out);
	}
	fputc('"', out);
}

/* Further labels may come behind those of the place. A sample of a histogram has a suffix. */
static void sample_begin_as(struct sample *sample, const char *suffix)
{
	const struct metric *metric = sample->metric;

	if (!sample->begun)
		fprintf(sample->out, "# HELP %s %s\n# TYPE %s %s\n", metric->name, metric->help,
			metric->name, metric->type);
	sample->begun = true;
	sample->labels = 0;
	fprintf(sample->out, "%s%s", metric->name, suffix);
	if (sample->volume)
		label_put(sample, "volume", sample->volume->name);
	if (sample->leg)
		label_put(sample, "leg", sample->leg->name);
	if (sample->path)
		label_put(sample, "path", sample->path->name);
	if (sample->connection)
		label_put(sample, "connection", sample->connection->name);
}

static void sample_begin(struct sample *sample)
{
	sample_begin_as(sample, "");
}

static void sample_end(struct sample *sample, long long number)
{
	fprintf(sample->out, "%s %lld\n", sample->labels ? "}" : "", number);
}

static void sample_number(struct sample *sample, long long number)
{
	sample_begin(sample);
	sample_end(sample, number);
}

static void sample_parts(struct sample *sample, long long number, int parts, int digits)
{
	sample_begin(sample);
	fprintf(sample->out, "%s %lld.%0*lld\n", sample->labels ? "}" : "", number / parts,
		digits, number % parts);
}

static void sample_state(struct sample *sample, const char *state, bool now)
{
	sample_begin(sample);
	label_put(sample, "state", state);
	sample_end(sample, now);
}

/* Values */

static const char *text_of(const struct sample *sample, const char *file)
{
	return sample->live ? settings_value(&sample->live->values, file) : "";
}

/* The n-th number in the file stat of the disk. */
static bool stat_field(const struct sample *sample, long long *number)
{
	char *copy, *rest, *word = NULL;
	unsigned int field = 0;
	bool found;

	if (!sample->volume->stat)
		return false;
	copy = alloc_text(sample->volume->stat);
	rest = copy;
	while (field < sample->metric->field && (word = strsep(&rest, " ")))
		field += *word != '\0';
	found = word && value_number(word, number);
	free(copy);
	return found;
}

static bool number_of(const struct sample *sample, long long *number)
{
	if (sample->metric->field)
		return stat_field(sample, number);
	return value_number(text_of(sample, sample->metric->file), number) && *number >= 0;
}

static void number_put(struct sample *sample)
{
	long long number;

	if (number_of(sample, &number))
		sample_number(sample, number);
}

static void ms_put(struct sample *sample)
{
	long long number;

	if (number_of(sample, &number))
		sample_parts(sample, number, 1000, 3);
}

/* 0: it has not been measured yet. */
static void us_put(struct sample *sample)
{
	long long number;

	if (number_of(sample, &number) && number)
		sample_parts(sample, number, 1000000, 6);
}

static void sectors_put(struct sample *sample)
{
	long long number;

	if (number_of(sample, &number))
		sample_number(sample, number * SECTOR_BYTES);
}

/* Whether a file says anything. */
static void filled_put(struct sample *sample)
{
	if (sample->live && settings_find(&sample->live->values, sample->metric->file))
		sample_number(sample, *text_of(sample, sample->metric->file) != '\0');
}

/* One sample for each state, so that an alert can name one that nothing has been in yet. */
static void states_put(struct sample *sample, const char *now, const char *const *states)
{
	bool known = false;

	for (; *states; states++) {
		known |= !strcmp(now, *states);
		sample_state(sample, *states, !strcmp(now, *states));
	}
	if (!known)
		sample_state(sample, now, true);
}

static void volume_state_put(struct sample *sample)
{
	static const char *const states[] = {
		"live", "degraded", "waiting", "failed", "down", NULL
	};
	const char *state = text_of(sample, "state");

	states_put(sample, *state ? state : "down", states);
}

static void leg_state_put(struct sample *sample)
{
	static const char *const states[] = { "live", "degraded", "waiting", "failed", NULL };
	const char *state = text_of(sample, "state");

	if (*state)
		states_put(sample, state, states);
}

static void path_state_put(struct sample *sample)
{
	static const char *const states[] = {
		"live", "degraded", "idle", "connecting", "draining", "backoff", "refused", "dead",
		"off", NULL
	};
	const char *state = text_of(sample, "state");

	if (*state)
		states_put(sample, state, states);
}

/* Of targets that report access states. */
static void access_state_put(struct sample *sample)
{
	static const char *const states[] = {
		"active/optimized", "active/non-optimized", "lba-dependent", "standby",
		"unavailable", "offline", "transitioning", "unknown", NULL
	};
	const char *state = text_of(sample, "access_state");

	if (*state)
		states_put(sample, state, states);
}

static void write_protected_put(struct sample *sample)
{
	const char *how = text_of(sample, "write_protected");

	if (*how)
		sample_number(sample, strcmp(how, "no") != 0);
}

static void up_put(struct sample *sample)
{
	sample_number(sample, sample->volume->device ? 1 : 0);
}

static void size_put(struct sample *sample)
{
	if (sample->volume->device)
		sample_number(sample, live_size(sample->volume->device));
}

/* Facts that do not change, as labels: to be joined with the other metrics. */
static void info_put(struct sample *sample, const char *const *files)
{
	sample_begin(sample);
	for (; *files; files++)
		label_put(sample, *files, text_of(sample, *files));
}

static void volume_info_put(struct sample *sample)
{
	static const char *const files[] = { "array_uuid", "initiator_name", NULL };

	if (!sample->live)
		return;
	info_put(sample, files);
	label_put(sample, "device", sample->volume->device);
	sample_end(sample, 1);
}

static void leg_info_put(struct sample *sample)
{
	static const char *const files[] = { "designator", "policy", "fence", NULL };

	info_put(sample, files);
	sample_end(sample, 1);
}

static void path_info_put(struct sample *sample)
{
	static const char *const files[] = {
		"target_name", "lun", "portal", "nic", "source_address", NULL
	};

	info_put(sample, files);
	sample_end(sample, 1);
}

/* Times of commands */

static void kind_begin(struct sample *sample, const char *suffix, const char *kind)
{
	sample_begin_as(sample, suffix);
	label_put(sample, "kind", kind);
}

static void bucket_put(struct sample *sample, const char *kind, const char *bound,
		       unsigned long long count)
{
	kind_begin(sample, "_bucket", kind);
	label_put(sample, "le", bound);
	sample_end(sample, count);
}

static char *seconds_text(unsigned long long ns)
{
	return alloc_printf("%llu.%09llu", ns / NS_PER_SECOND, ns % NS_PER_SECOND);
}

static void kind_put(struct sample *sample, const char *kind, const struct latency *latency)
{
	unsigned long long count = 0;
	unsigned int i;
	char *seconds;

	for (i = 0; i < LATENCY_BUCKETS - 1; i++) {
		count += latency->counts[i];
		if (i < BUCKET_FIRST || (i - BUCKET_FIRST) % BUCKET_STEP)
			continue;
		seconds = seconds_text(latency_bound_ns(i));
		bucket_put(sample, kind, seconds, count);
		free(seconds);
	}
	count += latency->counts[LATENCY_BUCKETS - 1];
	bucket_put(sample, kind, "+Inf", count);
	kind_begin(sample, "_sum", kind);
	seconds = seconds_text(latency->sum_ns);
	fprintf(sample->out, "} %s\n", seconds);
	free(seconds);
	kind_begin(sample, "_count", kind);
	sample_end(sample, count);
}

static void latency_put(struct sample *sample)
{
	struct latency latency;
	int kind;

	for (kind = 0; kind < LATENCY_KINDS; kind++)
		if (latency_of(sample->live, kind, &latency))
			kind_put(sample, latency_kinds[kind], &latency);
}

/* A path or leg that cannot be judged has no sample. */
static void slow_put(struct sample *sample)
{
	enum slow slow = slow_of(&sample->slow, sample->live);

	if (slow != SLOW_UNKNOWN)
		sample_number(sample, slow == SLOW_YES);
}

static void loaded_put(struct sample *sample)
{
	sample_number(sample, sample->all->loaded);
}

static void version_put(struct sample *sample)
{
	sample_begin(sample);
	label_put(sample, "version", ISTRIPECTL_VERSION);
	label_put(sample, "module", sample->all->version ? sample->all->version : "");
	sample_end(sample, 1);
}

/* The table */

static const struct metric metrics[] = {
	{ "istripe_module_loaded", "gauge",
	  "Whether the module istripe is loaded.",
	  OF_MODULE, loaded_put, NULL, 0 },
	{ "istripe_build_info", "gauge",
	  "Versions of istripectl and of the module.",
	  OF_MODULE, version_put, NULL, 0 },

	{ "istripe_volume_info", "gauge",
	  "Disk, array and initiator of a volume.",
	  OF_VOLUME, volume_info_put, NULL, 0 },
	{ "istripe_volume_up", "gauge",
	  "Whether the volume has its disk.",
	  OF_VOLUME, up_put, NULL, 0 },
	{ "istripe_volume_state", "gauge",
	  "1 for the state that the volume is in.",
	  OF_VOLUME, volume_state_put, NULL, 0 },
	{ "istripe_volume_size_bytes", "gauge",
	  "Size of the disk.",
	  OF_VOLUME, size_put, NULL, 0 },
	{ "istripe_volume_chunk_bytes", "gauge",
	  "The interleave.",
	  OF_VOLUME, number_put, "chunk_bytes", 0 },
	{ "istripe_volume_recovery_timeout_seconds", "gauge",
	  "How long I/O waits for a path; no sample: for ever.",
	  OF_VOLUME, ms_put, "recovery_timeout_ms", 0 },
	{ "istripe_volume_reads_completed_total", "counter",
	  "Reads of the disk.",
	  OF_VOLUME, number_put, NULL, 1 },
	{ "istripe_volume_read_bytes_total", "counter",
	  "Bytes read from the disk.",
	  OF_VOLUME, sectors_put, NULL, 3 },
	{ "istripe_volume_read_time_seconds_total", "counter",
	  "Time of all reads of the disk.",
	  OF_VOLUME, ms_put, NULL, 4 },
	{ "istripe_volume_writes_completed_total", "counter",
	  "Writes to the disk.",
	  OF_VOLUME, number_put, NULL, 5 },
	{ "istripe_volume_written_bytes_total", "counter",
	  "Bytes written to the disk.",
	  OF_VOLUME, sectors_put, NULL, 7 },
	{ "istripe_volume_write_time_seconds_total", "counter",
	  "Time of all writes to the disk.",
	  OF_VOLUME, ms_put, NULL, 8 },
	{ "istripe_volume_requests_in_flight", "gauge",
	  "Requests that the disk has not ended.",
	  OF_VOLUME, number_put, NULL, 9 },
	{ "istripe_volume_discards_completed_total", "counter",
	  "Discards of the disk.",
	  OF_VOLUME, number_put, NULL, 12 },
	{ "istripe_volume_discarded_bytes_total", "counter",
	  "Bytes discarded on the disk.",
	  OF_VOLUME, sectors_put, NULL, 14 },
	{ "istripe_volume_flushes_completed_total", "counter",
	  "Flushes of the disk's cache.",
	  OF_VOLUME, number_put, NULL, 16 },
	{ "istripe_volume_flush_time_seconds_total", "counter",
	  "Time of all flushes.",
	  OF_VOLUME, ms_put, NULL, 17 },

	{ "istripe_leg_info", "gauge",
	  "LUN and policies of a leg.",
	  OF_LEG, leg_info_put, NULL, 0 },
	{ "istripe_leg_state", "gauge",
	  "1 for the state that the leg is in.",
	  OF_LEG, leg_state_put, NULL, 0 },
	{ "istripe_leg_commands_total", "counter",
	  "SCSI commands sent for requests.",
	  OF_LEG, number_put, "commands", 0 },
	{ "istripe_leg_redriven_commands_total", "counter",
	  "SCSI commands sent again because their session was lost.",
	  OF_LEG, number_put, "redriven", 0 },
	{ "istripe_leg_retried_commands_total", "counter",
	  "SCSI commands sent again because of what the target answered.",
	  OF_LEG, number_put, "retried", 0 },
	{ "istripe_leg_waiting_seconds", "gauge",
	  "For how long there have been commands that no live path serves.",
	  OF_LEG, ms_put, "waiting_ms", 0 },
	{ "istripe_leg_busy_seconds", "gauge",
	  "For how long the LUN has taken no command, but said that it is busy; 0: it takes some.",
	  OF_LEG, ms_put, "busy_ms", 0 },
	{ "istripe_leg_kept_bios", "gauge",
	  "Bios that wait without a request until the leg answers.",
	  OF_LEG, number_put, "kept_bios", 0 },
	{ "istripe_leg_down_seconds", "gauge",
	  "For how long no path of the leg has taken I/O; 0: one does.",
	  OF_LEG, ms_put, "down_ms", 0 },
	{ "istripe_leg_overlay_bytes", "gauge",
	  "Memory for data that only this host has for sure, because of lost writes.",
	  OF_LEG, number_put, "overlay_bytes", 0 },
	{ "istripe_leg_write_protected", "gauge",
	  "Whether the LUN takes no writes.",
	  OF_LEG, write_protected_put, NULL, 0 },
	{ "istripe_leg_slow", "gauge",
	  "Whether commands take much longer than on the volume's fastest leg.",
	  OF_LEG, slow_put, NULL, 0 },

	{ "istripe_path_info", "gauge",
	  "Target, portal and interface of a path.",
	  OF_PATH, path_info_put, NULL, 0 },
	{ "istripe_path_state", "gauge",
	  "1 for the state that the path is in.",
	  OF_PATH, path_state_put, NULL, 0 },
	{ "istripe_path_access_state", "gauge",
	  "1 for the asymmetric access state of the target port.",
	  OF_PATH, access_state_put, NULL, 0 },
	{ "istripe_path_faults_total", "counter",
	  "Sessions that were lost.",
	  OF_PATH, number_put, "faults", 0 },
	{ "istripe_path_reconnects_total", "counter",
	  "Sessions that were made anew.",
	  OF_PATH, number_put, "reconnects", 0 },
	{ "istripe_path_login_failures", "gauge",
	  "Logins that have failed in a row since the path had a session.",
	  OF_PATH, number_put, "login_failures", 0 },
	{ "istripe_path_latency_seconds", "histogram",
	  "Time of SCSI commands, from the request to the answer.",
	  OF_PATH, latency_put, NULL, 0 },
	{ "istripe_path_slow", "gauge",
	  "Whether commands take much longer than over the leg's fastest path.",
	  OF_PATH, slow_put, NULL, 0 },
	{ "istripe_path_waiting_writes", "gauge",
	  "Writes that wait until the target has ended the lost session.",
	  OF_PATH, number_put, "waiting_writes", 0 },
	{ "istripe_path_ghost_writes", "gauge",
	  "Lost writes that keep their blocks from others until then.",
	  OF_PATH, number_put, "ghost_writes", 0 },
	{ "istripe_path_unfenced", "gauge",
	  "Whether the leg serves no I/O before a login through the path.",
	  OF_PATH, number_put, "unfenced", 0 },
	{ "istripe_path_waiting_seconds", "gauge",
	  "How long the first of waiting_writes has waited; 0: there are none.",
	  OF_PATH, ms_put, "waiting_ms", 0 },
	{ "istripe_path_unproven", "gauge",
	  "Whether no other path of the leg can end a lost session of this one.",
	  OF_PATH, filled_put, "unproven", 0 },

	{ "istripe_connection_sent_bytes_total", "counter",
	  "Bytes sent, with the login; begins anew with the session.",
	  OF_CONNECTION, number_put, "bytes_sent", 0 },
	{ "istripe_connection_received_bytes_total", "counter",
	  "Bytes received, with the login; begins anew with the session.",
	  OF_CONNECTION, number_put, "bytes_received", 0 },
	{ "istripe_connection_sent_pdus_total", "counter",
	  "PDUs sent, with the login.",
	  OF_CONNECTION, number_put, "pdus_sent", 0 },
	{ "istripe_connection_received_pdus_total", "counter",
	  "PDUs received, with the login.",
	  OF_CONNECTION, number_put, "pdus_received", 0 },
	{ "istripe_connection_commands_total", "counter",
	  "SCSI commands sent.",
	  OF_CONNECTION, number_put, "commands_sent", 0 },
	{ "istripe_connection_digest_errors_total", "counter",
	  "PDUs with a wrong digest, of all sessions since the path was started.",
	  OF_CONNECTION, number_put, "digest_errors", 0 },
	{ "istripe_connection_ping_rtt_seconds", "gauge",
	  "Time of the last ping.",
	  OF_CONNECTION, us_put, "ping_rtt_us", 0 },
};

static void level_put(struct sample *sample)
{
	sample->metric->put(sample);
}

/* Calls @next with each directory in the group as *@place. */
static void children_put(struct sample *sample, const struct live *owner, const char *group,
			 const struct live **place, void (*next)(struct sample *sample))
{
	const struct live *all = live_child(owner, group);
	size_t i;

	if (sample->metric->put == slow_put)
		slow_compare(all, &sample->slow);
	for (i = 0; all && i < all->child_count; i++) {
		*place = &all->children[i];
		sample->live = *place;
		next(sample);
	}
	*place = NULL;
}

static void path_put(struct sample *sample)
{
	if (sample->metric->level == OF_PATH)
		level_put(sample);
	else
		children_put(sample, sample->path, "connections", &sample->connection, level_put);
}

static void leg_put(struct sample *sample)
{
	if (sample->metric->level == OF_LEG)
		level_put(sample);
	else
		children_put(sample, sample->leg, "paths", &sample->path, path_put);
}

static void volume_put(struct sample *sample)
{
	sample->live = sample->volume->device ? &sample->volume->live : NULL;
	if (sample->metric->level == OF_VOLUME)
		level_put(sample);
	else if (sample->live)
		children_put(sample, sample->live, "legs", &sample->leg, leg_put);
}

/* All samples of a metric are together, as the format wants it. */
static void metric_put(FILE *out, const struct metric *metric, const struct subjects *all)
{
	struct sample sample = { .out = out, .metric = metric, .all = all };
	size_t i;

	if (metric->level == OF_MODULE)
		level_put(&sample);
	for (i = 0; metric->level != OF_MODULE && i < all->count; i++) {
		sample.volume = &all->items[i];
		volume_put(&sample);
	}
}

static void metrics_put(FILE *out, const struct subjects *all)
{
	size_t i;

	for (i = 0; i < sizeof(metrics) / sizeof(*metrics); i++)
		metric_put(out, &metrics[i], all);
}

/* Reading */

static int subjects_read(struct subjects *all, struct fault *fault)
{
	char *version = place_path("/sys/module/istripe/version");
	int ret = volumes_list(&all->names, &all->loaded, fault);
	size_t i;

	file_read(version, &all->version);
	free(version);
	if (all->names.count)
		all->items = alloc_array(NULL, all->names.count, sizeof(*all->items));
	for (i = 0; !ret && i < all->names.count; i++)
		volume_now_read(all->names.items[i], live_read_places,
				&all->items[all->count++]);
	return ret;
}

static void subjects_free(struct subjects *all)
{
	size_t i;

	for (i = 0; i < all->count; i++)
		volume_now_free(&all->items[i]);
	free(all->items);
	free(all->version);
	file_names_free(&all->names);
}

static int metrics_write(const char *path, const struct subjects *all, struct fault *fault)
{
	struct output output;
	int ret = output_open(&output, path, MODE, fault);

	if (ret)
		return ret;
	metrics_put(output.out, all);
	return output_close(&output, 0, fault);
}

int command_metrics(const struct command *command, int argc, char **argv)
{
	struct subjects all = { 0 };
	struct fault fault = { 0 };
	struct command_line line;
	int code, ret;

	if (!command_begin(command, argc, argv, COMMAND_OUTPUT, &line, false, &code))
		return code;
	if (line.count) {
		fault_set(&fault, -EINVAL, "\"%s\" is one word too many", line.names[0]);
		return command_usage(command, &fault);
	}
	ret = subjects_read(&all, &fault);
	if (!ret && line.output)
		ret = metrics_write(line.output, &all, &fault);
	else if (!ret)
		metrics_put(stdout, &all);
	subjects_free(&all);
	if (!ret)
		return EXIT_DONE;
	fault_print(&fault);
	return EXIT_FAILED;
}
