# SPDX-License-Identifier: GPL-2.0
"""The proof that two paths lead to one portal group, without which neither fences the other.

Two targets have been given one name: both show the same LUN, and a login at one ends nothing at
the other. What the paths' sessions do is not disturbed by the search.
"""

import asyncio
import contextlib
import errno
import mmap
import os
import threading
import time
import types

import pytest

from lab import network
from lab.disk import Direct, noise, same
from lab.ghost import (
    CALM,
    FAST,
    ISIDS,
    KIB,
    PATIENT,
    SETTLE_S,
    Write,
    held_write,
    killed,
    lose_with_data_in_the_queue,
    release,
    set_isids,
    state,
)
from lab.ghost import volume_over as volume_of
from lab.istripe import EnableError
from lab.istripectl import TOOL
from lab.reservation import KEY, Reservations
from lab.shell import read, run, status, wait_for, write
from scripted.conn import Drop
from scripted.ghost import hold, keep
from scripted.scenario import HONEST, Scenario
from scripted.scsi import WRITE_16
from scripted.steps import drop, on_write

PORTS = (3264, 3265)
OTHER_NAME = "iqn.2024-01.org.example.istripe:other"
UNPROVEN = "not known to lead to the same portal group"
HARMFUL = "a path was lost each time while test sessions were open"


def volume_over(*args, **options):
    return volume_of(*args, **{"fence": "auto", **options})


@pytest.fixture
def servers(make_server):
    """Two targets of one name."""
    return [make_server(port=port) for port in PORTS]


def load(servers, scenarios):
    """A target on each server, all with one disk."""
    targets = [server.load(scenario) for server, scenario in zip(servers, scenarios)]
    for target in targets[1:]:
        target.disk = targets[0].disk
    return targets


@pytest.fixture
def holding(servers, make_volume, links):
    """A volume over both targets, of which the first one holds a write: (volume, that target)."""
    target = load(servers, [Scenario("ghost", hooks={"on_command": hold}), HONEST])[0]
    return volume_over(make_volume, links, PORTS, target), target


def wait_unproven(volume, kernel_log, times=1):
    wait_for("the proof to fail", lambda: len(kernel_log.matching(UNPROVEN)) >= times, 60)
    assert [volume.fenced_through(path) for path in range(2)] == [[], []]


def undisturbed(volume):
    assert state(volume) == "live"
    for path in range(2):
        assert read(volume.path_sysfs(0, path) / "faults") == "0"
        assert read(volume.path_sysfs(0, path) / "reconnects") == "0"


def sent_again(disk, volume, target, link, data):
    """A write that the first path's target holds when that is lost goes over the other path."""
    writer = held_write(disk, target, data)
    link.set_up(False)
    wait_for("the loss to be noticed", lambda: state(volume) == "degraded", 60)
    writer.finish()
    assert read(volume.path_sysfs(0, 0) / "ghost_writes") == "1"
    assert read(volume.path_sysfs(0, 0) / "waiting_writes") == "0"


def waits_for_its_own_path(disk, volume, server, target, link):
    """The first path is lost with a write that the target holds: the second is no way to end it."""
    older, newer = noise(4 * KIB, 1), noise(4 * KIB, 2)
    server.arm()
    try:
        sent_again(disk, volume, target, link, older)
        writer = Write(disk, 64 * KIB, newer)
        wait_for("the write to wait for long",
                 lambda: not writer.is_alive() or
                 int(read(volume.path_sysfs(0, 0) / "waiting_ms")) >= 7000)
        if not writer.is_alive():       # Then this is what becomes of it.
            release(server, target)
            same(disk.read(64 * KIB, 4 * KIB), newer, "the data on the disk")
        assert writer.is_alive(), "the write did not wait for the first path"
        assert read(volume.path_sysfs(0, 0) / "waiting_writes") == "1"
        said = run(TOOL, "status", volume.name)
        assert "until a login through this path" in said and "ghost writes" in said
        same(disk.read(64 * KIB, 4 * KIB), older, "the data on the disk")
        for at in (60 * KIB, 68 * KIB):
            disk.write(at, newer)
    finally:
        link.set_up(True)
    writer.finish()
    assert read(volume.path_sysfs(0, 0) / "waiting_writes") == "0"
    assert read(volume.path_sysfs(0, 0) / "waiting_ms") == "0"
    assert read(volume.path_sysfs(0, 0) / "ghost_writes") == "0"
    release(server, target)
    for at in (60 * KIB, 64 * KIB, 68 * KIB):
        same(disk.read(at, 4 * KIB), newer, "the data on the disk")
    assert "carried out" not in target.run.memory


def away_and_back(volume, link):
    """The second path is lost and comes back."""
    link.set_up(False)
    try:
        wait_for("the loss to be noticed", lambda: state(volume) == "degraded", 60)
    finally:
        link.set_up(True)
    wait_for("both paths", lambda: state(volume) == "live", 60)


