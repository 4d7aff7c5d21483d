// SPDX-License-Identifier: GPL-2.0
/*
 * From words to the model.
 *
 * A list is name=value,name=value. A piece without '=' belongs to the value
 * before it, so that header_digest=CRC32C,None is what it looks like; any other
 * comma in a value is written "\,", a backslash "\\".
 */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "parse.h"
#include "text.h"
#include "value.h"

#define NAME_CHARS	"abcdefghijklmnopqrstuvwxyz0123456789_"

struct parser {
	struct volume *volume;
	struct settings all_paths;
	struct fault *fault;
};

static const struct {
	const char *word;
	const char *name;
} aliases[] = {
	{ "target", "target_name" },
	{ "source", "source_address" },
	{ "initiator", "initiator_name" },
	{ "chunk", "chunk_bytes" },
	{ "command_timeout", "command_timeout_ms" },
	{ "recovery_timeout", "recovery_timeout_ms" },
	{ "fence_timeout", "fence_timeout_ms" },
	{ "ghost_timeout", "ghost_timeout_ms" },
	{ "login_timeout", "login_timeout_ms" },
	{ "login_retry_max", "login_retry_max_ms" },
	{ "ping_interval", "ping_interval_ms" },
	{ "ping_timeout", "ping_timeout_ms" },
	{ "user_timeout", "user_timeout_ms" },
};

static const char *alias_name(const char *word)
{
	size_t i;

	for (i = 0; i < sizeof(aliases) / sizeof(*aliases); i++)
		if (!strcmp(aliases[i].word, word))
			return aliases[i].name;
	return word;
}

const char *parse_short_name(size_t index)
{
	return index < sizeof(aliases) / sizeof(*aliases) ? aliases[index].word : NULL;
}

const char *parse_short_for(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(aliases) / sizeof(*aliases); i++)
		if (!strcmp(aliases[i].name, name))
			return aliases[i].word;
	return NULL;
}

/* Names become names of files: nothing but those of settings gets through. */
static int name_check(const char *name, struct fault *fault)
{
	static const struct {
		const char *name, *command;
	} states[] = {
		{ "enable", "up, or down" }, { "device", "status" }, { "last_error", "status" },
		{ "unfenced", "path confirm" },
	};
	size_t i;

	if (!*name || strspn(name, NAME_CHARS) != strlen(name))
		return fault_set(fault, -EINVAL,
				 "\"%s\" is no name of a setting: letters a to z, digits and _",
				 name);
	for (i = 0; i < sizeof(states) / sizeof(*states); i++)
		if (!strcmp(name, states[i].name))
			return fault_set(fault, -EINVAL, "%s is not a setting\nnext: istripectl %s",
					 name, states[i].command);
	return 0;
}

static int secret_check(const char *name, const char *value, struct fault *fault)
{
	if (!*value || (value[0] == '@' && value[1]))
		return 0;
	fault_set(fault, -EINVAL,
		  "%s: a secret is never given on the command line or in a configuration, where others can see it",
		  name);
	fault_add(fault, "give %s=@FILE (mode 0600), or %s=@- to type it; and change it", name,
		  name);
	return -EINVAL;
}

/* A short name says nothing of milliseconds: its value has a unit, or is 0 or -1. */
static int time_check(const char *word, const char *name, const char *text, struct fault *fault)
{
	if (word == name || !value_is_time(name) || !value_lacks_unit(name, text))
		return 0;
	if (text[strspn(text, "0123456789")])
		return fault_set(fault, -EINVAL,
				 "%s: %s: a time is a number with ms, s, min, h or d", word, text);
	return fault_set(fault, -EINVAL,
			 "%s: %s: a time needs a unit, ms, s, min, h or d: say %ss or %sms", word,
			 text, text, text);
}

/* Another value would be read back, and save would write that one. */
static int text_check(const char *name, const char *text, struct fault *fault)
{
	if (text_is_clean(text))
		return 0;
	return fault_set(fault, -EINVAL,
			 "%s: a value is text in UTF-8, without control characters", name);
}

int parse_setting(struct settings *settings, const char *word, const char *text,
		  struct fault *fault)
{
	const char *name;
	char *value;
	int ret;

