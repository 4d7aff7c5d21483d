/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a LUN says about itself: INQUIRY data, vital product data pages, READ
 * CAPACITY(16), MODE SENSE, REPORT LUNS. Bytes in, a structure or -EPROTO out; every
 * length the target claims is cut to what was received.
 */
#ifndef ISTRIPE_SCSI_VPD_H
#define ISTRIPE_SCSI_VPD_H

#include <linux/types.h>
#include <scsi/scsi_proto.h>

#define ISTRIPE_VPD_DESIGNATOR_BYTES	132

/* VPD pages that LUN bring-up reads. */
enum istripe_vpd_page {
	ISTRIPE_VPD_SUPPORTED = 0x00,
	ISTRIPE_VPD_SERIAL = 0x80,
	ISTRIPE_VPD_IDENTIFICATION = 0x83,
	ISTRIPE_VPD_BLOCK_LIMITS = 0xb0,
	ISTRIPE_VPD_CHARACTERISTICS = 0xb1,
	ISTRIPE_VPD_PROVISIONING = 0xb2,
};

#define ISTRIPE_MODE_PAGE_CACHING	0x08

/**
 * struct istripe_vpd_inquiry - standard INQUIRY data
 * @qualifier: 0: a device is there
 * @device_type: TYPE_DISK and its like
 * @vendor: printable, without trailing blanks
 * @product: likewise
 */
struct istripe_vpd_inquiry {
	u8 qualifier;
	u8 device_type;
	char vendor[9];
	char product[17];
};

/**
 * struct istripe_vpd_capacity - READ CAPACITY(16)
 * @blocks: number of logical blocks
 * @block_bytes: their size
 * @physical_block_bytes: size of physical blocks, >= @block_bytes
 * @lowest_aligned_lba: first LBA that is at the start of a physical block
 * @provisioning: LBPME: logical block provisioning management is on
 * @reads_zeroes: LBPRZ: unmapped blocks read as zeroes
 */
struct istripe_vpd_capacity {
	u64 blocks;
	u32 block_bytes;
	u32 physical_block_bytes;
	u32 lowest_aligned_lba;
	bool provisioning;
	bool reads_zeroes;
};

/**
 * struct istripe_vpd_block_limits - VPD B0h, in logical blocks, 0: not reported
 * @max_transfer: longest READ or WRITE
 * @optimal_transfer: what the target likes best; a hint, never a limit
 * @optimal_granularity: transfers should be multiples of it
 * @max_unmap: blocks of one UNMAP
 * @max_unmap_descriptors: of one UNMAP
 * @unmap_granularity: UNMAP should be multiples of it
 * @unmap_alignment: first LBA of such a multiple
 * @unmap_alignment_valid: it is reported
 * @max_write_same: blocks of one WRITE SAME
 * @max_atomic: blocks of one WRITE ATOMIC that is whole or not at all
 * @atomic_alignment: its LBA is a multiple of it
 * @atomic_granularity: its length is a multiple of it
 */
struct istripe_vpd_block_limits {
	u32 max_transfer;
	u32 optimal_transfer;
	u32 optimal_granularity;
	u32 max_unmap;
	u32 max_unmap_descriptors;
	u32 unmap_granularity;
	u32 unmap_alignment;
	bool unmap_alignment_valid;
	u64 max_write_same;
	u32 max_atomic;
	u32 atomic_alignment;
	u32 atomic_granularity;
};

/**
 * struct istripe_vpd_provisioning - VPD B2h
 * @unmap: LBPU: UNMAP deallocates
 * @write_same16: LBPWS: WRITE SAME(16) with UNMAP deallocates
 * @reads_zeroes: LBPRZ: unmapped blocks read as zeroes
 */
struct istripe_vpd_provisioning {
	bool unmap;
	bool write_same16;
	bool reads_zeroes;
};

/**
 * struct istripe_vpd_caching - MODE SENSE(6), header and caching page
 * @write_protected: WP
 * @dpofua: DPO and FUA bits are understood
 * @write_cache: WCE: GOOD does not mean that data are on the medium
 */
struct istripe_vpd_caching {
	bool write_protected;
	bool dpofua;
	bool write_cache;
};

/**
 * istripe_vpd_inquiry_decode() - standard INQUIRY data, SPC-5 6.6.2
 * @data: what came
 * @bytes: its length
 * @inquiry: filled
 *
 * Context: any.
 * Return: 0; -EPROTO shorter than 36 bytes.
 */
int istripe_vpd_inquiry_decode(const u8 *data, u32 bytes, struct istripe_vpd_inquiry *inquiry);

