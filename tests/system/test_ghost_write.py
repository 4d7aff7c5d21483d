# SPDX-License-Identifier: GPL-2.0
"""Ghost writes: what a lost path has left in the target must not come back over newer data.

The target of this test holds a write, and does not notice that the path it came over is dead.
Only a login with the path's ISID makes it drop the write. The initiator sends it again over
another path, then writes newer data to the same place. Then the target lets the old one go on.
"""

import asyncio
import contextlib
import threading
import time

from lab.shell import read, wait_for, write
from scripted.scenario import Scenario
from scripted.scsi import WRITE_16
from test_scripted import Direct, Named, noise, same

KIB = 1 << 10
FAST = {"default_time2wait": 0, "login_timeout_ms": 3000, "ping_interval_ms": 300,
        "ping_timeout_ms": 700}


async def hold(run, _conn, task):
    """The first write waits until release(); then it is carried out, if it is still there."""
    if task.opcode == WRITE_16 and run.strike():
        run.memory["event"] = asyncio.Event()
        await run.memory["event"].wait()
        run.memory["carried out"] = True
    return False


def state(volume):
    return read(volume.sysfs() / "state")


def volume_over(make_volume, links, ports, target, **options):
    """A volume of one leg with a path over each link, each to a port."""
    options = {"policy": "failover", "recovery_timeout_ms": -1, "path": FAST, **options}
    volume = make_volume(Named(target.settings.name), paths=links, **options)
    for index, (link, port) in enumerate(zip(links, ports)):
        write(volume.leg / "paths" / str(index) / "portal", f"{link.address}:{port}")
    return volume


def held_write(disk, target, data, error=False):
    """A write that the target holds; the thread that waits for it, and for its error if so."""

    def work():
        with contextlib.suppress(OSError) if error else contextlib.nullcontext():
            disk.write(64 * KIB, data)

    writer = threading.Thread(target=work, daemon=True)
    writer.start()
    wait_for("the write that is held", lambda: "event" in target.run.memory, 20)
    return writer


def release(server, target):
    server.loop.call_soon_threadsafe(target.run.memory["event"].set)
    time.sleep(1)


def test_ghost_write(server, make_volume, links):
    target = server.load(Scenario("ghost", hooks={"on_command": hold}))
    volume = volume_over(make_volume, links, [server.port] * 2, target, fence="portal-group")
    older, newer = noise(4 * KIB, 1), noise(4 * KIB, 2)
    with Direct(volume.enable()) as disk:
        volume.wait_proven()
        server.arm()
        writer = held_write(disk, target, older)
        links[0].set_up(False)
        try:
            writer.join(30)
            assert not writer.is_alive(), "the write does not go on over the other path"
            assert state(volume) == "degraded"
            disk.write(64 * KIB, newer)
            release(server, target)
            same(disk.read(64 * KIB, 4 * KIB), newer, "the data on the disk")
            assert "carried out" not in target.run.memory
        finally:
            links[0].set_up(True)
        wait_for("both paths", lambda: state(volume) == "live", 60)
        same(disk.read(64 * KIB, 4 * KIB), newer, "the data on the disk")
    volume.disable()
    assert server.violations() == []
