// SPDX-License-Identifier: GPL-2.0
/*
 * A login with a target that says anything. Input: a byte of flags, then
 * responses: a byte that says how the header is made, the header's bytes or what
 * is changed in a good one, two bytes of length, text. Whatever comes, requests
 * are well formed, every error has a reason, and a login that succeeds has the
 * authentication that was wanted.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <asm/byteorder.h>
#include <linux/kernel.h>

#include "iscsi/login.h"
#include "fuzz.h"
#include "test_chap.h"

#define REQUIRE(condition)	do { if (!(condition)) __builtin_trap(); } while (0)

#define FLAG_CHAP	0x01
#define FLAG_MUTUAL	0x02
#define FLAG_JOIN	0x10
#define FLAG_GROUP	0x20
#define FLAG_IPV6	0x40

#define HEADER_RAW	0x01	/* 48 bytes of the input are the header */
#define HEADER_AGREE	0x02	/* the stage that was asked for */
#define HEADER_CONTINUE	0x04
#define HEADER_DAMAGE	0x08	/* two bytes: which one to change, and into what */
#define HEADER_PROVE	0x10	/* the target knows its secret */
#define HEADER_TSIH	0x20

#define TARGET_SECRET	"the secret of the target"
#define TEXT_MAX	8300

struct fuzz_input {
	const u8 *data;
	size_t size;
};

static struct fuzz_login {
	struct istripe_login login;
	struct istripe_login_params params;
	struct istripe_keys offer;
	struct istripe_keys session;
	struct istripe_chap_config chap;
	struct test_chap ctx;
	struct iscsi_login_req request;
	char *buffer;
	u32 stat_sn;
	u8 flags;
	bool proved;
} fuzz;

static u8 input_byte(struct fuzz_input *in)
{
	if (!in->size)
		return 0;
	in->size--;
	return *in->data++;
}

static u32 input_bytes(struct fuzz_input *in, void *to, u32 bytes)
{
	if (bytes > in->size)
		bytes = in->size;
	memcpy(to, in->data, bytes);
	in->data += bytes;
	in->size -= bytes;
	return bytes;
}

static void fuzz_chap(struct fuzz_login *f)
{
	f->chap.name = "host";
	f->chap.secret = (const u8 *)"a secret";
	f->chap.secret_bytes = 8;
	f->chap.algorithms = ISTRIPE_CHAP_MASK_ALL;
	if (f->flags & FLAG_MUTUAL) {
		f->chap.target_secret = (const u8 *)TARGET_SECRET;
		f->chap.target_secret_bytes = sizeof(TARGET_SECRET) - 1;
	}
	f->ctx.supported = ISTRIPE_CHAP_MASK_ALL;
	f->params.chap = &f->chap;
	f->params.chap_ops = &test_chap_ops;
	f->params.chap_ctx = &f->ctx;
}

static void fuzz_begin(struct fuzz_login *f, u8 flags)
{
	memset(f, 0, sizeof(*f));
	f->flags = flags;
	istripe_keys_default_offer(&f->offer);
	istripe_keys_rfc_default(&f->session);
	f->params.initiator_name = "iqn.2026-01.example:host";
	f->params.target_name = "iqn.2026-01.example:disk";
	f->params.tsih = flags & FLAG_JOIN ? 7 : 0;
	f->params.tpgt.known = flags & FLAG_GROUP;
	f->params.tpgt.tag = 1;
	f->params.prefer_ipv6 = flags & FLAG_IPV6;
	f->params.offer = &f->offer;
	f->params.session = &f->session;
	if (flags & FLAG_CHAP)
		fuzz_chap(f);
	f->buffer = malloc(ISTRIPE_LOGIN_BUFFER_BYTES);
	REQUIRE(!istripe_login_init(&f->login, &f->params, f->buffer));
}

