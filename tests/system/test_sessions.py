# SPDX-License-Identifier: GPL-2.0
"""A path of several sessions: how many there are, who carries what, the loss of one of them."""

import asyncio
import time

import pytest

from lab import fio, istripe, lio, network, storage
from lab.connections import assert_queue_for_each, wait_reconnects
from lab.ghost import state
from lab.istripe import INITIATOR
from lab.shell import read, run, status, wait_for
from scripted.conn import Drop
from scripted.scenario import Scenario
from scripted.steps import drop, on_read, on_write

KIB, MIB = 1 << 10, 1 << 20
#: On a busy machine the target may be slow to answer a ping.
QUICK = {"default_time2wait": 0, "ping_interval_ms": 500, "ping_timeout_ms": 20000,
         "login_timeout_ms": 10000}
NO_WAIT = {"DefaultTime2Wait": 0}


@pytest.fixture
def volume_of(make_lio, make_volume):
    """volume_of(count, ...): a volume whose path has so many connections to a LIO target."""

    def make(count, params=None, path=None, lun=64 * MIB, **options):
        target = make_lio(lun, params={**NO_WAIT, **(params or {})}, patient_with=INITIATOR)
        return make_volume(target, path={**QUICK, "connections": count, **(path or {})},
                           **options)

    return make


def sessions(volume, path=0):
    """The directories of the path's sessions, in order of their numbers."""
    first = volume.path_sysfs(0, path) / "session"
    rest = first.parent / "sessions"
    return [first] + sorted(rest.iterdir(), key=lambda place: int(place.name)) * rest.exists()


def values(volume, name, path=0):
    return [read(place / name) for place in sessions(volume, path)]


def sent(volume, path=0):
    """SCSI commands that each session has sent."""
    return [int(value) for value in values(volume, "commands_sent", path)]


def port(volume, number):
    """The local port of the connection of one number."""
    place = volume.path_sysfs() / "connections" / str(number)
    return read(place / "local_address").rpartition(":")[2]


def kill_one(volume, number):
    out = run("ss", "-HKtn", "state", "established", f"sport = {port(volume, number)}")
    assert len(out.splitlines()) == 1, out


def sessions_dirs(volume):
    return (volume.path_sysfs() / "sessions").exists()


@pytest.mark.parametrize("kind", ["lio", "tgt"])
@pytest.mark.parametrize("multi,count", [("sessions", 2), ("sessions", 8), ("auto", 4)])
def test_verify(make_lio, make_tgt, make_volume, verify, size, kernel_log, kind, multi, count):
    """As many as were asked for, each by itself, all of them at work, a quiet end."""
    target = make_lio(64 * MIB, params={**NO_WAIT, "MaxConnections": 8},
                      patient_with=INITIATOR) if kind == "lio" else make_tgt(64 * MIB)
    volume = make_volume(target, path={**QUICK, "multi": multi, "connections": count})
    device = volume.enable()
    assert read(volume.path_sysfs() / "multi") == "sessions"
    assert values(volume, "connections") == ["1"] * count
    assert values(volume, "path_state") == ["live"] * count
    assert len(set(values(volume, "isid"))) == count
    assert len(network.established()) == count
    places = [volume.path_sysfs() / "connections" / str(i) for i in range(count)]
    assert [read(place / "session") for place in places] == [str(i) for i in range(count)]
    assert len({port(volume, number) for number in range(count)}) == count
    verify(device, total_bytes=size.cell_bytes * 2, jobs=8, largest_bytes=256 * KIB)
    assert min(sent(volume)) > 3, sent(volume)
    assert volume.reconnects() == 0 and volume.state() == state(volume) == "live"
    volume.disable()
    wait_for("the connections' end", lambda: not network.established(), 30)
    assert kernel_log.matching(r"istripe: .*(lost|cannot|goes on)") == []


def test_one_session_has_no_others(volume_of):
    """What one connection shows is what it has always shown."""
    for multi in ("sessions", "mcs", "auto"):
        volume = volume_of(1, path={"multi": multi})
        volume.enable()
        assert not sessions_dirs(volume)
        assert [place.name for place in (volume.path_sysfs() / "connections").iterdir()] == ["0"]
        volume.delete()


def test_windows_add_up(volume_of):
    """Each session has a command window of its own."""
    volume = volume_of(4)
    volume.enable()
    for name in ("cmd_sn", "exp_cmd_sn", "max_cmd_sn"):
        assert all(int(value) > 0 for value in values(volume, name))
    run("dd", f"if=/dev/{volume.device()}", "of=/dev/null", "iflag=direct", "bs=4k", "count=64")
    assert len(set(values(volume, "tsih"))) == 4
    assert sum(int(value) for value in values(volume, "cmd_sn")) >= 64


def test_hardware_queues(volume_of):
    """One for each connection, but not more than processors; queue i uses session i mod N."""
    assert_queue_for_each(volume_of(2), sent)


