# SPDX-License-Identifier: GPL-2.0
"""Runs in the virtual machine of tests/vm/bench-failover: how long I/O stands when a path is lost.

::

     initial network namespace                        namespace "tgt"
    +---------------------------------+              +---------------------------+
    | istripe.ko, policy failover     |---- veth  ---| LIO: one LUN, one portal  |
    | or  iscsi_tcp and dm-multipath  |---- links ---| group with two portals,   |
    | one reader, one writer          |              | or see --ports            |
    +---------------------------------+              +---------------------------+

All I/O goes over the first path. That is lost, and comes back when I/O has gone on over the
second one and the pause is known. One stack after the other, with its timers as they come
(istripe) or as its documents recommend (stock).
"""

import argparse
import contextlib
import itertools
import sys
import time
from typing import NamedTuple

import measure
import stacks
from jobs import MIB, chosen, print_list
from lab import lio, storage
from lab.network import (
    ISCSI_PORT,
    NETNS,
    Network,
    established,
    kill_connections,
    lose_large_packets,
    pass_large_packets,
)
from lab.shell import LabError, read, run, wait_for, write
from stacks import KEYS, SESSIONS, Layout, Place, say
from streams import Stream

LINKS = 2
LUN_BYTES = 64 * MIB
#: I/O before a loss, so that it is one of a path at work.
RUN_S = 0.5
WAIT_S = 180
#: A write that is to wait for its own path must be in flight when that is lost; between two it is not.
TRIES = 50
#: README of open-iscsi, 8.1, with the ping of its iscsid.conf; the replacement time-out is the
#: fast_io_fail_tmo that multipath-tools sets by default.
RECOMMENDED = {
    "node.session.timeo.replacement_timeout": 5,
    "node.conn[0].timeo.noop_out_interval": 5,
    "node.conn[0].timeo.noop_out_timeout": 5,
}
#: What is logged of the lost path's disk.
EXPECTED_LOG = (r"(I/O|offline) error, dev sd",)


class Reset:
    """The target's socket is gone, and says so."""

    name = "rst"
    goal_s = 0.5
    own_way_back = True

    def lose(self, link):
        ports = [there.rsplit(":", 1)[1] for here, there in established(netns=NETNS)
                 if link.address in here]
        if not kill_connections(by_target=True, source_ports=ports):
            raise LabError("there was no connection to break")

    def heal(self, link):
        """The path comes back by itself."""


class LinkDown:
    """The other end of the cable goes down: the initiator's NIC has no carrier."""

    name = "link-down"
    goal_s = 1.0
    own_way_back = False

    def lose(self, link):
        run("ip", "link", "set", link.peer, "down", netns=NETNS)

    def heal(self, link):
        run("ip", "link", "set", link.peer, "up", netns=NETNS)


class Silence:
    """Nothing arrives any more, in neither direction, and nobody says so."""

    name = "silence"
    goal_s = 6.0
    own_way_back = False

    @staticmethod
    def ends(link):
        return ((link.nic, None), (link.peer, NETNS))

    def lose(self, link):
        for nic, netns in self.ends(link):
            run("tc", "qdisc", "add", "dev", nic, "root", "netem", "loss", "100%", netns=netns)

    def heal(self, link):
        for nic, netns in self.ends(link):
            run("tc", "qdisc", "del", "dev", nic, "root", netns=netns)


class LargePackets:
    """A switch drops large packets, in both directions: logins and pings pass, I/O does not."""

    name = "mtu"
    goal_s = 6.0
    own_way_back = False

    def lose(self, link):
        for nic, netns in Silence.ends(link):
            lose_large_packets(nic, netns)

    def heal(self, link):
        for nic, netns in Silence.ends(link):
            pass_large_packets(nic, netns)


LOSSES = (Reset(), LinkDown(), Silence(), LargePackets())


class Setup(NamedTuple):
    """A fence and the losses that are tried with it."""

    name: str
    text: str
    jobs: tuple
    more_jobs: tuple = ()


SETUPS = (
    Setup("path", "istripe: fence=path", LOSSES),
    Setup("auto", "istripe: fence=auto, the default", LOSSES),
)


class Row(NamedTuple):
    """name: of the row, before that of the loss."""

    name: str
    title: str
    goals: bool = False


