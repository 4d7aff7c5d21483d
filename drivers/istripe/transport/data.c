// SPDX-License-Identifier: GPL-2.0
#include <linux/highmem.h>
#include <linux/minmax.h>
#include <linux/uio.h>

#include "iscsi/digest.h"
#include "transport/data.h"

static const struct bio_vec *cursor_table(const struct istripe_cursor *cursor,
					  const struct istripe_data *data)
{
	return cursor->bio ? cursor->bio->bi_io_vec : data->bvec;
}

/* Skip bytes of the underlying memory, over the end of a bio into the next one. */
static void cursor_skip(struct istripe_cursor *cursor, const struct istripe_data *data, u32 bytes)
{
	while (bytes) {
		u32 step = min(bytes, cursor->iter.bi_size);

		bvec_iter_advance(cursor_table(cursor, data), &cursor->iter, step);
		bytes -= step;
		if (cursor->iter.bi_size || !cursor->bio || !cursor->bio->bi_next)
			break;
		cursor->bio = cursor->bio->bi_next;
		cursor->iter = cursor->bio->bi_iter;
	}
	WARN_ON_ONCE(bytes);
}

void istripe_data_set_bio(struct istripe_data *data, struct bio *bio, u32 offset_bytes,
			  u32 length_bytes)
{
	struct istripe_cursor cursor = { .bio = bio, .iter = bio->bi_iter };

	cursor_skip(&cursor, data, offset_bytes);
	*data = (struct istripe_data) {
		.bio = cursor.bio,
		.start = cursor.iter,
		.length_bytes = length_bytes,
		.first_piece_bytes = length_bytes,
	};
}

void istripe_data_set_bvec(struct istripe_data *data, const struct bio_vec *bvec)
{
	*data = (struct istripe_data) {
		.bvec = bvec,
		.start = { .bi_size = bvec->bv_len },
		.length_bytes = bvec->bv_len,
		.first_piece_bytes = bvec->bv_len,
		.copy = true,
	};
}

static void cursor_rewind(struct istripe_cursor *cursor, const struct istripe_data *data)
{
	*cursor = (struct istripe_cursor) {
		.bio = data->bio,
		.iter = data->start,
		.piece_left_bytes = data->first_piece_bytes,
	};
}

void istripe_cursor_seek(struct istripe_cursor *cursor, const struct istripe_data *data,
			 u32 position_bytes)
{
	if (position_bytes < cursor->position_bytes || !cursor->position_bytes)
		cursor_rewind(cursor, data);
	istripe_cursor_advance(cursor, data, position_bytes - cursor->position_bytes);
}

u32 istripe_cursor_segment(const struct istripe_cursor *cursor, const struct istripe_data *data,
			   u32 max_bytes, struct bio_vec *segment)
{
	u32 left = data->length_bytes - cursor->position_bytes;

	if (!left)
		return 0;
	*segment = mp_bvec_iter_bvec(cursor_table(cursor, data), cursor->iter);
	segment->bv_len = min3(segment->bv_len, cursor->piece_left_bytes, min(left, max_bytes));
	return segment->bv_len;
}

u32 istripe_cursor_iter(const struct istripe_cursor *cursor, const struct istripe_data *data,
			u32 max_bytes, struct iov_iter *iter)
{
	const struct bio_vec *table = cursor_table(cursor, data);
	const struct bvec_iter *at = &cursor->iter;
	u32 left = data->length_bytes - cursor->position_bytes;
	u32 bytes = min3(at->bi_size, cursor->piece_left_bytes, min(left, max_bytes));
	/* iter->bi_bvec_done has got another name in Linux 7. */
	u32 begun = mp_bvec_iter_offset(table, *at) - table[at->bi_idx].bv_offset;

	/* Its length ends it: a clone of a bio does not know the number of its segments. */
	iov_iter_bvec(iter, ITER_DEST, table + at->bi_idx, BIO_MAX_VECS, begun + bytes);
	iov_iter_advance(iter, begun);
	return bytes;
}

void istripe_cursor_advance(struct istripe_cursor *cursor, const struct istripe_data *data,
			    u32 bytes)
{
	while (bytes) {
		u32 step = min(bytes, cursor->piece_left_bytes);

		cursor_skip(cursor, data, step);
		cursor->position_bytes += step;
		cursor->piece_left_bytes -= step;
		bytes -= step;
		if (cursor->piece_left_bytes || cursor->position_bytes == data->length_bytes)
			continue;
		cursor_skip(cursor, data, data->gap_bytes);
		cursor->piece_left_bytes = data->piece_bytes;
	}
}

u32 istripe_data_digest(u32 running, const struct bio_vec *segment)
{
	struct bio_vec part;
	void *mapped;
	u32 done;

	for (done = 0; done < segment->bv_len; done += part.bv_len) {
		part = istripe_segment_in_page(segment, done);
		mapped = kmap_local_page(part.bv_page);
		running = istripe_digest_update(running, mapped + part.bv_offset, part.bv_len);
		kunmap_local(mapped);
	}
	return running;
}

static void segment_copy(const struct bio_vec *segment, u8 *buffer, bool out)
{
	struct bio_vec part;
	u32 done;

	for (done = 0; done < segment->bv_len; done += part.bv_len) {
		part = istripe_segment_in_page(segment, done);
		if (out)
			memcpy_from_page(buffer + done, part.bv_page, part.bv_offset, part.bv_len);
		else
			memcpy_to_page(part.bv_page, part.bv_offset, buffer + done, part.bv_len);
	}
}

static void cursor_copy(struct istripe_cursor *cursor, const struct istripe_data *data, u8 *buffer,
			u32 bytes, bool out)
{
	struct bio_vec segment;
	u32 step;

	while (bytes) {
		step = istripe_cursor_segment(cursor, data, bytes, &segment);
		if (WARN_ON_ONCE(!step))
			return;
		segment_copy(&segment, buffer, out);
		istripe_cursor_advance(cursor, data, step);
		buffer += step;
		bytes -= step;
	}
}

void istripe_cursor_copy_in(struct istripe_cursor *cursor, const struct istripe_data *data,
			    const void *from, u32 bytes)
{
	cursor_copy(cursor, data, (u8 *)from, bytes, false);
}

void istripe_cursor_copy_out(struct istripe_cursor *cursor, const struct istripe_data *data,
			     void *to, u32 bytes)
{
	cursor_copy(cursor, data, to, bytes, true);
}
