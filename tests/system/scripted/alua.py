# SPDX-License-Identifier: GPL-2.0
"""A LUN behind several target port groups (ALUA): ports of one disk, with access states."""

import time

from scripted.registrations import RegisteredDisk
from scripted.scsi import (
    INQUIRY,
    INVALID_FIELD,
    NO_SUCH_LUN,
    PERSISTENT_RESERVE_IN,
    PERSISTENT_RESERVE_OUT,
    REPORT_LUNS,
    REQUEST_SENSE,
    RESERVATION_CONFLICT,
    Disk,
    Result,
)

OPTIMIZED, NON_OPTIMIZED, STANDBY, UNAVAILABLE, OFFLINE, TRANSITIONING = 0, 1, 2, 3, 14, 15
#: No access state: the port has no such LUN.
GONE = 99
REFUSALS = {TRANSITIONING: (2, 4, 0x0A), STANDBY: (2, 4, 0x0B), UNAVAILABLE: (2, 4, 0x0C),
            OFFLINE: (2, 4, 0x12), GONE: NO_SUCH_LUN}
CHANGED = (6, 0x2A, 6)
#: Implicit asymmetric access state transition failed.
NOT_CHANGED = (6, 0x2A, 7)

MAINTENANCE_IN, REPORT_TARGET_PORT_GROUPS, EXTENDED = 0xA3, 0x0A, 0x20
MAINTENANCE_OUT, SET_TARGET_PORT_GROUPS = 0xA4, 0x0A
SET_FAILED = (4, 0x67, 0x0A)
#: Who changes the states, in the INQUIRY data.
IMPLICIT, EXPLICIT = 1, 2
#: They get an answer in every state.
ALWAYS = (INQUIRY, REPORT_LUNS, REQUEST_SENSE, MAINTENANCE_IN, MAINTENANCE_OUT)
#: In standby, too (SPC-4).
RESERVE = (PERSISTENT_RESERVE_IN, PERSISTENT_RESERVE_OUT)
MEDIUM = (0x28, 0x2A, 0x88, 0x8A, 0x9C, 0x35, 0x91, 0x42, 0x93)


class Groups:
    """The target port groups of one LUN, numbered from FIRST on; ports has a Disk for each.

    keyed: it has persistent reservations.
    """

    FIRST = 0x101

    def __init__(self, *states, preferred=None, size_bytes=16 << 20, keyed=False):
        self.states = list(states)
        self.preferred = preferred
        #: What the ports do, if it is not what they say.
        self.lies = {}
        #: {port: states of all groups from the first command for its medium on}.
        self.turns = {}
        #: Those that are not in the list for a while.
        self.missing = set()
        #: Those that fail to tell.
        self.broken = set()
        #: Those whose INQUIRY data say that no device is connected, in whatever state.
        self.unconnected = set()
        #: Of the extended header; None: the target does not know that.
        self.transition_s = 0
        self.tpgs = IMPLICIT
        #: {port: the same}, where it is something else.
        self.tpgs_of = {}
        #: Requests to make a group optimized: its index, and when; and whether they fail.
        self.wanted, self.wanted_at = [], []
        self.fails = False
        #: Whether ports take RESERVE in standby: not all targets do.
        self.standby_reserves = True
        data = bytearray(size_bytes)
        self.keys = {}
        kind = RegisteredPort if keyed else Port
        self.ports = [kind(self, index, data) for index in range(len(states))]

    def set(self, *states, tell=False):
        """The states of all groups; tell: a unit attention at each port."""
        self.states[:] = states
        if tell:
            for port in self.ports:
                port.attentions.append(CHANGED)

    def hand_over(self, index):
        """As an array does whose LUNs are with one controller at a time."""
        self.wanted.append(index)
        self.wanted_at.append(time.monotonic())
        if self.fails:
            return Result.check(*SET_FAILED)
        self.set(*(OPTIMIZED if each == index else STANDBY for each in range(len(self.states))))
        return Result()

    def report(self, extended):
        rows = bytes([0x10, self.transition_s, 0, 0]) if extended else b""
        for index, state in enumerate(self.states):
            if index in self.missing:
                continue
            flags = state | (0x80 if index == self.preferred else 0)
            rows += bytes([flags, 0xCF]) + (self.FIRST + index).to_bytes(2, "big")
            rows += bytes([0, 2, 0, 1, 0, 0]) + (index + 1).to_bytes(2, "big")
        return len(rows).to_bytes(4, "big") + rows