READ = Row("read", "reads, s from the loss; istripe: fence=path", True)
WRITE = Row("write", "writes, s from the loss; istripe: fence=auto, the default; stock: no fence")
OWN_WAY = Row("write own-path", "writes, istripe: fence=path: they wait for their own path; "
              "rst: s from the loss, others: s from when the link is back")
ROWS = (READ, WRITE, OWN_WAY)

#: What is taken from a reader and a writer: by the fence, nothing being the stock stack's.
TAKEN = {
    "": {"read": READ, "write": WRITE},
    "path": {"read": READ, "write": OWN_WAY},
    "auto": {"write": WRITE},
}


class Stock(stacks.Stock):
    """dm-multipath with a group for each path, which is what multipath-tools makes by default."""

    fences = ("",)

    def settings(self):
        return {**super().settings(), **RECOMMENDED}

    def table(self, disks):
        sectors = read(f"/sys/block/{disks[0]}/size")
        groups = " ".join(f"round-robin 0 1 1 /dev/{disk} 1" for disk in disks)
        self.disks_used = disks
        return (f"0 {sectors} multipath 1 queue_if_no_path 0 {len(disks)} 1 {groups}",
                ("dm-multipath", "dm-round-robin"))

    def fence(self, _fence):
        """There is none."""

    def losses(self):
        """How many sessions are lost now."""
        return sum(read(session / "state") != "LOGGED_IN" for session in SESSIONS.iterdir())

    def noticed(self, _before):
        return self.losses() > 0

    def message(self, *words):
        run("dmsetup", "message", "bench", "0", *words)

    def wait_whole(self):
        """multipathd would do the same, somewhat later."""
        wait_for("both sessions", lambda: not self.losses(), WAIT_S)
        for disk in self.disks_used:
            block = f"/sys/block/{disk}"
            wait_for(f"{disk}", lambda block=block: read(f"{block}/device/state") == "running")
            self.message("reinstate_path", read(f"{block}/dev"))
        self.message("switch_group", "1")


class Istripe(stacks.Istripe):
    """With its own time-outs; a NIC for each path, as the README has it."""

    fences = tuple(setup.name for setup in SETUPS)

    def __init__(self, layout, links, proves):
        self.proves = proves
        self.nics = {link.portal(): link.nic for link in links}
        super().__init__(layout)
        self.volume.policy = "failover"

    def settings(self, place):
        return {**super().settings(place), "nic": self.nics[place.portal]}

    def fence(self, fence):
        file = self.volume.leg / "fence"
        if read(file) != fence:
            write(file, fence)
        if fence == "auto" and self.proves:
            self.volume.wait_proven()

    def losses(self):
        return int(read(self.volume.path_sysfs() / "faults"))

    def noticed(self, before):
        return self.losses() > before

    def wait_whole(self):
        wait_for("both paths", lambda: read(self.volume.sysfs() / "state") == "live", WAIT_S)


class Round(NamedTuple):
    """What happens once: on which stack, with which fence, and how the link is lost."""

    stack: object
    fence: str
    loss: object
    link: object

    def take(self):
        """Seconds of a reader and a writer, {"read": ..., "write": ...}, or nothing: see measured()."""
        streams = [Stream(self.stack.device, way) for way in ("read", "write")]
        with contextlib.ExitStack() as cleanup:
            for stream in streams:
                stream.start()
                cleanup.callback(stream.stop)
            time.sleep(RUN_S)
            for stream in streams:
                stream.wait_going()
            return self.measured(*streams)

    def measured(self, reader, writer):
        """Nothing with fence=path when the writer goes on: none of its writes was in flight."""
        before, lost_ns = self.stack.losses(), time.monotonic_ns()
        own_path = self.fence == "path"
        waits = own_path and not self.loss.own_way_back
        with contextlib.ExitStack() as cleanup:
            cleanup.callback(self.loss.heal, self.link)
            self.loss.lose(self.link)
            wait_for("the loss to be noticed", lambda: self.stack.noticed(before), WAIT_S, 0.005)
            written = writer.completed()
            reader.wait_going()
            if own_path and writer.completed() != written:
                return None
            found = {"read": reader.pause_s(lost_ns)}
            if not waits:
                writer.wait_going()
                found["write"] = writer.pause_s(lost_ns)
        healed_ns = time.monotonic_ns()
        if waits:
            writer.wait_going()
            found["write"] = writer.first_s(healed_ns)
        return found


