# SPDX-License-Identifier: GPL-2.0
"""A path that is lost for good with writes that its target may still carry out (ghosts): other data
for their blocks are written all the same after ghost_timeout_ms, and are never lost to a reader.
"""

import concurrent.futures
import contextlib
import errno
import re
import threading
import time
from pathlib import Path

import pytest

from lab import fio, ghost, lio, network, topology
from lab.disk import Direct, noise, same
from lab.ghost import KIB, state
from lab.istripectl import TOOL
from lab.polled import Polled
from lab.shell import LabError, on_failure, read, run, status, wait_for, write
from lab.uevents import Uevents
from scripted.ghost import Gate, Holder, Resets
from scripted.scenario import Held, Scenario
from scripted.scsi import SYNCHRONIZE_CACHE_16, WRITE_16, Result
from scripted.steps import instead

MIB = 1 << 20
AT, SIZE = ghost.AT, ghost.SIZE
PATH = {"default_time2wait": 0, "login_timeout_ms": 5000, "ping_interval_ms": 500,
        "ping_timeout_ms": 5000}
#: fio may not write to the blocks of a lost write in each of them.
MORE_ROUNDS = 10
KEPT = r"go on, and istripe keeps their data"


@pytest.fixture
def two_ports(targets, links, make_volume):
    """A volume over two portal groups with one LUN, whose disk can hold a write; the disk."""
    lun = lio.HoldingLun(16 * MIB)
    ports = [targets(target) for target in topology.lio_targets(links, lun, topology.GROUPS)]
    volume = make_volume(ports[0], paths=links, policy="failover", fence="auto",
                         recovery_timeout_ms=20000, ghost_timeout_ms=1000, path=PATH)
    return volume, ports[0].luns[0].disk


@pytest.fixture
def lost(two_ports, links):
    """The first link is silent, and its target has a write that it has not carried out."""
    volume, holder = two_ports
    device = volume.enable()
    with Direct(device) as disk:
        older = noise(SIZE, "older")
        writer = ghost.write_to_holder(disk, holder, older)
        with contextlib.ExitStack() as stack:
            stack.callback(ghost.silent(links[0], network.ISCSI_PORT))
            try:
                writer.finish()
                assert holder.held() and read(volume.path_sysfs(0, 0) / "ghost_writes") == "1"
                yield volume, holder, disk, older, stack.close
            finally:
                holder.release()


def carried_out(holder, older):
    """The ghost comes over what was written after it."""
    holder.release()
    wait_for("the old write to be carried out", lambda: holder.data[AT:AT + SIZE] == older)


def back(volume):
    wait_for("all paths", lambda: state(volume) == "live", 60)
    wait_for("the data to be written",
             lambda: read(volume.leg_sysfs(0) / "overlay_bytes") == "0", 60)


def test_a_ghost_comes_over_newer_data(lost, kernel_log):
    volume, holder, disk, older, heal = lost
    newer, newest = noise(SIZE, "newer"), noise(SIZE, "newest")
    disk.write(AT, newer)
    assert kernel_log.matching("the same blocks wait until .*, or ghost_timeout_ms")
    assert len(kernel_log.matching(KEPT)) == 1
    assert read(volume.leg_sysfs(0) / "overlay_bytes") == str(SIZE)
    assert re.search(r"overlays +4096 +bytes", run(TOOL, "status", volume.name))
    carried_out(holder, older)
    same(disk.read(AT, SIZE), newer, "what is read")
    around = disk.read(AT - SIZE, 3 * SIZE)
    same(around, bytes(SIZE) + newer + bytes(SIZE), "what is read with the blocks around")
    disk.write(AT, newest)
    same(disk.read(AT, SIZE), newest, "what is read")
    heal()
    back(volume)
    same(holder.data[AT:AT + SIZE], newest, "what the target has")
    same(disk.read(AT, SIZE), newest, "what is read in the end")


