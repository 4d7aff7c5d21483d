# SPDX-License-Identifier: GPL-2.0
"""The life of a session: windows, numbers, NOP, Reject, async messages, task management, drops."""

import asyncio
import contextlib

from scripted import checks
from scripted import pdu as p
from scripted.pdu import RESERVED_TAG, Pdu
from scripted.scenario import SURVIVES, WORKS, Scenario, reconnects, silence
from scripted.scsi import (
    INQUIRY,
    READ_16,
    SYNCHRONIZE_CACHE_16,
    TASK_ABORTED,
    WRITE_16,
    Result,
)
from scripted.steps import (
    deaf,
    drop,
    field,
    go_silent,
    instead,
    moved,
    on_read,
    on_write,
    ping,
    raw,
    refuse_logout,
    reject,
    reset,
    send,
    spoil,
    tell,
    then_normal,
    wait,
)

#: Silence is noticed, but not that the target, or a thread of ours, stands still for a moment.
KEEPALIVE = {"ping_interval_ms": 300, "ping_timeout_ms": 5000}
OVERDUE = {"command_timeout_ms": 5000}
#: Less than the command is given that waits for it.
PONG_S = 20
SOLICITED = {"immediate_data": "No", "initial_r2t": "Yes"}
ITT = {"itt": lambda task: task.itt}


async def close_window(run, conn, task):
    """The command is answered with a window of 0, which a NOP-In opens after a while."""
    session = conn.session
    session.depth = 0
    await run.target.execute(conn, task)
    await asyncio.sleep(0.3)
    session.depth = 32
    await conn.tell_window()


async def shut_window(run, conn, task):
    """The window closes and stays closed."""
    conn.session.depth = 0
    await run.target.execute(conn, task)


async def nonsense_window(run, conn, pdu):
    """Every second PDU has numbers that RFC 7143 says are to be ignored."""
    if hasattr(pdu, "max_cmd_sn") and pdu.opcode != p.LOGIN_RESPONSE:
        run.hits += 1
        if run.hits % 2:
            pdu.max_cmd_sn = pdu.exp_cmd_sn - 5


async def old_window(run, conn, pdu):
    """Numbers go back: they count for nothing."""
    if hasattr(pdu, "max_cmd_sn") and pdu.opcode != p.LOGIN_RESPONSE and run.strike():
        pdu.exp_cmd_sn, pdu.max_cmd_sn = pdu.exp_cmd_sn - 3, pdu.max_cmd_sn - 40


WINDOWS = [
    Scenario("window: 1", WORKS, settings={"depth": 1}, io="many"),
    Scenario("window: 2", WORKS, settings={"depth": 2}, io="many"),
    Scenario("window: 0 for a while", WORKS, on_read(close_window), io="many"),
    Scenario("window: 0 for ever", reconnects("command window"), on_read(shut_window), io="many",
             volume=OVERDUE),
    Scenario("window: nonsense", WORKS, {"before_send": nonsense_window}, io="many"),
    Scenario("window: back", WORKS, {"before_send": old_window}, times=20, io="many"),
    *(Scenario(f"numbers: StatSN from {first:#x}", WORKS, settings={"first_stat_sn": first})
      for first in (0, 0x7FFFFFF8, 0xFFFFFFF0, 0xFFFFFFFE, 0xFFFFFFFF)),
    Scenario("numbers: StatSN left out", reconnects("StatSN"),
             spoil(p.SCSI_RESPONSE, moved(stat_sn=1))),
    Scenario("numbers: StatSN repeated", reconnects("StatSN"),
             spoil(p.SCSI_RESPONSE, moved(stat_sn=0xFFFFFFFF))),
    Scenario("numbers: StatSN with the status of a read", reconnects("StatSN"),
             spoil(p.DATA_IN, moved(stat_sn=7))),
    Scenario("numbers: StatSN of an R2T is 0", WORKS, spoil(p.R2T, field(stat_sn=0)),
             path=SOLICITED),
]


