// SPDX-License-Identifier: GPL-2.0
/* Legs and paths of a new volume, found at a portal. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <istripe/settings.h>
#include "alloc.h"
#include "conf.h"
#include "discover.h"
#include "file.h"
#include "host_net.h"
#include "inquiry.h"
#include "known.h"
#include "propose.h"
#include "reach.h"
#include "secret.h"
#include "table.h"
#include "text.h"
#include "tree.h"
#include "users.h"
#include "value.h"

/* One path of the proposal; the first one of a leg has its size. */
struct candidate {
	size_t leg;
	const char *portal, *nic, *target, *lun;
	char *identity;
	unsigned long long bytes;
};

struct proposal {
	struct volume *volume;
	const struct create_options *options;
	struct volume secrets;		/* leg 0: of the discovery, leg 1: of the paths; loaded */
	struct file_names nics, luns;
	struct targets targets;
	struct users users;
	struct host_address *addresses;
	int address_count;
	struct reach *tries;		/* all portals, each over all NICs */
	size_t try_count;
	struct candidate *paths;
	size_t path_count, leg_count;
	struct file_names left;		/* what is left out, and why */
};

static void names_split(const char *text, struct file_names *names)
{
	char *copy = alloc_text(text), *rest = copy, *name;

	while ((name = strsep(&rest, ",")))
		file_names_add(names, name);
	free(copy);
}

/* Takes @text. Each reason once. */
static void left_add(struct proposal *proposal, char *text)
{
	text_clean(text);
	file_names_add_new(&proposal->left, text);
	free(text);
}

/* Secrets */

static const struct settings *settings_loaded(const struct proposal *proposal, unsigned int which)
{
	return &proposal->secrets.legs[which].settings;
}

static void chap_copy(const struct settings *from, struct settings *to)
{
	static const char *const names[] = {
		"chap_user", "chap_secret", "chap_mutual_user", "chap_mutual_secret",
	};
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (*settings_value(from, names[i]))
			settings_put(to, names[i], settings_value(from, names[i]));
}

static int secrets_load(struct proposal *proposal, struct fault *fault)
{
	const struct create_discovery *discovery = &proposal->options->discovery;

	chap_copy(&discovery->chap, &volume_add_leg(&proposal->secrets, 0)->settings);
	chap_copy(&discovery->paths, &volume_add_leg(&proposal->secrets, 1)->settings);
	return secret_load(&proposal->secrets, fault);
}

/* Targets */

static int target_compare(const void *a, const void *b)
{
	const struct target *one = a, *other = b;

	return strverscmp(one->name, other->name);
}

/* The targets of --targets, in that order; without it all of them, by their names. */
static int targets_choose(struct proposal *proposal, struct fault *fault)
{
	struct targets *targets = &proposal->targets;
	struct file_names names = { 0 };
	size_t i, j;
	int ret = 0;

	if (!proposal->options->discovery.targets) {
		qsort(targets->items, targets->count, sizeof(*targets->items), target_compare);
		return 0;
	}
	names_split(proposal->options->discovery.targets, &names);
	for (i = 0; !ret && i < names.count; i++) {
		for (j = i; j < targets->count && strcmp(targets->items[j].name, names.items[i]);
		     j++)
			;
		if (j < targets->count) {
			struct target found = targets->items[j];

			targets->items[j] = targets->items[i];
			targets->items[i] = found;
		} else {
			ret = fault_set(fault, -ENOENT,
					"%s does not offer the target %s\nnext: istripectl discover %s",
					proposal->options->discovery.portal, names.items[i],
					proposal->options->discovery.portal);
		}
	}
	/* Those that were not chosen are freed with the others. */
	if (!ret)
		for (i = names.count; i < targets->count; i++)
			left_add(proposal, alloc_printf("%s: not in --targets",
							targets->items[i].name));
	file_names_free(&names);
	return ret;
}

static bool target_is_chosen(const struct proposal *proposal, const struct target *target)
{
	const char *list = proposal->options->discovery.targets;
	size_t bytes = strlen(target->name);

	for (; list; list = strchr(list, ',') ? strchr(list, ',') + 1 : NULL)
		if (strcspn(list, ",") == bytes && !strncmp(list, target->name, bytes))
			return true;
	return !proposal->options->discovery.targets;
}

/* Portals and the interfaces that reach them */

/* @portal: as the target has told it. */
static struct reach *try_find(const struct proposal *proposal, const char *portal,
			      const char *nic)
{
	char *on = target_portal_on(portal, nic);
	struct reach *found = NULL;
	size_t i;

	for (i = 0; !found && i < proposal->try_count; i++)
		if (!strcmp(proposal->tries[i].portal, on) &&
		    !strcmp(proposal->tries[i].nic, nic))
			found = &proposal->tries[i];
	free(on);
	return found;
}

