# SPDX-License-Identifier: GPL-2.0
"""What doctor says that is no fault of its own, and values that it cannot read: each text is seen."""

import os
import shutil

import pytest
from faults import (
    CLOSED,
    NIC,
    QUEUE,
    both,
    driver,
    file,
    findings,
    negotiated,
    network,
    not_logged_in,
    one_subnet,
    path_file,
    reach,
    setting,
    without,
)
from host import Host
from texts import doctor_texts, has_parts

TEXTS = doctor_texts()
#: Not told, but looked for; and those of the table, which test_doctor.py has.
NOT_TOLD = {'devnode "%255[^"]"', "the other side has closed the connection",
            ".../.../...: connected again", "lldp.....chassis....=", "..., wanted: ...",
            "... passed, ... warnings, ... skipped"}
ROUTES = "192.0.2.11 eth1 eth1 - 9000\n192.0.3.10 eth2 eth2 - 9000\n192.0.3.11 eth2 eth2 - 9000"


@pytest.fixture
def host(tool):
    return Host(tool)


def route(line):
    """To the first portal, by the first NIC."""
    return file("fake/routes", f"192.0.2.10 {line}\n{ROUTES}")


def silent(host):
    """No portal answers pings."""
    host.put("fake/ping", "")


def unmeasured(host):
    """No round-trip time is known, of any connection."""
    host.network(tcp="{local} {remote} 0 9000 200000 1 reno")
    for leg in range(2):
        for path in range(2):
            host.put(host.path(leg, path, "connections/0/ping_rtt_us"), "")


def no_answer_of_lldpd(host):
    (host.tool.root / "bin/lldpctl").write_text("#!/bin/sh\nexit 1\n")


def no_interrupts(host):
    shutil.rmtree(host.tool.root / f"{NIC}/device/msi_irqs")


def unreadable(path):
    """For root, too."""
    return lambda host: (host.tool.root / path).mkdir()


def unbound(host):
    """The second path of the first leg has no NIC, and no route is known."""
    host.put(host.config(0, 1, "nic"), "")


def port_of_a_bridge(host):
    both(not_logged_in, reach(110), silent)(host)
    (host.tool.root / "sys/class/net/eth1/master").symlink_to("../br0")
    host.put("sys/class/net/br0/uevent", "DEVTYPE=bridge\nINTERFACE=br0")


def told(tool, code):
    return [text for finding in findings(tool, code) for text in
            (finding["measured"], finding["wanted"], finding["why"], finding["next"])
            if text is not None]


@pytest.mark.parametrize("plant, text", [
    (without("proc/77/comm"), "multipathd does not run"),
    (without("sys/block/istripe0/istripe/state"), "the state cannot be read"),
    *((both(without("etc/systemd/system/multi-user.target.wants/istripe@db.service"), pacemaker),
       "istripe@db.service is not enabled: a cluster manager may bring the volume up")
      for pacemaker in (file("etc/systemd/system/multi-user.target.wants/pacemaker.service", ""),
                        file("proc/88/comm", "pacemakerd"))),
    (without(f"{QUEUE}/scheduler"), "the scheduler cannot be read"),
    (file(f"{QUEUE}/read_ahead_kb", "0"), "read-ahead is off"),
    (file(f"{QUEUE}/write_cache", "write through"),
     'write_cache is "write through": the LUNs have no volatile cache, or somebody has written that'),
    (file("sys/block/istripe0/stat", "10 0 320 0 5 0 160 0 0 1 8"), "there have been 15 requests only"),
    (file("proc/uptime", "4294967.30 1.00"),
     "the kernel's count of the busy time may have begun anew"),
    (file("fake/clock", "-1"), "the state of the clock cannot be read: Operation not permitted"),
    (both(CLOSED, without("dev/kmsg")), "the kernel's log cannot be read: No such file or directory"),
    (file("sys/devices/system/cpu/online", "0"), "the host has one processor"),
    (no_interrupts, "its interrupts are not known"),
    (file("fake/addresses", "error 5"), "the addresses of this host cannot be read: Input/output error"),
    (both(file("fake/addresses", "error 5"), setting("source_address", "192.0.2.1")),
     "the addresses of this host cannot be read: Input/output error"),
    (both(one_subnet(), without("proc/sys/net/ipv4/conf/eth1/arp_ignore")),
     "arp_ignore or arp_announce cannot be read"),
    (both(network("{local} {remote} 150 0 200000 1 cubic", 0), silent),
     "the MTU of the path is not known"),
    (both(negotiated("HeaderDigest", "CRC32C"), setting("header_digest", "CRC32C"),
          without("proc/crypto")), "HeaderDigest is on; how CRC32C is computed is not known"),
    # On ARM that driver has the instruction, too.
    (both(negotiated("HeaderDigest", "CRC32C"), setting("header_digest", "CRC32C"),
          file("proc/crypto", "name : crc32c\ndriver : crc32c-generic"),
          file("proc/cpuinfo", "Features\t: fp asimd crc32")),
     "HeaderDigest is on; how CRC32C is computed is not known"),
    (both(not_logged_in, reach(24)), "it cannot be tried: Too many open files"),
    (no_answer_of_lldpd, "lldpctl does not answer: lldpd does not run"),
    (unmeasured, "its round-trip time is not known"),
    (unmeasured, "reno, and the round-trip time is not known"),
    (both(unmeasured, file("proc/sys/net/ipv4/tcp_slow_start_after_idle", "1")),
     "tcp_slow_start_after_idle is 1, and no round-trip time is known"),
    (both(path_file("fenced_through", ""), path_file("unproven", "")), "no proof has been made yet"),
    (both(without("etc/crypttab"), unreadable("etc/crypttab")),
     "/etc/crypttab cannot be read: Is a directory"),
    (without("etc/crypttab"), "no line of /etc/crypttab is known to be on the disk"),
])
def test_what_is_skipped(host, plant, text):
    plant(host)
    assert any(one.endswith(text) for one in told(host.tool, 0))


