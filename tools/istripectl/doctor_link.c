// SPDX-License-Identifier: GPL-2.0
/* doctor: network interfaces that paths use. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "doctor.h"
#include "ethtool.h"
#include "fact.h"
#include "place.h"

#define NET			"/sys/class/net/%s/"
#define PER_DAMAGED		1000000		/* frames for one that may be damaged */
#define PER_DROPPED		100000		/* or dropped */

static bool statistic(const char *nic, const char *name, long long *value)
{
	return fact_number(place_path(NET "statistics/%s", nic, name), value);
}

static bool serves(const struct doctor_path *path)
{
	return path->live && live_takes_io(settings_value(&path->live->values, "state"));
}

/* Whether a leg has a path over it, and one over another link that is lost. */
static bool volume_needs(const struct doctor_volume *volume, const char *nic)
{
	size_t i, j;

	for (i = 0; i < volume->path_count; i++) {
		const struct doctor_path *path = &volume->paths[i];

		if (strcmp(path->nic, nic) || !serves(path))
			continue;
		for (j = 0; j < volume->path_count; j++) {
			const struct doctor_path *other = &volume->paths[j];

			if (other->leg == path->leg && strcmp(other->nic, nic) && !serves(other))
				return true;
		}
	}
	return false;
}

bool doctor_link_is_needed(const struct doctor *doctor, const char *nic)
{
	size_t i;

	for (i = 0; i < doctor->volume_count; i++)
		if (volume_needs(&doctor->volumes[i], nic))
			return true;
	return false;
}

bool doctor_link_may_go_down(struct doctor *doctor, const char *nic)
{
	if (!doctor_link_is_needed(doctor, nic))
		return true;
	doctor_skip(doctor, "%s: a path is lost: its leg needs this link", nic);
	return false;
}

/*
 * An interface that is not up has no carrier to read. One that has just come up has a carrier
 * first, and its operstate up to a second later.
 */
static void state_check(struct doctor *doctor, const char *nic, const char *state)
{
	long long carrier = 0;
	bool read = fact_number(place_path(NET "carrier", nic), &carrier);

	if ((carrier || !read) && (!strcmp(state, "up") || !strcmp(state, "unknown")))
		doctor_pass(doctor);
	else if (carrier && !strcmp(state, "down"))
		doctor_pass(doctor);
	else
		doctor_warn(doctor, &(struct doctor_warning){
			.measured = alloc_printf("state %s%s", state,
						 read && !carrier ? ", no carrier" : ""),
			.wanted = alloc_text("state up"),
			.next = read ? alloc_printf("ethtool %s", nic) :
				alloc_printf("ip link set dev %s up", nic),
		},
		"paths over it are lost%s",
		read && !carrier ? ": look at cable, transceiver and switch port" : "");
}

void doctor_link(struct doctor *doctor, const char *nic)
{
	char *state;

	if (!fact_is_dir(place_path("/sys/class/net/%s", nic))) {
		doctor_warn(doctor, &(struct doctor_warning){
			.measured = alloc_text("there is no such interface"),
			.wanted = alloc_text("an interface of this host"),
			.next = alloc_text("ip link"),
		},
		"a path names it in nic, or its route led there");
		return;
	}
	state = fact_text(place_path(NET "operstate", nic));
	if (!state)
		doctor_unread(doctor, "operstate", 0);
	else
		state_check(doctor, nic, state);
	free(state);
}

void doctor_duplex(struct doctor *doctor, const char *nic)
{
	char *duplex = fact_text(place_path(NET "duplex", nic));

	if (!duplex || !strcmp(duplex, "unknown"))
		doctor_skip(doctor, "the driver does not know the duplex mode");
	else if (strcmp(duplex, "half"))
		doctor_pass(doctor);
	else
		doctor_warn(doctor, &(struct doctor_warning){
			.measured = alloc_text("half"), .wanted = alloc_text("full"),
			.next = alloc_printf("ethtool -s %s autoneg on", nic),
		},
		"reads and writes wait for each other, and collide");
	free(duplex);
}

