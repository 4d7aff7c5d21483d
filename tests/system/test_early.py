# SPDX-License-Identifier: GPL-2.0
"""A write is answered while its data are still on their way: the session and the data stay right.

RFC 7143 11.4.2 has the target wait for the data. Some do not.
"""

import asyncio
import collections
import concurrent.futures
import errno
import mmap
import os
import socket

import pytest

from lab import network
from lab.disk import Direct, noise, same
from lab.istripe import INITIATOR
from lab.reservation import CONFLICT, OTHER_KEY, WRITE_EXCLUSIVE, Reservations
from lab.shell import on_failure, read, wait_for
from scripted import pdu as p
from scripted.scenario import Scenario
from scripted.scsi import RESERVATION_CONFLICT, WRITE_16, Result
from scripted.steps import take_data
from scripted.target import Task

KIB, MIB = 1 << 10, 1 << 20
AT, ELSEWHERE, LAST = MIB, 8 * MIB, 12 * MIB
DATA, OTHER = noise(MIB, 1), noise(MIB, 4)
#: The initiator makes no longer data segments.
IMMEDIATE_BYTES = 256 * KIB
#: Of more data than that only the first ones would be immediate.
BYTES = {"immediate": IMMEDIATE_BYTES, "unsolicited": MIB, "solicited": MIB}
#: Less than a write: most of it stays with the initiator's TCP while the target does not read.
RECEIVE_BYTES = 32 * KIB
PAUSE_S, STEP_BYTES, STEP_S = 1, 256 * KIB, 0.1

Answer = collections.namedtuple("Answer", "result errno")
ANSWERS = {
    "protected": Answer(Result.check(7, 0x27, 0), errno.EREMOTEIO),
    "reserved": Answer(Result(RESERVATION_CONFLICT), errno.EBADE),
    "no_space": Answer(Result.check(7, 0x27, 7), errno.ENOSPC),
}
WAYS = {
    "immediate": {"immediate_data": "Yes", "initial_r2t": "Yes"},
    "unsolicited": {"immediate_data": "No", "initial_r2t": "No"},
    "solicited": {"immediate_data": "No", "initial_r2t": "Yes"},
}
LENGTHS = {"max_burst_length": MIB, "first_burst_length": MIB}
DIGESTS = {"header_digest": "CRC32C", "data_digest": "CRC32C"}
REFUSED = pytest.mark.allow_log("error, dev istripe|reservation conflict", "writes that are refused")


def is_struck(run, cdb):
    lba = int.from_bytes(cdb[2:10], "big")
    return run.armed and cdb[0] == WRITE_16 and AT <= lba * 512 < AT + len(DATA)


async def respond(run, conn, task, answer):
    """From here on the target reads nothing more for a while."""
    run.hits += 1
    conn.writer.transport.pause_reading()
    await run.target.scsi_response(conn, task, answer.result, (2, task.edtl - task.received))


async def pause(conn, seconds):
    conn.writer.transport.pause_reading()
    await asyncio.sleep(seconds)
    conn.writer.transport.resume_reading()


def note(run, task):
    at = int.from_bytes(task.cdb[2:10], "big") * 512 - AT
    run.memory[at] = bytes(task.buffer[:task.received])


async def take_slowly(run, conn, task):
    await pause(conn, PAUSE_S)
    while task.received < task.edtl:
        await take_data(run, conn, task)
        if not task.received % STEP_BYTES:
            await pause(conn, STEP_S)
    note(run, task)


def hooks(way, answer):
    answered = set()

    async def header(run, conn, pdu):
        """Immediate data: answered in the middle of the PDU."""
        if pdu.opcode == p.SCSI_COMMAND and pdu.data_bytes and not run.armed:
            run.memory["immediate"] = max(pdu.data_bytes, run.memory.get("immediate", 0))
        if pdu.opcode == p.SCSI_COMMAND and pdu.data_bytes and is_struck(run, pdu.cdb):
            answered.add(pdu.itt)
            await respond(run, conn, Task(conn, pdu), answer)
            await pause(conn, PAUSE_S)

    async def command(run, conn, task):
        if task.itt in answered:
            answered.discard(task.itt)
            conn.checks.session.tasks.pop(task.itt)
            note(run, task)
            return True
        if not is_struck(run, task.cdb):
            return False
        if way == "solicited":
            await run.target.r2t(conn, task, 0, task.edtl)
        await respond(run, conn, task, answer)
        await take_slowly(run, conn, task)
        return True

    return {"on_header": header, "on_command": command}


