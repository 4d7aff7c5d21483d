// SPDX-License-Identifier: GPL-2.0
#include <linux/interrupt.h>
#include <linux/netdevice.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/tcp.h>
#include <net/busy_poll.h>
#include <net/tcp.h>
#include <compat/sock.h>
#include <trace/events/istripe.h>

#include "iscsi/error.h"
#include "transport/conn.h"
#include "transport/inject.h"
#include "transport/keepalive.h"
#include "transport/nic.h"
#include "transport/socket.h"
#include "transport/submitter.h"
#include "transport/zerocopy.h"

#define IO_WORK_BUDGET_MS	2

void istripe_conn_set_state(struct istripe_conn *conn, enum istripe_conn_state state)
{
	trace_istripe_state(conn->session->label, "connection",
			    istripe_state_name(&istripe_conn_states, conn->state),
			    istripe_state_name(&istripe_conn_states, state));
	WARN_ON_ONCE(!istripe_state_may(&istripe_conn_states, conn->state, state));
	WRITE_ONCE(conn->state, state);
	if (conn->session->ops->changed)
		conn->session->ops->changed(conn->session);
}

void istripe_conn_await_release(struct istripe_conn *conn)
{
	if (!test_bit(ISTRIPE_CONN_STOPPED, &conn->flags))
		queue_work(istripe_io_wq, &conn->release_work);
}

/* Socket locked. Returns 1 when io_work has to receive more, or to send data that R2Ts ask for. */
static int conn_receive_unless_ended(struct istripe_conn *conn)
{
	int ret;

	/* After a fault nothing is parsed any more (P48). */
	if (test_bit(ISTRIPE_CONN_STOPPED, &conn->flags) ||
	    test_bit(ISTRIPE_CONN_RX_PAUSED, &conn->flags) ||
	    test_bit(ISTRIPE_SESSION_FAULTED, &conn->session->flags))
		return 0;
	ret = istripe_rx_receive(conn);
	if (ret < 0)
		istripe_session_fault(conn->session, ret, "%s", conn->rx.why.text);
	else if (ret)
		set_bit(ISTRIPE_CONN_RX_PENDING, &conn->flags);
	else
		ret = !llist_empty(&conn->solicited);
	return ret;
}

/*
 * Is more to come at once? Answers of several commands, or the rest of a long data segment, are
 * taken together, and TCP acknowledges them once.
 */
static bool conn_expects_more(const struct istripe_conn *conn)
{
	return istripe_rx_is_much(conn) ||
	       READ_ONCE(conn->commands_sent) - READ_ONCE(conn->commands_answered) > 1;
}

/* Behind the softirq: takes together what its packets have brought. */
static void conn_receive_gathered(struct tasklet_struct *tasklet)
{
	struct istripe_conn *conn = container_of(tasklet, struct istripe_conn, receive_tasklet);
	struct sock *sk = conn->sock->sk;
	bool owned;
	int ret = 1;

	bh_lock_sock(sk);
	owned = sock_owned_by_user_nocheck(sk);
	if (owned)
		set_bit(ISTRIPE_CONN_RX_PENDING, &conn->flags);
	else
		ret = conn_receive_unless_ended(conn);
	bh_unlock_sock(sk);
	/* The worker would own the socket, and TCP hand it packet by packet what comes then. */
	if (!owned && test_and_clear_bit(ISTRIPE_CONN_RX_PENDING, &conn->flags)) {
		tasklet_schedule(tasklet);
		ret = !llist_empty(&conn->solicited);
	}
	if (ret > 0)
		istripe_conn_kick(conn);
}

/*
 * TCP calls this with the socket locked: from softirq, or from an owner of the socket that works
 * off its backlog. So this is the receive side, without a change of context. As in the other
 * callbacks sk_callback_lock keeps conn (P38).
 */
static void conn_data_ready(struct sock *sk)
{
	struct istripe_conn *conn;

	read_lock_bh(&sk->sk_callback_lock);
	conn = sk->sk_user_data;
	if (conn && conn_expects_more(conn) && !sock_owned_by_user_nocheck(sk))
		tasklet_schedule(&conn->receive_tasklet);
	else if (conn && conn_receive_unless_ended(conn) > 0)
		istripe_conn_kick(conn);
	read_unlock_bh(&sk->sk_callback_lock);
}

