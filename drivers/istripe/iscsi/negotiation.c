// SPDX-License-Identifier: GPL-2.0
/*
 * How an offer, an answer and a default make a result, by the rules of RFC 7143 section 6.2; keys.c
 * has the table of the keys.
 */
#include <linux/bits.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "iscsi/negotiation.h"

static __printf(2, 3) int negotiation_broken(struct istripe_negotiation *n, const char *fmt, ...)
{
	va_list args;
	char *c;

	va_start(args, fmt);
	vscnprintf(n->problem, sizeof(n->problem), fmt, args);
	va_end(args);
	for (c = n->problem; *c; c++) {
		if ((unsigned char)*c >= 0x7f)
			*c = '?';
	}
	return -EPROTO;
}

static int value_broken(struct istripe_negotiation *n, const struct istripe_text_pair *p,
			const char *why)
{
	return negotiation_broken(n, "target sent %s=%.32s, %s", p->key, p->value, why);
}

static u32 offer_clamp(const struct istripe_key_rule *rule, u32 value)
{
	if (rule->choices)
		return value < rule->choice_count ? value : rule->rfc_default;
	return clamp(value, rule->min, rule->max);
}

void istripe_negotiation_init(struct istripe_negotiation *n, const struct istripe_keys *offer,
			      const struct istripe_keys *session)
{
	u32 *burst = &n->offer.value[ISTRIPE_KEY_FIRST_BURST_LENGTH];
	u32 key;

	memset(n, 0, sizeof(*n));
	n->leading = !session;
	istripe_keys_rfc_default(&n->result);
	for (key = 0; key < ISTRIPE_KEY_COUNT; key++) {
		const struct istripe_key_rule *rule = istripe_key_rule(key);

		n->offer.value[key] = offer_clamp(rule, offer->value[key]);
		if (session && rule->flags & ISTRIPE_KEY_LEADING)
			n->result.value[key] = session->value[key];
	}
	*burst = min(*burst, n->offer.value[ISTRIPE_KEY_MAX_BURST_LENGTH]);
}

static bool key_is_offered(const struct istripe_negotiation *n, u32 key)
{
	const struct istripe_key_rule *rule = istripe_key_rule(key);

	if (n->received & BIT(key) || rule->type == ISTRIPE_KEY_TYPE_PEER ||
	    rule->flags & ISTRIPE_KEY_OBSOLETE)
		return false;
	if (rule->flags & ISTRIPE_KEY_LEADING && !n->leading)
		return false;
	return !(rule->flags & ISTRIPE_KEY_SPARING) || n->offer.value[key] != rule->rfc_default;
}

static const char *wire_name(const struct istripe_key_rule *rule)
{
	return rule->wire ? rule->wire : rule->name;
}

static int put_value(struct istripe_text_writer *w, u32 key, u32 value)
{
	char text[ISTRIPE_KEY_TEXT_BYTES];
	int bytes = istripe_key_format(key, value, text, sizeof(text));

	return bytes < 0 ? bytes : istripe_text_put(w, wire_name(istripe_key_rule(key)), text);
}

int istripe_negotiation_offer(struct istripe_negotiation *n, struct istripe_text_writer *w)
{
	u32 key;
	int err;

	for (key = 0; key < ISTRIPE_KEY_COUNT; key++) {
		if (!key_is_offered(n, key))
			continue;
		err = put_value(w, key, n->offer.value[key]);
		if (err)
			return err;
		n->offered |= BIT(key);
	}
	return 0;
}

/* A possible result of a list key that stands in a list, or -ENOENT. */
static int choice_find(const struct istripe_key_rule *rule, const char *text, u32 bytes)
{
	u32 v;

	for (v = 0; v <= rule->max; v++) {
		const char *choice = rule->choices[v].text;

		if (strlen(choice) == bytes && !memcmp(choice, text, bytes))
			return v;
	}
	return -ENOENT;
}

static u32 choices_accepted(const struct istripe_negotiation *n, u32 key)
{
	return istripe_key_rule(key)->choices[n->offer.value[key]].accept;
}

static bool value_is_reserved(const struct istripe_text_pair *p)
{
	return istripe_text_value_is(p, ISTRIPE_TEXT_REJECT) ||
	       istripe_text_value_is(p, ISTRIPE_TEXT_IRRELEVANT) ||
	       istripe_text_value_is(p, ISTRIPE_TEXT_NOT_UNDERSTOOD);
}

