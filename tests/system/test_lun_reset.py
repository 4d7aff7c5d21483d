# SPDX-License-Identifier: GPL-2.0
"""Several losses and one LUN: whose writes go on with which answer to a LOGICAL UNIT RESET.

The target keeps a write of each path. test_ghost_write.py has what one reset does.
"""

import asyncio
import contextlib
import os
import time
import types

import pytest

from lab.connections import in_use
from lab.disk import Direct, Reader, noise, same
from lab.ghost import (
    AT,
    ISIDS,
    KIB,
    SIZE,
    Write,
    path_is,
    path_state,
    set_isids,
    state,
    volume_over,
)
from lab.shell import LabError, read, wait_for, write
from scripted.checks import LUN_RESET
from scripted.ghost import COMPLETE, NO_TASK, REJECTED, Gate, Resets, forgets
from scripted.pdu import NOP_IN, RESERVED_TAG, Pdu
from scripted.scenario import HONEST, Scenario
from scripted.scsi import SYNCHRONIZE_CACHE_16, WRITE_16, number

MIB = 1 << 20
#: A path is lost when the target says so, not because an emulated processor stands still.
PATH = {"default_time2wait": 0, "login_timeout_ms": 20000, "login_retry_max_ms": 1000,
        "ping_interval_ms": 60000}
#: How long a write that must not go on is given to do so.
SETTLE_S = 1
#: How long a write that the target may not know any more is given to be asked for.
ASKED_S = 5
#: Longer than the first reset is waited for, and not as long as the second one.
LATE_S = 15
#: 10 s, and the machine may be busy; far from the 40 s that a silent path has.
YIELD_S = 25
#: Others are quiesced for three seconds, and the machine may be busy.
STALL_S = 8
#: Half of what another path's ping is waited for; far from the time that a command has.
PING_S, COLLECTED_S = 0.5, 10


class Paths:
    """A volume of a path over each link, which do not fence each other, and its target's Gate and
    Resets.
    """

    def __init__(self, server, make_volume, links, volume=None, **hooks):
        self.server = server
        self.gate, self.resets = Gate(), Resets(AT, MIB)
        self.answered = 0           # so many of the resets that were asked for
        self.target = server.load(Scenario(
            "keeps writes", hooks={**self.gate.hooks, **self.resets.hooks, **hooks}))
        volume = {"fence": "path", "command_timeout_ms": 120000, **(volume or {})}
        self.volume = volume_over(make_volume, links, [server.port] * 2, self.target, path=PATH,
                                  **volume)
        set_isids(self.volume, len(links))

    def kept_write(self, disk, path, at):
        """A write over this path, the first one that is live, which the target keeps."""
        writer = Write(disk, at, noise(4 * KIB, at))
        wait_for("the write that is kept", lambda: at in self.resets.kept)
        assert self.resets.writes[-1] == (at, ISIDS[path])
        return writer

    def lose(self, path):
        """It stays away until gate.open()."""
        self.gate.close(self.server, ISIDS[path])
        wait_for("the path's end", lambda: path_is(self.volume, path, False))

    def back(self, path):
        self.gate.open(ISIDS[path])
        wait_for("the login", lambda: any(session.isid.hex() == ISIDS[path] for session in
                                          list(self.target.sessions.values())))

    def asked(self):
        """The ISIDs over which a reset was asked for since the last answer.

        After 10 s without one, and then longer, the session is given up, and it is asked for again.
        """
        return {conn.session.isid.hex() for conn, _ in self.resets.asked[self.answered:]}

    def wait_reset(self, path, writer):
        """The reset is asked for over this path, the write has not gone on."""
        wait_for("the reset", lambda: self.asked() or not writer.is_alive())
        assert writer.is_alive(), "the write does not wait for the reset of its own path"
        assert self.asked() == {ISIDS[path]}

    def answer(self, path, response=COMPLETE):
        """The last reset that is asked for over this path; those before it are no more."""

        async def last():
            for conn, pdu in reversed(self.resets.asked[self.answered:]):
                if conn.session.isid.hex() == ISIDS[path] and not conn.closed.is_set():
                    self.answered = len(self.resets.asked)
                    await self.target.answer_task_management(conn, pdu, response)
                    return True
            return False

        wait_for("a reset to answer", lambda: self.server.call(last()), 60)

    def still_waits(self, writer, at, settle_s=SETTLE_S):
        writer.join(settle_s)
        assert writer.is_alive(), "the write does not wait for the reset of its own path"
        assert [place for place, _ in self.resets.writes].count(at) == 1

    def end(self, disk):
        for at in self.resets.places:
            same(disk.read(at, 4 * KIB), noise(4 * KIB, at), "the data on the disk")
        wait_for("both paths", lambda: state(self.volume) == "live", 60)


