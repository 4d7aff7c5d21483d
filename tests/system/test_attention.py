# SPDX-License-Identifier: GPL-2.0
"""What a target says about its LUNs while they are in use: by unit attentions, asynchronously.

A LUN that says that it has changed is asked over the same session. Only one that is not what it
was ends it.
"""

import asyncio
import concurrent.futures
import contextlib
import random
import threading
import time

import pytest

from lab import lio, network, storage
from lab.disk import Direct, noise, same
from lab.ghost import Write, volume_over
from lab.shell import on_failure, read, wait_for, write
from lab.tracing import traced
from scripted.alua import OPTIMIZED, STANDBY, Groups
from scripted.scenario import HONEST, Scenario, silence
from scripted.scsi import (
    BUSY,
    READ_16,
    SERVICE_ACTION_IN_16,
    SYNCHRONIZE_CACHE_16,
    WRITE_16,
    Disk,
    Result,
    fixed_sense,
)
from scripted.volatile import VolatileDisk

KIB, MIB = 1 << 10, 1 << 20
REPORTED = "the LUN says: reported LUNs data has changed: asking what it is"
CAPACITY = "the LUN says: capacity data has changed: asking what it is"


@pytest.fixture
def scripted(server, make_volume, link):
    """scripted(scenario): a volume of the scripted target's LUN, and the target."""

    def make(scenario, path=(), kind=Disk, **options):
        target = server.load(scenario, kind=kind)
        path = {"portal": f"{link.address}:{server.port}", **dict(path)}
        return make_volume(target, path=path, **options), target

    return make


def undisturbed(volume, paths=1):
    return [(read(volume.path_sysfs(0, path) / "reconnects"),
             read(volume.path_sysfs(0, path) / "last_error")) for path in range(paths)] == (
                 [("0", "")] * paths)


def test_a_lun_is_mapped(make_lio, make_volume, targets, stock, links, link, reader, kernel_log):
    """All sessions hear of it, those of other LUNs, too; none ends. Beside the stock stack."""
    target = make_lio(32 * MIB, 32 * MIB, all_links=True)
    one = make_volume(target)
    two = make_volume(target, paths=links, path={"lun": 1})
    disks = [one.enable(), two.enable(), stock.login(link.portal(), target.iqn)]
    wait_for("both paths", lambda: read(two.sysfs() / "state") == "live")
    readers = [reader(disk) for disk in disks]
    spare = lio.Lun(4 * MIB)
    spare.create()
    target.luns.append(spare)
    for number in (5, 6):
        for each in readers:
            each.goes_on()
        target.add_lun(number, spare)
        time.sleep(1)
    # Whether one reader at a time uses both paths is the policy's affair.
    for label in (f"{one.name}/0/0", f"{two.name}/0/[01]"):
        wait_for(f"{label} to hear of it",
                 lambda label=label: kernel_log.matching(f"{label}: {REPORTED}"), 60)
    for each in readers:
        each.goes_on(100)
    assert [each.errors for each in readers] == [[], [], []]
    assert undisturbed(one) and undisturbed(two, 2)


@pytest.mark.both
def test_it_grows_and_says_so_asynchronously(scripted, server, kernel_log):
    """No unit attention follows (SCST): the message is the only word of it."""
    volume, target = scripted(Scenario("grows"))
    volume.enable()
    size = volume.size_bytes()
    target.disk.data.extend(bytes(4 * MIB))
    tell_sense(server, fixed_sense(6, 0x2A, 9))
    wait_for("the disk to grow", lambda: volume.size_bytes() == size + 4 * MIB, 30)
    assert kernel_log.matching(f"{volume.name}/0/0: {CAPACITY}")
    assert undisturbed(volume)
    # Without sense data it may be anything: that is a reason to look, too.
    target.disk.data.extend(bytes(4 * MIB))
    server.call(tell(target, 0))
    wait_for("the disk to grow", lambda: volume.size_bytes() == size + 8 * MIB, 30)
    assert undisturbed(volume)
    storage.fill_pattern(f"/dev/{volume.device()}", volume.size_bytes(), seed=1)


