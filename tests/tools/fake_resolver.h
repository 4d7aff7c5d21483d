/* SPDX-License-Identifier: GPL-2.0 */
/* Names that the linker gives to getaddrinfo() and what is put in its place (ld --wrap). */
#ifndef TESTS_TOOLS_FAKE_RESOLVER_H
#define TESTS_TOOLS_FAKE_RESOLVER_H

#include <netdb.h>

int __real_getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
		       struct addrinfo **result);
int __wrap_getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
		       struct addrinfo **result);

#endif
