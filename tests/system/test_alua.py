# SPDX-License-Identifier: GPL-2.0
"""Access states of target ports (ALUA): which path gets I/O, and what happens when they change."""

import asyncio
import threading
import time

import pytest

from lab import network
from lab.disk import Direct, noise, same, works
from lab.ghost import (
    AT,
    KIB,
    Write,
    killed,
    path_is,
    state,
    undisturbed,
    volume_over,
    write_to_holder,
)
from lab.istripe import EnableError
from lab.reservation import KEY, WRITE_EXCLUSIVE_REG_ONLY, Reservations
from lab.shell import read, run, wait_for, write
from scripted.alua import (
    CHANGED,
    EXPLICIT,
    GONE,
    IMPLICIT,
    MAINTENANCE_IN,
    NON_OPTIMIZED,
    NOT_CHANGED,
    OFFLINE,
    OPTIMIZED,
    STANDBY,
    TRANSITIONING,
    UNAVAILABLE,
    Groups,
)
from scripted.ghost import NOT_SUPPORTED, Holder, completes
from scripted.scenario import HONEST, Scenario
from scripted.scsi import READ_16

PATH = {"login_timeout_ms": 10000, "default_time2wait": 0}
#: A state that nobody tells of is found within half a minute while I/O goes on.
FOUND_S = 60
#: So long after it was taken the LUN is handed back at the earliest.
BACK_S = 30
#: While I/O waits, ports are asked every 1.5 s.
SOON_S = 20
IDENTIFIER_CHANGED = 6, 0x3F, 0x05


@pytest.fixture
def alua(make_server, make_volume, links):
    """alua(state, state, ...): a volume with a path to each of two groups, not enabled yet."""
    servers = [make_server(), make_server()]

    def make(*states, preferred=None, **options):
        groups = Groups(*states, preferred=preferred)
        for server, port in zip(servers, groups.ports):
            server.load(HONEST).disk = port
        options = {"policy": "round-robin", "path": PATH, "fence": "path",
                   "recovery_timeout_ms": 30000, **options}
        paths = len(states)
        volume = volume_over(make_volume, links[:paths],
                             [server.port for server in servers[:paths]], servers[0].target,
                             **options)
        return volume, groups, servers

    return make


def access(volume, path):
    return read(volume.path_sysfs(0, path) / "access_state")


def wait_access(volume, path, wanted, timeout_s=SOON_S):
    wait_for(f"path {path} to be {wanted}", lambda: access(volume, path) == wanted, timeout_s)


def served(groups):
    return [port.served for port in groups.ports]


def works_over_the_first(groups, disk, seed):
    """works(), and all of it goes over the first of two ports."""
    before = served(groups)
    works(disk, seed, 4)
    assert served(groups)[0] > before[0]
    assert served(groups)[1] == before[1]


def test_optimized_first(alua, links, kernel_log):
    """A port that is not optimized gets I/O when there is no other."""
    volume, groups, servers = alua(OPTIMIZED, NON_OPTIMIZED)
    with Direct(volume.enable()) as disk:
        before = served(groups)
        works(disk, 1)
        assert served(groups)[0] > before[0]
        assert groups.ports[1].served == before[1]
        assert [access(volume, path) for path in range(2)] == [
            "active/optimized", "active/non-optimized"]
        group = read(volume.path_sysfs(0, 1) / "port_group")
        assert group == str(Groups.FIRST + 1)
        assert kernel_log.matching(rf"/0/1: its target port is active/non-optimized \(group {group}\)")
        assert read(volume.path_sysfs(0, 1) / "preferred") == "0"
        assert state(volume) == "live"
        killed(links[0], servers[0].port)
        works(disk, 2)
        # Its own state is told before the leg uses it.
        wait_for("path 0", lambda: state(volume) == "live", SOON_S)
        before = served(groups)
        works(disk, 3)
        assert groups.ports[1].served == before[1]


@pytest.mark.parametrize("policy", ["round-robin", "interleave", "failover"])
def test_standby_under_io(alua, reader, policy):
    """It refuses commands that it has got; the other serves, no session ends. Then it is back."""
    volume, groups, _ = alua(OPTIMIZED, NON_OPTIMIZED, policy=policy)
    device = volume.enable()
    readers = [reader(device) for _ in range(4)]
    for each in readers:
        each.goes_on()
    groups.set(STANDBY, NON_OPTIMIZED)
    for each in readers:
        each.goes_on(50)
    wait_access(volume, 0, "standby")
    refused = groups.ports[0].refused
    assert 0 < refused <= 2 * len(readers)
    time.sleep(3)
    for each in readers:
        each.goes_on()
    assert groups.ports[0].refused == refused
    assert state(volume) == "live"
    groups.set(OPTIMIZED, NON_OPTIMIZED, tell=True)
    wait_access(volume, 0, "active/optimized")
    before = served(groups)
    for each in readers:
        each.goes_on(50)
    assert served(groups)[0] > before[0]
    # Commands may have been on their way when the state changed.
    assert served(groups)[1] <= before[1] + len(readers)
    assert [each.errors for each in readers] == [[]] * len(readers)
    with Direct(device) as disk:
        works(disk, 1)
    undisturbed(volume)


