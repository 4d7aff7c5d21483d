/* SPDX-License-Identifier: GPL-2.0 */
/* A time that sysfs or the log tells: at least 1 ms, as 0 says that there is none. */
#ifndef ISTRIPE_BLOCK_ELAPSED_H
#define ISTRIPE_BLOCK_ELAPSED_H

#include <linux/jiffies.h>
#include <linux/minmax.h>
#include <linux/types.h>

/* @since: jiffies. */
static inline u32 istripe_elapsed_ms(unsigned long since)
{
	return max(jiffies_to_msecs(jiffies - since), 1u);
}

#endif
