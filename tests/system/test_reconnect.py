# SPDX-License-Identifier: GPL-2.0
"""Connections die; I/O does not notice, or fails in the time it was told to."""

import asyncio
import contextlib
import os
import random
import re
import socket
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from lab import fio, lio, network
from lab.connections import sent, wait_reconnects
from lab.disk import Direct, noise, same, works
from lab.ghost import (
    AT,
    CALM,
    FAST,
    KIB,
    PATIENT,
    Write,
    held_write,
    killed,
    release,
    volume_over,
)
from lab.nbd import HoldingDisk
from lab.shell import LabError, read, wait_for, write
from scripted.ghost import hold, keep
from scripted.pdu import LOGOUT_RESPONSE, Pdu
from scripted.scenario import HONEST, Scenario
from scripted.scsi import INQUIRY, READ_16, WRITE_16, Result

MIB = 1 << 20
#: Silence is noticed, but not that an emulated processor stands still.
QUICK = {"default_time2wait": 0, "ping_interval_ms": 500, "ping_timeout_ms": 5000,
         "login_timeout_ms": 10000}
NO_WAIT = {"DefaultTime2Wait": 0}
THREADS_MAX = "/proc/sys/kernel/threads-max"
UNBOUND_CPUS = "/sys/devices/virtual/workqueue/cpumask"
ONLINE = Path("/sys/devices/system/cpu/cpu1/online")


def background(device, seconds, **options):
    return fio.begin(device, **{"rw": "randrw", "bs": "16k", "iodepth": 8, "time_based": True,
                                "runtime": seconds, "size": "100%", **options})


def wait_serving(volume):
    """The path's own state is told before the leg uses it."""
    wait_for("the volume", lambda: read(volume.sysfs() / "state") == "live", 60)


@pytest.mark.timeout_s(1800)
@pytest.mark.parametrize("digests", [False, True], ids=["plain", "digests"])
def test_connection_killed_under_verify(make_lio, make_volume, size, digests):
    """The socket is destroyed, in turn at our side and at the target's, while fio verifies."""
    params = {**NO_WAIT, **({"HeaderDigest": "CRC32C", "DataDigest": "CRC32C"} if digests else {})}
    path = {**QUICK, **({"header_digest": "CRC32C", "data_digest": "CRC32C"} if digests else {})}
    volume = make_volume(make_lio(64 * MIB, params=params), path=path)
    device = volume.enable()
    wanted = size.rounds(12, 50)
    killed = runs = 0

    def too_few():
        """What is killed before its login is over has been no session yet."""
        return min(killed, volume.reconnects()) < wanted

    while too_few():
        job = fio.begin(device, **fio.verify_options(32 * MIB, jobs=8, largest_bytes=4 * MIB,
                                                     depth=4), randseed=runs + 1)
        while job.poll() is None and too_few():
            time.sleep(0.2 + 0.1 * (killed % 4))
            broken = network.kill_connections(by_target=killed % 2 == 1)
            killed += broken
            if broken:
                volume.wait_state("live")
        result = fio.finish(job)
        assert result.errors() == 0
        runs += 1
    assert volume.reconnects() >= wanted
    assert "" != read(volume.path_sysfs() / "last_error")


@pytest.mark.timeout_s(1800)
def test_both_paths_lost_again_and_again(make_lio, make_volume, links, size):
    """With writes in flight. LIO does not survive a LUN reset that meets the end of a connection."""
    volume = make_volume(make_lio(64 * MIB, params=NO_WAIT, all_links=True), paths=links, path=QUICK)
    device = volume.enable()
    rng = random.Random(5)
    state = volume.leg_sysfs(0) / "state"
    job = fio.begin(device, rw="randwrite", bs="256k", iodepth=16, size="60M", norandommap=True,
                    time_based=True, runtime=1500)
    for _ in range(size.rounds(12, 150)):
        for _ in range(rng.randrange(1, 4)):
            network.kill_connections(by_target=rng.random() < .5)
            time.sleep(rng.uniform(0, .25))
        wait_for("both paths", lambda: read(state) == "live", 60)
        time.sleep(rng.uniform(0, .2))
    # It would have ended with the first error.
    assert job.poll() is None
    job.kill()
    job.communicate()
    assert read(volume.leg_sysfs(0) / "lun_reset") == "unneeded"