static void tries_add(struct proposal *proposal, const char *portal)
{
	size_t i;

	for (i = 0; i < proposal->nics.count; i++) {
		if (try_find(proposal, portal, proposal->nics.items[i]))
			continue;
		*alloc_append(proposal->tries, proposal->try_count) = (struct reach) {
			.portal = target_portal_on(portal, proposal->nics.items[i]),
			.nic = proposal->nics.items[i],
		};
	}
}

/* Whether the address of a portal is in a subnet of an interface. */
static bool nic_is_beside(const struct proposal *proposal, const char *nic, const char *portal)
{
	int i;

	for (i = 0; i < proposal->address_count; i++)
		if (!strcmp(proposal->addresses[i].nic, nic) &&
		    host_address_is_beside(&proposal->addresses[i], portal))
			return true;
	return false;
}

/* The interface whose subnet the portal is in, NULL: none has it. */
static const char *nic_beside(const struct proposal *proposal, const char *portal)
{
	size_t i;

	for (i = 0; i < proposal->nics.count; i++)
		if (nic_is_beside(proposal, proposal->nics.items[i], portal))
			return proposal->nics.items[i];
	return NULL;
}

/*
 * With weak rules for ARP a host answers for its addresses on every link. A path over a link that
 * is not that of the portal's subnet would fail together with it, or be lost with the rules.
 */
static bool try_is_usable(struct proposal *proposal, const struct reach *try)
{
	const char *beside = nic_beside(proposal, try->portal);

	if (try->error) {
		left_add(proposal, alloc_printf("%s over %s: %s", try->portal, try->nic,
						try->error == -ETIMEDOUT ? "no answer" :
						strerror(-try->error)));
		return false;
	}
	if (!beside || nic_is_beside(proposal, try->nic, try->portal))
		return true;
	left_add(proposal, alloc_printf("%s over %s: it is in the subnet of %s", try->portal,
					try->nic, beside));
	return false;
}

static int reach_find(struct proposal *proposal, struct fault *fault)
{
	size_t i, j;

	for (i = 0; i < proposal->targets.count; i++)
		for (j = 0; j < proposal->targets.items[i].portal_count; j++)
			if (target_is_chosen(proposal, &proposal->targets.items[i]))
				tries_add(proposal, proposal->targets.items[i].portals[j].portal);
	reach_try(proposal->tries, proposal->try_count);
	for (i = 0; i < proposal->try_count; i++)
		if (proposal->tries[i].error == -ENODEV)
			return fault_set(fault, -ENODEV,
					 "--nics: there is no interface %s\nnext: ip link",
					 proposal->tries[i].nic);
	return 0;
}

/* LUNs */

static struct candidate *leg_first(const struct proposal *proposal, const char *identity)
{
	size_t i;

	for (i = 0; *identity && i < proposal->path_count; i++)
		if (!strcmp(proposal->paths[i].identity, identity))
			return &proposal->paths[i];
	return NULL;
}

/* An earlier path to what has the same name and number. */
static const struct candidate *namesake(const struct proposal *proposal, const char *target,
					const char *lun)
{
	size_t i;

	for (i = 0; i < proposal->path_count; i++)
		if (!strcmp(proposal->paths[i].target, target) &&
		    !strcmp(proposal->paths[i].lun, lun))
			return &proposal->paths[i];
	return NULL;
}

static size_t leg_paths(const struct proposal *proposal, size_t leg)
{
	size_t i, count = 0;

	for (i = 0; i < proposal->path_count; i++)
		count += proposal->paths[i].leg == leg;
	return count;
}

/* The reason why what was seen is no path of any leg; NULL: it is one. */
static char *refusal(const struct proposal *proposal, const struct inquiry_way *way,
		     const struct inquiry *inquiry)
{
	const struct candidate *first = leg_first(proposal, inquiry->identity);
	const struct candidate *before = namesake(proposal, way->target, way->lun);

	if (!inquiry->disk)
		return alloc_text("no disk; istripectl discover --luns lists them");
	if (before && !*inquiry->identity)
		return alloc_text("the LUN has no designator (VPD page 83h) to compare");
	if (before && (!first || first->leg != before->leg))
		return alloc_printf("another LUN than over %s", before->portal);
	if (first && leg_paths(proposal, first->leg) == ISTRIPE_PATHS_MAX)
		return alloc_printf("leg %zu has %d paths already", first->leg, ISTRIPE_PATHS_MAX);
	if (!first && proposal->leg_count == ISTRIPE_LEGS_MAX)
		return alloc_printf("there are %d legs already", ISTRIPE_LEGS_MAX);
	return NULL;
}

