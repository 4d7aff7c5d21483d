/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Fault injection: a directory of debugfs/istripe for each enum istripe_inject, as the kernel's
 * Documentation/fault-injection describes. For kernels without CONFIG_FAULT_INJECTION_DEBUG_FS
 * inject.c is not built.
 */
#ifndef ISTRIPE_TRANSPORT_INJECT_H
#define ISTRIPE_TRANSPORT_INJECT_H

#include <linux/types.h>

enum istripe_inject {
	ISTRIPE_INJECT_CONNECT,		/* the portal does not answer */
	ISTRIPE_INJECT_LOGIN,		/* a login request can not be sent */
	ISTRIPE_INJECT_SEND,		/* TCP takes nothing any more */
	ISTRIPE_INJECT_RECEIVE,		/* the connection ends */
	ISTRIPE_INJECT_DIGEST,		/* a PDU is not what was sent; also without digests */
	ISTRIPE_INJECTIONS
};

#ifdef CONFIG_FAULT_INJECTION_DEBUG_FS

/* Without debugfs there are no such files, which is no error. */
void istripe_inject_init(void);

void istripe_inject_exit(void);

/* True when the administrator wants @inject to fail now. Any context. */
bool istripe_inject(enum istripe_inject inject);

#else

static inline void istripe_inject_init(void) {}
static inline void istripe_inject_exit(void) {}

static inline bool istripe_inject(enum istripe_inject inject)
{
	return false;
}

#endif
#endif
