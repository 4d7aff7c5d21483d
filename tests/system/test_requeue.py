# SPDX-License-Identifier: GPL-2.0
"""One leg is away, stuck or busy, and more requests need it than the volume has tags: the other leg
goes on. With the stock stack each LUN has a queue of its own.
"""

import contextlib
import errno
import fcntl
import mmap
import os
import struct
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from lab.aio import IOCB_CMD_PREAD, together
from lab.disk import Direct, noise, same
from lab.ghost import FAST, ISIDS, lost, path_is, state, wait_path
from lab.shell import on_failure, read, udev_settle, wait_for, write
from lab.storage import partitioned
from scripted.ghost import Gate
from scripted.scenario import HONEST, Held, Scenario
from scripted.scsi import BUSY, READ_16, WRITE_16, Result
from scripted.steps import instead

BLOCK = 4096
#: Of the disk; a leg has every second one.
CHUNK = 64 << 10
#: Tags
DEPTH = 8
WAITING = 4 * DEPTH
#: A leg that has so many, and has answered none for STUCK_S, gets no more.
PART = DEPTH // 4
STUCK_S = 0.2
LIMIT_S = 60
BLKDISCARD, BLKZEROOUT = 0x1277, 0x127F


class Away(Gate):
    """The target of the leg is away."""

    def __init__(self, leg=1):
        super().__init__()
        self.leg = leg

    def begin(self, volume, server):
        self.close(server, ISIDS[self.leg])
        wait_for("the loss", lambda: path_is(volume, 0, live=False, leg=self.leg), LIMIT_S)

    def end(self, _server):
        self.open(ISIDS[self.leg])


class Stuck(Held):
    """It takes commands, and answers none."""

    def __init__(self):
        super().__init__(None)
        self.hooks = {"on_command": self.on_command}

    async def on_command(self, run, conn, task):
        self.opcode = task.opcode if task.opcode in (READ_16, WRITE_16) else None
        return await super().on_command(run, conn, task)

    def begin(self, _volume, server):
        self.released.clear()
        server.arm()

    def end(self, server):
        server.call(self.release())


class Busy:
    """It has no time for commands."""

    def __init__(self):
        self.busy = False
        self.hooks = {"on_command": self.on_command}

    async def on_command(self, run, conn, task):
        if not self.busy or task.opcode not in (READ_16, WRITE_16):
            return False
        await run.target.respond(conn, task, Result(BUSY))
        return True

    def begin(self, _volume, _server):
        self.busy = True

    def end(self, _server):
        self.busy = False


class Legs:
    """Two or more, each of a target of its own; the last one has trouble at times."""

    def __init__(self, make_server, make_volume, link, trouble, first=(), legs=2):
        self.servers, self.trouble = [make_server() for _ in range(legs)], trouble
        self.troubled = False
        for index, server in enumerate(self.servers):
            hooks = trouble.hooks if index == legs - 1 else dict(first)
            server.load(Scenario("one of several", hooks=hooks),
                        identity=f"6001405{index:025x}")
        first, *others = ({"portal": f"{link.address}:{server.port}", "lun": 0, "isid": isid,
                          "target_name": server.target.iqn, "default_time2wait": 0}
                         for server, isid in zip(self.servers, ISIDS))
        self.volume = make_volume(self.servers[0].target, path=first, more_legs=others,
                                  chunk_bytes=CHUNK, queue_depth=DEPTH, recovery_timeout_ms=-1)
        self.device = self.volume.enable()
        udev_settle()

    def begin(self):
        self.trouble.begin(self.volume, self.servers[-1])
        self.troubled = True

    def end(self):
        self.troubled = False
        self.trouble.end(self.servers[-1])


def place(index, leg):
    """Not adjacent, or requests would be merged; with 2 * CHUNK it is of both legs."""
    return (4 * index + leg) * CHUNK


def write_and_read(disk, seed):
    for index in range(4):
        disk.write(place(index, 0), noise(BLOCK, seed + index))
    for index in range(4):
        same(disk.read(place(index, 0), BLOCK), noise(BLOCK, seed + index), "the other leg")


def in_time(function, *args):
    """In a thread of its own: one that waits for the disk hears no signal."""
    return ThreadPoolExecutor(1).submit(function, *args).result(LIMIT_S)


def goes_on(disk, seed):
    in_time(write_and_read, disk, seed)


def waiting_threads():
    """Threads of this process that wait for a disk."""
    count = 0
    for stat in Path("/proc/self/task").glob("*/stat"):
        # Threads of a pool that was used before may just be ending.
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            count += stat.read_text(encoding="ascii").rpartition(")")[2].split()[0] == "D"
    return count


