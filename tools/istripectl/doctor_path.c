// SPDX-License-Identifier: GPL-2.0
/* doctor: routes, and what the paths of a leg have in common. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "doctor.h"
#include "fact.h"
#include "place.h"
#include "tree.h"

#define IP_AND_ICMP_BYTES	28	/* of an IPv4 packet of ping */
#define IP6_AND_ICMP_BYTES	48
#define HEADERS_BYTES_MAX	100	/* of IP and TCP, with options */
#define SENT_ENOUGH		10000	/* segments, to judge by */
#define PER_SENT_AGAIN		1000

/* Routes */

/* The interface that has an address; empty when there is none. */
static const char *address_nic(const struct doctor *doctor, const char *text)
{
	unsigned char bytes[sizeof(struct in6_addr)] = { 0 };
	int i, family = strchr(text, ':') ? AF_INET6 : AF_INET;

	if (inet_pton(family, text, bytes) != 1)
		return "";
	for (i = 0; i < doctor->address_count; i++)
		if (doctor->addresses[i].family == family &&
		    !memcmp(doctor->addresses[i].bytes, bytes, sizeof(bytes)))
			return doctor->addresses[i].nic;
	return "";
}

static void source_check(struct doctor *doctor, const struct doctor_path *path, const char *source)
{
	const char *owner = address_nic(doctor, source);

	if (doctor->address_count < 0)
		doctor_unread(doctor, "the addresses of this host", doctor->address_count);
	else if (!strcmp(owner, path->nic))
		doctor_pass(doctor);
	else
		doctor_warn(doctor, &(struct doctor_warning){
			.measured = alloc_printf("leaves by %s, source address %s is of %s",
						 path->nic, source, *owner ? owner : "no NIC"),
			.wanted = alloc_text("one interface for both"),
			.next = alloc_printf("ip route get %s from %s", path->address, source),
		},
		"the path does not use the link that it seems to use");
}

void doctor_route(struct doctor *doctor, const struct doctor_path *path)
{
	const char *source = doctor_setting(path, "source_address");

	if (path->route_error == -ENETUNREACH || path->route_error == -EHOSTUNREACH ||
	    path->route_error == -ENODEV || path->route_error == -EACCES ||
	    (path->route_error == -EINVAL && *source))
		doctor_warn(doctor, &(struct doctor_warning){
			.measured = alloc_printf("no route: %s", strerror(-path->route_error)),
			.wanted = alloc_printf("a route to %s%s%s%s%s", path->address,
					       *path->nic ? " by " : "", path->nic,
					       *source ? " from " : "", source),
			.next = alloc_printf("ip route get %s%s%s%s%s", path->address,
					     *path->nic ? " oif " : "", path->nic,
					     *source ? " from " : "", source),
		},
		"the path cannot connect");
	else if (path->route_error)
		doctor_unread(doctor, "the route", path->route_error);
	else if (*source)
		source_check(doctor, path, source);
	else
		doctor_pass(doctor);
}

static bool nic_number(const char *nic, const char *file, long long *value)
{
	return *nic && fact_number(place_path("/sys/class/net/%s/%s", nic, file), value) &&
	       *value > 0;
}

/* Whether TCP sends packets of nearly @mtu bytes, and loses none: then only pings are filtered. */
static bool tcp_reaches(const struct doctor_path *path, long long mtu)
{
	const struct host_tcp *tcp = &path->tcp;

	return path->measured && tcp->segment_bytes + HEADERS_BYTES_MAX >= mtu &&
	       tcp->sent >= SENT_ENOUGH && tcp->sent_again * PER_SENT_AGAIN <= tcp->sent;
}

void doctor_path_mtu(struct doctor *doctor, const struct doctor_path *path)
{
	int headers = strchr(path->address, ':') ? IP6_AND_ICMP_BYTES : IP_AND_ICMP_BYTES;
	long long mtu, least = path->route_error ? 0 : path->route.mtu;
	bool silent;

	if (path->tcp.path_mtu && (!least || path->tcp.path_mtu < least))
		least = path->tcp.path_mtu;
	if (!nic_number(path->nic, "mtu", &mtu)) {
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
			.next = alloc_printf("ping -M do -c 3 -s %lld -I %s %s", mtu - headers,
					     path->nic, path->address),
		},
		"%s",
		silent ? "larger packets are lost on the way without a message: I/O may hang" :
		"a route or a hop on the way takes less than the NIC sends");
}

/* Paths of a leg beside each other */

/* Calls @check for the paths of each leg that has several. */
static void legs_check(struct doctor *doctor, const struct doctor_volume *volume,
		       void (*check)(struct doctor *doctor, const struct doctor_volume *volume,
				     const struct doctor_path *paths, size_t count))
{
	size_t first, next;

	for (first = 0; first < volume->path_count; first = next) {
		const struct leg *leg = volume->paths[first].leg;

		for (next = first; next < volume->path_count; next++)
			if (volume->paths[next].leg != leg)
				break;
		doctor->subject = alloc_printf("leg %u", leg->index);
		if (next - first > 1)
			check(doctor, volume, &volume->paths[first], next - first);
		free(doctor->subject);
		doctor->subject = NULL;
	}
	if (!doctor->passed && volume->path_count == volume->volume.leg_count)
		doctor_skip(doctor, "each leg has one path");
}

