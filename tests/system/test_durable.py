# SPDX-License-Identifier: GPL-2.0
"""What is acknowledged as durable is so at the target, whose disk loses what only its cache has."""

import asyncio
import concurrent.futures
import contextlib
import errno
import mmap
import os
import random
import subprocess
import time
from pathlib import Path

import pytest

from lab import network
from lab.aio import put_durably
from lab.connections import log_in_again
from lab.disk import Direct, noise, same
from lab.ghost import FAST, ISIDS, path_state, release, set_isids, volume_over
from lab.istripe import EnableError
from lab.shell import read, udev_settle_told, wait_for, write
from scripted.checks import LUN_RESET
from scripted.ghost import Gate, forgets, hold
from scripted.scenario import HONEST, Held, Scenario
from scripted.scsi import (
    BUSY,
    CHECK_CONDITION,
    MODE_SENSE_6,
    SYNCHRONIZE_CACHE_10,
    SYNCHRONIZE_CACHE_16,
    WRITE_16,
    Result,
    fixed_sense,
)
from scripted.volatile import VolatileDisk

KIB = 1 << 10
AT = 64 * KIB
#: A path is not lost before its cache would have been flushed.
PATIENCE = {"ping_interval_ms": 5000, "ping_timeout_ms": 20000}


@pytest.fixture
def volume(server, make_volume, link):
    server.load(HONEST, VolatileDisk)
    return make_volume(server.target, path={"portal": f"{link.address}:{server.port}"})


@pytest.fixture
def volatile(server, volume):
    """The disk, and the volume's device."""
    disk, device = server.target.disk, volume.enable()
    assert volume.queue("write_cache") == "write back"
    assert volume.queue("fua") == "1"
    return disk, device


def cut(disk):
    """Returns how many blocks are lost with the power."""
    return disk.cut(random.Random(1))


@pytest.mark.both
def test_fua(volatile):
    """A write that is to be durable says so itself, whatever is flushed after it."""
    disk, device = volatile
    data = noise(4 * KIB, 1)
    fd = os.open(device, os.O_RDWR | os.O_DIRECT | os.O_DSYNC)
    try:
        with mmap.mmap(-1, len(data)) as memory:
            memory[:] = data
            assert os.pwrite(fd, memory, AT) == len(data)
    finally:
        os.close(fd)
    assert disk.fua_writes == 1
    assert cut(disk) == 0
    same(bytes(disk.data[AT:AT + len(data)]), data, "what the target has")


@pytest.mark.both
def test_flush(volatile):
    """Without FUA a write is in the cache; the flush gets it out of there."""
    disk, device = volatile
    older, newer = noise(64 * KIB, 2), noise(64 * KIB, 3)
    with Direct(device) as volume:
        volume.write(AT, older)
        assert disk.cached and not disk.fua_writes
        volume.flush()
        assert not disk.cached
        volume.write(AT, newer)
        assert cut(disk) == len(newer) // disk.block_bytes
        same(volume.read(AT, len(older)), older, "what was read")


@pytest.mark.both
def test_down_flushes(volatile, volume):
    """As with sd, data that nobody has flushed survive the target's power when the disk has gone."""
    disk, device = volatile
    with Direct(device) as writer:
        writer.write(AT, noise(64 * KIB, 2))
    assert disk.cached
    volume.disable()
    assert cut(disk) == 0
    same(bytes(disk.data[AT:AT + 64 * KIB]), noise(64 * KIB, 2), "what the target has")


@pytest.mark.parametrize("others", [0, 1], ids=["alone", "beside"])
def test_down_waits_for_a_lost_path(make_server, make_volume, links, kernel_log, others):
    """That may log in at any moment. Beside it there may be a path that cannot flush."""
    refused, gate = Scenario("fails", times=1 << 20, hooks={"on_command": fails_flushes}), Gate()
    servers = [make_server() for _ in range(1 + others)]
    lun = servers[0].load(Scenario("comes", hooks=gate.hooks), VolatileDisk).disk
    for server in servers[1:]:
        server.load(refused).disk = lun
        server.target.run.memory["sense"] = 2, 4, 3
    volume = volume_over(make_volume, links[:1 + others], [server.port for server in servers],
                         servers[0].target, path={**FAST, "login_retry_max_ms": 1000})
    set_isids(volume, 1 + others)
    device = volume.enable()
    disk_at = Path("/sys/block") / device.name
    wait_for("all paths", lambda: read(volume.leg_sysfs(0) / "state") == "live", 60)
    with Direct(device) as disk:
        disk.write(AT, noise(64 * KIB, 1))
    assert lun.cached
    # It reads what has been closed.
    udev_settle_told()
    for server in servers[1:]:
        server.arm()
    gate.close(servers[0], ISIDS[0])
    with concurrent.futures.ThreadPoolExecutor() as pool:
        down = pool.submit(volume.disable)
        wait_for("the end of the disk", lambda: not disk_at.exists())
        gate.open(ISIDS[0])
        down.result(60)
    assert cut(lun) == 0
    assert not kernel_log.matching(f"{volume.name}: .*is not flushed")


