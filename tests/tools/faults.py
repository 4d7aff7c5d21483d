# SPDX-License-Identifier: GPL-2.0
"""Faults to be planted on a host in files, and what doctor finds there."""

import json
import os
import shutil
import time

from conftest import FOUND
from host import latency


def findings(tool, code=0, result=None, *names):
    out, err = tool.run("doctor", "--json", *names, code=code)
    assert not err
    found = json.loads(out)["findings"]
    FOUND.update(str(value) for finding in found for value in finding.values())
    return [finding for finding in found if result in (None, finding["result"])]


# Each returns, or is, a function that plants the fault on a Host

def file(path, text):
    return lambda host: host.put(path, text)


def path_file(name, text, leg=0, path=0):
    return lambda host: host.put(host.path(leg, path, name), text)


def setting(name, text, leg=0, path=0):
    return lambda host: host.put(host.config(leg, path, name), text)


def volume_setting(name, text):
    def plant(host):
        host.put(f"sys/kernel/config/istripe/db/{name}", text)
        host.put(f"{host.disk}/istripe/{name}", text)
    return plant


def driver(**values):
    return lambda host: host.driver("eth1", **values)


def both(*plants):
    def plant(host):
        for one in plants:
            one(host)
    return plant


def negotiated(key, value, offered=None):
    def plant(host):
        host.put(host.path(0, 0, f"session/negotiated/{key}"), value)
        if offered:
            host.put(host.path(0, 0, f"session/offered/{key}"), offered)
    return plant


def network(tcp, mtu=9000):
    return lambda host: host.network(mtu, tcp)


def rtt(microseconds, congestion="cubic"):
    return network(f"{{local}} {{remote}} {microseconds} 9000 200000 1 {congestion}")


def one_subnet(**conf):
    """Both NICs in a subnet; settings of all interfaces, then of each."""
    def plant(host):
        host.put("fake/addresses", "eth1 192.0.2.1 24\neth2 192.0.2.2 24\nlo 127.0.0.1 8")
        values = {"arp_ignore": 1, "arp_announce": 2, "rp_filter": 2, **conf}
        for name, value in values.items():
            for nic in ("all", "eth1", "eth2"):
                host.put(f"proc/sys/net/ipv4/conf/{nic}/{name}", 0 if nic == "all" else value)
    return plant


def routed(filter_):
    """The routes to both portals lead by the first NIC; the second path is bound to the other."""
    def plant(host):
        routes = (host.tool.root / "fake/routes").read_text()
        host.put("fake/routes", routes + "192.0.3.10 - eth1 - 9000\n192.0.3.11 - eth1 - 9000")
        for nic, value in (("all", 0), ("eth1", filter_), ("eth2", filter_)):
            host.put(f"proc/sys/net/ipv4/conf/{nic}/rp_filter", value)
    return plant


def not_logged_in(host):
    """The first path of the first leg, which the volume does not have yet."""
    shutil.rmtree(host.tool.root / host.path(0, 0, "."))


def reach(error):
    return lambda host: host.put("fake/reach", f"192.0.2.10 eth1 {error}")


def connected_again(times, seconds_ago=60):
    """In the kernel's log, of the first path and of others; before zero on a host that is up for less."""
    def plant(host):
        now = int((time.monotonic() - seconds_ago) * 1000000)
        lines = [f"6,{i},{now},-;istripe: db/0/{path}: connected again" for i in range(times)
                 for path in (0, 10)]
        host.put("dev/kmsg", "\n".join(lines))
    return plant


def nic_routes(bound, by=None):
    """The second path of the first leg is bound to an interface, or to none."""
    return file("fake/routes", f"192.0.2.10 eth1 eth1 - 9000\n192.0.2.11 eth1 eth1 - 9000\n"
                f"192.0.3.10 {bound} {by or bound} - 9000\n192.0.3.11 eth2 eth2 - 9000")


def bond(host):
    """Two VLANs of a bond of two ports: either carries both paths when the other one fails."""
    vlans("eth1", "eth2", port="bond0")(host)
    vlans("bond0", port="p1")(host)
    vlans("bond0", port="p2")(host)


