/* SPDX-License-Identifier: GPL-2.0 */
/*
 * CHAP as an iSCSI initiator speaks it: RFC 1994 over the keys of RFC 7143
 * section 12.1.3, one-way and mutual. Hashes and random numbers are the
 * caller's; nothing here allocates, sleeps by itself or logs.
 */
#ifndef ISTRIPE_ISCSI_CHAP_H
#define ISTRIPE_ISCSI_CHAP_H

#include <linux/bits.h>
#include <linux/types.h>

struct istripe_text_pair;
struct istripe_text_writer;

/* Values of CHAP_A: the IANA registry "PPP Authentication Algorithms". */
enum istripe_chap_algorithm {
	ISTRIPE_CHAP_MD5 = 5,
	ISTRIPE_CHAP_SHA1 = 6,
	ISTRIPE_CHAP_SHA256 = 7,
	ISTRIPE_CHAP_SHA3_256 = 8,
};

/* Masks for struct istripe_chap_config. */
#define ISTRIPE_CHAP_MASK(algorithm)	BIT(algorithm)
#define ISTRIPE_CHAP_MASK_ALL						\
	(ISTRIPE_CHAP_MASK(ISTRIPE_CHAP_MD5) |				\
	 ISTRIPE_CHAP_MASK(ISTRIPE_CHAP_SHA1) |				\
	 ISTRIPE_CHAP_MASK(ISTRIPE_CHAP_SHA256) |			\
	 ISTRIPE_CHAP_MASK(ISTRIPE_CHAP_SHA3_256))

/* Limits in bytes, without a final NUL. */
#define ISTRIPE_CHAP_NAME_MAX		255
#define ISTRIPE_CHAP_SECRET_MAX		255
#define ISTRIPE_CHAP_CHALLENGE_MAX	1024
#define ISTRIPE_CHAP_DIGEST_MAX		32

/**
 * struct istripe_chap_ops - what the caller computes for CHAP
 * @supported: whether the hash of @algorithm (enum istripe_chap_algorithm) can
 *             be computed; asked once per login for each configured one.
 * @digest: writes hash(@id | @secret | @challenge) to @out, which has room for
 *          ISTRIPE_CHAP_DIGEST_MAX bytes; exactly istripe_chap_digest_bytes()
 *          of them are used. Returns 0 or a negative errno, which ends the login.
 * @random: fills @buf with @len bytes that nobody can predict.
 *
 * All are called in the context of the login function that needs them and may
 * sleep if that context may.
 */
struct istripe_chap_ops {
	bool (*supported)(void *ctx, u8 algorithm);
	int (*digest)(void *ctx, u8 algorithm, u8 id, const u8 *secret, u32 secret_len,
		      const u8 *challenge, u32 challenge_len, u8 *out);
	void (*random)(void *ctx, u8 *buf, u32 len);
};

/**
 * struct istripe_chap_config - credentials, in the caller's memory
 * @name: CHAP_N that the initiator gives, 1 to ISTRIPE_CHAP_NAME_MAX bytes.
 * @secret: the initiator's secret.
 * @secret_bytes: its length, 1 to ISTRIPE_CHAP_SECRET_MAX.
 * @target_name: CHAP_N that the target must give; NULL or "" accepts any.
 * @target_secret: the target's secret.
 * @target_secret_bytes: its length; not 0 means mutual CHAP: a target that does
 *                       not prove that it knows the secret is refused.
 * @algorithms: ISTRIPE_CHAP_MASK() of each algorithm that may be offered.
 *
 * The strings must stay as they are until the login has ended.
 */
struct istripe_chap_config {
	const char *name;
	const u8 *secret;
	u32 secret_bytes;
	const char *target_name;
	const u8 *target_secret;
	u32 target_secret_bytes;
	u32 algorithms;
};

enum istripe_chap_state {
	ISTRIPE_CHAP_START,		/* nothing sent */
	ISTRIPE_CHAP_OFFERED,		/* CHAP_A sent; CHAP_A, CHAP_I, CHAP_C due */
	ISTRIPE_CHAP_RESPONDED,		/* CHAP_N, CHAP_R sent; mutual: the same due */
	ISTRIPE_CHAP_DONE,		/* nothing more to come from the target */
};

/* What istripe_chap_reply() returns when nothing is wrong. */
enum istripe_chap_verdict {
	ISTRIPE_CHAP_CONTINUE = 0,	/* keys written, the target has to answer */
	ISTRIPE_CHAP_LAST = 1,		/* keys written, the initiator has no more */
	ISTRIPE_CHAP_COMPLETE = 2,	/* nothing written, nothing missing */
};

