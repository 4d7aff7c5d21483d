// SPDX-License-Identifier: GPL-2.0
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/printk.h>

#include "block/handover.h"
#include "block/leg.h"
#include "block/nexus.h"
#include "iscsi/error.h"
#include "scsi/alua.h"
#include "scsi/cdb.h"

/* Between two requests; it doubles. */
#define TAKE_MS			2000
#define INTERVAL_MAX_MS		300000
/* After so long without one, the next request is a first one. */
#define QUIET_MS		600000
/* A target that hands the LUN over by itself as well gets so long to do that. */
#define IMPLICIT_MS		1000
/* A port that does not say whether it has the LUN now is waited for so long. */
#define SIBLINGS_MS		5000
/* Ports that take I/O get so long to serve what none of them does. */
#define UNSERVED_MS		2000
/* A preferred port is back for so long before the LUN is handed back; between two of these. */
#define BACK_MS			30000
#define ANSWER_MS		30000

static bool passed(unsigned long since, u32 ms)
{
	return time_after_eq(jiffies, since + msecs_to_jiffies(ms));
}

/* A series ends when there was no request for a while. For the first one nothing has to pass. */
static bool series_goes_on(struct istripe_handover_series *series, u32 interval_ms)
{
	u32 wait_ms;

	if (series->requests && passed(series->asked_at, QUIET_MS))
		series->requests = 0;
	if (!series->requests)
		return true;
	wait_ms = min_t(u32, interval_ms << min(series->requests - 1, 10u), INTERVAL_MAX_MS);
	return passed(series->asked_at, wait_ms);
}

/* Not all ports of a target need say the same. */
static bool access_may_be_asked_for(const struct istripe_access *access)
{
	return (READ_ONCE(access->tpgs) & ISTRIPE_TPGS_EXPLICIT) &&
	       READ_ONCE(access->may_optimize);
}

static bool access_may_be_taken(const struct istripe_access *access)
{
	u8 state = READ_ONCE(access->state);

	return READ_ONCE(access->known) && access_may_be_asked_for(access) &&
	       (state == SCSI_ACCESS_STATE_STANDBY || state == SCSI_ACCESS_STATE_UNAVAILABLE);
}

bool istripe_handover_may_serve(const struct istripe_access *access)
{
	return istripe_alua_usable(READ_ONCE(access->state)) || access_may_be_taken(access);
}

/* The other ports of the leg, taken together. */
struct siblings {
	bool transition;	/* one is in transition: the target is at it */
	bool standby;		/* one is standby */
	bool unasked;		/* one may have the LUN by now: see leg_siblings() */
	bool preferred;		/* one is standby, preferred, and may be asked for the LUN */
	bool ours;		/* handover->group has the LUN */
};

/* It logs in, perhaps to a port that takes I/O: after an outage all paths do. */
static bool nexus_is_coming(const struct istripe_nexus *nexus)
{
	enum istripe_nexus_state state = READ_ONCE(nexus->state);

	return nexus->wanted && !nexus->live &&
	       (state == ISTRIPE_NEXUS_CONNECTING || state == ISTRIPE_NEXUS_LIVE);
}

/*
 * Their states count if they were asked since I/O waits, and since @self's port has its state:
 * somebody who moves the LUN changes one port after the other.
 */
static struct siblings leg_siblings(const struct istripe_nexus *self)
{
	struct istripe_leg *leg = self->leg;
	unsigned long since = time_after(self->access_since, leg->down_since) ?
		self->access_since : leg->down_since;
	struct siblings found = {};
	struct istripe_nexus *nexus;

	istripe_leg_for_each_nexus(leg, nexus) {
		const struct istripe_access *access = &nexus->access;

		found.unasked |= nexus_is_coming(nexus) && !passed(self->live_since, SIBLINGS_MS);
		if (!nexus->live || !access->known)
			continue;
		found.transition |= access->state == SCSI_ACCESS_STATE_TRANSITIONING &&
				    time_before(jiffies, nexus->transition_end);
		found.unasked |= nexus != self && time_before(access->asked_at, since) &&
				 !passed(since, SIBLINGS_MS);
		found.preferred |= access->state == SCSI_ACCESS_STATE_STANDBY &&
				   access->preferred && access_may_be_asked_for(access);
		found.standby |= access->state == SCSI_ACCESS_STATE_STANDBY;
		found.ours |= access->state == SCSI_ACCESS_STATE_OPTIMAL &&
			      access->group == leg->handover.group;
	}
	return found;
}

/* A port that the LUN was just handed back to is not known to take I/O yet. */
static bool handover_back_is_over(const struct istripe_handover *handover)
{
	return !handover->back.requests || passed(handover->back.asked_at, TAKE_MS);
}

/* No port takes I/O, or for a while those that do have served none of some task. */
static bool leg_wants_a_port(const struct istripe_leg *leg)
{
	return !leg->usable_nexuses ||
	       (leg->unserved.tasks && passed(leg->unserved.since, UNSERVED_MS));
}

