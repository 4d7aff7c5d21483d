// SPDX-License-Identifier: GPL-2.0
/*
 * One stream cut in two ways must tell the same story: same headers, same data, same
 * ends, same error at the same place. The first bytes of the input choose digests, limit
 * and cuts, the others are the stream. A valid digest is hard to guess, so the input may
 * ask for the digests in it to be put right first.
 */
#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <compat/unaligned.h>

#include "iscsi/framing.h"

int LLVMFuzzerTestOneInput(const u8 *bytes, size_t size);

#define STREAM_MAX	8192

static void require(bool holds)
{
	if (!holds)
		__builtin_trap();
}

struct setting {
	bool header_digest, data_digest, repair;
	u32 max_data_bytes;
	u32 cut_seed;
};

/* The observations of a run that do not depend on the cuts. */
struct story {
	u32 headers, ends, data_bytes;
	u64 hash;
	int error;
	const char *problem;
};

static void story_add(struct story *story, const void *bytes, u32 len)
{
	const u8 *b = bytes;

	while (len--)
		story->hash = (story->hash ^ *b++) * 0x100000001b3ull;
}

static u32 next_cut(u32 *seed, u32 left)
{
	if (!*seed)
		return left;
	*seed = *seed * 1664525 + 1013904223;
	return min(left, 1 + (*seed >> 16) % (*seed & 0x8000 ? 7 : 300));
}

static void story_events(struct story *story, const struct istripe_framing *f, u32 events,
			 const u8 *fed, u32 used, const u8 *data, u32 data_bytes)
{
	require(!!(events & ISTRIPE_FRAME_DATA) == !!data_bytes);
	if (events & ISTRIPE_FRAME_HEADER) {
		require(story->headers == story->ends);
		require(f->data_bytes <= f->max_data_bytes);
		story->headers++;
		story->data_bytes = 0;
		story_add(story, istripe_framing_header(f), ISCSI_HDR_LEN);
	}
	if (events & ISTRIPE_FRAME_DATA) {
		require(data == fed && data_bytes <= used);
		story_add(story, data, data_bytes);
		story->data_bytes += data_bytes;
		require(story->data_bytes <= f->data_bytes);
	}
	if (events & ISTRIPE_FRAME_END) {
		require(story->data_bytes == f->data_bytes);
		story->ends++;
		require(story->headers == story->ends);
	}
}

static struct story story_tell(const u8 *stream, u32 bytes, const struct setting *setting, u32 seed)
{
	static struct istripe_framing f;
	struct story story = {};
	u32 position = 0, len, events, data_bytes;
	const u8 *data;
	int used;

	istripe_framing_init(&f, setting->header_digest, setting->data_digest,
			     setting->max_data_bytes);
	while (position < bytes) {
		len = next_cut(&seed, bytes - position);
		used = istripe_framing_feed(&f, stream + position, len, &events, &data,
					    &data_bytes);
		if (used < 0) {
			require(f.problem && !events && !data);
			break;
		}
		require(used > 0 && used <= len && !f.problem);
		position += used;
		story_events(&story, &f, events, stream + position - used, used, data, data_bytes);
	}
	story.error = f.error;
	story.problem = f.problem;
	return story;
}

/* Walk the stream as its headers say and write right digests where they belong. */
static void stream_repair(u8 *stream, u32 bytes, const struct setting *setting)
{
	u32 position = 0, header_bytes, data_bytes;

	while (bytes - position >= ISCSI_HDR_LEN) {
		header_bytes = ISCSI_HDR_LEN + stream[position + 4] * 4;
		data_bytes = get_unaligned_be24(stream + position + 5);
		if (header_bytes + 4 > bytes - position)
			return;
		if (setting->header_digest) {
			put_unaligned_le32(istripe_digest_of(stream + position, header_bytes),
					   stream + position + header_bytes);
			header_bytes += 4;
		}
		position += header_bytes;
		data_bytes += istripe_framing_pad_bytes(data_bytes);
		if (data_bytes + 4 > bytes - position)
			return;
		if (setting->data_digest && data_bytes) {
			put_unaligned_le32(istripe_digest_of(stream + position, data_bytes),
					   stream + position + data_bytes);
			data_bytes += 4;
		}
		position += data_bytes;
	}
}

int LLVMFuzzerTestOneInput(const u8 *bytes, size_t size)
{
	static u8 stream[STREAM_MAX];
	struct setting setting;
	struct story whole, cut;
	u32 len;

	if (size < 4)
		return 0;
	setting = (struct setting) {
		.header_digest = bytes[0] & 1,
		.data_digest = bytes[0] & 2,
		.repair = bytes[0] & 4,
		.max_data_bytes = bytes[1] * 32,
		.cut_seed = get_unaligned_be16(bytes + 2) + 1,
	};
	len = min(size - 4, (size_t)STREAM_MAX);
	memcpy(stream, bytes + 4, len);
	if (setting.repair)
		stream_repair(stream, len, &setting);
	whole = story_tell(stream, len, &setting, 0);
	cut = story_tell(stream, len, &setting, setting.cut_seed);
	require(whole.headers == cut.headers && whole.ends == cut.ends);
	require(whole.hash == cut.hash && whole.error == cut.error);
	require(whole.problem == cut.problem);
	if (setting.repair)
		require(whole.error != -EBADMSG);
	return 0;
}
