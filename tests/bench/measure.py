# SPDX-License-Identifier: GPL-2.0
"""Runs in the virtual machine of tests/vm/bench and measures what an I/O costs.

The guest's clock counts instructions: on its one processor a nanosecond that is not idle is one
instruction. Each round of a job is a run of fio of which a window in the middle is measured:
time, idle time and the sectors that the disk has completed, at its beginning and its end. So fio's
start and end do not count, and neither do merges and splits of requests.
"""

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

from lab import fio, istripe, openiscsi
from lab.kernlog import KernelLog
from lab.shell import LabError, read, run, wait_for, write

KIB = 1 << 10
MIB = 1 << 20
LUN = 1
RUN = Path("/run/lab")

#: fio runs for this long before the window that is measured.
RAMP_S = 0.15
#: Fewer I/Os than this in a window say nothing: it is extended, up to WINDOWS_MAX times.
IOS_MIN = 40
WINDOWS_MAX = 10
#: fio's exit code when a signal has ended it.
FIO_SIGNALLED = 128
#: /proc/stat counts in hundredths of a second.
STAT_NS = 10_000_000

#: What both stacks must have agreed on with the target.
NEGOTIATED = {
    "HeaderDigest": "None",
    "DataDigest": "None",
    "InitialR2T": "No",
    "ImmediateData": "Yes",
    "FirstBurstLength": "262144",
    "MaxBurstLength": "1048576",
    "MaxOutstandingR2T": "8",
    "ErrorRecoveryLevel": "0",
    "MaxConnections": "1",
}
#: The longest data segment, the same in both directions.
SEGMENT_BYTES = 262144
COMMANDS = 128


class Job(NamedTuple):
    """One row of the table."""

    rw: str
    block_bytes: int
    depth: int

    @property
    def name(self):
        size = self.block_bytes
        text = f"{size // MIB}m" if size >= MIB else f"{size // KIB}k"
        return f"{self.rw} {text} qd{self.depth}"


JOBS = (
    Job("randread", 4 * KIB, 1),
    Job("randread", 4 * KIB, 32),
    Job("randwrite", 4 * KIB, 1),
    Job("randwrite", 4 * KIB, 32),
    Job("read", 128 * KIB, 8),
    Job("write", 128 * KIB, 8),
    Job("read", MIB, 4),
    Job("write", MIB, 4),
)


class Sample(NamedTuple):
    """The clock, the processor's idle time and what a disk has completed, at one moment."""

    time_ns: int
    idle_ns: int
    sectors: int
    sent: int
    received: int
    switches: int

    @classmethod
    def take(cls, disk):
        sectors = completed_sectors(disk)
        return cls(time.monotonic_ns(), idle_ns(), sectors, *packets(), switches())


def packets():
    """What all NICs have sent and received, as the driver sees it: after GSO, before GRO."""
    lines = read("/proc/net/dev").split("\n")[2:]
    fields = [line.split(":")[1].split() for line in lines if not line.startswith("lo:")]
    return sum(int(f[9]) for f in fields), sum(int(f[1]) for f in fields)


def switches():
    """How often a processor has gone from one thread to another."""
    (line,) = (s for s in read("/proc/stat").split("\n") if s.startswith("ctxt "))
    return int(line.split()[1])


def completed_sectors(disk):
    fields = read(f"/sys/block/{disk}/stat").split()
    return int(fields[2]) + int(fields[6])


def idle_ns():
    """Idle time since the boot: the figures behind idle and iowait of /proc/stat, not rounded."""
    text = Path("/proc/timer_list").read_text(encoding="ascii", errors="replace")
    found = re.findall(r"\.(?:idle|iowait)_sleeptime\s*: (\d+) nsecs", text)
    if len(found) != 2:
        raise LabError(f"/proc/timer_list has {len(found)} idle times, not those of 1 processor")
    return sum(map(int, found))