def test_offline_beside_a_port_that_serves(alua, reader):
    """Both were optimized. No error, and all I/O goes over the other one until it is back."""
    volume, groups, _ = alua(OPTIMIZED, OPTIMIZED)
    device = volume.enable()
    readers = [reader(device) for _ in range(2)]
    with Direct(device) as disk:
        works(disk, 1, 4)
        assert min(served(groups)) > 0
        groups.set(OFFLINE, OPTIMIZED)
        works(disk, 2, 4)
        wait_access(volume, 0, "offline", FOUND_S)
        # No reader has a command any more that was on its way to the port.
        for each in readers:
            each.goes_on()
        before, refused = served(groups), groups.ports[0].refused
        works(disk, 3, 4)
        assert groups.ports[0].refused == refused > 0
        assert served(groups)[0] == before[0]
        assert served(groups)[1] > before[1]
        assert state(volume) == "live"
        groups.set(OPTIMIZED, OPTIMIZED, tell=True)
        works(disk, 4, 4)
        wait_access(volume, 0, "active/optimized", FOUND_S)
        works(disk, 5, 4)
        assert served(groups)[0] > before[0]
    assert [each.errors for each in readers] == [[]] * len(readers)
    undisturbed(volume)


def test_transition_beside_a_port_that_serves(alua):
    """The path that all I/O goes over is in transition until I/O was seen to go on."""
    volume, groups, _ = alua(OPTIMIZED, OPTIMIZED, policy="failover")
    with Direct(volume.enable()) as disk:
        works(disk, 1, 4)
        before = served(groups)
        assert before[0] > 0
        groups.set(TRANSITIONING, OPTIMIZED)
        Write(disk, 0, noise(64 * KIB, 2)).finish()
        works(disk, 3, 4)
        assert groups.ports[0].refused > 0
        assert served(groups)[0] == before[0]
        assert served(groups)[1] > before[1]
        assert access(volume, 0) == "transitioning"
        assert state(volume) == "live"
        groups.set(OPTIMIZED, OPTIMIZED)
        wait_access(volume, 0, "active/optimized", FOUND_S)
        works_over_the_first(groups, disk, 4)
    undisturbed(volume)


def test_transition_when_enabled(alua):
    """A port is in transition until the volume was seen to be up over the other one."""
    volume, groups, _ = alua(TRANSITIONING, OPTIMIZED, path={**PATH, "login_timeout_ms": 120000})
    start = time.monotonic()
    with Direct(volume.enable()) as disk:
        # Whoever waits for the port does so for login_timeout_ms.
        assert time.monotonic() - start < 60
        works(disk, 1, 4)
        assert access(volume, 0) == "transitioning"
        assert groups.ports[0].served == groups.ports[0].refused == 0
        assert state(volume) == "live"
        groups.set(OPTIMIZED, OPTIMIZED)
        wait_access(volume, 0, "active/optimized", FOUND_S)
        works(disk, 2, 4)
        assert groups.ports[0].served > 0
    undisturbed(volume)


def test_a_transition_fails(alua):
    """The target says so, at one port: all are asked again, which nobody would do otherwise."""
    volume, groups, _ = alua(OPTIMIZED, OPTIMIZED)
    with Direct(volume.enable()) as disk:
        works(disk, 1, 4)
        groups.set(OPTIMIZED, NON_OPTIMIZED)
        asked = [port.asked for port in groups.ports]
        groups.ports[0].attentions.append(NOT_CHANGED)
        works(disk, 2, 4)
        assert groups.ports[0].attentions == []
        wait_access(volume, 1, "active/non-optimized", FOUND_S)
        wait_for("both ports to be asked", lambda: all(
            port.asked > before for port, before in zip(groups.ports, asked)), FOUND_S)
        works_over_the_first(groups, disk, 3)
    undisturbed(volume)


def test_nobody_tells(alua):
    """Without a unit attention a better port is found after a while."""
    volume, groups, _ = alua(STANDBY, NON_OPTIMIZED)
    volume.enable()
    assert access(volume, 0) == "standby"
    groups.set(OPTIMIZED, STANDBY)
    wait_access(volume, 0, "active/optimized", FOUND_S)
    undisturbed(volume)


def test_nobody_tells_while_a_path_is_away(alua, links):
    """The LUN has moved to the other controller and back meanwhile: the port that stayed is asked."""
    volume, groups, _ = alua(NON_OPTIMIZED, OPTIMIZED)
    volume.enable()
    with network.mute(links[1]):
        groups.set(OPTIMIZED, NON_OPTIMIZED)
        wait_access(volume, 0, "active/optimized", FOUND_S)
        wait_for("the loss", lambda: state(volume) == "degraded", FOUND_S)
        groups.set(NON_OPTIMIZED, OPTIMIZED)
    wait_access(volume, 0, "active/non-optimized", FOUND_S)


def test_told_to_a_question(alua):
    """The driver's own question gets the unit attention, over a path that stays as it is."""
    volume, groups, _ = alua(OPTIMIZED, NON_OPTIMIZED)
    with Direct(volume.enable()) as disk:
        groups.set(OPTIMIZED, OPTIMIZED)
        # The read gets the first one, and the questions that follow from it the second.
        groups.ports[0].attentions += [IDENTIFIER_CHANGED, CHANGED]
        works(disk, 1)
        wait_access(volume, 1, "active/optimized", SOON_S)
        assert groups.ports[0].attentions == []
    undisturbed(volume)


