/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The memory that one SCSI command reads from or writes to, and a cursor over it.
 *
 * A task's data are pieces of a request's bios, cut at a regular stride: piece 0
 * may be short, every further one has piece_bytes and starts gap_bytes after the
 * end of the one before. The description is constant while the task lives; a
 * cursor is a private position in it, so that the transmit and the receive side
 * (and a second R2T) each walk the same data without touching the bios.
 */
#ifndef ISTRIPE_TRANSPORT_DATA_H
#define ISTRIPE_TRANSPORT_DATA_H

#include <linux/bio.h>
#include <linux/bvec.h>

/**
 * struct istripe_data - what a task transfers
 * @bio:		first bio of the chain, or NULL when @bvec describes all
 * @bvec:		the segments when there is no bio
 * @start:		where in @bio or @bvec the first piece starts
 * @length_bytes:	bytes of all pieces together
 * @first_piece_bytes:	length of the first piece; >= @length_bytes: not strided
 * @piece_bytes:	length of every further piece
 * @gap_bytes:		bytes to skip between two pieces
 * @copy:		memory that must not be handed to the network by reference
 */
struct istripe_data {
	struct bio *bio;
	const struct bio_vec *bvec;
	struct bvec_iter start;
	u32 length_bytes;
	u32 first_piece_bytes;
	u32 piece_bytes;
	u32 gap_bytes;
	bool copy;
};

struct istripe_cursor {
	struct bio *bio;
	struct bvec_iter iter;
	u32 position_bytes;		/* bytes of the task's data behind the cursor */
	u32 piece_left_bytes;
};

/**
 * istripe_data_set_bio() - describe pieces of a request's bios
 * @data: filled
 * @bio: first bio of the request
 * @offset_bytes: where in the request the first piece starts
 * @length_bytes: bytes of all pieces, > 0
 *
 * The caller sets the stride afterwards when the data are strided.
 *
 * Context: any; the bios must not change before the task is done.
 */
void istripe_data_set_bio(struct istripe_data *data, struct bio *bio, u32 offset_bytes,
			  u32 length_bytes);

/**
 * istripe_data_set_bvec() - describe one plain buffer
 * @data: filled
 * @bvec: one segment, kept by the caller until the task is done
 * @copy: true when the memory may be slab memory or is reused before TCP lets go of it
 *
 * Context: any.
 */
void istripe_data_set_bvec(struct istripe_data *data, const struct bio_vec *bvec, bool copy);

/**
 * istripe_cursor_seek() - put a cursor at a position of a task's data
 * @cursor: moved; a zeroed one is good to start with
 * @data: what it walks
 * @position_bytes: 0..length_bytes
 *
 * Forward moves cost the segments in between, backward moves start again.
 *
 * Context: any; one user of @cursor at a time.
 */
void istripe_cursor_seek(struct istripe_cursor *cursor, const struct istripe_data *data,
			 u32 position_bytes);

/**
 * istripe_cursor_segment() - the contiguous memory at the cursor
 * @cursor: position
 * @data: what it walks
 * @max_bytes: at most this much, > 0
 * @segment: filled; physically contiguous, may span pages
 *
 * Context: any.
 * Return: bytes in @segment, 0 at the end of the data.
 */
u32 istripe_cursor_segment(const struct istripe_cursor *cursor, const struct istripe_data *data,
			   u32 max_bytes, struct bio_vec *segment);

/**
 * istripe_cursor_advance() - move a cursor forward
 * @cursor: moved
 * @data: what it walks
 * @bytes: not beyond the end of the data
 *
 * Context: any.
 */
void istripe_cursor_advance(struct istripe_cursor *cursor, const struct istripe_data *data,
			    u32 bytes);

/**
 * istripe_cursor_copy_in() - copy received bytes to where the cursor stands
 * @cursor: moved by @bytes
 * @data: what it walks
 * @from: source
 * @bytes: not beyond the end of the data
 *
 * Context: any; maps pages with kmap_local.
 */
void istripe_cursor_copy_in(struct istripe_cursor *cursor, const struct istripe_data *data,
			    const void *from, u32 bytes);

/**
 * istripe_data_digest() - cover a segment with a running digest
 * @running: from istripe_digest_init() or an earlier update
 * @segment: contiguous memory, may span pages
 *
 * Context: any; maps pages with kmap_local.
 * Return: the new running value.
 */
u32 istripe_data_digest(u32 running, const struct bio_vec *segment);

#endif
