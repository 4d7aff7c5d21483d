# SPDX-License-Identifier: GPL-2.0
"""What the tables of scenarios are put together from: hooks for a Scenario.

dict(**a, **b) puts two of them together and refuses a hook that both have, where {**a, **b} would
lose that of a.
"""

import asyncio

from scripted import pdu as p
from scripted.conn import Drop
from scripted.pdu import RESERVED_TAG, Pdu, plus
from scripted.scenario import silence
from scripted.scsi import READ_16, WRITE_16, Result, fixed_sense


def on_task(opcode, action):
    """The first command(s) of this opcode are left to action(run, conn, task)."""

    async def hook(run, conn, task):
        if task.opcode != opcode or not run.strike():
            return False
        await action(run, conn, task)
        return True

    return {"on_command": hook}


def on_read(action):
    return on_task(READ_16, action)


def on_write(action):
    return on_task(WRITE_16, action)


def with_data(run, task):
    return run.target.disk.execute(task.cdb, task.buffer).data


# Reads

def data_in(change):
    """A read's Data-In PDUs, changed by change(pdus) before they are numbered."""

    async def action(run, conn, task):
        pdus = list(run.target.data_in_pdus(conn, task, with_data(run, task)))
        for pdu in change(pdus) or pdus:
            await conn.send(pdu)
        await silence()

    return on_read(action)


def answered_read(change):
    """The same, but the task is over when they are sent."""

    async def action(run, conn, task):
        pdus = list(run.target.data_in_pdus(conn, task, with_data(run, task)))
        conn.session.tasks.pop(task.itt, None)
        for pdu in change(pdus) or pdus:
            await conn.send(pdu)

    return on_read(action)


def then_normal(*steps, opcode=READ_16):
    """Does steps, each an async function(run, conn, task), then what an honest target does."""

    async def action(run, conn, task):
        for step in steps:
            await step(run, conn, task)
        await run.target.execute(conn, task)

    return on_task(opcode, action)


def instead(*steps, opcode=READ_16):
    """Does steps, and never answers the command."""

    async def action(run, conn, task):
        for step in steps:
            await step(run, conn, task)
        await silence()

    return on_task(opcode, action)


# Writes

def r2t(offset=0, desired=4096, **changes):
    async def step(run, conn, task):
        await run.target.r2t(conn, task, offset, desired, **changes)

    return step


async def take_data(run, conn, task):
    pdu = await task.data.get()
    task.take(pdu.offset, pdu.data)


# Answers

def result(status=0, sense=b"", opcode=READ_16, missing=None, **changes):
    """This status instead of what the command would come to; a write is done. missing: underflow."""

    async def action(run, conn, task):
        if task.write:
            await run.target.collect(conn, task)
            run.target.disk.execute(task.cdb, task.buffer)
        conn.session.tasks.pop(task.itt, None)
        residual = (2, task.edtl) if task.read and task.edtl else (0, 0)
        if missing is not None:
            residual = 2, missing
        await run.target.scsi_response(conn, task, Result(status, sense=sense), residual,
                                       **changes)

    return on_task(opcode, action)


def check(key, asc, ascq, opcode=READ_16):
    return result(2, fixed_sense(key, asc, ascq), opcode)


def becoming_ready(opcode):
    """NOT READY, in process of becoming ready."""
    return check(2, 4, 1, opcode)


def early(status=0, sense=b""):
    """A write is answered before its data are asked for."""

    async def step(run, conn, task):
        conn.session.tasks.pop(task.itt, None)
        await run.target.scsi_response(conn, task, Result(status, sense=sense))

    return step


def send(opcode, **fields):
    """A PDU out of the blue. fields may be functions of the task."""

    async def step(run, conn, task):
        values = {name: value(task) if callable(value) else value
                  for name, value in fields.items()}
        await conn.send(Pdu(opcode, **values))

    return step


def raw(data):
    async def step(run, conn, task):
        await conn.put(data)

    return step


def ping(data=b"", times=1):
    async def step(run, conn, task):
        for _ in range(times):
            await conn.ping(data)

    return step


def tell(event, **parameters):
    async def step(run, conn, task):
        await conn.tell(event, **parameters)

    return step


def reject(reason, header=True):
    async def step(run, conn, task):
        if header:
            await conn.reject(task.pdu, reason)
        else:
            await conn.send(Pdu(p.REJECT, itt=RESERVED_TAG, reason=reason))

    return step


def wait(seconds):
    async def step(run, conn, task):
        await asyncio.sleep(seconds)

    return step


async def drop(run, conn, what):
    conn.close()


async def reset(run, conn, what):
    conn.reset()


async def deaf(run, conn, pdu):
    """Pings are not answered any more, on this connection."""
    return conn in run.memory


async def go_silent(run, conn, task):
    run.memory[conn] = True
    await silence()


async def refuse_logout(run, conn, pdu):
    # The initiator may be gone before the answer is.
    run.touched = True
    await conn.send(Pdu(p.LOGOUT_RESPONSE, itt=pdu.itt, response=3))
    return True


def attention(*sense):
    async def step(run, conn, task):
        run.target.disk.attentions.append(sense)

    return step


def change_disk(change):
    """change(disk) before the command."""

    async def step(run, conn, task):
        change(run.target.disk)

    return step


# Anything that is sent

def spoil(opcode, change):
    """The first PDU(s) of this opcode are changed on their way: change(pdu), or a list of PDUs."""

    async def hook(run, conn, pdu):
        if pdu.opcode != opcode or not run.strike():
            return None
        return change(pdu)

    return {"before_send": hook}


def field(**changes):
    """For spoil(): sets fields."""

    def change(pdu):
        for name, value in changes.items():
            setattr(pdu, name, value)

    return change


def moved(**changes):
    """For spoil(): adds to fields."""

    def change(pdu):
        for name, value in changes.items():
            setattr(pdu, name, plus(getattr(pdu, name), value))

    return change


# Login

def login_pdu(change, nth=1):
    """Changes the nth Login Response of a connection."""

    async def hook(run, conn, pdu):
        if pdu.opcode != p.LOGIN_RESPONSE or conn.requests != nth or not run.armed:
            return None
        run.hits += 1
        return change(pdu)

    return {"before_send": hook}


def login_keys(stage, *add, drop=(), ready=None, when=None, **replace):
    """Changes the text of one response of a stage: more pairs, fewer, other values.

    It is the first response of the stage, or the first that has the key `when`. ready: whether
    the stage may be left, if that is not to stay as it is.
    """

    async def hook(conn, request, pairs, was_ready):
        mine = request.flags >> 2 & 3 == stage and (not when or when in dict(pairs))
        if not mine or conn in conn.run_state.memory:
            return pairs, was_ready
        conn.run_state.memory[conn] = True
        out = [(name, replace.get(name, value)) for name, value in pairs if name not in drop]
        return [*out, *add], was_ready if ready is None else ready

    return {"login_pairs": hook}


def login_step(action, nth=1):
    """The nth Login Request of a connection is left to action(run, conn, request)."""

    async def hook(run, conn, pdu):
        if conn.requests != nth or not run.strike():
            return False
        await action(run, conn, pdu)
        return True

    return {"on_login": hook}


def refuse(status, *pairs):
    async def action(run, conn, pdu):
        await conn.refuse(pdu, status, pairs)

    return login_step(action)


async def mute(run, conn, what):
    """Not a word more, until the initiator has had enough."""
    while await conn.reader.read(65536):
        pass
    raise Drop
