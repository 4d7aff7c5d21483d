// SPDX-License-Identifier: GPL-2.0
/* The driver's table of settings. */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <istripe/settings.h>
#include "alloc.h"
#include "known.h"

#define LIVE_fixed	false
#define LIVE_secret	false
#define LIVE_hotplug	true
#define LIVE_shown	false
#define LIVE_live	true

#define LOGIN_nothing		false
#define LOGIN_command_timeout	false
#define LOGIN_recovery_timeout	false
#define LOGIN_fence		false
#define LOGIN_fence_timeout	false
#define LOGIN_alua		false
#define LOGIN_sockets		false
#define LOGIN_keepalive		false
#define LOGIN_login_retry	false
#define LOGIN_login		true

#define CHOICE_OF(_value, _text)	_text "\0"
#define RANGE_number(_field, _min, _max)	KNOWN_NUMBER, _min, _max, NULL
#define RANGE_buffer(_field, _min, _max)	KNOWN_BUFFER, _min, _max, NULL
#define RANGE_chunk(_field, _min, _max)		KNOWN_CHUNK, _min, _max, NULL
#define RANGE_chap_secret(_field, _min, _max)	KNOWN_SECRET, 1, _max, NULL
#define RANGE_choice(_field, _choices)		KNOWN_CHOICE, 0, 0, _choices(CHOICE_OF)
#define RANGE_OTHER				KNOWN_OTHER, 0, 0, NULL
#define RANGE_key(...)				RANGE_OTHER
#define RANGE_key_max(_key, _max)		RANGE_##_key(_max)
#define RANGE_MAX_CONNECTIONS(_max)		KNOWN_NUMBER, 1, _max, NULL
#define RANGE_MAX_OUTSTANDING_R2T(_max)		RANGE_OTHER
#define RANGE_text(...)				RANGE_OTHER
#define RANGE_iscsi_name(...)			RANGE_OTHER
#define RANGE_nic(...)				RANGE_OTHER
#define RANGE_portal(...)			RANGE_OTHER
#define RANGE_address(...)			RANGE_OTHER
#define RANGE_isid(...)				RANGE_OTHER
#define RANGE_algorithms(...)			RANGE_OTHER
#define RANGE_congestion_control(...)		RANGE_OTHER