static void conn_write_space(struct sock *sk)
{
	struct istripe_conn *conn;

	read_lock_bh(&sk->sk_callback_lock);
	conn = sk->sk_user_data;
	/* While tasks are left there, release_work sets the flag again that is cleared below. */
	if (conn && !llist_empty(&conn->unreleased))
		istripe_conn_await_release(conn);
	if (conn && sk_stream_is_writeable(sk) && istripe_pace_may_wake(conn)) {
		clear_bit(SOCK_NOSPACE, &sk->sk_socket->flags);
		istripe_conn_kick(conn);
	}
	read_unlock_bh(&sk->sk_callback_lock);
}

static void conn_state_change(struct sock *sk)
{
	struct istripe_conn *conn;

	read_lock_bh(&sk->sk_callback_lock);
	conn = sk->sk_user_data;
	if (conn && sk->sk_state != TCP_ESTABLISHED) {
		set_bit(ISTRIPE_CONN_PEER_CLOSED, &conn->flags);
		istripe_conn_kick(conn);
	}
	read_unlock_bh(&sk->sk_callback_lock);
}

/* Before it is connected: then BPF would put its own into sk_user_data (P38). */
static void conn_own_socket(struct istripe_conn *conn)
{
	struct sock *sk = conn->sock->sk;

	write_lock_bh(&sk->sk_callback_lock);
	conn->saved_data_ready = sk->sk_data_ready;
	conn->saved_write_space = sk->sk_write_space;
	conn->saved_state_change = sk->sk_state_change;
	sk->sk_user_data = conn;
	write_unlock_bh(&sk->sk_callback_lock);
}

static void conn_install_callbacks(struct istripe_conn *conn)
{
	struct sock *sk = conn->sock->sk;

	write_lock_bh(&sk->sk_callback_lock);
	sk->sk_data_ready = conn_data_ready;
	sk->sk_write_space = conn_write_space;
	sk->sk_state_change = conn_state_change;
	write_unlock_bh(&sk->sk_callback_lock);
}

static void conn_restore_callbacks(struct istripe_conn *conn)
{
	struct sock *sk = conn->sock->sk;

	write_lock_bh(&sk->sk_callback_lock);
	if (sk->sk_user_data == conn) {
		sk->sk_user_data = NULL;
		sk->sk_data_ready = conn->saved_data_ready;
		sk->sk_write_space = conn->saved_write_space;
		sk->sk_state_change = conn->saved_state_change;
	}
	write_unlock_bh(&sk->sk_callback_lock);
}

static int conn_io_receive(struct istripe_conn *conn)
{
	bool closed = test_bit(ISTRIPE_CONN_PEER_CLOSED, &conn->flags);
	struct sock *sk = conn->sock->sk;
	int error, ret;
	u32 before;
	bool more;

	/* PEER_CLOSED is read first: what TCP took in before it is received below. */
	if (!test_and_clear_bit(ISTRIPE_CONN_RX_PENDING, &conn->flags) && !closed)
		return 0;
	lock_sock(sk);
	before = tcp_sk(sk)->copied_seq;
	ret = conn_receive_unless_ended(conn);
	/* RX_PENDING does not tell: the tasklet takes it, too. */
	more = !skb_queue_empty(&sk->sk_receive_queue) && tcp_sk(sk)->copied_seq != before;
	release_sock(sk);
	if (closed && ret >= 0 && more)
		return 1;
	if (closed && ret >= 0) {
		/* A logout is answered on the first connection; the others may end before. */
		if (conn->cid && test_bit(ISTRIPE_CONN_LOGGING_OUT, &conn->flags))
			return 0;
		error = READ_ONCE(sk->sk_err) ?: ECONNRESET;
		istripe_session_fault(conn->session, -error, "the connection was lost: %s (%pe)",
				      istripe_error_words(-error), ERR_PTR(-error));
		return -error;
	}
	return ret;
}

