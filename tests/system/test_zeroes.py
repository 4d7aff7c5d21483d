# SPDX-License-Identifier: GPL-2.0
"""Zeroes that the LUN makes by unmapping, and then does not read there any more."""

import asyncio

import pytest

from conftest import MIB
from lab.shell import run
from scripted.scenario import Scenario
from scripted.scsi import SERVICE_ACTION_IN_16, WRITE_SAME_16, Result, number

COUNT = 4


class Moving:
    """A hook: all of COUNT zeroing commands are there, the first one is told that the LUN has changed.

    The others are GOOD before READ CAPACITY(16) is answered. Unmapped blocks read as `reads`.
    """

    def __init__(self, thin):
        self.thin = thin
        self.reads = b"\0" if thin & 0x40 else b"\xa5"
        self.flags, self.held, self.good = [], [], 0
        self.all_there, self.told, self.answered = (asyncio.Event() for _ in range(3))

    async def _tells(self, run, conn, task):
        run.target.disk.thin = self.thin
        await run.target.respond(conn, task, Result.check(6, 0x3F, 3))
        self.told.set()

    async def _unmaps(self, run, conn, task):
        disk = run.target.disk
        at, size = (number(task.cdb, *where) * disk.block_bytes for where in ((2, 8), (10, 4)))
        disk.data[at:at + size] = self.reads * size
        await run.target.respond(conn, task, Result())
        self.good += 1
        if self.good == COUNT - 1:
            self.answered.set()

    async def __call__(self, run, conn, task):
        if task.opcode == SERVICE_ACTION_IN_16 and self.held:
            await self.answered.wait()
        if task.opcode != WRITE_SAME_16:
            return False
        self.flags.append(bool(task.cdb[1] & 8))
        if not self.flags[-1]:
            return False
        await run.target.collect(conn, task)
        if len(self.held) < COUNT:
            self.held.append(task)
            if len(self.held) == COUNT:
                self.all_there.set()
            await self.all_there.wait()
        if task is self.held[0]:
            await self._tells(run, conn, task)
        else:
            await self.told.wait()
            await self._unmaps(run, conn, task)
        return True


@pytest.mark.parametrize("thin, last", [(0x80, 1), (0xC0, 0)], ids=["reads-none", "reads-zeroes"])
def test_several_on_the_way(server, link, make_volume, thin, last):
    """What ends before the LUN has been asked is sent once more, without UNMAP, whatever it says then.

    The first one, which waits for that, is sent as before, and again if that was not good.
    """
    moving = Moving(thin)
    target = server.load(Scenario("moves", hooks={"on_command": moving}), max_write_same=2048)
    volume = make_volume(target, metadata="none",
                         path={"portal": f"{link.address}:{server.port}"})
    device = volume.enable()
    target.disk.data[:COUNT * MIB] = b"\x5a" * (COUNT * MIB)
    run("fallocate", "-p", "-l", COUNT * MIB, device)
    assert not any(target.disk.data[:COUNT * MIB])
    assert moving.flags[:COUNT] == [True] * COUNT
    assert moving.flags.count(True) == COUNT + 1
    assert moving.flags.count(False) == COUNT - 1 + last
