// SPDX-License-Identifier: GPL-2.0
/*
 * The login phase of an initiator. Requests and responses alternate strictly.
 * A response is judged in three steps: its header, each key of its text (of all PDUs
 * up to the one without C bit), then the message as a whole.
 */
#include <asm/byteorder.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/string.h>
#include <compat/unaligned.h>
#include <scsi/iscsi_proto.h>

#include "iscsi/login.h"
#include "iscsi/login_status.h"
#include "iscsi/pdu.h"

#define LOGIN_VERSION	0

/* Ends the login with a reason; returns @err. */
static __printf(3, 4) int login_fail(struct istripe_login *login, int err, const char *fmt, ...)
{
	va_list args;
	char *c;

	va_start(args, fmt);
	vscnprintf(login->reason, sizeof(login->reason), fmt, args);
	va_end(args);
	for (c = login->reason; *c; c++) {
		if ((unsigned char)*c < ' ' || (unsigned char)*c >= 0x7f)
			*c = '?';
	}
	login->refused |= err == -EACCES;
	login->stage = ISTRIPE_LOGIN_ENDED;
	return err;
}

static int login_too_long(struct istripe_login *login)
{
	return login_fail(login, -EMSGSIZE, "login text does not fit its buffer");
}

/* One way, CHAP serves the target, which may do without. */
static bool login_needs_chap(const struct istripe_login *login)
{
	return login->params.chap && login->params.chap->target_secret_bytes;
}

/* The value of AuthMethod, RFC 7143 section 12.1. */
static const char *login_methods(const struct istripe_login *login)
{
	if (login_needs_chap(login))
		return "CHAP";
	return login->params.chap ? "CHAP,None" : "None";
}

/* Once in a login, and in its first stage. */
static int login_take_method(struct istripe_login *login, const struct istripe_text_pair *pair)
{
	if (login->stage != ISTRIPE_LOGIN_SECURITY)
		return login_fail(login, -EPROTO,
				  "target sent AuthMethod after the security stage");
	if (login->method_known)
		return login_fail(login, -EPROTO, "target sent AuthMethod twice");
	login->method_known = true;
	if (istripe_text_value_is(pair, "CHAP") && login->params.chap) {
		login->auth_chap = true;
		return 0;
	}
	if (istripe_text_value_is(pair, ISTRIPE_TEXT_NONE)) {
		if (!login_needs_chap(login))
			return 0;
		return login_fail(login, -EACCES,
				  "target wants no authentication, CHAP is required");
	}
	if (istripe_text_value_is(pair, ISTRIPE_TEXT_REJECT))
		return login_fail(login, -EACCES, "target rejected AuthMethod=%s",
				  login_methods(login));
	return login_fail(login, -EPROTO, "target chose AuthMethod=%.40s, offered was %s",
			  pair->value, login_methods(login));
}

/* Section 13.9 wants it once; a target may repeat itself. */
static int login_take_tpgt(struct istripe_login *login, const struct istripe_text_pair *pair)
{
	const struct istripe_login_params *params = &login->params;
	u32 tpgt;

	if (istripe_text_parse_number(pair, 0, U16_MAX, &tpgt))
		return login_fail(login, -EPROTO, "TargetPortalGroupTag=%.20s is no group",
				  pair->value);
	if (params->tpgt.known && params->tpgt.tag != tpgt)
		return login_fail(login, -EXDEV, "portal is in portal group %u, expected was %u",
				  tpgt, params->tpgt.tag);
	if (login->tpgt.known && login->tpgt.tag != tpgt)
		return login_fail(login, -EPROTO, "portal group changed from %u to %u",
				  login->tpgt.tag, tpgt);
	login->tpgt = (struct istripe_tpgt) { .tag = tpgt, .known = true };
	return 0;
}

static int login_take_alias(struct istripe_login *login, const struct istripe_text_pair *pair)
{
	strscpy(login->target_alias, pair->value, sizeof(login->target_alias));
	return 0;
}

/* An address is allowed in any response (section 13.8), but means something in a redirect only. */
static int login_pass_over(struct istripe_login *login, const struct istripe_text_pair *pair)
{
	return 0;
}

struct login_key {
	const char *name;
	int (*take)(struct istripe_login *login, const struct istripe_text_pair *pair);
};

