# SPDX-License-Identifier: GPL-2.0
"""Commands that the target does not finish: nothing is lost."""

import asyncio
import time

import pytest

from lab import fio, lio, storage
from lab.istripe import Named
from lab.shell import read, run, wait_for
from scripted.scenario import Scenario
from scripted.steps import on_write

#: They take long, and what they test does not depend on the kernel.
pytestmark = pytest.mark.shared

MIB = 1 << 20
#: one command at a time, or the LUN at once when many are overdue
ABORTS = "is overdue: aborting it|commands stay overdue"
#: What an emulated processor makes of a command must not count as overdue.
TIMEOUT_S = 5


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
    volume = make_volume(make_lio(lun), command_timeout_ms=TIMEOUT_S * 1000,
                         recovery_timeout_ms=300000, path={"default_time2wait": 0})
    device = volume.enable()
    job = fio.start(device, **fio.verify_options(64 * MIB, jobs=4, block_bytes=64 << 10,
                                                 largest_bytes=MIB, depth=4))
    commands = volume.sysfs() / "legs" / "0" / "commands"
    begin = int(read(commands))
    wait_for("fio's writes", lambda: int(read(commands)) > begin + 20, 120, 0.01)
    lun.freeze()
    try:
        time.sleep(stall_s)
    finally:
        lun.thaw()
    assert fio.finish(job).errors() == 0
    volume.wait_state("live")
    return volume


async def dropped_then_slow(run, conn, task):
    """The connection ends before the command is overdue; sent again, it needs as long once more."""
    await asyncio.sleep(0.7 * TIMEOUT_S)
    if run.hits == 1:
        conn.close()
    else:
        await run.target.execute(conn, task)


def test_sent_again_has_its_time_again(server, link, make_volume, kernel_log):
    """The request is older than command_timeout_ms by then, the command is not."""
    target = server.load(Scenario("slow", times=2, hooks=on_write(dropped_then_slow)))
    volume = make_volume(Named(target.settings.name), command_timeout_ms=TIMEOUT_S * 1000,
                         path={"portal": f"{link.address}:{server.port}", "default_time2wait": 0})
    device = volume.enable()
    server.arm()
    run("dd", "if=/dev/zero", f"of={device}", "oflag=direct", "bs=4k", "count=1")
    assert target.run.hits == 2
    assert not kernel_log.matching(ABORTS)
    volume.disable()
    assert server.violations() == []


@pytest.mark.timeout_s(900)
@pytest.mark.parametrize("stall_s", [TIMEOUT_S + 5, 6 * TIMEOUT_S], ids=["short", "long"])
@pytest.mark.allow_log(ABORTS, "the test makes commands time out")
def test_lun_hangs(make_lio, make_volume, kernel_log, stall_s):
    """LIO stands still with its LUN, pings and all: abort, then a new session, nothing lost."""
    run_with_stall(make_lio, make_volume, stall_s)
    assert kernel_log.matching(ABORTS)