def test_other_portal_groups(servers, make_volume, links, kernel_log):
    """The targets say so themselves: no proof is tried, which is said once, and in sysfs."""
    targets = load(servers, [HONEST, Scenario("another group", settings={"tpgt": 2})])
    volume = volume_over(make_volume, links, PORTS, targets[0], path=CALM)
    volume.enable()
    paths = [volume.path_sysfs(0, path) for path in range(2)]
    wait_for("both paths to say so", lambda: all(read(path / "unproven") for path in paths), 60)
    group = "it is in portal group {}, " + volume.name + "/0/{} in {}"
    assert [read(path / "unproven") for path in paths] == [group.format(1, 1, 2),
                                                           group.format(2, 0, 1)]
    assert [volume.fenced_through(path) for path in range(2)] == [[], []]
    assert group.format(2, 0, 1) in run(TOOL, "status", volume.name)
    undisturbed(volume)
    # Of the leg as it is then: two of three paths lead to the second group.
    code, told = status(TOOL, "path", "add", volume.name, "0",
                        f"portal={links[0].address}:{PORTS[1]},nic={links[0].nic}")
    assert code == 0 and f"{volume.name}: leg 0 path 2\n" in told
    assert f"{volume.name} leg 0: no other path can end lost writes of path 0 (" in told
    assert (volume.fenced_through(0), volume.fenced_through(1)) == ([], [2])
    write(volume.leg / "fence", "path")
    assert [read(path / "unproven") for path in paths] == ["", ""]
    # In sysfs it is said first.
    said = "no path leads to the same portal group"
    wait_for("both lines", lambda: len(kernel_log.matching(said)) >= 2)
    assert len(kernel_log.matching(said)) == 2
    assert "warning" not in status(TOOL, "path", "remove", volume.name, "0", "2")[1]


def test_two_names(servers, make_volume, links, kernel_log):
    """One LUN behind two targets: no proof is tried, also not for a new session."""
    targets = load(servers, [HONEST, Scenario("another name", settings={"name": OTHER_NAME})])
    volume = volume_over(make_volume, links, PORTS, targets[0],
                         path={**PATIENT, "login_timeout_ms": 30000})
    write(volume.leg / "paths" / "1" / "target_name", OTHER_NAME)
    volume.enable()
    paths = [volume.path_sysfs(0, path) for path in range(2)]
    wait_for("both paths to say so", lambda: all(read(path / "unproven") for path in paths), 60)
    why = volume.name + "/0/{} leads to a target of another name"
    assert [read(path / "unproven") for path in paths] == [why.format(1), why.format(0)]
    assert why.format(0) in run(TOOL, "status", volume.name)
    undisturbed(volume)
    killed(links[1], PORTS[1])
    wait_for("another session", lambda: read(paths[1] / "reconnects") == "1", 60)
    time.sleep(3)
    assert [target.logins for target in targets] == [1, 2]
    assert [volume.fenced_through(path) for path in range(2)] == [[], []]
    assert read(paths[1] / "unproven") == why.format(0)
    assert len(kernel_log.matching("no path leads to the same portal group")) == 2
    volume.disable()


def test_two_targets_of_one_name(holding, servers, links, kernel_log):
    """The write waits until its own path is back, and then nothing of it comes twice."""
    volume, target = holding
    with Direct(volume.enable()) as disk:
        wait_unproven(volume, kernel_log)
        undisturbed(volume)
        waits_for_its_own_path(disk, volume, servers[0], target, links[0])
    # Said after the write was sent again, perhaps as late as when another one waits.
    said = kernel_log.matching("wait until a login through this path ends")
    assert len(said) == 1 and ": 1 write(s)" in said[0]
    volume.disable()


def test_pages_of_a_ghost_are_its_own(servers, make_volume, links, kernel_log):
    """The lost write reaches the target after it was answered over the other path, when its pages
    have other data: the target gets what was written. All of it is immediate data.
    """
    came = []

    async def note(run, conn, task):
        if run.armed and task.opcode == WRITE_16:
            await run.target.collect(conn, task)
            came.append(bytes(task.buffer))
        return False

    targets = load(servers, [Scenario("late", hooks={"on_command": note}), HONEST])
    volume = volume_over(make_volume, links, PORTS, targets[0],
                         path={**PATIENT, "login_timeout_ms": 3000})
    older, newer = noise(2 * KIB, 1), noise(2 * KIB, 2)
    with Direct(volume.enable()) as disk, mmap.mmap(-1, 2 * KIB) as memory:
        wait_unproven(volume, kernel_log)
        servers[0].arm()
        memory[:] = older
        # More than it takes to lose the path, less than the driver waits for the network stack.
        with network.delayed(links[0], 8):
            writer = threading.Thread(target=os.pwrite, args=(disk.fd, memory, 64 * KIB),
                                      daemon=True)
            lose_with_data_in_the_queue(volume, links[0], PORTS[0], writer.start)
            writer.join(60)
            assert not writer.is_alive(), "the write does not go on"
            memory[:] = newer
            assert read(volume.path_sysfs(0, 0) / "ghost_writes") == "1"
            wait_for("the lost write", lambda: came)
        same(came[0], older, "what the target has read")
        same(disk.read(64 * KIB, 2 * KIB), older, "the data on the disk")
    volume.disable()