	name = alias_name(word);
	ret = name_check(name, fault);
	if (!ret)
		ret = time_check(word, name, text, fault);
	if (!ret && setting_is_secret(name))
		ret = secret_check(name, text, fault);
	if (!ret)
		ret = text_check(name, text, fault);
	if (ret)
		return ret;
	if (settings_find(settings, name))
		return fault_set(fault, -EINVAL, "%s is given twice", name);
	if (setting_is_secret(name)) {
		settings_put(settings, name, text);
		return 0;
	}
	value = value_read(name, text);
	if (!value)
		return fault_set(fault, -EINVAL, "%s: %s is too big, at most %lld", name, text,
				 LLONG_MAX);
	settings_put(settings, name, value);
	free(value);
	return 0;
}

static int setting_add(struct parser *parser, struct settings *settings, const char *name,
		       const char *text)
{
	return parse_setting(settings, name, text, parser->fault);
}

/* Lists */

/* Where the piece that @text begins with ends: at a comma or at the end. */
static const char *piece_end(const char *text)
{
	while (*text && *text != ',') {
		if (*text == '\\' && text[1])
			text++;
		text++;
	}
	return text;
}

static const char *entry_end(const char *text)
{
	const char *end = piece_end(text);

	while (*end) {
		const char *next = piece_end(end + 1);

		/* An empty piece is no continuation either: rather a slip. */
		if (next == end + 1 || memchr(end + 1, '=', next - end - 1))
			break;
		end = next;
	}
	return end;
}

static char *entry_copy(const char *text, const char *end)
{
	char *copy = alloc_array(NULL, end - text + 1, 1), *to = copy;

	while (text < end) {
		if (*text == '\\' && text + 1 < end && (text[1] == ',' || text[1] == '\\'))
			text++;
		*to++ = *text++;
	}
	*to = '\0';
	return copy;
}

static int entry_parse(struct parser *parser, struct settings *settings, char *entry)
{
	char *equals = strchr(entry, '=');

	if (!equals)
		return fault_set(parser->fault, -EINVAL, "\"%s\" is not NAME=VALUE", entry);
	*equals = '\0';
	return setting_add(parser, settings, entry, equals + 1);
}

static int list_parse(struct parser *parser, const char *text, struct settings *settings)
{
	for (;;) {
		const char *end = entry_end(text);
		char *entry = entry_copy(text, end);
		int ret = entry_parse(parser, settings, entry);

		free(entry);
		if (ret || !*end)
			return ret;
		text = end + 1;
	}
}

/* Options */

enum {
	OPTION_HELP = 'h', OPTION_DRY_RUN = 'n', OPTION_INITIATOR = 'i', OPTION_CHUNK = 'c',
	OPTION_SET = 's', OPTION_ALL_PATHS = 'a', OPTION_LEG = 'l', OPTION_PATH = 'p',
	OPTION_METADATA = 'm', OPTION_NO_UP = 256, OPTION_FORCE, OPTION_WAIT, OPTION_SAVE,
	OPTION_BOOT, OPTION_DISCOVER, OPTION_NICS, OPTION_TARGETS, OPTION_LUNS, OPTION_CHAP,
	OPTION_YES, OPTION_NO_SAVE, OPTION_NO_BOOT,
};

static const struct option options_long[] = {
	{ "help", no_argument, NULL, OPTION_HELP },
	{ "dry-run", no_argument, NULL, OPTION_DRY_RUN },
	{ "no-up", no_argument, NULL, OPTION_NO_UP },
	{ "initiator", required_argument, NULL, OPTION_INITIATOR },
	{ "chunk", required_argument, NULL, OPTION_CHUNK },
	{ "metadata", required_argument, NULL, OPTION_METADATA },
	{ "force", no_argument, NULL, OPTION_FORCE },
	{ "save", no_argument, NULL, OPTION_SAVE },
	{ "boot", no_argument, NULL, OPTION_BOOT },
	{ "wait", required_argument, NULL, OPTION_WAIT },
	{ "set", required_argument, NULL, OPTION_SET },
	{ "all-paths", required_argument, NULL, OPTION_ALL_PATHS },
	{ "discover", required_argument, NULL, OPTION_DISCOVER },
	{ "nics", required_argument, NULL, OPTION_NICS },
	{ "targets", required_argument, NULL, OPTION_TARGETS },
	{ "luns", required_argument, NULL, OPTION_LUNS },
	{ "chap", required_argument, NULL, OPTION_CHAP },
	{ "yes", no_argument, NULL, OPTION_YES },
	{ "no-save", no_argument, NULL, OPTION_NO_SAVE },
	{ "no-boot", no_argument, NULL, OPTION_NO_BOOT },
	{ "leg", required_argument, NULL, OPTION_LEG },
	{ "path", required_argument, NULL, OPTION_PATH },
	{ NULL, 0, NULL, 0 },
};

