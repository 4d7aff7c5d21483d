// SPDX-License-Identifier: GPL-2.0
#include <linux/align.h>
#include <linux/build_bug.h>
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/page_ref.h>
#include <linux/pgtable.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/tcp.h>
#include <compat/sock.h>
#include <compat/unaligned.h>

#include "iscsi/digest.h"
#include "iscsi/framing.h"
#include "transport/task.h"
#include "transport/tx_batch.h"
#include "transport/zerocopy.h"

/* No PDU begins behind so many bytes: a ping would have to wait for them. */
#define TX_BATCH_BYTES	SZ_128K
#define SEND_FLAGS	(MSG_DONTWAIT | MSG_NOSIGNAL)

/* A header, padding, and the digests of both, the header aligned. */
#define PDU_ROOM_BYTES	(ISCSI_HDR_LEN + 2 * ISTRIPE_DIGEST_BYTES + 2 * ISCSI_PAD_LEN)
/* The most that a batch needs: it has one page from beginning to end. */
#define TX_BATCH_ROOM_BYTES	((ISTRIPE_TX_BATCH_HEADERS + 1) * PDU_ROOM_BYTES)
/* Segments needed to begin a PDU: header, data, trailer. */
#define PDU_SEGMENTS	3

int istripe_tx_batch_init(struct istripe_tx_batch *batch)
{
	BUILD_BUG_ON(TX_BATCH_ROOM_BYTES > PAGE_SIZE);
	batch->room = &batch->reserve;
	batch->own.page = alloc_page(GFP_KERNEL);
	batch->reserve.page = alloc_page(GFP_KERNEL);
	return batch->own.page && batch->reserve.page ? 0 : -ENOMEM;
}

/* TCP has references of its own to pages that it still needs. */
void istripe_tx_batch_exit(struct istripe_tx_batch *batch)
{
	u32 i;

	for (i = batch->pdu_first; i < batch->pdu_count; i++)
		kfree(batch->pdus[i].control);
	if (batch->own.page)
		put_page(batch->own.page);
	if (batch->reserve.page)
		put_page(batch->reserve.page);
}

/*
 * Room that TCP may refer to. Used bytes are not written again while there is another reference to
 * the page: of a segment in a NIC, or of one that waits for retransmission.
 */
static bool tx_batch_make_room(struct istripe_tx_batch_room *own)
{
	struct page *page;

	if (page_ref_count(own->page) == 1)
		own->used_bytes = 0;
	if (own->used_bytes + TX_BATCH_ROOM_BYTES <= PAGE_SIZE)
		return true;
	page = alloc_page(GFP_NOIO | __GFP_NOWARN);
	if (!page)
		return false;
	put_page(own->page);
	own->page = page;
	own->used_bytes = 0;
	return true;
}

/* Without memory TCP copies from the reserve. */
static void tx_batch_take_room(struct istripe_tx_batch *batch)
{
	if (tx_batch_make_room(&batch->own)) {
		batch->room = &batch->own;
		batch->way = ISTRIPE_TX_BATCH_ANY_WAY;
		return;
	}
	batch->room = &batch->reserve;
	batch->room->used_bytes = 0;
	batch->way = ISTRIPE_TX_BATCH_BY_COPY;
}

static bool tx_batch_has_segment(const struct istripe_tx_batch *batch)
{
	return batch->segment_count < ISTRIPE_TX_BATCH_SEGMENTS;
}

static bool segment_follows(const struct bio_vec *one, const struct bio_vec *next)
{
	return one->bv_page == next->bv_page && one->bv_offset + one->bv_len == next->bv_offset;
}

/* The callers have checked that there is place. */
static void tx_batch_add_segment(struct istripe_tx_batch *batch, const struct bio_vec *segment)
{
	struct bio_vec *next = &batch->segments[batch->segment_count];

	batch->bytes += segment->bv_len;
	if (batch->segment_count && segment_follows(next - 1, segment)) {
		next[-1].bv_len += segment->bv_len;
		return;
	}
	*next = *segment;
	batch->segment_count++;
}

