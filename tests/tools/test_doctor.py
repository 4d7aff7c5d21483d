# SPDX-License-Identifier: GPL-2.0
"""istripectl doctor: each fault of a host is found, named and mended; a good host has none."""

import contextlib
import json
import re
import socket
import subprocess

import pytest
from conftest import TOP
from faults import (
    CLOSED,
    IDLE,
    NIC,
    QUEUE,
    bond,
    both,
    chap,
    connected_again,
    driver,
    file,
    findings,
    iscsi_session,
    link,
    negotiated,
    network,
    nic_routes,
    not_logged_in,
    one_path,
    one_subnet,
    other_volume,
    path_file,
    reach,
    record,
    routed,
    rtt,
    session_disk,
    setting,
    slow,
    slow_commands,
    unit_is_gone,
    vlan_in_reach,
    vlans,
    volume_setting,
    vrf,
    without,
)
from host import Host
from texts import shell_words

TEXT = {"volume": (str, type(None)), "check": str, "result": str, "subject": (str, type(None)),
        "unit": (str, type(None)), "why": str, "next": (str, type(None))}

DKMS = "usr/src/istripe-0.1.0/dkms.conf"


@pytest.fixture
def host(tool):
    return Host(tool)


def warnings(tool):
    """Of a host that has a fault."""
    return findings(tool, 1, "warn")


def checks_of(found):
    return {finding["check"] for finding in found}


def names(tool):
    return [line.split()[0] for line in tool.run("doctor", "--list")[0].splitlines()]


# What the output is

def test_good_host(host):
    """All pass, but what this host does not have; nothing is a false alarm."""
    found = findings(host.tool)
    assert sorted(checks_of(found)) == sorted(names(host.tool))
    assert {finding["check"]: finding["why"] for finding in found
            if finding["result"] == "skip"} == {
        "arp": "no two NICs of the volumes are in one subnet",
        "rp-filter": "answers come in by the NICs that routes lead to",
    }


def test_good_host_in_words(host):
    out, _ = host.tool.run("doctor")
    lines = out.splitlines()
    assert lines[0].split() == ["NAME", "CHECK", "RESULT", "WHAT"]
    assert re.search(r"^db +path-mtu +pass +packets of the NIC's MTU reach the portal$", out, re.MULTILINE)
    assert re.search(r"^\(host\) +arp +skip +no two NICs", out, re.MULTILINE)
    assert lines[-1] == f"{len(names(host.tool)) - 2} passed, 0 warnings, 2 skipped"


def test_warning_in_words(host):
    host.put("sys/class/net/eth2/duplex", "half")
    out, _ = host.tool.run("doctor", "db", code=1)
    where = out.index("duplex")
    assert re.match(r"duplex +warn +eth2: half, wanted: full\n"
                    r" +why: reads and writes wait for each other, and collide\n"
                    r" +next: ethtool -s eth2 autoneg on\n", out[where:])
    assert ", 1 warnings, " in out


def test_types(host):
    host.put("proc/sys/net/ipv4/tcp_sack", "0")
    host.put("sys/class/net/eth2/duplex", "half")
    for finding in findings(host.tool, 1):
        assert set(finding) == {*TEXT, "measured", "wanted"}
        for name, kind in TEXT.items():
            assert isinstance(finding[name], kind), (name, finding)
        warned = finding["result"] == "warn"
        kind = (int if finding["unit"] else str) if warned else type(None)
        assert isinstance(finding["measured"], kind) and isinstance(finding["wanted"], kind)
        assert bool(finding["next"]) == warned


def test_named_volumes_only(host):
    host.tool.run("create", "log", "--no-up", "--leg", "target=iqn.2026-01.a:t9,portal=192.0.9.9")
    assert {finding["volume"] for finding in findings(host.tool, 0, None, "db")} == {"db", None}
    assert {finding["volume"] for finding in findings(host.tool, 1)} == {"db", "log", None}


def test_volume_of_which_there_is_only_a_file(host):
    host.tool.put("etc/istripe/log.conf", "[leg 0]\ntarget = iqn.2026-01.a:t9\nportal = 192.0.9.9")
    found, = [finding for finding in findings(host.tool, 1, "warn")]
    assert [found[name] for name in ("volume", "check", "measured", "wanted", "next")] == [
        "log", "state", "not configured", "configured as in /etc/istripe/log.conf",
        "istripectl up log"]
    assert not findings(host.tool, 0, "warn", "db")


def test_volume_that_another_host_of_the_cluster_may_have(host):
    """To bring it up here, too, would be fatal."""
    both(PACEMAKER, file(CIB, AGENT.replace('"db"', '"log"')))(host)
    host.tool.put("etc/istripe/log.conf", "[leg 0]\ntarget = iqn.2026-01.a:t9\nportal = 192.0.9.9")
    found, = [found for found in findings(host.tool) if found["volume"] == "log"]
    assert (found["check"], found["result"]) == ("state", "skip")
    assert found["why"] == "it is in its file only: a cluster manager may bring it up"
    _, err = host.tool.run("doctor", "log", code=1)
    assert "it is in its file, but not configured: a cluster manager may bring it up\n" in err
    assert "istripectl up" not in err


def test_volume_that_did_not_come_up_in_a_cluster(host):
    both(PACEMAKER, file(CIB, AGENT), WITHOUT_UNIT, SESSION)(host)
    host.tool.run("down", "db")
    host.tool.put("sys/kernel/config/istripe/db/last_error", "leg 0 path 0: no answer")
    assert ("leg 0 path 0: no answer: a cluster manager may bring the volume up" in
            {found["why"] for found in findings(host.tool, 0, "skip") if found["check"] == "state"})


def test_volume_that_did_not_come_up(host):
    host.tool.run("down", "db")
    host.tool.put("sys/kernel/config/istripe/db/last_error", "leg 0 path 0: no answer")
    found, = warnings(host.tool)
    assert [found[name] for name in ("check", "why", "next")] == [
        "state", "leg 0 path 0: no answer", "istripectl up db"]


def test_volume_that_is_down(tool):
    """What only a volume that is up can tell is skipped, and its settings are checked all the same."""
    host = Host(tool)
    tool.run("down", "db")
    host.put("sys/kernel/config/istripe/db/recovery_timeout_ms", "-1")
    found = findings(tool, 1)
    warning, = [f for f in found if f["result"] == "warn"]
    assert warning["check"] == "recovery-timeout" and "hang until this is set" in str(warning)
    assert {"state", "path-state", "negotiated", "scheduler", "tcp-buffers", "multipath"} <= \
        checks_of(f for f in found if f["result"] == "skip")


def test_portals_that_answer_no_ping(host):
    """Then what the kernel knows is what counts."""
    (host.tool.root / "fake/ping").unlink()
    assert not findings(host.tool, 0, "warn")


def test_portals_that_answer_small_pings_only(host):
    """TCP sends as large packets, which arrive."""
    host.ping(1500)
    assert not findings(host.tool, 0, "warn")


def test_no_such_volume(host):
    _, err = host.tool.run("doctor", "no", code=1)
    assert "there is no volume no" in err and "next: istripectl list" in err


@pytest.mark.parametrize("words", [["--nonsense"], ["a/b"], ["--force"]])
def test_wrong_usage(tool, words):
    _, err = tool.run("doctor", *words, code=2)
    assert "usage: istripectl doctor" in err


def test_empty_host(tool):
    """Without a volume, and without any file: no alarm but of what is known."""
    tool.put("fake/clock", "0")
    assert checks_of(findings(tool, 0, "pass")) == {"clock", "initiator-name"}


def test_nothing_can_be_read(tool):
    """A volume that is up on a host that tells nothing: what is not known is no fault."""
    tool.run("create", "db", "--leg", "target=iqn.2026-01.a:t0,portal=192.0.2.10,nic=eth1",
             "--path", "portal=192.0.3.10,nic=eth2")
    for name in ("clock", "tcp", "addresses"):
        tool.put(f"fake/{name}", "0" if name == "clock" else "")
    tool.put("fake/routes", "192.0.2.10 eth1 eth1 192.0.2.1\n192.0.3.10 eth2 eth2 192.0.3.1")
    tool.put("fake/reach", "192.0.2.10 eth1 0\n192.0.3.10 eth2 0")
    for nic in ("eth1", "eth2"):
        (tool.root / "sys/class/net" / nic).mkdir(parents=True)
    assert checks_of(warnings(tool)) == {"conf"}


