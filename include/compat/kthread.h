/* SPDX-License-Identifier: GPL-2.0 */
/* Worker threads: in older kernels creating one also starts it. */
#ifndef ISTRIPE_COMPAT_KTHREAD_H
#define ISTRIPE_COMPAT_KTHREAD_H

#include <linux/kthread.h>

#ifdef ISTRIPE_HAVE_KTHREAD_RUN_WORKER
#define istripe_compat_kthread_run_worker(fmt, ...) kthread_run_worker(0, fmt, ##__VA_ARGS__)
#else
#define istripe_compat_kthread_run_worker(fmt, ...) kthread_create_worker(0, fmt, ##__VA_ARGS__)
#endif

#endif