/* A value of each path's NIC, as "eth1 1500, eth2 9000". NULL: one cannot be read. */
static char *nics_values(const struct doctor_path *paths, size_t count, const char *file,
			 bool *equal)
{
	char *all = alloc_text("");
	long long value, first = 0;
	size_t i;

	*equal = true;
	for (i = 0; i < count; i++) {
		char *longer;

		if (!nic_number(paths[i].nic, file, &value)) {
			free(all);
			return NULL;
		}
		if (!i)
			first = value;
		*equal &= value == first;
		longer = alloc_printf("%s%s%s %lld", all, i ? ", " : "", paths[i].nic, value);
		free(all);
		all = longer;
	}
	return all;
}

static void leg_mtus(struct doctor *doctor, const struct doctor_volume *volume,
		     const struct doctor_path *paths, size_t count)
{
	bool equal;
	char *values = nics_values(paths, count, "mtu", &equal);

	(void)volume;
	if (!values)
		doctor_unread(doctor, "the MTU of a NIC", 0);
	else if (equal)
		doctor_pass(doctor);
	else
		doctor_warn(doctor, &(struct doctor_warning){
			.measured = alloc_printf("MTU %s", values),
			.wanted = alloc_text("one MTU"),
			.next = alloc_printf("ip link set dev %s mtu MTU", paths[0].nic),
		},
		"one path costs more per byte; it may be the only one that the network carries");
	free(values);
}

void doctor_mtus(struct doctor *doctor, const struct doctor_volume *volume)
{
	legs_check(doctor, volume, leg_mtus);
}

/* Whether the leg's policy gives its paths what they can carry, when they are not equally fast. */
static bool policy_weighs(const struct doctor_path *paths, size_t count)
{
	const char *policy = settings_value(&paths[0].leg->settings, "policy");
	size_t i;

	if (!strcmp(policy, "round-robin"))
		return false;
	if (strcmp(policy, "interleave"))
		return true;
	for (i = 1; i < count; i++)
		if (doctor_setting_number(&paths[i], "weight") !=
		    doctor_setting_number(&paths[0], "weight"))
			return true;
	return false;
}

static void leg_speeds(struct doctor *doctor, const struct doctor_volume *volume,
		       const struct doctor_path *paths, size_t count)
{
	const char *policy = settings_value(&paths[0].leg->settings, "policy");
	unsigned int leg = paths[0].leg->index;
	char *values, *dir = tree_path(volume->name, "legs");
	bool equal, in_turns = !strcmp(policy, "round-robin");

	values = nics_values(paths, count, "speed", &equal);
	if (!values)
		doctor_unread(doctor, "the speed of a NIC", 0);
	else if (equal || policy_weighs(paths, count))
		doctor_pass(doctor);
	else
		doctor_warn(doctor, &(struct doctor_warning){
			.measured = alloc_printf("%s Mbit/s, policy %s, equal weights", values,
						 policy),
			.wanted = alloc_text("equal speeds, or policy interleave with weights"),
			.next = in_turns ?
				alloc_printf("echo interleave > %s/%u/policy", dir, leg) :
				alloc_printf("echo WEIGHT > %s/%u/paths/%u/weight", dir, leg,
					     paths[0].path->index),
		},
		"the slowest path determines the speed of all");
	free(values);
	free(dir);
}

void doctor_speeds(struct doctor *doctor, const struct doctor_volume *volume)
{
	legs_check(doctor, volume, leg_speeds);
}

/* The port that two interfaces end at, for free(); NULL when they share none. */
static char *port_shared(const char *a, const char *b)
{
	struct file_names ports_a = { 0 }, ports_b = { 0 };
	char *shared = NULL;
	size_t i;

	doctor_lower_nics(a, &ports_a);
	doctor_lower_nics(b, &ports_b);
	for (i = 0; !shared && i < ports_a.count; i++)
		if (doctor_names_have(&ports_b, ports_a.items[i]))
			shared = alloc_text(ports_a.items[i]);
	file_names_free(&ports_a);
	file_names_free(&ports_b);
	return shared;
}

static void pair_check(struct doctor *doctor, const struct doctor_volume *volume,
		       const struct doctor_path *a, const struct doctor_path *b)
{
	char *port = *a->nic && *b->nic ? port_shared(a->nic, b->nic) : NULL;
	bool bound = *doctor_setting(a, "nic") && *doctor_setting(b, "nic");
	char *add = alloc_printf("istripectl path add %s %u portal=%s,nic=OTHER", volume->name,
				 b->leg->index, doctor_setting(b, "portal"));

	if (!*a->nic || !*b->nic)
		doctor_skip(doctor, "path %u: its NIC is not known",
			    *a->nic ? b->path->index : a->path->index);
	else if (!port)
		doctor_pass(doctor);
	else
		doctor_warn(doctor, &(struct doctor_warning){
			.measured = alloc_printf("paths %u and %u use %s (%s and %s)",
						 a->path->index, b->path->index, port, a->nic,
						 b->nic),
			.wanted = alloc_text("a port for each path"),
			.next = alloc_printf("istripectl path remove %s %u %u && %s",
					     volume->name, b->leg->index, b->path->index, add),
		},
		"when it fails both are lost, and together they are no faster than one%s",
		bound ? "" : "; without nic the route decides");
	free(port);
	free(add);
}

