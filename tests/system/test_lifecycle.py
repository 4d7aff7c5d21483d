# SPDX-License-Identifier: GPL-2.0
"""Loading and unloading, enabling and disabling: often, under I/O, and nothing stays behind."""

import contextlib
import errno
import os
import subprocess
import threading
import time
from pathlib import Path

import pytest

from lab import dm, fio, ghost, istripe, leaks, memory, network, storage
from lab.disk import Direct
from lab.shell import LabError, read, run, status, udev_settle, wait_for, write
from scripted.ghost import Gate
from scripted.scenario import Scenario
from scripted.scsi import SERVICE_ACTION_IN_16, TASK_SET_FULL, WRITE_16, Result
from scripted.steps import instead, on_write

MIB = 1 << 20
#: What a whole test may add to unreclaimable memory: noise of the kernel, not a leak per round.
NOISE_KIB = 4096


def assert_no_growth(before, after, rounds):
    for name, kib in before.items():
        grown = after[name] - kib
        assert grown < NOISE_KIB, f"{name} grew by {grown} KiB in {rounds} rounds"


def test_modinfo(module):
    assert read("/sys/module/istripe/refcnt") == "0"
    assert run("modinfo", "-F", "license", "istripe").split() == ["GPL"]
    assert run("modinfo", "-F", "description", "istripe").strip()
    depends = run("modinfo", "-F", "depends", "istripe").strip().split(",")
    assert "scsi_common" in depends


def test_load_and_unload(module, size):
    rounds = size.rounds(15, 50)
    istripe.unload()
    leaks.kmemleak_clear()
    for _ in range(3):
        istripe.load()
        istripe.unload()
    leaks.settle()
    before = leaks.memory_kib()
    for _ in range(rounds):
        istripe.load()
        assert istripe.CONFIG.is_dir()
        istripe.unload()
        assert not leaks.loaded()
    leaks.settle()
    assert_no_growth(before, leaks.memory_kib(), rounds)
    assert leaks.threads() == []
    assert not leaks.kmemleak()
    assert not istripe.CONFIG.exists()
    istripe.load()


def test_unload_is_refused_while_a_volume_exists(make_lio, make_volume):
    volume = make_volume(make_lio())
    code, words = status("rmmod", "istripe")
    assert code != 0 and "in use" in words
    volume.enable()
    code, words = status("rmmod", "istripe")
    assert code != 0 and "in use" in words
    assert leaks.loaded()


def test_unload_after_use(make_lio, make_volume, verify):
    """A module that has carried I/O leaves as completely as one that has not."""
    volume = make_volume(make_lio())
    verify(volume.enable(), total_bytes=4 * MIB, jobs=2, largest_bytes=MIB)
    volume.delete()
    assert leaks.references() == 0
    istripe.unload()
    leaks.settle()
    assert leaks.threads() == []
    istripe.load()


@pytest.mark.timeout_s(900)
def test_enable_and_disable_idle(make_lio, make_volume, size):
    volume = make_volume(make_lio())
    rounds = size.rounds(10, 100)
    for _ in range(3):
        volume.enable()
        volume.disable()
    leaks.settle()
    before = leaks.memory_kib()
    for _ in range(rounds):
        device = volume.enable()
        assert len(network.established()) == 1
        volume.disable()
        assert not device.exists()
        assert network.established() == []
    leaks.settle()
    assert_no_growth(before, leaks.memory_kib(), rounds)
    assert istripe.devices() == []


def reads_done(volume):
    return int(read(f"/sys/block/{volume.device()}/stat").split()[0])


@pytest.mark.timeout_s(1800)
@pytest.mark.allow_log("error, dev istripe", "the disk goes away under fio on purpose")
def test_enable_and_disable_under_io(make_lio, make_volume, size):
    """The disk is taken away by force under busy jobs: they get errors, nothing hangs."""
    volume = make_volume(make_lio())
    rounds = size.rounds(8, 100)
    leaks.kmemleak_clear()
    for number in range(rounds):
        device = volume.enable()
        jobs = fio.start(device, rw="randrw", bsrange="512-256k", blockalign=512, iodepth=8,
                         numjobs=4, time_based=True, runtime=60, size="100%")
        wait_for("fio to do I/O", lambda: reads_done(volume) > 20, 30)
        time.sleep(0.05 * (number % 5))
        start = time.monotonic()
        assert volume.force_down()
        assert time.monotonic() - start < 30
        with pytest.raises(LabError, match="exit code|error"):
            fio.finish(jobs, 30)
        assert network.established() == []
    leaks.settle()
    assert not leaks.kmemleak()
    assert istripe.devices() == []


