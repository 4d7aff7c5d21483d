/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The memory that one SCSI command reads from or writes to, and a cursor over it.
 *
 * A task's data are pieces of a request's bios, cut at a regular stride: piece 0 may be short,
 * every further piece has piece_bytes and starts gap_bytes after the end of the one before. The
 * description is constant while the task lives. A cursor is a private position in it, so that both
 * sides walk the same data without touching the bios.
 */
#ifndef ISTRIPE_TRANSPORT_DATA_H
#define ISTRIPE_TRANSPORT_DATA_H

#include <linux/bio.h>
#include <linux/bvec.h>
#include <linux/minmax.h>
#include <linux/mm.h>

struct iov_iter;

struct istripe_data {
	struct bio *bio;		/* first of the chain; NULL: @bvec has all */
	const struct bio_vec *bvec;
	struct bvec_iter start;		/* in @bio or @bvec */
	u32 length_bytes;		/* of all pieces */
	u32 first_piece_bytes;		/* >= length_bytes: not strided */
	u32 piece_bytes;		/* of every further piece */
	u32 gap_bytes;			/* between two pieces */
	bool copy;			/* must not be given to the network by reference */
};

struct istripe_cursor {
	struct bio *bio;
	struct bvec_iter iter;
	u32 position_bytes;		/* bytes of the task's data behind the cursor */
	u32 piece_left_bytes;
};

/**
 * istripe_data_set_bio() - describe pieces of a request's bios
 * @data: filled; the caller sets the stride afterwards when the data are strided
 * @bio: first bio of the request
 * @offset_bytes: where in the request the first piece starts
 * @length_bytes: bytes of all pieces, > 0
 * Context: any; the bios must not change before the task is done.
 */
void istripe_data_set_bio(struct istripe_data *data, struct bio *bio, u32 offset_bytes,
			  u32 length_bytes);

/**
 * istripe_data_set_bvec() - describe one plain buffer
 * @data: filled
 * @bvec: one segment, kept by the caller until the task is done
 *
 * TCP gets a copy: this may be slab memory, or is reused before TCP has let go of it.
 *
 * Context: any.
 */
void istripe_data_set_bvec(struct istripe_data *data, const struct bio_vec *bvec);

/**
 * istripe_cursor_seek() - move a cursor
 * @cursor: a zeroed one is good to start with; it has one user at a time
 * @data: of the task
 * @position_bytes: where to; forward costs the segments in between, backward starts again
 * Context: any.
 */
void istripe_cursor_seek(struct istripe_cursor *cursor, const struct istripe_data *data,
			 u32 position_bytes);

/*
 * The physically contiguous memory at the cursor, at most @max_bytes (> 0) and perhaps of several
 * pages. Returns its bytes, 0 at the end of the data.
 */
u32 istripe_cursor_segment(const struct istripe_cursor *cursor, const struct istripe_data *data,
			   u32 max_bytes, struct bio_vec *segment);

/*
 * Lets @iter go over the memory at the cursor, perhaps of many segments, for data that come in: at
 * most @max_bytes (> 0), less at the end of a bio or a piece. Returns its bytes, 0 at the end of
 * the data.
 */
u32 istripe_cursor_iter(const struct istripe_cursor *cursor, const struct istripe_data *data,
			u32 max_bytes, struct iov_iter *iter);

/* Not beyond the end of the data. */
void istripe_cursor_advance(struct istripe_cursor *cursor, const struct istripe_data *data,
			    u32 bytes);

/**
 * istripe_cursor_copy_in() - copy to the cursor, and move it
 * @cursor: position
 * @data: of the task
 * @from: bytes
 * @bytes: how many; not beyond the end of the data
 * Context: any; uses kmap_local.
 */
void istripe_cursor_copy_in(struct istripe_cursor *cursor, const struct istripe_data *data,
			    const void *from, u32 bytes);

/**
 * istripe_cursor_copy_out() - copy from the cursor, and move it
 * @cursor: position
 * @data: of the task
 * @to: room for @bytes
 * @bytes: how many; not beyond the end of the data
 * Context: any; uses kmap_local.
 */
void istripe_cursor_copy_out(struct istripe_cursor *cursor, const struct istripe_data *data,
			     void *to, u32 bytes);

/* The part of a segment behind @done bytes that lies in one page. */
static inline struct bio_vec istripe_segment_in_page(const struct bio_vec *segment, u32 done)
{
	u32 offset = segment->bv_offset + done;
	u32 in_page = offset_in_page(offset);

	return (struct bio_vec) {
		.bv_page = segment->bv_page + offset / PAGE_SIZE,
		.bv_offset = in_page,
		.bv_len = min_t(u32, segment->bv_len - done, PAGE_SIZE - in_page),
	};
}

/* Covers a segment, perhaps of several pages, with a running digest. Uses kmap_local. */
u32 istripe_data_digest(u32 running, const struct bio_vec *segment);

#endif
