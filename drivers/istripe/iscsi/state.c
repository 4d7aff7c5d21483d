// SPDX-License-Identifier: GPL-2.0
#include <linux/bits.h>
#include <linux/kernel.h>

#include "iscsi/state.h"

struct state {
	const char *name;
	u32 next;	/* mask of the states that may follow */
};

static const struct state nexus_states[ISTRIPE_NEXUS_STATE_COUNT] = {
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
};

static const struct state session_states[ISTRIPE_SESSION_STATE_COUNT] = {
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
};

static const struct state conn_states[ISTRIPE_CONN_STATE_COUNT] = {
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
};

static bool state_may(const struct state *table, u32 count, u32 from, u32 to)
{
	return from < count && to < count && table[from].next & BIT(to);
}

static const char *state_name(const struct state *table, u32 count, u32 state)
{
	return state < count ? table[state].name : "unknown";
}

bool istripe_nexus_state_may(enum istripe_nexus_state from, enum istripe_nexus_state to)
{
	return state_may(nexus_states, ARRAY_SIZE(nexus_states), from, to);
}

const char *istripe_nexus_state_name(enum istripe_nexus_state state)
{
	return state_name(nexus_states, ARRAY_SIZE(nexus_states), state);
}

bool istripe_session_state_may(enum istripe_session_state from, enum istripe_session_state to)
{
	return state_may(session_states, ARRAY_SIZE(session_states), from, to);
}

const char *istripe_session_state_name(enum istripe_session_state state)
{
	return state_name(session_states, ARRAY_SIZE(session_states), state);
}

bool istripe_conn_state_may(enum istripe_conn_state from, enum istripe_conn_state to)
{
	return state_may(conn_states, ARRAY_SIZE(conn_states), from, to);
}

const char *istripe_conn_state_name(enum istripe_conn_state state)
{
	return state_name(conn_states, ARRAY_SIZE(conn_states), state);
}