static void *tx_batch_room(const struct istripe_tx_batch *batch)
{
	return page_address(batch->room->page) + batch->room->used_bytes;
}

static void tx_batch_add_room(struct istripe_tx_batch *batch, u32 bytes)
{
	const struct bio_vec segment = {
		.bv_page = batch->room->page,
		.bv_offset = batch->room->used_bytes,
		.bv_len = bytes,
	};

	tx_batch_add_segment(batch, &segment);
	batch->room->used_bytes += bytes;
}

void *istripe_tx_batch_header_room(struct istripe_tx_batch *batch)
{
	batch->room->used_bytes = ALIGN(batch->room->used_bytes, ISCSI_PAD_LEN);
	return tx_batch_room(batch);
}

void istripe_tx_batch_add_header(struct istripe_tx_batch *batch)
{
	u8 *header = istripe_tx_batch_header_room(batch);
	u32 bytes = ISCSI_HDR_LEN;

	if (batch->header_digest) {
		put_unaligned_le32(istripe_digest_of(header, ISCSI_HDR_LEN), header + bytes);
		bytes += ISTRIPE_DIGEST_BYTES;
	}
	tx_batch_add_room(batch, bytes);
	batch->header_count++;
}

/* The digest covers the padding too (RFC 7143 11.2.3); P23. */
static void tx_batch_add_trailer(struct istripe_tx_batch *batch,
				 const struct istripe_tx_batch_pdu *pdu, u32 bytes)
{
	u8 *trailer = tx_batch_room(batch);
	u32 pad = istripe_framing_pad_bytes(pdu->payload_bytes);
	u32 crc;

	memset(trailer, 0, pad);
	if (bytes > pad) {
		crc = istripe_digest_update(pdu->crc, trailer, pad);
		put_unaligned_le32(istripe_digest_final(crc), trailer + pad);
	}
	tx_batch_add_room(batch, bytes);
}

static u32 control_segment(const struct istripe_tx_batch_pdu *pdu, struct bio_vec *segment)
{
	u32 left = pdu->payload_bytes - pdu->gathered_bytes;
	u8 *from = pdu->control->payload;

	if (!from) {
		*segment = (struct bio_vec) {
			.bv_page = ZERO_PAGE(0),
			.bv_len = min_t(u32, left, PAGE_SIZE),
		};
		return segment->bv_len;
	}
	from += pdu->gathered_bytes;
	*segment = (struct bio_vec) {
		.bv_page = virt_to_page(from),
		.bv_offset = offset_in_page(from),
		.bv_len = left,
	};
	return segment->bv_len;
}

static u32 pdu_segment(const struct istripe_tx_batch_pdu *pdu, struct bio_vec *segment)
{
	if (pdu->control)
		return control_segment(pdu, segment);
	return istripe_cursor_segment(&pdu->task->tx_cursor, &pdu->task->data,
				      pdu->payload_bytes - pdu->gathered_bytes, segment);
}

static bool pdu_may_refer(const struct istripe_tx_batch_pdu *pdu, const struct bio_vec *segment)
{
	return pdu->task && !pdu->task->data.copy && istripe_compat_segment_ok(segment);
}

/* A batch goes one way: a segment that must go the other way ends it. */
static bool tx_batch_goes(struct istripe_tx_batch *batch, bool refer)
{
	enum istripe_tx_batch_way way =
		refer ? ISTRIPE_TX_BATCH_BY_REFERENCE : ISTRIPE_TX_BATCH_BY_COPY;

	if (batch->way == ISTRIPE_TX_BATCH_ANY_WAY)
		batch->way = way;
	return batch->way == way || batch->room == &batch->reserve;
}

