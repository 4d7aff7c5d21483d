// SPDX-License-Identifier: GPL-2.0
/* Node records of open-iscsi and the paths of volumes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "alloc.h"
#include "file.h"
#include "node.h"
#include "openiscsi.h"
#include "place.h"
#include "portal.h"
#include "same.h"
#include "text.h"

/* The interface of a hardware address */

static bool nic_has(const char *nic, const char *address)
{
	char *path = place_path("/sys/class/net/%s/address", nic), *text = NULL;
	bool has = !file_read(path, &text) && !strcasecmp(text, address);

	free(text);
	free(path);
	return has;
}

/* A bond and its interfaces, or a VLAN and the interface below, have one address. */
static char *nics_of(const char *address, size_t *count)
{
	char *dir = place_path("/sys/class/net"), *found = alloc_text(""), *longer;
	struct file_names names = { 0 };
	size_t i;

	*count = 0;
	file_list(dir, &names);
	for (i = 0; i < names.count; i++) {
		if (!nic_has(names.items[i], address))
			continue;
		longer = alloc_printf("%s%s%s", found, *found ? ", " : "", names.items[i]);
		free(found);
		found = longer;
		++*count;
	}
	file_names_free(&names);
	free(dir);
	return found;
}

static int nic_take(const struct settings *record, struct settings *settings, struct fault *fault)
{
	const char *iface = settings_value(record, "iface.iscsi_ifacename");
	const char *name = settings_value(record, "iface.net_ifacename");
	const char *address = settings_value(record, "iface.hwaddress");
	size_t count = 1;
	char *nics;

	if (*name || !*address) {
		if (*name)
			settings_put(settings, "nic", name);
		return 0;
	}
	nics = nics_of(address, &count);
	if (count == 1) {
		settings_put(settings, "nic", nics);
	} else {
		fault_set(fault, -EINVAL, "iface %s of open-iscsi has iface.hwaddress %s: %s%s",
			  iface, address,
			  count ? "several interfaces have it: " : "no interface has it", nics);
		fault_add(fault,
			  "next: iscsiadm -m iface -I %s -o update -n iface.net_ifacename -v NIC",
			  iface);
	}
	free(nics);
	return count == 1 ? 0 : -EINVAL;
}

int node_way(const struct settings *record, const char *wanted, struct settings *settings,
	     struct fault *taken, struct fault *fault)
{
	const char *source = settings_value(record, "iface.ipaddress");
	char *portal = record_portal(record);
	int ret;

	settings_put(settings, "target_name", settings_value(record, "node.name"));
	settings_put(settings, "portal", portal);
	free(portal);
	if (*source)
		settings_put(settings, "source_address", source);
	ret = portal_resolve_to(settings, wanted, taken, fault);
	return ret ? ret : nic_take(record, settings, fault);
}

bool node_usable(const struct settings *record)
{
	return !strcmp(settings_value(record, "iface.transport_name"), "tcp");
}

/* A volume that follows its records */

static int word_check(const struct settings *settings, const char *place, struct fault *fault)
{
	const char *value = settings_value(settings, NODE_SETTING);

	if (!*value || !strcmp(value, "yes") || !strcmp(value, "no"))
		return 0;
	return fault_set(fault, -EINVAL, "%s" NODE_SETTING " = %s: it is yes or no", place, value);
}

int node_follows(const struct volume *volume, struct fault *fault)
{
	int ret = word_check(&volume->settings, "", fault);
	bool any = node_says(&volume->settings, "yes");
	size_t i, j;

	for (i = 0; !ret && i < volume->leg_count; i++) {
		const struct leg *leg = &volume->legs[i];

		for (j = 0; !ret && j < leg->path_count; j++) {
			const struct path *path = &leg->paths[j];
			char *place = alloc_printf("leg %u path %u: ", leg->index, path->index);

			ret = word_check(&path->settings, place, fault);
			any |= node_says(&path->settings, "yes");
			free(place);
		}
	}
	return ret ? ret : any;
}

void node_drop(struct volume *volume)
{
	size_t i, j;

	settings_drop(&volume->settings, NODE_SETTING);
	for (i = 0; i < volume->leg_count; i++)
		for (j = 0; j < volume->legs[i].path_count; j++)
			settings_drop(&volume->legs[i].paths[j].settings, NODE_SETTING);
}

