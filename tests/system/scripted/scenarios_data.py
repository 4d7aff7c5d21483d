# SPDX-License-Identifier: GPL-2.0
"""The data phases: Data-In, R2T, early answers, digests, TCP segments, negotiated sizes."""

import asyncio
import contextlib
import dataclasses
import errno
import socket

from scripted import pdu as p
from scripted.pdu import RESERVED_TAG
from scripted.scenario import (
    WORKS,
    Scenario,
    io_error,
    not_served,
    reconnects,
)
from scripted.scsi import (
    BUSY,
    CHECK_CONDITION,
    CONDITION_MET,
    RESERVATION_CONFLICT,
    TASK_SET_FULL,
    WRITE_16,
    Result,
    fixed_sense,
)
from scripted.steps import (
    answered_read,
    data_in,
    early,
    field,
    instead,
    moved,
    on_write,
    r2t,
    result,
    send,
    spoil,
    take_data,
    then_normal,
)

#: Several Data-In for each read; all of a write is asked for.
SMALL = {"max_recv_data_segment_length": 8192}
SOLICITED = {"immediate_data": "No", "initial_r2t": "Yes"}
DIGESTS = {"header_digest": "CRC32C", "data_digest": "CRC32C"}


def read(name, expect, change, hooks=data_in, **more):
    """change(pdus) is what happens to the Data-In of a read."""
    return Scenario(f"data-in: {name}", expect, hooks(change), **{"path": SMALL, **more})


def nth(position, **changes):
    def change(pdus):
        field(**changes)(pdus[position])

    return change


def nth_moved(position, **changes):
    def change(pdus):
        moved(**changes)(pdus[position])

    return change


def renumbered(pdus):
    for sn, pdu in enumerate(pdus):
        pdu.data_sn = sn
    return pdus


def swapped(pdus):
    return renumbered([pdus[0], pdus[2], pdus[1], *pdus[3:]])


def beyond(pdus):
    """512 bytes more than there are, in a Data-In of their own."""
    last = pdus[-1]
    last.flags = 0x80
    return [*pdus, p.Pdu(p.DATA_IN, 0x81, itt=last.itt, ttt=RESERVED_TAG, data_sn=len(pdus),
                         offset=last.offset + len(last.data), data=bytes(512))]


def longer(pdus):
    """The first PDU has the first 512 bytes of the second one, too: nothing else is wrong."""
    first, second = pdus[:2]
    first.data, second.data = first.data + second.data[:512], second.data[512:]
    second.offset += 512


def bounded(pdus):
    """An end of 2^32 and more."""
    pdus[1].offset = 0xFFFFFF00


def with_empty(pdus):
    """An empty Data-In in the middle: legal."""
    empty = p.Pdu(p.DATA_IN, 0, itt=pdus[0].itt, ttt=RESERVED_TAG, offset=pdus[1].offset)
    return renumbered([pdus[0], empty, *pdus[1:]])


def empty_status(counted):
    """The status in an empty Data-In without an offset, and with or without a DataSN of its own."""

    def change(pdus):
        sn = len(pdus) - (not counted)
        pdus[-1].flags = 0x80
        pdus[-1].status = 0
        return [*pdus, p.Pdu(p.DATA_IN, 0x81, itt=pdus[0].itt, ttt=RESERVED_TAG, data_sn=sn)]

    return change


def uncounted_empty(pdus):
    """An empty Data-In at no offset that does not count."""
    empty = p.Pdu(p.DATA_IN, 0, itt=pdus[0].itt, ttt=RESERVED_TAG)
    return [*pdus[:2], empty, *pdus[2:]]


def apart(pdus):
    """The status in a response of its own: legal."""
    pdus[-1].flags = 0x80
    pdus[-1].status = 0
    return [*pdus, p.Pdu(p.SCSI_RESPONSE, itt=pdus[0].itt, exp_data_sn=len(pdus))]


def after_status(pdus):
    return [*pdus, p.Pdu(p.DATA_IN, 0, itt=pdus[0].itt, ttt=RESERVED_TAG, data=bytes(512))]


