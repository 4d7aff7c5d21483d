// SPDX-License-Identifier: GPL-2.0
/* What a LUN says of itself over one path. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "alloc.h"
#include "inquiry.h"
#include "run.h"
#include "text.h"

#define PATIENCE_S	15
#define WORDS_MAX	12

#define DESIGNATOR	"DEVICE DESIGNATOR #"

int inquiry_chap(const struct settings *settings)
{
	static const char *const names[][2] = {
		{ "chap_user", "LIBISCSI_CHAP_USERNAME" },
		{ "chap_secret", "LIBISCSI_CHAP_PASSWORD" },
		{ "chap_mutual_user", "LIBISCSI_CHAP_TARGET_USERNAME" },
		{ "chap_mutual_secret", "LIBISCSI_CHAP_TARGET_PASSWORD" },
	};
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const char *value = settings_value(settings, names[i][0]);

		if (*value && setenv(names[i][1], value, 1))
			return -1;
	}
	return 0;
}

static int session_prepare(void *context)
{
	const struct inquiry_way *way = context;

	/* libiscsi has no limit of its own; the alarm outlives exec(). */
	alarm(PATIENCE_S);
	if (setenv("LIBISCSI_BIND_INTERFACES", way->nic, 1))
		return -1;
	return inquiry_chap(way->settings);
}

/* Runs a program of libiscsi whose last word is the URL of the LUN. */
static int program_run(const struct inquiry_way *way, char *const words[], struct run *run,
		       struct fault *fault)
{
	char *url = alloc_printf("iscsi://%s/%s/%s", way->portal, way->target, way->lun);
	char *argv[WORDS_MAX] = { words[0], "-i", (char *)way->initiator };
	size_t count = 3, i;
	int ret;

	for (i = 1; words[i] && count < WORDS_MAX - 2; i++)
		argv[count++] = words[i];
	argv[count] = url;
	ret = run_program(argv, session_prepare, (void *)way, run, fault);
	free(url);
	if (ret == -EIO)
		return fault_set(fault, ret, "no answer to the login within %d s", PATIENCE_S);
	if (!ret && run->code == RUN_MISSING)
		ret = run_missing(words[0], "libiscsi-bin", fault);
	if (ret)
		run_free(run);
	return ret;
}

/* The first line that a program has said. */
static int program_fault(const struct run *run, struct fault *fault)
{
	size_t bytes = strcspn(run->err, "\n");

	text_clean(run->err);
	return fault_set(fault, -EIO, "%.*s", bytes ? (int)bytes : 13,
			 bytes ? run->err : "login failed");
}

static int page_read(const struct inquiry_way *way, const char *page, struct run *run,
		     struct fault *fault)
{
	char *const words[] = { "iscsi-inq", "-e", "1", "-c", (char *)page, NULL };

	return program_run(way, words, run, fault);
}

static void identity_add(struct inquiry *inquiry, const char *kind, const char *value,
			 size_t bytes)
{
	char *longer = NULL;
	size_t size, i;
	FILE *out = open_memstream(&longer, &size);

	if (!out)
		abort();
	fprintf(out, "%s%s=", inquiry->identity, kind);
	for (i = 0; i < bytes; i++)
		fprintf(out, "%02x", (unsigned char)value[i]);
	fputc(' ', out);
	fclose(out);
	free(inquiry->identity);
	inquiry->identity = longer;
}

/* The number behind a word as "Association:(". */
static int number_find(const char *block, const char *word)
{
	const char *found = strstr(block, word);

	return found ? atoi(found + strlen(word)) : -1;
}

/* Designators of the target or its port differ between the paths of one LUN. */
static void designator_take(struct inquiry *inquiry, const char *block)
{
	static const char *const kinds[] = {
		[1] = "t10", [2] = "eui", [3] = "naa", [8] = "name",
	};
	int type = number_find(block, "Designator Type:(");
	const char *value = strstr(block, "Designator:["), *end = strrchr(block, ']');

	if (number_find(block, "Association:(") || type < 0 || type > 8 || !kinds[type] || !value)
		return;
	value += strlen("Designator:[");
	if (end && end > value)
		identity_add(inquiry, kinds[type], value, end - value);
}

static void designators_take(struct inquiry *inquiry, char *text)
{
	char *block = strstr(text, DESIGNATOR), *next;

	for (; block; block = next) {
		next = strstr(block + 1, "\n" DESIGNATOR);
		if (next)
			*next++ = '\0';
		designator_take(inquiry, block);
	}
}

static int serial_take(const struct inquiry_way *way, struct inquiry *inquiry, struct fault *fault)
{
	struct run run;
	int ret = page_read(way, "128", &run, fault);
	const char *value, *end;

	if (ret)
		return ret;
	value = run.code ? NULL : strstr(run.out, "Unit Serial Number:[");
	end = value ? strrchr(value, ']') : NULL;
	if (end) {
		value += strlen("Unit Serial Number:[");
		identity_add(inquiry, "serial", value, end - value);
	}
	run_free(&run);
	return 0;
}

int inquiry_ask(const struct inquiry_way *way, struct inquiry *inquiry, struct fault *fault)
{
	struct run run;
	int ret = page_read(way, "131", &run, fault);

	if (ret)
		return ret;
	*inquiry = (struct inquiry) { .identity = alloc_text("") };
	if (run.code) {
		ret = program_fault(&run, fault);
	} else {
		inquiry->disk = strstr(run.out, "Peripheral Qualifier:CONNECTED\n") &&
				strstr(run.out, "Peripheral Device Type:DIRECT_ACCESS\n");
		designators_take(inquiry, run.out);
	}
	run_free(&run);
	/* A serial number alone may be that of the whole array. */
	if (!ret && *inquiry->identity)
		ret = serial_take(way, inquiry, fault);
	if (ret)
		inquiry_free(inquiry);
	return ret;
}

unsigned long long inquiry_size(const struct inquiry_way *way)
{
	char *const words[] = { "iscsi-readcapacity16", "-s", NULL };
	unsigned long long bytes = 0;
	struct fault ignored;
	struct run run;

	if (program_run(way, words, &run, &ignored))
		return 0;
	if (!run.code)
		bytes = strtoull(run.out, NULL, 10);
	run_free(&run);
	return bytes;
}

void inquiry_free(struct inquiry *inquiry)
{
	free(inquiry->identity);
	inquiry->identity = NULL;
}