@pytest.mark.allow_log("the network stack still holds", "the test holds it up")
def test_no_ghost_while_the_stack_has_pages(servers, make_volume, links, kernel_log):
    """A link that is so slow that nothing gets through: the write waits for its path."""
    volume = volume_over(make_volume, links, PORTS, load(servers, [HONEST, HONEST])[0])
    shape = ("dev", links[0].nic, "root", "tbf", "rate", "1kbit", "burst", "5kb", "limit", "1mb")
    with Direct(volume.enable()) as disk:
        wait_unproven(volume, kernel_log)
        run("tc", "qdisc", "add", *shape)
        try:
            writer = Write(disk, 64 * KIB, noise(64 * KIB, 1))
            wait_for("the driver to give up waiting",
                     lambda: kernel_log.matching("the network stack still holds"), 90)
            writer.join(SETTLE_S)
            assert writer.is_alive(), "the write was answered"
            lost = volume.path_sysfs(0, 0)
            assert read(lost / "waiting_writes") != "0" and read(lost / "ghost_writes") == "0"
        finally:
            run("tc", "qdisc", "del", *shape)
        writer.finish()
        same(disk.read(64 * KIB, 64 * KIB), noise(64 * KIB, 1), "the data on the disk")
    volume.disable()


@pytest.mark.allow_log("error, dev istripe|Buffer I/O error on dev istripe",
                       "it goes down with a lost write")
def test_a_ghost_outlives_the_volume(holding, servers, links, kernel_log):
    """A host that takes the LUN over writes what it likes: not before the lost session is dead."""
    volume, target = holding
    with Direct(volume.enable()) as disk:
        wait_unproven(volume, kernel_log)
        servers[0].arm()
        sent_again(disk, volume, target, links[0], noise(4 * KIB, 1))
    try:
        code, said = status(TOOL, "down", volume.name)
        assert code == 1 and "no other host may write to this LUN" in said
        assert read(volume.leg / "unfenced") == "0"
        with pytest.raises(EnableError, match="has left writes that its target may still carry out"):
            volume.enable()
    finally:
        links[0].set_up(True)
    with Direct(volume.enable()) as disk:
        disk.write(64 * KIB, noise(4 * KIB, 2))
        release(servers[0], target)
        same(disk.read(64 * KIB, 4 * KIB), noise(4 * KIB, 2), "the data on the disk")
    volume.disable()


@pytest.mark.allow_log(r"error(,| on) dev istripe|has waited for recovery_timeout_ms",
                       "a write waits for too long")
def test_a_write_to_a_ghost_does_not_wait_for_ever(holding, servers, links, kernel_log):
    """It was never sent, so it fails after recovery_timeout_ms; all else goes on."""
    volume, target = holding
    newer = noise(4 * KIB, 2)
    with Direct(volume.enable()) as disk:
        wait_unproven(volume, kernel_log)
        servers[0].arm()
        try:
            sent_again(disk, volume, target, links[0], noise(4 * KIB, 1))
            writer = Write(disk, 64 * KIB, newer)
            writer.join(SETTLE_S)
            assert writer.is_alive(), "the write did not wait"
            write(volume.config / "recovery_timeout_ms", 6000)
            writer.join(60)
            assert not writer.is_alive() and not writer.good
            disk.write(0, newer)
            same(disk.read(64 * KIB, 4 * KIB), noise(4 * KIB, 1), "the data on the disk")
        finally:
            links[0].set_up(True)
        wait_for("both paths", lambda: state(volume) == "live", 60)
        disk.write(64 * KIB, newer)
        release(servers[0], target)
        same(disk.read(64 * KIB, 4 * KIB), newer, "the data on the disk")
    assert len(kernel_log.matching("I/O fails that has waited for recovery_timeout_ms")) == 1
    volume.disable()


@pytest.mark.allow_log(r"error(,| on) dev istripe|may still carry out",
                       "the write fails in the end")
def test_a_write_that_fails_after_it_was_sent_again(servers, make_volume, links, kernel_log):
    """The first target may carry it out: its blocks are not read before it cannot."""
    targets = load(servers, [Scenario("ghost", hooks={"on_command": hold})] * 2)
    volume = volume_over(make_volume, links, PORTS, targets[0], recovery_timeout_ms=2000)
    found = []
    with Direct(volume.enable()) as disk:
        wait_unproven(volume, kernel_log)
        for server in servers:
            server.arm()
        writer = held_write(disk, targets[0], noise(4 * KIB, 1))
        try:
            links[0].set_up(False)
            wait_for("the write over the other path", lambda: "event" in targets[1].run.memory, 30)
            links[1].set_up(False)
            writer.join(60)
            assert not writer.is_alive() and not writer.good
            links[1].set_up(True)
            wait_for("the second path", lambda: state(volume) == "degraded", 60)
            disk.read(0, 4 * KIB)
            reader = threading.Thread(target=lambda: found.append(disk.read(64 * KIB, 4 * KIB)),
                                      daemon=True)
            reader.start()
            reader.join(SETTLE_S)
            assert reader.is_alive(), "its blocks were read"
            assert read(volume.path_sysfs(0, 0) / "waiting_writes") == "1"
        finally:
            for link in links[:2]:
                link.set_up(True)
        reader.join(60)
        assert found, "the read does not go on"
        release(servers[0], targets[0])
        same(disk.read(64 * KIB, 4 * KIB), found[0], "the data on the disk")
    volume.disable()


def test_no_keys_while_there_are_ghosts(holding, servers, links, kernel_log):
    """Nor may other hosts write when the fence is set to path: the log says so."""
    volume, target = holding
    device = volume.enable()
    with Direct(device) as disk, Reservations(device) as keys:
        wait_unproven(volume, kernel_log)
        servers[0].arm()
        try:
            sent_again(disk, volume, target, links[0], noise(4 * KIB, 1))
            with pytest.raises(OSError) as failed:
                keys.register(0, KEY)
            assert failed.value.errno == errno.EBUSY
            write(volume.leg / "fence", "path")
            assert len(kernel_log.matching("no other host may write to this LUN")) == 1
        finally:
            links[0].set_up(True)
        wait_for("both paths", lambda: state(volume) == "live", 60)
        assert keys.register(0, KEY) == 0 and keys.register(KEY, 0) == 0
        release(servers[0], target)
    volume.disable()


