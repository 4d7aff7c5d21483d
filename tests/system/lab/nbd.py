# SPDX-License-Identifier: GPL-2.0
"""A disk that holds one chosen write until it is told to let it go, and carries out all others.

It is a network block device of the kernel that is served from here, for a target to use as its
backend. For such a target the write that is held is under way, and has no end.
"""

import contextlib
import fcntl
import os
import socket
import struct
import threading
from pathlib import Path

from lab.shell import LabError, read, run, udev_settle, wait_for

#: ioctls of <linux/nbd.h>
SET_SOCK, SET_BLKSIZE, DO_IT, CLEAR_SOCK, SET_SIZE_BLOCKS, DISCONNECT, SET_FLAGS = (
    0xAB00 + number for number in (0, 1, 3, 4, 7, 8, 10))
HAS_FLAGS, SEND_FLUSH, SEND_TRIM, CAN_MULTI_CONN = 1 << 0, 1 << 2, 1 << 5, 1 << 8
READ, WRITE, END, FLUSH, TRIM = range(5)
REQUEST = struct.Struct(">IIQQI")
REPLY = struct.Struct(">IIQ")
REQUEST_MAGIC, REPLY_MAGIC = 0x25609513, 0x67446698
BLOCK_BYTES = 512


def _free():
    """A network block device that nobody uses."""
    run("modprobe", "nbd", "max_part=0")    # nobody is to look for partitions
    for number in range(16):
        if not Path(f"/sys/block/nbd{number}/pid").exists():
            return Path(f"/dev/nbd{number}")
    raise LabError("no network block device is free")


class HoldingDisk:
    """The device, `data` as its content, and the write that is held."""

    def __init__(self, size_bytes, queues=1):
        self.size_bytes = size_bytes
        self.queues = queues        # hardware queues, each with a connection
        self.data = bytearray(size_bytes)
        self.device = None
        self.carried_out = 0        # writes that had been held
        self._lock = threading.Lock()
        self._hold_at = None
        self._held = None

    def create(self):
        self.device = _free()
        pairs = [socket.socketpair() for _ in range(self.queues)]
        fd = os.open(self.device, os.O_RDWR)
        fcntl.ioctl(fd, SET_BLKSIZE, BLOCK_BYTES)
        fcntl.ioctl(fd, SET_SIZE_BLOCKS, self.size_bytes // BLOCK_BYTES)
        fcntl.ioctl(fd, SET_FLAGS, HAS_FLAGS | SEND_FLUSH | SEND_TRIM | CAN_MULTI_CONN)
        for _, theirs in pairs:
            fcntl.ioctl(fd, SET_SOCK, theirs.fileno())
        self._fd = fd
        self._threads = [threading.Thread(target=self._kernel, args=(fd, [t for _, t in pairs]),
                                          daemon=True)]
        self._threads += [threading.Thread(target=self._serve, args=(ours,), daemon=True)
                          for ours, _ in pairs]
        for thread in self._threads:
            thread.start()
        wait_for(f"{self.device}", lambda: read(f"/sys/block/{self.device.name}/size") ==
                 str(self.size_bytes // BLOCK_BYTES))
        wait_for(f"{self.device}", Path(f"/sys/block/{self.device.name}/pid").exists)
        return self

    @staticmethod
    def _kernel(fd, theirs):
        """In here the kernel sends its requests, until DISCONNECT."""
        with contextlib.suppress(OSError):
            fcntl.ioctl(fd, DO_IT)
        for each in theirs:
            each.close()

    @staticmethod
    def _take(ours, size):
        parts = bytearray()
        while len(parts) < size:
            part = ours.recv(size - len(parts))
            if not part:
                raise EOFError
            parts += part
        return parts

    def _serve(self, ours):
        with contextlib.suppress(EOFError, OSError), ours:
            while True:
                magic, kind, handle, at, size = REQUEST.unpack(self._take(ours, REQUEST.size))
                if magic != REQUEST_MAGIC or kind & 0xFFFF == END:
                    return
                self._request(ours, kind & 0xFFFF, handle, at, size)

    def _request(self, ours, kind, handle, at, size):
        data = b""
        if kind == WRITE:
            data = self._take(ours, size)
            if self._hold((ours, handle, at, data)):
                return
            self.data[at:at + size] = data
            data = b""
        elif kind == TRIM:
            self.data[at:at + size] = bytes(size)
        elif kind == READ:
            data = self.data[at:at + size]
        self._reply(ours, handle, data)

    def _reply(self, ours, handle, data=b""):
        with self._lock:
            ours.sendall(REPLY.pack(REPLY_MAGIC, 0, handle) + data)

    def _hold(self, request):
        wanted, (_, _, at, data) = self._hold_at, request
        if wanted is None or not at <= wanted < at + len(data):
            return False
        self._held = request
        self._hold_at = None
        return True

    def hold(self, at):
        """The next write to this offset is held."""
        self._hold_at = at

    def held(self):
        """Is there a write that waits for release()?"""
        return self._held is not None

    def release(self):
        """The write that is held is carried out, over whatever is there by now; if there is one."""
        held, self._held, self._hold_at = self._held, None, None
        if held:
            ours, handle, at, data = held
            self.data[at:at + len(data)] = data
            self.carried_out += 1
            self._reply(ours, handle)

    def destroy(self):
        if not self.device:
            return
        self.release()
        # It looks at the disk when the target has closed it.
        udev_settle()
        fcntl.ioctl(self._fd, DISCONNECT)
        for thread in self._threads:
            thread.join(60)
        fcntl.ioctl(self._fd, CLEAR_SOCK)
        os.close(self._fd)
        if any(thread.is_alive() for thread in self._threads):
            raise LabError(f"{self.device} does not end")
        self.device = None
