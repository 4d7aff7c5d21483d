# SPDX-License-Identifier: GPL-2.0
"""Runs in the virtual machine whose power is cut: checks what is there, then writes until it dies.

What to do, and what has come of it, goes over a TCP connection to tests/power/cuts.py outside, a
JSON object in each line: what has been told there does not die with the machine.
"""

import json
import mmap
import os
import socket
import sys
import threading
import time
from pathlib import Path

from lab import istripe, outside
from lab.shell import LabError, run
from records import KINDS

PORT = 7000
ROOT = Path("/run/power")
MKFS = {"xfs": ("mkfs.xfs", "-q", "-f", "-K", "--unsupported", "-l",
                "size=10m"),
        "ext4": ("mkfs.ext4", "-q", "-F", "-E", "nodiscard")}
FSCK = {"xfs": ("xfs_repair", "-n"), "ext4": ("e2fsck", "-f", "-n")}
NOISE_BYTES = 16 << 10
NOISE_SLOTS = 64


class Wire:
    """To and from the world outside."""

    def __init__(self):
        self.socket = socket.create_connection((outside.ADDRESS, PORT), timeout=60)
        self.socket.settimeout(None)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.lock = threading.Lock()

    def orders(self):
        return json.loads(self.socket.makefile("r", encoding="utf-8").readline())

    def tell(self, **what):
        with self.lock:
            self.socket.sendall(json.dumps(what).encode() + b"\n")


class Volume:
    def __init__(self, orders, wire):
        self.name = orders["name"]
        self.kind = orders["fs"]
        self.fresh = orders["fresh"]
        self.kinds = orders["kinds"]
        self.wire = wire
        self.folder = ROOT / self.name
        self.volume = outside.volume(self.name, orders["legs"], recovery_timeout_ms=60000)

    def mount(self):
        device = self.volume.up()
        self.folder.mkdir(parents=True)
        if self.fresh:
            run(*MKFS[self.kind], device)
        run("mount", "-t", self.kind, device, self.folder)
        self.wire.tell(mounted=self.name)

    def check(self, boot):
        """Tells what is there of the records of the boot before this one; makes room."""
        for kind in KINDS:
            path = self.folder / f"{kind.name}-{boot - 1}"
            self.wire.tell(found=self.name, kind=kind.name, numbers=kind.found(path))
            path.unlink(missing_ok=True)

    def write(self, boot):
        threads = [threading.Thread(target=self.noise)]
        for kind in KINDS:
            if kind.name not in self.kinds:
                continue
            writer = kind(str(self.folder / f"{kind.name}-{boot}"))
            threads.append(threading.Thread(target=self.records, args=(writer,)))
        for thread in threads:
            thread.start()

    def records(self, writer):
        try:
            writer.open()
            while True:
                self.wire.tell(durable=self.name, kind=writer.name, number=writer.step())
        except OSError as error:
            self.wire.tell(failed=f"{self.name}: {writer.name}: {error}")

    def noise(self):
        """Blocks that nobody wants to be durable: the disk's cache always has something to lose."""
        try:
            self.noise_write()
        except OSError as error:
            self.wire.tell(failed=f"{self.name}: noise: {error}")

    def noise_write(self):
        fd = os.open(self.folder / "noise", os.O_RDWR | os.O_CREAT | os.O_DIRECT)
        with mmap.mmap(-1, NOISE_BYTES) as memory:
            os.posix_fallocate(fd, 0, NOISE_SLOTS * NOISE_BYTES)
            for turn in range(1 << 30):
                memory[:8] = turn.to_bytes(8, "little")
                os.pwrite(fd, memory, turn % NOISE_SLOTS * NOISE_BYTES)
                time.sleep(0.05)

    def close(self):
        device = Path("/dev") / self.volume.device()
        run("umount", self.folder)
        run(*FSCK[self.kind], device, timeout_s=600)
        self.volume.delete()


def main():
    outside.connect()
    wire = Wire()
    orders = wire.orders()
    try:
        istripe.load()
        volumes = [Volume(each, wire) for each in orders["volumes"]]
        for volume in volumes:
            volume.mount()
            volume.check(orders["boot"])
        if not orders["last"]:
            for volume in volumes:
                volume.write(orders["boot"])
            threading.Event().wait()
        for volume in volumes:
            volume.close()
        istripe.unload()
    except (LabError, istripe.EnableError, OSError) as error:
        wire.tell(failed=str(error))
        return 1
    wire.tell(done=True)
    return 0


sys.exit(main())
