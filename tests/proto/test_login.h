/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The target's side of a login for tests: it takes requests, prepares a good
 * response that a case may damage, and gives it to the login.
 */
#ifndef _ISTRIPE_TEST_LOGIN_H
#define _ISTRIPE_TEST_LOGIN_H

#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include <asm/byteorder.h>
#include <scsi/iscsi_proto.h>

#include "iscsi/login.h"
#include "iscsi/text.h"
#include "test_chap.h"
#include "test_random.h"

#define LOGIN_SECRET		"initiator-secret"
#define LOGIN_TARGET_SECRET	"secret-of-the-target"
#define LOGIN_CMD_SN		0xfffffffeu
#define LOGIN_TSIH		0x1234

/**
 * struct login_bench - a login and the target that it meets
 *
 * Too large for a kernel stack: each suite has one, its cases do not run in parallel.
 */
struct login_bench {
	struct istripe_login login;
	struct istripe_login_params params;
	struct istripe_keys offer;
	struct istripe_keys session;
	struct istripe_chap_config chap;
	struct test_chap ctx;
	char buffer[ISTRIPE_LOGIN_BUFFER_BYTES];
	char guard[64];			/* stays 0 */

	/* what the initiator sent */
	struct iscsi_login_req request;
	const char *text;
	u32 text_bytes;

	/* what the target is going to send */
	struct iscsi_login_rsp response;
	struct istripe_text_writer writer;
	char answer[65536 + 8192];
	u32 stat_sn;
};

static const u8 login_isid[6] = { 0x80, 0x12, 0x34, 0x56, 0x78, 0x9a };

static inline void login_defaults(struct login_bench *b)
{
	memset(b, 0, sizeof(*b));
	istripe_keys_default_offer(&b->offer);
	istripe_keys_rfc_default(&b->session);
	b->params.initiator_name = "iqn.2026-01.example:host";
	b->params.target_name = "iqn.2026-01.example:disk";
	memcpy(b->params.isid, login_isid, sizeof(login_isid));
	b->params.cid = 3;
	b->params.itt = 0x01020304;
	b->params.cmd_sn = LOGIN_CMD_SN;
	b->params.offer = &b->offer;
	b->params.session = &b->session;
	b->stat_sn = 0xffffffff;
}

static inline void login_defaults_chap(struct login_bench *b, bool mutual)
{
	login_defaults(b);
	b->ctx.supported = ISTRIPE_CHAP_MASK_ALL;
	b->ctx.random.s = 99;
	b->chap.name = "host";
	b->chap.secret = (const u8 *)LOGIN_SECRET;
	b->chap.secret_bytes = sizeof(LOGIN_SECRET) - 1;
	b->chap.algorithms = ISTRIPE_CHAP_MASK(ISTRIPE_CHAP_SHA256) |
			     ISTRIPE_CHAP_MASK(ISTRIPE_CHAP_MD5);
	if (mutual) {
		b->chap.target_secret = (const u8 *)LOGIN_TARGET_SECRET;
		b->chap.target_secret_bytes = sizeof(LOGIN_TARGET_SECRET) - 1;
	}
	b->params.chap = &b->chap;
	b->params.chap_ops = &test_chap_ops;
	b->params.chap_ctx = &b->ctx;
}

static inline int login_begin(struct login_bench *b)
{
	return istripe_login_init(&b->login, &b->params, b->buffer);
}

/* Takes the next request and prepares the response that says "go on". */
static inline int login_ask(struct login_bench *b)
{
	int err = istripe_login_request(&b->login, &b->request, &b->text, &b->text_bytes);
	u8 csg = b->request.flags & ISCSI_FLAG_LOGIN_CURRENT_STAGE_MASK;

	memset(&b->response, 0, sizeof(b->response));
	b->response.opcode = ISCSI_OP_LOGIN_RSP;
	b->response.flags = csg;
	memcpy(b->response.isid, login_isid, sizeof(login_isid));
	b->response.tsih = cpu_to_be16(b->params.tsih);
	b->response.itt = b->request.itt;
	b->response.statsn = cpu_to_be32(b->stat_sn);
	b->response.exp_cmdsn = cpu_to_be32(LOGIN_CMD_SN);
	b->response.max_cmdsn = cpu_to_be32(LOGIN_CMD_SN + 63);
	istripe_text_writer_init(&b->writer, b->answer, sizeof(b->answer));
	return err;
}

static inline void login_say(struct login_bench *b, const char *key, const char *value)
{
	istripe_text_put(&b->writer, key, value);
}

/* The target agrees to the stage that the request asked for. */
static inline void login_agree(struct login_bench *b)
{
	b->response.flags = b->request.flags;
	if (b->request.flags == (ISCSI_FLAG_LOGIN_TRANSIT | ISCSI_FLAG_LOGIN_CURRENT_STAGE1 |
				 ISCSI_FLAG_LOGIN_NEXT_STAGE3))
		b->response.tsih = cpu_to_be16(LOGIN_TSIH);
}

static inline int login_answer_part(struct login_bench *b, u32 from, u32 bytes)
{
	struct iscsi_hdr bhs;

	hton24(b->response.dlength, bytes);
	b->stat_sn++;
	memcpy(&bhs, &b->response, sizeof(bhs));
	return istripe_login_response(&b->login, &bhs, b->answer + from, bytes);
}

static inline int login_answer(struct login_bench *b)
{
	return login_answer_part(b, 0, b->writer.used);
}

/* The value of a key in the last request, NULL when it is not there. */
static inline const char *login_asked(const struct login_bench *b, const char *key)
{
	struct istripe_text_reader reader;
	struct istripe_text_pair pair;

	istripe_text_reader_init(&reader, b->text, b->text_bytes);
	while (istripe_text_next(&reader, &pair) == 1) {
		if (istripe_text_pair_is(&pair, key))
			return pair.value;
	}
	return NULL;
}

/* First request: the target agrees to do without authentication. */
static inline int login_past_security(struct login_bench *b)
{
	if (login_begin(b) || login_ask(b))
		return -EINVAL;
	login_say(b, "AuthMethod", "None");
	login_say(b, "TargetPortalGroupTag", "7");
	login_agree(b);
	return login_answer(b);
}

/* Second request, up to the point where the target's answer can be damaged. */
static inline int login_to_last(struct login_bench *b)
{
	int err = login_past_security(b);

	if (err || login_ask(b))
		return -EINVAL;
	login_say(b, "HeaderDigest", "None");
	login_say(b, "MaxRecvDataSegmentLength", "65536");
	login_say(b, "MaxBurstLength", "262144");
	login_agree(b);
	return 0;
}

#endif /* _ISTRIPE_TEST_LOGIN_H */
