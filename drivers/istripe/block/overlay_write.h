/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Writes the copies of the overlays (overlay.h) to the LUN.
 *
 * A copy is written through the volume's disk, so that what happens to paths happens to it as to
 * any write. It gets its data when it is sent, and from then until it is done other writes to these
 * blocks wait: so the last data are those of the copy. It has a tag by then, so that they cannot
 * keep it from having one.
 */
#ifndef ISTRIPE_BLOCK_OVERLAY_WRITE_H
#define ISTRIPE_BLOCK_OVERLAY_WRITE_H

struct istripe_leg;
struct istripe_volume;

void istripe_overlay_write_init(struct istripe_leg *leg);

/*
 * The disk is about to go: writes all copies, and none afterwards. When it cannot, it says so, and
 * a write-back has failed (writeback.h), which ends its waiting, too. Sleeps.
 */
void istripe_overlay_write_stop(struct istripe_volume *volume);

#endif
