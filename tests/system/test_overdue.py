# SPDX-License-Identifier: GPL-2.0
"""Commands that the target does not finish: abort, LUN reset, a new session; nothing is lost."""

import time

import pytest

from lab import fio, lio, storage
from lab.shell import run

MIB = 1 << 20
ABORTS = r"is overdue: aborting it"


class FreezingLun(lio.Lun):
    """A LUN whose file lies on a file system that can be frozen: then its writes hang."""

    def create(self):
        run("modprobe", "loop")
        self.disk = storage.image(f"{self.name}-disk", self.size_bytes + 32 * MIB)
        run("mkfs.ext4", "-q", "-F", self.disk)
        self.mount = storage.ROOT / f"{self.name}-mount"
        self.mount.mkdir()
        run("mount", "-o", "loop", self.disk, self.mount)
        root, storage.ROOT = storage.ROOT, self.mount
        try:
            super().create()
        finally:
            storage.ROOT = root

    def freeze(self):
        run("fsfreeze", "-f", self.mount)

    def thaw(self):
        run("fsfreeze", "-u", self.mount)

    def destroy(self):
        super().destroy()
        run("umount", self.mount)
        self.mount.rmdir()
        self.disk.unlink()


def run_with_stall(make_lio, make_volume, stall_s):
    """fio verifies while the LUN hangs once; returns the volume."""
    lun = FreezingLun(64 * MIB)
    volume = make_volume(make_lio(lun), command_timeout_ms=1000, recovery_timeout_ms=300000,
                         path={"default_time2wait": 0})
    device = volume.enable()
    # Only a second of writes before and a second after it is certain.
    job = fio.start(device, **fio.verify_options(48 * MIB, jobs=4, largest_bytes=MIB, depth=4),
                    rate_iops=40)
    time.sleep(2)
    lun.freeze()
    try:
        time.sleep(stall_s)
    finally:
        lun.thaw()
    assert fio.finish(job).errors() == 0
    volume.wait_state("live")
    return volume


@pytest.mark.timeout_s(600)
@pytest.mark.allow_log(ABORTS, "the test makes commands time out")
def test_short_stall_ends_with_abort(make_lio, make_volume, kernel_log):
    """The target agrees to the abort as soon as it can; the session lives on."""
    volume = run_with_stall(make_lio, make_volume, 4)
    lines = "\n".join(kernel_log.read())
    assert ABORTS in lines
    assert volume.reconnects() == 0


@pytest.mark.timeout_s(900)
@pytest.mark.allow_log(ABORTS, "the test makes commands time out")
@pytest.mark.allow_log(r"resetting the LUN", "and the abort, too")
def test_long_stall_ends_with_a_new_session(make_lio, make_volume, kernel_log):
    """Neither abort nor LUN reset is answered: the session is given up and reinstated."""
    volume = run_with_stall(make_lio, make_volume, 30)
    lines = "\n".join(kernel_log.read())
    assert "resetting the LUN" in lines
    assert "commands time out, and so do abort and LUN reset" in lines
    assert volume.reconnects() >= 1
