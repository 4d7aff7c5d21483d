// SPDX-License-Identifier: GPL-2.0
/*
 * Streams of PDUs are built here with a CRC of this file's own, cut into fragments of all
 * kinds and must come out of the framing the same, whatever the cuts.
 */
#include <kunit/test.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <compat/unaligned.h>

#include "iscsi/framing.h"
#include "test_random.h"

#define STREAM_BYTES	20480
#define PDUS_MAX	24
#define DATA_MAX	600

/* CRC32C bit by bit, from the polynomial in RFC 7143 13.1. */
static u32 reference_crc(const u8 *bytes, u32 len)
{
	u32 crc = ~0u, i;
	int bit;

	for (i = 0; i < len; i++) {
		crc ^= bytes[i];
		for (bit = 0; bit < 8; bit++)
			crc = crc & 1 ? crc >> 1 ^ 0x82f63b78 : crc >> 1;
	}
	return ~crc;
}

struct expected {
	u32 start;		/* of the header, in the stream */
	u32 data_start;
	u32 data_bytes;
	u32 end;
};

struct stream {
	bool header_digest, data_digest;
	bool passes;		/* data without a digest are not shown to the framing */
	u32 bytes, pdus;
	struct expected pdu[PDUS_MAX];
	u8 b[STREAM_BYTES];

	struct istripe_framing framing;
	/* The output. */
	u32 headers, ends, data_seen;
	u8 data[STREAM_BYTES];
};

static void stream_digest(struct stream *s, bool on, u32 start)
{
	if (!on)
		return;
	put_unaligned_le32(reference_crc(s->b + start, s->bytes - start), s->b + s->bytes);
	s->bytes += 4;
}

static void stream_add(struct stream *s, struct test_random *r, u32 ahs_bytes, u32 data_bytes)
{
	struct expected *e = &s->pdu[s->pdus++];
	u8 *header = s->b + s->bytes;

	e->start = s->bytes;
	e->data_bytes = data_bytes;
	test_random_fill(r, header, 48 + ahs_bytes);
	header[4] = ahs_bytes / 4;
	header[5] = data_bytes >> 16;
	header[6] = data_bytes >> 8;
	header[7] = data_bytes;
	s->bytes += 48 + ahs_bytes;
	stream_digest(s, s->header_digest, e->start);
	e->data_start = s->bytes;
	test_random_fill(r, s->b + s->bytes, data_bytes);
	s->bytes += data_bytes;
	/* Pad bytes should be zero, need not be, and are covered by the digest (P23). */
	while ((s->bytes - e->data_start) % 4)
		s->b[s->bytes++] = test_random_u32(r);
	stream_digest(s, s->data_digest && data_bytes, e->data_start);
	e->end = s->bytes;
}

static void stream_make(struct stream *s, struct test_random *r, u32 digests)
{
	u32 i;

	memset(s, 0, sizeof(*s));
	s->header_digest = digests & 1;
	s->data_digest = digests & 2;
	for (i = 0; i < PDUS_MAX; i++) {
		u32 ahs_bytes = test_random_below(r, 4) ? 0 : test_random_below(r, 20) * 4;
		u32 data_bytes = test_random_below(r, 3) ? test_random_below(r, DATA_MAX) : 0;

		stream_add(s, r, ahs_bytes, data_bytes);
	}
	istripe_framing_init(&s->framing, s->header_digest, s->data_digest, DATA_MAX);
}

