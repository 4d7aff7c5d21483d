# SPDX-License-Identifier: GPL-2.0
"""Runs in the virtual machine of tests/vm/bench and measures what an I/O costs.

The guest's clock counts instructions: on its one processor a nanosecond that is not idle is one
instruction. In each round fio runs, and a window in the middle is measured: time, idle time and
the sectors that the disk has completed, at its beginning and its end. So fio's start and end do
not count, and neither do merges and splits of requests.
"""

import argparse
import sys
import time
from typing import NamedTuple

import counter
import measure
from jobs import KIB, MIB, Completed, Job, chosen, full_name, mixed, print_list
from lab import network
from lab.shell import LabError, read
from stacks import Layout, NullBlk, Place, say

LUN = 1
#: fio runs for this long before the window that is measured.
RAMP_S = 0.1
#: Fewer I/Os than this in a window say nothing: it is extended, up to WINDOWS_MAX times.
IOS_MIN = 40
WINDOWS_MAX = 10
#: /proc/stat counts in hundredths of a second.
STAT_NS = 10_000_000


class Setup(NamedTuple):
    """Rows that belong together. goal: the share of the stock stack's cost to stay below."""

    name: str
    text: str
    legs: int
    jobs: tuple
    more_jobs: tuple = ()
    goal: float = None


FIRST = (
    Job("randread", 4 * KIB, 1),
    Job("randread", 4 * KIB, 32),
    Job("randwrite", 4 * KIB, 1),
    Job("randwrite", 4 * KIB, 32),
    Job("read", 128 * KIB, 8),
    Job("write", 128 * KIB, 8),
    Job("read", MIB, 4),
    Job("write", MIB, 4),
)
COST = (
    Job("randread", 4 * KIB, 1),
    Job("randread", 4 * KIB, 32),
    Job("randwrite", 4 * KIB, 32),
    Job("read", 64 * KIB, 8),
    Job("write", 64 * KIB, 8),
    Job("read", MIB, 4),
    Job("write", MIB, 4),
)
BATCH = Job("randread", 4 * KIB, 32, batch=16)
MORE = (Job("randread", 512, 32), Job("randwrite", 4 * KIB, 1), BATCH, *mixed(8))

SETS = {
    "first": (Setup("", "one LUN over one NIC", 1, FIRST, (BATCH,)),),
    "cpu": (
        Setup("legs4", "4 LUNs over 4 NICs, chunk 64 KiB; stock: iscsi_tcp and dm-stripe",
              4, COST, MORE, 0.5),
        Setup("legs1", "one LUN over one NIC; stock: iscsi_tcp", 1, COST, MORE, 0.7),
    ),
}


class Sample(NamedTuple):
    """The clock, the processor's idle time and what a disk has completed, at one moment."""

    time_ns: int
    idle_ns: int
    done: Completed
    sent: int
    received: int
    switches: int

    @classmethod
    def take(cls, disk):
        done = Completed.of(disk)
        (idle_ns,) = measure.idle_ns()
        return cls(time.monotonic_ns(), idle_ns, done, *packets(), switches())


def packets():
    """What all NICs have sent and received, as the driver sees it: after GSO, before GRO."""
    lines = read("/proc/net/dev").split("\n")[2:]
    fields = [line.split(":")[1].split() for line in lines if not line.startswith("lo:")]
    return sum(int(f[9]) for f in fields), sum(int(f[1]) for f in fields)


def switches():
    """How often a processor has gone from one thread to another."""
    (line,) = (s for s in read("/proc/stat").split("\n") if s.startswith("ctxt "))
    return int(line.split()[1])


def check_idle():
    """/proc/stat must tell the same: that is where everybody else would look."""
    cpu = read("/proc/stat").split("\n")[0].split()
    stat_ns = (int(cpu[4]) + int(cpu[5])) * STAT_NS
    (exact_ns,) = measure.idle_ns()
    if abs(exact_ns - stat_ns) > 5 * STAT_NS:
        raise LabError(f"idle for {exact_ns} ns by /proc/timer_list, {stat_ns} by /proc/stat")


