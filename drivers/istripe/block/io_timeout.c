// SPDX-License-Identifier: GPL-2.0
#include <linux/blk-mq.h>
#include <linux/jiffies.h>

#include "block/eh.h"
#include "block/io.h"
#include "block/io_timeout.h"
#include "block/leg.h"
#include "block/nexus.h"
#include "block/path.h"
#include "block/volume.h"

/* Times command_timeout_ms: for flushes and WRITE SAME, and when a slow flush is spoken of. */
#define LONG_TIMEOUTS	4
#define FLUSH_SAID	2
/* Time-outs of a command after which the session is given up instead of another abort. */
#define TIMEOUTS_MAX	2

/* A command on a slow link does not time out while it moves data. */
static bool io_task_moves(const struct istripe_leg_task *leg_task, unsigned long timeout)
{
	struct istripe_nexus *nexus = READ_ONCE(leg_task->nexus);
	int section = srcu_read_lock(&nexus->srcu);
	struct istripe_session *session = srcu_dereference(nexus->session, &nexus->srcu);
	bool moves = session && istripe_session_task_moves(session,
							   READ_ONCE(leg_task->task.itt),
							   timeout / 2);

	srcu_read_unlock(&nexus->srcu, section);
	return moves;
}

unsigned int istripe_io_timeout_first(const struct request *rq)
{
	unsigned int timeout = READ_ONCE(rq->q->rq_timeout);

	switch (req_op(rq)) {
	case REQ_OP_WRITE_ZEROES:
		return LONG_TIMEOUTS * timeout;
	case REQ_OP_FLUSH:
		return FLUSH_SAID * timeout;
	default:
		return 0;
	}
}

/*
 * How old a task may become. sd gives a flush half of that, and has it sent again for six minutes:
 * here it is recovery_timeout_ms that ends the repetitions.
 */
static unsigned long io_task_allowed(const struct istripe_leg_task *leg_task,
				     const struct request *rq)
{
	if (req_op(rq) == REQ_OP_FLUSH || READ_ONCE(leg_task->flushes))
		return LONG_TIMEOUTS * READ_ONCE(rq->q->rq_timeout);
	return rq->timeout;
}

/* Of a flush, which has a long time. */
static void io_task_say_slow(const struct istripe_leg_task *leg_task, unsigned long timeout)
{
	const struct istripe_leg *leg = leg_task->leg;
	unsigned long age = jiffies - READ_ONCE(leg_task->since);

	if (age < 3 * FLUSH_SAID * timeout / 4)
		return;
	pr_warn_ratelimited("%s/%u: a flush has not been answered for %u ms\n", leg->volume->name,
			    leg->index, jiffies_to_msecs(age));
}

/*
 * Only tasks in flight time out here; parked tasks have their own clock. The nexus of a task that
 * is in flight within the section is freed after the section. The nexus was set before @refs
 * (istripe_session_submit()), so @refs is read first. The request is too old, but a task of it that
 * was sent again after a loss may not be. A quarter is allowed for waiting before the first send.
 */
static void io_task_timeout(struct istripe_leg_task *leg_task, const struct request *rq)
{
	unsigned long timeout = io_task_allowed(leg_task, rq);
	struct istripe_nexus *nexus;
	struct istripe_eh_tag tag = {};
	struct istripe_leg *leg;
	int section;

	/* The leg, too, was set before @refs. */
	if (!atomic_read_acquire(&leg_task->task.refs))
		return;
	leg = leg_task->leg;
	section = srcu_read_lock(&leg->srcu);
	if (!atomic_read_acquire(&leg_task->task.refs))
		goto out;
	nexus = READ_ONCE(leg_task->nexus);
	tag.itt = READ_ONCE(leg_task->task.itt);
	tag.since = READ_ONCE(leg_task->since);
	tag.again = READ_ONCE(leg_task->late_over) & ~BIT(nexus->path->index);
	if (timeout != rq->timeout)
		io_task_say_slow(leg_task, READ_ONCE(rq->q->rq_timeout));
	if (time_after_eq(jiffies, tag.since + 3 * timeout / 4) &&
	    !io_task_moves(leg_task, timeout) &&
	    istripe_eh_report(nexus, &tag, leg_task->timeouts >= TIMEOUTS_MAX))
		leg_task->timeouts++;
out:
	srcu_read_unlock(&leg->srcu, section);
}

void istripe_io_timeout(struct request *rq)
{
	struct istripe_io *io = blk_mq_rq_to_pdu(rq);
	u32 i;

	for (i = 0; i < io->task_count; i++)
		io_task_timeout(&io->tasks[i], rq);
}
