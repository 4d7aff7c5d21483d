/* SPDX-License-Identifier: GPL-2.0 */
/* What the driver of a network interface says, as ethtool(8) asks it. */
#ifndef ISTRIPECTL_ETHTOOL_H
#define ISTRIPECTL_ETHTOOL_H

#include <stdbool.h>
#include <stddef.h>

struct ethtool_pause {
	bool receive;
	bool transmit;
};

struct ethtool_rings {
	unsigned int receive, receive_max;
	unsigned int transmit, transmit_max;
};

struct ethtool_feature {
	char name[32];		/* the kernel's, as tx-tcp-segmentation */
	bool on;
	bool changeable;
};

/**
 * ethtool_is_dummy() - whether nothing is behind an interface
 * @nic: its name
 *
 * Return: whether it is one of the driver dummy.
 */
bool ethtool_is_dummy(const char *nic);

/**
 * ethtool_pause() - whether the interface heeds and sends PAUSE frames
 * @nic: its name
 * @pause: set on success
 *
 * Return: 0; -errno: -EOPNOTSUPP the driver does not say.
 */
int ethtool_pause(const char *nic, struct ethtool_pause *pause);

/**
 * ethtool_rings() - how many descriptors its rings have
 * @nic: its name
 * @rings: set on success
 *
 * Return: as ethtool_pause().
 */
int ethtool_rings(const char *nic, struct ethtool_rings *rings);

/**
 * ethtool_features() - its offloads
 * @nic: its name
 * @features: set, for free()
 *
 * Return: how many there are; -errno.
 */
int ethtool_features(const char *nic, struct ethtool_feature **features);

#endif