def test_no_ghosts_in_a_cluster(holding, servers, links, kernel_log):
    """Other hosts may write when a write is answered: it waits itself while keys are registered."""
    volume, target = holding
    device = volume.enable()
    with Direct(device) as disk, Reservations(device) as keys:
        wait_unproven(volume, kernel_log)
        assert keys.register(0, KEY) == 0
        servers[0].arm()
        writer = held_write(disk, target, noise(4 * KIB, 1))
        links[0].set_up(False)
        try:
            wait_for("the loss to be noticed", lambda: state(volume) == "degraded", 60)
            writer.join(SETTLE_S)
            assert writer.is_alive(), "the write was sent again before the fence"
            assert read(volume.path_sysfs(0, 0) / "waiting_writes") == "1"
            assert read(volume.path_sysfs(0, 0) / "ghost_writes") == "0"
        finally:
            links[0].set_up(True)
        writer.finish()
        release(servers[0], target)
    volume.disable()


@pytest.mark.allow_log(r"error(,| on) dev istripe|may still carry out|known to be dead",
                       "the lost write fails in the end")
@pytest.mark.parametrize("why", ["keys", "path"])
def test_a_lost_write_does_not_wait_for_ever(holding, servers, links, kernel_log, why):
    """Where it is not sent again, recovery_timeout_ms ends its wait: its blocks wait for the fence then,
    and all other I/O goes on.
    """
    volume, target = holding
    older, newer = noise(4 * KIB, 1), noise(4 * KIB, 2)
    device = volume.enable()
    with Direct(device) as disk, Reservations(device) as keys:
        wait_unproven(volume, kernel_log)
        if why == "keys":
            assert keys.register(0, KEY) == 0
        else:
            write(volume.leg / "fence", "path")
        write(volume.config / "recovery_timeout_ms", 15000)
        servers[0].arm()
        writer = held_write(disk, target, older)
        links[0].set_up(False)
        lost = volume.path_sysfs(0, 0)
        try:
            wait_for("the loss to be noticed", lambda: state(volume) == "degraded", 60)
            writer.join(SETTLE_S)
            assert writer.is_alive(), "the write was sent again before the fence"
            assert kernel_log.matching(
                r": 1 write\(s\) wait until .*, or they fail after recovery_timeout_ms")
            writer.join(90)
            assert not writer.is_alive() and not writer.good
            assert [read(lost / name) for name in ("ghost_writes", "waiting_writes")] == ["1", "0"]
            write(volume.config / "recovery_timeout_ms", -1)
            found = []
            reader = threading.Thread(target=lambda: found.append(disk.read(64 * KIB, 4 * KIB)),
                                      daemon=True)
            reader.start()
            wait_for("the read of its blocks", lambda: read(lost / "waiting_writes") == "1")
            for at in (60 * KIB, 68 * KIB):
                disk.write(at, newer)
        finally:
            links[0].set_up(True)
        reader.join(60)
        assert found, "the read does not go on"
        wait_for("both paths", lambda: state(volume) == "live", 60)
        assert read(lost / "ghost_writes") == "0"
        release(servers[0], target)
        same(disk.read(64 * KIB, 4 * KIB), found[0], "the data on the disk")
        same(disk.read(60 * KIB, 4 * KIB), newer, "the data on the disk")
    assert len(kernel_log.matching("I/O fails that has waited for recovery_timeout_ms")) == 1
    volume.disable()


@contextlib.contextmanager
def waiting_write(servers, make_volume, link, links, kernel_log, **options):
    """A write that waits for the first path, which no other one fences; the link is down."""
    targets = load(servers, [Scenario("ghost", hooks={"on_command": hold}), HONEST])
    volume = volume_over(make_volume, links, PORTS, targets[0], **options)
    with Direct(volume.enable()) as disk:
        wait_unproven(volume, kernel_log)
        servers[0].arm()
        since = time.monotonic()
        try:
            sent_again(disk, volume, targets[0], link, noise(4 * KIB, 1))
            writer = Write(disk, 64 * KIB, noise(4 * KIB, 2))
            yield types.SimpleNamespace(volume=volume, disk=disk, writer=writer, since=since)
            writer.finish()
            same(disk.read(64 * KIB, 4 * KIB), noise(4 * KIB, 2), "the data on the disk")
        finally:
            link.set_up(True)
        wait_for("both paths", lambda: state(volume) == "live", 60)
        # Whatever was done without a fence ends with the next login.
        assert read(volume.sysfs() / "legs/0/lun_reset") == "complete"
        release(servers[0], targets[0])
        same(disk.read(64 * KIB, 4 * KIB), noise(4 * KIB, 2), "the data on the disk")
    volume.disable()


def refuses(path, value, error):
    with pytest.raises(OSError) as failed:
        write(path / "fence_confirm", value)
    return failed.value.errno == error