def test_wanted_while_another_has_no_answer(server, make_volume, links):
    """The second path is lost meanwhile: what ends the first one's write ends nothing of it."""
    paths = Paths(server, make_volume, links)
    with Direct(paths.volume.enable()) as disk:
        first = paths.kept_write(disk, 0, AT)
        paths.lose(0)
        second = paths.kept_write(disk, 1, MIB)
        paths.back(0)
        paths.wait_reset(0, first)
        paths.lose(1)
        paths.back(1)
        paths.still_waits(first, AT)
        paths.still_waits(second, MIB, settle_s=0)
        assert paths.asked() == {ISIDS[0]}, "two resets at a time"
        paths.answer(0)
        first.finish()
        paths.wait_reset(1, second)
        paths.still_waits(second, MIB)
        paths.answer(1)
        second.finish()
        paths.end(disk)
    paths.volume.disable()
    assert server.violations() == []


def test_refused_to_one_path_and_done_for_another(server, make_volume, links):
    """The LUN was reset over another path: that says nothing about the first one's session."""
    paths = Paths(server, make_volume, links)
    with Direct(paths.volume.enable()) as disk:
        first = paths.kept_write(disk, 0, AT)
        paths.lose(0)
        second = paths.kept_write(disk, 1, MIB)
        paths.back(0)
        paths.wait_reset(0, first)
        # It does not come back and ask again.
        paths.gate.closed.add(ISIDS[0])
        paths.answer(0, REJECTED)
        wait_for("the refusal",
                 lambda: read(paths.volume.leg_sysfs(0) / "lun_reset") == "rejected")
        paths.lose(1)
        paths.back(1)
        paths.wait_reset(1, second)
        paths.still_waits(first, AT)
        paths.answer(1)
        second.finish()
        paths.still_waits(first, AT)
        assert read(paths.volume.path_sysfs(0, 0) / "waiting_writes") == "1"
        paths.back(0)
        paths.wait_reset(0, first)
        paths.answer(0)
        first.finish()
        paths.end(disk)
    paths.volume.disable()
    assert server.violations() == []


def test_answered_beside_a_reset(server, make_volume, links):
    """Another path's write ends before the reset does: that is its answer."""
    paths = Paths(server, make_volume, links)
    with Direct(paths.volume.enable()) as disk:
        first = paths.kept_write(disk, 0, AT)
        paths.lose(0)
        other = paths.kept_write(disk, 1, MIB)
        paths.back(0)
        paths.wait_reset(0, first)
        server.call(paths.resets.finish(paths.target, MIB))
        other.finish()
        assert first.is_alive()
        paths.answer(0)
        first.finish()
        paths.end(disk)
        assert paths.resets.writes.count((MIB, ISIDS[1])) == 1
    paths.volume.disable()
    assert server.violations() == []


def test_answered_when_asked_after_a_reset(server, make_volume, links):
    """The target does not know another path's write any more, as its answer is just being sent."""
    aborts, finished = [], []

    async def finish():
        if not finished:
            finished.append(True)
            await paths.resets.finish(paths.target, MIB)

    async def on_tmf(run, conn, pdu):
        if pdu.flags & 0x7F == LUN_RESET:
            await run.target.answer_task_management(conn, pdu, COMPLETE)
            return True
        aborts.append(pdu)
        await run.target.answer_task_management(conn, pdu, NO_TASK)
        await finish()
        return True

    paths = Paths(server, make_volume, links, on_tmf=on_tmf)

    def asked():
        """In one attempt."""
        for seen in (aborts, finished, paths.resets.writes, paths.resets.kept):
            seen.clear()
        first = paths.kept_write(disk, 0, AT)
        paths.lose(0)
        other = paths.kept_write(disk, 1, MIB)
        paths.back(0)
        first.finish()
        with contextlib.suppress(LabError):
            wait_for("the question", lambda: aborts, ASKED_S)
        server.call(finish())
        other.finish()
        paths.end(disk)
        assert paths.resets.writes.count((MIB, ISIDS[1])) == 1
        return bool(aborts)

    with Direct(paths.volume.enable()) as disk:
        # Not asked for if the machine stood still for longer than the other path waits.
        assert any(asked() for _ in range(3)), "the other path's write is not asked for"
    paths.volume.disable()
    assert server.violations() == []


