// SPDX-License-Identifier: GPL-2.0
/* Values with units. */
#include <ctype.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "known.h"
#include "text.h"
#include "value.h"

struct unit {
	const char *word;
	long long factor;
};

static const struct unit sizes[] = {
	{ "K", 1 << 10 }, { "M", 1 << 20 }, { "G", 1 << 30 },
	{ "k", 1 << 10 }, { "m", 1 << 20 }, { "g", 1 << 30 },
	{ "KiB", 1 << 10 }, { "MiB", 1 << 20 }, { "GiB", 1 << 30 },
	{ NULL, 0 },
};

static const struct unit times_ms[] = {
	{ "ms", 1 }, { "s", 1000 }, { "min", 60000 }, { "h", 3600000 }, { "d", 86400000 },
	{ NULL, 0 },
};

static const struct unit times_s[] = {
	{ "s", 1 }, { "min", 60 }, { "h", 3600 }, { "d", 86400 }, { NULL, 0 },
};

static const struct unit *units_of(const char *name)
{
	if (text_ends(name, "_bytes") || text_ends(name, "_length"))
		return sizes;
	if (text_ends(name, "_ms"))
		return times_ms;
	if (!strncmp(name, "default_time2", strlen("default_time2")))
		return times_s;
	return NULL;
}

static const struct unit *unit_find(const struct unit *units, const char *word)
{
	for (; units && units->word; units++)
		if (!strcmp(units->word, word))
			return units;
	return NULL;
}

char *value_read(const char *name, const char *text)
{
	const struct unit *unit;
	long long number;
	char *end;

	if (!isdigit((unsigned char)text[0]))
		return alloc_text(text);
	errno = 0;
	number = strtoll(text, &end, 10);
	unit = unit_find(units_of(name), end);
	if (!unit)
		return alloc_text(text);
	if (errno || __builtin_mul_overflow(number, unit->factor, &number))
		return NULL;
	return alloc_printf("%lld", number);
}

bool value_is_time(const char *name)
{
	return units_of(name) == times_ms;
}

bool value_lacks_unit(const char *name, const char *text)
{
	const char *end = text + strspn(text, "0123456789");

	return end != text && strcmp(text, "0") && !unit_find(units_of(name), end);
}

/* The one form of a number; others may mean something else to the module. */
bool value_number(const char *value, long long *number)
{
	const char *digits = value + (value[0] == '-');

	if (!isdigit((unsigned char)digits[0]) || (digits[0] == '0' && digits[1]) ||
	    strspn(digits, "0123456789") != strlen(digits))
		return false;
	errno = 0;
	*number = strtoll(value, NULL, 10);
	return !errno;
}

bool value_wait(const char *text, long long *wait_ms)
{
	char *value;
	bool number;

	if (!strcmp(text, "forever")) {
		*wait_ms = VALUE_FOREVER;
		return true;
	}
	if (value_number(text, wait_ms))
		return *wait_ms >= 0 && !__builtin_mul_overflow(*wait_ms, 1000LL, wait_ms);
	value = value_read("wait_ms", text);
	number = value && value_number(value, wait_ms) && *wait_ms >= 0;
	free(value);
	return number;
}

char *value_write(const char *name, const char *value)
{
	long long number;

	if (units_of(name) == sizes && value_number(value, &number) && number > 0) {
		if (number % (1 << 20) == 0)
			return alloc_printf("%lldM", number >> 20);
		if (number % (1 << 10) == 0)
			return alloc_printf("%lldK", number >> 10);
	}
	return alloc_text(value);
}

/* Keys of RFC 7143 and what is in sysfs only go by their names. */
static bool is_number(const char *name)
{
	static const char *const names[] = {
		"cid", "commands", "commands_in_flight", "connections", "events", "faults",
		"ghost_writes", "index", "kept_bios", "login_failures", "reconnects", "redriven",
		"retried", "retries", "session", "tsih", "port_group", "waiting_writes",
		"MaxConnections", NULL
	};
	static const char *const endings[] = {
		"_bytes", "_length", "_ms", "_us", "_depth", "_sn", "_tag", "_errors", "_sent",
		"_received", "_r2t", "_level", "_time2wait", "_time2retain", "Length",
		"OutstandingR2T", "Time2Wait", "Time2Retain", "Level", NULL
	};
	const struct known *known = known_anywhere(name, NULL);
	size_t i;

	for (i = 0; endings[i]; i++)
		if (text_ends(name, endings[i]))
			return true;
	return text_listed(names, name) ||
	       (known && known->kind >= KNOWN_NUMBER && known->kind < KNOWN_CHOICE);
}

enum value_type value_type(const char *name)
{
	static const char *const lists[] = {
		"fenced_through", "latency_read", "latency_write", "latency_other", NULL
	};
	static const char *const booleans[] = {
		"preferred", "unfenced", "initial_r2t", "immediate_data", "InitialR2T",
		"ImmediateData", "DataPDUInOrder", "DataSequenceInOrder", "IFMarker", "OFMarker",
		NULL
	};

	if (text_listed(booleans, name))
		return VALUE_BOOLEAN;
	if (text_listed(lists, name))
		return VALUE_NUMBERS;
	return is_number(name) ? VALUE_NUMBER : VALUE_TEXT;
}

bool value_boolean(const char *value, bool *yes)
{
	*yes = !strcmp(value, "1") || !strcmp(value, "Yes");
	return *yes || !strcmp(value, "0") || !strcmp(value, "No");
}

char *value_size(unsigned long long bytes)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	double size = bytes;
	size_t unit = 0;

	while (size >= 1024 && unit < sizeof(units) / sizeof(*units) - 1) {
		size /= 1024;
		unit++;
	}
	if (size == (unsigned long long)size)
		return alloc_printf("%llu %s", (unsigned long long)size, units[unit]);
	return alloc_printf("%.1f %s", size, units[unit]);
}
