// SPDX-License-Identifier: GPL-2.0
#include <linux/ctype.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/log2.h>
#include <linux/string.h>
#include <compat/unaligned.h>

#include "scsi/vpd.h"

#define VPD_HEADER_BYTES	4
#define INQUIRY_TPGS		0x30	/* byte 5: implicit, explicit, or both */
#define INQUIRY_TPGS_SHIFT	4
#define UGAVALID		0x80000000u	/* VPD B0h: an alignment is told */
#define BLOCK_LIMITS_SBC4_BYTES	60	/* VPD B0h with atomic writes */
#define CAPACITY10_BYTES	8
#define CAPACITY_BYTES		12	/* of SBC-2; what follows may be missing */
#define CAPACITY_FLAGS_BYTES	4	/* bytes 12 to 15 */
#define BLOCK_BYTES_MIN		512
#define BLOCK_BYTES_MAX		4096

/* Leave out blanks and NULs around a field; returns what is left of its length. */
static u32 trim(const u8 **field, u32 bytes)
{
	while (bytes && (**field == ' ' || !**field)) {
		(*field)++;
		bytes--;
	}
	while (bytes && ((*field)[bytes - 1] == ' ' || !(*field)[bytes - 1]))
		bytes--;
	return bytes;
}

static bool printable(u8 c)
{
	return isascii(c) && isprint(c);
}

/* Copy a field of ASCII for people to read: printable, without blanks around it. */
static void copy_ascii(char *to, u32 to_bytes, const u8 *from, u32 bytes)
{
	u32 i;

	bytes = min(trim(&from, bytes), to_bytes - 1);
	bytes = trim(&from, bytes);	/* blanks that were within before it was cut */
	for (i = 0; i < bytes; i++)
		to[i] = printable(from[i]) ? from[i] : '?';
	to[bytes] = '\0';
}