def submit_all(pool, troubled, function, *args):
    """Futures of function(index, ...); the first ones get the leg's part, if it has trouble."""
    first = PART if troubled else 0
    each = [pool.submit(function, index, *args) for index in range(first)]
    if troubled:
        wait_for("the first ones to wait", lambda: waiting_threads() >= first, LIMIT_S)
        time.sleep(STUCK_S)
    return each + [pool.submit(function, index, *args) for index in range(first, WAITING)]


class Requests:
    """Many at a time, which all need the second leg."""

    def __init__(self, legs, size, to_write, seed=0):
        self.legs, self.size, self.seed = legs, size, seed
        self.pool = ThreadPoolExecutor(WAITING)
        self.each = submit_all(self.pool, legs.troubled, self._one, to_write)

    def _one(self, index, to_write):
        with Direct(self.legs.device) as disk:
            if to_write:
                disk.write(place(index, 1), noise(self.size, self.seed + index))
            return disk.read(place(index, 1), self.size)

    def wait(self):
        wait_for("all to wait", lambda: waiting_threads() >= WAITING, LIMIT_S)
        return self

    def done(self):
        return [each for each in self.each if each.done()]

    def errors(self):
        return [each.exception(LIMIT_S) for each in self.each]

    def same(self):
        for index, each in enumerate(self.each):
            same(each.result(LIMIT_S), noise(self.size, self.seed + index), "what has waited")


@pytest.mark.parametrize("trouble", [Away, Stuck, Busy])
@pytest.mark.parametrize(("to_write", "size"), [(False, BLOCK), (True, BLOCK), (False, 2 * CHUNK),
                                                (True, 2 * CHUNK)],
                         ids=["reads", "writes", "reads of both", "writes of both"])
def test_the_other_leg_goes_on(make_server, make_volume, link, trouble, to_write, size):
    legs = Legs(make_server, make_volume, link, trouble())
    with Direct(legs.device) as disk, on_failure(legs.volume.force_down):
        Requests(legs, size, to_write=True).same()
        legs.begin()
        waiting = Requests(legs, size, to_write, seed=WAITING if to_write else 0).wait()
        goes_on(disk, 100)
        assert not waiting.done()
        legs.end()
        waiting.same()
        goes_on(disk, 200)


def test_two_legs_beside_the_third(make_server, make_volume, link):
    """Requests that need both of them go on, too, beside others that need one of them and the third."""
    legs = Legs(make_server, make_volume, link, Away(leg=2), legs=3)

    def one(index):
        with Direct(legs.device) as disk:
            return disk.read((3 * index + 2) * CHUNK - BLOCK, 2 * BLOCK)

    with (Direct(legs.device) as disk, ThreadPoolExecutor(WAITING) as pool,
          on_failure(legs.volume.force_down)):
        legs.begin()
        waiting = submit_all(pool, True, one)
        wait_for("all to wait", lambda: waiting_threads() >= WAITING, LIMIT_S)
        for index in range(4):
            at, data = (3 * (WAITING + index) + 1) * CHUNK - BLOCK, noise(2 * BLOCK, index)
            in_time(disk.write, at, data)
            same(in_time(disk.read, at, len(data)), data, "the other legs")
        legs.end()
        assert {each.result(LIMIT_S) for each in waiting} == {bytes(2 * BLOCK)}


def test_those_in_flight_when_it_is_lost(make_server, make_volume, link):
    """They go on waiting."""
    legs = Legs(make_server, make_volume, link, Stuck())
    gate = Away()
    legs.servers[1].target.run.scenario.hooks.update(gate.hooks)
    with Direct(legs.device) as disk, on_failure(legs.volume.force_down):
        Requests(legs, BLOCK, to_write=True).same()
        legs.begin()
        waiting = Requests(legs, BLOCK, to_write=False).wait()
        gate.begin(legs.volume, legs.servers[1])
        goes_on(disk, 100)
        assert not waiting.done()
        legs.end()
        gate.end(legs.servers[1])
        waiting.same()


