// SPDX-License-Identifier: GPL-2.0
/*
 * Host names of the tests' own: linked into istripectl-test in the place of getaddrinfo().
 * Names are those of the file $ISTRIPECTL_ROOT/etc/hosts, of which each line is "ADDRESS NAME".
 *
 *	FAKE_NAMES_TIMES=n		the first n look-ups fail, as long as no name server answers
 */
#include <netdb.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_configfs.h"
#include "fake_resolver.h"

static int address_append(const char *address, const struct addrinfo *hints,
			  struct addrinfo **result)
{
	bool six = strchr(address, ':');
	struct addrinfo numeric = *hints;

	if (hints->ai_family != AF_UNSPEC && hints->ai_family != (six ? AF_INET6 : AF_INET))
		return 0;
	while (*result)
		result = &(*result)->ai_next;
	numeric.ai_flags = AI_NUMERICHOST;
	return __real_getaddrinfo(address, NULL, &numeric, result);
}

int __wrap_getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
		       struct addrinfo **result)
{
	const char *times = getenv("FAKE_NAMES_TIMES");
	char path[4096], line[256], address[64], name[128];
	int ret = 0;
	FILE *file;

	*result = NULL;
	/* Addresses are nobody's but the real one's. */
	if (hints->ai_flags & AI_NUMERICHOST)
		return __real_getaddrinfo(node, service, hints, result);
	if (service)
		abort();
	if (times && times_count("look-ups") < atoi(times))
		return EAI_AGAIN;
	snprintf(path, sizeof(path), "%s/etc/hosts", getenv("ISTRIPECTL_ROOT"));
	file = fopen(path, "r");
	while (file && !ret && fgets(line, sizeof(line), file))
		if (sscanf(line, "%63s %127s", address, name) == 2 && !strcmp(name, node))
			ret = address_append(address, hints, result);
	if (file)
		fclose(file);
	return ret || *result ? ret : EAI_NONAME;
}
