// SPDX-License-Identifier: GPL-2.0
/*
 * Input: a byte that selects the decoder, a byte for its parameter, then what a target
 * might answer. Accepted answers must have the properties that the callers rely on.
 */
#include <stdlib.h>
#include <string.h>

#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/log2.h>

#include <compat/unaligned.h>

#include "scsi/atomic.h"
#include "scsi/vpd.h"
#include "fuzz.h"

#define require(condition) do { if (!(condition)) __builtin_trap(); } while (0)

static void require_printable(const char *text, u32 text_bytes)
{
	require(strnlen(text, text_bytes) < text_bytes);
	for (; *text; text++)
		require(*text >= ' ' && *text <= '~');
}

static void fuzz_inquiry(const u8 *data, u32 bytes, u8 parameter)
{
	struct istripe_vpd_inquiry inquiry;

	if (istripe_vpd_inquiry_decode(data, bytes, &inquiry))
		return;
	require(inquiry.qualifier < 8 && inquiry.device_type < 32);
	require_printable(inquiry.vendor, sizeof(inquiry.vendor));
	require_printable(inquiry.product, sizeof(inquiry.product));
}

static void fuzz_pages(const u8 *data, u32 bytes, u8 parameter)
{
	if (istripe_vpd_page_listed(data, bytes, parameter))
		require(bytes > 4 && data[1] == 0 && memchr(data + 4, parameter, bytes - 4));
}

static void fuzz_serial(const u8 *data, u32 bytes, u8 parameter)
{
	u32 text_bytes = 1 + parameter % 64;
	char *text = malloc(text_bytes);

	require(text);
	if (!istripe_vpd_serial_decode(data, bytes, text, text_bytes))
		require_printable(text, text_bytes);
	free(text);
}

static bool known_prefix(const char *text)
{
	return !strncmp(text, "naa.", 4) || !strncmp(text, "eui.", 4) ||
	       !strncmp(text, "t10.", 4) || !strncmp(text, "name.", 5);
}

static void fuzz_designator(const u8 *data, u32 bytes, u8 parameter)
{
	u32 text_bytes = 1 + parameter;
	char *text = malloc(text_bytes);
	int ret;

	require(text);
	ret = istripe_vpd_designator_decode(data, bytes, text, text_bytes);
	require(ret == 0 || ret == -EPROTO || ret == -ENOENT);
	if (ret != -EPROTO)
		require_printable(text, text_bytes);
	if (!ret)
		require(strlen(text) > 4 && known_prefix(text));
	if (ret == -ENOENT)
		require(!text[0]);
	free(text);
}

/* The best one is offered; bytes behind the page do not count. */
static void fuzz_offered(const u8 *data, u32 bytes, u8 parameter)
{
	u32 page_bytes = istripe_vpd_page_bytes(data, bytes);
	char best[ISTRIPE_VPD_DESIGNATOR_BYTES];
	int ret = istripe_vpd_designator_decode(data, bytes, best, sizeof(best));
	bool offered;

	require(!page_bytes == (bytes < 4) && page_bytes <= 4 + U16_MAX);
	require(!istripe_vpd_designator_offered(data, bytes, ""));
	if (ret)
		return;
	offered = istripe_vpd_designator_offered(data, bytes, best);
	require(offered == !!strncmp(best, "naa.3", 5));
	bytes = min(bytes, page_bytes);
	require(istripe_vpd_designator_offered(data, bytes, best) == offered);
	/* Another one may have this byte, and be offered, too. */
	best[4 + parameter % (strlen(best) - 4)] = '/';
	if (istripe_vpd_designator_offered(data, bytes, best))
		require(memchr(data, '/', bytes));
}

static void require_same_port(const struct istripe_vpd_port *a, const struct istripe_vpd_port *b)
{
	require(a->group_known == b->group_known && a->group == b->group);
	require(a->port_known == b->port_known && a->port == b->port);
}

static void fuzz_port(const u8 *data, u32 bytes, u8 parameter)
{
	struct istripe_vpd_port port, again;
	u8 page[20] = {
		0, 0x83, 0, 16, 1, 0x10 | 4, 0, 4, 0, 0, 0, 0, 1, 0x10 | 5, 0, 4,
	};
	int ret = istripe_vpd_port_decode(data, bytes, &port);

	require(ret == (bytes < 4 || data[1] != 0x83 ? -EPROTO : 0));
	require(port.group_known || !port.group);
	require(port.port_known || !port.port);
	if (port.group_known || port.port_known)
		require(!ret && bytes >= 4 + 8 * (u32)(port.group_known + port.port_known));
	if (ret)
		return;
	bytes = min(bytes, istripe_vpd_page_bytes(data, bytes));
	require(!istripe_vpd_port_decode(data, bytes, &again));
	require_same_port(&port, &again);
	page[4] = port.port_known;
	put_unaligned_be16(port.port, page + 10);
	page[12] = port.group_known;
	put_unaligned_be16(port.group, page + 18);
	require(!istripe_vpd_port_decode(page, sizeof(page), &again));
	require_same_port(&port, &again);
}