int istripe_vpd_inquiry_decode(const u8 *data, u32 bytes, struct istripe_vpd_inquiry *inquiry)
{
	if (bytes < 36)
		return -EPROTO;
	inquiry->qualifier = data[0] >> 5;
	inquiry->device_type = data[0] & 0x1f;
	inquiry->tpgs = (data[5] & INQUIRY_TPGS) >> INQUIRY_TPGS_SHIFT;
	copy_ascii(inquiry->vendor, sizeof(inquiry->vendor), data + 8, 8);
	copy_ascii(inquiry->product, sizeof(inquiry->product), data + 16, 16);
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

u32 istripe_vpd_page_bytes(const u8 *data, u32 bytes)
{
	return bytes < VPD_HEADER_BYTES ? 0 : VPD_HEADER_BYTES + get_unaligned_be16(data + 2);
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

/*
 * Kinds of designators, SPC-5 7.7.6.3, the best one last. A locally assigned NAA is the
 * one kind that others may have given to their LUNs, too: tgt builds it from the numbers
 * of target and LUN, so all its first LUNs share one.
 */
enum designator_rank {
	RANK_NONE,
	RANK_NAA_LOCAL,
	RANK_NAME,
	RANK_T10,
	RANK_EUI,
	RANK_NAA_EXTENDED,
	RANK_NAA_REGISTERED,
	RANK_NAA_REGISTERED_EXTENDED,
};

/* A designation descriptor is a header of four bytes and the designator. */
#define DESIGNATOR_HEADER_BYTES	4
#define DESIGNATOR_CODE_SET(d)	((d)[0] & 0x0f)
#define DESIGNATOR_OF(d)	((d)[1] >> 4 & 0x3)
#define DESIGNATOR_TYPE(d)	((d)[1] & 0x0f)
#define DESIGNATOR_LENGTH(d)	((d)[3])

#define CODE_SET_BINARY		1
#define OF_LOGICAL_UNIT		0
#define OF_TARGET_PORT		1
#define TYPE_RELATIVE_PORT	4
#define TYPE_PORT_GROUP		5
#define PORT_DESIGNATOR_BYTES	4
#define T10_VENDOR_BYTES	8

static enum designator_rank naa_rank(const u8 *naa, u32 bytes)
{
	switch (bytes ? naa[0] >> 4 : 0) {
	case 2:
		return bytes == 8 ? RANK_NAA_EXTENDED : RANK_NONE;
	case 3:
		return bytes == 8 ? RANK_NAA_LOCAL : RANK_NONE;
	case 5:
		return bytes == 8 ? RANK_NAA_REGISTERED : RANK_NONE;
	case 6:
		return bytes == 16 ? RANK_NAA_REGISTERED_EXTENDED : RANK_NONE;
	default:
		return RANK_NONE;
	}
}

static enum designator_rank eui_rank(const u8 *eui, u32 bytes)
{
	if (bytes != 8 && bytes != 12 && bytes != 16)
		return RANK_NONE;
	/* All zeroes are what a target sends that has never been given one. */
	return memchr_inv(eui, 0, bytes) ? RANK_EUI : RANK_NONE;
}

/* A vendor alone, as LIO sends it for a LUN without a serial number, tells none from another. */
static enum designator_rank t10_rank(const u8 *t10, u32 bytes)
{
	if (bytes <= T10_VENDOR_BYTES)
		return RANK_NONE;
	t10 += T10_VENDOR_BYTES;
	return trim(&t10, bytes - T10_VENDOR_BYTES) ? RANK_T10 : RANK_NONE;
}

static enum designator_rank designator_rank(const u8 *d)
{
	const u8 *value = d + DESIGNATOR_HEADER_BYTES;
	bool binary = DESIGNATOR_CODE_SET(d) == CODE_SET_BINARY;

	if (DESIGNATOR_OF(d) != OF_LOGICAL_UNIT)
		return RANK_NONE;	/* of a port or of the target */
	switch (DESIGNATOR_TYPE(d)) {
	case 1:
		return binary ? RANK_NONE : t10_rank(value, DESIGNATOR_LENGTH(d));
	case 2:
		return binary ? eui_rank(value, DESIGNATOR_LENGTH(d)) : RANK_NONE;
	case 3:
		return binary ? naa_rank(value, DESIGNATOR_LENGTH(d)) : RANK_NONE;
	case 8:
		return binary ? RANK_NONE : RANK_NAME;
	default:
		return RANK_NONE;
	}
}

/* Escaped and not replaced: different designators must not become one text. */
static u32 print_text(char *text, u32 text_bytes, const u8 *value, u32 bytes)
{
	u32 i, used = 0;

	for (i = 0; i < bytes; i++)
		if (printable(value[i]) && value[i] != '\\')
			used += scnprintf(text + used, text_bytes - used, "%c", value[i]);
		else
			used += scnprintf(text + used, text_bytes - used, "\\x%02x", value[i]);
	return used;
}

int istripe_vpd_serial_designator(const u8 *data, u32 bytes,
				  const struct istripe_vpd_inquiry *inquiry, char *text,
				  u32 text_bytes)
{
	const u8 *body;
	int len = vpd_body(data, bytes, ISTRIPE_VPD_SERIAL, &body);
	u32 used;

	if (len < 0)
		return len;
	len = trim(&body, len);
	used = scnprintf(text, text_bytes, "serial.%s.%s.", inquiry->vendor, inquiry->product);
	used += print_text(text + used, text_bytes - used, body, len);
	if (len && used + 1 < text_bytes)
		return 0;
	text[0] = '\0';
	return -ENOENT;
}

static u32 print_hex(char *text, u32 text_bytes, const u8 *value, u32 bytes)
{
	u32 i, used = 0;

	for (i = 0; i < bytes; i++)
		used += scnprintf(text + used, text_bytes - used, "%02x", value[i]);
	return used;
}

static const char *rank_prefix(enum designator_rank rank)
{
	switch (rank) {
	case RANK_NAME:
		return "name.";
	case RANK_T10:
		return "t10.";
	case RANK_EUI:
		return "eui.";
	default:
		return "naa.";
	}
}

/* False when nothing is between the blanks, or when it may have been cut. */
static bool designator_print(const u8 *d, enum designator_rank rank, char *text, u32 text_bytes)
{
	const u8 *value = d + DESIGNATOR_HEADER_BYTES;
	u32 prefix = scnprintf(text, text_bytes, "%s", rank_prefix(rank));
	u32 bytes = DESIGNATOR_LENGTH(d);
	u32 used;

	if (rank == RANK_NAME || rank == RANK_T10) {
		bytes = trim(&value, bytes);
		used = print_text(text + prefix, text_bytes - prefix, value, bytes);
	} else {
		used = print_hex(text + prefix, text_bytes - prefix, value, bytes);
	}
	return used && prefix + used + 1 < text_bytes;
}

/* Print the first designator of a rank that came whole, can be printed, and is @wanted, if any. */
static bool designator_choose(const u8 *body, u32 bytes, enum designator_rank rank,
			      const char *wanted, char *text, u32 text_bytes)
{
	while (bytes >= DESIGNATOR_HEADER_BYTES) {
		u32 step = DESIGNATOR_HEADER_BYTES + DESIGNATOR_LENGTH(body);

		if (step > bytes)
			break;
		if (designator_rank(body) == rank &&
		    designator_print(body, rank, text, text_bytes) &&
		    (!wanted || !strcmp(text, wanted)))
			return true;
		body += step;
		bytes -= step;
	}
	return false;
}

int istripe_vpd_designator_decode(const u8 *data, u32 bytes, char *text, u32 text_bytes)
{
	enum designator_rank rank;
	const u8 *body;
	int len = vpd_body(data, bytes, ISTRIPE_VPD_IDENTIFICATION, &body);

	if (len < 0)
		return len;
	for (rank = RANK_NAA_REGISTERED_EXTENDED; rank > RANK_NONE; rank--)
		if (designator_choose(body, len, rank, NULL, text, text_bytes))
			return 0;
	text[0] = '\0';
	return -ENOENT;
}

bool istripe_vpd_designator_offered(const u8 *data, u32 bytes, const char *wanted)
{
	char text[ISTRIPE_VPD_DESIGNATOR_BYTES];
	enum designator_rank rank;
	const u8 *body;
	int len = vpd_body(data, bytes, ISTRIPE_VPD_IDENTIFICATION, &body);

	for (rank = RANK_NAA_REGISTERED_EXTENDED; len > 0 && rank > RANK_NAA_LOCAL; rank--)
		if (designator_choose(body, len, rank, wanted, text, sizeof(text)))
			return true;
	return false;
}

static bool names_have(const struct istripe_vpd_names *names, const char *wanted)
{
	return !strcmp(names->best, wanted) ||
	       istripe_vpd_designator_offered(names->page, names->page_bytes, wanted);
}

bool istripe_vpd_names_are(const struct istripe_vpd_names *names, const char *known,
			   const char *since)
{
	if (names_have(names, known))
		return true;
	return names->serial[0] && !strcmp(names->serial, known) &&
	       (!since[0] || names_have(names, since));
}

static void port_take(const u8 *d, struct istripe_vpd_port *port)
{
	u16 value = get_unaligned_be16(d + DESIGNATOR_HEADER_BYTES + 2);

	switch (DESIGNATOR_TYPE(d)) {
	case TYPE_RELATIVE_PORT:
		port->port_known = true;
		port->port = value;
		break;
	case TYPE_PORT_GROUP:
		port->group_known = true;
		port->group = value;
		break;
	}
}

int istripe_vpd_port_decode(const u8 *data, u32 bytes, struct istripe_vpd_port *port)
{
	const u8 *body;
	int left = vpd_body(data, bytes, ISTRIPE_VPD_IDENTIFICATION, &body);
	int step;

	*port = (struct istripe_vpd_port) {};
	if (left < 0)
		return left;
	for (; left >= DESIGNATOR_HEADER_BYTES; body += step, left -= step) {
		step = DESIGNATOR_HEADER_BYTES + DESIGNATOR_LENGTH(body);
		if (step > left)
			break;
		if (DESIGNATOR_OF(body) == OF_TARGET_PORT &&
		    DESIGNATOR_CODE_SET(body) == CODE_SET_BINARY &&
		    DESIGNATOR_LENGTH(body) == PORT_DESIGNATOR_BYTES)
			port_take(body, port);
	}
	return 0;
}

/* A field by its offset in the page as the standard tells it; 0 unless it came whole. */
static u32 page_be32(const u8 *body, u32 bytes, u32 offset)
{
	offset -= VPD_HEADER_BYTES;
	return offset + 4 <= bytes ? get_unaligned_be32(body + offset) : 0;
}

static u64 page_be64(const u8 *body, u32 bytes, u32 offset)
{
	offset -= VPD_HEADER_BYTES;
	return offset + 8 <= bytes ? get_unaligned_be64(body + offset) : 0;
}

/* All or nothing: an alignment that has not come is not one that is not asked for. */
static void decode_atomic(const u8 *body, u32 bytes, struct istripe_vpd_block_limits *limits)
{
	bool whole = bytes >= BLOCK_LIMITS_SBC4_BYTES;

	limits->max_atomic = whole ? page_be32(body, bytes, 44) : 0;
	limits->atomic_alignment = page_be32(body, bytes, 48);
	limits->atomic_granularity = page_be32(body, bytes, 52);
}

int istripe_vpd_block_limits_decode(const u8 *data, u32 bytes,
				    struct istripe_vpd_block_limits *limits)
{
	const u8 *body;
	int len = vpd_body(data, bytes, ISTRIPE_VPD_BLOCK_LIMITS, &body);
	u32 alignment;

	if (len < 0)
		return len;
	if (len < 12)
		return -EPROTO;
	limits->optimal_granularity = get_unaligned_be16(body + 2);
	limits->max_transfer = page_be32(body, len, 8);
	limits->optimal_transfer = page_be32(body, len, 12);
	limits->max_unmap = page_be32(body, len, 20);
	limits->max_unmap_descriptors = page_be32(body, len, 24);
	limits->unmap_granularity = page_be32(body, len, 28);
	alignment = page_be32(body, len, 32);
	limits->unmap_alignment_valid = alignment & UGAVALID;
	limits->unmap_alignment = alignment & ~UGAVALID;
	limits->max_write_same = page_be64(body, len, 36);
	decode_atomic(body, len, limits);
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
	provisioning->told = true;
	provisioning->unmap = body[1] & 0x80;
	provisioning->write_same16 = body[1] & 0x40;
	return 0;
}

int istripe_vpd_capacity_decode(const u8 *data, u32 bytes, struct istripe_vpd_capacity *capacity)
{
	u8 flags[CAPACITY_FLAGS_BYTES] = {};
	u64 last;

	if (bytes < CAPACITY_BYTES)
		return -EPROTO;
	last = get_unaligned_be64(data);
	capacity->block_bytes = get_unaligned_be32(data + 8);
	if (!is_power_of_2(capacity->block_bytes) || capacity->block_bytes < BLOCK_BYTES_MIN ||
	    capacity->block_bytes > BLOCK_BYTES_MAX ||
	    last >= (u64)S64_MAX >> ilog2(capacity->block_bytes))
		return -EPROTO;
	memcpy(flags, data + CAPACITY_BYTES, min_t(u32, bytes - CAPACITY_BYTES, sizeof(flags)));
	capacity->blocks = last + 1;
	capacity->physical_block_bytes = capacity->block_bytes << min(flags[1] & 0xf, 8);
	capacity->provisioning = flags[2] & 0x80;
	capacity->reads_zeroes = flags[2] & 0x40;
	capacity->lowest_aligned_lba = get_unaligned_be16(flags + 2) & 0x3fff;
	return 0;
}

int istripe_vpd_capacity10_decode(const u8 *data, u32 bytes, struct istripe_vpd_capacity *capacity)
{
	u8 longer[CAPACITY_BYTES] = {};

	if (bytes < CAPACITY10_BYTES)
		return -EPROTO;
	if (get_unaligned_be32(data) == U32_MAX)
		return -EOVERFLOW;
	memcpy(longer + CAPACITY_BYTES - CAPACITY10_BYTES, data, CAPACITY10_BYTES);
	return istripe_vpd_capacity_decode(longer, sizeof(longer), capacity);
}

int istripe_vpd_caching_decode(const u8 *data, u32 bytes, struct istripe_vpd_caching *caching)
{
	u32 end, page;

	if (bytes < 4)
		return -EPROTO;
	caching->write_protected = data[2] & 0x80;
	caching->dpofua = data[2] & 0x10;
	caching->write_cache = true;
	caching->told = false;
	end = min_t(u32, data[0] + 1, bytes);
	page = 4 + data[3];
	/* Not a subpage, whose layout is another, and long enough to have the flag. */
	if (page + 3 <= end && (data[page] & 0x7f) == ISTRIPE_MODE_PAGE_CACHING && data[page + 1]) {
		caching->write_cache = data[page + 2] & 0x04;
		caching->told = true;
	}
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

bool istripe_vpd_lun_may_be(const struct scsi_lun *lun, u16 number)
{
	u16 first = get_unaligned_be16(lun->scsi_lun);

	return first & 0x8000 || (first & 0x3fff) == number;
}
