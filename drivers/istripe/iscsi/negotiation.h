/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Negotiation of the operational keys, RFC 7143 sections 6.2, 6.3 and 13, from the initiator's
 * side, for one login of one connection:
 *
 *	istripe_negotiation_init()
 *	istripe_negotiation_offer()	once, into the first operational request
 *	istripe_negotiation_receive()	for each pair that the target sends
 *	istripe_negotiation_finish()	when the login phase ends
 *
 * Then @result holds. Keys of other matters (names, authentication, addresses) are the login
 * machine's.
 */
#ifndef ISTRIPE_ISCSI_NEGOTIATION_H
#define ISTRIPE_ISCSI_NEGOTIATION_H

#include <linux/types.h>

#include "iscsi/keys.h"
#include "iscsi/text.h"

#define ISTRIPE_NEGOTIATION_PROBLEM_BYTES	128

/* Operational keys of one login. */
struct istripe_negotiation {
	struct istripe_keys offer;	/* what is offered and accepted */
	struct istripe_keys result;	/* complete after istripe_negotiation_finish() */
	u32 offered;			/* keys that were sent, bit n for key n */
	u32 received;			/* keys that the target sent, as an answer or as an offer */
	u32 answered;			/* those of @received that it gave a value */
	bool leading;			/* first connection of the session */
	bool first_burst_irrelevant;	/* the target said so of FirstBurstLength */
	bool first_burst_above;		/* it answered with more than was offered */
	char note[ISTRIPE_NEGOTIATION_PROBLEM_BYTES];	/* the first wrong answer tolerated */
	char problem[ISTRIPE_NEGOTIATION_PROBLEM_BYTES];	/* of an error, printable */
};

/*
 * Offers out of a key's range are brought into it. @session: NULL on the leading connection; else
 * the result of the leading login, whose session-wide keys hold and are not sent again.
 */
void istripe_negotiation_init(struct istripe_negotiation *n, const struct istripe_keys *offer,
			      const struct istripe_keys *session);

/* Takes about 400 bytes of @w; returns 0, or -EMSGSIZE with an incomplete text. */
int istripe_negotiation_offer(struct istripe_negotiation *n, struct istripe_text_writer *w);

/*
 * Takes a pair of the target: the answer to an offer, a declaration, or an offer of the target's,
 * which is answered in @reply (unknown keys with NotUnderstood, section 6.2). Returns 0; -ENOENT
 * for a key of the login machine; -EPROTO when the target broke the rules, @n->problem tells;
 * -EMSGSIZE when @reply has no room.
 */
int istripe_negotiation_receive(struct istripe_negotiation *n, const struct istripe_text_pair *p,
				struct istripe_text_writer *reply);

/*
 * A key that was offered and got no answer, or Reject, gets the value that is safe whether the
 * target goes by the offer or by the default; so is InitialR2T=Yes while it is not clear where a
 * first burst ends. Returns 0, or -EPROTO with @n->problem when there is no such value: digests
 * without None in the offer, and FirstBurstLength=Irrelevant although unsolicited data may be sent.
 */
int istripe_negotiation_finish(struct istripe_negotiation *n);

#endif
