# SPDX-License-Identifier: GPL-2.0
"""Linux's own asynchronous I/O, of which Python knows nothing: linux/aio_abi.h."""

import contextlib
import ctypes
import mmap
import os

#: asm/unistd_64.h of x86
NR_IO_SETUP, NR_IO_DESTROY, NR_IO_GETEVENTS, NR_IO_SUBMIT = 206, 207, 208, 209
#: linux/aio_abi.h and linux/fs.h
IOCB_CMD_PREAD, IOCB_CMD_PWRITE = 0, 1
RWF_DSYNC = 0x02


class Iocb(ctypes.Structure):
    """struct iocb of linux/aio_abi.h."""

    _fields_ = [("data", ctypes.c_uint64), ("key", ctypes.c_uint32), ("rw_flags", ctypes.c_uint32),
                ("opcode", ctypes.c_uint16), ("reqprio", ctypes.c_int16),
                ("fd", ctypes.c_uint32), ("buf", ctypes.c_uint64), ("nbytes", ctypes.c_uint64),
                ("offset", ctypes.c_int64), ("reserved", ctypes.c_uint64),
                ("flags", ctypes.c_uint32), ("resfd", ctypes.c_uint32)]


def system_call(call, *arguments):
    libc = ctypes.CDLL(None, use_errno=True)
    result = libc.syscall(ctypes.c_long(call), *arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


@contextlib.contextmanager
def aio(depth):
    context = ctypes.c_uint64(0)
    system_call(NR_IO_SETUP, ctypes.c_long(depth), ctypes.byref(context))
    try:
        yield context
    finally:
        system_call(NR_IO_DESTROY, context)


def submit(context, iocbs):
    """All of them, and waits for their ends; returns the results, in the order of these."""
    count = len(iocbs)
    pointers = (ctypes.POINTER(Iocb) * count)(*map(ctypes.pointer, iocbs))
    assert system_call(NR_IO_SUBMIT, context, ctypes.c_long(count), pointers) == count
    events = (ctypes.c_int64 * (4 * count))()
    assert system_call(NR_IO_GETEVENTS, context, ctypes.c_long(count), ctypes.c_long(count),
                       events, None) == count
    results = dict(zip(events[0::4], events[2::4]))
    return [results[iocb.data] for iocb in iocbs]


def put_durably(fd, at, data):
    """With FUA: unlike pwrite() of a disk with O_DSYNC this has no flush behind it."""
    with mmap.mmap(-1, len(data)) as memory, aio(1) as context:
        memory[:] = data
        iocb = Iocb(opcode=IOCB_CMD_PWRITE, rw_flags=RWF_DSYNC, fd=fd, nbytes=len(data),
                    buf=ctypes.addressof(ctypes.c_char.from_buffer(memory)), offset=at)
        assert submit(context, [iocb]) == [len(data)]


def together(fd, opcode, memory, size, at, rw_flags=0):
    """Neighbouring requests of one size, in one call: the block layer may join them. Returns their
    results.
    """
    count = len(memory) // size
    base = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    iocbs = [Iocb(data=index, opcode=opcode, rw_flags=rw_flags, fd=fd, nbytes=size,
                  buf=base + index * size, offset=at + index * size) for index in range(count)]
    with aio(count) as context:
        return submit(context, iocbs)