/* Before TCP has them: the answer may come before TCP returns. */
static void task_offer(struct istripe_task *task, u32 bytes)
{
	istripe_cursor_advance(&task->tx_cursor, &task->data, bytes);
	istripe_moved_note(&task->sent, bytes, task->data.length_bytes);
	WRITE_ONCE(task->offered_bytes,
		   max(task->offered_bytes, task->tx_cursor.position_bytes));
}

/* With a digest TCP copies: a buffer of O_DIRECT may change later (P21). */
static void tx_batch_add_payload(struct istripe_tx_batch *batch, struct istripe_tx_batch_pdu *pdu,
				 const struct bio_vec *segment)
{
	tx_batch_add_segment(batch, segment);
	if (batch->data_digest)
		pdu->crc = istripe_data_digest(pdu->crc, segment);
	pdu->gathered_bytes += segment->bv_len;
	if (pdu->task)
		task_offer(pdu->task, segment->bv_len);
}

static void tx_batch_gather(struct istripe_tx_batch *batch, struct istripe_tx_batch_pdu *pdu)
{
	u32 trailer_bytes = istripe_framing_pad_bytes(pdu->payload_bytes) +
			    (batch->data_digest ? ISTRIPE_DIGEST_BYTES : 0);
	struct bio_vec segment;

	pdu->begin_bytes = batch->bytes;
	while (pdu->gathered_bytes < pdu->payload_bytes) {
		if (!tx_batch_has_segment(batch))
			return;
		if (WARN_ON_ONCE(!pdu_segment(pdu, &segment))) {
			batch->error = -EIO;
			return;
		}
		if (!tx_batch_goes(batch, !batch->data_digest && pdu_may_refer(pdu, &segment)))
			return;
		tx_batch_add_payload(batch, pdu, &segment);
	}
	if (trailer_bytes && !tx_batch_has_segment(batch))
		return;
	if (trailer_bytes)
		tx_batch_add_trailer(batch, pdu, trailer_bytes);
	pdu->end_bytes = batch->bytes;
	pdu->whole = true;
}

static void tx_batch_add_pdu(struct istripe_tx_batch *batch,
			     const struct istripe_tx_batch_pdu *pdu)
{
	batch->pdus[batch->pdu_count] = *pdu;
	tx_batch_gather(batch, &batch->pdus[batch->pdu_count++]);
}

void istripe_tx_batch_add_task(struct istripe_tx_batch *batch, struct istripe_task *task,
			       u32 bytes)
{
	const struct istripe_tx_batch_pdu pdu = {
		.task = task,
		.payload_bytes = bytes,
		.crc = istripe_digest_init(),
	};

	tx_batch_add_pdu(batch, &pdu);
}

void istripe_tx_batch_add_control(struct istripe_tx_batch *batch,
				  struct istripe_control *control)
{
	const struct istripe_tx_batch_pdu pdu = {
		.control = control,
		.payload_bytes = control->payload_bytes,
		.crc = istripe_digest_init(),
	};

	tx_batch_add_pdu(batch, &pdu);
}

/* Only the last PDU may go on in the next batch. */
static bool tx_batch_goes_on(const struct istripe_tx_batch *batch)
{
	return batch->pdu_count && !batch->pdus[batch->pdu_count - 1].whole;
}

void istripe_tx_batch_begin(struct istripe_tx_batch *batch)
{
	bool goes_on = tx_batch_goes_on(batch);
	struct istripe_tx_batch_pdu pdu;

	if (goes_on)
		pdu = batch->pdus[batch->pdu_count - 1];
	batch->header_count = 0;
	batch->bytes = 0;
	batch->sent_bytes = 0;
	batch->segment_first = 0;
	batch->segment_count = 0;
	batch->pdu_first = 0;
	batch->pdu_count = 0;
	tx_batch_take_room(batch);
	if (goes_on)
		tx_batch_add_pdu(batch, &pdu);
}

