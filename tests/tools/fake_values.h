/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TESTS_TOOLS_FAKE_VALUES_H
#define TESTS_TOOLS_FAKE_VALUES_H

/* A value of the setting @name as the module reads it back; NULL: as it was written. For free(). */
char *value_read_back(const char *name, const char *value);

#endif
