# SPDX-License-Identifier: GPL-2.0
"""No ghosts while the LUN lists keys of persistent reservations, whoever has registered them.

Another host may write as soon as a write is answered: the lost write waits itself. The driver has
not seen the registrations: they are of an earlier start of the volume, or of another host.
"""

import asyncio
import threading

import pytest

from lab import lio, network, topology
from lab.disk import Direct, noise, same
from lab.ghost import (
    AT,
    KIB,
    SETTLE_S,
    Write,
    held_write,
    path_state,
    release,
    silent,
    state,
    volume_over,
    write_to_holder,
)
from lab.reservation import KEY, OTHER_KEY, WRITE_EXCLUSIVE_REG_ONLY, Reservations
from lab.shell import on_failure, read, wait_for, write
from scripted.alua import (
    CHANGED,
    MAINTENANCE_IN,
    OPTIMIZED,
    STANDBY,
    UNAVAILABLE,
    Groups,
)
from scripted.checks import ABORT_TASK
from scripted.ghost import REJECTED, Resets, hold
from scripted.registrations import RegisteredDisk
from scripted.scenario import HONEST, Scenario, silence
from scripted.scsi import (
    INVALID_FIELD,
    INVALID_OPCODE,
    PERSISTENT_RESERVE_IN,
    WRITE_16,
    Result,
)

MIB = 1 << 20
BUSY = 8
INQUIRY_CHANGED = (6, 0x3F, 3)
#: Longer than another question is given.
PAUSE_S = 12
SAID = "keys of persistent reservations are registered: lost writes wait"


def volume_over_both(servers, make_volume, links, scenarios):
    """(volume, the first path's target, the disk of both).

    No path can end the session of the other one.
    """
    disk = RegisteredDisk()
    targets = [server.load(scenario) for server, scenario in zip(servers, scenarios)]
    for target in targets:
        target.disk = disk
    volume = volume_over(make_volume, links[:2], [server.port for server in servers], targets[0],
                         fence="auto")
    return volume, targets[0], disk


@pytest.fixture
def clustered(servers, make_volume, links):
    """The same; that target holds a write."""
    return volume_over_both(servers, make_volume, links,
                            (Scenario("ghost", hooks={"on_command": hold}), HONEST))


def counts(volume):
    lost = volume.path_sysfs(0, 0)
    return [read(lost / name) for name in ("waiting_writes", "ghost_writes")]


def waits_itself(volume, writer):
    """The first path is about to be lost with the write that its target holds."""
    wait_for("the loss to be noticed", lambda: state(volume) == "degraded", 60)
    writer.join(SETTLE_S)
    assert writer.is_alive(), "the write was sent again before the fence"
    assert counts(volume) == ["1", "0"]


def test_keys_of_an_earlier_start(clustered, servers, links, kernel_log):
    """The target has kept them while the volume was down, and another host waits for its turn."""
    volume, target, lun = clustered
    with Reservations(volume.enable()) as keys:
        assert keys.register(0, KEY) == 0
        assert keys.reserve(KEY, WRITE_EXCLUSIVE_REG_ONLY) == 0
    assert not kernel_log.matching(SAID)
    volume.disable()
    assert len(lun.keys) == 2 and lun.kind
    with Direct(volume.enable()) as disk:
        assert len(kernel_log.matching(SAID)) == 1
        servers[0].arm()
        writer = held_write(disk, target, noise(4 * KIB, 1))
        links[0].set_up(False)
        try:
            waits_itself(volume, writer)
        finally:
            links[0].set_up(True)
        writer.finish()
        release(servers[0], target)
        same(disk.read(AT, 4 * KIB), noise(4 * KIB, 1), "the data on the disk")
    volume.disable()


def test_lio_keeps_keys(targets, make_volume, links, keep_on_disk):
    """The same with Linux's own target."""
    ports = [targets(target) for target in
             topology.lio_targets(links, lio.HoldingLun(16 * MIB), topology.TARGETS)]
    holder = ports[0].luns[0].disk
    volume = make_volume(ports[0], paths=links[:2], policy="failover", fence="auto",
                         recovery_timeout_ms=-1, ghost_timeout_ms=-1,
                         path={"default_time2wait": 0, "ping_interval_ms": 1000,
                               "ping_timeout_ms": 5000})
    write(volume.leg / "paths" / "1" / "target_name", ports[1].iqn)
    with Reservations(volume.enable()) as keys:
        assert keys.register(0, KEY) == 0
        assert keys.reserve(KEY, WRITE_EXCLUSIVE_REG_ONLY) == 0
    volume.disable()
    with Direct(volume.enable()) as disk:
        writer = write_to_holder(disk, holder, noise(4 * KIB, 1))
        heal = silent(links[0], network.ISCSI_PORT)
        try:
            waits_itself(volume, writer)
        finally:
            heal()
            holder.release()
        writer.finish()
        same(disk.read(AT, 4 * KIB), noise(4 * KIB, 1), "the data on the disk")
    volume.disable()


