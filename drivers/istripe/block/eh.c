// SPDX-License-Identifier: GPL-2.0
#include <linux/delay.h>

#include "block/eh.h"
#include "block/nexus.h"
#include "iscsi/error.h"

#define TASK_MANAGEMENT_TIMEOUT_MS	10000
/* Of a path that is to blame: an abort that is answered saves a fence, but I/O waits meanwhile. */
#define BLAMED_ABORTS_MS		2000
/* For so long no command stays as it is seen while it is just sent or answered. */
#define STUCK_MS			20

static struct istripe_eh_tag *eh_find(struct istripe_nexus *nexus, u32 itt)
{
	u32 i;

	lockdep_assert_held(&nexus->event_lock);
	for (i = 0; i < nexus->eh.count; i++)
		if (nexus->eh.tags[i].itt == itt)
			return &nexus->eh.tags[i];
	return NULL;
}

/* Returns false when the tag is on the list. A full one has no place for it, but gives up. */
static bool eh_add(struct istripe_nexus *nexus, const struct istripe_eh_tag *tag, bool give_up)
{
	if (eh_find(nexus, tag->itt))
		return false;
	if (nexus->eh.count == ISTRIPE_EH_MAX)
		return give_up;
	nexus->eh.tags[nexus->eh.count++] = *tag;
	return true;
}

bool istripe_eh_report(struct istripe_nexus *nexus, const struct istripe_eh_tag *tag,
		       bool give_up)
{
	unsigned long flags;
	bool added;

	if (READ_ONCE(nexus->state) != ISTRIPE_NEXUS_LIVE)
		return false;
	spin_lock_irqsave(&nexus->event_lock, flags);
	added = eh_add(nexus, tag, give_up);
	spin_unlock_irqrestore(&nexus->event_lock, flags);
	if (!added)
		return false;
	if (give_up)
		set_bit(ISTRIPE_NEXUS_GIVE_UP, &nexus->events);
	istripe_nexus_event(nexus, ISTRIPE_NEXUS_EH);
	return true;
}

bool istripe_eh_reject(struct istripe_session *session, u32 itt)
{
	struct istripe_nexus *nexus = session->owner;
	struct istripe_eh_tag *listed;
	unsigned long flags;

	if (READ_ONCE(nexus->state) != ISTRIPE_NEXUS_LIVE)
		return false;
	spin_lock_irqsave(&nexus->event_lock, flags);
	listed = eh_find(nexus, itt);
	/* The other half is for commands that time out. */
	if (!listed && nexus->eh.count < ISTRIPE_EH_MAX / 2) {
		listed = &nexus->eh.tags[nexus->eh.count++];
		*listed = (struct istripe_eh_tag) { .itt = itt, .since = jiffies };
	}
	if (listed)
		listed->rejected = true;
	spin_unlock_irqrestore(&nexus->event_lock, flags);
	if (listed)
		istripe_nexus_event(nexus, ISTRIPE_NEXUS_EH);
	return listed;
}

/* The first tag; it stays on the list until eh_end(). */
static bool eh_next(struct istripe_nexus *nexus, struct istripe_eh_tag *tag)
{
	unsigned long flags;
	bool any;

	spin_lock_irqsave(&nexus->event_lock, flags);
	any = nexus->eh.count;
	*tag = nexus->eh.tags[0];
	spin_unlock_irqrestore(&nexus->event_lock, flags);
	return any;
}

static void eh_end(struct istripe_nexus *nexus, u32 count)
{
	unsigned long flags;

	spin_lock_irqsave(&nexus->event_lock, flags);
	count = min(count, nexus->eh.count);
	nexus->eh.count -= count;
	memmove(nexus->eh.tags, nexus->eh.tags + count,
		nexus->eh.count * sizeof(nexus->eh.tags[0]));
	spin_unlock_irqrestore(&nexus->event_lock, flags);
}

static bool eh_is_stuck(enum istripe_task_progress progress)
{
	return progress == ISTRIPE_TASK_UNSENT || progress == ISTRIPE_TASK_UNFINISHED;
}

/* How far are the commands on the list? A wait follows, one for all of them. */
static void eh_note_stuck(struct istripe_nexus *nexus)
{
	struct istripe_eh_tag *tag;
	unsigned long flags;
	u32 i;

	spin_lock_irqsave(&nexus->event_lock, flags);
	for (i = 0; i < nexus->eh.count; i++) {
		tag = &nexus->eh.tags[i];
		tag->stuck = istripe_session_task_progress(nexus->owned, tag->itt);
	}
	spin_unlock_irqrestore(&nexus->event_lock, flags);
}

/* How far is the command? One that is stuck has been so for STUCK_MS. */
static enum istripe_task_progress eh_progress(struct istripe_nexus *nexus,
					      const struct istripe_eh_tag *tag)
{
	enum istripe_task_progress progress = istripe_session_task_progress(nexus->owned, tag->itt);
	enum istripe_task_progress before = tag->stuck;

	while (eh_is_stuck(progress) && progress != before) {
		before = progress;
		eh_note_stuck(nexus);
		msleep(STUCK_MS);
		progress = istripe_session_task_progress(nexus->owned, tag->itt);
	}
	return progress;
}

/* The command was never sent, or the target does not let us finish it: abort cannot help. */
static bool eh_is_hopeless(struct istripe_session *session,
			   enum istripe_task_progress progress)
{
	/* Both last for a while at most; then the command has its whole time again. */
	if (progress == ISTRIPE_TASK_UNSENT &&
	    (istripe_session_is_quiesced(session) || istripe_session_is_invalid(session)))
		return true;
	if (progress == ISTRIPE_TASK_UNSENT)
		istripe_session_fault(session, -ETIMEDOUT,
				      "a command cannot be sent: the target keeps its command window or TCP closed");
	else if (progress == ISTRIPE_TASK_UNFINISHED)
		istripe_session_fault(session, -ETIMEDOUT,
				      "the target has answered a command, but does not take its data");
	return progress != ISTRIPE_TASK_IN_FLIGHT;
}

