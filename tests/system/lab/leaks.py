# SPDX-License-Identifier: GPL-2.0
"""What may be left behind: memory of slabs, module references, threads."""

import re
import time
from pathlib import Path

from lab.shell import read, run, udev_settle, write

KMEMLEAK = Path("/sys/kernel/debug/kmemleak")


def loaded(module="istripe"):
    return Path(f"/sys/module/{module}").exists()


def references(module="istripe"):
    """How many users the module has; configfs counts one while a volume exists."""
    return int(read(f"/sys/module/{module}/refcnt"))


def settle():
    """Gives deferred frees (RCU, work items) their time and empties the caches."""
    run("sync")
    write("/proc/sys/vm/drop_caches", 3)
    udev_settle()


def memory_kib():
    """Unreclaimable slab, vmalloc, per-CPU and page-table memory: what a leaking module eats."""
    wanted = ("SUnreclaim", "VmallocUsed", "Percpu", "KernelStack")
    sizes = {}
    for line in read("/proc/meminfo").splitlines():
        name, _, rest = line.partition(":")
        if name in wanted:
            sizes[name] = int(rest.split()[0])
    return sizes


def threads():
    """Kernel threads and workqueue rescuers that carry the module's name.

    A shared worker ("kworker/0:1H-name") shows the name of the last queue it worked for, even when
    that queue is long gone; a rescuer ("kworker/R-name" or "name") belongs to its queue.
    """
    names = []
    for comm in Path("/proc").glob("[0-9]*/comm"):
        try:
            name = read(comm)
        except OSError:
            continue
        if "istripe" in name and not re.match(r"kworker/(\d|u)", name):
            names.append(name)
    return names


#: A function of the module, or one that belongs to a module that is not loaded any more.
OURS = re.compile(r"\[istripe\]|^ +0xffffffff[a-f][0-9a-f]{7}$", re.MULTILINE)
#: kmemleak does not speak of what is younger.
LEAK_AGE_S = 6


def kmemleak():
    """Scans twice; what kmemleak suspects the module of. None if this kernel has no kmemleak."""
    if not KMEMLEAK.exists():
        return None
    time.sleep(LEAK_AGE_S)
    write(KMEMLEAK, "scan")
    write(KMEMLEAK, "scan")
    parts = re.split(r"(?=^unreferenced object)", read(KMEMLEAK), flags=re.MULTILINE)
    return [part for part in parts if OURS.search(part)]


def kmemleak_clear():
    if KMEMLEAK.exists():
        write(KMEMLEAK, "clear")
