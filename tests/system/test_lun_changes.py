# SPDX-License-Identifier: GPL-2.0
"""A LUN that answers otherwise than it did, or than it does over another path: it is used all the same
where no data depend on it.

The SCSI disk driver asks each path's LUN for itself, and dm-multipath takes what all of them have.
"""

import asyncio
import contextlib
import errno
import mmap
import os
import random
import threading
import time
from pathlib import Path

import pytest

from conftest import MIB
from lab import network
from lab.connections import log_in_again
from lab.disk import Direct, noise, same, works
from lab.ghost import Write, path_state, volume_over
from lab.istripe import EnableError
from lab.shell import read, run, status, wait_for, write
from scripted.scenario import HONEST, Scenario
from scripted.scsi import (
    CHECK_CONDITION,
    INQUIRY,
    MODE_SENSE_6,
    READ_16,
    RESERVATION_CONFLICT,
    SYNCHRONIZE_CACHE_10,
    SYNCHRONIZE_CACHE_16,
    UNMAP,
    WRITE_16,
    WRITE_SAME_16,
    Result,
    fixed_sense,
    number,
)
from scripted.volatile import VolatileDisk

PATH = {"default_time2wait": 0, "login_timeout_ms": 10000, "login_retry_max_ms": 1000}
ONCE_MORE_S = 60
HINTS = (UNMAP, WRITE_SAME_16)


@pytest.fixture
def one_path(server, link, make_volume):
    """one_path(scenario, **disk): a volume over the scripted target, and its disk."""
    def make(scenario=HONEST, **disk):
        target = server.load(scenario, **disk)
        volume = make_volume(target, metadata="none",
                             path={**PATH, "portal": f"{link.address}:{server.port}"})
        return volume, target.disk

    return make


def test_unmap_comes(one_path, server):
    """The path is used; the disk goes on to offer what it has offered."""
    volume, lun = one_path(provisioning=0)
    with Direct(volume.enable()) as disk:
        assert volume.queue("discard_max_bytes") == "0"
        lun.provisioning = 0xE0
        log_in_again(volume, server.port)
        works(disk, 1)


@pytest.mark.allow_log("not supported by the target", "what the LUN does not know any more")
@pytest.mark.allow_log("error, dev istripe", "the discard")
def test_unmap_goes(one_path, server):
    """A discard is a hint, and zeroes can be written: the LUN says that it knows neither."""
    scenario = Scenario("no UNMAP", times=1 << 20, hooks={"on_command": refuses(HINTS, 5, 0x20, 0)})
    volume, lun = one_path(scenario)
    device = volume.enable()
    with Direct(device) as disk:
        assert volume.queue("discard_max_bytes") != "0"
        lun.provisioning = 0
        server.arm()
        log_in_again(volume, server.port)
        works(disk, 1)
        # The second one does not reach the target.
        for _ in range(2):
            assert status("blkdiscard", "-l", MIB, device)[0]
            assert volume.queue("discard_max_bytes") == "0"
        assert server.target.run.hits == 1
        run("blkdiscard", "--zeroout", "-l", MIB, device)
        assert not any(disk.read(0, MIB))


def same_when_unmapped(volume, unmaps):
    """Newer kernels have limits of their own for zeroes that give up the blocks."""
    own = "write_zeroes_unmap_max_hw_bytes", "write_zeroes_unmap_max_bytes"
    zeroes = volume.queue("write_zeroes_max_bytes")
    for name in own:
        if (Path("/sys/block") / volume.device() / "queue" / name).exists():
            assert volume.queue(name) == (zeroes if unmaps else "0")


def noting_unmaps(flags, then=None):
    """Each WRITE SAME adds whether it has UNMAP."""
    async def hook(run, conn, task):
        if task.opcode == WRITE_SAME_16:
            flags.append(bool(task.cdb[1] & 8))
        return then and await then(run, conn, task)

    return Scenario("zeroes", hooks={"on_command": hook})


# As sd: READ CAPACITY(16) is believed.
@pytest.mark.parametrize("provisioning, thin, unmaps", [(0xE0, 0xC0, True), (0x80, 0xC0, False),
                         (0xC4, 0x80, False), (0xC4, 0, False), (0xC4, 0x40, False)])
def test_zeroes_by_unmap(one_path, provisioning, thin, unmaps):
    """What such zeroes do, the disk tells: WRITE SAME with UNMAP, if the LUN reads zeroes then."""
    flags = []
    volume, lun = one_path(noting_unmaps(flags), provisioning=provisioning, thin=thin)
    device = volume.enable()
    same_when_unmapped(volume, unmaps)
    run("fallocate", "-p", "-l", MIB, device)
    run("blkdiscard", "--zeroout", "-o", MIB, "-l", MIB, device)
    assert flags == [unmaps, False] and not any(lun.data[:2 * MIB])


