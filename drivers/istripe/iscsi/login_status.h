/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The login statuses of RFC 7143 section 11.13.5 in words, and what an
 * initiator makes of them.
 */
#ifndef ISTRIPE_ISCSI_LOGIN_STATUS_H
#define ISTRIPE_ISCSI_LOGIN_STATUS_H

#include <linux/types.h>

/**
 * struct istripe_login_status - row of a status
 * @status_class: Status-Class.
 * @status_detail: Status-Detail.
 * @retry: the same login may succeed later.
 * @err: 0 success or redirect; -EACCES the target does not believe who the
 *       initiator is; -ECONNREFUSED it refuses for another reason.
 * @text: meaning, in words.
 */
struct istripe_login_status {
	u8 status_class;
	u8 status_detail;
	bool retry;
	int err;
	const char *text;
};

/**
 * istripe_login_status_find() - meaning of a login status
 * @status_class: Status-Class
 * @status_detail: Status-Detail
 *
 * A detail that nobody knows means what its class means: class 1 without a known
 * detail is a refusal, class 2 is not worth a retry, class 3 is. An unknown
 * class is a refusal (section 11.13.5).
 *
 * Context: any.
 * Return: the row, never NULL.
 */
const struct istripe_login_status *istripe_login_status_find(u8 status_class, u8 status_detail);

#endif
