# SPDX-License-Identifier: GPL-2.0
"""Hardware queues: batches, and polled requests (io_uring's IOPOLL, fio's hipri).

Nobody waits in vain: not for what was held back, and not who looks for answers himself.
"""

import os
import re
import time

import pytest

from lab import fio, lio, network, tracing
from lab.connections import sent
from lab.istripe import INITIATOR
from lab.shell import LabError, read, run, wait_for

KIB, MIB = 1 << 10, 1 << 20
QUICK = {"default_time2wait": 0, "ping_interval_ms": 500, "ping_timeout_ms": 5000,
         "login_timeout_ms": 10000}
NO_WAIT = {"DefaultTime2Wait": 0}
DIGESTS = {"header_digest": "CRC32C", "data_digest": "CRC32C"}
POLLED = {"ioengine": "io_uring", "hipri": True}
#: Packets that who polls takes at a time; softirq takes up to 64.
BUSY_POLL_BUDGET = 8


@pytest.fixture
def polled(make_lio, make_volume):
    """polled(...): a volume with polled queues over a LIO target."""

    def make(luns=(64 * MIB,), params=None, path=None, all_links=False, poll_queues=2, **options):
        target = make_lio(*luns, params={**NO_WAIT, **(params or {})}, all_links=all_links,
                          patient_with=INITIATOR)
        return make_volume(target, path={**QUICK, **(path or {})}, poll_queues=poll_queues,
                           **options)

    return make


@pytest.fixture
def napi(links):
    """The NICs can be polled: a veth has a queue for that only when it puts packets together, and
    takes it only for those of a peer that does not send them put together already."""

    def tune(here, there):
        for link in links:
            run("ethtool", "-K", link.nic, "gro", here)
            run("ethtool", "-K", link.peer, "tso", there, netns=network.NETNS)

    tune("on", "off")
    yield
    tune("off", "on")


def queues(volume):
    return len(list((volume.sysfs().parent / "mq").iterdir()))


def background(device, seconds, **options):
    return fio.begin(device, **{**POLLED, "rw": "randrw", "bs": "16k", "iodepth": 8,
                                "time_based": True, "runtime": seconds, "size": "100%", **options})


def test_not_by_default(make_lio, make_volume):
    volume = make_volume(make_lio())
    volume.enable()
    assert read(volume.sysfs() / "poll_queues") == "0"
    assert volume.queue("io_poll") == "0"
    assert queues(volume) == 1


@pytest.mark.parametrize("asked", [1, 2, 1024])
def test_queues(polled, asked):
    """Behind the ordinary queue, but not more than there are processors."""
    volume = polled(poll_queues=asked)
    volume.enable()
    there = min(asked, os.cpu_count())
    assert int(read(volume.sysfs() / "poll_queues")) == there
    assert volume.queue("io_poll") == "1"
    assert queues(volume) == 1 + there


@pytest.mark.timeout_s(600)
@pytest.mark.parametrize("digests", [False, True], ids=["plain", "digests"])
@pytest.mark.parametrize("nic", ["napi", "no-napi"])
def test_verify(polled, verify, size, request, nic, digests):
    """All data right, whether or not the NIC can be polled."""
    if nic == "napi":
        request.getfixturevalue("napi")
    values = {"HeaderDigest": "CRC32C", "DataDigest": "CRC32C"} if digests else {}
    volume = polled(params=values, path=DIGESTS if digests else {})
    verify(volume.enable(), total_bytes=size.cell_bytes, jobs=4, largest_bytes=256 * KIB, **POLLED)
    assert volume.reconnects() == 0


