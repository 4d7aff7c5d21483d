/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Checks of a machine that is in use: how they find things and say what they have found.
 *
 * doctor.c has the table of checks. A check of a file doctor_*.c is called once for each thing of
 * its kind, and calls doctor_pass(), doctor_warn() or doctor_skip(), each as often as it likes. It
 * warns only about a value that it has read; what it cannot read it skips.
 */
#ifndef ISTRIPECTL_DOCTOR_H
#define ISTRIPECTL_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>

#include "fault.h"
#include "file.h"
#include "host_net.h"
#include "live.h"
#include "model.h"
#include "printf.h"

/* A path as it is configured, as it is, and as the host's network sees it. */
struct doctor_path {
	const struct leg *leg;
	const struct path *path;
	const struct live *live;	/* NULL: the volume that is up does not have it */
	const struct live *session;	/* NULL: it is not logged in */
	char *nic;			/* nic of the path, of a VRF its port, else of the route */
	char *taker;			/* master of @nic that gets what it receives, or NULL */
	char *address;			/* of the portal */
	struct host_route route;
	int route_error;		/* 0: route is set */
	char back[IF_NAMESIZE];		/* NIC of the route to the portal by itself, or empty */
	bool borrows;			/* the source address would be that of another NIC */
	long long reaches_bytes;	/* the largest packet that was answered, 0: not known */
	bool tried;			/* to connect, since it is not logged in */
	int connect_error;		/* 0: it was answered */
	bool rejected;			/* by a firewall that says -ECONNREFUSED */
	bool measured;			/* tcp is set: the sum of all of its connections */
	struct host_tcp tcp;
	unsigned int rtt_us;		/* of TCP, else of pings; 0: not known */
};

struct doctor_volume {
	const char *name;
	struct volume volume;
	struct live live;
	bool up;
	bool checked;			/* whether it was asked for */
	struct doctor_path *paths;
	size_t path_count;
};

struct doctor_check;
struct doctor_finding;

struct doctor {
	struct doctor_volume *volumes;	/* all of this host */
	size_t volume_count;
	struct file_names files;	/* volumes that have a file only */
	char *module_step;		/* to load it; NULL: it is loaded */
	struct file_names nics;		/* of the volumes that are checked */
	struct host_address *addresses;
	int address_count;		/* or -errno */
	/* Of the check that runs: */
	const char *lldp;		/* of lldpctl */
	const struct doctor_check *check;
	const char *volume;		/* NULL: the host's */
	char *subject;
	size_t passed;
	struct doctor_finding *findings;
	size_t finding_count;
};

/* All texts are for free(), and are taken. */
struct doctor_warning {
	char *subject;		/* NULL: the thing that the check was called for */
	char *measured;
	char *wanted;
	char *next;		/* a command */
};

/**
 * doctor_pass() - something is as it should be
 * @doctor: where to
 */
void doctor_pass(struct doctor *doctor);

/**
 * doctor_warn() - something is not
 * @doctor: where to
 * @warning: what; its texts are taken
 * @why: what comes of it, as for printf()
 */
void doctor_warn(struct doctor *doctor, const struct doctor_warning *warning, const char *why, ...)
	__printf(3, 4);

/**
 * doctor_skip() - something cannot be told
 * @doctor: where to
 * @fmt: the reason, as for printf()
 */
void doctor_skip(struct doctor *doctor, const char *fmt, ...) __printf(2, 3);

/**
 * doctor_unread() - something cannot be told, since a file or a driver does not say it
 * @doctor: where to
 * @what: which value
 * @error: a negative errno, or 0
 */
void doctor_unread(struct doctor *doctor, const char *what, int error);

/**
 * doctor_edit_step() - have a file edited
 * @file: which one
 * @then: the command that follows
 *
 * Return: the commands, for free().
 */
char *doctor_edit_step(const char *file, const char *then);

/**
 * doctor_down_step() - a change that needs a volume down
 * @volume: one that is down stays so: another host may have it
 * @change: the commands that make it; taken
 *
 * Return: the commands, for free().
 */
char *doctor_down_step(const struct doctor_volume *volume, char *change);

/* Of doctor_load.c: */

/**
 * doctor_load() - read all volumes of this host, and the network as their paths see it
 * @doctor: zeroed by the caller, filled
 * @names: the volumes that are checked
 * @named: they have to be there; else they may be gone meanwhile, as others always may
 * @fault: set on failure
 *
 * Return: 0; -errno.
 */
int doctor_load(struct doctor *doctor, const struct file_names *names, bool named,
		struct fault *fault);

