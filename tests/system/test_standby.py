# SPDX-License-Identifier: GPL-2.0
"""A second port beside the one that is optimized: its path stays logged in, and takes over."""

import asyncio
import contextlib
import threading
import time

import pytest

from lab import md, network
from lab.disk import Direct, works
from lab.ghost import killed, path_is, undisturbed, volume_over
from lab.istripe import EnableError
from lab.shell import read, wait_for, write
from scripted.alua import (
    EXPLICIT,
    IMPLICIT,
    MAINTENANCE_IN,
    NON_OPTIMIZED,
    OFFLINE,
    OPTIMIZED,
    STANDBY,
    UNAVAILABLE,
    Groups,
)
from scripted.checks import LUN_RESET
from scripted.ghost import NOT_SUPPORTED
from scripted.scenario import Scenario
from scripted.scsi import READ_16, SYNCHRONIZE_CACHE_16, WRITE_16

PATH = {"login_timeout_ms": 10000, "default_time2wait": 0}
UNPINGED = {"ping_interval_ms": 0}
#: A state that nobody tells of is found within half a minute while I/O goes on.
FOUND_S = 60
SOON_S = 20
PARAMETERS_CHANGED = 6, 0x2A, 0x01
LUN_WAS_RESET = 6, 0x29, 0x03


@pytest.fixture
def beside(make_server, make_volume, links):
    """beside(state, hook): a volume with a path to an optimized port and to one in this state.

    The target may be asked for the LUN; hook: for the commands that come to the second port, on_tmf:
    for its task management.
    """
    servers = [make_server(), make_server()]

    def make(second, hook=None, path=(), on_tmf=None, **options):
        groups = Groups(OPTIMIZED, second)
        groups.tpgs = EXPLICIT
        hooks = [{}, {name: each for name, each in (("on_command", hook), ("on_tmf", on_tmf)) if each}]
        for server, port, each in zip(servers, groups.ports, hooks):
            server.load(Scenario("a port", hooks=each)).disk = port
        volume = volume_over(make_volume, links, [server.port for server in servers],
                             servers[0].target, policy="round-robin", fence="path",
                             recovery_timeout_ms=30000, path={**PATH, **dict(path)}, **options)
        return volume, groups, servers

    return make


def wait_access(volume, path, wanted, timeout_s=SOON_S):
    wait_for(f"path {path} to be {wanted}",
             lambda: read(volume.path_sysfs(0, path) / "access_state") == wanted, timeout_s)


def switch_cache_on(volume, groups):
    """The first port tells it; its path logs in anew, and the other one is asked meanwhile."""
    for port in groups.ports:
        port.write_cache = True
    groups.ports[0].attentions.append(PARAMETERS_CHANGED)
    with contextlib.suppress(OSError):
        volume.rescan()
    wait_for("path 0", lambda: read(volume.path_sysfs(0, 0) / "faults") == "1" and
             path_is(volume, 0, True), FOUND_S)


def test_a_cache_is_switched_on(beside, links):
    """It is not flushed over a port that refuses that, but before it gets a write there."""
    seen = []

    async def notes(run, conn, task):
        if task.opcode in (WRITE_16, SYNCHRONIZE_CACHE_16):
            seen.append((task.opcode, bool(task.cdb[1] & 8)))
        return False

    volume, groups, servers = beside(OFFLINE, notes)
    for port in groups.ports:
        port.write_cache = False
    with Direct(volume.enable()) as disk:
        wait_access(volume, 1, "offline")
        works(disk, 1, 4)
        # Nobody asks for the LUN while path 0 logs in: until then the other port is offline.
        switch_cache_on(volume, groups)
        groups.set(OPTIMIZED, STANDBY, tell=True)
        works(disk, 2, 4)
        wait_access(volume, 1, "standby")
        assert path_is(volume, 1, True) and seen == groups.wanted == []
        with network.silent(links[0]):
            network.kill_connections(port=servers[0].port, by_target=True)
            wait_for("the loss", lambda: path_is(volume, 0, False), SOON_S)
            works(disk, 3, 4)
            assert groups.wanted == [1]
            assert seen[0] == (SYNCHRONIZE_CACHE_16, False)
            assert set(seen[1:]) == {(WRITE_16, True)}
        wait_access(volume, 0, "standby", FOUND_S)
        wait_for("path 0", lambda: path_is(volume, 0, True), SOON_S)
    assert read(volume.path_sysfs(0, 1) / "faults") == "0"


@pytest.mark.parametrize(("second", "name"), [(STANDBY, "standby"), (UNAVAILABLE, "unavailable")],
                         ids=["standby", "unavailable"])
def test_the_link_of_the_other_goes_down(beside, links, reader, kernel_log, second, name):
    """The NIC says so, and the LUN is asked for at once."""
    volume, groups, _ = beside(second, path=UNPINGED)
    each = reader(volume.enable())
    each.goes_on()
    wait_access(volume, 1, name)
    with network.peer_down(links[0]):
        wait_for("the loss", lambda: path_is(volume, 0, False), SOON_S)
        # Not last_error: the next attempt may have failed by now.
        assert kernel_log.matching(r"/0/0: the NIC has no link")
        each.goes_on()
        assert groups.wanted == [1]
        wait_access(volume, 1, "active/optimized")
    wait_access(volume, 0, "standby", FOUND_S)
    each.goes_on()
    assert groups.wanted == [1]
    assert each.errors == []


