/* SPDX-License-Identifier: GPL-2.0 */
/* Socket calls whose form differs between kernels. */
#ifndef ISTRIPE_COMPAT_SOCK_H
#define ISTRIPE_COMPAT_SOCK_H

#include <linux/bvec.h>
#include <linux/in6.h>
#include <linux/net.h>
#include <net/sock.h>

/* kernel_bind() and kernel_connect() take a sockaddr or a sockaddr_unsized. */
#ifdef ISTRIPE_HAVE_SOCKADDR_UNSIZED
#define istripe_compat_sockaddr(a) ((struct sockaddr_unsized *)(a))
#else
#define istripe_compat_sockaddr(a) ((struct sockaddr *)(a))
#endif

static inline int istripe_compat_address_bytes(const struct sockaddr_storage *address)
{
	return address->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6) :
						sizeof(struct sockaddr_in);
}

static inline int istripe_compat_bind(struct socket *sock, const struct sockaddr_storage *address)
{
	return kernel_bind(sock, istripe_compat_sockaddr(address),
			   istripe_compat_address_bytes(address));
}

static inline int istripe_compat_connect(struct socket *sock,
					 const struct sockaddr_storage *address)
{
	return kernel_connect(sock, istripe_compat_sockaddr(address),
			      istripe_compat_address_bytes(address), 0);
}

static inline void istripe_compat_no_task_frag(struct sock *sk)
{
#ifdef ISTRIPE_HAVE_SK_USE_TASK_FRAG
	sk->sk_use_task_frag = false;
#endif
}

/* Every page of a segment must be one that TCP may take a reference on (P24). */
static inline bool istripe_compat_segment_ok(const struct bio_vec *segment)
{
	u32 first = segment->bv_offset / PAGE_SIZE;
	u32 last = (segment->bv_offset + segment->bv_len - 1) / PAGE_SIZE;
	u32 i;

	for (i = first; i <= last; i++)
		if (!sendpage_ok(segment->bv_page + i))
			return false;
	return true;
}

static inline int istripe_compat_send_copy(struct socket *sock, struct bio_vec *segments,
					   u32 count, u32 bytes, int flags)
{
	struct msghdr msg = { .msg_flags = flags };

	iov_iter_bvec(&msg.msg_iter, WRITE, segments, count, bytes);
	return sock_sendmsg(sock, &msg);
}

/*
 * Sends segments by reference to their pages; all must be istripe_compat_segment_ok(). Returns the
 * number of bytes taken, which may be smaller, or -errno.
 */
#ifdef ISTRIPE_HAVE_MSG_SPLICE_PAGES
static inline int istripe_compat_send_pages(struct socket *sock, struct bio_vec *segments,
					    u32 count, u32 bytes, int flags)
{
	return istripe_compat_send_copy(sock, segments, count, bytes, flags | MSG_SPLICE_PAGES);
}
#else
static inline int istripe_compat_send_pages(struct socket *sock, struct bio_vec *segments,
					    u32 count, u32 bytes, int flags)
{
	u32 sent = 0;
	u32 i;

	for (i = 0; i < count; i++) {
		u32 offset = segments[i].bv_offset;
		u32 left = segments[i].bv_len;

		while (left) {
			u32 step = min_t(u32, left, PAGE_SIZE - offset_in_page(offset));
			bool last = sent + step == bytes;
			int ret = kernel_sendpage(sock, segments[i].bv_page + offset / PAGE_SIZE,
						  offset_in_page(offset), step,
						  last ? flags : flags | MSG_MORE |
							 MSG_SENDPAGE_NOTLAST);

			if (ret <= 0)
				return sent ? sent : ret;
			sent += ret;
			if (ret < step)
				return sent;
			offset += step;
			left -= step;
		}
	}
	return sent;
}
#endif

#endif
