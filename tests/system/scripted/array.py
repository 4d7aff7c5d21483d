# SPDX-License-Identifier: GPL-2.0
"""An array with two target port groups, each a server, that counts what comes to which portal."""

import asyncio
import time

from scripted.alua import (
    EXPLICIT,
    IMPLICIT,
    MEDIUM,
    REFUSALS,
    STANDBY,
    TRANSITIONING,
    Groups,
)
from scripted.pdu import after
from scripted.scenario import Scenario
from scripted.scsi import CHECK_CONDITION, WRITE_16, number

GROUPS = 2


class Array:
    """delay_s: how long the groups are in transition, both at once.

    arrived: {address: commands for the medium}. late: those of them that the initiator sent to a
    port that takes none after it had got a refusal over the same connection: the number of the
    answers that a command confirms says what it had got.
    """

    kind = "scripted"

    def __init__(self, make_server, ways, access=IMPLICIT, delay_s=0):
        self.groups = Groups(0, STANDBY)
        self.groups.tpgs = access
        self.explicit = access == EXPLICIT
        self.delay_s = self.transition_s = delay_s
        self.ways = ways
        self.arrived = {way.address: 0 for way in ways}
        self.late = 0
        self.found_out = {}         # connection: StatSN of the first refusal
        self.hold_at = None         # where the next write gets no answer
        self.held = None            # at which address that was
        self.servers = [make_server() for _ in range(GROUPS)]
        for index, server in enumerate(self.servers):
            scenario = Scenario("two groups", hooks={"on_command": self.on_command},
                                settings={"tpgt": index + 1})
            server.load(scenario).disk = self.groups.ports[index]
        for way in ways:
            way.port = self.servers[way.group].port

    @property
    def iqn(self):
        return self.servers[0].target.iqn

    @staticmethod
    def lun_number(index):
        return index

    # In the targets' threads

    async def on_command(self, run, conn, task):
        if task.opcode not in MEDIUM:
            return False
        address = conn.writer.get_extra_info("sockname")[0]
        disk = run.target.disk
        self.arrived[address] += 1
        if task.opcode == WRITE_16 and number(task.cdb, 2, 8) * disk.block_bytes == self.hold_at:
            self.hold_at, self.held = None, address
            await asyncio.Event().wait()
        found_out = self.found_out.get(conn)
        if (found_out is not None and after(task.pdu.exp_stat_sn, found_out)
                and self.groups.states[disk.index] in REFUSALS):
            self.late += 1
        if task.write:
            await run.target.collect(conn, task)
        refused = disk.refused
        result = disk.execute(task.cdb, task.buffer)
        if result.status == CHECK_CONDITION and disk.refused > refused:
            # The number that the answer will have.
            self.found_out.setdefault(conn, conn.stat_sn)
        await run.target.respond(conn, task, result)
        return True

    # For the test

    def other_host(self, _stock):
        """There need be none."""

    def set(self, *states):
        """The states of the groups."""
        changes = states != tuple(self.groups.states)
        if self.delay_s and changes:
            self.groups.set(*[TRANSITIONING] * GROUPS)
            time.sleep(self.delay_s)
        self.found_out = {}
        # A port that has I/O and becomes standby is found by a refusal; another one only by this.
        self.groups.set(*states, tell=STANDBY not in states)

    def commands(self, group):
        """How many came for the medium; those that were refused, too."""
        return sum(self.arrived[way.address] for way in self.ways if way.group == group)
