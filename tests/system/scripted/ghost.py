# SPDX-License-Identifier: GPL-2.0
"""A target that holds a write until it is told, or forgets it, as its sessions end."""

import asyncio

from scripted import checks
from scripted.conn import Drop
from scripted.scsi import TASK_ABORTED, WRITE_16, Result, number

#: Responses to task management
COMPLETE, NO_TASK, NOT_SUPPORTED, REJECTED = 0, 1, 5, 255


async def hold(run, _conn, task):
    """The first write waits until release(); then it is carried out, if it is still there.

    A login that reinstates its session ends it.
    """
    if task.opcode == WRITE_16 and run.strike():
        run.memory["worker"] = task.worker
        run.memory["event"] = asyncio.Event()
        await run.memory["event"].wait()
        run.memory["carried out"] = True
    return False


async def keep(run, conn, task):
    """As hold(), but the target does not notice the end of the connection either.

    Only a login that reinstates its session ends the write.
    """
    if task.opcode != WRITE_16 or not run.strike():
        return False
    await run.target.collect(conn, task)

    async def carry_out():
        await run.memory["event"].wait()
        run.memory["carried out"] = True
        return run.target.disk.execute(task.cdb, task.buffer)

    run.memory["worker"] = run.target.keep(conn.session, carry_out())
    run.memory["event"] = asyncio.Event()
    await run.target.respond(conn, task, await asyncio.shield(run.memory["worker"]))
    return True


# Answers to a reset

async def completes(holder, _conn, _pdu):
    """Function complete, when the write has been carried out."""
    await holder.over.wait()
    return COMPLETE


async def discards(holder, _conn, _pdu):
    """Function complete, as the write is gone."""
    holder.discard()
    return COMPLETE


async def rejects(holder, conn, pdu):
    """Twice for each write, then as completes()."""
    holder.refused += 1
    return REJECTED if holder.refused <= 2 else await completes(holder, conn, pdu)


async def silence(_holder, _conn, _pdu):
    """No answer at all."""
    await asyncio.Event().wait()


async def forgets(run, conn, pdu):
    """on_tmf: a reset of the LUN ends the commands of all sessions, and none is told of its own."""
    if pdu.flags & 0x7F != checks.LUN_RESET:
        return False
    for session in list(run.target.sessions.values()):
        for task in list(session.tasks.values()):
            run.target.abort(session, task)
    await run.target.answer_task_management(conn, pdu, COMPLETE)
    return True


