/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _HOST_LINUX_CONTAINER_OF_H
#define _HOST_LINUX_CONTAINER_OF_H

#include <linux/stddef.h>

#define container_of(ptr, type, member) ({			\
	typeof(((type *)0)->member) *__mptr = (ptr);		\
	(type *)((char *)__mptr - offsetof(type, member));	\
})

#endif /* _HOST_LINUX_CONTAINER_OF_H */
