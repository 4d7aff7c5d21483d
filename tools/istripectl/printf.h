/* SPDX-License-Identifier: GPL-2.0 */
/* Functions whose arguments the compiler checks as those of printf(). */
#ifndef ISTRIPECTL_PRINTF_H
#define ISTRIPECTL_PRINTF_H

#define ATTRIBUTE(what)			__attribute__((what))
#define __printf(format_at, first_at)	ATTRIBUTE(__format__(__printf__, format_at, first_at))

#endif