def test_events_tell_of_it(lost):
    """With the default fence: a write waits, it goes on and its data are kept, they are written."""
    volume, holder, disk, older, heal = lost
    with Uevents() as events, contextlib.ExitStack() as stack:
        file = Polled(volume.leg_sysfs(0) / "overlay_bytes", stack)
        disk.write(AT, noise(SIZE, "newer"))
        waiting = events.wait("WRITES_WAITING")
        since = events.events.index(waiting)
        kept, resumed = (events.wait(action, since=since) for action in
                         ("OVERLAYS_KEPT", "WRITES_RESUMED"))
        assert waiting.of(volume=volume.name, leg=0, path=0) and resumed.of(leg=0, path=0)
        assert waiting["ISTRIPE_WAITING_WRITES"] == "1"
        assert re.match("until a login through this path ends .* no other path can: .*portal group",
                        waiting["ISTRIPE_REASON"])
        assert kept.of(volume=volume.name, leg=0) and "ISTRIPE_PATH" not in kept
        assert (kept["ISTRIPE_STATE"], kept["ISTRIPE_LIVE_PATHS"]) == ("degraded", "1")
        assert "do not reset it" in kept["ISTRIPE_REASON"]
        file.wait(str(SIZE))
        carried_out(holder, older)
        heal()
        written = events.wait("OVERLAYS_WRITTEN", timeout_s=90)
        assert written.of(leg=0) and "ISTRIPE_REASON" not in written
        file.wait("0")
        back(volume)
        seen = [event.action for event in events.seen()]
        assert [seen.count(action) for action in ("OVERLAYS_KEPT", "OVERLAYS_WRITTEN")] == [1, 1]


def test_the_lost_path_is_taken_out(lost, links):
    """Not while its target may carry out the write, and at once when somebody knows that it cannot.

    Nothing of the path is left then, and it may come back.
    """
    volume, holder, disk, older, heal = lost
    newer, leg, path = noise(SIZE, "newer"), volume.leg_sysfs(0), volume.path_sysfs(0, 0)
    disk.write(AT, newer)
    carried_out(holder, older)
    command_timeout_ms = read(volume.config / "command_timeout_ms")
    # It is waited for as long as a command and a login may take.
    write(volume.config / "command_timeout_ms", 2000)
    remove = (TOOL, "path", "remove", volume.name, "0", "0")
    code, said = status(*remove)
    assert code == 1 and "or keep their blocks from others" in said
    write(volume.config / "command_timeout_ms", command_timeout_ms)
    assert read(path / "ghost_writes") == "1" and read(leg / "overlay_bytes") == str(SIZE)
    confirm = (TOOL, "path", "confirm", "--yes", volume.name, "0", "0")
    wait_for("the session to be closed", lambda: not status(*confirm)[0], 30)
    # The data that are still kept are the leg's.
    run(*remove)
    assert not path.exists()
    same(disk.read(AT, SIZE), newer, "what is read")
    wait_for("the data to be written", lambda: read(leg / "overlay_bytes") == "0", 60)
    same(holder.data[AT:AT + SIZE], newer, "what the target has")
    assert read(leg / "state") == "live"
    heal()
    run(TOOL, "path", "add", volume.name, "0", f"portal={links[0].portal()},nic={links[0].nic}")
    wait_for("the path", lambda: read(path / "state") == "live", 60)
    assert read(path / "ghost_writes") == "0"
    same(disk.read(AT, SIZE), newer, "what is read")


def test_the_ghost_comes_last(lost):
    """The lost path's login waits for it: it comes over all that was written before."""
    volume, holder, disk, _, heal = lost
    newer = noise(SIZE, "newer")
    disk.write(AT, newer)
    heal()
    time.sleep(ghost.SETTLE_S)
    assert holder.held() and read(volume.path_sysfs(0, 0) / "state") != "live"
    holder.release()
    back(volume)
    same(holder.data[AT:AT + SIZE], newer, "what the target has")
    same(disk.read(AT, SIZE), newer, "what is read")