/**
 * doctor_unload() - free what doctor_load() has read
 * @doctor: its volumes are gone afterwards
 */
void doctor_unload(struct doctor *doctor);

/**
 * doctor_setting() - a setting of a path
 * @path: which path
 * @name: the setting
 *
 * Return: its value as configured, empty when there is none.
 */
const char *doctor_setting(const struct doctor_path *path, const char *name);

/**
 * doctor_setting_number() - a setting of a path that is a number
 * @path: which path
 * @name: the setting
 *
 * Return: its value, 0 when there is none.
 */
long long doctor_setting_number(const struct doctor_path *path, const char *name);

/**
 * doctor_allowed() - a value that a setting takes
 * @name: the setting, a number
 * @value: what it is to be
 *
 * Return: the nearest value that it takes.
 */
long long doctor_allowed(const char *name, long long value);

/**
 * doctor_tcp_is_judged() - whether TCP has sent enough to tell what it has lost
 * @tcp: of one path
 *
 * Return: whether it has.
 */
bool doctor_tcp_is_judged(const struct host_tcp *tcp);

/**
 * doctor_tcp_loses() - whether more than one of 1000 bytes was sent again
 * @tcp: of one path
 *
 * Return: whether it was.
 */
bool doctor_tcp_loses(const struct host_tcp *tcp);

/**
 * doctor_path_file() - the configfs file of a path's setting
 * @doctor: the volume that is checked
 * @path: a path of it
 * @name: the setting
 *
 * Return: its path, for free().
 */
char *doctor_path_file(const struct doctor *doctor, const struct doctor_path *path,
		       const char *name);

/**
 * doctor_legs() - call a check for the paths of each leg that has several
 * @doctor: gets the name of the leg as subject; a skip, when each has one path
 * @volume: its legs
 * @check: what is called
 */
void doctor_legs(struct doctor *doctor, const struct doctor_volume *volume,
		 void (*check)(struct doctor *doctor, const struct doctor_volume *volume,
			       const struct doctor_path *paths, size_t count));

/**
 * doctor_volume_of() - the volume that is checked
 * @doctor: a check of a volume or of a path runs
 *
 * Return: the volume.
 */
const struct doctor_volume *doctor_volume_of(const struct doctor *doctor);

/**
 * doctor_value() - a value of a volume that is up, else as it is configured
 * @volume: which volume
 * @name: the file
 *
 * Return: the value, empty when there is none.
 */
const char *doctor_value(const struct doctor_volume *volume, const char *name);

/**
 * doctor_recovery_fails() - what a change of recovery_timeout_ms would do to I/O that waits now
 * @volume: which volume
 * @from_ms: its value; negative: I/O waits without end
 * @to_ms: what it is to be
 *
 * Return: the end of a sentence; empty when nothing waits, or it may wait as long as before.
 */
const char *doctor_recovery_fails(const struct doctor_volume *volume, long long from_ms,
				  long long to_ms);

/**
 * doctor_nic_number() - a number that the kernel has about an interface
 * @nic: its name, or empty
 * @file: below /sys/class/net/NIC
 * @value: set when it is there
 *
 * Return: whether it is there, and greater than 0.
 */
bool doctor_nic_number(const char *nic, const char *file, long long *value);

/**
 * doctor_anew_step() - replace a path by another one to the same portal, which is added first
 * @doctor: the volume that is checked
 * @path: a path of it
 * @list: settings of the other one
 *
 * Return: the commands, for free(). When they need a secret, nothing is removed.
 */
char *doctor_anew_step(const struct doctor *doctor, const struct doctor_path *path,
		       const char *list);

/**
 * doctor_nic_is_loopback() - whether an interface is the loopback
 * @nic: its name
 *
 * Return: whether it is.
 */
bool doctor_nic_is_loopback(const char *nic);

/**
 * doctor_nic_is_link() - whether an interface leads anywhere
 * @nic: its name
 *
 * Return: false for lo and a dummy, whose addresses are the host's own over whatever link.
 */
bool doctor_nic_is_link(const char *nic);

/**
 * doctor_lower_nics() - the interfaces at the bottom of one, as the ports of a bond
 * @nic: its name
 * @names: zeroed by the caller, filled; itself when it stands on no other
 */
void doctor_lower_nics(const char *nic, struct file_names *names);

/* Of doctor_link.c: */

/* Behind a command that resets the interface, as most drivers do for it. */
#define DOCTOR_LINK_DOWN	" # the link goes down for a moment"