def test_another_lun_says_so(scripted, server, reader, kernel_log):
    """It is that LUN's affair, unless the target has other LUNs now."""
    volume, _ = scripted(Scenario("another", disk={"addresses": [0x0005]}), path={"lun": 5})
    one = reader(volume.enable())
    one.goes_on()
    for said in ((0x2A, 9), (0x3F, 3), (0x29, 0)):
        for lun in (0, 7, 0x4007):
            tell_sense(server, fixed_sense(6, *said), lun)
    one.goes_on(100)
    assert not kernel_log.matching(f"{volume.name}/0/0: the LUN says")
    tell_sense(server, fixed_sense(6, 0x3F, 0x0E), 7)
    wait_for("the question", lambda: kernel_log.matching(f"{volume.name}/0/0: {REPORTED}"))
    tell_sense(server, fixed_sense(6, 0x2A, 9), 0x4005)
    wait_for("the question", lambda: kernel_log.matching(f"{volume.name}/0/0: {CAPACITY}"))
    one.goes_on()
    assert undisturbed(volume)
    assert one.errors == []


#: What is said of it, and the words for the administrator.
NEWS = {
    "deferred": (fixed_sense(3, 0x0C, 0, deferred=True), "deferred error, sense 3/0c/00: data"),
    "threshold": (fixed_sense(6, 0x38, 7), "the thin LUN has reached its soft threshold"),
    "failure": (fixed_sense(6, 0x5D, 0x10), "the target predicts a failure, sense 6/5d/10"),
}


@pytest.mark.allow_log("reports a deferred error", "what the target says")
@pytest.mark.parametrize("news", NEWS)
def test_news_is_told_asynchronously(scripted, server, kernel_log, news):
    """Nobody says it again: no unit attention follows."""
    sense, words = NEWS[news]
    volume, _ = scripted(Scenario("news"))
    with Direct(volume.enable()) as disk:
        tell_sense(server, sense, 7)
        disk.write(0, noise(4 * KIB, 1))
        assert not kernel_log.matching(words)
        tell_sense(server, sense)
        wait_for("the words", lambda: kernel_log.matching(words))
    assert undisturbed(volume)


@pytest.mark.allow_log("reports a deferred error", "what the target says")
@pytest.mark.parametrize("sense", [fixed_sense(6, 0x29, 0), NEWS["deferred"][0]],
                         ids=["reset", "deferred"])
def test_a_cache_is_lost_before_the_flush(scripted, server, sense):
    """A write that is flushed after it: the flush is good, and the data are not there."""
    writes, flushes = [], []
    told = asyncio.Event()

    async def hook(run, conn, task):
        if run.armed and task.opcode == WRITE_16:
            writes.append(task)
        if run.armed and task.opcode == SYNCHRONIZE_CACHE_16 and not flushes:
            flushes.append(task)
            await told.wait()
        return False

    async def go_on():
        told.set()

    volume, target = scripted(Scenario("cache", hooks={"on_command": hook}), metadata="none",
                              kind=VolatileDisk, path={"default_time2wait": 0})
    lun = target.disk
    lun.write_cache = lun.dpofua = False
    device = volume.enable()
    lun.write_cache = True
    wait_for("a connection to break", lambda: network.kill_connections(port=server.port))
    wait_for("the path", lambda: volume.reconnects() and read(volume.sysfs() / "state") == "live")
    server.arm()
    data = noise(4 * KIB, 1)
    with Direct(device) as disk:
        writer = Write(disk, 0, data)
        wait_for("its flush", lambda: flushes)
        assert lun.cut(random.Random(1))
        tell_sense(server, sense)
        server.call(go_on())
        writer.finish()
    assert len(writes) == 2
    lun.cut(random.Random(1))
    same(bytes(lun.data[:len(data)]), data, "what the target has")


def test_a_port_in_standby_hears_of_it(make_server, make_volume, links, reader):
    """Again and again, while the other port serves: its session stays, and serves when it may."""
    groups = Groups(OPTIMIZED, STANDBY)
    servers = [make_server(), make_server()]
    for server, port in zip(servers, groups.ports):
        server.load(HONEST).disk = port
    volume = volume_over(make_volume, links, [server.port for server in servers],
                         servers[0].target, policy="round-robin", fence="path",
                         path={"login_timeout_ms": 10000, "default_time2wait": 0,
                               "ping_timeout_ms": 30000})
    one = reader(volume.enable())
    wait_for("both paths", lambda: read(volume.sysfs() / "state") == "live")
    for said in ((0x2A, 9), (0x3F, 3), (0x3F, 0x0E)) * 3:
        for server in servers:
            tell_sense(server, fixed_sense(6, *said))
        one.goes_on()
        time.sleep(0.4)
    one.goes_on(50)
    assert undisturbed(volume, 2)
    groups.set(STANDBY, OPTIMIZED)
    before = groups.ports[1].served
    one.goes_on(100)
    assert groups.ports[1].served > before
    assert undisturbed(volume, 2)
    assert one.errors == []


