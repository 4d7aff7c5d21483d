# SPDX-License-Identifier: GPL-2.0
"""The guest's side of profile/plugin.c: what each processor executes in a window, exactly.

The emulator must have been started with the plugin and with the kernel's parameter iomem=relaxed.
"""

import ctypes
import itertools
import mmap
import os
from pathlib import Path
from typing import NamedTuple

from lab.shell import read

#: nopl MAGIC(%rax); ret: see plugin.c.
OPEN = bytes.fromhex("0f1f8031545349 c3")
CLOSE = bytes.fromhex("0f1f8032545349 c3")
#: The kernel's functions that copy and clear, with the instructions that they take for 8 bytes on
#: a processor without fast string operations. On one that has them, all do the same.
COPIES = {"memcpy_orig": 3, "rep_movs_alternative": 21 / 8, "memset_orig": 12 / 8,
          "clear_page_orig": 10 / 8}
#: Functions whose calls are counted.
CALLS = {"switches": ("__switch_to_asm",),
         "sends": ("tcp_sendmsg_locked",),
         "acks": ("__tcp_send_ack.part.0",),
         "cross_calls": ("sysvec_call_function_single", "sysvec_call_function",
                         "sysvec_reschedule_ipi")}


class Sums(NamedTuple):
    """instructions: as if all stacks copied alike; executed: as they are; calls: see CALLS."""

    instructions: float
    executed: int
    calls: dict


def symbols():
    """The kernel's code: addresses and names, in order."""
    found = []
    for line in Path("/proc/kallsyms").read_text(encoding="ascii").splitlines():
        address, kind, name = line.split()[:3]
        if kind in "tTwW":
            found.append((int(address, 16), name))
    return sorted(found)


def code(instructions):
    """A function of these instructions, and the memory that it is in."""
    memory = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    memory.write(instructions)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    return ctypes.CFUNCTYPE(None)(address), memory


class Counter:
    """Counts for one processor, or for several together."""

    def __init__(self, folder, processors=(0,)):
        self.folder = Path(folder)
        self.processors = processors
        self.open, self.open_code = code(OPEN)
        self.close, self.close_code = code(CLOSE)
        wanted = {*COPIES, *(name for names in CALLS.values() for name in names)}
        all_code = symbols()
        lines = [f"{first:x} {behind:x} {name}"
                 for (first, name), (behind, _) in itertools.pairwise(all_code) if name in wanted]
        (self.folder / "functions").write_text("\n".join(lines) + "\n", encoding="ascii")

    def sums(self):
        """What was counted between open() and close()."""
        found = {}
        for line in read(self.folder / "sums").splitlines():
            name, *numbers = line.split()
            instructions, calls = (
                sum(int(numbers[2 * cpu + which]) for cpu in self.processors) for which in (0, 1))
            found[name] = (instructions, calls)
        executed = found["all"][0]
        saved = sum(found[name][0] * (1 - 1 / each) for name, each in COPIES.items()
                    if name in found)
        calls = {what: sum(found.get(name, (0, 0))[1] for name in names)
                 for what, names in CALLS.items()}
        return Sums(executed - saved, executed, calls)

    def keep(self, what, ios):
        """Leaves the counts of the last window, which were for so many I/Os, to profile/report.py."""
        name = what.replace(" ", "-")
        (self.folder / "counts").rename(self.folder / f"{name}.counts")
        (self.folder / f"{name}.ios").write_text(str(ios), encoding="ascii")
        # By now the module is there.
        (self.folder / "kallsyms").write_text(
            Path("/proc/kallsyms").read_text(encoding="ascii"), encoding="ascii")


class Slices:
    """Lets the emulator change processors every few microseconds, not only when one halts.

    A timer of the HPET runs whose interrupt is off: the emulator returns to its main loop for it.
    """

    HPET, TIMER, TICKS_PER_US = 0xFED00000, 0x140, 100
    COUNTER, COMPARE = 0xF0, TIMER + 8
    #: Periodic, with the first time to be set, 32 bits.
    START, STOP = 0x08 | 0x40 | 0x100, 0x100

    def __init__(self, us):
        self.us = us
        device = os.open("/dev/mem", os.O_RDWR | os.O_SYNC)
        try:
            memory = mmap.mmap(device, mmap.PAGESIZE, offset=self.HPET)
        finally:
            os.close(device)
        self.register = {at: ctypes.c_uint32.from_buffer(memory, at)
                         for at in (self.COUNTER, self.TIMER, self.COMPARE)}

    def __enter__(self):
        period = self.us * self.TICKS_PER_US
        self.register[self.TIMER].value = self.START
        self.register[self.COMPARE].value = (self.register[self.COUNTER].value + period) & 0xFFFFFFFF
        self.register[self.COMPARE].value = period

    def __exit__(self, *error):
        """A period so long that it does not come."""
        self.register[self.TIMER].value = self.START
        self.register[self.COMPARE].value = (self.register[self.COUNTER].value - 1) & 0xFFFFFFFF
        self.register[self.TIMER].value = self.STOP