int parse_chap(const char *text, struct settings *chap, struct fault *fault)
{
	static const char *const names[] = {
		"user", "secret", "mutual_user", "mutual_secret", NULL,
	};
	struct parser parser = { .fault = fault };
	struct settings list = { 0 };
	int ret = list_parse(&parser, text, &list);
	size_t i;

	for (i = 0; !ret && i < list.count; i++) {
		char *name = alloc_printf("chap_%s", list.items[i].name);

		if (text_listed(names, list.items[i].name))
			settings_put(chap, name, list.items[i].value);
		else
			ret = fault_set(fault, -EINVAL,
					"--chap: \"%s\" is none of user=NAME, secret=@FILE, mutual_user=NAME, mutual_secret=@FILE",
					list.items[i].name);
		free(name);
	}
	settings_free(&list);
	if (!ret && (!*settings_value(chap, "chap_user") || !*settings_value(chap, "chap_secret")))
		ret = fault_set(fault, -EINVAL, "--chap needs user=NAME,secret=@FILE");
	return ret;
}

/* Settings that are known to be the LUN's go there; the others are its first path's. */
static void leg_take(struct leg *leg, const struct settings *list)
{
	struct settings *path = &leg_add_path(leg, 0)->settings;
	size_t i;

	for (i = 0; i < list->count; i++) {
		const struct setting *item = &list->items[i];

		settings_put(setting_is_of_leg(item->name) ? &leg->settings : path, item->name,
			     item->value);
	}
}

static int leg_parse(struct parser *parser, const char *text)
{
	struct settings list = { 0 };
	int ret = list_parse(parser, text, &list);

	if (!ret)
		leg_take(volume_add_leg(parser->volume, parser->volume->leg_count), &list);
	settings_free(&list);
	return ret;
}

static int path_parse(struct parser *parser, const char *text)
{
	struct volume *volume = parser->volume;
	struct leg *leg;

	if (!volume->leg_count)
		return fault_set(parser->fault, -EINVAL, "--path must follow the --leg it is of");
	leg = &volume->legs[volume->leg_count - 1];
	return list_parse(parser, text, &leg_add_path(leg, leg->path_count)->settings);
}

static int option_bad(struct parser *parser, int option, const char *word)
{
	return fault_set(parser->fault, -EINVAL, option == ':' ? "%s needs a value" :
			 "unknown option %s", word);
}

/* A list of names with commas between them, none of them empty or there twice. */
static int names_take(const char *text, const char *option, const char **list,
		      struct fault *fault)
{
	const char *name = text, *other;
	size_t bytes;

	for (;; name += bytes + 1) {
		bytes = strcspn(name, ",");
		if (!bytes)
			return fault_set(fault, -EINVAL, "%s %s: names with commas between them",
					 option, text);
		for (other = text; other < name; other += strcspn(other, ",") + 1)
			if (strcspn(other, ",") == bytes && !strncmp(other, name, bytes))
				return fault_set(fault, -EINVAL, "%.*s is given twice",
						 (int)bytes, name);
		if (!name[bytes])
			break;
	}
	*list = text;
	return 0;
}

static int luns_take(const char *text, struct create_discovery *discovery, struct fault *fault)
{
	if (strspn(text, "0123456789,") != strlen(text))
		return fault_set(fault, -EINVAL,
				 "--luns %s: numbers of LUNs with commas between them", text);
	return names_take(text, "--luns", &discovery->luns, fault);
}