def test_not_listed_for_a_while(alua, kernel_log):
    """Whose state is not told counts as optimized, but is asked again, by a message and by time."""
    volume, groups, _ = alua(OPTIMIZED, NON_OPTIMIZED)

    def unlisted(disk):
        groups.missing = {1}
        groups.set(OPTIMIZED, NON_OPTIMIZED, tell=True)
        works(disk, 1)
        wait_access(volume, 1, "")
        groups.missing = set()

    def left_alone(disk):
        before = served(groups)
        works(disk, 2)
        assert served(groups)[0] > before[0]
        assert served(groups)[1] == before[1]

    with Direct(volume.enable()) as disk:
        unlisted(disk)
        groups.set(OPTIMIZED, NON_OPTIMIZED, tell=True)
        works(disk, 3)
        wait_access(volume, 1, "active/non-optimized")
        left_alone(disk)
        unlisted(disk)
        wait_access(volume, 1, "active/non-optimized", FOUND_S)
        left_alone(disk)
    assert len(kernel_log.matching("/0/1: its access state is not known any more")) == 2
    undisturbed(volume)


@pytest.mark.parametrize("kind", range(5))
def test_change_behind_a_reset(alua, kind):
    """The unit attention of a reset may be all that is told: an optimized port is not polled."""
    volume, groups, _ = alua(OPTIMIZED, OPTIMIZED)
    with Direct(volume.enable()) as disk:
        works(disk, 1)
        groups.set(NON_OPTIMIZED, OPTIMIZED)
        groups.ports[0].attentions.append((6, 0x29, kind))
        works(disk, 2, 4)
        wait_access(volume, 0, "active/non-optimized")
    undisturbed(volume)


def test_a_port_that_fails_to_tell(alua):
    """It is no better than before: the others go on to serve."""
    volume, groups, _ = alua(NON_OPTIMIZED, NON_OPTIMIZED)
    with Direct(volume.enable()) as disk:
        assert [access(volume, path) for path in range(2)] == ["active/non-optimized"] * 2
        groups.broken = {1}
        groups.set(NON_OPTIMIZED, NON_OPTIMIZED, tell=True)
        works(disk, 1)
        wait_access(volume, 1, "")
        before = served(groups)
        works(disk, 2, 4)
        assert served(groups)[0] > before[0]
        groups.broken = set()
        wait_access(volume, 1, "active/non-optimized", FOUND_S)
    undisturbed(volume)


def test_a_port_that_lies_beside_one_that_serves(alua, reader):
    """It says that it is optimized, and refuses: it is not tried all the time."""
    volume, groups, _ = alua(OPTIMIZED, OPTIMIZED)
    each = reader(volume.enable())
    each.goes_on()
    groups.lies = {0: STANDBY}
    time.sleep(20)
    each.goes_on()
    assert groups.ports[0].refused <= 8
    groups.lies = {}
    before = groups.ports[0].served
    wait_for("I/O over it", lambda: groups.ports[0].served > before + 5, FOUND_S)
    assert each.errors == []
    undisturbed(volume)


def asked_within(groups, seconds):
    """How often each port is asked in this time."""
    before = [port.asked for port in groups.ports]
    time.sleep(seconds)
    return [port.asked - then for port, then in zip(groups.ports, before)]


@pytest.mark.parametrize("between", [TRANSITIONING, STANDBY, UNAVAILABLE, OFFLINE])
def test_io_waits(alua, between):
    """No port takes I/O for a while. The target is asked, but not all the time."""
    volume, groups, _ = alua(OPTIMIZED, OPTIMIZED, recovery_timeout_ms=-1)
    with Direct(volume.enable()) as disk:
        works(disk, 1)
        groups.set(between, between)
        begin, asked = time.monotonic(), [port.asked for port in groups.ports]
        writer = Write(disk, 0, noise(64 * KIB, 2))
        wait_for("I/O to wait", lambda: state(volume) == "waiting", SOON_S)
        # Every 250 ms, once or twice each time, unless the machine stands still.
        wait_for("questions to both", lambda: min(asked_within(groups, 6)) >= 6, 6 * SOON_S)
        assert writer.is_alive()
        assert state(volume) == "waiting"
        most = [port.asked - before for port, before in zip(groups.ports, asked)]
        assert max(most) <= 10 * (time.monotonic() - begin)
        # This target does not do what it is asked to.
        assert groups.wanted == []
        groups.set(STANDBY, OPTIMIZED)
        writer.finish(SOON_S)
        assert disk.read(0, 64 * KIB) == noise(64 * KIB, 2)
    undisturbed(volume)


def test_they_swap_and_nobody_tells(alua):
    """One port is polled, and then the other one, which is not, is asked as well."""
    volume, groups, _ = alua(OPTIMIZED, NON_OPTIMIZED)
    volume.enable()
    groups.set(NON_OPTIMIZED, OPTIMIZED)
    wait_access(volume, 1, "active/optimized", FOUND_S)
    wait_access(volume, 0, "active/non-optimized")
    undisturbed(volume)


