# SPDX-License-Identifier: GPL-2.0
"""A scenario: where the target leaves the path of virtue, and what must come of it."""

import asyncio
import dataclasses


@dataclasses.dataclass(frozen=True)
class Expect:
    """What a volume makes of it.

    kind: "works"        enabled, I/O correct, no session was lost
          "reconnects"   a session was lost for `reason`, I/O is correct nevertheless
          "survives"     either of these, I/O is correct
          "refused"      enabling fails, last_error matches `reason`, with errno `number` if given
          "io error"     enabled, I/O fails with errno `number`, no session was lost
          "not served"   enabled, I/O waits for another login again and again, then fails
                        with errno `number`
          "path refused" the path goes down for `reason` and stays down
          "elsewhere"    the path shows another LUN: refused for `reason`, I/O waits and is correct
                         when the LUN is back
    """

    kind: str
    reason: str = ""
    number: int = 0


WORKS = Expect("works")
SURVIVES = Expect("survives")


def reconnects(reason):
    """reason: a part of what the path says; any other loss would pass for this one without it."""
    if not reason:
        raise ValueError("a loss for any reason")
    return Expect("reconnects", reason)


def refused(reason="", number=0):
    return Expect("refused", reason, number)


def io_error(number):
    return Expect("io error", number=number)


def not_served(number):
    return Expect("not served", number=number)


def path_refused(reason=""):
    return Expect("path refused", reason)


def elsewhere(reason=""):
    return Expect("elsewhere", reason)


class Held:
    """on_command: commands of this opcode wait, once armed, until release() is called in the target."""

    def __init__(self, opcode):
        self.opcode, self.tasks, self.released = opcode, [], asyncio.Event()

    async def on_command(self, run, _conn, task):
        if task.opcode == self.opcode and run.armed:
            self.tasks.append(task)
            await self.released.wait()
        return False

    async def release(self):
        self.released.set()


@dataclasses.dataclass(frozen=True)
class Scenario:
    """One row of a table.

    hooks: {name: async function(run, conn, what)}: on_connect, on_login (Login Request),
        on_command (Task), on_data_out, on_late_data (of no task any more), on_nop, on_tmf, on_logout (PDU); true: the step is done.
        on_header (PDU, its data are still to be read): the rest is read in any case.
        before_send (PDU, numbered) returns None or what to send instead, a list.
        login_pairs(conn, request, pairs, ready) returns the pairs to answer, and whether the stage
        may be left.
    settings: of target.Settings; path, volume: of the volume; times: how often the hooks strike;
    armed: whether from the start, else only when the volume is up;
    segment_bytes: everything is written in pieces of this size.
    connections: that the session must have once the volume is up, if not 0.
    io: what the test does, see test_scripted.py. allow, says: lines of the kernel's log, which may, and
    must be there.
    """

    name: str
    expect: Expect = WORKS
    hooks: dict = dataclasses.field(default_factory=dict)
    settings: dict = dataclasses.field(default_factory=dict)
    disk: dict = dataclasses.field(default_factory=dict)
    path: dict = dataclasses.field(default_factory=dict)
    volume: dict = dataclasses.field(default_factory=dict)
    times: int = 1
    armed: bool = False
    segment_bytes: int = 0
    connections: int = 0
    io: str = "default"
    allow: tuple = ()
    says: str = ""
    violations: str = ""        # lines that match are the scenario's own doing


HONEST = Scenario("honest")


class Run:
    """One scenario under way: what its hooks remember."""

    def __init__(self, scenario=HONEST):
        self.scenario = scenario
        self.armed = scenario.armed
        self.hits = 0
        self.touched = False        # whether anything was other than honest
        self.memory = {}
        self.target = None

    def strike(self):
        """Whether the misbehaviour is due now; counts it."""
        if not self.armed or self.hits >= self.scenario.times:
            return False
        self.hits += 1
        return True

    async def hook(self, name, conn, what):
        function = self.scenario.hooks.get(name)
        if not function:
            return False
        self.touched |= name == "on_connect"
        done = bool(await function(self, conn, what))
        self.touched |= done
        return done

    async def before_send(self, conn, pdu):
        function = self.scenario.hooks.get("before_send")
        return await function(self, conn, pdu) if function else None

    async def login_pairs(self, conn, request, pairs, ready):
        function = self.scenario.hooks.get("login_pairs")
        if not function:
            return pairs, ready
        answer = await function(conn, request, pairs, ready)
        self.touched |= answer != (pairs, ready)
        return answer


async def silence():
    """Never ends: the target has nothing more to say."""
    await asyncio.Event().wait()
