// SPDX-License-Identifier: GPL-2.0
/*
 * Access states of target port groups: REPORT TARGET PORT GROUPS data with both headers, found by
 * group and by port, cut at every length and damaged; the sense data that tell of them.
 */
#include <kunit/test.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/slab.h>
#include <linux/string.h>

#include <compat/unaligned.h>

#include "scsi/alua.h"
#include "scsi/vpd.h"
#include "test_random.h"

/* Group 1 with ports 1 and 2 is optimized and preferred, 258 with port 3 standby, 7 is empty. */
static const u8 groups[] = {
	0, 0, 0, 36,
	0x80, 0x8f, 0, 1, 0, 2, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2,
	0x02, 0x8f, 1, 2, 0, 2, 0, 1, 0, 0, 0, 3,
	0x0f, 0x8f, 0, 7, 0, 2, 0, 0,
};

static void build_extended(u8 *data)
{
	memcpy(data, groups, 4);
	data[3] += 4;
	data[4] = 0x10;
	data[5] = 60;
	data[6] = 0;
	data[7] = 0;
	memcpy(data + 8, groups + 4, sizeof(groups) - 4);
}

static u8 *exact(struct kunit *test, const void *from, u32 bytes)
{
	u8 *to = kunit_kmalloc(test, bytes ?: 1, GFP_KERNEL);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, to);
	memcpy(to, from, bytes);
	return bytes ? to : to + 1;
}

static void expect_group(struct kunit *test, const u8 *data, u32 bytes, u16 number, u8 state,
			 bool preferred)
{
	struct istripe_vpd_port port = { .group_known = true, .group = number };
	struct istripe_access access = {};

	KUNIT_ASSERT_EQ(test, istripe_alua_decode(data, bytes, &port, &access), 0);
	KUNIT_EXPECT_TRUE(test, access.known);
	KUNIT_EXPECT_EQ(test, access.group, number);
	KUNIT_EXPECT_EQ(test, access.state, state);
	KUNIT_EXPECT_EQ(test, access.preferred, preferred);
}

static void alua_groups(struct kunit *test)
{
	u8 extended[sizeof(groups) + 4];

	build_extended(extended);
	expect_group(test, groups, sizeof(groups), 1, SCSI_ACCESS_STATE_OPTIMAL, true);
	expect_group(test, groups, sizeof(groups), 258, SCSI_ACCESS_STATE_STANDBY, false);
	expect_group(test, groups, sizeof(groups), 7, SCSI_ACCESS_STATE_TRANSITIONING, false);
	expect_group(test, extended, sizeof(extended), 1, SCSI_ACCESS_STATE_OPTIMAL, true);
	expect_group(test, extended, sizeof(extended), 7, SCSI_ACCESS_STATE_TRANSITIONING, false);
}

static void alua_transition(struct kunit *test)
{
	struct istripe_vpd_port port = { .group_known = true, .group = 1 };
	u8 extended[sizeof(groups) + 4];
	struct istripe_access access = {};

	KUNIT_ASSERT_EQ(test, istripe_alua_decode(groups, sizeof(groups), &port, &access), 0);
	KUNIT_EXPECT_EQ(test, access.transition_s, 0);
	build_extended(extended);
	KUNIT_ASSERT_EQ(test, istripe_alua_decode(extended, sizeof(extended), &port, &access), 0);
	KUNIT_EXPECT_EQ(test, access.transition_s, 60);
}

static void alua_ports(struct kunit *test)
{
	struct istripe_vpd_port port = { .port_known = true, .port = 3 };
	struct istripe_access access = {};

	KUNIT_ASSERT_EQ(test, istripe_alua_decode(groups, sizeof(groups), &port, &access), 0);
	KUNIT_EXPECT_EQ(test, access.group, 258);
	port.port = 2;
	KUNIT_ASSERT_EQ(test, istripe_alua_decode(groups, sizeof(groups), &port, &access), 0);
	KUNIT_EXPECT_EQ(test, access.group, 1);
	/* The group counts when both are known. */
	port.group_known = true;
	port.group = 7;
	KUNIT_ASSERT_EQ(test, istripe_alua_decode(groups, sizeof(groups), &port, &access), 0);
	KUNIT_EXPECT_EQ(test, access.group, 7);
}