def test_every_check_is_in_the_manual(tool):
    text = (TOP / "tools/istripectl/istripectl.8").read_text(encoding="utf-8")
    section = text[text.index(".SH CHECKS"):]
    section = section[:section.index("\n.SH ", 1)]
    documented = re.findall(r"^\.TP\n\.B (\S+)$", section, re.MULTILINE)
    assert [name.replace("\\-", "-") for name in documented] == names(tool)


def test_every_check_has_a_fault(tool):
    """Of this file."""
    assert set(names(tool)) == {check for check, *_ in FAULTS}


# Faults: check, what is planted, what is measured, what is wanted, what mends it

SILENT = "the target has been silent for 5000 ms"
CONFIG = "/sys/kernel/config/istripe/db"
FSTAB_OPTIONS = "_netdev,nofail,x-systemd.device-timeout=infinity"
FSTAB = f"/srv xfs {FSTAB_OPTIONS} 0 0"
CIB = "var/lib/pacemaker/cib/cib.xml"
AGENT = ('<primitive class="ocf" provider="istripe" type="istripe"><nvpair id="a" name="name" value="db"/>'
         '</primitive>')
WANTS = "etc/systemd/system/multi-user.target.wants"
PACEMAKER = file(f"{WANTS}/pacemaker.service", "")
FENCES = [f"sys/kernel/config/istripe/db/legs/{leg}/fence" for leg in range(2)]
SESSION = both(*(file(fence, "session") for fence in FENCES))
WITHOUT_UNIT = without(f"{WANTS}/istripe@db.service")
FAULTS = [
    # Volume and paths
    ("state", file("sys/block/istripe0/istripe/state", "waiting"), "waiting", "live",
     "istripectl status db"),
    ("state", both(file("sys/block/istripe0/istripe/state", "waiting"),
                   file("sys/block/istripe0/istripe/legs/0/last_error", "sense 2/04/03")), "waiting",
     "live", "istripectl status db"),
    ("path-state", both(path_file("state", "refused"), path_file("last_error", "wrong secret")),
     "refused", "live", "istripectl rescan db; istripectl status db"),
    ("path-state", both(path_file("state", "backoff"), path_file(
        "last_error", "login: portal is in portal group 3, expected was 1")), "backoff", "live",
     ("istripectl status db # bring the path back; only if its target was switched off or restarted since, "
      "or that portal group was removed: istripectl path confirm db 0 0")),
    ("path-state", both(path_file("state", "backoff"), path_file("unfenced", "1"),
                        path_file("last_error", "no answer")), "backoff", "live",
     ("istripectl status db # bring the path back; only if its target was switched off or restarted since: "
      "istripectl path confirm db 0 0")),
    ("path-state", both(path_file("state", "dead"), path_file("last_error", "the LUN has shrunk")),
     "dead", "live", "istripectl reconnect db 0 0 # once its cause is mended"),
    ("path-state", both(not_logged_in, setting("enable", "0")), "off", "live",
     f"echo 1 > ROOT{CONFIG}/legs/0/paths/0/enable"),
    ("single-path", one_path, 1, 2, "istripectl path add db 0 portal=IP,nic=NIC"),
    ("fence", both(path_file("fenced_through", ""), path_file("unproven", "other portal group")),
     "unproven: other portal group", "a path proven to lead to the same portal group",
     "at the array"),
    ("fence", both(path_file("fenced_through", ""), path_file("unproven", "other portal group"),
                   file("sys/kernel/config/istripe/db/legs/0/fence_timeout_ms", "20000")),
     "fence_timeout_ms 20000, unproven: other portal group",
     "a path proven to lead to the same portal group", "at the array"),
    # Another host writes when the volume has moved.
    *(("fence", both(*plants, PACEMAKER, file(CIB, AGENT), WITHOUT_UNIT),
       "fence auto, and Pacemaker moves the volume", "session",
       f"istripectl set db --leg {leg} fence=session")
      for leg, plants in ((0, ()), (1, (file(FENCES[0], "session"),)))),
    ("timers", setting("ping_timeout_ms", "40000"), 40000, 3000,
     f"echo 3000 > ROOT{CONFIG}/legs/0/paths/0/ping_timeout_ms"),
    ("timers", setting("ping_interval_ms", "28000"), 28000, 13500, "legs/0/paths/0/ping_interval"),
    ("timers", setting("ping_interval_ms", "0"), 0, 2000, "echo 2000 > "),
    ("timers", setting("user_timeout_ms", "4000"), 4000, 5000, "echo 5000 > "),
    ("timers", setting("login_timeout_ms", "120000"), 120000, 30000, "echo 30000 > "),
    ("recovery-timeout", volume_setting("recovery_timeout_ms", "-1"), -1, 120000,
     f"echo 120000 > ROOT{CONFIG}/recovery_timeout_ms"),
    ("recovery-timeout", volume_setting("recovery_timeout_ms", "0"), 0, 120000, "echo 120000 > "),
    ("recovery-timeout", volume_setting("command_timeout_ms", "300000"), 120000, 600000,
     "echo 600000 > "),
    # The session
    ("negotiated", negotiated("ImmediateData", "No"), "ImmediateData=No", "ImmediateData=Yes",
     "targetcli /iscsi/iqn.2026-01.a:t0/tpg1 set parameter ImmediateData=Yes"),
    ("negotiated", negotiated("ImmediateData", "No", "No"), "ImmediateData=No",
     "ImmediateData=Yes", "istripectl down db && echo Yes > "),
    ("negotiated", negotiated("InitialR2T", "Yes"), "InitialR2T=Yes", "InitialR2T=No",
     "parameter InitialR2T=No"),
    ("negotiated", negotiated("MaxOutstandingR2T", "1"), "MaxOutstandingR2T=1",
     "MaxOutstandingR2T=16", "parameter MaxOutstandingR2T=16"),
    ("negotiated", negotiated("MaxBurstLength", "65536"), "MaxBurstLength=65536",
     "MaxBurstLength=1048576", "parameter MaxBurstLength=1048576"),
    ("negotiated", negotiated("MaxXmitDataSegmentLength", "8192"),
     "MaxXmitDataSegmentLength=8192", "MaxXmitDataSegmentLength=262144",
     "parameter MaxRecvDataSegmentLength=262144"),
    ("digests", negotiated("DataDigest", "CRC32C"), "DataDigest=CRC32C",
     "DataDigest=None, as data_digest prefers", "parameter DataDigest=None"),
    ("digests", both(negotiated("HeaderDigest", "CRC32C"), setting("header_digest", "CRC32C,None"),
                     file("proc/crypto", "name : crc32c\ndriver : crc32c-generic"),
                     file("proc/cpuinfo", "flags\t\t: sse4_1 sse4_2 avx")),
     "HeaderDigest=CRC32C by crc32c-generic",
     "CRC32C by the processor's instruction, or None",
     ("echo crc32c-intel > /etc/modules-load.d/crc32c.conf # and boot; or: "
      f"istripectl down db && echo None > ROOT{CONFIG}/legs/0/paths/0/header_digest && istripectl up db")),
    # Routes
    ("route", file("fake/routes", "192.0.2.10 eth1 error 101"),
     "no route: Network is unreachable", "a route to 192.0.2.10 by eth1",
     "ip route add 192.0.2.10 via GATEWAY dev eth1"),
    ("route", setting("source_address", "192.0.3.1"),
     "leaves by eth1, source address 192.0.3.1 is of eth2", "one interface for both",
     "istripectl path add db 0 portal=192.0.2.10:3260,nic=eth1 && istripectl path remove db 0 0"),
    # A secret cannot be read back: what comes first needs it, and nothing else follows.
    ("route", both(chap, setting("source_address", "192.0.3.1")),
     "leaves by eth1, source address 192.0.3.1 is of eth2", "one interface for both",
     ("istripectl path add db 0 portal=192.0.2.10:3260,nic=eth1,chap_secret=@FILE,"
      "chap_mutual_secret=@FILE # then: istripectl path remove db 0 0")),
    ("route", both(setting("source_address", "192.0.2.7"),
                   file("fake/routes", "192.0.2.10 eth1 error 22\n192.0.3.10 eth2 eth2 - 9000\n"
                        "192.0.2.11 eth1 eth1 - 9000\n192.0.3.11 eth2 eth2 - 9000")),
     "no NIC has the source address 192.0.2.7", "a source address of this host",
     "ip addr add 192.0.2.7/24 dev eth1"),
    ("route", both(setting("source_address", "fe80::7%7777"),
                   file("fake/addresses", "eth1 fe80::1 64\neth2 192.0.3.1 24")),
     "no NIC has the source address fe80::7%7777", "a source address of this host",
     "ip addr add fe80::7/64 dev eth1"),
    ("route", file("fake/routes", "192.0.2.10 eth1 error 22\n192.0.3.10 eth2 eth2 - 9000\n"
                   "192.0.2.11 eth1 eth1 - 9000\n192.0.3.11 eth2 eth2 - 9000"),
     "no route: Invalid argument", "a route to 192.0.2.10 by eth1",
     "ip route get 192.0.2.10 oif eth1; ip route show table all match 192.0.2.10"),
    *(("route", both(setting("source_address", "fe80::1%eth1"),
                     file("fake/addresses", f"eth1 fe80::1 64 {state}\neth2 192.0.3.1 24")),
       f"source address fe80::1 of eth1 is {what}", "an address that no other host has", step)
      for state, what, step in (
          ("duplicate", "a duplicate address", "ip addr del fe80::1/64 dev eth1 # and give"),
          ("tentative", "tentative", "sleep 3; ip -6 addr show dev eth1 tentative"))),
    ("portal", both(not_logged_in, reach(111)), "192.0.2.10:3260: Connection refused", "a connection",
     "ss -ltn src 192.0.2.10"),
    ("portal", both(not_logged_in, reach(110)), "192.0.2.10:3260: Connection timed out",
     "a connection", "nft list ruleset"),
    ("portal", both(not_logged_in, reach(113)), "192.0.2.10:3260: No route to host", "a connection",
     "nft list ruleset"),
    ("portal", both(not_logged_in, reach(99)), "192.0.2.10:3260: Cannot assign requested address",
     "a connection", "ip addr show dev eth1"),
    ("portal", both(not_logged_in, reach(113), lambda host: host.put("fake/ping", "")),
     "192.0.2.10:3260: No route to host", "a connection", "ip neigh show 192.0.2.10 dev eth1"),
    ("path-mtu", network("{local} {remote} 150 9000 200000 1 cubic", 1500), 1500, 9000,
     "ping -M do -c 3 -s 8972 -I eth1 192.0.2.10"),
    ("path-mtu", network("{local} {remote} 150 1400 200000 1 cubic"), 1400, 9000, "-s 8972"),
    ("path-mtu", both(IDLE, lambda host: host.ping(1500)), 1500, 9000, "-s 8972"),
    ("path-mtu", both(IDLE, lambda host: host.ping(1480)), 1450, 9000,
     "ip link set dev eth1 mtu 1450 # the link goes down for a moment; or raise it"),
    ("path-mtu", both(IDLE, lambda host: host.ping(500)), 64, 9000, "ping -M do -c 3 -s 8972"),
    ("mtu-equal", file("sys/class/net/eth2/mtu", "1500"), "MTU eth1 9000, eth2 1500", "one MTU",
     ("ip link set dev eth1 mtu 1500 # the link goes down for a moment; or, where switches and target take it: "
      "ip link set dev eth2 mtu 9000")),
    ("speed-equal", file("sys/class/net/eth2/speed", "1000"),
     "eth1 10000, eth2 1000 Mbit/s, policy interleave, equal weights",
     "equal speeds, or policy interleave with weights",
     f"echo 10 > ROOT{CONFIG}/legs/0/paths/0/weight"),
    ("speed-equal", both(file("sys/class/net/eth2/speed", "1000"), setting("weight", "10"),
                         file("sys/kernel/config/istripe/db/legs/0/policy", "round-robin")),
     "eth1 10000, eth2 1000 Mbit/s, policy round-robin",
     "equal speeds, or policy interleave with weights",
     f"echo interleave > ROOT{CONFIG}/legs/0/policy"),
    ("speed-equal", both(file("sys/class/net/eth2/speed", "1000"),
                         file("sys/kernel/config/istripe/db/legs/0/policy", "weighted")),
     "eth1 10000, eth2 1000 Mbit/s, policy weighted, equal weights",
     "equal speeds, or policy weighted with weights",
     f"echo 10 > ROOT{CONFIG}/legs/0/paths/0/weight"),
    ("shared-nic", vlans("eth1", "eth2"), "paths 0 and 1 use p1 (eth1 and eth2)", "a port for each path",
     "ip -br link # connect a port to the network of 192.0.3.10:3260"),
    # A VLAN of the same port is none beside it.
    ("shared-nic", both(vlans("eth1", "eth2"), vlan_in_reach), "paths 0 and 1 use p1 (eth1 and eth2)",
     "a port for each path", "ip -br link # connect a port"),
    ("shared-nic", both(setting("nic", "", 0, 1), nic_routes("-", "eth1")),
     "paths 0 and 1 use eth1 (eth1 and eth1)", "a port for each path",
     "istripectl path add db 0 portal=192.0.3.10:3260,nic=eth2 && istripectl path remove db 0 1"),
    # A target for each controller.
    ("shared-nic", both(setting("nic", "", 0, 1), setting("target_name", "iqn.2026-01.com.example:b", 0, 1),
                        nic_routes("-", "eth1")),
     "paths 0 and 1 use eth1 (eth1 and eth1)", "a port for each path",
     ("istripectl path add db 0 portal=192.0.3.10:3260,nic=eth2,"
      "target_name=iqn.2026-01.com.example:b && istripectl path remove db 0 1")),
    ("shared-switch", lambda host: host.switches(eth1="00:53:00:00:00:01",
                                                 eth2="00:53:00:00:00:01"),
     "eth1 eth2 lead to one switch, sw-1 00:53:00:00:00:01", "two switches",
     "connect eth2 to another switch, and see: lldpctl"),
    # The network says what it likes.
    ("shared-switch", lambda host: host.switches(eth1="a\x1b[2J1", eth2="a\x1b[2J1"),
     "eth1 eth2 lead to one switch, sw-1 a?[2J1", "two switches",
     "connect eth2 to another switch, and see: lldpctl"),
    ("slow-path", slow_commands("0/paths/1", "read", {5: 1000}), "reads take 5.00 ms",
     "1.33 ms or less, since path 0 takes 0.33 ms", "istripectl top db; then look at its NIC"),
    ("slow-path", slow_commands("1/paths/0", "write", {1.34: 1000}), "writes take 1.34 ms",
     "1.33 ms or less, since path 1 takes 0.33 ms", "switch port and target port"),
    # Most of them take long: they have not waited for a lost path.
    ("slow-path", slow_commands("0/paths/0", "write", {2000: 1000, 1: 900}),
     "writes take 1053.11 ms", "1.33 ms or less, since path 1 takes 0.33 ms", "istripectl top db"),
    # Some have waited for one, the others are slow all the same.
    ("slow-path", slow_commands("0/paths/0", "read", {20000: 300, 8: 1000}),
     "reads take 6.29 ms", "1.33 ms or less, since path 1 takes 0.33 ms", "istripectl top db"),
    ("slow-leg", slow_commands("1", "read", {12.5: 100000}), "reads take 12.50 ms",
     "1.33 ms or less, since leg 0 takes 0.33 ms", "istripectl top db; then look at its target"),
    ("slow-leg", both(slow_commands("0", "write", {10: 1000}), slow_commands("1", "write", {31: 1000})),
     "writes take 31.00 ms", "30.00 ms or less, since leg 0 takes 10.00 ms", "write cache"),
    ("arp", one_subnet(arp_ignore=0), "arp_ignore 0", "arp_ignore 1",
     "sysctl -w net/ipv4/conf/eth1/arp_ignore=1"),
    ("arp", one_subnet(arp_announce=0), "arp_announce 0", "arp_announce 2",
     "sysctl -w net/ipv4/conf/eth1/arp_announce=2"),
    ("rp-filter", one_subnet(rp_filter=1), "rp_filter 1", "rp_filter 2",
     "sysctl -w net/ipv4/conf/eth1/rp_filter=2"),
    ("rp-filter", routed(1), "rp_filter 1", "rp_filter 2",
     "sysctl -w net/ipv4/conf/eth2/rp_filter=2"),
    # NICs
    ("link", both(file(f"{NIC}/operstate", "down"),
                  lambda host: (host.tool.root / NIC / "carrier").unlink()), "state down", "state up",
     "ip link set dev eth1 up"),
    ("link", both(file(f"{NIC}/operstate", "down"), file(f"{NIC}/carrier", "0")),
     "state down, no carrier", "state up", "ethtool eth1"),
    ("link", both(setting("nic", "eth9", 0, 1), nic_routes("eth9")), "there is no such interface", "an interface of this host",
     "ip link"),
    ("duplex", file(f"{NIC}/duplex", "half"), "half", "full", "ethtool -s eth1 autoneg on"),
    ("link-errors", file(f"{NIC}/statistics/rx_crc_errors", "90"), 90, 5, "ethtool -S eth1"),
    ("link-errors", file(f"{NIC}/statistics/rx_missed_errors", "9000"), 9000, 50,
     "ethtool -G eth1 rx"),
    ("pause", driver(pause="0 0"), "rx off, tx off", "rx on, tx on",
     "ethtool -A eth1 rx on tx on"),
    ("rings", driver(rings="256 4096 4096 4096"), 256, 4096, "ethtool -G eth1 rx 4096"),
    ("rings", driver(rings="2048 4096 512 2048"), 512, 2048, "ethtool -G eth1 tx 2048"),
    ("offloads", driver(off=("tx-tcp-segmentation",)), "tx-tcp-segmentation off",
     "tx-tcp-segmentation on", "ethtool -K eth1 tso on"),
    ("offloads", driver(off=("rx-gro",)), "rx-gro off", "rx-gro on", "ethtool -K eth1 gro on"),
    ("offloads", driver(off=("tx-checksum-ip-generic",)), "tx-checksum-ip-generic off",
     "tx-checksum-ip-generic on", "ethtool -K eth1 tx on"),
    ("interrupts", file("proc/irq/31/effective_affinity_list", "0"), 1, 2,
     "apt install irqbalance"),
    ("interrupts", both(file("proc/irq/31/effective_affinity_list", "0"), file("usr/bin/rpm", "")), 1, 2,
     "dnf install irqbalance"),
    # TCP
    ("tcp-buffers", rtt(20000), 6291456, 75497472,
     'sysctl -w net.ipv4.tcp_rmem="4096 131072 75497472"'),
    ("tcp-buffers", both(rtt(4000), file("proc/sys/net/ipv4/tcp_rmem", "4096 131072 67108864")),
     4194304, 10485760, 'sysctl -w net.ipv4.tcp_wmem="4096 16384 10485760"'),
    ("tcp-buffers", both(rtt(2000), setting("send_buffer_bytes", "65536")), 65536, 5242880,
     "echo 5242880 > "),
    ("congestion", both(rtt(6000, "reno"), slow), "reno", "cubic, or bbr", "echo cubic > "),
    ("congestion", both(rtt(6000, "dctcp"), slow), "dctcp", "cubic, or bbr", "echo cubic > "),
    # However short the round trip is.
    ("congestion", rtt(100, "dctcp-reno"), "dctcp-reno", "cubic, or bbr", "congestion_control"),
    ("tcp-loss", network("{local} {remote} 150 9000 200000 900 cubic"), 900 * 8948, 200 * 8948,
     "ethtool -S eth1"),
    ("tcp-loss", network("{local} {remote} 150 9000 5000000000 9000000 cubic"), 9000000 * 8948,
     5000000 * 8948, "ethtool -S eth1"),
    # A segment that is lost on the way to this host: those behind it come out of order.
    ("tcp-loss", network("{local} {remote} 150 9000 200000 1 cubic 300000 2000"), 2000 * 8948,
     1500 * 8948, "ethtool -S eth1 # then the counters of the switch port and of the target"),
    # It hardly sends.
    ("tcp-loss", network("{local} {remote} 150 9000 500 1 cubic 5000000000 30000000"),
     30000000 * 8948, 25000000 * 8948, "ethtool -S eth1 # then"),
    ("slow-start", both(rtt(1500), file("proc/sys/net/ipv4/tcp_slow_start_after_idle", "1")), 1, 0,
     "sysctl -w net.ipv4.tcp_slow_start_after_idle=0"),
    ("tcp-options", file("proc/sys/net/ipv4/tcp_sack", "0"), 0, 1, "sysctl -w net.ipv4.tcp_sack=1"),
    ("tcp-options", file("proc/sys/net/ipv4/tcp_timestamps", "0"), 0, 1, "tcp_timestamps=1"),
    ("tcp-options", file("proc/sys/net/ipv4/tcp_window_scaling", "0"), 0, 1,
     "tcp_window_scaling=1"),
    ("tcp-memory", file("proc/net/sockstat", "TCP: inuse 5 orphan 0 tw 0 alloc 7 mem 250000"),
     250000, 249999, 'sysctl -w net.ipv4.tcp_mem="500000 750000 1000000"'),
    ("tcp-pressure", file("proc/net/netstat", "TcpExt: A TCPMemoryPressures\nTcpExt: 1 12"), 12, 0,
     "sysctl net.ipv4.tcp_mem"),
    # The host
    ("governor", file("sys/devices/system/cpu/cpufreq/policy2/scaling_governor", "powersave"),
     "powersave on 1 of 4", "performance", "cpupower frequency-set -g performance"),
    ("clock", file("fake/clock", "64"), "not synchronised", "synchronised",
     "apt install chrony && systemctl enable --now chrony"),
    # A Debian may have rpm, too.
    ("clock", both(file("fake/clock", "64"), file("usr/bin/dpkg", ""), file("usr/bin/rpm", "")),
     "not synchronised", "synchronised", "apt install chrony"),
    ("clock", both(file("fake/clock", "64"), file("usr/bin/rpm", "")), "not synchronised", "synchronised",
     "dnf install chrony && systemctl enable --now chronyd"),
    # The disk
    ("scheduler", file(f"{QUEUE}/scheduler", "none [mq-deadline] bfq"), "mq-deadline", "none",
     "echo none > /sys/block/istripe0/queue/scheduler"),
    ("read-ahead", file(f"{QUEUE}/read_ahead_kb", "64"), 65536, 262144,
     "echo 256 > /sys/block/istripe0/queue/read_ahead_kb"),
    ("max-sectors", file(f"{QUEUE}/max_sectors_kb", "64"), 65536, 131072,
     "echo 128 > /sys/block/istripe0/queue/max_sectors_kb"),
    ("max-sectors", both(file(f"{QUEUE}/max_sectors_kb", "1280"),
                         file(f"{QUEUE}/max_hw_sectors_kb", "131072"),
                         file(f"{QUEUE}/read_ahead_kb", "4096"),
                         volume_setting("chunk_bytes", "1048576")), 1310720, 2097152,
     "echo 2048 > /sys/block/istripe0/queue/max_sectors_kb"),
    ("max-sectors", both(file(f"{QUEUE}/max_sectors_kb", "64"),
                         file(f"{QUEUE}/max_hw_sectors_kb", "96")),
     65536, 98304, "echo 96 > /sys/block/istripe0/queue/max_sectors_kb"),
    ("chunk", file("sys/block/istripe0/stat", "900000 0 57600000 0 100000 0 6400000 0 0 400000 999"),
     65536, 16384, "istripectl create NEW --chunk 16K"),
    ("write-cache", both(file(f"{QUEUE}/write_cache", "write through"), file(f"{QUEUE}/fua", "1")),
     "write through", "write back", "echo write back > /sys/block/istripe0/queue/write_cache"),
    ("throttling", file(f"{QUEUE}/wbt_lat_usec", "2000"), 2000, 0,
     "echo 0 > /sys/block/istripe0/queue/wbt_lat_usec"),
    # Names and other initiators
    ("initiator-name", file("etc/iscsi/initiatorname.iscsi",
                            "InitiatorName=iqn.2004-01.com.example:host"),
     "iqn.2004-01.com.example:host", "a name that no other host has",
     ("N=$(iscsi-iname) && echo $N # have the targets admit it; then: echo InitiatorName=$N > "
      "/etc/iscsi/initiatorname.iscsi")),
    ("initiator-name", volume_setting("initiator_name", "iqn.2004-01.com.example:host"),
     "iqn.2004-01.com.example:host", "a name that no other host has",
     ("N=$(iscsi-iname) && echo $N # have the targets admit it; then: istripectl down db && "
      "istripectl set db initiator_name=$N && istripectl up db")),
    ("initiator-name", file("etc/iscsi/initiatorname.iscsi",
                            "InitiatorName=iqn.1993-08.org.debian:01:"),
     "iqn.1993-08.org.debian:01:", "a name that no other host has", "iscsi-iname"),
    ("session-twice", other_volume,
     "ISID 800000000100, which volume log has, too", "an ISID of its own",
     f"echo > ROOT{CONFIG}/legs/1/paths/0/isid"),
    ("second-host", both(path_file("last_error", "login: the other side has closed the connection"),
                         connected_again(5)), "5 sessions ended in 10 minutes", "sessions that last",
     ("on other hosts: grep -rs iqn.2026-01.a:host /etc/iscsi /etc/istripe && istripectl down db; "
      "here: arping -D -I eth1 192.0.2.1")),
    ("second-host", both(path_file("last_error", SILENT), connected_again(5)),
     f"lost 5 times in 10 minutes: {SILENT}", "sessions that last",
     "dmesg | grep 'istripe: db/0/0:'; ethtool -S eth1"),
    ("open-iscsi-session", iscsi_session, "logged in to iqn.2026-01.a:t1 as iqn.2026-01.a:host",
     "no such session", ("iscsiadm -m session -P 3 # what it carries; then, if nothing needs that: "
                         "iscsiadm -m node -T iqn.2026-01.a:t1 -u")),
    # Another LUN of the target is mounted, or a process has a partition open.
    ("open-iscsi-session", both(iscsi_session, session_disk("sda"), session_disk("sdb", 2),
                                file("sys/block/sdb/dev", "8:16"),
                                file("proc/self/mountinfo", "36 35 8:16 / /home rw - xfs /dev/sdb rw")),
     "logged in to iqn.2026-01.a:t1 as iqn.2026-01.a:host; /dev/sdb is mounted at /home",
     "no such session", "iscsiadm -m session -P 3 # and end that use, as umount does, before"),
    ("open-iscsi-session", both(iscsi_session, session_disk(), file("proc/4711/comm", "mysqld"),
                                link("proc/4711/fd/3", "/dev/sdb1")),
     ("logged in to iqn.2026-01.a:t1 as iqn.2026-01.a:host; "
      "/dev/sdb is open in process 4711 (mysqld)"), "no such session", "iscsiadm -m session -P 3"),
    ("open-iscsi-record", record("etc/iscsi/nodes"), "node.startup = automatic",
     "node.startup = manual",
     "iscsiadm -m node -T iqn.2026-01.a:t0 -p 192.0.2.10:3260 -o update -n node.startup -v manual"),
    ("open-iscsi-record", record("var/lib/iscsi/nodes", "onboot"), "node.startup = onboot",
     "node.startup = manual", "iscsiadm"),
    ("open-iscsi-record",
     record("var/lib/iscsi/nodes", "manual\nnode.conn[0].startup = automatic"),
     "node.conn[0].startup = automatic", "node.conn[0].startup = manual",
     "-p 192.0.2.10:3260 -o update -n 'node.conn[0].startup' -v manual"),
    ("open-iscsi-record", file("etc/iscsi/nodes/iqn.2026-01.a:t0/2001:db8::1,3261,1/default",
                               "node.startup = automatic"),
     "node.startup = automatic", "node.startup = manual",
     "-p '[2001:db8::1]:3261' -o update -n node.startup -v manual"),
    ("open-iscsi-record", file("etc/iscsi/send_targets/192.0.3.10,3260/st_config",
                               "discovery.sendtargets.use_discoveryd = Yes"),
     "discovery.sendtargets.use_discoveryd = Yes", "discovery.sendtargets.use_discoveryd = No",
     ("iscsiadm -m discoverydb -t st -p 192.0.3.10:3260 -o update "
      "-n discovery.sendtargets.use_discoveryd -v No && systemctl restart iscsid")),
    # The next boot
    ("conf", without("etc/istripe/db.conf"), "no /etc/istripe/db.conf", "a configuration file",
     "istripectl save db"),
    ("unit", without("etc/systemd/system/multi-user.target.wants/istripe@db.service"),
     "istripe@db.service is not enabled", "enabled",
     "systemctl enable --now istripe@db.service"),
    ("unit", unit_is_gone, "istripe@db.service is not enabled", "enabled",
     "systemctl enable --now istripe@db.service"),
    # A host that was fenced would bring it up beside the one that has taken it over.
    *(("unit", both(has, SESSION, file(CIB, cib)),
       "istripe@db.service is enabled, and Pacemaker has the volume, too",
       "a unit that is not enabled", "systemctl disable istripe@db.service")
      for has, cib in (
          (PACEMAKER, AGENT), (PACEMAKER, AGENT.replace("<primitive", "<template") +
                               AGENT.replace('provider="istripe"', 'template="t"')),
          (PACEMAKER, '<primitive class="systemd" type="istripe@db"/>'),
          (file("etc/systemd/system/multi-user.target.wants/pacemaker_remote.service", ""),
           '<primitive class="systemd" type="istripe@db.service"/>'),
          (file("proc/88/comm", "pacemakerd"), AGENT))),
    ("unit", both(PACEMAKER, file("boot/vmlinuz-6.12.0-2", ""),
                  without("etc/systemd/system/multi-user.target.wants/istripe@db.service"),
                  file("lib/modules/6.12.0-2/modules.dep", "kernel/a.ko: kernel/b.ko")),
     "Linux 6.12.0-2 has no module istripe", "the module for each kernel that is installed",
     "make install KDIR=/lib/modules/6.12.0-2/build"),
    ("unit", both(file("boot/vmlinuz-6.1.0-9", ""), file("boot/vmlinuz-6.12.0-2", ""),
                  file("lib/modules/6.1.0-9/modules.dep", "updates/dkms/istripe.ko.xz: kernel/a.ko"),
                  file("lib/modules/6.12.0-2/modules.dep", "kernel/a.ko: kernel/b.ko"),
                  # Its package is removed, its modules are left.
                  file("lib/modules/6.11.0-1/modules.dep", "kernel/a.ko: kernel/b.ko"),
                  # Left of another package, without sources.
                  file("etc/dkms/istripe.conf", "BUILD_EXCLUSIVE_KERNEL=9"),
                  file("usr/src/istripe-0.2.0/README", "")),
     "Linux 6.12.0-2 has no module istripe", "the module for each kernel that is installed",
     "make install KDIR=/lib/modules/6.12.0-2/build"),
    ("unit", both(file("boot/vmlinuz-6.12.0-2", ""),
                  file("lib/modules/6.12.0-2/modules.dep", "kernel/a.ko: kernel/b.ko"),
                  file("usr/src/akmods/istripe-kmod-0.1.0-1.src.rpm", "")),
     "Linux 6.12.0-2 has no module istripe", "the module for each kernel that is installed",
     "akmods --kernels 6.12.0-2"),
    # Nothing builds without headers, which have a package of their own.
    ("unit", both(file("boot/vmlinuz-6.12.0-2", ""), file("usr/bin/dpkg", ""),
                  file("lib/modules/6.12.0-2/modules.dep", "kernel/a.ko: kernel/b.ko"),
                  link("lib/modules/6.12.0-2/build", "/usr/src/linux-headers-6.12.0-2"),
                  file(DKMS, "MAKE[0]=make")),
     "Linux 6.12.0-2 has no module istripe", "the module for each kernel that is installed",
     "apt install linux-headers-6.12.0-2 && dkms autoinstall -k 6.12.0-2"),
    ("unit", both(file("boot/vmlinuz-6.12.0-2", ""), file("usr/bin/rpm", ""),
                  file("lib/modules/6.12.0-2/modules.dep", "kernel/a.ko: kernel/b.ko"),
                  file("usr/src/akmods/istripe-kmod-0.1.0-1.src.rpm", "")),
     "Linux 6.12.0-2 has no module istripe", "the module for each kernel that is installed",
     "dnf install kernel-devel-6.12.0-2 && akmods --kernels 6.12.0-2"),
    ("unit", both(file("boot/vmlinuz-6.12.0-2", ""), file("usr/bin/dpkg", ""),
                  file("lib/modules/6.12.0-2/modules.dep", "kernel/a.ko: kernel/b.ko"),
                  file("lib/modules/6.12.0-2/build/Makefile", ""), file(DKMS, "MAKE[0]=make")),
     "Linux 6.12.0-2 has no module istripe", "the module for each kernel that is installed",
     "dkms autoinstall -k 6.12.0-2"),
    # dkms has another version than that of the program.
    ("unit", both(file("boot/vmlinuz-6.12.0-2", ""),
                  file("lib/modules/6.12.0-2/modules.dep", "kernel/a.ko: kernel/b.ko"),
                  file("usr/src/istripe-0.2.0/dkms.conf", "MAKE[0]=make")),
     "Linux 6.12.0-2 has no module istripe", "the module for each kernel that is installed",
     "dkms autoinstall -k 6.12.0-2"),
    ("unit", both(file("boot/vmlinuz-6.12.0-2", ""),
                  file("lib/modules/6.12.0-2/modules.dep", "kernel/a.ko: kernel/b.ko"),
                  file("usr/src/istripe-0.2.0/dkms.conf", "BUILD_EXCLUSIVE_KERNEL=9"),
                  file("etc/dkms/istripe-0.1.0.conf", "BUILD_EXCLUSIVE_KERNEL=6.12")),
     "Linux 6.12.0-2, which istripe does not support", "a kernel that BUILD_EXCLUSIVE_KERNEL allows",
     "grep BUILD_EXCLUSIVE_KERNEL ROOT/usr/src/istripe-0.2.0/dkms.conf"),
    # dkms does not build for it.
    ("unit", both(file("boot/vmlinuz-6.8.0-2", ""),
                  file("lib/modules/6.8.0-2/modules.dep", "kernel/a.ko: kernel/b.ko"),
                  lambda host: host.put(DKMS, (TOP / "dkms.conf").read_text())),
     "Linux 6.8.0-2, which istripe does not support", "a kernel that BUILD_EXCLUSIVE_KERNEL allows",
     f"grep BUILD_EXCLUSIVE_KERNEL ROOT/{DKMS}"),
    # Files of the administrator say otherwise, the more special one last.
    ("unit", both(file("boot/vmlinuz-6.8.0-2", ""),
                  file("lib/modules/6.8.0-2/modules.dep", "kernel/a.ko: kernel/b.ko"),
                  lambda host: host.put(DKMS, (TOP / "dkms.conf").read_text()),
                  file("etc/dkms/istripe.conf", "BUILD_EXCLUSIVE_KERNEL='^6\\.8\\.'")),
     "Linux 6.8.0-2 has no module istripe", "the module for each kernel that is installed",
     "dkms autoinstall -k 6.8.0-2"),
    ("unit", both(file("boot/vmlinuz-6.12.0-2", ""),
                  file("lib/modules/6.12.0-2/modules.dep", "kernel/a.ko: kernel/b.ko"),
                  file(DKMS, "MAKE[0]=make"),
                  file("etc/dkms/istripe.conf", "MAKE[0]=make"),
                  file("etc/dkms/istripe-0.1.0.conf", "BUILD_EXCLUSIVE_KERNEL=6.12"),
                  file("etc/dkms/istripe-0.1.0-6.12.0-2.conf", 'BUILD_EXCLUSIVE_KERNEL="^9"')),
     "Linux 6.12.0-2, which istripe does not support", "a kernel that BUILD_EXCLUSIVE_KERNEL allows",
     "grep BUILD_EXCLUSIVE_KERNEL ROOT/etc/dkms/istripe-0.1.0-6.12.0-2.conf"),
    ("unit", both(file("boot/vmlinuz-6.12.0-2", ""),
                  file("lib/modules/6.12.0-2/modules.dep", "kernel/a.ko: kernel/b.ko"),
                  lambda host: host.put(DKMS, (TOP / "dkms.conf").read_text())),
     "Linux 6.12.0-2 has no module istripe", "the module for each kernel that is installed",
     "dkms autoinstall -k 6.12.0-2"),
    ("secret-modes", lambda host: (host.tool.root / "etc/istripe/db.secret").chmod(0o644),
     "mode 0644", "mode 0600", "chmod 600 ROOT/etc/istripe/db.secret"),
    ("secret-modes", without("etc/istripe/db.secret"), "it is not there",
     "the secret, which a configuration file takes from there",
     "install -m 600 /dev/stdin ROOT/etc/istripe/db.secret # and type it"),
    ("secret-modes", file("etc/istripe/old.conf", "chap_secret = @secrets/a"), "it is not there",
     "the secret, which a configuration file takes from there",
     "install -m 600 /dev/stdin ROOT/etc/istripe/secrets/a # and type it"),
    ("fstab", file("etc/fstab", "/dev/istripe/db /srv xfs noatime 0 0"), "options noatime",
     f"options {FSTAB_OPTIONS}", "${EDITOR:-vi} /etc/fstab"),
    ("fstab", file("etc/fstab", "/dev/istripe/db none swap sw,_netdev,nofail 0 0"),
     "options sw,_netdev,nofail", "option noauto, and swapon when the volume is up",
     "${EDITOR:-vi} /etc/fstab"),
    ("fstab", file("etc/fstab", "/dev/istripe/db /srv xfs _netdev,nofail 0 0"),
     "options _netdev,nofail", f"options {FSTAB_OPTIONS}", "${EDITOR:-vi} /etc/fstab"),
    ("fstab", both(file("etc/fstab", "UUID=ab-cd /srv xfs defaults 0 0"),
                   link("dev/disk/by-uuid/ab-cd", "../../istripe0")),
     "options defaults", f"options {FSTAB_OPTIONS}", "${EDITOR:-vi} /etc/fstab"),
    # A logical volume on LUKS on a partition.
    ("fstab", both(file("etc/fstab", "/dev/vg/lv /srv xfs defaults 0 0"),
                   file("dev/dm-3", ""), link("dev/vg/lv", "../dm-3"),
                   file("sys/block/dm-3/slaves/dm-2/dev", "253:2"),
                   file("sys/block/dm-2/slaves/istripe0p1/dev", "259:1")),
     "options defaults", f"options {FSTAB_OPTIONS}", "${EDITOR:-vi} /etc/fstab"),
    ("fstab", both(file("etc/fstab", f"/dev/istripe0 {FSTAB}"), file("dev/istripe0", "")),
     "/dev/istripe0", "/dev/istripe/db, or the UUID", "${EDITOR:-vi} /etc/fstab"),
    ("crypttab", file("etc/crypttab", "safe /dev/istripe/db none luks"), "options luks",
     f"options {FSTAB_OPTIONS}", "${EDITOR:-vi} /etc/crypttab"),
    ("crypttab", file("etc/crypttab", "# /dev/istripe/db\nsafe\t/dev/disk/by-id/istripe-db"),
     "options none", f"options {FSTAB_OPTIONS}", "${EDITOR:-vi} /etc/crypttab"),
    ("crypttab", both(file("etc/crypttab", "safe /dev/istripe0 none luks,_netdev"),
                      file("dev/istripe0", "")),
     "/dev/istripe0", "/dev/istripe/db, or the UUID", "${EDITOR:-vi} /etc/crypttab"),
    ("crypttab", both(file("etc/crypttab", "safe UUID=ab-cd - luks,_netdev,nofail"),
                      link("dev/disk/by-uuid/ab-cd", "../../istripe0")),
     "options luks,_netdev,nofail", f"options {FSTAB_OPTIONS}", "${EDITOR:-vi} /etc/crypttab"),
    ("multipath", file("etc/multipath/conf.d/all.conf",
                       "blacklist_exceptions {\n  devnode \".*\"\n}"),
     "blacklist_exceptions of /etc/multipath/conf.d/all.conf have the disk",
     "no such devnode in blacklist_exceptions",
     "${EDITOR:-vi} /etc/multipath/conf.d/all.conf && multipathd reconfigure"),
    ("multipath", both(file("sys/block/dm-3/dm/uuid", "mpath-naa.6001"),
                       file("sys/block/dm-3/dm/name", "mpatha"),
                       file("sys/block/istripe0/holders/dm-3", ""),
                       file("etc/multipath.conf", "blacklist_exceptions {\n\tdevnode \".*\"\n}")),
     "it has made mpatha of the disk", "no such devnode in blacklist_exceptions",
     "${EDITOR:-vi} /etc/multipath.conf && multipath -f mpatha && multipathd reconfigure"),
    ("multipath", both(file("sys/block/dm-3/dm/uuid", "mpath-naa.6001"),
                       file("sys/block/istripe0/holders/dm-3", "")),
     "it has made dm-3 of the disk", 'devnode "^istripe" in its blacklist',
     (r"""mkdir -p /etc/multipath/conf.d && printf 'blacklist {\n\tdevnode "^istripe"\n}\n' """
      "> /etc/multipath/conf.d/istripe.conf && multipath -f dm-3 && multipathd reconfigure")),
]


