# SPDX-License-Identifier: GPL-2.0
"""Login redirection (status 0101 and 0102): followed, but not for ever."""

import pytest

from lab import lio, network, tgt
from lab.istripe import EnableError

MIB = 1 << 20


@pytest.mark.parametrize("reason", ["Temporary", "Permanent"])
@pytest.mark.parametrize("version", [4, 6])
def test_redirect_is_followed(targets, links, make_volume, kernel_log, reason, version):
    """tgtd on one link sends us to LIO on the other one; both know the target by one name."""
    name = "iqn.2024-01.org.example.istripe:moved"
    there = links[1].address6 if version == 6 else links[1].address
    targets(lio.Target([(there, network.ISCSI_PORT)], [lio.Lun(16 * MIB)], iqn=name))
    here = targets(tgt.Target([(links[0].address, network.ISCSI_PORT)], [tgt.Lun(8 * MIB)],
                              iqn=name))
    here.update(RedirectAddress=f"[{there}]" if version == 6 else there,
                RedirectPort=network.ISCSI_PORT, RedirectReason=reason)
    volume = make_volume(here, path={"lun": 0})
    volume.enable()
    assert volume.size_bytes() == 16 * MIB
    assert any("redirects to" in line for line in kernel_log.read())


def test_redirect_in_a_circle(targets, link, make_volume):
    """A target that sends us to itself is given up after a few hops, with a reason."""
    target = targets(tgt.Target([(link.address, network.ISCSI_PORT)], [tgt.Lun(8 * MIB)]))
    target.update(RedirectAddress=link.address, RedirectPort=network.ISCSI_PORT,
                  RedirectReason="Temporary")
    volume = make_volume(target)
    with pytest.raises(EnableError, match="redirects more than") as failure:
        volume.enable()
    assert failure.value.number
