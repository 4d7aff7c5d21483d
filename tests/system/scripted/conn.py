# SPDX-License-Identifier: GPL-2.0
"""One TCP connection of the target: PDUs in, PDUs out, StatSN."""

import asyncio
import errno
import socket
import struct

from scripted import checks, keys
from scripted import login as lg
from scripted import pdu as p
from scripted.pdu import RESERVED_TAG, Pdu, after, plus

#: PDUs that carry a StatSN of their own.
NUMBERED = (p.SCSI_RESPONSE, p.TASK_MANAGEMENT_RESPONSE, p.LOGIN_RESPONSE, p.TEXT_RESPONSE,
            p.LOGOUT_RESPONSE, p.ASYNC, p.REJECT)
NO_WAY_THERE = {errno.ETIMEDOUT, errno.EHOSTUNREACH, errno.ENETUNREACH, errno.EHOSTDOWN,
                errno.ENETDOWN}


#: What a violation begins with that is none of the initiator's: a hook has raised, or the target has.
ITSELF = "the target itself: "


class Drop(Exception):
    """The target ends the connection."""


def is_of_the_network(err):
    """Whether the connection has ended, or its link is down; nobody has made a mistake."""
    return isinstance(err, ConnectionError) or (
        isinstance(err, OSError) and err.errno in NO_WAY_THERE)


