# SPDX-License-Identifier: GPL-2.0
"""The rows of bench-links: which links, which disk over them, which jobs, and what is demanded."""

from typing import NamedTuple

from jobs import KIB, MIB, Job, blend, chosen, full_name, matrix, mixed, size_text
from shaping import BURST_MS
from stacks import KEYS

LINKS = 4
#: The parameters of a case study of small writes.
STUDY_KEYS = {**KEYS, "InitialR2T": "Yes", "ImmediateData": "No", "MaxBurstLength": "262144",
              "MaxRecvDataSegmentLength": "131072"}
RTT_MBIT = 200
#: Large requests for each link.
AMONG_DEPTH = 4
#: Of the stock stack's 99th percentile, and times the median of requests that are alone.
AMONG_GOAL = 0.5
AMONG_MOST = 20
#: A database vendor's matrix: sequential at depth 8, random 8 KiB.
DATABASE = (*matrix(("read", "write"), (64 * KIB,), (8,)), Job("randread", 8 * KIB, 32))
DATABASE_MORE = (*matrix(("read", "write"), (128 * KIB, 256 * KIB), (8,)),
                 *matrix(("randread",), (8 * KIB,), (4, 8, 16)),
                 *matrix(("randwrite",), (8 * KIB,), (4, 8, 16, 32)))


class Setup(NamedTuple):
    """Links, a disk over them, and jobs. method: what of a round is measured. mbit: 0 is no limit.

    base: the setup whose rows of the same name these are compared with, base_factor times. beside:
    the job that goes on while those of the setup are measured. connections: of each of istripe's paths.
    """

    name: str
    text: str
    jobs: tuple
    more_jobs: tuple = ()
    links: int = LINKS
    mbit: int = 40
    rtt_ms: int = 0
    mtu: int = 1500
    chunk_bytes: int = 64 * KIB
    paths: bool = False
    keys: dict = KEYS
    method: str = "rate"
    base: str = ""
    base_factor: int = 1
    processors: int = 0     # ours; the target has the next one, for itself. 0: all for all
    beside: Job | None = None
    connections: int = 1


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
    return Setup(f"rtt{rtt_ms}", f"4 LUNs over 4 links of {RTT_MBIT} Mbit/s, round-trip time "
                 f"{rtt_ms} ms; base: rtt0",
                 matrix(("read", "write"), (MIB,), (16,)), mbit=RTT_MBIT, rtt_ms=rtt_ms, mtu=9000,
                 base="rtt0")


def chunk(chunk_bytes):
    """What the default chunk is chosen by."""
    return Setup(f"chunk{size_text(chunk_bytes)}",
                 "4 LUNs over 4 links of 40 Mbit/s, by the size of the chunk",
                 (*matrix(("read",), (64 * KIB,), (1, 8)), Job("read", 256 * KIB, 1),
                  Job("read", MIB, 1), *matrix(("randread",), (8 * KIB,), (4, 32)),
                  blend("write", (16 * KIB, 64 * KIB, 256 * KIB, MIB), 4)),
                 chunk_bytes=chunk_bytes, method="commands")


def requests(name, text, polled):
    """How long one request takes. Both sides have a processor each, and nothing else to wait for."""
    jobs, more_jobs = [tuple(job._replace(polled=polled) for job in some) for some in (
        (Job("randread", 4 * KIB, 1),), (Job("randwrite", 4 * KIB, 1), Job("randread", 4 * KIB, 4)))]
    return Setup(name, text, jobs, more_jobs, links=1, mbit=0, method="request", processors=1)


PEERS = (*(Job("randread", 4 * KIB, depth) for depth in (1, 4, 32)), Job("randwrite", 4 * KIB, 32),
         *matrix(("read", "write"), (64 * KIB,), (8,)), Job("randread", 128 * KIB, 4),
         *matrix(("read", "write"), (MIB,), (4,)))


def processors(count):
    """The same load from each of several processors."""
    return Setup(f"cpus{count}", f"{count} of our processors, each with its own load; one LUN over one "
                 "link, one connection", (Job("randread", 4 * KIB, 16, workers=count),), links=1,
                 mbit=0, method="cost", processors=count)


def among(links, rw, connections=1):
    """Small requests while large ones fill the links: a database's pages and its log."""
    more = f"; istripe: {connections} connections each" if connections > 1 else ""
    return Setup(f"among{links}{rw[0]}" + (f"x{connections}" if more else ""),
                 f"small requests beside {rw}s of 1 MiB, {AMONG_DEPTH} for each of {links} LUNs "
                 f"and links of {RTT_MBIT} Mbit/s{more}",
                 (Job("randread", 4 * KIB, 1), Job("write", 16 * KIB, 1, sync=True)), links=links,
                 mbit=RTT_MBIT, method="among", beside=Job(rw, MIB, AMONG_DEPTH * links),
                 connections=connections)


