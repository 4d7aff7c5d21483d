/* SPDX-License-Identifier: GPL-2.0 */
/* Wrapped functions, see fake_clock.c. */
#ifndef TESTS_TOOLS_FAKE_CLOCK_H
#define TESTS_TOOLS_FAKE_CLOCK_H

struct changes;

long long __real_watch_now_ms(void);
void __real_watch_sleep_ms(long long ms);
void __real_changes_wait(struct changes *changes, long long ms);
long long __wrap_watch_now_ms(void);
void __wrap_watch_sleep_ms(long long ms);
void __wrap_changes_wait(struct changes *changes, long long ms);

#endif