def check_idle():
    """/proc/stat must tell the same: that is where everybody else would look."""
    cpu = read("/proc/stat").split("\n")[0].split()
    stat_ns = (int(cpu[4]) + int(cpu[5])) * STAT_NS
    exact_ns = idle_ns()
    if abs(exact_ns - stat_ns) > 5 * STAT_NS:
        raise LabError(f"idle for {exact_ns} ns by /proc/timer_list, {stat_ns} by /proc/stat")


def say(text):
    print(f"bench: {text}", flush=True)


def nic_up(mac, address):
    run("modprobe", "virtio_net")

    def find():
        for nic in Path("/sys/class/net").iterdir():
            if read(nic / "address") == mac:
                return nic.name
        return None

    nic = wait_for(f"a NIC with the address {mac}", find)
    run("ip", "link", "set", nic, "addrgenmode", "none")
    run("ip", "addr", "add", f"{address}/24", "dev", nic)
    run("ip", "link", "set", nic, "up")


def queue_tune(disk):
    """The same elevator and request size for everybody; says what it is."""
    queue = Path("/sys/block") / disk / "queue"
    write(queue / "scheduler", "none")
    write(queue / "max_sectors_kb", min(1024, int(read(queue / "max_hw_sectors_kb"))))
    values = ("max_sectors_kb", "max_segments", "nr_requests", "rotational", "write_cache", "fua")
    say(f"{disk}: " + ", ".join(f"{v} {read(queue / v)}" for v in values))


class NullBlk:
    """The baseline: fio and the block layer with a disk that does nothing."""

    name = "null_blk"

    def __init__(self, options):
        self.device = Path("/dev/nullb0")

    def start(self):
        run("modprobe", "null_blk", "nr_devices=1", "gb=1", "bs=512", "submit_queues=1",
            f"hw_queue_depth={COMMANDS}", "max_sectors=2048")
        wait_for(f"{self.device}", self.device.is_block_device)

    def negotiated(self):
        return {}

    def stop(self):
        run("modprobe", "-r", "null_blk")


class Stock:
    """open-iscsi and iscsi_tcp."""

    name = "stock"

    def __init__(self, options):
        self.options = options
        self.initiator = openiscsi.Stock()
        self.device = None

    def start(self):
        session = "node.session"
        connection = "node.conn[0].iscsi"
        settings = {
            f"{session}.iscsi.{key}": NEGOTIATED[key]
            for key in ("InitialR2T", "ImmediateData", "FirstBurstLength", "MaxBurstLength",
                        "MaxOutstandingR2T")
        }
        settings.update({f"{connection}.{key}": "None" for key in ("HeaderDigest", "DataDigest")})
        settings.update({
            f"{connection}.MaxRecvDataSegmentLength": SEGMENT_BYTES,
            f"{session}.cmds_max": COMMANDS,
            f"{session}.queue_depth": COMMANDS,
        })
        self.initiator.start()
        portal = f"{self.options.target}:3260"
        self.device = self.initiator.login(portal, self.options.iqn, LUN, **settings)

    def negotiated(self):
        (session,) = Path("/sys/class/iscsi_session").iterdir()
        (connection,) = Path("/sys/class/iscsi_connection").iterdir()

        def word(path, words):
            return words[int(read(path))]

        for name in ("max_recv_dlength", "max_xmit_dlength"):
            if int(read(connection / name)) != SEGMENT_BYTES:
                raise LabError(f"stock: {name} is {read(connection / name)}, not {SEGMENT_BYTES}")
        return {
            "HeaderDigest": word(connection / "header_digest", ("None", "CRC32C")),
            "DataDigest": word(connection / "data_digest", ("None", "CRC32C")),
            "InitialR2T": word(session / "initial_r2t", ("No", "Yes")),
            "ImmediateData": word(session / "immediate_data", ("No", "Yes")),
            "FirstBurstLength": read(session / "first_burst_len"),
            "MaxBurstLength": read(session / "max_burst_len"),
            "MaxOutstandingR2T": read(session / "max_outstanding_r2t"),
            "ErrorRecoveryLevel": read(session / "erl"),
            "MaxConnections": "1",
        }

    def stop(self):
        self.initiator.stop()


