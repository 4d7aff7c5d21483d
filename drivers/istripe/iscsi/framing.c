// SPDX-License-Identifier: GPL-2.0
#include <linux/errno.h>
#include <linux/limits.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <compat/unaligned.h>

#include "iscsi/framing.h"

void istripe_framing_init(struct istripe_framing *f, bool header_digest, bool data_digest,
			  u32 max_data_bytes)
{
	*f = (struct istripe_framing) {
		.stage = ISTRIPE_FRAMING_IN_HEADER,
		.max_data_bytes = max_data_bytes,
		.header_digest = header_digest,
		.data_digest = data_digest,
	};
}

static int framing_fail(struct istripe_framing *f, int error, const char *problem)
{
	f->error = error;
	f->problem = problem;
	return error;
}

static u32 framing_ahs_bytes(const struct istripe_framing *f)
{
	return istripe_framing_header(f)->hlength * 4u;
}

static u32 framing_header_missing_bytes(const struct istripe_framing *f)
{
	u32 bytes = ISCSI_HDR_LEN;

	if (f->header_used_bytes >= ISCSI_HDR_LEN)
		bytes += framing_ahs_bytes(f) + (f->header_digest ? ISTRIPE_DIGEST_BYTES : 0);
	return bytes - f->header_used_bytes;
}

static bool framing_header_digest_right(const struct istripe_framing *f)
{
	u32 bytes = ISCSI_HDR_LEN + framing_ahs_bytes(f);

	return istripe_digest_of(f->header, bytes) == get_unaligned_le32(f->header + bytes);
}

/* The header stays readable until the next PDU's first byte overwrites it. */
static void framing_end(struct istripe_framing *f, u32 *events)
{
	*events |= ISTRIPE_FRAME_END;
	f->stage = ISTRIPE_FRAMING_IN_HEADER;
	f->header_used_bytes = 0;
}

/* The digest comes first: without it a damaged length would look like a liar's. */
static int framing_begin_data(struct istripe_framing *f, u32 *events)
{
	if (f->header_digest && !framing_header_digest_right(f))
		return framing_fail(f, -EBADMSG, "wrong header digest");
	f->data_bytes = get_unaligned_be24(istripe_framing_header(f)->dlength);
	if (f->data_bytes > f->max_data_bytes)
		return framing_fail(f, -EPROTO, "data segment longer than agreed");
	f->data_left_bytes = f->data_bytes;
	f->trailer_used_bytes = 0;
	f->crc = istripe_digest_init();
	*events |= ISTRIPE_FRAME_HEADER;
	if (f->data_bytes)
		f->stage = ISTRIPE_FRAMING_IN_DATA;
	else
		framing_end(f, events);
	return 0;
}

static int framing_feed_header(struct istripe_framing *f, const u8 *bytes, u32 len, u32 *events)
{
	u32 missing, take, used = 0;
	int ret;

	while ((missing = framing_header_missing_bytes(f))) {
		take = min(missing, len - used);
		if (!take)
			return used;
		memcpy(f->header + f->header_used_bytes, bytes + used, take);
		f->header_used_bytes += take;
		used += take;
	}
	ret = framing_begin_data(f, events);
	return ret ?: (int)used;
}

static u32 framing_trailer_bytes(const struct istripe_framing *f)
{
	return istripe_framing_pad_bytes(f->data_bytes) +
	       (f->data_digest ? ISTRIPE_DIGEST_BYTES : 0);
}

static int framing_feed_data(struct istripe_framing *f, const u8 *bytes, u32 len, u32 *events)
{
	u32 take = min(len, f->data_left_bytes);

	if (!take)
		return 0;
	if (f->data_digest)
		f->crc = istripe_digest_update(f->crc, bytes, take);
	f->data_left_bytes -= take;
	*events |= ISTRIPE_FRAME_DATA;
	if (f->data_left_bytes)
		return take;
	if (framing_trailer_bytes(f))
		f->stage = ISTRIPE_FRAMING_IN_TRAILER;
	else
		framing_end(f, events);
	return take;
}

static bool framing_data_digest_right(const struct istripe_framing *f)
{
	u32 pad_bytes = istripe_framing_pad_bytes(f->data_bytes);
	u32 digest = istripe_digest_final(istripe_digest_update(f->crc, f->trailer, pad_bytes));

	return digest == get_unaligned_le32(f->trailer + pad_bytes);
}

static int framing_feed_trailer(struct istripe_framing *f, const u8 *bytes, u32 len, u32 *events)
{
	u32 take = min(len, framing_trailer_bytes(f) - f->trailer_used_bytes);

	memcpy(f->trailer + f->trailer_used_bytes, bytes, take);
	f->trailer_used_bytes += take;
	if (f->trailer_used_bytes < framing_trailer_bytes(f))
		return take;
	if (f->data_digest && !framing_data_digest_right(f))
		return framing_fail(f, -EBADMSG, "wrong data digest");
	framing_end(f, events);
	return take;
}

int istripe_framing_feed(struct istripe_framing *f, const u8 *bytes, u32 len, u32 *events,
			 const u8 **data, u32 *data_bytes)
{
	int ret;

	*events = 0;
	*data = NULL;
	*data_bytes = 0;
	if (f->error)
		return f->error;
	len = min_t(u32, len, INT_MAX);
	switch (f->stage) {
	case ISTRIPE_FRAMING_IN_DATA:
		ret = framing_feed_data(f, bytes, len, events);
		if (ret > 0) {
			*data = bytes;
			*data_bytes = ret;
		}
		return ret;
	case ISTRIPE_FRAMING_IN_TRAILER:
		return framing_feed_trailer(f, bytes, len, events);
	default:
		return framing_feed_header(f, bytes, len, events);
	}
}

void istripe_framing_pass(struct istripe_framing *f, u32 bytes, u32 *events)
{
	*events = 0;
	framing_feed_data(f, NULL, bytes, events);
}

const struct iscsi_hdr *istripe_framing_header(const struct istripe_framing *f)
{
	return (const struct iscsi_hdr *)f->header;
}
