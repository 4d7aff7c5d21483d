// SPDX-License-Identifier: GPL-2.0
/*
 * The suites register themselves; the module only needs a name.
 */
#include <linux/module.h>

MODULE_DESCRIPTION("KUnit suites of istripe's protocol core");
MODULE_LICENSE("GPL");
