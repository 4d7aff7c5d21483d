# SPDX-License-Identifier: GPL-2.0
"""Changes of states are told: by uevents, by files that wake poll(2), by istripectl monitor."""

import contextlib
import re
import statistics
import threading
import time

import pytest

from conftest import Size
from lab import istripe, leaks, lio, network
from lab.disk import Direct, noise, same
from lab.ghost import (
    AT,
    KIB,
    Write,
    killed,
    killed_by_target,
    volume_over,
    write_to_holder,
)
from lab.istripectl import TOOL
from lab.lines import Lines
from lab.polled import Polled
from lab.shell import read, run, udev_settle, wait_for, write
from lab.tracing import TRACING, traced
from lab.uevents import Uevents
from scripted.alua import OPTIMIZED, STANDBY, Groups
from scripted.scenario import HONEST, Scenario
from scripted.steps import refuse

MIB = 1 << 20
PATH = {"default_time2wait": 0, "login_timeout_ms": 10000}
NO_WAIT = {"DefaultTime2Wait": 0}
#: A quick run may be on a busy machine: it shows the figures only.
MEDIAN_S = 0.1
SOON_S = 20
LOST = ["PATH_FAILED", "LEG_DEGRADED", "VOLUME_DEGRADED"]
BACK = ["PATH_REINSTATED", "LEG_LIVE", "VOLUME_LIVE"]
FORBIDDEN = 0x0202


@pytest.fixture
def target(make_lio):
    return make_lio(16 * MIB, all_links=True, params=NO_WAIT)


@pytest.fixture
def volume(target, make_volume, links):
    """A volume with a path over each link, not enabled yet."""
    return make_volume(target, paths=links, path=PATH)


@pytest.fixture
def events():
    with Uevents() as seen:
        yield seen


def actions(events, since=0, **of):
    return [event.action for event in events.seen(since=since, **of)]


def wait_actions(events, wanted, since=0, timeout_s=30):
    """Until these have come, no others, in this order."""
    wait_for(f"{wanted}", lambda: actions(events, since)[:len(wanted)] == wanted, timeout_s)
    assert actions(events, since) == wanted


def assert_in_order(seen):
    """Each of them once, the leg after its path, the volume after its leg.

    The leg may be told late of a path that is back already.
    """
    assert set(seen) <= {*LOST, *BACK}
    for chain in (LOST, BACK, *zip(LOST, BACK)):
        assert [action for action in seen if action in chain] == [
            action for action in chain if action in seen], seen


def wait_settled(events):
    """Until a path is live again, and with it whatever was told not to be, for a second."""

    def settled():
        seen = actions(events)
        return ("PATH_REINSTATED" in seen and
                time.monotonic() - events.seen()[-1].at > 1 and seen.count("PATH_FAILED") ==
                seen.count("PATH_REINSTATED") and
                all([action for action in seen if action.startswith(what)][-1:] in
                    ([], [f"{what}LIVE"]) for what in ("LEG_", "VOLUME_")))

    wait_for("all to be live again", settled, 60)


def no_link(link, _target):
    link.set_up(False)
    return lambda: link.set_up(True)


def no_connection(link, _target):
    return killed(link, network.ISCSI_PORT)


def target_resets(link, _target):
    return killed_by_target(link, network.ISCSI_PORT)


def no_portal(link, target):
    """The target listens no more, and its connection is closed."""
    for address in (link.address, link.address6):
        target.remove_portal(address)
    network.kill_connections(source_ports=network.ports(link))

    def back():
        for address in (link.address, link.address6):
            target.add_portal(address)

    return back


