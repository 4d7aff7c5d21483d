# SPDX-License-Identifier: GPL-2.0
"""A volume against a target that misbehaves: the tables are in scripted/scenarios_*.py.

Every scenario states what must come of it. Whatever it is, the initiator stays within RFC 7143,
the kernel's log stays clean, and the volume can be taken down.
"""

import concurrent.futures
import functools
import mmap
import os
import re
import threading
import time

import pytest

from lab.disk import Direct, noise, same
from lab.istripe import EnableError
from lab.shell import LabError, on_failure, read, wait_for
from scripted import (
    scenarios_connections,
    scenarios_data,
    scenarios_login,
    scenarios_scsi,
    scenarios_session,
)

KIB, MIB = 1 << 10, 1 << 20
IO_TIMEOUT_S = 60
PATH = {"default_time2wait": 0, "login_timeout_ms": 10000}
VOLUME = {"recovery_timeout_ms": 30000}
SCENARIOS = [*scenarios_session.SCENARIOS, *scenarios_data.SCENARIOS, *scenarios_scsi.SCENARIOS,
             *scenarios_login.SCENARIOS, *scenarios_connections.SCENARIOS]


@pytest.fixture
def server(make_server, link):
    return make_server(link.address)


@pytest.fixture
def volume_of(server, make_volume):
    def make(scenario):
        target = server.load(scenario)
        return make_volume(target, **{**VOLUME, **scenario.volume},
                           path={"portal": server.portal, **PATH, **scenario.path})

    return make


def check(disk, target, at, data):
    disk.write(at, data)
    disk.flush()
    same(disk.read(at, len(data)), data, "what was read")
    same(target.disk.data[at:at + len(data)], data, "what the target has")


def io_default(disk, target, seed):
    check(disk, target, 64 * KIB, noise(192 * KIB, seed))
    check(disk, target, MIB + 4 * KIB, noise(4 * KIB, seed + 1))


def io_small(disk, target, seed):
    check(disk, target, 64 * KIB, noise(8 * KIB, seed))


def io_read(disk, target, seed):
    same(disk.read(0, 64 * KIB), bytes(target.disk.data[:64 * KIB]), "what was read")


def io_either(disk, target, seed):
    """A write, a flush and a read, whichever fails."""
    disk.write(0, noise(8 * KIB, seed))
    disk.flush()
    io_read(disk, target, seed)


def io_long(disk, target, seed):
    """A write of many PDUs."""
    disk.write(64 * KIB, noise(192 * KIB, seed))