def test_unmapped_blocks_read_zeroes_no_more(one_path, server):
    """The array has moved the LUN: zeroes are written, from its next answer on."""
    flags = []
    volume, lun = one_path(noting_unmaps(flags))
    device = volume.enable()
    run("fallocate", "-p", "-l", MIB, device)
    lun.thin = 0x80
    log_in_again(volume, server.port)
    same_when_unmapped(volume, False)
    run("fallocate", "-p", "-l", MIB, device)
    assert flags == [True, False] and volume.queue("write_zeroes_max_bytes") != "0"


def test_zeroes_on_the_way(one_path, server):
    """The very WRITE SAME that is told of the change is sent without UNMAP in the end."""
    flags = []

    async def moved(run, conn, task):
        if task.opcode != WRITE_SAME_16 or not run.strike():
            return False
        run.target.disk.thin = 0x80
        await run.target.respond(conn, task, Result.check(6, 0x2A, 1))
        return True

    volume, lun = one_path(noting_unmaps(flags, moved))
    device = volume.enable()
    lun.data[:MIB] = noise(MIB, 1)
    server.arm()
    run("fallocate", "-p", "-l", MIB, device)
    assert flags[0] and not flags[-1] and not any(lun.data[:MIB])


@pytest.mark.parametrize("other", [0, 1])
def test_one_path_has_other_zeroes(make_server, make_volume, links, other):
    """What one of two paths does not say does not hold, whichever it is."""
    flags, servers = [], [make_server(), make_server()]
    for index, server in enumerate(servers):
        server.load(noting_unmaps(flags), thin=0x80 if index == other else 0xC0)
    servers[1].target.disk.data = servers[0].target.disk.data
    volume = volume_over(make_volume, links, [server.port for server in servers],
                         servers[0].target, path=PATH, metadata="none", policy="round-robin")
    device = volume.enable()
    same_when_unmapped(volume, False)
    for at in range(4):
        run("fallocate", "-p", "-o", at * MIB, "-l", MIB, device)
    assert flags == [False] * 4


@pytest.mark.allow_log("not supported by the target", "WRITE SAME")
@pytest.mark.allow_log("error, dev istripe", "the first of them")
def test_write_same_refused(one_path, server):
    """Offered and refused: the disk does not offer it any more, until the volume has been down."""
    scenario = Scenario("no WRITE SAME", times=1 << 20, hooks={"on_command": refuses(HINTS, 5, 0x20, 0)})
    volume, _ = one_path(scenario)
    device = volume.enable()
    server.arm()
    with Direct(device) as disk:
        assert volume.queue("write_zeroes_max_bytes") != "0"
        for _ in range(2):
            works(disk, 1)
            run("blkdiscard", "--zeroout", "-l", MIB, device)
            assert not any(disk.read(0, MIB))
            assert volume.queue("write_zeroes_max_bytes") == "0"
            same_when_unmapped(volume, True)
            assert server.target.run.hits == 1
            log_in_again(volume, server.port)
        assert volume.queue("discard_max_bytes") != "0"
    volume.disable()
    server.target.run.armed = False
    volume.enable()
    assert volume.queue("write_zeroes_max_bytes") != "0"


def is_known_as(volume, name, disk, server, link, make_volume):
    """By a second path, and by another volume, which finds another name: it is the same LUN."""
    portal = f"{link.address}:{server.port}"
    write(volume.add_path(1, {**volume.path_settings, "portal": portal}) / "enable", 1)
    wait_for("the second path", lambda: path_state(volume, 1) == "live")
    works(disk, 2)
    assert read(volume.leg_sysfs(0) / "designator") == name
    other = make_volume(server.target, metadata="none", path={**PATH, "portal": portal})
    with pytest.raises(EnableError, match=f"which is leg 0 of volume {volume.name} already"):
        other.enable()
    return other


def test_a_better_designator(one_path, server, make_volume, links):
    """New firmware of an array: the leg goes on by the one that it is known by, on all paths."""
    volume, lun = one_path(designators=("t10",))
    with Direct(volume.enable()) as disk:
        name = read(volume.leg_sysfs(0) / "designator")
        assert name.startswith("t10.ISTRIPE ")
        lun.designators = ("naa", "t10")
        log_in_again(volume, server.port)
        works(disk, 1)
        other = is_known_as(volume, name, disk, server, links[1], make_volume)
    volume.disable()
    other.enable()
    assert read(other.leg_sysfs(0) / "designator") == f"naa.{lun.naa.hex()}"
    other.disable()
    write(volume.leg / "designator", name)
    volume.enable()
    assert read(volume.leg_sysfs(0) / "designator") == name
    volume.disable()


def test_page_83h_comes(one_path, server, make_volume, links):
    """New firmware of an array whose LUNs had serial numbers only: the leg goes on by that."""
    volume, lun = one_path(without=(0x83,))
    with Direct(volume.enable()) as disk:
        name = read(volume.leg_sysfs(0) / "designator")
        assert name.startswith("serial.ISTRIPE.")
        lun.without = ()
        log_in_again(volume, server.port)
        works(disk, 1)
        # Which a second path could not do as long as there was only the number.
        is_known_as(volume, name, disk, server, links[1], make_volume)
    volume.disable()
    # A file of the volume may have the number.
    write(volume.leg / "designator", name)
    volume.enable()
    assert read(volume.leg_sysfs(0) / "designator") == name
    volume.disable()
    write(volume.leg / "designator", f"{name}0")
    with pytest.raises(EnableError, match="answers here: path not used"):
        volume.enable()


