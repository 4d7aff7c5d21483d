// SPDX-License-Identifier: GPL-2.0
/* Pacemaker, which moves volumes between hosts. */
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "fact.h"
#include "pacemaker.h"
#include "place.h"
#include "unit.h"

#define CONFIGURATION	"/var/lib/pacemaker/cib/cib.xml"

/* It may run without being enabled: a host that was fenced stays out until somebody starts it. */
bool pacemaker_is_used(void)
{
	return unit_is_enabled("pacemaker.service") ||
	       unit_is_enabled("pacemaker_remote.service") || fact_process("pacemakerd");
}

bool pacemaker_may_have(const char *name)
{
	return pacemaker_is_used() && !unit_of_volume_is_enabled(name);
}

static bool tag_has(const char *tag, const char *attribute)
{
	const char *found = strstr(tag, attribute);

	return found && found < tag + strcspn(tag, ">");
}

/* Any of the agent: the one that a resource is made of is not looked for. */
static bool has_template(const char *text)
{
	bool has = false;

	while (!has && (text = strstr(text, "<template ")))
		has = tag_has(text++, " provider=\"istripe\"");
	return has;
}

/* Whether a resource of the agent has it as its parameter name. */
static bool agent_has(const char *text, const char *name)
{
	char *value = alloc_printf(" value=\"%s\"", name);
	const char *at = text, *pair, *end;
	bool template = has_template(text), has = false;

	while (!has && (at = strstr(at, "<primitive "))) {
		pair = at++;
		if (!tag_has(pair, " provider=\"istripe\"") &&
		    !(template && tag_has(pair, " template=\"")))
			continue;
		end = strstr(pair, "</primitive>");
		while (!has && (pair = strstr(pair + 1, "<nvpair ")) && (!end || pair < end))
			has = tag_has(pair, " name=\"name\"") && tag_has(pair, value);
	}
	free(value);
	return has;
}

bool pacemaker_has(const char *name)
{
	char *text = fact_text(place_path(CONFIGURATION));
	char *unit = unit_of_volume(name);
	char *service = alloc_printf("type=\"%s\"", unit);
	char *alone = alloc_printf("type=\"istripe@%s\"", name);
	bool has = text && (strstr(text, alone) || strstr(text, service) || agent_has(text, name));

	free(alone);
	free(service);
	free(unit);
	free(text);
	return has;
}
