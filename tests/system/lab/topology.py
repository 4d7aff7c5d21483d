# SPDX-License-Identifier: GPL-2.0
"""Forms of an array: how the ports over which it shows one LUN belong together."""

from lab import lio, tgt
from lab.network import ISCSI_PORT

#: One portal group with a portal on each link; a portal group for each; a target for each.
GROUP, GROUPS, TARGETS = "group", "groups", "targets"


def _portals(links):
    return [(link.address, ISCSI_PORT) for link in links]


def lio_targets(links, lun, kind, **options):
    """Targets to be created in this order. With portal groups they are of one name."""
    iqn = f"{lio.IQN}ports"
    if kind == GROUP:
        return [lio.Target(_portals(links), [lun], iqn=iqn, **options)]
    each = [{"iqn": iqn, "tpgt": index + 1} if kind == GROUPS else {"iqn": f"{iqn}{index}"}
            for index in range(len(links))]
    return [lio.Target([portal], [lio.SameLun(lun) if index else lun], **each[index], **options)
            for index, portal in enumerate(_portals(links))]


def tgt_targets(links, lun, kind):
    """The same; tgt has one portal group for each target. A target for each link is a process each."""
    if kind == GROUP:
        return [tgt.Target(_portals(links), [lun])]
    return [tgt.Target([portal], [lio.SameLun(lun) if index else lun], iqn=f"{tgt.IQN}{index}",
                       number=index) for index, portal in enumerate(_portals(links))]
