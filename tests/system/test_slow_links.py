# SPDX-License-Identifier: GPL-2.0
"""Links that carry little: all that moves is let finish, and no target waits too long for data.

LIO closes a connection that has had no data for one of its R2Ts for 3 s.
"""

import asyncio
import contextlib
import time
from types import SimpleNamespace

import pytest

from lab import fio, lio, network, tgt
from lab.shell import read, run
from scripted.scenario import Scenario
from scripted.steps import on_write

#: They take long, and what they test does not depend on the kernel.
pytestmark = pytest.mark.shared

KIB, MIB = 1 << 10, 1 << 20
TIMEOUT_MS = 6000
#: more than twice the time after which a command is overdue
SLOW_S = 14
SESSIONS = 10
LATE = "is overdue: aborting it|commands stay overdue|DataOut timeout"


@contextlib.contextmanager
def slow(nic, mbit, netns=None):
    """A link that carries this much, with a queue that never loses anything, until it is lifted."""
    def shape(action, rate):
        run("tc", "qdisc", action, "dev", nic, "root", "netem", "rate", rate, "limit", "100000",
            netns=netns)

    shape("add", f"{mbit}mbit")
    try:
        # What is in the queue stays: taken away, it would be lost.
        yield lambda: shape("change", "10gbit")
    finally:
        run("tc", "qdisc", "del", "dev", nic, "root", netns=netns)


def start(device, rw="write"):
    """128 requests at a time, more than the link carries meanwhile."""
    return fio.start(device, rw=rw, bs="256k", iodepth=128, size=64 * MIB)


def assert_nothing_lost(volume, legs, kernel_log):
    for leg in range(legs):
        path = volume.path_sysfs(leg)
        assert read(path / "last_error") == ""
        assert read(path / "reconnects") == "0"
    assert not kernel_log.matching(LATE)


def lio_luns(make_lio):
    # Of the serial number LIO's designator has the hexadecimal digits only.
    return make_lio(*(lio.Lun(32 * MIB, serial=f"{number:08}") for number in range(SESSIONS)))


def tgt_luns(make_tgt):
    return make_tgt(*(tgt.Lun(32 * MIB) for _ in range(SESSIONS)))


@pytest.mark.timeout_s(400)
@pytest.mark.parametrize("kind, mbit", [("lio", 4), ("lio", 16), ("solicited", 4), ("tgt", 1),
                                        ("tgt", 4)])
def test_many_large_writes(make_lio, make_tgt, make_volume, link, kernel_log, kind, mbit):
    """Ten sessions share the link; it is fast again after a while, so that the test has an end."""
    target = tgt_luns(make_tgt) if kind == "tgt" else lio_luns(make_lio)
    path = {"immediate_data": "No", "initial_r2t": "Yes"} if kind == "solicited" else {}
    volume = make_volume(target, legs=SESSIONS, command_timeout_ms=TIMEOUT_MS, path=path)
    device = volume.enable()
    with slow(link.nic, mbit) as lift:
        job = start(device)
        time.sleep(SLOW_S)
        assert job.poll() is None
        lift()
        assert fio.finish(job, 120).errors() == 0
    assert_nothing_lost(volume, SESSIONS, kernel_log)


@pytest.mark.timeout_s(400)
def test_many_large_reads(make_lio, make_volume, link, kernel_log):
    """A read is not overdue while the target sends those that came with it."""
    volume = make_volume(make_lio(256 * MIB), command_timeout_ms=TIMEOUT_MS)
    device = volume.enable()
    with slow(link.peer, 4, network.NETNS) as lift:
        job = start(device, "read")
        time.sleep(SLOW_S)
        assert job.poll() is None
        lift()
        assert fio.finish(job, 120).errors() == 0
    assert_nothing_lost(volume, 1, kernel_log)


async def little_by_little(run, conn, task):
    """1 KiB at a time, with a pause."""
    while task.received < task.edtl:
        await run.target.r2t(conn, task, task.received, KIB)
        pdu = await task.data.get()
        task.take(pdu.offset, pdu.data)
        await asyncio.sleep(0.05)
    run.target.disk.execute(task.cdb, task.buffer)
    conn.session.tasks.pop(task.itt, None)
    await run.target.scsi_response(conn, task, SimpleNamespace(status=0, sense=b"", data=b""))


def test_target_takes_little_at_a_time(server, link, make_volume, kernel_log):
    """A write that moves all the time is let finish, however long it takes."""
    target = server.load(Scenario("little", times=100, hooks=on_write(little_by_little)))
    named = SimpleNamespace(iqn=target.settings.name, lun_number=lambda index: index)
    volume = make_volume(named, command_timeout_ms=2000,
                         path={"portal": f"{link.address}:{server.port}", "immediate_data": "No",
                               "initial_r2t": "Yes"})
    device = volume.enable()
    server.arm()
    run("dd", "if=/dev/zero", f"of={device}", "oflag=direct", "bs=128k", "count=1")
    assert target.run.hits == 1
    assert_nothing_lost(volume, 1, kernel_log)
    volume.disable()
    assert server.violations() == []