static void path_add(struct proposal *proposal, const struct inquiry_way *way,
		     struct inquiry *inquiry)
{
	const struct candidate *first = leg_first(proposal, inquiry->identity);
	const struct candidate path = {
		.leg = first ? first->leg : proposal->leg_count++, .portal = way->portal,
		.nic = way->nic, .target = way->target, .lun = way->lun,
		.identity = inquiry->identity, .bytes = first ? first->bytes : inquiry_size(way),
	};

	*alloc_append(proposal->paths, proposal->path_count) = path;
	inquiry->identity = NULL;
}

static int path_look(struct proposal *proposal, const struct inquiry_way *way,
		     struct fault *fault)
{
	struct fault why = { 0 };
	struct inquiry inquiry;
	int ret = inquiry_ask(way, &inquiry, &why);
	char *reason;

	if (ret == -ENOPKG || ret == -EINTR) {
		*fault = why;
		return ret;
	}
	reason = ret ? alloc_text(why.text) : refusal(proposal, way, &inquiry);
	if (reason)
		left_add(proposal, alloc_printf("%s LUN %s, %s over %s: %s", way->target, way->lun,
						way->portal, way->nic, reason));
	else
		path_add(proposal, way, &inquiry);
	if (!ret)
		inquiry_free(&inquiry);
	free(reason);
	return 0;
}

struct used {
	const char *lun;
	const char *own;	/* the new volume, if only its file knows it; or NULL */
	char *by;		/* NULL: nobody has it */
};

static void used_take(void *context, const char *volume, const struct leg *leg, const char *lun)
{
	struct used *used = context;

	if (used->own && !strcmp(volume, used->own))
		return;
	if (!used->by && !strcmp(lun, used->lun))
		used->by = alloc_printf("leg %u of volume %s", leg->index, volume);
}

static int lun_look(struct proposal *proposal, const struct target *target, const char *lun,
		    struct fault *fault)
{
	const char *name = proposal->volume->name;
	struct fault ignored;
	struct used used = { .lun = lun, .own = tree_has_volume(name, &ignored) ? name : NULL };
	size_t i, j;
	int ret = 0;

	users_each(&proposal->users, target->name, used_take, &used);
	if (used.by) {
		left_add(proposal, alloc_printf("%s LUN %s: it is %s", target->name, lun, used.by));
		free(used.by);
		return 0;
	}
	for (i = 0; !ret && i < target->portal_count; i++) {
		for (j = 0; !ret && j < proposal->nics.count; j++) {
			const struct reach *try = try_find(proposal, target->portals[i].portal,
							   proposal->nics.items[j]);
			const struct inquiry_way way = {
				.portal = try->portal, .nic = try->nic, .target = target->name,
				.lun = lun, .settings = settings_loaded(proposal, 1),
				.initiator = settings_value(&proposal->volume->settings,
							    "initiator_name"),
			};

			if (try_is_usable(proposal, try))
				ret = path_look(proposal, &way, fault);
		}
	}
	return ret;
}

static int luns_look(struct proposal *proposal, struct fault *fault)
{
	size_t i, j;
	int ret = 0;

	for (i = 0; !ret && i < proposal->targets.count; i++)
		for (j = 0; !ret && j < proposal->luns.count; j++)
			if (target_is_chosen(proposal, &proposal->targets.items[i]))
				ret = lun_look(proposal, &proposal->targets.items[i],
					       proposal->luns.items[j], fault);
	return ret;
}

/* Output, and the question */

static void path_print(const struct candidate *path, unsigned int number, struct table *table)
{
	char *cells[TABLE_COLUMNS] = {
		alloc_printf("%zu", path->leg), alloc_printf("%u", number),
		alloc_text(path->portal), alloc_text(path->nic),
		path->bytes ? value_size(path->bytes) : alloc_text("-"), alloc_text(path->lun),
		alloc_text(path->target),
	};

	table_add(table, cells);
}

static int table_of_paths(const struct proposal *proposal, struct fault *fault)
{
	static const char *const names[] = {
		"LEG", "PATH", "PORTAL", "NIC", "SIZE", "LUN", "TARGET", NULL
	};
	const struct table_style style = { .headings = true, .out = stderr };
	struct table table;
	size_t leg, i;
	int ret = table_begin(&table, names, &style, fault);

	for (leg = 0; !ret && leg < proposal->leg_count; leg++) {
		unsigned int number = 0;

		for (i = 0; i < proposal->path_count; i++)
			if (proposal->paths[i].leg == leg)
				path_print(&proposal->paths[i], number++, &table);
	}
	if (!ret)
		table_print(&table);
	return ret;
}

