/* SPDX-License-Identifier: GPL-2.0 */
/* Fault injection, in kernels that are built for tests. */
#ifndef ISTRIPE_COMPAT_FAULT_H
#define ISTRIPE_COMPAT_FAULT_H

#include <linux/debugfs.h>
#include <linux/fault-inject.h>

#ifdef CONFIG_FAULT_INJECTION_DEBUG_FS

#define ISTRIPE_COMPAT_FAULTS	1
#define ISTRIPE_COMPAT_FAULT	{ .attr = FAULT_ATTR_INITIALIZER }

struct istripe_compat_fault {
	struct fault_attr attr;
};

static inline bool istripe_compat_fault_strikes(struct istripe_compat_fault *fault)
{
	return should_fail(&fault->attr, 1);
}

static inline void istripe_compat_fault_show(struct istripe_compat_fault *fault, const char *name,
					     struct dentry *parent)
{
	fault_create_debugfs_attr(name, parent, &fault->attr);
}

#else

#define ISTRIPE_COMPAT_FAULTS	0
#define ISTRIPE_COMPAT_FAULT	{}

/* Not empty: sparse takes an array of empty structs for one without elements. */
struct istripe_compat_fault {
	u8 unused;
};

static inline bool istripe_compat_fault_strikes(struct istripe_compat_fault *fault)
{
	return false;
}

static inline void istripe_compat_fault_show(struct istripe_compat_fault *fault, const char *name,
					     struct dentry *parent)
{
}

#endif
#endif