static void rate_check(struct doctor *doctor, long long bad, long long good, long long per,
		       const char *why, const char *next)
{
	if (bad * per <= good + bad)
		doctor_pass(doctor);
	else
		doctor_warn(doctor, &(struct doctor_warning){
			.measured = alloc_printf("%lld", bad),
			.wanted = alloc_printf("%lld", (good + bad) / per),
			.next = alloc_text(next),
		},
		"of %lld received since the interface came up %s", good + bad, why);
}

void doctor_link_errors(struct doctor *doctor, const char *nic)
{
	long long good, damaged, missed, full;
	char *next;

	if (!statistic(nic, "rx_packets", &good) || !statistic(nic, "rx_crc_errors", &damaged) ||
	    !statistic(nic, "rx_missed_errors", &missed) ||
	    !statistic(nic, "rx_fifo_errors", &full)) {
		doctor_unread(doctor, "statistics", 0);
		return;
	}
	next = alloc_printf("ethtool -S %s", nic);
	rate_check(doctor, damaged, good, PER_DAMAGED,
		   "were damaged on the link: look at cable and transceivers", next);
	free(next);
	next = doctor_link_is_needed(doctor, nic) ? alloc_printf("ethtool -g %s", nic) :
	       alloc_printf("ethtool -g %s && ethtool -G %s rx MAXIMUM" DOCTOR_LINK_DOWN, nic,
			    nic);
	rate_check(doctor, missed + full, good, PER_DROPPED,
		   "were dropped for want of descriptors", next);
	free(next);
}

void doctor_pause(struct doctor *doctor, const char *nic)
{
	struct ethtool_pause pause;
	int ret = ethtool_pause(nic, &pause);

	if (ret)
		doctor_unread(doctor, "flow control", ret);
	else if (pause.receive || pause.transmit)
		doctor_pass(doctor);
	else if (doctor_link_may_go_down(doctor, nic))
		doctor_warn(doctor, &(struct doctor_warning){
			.measured = alloc_text("rx off, tx off"),
			.wanted = alloc_text("rx on, tx on"),
			.next = alloc_printf("ethtool -A %s rx on tx on" DOCTOR_LINK_DOWN, nic),
		},
		"bursts of the target overrun the switch, and TCP has to send again");
}

static void ring_check(struct doctor *doctor, const char *nic, const char *name,
		       unsigned int now, unsigned int most)
{
	if (!most)
		return;
	if (now >= most / 2)
		doctor_pass(doctor);
	else if (doctor_link_may_go_down(doctor, nic))
		doctor_warn(doctor, &(struct doctor_warning){
			.subject = alloc_printf("%s %s", nic, name),
			.measured = alloc_printf("%u", now), .wanted = alloc_printf("%u", most),
			.next = alloc_printf("ethtool -G %s %s %u" DOCTOR_LINK_DOWN, nic, name,
					     most),
		},
		"a burst that finds no descriptor is dropped");
}

void doctor_rings(struct doctor *doctor, const char *nic)
{
	struct ethtool_rings rings;
	int ret = ethtool_rings(nic, &rings);

	if (ret || (!rings.receive_max && !rings.transmit_max)) {
		doctor_unread(doctor, "the size of the rings", ret);
		return;
	}
	ring_check(doctor, nic, "rx", rings.receive, rings.receive_max);
	ring_check(doctor, nic, "tx", rings.transmit, rings.transmit_max);
}

static const struct ethtool_feature *feature_find(const struct ethtool_feature *features,
						  int count, const char *name)
{
	int i;

	for (i = 0; i < count; i++)
		if (!strcmp(features[i].name, name))
			return &features[i];
	return NULL;
}

/* One that the driver does not let be changed is as good as it gets. */
static void offload_check(struct doctor *doctor, const char *nic,
			  const struct ethtool_feature *feature, const char *option,
			  const char *why)
{
	if (!feature)
		return;
	if (feature->on || !feature->changeable)
		doctor_pass(doctor);
	else
		doctor_warn(doctor, &(struct doctor_warning){
			.measured = alloc_printf("%s off", feature->name),
			.wanted = alloc_printf("%s on", feature->name),
			.next = alloc_printf("ethtool -K %s %s on", nic, option),
		},
		"%s", why);
}

