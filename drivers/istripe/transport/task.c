// SPDX-License-Identifier: GPL-2.0
#include <linux/sched/mm.h>
#include <linux/sizes.h>
#include <linux/tcp.h>
#include <net/sock.h>

#include "transport/conn.h"
#include "transport/session.h"
#include "transport/task.h"

void istripe_task_session_fault(struct istripe_task *task, const char *why)
{
	istripe_session_fault(task->conn->session, -ESTALE, "the LUN says: %s", why);
}

void istripe_task_invalidate(struct istripe_task *task)
{
	istripe_session_invalidate(task->conn->session);
}

bool istripe_task_session_is_invalid(const struct istripe_task *task)
{
	bool invalid = istripe_session_is_invalid(task->conn->session);

	/* Pairs with istripe_session_validate(). */
	smp_rmb();
	return invalid;
}

bool istripe_task_released(const struct istripe_task *task)
{
	const struct tcp_sock *tcp = tcp_sk(task->conn->sock->sk);
	u32 una = READ_ONCE(tcp->snd_una);

	s64 since = READ_ONCE(task->conn->tx.batch.total_bytes) -
		    READ_ONCE(task->referenced_bytes);

	/*
	 * Unacknowledged bytes are those from una to write_seq, less than 2 GiB; all others are
	 * older. The same numbers come again after 4 GiB.
	 */
	return !READ_ONCE(task->referenced) || since > SZ_2G ||
	       READ_ONCE(task->referenced_seq) - una - 1 >= READ_ONCE(tcp->write_seq) - una;
}

static void task_end(struct istripe_task *task)
{
	/* done() may reuse the slot. */
	WRITE_ONCE(task->conn->session->slots[task->slot].task, NULL);
	task->done(task);
}

/*
 * It stays in the session's table until release_work, or the session, ends it. This is rare, and
 * inlined it would cost istripe_task_put() a register.
 */
static noinline void task_await_release(struct istripe_task *task)
{
	struct istripe_conn *conn = task->conn;

	/* It is not over: the list's reference, by which the timeout of its request goes. */
	atomic_set(&task->refs, 1);
	/* From here on it may be done at any time. */
	llist_add(&task->unreleased_node, &conn->unreleased);
	istripe_conn_await_release(conn);
}

void istripe_task_put(struct istripe_task *task)
{
	if (!atomic_dec_and_test(&task->refs))
		return;
	if (istripe_task_released(task))
		task_end(task);
	else
		task_await_release(task);
}

/* Socket locked: no acknowledgment comes between the check of the tasks and the flag. */
static void task_end_released(struct istripe_conn *conn)
{
	struct llist_node *node = llist_del_all(&conn->unreleased);
	struct istripe_task *task, *next;

	llist_for_each_entry_safe(task, next, node, unreleased_node) {
		if (!istripe_task_released(task)) {
			llist_add(&task->unreleased_node, &conn->unreleased);
			continue;
		}
		atomic_set(&task->refs, 0);
		task_end(task);
	}
	/* Then TCP calls conn_write_space() with each acknowledgment. */
	if (!llist_empty(&conn->unreleased))
		set_bit(SOCK_NOSPACE, &conn->sock->flags);
}

void istripe_task_release_work(struct work_struct *work)
{
	struct istripe_conn *conn = container_of(work, struct istripe_conn, release_work);
	unsigned int noreclaim = memalloc_noreclaim_save();

	/* After the end its tasks are the session's. */
	if (!test_bit(ISTRIPE_CONN_STOPPED, &conn->flags)) {
		lock_sock(conn->sock->sk);
		task_end_released(conn);
		release_sock(conn->sock->sk);
	}
	memalloc_noreclaim_restore(noreclaim);
}

void istripe_task_answer(struct istripe_task *task, int error)
{
	struct istripe_conn *conn = task->conn;

	task->error = error;
	conn->commands_answered++;
	set_bit(ISTRIPE_TASK_ANSWERED, &task->flags);
	/* Flag before flag: pairs with transmit_may_write(). */
	smp_mb__after_atomic();
	if (test_bit(ISTRIPE_CONN_WRITES_PACED, &conn->flags) &&
	    test_and_clear_bit(ISTRIPE_CONN_WRITES_PACED, &conn->flags))
		istripe_conn_kick(conn);
	istripe_task_put(task);
}