def twice(pdus):
    return [*pdus, p.Pdu(p.SCSI_RESPONSE, itt=pdus[0].itt)]


def residual(flag, count):
    def change(pdus):
        pdus[-1].flags |= flag
        pdus[-1].residual = count

    return change


def short(pdus):
    """Less data, and the target says so, with GOOD."""
    pdus.pop()
    residual(3, 8192)(pdus)
    pdus[-1].flags |= 0x80


async def no_residual(run, conn, pdu):
    """GOOD for fewer data than allowed, and not a word about it."""
    if pdu.opcode in (p.DATA_IN, p.SCSI_RESPONSE) and pdu.flags & 6:
        run.touched = True
        pdu.flags, pdu.residual = pdu.flags & ~6, 0


async def wrong_residual(run, conn, pdu):
    """The answer was cut, as if more had been allowed for."""
    if pdu.opcode in (p.DATA_IN, p.SCSI_RESPONSE) and pdu.flags & 2:
        run.touched = True
        pdu.flags, pdu.residual = pdu.flags & ~6 | 4, 100


DATA_IN = [
    Scenario("data-in: short answers to INQUIRY and its like, no residual", WORKS,
             {"before_send": no_residual}, armed=True),
    Scenario("data-in: short answers to INQUIRY and its like, a wrong residual", WORKS,
             {"before_send": wrong_residual}, armed=True),
    read("a hole", reconnects("leaves a hole"), lambda pdus: renumbered([pdus[0], *pdus[2:]])),
    read("a hole at the start", reconnects("leaves a hole"), lambda pdus: renumbered(pdus[1:])),
    read("an overlap", reconnects("overlaps"), nth_moved(1, offset=-512)),
    read("one of them twice", reconnects("overlaps"),
         lambda pdus: renumbered([pdus[0], p.Pdu(
             p.DATA_IN, 0, itt=pdus[0].itt, ttt=RESERVED_TAG, data=pdus[0].data), *pdus[1:]])),
    read("out of order", reconnects("leaves a hole"), swapped),
    read("beyond the end", reconnects("beyond the end"), beyond),
    read("an offset that wraps", reconnects("leaves a hole"), bounded),
    read("a DataSN left out", reconnects("DataSN that is not the next"), nth_moved(1, data_sn=1)),
    read("the end missing, GOOD", reconnects("data missing"),
         lambda pdus: [*pdus[:2], p.Pdu(p.SCSI_RESPONSE, itt=pdus[0].itt)]),
    read("no data, GOOD", reconnects("data missing"),
         lambda pdus: [p.Pdu(p.SCSI_RESPONSE, itt=pdus[0].itt)]),
    read("the end missing, underflow, GOOD", io_error(errno.EIO), short, answered_read,
         times=1000, io="read", volume={"recovery_timeout_ms": 1000},
         allow=("error, dev istripe", "no path serves it", "given up")),
    read("the end missing, underflow, GOOD, seven times", WORKS, short, times=7,
         allow=("GOOD, but the target says",)),
    read("all data, underflow", reconnects("residual contradicts"), residual(2, 512)),
    read("a residual of 4 GiB", io_error(errno.EIO), residual(2, 0xFFFFFFFF), answered_read,
         times=1000, io="read", volume={"recovery_timeout_ms": 1000},
         allow=("error, dev istripe", "no path serves it", "given up")),
    read("all data, overflow", io_error(errno.EIO), residual(4, 512), answered_read, times=1000,
         io="read", allow=("error, dev istripe",)),
    read("overflow and underflow", reconnects("overflow and underflow"), residual(6, 512)),
    read("a status without F", reconnects("status that is not final"), nth(-1, flags=0x01)),
    read("an empty one", WORKS, with_empty, answered_read),
    read("an empty one that does not count", WORKS, uncounted_empty, answered_read),
    read("the status in an empty one", WORKS, empty_status(True), answered_read),
    read("the status in an empty one that does not count", WORKS, empty_status(False),
         answered_read),
    read("the status apart", WORKS, apart, answered_read),
    read("one after the status", reconnects("not in flight"), after_status, answered_read),
    read("a second answer", reconnects("not in flight"), twice, answered_read),
    read("a foreign ITT", reconnects("not in flight"), nth_moved(0, itt=1)),
    read("an ITT of another generation", reconnects("not in flight"), nth_moved(0, itt=1 << 16)),
    read("an ITT of no slot", reconnects("not in flight"), nth(0, itt=0x0001FFFE)),
    read("the reserved ITT", reconnects("Initiator Task Tag"), nth(0, itt=RESERVED_TAG)),
    Scenario("data-in: for a write", reconnects("reads nothing"), instead(
        send(p.DATA_IN, flags=0, itt=lambda task: task.itt, ttt=RESERVED_TAG, data=bytes(512)),
        opcode=WRITE_16)),
    read("ExpDataSN wrong", WORKS,
         lambda pdus: apart(pdus)[:-1] + [p.Pdu(p.SCSI_RESPONSE, itt=pdus[0].itt, exp_data_sn=99)],
         answered_read),
    read("more than MaxRecvDataSegmentLength", reconnects("longer than agreed"), longer),
]


