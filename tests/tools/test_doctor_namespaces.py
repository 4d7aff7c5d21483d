# SPDX-License-Identifier: GPL-2.0
"""istripectl doctor on a real network: faults that are planted one at a time, and what mends them.

NICs, routes, addresses, TCP and sysctls are the kernel's, in network namespaces (namespaces.py). The
volume is files, as in test_doctor.py. The command of each warning is run as it is, and the warning has
to go; words in capitals are filled in. Where only another machine, or hands, can mend a fault, the
command is at least there.
"""

import json
import re
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from namespaces import why_not
from real_network import Network, make_template
from waiting import wait_for

pytestmark = pytest.mark.slow

TARGET = "iqn.2026-01.a:t0"
QUEUE = "sys/block/istripe0/queue"
#: What stands for programs that may not be there: they do to files what is asked of them.
ISCSIADM = """#!/bin/sh
find /etc/iscsi/nodes/"$4"/"${6%:*},${6##*:}",* -type f -exec sed -i "s/^${10} = .*/${10} = ${12}/" {} +
"""
ISCSI_INAME = "#!/bin/sh\necho iqn.1993-08.org.debian:01:4711\n"


@pytest.fixture(scope="session")
def template(built, tmp_path_factory):
    reason = why_not()
    if reason:
        pytest.skip(reason)
    return make_template(tmp_path_factory.mktemp("template") / "root")


@pytest.fixture
def make_network(template, tmp_path):
    made = []

    def make(**options):
        made.append(Network(template, tmp_path / "root", **options))
        return made[-1]
    yield make
    for network in made:
        network.close()


def warnings(network):
    process = network.start("doctor", "--json")
    out, err = process.communicate(timeout=60)
    assert not err
    found = [finding for finding in json.loads(out)["findings"] if finding["result"] == "warn"]
    assert process.returncode == bool(found)
    return found


def checks_of(found):
    return {finding["check"] for finding in found}


# Networks where nothing is to be mended

def in_one_subnet(network):
    """With rules that let each link have its own answers, and strict filters."""
    network.array.shell("ip addr add 192.0.2.20/24 dev peer2; ip addr add 192.0.2.21/24 dev peer2")
    network.here.shell("""
        ip addr add 192.0.2.2/24 dev eth2
        for nic in eth1 eth2; do
            echo 1 > /proc/sys/net/ipv4/conf/$nic/rp_filter
            echo 1 > /proc/sys/net/ipv4/conf/$nic/arp_ignore
            echo 2 > /proc/sys/net/ipv4/conf/$nic/arp_announce
        done
        ip rule add from 192.0.2.2 lookup 102
        ip route add 192.0.2.0/24 dev eth2 src 192.0.2.2 table 102""")
    for leg in range(2):
        network.host.put(network.host.config(leg, 1, "portal"), f"192.0.2.2{leg}:3260")
        network.host.put(network.host.config(leg, 1, "source_address"), "192.0.2.2")


def silent_to_pings(network):
    network.array.shell("echo 1 > /proc/sys/net/ipv4/icmp_echo_ignore_all")


def neighbour_without_subnet(network):
    """An address of the link itself, which no route covers."""
    network.gone(0, 1)
    network.here.shell("ip addr flush dev eth2; ip addr add 192.0.3.1/32 dev eth2")


def over_ipv6(network):
    """One path, which is not logged in yet."""
    network.gone(0, 0)
    network.array.shell("ip addr add 2001:db8::10/64 dev peer1 nodad")
    network.here.shell("ip addr add 2001:db8::1/64 dev eth1 nodad")
    network.sockets.append(network.array.inside(lambda: socket.create_server(
        ("2001:db8::10", 3260), family=socket.AF_INET6)))
    network.host.put(network.host.config(0, 0, "portal"), "[2001:db8::10]:3260")


