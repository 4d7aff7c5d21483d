# SPDX-License-Identifier: GPL-2.0
"""Paths that log in and answer pings, and carry no I/O: the others serve, until these do."""

import asyncio
import contextlib
import threading
import time
import types

import pytest

from lab import lio, network
from lab.connections import log_in_again
from lab.disk import Direct, Reader, noise
from lab.ghost import path_state, volume_over
from lab.shell import read, run, wait_for, write
from scripted.checks import ABORT_TASK
from scripted.scenario import HONEST, Scenario
from scripted.scsi import READ_16, WRITE_16, Disk, Result

KIB, MIB = 1 << 10, 1 << 20
#: An emulated processor that stands still for a moment must make no command overdue.
TIMEOUT_MS = 5000
#: More than any test's I/O may be held up, of which there are some in a row before it is noticed.
NOTICED_S = 60
#: Three of these are answered before two seconds are over.
PROMPT_S = 0.3
ABORTS = "has timed out: aborting it|the target has been silent for|time out over this path"


def ports(servers):
    return [server.port for server in servers]


@pytest.fixture
def policy():
    return "round-robin"


@pytest.fixture
def two_ports(servers, make_volume, links, policy):
    """A volume over two ports with one disk; they keep what `keeps` says, the second if `both`.

    The first one answers aborts when abort_s are over, but so many at first when PROMPT_S are.
    """

    async def keep(run, conn, task):
        kept = keeps.test(task)
        run.hits += kept
        return kept

    async def keep_too(run, conn, task):
        if keeps.slow < keeps.slow_count and is_io(task):
            keeps.slow += 1
            event = keeps.first if keeps.slow == 1 else keeps.others
            while not event.is_set():
                await asyncio.sleep(0.05)
        return keeps.both and keeps.test(task)

    async def answer(run, conn, pdu, after_s):
        await asyncio.sleep(after_s)
        response = run.target.manage(conn.session, pdu)
        await run.target.answer_task_management(conn, pdu, response)

    async def on_tmf(run, conn, pdu):
        keeps.aborts += pdu.flags & 0x7F == ABORT_TASK
        after_s = keeps.abort_s if keeps.aborts > keeps.prompt_aborts else PROMPT_S
        worker = asyncio.ensure_future(answer(run, conn, pdu, after_s))
        conn.workers.add(worker)
        worker.add_done_callback(conn.workers.discard)
        return True

    keeps = types.SimpleNamespace(test=lambda task: False, both=False, abort_s=0, aborts=0,
                                  prompt_aborts=0, slow=0, slow_count=0, first=threading.Event(),
                                  others=threading.Event())
    first = servers[0].load(Scenario("keeps I/O", hooks={"on_command": keep, "on_tmf": on_tmf}))
    servers[1].load(Scenario("keeps I/O", hooks={"on_command": keep_too})).disk = first.disk
    volume = volume_over(make_volume, links, ports(servers), first, policy=policy, fence="auto",
                         path={"default_time2wait": 0}, command_timeout_ms=TIMEOUT_MS)
    return volume, keeps, first.run


def is_io(task):
    return task.opcode in (READ_16, WRITE_16)


def out_with(volume, reason, kernel_log):
    """Not by last_error: a later attempt may have failed for another reason by now."""
    wait_for("the path to be taken out", lambda: path_state(volume) != "live" and
             kernel_log.matching(rf"{volume.name}/0/0: .*{reason}"), NOTICED_S)


def goes_on_without(volume, device):
    """Path 0 gets nothing and comes back for no moment, while the other one serves."""
    reconnects = read(volume.path_sysfs() / "reconnects")
    with Direct(device) as disk:
        for at in range(100):
            disk.write(at * 4 * KIB, noise(4 * KIB, at))
            assert disk.read(at * 4 * KIB, 4 * KIB) == noise(4 * KIB, at)
    assert path_state(volume) != "live"
    assert read(volume.path_sysfs() / "reconnects") == reconnects == "0"


@contextlib.contextmanager
def reading(device, keeps, count):
    """So many readers, none of which sees an error; at the end the ports keep nothing."""
    readers = [Reader(device) for _ in range(count)]
    try:
        for reader in readers:
            reader.goes_on()
        yield readers
    finally:
        keeps.test = lambda task: False
        keeps.first.set()
        keeps.others.set()
        for reader in readers:
            reader.end()
    assert [reader.errors for reader in readers] == [[]] * count