@pytest.mark.allow_log("error, dev istripe|no path for|lost async page write", "the leg that is away")
def test_they_fail_with_the_leg(make_server, make_volume, link):
    """recovery_timeout_ms ends the wait of all of them."""
    legs = Legs(make_server, make_volume, link, Away())
    with Direct(legs.device) as disk, on_failure(legs.volume.force_down):
        legs.begin()
        waiting = Requests(legs, BLOCK, to_write=True).wait()
        write(legs.volume.config / "recovery_timeout_ms", 1)
        assert [error.errno for error in waiting.errors()] == [errno.ENOLINK] * WAITING
        goes_on(disk, 100)
        legs.end()
        wait_for("the leg", lambda: state(legs.volume) == "live", LIMIT_S)
        disk.write(place(0, 1), noise(BLOCK, 1))


@pytest.mark.allow_log("error, dev istripe|fails|lost async page write", "the disk that goes")
def test_they_fail_with_the_disk(make_server, make_volume, link):
    legs = Legs(make_server, make_volume, link, Away())
    legs.begin()
    waiting = Requests(legs, BLOCK, to_write=True).wait()
    legs.volume.force_down()
    assert {error.errno for error in waiting.errors()} <= {errno.ENOLINK, errno.EIO, errno.ENXIO}


@pytest.mark.allow_log("error, dev istripe|medium", "the block that is bad")
@pytest.mark.parametrize("to_write", [False, True], ids=["read", "write"])
def test_a_part_fails_while_another_is_kept(make_server, make_volume, link, to_write):
    """Of one bio, which the block layer splits: its error is not forgotten."""
    bad = []

    async def on_command(run, conn, task):
        if not bad or task.opcode not in (READ_16, WRITE_16):
            return False
        bad.append(task)
        await run.target.respond(conn, task, Result.check(3, 0x11, 0))
        return True

    legs = Legs(make_server, make_volume, link, Stuck(), first={"on_command": on_command})
    write(Path("/sys/block") / legs.volume.device() / "queue" / "max_sectors_kb", CHUNK >> 10)
    at = place(WAITING, 0)
    with (Direct(legs.device) as disk, ThreadPoolExecutor(1) as pool,
          on_failure(legs.volume.force_down)):
        disk.write(at, noise(2 * CHUNK, 1))
        legs.begin()
        waiting = Requests(legs, BLOCK, to_write=True).wait()
        bad.append(None)
        call = (pool.submit(disk.write, at, noise(2 * CHUNK, 2)) if to_write else
                pool.submit(disk.read, at, 2 * CHUNK))
        wait_for("the part that fails", lambda: len(bad) > 1, LIMIT_S)
        assert not call.done()
        bad.clear()
        legs.end()
        error = call.exception(LIMIT_S)
        assert isinstance(error, OSError) and error.errno == errno.ENODATA
        waiting.same()


@pytest.mark.parametrize("request_", [BLKDISCARD, BLKZEROOUT], ids=["discards", "zeroes"])
def test_requests_without_data(make_server, make_volume, link, request_):
    legs = Legs(make_server, make_volume, link, Away())

    def one(index):
        with Direct(legs.device) as disk:
            fcntl.ioctl(disk.fd, request_, struct.pack("=QQ", place(index, 1), BLOCK))

    with (Direct(legs.device) as disk, ThreadPoolExecutor(WAITING) as pool,
          on_failure(legs.volume.force_down)):
        legs.begin()
        waiting = submit_all(pool, True, one)
        wait_for("all to wait", lambda: waiting_threads() >= WAITING, LIMIT_S)
        goes_on(disk, 100)
        legs.end()
        for each in waiting:
            each.result(LIMIT_S)


