# SPDX-License-Identifier: GPL-2.0
"""Runs in the virtual machine of tests/vm/bench-links: throughput over links that are the limit.

::

     initial network namespace                        namespace "tgt"
    +---------------------------------+              +---------------------------+
    | istripe.ko  or  iscsi_tcp       |-- shaped  ---| LIO, LUNs in memory       |
    |                 and dm-stripe   |-- veth    ---| leg 0..3: one LUN and one |
    |             or  dm-multipath    |-- links,  ---| portal on a link of its   |
    |                                 |-- 1 to 4  ---| own; paths: one LUN, all  |
    +---------------------------------+              +---------------------------+

The links are so slow that an emulated processor can fill all of them. What one of them carries
is measured in the same run, by both stacks; the limit of a row is that, times its links.
"""

import argparse
import contextlib
import sys
import time
from typing import NamedTuple

import measure
import stacks
from jobs import (KIB, MIB, Completed, Job, blend, chosen, full_name, matrix, mixed, print_list,
                  size_text)
from lab import lio, storage
from lab.network import ISCSI_PORT, Network
from lab.shell import LabError
from shaping import BURST_MS, QUEUE_MS, shape
from stacks import KEYS, Layout, Place, say

LINKS = 4
LUN_BYTES = 64 * MIB
RAMP_S = 0.3
#: Round-trip times that TCP needs to open its window again after a pause.
RAMP_RTTS = 20
EDGE_S = 0.0005
#: Samples of a row that is judged by statistics, all rounds together.
SAMPLES = 500
SAMPLE_S = 0.04
#: The parameters of a case study of small writes.
STUDY_KEYS = {**KEYS, "InitialR2T": "Yes", "ImmediateData": "No", "MaxBurstLength": "262144",
              "MaxRecvDataSegmentLength": "131072"}
RTT_JOBS = matrix(("read", "write"), (MIB,), (16,))
#: The rate of a link, the round-trip times, and the rate that the emulated processor fills on
#: four of them; there the times, and the time that may be spent in a queue, are as much longer.
RTT_MBIT, RTTS_MS = 200, (0, 5, 20, 50)
RTT_SLOWER = 2
#: A database vendor's matrix: sequential at depth 8, random 8 KiB.
DATABASE = (*matrix(("read", "write"), (64 * KIB,), (8,)), Job("randread", 8 * KIB, 32))
DATABASE_MORE = (*matrix(("read", "write"), (128 * KIB, 256 * KIB), (8,)),
                 *matrix(("randread",), (8 * KIB,), (4, 8, 16)),
                 *matrix(("randwrite",), (8 * KIB,), (4, 8, 16, 32)))


class Setup(NamedTuple):
    """Links, a disk over them, and jobs. method: what of a round is measured.

    base: the setup whose rows of the same name these are compared with, base_factor times.
    """

    name: str
    text: str
    jobs: tuple
    more_jobs: tuple = ()
    links: int = LINKS
    mbit: int = 40
    rtt_ms: int = 0
    queue_ms: int = QUEUE_MS
    mtu: int = 1500
    chunk_bytes: int = 64 * KIB
    paths: bool = False
    keys: dict = KEYS
    method: str = "rate"
    base: str = ""
    base_factor: int = 1


def one_link(mbit, mtu=1500):
    """The rows that all limits come from."""
    return Setup(f"one{mbit}", f"one LUN over one link of {mbit} Mbit/s",
                 matrix(("read", "write"), (256 * KIB,), (8,)), links=1, mbit=mbit, mtu=mtu)


def legs(links):
    return Setup(f"scale{links}", f"scaling: {links} of 4 LUNs and links of 40 Mbit/s; base: {links} "
                 "x scale1", (), DATABASE + DATABASE_MORE, links=links, base="scale1",
                 base_factor=links)


def paths(links):
    wide = links == LINKS
    return Setup(f"paths{links}", f"one LUN behind {links} of 4 links of 40 Mbit/s; istripe: policy "
                 f"interleave; stock: dm-multipath; base: {links} x paths1",
                 (matrix(("read", "write"), (MIB,), (1,)) if wide else ()) + DATABASE,
                 (matrix(("read", "write"), (64 * KIB, 256 * KIB, 4 * MIB), (1,)) if wide else ())
                 + DATABASE_MORE,
                 links=links, paths=True, base="paths1", base_factor=links)


def round_trip(rtt_ms):
    """What the emulated processor cannot fill; not by default."""
    return Setup(f"rtt{rtt_ms}", f"4 LUNs over 4 links of {RTT_MBIT} Mbit/s, round-trip time "
                 f"{rtt_ms} ms; base: rtt0",
                 (), RTT_JOBS, mbit=RTT_MBIT, rtt_ms=rtt_ms, mtu=9000, base="rtt0")


