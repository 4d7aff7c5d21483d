# SPDX-License-Identifier: GPL-2.0
"""Runs in the virtual machine of tests/vm/bench-links: throughput over links that are the limit.

::

     initial network namespace                        namespace "tgt"
    +---------------------------------+              +---------------------------+
    | istripe.ko  or  iscsi_tcp       |-- shaped  ---| LIO, LUNs in memory       |
    |                 and dm-stripe   |-- veth    ---| leg 0..3: one LUN and one |
    |             or  dm-multipath    |-- links,  ---| portal on a link of its   |
    |                                 |-- 1 to 4  ---| own; paths: one LUN, all  |
    | latency, among: and nvme-tcp    |              | latency, among: and nvmet |
    +---------------------------------+              +---------------------------+

The guest's clock counts instructions, so its processor is the same whatever else the host has to
do, and the links are so slow that it can fill all of them. What one of them carries is measured in
the same run, by both stacks; the limit of a row is that, times its links.
"""

import argparse
import contextlib
import os
import re
import shutil
import sys
import time
from pathlib import Path

import among
import counter
import measure
import nvme
import stacks
from jobs import MIB, Completed, full_name, print_list
from lab import fio, lio, storage
from lab.network import ISCSI_PORT, NETNS, Network
from lab.shell import LabError, clock, run, write
from setups import LINKS, SETS, row_of, selection
from shaping import shape
from stacks import Layout, Place, say

LUN_BYTES = 64 * MIB
RAMP_S = 0.3
#: Round-trip times that TCP needs to open its window again after a pause, and those that are
#: measured at least, since requests may complete in bursts.
RAMP_RTTS = 80
WINDOW_RTTS = 5
EDGE_S = 0.0005
#: Samples of a row that is judged by statistics, all rounds together.
SAMPLES = 500
SAMPLE_S = 0.04
#: What is run while links are shaped and stacks are started.
PROGRAMS = ("tc", "ip", "nsenter", "mkdir", "modprobe", "udevadm", "dmsetup", "iscsid", "iscsiadm",
            "fio")
#: Sets with nvme-tcp beside both stacks.
PEERS = ("latency", "peers", "processors", "among")
#: The emulator changes processors after so many microseconds when several are busy.
SLICE_US = 10


def read_programs():
    """Has in memory what is run later.

    While the host reads a file, the clock of this machine runs on, for programs that have
    time-outs of their own (iscsid) and for the kernel, which would say that somebody hangs.
    """
    write("/proc/sys/kernel/hung_task_timeout_secs", 0)
    for program in PROGRAMS:
        libraries = run("env", f"LD_LIBRARY_PATH={fio.LIGHT}", "ldd", shutil.which(program))
        for file in (shutil.which(program), *re.findall(r"(/\S+) \(0x", libraries)):
            Path(file).read_bytes()


def both(name, portals):
    """The targets of istripe and of the stock stack, which show the same data."""
    ours = lio.Lun(LUN_BYTES)
    stock = lio.Lun(LUN_BYTES, same_data=ours)
    iqn = f"{lio.IQN}-{name}"
    return lio.Target(portals, [ours], iqn=iqn), lio.Target(portals, [stock], iqn=f"{iqn}-stock")