@pytest.mark.timeout_s(900)
def test_one_is_killed_under_verify(volume_of, size):
    """The others go on; it comes back alone; fio sees no error."""
    volume = volume_of(4)
    device = volume.enable()
    rounds = size.rounds(4, 50)
    done = 0
    while done < rounds:
        job = fio.begin(device, randseed=done + 1,
                        **fio.verify_options(8 * MIB, jobs=4, largest_bytes=64 * KIB, depth=4))
        while job.poll() is None and done < rounds:
            time.sleep(0.5)
            before = values(volume, "tsih")
            kill_one(volume, done % 4)
            del before[done % 4]
            done += 1
            wait_reconnects(volume, done)
            assert set(before) < set(values(volume, "tsih"))
        assert fio.finish(job).errors() == 0
    assert volume.reconnects() == rounds
    assert int(read(volume.path_sysfs() / "faults")) == rounds
    assert sum(int(value) for value in values(volume, "faults")) == rounds


def test_one_goes_silent(make_lio, make_volume, link):
    """Its tasks go on over those that are left; what it was is known."""
    target = make_lio(64 * MIB, params=NO_WAIT)
    volume = make_volume(target, path={**QUICK, "connections": 3, "ping_timeout_ms": 5000})
    device = volume.enable()
    run("tc", "qdisc", "add", "dev", link.nic, "clsact")
    run("tc", "filter", "add", "dev", link.nic, "egress", "protocol", "ip", "u32", "match", "ip",
        "sport", port(volume, 1), "0xffff", "action", "drop")
    try:
        run("dd", "if=/dev/zero", f"of={device}", "oflag=direct", "bs=64k", "count=64")
        wait_for("the loss", lambda: int(read(sessions(volume)[1] / "faults")) == 1, 60)
    finally:
        run("tc", "qdisc", "del", "dev", link.nic, "clsact")
    wait_for("all sessions", lambda: volume.state() == "live", 60)
    assert values(volume, "faults") == ["0", "1", "0"]
    assert read(volume.path_sysfs() / "last_error") == read(sessions(volume)[1] / "last_error") != ""


def test_legs_and_paths(make_lio, make_volume, links, verify):
    """Several of everything; a large request is still one command for each NIC."""
    target = make_lio(*[lio.Lun(16 * MIB) for _ in range(2)], all_links=True, params=NO_WAIT)
    second = [{"portal": links[0].portal(), "target_name": target.iqn, "lun": 1,
               "connections": 2}]
    volume = make_volume(target, paths=links, more_legs=second, chunk_bytes=16384, fence="path",
                         path={**QUICK, "connections": 2})
    device = volume.enable()
    assert len(network.established()) == 6
    written = storage.fill_pattern(device, volume.size_bytes(), seed=5)
    storage.drop_caches()
    assert storage.sha256(device, volume.size_bytes()) == written
    verify(device, total_bytes=8 * MIB, jobs=4, largest_bytes=MIB)
    before = [sum(sent(volume, path)) for path in range(2)]
    run("dd", f"if={device}", "of=/dev/null", "iflag=direct", "bs=1M", "count=16")
    assert [sum(sent(volume, path)) - then for path, then in enumerate(before)] == [16, 16]


def test_failover_keeps_to_the_path(make_lio, make_volume, links):
    """All sessions of the first path come before any of the second."""
    target = make_lio(64 * MIB, all_links=True, params=NO_WAIT)
    volume = make_volume(target, paths=links, policy="failover",
                         path={**QUICK, "connections": 2})
    device = volume.enable()
    before = sent(volume, 1)
    fio.finish(fio.start(device, rw="randread", bs="4k", numjobs=4, iodepth=4, size="1M",
                         cpus_allowed="0-1", cpus_allowed_policy="split"))
    assert sent(volume, 1) == before
    assert min(sent(volume, 0)) > 20


def test_isids_that_would_meet(make_lio, make_volume, links):
    """The second session of one path would have the ISID of the other."""
    target = make_lio(64 * MIB, all_links=True)
    volume = make_volume(target, paths=links, path={"connections": 2})
    for number, isid in enumerate(("00023d000000", "00023d000400")):
        with open(volume.leg / "paths" / str(number) / "isid", "w", encoding="ascii") as file:
            file.write(isid)
    with pytest.raises(istripe.EnableError, match="have the same isid at the same target"):
        volume.enable()
    with open(volume.leg / "paths" / "1" / "isid", "w", encoding="ascii") as file:
        file.write("00023d000800")
    volume.enable()
    assert {value for path in range(2) for value in values(volume, "isid", path)} == {
        "00023d000000", "00023d000400", "00023d000800", "00023d000c00"}


async def only_one(target, conn, pdu):
    """Out of resources for a second session, as long as the scenario is armed."""
    if target.armed and target.target.sessions:
        await conn.refuse(pdu, 0x0302)
        return True
    return False


