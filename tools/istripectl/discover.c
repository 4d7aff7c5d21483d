// SPDX-License-Identifier: GPL-2.0
/* discover: which targets a portal offers, asked with iscsiadm, and the words to use them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "command.h"
#include "discover.h"
#include "host_net.h"
#include "interrupt.h"
#include "json_out.h"
#include "parse.h"
#include "reach.h"
#include "run.h"
#include "secret.h"
#include "text.h"
#include "users.h"

struct options {
	const char *portal, *nic;
	struct volume chap;	/* of which only the settings are used */
	bool luns, json, help;
};

/* The command line */

static int value_option(struct options *options, const char *word, const char *value,
			struct fault *fault)
{
	if (!value)
		return fault_set(fault, -EINVAL, "%s needs a value", word);
	if (!strcmp(word, "--chap"))
		return parse_chap(value, &options->chap.settings, fault);
	options->nic = value;
	return 0;
}

static int options_read(int argc, char **argv, struct options *options, struct fault *fault)
{
	int i, ret = 0;

	for (i = 1; !ret && i < argc; i++) {
		const char *word = argv[i], *value;

		if (command_value(argv, &i, "--chap", &value))
			ret = value_option(options, "--chap", value, fault);
		else if (command_value(argv, &i, "--nic", &value))
			ret = value_option(options, "--nic", value, fault);
		else if (!strcmp(word, "--luns"))
			options->luns = true;
		else if (!strcmp(word, "--json") || !strcmp(word, "-J"))
			options->json = true;
		else if (!strcmp(word, "--help") || !strcmp(word, "-h"))
			options->help = true;
		else if (word[0] == '-')
			ret = fault_set(fault, -EINVAL, "unknown option %s", word);
		else if (options->portal)
			ret = fault_set(fault, -EINVAL, "\"%s\" is one word too many", word);
		else
			options->portal = word;
	}
	if (!ret && !options->help && !options->portal)
		ret = fault_set(fault, -EINVAL, "which portal? give an address, as 192.0.2.10");
	return ret;
}

/* Output */

/* @target: NULL behind the first path of a leg. */
static char *path_list(const char *target, const char *portal, const char *nic)
{
	char *list = NULL;
	size_t size;
	FILE *out = open_memstream(&list, &size);

	if (!out)
		abort();
	if (target) {
		fputs("target=", out);
		parse_escape(out, target);
		fputc(',', out);
	}
	fputs("portal=", out);
	parse_escape(out, portal);
	if (nic) {
		fputs(",nic=", out);
		parse_escape(out, nic);
	}
	fclose(out);
	return list;
}

static char *leg_words(const struct target *target, const char *nic)
{
	char *words = NULL, *list;
	size_t size, i;
	FILE *out = open_memstream(&words, &size);

	if (!out)
		abort();
	for (i = 0; i < target->portal_count; i++) {
		list = path_list(i ? NULL : target->name, target->portals[i].portal, nic);
		fputs(i ? " --path " : "--leg ", out);
		text_quote(out, list);
		free(list);
	}
	fclose(out);
	return words;
}

static void user_print(void *context, const char *volume, const struct leg *leg,
		       const char *lun)
{
	(void)context;
	printf("    used by   LUN %s is leg %u of volume %s\n", lun, leg->index, volume);
}

static void target_print(const struct target *target, const struct options *options,
			 const struct users *users)
{
	char *words = leg_words(target, options->nic);
	size_t i;

	printf("%s\n", target->name);
	for (i = 0; i < target->portal_count; i++)
		printf("    portal    %s, portal group %s\n", target->portals[i].portal,
		       target->portals[i].group);
	for (i = 0; i < target->lun_count; i++)
		printf("    LUN %-5s %s\n", target->luns[i].number, target->luns[i].size);
	users_each(users, target->name, user_print, NULL);
	printf("    use       %s\n", words);
	free(words);
}

static void number_json(struct json_object *object, const char *name, const char *value)
{
	json_object_object_add(object, name, json_object_new_int64(strtoll(value, NULL, 10)));
}

static void user_json(void *context, const char *volume, const struct leg *leg, const char *lun)
{
	struct json_object *object = json_object_new_object();

	json_text(object, "volume", volume);
	json_object_object_add(object, "leg", json_object_new_int64(leg->index));
	number_json(object, "lun", lun);
	json_object_array_add(context, object);
}

static struct json_object *portals_json(const struct target *target)
{
	struct json_object *list = json_object_new_array(), *portal;
	size_t i;

	for (i = 0; i < target->portal_count; i++) {
		portal = json_object_new_object();
		json_text(portal, "portal", target->portals[i].portal);
		number_json(portal, "portal_group", target->portals[i].group);
		json_object_array_add(list, portal);
	}
	return list;
}

static struct json_object *luns_json(const struct target *target)
{
	struct json_object *list = json_object_new_array(), *lun;
	size_t i;

	for (i = 0; i < target->lun_count; i++) {
		lun = json_object_new_object();
		number_json(lun, "lun", target->luns[i].number);
		json_text(lun, "size", target->luns[i].size);
		json_object_array_add(list, lun);
	}
	return list;
}

static struct json_object *target_json(const struct target *target, const struct options *options,
				       const struct users *users)
{
	struct json_object *object = json_object_new_object(), *list = json_object_new_array();
	char *words = leg_words(target, options->nic);

	json_text(object, "target_name", target->name);
	json_object_object_add(object, "portals", portals_json(target));
	/* null: nobody has asked, or iscsi-ls does not say */
	json_object_object_add(object, "luns", options->luns ? luns_json(target) : NULL);
	users_each(users, target->name, user_json, list);
	json_object_object_add(object, "used_by", list);
	json_text(object, "words", words);
	free(words);
	return object;
}

