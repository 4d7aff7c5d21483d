// SPDX-License-Identifier: GPL-2.0
#include <linux/errno.h>
#include <linux/kernel.h>
#include <scsi/iscsi_proto.h>

#include "iscsi/login_status.h"

/*
 * "The request should not be tried again", says section 11.13.5 of class 2. BUSY are those of its
 * statuses that are due to other connections and sessions, which come and go.
 */
#define SUCCESS(detail, words)		{ ISCSI_STATUS_CLS_SUCCESS, detail, false, 0, words }
#define REDIRECT(detail, words)		{ ISCSI_STATUS_CLS_REDIRECT, detail, false, 0, words }
#define REFUSED(detail, error, words)	\
	{ ISCSI_STATUS_CLS_INITIATOR_ERR, detail, true, error, words }
#define BUSY(detail, words)		\
	{ ISCSI_STATUS_CLS_INITIATOR_ERR, detail, false, -ECONNREFUSED, words }
#define TROUBLED(detail, words)		\
	{ ISCSI_STATUS_CLS_TARGET_ERR, detail, false, -ECONNREFUSED, words }

static const struct istripe_login_status login_statuses[] = {
	REDIRECT(ISCSI_LOGIN_STATUS_TGT_MOVED_TEMP, "target moved temporarily"),
	REDIRECT(ISCSI_LOGIN_STATUS_TGT_MOVED_PERM, "target moved permanently"),
	REFUSED(ISCSI_LOGIN_STATUS_INIT_ERR, -ECONNREFUSED, "initiator error"),
	REFUSED(ISCSI_LOGIN_STATUS_AUTH_FAILED, -EACCES, "authentication failed"),
	REFUSED(ISCSI_LOGIN_STATUS_TGT_FORBIDDEN, -ECONNREFUSED,
		"initiator is not allowed to use this target"),
	REFUSED(ISCSI_LOGIN_STATUS_TGT_NOT_FOUND, -ECONNREFUSED, "target not found"),
	REFUSED(ISCSI_LOGIN_STATUS_TGT_REMOVED, -ECONNREFUSED,
		"target was removed and left no new address"),
	REFUSED(ISCSI_LOGIN_STATUS_NO_VERSION, -ECONNREFUSED, "protocol version not supported"),
	BUSY(ISCSI_LOGIN_STATUS_ISID_ERROR, "too many connections"),
	REFUSED(ISCSI_LOGIN_STATUS_MISSING_FIELDS, -ECONNREFUSED, "parameter is missing"),
	BUSY(ISCSI_LOGIN_STATUS_CONN_ADD_FAILED, "connection cannot join the session"),
	REFUSED(ISCSI_LOGIN_STATUS_NO_SESSION_TYPE, -ECONNREFUSED, "session type not supported"),
	BUSY(ISCSI_LOGIN_STATUS_NO_SESSION, "session does not exist"),
	REFUSED(ISCSI_LOGIN_STATUS_INVALID_REQUEST, -ECONNREFUSED, "request invalid during login"),
	TROUBLED(ISCSI_LOGIN_STATUS_TARGET_ERROR, "target error"),
	TROUBLED(ISCSI_LOGIN_STATUS_SVC_UNAVAILABLE, "service unavailable"),
	TROUBLED(ISCSI_LOGIN_STATUS_NO_RESOURCES, "target is out of resources"),
};

/* By class; the last row is for classes that are reserved. */
static const struct istripe_login_status login_statuses_other[] = {
	SUCCESS(0, "success"),
	{ ISCSI_STATUS_CLS_REDIRECT, 0, false, -ECONNREFUSED, "unknown redirection" },
	REFUSED(0, -ECONNREFUSED, "unknown initiator error"),
	TROUBLED(0, "unknown target error"),
	{ 4, 0, false, -ECONNREFUSED, "unknown status class" },
};

const struct istripe_login_status *istripe_login_status_find(u8 status_class, u8 status_detail)
{
	const struct istripe_login_status *status;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(login_statuses); i++) {
		status = &login_statuses[i];
		if (status->status_class == status_class && status->status_detail == status_detail)
			return status;
	}
	i = min_t(u32, status_class, ARRAY_SIZE(login_statuses_other) - 1);
	return &login_statuses_other[i];
}
