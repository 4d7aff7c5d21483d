/* SPDX-License-Identifier: GPL-2.0 */
/* Socket calls whose form differs between kernels. */
#ifndef ISTRIPE_COMPAT_SOCK_H
#define ISTRIPE_COMPAT_SOCK_H

#include <linux/bvec.h>
#include <linux/in6.h>
#include <linux/net.h>
#include <linux/skbuff.h>
#include <net/inet_sock.h>
#include <net/ipv6.h>
#include <net/sock.h>
#ifdef ISTRIPE_HAVE_IPV6_STUBS
#include <net/ipv6_stubs.h>
#endif

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

/* connect() takes the port, which then is one for each portal; bind() the address only. */
static inline void istripe_compat_bind_no_port(struct sock *sk)
{
#ifdef ISTRIPE_HAVE_INET_SET_BIT
	inet_set_bit(BIND_ADDRESS_NO_PORT, sk);
#else
	inet_sk(sk)->bind_address_no_port = 1;
#endif
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

#if IS_ENABLED(CONFIG_IPV6)
/* The route of @sk's connect(), for dst_release(); sets the source address of @flow. */
static inline struct dst_entry *istripe_compat_dst_lookup6(struct sock *sk, struct flowi6 *flow)
{
#ifdef ISTRIPE_HAVE_IPV6_STUBS
	return ipv6_stub->ipv6_dst_lookup_flow(sock_net(sk), sk, flow, NULL);
#else
	return ip6_dst_lookup_flow(sock_net(sk), sk, flow, NULL);
#endif
}

static inline bool istripe_compat_is_over_ipv6(const struct sock *sk)
{
	return sk->sk_family == AF_INET6 && !ipv6_addr_v4mapped(&sk->sk_v6_daddr);
}

/* As inet6_csk_route_socket(), which is not exported. */
static inline struct dst_entry *istripe_compat_route6(struct sock *sk)
{
	struct flowi6 flow = {
		.daddr = sk->sk_v6_daddr, .saddr = inet6_sk(sk)->saddr,
		.flowlabel = inet6_sk(sk)->flow_label,
		.fl6_dport = inet_sk(sk)->inet_dport, .fl6_sport = inet_sk(sk)->inet_sport,
		.flowi6_oif = READ_ONCE(sk->sk_bound_dev_if),
		.flowi6_mark = READ_ONCE(sk->sk_mark), .flowi6_proto = IPPROTO_TCP,
		.flowi6_uid = sock_net_uid(sock_net(sk), sk),
	};

#ifdef ISTRIPE_HAVE_ECMP_SET_MP_HASH
	ip6_ecmp_set_mp_hash(sock_net(sk), &flow, READ_ONCE(sk->sk_txhash));
#endif
	return istripe_compat_dst_lookup6(sk, &flow);
}
#else
static inline struct dst_entry *istripe_compat_dst_lookup6(struct sock *sk, struct flowi6 *flow)
{
	return ERR_PTR(-EAFNOSUPPORT);
}

static inline bool istripe_compat_is_over_ipv6(const struct sock *sk)
{
	return false;
}

static inline struct dst_entry *istripe_compat_route6(struct sock *sk)
{
	return ERR_PTR(-EAFNOSUPPORT);
}
#endif

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

/* struct ubuf_info counts the segments that refer to a sender's pages; @complete ends one. */
#ifdef ISTRIPE_HAVE_UBUF_INFO_OPS
#define istripe_compat_ubuf_set_complete(ubuf, function)				\
	do {										\
		static const struct ubuf_info_ops ops = { .complete = (function) };	\
		(ubuf)->ops = &ops;							\
	} while (0)
#else
#define istripe_compat_ubuf_set_complete(ubuf, function) ((ubuf)->callback = (function))
#endif

/* The sender has a reference. Segments on their way to a device keep the pages themselves. */
#define istripe_compat_ubuf_init(ubuf, function)					\
	do {										\
		istripe_compat_ubuf_set_complete(ubuf, function);			\
		(ubuf)->flags = SKBFL_ZEROCOPY_FRAG | SKBFL_DONT_ORPHAN;		\
		refcount_set(&(ubuf)->refcnt, 1);					\
	} while (0)

/*
 * The driver's: adds pages of @from to @skb, @bytes at most. Returns 0, or -EMSGSIZE when @skb is
 * full.
 */
int istripe_zerocopy_fill(struct sk_buff *skb, struct iov_iter *from, size_t bytes);

/* For msghdr::sg_from_iter. In older kernels it also charges the socket. */
#ifdef ISTRIPE_HAVE_SG_FROM_ITER_SK
static inline int istripe_compat_sg_from_iter(struct sock *sk, struct sk_buff *skb,
					      struct iov_iter *from, size_t bytes)
{
	unsigned int before = skb->truesize;
	int ret = istripe_zerocopy_fill(skb, from, bytes);

	sk_wmem_queued_add(sk, skb->truesize - before);
	if (!skb_zcopy_pure(skb))
		sk_mem_charge(sk, skb->truesize - before);
	return ret;
}
#else
static inline int istripe_compat_sg_from_iter(struct sk_buff *skb, struct iov_iter *from,
					      size_t bytes)
{
	return istripe_zerocopy_fill(skb, from, bytes);
}
#endif

#endif
