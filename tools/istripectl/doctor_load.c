// SPDX-License-Identifier: GPL-2.0
/* doctor: volumes, and the network as their paths see it. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "doctor.h"
#include "fact.h"
#include "host_ping.h"
#include "known.h"
#include "place.h"
#include "reach.h"
#include "tree.h"
#include "volumes.h"

#define LOWER_DEPTH_MAX		8
#define PING_TRIES		3
#define IP_PACKET_BYTES_MAX	65535

const char *doctor_setting(const struct doctor_path *path, const char *name)
{
	return settings_value(&path->path->settings, name);
}

long long doctor_setting_number(const struct doctor_path *path, const char *name)
{
	return strtoll(doctor_setting(path, name), NULL, 10);
}

long long doctor_allowed(const char *name, long long value)
{
	const struct known *known = known_anywhere(name, NULL);

	if (value < known->min)
		return known->min;
	return value > known->max ? known->max : value;
}

char *doctor_path_file(const struct doctor *doctor, const struct doctor_path *path,
		       const char *name)
{
	char *below = alloc_printf("legs/%u/paths/%u/%s", path->leg->index, path->path->index,
				   name);
	char *file = tree_path(doctor->volume, below);

	free(below);
	return file;
}

const char *doctor_value(const struct doctor_volume *volume, const char *name)
{
	const char *text = volume->up ? settings_value(&volume->live.values, name) : "";

	return *text ? text : settings_value(&volume->volume.settings, name);
}

const struct doctor_volume *doctor_volume_of(const struct doctor *doctor)
{
	size_t i;

	for (i = 0; i + 1 < doctor->volume_count; i++)
		if (!strcmp(doctor->volumes[i].name, doctor->volume))
			break;
	return &doctor->volumes[i];
}

bool doctor_nic_number(const char *nic, const char *file, long long *value)
{
	return *nic && fact_number(place_path("/sys/class/net/%s/%s", nic, file), value) &&
	       *value > 0;
}

static void lower_find(const char *nic, struct file_names *names, int depth)
{
	char *dir = place_path("/sys/class/net/%s", nic);
	struct file_names files = { 0 };
	bool bottom = true;
	size_t i;

	file_list(dir, &files);
	for (i = 0; i < files.count && depth < LOWER_DEPTH_MAX; i++) {
		if (strncmp(files.items[i], "lower_", strlen("lower_")))
			continue;
		lower_find(files.items[i] + strlen("lower_"), names, depth + 1);
		bottom = false;
	}
	if (bottom)
		file_names_add_new(names, nic);
	file_names_free(&files);
	free(dir);
}

void doctor_lower_nics(const char *nic, struct file_names *names)
{
	lower_find(nic, names, 0);
}

/* Directory @group/@index below @live, or NULL. */
static const struct live *live_numbered(const struct live *live, const char *group,
					unsigned int index)
{
	const struct live *all = live ? live_child(live, group) : NULL, *found;
	char *name = alloc_printf("%u", index);

	found = all ? live_child(all, name) : NULL;
	free(name);
	return found;
}

static void connection_measure(const struct live *connection, struct doctor_path *path)
{
	const char *local = settings_value(&connection->values, "local_address");
	const char *remote = settings_value(&connection->values, "remote_address");
	const char *ping = settings_value(&connection->values, "ping_rtt_us");
	unsigned int ping_us = strtoul(ping, NULL, 10);
	struct host_tcp tcp, *sum = &path->tcp;

	if (ping_us && (!path->rtt_us || ping_us < path->rtt_us))
		path->rtt_us = ping_us;
	if (!*local || !*remote || host_tcp(local, remote, path->nic, &tcp))
		return;
	if (!path->measured || (tcp.rtt_us && (!sum->rtt_us || tcp.rtt_us < sum->rtt_us)))
		sum->rtt_us = tcp.rtt_us;
	if (tcp.path_mtu && (!sum->path_mtu || tcp.path_mtu < sum->path_mtu))
		sum->path_mtu = tcp.path_mtu;
	if (!sum->segment_bytes || tcp.segment_bytes < sum->segment_bytes)
		sum->segment_bytes = tcp.segment_bytes;
	sum->sent_bytes += tcp.sent_bytes;
	sum->sent_again_bytes += tcp.sent_again_bytes;
	if (tcp.received_segment_bytes > sum->received_segment_bytes)
		sum->received_segment_bytes = tcp.received_segment_bytes;
	sum->received_bytes += tcp.received_bytes;
	sum->out_of_order_bytes += tcp.out_of_order_bytes;
	memcpy(sum->congestion, tcp.congestion, sizeof(sum->congestion));
	path->measured = true;
}

