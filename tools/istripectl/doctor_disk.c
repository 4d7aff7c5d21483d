// SPDX-License-Identifier: GPL-2.0
/* doctor: the queue of a volume's disk. */
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "doctor.h"
#include "fact.h"
#include "latency.h"
#include "place.h"

#define SECTOR_BYTES		512
#define KILOBYTE		1024
#define REQUESTS_ENOUGH		10000	/* to judge by */
#define REQUEST_LARGE_BYTES	32768
#define CHUNK_MIN_BYTES		4096
#define BUSY_WRAPS_S		4294967	/* the kernel counts busy time in 32 bits of ms */

static char *queue_file(const struct doctor_volume *volume, const char *name)
{
	return place_path("/sys/block/%s/queue/%s", volume->live.name, name);
}

/* Whether there is a disk: says so if not. */
static bool is_up(struct doctor *doctor, const struct doctor_volume *volume)
{
	if (!volume->up)
		doctor_skip(doctor, "the volume is down");
	return volume->up;
}

/* Whether files of the queue may be read and written: says so if not. */
static bool has_queue(struct doctor *doctor, const struct doctor_volume *volume)
{
	const char *state = settings_value(&volume->live.values, "state");

	if (!is_up(doctor, volume))
		return false;
	if (live_takes_io(state))
		return true;
	doctor_skip(doctor,
		    "the volume is %s: access to files of the disk's queue may wait for a leg",
		    *state ? state : "in an unknown state");
	return false;
}

static long long stripe_bytes(const struct doctor_volume *volume)
{
	return strtoll(doctor_value(volume, "chunk_bytes"), NULL, 10) *
	       (long long)volume->volume.leg_count;
}

void doctor_scheduler(struct doctor *doctor, const struct doctor_volume *volume)
{
	char *text, *used;

	if (!has_queue(doctor, volume))
		return;
	text = fact_text(queue_file(volume, "scheduler"));
	used = text ? strchr(text, '[') : NULL;
	if (used)
		used[strcspn(used, "]")] = '\0';
	if (!text)
		doctor_unread(doctor, "the scheduler", 0);
	else if (!used || !strcmp(used, "[none"))
		doctor_pass(doctor);
	else
		doctor_warn(doctor, &(struct doctor_warning){
			.measured = alloc_text(used + 1), .wanted = alloc_text("none"),
			.next = alloc_printf("echo none > /sys/block/%s/queue/scheduler",
					     volume->live.name),
		},
		"it takes a lock for each request, and the array sorts them anyway");
	free(text);
}

void doctor_read_ahead(struct doctor *doctor, const struct doctor_volume *volume)
{
	long long kilobytes, stripe = stripe_bytes(volume);

	if (!has_queue(doctor, volume))
		return;
	if (!fact_number(queue_file(volume, "read_ahead_kb"), &kilobytes))
		doctor_unread(doctor, "read_ahead_kb", 0);
	else if (!kilobytes)
		doctor_skip(doctor, "read-ahead is off");
	else if (kilobytes * KILOBYTE >= stripe)
		doctor_pass(doctor);
	else
		doctor_warn(doctor, &(struct doctor_warning){
			.measured = alloc_printf("%lld", kilobytes * KILOBYTE),
			.wanted = alloc_printf("%lld", 2 * stripe),
			.next = alloc_printf("echo %lld > /sys/block/%s/queue/read_ahead_kb",
					     2 * stripe / KILOBYTE, volume->live.name),
		},
		"a file that is read from start to end does not keep all legs busy");
}

void doctor_max_sectors(struct doctor *doctor, const struct doctor_volume *volume)
{
	long long now, most, wanted, stripe = stripe_bytes(volume) / KILOBYTE;

	if (!has_queue(doctor, volume))
		return;
	if (!fact_number(queue_file(volume, "max_sectors_kb"), &now) ||
	    !fact_number(queue_file(volume, "max_hw_sectors_kb"), &most)) {
		doctor_unread(doctor, "max_sectors_kb", 0);
		return;
	}
	wanted = most < stripe ? most : stripe;
	if (now >= wanted)
		doctor_pass(doctor);
	else
		doctor_warn(doctor, &(struct doctor_warning){
			.measured = alloc_printf("%lld", now * KILOBYTE),
			.wanted = alloc_printf("%lld", wanted * KILOBYTE),
			.next = alloc_printf("echo %lld > /sys/block/%s/queue/max_sectors_kb",
					     wanted, volume->live.name),
		},
		"large requests are cut before they reach all legs");
}

struct request_sizes {
	long long count;
	long long average_bytes;
	long long depth;		/* requests at a time */
};

/* Mean time of a command, in ms. The kernel's own sum for the disk is one of 32 bits. */
static double command_mean_ms(const struct doctor_volume *volume)
{
	const struct live *legs = live_child(&volume->live, "legs");
	double sum_ms = 0, commands = 0;
	struct latency latency;
	size_t i, kind;

	for (i = 0; legs && i < legs->child_count; i++) {
		for (kind = 0; kind < LATENCY_KINDS; kind++) {
			if (!latency_of(&legs->children[i], kind, &latency))
				continue;
			sum_ms += latency.sum_ns / 1e6;
			commands += latency_count(&latency);
		}
	}
	return commands ? sum_ms / commands : 0;
}

