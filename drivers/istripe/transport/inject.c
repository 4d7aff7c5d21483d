// SPDX-License-Identifier: GPL-2.0
#include <linux/debugfs.h>
#include <linux/fault-inject.h>

#include "transport/inject.h"

static struct fault_attr inject_attrs[ISTRIPE_INJECTIONS] = {
	[0 ... ISTRIPE_INJECTIONS - 1] = FAULT_ATTR_INITIALIZER,
};

static const char *const inject_names[ISTRIPE_INJECTIONS] = {
	[ISTRIPE_INJECT_CONNECT] = "fail_connect",
	[ISTRIPE_INJECT_LOGIN] = "fail_login",
	[ISTRIPE_INJECT_SEND] = "fail_send",
	[ISTRIPE_INJECT_RECEIVE] = "fail_receive",
	[ISTRIPE_INJECT_DIGEST] = "fail_digest",
};

static struct dentry *inject_dir;

void istripe_inject_init(void)
{
	u32 i;

	inject_dir = debugfs_create_dir("istripe", NULL);
	for (i = 0; i < ISTRIPE_INJECTIONS; i++)
		fault_create_debugfs_attr(inject_names[i], inject_dir, &inject_attrs[i]);
}

void istripe_inject_exit(void)
{
	debugfs_remove(inject_dir);
}

bool istripe_inject(enum istripe_inject inject)
{
	return should_fail(&inject_attrs[inject], 1);
}
