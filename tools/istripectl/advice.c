// SPDX-License-Identifier: GPL-2.0
/* What to do next about an error of the kernel. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "advice.h"
#include "alloc.h"
#include "apply.h"
#include "conf.h"
#include "file.h"
#include "node.h"
#include "power.h"
#include "tree.h"

#define WRONG_SECRET	"authentication failed"
#define NO_SECRET	"no chap_secret is set"

bool advice_root(int error, struct fault *fault)
{
	if ((error != -EACCES && error != -EPERM) || !geteuid())
		return false;
	fault_add(fault, "next: try again as root");
	return true;
}

const char *advice_error(int error, const char *reason)
{
	if (error == -EINTR)
		return "interrupted";
	if (error == -EACCES && reason && *reason && !geteuid())
		return "authentication failed";
	return strerror(-error);
}

/* The path that a reason is about; without one, the first path of the volume. */
static void place_read(const char *reason, unsigned int *leg, unsigned int *path)
{
	const char *at = strstr(reason, "leg ");

	*leg = 0;
	*path = 0;
	if (at && sscanf(at, "leg %u path %u", leg, path) < 1)
		*leg = 0;
}

static char *path_value(const char *name, const char *reason, const char *setting)
{
	char *file, *value;
	unsigned int leg, path;

	place_read(reason, &leg, &path);
	file = alloc_printf("legs/%u/paths/%u/%s", leg, path, setting);
	value = tree_value(name, file);
	free(file);
	return value ? value : alloc_text("");
}

static void target_missing(const char *name, const char *reason, struct fault *fault)
{
	char *target = path_value(name, reason, "target_name");
	char *portal = path_value(name, reason, "portal");
	char *user = path_value(name, reason, "chap_user");
	char *chap = *user ? alloc_printf(" --chap user=%s,secret=@FILE", user) : alloc_text("");

	fault_add(fault, "there is no target %s at portal %s", target, portal);
	fault_add(fault, "next: istripectl discover %s%s lists the names there are", portal, chap);
	free(target);
	free(portal);
	free(user);
	free(chap);
}

static void service_unavailable(const char *name, const char *reason, struct fault *fault)
{
	char *portal = path_value(name, reason, "portal");

	fault_add(fault,
		  "the target is at a limit or not ready; Linux's own target says so, too, of a name that it does not have\n"
		  "next: istripectl discover %s lists the names there are", portal);
	free(portal);
}

static void initiator_forbidden(const char *name, const char *reason, struct fault *fault)
{
	char *file = tree_path(name, "initiator_name"), *initiator = NULL;
	char *target = path_value(name, reason, "target_name");

	file_read(file, &initiator);
	fault_add(fault, "next: admit the initiator %s at the target %s",
		  initiator ? initiator : "of this host", target);
	free(initiator);
	free(target);
	free(file);
}

/* The superblocks stay as they are. */
static void chunk_other(const char *name, const char *reason, struct fault *fault)
{
	const char *at = strstr(reason, "superblocks say ");
	unsigned int bytes;

	if (sscanf(at, "superblocks say %u", &bytes) == 1)
		fault_add(fault,
			  "next: istripectl set %s chunk=%u, then up again, and save if it has a file; of assemble: without --chunk",
			  name, bytes);
}

bool advice_is_secret(const char *reason)
{
	return strstr(reason, WRONG_SECRET) && !strstr(reason, NO_SECRET);
}

bool advice_is_other_group(const char *reason)
{
	return strstr(reason, "portal is in portal group") ||
	       strstr(reason, "did not send TargetPortalGroupTag");
}

static void group_changed(const char *name, const char *reason, bool over, struct fault *fault)
{
	unsigned int leg, path;

	place_read(reason, &leg, &path);
	fault_add(fault, "only a login in the old portal group ends the writes that were lost");
	fault_add(fault,
		  "next: when its target was restarted since, or that group was removed: istripectl path confirm %s %u %u%s",
		  name, leg, path, over ? ", then repeat the command" : "");
}

/* Of a volume that is down: other paths, which may be sound, do not count. */
static void left_writes(const char *name, const char *reason, struct fault *fault)
{
	unsigned int leg, path;

	place_read(reason, &leg, &path);
	fault_add(fault,
		  "next: bring this path back as it was; or, when its target was switched off or restarted since: istripectl path confirm %s %u %u, then repeat the command",
		  name, leg, path);
}

/* udev has renamed it, or it was replaced. */
static void nic_missing(const char *name, const char *reason, bool over, struct fault *fault)
{
	unsigned int leg, path;

	place_read(reason, &leg, &path);
	if (over)
		fault_add(fault,
			  "next: ip -br link; create, or path add, with nic=NEW; up after istripectl set %s --leg %u --path %u nic=NEW, or with nic=NEW in its file: up --saved",
			  name, leg, path);
	else
		fault_add(fault,
			  "next: ip -br link; istripectl set %s --leg %u --path %u nic=NEW, then istripectl save %s",
			  name, leg, path, name);
}

bool advice_is_of_record(const char *name, unsigned int leg, unsigned int path)
{
	const struct path *its = NULL;
	char *conf = conf_path(name);
	struct volume saved = { 0 };
	const struct leg *of = NULL;
	struct fault ignored;
	bool is;

	if (!conf_read(conf, name, &saved, &ignored))
		of = volume_find_leg(&saved, leg);
	if (of)
		its = leg_find_path(of, path);
	is = its && node_follows_path(&saved, &its->settings);
	volume_free(&saved);
	free(conf);
	return is;
}

