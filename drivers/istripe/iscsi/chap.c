// SPDX-License-Identifier: GPL-2.0
/*
 * CHAP of the initiator. The steps are a table of which keys are due; values
 * are decoded as they come and judged when the message is complete, because the
 * target may send the keys of a message in any order.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include "iscsi/chap.h"
#include "iscsi/text.h"

struct chap_hash {
	const char *name;
	u8 algorithm;
	u8 digest_bytes;
};

/* In order of preference. */
static const struct chap_hash chap_hashes[] = {
	{ "SHA3-256", ISTRIPE_CHAP_SHA3_256, 32 },
	{ "SHA256", ISTRIPE_CHAP_SHA256, 32 },
	{ "SHA1", ISTRIPE_CHAP_SHA1, 20 },
	{ "MD5", ISTRIPE_CHAP_MD5, 16 },
};

enum chap_key {
	CHAP_KEY_A,
	CHAP_KEY_I,
	CHAP_KEY_C,
	CHAP_KEY_N,
	CHAP_KEY_R,
	CHAP_KEY_COUNT
};

static const char * const chap_key_names[CHAP_KEY_COUNT] = {
	[CHAP_KEY_A] = "CHAP_A",
	[CHAP_KEY_I] = "CHAP_I",
	[CHAP_KEY_C] = "CHAP_C",
	[CHAP_KEY_N] = "CHAP_N",
	[CHAP_KEY_R] = "CHAP_R",
};

static const struct chap_hash *chap_hash_find(u8 algorithm)
{
	const struct chap_hash *hash;

	for (hash = chap_hashes; hash < chap_hashes + ARRAY_SIZE(chap_hashes); hash++) {
		if (hash->algorithm == algorithm)
			return hash;
	}
	return NULL;
}

const char *istripe_chap_algorithm_name(u8 algorithm)
{
	const struct chap_hash *hash = chap_hash_find(algorithm);

	return hash ? hash->name : NULL;
}

u32 istripe_chap_digest_bytes(u8 algorithm)
{
	const struct chap_hash *hash = chap_hash_find(algorithm);

	return hash ? hash->digest_bytes : 0;
}

/* Takes the same time wherever the first difference is; equal lengths only. */
static bool chap_bytes_equal(const u8 *a, const u8 *b, u32 bytes)
{
	unsigned long difference = 0;

	while (bytes--) {
		difference |= *a++ ^ *b++;
		OPTIMIZER_HIDE_VAR(difference);
	}
	return !difference;
}

static bool chap_mutual(const struct istripe_chap_config *config)
{
	return config->target_secret_bytes;
}

static bool chap_name_usable(const char *name)
{
	return name && name[0] && strlen(name) <= ISTRIPE_CHAP_NAME_MAX;
}

static bool chap_secret_usable(const u8 *secret, u32 bytes)
{
	return secret && bytes && bytes <= ISTRIPE_CHAP_SECRET_MAX;
}

const char *istripe_chap_config_problem(const struct istripe_chap_config *config)
{
	if (!chap_name_usable(config->name))
		return "CHAP name is missing or too long";
	if (!chap_secret_usable(config->secret, config->secret_bytes))
		return "CHAP secret is missing or too long";
	if (!config->algorithms || config->algorithms & ~ISTRIPE_CHAP_MASK_ALL)
		return "no CHAP algorithm, or an unknown one";
	if (!chap_mutual(config))
		return NULL;
	if (!chap_secret_usable(config->target_secret, config->target_secret_bytes))
		return "the target's CHAP secret is missing or too long";
	if (config->target_name && strlen(config->target_name) > ISTRIPE_CHAP_NAME_MAX)
		return "the target's CHAP name is too long";
	if (config->secret_bytes == config->target_secret_bytes &&
	    chap_bytes_equal(config->secret, config->target_secret, config->secret_bytes))
		return "initiator and target have the same CHAP secret";
	return NULL;
}

static int chap_fail(struct istripe_chap *chap, int err, const char *problem)
{
	chap->problem = problem;
	return err;
}

static u32 chap_algorithms_supported(const struct istripe_chap *chap)
{
	u32 mask = 0;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(chap_hashes); i++) {
		u8 algorithm = chap_hashes[i].algorithm;

		if (chap->config->algorithms & ISTRIPE_CHAP_MASK(algorithm) &&
		    chap->ops->supported(chap->ctx, algorithm))
			mask |= ISTRIPE_CHAP_MASK(algorithm);
	}
	return mask;
}