/* Unless it has been answered meanwhile: that, too, may follow a Reject. */
static void eh_abort_rejected(struct istripe_session *session, u32 itt, u32 timeout_ms)
{
	int ret;

	if (istripe_session_task_progress(session, itt) != ISTRIPE_TASK_IN_FLIGHT)
		return;
	ret = istripe_session_task_management(session, ISCSI_TM_FUNC_ABORT_TASK, itt, timeout_ms);
	if (ret && ret != -ENOTCONN)
		istripe_session_fault(session, ret,
				      "the target rejects a command, task 0x%08x, and does not abort it: %s (%pe)",
				      itt, istripe_error_words(ret), ERR_PTR(ret));
}

/* Commands that are left when the time is up end with the session. */
static u32 eh_abort_ms(bool blamed, unsigned long since)
{
	long left = since + msecs_to_jiffies(BLAMED_ABORTS_MS) - jiffies;

	return blamed ? jiffies_to_msecs(max(left, 1L)) : TASK_MANAGEMENT_TIMEOUT_MS;
}

/* Sets @blamed if the command says that nothing comes over this path. */
static int eh_abort_task(struct istripe_nexus *nexus, const struct istripe_eh_tag *tag,
			 bool *blamed, unsigned long *since)
{
	struct istripe_session *session = nexus->owned;
	u32 itt = tag->itt;

	if (tag->rejected) {
		eh_abort_rejected(session, itt, eh_abort_ms(*blamed, *since));
		return 0;
	}
	if (eh_is_hopeless(session, eh_progress(nexus, tag)))
		return 0;
	if (!*blamed)
		*since = jiffies;
	*blamed |= !tag->again && nexus->ops->carries_nothing(nexus, tag->since);
	pr_warn_ratelimited("%s: command 0x%08x has timed out: aborting it\n", nexus->label, itt);
	return istripe_session_task_management(session, ISCSI_TM_FUNC_ABORT_TASK, itt,
					       eh_abort_ms(*blamed, *since));
}

static int eh_abort_all(struct istripe_nexus *nexus, bool *blamed)
{
	unsigned long since = jiffies;
	struct istripe_eh_tag tag;
	int ret = 0;

	/* STOP ends all tasks of the session anyway. */
	while (!ret && !test_bit(ISTRIPE_NEXUS_STOP, &nexus->events) && eh_next(nexus, &tag)) {
		if (test_and_clear_bit(ISTRIPE_NEXUS_GIVE_UP, &nexus->events))
			ret = -ETIMEDOUT;
		else
			ret = eh_abort_task(nexus, &tag, blamed, &since);
		eh_end(nexus, 1);
	}
	return ret;
}

/* Task, path if there are others, LUN, session. Keepalive has checked the connection before. */
void istripe_eh_recover(struct istripe_nexus *nexus)
{
	struct istripe_session *session = nexus->owned;
	bool blamed = false;
	int ret = eh_abort_all(nexus, &blamed);

	if (!blamed && ret && ret != -ENOTCONN && !session->quirks.no_lun_reset) {
		pr_warn_ratelimited("%s: commands stay unanswered, abort: %s (%pe): resetting the LUN\n",
				    nexus->label, istripe_error_words(ret), ERR_PTR(ret));
		ret = nexus->ops->reset_lun(nexus);
		istripe_eh_clear(nexus);
		blamed = ret == -EHOSTDOWN;
	}
	if (blamed)
		istripe_session_fault(session, -ETIMEDOUT,
				      "commands time out over this path, while another one has answers");
	else if (ret && ret != -ENOTCONN)
		istripe_session_fault(session, -ETIMEDOUT,
				      session->quirks.no_lun_reset ?
				      "commands time out, and so do aborts" :
				      "commands time out, and so do abort and LUN reset");
}

/* The target has the command, or has answered it. */
static bool eh_stays(struct istripe_session *session, u32 itt)
{
	enum istripe_task_progress progress = istripe_session_task_progress(session, itt);

	return progress == ISTRIPE_TASK_IN_FLIGHT || progress == ISTRIPE_TASK_UNFINISHED;
}

static bool eh_keep_sent(struct istripe_nexus *nexus)
{
	unsigned long flags;
	u32 kept = 0;
	u32 i;

	spin_lock_irqsave(&nexus->event_lock, flags);
	for (i = 0; i < nexus->eh.count; i++)
		if (eh_stays(nexus->owned, nexus->eh.tags[i].itt))
			nexus->eh.tags[kept++] = nexus->eh.tags[i];
	nexus->eh.count = kept;
	/* A reporter with @give_up adds its tag first, then sets the bit. */
	if (!kept)
		clear_bit(ISTRIPE_NEXUS_GIVE_UP, &nexus->events);
	spin_unlock_irqrestore(&nexus->event_lock, flags);
	return kept;
}

void istripe_eh_forget_unsent(struct istripe_nexus *nexus)
{
	/* Before the list is read: a later report sets it again. */
	clear_bit(ISTRIPE_NEXUS_EH, &nexus->events);
	if (eh_keep_sent(nexus))
		istripe_nexus_event(nexus, ISTRIPE_NEXUS_EH);
}

void istripe_eh_clear(struct istripe_nexus *nexus)
{
	clear_bit(ISTRIPE_NEXUS_GIVE_UP, &nexus->events);
	eh_end(nexus, ISTRIPE_EH_MAX);
}
