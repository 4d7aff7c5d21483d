# SPDX-License-Identifier: GPL-2.0
"""Runs in the machine of tests/boot: one write that is under way while nothing waits for it.

under_way.py DEVICE FILE: the second processor sends it, FILE is there then, and the exit code is 0
if it ends well. A program that waited for it could not be frozen, as for a suspend.
"""

import ctypes
import mmap
import os
import sys
import time
from pathlib import Path

from aio import NR_IO_GETEVENTS, NR_IO_SUBMIT, Iocb, aio, system_call

IOCB_CMD_PWRITE = 1
SIZE = 4096


def main():
    device, sent = sys.argv[1:]
    os.sched_setaffinity(0, {1})
    fd = os.open(device, os.O_RDWR | os.O_DIRECT)
    with mmap.mmap(-1, SIZE) as memory, aio(1) as context:
        iocb = Iocb(opcode=IOCB_CMD_PWRITE, fd=fd, nbytes=SIZE,
                    buf=ctypes.addressof(ctypes.c_char.from_buffer(memory)))
        assert system_call(NR_IO_SUBMIT, context, ctypes.c_long(1),
                           ctypes.byref(ctypes.pointer(iocb))) == 1
        Path(sent).touch()
        event = (ctypes.c_int64 * 4)()
        while not system_call(NR_IO_GETEVENTS, context, ctypes.c_long(0), ctypes.c_long(1), event,
                              None):
            time.sleep(0.1)
        # What holds the memory must not be seen by its end.
        os._exit(event[2] != SIZE)


main()
