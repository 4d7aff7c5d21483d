// SPDX-License-Identifier: GPL-2.0
#include <linux/build_bug.h>
#include <linux/kernel.h>
#include <linux/net.h>
#include <linux/sockptr.h>
#include <linux/spinlock.h>
#include <linux/stddef.h>
#include <linux/string.h>
#include <linux/tcp.h>
#include <net/dst.h>
#include <net/inet_connection_sock.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include <net/sock.h>
#include <net/tcp.h>
#include <compat/sock.h>

#include "iscsi/error.h"
#include "transport/socket.h"

#define DSCP_SHIFT	2	/* of the octet whose other bits are for ECN, RFC 2474, RFC 3168 */

/* Locks of sockets that user space never sees do not nest with those of its sockets (P35). */
static struct lock_class_key istripe_sk_key[2];
static struct lock_class_key istripe_slock_key[2];

/* Never connected. */
static struct socket *istripe_memalloc_holder;

/* The settings of all paths that may change while the volume is up. */
static DEFINE_SPINLOCK(istripe_params_lock);

/*
 * sk_set_memalloc() without its static key, which istripe_memalloc_holder has raised. Even counting
 * the key takes cpus_read_lock(). CPU hotplug holds that lock while it waits for memory, and for
 * requests of other disks, which may be on top of ours: they may wait for recovery (P62).
 */
static void socket_set_memalloc(struct sock *sk)
{
	sock_set_flag(sk, SOCK_MEMALLOC);
	sk->sk_allocation = GFP_NOIO | __GFP_MEMALLOC;
}

/* With lockdep the socket holds the module until it is freed: the class keys are here. */
int istripe_socket_create(struct net *net, int family, struct socket **sock)
{
	int ret = sock_create_kern(net, family, SOCK_STREAM, IPPROTO_TCP, sock);
	bool v6 = family == AF_INET6;
	struct sock *sk;

	if (ret)
		return ret;
	sk = (*sock)->sk;
	sock_lock_init_class_and_name(sk, "slock-istripe", &istripe_slock_key[v6],
				      "sk_lock-istripe", &istripe_sk_key[v6]);
	/* Writeback depends on this socket (P30, P31). */
	socket_set_memalloc(sk);
	istripe_compat_no_task_frag(sk);
	tcp_sock_set_nodelay(sk);
	/* The kernel deletes temporary addresses, and sends nothing from them any more (P116). */
	if (v6)
		ip6_sock_set_addr_preferences(sk, IPV6_PREFER_SRC_PUBLIC);
	return 0;
}

/*
 * One memalloc socket keeps the static key raised as long as the module is loaded: see
 * socket_set_memalloc(). It is in init_net, which never ends. Its locks are not of our classes, so
 * it does not hold the module.
 */
int istripe_socket_init(void)
{
	int ret = sock_create_kern(&init_net, AF_INET, SOCK_STREAM, IPPROTO_TCP,
				   &istripe_memalloc_holder);

	if (!ret)
		sk_set_memalloc(istripe_memalloc_holder->sk);
	return ret;
}

void istripe_socket_exit(void)
{
	/* sock_release() does not lower the static key. */
	sk_clear_memalloc(istripe_memalloc_holder->sk);
	sock_release(istripe_memalloc_holder);
}

void istripe_params_read(void *to, const void *from, size_t bytes)
{
	spin_lock_bh(&istripe_params_lock);
	memcpy(to, from, bytes);
	spin_unlock_bh(&istripe_params_lock);
}

void istripe_params_write(void *to, const void *from, size_t bytes)
{
	spin_lock_bh(&istripe_params_lock);
	if (bytes == sizeof(u32))
		WRITE_ONCE(*(u32 *)to, *(const u32 *)from);
	else
		memcpy(to, from, bytes);
	spin_unlock_bh(&istripe_params_lock);
}

static int socket_set(struct socket *sock, int level, int option, int value)
{
	return sock->ops->setsockopt(sock, level, option, KERNEL_SOCKPTR(&value), sizeof(value));
}

/* Both, as an IPv6 socket to a mapped address speaks IPv4. */
static int socket_set_dscp(struct socket *sock, u32 dscp)
{
	u32 priority = READ_ONCE(sock->sk->sk_priority);
	int ret = 0;

	ip_sock_set_tos(sock->sk, dscp << DSCP_SHIFT);
	/* ip_sock_set_tos() derives one from the old meaning of the octet; ours is a setting. */
	sock_set_priority(sock->sk, priority);
	if (sock->sk->sk_family == AF_INET6)
		ret = socket_set(sock, SOL_IPV6, IPV6_TCLASS, dscp << DSCP_SHIFT);
	return ret;
}

static int socket_set_priority(struct socket *sock, u32 priority)
{
	sock_set_priority(sock->sk, priority);
	return 0;
}

static int socket_set_user_timeout(struct socket *sock, u32 ms)
{
	tcp_sock_set_user_timeout(sock->sk, ms);
	return 0;
}

static void socket_unlock_buffer(struct sock *sk, u8 lock)
{
	lock_sock(sk);
	sk->sk_userlocks &= ~lock;
	release_sock(sk);
}

/*
 * The kernel doubles the value. With autotuning the buffer begins as that of a new socket, but not
 * smaller than it is: autotuning only reacts to more than has been needed so far.
 */
static u32 socket_buffer_begin(int now, int initial)
{
	return max(now, initial) / 2;
}