async def moves(run, conn, task):
    """The LUN is at its other address when the first read comes, which is told so."""
    if task.opcode != READ_16 or not run.strike():
        return False
    run.target.disk.addresses = [run.memory["to"]]
    await run.target.respond(conn, task, Result.check(6, 0x3F, 0x0E))
    return True


@pytest.mark.parametrize(("at", "to"), [(0x0005, 0x4005), (0x4005, 0x0005)], ids=["flat", "plain"])
def test_it_moves_to_another_address(scripted, server, kernel_log, at, to):
    """Of the same number, in the other form: commands go there after another login."""
    scenario = Scenario("moves", hooks={"on_command": moves}, disk={"addresses": [at]})
    volume, target = scripted(scenario, path={"lun": 5, "default_time2wait": 0})
    target.run.memory["to"] = to
    data = noise(64 * KIB, 1)
    with Direct(volume.enable()) as disk:
        disk.write(0, data)
        server.arm()
        same(disk.read(0, len(data)), data, "what was read")
        disk.write(MIB, data)
    assert target.disk.data[MIB:MIB + len(data)] == data
    said = f"{volume.name}/0/0: the target lists LUN 5 at another address now"
    assert len(kernel_log.matching(said)) == 1
    volume.wait_state("live")
    assert (volume.reconnects(), target.logins) == (1, 2)
    assert read(volume.path_sysfs() / "faults") == "1"


async def no_answer(run, conn, task):
    """One read is told that the LUN has changed; then one question is not answered."""
    memory = run.memory
    if task.opcode == READ_16 and run.armed and memory.pop("change", False):
        memory["conn"] = conn
        memory["told"] = conn
        await run.target.respond(conn, task, Result.check(6, 0x3F, 0x0E))
        return True
    told = memory.get("told", conn) is conn
    if task.opcode == SERVICE_ACTION_IN_16 and told and run.strike():
        await silence()
    return False


def holding(volume, paths):
    return {read(volume.path_sysfs(0, path) / "holding") for path in range(paths)}


@pytest.mark.parametrize("held", [False, True], ids=["I/O goes on", "I/O waits"])
def test_a_question_is_not_answered(make_scripted, server, reader, held):
    """It is not waited for as a busy LUN is: error handling waits, and perhaps I/O."""
    volume, target = make_scripted(Scenario("no answer", hooks={"on_command": no_answer}),
                                   paths=1 + held, policy="round-robin")
    one = reader(volume.enable())
    wait_for("all paths", lambda: read(volume.sysfs() / "state") == "live")
    target.run.memory["change"] = held
    server.arm()
    asked = time.monotonic()
    if not held:
        server.call(tell(target, 0))
    # The question is given up after some seconds.
    wait_for("the question", lambda: target.run.hits and
             ("revalidation" in holding(volume, 1 + held)) == held, step_s=0.01)
    wait_for("another session", lambda: sum(
        int(read(volume.path_sysfs(0, path) / "reconnects")) for path in range(1 + held)) == 1, 90)
    again = time.monotonic()
    one.goes_on()
    wait_for("no reason to wait", lambda: holding(volume, 1 + held) == {"none"})
    # 10 s and 5 s, but never the half minute that a LUN may be busy.
    assert again - asked < 25
    assert one.errors == []


def slow(answer_s):
    """A LUN that is slow all the time. All its answers take longer than a timeout of one."""

    async def on_command(run, conn, task):
        if run.armed:
            await asyncio.sleep(answer_s)
        return False

    return Scenario("slow", hooks={"on_command": on_command})


@pytest.mark.timeout_s(300)
def test_a_slow_lun_comes_back(scripted, server, kernel_log):
    """The timeout of a login is one for each answer of the LUN, not for all of them."""
    volume, _ = scripted(slow(2), metadata="none",
                         path={"default_time2wait": 0, "login_timeout_ms": 14000})
    volume.enable()
    server.arm()
    lost = time.monotonic()
    wait_for("a connection to break", lambda: network.kill_connections(port=server.port))
    wait_for("the path", lambda: volume.reconnects() and volume.state() == "live", 120)
    assert time.monotonic() - lost > 14
    assert not kernel_log.matching(f"{volume.name}/0/0: LUN bring-up")


@pytest.mark.timeout_s(300)
def test_a_slow_lun_says_so_over_all_paths(make_scripted, server, reader):
    """No path could have the other's commands: each has its time as long as the LUN answers."""
    volume, _ = make_scripted(slow(1), paths=2,
                              metadata="none", policy="round-robin")
    one = reader(volume.enable())
    wait_for("both paths", lambda: read(volume.sysfs() / "state") == "live")
    server.arm()
    asked = time.monotonic()
    tell_sense(server, fixed_sense(6, 0x2A, 9))
    one.goes_on(4)
    assert time.monotonic() - asked > 5
    assert undisturbed(volume, 2)
    assert one.errors == []


