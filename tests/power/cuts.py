# SPDX-License-Identifier: GPL-2.0
"""Power cuts: tests/vm/power-cuts runs this in the namespaces that tests/vm/outside makes.

A virtual machine writes numbered records to file systems on istripe volumes, and tells the number
of each one that fsync() or O_DSYNC has made durable. Then it is killed, and with it the scripted
targets lose what is in their caches only. The next machine tells which records are there.
"""

import argparse
import contextlib
import json
import random
import socket
import sys
import time
from pathlib import Path

import report
from lab import outside
from lab.kernlog import faults_on_console
from machine import BOOT_TIMEOUT_S, Failed, Machine, Talk
from volumes import SETUPS, Volume

PORT = 7000
CUT_AFTER_S = (0.5, 4)


class Cuts:
    def __init__(self, options):
        self.options = options
        self.rng = random.Random(options.seed)
        self.listener = socket.create_server((outside.ADDRESS, PORT))
        self.volumes = {setup.name: Volume(index, setup) for index, setup in enumerate(SETUPS)}
        self.boots = 0
        self.cuts = 0

    def run(self):
        while self.cuts < self.options.cuts:
            self.boot(last=False)
            print(f"power-cuts: cut {self.cuts} of {self.options.cuts}, lost "
                  f"{self.total('lost')} of {self.total('records')} records", flush=True)
        self.boot(last=True)

    def total(self, what):
        return sum(volume.counts[what] for volume in self.volumes.values())

    def accept(self, machine):
        """The machine's connection: it says when it is up."""
        end = time.monotonic() + BOOT_TIMEOUT_S
        self.listener.settimeout(0.5)
        while time.monotonic() < end and not machine.ended():
            with contextlib.suppress(TimeoutError):
                return Talk(self.listener.accept()[0])
        raise Failed(f"the machine does not come up\n{machine.words()}")

    def boot(self, last):
        machine = Machine(self.options)
        try:
            talk = self.accept(machine)
            self.boots += 1
            for volume in self.volumes.values():
                volume.begin()
            talk.send({"boot": self.boots, "last": last,
                       "volumes": [volume.orders() for volume in self.volumes.values()]})
            if last:
                self.listen(talk, machine, self.all_done)
                machine.wait()
            else:
                self.listen(talk, machine, self.time_to_cut())
                self.cut(talk, machine)
            self.judge(machine)
        finally:
            if not machine.ended():
                with contextlib.suppress(OSError, ValueError):
                    machine.cut()
                machine.wait()

    def listen(self, talk, machine, enough):
        end = time.monotonic() + BOOT_TIMEOUT_S
        self.done = False
        while not enough():
            lines = talk.lines()
            if lines is None or time.monotonic() > end:
                raise Failed(f"the machine has stopped talking\n{machine.words()}")
            for line in lines:
                self.told(line)

    def told(self, line):
        if "durable" in line:
            self.volumes[line["durable"]].acknowledged[line["kind"]] = line["number"] + 1
        elif "found" in line:
            self.volumes[line["found"]].found(line["kind"], line["numbers"])
        elif "mounted" in line:
            self.volumes[line["mounted"]].fresh = False
        elif "failed" in line:
            raise Failed(line["failed"])
        elif "done" in line:
            self.done = True

    def all_done(self):
        return self.done

    def time_to_cut(self):
        """A function that says when: some time after all writers are at work."""
        at = []

        def enough():
            if not at and all(volume.busy() for volume in self.volumes.values()):
                at.append(time.monotonic() + self.rng.uniform(*CUT_AFTER_S))
            return bool(at) and time.monotonic() >= at[0]

        return enough

    def cut(self, talk, machine):
        machine.cut()
        for volume in self.volumes.values():
            volume.cut(self.rng)
        self.cuts += 1
        machine.wait()
        # What it had told before it died.
        while (lines := talk.lines()):
            for line in lines:
                self.told(line)

    @staticmethod
    def judge(machine):
        faults = faults_on_console(machine.console)
        if faults:
            raise Failed(faults)

    def result(self):
        rows = [volume.result() for volume in self.volumes.values()]
        return {"kernel": self.options.kernel, "seed": self.options.seed, "cuts": self.cuts,
                "volumes": rows, "wrong": report.wrong(rows)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("json")
    parser.add_argument("--cuts", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kernel", default="6.12")
    parser.add_argument("--name", default="power-cuts")
    options = parser.parse_args()
    options.seed = options.seed or random.SystemRandom().randrange(1, 1 << 31)
    cuts = Cuts(options)
    failed = ""
    try:
        cuts.run()
    except Failed as error:
        failed = str(error)
    result = cuts.result()
    if failed:
        result["wrong"].insert(0, failed)
    report.show(result)
    Path(options.json).write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return 1 if result["wrong"] else 0


sys.exit(main())
