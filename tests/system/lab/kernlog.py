# SPDX-License-Identifier: GPL-2.0
"""The kernel's log since a moment, and what in it makes a test fail."""

import errno
import os
import re

from lab.shell import write

#: Faults of the kernel, which no loss of a disk brings about, and nothing that it says when it starts.
FAULT = r"""WARNING:\s | \bBUG\b | \bOops\b | Kernel\ panic | general\ protection\ fault
    | Call\ Trace | KASAN | KFENCE | KCSAN | UBSAN | refcount_t
    | blocked\ for\ more\ than | soft\ lockup | hard\ LOCKUP | self-detected\ stall
    | detected\ stalls | circular\ locking | inconsistent\ lock\ state
    | suspicious\ RCU | scheduling\ while\ atomic | sleeping\ function\ called
    | list_(add|del)\ corruption | Bad\ page\ state | Objects\ remaining
    | unregister_netdevice:\ waiting | page\ allocation\ failure
    | still\ has\ locks | held\ lock\ freed | ODEBUG | double\ free | stack\ guard
    """

#: A line with one of these fails the test during which it was logged. How requests fail has many
#: names (blk_errors[] of block/blk-core.c): all of our disks count.
BAD = re.compile(
    FAULT + r"""| use-after-free | \bleak(s|ed)?\b
    | I/O\ error | offline\ error | critical\ [\w\ ]+\ error | Corruption | EXT4-fs\ error
    | error,\ dev\ istripe
    """,
    re.VERBOSE,
)

FAULTS = re.compile(FAULT, re.VERBOSE)
#: What stands for lines that nobody has read.
LOST = "the kernel's log was overrun: lines are missing"

#: The kernel's own lines: programs write to a console, too.
ON_CONSOLE = re.compile(rf"\[[ ]*\d+\.\d{{6}}\].*({FAULT})", re.VERBOSE)


#: That there are some is said of the whole kernel; leaks.py looks whose they are.
LEAKS = re.compile(r"kmemleak: \d+ new suspected memory leaks")

#: open-iscsi takes its sessions down on a work queue of its own, and flushes one of power
#: management from there, which some kernels warn about. Not ours to mend.
STOCK = re.compile(r"Workqueue: iscsi_ctrl_\d")
SPLAT_LINES_MAX = 120

#: Around what the kernel says of its threads when it is asked: traces that are no faults.
BLOCKED, BLOCKED_END = "what threads wait for:", "that was all"

#: What KCSAN prints stands between two of these. It watches the kernel's own races, too.
RULER = re.compile(r"={60,}$")
RACE = re.compile(r"BUG: KCSAN: ")
RACE_LINES_MAX = 80
#: Functions that do to memory what their caller wants: lists, strings and so on.
HELPER = re.compile(r"_*(list|hlist|llist|rb|refcount|bitmap|find|mem|str|crc32)")
CHANGE = re.compile(r"value changed: (0x[0-9a-f]+) -> (0x[0-9a-f]+)")
#: The task's own flags lose this one when it is scheduled away while it looks at them.
PF_BLOCK_TS = 0x20000000


def without_stock(lines):
    """The lines less the warnings that the stock initiator provokes by itself."""
    kept, at = [], 0
    while at < len(lines):
        end = at + 1
        if "WARNING:" in lines[at]:
            while (end < min(len(lines), at + SPLAT_LINES_MAX)
                   and "end trace" not in lines[end - 1]):
                end += 1
            if not any(STOCK.search(line) for line in lines[at:end]):
                end = at + 1
                kept.append(lines[at])
        else:
            kept.append(lines[at])
        at = end
    return kept


def without_blocked(lines):
    """The lines less the traces of threads that KernelLog.tell_blocked() has asked for."""
    kept, asked = [], False
    for line in lines:
        if "istripe-lab:" in line:
            asked = BLOCKED in line or (asked and BLOCKED_END not in line)
        if not (asked and "Call Trace" in line):
            kept.append(line)
    return kept