def test_commands_quote_what_others_have_named(host):
    """Names of targets; and of a map, which is what the target says of the LUN by default."""
    name, portal = "iqn.2001-04.com.x:$(echo${IFS}x)'", "192.0.2.10 ;x,3261,1"
    for path in (0, 1):
        setting("target_name", name, path=path)(host)
    host.put("sys/class/iscsi_session/session3/targetname", name)
    host.put("sys/class/iscsi_session/session3/initiatorname", "iqn.2026-01.a:host")
    host.put(f"etc/iscsi/nodes/{name}/{portal}/default", "node.startup = automatic")
    host.put("sys/block/dm-3/dm/uuid", "mpath-x")
    host.put("sys/block/dm-3/dm/name", "x;$(echo y)")
    host.put("sys/block/istripe0/holders/dm-3", "")
    steps = {finding["check"]: finding["next"] for finding in warnings(host.tool)}
    assert shell_words(steps["open-iscsi-session"].split("needs that: ")[1]) == [
        "iscsiadm", "-m", "node", "-T", name, "-u"]
    assert shell_words(steps["open-iscsi-record"])[:7] == [
        "iscsiadm", "-m", "node", "-T", name, "-p", "192.0.2.10 ;x:3261"]
    assert shell_words(steps["multipath"].split(" && ")[-2]) == ["multipath", "-f", "x;$(echo y)"]


