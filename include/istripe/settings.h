/* SPDX-License-Identifier: GPL-2.0 */
/*
 * All settings, one row each:
 *
 *	_row(name, file, apply, default, kind, (field of struct istripe_..._params, ...))
 *
 * name		of the file, in configfs and in sysfs
 * file		fixed	in configfs only
 *		secret	in configfs only, cannot be read
 *		hotplug	in configfs only; while the volume is up its own function changes it
 *		shown	also in sysfs, as it is in use; sysfs files of settings are read-only
 *		live	as shown; a write to configfs while the volume is up takes effect at once
 * apply	live: what has to be done after the value has changed; nothing: it is read where
 *		it counts. A function apply_...() of control/table.c
 *		login	of a path, not live: may be written while none of its sessions is live,
 *			and its next login, which is tried at once, is with it
 * default	as text
 * kind		how it is read and written: istripe_setting_... of control/setting.c
 *
 * The table makes the files in both trees, the defaults (control/table.c), what istripectl
 * knows, and the configfs of its tests. Documentation/ABI and tests/system/test_configfs.py
 * repeat it independently; tests compare them with the files.
 */
#ifndef ISTRIPE_SETTINGS_H
#define ISTRIPE_SETTINGS_H

#define ISTRIPE_LEGS_MAX		64
#define ISTRIPE_PATHS_MAX		16	/* per leg */
#define ISTRIPE_CONNECTIONS_MAX		8	/* per path */
#define ISTRIPE_WEIGHT_MAX		1000

/* The values of enums, and their names. */
#define ISTRIPE_POLICY_CHOICES(_choice)							\
	_choice(ISTRIPE_POLICY_INTERLEAVE, "interleave")				\
	_choice(ISTRIPE_POLICY_ROUND_ROBIN, "round-robin")				\
	_choice(ISTRIPE_POLICY_QUEUE_DEPTH, "queue-depth")				\
	_choice(ISTRIPE_POLICY_SERVICE_TIME, "service-time")				\
	_choice(ISTRIPE_POLICY_FAILOVER, "failover")					\
	_choice(ISTRIPE_POLICY_WEIGHTED, "weighted")

#define ISTRIPE_FENCE_CHOICES(_choice)							\
	_choice(ISTRIPE_FENCE_AUTO, "auto")						\
	_choice(ISTRIPE_FENCE_SESSION, "session")					\
	_choice(ISTRIPE_FENCE_PATH, "path")

#define ISTRIPE_ALUA_CHOICES(_choice)							\
	_choice(ISTRIPE_ALUA_ON, "on")							\
	_choice(ISTRIPE_ALUA_OFF, "off")

#define ISTRIPE_MULTI_CHOICES(_choice)							\
	_choice(ISTRIPE_MULTI_AUTO, "auto")						\
	_choice(ISTRIPE_MULTI_SESSIONS, "sessions")					\
	_choice(ISTRIPE_MULTI_MCS, "mcs")

#define ISTRIPE_METADATA_CHOICES(_choice)						\
	_choice(ISTRIPE_METADATA_NONE, "none")						\
	_choice(ISTRIPE_METADATA_MD, "md")

#define ISTRIPE_METADATA_CREATE_CHOICES(_choice)					\
	_choice(ISTRIPE_METADATA_KEEP, "0")						\
	_choice(ISTRIPE_METADATA_CREATE, "1")						\
	_choice(ISTRIPE_METADATA_FORCE, "force")

#define ISTRIPE_HOST_DISKS_CHOICES(_choice)						\
	_choice(ISTRIPE_HOST_DISK_REFUSE, "refuse")					\
	_choice(ISTRIPE_HOST_DISK_CLAIM, "claim")

#define ISTRIPE_VOLUME_SETTINGS(_row)							\
	_row(initiator_name, shown, nothing, "", iscsi_name, (initiator_name))		\
	_row(chunk_bytes, fixed, nothing, "65536", chunk, (chunk, 4096, 4194304))	\
	_row(metadata, fixed, nothing, "md", choice, (metadata, ISTRIPE_METADATA_CHOICES)) \
	_row(metadata_create, fixed, nothing, "0", choice,				\
	     (metadata_create, ISTRIPE_METADATA_CREATE_CHOICES))			\
	_row(host_disks, fixed, nothing, "refuse", choice,				\
	     (host_disks, ISTRIPE_HOST_DISKS_CHOICES))					\
	_row(queue_depth, shown, nothing, "128", number, (queue_depth, 1, 1024))	\
	_row(poll_queues, fixed, nothing, "0", number, (poll_queues, 0, 1024))		\
	_row(command_timeout_ms, live, command_timeout, "30000", number,		\
	     (command_timeout_ms, 1000, 3600000))					\
	_row(recovery_timeout_ms, live, recovery_timeout, "120000", number,		\
	     (recovery_timeout_ms, -1, 2147483647))