@pytest.mark.parametrize("lose", [no_link, no_connection, target_resets, no_portal])
def test_a_path_is_lost_and_comes_back(volume, target, events, links, lose):
    """From cause to effect, and none of the disk: nobody opens it for this."""
    volume.enable()
    udev_settle()
    events.settle()
    first = len(events.events)
    back = lose(links[0], target)
    if lose in (no_link, no_portal):
        wait_actions(events, LOST)
        back()
    wait_settled(events)
    # What is back so soon may have been live again when the leg was looked at.
    soon = lose in (no_connection, target_resets)
    assert_in_order(actions(events))
    failed, back = (events.seen(action)[0] for action in ("PATH_FAILED", "PATH_REINSTATED"))
    for event in (failed, back):
        assert event.of(volume=volume.name, leg=0, path=0)
        assert event["SUBSYSTEM"] == "istripe" and event["ACTION"] == "change"
        assert event["ISTRIPE_DEVICE"] == volume.device()
        assert event["ISTRIPE_PORTAL"] == links[0].portal()
        assert event["ISTRIPE_NIC"] == links[0].nic
    assert failed["ISTRIPE_STATE"] != "live" and failed["ISTRIPE_REASON"]
    assert back["ISTRIPE_STATE"] == "live" and "ISTRIPE_REASON" not in back
    for event in events.seen("LEG_DEGRADED"):
        assert event.of(leg=0) and "ISTRIPE_PATH" not in event
        assert event["ISTRIPE_STATE"] == "degraded"
        # A later attempt may have another reason.
        assert soon or (event["ISTRIPE_LIVE_PATHS"] == "1" and event["ISTRIPE_REASON"])
    for event in events.seen("VOLUME_DEGRADED"):
        assert event["ISTRIPE_STATE"] == "degraded" and "ISTRIPE_LEG" not in event
    events.settle()
    assert not [event for event in events.events[first:] if event.get("SUBSYSTEM") == "block"]
    # At once, without waiting for udev.
    write(volume.config / "enable", 0)


@pytest.mark.allow_log("error, dev istripe|Buffer I/O error on dev istripe", "the leg fails")
def test_a_leg_fails_and_recovers(make_lio, make_volume, events, link):
    """The second leg; the first one is as it was."""
    target = make_lio(16 * MIB, 16 * MIB, params=NO_WAIT)
    # Long enough for all states on the way to be told.
    volume = make_volume(target, legs=2, path=PATH, recovery_timeout_ms=8000)
    write(volume.config / "legs" / "1" / "paths" / "0" / "portal", link.portal(ipv6=True))
    volume.enable()
    run("ip", "addr", "del", f"{link.source6}/64", "dev", link.nic)
    try:
        assert network.kill_connections(source_ports={
            int(ours.rsplit(":", 1)[1]) for ours, theirs in network.established()
            if theirs.startswith("[")})
        wait_actions(events, ["PATH_FAILED", "LEG_WAITING", "VOLUME_WAITING", "LEG_FAILED",
                              "VOLUME_FAILED"])
    finally:
        run("ip", "addr", "add", f"{link.source6}/64", "dev", link.nic, "nodad")
    events.wait("VOLUME_LIVE")
    assert actions(events)[5:] == BACK
    assert all(event.of(volume=volume.name) for event in events.seen())
    assert all(event.of(leg=1) for event in events.seen() if "ISTRIPE_LEG" in event)
    for action in ("LEG_FAILED", "VOLUME_FAILED"):
        assert events.seen(action)[0]["ISTRIPE_REASON"]


def test_writes_that_wait(make_lio, make_volume, events, links):
    """No other path is to end the lost session: what waits, on which path, until when."""
    lun = lio.HoldingLun(16 * MIB)
    target = make_lio(lun, all_links=True, params=NO_WAIT)
    volume = make_volume(target, paths=links, path=PATH, policy="failover", fence="path")
    with Direct(volume.enable()) as disk:
        writer = write_to_holder(disk, lun.disk, noise(4 * KIB, 1))
        with network.down(links[0]):
            waiting = events.wait("WRITES_WAITING")
            lun.disk.release()
        writer.finish()
        resumed = events.wait("WRITES_RESUMED")
        events.wait("VOLUME_LIVE")
        same(disk.read(AT, 4 * KIB), noise(4 * KIB, 1), "the data on the disk")
    assert waiting.of(volume=volume.name, leg=0, path=0) and resumed.of(leg=0, path=0)
    assert waiting["ISTRIPE_WAITING_WRITES"] == "1" and int(waiting["ISTRIPE_WAITING_MS"]) >= 0
    assert re.match(r"until a login through this path .* fence is \"path\"",
                    waiting["ISTRIPE_REASON"])
    assert actions(events).count("WRITES_WAITING") == 1
    order = actions(events, path=0)
    assert order.index("PATH_FAILED") < order.index("WRITES_WAITING") < order.index(
        "WRITES_RESUMED")


