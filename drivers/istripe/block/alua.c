// SPDX-License-Identifier: GPL-2.0
#include <linux/printk.h>

#include "block/alua.h"
#include "block/carrier.h"
#include "block/handover.h"
#include "block/leg.h"
#include "block/nexus.h"
#include "scsi/alua.h"

/* While I/O waits, for a while; many transitions are short. */
#define POLL_AT_ONCE_MS	250
#define AT_ONCE_MS	60000
/* Then, or in transition, or while no path serves I/O; long enough not to count as a series. */
#define POLL_SOON_MS	1500
/* While it is not optimized. */
#define POLL_MS		30000

static void alua_say(const struct istripe_nexus *nexus, const struct istripe_access *before)
{
	const struct istripe_access *now = &nexus->found.access;

	if (before->known && !now->known)
		pr_info_ratelimited("%s: its access state is not known any more\n", nexus->label);
	/* At the first login optimized is the usual case. */
	else if (now->state != before->state)
		pr_info_ratelimited("%s: its target port is %s (group %u)\n", nexus->label,
				    istripe_alua_state_name(now->state), now->group);
}

void istripe_alua_found(struct istripe_nexus *nexus)
{
	const struct istripe_access *now = &nexus->found.access;
	struct istripe_leg *leg = nexus->leg;
	struct istripe_access before;

	istripe_leg_nexus_access(nexus, now, &before);
	alua_say(nexus, &before);
	/*
	 * Other ports have changed, too, and not all targets tell: one that is optimized is not
	 * polled. Only after a change: otherwise ports would ask each other for ever.
	 */
	if (before.known && now->state != before.state)
		istripe_leg_tell(leg, nexus, ISTRIPE_NEXUS_ACCESS);
	/* A nexus without a link was kept as long as no other one could serve. */
	if (istripe_handover_may_serve(now) && !istripe_handover_may_serve(&before))
		istripe_carrier_check(leg);
}

void istripe_alua_back(struct istripe_nexus *nexus)
{
	int section = srcu_read_lock(&nexus->leg->srcu);
	struct istripe_nexus *other;

	istripe_leg_for_each_nexus(nexus->leg, other)
		if (READ_ONCE(other->live) && READ_ONCE(other->access.known) &&
		    other->access.group != nexus->access.group)
			istripe_nexus_event(other, ISTRIPE_NEXUS_ACCESS);
	srcu_read_unlock(&nexus->leg->srcu, section);
}

bool istripe_alua_note_refusal(struct istripe_nexus *nexus, const struct scsi_sense_hdr *sense)
{
	int state = READ_ONCE(nexus->access.known) ? istripe_alua_sense_state(sense) : -1;

	if (state < 0)
		return false;
	if (READ_ONCE(nexus->access.state) != state)
		pr_info_ratelimited("%s: a command is refused: its target port is %s\n",
				    nexus->label, istripe_alua_state_name(state));
	istripe_leg_nexus_refused(nexus, state);
	/* The event after the state: a revalidation that begins from now on decides. */
	istripe_alua_ask_all(nexus->leg);
	return true;
}

void istripe_alua_ask_all(struct istripe_leg *leg)
{
	istripe_leg_tell(leg, NULL, ISTRIPE_NEXUS_ACCESS);
}

void istripe_alua_lost(struct istripe_nexus *nexus)
{
	if (!READ_ONCE(nexus->leg->usable_nexuses))
		istripe_leg_tell(nexus->leg, nexus, ISTRIPE_NEXUS_ACCESS);
}

/* While I/O waits for a port, in jiffies @since. */
static u32 waiting_poll_ms(unsigned long since)
{
	return time_before(jiffies, since + msecs_to_jiffies(AT_ONCE_MS)) ? POLL_AT_ONCE_MS :
									  POLL_SOON_MS;
}

u32 istripe_alua_poll_ms(const struct istripe_nexus *nexus)
{
	const struct istripe_leg *leg = nexus->leg;

	if (!READ_ONCE(nexus->access.tpgs))
		return 0;
	/* One whose state is not known was perhaps left out of a list for a moment only. */
	if (READ_ONCE(nexus->access.known) &&
	    READ_ONCE(nexus->access.state) == SCSI_ACCESS_STATE_OPTIMAL)
		return 0;
	if (!READ_ONCE(leg->usable_nexuses))
		return waiting_poll_ms(READ_ONCE(leg->down_since));
	if (READ_ONCE(leg->unserved.tasks))
		return waiting_poll_ms(READ_ONCE(leg->unserved.since));
	if (READ_ONCE(nexus->access.state) == SCSI_ACCESS_STATE_TRANSITIONING)
		return POLL_SOON_MS;
	return POLL_MS;
}