async def answered(run, conn, task):
    """Goes on when each ping of the target's has its answer (RFC 7143 11.18)."""
    clock = asyncio.get_running_loop().time
    end = clock() + PONG_S
    while conn.checks.pings and clock() < end:
        await asyncio.sleep(0.01)
    if conn.checks.pings:
        conn.checks.wrong("11.18", "a ping has no answer", task.pdu)


async def answer_ttt_0(run, conn, pdu):
    """The answer does not reserve its Target Transfer Tag."""
    await conn.send(p.Pdu(p.NOP_IN, lun=pdu.lun, itt=pdu.itt, ttt=0))
    return True


NOPS = [
    Scenario("nop: ping", WORKS, then_normal(ping())),
    Scenario("nop: ping in a write", WORKS, then_normal(ping(), opcode=WRITE_16)),
    Scenario("nop: ping with 64 KiB", WORKS, then_normal(ping(b"ping" * 16384)),
             settings={"MaxRecvDataSegmentLength": 65536}),
    Scenario("nop: ping with 1 byte", WORKS, then_normal(ping(b"x")),
             path={"header_digest": "CRC32C", "data_digest": "CRC32C"}),
    Scenario("nop: 20 pings", WORKS, then_normal(ping(times=20))),
    Scenario("nop: 1000 pings", WORKS, then_normal(ping(times=1000), answered)),
    Scenario("nop: 1000 pings at once, in a write", WORKS,
             then_normal(ping(b"ping" * 256, 1000), answered, opcode=WRITE_16)),
    Scenario("nop: 100 pings at enable", WORKS,
             then_normal(ping(b"ping", 100), answered, opcode=INQUIRY), armed=True),
    Scenario("nop: numbers only", WORKS, then_normal(
        send(p.NOP_IN, itt=RESERVED_TAG, ttt=RESERVED_TAG))),
    Scenario("nop: an answer nobody asked for", WORKS, then_normal(
        send(p.NOP_IN, itt=0x0001FFF0, ttt=RESERVED_TAG))),
    Scenario("nop: an answer nobody asked for, with a TTT", WORKS, then_normal(
        send(p.NOP_IN, itt=0x0001FFF0, ttt=6))),
    Scenario("nop: answers with TTT 0", WORKS, dict(**then_normal(wait(2)), on_nop=answer_ttt_0),
             path=KEEPALIVE),
    Scenario("nop: an answer to a command", WORKS, instead(
        send(p.NOP_IN, ttt=RESERVED_TAG, **ITT)), path=KEEPALIVE, volume=OVERDUE),
]

async def crowded(run, conn, pdu):
    """Too many immediate commands, twice; the target wants the answers to its pings all the same."""
    run.memory["crowded"] = run.memory.get("crowded", 0) + 1
    if run.memory["crowded"] > 2:
        return False
    if pdu.itt == RESERVED_TAG:
        conn.checks.pings[pdu.ttt] = pdu.lun
    await conn.reject(pdu, 6)
    return True


async def answers_rejected(run, conn, pdu):
    """EqualLogic: no answer to its own ping is right."""
    if pdu.itt != RESERVED_TAG:
        return False
    await conn.reject(pdu, 4)
    return True


async def always_crowded(run, conn, pdu):
    run.touched = True
    await conn.reject(pdu, 6)
    return True


async def reject_once(run, conn, task):
    if task.opcode != READ_16 or not run.armed or task.cdb[:10] in run.memory:
        return False
    run.memory[task.cdb[:10]] = True
    run.touched = True
    await conn.reject(task.pdu, 4)
    await silence()
    return True


async def reject_pdu(run, conn, pdu):
    await conn.reject(pdu, 4)
    return True


async def reject_data(run, conn, task):
    await conn.reject(await task.data.get(), 9)


async def one_r2t(run, conn, task):
    await run.target.r2t(conn, task, 0, 4096)


async def whole_r2t(run, conn, task):
    await run.target.r2t(conn, task, 0, task.edtl)


