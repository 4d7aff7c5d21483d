/* SPDX-License-Identifier: GPL-2.0 */
/* Command descriptor blocks of SPC and SBC. Every function writes all 16 bytes. */
#ifndef ISTRIPE_SCSI_CDB_H
#define ISTRIPE_SCSI_CDB_H

#include <linux/types.h>
#include <scsi/scsi_proto.h>

#include "scsi/range.h"

#define ISTRIPE_CDB_BYTES		16
#define ISTRIPE_UNMAP_PARAMETER_BYTES	24	/* header and one descriptor */

/**
 * istripe_cdb_init() - a command that has nothing but its opcode
 * @cdb: 16 bytes
 * @opcode: TEST UNIT READY, READ CAPACITY(10), SYNCHRONIZE CACHE(10) or (16) of the whole LUN
 */
void istripe_cdb_init(u8 *cdb, u8 opcode);

/**
 * istripe_cdb_transfer16() - READ(16) or WRITE(16), SBC-4 5.20 and 5.48
 * @cdb: 16 bytes
 * @write: which
 * @lba: first logical block
 * @blocks: how many
 */
void istripe_cdb_transfer16(u8 *cdb, bool write, u64 lba, u32 blocks);

/**
 * istripe_cdb_write_atomic16() - WRITE ATOMIC(16) without an atomic boundary, SBC-4
 * @cdb: 16 bytes
 * @lba: first logical block
 * @blocks: how many
 */
void istripe_cdb_write_atomic16(u8 *cdb, u64 lba, u16 blocks);

/**
 * istripe_cdb_set_fua() - set the FUA bit of READ or WRITE, or take it away
 * @cdb: 16 bytes, from one of the two functions before
 * @fua: the bit: data come from the medium, or are on it when the answer is GOOD
 */
void istripe_cdb_set_fua(u8 *cdb, bool fua);

/**
 * istripe_cdb_write_same_keep() - take the UNMAP bit of WRITE SAME away
 * @cdb: 16 bytes, WRITE SAME
 */
void istripe_cdb_write_same_keep(u8 *cdb);

/**
 * istripe_cdb_has_fua() - is the FUA bit set?
 * @cdb: READ, or a command that writes
 * Return: so; WRITE SAME has none.
 */
bool istripe_cdb_has_fua(const u8 *cdb);

/**
 * istripe_cdb_unmap() - UNMAP with one descriptor, SBC-4 5.39
 * @cdb: 16 bytes
 * @list: its parameter list, ISTRIPE_UNMAP_PARAMETER_BYTES
 * @lba: first logical block
 * @blocks: how many
 */
void istripe_cdb_unmap(u8 *cdb, u8 *list, u64 lba, u32 blocks);

/**
 * istripe_cdb_write_same16() - WRITE SAME(16) with a block of data, SBC-4 5.53
 * @cdb: 16 bytes
 * @lba: first logical block
 * @blocks: how many, not 0
 * @unmap: UNMAP bit, the blocks may be deallocated when they then read as the data
 */
void istripe_cdb_write_same16(u8 *cdb, u64 lba, u32 blocks, bool unmap);

/**
 * istripe_cdb_writes_by_parameter() - are the data of a command a parameter, without a FUA bit?
 * @cdb: 16 bytes
 * Return: so; UNMAP and WRITE SAME(16).
 */
static inline bool istripe_cdb_writes_by_parameter(const u8 *cdb)
{
	return cdb[0] == UNMAP || cdb[0] == WRITE_SAME_16;
}

/**
 * istripe_cdb_range() - the blocks that a command of the functions above changes
 * @cdb: WRITE(16), WRITE ATOMIC(16), WRITE SAME(16) or UNMAP
 * @list: the parameter list of UNMAP, of one range
 * @range: filled
 */
void istripe_cdb_range(const u8 *cdb, const u8 *list, struct istripe_range *range);

/**
 * istripe_cdb_inquiry() - standard INQUIRY, SPC-5 6.6
 * @cdb: 16 bytes
 * @bytes: allocation length
 */
void istripe_cdb_inquiry(u8 *cdb, u16 bytes);

/**
 * istripe_cdb_inquiry_vpd() - INQUIRY for a vital product data page, SPC-5 6.6
 * @cdb: 16 bytes
 * @page: page code
 * @bytes: allocation length
 */