@pytest.mark.allow_log("writes fail that the target may still carry out", "the leg fails")
@pytest.mark.allow_log("error, dev istripe|Buffer I/O error on dev istripe", "the write fails")
def test_writes_that_wait_and_fail(make_lio, make_volume, events, links):
    lun = lio.HoldingLun(16 * MIB)
    target = make_lio(lun, all_links=True, params=NO_WAIT)
    volume = make_volume(target, paths=links, path=PATH, policy="failover", fence="path",
                         recovery_timeout_ms=2000)
    with Direct(volume.enable()) as disk:
        writer = write_to_holder(disk, lun.disk, noise(4 * KIB, 1))
        for link in links:
            link.set_up(False)
        try:
            events.wait("WRITES_WAITING")
            # The second path is the last one: only its pings tell.
            events.wait("WRITES_FAILED", timeout_s=60)
            lun.disk.release()
            events.wait("VOLUME_FAILED")
        finally:
            for link in links:
                link.set_up(True)
        writer.join(SOON_S)
        assert not writer.is_alive() and not writer.good
        events.wait("VOLUME_LIVE", timeout_s=60)


@pytest.fixture
def two_ports(make_server, make_volume, links):
    """two_ports(**settings): the groups of two ports of a LUN, and a volume with a path over each."""
    def make(**settings):
        servers = [make_server(), make_server()]
        groups = Groups(OPTIMIZED, OPTIMIZED)
        for server, port in zip(servers, groups.ports):
            server.load(HONEST).disk = port
        return groups, volume_over(make_volume, links, [server.port for server in servers],
                                   servers[0].target, path=PATH, fence="path", **settings)

    return make


def test_access_states(two_ports, events):
    """Each change is told by an event, and by the file."""
    groups, volume = two_ports()
    device = volume.enable()

    def change(*now):
        groups.set(*now, tell=True)
        run("dd", f"if={device}", "of=/dev/null", "bs=4k", "count=16", "iflag=direct")

    with contextlib.ExitStack() as stack:
        file = Polled(volume.path_sysfs(0, 1) / "access_state", stack)
        assert file.value == "active/optimized"
        change(OPTIMIZED, STANDBY)
        standby = events.wait("PATH_ACCESS", path=1)
        # The file is told of first, also that the path has come: no old news are left.
        file.wait("standby")
        change(OPTIMIZED, OPTIMIZED)
        file.wait("active/optimized")
    assert (standby["ISTRIPE_ACCESS_STATE"], standby["ISTRIPE_STATE"]) == ("standby", "live")
    assert actions(events, path=0) == []


def test_no_port_takes_io(two_ports, events):
    """All paths are live, and none serves: leg and volume say why they wait."""
    groups, volume = two_ports(recovery_timeout_ms=-1)
    device, why = volume.enable(), "path 0: its target port is standby"
    leg = volume.leg_sysfs(0)
    with Direct(device) as disk:
        groups.set(STANDBY, STANDBY, tell=True)
        writer = Write(disk, AT, noise(4 * KIB, 1))
        waiting = [events.wait("LEG_WAITING"), events.wait("VOLUME_WAITING")]
        assert (read(leg / "last_error"), read(leg / "recovery_left_ms")) == (why, "-1")
        assert int(read(leg / "down_ms")) > 0
        groups.set(OPTIMIZED, OPTIMIZED, tell=True)
        writer.finish()
        events.wait("VOLUME_LIVE")
    assert [event["ISTRIPE_REASON"] for event in waiting] == [why, why]
    assert (read(leg / "last_error"), read(leg / "down_ms")) == ("", "0")


@pytest.mark.allow_log("error, dev istripe|Buffer I/O error on dev istripe",
                       "the only path is refused")
def test_refused(server, make_volume, events, links):
    """Told once, not at each attempt to log in."""
    target = server.load(Scenario("refuses", hooks=refuse(FORBIDDEN), times=10000))
    volume = volume_over(make_volume, links[:1], [server.port], target,
                         path={**PATH, "login_retry_max_ms": 1000})
    volume.enable()
    server.arm()
    killed(links[0], server.port)
    wait_for("some attempts", lambda: target.run.hits >= 6, 60)
    wait_for("the refusal to be told", lambda: events.seen("PATH_FAILED")[-1]["ISTRIPE_STATE"] ==
             "refused")
    assert "0202" in events.seen("PATH_FAILED")[-1]["ISTRIPE_REASON"]
    assert len(events.seen("PATH_FAILED")) <= 2
    target.run.armed = False
    # A login that is refused is tried again after about as long as it has been refused.
    wait_for("the end", lambda: actions(events)[-1:] == ["VOLUME_LIVE"], 120)