def test_fence_of_each_leg_that_moves(host):
    """With one path, too: one of its sessions sends again what another one has lost."""
    both(PACEMAKER, file(CIB, AGENT), WITHOUT_UNIT)(host)
    for plant in (both(), one_path):
        plant(host)
        assert [finding["subject"] for finding in warnings(host.tool)
                if finding["check"] == "fence"] == ["leg 0", "leg 1"]


@pytest.mark.parametrize("check, plant, measured, wanted, step",
                         FAULTS, ids=[f"{fault[0]}-{i}" for i, fault in enumerate(FAULTS)])
def test_fault_is_found(host, check, plant, measured, wanted, step):
    plant(host)
    found = warnings(host.tool)
    # A further file is a volume that is not configured.
    assert checks_of(found) - {"state"} == {check} - {"state"}
    first = next(finding for finding in found if finding["check"] == check)
    assert first["measured"] == measured and first["wanted"] == wanted
    assert step.replace("ROOT", str(host.tool.root)) in first["next"]
    assert ("linux-headers" in first["next"]) == ("linux-headers" in step)
    assert first["why"]


@pytest.mark.parametrize("plant", [
    # A target that has restarted now and then; nothing that is new.
    both(CLOSED, connected_again(4)), both(CLOSED, connected_again(9, 70000)),
    # Loose, and rules that lead answers back.
    routed(2),
    both(one_subnet(rp_filter=1), lambda host: host.put(
        "fake/routes", (host.tool.root / "fake/routes").read_text() + "\n".join(
            f"192.0.{net}.{to} - eth{net - 1} - 9000" for net in (2, 3) for to in (10, 11)))),
    # An interface that has just come up.
    file(f"{NIC}/operstate", "down"),
    # LLDP that tells nothing, or of one NIC only.
    lambda host: host.switches(), lambda host: host.switches(eth2="00:53:00:00:00:01"),
    # Without an end, too (systemd.mount(5)).
    file("etc/fstab", "/dev/istripe/db /srv xfs _netdev,nofail,x-systemd.device-timeout=0 0 0"),
    file("etc/fstab", "/dev/istripe/db none swap sw,noauto 0 0"),
    file("etc/crypttab", "safe /dev/istripe/db none luks,_netdev"),
    file("etc/crypttab", "safe /dev/istripe/db none luks,noauto"),
    file("etc/crypttab", "safe /dev/istripe/db none _netdev,nofail,x-systemd.device-timeout=0"),
    # A volume of this host alone, or one that the cluster brings up; a cluster that is no more.
    *(both(PACEMAKER, file(CIB, cib))
      for cib in (AGENT.replace('"db"', '"log"'), '<nvpair name="database" value="db"/>',
                  '<primitive class="systemd" type="istripe@db2"/>',
                  # Of another volume and another resource, and of an operation.
                  AGENT.replace('"db"', '"log"') + '<primitive class="ocf" provider="heartbeat">'
                  '<nvpair name="name" value="db"/></primitive>' + AGENT.replace('"db"', '"web"'),
                  AGENT.replace('name="name" value="db"', 'name="x" value="db"/><nvpair name="name"'))),
    both(PACEMAKER, file(CIB, AGENT), WITHOUT_UNIT, SESSION),
    both(PACEMAKER, file(CIB, AGENT), WITHOUT_UNIT, *(file(fence, "path") for fence in FENCES)),
    file(CIB, AGENT), PACEMAKER,
    # Paths over a bond of several ports.
    bond,
    # A VRF, its port, and an address of either.
    vrf("vrf0"), vrf("eth1"), both(vrf("vrf0"), setting("source_address", "192.0.2.1")),
    both(vrf("vrf0"), setting("source_address", "192.0.2.7"),
         lambda host: host.put("fake/addresses", "vrf0 192.0.2.7 32\neth2 192.0.3.1 24")),
    # An address of the link, whose interface a name tells, or a number.
    *(both(setting("source_address", f"fe80::1%{scope}"),
           file("fake/addresses", "eth2 fe80::1 64\neth1 fe80::1 64"))
      for scope in ("7777", "eth1")),
    # An address of the host's own, over whatever link the routes lead.
    *(both(setting("nic", ""), setting("source_address", "10.9.9.1"), more,
           lambda host: host.put("fake/routes", (host.tool.root / "fake/routes").read_text() +
                                 "192.0.2.10 - eth1 - 9000"),
           file("fake/addresses", f"eth1 192.0.2.1 24\neth2 192.0.3.1 24\n{nic} 10.9.9.1 32"))
      for nic, more in (("lo", file("sys/class/net/lo/flags", "0x9")),
                        ("dummy0", file("fake/ethtool/dummy0", "driver dummy")))),
    # It asks for ECN by itself (tcp_ecn is 2).
    rtt(100, "dctcp"),
    # One loss, and all that was on the way behind it; and few segments.
    network("{local} {remote} 150 9000 200000 1 cubic 300000 1000"),
    network("{local} {remote} 150 9000 200000 1 cubic 5000 1000"),
    # The kernel's counts of segments have begun anew, at 32 bits.
    network(f"{{local}} {{remote}} 150 9000 {(1 << 32) + 20000} 4000 cubic"),
    # A path that is not logged in, to a portal that answers.
    both(not_logged_in, reach(0)),
    # The kernel's sum of times has begun anew, at 32 bits of ms.
    file("sys/block/istripe0/stat", "900000 0 57600000 0 100000 0 6400000 0 0 1000 999"),
])
def test_what_is_no_fault(host, plant):
    plant(host)
    assert not findings(host.tool, 0, "warn")


