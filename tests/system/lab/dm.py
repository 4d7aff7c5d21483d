# SPDX-License-Identifier: GPL-2.0
"""The device mapper: dm-stripe, which a volume without metadata must be equal to, and dm-multipath."""

import contextlib
from pathlib import Path

from lab.shell import read, run, udev_settle


@contextlib.contextmanager
def striped(disks, chunk_bytes, sectors):
    """A stripe over whole disks; gone afterwards."""
    run("modprobe", "-a", "dm-mod")
    places = " ".join(f"{disk} 0" for disk in disks)
    run("dmsetup", "create", "reference",
        "--table", f"0 {sectors} striped {len(disks)} {chunk_bytes // 512} {places}")
    try:
        yield "/dev/mapper/reference"
    finally:
        udev_settle()
        run("dmsetup", "remove", "--retry", "reference")


class Multipath:
    """One path, with queue_if_no_path; the test does what multipathd would do."""

    NAME = "queueing"
    device = Path("/dev/mapper") / NAME

    def __init__(self, disk):
        self.number = read(f"/sys/class/block/{Path(disk).name}/dev")

    def failed(self):
        """Has it no path?"""
        return f"{self.number} F" in run("dmsetup", "status", self.NAME)

    def reinstate(self):
        run("dmsetup", "message", self.NAME, "0", f"reinstate_path {self.number}")


@contextlib.contextmanager
def queueing(disk):
    """dm-multipath over one SCSI disk; gone afterwards, with what it queues."""
    run("modprobe", "-a", "dm-multipath", "dm-round-robin")
    sectors = read(f"/sys/class/block/{Path(disk).name}/size")
    multipath = Multipath(disk)
    run("dmsetup", "create", Multipath.NAME, "--table",
        f"0 {sectors} multipath 1 queue_if_no_path 0 1 1 round-robin 0 1 1 {multipath.number} 1")
    try:
        yield multipath
    finally:
        udev_settle()
        run("dmsetup", "message", Multipath.NAME, "0", "fail_if_no_path")
        run("dmsetup", "remove", "--retry", Multipath.NAME)
