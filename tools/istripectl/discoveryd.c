// SPDX-License-Identifier: GPL-2.0
/* Discovery records by which iscsid itself logs in. */
#define _GNU_SOURCE
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "discoveryd.h"
#include "fact.h"
#include "place.h"
#include "portal.h"
#include "run.h"
#include "text.h"

static const struct kind {
	const char *dir, *file, *type, *name;
	bool any;		/* whatever its address */
} kinds[] = {
	{ "send_targets", "st_config", "st", "discovery.sendtargets.use_discoveryd", false },
	{ "isns", "isns_config", "isns", "discovery.isns.use_discoveryd", true },
};

static bool has_address(const struct file_names *addresses, const char *address)
{
	size_t i;

	for (i = 0; i < addresses->count; i++)
		if (address_equal(addresses->items[i], address))
			return true;
	return false;
}

static bool is_on(char *path, const char *name)
{
	char *text = fact_text(path), *line = text ? fact_line(text, name) : NULL;
	char *value = line ? fact_word(line, 1) : NULL;
	bool on = value && !strcmp(value, "Yes");

	free(value);
	free(line);
	free(text);
	return on;
}

/* @entry: as 192.0.2.1,3260, a folder with the record */
static void entry_take(const struct kind *kind, const char *dir, const char *entry,
		       const struct file_names *addresses, struct discoveries *discoveries)
{
	char *address = alloc_printf("%.*s", (int)strcspn(entry, ","), entry);

	if ((kind->any || has_address(addresses, address)) &&
	    is_on(alloc_printf("%s/%s/%s", dir, entry, kind->file), kind->name))
		*alloc_append(discoveries->items, discoveries->count) = (struct discovery) {
			.type = kind->type, .name = kind->name,
			.portal = portal_of_folder(entry),
		};
	free(address);
}

void discoveries_read(const struct file_names *addresses, struct discoveries *discoveries)
{
	static const char *const roots[] = { "/etc/iscsi", "/var/lib/iscsi" };
	size_t i, j, k;

	for (i = 0; i < sizeof(roots) / sizeof(*roots); i++)
		for (j = 0; j < sizeof(kinds) / sizeof(*kinds); j++) {
			char *dir = place_path("%s/%s", roots[i], kinds[j].dir);
			struct file_names entries = { 0 };

			file_list(dir, &entries);
			for (k = 0; k < entries.count; k++)
				entry_take(&kinds[j], dir, entries.items[k], addresses,
					   discoveries);
			file_names_free(&entries);
			free(dir);
		}
}

void discoveries_free(struct discoveries *discoveries)
{
	size_t i;

	for (i = 0; i < discoveries->count; i++)
		free(discoveries->items[i].portal);
	free(discoveries->items);
	memset(discoveries, 0, sizeof(*discoveries));
}

char *discovery_words(const struct discovery *discovery)
{
	char *portal = text_quoted(discovery->portal);
	char *words = alloc_printf("iscsiadm -m discoverydb -t %s -p %s -o update -n %s -v",
				   discovery->type, portal, discovery->name);

	free(portal);
	return words;
}

int discovery_turn_off(const struct discovery *discovery, struct fault *fault)
{
	char *const argv[] = {
		"iscsiadm", "-m", "discoverydb", "-t", (char *)discovery->type, "-p",
		discovery->portal, "-o", "update", "-n", (char *)discovery->name, "-v", "No", NULL
	};
	struct run run;
	int ret = run_program_whole(argv, NULL, NULL, &run, fault);

	if (!ret && run.code)
		ret = run_fault(&run, "iscsiadm -m discoverydb -o update", fault);
	run_free(&run);
	return ret;
}