#: Settings with which the first guess would do harm, or be refused.
OUT_OF_RANGE = {
    "ping-interval": [("ping_interval_ms", "29999"), ("ping_timeout_ms", "29999")],
    "ping-interval-short": [("ping_interval_ms", "900"), ("ping_timeout_ms", "400")],
    "user-timeout": [("ping_interval_ms", "3600000"), ("ping_timeout_ms", "3600000"),
                     ("user_timeout_ms", "1000")],
    "login-timeout": [("login_timeout_ms", "15000")],
    "weights": [], "buffers": [("send_buffer_bytes", "65536")],
}
COMMAND_MS = {"ping-interval-short": "1000", "user-timeout": "3600000"}


def echoes(found):
    """(where, setting, value) of all that the commands write into configfs."""
    for finding in found:
        for value, leg, path, name in re.findall(
                r"echo (\S+) > \S*/istripe/db/(?:legs/(\d+)/(?:paths/(\d+)/)?)?(\w+)", finding["next"]):
            yield (["--leg", leg] if leg else []) + (["--path", path] if path else []), name, value


@pytest.mark.parametrize("case", OUT_OF_RANGE)
def test_values_of_commands_are_allowed(host, case):
    """set takes each of them; then the check has nothing more to say."""
    check = {"weights": "speed-equal", "buffers": "tcp-buffers"}.get(case, "timers")
    for name, value in OUT_OF_RANGE[case]:
        setting(name, value)(host)
    if case in COMMAND_MS:
        volume_setting("command_timeout_ms", COMMAND_MS[case])(host)
    if case == "login-timeout":
        volume_setting("recovery_timeout_ms", "90")(host)
    if case == "weights":
        host.put("sys/class/net/eth1/speed", "9973")
        host.put("sys/class/net/eth2/speed", "1")
    if case == "buffers":
        network("{local} {remote} 900000 9000 200000 1 cubic")(host)
        for name in ("tcp_rmem", "tcp_wmem"):
            host.put(f"proc/sys/net/ipv4/{name}", "4096 131072 2147483647")
    for _ in range(4):
        out, _ = host.tool.start("doctor", "--json").communicate(timeout=60)
        found = [finding for finding in json.loads(out)["findings"]
                 if finding["check"] == check and finding["result"] == "warn"]
        written = list(echoes(found))
        if not found:
            break
        assert written
        for where, name, value in written:
            assert name != "ping_interval_ms" or int(value) >= 500
            host.tool.run("set", "db", *where, f"{name}={value}")
        host.save()
    assert not found