static void reason_check(const struct istripe_login *login)
{
	const char *c;

	REQUIRE(login->reason[0] && strlen(login->reason) < sizeof(login->reason));
	for (c = login->reason; *c; c++)
		REQUIRE(*c >= ' ' && *c < 0x7f);
}

static void request_check(const struct fuzz_login *f, const char *text, u32 bytes)
{
	bool transit = f->request.flags & ISCSI_FLAG_LOGIN_TRANSIT;
	bool more = f->request.flags & ISCSI_FLAG_LOGIN_CONTINUE;

	REQUIRE(!(transit && more));
	REQUIRE(bytes <= ISTRIPE_LOGIN_SEGMENT_BYTES);
	REQUIRE(text >= f->buffer && text + bytes <= f->buffer + ISTRIPE_LOGIN_BUFFER_BYTES);
	REQUIRE(more || !bytes || !text[bytes - 1]);
	REQUIRE(ntoh24(f->request.dlength) == bytes);
	REQUIRE(be16_to_cpu(f->request.tsih) == f->params.tsih);
}

static void header_good(const struct fuzz_login *f, struct iscsi_login_rsp *rsp, u8 how)
{
	rsp->opcode = ISCSI_OP_LOGIN_RSP;
	rsp->flags = how & HEADER_AGREE ? f->request.flags & ~ISCSI_FLAG_LOGIN_CONTINUE :
					  f->request.flags & ISCSI_FLAG_LOGIN_CURRENT_STAGE_MASK;
	if (how & HEADER_CONTINUE)
		rsp->flags |= ISCSI_FLAG_LOGIN_CONTINUE;
	memcpy(rsp->isid, f->request.isid, sizeof(rsp->isid));
	rsp->tsih = cpu_to_be16(how & HEADER_TSIH ? 7 : f->params.tsih);
	rsp->itt = f->request.itt;
	rsp->statsn = cpu_to_be32(f->stat_sn);
	rsp->exp_cmdsn = f->request.cmdsn;
	rsp->max_cmdsn = f->request.cmdsn;
}

static void header_make(struct fuzz_login *f, struct fuzz_input *in, struct iscsi_hdr *bhs, u8 how)
{
	struct iscsi_login_rsp rsp = { 0 };

	if (how & HEADER_RAW) {
		input_bytes(in, &rsp, sizeof(rsp));
	} else {
		header_good(f, &rsp, how);
		if (how & HEADER_DAMAGE) {
			u8 where = input_byte(in) % sizeof(rsp);

			((u8 *)&rsp)[where] = input_byte(in);
		}
	}
	memcpy(bhs, &rsp, sizeof(*bhs));
}

static u32 text_prove(struct fuzz_login *f, char *text, u32 used, u32 size)
{
	const struct istripe_chap *chap = &f->login.chap;
	u32 bytes = istripe_chap_digest_bytes(chap->algorithm);
	u8 proof[ISTRIPE_CHAP_DIGEST_MAX];
	struct istripe_text_writer w;

	if (chap->state != ISTRIPE_CHAP_RESPONDED)
		return used;
	istripe_text_writer_init(&w, text + used, size - used);
	test_chap_digest(chap->algorithm, chap->our_id, (const u8 *)TARGET_SECRET,
			 sizeof(TARGET_SECRET) - 1, chap->our_challenge, bytes, proof);
	if (!istripe_text_put(&w, "CHAP_N", "target") &&
	    !istripe_text_put_binary(&w, "CHAP_R", proof, bytes))
		f->proved = true;
	return used + w.used;
}

static int fuzz_response(struct fuzz_login *f, struct fuzz_input *in)
{
	static char text[TEXT_MAX];
	struct iscsi_hdr bhs;
	u8 how = input_byte(in);
	u32 bytes;
	char *exact;
	int verdict;

	header_make(f, in, &bhs, how);
	bytes = input_byte(in) << 8;
	bytes |= input_byte(in);
	bytes = input_bytes(in, text, bytes % (TEXT_MAX + 1));
	if (how & HEADER_PROVE)
		bytes = text_prove(f, text, bytes, sizeof(text));
	if (!(how & HEADER_RAW))
		hton24(bhs.dlength, bytes);
	exact = malloc(bytes);
	memcpy(exact, text, bytes);
	f->stat_sn++;
	verdict = istripe_login_response(&f->login, &bhs, exact, bytes);
	free(exact);
	return verdict;
}

