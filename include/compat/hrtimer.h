/* SPDX-License-Identifier: GPL-2.0 */
/* Timers: the function is given when one is set up, or afterwards. */
#ifndef ISTRIPE_COMPAT_HRTIMER_H
#define ISTRIPE_COMPAT_HRTIMER_H

#include <linux/hrtimer.h>

static inline void istripe_compat_hrtimer_setup(struct hrtimer *timer,
						enum hrtimer_restart (*fires)(struct hrtimer *),
						enum hrtimer_mode mode)
{
#ifdef ISTRIPE_HAVE_HRTIMER_SETUP
	hrtimer_setup(timer, fires, CLOCK_MONOTONIC, mode);
#else
	hrtimer_init(timer, CLOCK_MONOTONIC, mode);
	timer->function = fires;
#endif
}

#endif