/* The states that a group lists as supported decide whether the target is asked for it. */
static void alua_may_optimize(struct kunit *test)
{
	static const struct {
		u8 supported;
		bool may;
	} rows[] = {
		{ 0xcf, true },
		{ 0x01, true },		/* AO_SUP */
		{ 0xce, false },	/* all but that */
		{ 0x04, false },
		{ 0x80, false },
		{ 0x00, true },		/* not told: not even the state that it is in */
	};
	struct istripe_vpd_port port = { .group_known = true, .group = 258 };
	u8 data[sizeof(groups)];
	u32 i;

	memcpy(data, groups, sizeof(data));
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct istripe_access access = { .may_optimize = !rows[i].may };

		data[21] = rows[i].supported;
		KUNIT_ASSERT_EQ(test, istripe_alua_decode(data, sizeof(data), &port, &access), 0);
		KUNIT_EXPECT_EQ(test, access.state, SCSI_ACCESS_STATE_STANDBY);
		KUNIT_EXPECT_EQ_MSG(test, access.may_optimize, rows[i].may, "supported: 0x%02x",
				    rows[i].supported);
	}
}

static void alua_absent(struct kunit *test)
{
	struct istripe_vpd_port port = { .group_known = true, .group = 2 };
	struct istripe_access access = {};

	KUNIT_EXPECT_EQ(test, istripe_alua_decode(groups, sizeof(groups), &port, &access), -ENOENT);
	port = (struct istripe_vpd_port) { .port_known = true, .port = 4 };
	KUNIT_EXPECT_EQ(test, istripe_alua_decode(groups, sizeof(groups), &port, &access), -ENOENT);
	port = (struct istripe_vpd_port) {};
	KUNIT_EXPECT_EQ(test, istripe_alua_decode(groups, sizeof(groups), &port, &access), -ENOENT);
	KUNIT_EXPECT_FALSE(test, access.known);
}

static void alua_cut(struct kunit *test)
{
	struct istripe_vpd_port port = { .group_known = true, .group = 7 };
	u8 extended[sizeof(groups) + 4];
	struct istripe_access access;
	u32 len;

	build_extended(extended);
	for (len = 0; len <= sizeof(groups); len++)
		KUNIT_EXPECT_EQ(test, istripe_alua_decode(exact(test, groups, len), len, &port,
							  &access),
				len < 4 ? -EPROTO : len < sizeof(groups) ? -ENOENT : 0);
	for (len = 0; len <= sizeof(extended); len++)
		KUNIT_EXPECT_EQ(test, istripe_alua_decode(exact(test, extended, len), len, &port,
							  &access),
				len < 4 ? -EPROTO : len < sizeof(extended) ? -ENOENT : 0);
}

/* Whatever came is not read beyond its end, and the search ends. */
static void alua_damaged(struct kunit *test)
{
	struct test_random r = { .s = 31 };
	struct istripe_vpd_port port = {};
	struct istripe_access access;
	u8 data[sizeof(groups)];
	u32 i, len;
	int ret;

	for (i = 0; i < 5000; i++) {
		memcpy(data, groups, sizeof(data));
		data[test_random_below(&r, sizeof(data))] = test_random_u32(&r);
		data[test_random_below(&r, sizeof(data))] = test_random_u32(&r);
		len = test_random_below(&r, sizeof(data) + 1);
		port.group_known = i & 1;
		port.port_known = i & 2;
		port.group = test_random_below(&r, 300);
		port.port = test_random_below(&r, 5);
		ret = istripe_alua_decode(exact(test, data, len), len, &port, &access);
		KUNIT_ASSERT_TRUE(test, ret == 0 || ret == -ENOENT || ret == -EPROTO);
	}
}

static void alua_port_of_page(struct kunit *test)
{
	static const u8 page[] = {
		0, 0x83, 0, 28,
		1, 3, 0, 8, 0x50, 1, 2, 3, 4, 5, 6, 7,
		0x51, 0x94, 0, 4, 0, 0, 0x12, 0x34,
		0x51, 0x95, 0, 4, 0, 0, 0x56, 0x78,
	};
	struct istripe_vpd_port port;
	u8 other[sizeof(page)];
	u32 len;

	KUNIT_ASSERT_EQ(test, istripe_vpd_port_decode(page, sizeof(page), &port), 0);
	KUNIT_EXPECT_TRUE(test, port.port_known && port.port == 0x1234);
	KUNIT_EXPECT_TRUE(test, port.group_known && port.group == 0x5678);
	for (len = 0; len < sizeof(page); len++) {
		KUNIT_EXPECT_EQ(test, istripe_vpd_port_decode(exact(test, page, len), len, &port),
				len < 4 ? -EPROTO : 0);
		KUNIT_EXPECT_EQ(test, port.port_known, len >= 24);
		KUNIT_EXPECT_FALSE(test, port.group_known);
	}
	/* Of the LUN, not of the port; not binary; too long. */
	memcpy(other, page, sizeof(page));
	other[17] = 0x84;
	other[24] = 0x52;
	KUNIT_ASSERT_EQ(test, istripe_vpd_port_decode(other, sizeof(other), &port), 0);
	KUNIT_EXPECT_FALSE(test, port.port_known);
	KUNIT_EXPECT_FALSE(test, port.group_known);
	other[1] = 0x80;
	KUNIT_EXPECT_EQ(test, istripe_vpd_port_decode(other, sizeof(other), &port), -EPROTO);
}