@pytest.mark.parametrize("plant, text", [
    (file(f"{QUEUE}/wbt_lat_usec", "2000"),
     "the kernel throttles buffered writes and discards for all legs together as for one disk"),
    (driver(off=("tx-scatter-gather",)), "data are copied before they are sent"),
    (negotiated("FirstBurstLength", "8192"), "writes that could be sent at once wait for a round trip"),
    (negotiated("MaxRecvDataSegmentLength", "8192"), "data are received in small PDUs"),
    (both(not_logged_in, reach(110), silent), "the target is off, or packets are dropped on the way"),
    (both(not_logged_in, reach(110), silent), "ping -c 3 -I eth1 192.0.2.10"),
    (both(not_logged_in, reach(110), silent, route("eth1 eth1 - assumed")),
     "the kernel looks for the portal on the link itself, and finds nobody"),
    (both(not_logged_in, route("eth1 eth1 192.0.3.1 assumed"),
          file("fake/addresses", "eth2 192.0.3.1 24")),
     "the NIC has no address, and that of another NIC is not used"),
    (both(not_logged_in, setting("portal", "[fd00::10]:3260"),
          file("fake/routes", "fd00::10 eth1 eth1 fd00:1::1 9000"),
          file("fake/addresses", "eth1 fe80::1 64\neth2 fd00:1::1 64")),
     "source address fd00:1::1 is of another NIC"),
    (both(not_logged_in, setting("portal", "[fd00::10]:3260"),
          file("fake/routes", "fd00::10 eth1 eth1 fd00:1::1 9000"),
          file("fake/addresses", "eth1 fd00::1 64\neth2 fd00:1::1 64")),
     "ip addr show dev eth1; then set the path's source_address"),
    (both(not_logged_in, setting("portal", "[fd00::10]:3260"),
          file("fake/routes", "fd00::10 eth1 eth1 fd00:1::1 9000"),
          file("fake/addresses", "eth1 fe80::1 64\neth2 fd00:1::1 64")),
     "its NIC has no address to come from"),
    (unbound, "path 1: its NIC is not known"),
    (port_of_a_bridge, "what the port receives goes to br0, and the path hears nothing"),
    (port_of_a_bridge, "what its NIC receives goes to br0"),
    (both(route("eth1 error 101"), file("fake/addresses", "eth2 192.0.3.1 24")),
     "ip addr add ADDRESS/PREFIX dev eth1"),
    (both(setting("source_address", "192.0.2.7"), route("eth1 error 22"),
          file("fake/addresses", "eth2 192.0.3.1 24")), "ip addr add 192.0.2.7/PREFIX dev eth1"),
])
def test_what_is_warned_of(host, plant, text):
    plant(host)
    assert text in told(host.tool, 1)


def test_a_leg_of_one_path(tool):
    """The only path changes while the volume is down."""
    host = Host(tool, paths=1)
    host.put(host.config(0, 0, "source_address"), "192.0.3.1")
    host.put("fake/addresses", "eth1 192.0.2.1 24\neth2 192.0.3.1 24")
    assert ("istripectl down db && istripectl set db --leg 0 --path 0 nic=eth1,source= && "
            "istripectl up db") in told(tool, 1)


def test_packets_lost_by_a_path_without_a_nic(host):
    unbound(host)
    host.put("fake/tcp", "192.0.3.1:40000 192.0.3.10:3260 150 9000 200000 900 cubic")
    assert "nstat -a TcpRetransSegs" in told(host.tool, 1)
    host.put("fake/tcp", "192.0.3.1:40000 192.0.3.10:3260 150 9000 200000 1 cubic 200000 9000")
    assert "nstat -a TcpExtTCPOFOQueue" in told(host.tool, 1)


@pytest.mark.last
@pytest.mark.skipif(os.geteuid() != 0, reason="tests that are for root are not run")
def test_every_text_of_doctor_is_told(seen):
    """By the other tests of this folder."""
    _, found = seen
    assert len(TEXTS) > 300 and NOT_TOLD <= set(TEXTS)
    assert [text for text, parts in TEXTS.items() if text not in NOT_TOLD and
            not any(has_parts(one, parts) for one in found)] == []
