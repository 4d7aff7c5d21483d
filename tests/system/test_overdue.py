# SPDX-License-Identifier: GPL-2.0
"""Commands that the target does not finish: nothing is lost."""

import asyncio
import threading
import time

import pytest

from lab import fio, lio, network, storage
from lab.disk import Direct, noise, same
from lab.ghost import Write, held_write, release, state, volume_over
from lab.shell import read, run, wait_for
from scripted import pdu as p
from scripted.checks import ABORT_TASK
from scripted.ghost import hold
from scripted.pdu import RESERVED_TAG, Pdu
from scripted.scenario import Scenario
from scripted.scsi import READ_16, Result, number
from scripted.steps import on_read, on_write, with_data

MIB = 1 << 20
#: one command at a time, or the LUN at once when many are overdue
ABORTS = "has timed out: aborting it|commands stay unanswered"
#: What an emulated processor makes of a command must not count as overdue.
TIMEOUT_S = 5
#: Of commands that take long, and must not be overdue when that processor stands still as well.
SLOW_TIMEOUT_S = 10
#: Of a command that takes less than half of it and, sent again, more.
AGAIN_TIMEOUT_S = 30


class AnswersBesideAborts:
    """A target that keeps each place's first read. With the answer to an ABORT TASK it answers another
    one, which the initiator looks at next.
    """

    def __init__(self):
        self.hooks = {"on_command": self.on_command, "on_tmf": self.on_tmf}
        self.places, self.kept = set(), {}      # by the tags' slots, in whose order they time out

    async def on_command(self, run, _conn, task):
        at = number(task.cdb, 2, 8)
        if task.opcode != READ_16 or not run.armed or at in self.places:
            return False
        self.places.add(at)
        event = self.kept[task.itt & 0xFFFF] = asyncio.Event()
        await event.wait()
        return False

    async def on_tmf(self, run, conn, pdu):
        slot = pdu.referenced_itt & 0xFFFF
        if pdu.flags & 0x7F != ABORT_TASK:
            return False
        response = run.target.manage(conn.session, pdu)
        self.kept.pop(slot, None)
        await run.target.answer_task_management(conn, pdu, response)
        behind = [other for other in self.kept if other > slot] or list(self.kept)
        if behind:
            self.kept.pop(min(behind)).set()
        return True


class FreezingLun(lio.Lun):
    """A LUN whose file lies on a file system that can be frozen: then its writes hang."""

    def create(self):
        run("modprobe", "loop")
        self.disk = storage.image(f"{self.name}-disk", self.size_bytes + 32 * MIB)
        run("mkfs.ext4", "-q", "-F", self.disk)
        self.mount = storage.ROOT / f"{self.name}-mount"
        self.mount.mkdir()
        run("mount", "-o", "loop", self.disk, self.mount)
        root, storage.ROOT = storage.ROOT, self.mount
        try:
            super().create()
        finally:
            storage.ROOT = root

    def freeze(self):
        run("fsfreeze", "-f", self.mount)

    def thaw(self):
        run("fsfreeze", "-u", self.mount)

    def destroy(self):
        super().destroy()
        run("umount", self.mount)
        self.mount.rmdir()
        self.disk.unlink()


def run_with_stall(make_lio, make_volume, stall_s):
    """fio verifies while the LUN hangs once; returns the volume.

    fio may have written all that it writes before the LUN hangs: one more write is sure to hang.
    """
    lun = FreezingLun(65 * MIB)
    volume = make_volume(make_lio(lun), command_timeout_ms=TIMEOUT_S * 1000,
                         recovery_timeout_ms=300000, path={"default_time2wait": 0})
    device = volume.enable()
    job = fio.start(device, **fio.verify_options(64 * MIB, jobs=4, block_bytes=64 << 10,
                                                 largest_bytes=MIB, depth=4))
    commands = volume.sysfs() / "legs" / "0" / "commands"
    begin = int(read(commands))
    wait_for("fio's writes", lambda: int(read(commands)) > begin + 20, 120, 0.01)
    with Direct(device) as disk:
        lun.freeze()
        try:
            writer = Write(disk, 64 * MIB, noise(4096, 1))
            time.sleep(stall_s)
        finally:
            lun.thaw()
        writer.finish(180)
        same(disk.read(64 * MIB, 4096), noise(4096, 1), "what was read")
    assert fio.finish(job).errors() == 0
    volume.wait_state("live")
    return volume


async def dropped_then_slow(run, conn, task):
    """The connection ends before the command is overdue; sent again, it is slow.

    When the request is overdue the command is not, which has moved no data for more than half of
    command_timeout_ms: such a one is aborted once it has had three quarters of it.
    """
    if run.hits == 1:
        await asyncio.sleep(0.42 * AGAIN_TIMEOUT_S)
        conn.close()
    else:
        await asyncio.sleep(0.65 * AGAIN_TIMEOUT_S)
        await run.target.execute(conn, task)


def test_sent_again_has_its_time_again(server, link, make_volume, kernel_log):
    """The request is older than command_timeout_ms by then, the command is not."""
    target = server.load(Scenario("slow", times=2, hooks=on_write(dropped_then_slow)))
    volume = make_volume(target, command_timeout_ms=AGAIN_TIMEOUT_S * 1000,
                         path={"portal": f"{link.address}:{server.port}", "default_time2wait": 0})
    device = volume.enable()
    server.arm()
    run("dd", "if=/dev/zero", f"of={device}", "oflag=direct", "bs=4k", "count=1")
    assert target.run.hits == 2
    assert not kernel_log.matching(ABORTS)
    volume.disable()


