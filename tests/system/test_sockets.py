# SPDX-License-Identifier: GPL-2.0
"""Sockets: how they are set, in which namespace they are, what they cost the kernel."""

import errno
import re
import time

import pytest

from lab import fio, kcore, lio, network
from lab.capture import Capture
from lab.connections import log_in_again
from lab.disk import start_write
from lab.istripe import INITIATOR, load, unload
from lab.network import mute
from lab.shell import read, run, status, wait_for, write

KIB, MIB = 1 << 10, 1 << 20
QUICK = {"default_time2wait": 0, "ping_interval_ms": 500, "ping_timeout_ms": 5000,
         "login_timeout_ms": 10000}
NO_WAIT = {"DefaultTime2Wait": 0}
DEFAULTS = {"dscp": 0, "priority": 0, "congestion_control": "", "user_timeout_ms": 0,
            "send_buffer_bytes": 0, "receive_buffer_bytes": 0}
TUNED = {"dscp": 46, "priority": 5, "congestion_control": "reno", "send_buffer_bytes": 256 * KIB,
         "receive_buffer_bytes": 96 * KIB}
DIGESTS = {"header_digest": "CRC32C", "data_digest": "CRC32C"}
TARGET_DIGESTS = {"HeaderDigest": "CRC32C", "DataDigest": "CRC32C"}
BATCHES = 64
DEFAULT_FILE = "/proc/sys/net/ipv4/tcp_congestion_control"


class Socket:
    """What the kernel says about a socket; the buffers are twice of what was asked for."""

    def __init__(self, line):
        def number(pattern):
            return int(re.search(rf"\b{pattern}", line).group(1), 0)

        self.dscp = number(r"tos:(\w+)") >> 2
        self.traffic_class = number(r"tclass:(\w+)") if "tclass:" in line else None
        self.priority = number(r"class_id:(\w+)") if "class_id:" in line else 0
        self.receive_bytes = number(r"rb(\d+)")
        self.send_bytes = number(r"tb(\d+)")
        self.words = set(line.split())
        self.line = line


def sockets(netns=None):
    """The initiator's, one for each connection that is established."""
    out = run("ss", "-HOtnieOm", "--tos", "state", "established", "dport = 3260", netns=netns)
    return [Socket(line) for line in out.splitlines()]


def assert_tuned(found, count, settings, ipv6=False):
    assert len(found) == count
    for sock in found:
        assert sock.dscp == settings["dscp"], sock.line
        if ipv6:
            assert sock.traffic_class == settings["dscp"] << 2, sock.line
        assert sock.priority == settings["priority"], sock.line
        assert settings["congestion_control"] in sock.words, sock.line
        assert sock.send_bytes == 2 * settings["send_buffer_bytes"], sock.line
        assert sock.receive_bytes == 2 * settings["receive_buffer_bytes"], sock.line


@pytest.fixture
def volume_of(make_lio, make_volume):
    """volume_of(path={}, ...): a volume with two connections to a LIO target."""

    def make(path=None, connections=2, params=None, **options):
        target = make_lio(64 * MIB, params={**NO_WAIT, "MaxConnections": connections,
                                            **(params or {})}, patient_with=INITIATOR)
        return make_volume(target, path={**QUICK, "connections": connections, **(path or {})},
                           **options)

    return make


def tune(volume, settings):
    for name, value in settings.items():
        write(volume.path / name, value)


def shown(volume):
    return {name: type(value)(read(volume.path_sysfs() / name))
            for name, value in DEFAULTS.items()}


def code_points(path, source):
    """[(whether it is a SYN, DSCP)] of all segments in a capture that came from an address."""
    version, field = (("ipv6", "ipv6.tclass.dscp") if ":" in source else
                      ("ip", "ip.dsfield.dscp"))
    out = run("tshark", "-n", "-r", path, "-Y", f"tcp && {version}.src == {source}", "-T",
              "fields", "-e", "tcp.flags.syn", "-e", field, timeout_s=300)
    rows = [line.split("\t") for line in out.splitlines()]
    return [(syn in ("1", "True"), int(value, 0)) for syn, value in rows]


