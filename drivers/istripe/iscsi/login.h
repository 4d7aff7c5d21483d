/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The login phase of RFC 7143 sections 6 and 11.12-11.13 as a pure machine:
 * response bytes in, request bytes or a verdict out. The caller owns socket,
 * timeouts and memory:
 *
 *	istripe_login_init()
 *	do {
 *		istripe_login_request()		send what it gives
 *		istripe_login_response()	feed what comes
 *	} while (ISTRIPE_LOGIN_SEND_NEXT);
 */
#ifndef ISTRIPE_ISCSI_LOGIN_H
#define ISTRIPE_ISCSI_LOGIN_H

#include <linux/types.h>
#include <scsi/iscsi_proto.h>

#include "iscsi/chap.h"
#include "iscsi/negotiation.h"
#include "iscsi/redirect.h"
#include "iscsi/text.h"

/* Both directions use the RFC default until full feature phase: section 13.12. */
#define ISTRIPE_LOGIN_SEGMENT_BYTES	8192
/* Text of one request, all its PDUs together. */
#define ISTRIPE_LOGIN_REQUEST_BYTES	16384
/* Text of one response, all its PDUs together; a longer one is refused. */
#define ISTRIPE_LOGIN_GATHER_BYTES	65536
/* Work buffer: the best size, and the least that istripe_login_init() takes. */
#define ISTRIPE_LOGIN_BUFFER_BYTES	(ISTRIPE_LOGIN_REQUEST_BYTES + ISTRIPE_LOGIN_GATHER_BYTES)
#define ISTRIPE_LOGIN_BUFFER_MIN_BYTES	(2 * ISTRIPE_LOGIN_REQUEST_BYTES)
/* Requests that one login may take. */
#define ISTRIPE_LOGIN_REQUESTS_MAX	32

#define ISTRIPE_LOGIN_REASON_BYTES	160

/**
 * struct istripe_login_params - what a login is to achieve
 * @initiator_name: iSCSI name, 1 to 223 bytes.
 * @target_name: iSCSI name, 1 to 223 bytes.
 * @isid: ISID of the session, as on the wire.
 * @tsih: 0 for a new session or a reinstatement; else the session that the
 *        connection is to join.
 * @cid: connection id, unique in the session.
 * @itt: task tag of all login requests, in memory order of the wire's number;
 *       must be free in the session when @tsih is not 0; not 0xffffffff.
 * @cmd_sn: CmdSN of the session: the first one for a new session, the current
 *          one when joining. Login requests consume none.
 * @tpgt: the portal group tag that the target must give, when @tpgt_known.
 * @tpgt_known: check @tpgt (RFC 7143 section 13.9): a portal that moved to
 *              another group is not the path that was configured.
 * @offer: operational keys to offer.
 * @session: negotiated keys of the leading connection, needed when @tsih is not
 *           0, else ignored.
 * @chap: credentials; NULL offers AuthMethod=None.
 * @chap_ops: hashes and random numbers; needed with @chap.
 * @chap_ctx: first argument of each of @chap_ops.
 *
 * Copied by istripe_login_init(); what it points to must outlive the login.
 */
struct istripe_login_params {
	const char *initiator_name;
	const char *target_name;
	u8 isid[6];
	u16 tsih;
	u16 cid;
	u32 itt;
	u32 cmd_sn;
	u16 tpgt;
	bool tpgt_known;
	const struct istripe_keys *offer;
	const struct istripe_keys *session;
	const struct istripe_chap_config *chap;
	const struct istripe_chap_ops *chap_ops;
	void *chap_ctx;
};

/* What istripe_login_response() returns when nothing is wrong. */
enum istripe_login_verdict {
	ISTRIPE_LOGIN_SEND_NEXT = 0,
	ISTRIPE_LOGIN_DONE = 1,
	ISTRIPE_LOGIN_REDIRECT = 2,
};

/* Where the machine is; the words are used in messages. */
enum istripe_login_stage {
	ISTRIPE_LOGIN_SECURITY,		/* CSG 0 */
	ISTRIPE_LOGIN_OPERATIONAL,	/* CSG 1 */
	ISTRIPE_LOGIN_FULL_FEATURE,	/* logged in */
	ISTRIPE_LOGIN_ENDED,		/* refused, redirected or broken */
};