def test_somebody_knows(servers, make_volume, links, kernel_log):
    """A write that waits goes over the other path when the administrator says that it may."""
    with waiting_write(servers, make_volume, links[0], links, kernel_log) as left:
        lost, other = (left.volume.path_sysfs(0, path) for path in range(2))
        assert int(read(lost / "retries")) >= 1 and read(other / "retries") == "0"
        left.writer.join(SETTLE_S)
        assert left.writer.is_alive(), "the write did not wait for its own path"
        assert all(refuses(lost, value, errno.EINVAL) for value in ("0", "2", "", "dead"))
        assert refuses(other, "1", errno.EBUSY)
        assert left.writer.is_alive()
        confirm = (TOOL, "path", "confirm", "--yes", left.volume.name, "0", "0")
        wait_for("the session to be closed", lambda: not status(*confirm)[0], 30)
        left.writer.finish()
        assert read(lost / "waiting_writes") == "0"
    assert len(kernel_log.matching("the administrator says .* 1 write.s. are sent$")) == 1
    assert len(kernel_log.matching("fence_confirm: is refused, the path is live")) == 1


@pytest.mark.parametrize("when", ["before", "meanwhile"])
def test_fence_timeout(servers, make_volume, links, kernel_log, when):
    """As dm-multipath, if the administrator wants it so."""
    # From the loss on, and it is the write behind the lost one that is to be seen waiting.
    options = {"fence_timeout_ms": 15000} if when == "before" else {}
    with waiting_write(servers, make_volume, links[0], links, kernel_log, **options) as left:
        left.writer.join(SETTLE_S)
        assert left.writer.is_alive(), "the write did not wait"
        if when == "meanwhile":
            write(left.volume.leg / "fence_timeout_ms", 8000)
        left.writer.finish()
        assert time.monotonic() - left.since >= 8
    assert len(kernel_log.matching("fence_timeout_ms is over: 1 write.s. are sent, and")) == 1


def test_fence_timeout_where_nothing_is_gained(servers, make_volume, links, kernel_log):
    """Without another path a write waits for its path anyway, and so gets its fence."""
    target = servers[0].load(Scenario("ghost", hooks={"on_command": hold}))
    volume = volume_over(make_volume, links[:1], PORTS[:1], target, fence_timeout_ms=1000)
    with Direct(volume.enable()) as disk:
        servers[0].arm()
        writer = held_write(disk, target, noise(4 * KIB, 1))
        links[0].set_up(False)
        try:
            wait_for("the loss to be noticed", lambda: state(volume) == "waiting", 60)
            time.sleep(3)
            assert read(volume.path_sysfs() / "waiting_writes") == "1"
        finally:
            links[0].set_up(True)
        writer.finish()
        assert read(volume.sysfs() / "legs/0/lun_reset") == "complete"
        same(disk.read(64 * KIB, 4 * KIB), noise(4 * KIB, 1), "the data on the disk")
    assert kernel_log.matching("fence_timeout_ms is over: ") == []
    volume.disable()


def test_proof_of_one_target(servers, make_volume, links):
    """Three logins for two paths, and again for a new session; nothing is left of them."""
    target = servers[0].load(HONEST)
    volume = volume_over(make_volume, links, (PORTS[0],) * 2, target,
                         path={**FAST, "ping_timeout_ms": 20000})
    with Direct(volume.enable()) as disk:
        disk.write(0, noise(64 * KIB, 3))
        volume.wait_proven()
        wait_for("the end of the test sessions", lambda: len(target.sessions) == 2, 60)
        assert target.logins == 2 + 3
        same(disk.read(0, 64 * KIB), noise(64 * KIB, 3), "the data on the disk")
        undisturbed(volume)
        links[1].set_up(False)
        try:
            wait_for("the loss to be noticed", lambda: state(volume) == "degraded", 60)
            assert volume.fenced_through(1) == [0]
        finally:
            links[1].set_up(True)
        wait_for("both paths", lambda: state(volume) == "live", 60)
        wait_for("the proof", lambda: target.logins == 2 + 3 + 1 + 3, 60)
        volume.wait_proven()
        time.sleep(3)
        assert target.logins == 2 + 3 + 1 + 3, "what is proven is proven again"
    volume.disable()


def test_no_proof_where_it_is_not_wanted(servers, make_volume, links):
    target = servers[0].load(HONEST)
    volume = volume_over(make_volume, links, (PORTS[0],) * 2, target, fence="path", path=CALM)
    with Direct(volume.enable()):
        wait_for("both paths", lambda: state(volume) == "live", 60)
        time.sleep(3)
        assert target.logins == 2
        assert volume.fenced_through(0) == []
        write(volume.leg / "fence", "auto")
        volume.wait_proven()
        write(volume.leg / "fence", "path")
        assert volume.fenced_through(0) == []
    volume.disable()


def test_other_portal_group(servers, make_volume, links):
    """The target says itself that it is another one: nothing is tried."""
    targets = load(servers, [HONEST, Scenario("other group", settings={"tpgt": 2})])
    volume = volume_over(make_volume, links, PORTS, targets[0], path=CALM)
    with Direct(volume.enable()):
        wait_for("both paths", lambda: state(volume) == "live", 60)
        time.sleep(3)
        assert [target.logins for target in targets] == [1, 1]
        assert volume.fenced_through(0) == []
    volume.disable()


async def no_more_sessions(run, conn, pdu):
    if len(run.target.sessions) >= 2 and not pdu.tsih:
        await conn.refuse(pdu, 0x0302)
        raise Drop
    return False