static void path_measure(struct doctor_path *path)
{
	const struct live *all = path->live ? live_child(path->live, "connections") : NULL;
	size_t i;

	for (i = 0; all && i < all->child_count; i++)
		connection_measure(&all->children[i], path);
	if (path->tcp.rtt_us)
		path->rtt_us = path->tcp.rtt_us;
}

static char *nic_master(const char *nic)
{
	return fact_link(place_path("/sys/class/net/%s/master", nic));
}

static bool nic_is_vrf(const char *nic)
{
	char *text = fact_text(place_path("/sys/class/net/%s/uevent", nic));
	char *type = fact_line(text, "DEVTYPE=");
	bool is = type && !strcmp(type, "vrf");

	free(type);
	free(text);
	return is;
}

/* Of a VRF. Ports of others have no addresses in common with it. */
static bool nic_is_port(const char *nic, const char *of)
{
	char *master = nic_master(nic);
	bool is = master && !strcmp(master, of) && nic_is_vrf(of);

	free(master);
	return is;
}

/* The master that packets for sockets come from when its ports receive them, or NULL. */
static char *nic_taker(const char *nic)
{
	char *master = nic_master(nic);

	if (master && !nic_is_vrf(master))
		return master;
	free(master);
	return NULL;
}

/* A VRF is no link: its routes lead by its ports. */
static void port_take(struct doctor_path *path)
{
	if (nic_is_port(path->route.nic, path->nic)) {
		free(path->nic);
		path->nic = alloc_text(path->route.nic);
	}
}

/* Where the kernel expects the answers of the portal: in a VRF, by any of its ports. */
static void back_load(struct doctor_path *path)
{
	const char *source = doctor_setting(path, "source_address");
	char *master = nic_master(path->nic);
	struct host_route back;

	if (!*source)
		source = path->route.source;
	if (!path->route_error && master && !host_route(path->address, master, source, &back) &&
	    nic_is_port(back.nic, master))
		snprintf(path->back, sizeof(path->back), "%s", path->nic);
	else if (!path->route_error && !host_route(path->address, "", source, &back))
		memcpy(path->back, back.nic, sizeof(back.nic));
	free(master);
}

/* The name that /sys/class/net has: a setting may be another one of the interface. */
static char *nic_name(const char *nic)
{
	char name[IF_NAMESIZE];

	return alloc_text(if_indextoname(if_nametoindex(nic), name) ? name : nic);
}

static void path_load(const struct doctor_volume *volume, const struct leg *leg,
		      const struct path *path, struct doctor_path *loaded)
{
	const struct live *live = volume->up ? live_numbered(&volume->live, "legs", leg->index) :
				  NULL;
	const struct live *session;
	const char *nic;

	memset(loaded, 0, sizeof(*loaded));
	loaded->leg = leg;
	loaded->path = path;
	loaded->live = live_numbered(live, "paths", path->index);
	session = loaded->live ? live_child(loaded->live, "session") : NULL;
	if (session && *settings_value(&session->values, "state"))
		loaded->session = session;
	nic = doctor_setting(loaded, "nic");
	loaded->address = host_address_of(doctor_setting(loaded, "portal"));
	loaded->route_error = host_route(loaded->address, nic,
					 doctor_setting(loaded, "source_address"), &loaded->route);
	loaded->nic = nic_name(*nic ? nic : loaded->route.nic);
	/* A socket that is bound to a VRF is found by the VRF. */
	path_measure(loaded);
	port_take(loaded);
	loaded->taker = nic_taker(loaded->nic);
	back_load(loaded);
}

static void paths_load(struct doctor_volume *volume)
{
	size_t i, j;

	volume->paths = alloc_array(NULL, volume_path_count(&volume->volume),
				    sizeof(*volume->paths));
	for (i = 0; i < volume->volume.leg_count; i++) {
		const struct leg *leg = &volume->volume.legs[i];

		for (j = 0; j < leg->path_count; j++)
			path_load(volume, leg, &leg->paths[j],
				  &volume->paths[volume->path_count++]);
	}
}

static int volume_load(struct doctor_volume *volume, const char *name, struct fault *fault)
{
	int ret = tree_read(name, &volume->volume, fault);
	const char *device = volume->volume.device;

	if (ret)
		return ret;
	volume->name = volume->volume.name;
	/* A device name is a name: nothing else is looked up. */
	if (device && *device && !strchr(device, '/'))
		volume->up = !live_read(device, &volume->live) &&
			     volume_was_up(volume->name, device);
	paths_load(volume);
	return 0;
}