def ipv6_address_of(owner):
    """The NIC has none of its own. Of another NIC only if a route says so."""
    def plant(network):
        over_ipv6(network)
        words = "src 2001:db8::1" if owner == "eth2" else ""
        network.here.shell(f"""
            ip addr del 2001:db8::1/64 dev eth1
            ip addr add 2001:db8::1/128 dev {owner} nodad
            ip route add 2001:db8::/64 dev eth1 {words}""")
        mac = network.here.shell("ip -br link show eth1").stdout.split()[2]
        network.array.shell(f"ip neigh replace 2001:db8::1 lladdr {mac} dev peer1 nud permanent")
    plant.ipv6 = True
    return plant


over_ipv6.ipv6 = True


def by_other_name(network):
    """The kernel takes any name of an interface; /sys/class/net has one of them."""
    network.here.shell("ip link property add dev eth1 altname enp3s0f0")
    for leg in range(2):
        network.host.put(network.host.config(leg, 0, "nic"), "enp3s0f0")


def own_address(nic, *commands):
    """The path is bound to no interface: the routes decide, as with several that cost the same."""
    def plant(network):
        done = network.here.shell("; ".join([*commands, f"ip addr add 10.9.9.1/32 dev {nic}"]),
                                  check=False)
        if done.returncode:
            pytest.skip(f"no {nic} here: {done.stderr.strip()}")
        network.array.shell("ip route add 10.9.9.1/32 via 192.0.2.1")
        network.host.put(network.host.config(0, 0, "nic"), "")
        network.host.put(network.host.config(0, 0, "source_address"), "10.9.9.1")
    return plant


@pytest.mark.parametrize("plant", [
    None, own_address("lo"),
    own_address("dummy0", "ip link add dummy0 type dummy", "ip link set dummy0 up"),
    in_one_subnet, silent_to_pings, neighbour_without_subnet, over_ipv6, ipv6_address_of("lo"),
    ipv6_address_of("eth2"), by_other_name])
def test_good_network(make_network, plant):
    if hasattr(plant, "ipv6") and not Path("/proc/sys/net/ipv6").exists():
        pytest.skip("no IPv6 here")
    network = make_network()
    if plant:
        plant(network)
    assert not warnings(network)


def neighbours(namespace, nic):
    return namespace.shell(f"ip neigh show dev {nic}").stdout


@pytest.mark.parametrize("owner", ["eth1", "lo"])
def test_no_address_of_another_nic_is_used(make_network, owner):
    """The array would look for it there from then on. That of the loopback is for all of them."""
    network = make_network()
    network.gone(0, 1)
    network.here.shell("ip addr flush dev eth2")
    if owner == "lo":
        network.here.shell("ip addr add 10.9.9.1/32 dev lo")
        network.array.shell("ip route add 10.9.9.1/32 dev peer2")
    network.array.shell("ip neigh flush dev peer2")
    checks = checks_of(warnings(network))
    assert ("route" in checks) == (owner == "eth1")
    assert ("10.9.9.1" in neighbours(network.array, "peer2")) == (owner == "lo")
    assert "192.0.2.1 " not in neighbours(network.array, "peer2")


def test_portals_are_tried_from_an_address_that_stays(make_network):
    if not Path("/proc/sys/net/ipv6").exists():
        pytest.skip("no IPv6 here")
    network = make_network()
    over_ipv6(network)
    network.here.shell("""
        echo 2 > /proc/sys/net/ipv6/conf/eth1/use_tempaddr
        ip addr add 2001:db8::2/64 dev eth1 mngtmpaddr nodad""")
    show = "ip -6 -o addr show dev eth1 temporary"
    wait_for(lambda: network.here.shell(f"{show} | grep -v tentative || :").stdout)
    assert not warnings(network)
    assert network.sockets[-1].accept()[1][0] in ("2001:db8::1", "2001:db8::2")


# Faults

def here(script):
    return lambda network: network.here.shell(script)


def there(script):
    return lambda network: network.array.shell(script)


def gone(leg, path):
    return lambda network: network.gone(leg, path)


def setting(name, text, leg=0, path=0):
    return lambda network: network.host.put(network.host.config(leg, path, name), text)


def file(path, text):
    return lambda network: network.host.put(path, text)


def over(path, text):
    return lambda network: network.over(path, text)


