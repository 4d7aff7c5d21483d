# SPDX-License-Identifier: GPL-2.0
"""Data that are kept in memory because of a lost write, and a LUN that loses its cache meanwhile."""

import random

from lab import ghost
from lab.disk import Direct, noise, same
from lab.ghost import AT, SIZE, state
from lab.shell import read, wait_for
from scripted.ghost import Holder
from scripted.scenario import Scenario
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
