// SPDX-License-Identifier: GPL-2.0
/*
 * The tables are compared with drawings of the state machines: one row per state,
 * one column per state, 'x' where the row may become the column.
 */
#include <kunit/test.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include "iscsi/state.h"

/* Columns: idle, connecting, live, draining, backoff, refused, dead. */
static const char *const nexus_drawing[] = {
	".x.....",	/* idle */
	"x.x.xxx",	/* connecting */
	"...x...",	/* live */
	"x...x..",	/* draining */
	"xx.....",	/* backoff */
	"xx.....",	/* refused */
	"xx.....",	/* dead */
};

/* Columns: free, login, logged-in, failed, logout. */
static const char *const session_drawing[] = {
	".x...",	/* free */
	"x.xx.",	/* login */
	"...xx",	/* logged-in */
	"x....",	/* failed */
	"x..x.",	/* logout */
};

/* Columns: free, xpt-up, in-login, logged-in. */
static const char *const conn_drawing[] = {
	".x..",	/* free */
	"x.x.",	/* xpt-up */
	"x..x",	/* in-login */
	"x...",	/* logged-in */
};

struct machine {
	const struct istripe_states *states;
	const char *const *drawing;
	u32 count;
};

static const struct machine nexus_machine = {
	&istripe_nexus_states, nexus_drawing, ARRAY_SIZE(nexus_drawing)
};

static const struct machine session_machine = {
	&istripe_session_states, session_drawing, ARRAY_SIZE(session_drawing)
};

static const struct machine conn_machine = {
	&istripe_conn_states, conn_drawing, ARRAY_SIZE(conn_drawing)
};

static bool may(const struct machine *m, u32 from, u32 to)
{
	return istripe_state_may(m->states, from, to);
}

static const char *name(const struct machine *m, u32 state)
{
	return istripe_state_name(m->states, state);
}

static void check_transitions(struct kunit *test, const struct machine *m)
{
	u32 from, to;

	for (from = 0; from < m->count; from++)
		for (to = 0; to < m->count; to++)
			KUNIT_EXPECT_EQ_MSG(test, may(m, from, to), m->drawing[from][to] == 'x',
					    "%s -> %s", name(m, from), name(m, to));
}

static void check_out_of_range(struct kunit *test, const struct machine *m)
{
	static const u32 wild[] = { 31, 32, 33, 64, 255, 0x7fffffff, 0x80000000, 0xffffffff };
	u32 i, s;

	for (s = 0; s < m->count; s++) {
		KUNIT_EXPECT_FALSE(test, may(m, s, m->count));
		KUNIT_EXPECT_FALSE(test, may(m, m->count, s));
		for (i = 0; i < ARRAY_SIZE(wild); i++) {
			KUNIT_EXPECT_FALSE(test, may(m, s, wild[i]));
			KUNIT_EXPECT_FALSE(test, may(m, wild[i], s));
		}
	}
	for (i = 0; i < ARRAY_SIZE(wild); i++)
		KUNIT_EXPECT_STREQ(test, name(m, wild[i]), "unknown");
	KUNIT_EXPECT_STREQ(test, name(m, m->count), "unknown");
}

static void check_names(struct kunit *test, const struct machine *m)
{
	u32 i, j;

	for (i = 0; i < m->count; i++) {
		KUNIT_ASSERT_NOT_NULL(test, name(m, i));
		KUNIT_EXPECT_GT(test, strlen(name(m, i)), (size_t)0);
		KUNIT_EXPECT_STRNEQ(test, name(m, i), "unknown");
		for (j = 0; j < i; j++)
			KUNIT_EXPECT_STRNEQ(test, name(m, i), name(m, j));
	}
}

/* No state is a trap: from each one every other one can be reached. */
static void check_connected(struct kunit *test, const struct machine *m)
{
	u32 start, round, from, to;

	for (start = 0; start < m->count; start++) {
		u32 reached = 1u << start;

		for (round = 0; round < m->count; round++)
			for (from = 0; from < m->count; from++)
				for (to = 0; to < m->count; to++)
					if (reached & 1u << from && may(m, from, to))
						reached |= 1u << to;
		KUNIT_EXPECT_EQ_MSG(test, reached, (1u << m->count) - 1, "from %s",
				    name(m, start));
	}
}

static void check_machine(struct kunit *test, const struct machine *m)
{
	check_transitions(test, m);
	check_out_of_range(test, m);
	check_names(test, m);
	check_connected(test, m);
}

static void state_nexus(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, nexus_machine.count, (u32)ISTRIPE_NEXUS_STATE_COUNT);
	check_machine(test, &nexus_machine);
	KUNIT_EXPECT_STREQ(test, name(&nexus_machine, ISTRIPE_NEXUS_BACKOFF), "backoff");
}

static void state_session(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, session_machine.count, (u32)ISTRIPE_SESSION_STATE_COUNT);
	check_machine(test, &session_machine);
	KUNIT_EXPECT_STREQ(test, name(&session_machine, ISTRIPE_SESSION_FAILED), "failed");
}

static void state_conn(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, conn_machine.count, (u32)ISTRIPE_CONN_STATE_COUNT);
	check_machine(test, &conn_machine);
	KUNIT_EXPECT_STREQ(test, name(&conn_machine, ISTRIPE_CONN_IN_LOGIN), "in-login");
}

static struct kunit_case state_cases[] = {
	KUNIT_CASE(state_nexus),
	KUNIT_CASE(state_session),
	KUNIT_CASE(state_conn),
	{}
};

static struct kunit_suite istripe_state_suite = {
	.name = "istripe_state",
	.test_cases = state_cases,
};

kunit_test_suite(istripe_state_suite);