@pytest.mark.parametrize("ipv6", [False, True], ids=["ipv4", "ipv6"])
def test_from_the_first_segment(volume_of, link, ipv6):
    """What is set before enabling holds from the SYN on, on the wire and in the socket."""
    volume = volume_of(path=TUNED, ipv6=ipv6)
    with Capture(link) as capture:
        device = volume.enable()
        run("dd", "if=/dev/zero", f"of={device}", "oflag=direct", "bs=64k", "count=4")
        assert_tuned(sockets(), 2, TUNED, ipv6)
        assert shown(volume) == {**DEFAULTS, **TUNED}
    points = code_points(capture.path, link.source6 if ipv6 else link.source)
    assert len([syn for syn, _ in points if syn]) >= 2
    assert len(points) > 20
    assert {point for _, point in points} == {46}


@pytest.mark.parametrize("ipv6", [False, True], ids=["ipv4", "ipv6"])
def test_live(volume_of, link, ipv6):
    """A change goes to the sockets that are there, one by one, and to those that come later."""
    volume = volume_of(ipv6=ipv6)
    device = volume.enable()
    before = sockets()
    assert shown(volume) == DEFAULTS
    assert {(sock.dscp, sock.priority) for sock in before} == {(0, 0)}
    write(volume.path / "dscp", 10)
    for old, sock in zip(before, sockets()):
        # The kernel would have changed the priority with it; the buffers are TCP's.
        assert (sock.dscp, sock.priority) == (10, 0)
        assert sock.receive_bytes >= old.receive_bytes and sock.send_bytes >= old.send_bytes
    tune(volume, TUNED)
    assert_tuned(sockets(), 2, TUNED, ipv6)
    with Capture(link) as capture:
        run("dd", "if=/dev/zero", f"of={device}", "oflag=direct", "bs=64k", "count=4")
    points = code_points(capture.path, link.source6 if ipv6 else link.source)
    assert len(points) > 4 and {point for _, point in points} == {46}
    assert shown(volume) == {**DEFAULTS, **TUNED}


def test_live_outlasts_the_session(volume_of, link):
    """The next login makes its sockets as the last change said."""
    volume = volume_of(connections=1)
    volume.enable()
    tune(volume, TUNED)
    log_in_again(volume)
    assert_tuned(sockets(), 1, TUNED)
    # While there is no session, a change is kept for the next one.
    with network.down(link):
        wait_for("the loss to be noticed", lambda: volume.state() != "live", 60)
        write(volume.path / "dscp", 8)
    volume.wait_state("live")
    assert_tuned(sockets(), 1, {**TUNED, "dscp": 8})


def test_back_to_the_defaults(volume_of):
    """What TCP tunes is TCP's again; no buffer is made smaller under what is in it."""
    volume = volume_of(path=TUNED)
    volume.enable()
    default = read(DEFAULT_FILE)
    begin = sockets()[0]
    tune(volume, DEFAULTS)
    assert shown(volume) == DEFAULTS
    for sock in sockets():
        assert (sock.dscp, sock.priority) == (0, 0), sock.line
        assert default in sock.words and default != TUNED["congestion_control"], sock.line
        assert sock.send_bytes >= begin.send_bytes, sock.line
        assert sock.receive_bytes >= max(begin.receive_bytes, 128 * KIB - 1), sock.line


def test_tuning_goes_on(volume_of, link):
    """A small buffer given back to TCP grows again, or else the path would stay slow."""
    volume = volume_of(path={"receive_buffer_bytes": 8 * KIB}, connections=1)
    device = volume.enable()
    run("dd", f"if={device}", "of=/dev/null", "iflag=direct", "bs=1M", "count=2")
    assert sockets()[0].receive_bytes == 16 * KIB
    write(volume.path / "receive_buffer_bytes", 0)
    begin = sockets()[0].receive_bytes
    # So far away that a window takes longer on its way than in the machine.
    with network.delayed_from_target(link, 0.04):
        run("dd", f"if={device}", "of=/dev/null", "iflag=direct", "bs=1M", "count=16")
    assert sockets()[0].receive_bytes > begin