async def reject_and_tell(run, conn, task):
    """As RFC 7143 11.17 wants it of a command that was a task already."""
    await conn.reject(task.pdu, 9)
    await run.target.respond(conn, task, Result.check(0xB, 0x47, 5))


async def reject_and_end(run, conn, task):
    """When it has all of the write's data."""
    await run.target.collect(conn, task)
    await conn.reject(task.pdu, 4)
    await run.target.respond(conn, task, Result())


REJECTS = [
    *(Scenario(f"reject: reason {reason}", WORKS, instead(reject(reason)),
               says="rejects our SCSI Command.*: aborting it")
      for reason in (2, 4, 5, 7, 9, 10, 255)),
    Scenario("reject: a write", WORKS, instead(reject(9), opcode=WRITE_16)),
    Scenario("reject: a write, after its R2T", WORKS,
             instead(one_r2t, reject(9), opcode=WRITE_16), path=SOLICITED),
    Scenario("reject: each read once, several at a time", WORKS, {"on_command": reject_once},
             io="many"),
    Scenario("reject: then CHECK CONDITION", WORKS, on_read(reject_and_tell)),
    Scenario("reject: then data and GOOD", reconnects("which it has rejected"),
             then_normal(reject(4))),
    Scenario("reject: a write, then GOOD", reconnects("GOOD for task .*, which it has rejected"),
             on_write(reject_and_end), io="small"),
    Scenario("reject: no abort either", reconnects("and does not abort it"),
             dict(**instead(reject(4)), on_tmf=reject_pdu)),
    Scenario("reject: waiting for logout", reconnects("rejects our SCSI Command"),
             instead(reject(12))),
    Scenario("reject: Data-Out", reconnects("rejects our SCSI Data-Out"),
             instead(one_r2t, reject_data, opcode=WRITE_16), path=SOLICITED),
    Scenario("reject: too many immediate", WORKS, then_normal(reject(6))),
    # open-iscsi answers anew as well, and takes the Reject of its own ping for an answer.
    Scenario("reject: the answer to a ping, too many immediate", WORKS,
             dict(**then_normal(ping(), answered), on_nop=crowded)),
    Scenario("reject: the answer to a ping", WORKS,
             dict(**then_normal(ping(), wait(1)), on_nop=answers_rejected),
             says="the target rejects our answer to its ping"),
    Scenario("reject: pings, too many immediate", WORKS,
             dict(**then_normal(wait(7)), on_nop=always_crowded), path=KEEPALIVE),
    Scenario("reject: without the header", reconnects("rejects a PDU"),
             instead(reject(4, header=False))),
]


async def async_then_close(run, conn, task):
    await conn.tell(2, conn.cid, 0, 0)
    conn.close()


ASYNC = [
    Scenario("async: 0, SCSI event", WORKS, then_normal(tell(0, data=bytes(
        [0, 18, 0x70, 0, 6, 0, 0, 0, 0, 10, 0, 0, 0, 0, 0x2A, 9, 0, 0, 0, 0])))),
    Scenario("async: 0, without sense", WORKS, then_normal(tell(0))),
    Scenario("async: 0, sense that does not fit", SURVIVES,
             then_normal(tell(0, data=b"\xff\xff\x70"))),
    Scenario("async: 1, logout wanted", reconnects("requests logout"),
             then_normal(tell(1, parameter3=3))),
    Scenario("async: 2, connection dropped", reconnects("drop the connection"),
             on_read(async_then_close)),
    Scenario("async: 2, and nothing happens", reconnects("drop the connection"),
             instead(tell(2, parameter2=0))),
    Scenario("async: 2, Time2Wait 1", reconnects("drop the connection"),
             instead(tell(2, parameter2=1))),
    Scenario("async: 3, all dropped", reconnects("drop all"), instead(tell(3))),
    Scenario("async: 4, negotiation wanted", reconnects("requests negotiation"),
             then_normal(tell(4, parameter3=3))),
    Scenario("async: 5, tasks terminated", WORKS, then_normal(tell(5))),
    Scenario("async: 255, vendor's", WORKS, then_normal(tell(255, data=bytes(600)))),
    Scenario("async: 99, unknown", WORKS, then_normal(tell(99))),
]


