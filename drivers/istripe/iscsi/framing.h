/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Framing: a stream of bytes to PDUs (RFC 7143 section 11.2).
 *
 *	BHS 48 | AHS 0..1020 | header digest 0/4 | data | pad 0..3 | data digest 0/4
 *
 * The stream may be cut anywhere. Headers, padding and digests are collected here; data never are:
 * the caller gets pointers into what it fed. It loops:
 *
 *	while (len) {
 *		used = istripe_framing_feed(f, bytes, len, &events, &data, &data_bytes);
 *		if (used < 0) the connection is over, f->problem says why
 *		if (events & ISTRIPE_FRAME_HEADER) decode istripe_framing_header(f)
 *		if (events & ISTRIPE_FRAME_DATA) place data_bytes at data
 *		if (events & ISTRIPE_FRAME_END) the PDU is whole: act on it
 *		bytes += used, len -= used
 *	}
 *
 * Data are handed out before their digest is known. Nothing may be concluded from them before
 * ISTRIPE_FRAME_END, which never comes when the digest is wrong.
 */
#ifndef ISTRIPE_ISCSI_FRAMING_H
#define ISTRIPE_ISCSI_FRAMING_H

#include <linux/types.h>
#include <scsi/iscsi_proto.h>

#include "iscsi/digest.h"

/* TotalAHSLength is one byte and counts words. */
#define ISTRIPE_FRAMING_AHS_BYTES_MAX	(255 * 4)
#define ISTRIPE_FRAMING_HEADER_BYTES_MAX \
	(ISCSI_HDR_LEN + ISTRIPE_FRAMING_AHS_BYTES_MAX + ISTRIPE_DIGEST_BYTES)
#define ISTRIPE_FRAMING_TRAILER_BYTES_MAX	(ISCSI_PAD_LEN - 1 + ISTRIPE_DIGEST_BYTES)

#define ISTRIPE_FRAME_HEADER	0x1u	/* header complete, its digest verified */
#define ISTRIPE_FRAME_DATA	0x2u	/* data to be placed now */
#define ISTRIPE_FRAME_END	0x4u	/* PDU complete, its data digest verified */

enum istripe_framing_stage {
	ISTRIPE_FRAMING_IN_HEADER,
	ISTRIPE_FRAMING_IN_DATA,
	ISTRIPE_FRAMING_IN_TRAILER,	/* padding and data digest */
};

/*
 * Where in its stream of PDUs a connection is. All fields are private but for @data_bytes (valid
 * from ISTRIPE_FRAME_HEADER to ISTRIPE_FRAME_END) and @problem.
 */
struct istripe_framing {
	u8 header[ISTRIPE_FRAMING_HEADER_BYTES_MAX] __aligned(8);	/* BHS, AHS, digest */
	u8 trailer[ISTRIPE_FRAMING_TRAILER_BYTES_MAX];	/* its padding and data digest */
	enum istripe_framing_stage stage;	/* what the next byte belongs to */
	u32 header_used_bytes;	/* of @header */
	u32 trailer_used_bytes;	/* of @trailer */
	u32 data_bytes;		/* data segment of the current PDU, without padding */
	u32 data_left_bytes;	/* of those, not yet handed out */
	u32 max_data_bytes;	/* longest data segment that is accepted */
	u32 crc;		/* running data digest */
	bool header_digest;	/* headers carry a digest */
	bool data_digest;	/* data segments carry a digest */
	int error;		/* first error; framing is over */
	const char *problem;	/* why, in words; NULL without an error */
};

/**
 * istripe_framing_init() - stand before the first byte of a PDU
 * @f: overwritten
 * @header_digest: HeaderDigest=CRC32C was negotiated
 * @data_digest: DataDigest=CRC32C was negotiated
 * @max_data_bytes: the MaxRecvDataSegmentLength that we declared
 *
 * The login phase has no digests and 8192 bytes; call again when it is over.
 */
void istripe_framing_init(struct istripe_framing *f, bool header_digest, bool data_digest,
			  u32 max_data_bytes);

/**
 * istripe_framing_feed() - take the next bytes of the stream
 * @f: framing
 * @bytes: where they are
 * @len: how many there are
 * @events: set to a mask of ISTRIPE_FRAME_*, 0 when more bytes are needed
 * @data: with ISTRIPE_FRAME_DATA, set to data within @bytes, else NULL
 * @data_bytes: with ISTRIPE_FRAME_DATA, set to their number, > 0, else 0
 *
 * Consumes up to the next event and at least one byte when @len > 0. HEADER and END come together
 * for a PDU without data, DATA and END when neither padding nor a digest follows.
 *
 * Context: the receive side of the connection.
 * Return: bytes consumed, 0..@len; -EPROTO the data segment is longer than agreed; -EBADMSG a
 * digest is wrong. After an error always that error.
 */
int istripe_framing_feed(struct istripe_framing *f, const u8 *bytes, u32 len, u32 *events,
			 const u8 **data, u32 *data_bytes);

/**
 * istripe_framing_plain_data() - how many bytes of a data segment without a digest come next
 * @f: framing
 * Context: the receive side of the connection.
 * Return: their number, 0 when something else comes next.
 */
static inline u32 istripe_framing_plain_data(const struct istripe_framing *f)
{
	return f->stage == ISTRIPE_FRAMING_IN_DATA && !f->data_digest ? f->data_left_bytes : 0;
}

/**
 * istripe_framing_pass() - take data that the caller has placed by itself
 * @f: framing
 * @bytes: > 0, at most istripe_framing_plain_data()
 * @events: set as by istripe_framing_feed()
 * Context: the receive side of the connection.
 */
void istripe_framing_pass(struct istripe_framing *f, u32 bytes, u32 *events);

/**
 * istripe_framing_header() - the current PDU's basic header segment
 * @f: framing, between ISTRIPE_FRAME_HEADER and the feed after ISTRIPE_FRAME_END
 * Context: the receive side of the connection.
 * Return: 48 bytes within @f.
 */
const struct iscsi_hdr *istripe_framing_header(const struct istripe_framing *f);

/**
 * istripe_framing_pad_bytes() - zero bytes behind a segment, to whole words (RFC 7143 11.1)
 * @data_bytes: length of the segment
 * Return: 0..3.
 */
static inline u32 istripe_framing_pad_bytes(u32 data_bytes)
{
	return -data_bytes & (ISCSI_PAD_LEN - 1);
}

#endif
