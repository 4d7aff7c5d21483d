// SPDX-License-Identifier: GPL-2.0
#include <linux/align.h>
#include <linux/build_bug.h>
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/page_ref.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/tcp.h>
#include <compat/sock.h>
#include <compat/unaligned.h>

#include "proto/digest.h"
#include "transport/conn.h"
#include "transport/fault.h"
#include "transport/load.h"

/* Behind so many bytes no further PDU begins: a ping would have to wait for them. */
#define LOAD_BYTES	SZ_128K
#define SEND_FLAGS	(MSG_DONTWAIT | MSG_NOSIGNAL)

/* A header, padding, and the digests of both, the header aligned. */
#define PDU_ROOM_BYTES	(ISCSI_HDR_LEN + 2 * ISTRIPE_DIGEST_BYTES + 2 * ISCSI_PAD_LEN)
/* All that a load may need, so that it has one page from beginning to end. */
#define LOAD_ROOM_BYTES	((ISTRIPE_LOAD_HEADERS + 1) * PDU_ROOM_BYTES)
/* A header, data, what is behind them: less than that is no place to begin a PDU. */
#define PDU_SEGMENTS	3

static bool header_digest_on(const struct istripe_conn *conn)
{
	return conn->keys.value[ISTRIPE_KEY_HEADER_DIGEST] == ISTRIPE_DIGEST_CRC32C;
}

static bool data_digest_on(const struct istripe_conn *conn)
{
	return conn->keys.value[ISTRIPE_KEY_DATA_DIGEST] == ISTRIPE_DIGEST_CRC32C;
}

int istripe_load_init(struct istripe_load *load)
{
	BUILD_BUG_ON(LOAD_ROOM_BYTES > PAGE_SIZE);
	load->room = &load->spare;
	load->own.page = alloc_page(GFP_KERNEL);
	load->spare.page = alloc_page(GFP_KERNEL);
	return load->own.page && load->spare.page ? 0 : -ENOMEM;
}

/* TCP has references of its own to what it still holds. */
void istripe_load_exit(struct istripe_load *load)
{
	u32 i;

	for (i = load->pdu_first; i < load->pdu_count; i++)
		kfree(load->pdus[i].control);
	if (load->own.page)
		put_page(load->own.page);
	if (load->spare.page)
		put_page(load->spare.page);
}

/*
 * Room that TCP may refer to. What lies in it is never written again while somebody has a
 * reference to the page, a segment in a NIC or one that waits to be sent once more.
 */
static bool load_make_room(struct istripe_load_room *own)
{
	struct page *page;

	if (page_ref_count(own->page) == 1)
		own->used_bytes = 0;
	if (own->used_bytes + LOAD_ROOM_BYTES <= PAGE_SIZE)
		return true;
	page = alloc_page(GFP_NOIO | __GFP_NOWARN);
	if (!page)
		return false;
	put_page(own->page);
	own->page = page;
	own->used_bytes = 0;
	return true;
}

/* Without memory there is the spare room, and TCP copies from it. */
static void load_take_room(struct istripe_load *load)
{
	if (load_make_room(&load->own)) {
		load->room = &load->own;
		load->way = ISTRIPE_LOAD_ANY_WAY;
		return;
	}
	load->room = &load->spare;
	load->room->used_bytes = 0;
	load->way = ISTRIPE_LOAD_BY_COPY;
}

static bool load_has_segment(const struct istripe_load *load)
{
	return load->segment_count < ISTRIPE_LOAD_SEGMENTS;
}

static bool segment_follows(const struct bio_vec *one, const struct bio_vec *next)
{
	return one->bv_page == next->bv_page && one->bv_offset + one->bv_len == next->bv_offset;
}

/* Its callers have seen that there is place. */
static void load_add_segment(struct istripe_load *load, const struct bio_vec *segment)
{
	struct bio_vec *next = &load->segments[load->segment_count];

	load->bytes += segment->bv_len;
	if (load->segment_count && segment_follows(next - 1, segment)) {
		next[-1].bv_len += segment->bv_len;
		return;
	}
	*next = *segment;
	load->segment_count++;
}

static void *load_room(const struct istripe_load *load)
{
	return page_address(load->room->page) + load->room->used_bytes;
}

/* What has been written to load_room(). */
static void load_add_room(struct istripe_load *load, u32 bytes)
{
	const struct bio_vec segment = {
		.bv_page = load->room->page,
		.bv_offset = load->room->used_bytes,
		.bv_len = bytes,
	};

	load_add_segment(load, &segment);
	load->room->used_bytes += bytes;
}

void *istripe_load_header_room(struct istripe_load *load)
{
	load->room->used_bytes = ALIGN(load->room->used_bytes, ISCSI_PAD_LEN);
	return load_room(load);
}