class Unknown:
    """As tgt: ABORT TASK does not find a write before all its data are there, and is no end of it.

    The first write to this place asks for them when it is to be aborted, and is answered late.
    """

    BURST, BYTES = 64 * KIB, 256 * KIB

    def __init__(self, at):
        self.at = at
        self.resets = None          # what is asked about other writes
        self.begin()
        self.hooks = {"on_command": self.on_command, "on_tmf": self.on_tmf, "on_nop": self.on_nop}

    def begin(self):
        self.task, self.carried_out = None, 0
        self.asks, self.gathered = asyncio.Event(), asyncio.Event()
        self.aborted = False
        self.held = None            # whether no data had come when the ping behind it was answered

    async def on_command(self, run, conn, task):
        if task.opcode != WRITE_16 or number(task.cdb, 2, 8) * run.target.disk.block_bytes != self.at:
            return await self.resets.on_command(run, conn, task)
        if self.task:
            self.carried_out += 1
            return False
        self.task = task
        await self.asks.wait()
        await run.target.collect(conn, task)
        result = run.target.disk.execute(task.cdb, task.buffer)
        self.carried_out += 1
        self.gathered.set()
        await asyncio.sleep(SETTLE_S)
        await run.target.respond(conn, task, result)
        return True

    async def on_tmf(self, run, conn, pdu):
        if pdu.flags & 0x7F == LUN_RESET:
            await run.target.answer_task_management(conn, pdu, COMPLETE)
        else:
            assert pdu.referenced_itt == self.task.itt
            self.aborted = True
            self.asks.set()
            await run.target.answer_task_management(conn, pdu, NO_TASK)
        return True

    async def on_nop(self, _run, conn, pdu):
        if not self.aborted or self.held is not None or conn is not self.task.conn:
            return False
        self.held = False
        worker = asyncio.ensure_future(self.answer_ping(conn, pdu))
        conn.workers.add(worker)
        worker.add_done_callback(conn.workers.discard)
        return True

    async def answer_ping(self, conn, pdu):
        """When the last data would have come."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(PING_S):
                await self.gathered.wait()
        self.held = not self.task.received
        await conn.send(Pdu(NOP_IN, lun=pdu.lun, itt=pdu.itt, ttt=RESERVED_TAG))


def test_data_behind_an_abort(server, make_volume, links):
    """Another path's write is not known, but would be carried out if it got its data: it gets none."""
    write_of = Unknown(MIB)
    paths = Paths(server, make_volume, links, **write_of.hooks)
    write_of.resets = paths.resets
    paths.target.settings.keys |= {"InitialR2T": True, "ImmediateData": False,
                                   "MaxBurstLength": Unknown.BURST}

    def held(seed):
        """In one attempt."""
        data = noise(Unknown.BYTES, seed)
        write_of.begin()
        paths.resets.kept.clear()
        first = paths.kept_write(disk, 0, AT)
        paths.lose(0)
        other = Write(disk, MIB, data)
        wait_for("the other path's write", lambda: write_of.task)
        assert write_of.task.edtl == Unknown.BYTES
        assert write_of.task.conn.session.isid.hex() == ISIDS[1]
        paths.back(0)
        first.finish()
        with contextlib.suppress(LabError):
            wait_for("the abort", lambda: write_of.aborted, ASKED_S)
        server.loop.call_soon_threadsafe(write_of.asks.set)
        other.finish()
        assert write_of.carried_out == 1
        same(disk.read(MIB, Unknown.BYTES), data, "the data on the disk")
        wait_for("both paths", lambda: state(paths.volume) == "live", 60)
        return write_of.held

    with Direct(paths.volume.enable()) as disk:
        # Not aborted, or its ping given up, if the machine stood still for longer than a second.
        assert any(held(seed) for seed in range(3)), "the write gets its data while it is aborted"
        assert read(paths.volume.path_sysfs(0, 1) / "faults") == "0"
    paths.volume.disable()
    assert server.violations() == []


def late_in(asked):
    """Each reset has its answer LATE_S after it was asked for, if its session is there by then."""

    async def answer(run, conn, pdu):
        await asyncio.sleep(LATE_S)
        await run.target.answer_task_management(conn, pdu, COMPLETE)

    async def on_tmf(run, conn, pdu):
        if pdu.flags & 0x7F != LUN_RESET:
            return False
        asked.append(conn.session.isid.hex())
        worker = asyncio.ensure_future(answer(run, conn, pdu))
        conn.workers.add(worker)
        worker.add_done_callback(conn.workers.discard)
        return True

    return on_tmf


