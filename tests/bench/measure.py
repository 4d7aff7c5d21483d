# SPDX-License-Identifier: GPL-2.0
"""What all benchmarks do in the virtual machine: start the stacks, let fio run on them in turn."""

import contextlib
import itertools
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import nvme
import stacks
from jobs import Completed
from lab import fio
from lab.kernlog import KernelLog
from lab.shell import LabError, communicate, read, run, udev_settle, wait_for

#: fio's exit code when a signal has ended it.
FIO_SIGNALLED = 128


class Workload:
    """A fio on one disk, which is held between the rounds: starting it takes longer than a round.

    A process that is stopped sends nothing, and what it had outstanding is waited for: so only
    one stack at a time is at work, on LUNs that are the same.
    """

    def __init__(self, job, stack, what):
        self.job = job
        self.stack = stack
        self.what = f"{what} on {stack.name}"
        self.device = stack.device
        self.disk = stack.device.name
        self.process = None

    def resume(self):
        """Lets fio run; returns when I/O is being done."""
        before = Completed.of(self.disk)
        if self.process:
            self.process.send_signal(signal.SIGCONT)
        else:
            can_poll = self.job.polled and read(f"/sys/block/{self.disk}/queue/io_poll") == "1"
            self.process = fio.start(self.device, **self.job.fio(can_poll))
        wait_for(f"the first I/O of {self.what}", lambda: self.process.poll() is not None or
                 Completed.of(self.disk) != before, 120, 0.01)

    def hold(self):
        """Stops fio where it is and waits for the I/O that it has left behind."""
        if self.process.poll() is not None:
            self.end()
        self.process.send_signal(signal.SIGSTOP)
        wait_for(f"{self.what}: the last I/O", lambda: not self.outstanding(), 120, 0.01)

    def outstanding(self):
        return sum(map(int, read(f"/sys/block/{self.disk}/inflight").split()))

    def end(self):
        """Ends fio and returns its Result; LabError when it had ended by itself or saw an error."""
        process, self.process = self.process, None
        try:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
                process.send_signal(signal.SIGCONT)
            out, err = communicate(process, 300)
        except subprocess.TimeoutExpired as timeout:
            raise LabError(f"{self.what}: fio does not end: I/O is stuck") from timeout
        finally:
            process.kill()
        if process.returncode != FIO_SIGNALLED:
            raise LabError(f"{self.what}: fio failed with exit code {process.returncode}\n{err}"
                           f"{out[:2000]}")
        result = fio.Result(out)
        if result.error() or result.errors():
            raise LabError(f"{self.what}: fio: error {result.error()}, {result.errors()} failed\n"
                           f"{err}")
        return result

    def kill(self):
        if self.process:
            self.process.kill()
            self.process.communicate()


def rounds_of(job, members, rounds, name, take):
    """Measures a job on all members in turn, there and back, and yields the cells.

    take(workload, number) measures one round. Each fio must have ended without an error.
    """
    workloads = [(stack, Workload(job, stack, name)) for stack in members]
    try:
        for number in range(rounds):
            for stack, workload in workloads[:: -1 if number % 2 else 1]:
                cell = take(workload, number)
                if cell:
                    yield {"job": name, "stack": stack.name, "round": number, **cell}
        for _, workload in workloads:
            if workload.process:
                workload.end()
    finally:
        for _, workload in workloads:
            workload.kill()


@contextlib.contextmanager
def started(members, check_mib=4):
    """Starts the stacks, and lets nobody else look at the disks until they are stopped.

    With several stacks over the same data it is checked that each reads what another has written.
    """
    with contextlib.ExitStack() as cleanup:
        for stack in members:
            cleanup.callback(stack.stop)
            stack.start()
            stacks.check_negotiated(stack)
        same = [stack for stack in members if stack.name in ("stock", "istripe", "nvme")]
        for writer, reader in itertools.permutations(same, 2):
            stacks.check_same_data(writer, reader, check_mib)
        # Otherwise udev reads the disks each time that fio closes them.
        udev_settle()
        run("udevadm", "control", "--stop-exec-queue", check=False)
        try:
            yield
        finally:
            run("udevadm", "control", "--start-exec-queue", check=False)


def idle_ns():
    """Idle time of each processor since the boot: what idle and iowait of /proc/stat are made of,
    not rounded."""
    text = Path("/proc/timer_list").read_text(encoding="ascii", errors="replace")
    found = re.findall(r"\.(idle|iowait)_sleeptime\s*: (\d+) nsecs", text)
    each = [[int(ns) for name, ns in found if name == wanted] for wanted in ("idle", "iowait")]
    if {len(times) for times in each} != {os.cpu_count()}:
        raise LabError(f"/proc/timer_list has {len(found)} idle times of {os.cpu_count()} processors")
    return [sum(times) for times in zip(*each)]


def members_of(layout, only):
    kinds = (stacks.Stock, stacks.Istripe, *([nvme.Nvme] if layout.nvme else []))
    return [kind(layout) for kind in kinds if only in ("", kind.name)]


def sleep_until(time_ns):
    left_ns = time_ns - time.monotonic_ns()
    if left_ns > 0:
        time.sleep(left_ns / 1e9)


def add_arguments(parser):
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--runtime-ms", type=int, default=500)
    parser.add_argument("--only", default="", choices=("", "stock", "istripe", "nvme"))
    parser.add_argument("--jobs", default="", help="a regular expression")
    parser.add_argument("--list", action="store_true", help="print the jobs and do nothing else")
    parser.add_argument("result", nargs="?")


def finish(bench, options, allowed=()):
    """Runs bench(options), writes what it returns to options.result; the exit code.

    allowed: expressions of what may stand in the kernel's log.
    """
    stacks.RUN.mkdir(exist_ok=True)
    log = KernelLog()
    try:
        result = bench(options)
        bad = log.bad(allowed)
        if bad:
            raise LabError("the kernel log is not clean:\n" + "\n".join(bad[:40]))
    except (LabError, OSError) as err:
        print(f"bench: {err}", file=sys.stderr, flush=True)
        return 1
    result = {"kernel": os.uname().release, "rounds": options.rounds,
              "runtime_ms": options.runtime_ms, **result}
    with open(f"{options.result}.part", "w", encoding="ascii") as part:
        json.dump(result, part)
    os.rename(f"{options.result}.part", options.result)
    return 0