/*
 * A boolean or a number in the range of the RFC; the same for offers and answers. With a tolerance,
 * and of what the target declares, a number above the range counts as its maximum.
 */
static int value_parse(struct istripe_negotiation *n, u32 key, const struct istripe_text_pair *p,
		       u32 *value)
{
	const struct istripe_key_rule *rule = istripe_key_rule(key);
	bool tolerant = rule->tolerance || rule->type == ISTRIPE_KEY_TYPE_PEER;
	u32 max = tolerant ? U32_MAX : rule->max;
	bool yes;

	if (rule->type == ISTRIPE_KEY_TYPE_AND || rule->type == ISTRIPE_KEY_TYPE_OR) {
		if (istripe_text_parse_boolean(p, &yes))
			return value_broken(n, p, "neither Yes nor No");
		*value = yes;
		return 0;
	}
	if (istripe_text_parse_number(p, rule->min, max, value))
		return negotiation_broken(n, "target sent %s=%.32s, not a number from %u to %u",
					  p->key, p->value, rule->min, rule->max);
	*value = min(*value, rule->max);
	return 0;
}

static u32 value_combine(enum istripe_key_type type, u32 a, u32 b)
{
	switch (type) {
	case ISTRIPE_KEY_TYPE_OR:
	case ISTRIPE_KEY_TYPE_MAX:
		return max(a, b);
	default:
		return min(a, b);
	}
}

static int agree(struct istripe_negotiation *n, u32 key, u32 value)
{
	n->result.value[key] = value;
	n->answered |= BIT(key);
	return 0;
}

static int answer_reserved(struct istripe_negotiation *n, u32 key,
			   const struct istripe_text_pair *p)
{
	if (istripe_text_value_is(p, ISTRIPE_TEXT_REJECT))
		return 0;
	if (istripe_text_value_is(p, ISTRIPE_TEXT_NOT_UNDERSTOOD) &&
	    istripe_key_rule(key)->flags & ISTRIPE_KEY_SPARING)
		return 0;
	/* The only offered key that section 13 lets be irrelevant. */
	if (istripe_text_value_is(p, ISTRIPE_TEXT_IRRELEVANT) &&
	    key == ISTRIPE_KEY_FIRST_BURST_LENGTH) {
		n->first_burst_irrelevant = true;
		return 0;
	}
	return value_broken(n, p, "which this key may not be answered with");
}

static int answer_list(struct istripe_negotiation *n, u32 key, const struct istripe_text_pair *p)
{
	int value = choice_find(istripe_key_rule(key), p->value, p->value_bytes);

	if (value < 0 || !(choices_accepted(n, key) & BIT(value)))
		return value_broken(n, p, "which was not offered");
	return agree(n, key, value);
}

/* The log shows the first one only. */
static void answer_note(struct istripe_negotiation *n, u32 key, const struct istripe_text_pair *p)
{
	const struct istripe_key_rule *rule = istripe_key_rule(key);
	char offer[ISTRIPE_KEY_TEXT_BYTES];

	if (n->note[0] || istripe_key_format(key, n->offer.value[key], offer, sizeof(offer)) < 0)
		return;
	scnprintf(n->note, sizeof(n->note),
		  "target answers %s=%.20s to an offer of %s, against RFC 7143: %s",
		  rule->name, p->value, offer, rule->tolerance);
}

/* An answer is the result: the result function must give it for some value of the target's. */
static int answer_take(struct istripe_negotiation *n, u32 key, const struct istripe_text_pair *p)
{
	const struct istripe_key_rule *rule = istripe_key_rule(key);
	u32 offer = n->offer.value[key];
	u32 value;
	int err;

	if (value_is_reserved(p))
		return answer_reserved(n, key, p);
	if (rule->type == ISTRIPE_KEY_TYPE_LIST)
		return answer_list(n, key, p);
	err = value_parse(n, key, p, &value);
	if (err)
		return err;
	if (value_combine(rule->type, offer, value) == value)
		return agree(n, key, value);
	if (!rule->tolerance)
		return value_broken(n, p, "which the offer does not allow");
	answer_note(n, key, p);
	n->first_burst_above |= key == ISTRIPE_KEY_FIRST_BURST_LENGTH;
	/* The target acts by it: as many as there is room for. */
	if (key == ISTRIPE_KEY_MAX_OUTSTANDING_R2T)
		return agree(n, key, max(offer, min_t(u32, value, ISTRIPE_KEY_R2T_MAX)));
	return agree(n, key, value_combine(rule->type, offer, value));
}

