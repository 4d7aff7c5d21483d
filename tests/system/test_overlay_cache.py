# SPDX-License-Identifier: GPL-2.0
"""Data that are kept in memory because of a lost write, and a LUN that loses its cache meanwhile."""

import contextlib
import random

import pytest

from lab import ghost
from lab.disk import Direct, noise, same
from lab.ghost import AT, FAST, ISIDS, SIZE, path_is, state
from lab.shell import read, wait_for
from scripted.ghost import Gate, Holder
from scripted.scenario import HONEST, Scenario
from scripted.scsi import SYNCHRONIZE_CACHE_10, SYNCHRONIZE_CACHE_16, Result
from scripted.volatile import VolatileDisk


class DurableHolder(Holder):
    """The write that was held is no longer in the cache when it has been carried out."""

    def _end(self):
        self.server.target.disk.flush()
        super()._end()


def test_the_cache_is_lost_before_the_flush(make_server, make_volume, links):
    """After the fence: the copy is gone, and the flush behind it is good. It is written again."""
    servers, holder, lost = [make_server(), make_server()], DurableHolder(), []
    holder.server = servers[0]

    async def on_command(run, conn, task):
        flushes = task.opcode in (SYNCHRONIZE_CACHE_10, SYNCHRONIZE_CACHE_16)
        if not flushes or lost or not holder.resets or not holder.carried_out:
            return await holder.on_command(run, conn, task)
        lost.append(run.target.disk.cut(random.Random(1)))
        await run.target.respond(conn, task, Result.check(6, 0x29, 0))
        return True

    hooks = {**holder.hooks(), "on_command": on_command}
    target = servers[0].load(Scenario("keeps a write", hooks=hooks), VolatileDisk)
    servers[1].load(Scenario("flushes", hooks={"on_command": on_command})).disk = target.disk
    volume = ghost.volume_over(make_volume, links, [server.port for server in servers], target,
                               fence="auto", ghost_timeout_ms=1000)
    older, newer = noise(SIZE, "older"), noise(SIZE, "newer")
    with Direct(volume.enable()) as disk:
        writer = ghost.write_to_holder(disk, holder, older)
        heal = ghost.silent(links[0], servers[0].port)
        try:
            writer.finish()
            disk.write(AT, newer)
        finally:
            heal()
        wait_for("the reset", lambda: holder.resets, 60)
        holder.release()
        wait_for("all paths", lambda: state(volume) == "live", 60)
        wait_for("the data to be written",
                 lambda: read(volume.leg_sysfs(0) / "overlay_bytes") == "0", 120)
        assert len(lost) == 1 and lost[0]
        same(disk.read(AT, SIZE), newer, "what is read")
    target.disk.cut(random.Random(2))
    same(bytes(target.disk.data[AT:AT + SIZE]), newer, "what the target has")


class Away:
    """Two legs: leg 0 has newer data of a lost write in memory, leg 1 is lost and waits for ever.

    The first path of leg 0 is silent until heal(), its second one is live.
    """

    def __init__(self, volume, disk, holder, target, heal):
        self.volume, self.disk, self.holder = volume, disk, holder
        self.target, self.heal = target, heal

    def overlay_bytes(self):
        return read(self.volume.leg_sysfs(0) / "overlay_bytes")

    def check_target(self, newer):
        """It has the newer data, and not only in its cache."""
        self.target.disk.cut(random.Random(2))
        same(bytes(self.target.disk.data[AT:AT + SIZE]), newer, "what the target has")


@pytest.fixture
def away(make_server, make_volume, links):
    servers, holder, gate = [make_server() for _ in range(3)], DurableHolder(), Gate()
    holder.server = servers[0]
    target = servers[0].load(Scenario("keeps a write", hooks=holder.hooks()), VolatileDisk)
    servers[1].load(HONEST, VolatileDisk).disk = target.disk
    servers[2].load(Scenario("goes away", hooks=gate.hooks), VolatileDisk,
                    identity="6001405" + "b" * 25)
    other = {**FAST, "portal": f"{links[1].address}:{servers[2].port}", "nic": links[1].nic,
             "target_name": target.settings.name, "lun": 0, "isid": ISIDS[2]}
    volume = ghost.volume_over(make_volume, links, [server.port for server in servers[:2]], target,
                               fence="auto", ghost_timeout_ms=1000, more_legs=[other],
                               chunk_bytes=2 * AT)
    with Direct(volume.enable()) as disk, contextlib.ExitStack() as stack:
        wait_for("all paths", lambda: state(volume) == "live", 60)
        writer = ghost.write_to_holder(disk, holder, noise(SIZE, "older"))
        stack.callback(holder.release)
        stack.callback(ghost.silent(links[0], servers[0].port))
        writer.finish()
        disk.write(AT, noise(SIZE, "newer"))
        gate.close(servers[2], ISIDS[2])
        wait_for("the loss of leg 1", lambda: path_is(volume, 0, live=False, leg=1), 60)
        legs = Away(volume, disk, holder, target, stack.close)
        assert legs.overlay_bytes() == str(SIZE)
        yield legs
        gate.open(ISIDS[2])


def test_another_leg_is_away(away):
    """What is written of one leg is flushed there: that waits for no other leg."""
    wait_for("the copies to be written", lambda: not away.target.disk.cached, 60)
    away.heal()
    wait_for("the path", lambda: path_is(away.volume, 0, live=True), 60)
    wait_for("the data to be written", lambda: away.overlay_bytes() == "0", 120)
    newer = noise(SIZE, "newer")
    same(away.disk.read(AT, SIZE), newer, "what is read")
    assert not path_is(away.volume, 0, live=True, leg=1)
    away.check_target(newer)


def test_down_while_another_leg_is_away(away, kernel_log):
    """Nor is one leg blamed for the flush of another one that failed."""
    away.holder.release()
    wait_for("the older data", lambda: away.holder.carried_out)
    away.disk.close()
    away.volume.disable()
    assert not kernel_log.matching("bytes of overlays cannot be written|the disk goes")
    away.check_target(noise(SIZE, "newer"))