@pytest.mark.parametrize("before,after", [(0, 65535), (131072, 65535), (0, 16384)])
def test_a_limit_that_no_request_reaches(one_path, server, before, after):
    """LIO tells that of its backend, which may be another one behind another node."""
    volume, lun = one_path(max_transfer=before)
    with Direct(volume.enable()) as disk:
        lun.max_transfer = after
        volume.rescan()
        log_in_again(volume, server.port)
        works(disk, 1)


def test_a_cache_is_switched_off(make_server, make_volume, links):
    """LIO does not know FUA then, and refuses it; the other path has both for a while."""
    fua = [[], []]

    def counts(index):
        async def hook(run, conn, task):
            if task.opcode != WRITE_16:
                return False
            known = run.target.disk.write_cache
            fua[index].append(bool(task.cdb[1] & 8))
            if task.cdb[1] & 8 and not known:
                await run.target.collect(conn, task)
                await run.target.respond(conn, task, Result.check(5, 0x24, 0))
                return True
            return False
        return hook

    servers = [make_server(), make_server()]
    for index, server in enumerate(servers):
        server.load(Scenario("cache", hooks={"on_command": counts(index)}))
    servers[1].target.disk.data = servers[0].target.disk.data
    volume = volume_over(make_volume, links, [server.port for server in servers],
                         servers[0].target, path=PATH, metadata="none", policy="round-robin")
    device = volume.enable()
    disks = [server.target.disk for server in servers]
    wait_for("both paths", lambda: path_state(volume, 0) == path_state(volume, 1) == "live")
    fd = os.open(device, os.O_RDWR | os.O_DIRECT | os.O_DSYNC)
    try:
        with mmap.mmap(-1, 4096) as memory:
            for off in (0, 1, 2):
                for disk in disks[:off]:
                    disk.write_cache = disk.dpofua = False
                if off:
                    volume.rescan()
                for each in fua:
                    each.clear()
                # One flush or two may follow a write: reads let writes go over both paths.
                for at in range(48):
                    assert os.pwrite(fd, memory, at * 4096) == 4096
                    for _ in range(at % 4):
                        assert os.preadv(fd, [memory], at * 4096) == 4096
                assert [set(each) for each in fua] == [{off < 1}, {off < 2}]
    finally:
        os.close(fd)
    assert [path_state(volume, path) for path in range(2)] == ["live", "live"]


@pytest.mark.parametrize("told", [True, False])
def test_a_cache_is_switched_on(one_path, server, told):
    """The disk was made without one, as was all that is above it: each write is durable by itself."""
    fua, flushes = [], []

    async def hook(run, conn, task):
        if task.opcode == WRITE_16:
            fua.append(bool(task.cdb[1] & 8))
        elif task.opcode == SYNCHRONIZE_CACHE_16:
            flushes.append(len(fua))
        return False

    volume, lun = one_path(Scenario("cache", hooks={"on_command": hook}), write_cache=False)
    device = volume.enable()
    with Direct(device) as disk:
        works(disk, 1)
        assert fua and not any(fua)
        fua.clear()
        lun.write_cache = True
        if told:
            lun.attentions.append((6, 0x2A, 1))
            # Its session ends: what is queued without FUA is sent again.
            with contextlib.suppress(OSError):
                volume.rescan()
        else:
            log_in_again(volume, server.port)
        works(disk, 1)
        # What may have been written meanwhile.
        assert flushes == [0]
        assert fua and all(fua)
        # WRITE SAME has no FUA bit.
        run("blkdiscard", "--zeroout", "-l", MIB, device)
        assert not any(disk.read(0, MIB)) and all(fua)
        assert len(flushes) == 2
    assert volume.queue("write_cache") == "write through"


FLUSHING = (SYNCHRONIZE_CACHE_10, SYNCHRONIZE_CACHE_16)