@pytest.mark.parametrize("noticed", ["rescan", "unregistered"])
def test_keys_of_another_host(clustered, servers, links, kernel_log, noticed):
    """They come while the volume is up; when they go, the write that waited is sent again."""
    volume, target, lun = clustered
    device = volume.enable()
    with Direct(device) as disk, Reservations(device) as ours:
        if noticed == "rescan":
            lun.register("another host", OTHER_KEY)
            volume.rescan()
            assert len(kernel_log.matching(SAID)) == 1
        else:
            assert ours.register(0, KEY) == 0
            lun.register("another host", OTHER_KEY)
            assert ours.register(KEY, 0) == 0
        servers[0].arm()
        writer = held_write(disk, target, noise(4 * KIB, 1))
        links[0].set_up(False)
        try:
            waits_itself(volume, writer)
            lun.register("another host", 0)
            volume.rescan()
            writer.finish()
            assert counts(volume) == ["0", "1"]
        finally:
            links[0].set_up(True)
        wait_for("both paths", lambda: state(volume) == "live", 60)
        release(servers[0], target)
    volume.disable()


def test_nodes_with_different_keys(clustered, servers, links, kernel_log):
    """Those of the first path count, even if the other one is asked last, until they have gone."""
    volume, target, lun = clustered
    other = RegisteredDisk()
    other.data = lun.data
    servers[1].target.disk = other
    with Direct(volume.enable()) as disk:
        lun.register("another host", OTHER_KEY)
        volume.rescan()
        assert len(kernel_log.matching(SAID)) == 1
        servers[0].arm()
        writer = held_write(disk, target, noise(4 * KIB, 1))
        links[0].set_up(False)
        try:
            waits_itself(volume, writer)
            volume.rescan()
            writer.join(SETTLE_S)
            assert writer.is_alive() and counts(volume) == ["1", "0"]
        finally:
            links[0].set_up(True)
        writer.finish()
        release(servers[0], target)
        same(disk.read(AT, 4 * KIB), noise(4 * KIB, 1), "the data on the disk")
        wait_for("both paths", lambda: state(volume) == "live", 60)

        lun.register("another host", 0)
        volume.rescan()
        lun.register("another host", OTHER_KEY)
        volume.rescan()
        assert len(kernel_log.matching(SAID)) == 2
    volume.disable()


def kept_write(disk, resets, at):
    writer = Write(disk, at, noise(4 * KIB, at))
    wait_for("the write that is kept", lambda: at in resets.kept)
    return writer


def test_another_path_finds_newer_keys(servers, make_volume, links, kernel_log):
    """The first path has asked before there were any, and its login takes longer."""
    resets = Resets(AT, MIB)
    volume, _, lun = volume_over_both(servers, make_volume, links,
                                      (Scenario("keeps writes", hooks=resets.hooks), HONEST))
    with Direct(volume.enable()) as disk:
        writer = kept_write(disk, resets, AT)
        links[0].set_up(False)
        try:
            writer.finish()
        finally:
            links[0].set_up(True)
        wait_for("the reset", lambda: resets.asked)
        lun.register("another host", OTHER_KEY)
        volume.rescan()
        assert len(kernel_log.matching(SAID)) == 1
        assert len(resets.asked) == 1
        resets.answer(servers[0], 0)
        wait_for("both paths", lambda: state(volume) == "live", 60)

        writer = kept_write(disk, resets, MIB)
        links[0].set_up(False)
        try:
            waits_itself(volume, writer)
        finally:
            links[0].set_up(True)
        wait_for("the second reset", lambda: len(resets.asked) == 2)
        resets.answer(servers[0], 1)
        writer.finish()
        wait_for("both paths", lambda: state(volume) == "live", 60)
    volume.disable()


