# SPDX-License-Identifier: GPL-2.0
"""Sessions of several connections (MC/S): how many there are, who carries what, their loss."""

import time
from pathlib import Path

import pytest

from lab import fio, lio, network, storage
from lab.connections import (
    assert_queue_for_each,
    connections,
    in_use,
    sent,
    wait_reconnects,
)
from lab.istripe import INITIATOR
from lab.shell import read, run, wait_for, write
from scripted.scenario import HONEST

KIB, MIB = 1 << 10, 1 << 20
#: On a busy machine the target may be slow to answer a ping, and nothing here is silent.
QUICK = {"default_time2wait": 0, "ping_interval_ms": 500, "ping_timeout_ms": 20000,
         "login_timeout_ms": 10000}
MCS = {**QUICK, "multi": "mcs"}
NO_WAIT = {"DefaultTime2Wait": 0, **lio.UNKNOWN}
DIGESTS = {"header_digest": "CRC32C", "data_digest": "CRC32C"}


@pytest.fixture
def volume_of(make_lio, make_volume):
    """volume_of(asked, granted, ...): a volume whose path asks a LIO target for connections."""

    def make(asked, granted, params=None, path=None, lun=64 * MIB, **options):
        target = make_lio(lun, params={**NO_WAIT, "MaxConnections": granted, **(params or {})},
                          patient_with=INITIATOR)
        return make_volume(target, path={**MCS, "connections": asked, **(path or {})}, **options)

    return make


def states(volume):
    return [read(place / "state") for place in connections(volume)]


def kill_one(volume, cid, by_target=False):
    """Breaks the TCP connection of one CID."""
    port = read(connections(volume)[cid] / "local_address").rpartition(":")[2]
    netns, side = (network.NETNS, "dport") if by_target else (None, "sport")
    out = run("ss", "-HKtn", "state", "established", f"{side} = {port}", netns=netns)
    assert len(out.splitlines()) == 1, out


@pytest.mark.parametrize("count", [2, 4, 8])
@pytest.mark.parametrize("digests", [False, True], ids=["plain", "digests"])
def test_verify(volume_of, verify, size, kernel_log, count, digests):
    """As many as were asked for, all of them at work, all data right, a quiet end."""
    values = {"HeaderDigest": "CRC32C", "DataDigest": "CRC32C"} if digests else {}
    volume = volume_of(count, count, params=values, path=DIGESTS if digests else {})
    device = volume.enable()
    assert in_use(volume) == count == int(volume.negotiated("MaxConnections"))
    assert [int(read(place / "cid")) for place in connections(volume)] == list(range(count))
    assert states(volume) == ["logged-in"] * count
    assert len(network.established()) == count
    verify(device, total_bytes=size.cell_bytes * 2, jobs=8, largest_bytes=256 * KIB)
    assert min(sent(volume)) > 3, sent(volume)
    # One file after the other is read, and udev may look at the disk.
    wait_for("the sum", lambda: sum(sent(volume)) == int(
        read(volume.path_sysfs() / "session" / "commands_sent")))
    assert volume.reconnects() == 0
    volume.disable()
    assert kernel_log.matching(r"istripe: .*(lost|cannot|goes on)") == []


@pytest.mark.parametrize("asked,granted", [(8, 2), (2, 8), (4, 1), (1, 4)])
def test_the_rest_are_sessions(volume_of, verify, asked, granted):
    """What the session is not granted are sessions of one connection."""
    volume = volume_of(asked, granted)
    device = volume.enable()
    least = min(asked, granted)
    rest = range(least, asked)
    assert in_use(volume) == least
    assert states(volume) == ["logged-in"] * asked
    assert [int(read(place / "session")) for place in connections(volume)] == [0] * least + [*rest]
    assert [int(read(place / "cid")) for place in connections(volume)] == [
        *range(least), *(0 for _ in rest)]
    assert len(network.established()) == asked
    verify(device, total_bytes=8 * MIB, jobs=8, largest_bytes=64 * KIB)
    assert min(sent(volume)) > 3, sent(volume)