# The network as it is: in a network namespace of the test's own

NAMESPACE = """
ip link add eth1 type veth peer name peer1
ip link set dev eth1 mtu 4000 up
ip link set dev peer1 mtu 4000 up
ip link set dev lo up
ip addr add 192.0.2.1/24 dev eth1
ip route add 203.0.113.0/24 via 192.0.2.99 mtu 1300
exec "$@"
"""


def in_namespace(tool, *words):
    """What the tool finds in a network namespace of its own."""
    done = subprocess.run(["unshare", "-rn", "sh", "-ec", NAMESPACE, "sh", *words],
                          env=tool.env, capture_output=True, text=True, check=False)
    assert "Sanitizer" not in done.stderr and "runtime error" not in done.stderr
    assert done.stdout, done.stderr
    return {(finding["check"], finding["subject"]): finding
            for finding in json.loads(done.stdout)["findings"]}


@pytest.fixture
def namespace():
    done = subprocess.run(["unshare", "-rn", "ip", "link", "add", "type", "veth"],
                          capture_output=True, check=False)
    if done.returncode:
        pytest.skip("no network namespaces or no veth here")


def test_routes_of_the_kernel(tool, namespace):
    """Bound to an interface, by the routing table, by a source address, and none."""
    legs = [("192.0.2.10", "nic=eth1"), ("192.0.2.11", "source=192.0.2.1"),
            ("203.0.113.1", ""), ("198.51.100.1", ""), ("[2001:db8::1]:3260", "nic=eth1")]
    words = [word for to, more in legs
             for word in ("--leg", f"target=iqn.2026-01.a:t,portal={to}" + f",{more}" * bool(more))]
    tool.run("create", "db", "--no-up", *words)
    tool.put("sys/class/net/eth1/mtu", "4000")
    found = in_namespace(tool, tool.program, "doctor", "--json")
    routes = {subject: finding for (check, subject), finding in found.items() if check == "route"}
    assert set(routes) == {"leg 3 path 0", "leg 4 path 0"}
    assert routes["leg 3 path 0"]["measured"] == "no route: Network is unreachable"
    mtus = {subject: finding for (check, subject), finding in found.items()
            if check == "path-mtu" and finding["result"] == "warn"}
    assert {subject: finding["measured"] for subject, finding in mtus.items()} == {
        "leg 2 path 0": 1300}
    assert mtus["leg 2 path 0"]["wanted"] == 4000


