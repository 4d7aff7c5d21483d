# SPDX-License-Identifier: GPL-2.0
"""A port whose session lives, and which serves nothing: commands end with errors, or it is busy.

The SCSI disk driver ends such requests with BLK_STS_IOERR, some at once, others after minutes, and
dm-multipath sends them over another path (blk_path_error()). So does istripe.
"""

import asyncio
import concurrent.futures
import contextlib
import errno
import itertools
import re
import struct
import time
from pathlib import Path

import pytest

from conftest import MIB
from lab import dm, network
from lab.disk import Direct, noise, same, works
from lab.ghost import (
    AT,
    ISIDS,
    PATIENCE_S,
    SIZE,
    Write,
    killed,
    path_state,
    set_isids,
    state,
    undisturbed,
    volume_over,
    wait_waiting,
)
from lab.istripe import EnableError
from lab.shell import read, udev_settle, wait_for, write
from scripted.alua import (
    EXPLICIT,
    NON_OPTIMIZED,
    OPTIMIZED,
    STANDBY,
    TRANSITIONING,
    Groups,
)
from scripted.ghost import Gate
from scripted.scenario import Scenario, silence
from scripted.scsi import (
    BUSY,
    READ_10,
    READ_16,
    SYNCHRONIZE_CACHE_10,
    SYNCHRONIZE_CACHE_16,
    TEST_UNIT_READY,
    WRITE_10,
    WRITE_16,
    Result,
)

PATH = {"login_timeout_ms": 10000, "default_time2wait": 0}
TRANSITION_S = 3