@contextlib.contextmanager
def starved(process):
    """Its threads get what a busy loop leaves of one processor."""
    processor = min(os.sched_getaffinity(0))
    for thread in Path(f"/proc/{process.pid}/task").iterdir():
        with contextlib.suppress(ProcessLookupError):
            os.sched_setaffinity(int(thread.name), {processor})
            os.sched_setscheduler(int(thread.name), os.SCHED_IDLE, os.sched_param(0))
    loop = subprocess.Popen(["taskset", "-c", str(processor), "sh", "-c", "while :; do :; done"])
    try:
        yield
    finally:
        loop.kill()
        loop.wait()


@pytest.mark.timeout_s(1800)
@pytest.mark.allow_log("error, dev istripe", "the disk goes away under fio on purpose")
def test_forced_while_a_submitter_is_starved(make_lio, make_volume, size):
    """The last request ends, and with it the disk, while its submitter is still in the driver."""
    volume = make_volume(make_lio())
    for number in range(size.rounds(4, 40)):
        jobs = fio.start(volume.enable(), rw="randread", bs="4k", iodepth=4, numjobs=4,
                         time_based=True, runtime=600, size="100%")
        wait_for("fio to do I/O", lambda: reads_done(volume) > 20, 30)
        with starved(jobs):
            time.sleep(0.5 + 0.1 * (number % 5))
            assert volume.force_down()
        # Linux 6.1 reads nothing from a disk that is gone, without an error, and fio goes on.
        with pytest.raises(LabError):
            fio.finish(jobs, 20)
    assert istripe.devices() == []


@pytest.mark.allow_log("error, dev istripe", "the disk goes away while it is open")
def test_forced_while_open(make_lio, make_volume):
    """Whoever holds the disk open keeps a dead descriptor, not a dangling one."""
    volume = make_volume(make_lio())
    device = volume.enable()
    with open(device, "r+b", buffering=0) as disk:
        disk.read(4096)
        assert volume.force_down()
        run("sync")
        try:
            disk.seek(MIB)
            assert disk.read(MIB) == b""
        except OSError as err:
            # EINVAL: there is nothing left to seek in.
            assert err.errno in (errno.EIO, errno.ENXIO, errno.ENODEV, errno.EINVAL)
    volume.delete()
    assert leaks.references() == 0


def refused_while_in_use(volume):
    with pytest.raises(OSError) as refused:
        write(volume.config / "enable", 0)
    assert refused.value.errno == errno.EBUSY
    assert "its disk is open, mounted or part of another device" in volume.last_error()
    assert volume.enabled()


@contextlib.contextmanager
def opened(device, _):
    with open(device, "rb", buffering=0):
        yield


@contextlib.contextmanager
def mounted(device, place):
    run("mkfs.ext4", "-q", device)
    run("mount", device, place)
    try:
        (place / "file").write_text("data")
        yield
        assert (place / "file").read_text() == "data"
    finally:
        run("umount", place)


@contextlib.contextmanager
def unmounted_lazily(device, place):
    """A mount that nobody sees any more, but that somebody is still in."""
    run("mkfs.ext4", "-q", device)
    run("mount", device, place)
    with open(place / "file", "wb"):
        run("umount", "-l", place)
        yield


@contextlib.contextmanager
def partition_opened(device, _):
    storage.partitioned(device, 4096)
    udev_settle()
    run("blockdev", "--rereadpt", device)
    part = Path(f"{device}p1")
    wait_for(part, part.is_block_device)
    udev_settle()
    with open(part, "rb", buffering=0):
        yield


@contextlib.contextmanager
def swapped_to(device, _):
    run("mkswap", device)
    run("swapon", device)
    try:
        yield
    finally:
        run("swapoff", device)


@contextlib.contextmanager
def held_by_dm(device, _):
    with dm.striped([device], 65536, 2048):
        yield


@pytest.mark.parametrize("used", [opened, mounted, unmounted_lazily, partition_opened, swapped_to,
                                  held_by_dm])
def test_disable_is_refused_while_in_use(make_lio, make_volume, tmp_path, kernel_log, used):
    """0 says EBUSY, and nothing has happened; when nobody uses the disk any more it goes. The log
    has the reason once, however often somebody tries.
    """
    volume = make_volume(make_lio())
    device = volume.enable()
    with used(device, tmp_path):
        udev_settle()
        refused_while_in_use(volume)
        refused_while_in_use(volume)
        assert volume.state() == "live"
    assert len(kernel_log.matching("not disabled: its disk is open")) == 1
    volume.disable()
    assert volume.last_error() == "" and not device.exists()


