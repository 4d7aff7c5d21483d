# SPDX-License-Identifier: GPL-2.0
"""How long small requests take, alone and while large ones of another program fill the links."""

import time

from histogram import percentile_ns
from jobs import Completed
from lab import fio
from measure import Workload
from stacks import say

#: TCP has filled its windows by then.
RAMP_S = 1
#: Small requests are measured for so many times as long beside the large ones as alone: each waits.
LONGER = 10


def bins(workload, runtime_ms):
    """What requests took: a list of [ns, how many], from the bins of fio's histogram."""
    options = {**workload.job.fio(), "runtime": f"{runtime_ms}ms", "output-format": "json+"}
    (job,) = fio.run(workload.device, **options).jobs
    way = job["read" if "read" in workload.job.rw else "write"]["clat_ns"]
    # The bins are 2 % wide: only the maximum is exact.
    return sorted([min(int(ns), way["max"]), count] for ns, count in way["bins"].items())


def measure_round(workload, setup, options):
    cell = {"alone": bins(workload, options.runtime_ms)}
    beside = Workload(setup.beside, workload.stack, setup.beside.name)
    try:
        beside.resume()
        time.sleep(RAMP_S)
        first, start_ns = Completed.of(workload.disk), time.monotonic_ns()
        cell["among"] = bins(workload, options.runtime_ms * LONGER)
        done, elapsed_ns = Completed.of(workload.disk).since(first), time.monotonic_ns() - start_ns
        beside.end()
    finally:
        beside.kill()
    cell["mb_s"] = done.bytes / elapsed_ns * 1e3
    words = [f"{percentile_ns(cell[kind], percent) / 1e6:.2f} ms {text}" for kind, percent, text in (
        ("alone", 50, "alone"), ("among", 50, "median"), ("among", 99, "99th"),
        ("among", 100, "maximum"))]
    say(f"{workload.what}: {', '.join(words)}, {sum(n for _, n in cell['among'])} requests")
    return cell
