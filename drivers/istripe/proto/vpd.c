// SPDX-License-Identifier: GPL-2.0
#include <linux/ctype.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/log2.h>
#include <linux/string.h>
#include <compat/unaligned.h>

#include "proto/vpd.h"

#define VPD_HEADER_BYTES	4
#define BLOCK_BYTES_MIN		512
#define BLOCK_BYTES_MAX		4096

/* Copy a fixed field of ASCII: printable, without blanks around it. */
static void copy_ascii(char *to, u32 to_bytes, const u8 *from, u32 bytes)
{
	u32 used = 0;

	while (bytes && (from[0] == ' ' || !from[0])) {
		from++;
		bytes--;
	}
	while (bytes && (from[bytes - 1] == ' ' || !from[bytes - 1]))
		bytes--;
	for (; bytes && used + 1 < to_bytes; bytes--, from++)
		to[used++] = isascii(*from) && isprint(*from) ? *from : '?';
	to[used] = '\0';
}

int istripe_vpd_inquiry_decode(const u8 *data, u32 bytes, struct istripe_vpd_inquiry *inquiry)
{
	if (bytes < 36)
		return -EPROTO;
	inquiry->qualifier = data[0] >> 5;
	inquiry->device_type = data[0] & 0x1f;
	inquiry->version = data[2];
	copy_ascii(inquiry->vendor, sizeof(inquiry->vendor), data + 8, 8);
	copy_ascii(inquiry->product, sizeof(inquiry->product), data + 16, 16);
	copy_ascii(inquiry->revision, sizeof(inquiry->revision), data + 32, 4);
	return 0;
}

/* The page's own bytes behind its header, as many as came; -EPROTO for another page. */
static int vpd_body(const u8 *data, u32 bytes, u8 page, const u8 **body)
{
	u32 claimed;

	if (bytes < VPD_HEADER_BYTES || data[1] != page)
		return -EPROTO;
	claimed = get_unaligned_be16(data + 2);
	*body = data + VPD_HEADER_BYTES;
	return min(claimed, bytes - VPD_HEADER_BYTES);
}

bool istripe_vpd_page_listed(const u8 *data, u32 bytes, u8 page)
{
	const u8 *body;
	int len = vpd_body(data, bytes, ISTRIPE_VPD_SUPPORTED, &body);

	return len > 0 && memchr(body, page, len);
}

int istripe_vpd_serial_decode(const u8 *data, u32 bytes, char *serial, u32 serial_bytes)
{
	const u8 *body;
	int len = vpd_body(data, bytes, ISTRIPE_VPD_SERIAL, &body);

	if (len < 0)
		return len;
	copy_ascii(serial, serial_bytes, body, len);
	return 0;
}

/* Designator types of SPC-5 7.7.6.3, the best one last. */
enum designator_rank {
	RANK_NONE,
	RANK_NAME,
	RANK_T10,
	RANK_EUI,
	RANK_NAA,
	RANK_NAA_6,
};

static enum designator_rank designator_rank(const u8 *designator)
{
	u8 association = designator[1] >> 4 & 0x3;

	if (association || !designator[3])
		return RANK_NONE;	/* of a port or of the target */
	switch (designator[1] & 0xf) {
	case 1:
		return RANK_T10;
	case 2:
		return RANK_EUI;
	case 3:
		return designator[4] >> 4 == 6 ? RANK_NAA_6 : RANK_NAA;
	case 8:
		return RANK_NAME;
	default:
		return RANK_NONE;
	}
}

static void designator_print_binary(const char *prefix, const u8 *designator, char *text,
				    u32 text_bytes)
{
	u32 i, used = scnprintf(text, text_bytes, "%s", prefix);

	for (i = 0; i < designator[3]; i++)
		used += scnprintf(text + used, text_bytes - used, "%02x", designator[4 + i]);
}

static void designator_print(const u8 *designator, enum designator_rank rank, char *text,
			     u32 text_bytes)
{
	u32 used;

	switch (rank) {
	case RANK_NAA_6:
	case RANK_NAA:
		designator_print_binary("naa.", designator, text, text_bytes);
		return;
	case RANK_EUI:
		designator_print_binary("eui.", designator, text, text_bytes);
		return;
	default:
		used = scnprintf(text, text_bytes, rank == RANK_T10 ? "t10." : "name.");
		copy_ascii(text + used, text_bytes - used, designator + 4, designator[3]);
	}
}

