# SPDX-License-Identifier: GPL-2.0
"""A port whose session lives, and which serves nothing: commands end with errors, or it is busy.

The SCSI disk driver ends such requests with BLK_STS_IOERR, some at once, others after minutes, and
dm-multipath sends them over another path (blk_path_error()). So does istripe.
"""

import asyncio
import concurrent.futures
import itertools

import pytest

from lab.disk import Direct, noise, works
from lab.ghost import KIB, killed, volume_over
from lab.shell import read, wait_for
from scripted.alua import NON_OPTIMIZED, OPTIMIZED, TRANSITIONING, Groups
from scripted.scenario import Scenario
from scripted.scsi import BUSY, READ_16, TEST_UNIT_READY, WRITE_16, Result

PATH = {"login_timeout_ms": 10000, "default_time2wait": 0}
#: With failover a busy path is given some time.
PATIENT_ROUNDS, ROUNDS = 2, 16
TRANSITION_S = 3

ANSWERS = {
    "intervention": Result.check(2, 4, 3),
    "start-unit": Result.check(2, 4, 2),
    "offline": Result.check(2, 4, 0x12),
    "no-medium": Result.check(2, 0x3A, 0),
    "backend": Result.check(2, 8, 0),
    "aborted": Result.check(0xB, 0, 0),
    "busy": Result(BUSY),
}
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
    """two_paths(hook, states): a volume, and the server behind path 0, which answers by the hook."""
    servers = [make_server(), make_server()]

    def make(hook, states=(OPTIMIZED, OPTIMIZED), **options):
        groups = Groups(*states)
        for server, port in zip(servers, groups.ports):
            scenario = Scenario("serves nothing", hooks={"on_command": hook}, times=1 << 20)
            server.load(scenario).disk = port
        volume = volume_over(make_volume, links, [server.port for server in servers],
                             servers[0].target, path=PATH, fence="path",
                             **{"recovery_timeout_ms": 30000, **options})
        return volume, servers, groups

    return make


def path_state(volume, path):
    return read(volume.path_sysfs(0, path) / "state")


@SAYS
@pytest.mark.parametrize("policy", ["failover", "round-robin", "interleave"])
@pytest.mark.parametrize("name", ANSWERS)
def test_the_other_path_serves(two_paths, name, policy):
    volume, (bad, _), _ = two_paths(answers(ANSWERS[name]), policy=policy)
    with Direct(volume.enable()) as disk:
        works(disk, 1)
        bad.arm()
        works(disk, 2, PATIENT_ROUNDS if name == "busy" else ROUNDS)
        assert bad.target.run.hits > 0
        bad.target.run.armed = False
        works(disk, 3)
    for path in range(2):
        assert path_state(volume, path) == "live"
        assert read(volume.path_sysfs(0, path) / "faults") == "0"


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


@SAYS
@pytest.mark.allow_log("error, dev istripe", "the write that fails")
def test_no_path_serves(two_paths):
    """Each path is tried once, then the request fails at once: nothing is lost, and no session."""
    volume, servers, _ = two_paths(answers(ANSWERS["intervention"]))
    with Direct(volume.enable()) as disk:
        for server in servers:
            server.arm()
        with pytest.raises(OSError):
            disk.write(0, noise(4 * KIB, 1))
        assert [server.target.run.hits for server in servers] == [1, 1]
        for server in servers:
            server.target.run.armed = False
        works(disk, 2)
    assert [path_state(volume, path) for path in range(2)] == ["live", "live"]


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
