# SPDX-License-Identifier: GPL-2.0
"""Links that carry little: all that moves is let finish, and no target waits too long for data.

LIO closes a connection that has had no data for one of its R2Ts for 3 s.
"""

import asyncio
import contextlib
import itertools
import statistics
import time
from types import SimpleNamespace

import pytest

from lab import fio, lio, network, tgt
from lab.disk import Direct, noise, same
from lab.ghost import Write
from lab.shell import LabError, read, run, wait_for
from scripted.scenario import Held, Scenario
from scripted.scsi import WRITE_16
from scripted.steps import on_write

KIB, MIB = 1 << 10, 1 << 20
TIMEOUT_MS = 6000
#: more than the time after which a command is overdue, and twice that of LIO
SLOW_S = 7
#: as fast as the link gets in the end: on a busy machine the target is hardly faster than that
LIFTED_MBIT = 40
SESSIONS = 10
#: So many writes are more than may wait for an R2T at a time on such a link.
PACED_MBIT, PACED_WRITES = 0.2, 16
OVERDUE = "has timed out: aborting it|commands stay unanswered"


@contextlib.contextmanager
def slow(nic, mbit, netns=None):
    """A link that carries this much until it is told otherwise, with a queue that loses nothing."""
    def shape(action, mbit):
        run("tc", "qdisc", action, "dev", nic, "root", "netem", "rate", f"{mbit}mbit",
            "limit", "100000", netns=netns)

    shape("add", mbit)
    try:
        # What is in the queue stays: taken away, it would be lost.
        yield lambda mbit=LIFTED_MBIT: shape("change", mbit)
    finally:
        run("tc", "qdisc", "del", "dev", nic, "root", netns=netns)


def begin(device, rw="write", **options):
    """Many requests at a time, more than the link carries meanwhile; the first are on their way."""
    return fio.begin(device, rw=rw, **{"bs": "128k", "iodepth": 128, "size": 24 * MIB, **options})


def assert_nothing_lost(volume, legs, kernel_log, late=f"{OVERDUE}|DataOut timeout"):
    for leg in range(legs):
        path = volume.path_sysfs(leg)
        assert read(path / "last_error") == ""
        assert read(path / "reconnects") == "0"
    assert not kernel_log.matching(late)


def lio_luns(make_lio):
    # Of the serial number LIO's designator has the hexadecimal digits only.
    return make_lio(*(lio.Lun(32 * MIB, serial=f"{number:08}") for number in range(SESSIONS)))


def tgt_luns(make_tgt):
    return make_tgt(*(tgt.Lun(32 * MIB) for _ in range(SESSIONS)))


@pytest.mark.timeout_s(400)
@pytest.mark.parametrize("kind, mbit", [("lio", 1), ("solicited", 1), ("solicited", 16),
                                        ("tgt", 1)])
def test_many_large_writes(make_lio, make_tgt, make_volume, link, kernel_log, kind, mbit):
    """Ten new sessions share a link, which is faster after a while, so that the test has an end."""
    target = tgt_luns(make_tgt) if kind == "tgt" else lio_luns(make_lio)
    path = {"immediate_data": "No", "initial_r2t": "Yes"} if kind == "solicited" else {}
    volume = make_volume(target, legs=SESSIONS, command_timeout_ms=TIMEOUT_MS, path=path)
    device = volume.enable()
    with slow(link.nic, mbit) as change:
        # More than a link of 16 Mbit/s carries until it gets faster, also if that is late.
        job = begin(device, size=48 * MIB if mbit == 16 else 24 * MIB)
        time.sleep(SLOW_S)
        for faster in (4, 16):
            if faster > mbit:
                change(faster)
                time.sleep(1.5)
        assert job.poll() is None
        change()
        assert fio.finish(job, 120).errors() == 0
    assert_nothing_lost(volume, SESSIONS, kernel_log)


@pytest.mark.timeout_s(400)
def test_many_large_reads(make_lio, make_volume, link, kernel_log):
    """A read is not overdue while the target sends those that came with it."""
    volume = make_volume(make_lio(256 * MIB), command_timeout_ms=TIMEOUT_MS)
    device = volume.enable()
    with slow(link.peer, 4, network.NETNS) as change:
        job = begin(device, "read")
        time.sleep(SLOW_S)
        assert job.poll() is None
        change()
        assert fio.finish(job, 120).errors() == 0
    assert_nothing_lost(volume, 1, kernel_log)