static const struct login_key login_keys[] = {
	{ "AuthMethod", login_take_method },
	{ "TargetPortalGroupTag", login_take_tpgt },
	{ "TargetAlias", login_take_alias },
	{ "TargetAddress", login_pass_over },
};

static int login_take_chap(struct istripe_login *login, const struct istripe_text_pair *pair)
{
	int err;

	if (login->stage != ISTRIPE_LOGIN_SECURITY || !login->auth_chap)
		return login_fail(login, -EPROTO, "target sent %s without AuthMethod=CHAP",
				  pair->key);
	err = istripe_chap_receive(&login->chap, pair);
	if (err == -ENOENT)
		return login_fail(login, -EPROTO, "target sent %s, which CHAP does not have",
				  pair->key);
	return err ? login_fail(login, err, "%s", login->chap.problem) : 0;
}

/* Answering an offer before the operational stage would negotiate the key twice. */
static bool login_too_early(const struct istripe_login *login, const struct istripe_text_pair *pair)
{
	int key = istripe_key_find(pair->key);

	return login->stage == ISTRIPE_LOGIN_SECURITY && key >= 0 &&
	       key != ISTRIPE_KEY_MAX_RECV_DATA_SEGMENT_LENGTH;
}

static int login_take_operational(struct istripe_login *login,
				  const struct istripe_text_pair *pair)
{
	int err;

	if (login_too_early(login, pair))
		return login_fail(login, -EPROTO, "target sent %s in the security stage",
				  pair->key);
	err = istripe_negotiation_receive(&login->negotiation, pair, &login->writer);
	if (err == -EMSGSIZE)
		return login_too_long(login);
	if (err == -ENOENT)
		return login_fail(login, -EPROTO, "target sent %s, which is not a target's key",
				  pair->key);
	return err ? login_fail(login, err, "%s", login->negotiation.problem) : 0;
}

static int login_take(struct istripe_login *login, const struct istripe_text_pair *pair)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(login_keys); i++) {
		if (istripe_text_pair_is(pair, login_keys[i].name))
			return login_keys[i].take(login, pair);
	}
	if (str_has_prefix(pair->key, "CHAP_"))
		return login_take_chap(login, pair);
	return login_take_operational(login, pair);
}

static int login_take_keys(struct istripe_login *login, const char *text, u32 bytes)
{
	struct istripe_text_reader reader;
	struct istripe_text_pair pair;
	int err;

	istripe_text_reader_init(&reader, text, bytes);
	while ((err = istripe_text_next(&reader, &pair)) > 0) {
		err = login_take(login, &pair);
		if (err)
			return err;
	}
	return err ? login_fail(login, err, "text of a login response is malformed") : 0;
}

/* CSG of requests now, and NSG when they have the T bit. */
static u8 login_csg(const struct istripe_login *login)
{
	return login->stage == ISTRIPE_LOGIN_SECURITY ? ISCSI_SECURITY_NEGOTIATION_STAGE :
							ISCSI_OP_PARMS_NEGOTIATION_STAGE;
}

static u8 login_nsg(const struct istripe_login *login)
{
	return login->stage == ISTRIPE_LOGIN_SECURITY ? ISCSI_OP_PARMS_NEGOTIATION_STAGE :
							ISCSI_FULL_FEATURE_PHASE;
}

/* The keys of the first request, RFC 7143 section 6.3. */
static int login_put_first(struct istripe_login *login)
{
	const struct istripe_login_params *params = &login->params;
	struct istripe_text_writer *w = &login->writer;
	int err;

	err = istripe_text_put(w, "InitiatorName", params->initiator_name);
	if (!err)
		err = istripe_text_put(w, "TargetName", params->target_name);
	/* For the leading connection only: section 13.21. */
	if (!err && !params->tsih)
		err = istripe_text_put(w, "SessionType", "Normal");
	if (!err)
		err = istripe_text_put(w, "AuthMethod", login_methods(login));
	return err ? login_too_long(login) : 0;
}

static int login_init_chap(struct istripe_login *login)
{
	const struct istripe_login_params *params = &login->params;
	int err;

	if (!params->chap)
		return 0;
	err = istripe_chap_init(&login->chap, params->chap, params->chap_ops, params->chap_ctx);
	return err ? login_fail(login, err, "%s", login->chap.problem) : 0;
}