@pytest.mark.parametrize("refuses_flushes", [False, True], ids=["flushes", "refuses"])
@pytest.mark.parametrize("dpofua", [False, True], ids=["plain", "fua"])
def test_a_cache_that_came_goes_again(one_path, server, dpofua, refuses_flushes):
    """There is nothing to flush then, and the LUN may know no such command. It comes once more."""
    seen = []

    async def hook(run, conn, task):
        if task.opcode in (WRITE_16, *FLUSHING):
            seen.append((task.opcode, bool(task.cdb[1] & 8)))
        if task.opcode not in FLUSHING or not refuses_flushes or run.target.disk.write_cache:
            return False
        await run.target.respond(conn, task, Result.check(5, 0x20, 0))
        return True

    def writes(disk, seed):
        seen.clear()
        disk.write(0, noise(4096, seed))
        return seen

    volume, lun = one_path(Scenario("cache", hooks={"on_command": hook}), write_cache=False)
    lun.dpofua = False
    device = volume.enable()
    reconnects = volume.path_sysfs(0, 0) / "reconnects"
    with Direct(device) as disk:
        for seed in range(4):
            before, on = int(read(reconnects)), not seed % 2
            lun.write_cache, lun.dpofua = on, on and dpofua
            lun.attentions.append((6, 0x2A, 1))
            with contextlib.suppress(OSError):
                volume.rescan()
            # What was neither flushed nor sent with FUA meanwhile, a login flushes.
            wait_for("the path", lambda before=before, on=on: path_state(volume) == "live" and
                     int(read(reconnects)) == before + on, ONCE_MORE_S)
            assert writes(disk, seed) == [(WRITE_16, on and dpofua)] + (
                [(SYNCHRONIZE_CACHE_16, False)] if on and not dpofua else [])
        log_in_again(volume, server.port)
        assert writes(disk, 4) == [(WRITE_16, False)]


@pytest.fixture
def without_fua(one_path, server):
    """without_fua(hook): a device, and its LUN, whose cache has been switched on, and loses data."""
    def make(hook=None, **scenario):
        hooks = {"on_command": hook} if hook else {}
        volume, lun = one_path(Scenario("cache", hooks=hooks, **scenario), kind=VolatileDisk,
                               write_cache=False)
        lun.dpofua = False
        device = volume.enable()
        lun.write_cache = True
        log_in_again(volume, server.port)
        server.arm()
        return device, lun

    return make


def lasts(lun, at, data):
    """The power fails, and the LUN still has these data, without FUA."""
    assert lun.cut(random.Random(1)) == 0
    same(bytes(lun.data[at:at + len(data)]), data, "what the target has")
    assert not lun.fua_writes


def test_a_cache_without_fua(without_fua):
    """What is acknowledged has left the cache."""
    device, lun = without_fua()
    with Direct(device) as disk:
        for seed in range(4):
            data = noise(16 * 4096, seed)
            disk.write(seed * 4096, data)
            lasts(lun, seed * 4096, data)
    run("blkdiscard", "--zeroout", "-l", MIB, device)
    lasts(lun, 0, bytes(MIB))


#: Sense data of a flush behind a write, how often, and what the write comes to.
FLUSHES = [((3, 0x0C, 0), 1, errno.ENODATA), ((4, 0x44, 0), 1, errno.EREMOTEIO),
           ((5, 0x20, 0), 2, errno.EREMOTEIO), ((5, 0x20, 0), 1, 0), ((2, 4, 1), 3, 0),
           ((6, 0x29, 0), 2, 0), ((0xB, 0, 0), 1, errno.ENODATA), ((0xB, 0x47, 5), 3, 0)]


@pytest.mark.allow_log("error, dev istripe", "a write that is not flushed")
@pytest.mark.allow_log("command 0x|status 0x", "what the target says")
@pytest.mark.parametrize("sense,times,number", FLUSHES)
def test_a_flush_behind_a_write_fails(without_fua, server, sense, times, number):
    """So does the write, unless the target thinks better of it."""
    device, lun = without_fua(
        refuses((SYNCHRONIZE_CACHE_10, SYNCHRONIZE_CACHE_16), *sense), times=times)
    with Direct(device) as disk:
        data = noise(4096, 1)
        if number:
            with pytest.raises(OSError) as failed:
                disk.write(0, data)
            assert failed.value.errno == number
        else:
            disk.write(0, data)
            lasts(lun, 0, data)
        assert server.target.run.hits == times
        disk.write(0, noise(4096, 2))
        lasts(lun, 0, noise(4096, 2))


def writes_again(device, lun, server):
    """The hook has lost what was in the cache."""
    with Direct(device) as disk:
        disk.write(0, noise(4096, 1))
        assert server.target.run.hits == 1 and lun.dropped
        lasts(lun, 0, noise(4096, 1))


def test_the_power_fails_between_write_and_flush(without_fua, server):
    """A later flush would be good, and the data gone: they are written again."""
    async def hook(run, conn, task):
        if task.opcode != SYNCHRONIZE_CACHE_16 or not run.strike():
            return False
        for each in list(run.target.connections):
            each.reset()
            each.close()
        assert run.target.disk.cut(random.Random(1))
        return True

    writes_again(*without_fua(hook), server)


def test_a_disk_behind_the_target_is_reset(without_fua, server):
    """The session stays, and the cache is lost: its flush is told so. The data are written again."""
    async def hook(run, conn, task):
        if task.opcode != SYNCHRONIZE_CACHE_16 or not run.strike():
            return False
        assert run.target.disk.cut(random.Random(1))
        await run.target.respond(conn, task, Result.check(6, 0x29, 1))
        return True

    writes_again(*without_fua(hook), server)