@pytest.mark.timeout_s(300)
def test_a_read_that_has_waited_for_the_questions(scripted, server, kernel_log):
    """The LUN is busy with them for most of the read's time-out: its service has time all the same."""
    timeout_s, busy_s, service_s = 16, 14, 5
    begun = []

    async def hook(run, conn, task):
        if not run.armed:
            return False
        if task.opcode == READ_16 and not begun:
            begun.append(time.monotonic())
            await run.target.respond(conn, task, Result.check(6, 0x3F, 0x0E))
            return True
        if begun and time.monotonic() - begun[0] < busy_s:
            await run.target.respond(conn, task, Result(BUSY))
            return True
        if task.opcode == READ_16 and task.edtl == 8 * KIB:
            await asyncio.sleep(service_s)
        return False

    volume, _ = scripted(Scenario("busy", hooks={"on_command": hook}),
                         path={"default_time2wait": 0}, command_timeout_ms=timeout_s * 1000)
    with (Direct(volume.enable()) as disk, concurrent.futures.ThreadPoolExecutor() as pool,
          on_failure(volume.force_down)):
        server.arm()
        first = pool.submit(disk.read, 0, 4 * KIB)
        wait_for("the change", lambda: begun)
        with Direct(f"/dev/{volume.device()}") as other:
            same(other.read(MIB, 8 * KIB), bytes(8 * KIB), "what was read")
        first.result(60)
    assert time.monotonic() - begun[0] > busy_s + service_s
    assert not kernel_log.matching("has timed out: aborting it")
    assert undisturbed(volume)


async def tell(target, event, data=b"", lun=0):
    for conn in list(target.connections):
        await conn.tell(event, data=data, lun=lun << 48)


def tell_sense(server, sense, lun=0):
    server.call(tell(server.target, 0, data=len(sense).to_bytes(2, "big") + sense, lun=lun))


def test_spare_sessions_are_told(server, make_volume, links):
    """A proof's own sessions hear of it, too, and have nothing to do with it."""
    told = set()
    over = threading.Event()

    async def told_first(run, conn, what):
        """Each session is told before it has its first answer: that of a proof is soon over."""
        while conn not in told and not over.is_set():
            await asyncio.sleep(0.01)
        return False

    target = server.load(Scenario("tells", hooks={"on_command": told_first, "on_nop": told_first}))
    volume = make_volume(target, paths=links, fence="auto",
                         path={"portal": f"{links[0].address}:{server.port}"})
    write(volume.leg / "paths" / "1" / "portal", f"{links[1].address}:{server.port}")

    async def tell_all():
        for conn in server.connections():
            told.add(conn)
            await conn.tell(0)

    def go_on():
        while not over.wait(0.02):
            with contextlib.suppress(ConnectionError):
                server.call(tell_all())

    thread = threading.Thread(target=go_on, daemon=True)
    thread.start()
    try:
        volume.enable()
        volume.wait_proven()
        wait_for("one of the proof's sessions to be told", lambda: len(told) > 2)
    finally:
        over.set()
        thread.join(30)
    assert undisturbed(volume, 2)


def test_messages_while_ports_are_polled(make_server, make_volume, links):
    """No port takes I/O, each is polled: a worker that may not ask yet sleeps until then."""
    servers, groups = [make_server(), make_server()], Groups(OPTIMIZED, OPTIMIZED)
    for server, port in zip(servers, groups.ports):
        server.load(HONEST).disk = port
    volume = volume_over(make_volume, links[:2], [server.port for server in servers],
                         servers[0].target, policy="round-robin", fence="path",
                         path={"login_timeout_ms": 10000})
    with Direct(volume.enable()) as disk:
        groups.set(STANDBY, STANDBY)
        writer = Write(disk, 0, noise(64 * KIB, 1))
        wait_for("I/O to wait", lambda: read(volume.sysfs() / "state") == "waiting", 20)
        with traced("workqueue/workqueue_execute_start") as trace:
            for _ in range(20):
                for server in servers:
                    server.call(tell(server.target, 0))
                time.sleep(0.2)
            runs = trace().count("function nexus_work")
        groups.set(STANDBY, OPTIMIZED)
        writer.finish(30)
    # An event each, and some polls; of one that does not sleep there are thousands.
    assert 20 <= runs < 500
    for path in range(2):
        assert read(volume.path_sysfs(0, path) / "faults") == "0"