def sent_bytes(link):
    """What has been sent, and when that was so."""
    while True:
        begin = time.monotonic()
        count = int(read(f"/sys/class/net/{link.nic}/statistics/tx_bytes"))
        if time.monotonic() - begin < 0.05:
            return begin, count


def rates(links, seconds):
    """Bytes a second that go out: for each link the median of as many seconds."""
    seen = [[sent_bytes(link) for link in links]]
    for _ in range(seconds):
        time.sleep(1)
        seen.append([sent_bytes(link) for link in links])
    return [statistics.median((now - then) / (at - since) for (since, then), (at, now) in
                              itertools.pairwise(one)) for one in zip(*seen)]


def errors_of(job):
    try:
        return fio.finish(job, 120).errors()
    except LabError:
        return 1


@pytest.mark.timeout_s(400)
@pytest.mark.allow_log("I/O error, dev sd", "the stock initiator is what ours is compared with")
def test_no_worse_than_the_stock_stack(make_lio, make_volume, stock, links, kernel_log):
    """As many writes of 1 MiB as the stock stack sends: it has no fewer errors, nor a fuller link."""
    ours, theirs = (make_lio(64 * MIB, all_links=True) for _ in range(2))
    volume = make_volume(ours, command_timeout_ms=TIMEOUT_MS)
    devices = [volume.enable(), stock.login(links[1].portal(), theirs.iqn)]
    with contextlib.ExitStack() as stack:
        changes = [stack.enter_context(slow(link.nic, 16)) for link in links]
        jobs = [begin(device, bs="1m", iodepth=32, size=32 * MIB) for device in devices]
        sent = rates(links, SLOW_S)
        for change in changes:
            change()
        errors = [errors_of(job) for job in jobs]
    assert errors[0] == 0 <= errors[1]
    assert sent[0] > 0.9 * sent[1]
    # The target may have dropped the other's connection.
    assert_nothing_lost(volume, 1, kernel_log, late=OVERDUE)


async def little_by_little(run, conn, task):
    """1 KiB at a time, with a pause."""
    while task.received < task.edtl:
        await run.target.r2t(conn, task, task.received, KIB)
        pdu = await task.data.get()
        task.take(pdu.offset, pdu.data)
        await asyncio.sleep(0.1)
    run.target.disk.execute(task.cdb, task.buffer)
    conn.session.tasks.pop(task.itt, None)
    await run.target.scsi_response(conn, task, SimpleNamespace(status=0, sense=b"", data=b""))


def test_target_takes_little_at_a_time(server, link, make_volume, kernel_log):
    """A write that moves all the time is let finish, however long it takes: here 13 s or more."""
    target = server.load(Scenario("little", times=100, hooks=on_write(little_by_little)))
    volume = make_volume(target, command_timeout_ms=10000,
                         path={"portal": f"{link.address}:{server.port}", "immediate_data": "No",
                               "initial_r2t": "Yes"})
    device = volume.enable()
    server.arm()
    run("dd", "if=/dev/zero", f"of={device}", "oflag=direct", "bs=128k", "count=1")
    assert target.run.hits == 1
    assert_nothing_lost(volume, 1, kernel_log)
    volume.disable()


def test_few_writes_at_a_time(make_scripted, server, link):
    """As many as get their data in time on a slow link; sysfs says what the others wait for.

    The target has asked for no data yet: a write whose data have all been sent does not count.
    """
    held = Held(WRITE_16)
    volume, _ = make_scripted(Scenario("holds writes", settings={"depth": 4 * PACED_WRITES},
                                       hooks={"on_command": held.on_command}),
                              path={"immediate_data": "No", "initial_r2t": "Yes"})
    data = [noise(4 * KIB, at) for at in range(PACED_WRITES)]
    # From the login on: a connection that has been fast takes a while to know that it is slow.
    with slow(link.nic, PACED_MBIT) as change, Direct(volume.enable()) as disk:
        holding = volume.path_sysfs() / "holding"
        assert read(holding) == "none"
        server.arm()
        writes = [Write(disk, at * 4 * KIB, data[at]) for at in range(PACED_WRITES)]
        wait_for("a reason to wait", lambda: read(holding) == "pace", 60)
        wait_for("the first writes", lambda: len(held.tasks) >= 2, 60)
        assert read(holding) == "pace" and len(held.tasks) < PACED_WRITES
        change()
        server.call(held.release())
        for each in writes:
            each.finish()
        wait_for("no reason to wait", lambda: read(holding) == "none")
        same(disk.read(0, 4 * KIB * PACED_WRITES), b"".join(data), "what was read")
        assert volume.reconnects() == 0