def test_target_that_limits_sessions(servers, make_volume, links, kernel_log):
    target = servers[0].load(Scenario("few sessions", hooks={"on_login": no_more_sessions}))
    volume = volume_over(make_volume, links, (PORTS[0],) * 2, target, path=CALM)
    with Direct(volume.enable()) as disk:
        wait_unproven(volume, kernel_log)
        disk.write(0, noise(64 * KIB, 4))
        undisturbed(volume)
        assert len(kernel_log.matching(UNPROVEN)) == 1
    volume.disable()


async def no_more_sessions_yet(run, conn, pdu):
    return not run.memory.get("room") and await no_more_sessions(run, conn, pdu)


def test_undecided_is_tried_again(servers, make_volume, links, kernel_log):
    """A target that was busy when it was asked; no path has to be lost before it is asked again."""
    target = servers[0].load(Scenario("busy", hooks={"on_login": no_more_sessions_yet}))
    volume = volume_over(make_volume, links, (PORTS[0],) * 2, target, path=CALM)
    with Direct(volume.enable()):
        wait_unproven(volume, kernel_log)
        target.run.memory["room"] = True
        volume.wait_proven()
        undisturbed(volume)
        assert len(kernel_log.matching(UNPROVEN)) == 1
    volume.disable()


async def drop_the_oldest(run, _conn, pdu):
    sessions = run.target.sessions
    known = pdu.tsih or pdu.isid in [session.isid for session in sessions.values()]
    if len(sessions) >= 2 and not known:
        run.target.end_session(sessions[min(sessions)])
    return False


def path_sessions(target):
    return sum(not is_test(session) for session in list(target.sessions.values()))


def test_target_that_makes_room(servers, make_volume, links, kernel_log):
    """A test session costs one that is used: there are no more of them until that is wished."""
    target = servers[0].load(Scenario("makes room", hooks={"on_login": drop_the_oldest}))
    volume = volume_over(make_volume, links, (PORTS[0],) * 2, target, path=CALM)
    set_isids(volume)
    with Direct(volume.enable()) as disk:
        for times in (1, 2):
            wait_for("the end of the proofs",
                     lambda times=times: len(kernel_log.matching(HARMFUL)) >= times, 60)
            # Without those of the proof, so the loss has been noticed.
            wait_for("both paths", lambda: state(volume) == "live" and
                     path_sessions(target) == 2 == len(target.sessions), 60)
            logins = target.logins
            time.sleep(4)
            assert target.logins == logins
            assert len(kernel_log.matching(HARMFUL)) == times
            disk.write(0, noise(64 * KIB, times))
            write(volume.leg / "fence", "auto" if times == 1 else "path")
        assert volume.fenced_through(0) == []
    volume.disable()


def is_test(session):
    """A session of a proof, not of a path."""
    return session.isid.hex() not in ISIDS


async def lose_test_session(run, conn, _pdu):
    """Instead of the answer to its first ping, which comes after the login that ended the one before."""
    if not is_test(conn.session) or not run.strike():
        return False
    conn.reset()
    raise Drop


async def lose_a_path(run, _conn, pdu):
    """When a test session logs in through the other path."""
    sessions = list(run.target.sessions.values())
    if is_test(pdu) and any(map(is_test, sessions)) and run.strike():
        run.target.end_session(next(session for session in sessions if not is_test(session)))
    return False


@pytest.mark.parametrize("hooks, times", [({"on_nop": lose_test_session}, 3),
                                          ({"on_login": lose_a_path}, 1)],
                         ids=["test-session", "path"])
def test_lost_during_the_proof(servers, make_volume, links, kernel_log, hooks, times):
    """That says nothing about the target: the proof is made again."""
    target = servers[0].load(Scenario("lost", hooks=hooks, times=times, armed=True))
    volume = volume_over(make_volume, links, (PORTS[0],) * 2, target, path=PATIENT)
    set_isids(volume)
    volume.enable()
    for hits in range(1, times + 1):
        wait_for("a loss", lambda hits=hits: target.run.hits >= hits, 60)
        # At once, not later each time.
        write(volume.leg / "fence", "auto")
    volume.wait_proven()
    wait_for("both paths", lambda: state(volume) == "live", 60)
    assert not kernel_log.matching("as if two targets had the same name")
    assert not kernel_log.matching(HARMFUL)
    assert [read(volume.path_sysfs(0, path) / "unproven") for path in range(2)] == ["", ""]
    if times > 1:
        undisturbed(volume)
    volume.disable()


def test_lost_as_if_a_login_had_ended_it(servers, make_volume, links, kernel_log):
    """The test session at one of two targets is lost while the other one is logged in to: the way
    back shows it.
    """
    async def lose_it_elsewhere(_run, _conn, pdu):
        elsewhere = servers[1].target

        async def end():
            for session in list(elsewhere.sessions.values()):
                if is_test(session):
                    elsewhere.end_session(session)
                    lost.append(session)

        if is_test(pdu):
            await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(end(), servers[1].loop))
        return False

    lost = []
    targets = load(servers, [Scenario("loses", hooks={"on_login": lose_it_elsewhere}), HONEST])
    volume = volume_over(make_volume, links, PORTS, targets[0], path=PATIENT)
    set_isids(volume)
    volume.enable()
    wait_unproven(volume, kernel_log)
    assert len(lost) == 1
    assert kernel_log.matching(f"{UNPROVEN}.*: a login through one does not end the same session")
    undisturbed(volume)
    volume.disable()


