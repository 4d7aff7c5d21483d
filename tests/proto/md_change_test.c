// SPDX-License-Identifier: GPL-2.0
/* A superblock compared with what it was when its volume came up: each field counts. */
#include <kunit/test.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include <istripe/reason.h>
#include "layout/md.h"

static const struct istripe_md started = {
	.problem = ISTRIPE_MD_OK,
	.array_uuid = { 1, 2, 3 },
	.device_uuid = { 4, 5, 6 },
	.name = "host:vol0",
	.legs = 4,
	.role = 2,
	.dev_number = 2,
	.chunk_sectors = 128,
	.layout = 1,
	.data_offset_sectors = 2048,
	.data_sectors = 1 << 20,
	.events = 15,
	.ctime_s = 1750000000,
	.utime_s = 1750000000,
};

static void problem(struct istripe_md *md)
{
	md->problem = ISTRIPE_MD_CHECKSUM;
}

static void gone(struct istripe_md *md)
{
	memset(md, 0, sizeof(*md));
	md->problem = ISTRIPE_MD_ABSENT;
}

static void array_uuid(struct istripe_md *md)
{
	md->array_uuid[15]++;
}

static void role(struct istripe_md *md)
{
	md->role = 1;
}

static void events(struct istripe_md *md)
{
	md->events = 17;
}

static void events_back(struct istripe_md *md)
{
	md->events = 0;
}

#define REST(_name, _change)				\
static void rest_##_name(struct istripe_md *md)		\
{							\
	_change;					\
}

REST(device_uuid, md->device_uuid[0]++)
REST(name, md->name[0] = 'g')
REST(legs, md->legs++)
REST(dev_number, md->dev_number++)
REST(chunk, md->chunk_sectors *= 2)
REST(logical_block, md->logical_block_bytes = 512)
REST(layout, md->layout = 2)
REST(data_offset, md->data_offset_sectors += 8)
REST(data_sectors, md->data_sectors--)
REST(less_than_a_chunk, md->data_sectors += 127)
REST(size, md->size_sectors++)
REST(ctime, md->ctime_s++)
REST(utime, md->utime_s++)

static const char changed[] = "leg 2: another host has changed its superblock";

static const struct {
	void (*change)(struct istripe_md *md);
	int error;
	const char *reason;
} changes[] = {
	{ problem, -EBADMSG,
	  "leg 2: it was in use, but now: superblock is damaged, its checksum is wrong" },
	{ gone, -ENODATA, "leg 2: it was in use, but now: no MD superblock found" },
	{ array_uuid, -ESTALE, "leg 2: it has been made a member of another array" },
	{ role, -ESTALE, "leg 2: it is role 1 of its array now, it was 2" },
	{ events, -ESTALE, "leg 2: another host has assembled it: events 17, were 15" },
	{ events_back, -ESTALE, "leg 2: another host has assembled it: events 0, were 15" },
	{ rest_device_uuid, -ESTALE, changed },
	{ rest_name, -ESTALE, changed },
	{ rest_legs, -ESTALE, changed },
	{ rest_dev_number, -ESTALE, changed },
	{ rest_chunk, -ESTALE, changed },
	{ rest_logical_block, -ESTALE, changed },
	{ rest_layout, -ESTALE, changed },
	{ rest_data_offset, -ESTALE, changed },
	{ rest_data_sectors, -ESTALE, changed },
	{ rest_less_than_a_chunk, -ESTALE, changed },
	{ rest_size, -ESTALE, changed },
	{ rest_ctime, -ESTALE, changed },
	{ rest_utime, -ESTALE, changed },
};

static void md_change_table(struct kunit *test)
{
	struct istripe_reason reason;
	struct istripe_md now;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(changes); i++) {
		now = started;
		changes[i].change(&now);
		KUNIT_EXPECT_EQ(test, istripe_md_check_unchanged(&started, &now, 2, &reason),
				changes[i].error);
		KUNIT_EXPECT_STREQ(test, reason.text, changes[i].reason);
	}
}

static void md_change_none(struct kunit *test)
{
	struct istripe_reason reason = { "something" };
	struct istripe_md now = started;

	KUNIT_EXPECT_EQ(test, istripe_md_check_unchanged(&started, &now, 2, &reason), 0);
	KUNIT_EXPECT_STREQ(test, reason.text, "");
}

/* More of the leg is the array's, which another host may say; nothing else may differ. */
static void md_change_grown(struct kunit *test)
{
	struct istripe_reason reason;
	struct istripe_md now = started;
	u32 i;

	KUNIT_EXPECT_FALSE(test, istripe_md_has_grown(&started, &now));
	now.data_sectors += started.chunk_sectors;
	KUNIT_EXPECT_TRUE(test, istripe_md_has_grown(&started, &now));
	KUNIT_EXPECT_FALSE(test, istripe_md_has_grown(&now, &started));
	KUNIT_EXPECT_EQ(test, istripe_md_check_unchanged(&started, &now, 2, &reason), -ESTALE);
	/* The leg is seen to have grown later than its superblock. */
	now.problem = ISTRIPE_MD_SIZE;
	KUNIT_EXPECT_TRUE(test, istripe_md_has_grown(&started, &now));
	for (i = 0; i < ARRAY_SIZE(changes); i++) {
		now = started;
		changes[i].change(&now);
		if (now.data_sectors == started.data_sectors)
			now.data_sectors += started.chunk_sectors;
		KUNIT_EXPECT_FALSE(test, istripe_md_has_grown(&started, &now));
	}
}

static struct kunit_case md_change_cases[] = {
	KUNIT_CASE(md_change_table),
	KUNIT_CASE(md_change_none),
	KUNIT_CASE(md_change_grown),
	{}
};

static struct kunit_suite istripe_md_change_suite = {
	.name = "istripe_md_change",
	.test_cases = md_change_cases,
};

kunit_test_suite(istripe_md_change_suite);