static void targets_json(const struct targets *targets, const struct options *options,
			 const struct users *users)
{
	struct json_object *all = json_begin(), *list = json_object_new_array();
	size_t i;

	for (i = 0; i < targets->count; i++)
		json_object_array_add(list, target_json(&targets->items[i], options, users));
	json_object_object_add(all, "targets", list);
	json_end(all);
}

/* Interfaces */

/* The interfaces in whose subnet a portal is, each once, when there are several. */
static void tries_add(struct reach **tries, size_t *count, const char *portal,
		      const struct host_address *addresses, int address_count)
{
	size_t before = *count, j;
	int i;

	for (j = 0; j < before; j++)
		if (!strcmp((*tries)[j].portal, portal))
			return;
	for (i = 0; i < address_count; i++) {
		for (j = before; j < *count; j++)
			if (!strcmp((*tries)[j].nic, addresses[i].nic))
				break;
		if (j < *count || !host_address_is_beside(&addresses[i], portal))
			continue;
		*alloc_append(*tries, *count) = (struct reach) {
			.portal = portal, .nic = addresses[i].nic,
		};
	}
	if (*count - before < 2)
		*count = before;
}

/* Whether the portal of @tries[0] answers over several of its interfaces, which it says. */
static bool nics_print(const struct reach *tries, size_t count, const struct options *options)
{
	const char *portal = tries[0].portal, *last = NULL;
	char *nics = alloc_text(""), *more;
	bool several = false;
	size_t i;

	for (i = 0; i < count && !strcmp(tries[i].portal, portal); i++) {
		if (tries[i].error)
			continue;
		more = alloc_printf("%s%s%s", nics, last ? "," : "", tries[i].nic);
		free(nics);
		nics = more;
		several = !!last;
		last = tries[i].nic;
	}
	if (several)
		fprintf(stderr,
			"istripectl: %s answers over %s: give each path its nic=, as --path portal=%s,nic=%s, or: istripectl create NAME --discover %s --nics %s\n",
			portal, nics, portal, last, options->portal, nics);
	free(nics);
	return several;
}

/* The words for create have no interface then, and the routes of the host choose one of them. */
static void nics_advise(const struct targets *targets, const struct options *options)
{
	struct host_address *addresses = NULL;
	struct reach *tries = NULL;
	int address_count = host_addresses(&addresses);
	size_t count = 0, i, j;

	for (i = 0; i < targets->count; i++)
		for (j = 0; j < targets->items[i].portal_count; j++)
			tries_add(&tries, &count, targets->items[i].portals[j].portal, addresses,
				  address_count);
	reach_try(tries, count);
	for (i = 0; i < count; i++)
		if ((!i || strcmp(tries[i].portal, tries[i - 1].portal)) &&
		    nics_print(&tries[i], count - i, options))
			break;
	free(tries);
	free(addresses);
}

static void targets_print(const struct targets *targets, const struct options *options)
{
	struct users users = { 0 };
	size_t i;

	users_read(&users);
	if (options->json)
		targets_json(targets, options, &users);
	for (i = 0; !options->json && i < targets->count; i++)
		target_print(&targets->items[i], options, &users);
	users_free(&users);
}

/* A portal tells its link-local addresses without the interface of this host. */
static void zones_give(struct targets *targets, const struct options *options)
{
	const char *scope = strchr(options->portal, '%');
	char *nic = scope ? alloc_printf("%.*s", (int)strcspn(scope + 1, "]"), scope + 1) :
		    options->nic ? alloc_text(options->nic) : NULL;
	size_t i, j;

	for (i = 0; nic && i < targets->count; i++)
		for (j = 0; j < targets->items[i].portal_count; j++) {
			struct target_portal *it = &targets->items[i].portals[j];
			char *portal = target_portal_on(it->portal, nic);

			free(it->portal);
			it->portal = portal;
		}
	free(nic);
}

/* The targets are found, whatever keeps iscsi-ls from their LUNs. */
static int luns_find(struct options *options, struct targets *targets, struct fault *fault)
{
	int ret = targets_find_luns(options->portal, &options->chap.settings, targets, fault);
	struct fault why = *fault;

	if (ret == -EAGAIN)
		fault_set(fault, ret, "the LUNs are not known: %s", why.text);
	options->luns = !ret;
	return ret;
}

static int discover(struct options *options, struct fault *fault)
{
	struct targets targets = { 0 };
	int ret = secret_load(&options->chap, fault), luns = 0;

	if (!ret)
		ret = targets_find(options->portal, options->nic, &options->chap.settings,
				   &targets, fault);
	if (!ret)
		zones_give(&targets, options);
	if (!ret && options->luns)
		luns = luns_find(options, &targets, fault);
	if (!ret)
		targets_print(&targets, options);
	if (!ret && !options->nic && luns != -EINTR)
		nics_advise(&targets, options);
	targets_free(&targets);
	return ret ? ret : luns;
}

int command_discover(const struct command *command, int argc, char **argv)
{
	struct options options = { 0 };
	struct fault fault = { 0 };
	int code = EXIT_DONE;

	if (options_read(argc, argv, &options, &fault)) {
		code = command_usage(command, &fault);
	} else if (options.help) {
		command_help(command);
	} else {
		interrupt_catch();
		if (discover(&options, &fault)) {
			fault_print(&fault);
			code = EXIT_FAILED;
		}
	}
	volume_free(&options.chap);
	return code;
}