@pytest.mark.parametrize("count", [1, 2])
def test_answered_late(server, make_volume, links, count):
    """The next one is waited for twice as long, or there would be no end of resets."""
    asked = []
    paths = Paths(server, make_volume, links[:count], on_tmf=late_in(asked))
    device = paths.volume.enable()
    reader = Reader(device)
    try:
        with Direct(device) as disk:
            writer = paths.kept_write(disk, 0, AT)
            paths.lose(0)
            if count > 1:
                reader.goes_on()
            reader.longest_s = 0
            paths.back(0)
            writer.finish()
            reader.goes_on()
            if count > 1:
                assert reader.longest_s < STALL_S
            same(disk.read(AT, 4 * KIB), noise(4 * KIB, AT), "the data on the disk")
    finally:
        reader.end()
    assert reader.errors == []
    assert 2 <= len(asked) <= 3 and set(asked) == {ISIDS[0]}
    assert read(paths.volume.leg_sysfs(0) / "lun_reset") == "complete"
    paths.volume.disable()
    assert server.violations() == []


def test_a_silent_path_yields(server, make_volume, links):
    """Its next reset is waited for longer, but not when the path that served asks for one."""
    paths = Paths(server, make_volume, links)
    with Direct(paths.volume.enable()) as disk:
        first = paths.kept_write(disk, 0, AT)
        paths.lose(0)
        paths.back(0)
        # 10 and 20 s; the third one has 40.
        wait_for("the third reset", lambda: len(paths.resets.asked) == 3, 90)
        second = paths.kept_write(disk, 1, MIB)
        paths.lose(1)
        paths.back(1)
        start = time.monotonic()
        wait_for("a reset over the second path", lambda: ISIDS[1] in paths.asked(), 60)
        assert time.monotonic() - start < YIELD_S
        paths.answer(1)
        second.finish()
        paths.still_waits(first, AT)
        paths.answer(0)
        first.finish()
        paths.end(disk)
    paths.volume.disable()
    assert server.violations() == []


def readers_on_each_processor(device):
    """Two for each, and so for each session of a path."""
    processors = os.sched_getaffinity(0)
    readers = []
    try:
        for processor in sorted(processors) * 2:
            # Its thread inherits that.
            os.sched_setaffinity(0, {processor})
            readers.append(Reader(device))
    finally:
        os.sched_setaffinity(0, processors)
    return readers


@pytest.mark.allow_log("has timed out: aborting it|commands stay unanswered|commands time out",
                       "the test makes commands time out")
def test_one_for_all_sessions_of_a_path(make_server, make_volume, links):
    """A controller answers pings and no more. When one reset has no answer, the others are not
    sent.
    """
    servers = [make_server() for _ in range(2)]
    keeps, resets = types.SimpleNamespace(all=False), []

    async def on_command(_run, _conn, _task):
        return keeps.all

    async def on_tmf(_run, conn, pdu):
        if keeps.all and pdu.flags & 0x7F == LUN_RESET:
            resets.append(conn.session.isid.hex())
        return keeps.all

    target = servers[0].load(Scenario("is silent", hooks={"on_command": on_command,
                                                          "on_tmf": on_tmf}))
    servers[1].load(HONEST).disk = target.disk
    # Not more than hardware queues: one that is not used has no command that times out.
    count = min(4, len(os.sched_getaffinity(0)))
    volume = volume_over(make_volume, links, [server.port for server in servers], target,
                         path={"default_time2wait": 0, "multi": "sessions", "connections": count},
                         command_timeout_ms=5000)
    device = volume.enable()
    wait_for("both paths", lambda: state(volume) == "live", 60)
    readers = readers_on_each_processor(device)
    try:
        for reader in readers:
            reader.goes_on()
        keeps.all = True
        wait_for("the path to be given up",
                 lambda: path_state(volume) not in ("live", "degraded"), 90)
        for reader in readers:
            reader.goes_on()
        assert len(resets) == 1
        keeps.all = False
        wait_for("both paths", lambda: state(volume) == "live", 90)
    finally:
        keeps.all = False
        for reader in readers:
            reader.end()
    assert [reader.errors for reader in readers] == [[]] * len(readers)
    volume.disable()
    assert [server.violations() for server in servers] == [[], []]


def test_beside_a_login(server, make_volume, links):
    """It ends the first command of a path that is logging in, silently: that is asked again at once."""
    ended = []

    async def on_command(run, conn, task):
        if conn.session.isid.hex() == ISIDS[1] and run.strike():
            ended.append(task)
            await asyncio.Event().wait()
        return await paths.resets.on_command(run, conn, task)

    paths = Paths(server, make_volume, links, on_command=on_command, on_tmf=forgets)

    def logins():
        """In one attempt."""
        wait_for("both paths", lambda: state(paths.volume) == "live", 60)
        before = paths.target.logins
        ended.clear()
        paths.resets.kept.clear()
        first = paths.kept_write(disk, 0, AT)
        paths.lose(0)
        paths.lose(1)
        paths.target.run.hits = 0
        server.arm()
        paths.back(1)
        wait_for("the first command", lambda: ended)
        paths.back(0)
        first.finish()
        wait_for("both paths", lambda: state(paths.volume) == "live", 60)
        same(disk.read(AT, 4 * KIB), noise(4 * KIB, AT), "the data on the disk")
        return paths.target.logins - before

    with Direct(paths.volume.enable()) as disk:
        # A path that does not answer within a second, as an emulated processor stands still, is
        # left out of what the reset ends: its login times out, and then there is another one.
        assert any(logins() == 2 for _ in range(3)), "the path has logged in once more"
    paths.volume.disable()
    assert server.violations() == []