@contextlib.contextmanager
def monitored(volume):
    """istripectl monitor, which has looked at the volume: it is still down."""
    with Lines(TOOL, "monitor") as monitor:
        monitor.wait(f"{volume.name}: unknown -> down")
        yield monitor


def test_what_is_not_live_from_the_start(volume, events, links):
    """And what comes and goes later: paths, not the volume."""
    with network.down(links[1]):
        with monitored(volume) as monitor:
            volume.enable()
            wait_actions(events, LOST)
            for place, state in (("leg 0: ", "-> degraded"), ("leg 0 path 1: ", "")):
                monitor.wait(f"{volume.name} {place}unknown -> ", state)
        assert events.seen("PATH_FAILED")[0].of(path=1)
    wait_actions(events, LOST + BACK)
    write(volume.leg / "paths" / "1" / "enable", 0)
    removed = events.wait("PATH_REMOVED")
    write(volume.leg / "paths" / "1" / "enable", 1)
    added = events.wait("PATH_ADDED")
    assert removed.of(path=1) and added.of(path=1) and added["ISTRIPE_STATE"] == "live"
    killed(links[1], network.ISCSI_PORT)
    events.wait("PATH_REINSTATED", path=1, since=events.events.index(added))
    wait_settled(events)
    before = len(events.seen())
    volume.disable()
    events.settle()
    assert len(events.seen()) == before


def test_a_path_that_is_removed(make_scripted, events):
    """While it logs out it is idle: nothing is lost, and nobody tells of a loss."""

    async def on_logout(run, _conn, _pdu):
        return run.strike()

    # Sessions of proofs log out, too.
    volume, target = make_scripted(Scenario("no answer to a logout", hooks={"on_logout": on_logout},
                                            armed=True, times=100), paths=2, policy="failover")
    with monitored(volume) as monitor:
        volume.enable()
        monitor.wait(f"{volume.name}: down -> live")
        with contextlib.ExitStack() as stack:
            state = Polled(volume.path_sysfs(0, 1) / "state", stack)
            remover = threading.Thread(target=write,
                                       args=(volume.leg / "paths" / "1" / "enable", 0))
            remover.start()
            state.wait("idle")
            remover.join(SOON_S)
        monitor.wait(f"{volume.name} leg 0 path 1: live -> none")
        assert target.run.hits
        assert len(monitor.having(f"{volume.name} leg 0 path 1: ")) == 1
    events.wait("PATH_REMOVED", path=1)
    assert actions(events) == ["PATH_REMOVED"]


def test_more_connections(volume, events, links):
    """Sessions that are added are not lost, and no longer there is not failed."""
    volume.enable()
    for count in (4, 2, 4):
        # Not all log in within one look at the states.
        with network.delayed(links[0], 0.05):
            write(volume.path / "connections", count)
            wait_for("all of them", lambda count=count: len(network.ports(links[0])) == count and
                     volume.state() == "live")
            time.sleep(1)
    events.settle()
    assert actions(events) == []


def test_a_link_local_portal(make_server, make_volume, events, links):
    """As sysfs shows it, with its interface."""
    nic, peer = links[0].nic, links[0].peer
    wait_for("the address", lambda: "tentative" not in run("ip", "addr", "show", "dev", nic))
    shown = run("ip", "-6", "addr", "show", "dev", peer, "scope", "link", netns=network.NETNS)
    address = re.search(r"inet6 (fe80:\S+)/", shown).group(1)
    server = make_server("::")
    volume = make_volume(server.target, path={
        **PATH, "portal": f"[{address}%{nic}]:{server.port}"})
    volume.enable()
    network.kill_connections(port=server.port)
    failed = events.wait("PATH_FAILED")
    assert re.fullmatch(rf"\[{address}%\d+\]:{server.port}", failed["ISTRIPE_PORTAL"])
    assert failed["ISTRIPE_PORTAL"] == read(volume.path_sysfs() / "portal")
    volume.disable()


