// SPDX-License-Identifier: GPL-2.0
/* doctor: what has been negotiated with the target. */
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "doctor.h"
#include "fact.h"
#include "place.h"

/* A value is bad when it is @bad or, as a number, less than @least. */
static const struct {
	const char *key;
	const char *setting;		/* NULL: only the target decides */
	const char *bad;
	long long least;
	const char *wanted;
	const char *why;
} rules[] = {
	{ "ImmediateData", "immediate_data", "No", 0, "Yes",
	  "each write waits for a round trip before its data are sent" },
	{ "InitialR2T", "initial_r2t", "Yes", 0, "No",
	  "what is more than the immediate data of a write waits for a round trip" },
	{ "MaxOutstandingR2T", "max_outstanding_r2t", NULL, 2, "16",
	  "a large write stops after each burst until the target asks for the next one" },
	{ "MaxBurstLength", "max_burst_length", NULL, 262144, "1048576",
	  "large transfers are cut into small bursts" },
	{ "FirstBurstLength", "first_burst_length", NULL, 65536, "262144",
	  "writes that could be sent at once wait for a round trip" },
	{ "MaxXmitDataSegmentLength", NULL, NULL, 65536, "262144",
	  "data are sent in small PDUs" },
	{ "MaxRecvDataSegmentLength", "max_recv_data_segment_length", NULL, 65536, "262144",
	  "data are received in small PDUs" },
};

static const char *key_value(const struct doctor_path *path, const char *group, const char *key)
{
	const struct live *keys = live_child(path->session, group);

	return keys ? settings_value(&keys->values, key) : "";
}

static bool value_is_bad(size_t rule, const char *value)
{
	if (rules[rule].bad)
		return !strcmp(value, rules[rule].bad);
	return strtoll(value, NULL, 10) < rules[rule].least;
}

static char *target_step(const struct doctor_path *path, const char *key, const char *value)
{
	return alloc_printf("at the target, as Linux's: targetcli /iscsi/%s/tpg%s set %s %s=%s",
			    doctor_setting(path, "target_name"),
			    settings_value(&path->session->values, "target_portal_group_tag"),
			    "parameter", key, value);
}

/* Change what is offered if that is the cause, else the target. */
static char *next_step(const struct doctor *doctor, const struct doctor_path *path, size_t rule)
{
	const char *key = rules[rule].key, *wanted = rules[rule].wanted;
	const char *offered = key_value(path, "offered", key);
	char *file, *change;

	if (!rules[rule].setting || !*offered || !value_is_bad(rule, offered))
		return target_step(path, strcmp(key, "MaxXmitDataSegmentLength") ? key :
				   "MaxRecvDataSegmentLength", wanted);
	file = doctor_path_file(doctor, path, rules[rule].setting);
	change = alloc_printf("echo %s > %s", wanted, file);
	free(file);
	return doctor_down_step(doctor_volume_of(doctor), change);
}

void doctor_negotiated(struct doctor *doctor, const struct doctor_path *path)
{
	size_t i;

	if (!path->session) {
		doctor_skip(doctor, "it is not logged in");
		return;
	}
	for (i = 0; i < sizeof(rules) / sizeof(*rules); i++) {
		const char *value = key_value(path, "negotiated", rules[i].key);

		if (!*value)
			doctor_unread(doctor, rules[i].key, 0);
		else if (!value_is_bad(i, value))
			doctor_pass(doctor);
		else
			doctor_warn(doctor, &(struct doctor_warning){
				.measured = alloc_printf("%s=%s", rules[i].key, value),
				.wanted = alloc_printf("%s=%s", rules[i].key, rules[i].wanted),
				.next = next_step(doctor, path, i),
			},
			"%s", rules[i].why);
	}
}

/* Digests */

enum crc32c { CRC32C_UNKNOWN, CRC32C_GENERIC, CRC32C_FAST };

/*
 * Of x86, where it has a driver of its own. ARM and RISC-V have theirs in crc32c-generic; newer
 * kernels have all in a library, and list it as such.
 */
static bool has_instruction(void)
{
	char *text = fact_text(place_path("/proc/cpuinfo"));
	bool has = text && strstr(text, " sse4_2");

	free(text);
	return has;
}

/* The kernel lists implementations: the name of each, and its driver in the next line. */
static enum crc32c crc32c_find(void)
{
	char *text = fact_text(place_path("/proc/crypto")), *rest = text, *line;
	enum crc32c found = CRC32C_UNKNOWN;
	bool named = false;

	while (rest && (line = strsep(&rest, "\n"))) {
		char *label = fact_word(line, 0), *value = fact_word(line, 2);

		if (label && value && !strcmp(label, "name"))
			named = !strcmp(value, "crc32c");
		if (label && value && named && !strcmp(label, "driver")) {
			if (!strstr(value, "generic"))
				found = CRC32C_FAST;
			else if (found == CRC32C_UNKNOWN && has_instruction())
				found = CRC32C_GENERIC;
		}
		free(label);
		free(value);
	}
	free(text);
	return found;
}

static void digest_check(struct doctor *doctor, const struct doctor_path *path, const char *key,
			 const char *setting, enum crc32c crc32c)
{
	const char *value = key_value(path, "negotiated", key);
	char *file = doctor_path_file(doctor, path, setting);
	bool chosen = !strncmp(doctor_setting(path, setting), "CRC32C", strlen("CRC32C"));

	if (!*value) {
		doctor_unread(doctor, key, 0);
	} else if (!strcmp(value, "None") || (chosen && crc32c == CRC32C_FAST)) {
		doctor_pass(doctor);
	} else if (chosen && crc32c == CRC32C_UNKNOWN) {
		doctor_skip(doctor, "%s is on; how CRC32C is computed is not known", key);
	} else if (chosen) {
		doctor_warn(doctor, &(struct doctor_warning){
			.measured = alloc_printf("%s=%s by crc32c-generic", key, value),
			.wanted = alloc_text("CRC32C by the processor's instruction, or None"),
			/* libcrc32c keeps the driver that it has begun with. */
			.next = alloc_printf("%s # and boot; or: %s %s && echo None > %s && %s %s",
					     "echo crc32c-intel > /etc/modules-load.d/crc32c.conf",
					     "istripectl down", doctor->volume, file,
					     "istripectl up", doctor->volume),
		},
		"each byte costs processor time");
	} else {
		doctor_warn(doctor, &(struct doctor_warning){
			.measured = alloc_printf("%s=%s", key, value),
			.wanted = alloc_printf("%s=None, as %s prefers", key, setting),
			.next = target_step(path, key, "None"),
		},
		"the target insists on it, which costs processor time");
	}
	free(file);
}

void doctor_digests(struct doctor *doctor, const struct doctor_path *path)
{
	enum crc32c crc32c = crc32c_find();

	if (!path->session) {
		doctor_skip(doctor, "it is not logged in");
		return;
	}
	digest_check(doctor, path, "HeaderDigest", "header_digest", crc32c);
	digest_check(doctor, path, "DataDigest", "data_digest", crc32c);
}