def test_reconnect_honours_time2wait(make_lio, make_volume, kernel_log):
    volume = make_volume(make_lio(params={"DefaultTime2Wait": 3}), path={"default_time2wait": 1})
    volume.enable()
    assert volume.negotiated("DefaultTime2Wait") == "3"
    start = time.monotonic()
    network.kill_connections()
    wait_for("another session", lambda: volume.reconnects() >= 1, 30)
    volume.wait_state("live")
    assert time.monotonic() - start >= 2.9
    assert len(kernel_log.matching(f"{volume.name}/0/0: connected again")) == volume.reconnects()


def is_ended(disk, server, target):
    """What was held is not carried out over newer data."""
    newer = noise(4 * KIB, "newer")
    disk.write(AT, newer)
    release(server, target)
    same(disk.read(AT, 4 * KIB), newer, "the data on the disk")
    assert "carried out" not in target.run.memory


@pytest.mark.parametrize("connections", [1, 2])
def test_a_fence_does_not_wait_for_time2wait(server, make_volume, links, kernel_log, connections):
    """The first login through the sibling is refused, and the path's own login must wait.

    After several connections the fence waits, too, but for two seconds only.
    """
    logins = []

    async def refuse_once(run, conn, pdu):
        address = conn.writer.get_extra_info("sockname")[0]
        if not run.armed or address != links[1].address:
            return False
        logins.append(time.monotonic())
        if len(logins) == 1:
            await conn.refuse(pdu, 0x0301, [])
        return len(logins) == 1

    target = server.load(Scenario("ghost", hooks={"on_command": keep, "on_login": refuse_once}))
    volume = volume_over(make_volume, links, [server.port] * 2, target, fence="auto",
                         path={**CALM, "multi": "mcs", "connections": connections,
                               "default_time2wait": 60})
    with Direct(volume.enable()) as disk:
        volume.wait_proven()
        assert read(volume.path_sysfs() / "session" / "connections") == str(connections)
        server.arm()
        writer = held_write(disk, target, noise(4 * KIB, 1))
        reconnects = read(volume.path_sysfs(0, 0) / "reconnects")
        lost = time.monotonic()
        killed(links[0], server.port)
        writer.finish()
        wait_for("the end of the lost session",
                 lambda: read(volume.path_sysfs(0, 0) / "ghost_writes") == "0", 60)
        # Once it has logged out.
        wait_for("the message", lambda: kernel_log.matching("the old session is ended through"))
        assert logins[1] - lost < 50
        assert read(volume.path_sysfs(0, 0) / "reconnects") == reconnects
        is_ended(disk, server, target)


def test_a_fence_after_several_connections(server, make_volume, links):
    """It comes before a login over the path's own way, which is dead. The target wants no wait."""
    target = server.load(Scenario("ghost", hooks={"on_command": hold}))
    volume = volume_over(make_volume, links, [server.port] * 2, target, fence="auto",
                         path={**PATIENT, "login_timeout_ms": 120000, "multi": "mcs",
                               "connections": 2})
    with Direct(volume.enable()) as disk:
        volume.wait_proven()
        server.arm()
        writer = held_write(disk, target, noise(4 * KIB, 1))
        lost = network.ports(links[0], server.port)
        with network.silent(links[0]):
            assert network.kill_connections(port=server.port, source_ports=lost)
            writer.finish()
            wait_for("the end of the lost session",
                     lambda: read(volume.path_sysfs(0, 0) / "ghost_writes") == "0", 60)
            is_ended(disk, server, target)


def test_a_fence_that_is_allowed_during_time2wait(server, make_volume, links, kernel_log):
    """The loss found that no other path may end the session; the administrator lets one do it."""
    target = server.load(Scenario("ghost", hooks={"on_command": keep}))
    volume = volume_over(make_volume, links, [server.port] * 2, target,
                         fence="auto", path={**FAST, "default_time2wait": 60})
    with Direct(volume.enable()) as disk:
        volume.wait_proven()
        write(volume.leg / "fence", "path")
        server.arm()
        writer = held_write(disk, target, noise(4 * KIB, 1))
        reconnects = read(volume.path_sysfs(0, 0) / "reconnects")
        lost = time.monotonic()
        killed(links[0], server.port)
        # Once it waits for Time2Wait.
        wait_for("the loss", lambda: read(volume.path_sysfs(0, 0) / "waiting_writes") != "0", 30)
        time.sleep(3)
        assert writer.is_alive()
        write(volume.leg / "fence", "auto")
        # The write may be sent again before.
        wait_for("the fence", lambda: kernel_log.matching("the old session is ended through"), 50)
        assert time.monotonic() - lost < 55
        writer.finish()
        assert read(volume.path_sysfs(0, 0) / "reconnects") == reconnects
        is_ended(disk, server, target)


