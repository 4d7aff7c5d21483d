// SPDX-License-Identifier: GPL-2.0
/* The node records of open-iscsi. Its database has no stable format: only iscsiadm reads it. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "interrupt.h"
#include "records.h"
#include "run.h"
#include "text.h"

#define NO_RECORDS	21	/* exit code of iscsiadm */
#define EMPTY		"<empty>"

static void line_parse(char *line, struct settings *record)
{
	char *equals = strstr(line, " = "), *value;

	if (!equals)
		return;
	*equals = '\0';
	value = equals + strlen(" = ");
	if (!strstr(line, ".password"))
		text_clean(value);
	settings_put(record, line, strcmp(value, EMPTY) ? value : "");
	explicit_bzero(value, strlen(value));
}

void records_parse(char *text, struct records *records)
{
	struct settings *record = NULL;
	char *line;

	while ((line = strsep(&text, "\n"))) {
		if (!strncmp(line, "# BEGIN RECORD", strlen("# BEGIN RECORD")))
			record = alloc_append(records->items, records->count);
		else if (!strncmp(line, "# END RECORD", strlen("# END RECORD")))
			record = NULL;
		else if (record)
			line_parse(line, record);
	}
}

int records_read(struct records *records, struct fault *fault)
{
	char *const argv[] = { "iscsiadm", "-m", "node", "-o", "show", "-S", NULL };
	struct run run;
	int ret = run_program_whole(argv, NULL, NULL, &run, fault);

	if (ret)
		return ret;
	if (interrupt_seen())
		ret = run_interrupted(argv[0], fault);
	else if (run.code == RUN_MISSING)
		ret = run_missing("iscsiadm", "open-iscsi", fault);
	else if (run.code == NO_RECORDS)
		ret = fault_set(fault, -ENOENT,
				"open-iscsi has no node record for TCP\n" RECORDS_NEXT);
	else if (run.code)
		ret = run_fault(&run, "iscsiadm -m node -o show", fault);
	else
		records_parse(run.out, records);
	run_free(&run);
	return ret;
}

void records_free(struct records *records)
{
	size_t i, j;

	for (i = 0; i < records->count; i++) {
		struct settings *record = &records->items[i];

		for (j = 0; j < record->count; j++)
			if (strstr(record->items[j].name, ".password"))
				explicit_bzero(record->items[j].value,
					       strlen(record->items[j].value));
		settings_free(record);
	}
	free(records->items);
	memset(records, 0, sizeof(*records));
}

char *record_portal(const struct settings *record)
{
	const char *address = settings_value(record, "node.conn[0].address");

	return alloc_printf(strchr(address, ':') ? "[%s]:%s" : "%s:%s", address,
			    settings_value(record, "node.conn[0].port"));
}

const char *const record_startups[RECORD_STARTUPS] = { "node.startup", "node.conn[0].startup" };

bool record_is_automatic(const struct settings *record, const char *startup)
{
	const char *value = settings_value(record, startup);

	return !strcmp(value, "automatic") || !strcmp(value, "onboot");
}

char *record_words(const struct settings *record)
{
	char *portal = record_portal(record), *words;
	size_t bytes;
	FILE *out = open_memstream(&words, &bytes);

	if (!out)
		abort();
	fputs("-T ", out);
	text_quote(out, settings_value(record, "node.name"));
	fputs(" -p ", out);
	text_quote(out, portal);
	fputs(" -I ", out);
	text_quote(out, settings_value(record, "iface.iscsi_ifacename"));
	fclose(out);
	free(portal);
	return words;
}

int record_set_manual(struct settings *record, const char *startup, struct fault *fault)
{
	char *portal = record_portal(record);
	char *const argv[] = {
		"iscsiadm", "-m", "node", "-T", (char *)settings_value(record, "node.name"),
		"-p", portal, "-I", (char *)settings_value(record, "iface.iscsi_ifacename"),
		"-o", "update", "-n", (char *)startup, "-v", "manual", NULL
	};
	struct run run;
	int ret = run_program_whole(argv, NULL, NULL, &run, fault);

	if (!ret && run.code)
		ret = run_fault(&run, "iscsiadm -o update", fault);
	run_free(&run);
	if (!ret)
		settings_put(record, startup, "manual");
	free(portal);
	return ret;
}
