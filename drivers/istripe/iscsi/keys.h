/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The operational keys of RFC 7143 section 13: what is offered, what was answered, what holds. One
 * const table drives offering, checking, showing.
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

/* A portal group of the target: TargetPortalGroupTag (section 13.9). */
struct istripe_tpgt {
	u16 tag;			/* 0 while not @known */
	bool known;			/* the target has told it */
};

/* Values of a digest key; an offer is a list in order of preference. */
enum istripe_digest {
	ISTRIPE_DIGEST_NONE = 0,		/* offer: "None" */
	ISTRIPE_DIGEST_CRC32C = 1,		/* offer: "CRC32C" */
	ISTRIPE_DIGEST_CRC32C_NONE = 2,		/* offer only: "CRC32C,None" */
	ISTRIPE_DIGEST_NONE_CRC32C = 3,		/* offer only: "None,CRC32C" */
};

/* R2Ts of one task that there is room for: the most that MaxOutstandingR2T comes to. */
#define ISTRIPE_KEY_R2T_MAX	16

/* The longest text that istripe_key_format() makes, with its NUL. */
#define ISTRIPE_KEY_TEXT_BYTES	16

/*
 * One value for every operational key. The same structure is an offer (from configuration), a set
 * of answers, or the negotiated result.
 */
struct istripe_keys {
	/* Numbers as numbers, Yes/No as 1/0, digests as enum istripe_digest. */
	u32 value[ISTRIPE_KEY_COUNT];
};

/*
 * How the result comes from the offer and the answer. RFC 7143 section 6.2 and the "result
 * function" of each key in section 13.
 */
enum istripe_key_type {
	ISTRIPE_KEY_TYPE_AND,		/* boolean, Yes when both say Yes */
	ISTRIPE_KEY_TYPE_OR,		/* boolean, Yes when one says Yes */
	ISTRIPE_KEY_TYPE_MIN,		/* number, the smaller one holds */
	ISTRIPE_KEY_TYPE_MAX,		/* number, the larger one holds */
	ISTRIPE_KEY_TYPE_LIST,		/* one of the values that were offered */
	ISTRIPE_KEY_TYPE_DECLARED,	/* number that the initiator declares */
	ISTRIPE_KEY_TYPE_PEER,		/* number that the target declares; the offer bounds it */
};

/* Where and when a key may be used. */
enum istripe_key_flags {
	ISTRIPE_KEY_LEADING	= 1 << 0,	/* "LO", holds for the session */
	/* Not offered with its default value: targets older than RFC 7143 do not know the key. */
	ISTRIPE_KEY_SPARING	= 1 << 1,
	ISTRIPE_KEY_OBSOLETE	= 1 << 2,	/* never offered, RFC 7143 section 13.25 */
	ISTRIPE_KEY_FIXED	= 1 << 3,	/* this initiator can only offer the default */
};

/* A value of a key of type LIST. */
struct istripe_key_choice {
	const char *text;	/* how it is written; as an offer, a list in order of preference */
	u32 accept;		/* mask of the values that fulfil it, bit n for value n */
};

/* The row of a key in the table. */
struct istripe_key_rule {
	const char *name;		/* name to show */
	const char *wire;		/* name in a text, or NULL when it is @name */
	const char *range;		/* values that istripe_key_parse() takes, in words */
	enum istripe_key_type type;	/* see &enum istripe_key_type */
	u32 flags;			/* mask of &enum istripe_key_flags */
	u32 min;			/* smallest value of RFC 7143; booleans are 0 and 1 */
	u32 max;	/* largest value of RFC 7143; of type LIST, the last possible result */
	u32 rfc_default;		/* what holds when nothing is negotiated */
	u32 offer_default;	/* without a row in istripe/settings.h, and in the tests of keys */
	const char *tolerance;		/* why a wrong answer does no harm; NULL: it is refused */
	/* Of type LIST, indexed by value; those above @max are only offers. */
	const struct istripe_key_choice *choices;
	u32 choice_count;		/* number of @choices */
};

/* NULL when @key is no key. */
const struct istripe_key_rule *istripe_key_rule(enum istripe_key key);

/**
 * istripe_key_name() - name of a key, to show
 * @key: key
 * Return: the name as in RFC 7143 section 13, MaxXmitDataSegmentLength for what the target
 * declares, "?" when @key is no key. Never NULL.
 */
const char *istripe_key_name(enum istripe_key key);

/* The key (enum istripe_key), or -ENOENT. */
int istripe_key_find(const char *name);

/**
 * istripe_key_range() - which values may be configured
 * @key: key
 * Return: words for a message, as "512 to 16777215" or "Yes or No"; "" when @key is no key. Never
 * NULL.
 */
const char *istripe_key_range(enum istripe_key key);

/**
 * istripe_key_format() - value of a key as text
 * @key: key
 * @value: value, as in &struct istripe_keys
 * @buf: where to put the text, ended by NUL
 * @size: bytes that @buf has room for; ISTRIPE_KEY_TEXT_BYTES are always enough
 * Return: length of the text without its NUL; -EINVAL when @key is no key or @value none of its
 * values; -EMSGSIZE when there is no room.
 */
int istripe_key_format(enum istripe_key key, u32 value, char *buf, u32 size);

/**
 * istripe_key_parse() - value of a key from configuration
 * @key: key
 * @text: as configured
 * @value: result; left alone on error
 *
 * Takes the range of RFC 7143 section 13; the default only of keys with ISTRIPE_KEY_FIXED.
 *
 * Return: 0, or -EINVAL when @key is no key or @text none of its values.
 */
int istripe_key_parse(enum istripe_key key, const char *text, u32 *value);

/**
 * istripe_keys_default_offer() - values that suit most targets
 * @keys: overwritten
 */
void istripe_keys_default_offer(struct istripe_keys *keys);

/* Values that hold when nothing is negotiated. */
void istripe_keys_rfc_default(struct istripe_keys *keys);

#endif