static void conn_io_work(struct work_struct *work)
{
	struct istripe_conn *conn = container_of(work, struct istripe_conn, io_work);
	unsigned long deadline = jiffies + msecs_to_jiffies(IO_WORK_BUDGET_MS) + 1;
	unsigned int noreclaim = memalloc_noreclaim_save();
	int received, sent;

	do {
		/* After a fault nothing is parsed or sent any more (P48). */
		if (test_bit(ISTRIPE_CONN_STOPPED, &conn->flags) ||
		    test_bit(ISTRIPE_SESSION_FAULTED, &conn->session->flags))
			goto out;
		received = conn_io_receive(conn);
		sent = istripe_conn_send(conn);
		if (received < 0 || sent < 0)
			goto out;
		if (!received && !sent)
			goto out;
	} while (!time_after(jiffies, deadline));
	istripe_conn_kick(conn);
out:
	memalloc_noreclaim_restore(noreclaim);
}

void istripe_conn_poll(struct istripe_conn *conn)
{
	if (!istripe_conn_is_idle(conn))
		sk_busy_loop(conn->sock->sk, true);
}

u32 istripe_conn_large_bytes(const struct istripe_conn *conn)
{
	u32 mss = READ_ONCE(tcp_sk(conn->sock->sk)->mss_cache);
	const u32 *value = conn->keys.value;

	return min3(min(value[ISTRIPE_KEY_MAX_XMIT_DATA_SEGMENT_LENGTH],
			value[ISTRIPE_KEY_MAX_RECV_DATA_SEGMENT_LENGTH]), 2 * mss, 32768u);
}

int istripe_conn_send_control(struct istripe_conn *conn, const struct iscsi_hdr *header,
			      const void *payload, u32 payload_bytes)
{
	u32 copied_bytes = payload ? payload_bytes : 0;
	struct istripe_control *control;

	/*
	 * Without an answer to its ping the target drops the connection, which writeback needs:
	 * hence the memory reserves, bounded by ISTRIPE_CONTROLS_MAX.
	 */
	control = kmalloc(sizeof(*control) + copied_bytes,
			  GFP_NOWAIT | __GFP_NOWARN |
			  (copied_bytes ? __GFP_NOMEMALLOC : __GFP_MEMALLOC));
	if (!control)
		return -ENOMEM;
	control->header = *header;
	control->payload_bytes = payload_bytes;
	control->payload = copied_bytes ? memcpy(control + 1, payload, copied_bytes) : NULL;
	spin_lock_bh(&conn->control_lock);
	list_add_tail(&control->entry, &conn->controls);
	/* Nothing is sent behind a logout request: that must not keep its answer unread. */
	if (++conn->control_count >= ISTRIPE_CONTROLS_MAX &&
	    !test_bit(ISTRIPE_CONN_LOGGING_OUT, &conn->flags))
		set_bit(ISTRIPE_CONN_RX_PAUSED, &conn->flags);
	spin_unlock_bh(&conn->control_lock);
	istripe_conn_kick(conn);
	return 0;
}

void istripe_conn_send_ping(struct istripe_conn *conn, const struct iscsi_hdr *header)
{
	spin_lock_bh(&conn->control_lock);
	conn->ping.header = *header;
	/* A ping that still waits to be sent serves for this one. */
	if (list_empty(&conn->ping.entry)) {
		list_add(&conn->ping.entry, &conn->controls);
		conn->control_count++;
	}
	spin_unlock_bh(&conn->control_lock);
	istripe_conn_kick(conn);
}

/* A NIC that was made anew has another number; the scope may also be a port of a VRF's. */
static void conn_set_scope(const struct istripe_conn *conn, struct sockaddr_storage *address)
{
	struct sockaddr_in6 *sin6 = (struct sockaddr_in6 *)address;
	struct sock *sk = conn->sock->sk;

	if (address->ss_family == AF_INET6 && sin6->sin6_scope_id &&
	    !sk_dev_equal_l3scope(sk, sin6->sin6_scope_id))
		sin6->sin6_scope_id = sk->sk_bound_dev_if;
}

/* Sets @source, if it is unset and the kernel would choose a bad one. */
static int conn_bind_nic(struct istripe_conn *conn, const struct sockaddr_storage *portal,
			 struct sockaddr_storage *source, struct net *net)
{
	const struct istripe_way *way = &conn->session->way;
	struct net_device *dev = dev_get_by_name(net, way->nic);
	int ret;

	if (!dev)
		return -ENODEV;
	ret = sock_bindtoindex(conn->sock->sk, dev->ifindex, true);
	if (!ret && source->ss_family == AF_UNSPEC &&
	    !istripe_nic_has_source(dev, conn->sock->sk, portal) &&
	    !istripe_nic_deprecated_source(dev, portal, source))
		ret = -EADDRNOTAVAIL;
	dev_put(dev);
	return ret;
}