class Connection:
    def __init__(self, target, reader, writer):
        self.target = target
        self.run_state = target.run
        self.reader = reader
        self.writer = writer
        self.session = None
        self.cid = None
        self.checks = None
        self.stat_sn = target.settings.first_stat_sn
        self.header_digest = False
        self.data_digest = False
        self.login = None
        self.requests = 0           # Login Requests so far
        self.closed = asyncio.Event()
        self.workers = set()        # of its tasks
        self.loop = asyncio.get_running_loop()

    # Bytes

    async def read_pdu(self):
        """The next PDU, whatever it is worth: digests and padding are for the checks."""
        raw = await self.reader.readexactly(p.BHS_BYTES)
        pdu = Pdu.decode(raw)
        pdu.ahs = await self.reader.readexactly(pdu.ahs_bytes)
        if self.header_digest:
            pdu.digests_right &= await self._digest(raw + pdu.ahs)
        await self.run_state.hook("on_header", self, pdu)
        if pdu.data_bytes:
            pad = -pdu.data_bytes % 4
            segment = await self.reader.readexactly(pdu.data_bytes + pad)
            pdu.data, pdu.pad = segment[:pdu.data_bytes], segment[pdu.data_bytes:]
            if self.data_digest:
                pdu.digests_right &= await self._digest(segment)
        else:
            pdu.pad = b""
        return pdu

    async def _digest(self, of):
        return await self.reader.readexactly(4) == p.crc32c(of).to_bytes(4, "little")

    def number(self, pdu):
        """Sets StatSN, ExpCmdSN and MaxCmdSN as they are now."""
        if pdu.opcode in NUMBERED or (pdu.opcode == p.DATA_IN and pdu.flags & 1) or (
                pdu.opcode == p.NOP_IN and pdu.itt != RESERVED_TAG):
            pdu.stat_sn = self.stat_sn
            self.stat_sn = plus(self.stat_sn, 1)
        elif pdu.opcode != p.DATA_IN:
            pdu.stat_sn = self.stat_sn
        if self.session:
            pdu.exp_cmd_sn, pdu.max_cmd_sn = self.session.window()
        if self.checks:
            self.checks.stat_sn = self.stat_sn

    async def send(self, pdu):
        """Numbers the PDU, lets the scenario have its way with it, and writes what comes of it."""
        self.number(pdu)
        pdus = await self.run_state.before_send(self, pdu)
        for one in [pdu] if pdus is None else pdus:
            await self.put(one)

    async def put(self, one):
        """Writes a PDU as it is, or bytes."""
        if isinstance(one, Pdu):
            if self.checks:
                self.checks.sent(one)
            one = one.encode(self.header_digest, self.data_digest, getattr(one, "spoil", ""))
        piece = self.run_state.scenario.segment_bytes
        if not piece:
            self.writer.write(one)
        else:
            for at in range(0, len(one), piece):
                self.writer.write(one[at:at + piece])
                await asyncio.sleep(0)
        await self.writer.drain()

    def reset(self):
        """Ends the connection with a TCP RST."""
        sock = self.writer.get_extra_info("socket")
        if sock and sock.fileno() >= 0:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()
        self._wake()

    def _wake(self):
        """Another server of the same target may end it: its own loop would sleep until the next PDU."""
        self.loop.call_soon_threadsafe(int)

    # Life

    async def run(self):
        try:
            sock = self.writer.get_extra_info("socket")
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.checks = checks.Connection(checks.Session(self.target.violations))
            if await self.run_state.hook("on_connect", self, None):
                await self.closed.wait()
                return
            await self.log_in()
            while True:
                pdu = await self.read_pdu()
                self.checks.received(pdu)
                await self.target.dispatch(self, pdu)
        except (asyncio.IncompleteReadError, Drop):
            pass
        except Exception as err:        # a scenario's own mistake must be seen
            if not is_of_the_network(err):
                self.target.violations.append(f"{ITSELF}{err!r}")
                raise
        finally:
            self.close()

    def close(self):
        if self.closed.is_set():
            return
        self.closed.set()
        for worker in self.workers - {asyncio.current_task()}:
            worker.cancel()
        self.target.forget(self)
        if self.checks in self.checks.session.connections:
            self.checks.session.connections.remove(self.checks)
        self.writer.close()
        self._wake()

    # Login

    async def log_in(self):
        self.login = lg.Login(self.target.settings)
        while True:
            pdu = await self.read_pdu()
            if not self.requests:
                self.checks.exp_stat_sn = None
            self.requests += 1
            self.checks.received(pdu)
            if pdu.opcode != p.LOGIN:
                raise Drop
            if self.requests == 1:
                self.cid = pdu.cid
                self._first_numbers(pdu)
            if await self.run_state.hook("on_login", self, pdu):
                continue
            try:
                if await self._login_step(pdu):
                    return
            except lg.Refused as why:
                await self.refuse(pdu, why.args[0])
                raise Drop from why

    def _first_numbers(self, pdu):
        """What the numbers of the Login Responses are before there is a session."""
        self.first_cmd_sn = pdu.cmd_sn

    async def refuse(self, pdu, status, pairs=()):
        out = lg.response(pdu, 0, data=keys.format_text(pairs), status=status)
        out.exp_cmd_sn, out.max_cmd_sn = self.first_cmd_sn, self.first_cmd_sn
        await self.send(out)

    async def _login_step(self, pdu):
        """One request and its response; true when the full feature phase has begun."""
        login = self.login
        if login.pending:
            return await self._login_send(pdu, pdu.flags >> 2 & 3, False)
        pairs = login.request(pdu)
        if pairs is None:
            await self._login_send(pdu, pdu.flags >> 2 & 3, False)
            return False
        out, ready = login.answer(pdu, pairs)
        out, ready = await self.run_state.login_pairs(self, pdu, out, ready)
        login.pending = keys.format_text(out)
        stage, after_it = pdu.flags >> 2 & 3, pdu.flags & 3
        transit = bool(pdu.flags & lg.TRANSIT) and bool(ready)
        return await self._login_send(pdu, stage, transit, after_it)

    async def _login_send(self, pdu, stage, transit, after_it=0):
        """Sends what text is pending, or a part of it; nothing changes while there is more."""
        login = self.login
        size = self.target.settings.login_segment
        text, login.pending = login.pending[:size], login.pending[size:]
        flags = stage << 2
        if login.pending:
            flags |= lg.CONTINUE
        elif transit:
            flags |= lg.TRANSIT | after_it
        over = flags & lg.TRANSIT and after_it == lg.FULL_FEATURE
        if over:
            self.target.attach(self, pdu)
        tsih = self.session.tsih if self.session else pdu.tsih
        out = lg.response(pdu, flags, tsih, text)
        if not self.session:
            out.exp_cmd_sn, out.max_cmd_sn = self.first_cmd_sn, self.first_cmd_sn
        if self.session:
            self.checks.session.cmd_sn = self.checks.session.cmd_sn or self.session.exp_cmd_sn
        await self.send(out)
        if over:
            self._full_feature()
        return bool(over)

    def _full_feature(self):
        held = self.login.held
        self.header_digest = held["HeaderDigest"] == "CRC32C"
        self.data_digest = held["DataDigest"] == "CRC32C"
        self.checks.enter_full_feature(
            {name: value for name, value in held.items() if name != "MaxRecvDataSegmentLength"},
            self.target.settings.keys["MaxRecvDataSegmentLength"], self.login.discovery)

    # What a target says by itself

    async def ping(self, data=b"", lun=bytes(8)):
        """A NOP-In that wants an answer; returns its Target Transfer Tag."""
        ttt = self.target.new_ttt()
        await self.send(Pdu(p.NOP_IN, lun=lun, itt=RESERVED_TAG, ttt=ttt, data=data))
        return ttt

    async def tell_window(self):
        """A NOP-In that only tells the numbers."""
        await self.send(Pdu(p.NOP_IN, itt=RESERVED_TAG, ttt=RESERVED_TAG))

    async def tell(self, event, parameter1=0, parameter2=0, parameter3=0, data=b"", lun=0):
        """An asynchronous message. lun: 8 bytes, as a number."""
        await self.send(Pdu(p.ASYNC, itt=RESERVED_TAG, event=event, parameter1=parameter1,
                            parameter2=parameter2, parameter3=parameter3, data=data, lun=lun))

    async def reject(self, pdu, reason):
        await self.send(Pdu(p.REJECT, itt=RESERVED_TAG, reason=reason, data=bytes(pdu.bhs)))


class Session:
    """One session: the command order and the window."""

    def __init__(self, target, initiator, isid, tsih, cmd_sn):
        self.target = target
        self.initiator = initiator
        self.isid = isid
        self.tsih = tsih
        self.connections = {}
        self.exp_cmd_sn = cmd_sn
        self.depth = target.settings.depth
        self.told_max = plus(cmd_sn, self.depth - 1)
        self.early = {}             # CmdSN: (connection, PDU) that came before its turn
        self.early_data = {}        # ITT: Data-Out of commands that are still early
        self.tasks = {}
        self.checks = checks.Session(target.violations)
        self.checks.cmd_sn = cmd_sn

    def window(self):
        """ExpCmdSN and MaxCmdSN; the latter never goes back."""
        best = plus(self.exp_cmd_sn, self.depth - len(self.tasks) - 1)
        if after(best, self.told_max):
            self.told_max = best
        return self.exp_cmd_sn, self.told_max
