# SPDX-License-Identifier: GPL-2.0
"""The volumes whose power is cut: what they are made of, what must be on them, what was found."""

import collections
from typing import NamedTuple

from lab import outside
from records import KINDS, lost
from scripted.scenario import Scenario
from scripted.server import Server
from scripted.volatile import VolatileDisk

MIB = 1 << 20
LEG_BYTES = 64 * MIB
LEGS = 2
#: Who writes in the first, second, ... boot; another volume begins with another one. A flush for
#: one file makes the others' blocks durable, too: to prove FUA there must be none.
TURNS = (("append", "ring"), ("ring",), ("append",))
#: ext4 checks the sum of its superblock, which has two sectors, before it looks at its journal, so a
#: disk that loses one of the two can be mounted only after e2fsck: 4 KiB are lost together.
EXT4_WHOLE_BLOCKS = 8
#: Each writer has done so many records before the cut.
RECORDS_MIN = 3


class Setup(NamedTuple):
    """A volume. luns: of tgtd; without them its legs are scripted targets."""

    name: str
    fs: str
    cache: bool
    luns: tuple = ()


SETUPS = (
    Setup("xfs-cache", "xfs", True),
    Setup("ext4-cache", "ext4", True),
    Setup("xfs-through", "xfs", False),
    Setup("ext4-tgt-cache", "ext4", True, outside.WITH_CACHE),
    Setup("xfs-tgt-through", "xfs", False, outside.WITHOUT_CACHE),
)


class Volume:
    """What is known of a volume, and what its legs are."""

    def __init__(self, index, setup):
        self.setup = setup
        self.turn = index
        self.kinds = ()
        self.fresh = True
        self.servers = []
        self.acknowledged = collections.Counter()       # kind: records, in this boot
        self.before = {kind.name: 0 for kind in KINDS}  # in the boot before this one
        self.counts = collections.Counter(records=0, beyond=0, lost=0, dropped=0)
        if setup.luns:
            self.places = [(outside.PORTAL, outside.IQN, lun) for lun in setup.luns]
        else:
            self.places = [self.serve(index * LEGS + leg) for leg in range(LEGS)]

    def serve(self, number):
        server = Server(outside.ADDRESS).start()
        server.load(Scenario("volatile", settings={"depth": 64}), VolatileDisk,
                    size_bytes=LEG_BYTES, identity=f"6001405{number:025x}",
                    write_cache=self.setup.cache,
                    whole_blocks=EXT4_WHOLE_BLOCKS if self.setup.fs == "ext4" else 1)
        self.servers.append(server)
        return server.portal, server.target.settings.name, 0

    def orders(self):
        return {"name": self.setup.name, "fs": self.setup.fs, "fresh": self.fresh,
                "legs": self.places, "kinds": self.kinds}

    def begin(self):
        """Another boot: what it has to find is what was acknowledged in the last one."""
        self.before = {kind.name: self.acknowledged[kind.name] for kind in KINDS}
        self.acknowledged.clear()
        self.kinds = TURNS[self.turn % len(TURNS)]
        self.turn += 1

    def found(self, kind, numbers):
        before = self.before.pop(kind)
        there = max(numbers, default=-1) + 1
        self.counts["records"] += before
        self.counts["beyond"] += max(0, there - before)
        self.counts["lost"] += lost(kind, before, numbers)

    def busy(self):
        return all(self.acknowledged[kind] >= RECORDS_MIN for kind in self.kinds)

    def cut(self, rng):
        # A cache writes in any order: what is in it may be lost in part.
        share = rng.choice((1.0, 1.0, 0.5))
        for server in self.servers:
            self.counts["dropped"] += server.cut(rng, share)

    def result(self):
        disks = [server.target.disk for server in self.servers]
        return {
            "volume": self.setup.name, "fs": self.setup.fs, "write_cache": self.setup.cache,
            "target": "tgt" if self.setup.luns else "scripted", **self.counts,
            "flushes": sum(disk.flushes for disk in disks),
            "fua": sum(disk.fua_writes for disk in disks),
            "violations": [line for server in self.servers for line in server.violations()],
        }
