// SPDX-License-Identifier: GPL-2.0
/* What happens in an interval, from the counters at its beginning and at its end. */
#include <stdio.h>
#include <string.h>

#include "latency.h"
#include "rates.h"
#include "value.h"

static double counter(const struct live *live, const char *name)
{
	long long number;

	if (!live || !value_number(settings_value(&live->values, name), &number))
		return RATE_NONE;
	return number;
}

static double grown(double before, double after)
{
	if (before < 0 || after < 0)
		return RATE_NONE;
	/* Counters of a session and of its connections begin anew with it. */
	return after < before ? after : after - before;
}

static double counter_grown(const struct live *before, const struct live *after, const char *name)
{
	return grown(counter(before, name), counter(after, name));
}

static double per_second(double count, double seconds)
{
	return count < 0 || seconds <= 0 ? RATE_NONE : count / seconds;
}

/* Of reads and writes together, as that of the volume. */
static double mean_ms(const struct live *before, const struct live *after)
{
	struct latency old, now, grown_by = { 0 };
	int kind;

	for (kind = LATENCY_READ; kind <= LATENCY_WRITE; kind++)
		if (!before || !latency_of(before, kind, &old) || !latency_of(after, kind, &now) ||
		    !latency_add_grown(&old, &now, &grown_by))
			return RATE_NONE;
	return latency_count(&grown_by) ? latency_mean_ms(&grown_by) : RATE_NONE;
}

static void add(double *sum, double what)
{
	if (what >= 0)
		*sum = *sum < 0 ? what : *sum + what;
}

static void rates_clear(struct rates *rates)
{
	*rates = (struct rates) {
		RATE_NONE, RATE_NONE, RATE_NONE, RATE_NONE, RATE_NONE, RATE_NONE, RATE_NONE,
		RATE_NONE, RATE_NONE
	};
}

static void rates_add(struct rates *sum, const struct rates *part)
{
	add(&sum->read_bytes, part->read_bytes);
	add(&sum->write_bytes, part->write_bytes);
	add(&sum->queue, part->queue);
	add(&sum->retries, part->retries);
	add(&sum->reconnects, part->reconnects);
	add(&sum->retransmits, part->retransmits);
}

typedef void (*rates_fn)(const struct live *before, const struct live *after, double seconds,
			 struct rates *rates);

/* Adds up what is in the directories of numbers below @group. */
static void children_add(const struct live *before, const struct live *after, const char *group,
			 rates_fn rates_of, double seconds, struct rates *sum)
{
	const struct live *old = before ? live_child(before, group) : NULL;
	const struct live *all = live_child(after, group);
	size_t i;

	for (i = 0; all && i < all->child_count; i++) {
		const struct live *child = &all->children[i];
		struct rates part;

		rates_of(old ? live_child(old, child->name) : NULL, child, seconds, &part);
		rates_add(sum, &part);
	}
}

void rates_of_connection(const struct live *before, const struct live *after, double seconds,
			 struct rates *rates)
{
	rates_clear(rates);
	rates->read_bytes = per_second(counter_grown(before, after, "bytes_received"), seconds);
	rates->write_bytes = per_second(counter_grown(before, after, "bytes_sent"), seconds);
	rates->iops = per_second(counter_grown(before, after, "commands_sent"), seconds);
	rates->queue = counter(after, "commands_in_flight");
	rates->retransmits = counter_grown(before, after, RATES_RETRANSMITS);
	rates->ping_us = counter(after, "ping_rtt_us");
}

void rates_of_only_connection(const struct rates *path, struct rates *connection)
{
	connection->latency_ms = path->latency_ms;
	connection->retries = path->retries;
}

static double session_commands(const struct live *before, const struct live *after,
			       const char *name)
{
	return counter_grown(before ? live_child(before, name) : NULL, live_child(after, name),
			     "commands_sent");
}

void rates_of_path(const struct live *before, const struct live *after, double seconds,
		   struct rates *rates)
{
	const struct live *old = before ? live_child(before, "sessions") : NULL;
	const struct live *all = live_child(after, "sessions");
	double commands;
	size_t i;

	rates_clear(rates);
	children_add(before, after, "connections", rates_of_connection, seconds, rates);
	commands = session_commands(before, after, "session");
	for (i = 0; all && old && i < all->child_count; i++)
		add(&commands, session_commands(old, all, all->children[i].name));
	rates->iops = per_second(commands, seconds);
	rates->latency_ms = mean_ms(before, after);
	rates->retries = counter_grown(before, after, "retries");
	rates->reconnects = counter_grown(before, after, "reconnects");
}

void rates_of_leg(const struct live *before, const struct live *after, double seconds,
		  struct rates *rates)
{
	rates_clear(rates);
	children_add(before, after, "paths", rates_of_path, seconds, rates);
	rates->iops = per_second(counter_grown(before, after, "commands"), seconds);
	rates->latency_ms = mean_ms(before, after);
	rates->retries = counter_grown(before, after, "retried");
	add(&rates->retries, counter_grown(before, after, "redriven"));
}

/* Documentation/ABI/stable/sysfs-block: requests, merged, sectors of 512 bytes, ms; then writes. */
struct stat_file {
	double reads, read_sectors, read_ms, writes, write_sectors, write_ms, in_flight;
};

static int stat_read(const char *text, struct stat_file *file)
{
	return text && sscanf(text, "%lf %*s %lf %lf %lf %*s %lf %lf %lf", &file->reads,
			      &file->read_sectors, &file->read_ms, &file->writes,
			      &file->write_sectors, &file->write_ms, &file->in_flight) == 7;
}

void rates_of_volume(const struct live *before, const struct live *after, const char *stat_before,
		     const char *stat_after, double seconds, struct rates *rates)
{
	struct stat_file old, now;
	double requests, ms;

	rates_clear(rates);
	children_add(before, after, "legs", rates_of_leg, seconds, rates);
	rates->read_bytes = RATE_NONE;
	rates->write_bytes = RATE_NONE;
	rates->queue = RATE_NONE;
	if (!stat_read(stat_before, &old) || !stat_read(stat_after, &now))
		return;
	rates->read_bytes = per_second(grown(old.read_sectors, now.read_sectors) * 512, seconds);
	rates->write_bytes = per_second(grown(old.write_sectors, now.write_sectors) * 512,
					seconds);
	requests = grown(old.reads, now.reads) + grown(old.writes, now.writes);
	ms = grown(old.read_ms, now.read_ms) + grown(old.write_ms, now.write_ms);
	rates->iops = per_second(requests, seconds);
	if (requests > 0)
		rates->latency_ms = ms / requests;
	rates->queue = now.in_flight;
}
