// SPDX-License-Identifier: GPL-2.0
/* doctor: the way of a path to its portal. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "doctor.h"
#include "ethtool.h"
#include "fact.h"
#include "host_ping.h"
#include "place.h"
#include "reach.h"

#define IP_AND_ICMP_BYTES	28	/* of an IPv4 packet of ping */
#define IP6_AND_ICMP_BYTES	48
#define HEADERS_BYTES_MAX	100	/* of IP and TCP, with options */

/* Addresses of this host */

static int family_of(const char *address)
{
	return strchr(address, ':') ? AF_INET6 : AF_INET;
}

/* For free(): without what is behind the % of a link-local one. */
static char *address_alone(const char *text)
{
	return alloc_printf("%.*s", (int)strcspn(text, "%"), text);
}

/* Its entry, that of the path's NIC if several have it; NULL when this host does not. */
static const struct host_address *address_find(const struct doctor *doctor,
					       const struct doctor_path *path, const char *text)
{
	unsigned char bytes[sizeof(struct in6_addr)] = { 0 };
	const struct host_address *found = NULL;
	char *alone = address_alone(text);
	int i, count = doctor->address_count;

	if (inet_pton(family_of(text), alone, bytes) != 1)
		count = 0;
	free(alone);
	for (i = 0; i < count; i++) {
		const struct host_address *one = &doctor->addresses[i];

		if (one->family == family_of(text) && !memcmp(one->bytes, bytes, sizeof(bytes)) &&
		    (!found || !strcmp(one->nic, path->nic)))
			found = one;
	}
	return found;
}

static bool is_link_local(const struct host_address *own)
{
	return own->family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL((struct in6_addr *)own->bytes);
}

/* An entry of the interface that an address may be beside; NULL when it has none. */
static const struct host_address *address_of_nic(const struct doctor *doctor, const char *nic,
						 const char *like)
{
	bool link_local = !strncasecmp(like, "fe80:", strlen("fe80:"));
	int i;

	for (i = 0; i < doctor->address_count; i++)
		if (doctor->addresses[i].family == family_of(like) &&
		    is_link_local(&doctor->addresses[i]) == link_local &&
		    !strcmp(doctor->addresses[i].nic, nic))
			return &doctor->addresses[i];
	return NULL;
}

static char *address_add_step(const struct doctor *doctor, const struct doctor_path *path,
			      const char *source)
{
	const struct host_address *beside = address_of_nic(doctor, path->nic, source);
	const char *nic = *path->nic ? path->nic : "NIC";
	char *alone = address_alone(source), *step;

	if (beside)
		step = alloc_printf("ip addr add %s/%u dev %s", alone, beside->prefix, nic);
	else
		step = alloc_printf("ip addr add %s/PREFIX dev %s", alone, nic);
	free(alone);
	return step;
}

/* Routes */

bool doctor_nic_is_loopback(const char *nic)
{
	char *text = fact_text(place_path("/sys/class/net/%s/flags", nic));
	bool is = text && strtoul(text, NULL, 16) & IFF_LOOPBACK;

	free(text);
	return is;
}

bool doctor_nic_is_link(const char *nic)
{
	return !doctor_nic_is_loopback(nic) && !ethtool_is_dummy(nic);
}

/* The path anew, over this interface. */
static char *nic_step(const struct doctor *doctor, const struct doctor_path *path,
		      const char *nic, const char *source)
{
	char *list = alloc_printf("nic=%s,source=%s", nic, source), *step, *change;

	if (!*source)
		list[strcspn(list, ",")] = '\0';
	if (path->leg->path_count > 1) {
		step = doctor_anew_step(doctor, path, list);
	} else {
		change = alloc_printf("istripectl set %s --leg %u --path %u %s%s", doctor->volume,
				      path->leg->index, path->path->index, list,
				      *source ? "" : ",source=");
		step = doctor_down_step(doctor_volume_of(doctor), change);
	}
	free(list);
	return step;
}

/* Over one interface: over that of its source address unless it names another. */
static char *one_nic_step(const struct doctor *doctor, const struct doctor_path *path,
			  const char *owner)
{
	const char *nic = doctor_setting(path, "nic");

	return nic_step(doctor, path, *nic ? nic : owner,
			*nic ? "" : doctor_setting(path, "source_address"));
}