/**
 * struct istripe_login - one login phase of one connection
 * @params: what was asked for.
 * @stage: where it is.
 * @reason: after an error or a redirect, why, in words, one line, printable.
 * @status_class: Status-Class of the last response.
 * @status_detail: Status-Detail of the last response.
 * @retry: after an error, the target said that a later try may succeed.
 * @redirect: after ISTRIPE_LOGIN_REDIRECT.
 * @tsih: after ISTRIPE_LOGIN_DONE, the session's handle.
 * @tpgt: portal group tag of the target, when @tpgt_known.
 * @tpgt_known: the target named its portal group.
 * @cmd_sn: CmdSN of the first command of a new session.
 * @exp_stat_sn: StatSN of the target's next PDU on this connection.
 * @exp_cmd_sn: ExpCmdSN of the last response.
 * @max_cmd_sn: MaxCmdSN of the last response.
 * @negotiation: operational keys: offered, answered, result.
 * @chap: authentication; valid when @auth_chap.
 * @auth_chap: the target chose CHAP.
 * @seen: keys that came, enum istripe_login_seen; private, as all below.
 * @stat_sn_known: a response came, @exp_stat_sn holds.
 * @awaiting: a request was handed out, its response is due.
 * @asked_transit: that request had the T bit.
 * @asked_continue: that request had the C bit.
 * @gathering: the last response had the C bit.
 * @transit: nothing more to say in this stage, the next request may have the T bit.
 * @requests: requests handed out.
 * @writer: text of the request being built or sent.
 * @sent_bytes: of that text.
 * @gather: text of a response with C bit.
 * @gather_bytes: of it, so far.
 * @gather_size: room for it.
 *
 * A few KiB: not for the stack.
 */
struct istripe_login {
	struct istripe_login_params params;
	enum istripe_login_stage stage;
	char reason[ISTRIPE_LOGIN_REASON_BYTES];
	u8 status_class;
	u8 status_detail;
	bool retry;
	struct istripe_redirect redirect;
	u16 tsih;
	u16 tpgt;
	bool tpgt_known;
	u32 cmd_sn;
	u32 exp_stat_sn;
	u32 exp_cmd_sn;
	u32 max_cmd_sn;
	struct istripe_negotiation negotiation;
	struct istripe_chap chap;
	bool auth_chap;

	u32 seen;
	bool stat_sn_known;
	bool awaiting;
	bool asked_transit;
	bool asked_continue;
	bool gathering;
	bool transit;
	u32 requests;
	struct istripe_text_writer writer;
	u32 sent_bytes;
	char *gather;
	u32 gather_bytes;
	u32 gather_size;
};

/**
 * istripe_login_init() - begin a login
 * @login: overwritten
 * @params: what it is to achieve
 * @text_buffer: work buffer, the login's until it has ended
 * @text_buffer_bytes: its size, at least ISTRIPE_LOGIN_BUFFER_MIN_BYTES;
 *                     ISTRIPE_LOGIN_BUFFER_BYTES is never too small
 *
 * Context: any that the CHAP ops allow.
 * Return: 0; -EINVAL when a parameter is missing or out of range; -EOPNOTSUPP
 * when no configured CHAP hash is supported. @login->reason tells.
 */
int istripe_login_init(struct istripe_login *login, const struct istripe_login_params *params,
		       char *text_buffer, u32 text_buffer_bytes);

/**
 * istripe_login_request() - the next PDU to send
 * @login: login
 * @bhs: overwritten with the header, digests are never used in this phase
 * @text: data segment, inside the work buffer, valid until the next call
 * @text_bytes: its length without padding, 0 to ISTRIPE_LOGIN_SEGMENT_BYTES
 *
 * Each request wants one response before the next request. A text that is too
 * long for one PDU is continued with the C bit.
 *
 * Context: any.
 * Return: 0; -EPROTO after ISTRIPE_LOGIN_REQUESTS_MAX requests; -EINVAL when the
 * login has ended or a response is due. @login->reason tells.
 */
int istripe_login_request(struct istripe_login *login, struct iscsi_login_req *bhs,
			  const char **text, u32 *text_bytes);

/**
 * istripe_login_response() - judge a PDU of the target
 * @login: login
 * @bhs: its header, 48 bytes
 * @text: its data segment; need not stay after the call
 * @bytes: length of @text without padding
 *
 * Context: any that the CHAP ops allow.
 * Return: enum istripe_login_verdict. On ISTRIPE_LOGIN_DONE the results in
 * @login hold. Errors end the login, @login->reason tells: -EACCES authentication
 * failed or is refused, on either side; -ECONNREFUSED the target refused for
 * another reason, and @login->retry says whether later is better; -EPROTO the
 * target broke RFC 7143; -EMSGSIZE a reply does not fit the work buffer; or what
 * the CHAP digest function returned; -EINVAL when the login has ended already.
 */
int istripe_login_response(struct istripe_login *login, const struct iscsi_hdr *bhs,
			   const char *text, u32 bytes);

#endif
