/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The login phase of RFC 7143 sections 6 and 11.12-11.13 as a pure machine: response bytes in,
 * request bytes or a verdict out. The caller owns socket, timeouts and memory:
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
/* Work buffer of istripe_login_init(). */
#define ISTRIPE_LOGIN_BUFFER_BYTES	(ISTRIPE_LOGIN_REQUEST_BYTES + ISTRIPE_LOGIN_GATHER_BYTES)
/* Requests that one login may take. */
#define ISTRIPE_LOGIN_REQUESTS_MAX	32

#define ISTRIPE_LOGIN_ALIAS_BYTES	64	/* what is longer is cut */
#define ISTRIPE_LOGIN_REASON_BYTES	160

/* The task of a login; all that it points to must outlive the login. */
struct istripe_login_params {
	const char *initiator_name;	/* iSCSI name, 1 to 223 bytes */
	const char *target_name;	/* iSCSI name, 1 to 223 bytes */
	u8 isid[6];			/* ISID of the session, as on the wire */
	u16 tsih;			/* 0: new session or reinstatement; else to join */
	u16 cid;			/* connection id, unique in the session */
	u32 itt;			/* of all login requests; unused in the session */
	u32 cmd_sn;			/* the session's first or current one; not consumed */
	struct istripe_tpgt tpgt;	/* that the target must give, if it is known */
	bool prefer_ipv6;		/* among the addresses of a redirect */
	const struct istripe_keys *offer;	/* operational keys to offer */
	const struct istripe_keys *session;	/* of the leading connection, with @tsih */
	const struct istripe_chap_config *chap;	/* credentials; NULL offers AuthMethod=None */
	const struct istripe_chap_ops *chap_ops;	/* needed with @chap */
	void *chap_ctx;			/* first argument of each of @chap_ops */
};

/* Verdicts of istripe_login_response() other than errors. */
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

/* One login phase of one connection. A few KiB: not for the stack. */
struct istripe_login {
	struct istripe_login_params params;	/* what was asked for */
	enum istripe_login_stage stage;	/* where it is */
	char reason[ISTRIPE_LOGIN_REASON_BYTES];	/* of an error or redirect, printable */
	u8 status_class;		/* Status-Class of the last response */
	u8 status_detail;		/* Status-Detail of the last response */
	bool refused;	/* after an error: until a setting is changed, here or there */
	struct istripe_redirect redirect;	/* after ISTRIPE_LOGIN_REDIRECT */
	u16 tsih;			/* after ISTRIPE_LOGIN_DONE, the session's, or 0 */
	struct istripe_tpgt tpgt;	/* as the target has named it */
	char target_alias[ISTRIPE_LOGIN_ALIAS_BYTES];	/* TargetAlias, or "" */
	u32 cmd_sn;			/* CmdSN of the first command of a new session */
	u32 exp_stat_sn;		/* StatSN of the target's next PDU on this connection */
	u32 exp_cmd_sn;			/* ExpCmdSN of the last response */
	u32 max_cmd_sn;			/* MaxCmdSN of the last response */
	struct istripe_negotiation negotiation;	/* operational keys: offered, answered, result */
	struct istripe_chap chap;	/* authentication; valid when @auth_chap */
	bool auth_chap;			/* the target chose CHAP */

	bool method_known;		/* AuthMethod came; private, as all below */
	bool awaiting;			/* a request was handed out, its response is due */
	bool asked_transit;		/* that request had the T bit */
	bool asked_continue;		/* that request had the C bit */
	bool gathering;			/* the last response had the C bit */
	bool transit;	/* nothing more to say in this stage, the next request may have the T bit */
	u32 requests;			/* requests handed out */
	struct istripe_text_writer writer;	/* text of the request being built or sent */
	u32 sent_bytes;			/* of that text */
	char *gather;			/* text of a response with C bit */
	u32 gather_bytes;		/* of it, so far */
};

/**
 * istripe_login_init() - begin a login
 * @login: overwritten
 * @params: what it is to achieve
 * @text_buffer: work buffer, ISTRIPE_LOGIN_BUFFER_BYTES, the login's until it has ended
 * Context: any, that the CHAP ops allow.
 * Return: 0; -EINVAL when the CHAP credentials are not usable; -EOPNOTSUPP when no configured CHAP
 * hash is supported. @login->reason tells.
 */
int istripe_login_init(struct istripe_login *login, const struct istripe_login_params *params,
		       char *text_buffer);

/**
 * istripe_login_request() - the next PDU to send
 * @login: login
 * @bhs: overwritten with the header, digests are never used in this phase
 * @text: data segment, inside the work buffer, valid until the next call
 * @text_bytes: its length without padding, 0 to ISTRIPE_LOGIN_SEGMENT_BYTES
 *
 * Each request wants one response before the next request. A text that is too long for one PDU is
 * continued with the C bit.
 *
 * Return: 0; -EPROTO after ISTRIPE_LOGIN_REQUESTS_MAX requests; -EINVAL when the login has ended or
 * a response is due. @login->reason tells.
 */
int istripe_login_request(struct istripe_login *login, struct iscsi_login_req *bhs,
			  const char **text, u32 *text_bytes);

/**
 * istripe_login_response() - judge a PDU of the target
 * @login: login
 * @bhs: its header, 48 bytes
 * @text: its data segment; need not stay after the call
 * @bytes: length of @text without padding
 * Context: any, that the CHAP ops allow.
 * Return: enum istripe_login_verdict. On ISTRIPE_LOGIN_DONE the results in @login hold. Errors end
 * the login, @login->reason tells: -EACCES authentication failed or is refused, on either side;
 * -ECONNREFUSED the target refused for another reason; -EXDEV the portal group is another one than
 * @params expects; -EPROTO the target broke RFC 7143; -EMSGSIZE a reply does not fit the buffer; or
 * what the CHAP digest returned; -EINVAL ended already. @login->refused: it will fail again.
 */
int istripe_login_response(struct istripe_login *login, const struct iscsi_hdr *bhs,
			   const char *text, u32 bytes);

/**
 * istripe_login_hashes_left() - CHAP hashes with which a login may succeed that was refused
 * @login: ended by an error
 *
 * LIO of Linux before 3.15 knows no list in CHAP_A and refuses it before any challenge; it wants
 * MD5 alone. The number of SHA-256 (RFC 7143 section 12.1.3) is SHA-1's in Linux's tgt, which says
 * initiator error (0200) to a response of that length; it takes MD5 when 7 is not on the list.
 *
 * Return: mask of those to offer next, fewer than the ones that were; 0 when others will not help.
 */
u32 istripe_login_hashes_left(const struct istripe_login *login);

#endif
