/* SPDX-License-Identifier: GPL-2.0 */
/* Names that the linker gives to what it puts in the place of others (ld --wrap). */
#ifndef TESTS_TOOLS_FAKE_CONFIGFS_H
#define TESTS_TOOLS_FAKE_CONFIGFS_H

#include <sys/types.h>

int __real_mkdir(const char *path, mode_t mode);
int __real_rmdir(const char *path);
ssize_t __real_write(int fd, const void *data, size_t bytes);
int __wrap_mkdir(const char *path, mode_t mode);
int __wrap_rmdir(const char *path);
ssize_t __wrap_write(int fd, const void *data, size_t bytes);

/* How often it was called with this name before: each time is a byte of a file. */
long times_count(const char *name);

#endif