async def no_answer(run, _conn, pdu):
    run.memory["silent"] = len(run.target.sessions) >= 2 and not pdu.tsih
    return run.memory["silent"]


def test_disable_during_the_proof(servers, make_volume, links):
    """The test session's login gets no answer; nobody waits for it."""
    target = servers[0].load(Scenario("silent", hooks={"on_login": no_answer}))
    volume = volume_over(make_volume, links, (PORTS[0],) * 2, target,
                         path={**CALM, "login_timeout_ms": 60000})
    volume.enable()
    wait_for("the proof to begin", lambda: target.run.memory.get("silent"), 30)
    undisturbed(volume)
    start = time.monotonic()
    volume.disable()
    assert time.monotonic() - start < 50


def test_redirected_elsewhere(servers, make_volume, links, kernel_log):
    """A path that was proven comes back at another address: what was known of it is forgotten."""
    elsewhere = f"{links[1].address}:{PORTS[1]}"

    async def redirect(run, conn, pdu):
        if run.armed and conn.writer.get_extra_info("sockname")[0] == links[1].address:
            await conn.refuse(pdu, 0x0101, [("TargetAddress", f"{elsewhere},1")])
            raise Drop
        return False

    targets = load(servers, [Scenario("redirects", hooks={"on_login": redirect}), HONEST])
    volume = volume_over(make_volume, links, (PORTS[0],) * 2, targets[0])
    with Direct(volume.enable()) as disk:
        volume.wait_proven()
        servers[0].arm()
        away_and_back(volume, links[1])
        wait_unproven(volume, kernel_log)
        disk.write(0, noise(64 * KIB, 5))
    volume.disable()


def here(writer):
    return writer.get_extra_info("sockname")[0]


def silent_at(link):
    """Once armed, the target does not answer pings over the link."""

    async def hook(run, conn, _pdu):
        return run.armed and here(conn.writer) == link.address

    return hook


def move(targets, links):
    """New connections over the links lead to the other target."""
    stay = targets[0].connected
    moved = [link.address for link in links]

    async def connected(reader, writer):
        await (targets[1].connected if here(writer) in moved else stay)(reader, writer)

    targets[0].connected = connected


def test_address_moves(servers, make_volume, links, kernel_log):
    """A path that was proven comes back at its address, but that of the other target by now."""
    targets = load(servers, [Scenario("ghost", hooks={"on_command": hold}), HONEST])
    volume = volume_over(make_volume, links, (PORTS[0],) * 2, targets[0])
    with Direct(volume.enable()) as disk:
        volume.wait_proven()
        move(targets, links[1:])
        away_and_back(volume, links[1])
        assert targets[1].sessions
        assert volume.fenced_through(0) == []
        wait_unproven(volume, kernel_log)
        waits_for_its_own_path(disk, volume, servers[0], targets[0], links[0])
    volume.disable()


def test_address_has_moved_unnoticed(servers, make_volume, links, kernel_log):
    """The other path's address is another target's by now: a login through it ends nothing."""
    hooks = {"on_command": hold, "on_nop": silent_at(links[1])}
    targets = load(servers, [Scenario("ghost", hooks=hooks), HONEST])
    volume = volume_over(make_volume, links, (PORTS[0],) * 2, targets[0], path=PATIENT)
    with Direct(volume.enable()) as disk:
        volume.wait_proven()
        move(targets, links[1:])
        waits_for_its_own_path(disk, volume, servers[0], targets[0], links[0])
        assert targets[1].logins
        assert kernel_log.matching("cannot end the old session through .*: it does not answer")
    volume.disable()


def test_addresses_have_moved_unnoticed(servers, make_volume, links, kernel_log):
    """A path has come back at the other target, where all new sessions get by now, but the other
    path's own is where it was.
    """
    targets = load(servers, [Scenario("gone", hooks={"on_nop": silent_at(links[0])}), HONEST])
    volume = volume_over(make_volume, links, (PORTS[0],) * 2, targets[0], path=PATIENT)
    with Direct(volume.enable()):
        volume.wait_proven()
        move(targets, links)
        servers[0].arm()
        away_and_back(volume, links[1])
        wait_unproven(volume, kernel_log)
        assert kernel_log.matching(f"{UNPROVEN}.*: {volume.name}/0/0 does not answer itself")
    volume.disable()


def leave_a_write(volume, disk, server, target, link):
    """The target holds a write, its link goes down, and then the volume."""
    server.arm()
    writer = held_write(disk, target, noise(4 * KIB, 1))
    link.set_up(False)
    wait_for("the loss to be noticed", lambda: state(volume) == "degraded", 60)
    volume.force_down()
    writer.join(60)


@pytest.mark.allow_log("error, dev istripe", "a write that no session survives")
@pytest.mark.parametrize("fence", ["path", "session", "auto"])
def test_a_write_that_ends_every_path(servers, make_volume, links, fence):
    """It fails when its time is over, as soon as it is dead for sure; the paths go on."""
    target = servers[0].load(Scenario("deadly write", hooks=on_write(drop), times=10000))
    volume = volume_over(make_volume, links, (PORTS[0],) * 2, target, fence=fence,
                         recovery_timeout_ms=3000)
    with Direct(volume.enable()) as disk:
        servers[0].arm()
        start = time.monotonic()
        with pytest.raises(OSError) as failed:
            disk.write(0, noise(4 * KIB, 1))
        assert failed.value.errno == errno.ENOLINK
        assert time.monotonic() - start < 120
        target.run.armed = False
        wait_for("both paths", lambda: state(volume) == "live", 60)
        disk.write(0, noise(4 * KIB, 2))
        same(disk.read(0, 4 * KIB), noise(4 * KIB, 2), "the data on the disk")
    volume.disable()