/*
 * With a NIC it takes a port here. connect() would give a socket without a NIC the addresses and
 * ports that one with a NIC has (see __inet_check_established()), and the target would reset one of
 * them; but it leaves out ports that bind() has taken. These are gone for all portals, and all
 * programs, so a socket without a NIC gets its port from connect().
 */
static int conn_bind(struct istripe_conn *conn, struct sockaddr_storage *portal, struct net *net)
{
	const struct istripe_way *way = &conn->session->way;
	struct sockaddr_storage source = way->source_address;
	int ret = way->nic[0] ? conn_bind_nic(conn, portal, &source, net) : 0;
	bool any = source.ss_family == AF_UNSPEC;

	if (ret)
		return ret;
	if (any)
		source.ss_family = portal->ss_family;
	conn_set_scope(conn, portal);
	conn_set_scope(conn, &source);
	if (!way->nic[0] && any)
		return 0;
	if (!way->nic[0])
		istripe_compat_bind_no_port(conn->sock->sk);
	ret = istripe_compat_bind(conn->sock, &source);
	/* All ports are in use: connect() finds one that is free for this portal. */
	return any && ret == -EADDRINUSE ? 0 : ret;
}

void istripe_conn_tune(struct istripe_conn *conn)
{
	struct istripe_socket_params wanted;

	lockdep_assert_held(&conn->session->socket_lock);
	istripe_params_read(&wanted, &conn->session->path->socket, sizeof(wanted));
	istripe_socket_tune(conn->sock, conn->session->label, &wanted, &conn->tuned);
}

/* Before it is connected: the first segment has the DSCP and scales the window. */
static void conn_prepare_socket(struct istripe_conn *conn, u32 timeout_ms)
{
	conn->sock->sk->sk_sndtimeo = msecs_to_jiffies(timeout_ms);
	conn->sock->sk->sk_rcvtimeo = msecs_to_jiffies(timeout_ms);
	memset(&conn->tuned, 0, sizeof(conn->tuned));
	conn_own_socket(conn);
	istripe_conn_tune(conn);
}

static int conn_make_socket(struct istripe_conn *conn, int family, struct net *net, u32 timeout_ms)
{
	struct istripe_zerocopy *zerocopy = istripe_zerocopy_alloc();
	int ret;

	if (!zerocopy)
		return -ENOMEM;
	mutex_lock(&conn->session->socket_lock);
	if (test_bit(ISTRIPE_SESSION_INTERRUPTED, &conn->session->flags))
		ret = -EINTR;
	else
		ret = istripe_socket_create(net, family, &conn->sock);
	if (!ret) {
		conn->zerocopy = zerocopy;
		conn_prepare_socket(conn, timeout_ms);
	}
	mutex_unlock(&conn->session->socket_lock);
	if (ret)
		istripe_zerocopy_end(zerocopy, 0);
	return ret;
}

/* Puts the reference to the route; 0 without one. */
static int route_nic(struct dst_entry *dst)
{
	int nic;

	if (IS_ERR_OR_NULL(dst))
		return 0;
	/* A reference to the route is none to its device. */
	rcu_read_lock();
	nic = READ_ONCE(dst->dev)->ifindex;
	rcu_read_unlock();
	dst_release(dst);
	return nic;
}

static bool nic_has_link(struct net *net, int nic, bool bound)
{
	const struct net_device *dev;
	bool has;

	rcu_read_lock();
	dev = dev_get_by_index_rcu(net, nic);
	has = dev && netif_running(dev) && netif_carrier_ok(dev) &&
	      !(bound && istripe_nic_is_port(dev));
	rcu_read_unlock();
	return has;
}

bool istripe_conn_has_link(struct istripe_conn *conn)
{
	struct sock *sk;
	bool bound;
	int nic;

	if (!conn->sock || !conn->nic)
		return true;
	sk = conn->sock->sk;
	/* The route may have changed since. */
	nic = route_nic(sk_dst_get(sk)) ?: conn->nic;
	bound = nic == READ_ONCE(sk->sk_bound_dev_if);
	return nic_has_link(sock_net(sk), nic, bound) ||
	       (!bound && nic_has_link(sock_net(sk), route_nic(istripe_nic_route(sk)), false));
}

