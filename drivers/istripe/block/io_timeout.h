/* SPDX-License-Identifier: GPL-2.0 */
/* When a command of a request is too old, and is reported to the error handling of its nexus. */
#ifndef ISTRIPE_BLOCK_IO_TIMEOUT_H
#define ISTRIPE_BLOCK_IO_TIMEOUT_H

struct request;

/* When istripe_io_timeout() is first due for a request, jiffies from its start; 0: by default. */
unsigned int istripe_io_timeout_first(const struct request *rq);

/* For blk-mq: a request is in flight for long. It goes on. */
void istripe_io_timeout(struct request *rq);

#endif
