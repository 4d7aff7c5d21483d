# SPDX-License-Identifier: GPL-2.0
"""Random bytes and damaged PDUs at every phase of live connections: scripted/garbage.py.

Whatever the target sends, the host survives (the kernel's log is part of every verdict), no I/O
hangs, what is read is what was written as far as anybody could tell, the initiator stays within
RFC 7143 until it is lied to, and all is well as soon as the target is honest.

ISTRIPE_GARBAGE_S: seconds for all tests together. ISTRIPE_GARBAGE_SEED: what was printed.
"""

import contextlib
import fcntl
import hashlib
import os
import random
import struct
import threading
import time
from pathlib import Path

import pytest

from conftest import Size
from lab.disk import Direct, same
from lab.istripe import EnableError
from lab.shell import LabError, read, write
from scripted import damage
from scripted import pdu as p
from scripted.garbage import Garbage
from scripted.scenario import Scenario

KIB, MIB = 1 << 10, 1 << 20
TOTAL_S = int(os.environ.get("ISTRIPE_GARBAGE_S") or Size.rounds(20, 600))
SEED = int(os.environ.get("ISTRIPE_GARBAGE_SEED") or random.SystemRandom().randrange(1 << 32))
#: Shares of TOTAL_S; there are four tests of I/O, and three of logins.
LOGIN, ANSWERS, LOGOUT, LIVE = 0.07, 0.15, 0.08, 0.14
#: What it may take until all is well again, and I/O has come to an end.
MEND_S = 120

DIGESTS = {"header_digest": "CRC32C", "data_digest": "CRC32C"}
PATH = {"default_time2wait": 0, "login_timeout_ms": 2000, "ping_interval_ms": 500,
        "ping_timeout_ms": 2000}
VOLUME = {"command_timeout_ms": 1000, "recovery_timeout_ms": 120000}
SECRET, OTHER = "a-secret-of-20-bytes", "another-one-20-bytes"
CHAP = {"chap_user": "initiator", "chap_secret": SECRET}
MUTUAL = {**CHAP, "chap_mutual_user": "target", "chap_mutual_secret": OTHER}
SECRETS = {"secrets": {"initiator": SECRET.encode()}}
#: (of the path, of the target)
LOGINS = {"none": ({}, {}), "chap": ({**CHAP, **DIGESTS}, SECRETS),
          "mutual": (MUTUAL, {**SECRETS, "own": ("target", OTHER.encode())})}
#: What a disk says when its target has lied.
LIES = pytest.mark.allow_log(r"error.*\bistripe\d",
                             "the target's lies come to the caller as errors")
BLKDISCARD, BLKZEROOUT = 0x1277, 0x127F

pytestmark = pytest.mark.timeout_s(300 + TOTAL_S)


@pytest.fixture
def server(make_server, link):
    return make_server(link.address)


@pytest.fixture
def play(server, request, kernel_log):
    """play(due, sorts, settings=..., ...): the server damages what is due, once it is armed."""
    played = []

    def make(due, sorts, settings=None, disk=None, **options):
        garbage = Garbage(f"{SEED}/{request.node.name}", sorts, due, **options)
        server.load(Scenario("garbage", hooks=garbage.hooks(), settings=settings or {},
                             disk=disk or {}))
        played.append(garbage)
        return garbage

    kernel_log.say(f"ISTRIPE_GARBAGE_SEED={SEED} ISTRIPE_GARBAGE_S={TOTAL_S}")
    print(f"ISTRIPE_GARBAGE_SEED={SEED} ISTRIPE_GARBAGE_S={TOTAL_S}")
    yield make
    for garbage in played:
        summary = garbage.summary()
        print(summary)
        kernel_log.say(summary.splitlines()[0][:900])


@contextlib.contextmanager
def armed(server):
    server.arm()
    try:
        yield
    finally:
        server.target.run.armed = False


def portal(server, **path):
    return {"portal": server.portal, **PATH, **path}


def shares(share, garbage, enough=lambda: True):
    """Counts rounds until this share of the time is over, and something has been damaged."""
    end = time.monotonic() + TOTAL_S * share
    count = 0
    while time.monotonic() < end or not garbage.counts or not enough():
        yield count
        count += 1


def enable(volume):
    """Whether it is up; when it is not, there is a reason in words, and nothing is left."""
    try:
        volume.enable()
    except EnableError as failed:
        assert failed.reason and failed.reason.isprintable(), failed
        assert not volume.enabled() and volume.device() == ""
        return False
    return True