def in_flight(rtt_ms):
    """As many bytes on their way as in round_trip(), at a rate that the links reach."""
    mbit = RTT_MBIT // RTT_SLOWER
    slower_ms = rtt_ms * RTT_SLOWER
    return Setup(f"bdp{rtt_ms}", f"4 LUNs over 4 links of {mbit} Mbit/s, round-trip time "
                 f"{slower_ms} ms (bytes in flight: as {RTT_MBIT} Mbit/s, {rtt_ms} ms); base: bdp0",
                 RTT_JOBS, mbit=mbit, rtt_ms=slower_ms, queue_ms=QUEUE_MS * RTT_SLOWER, mtu=9000,
                 base="bdp0")


def chunk(chunk_bytes):
    """What the default chunk is chosen by."""
    return Setup(f"chunk{size_text(chunk_bytes)}",
                 "4 LUNs over 4 links of 40 Mbit/s, by the size of the chunk",
                 (*matrix(("read",), (64 * KIB,), (1, 8)), Job("read", 256 * KIB, 1),
                  Job("read", MIB, 1), *matrix(("randread",), (8 * KIB,), (4, 32)),
                  blend("write", (16 * KIB, 64 * KIB, 256 * KIB, MIB), 4)),
                 chunk_bytes=chunk_bytes, method="commands")