def test_opened_while_it_goes(make_lio, make_volume):
    """Whoever gets the disk open keeps it; else it is gone. Nothing in between."""
    volume = make_volume(make_lio(8 * MIB))
    kept = 0
    for _ in range(10):
        device = volume.enable()
        begun = threading.Event()
        opens = []

        def open_it(device=device, begun=begun, opens=opens):
            begun.wait()
            with contextlib.suppress(OSError):
                opens.append(os.open(device, os.O_RDONLY))

        opener = threading.Thread(target=open_it)
        opener.start()
        begun.set()
        try:
            write(volume.config / "enable", 0)
        except OSError as err:
            assert err.errno == errno.EBUSY
        opener.join()
        for fd in opens:
            # Without it having been seen as open, there is no disk to read from any more.
            assert volume.enabled() and os.pread(fd, 4096, 0)
            os.close(fd)
            kept += 1
        volume.disable()
    print(f"opened {kept} of 10 times")


def full(times):
    """A target that says TASK SET FULL to writes, and does not do them."""

    async def action(run, conn, task):
        await run.target.collect(conn, task)
        conn.session.tasks.pop(task.itt, None)
        await run.target.scsi_response(conn, task, Result(TASK_SET_FULL), (0, 0))

    return Scenario("full", hooks=on_write(action), times=times)


def dirty(server, link, make_volume, scenario, write_to=os.pwrite, count=256 << 10, **settings):
    """A volume, its disk, open, and what is only in its page cache."""
    target = server.load(scenario)
    volume = make_volume(target, path={"portal": f"{link.address}:{server.port}"}, **settings)
    disk = os.open(volume.enable(), os.O_RDWR)
    data = os.urandom(count)
    server.arm()
    write_to(disk, data, MIB)
    assert not any(target.disk.data[MIB:MIB + len(data)])
    return volume, disk, target, data


def test_forced_writes_back(server, link, make_volume):
    """What is dirty is written, also by a target that is too busy at first."""
    volume, disk, target, data = dirty(server, link, make_volume, full(8))
    try:
        assert volume.force_down()
    finally:
        os.close(disk)
    assert target.run.hits == 8
    assert target.disk.data[MIB:MIB + len(data)] == data
    assert volume.last_error() == ""


def test_forced_waits_for_a_throttled_cgroup(server, link, make_volume):
    """What io.max holds back for longer than a dead leg is waited for has not failed."""
    groups = contextlib.ExitStack()

    def write_throttled(disk, data, offset):
        device = os.fstat(disk).st_rdev
        group = groups.enter_context(memory.Group(
            "throttled", io_max=f"{os.major(device)}:{os.minor(device)} wbps={len(data) // 20}"))
        # Through this file: when one that is open for writing is closed udev has all written.
        subprocess.run(["dd", f"bs={len(data)}", f"seek={offset // len(data)}", "status=none",
                        "conv=notrunc", "iflag=fullblock"], input=data, stdout=disk, check=True,
                       preexec_fn=group.add_self)

    with groups:
        volume, disk, target, data = dirty(server, link, make_volume, full(1), write_throttled,
                                             4096)
        try:
            assert volume.force_down()
        finally:
            os.close(disk)
    assert target.run.hits == 1
    assert target.disk.data[MIB:MIB + len(data)] == data
    assert volume.last_error() == ""


@pytest.mark.allow_log("(error|lost).* dev istripe", "the last writes fail on purpose")
def test_forced_says_what_is_lost(server, link, make_volume, kernel_log):
    """A target that is busy for ever is not waited for for ever, and the loss is an error."""
    volume, disk, target, data = dirty(server, link, make_volume, full(1 << 30))
    start = time.monotonic()
    try:
        assert not volume.force_down()
    finally:
        os.close(disk)
    assert 10 < time.monotonic() - start < 40
    assert "not all of what had been written" in volume.last_error()
    assert kernel_log.matching("of its last writes have failed: their data are lost")
    assert not volume.enabled() and volume.device() == ""
    assert target.disk.data[MIB:MIB + len(data)] != data
    server.target.run.armed = False
    volume.enable()
    assert volume.last_error() == ""


@pytest.mark.allow_log("(error|lost).* dev istripe", "the last writes fail on purpose")
def test_forced_gives_up_a_silent_lun(server, link, make_volume, kernel_log):
    """It takes writes, and answers none. Those that it has are waited for, and it gets no others."""
    def write_in_requests(disk, data, offset):
        device = os.fstat(disk).st_rdev
        write(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}/queue/max_sectors_kb", 4)
        os.pwrite(disk, data, offset)

    silent = Scenario("silent", hooks=instead(opcode=WRITE_16), times=1 << 30)
    volume, disk, target, _ = dirty(server, link, make_volume, silent, write_in_requests, 64 << 10,
                                    queue_depth=2, command_timeout_ms=25000)
    try:
        assert not volume.force_down()
    finally:
        os.close(disk)
    assert kernel_log.matching("nothing has been written for .*: what waits fails, the disk goes")
    assert kernel_log.matching("and 16 of its last writes have failed")
    # Those in flight, and perhaps once more.
    assert 2 <= target.run.hits <= 4
    assert not volume.enabled()