#: A peer in another namespace, whose link takes less than eth1 sends.
PEER = """
unshare -n sleep 60 &
while [ "$(readlink /proc/$!/ns/net)" = "$(readlink /proc/self/ns/net)" ]; do :; done
ip link set peer1 netns $!
nsenter -n -t $! sh -ec "
ip link set dev peer1 mtu 1500 up
ip addr add 192.0.2.10/24 dev peer1
ip addr add 2001:db8::10/64 dev peer1 nodad"
ip addr add 2001:db8::1/64 dev eth1 nodad
"$@"
kill $!
"""


@pytest.mark.parametrize("portal", ["192.0.2.10", "[2001:db8::10]:3260"])
@pytest.mark.parametrize("mtu, reached", [(4000, 1500), (1400, None)])
def test_packets_of_the_kernel(tool, namespace, portal, mtu, reached):
    """The peer drops what is too large for it and says nothing."""
    tool.run("create", "db", "--no-up", "--leg", f"target=iqn.2026-01.a:t,portal={portal},nic=eth1")
    tool.put("sys/class/net/eth1/mtu", mtu)
    found = in_namespace(tool, "sh", "-c", PEER, "sh", tool.program, "doctor", "--json")
    warned = {check: finding["measured"] for (check, _), finding in found.items()
              if check in ("path-mtu", "route") and finding["result"] == "warn"}
    assert warned == ({"path-mtu": reached} if reached else {})