int node_refuse(const struct settings *settings, const char *volume, struct fault *fault)
{
	if (!settings_find(settings, NODE_SETTING))
		return 0;
	return fault_set(fault, -EINVAL,
			 "from_node is for the file of a volume, and for import\n"
			 "next: istripectl save %s, write it there, then istripectl apply %s",
			 volume, volume);
}

static bool same_or_open(const struct settings *path, const struct settings *way, const char *name)
{
	const char *value = settings_value(way, name);

	return !*value || same_value(KNOWN_PATH, name, value, settings_value(path, name));
}

/* 2: the record is bound to the interface of the path; 1: to none; 0: it is another path's. */
static unsigned int path_matches(const struct settings *path, const struct settings *way)
{
	if (strcmp(settings_value(path, "target_name"), settings_value(way, "target_name")) ||
	    !portal_equal(settings_value(path, "portal"), settings_value(way, "portal")) ||
	    !same_or_open(path, way, "nic") || !same_or_open(path, way, "source_address"))
		return 0;
	return *settings_value(way, "nic") || *settings_value(way, "source_address") ? 2 : 1;
}

int node_record(const struct records *records, const struct settings *path,
		const struct settings **record, struct fault *fault)
{
	const char *portal = settings_value(path, "portal");
	struct fault ignored, why, first;
	unsigned int best = 0;
	int ret = 0, open;
	size_t i;

	*record = NULL;
	for (i = 0; i < records->count; i++) {
		const struct settings *its = &records->items[i];
		struct settings way = { 0 };
		unsigned int matches = 0;

		/* Records of other targets may be wrong. */
		if (!node_usable(its) || strcmp(settings_value(path, "target_name"),
						settings_value(its, "node.name")))
			continue;
		open = node_way(its, portal, &way, &ignored, &why);
		if (!open)
			matches = path_matches(path, &way);
		else if (!ret)
			ret = fault_set(&first, open, "%s", why.text);
		if (matches > best) {
			*record = its;
			best = matches;
		}
		settings_free(&way);
	}
	if (best || !ret)
		return 0;
	*fault = first;
	return ret;
}

static void settings_follow(struct settings *settings, const struct settings *said)
{
	size_t i;

	for (i = 0; i < said->count; i++) {
		const struct setting *item = &said->items[i];

		if (*item->value)
			settings_put(settings, item->name, item->value);
		else if (strcmp(item->name, "initiator_name"))
			settings_drop(settings, item->name);
	}
}

static int record_missing(const struct volume *volume, const struct leg *leg,
			  const struct path *path, struct fault *fault)
{
	const char *target = settings_value(&path->settings, "target_name");
	char *word = text_quoted(target);

	fault_set(fault, -ENOENT,
		  "leg %u path %u of volume %s has no node record of open-iscsi: target %s, portal %s",
		  leg->index, path->index, volume->name, target,
		  settings_value(&path->settings, "portal"));
	fault_add(fault, "next: iscsiadm -m node -T %s shows them; or " NODE_SETTING
		  " = no for this path in the file of the volume", word);
	free(word);
	return -ENOENT;
}

static void secret_missing(const struct volume *volume, const struct leg *leg,
			   const struct path *path, const char *name, const char *words,
			   struct fault *warning)
{
	fault_set(warning, 0,
		  "warning: leg %u path %u of %s: the node record of open-iscsi has no %s, and counts: the path logs in without that of its file",
		  leg->index, path->index, volume->name, name);
	fault_add(warning,
		  "next: if the file is right: iscsiadm -m node %s -o update -n node.session.auth.authmethod -v CHAP, the same with the other names of node.session.auth; or "
		  NODE_SETTING " = no for this path", words);
}