/* Check what one feed gave against the PDU that must be under way. */
static void stream_check_events(struct kunit *test, struct stream *s, u32 position, u32 events,
				const u8 *from, const u8 *data, u32 data_bytes)
{
	const struct expected *e = &s->pdu[s->ends];

	if (events & ISTRIPE_FRAME_HEADER) {
		KUNIT_EXPECT_EQ(test, s->headers, s->ends);
		KUNIT_EXPECT_EQ(test, position, e->data_start);
		KUNIT_EXPECT_EQ(test, s->framing.data_bytes, e->data_bytes);
		KUNIT_EXPECT_MEMEQ(test, istripe_framing_header(&s->framing), s->b + e->start, 48);
		s->headers++;
		s->data_seen = 0;
	}
	KUNIT_EXPECT_EQ(test, !!(events & ISTRIPE_FRAME_DATA), !!data_bytes);
	KUNIT_EXPECT_EQ(test, !!data, !!data_bytes);
	if (data_bytes) {
		KUNIT_EXPECT_PTR_EQ(test, data, from);
		KUNIT_ASSERT_LE(test, s->data_seen + data_bytes, e->data_bytes);
		memcpy(s->data + s->data_seen, data, data_bytes);
		s->data_seen += data_bytes;
	}
	if (events & ISTRIPE_FRAME_END) {
		KUNIT_EXPECT_EQ(test, s->headers, s->ends + 1);
		KUNIT_EXPECT_EQ(test, position, e->end);
		KUNIT_EXPECT_EQ(test, s->data_seen, e->data_bytes);
		KUNIT_EXPECT_MEMEQ(test, s->data, s->b + e->data_start, e->data_bytes);
		KUNIT_EXPECT_MEMEQ(test, istripe_framing_header(&s->framing), s->b + e->start, 48);
		s->ends++;
	}
}

/* Both ways to take bytes. */
static int stream_take(struct kunit *test, struct stream *s, const u8 *bytes, u32 len, u32 *events,
		       const u8 **data, u32 *data_bytes)
{
	u32 plain = istripe_framing_plain_data(&s->framing);

	if (plain) {
		KUNIT_EXPECT_FALSE(test, s->data_digest);
		KUNIT_EXPECT_EQ(test, s->headers, s->ends + 1);
		KUNIT_EXPECT_EQ(test, plain, s->pdu[s->ends].data_bytes - s->data_seen);
	}
	if (!s->passes || !plain)
		return istripe_framing_feed(&s->framing, bytes, len, events, data, data_bytes);
	*data = bytes;
	*data_bytes = min(plain, len);
	istripe_framing_pass(&s->framing, *data_bytes, events);
	return *data_bytes;
}

/* Feed one fragment; nothing beyond it may be looked at, so it is a copy. */
static int stream_feed(struct kunit *test, struct stream *s, u32 position, u32 len)
{
	u8 *fragment = kunit_kmalloc(test, len ?: 1, GFP_KERNEL);
	u32 used = 0, events, data_bytes;
	const u8 *data;
	int ret = 0;

	KUNIT_ASSERT_NOT_NULL(test, fragment);
	memcpy(fragment, s->b + position, len);
	while (used < len) {
		ret = stream_take(test, s, fragment + used, len - used, &events, &data,
				  &data_bytes);
		if (ret < 0)
			break;
		KUNIT_ASSERT_GT(test, ret, 0);
		KUNIT_ASSERT_LE(test, (u32)ret, len - used);
		stream_check_events(test, s, position + used + ret, events, fragment + used,
				    data, data_bytes);
		used += ret;
	}
	kunit_kfree(test, fragment);
	return ret < 0 ? ret : 0;
}

/* @cut: length of the fragments, 0: random ones */
static void stream_run(struct kunit *test, struct stream *s, struct test_random *r, u32 cut)
{
	u32 position = 0, len;

	s->headers = 0;
	s->ends = 0;
	istripe_framing_init(&s->framing, s->header_digest, s->data_digest, DATA_MAX);
	while (position < s->bytes) {
		len = cut ?: 1 + test_random_below(r, test_random_below(r, 2) ? 8 : 900);
		len = min(len, s->bytes - position);
		KUNIT_ASSERT_EQ(test, stream_feed(test, s, position, len), 0);
		position += len;
	}
	KUNIT_EXPECT_EQ(test, s->ends, s->pdus);
	KUNIT_EXPECT_EQ(test, s->headers, s->pdus);
	KUNIT_EXPECT_NULL(test, s->framing.problem);
}

static void framing_fragmentation(struct kunit *test)
{
	static const u32 cuts[] = {
		STREAM_BYTES, 1, 2, 3, 5, 47, 48, 49, 52, 64, 511, 4096, 0, 0, 0,
	};
	struct stream *s = kunit_kzalloc(test, sizeof(*s), GFP_KERNEL);
	struct test_random r = { .s = 0xf4a3 };
	u32 digests, i;

	KUNIT_ASSERT_NOT_NULL(test, s);
	for (digests = 0; digests < 4; digests++) {
		stream_make(s, &r, digests);
		for (i = 0; i < 2 * ARRAY_SIZE(cuts); i++) {
			s->passes = i % 2;
			stream_run(test, s, &r, cuts[i / 2]);
		}
	}
}

