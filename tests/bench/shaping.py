# SPDX-License-Identifier: GPL-2.0
"""Makes the links of the laboratory the bottleneck: a rate, a round-trip time, a packet size."""

from lab.network import NETNS
from lab.shell import run

#: What a shaper may send at once, as time at its rate: 10 kB at 40 Mbit/s. A large burst lies: at
#: queue depth 1 an idle link would save up tokens and look many times as fast as it is.
BURST_MS = 2
#: Packets that wait for the round-trip time to pass; enough for 200 Mbit/s at 50 ms many times.
DELAYED_PACKETS = 20000


def _shape(nic, netns, mbit, delay_ms, mtu):
    run("tc", "qdisc", "del", "dev", nic, "root", netns=netns, check=False)
    run("ip", "link", "set", nic, "mtu", mtu, netns=netns)
    if not mbit:
        return
    run("tc", "qdisc", "add", "dev", nic, "root", "handle", "1:", "tbf", "rate", f"{mbit}mbit",
        "burst", mbit * 1000 // 8 * BURST_MS, "latency", "200ms", netns=netns)
    if delay_ms:
        run("tc", "qdisc", "add", "dev", nic, "parent", "1:1", "handle", "10:", "netem",
            "delay", f"{delay_ms}ms", "limit", DELAYED_PACKETS, netns=netns)


def shape(links, mbit, rtt_ms=0, mtu=1500):
    """Shapes both directions of each link; half of the round-trip time is spent in each.

    mbit: 0 takes the shaper away, and there is no round-trip time then.
    """
    run("modprobe", "-a", "sch_tbf", "sch_netem")
    for link in links:
        _shape(link.nic, None, mbit, rtt_ms / 2, mtu)
        _shape(link.peer, NETNS, mbit, rtt_ms / 2, mtu)