static void leg_nics(struct doctor *doctor, const struct doctor_volume *volume,
		     const struct doctor_path *paths, size_t count)
{
	size_t i, j;

	for (i = 0; i < count; i++)
		for (j = i + 1; j < count; j++)
			pair_check(doctor, volume, &paths[i], &paths[j]);
}

void doctor_shared_nic(struct doctor *doctor, const struct doctor_volume *volume)
{
	legs_check(doctor, volume, leg_nics);
}

/* NICs in one subnet */

static bool prefix_equal(const struct host_address *a, const struct host_address *b)
{
	unsigned int i, bits = a->prefix < b->prefix ? a->prefix : b->prefix;

	for (i = 0; i < bits; i++)
		if ((a->bytes[i / 8] ^ b->bytes[i / 8]) & (0x80 >> i % 8))
			return false;
	return true;
}

/* Another NIC of paths with an IPv4 address in a subnet of this one; NULL when there is none. */
static const char *subnet_other(const struct doctor *doctor, const char *nic)
{
	int i, j;

	for (i = 0; i < doctor->address_count; i++) {
		const struct host_address *mine = &doctor->addresses[i];

		if (mine->family != AF_INET || strcmp(mine->nic, nic))
			continue;
		for (j = 0; j < doctor->address_count; j++) {
			const struct host_address *other = &doctor->addresses[j];

			if (other->family == AF_INET && strcmp(other->nic, nic) &&
			    doctor_names_have(&doctor->nics, other->nic) &&
			    prefix_equal(mine, other))
				return other->nic;
		}
	}
	return NULL;
}

/* The kernel takes the greater one of what holds for all and what holds for the interface. */
static bool conf_value(const char *nic, const char *name, long long *value)
{
	long long all;

	if (!fact_number(place_path("/proc/sys/net/ipv4/conf/all/%s", name), &all) ||
	    !fact_number(place_path("/proc/sys/net/ipv4/conf/%s/%s", nic, name), value))
		return false;
	if (all > *value)
		*value = all;
	return true;
}

static void conf_warn(struct doctor *doctor, const char *nic, const char *other,
		      const char *name, long long value, long long wanted, const char *why)
{
	doctor_warn(doctor, &(struct doctor_warning){
		.subject = alloc_text(nic),
		.measured = alloc_printf("%s %lld", name, value),
		.wanted = alloc_printf("%s %lld", name, wanted),
		.next = alloc_printf("sysctl -w net/ipv4/conf/%s/%s=%lld", nic, name, wanted),
	},
	"%s is in the same subnet: %s", other, why);
}

/* Calls @check for each NIC that shares a subnet with another one. */
static void subnets_check(struct doctor *doctor,
			  void (*check)(struct doctor *doctor, const char *nic, const char *other))
{
	bool shared = false;
	size_t i;

	if (doctor->address_count < 0) {
		doctor_unread(doctor, "the addresses of this host", doctor->address_count);
		return;
	}
	for (i = 0; i < doctor->nics.count; i++) {
		const char *nic = doctor->nics.items[i], *other = subnet_other(doctor, nic);

		shared |= !!other;
		if (other)
			check(doctor, nic, other);
	}
	if (!shared)
		doctor_skip(doctor, "no two NICs of the volumes are in one subnet");
}

static void nic_arp(struct doctor *doctor, const char *nic, const char *other)
{
	long long ignore, announce;

	if (!conf_value(nic, "arp_ignore", &ignore) ||
	    !conf_value(nic, "arp_announce", &announce)) {
		doctor_unread(doctor, "arp_ignore or arp_announce", 0);
		return;
	}
	if (ignore < 1)
		conf_warn(doctor, nic, other, "arp_ignore", ignore, 1,
			  "either answers ARP for the addresses of both");
	if (announce < 2)
		conf_warn(doctor, nic, other, "arp_announce", announce, 2,
			  "either asks with the address of the other one, which teaches switches the wrong port");
	if (ignore >= 1 && announce >= 2)
		doctor_pass(doctor);
}

void doctor_subnet_arp(struct doctor *doctor)
{
	subnets_check(doctor, nic_arp);
}

static void nic_rp_filter(struct doctor *doctor, const char *nic, const char *other)
{
	long long filter;

	if (!conf_value(nic, "rp_filter", &filter))
		doctor_unread(doctor, "rp_filter", 0);
	else if (filter != 1)
		doctor_pass(doctor);
	else
		conf_warn(doctor, nic, other, "rp_filter", filter, 2,
			  "what comes in by this one is dropped, since the route leads back by the other");
}

void doctor_subnet_rp_filter(struct doctor *doctor)
{
	subnets_check(doctor, nic_rp_filter);
}
