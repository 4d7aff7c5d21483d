/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Asymmetric logical unit access (SPC-5 5.17): the access state of a target port group, as REPORT
 * TARGET PORT GROUPS or the refusal of a command tells it.
 */
#ifndef ISTRIPE_SCSI_ALUA_H
#define ISTRIPE_SCSI_ALUA_H

#include <linux/types.h>
#include <scsi/scsi_common.h>
#include <scsi/scsi_proto.h>

struct istripe_vpd_port;

/* Of a LUN, through one target port. All zero: the target tells no states, I/O is welcome. */
struct istripe_access {
	u8 tpgs;		/* ISTRIPE_TPGS_...: who changes states; 0: nobody asks for them */
	bool known;		/* the target tells the state of this port */
	bool preferred;		/* PREF */
	bool may_optimize;	/* AO_SUP, or no ..._SUP at all: which states it has is not told */
	u8 state;		/* SCSI_ACCESS_STATE_... */
	u8 transition_s;	/* how long a transition may take; 0: not told */
	u16 group;		/* target port group */
	unsigned long asked_at;	/* jiffies: it was so then, or has become so since */
};

/**
 * istripe_alua_decode() - find a port's group in REPORT TARGET PORT GROUPS data, SPC-5 6.36
 * @data: what came, with either form of the header
 * @bytes: its length
 * @port: from VPD 83h; its group counts, without one the port itself
 * @access: filled
 * Return: 0; -EPROTO no such data; -ENOENT the port's group is not listed.
 */
int istripe_alua_decode(const u8 *data, u32 bytes, const struct istripe_vpd_port *port,
			struct istripe_access *access);

/**
 * istripe_alua_sense_state() - the access state for which a command was refused
 * @sense: of the command, response_code 0: none
 *
 * Such a command was not carried out.
 *
 * Return: SCSI_ACCESS_STATE_...; -1 when it was not refused for such a reason.
 */
int istripe_alua_sense_state(const struct scsi_sense_hdr *sense);

/**
 * istripe_alua_sense_changed() - does a unit attention say that access states have changed
 * @sense: of a command, response_code 0: none
 * Return: true or false.
 */
bool istripe_alua_sense_changed(const struct scsi_sense_hdr *sense);

/**
 * istripe_alua_sense_obscures() - may a unit attention hide one of a change of access states
 * @sense: of a command, response_code 0: none
 *
 * A reset establishes one unit attention, and clears those of before (SAM-5 5.14).
 *
 * Return: true or false.
 */
bool istripe_alua_sense_obscures(const struct scsi_sense_hdr *sense);

/**
 * istripe_alua_usable() - does a port in this state take I/O
 * @state: SCSI_ACCESS_STATE_..., also an unknown one
 * Return: false for standby, unavailable, offline and transitioning.
 */
bool istripe_alua_usable(u8 state);

/**
 * istripe_alua_state_name() - an access state in SPC's words
 * @state: SCSI_ACCESS_STATE_..., also an unknown one
 * Return: a constant string, never NULL.
 */
const char *istripe_alua_state_name(u8 state);

#endif