@pytest.fixture
def unfenced(servers, make_volume, links):
    """A volume that went down while the target held a write, its first link down; the target."""
    target = servers[0].load(Scenario("ghost", hooks={"on_command": keep}))
    volume = volume_over(make_volume, links, (PORTS[0],) * 2, target, path=FAST)
    with Direct(volume.enable()) as disk:
        volume.wait_proven()
        # Through the sibling it could be ended before the volume is down.
        write(volume.leg / "fence", "path")
        leave_a_write(volume, disk, servers[0], target, links[0])
    yield volume, target
    links[0].set_up(True)


UNFENCED = pytest.mark.allow_log("error(,| on) dev istripe|may still carry out",
                                 "the write fails")


@UNFENCED
@pytest.mark.parametrize("fence", ["path", "auto"])
def test_enable_waits_for_the_fence(unfenced, servers, links, fence):
    """What the life before has left would come over what this one writes. What was proven then
    does not hold for the sessions of now.
    """
    volume, target = unfenced
    write(volume.leg / "fence", fence)
    with pytest.raises(EnableError, match="leg 0 path 0 has left writes"):
        volume.enable()
    assert not volume.enabled()
    links[0].set_up(True)
    logins = target.logins
    with Direct(volume.enable()) as disk:
        assert target.logins >= logins + 2
        disk.write(64 * KIB, noise(4 * KIB, 2))
        release(servers[0], target)
        assert "carried out" not in target.run.memory
        same(disk.read(64 * KIB, 4 * KIB), noise(4 * KIB, 2), "the data on the disk")
    volume.disable()
    volume.enable()


@UNFENCED
def test_what_was_left_is_not_forgotten_by_another_name(unfenced, servers, links):
    """Nor by another address, where another target may be, nor when another LUN would be reset."""
    volume, _target = unfenced
    links[0].set_up(True)
    for name, value in (("isid", "80000000abcd"),
                        ("lun", "1"),
                        ("portal", f"{links[0].address}:{PORTS[1]}"),
                        ("portal", f"{links[1].address}:{PORTS[0]}")):
        before = read(volume.path / name)
        write(volume.path / name, value)
        with pytest.raises(EnableError, match="leg 0 path 0: it has left writes"):
            volume.enable()
        assert not servers[1].target.logins
        write(volume.path / name, before)
    volume.enable()


@UNFENCED
def test_what_was_left_is_not_forgotten_with_its_path(unfenced, links):
    """Without the path nobody would end it; when the path is made again it is known."""
    volume, _target = unfenced
    names = [*volume.path_settings, "portal"]
    before = {name: read(volume.path / name) for name in names}
    volume.path.rmdir()
    with pytest.raises(EnableError, match="leg 0 path 0 is gone, and has left writes"):
        volume.enable()
    assert read(volume.leg / "unfenced") == "0"
    code, out = status(TOOL, "delete", volume.name)
    assert code == 1
    assert "leg 0, path 0: writes were left" in out
    volume.path.mkdir()
    for name in filter(before.get, names):
        write(volume.path / name, before[name])
    write(volume.leg / "fence", "path")
    with pytest.raises(EnableError, match="leg 0 path 0 has left writes"):
        volume.enable()
    links[0].set_up(True)
    volume.enable()
    assert read(volume.leg / "unfenced") == ""
    # Now that it is dead the path may go, and come back without a past.
    volume.disable()
    volume.path.rmdir()
    volume.enable()


@UNFENCED
def test_what_was_left_by_the_second_session(servers, make_volume, links):
    """Session by session: the first one's login ends nothing of it, and fewer are refused."""
    target = servers[0].load(Scenario("ghost", hooks={"on_command": keep},
                                      settings={"MaxConnections": 2}))
    volume = volume_over(make_volume, links, (PORTS[0],) * 2, target, fence="path",
                         path={**FAST, "connections": 2})
    cpus = os.sched_getaffinity(0)
    try:
        with Direct(volume.enable()) as disk:
            queue = volume.sysfs().parent / "mq" / "1" / "cpu_list"
            os.sched_setaffinity(0, {int(read(queue).split(",")[0])})
            leave_a_write(volume, disk, servers[0], target, links[0])
    finally:
        os.sched_setaffinity(0, cpus)
        links[0].set_up(True)
    write(volume.path / "connections", 1)
    with pytest.raises(EnableError, match="leg 0 path 0: it has left writes"):
        volume.enable()
    write(volume.path / "connections", 2)
    # A spare, and nobody would want it: the target grants both to one session.
    write(volume.path / "multi", "mcs")
    with Direct(volume.enable()) as disk:
        disk.write(64 * KIB, noise(4 * KIB, 2))
        release(servers[0], target)
        same(disk.read(64 * KIB, 4 * KIB), noise(4 * KIB, 2), "the data on the disk")
        assert "carried out" not in target.run.memory