static int proposal_print(const struct proposal *proposal, struct fault *fault)
{
	const struct settings *settings = &proposal->volume->settings;
	const char *chunk = known_worth(KNOWN_VOLUME, settings, "chunk_bytes");
	char *size = value_size(strtoull(chunk, NULL, 10));
	int ret = table_of_paths(proposal, fault);
	size_t i;

	for (i = 0; i < proposal->left.count; i++)
		fprintf(stderr, "left out: %s\n", proposal->left.items[i]);
	if (proposal->leg_count)
		fprintf(stderr, "volume %s: legs: %zu, chunk: %s, metadata: %s\n",
			proposal->volume->name, proposal->leg_count, size,
			known_worth(KNOWN_VOLUME, settings, "metadata"));
	free(size);
	return ret;
}

/* How the volume is there after a reboot, as a part of the question; for free(). */
static char *saving_text(const struct proposal *proposal)
{
	char *path, *text;

	if (!proposal->options->save)
		return alloc_text("");
	path = conf_path(proposal->volume->name);
	text = alloc_printf("%s save it in %s%s", proposal->options->boot ? "," : " and", path,
			    proposal->options->boot ? " and start it at boot" : "");
	free(path);
	return text;
}

static int proposal_ask(const struct proposal *proposal, struct fault *fault)
{
	char answer[16] = "", *saving;

	if (proposal->options->discovery.yes || proposal->options->dry_run)
		return 0;
	saving = saving_text(proposal);
	fprintf(stderr, "Create the volume %s of these legs%s? yes or no: ",
		proposal->volume->name, saving);
	free(saving);
	if (fgets(answer, sizeof(answer), stdin) && !strcmp(answer, "yes\n"))
		return 0;
	return fault_set(fault, -ECANCELED, "the answer was not yes: nothing was done");
}

/* The result */

static void path_take(const struct proposal *proposal, const struct candidate *candidate,
		      struct leg *leg)
{
	const struct settings *common = &proposal->options->discovery.paths;
	struct settings *settings = &leg_add_path(leg, leg->path_count)->settings;
	size_t i;

	settings_put(settings, "target_name", candidate->target);
	settings_put(settings, "lun", candidate->lun);
	settings_put(settings, "portal", candidate->portal);
	settings_put(settings, "nic", candidate->nic);
	for (i = 0; i < common->count; i++) {
		if (!setting_is_of_leg(common->items[i].name))
			settings_put(settings, common->items[i].name, common->items[i].value);
		else
			settings_put(&leg->settings, common->items[i].name,
				     common->items[i].value);
	}
}

static void proposal_take(const struct proposal *proposal)
{
	size_t leg, i;

	for (leg = 0; leg < proposal->leg_count; leg++) {
		struct leg *to = volume_add_leg(proposal->volume, leg);

		for (i = 0; i < proposal->path_count; i++)
			if (proposal->paths[i].leg == leg)
				path_take(proposal, &proposal->paths[i], to);
	}
}

static int proposal_find(struct proposal *proposal, struct fault *fault)
{
	const struct create_discovery *discovery = &proposal->options->discovery;
	int ret = secrets_load(proposal, fault);

	names_split(discovery->nics, &proposal->nics);
	names_split(discovery->luns ? discovery->luns : "0", &proposal->luns);
	if (!ret)
		ret = targets_find(discovery->portal, NULL, settings_loaded(proposal, 0),
				   &proposal->targets, fault);
	if (!ret)
		ret = targets_choose(proposal, fault);
	if (ret)
		return ret;
	users_read(&proposal->users);
	proposal->address_count = host_addresses(&proposal->addresses);
	ret = reach_find(proposal, fault);
	return ret ? ret : luns_look(proposal, fault);
}

static void proposal_free(struct proposal *proposal)
{
	size_t i;

	for (i = 0; i < proposal->path_count; i++)
		free(proposal->paths[i].identity);
	for (i = 0; i < proposal->try_count; i++)
		free((char *)proposal->tries[i].portal);
	free(proposal->paths);
	free(proposal->tries);
	free(proposal->addresses);
	users_free(&proposal->users);
	targets_free(&proposal->targets);
	file_names_free(&proposal->nics);
	file_names_free(&proposal->luns);
	file_names_free(&proposal->left);
	volume_free(&proposal->secrets);
}

int propose_legs(struct volume *volume, const struct create_options *options,
		 struct fault *fault)
{
	struct proposal proposal = { .volume = volume, .options = options };
	int ret;

	if (!options->discovery.yes && !options->dry_run && !isatty(STDIN_FILENO))
		return fault_set(fault, -ENOTTY,
				 "there is no terminal to ask at\nnext: look with --dry-run, then give --yes");
	ret = proposal_find(&proposal, fault);
	if (!ret)
		ret = proposal_print(&proposal, fault);
	if (!ret && !proposal.leg_count)
		ret = fault_set(fault, -ENOENT,
				"%s leads to no LUN that could be a leg: see what is left out",
				options->discovery.portal);
	if (!ret)
		ret = proposal_ask(&proposal, fault);
	if (!ret)
		proposal_take(&proposal);
	proposal_free(&proposal);
	return ret;
}