class Lab:
    """Network and targets; they stay while the links are shaped for one setup after the other."""

    def __init__(self, peers):
        self.network = Network(LINKS)
        portals = [(link.address, ISCSI_PORT) for link in self.network.links]
        self.legs = [both(f"leg{number}", [portal]) for number, portal in enumerate(portals)]
        self.all = both("paths", portals)
        self.targets = [target for pair in (*self.legs, self.all) for target in pair]
        self.nvmet = nvme.Target(self.network.links[0].address, self.legs[0][0].luns[0]) \
            if peers else None

    def __enter__(self):
        with contextlib.ExitStack() as cleanup:
            read_programs()
            storage.prepare()
            lio.prepare()
            cleanup.callback(self.network.destroy)
            self.network.create()
            for target in self.targets:
                cleanup.callback(target.destroy)
                target.create()
            if self.nvmet:
                cleanup.callback(self.nvmet.destroy)
                self.nvmet.create()
            self.cleanup = cleanup.pop_all()
        return self

    def __exit__(self, *error):
        return self.cleanup.__exit__(*error)

    def prepare(self, setup):
        """Shapes the links, sets what the targets negotiate; returns the disk's layout."""
        links = self.network.links[:setup.links]
        shape(links, setup.mbit, setup.rtt_ms, setup.mtu)
        keys = {key: value for key, value in setup.keys.items() if "Digest" not in key}
        keys["MaxXmitDataSegmentLength"] = keys["MaxRecvDataSegmentLength"]
        for target in self.targets:
            target.update(**keys)
        if setup.processors:
            separate(links, setup.processors)
            # Whether fio's buffers are huge pages would be chance, and differ between stacks.
            write("/sys/kernel/mm/transparent_hugepage/enabled", "never")
            # A receiver would leave segments to the processor that has made them, to free them.
            write("/proc/sys/net/core/skb_defer_max", 0)
        pairs = [self.all] * len(links) if setup.paths else self.legs
        places = [Place(link.portal(), ours.iqn, 0, stock.iqn)
                  for link, (ours, stock) in zip(links, pairs)]
        polls = any(job.polled for job in setup.jobs)
        # nvme-tcp polls without a pause: the emulator runs the target only when a time slice ends.
        return Layout(tuple(places), setup.chunk_bytes, setup.paths, setup.keys, poll_queues=polls,
                      connections=setup.connections,
                      nvme=self.nvmet.address if self.nvmet and setup.links == 1 and not polls else "")


def separate(links, ours):
    """The first processors are ours, the next one is the target's: what a side sends, receives and
    computes is done on its own."""
    our_mask, target_mask = f"{(1 << ours) - 1:x}", f"{1 << ours:x}"
    os.sched_setaffinity(0, set(range(ours)))
    write("/sys/devices/virtual/workqueue/cpumask", our_mask)
    write(lio.CONFIG / "iscsi" / "cpus_allowed_list", ours)
    for link in links:
        write(f"/sys/class/net/{link.nic}/queues/rx-0/rps_cpus", our_mask)
        # There, /sys is that of the namespace.
        run("ip", "netns", "exec", NETNS, "sh", "-c",
            f"echo {target_mask} >/sys/class/net/{link.peer}/queues/rx-0/rps_cpus")


def edge(disk):
    """Waits for the next completion: its time, and all that has been completed by then."""
    # The clock chip takes long to read: not in each turn.
    end, end_ns = clock() + 60, time.monotonic_ns() + 60_000_000_000
    before = Completed.of(disk)
    while True:
        now_ns = time.monotonic_ns()
        done = Completed.of(disk)
        if done != before:
            return now_ns, done
        if now_ns > end_ns and clock() > end:
            raise LabError(f"{disk}: nothing was completed for a minute")
        time.sleep(EDGE_S)


def window(workload, runtime_s):
    """From one completion to another, so that large and few requests are not counted in part."""
    first_ns, first = edge(workload.disk)
    measure.sleep_until(first_ns + int(runtime_s * 1e9))
    last_ns, last = edge(workload.disk)
    return (last_ns - first_ns) / 1e9, last.since(first)


def rate(workload, setup, options):
    runtime_ms = max(options.runtime_ms, WINDOW_RTTS * setup.rtt_ms)
    elapsed_s, done = window(workload, runtime_ms / 1000)
    return {"mb_s": done.bytes / elapsed_s / 1e6, "iops": workload.job.ios(done) / elapsed_s}


