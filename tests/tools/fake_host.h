/* SPDX-License-Identifier: GPL-2.0 */
/* Names that the linker gives to what it puts in the place of others (ld --wrap). */
#ifndef TESTS_TOOLS_FAKE_HOST_H
#define TESTS_TOOLS_FAKE_HOST_H

#include <sys/timex.h>
#include <sys/types.h>

#include "host_net.h"
#include "host_ping.h"
#include "reach.h"

int __real_ioctl(int fd, unsigned long request, void *data);
int __real_adjtimex(struct timex *clock);
uid_t __real_geteuid(void);
int __real_host_route(const char *to, const char *nic, const char *from,
		      struct host_route *route);
int __real_host_ping(const char *to, const char *nic, const char *from, size_t bytes);
int __real_host_addresses(struct host_address **addresses);
int __real_host_tcp(const char *local, const char *remote, const char *nic, struct host_tcp *tcp);
void __real_reach_try(struct reach *tries, size_t count);
void __wrap_reach_try(struct reach *tries, size_t count);
int __wrap_ioctl(int fd, unsigned long request, void *data);
int __wrap_adjtimex(struct timex *clock);
uid_t __wrap_geteuid(void);
int __wrap_host_route(const char *to, const char *nic, const char *from,
		      struct host_route *route);
int __wrap_host_ping(const char *to, const char *nic, const char *from, size_t bytes);
int __wrap_host_addresses(struct host_address **addresses);
int __wrap_host_tcp(const char *local, const char *remote, const char *nic, struct host_tcp *tcp);

#endif
