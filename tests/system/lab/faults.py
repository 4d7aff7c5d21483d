# SPDX-License-Identifier: GPL-2.0
"""What fails on command (debug kernel): allocations, below the module's functions only, and what
the module has places for.
"""

import contextlib
from pathlib import Path

from lab.shell import read, write

DEBUGFS = Path("/sys/kernel/debug")
#: What fault injection looks at of a stack; the most it can.
STACK_DEPTH = 32


def module_range(module="istripe"):
    """First address of the module's code, and one behind its last."""
    for line in read("/proc/modules").splitlines():
        name, size, _, _, _, address = line.split()[:6]
        if name == module:
            return int(address, 16), int(address, 16) + int(size)
    raise LookupError(f"{module} is not loaded")


class Injector:
    """One of the kernel's points of fault injection."""

    def __init__(self, name, **settings):
        self.directory = DEBUGFS / name
        self.settings = settings

    def set(self, name, value):
        write(self.directory / name.replace("_", "-"), value)

    def start(self, times, percent=100, interval=1):
        """Of the allocations below the module every `interval`th fails with this probability."""
        start, end = module_range()
        self.stop()
        for name, value in {
            "verbose": 0, "task_filter": "N", "space": 0, "stacktrace_depth": STACK_DEPTH,
            "require_start": f"{start:#x}", "require_end": f"{end:#x}", **self.settings, "interval": interval, "times": times, "probability": percent,
        }.items():
            self.set(name, value)

    def stop(self):
        self.set("probability", 0)

    def left(self):
        """How many of the faults are still to come."""
        return int(read(self.directory / "times"), 0)


#: kmalloc, caches of objects.
SLAB = Injector("failslab", cache_filter="N", ignore_gfp_wait="N")
#: Pages, single ones included.
PAGES = Injector("fail_page_alloc", min_order=0, ignore_gfp_highmem="N", ignore_gfp_wait="N")
#: The module's own: transport/inject.h.
CONNECT, LOGIN, SEND, RECEIVE, DIGEST = OWN = [
    Injector(f"istripe/fail_{name}") for name in ("connect", "login", "send", "receive", "digest")]


def available():
    return SLAB.directory.is_dir() and PAGES.directory.is_dir()


@contextlib.contextmanager
def injected(injector, times, **how):
    injector.start(times, **how)
    try:
        yield injector
    finally:
        injector.stop()