def both(*plants):
    def plant(network):
        for one in plants:
            one(network)
    return plant


def without(path):
    return lambda network: (network.root / path).unlink()


def portal_elsewhere(network):
    """Behind a router, which the array is itself."""
    network.gone(0, 1)
    network.array.shell("ip addr add 198.51.100.10/32 dev lo; "
                        "echo 1 > /proc/sys/net/ipv4/conf/all/arp_ignore")
    network.sockets.append(network.array.inside(
        lambda: socket.create_server(("198.51.100.10", 3260))))
    network.host.put(network.host.config(0, 1, "portal"), "198.51.100.10:3260")


def nobody_there(network):
    network.gone(0, 0)
    network.array.shell("ip addr del 192.0.2.10/24 dev peer1")
    network.here.shell("echo 10 > /proc/sys/net/ipv4/neigh/eth1/retrans_time_ms")
    network.here.shell("ip neigh flush dev eth1")


def rejected(words, ipv6=False, hook="input"):
    """By the array, or by the host's own rules for output."""
    def plant(network):
        namespace = network.array if hook == "input" else network.here
        to = "ip6 daddr 2001:db8::10" if ipv6 else "ip daddr 192.0.2.10"
        done = namespace.shell(f"""
            nft add table inet wall
            nft add chain inet wall rules '{{ type filter hook {hook} priority 0; }}'
            nft add rule inet wall rules {to} tcp dport 3260 {words}
            """, check=False)
        if done.returncode:
            pytest.skip(f"no nft here: {done.stderr.splitlines()[0]}")
        if ipv6 and not Path("/proc/sys/net/ipv6").exists():
            pytest.skip("no IPv6 here")
        if ipv6:
            over_ipv6(network)
        else:
            network.gone(0, 0)
    return plant


def no_ipv6_address(network):
    """The link has a route; another NIC has an address."""
    if not Path("/proc/sys/net/ipv6").exists():
        pytest.skip("no IPv6 here")
    over_ipv6(network)
    network.here.shell("""
        echo 0 > /proc/sys/net/ipv6/conf/eth1/accept_dad
        ip addr add 2001:db8:1::1/64 dev eth2 nodad
        ip addr del 2001:db8::1/64 dev eth1
        ip route add 2001:db8::/64 dev eth1""")


def own_ipv6(source="2001:db8::1", word="dadfailed"):
    """The address of the host is just being looked for on the link, or is there already."""
    def plant(network):
        if not Path("/proc/sys/net/ipv6").exists():
            pytest.skip("no IPv6 here")
        over_ipv6(network)
        network.here.shell("ip -6 addr flush dev eth1; "
                           "echo 1 > /proc/sys/net/ipv6/conf/eth1/accept_dad")
        if word == "tentative":
            network.here.shell("echo 100 > /proc/sys/net/ipv6/conf/eth1/dad_transmits; "
                               "echo 30000 > /proc/sys/net/ipv6/neigh/eth1/retrans_time_ms")
        else:
            network.array.shell("ip addr add 2001:db8::1/64 dev peer1 nodad")
        network.here.shell("ip addr add 2001:db8::1/64 dev eth1")
        wait_for(lambda: network.here.shell(f"ip -6 addr show dev eth1 {word}").stdout)
        network.host.put(network.host.config(0, 0, "source_address"), source)
    return plant


def strict_filter(network):
    """A portal over the second link, in the subnet of the first one: its answers are dropped."""
    network.array.shell("ip addr add 192.0.2.30/32 dev peer2")
    network.here.shell("ip addr add 192.0.2.2/32 dev eth2; "
                       "echo 1 > /proc/sys/net/ipv4/conf/eth2/rp_filter")
    network.sockets.append(network.array.inside(
        lambda: socket.create_server(("192.0.2.30", 3260))))
    for leg in range(2):
        network.host.put(network.host.config(leg, 1, "portal"), "192.0.2.30:3260")


def congestion(name):
    """As the module does when the setting is written."""
    def plant(network):
        for client, _ in network.ends.values():
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name.encode())
    return plant


