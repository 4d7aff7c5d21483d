/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The operational keys of RFC 7143 section 13: what is offered, what was
 * answered, what holds. One const table drives offering, checking, showing.
 */
#ifndef ISTRIPE_ISCSI_KEYS_H
#define ISTRIPE_ISCSI_KEYS_H

#include <linux/types.h>

enum istripe_key {
	ISTRIPE_KEY_HEADER_DIGEST,
	ISTRIPE_KEY_DATA_DIGEST,
	ISTRIPE_KEY_MAX_CONNECTIONS,
	ISTRIPE_KEY_INITIAL_R2T,
	ISTRIPE_KEY_IMMEDIATE_DATA,
	ISTRIPE_KEY_MAX_RECV_DATA_SEGMENT_LENGTH,	/* ours: what the target may send us */
	ISTRIPE_KEY_MAX_XMIT_DATA_SEGMENT_LENGTH,	/* the target's: what we may send */
	ISTRIPE_KEY_MAX_BURST_LENGTH,
	ISTRIPE_KEY_FIRST_BURST_LENGTH,
	ISTRIPE_KEY_DEFAULT_TIME2WAIT,
	ISTRIPE_KEY_DEFAULT_TIME2RETAIN,
	ISTRIPE_KEY_MAX_OUTSTANDING_R2T,
	ISTRIPE_KEY_DATA_PDU_IN_ORDER,
	ISTRIPE_KEY_DATA_SEQUENCE_IN_ORDER,
	ISTRIPE_KEY_ERROR_RECOVERY_LEVEL,
	ISTRIPE_KEY_IFMARKER,
	ISTRIPE_KEY_OFMARKER,
	ISTRIPE_KEY_ISCSI_PROTOCOL_LEVEL,
	ISTRIPE_KEY_TASK_REPORTING,
	ISTRIPE_KEY_COUNT
};

/* Values of a digest key; an offer is a list in order of preference. */
enum istripe_digest {
	ISTRIPE_DIGEST_NONE = 0,		/* offer: "None" */
	ISTRIPE_DIGEST_CRC32C = 1,		/* offer: "CRC32C" */
	ISTRIPE_DIGEST_CRC32C_NONE = 2,		/* offer only: "CRC32C,None" */
	ISTRIPE_DIGEST_NONE_CRC32C = 3,		/* offer only: "None,CRC32C" */
};

/* Values of TaskReporting, RFC 7143 section 13.23. */
enum istripe_task_reporting {
	ISTRIPE_TASK_REPORTING_RFC3720 = 0,
	ISTRIPE_TASK_REPORTING_RESPONSE_FENCE = 1,
	ISTRIPE_TASK_REPORTING_FAST_ABORT = 2,
};

/* The longest text that istripe_key_format() makes, with its NUL. */
#define ISTRIPE_KEY_TEXT_BYTES	16

/**
 * struct istripe_keys - one value for every operational key
 * @value: numbers as numbers, Yes/No as 1/0, digests as enum istripe_digest.
 *
 * The same structure is an offer (from configuration), a set of answers, or the
 * negotiated result.
 */
struct istripe_keys {
	u32 value[ISTRIPE_KEY_COUNT];
};

/**
 * enum istripe_key_type - how the result comes from the offer and the answer
 * @ISTRIPE_KEY_TYPE_AND: boolean, Yes when both say Yes
 * @ISTRIPE_KEY_TYPE_OR: boolean, Yes when one says Yes
 * @ISTRIPE_KEY_TYPE_MIN: number, the smaller one holds
 * @ISTRIPE_KEY_TYPE_MAX: number, the larger one holds
 * @ISTRIPE_KEY_TYPE_LIST: one of the values that were offered
 * @ISTRIPE_KEY_TYPE_DECLARED: number that the initiator declares
 * @ISTRIPE_KEY_TYPE_PEER: number that the target declares; what was "offered"
 *	is an upper bound that the initiator sets itself
 *
 * RFC 7143 section 6.2 and the "result function" of each key in section 13.
 */
enum istripe_key_type {
	ISTRIPE_KEY_TYPE_AND,
	ISTRIPE_KEY_TYPE_OR,
	ISTRIPE_KEY_TYPE_MIN,
	ISTRIPE_KEY_TYPE_MAX,
	ISTRIPE_KEY_TYPE_LIST,
	ISTRIPE_KEY_TYPE_DECLARED,
	ISTRIPE_KEY_TYPE_PEER,
};

/**
 * enum istripe_key_flags - where and when a key may be used
 * @ISTRIPE_KEY_LEADING: leading connection only ("LO"), holds for the session;
 *	other keys belong to the connection
 * @ISTRIPE_KEY_SPARING: offered only when it is not to have its default, because
 *	targets older than RFC 7143 do not know it (they may say NotUnderstood)
 * @ISTRIPE_KEY_OBSOLETE: never offered, RFC 7143 section 13.25
 * @ISTRIPE_KEY_FIXED: this initiator can only offer the default
 */