def write(name, expect, *steps, **more):
    return Scenario(f"r2t: {name}", expect, instead(*steps, opcode=WRITE_16),
                    **{"path": SOLICITED, **more})


async def in_pieces(run, conn, task):
    """R2Ts of 512 bytes up to 8 KiB, then the rest: legal."""
    for offset in range(0, 8192, 512):
        await run.target.r2t(conn, task, offset, 512)
        await take_data(run, conn, task)
    rest = task.edtl - 8192
    await run.target.r2t(conn, task, 8192, min(rest, 262144))
    while task.received < min(task.edtl, 8192 + 262144):
        await take_data(run, conn, task)
    await finish(run, conn, task)


async def all_at_once(run, conn, task):
    """One R2T for the whole write: more than MaxBurstLength, which open-iscsi only logs."""
    await run.target.r2t(conn, task, 0, task.edtl)
    while task.received < task.edtl:
        await take_data(run, conn, task)
    await finish(run, conn, task)


async def finish(run, conn, task):
    await run.target.respond(conn, task, run.target.disk.execute(task.cdb, task.buffer))


async def half_then_good(run, conn, task):
    await run.target.r2t(conn, task, 0, 4096)
    await take_data(run, conn, task)
    await early()(run, conn, task)


async def half_then_busy(run, conn, task):
    await run.target.r2t(conn, task, 0, 4096)
    await take_data(run, conn, task)
    await early(8)(run, conn, task)


@contextlib.contextmanager
def one_segment(conn):
    sock = conn.writer.get_extra_info("socket")
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
    yield
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 0)


async def busy_then_r2t(run, conn, task):
    """One thread of the target refuses the write, another one has an R2T on its way."""
    with one_segment(conn):
        await run.target.r2t(conn, task, 0, 8192)
        await early(8)(run, conn, task)
        await r2t(8192, 4096, r2t_sn=1)(run, conn, task)


def not_taken(status):
    """The answer comes with the R2T, in one segment: nothing has been sent by then, and most of it
    never is.
    """

    async def step(run, conn, task):
        conn.writer.transport.pause_reading()
        with one_segment(conn):
            await run.target.r2t(conn, task, 0, task.edtl)
            await early(status)(run, conn, task)
        await asyncio.sleep(0.3)
        conn.reset()

    return step


async def nothing(run, conn, task):
    pass


async def some_of_r2t(run, conn, task):
    await run.target.r2t(conn, task, 0, task.edtl)
    await take_data(run, conn, task)


#: When a write is answered: what has been done by then, and the path's settings.
BEFORE, WITHIN_R2T, WITHIN_UNSOLICITED = (
    "before the R2T", "among the data of an R2T", "within unsolicited data")
MOMENTS = {
    BEFORE: (nothing, SOLICITED),
    WITHIN_R2T: (some_of_r2t, SOLICITED),
    WITHIN_UNSOLICITED: (take_data, {"immediate_data": "No", "initial_r2t": "No"}),
}


def owed(conn):
    """Commands that were answered before the end of the data that were asked for."""
    return [task for task in conn.checks.session.finished.values()
            if task.unsolicited or task.r2ts]