def lossy(network):
    """One of 40 frames of data does not arrive."""
    count = [0]

    def lose(frame):
        count[0] += len(frame) > 5000
        return count[0] % 40 == 39
    network.lines["eth1"].lose = lose
    network.transfer(0, 0, 100 << 20)


def volume_of_one_isid(network):
    network.run("create", "log", "--no-up", "--initiator", "iqn.2026-01.a:host", "--leg",
                f"target={TARGET},portal=192.0.2.10,nic=eth1,isid=800000000000",
                "--path", "portal=192.0.3.10,nic=eth2")
    network.run("save", "log")
    network.put("etc/systemd/system/multi-user.target.wants/istripe@log.service", "")
    network.host.put(network.host.config(0, 0, "isid"), "800000000000")
    (network.root / network.host.path(0, 0, "session/isid")).unlink()


def ended_again_and_again(network):
    network.host.put(network.host.path(0, 0, "last_error"),
                     "the other side has closed the connection")
    now = int(time.monotonic() * 1000000)
    network.put("dev/kmsg", "\n".join(f"6,{i},{now},-;istripe: db/0/0: connected again"
                                      for i in range(6)))


def double(name, text):
    def plant(network):
        program = network.root / "doubles" / name
        program.write_text(text)
        program.chmod(0o755)
    return plant


@dataclass
class Fault:
    """A fault, what is said of it, and what becomes of it with the command that is proposed."""

    name: str
    check: str
    plant: Callable
    says: str                       # "subject: measured, wanted: wanted", as a pattern
    next: str                       # of the first warning, as a pattern
    why: str = ""
    also: set = field(default_factory=set)      # other checks that warn
    fill: dict = field(default_factory=dict)    # words of the command that are to be filled in
    mends: bool = True              # False: no command of this host can
    once: bool = False              # the first of the commands is enough
    then: Callable = None           # what the module or the network does after the command
    delay_ms: float = None
    after: Callable = None          # called when it is mended


def reaches_portal(network):
    """What rp_filter has dropped arrives."""
    def connect():
        with socket.socket() as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"eth2")
            client.settimeout(10)
            client.connect(("192.0.2.30", 3260))
    network.here.inside(connect)