async def as_lio(_conn, _request, pairs, ready):
    """LIO drains at login, and a reset of the LUN may hang it."""
    return [*pairs, ("TargetAlias", "LIO Target")], ready


def noting(server, make_volume, links, **hooks):
    """Paths, and the ISIDs of those who ask for a reset; all are answered."""
    resets = []

    async def on_tmf(_run, conn, pdu):
        if pdu.flags & 0x7F == LUN_RESET:
            resets.append(conn.session.isid.hex())
        return False

    return Paths(server, make_volume, links, on_tmf=on_tmf, **hooks), resets


def send_without_it(paths, disk):
    """A write of the first path, on the administrator's word."""
    first = paths.kept_write(disk, 0, AT)
    paths.lose(0)
    assert first.is_alive()
    write(paths.volume.path_sysfs(0, 0) / "fence_confirm", 1)
    first.finish()


DRAINS = pytest.mark.parametrize(
    "hooks,expected", [({}, [ISIDS[0]]), ({"login_pairs": as_lio}, [])], ids=["reset", "lio"])


@DRAINS
@pytest.mark.parametrize("goes", ["volume", "path"])
@pytest.mark.allow_log("error, dev istripe|Buffer I/O error on dev istripe",
                       "it is taken down by force")
def test_after_a_write_was_sent_without_it(server, make_volume, links, goes, hooks, expected):
    """On the administrator's word. The path's next login drains the LUN, in whatever life it is."""
    paths, resets = noting(server, make_volume, links, **hooks)
    volume = paths.volume
    switch = (volume.config if goes == "volume" else volume.path) / "enable"
    with Direct(volume.enable()) as disk:
        send_without_it(paths, disk)
        if goes == "path":
            write(switch, 0)
    if goes == "volume":
        volume.disable()
    paths.gate.open(ISIDS[0])
    assert resets == []
    write(switch, 1)
    wait_for("both paths", lambda: state(volume) == "live", 60)
    assert resets == expected
    # That was all: nothing is known of this life's sessions.
    write(volume.config / "enable", "force")
    write(volume.config / "enable", 1)
    wait_for("both paths", lambda: state(volume) == "live", 60)
    assert resets == expected
    volume.disable()
    assert server.violations() == []


def test_after_a_write_was_sent_without_it_by_a_path_that_is_missing(server, make_volume, links):
    """The volume comes up without the path, which is added later."""
    paths, resets = noting(server, make_volume, links)
    volume = paths.volume
    with Direct(volume.enable()) as disk:
        send_without_it(paths, disk)
        write(volume.path / "enable", 0)
    names = {*volume.path_settings, "portal", "isid"}
    settings = {name: read(volume.path / name) for name in names}
    volume.path.rmdir()
    volume.disable()
    volume.enable()
    paths.gate.open(ISIDS[0])
    write(volume.add_path(0, settings) / "enable", 1)
    wait_for("both paths", lambda: state(volume) == "live" and path_is(volume, 0, True), 60)
    assert resets == [ISIDS[0]]
    volume.disable()
    assert server.violations() == []


@DRAINS
@pytest.mark.parametrize("goes", [True, False], ids=["removed", "stays"])
def test_not_in_another_portal_group(server, make_volume, links, goes, hooks, expected):
    """The login there ends nothing of the old session: a reset would only end what others do.

    Nothing waits, so the path goes on there. Back in the old group its login drains the LUN.
    """
    paths, resets = noting(server, make_volume, links, **hooks)
    volume = paths.volume
    with Direct(volume.enable()) as disk:
        session, drained = volume.path_sysfs(0, 0) / "session", volume.leg_sysfs(0) / "lun_reset"
        send_without_it(paths, disk)
        if goes:
            write(volume.path / "enable", 0)
        paths.target.settings.tpgt = 2
        paths.gate.open(ISIDS[0])
        if goes:
            write(volume.path / "enable", 1)
        wait_for("both paths", lambda: state(volume) == "live", 60)
        assert read(session / "target_portal_group_tag") == "2"
        assert resets == [] and read(drained) == "untried"
        paths.lose(0)
        paths.target.settings.tpgt = 1
        paths.gate.open(ISIDS[0])
        wait_for("both paths", lambda: state(volume) == "live", 60)
        assert read(session / "target_portal_group_tag") == "1"
        assert resets == expected
        assert read(drained) == ("complete" if expected else "unneeded")
    volume.disable()
    assert server.violations() == []