def test_idle_connection_is_missed(make_lio, make_volume, link):
    """Nothing is sent and nobody says that the peer is gone: the ping finds out."""
    volume = make_volume(make_lio(params=NO_WAIT), path=QUICK)
    volume.enable()
    with network.peer_down(link):
        wait_for("the loss to be noticed", lambda: volume.state() != "live", 60)
        assert read(volume.path_sysfs() / "last_error")
    volume.wait_state("live")


@pytest.mark.timeout_s(600)
def test_link_down_and_up_under_verify(make_lio, make_volume, link):
    volume = make_volume(make_lio(64 * MIB, params=NO_WAIT), path=QUICK)
    device = volume.enable()
    with fio.meanwhile(device, **fio.verify_options(32 * MIB, jobs=4, depth=4)):
        for count in (1, 2):
            with network.down(link):
                wait_for("the loss to be noticed", lambda: volume.state() != "live", 60)
                time.sleep(2)
            wait_reconnects(volume, count)


def in_background(file, value):
    """A process that writes to a file of sysfs: it may have to wait for long."""
    return subprocess.Popen(["sh", "-c", f"echo {value} > {file}"])


@contextlib.contextmanager
def bound_to(cpu):
    """This thread, and those that it starts meanwhile for good."""
    cpus = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {cpu})
    try:
        yield
    finally:
        os.sched_setaffinity(0, cpus)


@pytest.mark.timeout_s(600)
def test_processor_off_line_during_an_outage(make_lio, make_volume, link, reader):
    """Requests of its queue wait for the login. It does not wait for them, nor does a suspend.

    By default blk-mq lets it wait, with a lock that each volume takes that goes up or down.
    """
    volume = make_volume(make_lio(params=NO_WAIT), recovery_timeout_ms=-1,
                         path={**QUICK, "connections": 2})
    device = volume.enable()
    before, readers = sent(volume), []
    for cpu in (0, 1):
        with bound_to(cpu):
            readers.append(reader(device))
    # Each processor's queue has a connection of its own.
    wait_for("both readers", lambda: all(
        now > then + 20 for now, then in zip(sent(volume), before)), 60)
    link.set_up(False)
    try:
        wait_for("the loss to be noticed", lambda: volume.state() != "live", 60)
        leaving = in_background(ONLINE, 0)
        wait_for("the processor", lambda: leaving.poll() is not None, 30)
        assert (leaving.returncode, read(ONLINE), volume.reconnects()) == (0, "0", 0)
        link.set_up(True)
        for one in readers:
            one.goes_on()
    finally:
        link.set_up(True)
        write(ONLINE, 1)
    for one in readers:
        one.goes_on()
        assert one.errors == []


@contextlib.contextmanager
def processor_cannot_leave():
    """It waits for a request of its queue to another disk, with the lock of CPU hotplug."""
    with contextlib.ExitStack() as end:
        end.callback(write, ONLINE, 1)
        other = HoldingDisk(MIB, queues=2).create()
        end.callback(other.destroy)
        disk = end.enter_context(Direct(other.device))
        end.callback(other.release)
        other.hold(0)
        with bound_to(1):
            writer = Write(disk, 0, bytes(4 * KIB))
        wait_for("the write", other.held)
        leaving = in_background(ONLINE, 0)
        time.sleep(1)
        yield leaving
        assert leaving.poll() is None
        other.release()
        writer.finish()
        assert leaving.wait(60) == 0


@pytest.mark.timeout_s(600)
def test_login_while_a_processor_goes_off_line(make_lio, make_volume, link):
    """What it waits for may be on top of the volume: the login must not wait for its lock (P62)."""
    volume = make_volume(make_lio(params=NO_WAIT), path=QUICK)
    volume.enable()
    with network.down(link):
        wait_for("the loss to be noticed", lambda: volume.state() != "live", 60)
        with processor_cannot_leave():
            link.set_up(True)
            wait_for("another session", lambda: volume.reconnects() > 0, 60)


