# SPDX-License-Identifier: GPL-2.0
"""What the soak lies on: targets, links, and one volume over all of them."""

import itertools

from lab import istripe, lio, network, storage
from lab.shell import read, wait_for, write
from soak.clerk import Clerk

MIB = 1 << 20
FENCES = ("path", "auto")
#: A lost path is missed soon, and tried again at once.
PATH = {"default_time2wait": 0, "ping_interval_ms": 1000, "ping_timeout_ms": 3000,
        "login_timeout_ms": 5000}
COUNTERS = {"reconnects": "legs/*/paths/*/reconnects", "faults": "legs/*/paths/*/faults",
            "redriven": "legs/*/redriven", "retried": "legs/*/retried"}


class Bed:
    """Made with create(), gone with destroy(), which may be called at any time."""

    def __init__(self, legs=4, paths=2, lun_bytes=32 * MIB, chunk_bytes=64 << 10):
        self.network = network.Network(links=paths)
        self.links = self.network.links
        of_legs = [self.targets_of(leg, lun_bytes) for leg in range(legs)]
        #: Portal groups.
        self.targets = list(itertools.chain(*of_legs))
        first, *rest = [self.paths_of(targets[0]) for targets in of_legs]
        # The loss of all paths is a part of the soak: I/O waits until one is back.
        self.volume = istripe.Volume("soak", first[0], more_paths=first[1:],
                                     more_legs=[paths[0] for paths in rest],
                                     chunk_bytes=chunk_bytes, recovery_timeout_ms=-1)
        self.more_paths = {leg: paths[1:] for leg, paths in enumerate(rest, 1)}
        self.device = None
        self.clerk = Clerk()
        #: How often the initiator has asked for a LUN, as far as it was seen.
        self.asked_for = 0

    def targets_of(self, leg, lun_bytes):
        """Of an odd leg each portal has a portal group and a target port group of its own."""
        portals = [(link.address, network.ISCSI_PORT) for link in self.links]
        groups = [[portal] for portal in portals] if leg % 2 else [portals]
        lun = lio.GroupedLun(lun_bytes, len(groups))
        return [lio.Target(group, [lio.SameLun(lun) if index else lun], iqn=f"{lio.IQN}{leg}",
                           tpgt=index + 1, params={"DefaultTime2Wait": 0})
                for index, group in enumerate(groups)]

    def paths_of(self, target):
        return [{"portal": link.portal(), "nic": link.nic, "target_name": target.iqn,
                 "lun": target.lun_number(0), **PATH} for link in self.links]

    def create(self):
        self.network.create()
        storage.prepare()
        lio.prepare()
        istripe.load()
        for target in self.targets:
            target.create()
            group = target.luns[0].groups[target.tpgt - 1]
            target.join_group(0, group)
            # A group that is not optimized is slow by default.
            write(group / "nonop_delay_msecs", 0)
        self.volume.create()
        for leg, paths in self.more_paths.items():
            for number, settings in enumerate(paths, 1):
                self.volume.add_path(number, settings, leg)
        self.device = self.volume.enable()
        return self

    def destroy(self):
        self.clerk.kill()
        self.volume.delete()
        # The LUN goes with the first one.
        for target in reversed(self.targets):
            target.destroy()
        istripe.unload()
        self.network.destroy()

    # Where things are

    def leg_dirs(self):
        """The configfs directory of every leg."""
        return sorted(self.volume.config.glob("legs/*"))

    def path_dirs(self):
        """The configfs directory of every path."""
        return sorted(self.volume.config.glob("legs/*/paths/*"))

    def state(self):
        return read(self.volume.sysfs() / "state")

    def wait_live(self, timeout_s=180):
        wait_for("all paths to be live", lambda: self.state() == "live", timeout_s)

    def counters(self):
        """What the volume has counted, over all its legs and paths."""
        counted = {name: sum(int(read(file)) for file in self.volume.sysfs().glob(pattern))
                   for name, pattern in COUNTERS.items()}
        return {**counted, "asked_for": self.asked_for}
