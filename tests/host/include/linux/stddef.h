/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _HOST_LINUX_STDDEF_H
#define _HOST_LINUX_STDDEF_H

#include_next <linux/stddef.h>
#include <stddef.h>

#ifndef DECLARE_FLEX_ARRAY
#define DECLARE_FLEX_ARRAY(type, name)	\
	struct {			\
		struct { } __empty_##name; \
		type name[];		\
	}
#endif

#define sizeof_field(type, member)	sizeof(((type *)0)->member)
#define offsetofend(type, member)	(offsetof(type, member) + sizeof_field(type, member))

#ifndef struct_group
#define struct_group(name, members...)		\
	union {					\
		struct { members };		\
		struct { members } name;	\
	}
#endif

#endif /* _HOST_LINUX_STDDEF_H */