def in_state(state, volume, paths):
    """How many sessions of these paths are in this state."""
    return sum(read(file) == state for path in paths for pattern in ("session", "sessions/*")
               for file in volume.path_sysfs(0, path).glob(f"{pattern}/path_state"))


@contextlib.contextmanager
def workers_of_their_own():
    """Queues that are made meanwhile do not have the workers that idle after other tests."""
    cpus = read(UNBOUND_CPUS)
    # Other processors are another pool. Queues that there are go to it on 6.12, not on 6.1.
    write(UNBOUND_CPUS, 1)
    try:
        yield
    finally:
        write(UNBOUND_CPUS, cpus)


@contextlib.contextmanager
def no_more_threads():
    """Neither of the kernel's nor of ours, so that nothing can be run meanwhile."""
    most = read(THREADS_MAX)
    write(THREADS_MAX, 1)
    try:
        with pytest.raises(RuntimeError):
            threading.Thread(target=time.sleep, args=(0,)).start()
        yield
    finally:
        write(THREADS_MAX, most)


def test_dead_portals_hold_up_nobody(server, make_volume, links):
    """Without memory for another thread: those there are wait for portals that do not answer."""
    target = server.load(HONEST)
    dead = {"portal": f"{links[1].address}:{server.port}", "target_name": target.iqn, "lun": 0,
            "default_time2wait": 0, "login_timeout_ms": 120000, "connections": 8}
    live = {"portal": f"{links[0].address}:{server.port}", "default_time2wait": 0}
    paths = range(1, 5)
    with contextlib.ExitStack() as held:
        held.enter_context(workers_of_their_own())
        volume = make_volume(target, path=live, recovery_timeout_ms=-1)
        device = volume.enable()
        # One at a time: there must be fewer workers afterwards than sessions of dead portals.
        for path in paths:
            write(volume.add_path(path, dead) / "enable", 1)
            wait_for("the path", lambda path=path: in_state("live", volume, [path]) == 8, 60)
        disk = held.enter_context(open(device, "rb", buffering=0))
        held.enter_context(network.silent(links[1]))
        held.enter_context(no_more_threads())
        server.call(reset_all(target))
        wait_for("the live path", lambda: volume.reconnects() > 0, 45)
        assert disk.read(4096) == target.disk.data[:4096]
        wait_for("all others to be tried", lambda: in_state("connecting", volume, paths) == 32, 45)
        server.call(reset_all(target))
        wait_for("the live path once more", lambda: volume.reconnects() > 1, 45)
        assert len(disk.read(1 << 20)) == 1 << 20


async def reset_all(target):
    for conn in list(target.connections):
        conn.reset()
        conn.close()


@pytest.mark.timeout_s(600)
def test_target_off_and_on_under_verify(make_lio, make_volume):
    target = make_lio(64 * MIB, params=NO_WAIT)
    volume = make_volume(target, path=QUICK)
    device = volume.enable()
    with fio.meanwhile(device, **fio.verify_options(32 * MIB, jobs=4, depth=4)):
        target.enable(False)
        wait_for("the loss to be noticed", lambda: volume.state() != "live", 60)
        time.sleep(2)
        target.enable(True)
        wait_reconnects(volume, 1)


@pytest.mark.allow_log("error, dev istripe", "recovery_timeout_ms runs out on purpose")
@pytest.mark.allow_log("Buffer I/O error on dev istripe", "the same")
@pytest.mark.timeout_s(600)
def test_recovery_timeout(make_lio, make_volume, link):
    """I/O waits as long as it was told to and then fails; when the target is back, all is well."""
    volume = make_volume(make_lio(params=NO_WAIT), path=QUICK, recovery_timeout_ms=4000)
    device = volume.enable()
    # The loss is noticed, and the time begins, after this.
    start = time.monotonic()
    with network.down(link):
        with pytest.raises(LabError, match="exit code|error"):
            fio.run(device, rw="randread", bs="4k", io_size=4096, size="100%", timeout_s=120)
        took = time.monotonic() - start
        assert 3.9 < took < 60
    wait_serving(volume)
    fio.run(device, rw="randread", bs="4k", io_size=MIB, size="100%")


