# SPDX-License-Identifier: GPL-2.0
"""LUNs that grow, and shrink, under a volume that is in use.

Linux's own target says nothing by itself when a LUN has grown: it is asked (rescan), or found to
have grown at a login. The scripted target has unit attentions.
"""

import asyncio
import concurrent.futures
import contextlib
import os
import re
import threading
import time

import pytest

from lab import dm, fio, network, storage, uevents
from lab.disk import Direct, noise, same
from lab.filesystems import FILE_SYSTEMS
from lab.ghost import killed
from lab.istripectl import INITIATOR, TOOL, leg
from lab.lio import resize
from lab.shell import on_failure, read, run, udev_settle, wait_for, write
from scripted.scenario import Scenario
from scripted.scsi import (
    READ_16,
    SERVICE_ACTION_IN_16,
    SYNCHRONIZE_CACHE_16,
    TEST_UNIT_READY,
    WRITE_16,
    Result,
    fixed_sense,
)
from scripted.steps import becoming_ready

KIB, MIB = 1 << 10, 1 << 20
LUN_BYTES = 32 * MIB
QUICK = {"default_time2wait": 0}
NO_WAIT = {"DefaultTime2Wait": 0}
GROW = {"xfs": ["xfs_growfs"], "ext4": ["resize2fs"]}


def counters(volume, legs):
    return [read(volume.path_sysfs(leg) / name) for leg in range(legs)
            for name in ("faults", "reconnects", "last_error")]


# With Linux's own target


def fill_up(where, but_bytes):
    """Takes what is free, but for a rest, without writing it: what comes next lies elsewhere."""
    free = os.statvfs(where)
    run("fallocate", "-l", free.f_bavail * free.f_frsize - but_bytes, where / "filler")


@pytest.mark.parametrize("kind, before, after", [
    ("xfs", 104 * MIB, 120 * MIB + 4 * KIB),
    ("ext4", 32 * MIB, 48 * MIB + 4 * KIB)])
