/* SPDX-License-Identifier: GPL-2.0 */
/* The login statuses of RFC 7143 section 11.13.5 in words, and what an initiator makes of them. */
#ifndef ISTRIPE_ISCSI_LOGIN_STATUS_H
#define ISTRIPE_ISCSI_LOGIN_STATUS_H

#include <linux/types.h>

/* Row of a status. */
struct istripe_login_status {
	u8 status_class;	/* Status-Class */
	u8 status_detail;	/* Status-Detail */
	bool final;		/* the same login fails until a setting is changed somewhere */
	int err;		/* 0: success, redirect; -EACCES; -ECONNREFUSED */
	const char *text;	/* meaning, in words */
};

/*
 * Never NULL. An unknown detail means what its class means; class 1 without a known detail and an
 * unknown class are refusals (section 11.13.5).
 */
const struct istripe_login_status *istripe_login_status_find(u8 status_class, u8 status_detail);

#endif
