# SPDX-License-Identifier: GPL-2.0
"""Counters in sysfs count what they say, once, and never fall."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from lab import network
from lab.disk import Direct, noise
from lab.istripe import INITIATOR
from lab.shell import on_failure, read, udev_settle, wait_for, write
from scripted.scenario import Scenario, silence
from scripted.scsi import READ_16, WRITE_16, Result

KIB = 1 << 10
EACH = 4
ONCE_MORE_S = 60


def counter(volume, name):
    return int(read(volume.leg_sysfs(0) / name))


def start(pool, disk, first):
    """EACH reads and EACH writes, of blocks of their own."""
    places = [(first + index) * 64 * KIB for index in range(EACH)]
    return [pool.submit(disk.write, at, noise(4 * KIB, at)) for at in places] + [
        pool.submit(disk.read, at + 8 * KIB, 4 * KIB) for at in places]


def test_what_is_lost_is_redriven_once(make_scripted, server):
    """All that the target has got and not answered; not what only waited for the path."""
    held = []

    async def on_connect(run, conn, _what):
        if not run.memory.get("away"):
            return False
        conn.close()
        return True

    async def on_command(run, _conn, task):
        if task.opcode not in (READ_16, WRITE_16) or not run.armed:
            return False
        held.append(task)
        await silence()
        return True

    volume, target = make_scripted(
        Scenario("holds", hooks={"on_connect": on_connect, "on_command": on_command}),
        path={"login_retry_max_ms": 1000}, recovery_timeout_ms=-1)
    device = volume.enable()
    udev_settle()
    with (Direct(device) as disk, ThreadPoolExecutor(4 * EACH) as pool,
          on_failure(volume.force_down)):
        server.arm()
        begun = start(pool, disk, 0)
        wait_for("the first ones", lambda: len(held) == 2 * EACH, ONCE_MORE_S)
        target.run.memory["away"] = True
        network.kill_connections(port=server.port)
        wait_for("the outage", lambda: int(read(volume.leg_sysfs(0) / "down_ms")), ONCE_MORE_S)
        begun += start(pool, disk, EACH)
        target.run.memory["away"] = False
        wait_for("all of them", lambda: len(held) == 6 * EACH, ONCE_MORE_S)
        assert counter(volume, "redriven") == 2 * EACH
        target.run.armed = False
        network.kill_connections(port=server.port)
        for each in begun:
            each.result(ONCE_MORE_S)
        assert counter(volume, "redriven") == len(held) == 6 * EACH


def test_a_read_that_moves_is_redriven(make_scripted, server):
    """It waits for nothing: the other path has it at once."""
    held = []

    async def on_command(run, conn, task):
        if task.opcode != READ_16 or not run.strike():
            return False
        held.append(task)
        conn.reset()
        conn.close()
        return True

    volume, _ = make_scripted(Scenario("resets", hooks={"on_command": on_command}), paths=2)
    device = volume.enable()
    udev_settle()
    with Direct(device) as disk:
        server.arm()
        disk.read(0, 4 * KIB)
        assert (len(held), counter(volume, "redriven")) == (1, 1)


@pytest.mark.allow_log("error, dev istripe", "the read that is given up")
@pytest.mark.allow_log("command 0x88", "what the target says")
def test_what_is_given_up_is_not_retried(make_scripted, server):
    """The last refusal is followed by no other try: the path counts it, the leg does not."""
    async def on_command(run, conn, task):
        if task.opcode != READ_16 or not run.strike():
            return False
        await run.target.respond(conn, task, Result.check(0xB, 0, 0))
        return True

    volume, target = make_scripted(Scenario("refuses", times=1 << 20,
                                            hooks={"on_command": on_command}),
                                   recovery_timeout_ms=0)
    device = volume.enable()
    udev_settle()
    with Direct(device) as disk:
        server.arm()
        with pytest.raises(OSError):
            disk.read(0, 4 * KIB)
        target.run.armed = False
        hits = target.run.hits
        assert hits > 1 and counter(volume, "retried") == hits - 1
        assert int(read(volume.path_sysfs() / "retries")) == hits


def test_sessions_that_go_leave_their_counts(make_lio, make_volume):
    """A sum that fell would be a new start for who watches it."""
    count = 3
    target = make_lio(16 << 20, params={"DefaultTime2Wait": 0}, patient_with=INITIATOR)
    volume = make_volume(target, path={"default_time2wait": 0, "login_timeout_ms": 10000,
                                       "connections": count})
    volume.enable()

    def counts():
        return tuple(int(read(volume.path_sysfs() / name)) for name in ("reconnects", "faults"))

    def wait_sessions(sessions):
        first = volume.path_sysfs() / "session"
        wait_for("as many sessions", lambda: len(network.established()) == sessions and
                 [read(place / "path_state")
                  for place in (first, *first.parent.glob("sessions/*"))] == ["live"] * sessions,
                 ONCE_MORE_S)

    wait_sessions(count)
    for rounds in (1, 2):
        before = counts()
        network.kill_connections()
        wait_for("all of them anew", lambda before=before: counts()[0] == before[0] + count,
                 ONCE_MORE_S)
        wait_sessions(count)
        lost = counts()
        assert lost[0] == rounds * count and lost[1] >= rounds * count
        for sessions in 1, count:
            write(volume.path / "connections", sessions)
            wait_sessions(sessions)
            assert counts() == lost