def test_a_link_local_portal_of_a_nic_made_anew(make_server, make_volume, links):
    """The NIC has another number then, and so has the scope of the portal's address."""
    link, address = links[0], "fe80::55:2"
    peer = [f"{address}/64", "dev", link.peer]
    run("ip", "addr", "add", *peer, "nodad", netns=network.NETNS)
    wait_for("the address", lambda: "tentative" not in run("ip", "addr", "show", "dev", link.nic))
    server = make_server("::")
    try:
        volume = make_volume(server.target, path={
            **PATH, "portal": f"[{address}%{link.nic}]:{server.port}", "nic": link.nic,
            "login_retry_max_ms": 1000})
        volume.enable()
        number = read(f"/sys/class/net/{link.nic}/ifindex")
        run("ip", "link", "del", link.nic)
        link.create()
        run("ip", "addr", "add", *peer, "nodad", netns=network.NETNS)
        assert read(f"/sys/class/net/{link.nic}/ifindex") != number
        network.kill_connections(port=server.port)
        wait_for("the next session", lambda: volume.reconnects() == 1, 60)
        volume.wait_state("live")
        volume.disable()
    finally:
        run("ip", "addr", "del", *peer, netns=network.NETNS, check=False)


# How soon

class Trace:
    """The states of a path as the driver changes them: (time.monotonic(), state)."""

    def __init__(self, label):
        self.line = re.compile(rf" ([\d.]+): istripe_state: {label} path \S+ -> (\S+)")
        self.stack = contextlib.ExitStack()

    def __enter__(self):
        self.clock = re.search(r"\[(\S+)\]", read(TRACING / "trace_clock")).group(1)
        write(TRACING / "trace_clock", "mono")
        self.trace = self.stack.enter_context(traced("istripe/istripe_state"))
        return self

    def __exit__(self, *_):
        self.stack.close()
        write(TRACING / "trace_clock", self.clock)

    def last(self, state):
        return [float(at) for at, now in self.line.findall(self.trace())
                if now == state][-1]


class Delays(list):
    """Of one listener; told in milliseconds."""

    def __str__(self):
        return (f"median {statistics.median(self) * 1000:.1f} ms, longest {max(self) * 1000:.1f} ms "
                f"of {len(self)}")

    def check(self):
        assert not Size.full or statistics.median(self) < MEDIAN_S, str(self)


def test_seen_soon(volume, events, links, size):
    """By a program of its own, by udevadm monitor, and by istripectl monitor."""
    volume.enable()
    label = f"{volume.name}/0/0"
    delays = {name: Delays() for name in ("uevent", "udevadm monitor", "istripectl monitor")}
    with Trace(label) as trace, \
            Lines("udevadm", "monitor", "--kernel", "--property", "-s", "istripe") as udevadm, \
            Lines(TOOL, "monitor") as monitor:
        wait_for("udevadm", lambda: udevadm.having("KERNEL"))

        def watched():
            """It says nothing before the first change that it sees."""
            killed(links[1], network.ISCSI_PORT)
            wait_for("the path", lambda: volume.state() == "live", 60)
            return monitor.having(f"{volume.name} leg 0 path 1: ", "-> live")

        wait_for("istripectl monitor", watched, 60, 1)
        wait_settled(events)
        for _ in range(size.rounds(10, 50)):
            for up, state, action, line in (
                    (False, "draining", "PATH_FAILED", "path 0: live -> "),
                    (True, "live", "PATH_REINSTATED", "-> live")):
                since = len(events.events), len(udevadm.seen), len(monitor.seen)
                links[0].set_up(up)
                event = events.wait(action, path=0, since=since[0])
                told = udevadm.wait(f"ISTRIPE_ACTION={action}", since=since[1])[0]
                shown = monitor.wait(f"{volume.name} leg 0 path 0: ", line, since=since[2])[0]
                changed = trace.last(state)
                for name, at in zip(delays, (event.at, told, shown)):
                    delays[name].append(at - changed)
                    assert at > changed
                events.wait("VOLUME_LIVE" if up else "VOLUME_DEGRADED", since=since[0])
    for name, figure in delays.items():
        print(f"{name}: {figure}")
        figure.check()


