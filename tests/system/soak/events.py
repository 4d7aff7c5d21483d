# SPDX-License-Identifier: GPL-2.0
"""What happens to the bed: one small class for each event, and the table of them.

To add one: a class with apply(), with undo() if it does not pass by itself, and a row in EVENTS.
"""

import errno

from lab import memory, network
from lab.settings import POLICIES
from lab.shell import read, run, write
from scripted.alua import (
    EXPLICIT,
    IMPLICIT,
    NON_OPTIMIZED,
    OPTIMIZED,
    STANDBY,
    TRANSITIONING,
    UNAVAILABLE,
)
from soak.bed import FENCES

MIB = 1 << 20
ACCESS_STATES = (OPTIMIZED, NON_OPTIMIZED, STANDBY, STANDBY, UNAVAILABLE, TRANSITIONING)


class Event:
    """One thing that happens, once.

    name: what it is counted as; weight: how often it happens, compared with the others;
    hold_s: for how long it holds at least and at most, before undo();
    place: two events of the same place never hold at a time.
    """

    name = ""
    weight = 1
    hold_s = None
    place = None

    def __init__(self, bed, rng):
        self.bed = bed
        self.rng = rng
        self.choose()

    def choose(self):
        """Decides what it happens to. Nothing has been touched yet."""

    def apply(self):
        """Does it; returns how often it has happened: 0 if there was nothing to do it to."""
        raise NotImplementedError

    def undo(self):
        """Takes it back; may be called when apply() has failed half-way."""

    def __str__(self):
        return f"{self.name} {self.place}" if self.place else self.name


class Kill(Event):
    """TCP connections are destroyed: one of them, all over one link, or all."""

    weight = 6
    by_target = False

    def choose(self):
        self.how = self.rng.choices(("one", "link", "all"), (4, 2, 1))[0]

    def ports(self):
        """Our ports of the connections to kill."""
        connections = [local for local, _ in network.established()]
        chosen = self.rng.choice(connections) if connections else ""
        if self.how == "one":
            connections = [local for local in connections if local == chosen]
        elif self.how == "link":
            address = chosen.rpartition(":")[0]
            connections = [local for local in connections if local.startswith(f"{address}:")]
        return [local.rpartition(":")[2] for local in connections]

    def apply(self):
        return network.kill_connections(self.by_target, source_ports=self.ports())


class KillHere(Kill):
    name = "connection killed, our side"


class KillThere(Kill):
    name = "connection killed, target's side"
    by_target = True


class OnLink(Event):
    """Something that happens to one of the links."""

    def choose(self):
        self.link = self.rng.choice(self.bed.links)
        self.place = self.link.nic


class LinkDown(OnLink):
    """Our NIC loses its carrier, and gets it back."""

    name = "link down, our side"
    weight = 3
    hold_s = (0.1, 3)

    def apply(self):
        self.link.set_up(False)
        return 1

    def undo(self):
        self.link.set_up(True)


class LinkDownThere(OnLink):
    name = "link down, target's side"
    weight = 3
    hold_s = (0.1, 3)

    def _set(self, state):
        run("ip", "link", "set", self.link.peer, state, netns=network.NETNS)

    def apply(self):
        self._set("down")
        return 1

    def undo(self):
        self._set("up")


class Netem(OnLink):
    """Packets have it hard, in one direction or in both."""

    hold_s = (0.5, 4)
    words = ()

    def choose(self):
        super().choose()
        self.ends = self.rng.choice(((True,), (False,), (True, False)))

    def _tc(self, ours, *words, check=True):
        run("tc", "qdisc", *words, netns=None if ours else network.NETNS, check=check)

    def apply(self):
        for ours in self.ends:
            nic = self.link.nic if ours else self.link.peer
            self._tc(ours, "replace", "dev", nic, "root", "netem", *self.words)
        return 1

    def undo(self):
        for ours in self.ends:
            nic = self.link.nic if ours else self.link.peer
            self._tc(ours, "del", "dev", nic, "root", check=False)


class Loss(Netem):
    name = "packets lost"
    weight = 2

    def choose(self):
        super().choose()
        self.words = ("loss", f"{self.rng.randint(1, 30)}%")


class Silence(Netem):
    """All packets are lost, and nobody says so."""

    name = "link silent"
    hold_s = (0.5, 6)
    words = ("loss", "100%")


class Disorder(Netem):
    name = "packets late, out of order, twice"
    words = ("delay", "20ms", "15ms", "reorder", "25%", "duplicate", "5%")


class OnTarget(Event):
    def choose(self):
        self.target = self.rng.choice(self.bed.targets)
        self.place = f"{self.target.iqn} {self.target.tpg.name}"


class TargetOff(OnTarget):
    """The portal group is disabled: its sessions end, logins are refused."""

    name = "target disabled"
    hold_s = (0.1, 3)

    def apply(self):
        self.target.enable(False)
        return 1

    def undo(self):
        self.target.enable(True)


class TargetRestart(TargetOff):
    """As when the target's service is restarted: nobody listens either."""

    name = "target restarted"

    def apply(self):
        super().apply()
        for address, port in self.target.portals:
            self.target.remove_portal(address, port)
        return 1

    def undo(self):
        for address, port in self.target.portals:
            self.target.add_portal(address, port)
        super().undo()


