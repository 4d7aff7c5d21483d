/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A load: PDUs that TCP is given in one call, headers and data. With a call for each, TCP
 * would send at the end of each whatever makes a full segment.
 *
 * Data go by reference to their pages. So do the headers between them, and the padding and
 * digests behind them: they lie in a page of the load's own, the room. TCP reads from there
 * until all of it is acknowledged, so what it has been given is not written any more; the
 * page is used from its beginning again when nobody else has a reference to it. What must
 * not be given by reference is copied by TCP, and then makes a load of its own.
 *
 * A load is gathered, then sent as far as TCP takes it, then gathered anew. A PDU that is
 * longer than a load goes on in the next one. All of this is the transmit side's.
 */
#ifndef ISTRIPE_TRANSPORT_TX_BATCH_H
#define ISTRIPE_TRANSPORT_TX_BATCH_H

#include <linux/bvec.h>
#include <linux/list.h>
#include <linux/types.h>
#include <scsi/iscsi_proto.h>

struct istripe_task;
struct socket;

#define ISTRIPE_TX_BATCH_HEADERS	16
#define ISTRIPE_TX_BATCH_SEGMENTS	64

/* A PDU that is not a task's: NOP-Out, task management, logout. */
struct istripe_control {
	struct list_head entry;
	struct iscsi_hdr header;
	u32 payload_bytes;
	u8 *payload;			/* behind this structure, if any */
};

/**
 * struct istripe_tx_batch_pdu - a PDU with a data segment
 * @task: whose data they are, with a hold for this PDU; or NULL
 * @control: whose they are else, freed with this PDU
 * @payload_bytes: length of the data segment
 * @gathered_bytes: what of it is in this load, and in those before
 * @crc: running digest of @gathered_bytes
 * @begin_bytes: where in the load it begins, behind the header
 * @end_bytes: where in the load it ends, when it is @whole
 * @whole: nothing is left for the next load
 */
struct istripe_tx_batch_pdu {
	struct istripe_task *task;
	struct istripe_control *control;
	u32 payload_bytes;
	u32 gathered_bytes;
	u32 crc;
	u32 begin_bytes;
	u32 end_bytes;
	bool whole;
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
	struct istripe_tx_batch_room *room;	/* the one of this load */
	enum istripe_tx_batch_way way;
	bool header_digest;
	bool data_digest;
	bool corked;			/* the last send said MSG_MORE */
	u32 header_count;
	u32 bytes;
	u32 sent_bytes;
	int error;
	u32 segment_first;		/* the first that is not sent, or not all of it */
	u32 segment_count;
	struct bio_vec segments[ISTRIPE_TX_BATCH_SEGMENTS];
	u32 pdu_first;			/* the first that is not sent, or not all of it */
	u32 pdu_count;
	/* One may go on from the load before. */
	struct istripe_tx_batch_pdu pdus[ISTRIPE_TX_BATCH_HEADERS + 1];
};

/**
 * istripe_tx_batch_init() - make room for headers
 * @batch: zeroed
 *
 * Context: process, GFP_KERNEL.
 * Return: 0; -ENOMEM, then istripe_tx_batch_exit() is due all the same.
 */
int istripe_tx_batch_init(struct istripe_tx_batch *batch);

/**
 * istripe_tx_batch_exit() - free what a load has
 * @batch: of a connection that is stopped; its tasks belong to the session again
 *
 * Context: process.
 */
void istripe_tx_batch_exit(struct istripe_tx_batch *batch);

/**
 * istripe_tx_batch_begin() - begin a load, with what is left of a PDU of the last one
 * @batch: empty or sent
 *
 * Context: transmit side; memory reserves may be used.
 */
void istripe_tx_batch_begin(struct istripe_tx_batch *batch);

/**
 * istripe_tx_batch_is_full() - is there no place for another PDU
 * @batch: begun
 *
 * Context: transmit side.
 * Return: true: send it.
 */
bool istripe_tx_batch_is_full(const struct istripe_tx_batch *batch);

/**
 * istripe_tx_batch_is_sent() - has TCP taken all of it
 * @batch: gathered
 *
 * Context: transmit side.
 * Return: true, also of an empty one.
 */
bool istripe_tx_batch_is_sent(const struct istripe_tx_batch *batch);

/**
 * istripe_tx_batch_header_room() - where the next header is encoded
 * @batch: not full
 *
 * Context: transmit side.
 * Return: ISCSI_HDR_LEN bytes, aligned to 4.
 */
void *istripe_tx_batch_header_room(struct istripe_tx_batch *batch);

/**
 * istripe_tx_batch_add_header() - add a header
 * @batch: has it in istripe_tx_batch_header_room()
 *
 * Adds the header digest. The data segment must be added at once.
 *
 * Context: transmit side.
 */
void istripe_tx_batch_add_header(struct istripe_tx_batch *batch);

/**
 * istripe_tx_batch_add_task() - add the data segment of a task's PDU
 * @batch: has the header
 * @task: its tx_cursor stands at the data; a hold on it goes over to the load
 * @bytes: length of the data segment, > 0
 *
 * Context: transmit side.
 */
void istripe_tx_batch_add_task(struct istripe_tx_batch *batch, struct istripe_task *task,
			       u32 bytes);

/**
 * istripe_tx_batch_add_control() - add the data segment of a control PDU
 * @batch: has the header
 * @control: with a payload; it goes over to the load
 *
 * Context: transmit side.
 */
void istripe_tx_batch_add_control(struct istripe_tx_batch *batch,
				  struct istripe_control *control);

/**
 * istripe_tx_batch_send() - let TCP take what it can of a load
 * @batch: not sent
 * @sock: where to; nobody else writes to it
 * @more: another load follows at once
 *
 * Tasks and control PDUs whose last byte TCP has taken are let go of.
 *
 * Context: transmit side.
 * Return: bytes taken, > 0; -EAGAIN the socket is full; -EIO a task has less data than
 * its PDUs; or another -errno of TCP.
 */
int istripe_tx_batch_send(struct istripe_tx_batch *batch, struct socket *sock, bool more);

/**
 * istripe_tx_batch_push() - nothing follows after all: TCP must not wait for more
 * @batch: sent, or the socket is full
 * @sock: where it was sent
 *
 * Context: transmit side.
 */
void istripe_tx_batch_push(struct istripe_tx_batch *batch, struct socket *sock);

#endif