/* Of IPv6, in the words of ip-address(8). */
static void state_warn(struct doctor *doctor, const struct doctor_path *path,
		       const struct host_address *own)
{
	bool duplicate = own->state == HOST_ADDRESS_DUPLICATE;
	const char *word = duplicate ? "dadfailed" : "tentative";
	char text[INET6_ADDRSTRLEN];

	inet_ntop(AF_INET6, own->bytes, text, sizeof(text));
	doctor_warn(doctor, &(struct doctor_warning){
		.measured = alloc_printf("source address %s of %s is %s", text, own->nic,
					 duplicate ? "a duplicate address" : word),
		.wanted = alloc_text("an address that no other host has"),
		.next = duplicate ?
			alloc_printf("ip addr del %s/%u dev %s # and give it another one", text,
				     own->prefix, own->nic) :
			alloc_printf("sleep 3; ip -6 addr show dev %s %s", own->nic, word),
	},
	"%s: %s cannot connect", duplicate ? "another host of the link has it" :
	"the kernel still asks whether another host has it", path->nic);
}

/* Without source_address: the one that the kernel would take, if only it could. */
static const struct host_address *unusable_find(const struct doctor *doctor,
						const struct doctor_path *path)
{
	const struct host_address *found = NULL;
	int i;

	for (i = 0; i < doctor->address_count; i++) {
		const struct host_address *own = &doctor->addresses[i];

		if (strcmp(own->nic, path->nic) || !host_address_is_beside(own, path->address))
			continue;
		if (own->state == HOST_ADDRESS_USABLE)
			return NULL;
		found = own;
	}
	return found;
}

static void source_check(struct doctor *doctor, const struct doctor_path *path, const char *source)
{
	const struct host_address *found = address_find(doctor, path, source);

	if (doctor->address_count < 0)
		doctor_unread(doctor, "the addresses of this host", doctor->address_count);
	else if (!found)
		doctor_warn(doctor, &(struct doctor_warning){
			.measured = alloc_printf("no NIC has the source address %s", source),
			.wanted = alloc_text("a source address of this host"),
			.next = address_add_step(doctor, path, source),
		},
		"the path cannot connect");
	else if (found->state != HOST_ADDRESS_USABLE)
		state_warn(doctor, path, found);
	else if (!strcmp(found->nic, path->nic) ||
		 !strcmp(found->nic, doctor_setting(path, "nic")) ||
		 (!*doctor_setting(path, "nic") && !doctor_nic_is_link(found->nic)))
		doctor_pass(doctor);
	else
		doctor_warn(doctor, &(struct doctor_warning){
			.measured = alloc_printf("leaves by %s, source address %s is of %s",
						 path->nic, source, found->nic),
			.wanted = alloc_text("one interface for both"),
			.next = one_nic_step(doctor, path, found->nic),
		},
		"the path does not use the link that it seems to use: ip route get %s from %s",
		path->address, source);
}

static bool nic_is_down(const char *nic)
{
	long long carrier;

	return *nic && fact_is_dir(place_path("/sys/class/net/%s", nic)) &&
	       !fact_number(place_path("/sys/class/net/%s/carrier", nic), &carrier);
}

/* Most often the first of these that applies. */
static char *route_step(const struct doctor *doctor, const struct doctor_path *path)
{
	const char *nic = path->nic, *source = doctor_setting(path, "source_address");

	if (path->route_error == -ENODEV)
		return alloc_text("ip link");
	if (path->route_error == -EACCES || path->route_error == -EINVAL)
		return alloc_printf("ip route get %s%s%s%s%s; ip%s route show table all match %s",
				    path->address, *nic ? " oif " : "", nic,
				    *source ? " from " : "", source,
				    family_of(path->address) == AF_INET6 ? " -6" : "",
				    path->address);
	if (nic_is_down(nic))
		return alloc_printf("ip link set dev %s up", nic);
	if (*nic && doctor->address_count >= 0 &&
	    !address_of_nic(doctor, nic, path->address))
		return alloc_printf("ip addr add %s/PREFIX dev %s", *source ? source : "ADDRESS",
				    nic);
	if (path->borrows)
		return alloc_printf("ip addr show dev %s; then set the path's source_address", nic);
	return alloc_printf("ip route add %s via GATEWAY%s%s", path->address, *nic ? " dev " : "",
			    nic);
}