async def fails_flushes(run, conn, task):
    if task.opcode not in (SYNCHRONIZE_CACHE_10, SYNCHRONIZE_CACHE_16) or not run.strike():
        return False
    await run.target.respond(conn, task, Result(CHECK_CONDITION,
                                                sense=fixed_sense(*run.memory["sense"])))
    return True


def test_down_cannot_flush(server, make_volume, link, kernel_log):
    """Nobody was promised that these data survive: the disk goes, and the log says so."""
    target = server.load(Scenario("fails", times=1, hooks={"on_command": fails_flushes}))
    target.run.memory["sense"] = 3, 0x0C, 0x00
    volume = make_volume(target, path={"portal": f"{link.address}:{server.port}"})
    with Direct(volume.enable()) as disk:
        disk.write(0, noise(4 * KIB, 1))
    server.arm()
    volume.disable()
    assert target.run.hits == 1
    assert kernel_log.matching(f"{volume.name}: leg 0.*: its write cache is not flushed")


def test_down_flushes_when_it_is_killed(server, make_volume, link):
    """Whoever takes the volume down gets no second chance: the disk is gone."""
    target = server.load(Scenario("ghost", hooks={"on_command": hold}), VolatileDisk)
    volume = make_volume(target, path={"portal": f"{link.address}:{server.port}"})
    fd = os.open(volume.enable(), os.O_RDWR)
    try:
        server.arm()
        os.pwrite(fd, noise(64 * KIB, 2), AT)
        with subprocess.Popen(["sh", "-c", f"echo force >{volume.config}/enable"]) as down:
            wait_for("the last write", lambda: "event" in target.run.memory, 60)
            down.kill()
            release(server, target)
    finally:
        os.close(fd)
    assert not volume.enabled()
    assert cut(target.disk) == 0
    same(bytes(target.disk.data[AT:AT + 64 * KIB]), noise(64 * KIB, 2), "what the target has")


def test_down_flushes_what_it_can(make_server, make_volume, links, kernel_log):
    """A leg that no path leads to any more keeps no other one from it."""
    servers = [make_server() for _ in links]
    lost, good = (server.load(HONEST, VolatileDisk, identity=f"6001405{index:025x}")
                  for index, server in enumerate(servers))
    legs = [{**FAST, "portal": f"{link.address}:{server.port}", "nic": link.nic,
             "target_name": server.target.iqn, "lun": 0} for link, server in zip(links, servers)]
    volume = make_volume(lost, path=legs[0], more_legs=legs[1:], chunk_bytes=64 * KIB)
    with Direct(volume.enable()) as disk:
        disk.write(0, noise(256 * KIB, 1))
    assert good.disk.cached
    # It reads what has been closed.
    udev_settle_told()
    with network.down(links[0]):
        wait_for("the loss", lambda: read(volume.leg_sysfs(0) / "state") != "live", 60)
        volume.disable()
    assert cut(good.disk) == 0
    assert kernel_log.matching(f"{volume.name}: leg 0: .*: its write cache is not flushed")
    assert not kernel_log.matching(f"{volume.name}: leg 1.*: its write cache is not flushed")