def test_not_by_another_initiator_port(server, make_volume, links):
    """No session with another ISID ends the old one: whoever changes it has to know of its end."""
    paths, resets = noting(server, make_volume, links)
    volume = paths.volume
    with Direct(volume.enable()) as disk:
        send_without_it(paths, disk)
        write(volume.path / "enable", 0)
        write(volume.path / "isid", ISIDS[2])
        write(volume.path / "enable", 1)
        wait_for("both paths", lambda: state(volume) == "live", 60)
    assert resets == []
    volume.disable()
    assert server.violations() == []


class PingedBeside(Paths):
    """Both sessions of path 0 are lost, and a login through path 1 ends each of them. The second login
    pings path 1 while the reset of the first one is about to be asked for, or answered.
    """

    def __init__(self, server, make_volume, links, when):
        super().__init__(server, make_volume, links,
                         {"fence": "auto", "command_timeout_ms": 40000}, on_login=self.on_login,
                         on_command=self.on_command, on_nop=self.on_nop, on_tmf=self.on_tmf)
        self.link, self.before = links[0], when == "before"
        write(self.volume.path / "multi", "sessions")
        write(self.volume.path / "connections", 2)
        self.begin()

    def begin(self):
        self.lost = set()           # ISIDs of path 0, when it is about to be lost
        self.logs_in = False        # they may
        self.first = None           # ISID of the one that does so first
        self.heard = 0              # when it had its last command
        self.pinged = False         # by the other one
        self.resets.asked, self.resets.writes, self.resets.kept = [], [], {}

    # In the target's thread

    @staticmethod
    async def until(ready):
        while not ready():
            await asyncio.sleep(0.02)

    async def on_login(self, _run, conn, pdu):
        isid = pdu.isid.hex()
        if conn.requests == 1 and isid in self.lost:
            await self.until(lambda: self.logs_in)
            self.first = self.first or isid
            if isid != self.first:
                await self.until(lambda: self.heard if self.before else self.resets.asked)
        return False

    async def on_command(self, run, conn, task):
        if conn.session.isid.hex() == self.first:
            self.heard = time.monotonic()
            await self.until(lambda: self.pinged or not self.before)
            self.heard = time.monotonic()
        return await self.resets.on_command(run, conn, task)

    async def on_nop(self, run, conn, _pdu):
        due = self.first and (self.heard if self.before else self.resets.asked)
        if due and not self.pinged and conn.session.isid.hex() == ISIDS[1]:
            self.pinged = True
            if self.before:
                await self.until(lambda: time.monotonic() > self.heard + PING_S)
            else:
                await forgets(run, *self.resets.asked[0])
                await asyncio.sleep(PING_S)
        return False

    async def on_tmf(self, run, conn, pdu):
        if pdu.flags & 0x7F != LUN_RESET:
            return False
        self.resets.asked.append((conn, pdu))
        if self.before or self.pinged:
            await forgets(run, conn, pdu)
        return True

    # For the test

    def write_over_each(self, disk):
        """Writes that path 0 keeps, until each of its sessions has one."""
        processors, writers = os.sched_getaffinity(0), []
        try:
            while {isid for _, isid in self.resets.writes} != self.lost:
                at = AT + len(writers) * 2 * SIZE
                assert at < MIB, "all writes go over one session"
                self.resets.places = *self.resets.places, at
                # Its thread inherits that.
                os.sched_setaffinity(0, {sorted(processors)[len(writers) % len(processors)]})
                writers.append(Write(disk, at, noise(SIZE, at)))
                wait_for("the write that is kept", lambda at=at: at in self.resets.kept)
        finally:
            os.sched_setaffinity(0, processors)
        return writers

    def attempt(self, disk):
        """Whether path 1 was pinged then, and its write went on all the same."""
        self.begin()
        self.resets.places = (MIB,)
        wait_for("both paths", lambda: state(self.volume) == "live", 60)
        self.volume.wait_proven()
        wait_for("the end of the test sessions", lambda: len(self.target.sessions) == 3, 60)
        self.lost = {session.isid.hex() for session in list(self.target.sessions.values())}
        self.lost.remove(ISIDS[1])
        writers = self.write_over_each(disk)
        self.link.set_up(False)
        try:
            wait_for("the path's end", lambda: path_is(self.volume, 0, False))
            other = Write(disk, MIB, noise(SIZE, MIB))
            wait_for("the write of path 1", lambda: MIB in self.resets.kept)
            self.logs_in = True
            for writer in writers:
                writer.finish()
            wait_for("the reset", lambda: self.resets.asked, 60)
            other.join(COLLECTED_S)
            goes_on = not other.is_alive()
            other.finish(120)
        finally:
            self.lost = set()
            self.link.set_up(True)
        for at in self.resets.places:
            same(disk.read(at, SIZE), noise(SIZE, at), "the data on the disk")
        return self.pinged and goes_on


