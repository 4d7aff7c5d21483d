/* SPDX-License-Identifier: GPL-2.0 */
/* A request becomes leg tasks: to which legs, with which commands and data. io.h sends them. */
#ifndef ISTRIPE_BLOCK_IO_PREPARE_H
#define ISTRIPE_BLOCK_IO_PREPARE_H

#include <linux/types.h>

struct istripe_io;
struct istripe_volume;
struct request;

/* Private data of a request, when the share of a leg may be cut into @parts. */
u32 istripe_io_bytes(u32 legs, u32 parts);

/*
 * Fills in io->tasks, but for their callbacks. No task and an error in io->status: the request
 * cannot be mapped. Any context.
 */
void istripe_io_prepare(struct istripe_io *io, struct istripe_volume *volume, struct request *rq);

#endif
