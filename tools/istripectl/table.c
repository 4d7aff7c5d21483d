// SPDX-License-Identifier: GPL-2.0
/* Rows of words under each other. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "table.h"

void table_add(struct table *table, char *const cells[TABLE_COLUMNS])
{
	table->rows = alloc_array(table->rows, table->count + 1, sizeof(*table->rows));
	memcpy(table->rows[table->count++], cells, sizeof(*table->rows));
}

static const char *cell(const struct table *table, size_t row, int column)
{
	return table->rows[row][column] ? table->rows[row][column] : "";
}

static int width(const struct table *table, int column)
{
	size_t row, widest = 0;

	for (row = 0; row < table->count; row++)
		if (strlen(cell(table, row, column)) > widest)
			widest = strlen(cell(table, row, column));
	return widest;
}

/* No blanks at the end of a line. */
static void row_print(const struct table *table, size_t row, const int *widths)
{
	int column, last = TABLE_COLUMNS - 1;

	while (last > 0 && !*cell(table, row, last))
		last--;
	for (column = 0; column < last; column++)
		printf("%-*s  ", widths[column], cell(table, row, column));
	printf("%s\n", cell(table, row, last));
}

void table_print(struct table *table)
{
	int widths[TABLE_COLUMNS], column;
	size_t row;

	for (column = 0; column < TABLE_COLUMNS; column++)
		widths[column] = width(table, column);
	for (row = 0; row < table->count; row++) {
		row_print(table, row, widths);
		for (column = 0; column < TABLE_COLUMNS; column++)
			free(table->rows[row][column]);
	}
	free(table->rows);
	memset(table, 0, sizeof(*table));
}
