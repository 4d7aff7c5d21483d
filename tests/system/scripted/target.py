# SPDX-License-Identifier: GPL-2.0
"""The target: sessions, tasks, the answers that RFC 7143 wants. Scenarios override steps of it."""

import asyncio
import itertools

from scripted import checks, keys
from scripted import login as lg
from scripted import pdu as p
from scripted.conn import ITSELF, Connection, Drop, Session, is_of_the_network
from scripted.pdu import RESERVED_TAG, Pdu, after, plus
from scripted.scsi import CHECK_CONDITION, Disk

NAME = "iqn.2024-01.org.example.istripe:scripted"


class Settings:
    """What the target is like, apart from what a scenario does."""

    def __init__(self, name=NAME, tpgt=1, secrets=None, own=None, algorithms=(8, 7, 6, 5),
                 challenge=None, depth=32, login_segment=lg.SEGMENT_BYTES,
                 first_stat_sn=1, portal="127.0.0.1:3260",
                 **key_values):
        self.name = name
        self.tpgt = tpgt
        self.secrets = secrets or {}
        self.own = own
        self.algorithms = algorithms
        self.challenge = challenge
        self.depth = depth
        self.login_segment = login_segment  # bytes of text in one Login Response
        self.first_stat_sn = first_stat_sn
        self.portal = portal
        self.keys = {**keys.TARGET, **key_values}


class Task:
    """A SCSI command that the target works on."""

    def __init__(self, conn, pdu):
        self.conn = conn
        self.pdu = pdu
        self.itt = pdu.itt
        self.lun = pdu.lun
        self.cdb = pdu.cdb
        self.edtl = pdu.edtl
        self.cmd_sn = pdu.cmd_sn
        self.read = bool(pdu.flags & 0x40)
        self.write = bool(pdu.flags & 0x20)
        self.buffer = bytearray(self.edtl if self.write else 0)
        self.received = 0
        self.data = asyncio.Queue()     # Data-Out PDUs
        self.r2t_sn = 0
        self.worker = None
        if pdu.data:
            self.take(0, pdu.data)

    def take(self, offset, data):
        if self.write and offset + len(data) <= self.edtl:
            self.buffer[offset:offset + len(data)] = data
        self.received += len(data)

    @property
    def opcode(self):
        return self.cdb[0]