@pytest.mark.parametrize("path", [{}, DIGESTS], ids=["plain", "digests"])
def test_small_buffers(volume_of, verify, path):
    """The smallest there are: slow, and right. TCP takes loads in parts that end anywhere."""
    volume = volume_of(path={"send_buffer_bytes": 4096, "receive_buffer_bytes": 4096, **path},
                       params=path and TARGET_DIGESTS)
    device = volume.enable()
    verify(device, total_bytes=MIB, jobs=2, depth=2, largest_bytes=64 * KIB)
    # Small ones, so that one load has many PDUs.
    verify(device, total_bytes=MIB, jobs=1, depth=32, largest_bytes=8 * KIB,
           iodepth_batch_submit=16)
    assert volume.reconnects() == 0


def data_packets(path, source):
    """How many packets with data came from an address, as the NIC gets them from TCP."""
    out = run("tshark", "-n", "-r", path, "-Y", f"tcp.len > 0 && ip.src == {source}", "-T",
              "fields", "-e", "tcp.len", timeout_s=300)
    return len(out.splitlines())


def test_writes_go_out_together(volume_of, link):
    """Headers and data of writes that are submitted together share packets."""
    volume = volume_of(connections=1)
    device = volume.enable()
    with Capture(link) as capture:
        result = fio.run(device, rw="randwrite", bs=4096, size=8 * MIB, number_ios=BATCHES * 16,
                         iodepth=16, iodepth_batch_submit=16, iodepth_batch_complete_min=16)
    writes = result.total("write", "total_ios")
    assert writes == BATCHES * 16
    assert capture.dropped() == 0
    # One call for each header and each page made at least one packet of every other write.
    assert data_packets(capture.path, link.source) < writes * 0.3


def test_writes_survive_loss(volume_of, link, verify):
    """What TCP holds, on its way or to be sent once more, is not changed: headers neither."""
    volume = volume_of(path=DIGESTS, params=TARGET_DIGESTS)
    device = volume.enable()
    run("tc", "qdisc", "add", "dev", link.nic, "root", "netem", "delay", "10ms", "loss", "1%")
    try:
        verify(device, total_bytes=2 * MIB, jobs=2, depth=16, largest_bytes=16 * KIB)
    finally:
        run("tc", "qdisc", "del", "dev", link.nic, "root")
    assert volume.reconnects() == 0


def test_live_under_verify(volume_of):
    """Everything at once, again and again, under I/O; nothing is lost, no session either."""
    volume = volume_of()
    device = volume.enable()
    with fio.meanwhile(device, **fio.verify_options(16 * MIB, jobs=4, largest_bytes=256 * KIB,
                                                    depth=4)):
        for turn in range(20):
            tune(volume, TUNED if turn % 2 else {**DEFAULTS, "congestion_control": "cubic"})
            time.sleep(0.1)
    assert volume.reconnects() == 0


def test_live_while_logging_in(volume_of):
    """Whichever comes first, the socket or the change: the last change holds."""
    volume = volume_of(connections=1)
    volume.enable()
    file = volume.path / "dscp"
    for _ in range(10):
        before = volume.reconnects()
        network.kill_connections()
        value = 0
        while volume.reconnects() == before:
            value = (value + 1) % 64
            write(file, value)
        volume.wait_state("live")
        assert [sock.dscp for sock in sockets()] == [int(read(file))]


def test_default_congestion_control(volume_of):
    """Without a name: the namespace's, at the time of the login."""
    before = read(DEFAULT_FILE)
    volume = volume_of()
    try:
        write(DEFAULT_FILE, "reno")
        volume.enable()
        assert ["reno" in sock.words for sock in sockets()] == [True] * 2
    finally:
        write(DEFAULT_FILE, before)


def test_unknown_congestion_control(volume_of, kernel_log):
    """Refused, named, and nothing has changed; one that is a module is loaded."""
    volume = volume_of(path=TUNED)
    volume.enable()
    file = volume.path / "congestion_control"
    for value in ("nonesuch", "x" * 16):
        with pytest.raises(OSError) as refused:
            write(file, value)
        assert refused.value.errno == errno.EINVAL
    lines = kernel_log.matching(r"congestion_control: .* is refused, allowed is a congestion")
    assert len(lines) == 2 and '"nonesuch"' in lines[0]
    assert read(file) == "reno"
    assert_tuned(sockets(), 2, TUNED)
    write(file, "illinois")
    # Two connections, and what keeps it for their next login.
    assert read("/sys/module/tcp_illinois/refcnt") == "3"
    assert_tuned(sockets(), 2, {**TUNED, "congestion_control": "illinois"})
    write(file, "")
    assert read("/sys/module/tcp_illinois/refcnt") == "0"