bool istripe_tx_batch_is_full(const struct istripe_tx_batch *batch)
{
	return batch->header_count == ISTRIPE_TX_BATCH_HEADERS || batch->bytes >= TX_BATCH_BYTES ||
	       batch->segment_count + PDU_SEGMENTS > ISTRIPE_TX_BATCH_SEGMENTS ||
	       tx_batch_goes_on(batch);
}

bool istripe_tx_batch_is_sent(const struct istripe_tx_batch *batch)
{
	return batch->sent_bytes == batch->bytes;
}

static void tx_batch_skip(struct istripe_tx_batch *batch, u32 bytes)
{
	struct bio_vec *segment;
	u32 step;

	batch->sent_bytes += bytes;
	while (bytes) {
		segment = &batch->segments[batch->segment_first];
		step = min(bytes, segment->bv_len);
		segment->bv_offset += step;
		segment->bv_len -= step;
		bytes -= step;
		if (!segment->bv_len)
			batch->segment_first++;
	}
}

/*
 * TCP has the task's pages up to the end of the PDU, or as far as it has come; data behind the PDU
 * in the batch must not delay the task's end. Nothing else writes to the socket, so the bytes sent
 * end at @write_seq.
 */
static void tx_batch_refer(const struct istripe_tx_batch *batch,
			   const struct istripe_tx_batch_pdu *pdu, u32 write_seq)
{
	u32 behind = pdu->whole && pdu->end_bytes < batch->sent_bytes ?
		     batch->sent_bytes - pdu->end_bytes : 0;

	if (!pdu->task || batch->way != ISTRIPE_TX_BATCH_BY_REFERENCE ||
	    batch->sent_bytes <= pdu->begin_bytes)
		return;
	WRITE_ONCE(pdu->task->referenced_seq, write_seq - behind);
	WRITE_ONCE(pdu->task->referenced_bytes, batch->total_bytes);
	WRITE_ONCE(pdu->task->referenced, true);
}

static void pdu_end(const struct istripe_tx_batch_pdu *pdu)
{
	kfree(pdu->control);
	if (pdu->task)
		istripe_task_put(pdu->task);
}

static void tx_batch_account(struct istripe_tx_batch *batch, u32 bytes, u32 write_seq)
{
	struct istripe_tx_batch_pdu *pdu;

	WRITE_ONCE(batch->total_bytes, batch->total_bytes + bytes);
	tx_batch_skip(batch, bytes);
	for (; batch->pdu_first < batch->pdu_count; batch->pdu_first++) {
		pdu = &batch->pdus[batch->pdu_first];
		tx_batch_refer(batch, pdu, write_seq);
		if (!pdu->whole || pdu->end_bytes > batch->sent_bytes)
			return;
		pdu_end(pdu);
	}
}

int istripe_tx_batch_send(struct istripe_tx_batch *batch, struct socket *sock,
			  struct istripe_zerocopy *zerocopy, bool more)
{
	struct bio_vec *segments = &batch->segments[batch->segment_first];
	u32 count = batch->segment_count - batch->segment_first;
	u32 bytes = batch->bytes - batch->sent_bytes;
	int flags, ret;

	if (batch->error)
		return batch->error;
	more |= tx_batch_goes_on(batch);
	flags = SEND_FLAGS | (more ? MSG_MORE : MSG_EOR);
	if (batch->way == ISTRIPE_TX_BATCH_BY_REFERENCE)
		ret = istripe_zerocopy_send(zerocopy, sock, segments, count, bytes, flags);
	else
		ret = istripe_compat_send_copy(sock, segments, count, bytes, flags);
	batch->corked = more;
	if (ret > 0)
		tx_batch_account(batch, ret, READ_ONCE(tcp_sk(sock->sk)->write_seq));
	return ret;
}

void istripe_tx_batch_push(struct istripe_tx_batch *batch, struct socket *sock)
{
	if (!batch->corked)
		return;
	tcp_sock_set_nodelay(sock->sk);
	batch->corked = false;
}
