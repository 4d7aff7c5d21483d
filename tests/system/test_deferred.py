# SPDX-License-Identifier: GPL-2.0
"""Commands that a submitter leaves to others: they go out when it pauses, and when it does not.

Here it does not: it has a real-time priority and computes, so that the sender thread of its
processor does not run. A worker on another processor has to send.
"""

import ctypes
import mmap
import multiprocessing
import os
import re
import time

import pytest

from lab.aio import NR_IO_GETEVENTS, NR_IO_SETUP, NR_IO_SUBMIT, Iocb, system_call
from lab.shell import read
from lab.tracing import TRACING, empty

MIB = 1 << 20
READS, BYTES = 4, 4096
DEADLINE_S = 60
ROUNDS = 20
EVENT = TRACING / "events" / "istripe" / "istripe_pdu_send" / "enable"
SCSI_COMMAND = 0x01


class Reads:
    """A few reads, two for each system call: of more than that the block layer makes a batch."""

    def __init__(self, device):
        self.fd = os.open(device, os.O_RDONLY | os.O_DIRECT)
        self.memory = mmap.mmap(-1, READS * BYTES)
        address = ctypes.addressof(ctypes.c_char.from_buffer(self.memory))
        self.iocbs = [Iocb(fd=self.fd, buf=address + i * BYTES, nbytes=BYTES, offset=i * MIB)
                      for i in range(READS)]
        self.context = ctypes.c_ulong(0)
        self.events = (ctypes.c_uint64 * (4 * READS))()
        system_call(NR_IO_SETUP, ctypes.c_long(READS), ctypes.byref(self.context))

    def submit(self):
        for first in range(0, READS, 2):
            pair = (ctypes.POINTER(Iocb) * 2)(*map(ctypes.pointer, self.iocbs[first:first + 2]))
            system_call(NR_IO_SUBMIT, self.context, ctypes.c_long(2), pair)

    def done(self, least):
        return system_call(NR_IO_GETEVENTS, self.context, ctypes.c_long(least),
                           ctypes.c_long(READS), self.events,
                           None if least else ctypes.byref((ctypes.c_long * 2)(0, 0)))


def compute(device, done):
    """The process that submits. It exits with 0 when all reads have come while it computed."""
    os.sched_setaffinity(0, {0})
    reads = Reads(device)
    # Whoever has submitted several commands before a pause will probably do so again.
    for _ in range(4):
        reads.submit()
        reads.done(READS)
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    EVENT.write_text("1", encoding="ascii")
    reads.submit()
    deadline, left = time.monotonic() + DEADLINE_S, READS
    while left and time.monotonic() < deadline:
        left -= reads.done(0)
    done.value = not left
    EVENT.write_text("0", encoding="ascii")


def senders():
    """The names of the threads that have sent commands."""
    return re.findall(rf"^ *(\S+)-\d+ .* istripe_pdu_send: .* opcode=0x{SCSI_COMMAND:02x} ",
                      read(TRACING / "trace"), re.MULTILINE)


@pytest.mark.timeout_s(300)
def test_a_submitter_that_computes(make_lio, make_volume):
    device = make_volume(make_lio(64 * MIB)).enable()
    done = multiprocessing.Value("b", False)
    for _ in range(ROUNDS):
        empty()
        done.value = False
        process = multiprocessing.Process(target=compute, args=(device, done))
        process.start()
        process.join(2 * DEADLINE_S)
        assert process.exitcode == 0 and done.value
        # The host may let the machine stand still until the sender thread gets its share.
        if any(name.startswith("kworker") for name in senders()):
            break
    else:
        pytest.fail(f"sent by {set(senders())} only:\n{read(TRACING / 'trace')[-2000:]}")
