# SPDX-License-Identifier: GPL-2.0
"""A disk past the page cache, and data that are known again."""

import hashlib
import mmap
import os
import subprocess
import threading
import time

from lab.shell import wait_for

#: Of each write and read of works().
ROUND_BYTES = 64 << 10


class Direct:
    """A disk without the page cache."""

    def __init__(self, device):
        self.fd = os.open(device, os.O_RDWR | os.O_DIRECT)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """May be called again."""
        if self.fd is not None:
            os.close(self.fd)
        self.fd = None

    def write(self, at, data):
        with mmap.mmap(-1, len(data)) as memory:
            memory[:] = data
            assert os.pwrite(self.fd, memory, at) == len(data)

    def read(self, at, size):
        with mmap.mmap(-1, size) as memory:
            assert os.preadv(self.fd, [memory], at) == size
            return memory[:]

    def flush(self):
        os.fsync(self.fd)


class Reader:
    """Reads a block of a disk again and again, and keeps the errors."""

    def __init__(self, device):
        self.fd = os.open(device, os.O_RDONLY | os.O_DIRECT)
        self.count = 0
        self.longest_s = 0      # a test may set it to 0, and look again later
        self.errors = []
        self.over = threading.Event()
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()

    def _read(self):
        with mmap.mmap(-1, 4096) as memory:
            while not self.over.is_set():
                begin = time.monotonic()
                try:
                    os.preadv(self.fd, [memory], self.count % 256 * 4096)
                except OSError as err:
                    self.errors.append(err)
                self.longest_s = max(self.longest_s, time.monotonic() - begin)
                self.count += 1

    def goes_on(self, reads=10):
        goal = self.count + reads
        wait_for("reads", lambda: self.count >= goal, 60)

    def end(self):
        self.over.set()
        self.thread.join(60)
        os.close(self.fd)


def start_write(device):
    """The process that writes the first block."""
    return subprocess.Popen(["dd", "if=/dev/zero", f"of={device}", "oflag=direct", "bs=4k",
                             "count=1"], stderr=subprocess.DEVNULL)


def noise(size, seed):
    return hashlib.shake_256(f"scripted-{seed}".encode()).digest(size)


def same(found, wanted, what):
    """Without the long look that pytest takes at what differs."""
    if found != wanted:
        first = next(i for i, pair in enumerate(zip(found, wanted)) if pair[0] != pair[1])
        raise AssertionError(f"{what} differs from byte {first} on")


def works(disk, seed, rounds=16):
    """Writes and reads, over all paths that get I/O."""
    data = noise(ROUND_BYTES, seed)
    for at in range(rounds):
        disk.write(at * ROUND_BYTES, data)
        same(disk.read(at * ROUND_BYTES, ROUND_BYTES), data, "what was read")