#define KNOWN_OF_ROW(_name, _file, _apply, _default, _kind, _args)	\
	{ #_name, _default, LIVE_##_file, LOGIN_##_apply, RANGE_##_kind _args },

static const struct known volume_settings[] = {
	ISTRIPE_VOLUME_SETTINGS(KNOWN_OF_ROW)
	{ .name = NULL },
};

static const struct known leg_settings[] = {
	ISTRIPE_LEG_SETTINGS(KNOWN_OF_ROW)
	{ .name = NULL },
};

static const struct known path_settings[] = {
	ISTRIPE_PATH_SETTINGS(KNOWN_OF_ROW)
	{ .name = NULL },
};

const struct known *known_settings(enum known_place place)
{
	static const struct known *const all[] = {
		[KNOWN_VOLUME] = volume_settings,
		[KNOWN_LEG] = leg_settings,
		[KNOWN_PATH] = path_settings,
	};

	return all[place];
}

const struct known *known_find(enum known_place place, const char *name)
{
	const struct known *known;

	for (known = known_settings(place); known->name; known++)
		if (!strcmp(known->name, name))
			return known;
	return NULL;
}

const struct known *known_anywhere(const char *name, enum known_place *place)
{
	const struct known *known = NULL;
	enum known_place at;

	for (at = 0; !known && at < KNOWN_PLACES; at++) {
		known = known_find(at, name);
		if (known && place)
			*place = at;
	}
	return known;
}

const char *known_default(enum known_place place, const char *name)
{
	const struct known *known = known_find(place, name);

	return known ? known->value : "";
}

const char *known_worth(enum known_place place, const struct settings *settings,
			const char *name)
{
	const struct setting *setting = settings_find(settings, name);

	if (!setting)
		return known_default(place, name);
	return setting->value ? setting->value : "";
}

/* As kstrtos64() reads it. */
static bool number_read(const char *text, long long *number)
{
	const char *digits = text + (*text == '-' || *text == '+');

	if (!*digits || strspn(digits, "0123456789") != strlen(digits))
		return false;
	errno = 0;
	*number = strtoll(text, NULL, 10);
	return !errno;
}

static bool number_allowed(const struct known *known, const char *value)
{
	long long number;

	if (known->kind == KNOWN_BUFFER && !strcmp(value, "0"))
		return true;
	if (known->kind == KNOWN_CHUNK && !*value)
		return true;
	return number_read(value, &number) && number >= known->min && number <= known->max &&
	       (known->kind != KNOWN_CHUNK || !(number & (number - 1)));
}

/* The choices as a list, or NULL when the value is one of them. */
static char *choice_refused(const char *choices, const char *value)
{
	char *list = NULL, *longer;

	for (; *choices; choices += strlen(choices) + 1) {
		if (!strcmp(choices, value)) {
			free(list);
			return NULL;
		}
		longer = alloc_printf("%s%s%s", list ? list : "", list ? ", " : "", choices);
		free(list);
		list = longer;
	}
	return list;
}

/* For free(), what is allowed instead; NULL: @value is, or only the module can tell. */
static char *known_refused(const struct known *known, const char *value)
{
	static const char *const words[] = {
		[KNOWN_NUMBER] = "a number", [KNOWN_BUFFER] = "0 or a number",
		[KNOWN_CHUNK] = "a power of two",
	};

	if (known->kind == KNOWN_CHOICE)
		return choice_refused(known->choices, value);
	if (known->kind < KNOWN_NUMBER || number_allowed(known, value))
		return NULL;
	return alloc_printf("%s from %lld to %lld%s", words[known->kind], known->min, known->max,
			    known->kind == KNOWN_CHUNK ? ", or nothing for the default" : "");
}

bool known_same_number(const struct known *known, const char *a, const char *b)
{
	long long one, other;

	return known && known->kind >= KNOWN_NUMBER && known->kind < KNOWN_CHOICE &&
	       number_read(a, &one) && number_read(b, &other) && one == other;
}

int known_check(enum known_place place, const char *name, const char *value, struct fault *fault)
{
	const struct known *known = known_find(place, name);
	char *allowed = known ? known_refused(known, value) : NULL;

	if (!allowed)
		return 0;
	fault_set(fault, -EINVAL, "%s: \"%s\" is refused, allowed is %s", name, value, allowed);
	free(allowed);
	return -EINVAL;
}

/* Also of one with a port. */
static bool is_six(const char *address)
{
	const char *colon = strchr(address, ':');

	return *address == '[' || (colon && strchr(colon + 1, ':'));
}

static long long path_number(const struct settings *its, const char *name)
{
	return atoll(known_worth(KNOWN_PATH, its, name));
}

static const char *credentials_problem(const struct settings *its)
{
	bool user = *settings_value(its, "chap_user"), secret = *settings_value(its, "chap_secret");
	bool mutual_user = *settings_value(its, "chap_mutual_user");
	bool mutual_secret = *settings_value(its, "chap_mutual_secret");
	const char *own = settings_value(its, "chap_secret");

	if (!user && !secret)
		return mutual_user || mutual_secret ?
			"mutual CHAP also needs chap_user and chap_secret" : NULL;
	if (!user)
		return "chap_secret is set, chap_user is not";
	if (!secret)
		return "chap_user is set, chap_secret is not";
	if (mutual_user && !mutual_secret)
		return "chap_mutual_user is set, chap_mutual_secret is not";
	if (!strcmp(own, settings_value(its, "chap_mutual_secret")) && strcmp(own, "@-"))
		return "initiator and target have the same CHAP secret";
	return NULL;
}

const char *known_path_problem(const struct settings *its)
{
	const char *portal = settings_value(its, "portal");
	const char *source = settings_value(its, "source_address");

	if (!*portal)
		return "portal is not set";
	if (!*settings_value(its, "target_name"))
		return "target_name is not set";
	if (*source && is_six(source) != is_six(portal))
		return "source_address and portal are of different IP versions";
	if (path_number(its, "first_burst_length") > path_number(its, "max_burst_length"))
		return "first_burst_length is greater than max_burst_length";
	return credentials_problem(its);
}
