/* SPDX-License-Identifier: GPL-2.0 */
/* Worker threads: in older kernels creating one also starts it. */
#ifndef ISTRIPE_COMPAT_KTHREAD_H
#define ISTRIPE_COMPAT_KTHREAD_H

#include <linux/kthread.h>

#ifdef ISTRIPE_HAVE_KTHREAD_RUN_WORKER
#define istripe_compat_kthread_run_worker_on_cpu(cpu, fmt) kthread_run_worker_on_cpu(cpu, 0, fmt)
#else
#define istripe_compat_kthread_run_worker_on_cpu(cpu, fmt) \
	kthread_create_worker_on_cpu(cpu, 0, fmt, cpu)
#endif

#endif