#define ISTRIPE_LEG_SETTINGS(_row)							\
	_row(designator, fixed, nothing, "", text, (designator))			\
	_row(policy, live, nothing, "interleave", choice, (policy, ISTRIPE_POLICY_CHOICES)) \
	_row(fence, live, fence, "auto", choice, (fence, ISTRIPE_FENCE_CHOICES))	\
	_row(fence_timeout_ms, live, fence_timeout, "-1", number,			\
	     (fence_timeout_ms, -1, 2147483647))					\
	_row(ghost_timeout_ms, live, fence_timeout, "5000", number,			\
	     (ghost_timeout_ms, -1, 2147483647))					\
	_row(alua, live, alua, "on", choice, (alua, ISTRIPE_ALUA_CHOICES))

#define ISTRIPE_PATH_SETTINGS(_row)							\
	_row(portal, shown, nothing, "", portal, (portal))				\
	_row(source_address, shown, login, "", address, (source_address))		\
	_row(nic, shown, login, "", nic, (nic))					\
	_row(target_name, shown, nothing, "", iscsi_name, (target_name))		\
	_row(lun, shown, nothing, "0", number, (lun, 0, 16383))				\
	_row(weight, live, nothing, "1", number, (weight, 1, ISTRIPE_WEIGHT_MAX))		\
	_row(isid, fixed, nothing, "", isid, (isid))					\
	_row(chap_user, fixed, login, "", text, (chap.own.name))				\
	_row(chap_secret, secret, login, "", chap_secret, (chap.own, 1, 255))		\
	_row(chap_mutual_user, fixed, login, "", text, (chap.target.name))		\
	_row(chap_mutual_secret, secret, login, "", chap_secret, (chap.target, 1, 255))	\
	_row(chap_algorithms, fixed, login, "", algorithms, (chap.algorithms))		\
	_row(header_digest, fixed, nothing, "None", key, (HEADER_DIGEST))		\
	_row(data_digest, fixed, nothing, "None", key, (DATA_DIGEST))			\
	_row(connections, hotplug, nothing, "1", key_max,				\
	     (MAX_CONNECTIONS, ISTRIPE_CONNECTIONS_MAX))				\
	_row(multi, shown, nothing, "auto", choice, (multi, ISTRIPE_MULTI_CHOICES))	\
	_row(initial_r2t, fixed, nothing, "No", key, (INITIAL_R2T))			\
	_row(immediate_data, fixed, nothing, "Yes", key, (IMMEDIATE_DATA))		\
	_row(max_recv_data_segment_length, fixed, nothing, "262144", key,		\
	     (MAX_RECV_DATA_SEGMENT_LENGTH))						\
	_row(max_burst_length, fixed, nothing, "1048576", key, (MAX_BURST_LENGTH))	\
	_row(first_burst_length, fixed, nothing, "262144", key, (FIRST_BURST_LENGTH))	\
	_row(max_outstanding_r2t, fixed, nothing, "16", key_max,			\
	     (MAX_OUTSTANDING_R2T, ISTRIPE_TASK_R2T_MAX))				\
	_row(default_time2wait, fixed, nothing, "2", key, (DEFAULT_TIME2WAIT))		\
	_row(default_time2retain, fixed, nothing, "20", key, (DEFAULT_TIME2RETAIN))	\
	_row(error_recovery_level, fixed, nothing, "0", key, (ERROR_RECOVERY_LEVEL))	\
	_row(login_timeout_ms, live, nothing, "15000", number,				\
	     (timers.login_timeout_ms, 100, 600000))					\
	_row(ping_interval_ms, live, keepalive, "2000", number,				\
	     (timers.ping_interval_ms, 0, 3600000))					\
	_row(ping_timeout_ms, live, keepalive, "3000", number,				\
	     (timers.ping_timeout_ms, 100, 3600000))					\
	_row(login_retry_max_ms, live, login_retry, "10000", number,			\
	     (timers.login_retry_max_ms, 1000, 600000))					\
	_row(dscp, live, sockets, "0", number, (socket.dscp, 0, 63))			\
	_row(priority, live, sockets, "0", number, (socket.priority, 0, 7))		\
	_row(congestion_control, live, sockets, "", congestion_control,			\
	     (socket.congestion_control))						\
	_row(user_timeout_ms, live, sockets, "0", number, (socket.user_timeout_ms, 0, 3600000)) \
	_row(send_buffer_bytes, live, sockets, "0", buffer,				\
	     (socket.send_buffer_bytes, 4096, 536870912))				\
	_row(receive_buffer_bytes, live, sockets, "0", buffer,				\
	     (socket.receive_buffer_bytes, 4096, 536870912))

#endif