def answered_early(name, moment, expect, status, sense=b"", **more):
    """Writes are answered while their data are to be sent or on the way; these come to their end.

    By the time of the next command the initiator has sent them. open-iscsi sends them, too:
    iscsi_xmit_task() has a reference to the task until all is sent.
    """
    begin, path = MOMENTS[moment]

    async def hook(run, conn, task):
        if owed(conn):
            conn.checks.wrong("11.7.1", "the data of an answered command have no end", task.pdu)
        if task.opcode != WRITE_16 or not run.strike():
            return False
        await begin(run, conn, task)
        conn.session.tasks.pop(task.itt, None)
        await run.target.scsi_response(conn, task, Result(status, sense=sense),
                                       (2, task.edtl - task.received))
        return True

    return Scenario(f"early: {name} {moment}", expect, {"on_command": hook}, path=path,
                    settings={"MaxRecvDataSegmentLength": 512}, **more)


def rejected_late(name, moment, *args, reason=9, **more):
    """SPDK has forgotten the write that it has answered, and rejects the data that come."""

    async def reject_late(run, conn, pdu):
        await conn.reject(pdu, reason)
        return True

    row = answered_early(f"{name}, the data are rejected,", moment, *args, **more)
    return dataclasses.replace(row, hooks={**row.hooks, "on_late_data": reject_late})


#: A write that is refused for good.
REFUSED = {"times": 1000, "io": "long", "allow": ("error, dev istripe",)}

R2TS = [
    Scenario("r2t: ExpDataSN wrong", WORKS, result(opcode=WRITE_16, exp_data_sn=7), path=SOLICITED),
    write("beyond the end", reconnects("beyond the end"), r2t(0, 262144)),
    write("of an offset that wraps", reconnects("beyond the end"), r2t(0xFFFFFFFC, 8)),
    write("of no bytes", reconnects("R2T for no data"), r2t(0, 0)),
    write("of 4 GiB", reconnects("beyond the end"), r2t(0, 0xFFFFFFFF)),
    Scenario("r2t: of more than MaxBurstLength", WORKS, on_write(all_at_once),
             settings={"MaxBurstLength": 65536}, path=SOLICITED, io="long"),
    write("R2TSN 1 first", reconnects("R2TSN"), r2t(r2t_sn=1)),
    write("without a tag", reconnects("Target Transfer Tag"), r2t(ttt=RESERVED_TAG)),
    write("a hole", reconnects("hole"), r2t(4096, 4096)),
    write("twice for the same", reconnects("another R2T asked for"), r2t(0, 4096), r2t(0, 4096)),
    write("an overlap", reconnects("another R2T asked for"), r2t(0, 8192), r2t(4096, 8192)),
    write("a foreign ITT", reconnects("not in flight"), r2t(itt=0x12340000)),
    write("with data", reconnects("data where there can be none"), send(
        p.R2T, itt=lambda task: task.itt, ttt=1, desired=512, data=bytes(4))),
    Scenario("r2t: for a read", reconnects("writes nothing"), instead(r2t())),
    Scenario("r2t: in pieces", WORKS, on_write(in_pieces), path=SOLICITED),
    Scenario("early: GOOD before any data", reconnects("not asked for in full|before all its data"),
             instead(early(), opcode=WRITE_16), path=SOLICITED),
    Scenario("early: CONDITION MET, and the data are not taken",
             reconnects("before all its data were sent|TCP still holds its data"),
             on_write(not_taken(CONDITION_MET)), path={**SOLICITED, "send_buffer_bytes": 16384}),
    Scenario("early: GOOD after a part", reconnects("not asked for in full|before all its data"),
             on_write(half_then_good), path=SOLICITED),
    Scenario("early: R2T after GOOD", reconnects("not asked for in full|before all its data"),
             instead(r2t(0, 4096), early(), r2t(4096, 4096), opcode=WRITE_16), path=SOLICITED),
    Scenario("early: R2T after BUSY", WORKS, on_write(busy_then_r2t), path=SOLICITED),
    Scenario("early: ABORTED COMMAND before any data", WORKS,
             on_write(early(2, bytes([0x70, 0, 11, 0, 0, 0, 0, 10]) + bytes(10))),
             path=SOLICITED),
    Scenario("early: BUSY between R2Ts", WORKS, on_write(half_then_busy), path=SOLICITED),
    *(row for moment in MOMENTS for row in (
        answered_early("BUSY", moment, WORKS, BUSY),
        answered_early("TASK SET FULL", moment, WORKS, TASK_SET_FULL),
        answered_early("RESERVATION CONFLICT", moment, io_error(errno.EBADE),
                       RESERVATION_CONFLICT, **REFUSED),
        answered_early("no space", moment, io_error(errno.ENOSPC), CHECK_CONDITION,
                       fixed_sense(7, 0x27, 7), **REFUSED))),
    rejected_late("BUSY", WITHIN_R2T, WORKS, BUSY, says="the target rejects late data of task"),
    rejected_late("BUSY, it waits for a logout", WITHIN_R2T, reconnects("waiting for logout"), BUSY,
                  reason=12),
    rejected_late("no space", WITHIN_R2T, io_error(errno.ENOSPC), CHECK_CONDITION,
                  fixed_sense(7, 0x27, 7), **REFUSED),
    # A loss, and the write fails as a lost one does.
    Scenario("early: BUSY, always, and the data are not taken", not_served(errno.ENOLINK),
             on_write(not_taken(BUSY)), path={**SOLICITED, "send_buffer_bytes": 16384},
             volume={"recovery_timeout_ms": 8000}, **REFUSED),
]


