/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Places where things go wrong when they are told to: debugfs has a folder istripe with one for
 * each, as Documentation/fault-injection of the kernel describes them. For kernels with
 * CONFIG_FAULT_INJECTION_DEBUG_FS; in others nothing of it is left.
 */
#ifndef ISTRIPE_TRANSPORT_FAULT_H
#define ISTRIPE_TRANSPORT_FAULT_H

#include <compat/fault.h>

enum istripe_fault {
	ISTRIPE_FAULT_CONNECT,		/* nobody answers */
	ISTRIPE_FAULT_LOGIN,		/* a login request can not be sent */
	ISTRIPE_FAULT_SEND,		/* TCP takes nothing any more */
	ISTRIPE_FAULT_RECEIVE,		/* the connection ends */
	ISTRIPE_FAULT_DIGEST,		/* a PDU is not what was sent; also without digests */
	ISTRIPE_FAULTS
};

/**
 * istripe_fault_init() - show the places in debugfs
 *
 * Context: module init. Without debugfs there are none, which is no error.
 */
void istripe_fault_init(void);

/**
 * istripe_fault_exit() - undo istripe_fault_init()
 *
 * Context: module exit.
 */
void istripe_fault_exit(void);

/**
 * istripe_fault_asked() - is something to go wrong now
 * @fault: where
 *
 * Context: any.
 * Return: true when the administrator has asked for it.
 */
bool istripe_fault_asked(enum istripe_fault fault);

/**
 * istripe_fault() - see istripe_fault_asked()
 * @fault: where
 *
 * Context: any.
 * Return: false on kernels that have no fault injection, which the compiler knows.
 */
static inline bool istripe_fault(enum istripe_fault fault)
{
	return ISTRIPE_COMPAT_FAULTS && istripe_fault_asked(fault);
}

#endif
