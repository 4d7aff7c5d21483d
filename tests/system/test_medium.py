# SPDX-License-Identifier: GPL-2.0
"""Blocks that cannot be read, beside others that can."""

import ctypes
import errno
import mmap
import os
import struct

import pytest

from conftest import MIB
from lab.ghost import volume_over
from scripted.scenario import Scenario
from scripted.scsi import READ_16, Result

BLOCK = 4096
READS = 8
#: Which of the reads asks for what cannot be read.
BAD = (3, 6)
SETUP, DESTROY, GETEVENTS, SUBMIT = 206, 207, 208, 209
IOCB = struct.Struct("=QIIHhIQQqQII")
EVENT = struct.Struct("=QQqq")
LIBC = ctypes.CDLL(None, use_errno=True)


def call(number, *arguments):
    got = LIBC.syscall(number, *arguments)
    assert got >= 0, os.strerror(ctypes.get_errno())
    return got


def read_together(fd, memory, at):
    """Adjacent reads that the block layer gets at once; what each of them has come to."""
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    blocks = [ctypes.create_string_buffer(IOCB.pack(
        index, 0, 0, 0, 0, fd, address + index * BLOCK, BLOCK, at + index * BLOCK, 0, 0, 0))
        for index in range(READS)]
    context = ctypes.c_ulong()
    call(SETUP, READS, ctypes.byref(context))
    try:
        pointers = (ctypes.c_void_p * READS)(*(ctypes.addressof(block) for block in blocks))
        assert call(SUBMIT, context, READS, pointers) == READS
        events = ctypes.create_string_buffer(EVENT.size * READS)
        assert call(GETEVENTS, context, READS, READS, events, None) == READS
    finally:
        call(DESTROY, context)
    results = {index: result for index, _, result, _ in EVENT.iter_unpack(events.raw)}
    return [results[index] for index in range(READS)]


@pytest.mark.allow_log("error, dev istripe", "the blocks that cannot be read")
@pytest.mark.parametrize(("sense", "number"), [((3, 0x11, 0), errno.ENODATA),
                                               ((0xB, 0x10, 1), errno.EILSEQ)],
                         ids=["medium", "protection"])
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
            results = read_together(fd, memory, MIB)
            assert max(asked) == READS, "the reads were not merged"
            assert results == [-number if index in BAD else BLOCK for index in range(READS)]
            for index in set(range(READS)) - set(BAD):
                assert memory[index * BLOCK:(index + 1) * BLOCK] == bytes([index + 1]) * BLOCK
    finally:
        os.close(fd)
    assert server.violations() == []
