# SPDX-License-Identifier: GPL-2.0
"""Sessions of several connections: joining, order, allegiance, the loss of one of them."""

import asyncio

from scripted import pdu as p
from scripted.pdu import Pdu
from scripted.scenario import WORKS, Scenario, reconnects, silence
from scripted.scsi import WRITE_16
from scripted.steps import (
    deaf,
    drop,
    go_silent,
    instead,
    mute,
    on_read,
    on_write,
    refuse_logout,
    reset,
    tell,
)

DIGESTS = {"header_digest": "CRC32C", "data_digest": "CRC32C"}
SOLICITED = {"immediate_data": "No", "initial_r2t": "Yes"}
#: Silence is noticed, but not that the target, or a thread of ours, stands still for a moment.
KEEPALIVE = {"ping_interval_ms": 300, "ping_timeout_ms": 5000}
OVERDUE = {"command_timeout_ms": 5000}


def several(name, expect=WORKS, hooks=None, count=4, path=None, io="many", **more):
    return Scenario(f"connections: {name}", expect, hooks or {}, io=io,
                    path={"multi": "mcs", "connections": count, **(path or {})}, **more)


async def numbers_apart(run, conn, what):
    """Each connection counts its StatSN from somewhere else."""
    conn.stat_sn = (0xFFFFFFF0 + 0x12345 * len(run.memory)) & 0xFFFFFFFF
    run.memory[conn] = True


HONEST = [
    *(several(f"{count}", count=count, settings={"MaxConnections": count}, connections=count)
      for count in (2, 8)),
    several("digests", path=DIGESTS, connections=4),
    several("solicited", path=SOLICITED, connections=4),
    several("unsolicited", path={"immediate_data": "No"}, connections=4),
    several("2 of 8 granted", count=8, settings={"MaxConnections": 2}, connections=2),
    several("1 granted", settings={"MaxConnections": 1}, connections=1),
    several("window of 1", settings={"depth": 1}, connections=4),
    several("window of 3", settings={"depth": 3}, connections=4),
    several("StatSN of its own each", hooks={"on_connect": numbers_apart}, connections=4),
]


# Joining

def join(name, action, connections=1, **more):
    """The second connection's first Login Request is left to action(run, conn, request)."""

    async def hook(run, conn, pdu):
        if not pdu.tsih or conn.requests > 1 or not run.strike():
            return False
        await action(run, conn, pdu)
        return True

    return several(name, hooks={"on_login": hook}, armed=True, connections=connections,
                   says=rf": goes on with {connections} of \d connections: ", **more)


def refused(status, *pairs):
    async def action(run, conn, pdu):
        await conn.refuse(pdu, status, pairs)

    return action


async def wrong_tsih(run, conn, pdu):
    if pdu.opcode == p.LOGIN_RESPONSE and conn.cid and run.strike():
        pdu.tsih += 1


def joining_says(stage, name, value):
    """A key in the first answer of a stage to the second connection, whatever was there."""

    async def hook(conn, request, pairs, ready):
        if not request.tsih or request.flags >> 2 & 3 != stage or not conn.run_state.strike():
            return pairs, ready
        return [*(pair for pair in pairs if pair[0] != name), (name, value)], ready

    return {"login_pairs": hook}


JOINS = [
    *(join(f"refused with {status:#06x}", refused(status))
      for status in (0x0206, 0x0208, 0x020A, 0x0300, 0x0302)),
    join("redirected", refused(0x0101, ("TargetAddress", "10.55.0.99:3260"))),
    join("reset", reset),
    join("no answer", mute, path={"login_timeout_ms": 8000}),
    several("wrong TSIH", hooks={"before_send": wrong_tsih}, armed=True, connections=1),
    several("another portal group", hooks=joining_says(0, "TargetPortalGroupTag", 7), armed=True,
            connections=1),
    several("a key of the session", hooks=joining_says(1, "MaxBurstLength", 512), armed=True,
            connections=1),
]


async def third_refused(run, conn, pdu):
    if pdu.cid != 2 or not run.strike():
        return False
    await conn.refuse(pdu, 0x0206)
    return True


JOINS.append(several("the third is refused", hooks={"on_login": third_refused}, armed=True,
                     connections=2))


