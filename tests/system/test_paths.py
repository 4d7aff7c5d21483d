# SPDX-License-Identifier: GPL-2.0
"""Several paths to one leg: who takes what, and what happens when one of them is lost."""

import contextlib
import subprocess
import threading
import time

import pytest

from lab import fio, istripe, lio, network, storage
from lab.connections import log_in_again
from lab.disk import Direct, noise, start_write
from lab.ghost import state
from lab.network import mute
from lab.reservation import IGNORE_KEY, KEY, Reservations
from lab.settings import POLICIES
from lab.shell import read, run, status, wait_for, write

MIB = 1 << 20
LUN_BYTES = 64 * MIB
#: Silence is noticed, but not that an emulated processor stands still.
QUICK = {"default_time2wait": 0, "ping_interval_ms": 500, "ping_timeout_ms": 5000,
         "login_timeout_ms": 5000}
NO_WAIT = {"DefaultTime2Wait": 0}


@pytest.fixture
def two_paths(make_lio, make_volume, links):
    """two_paths(...): a LIO LUN behind two links, and a volume over both."""

    def make(attributes=None, **options):
        lun = lio.Lun(LUN_BYTES, attributes=attributes)
        target = make_lio(lun, all_links=True, params=NO_WAIT, patient_with=istripe.INITIATOR)
        options = {"paths": links, "chunk_bytes": 65536, **options}
        return make_volume(target, **{**options, "path": {**QUICK, **options.get("path", {})}})

    return make


def sent(volume):
    """SCSI commands that each path's session has sent."""
    return [int(read(volume.path_sysfs(0, path) / "session" / "commands_sent"))
            for path in range(2)]


def sent_by(volume, *argv):
    before = sent(volume)
    run(*argv)
    return [now - then for now, then in zip(sent(volume), before)]


def read_16_mib(device, block):
    return ("dd", f"if={device}", "of=/dev/null", "iflag=direct", f"bs={block}",
            f"count={16 * MIB // block}")


def test_both_paths_are_live(two_paths):
    volume = two_paths()
    volume.enable()
    assert state(volume) == "live"
    isids = {read(volume.path_sysfs(0, path) / "session" / "isid") for path in range(2)}
    assert len(isids) == 2


@pytest.mark.parametrize("policy", POLICIES)
def test_verify(two_paths, verify, size, policy):
    volume = two_paths(policy=policy)
    device = volume.enable()
    before = sent(volume)
    verify(device, total_bytes=size.cell_bytes * 2, jobs=4, largest_bytes=MIB)
    first, second = [now - then for now, then in zip(sent(volume), before)]
    # Not half of them: policies that look at the load leave a path alone that stands still.
    assert first > 5
    assert second > 5 or policy == "failover"