@pytest.mark.allow_log("error, dev istripe", "recovery_timeout_ms is cut on purpose")
@pytest.mark.timeout_s(600)
def test_recovery_timeout_is_live(make_lio, make_volume, link):
    """Waiting for ever can be ended while it lasts."""
    volume = make_volume(make_lio(params=NO_WAIT), path=QUICK, recovery_timeout_ms=-1)
    device = volume.enable()
    with network.down(link):
        job = fio.start(device, rw="randread", bs="4k", io_size=4096, size="100%")
        wait_for("the loss to be noticed", lambda: volume.state() != "live", 60)
        time.sleep(4)
        assert job.poll() is None
        write(volume.config / "recovery_timeout_ms", 0)
        with pytest.raises(LabError, match="exit code|error"):
            fio.finish(job, 60)
    volume.wait_state("live")


@pytest.mark.allow_log("error, dev istripe", "the volume goes while its target is away")
@pytest.mark.timeout_s(600)
def test_disable_without_a_target(make_lio, make_volume, link):
    """Taking a volume down is bounded in time when the network is gone and I/O is waiting."""
    volume = make_volume(make_lio(params=NO_WAIT), path=QUICK, recovery_timeout_ms=-1)
    device = volume.enable()
    job = background(device, 120)
    with network.down(link):
        wait_for("the loss to be noticed", lambda: volume.state() != "live", 60)
        start = time.monotonic()
        volume.force_down()
        assert time.monotonic() - start < 45
        with pytest.raises(LabError, match="exit code|error"):
            fio.finish(job, 30)


@pytest.mark.timeout_s(600)
def test_other_lun_behind_the_same_address_is_refused(make_lio, make_volume):
    """After a reconnect the LUN is somebody else: the path is refused, no data are mixed up."""
    target = make_lio(lio.Lun(32 * MIB), params=NO_WAIT)
    volume = make_volume(target, path=QUICK)
    volume.enable()
    other = lio.Lun(32 * MIB, serial="another-identity")
    other.create()
    target.luns.append(other)
    target.enable(False)
    target.remove_lun(0)
    target.add_lun(0, other)
    target.enable(True)
    wait_for("the refusal", lambda: "naa." in read(volume.path_sysfs() / "last_error"), 60)
    assert volume.state() != "live"


@pytest.mark.timeout_s(600)
def test_tgtd_killed_and_started_again(make_tgt, make_volume):
    target = make_tgt(64 * MIB)
    volume = make_volume(target, path=QUICK)
    device = volume.enable()
    with fio.meanwhile(device, rw="read", bs="64k", size=64 * MIB, iodepth=4):
        luns, target.luns = target.luns, []
        target.destroy()
        time.sleep(2)
        for lun in luns:
            lun.create = lambda: None
        target.luns = luns
        target.create()
        wait_reconnects(volume, 1)


async def gone(run, conn, _what):
    if run.armed:
        conn.close()
    return run.armed


@pytest.mark.allow_log("no path for", "that is what the test is about")
@pytest.mark.allow_log("error, dev istripe|Buffer I/O error on dev istripe", "I/O fails then")
def test_an_outage_is_said_to_be_as_long_as_it_was(make_scripted, server, kernel_log):
    """Not as long as the setting says: a target may have been given more time, as here by hand."""
    volume, _ = make_scripted(Scenario("gone", hooks={"on_connect": gone}), recovery_timeout_ms=-1)
    volume.enable()
    server.arm()
    wait_for("a connection to break", lambda: network.kill_connections(port=server.port))
    state = volume.leg_sysfs(0) / "state"
    wait_for("the outage", lambda: read(state) == "waiting")
    time.sleep(3)
    write(volume.config / "recovery_timeout_ms", 1000)
    wait_for("its end", lambda: read(state) == "failed")
    said = wait_for("the message", lambda: kernel_log.matching("no path for [0-9]+ ms: I/O fails"))
    assert int(re.search("no path for ([0-9]+) ms", said[0]).group(1)) > 2900


#: What the target asks for, so that no setting has the same figure.
TIME2WAIT_S = 2
#: Longer than I/O waits.
TOO_LONG_S = 60


def now():
    return asyncio.get_running_loop().time()


async def note_connection(run, conn, what):
    run.memory.setdefault("connections", []).append(now())
    return False