static void nics_load(struct doctor *doctor)
{
	size_t i, j;

	for (i = 0; i < doctor->volume_count; i++) {
		const struct doctor_volume *volume = &doctor->volumes[i];

		for (j = 0; volume->checked && j < volume->path_count; j++)
			if (*volume->paths[j].nic)
				file_names_add_new(&doctor->nics, volume->paths[j].nic);
	}
}

/* Some packets may be lost: one answer is enough. */
static bool answers(const struct doctor_path *path, long long bytes)
{
	const char *from = doctor_setting(path, "source_address");
	int i;

	for (i = 0; i < PING_TRIES; i++)
		if (host_ping(path->address, path->nic, from, bytes) > 0)
			return true;
	return false;
}

/*
 * The largest packet that is answered: that of the NIC, or what links and tunnels usually take. 0
 * when there are no answers to small ones, either, before or afterwards.
 */
static long long path_probe(const struct doctor_path *path)
{
	static const long long usual[] = { 9000, 1500, 1492, 1450, 1400, 1280, 576 };
	long long mtu;
	size_t i;

	if (!doctor_nic_number(path->nic, "mtu", &mtu) ||
	    mtu <= HOST_PING_BYTES_MIN || mtu > IP_PACKET_BYTES_MAX ||
	    !answers(path, HOST_PING_BYTES_MIN))
		return 0;
	if (answers(path, mtu))
		return mtu;
	for (i = 0; i < sizeof(usual) / sizeof(*usual); i++)
		if (mtu > usual[i] && answers(path, usual[i]))
			return usual[i];
	return answers(path, HOST_PING_BYTES_MIN) ? HOST_PING_BYTES_MIN : 0;
}

/* Addresses of the loopback, of a dummy, and of a VRF are for all of its NICs. */
static bool is_for_nic(const struct host_address *own, const char *nic)
{
	return !strcmp(own->nic, nic) || !doctor_nic_is_link(own->nic) ||
	       nic_is_port(nic, own->nic);
}

/* With a ping or a connection of it the target would send there what is for that NIC. */
static bool path_borrows4(const struct doctor *doctor, const struct doctor_path *path)
{
	unsigned char source[sizeof(struct in_addr)] = { 0 };
	int i;

	/* That of a route may be of any NIC. */
	if (!path->route.assumed)
		return false;
	inet_pton(AF_INET, path->route.source, source);
	for (i = 0; i < doctor->address_count; i++) {
		const struct host_address *own = &doctor->addresses[i];

		if (own->family == AF_INET &&
		    (!strcmp(own->nic, path->nic) ||
		     (!memcmp(own->bytes, source, sizeof(source)) && is_for_nic(own, path->nic))))
			return false;
	}
	return true;
}

/* The same; an address that is still being checked, say, is passed over for that of another NIC. */
static bool path_borrows6(const struct doctor *doctor, const struct doctor_path *path)
{
	unsigned char source[sizeof(struct in6_addr)];
	int i;

	if (path->route.names_source || inet_pton(AF_INET6, path->route.source, source) != 1)
		return false;
	for (i = 0; i < doctor->address_count; i++) {
		const struct host_address *own = &doctor->addresses[i];

		if (own->family == AF_INET6 && !memcmp(own->bytes, source, sizeof(source)) &&
		    is_for_nic(own, path->nic))
			return false;
	}
	return true;
}

/* Whether the source address would be that of another NIC. A VRF has those of its ports. */
static bool path_borrows(const struct doctor *doctor, const struct doctor_path *path)
{
	const char *nic = doctor_setting(path, "nic");

	if (path->route_error || doctor->address_count < 0 || !*nic ||
	    *doctor_setting(path, "source_address") || nic_is_port(path->nic, nic))
		return false;
	return strchr(path->address, ':') ? path_borrows6(doctor, path) :
					    path_borrows4(doctor, path);
}

/* An earlier path of the volume that leads to the same place, or NULL. */
static const struct doctor_path *path_same(const struct doctor_volume *volume,
					   const struct doctor_path *path)
{
	const struct doctor_path *other;

	for (other = volume->paths; other < path; other++)
		if (!strcmp(other->nic, path->nic) && !strcmp(other->address, path->address) &&
		    !strcmp(doctor_setting(other, "source_address"),
			    doctor_setting(path, "source_address")))
			return other;
	return NULL;
}

