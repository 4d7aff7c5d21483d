# SPDX-License-Identifier: GPL-2.0
"""fio on the disk: several at a time, each in a region of its own, again and again.

Each run writes its region at random, reads everything back and compares it. What differs, and
what fails, is counted; nothing of it may happen.
"""

import collections
import random
import re
import time
from typing import NamedTuple

from lab import fio
from lab.shell import LabError

KIB, MIB = 1 << 10, 1 << 20
#: fio's error for data that are not what was written.
EILSEQ = 84
RUN_BYTES, RUN_IOS = 8 * MIB, 200
#: A run that takes longer has lost an I/O.
RUN_TIMEOUT_S = 400


class Shape(NamedTuple):
    """How one of the regions is written. sizes: of the I/Os, one pair is drawn for each run."""

    name: str
    sizes: tuple
    options: dict


SMALL = ((512, 4 * KIB), (4 * KIB, 4 * KIB), (512, 64 * KIB), (4 * KIB, 128 * KIB))
LARGE = ((512, MIB), (4 * KIB, 256 * KIB), (64 * KIB, MIB), (256 * KIB, 4 * MIB))
SHAPES = (
    Shape("any size", LARGE, {"rw": "randwrite", "iodepth": 8}),
    Shape("flush", SMALL, {"rw": "randwrite", "iodepth": 4, "fsync": 4}),
    Shape("FUA", SMALL, {"rw": "randwrite", "iodepth": 4, "sync": 1}),
    Shape("discard", ((64 * KIB, 64 * KIB), (128 * KIB, 128 * KIB), (256 * KIB, 256 * KIB)),
          {"rw": "randtrimwrite", "iodepth": 4}),
    Shape("page cache", ((4 * KIB, 64 * KIB), (4 * KIB, 256 * KIB)),
          {"rw": "randwrite", "direct": 0, "ioengine": "sync", "end_fsync": 1, "invalidate": 1}),
)


class Region:
    """A part of the disk and the fio that is at work on it."""

    def __init__(self, shape, rng, device, offset_bytes, size_bytes):
        self.shape = shape
        self.rng = rng
        self.device = device
        self.offset_bytes = offset_bytes
        self.size_bytes = size_bytes
        self.process = None
        self.began_s = 0

    def start(self):
        least, most = self.rng.choice(self.shape.sizes)
        # No more than is done in some seconds.
        size = min(self.size_bytes, RUN_BYTES, max(RUN_IOS * (least + most) // 2, 2 * most))
        size -= size % most
        self.began_s = time.monotonic()
        self.process = fio.start(
            self.device, name=self.shape.name.replace(" ", "-"), offset=self.offset_bytes,
            size=size, bsrange=f"{least}-{most}", blockalign=least, randseed=self.rng.getrandbits(32),
            verify="crc32c", do_verify=1, verify_fatal=1, verify_dump=0, verify_state_save=0,
            **self.shape.options)

    def ended(self):
        if self.process.poll() is None and time.monotonic() - self.began_s > RUN_TIMEOUT_S:
            raise LabError(f"{self.shape.name}: fio has not ended for {RUN_TIMEOUT_S} s")
        return self.process.poll() is not None


class Load:
    """All regions. start(), then step() until nothing is to be started any more, then drain()."""

    def __init__(self, device, size_bytes, seed, shapes=SHAPES):
        share = size_bytes // len(shapes) // (4 * MIB) * (4 * MIB)
        self.regions = [Region(shape, random.Random(f"{seed} {shape.name}"), device,
                               index * share, share)
                        for index, shape in enumerate(shapes)]
        self.counts = collections.Counter(runs=0, errors=0, differences=0, bytes_written=0,
                                          bytes_verified=0, longest_ms=0)
        self.words = []

    def start(self):
        for region in self.regions:
            region.start()

    def step(self):
        """Collects the runs that have ended, and starts others."""
        for region in self.regions:
            if region.ended():
                self._collect(region)
                region.start()

    def drain(self):
        """Lets every run come to its end."""
        while any(region.process for region in self.regions):
            for region in self.regions:
                if region.process and region.ended():
                    self._collect(region)
            time.sleep(0.1)

    def kill(self):
        for region in self.regions:
            if region.process:
                region.process.kill()
                region.process.communicate()
                region.process = None

    def failed(self):
        return bool(self.counts["errors"] or self.counts["differences"])

    def _collect(self, region):
        process, region.process = region.process, None
        out, err = process.communicate()
        differences = len(re.findall(r"verify: bad|verify failed", err + out))
        try:
            result = fio.Result(out)
        except LabError as nothing:
            self._complain(region, process.returncode, f"{nothing}\n{err}")
            return
        self.counts["runs"] += 1
        self.counts["bytes_written"] += result.bytes("write")
        self.counts["bytes_verified"] += result.bytes("read")
        self.counts["longest_ms"] = max(self.counts["longest_ms"], longest_ms(result))
        if result.error() == EILSEQ or differences:
            self.counts["differences"] += max(1, differences)
            self.words.append(f"{region.shape.name}: {err[-4000:]}")
        elif process.returncode or result.error() or result.errors():
            self._complain(region, process.returncode, err)

    def _complain(self, region, code, err):
        self.counts["errors"] += 1
        self.words.append(f"{region.shape.name}: fio's exit code {code}\n{err[-4000:]}")


def longest_ms(result):
    """The longest that an I/O has taken."""
    return max(int(job[direction]["lat_ns"]["max"]) // 1000000
               for job in result.jobs for direction in ("read", "write", "trim"))
