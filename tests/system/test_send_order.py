# SPDX-License-Identifier: GPL-2.0
"""The order of what waits to be sent: a small command does not wait for the data of a large write.

The target asks for all data of a write of 1 MiB and takes nothing more, so that most of them wait
in the initiator. Meanwhile small reads are submitted. Then the target goes on, and notes in which
order PDUs come.
"""

import asyncio
import itertools
import os
import socket
import threading
import time
from types import SimpleNamespace

import pytest

from lab.disk import Direct, noise, same
from lab.shell import read, wait_for
from scripted import pdu as p
from scripted.scenario import Scenario
from scripted.scsi import READ_16, WRITE_16

KIB, MIB = 1 << 10, 1 << 20
#: TCP takes little more than this on each side while the target takes nothing.
BUFFER_BYTES = 64 * KIB
#: Until all that is sent without the target has been sent.
SETTLED_S = 1.5
#: The target's pause is no silence.
PATIENT = {"ping_timeout_ms": 60000}
#: So many go ahead of one PDU of the write, and some are on their way already.
AHEAD = 64 // 4
SLACK = 4
LARGE, SMALL = 4, 8
#: Large ones leave a connection alone for so long after a small one.
BESIDE_S = 1


async def take_little(run, conn, _):
    conn.writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF,
                                                    BUFFER_BYTES)


async def pause(run, conn, task):
    """A write's first data have come: the target reads nothing more, but asks for the rest."""
    if task.opcode == WRITE_16 and run.strike():
        conn.writer.transport.pause_reading()
        run.memory["paused"] = conn
    return False


async def note(run, conn, pdu):
    if run.memory.get("paused"):
        run.memory.setdefault("order", []).append(pdu)


async def resume(run):
    run.memory["paused"].writer.transport.resume_reading()


@pytest.fixture
def segment_bytes():
    """Of a PDU of the write."""
    return 64 * KIB


@pytest.fixture
def paused(server, link, make_volume, segment_bytes):
    """A disk, the target's run, and a write of 1 MiB that waits for the target."""
    hooks = {"on_connect": take_little, "on_command": pause, "on_header": note}
    target = server.load(Scenario("pauses", hooks=hooks, settings={
        "depth": 128, "MaxRecvDataSegmentLength": segment_bytes, "MaxBurstLength": MIB}))
    volume = make_volume(target, path={
        "portal": f"{link.address}:{server.port}", "send_buffer_bytes": BUFFER_BYTES, **PATIENT})
    with Direct(volume.enable()) as disk:
        # A new connection is taken for slow.
        disk.write(0, noise(MIB, 1))
        server.arm()
        data = noise(MIB, 2)
        writer = threading.Thread(target=disk.write, args=(0, data), daemon=True)
        writer.start()
        wait_for("the target to pause", lambda: "paused" in target.run.memory)
        time.sleep(SETTLED_S)
        yield SimpleNamespace(disk=disk, run=target.run, server=server, volume=volume)
        writer.join(40)
        assert not writer.is_alive()
        same(target.disk.data[:MIB], data, "what the target has")
    volume.disable()


def order_of(paused, reads):
    """The order in which PDUs come when so many reads of 4 KiB are submitted: "read" or "data"."""
    threads = [threading.Thread(target=paused.disk.read, args=(2 * MIB + index * 4 * KIB, 4 * KIB),
                                daemon=True) for index in range(reads)]
    for thread in threads:
        thread.start()
    inflight = paused.volume.sysfs().parent / "inflight"
    wait_for("the reads", lambda: read(inflight).split()[0] == str(reads))
    time.sleep(SETTLED_S)
    paused.server.call(resume(paused.run))
    for thread in threads:
        thread.join(40)
        assert not thread.is_alive()
    found = ["data" if pdu.opcode == p.DATA_OUT else "read" for pdu in paused.run.memory["order"]
             if pdu.opcode == p.DATA_OUT or (pdu.opcode == p.SCSI_COMMAND and pdu.cdb[0] == READ_16)]
    assert found.count("read") == reads
    return found


def runs(found, what):
    """How many of these come one after the other."""
    return [len(run) for run in "".join("x" if one == what else " " for one in found).split()]