def together(count, do):
    """do(index), so many at a time."""
    wrong = []

    def one(index):
        try:
            do(index)
        except (OSError, AssertionError) as err:
            wrong.append(err)

    threads = [threading.Thread(target=one, args=(i,), daemon=True) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong, wrong


def io_many(disk, target, seed, count=8):
    def one(index):
        for turn in range(3):
            check(disk, target, index * MIB // 2, noise(16 * KIB, seed + count * turn + index))

    together(count, one)


def io_flood(disk, target, _seed):
    """Reads that cannot be merged."""
    def one(index):
        at = index * 8 * KIB
        same(disk.read(at, 4 * KIB), bytes(target.disk.data[at:at + 4 * KIB]), "what was read")

    together(300, one)


IO = {"default": io_default, "small": io_small, "read": io_read, "either": io_either,
      "long": io_long,
      "many": io_many, "crowd": functools.partial(io_many, count=16), "flood": io_flood}


def do_io(device, target, kind, seed=1):
    """Runs I/O with a limit in time; raises what it raises."""
    outcome = []

    def run():
        try:
            with Direct(device) as disk:
                outcome.append(IO[kind](disk, target, seed))
        except (OSError, AssertionError) as err:
            outcome.append(err)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(IO_TIMEOUT_S)
    if not outcome:
        raise LabError(f"I/O does not end within {IO_TIMEOUT_S} s")
    if outcome[0]:
        raise outcome[0]


def last_error(volume):
    return read(volume.path_sysfs() / "last_error")


def expect_refused(scenario, volume, server):
    with pytest.raises(EnableError) as failed:
        volume.enable()
    assert re.search(scenario.expect.reason, failed.value.reason), failed.value.reason
    if scenario.expect.number:
        assert failed.value.number == scenario.expect.number, str(failed.value)
    assert failed.value.reason and failed.value.reason.isprintable()
    assert volume.device() == ""
    wait_for("all connections to end", lambda: not server.target.connections)


def expect_io(scenario, volume, server):
    """The kinds in which all I/O is right in the end."""
    device = volume.enable()
    if scenario.connections:
        assert read(volume.path_sysfs() / "session" / "connections") == str(scenario.connections)
    server.arm()
    do_io(device, server.target, scenario.io)
    kind = scenario.expect.kind
    if kind == "reconnects":
        wait_for("another session", lambda: volume.reconnects() > 0, 60)
        volume.wait_state("live")
        assert re.search(scenario.expect.reason, last_error(volume)), last_error(volume)
        # Of the session that is over.
        errors = read(volume.path_sysfs() / "connections" / "0" / "digest_errors")
        assert (int(errors) > 0) == (scenario.expect.reason == "digest")
        do_io(device, server.target, "small", seed=50)
    elif kind == "works":
        assert volume.reconnects() == 0, last_error(volume)
        assert last_error(volume) == ""


def fails(scenario, volume, server):
    """Returns how many sessions were lost for it."""
    device = volume.enable()
    server.arm()
    with pytest.raises(OSError) as failed:
        do_io(device, server.target, scenario.io)
    assert failed.value.errno == scenario.expect.number, str(failed.value)
    reconnects = volume.reconnects()
    server.target.run.armed = False
    # Not within what recovery_timeout_ms leaves of a back-off. The path's own state is told before
    # the leg uses it.
    wait_for("the volume", lambda: read(volume.sysfs() / "state") == "live", 60)
    do_io(device, server.target, "default")
    return reconnects


def expect_io_error(scenario, volume, server):
    assert fails(scenario, volume, server) == 0


def expect_not_served(scenario, volume, server):
    assert fails(scenario, volume, server) > 0


def expect_path_refused(scenario, volume, server):
    """The I/O that waits ends when the volume goes."""
    device = volume.enable()
    server.arm()
    fd = os.open(device, os.O_RDONLY | os.O_DIRECT)
    try:
        reader = threading.Thread(target=read_quietly, args=(fd,), daemon=True)
        reader.start()
        wait_for("the refusal", lambda: re.search(scenario.expect.reason, last_error(volume)))
        wait_for("the path's end", lambda: volume.state() == "dead")
        wait_for("the session's end in the target", lambda: not server.target.sessions)
        logins = server.target.logins
        time.sleep(2)
        assert server.target.logins == logins and not server.target.sessions, "another login"
    finally:
        volume.force_down()
        reader.join(30)
        os.close(fd)
    assert not reader.is_alive()


def expect_elsewhere(scenario, volume, server):
    """Nothing reaches the other LUN; the I/O that waits goes on when the LUN is back."""
    device = volume.enable()
    disk, naa = server.target.disk, server.target.disk.naa
    server.arm()
    with concurrent.futures.ThreadPoolExecutor() as pool, on_failure(volume.force_down):
        worker = pool.submit(do_io, device, server.target, scenario.io)
        wait_for("the other LUN", lambda: disk.naa != naa, 20)
        data = bytes(disk.data)
        wait_for("the refusal", lambda: re.search(scenario.expect.reason, last_error(volume)), 20)
        wait_for("the path to be refused", lambda: volume.state() == "refused", 30)
        assert worker.running() and disk.data == data and disk.naa != naa
        disk.naa = naa
        worker.result(IO_TIMEOUT_S)
    volume.wait_state("live")


def read_quietly(fd):
    with mmap.mmap(-1, 4 * KIB) as memory:
        try:
            os.preadv(fd, [memory], 0)
        except OSError:
            pass


KINDS = {"refused": expect_refused, "io error": expect_io_error,
         "not served": expect_not_served,
         "path refused": expect_path_refused, "elsewhere": expect_elsewhere}


#: Those in which I/O fails, and what the kernel says of it.
FAILS = "io error", "not served", "path refused"
FAILED_IO = "error, dev istripe", "Buffer I/O error on dev istripe"


def parameters():
    for scenario in SCENARIOS:
        allowed = [*scenario.allow, *(FAILED_IO if scenario.expect.kind in FAILS else ())]
        marks = [pytest.mark.allow_log(line, "the scenario's own") for line in allowed]
        yield pytest.param(scenario, id=scenario.name.replace(" ", "_"), marks=marks)


@pytest.mark.timeout_s(180)
@pytest.mark.parametrize("scenario", parameters())
def test_scenario(scenario, server, volume_of, kernel_log):
    volume = volume_of(scenario)
    KINDS.get(scenario.expect.kind, expect_io)(scenario, volume, server)
    run = server.target.run
    if volume.enabled():
        volume.disable()
    if scenario.says:
        assert kernel_log.matching(scenario.says)
    # The target's thread knows it when the hook has ended, and that may be after the answer.
    if scenario.hooks:
        wait_for("the scenario to strike", lambda: run.hits or run.touched)


def test_names():
    """Every scenario has a name of its own."""
    names = [scenario.name for scenario in SCENARIOS]
    assert len(set(names)) == len(names)