int istripe_login_init(struct istripe_login *login, const struct istripe_login_params *params,
		       char *text_buffer)
{
	int err;

	memset(login, 0, sizeof(*login));
	login->params = *params;
	login->cmd_sn = params->cmd_sn;
	istripe_text_writer_init(&login->writer, text_buffer, ISTRIPE_LOGIN_REQUEST_BYTES);
	login->gather = text_buffer + ISTRIPE_LOGIN_REQUEST_BYTES;
	err = login_init_chap(login);
	if (err)
		return err;
	istripe_negotiation_init(&login->negotiation, params->offer,
				 params->tsih ? params->session : NULL);
	login->params.offer = NULL;
	/* Without authentication there is nothing more to say in this stage. */
	login->transit = !params->chap;
	return login_put_first(login);
}

/* RFC 7143 11.12; all 48 bytes are written. */
static void login_encode(const struct istripe_login *login, struct iscsi_login_req *bhs, u32 bytes)
{
	u8 flags = login_csg(login) << 2;

	if (login->asked_transit)
		flags |= ISCSI_FLAG_LOGIN_TRANSIT | login_nsg(login);
	else if (login->asked_continue)
		flags |= ISCSI_FLAG_LOGIN_CONTINUE;
	*bhs = (struct iscsi_login_req) {
		.opcode = ISCSI_OP_LOGIN | ISCSI_OP_IMMEDIATE,
		.flags = flags,
		.max_version = ISCSI_DRAFT20_VERSION,
		.min_version = ISCSI_DRAFT20_VERSION,
		.tsih = cpu_to_be16(login->params.tsih),
		.itt = (__force itt_t)cpu_to_be32(login->params.itt),
		.cid = cpu_to_be16(login->params.cid),
		.cmdsn = cpu_to_be32(login->cmd_sn),
		.exp_statsn = cpu_to_be32(login->exp_stat_sn),
	};
	memcpy(bhs->isid, login->params.isid, sizeof(bhs->isid));
	put_unaligned_be24(bytes, bhs->dlength);
}

int istripe_login_request(struct istripe_login *login, struct iscsi_login_req *bhs,
			  const char **text, u32 *text_bytes)
{
	u32 left = login->writer.used - login->sent_bytes;

	if (login->stage >= ISTRIPE_LOGIN_FULL_FEATURE || login->awaiting)
		return -EINVAL;
	if (login->requests == ISTRIPE_LOGIN_REQUESTS_MAX)
		return login_fail(login, -EPROTO, "login did not end after %u requests",
				  login->requests);
	*text = login->writer.buf + login->sent_bytes;
	*text_bytes = min_t(u32, left, ISTRIPE_LOGIN_SEGMENT_BYTES);
	login->sent_bytes += *text_bytes;
	login->asked_continue = *text_bytes < left;
	login->asked_transit = login->transit && !login->asked_continue && !login->gathering;
	login->awaiting = true;
	login->requests++;
	login_encode(login, bhs, *text_bytes);
	return 0;
}

/* To a key that is not known here, or to the interval of markers: it changes nothing. */
static bool login_answer_is_idle(const struct istripe_text_pair *answer)
{
	return istripe_text_value_is(answer, ISTRIPE_TEXT_NOT_UNDERSTOOD) ||
	       (istripe_text_value_is(answer, ISTRIPE_TEXT_REJECT) &&
		istripe_key_find(answer->key) < 0);
}

/* The target leaves the stage: nothing it asked may be without an answer that matters. */
static int login_nothing_owed(struct istripe_login *login)
{
	struct istripe_text_reader reader;
	struct istripe_text_pair answer;
	int owed;

	istripe_text_reader_init(&reader, login->writer.buf, login->writer.used);
	do {
		owed = istripe_text_next(&reader, &answer);
	} while (owed > 0 && login_answer_is_idle(&answer));
	if (owed)
		return login_fail(login, -EPROTO,
				  "target left a login stage before it had an answer to %.40s",
				  owed > 0 ? answer.key : login->writer.buf);
	login->writer.used = 0;
	return 0;
}