def test_fewer_requests(make_server, make_volume, link):
    """queue/nr_requests takes tags away."""
    legs = Legs(make_server, make_volume, link, Away())
    write(Path("/sys/block") / legs.volume.device() / "queue" / "nr_requests", DEPTH // 2)
    with Direct(legs.device) as disk, on_failure(legs.volume.force_down):
        Requests(legs, BLOCK, to_write=True).same()
        legs.begin()
        waiting = Requests(legs, BLOCK, to_write=False).wait()
        goes_on(disk, 100)
        legs.end()
        waiting.same()


def test_joined_requests(make_server, make_volume, link):
    """Of a process that submits neighbouring ones in one call: they are joined again."""
    asked = []

    async def on_command(_run, _conn, task):
        if task.opcode == READ_16:
            asked.append(struct.unpack_from(">Q", task.cdb, 2)[0])
        return False

    legs = Legs(make_server, make_volume, link, Away())
    with Direct(legs.device) as disk, on_failure(legs.volume.force_down):
        legs.begin()
        waiting = Requests(legs, BLOCK, to_write=True).wait()
        memory = mmap.mmap(-1, CHUNK)
        call = ThreadPoolExecutor(1).submit(together, disk.fd, IOCB_CMD_PREAD, memory, BLOCK,
                                            place(2 * WAITING, 1))
        time.sleep(STUCK_S)
        legs.servers[1].target.run.scenario.hooks["on_command"] = on_command
        legs.end()
        assert call.result(LIMIT_S) == [BLOCK] * (CHUNK // BLOCK)
        waiting.same()
        before = len(asked) - WAITING
        assert 0 < before < CHUNK // BLOCK // 2


def test_a_partition_counts_what_was_kept(make_server, make_volume, link):
    legs = Legs(make_server, make_volume, link, Away())
    size = 4 * WAITING * CHUNK
    partitioned(legs.device, size >> 9)
    legs.volume.disable()
    name = Path(legs.volume.enable()).resolve().name + "p1"
    stat = Path("/sys/class/block") / name / "stat"
    kept = legs.volume.leg_sysfs(1) / "kept_bios"
    wait_for("the partition", stat.exists, LIMIT_S)
    udev_settle()

    def one(index):
        fd = os.open(f"/dev/{name}", os.O_RDONLY | os.O_DIRECT)
        try:
            return os.preadv(fd, [mmap.mmap(-1, BLOCK)], place(index, 1))
        finally:
            os.close(fd)

    def reads():
        """Completed, and their sectors."""
        words = read(stat).split()
        return int(words[0]), int(words[2])

    with ThreadPoolExecutor(WAITING) as pool, on_failure(legs.volume.force_down):
        legs.begin()
        completed, sectors = reads()
        waiting = submit_all(pool, True, one)
        wait_for("the others to be kept, and to count as nothing", lambda: (
            read(kept) == str(WAITING - PART) and reads() == (completed, sectors)), LIMIT_S)
        legs.end()
        assert [each.result(LIMIT_S) for each in waiting] == [BLOCK] * WAITING
        wait_for("all to count once", lambda: reads() == (
            completed + WAITING, sectors + (WAITING * BLOCK >> 9)), LIMIT_S)
        assert read(kept) == "0"


class TwoPaths:
    """The second leg has two paths, each to a target of its own, of one name and with one disk, so
    neither can end sessions of the other. The first target does not answer the first writes.
    """

    def __init__(self, make_server, make_volume, links, unanswered, fence, depth=DEPTH):
        other, *self.servers = (make_server() for _ in range(3))
        silent = Scenario("silent", hooks=instead(opcode=WRITE_16), times=unanswered)
        self.targets = [server.load(scenario, identity="6001405" + "b" * 25)
                        for server, scenario in zip(self.servers, (silent, HONEST))]
        self.targets[1].disk = self.targets[0].disk
        alone, first, second = (
            {**FAST, "nic": link.nic, "portal": f"{link.address}:{server.port}", "lun": 0,
             "target_name": self.targets[0].settings.name}
            for link, server in zip((links[1], *links), (other, *self.servers)))
        self.volume = make_volume(other.target, path=alone, more_legs=[first], chunk_bytes=CHUNK,
                                  queue_depth=depth, recovery_timeout_ms=-1)
        self.volume.add_path(1, second, leg=1)
        for name, value in (("policy", "failover"), ("fence", fence), ("ghost_timeout_ms", -1)):
            write(self.volume.config / "legs" / "1" / name, value)
        self.link, self.unanswered = links[0], unanswered
        self.device = self.volume.enable()
        udev_settle()
        wait_for("the proof to fail", lambda: self.path("unproven", 1), LIMIT_S)

    def path(self, name, index=0):
        return read(self.volume.path_sysfs(1, index) / name)

    def kept(self):
        return int(read(self.volume.leg_sysfs(1) / "kept_bios"))

    def write(self, index):
        with Direct(self.device) as disk:
            disk.write(place(index, 1), noise(BLOCK, index))

    def begin(self, pool):
        """Futures of the writes that the first path has, and that are not answered."""
        self.servers[0].arm()
        writers = [pool.submit(self.write, index) for index in range(self.unanswered)]
        wait_for("the writes", lambda: self.targets[0].run.hits == self.unanswered, LIMIT_S)
        return writers

    def lost(self):
        """The first path is lost meanwhile."""
        return lost(self.volume, self.link, 0, leg=1)


@pytest.mark.parametrize("depth, part", [(DEPTH, PART), (2, 1)], ids=["part", "less_than_one"])
def test_lost_writes_do_not_keep_others(make_server, make_volume, links, depth, part):
    """They have the leg's part of the tags, and wait for their fence, but another path serves."""
    legs = TwoPaths(make_server, make_volume, links, part, "session", depth)
    with (Direct(legs.device) as disk, ThreadPoolExecutor(part) as pool,
          on_failure(legs.volume.force_down)):
        writers = legs.begin(pool)
        with legs.lost():
            for index in range(part, 2 * PART):
                time.sleep(STUCK_S)
                assert in_time(disk.read, place(index, 1), BLOCK) == bytes(BLOCK)
                in_time(disk.write, place(index, 1), noise(BLOCK, index))
                assert legs.kept() == 0
            assert not any(writer.done() for writer in writers)
        for writer in writers:
            writer.result(LIMIT_S)
        for index in range(2 * PART):
            same(disk.read(place(index, 1), BLOCK), noise(BLOCK, index), "the leg")


def test_kept_before_the_loss(make_server, make_volume, links):
    """A read is kept while the first path has the leg's part of the tags; then that is lost."""
    legs = TwoPaths(make_server, make_volume, links, PART, "session")
    with (Direct(legs.device) as disk, ThreadPoolExecutor(PART + 1) as pool,
          on_failure(legs.volume.force_down)):
        writers = legs.begin(pool)
        time.sleep(STUCK_S)
        reader = pool.submit(disk.read, place(PART, 1), BLOCK)
        wait_for("the read to be kept", lambda: legs.kept() == 1, LIMIT_S)
        with legs.lost():
            assert reader.result(LIMIT_S) == bytes(BLOCK)
            assert not any(writer.done() for writer in writers)
        for writer in writers:
            writer.result(LIMIT_S)


def test_those_behind_a_ghost_leave_tags(make_server, make_volume, links):
    """Many writes wait for the block of a lost one: the leg's other blocks are served, and then, when
    there are more of them, the other leg still is, though reads of the first one are answered.
    """
    def read_on():
        with Direct(legs.device) as disk:
            while not over.wait(0.02):
                disk.read(place(1, 1), BLOCK)
                answered.append(True)

    def bulk():
        for _ in range(PART, WAITING):
            time.sleep(0.05)
            yield pool.submit(legs.write, 0)

    answered = []
    legs, over = TwoPaths(make_server, make_volume, links, 1, "auto"), threading.Event()
    with (Direct(legs.device) as disk, ThreadPoolExecutor(WAITING + 1) as pool,
          on_failure(legs.volume.force_down), on_failure(over.set)):
        writers = legs.begin(pool)
        with legs.lost():
            writers[0].result(LIMIT_S)
            waiting = [pool.submit(legs.write, 0) for _ in range(PART)]
            wait_for("the first ones", lambda: legs.path("waiting_writes") == str(PART), LIMIT_S)
            time.sleep(STUCK_S)
            assert in_time(disk.read, place(1, 1), BLOCK) == bytes(BLOCK)
            time.sleep(STUCK_S)
            reader = pool.submit(read_on)
            wait_for("reads", lambda: len(answered) > 10, LIMIT_S)
            waiting += bulk()
            wait_for("so many to be kept that a tag is left",
                     lambda: legs.kept() > WAITING - DEPTH, LIMIT_S)
            goes_on(disk, 100)
            over.set()
            assert not any(each.done() for each in waiting)
        for each in (*waiting, reader):
            each.result(LIMIT_S)
        same(disk.read(place(0, 1), BLOCK), noise(BLOCK, 0), "the leg")


@pytest.mark.allow_log("(error|lost).* dev istripe|I/O error|fails|may still carry out",
                       "the lost writes fail with the disk")
def test_the_last_writes_beside_lost_ones(make_server, make_volume, links):
    """A page that another path takes is written when the disk is taken away by force."""
    legs = TwoPaths(make_server, make_volume, links, PART, "session")
    data, at = noise(BLOCK, 100), 2 * PART * CHUNK
    with ThreadPoolExecutor(PART) as pool, on_failure(legs.volume.force_down):
        writers = legs.begin(pool)
        disk = os.open(legs.device, os.O_RDWR)
        legs.link.set_up(False)
        try:
            wait_path(legs.volume, 0, live=False, leg=1)
            os.pwrite(disk, data, place(PART, 1))
            time.sleep(STUCK_S)
            assert not legs.volume.force_down()
        finally:
            legs.link.set_up(True)
            os.close(disk)
        assert all(isinstance(writer.exception(LIMIT_S), OSError) for writer in writers)
    assert legs.targets[0].disk.data[at:at + BLOCK] == data