def vlans(*nics, port="p1"):
    def plant(host):
        for nic in nics:
            (host.tool.root / f"sys/class/net/{nic}/lower_{port}").mkdir(parents=True)
    return plant


def vrf(nic):
    """The first link is a port of a VRF, and the path bound to either; the main table leads elsewhere."""
    def plant(host):
        (host.tool.root / "sys/class/net/eth1/master").symlink_to("../vrf0")
        host.put("sys/class/net/vrf0/mtu", "65575")
        host.put("sys/class/net/vrf0/uevent", "DEVTYPE=vrf\nINTERFACE=vrf0")
        for leg in range(2):
            setting("nic", nic, leg)(host)
        routes = (host.tool.root / "fake/routes").read_text()
        host.put("fake/routes", routes + "\n".join(
            f"192.0.2.{to} vrf0 eth1 192.0.2.1 9000\n192.0.2.{to} - eth2 - 9000" for to in (10, 11)))
        for name, value in (("all", 0), ("eth1", 1)):
            host.put(f"proc/sys/net/ipv4/conf/{name}/rp_filter", value)
    return plant


def chap(host):
    """Of all paths; secrets cannot be read back."""
    for name in ("chap_user", "chap_mutual_user"):
        for path in (0, 1):
            setting(name, "me", 0, path)(host)


def vlan_in_reach(host):
    """A third interface that could reach the portals, but through p1, too."""
    vlans("eth3")(host)
    host.put("fake/addresses", "eth1 192.0.2.1 24\neth2 192.0.3.1 24\neth3 192.0.3.2 24")


def other_volume(host):
    host.tool.run("create", "log", "--no-up", "--initiator", "iqn.2026-01.a:host", "--leg",
                  "target=iqn.2026-01.a:t1,portal=192.0.2.11,nic=eth1,isid=800000000100",
                  "--path", "portal=192.0.3.11,nic=eth2")
    host.tool.run("save", "log")
    host.put("etc/systemd/system/multi-user.target.wants/istripe@log.service", "")


def unit_is_gone(host):
    """The link that enable has made is left."""
    link = host.tool.root / "etc/systemd/system/multi-user.target.wants/istripe@db.service"
    link.unlink()
    link.symlink_to(host.tool.root / "usr/lib/systemd/system/istripe@.service")


def slow(host):
    for nic in ("eth1", "eth2"):
        host.put(f"sys/class/net/{nic}/speed", "1000")


def without(path):
    return lambda host: (host.tool.root / path).unlink()


def one_path(host):
    for leg in range(2):
        for name in os.listdir(host.tool.root / host.config(leg, 1, ".")):
            (host.tool.root / host.config(leg, 1, name)).unlink()
        (host.tool.root / host.config(leg, 1, ".")).rmdir()
    host.save()


def link(name, to):
    def plant(host):
        path = host.tool.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(to)
        host.put("dev/istripe0", "")
    return plant


def record(nodes, startup="automatic"):
    return file(f"{nodes}/iqn.2026-01.a:t0/192.0.2.10,3260,1/default",
                f"# BEGIN RECORD\nnode.name = iqn.2026-01.a:t0\nnode.startup = {startup}")


def slow_commands(place, kind, counts):
    return file(f"sys/block/istripe0/istripe/legs/{place}/latency_{kind}", latency(counts))


def iscsi_session(host):
    host.put("sys/class/iscsi_session/session3/targetname", "iqn.2026-01.a:t1")
    host.put("sys/class/iscsi_session/session3/initiatorname", "iqn.2026-01.a:host")


def session_disk(path="sdb", lun=1, session="session3"):
    """A disk of a session, or a partition of one."""
    return file(f"sys/class/iscsi_session/{session}/device/target3:0:0/3:0:0:{lun}/block/{path}/size", "8")


IDLE = network("{local} {remote} 150 9000 500 0 cubic")
NIC = "sys/class/net/eth1"
QUEUE = "sys/block/istripe0/queue"
CLOSED = path_file("last_error", "the other side has closed the connection")