#: What one link carries, by its rate: measured before the first setup of this rate.
LIMITS = {one.mbit: one for one in (one_link(40), one_link(RTT_MBIT, 9000))}
SETS = {
    "links": (
        Setup("links4", "4 LUNs over 4 links of 40 Mbit/s, chunk 64 KiB; stock: dm-stripe",
              (*matrix(("read", "write"), (64 * KIB, 256 * KIB, MIB), (1, 4, 8)),
               *matrix(("randread",), (8 * KIB,), (4, 32)))),
        Setup("chunk16k", "the same with a chunk of 16 KiB",
              matrix(("read", "write"), (64 * KIB,), (1,)),
              matrix(("read", "write"), (64 * KIB, 256 * KIB, MIB), (4, 8)), chunk_bytes=16 * KIB),
        *(paths(links) for links in range(1, LINKS + 1)),
        *(legs(links) for links in range(1, LINKS + 1)),
        *(round_trip(rtt_ms) for rtt_ms in (0, 5, 20, 50)),
        Setup("w4", "small writes with samples; one LUN over one link of 1 Gbit/s", (),
              matrix(("write",), (4 * KIB, 32 * KIB), (1,)), links=1, mbit=1000, keys=STUDY_KEYS,
              method="samples"),
        Setup("w5", "half reads, half writes, sequential; 4 LUNs over 4 links of 40 Mbit/s", (),
              mixed(8), method="latency"),
    ),
    "chunk": tuple(chunk(size * KIB) for size in (4, 16, 32, 64, 128, 256, 1024)),
    "latency": (
        requests("woken", "one LUN over one link; stock: iscsi_tcp; whoever waits sleeps", False),
        requests("polled", "the same; whoever waits polls, where the disk can do that: not iscsi_tcp",
                 True),
    ),
    "peers": (
        Setup("one", "one LUN over one link, one connection; stock: iscsi_tcp", PEERS,
              links=1, mbit=0, method="cost", processors=1),
    ),
    "processors": tuple(processors(count) for count in (1, 2, 4, 8)),
    "among": tuple(among(links, rw, connections) for links in (1, LINKS)
                   for rw, connections in (("write", 1), ("read", 1), ("read", 2))),
    # Two that any stack can fill, and what istripe is for.
    "demo": (
        Setup("links4", "4 LUNs over 4 links; stock: dm-stripe",
              matrix(("read", "write"), (MIB,), (4,))),
        Setup("paths4", "one LUN behind 4 links; stock: dm-multipath",
              matrix(("read", "write"), (MIB,), (1,)), paths=True),
    ),
}


def row_of(setup, job):
    """What the report has to know about a row."""
    share, of = goal(setup, job)
    return {
        "job": full_name(setup, job), "title": setup.text, "method": setup.method,
        "name": job.name, "chunk_bytes": setup.chunk_bytes,
        "links": setup.links, "one": f"one{setup.mbit}", "parts": job.parts,
        "base": f"{setup.base} {job.name}" if setup.base else "", "base_factor": setup.base_factor,
        "goal": share, "goal_of": of, "model": model(setup, job), "most": AMONG_MOST,
        "goal_nvme": 0.95 if setup.method == "cost" else None,
    }


def model(setup, job):
    """The values of possible.Model; None for what goes both ways at a time."""
    if job.write_bytes or setup.beside or not setup.mbit:
        return None
    bytes_per_ms = setup.mbit * 1000 / 8
    return ("rand" in job.rw, job.sizes or (job.block_bytes,), job.depth, setup.links,
            setup.chunk_bytes, setup.paths, bytes_per_ms * BURST_MS, bytes_per_ms * setup.rtt_ms)


def goal(setup, job):
    """The share of the limit, or of the base, that istripe is to reach; None where none is set."""
    if setup.method == "cost":
        return 0.7, "stock"
    if setup.method == "request":
        return 0.7 if job.polled else 0.85, "stock"
    if setup.beside:
        return AMONG_GOAL, "stock"
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
    found = []
    for setup, jobs in chosen(SETS[options.set], options.jobs):
        one = LIMITS.get(setup.mbit)
        if one and not setup.beside and all(other.mbit != setup.mbit for other, _ in found):
            found.append((one, one.jobs))
        found.append((setup, jobs))
    return found