@pytest.mark.parametrize("live", [False, True], ids=["configured", "live"])
def test_the_module_stays_without_a_session(volume_of, link, live):
    """No login has to wait for modprobe, which may lie on the disk that is lost."""
    name = {"congestion_control": "illinois"}
    volume = volume_of(path=TUNED if live else {**TUNED, **name})
    volume.enable()
    if live:
        tune(volume, name)
    # Each login fails at once, and leaves no socket.
    run("ip", "route", "add", "prohibit", link.address)
    try:
        network.kill_connections()
        wait_for("the sockets to go", lambda: read("/sys/module/tcp_illinois/refcnt") == "1")
        code, out = status("modprobe", "-r", "tcp_illinois")
        assert code and "in use" in out
    finally:
        run("ip", "route", "del", "prohibit", link.address)
    volume.wait_state("live")
    wait_for("both connections", lambda: len(sockets()) == 2)
    assert all("illinois" in sock.words for sock in sockets())
    volume.disable()
    wait_for("the module to be free", lambda: read("/sys/module/tcp_illinois/refcnt") == "0")


@pytest.mark.parametrize("live", [False, True], ids=["configured", "live"])
def test_user_timeout(volume_of, link, live):
    """Nothing is acknowledged any more: TCP itself gives the connection up, nobody else would."""
    patient = {"ping_interval_ms": 0, "login_timeout_ms": 5000}
    # An emulated processor may stand still for a moment: that is no reason.
    timeout = {"user_timeout_ms": 5000}
    volume = volume_of(path={**patient, **({} if live else timeout)}, connections=1)
    device = volume.enable()
    if live:
        tune(volume, timeout)
    with mute(link):
        writer = start_write(device)
        wait_for("TCP to give up", lambda: volume.state() != "live", 60)
        assert read(volume.path_sysfs() / "faults") == "1"
    assert writer.wait(timeout=60) == 0
    volume.wait_state("live")


def test_no_user_timeout(volume_of, link):
    """The same without it: nobody gives up meanwhile."""
    volume = volume_of(path={"ping_interval_ms": 0}, connections=1)
    device = volume.enable()
    with mute(link):
        writer = start_write(device)
        time.sleep(10)
        assert volume.state() == "live"
    assert writer.wait(timeout=120) == 0


# Namespaces

OWN, OWN_NIC, OWN_PEER = "own", "own0", "own1"
OWN_SOURCE, OWN_ADDRESS = "10.55.9.1", "10.55.9.2"


@pytest.fixture
def own_namespace(laboratory):
    """A network namespace with a link of its own to the target, and nothing else."""
    run("ip", "netns", "add", OWN)
    run("ip", "link", "add", OWN_PEER, "netns", network.NETNS, "type", "veth", "peer", "name",
        OWN_NIC, "netns", OWN)
    for netns, nic, address in ((OWN, OWN_NIC, OWN_SOURCE), (network.NETNS, OWN_PEER, OWN_ADDRESS)):
        run("ip", "addr", "add", f"{address}/24", "dev", nic, netns=netns)
        run("ip", "link", "set", nic, "up", netns=netns)
    yield OWN
    run("ip", "netns", "del", OWN, check=False)


def has_peer():
    return OWN_PEER in run("ip", "-br", "link", netns=network.NETNS)


