# SPDX-License-Identifier: GPL-2.0
"""Runs in the virtual machine of tests/vm/bench-memory: what a volume keeps of the kernel's memory.

8 legs with 4 connections each, from istripe (one session of 4 connections for each leg) and from
the stock stack (4 sessions for each LUN, dm-multipath over them, dm-stripe over all), in turn. The
target is the scripted one: a process, so that nothing in the kernel is the target's but its ends
of the TCP connections, which both stacks pay for.
"""

import argparse
import contextlib
import logging
import re
import sys
import time
from pathlib import Path

import measure
from lab import fio, istripe, leaks, network, openiscsi
from lab.shell import read, run, wait_for, write
from scripted.scenario import Scenario
from scripted.server import Server
from stacks import COMMANDS, KIB, MIB, SESSIONS, mapper_create, mapper_remove, say

LEGS = 8
CONNECTIONS = 4
LUN_BYTES = 4 * MIB
PORT = 3270
CHUNK_BYTES = 64 * KIB
#: RCU and workers free what is left a little later: readings that lie apart by this time
SETTLE_S = 1.0
#: and differ by less than this are believed, SETTLE_READINGS of them, or the last of many.
SETTLE_KIB = 64
SETTLE_READINGS = 4
SETTLE_READINGS_MAX = 40
STOCK_SETTINGS = {"node.session.nr_sessions": CONNECTIONS, "node.session.cmds_max": COMMANDS,
                  "node.session.queue_depth": COMMANDS}
#: The most that istripe may keep for each connection.
GOAL_KIB = 256
PHASES = (("enabled", "the disk is there"), ("used", f"after I/O at depth {COMMANDS}"))
#: Of /proc/meminfo, in KiB: what is not the kernel's own, or counted by itself. VmallocUsed has the
#: stacks of threads (CONFIG_VMAP_STACK).
NOT_PAGES = ("Buffers", "Cached", "SwapCached", "AnonPages", "Slab", "PageTables", "SecPageTables",
             "VmallocUsed", "Percpu")


def meminfo():
    lines = (line.split() for line in read("/proc/meminfo").splitlines())
    return {words[0].rstrip(":"): int(words[1]) for words in lines}


def free_kib(info):
    """MemFree, and the free pages that processors keep for themselves."""
    kept = re.findall(r"^\s+count: (\d+)$", read("/proc/zoneinfo"), re.MULTILINE)
    return info["MemFree"] + 4 * sum(map(int, kept))


def settle():
    leaks.settle()
    for cache in Path("/sys/kernel/slab").glob("*/shrink"):
        write(cache, 1)
    # Brings the counters of all processors together.
    write("/proc/sys/vm/stat_refresh", 1)


def reading():
    """What the kernel has taken, by the way in which it has."""
    settle()
    info = meminfo()
    pages = info["MemTotal"] - free_kib(info) - sum(info.get(name, 0) for name in NOT_PAGES)
    sockets = int(re.search(r"^TCP: .* mem (\d+)$", read("/proc/net/sockstat"), re.MULTILINE)[1])
    taken = {"slab": info["SUnreclaim"], "vmalloc": info["VmallocUsed"],
             "percpu": info["Percpu"], "pages": pages - 4 * sockets}
    return {**taken, "total": sum(taken.values())}


def used_kib():
    """A reading, once nothing more is given back."""
    found = []
    for _ in range(SETTLE_READINGS_MAX):
        found.append(reading())
        last = [one["total"] for one in found[-SETTLE_READINGS:]]
        if len(last) == SETTLE_READINGS and max(last) - min(last) < SETTLE_KIB:
            break
        time.sleep(SETTLE_S)
    return found[-1]


class Istripe:
    name = "istripe"

    def __init__(self, servers):
        each = [{"portal": server.portal, "target_name": name, "multi": "mcs",
                 "connections": CONNECTIONS}
                for name, server in servers.items()]
        self.volume = istripe.Volume("bench", each[0], each[1:], queue_depth=COMMANDS,
                                     chunk_bytes=CHUNK_BYTES)
        self.device = None

    def start(self):
        self.device = self.volume.up()

    def stop(self):
        self.volume.delete()


