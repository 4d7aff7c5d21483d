// SPDX-License-Identifier: GPL-2.0
/* top: what volumes, legs, paths and connections do at the moment. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "command.h"
#include "file.h"
#include "host_net.h"
#include "interrupt.h"
#include "json_out.h"
#include "live.h"
#include "rates.h"
#include "table.h"
#include "tree.h"
#include "volumes.h"
#include "watch.h"

#define INTERVAL_MS	1000

/* A volume's counters at one moment. */
struct reading {
	struct volume_now now;
	long long time_ms;
};

struct readings {
	struct reading *items;
	size_t count;
};

/* TCP is asked beside the files: it does not know a connection that is gone meanwhile. */
static void tcp_read(struct live *connection, const char *nic)
{
	const char *local = settings_value(&connection->values, "local_address");
	const char *remote = settings_value(&connection->values, "remote_address");
	struct host_tcp tcp;
	char *again;

	if (!*local || !*remote || host_tcp(local, remote, nic, &tcp))
		return;
	again = alloc_printf("%u", tcp.sent_again);
	settings_put(&connection->values, RATES_RETRANSMITS, again);
	free(again);
}

/* @nic: of the path that @live is, or is a part of. */
static void tcp_read_all(struct live *live, const char *nic)
{
	size_t i;

	if (settings_find(&live->values, "local_address"))
		tcp_read(live, nic);
	if (settings_find(&live->values, "nic"))
		nic = settings_value(&live->values, "nic");
	for (i = 0; i < live->child_count; i++)
		tcp_read_all(&live->children[i], nic);
}

static int readings_take(const struct command_line *line, struct readings *readings,
			 struct fault *fault)
{
	struct file_names names = { 0 };
	int ret = command_volumes(line, &names, fault);
	struct reading *reading;
	size_t i;

	memset(readings, 0, sizeof(*readings));
	for (i = 0; !ret && i < names.count; i++) {
		if (line->count)
			ret = tree_has_volume(names.items[i], fault);
		if (ret)
			break;
		reading = alloc_append(readings->items, readings->count);
		volume_now_read(names.items[i], live_read_counts, &reading->now);
		tcp_read_all(&reading->now.live, "");
		reading->time_ms = watch_now_ms();
	}
	file_names_free(&names);
	return ret;
}

static void readings_free(struct readings *readings)
{
	size_t i;

	for (i = 0; i < readings->count; i++)
		volume_now_free(&readings->items[i].now);
	free(readings->items);
	memset(readings, 0, sizeof(*readings));
}

static const struct reading *reading_find(const struct readings *readings, const char *name)
{
	size_t i;

	for (i = 0; i < readings->count; i++)
		if (!strcmp(readings->items[i].now.name, name))
			return &readings->items[i];
	return NULL;
}

/* Where rates go: rows of a table, or objects. */
struct sink {
	struct table *table;
	double seconds;
};

static const char *const columns[] = {
	"NAME", "STATE", "READ_MB/s", "WRITE_MB/s", "IOPS", "LATENCY_ms", "QUEUE", "RETRIES",
	"RECONNECTS", "PING_us", "RETRANS", NULL
};

static char *rate_text(double rate, double unit, int digits)
{
	return rate < 0 ? alloc_text("-") : alloc_printf("%.*f", digits, rate / unit);
}

static void rates_row(struct table *table, char *name, const char *state,
		      const struct rates *rates)
{
	char *const cells[TABLE_COLUMNS] = {
		name, alloc_text(*state ? state : "-"), rate_text(rates->read_bytes, 1e6, 1),
		rate_text(rates->write_bytes, 1e6, 1), rate_text(rates->iops, 1, 0),
		rate_text(rates->latency_ms, 1, 2), rate_text(rates->queue, 1, 0),
		rate_text(rates->retries, 1, 0), rate_text(rates->reconnects, 1, 0),
		rate_text(rates->ping_us, 1, 0), rate_text(rates->retransmits, 1, 0),
	};

	table_add(table, cells);
}

static void rate_add(struct json_object *object, const char *name, double rate)
{
	char *text = alloc_printf("%.3f", rate);

	json_object_object_add(object, name,
			       rate < 0 ? NULL : json_object_new_double_s(rate, text));
	free(text);
}

static void count_add(struct json_object *object, const char *name, double count)
{
	json_object_object_add(object, name, count < 0 ? NULL : json_object_new_int64(count));
}

static void rates_object(struct json_object *object, const char *state, const struct rates *rates)
{
	json_text(object, "state", state);
	rate_add(object, "read_bytes_per_second", rates->read_bytes);
	rate_add(object, "write_bytes_per_second", rates->write_bytes);
	rate_add(object, "iops", rates->iops);
	rate_add(object, "latency_ms", rates->latency_ms);
	count_add(object, "queue", rates->queue);
	count_add(object, "retries", rates->retries);
	count_add(object, "reconnects", rates->reconnects);
	count_add(object, "ping_us", rates->ping_us);
	count_add(object, "retransmits", rates->retransmits);
}

