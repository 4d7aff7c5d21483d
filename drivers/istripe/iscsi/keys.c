// SPDX-License-Identifier: GPL-2.0
/* The table of the operational keys, RFC 7143 section 13, and the names and texts of values. */
#include <linux/bits.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include "iscsi/keys.h"
#include "iscsi/text.h"

static const struct istripe_key_choice digest_choices[] = {
	[ISTRIPE_DIGEST_NONE] = { "None", BIT(ISTRIPE_DIGEST_NONE) },
	[ISTRIPE_DIGEST_CRC32C] = { "CRC32C", BIT(ISTRIPE_DIGEST_CRC32C) },
	[ISTRIPE_DIGEST_CRC32C_NONE] = {
		"CRC32C,None", BIT(ISTRIPE_DIGEST_NONE) | BIT(ISTRIPE_DIGEST_CRC32C)
	},
	[ISTRIPE_DIGEST_NONE_CRC32C] = {
		"None,CRC32C", BIT(ISTRIPE_DIGEST_NONE) | BIT(ISTRIPE_DIGEST_CRC32C)
	},
};

/* ResponseFence and FastAbort are never offered. */
static const struct istripe_key_choice task_reporting_choices[] = { { "RFC3720", BIT(0) } };

#define DIGEST_ROW(_name) {						\
	.name = _name,							\
	.range = "None; CRC32C; CRC32C,None; None,CRC32C",		\
	.type = ISTRIPE_KEY_TYPE_LIST,					\
	.max = ISTRIPE_DIGEST_CRC32C,					\
	.choices = digest_choices,					\
	.choice_count = ARRAY_SIZE(digest_choices),			\
}

#define BOOLEAN_ROW(_name, _type, _rfc, _offer, ...) {			\
	.name = _name, .range = "Yes or No",				\
	.type = _type, .flags = ISTRIPE_KEY_LEADING, .max = 1,			\
	.rfc_default = _rfc, .offer_default = _offer, __VA_ARGS__	\
}

#define FIXED_ROW(_name, _type, _flags, _range, _max, _value) {	\
	.name = _name, .range = _range,					\
	.type = _type, .flags = ISTRIPE_KEY_FIXED | (_flags),		\
	.max = _max, .rfc_default = _value,				\
}

#define NUMBER_ROW(_name, _type, _flags, _min, _max, _rfc, _offer, ...) { \
	.name = _name, .range = #_min " to " #_max,			\
	.type = _type, .flags = _flags,					\
	.min = _min, .max = _max,					\
	.rfc_default = _rfc, .offer_default = _offer, __VA_ARGS__	\
}

/*
 * An answer that breaks its offer (RFC 7143 6.2.2), or is above the key's range, is refused,
 * unless the row has a @tolerance: where only the initiator acts by a key, it goes on as if the
 * target had kept to the rules. MaxOutstandingR2T is taken up to the room that a task has for R2Ts;
 * one R2T more than that ends the session. Wrong answers to other keys that the target acts by are
 * refused:
 *	HeaderDigest, DataDigest	PDUs would not be understood
 *	DataPDUInOrder, DataSequenceInOrder	data would come out of order
 *	ErrorRecoveryLevel		it would wait to be asked for what is lost
 *	iSCSIProtocolLevel, TaskReporting	tasks would end by other rules
 */
