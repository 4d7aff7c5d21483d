# SPDX-License-Identifier: GPL-2.0
"""A target that damages what it sends: the hooks for a Scenario.

Each connection draws from a random.Random of its own, made from the seed and its number. What is
drawn depends on nothing but these and the PDUs that are sent.
"""

import asyncio
import collections
import random
import time

from scripted import damage
from scripted import pdu as p
from scripted.conn import Drop
from scripted.pdu import RESERVED_TAG, Pdu
from scripted.scenario import silence

REMEMBERED = 40
#: An initiator backs off from sessions that live for less than a second: now and then one does.
SHORT_LIFE_S = 1.2
SHORT_LIVES_MAX = 2
#: After a damage the target does not always wait until the initiator's patience ends.
HANG_UP_S = 0.1
CHOPPED = 0.05
#: Those that end sessions are seldom.
EVENTS = (*[0] * 6, 1, 2, 3, 4, 5, 255)


class Stream:
    """What is remembered of a connection."""

    def __init__(self, rng, number):
        self.rng = rng
        self.number = number
        self.born = time.monotonic()
        self.sent = 0           # PDUs
        self.quiet_until = 0
        self.spoilt = False     # from here on the initiator's mistakes are ours
        self.late = b""         # to be sent behind the next PDU
        self.unrest = None


class Garbage:
    """Where and how a target damages what it sends.

    sorts: of damage.py. due(stream, pdu): whether a PDU is to be damaged. data: whether data
    segments may be, too; logins' text always may. hang_up, noise_first: how probable it is that
    the target ends the connection after a damage, and begins with bytes out of the blue.
    unrest: how often a command is not answered; if at all, the target pings and tells a lot, too.
    """

    def __init__(self, seed, sorts, due, data=True, hang_up=0.0, noise_first=0.0, unrest=0.0):
        self.seed = seed
        self.sorts = sorts
        self.due = due
        self.data = data
        self.hang_up = hang_up
        self.noise_first = noise_first
        self.unrest = unrest
        self.streams = {}
        self.last_of = {}       # ISID: (when its last session began, short lives in a row)
        self.counts = collections.Counter()
        self.last = collections.deque(maxlen=REMEMBERED)
        self.excused = []       # violations that our damage has led to

    def hooks(self):
        return {"on_connect": self.on_connect, "on_login": self.on_login,
                "on_command": self.on_command, "before_send": self.before_send}

    def stream(self, conn):
        if conn not in self.streams:
            number = len(self.streams)
            self.streams[conn] = Stream(random.Random(f"{self.seed}/{number}"), number)
        return self.streams[conn]

    def note(self, stream, what, kind, pieces):
        self.counts[kind] += 1
        shown = b"".join(pieces)[:64].hex()
        self.last.append(f"connection {stream.number}: {what}: {kind}: {shown}")

    def spoil(self, conn):
        """Whatever the initiator does wrong in this session may be our fault."""
        self.stream(conn).spoilt = True
        conn.checks.session.violations = self.excused

    # The hooks

    async def on_connect(self, run, conn, what):
        stream = self.stream(conn)
        if not run.armed or stream.rng.random() >= self.noise_first:
            return False
        pieces = [damage.noise(stream.rng)]
        self.spoil(conn)
        self.note(stream, "before the login", "garbage", pieces)
        conn.writer.write(pieces[0])
        if stream.rng.random() < self.hang_up:
            raise Drop
        return False

    async def on_login(self, run, conn, pdu):
        """Counts sessions that live for a moment only, and has the next one in peace."""
        stream = self.stream(conn)
        if conn.requests == 1:
            began, short = self.last_of.get(pdu.isid, (0, 0))
            if not pdu.tsih:
                short = short + 1 if stream.born - began < SHORT_LIFE_S else 0
                self.last_of[pdu.isid] = stream.born, short
            if short > SHORT_LIVES_MAX:
                stream.quiet_until = stream.born + SHORT_LIFE_S
        return False

    async def on_command(self, run, conn, task):
        if not self.unrest or not run.armed:
            return False
        stream = self.stream(conn)
        if not stream.unrest:
            stream.unrest = asyncio.ensure_future(self._unrest(run, conn, stream.rng))
            conn.workers.add(stream.unrest)
        if stream.rng.random() >= self.unrest or time.monotonic() < stream.quiet_until:
            return False
        self.counts["not answered"] += 1
        await silence()
        return True

    async def before_send(self, run, conn, pdu):
        stream = self.stream(conn)
        stream.sent += 1
        if stream.spoilt:
            self.spoil(conn)    # the session may be another one than at the last PDU
        frame = self._frame(conn, pdu)
        strikes = (run.armed and time.monotonic() >= stream.quiet_until
                   and self.due(stream, pdu))
        pieces = self._damage(run, conn, frame) if strikes else [frame.encode()]
        if run.armed and stream.rng.random() < CHOPPED:
            pieces = [bit for piece in pieces for bit in damage.chopped(stream.rng, piece)]
        late, stream.late = stream.late, b""
        if strikes and stream.rng.random() < 0.1:
            self.spoil(conn)
            stream.late, pieces = b"".join(pieces), []
        conn.checks.sent(pdu)
        for piece in [*pieces, late]:
            conn.writer.write(piece)
        await conn.writer.drain()
        return []

    def _frame(self, conn, pdu):
        login = pdu.opcode == p.LOGIN_RESPONSE
        return damage.Frame(pdu, conn.header_digest, conn.data_digest, self.data or login, login,
                            tuple(conn.checks.session.tasks))

    def _damage(self, run, conn, frame):
        stream = self.stream(conn)
        kind = stream.rng.choice(damage.possible(frame, self.sorts))
        run.hits += 1
        self.spoil(conn)
        if kind is damage.forged:
            told = Pdu(p.ASYNC)
            conn.number(told)       # behind the one that it follows
            pieces = kind(stream.rng, frame, told.stat_sn)
        else:
            pieces = kind(stream.rng, frame)
        self.note(stream, frame.pdu.name, kind.__name__, pieces)
        if stream.rng.random() < self.hang_up:
            asyncio.get_running_loop().call_later(HANG_UP_S, conn.close)
        return pieces

    async def _unrest(self, run, conn, rng):
        """What a target may do at any time, but none does all the time."""
        try:
            while run.armed:
                await asyncio.sleep(rng.uniform(0, 0.4))
                await rng.choice((self._ping, self._ping, self._tell, self._window,
                                  self._reject))(conn, rng)
        except (ConnectionError, Drop):
            conn.close()

    @staticmethod
    async def _ping(conn, rng):
        await conn.ping(rng.randbytes(rng.choice((0, 1, 8, 500))))

    @staticmethod
    async def _tell(conn, rng):
        await conn.tell(rng.choice(EVENTS), rng.randrange(4),
                        data=damage.sense_data(rng) if rng.random() < 0.5 else b"")

    @staticmethod
    async def _window(conn, rng):
        """Shut for a moment."""
        depth, conn.session.depth = conn.session.depth, 0
        await conn.tell_window()
        await asyncio.sleep(rng.uniform(0, 0.1))
        conn.session.depth = depth
        await conn.tell_window()

    @staticmethod
    async def _reject(conn, rng):
        """For too many immediate commands; that is no reason to end anything."""
        await conn.send(Pdu(p.REJECT, itt=RESERVED_TAG, reason=6, data=rng.randbytes(48)))

    def summary(self):
        counts = ", ".join(f"{name} {count}" for name, count in sorted(self.counts.items()))
        return "\n".join([f"seed {self.seed}; {len(self.streams)} connections; {counts}",
                          "the last ones:", *self.last])
