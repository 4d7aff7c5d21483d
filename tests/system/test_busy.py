# SPDX-License-Identifier: GPL-2.0
"""Targets that have no time: BUSY, TASK SET FULL and their like."""

import asyncio
import errno
import mmap
import os
import random
import threading
import time
from pathlib import Path

import pytest

from conftest import Size
from lab import fio, network
from lab.shell import read, run, udev_settle, wait_for, write
from scripted.scenario import Scenario, silence
from scripted.scsi import (
    BUSY,
    CHECK_CONDITION,
    READ_10,
    READ_16,
    SYNCHRONIZE_CACHE_16,
    TASK_ABORTED,
    TASK_SET_FULL,
    TEST_UNIT_READY,
    UNMAP,
    WRITE_10,
    WRITE_16,
    Result,
    descriptor_sense,
    fixed_sense,
    number,
)
from scripted.steps import becoming_ready

#: The stock initiator's writes of small disks are the shorter ones.
WRITES = (WRITE_10, WRITE_16)
#: How long a command is sent again to a target that is always busy, at least.
PATIENCE_S = 120


class Write(threading.Thread):
    """One write of 4 KiB through no cache."""

    def __init__(self, device):
        super().__init__(daemon=True)
        self.device = device
        self.error = 0
        self.took_s = None
        self.start()

    def run(self):
        fd = os.open(self.device, os.O_WRONLY | os.O_DIRECT)
        begun = time.monotonic()
        try:
            with mmap.mmap(-1, 4096) as data:
                os.pwrite(fd, data, 0)
        except OSError as err:
            self.error = err.errno
        finally:
            self.took_s = time.monotonic() - begun
            os.close(fd)

    def result(self, timeout_s):
        """0 or the number of the error."""
        self.join(timeout_s)
        assert not self.is_alive(), f"a write has not ended within {timeout_s} s"
        return self.error


async def lost_then_full(run, conn, task):
    """The first write is never answered; sent again, it is told that the task set is full."""
    if task.opcode not in WRITES or not run.strike():
        return False
    if run.hits == 1:
        await silence()
    await run.target.respond(conn, task, Result(TASK_SET_FULL))
    return True


async def always_busy(run, conn, task):
    if task.opcode not in WRITES or not run.strike():
        return False
    await run.target.respond(conn, task, Result(BUSY))
    return True


OUTAGE = Scenario("outage", times=2, hooks={"on_command": lost_then_full})


