/* SPDX-License-Identifier: GPL-2.0 */
/*
 * States of nexuses, sessions and connections, and which may follow which.
 *
 * The one function per object that changes its state warns of a change that istripe_state_may()
 * does not know. No state may follow itself.
 */
#ifndef ISTRIPE_ISCSI_STATE_H
#define ISTRIPE_ISCSI_STATE_H

#include <linux/types.h>

/* A durable way to a leg. */
enum istripe_nexus_state {
	ISTRIPE_NEXUS_IDLE,		/* not wanted: not yet enabled, or stopped and drained */
	ISTRIPE_NEXUS_CONNECTING,	/* a new session is logging in */
	ISTRIPE_NEXUS_LIVE,		/* its session takes commands */
	ISTRIPE_NEXUS_CLOSING,		/* the session is being stopped and its tasks collected */
	ISTRIPE_NEXUS_BACKOFF,		/* waiting before the next attempt */
	ISTRIPE_NEXUS_REFUSED,		/* the same: the login, or the LUN by us; see nexus.c */
	ISTRIPE_NEXUS_DEAD,		/* given up; only an administrator brings it back */
};

#define ISTRIPE_NEXUS_STATE_COUNT	(ISTRIPE_NEXUS_DEAD + 1)

/* One generation of a session, RFC 7143 section 8.3. */
enum istripe_session_state {
	ISTRIPE_SESSION_FREE,		/* no connection: before the login and at the end (Q1) */
	ISTRIPE_SESSION_LOGIN,		/* the leading connection is logging in */
	ISTRIPE_SESSION_LOGGED_IN,	/* at least one connection in full feature phase (Q3) */
	ISTRIPE_SESSION_FAILED,		/* lost; the target may still know it (Q4) */
	ISTRIPE_SESSION_LOGOUT,		/* closing the session was asked for */
};

#define ISTRIPE_SESSION_STATE_COUNT	(ISTRIPE_SESSION_LOGOUT + 1)

/* One TCP connection, RFC 7143 section 8.1.3. */
enum istripe_conn_state {
	ISTRIPE_CONN_FREE,		/* no socket (S1) */
	ISTRIPE_CONN_XPT_UP,	/* TCP is connecting or connected, no Login PDU yet (S2, S3) */
	ISTRIPE_CONN_IN_LOGIN,		/* login phase (S4) */
	ISTRIPE_CONN_LOGGED_IN,		/* full feature phase, until it is released (S5 to S8) */
};

#define ISTRIPE_CONN_STATE_COUNT	(ISTRIPE_CONN_LOGGED_IN + 1)

extern const struct istripe_states istripe_nexus_states;
extern const struct istripe_states istripe_session_states;
extern const struct istripe_states istripe_conn_states;

/**
 * istripe_state_may() - may an object go from one state to another
 * @states: of its kind
 * @from: present state
 * @to: state asked for
 * Return: true when the transition exists; false for numbers that are no states.
 */
bool istripe_state_may(const struct istripe_states *states, u32 from, u32 to);

/**
 * istripe_state_name() - a state as shown in sysfs and traces
 * @states: of its kind
 * @state: state
 * Return: one lower-case word, "unknown" for a number that is no state.
 */
const char *istripe_state_name(const struct istripe_states *states, u32 state);

#endif
