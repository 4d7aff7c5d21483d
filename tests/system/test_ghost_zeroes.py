# SPDX-License-Identifier: GPL-2.0
"""Zeroes by UNMAP that are lost with their path, at a LUN that meanwhile reads none there."""

import asyncio
import subprocess
import time

from lab import ghost
from lab.disk import noise
from lab.ghost import KIB
from lab.shell import on_failure, wait_for
from scripted.scenario import Scenario
from scripted.scsi import WRITE_SAME_16, Result

SIZE = 64 * KIB


def test_zeroes_wait_for_the_unmap_before_them(make_server, make_volume, links):
    """What is sent without UNMAP is not what may still be carried out: that must not come later."""
    servers, flags = [make_server(), make_server()], []

    def hook(index):
        async def on_command(run, conn, task):
            if task.opcode != WRITE_SAME_16:
                return False
            flags.append((index, bool(task.cdb[1] & 8)))
            if len(flags) == 1:
                await run.target.collect(conn, task)
                await asyncio.Event().wait()
            if len(flags) > 2:
                return False
            # The array has moved the LUN.
            run.target.disk.thin = 0x80
            await run.target.respond(conn, task, Result.check(6, 0x2A, 1))
            return True

        return Scenario("zeroes", hooks={"on_command": on_command})

    target = servers[0].load(hook(0))
    servers[1].load(hook(1)).disk = target.disk
    volume = ghost.volume_over(make_volume, links, [server.port for server in servers], target,
                               fence="auto", path=ghost.CALM)
    device = volume.enable()
    target.disk.data[:SIZE] = noise(SIZE, "before")
    with (subprocess.Popen(["fallocate", "-p", "-l", str(SIZE), device]) as zeroes,
          on_failure(volume.force_down)):
        wait_for("the WRITE SAME", lambda: flags)
        heal = ghost.silent(links[0], servers[0].port)
        try:
            wait_for("it to be sent again", lambda: len(flags) > 2, 60)
            time.sleep(ghost.SETTLE_S)
            early = list(flags), zeroes.poll()
            # What was lost is carried out, and these blocks are not zero any more.
            target.disk.data[:SIZE] = noise(SIZE, "after")
        finally:
            heal()
        assert zeroes.wait(ghost.PATIENCE_S) == 0
    assert early == ([(0, True), (1, True), (1, True)], None)
    assert len(flags) == 4 and not flags[3][1]
    assert not any(target.disk.data[:SIZE])