@pytest.mark.timeout_s(600)
@pytest.mark.allow_log("has timed out: aborting it", "a write that is not collected")
@pytest.mark.parametrize("when", ["before", "after"])
def test_beside_a_ping(server, make_volume, links, when):
    """Another login asks a path that serves whether it is alive: what the reset ends there is sent
    again as soon as that is over.
    """
    paths = PingedBeside(server, make_volume, links, when)
    with Direct(paths.volume.enable()) as disk:
        # A path that does not answer within a second, as an emulated processor stands still, is
        # left out of what the reset ends.
        assert any(paths.attempt(disk) for _ in range(3)), "the other path's write waits"
    paths.volume.disable()
    assert server.violations() == []


def test_while_the_last_flush_is_asked_for(server, make_volume, links, kernel_log):
    """The first path comes back when the volume goes down: what its login ends is asked for again."""
    held = []

    async def on_command(run, conn, task):
        if run.armed and task.opcode == SYNCHRONIZE_CACHE_16 and not held:
            held.append(conn.session.isid.hex())
            paths.gate.open(ISIDS[0])
            await asyncio.Event().wait()
        return await paths.resets.on_command(run, conn, task)

    paths = Paths(server, make_volume, links, on_command=on_command, on_tmf=forgets)
    with Direct(paths.volume.enable()) as disk:
        writer = paths.kept_write(disk, 0, AT)
        paths.lose(0)
        write(paths.volume.leg / "fence_timeout_ms", 0)
        writer.finish()
    flushes = paths.target.disk.flushes
    server.arm()
    paths.volume.disable()
    assert held == [ISIDS[1]]
    assert paths.target.disk.flushes == flushes + 1
    assert not kernel_log.matching("its write cache is not flushed")
    assert server.violations() == []


def somebody_decides(server, make_volume, links, kernel_log, decides, connections=1):
    """The only path can log in, and waits for a reset that has no answer; then I/O goes on over it."""
    gate, resets = Gate(), Resets(AT)
    target = server.load(Scenario("never resets", hooks={**gate.hooks, **resets.hooks},
                                  settings={"MaxConnections": connections}))
    volume = volume_over(make_volume, links[:1], [server.port], target,
                         path={**PATH, "multi": "mcs", "connections": connections},
                         command_timeout_ms=120000)
    set_isids(volume, 1)
    with Direct(volume.enable()) as disk:
        assert in_use(volume) == connections
        writer = Write(disk, AT, noise(4 * KIB, AT))
        wait_for("the write that is kept", lambda: AT in resets.kept)
        gate.close(server, ISIDS[0])
        gate.open(ISIDS[0])
        wait_for("the reset that has no answer", lambda: "LOGICAL UNIT RESET is unanswered" in
                 read(volume.path_sysfs() / "last_error"), 60)
        assert writer.is_alive()
        assert volume.reconnects() == 0
        if decides == "fence_timeout_ms":
            write(volume.leg / "fence_timeout_ms", 1000)
        else:
            write(volume.path_sysfs() / "fence_confirm", 1)
        writer.finish()
        same(disk.read(AT, 4 * KIB), noise(4 * KIB, AT), "the data on the disk")
        volume.wait_state("live")
        assert in_use(volume) == connections
    assert len(kernel_log.matching("fence_timeout_ms is over: 1 write")) == \
        (decides == "fence_timeout_ms")
    volume.disable()
    assert server.violations() == []


class Unanswered:
    """A volume of one path, whose losses all wait for a reset that has no answer."""

    def __init__(self, server, make_volume, links, count):
        self.server, self.gate = server, Gate()
        self.resets = Resets(*range(AT, AT + count * MIB, MIB))
        target = server.load(Scenario("never resets",
                                      hooks={**self.gate.hooks, **self.resets.hooks}))
        self.volume = volume_over(make_volume, links[:1], [server.port], target, path=PATH,
                                  command_timeout_ms=120000)
        set_isids(self.volume, 1)

    def lose(self, disk, at):
        writer = Write(disk, at, noise(4 * KIB, at))
        wait_for("the write that is kept", lambda: at in self.resets.kept)
        self.gate.close(self.server, ISIDS[0])
        self.gate.open(ISIDS[0])
        return writer


