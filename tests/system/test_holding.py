# SPDX-License-Identifier: GPL-2.0
"""What commands of a live path wait for before they are sent: `holding` of the path says it.

The fence is in test_paths.py, a revalidation in test_attention.py, the pace in test_slow_links.py.
"""

from concurrent.futures import ThreadPoolExecutor

import pytest

from conftest import MIB
from lab.disk import Direct, noise, same
from lab.shell import on_failure, read, udev_settle, wait_for
from scripted.checks import LUN_RESET
from scripted.ghost import REJECTED
from scripted.scenario import Held, Scenario, silence
from scripted.scsi import READ_16, WRITE_16

BLOCK = 4096
#: Commands that the target lets come at a time.
WINDOW = 4
LIMIT_S = 60


def holding(volume):
    return read(volume.path_sysfs() / "holding")


def test_the_window_is_closed(make_scripted, server):
    """The target has as many commands as it takes: the others wait until it has answered some."""
    held = Held(READ_16)
    volume, _ = make_scripted(Scenario("holds reads", settings={"depth": WINDOW},
                                       hooks={"on_command": held.on_command}))
    device = volume.enable()
    udev_settle()
    with (Direct(device) as disk, ThreadPoolExecutor(2 * WINDOW) as pool,
          on_failure(volume.force_down)):
        assert holding(volume) == "none"
        server.arm()
        reads = [pool.submit(disk.read, at * BLOCK, BLOCK) for at in range(2 * WINDOW)]
        wait_for("a reason to wait", lambda: holding(volume) == "window", LIMIT_S)
        wait_for("the others", lambda: len(held.tasks) == WINDOW, LIMIT_S)
        assert holding(volume) == "window"
        server.call(held.release())
        assert {each.result(LIMIT_S) for each in reads} == {bytes(BLOCK)}
        wait_for("no reason to wait", lambda: holding(volume) == "none", LIMIT_S)
        disk.write(MIB, noise(BLOCK, 1))
        same(disk.read(MIB, BLOCK), noise(BLOCK, 1), "what was read")
        assert volume.reconnects() == 0


@pytest.mark.allow_log("has timed out: aborting it|commands stay unanswered",
                       "a read that the target does not answer")
def test_the_lun_is_being_reset(make_scripted, server):
    """The target aborts no read, and takes its time for a reset: nothing is sent until then."""
    asked, late, over = [], [], []

    async def on_command(run, _conn, task):
        if task.opcode == WRITE_16 and asked and not over:
            late.append(task)
        if task.opcode != READ_16 or not run.strike():
            return False
        await silence()
        return True

    async def on_tmf(run, conn, pdu):
        if over:
            return False
        if pdu.flags & 0x7F == LUN_RESET:
            asked.append((conn, pdu))
        else:
            await run.target.answer_task_management(conn, pdu, REJECTED)
        return True

    async def answer():
        over.append(True)
        conn, pdu = asked[-1]
        # After 10 s the session ends, and a reset that is asked for by the next one is answered.
        if not conn.closed.is_set():
            response = target.manage(conn.session, pdu)
            await target.answer_task_management(conn, pdu, response)

    volume, target = make_scripted(
        Scenario("is slow to reset", hooks={"on_command": on_command, "on_tmf": on_tmf}),
        command_timeout_ms=3000)
    device = volume.enable()
    udev_settle()
    inflight = volume.sysfs().parent / "inflight"
    with Direct(device) as disk, ThreadPoolExecutor() as pool, on_failure(volume.force_down):
        assert holding(volume) == "none"
        server.arm()
        reading = pool.submit(disk.read, 0, BLOCK)
        wait_for("the reset", lambda: asked, LIMIT_S)
        assert holding(volume) == "reset"
        writing = pool.submit(disk.write, MIB, noise(BLOCK, 1))
        wait_for("the write", lambda: read(inflight).split() == ["1", "1"], LIMIT_S)
        assert holding(volume) == "reset"
        server.call(answer())
        assert reading.result(LIMIT_S) == bytes(BLOCK)
        writing.result(LIMIT_S)
        assert late == []
        wait_for("no reason to wait", lambda: holding(volume) == "none", LIMIT_S)
        same(disk.read(MIB, BLOCK), noise(BLOCK, 1), "what was read")
