/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Negotiation of the operational keys, RFC 7143 sections 6.2, 6.3 and 13, from
 * the initiator's side, for one login of one connection:
 *
 *	istripe_negotiation_init()
 *	istripe_negotiation_offer()	once, into the first operational request
 *	istripe_negotiation_receive()	for each pair that the target sends
 *	istripe_negotiation_finish()	when the login phase ends
 *
 * Then @result holds. Keys of other matters (names, authentication, addresses)
 * are the login machine's.
 */
#ifndef ISTRIPE_ISCSI_NEGOTIATION_H
#define ISTRIPE_ISCSI_NEGOTIATION_H

#include <linux/types.h>

#include "iscsi/keys.h"
#include "iscsi/text.h"

#define ISTRIPE_NEGOTIATION_PROBLEM_BYTES	128

/**
 * struct istripe_negotiation - operational keys of one login
 * @offer: what is offered and accepted
 * @result: what holds; complete after istripe_negotiation_finish()
 * @offered: keys that were sent, bit n for key n
 * @received: keys that the target sent, as an answer or as an offer
 * @answered: keys of @received to which it gave a value (not Reject, Irrelevant
 *	or NotUnderstood)
 * @leading: first connection of the session
 * @first_burst_irrelevant: the target said so of FirstBurstLength
 * @note: an answer that its offer does not allow, and that was put up with, in words, or
 *	empty; the first one of them
 * @problem: after an error, why, in words, one line, printable
 */
struct istripe_negotiation {
	struct istripe_keys offer;
	struct istripe_keys result;
	u32 offered;
	u32 received;
	u32 answered;
	bool leading;
	bool first_burst_irrelevant;
	char note[ISTRIPE_NEGOTIATION_PROBLEM_BYTES];
	char problem[ISTRIPE_NEGOTIATION_PROBLEM_BYTES];
};

/**
 * istripe_negotiation_init() - begin a negotiation
 * @n: overwritten
 * @offer: values to offer, copied. Numbers out of a key's range are brought into
 *	it, and FirstBurstLength down to MaxBurstLength.
 * @session: NULL on the leading connection (TSIH 0); else the result of the
 *	leading login, whose session-wide keys hold and are not sent again
 *
 * Context: any.
 */
void istripe_negotiation_init(struct istripe_negotiation *n, const struct istripe_keys *offer,
			      const struct istripe_keys *session);

/**
 * istripe_negotiation_offer() - write offers and declarations
 * @n: negotiation
 * @w: text of the request; about 400 bytes are needed
 *
 * Context: any.
 * Return: 0, or -EMSGSIZE when @w has no room; the text is then incomplete.
 */
int istripe_negotiation_offer(struct istripe_negotiation *n, struct istripe_text_writer *w);

/**
 * istripe_negotiation_receive() - take one pair of the target
 * @n: negotiation
 * @p: the pair
 * @reply: text of the next request, for what the target must be answered
 *
 * A pair for a key that was offered is the answer; it is checked against the
 * offer. Where the table of keys says that a wrong one does no harm, the result is as
 * if the target had kept to the rules, and @n->note tells. Any other operational key is an
 * offer or a declaration of the target, and is answered where an answer is due. Keys that
 * nobody knows are answered NotUnderstood (section 6.2).
 *
 * Context: any.
 * Return: 0; -ENOENT when the key belongs to the login machine (TargetAlias,
 * AuthMethod, CHAP_* ...), nothing was done; -EPROTO when the target broke the
 * rules (out of range, not among the offered values, said twice, leading-only key
 * on another connection), @n->problem tells; -EMSGSIZE when @reply has no room.
 */
int istripe_negotiation_receive(struct istripe_negotiation *n, const struct istripe_text_pair *p,
				struct istripe_text_writer *reply);

/**
 * istripe_negotiation_finish() - make the result complete
 * @n: negotiation
 *
 * A key that was never offered has its default. One that was offered but got no
 * answer, or Reject, gets the value that is safe whatever the target thinks: the
 * smaller (Time2Wait: the larger) of offer and default, InitialR2T Yes,
 * ImmediateData No. Two cases have no such value and are refused: digests
 * without None in the offer, and Irrelevant for FirstBurstLength although
 * unsolicited data may be sent. FirstBurstLength is brought down to
 * MaxBurstLength (section 13.14).
 *
 * Context: any.
 * Return: 0, or -EPROTO with @n->problem.
 */
int istripe_negotiation_finish(struct istripe_negotiation *n);

#endif