class Lab:
    """Two links, one LUN behind both: portals of one group, groups of one target, or targets."""

    def __init__(self, ports):
        self.ports = ports
        self.network = Network(LINKS)
        portals = [(link.address, ISCSI_PORT) for link in self.network.links]
        lun = lio.Lun(LUN_BYTES)
        if ports == "portals":
            self.targets = [lio.Target(portals, [lun])]
            return
        iqn = f"{lio.IQN}ports"
        ways = [{"iqn": iqn, "tpgt": 1}, {"iqn": iqn, "tpgt": 2}] if ports == "groups" else \
            [{"iqn": f"{iqn}0"}, {"iqn": f"{iqn}1"}]
        self.targets = [lio.Target([portal], [each], **way)
                        for portal, each, way in zip(portals, (lun, lio.SameLun(lun)), ways)]

    @contextlib.contextmanager
    def running(self):
        storage.prepare()
        lio.prepare()
        run("modprobe", "-a", "sch_netem", "sch_ingress", "cls_matchall", "act_police")
        with contextlib.ExitStack() as cleanup:
            cleanup.callback(self.network.destroy)
            self.network.create()
            keys = {key: value for key, value in KEYS.items() if "Digest" not in key}
            for target in self.targets:
                cleanup.callback(target.destroy)
                target.create()
                target.update(**keys, MaxXmitDataSegmentLength=keys["MaxRecvDataSegmentLength"])
            yield self

    def stacks(self, only):
        links = self.network.links
        places = tuple(Place(link.portal(), target.iqn, 0)
                       for link, target in zip(links, itertools.cycle(self.targets)))
        layout = Layout(places, paths=True)
        return [stack for stack in (Stock(layout), Istripe(layout, links, self.ports == "portals"))
                if only in ("", stack.name)]


def take_round(stack, fence, loss, link):
    for _ in range(TRIES):
        stack.wait_whole()
        stack.fence(fence)
        found = Round(stack, fence, loss, link).take()
        if found:
            return found
    raise LabError(f"{loss.name}: no write was in flight, {TRIES} times")


def measure_losses(lab, stack, fence, losses, rounds):
    for loss in losses:
        for number in range(rounds):
            found = take_round(stack, fence, loss, lab.network.links[0])
            for way, row in TAKEN[fence].items():
                job = f"{row.name} {loss.name}"
                say(f"{job:26} {stack.name:8} {found[way]:.3f} s")
                yield {"job": job, "stack": stack.name, "round": number, "s": found[way]}


def measure_stack(lab, stack, wanted, options):
    """Yields the cells of all rounds of a stack. wanted: losses by the fence."""
    with measure.started([stack]):
        for fence in stack.fences:
            # All of the rounds are for what has a goal.
            rounds = options.rounds if fence == "path" else options.few_rounds
            yield from measure_losses(lab, stack, fence, wanted.get(fence, ()), rounds)
        stack.wait_whole()


def described(losses):
    return [{"job": f"{row.name} {loss.name}", "title": row.title,
             "goal": loss.goal_s if row.goals else None}
            for row in ROWS for loss in losses]


def bench(options):
    wanted = {setup.name: losses for setup, losses in chosen(SETUPS, options.jobs)}
    losses = [loss for loss in LOSSES if any(loss in some for some in wanted.values())]
    wanted[""] = losses
    cells = []
    with Lab(options.ports).running() as lab:
        for stack in lab.stacks(options.only):
            cells += measure_stack(lab, stack, wanted, options)
    return {"set": "failover", "rows": described(losses), "cells": cells}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    measure.add_arguments(parser)
    parser.add_argument("--few-rounds", type=int, default=5)
    parser.add_argument("--ports", choices=("portals", "groups", "targets"), default="portals",
                        help="of the LUN: two portals of one group (default), two portal groups of "
                        "one target, two targets")
    options = parser.parse_args()
    if options.list:
        print_list(SETUPS)
        return 0
    return measure.finish(bench, options, EXPECTED_LOG)


if __name__ == "__main__":
    sys.exit(main())