static int declaration_take(struct istripe_negotiation *n, u32 key,
			    const struct istripe_text_pair *p)
{
	u32 value;
	int err = value_parse(n, key, p, &value);

	return err ?: agree(n, key, min(value, n->offer.value[key]));
}

/* The acceptor takes the first of the offered values that it supports: section 6.2.1. */
static int list_choose(struct istripe_negotiation *n, u32 key, const struct istripe_text_pair *p,
		       struct istripe_text_writer *reply)
{
	const struct istripe_key_rule *rule = istripe_key_rule(key);
	const char *cursor = p->value;
	const char *member;
	u32 bytes;

	while ((member = istripe_text_list_next(&cursor, &bytes))) {
		int value = choice_find(rule, member, bytes);

		if (value < 0 || !(choices_accepted(n, key) & BIT(value)))
			continue;
		agree(n, key, value);
		return put_value(reply, key, value);
	}
	return istripe_text_put(reply, p->key, ISTRIPE_TEXT_REJECT);
}

/* Section 6.2.2: an offer that decides alone needs no answer. */
static bool offer_decides(const struct istripe_key_rule *rule, u32 offer)
{
	return (rule->type == ISTRIPE_KEY_TYPE_AND && !offer) ||
	       (rule->type == ISTRIPE_KEY_TYPE_OR && offer);
}

static int offer_take(struct istripe_negotiation *n, u32 key, const struct istripe_text_pair *p,
		      struct istripe_text_writer *reply)
{
	const struct istripe_key_rule *rule = istripe_key_rule(key);
	u32 value;
	int err;

	if (value_is_reserved(p))
		return value_broken(n, p, "but the key was not offered");
	if (rule->type == ISTRIPE_KEY_TYPE_LIST)
		return list_choose(n, key, p, reply);
	err = value_parse(n, key, p, &value);
	if (err)
		return err;
	/* It may stand in the target's last message, after which nothing can be answered. */
	if (offer_decides(rule, value))
		return agree(n, key, value);
	value = value_combine(rule->type, value, n->offer.value[key]);
	agree(n, key, value);
	return put_value(reply, key, value);
}

/* A declaration of the target is its own, never ours. */
static int wire_find(const char *name)
{
	u32 key;

	for (key = 0; key < ISTRIPE_KEY_COUNT; key++) {
		const struct istripe_key_rule *rule = istripe_key_rule(key);

		if (rule->type != ISTRIPE_KEY_TYPE_DECLARED && !strcmp(wire_name(rule), name))
			return key;
	}
	return -ENOENT;
}

static bool name_is_of_login(const char *name)
{
	static const char * const names[] = {
		"AuthMethod", "InitiatorAlias", "InitiatorName", "SendTargets", "SessionType",
		"TargetAddress", "TargetAlias", "TargetName", "TargetPortalGroupTag",
	};

	return match_string(names, ARRAY_SIZE(names), name) >= 0 || str_has_prefix(name, "CHAP_");
}

/* The intervals of markers, which are never used: section 13.25. */
static bool name_is_obsolete(const char *name)
{
	return !strcmp(name, "IFMarkInt") || !strcmp(name, "OFMarkInt");
}

static int stranger_take(struct istripe_negotiation *n, const struct istripe_text_pair *p,
			 struct istripe_text_writer *reply)
{
	if (name_is_of_login(p->key))
		return -ENOENT;
	if (value_is_reserved(p))
		return value_broken(n, p, "but the key was not offered");
	return istripe_text_put(reply, p->key, name_is_obsolete(p->key) ?
				ISTRIPE_TEXT_REJECT : ISTRIPE_TEXT_NOT_UNDERSTOOD);
}

int istripe_negotiation_receive(struct istripe_negotiation *n, const struct istripe_text_pair *p,
				struct istripe_text_writer *reply)
{
	int key = wire_find(p->key);
	const struct istripe_key_rule *rule;