void doctor_offloads(struct doctor *doctor, const char *nic)
{
	static const struct {
		const char *name, *option, *why;
	} wanted[] = {
		{ "tx-scatter-gather", "sg", "data are copied before they are sent" },
		{ "tx-checksum-ipv4", "tx", "the processor computes checksums" },
		{ "tx-checksum-ip-generic", "tx", "the processor computes checksums" },
		{ "rx-checksum", "rx", "the processor computes checksums" },
		{ "tx-tcp-segmentation", "tso", "the processor cuts data into packets" },
		{ "tx-generic-segmentation", "gso", "each packet passes the stack alone" },
		{ "rx-gro", "gro", "each packet passes the stack alone" },
	};
	struct ethtool_feature *features;
	int count = ethtool_features(nic, &features);
	size_t i;

	if (count < 0)
		doctor_unread(doctor, "offloads", count);
	for (i = 0; i < sizeof(wanted) / sizeof(*wanted); i++)
		offload_check(doctor, nic, feature_find(features, count, wanted[i].name),
			      wanted[i].option, wanted[i].why);
	free(features);
}

/* Interrupts */

static size_t queue_count(const char *nic)
{
	char *dir = place_path(NET "queues", nic);
	struct file_names names = { 0 };
	size_t i, count = 0;

	file_list(dir, &names);
	for (i = 0; i < names.count; i++)
		count += !strncmp(names.items[i], "rx-", strlen("rx-"));
	file_names_free(&names);
	free(dir);
	return count;
}

/* The interrupts of its device; those of a virtio device are its parent's. */
static void interrupts_find(const char *nic, struct file_names *numbers)
{
	char *dir = place_path(NET "device/msi_irqs", nic);

	file_list(dir, numbers);
	free(dir);
	if (numbers->count)
		return;
	dir = place_path(NET "device/../msi_irqs", nic);
	file_list(dir, numbers);
	free(dir);
}

static char *interrupt_processors(const char *number)
{
	char *text = fact_text(place_path("/proc/irq/%s/effective_affinity_list", number));

	if (!text || !*text) {
		free(text);
		text = fact_text(place_path("/proc/irq/%s/smp_affinity_list", number));
	}
	return text;
}

static char *balance_step(bool runs)
{
	const char *file = fact_rpm() ? "/etc/sysconfig/irqbalance" : "/etc/default/irqbalance";

	if (!runs)
		return alloc_printf("%s install irqbalance && systemctl enable --now irqbalance",
				    fact_rpm() ? "dnf" : "apt");
	return doctor_edit_step(file,
				"systemctl restart irqbalance # without what bans processors or interrupts there");
}

void doctor_interrupts(struct doctor *doctor, const char *nic)
{
	struct file_names numbers = { 0 }, processors = { 0 };
	char *online = fact_text(place_path("/sys/devices/system/cpu/online"));
	bool runs = fact_process("irqbalance");
	size_t i, queues = queue_count(nic);

	interrupts_find(nic, &numbers);
	for (i = 0; i < numbers.count; i++) {
		char *text = interrupt_processors(numbers.items[i]);

		if (text && *text)
			file_names_add_new(&processors, text);
		free(text);
	}
	if (!online)
		doctor_unread(doctor, "the number of processors", 0);
	else if (!online[strcspn(online, ",-")])
		doctor_skip(doctor, "the host has one processor");
	else if (queues < 2)
		doctor_skip(doctor, "the interface has one queue");
	else if (!processors.count)
		doctor_skip(doctor, "its interrupts are not known");
	else if (processors.count > 1 || processors.items[0][strcspn(processors.items[0], ",-")])
		doctor_pass(doctor);
	else
		doctor_warn(doctor, &(struct doctor_warning){
			.measured = alloc_text("1"),
			.wanted = alloc_printf("%zu", queues),
			.next = balance_step(runs),
		},
		"processor %s serves all of its %zu interrupts; irqbalance %s",
		processors.items[0], numbers.count, runs ? "runs" : "does not run");
	file_names_free(&numbers);
	file_names_free(&processors);
	free(online);
}