@pytest.mark.allow_log(ABORTS, "the test makes commands time out")
@pytest.mark.parametrize("policy", ["round-robin", "failover"])
def test_a_port_without_io(two_ports, kernel_log):
    """It answers logins, pings, INQUIRY and aborts, and no read or write."""
    volume, keeps, run_of_target = two_ports
    device = volume.enable()
    reader = Reader(device)
    try:
        reader.goes_on()
        keeps.test = is_io
        out_with(volume, "commands time out over this path, while another one has answers",
                 kernel_log)
        goes_on_without(volume, device)
        hits = run_of_target.hits
        wait_for("a trial", lambda: run_of_target.hits > hits, NOTICED_S)
        out_with(volume, "it has carried no I/O, and another path serves the LUN", kernel_log)
        keeps.test = lambda task: False
        wait_for("the path to come back", lambda: path_state(volume) == "live", NOTICED_S)
        reader.goes_on()
    finally:
        keeps.test = lambda task: False
        reader.end()
    assert reader.errors == []


@pytest.mark.allow_log(ABORTS, "the test makes commands time out")
@pytest.mark.parametrize("prompt_aborts,abort_s", [(0, 4), (3, 60)])
def test_a_port_with_slow_aborts(two_ports, kernel_log, prompt_aborts, abort_s):
    """Once the path is known to be to blame, its other commands do not wait for their aborts."""
    volume, keeps, _ = two_ports
    device = volume.enable()
    with reading(device, keeps, 12) as readers:
        keeps.prompt_aborts, keeps.abort_s, keeps.test = prompt_aborts, abort_s, is_io
        wait_for("an abort", lambda: keeps.aborts, NOTICED_S)
        start = time.monotonic()
        out_with(volume, "commands time out over this path, while another one has answers",
                 kernel_log)
        assert 1 <= keeps.aborts <= 6
        # All aborts together have two seconds then, an unanswered one elsewhere has ten.
        assert not prompt_aborts or time.monotonic() - start < 8
        for reader in readers:
            reader.goes_on()
        keeps.test = lambda task: False
        wait_for("the path to come back", lambda: path_state(volume) == "live", NOTICED_S)


@pytest.mark.allow_log(ABORTS, "the test makes commands time out")
@pytest.mark.parametrize("policy", ["failover"])
def test_late_commands_of_an_earlier_session(two_ports):
    """They are answered over the other path when this one is back: its new session stays."""
    volume, keeps, _ = two_ports
    device = volume.enable()
    with reading(device, keeps, 16) as readers:
        keeps.slow_count, keeps.test = 7, is_io
        wait_for("the commands over the other path", lambda: keeps.slow >= keeps.slow_count,
                 NOTICED_S)
        write(volume.config / "command_timeout_ms", 60000)
        keeps.test = lambda task: False
        keeps.first.set()
        wait_for("the path to come back", lambda: path_state(volume) == "live" and
                 read(volume.path_sysfs() / "reconnects") == "1", NOTICED_S)
        keeps.others.set()
        for reader in readers:
            reader.goes_on()
    assert path_state(volume) == "live" and read(volume.path_sysfs() / "faults") == "1"


@pytest.mark.allow_log(ABORTS, "the test makes a command time out")
def test_one_command_is_slow(two_ports):
    """The path is not to blame: its session stays."""
    volume, keeps, run_of_target = two_ports
    device = volume.enable()
    keeps.test = lambda task: task.opcode == WRITE_16
    with Direct(device) as disk:
        for at in range(4):
            disk.write(at * 4 * KIB, noise(4 * KIB, at))
            if run_of_target.hits:
                break
    assert run_of_target.hits
    assert path_state(volume) == "live" and read(volume.path_sysfs() / "faults") == "0"


@pytest.mark.allow_log(ABORTS, "the test makes commands time out")
def test_the_lun_stands_still(two_ports):
    """No path is to blame: all sessions stay."""
    volume, keeps, _ = two_ports
    device = volume.enable()
    with reading(device, keeps, 4) as readers:
        keeps.both, keeps.test = True, is_io
        for path in range(2):
            wait_for("aborts", lambda path=path: int(read(volume.path_sysfs(0, path) / "retries")) > 1,
                     NOTICED_S)
        keeps.test = lambda task: False
        for reader in readers:
            reader.goes_on()
    for path in range(2):
        assert read(volume.path_sysfs(0, path) / "faults") == "0"


def test_the_lun_changes_on_trial(servers, make_volume, links, kernel_log):
    """The trial's read is told: the other LUN's superblock is not compared. The path waits for its
    LUN, and is back with it.
    """
    first, second = servers
    changes = types.SimpleNamespace(to=None)

    async def change(run, conn, task):
        if not changes.to or task.opcode != READ_16:
            return False
        run.target.disk, changes.to = changes.to, None
        await run.target.respond(conn, task, Result.check(6, 0x3F, 0x0E))
        return True

    target = first.load(Scenario("changes", hooks={"on_command": change}))
    second.load(HONEST).disk = lun = target.disk
    volume = volume_over(make_volume, links, ports(servers), target, fence="path",
                         metadata="md", metadata_create=1,
                         path={"default_time2wait": 0, "login_retry_max_ms": 1000})
    volume.enable()
    wait_for("both paths", lambda: path_state(volume, 1) == "live")
    changes.to = Disk(identity="6001405" + "b" * 25)
    network.kill_connections(port=first.port)
    wait_for("the path to be refused", lambda: path_state(volume) == "refused", NOTICED_S)
    assert kernel_log.matching("a read on trial: ")
    target.disk = lun
    wait_for("the path to come back", lambda: path_state(volume) == "live", NOTICED_S)