static int option_parse(struct parser *parser, struct create_options *options, int option,
			const char *word)
{
	struct volume *volume = parser->volume;

	switch (option) {
	case OPTION_HELP:
		options->help = true;
		return 0;
	case OPTION_DRY_RUN:
		options->dry_run = true;
		return 0;
	case OPTION_NO_UP:
		options->no_up = true;
		return 0;
	case OPTION_BOOT:
		options->boot = true;
		__attribute__((fallthrough));
	case OPTION_SAVE:
		options->save = true;
		return 0;
	case OPTION_INITIATOR:
		return setting_add(parser, &volume->settings, "initiator_name", optarg);
	case OPTION_CHUNK:
		return setting_add(parser, &volume->settings, "chunk_bytes", optarg);
	case OPTION_METADATA:
		return setting_add(parser, &volume->settings, "metadata", optarg);
	case OPTION_FORCE:
		return setting_add(parser, &volume->settings, "metadata_create", "force");
	case OPTION_WAIT:
		if (value_wait(optarg, &options->wait_ms))
			return 0;
		return fault_set(parser->fault, -EINVAL,
				 "--wait %s: seconds, a time as 5min, or forever", optarg);
	case OPTION_DISCOVER:
		options->discovery.portal = optarg;
		return 0;
	case OPTION_NICS:
		return names_take(optarg, "--nics", &options->discovery.nics, parser->fault);
	case OPTION_TARGETS:
		return names_take(optarg, "--targets", &options->discovery.targets, parser->fault);
	case OPTION_LUNS:
		return luns_take(optarg, &options->discovery, parser->fault);
	case OPTION_CHAP:
		return parse_chap(optarg, &options->discovery.chap, parser->fault);
	case OPTION_YES:
		options->discovery.yes = true;
		return 0;
	case OPTION_NO_SAVE:
		options->discovery.no_save = true;
		return 0;
	case OPTION_NO_BOOT:
		options->discovery.no_boot = true;
		return 0;
	case OPTION_SET:
		return list_parse(parser, optarg, &volume->settings);
	case OPTION_ALL_PATHS:
		return list_parse(parser, optarg, &parser->all_paths);
	case OPTION_LEG:
		return leg_parse(parser, optarg);
	case OPTION_PATH:
		return path_parse(parser, optarg);
	default:
		return option_bad(parser, option, word);
	}
}

/* Inheritance */

/* Settings that @path does not have itself are taken from @from. */
static void path_inherit(struct path *path, const struct settings *from, bool of_leg)
{
	size_t i;

	for (i = 0; i < from->count; i++) {
		const struct setting *item = &from->items[i];

		if (settings_find(&path->settings, item->name) || !item->value ||
		    (of_leg && setting_is_of_one_path(item->name)))
			continue;
		settings_put(&path->settings, item->name, item->value);
	}
}

static void leg_inherit(struct leg *leg, const struct settings *all_paths)
{
	struct settings of_paths = { 0 };
	size_t i;

	/* Settings of the LUN are the leg's, as in --leg. */
	for (i = 0; i < all_paths->count; i++) {
		const struct setting *item = &all_paths->items[i];

		if (!setting_is_of_leg(item->name))
			settings_put(&of_paths, item->name, item->value);
		else if (!settings_find(&leg->settings, item->name))
			settings_put(&leg->settings, item->name, item->value);
	}
	for (i = 1; i < leg->path_count; i++)
		path_inherit(&leg->paths[i], &leg->paths[0].settings, true);
	for (i = 0; i < leg->path_count; i++)
		path_inherit(&leg->paths[i], &of_paths, false);
	settings_free(&of_paths);
}

int parse_path(const char *text, const struct leg *leg, struct path *path, struct fault *fault)
{
	struct parser parser = { .fault = fault };
	int ret = list_parse(&parser, text, &path->settings);

	if (!ret && leg->path_count)
		path_inherit(path, &leg->paths[0].settings, true);
	return ret;
}

int parse_volume_name(const char *word, struct fault *fault)
{
	if (volume_name_valid(word))
		return 0;
	return fault_set(fault, -EINVAL,
			 "\"%s\" cannot be the name of a volume: 1 to 63 letters, digits, '.', '_' and '-', of which the first is not '.' or '-', nor -part and digits at its end",
			 word);
}

static int name_take(struct parser *parser, int argc, char **argv)
{
	int ret;

	if (optind >= argc)
		return fault_set(parser->fault, -EINVAL, "which volume? a name is needed");
	if (optind + 1 < argc)
		return fault_set(parser->fault, -EINVAL, "\"%s\" is one word too many",
				 argv[optind + 1]);
	ret = parse_volume_name(argv[optind], parser->fault);
	if (!ret)
		parser->volume->name = alloc_text(argv[optind]);
	return ret;
}

/* Only the word create makes the module write on the legs. */
static int metadata_take(struct parser *parser, const struct create_options *options)
{
	struct settings *settings = &parser->volume->settings;
	bool given = settings_find(settings, "metadata_create");

	if (options->assemble && given)
		return fault_set(parser->fault, -EINVAL,
				 "assemble writes nothing on the legs: --force and metadata_create are for create");
	if (!options->assemble && !given && strcmp(settings_value(settings, "metadata"), "none"))
		settings_put(settings, "metadata_create", "1");
	return 0;
}

/* A secret is read for the discovery and again for the paths. */
static int secrets_are_files(const struct settings *settings, struct fault *fault)
{
	size_t i;

	for (i = 0; i < settings->count; i++)
		if (setting_is_secret(settings->items[i].name) &&
		    !strcmp(settings->items[i].value, "@-"))
			return fault_set(fault, -EINVAL,
					 "--discover needs the secret more than once: put it into a file of mode 0600, and give @FILE in the place of @-");
	return 0;
}