NET = "/proc/sys/net/ipv4"
DEVICES = "/sys/devices/virtual/net"
FAULTS = [
    # Routes and portals
    Fault("no-route-by-nic", "route", portal_elsewhere,
          "leg 0 path 1: no route: the NIC has none that leads there, "
          "wanted: a route to 198.51.100.10 by eth2",
          "ip route add 198.51.100.10 via GATEWAY dev eth2", "as if|on the link itself",
          fill={"GATEWAY": "192.0.3.10"}),
    Fault("no-route", "route", both(portal_elsewhere, setting("nic", "", 0, 1)),
          "leg 0 path 1: no route: Network is unreachable, wanted: a route to 198.51.100.10",
          "ip route add 198.51.100.10 via GATEWAY", "cannot connect",
          fill={"GATEWAY": "192.0.3.10"}),
    Fault("nic-without-address", "route", both(gone(0, 1), here("ip addr flush dev eth2")),
          "leg 0 path 1: no route: .*, wanted: a route to 192.0.3.10 by eth2",
          "ip addr add ADDRESS/PREFIX dev eth2", "that of another NIC is not used",
          fill={"ADDRESS": "192.0.3.1", "PREFIX": "24"}),
    Fault("nic-without-address-ipv6", "route", no_ipv6_address,
          "leg 0 path 0: source address 2001:db8:1::1 is of another NIC, wanted: an address of eth1",
          "ip addr add ADDRESS/PREFIX dev eth1", "that of another NIC is not used",
          fill={"ADDRESS": "2001:db8::1", "PREFIX": "64"}),
    *(Fault(f"port-of-a-bridge{name}", "route",
            both(gone(0, 1), here("ip link add br0 mtu 9000 up type bridge; "
                                  f"ip link set eth2 master br0; {moves}")),
            "leg 0 path 1: eth2 is a port of br0, wanted: a path over br0",
            "istripectl path add db 0 portal=192.0.3.10.*,nic=br0.* && .* path remove db 0 1",
            "what the port receives goes to br0", mends=name == "-with-its-address")
      for name, moves in (("", ""), ("-with-its-address", """
            ip addr flush dev eth2; ip addr add 192.0.3.1/24 dev br0"""))),
    Fault("source-of-no-nic", "route", both(gone(0, 0), setting("source_address", "192.0.2.7")),
          "leg 0 path 0: no NIC has the source address 192.0.2.7, "
          "wanted: a source address of this host", "ip addr add 192.0.2.7/24 dev eth1"),
    Fault("source-of-another-nic", "route", setting("source_address", "192.0.3.1"),
          "leg 0 path 0: leaves by eth1, source address 192.0.3.1 is of eth2, "
          "wanted: one interface for both",
          "istripectl path add db 0 portal=192.0.2.10.*,nic=eth1 && istripectl path remove db 0 0"),
    Fault("portal-refuses", "portal", both(gone(0, 0), lambda network: network.refuse(0, 0)),
          r"leg 0 path 0: 192.0.2.10\S*: Connection refused, wanted: a connection",
          "at the target: start it", "the target does not run", mends=False),
    Fault("nobody-has-the-address", "portal", nobody_there,
          r"leg 0 path 0: 192.0.2.10\S*: No route to host, wanted: a connection",
          "ip neigh show 192.0.2.10 dev eth1", "nobody in that network", mends=False),
    # As firewalld does by default
    Fault("portal-rejects", "portal", rejected("reject with icmpx admin-prohibited"),
          r"leg 0 path 0: 192.0.2.10\S*: No route to host, wanted: a connection",
          "nft list ruleset; then the firewall of the target",
          "the host answers pings: a firewall rejects the connection", mends=False),
    *(Fault(f"portal-rejects-as-unreachable{name}", "portal",
            rejected("reject", name == "-ipv6", "output" if name == "-here" else "input"),
            rf"leg 0 path 0: {address}\S*: Connection refused, wanted: a connection",
            "nft list ruleset; then the firewall of the target",
            "^a firewall rejects the connection", mends=False)
      for name, address in (("", "192.0.2.10"), ("-here", "192.0.2.10"), ("-ipv6", r"\[2001:db8::10\]"))),
    Fault("black-hole", "route", both(gone(0, 1), setting("nic", "", 0, 1),
                                      here("ip route add blackhole 192.0.3.10")),
          "leg 0 path 1: no route: Invalid argument, wanted: a route to 192.0.3.10",
          "ip route get 192.0.3.10; ip route show table all match 192.0.3.10", mends=False),
    *(Fault(f"duplicate-address{name}", "route", own_ipv6(source),
            "leg 0 path 0: source address 2001:db8::1 of eth1 is a duplicate address, "
            "wanted: an address that no other host has", "ip addr del 2001:db8::1/64 dev eth1 #",
            "another host of the link has it", also={"portal"}, mends=False)
      for name, source in (("", "2001:db8::1"), ("-that-is-taken", ""))),
    Fault("tentative-address", "route", own_ipv6(word="tentative"),
          "leg 0 path 0: source address 2001:db8::1 of eth1 is tentative, wanted: .*",
          "sleep 3; ip -6 addr show dev eth1 tentative", "still asks", also={"portal"}, mends=False),
    Fault("tentative-address-beside-another", "route", both(
        own_ipv6(source="", word="tentative"),
        here("ip addr add 2001:db8:1::1/64 dev eth2 nodad")),
          "leg 0 path 0: source address 2001:db8::1 of eth1 is tentative, wanted: .*",
          "sleep 3; ip -6 addr show dev eth1 tentative", "still asks", mends=False),
    # MTU
    Fault("path-mtu-black-hole", "path-mtu", there("ip link set peer1 mtu 1500"),
          "leg 0 path 0: 1500 bytes, wanted: 9000", "ip link set dev eth1 mtu 1500 # .*; or raise it",
          "lost on the way without a message"),
    Fault("path-mtu-tunnel", "path-mtu", there("ip link set peer1 mtu 1420"),
          "leg 0 path 0: 1400 bytes, wanted: 9000", "ip link set dev eth1 mtu 1400 # .*; or raise it",
          "lost on the way without a message"),
    Fault("route-mtu", "path-mtu",
          here("ip route change 192.0.2.0/24 dev eth1 src 192.0.2.1 mtu 1400"),
          "leg 0 path 0: 1400 bytes, wanted: 9000", "ip link set dev eth1 mtu 1400",
          "a route or a hop on the way takes less"),
    Fault("mtus-differ", "mtu-equal", both(here("ip link set eth2 mtu 1500"),
                                           there("ip link set peer2 mtu 1500")),
          "leg 0: MTU eth1 9000, eth2 1500, wanted: one MTU",
          "ip link set dev eth1 mtu 1500 # .*; or, .*: ip link set dev eth2 mtu 9000"),
    # What paths have in common
    Fault("speeds-differ", "speed-equal", over(f"{DEVICES}/eth2/speed", "4000"),
          "leg 0: eth1 10000, eth2 4000 Mbit/s, policy interleave, equal weights, wanted: .*",
          "echo 5 > .*/paths/0/weight && echo 2 > .*/paths/1/weight"),
    Fault("speeds-differ-in-turns", "speed-equal", both(
        over(f"{DEVICES}/eth2/speed", "1000"),
        file("sys/kernel/config/istripe/db/legs/0/policy", "round-robin"),
        file("sys/kernel/config/istripe/db/legs/1/policy", "round-robin")),
          "leg 0: eth1 10000, eth2 1000 Mbit/s, policy round-robin, wanted: .*",
          "echo interleave > .*/policy && echo 10 > .*/paths/0/weight"),
    Fault("one-nic", "shared-nic", setting("nic", "eth1", 0, 1),
          r"leg 0: paths 0 and 1 use eth1 \(eth1 and eth1\), wanted: a port for each path",
          "istripectl path add db 0 portal=192.0.3.10.*,nic=eth2 && .* path remove db 0 1"),
    Fault("one-switch", "shared-switch",
          lambda network: network.put("lldp", "\n".join(
              f"lldp.eth{n}.chassis.mac=00:53:00:00:00:01\nlldp.eth{n}.chassis.name=sw-1"
              for n in (1, 2))),
          "leg 0: eth1 eth2 lead to one switch, sw-1 00:53:00:00:00:01, wanted: two switches",
          "connect eth2 to another switch", mends=False),
    Fault("one-subnet-arp", "arp", here("ip addr add 192.0.2.2/24 dev eth2"),
          "eth1: arp_ignore 0, wanted: arp_ignore 1", "sysctl -w net/ipv4/conf/eth1/arp_ignore=1",
          "eth2 is in the same subnet"),
    Fault("one-subnet-filter", "rp-filter", strict_filter,
          "eth2: rp_filter 1, wanted: rp_filter 2", "sysctl -w net/ipv4/conf/eth2/rp_filter=2",
          "since the route to 192.0.2.30 leads by eth1", also={"arp"}, after=reaches_portal),
    # NICs
    Fault("link-down", "link", here("ip link set eth2 down"),
          "eth2: state down, wanted: state up", "ip link set dev eth2 up", also={"route"}),
    Fault("no-carrier", "link", there("ip link set peer2 down"),
          r"eth2: state \w+, no carrier, wanted: state up", "ethtool eth2", "look at cable",
          mends=False),
    Fault("no-nic", "link", here("ip link del eth2"),
          "eth2: there is no such interface, wanted: an interface of this host", "ip link",
          also={"route"}, mends=False),
    Fault("half-duplex", "duplex", over(f"{DEVICES}/eth2/duplex", "half"),
          "eth2: half, wanted: full", "ethtool -s eth2 autoneg on", mends=False),
    Fault("damaged-frames", "link-errors", both(
        over(f"{DEVICES}/eth1/statistics/rx_packets", "1000000"),
        over(f"{DEVICES}/eth1/statistics/rx_crc_errors", "90")),
          "eth1: 90 frames, wanted: 1", "ethtool -S eth1", "look at cable", mends=False),
    Fault("no-segmentation", "offloads", here("ethtool -K eth1 tso off"),
          "eth1: tx-tcp-segmentation off, wanted: tx-tcp-segmentation on",
          "ethtool -K eth1 tso on", "the processor cuts data"),
    Fault("no-checksums", "offloads", here("ethtool -K eth1 tx off"),
          "eth1: tx-checksum-ip-generic off, wanted: tx-checksum-ip-generic on",
          "ethtool -K eth1 tx on", "the processor computes checksums"),
    Fault("no-scatter-gather", "offloads", here("ethtool -K eth2 sg off"),
          "eth2: tx-scatter-gather off, wanted: tx-scatter-gather on", "ethtool -K eth2 sg on"),
    Fault("no-receive-offload", "offloads", here("ethtool -K eth2 gro off"),
          "eth2: rx-gro off, wanted: rx-gro on", "ethtool -K eth2 gro on"),
    # TCP
    Fault("small-receive-buffers", "tcp-buffers",
          here(f"echo 4096 131072 6291456 > {NET}/tcp_rmem"),
          r"leg 0 path 0 tcp_rmem: 6291456 bytes, wanted: \d{8,}",
          r'sysctl -w net.ipv4.tcp_rmem="4096 131072 \d{8,}"', delay_ms=10),
    Fault("small-send-buffers", "tcp-buffers",
          here(f"echo 4096 16384 4194304 > {NET}/tcp_wmem"),
          r"leg 0 path 0 tcp_wmem: 4194304 bytes, wanted: \d{8,}",
          r'sysctl -w net.ipv4.tcp_wmem="4096 16384 \d{8,}"', delay_ms=10),
    Fault("slow-start", "slow-start", here(f"echo 1 > {NET}/tcp_slow_start_after_idle"),
          "tcp_slow_start_after_idle: 1 value, wanted: 0",
          "sysctl -w net.ipv4.tcp_slow_start_after_idle=0", "several round trips", delay_ms=5),
    Fault("congestion", "congestion", congestion("reno"),
          "leg 0 path 0: reno, wanted: cubic, or bbr", "echo cubic > .*/congestion_control",
          "many round trips", delay_ms=6, then=congestion("cubic")),
    Fault("loss", "tcp-loss", lossy, r"leg 0 path 0: \d{6,} bytes, wanted: \d{5,}",
          "ethtool -S eth1", "packets are lost on the way", delay_ms=0, mends=False),
    *(Fault(name, "tcp-options", here(f"echo 0 > {NET}/{name}"), f"{name}: 0 value, wanted: 1",
            f"sysctl -w net.ipv4.{name}=1", why)
      for name, why in (("tcp_sack", "all that followed is sent again"),
                        ("tcp_timestamps", "not measured well"),
                        ("tcp_window_scaling", "at most 64 KiB"))),
    # The volume
    Fault("timers", "timers", setting("ping_timeout_ms", "40000"),
          "leg 0 path 0 ping_timeout_ms: 40000 ms, wanted: 3000",
          "echo 3000 > .*/legs/0/paths/0/ping_timeout_ms"),
    Fault("no-fence", "fence", both(
        lambda network: network.host.put(network.host.path(0, 0, "fenced_through"), ""),
        lambda network: network.host.put(network.host.path(0, 0, "unproven"), "1: other tag")),
          "leg 0 path 0: unproven: 1: other tag, wanted: a path proven .*", "at the array",
          "newer data of their blocks are in this host.s memory", mends=False),
    Fault("scheduler", "scheduler", file(f"{QUEUE}/scheduler", "none [mq-deadline]"),
          "mq-deadline, wanted: none", "echo none > /sys/block/istripe0/queue/scheduler"),
    Fault("read-ahead", "read-ahead", file(f"{QUEUE}/read_ahead_kb", "64"),
          "65536 bytes, wanted: 262144", "echo 256 > /sys/block/istripe0/queue/read_ahead_kb"),
    Fault("short-requests", "max-sectors", file(f"{QUEUE}/max_sectors_kb", "64"),
          "65536 bytes, wanted: 131072", "echo 128 > /sys/block/istripe0/queue/max_sectors_kb"),
    Fault("chunk", "chunk", file("sys/block/istripe0/stat",
                                 "900000 0 57600000 0 100000 0 6400000 0 0 400000 999"),
          "65536 bytes, wanted: 16384", "istripectl create NEW --chunk 16K", "most of 2 legs wait",
          mends=False),
    # Names, other initiators, the host
    Fault("example-name", "initiator-name", both(
        double("iscsi-iname", ISCSI_INAME),
        file("etc/iscsi/initiatorname.iscsi", "InitiatorName=iqn.2026-01.com.example:host")),
          "/etc/iscsi/initiatorname.iscsi: iqn.2026-01.com.example:host, wanted: .*",
          r"N=\$\(iscsi-iname\) && echo \$N # have the targets admit it; then: echo Init",
          mends=False),
    Fault("name-and-isid-twice", "session-twice", volume_of_one_isid,
          "leg 0 path 0: ISID 800000000000, which volume log has, too, wanted: .*",
          "istripectl down db && echo > .*/isid && istripectl up db", once=True),
    Fault("name-of-a-second-host", "second-host", ended_again_and_again,
          "leg 0 path 0: 6 sessions ended in 10 minutes, wanted: sessions that last",
          "on other hosts: ", "another host has the initiator name iqn.2026-01.a:host",
          mends=False),
    Fault("record-at-boot", "open-iscsi-record", both(
        double("iscsiadm", ISCSIADM),
        file(f"etc/iscsi/nodes/{TARGET}/192.0.2.10,3260,1/default", "node.startup = automatic")),
          "192.0.2.10,3260,1: node.startup = automatic, wanted: node.startup = manual",
          f"iscsiadm -m node -T {TARGET} -p 192.0.2.10:3260 -o update"),
    Fault("no-file", "conf", without("etc/istripe/db.conf"),
          "no /etc/istripe/db.conf, wanted: a configuration file", "istripectl save db"),
    Fault("secret-for-all", "secret-modes",
          lambda network: (network.root / "etc/istripe/db.secret").chmod(0o644),
          "/etc/istripe/db.secret: mode 0644, wanted: mode 0600",
          "chmod 600 /etc/istripe/db.secret"),
    Fault("clock", "clock", file("fake/clock", "64"), "not synchronised, wanted: synchronised",
          "apt install chrony", mends=False),
]


