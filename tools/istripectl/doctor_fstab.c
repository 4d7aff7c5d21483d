// SPDX-License-Identifier: GPL-2.0
/* doctor: what /etc/fstab and /etc/crypttab do with the disk of a volume. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "doctor.h"
#include "fact.h"
#include "holder.h"
#include "place.h"

/* Why these: Documentation/usage.rst, File systems. */
#define NETWORK_OPTIONS "_netdev,nofail,x-systemd.device-timeout=infinity"
#define TAB_READ	"systemctl daemon-reload"

/* The file of a device in one of them, for free(). */
static char *tab_device(const char *spec)
{
	static const struct {
		const char *tag, *dir;
	} tags[] = {
		{ "UUID=", "by-uuid" }, { "LABEL=", "by-label" },
		{ "PARTUUID=", "by-partuuid" }, { "PARTLABEL=", "by-partlabel" },
		{ "ID=", "by-id" },
	};
	size_t i;

	for (i = 0; i < sizeof(tags) / sizeof(*tags); i++) {
		const char *value = spec + strlen(tags[i].tag);

		if (strncmp(spec, tags[i].tag, strlen(tags[i].tag)))
			continue;
		value += strspn(value, "\"");
		return place_path("/dev/disk/%s/%.*s", tags[i].dir, (int)strcspn(value, "\""),
				  value);
	}
	return place_path("%s", spec);
}

static bool tab_means(const struct doctor_volume *volume, const char *spec)
{
	char *by_name = alloc_printf("/dev/istripe/%s", volume->name);
	char *by_id = alloc_printf("/dev/disk/by-id/istripe-%s", volume->name);
	char *real = fact_link(tab_device(spec));
	const char *device = volume->up ? volume->live.name : NULL;
	bool means = !strcmp(spec, by_name) || !strcmp(spec, by_id) ||
		     (real && device && holder_is_on(real, device));

	free(by_name);
	free(by_id);
	free(real);
	return means;
}

static bool has_option(const char *options, const char *name)
{
	size_t bytes = strlen(name);

	while (options) {
		if (!strncmp(options, name, bytes) && (!options[bytes] || options[bytes] == ','))
			return true;
		options = strchr(options, ',');
		options = options ? options + 1 : NULL;
	}
	return false;
}

/* Why systemd gives up before a disk that comes up late is there; NULL: it does not. */
static const char *timeout_why(const char *options, const char *gives_up)
{
	if (has_option(options, "nofail") && !has_option(options, "noauto") &&
	    !has_option(options, "x-systemd.device-timeout=infinity") &&
	    !has_option(options, "x-systemd.device-timeout=0"))
		return gives_up;
	return NULL;
}

/* /etc/fstab */

/* systemd wants swap before all that needs the network, with any options. */
static void fstab_swap_check(struct doctor *doctor, const char *spec, const char *options)
{
	if (has_option(options, "noauto"))
		doctor_pass(doctor);
	else
		doctor_warn(doctor, &(struct doctor_warning){
			.subject = alloc_text(spec),
			.measured = alloc_printf("options %s", options),
			.wanted = alloc_text("option noauto, and swapon when the volume is up"),
			.next = doctor_edit_step("/etc/fstab", TAB_READ),
		},
		"swap comes before the network: the boot waits for a disk that cannot come");
}

/* Returns whether the disk is named by a number, which is warned of. */
static bool numbered_check(struct doctor *doctor, const struct doctor_volume *volume,
			   const char *spec, const char *file)
{
	if (strncmp(spec, "/dev/istripe", strlen("/dev/istripe")) ||
	    spec[strlen("/dev/istripe")] == '/')
		return false;
	doctor_warn(doctor, &(struct doctor_warning){
		.subject = alloc_text(spec), .measured = alloc_text(spec),
		.wanted = alloc_printf("/dev/istripe/%s, or the UUID", volume->name),
		.next = doctor_edit_step(file, TAB_READ),
	},
	"the number may be another volume's after a reboot");
	return true;
}

static void fstab_check(struct doctor *doctor, const struct doctor_volume *volume,
			const char *spec, const char *options)
{
	bool numbered = numbered_check(doctor, volume, spec, "/etc/fstab");
	const char *why = NULL;

	if (!has_option(options, "_netdev"))
		why = "without _netdev the boot or the shutdown hangs for want of the network";
	else
		why = timeout_why(options,
				  "systemd gives up waiting: a disk that comes up later is not mounted");
	if (why)
		doctor_warn(doctor, &(struct doctor_warning){
			.subject = alloc_text(spec),
			.measured = alloc_printf("options %s", options),
			.wanted = alloc_text("options " NETWORK_OPTIONS),
			.next = doctor_edit_step("/etc/fstab", TAB_READ),
		},
		"%s", why);
	if (!why && !numbered)
		doctor_pass(doctor);
}

void doctor_fstab(struct doctor *doctor, const struct doctor_volume *volume)
{
	char *text = fact_text(place_path("/etc/fstab")), *rest = text, *line;
	bool found = false;

	while (rest && (line = strsep(&rest, "\n"))) {
		char *spec = fact_word(line, 0), *options = fact_word(line, 3);
		char *type = fact_word(line, 2);

		if (spec && *spec != '#' && tab_means(volume, spec)) {
			if (type && !strcmp(type, "swap"))
				fstab_swap_check(doctor, spec, options ? options : "defaults");
			else
				fstab_check(doctor, volume, spec, options ? options : "defaults");
			found = true;
		}
		free(spec);
		free(type);
		free(options);
	}
	if (!text)
		doctor_unread(doctor, "/etc/fstab", 0);
	else if (!found)
		doctor_skip(doctor, "no line of /etc/fstab is known to be on the disk");
	free(text);
}

/* /etc/crypttab */

static void crypttab_check(struct doctor *doctor, const struct doctor_volume *volume,
			   const char *name, const char *spec, const char *options)
{
	bool numbered = numbered_check(doctor, volume, spec, "/etc/crypttab");
	const char *why = NULL;

	if (!has_option(options, "_netdev") && !has_option(options, "noauto"))
		why = "without _netdev it is opened before the network and closed after it";
	else
		why = timeout_why(options,
				  "systemd gives up waiting: a disk that comes up later is not opened");
	if (!why) {
		if (!numbered)
			doctor_pass(doctor);
		return;
	}
	doctor_warn(doctor, &(struct doctor_warning){
		.subject = alloc_text(name),
		.measured = alloc_printf("options %s", options),
		.wanted = alloc_text("options " NETWORK_OPTIONS),
		.next = doctor_edit_step("/etc/crypttab", TAB_READ),
	},
	"%s", why);
}

void doctor_crypttab(struct doctor *doctor, const struct doctor_volume *volume)
{
	char *path = place_path("/etc/crypttab"), *text = NULL, *rest, *line;
	int ret = file_read(path, &text);
	bool found = false;

	rest = text;
	while (rest && (line = strsep(&rest, "\n"))) {
		char *name = fact_word(line, 0), *spec = fact_word(line, 1);
		char *options = fact_word(line, 3);

		if (name && spec && *name != '#' && tab_means(volume, spec)) {
			crypttab_check(doctor, volume, name, spec, options ? options : "none");
			found = true;
		}
		free(name);
		free(spec);
		free(options);
	}
	if (ret && ret != -ENOENT)
		doctor_unread(doctor, "/etc/crypttab", ret);
	else if (!found)
		doctor_skip(doctor, "no line of /etc/crypttab is known to be on the disk");
	free(text);
	free(path);
}