int istripe_vpd_designator_decode(const u8 *data, u32 bytes, char *text, u32 text_bytes)
{
	enum designator_rank rank, best_rank = RANK_NONE;
	const u8 *body, *best = NULL;
	int left = vpd_body(data, bytes, ISTRIPE_VPD_IDENTIFICATION, &body);

	if (left < 0)
		return left;
	while (left >= 4) {
		if (body[3] > left - 4)
			return -EPROTO;
		rank = designator_rank(body);
		if (rank > best_rank) {
			best_rank = rank;
			best = body;
		}
		left -= 4 + body[3];
		body += 4 + body[3];
	}
	if (!best)
		return -ENOENT;
	designator_print(best, best_rank, text, text_bytes);
	return 0;
}

int istripe_vpd_block_limits_decode(const u8 *data, u32 bytes,
				    struct istripe_vpd_block_limits *limits)
{
	u8 page[64] = {};
	const u8 *body;
	int len = vpd_body(data, bytes, ISTRIPE_VPD_BLOCK_LIMITS, &body);

	if (len < 0)
		return len;
	if (len < 12)
		return -EPROTO;
	/* Offsets as in the standard; what an older, shorter page lacks stays 0. */
	memcpy(page + VPD_HEADER_BYTES, body, min_t(u32, len, sizeof(page) - VPD_HEADER_BYTES));
	limits->optimal_granularity = get_unaligned_be16(page + 6);
	limits->max_transfer = get_unaligned_be32(page + 8);
	limits->optimal_transfer = get_unaligned_be32(page + 12);
	limits->max_unmap = get_unaligned_be32(page + 20);
	limits->max_unmap_descriptors = get_unaligned_be32(page + 24);
	limits->unmap_granularity = get_unaligned_be32(page + 28);
	limits->unmap_alignment_valid = page[32] & 0x80;
	limits->unmap_alignment = get_unaligned_be32(page + 32) & 0x7fffffff;
	limits->max_write_same = get_unaligned_be64(page + 36);
	return 0;
}

bool istripe_vpd_rotational(const u8 *data, u32 bytes)
{
	const u8 *body;
	int len = vpd_body(data, bytes, ISTRIPE_VPD_CHARACTERISTICS, &body);

	return len < 2 || get_unaligned_be16(body) != 1;
}

int istripe_vpd_provisioning_decode(const u8 *data, u32 bytes,
				    struct istripe_vpd_provisioning *provisioning)
{
	const u8 *body;
	int len = vpd_body(data, bytes, ISTRIPE_VPD_PROVISIONING, &body);

	if (len < 0)
		return len;
	if (len < 2)
		return -EPROTO;
	provisioning->unmap = body[1] & 0x80;
	provisioning->write_same16 = body[1] & 0x40;
	provisioning->reads_zeroes = (body[1] >> 2 & 0x7) == 1;
	return 0;
}

int istripe_vpd_capacity_decode(const u8 *data, u32 bytes, struct istripe_vpd_capacity *capacity)
{
	u64 last;

	if (bytes < 16)
		return -EPROTO;
	last = get_unaligned_be64(data);
	capacity->block_bytes = get_unaligned_be32(data + 8);
	if (!is_power_of_2(capacity->block_bytes) || capacity->block_bytes < BLOCK_BYTES_MIN ||
	    capacity->block_bytes > BLOCK_BYTES_MAX ||
	    last >= (u64)S64_MAX / capacity->block_bytes)
		return -EPROTO;
	capacity->blocks = last + 1;
	capacity->physical_block_bytes = capacity->block_bytes << min(data[13] & 0xf, 8);
	capacity->provisioning = data[14] & 0x80;
	capacity->reads_zeroes = data[14] & 0x40;
	capacity->lowest_aligned_lba = get_unaligned_be16(data + 14) & 0x3fff;
	return 0;
}

int istripe_vpd_caching_decode(const u8 *data, u32 bytes, struct istripe_vpd_caching *caching)
{
	u32 end, page;

	if (bytes < 4)
		return -EPROTO;
	caching->write_protected = data[2] & 0x80;
	caching->dpofua = data[2] & 0x10;
	caching->write_cache = true;
	end = min_t(u32, data[0] + 1, bytes);
	page = 4 + data[3];
	if (page + 3 <= end && (data[page] & 0x3f) == ISTRIPE_MODE_PAGE_CACHING)
		caching->write_cache = data[page + 2] & 0x04;
	return 0;
}

int istripe_vpd_lun_listed(const u8 *data, u32 bytes, const struct scsi_lun *lun)
{
	u32 claimed, end, i;

	if (bytes < 8)
		return -EPROTO;
	claimed = get_unaligned_be32(data);
	end = min(claimed, bytes - 8);
	for (i = 0; i + sizeof(*lun) <= end; i += sizeof(*lun))
		if (!memcmp(data + 8 + i, lun, sizeof(*lun)))
			return 1;
	return claimed > bytes - 8 ? -ENODATA : 0;
}
