// SPDX-License-Identifier: GPL-2.0
/* Targets that a portal offers. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mount.h>
#include <unistd.h>

#include "alloc.h"
#include "discover.h"
#include "file.h"
#include "host_net.h"
#include "initiator.h"
#include "inquiry.h"
#include "place.h"
#include "records.h"
#include "run.h"
#include "text.h"

#define SCRATCH		"/mnt"		/* a folder that exists, in a mount namespace */
#define NAME_BYTES	223		/* of the longest iSCSI name, RFC 7143 4.2.7.1 */
#define NOTHING_FOUND	21		/* exit code of iscsiadm */
#define PATIENCE_S	60		/* for iscsi-ls, with all targets */

static struct target *target_find(const struct targets *targets, const char *name)
{
	size_t i;

	for (i = 0; i < targets->count; i++)
		if (!strcmp(targets->items[i].name, name))
			return &targets->items[i];
	return NULL;
}

static struct target *target_get(struct targets *targets, const char *name)
{
	struct target *target = target_find(targets, name);

	if (target)
		return target;
	target = alloc_append(targets->items, targets->count);
	target->name = alloc_text(name);
	return target;
}

void targets_free(struct targets *targets)
{
	size_t i, j;

	for (i = 0; i < targets->count; i++) {
		struct target *target = &targets->items[i];

		for (j = 0; j < target->portal_count; j++) {
			free(target->portals[j].portal);
			free(target->portals[j].group);
		}
		for (j = 0; j < target->lun_count; j++) {
			free(target->luns[j].number);
			free(target->luns[j].size);
		}
		free(target->portals);
		free(target->luns);
		free(target->name);
	}
	free(targets->items);
	memset(targets, 0, sizeof(*targets));
}

char *target_portal_on(const char *portal, const char *nic)
{
	struct in6_addr address;
	char *alone = host_address_of(portal);
	bool local = inet_pton(AF_INET6, alone, &address) == 1 && IN6_IS_ADDR_LINKLOCAL(&address);
	const char *end = strchr(portal, ']');
	size_t bytes = end ? (size_t)(end - portal) : strlen(portal);

	free(alone);
	return local ? alloc_printf("%.*s%%%s%s", (int)bytes, portal, nic, portal + bytes) :
	       alloc_text(portal);
}

/* As the module judges it: nothing in it can end a value in the words for create. */
static bool name_usable(const char *name)
{
	if (strncasecmp(name, "iqn.", 4) && strncasecmp(name, "eui.", 4) &&
	    strncasecmp(name, "naa.", 4))
		return false;
	return name[4] && !strpbrk(name, " ,;=") && strlen(name) <= NAME_BYTES;
}

static void name_leave_out(const char *name, const char *portal, struct file_names *left_out)
{
	struct fault warning = { 0 };

	/* It is listed once for each of its portals. */
	if (file_names_have(left_out, name))
		return;
	file_names_add(left_out, name);
	fault_set(&warning, 0,
		  "warning: %s offers \"%s\", which is no iSCSI name: left out", portal, name);
	fault_print(&warning);
}

/* A line is "192.0.2.10:3260,1 NAME"; @asked: the portal that says so. */
static void discovery_parse(char *text, const char *asked, struct targets *targets,
			    struct file_names *left_out)
{
	char *line;

	while ((line = strsep(&text, "\n"))) {
		char *name, *comma;
		struct target *target;

		/* Nobody has proven to be the one that answers. */
		text_clean(line);
		name = strchr(line, ' ');
		comma = strchr(line, ',');
		if (!name || !comma || comma > name)
			continue;
		*name++ = '\0';
		*comma = '\0';
		if (!name_usable(name)) {
			name_leave_out(name, asked, left_out);
			continue;
		}
		target = target_get(targets, name);
		*alloc_append(target->portals, target->portal_count) = (struct target_portal) {
			.portal = alloc_text(line), .group = alloc_text(comma + 1),
		};
	}
}

/* CHAP */