/**
 * doctor_link_is_needed() - whether a leg has lost a path and needs this link until that is back
 * @doctor: all volumes
 * @nic: the interface
 *
 * Return: whether one does.
 */
bool doctor_link_is_needed(const struct doctor *doctor, const char *nic);

/**
 * doctor_link_may_go_down() - whether no leg needs the link, as doctor_link_is_needed() says
 * @doctor: gets a skip if one does
 * @nic: the interface
 *
 * Return: whether it may.
 */
bool doctor_link_may_go_down(struct doctor *doctor, const char *nic);

/* Checks of the host */
void doctor_subnet_arp(struct doctor *doctor);
void doctor_subnet_rp_filter(struct doctor *doctor);
void doctor_tcp_options(struct doctor *doctor);
void doctor_tcp_memory(struct doctor *doctor);
void doctor_tcp_pressure(struct doctor *doctor);
void doctor_governor(struct doctor *doctor);
void doctor_clock(struct doctor *doctor);
void doctor_initiator_file(struct doctor *doctor);
void doctor_secret_modes(struct doctor *doctor);

/* Checks of a network interface that a path uses */
void doctor_link(struct doctor *doctor, const char *nic);
void doctor_duplex(struct doctor *doctor, const char *nic);
void doctor_link_errors(struct doctor *doctor, const char *nic);
void doctor_pause(struct doctor *doctor, const char *nic);
void doctor_rings(struct doctor *doctor, const char *nic);
void doctor_offloads(struct doctor *doctor, const char *nic);
void doctor_interrupts(struct doctor *doctor, const char *nic);

/* Checks of a volume */
void doctor_volume_state(struct doctor *doctor, const struct doctor_volume *volume);
void doctor_single_path(struct doctor *doctor, const struct doctor_volume *volume);
void doctor_shared_nic(struct doctor *doctor, const struct doctor_volume *volume);
void doctor_speeds(struct doctor *doctor, const struct doctor_volume *volume);
void doctor_mtus(struct doctor *doctor, const struct doctor_volume *volume);
void doctor_slow_path(struct doctor *doctor, const struct doctor_volume *volume);
void doctor_slow_leg(struct doctor *doctor, const struct doctor_volume *volume);
void doctor_slow_start(struct doctor *doctor, const struct doctor_volume *volume);
void doctor_recovery(struct doctor *doctor, const struct doctor_volume *volume);
void doctor_shared_switch(struct doctor *doctor, const struct doctor_volume *volume);
void doctor_session_twice(struct doctor *doctor, const struct doctor_volume *volume);
void doctor_open_iscsi_session(struct doctor *doctor, const struct doctor_volume *volume);
void doctor_open_iscsi_record(struct doctor *doctor, const struct doctor_volume *volume);
void doctor_scheduler(struct doctor *doctor, const struct doctor_volume *volume);
void doctor_read_ahead(struct doctor *doctor, const struct doctor_volume *volume);
void doctor_max_sectors(struct doctor *doctor, const struct doctor_volume *volume);
void doctor_chunk(struct doctor *doctor, const struct doctor_volume *volume);
void doctor_throttling(struct doctor *doctor, const struct doctor_volume *volume);
void doctor_write_cache(struct doctor *doctor, const struct doctor_volume *volume);
void doctor_conf(struct doctor *doctor, const struct doctor_volume *volume);
void doctor_unit(struct doctor *doctor, const struct doctor_volume *volume);
void doctor_fstab(struct doctor *doctor, const struct doctor_volume *volume);
void doctor_crypttab(struct doctor *doctor, const struct doctor_volume *volume);
void doctor_multipath(struct doctor *doctor, const struct doctor_volume *volume);

/* Checks of a path */
void doctor_path_state(struct doctor *doctor, const struct doctor_path *path);
void doctor_second_host(struct doctor *doctor, const struct doctor_path *path);
void doctor_route(struct doctor *doctor, const struct doctor_path *path);
void doctor_portal(struct doctor *doctor, const struct doctor_path *path);
void doctor_path_mtu(struct doctor *doctor, const struct doctor_path *path);
void doctor_tcp_buffers(struct doctor *doctor, const struct doctor_path *path);
void doctor_congestion(struct doctor *doctor, const struct doctor_path *path);
void doctor_tcp_loss(struct doctor *doctor, const struct doctor_path *path);
void doctor_negotiated(struct doctor *doctor, const struct doctor_path *path);
void doctor_digests(struct doctor *doctor, const struct doctor_path *path);
void doctor_fence(struct doctor *doctor, const struct doctor_path *path);
void doctor_timers(struct doctor *doctor, const struct doctor_path *path);

#endif
