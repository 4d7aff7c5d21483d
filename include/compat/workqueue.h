/* SPDX-License-Identifier: GPL-2.0 */
/* The queue whose workers are bound to no processor: newer kernels warn of its older name. */
#ifndef ISTRIPE_COMPAT_WORKQUEUE_H
#define ISTRIPE_COMPAT_WORKQUEUE_H

#include <linux/workqueue.h>

#ifdef ISTRIPE_HAVE_SYSTEM_DFL_WQ
#define istripe_compat_unbound_wq() system_dfl_wq
#else
#define istripe_compat_unbound_wq() system_unbound_wq
#endif

#endif