@pytest.mark.parametrize("multi", ["sessions", "mcs"])
def test_start_while_others_cannot_log_in(make_server, link, make_volume, multi):
    """One session is enough to come up; the others come when they can."""
    server = make_server(link.address)
    scenario = Scenario("only one session", hooks={"on_login": only_one}, armed=True,
                        settings={"MaxConnections": 1})
    server.load(scenario, size_bytes=16 * MIB)
    volume = make_volume(server.target, path={
        **QUICK, "portal": server.portal, "multi": multi, "connections": 3})
    device = volume.enable()
    assert volume.state() == state(volume) == "degraded"
    run("dd", "if=/dev/zero", f"of={device}", "oflag=direct", "bs=64k", "count=64")
    server.target.run.armed = False
    wait_for("all sessions", lambda: volume.state() == state(volume) == "live", 60)
    run("dd", f"if={device}", "of=/dev/null", "iflag=direct", "bs=64k", "count=64")
    volume.disable()


DEADLY = pytest.mark.allow_log("error, dev istripe", "a write that no session survives")


@DEADLY
@pytest.mark.parametrize("multi", ["sessions", "mcs"])
def test_a_write_that_ends_every_session(make_server, link, make_volume, multi):
    """It fails when its time is over; it does not end one session after the other for ever."""
    server = make_server(link.address)
    server.load(Scenario("deadly write", hooks=on_write(drop), times=10000,
                         settings={"MaxConnections": 4}), size_bytes=16 * MIB)
    volume = make_volume(server.target, recovery_timeout_ms=3000, path={
        **QUICK, "portal": server.portal, "multi": multi, "connections": 3})
    device = volume.enable()
    server.target.run.armed = True
    code, _ = status("dd", "if=/dev/zero", f"of={device}", "oflag=direct", "bs=4k", "count=1",
                     timeout_s=60)
    assert code == 1
    server.target.run.armed = False
    wait_for("all sessions", lambda: volume.state() == state(volume) == "live", 60)
    run("dd", "if=/dev/zero", f"of={device}", "oflag=direct", "bs=4k", "count=1")


HOLD_S = 3


async def end_late(run, conn, _task):
    """The first session ends when the read is older than HOLD_S, the next one at once."""
    if run.hits == 1:
        await asyncio.sleep(HOLD_S + 1)
    conn.close()


def test_an_old_read_that_loses_two_sessions(make_server, link, make_volume):
    """The path has never been down: recovery_timeout_ms has not begun for what others can serve."""
    server = make_server(link.address)
    target = server.load(Scenario("ends late", hooks=on_read(end_late), times=2),
                         size_bytes=16 * MIB)
    volume = make_volume(target, recovery_timeout_ms=HOLD_S * 1000,
                         path={**QUICK, "portal": server.portal, "connections": 4})
    device = volume.enable()
    server.arm()
    run("dd", f"if={device}", "of=/dev/null", "iflag=direct", "bs=4k", "count=1")
    wait_for("all sessions", lambda: volume.state() == state(volume) == "live", 60)
    assert target.run.hits == 2
    assert sum(int(value) for value in values(volume, "faults")) == 2


async def the_last_stays_away(run, conn, _task):
    """The session that the write has ended last is not let in again."""
    run.memory["banned"] = conn.session.isid
    conn.close()


async def banned(run, conn, pdu):
    if pdu.isid != run.memory.get("banned"):
        return False
    await conn.refuse(pdu, 0x0302)
    raise Drop


@DEADLY
def test_nothing_waits_for_ever_for_a_session_that_stays_away(make_server, link, make_volume):
    """What it has left may still be carried out: it waits, which has an end. The others serve."""
    server = make_server(link.address)
    target = server.load(Scenario("one stays away", times=10000, hooks={
        **on_write(the_last_stays_away), "on_login": banned}), size_bytes=16 * MIB)
    volume = make_volume(target, recovery_timeout_ms=HOLD_S * 1000,
                         path={**QUICK, "portal": server.portal, "connections": 3})
    device = volume.enable()
    server.arm()
    write_once = ("dd", "if=/dev/zero", f"of={device}", "oflag=direct", "bs=4k", "count=1")
    assert status(*write_once, timeout_s=60)[0] == 1
    assert target.run.memory["banned"]
    # Where a processor stood still, all of them may have been away for that long.
    wait_for("the others", lambda: state(volume) in ("degraded", "live"), 60)
    run("dd", f"if={device}", "of=/dev/null", "iflag=direct", "bs=4k", "count=1", "skip=8")
    assert read(volume.sysfs() / "state") != "failed"
    target.run.armed = False
    target.run.memory["banned"] = None
    wait_for("all sessions", lambda: volume.state() == state(volume) == "live", 60)
    run(*write_once)