class Three:
    """A volume with a path to each of three ports of a LUN: the first one holds a write.

    The second one is silent when it is asked for keys, if that is so; asked: how often it was since
    the other host has gone. The third one tells no keys.
    """

    def __init__(self, make_server, make_volume, links):
        self.links = links
        self.silent, self.told, self.asked = False, [], []
        self.goes_on = threading.Event()
        self.goes_on.set()
        self.groups = Groups(*[OPTIMIZED] * 3, keyed=True)
        self.groups.standby_reserves = False
        self.servers = [make_server() for _ in range(3)]
        for server, hook, port in zip(self.servers, (self.first, self.second, self.third),
                                      self.groups.ports):
            server.load(Scenario("keys", hooks={"on_command": hook})).disk = port
        self.target = self.servers[0].target
        self.volume = volume_over(make_volume, [links[0], links[1], links[1]],
                                  [server.port for server in self.servers], self.target,
                                  fence="auto")

    async def first(self, run, conn, task):
        if task.opcode == PERSISTENT_RESERVE_IN:
            self.told.append(task)
        return await hold(run, conn, task)

    async def second(self, run, _conn, task):
        while task.opcode == MAINTENANCE_IN and not self.goes_on.is_set():
            await asyncio.sleep(0.05)
        if task.opcode == PERSISTENT_RESERVE_IN and run.armed:
            self.asked.append(task)
            if self.silent:
                await silence()
        return False

    async def third(self, run, conn, task):
        if task.opcode != PERSISTENT_RESERVE_IN:
            return False
        await run.target.respond(conn, task, Result.check(4, 0x44, 0))
        return True

    def enable(self):
        """The keys of another host are known over two paths."""
        device = self.volume.enable()
        wait_for("all paths", lambda: state(self.volume) == "live", 60)
        self.groups.ports[0].register("another host", OTHER_KEY)
        self.volume.rescan()
        # So long at least the LUN may pause.
        write(self.volume.config / "command_timeout_ms", 10000)
        return device

    def is_gone(self, second=OPTIMIZED):
        """The other host; the second port is in this state then."""
        self.servers[1].arm()
        self.groups.set(OPTIMIZED, second, OPTIMIZED)
        self.groups.ports[0].register("another host", 0)

    def asks(self, disk, attention):
        """The first path asks for keys because its LUN says something."""
        before = len(self.told)
        self.groups.ports[0].attentions.append(attention)
        disk.write(0, noise(4 * KIB, 1))
        wait_for("the list", lambda: len(self.told) > before)

    def write_goes_on(self, disk):
        """Over the third path, when the first one is lost."""
        wait_for("the question", lambda: self.asked, 60)
        if self.silent:
            wait_for("the loss", lambda: path_state(self.volume, 1) in ("backoff", "connecting"), 60)
        for _ in range(2):
            self.volume.rescan()
        self.servers[0].arm()
        writer = held_write(disk, self.target, noise(4 * KIB, 1))
        self.links[0].set_up(False)
        try:
            writer.finish()
            assert counts(self.volume) == ["0", "1"]
        finally:
            self.links[0].set_up(True)
        self.silent = False
        self.groups.set(*[OPTIMIZED] * 3)
        wait_for("all paths", lambda: state(self.volume) == "live", 60)
        release(self.servers[0], self.target)


@pytest.fixture
def three(make_server, make_volume, links):
    return Three(make_server, make_volume, links)


@pytest.mark.parametrize("second", [OPTIMIZED, STANDBY, UNAVAILABLE],
                         ids=["silent", "standby", "unavailable"])
def test_a_path_that_cannot_tell(three, kernel_log, second):
    """It has told keys, and is asked when another one finds that they are gone. It does not count."""
    with Direct(three.enable()) as disk, on_failure(three.volume.force_down):
        assert len(kernel_log.matching(SAID)) == 1
        three.silent = second == OPTIMIZED
        three.is_gone(second)
        three.asks(disk, INQUIRY_CHANGED)
        three.write_goes_on(disk)
    three.volume.disable()


def test_asked_for_its_access_state_at_the_same_time(three):
    """Which is all that the port tells then: it is asked for keys all the same."""
    with Direct(three.enable()) as disk, on_failure(three.volume.force_down):
        three.goes_on.clear()
        three.is_gone(UNAVAILABLE)
        for _ in range(2):
            three.asks(disk, CHANGED)
        assert not three.asked
        three.goes_on.set()
        three.write_goes_on(disk)
    three.volume.disable()