def window(job, disk, runtime_s):
    """First and last sample of a window, and the number of I/Os between them."""
    first = Sample.take(disk)
    for _ in range(WINDOWS_MAX):
        time.sleep(runtime_s)
        last = Sample.take(disk)
        ios = job.ios(last.done.since(first.done))
        if ios >= IOS_MIN:
            break
    return first, last, ios


def profile_round(workload, runtime_s, folder):
    """What is run in a window of its own: see counter.py."""
    count = counter.Counter(folder)
    first = Completed.of(workload.disk)
    count.open()
    time.sleep(runtime_s)
    count.close()
    count.keep(workload.what, workload.job.ios(Completed.of(workload.disk).since(first)))


def measure_round(workload, runtime_s, profile):
    """One round: thousand instructions per I/O, I/Os per second and what explains them."""
    workload.resume()
    time.sleep(RAMP_S)
    first, last, ios = window(workload.job, workload.disk, runtime_s)
    if profile:
        profile_round(workload, runtime_s, profile)
    workload.hold()
    elapsed_ns = last.time_ns - first.time_ns
    busy_ns = elapsed_ns - (last.idle_ns - first.idle_ns)
    if ios < IOS_MIN:
        raise LabError(f"{workload.what}: {ios:.0f} I/Os in {elapsed_ns / 1e9:.2f} s are too few")
    return {
        "kinstr": busy_ns / ios / 1e3,
        "iops": ios / elapsed_ns * 1e9,
        "busy": busy_ns / elapsed_ns,
        "ios": ios,
        "sent": (last.sent - first.sent) / ios,
        "received": (last.received - first.received) / ios,
        "switches": (last.switches - first.switches) / ios,
    }


def say_cell(cell):
    say(f"{cell['job']:24} {cell['stack']:8} {cell['kinstr']:9.1f} us of the processor/IO "
        f"{cell['iops']:8.0f} IOPS, {cell['busy'] * 100:4.0f} % busy; per I/O "
        f"{cell['sent']:.2f} packets sent, {cell['received']:.2f} received, "
        f"{cell['switches']:.2f} context switches")


def measure_setup(setup, jobs, places, options):
    """The cells of one setup; the baseline needs one round only."""
    def take(workload, _number):
        return measure_round(workload, options.runtime_ms / 1000, options.profile)

    null_blk = NullBlk()
    layout = Layout(places[:setup.legs])
    members = measure.members_of(layout, options.only)
    with measure.started([null_blk, *members]):
        for job in jobs:
            name = full_name(setup, job)
            for some, rounds in (([null_blk], 1), (members, options.rounds)):
                for cell in measure.rounds_of(job, some, rounds, name, take):
                    say_cell(cell)
                    yield cell


def bench(options):
    places = []
    for mac, guest, target, iqn in options.leg:
        network.nic_up(mac, guest)
        places.append(Place(f"{target}:3260", iqn, LUN, f"{iqn}-stock"))
    cells, rows = [], []
    for setup, jobs in chosen(SETS[options.set], options.jobs):
        rows += [{"job": full_name(setup, job), "title": setup.text, "goal": setup.goal}
                 for job in jobs]
        cells += measure_setup(setup, jobs, tuple(places), options)
    check_idle()
    return {"set": options.set, "rows": rows, "cells": cells}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--set", choices=tuple(SETS), default="first")
    parser.add_argument("--leg", nargs=4, action="append", default=[],
                        metavar=("MAC", "GUEST", "TARGET", "IQN"))
    parser.add_argument("--profile", default="", metavar="FOLDER")
    measure.add_arguments(parser)
    options = parser.parse_args()
    if options.list:
        print_list(SETS[options.set])
        return 0
    return measure.finish(bench, options)


if __name__ == "__main__":
    sys.exit(main())
