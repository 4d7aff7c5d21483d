# SPDX-License-Identifier: GPL-2.0
"""File systems: how each is made, and what finds damage in it."""

FILE_SYSTEMS = {
    "xfs": (["mkfs.xfs", "-q", "-f"], [["xfs_repair", "-n"]]),
    "ext4": (["mkfs.ext4", "-q", "-F"], [["e2fsck", "-f", "-n"]]),
}