@pytest.mark.timeout_s(400)
@pytest.mark.allow_log("error, dev istripe", "the target that is always busy")
def test_patience_is_for_busy_targets_only(make_server, make_volume, stock, links, kernel_log):
    """An outage takes none of it; a target that is never anything but busy uses it up."""
    lost, kept = links
    servers = [make_server() for _ in range(3)]
    ours, theirs = (server.load(OUTAGE, identity=f"6001405{index:025x}")
                    for index, server in enumerate(servers[:2]))
    busy = servers[2].load(Scenario("busy", times=1 << 30, hooks={"on_command": always_busy}))
    # Six times that is no more than the least that a target is given.
    shared = {"command_timeout_ms": PATIENCE_S * 1000 // 6}
    device = make_volume(ours, recovery_timeout_ms=-1, **shared, path={
        "portal": f"{lost.address}:{servers[0].port}", "default_time2wait": 0}).enable()
    disk = stock.login(f"{lost.address}:{servers[1].port}", theirs.iqn, **{
        "node.session.timeo.replacement_timeout": "600"})
    never = make_volume(busy, recovery_timeout_ms=1000, **shared, path={
        "portal": f"{kept.address}:{servers[2].port}"}).enable()
    for server in servers:
        server.arm()
    writes = [Write(device), Write(disk)]
    failing = Write(never)
    wait_for("the writes", lambda: ours.run.hits and theirs.run.hits)
    with network.peer_down(lost):
        failing.join(PATIENCE_S + 5)
    assert [write.result(60) for write in writes] == [0, 0]
    assert min(write.took_s for write in writes) > PATIENCE_S
    assert (ours.run.hits, theirs.run.hits) == (2, 2)
    assert failing.result(60) == errno.EIO
    assert failing.took_s > PATIENCE_S
    assert kernel_log.matching("/0: .* busy for too long: given up")


def test_a_busy_target_is_told_of(server, make_volume, link, kernel_log):
    """Since when it takes nothing; once in the log, and once when it takes commands again."""
    target = server.load(Scenario("busy", times=1 << 30, hooks={"on_command": always_busy}))
    volume = make_volume(target, path={"portal": f"{link.address}:{server.port}"})
    device = volume.enable()
    busy_ms = volume.leg_sysfs(0) / "busy_ms"
    assert read(busy_ms) == "0"
    server.arm()
    writer = Write(device)
    wait_for("10 s", lambda: int(read(busy_ms)) > 10000, 30)
    wait_for("the message", lambda: kernel_log.matching("the LUN is busy"))
    time.sleep(2)
    assert len(kernel_log.matching("has taken no command")) == 1
    target.run.armed = False
    assert writer.result(20) == 0
    assert len(kernel_log.matching("takes commands again")) == 1
    assert read(busy_ms) == "0"


def test_quiet_is_not_busy(server, make_volume, link, kernel_log):
    """One command is refused, and another one after a time in which there was no I/O."""
    async def once(run, conn, task):
        refused = await always_busy(run, conn, task)
        run.armed &= not refused
        return refused

    target = server.load(Scenario("busy", times=2, hooks={"on_command": once}))
    volume = make_volume(target, path={"portal": f"{link.address}:{server.port}"})
    device = volume.enable()
    for _ in range(2):
        server.arm()
        assert Write(device).result(60) == 0
        time.sleep(12)
        assert read(volume.leg_sysfs(0) / "busy_ms") == "0"
    assert target.run.hits == 2
    assert not kernel_log.matching("the LUN is busy|takes commands again")


@pytest.mark.parametrize("ends", ["refused", "late"])
def test_an_outage_is_not_busy(server, make_volume, link, kernel_log, ends):
    """A command is refused, sent again, and lost with its path: the time until it is back is not the LUN's.

    Then it is refused once more, or is served late.
    """
    outage_s = 12

    async def on_connect(run, conn, _what):
        if time.monotonic() > run.memory.get("back", 0):
            return False
        conn.close()
        return True

    async def on_command(run, conn, task):
        if task.opcode not in WRITES or not run.strike():
            return False
        if run.hits == 2:
            run.memory["back"] = time.monotonic() + outage_s
            conn.reset()
            conn.close()
            return True
        if run.hits == 3 and ends == "late":
            await asyncio.sleep(3)
            return False
        await run.target.respond(conn, task, Result(BUSY))
        return True

    target = server.load(Scenario("outage of a busy one", times=3, hooks={
        "on_connect": on_connect, "on_command": on_command}))
    volume = make_volume(target, recovery_timeout_ms=-1, path={
        "portal": f"{link.address}:{server.port}", "default_time2wait": 0,
        "login_retry_max_ms": 1000})
    device = volume.enable()
    server.arm()
    writer = Write(device)
    wait_for("the outage", lambda: target.run.hits >= 2, 20)
    wait_for("the third try", lambda: target.run.hits == 3, 60)
    busy_ms = []
    while writer.is_alive():
        busy_ms.append(int(read(volume.leg_sysfs(0) / "busy_ms")))
        time.sleep(0.2)
    assert writer.result(1) == 0
    assert writer.took_s > outage_s and max(busy_ms, default=0) < outage_s * 1000
    assert not kernel_log.matching("the LUN is busy|takes commands again")


def test_busy_again_after_an_outage(server, make_volume, link, kernel_log):
    """It is told again, ten seconds after the path is back."""
    target = server.load(Scenario("busy", times=1 << 30, hooks={"on_command": always_busy}))
    volume = make_volume(target, recovery_timeout_ms=-1, path={
        "portal": f"{link.address}:{server.port}", "default_time2wait": 0})
    device = volume.enable()
    server.arm()
    writer = Write(device)
    wait_for("the message", lambda: kernel_log.matching("has taken no command"), 30)
    network.kill_connections(port=server.port)
    wait_for("the path", lambda: volume.reconnects() == 1, 60)
    wait_for("another one", lambda: len(kernel_log.matching("has taken no command")) == 2, 30)
    target.run.armed = False
    assert writer.result(20) == 0
    assert len(kernel_log.matching("takes commands again")) == 1


def test_becoming_ready_for_long(server, make_volume, link):
    """An array that has restarted: the session is there soon, the LUN later than all the patience."""
    times = 120
    target = server.load(Scenario("becoming ready", hooks=becoming_ready(TEST_UNIT_READY),
                                  times=times))
    volume = make_volume(target, recovery_timeout_ms=15000, path={
        "portal": f"{link.address}:{server.port}", "default_time2wait": 0,
        "login_timeout_ms": 6000})
    device = volume.enable()
    server.arm()
    network.kill_connections(port=server.port)
    assert Write(device).result(120) == 0
    assert target.run.hits == times
    assert volume.reconnects() == 1


@pytest.mark.allow_log("error, dev istripe", "the array is dead")
@pytest.mark.allow_log("no path for", "the array is dead")
def test_busy_and_then_dead(server, make_volume, link):
    """A busy array is given a minute, which ends when a login finds it anything but busy."""
    connects = []

    async def on_connect(run, conn, _what):
        if run.armed:
            connects.append(conn)
        if len(connects) <= 2:
            return False
        conn.close()
        return True

    async def on_command(run, conn, task):
        if task.opcode != TEST_UNIT_READY or not run.armed:
            return False
        await run.target.respond(conn, task, Result(BUSY))
        return True

    target = server.load(Scenario("busy, then dead", hooks={
        "on_connect": on_connect, "on_command": on_command}))
    # It is over while the second login finds the LUN busy.
    volume = make_volume(target, recovery_timeout_ms=6000, path={
        "portal": f"{link.address}:{server.port}", "default_time2wait": 0,
        "login_timeout_ms": 4000})
    device = volume.enable()
    server.arm()
    network.kill_connections(port=server.port)
    failing = Write(device)
    assert failing.result(120) == errno.ENOLINK
    assert len(connects) > 2 and failing.took_s < 45


#: Statuses, sense data and iSCSI responses that say that something went wrong which may pass.
PASSING = {
    "aborted command": (CHECK_CONDITION, fixed_sense(0xB, 0, 0), 0),
    "no sense": (CHECK_CONDITION, fixed_sense(0, 0, 0), 0),
    "no communication": (CHECK_CONDITION, fixed_sense(2, 8, 0), 0),
    "no sense data": (CHECK_CONDITION, b"", 0),
    "task aborted": (TASK_ABORTED, b"", 0),
    "target failure": (0, b"", 1),
}
SHORT_S = 1


async def short_of_memory(run, conn, task):
    """Each write gets the answer of the day for SHORT_S."""
    if task.opcode not in WRITES or not run.armed:
        return False
    now = asyncio.get_running_loop().time()
    if now > run.memory.setdefault("until", now + SHORT_S):
        return False
    status, sense, response = run.memory["answer"]
    run.hits += 1
    conn.session.tasks.pop(task.itt, None)
    await run.target.scsi_response(conn, task, Result(status, sense=sense), response=response)
    return True


def test_what_may_pass_is_given_time(server, make_volume, link):
    """A target that is short of memory for a moment costs no error, and few tries."""
    target = server.load(Scenario("short of memory", hooks={"on_command": short_of_memory}))
    volume = make_volume(target, path={"portal": f"{link.address}:{server.port}"})
    device = volume.enable()
    server.arm()
    for name, answer in PASSING.items():
        target.run.memory.clear()
        target.run.memory["answer"] = answer
        target.run.hits = 0
        assert (name, Write(device).result(60)) == (name, 0)
        assert 1 <= target.run.hits <= 8, name
    assert volume.reconnects() == 0


#: Sense data, and how many lines say that data may be lost.
DEFERRED = {
    "fixed": (fixed_sense(3, 0x0C, 0, deferred=True), 1),
    "descriptors": (descriptor_sense(3, 0x0C, 0, deferred=True), 1),
    # A vendor's format: nobody knows what it says.
    "vendor": (b"\x7f\x03\x0c" + bytes(15), 0),
}


async def deferred(run, conn, task):
    if task.opcode not in WRITES or not run.strike():
        return False
    await run.target.respond(conn, task, Result(CHECK_CONDITION, sense=run.memory["sense"]))
    return True


@pytest.mark.parametrize("sense", DEFERRED)
def test_deferred_errors_are_told(server, make_volume, link, kernel_log, sense):
    """Nobody else says that data are lost which were written earlier.

    The SCSI layer of Linux sends the command again without a word (scsi_check_sense()).
    """
    target = server.load(Scenario("deferred", hooks={"on_command": deferred}))
    target.run.memory["sense"], lines = DEFERRED[sense]
    volume = make_volume(target, path={"portal": f"{link.address}:{server.port}"})
    device = volume.enable()
    server.arm()
    assert Write(device).result(60) == 0
    assert target.run.hits == 1
    assert len(kernel_log.matching("deferred error, sense 3/0c/00: data")) == lines
    assert len(kernel_log.matching("deferred error")) == lines
    assert volume.reconnects() == 0


async def deferred_to_a_question(run, conn, task):
    if task.opcode != TEST_UNIT_READY or not run.strike():
        return False
    await run.target.respond(conn, task, Result(CHECK_CONDITION, sense=run.memory["sense"]))
    return True


def test_a_deferred_error_that_answers_a_question_is_told(server, make_volume, link, kernel_log):
    """The LUN reports it once, to whichever command comes next."""
    target = server.load(Scenario("deferred", hooks={"on_command": deferred_to_a_question}))
    target.run.memory["sense"], lines = DEFERRED["fixed"]
    volume = make_volume(target, path={"portal": f"{link.address}:{server.port}"})
    volume.enable()
    server.arm()
    volume.rescan()
    assert target.run.hits == 1
    assert len(kernel_log.matching("deferred error, sense 3/0c/00: data")) == lines
    assert volume.reconnects() == 0


DEPTH = 128
#: Reads, enough for one of them to be overtaken for several rounds, and how many in a second.
READS = 6 * DEPTH
RATE = 100
#: For a target with room for 8 of 64: they take 2 s.
BUSY_READS = 200


async def narrow(run, conn, task):
    """No more than so many reads at a time, and RATE in a second; the others are refused."""
    if task.opcode not in (READ_10, READ_16) or not run.armed:
        return False
    memory = run.memory
    if memory["running"] == memory["limit"]:
        memory["refused"] += 1
        await run.target.respond(conn, task, Result(memory["status"]))
        return True
    memory["running"] += 1
    try:
        await asyncio.sleep(memory["limit"] / RATE)
        memory["served"].append(number(task.cdb, 2, 8 if task.opcode == READ_16 else 4))
        await run.target.execute(conn, task)
    finally:
        memory["running"] -= 1
    return True


def narrow_target(server, limit, status=TASK_SET_FULL):
    target = server.load(Scenario("narrow", hooks={"on_command": narrow}, settings={"depth": 256}))
    target.run.memory.update(limit=limit, status=status, running=0, refused=0, served=[])
    return target


def no_merges(device):
    """A command for each request; and udev leaves the disk alone from now on."""
    write(f"/sys/class/block/{Path(device).resolve().name}/queue/nomerges", "2")
    udev_settle()


def unluckiest(who, server, target, device):
    """How long the unluckiest of READS reads waits, in services of the target, by its fair share.

    DEPTH reads are under way at any time, a new one for each that ends: were they served in their
    order, the next DEPTH services would have each of them done, its own the last. That is the
    share. A read that is served so many places behind its own has waited for so many more. fio
    issues them in the order of their blocks; the target notes in which order it serves them. So
    nothing depends on how fast the machine is.
    """
    no_merges(device)
    server.arm()
    latency = fio.run(device, rw="read", bs="4k", iodepth=DEPTH, size=READS * 4096,
                      offset="1m").jobs[0]["read"]["lat_ns"]
    target.run.armed = False
    memory = target.run.memory
    at = {lba: place for place, lba in enumerate(memory["served"])}
    assert len(at) == READS
    behind = max(at[lba] - place for place, lba in enumerate(sorted(at)))
    print(f"limit {memory['limit']}, {who}: {1 + behind / DEPTH:.2f} fair shares for the unluckiest "
          f"({latency['max'] / 1e9:.1f} s, mean {latency['mean'] / 1e9:.1f} s), refused "
          f"{memory['refused']} times for {len(memory['served'])} served")
    return 1 + behind / DEPTH


@pytest.mark.parametrize("limit", [4, 16, 32] if Size.full else [16])
def test_the_unluckiest_waits_for_a_fair_share(make_server, make_volume, stock, link, limit):
    """What is refused is not overtaken for ever, nor sent again and again. Beside it: open-iscsi."""
    servers = [make_server() for _ in range(2)]
    ours, theirs = (narrow_target(server, limit) for server in servers)
    volume = make_volume(ours, queue_depth=DEPTH,
                         path={"portal": f"{link.address}:{servers[0].port}"})
    share = unluckiest("istripe", servers[0], ours, volume.enable())
    disk = stock.login(f"{link.address}:{servers[1].port}", theirs.iqn, **{
        "node.session.queue_depth": DEPTH, "node.session.cmds_max": 2 * DEPTH})
    unluckiest("open-iscsi", servers[1], theirs, disk)
    assert share < 3
    assert ours.run.memory["refused"] < READS
    assert int(read(volume.leg_sysfs(0) / "retried")) == ours.run.memory["refused"]


def test_busy_is_a_limit_as_well(server, make_volume, link):
    """A target that says BUSY to what is too much for it: fewer commands are sent, none fails."""
    target = narrow_target(server, 8, BUSY)
    volume = make_volume(target, path={"portal": f"{link.address}:{server.port}"})
    device = volume.enable()
    no_merges(device)
    server.arm()
    fio.run(device, rw="randread", bs="4k", iodepth=64, size=BUSY_READS * 4096)
    target.run.armed = False
    memory = target.run.memory
    print(f"refused {memory['refused']} times for {len(memory['served'])} served")
    assert len(memory["served"]) == len(set(memory["served"])) == BUSY_READS
    # As many as were too many at first; then only what probing for more costs.
    assert 0 < memory["refused"] < BUSY_READS
    assert int(read(volume.leg_sysfs(0) / "retried")) == memory["refused"]
    assert int(read(volume.path_sysfs() / "retries")) == memory["refused"]
    assert volume.reconnects() == 0


#: Reads of a target whose queue other hosts fill, and the patience with them.
SHARED_READS = 3000
SHARED_S = 60


async def shared(run, conn, task):
    """Each read is refused with a probability of 0.5, however few are in flight."""
    if task.opcode not in (READ_10, READ_16) or not run.armed:
        return False
    if run.memory["random"].random() < 0.5:
        run.memory["refused"] += 1
        await run.target.respond(conn, task, Result(TASK_SET_FULL))
        return True
    run.memory["served"] += 1
    return False


def test_a_queue_that_other_hosts_fill(server, make_volume, link):
    """To send less would not help: the others take what this host leaves."""
    target = server.load(Scenario("shared", hooks={"on_command": shared},
                                  settings={"depth": 256}))
    target.run.memory.update(random=random.Random(1), refused=0, served=0)
    volume = make_volume(target, path={"portal": f"{link.address}:{server.port}"})
    device = volume.enable()
    no_merges(device)
    server.arm()
    fio.run(device, rw="randread", bs="4k", iodepth=32, size=SHARED_READS * 4096,
            runtime=SHARED_S)
    target.run.armed = False
    memory = target.run.memory
    print(f"refused {memory['refused']} times for {memory['served']} served")
    assert memory["served"] >= SHARED_READS
    assert memory["refused"] < 2 * memory["served"]
    assert volume.reconnects() == 0


FLUSH_TIMEOUT_S = 8


async def slow_flush(run, _conn, task):
    if task.opcode == SYNCHRONIZE_CACHE_16 and run.strike():
        await asyncio.sleep(2.5 * FLUSH_TIMEOUT_S)
    return False


@pytest.mark.allow_log("a flush has not been answered for", "that is said")
def test_a_flush_takes_longer(server, make_volume, link, kernel_log):
    """A cache may be large: a flush is not overdue when a read would be. The log tells of it."""
    target = server.load(Scenario("slow flush", hooks={"on_command": slow_flush}))
    device = make_volume(target, command_timeout_ms=FLUSH_TIMEOUT_S * 1000,
                         path={"portal": f"{link.address}:{server.port}"}).enable()
    server.arm()
    run("dd", "if=/dev/zero", f"of={device}", "oflag=direct", "conv=fsync", "bs=4k", "count=1")
    assert target.run.hits == 1
    assert kernel_log.matching("/0: a flush has not been answered for 1[0-9]{4} ms")
    assert not kernel_log.matching("has timed out: aborting")


async def slow_discard(run, _conn, task):
    if task.opcode == UNMAP and run.strike():
        await asyncio.sleep(60 * FLUSH_TIMEOUT_S)
    return False


@pytest.mark.allow_log("has timed out: aborting it", "the discard")
def test_a_discard_has_no_longer(server, make_volume, link):
    """As with sd."""
    target = server.load(Scenario("slow discard", hooks={"on_command": slow_discard}))
    device = make_volume(target, command_timeout_ms=FLUSH_TIMEOUT_S * 1000,
                         path={"portal": f"{link.address}:{server.port}"}).enable()
    server.arm()
    began = time.monotonic()
    run("blkdiscard", "-l", 1 << 20, device)
    assert time.monotonic() - began < 3 * FLUSH_TIMEOUT_S
    assert target.run.hits == 1