def test_a_cache_goes_between_write_and_flush(without_fua, server):
    """The LUN tells the flush so, and knows none any more: the write is good."""
    async def hook(run, conn, task):
        if task.opcode not in FLUSHING or not run.armed:
            return False
        sense = (5, 0x20, 0)
        if run.strike():
            run.target.disk.flush()
            run.target.disk.write_cache = False
            sense = (6, 0x2A, 1)
        await run.target.respond(conn, task, Result.check(*sense))
        return True

    device, lun = without_fua(hook)
    with Direct(device) as disk:
        disk.write(0, noise(4096, 1))
        lasts(lun, 0, noise(4096, 1))
        assert server.target.run.hits == 1


def loses(lun, block):
    """The medium does not take what the cache has of this block."""
    at = block * lun.block_bytes
    lun.data[at:at + lun.block_bytes] = lun.cached.pop(block)


@pytest.mark.allow_log("error, dev istripe", "the write whose flush is told of the loss")
@pytest.mark.allow_log("command 0x|status 0x", "what the target says")
@pytest.mark.parametrize("sense", [(3, 0x0C, 0), (4, 0x44, 0)])
def test_a_flush_is_told_of_another_writes_loss(without_fua, server, sense):
    """Its own write fails; the other one, whose flush is good, is written again with its data."""
    blocks, flushes = [], []
    first, second, over = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def hook(run, conn, task):
        if task.opcode == WRITE_16 and run.armed:
            blocks.append(number(task.cdb, 2, 8))
        if task.opcode != SYNCHRONIZE_CACHE_16 or not run.strike():
            return False
        flushes.append(task)
        await (first if len(flushes) == 1 else second).wait()
        if task is flushes[1]:
            return False
        loses(run.target.disk, 8)
        await run.target.respond(conn, task, Result.check(*sense))
        over.set()
        return True

    async def go_on(event):
        event.set()

    device, lun = without_fua(hook, times=2)
    with Direct(device) as disk:
        writers = []
        for index in range(2):
            writers.append(Write(disk, index * 4096, noise(4096, index)))
            wait_for("its flush", lambda index=index: len(flushes) == index + 1, ONCE_MORE_S)
        server.call(go_on(first))
        server.call(over.wait())
        writers[0].join(ONCE_MORE_S)
        assert not writers[0].is_alive() and not writers[0].good
        server.call(go_on(second))
        writers[1].finish()
        assert blocks == [0, 8, 8]
        lasts(lun, 4096, noise(4096, 1))


@pytest.mark.allow_log("reports a deferred error", "what the target says")
def test_a_deferred_error_between_write_and_flush(without_fua, server):
    """In answer to a read: the flush would be good, and the data are not there."""
    blocks, flushes = [], []
    told = asyncio.Event()

    async def hook(run, conn, task):
        if task.opcode == WRITE_16 and run.armed:
            blocks.append(number(task.cdb, 2, 8))
        if task.opcode == SYNCHRONIZE_CACHE_16 and not flushes and run.armed:
            flushes.append(task)
            await told.wait()
        if task.opcode != READ_16 or not flushes or not run.strike():
            return False
        loses(run.target.disk, 0)
        sense = fixed_sense(3, 0x0C, 0, deferred=True)
        await run.target.respond(conn, task, Result(CHECK_CONDITION, sense=sense))
        return True

    async def go_on():
        told.set()

    device, lun = without_fua(hook)
    with Direct(device) as disk:
        writer = Write(disk, 0, noise(4096, 1))
        wait_for("its flush", lambda: flushes, ONCE_MORE_S)
        assert len(disk.read(MIB, 4096)) == 4096
        assert server.target.run.hits == 1
        server.call(go_on())
        writer.finish()
        assert blocks == [0, 0]
        lasts(lun, 0, noise(4096, 1))


def test_a_path_that_does_not_tell(make_server, make_volume, links, kernel_log):
    """Whether there is a cache: it alone is out, and nothing is flushed over the others."""
    seen = set()

    async def no_page(run, conn, task):
        refused = task.opcode == MODE_SENSE_6 and run.armed
        if refused:
            await run.target.respond(conn, task, Result.check(5, 0x24, 0))
        return refused

    async def counts(run, conn, task):
        seen.add(task.opcode)
        return False

    servers = [make_server(), make_server()]
    for server, hook in zip(servers, (counts, no_page)):
        server.load(Scenario("cache", hooks={"on_command": hook}), write_cache=False)
    servers[1].target.disk.data = servers[0].target.disk.data
    for server in servers:
        server.target.disk.dpofua = False
    volume = volume_over(make_volume, links, [server.port for server in servers],
                         servers[0].target, path=PATH, metadata="none", policy="round-robin")
    device = volume.enable()
    wait_for("both paths", lambda: path_state(volume, 0) == path_state(volume, 1) == "live")
    servers[1].arm()
    assert network.kill_connections(port=servers[1].port)
    wait_for("the reason", lambda: kernel_log.matching(
        "has no write cache, and the LUN does not say so over this path"), ONCE_MORE_S)
    with Direct(device) as disk:
        works(disk, 1)
    assert path_state(volume, 0) == "live" and path_state(volume, 1) != "live"
    assert not seen & {SYNCHRONIZE_CACHE_10, SYNCHRONIZE_CACHE_16}