def stray(name, expect, opcode, **fields):
    return Scenario(f"stray: {name}", expect, then_normal(send(opcode, **fields)))


STRAYS = [
    # Of the place in the table that the command has, but of another generation.
    stray("SCSI Response", reconnects("not in flight"), p.SCSI_RESPONSE,
          itt=lambda task: task.itt ^ 0x00010000),
    stray("TASK ABORTED", WORKS, p.SCSI_RESPONSE, status=TASK_ABORTED,
          itt=lambda task: task.itt ^ 0x00010000),
    stray("Text Response", reconnects("nobody asked for"), p.TEXT_RESPONSE, itt=1,
          ttt=RESERVED_TAG),
    stray("Login Response", reconnects("nobody asked for"), p.LOGIN_RESPONSE, itt=0),
    stray("Logout Response", reconnects("nobody waits for"), p.LOGOUT_RESPONSE, itt=0x0001FFF2),
    stray("task management response", WORKS, p.TASK_MANAGEMENT_RESPONSE, itt=0x0001FFF1),
    stray("SCSI Command", reconnects("only initiators"), p.SCSI_COMMAND, itt=1),
    stray("unknown opcode", reconnects("unknown opcode"), 0x3E),
    # For whatever reason.
    Scenario("stray: noise", reconnects("."), instead(raw(bytes(range(256)) * 64))),
    Scenario("stray: a data segment of 16 MiB", reconnects("longer than agreed"), instead(
        raw(Pdu(p.NOP_IN, itt=RESERVED_TAG, ttt=RESERVED_TAG).encode()[:5] + b"\xff" * 3 +
            bytes(40)))),
    Scenario("stray: AHS of 1020 bytes", SURVIVES, then_normal(
        send(p.NOP_IN, itt=RESERVED_TAG, ttt=RESERVED_TAG, ahs=bytes(1020)))),
]


async def half_header(run, conn, task):
    await conn.put(Pdu(p.DATA_IN, itt=task.itt).encode()[:20])


async def half_data(run, conn, task):
    await conn.put(Pdu(p.DATA_IN, 0, itt=task.itt, ttt=RESERVED_TAG, data=bytes(8192)).encode()
                   [:4000])


async def close(run, conn, task):
    await drop(run, conn, task)


async def rst(run, conn, task):
    await reset(run, conn, task)


def phases(kind, end, expect, **more):
    """The connection ends, or falls silent, at each point of a command."""
    rows = {
        "at a read": instead(end),
        "at a write": instead(end, opcode=WRITE_16),
        "at a flush": instead(end, opcode=SYNCHRONIZE_CACHE_16),
        "in a header": instead(half_header, end),
        "in Data-In": instead(half_data, end),
        "after an R2T": instead(one_r2t, wait(0.1), end, opcode=WRITE_16),
    }
    for name, hooks in rows.items():
        yield Scenario(f"{kind}: {name}", expect, dict(**hooks, **more.get("hooks", {})),
                       path={**SOLICITED, **more.get("path", {})})


async def taken_then_lost(run, conn, task):
    """The write is done, but the connection ends before its answer."""
    await run.target.collect(conn, task)
    run.target.disk.execute(task.cdb, task.buffer)
    conn.reset()



async def answered_then_closed(run, conn, task):
    await run.target.execute(conn, task)
    conn.close()


DROPS = [
    *phases("closed", close, reconnects("lost")),
    *phases("reset", rst, reconnects("lost")),
    *phases("silent", go_silent, reconnects("silent for"), hooks={"on_nop": deaf},
            path=KEEPALIVE),
    Scenario("reset: a write that was done", reconnects("lost"), on_write(taken_then_lost)),
    Scenario("closed: just behind an answer", SURVIVES, on_read(answered_then_closed)),
    Scenario("reset: three times", reconnects("lost"), instead(rst), times=3),
]