def test_files_wake_poll(make_lio, make_volume, links):
    lun = lio.HoldingLun(16 * MIB)
    target = make_lio(lun, all_links=True, params=NO_WAIT)
    volume = make_volume(target, paths=links, path=PATH, policy="failover", fence="path")
    with Direct(volume.enable()) as disk, contextlib.ExitStack() as stack:
        path = volume.path_sysfs()
        files = [Polled(file, stack) for file in (
            path / "state", volume.leg_sysfs(0) / "state", volume.sysfs() / "state",
            path / "waiting_writes")]
        assert [file.value for file in files] == ["live", "live", "live", "0"]
        # That the path came up may be told only now.
        wait_for("no news", lambda: not files[0].poll.poll(0) or not files[0].read())
        writer = write_to_holder(disk, lun.disk, noise(4 * KIB, 1))
        with network.down(links[0]):
            for file, wanted in zip(files, ("backoff", "degraded", "degraded", "1")):
                file.wait(wanted)
            lun.disk.release()
        for file, wanted in zip(files, ("live", "live", "live", "0")):
            file.wait(wanted)
        writer.finish()


def states(volume, reserve):
    """The files that tell a state of the volume, of its leg, and of all that path 0 has.

    @reserve: with those of a second session that is not wanted.
    """
    files = [*volume.path_sysfs().rglob("state"), *volume.path_sysfs().rglob("path_state"),
             volume.leg_sysfs(0) / "state", volume.sysfs() / "state"]
    return [file for file in files if reserve or "sessions" not in file.parts]


@pytest.mark.parametrize("multi", ["sessions", "mcs"])
def test_each_state_wakes_poll(target, make_volume, links, multi):
    """Those of sessions and connections, too: the path is lost and comes back, then it flaps."""
    volume = make_volume(target, paths=links, path={**PATH, "connections": 2, "multi": multi})
    volume.enable()
    wait_for("all of it", lambda: volume.state() == "live")
    with contextlib.ExitStack() as stack:
        files = {Polled(file, stack): file for file in states(volume, multi == "sessions")}
        assert len(files) == (9 if multi == "sessions" else 7)
        first = {file: file.value for file in files}
        assert set(first.values()) == {"live", "logged-in"}
        with network.down(links[0]):
            for file in files:
                file.wait_other(first[file])
        for file in files:
            file.wait(first[file])
        wait_for("all of it", lambda: volume.state() == "live")
        for file in files:
            file.read()
        killed(links[0], network.ISCSI_PORT)
        # The leg and the volume may not have noticed.
        for file in files:
            if volume.path_sysfs() in file.path.parents:
                file.next()
        wait_for("the end", lambda: {file.read() for file in files} == {"live", "logged-in"}, 60)


def test_status_is_shown_anew(volume, links):
    volume.enable()
    with Lines(TOOL, "status", "--watch=10min", "-o", "STATE", "-P", volume.name) as status:
        status.wait("live")
        with network.down(links[0]):
            status.wait("degraded")


# Many of them

def test_a_path_that_flaps(volume, events, links, size):
    """An event for each loss at most, and the last one is right."""
    volume.enable()
    faults = volume.path_sysfs() / "faults"
    ended = time.monotonic() + size.rounds(10, 60)
    # On a busy machine a few losses take longer.
    while time.monotonic() < ended or (int(read(faults)) < 4 and time.monotonic() < ended + 60):
        network.kill_connections(source_ports=network.ports(links[0]))
    wait_for("the path", lambda: volume.state() == "live", 60)
    wait_settled(events)
    seen = actions(events, path=0)
    losses = int(read(faults))
    assert losses > 3
    failed = seen.count("PATH_FAILED")
    print(f"{losses} losses, {failed} times PATH_FAILED, {len(actions(events))} events")
    assert 1 < failed <= losses
    assert seen == ["PATH_FAILED", "PATH_REINSTATED"] * failed
    # Of the leg and the volume there are no more than of the path.
    assert len(actions(events)) <= 3 * len(seen)


@pytest.mark.allow_log("writes fail that the target may still carry out", "it is taken down so")
@pytest.mark.allow_log("error, dev istripe|Buffer I/O error on dev istripe",
                       "it is taken down by force")
def test_nothing_is_left(volume, links, size):
    """Down while events are on their way; then the module goes, too."""
    for _ in range(size.rounds(8, 50)):
        volume.enable()
        network.kill_connections()
        volume.force_down()
    for link in links:
        volume.enable()
        with network.down(link):
            volume.force_down()
    volume.delete()
    istripe.unload()
    leaks.settle()
    assert leaks.threads() == []
    istripe.load()
