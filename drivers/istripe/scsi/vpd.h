/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Decoders of INQUIRY data, VPD pages, READ CAPACITY(16), MODE SENSE and REPORT LUNS:
 * bytes in, a structure or -EPROTO out. Every length the target claims is cut to what was received.
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

#define ISTRIPE_MODE_PAGE_VENDOR	0x00
#define ISTRIPE_MODE_PAGE_CACHING	0x08
#define ISTRIPE_MODE_PAGES_ALL		0x3f

/* Peripheral qualifier: no device is connected, or the target port is unavailable. */
#define ISTRIPE_VPD_NOT_CONNECTED	0x1

/* Access states of target port groups are changed by: */
#define ISTRIPE_TPGS_IMPLICIT	0x1	/* the target */
#define ISTRIPE_TPGS_EXPLICIT	0x2	/* initiators, by SET TARGET PORT GROUPS */

/* Standard INQUIRY data. */
struct istripe_vpd_inquiry {
	u8 qualifier;		/* 0: a device is there */
	u8 device_type;		/* TYPE_DISK and its like */
	u8 tpgs;		/* ISTRIPE_TPGS_...; 0: it tells no access states */
	char vendor[9];		/* printable, without trailing blanks */
	char product[17];	/* likewise */
};

/* VPD 83h: the target port through which it was read. */
struct istripe_vpd_port {
	bool group_known;
	bool port_known;
	u16 group;		/* target port group */
	u16 port;		/* relative target port identifier */
};

/* Names of a LUN. */
struct istripe_vpd_names {
	const char *best;	/* as it is known when nothing is known before: not empty */
	const char *serial;	/* made of VPD 80h, also when @best is of VPD 83h; may be empty */
	const u8 *page;		/* VPD 83h as it came */
	u32 page_bytes;
};

/* READ CAPACITY(16). */
struct istripe_vpd_capacity {
	u64 blocks;			/* number of logical blocks */
	u32 block_bytes;		/* their size */
	u32 physical_block_bytes;	/* size of physical blocks, >= @block_bytes */
	u32 lowest_aligned_lba;		/* first LBA that is at the start of a physical block */
	bool provisioning;		/* LBPME: logical block provisioning management is on */
	bool reads_zeroes;		/* LBPRZ: unmapped blocks read as zeroes */
};

/* VPD B0h, in logical blocks, 0: not reported. */
struct istripe_vpd_block_limits {
	u32 max_transfer;		/* longest READ or WRITE */
	u32 optimal_transfer;		/* what the target likes best; a hint, never a limit */
	u32 optimal_granularity;	/* transfers should be multiples of it */
	u32 max_unmap;			/* blocks of one UNMAP */
	u32 max_unmap_descriptors;	/* of one UNMAP */
	u32 unmap_granularity;		/* UNMAP should be multiples of it */
	u32 unmap_alignment;		/* first LBA of such a multiple */
	bool unmap_alignment_valid;	/* it is reported */
	u64 max_write_same;		/* blocks of one WRITE SAME */
	u32 max_atomic;			/* blocks of one WRITE ATOMIC that is whole or not at all */
	u32 atomic_alignment;		/* its LBA is a multiple of it */
	u32 atomic_granularity;		/* its length is a multiple of it */
};

/* VPD B2h. */
struct istripe_vpd_provisioning {
	bool told;		/* there is such a page */
	bool unmap;		/* LBPU: UNMAP deallocates */
	bool write_same16;	/* LBPWS: WRITE SAME(16) with UNMAP deallocates */
};

/* MODE SENSE(6), header and caching page. */
struct istripe_vpd_caching {
	bool write_protected;	/* WP */
	bool dpofua;		/* DPO and FUA bits are understood */
	bool write_cache;	/* WCE: GOOD does not mean that data are on the medium */
	bool told;		/* the LUN has the page; else @write_cache is assumed */
};

/**
 * istripe_vpd_inquiry_decode() - standard INQUIRY data, SPC-5 6.6.2
 * @data: what came
 * @bytes: its length
 * @inquiry: filled
 * Return: 0; -EPROTO shorter than 36 bytes.
 */
int istripe_vpd_inquiry_decode(const u8 *data, u32 bytes, struct istripe_vpd_inquiry *inquiry);

/**
 * istripe_vpd_page_bytes() - how long a VPD page is as a whole
 * @data: what came
 * @bytes: its length
 * Return: bytes with the header; 0 when not even that came.
 */
u32 istripe_vpd_page_bytes(const u8 *data, u32 bytes);

/**
 * istripe_vpd_page_listed() - is a page in VPD 00h, SPC-5 7.7.16
 * @data: what came
 * @bytes: its length
 * @page: page code
 * Return: true or false; false for data that are no such page.
 */
bool istripe_vpd_page_listed(const u8 *data, u32 bytes, u8 page);

/**
 * istripe_vpd_serial_decode() - VPD 80h, SPC-5 7.7.19
 * @data: what came
 * @bytes: its length
 * @serial: filled, printable, without blanks around it
 * @serial_bytes: its size, at least 1
 * Return: 0; -EPROTO another page or too short.
 */
int istripe_vpd_serial_decode(const u8 *data, u32 bytes, char *serial, u32 serial_bytes);

/**
 * istripe_vpd_serial_designator() - a designator of a LUN that has none
 * @data: what came of VPD 80h
 * @bytes: its length
 * @inquiry: of the LUN
 * @text: filled: "serial.vendor.product.number"
 * @text_bytes: its size, at least 1
 *
 * It is as good as the serial number, which some targets give to all their LUNs.
 *
 * Return: 0; -EPROTO another page or too short; -ENOENT no serial number, or one that does not fit.
 */
