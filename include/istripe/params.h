/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The params of a volume: its settings (istripe/settings.h) as plain values.
 *
 * configfs fills them; the block layer copies what it needs when the volume is started and never
 * points back.
 */
#ifndef ISTRIPE_PARAMS_H
#define ISTRIPE_PARAMS_H

#include <linux/if.h>
#include <linux/in6.h>
#include <linux/minmax.h>
#include <linux/socket.h>
#include <linux/types.h>

#include <istripe/settings.h>
#include "iscsi/keys.h"

#define ISTRIPE_NAME_BYTES		64	/* volume name, with NUL */
#define ISTRIPE_ISCSI_NAME_BYTES	224	/* RFC 7143 4.2.7.1: 223 bytes and a NUL */
#define ISTRIPE_DESIGNATOR_BYTES	132
#define ISTRIPE_CHAP_NAME_BYTES		256
#define ISTRIPE_CHAP_SECRET_BYTES	256
#define ISTRIPE_PARTS_MIN		4U	/* room for the paths that are added later */
#define ISTRIPE_PARTS_MAX		8	/* of one request on one leg, over as many paths */
#define ISTRIPE_CONGESTION_CONTROL_BYTES	16	/* TCP_CA_NAME_MAX, with NUL */
#define ISTRIPE_ISID_NEXUS_SHIFT	2	/* in byte 4: bits that no path's index uses */

/* Times and limits that may change while the volume is up. */
struct istripe_timers {
	u32 login_timeout_ms;		/* of connect, of login, of a LUN's answer */
	u32 ping_interval_ms;		/* silence before a NOP-Out; 0: never ping */
	u32 ping_timeout_ms;		/* silence after it before the path is lost */
	u32 login_retry_max_ms;		/* longest wait between two attempts to log in */
};

/* Of a path's TCP sockets, live; all zero: what the system does by itself. */
struct istripe_socket_params {
	u32 dscp;			/* 0..63 */
	u32 priority;			/* 0..7, SO_PRIORITY */
	u32 user_timeout_ms;		/* 0: TCP's retries decide */
	u32 send_buffer_bytes;		/* 0: TCP tunes it */
	u32 receive_buffer_bytes;	/* 0: TCP tunes it */
	char congestion_control[ISTRIPE_CONGESTION_CONTROL_BYTES];	/* empty: the default */
};

/* One direction of CHAP; secret_bytes 0 means not configured. */
struct istripe_chap_identity {
	char name[ISTRIPE_CHAP_NAME_BYTES];
	u8 secret[ISTRIPE_CHAP_SECRET_BYTES];
	u32 secret_bytes;
};

/* Writes of a session were sent again without a fence: a login in its portal group drains them. */
struct istripe_undrained {
	bool any;
	bool super;		/* a superblock of ours: no other is written before */
	struct istripe_tpgt tpgt;	/* where that session was */
};

/* Both directions, as a path's logins have them. */
struct istripe_credentials {
	struct istripe_chap_identity own;	/* we prove ourselves with it */
	struct istripe_chap_identity target;	/* the target must prove this */
	u32 algorithms;			/* mask, bit n: CHAP_A n; 0: all the kernel has */
};

/* The writes that a session has left when its volume went down, or its path. */
struct istripe_unfenced {
	bool unfenced;			/* writes failed that the target may still carry out */
	struct istripe_tpgt tpgt;	/* where that session was */
	struct istripe_undrained undrained;	/* up all the same */
	u32 fingerprint;		/* whose session it was, see control/params.h */
	u32 nexus_print;		/* the same, over whatever portal */
};

/* How a path with several connections uses them. */
enum istripe_multi {
	ISTRIPE_MULTI_AUTO,
	ISTRIPE_MULTI_SESSIONS,		/* as many sessions of one connection */
	ISTRIPE_MULTI_MCS,		/* one session, as far as the target grants */
};

struct istripe_path_params {
	u32 index;				/* its number, 0..ISTRIPE_PATHS_MAX - 1 */
	struct sockaddr_storage portal;		/* AF_UNSPEC: not set */
	struct sockaddr_storage source_address;	/* AF_UNSPEC: any */
	char nic[IFNAMSIZ];			/* empty: any */
	char target_name[ISTRIPE_ISCSI_NAME_BYTES];
	u16 lun;
	u8 isid[6];				/* all zero: derived by the driver */
	struct istripe_credentials chap;
	enum istripe_multi multi;
	struct istripe_keys offer;
	struct istripe_timers timers;
	struct istripe_socket_params socket;	/* see transport/socket.h */
	u32 weight;				/* 1..ISTRIPE_WEIGHT_MAX, live */
	/* No setting; of each nexus, filled in at enable of the volume or the path. */
	struct istripe_unfenced saved[ISTRIPE_CONNECTIONS_MAX];
};