void istripe_cdb_inquiry_vpd(u8 *cdb, u8 page, u16 bytes);

/**
 * istripe_cdb_report_luns() - REPORT LUNS, SPC-5 6.32
 * @cdb: 16 bytes
 * @bytes: allocation length, at least 16
 */
void istripe_cdb_report_luns(u8 *cdb, u32 bytes);

/**
 * istripe_cdb_read_capacity16() - READ CAPACITY(16), SBC-4 5.19
 * @cdb: 16 bytes
 * @bytes: allocation length, 32
 */
void istripe_cdb_read_capacity16(u8 *cdb, u32 bytes);

/**
 * istripe_cdb_mode_sense6() - MODE SENSE(6) without block descriptors, SPC-5 6.13
 * @cdb: 16 bytes
 * @page: page code
 * @bytes: allocation length
 */
void istripe_cdb_mode_sense6(u8 *cdb, u8 page, u8 bytes);

/* Bytes of the parameter list of PERSISTENT RESERVE OUT. */
#define ISTRIPE_RESERVE_PARAMETER_BYTES	24

/* Service actions of PERSISTENT RESERVE OUT, SPC-5 6.16.1. */
enum istripe_reserve_action {
	ISTRIPE_RESERVE_REGISTER	= 0x00,
	ISTRIPE_RESERVE_RESERVE		= 0x01,
	ISTRIPE_RESERVE_RELEASE		= 0x02,
	ISTRIPE_RESERVE_CLEAR		= 0x03,
	ISTRIPE_RESERVE_PREEMPT		= 0x04,
	ISTRIPE_RESERVE_PREEMPT_ABORT	= 0x05,
	ISTRIPE_RESERVE_REGISTER_ANYWAY	= 0x06,
};

/**
 * istripe_cdb_reserve_out() - PERSISTENT RESERVE OUT, SPC-5 6.16
 * @cdb: 16 bytes
 * @action: service action
 * @type: type of the reservation, SPC-5 6.15.3.4; its scope is the logical unit
 */
void istripe_cdb_reserve_out(u8 *cdb, enum istripe_reserve_action action, u8 type);

/**
 * istripe_cdb_reserve_in_keys() - PERSISTENT RESERVE IN with READ KEYS, SPC-5 6.15.2
 * @cdb: 16 bytes
 * @bytes: allocation length
 */
void istripe_cdb_reserve_in_keys(u8 *cdb, u16 bytes);

/**
 * istripe_cdb_reserve_in_holder() - PERSISTENT RESERVE IN with READ RESERVATION, SPC-5 6.15.3
 * @cdb: 16 bytes
 * @bytes: allocation length
 */
void istripe_cdb_reserve_in_holder(u8 *cdb, u16 bytes);

/**
 * istripe_cdb_reserve_parameter() - the parameter list, SPC-5 6.16.3
 * @list: ISTRIPE_RESERVE_PARAMETER_BYTES bytes
 * @key: reservation key, 0 for none
 * @action_key: service action reservation key
 * @keep: keep it when the target loses power (APTPL)
 */
void istripe_cdb_reserve_parameter(u8 *list, u64 key, u64 action_key, bool keep);

/**
 * istripe_cdb_report_target_port_groups() - REPORT TARGET PORT GROUPS, SPC-5 6.36
 * @cdb: 16 bytes
 * @bytes: allocation length
 * @extended: with the extended header, which has the time that a transition may take
 */
void istripe_cdb_report_target_port_groups(u8 *cdb, u32 bytes, bool extended);

/* Bytes of the parameter list of SET TARGET PORT GROUPS for one group. */
#define ISTRIPE_PORT_GROUP_PARAMETER_BYTES	8

/**
 * istripe_cdb_set_target_port_group() - SET TARGET PORT GROUPS for one group, SPC-5 6.45
 * @cdb: 16 bytes
 * @list: its parameter list, ISTRIPE_PORT_GROUP_PARAMETER_BYTES
 * @group: target port group
 * @state: SCSI_ACCESS_STATE_... that it is to have
 */
void istripe_cdb_set_target_port_group(u8 *cdb, u8 *list, u16 group, u8 state);

/**
 * istripe_cdb_start_unit() - START STOP UNIT with START, answered at once, SBC-4 5.31
 * @cdb: 16 bytes
 */
void istripe_cdb_start_unit(u8 *cdb);

#endif