int istripe_vpd_serial_designator(const u8 *data, u32 bytes,
				  const struct istripe_vpd_inquiry *inquiry, char *text,
				  u32 text_bytes);

/**
 * istripe_vpd_designator_decode() - choose the LUN's designator from VPD 83h, SPC-5 7.7.6
 * @data: what came
 * @bytes: its length
 * @text: filled: "naa.6001405...", "eui.0025...", "t10.LIO-ORG...", "name.iqn..."
 * @text_bytes: its size, at least 1; ISTRIPE_VPD_DESIGNATOR_BYTES is enough for all binary ones
 *
 * Only designators of the logical unit itself count, and of these only well-formed ones: NAA 6 is
 * best, then NAA 5 and 2, EUI-64, T10 vendor identification, SCSI name string, and NAA 3, which is
 * locally assigned and may not be unique; of several of one kind the first. A T10 vendor
 * identification of only the vendor is none. Text loses the blanks around it; unprintable bytes are
 * escaped as \xNN. A designator too long for @text is passed over: two LUNs must not look like one.
 *
 * Return: 0; -EPROTO another page; -ENOENT there is none, then @text is empty.
 */
int istripe_vpd_designator_decode(const u8 *data, u32 bytes, char *text, u32 text_bytes);

/**
 * istripe_vpd_designator_offered() - is one of the LUN's designators in VPD 83h, SPC-5 7.7.6
 * @data: what came
 * @bytes: its length
 * @wanted: as istripe_vpd_designator_decode() writes it
 *
 * It need not be the best. Locally assigned NAAs are passed over, for they may not be unique.
 *
 * Return: true or false; false for data that are no such page.
 */
bool istripe_vpd_designator_offered(const u8 *data, u32 bytes, const char *wanted);

/**
 * istripe_vpd_names_are() - is a LUN the one that is known by a name
 * @names: of the LUN now
 * @known: its designator, or that of its serial number; not empty
 * @since: what VPD 83h has said since it is known by its serial number, or empty
 *
 * The serial number counts as long as @since, once there is one, is offered, too.
 *
 * Return: true or false.
 */
bool istripe_vpd_names_are(const struct istripe_vpd_names *names, const char *known,
			   const char *since);

/**
 * istripe_vpd_port_decode() - find the target port and its group in VPD 83h, SPC-5 7.7.6
 * @data: what came
 * @bytes: its length
 * @port: filled
 * Return: 0, also when nothing is said of the port; -EPROTO another page.
 */
int istripe_vpd_port_decode(const u8 *data, u32 bytes, struct istripe_vpd_port *port);

/**
 * istripe_vpd_block_limits_decode() - VPD B0h, SBC-4 6.6.4
 * @data: what came
 * @bytes: its length
 * @limits: filled; fields that an old, short page lacks are 0
 * Return: 0; -EPROTO another page or too short.
 */
int istripe_vpd_block_limits_decode(const u8 *data, u32 bytes,
				    struct istripe_vpd_block_limits *limits);

/**
 * istripe_vpd_rotational() - VPD B1h, SBC-4 6.6.2: does the medium spin
 * @data: what came
 * @bytes: its length
 * Return: false when the page says that it does not; true otherwise.
 */
bool istripe_vpd_rotational(const u8 *data, u32 bytes);

/**
 * istripe_vpd_provisioning_decode() - VPD B2h, SBC-4 6.6.7
 * @data: what came
 * @bytes: its length
 * @provisioning: filled
 * Return: 0; -EPROTO another page or too short.
 */
int istripe_vpd_provisioning_decode(const u8 *data, u32 bytes,
				    struct istripe_vpd_provisioning *provisioning);

/**
 * istripe_vpd_capacity_decode() - READ CAPACITY(16), SBC-4 5.19.2
 * @data: what came
 * @bytes: its length
 * @capacity: filled
 * Return: 0; -EPROTO too short, or blocks that no disk has: a size that is not a power of two from
 * 512 to 4096, or so many that their bytes cannot be counted.
 */
int istripe_vpd_capacity_decode(const u8 *data, u32 bytes, struct istripe_vpd_capacity *capacity);

/**
 * istripe_vpd_capacity10_decode() - READ CAPACITY(10), SBC-4 5.18.2
 * @data: what came
 * @bytes: its length
 * @capacity: filled, without what READ CAPACITY(16) alone tells
 * Return: as istripe_vpd_capacity_decode(); -EOVERFLOW more blocks than it can tell.
 */
int istripe_vpd_capacity10_decode(const u8 *data, u32 bytes, struct istripe_vpd_capacity *capacity);

/**
 * istripe_vpd_caching_decode() - MODE SENSE(6) data with or without the caching page
 * @data: what came
 * @bytes: its length
 * @caching: filled; without the page, @told is false and there is a write cache, to be safe
 * Return: 0; -EPROTO shorter than its header.
 */
int istripe_vpd_caching_decode(const u8 *data, u32 bytes, struct istripe_vpd_caching *caching);

/**
 * istripe_vpd_lun_listed() - is a LUN in REPORT LUNS data, SPC-5 6.32
 * @data: what came
 * @bytes: its length
 * @lun: 8 bytes as in a PDU
 * Return: 1 it is; 0 it is not; -ENODATA the list is longer than what came; -EPROTO.
 */
int istripe_vpd_lun_listed(const u8 *data, u32 bytes, const struct scsi_lun *lun);

/**
 * istripe_vpd_lun_may_be() - is a PDU about a LUN
 * @lun: 8 bytes as in a PDU
 * @number: of the LUN
 * Return: false for another number by peripheral or flat space addressing (SAM-5 4.7); true.
 */
bool istripe_vpd_lun_may_be(const struct scsi_lun *lun, u16 number);

#endif
