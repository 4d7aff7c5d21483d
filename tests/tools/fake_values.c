// SPDX-License-Identifier: GPL-2.0
/*
 * Values as the module shows them: it keeps numbers, addresses and masks, not the text that was
 * written (drivers/istripe/control). A value that it would refuse is left as it is.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <ctype.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <istripe/settings.h>
#include "fake_values.h"

#define SHOW_number		number_show
#define SHOW_buffer		number_show
#define SHOW_chunk		number_show
#define SHOW_portal		portal_show
#define SHOW_address		address_show
#define SHOW_isid		isid_show
#define SHOW_algorithms		algorithms_show
#define SHOW_choice		NULL
#define SHOW_key		NULL
#define SHOW_key_max		NULL
#define SHOW_text		NULL
#define SHOW_iscsi_name		NULL
#define SHOW_nic		NULL
#define SHOW_chap_secret	NULL
#define SHOW_congestion_control	NULL

static char *number_show(const char *value)
{
	char text[32], *end;
	long long number = strtoll(value, &end, 10);

	if (!*value || *end)
		return NULL;
	snprintf(text, sizeof(text), "%lld", number);
	return strdup(text);
}

static char *isid_show(const char *value)
{
	char *text = strdup(value), *at;

	for (at = text; *at; at++)
		*at = tolower((unsigned char)*at);
	return text;
}

static char *algorithms_show(const char *value)
{
	static const char *const names[] = { "SHA3-256", "SHA256", "SHA1", "MD5" };
	char list[64], text[64] = "", word[16];
	size_t i;

	snprintf(list, sizeof(list), ",%s,", value);
	for (i = 0; i < sizeof(names) / sizeof(*names); i++) {
		snprintf(word, sizeof(word), ",%s,", names[i]);
		if (!strstr(list, word))
			continue;
		if (*text)
			strcat(text, ",");
		strcat(text, names[i]);
	}
	return strdup(text);
}

/* A name of an interface, else a number, as dev_get_by_name() and kstrtouint() have it. */
static char *address6_show(const char *host, const char *scope)
{
	char text[INET6_ADDRSTRLEN + sizeof("%4294967295")];
	struct in6_addr six;
	size_t used;

	if (inet_pton(AF_INET6, host, &six) != 1)
		return NULL;
	inet_ntop(AF_INET6, &six, text, sizeof(text));
	used = strlen(text);
	if (scope)
		snprintf(text + used, sizeof(text) - used, "%%%u", if_nametoindex(scope) ?
			 if_nametoindex(scope) : (unsigned int)strtoul(scope, NULL, 0));
	return strdup(text);
}

static char *address_show(const char *value)
{
	char *host = strdup(value), *scope = strchr(host, '%'), *text = NULL;
	unsigned int a, b, c, d;
	char rest;

	if (scope)
		*scope++ = '\0';
	if (strchr(host, ':'))
		text = address6_show(host, scope);
	else if (sscanf(host, "%3u.%3u.%3u.%3u%c", &a, &b, &c, &d, &rest) == 4 &&
		 a < 256 && b < 256 && c < 256 && d < 256 &&
		 asprintf(&text, "%u.%u.%u.%u", a, b, c, d) < 0)
		abort();
	free(host);
	return text;
}

static char *portal_show(const char *value)
{
	char *host = strdup(value), *bracket = strchr(host, ']'), *colon = strchr(host, ':');
	const char *port = "3260";
	char *address, *number, *text = NULL;
	bool six;

	if (bracket) {
		*bracket = '\0';
		port = bracket[1] ? bracket + 2 : port;
	} else if (colon && colon == strrchr(host, ':')) {
		*colon = '\0';
		port = colon + 1;
	}
	address = address_show(host + (*host == '['));
	number = number_show(port);
	six = address && strchr(address, ':');
	if (address && number && asprintf(&text, "%s%s%s:%s", six ? "[" : "", address,
					  six ? "]" : "", number) < 0)
		abort();
	free(number);
	free(address);
	free(host);
	return text;
}

#define SHOW_OF_ROW(_name, _file, _apply, _default, _kind, ...)	{ #_name, SHOW_##_kind },

char *value_read_back(const char *name, const char *value)
{
	static const struct {
		const char *name;
		char *(*show)(const char *value);
	} rows[] = {
		ISTRIPE_VOLUME_SETTINGS(SHOW_OF_ROW)
		ISTRIPE_LEG_SETTINGS(SHOW_OF_ROW)
		ISTRIPE_PATH_SETTINGS(SHOW_OF_ROW)
	};
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (!strcmp(rows[i].name, name))
			return rows[i].show ? rows[i].show(value) : NULL;
	return NULL;
}