enum istripe_key_flags {
	ISTRIPE_KEY_LEADING	= 1 << 0,
	ISTRIPE_KEY_SPARING	= 1 << 1,
	ISTRIPE_KEY_OBSOLETE	= 1 << 2,
	ISTRIPE_KEY_FIXED	= 1 << 3,
};

/**
 * struct istripe_key_choice - a value of a key of type LIST
 * @text: how it is written; as an offer, a list in order of preference
 * @accept: mask of the values that fulfil it, bit n for value n
 */
struct istripe_key_choice {
	const char *text;
	u32 accept;
};

/**
 * struct istripe_key_rule - the row of a key in the table
 * @name: name to show
 * @wire: name in a text, or NULL when it is @name
 * @range: values that istripe_key_parse() takes, in words
 * @type: see &enum istripe_key_type
 * @flags: mask of &enum istripe_key_flags
 * @min: smallest value of RFC 7143; booleans are 0 and 1
 * @max: largest value of RFC 7143; of type LIST, the last possible result
 * @rfc_default: what holds when nothing is negotiated
 * @offer_default: what istripe_keys_default_offer() gives
 * @tolerance: why an answer that the offer does not allow does no harm; NULL: it may, and is
 *	refused
 * @choices: of type LIST, indexed by value; those above @max are only offers
 * @choice_count: number of @choices
 */
struct istripe_key_rule {
	const char *name;
	const char *wire;
	const char *range;
	enum istripe_key_type type;
	u32 flags;
	u32 min;
	u32 max;
	u32 rfc_default;
	u32 offer_default;
	const char *tolerance;
	const struct istripe_key_choice *choices;
	u32 choice_count;
};

/**
 * istripe_key_rule() - row of a key in the table
 * @key: key, below ISTRIPE_KEY_COUNT
 *
 * Context: any.
 * Return: the row, or NULL when @key is no key.
 */
const struct istripe_key_rule *istripe_key_rule(enum istripe_key key);

/**
 * istripe_key_name() - name of a key, to show
 * @key: key
 *
 * Context: any.
 * Return: the name as in RFC 7143 section 13, MaxXmitDataSegmentLength for what
 * the target declares, "?" when @key is no key. Never NULL.
 */
const char *istripe_key_name(enum istripe_key key);

/**
 * istripe_key_find() - key of a name
 * @name: name as istripe_key_name() gives it, case-sensitive
 *
 * Context: any.
 * Return: the key (enum istripe_key), or -ENOENT.
 */
int istripe_key_find(const char *name);

/**
 * istripe_key_range() - which values may be configured
 * @key: key
 *
 * Context: any.
 * Return: words for a message, as "512 to 16777215" or "Yes or No"; "" when @key
 * is no key. Never NULL.
 */
const char *istripe_key_range(enum istripe_key key);

/**
 * istripe_key_format() - value of a key as text
 * @key: key
 * @value: value, as in &struct istripe_keys
 * @buf: where to put the text, ended by NUL
 * @size: bytes that @buf has room for; ISTRIPE_KEY_TEXT_BYTES are always enough
 *
 * Context: any.
 * Return: length of the text without its NUL; -EINVAL when @key is no key or
 * @value none of its values; -EMSGSIZE when there is no room.
 */
int istripe_key_format(enum istripe_key key, u32 value, char *buf, u32 size);

/**
 * istripe_key_parse() - value of a key from configuration
 * @key: key
 * @text: what the administrator wrote; white space around it does not matter,
 *	nor do capital letters
 * @value: result; left alone on error
 *
 * Takes what this initiator can offer: the range of RFC 7143 section 13, except
 * for ErrorRecoveryLevel (0), DataPDUInOrder and DataSequenceInOrder (Yes),
 * IFMarker and OFMarker (No), iSCSIProtocolLevel (1) and TaskReporting (RFC3720).
 *
 * Context: any.
 * Return: 0, or -EINVAL when @key is no key or @text none of its values.
 */
int istripe_key_parse(enum istripe_key key, const char *text, u32 *value);

/**
 * istripe_keys_default_offer() - values that suit most targets
 * @keys: overwritten
 *
 * Context: any.
 */
void istripe_keys_default_offer(struct istripe_keys *keys);

/**
 * istripe_keys_rfc_default() - values that hold when nothing is negotiated
 * @keys: overwritten
 *
 * Context: any. RFC 7143 section 13.
 */
void istripe_keys_rfc_default(struct istripe_keys *keys);

#endif
