/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _HOST_LINUX_EXPORT_H
#define _HOST_LINUX_EXPORT_H

#define EXPORT_SYMBOL(sym)	extern typeof(sym) sym
#define EXPORT_SYMBOL_GPL(sym)	extern typeof(sym) sym

#endif /* _HOST_LINUX_EXPORT_H */
