/* SPDX-License-Identifier: GPL-2.0 */
/* What is known of settings without asking the module: the driver's own table. */
#ifndef ISTRIPECTL_KNOWN_H
#define ISTRIPECTL_KNOWN_H

#include <stdbool.h>

#include "fault.h"
#include "model.h"

enum known_place {
	KNOWN_VOLUME,
	KNOWN_LEG,
	KNOWN_PATH,
	KNOWN_PLACES
};

/* The kind of its values. */
enum known_kind {
	KNOWN_OTHER,		/* only the module can tell which are allowed */
	KNOWN_SECRET,		/* the range is that of its length */
	KNOWN_NUMBER,
	KNOWN_BUFFER,		/* a number, or 0 */
	KNOWN_CHUNK,		/* a power of two */
	KNOWN_CHOICE,
};

struct known {
	const char *name;	/* NULL ends a list */
	const char *value;	/* the default */
	bool live;		/* takes effect at once when the volume is up */
	bool login;		/* of a path: may change while no session of it is live */
	enum known_kind kind;
	long long min, max;	/* of a number or a secret */
	const char *choices;	/* one after another, each with its NUL; an empty one ends them */
};

/**
 * known_settings() - the settings of one kind of directory
 * @place: which kind
 *
 * Return: an array in the order of the driver's table.
 */
const struct known *known_settings(enum known_place place);

/**
 * known_find() - one setting
 * @place: where it is
 * @name: the name of its file
 *
 * Return: the setting; NULL for one of a later version of the module.
 */
const struct known *known_find(enum known_place place, const char *name);

/**
 * known_anywhere() - one setting, of a volume, a leg or a path
 * @name: the name of its file
 * @place: set to where it is, unless NULL
 *
 * Return: the setting; NULL for one of a later version of the module.
 */
const struct known *known_anywhere(const char *name, enum known_place *place);

/**
 * known_default() - the value of a setting that nobody has changed
 * @place: where it is
 * @name: the name of its file
 *
 * Return: the value; empty when it is not known.
 */
const char *known_default(enum known_place place, const char *name);

/**
 * known_worth() - the value of a setting, whether it is there or has its default
 * @place: where it is
 * @settings: where to look
 * @name: the name of its file
 *
 * Return: the value, empty when it cannot be read.
 */
const char *known_worth(enum known_place place, const struct settings *settings,
			const char *name);

/**
 * known_same_number() - whether two values are the same number
 * @known: the setting, or NULL
 * @a: the one
 * @b: the other
 *
 * Return: whether they are; false when values of the setting are no numbers.
 */
bool known_same_number(const struct known *known, const char *a, const char *b);

/**
 * known_check() - refuse what the module, of the version of this tool, would refuse
 * @place: where the setting is
 * @name: the name of its file
 * @value: the value as it would be written
 * @fault: set on failure
 *
 * Return: 0, also when it cannot be told; -EINVAL.
 */
int known_check(enum known_place place, const char *name, const char *value,
		struct fault *fault);

/**
 * known_path_problem() - what does not fit together in a path, as the module would refuse it
 * @its: the settings of the path, with an address as portal
 *
 * It says what istripe_path_params_problem() and istripe_credentials_problem() of the driver do. A
 * secret that is to be typed, "@-", is like no other.
 *
 * Return: the reason in the module's words; NULL: nothing.
 */
const char *known_path_problem(const struct settings *its);

#endif
