// SPDX-License-Identifier: GPL-2.0
/* Portals: the module takes addresses only, names are for people. So are names of interfaces. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <net/if.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "alloc.h"
#include "portal.h"

#define ADDRESS_BYTES	INET6_ADDRSTRLEN

struct split {
	char *host;		/* without brackets */
	const char *port;	/* NULL: none was said */
};

/* An address of IPv6 without brackets has no port. */
static void split_open(struct split *split, const char *portal)
{
	char *host = alloc_text(portal), *bracket = strchr(host, ']'), *colon = strchr(host, ':');

	split->host = host;
	split->port = NULL;
	if (*host == '[' && bracket) {
		*bracket = '\0';
		memmove(host, host + 1, bracket - host);
		if (bracket[1] == ':')
			split->port = bracket + 2;
	} else if (colon && !strchr(colon + 1, ':')) {
		*colon = '\0';
		split->port = colon + 1;
	}
}

/* As the module reads it: four numbers, which may begin with 0. */
static bool address4_take(const char *text, struct in6_addr *address)
{
	unsigned int part[4], i;
	char rest;

	if (strspn(text, ".0123456789") != strlen(text) ||
	    sscanf(text, "%u.%u.%u.%u%c", &part[0], &part[1], &part[2], &part[3], &rest) != 4)
		return false;
	memset(address, 0, sizeof(*address));
	for (i = 0; i < 4; i++) {
		if (part[i] > 255)
			return false;
		address->s6_addr[i] = part[i];
	}
	return true;
}

/* The name of an interface, or else its number; 0 when it is neither. */
static unsigned int scope_take(const char *text)
{
	unsigned int nic = if_nametoindex(text);
	char *end;

	if (nic || !isdigit((unsigned char)*text))
		return nic;
	nic = strtoul(text, &end, 0);
	return *end ? 0 : nic;
}

static bool address6_take(const char *text, struct sockaddr_in6 *address)
{
	size_t bytes = strcspn(text, "%");
	char *copy = alloc_printf("%.*s", (int)bytes, text);
	bool usable = inet_pton(AF_INET6, copy, &address->sin6_addr) == 1;

	address->sin6_scope_id = text[bytes] ? scope_take(text + bytes + 1) : 0;
	free(copy);
	return usable && (!text[bytes] || address->sin6_scope_id);
}

bool address_equal(const char *a, const char *b)
{
	struct sockaddr_in6 one = { 0 }, other = { 0 };

	if ((address4_take(a, &one.sin6_addr) && address4_take(b, &other.sin6_addr)) ||
	    (address6_take(a, &one) && address6_take(b, &other)))
		return one.sin6_scope_id == other.sin6_scope_id &&
		       !memcmp(&one.sin6_addr, &other.sin6_addr, sizeof(one.sin6_addr));
	return !strcasecmp(a, b);
}

/* As the module reads it. */
static bool port_equal(const char *a, const char *b)
{
	char *rest, *other_rest;

	return strtoul(a, &rest, 10) == strtoul(b, &other_rest, 10) && !*rest && !*other_rest;
}

bool portal_equal(const char *a, const char *b)
{
	struct split one, other;
	bool equal;

	split_open(&one, a);
	split_open(&other, b);
	equal = address_equal(one.host, other.host) &&
		port_equal(one.port ? one.port : PORTAL_PORT,
			   other.port ? other.port : PORTAL_PORT);
	free(one.host);
	free(other.host);
	return equal;
}

char *portal_name_nic(const char *address)
{
	const char *scope = strchr(address, '%');
	char nic[IF_NAMESIZE], *end;
	unsigned int number;

	if (!scope || !isdigit((unsigned char)scope[1]))
		return alloc_text(address);
	number = strtoul(scope + 1, &end, 10);
	if ((*end && *end != ']') || !if_indextoname(number, nic))
		return alloc_text(address);
	return alloc_printf("%.*s%s%s", (int)(scope + 1 - address), address, nic, end);
}

/* Names */

/* An address that is mistyped is for the module to refuse, and no name to ask the network for. */
static bool is_name(const char *host)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

	return strpbrk(host, letters) && !strpbrk(host, ":%/");
}

/*
 * Each address once: getaddrinfo() may name one several times. A link-local one is of use with its
 * interface only, which a name does not tell.
 */