@pytest.mark.allow_log("(error|lost).* dev istripe|fails", "the last writes fail on purpose")
def test_forced_gives_up_a_leg_that_is_lost(make_server, make_volume, link):
    """Its last path is lost when the end has begun, and a process goes on writing to another leg."""
    def write_on():
        with contextlib.suppress(OSError), Direct(device) as disk:
            while not over.wait(1):
                disk.write(0, bytes(4096))

    gate, over = Gate(), threading.Event()
    good, lost = make_server(), make_server()
    target = lost.load(Scenario("full", hooks={**full(0).hooks, **gate.hooks}, times=1 << 30),
                       identity="6001405" + "b" * 25)
    legs = [{"portal": f"{link.address}:{server.port}", "target_name": target.settings.name,
             "isid": isid, "lun": 0, "default_time2wait": 0}
            for server, isid in zip((good, lost), ghost.ISIDS)]
    volume = make_volume(good.target, path=legs[0], more_legs=legs[1:], chunk_bytes=64 << 10,
                         recovery_timeout_ms=-1)
    device = volume.enable()
    udev_settle()
    went_well = []
    down = threading.Thread(target=lambda: went_well.append(volume.force_down()), daemon=True)
    writer = threading.Thread(target=write_on, daemon=True)
    disk = os.open(device, os.O_RDWR)
    try:
        lost.arm()
        os.pwrite(disk, os.urandom(16 << 10), 64 << 10)
        writer.start()
        down.start()
        wait_for("the last writes", lambda: target.run.hits, 60)
        gate.close(lost, ghost.ISIDS[1])
        down.join(120)
        assert went_well == [False]
    finally:
        target.run.armed = False
        gate.open(ghost.ISIDS[1])
        over.set()
        os.close(disk)
        writer.join(60)
    assert not volume.enabled()


@pytest.mark.allow_log("error, dev istripe", "the write that fails")
def test_forced_while_its_files_are_in_use(make_server, make_volume, link):
    """I/O that waits fails before the files of the volume go: who uses these may wait for it."""
    async def lets_nobody_in(run, conn, _pdu):
        if run.armed:
            conn.reset()
        return run.armed

    async def keeps_questions(run, _conn, task):
        return task.opcode == SERVICE_ACTION_IN_16 and run.strike()

    def ask():
        with contextlib.suppress(OSError):
            volume.rescan()

    def fails():
        with pytest.raises(OSError):
            disk.write(0, bytes(4096))
        meanwhile.append((rescan.is_alive(), down.is_alive()))

    meanwhile = []
    lost, asked = make_server(), make_server()
    target = lost.load(Scenario("is lost", hooks={"on_login": lets_nobody_in}))
    asked.load(Scenario("is asked", hooks={"on_command": keeps_questions}, times=1 << 20),
               identity="6001405" + "b" * 25)
    legs = [{"portal": f"{link.address}:{server.port}", "target_name": target.settings.name,
             "ping_interval_ms": 0, "login_timeout_ms": 30000, "default_time2wait": 0}
            for server in (lost, asked)]
    volume = make_volume(target, path=legs[0], more_legs=legs[1:], recovery_timeout_ms=-1,
                         command_timeout_ms=60000)
    with Direct(volume.enable()) as disk:
        lost.arm()
        ghost.killed(link, lost.port)
        wait_for("the loss", lambda: ghost.path_state(volume) != "live")
        writer, rescan, down = (threading.Thread(target=call, daemon=True)
                                for call in (fails, ask, volume.force_down))
        writer.start()
        asked.arm()
        rescan.start()
        wait_for("the question", lambda: asked.target.run.hits)
        down.start()
        down.join(120)
        for thread in (writer, rescan):
            thread.join(60)
        # Their users were in the way of the end of the files, but not of the failure.
        assert meanwhile == [(True, True)]
    assert not volume.enabled() and volume.device() == ""


def test_names_are_reused(make_lio, make_volume):
    target = make_lio(8 * MIB, 8 * MIB)
    first, second = make_volume(target), make_volume(target, lun=1)
    names = [first.enable().name, second.enable().name]
    assert len(set(names)) == 2
    first.disable()
    assert first.enable().name == names[0]