@pytest.mark.parametrize("before", [False, True])
def test_a_cache_that_one_path_has_told_of(make_server, make_volume, links, before):
    """Writes over the other one, which has not been asked since, are flushed, too.

    Without FUA, even if the LUN has known that before.
    """
    seen, where = [], set()

    def counts(index):
        async def hook(run, conn, task):
            if task.opcode in (WRITE_16, SYNCHRONIZE_CACHE_16):
                seen.append(task.opcode)
                where.add((index, task.opcode))
                assert not task.cdb[1] & 8
            return False
        return hook

    servers = [make_server(), make_server()]
    for index, server in enumerate(servers):
        server.load(Scenario("cache", hooks={"on_command": counts(index)}), write_cache=False)
        server.target.disk.dpofua = before
    servers[1].target.disk.data = servers[0].target.disk.data
    volume = volume_over(make_volume, links, [server.port for server in servers],
                         servers[0].target, path=PATH, metadata="none", policy="round-robin")
    device = volume.enable()
    wait_for("both paths", lambda: path_state(volume, 0) == path_state(volume, 1) == "live")
    for server in servers:
        server.target.disk.write_cache, server.target.disk.dpofua = True, False
    assert network.kill_connections(port=servers[1].port)
    wait_for("the path", lambda: read(volume.path_sysfs(0, 1) / "reconnects") == "1" and
             read(volume.sysfs() / "state") == "live", ONCE_MORE_S)
    seen.clear()
    where.clear()
    with Direct(device) as disk:
        for count in range(1, 9):
            disk.write(count * 4096, noise(4096, count))
            assert seen == [WRITE_16, SYNCHRONIZE_CACHE_16] * count
            disk.read(count * 4096, 4096)
    assert {(0, WRITE_16), (1, WRITE_16)} <= where


def test_a_cache_of_one_of_two_legs(make_server, make_volume, link):
    """Only that one is flushed."""
    servers = [make_server(), make_server()]
    for index, server in enumerate(servers):
        server.load(HONEST, write_cache=False, identity=f"6001405{index:025x}")
        server.target.disk.dpofua = False
    legs = [{**PATH, "portal": f"{link.address}:{server.port}", "lun": 0,
             "target_name": server.target.iqn} for server in servers]
    volume = make_volume(servers[0].target, path=legs[0], more_legs=legs[1:])
    device = volume.enable()
    luns = [server.target.disk for server in servers]
    luns[1].write_cache = True
    luns[1].attentions.append((6, 0x2A, 1))
    with contextlib.suppress(OSError):
        volume.rescan()
    wait_for("the path", lambda: read(volume.path_sysfs(1) / "reconnects") == "1" and
             read(volume.sysfs() / "state") == "live", ONCE_MORE_S)
    before = [lun.flushes for lun in luns]
    with Direct(device) as disk:
        disk.write(0, noise(MIB, 1))
        same(disk.read(0, MIB), noise(MIB, 1), "what was read")
    assert luns[0].flushes == before[0] and luns[1].flushes > before[1]


def test_warnings_of_the_target(one_path, kernel_log):
    """They end no command; the administrator is told once, before writes fail."""
    volume, lun = one_path()
    with Direct(volume.enable()) as disk:
        lun.attentions += [(6, 0x38, 7), (6, 0x5D, 0x10)]
        works(disk, 1)
    assert kernel_log.matching("the thin LUN has reached its soft threshold: give its pool space")
    assert kernel_log.matching("the target predicts a failure, sense 6/5d/10: see the log")


def refuses(opcodes, *sense):
    """A hook: CHECK CONDITION to these commands when all of their data are there."""
    async def hook(run, conn, task):
        if task.opcode not in opcodes or not run.strike():
            return False
        await run.target.collect(conn, task)
        await run.target.respond(conn, task, Result.check(*sense))
        return True

    return hook


@pytest.mark.allow_log("not supported by the target", "what the LUN takes less of")
@pytest.mark.allow_log("error, dev istripe", "the discard")
@pytest.mark.parametrize("asc", [0x1A, 0x26])
def test_a_discard_that_is_too_long(one_path, server, asc):
    """The LUN takes some, but not that much: no success, or ext4 would not trim there again."""
    volume, _ = one_path(Scenario("less", hooks={"on_command": refuses((UNMAP,), 5, asc, 0)}))
    device = volume.enable()
    server.arm()
    code, text = status("blkdiscard", "-l", MIB, device)
    assert code and "Remote I/O error" in text
    run("blkdiscard", "-l", MIB, device)


#: (how a disk of one LUN clears blocks, the LUN's limit of it, the disk's)
CLEARING = (((), "max_unmap", "discard_max_bytes"),
            (("--zeroout",), "max_write_same", "write_zeroes_max_bytes"))


