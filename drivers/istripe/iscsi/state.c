// SPDX-License-Identifier: GPL-2.0
#include <linux/bits.h>
#include <linux/kernel.h>

#include "iscsi/state.h"

struct istripe_states {
	u32 count;
	struct {
		const char *name;
		u32 next;	/* mask of the states that may follow */
	} rows[ISTRIPE_NEXUS_STATE_COUNT];	/* nexuses have the most */
};

const struct istripe_states istripe_nexus_states = { ISTRIPE_NEXUS_STATE_COUNT, {
	[ISTRIPE_NEXUS_IDLE] = {
		"idle", BIT(ISTRIPE_NEXUS_CONNECTING),
	},
	[ISTRIPE_NEXUS_CONNECTING] = {
		"connecting", BIT(ISTRIPE_NEXUS_LIVE) | BIT(ISTRIPE_NEXUS_BACKOFF) |
			      BIT(ISTRIPE_NEXUS_REFUSED) | BIT(ISTRIPE_NEXUS_DEAD) |
			      BIT(ISTRIPE_NEXUS_IDLE),
	},
	[ISTRIPE_NEXUS_LIVE] = {
		"live", BIT(ISTRIPE_NEXUS_CLOSING),
	},
	[ISTRIPE_NEXUS_CLOSING] = {
		"draining", BIT(ISTRIPE_NEXUS_BACKOFF) | BIT(ISTRIPE_NEXUS_IDLE),
	},
	[ISTRIPE_NEXUS_BACKOFF] = {
		"backoff", BIT(ISTRIPE_NEXUS_CONNECTING) | BIT(ISTRIPE_NEXUS_IDLE),
	},
	[ISTRIPE_NEXUS_REFUSED] = {
		"refused", BIT(ISTRIPE_NEXUS_CONNECTING) | BIT(ISTRIPE_NEXUS_IDLE),
	},
	[ISTRIPE_NEXUS_DEAD] = {
		"dead", BIT(ISTRIPE_NEXUS_CONNECTING) | BIT(ISTRIPE_NEXUS_IDLE),
	},
} };

const struct istripe_states istripe_session_states = { ISTRIPE_SESSION_STATE_COUNT, {
	[ISTRIPE_SESSION_FREE] = {
		"free", BIT(ISTRIPE_SESSION_LOGIN),
	},
	[ISTRIPE_SESSION_LOGIN] = {
		"login", BIT(ISTRIPE_SESSION_LOGGED_IN) | BIT(ISTRIPE_SESSION_FAILED) |
			 BIT(ISTRIPE_SESSION_FREE),
	},
	[ISTRIPE_SESSION_LOGGED_IN] = {
		"logged-in", BIT(ISTRIPE_SESSION_LOGOUT) | BIT(ISTRIPE_SESSION_FAILED),
	},
	[ISTRIPE_SESSION_FAILED] = {
		"failed", BIT(ISTRIPE_SESSION_FREE),
	},
	[ISTRIPE_SESSION_LOGOUT] = {
		"logout", BIT(ISTRIPE_SESSION_FREE) | BIT(ISTRIPE_SESSION_FAILED),
	},
} };

const struct istripe_states istripe_conn_states = { ISTRIPE_CONN_STATE_COUNT, {
	[ISTRIPE_CONN_FREE] = {
		"free", BIT(ISTRIPE_CONN_XPT_UP),
	},
	[ISTRIPE_CONN_XPT_UP] = {
		"xpt-up", BIT(ISTRIPE_CONN_IN_LOGIN) | BIT(ISTRIPE_CONN_FREE),
	},
	[ISTRIPE_CONN_IN_LOGIN] = {
		"in-login", BIT(ISTRIPE_CONN_LOGGED_IN) | BIT(ISTRIPE_CONN_FREE),
	},
	[ISTRIPE_CONN_LOGGED_IN] = {
		"logged-in", BIT(ISTRIPE_CONN_FREE),
	},
} };

bool istripe_state_may(const struct istripe_states *states, u32 from, u32 to)
{
	return from < states->count && to < states->count && states->rows[from].next & BIT(to);
}

const char *istripe_state_name(const struct istripe_states *states, u32 state)
{
	return state < states->count ? states->rows[state].name : "unknown";
}
