/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A tx batch: PDUs that TCP is given in one call, headers and data. With a call for each PDU, TCP
 * would send at the end of each whatever makes a full segment.
 *
 * Data go by reference to their pages. So do headers, padding and digests, which are in a page of
 * the batch, the room. TCP reads from there until all of it is acknowledged, so bytes given to TCP
 * are never written again; the page is used from its beginning again when the batch has the only
 * reference to it. Memory that must not be given by reference is copied by TCP, and then is a
 * batch of its own.
 *
 * A batch is gathered, sent as far as TCP takes it, then gathered anew. A PDU that is longer than a
 * batch goes on in the next one. A batch has one user at a time: the transmit side.
 */
#ifndef ISTRIPE_TRANSPORT_TX_BATCH_H
#define ISTRIPE_TRANSPORT_TX_BATCH_H

#include <linux/bvec.h>
#include <linux/list.h>
#include <linux/types.h>
#include <scsi/iscsi_proto.h>

struct istripe_task;
struct istripe_zerocopy;
struct socket;

#define ISTRIPE_TX_BATCH_HEADERS	16
#define ISTRIPE_TX_BATCH_SEGMENTS	64

/* A PDU that is not a task's: NOP-Out, task management, logout. */
struct istripe_control {
	struct list_head entry;
	struct iscsi_hdr header;
	u32 payload_bytes;
	u8 *payload;			/* behind this structure; NULL: zeros */
};

/* A PDU with a data segment, which is of @task or of @control. */
struct istripe_tx_batch_pdu {
	struct istripe_task *task;		/* with a reference for this PDU */
	struct istripe_control *control;	/* freed with this PDU */
	u32 payload_bytes;		/* length of the data segment */
	u32 gathered_bytes;		/* of these, in this batch and in those before */
	u32 crc;			/* running digest of @gathered_bytes */
	u32 begin_bytes;		/* in the batch, behind the header */
	u32 end_bytes;			/* in the batch, when it is @whole */
	bool whole;			/* nothing is left for the next batch */
};

enum istripe_tx_batch_way {
	ISTRIPE_TX_BATCH_ANY_WAY,	/* only headers so far */
	ISTRIPE_TX_BATCH_BY_REFERENCE,
	ISTRIPE_TX_BATCH_BY_COPY,
};

struct istripe_tx_batch_room {
	struct page *page;
	u32 used_bytes;
};

struct istripe_tx_batch {
	struct istripe_tx_batch_room own;	/* TCP may have references to its page */
	struct istripe_tx_batch_room reserve;	/* TCP never has: for want of memory */
	struct istripe_tx_batch_room *room;	/* the one of this batch */
	enum istripe_tx_batch_way way;
	bool header_digest;
	bool data_digest;
	bool corked;			/* the last send said MSG_MORE */
	u64 total_bytes;		/* that TCP has taken, of all batches */
	u32 header_count;
	u32 bytes;
	u32 sent_bytes;
	int error;
	u32 segment_first;		/* the first that is not sent, or not all of it */
	u32 segment_count;
	struct bio_vec segments[ISTRIPE_TX_BATCH_SEGMENTS];
	u32 pdu_first;			/* the first that is not sent, or not all of it */
	u32 pdu_count;
	/* One may go on from the batch before. */
	struct istripe_tx_batch_pdu pdus[ISTRIPE_TX_BATCH_HEADERS + 1];
};

/* @batch is zeroed. After -ENOMEM istripe_tx_batch_exit() is due all the same. GFP_KERNEL. */
int istripe_tx_batch_init(struct istripe_tx_batch *batch);

/* For a connection that is stopped: its tasks belong to the session again. */
void istripe_tx_batch_exit(struct istripe_tx_batch *batch);

/* Begins a batch with the rest of the last one's PDU. Memory reserves may be used. */
void istripe_tx_batch_begin(struct istripe_tx_batch *batch);

/* True when there is no place for another PDU: send it. */
bool istripe_tx_batch_is_full(const struct istripe_tx_batch *batch);

/* Has TCP taken all of it? True for an empty one, too. */
bool istripe_tx_batch_is_sent(const struct istripe_tx_batch *batch);

/* Where the next header is encoded: ISCSI_HDR_LEN bytes, aligned to 4. @batch is not full. */
void *istripe_tx_batch_header_room(struct istripe_tx_batch *batch);

/*
 * Adds the header in istripe_tx_batch_header_room() and its digest. The data segment must be added
 * at once.
 */
void istripe_tx_batch_add_header(struct istripe_tx_batch *batch);

/*
 * Adds @bytes (> 0) from the task's tx_cursor as the data segment of the last header. A reference
 * to the task goes over to the batch.
 */
void istripe_tx_batch_add_task(struct istripe_tx_batch *batch, struct istripe_task *task,
			       u32 bytes);

/* Adds the payload of @control, which goes over to the batch, behind the last header. */
void istripe_tx_batch_add_control(struct istripe_tx_batch *batch,
				  struct istripe_control *control);

/*
 * Lets TCP take what it can of a batch that is not sent; nobody else writes to @sock. @zerocopy
 * counts the segments with pages. With @more another batch follows at once. Tasks and control PDUs
 * whose last byte TCP has taken are let go of. Returns the bytes taken (> 0), -EAGAIN when the
 * socket is full, -EIO when a task has less data than its PDUs, or another error of TCP.
 */
int istripe_tx_batch_send(struct istripe_tx_batch *batch, struct socket *sock,
			  struct istripe_zerocopy *zerocopy, bool more);

/* Nothing follows after all: TCP must not wait with what was sent with MSG_MORE. */
void istripe_tx_batch_push(struct istripe_tx_batch *batch, struct socket *sock);

#endif