def test_lio_has_one(make_lio, make_volume, verify, kernel_log):
    """Its login does not wait for a lost session of several: sessions of one connection then."""
    volume = make_volume(make_lio(64 * MIB, params={"DefaultTime2Wait": 0, "MaxConnections": 4}),
                         path={**MCS, "connections": 4})
    device = volume.enable()
    assert volume.negotiated("MaxConnections") == "4"
    assert in_use(volume) == 1
    assert len(network.established()) == 4
    assert kernel_log.matching("LIO is not up to the loss of a session of several")
    verify(device, total_bytes=8 * MIB, jobs=8, largest_bytes=64 * KIB)
    assert min(sent(volume)) > 3, sent(volume)
    assert volume.reconnects() == 0


def test_tgt_has_one(make_tgt, make_volume, verify):
    """tgt says MaxConnections=1: four sessions of one connection then."""
    volume = make_volume(make_tgt(64 * MIB), path={**MCS, "connections": 4})
    device = volume.enable()
    assert in_use(volume) == 1
    assert len(network.established()) == 4
    verify(device, total_bytes=8 * MIB, jobs=8, largest_bytes=64 * KIB)
    assert min(sent(volume)) > 3, sent(volume)
    assert volume.reconnects() == 0


def test_grants_that_change(make_lio, make_volume, verify):
    """Spares come and go as the target's mind changes; each time it is asked at a login."""
    target = make_lio(32 * MIB, params={**NO_WAIT, "MaxConnections": 1})
    volume = make_volume(target, path={**MCS, "connections": 3})
    device = volume.enable()
    spare = volume.path_sysfs() / "sessions" / "2"
    target.update(MaxConnections=3)
    kill_one(volume, 0)
    wait_for("one session", lambda: read(spare / "path_state") == "idle" and in_use(volume) == 3, 60)
    # The other spare may end later.
    wait_for("its connections only", lambda: len(network.established()) == 3)
    wait_for("all", lambda: read(volume.sysfs() / "state") == volume.state() == "live")
    verify(device, total_bytes=4 * MIB, jobs=4, largest_bytes=64 * KIB)


def test_chap_on_each(make_lio, make_volume, verify):
    """Every connection proves itself."""
    user = ("initiator", "correct-horse-battery")
    target = make_lio(32 * MIB, chap=user, params={**NO_WAIT, "MaxConnections": 3})
    volume = make_volume(target, path={**MCS, "connections": 3, "chap_user": user[0],
                                       "chap_secret": user[1]})
    device = volume.enable()
    assert in_use(volume) == 3
    verify(device, total_bytes=4 * MIB, jobs=4, largest_bytes=MIB)


def test_hardware_queues(volume_of):
    """One for each connection, but not more than processors; queue i uses connection i mod N."""
    assert_queue_for_each(volume_of(2, 2), sent)


@pytest.fixture
def one_processor():
    online = Path("/sys/devices/system/cpu/cpu1/online")
    write(online, 0)
    yield
    write(online, 1)


@pytest.mark.parametrize("multi", ["mcs", "sessions"])
def test_processors_that_are_off_line(one_processor, volume_of, multi):
    """They get no queue: the connections of such a one would carry nothing."""
    volume = volume_of(4, 4, path={"multi": multi}, poll_queues=2)
    device = volume.enable()
    assert len(list(Path(f"/sys/block/{Path(device).name}/mq").iterdir())) == 2
    fio.run(device, rw="randread", bs="64k", iodepth=16, size="16m")
    assert min(sent(volume)) > 3, sent(volume)


