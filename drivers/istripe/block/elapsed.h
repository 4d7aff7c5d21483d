/* SPDX-License-Identifier: GPL-2.0 */
#ifndef ISTRIPE_BLOCK_ELAPSED_H
#define ISTRIPE_BLOCK_ELAPSED_H

#include <linux/jiffies.h>
#include <linux/minmax.h>

/* Of a time that is told: at least 1, for 0 says that there is none. @since: jiffies. */
static inline u32 istripe_elapsed_ms(unsigned long since)
{
	return max(jiffies_to_msecs(jiffies - since), 1u);
}

#endif
