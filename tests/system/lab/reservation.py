# SPDX-License-Identifier: GPL-2.0
"""Persistent reservations of a disk, as linux/pr.h has them."""

import ctypes
import os
import struct

KEY, OTHER_KEY = 0x1571, 0x2ead
#: enum pr_type, enum pr_flags of linux/pr.h
WRITE_EXCLUSIVE, WRITE_EXCLUSIVE_REG_ONLY, EXCLUSIVE_REG_ONLY = 1, 3, 4
IGNORE_KEY = 1
#: enum pr_status: the status of SCSI
CONFLICT = 0x18
LIBC = ctypes.CDLL(None, use_errno=True)


def request(number, size):
    return 1 << 30 | size << 16 | ord("p") << 8 | number


class Reservations:
    """The ioctls of linux/pr.h; each returns 0, a status, or raises OSError."""

    def __init__(self, device):
        self.fd = os.open(device, os.O_RDWR)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.fd)

    def register(self, old, new, flags=0):
        return self._status(200, "=QQII", old, new, flags, 0)

    def reserve(self, key, kind):
        return self._status(201, "=QII", key, kind, 0)

    def release(self, key, kind):
        return self._status(202, "=QII", key, kind, 0)

    def preempt(self, key, victim, kind):
        return self._status(203, "=QQII", key, victim, kind, 0)

    def clear(self, key):
        return self._status(205, "=QII", key, 0, 0)

    def _status(self, number, form, *values):
        """Not fcntl.ioctl(), which keeps the return value to itself."""
        buffer = struct.pack(form, *values)
        ret = LIBC.ioctl(self.fd, ctypes.c_ulong(request(number, len(buffer))), buffer)
        if ret < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        return ret
