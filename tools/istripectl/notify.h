/* SPDX-License-Identifier: GPL-2.0 */
/* What systemd is told of a service that is starting. */
#ifndef ISTRIPECTL_NOTIFY_H
#define ISTRIPECTL_NOTIFY_H

#include "fault.h"

/**
 * notify_status() - have systemctl status show why a volume does not come up yet
 * @fault: why; an empty one: nothing is wrong any more
 *
 * systemctl status shows lines of the journal, but none of an attempt that has ended. Nothing
 * happens when systemd does not wait for it, see sd_notify(3).
 */
void notify_status(const struct fault *fault);

#endif