/* The leg needs a port that takes I/O, and this one could. */
static bool handover_is_due(const struct istripe_nexus *nexus, const struct siblings *siblings)
{
	const struct istripe_leg *leg = nexus->leg;
	bool implicit = nexus->access.tpgs & ISTRIPE_TPGS_IMPLICIT;

	if (!leg_wants_a_port(leg))
		return false;
	if (!access_may_be_taken(&nexus->access))
		return false;
	if (nexus->access.state != SCSI_ACCESS_STATE_STANDBY && siblings->standby)
		return false;
	if (siblings->transition)
		return false;
	if (siblings->unasked)
		return false;
	if (!handover_back_is_over(&leg->handover))
		return false;
	/* If it does not get the LUN, the next request may be for another one. */
	if (!nexus->access.preferred && siblings->preferred && !leg->handover.take.requests)
		return false;
	if (implicit && !passed(leg->down_since, IMPLICIT_MS))
		return false;
	return true;
}

static bool handover_back_is_due(const struct istripe_nexus *nexus,
				 const struct siblings *siblings)
{
	const struct istripe_handover *handover = &nexus->leg->handover;

	return handover->ours && siblings->ours && !siblings->transition &&
	       nexus->access.preferred && nexus->access.group != handover->group &&
	       (nexus->access.state == SCSI_ACCESS_STATE_STANDBY ||
		nexus->access.state == SCSI_ACCESS_STATE_ACTIVE) &&
	       passed(nexus->live_since, BACK_MS) && passed(handover->take.asked_at, BACK_MS);
}

/* Decides, and notes the request, so that no other nexus of the leg makes the same one. */
static struct istripe_handover_series *handover_begin(struct istripe_nexus *nexus)
{
	struct istripe_handover *handover = &nexus->leg->handover;
	struct siblings siblings = leg_siblings(nexus);
	struct istripe_handover_series *series = NULL;

	lockdep_assert_held(&nexus->leg->lock);
	/* Somebody else has moved it. */
	if (!siblings.ours && nexus->leg->usable_nexuses)
		handover->ours = false;
	if (handover_is_due(nexus, &siblings) && series_goes_on(&handover->take, TAKE_MS))
		series = &handover->take;
	else if (handover_back_is_due(nexus, &siblings) &&
		 series_goes_on(&handover->back, BACK_MS))
		series = &handover->back;
	if (!series)
		return NULL;
	series->asked_at = jiffies;
	series->requests++;
	return series;
}

/* Some targets need long for an answer: the next request is counted from then on. */
static void handover_end(struct istripe_nexus *nexus, struct istripe_handover_series *series,
			 bool done)
{
	struct istripe_leg *leg = nexus->leg;

	spin_lock_bh(&leg->lock);
	series->asked_at = jiffies;
	if (done) {
		leg->handover.ours = !nexus->access.preferred;
		leg->handover.group = nexus->access.group;
	}
	spin_unlock_bh(&leg->lock);
}

static int handover_send(struct istripe_nexus *nexus)
{
	struct istripe_session *session = nexus->owned;
	u8 cdb[ISTRIPE_CDB_BYTES];
	const struct istripe_lun_command command = {
		.address = &session->lun,
		.cdb = cdb,
		.bytes = ISTRIPE_PORT_GROUP_PARAMETER_BYTES,
		.write = true,
		.tpgs = true,
		.known = ISTRIPE_LUN_KNOWN,
		.deadline = jiffies + msecs_to_jiffies(ANSWER_MS),
	};

	istripe_cdb_set_target_port_group(cdb, page_address(session->internal.page),
					  nexus->found.access.group, SCSI_ACCESS_STATE_OPTIMAL);
	return istripe_lun_ask(session, &command);
}

int istripe_handover_ask(struct istripe_nexus *nexus)
{
	const struct istripe_access *access = &nexus->found.access;
	struct istripe_handover_series *series;
	struct istripe_leg *leg = nexus->leg;
	int ret;

	if (!access->known || !access_may_be_asked_for(access) ||
	    test_bit(ISTRIPE_NEXUS_STOP, &nexus->events))
		return 0;
	spin_lock_bh(&leg->lock);
	series = handover_begin(nexus);
	spin_unlock_bh(&leg->lock);
	if (!series)
		return 0;
	pr_info("%s: asking the target to serve the LUN through port group %u: %s\n", nexus->label,
		access->group,
		series == &leg->handover.back ? "it prefers that" : "no other port serves I/O");
	ret = handover_send(nexus);
	handover_end(nexus, series, !ret);
	if (!ret)
		return -EALREADY;
	pr_warn("%s: the target does not: %s (%pe)\n", nexus->label, istripe_error_words(ret),
		ERR_PTR(ret));
	/* -ETIMEDOUT: the command, and its page, may still be under way. */
	return ret == -ETIMEDOUT || ret == -ENOTCONN || ret == -ESTALE ? ret : 0;
}