static void alua_sense(struct kunit *test)
{
	static const struct {
		u8 key;
		u8 asc;
		u8 ascq;
		int state;
		bool changed;
		bool obscured;
	} rows[] = {
		{ 2, 0x04, 0x0a, SCSI_ACCESS_STATE_TRANSITIONING, false },
		{ 2, 0x04, 0x0b, SCSI_ACCESS_STATE_STANDBY, false },
		{ 2, 0x04, 0x0c, SCSI_ACCESS_STATE_UNAVAILABLE, false },
		{ 2, 0x04, 0x12, SCSI_ACCESS_STATE_OFFLINE, false },
		{ 2, 0x04, 0x01, -1, false },
		{ 2, 0x05, 0x0b, -1, false },
		{ 5, 0x04, 0x0b, -1, false },
		{ 6, 0x2a, 0x06, -1, true },
		{ 6, 0x2a, 0x07, -1, true },
		{ 6, 0x2a, 0x01, -1, false },
		{ 6, 0x29, 0x00, -1, false, true },
		{ 6, 0x29, 0x01, -1, false, true },
		{ 6, 0x29, 0x02, -1, false, true },
		{ 6, 0x29, 0x03, -1, false, true },
		{ 6, 0x29, 0x04, -1, false, true },
		{ 6, 0x29, 0x05, -1, false },
		{ 6, 0x29, 0x06, -1, false },
		{ 6, 0x29, 0x07, -1, false },
		{ 5, 0x29, 0x00, -1, false },
		{ 5, 0x29, 0x03, -1, false },
	};
	struct scsi_sense_hdr sense;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		sense = (struct scsi_sense_hdr) { 0x70, rows[i].key, rows[i].asc, rows[i].ascq };
		KUNIT_EXPECT_EQ(test, istripe_alua_sense_state(&sense), rows[i].state);
		KUNIT_EXPECT_EQ(test, istripe_alua_sense_changed(&sense), rows[i].changed);
		KUNIT_EXPECT_EQ(test, istripe_alua_sense_obscures(&sense), rows[i].obscured);
		/* Of an earlier command, or none. */
		sense.response_code = 0x73;
		KUNIT_EXPECT_EQ(test, istripe_alua_sense_state(&sense), -1);
		KUNIT_EXPECT_FALSE(test, istripe_alua_sense_changed(&sense));
		KUNIT_EXPECT_FALSE(test, istripe_alua_sense_obscures(&sense));
		sense.response_code = 0;
		KUNIT_EXPECT_EQ(test, istripe_alua_sense_state(&sense), -1);
		KUNIT_EXPECT_FALSE(test, istripe_alua_sense_changed(&sense));
	}
}

static void alua_states(struct kunit *test)
{
	u32 state, usable = 0;

	for (state = 0; state <= SCSI_ACCESS_STATE_MASK; state++) {
		usable += istripe_alua_usable(state);
		KUNIT_EXPECT_TRUE(test, istripe_alua_state_name(state)[0]);
	}
	KUNIT_EXPECT_EQ(test, usable, SCSI_ACCESS_STATE_MASK + 1 - 4);
	KUNIT_EXPECT_FALSE(test, istripe_alua_usable(SCSI_ACCESS_STATE_STANDBY));
	KUNIT_EXPECT_FALSE(test, istripe_alua_usable(SCSI_ACCESS_STATE_TRANSITIONING));
	KUNIT_EXPECT_STREQ(test, istripe_alua_state_name(0), "active/optimized");
}

static struct kunit_case alua_cases[] = {
	KUNIT_CASE(alua_groups),
	KUNIT_CASE(alua_transition),
	KUNIT_CASE(alua_ports),
	KUNIT_CASE(alua_may_optimize),
	KUNIT_CASE(alua_absent),
	KUNIT_CASE(alua_cut),
	KUNIT_CASE(alua_damaged),
	KUNIT_CASE(alua_port_of_page),
	KUNIT_CASE(alua_sense),
	KUNIT_CASE(alua_states),
	{}
};

static struct kunit_suite istripe_alua_suite = {
	.name = "istripe_alua",
	.test_cases = alua_cases,
};

kunit_test_suite(istripe_alua_suite);