static int login_chap_step(struct istripe_login *login)
{
	int verdict = istripe_chap_reply(&login->chap, &login->writer);

	if (verdict < 0)
		return login_fail(login, verdict, "%s", login->chap.problem);
	login->transit = verdict != ISTRIPE_CHAP_CONTINUE;
	return 0;
}

static int login_enter_operational(struct istripe_login *login)
{
	int err = login->auth_chap ? login_chap_step(login) : 0;

	if (!err)
		err = login_nothing_owed(login);
	if (err)
		return err;
	login->stage = ISTRIPE_LOGIN_OPERATIONAL;
	login->transit = true;
	return istripe_negotiation_offer(&login->negotiation, &login->writer) ?
	       login_too_long(login) : ISTRIPE_LOGIN_SEND_NEXT;
}

/* A target that goes on in silence has accepted None if nothing else was offered. */
static bool login_method_known(const struct istripe_login *login, bool transit)
{
	return login->method_known || (transit && !login->params.chap);
}

static int login_security_end(struct istripe_login *login, bool transit)
{
	if (!login_method_known(login, transit))
		return login_fail(login, -EPROTO, "target did not answer AuthMethod=%s",
				  login_methods(login));
	if (transit)
		return login_enter_operational(login);
	if (login->auth_chap)
		return login_chap_step(login);
	login->transit = true;
	return ISTRIPE_LOGIN_SEND_NEXT;
}

/* A target that expects another CmdSN would wait for ever, as would we for an impossible window. */
static int login_check_window(struct istripe_login *login)
{
	if (login->params.tsih)
		return 0;
	if (login->exp_cmd_sn != login->cmd_sn)
		return login_fail(login, -EPROTO, "target expects CmdSN %u after a login with %u",
				  login->exp_cmd_sn, login->cmd_sn);
	if (iscsi_sna_lt(login->max_cmd_sn + 1, login->exp_cmd_sn))
		return login_fail(login, -EPROTO, "target gave MaxCmdSN %u with ExpCmdSN %u",
				  login->max_cmd_sn, login->exp_cmd_sn);
	return 0;
}

/* Section 13.9 wants the tag in the first response; without it only an expected one is missed. */
static int login_check_group(struct istripe_login *login)
{
	if (login->tpgt.known || !login->params.tpgt.known)
		return 0;
	return login_fail(login, -EXDEV,
			  "target did not send TargetPortalGroupTag, expected was %u",
			  login->params.tpgt.tag);
}

static int login_operational_end(struct istripe_login *login, bool transit)
{
	int err;

	if (!transit)
		return ISTRIPE_LOGIN_SEND_NEXT;
	err = login_nothing_owed(login);
	if (!err)
		err = login_check_window(login);
	if (!err)
		err = login_check_group(login);
	if (err)
		return err;
	err = istripe_negotiation_finish(&login->negotiation);
	if (err)
		return login_fail(login, err, "%s", login->negotiation.problem);
	/* Only a login that joins the session would say it. */
	if (!login->tsih && login->negotiation.result.value[ISTRIPE_KEY_MAX_CONNECTIONS] > 1)
		return login_fail(login, -EPROTO, "target gave the new session no TSIH");
	login->stage = ISTRIPE_LOGIN_FULL_FEATURE;
	return ISTRIPE_LOGIN_DONE;
}

static int login_message(struct istripe_login *login, const char *text, u32 bytes, bool transit)
{
	int err;

	istripe_text_writer_init(&login->writer, login->writer.buf, login->writer.size);
	login->sent_bytes = 0;
	err = login_take_keys(login, text, bytes);
	if (err)
		return err;
	if (login->stage == ISTRIPE_LOGIN_SECURITY)
		return login_security_end(login, transit);
	return login_operational_end(login, transit);
}

static int login_gather(struct istripe_login *login, const char *text, u32 bytes)
{
	if (bytes > ISTRIPE_LOGIN_GATHER_BYTES - login->gather_bytes)
		return login_fail(login, -EPROTO, "login response is longer than %u bytes",
				  ISTRIPE_LOGIN_GATHER_BYTES);
	if (bytes)
		memcpy(login->gather + login->gather_bytes, text, bytes);
	login->gather_bytes += bytes;
	return 0;
}

