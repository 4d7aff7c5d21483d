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

bool pacemaker_has(const char *name)
{
	char *text = fact_text(place_path(CONFIGURATION));
	char *parameter = alloc_printf("value=\"%s\"", name);
	char *unit = alloc_printf("type=\"istripe@%s\"", name);
	char *service = alloc_printf("type=\"istripe@%s.service\"", name);
	bool has = text && (strstr(text, unit) || strstr(text, service) ||
			    (strstr(text, "provider=\"istripe\"") && strstr(text, parameter)));

	free(service);
	free(unit);
	free(parameter);
	free(text);
	return has;
}