int istripe_chap_init(struct istripe_chap *chap, const struct istripe_chap_config *config,
		      const struct istripe_chap_ops *ops, void *ctx)
{
	memset(chap, 0, sizeof(*chap));
	chap->config = config;
	chap->ops = ops;
	chap->ctx = ctx;
	chap->problem = istripe_chap_config_problem(config);
	if (chap->problem)
		return -EINVAL;
	chap->offered = chap_algorithms_supported(chap);
	if (!chap->offered)
		return chap_fail(chap, -EOPNOTSUPP, "no configured CHAP algorithm is available");
	return 0;
}

/* The keys that a target must send in this state, all of them in one message. */
static u32 chap_keys_due(const struct istripe_chap *chap)
{
	if (chap->state == ISTRIPE_CHAP_OFFERED)
		return BIT(CHAP_KEY_A) | BIT(CHAP_KEY_I) | BIT(CHAP_KEY_C);
	if (chap->state == ISTRIPE_CHAP_RESPONDED && chap_mutual(chap->config))
		return BIT(CHAP_KEY_N) | BIT(CHAP_KEY_R);
	return 0;
}

static int chap_take_algorithm(struct istripe_chap *chap, const struct istripe_text_pair *pair)
{
	u32 algorithm;

	if (istripe_text_parse_number(pair, 0, U8_MAX, &algorithm))
		return chap_fail(chap, -EPROTO, "CHAP_A is not an algorithm number");
	if (algorithm > ISTRIPE_CHAP_SHA3_256 || !(chap->offered & ISTRIPE_CHAP_MASK(algorithm)))
		return chap_fail(chap, -EPROTO, "target chose a CHAP algorithm not offered");
	chap->algorithm = algorithm;
	return 0;
}

static int chap_take_identifier(struct istripe_chap *chap, const struct istripe_text_pair *pair)
{
	u32 id;

	if (istripe_text_parse_number(pair, 0, U8_MAX, &id))
		return chap_fail(chap, -EPROTO, "CHAP_I is not a number from 0 to 255");
	chap->id = id;
	return 0;
}

static int chap_take_challenge(struct istripe_chap *chap, const struct istripe_text_pair *pair)
{
	if (istripe_text_parse_binary(pair, chap->challenge, sizeof(chap->challenge),
				      &chap->challenge_bytes) ||
	    !chap->challenge_bytes)
		return chap_fail(chap, -EPROTO, "CHAP_C is not a challenge of 1 to 1024 bytes");
	return 0;
}

static int chap_take_name(struct istripe_chap *chap, const struct istripe_text_pair *pair)
{
	const char *expected = chap->config->target_name;

	if (expected && expected[0] && strcmp(expected, pair->value))
		return chap_fail(chap, -EACCES, "target gave another CHAP name than configured");
	return 0;
}

static int chap_take_response(struct istripe_chap *chap, const struct istripe_text_pair *pair)
{
	if (istripe_text_parse_binary(pair, chap->response, sizeof(chap->response),
				      &chap->response_bytes) ||
	    chap->response_bytes != istripe_chap_digest_bytes(chap->algorithm))
		return chap_fail(chap, -EPROTO, "CHAP_R is malformed or of a wrong length");
	return 0;
}

static int (* const chap_takers[CHAP_KEY_COUNT])(struct istripe_chap *chap,
						 const struct istripe_text_pair *pair) = {
	[CHAP_KEY_A] = chap_take_algorithm,
	[CHAP_KEY_I] = chap_take_identifier,
	[CHAP_KEY_C] = chap_take_challenge,
	[CHAP_KEY_N] = chap_take_name,
	[CHAP_KEY_R] = chap_take_response,
};

int istripe_chap_receive(struct istripe_chap *chap, const struct istripe_text_pair *pair)
{
	int key = match_string(chap_key_names, CHAP_KEY_COUNT, pair->key);

	if (key < 0)
		return -ENOENT;
	if (!strcmp(pair->value, ISTRIPE_TEXT_REJECT))
		return chap_fail(chap, -EACCES, "target rejected a CHAP key");
	if (!(chap_keys_due(chap) & BIT(key)))
		return chap_fail(chap, -EPROTO, "target sent a CHAP key that is not due");
	if (chap->received & BIT(key))
		return chap_fail(chap, -EPROTO, "target sent a CHAP key twice");
	chap->received |= BIT(key);
	return chap_takers[key](chap, pair);
}

static int chap_write_offer(struct istripe_chap *chap, struct istripe_text_writer *writer)
{
	char list[sizeof("8,7,6,5")];
	u32 used = 0;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(chap_hashes); i++) {
		u8 algorithm = chap_hashes[i].algorithm;

		if (chap->offered & ISTRIPE_CHAP_MASK(algorithm))
			used += scnprintf(list + used, sizeof(list) - used, "%s%u",
					  used ? "," : "", algorithm);
	}
	return istripe_text_put(writer, chap_key_names[CHAP_KEY_A], list);
}

