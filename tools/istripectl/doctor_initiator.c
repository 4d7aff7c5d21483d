// SPDX-License-Identifier: GPL-2.0
/* doctor: names of the initiator, and other initiators on this host. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "alloc.h"
#include "discoveryd.h"
#include "doctor.h"
#include "fact.h"
#include "holder.h"
#include "initiator.h"
#include "klog.h"
#include "place.h"
#include "portal.h"
#include "records.h"
#include "text.h"

#define ENDED_OFTEN		5	/* times in ENDED_MINUTES */
#define ENDED_MINUTES		10
#define CLOSED			"the other side has closed the connection"

/* The name of this host */

/* Names that documents and packages print as examples, and names that nobody has completed. */
static bool name_is_example(const char *name)
{
	static const char *const unfinished[] = {
		"iqn.1993-08.org.debian:01:", "iqn.1994-05.com.redhat:", "iqn.1996-04.de.suse:01:",
		"iqn.2004-10.com.ubuntu:01:", "iqn.1987-05.com.cisco:01.",
		"iqn.2005-03.org.open-iscsi:",
	};
	const char *authority = strchr(name, '.');
	size_t bytes = authority ? strcspn(authority + 1, ":") : 0, i;

	for (i = 0; i < sizeof(unfinished) / sizeof(*unfinished); i++)
		if (!strcmp(name, unfinished[i]))
			return true;
	/* iqn.DATE.com.example, and org.example and so on (RFC 2606). */
	for (i = 1; i + strlen("example") <= bytes; i++)
		if (!strncmp(authority + i, ".example", strlen(".example")) &&
		    (i + strlen("example") == bytes || authority[i + strlen(".example")] == '.'))
			return true;
	return false;
}

/* Takes the command that gives the new name, which targets refuse until they have been told. */
static void name_check(struct doctor *doctor, const char *where, const char *name, char *give)
{
	if (!name_is_example(name))
		doctor_pass(doctor);
	else
		doctor_warn(doctor, &(struct doctor_warning){
			.subject = alloc_text(where), .measured = alloc_text(name),
			.wanted = alloc_text("a name that no other host has"),
			.next = alloc_printf("%s # have the targets admit it; then: %s",
					     "N=$(iscsi-iname) && echo $N", give),
		},
		"two hosts of one name end each other's sessions, and their writes mix");
	free(give);
}

void doctor_initiator_file(struct doctor *doctor)
{
	char *name = initiator_name();
	size_t i;

	if (name)
		name_check(doctor, INITIATOR_FILE, name,
			   alloc_text("echo InitiatorName=$N > " INITIATOR_FILE));
	for (i = 0; i < doctor->volume_count; i++) {
		const struct doctor_volume *volume = &doctor->volumes[i];
		const char *own = doctor_value(volume, "initiator_name");
		char *change;

		if (!volume->checked || !*own || (name && !strcmp(own, name)))
			continue;
		change = alloc_printf("istripectl set %s initiator_name=$N", volume->name);
		name_check(doctor, volume->name, own, doctor_down_step(volume, change));
	}
	free(name);
}

/* Sessions of other volumes */

static const char *isid_of(const struct doctor_path *path)
{
	const char *isid = path->session ? settings_value(&path->session->values, "isid") : "";

	return *isid ? isid : doctor_setting(path, "isid");
}

/* A session has one name at a target: initiator, ISID, target and portal group. */
static bool sessions_meet(const struct doctor_volume *volume, const struct doctor_path *path,
			  const struct doctor_volume *other_volume, const struct doctor_path *other)
{
	const char *groups[2] = { "", "" };

	if (path->session && other->session) {
		groups[0] = settings_value(&path->session->values, "target_portal_group_tag");
		groups[1] = settings_value(&other->session->values, "target_portal_group_tag");
	}
	return *isid_of(path) && !strcmp(isid_of(path), isid_of(other)) &&
	       !strcmp(doctor_setting(path, "target_name"), doctor_setting(other, "target_name")) &&
	       !strcmp(doctor_value(volume, "initiator_name"),
		       doctor_value(other_volume, "initiator_name")) &&
	       !strcmp(groups[0], groups[1]);
}

