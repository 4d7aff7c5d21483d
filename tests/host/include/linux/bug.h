/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _HOST_LINUX_BUG_H
#define _HOST_LINUX_BUG_H

#include <stdio.h>
#include <stdlib.h>
#include <linux/build_bug.h>

/* A warning in the kernel's log is a failed test, so it ends the run here. */
#define host_warn(cond, fmt, ...) ({						\
	bool __warn = !!(cond);							\
	if (unlikely(__warn)) {							\
		fprintf(stderr, "WARNING: %s:%d " fmt "\n", __FILE__, __LINE__,	\
			##__VA_ARGS__);						\
		abort();							\
	}									\
	unlikely(__warn);							\
})

#define WARN(cond, fmt, ...)		host_warn(cond, fmt, ##__VA_ARGS__)
#define WARN_ONCE(cond, fmt, ...)	host_warn(cond, fmt, ##__VA_ARGS__)
#define WARN_ON(cond)			host_warn(cond, "%s", #cond)
#define WARN_ON_ONCE(cond)		host_warn(cond, "%s", #cond)

#endif /* _HOST_LINUX_BUG_H */