static void volume_probe(const struct doctor *doctor, struct doctor_volume *volume)
{
	size_t i;

	for (i = 0; i < volume->path_count; i++) {
		struct doctor_path *path = &volume->paths[i];
		const struct doctor_path *same = path_same(volume, path);

		path->borrows = path_borrows(doctor, path);
		if (!path->route_error && !path->borrows)
			path->reaches_bytes = same ? same->reaches_bytes : path_probe(path);
	}
}

/* Paths that are logged in have shown that their portals answer. */
static bool connect_wanted(const struct doctor_volume *volume, const struct doctor_path *path)
{
	return volume->checked && !path->session && !path->route_error && !path->borrows &&
	       (!path->route.assumed || path->reaches_bytes);
}

/* The number of the try of such a connection: paths of several LUNs share their portals. */
static size_t try_add(struct reach **tries, size_t *count, const struct doctor_path *path)
{
	const struct reach try = {
		.portal = doctor_setting(path, "portal"), .nic = path->nic,
		.from = doctor_setting(path, "source_address"),
	};
	size_t i;

	for (i = 0; i < *count; i++)
		if (reach_same(&(*tries)[i], &try))
			return i;
	*alloc_append(*tries, *count) = try;
	return i;
}

/* At the same time: those that are silent cost one wait. */
static void portals_try(struct doctor *doctor)
{
	struct doctor_path **paths = NULL;
	struct reach *tries = NULL;
	size_t i, j, count = 0, try_count = 0, *numbers = NULL;

	for (i = 0; i < doctor->volume_count; i++)
		for (j = 0; j < doctor->volumes[i].path_count; j++) {
			struct doctor_path *path = &doctor->volumes[i].paths[j];

			if (!connect_wanted(&doctor->volumes[i], path))
				continue;
			paths = alloc_array(paths, count + 1, sizeof(*paths));
			numbers = alloc_array(numbers, count + 1, sizeof(*numbers));
			numbers[count] = try_add(&tries, &try_count, path);
			paths[count++] = path;
		}
	if (try_count)
		reach_try(tries, try_count);
	for (i = 0; i < count; i++) {
		paths[i]->tried = true;
		paths[i]->connect_error = tries[numbers[i]].error;
		paths[i]->rejected = tries[numbers[i]].rejected;
	}
	free(tries);
	free(numbers);
	free(paths);
}

static void volume_unload(struct doctor_volume *volume)
{
	size_t i;

	for (i = 0; i < volume->path_count; i++) {
		free(volume->paths[i].nic);
		free(volume->paths[i].taker);
		free(volume->paths[i].address);
	}
	free(volume->paths);
	volume_free(&volume->volume);
	live_free(&volume->live);
}

/* There is room for it. @named: it is to be there. */
static int volume_add(struct doctor *doctor, const char *name, bool checked, bool named,
		      struct fault *fault)
{
	struct doctor_volume *volume = &doctor->volumes[doctor->volume_count];
	int ret;

	memset(volume, 0, sizeof(*volume));
	volume->checked = checked;
	ret = volume_load(volume, name, fault);
	if (ret) {
		volume_unload(volume);
		return checked && (named || ret != -ENOENT) ? ret : 0;
	}
	doctor->volume_count++;
	if (checked)
		volume_probe(doctor, volume);
	return 0;
}

int doctor_load(struct doctor *doctor, const struct file_names *names, bool named,
		struct fault *fault)
{
	struct file_names all = { 0 };
	int ret = tree_list(&all, fault);
	size_t i;

	for (i = 0; !ret && named && i < names->count; i++)
		ret = tree_has_volume(names->items[i], fault);
	doctor->volumes = alloc_array(NULL, all.count, sizeof(*doctor->volumes));
	doctor->address_count = host_addresses(&doctor->addresses);
	for (i = 0; !ret && i < all.count; i++)
		ret = volume_add(doctor, all.items[i], file_names_have(names, all.items[i]),
				 named, fault);
	if (!ret) {
		portals_try(doctor);
		nics_load(doctor);
	}
	file_names_free(&all);
	return ret;
}

void doctor_unload(struct doctor *doctor)
{
	size_t i;

	for (i = 0; i < doctor->volume_count; i++)
		volume_unload(&doctor->volumes[i]);
	free(doctor->volumes);
	doctor->volumes = NULL;
	doctor->volume_count = 0;
	file_names_free(&doctor->nics);
	free(doctor->addresses);
	doctor->addresses = NULL;
}