# Allegiance

def other_than(conn):
    return next(other for other in conn.session.connections.values() if other is not conn)


async def r2t_elsewhere(run, conn, task):
    await run.target.r2t(other_than(conn), task, 0, 4096)
    await silence()


async def data_elsewhere(run, conn, task):
    data = run.target.disk.execute(task.cdb, task.buffer).data
    await run.target.data_in(other_than(conn), task, data)
    await silence()


async def status_elsewhere(run, conn, task):
    await run.target.collect(conn, task)
    result = run.target.disk.execute(task.cdb, task.buffer)
    await run.target.scsi_response(other_than(conn), task, result)
    await silence()


ALLEGIANCE = [
    several("R2T on another one", reconnects("not in flight"), on_write(r2t_elsewhere),
            path=SOLICITED),
    several("Data-In on another one", reconnects("not in flight"), on_read(data_elsewhere)),
    several("status on another one", reconnects("not in flight"), on_write(status_elsewhere)),
]


# The loss of one

async def another_ends(run, conn, task):
    """Not the connection that carries the command."""
    other_than(conn).reset()
    await run.target.execute(conn, task)


LOSSES = [
    several("one is closed", reconnects("lost"), instead(drop)),
    several("one is reset", reconnects("lost"), instead(reset)),
    several("one is reset in a write", reconnects("lost"), instead(reset, opcode=WRITE_16)),
    several("another one is reset", reconnects("lost"), on_read(another_ends)),
    several("one is reset, three times", reconnects("lost"), instead(reset), times=3),
    several("one is silent", reconnects("silent for"), dict(**instead(go_silent), on_nop=deaf),
            path=KEEPALIVE),
    several("one is to be dropped", reconnects("drop the connection"),
            instead(tell(2, parameter1=1))),
]


# Commands that are not answered

async def hold(run, conn, task):
    run.memory.setdefault("held", []).append(task)


async def answer_others(run, conn):
    """What is held back on other connections ends just now, each with its answer."""
    for task in run.memory["held"]:
        if task.conn is not conn and conn.session.tasks.get(task.itt) is task:
            task.worker.cancel()
            await run.target.execute(task.conn, task)


def overdue(name, expect, answers):
    """Some reads are held back; task management gets these answers, one after another."""

    async def manage(run, conn, pdu):
        left = run.memory.setdefault("answers", list(answers))
        step = left.pop(0) if left else "do"
        if step == "late":
            await answer_others(run, conn)
        if step in ("do", "late"):
            return False
        await conn.send(Pdu(p.TASK_MANAGEMENT_RESPONSE, itt=pdu.itt, response=step))
        return True

    return several(f"overdue, {name}", expect, dict(**instead(hold), on_tmf=manage), times=6,
                   volume=OVERDUE)


OVERDUES = [
    overdue("aborted", WORKS, []),
    overdue("LUN reset", WORKS, [5, "do"]),
    overdue("LUN reset, answers just before it", WORKS, [5, "late"]),
    overdue("LUN reset rejected", reconnects("so do abort and LUN reset"), [5, 255]),
]


# The end

async def others_first(run, conn, pdu):
    """The other connections end before the answer to the logout."""
    run.touched = True
    for other in list(conn.session.connections.values()):
        if other is not conn:
            other.close()
    await asyncio.sleep(0.2)
    return False


async def pings_elsewhere(run, conn, pdu):
    """Nothing is sent on any connection of a session that ends, so no ping is answered.

    The logout is not either: the initiator closes the connections then.
    """
    asked = [(other, await other.ping()) for other in list(conn.session.connections.values())
             if other is not conn]
    for other, ttt in asked:
        await other.closed.wait()
        if ttt not in other.checks.pings:
            conn.checks.wrong("11.14", f"a PDU on connection {other.cid} follows it", pdu)
    return True


LOGOUTS = [
    several("logout, the others end first", hooks={"on_logout": others_first}),
    several("logout refused", hooks={"on_logout": refuse_logout}),
    several("logout, pings elsewhere", hooks={"on_logout": pings_elsewhere}, connections=4),
]
SCENARIOS = [*HONEST, *JOINS, *ALLEGIANCE, *LOSSES, *OVERDUES, *LOGOUTS]