def own_flag(report):
    """Is it the flag that a task's own scheduling changes?"""
    changes = [CHANGE.search(line) for line in report]
    values = [[int(value, 16) for value in change.groups()] for change in changes if change]
    return (any("race at unknown origin" in line for line in report)
            and [before ^ after for before, after in values] == [PF_BLOCK_TS])


def own_race(report):
    """Is it the module that looks at the memory, by itself or through a helper?

    The kernel's layers have races of their own, also when it is the module that calls them.
    """
    own = ["[istripe]" in line for line in report]
    helped = any(own[at + 1] and HELPER.match(line.split()[-1])
                 for at, line in enumerate(report[:-1]))
    return (own[0] or helped) and not own_flag(report)


def without_foreign_races(lines):
    """The lines less the reports of data races in which the module has no part."""
    kept, at = [], 0
    while at < len(lines):
        end = at + 1
        if RACE.search(lines[at]):
            while (end < min(len(lines), at + RACE_LINES_MAX)
                   and not RULER.search(lines[end - 1])):
                end += 1
            if own_race(lines[at:end]):
                kept += lines[at:end]
        else:
            kept.append(lines[at])
        at = end
    return kept


def faults_on_console(path, begin=0):
    """The lines from this byte on in which the kernel tells a fault of its own; text for a verdict."""
    with open(path, "rb") as console:
        console.seek(begin)
        lines = console.read().decode(errors="replace").splitlines()
    found = [line for line in lines if ON_CONSOLE.search(line)]
    return "\n".join([f"the kernel's log, {path}:", *found]) if found else ""


class KernelLog:
    """Reads /dev/kmsg from the moment of its creation."""

    def __init__(self):
        self.fd = os.open("/dev/kmsg", os.O_RDWR | os.O_NONBLOCK)
        os.lseek(self.fd, 0, os.SEEK_END)
        self.lines = []
        self.lost = False

    def close(self):
        os.close(self.fd)

    def say(self, text):
        """Puts a line into the log, so that the console shows which test ran when."""
        os.write(self.fd, f"<6>istripe-lab: {text}\n".encode())

    def tell_blocked(self):
        """What all threads of the kernel wait for goes to the log, and to the console."""
        self.say(BLOCKED)
        write("/proc/sysrq-trigger", "w")
        self.say(BLOCKED_END)

    def read(self):
        """All lines so far, with "seconds.microseconds " in front."""
        while True:
            try:
                record = os.read(self.fd, 8192).decode(errors="replace")
            except BlockingIOError:
                return self.lines
            except OSError as err:
                if err.errno != errno.EPIPE:
                    raise
                self.lost = True
                continue
            head, _, text = record.partition(";")
            time_us = int(head.split(",")[2])
            # What follows the first line is a dictionary about the device it came from.
            self.lines.append(f"{time_us / 1e6:.6f} {text.splitlines()[0] if text else ''}")

    def matching(self, pattern):
        """The lines so far in which the regular expression is found."""
        return [line for line in self.read() if re.search(pattern, line)]

    def bad(self, allowed=(), pattern=BAD):
        """The lines that fail a test, less those that match one of the allowed expressions."""
        lines = without_foreign_races(without_stock(without_blocked(self.read())))
        return [LOST] * self.lost + [
            line
            for line in lines
            if pattern.search(line)
            and "istripe-lab:" not in line
            and not LEAKS.search(line)
            and not any(re.search(expression, line) for expression in allowed)
        ]


class Gap:
    """What the kernel says after the end of a test, until the next one starts: its log is read on.

    Only faults of the kernel itself count.
    """

    def __init__(self, log, after, allowed=()):
        self.log, self.after, self.allowed = log, after, allowed
        self.judged = set(log.lines)
        log.lost = False

    def end(self):
        """The faults, as text for a verdict."""
        bad = [line for line in self.log.bad(self.allowed, FAULTS) if line not in self.judged]
        self.log.close()
        return "\n".join([f"kernel log, after {self.after}:", *bad]) if bad else ""
