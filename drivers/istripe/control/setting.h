/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A setting: one value that an administrator reads and writes as text, in
 * configfs before a volume is up or in sysfs while it is.
 *
 * A setting is const; the value lives in some object at the setting's offset.
 * The caller's lock covers the object for the time of the call.
 */
#ifndef ISTRIPE_CONTROL_SETTING_H
#define ISTRIPE_CONTROL_SETTING_H

#include <linux/stddef.h>
#include <linux/stringify.h>
#include <linux/types.h>

#include "iscsi/keys.h"

#define ISTRIPE_SETTING_TEXT_BYTES	256	/* longest value of all: 255 bytes and a NUL */

struct istripe_setting;

/* What may be written to a volume's enable. */
enum istripe_power {
	ISTRIPE_POWER_OFF,
	ISTRIPE_POWER_ON,
	ISTRIPE_POWER_FORCE_OFF,	/* whoever uses the disk */
};

/**
 * struct istripe_setting_kind - how values of one sort are read and written
 * @parse:	text without newline and control characters to value; 0 or -EINVAL with
 *		the value as it was
 * @format:	value to text; bytes without the final NUL. NULL: write-only
 * @secret:	the text is never repeated in a message
 * @names:	choices: the name of each value
 * @name_count:	choices: how many there are
 */
struct istripe_setting_kind {
	int (*parse)(const struct istripe_setting *setting, const char *text, void *value);
	int (*format)(const struct istripe_setting *setting, const void *value,
		      char *buf, size_t size);
	bool secret;
	const char *const *names;
	size_t name_count;
};

/**
 * struct istripe_setting - one value with a name
 * @name:	file name
 * @range:	what is allowed, in words; NULL for a key: what its table says
 * @kind:	one of the kinds below
 * @offset:	of the value in its object
 * @size:	of the value, bytes
 * @min:	numbers: least value; secrets: least bytes
 * @max:	numbers: greatest value; keys: counts only with a @range
 * @key:	which key
 */
struct istripe_setting {
	const char *name;
	const char *range;
	const struct istripe_setting_kind *kind;
	size_t offset;
	size_t size;
	s64 min;
	s64 max;
	enum istripe_key key;
};

extern const struct istripe_setting_kind istripe_setting_number;
extern const struct istripe_setting_kind istripe_setting_key;
extern const struct istripe_setting_kind istripe_setting_iscsi_name;
extern const struct istripe_setting_kind istripe_setting_string;
extern const struct istripe_setting_kind istripe_setting_nic;
extern const struct istripe_setting_kind istripe_setting_portal;
extern const struct istripe_setting_kind istripe_setting_address;
extern const struct istripe_setting_kind istripe_setting_isid;
extern const struct istripe_setting_kind istripe_setting_algorithms;
extern const struct istripe_setting_kind istripe_setting_policy;
extern const struct istripe_setting_kind istripe_setting_fence;
extern const struct istripe_setting_kind istripe_setting_multi;
extern const struct istripe_setting_kind istripe_setting_metadata;
extern const struct istripe_setting_kind istripe_setting_chap_secret;
extern const struct istripe_setting_kind istripe_setting_chunk;
extern const struct istripe_setting_kind istripe_setting_metadata_create;
extern const struct istripe_setting_kind istripe_setting_host_disks;
extern const struct istripe_setting_kind istripe_setting_power;
extern const struct istripe_setting_kind istripe_setting_buffer;
extern const struct istripe_setting_kind istripe_setting_congestion_control;

/* What every initializer below begins with: where the value is. */
#define ISTRIPE_SETTING_AT(_object, _field)					\
	.offset = offsetof(_object, _field), .size = sizeof_field(_object, _field)

/* u16, u32 or, with a negative minimum, s32. */
#define ISTRIPE_SETTING_NUMBER(_object, _field, _min, _max)			\
	ISTRIPE_SETTING_AT(_object, _field), .kind = &istripe_setting_number,	\
	.min = (_min), .max = (_max),						\
	.range = "a number from " __stringify(_min) " to " __stringify(_max)