/* iscsiadm takes the secrets of discovery from its configuration, and from nowhere else. */
static void conf_print(FILE *out, const char *before, const struct settings *chap)
{
	static const char *const names[][2] = {
		{ "chap_user", "username" }, { "chap_secret", "password" },
		{ "chap_mutual_user", "username_in" }, { "chap_mutual_secret", "password_in" },
	};
	size_t i;

	fprintf(out, "%s\ndiscovery.sendtargets.auth.authmethod = CHAP\n", before);
	for (i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (*settings_value(chap, names[i][0]))
			fprintf(out, "discovery.sendtargets.auth.%s = %s\n", names[i][1],
				settings_value(chap, names[i][0]));
}

static int step_failed(const char *step)
{
	fprintf(stderr, "%s: %s\n", step, strerror(errno));
	return -1;
}

/*
 * In the child: a mount namespace of its own, in which iscsiadm finds another configuration, which
 * is in memory and gone with it.
 */
static int chap_prepare(void *context)
{
	char *path = place_path(ISCSID_CONF), *before = NULL;
	FILE *out;

	if (file_read(path, &before))
		return step_failed(path);
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		return step_failed("a mount namespace for the secret");
	if (mount("tmpfs", SCRATCH, "tmpfs", 0, "mode=0700,size=1M"))
		return step_failed(SCRATCH);
	out = fopen(SCRATCH "/iscsid.conf", "we");
	if (!out)
		return step_failed(SCRATCH);
	conf_print(out, before, context);
	if (fclose(out) || mount(SCRATCH "/iscsid.conf", path, NULL, MS_BIND, NULL))
		return step_failed(path);
	free(before);
	free(path);
	return 0;
}

/* The iface of open-iscsi */

/* A line is "NAME tcp,HWADDRESS,IPADDRESS,NIC,INITIATOR"; the name, for free(), or NULL. */
static char *iface_parse(char *text, const char *nic)
{
	char *line;

	while ((line = strsep(&text, "\n"))) {
		char *rest = strchr(line, ' ');
		int i;

		if (!rest || strncmp(rest, " tcp,", strlen(" tcp,")))
			continue;
		*rest++ = '\0';
		for (i = 0; i < 3 && rest; i++)
			strsep(&rest, ",");
		if (rest && !strcmp(strsep(&rest, ","), nic))
			return alloc_text(line);
	}
	return NULL;
}

static int iface_find(const char *nic, char **iface, struct fault *fault)
{
	char *const argv[] = { "iscsiadm", "-m", "iface", NULL };
	struct run run;
	int ret = run_program_whole(argv, NULL, NULL, &run, fault);

	if (ret)
		return ret;
	*iface = run.code ? NULL : iface_parse(run.out, nic);
	run_free(&run);
	if (*iface)
		return 0;
	fault_set(fault, -ENODEV, "no iface of open-iscsi is bound to %s", nic);
	fault_add(fault, "next: iscsiadm -m iface -I %s -o new", nic);
	fault_add(fault, "      iscsiadm -m iface -I %s -o update -n iface.net_ifacename -v %s",
		  nic, nic);
	return -ENODEV;
}

/* SendTargets */

static int discovery_take(struct run *run, const char *portal, struct targets *targets,
			  struct fault *fault)
{
	struct file_names left_out = { 0 };
	bool others;

	if (run->code == RUN_MISSING)
		return run_missing("iscsiadm", "open-iscsi", fault);
	if (run->code && run->code != NOTHING_FOUND) {
		run_fault(run, "iscsiadm -m discovery", fault);
		fault_add(fault,
			  "next: is %s reachable, does it know this initiator, does it want --chap?",
			  portal);
		return -EIO;
	}
	discovery_parse(run->out, portal, targets, &left_out);
	others = left_out.count;
	file_names_free(&left_out);
	if (targets->count)
		return 0;
	if (others)
		return fault_set(fault, -EINVAL,
				 "%s offers only names that no target can have\n"
				 "next: give its targets names that begin with iqn., eui. or naa.",
				 portal);
	return fault_set(fault, -ENOENT,
			 "%s offers no target to this initiator\n"
			 "next: let the target admit the name in " INITIATOR_FILE,
			 portal);
}

int targets_find(const char *portal, const char *nic, const struct settings *chap,
		 struct targets *targets, struct fault *fault)
{
	char *iface = NULL;
	int ret = nic ? iface_find(nic, &iface, fault) : 0;
	char *const argv[] = {
		"iscsiadm", "-m", "discovery", "-t", "st", "-p", (char *)portal, "-o",
		"nonpersistent", iface ? "-I" : NULL, iface, NULL
	};
	struct run run;

	if (!ret)
		ret = run_program(argv, chap->count ? chap_prepare : NULL, (void *)chap, &run,
				  fault);
	if (!ret) {
		ret = discovery_take(&run, portal, targets, fault);
		run_free(&run);
	}
	free(iface);
	return ret;
}

/* LUNs */

/* A target is listed, and its LUNs with it, once for each portal. */
static void lun_add(struct target *target, const char *number, const char *size)
{
	size_t i;

	for (i = 0; i < target->lun_count; i++)
		if (!strcmp(target->luns[i].number, number))
			return;
	*alloc_append(target->luns, target->lun_count) = (struct target_lun) {
		.number = alloc_text(number), .size = alloc_text(size),
	};
}

/* Lines are "Target:NAME Portal:..." and "Lun:1    Type:DIRECT_ACCESS (Size:64G)". */
static void luns_parse(char *text, struct targets *targets)
{
	struct target *target = NULL;
	char *line;

	while ((line = strsep(&text, "\n"))) {
		char number[8], size[16], name[256];

		if (sscanf(line, "Target:%255s", name) == 1) {
			target = target_find(targets, name);
		} else if (target && sscanf(line, "Lun:%7[0-9] Type:DIRECT_ACCESS (Size:%15[^)])",
					    number, size) == 2) {
			text_clean(size);
			lun_add(target, number, size);
		}
	}
}

static int luns_prepare(void *context)
{
	/* libiscsi has no limit of its own; the alarm outlives exec(). */
	alarm(PATIENCE_S);
	return inquiry_chap(context) ? step_failed("the environment") : 0;
}

/* In a URL an IPv6 address is in brackets: what is behind its last colon would be the port. */
static char *portal_url(const char *portal)
{
	const char *colon = strchr(portal, ':');
	bool bare = *portal != '[' && colon && strchr(colon + 1, ':');

	return alloc_printf("iscsi://%s%s%s", bare ? "[" : "", portal, bare ? "]" : "");
}

static int luns_list(char *name, char *url, const struct settings *chap, struct targets *targets,
		     struct fault *fault)
{
	char *const argv[] = { "iscsi-ls", "-s", "-i", name, url, NULL };
	struct run run;
	int ret = run_program(argv, luns_prepare, (void *)chap, &run, fault);

	if (ret == -EIO)
		fault_set(fault, ret,
			  "iscsi-ls has not got all LUNs within %d s\n"
			  "next: mend the portal that does not answer, or leave --luns out",
			  PATIENCE_S);
	if (ret)
		return ret;
	if (run.code == RUN_MISSING)
		ret = run_missing("iscsi-ls", "libiscsi-bin", fault);
	else if (run.code && run_fault(&run, "iscsi-ls -s", fault))
		ret = -EAGAIN;
	else
		luns_parse(run.out, targets);
	run_free(&run);
	return ret;
}

/* With CHAP a line without its secret would fail otherwise than this one has. */
static void luns_advise(const char *name, const char *url, const struct settings *chap,
			struct fault *fault)
{
	char *quoted = text_quoted(url);

	fault_add(fault,
		  "next: after a UNIT_ATTENTION the same command again; else compare --chap and the initiator name with the target's");
	if (!settings_find(chap, "chap_user"))
		fault_add(fault, "next: to see it: iscsi-ls -s -i %s %s", name, quoted);
	free(quoted);
}

/* iscsi-ls gives all up when one LUN has a UNIT ATTENTION, which it has had then. */
int targets_find_luns(const char *portal, const struct settings *chap, struct targets *targets,
		      struct fault *fault)
{
	char *url = portal_url(portal), *name;
	struct volume host = { 0 };
	int ret = initiator_take(&host, fault);

	name = alloc_text(settings_value(&host.settings, "initiator_name"));
	volume_free(&host);
	if (!ret)
		ret = luns_list(name, url, chap, targets, fault);
	if (ret == -EAGAIN)
		ret = luns_list(name, url, chap, targets, fault);
	if (ret == -EAGAIN)
		luns_advise(name, url, chap, fault);
	free(url);
	free(name);
	return ret;
}