static void route_warn(struct doctor *doctor, const struct doctor_path *path, const char *measured,
		       const char *why)
{
	const char *source = doctor_setting(path, "source_address");

	doctor_warn(doctor, &(struct doctor_warning){
		.measured = alloc_printf("no route: %s", measured),
		.wanted = alloc_printf("a route to %s%s%s%s%s", path->address,
				       *path->nic ? " by " : "", path->nic,
				       *source ? " from " : "", source),
		.next = route_step(doctor, path),
	},
	"%s", why);
}

/* IPv4 has no route then, either. */
static void borrow_warn(struct doctor *doctor, const struct doctor_path *path)
{
	bool has = address_of_nic(doctor, path->nic, path->address);
	const char *why = has ?
		"that of another NIC is not used; an address of this one may be deprecated" :
		"the NIC has no address, and that of another NIC is not used";

	if (path->route.assumed)
		route_warn(doctor, path, "the NIC has none that leads there", why);
	else
		doctor_warn(doctor, &(struct doctor_warning){
			.measured = alloc_printf("source address %s is of another NIC",
						 path->route.source),
			.wanted = alloc_printf("an address of %s", path->nic),
			.next = route_step(doctor, path),
		},
		"%s", why);
}

/* An address of its own link needs no route. */
static bool is_answered(const struct doctor_path *path)
{
	return path->session || path->reaches_bytes || (path->tried && !path->connect_error);
}

/* One that is answered may be: a bridge can leave packets to its ports. */
static bool is_taken(const struct doctor_path *path)
{
	return path->taker && !is_answered(path);
}

static void taker_warn(struct doctor *doctor, const struct doctor_path *path)
{
	doctor_warn(doctor, &(struct doctor_warning){
		.measured = alloc_printf("%s is a port of %s", path->nic, path->taker),
		.wanted = alloc_printf("a path over %s", path->taker),
		.next = nic_step(doctor, path, path->taker,
				 doctor_setting(path, "source_address")),
	},
	"what the port receives goes to %s, and the path hears nothing", path->taker);
}

void doctor_route(struct doctor *doctor, const struct doctor_path *path)
{
	const char *source = doctor_setting(path, "source_address");
	const struct host_address *unusable = NULL;
	int error = path->route_error;

	if (!error && !*source && !is_answered(path))
		unusable = unusable_find(doctor, path);
	if (is_taken(path))
		taker_warn(doctor, path);
	else if (error && *source && doctor->address_count >= 0 &&
		 !address_find(doctor, path, source))
		source_check(doctor, path, source);
	else if (error == -ENETUNREACH || error == -EHOSTUNREACH || error == -ENODEV ||
		 error == -EACCES || (error == -EINVAL && *path->address))
		route_warn(doctor, path, strerror(-error), "the path cannot connect");
	else if (error)
		doctor_unread(doctor, "the route", error);
	else if (unusable)
		state_warn(doctor, path, unusable);
	else if (path->borrows && !is_answered(path))
		borrow_warn(doctor, path);
	else if (path->route.assumed && !is_answered(path))
		route_warn(doctor, path, "the NIC has none that leads there",
			   "the kernel looks for the portal on the link itself, and finds nobody");
	else if (*source)
		source_check(doctor, path, source);
	else
		doctor_pass(doctor);
}

/* Portals */

/* A firewall says so with ICMP, which IPv6 makes EACCES. */
static bool is_rejected(const struct doctor_path *path)
{
	return path->reaches_bytes && (path->connect_error == -EHOSTUNREACH ||
				       path->connect_error == -ENETUNREACH ||
				       path->connect_error == -EACCES);
}

static const char *silence_why(const struct doctor_path *path)
{
	if (path->rejected)
		return "a firewall rejects the connection";
	if (path->connect_error == -ECONNREFUSED)
		return "the host is there, but the target does not run, or has another port";
	if (path->connect_error == -EADDRNOTAVAIL)
		return "this host has no address that it can connect from";
	if (is_rejected(path))
		return "the host answers pings: a firewall rejects the connection";
	if (path->connect_error == -EHOSTUNREACH)
		return "nobody in that network has the address, or the target is off";
	return path->reaches_bytes ? "the host answers pings: a firewall drops the connection" :
	       "the target is off, or packets are dropped on the way";
}