def test_a_transition_gets_its_time(alua):
    """The target says how long it may take: recovery_timeout_ms does not end it."""
    volume, groups, _ = alua(OPTIMIZED, OPTIMIZED, recovery_timeout_ms=1000)
    groups.transition_s = 60
    with Direct(volume.enable()) as disk:
        groups.set(TRANSITIONING, TRANSITIONING)
        writer = Write(disk, 0, noise(64 * KIB, 2))
        wait_for("I/O to wait", lambda: state(volume) == "waiting", SOON_S)
        time.sleep(4)
        assert writer.is_alive()
        groups.set(STANDBY, OPTIMIZED)
        writer.finish(SOON_S)
        same(disk.read(0, 64 * KIB), noise(64 * KIB, 2), "what was read")
    undisturbed(volume)


@pytest.mark.allow_log("no path for", "the transition takes too long")
@pytest.mark.allow_log("error, dev istripe", "the read that fails")
def test_a_transition_that_does_not_end(alua):
    volume, groups, _ = alua(OPTIMIZED, OPTIMIZED, recovery_timeout_ms=1000)
    groups.transition_s = 6
    with Direct(volume.enable()) as disk:
        groups.set(TRANSITIONING, TRANSITIONING)
        start = time.monotonic()
        with pytest.raises(OSError):
            disk.read(0, 4 * KIB)
        assert 5 < time.monotonic() - start < 30


def holder_at_the_first(groups, server, refusing):
    """The first port holds a write, and takes no reset while it is in that state."""

    async def by_state(holder, conn, pdu):
        if groups.states[0] == refusing:
            return NOT_SUPPORTED
        return await completes(holder, conn, pdu)

    holder = Holder(by_state)
    holder.server = server
    server.load(Scenario("holds a write", hooks=holder.hooks())).disk = groups.ports[0]
    return holder


@pytest.mark.allow_log("LOGICAL UNIT RESET is rejected", "this is what the target does")
def test_a_port_that_takes_no_io_ends_no_writes(alua, links):
    """It refuses the reset again and again: what the target still has is not over."""
    volume, groups, servers = alua(OPTIMIZED, OPTIMIZED, policy="failover",
                                   path={**PATH, "login_retry_max_ms": 1000})
    holder = holder_at_the_first(groups, servers[0], UNAVAILABLE)
    with Direct(volume.enable()) as disk:
        writer = write_to_holder(disk, holder, noise(4 * KIB, 1))
        groups.set(UNAVAILABLE, OPTIMIZED)
        killed(links[0], servers[0].port)
        wait_for("resets that are refused", lambda: holder.resets >= 6, 60)
        assert writer.is_alive()
        assert read(volume.path_sysfs(0, 0) / "waiting_writes") == "1"
        groups.set(OPTIMIZED, OPTIMIZED)
        resets = holder.resets
        wait_for("a reset that is not", lambda: holder.resets > resets, 60)
        holder.release()
        writer.finish()
        same(disk.read(AT, 4 * KIB), noise(4 * KIB, 1), "the data on the disk")


@pytest.mark.allow_log("LOGICAL UNIT RESET is rejected", "this is what the target does")
@pytest.mark.allow_log("refuses LOGICAL UNIT RESET again and again", "what is believed then")
def test_a_port_that_takes_no_io_is_the_last(alua, links):
    """It refuses the reset while the other serves. When that is lost the LUN has to be moved."""
    volume, groups, servers = alua(OPTIMIZED, STANDBY, policy="failover",
                                   path={**PATH, "login_retry_max_ms": 1000},
                                   recovery_timeout_ms=120000)
    groups.tpgs = EXPLICIT

    holder = holder_at_the_first(groups, servers[0], STANDBY)
    with Direct(volume.enable()) as disk:
        wait_for("both paths", lambda: path_is(volume, 1, True))
        writer = write_to_holder(disk, holder, noise(4 * KIB, 1))
        groups.set(STANDBY, OPTIMIZED)
        killed(links[0], servers[0].port)
        wait_for("resets that are refused", lambda: holder.resets >= 2, 60)
        with network.silent(links[1]):
            killed(links[1], servers[1].port)
            wait_for("the LUN to be moved", lambda: groups.states[0] == OPTIMIZED, 60)
            writer.finish()
            same(disk.read(AT, 4 * KIB), noise(4 * KIB, 1), "the data on the disk")
            holder.release()
        wait_for("both paths", lambda: path_is(volume, 1, True), 60)


def wait_quiet(groups, port):
    """Until nobody asks the port for anything."""
    def counts():
        return groups.ports[port].asked, groups.ports[port].served

    def stays():
        before = counts()
        time.sleep(1)
        return counts() == before

    wait_for(f"silence at port {port}", stays, SOON_S)