def test_next_to_others(polled, size):
    """Polled requests, others, and the page cache at a time, over the same connections."""
    volume = polled(path={"connections": 2}, poll_queues=1)
    device = volume.enable()
    shape = {"jobs": 2, "largest_bytes": 64 * KIB, "total_bytes": size.cell_bytes // 2}
    jobs = [fio.start(device, **{**fio.verify_options(**shape), **how,
                                 "offset": number * 16 * MIB})
            for number, how in enumerate((POLLED, {}, {"ioengine": "psync", "direct": 0}))]
    for job in jobs:
        fio.finish(job)
    assert volume.reconnects() == 0


@pytest.mark.parametrize("multi", ["mcs", "sessions"])
def test_lane(polled, multi):
    """A polled queue keeps to one connection, whichever processor its submitters are on."""
    volume = polled(params={"MaxConnections": 2, **lio.UNKNOWN}, poll_queues=1,
                    path={"connections": 2, "multi": multi})
    device = volume.enable()
    volume.wait_state("live")
    for cpu in range(os.cpu_count()):
        before = sent(volume)
        fio.run(device, rw="randread", bs="4k", io_size=256 * KIB, size="100%", iodepth=4,
                cpus_allowed=cpu, **POLLED)
        now = [after - then for after, then in zip(sent(volume), before)]
        assert now[0] >= 64 and now[1] < 32, (cpu, now)


@pytest.mark.parametrize("how", [{}, POLLED], ids=["woken", "polled"])
def test_batches(make_lio, make_volume, how):
    """What is held back until a batch ends is sent then, whichever leg the last request is for.

    There are no pings, which would send it, too; what is not sent ends the session.
    """
    volume = make_volume(make_lio(*[lio.Lun(8 * MIB) for _ in range(4)], params=NO_WAIT), legs=4,
                         chunk_bytes=4096, path={**QUICK, "ping_interval_ms": 0},
                         command_timeout_ms=10000, poll_queues=1)
    device = volume.enable()
    for size in (15, 16):
        fio.run(device, rw="randread", bs="4k", size="100%", io_size=40 * size * 4 * KIB,
                iodepth=size, iodepth_batch=size, iodepth_batch_complete_min=size, **how)
    for leg in range(4):
        assert int(read(volume.leg_sysfs(leg) / "commands")) > 100
        assert read(volume.path_sysfs(leg) / "reconnects") == "0"


def busy_polls(trace):
    """How often somebody has polled a NIC, not softirq, and how often there was something."""
    found = [int(work) for work in re.findall(
        rf" napi_poll: .* work (\d+) budget {BUSY_POLL_BUDGET}\b", trace)]
    return len(found), sum(work > 0 for work in found)


@pytest.mark.timeout_s(600)
def test_who_polls_receives(polled, napi):
    """fio takes packets from the NIC itself; without polled queues it takes none.

    On a machine that is busy softirq is often there first, and then more rounds are needed.
    """
    volume = polled(poll_queues=1)
    device = volume.enable()
    job = {"rw": "randread", "bs": "4k", "size": "100%", "iodepth": 1, "time_based": True,
           "runtime": 2}
    polls = useful = 0
    with tracing.traced("napi/napi_poll") as trace:
        fio.run(device, **job)
        assert busy_polls(trace()) == (0, 0)
        for _ in range(50):
            tracing.empty()
            fio.run(device, **job, **POLLED)
            more = busy_polls(trace())
            polls, useful = polls + more[0], useful + more[1]
            if useful > 10:
                break
    assert polls > 100 and useful > 10, (polls, useful)


@pytest.mark.timeout_s(600)
def test_legs_and_paths(make_lio, make_volume, links, size, verify, napi):
    """Several of everything."""
    target = make_lio(*[lio.Lun(24 * MIB) for _ in range(2)], all_links=True,
                      params={**NO_WAIT, "MaxConnections": 2}, patient_with=INITIATOR)
    second = [{"portal": links[1].portal(), "target_name": target.iqn, "lun": 1,
               "connections": 2, **QUICK}]
    volume = make_volume(target, paths=links, more_legs=second, chunk_bytes=16384, poll_queues=2,
                         path={**QUICK, "connections": 2})
    verify(volume.enable(), total_bytes=size.cell_bytes, jobs=4, largest_bytes=256 * KIB, **POLLED)
    assert volume.reconnects() == 0


@pytest.mark.timeout_s(1200)
@pytest.mark.parametrize("nic", ["napi", "no-napi"])
def test_killed_under_verify(polled, size, request, nic):
    """The answers to what was in flight never come; the requests are sent anew, and done."""
    if nic == "napi":
        request.getfixturevalue("napi")
    volume = polled()
    device = volume.enable()
    wanted = size.rounds(6, 50)
    killed = runs = 0
    while killed < wanted:
        runs += 1
        job = fio.begin(device, **fio.verify_options(16 * MIB, jobs=4, largest_bytes=256 * KIB,
                                                     depth=4), randseed=runs, **POLLED)
        while job.poll() is None and killed < wanted:
            time.sleep(0.3 + 0.1 * (killed % 4))
            before = volume.reconnects()
            # Several, if the target has not yet heard of the end of one.
            if network.kill_connections(by_target=killed % 2 == 1):
                killed += 1
                wait_for("another session", lambda then=before: volume.reconnects() > then, 60)
        assert fio.finish(job).errors() == 0
    assert volume.reconnects() >= wanted


@pytest.mark.timeout_s(600)
def test_fail_over(make_lio, make_volume, links, napi):
    """A NIC goes down, in turn each of two: who polls finds his answers on the other one."""
    target = make_lio(64 * MIB, all_links=True, params=NO_WAIT)
    volume = make_volume(target, paths=links, path=QUICK, policy="failover", poll_queues=1)
    device = volume.enable()
    shape = fio.verify_options(16 * MIB, jobs=2, largest_bytes=64 * KIB, depth=4)
    with fio.meanwhile(device, **shape, **POLLED):
        for number, link in enumerate(links):
            with network.down(link):
                wait_for("the loss to be noticed", lambda number=number: read(
                    volume.path_sysfs(0, number) / "state") != "live", 30)
                time.sleep(1)
            wait_for("both paths", lambda: all(read(
                volume.path_sysfs(0, each) / "state") == "live" for each in range(2)), 60)


@pytest.mark.allow_log("error, dev istripe", "recovery_timeout_ms runs out on purpose")
@pytest.mark.timeout_s(300)
def test_no_path(polled, link, napi):
    """Who polls gets his error when the time is over, and data again when the path is back."""
    volume = polled(recovery_timeout_ms=3000)
    device = volume.enable()
    with network.down(link):
        start = time.monotonic()
        with pytest.raises(LabError, match="error"):
            fio.run(device, timeout_s=120, rw="randread", bs="4k", io_size=4096, size="100%",
                    **POLLED)
        assert 2 < time.monotonic() - start < 60
    # The path's own state is told before the leg uses it.
    wait_for("the volume", lambda: read(volume.sysfs() / "state") == "live", 60)
    fio.run(device, rw="randread", bs="4k", io_size=MIB, size="100%", iodepth=4, **POLLED)


@pytest.mark.allow_log("error, dev istripe", "the disk goes away under fio on purpose")
@pytest.mark.parametrize("alive", [True, False], ids=["path-live", "path-lost"])
def test_disabled_under_load(polled, link, napi, alive):
    """The queues are drained while somebody polls them; nobody hangs, the target there or not."""
    volume = polled(path={"connections": 2})
    device = volume.enable()
    job = background(device, 120, numjobs=2)
    link.set_up(alive)
    try:
        start = time.monotonic()
        volume.force_down()
        assert time.monotonic() - start < 60
        job.communicate(timeout=60)
        assert job.returncode != 0
    finally:
        job.kill()
        link.set_up(True)
    wait_for("the connections' end", lambda: not network.established(), 30)


def test_killed_submitter(polled, napi):
    """A process that polls can be killed, and what it leaves in flight holds nothing up."""
    volume = polled()
    device = volume.enable()
    job = background(device, 120, numjobs=2, iodepth=32)
    job.kill()
    job.communicate(timeout=60)
    wait_for("the last request", lambda: set(read(
        volume.sysfs().parent / "inflight").split()) == {"0"}, 30)
    fio.run(device, rw="randread", bs="4k", io_size=MIB, size="100%", iodepth=4, **POLLED)