static const struct istripe_key_rule key_rules[ISTRIPE_KEY_COUNT] = {
	[ISTRIPE_KEY_HEADER_DIGEST] = DIGEST_ROW("HeaderDigest"),
	[ISTRIPE_KEY_DATA_DIGEST] = DIGEST_ROW("DataDigest"),
	[ISTRIPE_KEY_MAX_CONNECTIONS] =
		NUMBER_ROW("MaxConnections", ISTRIPE_KEY_TYPE_MIN, ISTRIPE_KEY_LEADING,
			   1, 65535, 1, 1, .tolerance = "no more connections are made"),
	[ISTRIPE_KEY_INITIAL_R2T] =
		BOOLEAN_ROW("InitialR2T", ISTRIPE_KEY_TYPE_OR, 1, 0,
			    .tolerance = "data wait for an R2T all the same"),
	[ISTRIPE_KEY_IMMEDIATE_DATA] =
		BOOLEAN_ROW("ImmediateData", ISTRIPE_KEY_TYPE_AND, 1, 1,
			    .tolerance = "no data are sent at once"),
	[ISTRIPE_KEY_MAX_RECV_DATA_SEGMENT_LENGTH] =
		NUMBER_ROW("MaxRecvDataSegmentLength", ISTRIPE_KEY_TYPE_DECLARED, 0,
			   512, 16777215, 8192, 262144),
	[ISTRIPE_KEY_MAX_XMIT_DATA_SEGMENT_LENGTH] = {
		.name = "MaxXmitDataSegmentLength", .wire = "MaxRecvDataSegmentLength",
		.range = "512 to 16777215",
		.type = ISTRIPE_KEY_TYPE_PEER,
		.min = 512, .max = 16777215,
		.rfc_default = 8192, .offer_default = 262144,
	},
	[ISTRIPE_KEY_MAX_BURST_LENGTH] =
		NUMBER_ROW("MaxBurstLength", ISTRIPE_KEY_TYPE_MIN, ISTRIPE_KEY_LEADING,
			   512, 16777215, 262144, 1048576,
			   .tolerance = "it may ask for more, and send more, at a time"),
	[ISTRIPE_KEY_FIRST_BURST_LENGTH] =
		NUMBER_ROW("FirstBurstLength", ISTRIPE_KEY_TYPE_MIN, ISTRIPE_KEY_LEADING,
			   512, 16777215, 65536, 262144,
			   .tolerance = "no more is sent unasked"),
	[ISTRIPE_KEY_DEFAULT_TIME2WAIT] =
		NUMBER_ROW("DefaultTime2Wait", ISTRIPE_KEY_TYPE_MAX, ISTRIPE_KEY_LEADING,
			   0, 3600, 2, 2, .tolerance = "a login waits as long as was offered"),
	[ISTRIPE_KEY_DEFAULT_TIME2RETAIN] =
		NUMBER_ROW("DefaultTime2Retain", ISTRIPE_KEY_TYPE_MIN, ISTRIPE_KEY_LEADING,
			   0, 3600, 20, 20, .tolerance = "no task is to be retained"),
	[ISTRIPE_KEY_MAX_OUTSTANDING_R2T] =
		NUMBER_ROW("MaxOutstandingR2T", ISTRIPE_KEY_TYPE_MIN, ISTRIPE_KEY_LEADING,
			   1, 65535, 1, ISTRIPE_KEY_R2T_MAX,
			   .tolerance = "no more than 16 of a task are taken"),
	[ISTRIPE_KEY_DATA_PDU_IN_ORDER] =
		FIXED_ROW("DataPDUInOrder", ISTRIPE_KEY_TYPE_OR, ISTRIPE_KEY_LEADING, "Yes", 1, 1),
	[ISTRIPE_KEY_DATA_SEQUENCE_IN_ORDER] =
		FIXED_ROW("DataSequenceInOrder", ISTRIPE_KEY_TYPE_OR, ISTRIPE_KEY_LEADING,
			  "Yes", 1, 1),
	[ISTRIPE_KEY_ERROR_RECOVERY_LEVEL] =
		FIXED_ROW("ErrorRecoveryLevel", ISTRIPE_KEY_TYPE_MIN, ISTRIPE_KEY_LEADING,
			  "0", 2, 0),
	[ISTRIPE_KEY_IFMARKER] =
		FIXED_ROW("IFMarker", ISTRIPE_KEY_TYPE_AND, ISTRIPE_KEY_OBSOLETE, "No", 1, 0),
	[ISTRIPE_KEY_OFMARKER] =
		FIXED_ROW("OFMarker", ISTRIPE_KEY_TYPE_AND, ISTRIPE_KEY_OBSOLETE, "No", 1, 0),
	[ISTRIPE_KEY_ISCSI_PROTOCOL_LEVEL] =
		FIXED_ROW("iSCSIProtocolLevel", ISTRIPE_KEY_TYPE_MIN,
			  ISTRIPE_KEY_LEADING | ISTRIPE_KEY_SPARING, "1", 31, 1),
	[ISTRIPE_KEY_TASK_REPORTING] = {
		.name = "TaskReporting", .range = "RFC3720",
		.type = ISTRIPE_KEY_TYPE_LIST,
		.flags = ISTRIPE_KEY_LEADING | ISTRIPE_KEY_SPARING | ISTRIPE_KEY_FIXED,
		.choices = task_reporting_choices,
		.choice_count = ARRAY_SIZE(task_reporting_choices),
	},
};