def test_down_while_flushes_hang(make_server, make_volume, links, kernel_log):
    """Legs and paths do not add up: 15 s for all, and the leg that answers is flushed."""
    servers = [make_server() for _ in range(4)]
    held = [Held(SYNCHRONIZE_CACHE_16) for _ in servers[:3]]
    scenarios = [*(Scenario("holds", hooks={"on_command": each.on_command}) for each in held), HONEST]
    for index, (server, scenario) in enumerate(zip(servers, scenarios)):
        server.load(scenario, VolatileDisk, identity=f"6001405{index:025x}")
    paths = [[{**PATIENCE, "portal": f"{link.address}:{server.port}", "nic": link.nic, "lun": 0,
               "target_name": server.target.iqn, "connections": 2} for link in links]
             for server in servers]
    volume = make_volume(servers[0].target, path=paths[0][0],
                         more_legs=[leg[0] for leg in paths[1:]], chunk_bytes=64 * KIB)
    for leg, (_, second) in enumerate(paths):
        volume.add_path(1, second, leg)
    with Direct(volume.enable()) as disk:
        disk.write(0, noise(256 * KIB, 1))
    good = servers[3].target.disk
    assert good.cached
    for server in servers:
        server.arm()
    start = time.monotonic()
    volume.disable()
    assert time.monotonic() - start < 40
    for server, each in zip(servers, held):
        assert len(each.tasks) == len(links)
        server.call(each.release())
    assert cut(good) == 0
    for leg in range(4):
        lines = kernel_log.matching(f"{volume.name}: leg {leg}.*: its write cache is not flushed")
        assert len(lines) == (leg < 3)


def flushed_at_down(server, make_volume, links, kernel_log, before_it):
    """The ISIDs over which a disk that goes is flushed. Each waits for before_it(isid), which may return
    an answer instead, or the iSCSI response of a target that has failed.
    """
    asked = []

    async def on_command(run, conn, task):
        if task.opcode == SYNCHRONIZE_CACHE_16 and run.armed:
            asked.append(conn.session.isid.hex())
            result = await before_it(asked[-1])
            if isinstance(result, int):
                conn.session.tasks.pop(task.itt)
                await run.target.scsi_response(conn, task, Result(), response=result)
            elif result:
                await run.target.respond(conn, task, result)
            return result is not None
        return False

    target = server.load(Scenario("holds", hooks={"on_command": on_command}), VolatileDisk)
    volume = volume_over(make_volume, links, [server.port] * len(links), target,
                         path={**FAST, **PATIENCE})
    set_isids(volume, len(links))
    with Direct(volume.enable()) as disk:
        wait_for("all paths", lambda: read(volume.leg_sysfs(0) / "state") == "live", 60)
        disk.write(AT, noise(64 * KIB, 1))
    assert target.disk.cached
    server.arm()
    volume.disable()
    assert cut(target.disk) == 0
    assert not kernel_log.matching(f"{volume.name}: .*is not flushed")
    return asked


def test_down_flushes_over_the_other_path(server, make_volume, links, kernel_log):
    """The first path answers pings and no flush: that is asked for over the second one in time."""

    async def hold_first(isid):
        if isid == ISIDS[0]:
            await asyncio.Event().wait()

    assert flushed_at_down(server, make_volume, links, kernel_log, hold_first) == ISIDS[:2]


@pytest.mark.parametrize("result", [Result.check(2, 4, 3), Result(BUSY), 1],
                         ids=["intervention", "busy", "target-failure"])
def test_down_flushes_over_the_path_that_can(server, make_volume, links, kernel_log, result):
    """Nothing is under way over the first path: the second one is asked in time."""

    async def refuse_first(isid):
        return result if isid == ISIDS[0] else None

    asked = flushed_at_down(server, make_volume, links, kernel_log, refuse_first)
    assert set(asked[:-1]) == {ISIDS[0]} and asked[-1] == ISIDS[1]


@pytest.mark.parametrize("sense", [(3, 0x0C, 0), (2, 8, 0)], ids=["medium", "backend"])
def test_down_asks_no_other_path_for_what_is_lost(make_server, make_volume, links, kernel_log,
                                                  sense):
    """It is told once: the next flush would be GOOD, and hide it."""
    servers = [make_server() for _ in links]
    for server in servers:
        server.load(Scenario("fails", times=1, hooks={"on_command": fails_flushes}))
        server.target.run.memory["sense"] = sense
        server.target.disk.data = servers[0].target.disk.data
    volume = volume_over(make_volume, links, [server.port for server in servers],
                         servers[0].target, path=FAST)
    with Direct(volume.enable()) as disk:
        wait_for("all paths", lambda: read(volume.leg_sysfs(0) / "state") == "live", 60)
        disk.write(0, noise(4 * KIB, 1))
    for server in servers:
        server.arm()
    volume.disable()
    assert [server.target.run.hits for server in servers] == [1, 0]
    assert servers[1].target.disk.flushes == 0
    assert kernel_log.matching(f"{volume.name}: leg 0.*: its write cache is not flushed")


