# SPDX-License-Identifier: GPL-2.0
"""Data that are kept in memory because of a lost write, and a LUN that loses its cache meanwhile."""

import random

import pytest

from lab import ghost
from lab.disk import Direct, noise, same
from lab.ghost import AT, SIZE, state
from lab.shell import on_failure, read, wait_for
from scripted.ghost import Gate, Holder
from scripted.scenario import Scenario
from scripted.scsi import SYNCHRONIZE_CACHE_10, SYNCHRONIZE_CACHE_16, Result
from scripted.volatile import VolatileDisk


class DurableHolder(Holder):
    """The write that was held is no longer in the cache when it has been carried out."""

    def _end(self):
        self.server.target.disk.flush()
        super()._end()


@pytest.mark.parametrize("size", [SIZE, 4 * SIZE], ids=["a page", "pages"])
def test_the_cache_is_lost_before_the_flush(make_server, make_volume, links, size):
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
    older, newer = noise(size, "older"), noise(size, "newer")
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
        same(disk.read(AT, size), newer, "what is read")
    target.disk.cut(random.Random(2))
    same(bytes(target.disk.data[AT:AT + size]), newer, "what the target has")


class Flushes:
    """on_command: counts what comes to a LUN that has no ghosts."""

    def __init__(self):
        self.count = 0
        self.hooks = {"on_command": self.on_command}

    async def on_command(self, _run, _conn, task):
        self.count += task.opcode in (SYNCHRONIZE_CACHE_10, SYNCHRONIZE_CACHE_16)
        return False


def test_another_leg_is_away(make_server, make_volume, links):
    """Its return is not waited for: the LUN of the copies is flushed for itself."""
    servers, holder, other = [make_server() for _ in range(3)], Holder(), Gate()
    holder.server = servers[0]
    flushes = Flushes()

    async def on_command(run, conn, task):
        return await flushes.on_command(run, conn, task) or await holder.on_command(run, conn, task)

    hooks = {**holder.hooks(), "on_command": on_command}
    target = servers[0].load(Scenario("keeps a write", hooks=hooks), VolatileDisk)
    servers[1].load(Scenario("the other port", hooks=flushes.hooks)).disk = target.disk
    servers[2].load(Scenario("the other leg", hooks=other.hooks), identity=f"6001405{9:025x}")
    second = {**ghost.CALM, "portal": f"{links[1].address}:{servers[2].port}", "lun": 0,
              "isid": ghost.ISIDS[2], "target_name": servers[2].target.iqn}
    volume = ghost.volume_over(make_volume, links, [server.port for server in servers[:2]], target,
                               fence="auto", ghost_timeout_ms=1000, chunk_bytes=4 * AT,
                               more_legs=[second])
    older, newer = noise(SIZE, "older"), noise(SIZE, "newer")
    with Direct(volume.enable()) as disk, on_failure(volume.force_down):
        writer = ghost.write_to_holder(disk, holder, older)
        heal = ghost.silent(links[0], servers[0].port)
        try:
            writer.finish()
            disk.write(AT, newer)
            other.close(servers[2], ghost.ISIDS[2])
            wait_for("the loss", lambda: ghost.path_is(volume, 0, live=False, leg=1), 60)
        finally:
            heal()
        wait_for("the reset", lambda: holder.resets, 60)
        before = flushes.count
        holder.release()
        wait_for("the data to be written",
                 lambda: read(volume.leg_sysfs(0) / "overlay_bytes") == "0", 120)
        assert flushes.count > before
        assert ghost.path_is(volume, 0, live=False, leg=1)
        same(bytes(target.disk.data[AT:AT + SIZE]), newer, "what the target has")
        other.open(ghost.ISIDS[2])
        wait_for("the other leg", lambda: state(volume) == "live", 60)
    target.disk.cut(random.Random(1))
    same(bytes(target.disk.data[AT:AT + SIZE]), newer, "what the target has")