class Target:
    def __init__(self, run, settings=None, disk=None):
        self.run = run
        self.settings = settings or Settings()
        self.disk = disk or Disk()
        self.violations = []
        self.connections = set()
        self.sessions = {}              # TSIH: Session
        self.logins = 0                 # sessions there have been
        self.kept = {}                  # (initiator, ISID): see keep()
        self._tsih = itertools.count(1)
        self._ttt = itertools.count(0x100)

    @property
    def iqn(self):
        """With lun_number() what make_volume() wants to know of a target."""
        return self.settings.name

    @staticmethod
    def lun_number(index):
        return index

    def new_ttt(self):
        return next(self._ttt)

    async def connected(self, reader, writer):
        conn = Connection(self, reader, writer)
        self.connections.add(conn)
        await conn.run()

    # Sessions

    def attach(self, conn, pdu):
        """The login is over: the connection becomes part of a new session or of an old one."""
        name = conn.login.pairs.get("InitiatorName")
        if pdu.tsih:
            session = self.sessions.get(pdu.tsih)
            if not session or session.isid != pdu.isid or session.initiator != name:
                raise lg.Refused(0x020A)
            old = session.connections.get(pdu.cid)
            if old:
                old.reset()
                old.close()
            elif len(session.connections) >= session.checks.held["MaxConnections"]:
                raise lg.Refused(0x0206)
            own = {name: conn.login.held[name] for name in keys.OF_A_CONNECTION}
            conn.login.held = {**session.checks.held, **own}
        else:
            for old in list(self.sessions.values()):
                if old.isid == pdu.isid and old.initiator == name:
                    self.end_session(old)
            if (name, pdu.isid) in self.kept:
                self.kept.pop((name, pdu.isid)).cancel()
            session = Session(self, name, pdu.isid, next(self._tsih), pdu.cmd_sn)
            self.sessions[session.tsih] = session
            self.logins += 1
            self.disk.logged_in((name, pdu.isid))
        conn.session = session
        session.connections[pdu.cid] = conn
        conn.checks.join(session.checks)

    def keep(self, session, work):
        """Outlives the session: the task that does the work until the session is reinstated."""
        worker = self.kept[session.initiator, session.isid] = asyncio.ensure_future(work)
        return worker

    def end_session(self, session):
        for conn in list(session.connections.values()):
            conn.reset()
            conn.close()
        self.sessions.pop(session.tsih, None)

    def forget(self, conn):
        """A connection is gone, and with it its tasks; with the last one the session."""
        self.connections.discard(conn)
        session = conn.session
        if not session or session.connections.get(conn.cid) is not conn:
            return
        del session.connections[conn.cid]
        for task in [task for task in session.tasks.values() if task.conn is conn]:
            self.abort(session, task)
        if not session.connections:
            self.sessions.pop(session.tsih, None)

    def abort(self, session, task):
        session.tasks.pop(task.itt, None)
        if task.worker and task.worker is not asyncio.current_task():
            task.worker.cancel()

    # Order

    async def dispatch(self, conn, pdu):
        session = conn.session
        if pdu.opcode == p.DATA_OUT:
            await self.data_out(conn, pdu)
            return
        if pdu.immediate:
            await self.serve(conn, pdu)
            return
        if pdu.cmd_sn != session.exp_cmd_sn:
            if after(pdu.cmd_sn, session.exp_cmd_sn):
                session.early[pdu.cmd_sn] = conn, pdu
            return
        await self._in_turn(session, conn, pdu)
        while session.exp_cmd_sn in session.early:
            await self._in_turn(session, *session.early.pop(session.exp_cmd_sn))

    async def _in_turn(self, session, conn, pdu):
        session.exp_cmd_sn = plus(session.exp_cmd_sn, 1)
        await self.serve(conn, pdu)

    async def serve(self, conn, pdu):
        handler = {
            p.SCSI_COMMAND: self.command, p.NOP_OUT: self.nop_out, p.LOGOUT: self.logout,
            p.TASK_MANAGEMENT: self.task_management, p.TEXT: self.text,
        }.get(pdu.opcode)
        if not handler:
            await conn.reject(pdu, 5)
            return
        await handler(conn, pdu)

    # Commands

    async def command(self, conn, pdu):
        task = Task(conn, pdu)
        conn.session.tasks[task.itt] = task
        for data in conn.session.early_data.pop(task.itt, ()):
            task.data.put_nowait(data)
        task.worker = asyncio.ensure_future(self._work(conn, task))
        conn.workers.add(task.worker)
        task.worker.add_done_callback(conn.workers.discard)

    async def _work(self, conn, task):
        try:
            if not await self.run.hook("on_command", conn, task):
                await self.execute(conn, task)
        except Drop:
            conn.close()
        except Exception as err:        # a scenario's own mistake must be seen
            if is_of_the_network(err):
                conn.close()
                return
            self.violations.append(f"{ITSELF}{err!r}")
            conn.reset()
            raise
        finally:
            if conn.session.tasks.get(task.itt) is task:
                conn.session.tasks.pop(task.itt)

    async def execute(self, conn, task):
        if task.write:
            await self.collect(conn, task)
        self.disk.nexus = conn.session.initiator, conn.session.isid
        result = self.disk.execute(task.cdb, task.buffer, int.from_bytes(task.lun, "big"))
        await self.respond(conn, task, result)

    async def data_out(self, conn, pdu):
        session = conn.session
        task = session.tasks.get(pdu.itt)
        if not task:
            await self.run.hook("on_late_data", conn, pdu)
        elif not await self.run.hook("on_data_out", conn, pdu):
            task.data.put_nowait(pdu)
        # Unsolicited data follow their command at once, also when that waits for others.
        if any(early.itt == pdu.itt for _, early in session.early.values()):
            session.early_data.setdefault(pdu.itt, []).append(pdu)

    async def collect(self, conn, task):
        """Gathers all that the command writes: unsolicited data, then one R2T after another."""
        await self.collect_unsolicited(task)
        held = conn.login.held
        asked = task.received
        open_r2ts = 0
        while task.received < task.edtl:
            while asked < task.edtl and open_r2ts < held["MaxOutstandingR2T"]:
                length = min(held["MaxBurstLength"], task.edtl - asked)
                await self.r2t(conn, task, asked, length)
                asked += length
                open_r2ts += 1
            pdu = await task.data.get()
            task.take(pdu.offset, pdu.data)
            open_r2ts -= pdu.final

    async def collect_unsolicited(self, task):
        final = task.pdu.final
        while not final:
            pdu = await task.data.get()
            task.take(pdu.offset, pdu.data)
            final = pdu.final

    async def r2t(self, conn, task, offset, length, **changes):
        fields = {"lun": task.lun, "itt": task.itt, "ttt": self.new_ttt(), "r2t_sn": task.r2t_sn,
                  "offset": offset, "desired": length, **changes}
        task.r2t_sn += 1
        await conn.send(Pdu(p.R2T, **fields))

    async def respond(self, conn, task, result):
        """Data-In and status. The task is over, and its place in the window free."""
        wanted = len(result.data)
        if task.write and result.status != CHECK_CONDITION:
            wanted = self.disk.direction(task.cdb, task.edtl)[1]
        if conn.session.tasks.get(task.itt) is task:
            conn.session.tasks.pop(task.itt)
        data = result.data[:task.edtl] if task.read else b""
        residual = self._residual(task, wanted, result)
        if data and not result.sense:
            await self.data_in(conn, task, data, result.status, residual)
        else:
            await self.scsi_response(conn, task, result, residual)

    @staticmethod
    def _residual(task, wanted, result):
        """(flag bits, residual count): overflow 4, underflow 2."""
        if result.status == CHECK_CONDITION:
            wanted = 0 if task.read else task.edtl
        if wanted > task.edtl:
            return 4, wanted - task.edtl
        return (2, task.edtl - wanted) if wanted < task.edtl else (0, 0)

    def pieces(self, conn, size):
        """(offset, length, last of its sequence) of the Data-In of a read of this size."""
        held = conn.login.held
        segment = held["MaxRecvDataSegmentLength"]
        at = 0
        while at < size:
            burst_end = min(size, (at // held["MaxBurstLength"] + 1) * held["MaxBurstLength"])
            length = min(segment, burst_end - at)
            yield at, length, at + length == burst_end
            at += length

    async def data_in(self, conn, task, data, status=0, residual=(0, 0)):
        for pdu in self.data_in_pdus(conn, task, data, status, residual):
            await conn.send(pdu)

    def data_in_pdus(self, conn, task, data, status=0, residual=(0, 0)):
        """The Data-In of a read, the last one with the status."""
        for sn, (at, length, last) in enumerate(self.pieces(conn, len(data))):
            pdu = Pdu(p.DATA_IN, 0x80 if last else 0, itt=task.itt, ttt=RESERVED_TAG, data_sn=sn,
                      offset=at, data=data[at:at + length])
            if at + length == len(data):
                pdu.flags = 0x81 | residual[0]
                pdu.status = status
                pdu.residual = residual[1]
            yield pdu

    async def scsi_response(self, conn, task, result, residual=(0, 0), **changes):
        data = len(result.sense).to_bytes(2, "big") + result.sense if result.sense else b""
        pdu = Pdu(p.SCSI_RESPONSE, 0x80 | residual[0], itt=task.itt, status=result.status,
                  residual=residual[1], exp_data_sn=task.r2t_sn, data=data)
        for name, value in changes.items():
            setattr(pdu, name, value)
        await conn.send(pdu)

    # The other requests

    async def nop_out(self, conn, pdu):
        if await self.run.hook("on_nop", conn, pdu) or pdu.itt == RESERVED_TAG:
            return
        limit = conn.login.held["MaxRecvDataSegmentLength"]
        await conn.send(Pdu(p.NOP_IN, lun=pdu.lun, itt=pdu.itt, ttt=RESERVED_TAG,
                            data=pdu.data[:limit]))

    async def task_management(self, conn, pdu):
        if await self.run.hook("on_tmf", conn, pdu):
            return
        await self.answer_task_management(conn, pdu, self.manage(conn.session, pdu))

    async def answer_task_management(self, conn, pdu, response):
        await conn.send(Pdu(p.TASK_MANAGEMENT_RESPONSE, itt=pdu.itt, response=response))

    def manage(self, session, pdu):
        """Does what is asked; returns the response code."""
        function = pdu.flags & 0x7F
        if function == checks.ABORT_TASK:
            task = session.tasks.get(pdu.referenced_itt)
            if not task:
                return 1
            self.abort(session, task)
            return 0
        if function in (checks.ABORT_TASK_SET, checks.CLEAR_TASK_SET, checks.LUN_RESET):
            for task in list(session.tasks.values()):
                if after(pdu.cmd_sn, task.cmd_sn):
                    self.abort(session, task)
            return 0
        return 5

    async def logout(self, conn, pdu):
        if await self.run.hook("on_logout", conn, pdu):
            return
        session = conn.session
        await conn.send(Pdu(p.LOGOUT_RESPONSE, itt=pdu.itt, response=0))
        if pdu.flags & 0x7F == 0:
            for other in list(session.connections.values()):
                if other is not conn:
                    other.close()
        raise Drop

    async def text(self, conn, pdu):
        pairs = dict(keys.parse(pdu.data)[0])
        out = []
        if "SendTargets" in pairs:
            out = [("TargetName", self.settings.name),
                   ("TargetAddress", f"{self.settings.portal},{self.settings.tpgt}")]
        await conn.send(Pdu(p.TEXT_RESPONSE, itt=pdu.itt, ttt=RESERVED_TAG,
                            data=keys.format_text(out)))