def enable_at_last(volume):
    """The target is honest: it comes up, unless somebody has stood still for that long."""
    deadline = time.monotonic() + MEND_S
    while not enable(volume):
        assert time.monotonic() < deadline, volume.last_error()
    return Path("/dev", volume.device())


def within(seconds, what, function, *arguments):
    """Runs it in a thread. A hang is an error of its own; errors of I/O are none."""
    def quietly():
        with contextlib.suppress(OSError):
            function(*arguments)

    thread = threading.Thread(target=quietly, daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        raise LabError(f"{what} does not end within {seconds} s")


def noise(*what):
    return hashlib.shake_256(repr((SEED, what)).encode()).digest(4 * KIB)


def honest_again(server, volume):
    """The target is honest: the volume comes up, and keeps what it is given."""
    server.target.run.armed = False
    with Direct(enable_at_last(volume)) as disk:
        data = noise("honest", time.monotonic())
        disk.write(64 * KIB, data)
        disk.flush()
        same(disk.read(64 * KIB, len(data)), data, "what was read")
        same(server.target.disk.data[64 * KIB:68 * KIB], data, "what the target has")
    volume.disable()


# Logging in

def login_due(stream, pdu):
    return pdu.opcode == p.LOGIN_RESPONSE and stream.rng.random() < 0.35


@LIES
@pytest.mark.parametrize("how", LOGINS)
def test_login(how, server, play, make_volume):
    """Before a login, in its security and its operational stage, and what comes of it if it
    comes off all the same."""
    path, settings = LOGINS[how]
    garbage = play(login_due, (damage.WIRE, damage.INTENT), settings, hang_up=0.8, noise_first=0.2)
    volume = make_volume(server.target, **VOLUME, path=portal(server, **path))
    with armed(server):
        for _ in shares(LOGIN, garbage):
            if enable(volume):
                volume.disable()
    honest_again(server, volume)


# What the LUN is

#: Of a connection's PDUs: two or three are of the login, a dozen tell what the LUN is.
TOLD = 14


def answer_due(stream, pdu):
    return (pdu.opcode in damage.ANSWERS and stream.sent <= TOLD
            and stream.rng.random() < 0.2)


def poke(device, size_bytes):
    """A bit of everything, where nobody would believe the shape that the disk has."""
    fd = os.open(device, os.O_RDWR | os.O_DIRECT)
    try:
        for request in (BLKDISCARD, BLKZEROOUT):
            with contextlib.suppress(OSError):
                fcntl.ioctl(fd, request, struct.pack("QQ", MIB, 64 * KIB))
        for at in (0, MIB + 4 * KIB, size_bytes - 4 * KIB & -4096):
            with contextlib.suppress(OSError, OverflowError, AssertionError):
                poke_at(fd, at)
        os.fsync(fd)
    finally:
        os.close(fd)


def poke_at(fd, at):
    disk = Direct.__new__(Direct)
    disk.fd = fd
    disk.read(at, 4 * KIB)
    disk.write(at, bytes(4 * KIB))


@LIES
def test_answers(server, play, make_volume):
    """INQUIRY, its pages, READ CAPACITY, REPORT LUNS, MODE SENSE: other contents, other lengths.

    A disk of a shape that the target made up works as far as it can, and goes. When its connection
    is lost, what answers honestly then is another LUN: its I/O waits in vain.
    """
    garbage = play(answer_due, (damage.CONTENTS * 8, damage.INTENT), hang_up=0.3)
    volume = make_volume(server.target,
                         **{**VOLUME, "recovery_timeout_ms": 2000}, path=portal(server))
    up = 0
    for _ in shares(ANSWERS, garbage):
        with armed(server):
            came_up = enable(volume)
        if came_up:
            up += 1
            within(MEND_S, "I/O", poke, f"/dev/{volume.device()}", volume.size_bytes())
            volume.disable()
    garbage.counts["disks that came of it"] = up
    honest_again(server, volume)


# Logging out

def logout_due(stream, pdu):
    return pdu.opcode == p.LOGOUT_RESPONSE


@LIES
def test_logout(server, play, make_volume):
    garbage = play(logout_due, (damage.WIRE, damage.INTENT), hang_up=0.5)
    volume = make_volume(server.target, **VOLUME, path=portal(server))
    for turn in shares(LOGOUT, garbage):
        with Direct(enable_at_last(volume)) as disk:
            disk.write(0, noise("logout", turn))
        with armed(server):
            within(MEND_S, "the logout", volume.disable)
        assert not volume.enabled()
    honest_again(server, volume)


# Under I/O

def whole(transfer, *arguments):
    """A disk that goes away transfers nothing: an error like others."""
    try:
        return transfer(*arguments)
    except AssertionError as short:
        raise OSError("a short transfer") from short


class Worker(threading.Thread):
    """Writes and reads in a region of its own, and knows what must be in it.

    known: for each slot what it may hold: one content, or several after writes that failed.
    """

    SLOTS, SLOT_BYTES, AT_ONCE = 8, 4 * KIB, 3

    def __init__(self, unit, number, mode):
        super().__init__(daemon=True)
        self.unit = unit
        self.mode = mode
        self.base = number * self.SLOTS * self.SLOT_BYTES
        self.rng = random.Random(f"{SEED}/worker/{number}")
        self.number = number
        self.known = [[bytes(self.SLOT_BYTES)] for _ in range(self.SLOTS)]
        self.turns = self.done = self.failed = 0
        self.wrong = None
        self.over = False

    def run(self):
        while not self.over and not self.wrong:
            try:
                with Direct(self.unit.device()) as disk:
                    while not self.over:
                        self.turn(disk)
            except OSError as err:
                self.failed_with(err)
            except AssertionError as err:
                self.wrong = str(err)

    def failed_with(self, err):
        self.failed += 1
        if not self.mode.errors and not self.unit.reviving:
            self.wrong = f"I/O failed, although no damage could be believed: {err}"
        time.sleep(0.05)

    def turn(self, disk):
        self.turns += 1
        first = self.rng.randrange(self.SLOTS)
        count = self.rng.randint(1, min(self.AT_ONCE, self.SLOTS - first))
        if self.rng.random() < 0.5:
            self.write(disk, first, count)
        else:
            found = whole(disk.read, self.base + first * self.SLOT_BYTES,
                          count * self.SLOT_BYTES)
            if self.mode.compare:
                self.compare(found, first, count)
        if self.rng.random() < 0.05:
            disk.flush()
        self.done += 1

    def write(self, disk, first, count):
        new = [noise(self.number, self.turns, slot) for slot in range(count)]
        for slot, content in enumerate(new, first):
            self.known[slot].append(content)
        whole(disk.write, self.base + first * self.SLOT_BYTES, b"".join(new))
        for slot, content in enumerate(new, first):
            self.known[slot] = [content]

    def compare(self, found, first=0, count=SLOTS):
        for slot in range(count):
            piece = found[slot * self.SLOT_BYTES:(slot + 1) * self.SLOT_BYTES]
            may_be = self.known[first + slot]
            # A write that failed may have reached some of its blocks.
            for at in range(0, self.SLOT_BYTES, 512):
                if not any(piece[at:at + 512] == one[at:at + 512] for one in may_be):
                    raise AssertionError(
                        f"worker {self.number}, turn {self.turns}: byte {at} of slot "
                        f"{first + slot} is none of {len(may_be)} that were written there")

    def verify(self, disk, target):
        """All that there must be, as read and as the target has it."""
        size = self.SLOTS * self.SLOT_BYTES
        self.compare(disk.read(self.base, size))
        self.compare(target.disk.data[self.base:self.base + size])
        new = b"".join(noise(self.number, "last", slot) for slot in range(self.SLOTS))
        disk.write(self.base, new)
        same(disk.read(self.base, size), new, "what was written last")


class Unit:
    """A volume, and two who use it."""

    def __init__(self, volume, number, mode):
        self.volume = volume
        self.reviving = False
        self.revived = []       # why
        self.reconnects = 0
        self._device = str(enable_at_last(volume))
        self.workers = [Worker(self, 2 * number + one, mode) for one in range(2)]

    def device(self):
        return self._device

    def last_error(self):
        return read(self.volume.path_sysfs() / "last_error")

    def refused(self):
        """Whether the path has found what it must not have to do with any more."""
        state = self.volume.state()
        return state == "dead" or (state != "live"
                                   and "portal group changed" in self.last_error())

    def revive(self, server):
        """As an administrator does; the target is honest for that long."""
        self.revived.append(self.last_error())
        self.count()
        self.reviving = True
        was_armed, server.target.run.armed = server.target.run.armed, False
        # A worker's I/O may wait for the path, with the disk open.
        write(self.volume.config / "recovery_timeout_ms", 0)
        within(MEND_S, "disabling", self.volume.disable)
        write(self.volume.config / "recovery_timeout_ms", VOLUME["recovery_timeout_ms"])
        self._device = str(enable_at_last(self.volume))
        server.target.run.armed = was_armed
        self.reviving = False

    def count(self):
        self.reconnects += self.volume.reconnects()

    def attend(self, server):
        assert self.last_error().isprintable() or not self.last_error()
        wrong = [worker.wrong for worker in self.workers if worker.wrong]
        assert not wrong, wrong
        if self.refused():
            self.revive(server)

    def stop(self, server):
        """The target is honest: whatever waits for it is done soon."""
        for worker in self.workers:
            worker.over = True
        deadline = time.monotonic() + MEND_S
        while self.volume.state() != "live" or any(worker.is_alive() for worker in self.workers):
            self.attend(server)
            assert time.monotonic() < deadline, (
                f"{self.volume.name} is {self.volume.state()}: {self.last_error()}")
            time.sleep(0.05)
        self.attend(server)

    def verify(self, server):
        with Direct(self.device()) as disk:
            for worker in self.workers:
                worker.verify(disk, server.target)
        self.count()


class Mode:
    """One way of being damaged under I/O. compare: whether all that is read must be right; errors:
    whether I/O may fail; data: whether data segments are damaged; path: of the volumes."""

    def __init__(self, sorts, compare=True, errors=True, data=False, logins=0.1, path=None):
        self.sorts = sorts
        self.compare = compare
        self.errors = errors
        self.data = data
        self.logins = logins
        self.path = path or {}

    def due(self, stream, pdu):
        # Else hardly any session would live long enough for I/O.
        share = 0.02 if stream.sent <= TOLD else 0.15
        if pdu.opcode == p.LOGIN_RESPONSE:
            share = self.logins
        return stream.rng.random() < share


SMALL = {"max_recv_data_segment_length": 2048, "immediate_data": "No", "initial_r2t": "Yes"}
MODES = {
    # A digest covers everything: no damage is believed, so nothing may fail. Logins have none.
    "digests-accident": Mode((damage.WIRE,), errors=False, data=True, logins=0, path=DIGESTS),
    "digests-intent": Mode((damage.INTENT,), path={**DIGESTS, **SMALL}),
    "headers": Mode((damage.WIRE, damage.INTENT), path=SMALL),
    "everything": Mode((damage.WIRE, damage.INTENT), compare=False, data=True),
}


def modes():
    for name, mode in MODES.items():
        yield pytest.param(mode, id=name, marks=[LIES] if mode.errors else [])


@pytest.mark.parametrize("mode", modes())
def test_live(mode, server, play, make_volume):
    """Reads, writes, pings, aborts, asynchronous messages, logouts on request, logins anew."""
    garbage = play(mode.due, mode.sorts, data=mode.data, unrest=0.01, disk={"doors": 3})
    target = server.target
    units = []
    for number, path in enumerate(({}, {}, {"multi": "mcs", "connections": 2})):
        # All of them look at one medium; a LUN is of one volume only.
        volume = make_volume(target, **VOLUME, lun=number,
                             path=portal(server, **mode.path, **path))
        units.append(Unit(volume, number, mode))
    for worker in workers(units):
        worker.start()
    with armed(server):
        for _ in shares(LIVE, garbage, lambda: all(worker.done for worker in workers(units))):
            for unit in units:
                unit.attend(server)
            time.sleep(0.1)
    for unit in units:
        unit.stop(server)
    for unit in units:
        unit.verify(server)
        unit.volume.disable()
    assert all(worker.done for worker in workers(units))
    tell(garbage, units)
    assert mode.errors or not any(unit.revived for unit in units)


def workers(units):
    return [worker for unit in units for worker in unit.workers]


def tell(garbage, units):
    for worker in workers(units):
        garbage.counts["I/O"] += worker.done
        garbage.counts["failed I/O"] += worker.failed
    for unit in units:
        garbage.counts["sessions lost"] += unit.reconnects
        garbage.counts["refused and enabled anew"] += len(unit.revived)
        print("\n".join(unit.revived))
