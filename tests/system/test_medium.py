# SPDX-License-Identifier: GPL-2.0
"""Blocks that cannot be read, beside others that can."""

import concurrent.futures
import errno
import mmap
import os
import struct
import time

import pytest

from conftest import MIB
from lab.aio import IOCB_CMD_PREAD, together
from lab.disk import Direct, noise, same
from lab.ghost import ISIDS, path_is, volume_over
from lab.shell import on_failure, wait_for
from scripted.ghost import Gate
from scripted.scenario import Scenario, silence
from scripted.scsi import READ_16, WRITE_16, Result

BLOCK = 4096
READS = 8
#: Which of the reads asks for what cannot be read.
BAD = (3, 6)


@pytest.mark.allow_log("error, dev istripe", "the blocks that cannot be read")
@pytest.mark.parametrize(("sense", "number"), [((3, 0x11, 0), errno.ENODATA),
                                               ((3, 0x15, 1), errno.ENODATA),
                                               ((0xB, 0x10, 1), errno.EILSEQ)],
                         ids=["medium", "medium-after-retries", "protection"])
def test_reads_of_others_that_were_merged(server, make_volume, link, sense, number):
    """Of the SCSI disk driver's request the good blocks before the bad one end well."""
    asked = []

    async def hook(run, conn, task):
        if task.opcode != READ_16 or not run.armed:
            return False
        lba, blocks = struct.unpack_from(">QI", task.cdb, 2)
        first, count = lba * 512 // BLOCK, blocks * 512 // BLOCK
        asked.append(count)
        if not any(first <= MIB // BLOCK + bad < first + count for bad in BAD):
            return False
        await run.target.respond(conn, task, Result.check(*sense))
        return True

    target = server.load(Scenario("bad blocks", times=1000, hooks={"on_command": hook}))
    volume = volume_over(make_volume, [link], [server.port], target)
    target.disk.data[MIB:MIB + READS * BLOCK] = b"".join(
        bytes([index + 1]) * BLOCK for index in range(READS))
    fd = os.open(volume.enable(), os.O_RDONLY | os.O_DIRECT)
    try:
        with mmap.mmap(-1, READS * BLOCK) as memory:
            server.arm()
            results = together(fd, IOCB_CMD_PREAD, memory, BLOCK, MIB)
            assert max(asked) == READS, "the reads were not merged"
            assert results == [-number if index in BAD else BLOCK for index in range(READS)]
            for index in set(range(READS)) - set(BAD):
                assert memory[index * BLOCK:(index + 1) * BLOCK] == bytes([index + 1]) * BLOCK
    finally:
        os.close(fd)


@pytest.mark.allow_log("error, dev istripe", "the leg that fails")
@pytest.mark.parametrize(("lost", "number"), [(True, errno.ENOLINK), (False, errno.EIO)],
                         ids=["lost", "unserved"])
def test_reads_of_another_leg_that_were_merged(make_server, make_volume, link, lost, number):
    """They end well. The leg that fails is waited for once, not for each of its reads."""
    servers, gate, asked = [make_server() for _ in range(2)], Gate(), []

    async def count(run, _conn, task):
        if task.opcode == READ_16 and run.armed:
            asked.append(struct.unpack_from(">I", task.cdb, 10)[0] * 512 // BLOCK)
        return False

    async def refuse(run, conn, task):
        if task.opcode != READ_16 or not run.armed:
            return False
        await run.target.respond(conn, task, Result.check(2, 4, 3))
        return True

    hooks = {"on_command": count}, {**gate.hooks, "on_command": refuse}
    for index, server in enumerate(servers):
        server.load(Scenario("one of two", hooks=hooks[index]), identity=f"6001405{index:025x}")
    legs = [{"portal": f"{link.address}:{server.port}", "target_name": server.target.iqn, "lun": 0,
             "isid": isid, "default_time2wait": 0} for server, isid in zip(servers, ISIDS)]
    volume = make_volume(servers[0].target, path=legs[0], more_legs=legs[1:], chunk_bytes=BLOCK,
                         recovery_timeout_ms=5000)
    good = range(0, READS, 2)
    servers[0].target.disk.data[MIB // 2:MIB // 2 + len(good) * BLOCK] = b"".join(
        bytes([index + 1]) * BLOCK for index in good)
    fd = os.open(volume.enable(), os.O_RDONLY | os.O_DIRECT)
    try:
        with mmap.mmap(-1, READS * BLOCK) as memory:
            if lost:
                gate.close(servers[1], ISIDS[1])
                wait_for("the loss", lambda: path_is(volume, 0, live=False, leg=1), 60)
            for server in servers:
                server.arm()
            start = time.monotonic()
            results = together(fd, IOCB_CMD_PREAD, memory, BLOCK, MIB)
            took_s = time.monotonic() - start
            assert max(asked) == len(good), "the reads were not merged"
            assert results == [BLOCK if index in good else -number for index in range(READS)]
            assert took_s < 15
            for index in good:
                assert memory[index * BLOCK:(index + 1) * BLOCK] == bytes([index + 1]) * BLOCK
    finally:
        os.close(fd)


@pytest.mark.allow_log("error, dev istripe|Buffer I/O error on dev istripe",
                       "the command that is rejected")
@pytest.mark.parametrize("opcode", [READ_16, WRITE_16], ids=["read", "write"])
@pytest.mark.parametrize("aborts", [True, False], ids=["aborted", "not-aborted"])
def test_a_command_that_is_always_rejected(make_scripted, server, aborts, opcode):
    """It fails alone, although the disk is to wait for ever: no session ends again and again."""
    async def command(run, conn, task):
        if (task.opcode != opcode or not run.armed or
                int.from_bytes(task.cdb[2:10], "big") * 512 != MIB):
            return False
        await conn.reject(task.pdu, 9)
        await silence()
        return True

    async def manage(_run, conn, pdu):
        if not aborts:
            await conn.reject(pdu, 4)
        return not aborts

    scenario = Scenario("rejects", hooks={"on_command": command, "on_tmf": manage})
    volume, _ = make_scripted(scenario, recovery_timeout_ms=-1)
    data = noise(16 * BLOCK, 1)
    with (Direct(volume.enable()) as disk, concurrent.futures.ThreadPoolExecutor() as pool,
          on_failure(volume.force_down)):
        disk.write(0, data)
        server.arm()
        end = time.monotonic() + 60
        if opcode == READ_16:
            rejected = pool.submit(disk.read, MIB, BLOCK)
        else:
            rejected = pool.submit(disk.write, MIB, noise(BLOCK, 2))
        while not rejected.done():
            assert time.monotonic() < end
            same(disk.read(0, len(data)), data, "what was read")
        assert rejected.exception().errno == errno.EIO
        same(disk.read(0, len(data)), data, "what was read")
        volume.wait_state("live")
        assert volume.reconnects() <= (0 if aborts else 2)


@pytest.mark.parametrize("opcode", [READ_16, WRITE_16], ids=["read", "write"])
def test_a_command_that_is_rejected_for_a_while(make_scripted, server, opcode):
    """The target is short of something, which is no reason to fail (RFC 7143 11.17.1)."""
    rejected = []

    async def command(run, conn, task):
        if task.opcode != opcode or not run.armed or len(rejected) == 4:
            return False
        rejected.append(task)
        await conn.reject(task.pdu, 10)
        await silence()
        return True

    volume, _ = make_scripted(Scenario("is short of memory", hooks={"on_command": command}))
    data = noise(16 * BLOCK, 1)
    with Direct(volume.enable()) as disk:
        disk.write(0, data)
        server.arm()
        disk.write(MIB, data)
        same(disk.read(0, len(data)), data, "what was read")
        assert len(rejected) == 4
        assert volume.reconnects() == 0


@pytest.mark.allow_log("error, dev istripe|Buffer I/O error on dev istripe",
                       "the command that is rejected")
def test_data_that_are_always_rejected(make_scripted, server):
    """Each time the session ends; not for ever, although the disk is to wait so long."""
    async def command(run, conn, task):
        if task.opcode != WRITE_16 or not run.armed:
            return False
        await run.target.r2t(conn, task, 0, task.edtl)
        data = await task.data.get()
        await conn.reject(data, 2)
        await silence()
        return True

    volume, _ = make_scripted(
        Scenario("finds all data damaged", hooks={"on_command": command},
                 settings={"InitialR2T": True, "ImmediateData": False}), recovery_timeout_ms=-1)
    with Direct(volume.enable()) as disk:
        server.arm()
        with pytest.raises(OSError) as failed:
            disk.write(MIB, noise(BLOCK, 2))
        assert failed.value.errno == errno.EIO
        assert 1 <= volume.reconnects() <= 9
        server.target.run.armed = False
        disk.write(MIB, noise(BLOCK, 2))