def announces(event, response):
    """The first read is answered, and the target says that it wants the session to end. response:
    to the logout; after a good one Time2Wait says nothing.
    """

    async def on_command(run, conn, task):
        if task.opcode != READ_16 or not run.strike():
            return False
        run.memory["end"] = now()
        await run.target.execute(conn, task)
        if event == 1:
            await conn.tell(1, parameter3=60)
        else:
            await conn.tell(event, 0 if event == 3 else conn.cid, TIME2WAIT_S, 60)
            conn.close()
        return True

    async def on_logout(run, conn, pdu):
        # The end of the volume.
        if response is None:
            return False
        run.memory.setdefault("logouts", []).append(pdu.flags & 0x7F)
        await conn.send(Pdu(LOGOUT_RESPONSE, itt=pdu.itt, response=response,
                            time2wait=TIME2WAIT_S if response else TOO_LONG_S))
        return True

    return Scenario("announces", hooks={"on_connect": note_connection, "on_command": on_command,
                                        "on_logout": on_logout})


def test_answers_are_awaited_before_a_logout(make_scripted, server):
    """An array that moves sessions between its ports: nothing is lost, so nothing is reset, or sent twice."""
    writes, resets = [], []

    async def on_command(run, conn, task):
        if task.opcode != WRITE_16:
            return False
        writes.append(task.itt)
        if run.strike():
            await conn.tell(1, parameter3=20)
            await asyncio.sleep(1)
        return False

    async def on_tmf(_run, _conn, pdu):
        resets.append(pdu.flags)
        return False

    volume, _ = make_scripted(Scenario("wants a logout", hooks={"on_command": on_command,
                                                                "on_tmf": on_tmf}))
    with Direct(volume.enable()) as disk:
        server.arm()
        disk.write(0, noise(4096, 1))
        wait_for("another session", lambda: volume.reconnects() == 1, 30)
        works(disk, 2, 1)
    assert (len(set(writes)), resets) == (2, [])
    assert int(read(volume.sysfs() / "legs" / "0" / "redriven")) == 0


#: Commands that the target lets come at a time.
WINDOW = 4


def wait_queued(volume, held, reads, writes=0):
    """Until so many requests are in flight, and as many commands as the window has room for."""
    wanted = [str(reads), str(writes)]
    inflight = volume.sysfs().parent / "inflight"
    wait_for("the requests", lambda: len(held) == WINDOW and read(inflight).split() == wanted)


async def in_one_segment(conn, *steps):
    sock = conn.writer.get_extra_info("socket")
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
    for step in steps:
        await step
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 0)


def test_unsent_commands_do_not_await_the_logout(make_scripted, server):
    """The target wants a logout, and the LUN says that it has changed: nothing more is sent there.

    A write keeps the session. What waits behind it is served over the other path meanwhile.
    """
    held, events = [], []
    told, written = asyncio.Event(), asyncio.Event()

    async def on_command(run, conn, task):
        if task.opcode not in (READ_16, WRITE_16) or not run.armed:
            return False
        if told.is_set():
            events.append("same path" if conn is held[0].conn else "other path")
            return False
        held.append(task)
        await (written if task is held[0] else told).wait()
        return task is held[1]

    async def on_logout(_run, _conn, _pdu):
        events.append("logout")

    async def tell():
        conn = held[0].conn
        await in_one_segment(conn, conn.tell(1, parameter3=10), target.respond(
            conn, held[1], Result.check(6, 0x3F, 0x0E)))
        told.set()

    async def go_on():
        written.set()

    volume, target = make_scripted(
        Scenario("moves sessions", settings={"depth": WINDOW},
                 hooks={"on_command": on_command, "on_logout": on_logout}),
        paths=2, policy="failover")
    pool = ThreadPoolExecutor(17)
    with Direct(volume.enable()) as disk:
        wait_serving(volume)
        server.arm()
        writing = pool.submit(disk.write, 0, noise(4096, 1))
        wait_for("the write", lambda: held)
        reads = [pool.submit(disk.read, MIB + at * 4096, 4096) for at in range(16)]
        wait_queued(volume, held, 16, 1)
        server.call(tell())
        assert {each.result(60) for each in reads} == {bytes(4096)}
        server.call(go_on())
        writing.result(60)
        wait_for("another session", lambda: volume.reconnects() == 1, 60)
        works(disk, 2, 4)
    assert events.index("other path") < events.index("logout")