def test_written_again_from_time_to_time(lost):
    """Nobody writes to the blocks any more: what the target has is right again before the path is."""
    volume, holder, disk, older, heal = lost
    newer = noise(SIZE, "newer")
    disk.write(AT, newer)
    carried_out(holder, older)
    wait_for("the data to be written", lambda: holder.data[AT:AT + SIZE] == newer, 90)
    # Nothing waits for a copy that has been written.
    wider = noise(3 * SIZE, "wider")
    disk.write(AT - SIZE, wider)
    same(disk.read(AT - SIZE, 3 * SIZE), wider, "what is read")
    heal()
    back(volume)
    same(holder.data[AT - SIZE:AT + 2 * SIZE], wider, "what the target has")


def test_down_writes_them(lost, kernel_log):
    volume, holder, disk, older, _ = lost
    newer = noise(SIZE, "newer")
    disk.write(AT, newer)
    carried_out(holder, older)
    disk.close()
    volume.disable()
    same(holder.data[AT:AT + SIZE], newer, "what the target has")
    assert kernel_log.matching("it stops with ghost_writes")


@pytest.mark.allow_log("error, dev istripe|Buffer I/O error on dev istripe",
                       "what is kept cannot be written")
def test_down_without_a_path(lost, links, kernel_log):
    volume, _, disk, *_ = lost
    disk.write(AT, noise(SIZE, "newer"))
    disk.close()
    heal = ghost.silent(links[1], network.ISCSI_PORT)
    try:
        with pytest.raises(OSError) as failed:
            volume.disable()
    finally:
        heal()
    assert failed.value.errno == errno.EIO
    assert kernel_log.matching(f"{volume.name}/0: {SIZE} bytes of overlays cannot be written: the LUN may")


def test_a_write_while_they_are_written(lost):
    """The disk holds the write of the copy: other writes to its blocks wait, and are the last ones."""
    _, holder, disk, older, _ = lost
    newer, newest = noise(SIZE, "newer"), noise(SIZE, "newest")
    disk.write(AT, newer)
    carried_out(holder, older)
    holder.hold(AT)
    wait_for("the copy to be written", holder.held, 90)
    writer = ghost.Write(disk, AT, newest)
    writer.join(ghost.SETTLE_S)
    overtakes = not writer.is_alive()
    holder.release()
    writer.finish()
    wait_for("the disk", lambda: holder.data[AT:AT + SIZE] in (newer, newest))
    assert not overtakes
    same(disk.read(AT, SIZE), newest, "what is read")


def test_under_load(lost):
    """Blocks that are written and read all the time, while the path comes back."""
    volume, holder, disk, _, heal = lost
    stop, wrong = threading.Event(), []

    def rewrite():
        try:
            rewrite_until_stopped()
        except (OSError, AssertionError) as err:
            wrong.append(err)

    def rewrite_until_stopped():
        for number in range(1 << 30):
            data = noise(SIZE, number)
            disk.write(AT, data)
            if disk.read(AT, SIZE) != data:
                wrong.append(number)
            if stop.is_set():
                return

    writer = threading.Thread(target=rewrite, daemon=True)
    writer.start()
    try:
        wait_for("newer data", lambda: read(volume.leg_sysfs(0) / "overlay_bytes") != "0")
        holder.release()
        heal()
        back(volume)
    finally:
        stop.set()
        writer.join(60)
    assert wrong == []
    same(disk.read(AT, SIZE), holder.data[AT:AT + SIZE], "what the target has")


