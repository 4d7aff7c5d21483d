/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _HOST_UAPI_LINUX_PR_H
#define _HOST_UAPI_LINUX_PR_H

#include <linux/pr.h>

#endif /* _HOST_UAPI_LINUX_PR_H */