void istripe_load_add_header(struct istripe_conn *conn)
{
	struct istripe_load *load = &conn->tx.load;
	u8 *header = istripe_load_header_room(load);
	u32 bytes = ISCSI_HDR_LEN;

	if (header_digest_on(conn)) {
		put_unaligned_le32(istripe_digest_of(header, ISCSI_HDR_LEN), header + bytes);
		bytes += ISTRIPE_DIGEST_BYTES;
	}
	load_add_room(load, bytes);
	load->header_count++;
	conn->pdus_sent++;
}

static u32 pdu_pad_bytes(const struct istripe_load_pdu *pdu)
{
	return -pdu->payload_bytes & (ISCSI_PAD_LEN - 1);
}

/* The digest covers the padding too (RFC 7143 11.2.3); P23. */
static void load_add_trailer(struct istripe_conn *conn, const struct istripe_load_pdu *pdu,
			     u32 bytes)
{
	struct istripe_load *load = &conn->tx.load;
	u8 *trailer = load_room(load);
	u32 pad = pdu_pad_bytes(pdu);
	u32 crc;

	memset(trailer, 0, pad);
	if (bytes > pad) {
		crc = istripe_digest_update(pdu->crc, trailer, pad);
		put_unaligned_le32(istripe_digest_final(crc), trailer + pad);
	}
	load_add_room(load, bytes);
}

/* The payload of a control PDU is slab memory. */
static u32 control_segment(const struct istripe_load_pdu *pdu, struct bio_vec *segment)
{
	u8 *from = pdu->control->payload + pdu->gathered_bytes;

	*segment = (struct bio_vec) {
		.bv_page = virt_to_page(from),
		.bv_offset = offset_in_page(from),
		.bv_len = pdu->payload_bytes - pdu->gathered_bytes,
	};
	return segment->bv_len;
}

static u32 pdu_segment(const struct istripe_load_pdu *pdu, struct bio_vec *segment)
{
	if (pdu->control)
		return control_segment(pdu, segment);
	return istripe_cursor_segment(&pdu->task->tx_cursor, &pdu->task->data,
				      pdu->payload_bytes - pdu->gathered_bytes, segment);
}

static bool pdu_may_refer(const struct istripe_load_pdu *pdu, const struct bio_vec *segment)
{
	return pdu->task && !pdu->task->data.copy && istripe_compat_segment_ok(segment);
}

/* All of a load goes the same way: what must go another way ends it. */
static bool load_goes(struct istripe_load *load, bool refer)
{
	enum istripe_load_way way = refer ? ISTRIPE_LOAD_BY_REFERENCE : ISTRIPE_LOAD_BY_COPY;

	if (load->way == ISTRIPE_LOAD_ANY_WAY)
		load->way = way;
	return load->way == way || load->room == &load->spare;
}

/* Before TCP has them: the answer may be faster than the return from there. */
static void task_offer(struct istripe_task *task, u32 bytes)
{
	istripe_cursor_advance(&task->tx_cursor, &task->data, bytes);
	istripe_moved_note(&task->sent, bytes, task->data.length_bytes);
	WRITE_ONCE(task->offered_bytes,
		   max(task->offered_bytes, task->tx_cursor.position_bytes));
}

/* Pages are stable while a digest is on: they are read here, and by TCP later (P21). */
static void load_add_payload(struct istripe_conn *conn, struct istripe_load_pdu *pdu,
			     const struct bio_vec *segment)
{
	load_add_segment(&conn->tx.load, segment);
	if (data_digest_on(conn))
		pdu->crc = istripe_data_digest(pdu->crc, segment);
	pdu->gathered_bytes += segment->bv_len;
	if (pdu->task)
		task_offer(pdu->task, segment->bv_len);
}

/* As much of a PDU as finds place. */
static void load_gather(struct istripe_conn *conn, struct istripe_load_pdu *pdu)
{
	struct istripe_load *load = &conn->tx.load;
	u32 trailer_bytes = pdu_pad_bytes(pdu) + (data_digest_on(conn) ? ISTRIPE_DIGEST_BYTES : 0);
	struct bio_vec segment;

	pdu->begin_bytes = load->bytes;
	while (pdu->gathered_bytes < pdu->payload_bytes) {
		if (!load_has_segment(load))
			return;
		if (WARN_ON_ONCE(!pdu_segment(pdu, &segment))) {
			load->error = -EIO;
			return;
		}
		if (!load_goes(load, pdu_may_refer(pdu, &segment)))
			return;
		load_add_payload(conn, pdu, &segment);
	}
	if (trailer_bytes && !load_has_segment(load))
		return;
	if (trailer_bytes)
		load_add_trailer(conn, pdu, trailer_bytes);
	pdu->end_bytes = load->bytes;
	pdu->whole = true;
}

static void load_add_pdu(struct istripe_conn *conn, const struct istripe_load_pdu *pdu)
{
	struct istripe_load *load = &conn->tx.load;

	load->pdus[load->pdu_count] = *pdu;
	load_gather(conn, &load->pdus[load->pdu_count++]);
}

