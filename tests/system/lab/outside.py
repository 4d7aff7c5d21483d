# SPDX-License-Identifier: GPL-2.0
"""The target outside of the virtual machine, when tests/vm/outside has started it."""

from lab import istripe, network

MAC = "52:54:00:57:00:01"
OURS = "10.57.0.1"
ADDRESS = "10.57.0.2"
PORTAL = f"{ADDRESS}:3260"
#: With OUTSIDE_PATHS=2 only.
SECOND_ADDRESS = "10.58.0.2"
IQN = "iqn.2024-01.org.example.istripe:outside"
#: Its LUNs; those of one pair are alike.
WITH_CACHE = (1, 2)
WITHOUT_CACHE = (3, 4)


def present():
    return network.nic_of(MAC) is not None


def connect():
    """The machine's NIC is up."""
    network.nic_up(MAC, OURS)


def volume(name, places, **settings):
    """A volume with a leg for each place: (portal, name of the target, LUN)."""
    each = [{"portal": portal, "target_name": iqn, "lun": lun, "default_time2wait": 0}
            for portal, iqn, lun in places]
    return istripe.Volume(name, each[0], more_legs=each[1:], **settings)
