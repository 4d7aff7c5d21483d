# SPDX-License-Identifier: GPL-2.0
"""Registrations that take long, or break off.

While one takes long at one leg of a disk, paths of the others log in, and serve.
"""

import asyncio
import errno
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from lab.disk import Direct
from lab.ghost import LOST_S, wait_path
from lab.reservation import CONFLICT, IGNORE_KEY, KEY, OTHER_KEY, Reservations
from lab.shell import on_failure, read, wait_for
from scripted.registrations import (
    REGISTER,
    REGISTER_ANYWAY,
    Conflict,
    RegisteredDisk,
    second,
)
from scripted.scenario import Held, Scenario, silence
from scripted.scsi import PERSISTENT_RESERVE_IN, PERSISTENT_RESERVE_OUT

KIB = 1 << 10
CHUNK = 64 * KIB
#: Of one path.
SESSIONS = 4


@pytest.fixture
def make_legs(make_server, make_volume, links):
    """make_legs(slow): a volume of two legs, the first one over two paths: (volume, the servers, what
    holds PERSISTENT RESERVE OUT at the slow leg).
    """

    def make(slow):
        held = Held(PERSISTENT_RESERVE_OUT)
        servers = [make_server() for _ in range(2)]
        for index, server in enumerate(servers):
            hooks = {"on_command": held.on_command} if index == slow else {}
            server.load(Scenario("slow", hooks=hooks), RegisteredDisk,
                        identity=f"6001405{index:025x}")
        (first, second), (third, _) = (
            [{"portal": f"{link.address}:{server.port}", "nic": link.nic, "lun": 0,
              "target_name": server.target.iqn, "login_timeout_ms": 10000,
              "default_time2wait": 0} for link in links[:2]] for server in servers)
        volume = make_volume(servers[0].target, path=first, more_paths=[second],
                             more_legs=[third], chunk_bytes=CHUNK, recovery_timeout_ms=20000)
        return volume, servers, held

    return make


def keys(server):
    return list(server.target.disk.keys.values())


async def reset(server):
    for conn in server.connections():
        conn.reset()


@pytest.mark.parametrize("slow", [0, 1], ids=["before-it", "after-it"])
def test_a_leg_serves_while_another_one_is_slow(make_legs, slow):
    """It has its turn later, or has had it."""
    volume, servers, held = make_legs(slow)
    device, other = volume.enable(), servers[1 - slow]
    wait_path(volume, 1, True)
    with (Direct(device) as disk, Reservations(device) as ours, ThreadPoolExecutor() as pool,
          on_failure(volume.force_down)):
        servers[slow].arm()
        register = pool.submit(ours.register, 0, KEY)
        wait_for("the registration", lambda: held.tasks)
        before = other.sessions()
        other.call(reset(other))
        disk.read((1 - slow) * CHUNK, 4 * KIB)
        assert other.sessions() > before
        servers[slow].call(held.release())
        assert register.result(LOST_S) == 0
    assert [keys(server) for server in servers] == [[KEY, KEY], [KEY]]


def test_taken_back_from_a_path_that_has_come_since(make_legs, links):
    """One leg has the key, and a path of it logs in with that; then the other leg refuses."""
    volume, servers, held = make_legs(1)

    def refuses(_nexus):
        raise Conflict

    servers[1].target.disk.when_registered = refuses
    with (Reservations(volume.enable()) as ours, ThreadPoolExecutor() as pool,
          on_failure(volume.force_down)):
        servers[1].arm()
        wait_path(volume, 1, True)
        links[1].set_up(False)
        try:
            wait_path(volume, 1, False)
            register = pool.submit(ours.register, 0, KEY, IGNORE_KEY)
            wait_for("the registration", lambda: held.tasks)
            assert keys(servers[0]) == [KEY]
        finally:
            links[1].set_up(True)
        wait_path(volume, 1, True)
        assert keys(servers[0]) == [KEY, KEY]
        servers[1].call(held.release())
        assert register.result(LOST_S) == CONFLICT
    assert [keys(server) for server in servers] == [[], []]


@pytest.mark.allow_log("error(,| on) dev istripe|reservation conflict|critical nexus error",
                       "another host holds a reservation")
@pytest.mark.parametrize("told", [False, True], ids=["found", "told"])
def test_preempted_and_not_taken_back(registered, server, kernel_log, told):
    """The session breaks before the list that counts: the next login ends the registration, also
    if the key has been forgotten since, as the other path was told.
    """

    async def on_login(_run, _conn, _pdu):
        while broken and not let_go.is_set():
            await asyncio.sleep(0.05)
        return False

    def refused():
        with pytest.raises(OSError) as failed, Direct(device) as direct:
            direct.write(0, bytes(4 * KIB))
        return failed.value.errno == errno.EBADE

    def break_session(nexus):
        for conn in server.connections():
            if conn.session.isid == nexus[1]:
                conn.reset()

    def breaks(nexus):
        broken.append(dict(disk.keys))
        break_session(nexus)

    def preempts():
        disk.preempt("another host", KEY)
        return breaks

    async def lose():
        del disk.keys[nexuses[1]]
        disk.when_read = second(preempts)
        break_session(nexuses[1])

    broken, let_go = [], threading.Event()
    volume, disk, nexuses = registered(scenario=Scenario("later", hooks={"on_login": on_login}))
    device = volume.enable()
    with Reservations(device) as ours:
        assert ours.register(0, KEY) == 0
        disk.register("another host", OTHER_KEY)
        server.call(lose())
        wait_for("the end of the session", lambda: broken, LOST_S)
        assert not told or refused()
        let_go.set()
        wait_path(volume, 1, True)
        assert broken == [{"another host": OTHER_KEY, nexuses[1]: KEY}]
        assert disk.keys == {"another host": OTHER_KEY}
        assert refused()
        assert len(kernel_log.matching("paths that log in are not registered with it any more")) == 1


def test_down_while_all_wait_to_be_registered(make_scripted, server):
    """The target answers none of them: the volume goes down with the first one, not one by one."""

    async def on_command(run, conn, task):
        if not run.armed:
            return False
        # The session that is stopped first is the last one to wait.
        while (task.opcode == PERSISTENT_RESERVE_IN and conn.session.isid == first
               and (asked.count(REGISTER) < SESSIONS - 1 or REGISTER_ANYWAY not in asked)):
            await asyncio.sleep(0.01)
        if task.opcode == PERSISTENT_RESERVE_OUT:
            asked.append(task.cdb[1] & 0x1F)
            if asked[-1] == REGISTER_ANYWAY:
                await silence()
        return False

    asked = []
    volume, target = make_scripted(Scenario("silent", hooks={"on_command": on_command}),
                                   path={"multi": "sessions", "connections": SESSIONS})
    disk = target.disk = RegisteredDisk()
    # The last flush would wait for a path.
    disk.write_cache = False
    with Reservations(volume.enable()) as ours, on_failure(volume.force_down):
        wait_for("all sessions", lambda: volume.state() == "live", LOST_S)
        first = bytes.fromhex(read(volume.path_sysfs() / "session" / "isid"))
        assert ours.register(0, KEY) == 0
        assert keys(server) == [KEY] * SESSIONS
        disk.register("a path that has kept it", KEY)
        disk.forgets = True
        server.arm()
        server.call(reset(server))
        wait_for("all to be refused what they had", lambda: asked.count(REGISTER) == SESSIONS, LOST_S)
        volume.force_down()
    assert asked.count(REGISTER_ANYWAY) == 1