ONE = one_link(40)
SETS = {
    "links": (
        ONE,
        Setup("links4", "4 LUNs over 4 links of 40 Mbit/s, chunk 64 KiB; stock: dm-stripe",
              (*matrix(("read", "write"), (64 * KIB, 256 * KIB, MIB), (1, 4, 8)),
               *matrix(("randread",), (8 * KIB,), (4, 32)))),
        Setup("chunk16k", "the same with a chunk of 16 KiB",
              matrix(("read", "write"), (64 * KIB,), (1,)),
              matrix(("read", "write"), (64 * KIB, 256 * KIB, MIB), (4, 8)), chunk_bytes=16 * KIB),
        *(paths(links) for links in range(1, LINKS + 1)),
        *(legs(links) for links in range(1, LINKS + 1)),
        one_link(RTT_MBIT // RTT_SLOWER, 9000),
        *(in_flight(rtt_ms) for rtt_ms in RTTS_MS),
        one_link(RTT_MBIT, 9000),
        *(round_trip(rtt_ms) for rtt_ms in RTTS_MS),
        Setup("w4", "small writes with samples; one LUN over one link of 1 Gbit/s", (),
              matrix(("write",), (4 * KIB, 32 * KIB), (1,)), links=1, mbit=1000, keys=STUDY_KEYS,
              method="samples"),
        Setup("w5", "half reads, half writes, sequential; 4 LUNs over 4 links of 40 Mbit/s", (),
              mixed(8), method="latency"),
    ),
    "chunk": (ONE, *(chunk(size * KIB) for size in (4, 16, 32, 64, 128, 256, 1024))),
}


class Lab:
    """Network and targets; they stay while the links are shaped for one setup after the other."""

    def __init__(self):
        self.network = Network(LINKS)
        self.legs = [lio.Target([(link.address, ISCSI_PORT)], [lio.Lun(LUN_BYTES)],
                                iqn=f"{lio.IQN}-leg{link.index}") for link in self.network.links]
        self.all = lio.Target([(link.address, ISCSI_PORT) for link in self.network.links],
                              [lio.Lun(LUN_BYTES)], iqn=f"{lio.IQN}-paths")

    def __enter__(self):
        with contextlib.ExitStack() as cleanup:
            storage.prepare()
            lio.prepare()
            cleanup.callback(self.network.destroy)
            self.network.create()
            for target in [*self.legs, self.all]:
                cleanup.callback(target.destroy)
                target.create()
            self.cleanup = cleanup.pop_all()
        return self

    def __exit__(self, *error):
        return self.cleanup.__exit__(*error)

    def prepare(self, setup):
        """Shapes the links, sets what the targets negotiate; returns the disk's layout."""
        links = self.network.links[:setup.links]
        shape(links, setup.mbit, setup.rtt_ms, setup.mtu, setup.queue_ms)
        keys = {key: value for key, value in setup.keys.items() if "Digest" not in key}
        keys["MaxXmitDataSegmentLength"] = keys["MaxRecvDataSegmentLength"]
        for target in [*self.legs, self.all]:
            target.update(**keys)
        targets = [self.all] * len(links) if setup.paths else self.legs
        places = [Place(link.portal(), target.iqn, 0) for link, target in zip(links, targets)]
        return Layout(tuple(places), setup.chunk_bytes, setup.paths, setup.keys)


def edge(disk):
    """Waits for the next completion: its time, and all that has been completed by then."""
    before = Completed.of(disk)
    end_ns = time.monotonic_ns() + 60_000_000_000
    while True:
        now_ns = time.monotonic_ns()
        done = Completed.of(disk)
        if done != before:
            return now_ns, done
        if now_ns > end_ns:
            raise LabError(f"{disk}: nothing was completed for a minute")
        time.sleep(EDGE_S)


def window(workload, runtime_s):
    """From one completion to another, so that large and few requests are not counted in part."""
    first_ns, first = edge(workload.disk)
    measure.sleep_until(first_ns + int(runtime_s * 1e9))
    last_ns, last = edge(workload.disk)
    return (last_ns - first_ns) / 1e9, last.since(first)


def rate(workload, setup, options):
    elapsed_s, done = window(workload, options.runtime_ms / 1000)
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


METHODS = {"rate": rate, "samples": samples, "latency": latency, "commands": commands}


def say_cell(cell):
    words = [f"{cell[key]:.2f} {unit}" for key, unit in (
        ("mb_s", "MB/s"), ("iops", "IOPS"), ("p50_ms", "ms median"), ("p99_ms", "ms 99th"),
        ("commands", "commands each"))
        if key in cell]
    say(f"{cell['job']:28} {cell['stack']:8} {', '.join(words)}")


def measure_setup(lab, setup, jobs, options):
    def take(workload, _number):
        workload.resume()
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


def row_of(setup, job):
    """What the report has to know about a row."""
    share, of = goal(setup, job)
    return {
        "job": full_name(setup, job), "title": setup.text, "method": setup.method,
        "name": job.name, "chunk_bytes": setup.chunk_bytes,
        "links": setup.links, "one": f"one{setup.mbit}", "parts": job.parts,
        "base": f"{setup.base} {job.name}" if setup.base else "", "base_factor": setup.base_factor,
        "goal": share, "goal_of": of, "model": model(setup, job),
    }


def model(setup, job):
    """The values of possible.Model; None for what goes both ways at a time."""
    if job.write_bytes:
        return None
    bytes_per_ms = setup.mbit * 1000 / 8
    return ("rand" in job.rw, job.sizes or (job.block_bytes,), job.depth, setup.links,
            setup.chunk_bytes, setup.paths, bytes_per_ms * BURST_MS, bytes_per_ms * setup.rtt_ms)


def goal(setup, job):
    """The share of the limit, or of the base, that istripe is to reach; None where none is set."""
    large = job.block_bytes >= 256 * KIB
    if setup.name == "links4" and "rand" not in job.rw and (large or job.depth == 8):
        return 0.95, "limit"
    if setup.name == "chunk16k" and setup.method == "rate" and job.depth == 1:
        return 0.8, "limit"
    if setup.paths and job.depth == 1:
        return (0.95, "limit") if job.block_bytes == MIB else (None, "limit")
    if not setup.base:
        return None, "limit"
    # Random requests to several LUNs meet on one; see possible.py.
    if setup.name == setup.base or ("rand" in job.rw and not setup.paths):
        return None, "base"
    return 0.9 if setup.rtt_ms else 0.95, "base"


def selection(options):
    """The setups to run with their jobs: those chosen, and what their limits come from."""
    setups = SETS[options.set]
    found = chosen(setups, options.jobs)
    names = [setup.name for setup, _ in found]
    wanted = {f"one{setup.mbit}" for setup, _ in found}
    found += [(setup, list(setup.jobs)) for setup in setups
              if setup.name in wanted and setup.name not in names]
    return sorted(found, key=lambda pair: setups.index(pair[0]))


def skip_reason(setup, options):
    if setup.paths and options.only != "stock" and "paths" not in stacks.features():
        return "this istripe has no leg of several paths (features lacks paths)"
    return ""


def bench(options):
    rows, cells = [], []
    with Lab() as lab:
        for setup, jobs in selection(options):
            reason = skip_reason(setup, options)
            if reason:
                say(f"{setup.name}: skipped: {reason}")
                rows += [{**row_of(setup, job), "skipped": reason} for job in jobs]
                continue
            rows += [row_of(setup, job) for job in jobs]
            cells += measure_setup(lab, setup, jobs, options)
    return {"set": "links", "rows": rows, "cells": cells}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--set", default="links", choices=SETS)
    measure.add_arguments(parser)
    options = parser.parse_args()
    if options.list:
        print_list(SETS[options.set])
        return 0
    return measure.finish(bench, options)


if __name__ == "__main__":
    sys.exit(main())