def test_lun_pauses_when_keys_are_looked_for(servers, make_volume, links):
    """No session ends because of the question, which each path asks once."""
    asked, go_on = [], threading.Event()

    async def pauses(run, _conn, task):
        if not run.armed:
            return False
        asked.append(task.opcode)
        while not go_on.is_set():
            await asyncio.sleep(0.1)
        return False

    volume, _, lun = volume_over_both(servers, make_volume, links,
                                      [Scenario("pauses", hooks={"on_command": pauses})] * 2)
    with Direct(volume.enable()) as disk:
        lun.register("another host", OTHER_KEY)
        volume.rescan()
        for server in servers:
            server.arm()
        wait_for("the question", lambda: asked, 60)
        writer = Write(disk, AT, noise(4 * KIB, 1))
        writer.join(PAUSE_S)
        assert writer.is_alive()
        go_on.set()
        writer.finish()
        assert asked.count(WRITE_16) == 1
        assert 1 <= asked.count(PERSISTENT_RESERVE_IN) == len(asked) - 1 <= 2
        for path in range(2):
            assert read(volume.path_sysfs(0, path) / "faults") == "0"
        same(disk.read(AT, 4 * KIB), noise(4 * KIB, 1), "the data on the disk")
    volume.disable()


def test_each_path_asks(servers, make_volume, links):
    """The node of one does not tell: it is not the only one that is asked."""
    asked = []

    async def refuses(run, conn, task):
        if not run.armed or task.opcode != PERSISTENT_RESERVE_IN:
            return False
        asked.append(run)
        if run is not asked[0]:
            return False
        await run.target.respond(conn, task, Result.check(4, 0x44, 0))
        return True

    volume, _, lun = volume_over_both(servers, make_volume, links,
                                      [Scenario("refuses", hooks={"on_command": refuses})] * 2)
    volume.enable()
    lun.register("another host", OTHER_KEY)
    volume.rescan()
    for server in servers:
        server.arm()
    # Every 30 s somebody asks.
    wait_for("both to be asked", lambda: len(set(asked)) == 2, 120)
    volume.disable()


def test_a_time_out_when_keys_are_looked_for(server, make_scripted):
    """The command is aborted while the LUN still pauses over the question."""
    asked, aborted, go_on = [], [], threading.Event()

    async def pauses(run, _conn, task):
        if not run.armed or task.opcode not in (PERSISTENT_RESERVE_IN, WRITE_16):
            return False
        asked.append(task.opcode)
        if asked == [PERSISTENT_RESERVE_IN, WRITE_16]:
            await silence()
        while not go_on.is_set():
            await asyncio.sleep(0.1)
        return False

    async def notes(_run, _conn, pdu):
        aborted.append(pdu.flags & 0x7F)
        return False

    volume, target = make_scripted(Scenario("pauses", hooks={"on_command": pauses, "on_tmf": notes}))
    target.disk = RegisteredDisk()
    with Direct(volume.enable()) as disk:
        target.disk.register("another host", OTHER_KEY)
        volume.rescan()
        server.arm()
        wait_for("the question", lambda: asked, 60)
        # The question has as long as this was when it was asked.
        write(volume.config / "command_timeout_ms", 3000)
        writer = Write(disk, AT, noise(4 * KIB, 1))
        wait_for("the abort", lambda: aborted, 20)
        go_on.set()
        writer.finish()
        assert aborted == [ABORT_TASK]
        assert read(volume.path_sysfs(0, 0) / "faults") == "0"
        same(disk.read(AT, 4 * KIB), noise(4 * KIB, 1), "the data on the disk")
    volume.disable()


@pytest.mark.parametrize("why", ["poll", "rescan"])
def test_a_time_out_when_the_lun_is_busy(server, make_scripted, why):
    """The command is aborted while the LUN is asked for keys again and again."""
    busy, kept, aborted = [], [], []

    async def on_command(run, conn, task):
        if not run.armed or aborted:
            return False
        if task.opcode == WRITE_16 and not kept:
            kept.append(task)
            await silence()
        if task.opcode == PERSISTENT_RESERVE_IN:
            busy.append(task)
            await run.target.respond(conn, task, Result(BUSY))
            return True
        return False

    async def notes(_run, _conn, pdu):
        aborted.append((pdu.flags & 0x7F, len(busy)))
        return False

    volume, target = make_scripted(Scenario("busy", hooks={"on_command": on_command,
                                                           "on_tmf": notes}))
    target.disk = RegisteredDisk()
    with Direct(volume.enable()) as disk:
        if why == "poll":
            target.disk.register("another host", OTHER_KEY)
            volume.rescan()
        server.arm()
        if why == "rescan":
            asking = threading.Thread(target=volume.rescan)
            asking.start()
        wait_for("the question", lambda: busy, 60)
        # The question has as long as this was when it was asked.
        write(volume.config / "command_timeout_ms", 3000)
        Write(disk, AT, noise(4 * KIB, 1)).finish()
        # Five in a second at most; in the 30 s that the question has there are some 150.
        assert [function for function, _ in aborted] == [ABORT_TASK] and aborted[0][1] < 60
        if why == "rescan":
            asking.join()
        assert read(volume.path_sysfs(0, 0) / "faults") == "0"
        same(disk.read(AT, 4 * KIB), noise(4 * KIB, 1), "the data on the disk")
    volume.disable()