@pytest.mark.timeout_s(1500)
@pytest.mark.parametrize("policy", ["failover", "interleave"])
def test_verified_meanwhile(two_ports, links, policy, kernel_log):
    """fio writes and verifies a few blocks, with a path that is lost and comes back, late writes too."""
    volume, holder = two_ports
    write(volume.leg / "policy", policy)
    device = volume.enable()
    lost = volume.path_sysfs(0, 0)

    def overlaid():
        return (read(volume.leg_sysfs(0) / "overlay_bytes") != "0" or
                read(lost / "ghost_writes") == "0")

    with fio.meanwhile(device, **fio.verify_options(MIB, jobs=2, block_bytes=4 * KIB,
                                                    largest_bytes=4 * KIB)):
        for number in range(3 + MORE_ROUNDS):
            if number >= 3 and kernel_log.matching(KEPT):
                break
            holder.hold(number * 64 * KIB)
            wait_for("a write that is held", holder.held, 60)
            heal = ghost.silent(links[0], network.ISCSI_PORT)
            try:
                wait_for("the loss", lambda: read(lost / "state") != "live", 60)
                # fio may wait for the write that is held, if the other path has sent it.
                with contextlib.suppress(LabError):
                    wait_for("overlays", overlaid, 10)
                holder.release()
                wait_for("overlays", overlaid, 60)
                time.sleep(3)
            finally:
                holder.release()
                heal()
            back(volume)
    assert kernel_log.matching(KEPT), "no data were kept"


def test_zeroes(lost):
    volume, holder, disk, older, heal = lost
    disk.write(AT, noise(SIZE, "newer"))
    run("blkdiscard", "--zeroout", "--offset", AT, "--length", SIZE,
        f"/dev/{volume.device()}")
    carried_out(holder, older)
    same(disk.read(AT, SIZE), bytes(SIZE), "what is read")
    heal()
    back(volume)
    same(holder.data[AT:AT + SIZE], bytes(SIZE), "what the target has")