def test_superblocks_are_not_polled(alua):
    """A port that is not optimized is asked for its state, and its disk is left alone."""
    volume, groups, _ = alua(OPTIMIZED, NON_OPTIMIZED, metadata="md", metadata_create=1)
    with Direct(volume.enable()) as disk:
        def change():
            asked = groups.ports[1].asked
            groups.set(OPTIMIZED, NON_OPTIMIZED, tell=True)
            works(disk, 1)
            wait_for("the port to be asked", lambda: groups.ports[1].asked >= asked + 2, SOON_S)
            works(disk, 2)
            # A superblock is read after the answer.
            wait_quiet(groups, 1)

        # The path came before the superblocks were known: they are compared the first time.
        change()
        before = served(groups)[1]
        change()
        change()
        assert served(groups)[1] == before
        # It says that it has changed, to the question for its access state.
        groups.ports[1].attentions.append(IDENTIFIER_CHANGED)
        change()
        wait_for("its superblock to be read", lambda: served(groups)[1] > before, SOON_S)
    undisturbed(volume)


@pytest.mark.allow_log("no path for", "no port takes I/O for so long")
@pytest.mark.allow_log("error, dev istripe", "the read that fails")
def test_io_does_not_wait_for_ever(alua):
    """A path that is logged in, but takes no I/O, does not count as one."""
    volume, groups, _ = alua(OPTIMIZED, OPTIMIZED, recovery_timeout_ms=3000)
    with Direct(volume.enable()) as disk:
        groups.set(STANDBY, UNAVAILABLE)
        start = time.monotonic()
        with pytest.raises(OSError):
            disk.read(0, 4 * KIB)
        assert 2 < time.monotonic() - start < 20
        assert state(volume) == "failed"
        groups.set(OPTIMIZED, OPTIMIZED)
        wait_for("I/O", lambda: state(volume) == "live", SOON_S)
        works(disk, 1)
    undisturbed(volume)


@pytest.mark.allow_log("not served on any path: given up", "this is what the target does")
@pytest.mark.allow_log("error, dev istripe", "the read that fails")
def test_the_target_lies(alua):
    """It says that its ports take I/O, and refuses it."""
    volume, groups, _ = alua(OPTIMIZED, OPTIMIZED, recovery_timeout_ms=3000)
    with Direct(volume.enable()) as disk:
        groups.lies = {0: STANDBY, 1: STANDBY}
        start = time.monotonic()
        with pytest.raises(OSError):
            disk.read(0, 4 * KIB)
        spent = time.monotonic() - start
        assert 2 < spent < 30
        assert groups.ports[0].refused < 30 * spent
        groups.lies = {}
        wait_for("I/O", lambda: state(volume) == "live", SOON_S)
        works(disk, 1)


def test_standby_when_enabled(alua):
    """The volume is up when a port takes I/O; with none it is not, and says why."""
    volume, groups, _ = alua(STANDBY, STANDBY, path={**PATH, "login_timeout_ms": 15000})
    timer = threading.Timer(4, lambda: groups.set(STANDBY, OPTIMIZED))
    start = time.monotonic()
    timer.start()
    with Direct(volume.enable()) as disk:
        assert time.monotonic() - start > 3
        works(disk, 1)
        assert groups.ports[0].served == 0
        groups.set(OPTIMIZED, STANDBY, tell=True)
        works(disk, 2)
        wait_access(volume, 0, "active/optimized")
        assert groups.ports[0].served > 0
        undisturbed(volume)
    volume.disable()
    groups.set(STANDBY, UNAVAILABLE)
    for path in ("0", "1"):
        write(volume.leg / "paths" / path / "login_timeout_ms", PATH["login_timeout_ms"])
    with pytest.raises(EnableError, match="no target port takes I/O: that of path 0 is standby"):
        volume.enable()


def test_superblocks(alua):
    """They are read and written where I/O is welcome, and compared before a port gets I/O."""
    volume, groups, _ = alua(STANDBY, OPTIMIZED, metadata="md", metadata_create=1)
    with Direct(volume.enable()) as disk:
        works(disk, 1)
        assert groups.ports[0].served == groups.ports[0].refused == 0
        groups.set(OPTIMIZED, STANDBY)
        works(disk, 2)
        assert groups.ports[0].served > 0
    undisturbed(volume)


def test_preferred(alua):
    """With failover, of two that are as good; the other policies use both."""
    volume, groups, _ = alua(OPTIMIZED, OPTIMIZED, preferred=1, policy="failover")
    # Not all targets know the extended header.
    groups.transition_s = None
    with Direct(volume.enable()) as disk:
        before = served(groups)
        works(disk, 1)
        assert groups.ports[0].served == before[0]
        assert read(volume.path_sysfs(0, 1) / "preferred") == "1"
        for seed, policy in enumerate(("round-robin", "interleave", "weighted"), 2):
            write(volume.leg / "policy", policy)
            before = served(groups)
            works(disk, seed)
            assert all(now > then for now, then in zip(served(groups), before)), policy


def test_the_last_that_serves_is_lost(alua, links):
    """Its siblings are asked at once: the target may have moved the LUN there."""
    volume, groups, servers = alua(OPTIMIZED, STANDBY)
    with Direct(volume.enable()) as disk:
        works(disk, 1)
        with network.silent(links[0]):
            network.kill_connections(port=servers[0].port, by_target=True)
            groups.set(STANDBY, OPTIMIZED)
            # A write would wait for the end of the lost session.
            same(disk.read(0, 64 * KIB), noise(64 * KIB, 1), "what was read")
            assert groups.ports[1].served > 0


