// SPDX-License-Identifier: GPL-2.0
/* Rows of words under each other. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libsmartcols.h>
#include "alloc.h"
#include "table.h"

#define DEPTH_MAX	8

static int column_find(const struct table *table, const char *name, size_t bytes)
{
	int column;

	for (column = 0; table->names[column]; column++)
		if (strlen(table->names[column]) == bytes &&
		    !strncasecmp(table->names[column], name, bytes))
			return column;
	return -1;
}

static int column_fault(const struct table *table, const char *name, int bytes,
			struct fault *fault)
{
	int column;

	fault_set(fault, -EINVAL, "\"%.*s\" is no column; there are:", bytes, name);
	for (column = 0; table->names[column]; column++)
		fault_append(fault, " %s", table->names[column]);
	return -EINVAL;
}

static int columns_choose(struct table *table, const char *text, struct fault *fault)
{
	for (;;) {
		int bytes = strcspn(text, ","), column = column_find(table, text, bytes);

		if (column < 0)
			return column_fault(table, text, bytes, fault);
		if (table->chosen_count == TABLE_COLUMNS)
			return fault_set(fault, -EINVAL, "too many columns, at most %d",
					 TABLE_COLUMNS);
		table->chosen[table->chosen_count++] = column;
		if (!text[bytes])
			return 0;
		text += bytes + 1;
	}
}

int table_begin(struct table *table, const char *const *names, const struct table_style *style,
		struct fault *fault)
{
	memset(table, 0, sizeof(*table));
	table->names = names;
	table->style = *style;
	if (style->columns)
		return columns_choose(table, style->columns, fault);
	for (; names[table->chosen_count]; table->chosen_count++)
		table->chosen[table->chosen_count] = table->chosen_count;
	return 0;
}

void table_add(struct table *table, char *const cells[TABLE_COLUMNS])
{
	memcpy(alloc_append(table->rows, table->count), cells, sizeof(*table->rows));
}

/* In pairs, the place of a row says nothing: each has the names of those that it is a part of. */
static void names_complete(struct table *table)
{
	const char *above[DEPTH_MAX + 1] = { NULL };
	size_t row;

	for (row = 0; row < table->count; row++) {
		char *name = table->rows[row][0];
		size_t blanks = strspn(name, " "), depth = blanks / 2;

		if (depth > DEPTH_MAX)
			depth = DEPTH_MAX;
		while (depth && !above[depth - 1])
			depth--;
		if (blanks)
			table->rows[row][0] = depth ?
				alloc_printf("%s %s", above[depth - 1], name + blanks) :
				alloc_text(name + blanks);
		if (blanks)
			free(name);
		above[depth] = table->rows[row][0];
		memset(above + depth + 1, 0, (DEPTH_MAX - depth) * sizeof(*above));
	}
}

static struct libscols_table *columns_make(const struct table *table)
{
	struct libscols_table *out = scols_new_table();
	int i;

	if (!out)
		abort();
	scols_table_enable_noheadings(out, !table->style.headings);
	scols_table_enable_export(out, table->style.pairs);
	for (i = 0; i < table->chosen_count; i++)
		if (!scols_table_new_column(out, table->names[table->chosen[i]], 0, 0))
			abort();
	return out;
}

/* No blanks at the end of a line. */
static void lines_print(char *text, FILE *out)
{
	char *line;

	while ((line = strsep(&text, "\n"))) {
		size_t bytes = strlen(line);

		while (bytes && line[bytes - 1] == ' ')
			bytes--;
		if (bytes || text)
			fprintf(out, "%.*s\n", (int)bytes, line);
	}
}

static void rows_print(struct table *table)
{
	struct libscols_table *out = columns_make(table);
	char *text = NULL;
	size_t row;
	int i;

	for (row = 0; row < table->count; row++) {
		struct libscols_line *line = scols_table_new_line(out, NULL);

		for (i = 0; line && i < table->chosen_count; i++)
			if (scols_line_set_data(line, i, table->rows[row][table->chosen[i]]))
				line = NULL;
		if (!line)
			abort();
	}
	if (scols_print_table_to_string(out, &text))
		abort();
	lines_print(text, table->style.out ? table->style.out : stdout);
	free(text);
	scols_unref_table(out);
}

void table_print(struct table *table)
{
	size_t row;
	int column;

	if (table->style.pairs)
		names_complete(table);
	if (table->count)
		rows_print(table);
	for (row = 0; row < table->count; row++)
		for (column = 0; column < TABLE_COLUMNS; column++)
			free(table->rows[row][column]);
	free(table->rows);
	table->rows = NULL;
	table->count = 0;
}
