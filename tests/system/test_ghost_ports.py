# SPDX-License-Identifier: GPL-2.0
"""Ghost writes where each path leads to a target port of its own: no other path can end a session.

A lost write goes over the other path at once. Other data for its blocks wait until the lost path is
back, and nothing else does.
"""

from pathlib import Path

import pytest

from conftest import Size
from lab import ghost, lio, network, tgt, topology
from lab.disk import Direct, noise, same
from lab.ghost import KIB, killed, silent, state
from lab.shell import read, run, wait_for, write

MIB = 1 << 20
ROUNDS = Size.rounds(1, 20)
PATH = {"default_time2wait": 0, "login_timeout_ms": 5000, "ping_interval_ms": 1000,
        "ping_timeout_ms": 5000}


@pytest.fixture
def make_ports(targets, links):
    """make_ports(lun, kind): a target port on each link for one LUN; the targets of them."""

    def make(lun, kind):
        each = topology.tgt_targets if isinstance(lun, tgt.Lun) else topology.lio_targets
        return [targets(target) for target in each(links, lun, kind)]

    return make


def volume_of(make_volume, links, ports):
    volume = make_volume(ports[0], paths=links, policy="failover", fence="auto",
                         recovery_timeout_ms=-1, ghost_timeout_ms=-1, path=PATH)
    write(volume.leg / "paths" / "1" / "target_name", ports[1].iqn)
    return volume


def goes_on(volume, disk, holder, lose, link, seed):
    """One round, with the write of the round held by the disk until the end."""
    older, newer = noise(4 * KIB, f"older-{seed}"), noise(4 * KIB, f"newer-{seed}")
    lost = volume.path_sysfs(0, 0)
    writer = ghost.write_to_holder(disk, holder, older)
    heal = lose(link, network.ISCSI_PORT)
    try:
        writer.finish()
        assert holder.held() and read(lost / "ghost_writes") == "1"
        waits = ghost.Write(disk, ghost.AT, newer)
        disk.write(ghost.AT + 4 * KIB, newer)
        same(disk.read(ghost.AT, 4 * KIB), older, "the data on the disk")
        ghost.wait_waiting(volume, waits)
        waits.join(ghost.SETTLE_S)
        assert waits.is_alive(), "newer data were written over a write that is with the disk"
        assert read(lost / "waiting_writes") == "1"
    finally:
        heal()
    # The target's login waits for the disk, or, with tgt, a reset of the LUN does.
    waits.join(ghost.SETTLE_S)
    assert waits.is_alive(), "newer data were written over a write that is with the disk"
    holder.release()
    waits.finish()
    same(disk.read(ghost.AT, 4 * KIB), newer, "the data on the disk")
    wait_for("all paths", lambda: state(volume) == "live", 60)
    assert read(lost / "ghost_writes") == "0"


@pytest.mark.timeout_s(300 if not Size.full else 3600)
@pytest.mark.parametrize("lose", [silent, killed])
@pytest.mark.parametrize("array, kind", [(lio, topology.GROUPS), (lio, topology.TARGETS),
                                         (tgt, topology.TARGETS)], ids=["groups", "targets", "tgt"])
def test_writes_go_on(make_ports, make_volume, links, array, kind, lose):
    ports = make_ports(array.HoldingLun(16 * MIB), kind)
    volume = volume_of(make_volume, links, ports)
    with Direct(volume.enable()) as disk:
        for number in range(ROUNDS):
            goes_on(volume, disk, ports[0].luns[0].disk, lose, links[0], number)
    volume.disable()


def test_the_reset_may_wait(make_ports, make_volume, links):
    """Behind a link that is down TCP's reset waits for the neighbour, for a minute here. The lost
    write does not: the reset has none of its pages.
    """
    ports = make_ports(lio.HoldingLun(16 * MIB), topology.GROUPS)
    volume = volume_of(make_volume, links, ports)
    holder, link = ports[0].luns[0].disk, links[0]
    retrans = Path(f"/proc/sys/net/ipv4/neigh/{link.nic}/retrans_time_ms")
    before = read(retrans)
    with Direct(volume.enable()) as disk:
        writer = ghost.write_to_holder(disk, holder, noise(4 * KIB, 1))
        # The kernel forgets the neighbour now, and not when the link goes: the reset would go, too.
        run("sysctl", "-q", "-w", f"net.ipv4.conf.{link.nic}.arp_evict_nocarrier=0")
        run("sysctl", "-q", "-w", f"net.ipv4.conf.{link.peer}.arp_ignore=8", netns=network.NETNS)
        write(retrans, 20000)
        run("ip", "neigh", "del", link.address, "dev", link.nic)
        link.set_peer_up(False)
        try:
            writer.finish()
            assert "INCOMPLETE" in run("ip", "neigh", "show", link.address, "dev", link.nic)
            assert holder.held() and read(volume.path_sysfs(0, 0) / "ghost_writes") == "1"
        finally:
            write(retrans, before)
            run("sysctl", "-q", "-w", f"net.ipv4.conf.{link.nic}.arp_evict_nocarrier=1")
            run("sysctl", "-q", "-w", f"net.ipv4.conf.{link.peer}.arp_ignore=0",
                netns=network.NETNS)
            link.set_peer_up(True)
            run("ip", "neigh", "del", link.address, "dev", link.nic, check=False)
            holder.release()
        wait_for("all paths", lambda: state(volume) == "live", 60)
        same(disk.read(ghost.AT, 4 * KIB), noise(4 * KIB, 1), "the data on the disk")
    volume.disable()