def test_off(alua):
    """A target reports states that are not so: nobody asks for them."""
    volume, groups, _ = alua(STANDBY, OPTIMIZED)
    groups.lies = {0: OPTIMIZED}
    with Direct(volume.enable()) as disk:
        works(disk, 1)
        assert groups.ports[0].served == 0
        write(volume.leg / "alua", "off")
        wait_access(volume, 0, "")
        asked = [port.asked for port in groups.ports]
        before = served(groups)
        works(disk, 2)
        assert groups.ports[0].served > before[0]
        assert groups.ports[1].served > before[1]
        undisturbed(volume)
    volume.disable()
    with Direct(volume.enable()) as disk:
        works(disk, 3)
        assert [port.asked for port in groups.ports] == asked
        write(volume.leg / "alua", "on")
        wait_access(volume, 0, "standby")
        before = served(groups)
        works(disk, 4)
        assert groups.ports[0].served == before[0]
        undisturbed(volume)


def test_on_while_a_path_logs_in(alua, links):
    """It has asked the LUN before, and carries a read on trial: it asks again when it is live."""
    volume, groups, servers = alua(OPTIMIZED, NON_OPTIMIZED, alua="off")
    held, released = threading.Event(), threading.Event()
    released.set()

    async def hold(run, conn, task):
        while task.opcode == READ_16 and not released.is_set():
            held.set()
            await asyncio.sleep(0.05)
        return False

    servers[1].load(Scenario("holds reads", hooks={"on_command": hold})).disk = groups.ports[1]
    volume.enable()
    released.clear()
    killed(links[1], servers[1].port)
    try:
        assert held.wait(SOON_S)
        assert access(volume, 1) == ""
        write(volume.leg / "alua", "on")
    finally:
        released.set()
    wait_access(volume, 1, "active/non-optimized")


def test_reserved_after_a_transition(alua):
    """Both ports are in transition: the second one is not passed over for the first."""
    volume, groups, _ = alua(OPTIMIZED, OPTIMIZED)
    with Reservations(volume.enable()) as ours:
        assert ours.register(0, KEY) == 0
        groups.set(TRANSITIONING, TRANSITIONING)
        timer = threading.Timer(3, lambda: groups.set(OPTIMIZED, OPTIMIZED))
        timer.start()
        assert ours.reserve(KEY, WRITE_EXCLUSIVE_REG_ONLY) == 0
        timer.join()
        assert sum(len(port.reserved) for port in groups.ports) == 3
    undisturbed(volume)


def test_reserved_over_the_port_that_serves(alua):
    """A port that refuses is passed over, at once."""
    volume, groups, _ = alua(OPTIMIZED, OPTIMIZED)
    with Reservations(volume.enable()) as ours:
        assert ours.register(0, KEY) == 0
        groups.set(TRANSITIONING, OPTIMIZED)
        assert ours.reserve(KEY, WRITE_EXCLUSIVE_REG_ONLY) == 0
        assert [len(port.reserved) for port in groups.ports] == [1, 2]
    undisturbed(volume)


def test_superblocks_go_another_way(alua):
    """A port stops to take I/O just when its superblock is read."""
    volume, groups, _ = alua(OPTIMIZED, NON_OPTIMIZED, metadata="md", metadata_create=1)
    volume.enable()
    volume.disable()
    write(volume.config / "metadata_create", 0)
    groups.turns = {0: (STANDBY, OPTIMIZED)}
    refused = groups.ports[0].refused
    with Direct(volume.enable()) as disk:
        assert groups.turns == {}
        assert groups.ports[0].refused > refused
        works(disk, 1)
    wait_access(volume, 0, "standby")
    undisturbed(volume)


#: What a target with one path does for a while: (setting alua, what it refuses commands with).
REFUSED = [("on", GONE), ("off", STANDBY), ("off", UNAVAILABLE)]
REFUSED_IDS = ["no-such-lun", "standby", "unavailable"]


@pytest.mark.parametrize(("setting", "lie"), REFUSED, ids=REFUSED_IDS)
def test_the_only_path_refuses_for_a_while(alua, reader, setting, lie):
    """I/O waits until the LUN is back."""
    volume, groups, _ = alua(OPTIMIZED, alua=setting)
    each = reader(volume.enable())
    each.goes_on()
    groups.lies = {0: lie}
    wait_for("I/O to wait", lambda: state(volume) == "waiting", SOON_S)
    time.sleep(2)
    groups.lies = {}
    each.goes_on()
    assert each.errors == []


@pytest.mark.allow_log("no path for", "the LUN does not come back")
@pytest.mark.allow_log("error, dev istripe", "the read that fails")
@pytest.mark.parametrize(("setting", "lie"), REFUSED[:2], ids=REFUSED_IDS[:2])
def test_the_only_path_refuses_for_good(alua, setting, lie):
    """I/O fails after recovery_timeout_ms."""
    volume, groups, _ = alua(OPTIMIZED, alua=setting, recovery_timeout_ms=3000)
    with Direct(volume.enable()) as disk:
        groups.lies = {0: lie}
        start = time.monotonic()
        with pytest.raises(OSError):
            disk.read(0, 4 * KIB)
        assert 2 < time.monotonic() - start < 20
        groups.lies = {}
        wait_for("I/O", lambda: state(volume) == "live", SOON_S)
        works(disk, 1)