def test_no_command_follows_a_wanted_logout(make_scripted, server):
    """Not even when answers open the window for those that wait for it."""
    held, late = [], []
    answers = asyncio.Event()

    async def on_command(run, conn, task):
        if task.opcode == READ_16 and run.armed and (not held or conn is held[0].conn):
            (late if answers.is_set() else held).append(task)
            await answers.wait()
        return False

    async def answer():
        answers.set()

    volume, _ = make_scripted(Scenario("wants a logout", settings={"depth": WINDOW},
                                       hooks={"on_command": on_command}))
    pool = ThreadPoolExecutor(32)
    with Direct(volume.enable()) as disk:
        server.arm()
        reads = [pool.submit(disk.read, at * 4096, 4096) for at in range(32)]
        wait_queued(volume, held, 32)
        server.call(held[0].conn.tell(1, parameter3=20))
        wait_for("the end of the session", lambda: volume.state() != "live")
        # From then on it is only a moment until nothing is sent any more, unless a processor stands
        # still. The target waits for the logout for 20 s.
        time.sleep(5)
        server.call(answer())
        assert {each.result(60) for each in reads} == {bytes(4096)}
        wait_for("another session", lambda: volume.reconnects() == 1, 60)
    assert (len(held), late) == (WINDOW, [])


def waited_s(memory):
    """From the end of a session to the next connection. Logins that are late make more of them."""
    return min(at for at in memory["connections"] if at > memory["end"]) - memory["end"]


def test_dropped_while_it_logs_in(make_scripted, server):
    """The target drops the session that has just logged in: Time2Wait counts as for any other."""

    async def on_command(run, conn, task):
        if task.opcode != INQUIRY or not run.strike():
            return False
        run.memory["end"] = now()
        await conn.tell(3, 0, TIME2WAIT_S, 60)
        conn.close()
        return True

    volume, target = make_scripted(Scenario("drops it", hooks={"on_connect": note_connection,
                                                               "on_command": on_command}))
    volume.enable()
    server.arm()
    wait_for("a connection to break", lambda: network.kill_connections(port=server.port))
    wait_for("another session", lambda: volume.reconnects() >= 1, 60)
    assert sum(at < target.run.memory["end"] for at in target.run.memory["connections"]) >= 2
    assert waited_s(target.run.memory) > TIME2WAIT_S - 0.1


@pytest.mark.parametrize("event,response", [(1, 0), (1, 3), (2, None), (3, None)])
def test_the_target_says_when_to_come_back(make_scripted, server, reader, event, response):
    """Asynchronous messages that want the session to end: no I/O fails, and no login is too early.

    1 asks for a logout within Parameter3; if that fails (3) the answer has a Time2Wait. 2 and 3 drop
    one connection, or all, and have it in Parameter2. In open-iscsi these messages go to iscsid.
    """
    volume, target = make_scripted(announces(event, response), recovery_timeout_ms=20000)
    one = reader(volume.enable())
    server.arm()
    wait_for("another session", lambda: volume.reconnects() >= 1, 60)
    one.goes_on()
    memory = target.run.memory
    assert memory.get("logouts", []) == ([0] if event == 1 else [])
    # A tick earlier for the sake of rounding; as late as it likes.
    if response != 0:
        assert waited_s(memory) > TIME2WAIT_S - 0.1
    assert one.errors == []


def test_silence_begins_with_the_last_that_came(server, make_scripted):
    """Pings have no answers, but other news come in time: nothing is silent for ping_timeout_ms."""
    told = []

    async def talk(conn):
        for _ in range(6):
            await asyncio.sleep(2.5)
            await conn.tell_window()
            told.append(conn)

    async def on_nop(run, conn, _pdu):
        if not run.armed:
            return False
        if "talk" not in run.memory:
            run.memory["talk"] = asyncio.ensure_future(talk(conn))
        return True

    volume, _target = make_scripted(
        Scenario("says other things", hooks={"on_nop": on_nop}),
        path={"ping_interval_ms": 1000, "ping_timeout_ms": 10000})
    with Direct(volume.enable()) as disk:
        server.arm()
        wait_for("what the target says", lambda: len(told) == 6, 60)
        disk.read(0, 4 * KIB)
        assert read(volume.path_sysfs() / "faults") == "0"
        # Then nothing comes any more.
        wait_for("the loss", lambda: volume.reconnects() == 1 or
                 "silent for" in read(volume.path_sysfs() / "last_error"), 60)
        server.target.run.armed = False
        volume.wait_state("live")
