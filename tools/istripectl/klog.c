// SPDX-License-Identifier: GPL-2.0
/* What the module says in the kernel's log. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "klog.h"
#include "place.h"

#define RECORD_BYTES	8192	/* longer than the longest record of /dev/kmsg */
#define PREFIX		"istripe: "

int klog_open(void)
{
	char *path = place_path("/dev/kmsg");
	int log = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	free(path);
	if (log >= 0)
		lseek(log, 0, SEEK_END);
	return log;
}

/* "istripe: <volume>: ..." or "istripe: <volume>/<leg>...", or about the directory itself. */
static bool line_concerns(const char *line, const char *volume)
{
	size_t bytes = strlen(volume);

	if (strncmp(line, PREFIX, strlen(PREFIX)))
		return false;
	line += strlen(PREFIX);
	if (!strncmp(line, "configfs: ", strlen("configfs: ")))
		return true;
	return !strncmp(line, volume, bytes) && (line[bytes] == ':' || line[bytes] == '/');
}

/* One record for each read: "priority,number,time,flags;text\n", then lines that begin with ' '. */
int klog_explain(int log, const char *volume, struct fault *fault)
{
	char record[RECORD_BYTES];
	int lines = 0;
	ssize_t bytes;

	if (log < 0)
		return 0;
	while ((bytes = read(log, record, sizeof(record) - 1)) > 0 ||
	       (bytes < 0 && (errno == EPIPE || errno == EINTR))) {
		char *text;

		if (bytes < 0)
			continue;
		record[bytes] = '\0';
		record[strcspn(record, "\n")] = '\0';
		text = strchr(record, ';');
		if (text && line_concerns(text + 1, volume)) {
			fault_add(fault, "kernel: %s", text + 1);
			lines++;
		}
	}
	return lines;
}

/* "priority,number,microseconds,flags;text" */
static void record_print(void *out, const char *record)
{
	const char *text = strchr(record, ';'), *time = strchr(record, ',');
	unsigned long long us = 0;

	if (!text || *record == ' ' || !strstr(text, "istripe"))
		return;
	time = time ? strchr(time + 1, ',') : NULL;
	if (time)
		us = strtoull(time + 1, NULL, 10);
	fprintf(out, "[%5llu.%06llu] %s\n", us / 1000000, us % 1000000, text + 1);
}

/* Calls @take for each line of the log. */
static int records_read(void (*take)(void *context, const char *record), void *context)
{
	char *path = place_path("/dev/kmsg"), record[RECORD_BYTES];
	int log = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	int ret = log < 0 ? -errno : 0;
	ssize_t bytes;

	while (log >= 0 && ((bytes = read(log, record, sizeof(record) - 1)) > 0 ||
			    (bytes < 0 && (errno == EPIPE || errno == EINTR)))) {
		char *rest = record, *line;

		record[bytes < 0 ? 0 : bytes] = '\0';
		while ((line = strsep(&rest, "\n")))
			take(context, line);
	}
	klog_close(log);
	free(path);
	return ret;
}

int klog_print(FILE *out)
{
	return records_read(record_print, out);
}

struct count {
	const char *text;
	long long since_us;
	int lines;
};

static void record_count(void *context, const char *record)
{
	const char *text = strchr(record, ';'), *time = strchr(record, ',');
	struct count *count = context;

	time = time ? strchr(time + 1, ',') : NULL;
	if (text && time && *record != ' ' && strtoll(time + 1, NULL, 10) >= count->since_us &&
	    !strncmp(text + 1, PREFIX, strlen(PREFIX)) &&
	    !strncmp(text + 1 + strlen(PREFIX), count->text, strlen(count->text)))
		count->lines++;
}

int klog_count(const char *text, long long since_s)
{
	struct count count = { .text = text, .since_us = since_s * 1000000 };

	return records_read(record_count, &count) ?: count.lines;
}

void klog_close(int log)
{
	if (log >= 0)
		close(log);
}
