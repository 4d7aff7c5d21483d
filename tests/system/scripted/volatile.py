# SPDX-License-Identifier: GPL-2.0
"""A disk that loses what was not flushed when its power is cut.

What the initiator reads is always what it has written last. Beside that the disk keeps, of every
block that only its cache has, what the medium has. A cut brings that back: for all such blocks or,
as a cache writes them in any order, for some.
"""

from scripted.scsi import Disk


class VolatileDisk(Disk):
    """Without write_cache everything is durable at once.

    whole_blocks: as many blocks, aligned, are lost together or not at all.
    """

    def __init__(self, *args, whole_blocks=1, **options):
        super().__init__(*args, **options)
        self.whole_blocks = whole_blocks
        self.cached = {}                # block: what the medium has
        self.fua_writes = 0
        self.dropped = 0                # blocks, by all cuts

    def _blocks(self, at, size):
        return range(at // self.block_bytes, (at + size) // self.block_bytes)

    def _medium(self, block):
        at = block * self.block_bytes
        return bytes(self.data[at:at + self.block_bytes])

    def store(self, at, data, fua=False):
        self.fua_writes += fua
        for block in self._blocks(at, len(data)):
            if fua or not self.write_cache:
                self.cached.pop(block, None)
            elif block not in self.cached:
                self.cached[block] = self._medium(block)
        super().store(at, data, fua)

    def flush(self):
        super().flush()
        self.cached.clear()

    def cut(self, rng, share=1.0):
        """The power fails: each cached block is lost with this probability; returns how many."""
        lost = 0
        whole = {}
        for block, medium in self.cached.items():
            unit = block // self.whole_blocks
            if unit not in whole:
                whole[unit] = rng.random() < share
            if whole[unit]:
                at = block * self.block_bytes
                self.data[at:at + self.block_bytes] = medium
                lost += 1
        self.cached.clear()
        self.dropped += lost
        return lost