/**
 * struct istripe_chap - one authentication
 * @config: credentials.
 * @ops: hashes and random numbers.
 * @ctx: first argument of each of @ops.
 * @problem: after an error, why, in words; a constant string.
 * @state: where the exchange is.
 * @received: keys of the current message, bits private to chap.c.
 * @offered: mask of the algorithms offered.
 * @algorithm: the one that the target chose, enum istripe_chap_algorithm.
 * @id: CHAP_I of the target.
 * @our_id: CHAP_I of the initiator, mutual only.
 * @challenge_bytes: length of @challenge.
 * @response_bytes: length of @response.
 * @challenge: CHAP_C of the target.
 * @our_challenge: CHAP_C of the initiator, as long as the digest; mutual only.
 * @response: CHAP_R of the target.
 *
 * Private to chap.c but for @problem, @state and @algorithm.
 */
struct istripe_chap {
	const struct istripe_chap_config *config;
	const struct istripe_chap_ops *ops;
	void *ctx;
	const char *problem;
	enum istripe_chap_state state;
	u32 received;
	u32 offered;
	u8 algorithm;
	u8 id;
	u8 our_id;
	u32 challenge_bytes;
	u32 response_bytes;
	u8 challenge[ISTRIPE_CHAP_CHALLENGE_MAX];
	u8 our_challenge[ISTRIPE_CHAP_DIGEST_MAX];
	u8 response[ISTRIPE_CHAP_DIGEST_MAX];
};

/**
 * istripe_chap_algorithm_name() - name of an algorithm for messages and settings
 * @algorithm: enum istripe_chap_algorithm
 *
 * Context: any.
 * Return: "MD5", "SHA1", "SHA256" or "SHA3-256"; NULL for any other number.
 */
const char *istripe_chap_algorithm_name(u8 algorithm);

/**
 * istripe_chap_digest_bytes() - length of a response
 * @algorithm: enum istripe_chap_algorithm
 *
 * Context: any.
 * Return: 16, 20 or 32; 0 for a number that is no known algorithm.
 */
u32 istripe_chap_digest_bytes(u8 algorithm);

/**
 * istripe_chap_config_check() - whether credentials can be used
 * @config: credentials
 * @problem: why not, in words; untouched when they can
 *
 * Refuses a missing or too long name or secret, an empty or unknown set of
 * algorithms, and one secret for both directions, which RFC 7143 section 9.2.1
 * forbids.
 *
 * Context: any.
 * Return: 0, or -EINVAL.
 */
int istripe_chap_config_check(const struct istripe_chap_config *config, const char **problem);

/**
 * istripe_chap_init() - begin an authentication
 * @chap: overwritten
 * @config: credentials; must outlive @chap
 * @ops: hashes and random numbers; must outlive @chap
 * @ctx: first argument of each of @ops
 *
 * Context: any that @ops allow.
 * Return: 0; -EINVAL when istripe_chap_config_check() refuses; -EOPNOTSUPP when
 * none of the configured hashes is supported. @chap->problem tells.
 */
int istripe_chap_init(struct istripe_chap *chap, const struct istripe_chap_config *config,
		      const struct istripe_chap_ops *ops, void *ctx);

/**
 * istripe_chap_receive() - take one key of the target
 * @chap: authentication
 * @pair: key and value
 *
 * Values are checked and decoded, lengths before anything is written; what they
 * mean is judged by istripe_chap_reply() when the message is complete.
 *
 * Context: any.
 * Return: 0; -ENOENT when the key is not one of CHAP's; -EPROTO when it is not
 * due, comes twice in one message, or its value is malformed, of a wrong length
 * or an algorithm that was not offered; -EACCES when the value is Reject or the
 * target's name another one than configured. @chap->problem tells. RFC 7143
 * section 12.1.3.
 */
int istripe_chap_receive(struct istripe_chap *chap, const struct istripe_text_pair *pair);

/**
 * istripe_chap_reply() - judge a complete message and write the next one
 * @chap: authentication
 * @writer: where the keys go
 *
 * The first call, with nothing received, writes CHAP_A. The second wants the
 * target's CHAP_A, CHAP_I and CHAP_C, and writes CHAP_N and CHAP_R, with CHAP_I
 * and CHAP_C when mutual. The third wants, when mutual, CHAP_N and CHAP_R, and
 * verifies them.
 *
 * Context: any that the ops allow.
 * Return: enum istripe_chap_verdict, or -EACCES when the target failed to prove
 * its identity, -EPROTO when keys are missing or the target reflected a challenge
 * or chose an unusable one, -EMSGSIZE when @writer is full, or what the digest
 * function returned. @chap->problem tells. RFC 7143 sections 9.2.1 and 12.1.3.
 */
int istripe_chap_reply(struct istripe_chap *chap, struct istripe_text_writer *writer);

#endif