def reads_in(size, pause_s):
    """A read's data come in pieces of this size."""

    async def action(run, conn, task):
        data = with_data(run, task)
        for sn, at in enumerate(range(0, len(data), size)):
            await conn.send(Pdu(p.DATA_IN, itt=task.itt, ttt=RESERVED_TAG, data_sn=sn, offset=at,
                                data=data[at:at + size]))
            await asyncio.sleep(pause_s)
        conn.session.tasks.pop(task.itt, None)
        await run.target.scsi_response(conn, task, Result())

    return on_read(action)


def writes_in(size, pause_s):
    """A write's data are asked for in pieces of this size."""

    async def action(run, conn, task):
        while task.received < task.edtl:
            await run.target.r2t(conn, task, task.received, size)
            data = await task.data.get()
            task.take(data.offset, data.data)
            await asyncio.sleep(pause_s)
        run.target.disk.execute(task.cdb, task.buffer)
        conn.session.tasks.pop(task.itt, None)
        await run.target.scsi_response(conn, task, Result())

    return on_write(action)


PIECES = pytest.mark.parametrize("pieces", [reads_in, writes_in], ids=["read", "write"])


def in_pieces(server, link, make_volume, hooks, command_timeout_ms):
    target = server.load(Scenario("in pieces", hooks=hooks))
    volume = make_volume(target, command_timeout_ms=command_timeout_ms,
                         path={"portal": f"{link.address}:{server.port}", "immediate_data": "No",
                               "initial_r2t": "Yes"})
    data = noise(128 << 10, 1)

    def write_and_read(disk):
        disk.write(0, data)
        same(disk.read(0, len(data)), data, "the data on the disk")
        done.append(True)

    done = []
    with Direct(volume.enable()) as disk:
        server.arm()
        thread = threading.Thread(target=write_and_read, args=(disk,), daemon=True)
        thread.start()
        try:
            thread.join(150)
            assert done, "it does not end"
        finally:
            # What is left of it fails, else nobody can close the disk.
            if not done:
                volume.force_down()
    assert target.run.hits == 1
    assert read(volume.path_sysfs() / "last_error") == ""
    volume.disable()


@PIECES
@pytest.mark.allow_log(ABORTS, "the test makes commands time out")
def test_a_byte_now_and_then_is_no_progress(server, link, make_volume, kernel_log, pieces):
    """Else a target keeps a command for ever."""
    in_pieces(server, link, make_volume, pieces(1, 0.5), 6000)
    assert kernel_log.matching(ABORTS)


@PIECES
def test_small_pieces_are_progress(server, link, make_volume, kernel_log, pieces):
    """All data need longer than command_timeout_ms."""
    in_pieces(server, link, make_volume, pieces(1 << 10, 0.1), SLOW_TIMEOUT_S * 1000)
    assert not kernel_log.matching(ABORTS)


@pytest.mark.timeout_s(900)
@pytest.mark.parametrize("stall_s", [TIMEOUT_S + 5, 6 * TIMEOUT_S], ids=["short", "long"])
@pytest.mark.allow_log(ABORTS, "the test makes commands time out")
def test_lun_hangs(make_lio, make_volume, kernel_log, stall_s):
    """LIO stands still with its LUN, pings and all: abort, then a new session, nothing lost."""
    run_with_stall(make_lio, make_volume, stall_s)
    assert kernel_log.matching(ABORTS)


@pytest.mark.allow_log("has timed out: aborting it", "the test makes commands time out")
def test_answered_when_looked_at(server, link, make_volume, kernel_log):
    """A command that is just ended is not one that cannot be: the session stays."""
    answers = AnswersBesideAborts()
    target = server.load(Scenario("answers beside aborts", hooks=answers.hooks,
                                  settings={"depth": 256}))
    volume = make_volume(target, command_timeout_ms=TIMEOUT_S * 1000,
                         path={"portal": f"{link.address}:{server.port}"})
    with Direct(volume.enable()) as disk:
        server.arm()
        for _ in range(5):
            answers.places.clear()
            readers = [threading.Thread(target=disk.read, args=(at * 4096, 4096), daemon=True)
                       for at in range(64)]
            for reader in readers:
                reader.start()
            for reader in readers:
                reader.join(120)
            assert not any(reader.is_alive() for reader in readers), "a read does not end"
    assert volume.reconnects() == 0 and read(volume.path_sysfs() / "faults") == "0"
    assert kernel_log.matching("has timed out: aborting it")
    assert not kernel_log.matching("does not take its data|a command cannot be sent")
    volume.disable()


def test_a_lost_write_waits_from_its_loss(server, make_volume, links):
    """It was in flight for longer than recovery_timeout_ms, and than thirty seconds, by then."""
    target = server.load(Scenario("ghost", hooks={"on_command": hold}))
    volume = volume_over(make_volume, links, (server.port,) * 2, target, fence="path",
                         command_timeout_ms=120000, recovery_timeout_ms=25000)
    with Direct(volume.enable()) as disk:
        server.arm()
        writer = held_write(disk, target, noise(4 << 10, 1))
        time.sleep(31)
        with network.down(links[0]):
            wait_for("the loss to be noticed", lambda: state(volume) == "degraded", 60)
            writer.join(2)
            assert writer.is_alive(), "the write does not wait for its path"
        writer.finish()
        wait_for("both paths", lambda: state(volume) == "live", 60)
        release(server, target)
