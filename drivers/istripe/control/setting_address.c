// SPDX-License-Identifier: GPL-2.0
/*
 * Settings that are addresses.
 */
#include <linux/errno.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/inet.h>
#include <linux/kernel.h>
#include <linux/nsproxy.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <net/ipv6.h>
#include <scsi/iscsi_proto.h>

#include "control/setting.h"

static bool address4_usable(const struct sockaddr_in *sin)
{
	return !ipv4_is_zeronet(sin->sin_addr.s_addr) &&
	       !ipv4_is_multicast(sin->sin_addr.s_addr) &&
	       !ipv4_is_lbcast(sin->sin_addr.s_addr);
}

/* A scope only counts where it is needed, and there it is needed. */
static bool address6_usable(const struct sockaddr_in6 *sin6, bool scope_given)
{
	bool link_local = ipv6_addr_type(&sin6->sin6_addr) & IPV6_ADDR_LINKLOCAL;

	if (ipv6_addr_any(&sin6->sin6_addr) || ipv6_addr_is_multicast(&sin6->sin6_addr))
		return false;
	return link_local == scope_given && link_local == !!sin6->sin6_scope_id;
}

/* Interface names in a scope are those of the writer's network namespace. */
static int address_read(const char *text, u16 port, struct sockaddr_storage *address)
{
	struct sockaddr_storage given = {};
	struct sockaddr_in6 *sin6 = (struct sockaddr_in6 *)&given;
	struct sockaddr_in *sin = (struct sockaddr_in *)&given;

	if (inet_pton_with_scope(current->nsproxy->net_ns, AF_UNSPEC, text, NULL, &given))
		return -EINVAL;
	if (given.ss_family == AF_INET6) {
		if (!address6_usable(sin6, strchr(text, '%')))
			return -EINVAL;
		sin6->sin6_port = htons(port);
	} else {
		/* The kernel's parser takes a colon for the end of the address. */
		if (!address4_usable(sin) || strchr(text, ':'))
			return -EINVAL;
		sin->sin_port = htons(port);
	}
	*address = given;
	return 0;
}

/*
 * Cuts @text in two. The last colon starts the port, but in an IPv6 address
 * without brackets, which therefore cannot be followed by one.
 */
static int portal_split(char *text, char **host, char **port)
{
	char *colon;

	*host = text;
	*port = NULL;
	if (*text == '[') {
		char *end = strchr(text, ']');

		if (!end || (end[1] && end[1] != ':'))
			return -EINVAL;
		*host = text + 1;
		if (end[1])
			*port = end + 2;
		*end = '\0';
		return strchr(*host, ':') ? 0 : -EINVAL;
	}
	colon = strchr(text, ':');
	if (colon && colon == strrchr(text, ':')) {
		*colon = '\0';
		*port = colon + 1;
	}
	return 0;
}

static int portal_parse(const struct istripe_setting *setting, const char *text, void *value)
{
	char copy[ISTRIPE_SETTING_TEXT_BYTES], *host, *port_text;
	struct sockaddr_storage *portal = value;
	u16 port = ISCSI_LISTEN_PORT;

	if (!*text) {
		memset(portal, 0, sizeof(*portal));
		return 0;
	}
	strscpy(copy, text, sizeof(copy));
	if (portal_split(copy, &host, &port_text))
		return -EINVAL;
	if (port_text && (kstrtou16(port_text, 10, &port) || !port))
		return -EINVAL;
	return address_read(host, port, portal);
}

/* %pIS would put the scope behind the port. */
static bool address_scoped(const struct sockaddr_in6 *sin6)
{
	return sin6->sin6_family == AF_INET6 && sin6->sin6_scope_id;
}

static int portal_format(const struct istripe_setting *setting, const void *value,
			 char *buf, size_t size)
{
	const struct sockaddr_in6 *sin6 = value;

	if (address_scoped(sin6))
		return scnprintf(buf, size, "[%pI6c%%%u]:%u", &sin6->sin6_addr,
				 sin6->sin6_scope_id, ntohs(sin6->sin6_port));
	if (sin6->sin6_family == AF_UNSPEC)
		return scnprintf(buf, size, "%s", "");
	return scnprintf(buf, size, "%pISpc", sin6);
}

const struct istripe_setting_kind istripe_setting_portal = {
	.parse = portal_parse,
	.format = portal_format,
	.range = "address, address:port or [IPv6 address]:port, a link-local one with %%interface",
};

static int address_parse(const struct istripe_setting *setting, const char *text, void *value)
{
	if (*text)
		return address_read(text, 0, value);
	memset(value, 0, setting->size);
	return 0;
}

static int address_format(const struct istripe_setting *setting, const void *value,
			  char *buf, size_t size)
{
	const struct sockaddr_in6 *sin6 = value;

	if (address_scoped(sin6))
		return scnprintf(buf, size, "%pI6c%%%u", &sin6->sin6_addr, sin6->sin6_scope_id);
	if (sin6->sin6_family == AF_UNSPEC)
		return scnprintf(buf, size, "%s", "");
	return scnprintf(buf, size, "%pISc", sin6);
}

const struct istripe_setting_kind istripe_setting_address = {
	.parse = address_parse,
	.format = address_format,
	.range = "an IPv4 or IPv6 address, a link-local one with %%interface, or nothing for any",
};