/*
 * A challenge equal to the target's would let the target answer with what the
 * initiator has just told it.
 */
static int chap_write_challenge(struct istripe_chap *chap, struct istripe_text_writer *writer)
{
	u32 bytes = istripe_chap_digest_bytes(chap->algorithm);
	int err;

	chap->ops->random(chap->ctx, chap->our_challenge, bytes);
	chap->ops->random(chap->ctx, &chap->our_id, sizeof(chap->our_id));
	if (bytes == chap->challenge_bytes && !memcmp(chap->our_challenge, chap->challenge, bytes))
		return chap_fail(chap, -EPROTO, "target's CHAP challenge equals the initiator's");
	err = istripe_text_put_number(writer, chap_key_names[CHAP_KEY_I], chap->our_id);
	if (err)
		return err;
	return istripe_text_put_binary(writer, chap_key_names[CHAP_KEY_C], chap->our_challenge,
				       bytes);
}

static int chap_digest(struct istripe_chap *chap, u8 id, const u8 *secret, u32 secret_bytes,
		       const u8 *challenge, u32 challenge_bytes, u8 *out)
{
	int err = chap->ops->digest(chap->ctx, chap->algorithm, id, secret, secret_bytes,
				    challenge, challenge_bytes, out);

	return err ? chap_fail(chap, err, "CHAP digest could not be computed") : 0;
}

static int chap_write_response(struct istripe_chap *chap, struct istripe_text_writer *writer)
{
	const struct istripe_chap_config *config = chap->config;
	u8 response[ISTRIPE_CHAP_DIGEST_MAX];
	int err;

	err = chap_digest(chap, chap->id, config->secret, config->secret_bytes, chap->challenge,
			  chap->challenge_bytes, response);
	if (err)
		return err;
	err = istripe_text_put(writer, chap_key_names[CHAP_KEY_N], config->name);
	if (err)
		return err;
	err = istripe_text_put_binary(writer, chap_key_names[CHAP_KEY_R], response,
				      istripe_chap_digest_bytes(chap->algorithm));
	if (err || !chap_mutual(config))
		return err;
	return chap_write_challenge(chap, writer);
}

static int chap_verify(struct istripe_chap *chap)
{
	const struct istripe_chap_config *config = chap->config;
	u32 bytes = istripe_chap_digest_bytes(chap->algorithm);
	u8 expected[ISTRIPE_CHAP_DIGEST_MAX];
	bool equal;
	int err;

	err = chap_digest(chap, chap->our_id, config->target_secret, config->target_secret_bytes,
			  chap->our_challenge, bytes, expected);
	if (err)
		return err;
	equal = chap_bytes_equal(expected, chap->response, bytes);
	memzero_explicit(expected, sizeof(expected));
	return equal ? 0 : chap_fail(chap, -EACCES, "target does not know its CHAP secret");
}

static int chap_missing(struct istripe_chap *chap)
{
	if (chap->state == ISTRIPE_CHAP_RESPONDED)
		return chap_fail(chap, -EACCES, "target did not prove its identity by CHAP");
	return chap_fail(chap, -EPROTO, "target left out CHAP_A, CHAP_I or CHAP_C");
}

static int chap_written(struct istripe_chap *chap, int err, enum istripe_chap_state next,
			enum istripe_chap_verdict verdict)
{
	if (err) {
		if (!chap->problem)
			chap->problem = "CHAP keys do not fit the login text";
		return err;
	}
	chap->state = next;
	return verdict;
}

int istripe_chap_reply(struct istripe_chap *chap, struct istripe_text_writer *writer)
{
	u32 received = chap->received;
	int err;

	chap->received = 0;
	if (received != chap_keys_due(chap))
		return chap_missing(chap);
	switch (chap->state) {
	case ISTRIPE_CHAP_START:
		err = chap_write_offer(chap, writer);
		return chap_written(chap, err, ISTRIPE_CHAP_OFFERED, ISTRIPE_CHAP_CONTINUE);
	case ISTRIPE_CHAP_OFFERED:
		err = chap_write_response(chap, writer);
		return chap_written(chap, err, ISTRIPE_CHAP_RESPONDED, ISTRIPE_CHAP_LAST);
	case ISTRIPE_CHAP_RESPONDED:
		err = received ? chap_verify(chap) : 0;
		return chap_written(chap, err, ISTRIPE_CHAP_DONE, ISTRIPE_CHAP_COMPLETE);
	case ISTRIPE_CHAP_DONE:
		break;
	}
	return ISTRIPE_CHAP_COMPLETE;
}