class Istripe:
    """The module, one leg, one path, one connection."""

    name = "istripe"

    def __init__(self, options):
        self.volume = istripe.Volume("bench", {
            "portal": f"{options.target}:3260",
            "target_name": options.iqn,
            "lun": LUN,
            "header_digest": "None",
            "data_digest": "None",
            "initial_r2t": NEGOTIATED["InitialR2T"],
            "immediate_data": NEGOTIATED["ImmediateData"],
            "max_recv_data_segment_length": SEGMENT_BYTES,
            "first_burst_length": NEGOTIATED["FirstBurstLength"],
            "max_burst_length": NEGOTIATED["MaxBurstLength"],
            "max_outstanding_r2t": NEGOTIATED["MaxOutstandingR2T"],
        }, queue_depth=COMMANDS, metadata="none")
        self.device = None

    def start(self):
        istripe.load()
        try:
            self.device = self.volume.up()
        except istripe.EnableError as err:
            raise LabError(f"istripe: enable failed: {err}") from err

    def negotiated(self):
        segment = self.volume.negotiated("MaxRecvDataSegmentLength")
        if segment != str(SEGMENT_BYTES):
            raise LabError(f"istripe: MaxRecvDataSegmentLength is {segment}, not {SEGMENT_BYTES}")
        return {key: self.volume.negotiated(key) for key in NEGOTIATED}

    def stop(self):
        self.volume.delete()
        istripe.unload()


def check_negotiated(stack):
    for key, value in stack.negotiated().items():
        if value != NEGOTIATED[key]:
            raise LabError(f"{stack.name}: {key} is {value}, not {NEGOTIATED[key]}")


def check_same_lun(writer, reader):
    """What one stack writes the other one reads: the figures are of real data, of one LUN."""
    pattern = os.urandom(4 * MIB)
    source, copy = RUN / "pattern", RUN / "copy"
    source.write_bytes(pattern)
    run("dd", f"if={source}", f"of={writer.device}", "bs=512k", "oflag=direct", "conv=notrunc")
    run("dd", f"if={reader.device}", f"of={copy}", "bs=512k", "count=8", "iflag=direct")
    if copy.read_bytes() != pattern:
        raise LabError(f"{reader.name} reads other data than {writer.name} has written")
    source.unlink()
    copy.unlink()


def start_fio(job, stack, what):
    """Starts fio for longer than it will be needed and waits for its first I/O."""
    before = completed_sectors(stack.device.name)
    process = fio.start(stack.device, name="bench", rw=job.rw, bs=job.block_bytes,
                        iodepth=job.depth, time_based=True, norandommap=True, runtime=3600)
    wait_for(f"the first I/O of {what}", lambda: process.poll() is not None or
             completed_sectors(stack.device.name) > before, 120)
    return process


def stop_fio(process, what):
    """Ends fio; raises LabError when it had ended by itself or saw an error."""
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=300)
    if process.returncode != FIO_SIGNALLED:
        raise LabError(f"{what}: fio failed with exit code {process.returncode}\n{err}{out[:2000]}")
    result = fio.Result(out)
    if result.error() or result.errors():
        raise LabError(f"{what}: fio: error {result.error()}, {result.errors()} failed\n{err}")


def window(job, disk, runtime_s):
    """First and last sample of a window, and the number of I/Os between them."""
    first = Sample.take(disk)
    for _ in range(WINDOWS_MAX):
        time.sleep(runtime_s)
        last = Sample.take(disk)
        ios = (last.sectors - first.sectors) * 512 / job.block_bytes
        if ios >= IOS_MIN:
            break
    return first, last, ios