def keys(name, path=None, **settings):
    """An honest target with these keys."""
    return Scenario(f"keys: {name}", WORKS, settings=settings, path=path or {})


KEYS = [
    keys("the least of everything", MaxBurstLength=512, FirstBurstLength=512,
         MaxRecvDataSegmentLength=512, MaxOutstandingR2T=1),
    keys("all data asked for", InitialR2T=True, ImmediateData=False),
    keys("immediate data only", InitialR2T=True),
    keys("unsolicited, nothing immediate", ImmediateData=False),
    keys("FirstBurstLength above the segment", MaxRecvDataSegmentLength=8192,
         FirstBurstLength=65536),
    keys("odd sizes", MaxBurstLength=66001, FirstBurstLength=5003, MaxRecvDataSegmentLength=1537),
    keys("odd sizes with digests", DIGESTS, MaxBurstLength=66001, FirstBurstLength=5003,
         MaxRecvDataSegmentLength=1537),
    keys("one R2T at a time", MaxOutstandingR2T=1, MaxBurstLength=4096, FirstBurstLength=4096),
    keys("a small segment of ours", {"max_recv_data_segment_length": 513}),
    keys("digests", DIGESTS),
]


def digest(name, opcode, which, expect="digest", **more):
    return Scenario(f"digest: {name}", reconnects(expect), spoil(opcode, field(spoil=which)),
                    path={**DIGESTS, **more})


DIGEST = [
    digest("of a Data-In header", p.DATA_IN, "header"),
    digest("of Data-In data", p.DATA_IN, "data"),
    digest("of an R2T", p.R2T, "header", **SOLICITED),
    digest("of a SCSI Response", p.SCSI_RESPONSE, "header"),
    Scenario("digest: of ping data", reconnects("digest"), {
        **then_normal(send(p.NOP_IN, itt=RESERVED_TAG, ttt=1, data=b"ping", spoil="data"))},
        path=DIGESTS),
]

SEGMENTS = [
    Scenario("segments: of 5 bytes", WORKS, segment_bytes=5, io="small"),
    Scenario("segments: of 7 bytes", WORKS, segment_bytes=7, io="small"),
    Scenario("segments: of 47 bytes", WORKS, segment_bytes=47, io="small"),
    Scenario("segments: of 49 bytes, digests", WORKS, segment_bytes=49, io="small", path=DIGESTS),
    Scenario("segments: of 1461 bytes", WORKS, segment_bytes=1461),
]

SCENARIOS = [*DATA_IN, *R2TS, *KEYS, *DIGEST, *SEGMENTS]