@pytest.mark.parametrize("segment_bytes", [8 * KIB])
def test_small_command_does_not_wait_for_a_large_write(paused, segment_bytes):
    found = order_of(paused, 1)
    assert found.index("read") * segment_bytes < MIB / 2, found


def test_large_write_does_not_wait_for_small_commands(paused):
    found = order_of(paused, 40)
    last = max(index for index, one in enumerate(found) if one == "data")
    assert max(runs(found[:last], "read")) <= AHEAD + SLACK, found
    assert found[:last].count("read") > AHEAD, found


def read_both(disk, server, conns):
    """Large reads are held while small ones are answered. Returns whether all of the large ones came
    soon after a small one.
    """
    begun = []

    def read_small():
        begun.append(time.monotonic())
        disk.read(0, 4 * KIB)

    for carried in conns.values():
        carried.clear()
    server.arm()
    read_small()
    threads = [threading.Thread(target=disk.read, args=(at * MIB // 4, MIB // 4), daemon=True)
               for at in range(LARGE)]
    for thread in threads:
        thread.start()
    while len(conns[MIB // 4]) < LARGE:
        read_small()
    begun.append(time.monotonic())
    conns[4 * KIB].clear()
    for at in range(SMALL):
        disk.read(at * 4 * KIB, 4 * KIB)
    server.target.run.armed = False
    for thread in threads:
        thread.join(40)
        assert not thread.is_alive()
    return max(now - then for then, now in itertools.pairwise(begun)) < BESIDE_S


def test_small_commands_have_a_connection(server, link, make_volume):
    """Of several connections large reads leave one to the small ones, which come through."""
    conns = {4 * KIB: [], MIB // 4: []}

    async def hold(run, conn, task):
        if task.opcode == READ_16 and run.strike():
            conns[task.edtl].append(conn)
            while task.edtl > 4 * KIB and run.armed:
                await asyncio.sleep(0.01)
        return False

    target = server.load(Scenario("holds", hooks={"on_command": hold}, times=1 << 20))
    volume = make_volume(target, path={
        "portal": f"{link.address}:{server.port}", "connections": 2})
    with Direct(volume.enable()) as disk:
        wait_for("both connections", lambda: len(server.connections()) == 2)
        # On a machine that stood still meanwhile it says nothing: then once more.
        assert any(read_both(disk, server, conns) for _ in range(10))
    small, large = map(set, conns.values())
    assert len(conns[4 * KIB]) == SMALL and len(small) == 1 and not small & large


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="the connection goes by the processor")
def test_large_writes_keep_no_connection(server, link, make_volume):
    """Small commands go ahead of their data: both use all connections."""
    conns = {4 * KIB: [], MIB // 4: []}

    async def hold(run, conn, task):
        if task.opcode in (READ_16, WRITE_16) and run.strike():
            conns[task.edtl].append(conn)
            while task.opcode == WRITE_16 and run.armed:
                await asyncio.sleep(0.01)
        return False

    def on(cpu, call, *values):
        os.sched_setaffinity(0, {cpu})
        call(*values)

    def start(call, values):
        threads = [threading.Thread(target=on, args=(cpu, call, *values(at)), daemon=True)
                   for at, cpu in enumerate(sorted(os.sched_getaffinity(0)))]
        for thread in threads:
            thread.start()
        return threads

    target = server.load(Scenario("holds", hooks={"on_command": hold}, times=1 << 20))
    volume = make_volume(target, path={
        "portal": f"{link.address}:{server.port}", "connections": 2})
    with Direct(volume.enable()) as disk:
        volume.wait_state("live")
        assert len(server.connections()) == 2
        server.arm()
        data = noise(MIB // 4, 1)
        writes = start(disk.write, lambda at: (at * MIB // 4, data))
        wait_for("the writes", lambda: len(conns[MIB // 4]) == len(writes), 20)
        reads = start(disk.read, lambda at: (at * 4 * KIB, 4 * KIB))
        for thread in reads:
            thread.join(20)
            assert not thread.is_alive()
        target.run.armed = False
        for thread in writes:
            thread.join(40)
            assert not thread.is_alive()
    assert [len(set(carried)) for carried in conns.values()] == [2, 2]
