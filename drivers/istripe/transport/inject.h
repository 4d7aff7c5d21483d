/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Fault injection: a directory of debugfs/istripe for each enum istripe_inject, as the kernel's
 * Documentation/fault-injection describes. Kernels without CONFIG_FAULT_INJECTION_DEBUG_FS
 * compile to nothing.
 */
#ifndef ISTRIPE_TRANSPORT_INJECT_H
#define ISTRIPE_TRANSPORT_INJECT_H

#include <compat/fault.h>

enum istripe_inject {
	ISTRIPE_INJECT_CONNECT,		/* the portal does not answer */
	ISTRIPE_INJECT_LOGIN,		/* a login request can not be sent */
	ISTRIPE_INJECT_SEND,		/* TCP takes nothing any more */
	ISTRIPE_INJECT_RECEIVE,		/* the connection ends */
	ISTRIPE_INJECT_DIGEST,		/* a PDU is not what was sent; also without digests */
	ISTRIPE_INJECTIONS
};

/* Without debugfs there are no such files, which is no error. */
void istripe_inject_init(void);

void istripe_inject_exit(void);

bool istripe_inject_asked(enum istripe_inject inject);

/* True when the administrator wants @inject to fail now. Any context. */
static inline bool istripe_inject(enum istripe_inject inject)
{
	return ISTRIPE_COMPAT_FAULTS && istripe_inject_asked(inject);
}

#endif
