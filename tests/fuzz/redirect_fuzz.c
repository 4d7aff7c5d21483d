// SPDX-License-Identifier: GPL-2.0
/*
 * Input: a byte for the preferred family, then the text of a login response that redirects.
 * An address that is taken can be written and read again.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/errno.h>

#include "iscsi/redirect.h"
#include "fuzz.h"

#define require(condition) do { if (!(condition)) __builtin_trap(); } while (0)

static void check_taken(const struct istripe_redirect *redirect)
{
	char text[sizeof(redirect->host) + sizeof("[]:65535,1")];
	bool brackets = strchr(redirect->host, ':');
	struct istripe_redirect again;

	require(redirect->host[0] && redirect->port);
	require(strnlen(redirect->host, sizeof(redirect->host)) < sizeof(redirect->host));
	require(!brackets || !istripe_redirect_is_name(redirect->host));
	snprintf(text, sizeof(text), brackets ? "[%s]:%u,1" : "%s:%u,1", redirect->host,
		 redirect->port);
	require(!istripe_redirect_parse(&again, text));
	require(!strcmp(again.host, redirect->host) && again.port == redirect->port);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct istripe_redirect redirect;
	char *exact;
	int ret;

	if (!size || size > 4097)
		return 0;
	exact = malloc(size - 1 ?: 1);
	require(exact);
	memcpy(exact, data + 1, size - 1);
	memset(&redirect, 0, sizeof(redirect));
	ret = istripe_redirect_read(&redirect, exact, size - 1, data[0] & 1);
	require(ret == 0 || ret == -EPROTO);
	if (ret)
		require(!redirect.host[0] && !redirect.port);
	else
		check_taken(&redirect);
	free(exact);
	return 0;
}