def test_down_waits_for_a_slow_flush(server, make_volume, links, kernel_log):
    """No session is cut off while half of the time is left, however many paths there are."""

    async def slowly(_isid):
        await asyncio.sleep(6)

    asked = flushed_at_down(server, make_volume, [*links, links[0]], kernel_log, slowly)
    assert asked == ISIDS[:1]


def test_down_flushes_while_lost_sessions_end(server, make_volume, links, kernel_log):
    """Both of a path: each login resets the LUN, which ends the flush over the other path."""
    lost, back, asked, resets, going = [], [], [], [], []

    def first(conn):
        return conn.writer.get_extra_info("sockname")[0] == links[0].address

    async def on_command(run, conn, task):
        if task.opcode == WRITE_16 and run.armed and first(conn) and conn.session.isid not in lost:
            lost.append(conn.session.isid)
            conn.reset()
            return True
        if task.opcode == SYNCHRONIZE_CACHE_16 and going:
            asked.append(first(conn))
            if len(back) < len(lost):
                back.append(sorted(lost)[len(back)])
                await asyncio.Event().wait()
        return False

    async def on_login(_run, conn, pdu):
        if first(conn) and pdu.isid in lost and pdu.isid not in back:
            conn.reset()
            return True
        return False

    async def on_tmf(run, conn, pdu):
        resets.extend([True] * (pdu.flags & 0x7F == LUN_RESET))
        return await forgets(run, conn, pdu)

    target = server.load(Scenario("ends", hooks={"on_command": on_command, "on_login": on_login,
                                                 "on_tmf": on_tmf}), VolatileDisk)
    volume = volume_over(make_volume, links[:2], [server.port] * 2, target, fence="path",
                         fence_timeout_ms=1000,
                         path={**FAST, **PATIENCE, "login_retry_max_ms": 1000})
    write(volume.path / "connections", 2)
    with Direct(volume.enable()) as disk:
        wait_for("all paths", lambda: read(volume.leg_sysfs(0) / "state") == "live", 60)
        server.arm()
        # Its sessions may take turns.
        for at in range(AT, AT + 64 * KIB, 4 * KIB):
            disk.write(at, noise(4 * KIB, at))
        assert len(lost) == 2 and not resets
    assert target.disk.cached
    udev_settle_told()
    going.append(True)
    volume.disable()
    assert asked == [False] * 3 and len(resets) == 2
    assert cut(target.disk) == 0
    assert not kernel_log.matching(f"{volume.name}: .*is not flushed")


#: Sense data, how often one leg says so, and what fsync() comes to.
FLUSHES = [
    ((3, 0x0C, 0x00), 1, errno.ENODATA),
    ((4, 0x44, 0x00), 1, errno.EREMOTEIO),
    ((5, 0x24, 0x00), 1, 0),            # the shorter command is tried
    ((5, 0x20, 0x00), 2, errno.EREMOTEIO),      # and refused, too
    ((2, 0x04, 0x01), 5, 0),            # becoming ready
    ((2, 0x04, 0x03), 3, 0),            # as with dm-multipath; sd alone: EIO
    # LIO's flush has failed, or SPDK's, and the next one would not: EIO with sd alone.
    ((2, 0x08, 0x00), 1, errno.ENODATA),
    ((0x0B, 0x00, 0x00), 1, errno.ENODATA),
    ((0x0B, 0x47, 0x05), 1, 0),         # a CRC error
    # Of an earlier command: data that were acknowledged.
    ((4, 0x44, 0x00, None, True), 1, errno.ENODATA),
]