/* The largest additional header segments, and data of every length round a word. */
static void framing_lengths(struct kunit *test)
{
	struct stream *s = kunit_kzalloc(test, sizeof(*s), GFP_KERNEL);
	struct test_random r = { .s = 0x1e57 };
	u32 digests, i;

	KUNIT_ASSERT_NOT_NULL(test, s);
	for (digests = 0; digests < 4; digests++) {
		memset(s, 0, sizeof(*s));
		s->header_digest = digests & 1;
		s->data_digest = digests & 2;
		stream_add(s, &r, 1020, 0);
		stream_add(s, &r, 1020, 3);
		stream_add(s, &r, 0, DATA_MAX);
		for (i = 0; i < 10; i++)
			stream_add(s, &r, 0, i);
		stream_run(test, s, &r, STREAM_BYTES);
		stream_run(test, s, &r, 1);
		stream_run(test, s, &r, 0);
	}
}

/* Feed a damaged first PDU, then more than enough of anything. */
static int stream_fate(struct kunit *test, struct stream *s, struct test_random *r,
		       bool *header_seen)
{
	u32 used = 0, events, data_bytes;
	const u8 *data;
	int ret;

	istripe_framing_init(&s->framing, s->header_digest, s->data_digest, DATA_MAX);
	*header_seen = false;
	for (;;) {
		ret = istripe_framing_feed(&s->framing, s->b + used,
					   min(1 + test_random_below(r, 200), STREAM_BYTES - used),
					   &events, &data, &data_bytes);
		if (ret < 0)
			return ret;
		*header_seen |= events & ISTRIPE_FRAME_HEADER;
		if (events & ISTRIPE_FRAME_END)
			return 0;
		used += ret;
		if (used >= STREAM_BYTES)
			return -ENODATA;
	}
}

/* With both digests no flipped bit goes unnoticed, and none looks like a lie. */
static void framing_damage_every_bit(struct kunit *test)
{
	struct stream *s = kunit_kzalloc(test, sizeof(*s), GFP_KERNEL);
	struct test_random r = { .s = 0xbad };
	bool header_seen, in_header;
	u32 bit;

	KUNIT_ASSERT_NOT_NULL(test, s);
	s->header_digest = true;
	s->data_digest = true;
	stream_add(s, &r, 8, 37);
	KUNIT_EXPECT_EQ(test, stream_fate(test, s, &r, &header_seen), 0);
	for (bit = 0; bit < s->pdu[0].end * 8; bit++) {
		in_header = bit / 8 < s->pdu[0].data_start;
		s->b[bit / 8] ^= 1 << bit % 8;
		KUNIT_EXPECT_EQ_MSG(test, stream_fate(test, s, &r, &header_seen), -EBADMSG,
				    "bit %u", bit);
		KUNIT_EXPECT_EQ_MSG(test, header_seen, !in_header, "bit %u", bit);
		KUNIT_EXPECT_STREQ_MSG(test, s->framing.problem,
				       in_header ? "wrong header digest" : "wrong data digest",
				       "bit %u", bit);
		s->b[bit / 8] ^= 1 << bit % 8;
	}
}

static void framing_data_too_long(struct kunit *test)
{
	struct stream *s = kunit_kzalloc(test, sizeof(*s), GFP_KERNEL);
	struct test_random r = { .s = 0x10 };
	u32 digests, events, data_bytes;
	bool header_seen;
	const u8 *data;

	KUNIT_ASSERT_NOT_NULL(test, s);
	for (digests = 0; digests < 4; digests++) {
		memset(s, 0, sizeof(*s));
		s->header_digest = digests & 1;
		s->data_digest = digests & 2;
		stream_add(s, &r, 0, DATA_MAX + 1);
		KUNIT_EXPECT_EQ(test, stream_fate(test, s, &r, &header_seen), -EPROTO);
		KUNIT_EXPECT_FALSE(test, header_seen);
		KUNIT_EXPECT_NOT_NULL(test, s->framing.problem);
		/* It is over, for good. */
		KUNIT_EXPECT_EQ(test, istripe_framing_feed(&s->framing, s->b, 48, &events, &data,
							   &data_bytes), -EPROTO);
		KUNIT_EXPECT_EQ(test, events, 0);
		KUNIT_EXPECT_EQ(test, istripe_framing_feed(&s->framing, s->b, 0, &events, &data,
							   &data_bytes), -EPROTO);
	}
}