static bool requests_read(const struct doctor_volume *volume, struct request_sizes *sizes)
{
	char *text = fact_text(place_path("/sys/block/%s/stat", volume->live.name)), *rest = text;
	long long value[11] = { 0 };
	size_t i;

	if (!text)
		return false;
	for (i = 0; i < sizeof(value) / sizeof(*value); i++)
		value[i] = strtoll(rest, &rest, 10);
	free(text);
	sizes->count = value[0] + value[4];
	if (sizes->count)
		sizes->average_bytes = (value[2] + value[6]) * SECTOR_BYTES / sizes->count;
	if (value[9])
		sizes->depth = sizes->count * command_mean_ms(volume) / value[9];
	return true;
}

static void chunk_check(struct doctor *doctor, const struct doctor_volume *volume,
			const struct request_sizes *sizes)
{
	long long chunk = strtoll(doctor_value(volume, "chunk_bytes"), NULL, 10);
	long long legs = volume->volume.leg_count, wanted = CHUNK_MIN_BYTES;

	/* Small requests, or many at a time, keep all legs busy with any chunk. */
	if (sizes->average_bytes < REQUEST_LARGE_BYTES || sizes->depth >= legs ||
	    chunk < 2 * sizes->average_bytes) {
		doctor_pass(doctor);
		return;
	}
	while (2 * wanted * legs <= sizes->average_bytes)
		wanted *= 2;
	doctor_warn(doctor, &(struct doctor_warning){
		.measured = alloc_printf("%lld", chunk),
		.wanted = alloc_printf("%lld", wanted),
		.next = alloc_printf("istripectl create NEW --chunk %lldK ... and copy the data",
				     wanted / KILOBYTE),
	},
	"requests have %lld bytes on average, %lld at a time: most of %lld legs wait; only a new volume has another chunk",
	sizes->average_bytes, sizes->depth, legs);
}

void doctor_chunk(struct doctor *doctor, const struct doctor_volume *volume)
{
	struct request_sizes sizes = { 0 };
	long long seconds = 0;
	char *uptime;

	if (!is_up(doctor, volume))
		return;
	uptime = fact_text(place_path("/proc/uptime"));
	if (uptime)
		seconds = strtoll(uptime, NULL, 10);
	free(uptime);
	if (volume->volume.leg_count < 2)
		doctor_skip(doctor, "there is one leg");
	else if (!requests_read(volume, &sizes))
		doctor_unread(doctor, "stat", 0);
	else if (seconds >= BUSY_WRAPS_S)
		doctor_skip(doctor, "the kernel's count of the busy time may have begun anew");
	else if (sizes.count < REQUESTS_ENOUGH)
		doctor_skip(doctor, "there have been %lld requests only", sizes.count);
	else
		chunk_check(doctor, volume, &sizes);
}

void doctor_throttling(struct doctor *doctor, const struct doctor_volume *volume)
{
	long long us = 0;

	if (!has_queue(doctor, volume))
		return;
	/* A kernel that does not throttle has no such file, or one that cannot be read. */
	if (volume->volume.leg_count < 2)
		doctor_skip(doctor, "there is one leg");
	else if (!fact_number(queue_file(volume, "wbt_lat_usec"), &us) || !us)
		doctor_pass(doctor);
	else
		doctor_warn(doctor, &(struct doctor_warning){
			.measured = alloc_printf("%lld", us), .wanted = alloc_text("0"),
			.next = alloc_printf("echo 0 > /sys/block/%s/queue/wbt_lat_usec",
					     volume->live.name),
		},
		"the kernel throttles buffered writes and discards for all legs together as for one disk");
}

void doctor_write_cache(struct doctor *doctor, const struct doctor_volume *volume)
{
	long long fua = 0;
	char *text;

	if (!has_queue(doctor, volume))
		return;
	text = fact_text(queue_file(volume, "write_cache"));
	fact_number(queue_file(volume, "fua"), &fua);
	if (!text)
		doctor_unread(doctor, "write_cache", 0);
	else if (!strcmp(text, "write back"))
		doctor_pass(doctor);
	else if (fua)
		/* The disk has FUA only when a LUN has a volatile cache. */
		doctor_warn(doctor, &(struct doctor_warning){
			.measured = alloc_text(text), .wanted = alloc_text("write back"),
			.next = alloc_printf("echo write back > /sys/block/%s/queue/write_cache",
					     volume->live.name),
		},
		"a LUN has a volatile cache, and the kernel sends no flushes: data are lost when its power fails");
	else
		doctor_skip(doctor,
			    "write_cache is \"%s\": the LUNs have no volatile cache, or somebody has written that",
			    text);
	free(text);
}
