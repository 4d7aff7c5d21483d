# SPDX-License-Identifier: GPL-2.0
"""The network of the laboratory: see the drawing in __init__.py."""

import contextlib
import ipaddress
import json
from pathlib import Path

from lab.shell import read, run, wait_for

NETNS = "tgt"
ISCSI_PORT = 3260
#: See lose_large_packets(): pings of iSCSI, logins and INQUIRY pass, a block of 4 KiB does not.
SMALL_MTU = 1000


class Link:
    """One veth pair, that is, one NIC of the initiator."""

    def __init__(self, index):
        self.index = index
        self.nic = f"ini{index}"
        self.peer = f"tgt{index}"
        self.source = f"10.55.{index}.1"
        self.address = f"10.55.{index}.2"
        self.source6 = str(ipaddress.ip_address(f"fd55:0:0:{index:x}::1"))
        self.address6 = str(ipaddress.ip_address(f"fd55:0:0:{index:x}::2"))

    def portal(self, ipv6=False):
        """The target's portal on this link, as users write it."""
        return f"[{self.address6}]:{ISCSI_PORT}" if ipv6 else f"{self.address}:{ISCSI_PORT}"

    def create(self):
        run("ip", "link", "add", self.nic, "type", "veth", "peer", "name", self.peer, "netns", NETNS)
        for netns, nic, v4, v6 in (
            (None, self.nic, self.source, self.source6),
            (NETNS, self.peer, self.address, self.address6),
        ):
            run("ip", "addr", "add", f"{v4}/24", "dev", nic, netns=netns)
            run("ip", "addr", "add", f"{v6}/64", "dev", nic, "nodad", netns=netns)
            run("ip", "link", "set", nic, "up", netns=netns)

    def set_up(self, up):
        """Takes the initiator's NIC up or down. The addresses of IPv4 stay, those of IPv6 go."""
        run("ip", "link", "set", self.nic, "up" if up else "down")
        if up:
            run("ip", "addr", "replace", f"{self.source6}/64", "dev", self.nic, "nodad")

    def set_silent(self, silent):
        """Whether both of its ends lose all packets. Nobody is told."""
        words = ["root", "netem", "loss", "100%"] if silent else ["root"]
        for nic, netns in ((self.nic, None), (self.peer, NETNS)):
            run("tc", "qdisc", "add" if silent else "del", "dev", nic, *words, netns=netns)

    def set_peer_up(self, up):
        """The same with the target's end."""
        run("ip", "link", "set", self.peer, "up" if up else "down", netns=NETNS)
        if up:
            run("ip", "addr", "replace", f"{self.address6}/64", "dev", self.peer, "nodad",
                netns=NETNS)


class Network:
    """The target's namespace and `links` veth pairs into it."""

    def __init__(self, links=2):
        self.links = [Link(i) for i in range(links)]

    def create(self):
        run("modprobe", "-a", "veth", "inet_diag", "tcp_diag")
        run("ip", "link", "set", "lo", "up")
        if not Path(f"/run/netns/{NETNS}").exists():
            run("ip", "netns", "add", NETNS)
        run("ip", "link", "set", "lo", "up", netns=NETNS)
        # A link answers for its own addresses only, so that using the wrong one is seen.
        run("sysctl", "-q", "-w", "net.ipv4.conf.all.arp_ignore=1", netns=NETNS)
        for link in self.links:
            run("ip", "link", "del", link.nic, check=False)
            link.create()

    def destroy(self):
        for link in self.links:
            run("ip", "link", "del", link.nic, check=False)
        run("ip", "netns", "del", NETNS, check=False)


@contextlib.contextmanager
def for_a_while(change, value):
    """A state of a link that is true or false is the other one afterwards."""
    change(value)
    try:
        yield
    finally:
        change(not value)


def down(link):
    """The initiator's NIC is down."""
    return for_a_while(link.set_up, False)


def peer_down(link):
    """The target's end is down: the NIC has no carrier."""
    return for_a_while(link.set_peer_up, False)


def silent(link):
    """Nothing comes over this link, in neither direction."""
    return for_a_while(link.set_silent, True)


@contextlib.contextmanager
def mute(link):
    """Nothing comes from the target over this link; what is sent there arrives."""
    run("tc", "qdisc", "add", "dev", link.peer, "root", "netem", "loss", "100%",
        netns=NETNS)
    try:
        yield
    finally:
        run("tc", "qdisc", "del", "dev", link.peer, "root", netns=NETNS)