def samples(workload, setup, options):
    """Many short windows, for a mean with its interval of confidence."""
    found = []
    for _ in range(-(-SAMPLES // options.rounds)):
        elapsed_s, done = window(workload, SAMPLE_S)
        found.append(round(workload.job.ios(done) / elapsed_s, 1))
    return {"samples": found, "iops": sum(found) / len(found)}


def latency(workload, setup, options):
    """The rate, and percentiles of the whole round, for which fio is started anew."""
    found = rate(workload, setup, options)
    (job,) = workload.end().jobs
    both = [job[way]["clat_ns"]["percentile"] for way in ("read", "write")]
    for percent in (50, 99):
        worst_ns = max(part[f"{percent}.000000"] for part in both)
        found[f"p{percent}_ms"] = round(worst_ns / 1e6, 2)
    return found


def commands(workload, setup, options):
    """The rate, and how many SCSI commands a request has become."""
    first, before = workload.stack.commands(), Completed.of(workload.disk)
    found = rate(workload, setup, options)
    done = Completed.of(workload.disk).since(before)
    found["commands"] = (workload.stack.commands() - first) / workload.job.ios(done)
    return found


def request(workload, setup, options):
    """How long a request takes, and for how long of that the target is busy with it."""
    before = measure.idle_ns()
    start_ns = time.monotonic_ns()
    elapsed_s, done = window(workload, options.runtime_ms / 1000)
    whole_ns = time.monotonic_ns() - start_ns
    target = setup.processors
    idle_ns = measure.idle_ns()[target] - before[target]
    latency_us = elapsed_s * 1e6 / workload.job.ios(done) * workload.job.depth
    return {"latency_us": latency_us, "target_us": latency_us * (1 - idle_ns / whole_ns)}


def cost(workload, setup, options):
    """Instructions of our processors for an I/O, and what explains them."""
    count = counter.Counter(options.profile, tuple(range(setup.processors)))
    before = Completed.of(workload.disk)
    count.open()
    time.sleep(options.runtime_ms / 1000)
    count.close()
    done = Completed.of(workload.disk).since(before)
    sums = count.sums()
    ios = workload.job.ios(done)
    if options.keep:
        count.keep(workload.what, ios)
    return {"kinstr": sums.instructions / ios / 1e3, "executed": sums.executed / ios / 1e3,
            "ios": ios, "acks_mib": sums.calls["acks"] / done.bytes * MIB,
            **{what: calls / ios for what, calls in sums.calls.items()}}


METHODS = {"cost": cost, "rate": rate, "samples": samples, "latency": latency, "commands": commands,
           "request": request}


def say_cell(cell):
    words = [f"{cell[key]:.2f} {unit}" for key, unit in (
        ("mb_s", "MB/s"), ("iops", "IOPS"), ("latency_us", "us"), ("target_us", "us of the target"), ("p50_ms", "ms median"), ("p99_ms", "ms 99th"),
        ("commands", "commands each"),
        ("kinstr", "thousand instructions"), ("executed", "with copies as they are"), ("ios", "I/Os"), ("acks", "acknowledgments"),
        ("switches", "switches"), ("sends", "sends"), ("cross_calls", "cross-calls"))
        if key in cell]
    say(f"{cell['job']:28} {cell['stack']:8} {', '.join(words)}")


def measure_setup(lab, setup, jobs, options):
    def take(workload, _number):
        if setup.beside:
            return among.measure_round(workload, setup, options)
        slices = counter.Slices(SLICE_US) if setup.method == "cost" else contextlib.nullcontext()
        workload.resume()
        with slices:
            time.sleep(RAMP_S + RAMP_RTTS * setup.rtt_ms / 1000)
            cell = METHODS[setup.method](workload, setup, options)
        if workload.process:
            workload.hold()
        return cell

    say(f"{setup.name}: {setup.text}")
    layout = lab.prepare(setup)
    members = measure.members_of(layout, options.only)
    with measure.started(members, check_mib=2):
        for job in jobs:
            for cell in measure.rounds_of(job, members, options.rounds, full_name(setup, job), take):
                say_cell(cell)
                yield cell


def skip_reason(setup, options):
    if setup.paths and options.only != "stock" and "paths" not in stacks.features():
        return "this istripe has no leg of several paths (features lacks paths)"
    return ""


def bench(options):
    rows, cells = [], []
    with Lab(options.set in PEERS) as lab:
        for setup, jobs in selection(options):
            reason = skip_reason(setup, options)
            if reason:
                say(f"{setup.name}: skipped: {reason}")
                rows += [{**row_of(setup, job), "skipped": reason} for job in jobs]
                continue
            rows += [row_of(setup, job) for job in jobs]
            cells += measure_setup(lab, setup, jobs, options)
    return {"set": options.set, "rows": rows, "cells": cells}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--set", default="links", choices=SETS)
    parser.add_argument("--profile", default="", metavar="FOLDER")
    parser.add_argument("--keep", action="store_true")
    measure.add_arguments(parser)
    options = parser.parse_args()
    if options.list:
        print_list(SETS[options.set])
        return 0
    return measure.finish(bench, options)


if __name__ == "__main__":
    sys.exit(main())
