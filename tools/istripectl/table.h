/* SPDX-License-Identifier: GPL-2.0 */
/* Rows of words under each other. */
#ifndef ISTRIPECTL_TABLE_H
#define ISTRIPECTL_TABLE_H

#include <stddef.h>

#define TABLE_COLUMNS	6

struct table {
	char *(*rows)[TABLE_COLUMNS];
	size_t count;
};

/**
 * table_add() - one more row
 * @table: zeroed by the caller before the first one
 * @cells: TABLE_COLUMNS texts for free(), which the table takes; NULL for none
 */
void table_add(struct table *table, char *const cells[TABLE_COLUMNS]);

/**
 * table_print() - print all rows, each column as wide as it has to be, and free them
 * @table: empty afterwards
 */
void table_print(struct table *table);

#endif
