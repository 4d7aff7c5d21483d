/* SPDX-License-Identifier: GPL-2.0 */
/*
 * CHAP as an iSCSI initiator speaks it: RFC 1994 over the keys of RFC 7143 section 12.1.3, one-way
 * and mutual. Hashes and random numbers are the caller's; nothing here allocates, sleeps by itself
 * or logs.
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

/* Called in the context of the login functions; may sleep if that may. */
struct istripe_chap_ops {
	/* Asked once per login for each configured algorithm. */
	bool (*supported)(void *ctx, u8 algorithm);
	/*
	 * Writes hash(@id | @secret | @challenge), istripe_chap_digest_bytes() long, to @out, which
	 * has room for ISTRIPE_CHAP_DIGEST_MAX. Returns 0 or an errno, which ends the login.
	 */
	int (*digest)(void *ctx, u8 algorithm, u8 id, const u8 *secret, u32 secret_len,
		      const u8 *challenge, u32 challenge_len, u8 *out);
	/* Fills @buf with @len unpredictable bytes. */
	void (*random)(void *ctx, u8 *buf, u32 len);
};

/* Credentials, in the caller's memory; constant until the login has ended. */
struct istripe_chap_config {
	const char *name;		/* our CHAP_N, 1 to ISTRIPE_CHAP_NAME_MAX bytes */
	const u8 *secret;		/* the initiator's secret */
	u32 secret_bytes;		/* its length, 1 to ISTRIPE_CHAP_SECRET_MAX */
	const char *target_name;	/* CHAP_N of the target; NULL or "" accepts any */
	const u8 *target_secret;	/* the target's secret */
	u32 target_secret_bytes;	/* not 0: the target must prove that it knows its secret */
	u32 algorithms;	/* ISTRIPE_CHAP_MASK() of each algorithm that may be offered */
};

enum istripe_chap_state {
	ISTRIPE_CHAP_START,		/* nothing sent */
	ISTRIPE_CHAP_OFFERED,		/* CHAP_A sent; CHAP_A, CHAP_I, CHAP_C due */
	ISTRIPE_CHAP_RESPONDED,		/* CHAP_N, CHAP_R sent; mutual: the same due */
	ISTRIPE_CHAP_DONE,		/* nothing more to come from the target */
};

/* Verdicts of istripe_chap_reply() other than errors. */
enum istripe_chap_verdict {
	ISTRIPE_CHAP_CONTINUE = 0,	/* keys written, the target has to answer */
	ISTRIPE_CHAP_LAST = 1,		/* keys written, the initiator has no more */
	ISTRIPE_CHAP_COMPLETE = 2,	/* nothing written, nothing missing */
};

/* One authentication. Private to chap.c but for @problem, @state and @algorithm. */
struct istripe_chap {
	const struct istripe_chap_config *config;	/* credentials */
	const struct istripe_chap_ops *ops;	/* hashes and random numbers */
	void *ctx;			/* first argument of each of @ops */
	const char *problem;		/* after an error, why, in words; a constant string */
	enum istripe_chap_state state;	/* where the exchange is */
	u32 received;			/* keys of the current message, bits private to chap.c */
	u32 offered;			/* mask of the algorithms offered */
	u8 algorithm;	/* the one that the target chose, enum istripe_chap_algorithm */
	u8 id;				/* CHAP_I of the target */
	u8 our_id;			/* CHAP_I of the initiator, mutual only */
	u32 challenge_bytes;		/* length of @challenge */
	u32 response_bytes;		/* length of @response */
	u8 challenge[ISTRIPE_CHAP_CHALLENGE_MAX];	/* CHAP_C of the target */
	u8 our_challenge[ISTRIPE_CHAP_DIGEST_MAX];	/* our CHAP_C, mutual only */
	u8 response[ISTRIPE_CHAP_DIGEST_MAX];	/* CHAP_R of the target */
};

/**
 * istripe_chap_algorithm_name() - name of an algorithm for messages and settings
 * @algorithm: enum istripe_chap_algorithm
 * Return: "MD5", "SHA1", "SHA256" or "SHA3-256"; NULL for any other number.
 */
const char *istripe_chap_algorithm_name(u8 algorithm);

/* Length of a response; 0 for an unknown algorithm. */
u32 istripe_chap_digest_bytes(u8 algorithm);

/**
 * istripe_chap_config_problem() - why credentials cannot be used
 * @config: credentials
 *
 * Refuses a missing or too long name or secret, an empty or unknown set of algorithms, and one
 * secret for both directions, which RFC 7143 section 9.2.1 forbids.
 *
 * Return: words, a constant string; NULL when they can be used.
 */
const char *istripe_chap_config_problem(const struct istripe_chap_config *config);

/*
 * Returns 0; -EINVAL when istripe_chap_config_problem() finds one; -EOPNOTSUPP when none of the
 * configured hashes is supported. @config and @ops must outlive @chap.
 */
int istripe_chap_init(struct istripe_chap *chap, const struct istripe_chap_config *config,
		      const struct istripe_chap_ops *ops, void *ctx);

/*
 * Decodes one key of the target; istripe_chap_reply() judges the whole message. Returns 0; -ENOENT
 * when the key is not one of CHAP's; -EPROTO when it is not due, repeated, malformed or an
 * algorithm that was not offered; -EACCES for Reject or another target name than configured.
 */
int istripe_chap_receive(struct istripe_chap *chap, const struct istripe_text_pair *pair);

/*
 * Judges a complete message and writes the next one; the first call has received nothing. Returns
 * enum istripe_chap_verdict; -EACCES the target failed to prove its identity; -EPROTO keys are
 * missing, or the challenge was reflected; -EMSGSIZE @writer is full; or the error of ops->digest.
 */
int istripe_chap_reply(struct istripe_chap *chap, struct istripe_text_writer *writer);

#endif