def test_sockets_are_of_the_namespace_that_enables(make_lio, make_volume, own_namespace):
    """Also those of later logins; and the namespace goes when the volume does, not before."""
    target = make_lio(16 * MIB, params=NO_WAIT)
    target.add_portal(OWN_ADDRESS)
    volume = make_volume(target, path={**QUICK, "portal": f"{OWN_ADDRESS}:3260", "nic": OWN_NIC})
    run("sh", "-c", f"echo 1 > {volume.config}/enable", netns=own_namespace)
    device = f"/dev/{volume.device()}"
    assert len(sockets(own_namespace)) == 1 and not sockets()
    run("ss", "-HKtn", "state", "established", "dport = 3260", netns=own_namespace)
    wait_for("another session", lambda: volume.reconnects() >= 1, 60)
    volume.wait_state("live")
    assert len(sockets(own_namespace)) == 1 and not sockets()
    # Settings are written from here, and go to the sockets there.
    write(volume.path / "dscp", 46)
    assert sockets(own_namespace)[0].dscp == 46
    run("ip", "netns", "del", own_namespace)
    before = volume.reconnects()
    network.kill_connections(by_target=True)
    wait_for("another session", lambda: volume.reconnects() > before, 60)
    run("dd", f"if={device}", "of=/dev/null", "iflag=direct", "bs=64k", "count=16")
    assert has_peer()
    volume.disable()
    wait_for("the namespace to go", lambda: not has_peer(), 60)


@pytest.mark.parametrize("source", ["", OWN_SOURCE], ids=["any", "source"])
def test_ports_are_of_a_portal(make_lio, make_volume, own_namespace, source):
    """Without a NIC, connections to several portals may have the same local ports: they leave the
    host's other programs some.
    """
    portals = [OWN_ADDRESS, "10.55.9.3", "10.55.9.4"]
    for address in portals[1:]:
        run("ip", "addr", "add", f"{address}/24", "dev", OWN_PEER, netns=network.NETNS)
    run("sysctl", "-q", "-w", "net.ipv4.ip_local_port_range=40000 40007", netns=own_namespace)
    target = make_lio(16 * MIB, params=NO_WAIT)
    for address in portals:
        target.add_portal(address)
    paths = [{**QUICK, "portal": f"{address}:3260", "target_name": target.iqn, "lun": 0,
              "connections": 6, "source_address": source} for address in portals[:2]]
    volume = make_volume(target, path=paths[0], more_paths=paths[1:], fence="path")
    run("sh", "-c", f"echo 1 > {volume.config}/enable", netns=own_namespace)
    wait_for("all connections", lambda: len(sockets(own_namespace)) == 12, 60)
    run("bash", "-c", f"exec 3<>/dev/tcp/{portals[2]}/3260", netns=own_namespace)
    assert volume.state() == read(volume.path_sysfs(0, 1) / "state") == "live"
    volume.disable()


# The kernel's static key

def memalloc_sockets():
    """How many sockets there are for which the network stack keeps its reserves ready."""
    return kcore.read_int("memalloc_socks_key")


def test_reconnects_do_not_patch_the_kernel(module, volume_of):
    """The module has a memalloc socket from its first to its last moment: the key stays up."""
    unload()
    without = memalloc_sockets()
    load()
    assert memalloc_sockets() == without + 1
    volume = volume_of(connections=1)
    volume.enable()
    assert memalloc_sockets() == without + 1
    log_in_again(volume)
    write(volume.path / "congestion_control", "reno")
    assert memalloc_sockets() == without + 1
    volume.delete()
    assert memalloc_sockets() == without + 1
    unload()
    assert memalloc_sockets() == without


@pytest.mark.parametrize("ipv6", [False, True], ids=["v4", "v6"])
def test_ports_of_sockets_with_and_without_a_nic(make_lio, make_volume, link, ipv6):
    """For the kernel's connect(), a socket that is bound to a NIC and one that is not may have the
    same addresses and ports, which the target cannot tell apart: one of them is refused.
    """
    legs = 8
    target = make_lio(*[lio.Lun(MIB) for _ in range(legs)])
    volume = make_volume(target, ipv6=ipv6, more_legs=[
        {"portal": link.portal(ipv6), "target_name": target.iqn, "lun": leg,
         "nic": link.nic if leg % 2 else ""} for leg in range(1, legs)])
    for _ in range(20):
        volume.enable()
        local = {local for local, _ in network.established()}
        assert len({name.rpartition(":")[2] for name in local}) == legs
        volume.disable()