/* Secrets that have been read from the files that the path names, and which do not count. */
static void secrets_warn(const struct volume *volume, const struct leg *leg,
			 const struct path *path, const struct settings *record,
			 const struct settings *of_path)
{
	static const char *const names[] = { "chap_secret", "chap_mutual_secret" };
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const char *file = settings_value(&path->settings, names[i]);
		const char *counts = settings_value(of_path, names[i]);
		struct fault warning;
		char *words;

		if (!*file || *file == '@' || !strcmp(file, counts))
			continue;
		words = record_words(record);
		if (!*counts)
			secret_missing(volume, leg, path, names[i], words, &warning);
		else
			fault_set(&warning, 0,
				  "warning: leg %u path %u of %s: the node record of open-iscsi has another %s than its file, and counts\n"
				  "next: if the file is right: iscsiadm -m node %s -o update -n %s -v SECRET",
				  leg->index, path->index, volume->name, names[i], words,
				  openiscsi_name(names[i]));
		fault_print(&warning);
		free(words);
	}
}

struct follow {
	struct volume *volume;
	struct records records;
	const struct settings *first;	/* the record of the path before, of those that have one */
	struct fault *warnings;		/* of paths that are as their file says */
	size_t warning_count;
	struct fault why;		/* of the first one of these, and its error */
	int error;
};

/* Records that lead nowhere may be those of others. */
static int path_leave(struct follow *follow, const struct leg *leg, const struct path *path,
		      int error, const struct fault *why, struct fault *fault)
{
	if (node_says(&path->settings, "yes"))
		return fault_set(fault, error, "%s", why->text);
	if (!follow->warning_count) {
		follow->why = *why;
		follow->error = error;
	}
	fault_set(alloc_append(follow->warnings, follow->warning_count), 0,
		  "warning: leg %u path %u of %s is as its file says: %s", leg->index,
		  path->index, follow->volume->name, why->text);
	return 0;
}

/* The settings of a volume are as its file says when only paths of it follow. */
static int path_follow(struct follow *follow, const struct leg *leg, struct path *path,
		       struct fault *fault)
{
	struct settings of_path = { 0 }, of_volume = { 0 };
	struct volume *volume = follow->volume;
	const struct settings *record;
	struct fault why;
	int ret = node_record(&follow->records, &path->settings, &record, &why);

	if (ret)
		return path_leave(follow, leg, path, ret, &why, fault);
	if (!record && node_says(&path->settings, "yes"))
		ret = record_missing(volume, leg, path, fault);
	if (ret || !record)
		return ret;
	ret = openiscsi_path(record, &of_path, fault);
	if (!ret && node_says(&volume->settings, "yes"))
		ret = openiscsi_volume(record, follow->first, &of_volume, fault);
	if (!ret) {
		openiscsi_of_all_legs(&of_volume, "queue_depth", volume->leg_count);
		secrets_warn(volume, leg, path, record, &of_path);
		settings_follow(&path->settings, &of_path);
		settings_follow(&volume->settings, &of_volume);
		follow->first = record;
	}
	settings_free(&of_path);
	settings_free(&of_volume);
	return ret;
}

static int none_follows(const struct volume *volume, bool any, struct fault *fault)
{
	if (!any)
		return fault_set(fault, -EINVAL,
				 "volume %s has from_node = yes, but no path of it has\n"
				 "next: from_node = no in [volume], too", volume->name);
	fault_set(fault, -ENOENT, "no path of volume %s has a node record of open-iscsi",
		  volume->name);
	fault_add(fault, "next: iscsiadm -m node shows them; or " NODE_SETTING
		  " = no in the file of the volume");
	return -ENOENT;
}

int openiscsi_refresh(struct volume *volume, bool warn, struct fault *fault)
{
	struct follow follow = { .volume = volume };
	int ret = records_read(&follow.records, fault);
	bool any = false;
	size_t i, j;

	for (i = 0; !ret && i < volume->leg_count; i++) {
		const struct leg *leg = &volume->legs[i];

		for (j = 0; !ret && j < leg->path_count; j++) {
			if (leg->paths[j].left_out ||
			    !node_follows_path(volume, &leg->paths[j].settings))
				continue;
			ret = path_follow(&follow, leg, &leg->paths[j], fault);
			any = true;
		}
	}
	if (!ret && !follow.first && follow.warning_count)
		ret = fault_set(fault, follow.error, "%s", follow.why.text);
	else if (!ret && !follow.first)
		ret = none_follows(volume, any, fault);
	for (i = 0; !ret && warn && i < follow.warning_count; i++)
		fault_print(&follow.warnings[i]);
	free(follow.warnings);
	records_free(&follow.records);
	return ret;
}
