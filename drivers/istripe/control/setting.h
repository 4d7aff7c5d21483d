/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A setting: one value that an administrator reads and writes as text, and its row in the
 * table of all (istripe/settings.h).
 */
#ifndef ISTRIPE_CONTROL_SETTING_H
#define ISTRIPE_CONTROL_SETTING_H

#include <linux/types.h>

#include <istripe/params.h>
#include "iscsi/keys.h"

#define ISTRIPE_SETTING_TEXT_BYTES	256	/* longest value of all: 255 bytes and a NUL */

/* A value of one that is live. */
union istripe_setting_live {
	u32 word;
	char text[ISTRIPE_CONGESTION_CONTROL_BYTES];
};

struct istripe_setting;

/* The column "file" of the table. */
enum istripe_setting_file {
	ISTRIPE_SETTING_FIXED,
	ISTRIPE_SETTING_SECRET,
	ISTRIPE_SETTING_HOTPLUG,
	ISTRIPE_SETTING_SHOWN,
	ISTRIPE_SETTING_LIVE,
};

/**
 * struct istripe_setting_kind - how values of one sort are read and written
 * @parse:	text without newline and control characters to value; 0 or -EINVAL with
 *		the value as it was. A value is at most one store, or is nobody else's
 * @format:	value to text; bytes without the final NUL. NULL: write-only
 * @valid:	texts: may it be this one, which is not empty; NULL: any
 * @allow:	what is allowed, in words; NULL: @range
 * @range:	what is allowed, in words: a format, of the least and the greatest value
 * @secret:	the text is never repeated in a message
 * @warn:	one line in the log for a value that is taken but not good; NULL: none
 */
struct istripe_setting_kind {
	int (*parse)(const struct istripe_setting *setting, const char *text, void *value);
	bool (*valid)(const char *text);
	int (*format)(const struct istripe_setting *setting, const void *value,
		      char *buf, size_t size);
	void (*allow)(const struct istripe_setting *setting, char *buf, size_t size);
	const char *range;
	bool secret;
	void (*warn)(const struct istripe_setting *setting, const char *label, const void *value);
};

/**
 * struct istripe_setting - one value with a name
 * @name:	file name
 * @kind:	one of the kinds below
 * @file:	where it is shown, and when it may be written
 * @apply:	what has to be done for the running volume, leg or path after the value has
 *		changed; NULL: nothing
 * @initial:	the default, as text
 * @offset:	of the value in the params of its directory
 * @running:	shown, live: of the value in what runs
 * @size:	of the value, bytes
 * @min:	numbers: least value; secrets: least bytes
 * @max:	numbers: greatest value; keys: greatest value that this version supports, if
 *		not 0
 * @key:	keys: which
 * @names:	choices: the name of each value
 * @name_count:	choices: how many there are
 */
struct istripe_setting {
	const char *name;
	const struct istripe_setting_kind *kind;
	enum istripe_setting_file file;
	void (*apply)(void *object);
	const char *initial;
	size_t offset;
	size_t running;
	size_t size;
	s64 min;
	s64 max;
	enum istripe_key key;
	const char *const *names;
	size_t name_count;
};

extern const struct istripe_setting_kind istripe_setting_number;
extern const struct istripe_setting_kind istripe_setting_buffer;
extern const struct istripe_setting_kind istripe_setting_chunk;
extern const struct istripe_setting_kind istripe_setting_choice;
extern const struct istripe_setting_kind istripe_setting_key;
extern const struct istripe_setting_kind istripe_setting_text;
extern const struct istripe_setting_kind istripe_setting_iscsi_name;
extern const struct istripe_setting_kind istripe_setting_nic;
extern const struct istripe_setting_kind istripe_setting_portal;
extern const struct istripe_setting_kind istripe_setting_address;
extern const struct istripe_setting_kind istripe_setting_isid;
extern const struct istripe_setting_kind istripe_setting_algorithms;
extern const struct istripe_setting_kind istripe_setting_chap_secret;
extern const struct istripe_setting_kind istripe_setting_congestion_control;

/* A value and a newline to a page of configfs or sysfs; -EPERM when it is write-only. */
ssize_t istripe_setting_show(const struct istripe_setting *setting, const void *value,
			     char *page);

/*
 * Takes a value that is the caller's alone from a file's page; one trailing newline is ignored.
 * @label is "volume" or "volume/leg/path", for the log. A bad value changes nothing and leaves one
 * line in the log: the setting, the value unless it is secret, and what is allowed. -EINVAL then.
 */
ssize_t istripe_setting_store(const struct istripe_setting *setting, const char *label,
			      void *value, const char *page, size_t count);

#endif