@pytest.mark.parametrize("words, most, bytes_most", CLEARING, ids=["unmap", "write-same"])
@pytest.mark.parametrize("asked", [False, True], ids=["login", "rescan"])
def test_a_lun_takes_shorter_ones(one_path, server, words, most, bytes_most, asked):
    """As with a rescan of sd the disk sends no longer ones; what it has lowered stays so."""
    volume, lun = one_path()
    device = volume.enable()
    assert int(volume.queue(bytes_most)) == 8192 * 512
    for blocks, goes in (2048, 2048), (8192, 2048), (0, 2048), (1024, 1024):
        setattr(lun, most, blocks)
        if asked:
            volume.rescan()
        else:
            log_in_again(volume, server.port)
        assert int(volume.queue(bytes_most)) == goes * 512
        same_when_unmapped(volume, True)
        if not blocks:
            continue
        with Direct(device) as disk:
            works(disk, blocks)
        lun.cleared.clear()
        run("blkdiscard", *words, "-l", 4 * MIB, device)
        assert not any(lun.data[:4 * MIB])
        assert sum(lun.cleared) == 8192 and max(lun.cleared) == goes


@pytest.mark.allow_log("not supported by the target", "what the LUN takes less of")
@pytest.mark.allow_log("error, dev istripe", "the discard")
@pytest.mark.parametrize("asc", [0x24, 0x26])
def test_a_discard_of_before_is_too_long(one_path, server, asc):
    """It was on its way when the LUN began to take less: the next ones are shorter, but sent."""
    async def hook(run, conn, task):
        if task.opcode != UNMAP or not run.strike():
            return False
        if run.hits == 1:
            run.target.disk.max_unmap = 2048
            conn.reset()
            conn.close()
            return True
        await run.target.collect(conn, task)
        await run.target.respond(conn, task, Result.check(5, asc, 0))
        return True

    volume, lun = one_path(Scenario("less", times=2, hooks={"on_command": hook}))
    device = volume.enable()
    server.arm()
    code, text = status("blkdiscard", "-l", 4 * MIB, device)
    assert code and "Remote I/O error" in text
    assert server.target.run.hits == 2
    assert int(volume.queue("discard_max_bytes")) == 2048 * 512
    run("blkdiscard", "-l", 4 * MIB, device)
    assert sum(lun.cleared) == 8192 and max(lun.cleared) == 2048


@pytest.mark.allow_log("not supported by the target", "what the LUN takes less of")
@pytest.mark.allow_log("error, dev istripe", "the discard")
def test_another_limit_is_being_changed(one_path, server):
    """Newer kernels copy all limits, wait for the end of I/O, and set them as they were."""
    held = []
    let_go = asyncio.Event()

    async def hook(run, conn, task):
        if task.opcode == READ_16 and run.strike():
            held.append(task)
            await let_go.wait()
        return False

    async def go_on():
        let_go.set()

    volume, lun = one_path(Scenario("less", hooks={"on_command": hook}))
    device = volume.enable()
    server.arm()
    limit = Path("/sys/block") / volume.device() / "queue" / "max_sectors_kb"
    with Direct(device) as disk:
        reading = threading.Thread(target=disk.read, args=(0, 4096))
        reading.start()
        wait_for("the read", lambda: held, ONCE_MORE_S)
        setting = threading.Thread(target=write, args=(limit, 64))
        setting.start()
        time.sleep(2)
        lun.max_unmap = 2048
        volume.rescan()
        server.call(go_on())
        for thread in reading, setting:
            thread.join(ONCE_MORE_S)
            assert not thread.is_alive()
    # Only what has gone by the old limit is refused.
    status("blkdiscard", "-l", 4 * MIB, device)
    assert int(volume.queue("discard_max_bytes")) == 2048 * 512
    lun.cleared.clear()
    run("blkdiscard", "-l", 4 * MIB, device)
    assert sum(lun.cleared) == 8192 and max(lun.cleared) == 2048


def test_shorter_than_the_granularity(one_path, server):
    """The kernel cuts no discard if the limit is less than the granularity."""
    volume, lun = one_path(unmap_granularity=32)
    device = volume.enable()
    assert int(volume.queue("discard_granularity")) == 32 * 512
    lun.max_unmap = 16
    log_in_again(volume, server.port)
    run("blkdiscard", "-l", MIB, device)
    assert sum(lun.cleared) == 2048 and max(lun.cleared) == 16