@pytest.mark.allow_log("error, dev istripe|Buffer I/O error on dev istripe", "the write fails")
def test_a_write_has_failed(two_ports, links):
    """Reads of its blocks wait, as it may still be carried out, until newer data are known."""
    volume, holder = two_ports
    older, newer = noise(SIZE, "older"), noise(SIZE, "newer")
    write(volume.config / "recovery_timeout_ms", 3000)
    with Direct(volume.enable()) as disk, contextlib.ExitStack() as stack:
        stack.callback(holder.release)
        writer = ghost.write_to_holder(disk, holder, older)
        heal = [ghost.silent(link, network.ISCSI_PORT) for link in links]
        stack.callback(heal[0])
        try:
            writer.join(ghost.PATIENCE_S)
            assert not writer.is_alive() and not writer.good
        finally:
            heal[1]()
        # Not the state of the path, which is told before the leg serves I/O again.
        wait_for("the other path", lambda: state(volume) == "degraded", 60)
        with concurrent.futures.ThreadPoolExecutor() as pool, on_failure(volume.force_down):
            reader = pool.submit(disk.read, AT, SIZE)
            time.sleep(ghost.SETTLE_S)
            assert not reader.done()
            # Of half of what it reads newer data are known.
            disk.write(AT, newer[:SIZE // 2])
            same(disk.read(AT, SIZE // 2), newer[:SIZE // 2], "what is read of the first half")
            time.sleep(ghost.SETTLE_S)
            assert not reader.done()
            disk.write(AT, newer)
            same(reader.result(ghost.PATIENCE_S), newer, "what is read")
        carried_out(holder, older)
        same(disk.read(AT, SIZE), newer, "what is read")
        stack.close()
        back(volume)
        same(holder.data[AT:AT + SIZE], newer, "what the target has")


@pytest.mark.allow_log("error, dev istripe|Buffer I/O error on dev istripe", "the copy fails")
def test_a_copy_has_failed(server, make_volume, links):
    """Reads of its blocks do not wait for its path: another ghost's overlay has the newest data."""
    gate, resets = Gate(), Resets(AT)
    target = server.load(Scenario("keeps a write and a copy", hooks={
        **gate.hooks, "on_command": resets.on_command}))
    volume = ghost.volume_over(make_volume, [links[0], links[0], links[1]], [server.port] * 3,
                               target, fence="auto", ghost_timeout_ms=1000,
                               recovery_timeout_ms=3000, path=PATH)
    ghost.set_isids(volume, 3)
    older, newer = noise(SIZE, "older"), noise(SIZE, "newer")

    async def carry_out(task):
        target.disk.execute(task.cdb, task.buffer)

    def lose(path):
        gate.close(server, ghost.ISIDS[path])
        wait_for("the path's end", lambda: ghost.path_is(volume, path, False))

    with Direct(volume.enable()) as disk:
        writer = ghost.Write(disk, AT, older)
        wait_for("the write that is kept", lambda: AT in resets.kept)
        kept = resets.kept[AT]
        lose(0)
        writer.finish()
        disk.write(AT, newer)
        # From now on no more data are kept.
        write(volume.leg / "ghost_timeout_ms", 600000)
        del resets.kept[AT]
        wait_for("the copy", lambda: AT in resets.kept, 90)
        assert resets.writes[-1] == (AT, ghost.ISIDS[1])
        lose(2)
        lose(1)
        wait_for("the copy to fail",
                 lambda: read(volume.path_sysfs(0, 1) / "ghost_writes") == "1", 60)
        gate.open(ghost.ISIDS[2])
        wait_for("the third path", lambda: state(volume) == "degraded", 60)
        server.call(carry_out(kept))
        same(target.disk.data[AT:AT + SIZE], older, "what the target has")
        with concurrent.futures.ThreadPoolExecutor() as pool, on_failure(volume.force_down):
            reader = pool.submit(disk.read, AT, SIZE)
            same(reader.result(ghost.PATIENCE_S), newer, "what is read")
        gate.open(ghost.ISIDS[0])
        gate.open(ghost.ISIDS[1])
        back(volume)
        same(target.disk.data[AT:AT + SIZE], newer, "what the target has in the end")
        same(disk.read(AT, SIZE), newer, "what is read in the end")
    volume.disable()


def test_never(two_ports, links):
    """ghost_timeout_ms -1: such a write waits as before."""
    volume, holder = two_ports
    write(volume.leg / "ghost_timeout_ms", -1)
    with Direct(volume.enable()) as disk:
        writer = ghost.write_to_holder(disk, holder, noise(SIZE, "older"))
        heal = ghost.silent(links[0], network.ISCSI_PORT)
        try:
            writer.finish()
            waits = ghost.Write(disk, AT, noise(SIZE, "newer"))
            waits.join(ghost.SETTLE_S)
            assert waits.is_alive(), "it was sent"
            # Live: its time is over.
            write(volume.leg / "ghost_timeout_ms", 1000)
            waits.finish()
        finally:
            heal()
            holder.release()
        back(volume)


def test_only_blocks_that_are_written_again(two_ports, links):
    """Memory is for the lost writes that others wait for, however large these are."""
    volume, _ = two_ports
    large, small, newer = noise(1280 * KIB, "large"), noise(SIZE, "small"), noise(SIZE, "newer")
    with Direct(volume.enable()) as disk:
        kept = volume.leg_sysfs(0) / "overlay_bytes"
        inflight = volume.sysfs().parent / "inflight"
        # The silence is not noticed before both have been sent.
        write(volume.path / "ping_interval_ms", 0)
        heal = ghost.silent(links[0], network.ISCSI_PORT)
        try:
            writers = []
            for at, data in ((8 * MIB, small), (0, large)):
                writers.append(ghost.Write(disk, at, data))
                wait_for("the write", lambda: int(read(inflight).split()[1]) >= len(writers))
            write(volume.path / "ping_interval_ms", PATH["ping_interval_ms"])
            for writer in writers:
                writer.finish()
            assert read(volume.path_sysfs(0, 0) / "ghost_writes") == "2"
            disk.write(1024 * KIB, newer)
            assert read(kept) == str(256 * KIB)
            disk.write(AT, newer)
            assert read(kept) == str(1280 * KIB)
            # A write to both parts of what was lost, and around it.
            wider = noise(512 * KIB, "wider")
            disk.write(MIB - 128 * KIB, wider)
            disk.write(8 * MIB, newer)
            assert read(kept) == str(1280 * KIB + SIZE)
            assert read(volume.path_sysfs(0, 0) / "ghost_writes") == "2"
            expected = (large[:AT] + newer + large[AT + SIZE:MIB - 128 * KIB] + wider +
                        bytes(128 * KIB))
            same(disk.read(0, len(expected)), expected, "what is read")
        finally:
            heal()
        back(volume)
        same(disk.read(0, len(expected)), expected, "what is read in the end")
        same(disk.read(8 * MIB, SIZE), newer, "what is read of the small one")


def test_two_targets_of_one_name(make_server, make_volume, links):
    """The same with targets that look at what they get."""
    servers, holder = [make_server(), make_server()], Holder()
    holder.server = servers[0]
    target = servers[0].load(Scenario("keeps a write", hooks=holder.hooks()))
    servers[1].load(Scenario("honest")).disk = target.disk
    volume = ghost.volume_over(make_volume, links, [server.port for server in servers], target,
                               fence="auto", ghost_timeout_ms=1000)
    older, newer, newest = (noise(SIZE, name) for name in ("older", "newer", "newest"))
    with Direct(volume.enable()) as disk:
        writer = ghost.write_to_holder(disk, holder, older)
        heal = ghost.silent(links[0], servers[0].port)
        try:
            writer.finish()
            disk.write(AT, newer)
            holder.release()
            wait_for("the old write", lambda: target.disk.data[AT:AT + SIZE] == older)
            same(disk.read(AT - SIZE, 3 * SIZE), bytes(SIZE) + newer + bytes(SIZE), "what is read")
            disk.write(AT, newest)
        finally:
            heal()
        back(volume)
        same(target.disk.data[AT:AT + SIZE], newest, "what the target has")
        same(disk.read(AT, SIZE), newest, "what is read")


@pytest.mark.allow_log("error, dev istripe|Buffer I/O error on dev istripe", "the copy is refused")
def test_down_with_a_refused_copy(server, make_volume, links, kernel_log):
    """Its ghost was over before: nothing has overtaken it, and the loss is told once."""
    gate, holder = Gate(), Holder()
    holder.server = server

    async def on_command(run, conn, task):
        if not run.armed or task.opcode != WRITE_16:
            return await holder.on_command(run, conn, task)
        await run.target.collect(conn, task)
        await run.target.respond(conn, task, Result.check(3, 0x0C, 0))
        return True

    hooks = {**gate.hooks, **holder.hooks(), "on_command": on_command}
    target = server.load(Scenario("refuses copies", hooks=hooks))
    volume = ghost.volume_over(make_volume, links, [server.port] * 2, target, fence="auto",
                               ghost_timeout_ms=1000,
                               path={**PATH, "login_retry_max_ms": 1000})
    ghost.set_isids(volume)
    with Direct(volume.enable()) as disk:
        writer = ghost.write_to_holder(disk, holder, noise(SIZE, "older"))
        gate.close(server, ghost.ISIDS[0])
        writer.finish()
        disk.write(AT, noise(SIZE, "newer"))
        ghosts = volume.path_sysfs(0, 0) / "ghost_writes"
        assert read(ghosts) == "1"
        server.arm()
        gate.open(ghost.ISIDS[0])
        wait_for("the reset", lambda: holder.resets)
        holder.release()
        wait_for("the ghost's end", lambda: read(ghosts) == "0", 60)
        assert read(volume.leg_sysfs(0) / "overlay_bytes") == str(SIZE)
    with pytest.raises(OSError) as failed:
        volume.disable()
    assert failed.value.errno == errno.EIO
    assert kernel_log.matching(f"{SIZE} bytes of overlays cannot be written: the LUN may")
    assert not kernel_log.matching("were written for the last time")


@pytest.mark.allow_log("error, dev istripe|Buffer I/O error on dev istripe",
                       "what is kept cannot be written")
def test_down_with_a_silent_lun(make_server, make_volume, links, kernel_log):
    """It takes the first page of what is kept, and does not answer: it gets none of the others."""
    servers, holder, pages = [make_server(), make_server()], Holder(), 8
    holder.server = servers[0]
    target = servers[0].load(Scenario("keeps a write", hooks=holder.hooks()))
    silent = servers[1].load(Scenario("silent", hooks=instead(opcode=WRITE_16), times=1 << 30))
    silent.disk = target.disk
    volume = ghost.volume_over(make_volume, links, [server.port for server in servers], target,
                               fence="auto", ghost_timeout_ms=1000, command_timeout_ms=25000)
    with Direct(volume.enable()) as disk:
        writer = ghost.write_to_holder(disk, holder, noise(pages * SIZE, "older"))
        heal = ghost.silent(links[0], servers[0].port)
        try:
            writer.finish()
            disk.write(AT, noise(pages * SIZE, "newer"))
            servers[1].arm()
            disk.close()
            with pytest.raises(OSError) as failed:
                volume.disable()
        finally:
            heal()
            holder.release()
    assert failed.value.errno == errno.EIO
    assert kernel_log.matching(f"{pages * SIZE} bytes of overlays cannot be written: the LUN may")
    # The copy in flight, and perhaps once more.
    assert 1 <= silent.run.hits <= 3


def test_the_path_is_back_after_the_last_copy(server, make_volume, links, kernel_log):
    """While the cache is flushed: the ghost may have come over the copy, and the disk has gone."""
    gate, holder, flushes = Gate(), Holder(), Held(SYNCHRONIZE_CACHE_16)
    holder.server = server

    async def on_command(run, conn, task):
        # While it is there copies are flushed.
        hook = flushes if run.armed and not disk_at.exists() else holder
        return await hook.on_command(run, conn, task)

    hooks = {**gate.hooks, **holder.hooks(), "on_command": on_command}
    target = server.load(Scenario("keeps a write", hooks=hooks))
    volume = ghost.volume_over(make_volume, links, [server.port] * 2, target, fence="auto",
                               ghost_timeout_ms=1000,
                               path={**PATH, "login_retry_max_ms": 1000})
    ghost.set_isids(volume)
    older, device = noise(SIZE, "older"), volume.enable()
    disk_at = Path("/sys/block") / device.name
    server.arm()
    with Direct(device) as disk:
        writer = ghost.write_to_holder(disk, holder, older)
        gate.close(server, ghost.ISIDS[0])
        writer.finish()
        disk.write(AT, noise(SIZE, "newer"))
        assert read(volume.leg_sysfs(0) / "overlay_bytes") == str(SIZE)
    with concurrent.futures.ThreadPoolExecutor() as pool:
        down = pool.submit(volume.disable)
        wait_for("the last flush", lambda: flushes.tasks)
        gate.open(ghost.ISIDS[0])
        wait_for("the reset", lambda: holder.resets)
        holder.release()
        # The reset ends it.
        wait_for("the end of the flush", lambda: down.done() or len(flushes.tasks) > 1)
        server.call(flushes.release())
        with pytest.raises(OSError) as failed:
            down.result(ghost.PATIENCE_S)
    assert failed.value.errno == errno.EIO
    same(target.disk.data[AT:AT + SIZE], older, "what the target has")
    assert "not all of what had been written" in volume.last_error()
    assert kernel_log.matching(f"has logged in after {SIZE} bytes of overlays were written")