bool istripe_conn_is_orphaned(const struct istripe_conn *conn)
{
	const struct sock *sk;
	bool orphaned;
	int nic;

	if (!conn->sock)
		return false;
	sk = conn->sock->sk;
	nic = READ_ONCE(sk->sk_bound_dev_if);
	rcu_read_lock();
	orphaned = nic && !dev_get_by_index_rcu(sock_net(sk), nic);
	rcu_read_unlock();
	return orphaned;
}

int istripe_conn_connect(struct istripe_conn *conn, const struct sockaddr_storage *portal,
			 struct net *net, u32 timeout_ms)
{
	struct sockaddr_storage to = *portal;
	int ret = conn_make_socket(conn, portal->ss_family, net, timeout_ms);

	if (ret)
		return ret;
	clear_bit(ISTRIPE_CONN_STOPPED, &conn->flags);
	clear_bit(ISTRIPE_CONN_PEER_CLOSED, &conn->flags);
	istripe_conn_set_state(conn, ISTRIPE_CONN_XPT_UP);
	ret = istripe_inject(ISTRIPE_INJECT_CONNECT) ? -EHOSTUNREACH :
						       conn_bind(conn, &to, net);
	if (!ret)
		ret = istripe_compat_connect(conn->sock, &to);
	if (ret)
		return ret == -EINPROGRESS || ret == -EAGAIN ? -ETIMEDOUT : ret;
	conn->remote_address = to;
	conn->nic = route_nic(sk_dst_get(conn->sock->sk));
	/* Connected without a link: the NIC does not know it, or a bridge leaves packets to it. */
	if (!istripe_conn_has_link(conn))
		conn->nic = 0;
	kernel_getsockname(conn->sock, (struct sockaddr *)&conn->local_address);
	return 0;
}

void istripe_conn_start(struct istripe_conn *conn)
{
	conn->sock->sk->sk_sndtimeo = MAX_SCHEDULE_TIMEOUT;
	conn->sock->sk->sk_rcvtimeo = MAX_SCHEDULE_TIMEOUT;
	conn_install_callbacks(conn);
	istripe_keepalive_start(conn);
	/* Segments between the login and the callbacks had no callback. */
	if (conn->sock->sk->sk_state != TCP_ESTABLISHED)
		set_bit(ISTRIPE_CONN_PEER_CLOSED, &conn->flags);
	set_bit(ISTRIPE_CONN_RX_PENDING, &conn->flags);
	istripe_conn_kick(conn);
}

/* Not to headers, which have been copied to the socket's own page. */
static bool conn_refers_uncounted(const struct sock *sk, struct sk_buff *skb)
{
	const struct skb_shared_info *shared = skb_shinfo(skb);
	u32 i;

	for (i = 0; i < shared->nr_frags; i++)
		if (!skb_zcopy(skb) && skb_frag_page(&shared->frags[i]) != sk->sk_frag.page)
			return true;
	return false;
}

/*
 * A probe of the path's MTU takes the pages of segments that wait, and nobody counts that. It lies
 * among TCP's segments until it is acknowledged: then the target takes these bytes no more.
 */
static bool conn_may_have_probed(struct sock *sk)
{
	struct sk_buff *skb;
	bool may = false;

	if (!inet_csk(sk)->icsk_mtup.enabled || tcp_sk(sk)->snd_una == tcp_sk(sk)->write_seq)
		return false;
	/* TCP has dropped its segments. */
	if (sk->sk_state == TCP_CLOSE)
		return true;
	skb_rbtree_walk(skb, &sk->tcp_rtx_queue)
		may |= conn_refers_uncounted(sk, skb);
	skb_queue_walk(&sk->sk_write_queue, skb)
		may |= conn_refers_uncounted(sk, skb);
	return may;
}

static void conn_reset(struct istripe_conn *conn)
{
	struct sock *sk = conn->sock->sk;

	lock_sock(sk);
	conn->probed = conn_may_have_probed(sk);
	inet_csk(sk)->icsk_mtup.enabled = 0;
	release_sock(sk);
	/* A reset also wakes senders and receivers in the socket. */
	tcp_abort(sk, ECONNABORTED);
	conn->probed |= conn_may_have_probed(sk);
}

