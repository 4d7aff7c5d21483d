/* SPDX-License-Identifier: GPL-2.0 */
/* What all connections share: a workqueue and sender threads; init and exit of the layer. */
#ifndef ISTRIPE_TRANSPORT_TRANSPORT_H
#define ISTRIPE_TRANSPORT_TRANSPORT_H

struct workqueue_struct;

/* Carries all connections. */
extern struct workqueue_struct *istripe_io_wq;

/**
 * istripe_transport_init() - make what all connections share
 * Context: module init.
 * Return: 0 or -errno.
 */
int istripe_transport_init(void);

/**
 * istripe_transport_exit() - undo istripe_transport_init()
 * Context: module exit, no sessions left.
 */
void istripe_transport_exit(void);

#endif