def test_interleave_cuts_at_the_chunk(two_paths):
    """One stream at depth 1 uses both NICs: a request of 1 MiB is a command on each."""
    volume = two_paths()
    device = volume.enable()
    assert sent_by(volume, *read_16_mib(device, MIB)) == [16, 16]
    assert sum(sent_by(volume, *read_16_mib(device, 65536))) == 256
    first, second = sent_by(volume, *read_16_mib(device, 3 * 65536))
    assert first + second == 2 * (16 * MIB // (3 * 65536))


def test_interleave_leaves_a_slow_path_alone(two_paths, links):
    """It gets as many bytes as it carries: long requests are not as slow as twice their half there."""
    volume = two_paths(path={"ping_timeout_ms": 20000})
    device = volume.enable()
    with network.slow_from_target(links[1], "4mbit"):
        before = sent(volume)
        fio.run(device, rw="read", bs="1m", iodepth=4, size=64 * MIB)
        fast, slow = [now - then for now, then in zip(sent(volume), before)]
    assert fast + slow >= 128
    assert fast > 2 * slow


def test_interleave_with_several_legs(make_lio, make_volume, links, verify):
    """Cut by the legs first, then over the paths; the data are right."""
    target = make_lio(*[lio.Lun(16 * MIB) for _ in range(2)], all_links=True, params=NO_WAIT)
    second = [{"portal": links[0].portal(), "target_name": target.iqn, "lun": 1}]
    volume = make_volume(target, paths=links, more_legs=second, chunk_bytes=16384)
    device = volume.enable()
    written = storage.fill_pattern(device, volume.size_bytes(), seed=5)
    storage.drop_caches()
    assert storage.sha256(device, volume.size_bytes()) == written
    verify(device, total_bytes=8 * MIB, jobs=4, largest_bytes=MIB)


def test_failover_uses_the_first(two_paths):
    volume = two_paths(policy="failover")
    device = volume.enable()
    assert sent_by(volume, *read_16_mib(device, 65536)) == [256, 0]


def test_weighted(two_paths):
    volume = two_paths(policy="weighted")
    device = volume.enable()
    write(volume.leg / "paths" / "1" / "weight", 3)
    assert sent_by(volume, *read_16_mib(device, 65536)) == [64, 192]


def test_round_robin_and_back(two_paths):
    volume = two_paths(policy="round-robin")
    device = volume.enable()
    assert sent_by(volume, *read_16_mib(device, 65536)) == [128, 128]
    write(volume.leg / "policy", "failover")
    assert sent_by(volume, *read_16_mib(device, 65536)) == [256, 0]
    with pytest.raises(OSError):
        write(volume.leg / "policy", "random")
    assert read(volume.leg_sysfs(0) / "policy") == read(volume.leg / "policy") == "failover"
    volume.disable()
    assert sent_by(volume, *read_16_mib(volume.enable(), 65536)) == [256, 0]


def test_policies_are_switched_under_verify(two_paths):
    volume = two_paths()
    device = volume.enable()
    job = fio.start(device, **fio.verify_options(32 * MIB, jobs=4, largest_bytes=MIB, depth=4))
    while job.poll() is None:
        for policy in POLICIES:
            write(volume.leg / "policy", policy)
            time.sleep(0.3)
    assert fio.finish(job).errors() == 0


def test_reads_go_on_over_the_other_path(two_paths, links):
    """The lost path's reads are not held until it is back."""
    volume = two_paths(recovery_timeout_ms=-1)
    device = volume.enable()
    with network.down(links[0]):
        run(*read_16_mib(device, 65536), timeout_s=60)
        wait_for("the loss to be noticed", lambda: state(volume) == "degraded", 20)
        run(*read_16_mib(device, MIB), timeout_s=60)
        run("dd", "if=/dev/zero", f"of={device}", "oflag=direct", "bs=64k", "count=16",
            timeout_s=60)
    wait_for("both paths", lambda: state(volume) == "live", 60)


def lose_link(link, end):
    """Takes one end of the link down; returns what brings it back."""
    set_up = link.set_up if end == "own" else link.set_peer_up
    set_up(False)
    return lambda: set_up(True)


UNPINGED = {"ping_interval_ms": 0}
#: A group of network devices.
PEERS = "55"


#: Of a path that may use any NIC, as far as routes lead there.
ANY_NIC = {"nic": ""}


@pytest.mark.parametrize("end", ["own", "other"])
@pytest.mark.parametrize("nic", [{}, ANY_NIC], ids=["bound", "any"])
def test_link_down_needs_no_ping(two_paths, links, kernel_log, end, nic):
    """The NIC says so; and the path does not come back before the link does."""
    volume = two_paths(path={**UNPINGED, **nic})
    device = volume.enable()
    restore = lose_link(links[0], end)
    try:
        wait_for("the loss to be noticed", lambda: state(volume) == "degraded", 20)
        # Not last_error: the next attempt may have failed by now.
        assert kernel_log.matching(r"istripe: .*the NIC has no link")
        run(*read_16_mib(device, MIB), timeout_s=60)
        assert read(volume.path_sysfs(0, 1) / "faults") == "0"
    finally:
        restore()
    wait_for("both paths", lambda: state(volume) == "live", 60)


@contextlib.contextmanager
def nics_come_and_go():
    """As when containers start."""
    over = threading.Event()

    def churn():
        while not over.wait(0.2):
            run("ip", "link", "add", "passing", "up", "type", "veth", "peer", "name", "passing1")
            run("ip", "link", "del", "passing")

    churning = threading.Thread(target=churn)
    churning.start()
    try:
        yield churning
    finally:
        over.set()
        churning.join()


def test_link_down_while_others_come_and_go(two_paths, links, kernel_log):
    """A path that may use any NIC does not wait until no other one changes any more."""
    volume = two_paths(path={**UNPINGED, **ANY_NIC})
    volume.enable()
    with nics_come_and_go() as churning:
        restore = lose_link(links[0], "own")
        try:
            wait_for("the loss to be noticed", lambda: state(volume) == "degraded", 20)
            assert churning.is_alive()
            assert kernel_log.matching(r"istripe: .*the NIC has no link")
        finally:
            restore()
    wait_for("both paths", lambda: state(volume) == "live", 60)


@contextlib.contextmanager
def another_way(link, other):
    """Each end reaches the other's network on the link over the other link, too, if it has to."""
    ends = ((None, other.address, other.nic), (network.NETNS, other.source, other.peer))
    for netns, gateway, nic in ends:
        run("ip", "route", "add", f"10.55.{link.index}.0/24", "via", gateway, "dev", nic, "metric",
            "500", netns=netns)
    try:
        yield
    finally:
        for netns, _, nic in ends:
            run("ip", "route", "del", f"10.55.{link.index}.0/24", "dev", nic, "metric", "500",
                netns=netns)


@contextlib.contextmanager
def no_link(link, why):
    """Without a carrier the kernel keeps the routes, unless it is told not to use them."""
    ignores = f"/proc/sys/net/ipv4/conf/{link.nic}/ignore_routes_with_linkdown"
    write(ignores, int(why == "carrier"))
    if why == "down":
        link.set_up(False)
    link.set_peer_up(False)
    try:
        yield
    finally:
        link.set_peer_up(True)
        link.set_up(True)
        write(ignores, 0)


@pytest.mark.parametrize("why", ["down", "carrier"])
def test_link_down_where_tcp_goes_on(two_paths, links, why):
    """The path may use any NIC, and there is a route over another one."""
    volume = two_paths(policy="round-robin", path={**UNPINGED, **ANY_NIC})
    device = volume.enable()
    with another_way(*links), no_link(links[0], why):
        # It is looked at once more half a second later.
        wait_for("the loss of the link", lambda: not has_link(links[0]), 20)
        time.sleep(1)
        assert all(sent_by(volume, *read_16_mib(device, 65536)))
        assert state(volume) == "live"
    for path in range(2):
        assert read(volume.path_sysfs(0, path) / "faults") == "0"


def test_a_nic_becomes_a_port(two_paths, links, kernel_log):
    """The bridge gets what is for the path, and no ping tells. The path is back when the NIC is."""
    volume = two_paths(path=UNPINGED)
    device = volume.enable()
    path = volume.path_sysfs(0, 0)
    run("modprobe", "bridge")
    run("ip", "link", "add", "br0", "up", "type", "bridge")
    try:
        job = fio.start(device, **fio.verify_options(16 * MIB, jobs=4, largest_bytes=MIB, depth=4))
        run("ip", "link", "set", links[0].nic, "master", "br0")
        wait_for("the loss to be noticed", lambda: state(volume) == "degraded", 20)
        assert kernel_log.matching(r"istripe: .*/0/0: the NIC has become a port of a bridge")
        wait_for("a login", lambda: "the NIC is a port of a bridge" in read(path / "last_error"))
        assert fio.finish(job).errors() == 0
        assert read(volume.path_sysfs(0, 1) / "faults") == "0"
    finally:
        run("ip", "link", "del", "br0")
    wait_for("both paths", lambda: state(volume) == "live", 60)


def test_link_down_ends_what_was_asked(two_paths, links, kernel_log):
    """A question of the driver's own, which the target has not answered, is no reason to wait."""
    volume = two_paths(path=UNPINGED)
    volume.enable()
    before = sent(volume)[0]
    with mute(links[0]):
        asking = subprocess.Popen(("sh", "-c", f"echo 1 > {volume.sysfs()}/rescan"),
                                  stderr=subprocess.DEVNULL)
        wait_for("the question", lambda: sent(volume)[0] > before, 20)
        restore = lose_link(links[0], "other")
        try:
            wait_for("the loss to be noticed", lambda: state(volume) == "degraded", 20)
            assert kernel_log.matching(r"istripe: .*the NIC has no link")
        finally:
            restore()
    asking.wait(timeout=60)
    wait_for("both paths", lambda: state(volume) == "live", 60)


def completed_reads(device):
    return int(read(f"/sys/block/{device.name}/stat").split()[0])


def test_reads_do_not_wait_until_tcp_lets_go(two_paths, links):
    """What cannot be sent lies in TCP, and what TCP holds is not touched. But reads send nothing."""
    volume = two_paths(policy="failover", fence="path", path=UNPINGED)
    device = volume.enable()
    link = links[0]
    path = volume.path_sysfs(0, 0) / "state"
    # A write waits for the neighbour, some 90 s; the kernel forgets neither with the link.
    run("sysctl", "-q", "-w", f"net.ipv4.neigh.{link.nic}.mcast_solicit=90",
        f"net.ipv4.conf.{link.nic}.arp_evict_nocarrier=0")
    run("sysctl", "-q", "-w", f"net.ipv4.conf.{link.peer}.arp_ignore=8", netns=network.NETNS)
    run("ip", "neigh", "del", link.address, "dev", link.nic)
    writer = start_write(device)
    wait_for("a write that cannot be sent",
             lambda: run("ip", "neigh", "show", link.address, "nud", "incomplete"), 20)
    reader = subprocess.Popen(("dd", f"if={device}", "of=/dev/null", "iflag=direct", "bs=4k"),
                              stderr=subprocess.DEVNULL)
    wait_for("a read behind it",
             lambda: read(f"/sys/block/{device.name}/inflight").split() == ["1", "1"], 20)
    restore = lose_link(link, "other")
    try:
        wait_for("the loss to be noticed", lambda: read(path) == "draining", 20)
        before = completed_reads(device)
        wait_for("reads to go on", lambda: completed_reads(device) > before, 20)
        assert read(path) == "draining"
    finally:
        run("sysctl", "-q", "-w", f"net.ipv4.conf.{link.peer}.arp_ignore=0",
            netns=network.NETNS)
        run("sysctl", "-q", "-w", f"net.ipv4.neigh.{link.nic}.mcast_solicit=3",
            f"net.ipv4.conf.{link.nic}.arp_evict_nocarrier=1")
        restore()
        reader.kill()
        reader.wait()
    assert writer.wait(timeout=60) == 0
    wait_for("both paths", lambda: state(volume) == "live", 60)


@pytest.mark.parametrize("connections", [1, 3])
def test_last_path_is_not_given_up_with_its_link(two_paths, links, connections):
    """Nothing is better: TCP goes on when the link is back. Sessions of one path are one way."""
    volume = two_paths(path={**UNPINGED, "connections": connections})
    device = volume.enable()
    gone = lose_link(links[0], "other")
    try:
        wait_for("the loss to be noticed", lambda: state(volume) == "degraded", 20)
        restore = lose_link(links[1], "other")
        reader = subprocess.Popen(read_16_mib(device, MIB), stderr=subprocess.DEVNULL)
        time.sleep(1)
        assert read(volume.path_sysfs(0, 1) / "state") == "live"
        restore()
        assert reader.wait(timeout=60) == 0
        for session in ("session", *(f"sessions/{n}" for n in range(1, connections))):
            assert read(volume.path_sysfs(0, 1) / session / "faults") == "0"
    finally:
        gone()
    wait_for("both paths", lambda: state(volume) == "live", 60)


def has_link(link):
    return read(f"/sys/class/net/{link.nic}/operstate") == "up"


def test_one_of_two_links_is_back(two_paths, links, kernel_log):
    """Both went down at the same moment, so neither path was given up. Then one is better."""
    volume = two_paths(path=UNPINGED)
    device = volume.enable()
    for link in links:
        run("ip", "link", "set", "dev", link.peer, "group", PEERS, netns=network.NETNS)
    try:
        run("ip", "link", "set", "group", PEERS, "down", netns=network.NETNS)
        wait_for("the loss of both links", lambda: not any(map(has_link, links)), 20)
        # They are looked at once more half a second later.
        time.sleep(1)
        assert [read(volume.path_sysfs(0, path) / "state") for path in range(2)] == ["live", "live"]
        links[0].set_peer_up(True)
        wait_for("the loss to be noticed", lambda: state(volume) == "degraded", 20)
        assert kernel_log.matching(r"istripe: .*/0/1: the NIC has no link")
        run(*read_16_mib(device, MIB), timeout_s=60)
        assert read(volume.path_sysfs(0, 0) / "faults") == "0"
    finally:
        for link in links:
            run("ip", "link", "set", "dev", link.peer, "group", "0", netns=network.NETNS)
            link.set_peer_up(True)
    wait_for("both paths", lambda: state(volume) == "live", 60)


@pytest.mark.timeout_s(600)
@pytest.mark.parametrize("policy", ["interleave", "queue-depth"])
def test_links_go_down_in_turn_under_verify(two_paths, links, size, policy):
    """Writes that were in flight wait for their own path, everything else goes on."""
    volume = two_paths(policy=policy)
    device = volume.enable()
    with fio.meanwhile(device, **fio.verify_options(48 * MIB, jobs=4, largest_bytes=MIB, depth=4)):
        for turn in range(size.rounds(4, 20)):
            link = links[turn % 2]
            fio.wait_transfers(device)
            with network.down(link):
                wait_for("the loss to be noticed", lambda: state(volume) != "live", 20)
            wait_for("both paths", lambda: state(volume) == "live", 60)


@pytest.mark.timeout_s(600)
def test_connections_killed_under_verify(two_paths, size):
    volume = two_paths()
    device = volume.enable()
    paths = [(0, 0), (0, 1)]
    with fio.meanwhile(device, **fio.verify_options(48 * MIB, jobs=4, largest_bytes=MIB, depth=4)):
        for turn in range(size.rounds(8, 50)):
            fio.wait_transfers(device)
            log_in_again(volume, paths=paths, by_target=turn % 2 == 1)
    wait_for("both paths", lambda: state(volume) == "live", 60)


def test_proof_under_load(two_paths):
    """That both lead to one portal group is found out while I/O runs, which is not disturbed."""
    volume = two_paths(policy="round-robin", fence="path")
    device = volume.enable()
    with fio.meanwhile(device, **fio.verify_options(16 * MIB, jobs=4, largest_bytes=MIB, depth=4)):
        # Before there is I/O nothing is proven.
        write(volume.leg / "fence", "auto")
        volume.wait_proven()
    for path in range(2):
        assert read(volume.path_sysfs(0, path) / "faults") == "0"


@contextlib.contextmanager
def no_connections(link):
    """New TCP connections over this link find nobody; those that are there go on."""
    table = (f"table inet lab {{ chain in {{ type filter hook input priority 0; "
             f"iifname {link.peer} tcp flags & (syn | ack) == syn drop; }}; }}\n")
    run("nft", "-f", "-", text_in=table, netns=network.NETNS)
    try:
        yield
    finally:
        run("nft", "delete", "table", "inet", "lab", netns=network.NETNS)


FAST = {"ping_interval_ms": 300, "ping_timeout_ms": 5000}
#: The loss is noticed after the write was sent, on the slowest kernel, too.
AFTER_THE_WRITE = {"ping_interval_ms": 1000, "ping_timeout_ms": 5000}


@pytest.mark.parametrize("tas", [1, 0], ids=["tas", "no-tas"])
def test_write_in_flight_goes_on_over_the_sibling(two_paths, links, kernel_log, tas):
    """Its own path stays away: a login through the other one ends the old session, whatever the
    target tells others of tasks that it aborts (TAS).
    """
    volume = two_paths(attributes={"emulate_tas": tas}, policy="failover", fence="auto",
                       recovery_timeout_ms=-1, path=AFTER_THE_WRITE)
    device = volume.enable()
    volume.wait_proven()
    with mute(links[0]):
        assert start_write(device).wait(timeout=60) == 0
        # It goes on before the session that has ended the old one is logged out.
        wait_for("the fence", lambda: kernel_log.matching(
            "/0/0: the old session is ended through .*/0/1"))
        assert state(volume) == "degraded"
        run("dd", "if=/dev/zero", f"of={device}", "oflag=direct", "bs=64k", "count=16",
            timeout_s=60)
    wait_for("both paths", lambda: state(volume) == "live", 60)


@pytest.mark.parametrize("fence", ["path", "auto"])
def test_write_in_flight_waits_for_the_fence(two_paths, links, fence):
    """It may still be carried out: before it cannot it is not sent anew, or, with auto, nothing else is
    written over it. It does not fail meanwhile.
    """
    volume = two_paths(policy="failover", fence=fence, recovery_timeout_ms=-1, ghost_timeout_ms=-1,
                       path=AFTER_THE_WRITE)
    device = volume.enable()
    if fence == "auto":
        volume.wait_proven()
    # Through the sibling it could be ended: where that is allowed it must not come off.
    closed = no_connections(links[1]) if fence == "auto" else contextlib.nullcontext()
    with closed, mute(links[0]):
        writer = start_write(device)
        wait_for("the loss to be noticed", lambda: state(volume) == "degraded", 60)
        if fence == "auto":
            assert writer.wait(timeout=60) == 0
            assert read(volume.path_sysfs(0, 0) / "ghost_writes") == "1"
            writer = start_write(device)
        waiting = volume.path_sysfs(0, 0) / "waiting_writes"
        wait_for("a write that waits", lambda: read(waiting) == "1")
        time.sleep(5)
        assert writer.poll() is None
        assert read(waiting) == "1"
        run(*read_16_mib(device, MIB), timeout_s=60)
    assert writer.wait(timeout=60) == 0
    wait_for("both paths", lambda: state(volume) == "live", 60)


#: Of 4 KiB, among which is that of a write that fails.
BLOCKS = 4096


def fail_a_write(volume, device, links):
    """All paths are lost in the middle of writes, and one of these fails. Returns what heals them."""
    # It writes over the first path when that is lost: that is the one with a write in flight. It
    # goes over the same blocks, but the first one, again and again until then.
    once = f"dd if=/dev/zero of={device} oflag=direct bs=4k seek=1 count={BLOCKS - 1}"
    writer = subprocess.Popen(["sh", "-c", f"while {once}; do :; done; exit 1"],
                              stderr=subprocess.DEVNULL)
    begin = sent(volume)[0]
    wait_for("writes", lambda: sent(volume)[0] > begin + 10, 30)
    # Both at once: with time between the two the second one would end the first one's session.
    run("sh", "-c", " && ".join(f"tc qdisc add dev {link.peer} root netem loss 100%"
                                for link in links), netns=network.NETNS)
    assert writer.wait(timeout=60) != 0
    return [("tc", "qdisc", "del", "dev", link.peer, "root") for link in links]


@pytest.fixture
def heal():
    """Commands that heal the links, the last one first."""
    heal = []
    yield heal
    while heal:
        run(*heal.pop(), netns=network.NETNS)


FAILS = pytest.mark.allow_log(r"error(,| on) dev istripe|may still carry out",
                              "the write fails in the end")


def write_over(device, blocks, block=4096):
    return ("dd", "if=/dev/zero", f"of={device}", "oflag=direct", f"bs={block}", f"count={blocks}")


def outage(volume):
    """(down_ms, recovery_left_ms, last_error) of the leg."""
    leg = volume.leg_sysfs(0)
    return (int(read(leg / "down_ms")), int(read(leg / "recovery_left_ms")),
            read(leg / "last_error"))


def holding(volume):
    return [read(volume.path_sysfs(0, path) / "holding") for path in range(2)]


def unfenced(volume):
    return [read(volume.path_sysfs(0, path) / "unfenced") for path in range(2)]


@FAILS
def test_nothing_is_written_after_an_unfenced_write(two_paths, links, heal, kernel_log):
    """No path comes back in time: the write fails, and the leg waits for the fence."""
    volume = two_paths(policy="failover", recovery_timeout_ms=2000, path=FAST, fence="path")
    device = volume.enable()
    heal += fail_a_write(volume, device, links)
    run(*heal.pop(), netns=network.NETNS)
    wait_for("the second path", lambda: read(volume.path_sysfs(0, 1) / "state") == "live", 60)
    time.sleep(5)
    assert state(volume) == "failed"
    assert unfenced(volume) == ["1", "0"]
    assert holding(volume) == ["none", "fence"]
    down_ms, left_ms, why = outage(volume)
    assert down_ms > 5000 and left_ms == 0
    assert why.startswith("path 0: writes have failed that its target may still carry out")
    assert kernel_log.matching("no I/O until their session over path 0 is known to be dead")
    assert status(*write_over(device, 1))[0] != 0
    run(*heal.pop(), netns=network.NETNS)
    wait_for("both paths", lambda: state(volume) == "live", 60)
    run(*write_over(device, 1))
    assert unfenced(volume) == ["0", "0"]
    assert holding(volume) == ["none", "none"]
    assert outage(volume) == (0, 0, "")
    assert len(kernel_log.matching("/0: I/O goes on after [0-9]+ ms")) == 1


@FAILS
@pytest.mark.parametrize("fence, key", [("auto", 0), ("auto", KEY), ("session", 0)],
                         ids=["no-key", "a-key", "session"])
def test_one_path_serves_after_an_outage(two_paths, links, heal, keep_on_disk, fence, key):
    """All but the blocks of the write that has failed. The sibling cannot end the lost session: its own
    new session is not proven to be where the old one was. Nothing is changed by a key of reservations,
    nor where lost writes are not sent again.
    """
    volume = two_paths(policy="failover", recovery_timeout_ms=2000, path=FAST, fence=fence,
                       ghost_timeout_ms=-1)
    device = volume.enable()
    volume.wait_proven()
    if key:
        with Reservations(device) as disk:
            assert disk.register(0, key, IGNORE_KEY) == 0
    heal += fail_a_write(volume, device, links)
    # What waits from now on has no end.
    write(volume.config / "recovery_timeout_ms", -1)
    run(*heal.pop(), netns=network.NETNS)
    wait_for("the second path", lambda: state(volume) == "degraded", 60)
    run(*write_over(device, 1))
    lost = volume.path_sysfs(0, 0)
    assert read(lost / "ghost_writes") == "1"
    wait = [subprocess.Popen(command, stderr=subprocess.DEVNULL)
            for command in (write_over(device, BLOCKS // 16, 65536), read_16_mib(device, MIB))]
    wait_for("I/O to these blocks", lambda: read(lost / "waiting_writes") == "2", 60)
    time.sleep(5)
    assert [one.poll() for one in wait] == [None, None]
    run(*heal.pop(), netns=network.NETNS)
    assert [one.wait(timeout=60) for one in wait] == [0, 0]
    wait_for("both paths", lambda: state(volume) == "live", 60)
    assert read(lost / "ghost_writes") == "0"


@FAILS
def test_io_waits_again(two_paths, links, kernel_log):
    """recovery_timeout_ms is written when it is over: what counts is the time since the loss."""
    volume = two_paths(recovery_timeout_ms=1000)
    device = volume.enable()
    file = volume.config / "recovery_timeout_ms"
    for link in links:
        link.set_up(False)
    try:
        wait_for("the leg to fail", lambda: state(volume) == "failed", 60)
        assert status(*read_16_mib(device, MIB))[0] != 0
        down_ms, left_ms, why = outage(volume)
        assert down_ms >= 1000 and (left_ms, why) == (0, "")
        # Over, too.
        write(file, 500)
        assert state(volume) == "failed"
        write(file, -1)
        assert state(volume) == "waiting"
        assert len(kernel_log.matching("recovery_timeout_ms has changed: I/O waits again")) == 1
        reader = subprocess.Popen(read_16_mib(device, MIB), stderr=subprocess.DEVNULL)
        time.sleep(2)
        assert reader.poll() is None
        assert outage(volume)[0] > down_ms + 1000 and outage(volume)[1] == -1
        write(file, 500)
        assert reader.wait(60) != 0 and state(volume) == "failed"
        write(file, 600000)
        assert state(volume) == "waiting"
        down_ms, left_ms, _ = outage(volume)
        assert 590000 < down_ms + left_ms < 610000
        reader = subprocess.Popen(read_16_mib(device, MIB), stderr=subprocess.DEVNULL)
        time.sleep(2)
        assert reader.poll() is None
    finally:
        for link in links:
            link.set_up(True)
    assert reader.wait(60) == 0
    wait_for("both paths", lambda: state(volume) == "live", 60)
    assert outage(volume) == (0, 0, "")


def test_degraded_from_the_start(two_paths, links):
    """One path is enough; the other one comes when it can."""
    volume = two_paths()
    with network.down(links[1]):
        device = volume.enable()
        assert state(volume) == "degraded"
        run(*read_16_mib(device, MIB))
    wait_for("both paths", lambda: state(volume) == "live", 60)


def test_no_path_at_all(two_paths, links):
    # Some of it is gone when the links are up, and packets pass.
    volume = two_paths(path={"login_timeout_ms": 15000})
    for link in links:
        link.set_up(False)
    try:
        with pytest.raises(istripe.EnableError, match="leg 0 path [01]: "):
            volume.enable()
    finally:
        for link in links:
            link.set_up(True)
    volume.enable()


def test_path_to_another_lun(make_lio, make_volume, links):
    target = make_lio(LUN_BYTES, LUN_BYTES, all_links=True)
    volume = make_volume(target, paths=links)
    write(volume.leg / "paths" / "1" / "lun", 1)
    with pytest.raises(istripe.EnableError, match="answers here: path not used"):
        volume.enable()


def test_path_to_another_lun_than_the_named_one(make_lio, make_volume, links):
    """The designator says which of two LUNs is the leg's: the path to the other one only fails."""
    target = make_lio(LUN_BYTES, LUN_BYTES, all_links=True)
    volume = make_volume(target, paths=links)
    volume.enable()
    designator = read(volume.leg_sysfs(0) / "designator")
    volume.disable()
    write(volume.leg / "designator", designator)
    write(volume.leg / "paths" / "0" / "lun", 1)
    with Direct(volume.enable()) as disk:
        assert state(volume) == "degraded"
        assert "answers here: path not used" in read(volume.path_sysfs(0, 0) / "last_error")
        disk.write(0, noise(LUN_BYTES // 64, "data"))


def test_remove_while_a_path_is_down(two_paths, links):
    volume = two_paths(path={"login_timeout_ms": 120000})
    volume.enable()
    with network.down(links[0]):
        wait_for("the loss to be noticed", lambda: state(volume) == "degraded", 20)
        start = time.monotonic()
        volume.disable()
        assert time.monotonic() - start < 30
