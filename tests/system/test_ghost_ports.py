# SPDX-License-Identifier: GPL-2.0
"""Ghost writes where each path leads to a target port of its own: no other path can end a session.

A lost write goes over the other path at once. Other data for its blocks wait until the lost path is
back, and nothing else does.
"""

import pytest

from conftest import Size
from lab import ghost, lio, network
from lab.disk import Direct, noise, same
from lab.ghost import KIB, killed, silent, state
from lab.shell import read, wait_for, write

MIB = 1 << 20
ROUNDS = Size.rounds(1, 20)
IQN = f"{lio.IQN}ports"
PATH = {"default_time2wait": 0, "login_timeout_ms": 5000, "ping_interval_ms": 1000,
        "ping_timeout_ms": 3000}


@pytest.fixture
def make_ports(targets, links):
    """make_ports(lun, kind): a target port on each link for one LUN; the targets of them.

    kind: "groups", portal groups of one target, or "targets".
    """

    def make(lun, kind):
        made = []
        for index, link in enumerate(links):
            options = {"tpgt": index + 1} if kind == "groups" else {"iqn": f"{IQN}{index}"}
            made.append(targets(lio.Target(
                [(link.address, network.ISCSI_PORT)], [lio.SameLun(lun) if index else lun],
                **{"iqn": IQN, **options})))
        return made

    return make


def volume_of(make_volume, links, ports):
    volume = make_volume(ports[0], paths=links, policy="failover", fence="auto",
                         recovery_timeout_ms=-1, path=PATH)
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
        waits.join(ghost.SETTLE_S)
        assert waits.is_alive(), "newer data were written over a write that is with the disk"
        assert read(lost / "waiting_writes") == "1"
    finally:
        heal()
    # The target's login waits for the disk.
    waits.join(ghost.SETTLE_S)
    assert waits.is_alive(), "newer data were written over a write that is with the disk"
    holder.release()
    waits.finish()
    same(disk.read(ghost.AT, 4 * KIB), newer, "the data on the disk")
    wait_for("all paths", lambda: state(volume) == "live", 60)
    assert read(lost / "ghost_writes") == "0"


@pytest.mark.timeout_s(300 if not Size.full else 3600)
@pytest.mark.parametrize("lose", [silent, killed])
@pytest.mark.parametrize("kind", ["groups", "targets"])
def test_writes_go_on(make_ports, make_volume, links, kind, lose):
    ports = make_ports(lio.HoldingLun(16 * MIB), kind)
    volume = volume_of(make_volume, links, ports)
    with Direct(volume.enable()) as disk:
        for number in range(ROUNDS):
            goes_on(volume, disk, ports[0].luns[0].disk, lose, links[0], number)
    volume.disable()
