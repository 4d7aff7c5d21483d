// SPDX-License-Identifier: GPL-2.0
#include <linux/string.h>
#include <compat/unaligned.h>

#include "scsi/cdb.h"

/* Newer than the oldest kernel's <scsi/scsi_proto.h>. */
#define CDB_WRITE_ATOMIC_16	0x9c

#define CDB_FUA			0x08	/* byte 1 of READ and WRITE */
#define CDB_WRITE_SAME_UNMAP	0x08	/* byte 1 of WRITE SAME */
#define CDB_IMMED		0x01	/* byte 1 of START STOP UNIT */
#define CDB_READ_RESERVATION	0x01	/* byte 1 of PERSISTENT RESERVE IN */
#define CDB_START		0x01	/* byte 4 of START STOP UNIT */
#define CDB_EVPD		0x01	/* byte 1 of INQUIRY */
#define CDB_DBD			0x08	/* byte 1 of MODE SENSE: no block descriptors */

void istripe_cdb_init(u8 *cdb, u8 opcode)
{
	memset(cdb, 0, ISTRIPE_CDB_BYTES);
	cdb[0] = opcode;
}

/* READ, WRITE and WRITE SAME (16) have these in one place. */
static void cdb_put_range(u8 *cdb, u64 lba, u32 blocks)
{
	put_unaligned_be64(lba, cdb + 2);
	put_unaligned_be32(blocks, cdb + 10);
}

void istripe_cdb_set_fua(u8 *cdb, bool fua)
{
	cdb[1] = fua ? CDB_FUA : 0;
}

void istripe_cdb_write_same_keep(u8 *cdb)
{
	cdb[1] &= ~CDB_WRITE_SAME_UNMAP;
}

bool istripe_cdb_has_fua(const u8 *cdb)
{
	return cdb[0] != WRITE_SAME_16 && (cdb[1] & CDB_FUA);
}

void istripe_cdb_transfer16(u8 *cdb, bool write, u64 lba, u32 blocks)
{
	istripe_cdb_init(cdb, write ? WRITE_16 : READ_16);
	cdb_put_range(cdb, lba, blocks);
}

void istripe_cdb_write_atomic16(u8 *cdb, u64 lba, u16 blocks)
{
	istripe_cdb_init(cdb, CDB_WRITE_ATOMIC_16);
	put_unaligned_be64(lba, cdb + 2);
	put_unaligned_be16(blocks, cdb + 12);
}

void istripe_cdb_unmap(u8 *cdb, u8 *list, u64 lba, u32 blocks)
{
	istripe_cdb_init(cdb, UNMAP);
	put_unaligned_be16(ISTRIPE_UNMAP_PARAMETER_BYTES, cdb + 7);
	memset(list, 0, ISTRIPE_UNMAP_PARAMETER_BYTES);
	put_unaligned_be16(ISTRIPE_UNMAP_PARAMETER_BYTES - 2, list);
	put_unaligned_be16(ISTRIPE_UNMAP_PARAMETER_BYTES - 8, list + 2);
	put_unaligned_be64(lba, list + 8);
	put_unaligned_be32(blocks, list + 16);
}

void istripe_cdb_write_same16(u8 *cdb, u64 lba, u32 blocks, bool unmap)
{
	istripe_cdb_init(cdb, WRITE_SAME_16);
	cdb_put_range(cdb, lba, blocks);
	if (unmap)
		cdb[1] = CDB_WRITE_SAME_UNMAP;
}

void istripe_cdb_range(const u8 *cdb, const u8 *list, struct istripe_range *range)
{
	range->lba = get_unaligned_be64(cdb[0] == UNMAP ? list + 8 : cdb + 2);
	switch (cdb[0]) {
	case UNMAP:
		range->end = range->lba + get_unaligned_be32(list + 16);
		break;
	case CDB_WRITE_ATOMIC_16:
		range->end = range->lba + get_unaligned_be16(cdb + 12);
		break;
	default:
		range->end = range->lba + get_unaligned_be32(cdb + 10);
	}
}

void istripe_cdb_inquiry(u8 *cdb, u16 bytes)
{
	istripe_cdb_init(cdb, INQUIRY);
	put_unaligned_be16(bytes, cdb + 3);
}

void istripe_cdb_inquiry_vpd(u8 *cdb, u8 page, u16 bytes)
{
	istripe_cdb_inquiry(cdb, bytes);
	cdb[1] = CDB_EVPD;
	cdb[2] = page;
}

void istripe_cdb_report_luns(u8 *cdb, u32 bytes)
{
	istripe_cdb_init(cdb, REPORT_LUNS);
	put_unaligned_be32(bytes, cdb + 6);
}

void istripe_cdb_read_capacity16(u8 *cdb, u32 bytes)
{
	istripe_cdb_init(cdb, SERVICE_ACTION_IN_16);
	cdb[1] = SAI_READ_CAPACITY_16;
	put_unaligned_be32(bytes, cdb + 10);
}

void istripe_cdb_mode_sense6(u8 *cdb, u8 page, u8 bytes)
{
	istripe_cdb_init(cdb, MODE_SENSE);
	cdb[1] = CDB_DBD;
	cdb[2] = page;
	cdb[4] = bytes;
}

void istripe_cdb_reserve_out(u8 *cdb, enum istripe_reserve_action action, u8 type)
{
	istripe_cdb_init(cdb, PERSISTENT_RESERVE_OUT);
	cdb[1] = action;
	cdb[2] = type;
	put_unaligned_be32(ISTRIPE_RESERVE_PARAMETER_BYTES, cdb + 5);
}

void istripe_cdb_reserve_in_keys(u8 *cdb, u16 bytes)
{
	istripe_cdb_init(cdb, PERSISTENT_RESERVE_IN);
	put_unaligned_be16(bytes, cdb + 7);
}

void istripe_cdb_reserve_in_holder(u8 *cdb, u16 bytes)
{
	istripe_cdb_reserve_in_keys(cdb, bytes);
	cdb[1] = CDB_READ_RESERVATION;
}

void istripe_cdb_reserve_parameter(u8 *list, u64 key, u64 action_key, bool keep)
{
	memset(list, 0, ISTRIPE_RESERVE_PARAMETER_BYTES);
	put_unaligned_be64(key, list);
	put_unaligned_be64(action_key, list + 8);
	list[20] = keep;
}

void istripe_cdb_report_target_port_groups(u8 *cdb, u32 bytes, bool extended)
{
	istripe_cdb_init(cdb, MAINTENANCE_IN);
	cdb[1] = MI_REPORT_TARGET_PGS | (extended ? MI_EXT_HDR_PARAM_FMT : 0);
	put_unaligned_be32(bytes, cdb + 6);
}

void istripe_cdb_set_target_port_group(u8 *cdb, u8 *list, u16 group, u8 state)
{
	istripe_cdb_init(cdb, MAINTENANCE_OUT);
	cdb[1] = MO_SET_TARGET_PGS;
	put_unaligned_be32(ISTRIPE_PORT_GROUP_PARAMETER_BYTES, cdb + 6);
	memset(list, 0, ISTRIPE_PORT_GROUP_PARAMETER_BYTES);
	list[4] = state;
	put_unaligned_be16(group, list + 6);
}

void istripe_cdb_start_unit(u8 *cdb)
{
	istripe_cdb_init(cdb, START_STOP);
	cdb[1] = CDB_IMMED;
	cdb[4] = CDB_START;
}
