/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _HOST_LINUX_SLAB_H
#define _HOST_LINUX_SLAB_H

#include <stdlib.h>
#include <linux/types.h>

#define kmalloc(size, gfp)	((void)(gfp), malloc(size))
#define kzalloc(size, gfp)	((void)(gfp), calloc(1, size))
#define kcalloc(n, size, gfp)	((void)(gfp), calloc(n, size))
#define kfree(p)		free(p)

#endif /* _HOST_LINUX_SLAB_H */