static bool login_lacks_nul(const char *text, u32 bytes)
{
	return bytes && text[bytes - 1];
}

/* Some targets leave out the last NUL. */
static int login_gather_end(struct istripe_login *login, u32 *bytes)
{
	int err = login_lacks_nul(login->gather, login->gather_bytes) ?
		  login_gather(login, "", 1) : 0;

	*bytes = login->gather_bytes;
	login->gather_bytes = 0;
	return err;
}

/* Gathers the text of PDUs with the C bit, section 6.2. */
static int login_text(struct istripe_login *login, const struct istripe_pdu *pdu, const char *text,
		      u32 bytes)
{
	bool gathering = login->gathering;
	int err;

	login->gathering = pdu->login_response.continue_;
	if (!gathering && !login->gathering && !login_lacks_nul(text, bytes))
		return login_message(login, text, bytes, pdu->login_response.transit);
	err = login_gather(login, text, bytes);
	if (err || login->gathering) {
		login->writer.used = 0;
		login->sent_bytes = 0;
		return err;
	}
	err = login_gather_end(login, &bytes);
	if (err)
		return err;
	return login_message(login, login->gather, bytes, pdu->login_response.transit);
}

/* While the initiator is in the middle of a text the target only says "go on". */
static int login_go_on(struct istripe_login *login, const struct istripe_pdu *pdu, u32 bytes)
{
	if (bytes || pdu->login_response.continue_)
		return login_fail(login, -EPROTO,
				  "target answered before the request was complete");
	return ISTRIPE_LOGIN_SEND_NEXT;
}

static int login_redirected(struct istripe_login *login, const char *text, u32 bytes,
			    const struct istripe_login_status *status)
{
	struct istripe_redirect *redirect = &login->redirect;
	int err;

	/* A text that was begun before it is void. */
	login->gather_bytes = 0;
	err = login_gather(login, text, bytes);
	if (!err)
		err = login_gather_end(login, &bytes);
	if (err)
		return err;
	if (istripe_redirect_read(redirect, login->gather, bytes, login->params.prefer_ipv6))
		return login_fail(login, -EPROTO, "%s, without a usable TargetAddress",
				  status->text);
	return login_fail(login, ISTRIPE_LOGIN_REDIRECT, "%s to port %u of %.60s", status->text,
			  redirect->port, redirect->host);
}

/* Any other status than success ends the login; most of the header is void then. */
static int login_refused(struct istripe_login *login, const char *text, u32 bytes)
{
	const struct istripe_login_status *status =
		istripe_login_status_find(login->status_class, login->status_detail);

	if (!status->err)
		return login_redirected(login, text, bytes, status);
	login->refused = status->final;
	return login_fail(login, status->err, "%s (login status %02x%02x)%s", status->text,
			  login->status_class, login->status_detail,
			  status->err == -EACCES && !login->params.chap ?
			  ": no chap_secret is set" : "");
}

static int login_check_stage(struct istripe_login *login, const struct istripe_pdu *pdu)
{
	if (pdu->login_response.csg != login_csg(login))
		return login_fail(login, -EPROTO, "target is in login stage %u instead of %u",
				  pdu->login_response.csg, login_csg(login));
	if (!pdu->login_response.transit)
		return 0;
	if (!login->asked_transit)
		return login_fail(login, -EPROTO, "target left login stage %u unasked",
				  login_csg(login));
	if (pdu->login_response.continue_)
		return login_fail(login, -EPROTO, "target left login stage %u in mid-text",
				  login_csg(login));
	if (pdu->login_response.nsg != login_nsg(login))
		return login_fail(login, -EPROTO, "target went to login stage %u instead of %u",
				  pdu->login_response.nsg, login_nsg(login));
	return 0;
}

static int login_check_session(struct istripe_login *login, const struct istripe_pdu *pdu)
{
	u16 tsih = login->params.tsih;

	if (pdu->login_response.version_active != LOGIN_VERSION)
		return login_fail(login, -EPROTO, "target uses protocol version %u",
				  pdu->login_response.version_active);
	if (memcmp(pdu->login_response.isid, login->params.isid, sizeof(login->params.isid)))
		return login_fail(login, -EPROTO, "target answered with another ISID");
	if (tsih && pdu->login_response.tsih != tsih)
		return login_fail(login, -EPROTO, "target answered with TSIH %u instead of %u",
				  pdu->login_response.tsih, tsih);
	return 0;
}