@pytest.mark.parametrize("other", [STANDBY, UNAVAILABLE], ids=["standby", "unavailable"])
def test_handed_over_when_the_other_is_lost(alua, links, reader, other):
    """The target does nothing by itself: it is asked, once. Linux's hardware handler asks both."""
    volume, groups, servers = alua(OPTIMIZED, other)
    groups.tpgs = EXPLICIT
    each = reader(volume.enable())
    each.goes_on()
    assert groups.wanted == []
    with network.silent(links[0]):
        network.kill_connections(port=servers[0].port, by_target=True)
        each.goes_on()
        assert groups.wanted == [1]
        assert access(volume, 1) == "active/optimized"
    wait_access(volume, 0, "standby", FOUND_S)
    each.goes_on()
    assert groups.wanted == [1]
    assert each.errors == []


@pytest.mark.parametrize("tpgs", [EXPLICIT, IMPLICIT | EXPLICIT], ids=["explicit", "both"])
def test_handed_over_when_enabled(alua, tpgs):
    volume, groups, _ = alua(STANDBY, STANDBY, preferred=1, path={**PATH, "login_timeout_ms": 15000})
    groups.tpgs = tpgs
    with Direct(volume.enable()) as disk:
        assert groups.wanted == [1]
        works(disk, 1)
    undisturbed(volume)


def test_handed_over_where_the_preferred_port_cannot(alua, reader):
    """That one's controller says that hosts do not decide: nobody waits for it."""
    volume, groups, _ = alua(OPTIMIZED, STANDBY, preferred=0)
    groups.tpgs, groups.tpgs_of = EXPLICIT, {0: IMPLICIT}
    each = reader(volume.enable())
    each.goes_on()
    groups.set(STANDBY, STANDBY)
    each.goes_on()
    assert groups.wanted == [1]
    assert each.errors == []
    undisturbed(volume)


def test_not_handed_over_for_a_better_port(alua, reader):
    """Another host may use the optimized one."""
    volume, groups, _ = alua(OPTIMIZED, NON_OPTIMIZED)
    groups.tpgs = EXPLICIT
    each = reader(volume.enable())
    each.goes_on()
    groups.set(STANDBY, NON_OPTIMIZED)
    each.goes_on(50)
    wait_access(volume, 0, "standby")
    time.sleep(4)
    volume.rescan()
    assert groups.wanted == each.errors == []


def with_a_slow_port(alua, reader, states, slow):
    """Reads go on from a LUN that may be asked for; one port takes its time to tell states."""
    async def slowly(_run, _conn, task):
        if task.opcode == MAINTENANCE_IN:
            # Much less than such an answer is waited for, also when the machine stands still.
            await asyncio.sleep(0.4)
        return False

    volume, groups, servers = alua(*states)
    groups.tpgs = EXPLICIT
    servers[slow].load(Scenario("slow", hooks={"on_command": slowly})).disk = groups.ports[slow]
    each = reader(volume.enable())
    each.goes_on()
    return volume, groups, each


def left_where_it_is(volume, groups, each):
    """Reads go on, and nobody has asked for the LUN."""
    each.goes_on()
    assert groups.wanted == []
    assert each.errors == []
    undisturbed(volume)


def test_not_handed_over_when_another_host_has_moved_it(alua, reader):
    """The port that has the LUN now is slow to say so: the LUN is not taken away from it."""
    volume, groups, each = with_a_slow_port(alua, reader, (OPTIMIZED, STANDBY), slow=1)
    groups.set(STANDBY, OPTIMIZED)
    left_where_it_is(volume, groups, each)


def test_not_handed_over_while_another_host_moves_it(alua, reader):
    """One port after the other: the second one was standby when it was asked."""
    volume, groups, each = with_a_slow_port(alua, reader, (STANDBY, OPTIMIZED), slow=0)
    groups.set(STANDBY, TRANSITIONING)
    wait_access(volume, 1, "transitioning")
    asked = groups.ports[0].asked
    wait_for("path 0 to be asked twice", lambda: groups.ports[0].asked >= asked + 2, SOON_S)
    groups.set(TRANSITIONING, STANDBY)
    wait_access(volume, 1, "standby")
    wait_access(volume, 0, "transitioning")
    groups.set(OPTIMIZED, STANDBY)
    left_where_it_is(volume, groups, each)


def test_not_handed_over_by_the_first_path_that_is_back(alua, reader):
    """Both are lost, and the one to the standby port is back a little before the other."""
    volume, groups, servers = alua(OPTIMIZED, STANDBY)
    groups.tpgs = EXPLICIT

    async def held(run, _conn, _pdu):
        while run.armed:
            await asyncio.sleep(0.01)
        return False

    servers[0].load(Scenario("slow", hooks={"on_login": held})).disk = groups.ports[0]
    each = reader(volume.enable())
    each.goes_on()
    servers[0].arm()
    # At once: whoever is lost alone leaves a path that has long been there.
    either = " or ".join(f"dport = {server.port}" for server in servers)
    run("ss", "-HKtn", "state", "established", f"( {either} )")
    for path in (1, 0):
        wait_for(f"path {path}", lambda path=path: int(read(
            volume.path_sysfs(0, path) / "reconnects")) and path_is(volume, path, True), SOON_S)
        servers[0].target.run.armed = False
    each.goes_on()
    assert groups.wanted == []
    assert each.errors == []