def test_fence_timeout_is_over_before_the_drain(server, make_volume, links):
    """Each reset without an answer gets longer, but not when nobody waits for it any more."""
    lab = Unanswered(server, make_volume, links, 3)
    with Direct(lab.volume.enable()) as disk:
        write(lab.volume.leg / "fence_timeout_ms", 1000)
        for at in lab.resets.places:
            lab.lose(disk, at).finish(YIELD_S)
            lab.volume.wait_state("live")


def test_fence_timeout_ends_a_drain(server, make_volume, links):
    """It is written while a reset is waited for, which would have 40 s."""
    lab = Unanswered(server, make_volume, links, 1)
    with Direct(lab.volume.enable()) as disk:
        writer = lab.lose(disk, AT)
        wait_for("the third reset", lambda: len(lab.resets.asked) == 3, 90)
        # Each has ten seconds, and the machine may be busy.
        time.sleep(12)
        write(lab.volume.leg / "fence_timeout_ms", 600000)
        time.sleep(SETTLE_S)
        assert len(lab.resets.asked) == 3, "it is given up before the time is over"
        write(lab.volume.leg / "fence_timeout_ms", 1000)
        wait_for("the end of its wait", lambda: len(lab.resets.asked) > 3, 20)
        writer.finish(YIELD_S)


def test_fence_timeout_ends_a_drain_that_has_begun(server, make_volume, links):
    """The same, but the reset has not had its ten seconds yet."""
    lab = Unanswered(server, make_volume, links, 1)
    with Direct(lab.volume.enable()) as disk:
        writer = lab.lose(disk, AT)
        wait_for("the third reset", lambda: len(lab.resets.asked) == 3, 90)
        write(lab.volume.leg / "fence_timeout_ms", 1000)
        wait_for("the end of its wait", lambda: len(lab.resets.asked) > 3, YIELD_S)
        writer.finish(YIELD_S)


def test_fence_timeout_while_others_are_quiesced(server, make_volume, links):
    """The same, but the reset has not been sent yet: the other path is pinged before."""
    written = []

    async def on_nop(_run, conn, _pdu):
        if conn.session.isid.hex() == ISIDS[1] and len(paths.resets.asked) == 2 and not written:
            write(paths.volume.leg / "fence_timeout_ms", 1000)
            written.append(conn)
        return False

    paths = Paths(server, make_volume, links, on_nop=on_nop)
    with Direct(paths.volume.enable()) as disk:
        writer = paths.kept_write(disk, 0, AT)
        paths.lose(0)
        paths.back(0)
        wait_for("the third reset", lambda: len(paths.resets.asked) == 3, 90)
        assert written
        wait_for("the end of its wait", lambda: len(paths.resets.asked) > 3 or
                 path_is(paths.volume, 0, True), YIELD_S)
        writer.finish(YIELD_S)
        same(disk.read(AT, 4 * KIB), noise(4 * KIB, AT), "the data on the disk")


@pytest.mark.allow_log("has timed out: aborting it|commands stay unanswered",
                       "the test makes a command time out")
def test_fence_timeout_spares_a_live_path(server, make_volume, links):
    """Its commands time out; LOGICAL UNIT RESET is answered while the time-out is written."""
    kept, asked = [], []

    async def keep(run, conn, task):
        if not run.armed or task.opcode != WRITE_16 or kept:
            return False
        kept.append(task)
        return True

    async def on_tmf(run, conn, pdu):
        if pdu.flags & 0x7F != LUN_RESET:
            return bool(kept)
        asked.append((conn, pdu))
        return True

    target = server.load(Scenario("keeps a write", hooks={"on_command": keep, "on_tmf": on_tmf}))
    volume = volume_over(make_volume, links[:1], [server.port], target, path=PATH,
                         command_timeout_ms=2000)
    with Direct(volume.enable()) as disk:
        server.arm()
        writer = Write(disk, AT, noise(4 * KIB, AT))
        wait_for("the reset", lambda: asked, 60)
        time.sleep(SETTLE_S)
        write(volume.leg / "fence_timeout_ms", 0)
        time.sleep(SETTLE_S)
        conn, pdu = asked[0]
        server.call(target.answer_task_management(conn, pdu, COMPLETE))
        writer.finish()
    assert len(asked) == 1 and read(volume.path_sysfs() / "faults") == "0"


DECIDES = pytest.mark.parametrize("decides", ["fence_timeout_ms", "fence_confirm"])


@DECIDES
def test_only_path_whose_reset_has_no_answer(server, make_volume, links, kernel_log, decides):
    somebody_decides(server, make_volume, links, kernel_log, decides)


@DECIDES
def test_several_connections_whose_reset_has_no_answer(server, make_volume, links, kernel_log, decides):
    """All of them are there before the reset is asked for, and end when it has no answer."""
    somebody_decides(server, make_volume, links, kernel_log, decides, connections=3)
