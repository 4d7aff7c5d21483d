# SPDX-License-Identifier: GPL-2.0
"""Persistent reservations of a disk, as linux/pr.h has them."""

import ctypes
import os
import struct

from lab import lio
from lab.shell import run, write

KEY, OTHER_KEY = 0x1571, 0x2ead
#: enum pr_type, enum pr_flags of linux/pr.h
WRITE_EXCLUSIVE, WRITE_EXCLUSIVE_REG_ONLY, EXCLUSIVE_REG_ONLY = 1, 3, 4
IGNORE_KEY = 1
#: enum pr_status: the status of SCSI
CONFLICT = 0x18
LIBC = ctypes.CDLL(None, use_errno=True)


class PassedLun(lio.Lun):
    """A LUN of a disk of this host that has the reservations of the LUN, too."""

    def __init__(self, device):
        super().__init__(0)
        self.path = lio.CONFIG / "core" / "iblock_0" / self.name
        self.device = device

    def create(self):
        run("modprobe", "target_core_iblock")
        self.path.mkdir(parents=True)
        write(self.path / "control", f"udev_path={self.device}")
        write(self.path / "enable", 1)
        write(self.path / "wwn" / "vpd_unit_serial", self.serial)
        self.attribute("pgr_support", 0)


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

    def read_keys(self, room):
        """(generation, keys that there are, those that have come); Linux 6.19."""
        told = (ctypes.c_uint64 * max(room, 1))()
        asked = struct.pack("=IIQ", 0, room, ctypes.addressof(told))
        buffer = ctypes.create_string_buffer(asked, len(asked))
        self._ask(3 << 30 | 16 << 16 | ord("p") << 8 | 206, buffer)
        generation, count, _ = struct.unpack("=IIQ", buffer.raw)
        return generation, count, list(told[:min(room, count)])

    def read_reservation(self):
        """(key, generation, type); Linux 6.19."""
        buffer = ctypes.create_string_buffer(16)
        self._ask(2 << 30 | 16 << 16 | ord("p") << 8 | 207, buffer)
        return struct.unpack("=QII", buffer.raw)

    def _status(self, number, form, *values):
        """Not fcntl.ioctl(), which keeps the return value to itself."""
        buffer = struct.pack(form, *values)
        return self._ask(request(number, len(buffer)), buffer)

    def _ask(self, command, buffer):
        ret = LIBC.ioctl(self.fd, ctypes.c_ulong(command), buffer)
        if ret < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        return ret