static int login_take_numbers(struct istripe_login *login, const struct istripe_pdu *pdu)
{
	/* The first response says where the StatSN begins. */
	if (login->requests > 1 && pdu->stat_sn != login->exp_stat_sn)
		return login_fail(login, -EPROTO, "target sent StatSN %u, expected was %u",
				  pdu->stat_sn, login->exp_stat_sn);
	login->exp_stat_sn = pdu->stat_sn + 1;
	login->exp_cmd_sn = pdu->exp_cmd_sn;
	login->max_cmd_sn = pdu->max_cmd_sn;
	login->tsih = pdu->login_response.tsih;
	return 0;
}

static int login_check_pdu(struct istripe_login *login, const struct iscsi_hdr *bhs,
			   struct istripe_pdu *pdu, u32 bytes)
{
	if (istripe_pdu_decode(bhs, pdu))
		return login_fail(login, -EPROTO, "login response: %s", pdu->problem);
	if (pdu->opcode == ISCSI_OP_REJECT)
		return login_fail(login, -EPROTO, "target rejected the login request: %s",
				  istripe_pdu_reject_reason_name(pdu->reject_reason));
	if (pdu->opcode != ISCSI_OP_LOGIN_RSP)
		return login_fail(login, -EPROTO, "target sent %s during login",
				  istripe_pdu_opcode_name(pdu->opcode));
	if (pdu->itt != login->params.itt)
		return login_fail(login, -EPROTO, "login response has a foreign task tag");
	if (pdu->data_segment_bytes != bytes || bytes > ISTRIPE_LOGIN_SEGMENT_BYTES)
		return login_fail(login, -EPROTO, "login response of %u bytes",
				  pdu->data_segment_bytes);
	return 0;
}

static int login_accepted(struct istripe_login *login, const struct istripe_pdu *pdu,
			  const char *text, u32 bytes)
{
	int err = login_check_session(login, pdu);

	if (!err)
		err = login_check_stage(login, pdu);
	if (!err)
		err = login_take_numbers(login, pdu);
	if (err)
		return err;
	if (login->asked_continue)
		return login_go_on(login, pdu, bytes);
	return login_text(login, pdu, text, bytes);
}

int istripe_login_response(struct istripe_login *login, const struct iscsi_hdr *bhs,
			   const char *text, u32 bytes)
{
	struct istripe_pdu pdu;
	int err;

	if (login->stage >= ISTRIPE_LOGIN_FULL_FEATURE)
		return -EINVAL;
	if (!login->awaiting)
		return login_fail(login, -EPROTO, "target sent a login response unasked");
	login->awaiting = false;
	err = login_check_pdu(login, bhs, &pdu, bytes);
	if (err)
		return err;
	login->status_class = pdu.login_response.status_class;
	login->status_detail = pdu.login_response.status_detail;
	/* The class alone says whether it is success. */
	if (login->status_class != ISCSI_STATUS_CLS_SUCCESS)
		return login_refused(login, text, bytes);
	return login_accepted(login, &pdu, text, bytes);
}

/* The target chose SHA-256 and said initiator error (0200) to the response. */
static bool login_sha256_refused(const struct istripe_login *login)
{
	return login->chap.state == ISTRIPE_CHAP_RESPONDED &&
	       login->chap.algorithm == ISTRIPE_CHAP_SHA256 &&
	       login->status_class == ISCSI_STATUS_CLS_INITIATOR_ERR &&
	       login->status_detail == ISCSI_LOGIN_STATUS_INIT_ERR;
}

u32 istripe_login_hashes_left(const struct istripe_login *login)
{
	u32 offered = login->chap.offered, md5 = ISTRIPE_CHAP_MASK(ISTRIPE_CHAP_MD5);

	if (login_sha256_refused(login))
		return offered & ~ISTRIPE_CHAP_MASK(ISTRIPE_CHAP_SHA256);
	if (!login->refused || login->chap.state != ISTRIPE_CHAP_OFFERED || offered == md5)
		return 0;
	return offered & md5;
}