def test_depth_of_the_queue(volume_of):
    """The queues share their tags: queue_depth is the volume's, however many there are."""
    volume = volume_of(4, 4, queue_depth=4)
    device = volume.enable()
    job = fio.start(device, rw="randread", bs="4k", numjobs=4, iodepth=16, size="100%",
                    time_based=True, runtime=3)
    most = 0
    while job.poll() is None:
        numbers = read(volume.sysfs().parent / "inflight").split()
        most = max(most, int(read(volume.path_sysfs() / "session" / "cmd_sn")) -
                   int(read(volume.path_sysfs() / "session" / "exp_cmd_sn")), int(numbers[0]))
    fio.finish(job)
    assert 1 < most <= 4 + 1


def test_small_window(make_lio, make_volume, verify):
    """The connections share a command window that is much smaller than what they could fill."""
    target = make_lio(32 * MIB, params={**NO_WAIT, "MaxConnections": 4},
                      attributes={"default_cmdsn_depth": 2})
    volume = make_volume(target, path={**MCS, "connections": 4})
    device = volume.enable()
    verify(device, total_bytes=8 * MIB, jobs=8, largest_bytes=128 * KIB)
    assert min(sent(volume)) > 3, sent(volume)


def test_legs_and_paths(make_lio, make_volume, links, verify):
    """Several of everything."""
    target = make_lio(*[lio.Lun(16 * MIB) for _ in range(2)], all_links=True,
                      params={**NO_WAIT, "MaxConnections": 2})
    second = [{"portal": links[0].portal(), "target_name": target.iqn, "lun": 1,
               "multi": "mcs", "connections": 2}]
    volume = make_volume(target, paths=links, more_legs=second, chunk_bytes=16384,
                         path={**MCS, "connections": 2})
    device = volume.enable()
    written = storage.fill_pattern(device, volume.size_bytes(), seed=5)
    storage.drop_caches()
    assert storage.sha256(device, volume.size_bytes()) == written
    verify(device, total_bytes=8 * MIB, jobs=4, largest_bytes=MIB)
    # A proof may have some of its own for a while.
    wait_for("the paths' connections only", lambda: len(network.established()) == 6, 60)


@pytest.fixture
def scripted(make_server, link):
    """The scripted target, with a disk of 16 MiB."""
    server = make_server(link.address)
    server.load(HONEST, size_bytes=16 * MIB)
    return server


@pytest.mark.timeout_s(900)
@pytest.mark.parametrize("count", [2, 4])
def test_one_is_killed_under_verify(scripted, make_volume, size, count):
    """The session goes with it, once, and comes back whole; fio sees no error.

    Not with LIO: reinstatement of a session with several connections takes its host down, see
    Documentation/design.rst.
    """
    volume = make_volume(scripted.target, path={
        **QUICK, "portal": scripted.portal, "multi": "mcs", "connections": count})
    device = volume.enable()
    rounds = size.rounds(4, 50)
    done = 0
    while done < rounds:
        job = fio.begin(device, randseed=done + 1,
                        **fio.verify_options(8 * MIB, jobs=4, largest_bytes=64 * KIB, depth=4))
        while job.poll() is None and done < rounds:
            time.sleep(0.5)
            kill_one(volume, done % count, by_target=done % 2 == 1)
            done += 1
            wait_reconnects(volume, done)
            assert in_use(volume) == count
        assert fio.finish(job).errors() == 0
    assert volume.reconnects() == rounds
    assert int(read(volume.path_sysfs() / "faults")) == rounds
    volume.disable()


@pytest.mark.allow_log("error, dev istripe", "the disk goes away under fio on purpose")
def test_disabled_under_io(volume_of):
    """All connections end, whatever is in flight."""
    volume = volume_of(8, 8)
    device = volume.enable()
    before = sent(volume)
    job = fio.begin(device, rw="randread", bs="16k", iodepth=8, numjobs=4, time_based=True,
                    runtime=60, size="100%")
    wait_for("I/O over all", lambda: all(
        now > then for now, then in zip(sent(volume), before)), 60)
    start = time.monotonic()
    volume.force_down()
    assert time.monotonic() - start < 30
    job.kill()
    job.wait(30)
    wait_for("the connections' end", lambda: not network.established())