class Stock:
    name = "stock"

    def __init__(self, servers):
        self.servers = servers
        self.initiator = openiscsi.Stock()
        self.device = None
        self.mapped = []

    @staticmethod
    def disks(iqn):
        return [f"/dev/{disk.name}" for session in SESSIONS.iterdir()
                if read(session / "targetname") == iqn
                for disk in session.glob("device/target*/*:*:*:0/block/sd*")]

    def multipath(self, number, iqn, server):
        self.initiator.login(server.portal, iqn, **STOCK_SETTINGS)
        wait_for(f"{CONNECTIONS} disks of {iqn}", lambda: len(self.disks(iqn)) == CONNECTIONS)
        paths = self.disks(iqn)
        each = " ".join(f"{path} 1" for path in paths)
        name = f"leg{number}"
        run("dmsetup", "create", name, "--table", f"0 {LUN_BYTES // 512} multipath 0 0 1 1 "
            f"round-robin 0 {len(paths)} 1 {each}")
        self.mapped.append(name)
        return f"/dev/mapper/{name}"

    def start(self):
        self.initiator.start()
        legs = [self.multipath(number, *server) for number, server in
                enumerate(self.servers.items())]
        each = " ".join(f"{leg} 0" for leg in legs)
        self.device = mapper_create(f"0 {LEGS * LUN_BYTES // 512} striped {LEGS} "
                                    f"{CHUNK_BYTES // 512} {each}", ())

    def stop(self):
        if self.device:
            mapper_remove()
            self.device = None
        while self.mapped:
            run("dmsetup", "remove", "--retry", self.mapped.pop())
        self.initiator.stop()


@contextlib.contextmanager
def targets(address):
    """A target for each leg, in the namespace of the laboratory."""
    with contextlib.ExitStack() as cleanup:
        servers = {}
        for number in range(LEGS):
            name = f"iqn.2024-01.org.example.istripe:leg{number}"
            server = Server(address, PORT + number, network.NETNS).start()
            cleanup.callback(server.stop)
            server.load(Scenario(name, settings={"name": name, "depth": COMMANDS}),
                        size_bytes=LUN_BYTES, identity=f"6001405{number:025x}")
            servers[name] = server
        yield servers


def use(stack):
    fio.run(stack.device, rw="randrw", bs="16k", iodepth=COMMANDS, size=LEGS * LUN_BYTES,
            io_size=8 * MIB)


def take(stack, number):
    """One life of a stack: a cell for each phase, in KiB for each connection."""
    before = used_kib()
    with contextlib.ExitStack() as cleanup:
        cleanup.callback(stack.stop)
        stack.start()
        for phase, _ in PHASES:
            if phase == "used":
                use(stack)
            after = used_kib()
            figures = {name: (after[name] - before[name]) / LEGS / CONNECTIONS for name in after}
            yield {"job": phase, "stack": stack.name, "round": number, **figures}


def bench(options):
    # The target says what it has for connections that are gone.
    logging.getLogger("asyncio").setLevel(logging.ERROR)
    lab = network.Network(links=1)
    lab.create()
    Path("/run/lab").mkdir(exist_ok=True)
    run("modprobe", "-a", "istripe", "iscsi_tcp", "sd_mod", "dm-mod", "dm-multipath",
        "dm-round-robin")
    istripe.load()
    cells = []
    with targets(lab.links[0].address) as servers:
        kinds = [kind for kind in (Stock, Istripe) if options.only in ("", kind.name)]
        for number in range(options.rounds):
            for kind in kinds[:: -1 if number % 2 else 1]:
                for cell in take(kind(servers), number):
                    words = ", ".join(f"{name} {cell[name]:.1f}" for name in
                                      ("slab", "vmalloc", "percpu", "pages", "total"))
                    say(f"{cell['job']:8} {cell['stack']:8} KiB/connection: {words}")
                    cells.append(cell)
    lab.destroy()
    rows = [{"job": job, "title": title, "goal": GOAL_KIB} for job, title in PHASES]
    return {"set": "memory", "rows": rows, "cells": cells}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    measure.add_arguments(parser)
    return measure.finish(bench, parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