class Port(Disk):
    """The LUN as seen through one port. served, refused: commands for the medium."""

    def __init__(self, groups, index, data):
        super().__init__(size_bytes=0)
        self.data = data
        self.groups = groups
        self.index = index
        self.served = self.refused = self.asked = 0

    def execute(self, cdb, out, lun=0):
        opcode = cdb[0]
        medium = opcode in MEDIUM
        if medium and self.index in self.groups.turns:
            self.groups.set(*self.groups.turns.pop(self.index))
        if self.attentions and opcode not in (INQUIRY, REPORT_LUNS, REQUEST_SENSE):
            return Result.check(*self.attentions.pop(0))
        state = self.groups.lies.get(self.index, self.groups.states[self.index])
        if state in REFUSALS and not self.answers(opcode, state):
            self.refused += medium
            return Result.check(*REFUSALS[state])
        self.served += medium
        if opcode == MAINTENANCE_IN and cdb[1] & 0x1F == REPORT_TARGET_PORT_GROUPS:
            return self.report(cdb)
        if opcode == MAINTENANCE_OUT and cdb[1] & 0x1F == SET_TARGET_PORT_GROUPS:
            return self.set_groups(out)
        result = super().execute(cdb, out, lun)
        if opcode == INQUIRY and len(result.data) > 5:
            result.data = self.inquiry(bytearray(result.data), state, bool(cdb[1] & 1))
        return result

    def answers(self, opcode, state):
        reserves = state == STANDBY and self.groups.standby_reserves
        return opcode in ALWAYS or (reserves and opcode in RESERVE)

    def inquiry(self, data, state, vital):
        """The qualifier of a port that is unavailable is 001b, in all pages (SPC-4)."""
        if state == UNAVAILABLE or self.index in self.groups.unconnected:
            data[0] |= 0x20
        if not vital:
            data[5] |= self.groups.tpgs_of.get(self.index, self.groups.tpgs) << 4
        return bytes(data)

    def report(self, cdb):
        extended = bool(cdb[1] & EXTENDED)
        if extended and self.groups.transition_s is None:
            return Result.check(*INVALID_FIELD)
        if self.index in self.groups.broken:
            return Result.check(4, 0x44, 0)
        self.asked += 1
        return Result(data=self.groups.report(extended)[:int.from_bytes(cdb[6:10], "big")])

    def set_groups(self, out):
        index = int.from_bytes(out[6:8], "big") - self.groups.FIRST
        if len(out) != 8 or out[4] != OPTIMIZED or not 0 <= index < len(self.groups.ports):
            return Result.check(*INVALID_FIELD)
        return self.groups.hand_over(index)

    def direction(self, cdb, edtl):
        if cdb[0] == MAINTENANCE_OUT:
            return 0, int.from_bytes(cdb[6:10], "big")
        return super().direction(cdb, edtl)

    def pages(self, door=0):
        pages = super().pages(door)
        port = (self.index + 1).to_bytes(4, "big")
        group = (self.groups.FIRST + self.index).to_bytes(4, "big")
        pages[0x83] += b"\x51\x94\0\x04" + port + b"\x51\x95\0\x04" + group
        return pages


class RegisteredPort(Port, RegisteredDisk):
    """All ports have the same keys; the reservation is where it was made."""

    def __init__(self, groups, index, data):
        super().__init__(groups, index, data)
        self.keys = groups.keys

    def set_groups(self, out):
        """While the LUN is reserved, for nexuses that are registered only, as by LIO."""
        if any(port.kind for port in self.groups.ports) and self.nexus not in self.keys:
            return Result(RESERVATION_CONFLICT)
        return super().set_groups(out)