static size_t addresses_take(const struct addrinfo *found, char (*addresses)[ADDRESS_BYTES],
			     size_t max)
{
	size_t count = 0, i;

	for (; found && count < max; found = found->ai_next) {
		const struct sockaddr_in *four = (const void *)found->ai_addr;
		const struct sockaddr_in6 *six = (const void *)found->ai_addr;
		bool is_four = found->ai_family == AF_INET;

		if ((!is_four && (found->ai_family != AF_INET6 ||
				  IN6_IS_ADDR_LINKLOCAL(&six->sin6_addr))) ||
		    !inet_ntop(found->ai_family, is_four ? (const void *)&four->sin_addr :
			       (const void *)&six->sin6_addr, addresses[count], ADDRESS_BYTES))
			continue;
		for (i = 0; strcmp(addresses[i], addresses[count]); i++)
			;
		count += i == count;
	}
	return count;
}

#define ADDRESSES_MAX	16

struct addresses {
	char items[ADDRESSES_MAX][ADDRESS_BYTES];
	size_t count;
};

/* @source: the path's source address, or empty; its portal has an address of the same kind. */
static int name_look_up(const char *name, const char *source, struct addresses *addresses,
			struct fault *fault)
{
	const struct addrinfo hints = {
		.ai_socktype = SOCK_STREAM,
		.ai_family = !*source ? AF_UNSPEC : strchr(source, ':') ? AF_INET6 : AF_INET,
	};
	struct addrinfo *found = NULL;
	int ret = getaddrinfo(name, NULL, &hints, &found);

	if (ret)
		return fault_set(fault, -EAGAIN,
				 "portal: the host name %s is not known: %s\nnext: give an address",
				 name, gai_strerror(ret));
	addresses->count = addresses_take(found, addresses->items, ADDRESSES_MAX);
	freeaddrinfo(found);
	if (!addresses->count)
		return fault_set(fault, -EAGAIN,
				 "portal: the host name %s is not known: its addresses are link-local\nnext: give an address",
				 name);
	return 0;
}

/* @port: or NULL. For free(). */
static char *portal_text(const char *address, const char *port)
{
	bool six = strchr(address, ':');

	return alloc_printf("%s%s%s%s%s", six ? "[" : "", address, six ? "]" : "",
			    port ? ":" : "", port ? port : "");
}

char *portal_of_folder(const char *folder)
{
	int bytes = strcspn(folder, ",");
	char *address = alloc_printf("%.*s", bytes, folder), *port, *portal;

	folder += bytes + (folder[bytes] == ',');
	port = alloc_printf("%.*s", (int)strcspn(folder, ","), folder);
	portal = portal_text(address, *port ? port : PORTAL_PORT);
	free(port);
	free(address);
	return portal;
}

static int several_refuse(const char *name, const struct addresses *addresses,
			  struct fault *fault)
{
	size_t i;

	fault_set(fault, -EINVAL, "portal: the host name %s has %zu addresses, and a path has one:",
		  name, addresses->count);
	for (i = 0; i < addresses->count; i++)
		fault_add(fault, "%s", addresses->items[i]);
	fault_add(fault, "next: give one of them, and others as further paths");
	return -EINVAL;
}

/*
 * Sets @portal, for free(), to that of the address that leads to @wanted, or else of the first one.
 * @taken: of several, NULL: they are refused.
 */
static int address_choose(const struct split *name, const struct addresses *addresses,
			  const char *wanted, char **portal, struct fault *taken,
			  struct fault *fault)
{
	size_t i;

	for (i = 0; *wanted && i < addresses->count; i++) {
		*portal = portal_text(addresses->items[i], name->port);
		if (portal_equal(*portal, wanted))
			return 0;
		free(*portal);
	}
	if (addresses->count > 1 && !taken)
		return several_refuse(name->host, addresses, fault);
	if (addresses->count > 1)
		fault_set(taken, 0, "portal: the host name %s has %zu addresses: %s is taken",
			  name->host, addresses->count, addresses->items[0]);
	*portal = portal_text(addresses->items[0], name->port);
	return 0;
}

/*
 * The module refuses a link-local address while its interface is not there. At boot that may be a
 * matter of seconds.
 */
static int scope_check(const char *name, const char *address, struct fault *fault)
{
	const char *nic = strchr(address, '%');

	if (!nic || !nic[1 + strspn(nic + 1, "0123456789")] || if_nametoindex(nic + 1))
		return 0;
	return fault_set(fault, -EAGAIN, "%s: there is no interface %s\nnext: ip -br link", name,
			 nic + 1);
}

static int addresses_check(const char *portal, const struct settings *settings,
			   struct fault *fault)
{
	int ret = scope_check("portal", portal, fault);