@pytest.mark.timeout_s(900)
def test_grows_under_a_file_system(make_lio, make_volume, mount_point, stock, link, kind,
                                   before, after):
    """Mounted and written to all the time; afterwards it is what dm-stripe makes of the LUNs."""
    legs, chunk = 3, 64 * KIB
    target = make_lio(*[before] * legs)
    volume = make_volume(target, legs=legs, chunk_bytes=chunk)
    device = volume.enable()
    assert volume.size_bytes() == legs * before
    mkfs, checks = FILE_SYSTEMS[kind]
    run(*mkfs, device)
    run("mount", "-t", kind, device, mount_point)
    old = storage.fill_pattern(storage.image("old", 0), 12 * MIB, seed=1)
    run("cp", storage.ROOT / "old.img", mount_point / "old")
    fill_up(mount_point, 16 * MIB)
    # What is written back is not what fio writes.
    run("sync")
    writer = fio.begin(mount_point / "data", device, rw="randwrite", bsrange="4k-64k",
                       blockalign=4096, size=8 * MIB, iodepth=8, loops=2, verify="crc32c",
                       do_verify=1, verify_fatal=1, verify_state_save=0, fallocate="none")
    with uevents.collected() as seen:
        resize(target, after)
        volume.rescan()
    size = legs * (after // chunk * chunk)
    assert volume.size_bytes() == size
    assert int(run("blockdev", "--getsize64", device)) == size
    assert "RESIZE=1" in seen
    free = os.statvfs(mount_point)
    run(*GROW[kind], device if kind == "ext4" else mount_point)
    assert os.statvfs(mount_point).f_blocks > free.f_blocks
    fio.finish(writer)
    new = storage.fill_pattern(storage.image("new", 0), 32 * MIB, seed=2)
    run("cp", storage.ROOT / "new.img", mount_point / "new")
    run("umount", mount_point)
    run("mount", "-t", kind, device, mount_point)
    assert storage.sha256(mount_point / "old") == old
    assert storage.sha256(mount_point / "new") == new
    run("umount", mount_point)
    for check in checks:
        run(*check, device, timeout_s=600)
    assert counters(volume, legs) == ["0", "0", ""] * legs
    there = storage.sha256(device, size)
    volume.disable()
    storage.drop_caches()
    for name in ("old", "new"):
        (storage.ROOT / f"{name}.img").unlink()

    stock.login(link.portal(), target.iqn)
    disks = [wait_for(f"LUN {lun}", lambda lun=lun: stock.disk(target.iqn, lun))
             for lun in range(legs)]
    with dm.striped(disks, chunk, size // 512) as reference:
        assert storage.sha256(reference, size) == there
    stock.logout()


def test_all_legs_must_have_grown(make_lio, make_volume, kernel_log):
    """By as much as the smallest one; until then a LUN may go back."""
    target = make_lio(*[LUN_BYTES] * 3, params=NO_WAIT)
    volume = make_volume(target, legs=3, chunk_bytes=64 * KIB, path=QUICK)
    device = volume.enable()
    size = volume.size_bytes()
    written = storage.fill_pattern(device, size, seed=3)
    resize(target, 2 * LUN_BYTES, [0, 2])
    volume.rescan()
    assert volume.size_bytes() == size
    more, less = 2 * LUN_BYTES // 512, LUN_BYTES // 512
    # Which of them is noticed first is chance.
    line = rf"leg [02] has {more} sectors, leg [0-2] has {less}: the disk keeps its size"
    told = len([text for text in kernel_log.read() if re.search(line, text)])
    assert told
    # Each time that somebody asks.
    volume.rescan()
    assert len([text for text in kernel_log.read() if re.search(line, text)]) == told + 1
    resize(target, LUN_BYTES, [2])
    volume.rescan()
    # Less than a chunk more on the smallest is nothing.
    resize(target, LUN_BYTES + 60 * KIB, [1, 2])
    volume.rescan()
    assert volume.size_bytes() == size
    resize(target, LUN_BYTES + 65 * KIB, [1, 2])
    volume.rescan()
    assert volume.size_bytes() == 3 * (LUN_BYTES + 64 * KIB)
    assert storage.sha256(device, size) == written
    storage.fill_pattern(device, volume.size_bytes(), seed=4)
    assert counters(volume, 3) == ["0", "0", ""] * 3
    # Nothing new: nothing happens.
    volume.rescan()
    assert volume.size_bytes() == 3 * (LUN_BYTES + 64 * KIB)


@pytest.mark.parametrize("grown", [False, True])
@pytest.mark.allow_log("error, dev istripe|Buffer I/O error on dev istripe",
                       "the path is refused for good")
def test_shrinking_is_refused(make_lio, make_volume, kernel_log, grown):
    """The disk keeps its size, and the path says what is wrong with which leg."""
    target = make_lio(*[LUN_BYTES] * 2, params=NO_WAIT)
    volume = make_volume(target, legs=2, path=QUICK, recovery_timeout_ms=1000)
    volume.enable()
    if grown:
        resize(target, 2 * LUN_BYTES)
        volume.rescan()
        assert volume.size_bytes() == 4 * LUN_BYTES
    size, blocks = volume.size_bytes(), volume.size_bytes() // 2 // 512
    resize(target, LUN_BYTES // 2, [1])
    with pytest.raises(OSError):
        volume.rescan()
    why = f"leg 1 has {blocks} blocks, the LUN has shrunk to {LUN_BYTES // 2 // 512}: path not used"
    wait_for("the refusal", lambda: read(volume.path_sysfs(1) / "state") == "dead", 60)
    assert read(volume.path_sysfs(1) / "last_error") == why
    assert any(why in text for text in kernel_log.read())
    assert volume.size_bytes() == size
    assert read(volume.path_sysfs(0) / "state") == "live"
    # As it was when the volume came up is not enough for one that has grown.
    if not grown:
        return
    volume.disable()
    resize(target, LUN_BYTES)
    volume.enable()
    assert volume.size_bytes() == 2 * LUN_BYTES


@pytest.mark.allow_log("error, dev istripe|Buffer I/O error on dev istripe",
                       "the path is refused in the end")
def test_a_leg_gives_up_what_was_not_used(make_lio, make_volume, kernel_log):
    """The larger of two legs is cut to the other one's size: nothing of the volume is lost."""
    target = make_lio(LUN_BYTES, LUN_BYTES + 8 * MIB, params=NO_WAIT)
    volume = make_volume(target, legs=2, chunk_bytes=64 * KIB, path=QUICK)
    device = volume.enable()
    kept = storage.fill_pattern(device, 2 * LUN_BYTES, seed=1)
    resize(target, LUN_BYTES, [1])
    volume.rescan()
    assert kernel_log.matching(f"{volume.name}/1/0: the LUN has {LUN_BYTES // 512} blocks instead of")
    assert read(volume.sysfs() / "state") == "live"
    network.kill_connections(by_target=True)
    wait_for("the next sessions", lambda: all(
        read(volume.path_sysfs(leg) / "reconnects") != "0" for leg in range(2)), 60)
    wait_for("both legs", lambda: read(volume.sysfs() / "state") == "live", 60)
    storage.drop_caches()
    assert storage.sha256(device, 2 * LUN_BYTES) == kept
    # What is used is not given up.
    resize(target, LUN_BYTES - MIB, [1])
    with pytest.raises(OSError):
        volume.rescan()
    wait_for("the refusal",
             lambda: "has shrunk to" in read(volume.path_sysfs(1) / "last_error"), 60)
    resize(target, LUN_BYTES, [1])


def test_found_at_a_login(make_lio, make_volume):
    """Nobody asks: the sessions are lost, and the next ones find more."""
    target = make_lio(*[LUN_BYTES] * 2, params=NO_WAIT)
    volume = make_volume(target, legs=2, path=QUICK)
    device = volume.enable()
    written = storage.fill_pattern(device, 2 * LUN_BYTES, seed=5)
    resize(target, LUN_BYTES + MIB)
    network.kill_connections(by_target=True)
    wait_for("the disk to grow", lambda: volume.size_bytes() == 2 * (LUN_BYTES + MIB), 60)
    assert storage.sha256(device, 2 * LUN_BYTES) == written
    storage.fill_pattern(device, volume.size_bytes(), seed=6)


@pytest.mark.timeout_s(400)
def test_several_paths(make_lio, make_volume, links):
    """One that is down does not count, and must find what has been promised when it is back."""
    target = make_lio(LUN_BYTES, all_links=True, params=NO_WAIT)
    volume = make_volume(target, paths=links, path=QUICK)
    volume.enable()
    resize(target, LUN_BYTES + MIB)
    volume.rescan()
    assert volume.size_bytes() == LUN_BYTES + MIB
    with network.down(links[1]):
        wait_for("the loss", lambda: read(volume.sysfs() / "state") == "degraded", 30)
        resize(target, LUN_BYTES + 2 * MIB)
        volume.rescan()
        assert volume.size_bytes() == LUN_BYTES + 2 * MIB
    wait_for("both paths", lambda: read(volume.sysfs() / "state") == "live", 60)
    with network.down(links[1]):
        wait_for("the loss", lambda: read(volume.sysfs() / "state") == "degraded", 30)
        resize(target, LUN_BYTES + MIB)
    behind(volume)
    # Not less than at first: a target that is behind, and asked again until it is not.
    resize(target, LUN_BYTES + 2 * MIB)
    wait_for("both paths", lambda: read(volume.sysfs() / "state") == "live", 60)
    volume.rescan()
    assert volume.size_bytes() == LUN_BYTES + 2 * MIB


def behind(volume, why="has shrunk"):
    """The second path is refused, and not given up."""
    path = volume.path_sysfs(0, 1)
    wait_for("the refusal", lambda: why in read(path / "last_error"), 60)
    wait_for("the loss", lambda: read(volume.sysfs() / "state") == "degraded")
    end = time.monotonic() + 2
    while time.monotonic() < end:
        assert read(path / "state") in ("draining", "backoff", "connecting")
        assert read(volume.sysfs() / "state") == "degraded"
        time.sleep(0.05)


@pytest.mark.allow_log("error, dev istripe|Buffer I/O error on dev istripe",
                       "it goes down meanwhile")
def test_rescan_while_things_happen(make_lio, make_volume):
    """Asked again and again, with I/O, while sessions are lost, until the volume goes."""
    target = make_lio(*[LUN_BYTES] * 2, params=NO_WAIT)
    volume = make_volume(target, legs=2, path=QUICK)
    device = volume.enable()
    asked = [[], []]
    over = threading.Event()

    def ask(sizes):
        while not over.is_set():
            with contextlib.suppress(OSError, FileNotFoundError):
                volume.rescan()
                sizes.append(volume.size_bytes())

    threads = [threading.Thread(target=ask, args=(sizes,), daemon=True) for sizes in asked]
    for thread in threads:
        thread.start()
    try:
        for step in range(1, 5):
            resize(target, LUN_BYTES + step * MIB)
            if step % 2:
                network.kill_connections(by_target=True)
            storage.fill_pattern(device, 8 * MIB, seed=step)
            wait_for("the disk to grow",
                     lambda step=step: volume.size_bytes() == 2 * (LUN_BYTES + step * MIB), 60)
        volume.disable()
    finally:
        over.set()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    # Each of them by itself: who notes what it has read first is chance. A disk that goes away has
    # size 0.
    assert all(sizes == sorted(sizes) for sizes in [list(filter(None, one)) for one in asked])


def test_bad_values(make_lio, make_volume):
    volume = make_volume(make_lio(LUN_BYTES))
    volume.enable()
    for value in ("0", "2", "", "now"):
        with pytest.raises(OSError):
            write(volume.sysfs() / "rescan", value)


def test_istripectl(make_lio, link, tool):
    target = make_lio(*[LUN_BYTES] * 2)
    device = tool("create", "db", *INITIATOR, "--metadata", "none", *leg(target, link),
                  *leg(target, link, 1)).split()[1]
    assert tool("rescan", "db") == f"db: {device} keeps its size, 64 MiB\n"
    resize(target, 2 * LUN_BYTES)
    assert tool("rescan", "db") == f"db: {device} has grown from 64 MiB to 128 MiB\n"
    resize(target, LUN_BYTES, [1])
    why = tool("rescan", "db", code=1)
    assert "leg 1 has 131072 blocks, the LUN has shrunk to 65536" in why


# With unit attentions


class Watch:
    """A LUN that grows once, and what the initiator asks between hearing so and knowing."""

    def __init__(self, target, change=None):
        self.target = target
        self.change = change
        self.told = False       # the answer with the unit attention is out
        self.knows = False      # so is that to READ CAPACITY(16)
        self.early = []         # I/O in between
        self.asked = 0

    async def hook(self, run, conn, task):
        if task.opcode == SERVICE_ACTION_IN_16:
            self.asked += 1
            self.knows = self.told
        if task.opcode not in (READ_16, WRITE_16):
            return False
        if self.told:
            if not self.knows:
                self.early.append(task.opcode)
            return False
        if not run.strike():
            return False
        if task.write:
            await run.target.collect(conn, task)
        self.change(run.target.disk)
        conn.session.tasks.pop(task.itt, None)
        await run.target.respond(conn, task, Result.check(6, 0x2A, 9))
        self.told = True
        return True


@pytest.fixture
def watched(make_scripted):
    """watched(change): a volume whose LUN changes with the first I/O, and who watches it."""

    def make(change, **scenario):
        watch = Watch(None, change)
        volume, watch.target = make_scripted(
            Scenario("grows", hooks={"on_command": watch.hook}, **scenario))
        return volume, watch

    return make


#: READ CAPACITY(16) of the scripted disk as it was before grow().
OLD_CAPACITY = ((32767).to_bytes(8, "big") + (512).to_bytes(4, "big") + bytes([0, 0, 0xC0, 0]) +
                bytes(16))


def grow(disk):
    disk.data.extend(bytes(4 * MIB))


@pytest.mark.parametrize("write_first", [False, True])
def test_unit_attention(watched, server, write_first):
    """I/O that hears of it is right; the disk grows; the session stays; the new part works."""
    volume, watch = watched(grow)
    device = volume.enable()
    size = volume.size_bytes()
    server.arm()
    with Direct(device) as disk:
        if write_first:
            disk.write(0, noise(64 * KIB, 1))
            same(bytes(watch.target.disk.data[:64 * KIB]), noise(64 * KIB, 1), "what is there")
        else:
            same(disk.read(0, 64 * KIB), bytes(64 * KIB), "what was read")
        wait_for("the disk to grow", lambda: volume.size_bytes() == size + 4 * MIB)
        disk.write(size + MIB, noise(64 * KIB, 2))
        same(disk.read(size + MIB, 64 * KIB), noise(64 * KIB, 2), "what was read")
    assert watch.told and watch.early == []
    assert volume.reconnects() == 0 and read(volume.path_sysfs() / "last_error") == ""


@pytest.mark.allow_log("error, dev istripe|Buffer I/O error on dev istripe", "its own")
def test_nothing_is_written_before_the_look(watched, server):
    """Blocks of another size: the same numbers are other places now."""

    def coarse(disk):
        disk.block_bytes = 4096

    volume, watch = watched(coarse)
    device = volume.enable()
    server.arm()

    def attempt():
        with contextlib.suppress(OSError), Direct(device) as disk:
            disk.write(64 * KIB, noise(64 * KIB, 1))

    writer = threading.Thread(target=attempt, daemon=True)
    writer.start()
    wait_for("the refusal", lambda: volume.state() == "dead", 60)
    assert "the LUN now says 4096" in read(volume.path_sysfs() / "last_error")
    writer.join(60)
    assert not writer.is_alive()
    assert watch.early == []
    assert watch.target.disk.data == bytes(16 * MIB)


@pytest.mark.allow_log("error, dev istripe|Buffer I/O error on dev istripe", "its own")
def test_nothing_is_written_after_a_question_was_told(make_scripted, server):
    """The same, told to a question of the driver's own and to no I/O, which waits all the same."""
    early = []

    async def hook(run, conn, task):
        memory = run.memory
        if task.opcode == TEST_UNIT_READY and run.strike():
            run.target.disk.block_bytes = 4096
            conn.session.tasks.pop(task.itt, None)
            await run.target.respond(conn, task, Result.check(6, 0x3F, 3))
            return True
        if run.hits and task.opcode in (READ_16, WRITE_16):
            early.append(task.opcode)
        while run.hits and task.opcode == SERVICE_ACTION_IN_16 and not memory.get("go on"):
            memory["asked"] = True
            await asyncio.sleep(0.05)
        return False

    volume, target = make_scripted(Scenario("changes", hooks={"on_command": hook}))
    device = volume.enable()

    def attempt():
        with contextlib.suppress(OSError), Direct(device) as disk:
            disk.write(64 * KIB, noise(64 * KIB, 1))

    def attempt_rescan():
        with contextlib.suppress(OSError):
            volume.rescan()

    def end():
        target.run.memory["go on"] = True
        volume.force_down()

    server.arm()
    with concurrent.futures.ThreadPoolExecutor() as pool, on_failure(end):
        rescan = pool.submit(attempt_rescan)
        wait_for("the question for the capacity", lambda: target.run.memory.get("asked"))
        writer = pool.submit(attempt)
        # Long enough for a write that does not wait.
        time.sleep(2)
        target.run.memory["go on"] = True
        wait_for("the refusal", lambda: volume.state() == "dead", 60)
        assert "the LUN now says 4096" in read(volume.path_sysfs() / "last_error")
        rescan.result(60)
        writer.result(60)
    assert early == [] and target.disk.data == bytes(16 * MIB)


def read_first(device, size):
    with Direct(device) as disk:
        return disk.read(0, size)


@pytest.mark.parametrize("paths", [1, 2])
def test_a_dead_leg_comes_back_without_a_stop(make_scripted, server, paths):
    """When the LUN is as it was: a login is asked for, and what has waited is read."""
    volume, target = make_scripted(Scenario("shrinks"), paths=paths, recovery_timeout_ms=-1)
    device = volume.enable()
    data = noise(64 * KIB, 1)
    with Direct(device) as disk:
        disk.write(0, data)
    kept = bytes(target.disk.data)
    del target.disk.data[len(kept) // 2:]
    places = [volume.path_sysfs(0, number) for number in range(paths)]
    network.kill_connections(port=server.port)
    wait_for("the refusals", lambda: all(read(place / "state") == "dead" for place in places), 60)
    with concurrent.futures.ThreadPoolExecutor() as pool, on_failure(volume.force_down):
        reader = pool.submit(read_first, device, len(data))
        time.sleep(2)
        assert not reader.done()
        said = run(TOOL, "status", volume.name)
        assert all(f"istripectl reconnect {volume.name} 0 {number}" in said
                   for number in range(paths))
        target.disk.data.extend(kept[len(kept) // 2:])
        # Nothing tries them again by itself.
        time.sleep(2)
        assert all(read(place / "state") == "dead" for place in places) and not reader.done()
        run(TOOL, "reconnect", volume.name, 0, 0)
        same(reader.result(60), data, "what has waited")
        for number in range(1, paths):
            run(TOOL, "reconnect", volume.name, 0, number)
    wait_for("the volume", lambda: read(volume.sysfs() / "state") == "live", 60)


def test_a_path_that_lags(make_scripted, links):
    """What one path finds is not yet there over the other: the disk grows when it is."""
    lagging = [True]

    async def hook(run, conn, task):
        old = task.opcode == SERVICE_ACTION_IN_16 and lagging[0] and (
            conn.writer.get_extra_info("sockname")[0] == links[1].address)
        if not old:
            return False
        await run.target.respond(conn, task, Result(data=OLD_CAPACITY))
        return True

    volume, target = make_scripted(Scenario("lags", hooks={"on_command": hook}), paths=2)
    volume.enable()
    wait_for("both paths", lambda: read(volume.sysfs() / "state") == "live")
    grow(target.disk)
    volume.rescan()
    assert volume.size_bytes() == 16 * MIB
    assert read(volume.sysfs() / "state") == "live"
    lagging[0] = False
    volume.rescan()
    assert volume.size_bytes() == 20 * MIB
    lagging[0] = True
    with pytest.raises(OSError):
        volume.rescan()
    behind(volume, "has shrunk to 32768")
    assert volume.size_bytes() == 20 * MIB
    lagging[0] = False
    wait_for("both paths", lambda: read(volume.sysfs() / "state") == "live", 60)
    volume.rescan()
    assert volume.size_bytes() == 20 * MIB


@pytest.mark.parametrize("first", [0, 1])
def test_a_path_that_lags_from_the_start(make_scripted, links, first):
    """Whichever is the first: the path is back by itself when its port knows the new size."""
    lagging, answered = [True], threading.Event()

    async def hook(run, conn, task):
        if task.opcode != SERVICE_ACTION_IN_16:
            return False
        path = [link.address for link in links].index(conn.writer.get_extra_info("sockname")[0])
        while path != first and not answered.is_set():
            await asyncio.sleep(0.05)
        if not (path and lagging[0]):
            result = run.target.disk.execute(task.cdb, b"")
        else:
            result = Result(data=OLD_CAPACITY)
        await run.target.respond(conn, task, result)
        answered.set()
        return True

    volume, target = make_scripted(Scenario("lags", times=1 << 20, hooks={"on_command": hook}),
                                   paths=2)
    grow(target.disk)
    volume.enable()
    wait_for("both paths", lambda: read(volume.sysfs() / "state") == "live")
    assert volume.size_bytes() == 16 * MIB
    with network.down(links[1]):
        wait_for("the loss", lambda: read(volume.sysfs() / "state") == "degraded", 60)
        volume.rescan()
        assert volume.size_bytes() == 20 * MIB
    behind(volume, "has shrunk to 32768")
    lagging[0] = False
    wait_for("both paths", lambda: read(volume.sysfs() / "state") == "live", 60)


def test_while_a_path_is_on_trial(make_scripted, server, links):
    """It has found the old size, and its login goes on: the rescan waits for it, and the disk grows."""
    held, released = threading.Event(), threading.Event()
    released.set()

    async def hook(run, conn, task):
        mine = conn.writer.get_extra_info("sockname")[0] == links[1].address
        while mine and task.opcode == READ_16 and not released.is_set():
            held.set()
            await asyncio.sleep(0.05)
        return False

    volume, target = make_scripted(Scenario("holds reads", hooks={"on_command": hook}), paths=2,
                                   policy="round-robin")
    volume.enable()
    wait_for("both paths", lambda: read(volume.sysfs() / "state") == "live")
    released.clear()
    with concurrent.futures.ThreadPoolExecutor() as pool:
        try:
            killed(links[1], server.port)
            assert held.wait(60)
            grow(target.disk)
            rescan = pool.submit(volume.rescan)
            time.sleep(2)
            assert not rescan.done()
        finally:
            released.set()
        rescan.result(60)
    assert volume.size_bytes() == 20 * MIB
    assert read(volume.sysfs() / "state") == "live"


@pytest.mark.parametrize("write_cache,fua", [(False, False), (False, True), (True, True)])
def test_more_than_the_size(make_scripted, write_cache, fua):
    """The answer to the question about the size: the mode pages are other ones. All is asked.

    A cache that nobody else flushes is flushed before a write ends, if the LUN does not know FUA.
    """
    seen = []

    async def hook(run, conn, task):
        if task.opcode in (WRITE_16, SYNCHRONIZE_CACHE_16):
            seen.append(task.opcode)
        return False

    volume, target = make_scripted(Scenario("other pages", hooks={"on_command": hook}))
    target.disk.write_cache = write_cache
    target.disk.dpofua = fua
    device = volume.enable()
    target.disk.write_cache = True
    target.disk.attentions.append((6, 0x2A, 1))
    with contextlib.suppress(OSError):
        volume.rescan()
    assert target.disk.attentions == []
    # Its login flushes what was written meanwhile.
    wait_for("the path", lambda: read(volume.sysfs() / "state") == "live" and
             volume.reconnects() == (not write_cache))
    seen.clear()
    with Direct(device) as disk:
        for count in range(1, 5):
            disk.write(count * 4 * KIB, noise(4 * KIB, count))
            assert seen == ([WRITE_16] if fua else [WRITE_16, SYNCHRONIZE_CACHE_16]) * count
            same(disk.read(count * 4 * KIB, 4 * KIB), noise(4 * KIB, count), "what was read")


def test_busy_for_long(make_scripted, server):
    """A LUN that is busy for some seconds when it is asked is waited for; the session stays."""
    times = 20
    volume, target = make_scripted(Scenario("busy", hooks=becoming_ready(SERVICE_ACTION_IN_16),
                                            times=times))
    volume.enable()
    server.arm()
    grow(target.disk)
    volume.rescan()
    assert volume.size_bytes() == 20 * MIB
    assert target.run.hits == times
    assert volume.reconnects() == 0 and read(volume.path_sysfs() / "last_error") == ""


def test_all_paths_are_asked(make_scripted):
    """One path hears of it; the other one, which carries no I/O, is asked because of that."""
    volume, target = make_scripted(Scenario("idle"), paths=2, policy="failover")
    device = volume.enable()
    wait_for("both paths", lambda: read(volume.sysfs() / "state") == "live")
    grow(target.disk)
    target.disk.attentions.append((6, 0x2A, 9))
    with Direct(device) as disk:
        assert disk.read(0, 4 * KIB) == bytes(4 * KIB)
    wait_for("the disk to grow", lambda: volume.size_bytes() == 20 * MIB)


@pytest.mark.allow_log("error, dev istripe|Buffer I/O error on dev istripe", "its own")
def test_storm(server, make_scripted):
    """Each command is answered so: I/O fails, the target is not asked all the time."""
    asked = []

    async def hook(run, conn, task):
        if task.opcode == SERVICE_ACTION_IN_16:
            asked.append(time.monotonic())
            grow_by_a_block(run.target.disk)
        if task.opcode != READ_16 or not run.armed:
            return False
        conn.session.tasks.pop(task.itt, None)
        await run.target.respond(conn, task, Result.check(6, 0x2A, 9))
        return True

    def grow_by_a_block(disk):
        disk.data.extend(bytes(512))

    volume, target = make_scripted(Scenario("storm", hooks={"on_command": hook}),
                                   recovery_timeout_ms=3000)
    device = volume.enable()
    server.arm()
    begin = time.monotonic()
    asked.clear()
    with Direct(device) as disk:
        for _ in range(3):
            with pytest.raises(OSError):
                disk.read(0, 4 * KIB)
        questions, spent = len(asked), time.monotonic() - begin
        assert spent < 60
        # Once each half second, and what an interval has begun.
        assert questions <= 2 * spent + 2, f"{questions} questions in {spent:.1f} s"
        target.run.armed = False
        assert disk.read(0, 4 * KIB) == bytes(4 * KIB)
        wait_for("the disk to grow", lambda: volume.size_bytes() > 16 * MIB)
    assert volume.reconnects() == 0
    udev_settle()
    begin = time.monotonic()
    volume.disable()
    assert time.monotonic() - begin < 20


class Messages(threading.Thread):
    """A target that says all the time, asynchronously, that its LUN has changed."""

    def __init__(self, server, interval_s):
        super().__init__(daemon=True)
        sense = fixed_sense(6, 0x3F, 0x0E)
        self.data = len(sense).to_bytes(2, "big") + sense
        self.server, self.interval_s = server, interval_s
        self.over = threading.Event()

    def tell(self):
        async def tell():
            for conn in self.server.connections():
                await conn.tell(0, data=self.data)

        self.server.call(tell())

    def run(self):
        while not self.over.wait(self.interval_s):
            with contextlib.suppress(ConnectionError):
                self.tell()

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.join()


def seconds_with(events, last_s):
    """In how many of the last seconds there was one of these."""
    now = time.monotonic()
    return len({int(now - at) for at in list(events) if now - at < last_s})


@pytest.mark.parametrize("interval_s", [0.001, 0.2])
def test_storm_of_messages(server, make_scripted, interval_s):
    """The target is looked at, but not all the time, and I/O goes on; nothing that it says is lost."""
    looks = []

    async def hook(run, conn, task):
        if task.opcode == SERVICE_ACTION_IN_16:
            looks.append(time.monotonic())
            await asyncio.sleep(0.3)
        return False

    volume, target = make_scripted(Scenario("storm of messages", hooks={"on_command": hook}),
                                   command_timeout_ms=5000)
    reads, failed = [], []

    def read_all_the_time():
        try:
            with Direct(device) as disk:
                while not over.is_set():
                    disk.read(0, 4 * KIB)
                    reads.append(time.monotonic())
        except (OSError, AssertionError) as err:
            failed.append(err)

    device = volume.enable()
    over = threading.Event()
    reader = threading.Thread(target=read_all_the_time, daemon=True)
    looks.clear()
    begin = time.monotonic()
    with Messages(server, interval_s) as messages:
        reader.start()
        time.sleep(20)
        # For most of the time: in ten seconds there are two or three without a read at most. Not in
        # any ten, as the machine may stand still.
        wait_for("reads most of the time", lambda: seconds_with(reads, 10) >= 7, 60, 1)
        count, spent = len(looks), time.monotonic() - begin
        assert 5 <= count <= 2 * spent + 2
    over.set()
    reader.join(60)
    assert not reader.is_alive()
    assert failed == []
    target.disk.data.extend(bytes(MIB))
    messages.tell()
    wait_for("the disk to grow", lambda: volume.size_bytes() == 17 * MIB)
    assert volume.reconnects() == 0
    volume.disable()


@pytest.mark.allow_log("error, dev istripe|Buffer I/O error on dev istripe",
                       "it goes down meanwhile")
def test_ends_while_the_target_says_nothing(server, make_scripted):
    """The question is not answered: the volume can be taken down all the same."""

    async def hook(run, conn, task):
        return task.opcode == SERVICE_ACTION_IN_16 and run.armed

    volume, _ = make_scripted(Scenario("silent", hooks={"on_command": hook}))
    volume.enable()
    server.arm()
    with pytest.raises(OSError):
        volume.rescan()
    begin = time.monotonic()
    volume.disable()
    assert time.monotonic() - begin < 30