const struct istripe_key_rule *istripe_key_rule(enum istripe_key key)
{
	return (u32)key < ISTRIPE_KEY_COUNT ? &key_rules[key] : NULL;
}

const char *istripe_key_name(enum istripe_key key)
{
	const struct istripe_key_rule *rule = istripe_key_rule(key);

	return rule ? rule->name : "?";
}

int istripe_key_find(const char *name)
{
	u32 key;

	for (key = 0; key < ISTRIPE_KEY_COUNT; key++) {
		if (!strcmp(key_rules[key].name, name))
			return key;
	}
	return -ENOENT;
}

const char *istripe_key_range(enum istripe_key key)
{
	const struct istripe_key_rule *rule = istripe_key_rule(key);

	return rule ? rule->range : "";
}

static bool rule_is_boolean(const struct istripe_key_rule *rule)
{
	return rule->type == ISTRIPE_KEY_TYPE_AND || rule->type == ISTRIPE_KEY_TYPE_OR;
}

/* NULL for a value that is written as a number, or is none. */
static const char *value_word(const struct istripe_key_rule *rule, u32 value)
{
	if (rule->choices)
		return value < rule->choice_count ? rule->choices[value].text : NULL;
	if (rule_is_boolean(rule) && value <= 1)
		return value ? ISTRIPE_TEXT_YES : ISTRIPE_TEXT_NO;
	return NULL;
}

static bool rule_has_words(const struct istripe_key_rule *rule)
{
	return rule->choices || rule_is_boolean(rule);
}

int istripe_key_format(enum istripe_key key, u32 value, char *buf, u32 size)
{
	const struct istripe_key_rule *rule = istripe_key_rule(key);
	const char *word;
	u32 bytes;

	if (!rule)
		return -EINVAL;
	word = value_word(rule, value);
	if (!word && (rule_has_words(rule) || value < rule->min || value > rule->max))
		return -EINVAL;
	if (word)
		bytes = snprintf(buf, size, "%s", word);
	else
		bytes = snprintf(buf, size, "%u", value);
	return bytes < size ? bytes : -EMSGSIZE;
}

/* The values that can be offered, as a number from *low to *high. */
static void offer_bounds(const struct istripe_key_rule *rule, u32 *low, u32 *high)
{
	if (rule->flags & ISTRIPE_KEY_FIXED) {
		*low = rule->rfc_default;
		*high = rule->rfc_default;
		return;
	}
	*low = rule->min;
	*high = rule->choices ? rule->choice_count - 1 : rule->max;
}

static int parse_word(const struct istripe_key_rule *rule, const char *text, u32 *value)
{
	u32 v, high;

	offer_bounds(rule, &v, &high);
	for (; v <= high; v++) {
		if (!strcmp(text, value_word(rule, v))) {
			*value = v;
			return 0;
		}
	}
	return -EINVAL;
}

static int parse_number(const struct istripe_key_rule *rule, const char *text, u32 *value)
{
	struct istripe_text_pair pair = { .value = text, .value_bytes = strlen(text) };
	u32 low, high;

	offer_bounds(rule, &low, &high);
	return istripe_text_parse_number(&pair, low, high, value) ? -EINVAL : 0;
}

int istripe_key_parse(enum istripe_key key, const char *text, u32 *value)
{
	const struct istripe_key_rule *rule = istripe_key_rule(key);

	if (!rule)
		return -EINVAL;
	if (rule_has_words(rule))
		return parse_word(rule, text, value);
	return parse_number(rule, text, value);
}

void istripe_keys_default_offer(struct istripe_keys *keys)
{
	u32 key;

	for (key = 0; key < ISTRIPE_KEY_COUNT; key++) {
		const struct istripe_key_rule *rule = &key_rules[key];

		keys->value[key] = rule->flags & ISTRIPE_KEY_FIXED ? rule->rfc_default :
								     rule->offer_default;
	}
}

void istripe_keys_rfc_default(struct istripe_keys *keys)
{
	u32 key;

	for (key = 0; key < ISTRIPE_KEY_COUNT; key++)
		keys->value[key] = key_rules[key].rfc_default;
}
