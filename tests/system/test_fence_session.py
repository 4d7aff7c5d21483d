# SPDX-License-Identifier: GPL-2.0
"""fence=session, where other hosts may write: a lost write is not sent again before its session has
ended, and that ends through any path that is proven to be able to.
"""

import pytest

from lab.disk import Direct, noise, same
from lab.ghost import (
    AT,
    CALM,
    SETTLE_S,
    SIZE,
    held_write,
    lost,
    path_state,
    release,
    state,
    volume_over,
)
from lab.shell import read, wait_for, write
from scripted.ghost import hold
from scripted.scenario import HONEST, Scenario

SAID = "/0/0: the old session is ended through .*/0/1"
GHOSTS = "fence is set to {} with ghost_writes"
HELD = Scenario("held", hooks={"on_command": hold})


def counts(volume):
    """Of the first path: writes that wait, and ghosts."""
    return [int(read(volume.path_sysfs(0, 0) / name)) for name in ("waiting_writes", "ghost_writes")]


@pytest.fixture
def one_group(server, make_volume, links):
    """Both paths lead to one portal group: (volume, its server, its target)."""
    target = server.load(HELD)
    return volume_over(make_volume, links, (server.port,) * 2, target, fence="session"), server, target


@pytest.fixture
def two_groups(make_server, make_volume, links):
    """Each path leads to a target of its own, of one name: neither can end sessions of the other."""
    servers = [make_server() for _ in range(2)]
    targets = [server.load(scenario) for server, scenario in zip(servers, (HELD, HONEST))]
    targets[1].disk = targets[0].disk
    volume = volume_over(make_volume, links, [server.port for server in servers], targets[0],
                         fence="session")
    return volume, servers[0], targets[0]


def test_ends_through_another_path(one_group, links, kernel_log):
    """Its own path stays away: the write waits no longer than until a login over the other one."""
    volume, server, target = one_group
    data = noise(SIZE, 1)
    with Direct(volume.enable()) as disk:
        volume.wait_proven()
        server.arm()
        writer = held_write(disk, target, data)
        with lost(volume, links[0], 0):
            writer.finish()
            wait_for("the fence", lambda: kernel_log.matching(SAID))
            assert path_state(volume) != "live" and counts(volume) == [0, 0]
            release(server, target)
            assert "carried out" not in target.run.memory
            same(disk.read(AT, SIZE), data, "the data on the disk")
        wait_for("both paths", lambda: state(volume) == "live", 60)
    volume.disable()
    assert server.violations() == []


def test_waits_where_no_other_path_can(two_groups, links, kernel_log):
    """It is not sent again meanwhile, and is no ghost. What is set counts at once."""
    volume, server, target = two_groups
    older, newer = noise(SIZE, 1), noise(SIZE, 2)
    with Direct(volume.enable()) as disk:
        wait_for("the proof to fail", lambda: read(volume.path_sysfs(0, 1) / "unproven"), 60)
        server.arm()
        writer = held_write(disk, target, older)
        with lost(volume, links[0], 0):
            writer.join(SETTLE_S)
            assert writer.is_alive(), "the write was sent again before the fence"
            assert counts(volume) == [1, 0]
            assert kernel_log.matching(r"1 write\(s\) wait until a login through this path ends")
            write(volume.leg / "fence", "path")
            write(volume.leg / "fence", "session")
            assert counts(volume) == [1, 0]
            write(volume.leg / "fence", "auto")
            writer.finish()
            assert counts(volume) == [0, 1]
            write(volume.leg / "fence", "session")
            assert len(kernel_log.matching(GHOSTS.format("session"))) == 1
            assert counts(volume) == [0, 1]
        release(server, target)
        same(disk.read(AT, SIZE), older, "the data on the disk")
        disk.write(AT, newer)
        same(disk.read(AT, SIZE), newer, "the data on the disk")
    volume.disable()
    assert server.violations() == []


def test_the_proof_is_wanted(server, make_volume, links):
    """With session as with auto, and not with path."""
    target = server.load(HONEST)
    volume = volume_over(make_volume, links, (server.port,) * 2, target, fence="path", path=CALM)
    with Direct(volume.enable()):
        wait_for("both paths", lambda: state(volume) == "live", 60)
        assert [volume.fenced_through(path) for path in range(2)] == [[], []]
        write(volume.leg / "fence", "session")
        volume.wait_proven()
        write(volume.leg / "fence", "path")
        assert volume.fenced_through(0) == []
        write(volume.leg / "fence", "auto")
        volume.wait_proven()
    volume.disable()
    assert server.violations() == []