/* The directories below a volume, from outside to inside. */
static const struct level {
	const char *group, *label;
	void (*rates_of)(const struct live *before, const struct live *after, double seconds,
			 struct rates *rates);
} levels[] = {
	{ "legs", "leg", rates_of_leg },
	{ "paths", "path", rates_of_path },
	{ "connections", "connection", rates_of_connection },
};

#define LEVELS	(sizeof(levels) / sizeof(*levels))

static void level_walk(const struct sink *sink, size_t depth, const struct live *before,
		       const struct live *after, const struct rates *whole,
		       struct json_object *parent);

/* @whole: of what @after is a part of; @only: it is all of it. */
static void child_walk(const struct sink *sink, size_t depth, const struct live *before,
		       const struct live *after, const struct rates *whole, bool only,
		       struct json_object *array)
{
	const char *state = settings_value(&after->values, "state");
	struct json_object *object = NULL;
	struct rates rates;

	levels[depth].rates_of(before, after, sink->seconds, &rates);
	if (only && depth + 1 == LEVELS)
		rates_of_only_connection(whole, &rates);
	if (array) {
		object = json_object_new_object();
		json_object_object_add(object, "index",
				       json_object_new_int64(strtol(after->name, NULL, 10)));
		rates_object(object, state, &rates);
		json_object_array_add(array, object);
	} else {
		rates_row(sink->table, alloc_printf("%*s%s %s", 2 * ((int)depth + 1), "",
						    levels[depth].label, after->name),
			  state, &rates);
	}
	level_walk(sink, depth + 1, before, after, &rates, object);
}

static void level_walk(const struct sink *sink, size_t depth, const struct live *before,
		       const struct live *after, const struct rates *whole,
		       struct json_object *parent)
{
	struct json_object *array = NULL;
	const struct live *all, *old;
	size_t i;

	if (depth == LEVELS)
		return;
	all = live_child(after, levels[depth].group);
	old = before ? live_child(before, levels[depth].group) : NULL;
	if (parent) {
		array = json_object_new_array();
		json_object_object_add(parent, levels[depth].group, array);
	}
	for (i = 0; all && i < all->child_count; i++)
		child_walk(sink, depth, old ? live_child(old, all->children[i].name) : NULL,
			   &all->children[i], whole, all->child_count == 1, array);
}

static void volume_walk(struct sink *sink, const struct reading *before,
			const struct reading *after, struct json_object *volumes)
{
	const struct volume_now *then = before && before->now.device ? &before->now : NULL;
	const struct volume_now *now = &after->now;
	const char *state = now->device ? settings_value(&now->live.values, "state") : "down";
	struct json_object *object = NULL;
	struct rates rates;

	sink->seconds = before ? (after->time_ms - before->time_ms) / 1e3 : 0;
	rates_of_volume(then ? &then->live : NULL, &now->live, then ? then->stat : NULL, now->stat,
			sink->seconds, &rates);
	if (volumes) {
		object = json_object_new_object();
		json_text(object, "name", now->name);
		rate_add(object, "seconds", sink->seconds);
		rates_object(object, state, &rates);
		json_object_array_add(volumes, object);
	} else {
		rates_row(sink->table, alloc_text(now->name), state, &rates);
	}
	level_walk(sink, 0, then ? &then->live : NULL, &now->live, &rates, object);
}

static void interval_print(const struct command_line *line, struct table *table,
			   const struct readings *before, const struct readings *after, bool first)
{
	struct json_object *volumes = line->flags & COMMAND_JSON ? json_object_new_array() : NULL;
	struct sink sink = { .table = table };
	size_t i;

	if (!volumes)
		watch_block(first);
	for (i = 0; i < after->count; i++)
		volume_walk(&sink, reading_find(before, after->items[i].now.name), &after->items[i],
			    volumes);
	if (volumes)
		json_line(volumes);
	else
		table_print(table);
}

static int top_run(const struct command_line *line, struct table *table, struct fault *fault)
{
	long long interval_ms = line->flags & COMMAND_INTERVAL ? line->interval_ms : INTERVAL_MS;
	struct readings before, after;
	bool first = true;
	int ret = readings_take(line, &before, fault);

	while (!ret && watch_pause(interval_ms)) {
		ret = readings_take(line, &after, fault);
		if (!ret)
			interval_print(line, table, &before, &after, first);
		readings_free(&before);
		before = after;
		first = false;
		if (line->flags & COMMAND_ONCE)
			break;
	}
	readings_free(&before);
	return ret;
}

int command_top(const struct command *command, int argc, char **argv)
{
	struct command_line line;
	struct table_style style;
	struct fault fault = { 0 };
	struct table table;
	int code;

	if (!command_begin(command, argc, argv,
			   COMMAND_JSON | COMMAND_ONCE | COMMAND_INTERVAL | COMMAND_TABLE, &line,
			   false, &code))
		return code;
	if (command_style(&line, &style, &fault) || table_begin(&table, columns, &style, &fault))
		return command_usage(command, &fault);
	interrupt_catch();
	if (!top_run(&line, &table, &fault))
		return EXIT_DONE;
	fault_print(&fault);
	return EXIT_FAILED;
}
