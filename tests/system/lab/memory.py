# SPDX-License-Identifier: GPL-2.0
"""Memory that is short: a process that holds nearly all of it, and one that has to be swapped."""

import subprocess
import sys
from pathlib import Path

from lab.shell import LabError, read, wait_for, write

MIB = 1 << 20

#: Takes memory until only so much is available, and takes more when others give some back. What
#: it holds is touched, and the first that the kernel would kill.
HOG = """
import mmap, sys, time
leave_kib, chunk = int(sys.argv[1]), int(sys.argv[2])

def available_kib():
    with open("/proc/meminfo") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("MemAvailable"))

with open("/proc/self/oom_score_adj", "w") as file:
    file.write("1000")
held = []
while True:
    if available_kib() > leave_kib + chunk // 1024:
        held.append(mmap.mmap(-1, chunk, flags=mmap.MAP_PRIVATE | mmap.MAP_POPULATE))
    else:
        time.sleep(0.1)
"""


def available_bytes():
    """What could be allocated without swapping, by the kernel's estimate."""
    for line in read("/proc/meminfo").splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) << 10
    raise LabError("/proc/meminfo has no MemAvailable")


class Hog:
    """Leaves leave_bytes of the memory to all others, from full() on until stop()."""

    def __init__(self, leave_bytes, chunk_bytes=4 * MIB):
        self.leave_bytes = leave_bytes
        self.chunk_bytes = chunk_bytes
        self.process = None

    def start(self):
        self.process = subprocess.Popen(
            [sys.executable, "-c", HOG, str(self.leave_bytes >> 10), str(self.chunk_bytes)])
        return self

    def alive(self):
        return self.process is not None and self.process.poll() is None

    def full(self, timeout_s=120):
        """Waits until memory is short."""
        wait_for("memory to be short", lambda: not self.alive() or
                 available_bytes() < self.leave_bytes + 2 * self.chunk_bytes, timeout_s)
        if not self.alive():
            raise LabError("the process that holds the memory has been killed")

    def stop(self):
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None


#: Writes more pages than there is memory for, reads them back at random, writes them anew.
SWAPPER = """
import array, mmap, random, struct, sys, time
pages = int(sys.argv[1])
rng = random.Random(int(sys.argv[3]))
memory = mmap.mmap(-1, pages * 4096, flags=mmap.MAP_PRIVATE)
turns = array.array("I", bytes(4 * pages))

def content(page):
    return struct.pack("<QQ", page, turns[page]) * 256

def write(page):
    turns[page] += 1
    memory[page * 4096:(page + 1) * 4096] = content(page)

def check(page):
    if memory[page * 4096:(page + 1) * 4096] != content(page):
        sys.exit(f"page {page} is not what was written in turn {turns[page]}")

for page in range(pages):
    write(page)
visited = 0
end = time.monotonic() + float(sys.argv[2])
while time.monotonic() < end:
    page = rng.randrange(pages)
    check(page)
    write(page)
    visited += 1
for page in range(pages):
    check(page)
print(visited)
"""


class Group:
    """A cgroup whose processes should have so much memory; the rest must be swapped.

    Not memory.max: all that a group has may be on its way to a disk whose connections are away
    just now, and then the kernel waits for a while only, and kills. io_max: a line for that file;
    data that its processes have made dirty count when they are written.
    """

    ROOT = Path("/sys/fs/cgroup")

    def __init__(self, name, limit_bytes="max", io_max=None):
        self.path = self.ROOT / name
        self.limit_bytes = limit_bytes
        self.io_max = io_max

    def __enter__(self):
        # The kernel writes back for a cgroup where it has both.
        write(self.ROOT / "cgroup.subtree_control", "+memory +io" if self.io_max else "+memory")
        self.path.mkdir()
        write(self.path / "memory.high", self.limit_bytes)
        if self.io_max:
            write(self.path / "io.max", self.io_max)
        return self

    def __exit__(self, *_):
        self.path.rmdir()

    def add_self(self):
        """For the child, between fork() and exec()."""
        write(self.path / "cgroup.procs", 0)


def swap_back_and_forth(size_bytes, seconds, group=None, seed=1):
    """Uses so much memory for so long and compares what it reads; returns the pages visited."""
    done = subprocess.run(
        [sys.executable, "-c", SWAPPER, str(size_bytes // 4096), str(seconds), str(seed)],
        capture_output=True, text=True, timeout=20 * seconds + 900, check=False,
        preexec_fn=group.add_self if group else None)
    if done.returncode:
        raise LabError(f"memory is wrong: code {done.returncode}: {done.stderr[-2000:]}")
    return int(done.stdout)


def swapped_pages():
    """Pages that have gone to swap and come back since the boot."""
    counts = dict(line.split() for line in read("/proc/vmstat").splitlines())
    return int(counts["pswpout"]), int(counts["pswpin"])