@pytest.mark.allow_log("error, dev istripe", "a flush that fails")
@pytest.mark.parametrize("sense,times,number", FLUSHES)
def test_one_leg_fails_to_flush(make_server, make_volume, link, sense, times, number):
    """What one of two legs cannot do is not done; what may pass, or be done otherwise, is.

    sd: EIO for the medium error, after it has sent the command again; EREMOTEIO for the illegal
    request, as it does not try the other command; it goes on while the LUN is becoming ready.
    """
    servers = [make_server() for _ in range(2)]
    scenario = Scenario("fails", times=times, hooks={"on_command": fails_flushes})
    good, bad = (server.load(scenario if index else HONEST, identity=f"6001405{index:025x}")
                 for index, server in enumerate(servers))
    bad.run.memory["sense"] = sense
    legs = [{"portal": f"{link.address}:{server.port}", "target_name": server.target.iqn, "lun": 0}
            for server in servers]
    volume = make_volume(good, path=legs[0], more_legs=legs[1:])
    device = volume.enable()
    flushed = good.disk.flushes, bad.disk.flushes
    servers[1].arm()
    with Direct(device) as disk:
        disk.write(0, noise(256 * KIB, 1))
        assert error_of(disk.flush) == number
        assert bad.run.hits == times
        assert good.disk.flushes == flushed[0] + 1
        assert bad.disk.flushes == flushed[1] + (not number)
        assert error_of(disk.flush) == 0
        assert bad.disk.flushes > flushed[1]
        same(disk.read(0, 256 * KIB), noise(256 * KIB, 1), "what was read")
    assert [read(volume.path_sysfs(leg) / "reconnects") for leg in (0, 1)] == ["0", "0"]


def error_of(call):
    try:
        call()
    except OSError as err:
        return err.errno
    return 0


def refuses(*opcodes):
    """The target knows none of these commands."""

    async def hook(run, conn, task):
        if task.opcode not in opcodes:
            return False
        run.strike()
        await run.target.respond(conn, task, Result.check(5, 0x20, 0))
        return True

    return Scenario("refuses", hooks={"on_command": hook}, times=10000, armed=True)


@pytest.fixture
def volume_refusing(server, make_volume, link):
    def make(*opcodes, **options):
        target = server.load(refuses(*opcodes))
        return make_volume(target, path={"portal": f"{link.address}:{server.port}"}, **options)

    return make


@pytest.mark.both
def test_a_lun_that_does_not_know_caches(volume_refusing, server, kernel_log):
    """Neither the mode page nor a command to flush one. sd assumes that there is none.

    The first flush finds out, and the log says so.
    """
    volume = volume_refusing(MODE_SENSE_6, SYNCHRONIZE_CACHE_10, SYNCHRONIZE_CACHE_16)
    with Direct(volume.enable()) as disk:
        disk.write(0, noise(4 * KIB, 1))
        disk.flush()
        hits = server.target.run.hits
        disk.flush()
        same(disk.read(0, 4 * KIB), noise(4 * KIB, 1), "what was read")
    assert server.target.run.hits == hits
    assert len(kernel_log.matching(f"{volume.name}/0: .*it is not flushed")) == 1


def test_a_cache_that_goes(server, make_volume, link):
    """The LUN knows no flush then, and nothing needs one. The cache comes again, and is flushed."""
    refused = []

    async def hook(run, conn, task):
        flushes = task.opcode in (SYNCHRONIZE_CACHE_10, SYNCHRONIZE_CACHE_16)
        if not flushes or run.target.disk.write_cache:
            return False
        refused.append(task.opcode)
        await run.target.respond(conn, task, Result.check(5, 0x20, 0))
        return True

    target = server.load(Scenario("cache", hooks={"on_command": hook}))
    volume = make_volume(target, path={"portal": f"{link.address}:{server.port}"})
    lun = target.disk
    with Direct(volume.enable()) as disk:
        disk.write(0, noise(4 * KIB, 1))
        disk.flush()
        for on in (False, True, False):
            lun.write_cache = on
            lun.attentions.append((6, 0x2A, 1))
            with contextlib.suppress(OSError):
                volume.rescan()
            before = lun.flushes
            refused.clear()
            disk.write(0, noise(4 * KIB, 2))
            disk.flush()
            assert lun.flushes == before + on
            assert on or SYNCHRONIZE_CACHE_10 in refused


def switch(lun, on):
    """As LIO does, whose LUNs without a cache do not know FUA."""
    lun.write_cache = lun.dpofua = on


@pytest.mark.parametrize("asked", [False, True], ids=["login", "rescan"])
def test_a_cache_is_off_for_a_while(volatile, volume, server, asked):
    """What is written before the driver knows that it is on again is in the cache; that is flushed."""
    lun, device = volatile
    with Direct(device) as disk:
        switch(lun, False)
        volume.rescan()
        put_durably(disk.fd, 0, noise(4096, 1))
        assert not lun.cached and not lun.fua_writes
        switch(lun, True)
        put_durably(disk.fd, 4096, noise(4096, 2))
        assert lun.cached and not lun.fua_writes
        if asked:
            volume.rescan()
        else:
            log_in_again(volume, server.port)
        put_durably(disk.fd, 8192, noise(4096, 3))
        assert cut(lun) == 0 and lun.fua_writes == 1
        for seed in range(1, 4):
            same(disk.read((seed - 1) * 4096, 4096), noise(4096, seed), "what was read")
        assert lun.flushes == 1
        log_in_again(volume, server.port)
        assert lun.flushes == 1
    assert volume.reconnects() == (1 if asked else 2)


