# SPDX-License-Identifier: GPL-2.0
"""An array with two target port groups, and LIO as such an array.

Each group has a portal on each of two links, so there are four ways to the LUN. The portals have
addresses of their own: a way can be lost alone.
"""

from lab import lio, network
from lab.network import NETNS
from lab.shell import read, run, write

MIB = 1 << 20
GROUPS = 2
#: Of the target port groups, as ALUA has them.
OPTIMIZED, STANDBY = 0, 2
IMPLICIT, EXPLICIT = 1, 2


class Way:
    """A portal of a group on a link; what make_volume() wants to know of a Link."""

    def __init__(self, link, group):
        self.nic = link.nic
        self.peer = link.peer
        self.group = group
        self.address = f"10.55.{link.index}.{10 + group}"
        self.port = network.ISCSI_PORT

    def portal(self, ipv6=False):
        assert not ipv6
        return f"{self.address}:{self.port}"

    def create(self):
        run("ip", "addr", "replace", f"{self.address}/32", "dev", self.peer, netns=NETNS)

    def destroy(self):
        run("ip", "addr", "del", f"{self.address}/32", "dev", self.peer, netns=NETNS, check=False)

    def lose(self):
        """The initiator's side is told, the target's is not; nobody is there any more."""
        self.destroy()
        run("ss", "-HKtn", "state", "established", "dst", self.portal())

    heal = create


def ways(links):
    """Those to the second group are the odd ones out: they come first, whatever is better."""
    return [Way(link, group) for link in links for group in reversed(range(GROUPS))]


class LioArray:
    """LIO with a portal group for each of two target port groups.

    delay_s: how long a group is in transition; the groups change one after the other.
    """

    kind = "lio"

    def __init__(self, targets, ways_to_it, iqn, size_bytes=16 * MIB, access=IMPLICIT, delay_s=0):
        self.ways = ways_to_it
        self.lun = lio.GroupedLun(size_bytes, GROUPS)
        self.stock = None
        self.explicit = access == EXPLICIT
        #: How long no group may have the LUN while it moves.
        self.transition_s = GROUPS * delay_s
        self.targets = [
            targets(lio.Target([(way.address, way.port) for way in self.ways if way.group == group],
                               [] if group else [self.lun], iqn=iqn, tpgt=group + 1,
                               params={"DefaultTime2Wait": 0}))
            for group in range(GROUPS)]
        self.targets[1].add_lun(0, self.lun)
        for target, group in zip(self.targets, self.lun.groups):
            target.join_group(0, group)
            # A group that is not optimized is slow by default.
            write(group / "nonop_delay_msecs", 0)
            write(group / "trans_delay_msecs", int(delay_s * 1000))
            write(group / "alua_access_type", access)

    @property
    def iqn(self):
        return self.targets[0].iqn

    @staticmethod
    def lun_number(index):
        return index

    def other_host(self, stock):
        """The stock initiator changes the states from now on."""
        way = next(way for way in self.ways if way.group == 0)
        self.stock = stock.login(way.portal(), self.iqn)

    def set(self, *states):
        """The states of the groups."""
        if self.explicit and self.stock:
            numbers = range(self.lun.FIRST, self.lun.FIRST + GROUPS)
            run("sg_stpg", f"--tp={','.join(map(str, numbers))}",
                f"--state={','.join(map(str, states))}", self.stock)
            return
        for group, state in zip(self.lun.groups, states):
            if read(group / "alua_access_state") != str(state):
                write(group / "alua_access_state", state)

    def states(self):
        return [int(read(group / "alua_access_state")) for group in self.lun.groups]

    def commands(self, group):
        """How many came, for whatever; those that were refused, too."""
        statistics = self.targets[group].tpg / "lun" / "lun_0" / "statistics" / "scsi_tgt_port"
        return int(read(statistics / "in_cmds"))
