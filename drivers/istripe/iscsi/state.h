/* SPDX-License-Identifier: GPL-2.0 */
/*
 * States of nexuses, sessions and connections, and which may follow which.
 *
 * Tables beside the names; the one function per object that changes its state asks
 * istripe_*_state_may() first. No state may follow itself. Whoever owns the state
 * has the lock; the tables are const.
 */
#ifndef ISTRIPE_ISCSI_STATE_H
#define ISTRIPE_ISCSI_STATE_H

#include <linux/types.h>

/**
 * enum istripe_nexus_state - a durable way to a leg
 * @ISTRIPE_NEXUS_IDLE: not wanted: not yet enabled, or stopped and drained
 * @ISTRIPE_NEXUS_CONNECTING: a new session is logging in
 * @ISTRIPE_NEXUS_LIVE: its session takes commands
 * @ISTRIPE_NEXUS_CLOSING: the session is being stopped and its tasks collected
 * @ISTRIPE_NEXUS_BACKOFF: waiting before the next attempt
 * @ISTRIPE_NEXUS_DEAD: given up; only an administrator brings it back
 */
enum istripe_nexus_state {
	ISTRIPE_NEXUS_IDLE,
	ISTRIPE_NEXUS_CONNECTING,
	ISTRIPE_NEXUS_LIVE,
	ISTRIPE_NEXUS_CLOSING,
	ISTRIPE_NEXUS_BACKOFF,
	ISTRIPE_NEXUS_DEAD,
};

#define ISTRIPE_NEXUS_STATE_COUNT	(ISTRIPE_NEXUS_DEAD + 1)

/**
 * enum istripe_session_state - one generation of a session, RFC 7143 section 8.3
 * @ISTRIPE_SESSION_FREE: no connection: before the login and at the end (Q1)
 * @ISTRIPE_SESSION_LOGIN: the leading connection is logging in
 * @ISTRIPE_SESSION_LOGGED_IN: at least one connection in full feature phase (Q3)
 * @ISTRIPE_SESSION_FAILED: lost; the target may still know it (Q4)
 * @ISTRIPE_SESSION_LOGOUT: closing the session was asked for
 */
enum istripe_session_state {
	ISTRIPE_SESSION_FREE,
	ISTRIPE_SESSION_LOGIN,
	ISTRIPE_SESSION_LOGGED_IN,
	ISTRIPE_SESSION_FAILED,
	ISTRIPE_SESSION_LOGOUT,
};

#define ISTRIPE_SESSION_STATE_COUNT	(ISTRIPE_SESSION_LOGOUT + 1)

/**
 * enum istripe_conn_state - one TCP connection, RFC 7143 section 8.1.3
 * @ISTRIPE_CONN_FREE: no socket (S1)
 * @ISTRIPE_CONN_XPT_UP: TCP is connecting or connected, no Login PDU yet (S2, S3)
 * @ISTRIPE_CONN_IN_LOGIN: login phase (S4)
 * @ISTRIPE_CONN_LOGGED_IN: full feature phase (S5)
 * @ISTRIPE_CONN_IN_LOGOUT: Logout Request sent (S6)
 * @ISTRIPE_CONN_CLEANUP_WAIT: transport gone, its tasks not yet collected (S8)
 */
enum istripe_conn_state {
	ISTRIPE_CONN_FREE,
	ISTRIPE_CONN_XPT_UP,
	ISTRIPE_CONN_IN_LOGIN,
	ISTRIPE_CONN_LOGGED_IN,
	ISTRIPE_CONN_IN_LOGOUT,
	ISTRIPE_CONN_CLEANUP_WAIT,
};

#define ISTRIPE_CONN_STATE_COUNT	(ISTRIPE_CONN_CLEANUP_WAIT + 1)

/**
 * istripe_nexus_state_may() - may a nexus go from one state to another
 * @from: present state
 * @to: state asked for
 *
 * Context: any.
 * Return: true when the transition exists; false for numbers that are no states.
 */
bool istripe_nexus_state_may(enum istripe_nexus_state from, enum istripe_nexus_state to);

/**
 * istripe_nexus_state_name() - a nexus's state as shown in sysfs and traces
 * @state: state
 *
 * Context: any.
 * Return: one lower-case word, "unknown" for a number that is no state.
 */
const char *istripe_nexus_state_name(enum istripe_nexus_state state);

/**
 * istripe_session_state_may() - may a session go from one state to another
 * @from: present state
 * @to: state asked for
 *
 * Context: any.
 * Return: true when the transition exists; false for numbers that are no states.
 */
bool istripe_session_state_may(enum istripe_session_state from, enum istripe_session_state to);

/**
 * istripe_session_state_name() - a session's state as shown in sysfs and traces
 * @state: state
 *
 * Context: any.
 * Return: one lower-case word, "unknown" for a number that is no state.
 */
const char *istripe_session_state_name(enum istripe_session_state state);

/**
 * istripe_conn_state_may() - may a connection go from one state to another
 * @from: present state
 * @to: state asked for
 *
 * Context: any.
 * Return: true when the transition exists; false for numbers that are no states.
 */
bool istripe_conn_state_may(enum istripe_conn_state from, enum istripe_conn_state to);

/**
 * istripe_conn_state_name() - a connection's state as shown in sysfs and traces
 * @state: state
 *
 * Context: any.
 * Return: one lower-case word, "unknown" for a number that is no state.
 */
const char *istripe_conn_state_name(enum istripe_conn_state state);

#endif
