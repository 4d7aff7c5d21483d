/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Zero copy: TCP sends pages by reference, and the network stack counts the segments that refer to
 * them, as for MSG_ZEROCOPY of user space (struct ubuf_info). Each buffer with such pages counts
 * once, until the last sk_buff that shares it is freed: also when a device has taken it from its
 * socket, and while it waits for a neighbour or for its turn. A receiver on this host, packet
 * sockets included, gets a copy. TCP's own segments without data, the reset for one, do not count.
 *
 * There is one struct istripe_zerocopy for each socket. It outlives it when the stack keeps
 * segments.
 */
#ifndef ISTRIPE_TRANSPORT_ZEROCOPY_H
#define ISTRIPE_TRANSPORT_ZEROCOPY_H

#include <linux/types.h>

struct bio_vec;
struct istripe_zerocopy;
struct socket;

/* Sleeps. Returns NULL without memory. The caller keeps the module, as istripe_zerocopy_end(). */
struct istripe_zerocopy *istripe_zerocopy_alloc(void);

/*
 * Waits until nobody refers to the pages of what was sent, @timeout_ms at most; @zerocopy is not
 * the caller's any more. Sleeps. Nothing is sent any more, and TCP's own queues end soon: the
 * connection is reset. Returns the number of segments that are left.
 */
u32 istripe_zerocopy_end(struct istripe_zerocopy *zerocopy, u32 timeout_ms);

/* Does nobody refer to the pages of what was sent? Once the connection is reset this stays so. */
bool istripe_zerocopy_is_over(const struct istripe_zerocopy *zerocopy);

/*
 * Sends segments by reference to their pages; all must be istripe_compat_segment_ok(). TCP copies
 * when the route's device cannot take pages. Returns the number of bytes taken, which may be
 * smaller, or -errno.
 */
int istripe_zerocopy_send(struct istripe_zerocopy *zerocopy, struct socket *sock,
			  struct bio_vec *segments, u32 count, u32 bytes, int flags);

/* Waits for callbacks that still run. No connections are left. */
void istripe_zerocopy_exit(void);

#endif