	if (key < 0)
		return stranger_take(n, p, reply);
	rule = istripe_key_rule(key);
	if (n->received & BIT(key))
		return negotiation_broken(n, "target sent %s twice", p->key);
	if (rule->flags & ISTRIPE_KEY_LEADING && !n->leading)
		return negotiation_broken(n, "target sent %s, not on the leading connection",
					  p->key);
	n->received |= BIT(key);
	if (rule->type == ISTRIPE_KEY_TYPE_PEER)
		return declaration_take(n, key, p);
	if (n->offered & BIT(key))
		return answer_take(n, key, p);
	return offer_take(n, key, p, reply);
}

/* Safe whether the target goes by the offer or by the default. */
static int result_assume(struct istripe_negotiation *n, u32 key)
{
	const struct istripe_key_rule *rule = istripe_key_rule(key);
	u32 *result = &n->result.value[key];

	switch (rule->type) {
	case ISTRIPE_KEY_TYPE_AND:
		*result = 0;
		break;
	case ISTRIPE_KEY_TYPE_OR:
		*result = 1;
		break;
	case ISTRIPE_KEY_TYPE_LIST:
		*result = rule->rfc_default;
		if (!(rule->flags & ISTRIPE_KEY_SPARING) &&
		    !(choices_accepted(n, key) & BIT(*result)))
			return negotiation_broken(n, "target does not accept %s=%s", rule->name,
						  rule->choices[n->offer.value[key]].text);
		break;
	default:
		*result = value_combine(rule->type, n->offer.value[key], rule->rfc_default);
		/* It bounds what the target may do, not us. */
		if (key == ISTRIPE_KEY_MAX_OUTSTANDING_R2T)
			*result = max(n->offer.value[key], rule->rfc_default);
	}
	return 0;
}

static int result_complete(struct istripe_negotiation *n, u32 key)
{
	const struct istripe_key_rule *rule = istripe_key_rule(key);
	u32 offer = n->offer.value[key];

	if (n->answered & BIT(key))
		return 0;
	if (rule->type == ISTRIPE_KEY_TYPE_PEER) {
		n->result.value[key] = min(rule->rfc_default, offer);
		return 0;
	}
	if (!(n->offered & BIT(key)))
		return 0;
	if (rule->type != ISTRIPE_KEY_TYPE_DECLARED && !offer_decides(rule, offer))
		return result_assume(n, key);
	n->result.value[key] = offer;
	return 0;
}

static bool unsolicited_allowed(const struct istripe_keys *keys)
{
	return !keys->value[ISTRIPE_KEY_INITIAL_R2T] || keys->value[ISTRIPE_KEY_IMMEDIATE_DATA];
}

/* Does the target perhaps go by another length than the least of those in question? */
static bool first_burst_unclear(const struct istripe_negotiation *n)
{
	u32 key = ISTRIPE_KEY_FIRST_BURST_LENGTH;
	bool unanswered = n->offered & ~n->answered & BIT(key);

	return (unanswered && n->offer.value[key] != istripe_key_rule(key)->rfc_default) ||
	       n->first_burst_above ||
	       n->result.value[key] > n->result.value[ISTRIPE_KEY_MAX_BURST_LENGTH];
}

/* Where unsolicited Data-Out end is not clear then. Immediate data end with their command. */
static void first_burst_agree(struct istripe_negotiation *n)
{
	u32 *burst = &n->result.value[ISTRIPE_KEY_FIRST_BURST_LENGTH];
	u32 *r2t = &n->result.value[ISTRIPE_KEY_INITIAL_R2T];

	if (n->leading && !*r2t && first_burst_unclear(n)) {
		*r2t = 1;
		if (!n->note[0])
			scnprintf(n->note, sizeof(n->note), "%s",
				  "FirstBurstLength is not agreed, or is above MaxBurstLength: data wait for an R2T");
	}
	*burst = min(*burst, n->result.value[ISTRIPE_KEY_MAX_BURST_LENGTH]);
}

int istripe_negotiation_finish(struct istripe_negotiation *n)
{
	u32 key;
	int err;

	for (key = 0; key < ISTRIPE_KEY_COUNT; key++) {
		err = result_complete(n, key);
		if (err)
			return err;
	}
	if (n->first_burst_irrelevant && unsolicited_allowed(&n->result))
		return negotiation_broken(n, "target sent FirstBurstLength=Irrelevant, %s",
					  "but takes unsolicited data");
	first_burst_agree(n);
	return 0;
}