# Commands that are not answered, on a connection that is alive

def tmf(name, expect, answers, hooks=(), **more):
    """The first read is held back; task management gets these answers, one after another."""

    async def manage(run, conn, pdu):
        left = run.memory.setdefault("answers", list(answers))
        step = left.pop(0) if left else "do"
        if step == "do":
            return False
        if step == "mute":
            return True
        if step != "late":
            await conn.send(Pdu(p.TASK_MANAGEMENT_RESPONSE, itt=pdu.itt, response=step))
            return True
        task = conn.session.tasks.get(pdu.referenced_itt)
        # None: it was the target that stood still, and the answer is on its way.
        if task:
            await run.target.execute(conn, task)
        await conn.send(Pdu(p.TASK_MANAGEMENT_RESPONSE, itt=pdu.itt, response=1))
        return True

    return Scenario(f"overdue: {name}", expect, dict(**instead(), on_tmf=manage, **dict(hooks)),
                    volume=OVERDUE, **more)


async def no_reset(run, conn, pdu):
    """Commands are aborted one by one; the LUN, which others use, is not reset."""
    if pdu.flags & 0x7F == checks.ABORT_TASK:
        return False
    await conn.send(Pdu(p.TASK_MANAGEMENT_RESPONSE, itt=pdu.itt, response=255))
    return True


async def slow_at_first(run, conn, pdu):
    """All commands have timed out when the first one has been aborted."""
    if not run.memory.get("slow"):
        run.memory["slow"] = True
        await asyncio.sleep(3)
    return await no_reset(run, conn, pdu)


async def reject_then_abort(run, conn, pdu):
    """SPDK: the data that it has not taken yet belong to no task now."""
    task = conn.session.tasks.get(pdu.referenced_itt)
    while task and task.opcode == WRITE_16 and not task.data.empty():
        await conn.reject(task.data.get_nowait(), 9)
    return False


def forget_then_reject(response):
    """As reject_then_abort(), after this answer. SPDK's is always "not supported"."""

    async def manage(run, conn, pdu):
        task = conn.session.tasks.get(pdu.referenced_itt)
        if not task or task.opcode != WRITE_16:
            return False
        await conn.send(Pdu(p.TASK_MANAGEMENT_RESPONSE, itt=pdu.itt, response=response))
        await reject_then_abort(run, conn, pdu)
        run.target.abort(conn.session, task)
        return True

    return manage


async def reject_then_good(run, conn, pdu):
    task = conn.session.tasks.get(pdu.referenced_itt)
    await reject_then_abort(run, conn, pdu)
    if task:
        await run.target.respond(conn, task, Result())
    return False


async def late_reject(run, conn, pdu):
    """The abort is rejected when the reset is asked for."""
    if "abort" not in run.memory:
        run.memory["abort"] = pdu
        return True
    if run.memory["abort"]:
        await conn.reject(run.memory["abort"], 4)
        run.memory["abort"] = None
    return False


