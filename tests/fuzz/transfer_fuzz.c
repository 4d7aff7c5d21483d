// SPDX-License-Identifier: GPL-2.0
/*
 * A target that sends any PDUs for one command. A map with a mark for each byte of the
 * command's data is kept beside: nothing may be accepted that goes outside of it or over a
 * mark, and GOOD may be believed only as far as the marks go.
 */
#include <linux/errno.h>
#include <linux/limits.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <compat/unaligned.h>

#include "iscsi/transfer.h"

int LLVMFuzzerTestOneInput(const u8 *bytes, size_t size);

#define MAP_BYTES	256

static void require(bool holds)
{
	if (!holds)
		__builtin_trap();
}

struct model {
	struct istripe_transfer t;
	struct istripe_keys keys;
	u32 length_bytes, outstanding, finished;
	u8 map[MAP_BYTES];		/* received, or sent unasked or asked for */
	u8 solicited[MAP_BYTES];	/* asked for */
};

static void model_mark(u8 *map, const struct model *m, u32 offset, u32 bytes, bool once)
{
	u32 i;

	require(offset <= m->length_bytes && bytes <= m->length_bytes - offset);
	for (i = offset; i < offset + bytes; i++) {
		require(!once || !map[i]);
		map[i] = 1;
	}
}

static u32 model_count(const struct model *m)
{
	u32 i, count = 0;

	for (i = 0; i < m->length_bytes; i++)
		count += m->map[i];
	return count;
}

static void model_data_in(struct model *m, const struct istripe_pdu *pdu)
{
	if (istripe_transfer_data_in(&m->t, pdu))
		return;
	require(m->t.read && !m->finished);
	/* Its offset means nothing. */
	if (!pdu->data_segment_bytes)
		return;
	model_mark(m->map, m, pdu->data_in.offset, pdu->data_segment_bytes, true);
}

static void model_r2t(struct model *m, const struct istripe_pdu *pdu)
{
	if (istripe_transfer_r2t(&m->t, pdu))
		return;
	require(m->t.write && !m->finished);
	require(pdu->r2t.desired_bytes);
	require(++m->outstanding <= m->keys.value[ISTRIPE_KEY_MAX_OUTSTANDING_R2T]);
	model_mark(m->solicited, m, pdu->r2t.offset, pdu->r2t.desired_bytes, true);
	model_mark(m->map, m, pdu->r2t.offset, pdu->r2t.desired_bytes, false);
}

static void model_status(struct model *m, const struct istripe_pdu *pdu, bool completed)
{
	u32 transferred_bytes = U32_MAX;
	int ret = istripe_transfer_status(&m->t, pdu, &transferred_bytes);

	require(ret == 0 || ret == -EPROTO);
	require(transferred_bytes <= m->length_bytes);
	require(transferred_bytes <= model_count(m));
	require(!ret || !transferred_bytes);
	if (!ret) {
		require(!m->finished);
		if (pdu->underflow && pdu->residual > m->length_bytes)
			require(!transferred_bytes);
		else if (m->t.read && completed && pdu->status == SAM_STAT_GOOD)
			require(transferred_bytes == model_count(m));
	}
	m->finished = true;
}

/* Small numbers mostly, so that something is accepted now and then. */
static u32 number(const u8 *bytes)
{
	u32 value = get_unaligned_be16(bytes);

	return value < 0xff00 ? value & 0x1ff : 0 - (value & 0xff);
}

static void model_step(struct model *m, const u8 *bytes)
{
	struct istripe_pdu pdu = {
		.status = bytes[1] & 0x0e,
		.underflow = bytes[1] & 0x10,
		.overflow = !(bytes[1] & 0x10) && bytes[1] & 0x20,
		.residual = number(bytes + 2),
	};

	switch (bytes[0] % 5) {
	case 0:
		pdu.opcode = ISCSI_OP_SCSI_DATA_IN;
		pdu.data_in.data_sn = bytes[1];
		pdu.data_in.offset = number(bytes + 2);
		pdu.data_segment_bytes = number(bytes + 4) & 0xffffff;
		model_data_in(m, &pdu);
		break;
	case 1:
		pdu.opcode = ISCSI_OP_R2T;
		pdu.r2t.r2t_sn = bytes[1];
		pdu.r2t.offset = number(bytes + 2);
		pdu.r2t.desired_bytes = number(bytes + 4);
		model_r2t(m, &pdu);
		break;
	case 2:
		istripe_transfer_r2t_done(&m->t);
		m->outstanding -= !!m->outstanding;
		break;
	case 3:
		pdu.opcode = ISCSI_OP_SCSI_CMD_RSP;
		pdu.scsi_response = bytes[1] & 1;
		model_status(m, &pdu, !pdu.scsi_response);
		break;
	default:
		pdu.opcode = ISCSI_OP_SCSI_DATA_IN;
		pdu.data_in.status_present = true;
		model_status(m, &pdu, true);
	}
}

/* Keys far below what RFC 7143 allows, to meet the borders often. */
static void model_init(struct model *m, const u8 *bytes)
{
	bool read = bytes[0] & 1;
	bool write = !read && bytes[0] & 2;
	u32 unasked_bytes;

	memset(m, 0, sizeof(*m));
	m->length_bytes = read || write ? bytes[1] : 0;
	m->keys.value[ISTRIPE_KEY_INITIAL_R2T] = !!(bytes[0] & 4);
	m->keys.value[ISTRIPE_KEY_IMMEDIATE_DATA] = !!(bytes[0] & 8);
	m->keys.value[ISTRIPE_KEY_FIRST_BURST_LENGTH] = bytes[2];
	m->keys.value[ISTRIPE_KEY_MAX_BURST_LENGTH] = bytes[3];
	m->keys.value[ISTRIPE_KEY_MAX_OUTSTANDING_R2T] = 1 + bytes[0] / 64;
	m->keys.value[ISTRIPE_KEY_MAX_XMIT_DATA_SEGMENT_LENGTH] = 512;
	istripe_transfer_init(&m->t, &m->keys, read, write, m->length_bytes);
	unasked_bytes = m->t.immediate_bytes + m->t.unsolicited_bytes;
	require(unasked_bytes <= m->length_bytes);
	require(unasked_bytes <= m->keys.value[ISTRIPE_KEY_FIRST_BURST_LENGTH]);
	require(write || !unasked_bytes);
	model_mark(m->map, m, 0, unasked_bytes, true);
}

int LLVMFuzzerTestOneInput(const u8 *bytes, size_t size)
{
	static struct model m;
	size_t position;

	if (size < 4)
		return 0;
	model_init(&m, bytes);
	for (position = 4; size - position >= 6; position += 6)
		model_step(&m, bytes + position);
	return 0;
}