static int socket_set_send_buffer(struct socket *sock, u32 bytes)
{
	struct sock *sk = sock->sk;
	int initial = READ_ONCE(sock_net(sk)->ipv4.sysctl_tcp_wmem[1]);
	int value = bytes ?: socket_buffer_begin(READ_ONCE(sk->sk_sndbuf), initial);
	int ret;

	/* As for the other buffer, wmem_max does not bound it. */
	ret = sock_setsockopt(sock, SOL_SOCKET, SO_SNDBUFFORCE, KERNEL_SOCKPTR(&value),
			      sizeof(value));
	if (!ret && !bytes)
		socket_unlock_buffer(sk, SOCK_SNDBUF_LOCK);
	return ret;
}

static int socket_set_receive_buffer(struct socket *sock, u32 bytes)
{
	struct sock *sk = sock->sk;
	int initial = READ_ONCE(sock_net(sk)->ipv4.sysctl_tcp_rmem[1]);
	int value = bytes ?: socket_buffer_begin(READ_ONCE(sk->sk_rcvbuf), initial);

	sock_set_rcvbuf(sk, value);
	if (!bytes)
		socket_unlock_buffer(sk, SOCK_RCVBUF_LOCK);
	/* Otherwise the window stays bounded by the buffer that the connection began with. */
	return socket_set(sock, SOL_TCP, TCP_WINDOW_CLAMP, value);
}

static int socket_name_congestion_control(struct socket *sock, const char *name)
{
	char copy[ISTRIPE_CONGESTION_CONTROL_BYTES];

	strscpy(copy, name, sizeof(copy));
	return sock->ops->setsockopt(sock, SOL_TCP, TCP_CONGESTION, KERNEL_SOCKPTR(copy),
				     strlen(copy));
}

/* A temporary socket that uses the algorithm keeps its module loaded. */
static int socket_probe(struct net *net, const char *name, struct socket **probe)
{
	int ret = istripe_socket_create(net, AF_INET, probe);

	if (ret || !*name)
		return ret;
	ret = socket_name_congestion_control(*probe, name);
	if (ret)
		sock_release(*probe);
	return ret;
}

int istripe_socket_check_congestion_control(struct net *net, const char *name)
{
	struct socket *probe;
	int ret = socket_probe(net, name, &probe);

	if (!ret)
		sock_release(probe);
	return ret;
}

void istripe_socket_hold_congestion_control(struct net *net, const char *name,
					    struct socket **holder)
{
	struct socket *before = *holder, *now = NULL;

	if (*name && socket_probe(net, name, &now))
		return;
	*holder = now;
	if (before)
		sock_release(before);
}

/*
 * The kernel loads a missing module with the socket locked, but the module may be on the disk that
 * the socket serves: hence the probe. It also tells the namespace's default.
 */
static int socket_set_congestion_control(struct socket *sock, const char *name)
{
	struct socket *probe;
	int ret = socket_probe(sock_net(sock->sk), name, &probe);

	if (ret)
		return ret;
	ret = socket_name_congestion_control(sock, inet_csk(probe->sk)->icsk_ca_ops->name);
	sock_release(probe);
	return ret;
}

#define IS_WORD(_field)	(sizeof_field(struct istripe_socket_params, _field) == sizeof(u32))

#define SOCKET_OPTION(_field, _set) {							\
	.name = #_field,								\
	.offset = offsetof(struct istripe_socket_params, _field) +			\
		  BUILD_BUG_ON_ZERO(!IS_WORD(_field)),					\
	.set = _set,									\
}

static const struct socket_option {
	const char *name;
	size_t offset;
	int (*set)(struct socket *sock, u32 value);
} socket_options[] = {
	SOCKET_OPTION(dscp, socket_set_dscp),
	SOCKET_OPTION(priority, socket_set_priority),
	SOCKET_OPTION(user_timeout_ms, socket_set_user_timeout),
	SOCKET_OPTION(send_buffer_bytes, socket_set_send_buffer),
	SOCKET_OPTION(receive_buffer_bytes, socket_set_receive_buffer),
};

static void socket_option_tune(struct socket *sock, const char *label,
			       const struct socket_option *option, const void *wanted,
			       const void *tuned)
{
	u32 value = *(const u32 *)(wanted + option->offset);
	int ret;

	if (value == *(const u32 *)(tuned + option->offset))
		return;
	ret = option->set(sock, value);
	if (ret)
		pr_warn_ratelimited("%s: %s cannot be set to %u: %s (%pe)\n", label,
				    option->name, value, istripe_error_words(ret), ERR_PTR(ret));
}

void istripe_socket_tune(struct socket *sock, const char *label,
			 const struct istripe_socket_params *wanted,
			 struct istripe_socket_params *tuned)
{
	size_t i;
	int ret;

	for (i = 0; i < ARRAY_SIZE(socket_options); i++)
		socket_option_tune(sock, label, &socket_options[i], wanted, tuned);
	if (strcmp(wanted->congestion_control, tuned->congestion_control)) {
		ret = socket_set_congestion_control(sock, wanted->congestion_control);
		if (ret)
			pr_warn_ratelimited("%s: congestion_control cannot be set to \"%s\": %s (%pe)\n",
					    label, wanted->congestion_control,
					    istripe_error_words(ret), ERR_PTR(ret));
	}
	*tuned = *wanted;
}