/* 0, or a number of bytes. */
#define ISTRIPE_SETTING_BUFFER(_object, _field, _min, _max)			\
	ISTRIPE_SETTING_AT(_object, _field), .kind = &istripe_setting_buffer,	\
	.min = (_min), .max = (_max),						\
	.range = "0 or a number from " __stringify(_min) " to " __stringify(_max)

/* One value of a struct istripe_keys. */
#define ISTRIPE_SETTING_KEY(_object, _keys, _key)				\
	ISTRIPE_SETTING_AT(_object, _keys.value[_key]),				\
	.kind = &istripe_setting_key, .key = (_key)

/* One of which this version supports no more than a part of what the RFC has. */
#define ISTRIPE_SETTING_KEY_MAX(_object, _keys, _key, _max, _range)		\
	ISTRIPE_SETTING_KEY(_object, _keys, _key), .max = (_max), .range = (_range)

/* All others: an array or struct with its kind. */
#define ISTRIPE_SETTING_OF(_object, _field, _kind, _range)			\
	ISTRIPE_SETTING_AT(_object, _field), .kind = &istripe_setting_##_kind, .range = (_range)

/* Those of a path's sockets, in struct istripe_socket_params. */
#define ISTRIPE_SETTING_DSCP							\
	ISTRIPE_SETTING_NUMBER(struct istripe_socket_params, dscp, 0, 63)
#define ISTRIPE_SETTING_PRIORITY						\
	ISTRIPE_SETTING_NUMBER(struct istripe_socket_params, priority, 0, 7)
#define ISTRIPE_SETTING_USER_TIMEOUT						\
	ISTRIPE_SETTING_NUMBER(struct istripe_socket_params, user_timeout_ms, 0, 3600000)
#define ISTRIPE_SETTING_SEND_BUFFER						\
	ISTRIPE_SETTING_BUFFER(struct istripe_socket_params, send_buffer_bytes, 4096, 536870912)
#define ISTRIPE_SETTING_RECEIVE_BUFFER						\
	ISTRIPE_SETTING_BUFFER(struct istripe_socket_params, receive_buffer_bytes, 4096, 536870912)
#define ISTRIPE_SETTING_CONGESTION_CONTROL					\
	ISTRIPE_SETTING_OF(struct istripe_socket_params, congestion_control,	\
			   congestion_control,					\
			   "a congestion control of this kernel's TCP, or nothing for the default")

#define ISTRIPE_SETTING_FENCES	"path or portal-group"

#define ISTRIPE_SETTING_MULTIS	"auto, sessions or mcs"

#define ISTRIPE_SETTING_POLICIES						\
	"interleave, round-robin, queue-depth, service-time, failover or weighted"

/**
 * istripe_setting_show() - write a value and a newline to a file's page
 * @setting: what to show
 * @object: the object that holds the value
 * @page: page of configfs or sysfs
 *
 * Context: process; the caller keeps @object still.
 * Return: bytes in @page; -EPERM when the setting is write-only.
 */
ssize_t istripe_setting_show(const struct istripe_setting *setting, const void *object,
			     char *page);

/**
 * istripe_setting_store() - take a value from a file's page
 * @setting: what to set
 * @label: whose it is, "volume" or "volume/leg/path", for the log
 * @object: the object that holds the value
 * @page: what was written; one trailing newline is ignored
 * @count: bytes in @page
 *
 * A bad value changes nothing and leaves one line in the log that names the
 * setting, the value unless it is secret, and what is allowed.
 *
 * Context: process; the caller keeps @object to itself.
 * Return: @count, or -EINVAL.
 */
ssize_t istripe_setting_store(const struct istripe_setting *setting, const char *label,
			      void *object, const char *page, size_t count);

/**
 * istripe_setting_text() - take the text out of a file's page
 * @text: filled, NUL-terminated, on success
 * @size: size of @text, bytes
 * @page: what was written
 * @count: bytes in @page
 *
 * Leaves out one trailing newline, refuses control characters and NULs.
 *
 * Context: any.
 * Return: bytes in @text, or -EINVAL.
 */
int istripe_setting_text(char *text, size_t size, const char *page, size_t count);

#endif