def in_words(finding):
    subject = f"{finding['subject']}: " if finding["subject"] else ""
    unit = f" {finding['unit']}" if finding["unit"] else ""
    return f"{subject}{finding['measured']}{unit}, wanted: {finding['wanted']}"


def mend(network, found, fault):
    """Runs the commands of warnings, each once."""
    for command in dict.fromkeys(finding["next"] for finding in found):
        for word, value in fault.fill.items():
            command = command.replace(word, value)
        network.shell(command)
    if fault.then:
        fault.then(network)


@pytest.mark.parametrize("fault", FAULTS, ids=[fault.name for fault in FAULTS])
def test_fault_on_a_network(make_network, fault):
    network = make_network(delay_ms=fault.delay_ms)
    fault.plant(network)
    found = warnings(network)
    assert checks_of(found) == {fault.check} | fault.also
    mine = [finding for finding in found if finding["check"] == fault.check]
    assert re.fullmatch(fault.says, in_words(mine[0]))
    assert re.match(fault.next, mine[0]["next"]) and re.search(fault.why, mine[0]["why"])
    if not fault.mends:
        return
    mend(network, mine[:1] if fault.once else mine, fault)
    found = warnings(network)
    assert fault.check not in checks_of(found)
    # A change is to be saved, and one of a link concerns the others: their commands end that.
    if found:
        mend(network, found, fault)
        assert not warnings(network)
    if fault.after:
        fault.after(network)


def test_faults_are_many():
    assert len({fault.check for fault in FAULTS}) >= 20
    assert sum(fault.mends for fault in FAULTS) >= 20
