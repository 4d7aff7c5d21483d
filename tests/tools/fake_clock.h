/* SPDX-License-Identifier: GPL-2.0 */
/* Wrapped functions, see fake_clock.c. */
#ifndef TESTS_TOOLS_FAKE_CLOCK_H
#define TESTS_TOOLS_FAKE_CLOCK_H

#include <sys/socket.h>

struct changes;

long long __real_watch_now_ms(void);
void __real_watch_sleep_ms(long long ms);
void __real_changes_wait(struct changes *changes, long long ms);
unsigned int __real_alarm(unsigned int seconds);
int __real_setsockopt(int fd, int level, int name, const void *value, socklen_t length);
unsigned int __wrap_alarm(unsigned int seconds);
int __wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t length);
long long __wrap_watch_now_ms(void);
void __wrap_watch_sleep_ms(long long ms);
void __wrap_changes_wait(struct changes *changes, long long ms);

#endif