static void done_check(const struct fuzz_login *f)
{
	const struct istripe_login *login = &f->login;
	const u32 *value = login->negotiation.result.value;
	bool chap = f->flags & FLAG_CHAP;
	bool mutual = chap && f->flags & FLAG_MUTUAL;

	REQUIRE(login->stage == ISTRIPE_LOGIN_FULL_FEATURE);
	REQUIRE(login->tsih || value[ISTRIPE_KEY_MAX_CONNECTIONS] == 1);
	REQUIRE(!(f->flags & FLAG_GROUP) || (login->tpgt.known && login->tpgt.tag == 1));
	REQUIRE(!login->auth_chap || login->chap.state == ISTRIPE_CHAP_DONE);
	REQUIRE(login->auth_chap || !mutual);
	REQUIRE(!mutual || f->proved);
	REQUIRE(value[ISTRIPE_KEY_FIRST_BURST_LENGTH] <= value[ISTRIPE_KEY_MAX_BURST_LENGTH]);
	REQUIRE(value[ISTRIPE_KEY_MAX_XMIT_DATA_SEGMENT_LENGTH] >= 512);
}

/* The host is an IPv4 or IPv6 address, or a name that is safe to show and to resolve. */
static void redirect_check(const struct istripe_redirect *redirect)
{
	const char *host = redirect->host, *c;
	u32 colons = 0, dots = 0, others = 0;

	REQUIRE(host[0] && strlen(host) < sizeof(redirect->host) && redirect->port);
	for (c = host; *c; c++) {
		colons += *c == ':';
		dots += *c == '.';
		others += !strchr("0123456789.", *c);
		REQUIRE(strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_:",
			       *c));
	}
	if (colons)
		REQUIRE(colons >= 2 && colons <= 8 &&
			!host[strspn(host, "0123456789abcdefABCDEF.:")]);
	else if (!others)
		REQUIRE(dots == 3 && strlen(host) >= 7 && strlen(host) <= 15);
}

static void verdict_check(struct fuzz_login *f, int verdict)
{
	const char *text;
	u32 bytes;

	switch (verdict) {
	case ISTRIPE_LOGIN_SEND_NEXT:
		REQUIRE(f->login.stage < ISTRIPE_LOGIN_FULL_FEATURE);
		return;
	case ISTRIPE_LOGIN_DONE:
		done_check(f);
		break;
	case ISTRIPE_LOGIN_REDIRECT:
		redirect_check(&f->login.redirect);
		reason_check(&f->login);
		break;
	default:
		REQUIRE(verdict == -EACCES || verdict == -ECONNREFUSED || verdict == -EPROTO ||
			verdict == -EMSGSIZE || (verdict == -EXDEV && f->params.tpgt.known));
		reason_check(&f->login);
	}
	REQUIRE(istripe_login_request(&f->login, &f->request, &text, &bytes) == -EINVAL);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct fuzz_input in = { data, size };
	const char *text;
	u32 bytes, requests = 0;
	int verdict = 0;

	fuzz_begin(&fuzz, input_byte(&in));
	while (!verdict && in.size) {
		verdict = istripe_login_request(&fuzz.login, &fuzz.request, &text, &bytes);
		if (verdict) {
			REQUIRE(verdict == -EPROTO && requests == ISTRIPE_LOGIN_REQUESTS_MAX);
			break;
		}
		requests++;
		request_check(&fuzz, text, bytes);
		verdict = fuzz_response(&fuzz, &in);
		verdict_check(&fuzz, verdict);
	}
	free(fuzz.buffer);
	return 0;
}