class Holder:
    """What is asked of the target that holds a write: see lab/ghost.py.

    The write is with the disk: neither the end of its session nor a new login stops it. A reset of
    the LUN, or an abort of this write, is answered as `reset` says. tas: whether other sessions are
    told that their tasks were aborted; "late": when these have been asked for, behind the answer to
    that, as FreeBSD's target does. ends_unknown: whether it has ended a task that it does not know,
    as SCST says.
    """

    def __init__(self, reset=completes, tas=False, ends_unknown=False):
        self.reset = reset
        self.tas = tas
        self.ends_unknown = ends_unknown
        self.server = None
        self.at = None              # where the next write is held
        self.lose_at = set()        # where the next one is not carried out, only aborted
        self.task = None
        self.let_go = self.over = None
        self.carried_out = 0
        self.resets = 0             # that were asked for
        self.refused = 0            # see rejects()
        self.marked = set()         # tasks of others, for "late"
        self.told_late = 0

    def hooks(self):
        return {"on_command": self.on_command, "on_tmf": self.on_tmf}

    # In the target's thread

    async def on_command(self, run, conn, task):
        at = number(task.cdb, 2, 8) * run.target.disk.block_bytes
        if task.opcode != WRITE_16 or at not in self.lose_at | {self.at}:
            return False
        await run.target.collect(conn, task)
        if at in self.lose_at:
            self.lose_at.remove(at)
            await asyncio.Event().wait()
        self.at = None
        self.let_go, self.over = asyncio.Event(), asyncio.Event()
        self.task = task
        self.refused = 0
        worker = asyncio.ensure_future(self._carry_out(run.target, task))
        worker.add_done_callback(lambda worker: worker.result())
        await self.over.wait()
        await run.target.respond(conn, task, Result())
        return True

    async def _carry_out(self, target, task):
        await self.let_go.wait()
        if self.task is task:
            target.disk.execute(task.cdb, task.buffer)
            self.carried_out += 1
        self._end()

    def _end(self):
        self.task = None
        self.over.set()

    def discard(self):
        self._end()
        self.let_go.set()

    async def on_tmf(self, run, conn, pdu):
        function = pdu.flags & 0x7F
        if function == checks.ABORT_TASK:
            for task in [task for task in self.marked
                         if task.itt == pdu.referenced_itt and task.conn is conn]:
                self.marked.remove(task)
                self._start(conn, self._say_late(run.target, task))
            mine = self.task and self.task.itt == pdu.referenced_itt and self.task.conn is conn
            if self.ends_unknown and not self._is_known(conn, pdu.referenced_itt):
                self._start(conn, run.target.answer_task_management(conn, pdu, COMPLETE))
                return True
        else:
            mine = function == checks.LUN_RESET
        if not mine:
            return False
        self._start(conn, self._answer(run, conn, pdu, function))
        return True

    @staticmethod
    def _is_known(conn, itt):
        return any(task.itt == itt for task in conn.session.tasks.values())

    @staticmethod
    def _start(conn, work):
        worker = asyncio.ensure_future(work)
        conn.workers.add(worker)
        worker.add_done_callback(conn.workers.discard)

    async def _say_late(self, target, task):
        await asyncio.sleep(0.1)
        await target.scsi_response(task.conn, task, Result(TASK_ABORTED))
        self.told_late += 1

    async def _answer(self, run, conn, pdu, function):
        self.resets += function == checks.LUN_RESET
        response = await self.reset(self, conn, pdu) if self.task else COMPLETE
        if response == COMPLETE:
            response = run.target.manage(conn.session, pdu)
            if function == checks.LUN_RESET:
                await self._abort_others(run.target, conn.session)
        await run.target.answer_task_management(conn, pdu, response)

    async def _abort_others(self, target, session):
        """What other sessions have in the task set is gone, too."""
        for other in list(target.sessions.values()):
            for task in list(other.tasks.values()) if other is not session else ():
                if self.tas == "late":
                    self.marked.add(task)
                    continue
                target.abort(other, task)
                if self.tas:
                    await target.scsi_response(task.conn, task, Result(TASK_ABORTED))

    # For the test

    def hold(self, at):
        self.at = at

    def held(self):
        return self.task is not None

    def release(self):
        async def end():
            if self.task:
                self.let_go.set()
                await self.over.wait()

        self.server.call(end())


class Gate:
    """Logins and answers to pings of a target, by the ISIDs of its sessions."""

    def __init__(self):
        self.closed, self.silent = set(), set()
        self.hooks = {"on_login": self.on_login, "on_nop": self.on_nop}

    async def on_login(self, _run, _conn, pdu):
        if pdu.isid.hex() in self.closed:
            raise Drop
        return False

    async def on_nop(self, _run, conn, _pdu):
        # A round trip.
        await asyncio.sleep(0.1)
        return conn.session.isid.hex() in self.silent

    def close(self, server, isid):
        async def end():
            for session in list(server.target.sessions.values()):
                if session.isid.hex() == isid:
                    server.target.end_session(session)

        self.closed.add(isid)
        server.call(end())

    def open(self, isid):
        self.closed.discard(isid)


class Resets:
    """A target that keeps a write, and answers resets of the LUN when the test says so.

    The first write to each of `places` has no answer; it ends with its session. The next ones are
    carried out.
    """

    def __init__(self, *places):
        self.places = places
        self.kept = {}              # place: the task
        self.writes = []            # (place, ISID) of all writes to these places
        self.asked = []             # (connection, PDU) of each reset
        self.hooks = {"on_command": self.on_command, "on_tmf": self.on_tmf}

    async def on_command(self, run, conn, task):
        at = number(task.cdb, 2, 8) * run.target.disk.block_bytes
        if task.opcode != WRITE_16 or at not in self.places:
            return False
        self.writes.append((at, conn.session.isid.hex()))
        if at in self.kept:
            return False
        await run.target.collect(conn, task)
        self.kept[at] = task
        await asyncio.Event().wait()
        return True

    async def on_tmf(self, _run, conn, pdu):
        if pdu.flags & 0x7F != checks.LUN_RESET:
            return False
        self.asked.append((conn, pdu))
        return True

    def isid(self, index):
        """Of the session over which the reset was asked for."""
        return self.asked[index][0].session.isid.hex()

    def answer(self, server, index, response=COMPLETE):
        conn, pdu = self.asked[index]
        server.call(server.target.answer_task_management(conn, pdu, response))

    async def finish(self, target, at):
        """The write that is kept is carried out."""
        task = self.kept[at]
        result = target.disk.execute(task.cdb, task.buffer)
        await target.respond(task.conn, task, result)