def refused_write(disk, target, size):
    """Whoever wrote has other use for the memory when the write has failed. Returns the errno."""
    with mmap.mmap(-1, size) as memory:
        memory[:] = DATA[:size]
        with pytest.raises(OSError) as failed:
            os.pwrite(disk.fd, memory, AT)
        memory[:] = OTHER[:size]
        wait_for("the target to take the data", lambda: len(target.run.memory) == target.run.hits,
                 60)
    return failed.value.errno


def warm_up(disk, target, writes):
    """A new connection begins slowly, with little immediate data."""
    for _ in range(writes):
        disk.write(ELSEWHERE, OTHER[:IMMEDIATE_BYTES])
        if target.run.memory.pop("immediate", 0) == IMMEDIATE_BYTES:
            break


def end_sessions(server):
    """A write without an end would hold up the whole machine. What is sent again is served."""
    async def end():
        server.target.run.armed = False
        for conn in server.connections():
            conn.reset()

    server.call(end())


def bounded_write(server, disk, data):
    """Returns its error."""
    with (concurrent.futures.ThreadPoolExecutor() as pool,
          on_failure(lambda: end_sessions(server))):
        return pool.submit(disk.write, AT, data).exception(60)


def write_and_look(disk, at, data):
    disk.write(at, data)
    same(disk.read(at, len(data)), data, "what was read")


def answered_early(server, target, disk, size, answer):
    """A write that is refused early, beside another one. Returns how much the target has taken."""
    run = target.run
    run.hits = 0
    run.memory.clear()
    server.arm()
    with (concurrent.futures.ThreadPoolExecutor() as pool,
          on_failure(lambda: end_sessions(server))):
        other = pool.submit(write_and_look, disk, ELSEWHERE, noise(64 * KIB, 2))
        assert refused_write(disk, target, size) == answer.errno
        other.result(60)
    taken = dict(run.memory)
    run.armed = False
    assert run.hits > 0
    for offset, data in taken.items():
        same(data, DATA[offset:offset + len(data)], "what the target has taken")
    return sum(map(len, taken.values()))


@REFUSED
@pytest.mark.timeout_s(600)
@pytest.mark.parametrize("digests", ["plain", "digests"])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", ANSWERS)
def test_answered_early(name, way, digests, server, make_scripted, reader):
    answer = ANSWERS[name]
    scenario = Scenario("answers early", hooks=hooks(way, answer), settings={
        "MaxRecvDataSegmentLength": MIB if way == "immediate" else 64 * KIB,
        "MaxBurstLength": MIB, "FirstBurstLength": MIB})
    server.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BYTES)
    volume, target = make_scripted(
        scenario, path={**WAYS[way], **LENGTHS, **(DIGESTS if digests == "digests" else {})})
    device = volume.enable()
    reads = reader(device)
    reads.goes_on()
    with Direct(device) as disk:
        # When the machine stands still, the connection counts as slow again for a while.
        for _ in range(5):
            if way == "immediate":
                # Digests are slow in Python, and so is the connection: less will do there.
                warm_up(disk, target, 40 if digests == "plain" else 8)
            taken = answered_early(server, target, disk, BYTES[way], answer)
            volume.rescan()
            wait_for("a disk to write to", lambda: read(f"/sys/block/{device.name}/ro") == "0")
            if digests == "digests" or taken >= IMMEDIATE_BYTES:
                break
        assert digests == "digests" or taken >= IMMEDIATE_BYTES
        write_and_look(disk, AT, noise(MIB, 3))
    reads.goes_on()
    assert reads.errors == []
    assert volume.reconnects() == 0 and read(volume.path_sysfs() / "last_error") == ""


@REFUSED
def test_pages_in_a_queue_are_not_given_back(server, make_scripted, link):
    """The data have left TCP and wait for the link when the answer comes."""
    scenario = Scenario("answers early", hooks=hooks("solicited", ANSWERS["reserved"]))
    volume, target = make_scripted(scenario, path={**WAYS["solicited"], **LENGTHS})
    with Direct(volume.enable()) as disk:
        server.arm()
        with network.delayed(link, PAUSE_S):
            assert refused_write(disk, target, 64 * KIB) == errno.EBADE
        same(target.run.memory[0], DATA[:64 * KIB], "what the target has taken")
    assert volume.reconnects() == 0