/**
 * istripe_vpd_page_listed() - is a page in VPD 00h, SPC-5 7.7.16
 * @data: what came
 * @bytes: its length
 * @page: page code
 *
 * Context: any.
 * Return: true or false; false for data that are no such page.
 */
bool istripe_vpd_page_listed(const u8 *data, u32 bytes, u8 page);

/**
 * istripe_vpd_serial_decode() - VPD 80h, SPC-5 7.7.19
 * @data: what came
 * @bytes: its length
 * @serial: filled, printable, without blanks around it
 * @serial_bytes: its size, at least 1
 *
 * Context: any.
 * Return: 0; -EPROTO another page or too short.
 */
int istripe_vpd_serial_decode(const u8 *data, u32 bytes, char *serial, u32 serial_bytes);

/**
 * istripe_vpd_designator_decode() - choose the LUN's designator from VPD 83h, SPC-5 7.7.6
 * @data: what came
 * @bytes: its length
 * @text: filled: "naa.6001405...", "eui.0025...", "t10.LIO-ORG...", "name.iqn..."
 * @text_bytes: its size, at least 1; ISTRIPE_VPD_DESIGNATOR_BYTES is enough for all binary ones
 *
 * Only designators of the logical unit itself count, and of these only well-formed ones:
 * NAA 6 is best, then NAA 5 and 2, EUI-64, T10 vendor identification, SCSI name string;
 * NAA 3, locally assigned and so perhaps somebody else's as well, comes last; of several of
 * one kind the first. A T10 vendor identification of nothing but the vendor is none. Text
 * loses the blanks around it, and what is not printable is escaped as \xNN. A designator too
 * long for @text is passed over, never cut: two LUNs must not look like one.
 *
 * Context: any.
 * Return: 0; -EPROTO another page; -ENOENT there is none, then @text is empty.
 */
int istripe_vpd_designator_decode(const u8 *data, u32 bytes, char *text, u32 text_bytes);

/**
 * istripe_vpd_block_limits_decode() - VPD B0h, SBC-4 6.6.4
 * @data: what came
 * @bytes: its length
 * @limits: filled; fields that an old, short page lacks are 0
 *
 * Context: any.
 * Return: 0; -EPROTO another page or too short.
 */
int istripe_vpd_block_limits_decode(const u8 *data, u32 bytes,
				    struct istripe_vpd_block_limits *limits);

/**
 * istripe_vpd_rotational() - VPD B1h, SBC-4 6.6.2: does the medium spin
 * @data: what came
 * @bytes: its length
 *
 * Context: any.
 * Return: false when the page says that it does not; true otherwise.
 */
bool istripe_vpd_rotational(const u8 *data, u32 bytes);

/**
 * istripe_vpd_provisioning_decode() - VPD B2h, SBC-4 6.6.7
 * @data: what came
 * @bytes: its length
 * @provisioning: filled
 *
 * Context: any.
 * Return: 0; -EPROTO another page or too short.
 */
int istripe_vpd_provisioning_decode(const u8 *data, u32 bytes,
				    struct istripe_vpd_provisioning *provisioning);

/**
 * istripe_vpd_capacity_decode() - READ CAPACITY(16), SBC-4 5.19.2
 * @data: what came
 * @bytes: its length
 * @capacity: filled
 *
 * Context: any.
 * Return: 0; -EPROTO too short, or blocks that no disk has: a size that is not a power
 * of two from 512 to 4096, or so many that their bytes cannot be counted.
 */
int istripe_vpd_capacity_decode(const u8 *data, u32 bytes, struct istripe_vpd_capacity *capacity);

/**
 * istripe_vpd_caching_decode() - MODE SENSE(6) data with or without the caching page
 * @data: what came
 * @bytes: its length
 * @caching: filled; without the page there is a write cache, to be safe
 *
 * Context: any.
 * Return: 0; -EPROTO shorter than its header.
 */
int istripe_vpd_caching_decode(const u8 *data, u32 bytes, struct istripe_vpd_caching *caching);

/**
 * istripe_vpd_lun_listed() - is a LUN in REPORT LUNS data, SPC-5 6.32
 * @data: what came
 * @bytes: its length
 * @lun: 8 bytes as in a PDU
 *
 * Context: any.
 * Return: 1 it is; 0 it is not; -ENODATA the list is longer than what came; -EPROTO.
 */
int istripe_vpd_lun_listed(const u8 *data, u32 bytes, const struct scsi_lun *lun);

#endif