def test_the_link_of_the_only_one_goes_down(beside, links, reader):
    """The target decides by itself where the LUN is: the session lasts until the link is back."""
    volume, groups, _ = beside(STANDBY, path=UNPINGED)
    groups.tpgs = IMPLICIT
    each = reader(volume.enable())
    each.goes_on()
    wait_access(volume, 1, "standby")
    with network.peer_down(links[0]):
        time.sleep(2)
        assert path_is(volume, 0, True)
    each.goes_on()
    assert read(volume.path_sysfs(0, 0) / "faults") == "0"
    assert groups.wanted == each.errors == []


def test_a_port_that_is_not_optimized_is_tried(beside, links, kernel_log):
    """Who carries no reads is not called live, though nobody reads there yet."""
    answers = threading.Event()
    answers.set()

    async def holds(_run, _conn, task):
        while task.opcode == READ_16 and not answers.is_set():
            await asyncio.sleep(0.05)
        return False

    volume, groups, servers = beside(NON_OPTIMIZED, holds, command_timeout_ms=5000)
    volume.enable()
    wait_access(volume, 1, "active/non-optimized")
    answers.clear()
    killed(links[1], servers[1].port)
    try:
        wait_for("a trial", lambda: kernel_log.matching(
            r"/0/1: .*it has carried no I/O, and another path serves the LUN"), FOUND_S)
        assert path_is(volume, 1, False)
    finally:
        answers.set()
    wait_for("path 1", lambda: path_is(volume, 1, True), FOUND_S)
    assert groups.wanted == []


def test_unavailable_when_enabled(beside):
    """Its LUN says that no device is connected there: the path stays logged in, and is asked again."""
    volume, groups, _ = beside(UNAVAILABLE)
    with Direct(volume.enable()) as disk:
        wait_access(volume, 1, "unavailable")
        works(disk, 1, 4)
        assert groups.ports[1].served == groups.ports[1].refused == 0
        groups.set(OPTIMIZED, OPTIMIZED, tell=True)
        works(disk, 2, 4)
        wait_access(volume, 1, "active/optimized")
        works(disk, 3, 4)
        assert groups.ports[1].served > 0
        # Nobody tells, and a rescan asks.
        groups.set(OPTIMIZED, UNAVAILABLE)
        volume.rescan()
        wait_access(volume, 1, "unavailable")
    undisturbed(volume)


def test_unavailable_until_it_is_asked(beside):
    """INQUIRY still says so, and the port is optimized when it is asked for its state."""
    turned = []

    async def turns(run, _conn, task):
        if task.opcode == MAINTENANCE_IN and run.strike():
            turned.append(groups.states[1])
            groups.set(OPTIMIZED, OPTIMIZED)
        return False

    volume, groups, servers = beside(UNAVAILABLE, turns)
    with Direct(volume.enable()) as disk:
        wait_access(volume, 1, "unavailable")
        servers[1].arm()
        volume.rescan()
        assert turned == [UNAVAILABLE]
        wait_access(volume, 1, "active/optimized")
        works(disk, 1, 4)
        assert groups.ports[1].served > 0
    undisturbed(volume)


def test_no_device_at_a_port_that_takes_io(beside):
    """The qualifier means what it says then."""
    volume, groups, _ = beside(OPTIMIZED)
    groups.unconnected = {0, 1}
    with pytest.raises(EnableError, match="there is no device at this LUN"):
        volume.enable()
    groups.unconnected = set()
    with Direct(volume.enable()) as disk:
        works(disk, 1)


def test_a_reset_without_a_change(beside):
    """Each port that is told of a reset is asked for its state, and nobody asks again because of that."""
    volume, groups, _ = beside(OPTIMIZED)
    with Direct(volume.enable()) as disk:
        works(disk, 1, 4)
        # Whatever was to be asked has been.
        volume.rescan()
        asked = [port.asked for port in groups.ports]
        for port in groups.ports:
            port.attentions.append(LUN_WAS_RESET)

        def more():
            return [port.asked - before for port, before in zip(groups.ports, asked)]

        works(disk, 2, 4)
        # Before the other questions, and behind them.
        wait_for("both ports to be asked", lambda: min(more()) >= 2, SOON_S)
        # Much longer than the pause between two series of questions.
        time.sleep(3)
        assert more() == [2, 2]
    undisturbed(volume)


@pytest.mark.allow_log("LOGICAL UNIT RESET is rejected", "this is what the target does")
@pytest.mark.parametrize("second", [STANDBY, UNAVAILABLE])
def test_nothing_is_overwritten_before_it_has_reset_its_lun(beside, second):
    """Zeroes that an earlier attempt has sent over it may still be carried out."""
    resets = []

    async def refuses(run, conn, pdu):
        if pdu.flags & 0x7F != LUN_RESET:
            return False
        resets.append(groups.states[1])
        if groups.states[1] == OPTIMIZED:
            return False
        await run.target.answer_task_management(conn, pdu, NOT_SUPPORTED)
        return True

    volume, groups, _servers = beside(second, on_tmf=refuses, metadata="md")
    data = groups.ports[0].data
    write(volume.config / "metadata_create", "force")
    with pytest.raises(EnableError, match="leg 0 path 1: the target may still carry out writes of an "
                                          "earlier attempt: with force nothing is written before"):
        volume.enable()
    assert resets and set(resets) == {second}
    assert not any(data[md.SUPER_AT:md.SUPER_AT + md.SUPER_BYTES])
    groups.set(OPTIMIZED, OPTIMIZED)
    write(volume.config / "metadata_create", "force")
    with Direct(volume.enable()) as disk:
        assert resets[-1] == OPTIMIZED
        works(disk, 1)
