/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _HOST_LINUX_SCATTERLIST_H
#define _HOST_LINUX_SCATTERLIST_H

/* <scsi/scsi.h> of old kernels includes this. */
struct scatterlist;

#endif /* _HOST_LINUX_SCATTERLIST_H */