/**
 * istripe_path_connections() - how many connections a path, or its session, is to have
 * @path: the path's settings
 *
 * Context: any.
 * Return: 1..ISTRIPE_CONNECTIONS_MAX.
 */
static inline u32 istripe_path_connections(const struct istripe_path_params *path)
{
	return clamp(path->offer.value[ISTRIPE_KEY_MAX_CONNECTIONS], 1u,
		     (u32)ISTRIPE_CONNECTIONS_MAX);
}

/**
 * istripe_isid_of_nexus() - make the ISID of a path's first session that of another one
 * @isid: of the first session, changed in its qualifier (RFC 7143 11.12.5)
 * @nexus: 0..ISTRIPE_CONNECTIONS_MAX - 1; 0 changes nothing
 *
 * Context: any.
 */
static inline void istripe_isid_of_nexus(u8 isid[6], u32 nexus)
{
	isid[4] ^= nexus << ISTRIPE_ISID_NEXUS_SHIFT;
}

/* The choice of a live path for a task. */
enum istripe_policy {
	ISTRIPE_POLICY_INTERLEAVE,	/* large requests over all, others as service-time */
	ISTRIPE_POLICY_ROUND_ROBIN,
	ISTRIPE_POLICY_QUEUE_DEPTH,	/* fewest tasks in flight */
	ISTRIPE_POLICY_SERVICE_TIME,	/* fewest bytes in flight for its weight */
	ISTRIPE_POLICY_FAILOVER,	/* the first one that is live */
	ISTRIPE_POLICY_WEIGHTED,	/* in turns, as many as its weight */
	ISTRIPE_POLICY_COUNT
};

/* The way to end a lost path's session, so that its writes may be sent again. */
enum istripe_fence {
	ISTRIPE_FENCE_AUTO,		/* through the path, or a proven sibling */
	ISTRIPE_FENCE_PATH,		/* only a login through the path itself */
	ISTRIPE_FENCE_SESSION,		/* as auto, and nothing is sent again before */
};

/* Access states of target ports: some targets report states that are not so. */
enum istripe_alua {
	ISTRIPE_ALUA_ON,
	ISTRIPE_ALUA_OFF,		/* not asked for, all ports are as good */
};

struct istripe_leg_params {
	enum istripe_policy policy;
	enum istripe_fence fence;
	s32 fence_timeout_ms;		/* -1: none */
	s32 ghost_timeout_ms;		/* -1: none */
	enum istripe_alua alua;
	char designator[ISTRIPE_DESIGNATOR_BYTES];	/* empty: accept and remember */
	u32 path_count;
	struct istripe_path_params *paths;
};

enum istripe_metadata_kind {
	ISTRIPE_METADATA_NONE,		/* laid out as dm-stripe */
	ISTRIPE_METADATA_MD,		/* superblocks of Linux MD, version 1.2, level raid0 */
};

/* The next start's handling of superblocks. */
enum istripe_metadata_create {
	ISTRIPE_METADATA_KEEP,		/* reads and checks them */
	ISTRIPE_METADATA_CREATE,	/* writes new ones on legs that hold nothing known */
	ISTRIPE_METADATA_FORCE,		/* writes new ones on any legs */
};

/* The interleave; superblocks need not agree with what nobody has written. */
struct istripe_chunk {
	u32 bytes;	/* first: it is shown as a number */
	bool given;
};

/* A SCSI disk of this host is a LUN of the volume, and nobody uses it. */
enum istripe_host_disk {
	ISTRIPE_HOST_DISK_REFUSE,	/* the volume does not come up */
	ISTRIPE_HOST_DISK_CLAIM,	/* it does, and keeps the disk from being used */
};

struct istripe_volume_params {
	char name[ISTRIPE_NAME_BYTES];
	char initiator_name[ISTRIPE_ISCSI_NAME_BYTES];
	enum istripe_metadata_kind metadata;
	enum istripe_metadata_create metadata_create;
	enum istripe_host_disk host_disks;
	struct istripe_chunk chunk;
	u32 queue_depth;		/* requests in flight */
	u32 poll_queues;		/* hardware queues for requests that are polled */
	u32 command_timeout_ms;
	s32 recovery_timeout_ms;	/* -1: for ever */
	u32 leg_count;
	struct istripe_leg_params *legs;
};

#endif