def measure(job, stack, runtime_s):
    """One round: returns thousand instructions per I/O and I/Os per second."""
    what = f"{job.name} on {stack.name}"
    process = start_fio(job, stack, what)
    try:
        time.sleep(RAMP_S)
        first, last, ios = window(job, stack.device.name, runtime_s)
        stop_fio(process, what)
    except subprocess.TimeoutExpired as err:
        raise LabError(f"{what}: fio does not end: I/O is stuck") from err
    finally:
        process.kill()
    elapsed_ns = last.time_ns - first.time_ns
    busy_ns = elapsed_ns - (last.idle_ns - first.idle_ns)
    if ios < IOS_MIN:
        raise LabError(f"{what}: {ios:.0f} I/Os in {elapsed_ns / 1e9:.2f} s are too few to judge")
    return {
        "kinstr": busy_ns / ios / 1e3,
        "iops": ios / elapsed_ns * 1e9,
        "busy": busy_ns / elapsed_ns,
        "ios": ios,
        "sent": (last.sent - first.sent) / ios,
        "received": (last.received - first.received) / ios,
        "switches": (last.switches - first.switches) / ios,
    }


def measure_all(jobs, stacks, null_blk, options):
    """Alternates between the stacks within each job; the baseline needs one round only."""
    cells = []
    for job in jobs:
        order = [(0, null_blk)] + [(r, s) for r in range(options.rounds) for s in stacks]
        for number, stack in order:
            cell = measure(job, stack, options.runtime_ms / 1000)
            cells.append({"job": job.name, "stack": stack.name, "round": number, **cell})
            say(f"{job.name:18} {stack.name:8} {cell['kinstr']:9.1f} thousand instructions/IO "
                f"{cell['iops']:8.0f} IOPS {cell['busy'] * 100:4.0f} % busy; per I/O "
                f"{cell['sent']:.2f} packets sent, {cell['received']:.2f} received, "
                f"{cell['switches']:.2f} context switches")
    return cells


def bench(options):
    jobs = [job for job in JOBS if re.search(options.jobs, job.name)]
    if not jobs:
        raise LabError(f"no job matches {options.jobs}: {', '.join(job.name for job in JOBS)}")
    RUN.mkdir(exist_ok=True)
    log = KernelLog()
    nic_up(options.mac, options.address)
    null_blk = NullBlk(options)
    stacks = [kind(options) for kind in (Stock, Istripe) if options.only in ("", kind.name)]
    started = []
    try:
        for stack in [null_blk, *stacks]:
            started.append(stack)
            stack.start()
            check_negotiated(stack)
            queue_tune(stack.device.name)
        if len(stacks) == 2:
            check_same_lun(*stacks)
            check_same_lun(*reversed(stacks))
        # Nobody looks at the disks again each time that fio closes them.
        run("udevadm", "control", "--stop-exec-queue", check=False)
        cells = measure_all(jobs, stacks, null_blk, options)
        check_idle()
        run("udevadm", "control", "--start-exec-queue", check=False)
    finally:
        for stack in reversed(started):
            stack.stop()
    if log.bad():
        raise LabError("the kernel log is not clean:\n" + "\n".join(log.bad()[:40]))
    return {"kernel": os.uname().release, "rounds": options.rounds,
            "runtime_ms": options.runtime_ms, "cells": cells}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--mac", required=True)
    parser.add_argument("--address", required=True, help="of the guest")
    parser.add_argument("--target", required=True, help="address of the target")
    parser.add_argument("--iqn", required=True, help="name of the target")
    parser.add_argument("--rounds", type=int, required=True)
    parser.add_argument("--runtime-ms", type=int, required=True)
    parser.add_argument("--only", default="", choices=("", "stock", "istripe"))
    parser.add_argument("--jobs", default="", help="a regular expression")
    parser.add_argument("result", type=Path)
    return parser.parse_args()


def main():
    options = arguments()
    try:
        result = bench(options)
    except (LabError, OSError) as err:
        print(f"bench: {err}", file=sys.stderr, flush=True)
        return 1
    part = options.result.with_suffix(".part")
    part.write_text(json.dumps(result), encoding="ascii")
    part.rename(options.result)
    return 0


if __name__ == "__main__":
    sys.exit(main())
