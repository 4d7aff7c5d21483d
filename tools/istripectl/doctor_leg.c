// SPDX-License-Identifier: GPL-2.0
/* doctor: what the paths of a leg, and the NICs of a subnet, have in common. */
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "doctor.h"
#include "fact.h"
#include "place.h"
#include "tree.h"

/* Paths of a leg beside each other */

void doctor_legs(struct doctor *doctor, const struct doctor_volume *volume,
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

		if (!doctor_nic_number(paths[i].nic, file, &value)) {
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

/* Adds "<command> <value>" for a NIC unless it is there, as NICs of several paths are. */
static char *mtu_add(char *all, const char *nic, long long mtu)
{
	char *one = alloc_printf("ip link set dev %s mtu %lld", nic, mtu);
	char *longer = strstr(all, one) ? alloc_text(all) :
		       alloc_printf("%s%s%s", all, *all ? " && " : "", one);

	free(one);
	free(all);
	return longer;
}

/* Less is what all of them can carry; more may be lost on the way. */
static char *mtus_step(const struct doctor_path *paths, size_t count)
{
	long long mtu, least = 0, most = 0;
	char *lower = alloc_text(""), *raise = alloc_text(""), *both;
	size_t i;

	for (i = 0; i < count; i++) {
		doctor_nic_number(paths[i].nic, "mtu", &mtu);
		least = !i || mtu < least ? mtu : least;
		most = mtu > most ? mtu : most;
	}
	for (i = 0; i < count; i++) {
		doctor_nic_number(paths[i].nic, "mtu", &mtu);
		if (mtu > least)
			lower = mtu_add(lower, paths[i].nic, least);
		if (mtu < most)
			raise = mtu_add(raise, paths[i].nic, most);
	}
	both = alloc_printf("%s" DOCTOR_LINK_DOWN "; or, where switches and target take it: %s",
			    lower, raise);
	free(lower);
	free(raise);
	return both;
}

static bool links_may_go_down(struct doctor *doctor, const struct doctor_path *paths, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (!doctor_link_may_go_down(doctor, paths[i].nic))
			return false;
	return true;
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
	else if (links_may_go_down(doctor, paths, count))
		doctor_warn(doctor, &(struct doctor_warning){
			.measured = alloc_printf("MTU %s", values),
			.wanted = alloc_text("one MTU"), .next = mtus_step(paths, count),
		},
		"one path costs more per byte; it may be the only one that the network carries");
	free(values);
}

void doctor_mtus(struct doctor *doctor, const struct doctor_volume *volume)
{
	doctor_legs(doctor, volume, leg_mtus);
}

/* Whether the leg's policy gives its paths what they can carry, when they are not equally fast. */
static bool policy_weighs(const struct doctor_path *paths, size_t count)
{
	const char *policy = settings_value(&paths[0].leg->settings, "policy");
	size_t i;

	if (!strcmp(policy, "round-robin"))
		return false;
	if (strcmp(policy, "interleave") && strcmp(policy, "weighted"))
		return true;
	for (i = 1; i < count; i++)
		if (doctor_setting_number(&paths[i], "weight") !=
		    doctor_setting_number(&paths[0], "weight"))
			return true;
	return false;
}

static long long divisor_of(long long a, long long b)
{
	while (b) {
		long long rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/* A weight as the speed is: in the smallest numbers, or with the greatest one that there may be. */
static long long weight_of(long long speed, long long most, long long unit)
{
	long long least = doctor_allowed("weight", 0);
	long long greatest = doctor_allowed("weight", most / unit), weight;

	weight = greatest == most / unit ? speed / unit : speed * greatest / most;
	return weight < least ? least : weight;
}

static char *weights_step(const struct doctor_volume *volume, const struct doctor_path *paths,
			  size_t count, bool in_turns)
{
	char *dir = tree_path(volume->name, "legs"), *all;
	unsigned int leg = paths[0].leg->index;
	long long speed, unit = 0, most = 0;
	size_t i;

	for (i = 0; i < count; i++)
		if (doctor_nic_number(paths[i].nic, "speed", &speed)) {
			unit = divisor_of(speed, unit);
			most = speed > most ? speed : most;
		}
	all = in_turns ? alloc_printf("echo interleave > %s/%u/policy", dir, leg) : alloc_text("");
	for (i = 0; i < count; i++) {
		long long weight = unit && doctor_nic_number(paths[i].nic, "speed", &speed) ?
				   weight_of(speed, most, unit) : 1;
		char *longer;

		if (weight == doctor_setting_number(&paths[i], "weight"))
			continue;
		longer = alloc_printf("%s%secho %lld > %s/%u/paths/%u/weight", all,
				      *all ? " && " : "", weight, dir, leg, paths[i].path->index);
		free(all);
		all = longer;
	}
	free(dir);
	return all;
}

static void leg_speeds(struct doctor *doctor, const struct doctor_volume *volume,
		       const struct doctor_path *paths, size_t count)
{
	const char *policy = settings_value(&paths[0].leg->settings, "policy");
	bool equal, in_turns = !strcmp(policy, "round-robin");
	char *values = nics_values(paths, count, "speed", &equal);

	if (!values)
		doctor_unread(doctor, "the speed of a NIC", 0);
	else if (equal || policy_weighs(paths, count))
		doctor_pass(doctor);
	else
		doctor_warn(doctor, &(struct doctor_warning){
			.measured = alloc_printf("%s Mbit/s, policy %s%s", values, policy,
						 in_turns ? "" : ", equal weights"),
			.wanted = alloc_printf("equal speeds, or policy %s with weights",
					       in_turns ? "interleave" : policy),
			.next = weights_step(volume, paths, count, in_turns),
		},
		"the slowest path determines the speed of all");
	free(values);
}

void doctor_speeds(struct doctor *doctor, const struct doctor_volume *volume)
{
	doctor_legs(doctor, volume, leg_speeds);
}

/* How many ports two interfaces share; @port, if any is, the last of them, for free(). */
static size_t ports_shared(const char *a, const char *b, char **port)
{
	struct file_names ports_a = { 0 }, ports_b = { 0 };
	size_t i, count = 0;

	*port = NULL;
	doctor_lower_nics(a, &ports_a);
	doctor_lower_nics(b, &ports_b);
	for (i = 0; i < ports_a.count; i++)
		if (file_names_have(&ports_b, ports_a.items[i])) {
			free(*port);
			*port = alloc_text(ports_a.items[i]);
			count++;
		}
	file_names_free(&ports_a);
	file_names_free(&ports_b);
	return count;
}

/* Settings of a path that path add would not take from the leg's first one: ",NAME=VALUE...". */
static char *own_settings(const struct doctor_path *path)
{
	const struct settings *own = &path->path->settings;
	const struct settings *first = &path->leg->paths[0].settings;
	char *list = alloc_text(""), *more;
	size_t i;

	for (i = 0; i < own->count; i++) {
		const struct setting *item = &own->items[i];

		if (!item->value || setting_is_of_one_path(item->name) ||
		    !strcmp(item->value, settings_value(first, item->name)))
			continue;
		more = alloc_printf("%s,%s=%s", list, item->name, item->value);
		free(list);
		list = more;
	}
	return list;
}

char *doctor_anew_step(const struct doctor *doctor, const struct doctor_path *path,
		       const char *list)
{
	/* path add takes the names of users from here, and cannot take their secrets. */
	const struct settings *first = &path->leg->paths[0].settings;
	bool secret = *settings_value(first, "chap_user");
	bool mutual = *settings_value(first, "chap_mutual_user");
	char *own = own_settings(path), *step;

	step = alloc_printf("%s %s %u portal=%s,%s%s%s%s %s istripectl path remove %s %u %u",
			    "istripectl path add", doctor->volume, path->leg->index,
			    doctor_setting(path, "portal"), list, own,
			    secret ? ",chap_secret=@FILE" : "",
			    mutual ? ",chap_mutual_secret=@FILE" : "",
			    secret || mutual ? "# then:" : "&&", doctor->volume, path->leg->index,
			    path->path->index);
	free(own);
	return step;
}

/* Whether an interface shares no port with those that the paths of a leg use. */
static bool nic_is_apart(const struct doctor_volume *volume, const struct leg *leg,
			 const char *nic)
{
	bool apart = true;
	size_t i;

	for (i = 0; apart && i < volume->path_count; i++) {
		const struct doctor_path *path = &volume->paths[i];
		char *port = NULL;

		if (path->leg == leg)
			apart = strcmp(path->nic, nic) && !ports_shared(path->nic, nic, &port);
		free(port);
	}
	return apart;
}

/* The second one anew, over a NIC of this host that no path of the leg uses. */
static char *other_nic_step(const struct doctor *doctor, const struct doctor_volume *volume,
			    const struct doctor_path *b)
{
	const char *portal = doctor_setting(b, "portal");
	char *list, *step;
	int i;

	for (i = 0; i < doctor->address_count; i++)
		if (host_address_is_beside(&doctor->addresses[i], portal) &&
		    doctor_nic_is_link(doctor->addresses[i].nic) &&
		    nic_is_apart(volume, b->leg, doctor->addresses[i].nic))
			break;
	if (i >= doctor->address_count)
		return alloc_printf("ip -br link # connect a port to the network of %s", portal);
	list = alloc_printf("nic=%s", doctor->addresses[i].nic);
	step = doctor_anew_step(doctor, b, list);
	free(list);
	return step;
}

static void pair_check(struct doctor *doctor, const struct doctor_volume *volume,
		       const struct doctor_path *a, const struct doctor_path *b)
{
	bool bound = *doctor_setting(a, "nic") && *doctor_setting(b, "nic");
	/* A bond of several ports has one left when a port is lost. */
	char *port;
	bool alone = ports_shared(a->nic, b->nic, &port) == 1;

	if (!*a->nic || !*b->nic)
		doctor_skip(doctor, "path %u: its NIC is not known",
			    *a->nic ? b->path->index : a->path->index);
	else if (!alone)
		doctor_pass(doctor);
	else
		doctor_warn(doctor, &(struct doctor_warning){
			.measured = alloc_printf("paths %u and %u use %s (%s and %s)",
						 a->path->index, b->path->index, port, a->nic,
						 b->nic),
			.wanted = alloc_text("a port for each path"),
			.next = other_nic_step(doctor, volume, b),
		},
		"when it fails both are lost, and together they are no faster than one%s",
		bound ? "" : "; without nic the route decides");
	free(port);
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
	doctor_legs(doctor, volume, leg_nics);
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
			    file_names_have(&doctor->nics, other->nic) &&
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

/* Calls @check for each NIC that has another one in its way; @none says that no one has. */
static void nics_check(struct doctor *doctor,
		       const char *(*other)(const struct doctor *doctor, const char *nic),
		       void (*check)(struct doctor *doctor, const char *nic, const char *other),
		       const char *none)
{
	bool checked = false;
	size_t i;

	if (doctor->address_count < 0) {
		doctor_unread(doctor, "the addresses of this host", doctor->address_count);
		return;
	}
	for (i = 0; i < doctor->nics.count; i++) {
		const char *nic = doctor->nics.items[i], *of = other(doctor, nic);

		checked |= !!of;
		if (of)
			check(doctor, nic, of);
	}
	if (!checked)
		doctor_skip(doctor, "%s", none);
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
	nics_check(doctor, subnet_other, nic_arp,
		   "no two NICs of the volumes are in one subnet");
}

/* Reverse paths */

/* Another interface that the route to a portal of the NIC's paths leads to, or NULL. */
static const struct doctor_path *back_elsewhere(const struct doctor *doctor, const char *nic,
						bool *known)
{
	size_t i, j;

	*known = false;
	for (i = 0; i < doctor->volume_count; i++)
		for (j = 0; j < doctor->volumes[i].path_count; j++) {
			const struct doctor_path *path = &doctor->volumes[i].paths[j];

			if (strcmp(path->nic, nic) || strchr(path->address, ':'))
				continue;
			*known |= *path->back;
			if (*path->back && strcmp(path->back, nic))
				return path;
		}
	return NULL;
}

static void nic_rp_filter(struct doctor *doctor, const char *nic, const char *other)
{
	bool known;
	const struct doctor_path *path = back_elsewhere(doctor, nic, &known);
	long long filter;

	/* Rules lead the answers back by the NIC that they came for. */
	if (known && !path) {
		doctor_pass(doctor);
		return;
	}
	if (!conf_value(nic, "rp_filter", &filter))
		doctor_unread(doctor, "rp_filter", 0);
	else if (filter != 1)
		doctor_pass(doctor);
	else
		doctor_warn(doctor, &(struct doctor_warning){
			.subject = alloc_text(nic), .measured = alloc_text("rp_filter 1"),
			.wanted = alloc_text("rp_filter 2"),
			.next = alloc_printf("sysctl -w net/ipv4/conf/%s/rp_filter=2", nic),
		},
		"what comes in by this one is dropped, since the route to %s leads by %s",
		path ? path->address : "its subnet", path ? path->back : other);
}

static const char *rp_other(const struct doctor *doctor, const char *nic)
{
	const char *other = subnet_other(doctor, nic);
	bool known;

	return !other && back_elsewhere(doctor, nic, &known) ? "another one" : other;
}

void doctor_subnet_rp_filter(struct doctor *doctor)
{
	nics_check(doctor, rp_other, nic_rp_filter,
		   "answers come in by the NICs that routes lead to");
}
