// SPDX-License-Identifier: GPL-2.0
/* The tracepoints' bodies live here once for the module. */
#include <linux/types.h>

#define CREATE_TRACE_POINTS
#include <trace/events/istripe.h>
