# SPDX-License-Identifier: GPL-2.0
"""fio: workloads with verification, and the figures that it prints."""

import concurrent.futures
import contextlib
import json
import os
import subprocess
import threading
import time
from pathlib import Path

from lab.kernel import DEBUG
from lab.shell import LabError, communicate, read, wait_for

MIB = 1 << 20

#: Bytes that the verification workloads write. 2 GiB in a full run, little in a quick one.
BYTES = int(os.environ.get("ISTRIPE_FIO_BYTES") or 64 * MIB)

#: What tests/vm/fio-light makes: with it fio starts in a second. Without it fio starts, too.
LIGHT = Path(__file__).resolve().parents[3] / "build" / "fio-light"


def command(device, name="verify", **options):
    values = {
        "filename": device, "ioengine": "libaio", "direct": 1, "group_reporting": 1,
        "randrepeat": 1, "output-format": "json", "eta": "never", "thread": 1, **options,
    }
    words = ["fio", f"--name={name}"]
    for key, value in values.items():
        words.append(f"--{key}" if value is True else f"--{key}={value}")
    return words


def verify_options(total_bytes=BYTES, jobs=8, block_bytes=512, largest_bytes=4 * MIB, depth=8):
    """Random writes of block_bytes to largest_bytes by several jobs, all of it read back.

    Each job has a region of its own, so that no two jobs write the same block.

    LIO drops a connection when data that it has asked for do not come within 3 s. On a kernel that
    is watched, whose digests take long, so much in flight is not sent in that time.
    """
    if DEBUG:
        depth = 1
    size = total_bytes // jobs // largest_bytes * largest_bytes or largest_bytes
    return {
        "rw": "randwrite", "bsrange": f"{block_bytes}-{largest_bytes}", "blockalign": block_bytes,
        "numjobs": jobs, "size": size, "offset_increment": size, "iodepth": depth,
        "verify": "crc32c", "do_verify": 1, "verify_fatal": 1, "verify_dump": 0,
        "verify_state_save": 0,
    }


class Result:
    """What one run of fio found."""

    def __init__(self, output):
        start = output.find("{")
        if start < 0:
            raise LabError(f"fio printed no result:\n{output}")
        self.messages = output[:start]
        self.jobs = json.loads(output[start:])["jobs"]

    def error(self):
        return max(job["error"] for job in self.jobs)

    def total(self, direction, figure):
        return sum(job[direction][figure] for job in self.jobs)

    def bytes(self, direction):
        return self.total(direction, "io_bytes")

    def mb_per_s(self, direction):
        return self.total(direction, "bw_bytes") / 1e6

    def iops(self, direction):
        return self.total(direction, "iops")

    def errors(self):
        return sum(job.get("total_err", 0) for job in self.jobs)

    def longest_s(self):
        """The longest time that a request took."""
        return max(job[direction]["clat_ns"]["max"] for job in self.jobs
                   for direction in ("read", "write")) / 1e9


def finish(process, timeout_s=1200):
    """Waits for a fio started with start(); raises LabError with its words if anything failed."""
    try:
        out, err = communicate(process, timeout_s)
    except subprocess.TimeoutExpired as timeout:
        process.kill()
        raise LabError(f"fio: not finished within {timeout_s} s") from timeout
    if process.returncode:
        raise LabError(f"fio: exit code {process.returncode}\n{err[-4000:]}\n{out[:2000]}")
    result = Result(out)
    if result.error() or result.errors():
        raise LabError(f"fio: error {result.error()}, {result.errors()} failed\n{err[-4000:]}")
    return result


def start(device, **options):
    """Starts fio in the background."""
    return subprocess.Popen(command(device, **options), stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, cwd="/run/lab",
                            env={**os.environ, "LD_LIBRARY_PATH": str(LIGHT)})


def begin(file, disk=None, **options):
    """As start(), but returns when it does I/O. disk: of the file, if that is none itself."""
    inflight = Path("/sys/block") / Path(disk or file).resolve().name / "inflight"
    process = start(file, **options)
    wait_for("fio to do I/O", lambda: process.poll() is not None or
             sum(map(int, read(inflight).split())), 120)
    if process.poll():
        finish(process)
    return process


def run(device, timeout_s=1200, **options):
    return finish(start(device, **options), timeout_s)


def verify(device, timeout_s=1200, **options):
    """Writes and reads back; any difference is a LabError. options override verify_options()."""
    names = ("total_bytes", "jobs", "block_bytes", "largest_bytes", "depth")
    shape = {name: options.pop(name) for name in names if name in options}
    return run(device, timeout_s, **{**verify_options(**shape), **options})


def transfers(device):
    """The reads and writes of a disk that have ended so far."""
    figures = read(Path("/sys/block") / Path(device).resolve().name / "stat").split()
    return figures[0], figures[4]


def wait_transfers(device):
    """Until a read or a write of the disk has ended."""
    before = transfers(device)
    wait_for("the end of a transfer", lambda: transfers(device) != before, 60)


@contextlib.contextmanager
def meanwhile(device, **options):
    """fio runs meanwhile, again and again, and sees not one error: the results of its runs so far."""
    enough, results = threading.Event(), []

    def work():
        seed = 0
        while not enough.is_set():
            seed += 1
            results.append(run(device, randseed=seed, **options))

    before = transfers(device)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        working = pool.submit(work)
        try:
            wait_for("fio to do I/O", lambda: working.done() or transfers(device) != before, 60)
            yield results
            time.sleep(1)
        finally:
            enough.set()
        working.result()