void istripe_load_add_task(struct istripe_conn *conn, struct istripe_task *task, u32 bytes)
{
	const struct istripe_load_pdu pdu = {
		.task = task,
		.payload_bytes = bytes,
		.crc = istripe_digest_init(),
	};

	load_add_pdu(conn, &pdu);
}

void istripe_load_add_control(struct istripe_conn *conn, struct istripe_control *control)
{
	const struct istripe_load_pdu pdu = {
		.control = control,
		.payload_bytes = control->payload_bytes,
		.crc = istripe_digest_init(),
	};

	load_add_pdu(conn, &pdu);
}

/* Only the last one may go on in the next load. */
static bool load_goes_on(const struct istripe_load *load)
{
	return load->pdu_count && !load->pdus[load->pdu_count - 1].whole;
}

void istripe_load_begin(struct istripe_conn *conn)
{
	struct istripe_load *load = &conn->tx.load;
	bool goes_on = load_goes_on(load);
	struct istripe_load_pdu pdu;

	if (goes_on)
		pdu = load->pdus[load->pdu_count - 1];
	load->header_count = 0;
	load->bytes = 0;
	load->sent_bytes = 0;
	load->segment_first = 0;
	load->segment_count = 0;
	load->pdu_first = 0;
	load->pdu_count = 0;
	load_take_room(load);
	if (goes_on)
		load_add_pdu(conn, &pdu);
}

bool istripe_load_is_full(const struct istripe_load *load)
{
	return load->header_count == ISTRIPE_LOAD_HEADERS || load->bytes >= LOAD_BYTES ||
	       load->segment_count + PDU_SEGMENTS > ISTRIPE_LOAD_SEGMENTS || load_goes_on(load);
}

bool istripe_load_is_sent(const struct istripe_load *load)
{
	return load->sent_bytes == load->bytes;
}

/* What TCP has taken ends in the middle of a segment, or between two. */
static void load_skip(struct istripe_load *load, u32 bytes)
{
	struct bio_vec *segment;
	u32 step;

	load->sent_bytes += bytes;
	while (bytes) {
		segment = &load->segments[load->segment_first];
		step = min(bytes, segment->bv_len);
		segment->bv_offset += step;
		segment->bv_len -= step;
		bytes -= step;
		if (!segment->bv_len)
			load->segment_first++;
	}
}

/*
 * TCP has the task's pages up to the end of the PDU, or as far as it has come: what is
 * behind that in the load must not keep a task from its end. Nobody else writes to the
 * socket, so what has been sent ends at write_seq.
 */
static void load_refer(struct istripe_conn *conn, const struct istripe_load_pdu *pdu)
{
	const struct istripe_load *load = &conn->tx.load;
	u32 behind = pdu->whole && pdu->end_bytes < load->sent_bytes ?
		     load->sent_bytes - pdu->end_bytes : 0;

	if (!pdu->task || load->way != ISTRIPE_LOAD_BY_REFERENCE ||
	    load->sent_bytes <= pdu->begin_bytes)
		return;
	WRITE_ONCE(pdu->task->referenced_seq,
		   READ_ONCE(tcp_sk(conn->sock->sk)->write_seq) - behind);
	WRITE_ONCE(pdu->task->referenced, true);
}

/* The last touch of either. */
static void pdu_end(const struct istripe_load_pdu *pdu)
{
	kfree(pdu->control);
	if (pdu->task)
		istripe_task_put(pdu->task);
}

static void load_account(struct istripe_conn *conn, u32 bytes)
{
	struct istripe_load *load = &conn->tx.load;
	struct istripe_load_pdu *pdu;

	conn->bytes_sent += bytes;
	load_skip(load, bytes);
	for (; load->pdu_first < load->pdu_count; load->pdu_first++) {
		pdu = &load->pdus[load->pdu_first];
		load_refer(conn, pdu);
		if (!pdu->whole || pdu->end_bytes > load->sent_bytes)
			return;
		pdu_end(pdu);
	}
}

int istripe_load_send(struct istripe_conn *conn, bool more)
{
	struct istripe_load *load = &conn->tx.load;
	struct bio_vec *segments = &load->segments[load->segment_first];
	u32 count = load->segment_count - load->segment_first;
	u32 bytes = load->bytes - load->sent_bytes;
	int flags, ret;

	if (load->error)
		return load->error;
	if (istripe_fault(ISTRIPE_FAULT_SEND))
		return -EPIPE;
	more |= load_goes_on(load);
	flags = SEND_FLAGS | (more ? MSG_MORE : MSG_EOR);
	if (load->way == ISTRIPE_LOAD_BY_REFERENCE)
		ret = istripe_compat_send_pages(conn->sock, segments, count, bytes, flags);
	else
		ret = istripe_compat_send_copy(conn->sock, segments, count, bytes, flags);
	conn->tx.corked = more;
	if (ret > 0) {
		load_account(conn, ret);
		istripe_pace_mark(conn);
	}
	return ret;
}
