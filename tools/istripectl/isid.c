// SPDX-License-Identifier: GPL-2.0
/* ISIDs that are set, as istripe_volume_params_check() of the driver compares them. */
#include <stdlib.h>
#include <string.h>

#include <istripe/settings.h>
#include "alloc.h"
#include "isid.h"
#include "known.h"

#define ISID_DIGITS		12
#define ISID_NEXUS_SHIFT	10	/* of the ISID as a number: byte 4, bit 2 */
#define MEET \
	"have the same isid at the same target, or their further sessions would"

static bool isid_read(const struct path *path, unsigned long long *isid)
{
	const char *text = settings_value(&path->settings, "isid");

	if (strlen(text) != ISID_DIGITS || strspn(text, "0123456789abcdefABCDEF") != ISID_DIGITS)
		return false;
	*isid = strtoull(text, NULL, 16);
	return true;
}

static unsigned long long connections_of(const struct path *path)
{
	long long count = atoll(known_worth(KNOWN_PATH, &path->settings, "connections"));

	return count < 1 ? 1 : count > ISTRIPE_CONNECTIONS_MAX ? ISTRIPE_CONNECTIONS_MAX : count;
}

/* A path may come to have as many sessions as connections, each with an ISID of its own. */
static bool isids_meet(const struct path *a, const struct path *b)
{
	unsigned long long isid_a, isid_b, i, j;

	if (!isid_read(a, &isid_a) || !isid_read(b, &isid_b) ||
	    strcmp(settings_value(&a->settings, "target_name"),
		   settings_value(&b->settings, "target_name")))
		return false;
	for (i = 0; i < connections_of(a); i++)
		for (j = 0; j < connections_of(b); j++)
			if ((isid_a ^ isid_b) == (i ^ j) << ISID_NEXUS_SHIFT)
				return true;
	return false;
}

static char *legs_problem(const struct leg *a, const struct leg *b)
{
	size_t i, j;

	for (i = 0; i < a->path_count; i++)
		for (j = a == b ? i + 1 : 0; j < b->path_count; j++)
			if (isids_meet(&a->paths[i], &b->paths[j]))
				return alloc_printf("leg %u path %u and leg %u path %u %s",
						    a->index, a->paths[i].index, b->index,
						    b->paths[j].index, MEET);
	return NULL;
}

char *isid_problem(const struct volume *volume)
{
	char *problem = NULL;
	size_t i, j;

	for (i = 0; !problem && i < volume->leg_count; i++)
		for (j = i; !problem && j < volume->leg_count; j++)
			problem = legs_problem(&volume->legs[i], &volume->legs[j]);
	return problem;
}
