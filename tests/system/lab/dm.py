# SPDX-License-Identifier: GPL-2.0
"""dm-stripe: what a volume without metadata must be equal to."""

import contextlib

from lab.shell import run, udev_settle


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
