/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Places where things go wrong when they are told to: debugfs has a folder istripe with one for
 * each, as Documentation/fault-injection of the kernel describes them. For kernels with
 * CONFIG_FAULT_INJECTION_DEBUG_FS; in others nothing of it is left.
 */
#ifndef ISTRIPE_TRANSPORT_INJECT_H
#define ISTRIPE_TRANSPORT_INJECT_H

#include <compat/fault.h>

enum istripe_inject {
	ISTRIPE_INJECT_CONNECT,		/* nobody answers */
	ISTRIPE_INJECT_LOGIN,		/* a login request can not be sent */
	ISTRIPE_INJECT_SEND,		/* TCP takes nothing any more */
	ISTRIPE_INJECT_RECEIVE,		/* the connection ends */
	ISTRIPE_INJECT_DIGEST,		/* a PDU is not what was sent; also without digests */
	ISTRIPE_INJECTIONS
};

/**
 * istripe_inject_init() - show the places in debugfs
 *
 * Context: module init. Without debugfs there are none, which is no error.
 */
void istripe_inject_init(void);

/**
 * istripe_inject_exit() - undo istripe_inject_init()
 *
 * Context: module exit.
 */
void istripe_inject_exit(void);

/**
 * istripe_inject_asked() - is something to go wrong now
 * @inject: where
 *
 * Context: any.
 * Return: true when the administrator has asked for it.
 */
bool istripe_inject_asked(enum istripe_inject inject);

/**
 * istripe_inject() - see istripe_inject_asked()
 * @inject: where
 *
 * Context: any.
 * Return: false on kernels that have no fault injection, which the compiler knows.
 */
static inline bool istripe_inject(enum istripe_inject inject)
{
	return ISTRIPE_COMPAT_FAULTS && istripe_inject_asked(inject);
}

#endif