@REFUSED
@pytest.mark.parametrize("size", [MIB, 64 * KIB], ids=["more", "all-with-tcp"])
def test_the_data_are_never_taken(server, make_scripted, size):
    """The target goes on talking: only the time of the command bounds it. Its answer counts. TCP has
    taken all of the data, or the driver has more of them.
    """

    async def command(run, conn, task):
        if not is_struck(run, task.cdb):
            return False
        await run.target.r2t(conn, task, 0, task.edtl)
        await respond(run, conn, task, ANSWERS["reserved"])
        while True:
            await conn.tell_window()
            await asyncio.sleep(STEP_S)

    scenario = Scenario("takes nothing", hooks={"on_command": command},
                        settings={"MaxBurstLength": MIB})
    server.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BYTES)
    volume, target = make_scripted(scenario, path={**WAYS["solicited"], **LENGTHS},
                                   command_timeout_ms=8000)
    with Direct(volume.enable()) as disk:
        server.arm()
        assert bounded_write(server, disk, DATA[:size]).errno == errno.EBADE
        target.run.armed = False
        write_and_look(disk, AT, DATA)
    assert target.run.hits == 1 and volume.reconnects() == 1
    assert read(volume.path_sysfs() / "last_error").startswith(
        "the target has answered a command, but does not take its data")


def held_until_they_come_again(held, last):
    """Writes below @held bytes from AT are answered in the middle of the write to @last."""
    tasks = []

    async def command(run, conn, task):
        at = int.from_bytes(task.cdb[2:10], "big") * 512
        if task.cdb[0] != WRITE_16 or at != last and not AT <= at < AT + held:
            return False
        await run.target.r2t(conn, task, 0, task.edtl)
        if at == last:
            await pause_and_answer(run, conn, tasks)
        while task.received < task.edtl:
            await take_data(run, conn, task)
        if at == last:
            await run.target.execute(conn, task)
        else:
            tasks.append(task)
            run.hits += 1
        return True

    return {"on_command": command}


async def pause_and_answer(run, conn, tasks):
    conn.writer.transport.pause_reading()
    await asyncio.sleep(PAUSE_S)
    while tasks:
        await run.target.execute(conn, tasks.pop())
    await pause(conn, PAUSE_S)


@pytest.mark.timeout_s(1800)
def test_sequence_numbers_come_again(server, make_scripted):
    """Writes wait for their answer while others move 4 GiB: those in TCP's queue have their numbers.

    The writes that wait end at one in 64 KiB each, so that one of these is in the queue.
    """
    step = 64 * KIB
    scenario = Scenario("answers late", hooks=held_until_they_come_again(MIB, LAST), settings={
        "MaxRecvDataSegmentLength": MIB, "MaxBurstLength": MIB})
    server.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 * RECEIVE_BYTES)
    volume, target = make_scripted(scenario, path={**WAYS["solicited"], **LENGTHS},
                                   command_timeout_ms=600000)
    device = volume.enable()
    sent = volume.path_sysfs() / "connections" / "0" / "bytes_sent"
    with Direct(device) as disk, \
            concurrent.futures.ThreadPoolExecutor(MIB // step) as writers:
        pending = []
        for at in range(0, MIB, step):
            pending.append(writers.submit(disk.write, AT + at, DATA[at:at + step]))
            wait_for("the write that is held", lambda: target.run.hits == len(pending))
            if not at:
                again = int(read(sent)) + (4 << 30)
        while (left := again - int(read(sent))) > 0:
            disk.write(ELSEWHERE, OTHER if left > 2 * MIB else OTHER[:step // 2])
        disk.write(LAST, OTHER)
        for write in pending:
            write.result(60)
        same(disk.read(AT, MIB), DATA, "the writes that were answered late")
    assert volume.reconnects() == 0 and read(volume.path_sysfs() / "last_error") == ""


@REFUSED
def test_lio_answers_early(make_lio, make_volume, stock, link, reader, keep_on_disk):
    """LIO answers when it has the immediate data, and dumps the unsolicited data that follow."""
    target = make_lio(64 * MIB, params={"InitialR2T": "No", "ImmediateData": "Yes",
                                        "FirstBurstLength": 262144, "MaxBurstLength": 262144},
                      patient_with=INITIATOR)
    volume = make_volume(target, path={"initial_r2t": "No", "immediate_data": "Yes",
                                       "first_burst_length": 262144})
    device = volume.enable()
    reads = reader(device)
    with Reservations(stock.login(link.portal(), target.iqn, target.lun_number(0))) as theirs, \
            Direct(device) as disk:
        assert theirs.register(0, OTHER_KEY) == 0
        assert theirs.reserve(OTHER_KEY, WRITE_EXCLUSIVE) == 0
        for _ in range(20):
            with pytest.raises(OSError) as failed:
                disk.write(AT, DATA)
            assert failed.value.errno == errno.EBADE
        assert theirs.clear(OTHER_KEY) in (0, CONFLICT)
        write_and_look(disk, AT, DATA)
    reads.goes_on()
    assert reads.errors == []
    assert volume.reconnects() == 0 and read(volume.path_sysfs() / "last_error") == ""