@contextlib.contextmanager
def _delayed(nic, seconds, netns=None):
    run("tc", "qdisc", "add", "dev", nic, "root", "netem", "delay", f"{seconds}s", netns=netns)
    try:
        yield
    finally:
        run("tc", "qdisc", "del", "dev", nic, "root", netns=netns)


def delayed(link, seconds):
    """What is sent to the target over this link waits for so long in the queue of the NIC."""
    return _delayed(link.nic, seconds)


def delayed_from_target(link, seconds):
    """The same with what the target sends."""
    return _delayed(link.peer, seconds, NETNS)


@contextlib.contextmanager
def slow_from_target(link, rate):
    """What the target sends over this link comes as slowly as tc's `rate` says."""
    run("tc", "qdisc", "add", "dev", link.peer, "root", "tbf", "rate", rate, "burst", "256k",
        "limit", "8m", netns=NETNS)
    try:
        yield
    finally:
        run("tc", "qdisc", "del", "dev", link.peer, "root", netns=NETNS)


def lose_large_packets(nic, netns=None):
    """What is larger than SMALL_MTU does not leave this NIC. Nobody is told."""
    run("ethtool", "-K", nic, "tso", "off", "gso", "off", netns=netns)
    run("tc", "qdisc", "add", "dev", nic, "clsact", netns=netns)
    run("tc", "filter", "add", "dev", nic, "egress", "matchall", "action", "police", "mtu",
        SMALL_MTU, "rate", "10gbit", "burst", "100m", "conform-exceed", "drop/ok", netns=netns)


def pass_large_packets(nic, netns=None):
    run("tc", "qdisc", "del", "dev", nic, "clsact", netns=netns)
    run("ethtool", "-K", nic, "tso", "on", "gso", "on", netns=netns)


def queued_bytes(link):
    """What waits in the queue of the NIC."""
    return json.loads(run("tc", "-s", "-j", "qdisc", "show", "dev", link.nic))[0]["backlog"]


def established(port=ISCSI_PORT, netns=None):
    """The TCP connections that run to (or, in the target's namespace, come to) the port."""
    side = "sport" if netns else "dport"
    out = run("ss", "-Htn", "state", "established", f"{side} = {port}", netns=netns)
    return [line.split()[-2:] for line in out.splitlines()]


def ports(link=None, port=ISCSI_PORT):
    """The initiator's ports of its TCP connections to the target, over one link or over all."""
    there = f"{link.address}:" if link else ""
    return {int(ours.rsplit(":", 1)[1]) for ours, theirs in established(port)
            if theirs.startswith(there)}


def kill_connections(by_target=False, port=ISCSI_PORT, source_ports=None):
    """Breaks TCP connections to the target; returns how many were broken.

    The socket of one side is destroyed, so that this side sees ECONNABORTED and the other one a
    RST. by_target chooses the target's side; source_ports those from these ports of the
    initiator's, otherwise it is all that are there now.
    """
    netns = NETNS if by_target else None
    here, there = ("sport", "dport") if by_target else ("dport", "sport")
    if source_ports is None:
        # ss kills while it looks: what has connected again meanwhile would be killed, too.
        ends = (pair[1 if by_target else 0] for pair in established(port, netns))
        source_ports = {int(end.rsplit(":", 1)[1]) for end in ends}
    if not source_ports:
        return 0
    which = (f"{here} = {port} and ( " +
             " or ".join(f"{there} = {number}" for number in sorted(source_ports)) + " )")
    out = run("ss", "-HKtn", "state", "established", which, netns=netns)
    return len(out.splitlines())


def wait_port(address, port=ISCSI_PORT, timeout_s=30):
    """Waits until something in the target's namespace listens on address:port."""

    def listening():
        out = run("ss", "-Hltn", f"sport = {port}", netns=NETNS)
        return any(f"{address}:{port}" in line or f"*:{port}" in line or f"0.0.0.0:{port}" in line
                   for line in out.splitlines())

    wait_for(f"a listener on {address}:{port}", listening, timeout_s)


def nic_of(mac):
    """The name of the NIC of the machine that has this address, or None."""
    for nic in Path("/sys/class/net").iterdir():
        if read(nic / "address") == mac:
            return nic.name
    return None


def nic_up(mac, address):
    """Takes a NIC of the machine, known by its MAC address, into use."""
    run("modprobe", "virtio_net")
    nic = wait_for(f"a NIC with the address {mac}", lambda: nic_of(mac))
    run("ip", "link", "set", nic, "addrgenmode", "none")
    run("ip", "addr", "replace", f"{address}/24", "dev", nic)
    run("ip", "link", "set", nic, "up")