	if (ret)
		return ret;
	return scope_check("source_address", settings_value(settings, "source_address"), fault);
}

/* Whether a host name, as a file has it, is that of a portal. */
static bool name_is_of(const char *name, const char *portal)
{
	struct settings settings = { 0 };
	struct fault ignored;
	struct split split;
	bool found = false;

	split_open(&split, name);
	if (is_name(split.host)) {
		settings_put(&settings, "portal", name);
		found = !portal_resolve_to(&settings, portal, &ignored, &ignored) &&
			portal_equal(settings_value(&settings, "portal"), portal);
	}
	settings_free(&settings);
	free(split.host);
	return found;
}

/* For free(): without what is behind the % of a link-local address. */
static char *scope_leave(const char *address)
{
	const char *scope = strchr(address, '%'), *end = scope ? strchr(scope, ']') : NULL;

	return alloc_printf("%.*s%s", (int)strcspn(address, "%"), address, end ? end : "");
}

/* No interface has the number any more. NULL: its name is not known, and the file has another. */
static char *scope_keep(const char *address, const char *before, const char *nic)
{
	char *one = scope_leave(address), *other = scope_leave(before), *text = NULL;
	const char *scope = strchr(before, '%'), *end = strchr(address, ']');

	if (scope && !isdigit((unsigned char)scope[1]) && portal_equal(one, other))
		text = alloc_text(before);
	else if (*nic)
		text = alloc_printf("%.*s%%%s%s", (int)strcspn(address, "%"), address, nic,
				    end ? end : "");
	else if (portal_equal(address, before))
		text = alloc_text(address);
	free(other);
	free(one);
	return text;
}

char *portal_keep(const char *address, const char *before, const char *nic)
{
	char *named = portal_name_nic(address), *kept;
	const char *scope = strchr(named, '%');
	size_t digits = scope ? strspn(scope + 1, "0123456789") : 0;

	if (digits && (!scope[1 + digits] || scope[1 + digits] == ']'))
		kept = scope_keep(named, before, nic);
	else
		kept = alloc_text(name_is_of(before, named) ? before : named);
	free(named);
	return kept;
}

/* The driver has the number in the address: it finds one that was made anew by nic only. */
static void nic_put(struct settings *settings, const char *name)
{
	const char *scope = strchr(settings_value(settings, name), '%');
	char nic[IF_NAMESIZE], *text;

	if (!scope || *settings_value(settings, "nic"))
		return;
	text = alloc_printf("%.*s", (int)strcspn(scope + 1, "]"), scope + 1);
	if (if_indextoname(scope_take(text), nic))
		settings_put(settings, "nic", nic);
	free(text);
}

int portal_resolve_to(struct settings *settings, const char *wanted, struct fault *taken,
		      struct fault *fault)
{
	struct addresses addresses;
	struct split split;
	char *portal;
	int ret;

	split_open(&split, settings_value(settings, "portal"));
	ret = addresses_check(split.host, settings, fault);
	if (!ret && is_name(split.host)) {
		ret = name_look_up(split.host, settings_value(settings, "source_address"),
				   &addresses, fault);
		if (!ret)
			ret = address_choose(&split, &addresses, wanted, &portal, taken, fault);
		if (!ret) {
			settings_put(settings, "portal", portal);
			free(portal);
		}
	}
	free(split.host);
	if (!ret) {
		nic_put(settings, "portal");
		nic_put(settings, "source_address");
	}
	return ret;
}

int portal_resolve_first(struct settings *settings, struct fault *taken, struct fault *fault)
{
	return portal_resolve_to(settings, "", taken, fault);
}

int portal_resolve(struct settings *settings, struct fault *fault)
{
	return portal_resolve_first(settings, NULL, fault);
}

/* Empty when there is no such path. */
static const char *portal_now(const struct volume *now, unsigned int leg, unsigned int path)
{
	const struct leg *its = now ? volume_find_leg(now, leg) : NULL;
	const struct path *own = its ? leg_find_path(its, path) : NULL;

	return own ? settings_value(&own->settings, "portal") : "";
}

int portal_resolve_all(struct volume *volume, const struct volume *now, struct fault *taken,
		       struct fault *fault)
{
	size_t i, j;
	int ret = 0;

	for (i = 0; !ret && i < volume->leg_count; i++) {
		const struct leg *leg = &volume->legs[i];

		for (j = 0; !ret && j < leg->path_count; j++)
			ret = portal_resolve_to(&leg->paths[j].settings,
						portal_now(now, leg->index, leg->paths[j].index),
						taken, fault);
	}
	return ret;
}