def test_handed_back_to_the_preferred_port(alua, reader):
    """Half a minute after the request before, and not sooner: by the target's clock."""
    volume, groups, _ = alua(OPTIMIZED, STANDBY, preferred=0)
    groups.tpgs = EXPLICIT
    each = reader(volume.enable())
    groups.set(UNAVAILABLE, STANDBY)
    each.goes_on()
    assert groups.wanted == [1]
    groups.set(STANDBY, OPTIMIZED)
    wait_access(volume, 0, "standby")
    wait_for("the LUN to be handed back", lambda: groups.wanted == [1, 0], 2 * FOUND_S)
    wait_access(volume, 0, "active/optimized")
    each.goes_on()
    assert groups.wanted == [1, 0]
    # Counted from the answer to the first one. A tick earlier for the sake of rounding.
    assert groups.wanted_at[1] - groups.wanted_at[0] > BACK_S - 0.1
    assert each.errors == []


def test_not_handed_back_when_somebody_else_has_moved_it(alua, reader):
    volume, groups, _ = alua(OPTIMIZED, STANDBY, preferred=0)
    groups.tpgs = EXPLICIT
    each = reader(volume.enable())
    groups.set(UNAVAILABLE, STANDBY)
    each.goes_on()
    assert groups.wanted == [1]
    for path, states in ((0, (OPTIMIZED, STANDBY)), (1, (STANDBY, OPTIMIZED))):
        groups.set(*states, tell=True)
        wait_access(volume, path, "active/optimized")
    # As long as the port has to be live, and until it is asked then.
    time.sleep(FOUND_S + 5)
    each.goes_on()
    assert groups.wanted == [1]
    assert each.errors == []


def test_handing_over_fails(alua):
    """It is asked for again, less and less often."""
    volume, groups, _ = alua(OPTIMIZED, STANDBY, recovery_timeout_ms=-1)
    groups.tpgs, groups.fails = EXPLICIT, True
    with Direct(volume.enable()) as disk:
        groups.set(STANDBY, STANDBY)
        writer = Write(disk, 0, noise(64 * KIB, 1))
        wait_for("two requests", lambda: len(groups.wanted) >= 2, SOON_S)
        time.sleep(10)
        assert writer.is_alive()
        assert len(groups.wanted) <= 5
        groups.fails = False
        writer.finish(90)
        same(disk.read(0, 64 * KIB), noise(64 * KIB, 1), "what was read")
    undisturbed(volume)


def test_another_host_takes_it_away(alua, reader):
    """Again and again: it is not taken back each time."""
    volume, groups, _ = alua(OPTIMIZED, STANDBY, recovery_timeout_ms=-1)
    groups.tpgs = EXPLICIT
    each = reader(volume.enable())
    end = time.monotonic() + 20
    while time.monotonic() < end:
        groups.set(STANDBY, STANDBY)
        time.sleep(0.5)
    assert 2 <= len(groups.wanted) <= 5
    groups.set(OPTIMIZED, STANDBY)
    each.goes_on()
    assert each.errors == []


def test_without_states(make_scripted):
    """A target that does not report any."""
    volume, _ = make_scripted(HONEST)
    volume.enable()
    assert [read(volume.path_sysfs() / name)
            for name in ("access_state", "preferred", "port_group")] == ["", "", ""]


def test_lio(make_lio, make_volume, reader):
    """Linux's own target changes the state of its group, with unit attentions."""
    target = make_lio()
    volume = make_volume(target, recovery_timeout_ms=60000)
    each = reader(volume.enable())
    assert access(volume, 0) == "active/optimized"
    group = target.luns[0].path / "alua" / "default_tg_pt_gp"
    write(group / "alua_access_type", IMPLICIT)
    each.goes_on()
    write(group / "alua_access_state", STANDBY)
    wait_access(volume, 0, "standby")
    count = each.count
    time.sleep(2)
    assert each.count <= count + 1
    write(group / "alua_access_state", NON_OPTIMIZED)
    wait_access(volume, 0, "active/non-optimized")
    each.goes_on()
    write(group / "alua_access_state", OPTIMIZED)
    wait_access(volume, 0, "active/optimized")
    each.goes_on()
    assert each.errors == []
    undisturbed(volume, 1)


def test_lio_hands_over(make_lio, make_volume, reader):
    """Linux's own target does what it is asked to."""
    target = make_lio()
    group = target.luns[0].path / "alua" / "default_tg_pt_gp"
    write(group / "alua_access_type", IMPLICIT | EXPLICIT)
    volume = make_volume(target, recovery_timeout_ms=60000)
    each = reader(volume.enable())
    each.goes_on()
    write(group / "alua_access_state", STANDBY)
    wait_for("the group to be optimized", lambda: read(group / "alua_access_state") == "0", SOON_S)
    each.goes_on()
    wait_access(volume, 0, "active/optimized")
    assert each.errors == []
    undisturbed(volume, 1)
