// SPDX-License-Identifier: GPL-2.0
#include "transport/inject.h"

static struct istripe_compat_fault istripe_injections[ISTRIPE_INJECTIONS] = {
	[0 ... ISTRIPE_INJECTIONS - 1] = ISTRIPE_COMPAT_FAULT,
};

static const char *const inject_names[ISTRIPE_INJECTIONS] = {
	[ISTRIPE_INJECT_CONNECT] = "fail_connect",
	[ISTRIPE_INJECT_LOGIN] = "fail_login",
	[ISTRIPE_INJECT_SEND] = "fail_send",
	[ISTRIPE_INJECT_RECEIVE] = "fail_receive",
	[ISTRIPE_INJECT_DIGEST] = "fail_digest",
};

static struct dentry *istripe_inject_dir;

void istripe_inject_init(void)
{
	u32 i;

	if (!ISTRIPE_COMPAT_FAULTS)
		return;
	istripe_inject_dir = debugfs_create_dir("istripe", NULL);
	for (i = 0; i < ISTRIPE_INJECTIONS; i++)
		istripe_compat_fault_show(&istripe_injections[i], inject_names[i],
					  istripe_inject_dir);
}

void istripe_inject_exit(void)
{
	debugfs_remove(istripe_inject_dir);
}

bool istripe_inject_asked(enum istripe_inject inject)
{
	return istripe_compat_fault_strikes(&istripe_injections[inject]);
}