def test_driver_of_the_kernel(tool, namespace):
    """veth has offloads that can be changed, and neither rings nor flow control."""
    tool.run("create", "db", "--no-up", "--leg",
             "target=iqn.2026-01.a:t,portal=192.0.2.10,nic=eth1")
    found = in_namespace(tool, tool.program, "doctor", "--json")
    assert {finding["measured"] for (check, _), finding in found.items()
            if check == "offloads" and finding["result"] != "pass"} <= {"rx-gro off"}
    assert found["pause", "eth1"]["result"] == "skip"
    assert found["pause", "eth1"]["why"] == "flow control cannot be read: Operation not supported"


def test_tcp_of_the_kernel(host):
    """A connection to this host stands for that of the first path."""
    (host.tool.root / "fake/tcp").unlink()
    with (socket.create_server(("127.0.0.1", 0)) as server,
          socket.create_connection(server.getsockname()) as client):
        client.sendall(b"x" * 100)
        peer, _ = server.accept()
        peer.sendall(b"x" * 50)
        assert len(client.recv(50)) == 50
        for side, end in (("local", client.getsockname()), ("remote", client.getpeername())):
            host.put(host.path(0, 0, f"connections/0/{side}_address"), f"{end[0]}:{end[1]}")
        found = findings(host.tool)
        peer.close()
    loss = {finding["subject"]: finding["why"] for finding in found
            if finding["check"] == "tcp-loss"}
    assert re.fullmatch(r"it has sent 100 bytes, and received 50, only", loss["leg 0 path 0"])
    assert loss["leg 1 path 0"] == "TCP has no such connection in this network namespace"


def test_more_portals_than_files_may_be_open(tool):
    """60 of them, which answer; to one lead two paths. It is tried once."""
    with socket.create_server(("", 0)) as server:
        port, words = server.getsockname()[1], []
        for number in [*range(60), 0]:
            portal_words = f"portal=127.0.0.{number + 1}:{port}"
            words += ["--path" if number % 15 else "--leg",
                      f"{portal_words},target=iqn.2026-01.a:t{len(words) // 30}"]
        tool.run("create", "db", "--no-up", *words)
        done = subprocess.run(["sh", "-c", 'ulimit -n 40; exec "$@"', "sh", tool.program, "doctor",
                               "--json"], env=tool.env, capture_output=True, text=True, check=False)
        server.setblocking(False)
        tried = []
        with contextlib.suppress(BlockingIOError):
            while True:
                tried.append(server.accept()[0])
        addresses = [one.getsockname()[0] for one in tried]
        for one in tried:
            one.close()
    assert not done.stderr
    assert sorted(addresses) == sorted(f"127.0.0.{number + 1}" for number in range(60))
    found = json.loads(done.stdout)["findings"]
    assert {one["result"] for one in found if one["check"] == "portal"} == {"pass"}
