# SPDX-License-Identifier: GPL-2.0
"""A disk with persistent reservations for registrants (SPC-5 5.14): what initiators see of them.

Who sends a command is a nexus: (name of the initiator, ISID). Other hosts are names that the test
makes up; it calls register() and preempt() for them.
"""

from scripted.scsi import (
    INVALID_FIELD,
    PERSISTENT_RESERVE_IN,
    PERSISTENT_RESERVE_OUT,
    READ_16,
    RESERVATION_CONFLICT,
    SERVICE_ACTION_IN_16,
    WRITE_16,
    Disk,
    Refuse,
    Result,
    number,
)

REGISTER, RESERVE, RELEASE, CLEAR, PREEMPT, REGISTER_ANYWAY = 0, 1, 2, 3, 4, 6
READ_RESERVATION = 1
WRITE_EXCLUSIVE_REG_ONLY, EXCLUSIVE_REG_ONLY = 5, 6
REGISTRATIONS_PREEMPTED = (6, 0x2A, 5)
#: What an exclusive reservation keeps from nexuses that are not registered; MODE SENSE(6) is 1Ah.
EXCLUSIVE = (READ_16, WRITE_16, SERVICE_ACTION_IN_16, 0x1A)


def second(call):
    """For when_read: a nexus reads the list that counts when no other one is being registered."""
    return lambda _: lambda _: call()


class Conflict(Exception):
    """RESERVATION CONFLICT."""


class RegisteredDisk(Disk):
    def __init__(self, **options):
        super().__init__(**options)
        self.keys = {}          # nexus: key
        self.generation = 0
        self.kind = 0           # of the reservation; 0: none
        self.holder = None      # nexus
        self.told = {}          # nexus: unit attention
        self.forgets = False    # registrations end with the session
        #: Called with the nexus when keys have been read; when it is about to be registered. What
        #: they return is called next.
        self.when_read = self.when_registered = None

    def logged_in(self, nexus):
        if self.forgets:
            self.keys.pop(nexus, None)

    def execute(self, cdb, out, lun=0):
        if self.nexus in self.told and cdb[0] not in (0x12, 0xA0):
            return Result.check(*self.told.pop(self.nexus))
        try:
            if cdb[0] == PERSISTENT_RESERVE_IN:
                return Result(data=self._reserve_in(cdb))
            if cdb[0] == PERSISTENT_RESERVE_OUT:
                self._change(cdb, number(out, 0, 8), number(out, 8, 8))
                return Result()
            self._check(cdb[0])
        except Conflict:
            return Result(RESERVATION_CONFLICT)
        except Refuse as why:
            return Result.check(*why.args)
        return super().execute(cdb, out, lun)

    def _check(self, opcode):
        refused = EXCLUSIVE if self.kind == EXCLUSIVE_REG_ONLY else (WRITE_16,)
        if self.kind and self.nexus not in self.keys and opcode in refused:
            raise Conflict

    def _reserve_in(self, cdb):
        if cdb[1] & 0x1F == READ_RESERVATION:
            return self._reservation()[:number(cdb, 7, 2)]
        if cdb[1] & 0x1F:
            raise Refuse(*INVALID_FIELD)
        keys = b"".join(key.to_bytes(8, "big") for key in self.keys.values())
        answer = self.generation.to_bytes(4, "big") + len(keys).to_bytes(4, "big") + keys
        hook, self.when_read = self.when_read, None
        self.when_read = hook and hook(self.nexus)
        return answer[:number(cdb, 7, 2)]

    def _reservation(self):
        held = self.keys.get(self.holder, 0).to_bytes(8, "big") + bytes([0] * 5 + [self.kind, 0, 0])
        held = held if self.kind else b""
        return self.generation.to_bytes(4, "big") + len(held).to_bytes(4, "big") + held

    def _change(self, cdb, key, action_key):
        action = cdb[1] & 0x1F
        if action in (REGISTER, REGISTER_ANYWAY):
            hook, self.when_registered = self.when_registered, None
            self.when_registered = hook and hook(self.nexus)
            if action == REGISTER and key != self.keys.get(self.nexus, 0):
                raise Conflict
            self.register(self.nexus, action_key)
            return
        if key != self.keys.get(self.nexus):
            raise Conflict
        if action == RESERVE:
            self.kind, self.holder = cdb[2] & 0xF, self.nexus
        elif action == RELEASE:
            self.kind = 0
        elif action == CLEAR:
            self.keys, self.kind = {}, 0
        elif action == PREEMPT:
            self.preempt(self.nexus, action_key, cdb[2] & 0xF)
        else:
            raise Refuse(*INVALID_FIELD)
        self.generation += action == CLEAR

    def register(self, nexus, key):
        """0 ends it, and what is reserved by it."""
        self.generation += 1
        if key:
            self.keys[nexus] = key
        else:
            self.keys.pop(nexus, None)
            self.kind = 0 if nexus == self.holder else self.kind

    def preempt(self, nexus, victim, kind=WRITE_EXCLUSIVE_REG_ONLY):
        """Only the sender keeps that key, and the reservation is its."""
        self.generation += 1
        self.kind, self.holder = kind, nexus
        for other in [other for other, key in self.keys.items() if key == victim]:
            if other != nexus:
                del self.keys[other]
                self.told[other] = REGISTRATIONS_PREEMPTED
