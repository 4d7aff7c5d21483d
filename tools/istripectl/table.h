/* SPDX-License-Identifier: GPL-2.0 */
/* Rows of words under each other, by libsmartcols. */
#ifndef ISTRIPECTL_TABLE_H
#define ISTRIPECTL_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "fault.h"

#define TABLE_COLUMNS	11

/* How the user wants it. */
struct table_style {
	const char *columns;	/* names with commas between them; NULL: all */
	bool headings;
	bool pairs;		/* NAME="value" instead of columns */
	FILE *out;		/* NULL: standard output */
};

struct table {
	const char *const *names;	/* of the columns */
	struct table_style style;
	int chosen[TABLE_COLUMNS];	/* columns that are printed, in this order */
	int chosen_count;
	char *(*rows)[TABLE_COLUMNS];
	size_t count;
};

/**
 * table_begin() - an empty table
 * @table: set
 * @names: of the columns, at most TABLE_COLUMNS; a NULL ends them
 * @style: how it is printed
 * @fault: set on failure
 *
 * Return: 0; -EINVAL: there is no such column.
 */
int table_begin(struct table *table, const char *const *names, const struct table_style *style,
		struct fault *fault);

/**
 * table_add() - one more row
 * @table: where to
 * @cells: TABLE_COLUMNS texts for free(), which the table takes; NULL for none. Blanks before
 *	the first one say of which row above it is a part
 */
void table_add(struct table *table, char *const cells[TABLE_COLUMNS]);

/**
 * table_print() - print all rows, each column as wide as it has to be, and free them
 * @table: has no rows afterwards; without any, nothing is printed
 */
void table_print(struct table *table);

#endif