static bool session_twice(struct doctor *doctor, const struct doctor_volume *volume,
			  const struct doctor_path *path, const struct doctor_volume *other)
{
	char *file = doctor_path_file(doctor, path, "isid");
	bool found = false;
	size_t i;

	for (i = 0; !found && i < other->path_count; i++)
		found = sessions_meet(volume, path, other, &other->paths[i]);
	if (found)
		doctor_warn(doctor, &(struct doctor_warning){
			.subject = alloc_printf("leg %u path %u", path->leg->index,
						path->path->index),
			.measured = alloc_printf("ISID %s, which volume %s has, too", isid_of(path),
						 other->name),
			.wanted = alloc_text("an ISID of its own"),
			.next = doctor_down_step(volume, alloc_printf("echo > %s", file)),
		},
		"each login of the one ends the session of the other at %s",
		doctor_setting(path, "target_name"));
	free(file);
	return found;
}

void doctor_session_twice(struct doctor *doctor, const struct doctor_volume *volume)
{
	bool found = false;
	size_t i, j;

	for (i = 0; i < volume->path_count; i++)
		for (j = 0; j < doctor->volume_count; j++)
			if (&doctor->volumes[j] != volume)
				found |= session_twice(doctor, volume, &volume->paths[i],
						       &doctor->volumes[j]);
	if (!found)
		doctor_pass(doctor);
}

/* Sessions that are lost again and again */

/* Of the own address another host must not answer; arping knows IPv4 only. */
static char *arping_step(const struct doctor_path *path)
{
	const char *own = doctor_setting(path, "source_address");

	own = *own ? own : path->route.source;
	if (!*path->nic || !*own || strchr(own, ':'))
		return alloc_text("");
	return alloc_printf("; here: arping -D -I %s %s", path->nic, own);
}

/*
 * Two hosts with one initiator name and volumes of one name have one ISID: the login of each ends
 * the session of the other, which logs in again.
 */
static void closed_warn(struct doctor *doctor, const struct doctor_path *path, int times)
{
	const char *name = doctor_value(doctor_volume_of(doctor), "initiator_name");
	char *arping = arping_step(path);

	doctor_warn(doctor, &(struct doctor_warning){
		.measured = alloc_printf("%d sessions ended in %d minutes", times, ENDED_MINUTES),
		.wanted = alloc_text("sessions that last"),
		.next = alloc_printf("on other hosts: grep -rs %s %s && istripectl down %s%s", name,
				     "/etc/iscsi /etc/istripe", doctor->volume, arping),
	},
	"the target closes them: another host has the initiator name %s and a volume %s, or the address of this one, or the target restarts",
	name, doctor->volume);
	free(arping);
}

static void lost_warn(struct doctor *doctor, const struct doctor_path *path, int times,
		      const char *error)
{
	const char *nic = path->nic;

	doctor_warn(doctor, &(struct doctor_warning){
		.measured = alloc_printf("lost %d times in %d minutes: %s", times, ENDED_MINUTES,
					 error),
		.wanted = alloc_text("sessions that last"),
		.next = alloc_printf("dmesg | grep 'istripe: %s/%u/%u:'%s%s", doctor->volume,
				     path->leg->index, path->path->index,
				     *nic ? "; ethtool -S " : "", nic),
	},
	"commands wait each time until the loss is noticed: look at NIC, cable, switch and target");
}

/* How often it has connected again of late; negative: the kernel's log cannot be read. */
static int times_lost(const struct doctor *doctor, const struct doctor_path *path)
{
	struct timespec now;
	char *label;
	int times;

	clock_gettime(CLOCK_MONOTONIC, &now);
	label = alloc_printf("%s/%u/%u: connected again", doctor->volume, path->leg->index,
			     path->path->index);
	times = klog_count(label, now.tv_sec - ENDED_MINUTES * 60);
	free(label);
	return times;
}