OVERDUES = [
    Scenario("overdue: a write, and its data are rejected at the abort", WORKS,
             dict(**instead(one_r2t, opcode=WRITE_16), on_tmf=reject_then_abort), path=SOLICITED,
             volume=OVERDUE, says="the target rejects late data of task"),
    *(Scenario(f"overdue: a write, {words}, and its data are rejected", WORKS,
               dict(**instead(one_r2t, opcode=WRITE_16), on_tmf=forget_then_reject(response)),
               path=SOLICITED, volume=OVERDUE)
      for response, words in ((5, "its abort is not supported"), (1, "no such task"))),
    Scenario("overdue: a write, its data are rejected at the abort, then GOOD",
             reconnects("GOOD for task .*, which it has rejected"),
             dict(**instead(whole_r2t, opcode=WRITE_16), on_tmf=reject_then_good), path=SOLICITED,
             volume=OVERDUE),
    Scenario("overdue: the abort is rejected too late", WORKS,
             dict(**instead(), on_tmf=late_reject), volume=OVERDUE),
    tmf("aborted", WORKS, ["do"]),
    tmf("answered, then no such task", WORKS, ["late"]),
    # Another host has aborted it, and nobody answers it: it is sent again at once.
    tmf("no such task, and no answer", WORKS, [1, 255, 255]),
    tmf("no such task, and too many immediate", WORKS, [1, 255, 255], {"on_nop": crowded}),
    tmf("no such task, and always too many immediate", SURVIVES, [1, "do"],
        {"on_nop": always_crowded}),
    Scenario("overdue: twelve at a time", WORKS, dict(**instead(), on_tmf=no_reset), times=12,
             volume=OVERDUE, io="crowd"),
    # More than are handled together.
    Scenario("overdue: three hundred at a time", WORKS, dict(**instead(), on_tmf=slow_at_first),
             settings={"depth": 512}, times=300, volume={**OVERDUE, "queue_depth": 512},
             path={"ping_timeout_ms": 20000}, io="flood"),
    tmf("abort not supported, LUN reset", WORKS, [5, "do"]),
    tmf("abort rejected, LUN reset", WORKS, [255, "do"]),
    tmf("abort and reset rejected", reconnects("so do abort and LUN reset"), [255, 255]),
    tmf("abort and reset not supported", reconnects("so do abort and LUN reset"), [5, 5]),
    Scenario("overdue: a write after its R2T", WORKS, instead(one_r2t, opcode=WRITE_16),
             volume=OVERDUE, path=SOLICITED),
]


# The end

def logout(name, action):
    async def hook(run, conn, pdu):
        return await action(run, conn, pdu)

    return Scenario(f"logout: {name}", WORKS, {"on_logout": hook})


# The initiator may be gone before the answer to the logout is.

async def ignore_logout(run, conn, pdu):
    return True


async def read_patiently(reader):
    """What comes within ten steps of the loop, which may stand still for longer than any of them."""
    for pause_s in [0.1] * 10:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(pause_s):
                return await reader.read(4096)
    # What has come while the last step was late.
    async with asyncio.timeout(0):
        return await reader.read(4096)


async def pings_at_logout(run, conn, pdu):
    """Pings that have crossed the request are not answered; the initiator goes on to read."""
    run.touched = True
    for _ in range(40):
        await conn.ping(b"ping")
    await asyncio.sleep(0.3)
    await conn.send(Pdu(p.LOGOUT_RESPONSE, itt=pdu.itt, response=0))
    try:
        while await read_patiently(conn.reader):
            conn.checks.wrong("11.14", "a PDU follows the logout request", pdu)
    except TimeoutError:
        conn.checks.wrong("11.15", "the answer to the logout request is not read", pdu)
    except ConnectionError:
        pass
    return True


async def reset_at_logout(run, conn, pdu):
    conn.reset()
    return True


async def keep_open(run, conn, pdu):
    run.touched = True
    await conn.send(Pdu(p.LOGOUT_RESPONSE, itt=pdu.itt, response=0))
    return True


LOGOUTS = [
    logout("refused", refuse_logout),
    logout("no answer", ignore_logout),
    logout("reset", reset_at_logout),
    logout("answered, not closed", keep_open),
    logout("40 pings before the answer", pings_at_logout),
]


async def lose_twice(run, conn, task):
    """A read is lost, and then a command of the bring-up of the next session."""
    if not run.armed or run.hits > 1 or (task.opcode == READ_16) != (run.hits == 0):
        return False
    run.hits += 1
    conn.reset()
    await silence()
    return True


LATER = [
    Scenario("again: reset in the bring-up after a loss", reconnects("lost"), {
        "on_command": lose_twice}),
]
HONEST = [Scenario("honest: one"), Scenario("honest: many", io="many")]
SCENARIOS = [*HONEST, *WINDOWS, *NOPS, *REJECTS, *ASYNC, *STRAYS, *DROPS, *OVERDUES, *LOGOUTS,
             *LATER]
