// SPDX-License-Identifier: GPL-2.0
#include <linux/tcp.h>

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

bool istripe_task_released(const struct istripe_task *task)
{
	const struct tcp_sock *tcp = tcp_sk(task->conn->sock->sk);
	u32 una = READ_ONCE(tcp->snd_una);

	/* Unacknowledged bytes are those from una to write_seq; all others are older. */
	return !READ_ONCE(task->referenced) ||
	       READ_ONCE(task->referenced_seq) - una - 1 >= READ_ONCE(tcp->write_seq) - una;
}

void istripe_task_put(struct istripe_task *task)
{
	struct istripe_session *session = task->conn->session;

	if (!atomic_dec_and_test(&task->refs))
		return;
	if (!istripe_task_released(task)) {
		/* It stays in the table and is collected after the reset of the connection. */
		istripe_session_fault(session, -EPROTO,
				      "task 0x%08x was answered with status 0x%02x, but TCP still holds its data",
				      task->itt, task->status);
		return;
	}
	/* done() may reuse the slot. */
	WRITE_ONCE(session->slots[task->slot].task, NULL);
	task->done(task);
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