static char *silence_step(const struct doctor_path *path)
{
	const char *dev = *path->nic ? " dev " : "", *by = *path->nic ? " -I " : "";

	if (path->connect_error == -ECONNREFUSED && !path->rejected)
		return alloc_printf("at the target: start it; Linux: ss -ltn src %s",
				    path->address);
	if (path->connect_error == -EADDRNOTAVAIL)
		return alloc_printf("ip addr show%s%s", dev, path->nic);
	if (path->connect_error == -EHOSTUNREACH && !path->reaches_bytes)
		return alloc_printf("ip neigh show %s%s%s", path->address, dev, path->nic);
	if (path->reaches_bytes || path->rejected)
		return alloc_text("nft list ruleset; then the firewall of the target");
	return alloc_printf("ping -c 3%s%s %s", by, path->nic, path->address);
}

void doctor_portal(struct doctor *doctor, const struct doctor_path *path)
{
	if (path->session || (path->tried && !path->connect_error))
		doctor_pass(doctor);
	else if (is_taken(path))
		doctor_skip(doctor, "what its NIC receives goes to %s", path->taker);
	else if (!path->tried)
		doctor_skip(doctor, path->borrows ? "its NIC has no address to come from" :
						    "there is no route to it");
	else if (reach_untried(path->connect_error))
		doctor_skip(doctor, "it cannot be tried: %s", strerror(-path->connect_error));
	else
		doctor_warn(doctor, &(struct doctor_warning){
			.measured = alloc_printf("%s: %s", doctor_setting(path, "portal"),
						 strerror(-path->connect_error)),
			.wanted = alloc_text("a connection"), .next = silence_step(path),
		},
		"%s", silence_why(path));
}

/* MTU */

/* Whether TCP sends packets of nearly @mtu bytes, and loses none: then only pings are filtered. */
static bool tcp_reaches(const struct doctor_path *path, long long mtu)
{
	const struct host_tcp *tcp = &path->tcp;

	return path->measured && tcp->segment_bytes + HEADERS_BYTES_MAX >= mtu &&
	       doctor_tcp_is_judged(tcp) && !doctor_tcp_loses(tcp);
}

/* The smallest packets tell that the limit is below all usual MTUs, but not where. */
static char *mtu_step(const struct doctor *doctor, const struct doctor_path *path, long long mtu,
		      long long least)
{
	int headers = family_of(path->address) == AF_INET6 ? IP6_AND_ICMP_BYTES :
		      IP_AND_ICMP_BYTES;
	char *ping = alloc_printf("ping -M do -c 3 -s %lld -I %s %s", mtu - headers, path->nic,
				  path->address), *step;

	if (least <= HOST_PING_BYTES_MIN || doctor_link_is_needed(doctor, path->nic))
		return ping;
	step = alloc_printf("ip link set dev %s mtu %lld" DOCTOR_LINK_DOWN
			    "; or raise it on the way, and see: %s",
			    path->nic, least, ping);
	free(ping);
	return step;
}

void doctor_path_mtu(struct doctor *doctor, const struct doctor_path *path)
{
	long long mtu, least = path->route_error ? 0 : path->route.mtu;
	bool silent;

	if (path->tcp.path_mtu && (!least || path->tcp.path_mtu < least))
		least = path->tcp.path_mtu;
	if (!doctor_nic_number(path->nic, "mtu", &mtu)) {
		doctor_unread(doctor, "the MTU of the NIC", 0);
		return;
	}
	silent = path->reaches_bytes && (!least || path->reaches_bytes < least) &&
		 !tcp_reaches(path, mtu);
	if (silent)
		least = path->reaches_bytes;
	if (!least)
		doctor_skip(doctor, "the MTU of the path is not known");
	else if (least >= mtu)
		doctor_pass(doctor);
	else
		doctor_warn(doctor, &(struct doctor_warning){
			.measured = alloc_printf("%lld", least),
			.wanted = alloc_printf("%lld", mtu),
			.next = mtu_step(doctor, path, mtu, least),
		},
		"%s",
		silent ? "larger packets are lost on the way without a message: I/O may hang" :
		"a route or a hop on the way takes less than the NIC sends");
}