def test_busy_keys_are_asked_for_again(server, make_scripted, kernel_log):
    """I/O goes on meanwhile: the LUN has been asked everything else."""
    busy, told = [], threading.Event()

    async def on_command(run, conn, task):
        if not run.armed or told.is_set() or task.opcode != PERSISTENT_RESERVE_IN:
            return False
        busy.append(task)
        await run.target.respond(conn, task, Result(BUSY))
        return True

    volume, target = make_scripted(Scenario("busy", hooks={"on_command": on_command}))
    target.disk = RegisteredDisk()
    with Direct(volume.enable()) as disk:
        target.disk.register("another host", OTHER_KEY)
        server.arm()
        volume.rescan()
        disk.write(AT, noise(4 * KIB, 1))
        assert busy and not kernel_log.matching(SAID)
        told.set()
        wait_for("the keys", lambda: kernel_log.matching(SAID), 60)
        assert read(volume.path_sysfs(0, 0) / "faults") == "0"
    volume.disable()


@pytest.mark.parametrize("rejected", [False, True], ids=["aborted", "rejected"])
def test_lun_changes_when_keys_are_looked_for(servers, make_volume, links, kernel_log, rejected):
    """I/O waits until it is asked what it is now: the question for keys is given up, or the path."""
    asked, aborts = [], []

    async def on_command(run, conn, task):
        if run.armed and task.opcode == PERSISTENT_RESERVE_IN:
            asked.append((conn.session.initiator, conn.session.isid))
            if len(asked) == 1:
                await silence()
        return False

    async def on_tmf(_run, conn, pdu):
        aborts.append((conn, pdu))
        return True

    async def answer():
        conn, pdu = aborts[0]
        response = REJECTED if rejected else target.manage(conn.session, pdu)
        await target.answer_task_management(conn, pdu, response)

    hooks = {"on_command": on_command, "on_tmf": on_tmf}
    volume, target, lun = volume_over_both(servers, make_volume, links,
                                           (Scenario("silent", hooks=hooks), HONEST))
    with Direct(volume.enable()) as disk, on_failure(volume.force_down):
        lun.register("another host", OTHER_KEY)
        volume.rescan()
        servers[0].arm()
        wait_for("the question", lambda: asked, 60)
        # The question has as long as this was when it was asked; the write times out before that.
        write(volume.config / "command_timeout_ms", 2000)
        lun.told[asked[0]] = INQUIRY_CHANGED
        writer = Write(disk, AT, noise(4 * KIB, 1))
        wait_for("the abort", lambda: aborts, 20)
        writer.join(SETTLE_S)
        assert writer.is_alive() and len(asked) == 1
        servers[0].call(answer())
        writer.finish()
        assert [pdu.flags & 0x7F for _, pdu in aborts] == [ABORT_TASK]
        assert read(volume.path_sysfs(0, 0) / "faults") == str(int(rejected))
        said = kernel_log.matching("no answer to PERSISTENT RESERVE IN, which is not aborted")
        assert bool(said) == rejected
        assert not kernel_log.matching("keeps its command window")
        same(disk.read(AT, 4 * KIB), noise(4 * KIB, 1), "the data on the disk")
    volume.disable()


@pytest.mark.parametrize("answer", [
    Result.check(*INVALID_OPCODE), Result.check(*INVALID_FIELD), Result.check(4, 0x44, 0),
    Result(BUSY), Result(data=bytes(3)),
], ids=["opcode", "field", "failure", "busy", "nonsense"])
def test_target_that_does_not_tell(server, make_scripted, answer):
    """The volume comes up all the same, and takes no key for registered."""

    async def refuses(run, conn, task):
        if task.opcode != PERSISTENT_RESERVE_IN:
            return False
        asked.append(task)
        await run.target.respond(conn, task, answer)
        return True

    asked = []
    volume, _ = make_scripted(Scenario("does not tell", hooks={"on_command": refuses}),
                              path={"login_timeout_ms": 3000})
    with Direct(volume.enable()) as disk:
        disk.write(0, noise(4 * KIB, 1))
    assert asked
    volume.disable()
    assert server.violations() == []
