# SPDX-License-Identifier: GPL-2.0
"""What fio does: one Job is one row of a table."""

import re
from typing import NamedTuple

from lab.shell import LabError, read

KIB = 1 << 10
MIB = 1 << 20


def size_text(size):
    return f"{size // MIB}m" if size >= MIB else f"{size // KIB}k"


class Completed(NamedTuple):
    """Sectors that a disk has read and written since it is there."""

    read: int
    written: int

    @classmethod
    def of(cls, disk):
        fields = read(f"/sys/block/{disk}/stat").split()
        return cls(int(fields[2]), int(fields[6]))

    def since(self, first):
        return Completed(self.read - first.read, self.written - first.written)

    @property
    def bytes(self):
        return (self.read + self.written) * 512


class Job(NamedTuple):
    """A pattern, the size of its requests and how many are outstanding.

    rw: as in fio. write_bytes: size of the writes of a mixed pattern, half of whose requests are
    reads of block_bytes. sizes: what requests of several sizes have, each as often as the others;
    block_bytes is their mean. batch: how many are submitted, and waited for, at a time. polled:
    through io_uring, and where the disk can do that its submitter polls for the answers. workers: as
    many threads do this, each on a processor of its own. sync: each write is to last, as with
    O_DSYNC.
    """

    rw: str
    block_bytes: int
    depth: int
    write_bytes: int = 0
    sizes: tuple = ()
    batch: int = 0
    polled: bool = False
    workers: int = 1
    sync: bool = False

    @property
    def name(self):
        size = "mix" if self.sizes else size_text(self.block_bytes)
        if self.write_bytes:
            size += f"/{size_text(self.write_bytes)}"
        more = (f" batch{self.batch}" if self.batch else "") + (" poll" if self.polled else "") \
            + (" sync" if self.sync else "")
        return f"{self.rw} {size} qd{self.depth}{more}"

    @property
    def parts(self):
        """How many bytes of an average request are read and how many are written."""
        if self.write_bytes:
            return self.block_bytes / 2, self.write_bytes / 2
        return (self.block_bytes, 0) if "read" in self.rw else (0, self.block_bytes)

    def ios(self, done):
        """The number of requests that Completed sectors are; splits and merges do not matter."""
        return (done.read * 512 / self.block_bytes
                + done.written * 512 / (self.write_bytes or self.block_bytes))

    def fio(self, can_poll=False):
        """Options of fio: runs until it is told to stop."""
        options = {"bs": self.block_bytes}
        if self.write_bytes:
            options = {"bs": f"{self.block_bytes},{self.write_bytes}"}
        if self.sizes:
            percent = 100 // len(self.sizes)
            options = {"bssplit": ":".join(f"{size}/{percent}" for size in self.sizes)}
        if self.batch:
            options |= {"iodepth_batch": self.batch, "iodepth_batch_complete_min": self.batch}
        if self.sync:
            options |= {"sync": "dsync"}
        if self.polled:
            options |= {"ioengine": "io_uring", **({"hipri": True} if can_poll else {})}
        if self.workers > 1:
            options |= {"numjobs": self.workers, "thread": True, "group_reporting": True,
                        "cpus_allowed": f"0-{self.workers - 1}", "cpus_allowed_policy": "split"}
        return {"name": "bench", "rw": self.rw, **options, "iodepth": self.depth,
                "time_based": True, "norandommap": True, "runtime": 36000}


def matrix(patterns, sizes, depths):
    return tuple(Job(rw, size, depth) for rw in patterns for size in sizes for depth in depths)


def blend(rw, sizes, depth):
    return Job(rw, sum(sizes) // len(sizes), depth, sizes=sizes)


def mixed(depth):
    """Reads and writes half and half, sequential, the sizes of a paper on 10 GbE against FC."""
    pairs = ((4, 4), (4, 8), (4, 16), (8, 16), (16, 32), (32, 64), (32, 128), (64, 128),
             (256, 512), (512, 1024), (1024, 1024))
    return tuple(Job("rw", first * KIB, depth, second * KIB) for first, second in pairs)


def chosen(setups, pattern):
    """Pairs of a setup and those of its jobs that shall run; LabError when there is none.

    A setup has a name, jobs and more_jobs; the latter run only when the pattern, a regular
    expression that is searched for in "setup job", finds them.
    """
    found = []
    for setup in setups:
        if pattern:
            jobs = [job for job in setup.jobs + setup.more_jobs
                    if re.search(pattern, full_name(setup, job))]
        else:
            jobs = list(setup.jobs)
        if jobs:
            found.append((setup, jobs))
    if not found:
        raise LabError(f"no job matches {pattern}; --list shows all of them")
    return found


def full_name(setup, job):
    return f"{setup.name} {job.name}".strip()


def print_list(setups):
    for setup in setups:
        print(setup.text)
        for jobs, mark in ((setup.jobs, ""), (setup.more_jobs, "   (with --jobs only)")):
            for job in jobs:
                print(f"  {full_name(setup, job)}{mark}")