/* A command that has just sent the secrets is over: the volume, or the path, is not up. */
static void chap_wrong(const char *name, const char *reason, bool over, struct fault *fault)
{
	unsigned int leg, path;
	bool of_record;

	place_read(reason, &leg, &path);
	of_record = advice_is_of_record(name, leg, path);
	fault_add(fault, "the CHAP user or secret is wrong");
	if (over && power_is_up(name))
		fault_add(fault,
			  "next: compare chap_user and chap_secret with the target's, then repeat the command:\n"
			  "path add with the right ones%s", apply_has_file(name) ?
			  ", or apply with --secrets, which reads the file of a secret again" : "");
	else if (over && !apply_has_file(name))
		fault_add(fault,
			  "next: compare chap_user and chap_secret with the target's, then repeat the command:\n"
			  "create with the right ones, up after istripectl set --leg %u --path %u %s chap_secret=@FILE",
			  leg, path, name);
	else if (over)
		fault_add(fault,
			  "next: compare chap_user and chap_secret with the target's, then repeat the command:\n"
			  "up with --saved, which reads the file of a secret again");
	else if (of_record)
		fault_add(fault,
			  "next: iscsiadm -m node -T TARGET -o update -n node.session.auth.password -v SECRET, then istripectl apply --secrets %s",
			  name);
	else
		fault_add(fault,
			  "next: compare chap_user and chap_secret with the target's, then\n"
			  "istripectl set %s --leg %u --path %u chap_secret=@FILE%s", name, leg,
			  path, apply_has_file(name) ?
			  ", FILE being that of its configuration file" : "");
	if (over && of_record)
		fault_add(fault,
			  "next: where from_node has the record of open-iscsi count, and not the file:\n"
			  "iscsiadm -m node -T TARGET -o update -n node.session.auth.password -v SECRET");
}

void advice_login(const char *name, const char *reason, bool over, struct fault *fault)
{
	static const struct {
		const char *part;	/* of the module's reason; the first that fits counts */
		const char *next;
		void (*add)(const char *name, const char *reason, struct fault *fault);
	} rows[] = {
		{ "target not found", NULL, target_missing },
		{ "service unavailable", NULL, service_unavailable },
		{ "initiator is not allowed", NULL, initiator_forbidden },
		{ "but the superblocks say ", NULL, chunk_other },
		{ "portal is not set",
		  "next: give portal=ADDRESS; istripectl discover ADDRESS lists the targets there",
		  NULL },
		{ "target_name is not set",
		  "next: give target=NAME; istripectl discover PORTAL lists the names there are",
		  NULL },
		{ "chap_secret is not",
		  "next: give chap_secret=@FILE, or leave chap_user out", NULL },
		{ "chap_user is not", "next: give chap_user=NAME, or leave chap_secret out", NULL },
		{ "chap_mutual_secret is not",
		  "next: give chap_mutual_secret=@FILE, or leave chap_mutual_user out", NULL },
		{ "have the same CHAP secret",
		  "next: give the target another secret (RFC 7143 9.2.1), and chap_mutual_secret=@ITS_FILE",
		  NULL },
		{ "have the same isid",
		  "next: leave isid out, which gives each path one of its own; or give isids that differ in more than bits 2 to 4 of byte 4, counted from 0",
		  NULL },
		{ "and it may want CHAP",
		  "the target closed the connection: it may want CHAP, or a proxy or firewall on the way has no target behind it\n"
		  "next: look whether the target runs there; if it wants CHAP, give chap_user=NAME,chap_secret=@FILE",
		  NULL },
		{ NO_SECRET,
		  "the target wants CHAP\nnext: give chap_user=NAME,chap_secret=@FILE", NULL },
		{ WRONG_SECRET, NULL, NULL },
		{ "does not know its CHAP secret",
		  "next: compare chap_mutual_secret with the secret that the target has", NULL },
		{ "another CHAP name",
		  "next: compare chap_mutual_user with the name that the target has", NULL },
		{ "wants no authentication",
		  "next: set CHAP up at the target, or leave chap_mutual_user and\n"
		  "chap_mutual_secret out", NULL },
	};
	size_t i;

	if (advice_is_other_group(reason)) {
		group_changed(name, reason, over, fault);
		return;
	}
	if (strstr(reason, "see unfenced"))
		left_writes(name, reason, fault);
	if (strstr(reason, ": no such network device")) {
		nic_missing(name, reason, over, fault);
		return;
	}
	for (i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		if (!strstr(reason, rows[i].part))
			continue;
		if (rows[i].add)
			rows[i].add(name, reason, fault);
		else if (rows[i].next)
			fault_add(fault, "%s", rows[i].next);
		else
			chap_wrong(name, reason, over, fault);
		return;
	}
}

char *advice_step(const char *name, unsigned int leg, unsigned int path, const char *error)
{
	char *reason = alloc_printf("leg %u path %u: %s", leg, path, error);
	struct fault fault = { 0 };

	advice_login(name, reason, false, &fault);
	free(reason);
	return fault_next(&fault);
}
