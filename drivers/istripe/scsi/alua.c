// SPDX-License-Identifier: GPL-2.0
#include <linux/errno.h>
#include <linux/kernel.h>
#include <compat/unaligned.h>

#include "scsi/alua.h"
#include "scsi/sense.h"
#include "scsi/vpd.h"

#define LENGTH_BYTES		4	/* in front of all */
#define EXTENDED_BYTES		4	/* behind it, in the extended header */
#define FORMAT_MASK		0x70	/* of the first byte behind the length */
#define FORMAT_EXTENDED		0x10
#define GROUP_BYTES		8	/* of a descriptor without its ports */
#define GROUP_MAY_OPTIMIZE	0x01	/* of its second byte: AO_SUP */
#define PORT_BYTES		4

static bool group_has_port(const u8 *group, u32 bytes, u16 port)
{
	u32 at;

	for (at = GROUP_BYTES; at + PORT_BYTES <= bytes; at += PORT_BYTES)
		if (get_unaligned_be16(group + at + 2) == port)
			return true;
	return false;
}

/* @bytes: of the descriptor, as many as came; GROUP_BYTES at least. */
static bool group_is_of(const u8 *group, u32 bytes, const struct istripe_vpd_port *port)
{
	if (port->group_known)
		return get_unaligned_be16(group + 2) == port->group;
	return port->port_known && group_has_port(group, bytes, port->port);
}

int istripe_alua_decode(const u8 *data, u32 bytes, const struct istripe_vpd_port *port,
			struct istripe_access *access)
{
	u32 left, step;

	if (bytes < LENGTH_BYTES)
		return -EPROTO;
	left = min(get_unaligned_be32(data), bytes - LENGTH_BYTES);
	data += LENGTH_BYTES;
	if (left >= EXTENDED_BYTES && (data[0] & FORMAT_MASK) == FORMAT_EXTENDED) {
		access->transition_s = data[1];
		data += EXTENDED_BYTES;
		left -= EXTENDED_BYTES;
	}
	for (; left >= GROUP_BYTES; data += step, left -= step) {
		step = min_t(u32, left, GROUP_BYTES + PORT_BYTES * data[7]);
		if (!group_is_of(data, step, port))
			continue;
		access->known = true;
		access->preferred = data[0] & SCSI_ACCESS_STATE_PREFERRED;
		access->may_optimize = !data[1] || (data[1] & GROUP_MAY_OPTIMIZE);
		access->state = data[0] & SCSI_ACCESS_STATE_MASK;
		access->group = get_unaligned_be16(data + 2);
		return 0;
	}
	return -ENOENT;
}

static bool sense_is(const struct scsi_sense_hdr *sense, u8 key, u8 asc)
{
	return istripe_sense_current(sense) && sense->sense_key == key && sense->asc == asc;
}

int istripe_alua_sense_state(const struct scsi_sense_hdr *sense)
{
	if (sense_is(sense, UNIT_ATTENTION, ISTRIPE_ASC_NOT_READY) && sense->ascq == 0x0a)
		return SCSI_ACCESS_STATE_TRANSITIONING;
	if (!sense_is(sense, NOT_READY, ISTRIPE_ASC_NOT_READY))
		return -1;
	switch (sense->ascq) {
	case 0x0a:
		return SCSI_ACCESS_STATE_TRANSITIONING;
	case 0x0b:
		return SCSI_ACCESS_STATE_STANDBY;
	case 0x0c:
		return SCSI_ACCESS_STATE_UNAVAILABLE;
	case 0x12:
		return SCSI_ACCESS_STATE_OFFLINE;
	default:
		return -1;
	}
}

bool istripe_alua_sense_changed(const struct scsi_sense_hdr *sense)
{
	/* ASYMMETRIC ACCESS STATE CHANGED, IMPLICIT ... TRANSITION FAILED. */
	return sense_is(sense, UNIT_ATTENTION, ISTRIPE_ASC_PARAMETERS_CHANGED) &&
	       (sense->ascq == 0x06 || sense->ascq == 0x07);
}

bool istripe_alua_sense_obscures(const struct scsi_sense_hdr *sense)
{
	/* Power on, resets of the bus, the LUN or the device itself, and any of these (00h). */
	return sense_is(sense, UNIT_ATTENTION, ISTRIPE_ASC_RESET_OCCURRED) && sense->ascq <= 0x04;
}

bool istripe_alua_usable(u8 state)
{
	switch (state) {
	case SCSI_ACCESS_STATE_STANDBY:
	case SCSI_ACCESS_STATE_UNAVAILABLE:
	case SCSI_ACCESS_STATE_OFFLINE:
	case SCSI_ACCESS_STATE_TRANSITIONING:
		return false;
	default:
		return true;
	}
}

static const char *const state_names[] = {
	[SCSI_ACCESS_STATE_OPTIMAL] = "active/optimized",
	[SCSI_ACCESS_STATE_ACTIVE] = "active/non-optimized",
	[SCSI_ACCESS_STATE_STANDBY] = "standby",
	[SCSI_ACCESS_STATE_UNAVAILABLE] = "unavailable",
	[SCSI_ACCESS_STATE_LBA] = "lba-dependent",
	[SCSI_ACCESS_STATE_OFFLINE] = "offline",
	[SCSI_ACCESS_STATE_TRANSITIONING] = "transitioning",
};

const char *istripe_alua_state_name(u8 state)
{
	return (state < ARRAY_SIZE(state_names) ? state_names[state] : NULL) ?: "unknown";
}