static void fuzz_serial_designator(const u8 *data, u32 bytes, u8 parameter)
{
	static const struct istripe_vpd_inquiry inquiry = { .vendor = "v", .product = "p" };
	u32 text_bytes = 1 + parameter;
	char *text = malloc(text_bytes);
	int ret;

	require(text);
	ret = istripe_vpd_serial_designator(data, bytes, &inquiry, text, text_bytes);
	require(ret == 0 || ret == -EPROTO || ret == -ENOENT);
	if (!ret) {
		require_printable(text, text_bytes);
		require(strlen(text) > 11 && !strncmp(text, "serial.v.p.", 11));
	}
	if (ret == -ENOENT)
		require(!text[0]);
	free(text);
}

/* The properties that the block layer and the LUN rely on. */
static void fuzz_atomic(const struct istripe_vpd_block_limits *limits, u8 parameter)
{
	struct istripe_vpd_capacity capacity = {
		.block_bytes = 512 << (parameter & 3),
		.physical_block_bytes = 512 << (parameter & 3) << (parameter >> 2 & 3),
	};
	struct istripe_atomic offer;

	istripe_atomic_of_lun(limits, &capacity, &offer);
	if (!offer.unit_min_bytes)
		return;
	require(is_power_of_2(offer.unit_min_bytes) && is_power_of_2(offer.unit_max_bytes));
	require(is_power_of_2(offer.alignment_bytes));
	require(offer.alignment_bytes <= offer.unit_min_bytes);
	require(offer.unit_min_bytes <= offer.unit_max_bytes);
	require(offer.unit_max_bytes <= offer.max_bytes);
	require(offer.max_bytes / capacity.block_bytes <= limits->max_atomic);
	require(offer.max_bytes / capacity.block_bytes <= U16_MAX);
	require(!limits->max_transfer ||
		offer.max_bytes / capacity.block_bytes <= limits->max_transfer);
}

static void fuzz_block_limits(const u8 *data, u32 bytes, u8 parameter)
{
	struct istripe_vpd_block_limits limits;

	if (istripe_vpd_block_limits_decode(data, bytes, &limits))
		return;
	require(limits.unmap_alignment <= S32_MAX && limits.optimal_granularity <= U16_MAX);
	if (bytes < 24)
		require(!limits.max_unmap && !limits.max_write_same);
	if (bytes < 64)
		require(!limits.max_atomic);
	fuzz_atomic(&limits, parameter);
}

static void fuzz_flags(const u8 *data, u32 bytes, u8 parameter)
{
	struct istripe_vpd_provisioning provisioning;

	if (!istripe_vpd_rotational(data, bytes))
		require(bytes >= 6 && data[1] == 0xb1 && data[4] == 0 && data[5] == 1);
	if (!istripe_vpd_provisioning_decode(data, bytes, &provisioning))
		require(bytes >= 6 && data[1] == 0xb2);
}

static void fuzz_capacity(const u8 *data, u32 bytes, u8 parameter)
{
	struct istripe_vpd_capacity c;

	if (parameter & 1 ? istripe_vpd_capacity10_decode(data, bytes, &c) :
			    istripe_vpd_capacity_decode(data, bytes, &c))
		return;
	require(c.block_bytes == 512 || c.block_bytes == 1024 || c.block_bytes == 2048 ||
		c.block_bytes == 4096);
	require(c.blocks && c.blocks <= (u64)S64_MAX / c.block_bytes);
	require(c.physical_block_bytes >= c.block_bytes && c.physical_block_bytes <= 1 << 20);
	require(c.physical_block_bytes % c.block_bytes == 0);
	require(c.lowest_aligned_lba < 1 << 14);
	if (!(parameter & 1))
		return;
	require(bytes >= 8 && c.blocks <= U32_MAX && c.physical_block_bytes == c.block_bytes);
	require(!c.lowest_aligned_lba && !c.provisioning && !c.reads_zeroes);
}

static void fuzz_caching(const u8 *data, u32 bytes, u8 parameter)
{
	struct istripe_vpd_caching caching;

	if (istripe_vpd_caching_decode(data, bytes, &caching))
		require(bytes < 4);
	else if (!caching.write_cache)
		require(bytes >= 7);
}

static void fuzz_luns(const u8 *data, u32 bytes, u8 parameter)
{
	struct scsi_lun lun = { { 0, parameter } };
	int ret = istripe_vpd_lun_listed(data, bytes, &lun);

	require(ret == 0 || ret == 1 || ret == -ENODATA || ret == -EPROTO);
	require((ret == -EPROTO) == (bytes < 8));
	require(ret != 1 || bytes >= 16);
}

static void (*const targets[])(const u8 *data, u32 bytes, u8 parameter) = {
	fuzz_inquiry, fuzz_pages, fuzz_serial, fuzz_designator, fuzz_block_limits, fuzz_flags,
	fuzz_capacity, fuzz_caching, fuzz_luns, fuzz_offered, fuzz_port, fuzz_serial_designator,
};

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	u8 *exact;

	if (size < 2 || size > 4098)
		return 0;
	exact = malloc(size - 2 ?: 1);
	require(exact);
	memcpy(exact, data + 2, size - 2);
	targets[data[0] % ARRAY_SIZE(targets)](exact, size - 2, data[1]);
	free(exact);
	return 0;
}