class AccessStates(OnTarget):
    """Each ALUA group of a LUN takes I/O as before, less willingly, or not at all.

    If none does, the initiator may ask for the LUN, and get it.
    """

    name = "ALUA states changed"
    weight = 5
    hold_s = (0.2, 5)

    def choose(self):
        super().choose()
        self.place = f"{self.target.iqn} ALUA"
        self.groups = self.target.luns[0].groups
        self.states = [self.rng.choice(ACCESS_STATES) for _ in self.groups]
        self.delay_ms = self.rng.choice((0, 0, 100, 300))

    def apply(self):
        for group, state in zip(self.groups, self.states):
            write(group / "trans_delay_msecs", self.delay_ms)
            write(group / "alua_access_state", state)
        return int(any(state != OPTIMIZED for state in self.states))

    def undo(self):
        for group, state in zip(self.groups, self.states):
            self.bed.asked_for += read(group / "alua_access_state") != str(state)
            write(group / "alua_access_state", OPTIMIZED)

    def __str__(self):
        return f"{super().__str__()}: {self.states}"


class PortOffline(OnTarget):
    """All commands are refused, also those that ask for the access state."""

    name = "LUN offline at a portal group"
    weight = 3
    hold_s = (0.2, 4)

    def choose(self):
        super().choose()
        self.place += " offline"

    def _set(self, offline):
        write(self.target.tpg / "lun" / "lun_0" / "alua_tg_pt_offline", offline)

    def apply(self):
        self._set(1)
        return 1

    def undo(self):
        self._set(0)


class Setting(Event):
    """A file of configfs gets another value, and keeps it."""

    weight = 2

    def files(self):
        """(file, value) pairs."""
        raise NotImplementedError

    def apply(self):
        try:
            for file, value in self.files():
                write(file, value)
        except OSError as error:
            # Of a path that comes or goes just now.
            if error.errno != errno.EBUSY:
                raise
            return 0
        return 1


class Policy(Setting):
    name = "policy changed"

    def files(self):
        yield self.rng.choice(self.bed.leg_dirs()) / "policy", self.rng.choice(POLICIES)


class Fence(Setting):
    name = "fence changed"
    weight = 1

    def files(self):
        yield self.rng.choice(self.bed.leg_dirs()) / "fence", self.rng.choice(FENCES)


class Weight(Setting):
    name = "weight changed"

    def files(self):
        yield self.rng.choice(self.bed.path_dirs()) / "weight", self.rng.randint(1, 10)


class PathTimers(Setting):
    name = "timers of a path changed"

    def files(self):
        path = self.rng.choice(self.bed.path_dirs())
        for name, least, most in (("ping_interval_ms", 300, 3000), ("ping_timeout_ms", 1500, 5000),
                                  ("login_timeout_ms", 3000, 15000)):
            yield path / name, self.rng.randint(least, most)


class Preferred(Setting):
    """Of the ALUA groups of a LUN, one."""

    name = "preferred bit moved"

    def files(self):
        groups = self.rng.choice(self.bed.targets).luns[0].groups
        preferred = self.rng.choice(groups)
        for group in groups:
            yield group / "preferred", int(group == preferred)


class AccessType(Setting):
    """Whether the initiator may ask for the LUN. That of the target may always change states."""

    name = "ALUA type changed"

    def files(self):
        group = self.rng.choice(self.rng.choice(self.bed.targets).luns[0].groups)
        yield group / "alua_access_type", self.rng.choice((IMPLICIT, IMPLICIT | EXPLICIT))


class CommandTimer(Setting):
    name = "command timeout changed"
    weight = 1

    def files(self):
        yield self.bed.volume.config / "command_timeout_ms", self.rng.randint(5000, 60000)


class RequestSize(Event):
    """The block layer waits for all I/O first."""

    name = "largest request changed"
    weight = 2

    def apply(self):
        queue = self.bed.volume.sysfs().parent / "queue"
        size = min(self.rng.choice((64, 128, 256, 512, 1024, 4096)),
                   int(read(queue / "max_hw_sectors_kb")))
        return self.bed.clerk.order(f"echo {size} > {queue}/max_sectors_kb")


class PathAway(Event):
    """A path is taken out, and added again. The last one that is live stays: then it is tried
    until another one is."""

    name = "path removed and added"
    weight = 3

    def apply(self):
        path = self.rng.choice(self.bed.path_dirs())
        tried = "until echo {} > {}/enable; do sleep 0.2; done"
        return self.bed.clerk.order(f"{tried.format(0, path)}; sleep {self.rng.uniform(0.1, 2):.1f}; "
                                    f"{tried.format(1, path)}")


class DropCaches(Event):
    name = "caches dropped"

    def apply(self):
        # What is written may wait for a link that only we can heal: not in this process.
        return self.bed.clerk.order("sync; echo 3 > /proc/sys/vm/drop_caches")


class MemoryShort(Event):
    """Nearly all memory is taken: whoever wants some has to find it."""

    name = "memory short"
    place = "memory"
    hold_s = (3, 8)

    def choose(self):
        self.hog = memory.Hog(96 * MIB)

    def apply(self):
        self.hog.start()
        return 1

    def undo(self):
        self.hog.stop()


#: All that can happen.
EVENTS = (KillHere, KillThere, LinkDown, LinkDownThere, Loss, Silence, Disorder, TargetOff,
          TargetRestart, AccessStates, PortOffline, Preferred, AccessType, Policy, Fence, Weight,
          PathTimers, CommandTimer, RequestSize, PathAway, DropCaches, MemoryShort)
KILLS = (KillHere, KillThere)