/* With 0 it is still asked. */
static u32 conn_drain_ms(const struct istripe_session *session)
{
	u64 now = get_jiffies_64();

	if (!session->drain_until)
		return ISTRIPE_DRAIN_TIMEOUT_MS;
	return time_before64(now, session->drain_until) ?
		jiffies64_to_msecs(session->drain_until - now) : 0;
}

/*
 * After the reset, segments that refer to the tasks' pages may still wait in a queueing discipline,
 * for a neighbour, in a NIC or at a receiver on this host. If the pages were reused before, bytes
 * of a newer write could go out under an older command (P22).
 */
static bool conn_drain(struct istripe_conn *conn)
{
	u32 timeout_ms = conn_drain_ms(conn->session);
	u32 left = istripe_zerocopy_end(conn->zerocopy, timeout_ms);

	conn->zerocopy = NULL;
	if (left)
		pr_warn("%s: the network stack still holds %u segments after %u ms\n",
			conn->session->label, left, timeout_ms);
	return !left && !conn->probed;
}

static void conn_release_socket(struct istripe_conn *conn)
{
	struct socket *sock;

	mutex_lock(&conn->session->socket_lock);
	sock = conn->sock;
	conn->sock = NULL;
	mutex_unlock(&conn->session->socket_lock);
	sock_release(sock);
}

void istripe_conn_cut(struct istripe_conn *conn)
{
	if (!conn->sock || test_and_set_bit(ISTRIPE_CONN_STOPPED, &conn->flags))
		return;
	conn_restore_callbacks(conn);
	conn_reset(conn);
}

void istripe_conn_halt(struct istripe_conn *conn)
{
	istripe_conn_cut(conn);
	tasklet_kill(&conn->receive_tasklet);
	istripe_keepalive_stop(conn);
	istripe_submitters_stop(conn);
	cancel_work_sync(&conn->io_work);
	cancel_work_sync(&conn->release_work);
}

bool istripe_conn_stop(struct istripe_conn *conn)
{
	bool released;

	if (!conn->sock)
		return true;
	istripe_conn_halt(conn);
	released = conn_drain(conn);
	conn_release_socket(conn);
	istripe_conn_set_state(conn, ISTRIPE_CONN_FREE);
	return released;
}

struct istripe_conn *istripe_conn_alloc(struct istripe_session *session, u16 cid)
{
	struct istripe_conn *conn = kvzalloc(sizeof(*conn), GFP_KERNEL);

	if (!conn)
		return NULL;
	conn->session = session;
	conn->cid = cid;
	conn->state = ISTRIPE_CONN_FREE;
	mutex_init(&conn->tx_mutex);
	INIT_LIST_HEAD(&conn->tx.small);
	INIT_LIST_HEAD(&conn->tx.commands);
	INIT_LIST_HEAD(&conn->tx.sequences);
	istripe_pace_init(&conn->tx.pace);
	spin_lock_init(&conn->control_lock);
	INIT_LIST_HEAD(&conn->controls);
	tasklet_setup(&conn->receive_tasklet, conn_receive_gathered);
	INIT_WORK(&conn->io_work, conn_io_work);
	INIT_WORK(&conn->release_work, istripe_task_release_work);
	INIT_DELAYED_WORK(&conn->keepalive_work, istripe_keepalive_work);
	INIT_LIST_HEAD(&conn->ping.entry);
	conn->rx.control_bytes = ISTRIPE_CONTROL_BYTES;
	conn->rx.control = kmalloc(ISTRIPE_CONTROL_BYTES, GFP_KERNEL);
	if (istripe_submitters_alloc(conn) || istripe_tx_batch_init(&conn->tx.batch) ||
	    !conn->rx.control) {
		istripe_conn_free(conn);
		return NULL;
	}
	return conn;
}

void istripe_conn_free(struct istripe_conn *conn)
{
	struct istripe_control *control, *next;

	if (!conn)
		return;
	WARN_ON_ONCE(conn->sock);
	/*
	 * When the window moved, a connection may have kicked this one after its halt:
	 * istripe_conn_kick() tests STOPPED, then queues.
	 */
	cancel_work_sync(&conn->io_work);
	list_del_init(&conn->ping.entry);
	list_for_each_entry_safe(control, next, &conn->controls, entry)
		kfree(control);
	istripe_tx_batch_exit(&conn->tx.batch);
	istripe_submitters_free(conn);
	kfree(conn->rx.control);
	kvfree(conn);
}