def test_one_path_knows_that_the_cache_is_on_again(make_server, make_volume, links):
    """What was written before is flushed, and each write over the other one, until that asks, too."""
    seen, let_go = [], asyncio.Event()

    def notes(index):
        async def hook(run, conn, task):
            if task.opcode == MODE_SENSE_6 and run.armed:
                await let_go.wait()
            if task.opcode in (WRITE_16, SYNCHRONIZE_CACHE_16):
                seen.append((index, task.opcode, bool(task.cdb[1] & 8)))
            return False
        return hook

    async def go_on():
        let_go.set()

    def writes(disk):
        seen.clear()
        for at in range(8):
            put_durably(disk.fd, at * 4096, noise(4096, at))
            # So that neither writes alone nor writes and flushes go over one path.
            if not at % 3:
                same(disk.read(at * 4096, 4096), noise(4096, at), "what was read")
        return [(index, fua) for index, opcode, fua in seen if opcode == WRITE_16]

    servers = [make_server(), make_server()]
    for index, server in enumerate(servers):
        server.load(Scenario("cache", hooks={"on_command": notes(index)}))
    servers[1].target.disk.data = servers[0].target.disk.data
    volume = volume_over(make_volume, links, [server.port for server in servers],
                         servers[0].target, path=FAST, metadata="none", policy="round-robin")
    device = volume.enable()
    wait_for("both paths", lambda: path_state(volume, 0) == path_state(volume, 1) == "live")
    with Direct(device) as disk:
        for server in servers:
            switch(server.target.disk, False)
        volume.rescan()
        assert not any(fua for _, fua in writes(disk))
        assert SYNCHRONIZE_CACHE_16 not in [opcode for _, opcode, _ in seen]
        for server in servers:
            switch(server.target.disk, True)
        servers[0].arm()
        seen.clear()
        assert network.kill_connections(port=servers[1].port)
        wait_for("the path", lambda: read(volume.path_sysfs(0, 1) / "reconnects") == "1" and
                 path_state(volume, 1) == "live", 60)
        assert seen == [(1, SYNCHRONIZE_CACHE_16, False)]
        assert set(writes(disk)) == {(0, False), (1, True)}
        for at, (_, opcode, fua) in enumerate(seen):
            assert fua or opcode != WRITE_16 or seen[at + 1][1] == SYNCHRONIZE_CACHE_16
        servers[0].call(go_on())
        wait_for("FUA", lambda: set(writes(disk)) == {(0, True), (1, True)}, 60)
        assert {opcode for _, opcode, _ in seen} == {WRITE_16}
    assert [path_state(volume, path) for path in range(2)] == ["live", "live"]


def test_superblocks_are_flushed_with_the_shorter_command(volume_refusing, server):
    volume = volume_refusing(SYNCHRONIZE_CACHE_16, metadata="md")
    write(volume.config / "metadata_create", 1)
    volume.enable()
    assert server.target.disk.flushes and server.target.run.hits


def test_superblocks_of_a_lun_that_does_not_know_caches(volume_refusing):
    volume = volume_refusing(MODE_SENSE_6, SYNCHRONIZE_CACHE_10, SYNCHRONIZE_CACHE_16,
                             metadata="md")
    write(volume.config / "metadata_create", 1)
    assert volume.enable()


@pytest.mark.parametrize("sense", [(5, 0x20, 0), (3, 0x0C, 0)])
def test_superblocks_that_cannot_be_flushed(server, make_volume, link, sense):
    """A medium error is told once: no other command may make it good."""
    scenario = Scenario("fails", times=2 if sense[0] == 5 else 1, armed=True,
                        hooks={"on_command": fails_flushes})
    target = server.load(scenario)
    target.run.memory["sense"] = sense
    volume = make_volume(target, metadata="md",
                         path={"portal": f"{link.address}:{server.port}"})
    write(volume.config / "metadata_create", 1)
    with pytest.raises(EnableError, match="cannot flush its cache: "):
        volume.enable()