void doctor_second_host(struct doctor *doctor, const struct doctor_path *path)
{
	const char *error = path->live ? settings_value(&path->live->values, "last_error") : "";
	int times;

	if (!path->live) {
		doctor_skip(doctor, "it is not up");
		return;
	}
	/* It has never been lost. */
	if (!*error) {
		doctor_pass(doctor);
		return;
	}
	times = times_lost(doctor, path);
	if (times < 0)
		doctor_unread(doctor, "the kernel's log", times);
	else if (times < ENDED_OFTEN)
		doctor_pass(doctor);
	else if (strstr(error, CLOSED))
		closed_warn(doctor, path, times);
	else
		lost_warn(doctor, path, times, error);
}

/* open-iscsi */

static bool has_target(const struct doctor_volume *volume, const char *target)
{
	size_t i;

	for (i = 0; i < volume->path_count; i++)
		if (!strcmp(doctor_setting(&volume->paths[i], "target_name"), target))
			return true;
	return false;
}

/* The disks of the session come first: a logout ends their use. */
static char *logout_step(const char *target, bool used)
{
	char *word, *step;

	if (used)
		return alloc_printf("%s # and end that use, as umount does, before any logout",
				    "iscsiadm -m session -P 3");
	word = text_quoted(target);
	step = alloc_printf("%s # what it carries; then, if nothing needs that: %s -T %s -u",
			    "iscsiadm -m session -P 3", "iscsiadm -m node", word);
	free(word);
	return step;
}

static void foreign_session_warn(struct doctor *doctor, const char *session, const char *target,
				 const char *name)
{
	struct fault users = { 0 };
	bool used = holder_find_session(session, NULL, &users);

	users.text[strcspn(users.text, "\n")] = '\0';
	doctor_warn(doctor, &(struct doctor_warning){
		.subject = alloc_text(session),
		.measured = alloc_printf("logged in to %s as %s%s%s", target, name,
					 used ? "; " : "", users.text),
		.wanted = alloc_text("no such session"),
		.next = logout_step(target, used),
	},
	"the host sees the LUNs twice, and may mount what the volume writes");
}

static void foreign_session_check(struct doctor *doctor, const struct doctor_volume *volume,
				  const char *session)
{
	char *target = fact_text(place_path("/sys/class/iscsi_session/%s/targetname", session));
	char *name = fact_text(place_path("/sys/class/iscsi_session/%s/initiatorname", session));

	if (!target || !name)
		doctor_unread(doctor, session, 0);
	else if (!has_target(volume, target) ||
		 strcmp(name, doctor_value(volume, "initiator_name")))
		doctor_pass(doctor);
	else
		foreign_session_warn(doctor, session, target, name);
	free(target);
	free(name);
}

void doctor_open_iscsi_session(struct doctor *doctor, const struct doctor_volume *volume)
{
	char *dir = place_path("/sys/class/iscsi_session");
	struct file_names names = { 0 };
	size_t i;

	file_list(dir, &names);
	for (i = 0; i < names.count; i++)
		foreign_session_check(doctor, volume, names.items[i]);
	if (!names.count)
		doctor_pass(doctor);
	file_names_free(&names);
	free(dir);
}

/* The file of a record, without its secrets. */
static void record_read(char *path, struct settings *record)
{
	char *text = fact_text(path), *rest = text, *line;

	while (rest && (line = strsep(&rest, "\n"))) {
		char *name = fact_word(line, 0), *value = fact_word(line, 2);

		if (name && value && !strstr(name, ".password"))
			settings_put(record, name, value);
		free(name);
		free(value);
	}
	free(text);
}

/* @folder: of the record's portal */
static char *record_change(const char *target, const char *folder, const char *startup)
{
	char *portal = portal_of_folder(folder), *portal_word = text_quoted(portal);
	char *target_word = text_quoted(target);
	char *name = text_quoted(startup);
	char *change = alloc_printf("iscsiadm -m node -T %s -p %s -o update -n %s -v manual",
				    target_word, portal_word, name);

	free(name);
	free(target_word);
	free(portal_word);
	free(portal);
	return change;
}

/* @addresses: gets where the target listens, and who has told of it */
static bool record_check(struct doctor *doctor, const char *target, const char *portal, char *path,
			 struct file_names *addresses)
{
	struct settings record = { 0 };
	bool found = false;
	size_t i;