/* An empty fragment is no event, wherever it comes. */
static void framing_nothing(struct kunit *test)
{
	struct stream *s = kunit_kzalloc(test, sizeof(*s), GFP_KERNEL);
	struct test_random r = { .s = 0x11 };
	u32 i, events, data_bytes;
	const u8 *data;

	KUNIT_ASSERT_NOT_NULL(test, s);
	s->header_digest = true;
	s->data_digest = true;
	stream_add(s, &r, 4, 5);
	istripe_framing_init(&s->framing, true, true, DATA_MAX);
	for (i = 0; i < s->bytes; i++) {
		KUNIT_EXPECT_EQ(test, istripe_framing_feed(&s->framing, s->b, 0, &events, &data,
							   &data_bytes), 0);
		KUNIT_EXPECT_EQ(test, events, 0);
		KUNIT_EXPECT_NULL(test, data);
		KUNIT_EXPECT_EQ(test, stream_feed(test, s, i, 1), 0);
	}
	KUNIT_EXPECT_EQ(test, s->ends, 1);
}

/* RFC 7143 appendix A.4, as bytes on the wire. */
static const struct digest_row {
	u8 first;
	s8 step;
	u8 wire[4];
} digest_rows[] = {
	{ 0x00, 0, { 0xaa, 0x36, 0x91, 0x8a } },
	{ 0xff, 0, { 0x43, 0xab, 0xa8, 0x62 } },
	{ 0x00, 1, { 0x4e, 0x79, 0xdd, 0x46 } },
	{ 0x1f, -1, { 0x5c, 0xdb, 0x3f, 0x11 } },
};

static void framing_digest_vectors(struct kunit *test)
{
	u8 bytes[32], wire[4];
	u32 i, j, running;

	for (i = 0; i < ARRAY_SIZE(digest_rows); i++) {
		for (j = 0; j < sizeof(bytes); j++)
			bytes[j] = digest_rows[i].first + (s32)j * digest_rows[i].step;
		put_unaligned_le32(istripe_digest_of(bytes, sizeof(bytes)), wire);
		KUNIT_EXPECT_MEMEQ(test, wire, digest_rows[i].wire, sizeof(wire));
		KUNIT_EXPECT_EQ(test, istripe_digest_of(bytes, sizeof(bytes)),
				reference_crc(bytes, sizeof(bytes)));
		for (j = 0; j <= sizeof(bytes); j++) {
			running = istripe_digest_update(istripe_digest_init(), bytes, j);
			running = istripe_digest_update(running, bytes + j, sizeof(bytes) - j);
			put_unaligned_le32(istripe_digest_final(running), wire);
			KUNIT_EXPECT_MEMEQ(test, wire, digest_rows[i].wire, sizeof(wire));
		}
	}
}

static void framing_pad(struct kunit *test)
{
	u32 bytes;

	for (bytes = 0; bytes < 100; bytes++) {
		KUNIT_EXPECT_LT(test, istripe_framing_pad_bytes(bytes), 4);
		KUNIT_EXPECT_EQ(test, (bytes + istripe_framing_pad_bytes(bytes)) % 4, 0);
	}
	KUNIT_EXPECT_EQ(test, istripe_framing_pad_bytes(0xffffff), 1);
}

static struct kunit_case istripe_framing_cases[] = {
	KUNIT_CASE(framing_fragmentation),
	KUNIT_CASE(framing_lengths),
	KUNIT_CASE(framing_damage_every_bit),
	KUNIT_CASE(framing_data_too_long),
	KUNIT_CASE(framing_nothing),
	KUNIT_CASE(framing_digest_vectors),
	KUNIT_CASE(framing_pad),
	{}
};

static struct kunit_suite istripe_framing_suite = {
	.name = "istripe_framing",
	.test_cases = istripe_framing_cases,
};

kunit_test_suite(istripe_framing_suite);