/* Options that are only for --discover must not be ignored without it. */
static int discovery_check(const struct parser *parser, const struct create_options *options)
{
	const struct create_discovery *discovery = &options->discovery;
	bool others = discovery->nics || discovery->targets || discovery->luns || discovery->yes ||
		      discovery->no_save || discovery->no_boot || discovery->chap.count;

	if (!discovery->portal)
		return !others ? 0 : fault_set(parser->fault, -EINVAL,
				"--nics, --targets, --luns, --chap, --yes, --no-save and --no-boot are for create --discover PORTAL");
	if (options->assemble)
		return fault_set(parser->fault, -EINVAL,
				 "--discover is for create: the order of the legs of a volume that exists is not known to a portal");
	if (parser->volume->leg_count)
		return fault_either(parser->fault, "--discover", "--leg and --path");
	if (!discovery->nics)
		return fault_set(parser->fault, -EINVAL,
				 "--discover needs the interfaces that may be used: --nics eth1,eth2");
	return 0;
}

/* A volume whose legs are found is there again after a reboot, too, unless that is not wanted. */
static int saving_take(struct create_options *options, struct fault *fault)
{
	const struct create_discovery *discovery = &options->discovery;

	if (options->save && discovery->no_save)
		return fault_either(fault, options->boot ? "--boot" : "--save", "--no-save");
	if (options->boot && discovery->no_boot)
		return fault_either(fault, "--boot", "--no-boot");
	options->save_unasked = !options->save && !discovery->no_save;
	options->save |= options->save_unasked;
	options->boot_unasked = options->save && !options->boot && !discovery->no_boot;
	options->boot |= options->boot_unasked;
	return 0;
}

/* Paths log in as the discovery does unless --all-paths says otherwise. */
static int discovery_finish(struct parser *parser, struct create_discovery *discovery)
{
	struct settings *paths = &discovery->paths;
	bool own = settings_find(&parser->all_paths, "chap_user");
	int ret;
	size_t i;

	for (i = 0; i < parser->all_paths.count; i++) {
		const struct setting *item = &parser->all_paths.items[i];

		if (setting_is_of_one_path(item->name) || !strcmp(item->name, "target_name") ||
		    !strcmp(item->name, "lun"))
			return fault_set(parser->fault, -EINVAL,
					 "--all-paths: %s is what --discover finds", item->name);
		settings_put(paths, item->name, item->value);
	}
	for (i = 0; !own && i < discovery->chap.count; i++)
		settings_put(paths, discovery->chap.items[i].name,
			     discovery->chap.items[i].value);
	ret = secrets_are_files(&discovery->chap, parser->fault);
	return ret ? ret : secrets_are_files(paths, parser->fault);
}

void parse_create_free(struct create_options *options)
{
	settings_free(&options->discovery.chap);
	settings_free(&options->discovery.paths);
}

static int volume_finish(struct parser *parser, struct create_options *options, int argc,
			 char **argv)
{
	struct volume *volume = parser->volume;
	size_t i;
	int ret = name_take(parser, argc, argv);

	if (!ret)
		ret = discovery_check(parser, options);
	if (!ret && options->discovery.portal) {
		ret = saving_take(options, parser->fault);
		return ret ? ret : discovery_finish(parser, &options->discovery);
	}
	if (ret)
		return ret;
	if (!volume->leg_count)
		return fault_set(parser->fault, -EINVAL,
				 "a volume needs a leg: --leg target=NAME,portal=ADDRESS; or --discover PORTAL --nics LIST finds them");
	for (i = 0; i < volume->leg_count; i++)
		leg_inherit(&volume->legs[i], &parser->all_paths);
	return 0;
}

int parse_create(int argc, char **argv, struct create_options *options, struct volume *volume,
		 struct fault *fault)
{
	struct parser parser = { .volume = volume, .fault = fault };
	int option, ret = 0;

	optind = 0;
	memset(options, 0, sizeof(*options));
	options->assemble = !strcmp(argv[0], "assemble");
	while (!ret && (option = getopt_long(argc, argv, ":hni:c:m:s:a:l:p:", options_long,
					     NULL)) != -1)
		ret = option_parse(&parser, options, option, argv[optind - 1]);
	if (!ret && !options->help)
		ret = metadata_take(&parser, options);
	if (!ret && !options->help)
		ret = volume_finish(&parser, options, argc, argv);
	settings_free(&parser.all_paths);
	return ret;
}