	record_read(path, &record);
	file_names_add_new(addresses, settings_value(&record, "node.conn[0].address"));
	file_names_add_new(addresses, settings_value(&record, "node.discovery_address"));
	for (i = 0; i < RECORD_STARTUPS; i++) {
		const char *startup = record_startups[i];

		if (!record_is_automatic(&record, startup))
			continue;
		doctor_warn(doctor, &(struct doctor_warning){
			.subject = alloc_text(portal),
			.measured = alloc_printf("%s = %s", startup,
						 settings_value(&record, startup)),
			.wanted = alloc_printf("%s = manual", startup),
			.next = record_change(target, portal, startup),
		},
		"at boot open-iscsi logs in to %s, and the volume does not come up", target);
		found = true;
	}
	settings_free(&record);
	return found;
}

/* A portal is a file, or a folder with a file for each of open-iscsi's interfaces. */
static void portal_check(struct doctor *doctor, const char *target, const char *portal,
			 const char *path, struct file_names *addresses)
{
	struct file_names names = { 0 };
	bool found = false;
	size_t i;

	if (file_list(path, &names))
		found = record_check(doctor, target, portal, alloc_text(path), addresses);
	for (i = 0; i < names.count && !found; i++)
		found = record_check(doctor, target, portal,
				     alloc_printf("%s/%s", path, names.items[i]), addresses);
	if (!found)
		doctor_pass(doctor);
	file_names_free(&names);
}

static void records_check(struct doctor *doctor, const char *nodes, const char *target,
			  struct file_names *addresses)
{
	char *dir = place_path("%s/%s", nodes, target);
	struct file_names names = { 0 };
	size_t i;

	file_list(dir, &names);
	for (i = 0; i < names.count; i++) {
		char *path = alloc_printf("%s/%s", dir, names.items[i]);

		portal_check(doctor, target, names.items[i], path, addresses);
		free(path);
	}
	file_names_free(&names);
	free(dir);
}

static void discoveries_check(struct doctor *doctor, const struct file_names *addresses)
{
	struct discoveries discoveries = { 0 };
	size_t i;

	discoveries_read(addresses, &discoveries);
	for (i = 0; i < discoveries.count; i++) {
		const struct discovery *discovery = &discoveries.items[i];
		char *words = discovery_words(discovery);

		doctor_warn(doctor, &(struct doctor_warning){
			.subject = alloc_text(discovery->portal),
			.measured = alloc_printf("%s = Yes", discovery->name),
			.wanted = alloc_printf("%s = No", discovery->name),
			.next = alloc_printf("%s No && systemctl restart iscsid", words),
		},
		"iscsid logs in to all targets that the portal tells it of, and the volume does not come up");
		free(words);
	}
	discoveries_free(&discoveries);
}

static void addresses_add(const struct doctor_path *path, struct file_names *addresses)
{
	const char *portal = doctor_setting(path, "portal");
	const char *port = strrchr(portal, ':');
	int bracket = *portal == '[';
	char *address;

	if (!port || port - portal < 2 * bracket)
		return;
	address = alloc_printf("%.*s", (int)(port - portal) - 2 * bracket, portal + bracket);
	file_names_add_new(addresses, address);
	free(address);
}

void doctor_open_iscsi_record(struct doctor *doctor, const struct doctor_volume *volume)
{
	size_t before = doctor->finding_count, i;
	struct file_names targets = { 0 }, addresses = { 0 };

	for (i = 0; i < volume->path_count; i++) {
		file_names_add_new(&targets, doctor_setting(&volume->paths[i], "target_name"));
		addresses_add(&volume->paths[i], &addresses);
	}
	for (i = 0; i < targets.count; i++) {
		/* A target's name is a name: nothing else is looked up. */
		if (!*targets.items[i] || strchr(targets.items[i], '/'))
			continue;
		records_check(doctor, "/etc/iscsi/nodes", targets.items[i], &addresses);
		records_check(doctor, "/var/lib/iscsi/nodes", targets.items[i], &addresses);
	}
	discoveries_check(doctor, &addresses);
	if (!doctor->passed && doctor->finding_count == before)
		doctor_pass(doctor);
	file_names_free(&addresses);
	file_names_free(&targets);
}