@pytest.mark.parametrize("bits", [2, 4], ids=["underflow", "overflow"])
def test_parameters_that_are_not_counted(one_path, bits):
    """Of UNMAP and WRITE SAME a target may say that no byte went to the medium, or more: sd knows."""
    async def hook(run, conn, task):
        if task.opcode not in (UNMAP, WRITE_SAME_16):
            return False
        await run.target.collect(conn, task)
        result = run.target.disk.execute(task.cdb, task.buffer)
        conn.session.tasks.pop(task.itt)
        await run.target.scsi_response(conn, task, result, (bits, task.edtl))
        return True

    volume, lun = one_path(Scenario("counts none", hooks={"on_command": hook}))
    device = volume.enable()
    with Direct(device) as disk:
        works(disk, 1)
        assert any(lun.data[:MIB])
        run("blkdiscard", "-l", MIB // 2, device)
        run("blkdiscard", "--zeroout", "-o", MIB // 2, "-l", MIB // 2, device)
        assert not any(lun.data[:MIB])


@pytest.mark.parametrize("late", [0, 1])
@pytest.mark.parametrize("less", [{"max_transfer": 64}, {"size_bytes": 8 * MIB},
                                  {"write_cache": True}, {"max_unmap": 2048},
                                  {"max_write_same": 2048}],
                         ids=["transfer", "size", "cache", "unmap", "write-same"])
def test_two_paths_differ(make_server, make_volume, links, late, less):
    """The volume has what holds over both, whichever was the first to log in."""
    async def slowly(_run, _conn, task):
        await asyncio.sleep(0.5 * (task.opcode == INQUIRY))
        return False

    servers = [make_server(), make_server()]
    more = {"max_transfer": 128, "size_bytes": 16 * MIB, "write_cache": False, "max_unmap": 8192,
            "max_write_same": 8192}
    for index, server in enumerate(servers):
        hooks = {"on_command": slowly} if index == late else {}
        server.load(Scenario("differs", hooks=hooks), **{**more, **(less if index else {})})
    if "size_bytes" not in less:
        servers[1].target.disk.data = servers[0].target.disk.data
    volume = volume_over(make_volume, links, [server.port for server in servers],
                         servers[0].target, path=PATH, metadata="none", policy="round-robin")
    device = volume.enable()
    with Direct(device) as disk:
        assert int(volume.queue("max_hw_sectors_kb")) == less.get("max_transfer", 128) // 2
        assert volume.size_bytes() == less.get("size_bytes", 16 * MIB)
        assert volume.queue("write_cache") == ("write back" if "write_cache" in less else
                                               "write through")
        for _, most, bytes_most in CLEARING:
            assert int(volume.queue(bytes_most)) == less.get(most, 8192) * 512
        assert [path_state(volume, path) for path in range(2)] == ["live", "live"]
        if "size_bytes" not in less:
            works(disk, 1)
            for words, _, _ in CLEARING:
                run("blkdiscard", *words, device)
            assert all(server.target.disk.cleared for server in servers)


@pytest.mark.parametrize("answer, once_more",
                         [(Result(RESERVATION_CONFLICT), 0), (Result.check(4, 0x44, 0), 1)],
                         ids=["conflict", "hardware"])
def test_a_question_fails_once(one_path, server, kernel_log, answer, once_more):
    """
    What the LUN did not say is not what it has: a cache that nobody would flush. While another
    host has reserved it, it has what it had.
    """
    async def hook(run, conn, task):
        if task.opcode != MODE_SENSE_6 or not run.strike():
            return False
        await run.target.respond(conn, task, answer)
        return True

    volume, _ = one_path(Scenario("fails once", hooks={"on_command": hook}), write_cache=False)
    with Direct(volume.enable()) as disk:
        server.arm()
        log_in_again(volume, server.port)
        assert server.target.run.hits == 1
        told = kernel_log.matching("the LUN has not answered all questions about itself")
        assert bool(told) == bool(once_more)
        works(disk, 1)


@pytest.mark.parametrize("times", [2, 5])
def test_a_write_error_that_passes(one_path, server, times):
    """sd sends it again, and dm-multipath over another path."""
    volume, _ = one_path(Scenario("write error", times=times,
                                  hooks={"on_command": refuses((WRITE_16,), 3, 0x0C, 2)}))
    with Direct(volume.enable()) as disk:
        server.arm()
        works(disk, 1, 2)
        assert server.target.run.hits == times


@pytest.mark.allow_log("error, dev istripe", "the read")
@pytest.mark.allow_log("medium error", "what the target says")
def test_data_that_are_lost(one_path, server):
    """An unrecovered read error is one at once, as for sd."""
    async def hook(run, conn, task):
        if task.opcode == INQUIRY or not run.strike():
            return False
        await run.target.respond(conn, task, Result.check(3, 0x11, 0))
        return True

    volume, _ = one_path(Scenario("lost", hooks={"on_command": hook}))
    with Direct(volume.enable()) as disk:
        server.arm()
        with pytest.raises(OSError) as failed:
            disk.read(0, 4096)
        assert failed.value.errno == errno.ENODATA
        assert server.target.run.hits == 1


def flat(number):
    return number if number < 256 else 0x4000 | number


@pytest.mark.parametrize("number", [200, 590])
def test_a_list_of_600_luns(server, link, make_volume, number):
    """It is longer than what is read of it: INQUIRY tells."""
    target = server.load(HONEST, addresses=[flat(each) for each in range(600)])
    path = {"portal": f"{link.address}:{server.port}", "lun": number}
    volume = make_volume(target, metadata="none", path=path)
    with Direct(volume.enable()) as disk:
        works(disk, 1)
    volume.disable()