async def keep_large(run, conn, task):
    return task.opcode == READ_16 and task.edtl > 512 and run.target.keeps


@pytest.mark.allow_log(ABORTS, "the test makes commands time out")
def test_the_only_path_has_no_trial(servers, make_volume, links):
    """It may carry little: it serves, also after a loss, and each command is tried again."""
    target = servers[0].load(Scenario("keeps reads", hooks={"on_command": keep_large}))
    target.keeps = False
    volume = volume_over(make_volume, links[:1], ports(servers[:1]), target,
                         path={"default_time2wait": 0}, command_timeout_ms=TIMEOUT_MS)
    device = volume.enable()
    target.keeps = True
    reader = Reader(device)
    try:
        wait_for("two aborts", lambda: int(read(volume.path_sysfs() / "retries")) > 1, NOTICED_S)
        with Direct(device) as disk:
            assert disk.read(0, 512) == bytes(512)
        assert path_state(volume) == "live" and read(volume.path_sysfs() / "faults") == "0"
        log_in_again(volume, servers[0].port)
    finally:
        target.keeps = False
        reader.end()
    assert reader.errors == []


@contextlib.contextmanager
def mtu_of(link, mtu):
    ends = ((link.nic, None), (link.peer, network.NETNS))
    try:
        for nic, netns in ends:
            run("ip", "link", "set", nic, "mtu", str(mtu), netns=netns)
        yield
    finally:
        for nic, netns in ends:
            run("ip", "link", "set", nic, "mtu", "1500", netns=netns)


@pytest.mark.parametrize("mtu, least", [(1500, 2000), (9000, 4 * 4 * KIB)])
def test_the_large_ping_is_zeros(servers, make_volume, links, mtu, least):
    """All of them, however many pages; the digest is right."""
    pings = []

    async def on_nop(run, conn, pdu):
        pings.append(bytes(pdu.data))
        return False

    target = servers[0].load(Scenario("hears pings", hooks={"on_nop": on_nop}))
    servers[1].load(HONEST).disk = target.disk
    volume = volume_over(make_volume, links, ports(servers), target, policy="round-robin",
                         path={"default_time2wait": 0, "data_digest": "CRC32C"})
    with mtu_of(links[0], mtu):
        volume.enable()
        wait_for("both paths", lambda: all(path_state(volume, path) == "live" for path in range(2)))
        log_in_again(volume, servers[0].port)
    large = max(pings, key=len)
    assert len(large) >= least and large == bytes(len(large))


@contextlib.contextmanager
def large_packets_lost(nic, netns):
    """As by a switch with another MTU."""
    network.lose_large_packets(nic, netns)
    try:
        yield
    finally:
        network.pass_large_packets(nic, netns)


@pytest.mark.allow_log(ABORTS, "the test makes a path silent")
@pytest.mark.parametrize("lost", ["to_target", "from_target"])
def test_large_packets_are_lost(make_lio, make_volume, links, kernel_log, lost):
    """Logins, pings and INQUIRY are small. LIO ends sessions whose data do not come."""
    target = make_lio(lio.Lun(64 * MIB), all_links=True)
    volume = make_volume(target, paths=links, policy="round-robin", metadata="md",
                         metadata_create=1,
                         path={"immediate_data": "No"} if lost == "to_target" else
                         {"ping_interval_ms": 1000})
    device = volume.enable()
    reader = Reader(device)
    nic, netns, reason = {
        "to_target": (links[0].nic, None, "it carries no large packets to the target"),
        "from_target": (links[0].peer, network.NETNS, "it has carried no I/O"),
    }[lost]
    try:
        reader.goes_on()
        with large_packets_lost(nic, netns):
            with Direct(device) as disk:
                # Not so many writes: beside the reader all of them may go over the other path.
                wait_for("a write over this path",
                         lambda: disk.write(0, noise(64 * KIB, 1)) or path_state(volume) != "live",
                         NOTICED_S)
            out_with(volume, reason, kernel_log)
            goes_on_without(volume, device)
        wait_for("the path to come back", lambda: path_state(volume) == "live", NOTICED_S)
        reader.goes_on()
    finally:
        reader.end()
    assert reader.errors == []
