// SPDX-License-Identifier: GPL-2.0
#include "transport/fault.h"

static struct istripe_compat_fault istripe_faults[ISTRIPE_FAULTS] = {
	[0 ... ISTRIPE_FAULTS - 1] = ISTRIPE_COMPAT_FAULT,
};

static const char *const fault_names[ISTRIPE_FAULTS] = {
	[ISTRIPE_FAULT_CONNECT] = "fail_connect",
	[ISTRIPE_FAULT_LOGIN] = "fail_login",
	[ISTRIPE_FAULT_SEND] = "fail_send",
	[ISTRIPE_FAULT_RECEIVE] = "fail_receive",
	[ISTRIPE_FAULT_DIGEST] = "fail_digest",
};

static struct dentry *istripe_fault_dir;

void istripe_fault_init(void)
{
	u32 i;

	if (!ISTRIPE_COMPAT_FAULTS)
		return;
	istripe_fault_dir = debugfs_create_dir("istripe", NULL);
	for (i = 0; i < ISTRIPE_FAULTS; i++)
		istripe_compat_fault_show(&istripe_faults[i], fault_names[i], istripe_fault_dir);
}

void istripe_fault_exit(void)
{
	debugfs_remove(istripe_fault_dir);
}

bool istripe_fault_asked(enum istripe_fault fault)
{
	return istripe_compat_fault_strikes(&istripe_faults[fault]);
}