ANSWERS = {
    "intervention": Result.check(2, 4, 3),
    "start-unit": Result.check(2, 4, 2),
    "offline": Result.check(2, 4, 0x12),
    "no-medium": Result.check(2, 0x3A, 0),
    "backend": Result.check(2, 8, 0),
    "aborted": Result.check(0xB, 0, 0),
    "busy": Result(BUSY),
    "becoming-ready": Result.check(2, 4, 1),
}
OTHER_CONTROLLER = Result.check(5, 0x94, 1)
#: An MBR with one partition of 8 MiB from 1 MiB on.
ONE_PARTITION = (bytes(446) + struct.pack("<4xB3xII", 0x83, MIB // 512, 8 * MIB // 512) + bytes(48) +
                 b"\x55\xaa")
#: What the leg says of some of them.
WORDS = {"intervention": "sense 2/04/03", "backend": "sense 2/08/00", "aborted": "sense b/00/00"}
#: command_timeout_ms of commands that are not answered, and what a busy machine takes more.
HANG_S, ROOM_S = 5, 8
#: Small writes, one after the other, and how many answers of a busy path they cost at most, but for
#: two a second.
SMALL, SMALL_REFUSALS = 400, 100
WAITS = pytest.mark.allow_log("no path serves it", "a wait that the test looks for")
HANGS = pytest.mark.allow_log("has timed out: aborting it|commands stay unanswered",
                              "what no path answers")
SAYS = pytest.mark.allow_log("is sent again|failed on this path|given up", "what the target says")


def answers(result, opcodes=(READ_16, WRITE_16)):
    async def hook(run, conn, task):
        if task.opcode not in opcodes or not run.strike():
            return False
        if task.write:
            await run.target.collect(conn, task)
        conn.session.tasks.pop(task.itt, None)
        await run.target.respond(conn, task, result)
        return True

    return hook


@pytest.fixture
def two_paths(make_server, make_volume, links):
    """two_paths(hook, states): a volume, and the servers behind its paths, which answer by the hook.

    As many as there are states.
    """
    def make(hook, states=(OPTIMIZED, OPTIMIZED), **options):
        servers = [make_server() for _ in states]
        groups = Groups(*states)
        for server, port in zip(servers, groups.ports):
            scenario = Scenario("serves nothing", hooks={"on_command": hook}, times=1 << 20)
            server.load(scenario).disk = port
        over = [link for link, _ in zip(itertools.cycle(links), servers)]
        volume = volume_over(make_volume, over, [server.port for server in servers],
                             servers[0].target, path=PATH, fence="path",
                             **{"recovery_timeout_ms": 30000, **options})
        return volume, servers, groups

    return make


@SAYS
@pytest.mark.parametrize("policy", ["failover", "round-robin", "interleave"])
@pytest.mark.parametrize("name", ANSWERS)
def test_the_other_path_serves(two_paths, name, policy):
    volume, (bad, _), _ = two_paths(answers(ANSWERS[name]), policy=policy)
    with Direct(volume.enable()) as disk:
        works(disk, 1)
        bad.arm()
        works(disk, 2)
        assert bad.target.run.hits > 0
        bad.target.run.armed = False
        works(disk, 3)
    undisturbed(volume)


@SAYS
def test_a_path_that_cannot_flush(two_paths):
    """LOGICAL UNIT COMMUNICATION TIME-OUT: nothing is said of the cache, and the other path flushes."""
    flushes = SYNCHRONIZE_CACHE_10, SYNCHRONIZE_CACHE_16
    volume, (bad, good), groups = two_paths(answers(Result.check(2, 8, 1), flushes))
    with Direct(volume.enable()) as disk:
        works(disk, 1)
        bad.arm()
        before = groups.ports[1].flushes
        disk.flush()
        assert bad.target.run.hits == 1 and not good.target.run.hits
        assert groups.ports[1].flushes == before + 1


@SAYS
@pytest.mark.parametrize("result", [ANSWERS["intervention"], ANSWERS["backend"], OTHER_CONTROLLER],
                         ids=["intervention", "backend", "other"])
def test_superblocks_over_the_other_path(two_paths, result):
    """They are read over one path of each leg. The one that cannot logs in again until it can."""
    volume, (bad, good), _ = two_paths(answers(result, (READ_16,)), metadata="md")
    write(volume.config / "metadata_create", 1)
    volume.enable()
    volume.disable()
    bad.arm()
    with Direct(volume.enable()) as disk:
        works(disk, 1)
        assert bad.target.run.hits and not good.target.run.hits
        bad.target.run.armed = False
        wait_for("path 0", lambda: path_state(volume, 0) == "live", 60)
        works(disk, 2)


@SAYS
@pytest.mark.parametrize("result", [ANSWERS["backend"], OTHER_CONTROLLER], ids=["backend", "other"])
def test_superblocks_over_no_path(two_paths, result):
    """An array that is starting: it fails as for any other refusal, which may pass, and so is tried
    again.
    """
    volume, servers, _ = two_paths(answers(result, (READ_16,)), metadata="md")
    write(volume.config / "metadata_create", 1)
    volume.enable()
    volume.disable()
    for server in servers:
        server.arm()
    with pytest.raises(EnableError) as refused:
        volume.enable()
    assert refused.value.number == errno.EIO
    assert "cannot read its superblock: status 0x02" in refused.value.reason
    for server in servers:
        assert server.target.run.hits
        server.target.run.armed = False
    volume.enable()


@SAYS
def test_a_superblock_over_a_path_that_comes(two_paths):
    """Over the others it has been read: the path is refused as any other is."""
    volume, (_, bad), _ = two_paths(answers(ANSWERS["backend"], (READ_16,)), metadata="md")
    write(volume.config / "metadata_create", 1)
    with Direct(volume.enable()) as disk:
        enable = volume.leg / "paths" / "1" / "enable"
        write(enable, 0)
        bad.arm()
        with pytest.raises(OSError) as refused:
            write(enable, 1)
        assert refused.value.errno == errno.EIO and bad.target.run.hits
        assert "cannot read its superblock: status 0x02" in volume.last_error()
        bad.target.run.armed = False
        write(enable, 1)
        works(disk, 1)
    assert path_state(volume, 1) == "live"


@SAYS
def test_new_superblocks_over_the_other_path(two_paths):
    """A write that the target has refused is over: it is done again, with all that goes before it."""
    volume, (bad, _), groups = two_paths(answers(OTHER_CONTROLLER, (WRITE_16,)), metadata="md")
    write(volume.config / "metadata_create", 1)
    bad.arm()
    with Direct(volume.enable()) as disk:
        works(disk, 1)
    assert bad.target.run.hits and groups.ports[1].flushes


@SAYS
@pytest.mark.parametrize("policy", ["failover", "round-robin"])
@pytest.mark.parametrize("name", ["busy", "becoming-ready"])
def test_a_busy_path_slows_nothing(two_paths, name, policy):
    """A controller that has just started: multipathd takes the path for one that does not serve."""
    volume, (bad, _), groups = two_paths(answers(ANSWERS[name]), policy=policy)
    with Direct(volume.enable()) as disk:
        bad.arm()
        before, began = int(read(volume.path_sysfs(0, 0) / "retries")), time.monotonic()
        for at in range(SMALL):
            disk.write(at * 4096, noise(4096, at))
        refused = int(read(volume.path_sysfs(0, 0) / "retries")) - before
        elapsed_s = time.monotonic() - began
        assert 0 < refused == bad.target.run.hits < SMALL_REFUSALS + 2 * elapsed_s
        bad.target.run.armed = False
        served = groups.ports[0].served
        wait_for("it to serve again", lambda: works(disk, 1, 1) or groups.ports[0].served > served)
    assert [path_state(volume, path) for path in range(2)] == ["live", "live"]


@SAYS
@pytest.mark.parametrize("name", ["intervention", "backend"])
def test_the_only_optimized_path_fails(two_paths, name, kernel_log):
    """It makes room for one that is not optimized, until it serves a read."""
    volume, (bad, good), groups = two_paths(answers(ANSWERS[name]), (OPTIMIZED, NON_OPTIMIZED))
    with Direct(volume.enable()) as disk:
        works(disk, 1)
        assert groups.ports[1].served == 0
        bad.arm()
        works(disk, 2)
        assert groups.ports[1].served > 0 and good.target.run.hits == 0
        assert path_state(volume, 0) != "live"
        wait_for("the trial", lambda: kernel_log.matching("a read on trial"))
        bad.target.run.armed = False
        wait_for("path 0", lambda: path_state(volume, 0) == "live", 60)
        works(disk, 3)


@pytest.mark.allow_log("error, dev istripe", "the write that fails")
@pytest.mark.parametrize("state_of_1", [OPTIMIZED, NON_OPTIMIZED], ids=["alike", "reserve"])
def test_the_medium_takes_no_write(two_paths, state_of_1):
    """Tried eight times more over the paths that get I/O; then the write fails, and no session ends.

    The SCSI disk driver, too, fails such a write after some more tries, and keeps its sessions.
    """
    volume, servers, _ = two_paths(answers(Result.check(3, 0x0C, 2), (WRITE_16,)),
                                   (OPTIMIZED, state_of_1))
    with Direct(volume.enable()) as disk:
        works(disk, 1)
        for server in servers:
            server.arm()
        with pytest.raises(OSError) as failed:
            disk.write(AT, noise(SIZE, 1))
        assert failed.value.errno == errno.ENODATA
        hits = [server.target.run.hits for server in servers]
        assert sum(hits) == 9 and bool(hits[1]) == (state_of_1 == OPTIMIZED)
        assert state(volume) == "live"
        for server in servers:
            server.target.run.armed = False
        works(disk, 2)
    undisturbed(volume)


@SAYS
@pytest.mark.parametrize("policy", ["failover", "round-robin"])
def test_the_only_optimized_path_stays_away(two_paths, policy):
    """Also when it comes behind the other one in the order of failover."""
    volume, (good, bad), groups = two_paths(answers(ANSWERS["intervention"]),
                                            (NON_OPTIMIZED, OPTIMIZED), policy=policy)
    with Direct(volume.enable()) as disk:
        works(disk, 1)
        assert groups.ports[0].served == 0
        bad.arm()
        works(disk, 2)
        faults = read(volume.path_sysfs(0, 1) / "faults")
        works(disk, 3)
        assert path_state(volume, 1) != "live"
        assert read(volume.path_sysfs(0, 1) / "faults") == faults
        bad.target.run.armed = False
        wait_for("path 1", lambda: path_state(volume, 1) == "live", 60)
        works(disk, 4)
    assert good.target.run.hits == 0


@SAYS
def test_the_good_one_is_busy_now_and_then(two_paths):
    """A path that has failed a command does not get it again because another one is busy."""
    bad_answers, turn = answers(ANSWERS["intervention"]), itertools.count()

    async def hook(run, conn, task):
        if run is servers[0].target.run:
            return await bad_answers(run, conn, task)
        return next(turn) % 2 and await answers(ANSWERS["busy"])(run, conn, task)

    volume, servers, _ = two_paths(hook, policy="round-robin")
    with Direct(volume.enable()) as disk:
        for server in servers:
            server.arm()
        works(disk, 1)
    assert all(server.target.run.hits > 0 for server in servers)


@SAYS
def test_the_good_one_is_away_for_a_while(two_paths, links):
    """dm-multipath has failed the bad path, and queues until the good one is back."""
    volume, (bad, good), _ = two_paths(answers(ANSWERS["intervention"]))
    with Direct(volume.enable()) as disk:
        bad.arm()
        works(disk, 1)
        killed(links[1], good.port)
        works(disk, 2)
        wait_for("path 1", lambda: path_state(volume, 1) == "live", 60)
        works(disk, 3)


def waits_for_a_path(volume, words):
    """The leg says that it waits, and why."""
    wait_for("the leg to wait", lambda: state(volume) == "waiting")
    leg = volume.sysfs() / "legs" / "0"
    assert read(leg / "state") == "waiting"
    assert int(read(leg / "waiting_ms")) > 0
    assert re.fullmatch(rf"command 0x8a: status 0x02, {words}: .*", read(leg / "last_error"))


def waiting_write(volume, servers, disk):
    """The write that waits since all paths have begun to answer "intervention required"."""
    for server in servers:
        server.arm()
    write_through = Write(disk, AT, noise(SIZE, 1))
    waits_for_a_path(volume, "sense 2/04/03")
    return write_through


def waits_no_more(volume):
    leg = volume.sysfs() / "legs" / "0"
    wait_for("the leg", lambda: state(volume) == "live")
    assert (read(leg / "waiting_ms"), read(leg / "last_error")) == ("0", "")


@SAYS
@WAITS
@pytest.mark.parametrize("recovery_ms", [60000, -1])
@pytest.mark.parametrize("name", WORDS)
def test_no_path_serves_for_a_while(two_paths, name, recovery_ms):
    """What dm-multipath with queue_if_no_path waits for as well; no session is lost for it."""
    volume, servers, _ = two_paths(answers(ANSWERS[name]), recovery_timeout_ms=recovery_ms)
    with Direct(volume.enable()) as disk:
        for server in servers:
            server.arm()
        write_through = Write(disk, AT, noise(SIZE, 1))
        waits_for_a_path(volume, WORDS[name])
        for server in servers:
            server.target.run.armed = False
        write_through.join(PATIENCE_S)
        assert write_through.good
        waits_no_more(volume)
        works(disk, 2)
    for path, server in enumerate(servers):
        assert server.target.run.hits > 0
        assert path_state(volume, path) == "live"
        assert read(volume.path_sysfs(0, path) / "faults") == "0"


@SAYS
@WAITS
@pytest.mark.allow_log("error, dev sd", "what the stock path says")
def test_dm_multipath_waits_as_well(make_server, make_volume, stock, links):
    """The stock stack beside: one path each, which is reinstated as multipathd would do it."""
    scenario = Scenario("serves nothing", times=1 << 20, hooks={"on_command": answers(
        ANSWERS["intervention"], (READ_10, READ_16, WRITE_10, WRITE_16))})
    ours, theirs = servers = [make_server(), make_server()]
    for index, server in enumerate(servers):
        server.load(scenario, identity=f"6001405{index:025x}")
    volume = volume_over(make_volume, links[:1], [ours.port], ours.target, path=PATH,
                         recovery_timeout_ms=-1)
    with (Direct(volume.enable()) as disk,
          dm.queueing(stock.login(f"{links[1].address}:{theirs.port}", theirs.target.iqn)) as mpath,
          Direct(mpath.device) as stock_disk):
        for server in servers:
            server.arm()
        writes = [Write(each, AT, noise(SIZE, 1)) for each in (disk, stock_disk)]
        waits_for_a_path(volume, "sense 2/04/03")
        wait_for("the failed path", mpath.failed)
        assert not any(each.good for each in writes)
        for server in servers:
            server.target.run.armed = False
        mpath.reinstate()
        for each in writes:
            each.join(PATIENCE_S)
            assert each.good


async def hangs(run, _conn, task):
    """The targets abort the write when they are told to, each time."""
    return task.opcode == WRITE_16 and run.strike()


@SAYS
@WAITS
@HANGS
@pytest.mark.timeout_s(400)
def test_no_path_answers_for_a_while(two_paths):
    volume, servers, _ = two_paths(hangs, recovery_timeout_ms=-1, command_timeout_ms=1000)
    with Direct(volume.enable()) as disk:
        for server in servers:
            server.arm()
        write_through = Write(disk, AT, noise(SIZE, 1))
        wait_for("the leg to wait", lambda: state(volume) == "waiting", 120)
        leg = volume.sysfs() / "legs" / "0"
        assert "command 0x8a: not answered in time, aborted" in read(leg / "last_error")
        for server in servers:
            server.target.run.armed = False
        write_through.join(PATIENCE_S)
        assert write_through.good
        waits_no_more(volume)


@SAYS
@WAITS
@HANGS
@pytest.mark.allow_log("error, dev istripe", "the write that fails")
@pytest.mark.parametrize("state_of_1", [OPTIMIZED, NON_OPTIMIZED], ids=["alike", "reserve"])
def test_no_path_answers_for_long(two_paths, state_of_1):
    """Each has had its time-out: the leg waits, and recovery_timeout_ms counts. No session ends, for it
    may be the LUN.
    """
    volume, servers, _ = two_paths(hangs, (OPTIMIZED, state_of_1), recovery_timeout_ms=10000,
                                   command_timeout_ms=HANG_S * 1000)
    with Direct(volume.enable()) as disk:
        for server in servers:
            server.arm()
        write_through = Write(disk, AT, noise(SIZE, 1))
        wait_for("the leg to wait", lambda: state(volume) == "waiting", 3 * HANG_S + ROOM_S)
        write_through.join(10 + 2 * HANG_S + ROOM_S)
        assert not write_through.is_alive() and not write_through.good
        assert all(server.target.run.hits for server in servers)
        waits_no_more(volume)
        for server in servers:
            server.target.run.armed = False
        works(disk, 2)
    undisturbed(volume)


@HANGS
@pytest.mark.allow_log("commands time out over this path, while another", "the path that hangs")
def test_the_only_optimized_path_does_not_answer(two_paths):
    """The write goes over the other path after one time-out. That is tried before a session ends."""
    volume, (bad, _), groups = two_paths(hangs, (OPTIMIZED, NON_OPTIMIZED),
                                         command_timeout_ms=HANG_S * 1000)
    with Direct(volume.enable()) as disk:
        faults = volume.path_sysfs(0, 0) / "faults"
        bad.arm()
        time.sleep(0.2)
        began = time.monotonic()
        Write(disk, AT, noise(SIZE, 1)).finish()
        assert time.monotonic() - began < 2 * HANG_S + ROOM_S
        assert groups.ports[1].served > 0

        def given_up():
            Write(disk, AT, noise(SIZE, 2)).finish()
            return read(faults) != "0"

        # At once, unless the other one was slow just then.
        wait_for("the session to be given up", given_up, 10 * HANG_S)
        bad.target.run.armed = False
        wait_for("path 0", lambda: path_state(volume, 0) == "live", 60)
        works(disk, 3)
    assert read(volume.path_sysfs(0, 1) / "faults") == "0"


@SAYS
@WAITS
@HANGS
@pytest.mark.allow_log("error, dev istripe", "the write that fails")
@pytest.mark.allow_log("commands time out over this path, while another", "the path that hangs")
@pytest.mark.parametrize("result, reserve", [
    (OTHER_CONTROLLER, ()), (OTHER_CONTROLLER, (NON_OPTIMIZED,)), (ANSWERS["aborted"], (NON_OPTIMIZED,)),
], ids=["other", "other-reserve", "aborted-reserve"])
def test_one_path_hangs_and_one_fails(two_paths, result, reserve):
    """They take turns no longer than recovery_timeout_ms allows, and one without I/O has its turn."""
    fails = answers(result, (WRITE_16,))

    async def hook(run, conn, task):
        return await (hangs if run is servers[0].target.run else fails)(run, conn, task)

    volume, servers, groups = two_paths(hook, (OPTIMIZED, OPTIMIZED, *reserve),
                                        command_timeout_ms=1000, recovery_timeout_ms=1500)
    with Direct(volume.enable()) as disk:
        for server in servers[:2]:
            server.arm()
        write_through = Write(disk, AT, noise(SIZE, 1))
        # A time-out comes after up to two seconds.
        write_through.join(10 + ROOM_S)
        assert not write_through.is_alive()
        assert write_through.good == bool(reserve)
        assert all(server.target.run.hits for server in servers[:2])
        if reserve:
            assert groups.ports[2].served > 0
        else:
            waits_no_more(volume)
        for server in servers:
            server.target.run.armed = False
        works(disk, 2)
    assert read(volume.path_sysfs(0, 1) / "faults") == "0"


@SAYS
@WAITS
@pytest.mark.allow_log("error, dev istripe", "the write that fails")
def test_no_path_serves_for_long(two_paths, kernel_log):
    """recovery_timeout_ms bounds the wait; no session is lost, and nothing else waits."""
    volume, servers, _ = two_paths(answers(ANSWERS["intervention"], (WRITE_16,)),
                                   recovery_timeout_ms=-1)
    with Direct(volume.enable()) as disk:
        for server in servers:
            server.arm()
        began = time.monotonic()
        write_through = Write(disk, AT, noise(SIZE, 1))
        waits_for_a_path(volume, "sense 2/04/03")
        disk.read(0, SIZE)
        write(volume.config / "recovery_timeout_ms", 3000)
        write_through.join(PATIENCE_S)
        assert not write_through.good and not write_through.is_alive()
        assert time.monotonic() - began >= 3
        assert kernel_log.matching("/0: command 0x8a: .* failed on this path: given up")
        waits_no_more(volume)
        for server in servers:
            server.target.run.armed = False
        works(disk, 2)
    assert [path_state(volume, path) for path in range(2)] == ["live", "live"]


@SAYS
@WAITS
@pytest.mark.allow_log("error, dev istripe", "what waits when the volume goes down")
def test_down_while_no_path_serves(two_paths):
    """Nothing ends the wait but force, and that does."""
    volume, servers, _ = two_paths(answers(ANSWERS["intervention"]), recovery_timeout_ms=-1)
    with Direct(volume.enable()) as disk:
        write_through = waiting_write(volume, servers, disk)
        with contextlib.suppress(OSError):      # not all has been written
            write(volume.config / "enable", "force")
        write_through.join(PATIENCE_S)
        assert not write_through.good and not write_through.is_alive()
    assert read(volume.config / "enable") == "0"


@SAYS
@WAITS
@pytest.mark.allow_log("istripe[0-9]+: unable to read|partition table of istripe|rror.*, dev istripe|on dev istripe|"
                       "unable to read RDB|Disk read failed", "it cannot be read yet")
@pytest.mark.parametrize("ends", ["served", "forced"])
def test_enable_while_no_path_serves(two_paths, kernel_log, ends):
    """The partition table is read when a path serves it: the volume is up, and can be taken down."""
    volume, servers, _ = two_paths(answers(ANSWERS["intervention"]), recovery_timeout_ms=-1,
                                   command_timeout_ms=2000)
    with Direct(volume.enable()) as disk:
        disk.write(0, ONE_PARTITION.ljust(SIZE, b"\0"))
    volume.disable()
    for server in servers:
        server.arm()
    device = volume.enable()
    assert kernel_log.matching("the partition table of istripe[0-9]+ is not read yet")
    wait_for("the leg to wait", lambda: state(volume) == "waiting")
    part = Path("/sys/class/block") / device.name / f"{device.name}p1"
    assert not part.exists()
    if ends == "served":
        for server in servers:
            server.target.run.armed = False
        wait_for("the partition", part.exists)
        assert read(part / "size") == str(8 * MIB // 512)
        waits_no_more(volume)
        udev_settle()
    else:
        with contextlib.suppress(OSError):
            write(volume.config / "enable", "force")
        assert read(volume.config / "enable") == "0"


@SAYS
@WAITS
def test_a_standby_port_is_asked_for_the_lun(two_paths):
    """dm-multipath fails the path, and its hardware handler activates the other group."""
    volume, (bad, _), groups = two_paths(answers(ANSWERS["intervention"]), (OPTIMIZED, STANDBY))
    groups.tpgs = EXPLICIT
    with Direct(volume.enable()) as disk:
        works(disk, 1)
        bad.arm()
        works(disk, 2)
        assert groups.wanted == [1]
        assert read(volume.path_sysfs(0, 1) / "access_state") == "active/optimized"
        waits_no_more(volume)
    assert path_state(volume, 0) == "live"


@SAYS
@WAITS
def test_a_standby_port_is_asked_for_its_state(two_paths):
    """Often, while no path serves: the target may hand the LUN over by itself."""
    volume, (bad, _), groups = two_paths(answers(ANSWERS["intervention"]), (OPTIMIZED, STANDBY))
    with Direct(volume.enable()) as disk:
        works(disk, 1)
        bad.arm()
        write_through = Write(disk, AT, noise(SIZE, 1))
        waits_for_a_path(volume, "sense 2/04/03")
        asked = groups.ports[1].asked
        wait_for("three questions", lambda: groups.ports[1].asked >= asked + 3, 15)
        groups.set(STANDBY, OPTIMIZED)
        write_through.join(PATIENCE_S)
        assert write_through.good
        works(disk, 2)


@SAYS
@WAITS
def test_a_reserve_path_serves_again(two_paths):
    """Both fail writes, and serve the reads of a trial; then the one that gets no I/O is mended."""
    volume, (bad, good), groups = two_paths(answers(ANSWERS["intervention"], (WRITE_16,)),
                                            (OPTIMIZED, NON_OPTIMIZED), recovery_timeout_ms=-1)
    with Direct(volume.enable()) as disk:
        faults = volume.path_sysfs(0, 0) / "faults"
        for server in (bad, good):
            server.arm()
        write_through = Write(disk, AT, noise(SIZE, 1))
        # As often as there are paths: what the write could do has been done.
        wait_for("path 0 to be lost twice", lambda: read(faults) == "2", 60)
        wait_for("path 0", lambda: path_state(volume, 0) == "live", 60)
        good.target.run.armed = False
        write_through.join(PATIENCE_S)
        assert write_through.good
        assert groups.ports[1].served > 0
        waits_no_more(volume)


@SAYS
@WAITS
@pytest.mark.timeout_s(400)
def test_an_outage_while_no_path_serves(two_paths, links):
    """It has a time of its own: the wait for a path that serves goes on behind it."""
    volume, servers, _ = two_paths(answers(ANSWERS["intervention"]), recovery_timeout_ms=30000)
    with Direct(volume.enable()) as disk:
        write_through = waiting_write(volume, servers, disk)
        began = time.monotonic()
        with network.silent(links[0]), network.silent(links[1]):
            for server in servers:
                network.kill_connections(port=server.port, by_target=True)
            wait_for("the outage", lambda: path_state(volume, 0) != "live" != path_state(volume, 1))
            time.sleep(15)
        # The other one fails its trial.
        wait_for("a path", lambda: "live" in (path_state(volume, 0), path_state(volume, 1)), 60)
        # Older than recovery_timeout_ms, but not without the outage.
        time.sleep(max(0, began + 33 - time.monotonic()))
        assert write_through.is_alive()
        for server in servers:
            server.target.run.armed = False
        write_through.join(PATIENCE_S)
        assert write_through.good


@SAYS
@WAITS
@pytest.mark.timeout_s(400)
def test_a_lost_write_while_no_path_serves(make_server, make_volume, links):
    """The time that a write waits for the fence of another one does not count either."""
    servers, gate = [make_server(), make_server()], Gate()
    refuses = answers(ANSWERS["intervention"], (WRITE_16,))
    lost_here, held, go_on = [], [], asyncio.Event()

    async def on_command(run, conn, task):
        if task.opcode != WRITE_16 or not run.armed:
            return False
        first = run is servers[0].target.run
        # The smaller one is lost with the first path; the second one has it.
        if task.edtl == SIZE:
            if first:
                lost_here.append(task)
                await silence()
            return False
        if not first and run.memory.get("hold"):
            held.append(task)
            await go_on.wait()
        return await refuses(run, conn, task)

    # No path can end a session of the other one.
    targets = [server.load(Scenario("serves nothing", times=1 << 20, settings={"tpgt": group},
                                    hooks={**gate.hooks, "on_command": on_command}))
               for group, server in enumerate(servers, 1)]
    targets[1].disk = targets[0].disk
    volume = volume_over(make_volume, links, [server.port for server in servers], targets[0],
                         path=PATH, fence="auto")
    set_isids(volume)

    def refused():
        return sum(target.run.hits for target in targets)

    with Direct(volume.enable()) as disk:
        lost = volume.path_sysfs(0, 0)
        wait_for("the search for a fence to end", lambda: read(lost / "unproven"), PATIENCE_S)
        for server in servers:
            server.arm()
        older = Write(disk, AT, noise(SIZE, 1))
        wait_for("the write that is to be lost", lambda: lost_here, PATIENCE_S)
        newer = Write(disk, AT, noise(2 * SIZE, 2))
        waits_for_a_path(volume, "sense 2/04/03")
        # So that it is not lost as well.
        targets[1].run.memory["hold"] = True
        wait_for("the write over the second path", lambda: held, PATIENCE_S)
        gate.close(servers[0], ISIDS[0])
        older.finish()
        assert read(lost / "ghost_writes") == "1"
        servers[1].loop.call_soon_threadsafe(go_on.set)
        wait_waiting(volume, newer)
        write(volume.config / "recovery_timeout_ms", 15000)
        # Less than the half minute for which it may wait there.
        wait_for("a wait of longer than that", lambda: not newer.is_alive() or
                 int(read(lost / "waiting_ms")) > 16000, PATIENCE_S)
        assert newer.is_alive() and read(lost / "waiting_writes") == "1"
        before = refused()
        gate.open(ISIDS[0])
        wait_for("the next refusals", lambda: not newer.is_alive() or refused() >= before + 2,
                 PATIENCE_S)
        for target in targets:
            target.run.armed = False
        newer.finish()
        waits_no_more(volume)
        same(disk.read(AT, 2 * SIZE), noise(2 * SIZE, 2), "what was read")
        works(disk, 3)
    volume.disable()


@SAYS
@pytest.mark.timeout_s(400)
def test_the_only_optimized_path_is_busy(two_paths, kernel_log):
    """For some seconds; then it makes room for one that is not optimized."""
    volume, (bad, _), groups = two_paths(answers(ANSWERS["busy"]), (OPTIMIZED, NON_OPTIMIZED),
                                         command_timeout_ms=10000, recovery_timeout_ms=1000)
    with Direct(volume.enable()) as disk:
        began = time.monotonic()
        bad.arm()
        writes = [Write(disk, AT + at * SIZE, noise(SIZE, 1)) for at in range(8)]
        writes[0].join(PATIENCE_S)
        assert time.monotonic() - began > 9
        for each in writes:
            each.join(PATIENCE_S)
            assert each.good
        assert groups.ports[1].served > 0
        works(disk, 2)
        wait_for("the trial", lambda: kernel_log.matching("a read on trial: busy"))
        assert path_state(volume, 0) != "live"
        bad.target.run.armed = False
        wait_for("path 0", lambda: path_state(volume, 0) == "live", 60)
        works(disk, 3)


@pytest.mark.parametrize("alua", ["on", "off"])
def test_a_transition_told_by_unit_attentions(two_paths, alua):
    """For as long as it takes, to each command: by 06h/04h/0Ah instead of 02h/04h/0Ah."""
    in_transition = answers(Result.check(6, 4, 0x0A), (READ_16, WRITE_16, TEST_UNIT_READY))
    volume, servers, groups = two_paths(in_transition, alua=alua)
    with Direct(volume.enable()) as disk:
        works(disk, 1)

        async def begin():
            groups.set(TRANSITIONING, TRANSITIONING)
            for server in servers:
                server.target.run.armed = True
            await asyncio.sleep(TRANSITION_S)
            groups.set(OPTIMIZED, OPTIMIZED)
            for server in servers:
                server.target.run.armed = False

        with concurrent.futures.ThreadPoolExecutor() as pool:
            transition = pool.submit(servers[0].call, begin(), 60)
            wait_for("the transition", lambda: servers[0].target.run.armed)
            works(disk, 2)
            transition.result(60)
    assert servers[0].target.run.hits + servers[1].target.run.hits > 0
    assert [path_state(volume, path) for path in range(2)] == ["live", "live"]
