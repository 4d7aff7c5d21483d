# SPDX-License-Identifier: GPL-2.0
"""Volumes with superblocks grow on a rescan, while they are in use, and mdadm sees them grown."""

import asyncio
import contextlib
import errno
import random
import threading

import pytest

from lab import connections, fio, istripe, md, network, storage
from lab.disk import Direct, noise, same
from lab.ghost import Write, state
from lab.lio import resize
from lab.shell import read, wait_for, write
from scripted.checks import LUN_RESET
from scripted.ghost import COMPLETE, REJECTED, forgets
from scripted.scenario import Scenario
from scripted.scsi import READ_16, REPORT_LUNS, SYNCHRONIZE_CACHE_16, WRITE_16, Result

KIB, MIB = 1 << 10, 1 << 20
LUN_BYTES, MORE = 32 * MIB, 16 * MIB
CHUNK = 64 * KIB
NO_WAIT = {"DefaultTime2Wait": 0}
QUICK = {"default_time2wait": 0}
SUPER_LBA = md.SUPER_AT // 512


@pytest.fixture
def mdadm(laboratory):
    """The kernel has md, which those that look at themselves have not."""
    md.prepare()


def create(volume):
    write(volume.config / "metadata_create", "1")
    return volume.enable()


def supers(target):
    return [md.Super(lun.file).data for lun in target.luns]


def lines_with(kernel_log, words):
    return [line for line in kernel_log.read() if words in line]


def rescan_at_last(volume, size_bytes):
    """Until nothing gets in between, and the disk has this size."""
    def attempt():
        with contextlib.suppress(OSError):
            volume.rescan()
            return volume.size_bytes() == size_bytes

    wait_for("the disk to grow", attempt, 120)


def log_in_again(volume, legs):
    """Sessions are lost; the next ones are let in."""
    connections.log_in_again(volume, paths=[(leg, 0) for leg in range(legs)], by_target=True)


@pytest.mark.parametrize("maker", ["istripe", "mdadm"])
@pytest.mark.timeout_s(600)
def test_grows_on_a_rescan(make_lio, make_volume, mdadm, kernel_log, maker):
    """In use all the time. Of the superblocks nothing but the size has changed."""
    legs = 3
    target = make_lio(*[LUN_BYTES] * legs, params=NO_WAIT)
    volume = make_volume(target, legs=legs, metadata="md", path=QUICK)
    if maker == "mdadm":
        md.create_on_files(target.luns)
        storage.drop_caches()
        device = volume.enable()
    else:
        device = create(volume)
    size = volume.size_bytes()
    kept = storage.fill_pattern(device, size // 2, seed=1)
    before = supers(target)
    resize(target, LUN_BYTES + MORE + 4 * KIB)
    # Found by a login: nobody has said that superblocks may be written.
    log_in_again(volume, legs)
    wait_for("the reason", lambda: lines_with(kernel_log, "keeps its size until a rescan"))
    assert volume.size_bytes() == size and supers(target) == before
    writer = fio.begin(device, rw="randwrite", bsrange="4k-64k", blockalign=4096, iodepth=8,
                       offset=size // 2, size=4 * MIB, loops=12, verify="crc32c", do_verify=1,
                       verify_fatal=1, verify_state_save=0)
    volume.rescan()
    assert writer.poll() is None
    grown = size + legs * MORE
    assert volume.size_bytes() == grown
    assert state(volume) == "live"
    fio.finish(writer)
    assert storage.sha256(device, size // 2) == kept
    written = storage.fill_pattern(device, grown, seed=2)
    # A login finds what it has become; another rescan nothing new.
    log_in_again(volume, legs)
    volume.rescan()
    assert volume.size_bytes() == grown
    volume.disable()
    storage.drop_caches()
    for lun, old in zip(target.luns, before):
        now = md.Super(lun.file)
        assert now["data_size"] == (LUN_BYTES + MORE + 4 * KIB) // 512 - now["data_offset"]
        for name in ("data_size", "sb_csum"):
            at, code = md.FIELDS[name]
            width = 8 if code == "<Q" else 4
            now.data[at:at + width] = old[at:at + width]
        assert now.data == old
    with md.loops(target.luns) as disks, md.assembled(disks) as array:
        assert md.size_bytes(array) == grown
        assert storage.sha256(array, grown) == written
    device = volume.enable()
    assert volume.size_bytes() == grown
    assert storage.sha256(device, grown) == written


def test_all_legs_must_have_grown(make_lio, make_volume):
    """By as much as the smallest; until then nothing is written."""
    target = make_lio(*[LUN_BYTES] * 2, params=NO_WAIT)
    volume = make_volume(target, legs=2, metadata="md", path=QUICK)
    create(volume)
    size, before = volume.size_bytes(), supers(target)
    resize(target, LUN_BYTES + MORE, [1])
    volume.rescan()
    assert volume.size_bytes() == size and supers(target) == before
    # It may still go back.
    resize(target, LUN_BYTES + MIB, [1])
    volume.rescan()
    # Less than a chunk is nothing.
    resize(target, LUN_BYTES + CHUNK - 4 * KIB, [0])
    volume.rescan()
    assert volume.size_bytes() == size and supers(target) == before
    resize(target, LUN_BYTES + CHUNK, [0])
    volume.rescan()
    assert volume.size_bytes() == size + 2 * CHUNK
    # Of the larger leg no more than of the other: mdadm would lay out the rest in another way.
    assert len({md.Super(lun.file)["data_size"] for lun in target.luns}) == 1
    volume.disable()
    volume.enable()
    assert volume.size_bytes() == size + 2 * CHUNK


@pytest.mark.timeout_s(400)
def test_all_paths_must_be_up(make_lio, make_volume, links, kernel_log):
    target = make_lio(LUN_BYTES, all_links=True, params=NO_WAIT)
    volume = make_volume(target, paths=links, metadata="md", path=QUICK)
    create(volume)
    wait_for("all paths", lambda: state(volume) == "live", 30)
    size, before = volume.size_bytes(), supers(target)
    resize(target, LUN_BYTES + MORE)
    with network.down(links[1]):
        wait_for("the loss", lambda: state(volume) == "degraded", 30)
        with pytest.raises(OSError):
            volume.rescan()
    why = "keeps its size: leg 0 path 1 is down: superblocks are written when all paths are up"
    assert lines_with(kernel_log, why)
    assert volume.size_bytes() == size and supers(target) == before
    wait_for("all paths", lambda: state(volume) == "live", 60)
    # Nothing has been promised yet.
    resize(target, LUN_BYTES + MIB)
    volume.rescan()
    assert volume.size_bytes() == size + MIB


def test_cut_short(make_lio, make_volume, mdadm):
    """Some superblocks say more than others: refused with advice, and the advice is good."""
    target = make_lio(*[LUN_BYTES] * 3, params=NO_WAIT)
    volume = make_volume(target, legs=3, metadata="md", path=QUICK)
    size = create(volume) and volume.size_bytes()
    written = storage.fill_pattern(f"/dev/{volume.device()}", size, seed=3)
    volume.disable()
    storage.drop_caches()
    resize(target, LUN_BYTES + MORE)
    one = md.Super(target.luns[1].file)
    md.edit(target.luns[1].file, data_size=one["data_size"] + MORE // 512)
    storage.drop_caches()
    with pytest.raises(istripe.EnableError) as refused:
        volume.enable()
    assert "leg 1: share in sectors is" in refused.value.reason
    assert "mdadm --assemble --update=devicesize" in refused.value.reason
    with md.loops(target.luns) as disks, md.assembled(disks, "--update=devicesize") as array:
        assert storage.sha256(array, size) == written
    storage.drop_caches()
    device = volume.enable()
    assert volume.size_bytes() == size + 3 * MORE
    assert storage.sha256(device, size) == written


@pytest.mark.timeout_s(900)
def test_sessions_are_lost_meanwhile(make_lio, make_volume, mdadm):
    """Paths log in while superblocks are written; none is refused, and no byte is lost."""
    target = make_lio(*[LUN_BYTES] * 4, params=NO_WAIT)
    volume = make_volume(target, legs=4, metadata="md", path=QUICK)
    device = create(volume)
    size = volume.size_bytes()
    over = threading.Event()
    rng = random.Random(1)

    def kill():
        while not over.wait(rng.uniform(0.2, 4)):
            network.kill_connections(by_target=True)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        for step in range(1, 6):
            resize(target, LUN_BYTES + step * MIB)
            rescan_at_last(volume, size + step * 4 * MIB)
            written = storage.fill_pattern(device, volume.size_bytes(), seed=step)
    finally:
        over.set()
        killer.join()
    volume.disable()
    storage.drop_caches()
    with md.loops(target.luns) as disks, md.assembled(disks) as array:
        assert storage.sha256(array, md.size_bytes(array)) == written


# Another host has the array, too


def grow_elsewhere(target, more, legs=None):
    """What another host writes when it grows the array."""
    for number in range(len(target.luns)) if legs is None else legs:
        file = target.luns[number].file
        md.edit(file, data_size=md.Super(file)["data_size"] + more // 512)


GROWN_ELSEWHERE = "another host has grown the array: the disk keeps its size until a rescan"


@pytest.mark.parametrize("legs", [None, [1]], ids=["all", "one"])
@pytest.mark.timeout_s(400)
def test_grown_by_another_host(make_lio, make_volume, mdadm, kernel_log, legs):
    """Wholly or not: no path is lost, the disk keeps its size, and a rescan here does the rest."""
    target = make_lio(*[LUN_BYTES] * 3, params=NO_WAIT)
    volume = make_volume(target, legs=3, metadata="md", path=QUICK)
    device = create(volume)
    size = volume.size_bytes()
    written = storage.fill_pattern(device, size, seed=1)
    resize(target, LUN_BYTES + 2 * MORE)
    # Less than what the LUNs have by now.
    grow_elsewhere(target, MORE, legs)
    grown = supers(target)
    log_in_again(volume, 3)
    assert volume.size_bytes() == size and state(volume) == "live"
    assert len(lines_with(kernel_log, GROWN_ELSEWHERE)) == 1
    # Further, as if that host went on.
    grow_elsewhere(target, MIB, [1])
    log_in_again(volume, 3)
    assert len(lines_with(kernel_log, GROWN_ELSEWHERE)) == 2
    assert volume.size_bytes() == size and supers(target)[0] == grown[0]
    assert storage.sha256(device, size) == written
    volume.rescan()
    # To where that host was, and from there to what the LUNs have.
    assert volume.size_bytes() == size + 3 * 2 * MORE
    assert len({md.Super(lun.file)["data_size"] for lun in target.luns}) == 1
    assert storage.sha256(device, size) == written
    log_in_again(volume, 3)
    volume.disable()
    storage.drop_caches()
    with md.loops(target.luns) as disks, md.assembled(disks) as array:
        assert md.size_bytes(array) == size + 3 * 2 * MORE
        assert storage.sha256(array, size) == written
    volume.enable()
    assert volume.size_bytes() == size + 3 * 2 * MORE


def test_written_by_another_host(make_scripted, server, kernel_log, tmp_path):
    """It is not written again, but flushed: that host may have been reset before it did so."""
    writes = []

    async def hook(run, _conn, task):
        if run.armed and at_super(task, WRITE_16):
            writes.append(task)
        return False

    volume, target = make_scripted(Scenario("grown elsewhere", hooks={"on_command": hook}),
                                   metadata="md")
    create(volume)
    size = volume.size_bytes()
    disk, copy = target.disk, tmp_path / "copy"
    end = md.SUPER_AT + md.SUPER_BYTES
    copy.write_bytes(disk.data[:end])
    md.edit(copy, data_size=md.Super(copy)["data_size"] + 4 * MIB // 512)
    disk.data.extend(bytes(4 * MIB))
    disk.data[:end] = copy.read_bytes()
    flushes = disk.flushes
    server.arm()
    volume.rescan()
    assert volume.size_bytes() == size + 4 * MIB
    assert len(lines_with(kernel_log, GROWN_ELSEWHERE)) == 1
    assert not writes and disk.flushes == flushes + 1


@pytest.mark.timeout_s(400)
def test_a_lun_that_grows_after_its_superblock(make_lio, make_volume):
    """Its path is not used until it finds as much, and nobody writes what does not fit."""
    target = make_lio(*[LUN_BYTES] * 2, params=NO_WAIT)
    volume = make_volume(target, legs=2, metadata="md", path=QUICK, recovery_timeout_ms=-1)
    create(volume)
    size = volume.size_bytes()
    resize(target, LUN_BYTES + MORE, [0])
    grow_elsewhere(target, MORE)
    network.kill_connections(by_target=True)
    path = volume.path_sysfs(1)
    wait_for("the refusal", lambda: read(path / "last_error") ==
             "leg 1: another host has grown the array, and the LUN has not got as much yet: "
             "path not used", 60)
    assert read(path / "state") != "dead"
    resize(target, LUN_BYTES + MORE)
    for leg in range(2):
        wait_for("the paths", lambda leg=leg: read(volume.path_sysfs(leg) / "state") == "live", 60)
    volume.rescan()
    assert volume.size_bytes() == size + 2 * MORE


def test_one_lun_has_not_grown_yet(make_lio, make_volume):
    """The superblock of the other one says more: here nothing is written that does not fit."""
    target = make_lio(*[LUN_BYTES] * 2, params=NO_WAIT)
    volume = make_volume(target, legs=2, metadata="md", path=QUICK)
    create(volume)
    size = volume.size_bytes()
    resize(target, LUN_BYTES + MORE, [0])
    resize(target, LUN_BYTES + MIB, [1])
    grow_elsewhere(target, MORE, [0])
    before = supers(target)
    log_in_again(volume, 2)
    volume.rescan()
    assert volume.size_bytes() == size and supers(target) == before
    resize(target, LUN_BYTES + MORE, [1])
    volume.rescan()
    assert volume.size_bytes() == size + 2 * MORE


@pytest.mark.allow_log("error, dev istripe|Buffer I/O error on dev istripe",
                       "the path is refused for good")
@pytest.mark.parametrize("more,change", [(-MIB, {}), (CHUNK // 2, {}), (MORE, {"events": 2}),
                                         (MORE, {"utime": 12345})],
                         ids=["less", "no chunk", "events", "utime"])
def test_not_grown_by_another_host(make_lio, make_volume, more, change):
    """Less, or anything else with it: somebody uses the leg."""
    target = make_lio(LUN_BYTES, params=NO_WAIT)
    volume = make_volume(target, metadata="md", path=QUICK, recovery_timeout_ms=1000)
    create(volume)
    resize(target, LUN_BYTES + MORE)
    file = target.luns[0].file
    md.edit(file, data_size=md.Super(file)["data_size"] + more // 512, **change)
    network.kill_connections(by_target=True)
    path = volume.path_sysfs(0)
    wait_for("the refusal", lambda: read(path / "state") == "dead", 60)
    assert "leg 0: another host has " in read(path / "last_error")


def test_istripectl(make_lio, make_volume, tool):
    target = make_lio(*[LUN_BYTES] * 2)
    volume = make_volume(target, legs=2, name="db", metadata="md")
    device = create(volume)
    resize(target, LUN_BYTES + MORE)
    assert tool("rescan", "db") == f"db: {device} has grown from 62 MiB to 94 MiB\n"


# What a target may do to it


def over(link, conn):
    return conn.writer.get_extra_info("sockname")[0] == link.address


def at_super(task, opcode):
    return task.opcode == opcode and int.from_bytes(task.cdb[2:10], "big") == SUPER_LBA


def over_two_paths(make_scripted, name, on_command):
    """A volume that is up, its target, which forgets all at a reset of the LUN, and its disk."""
    volume, target = make_scripted(
        Scenario(name, hooks={"on_command": on_command, "on_tmf": forgets}), paths=2,
        metadata="md", fence="path", policy="round-robin")
    device = create(volume)
    wait_for("both paths", lambda: state(volume) == "live", 60)
    return volume, target, device


def target_failure(stored=False):
    """The scenario in which a superblock is said not to be written, whether it is or not."""
    async def hook(run, conn, task):
        if not at_super(task, WRITE_16) or not run.strike():
            return False
        await run.target.collect(conn, task)
        if stored:
            run.target.disk.store(md.SUPER_AT, task.buffer)
        conn.session.tasks.pop(task.itt, None)
        await run.target.respond(conn, task, Result.check(4, 0x44, 0))
        return True

    return Scenario("target failure", hooks={"on_command": hook})


@pytest.mark.parametrize("stored", [False, True])
def test_a_superblock_that_is_not_written(make_scripted, server, kernel_log, stored):
    """Or is written, and said not to be: a login accepts either, until a rescan goes through."""
    volume, target = make_scripted(target_failure(stored), metadata="md")
    device = create(volume)
    size = volume.size_bytes()
    with Direct(device) as disk:
        disk.write(MIB, noise(64 * KIB, 1))
        server.arm()
        target.disk.data.extend(bytes(4 * MIB))
        flushes = target.disk.flushes
        with pytest.raises(OSError):
            volume.rescan()
        why = "keeps its size: leg 0: cannot write its superblock: status 0x02, sense 4/44/00"
        assert lines_with(kernel_log, why)
        assert lines_with(kernel_log, "rescan again before it goes down")
        assert volume.size_bytes() == size
        server.call(reset_all(target))
        wait_for("another session", lambda: volume.reconnects() >= 1, 60)
        wait_for("the leg", lambda: state(volume) == "live", 60)
        # It goes on to where it has begun, and from there to what there is by now.
        target.disk.data.extend(bytes(2 * MIB))
        volume.rescan()
        assert volume.size_bytes() == size + 6 * MIB
        # Each of the two superblocks that were written.
        assert target.disk.flushes == flushes + 2
        same(disk.read(MIB, 64 * KIB), noise(64 * KIB, 1), "what was read")
        disk.write(size + 5 * MIB, noise(64 * KIB, 2))
        server.call(reset_all(target))
        wait_for("another session", lambda: volume.reconnects() >= 2, 60)
        same(disk.read(size + 5 * MIB, 64 * KIB), noise(64 * KIB, 2), "what was read")


@pytest.mark.timeout_s(400)
def test_half_way(make_lio, make_volume, server, links):
    """One leg's superblock says more, the other one refuses: no login minds; the next rescan does it."""
    first = make_lio(16 * MIB, params=NO_WAIT)
    second = server.load(target_failure())
    other = {"portal": f"{links[0].address}:{server.port}", "target_name": second.settings.name,
             "lun": 0, **QUICK}
    volume = make_volume(first, more_legs=[other], metadata="md", path=QUICK)
    device = create(volume)
    size = volume.size_bytes()
    written = storage.fill_pattern(device, size, seed=1)
    before = md.Super(first.luns[0].file)["data_size"]
    resize(first, 20 * MIB)
    second.disk.data.extend(bytes(4 * MIB))
    server.arm()
    with pytest.raises(OSError):
        volume.rescan()
    storage.drop_caches()
    assert md.Super(first.luns[0].file)["data_size"] == before + 4 * MIB // 512
    assert volume.size_bytes() == size
    log_in_again(volume, 1)
    connections.log_in_again(volume, server.port, [(1, 0)])
    volume.rescan()
    assert volume.size_bytes() == size + 8 * MIB
    assert storage.sha256(device, size) == written
    volume.disable()
    device = volume.enable()
    assert volume.size_bytes() == size + 8 * MIB
    assert storage.sha256(device, size) == written


@pytest.fixture
def lose_superblock(make_scripted, server, links):
    """lose_superblock(connections=1): a volume of two paths and its target, which grows; `away`; `seen`.

    All sessions of the first path have been lost with the superblock of a first growth, which then
    went over the other one, and are away as long as `away` says so, or one with that ISID: those of
    the sessions are lose_superblock.isids. `seen` are resets of the LUN over the first path, and
    superblocks that are written since. The other path would end the lost session, once it is proven
    that it can: here it may not. The target answers these resets as lose_superblock.response says.
    """
    away, seen = [False], []

    async def on_command(run, conn, task):
        if not at_super(task, WRITE_16):
            return False
        if not over(links[0], conn) or not run.strike():
            seen.append("superblock")
            return False
        away[0] = True
        lose.isids.append(conn.session.isid)
        conn.reset()
        return True

    async def on_tmf(run, conn, pdu):
        if over(links[0], conn) and pdu.flags & 0x7F == LUN_RESET:
            seen.append("reset")
            if lose.response != COMPLETE:
                await run.target.answer_task_management(conn, pdu, lose.response)
                return True
        return False

    async def on_login(_run, conn, pdu):
        if away[0] in (True, pdu.isid) and over(links[0], conn):
            conn.reset()
            return True
        return False

    def lose(connections=1):
        volume, target = make_scripted(
            Scenario("lost", hooks={"on_command": on_command, "on_login": on_login,
                                    "on_tmf": on_tmf}, times=connections),
            paths=2, metadata="md", fence="path")
        write(volume.path / "connections", connections)
        create(volume)
        wait_for("both paths", lambda: state(volume) == "live", 60)
        size = volume.size_bytes()
        server.arm()
        target.disk.data.extend(bytes(4 * MIB))
        volume.rescan()
        assert volume.size_bytes() == size + 4 * MIB and away[0]
        seen.clear()
        target.disk.data.extend(bytes(4 * MIB))
        return volume, away, seen

    lose.response, lose.isids = COMPLETE, []
    return lose


def test_a_superblock_that_is_lost(lose_superblock, kernel_log):
    """With a session, perhaps still to be written: its path must not go before that is over."""
    volume, away, seen = lose_superblock()
    size = volume.size_bytes()
    with pytest.raises(OSError) as refused:
        write(volume.path / "enable", 0)
    assert refused.value.errno == errno.EBUSY
    with pytest.raises(OSError):
        volume.rescan()
    assert lines_with(kernel_log, "leg 0 path 0 was lost with a superblock that may still be written")
    assert volume.size_bytes() == size
    away[0] = False
    wait_for("both paths", lambda: state(volume) == "live", 60)
    volume.rescan()
    assert volume.size_bytes() == size + 4 * MIB
    assert seen[0] == "reset" and "superblock" in seen
    write(volume.path / "enable", 0)


def test_a_superblock_that_is_lost_before_it_goes_down(lose_superblock):
    """It would do no harm until the next growth: no start waits for its path, whose login ends it."""
    volume, away, seen = lose_superblock()
    size = volume.size_bytes()
    volume.disable()
    assert read(volume.leg / "unfenced") == ""
    volume.enable()
    # Once more: the path has still not logged in.
    volume.disable()
    volume.enable()
    with pytest.raises(OSError):
        volume.rescan()
    # The larger LUN is all the volume's from the start, but for what the superblocks say.
    assert volume.size_bytes() == size and not seen
    away[0] = False
    wait_for("both paths", lambda: state(volume) == "live", 60)
    assert seen and set(seen) == {"reset"}
    volume.rescan()
    assert volume.size_bytes() == size + 4 * MIB
    assert seen[0] == "reset" and "superblock" in seen


@pytest.mark.parametrize("ends", ["login", "confirmed"])
def test_a_superblock_that_is_lost_before_there_are_none(lose_superblock, server, ends):
    """Its place holds data then: it is a write that has been left, as any other."""
    volume, away, seen = lose_superblock()
    volume.disable()
    assert read(volume.leg / "unfenced") == ""
    write(volume.config / "metadata", "none")
    assert read(volume.leg / "unfenced") == "0"
    with pytest.raises(istripe.EnableError) as refused:
        volume.enable()
    assert "leg 0 path 0 has left writes" in refused.value.reason
    # Nothing has ended it, and it is as harmless as before where superblocks are.
    write(volume.config / "metadata", "md")
    assert read(volume.leg / "unfenced") == ""
    volume.enable()
    volume.disable()
    write(volume.config / "metadata", "none")
    assert read(volume.leg / "unfenced") == "0" and not seen
    # Nobody is to take the disk for a part of an array.
    server.target.disk.data[md.SUPER_AT:md.SUPER_AT + md.SUPER_BYTES] = bytes(md.SUPER_BYTES)
    if ends == "confirmed":
        write(volume.leg / "unfenced", 0)
        volume.enable()
        assert not seen
    away[0] = False
    if ends == "login":
        volume.enable()
    wait_for("both paths", lambda: state(volume) == "live", 60)
    assert seen == ["reset"]
    volume.disable()
    assert read(volume.leg / "unfenced") == ""


@pytest.mark.parametrize("ends", ["login", "confirmed"])
def test_a_superblock_of_a_session_that_becomes_a_spare(lose_superblock, ends):
    """The first session is granted both connections: the second one goes when its own login ends it."""
    volume, away, seen = lose_superblock(connections=2)
    size = volume.size_bytes()
    assert len(set(lose_superblock.isids)) == 2
    volume.disable()
    write(volume.path / "multi", "mcs")
    away[0] = lose_superblock.isids[1]
    volume.enable()
    path = volume.path_sysfs()
    spare = path / "sessions" / "1" / "path_state"
    assert read(path / "state") == "degraded"
    with pytest.raises(OSError):
        volume.rescan()
    assert volume.size_bytes() == size and seen == ["reset"]
    if ends == "confirmed":
        write(path / "fence_confirm", 1)
    else:
        away[0] = False
    wait_for("the spare to go", lambda: read(path / "state") == "live" and read(spare) == "idle", 60)
    assert seen == ["reset"] * (1 if ends == "confirmed" else 2)
    volume.rescan()
    assert volume.size_bytes() == size + 4 * MIB


#: Of the first path, when no other superblock may be written.
MAY_COME = ("leg 0 path 0 was lost with a superblock that may still be written: others are written when "
            "a login through it has ended that")


def refuses_to_go(volume):
    """The first path, which would be forgotten."""
    with pytest.raises(OSError) as refused:
        write(volume.path / "enable", 0)
    return (refused.value.errno == errno.EBUSY and
            "a session of it was lost with a superblock that may still be written" in
            volume.last_error())


@pytest.mark.allow_log("LOGICAL UNIT RESET is rejected", "this is what the target does")
@pytest.mark.parametrize("ends", ["asked_again", "confirmed"])
def test_a_superblock_that_a_login_has_not_ended(lose_superblock, kernel_log, ends):
    """The path is back after down and up, but the target has refused the reset."""
    volume, away, seen = lose_superblock()
    size = volume.size_bytes()
    volume.disable()
    volume.enable()
    lose_superblock.response = REJECTED
    away[0] = False
    wait_for("both paths", lambda: state(volume) == "live", 60)
    assert seen and set(seen) == {"reset"}
    with pytest.raises(OSError):
        volume.rescan()
    assert lines_with(kernel_log, MAY_COME)
    assert volume.size_bytes() == size and set(seen) == {"reset"}
    assert refuses_to_go(volume)
    lose_superblock.response = COMPLETE
    if ends == "confirmed":
        write(volume.path_sysfs() / "fence_confirm", 1)
        assert lines_with(kernel_log, "carries out nothing that an earlier session has sent")
    else:
        write(volume.path_sysfs() / "reconnect", 1)
    wait_for("both paths", lambda: state(volume) == "live", 60)
    volume.rescan()
    assert volume.size_bytes() == size + 4 * MIB
    write(volume.path / "enable", 0)


def test_a_superblock_whose_path_goes(lose_superblock, kernel_log):
    """Without it nobody would know: the administrator has to say that its target is dead."""
    volume, _away, seen = lose_superblock()
    size = volume.size_bytes()
    volume.disable()
    volume.enable()
    assert refuses_to_go(volume)
    volume.disable()
    settings = {name: read(volume.path / name) for name in {*volume.path_settings, "portal"}}
    volume.path.rmdir()
    assert read(volume.leg / "unfenced") == "0"
    with pytest.raises(istripe.EnableError) as refused:
        volume.enable()
    assert "leg 0 path 0 is gone, and has left writes" in refused.value.reason
    # As it was it may stay away; with another name its login would end nothing.
    volume.add_path(0, settings)
    for name, other in (("lun", 1), ("isid", "800000000009")):
        mine = read(volume.path / name)
        assert read(volume.leg / "unfenced") == ""
        write(volume.path / name, other)
        assert read(volume.leg / "unfenced") == "0"
        with pytest.raises(istripe.EnableError) as refused:
            volume.enable()
        assert "leg 0 path 0: it has left writes" in refused.value.reason
        write(volume.path / name, mine if name == "lun" else other)
    write(volume.leg / "unfenced", 0)
    assert read(volume.leg / "unfenced") == ""
    volume.enable()
    write(volume.path / "enable", 0)
    volume.rescan()
    assert volume.size_bytes() == size + 4 * MIB
    assert "superblock" in seen and not lines_with(kernel_log, MAY_COME)


@pytest.mark.parametrize("starts", [1, 2], ids=["now", "later"])
def test_a_superblock_whose_target_is_said_to_be_dead(lose_superblock, starts):
    """No growth waits for it any more; all the same the next login through its path ends it."""
    volume, away, seen = lose_superblock()
    size = volume.size_bytes()
    for _ in range(starts - 1):
        volume.disable()
        volume.enable()

    def confirmed():
        with contextlib.suppress(OSError):
            write(volume.path_sysfs() / "fence_confirm", 1)
            return True

    wait_for("the session to be closed", confirmed, 30)
    write(volume.path / "enable", 0)
    volume.rescan()
    assert volume.size_bytes() == size + 4 * MIB
    seen.clear()
    away[0] = False
    write(volume.path / "enable", 1)
    wait_for("both paths", lambda: state(volume) == "live", 60)
    assert seen == ["reset"]


@pytest.fixture
def make_silent(make_scripted, server):
    """make_silent(times=1, ms=2000, link=None, ...): a volume of a target that does not answer writes
    of superblocks, so many or only over a link, where nobody logs in then; and such writes so far.
    """
    def make(times=1, ms=2000, link=None, **options):
        async def on_command(run, conn, task):
            if not at_super(task, WRITE_16) or (link and not over(link, conn)) or not run.strike():
                return False
            asked.append(task)
            await asyncio.sleep(3600)
            return True

        async def on_login(_run, conn, _pdu):
            if link and asked and over(link, conn):
                conn.reset()
                return True
            return False

        asked = []
        volume, target = make_scripted(
            Scenario("silent", hooks={"on_command": on_command, "on_login": on_login}, times=times),
            metadata="md", **options)
        create(volume)
        wait_for("all paths", lambda: state(volume) == "live", 60)
        write(volume.config / "command_timeout_ms", ms)
        server.arm()
        target.disk.data.extend(bytes(4 * MIB))
        return volume, asked

    return make


def test_a_superblock_without_an_answer(make_silent, kernel_log):
    """Its session is given up, and the next rescan does it."""
    volume, asked = make_silent()
    size = volume.size_bytes()
    with pytest.raises(OSError):
        volume.rescan()
    assert len(asked) == 1
    assert lines_with(kernel_log, "/0/0: leg 0: cannot write its superblock: no answer in time")
    wait_for("another session", lambda: volume.reconnects() >= 1 and state(volume) == "live", 60)
    write(volume.config / "command_timeout_ms", 30000)
    volume.rescan()
    assert volume.size_bytes() == size + 4 * MIB


def test_a_flush_without_an_answer(make_scripted, server, kernel_log):
    """Its session is given up because of the flush, not of the superblock before it."""
    async def hook(run, _conn, task):
        if task.opcode != SYNCHRONIZE_CACHE_16 or not run.strike():
            return False
        await asyncio.sleep(3600)
        return True

    volume, target = make_scripted(Scenario("silent", hooks={"on_command": hook}), metadata="md")
    create(volume)
    write(volume.config / "command_timeout_ms", 2000)
    server.arm()
    target.disk.data.extend(bytes(4 * MIB))
    with pytest.raises(OSError):
        volume.rescan()
    assert lines_with(kernel_log, "/0/0: leg 0: cannot flush its cache: no answer in time")
    assert not lines_with(kernel_log, "cannot write its superblock")
    wait_for("another session", lambda: volume.reconnects() >= 1 and state(volume) == "live", 60)


def test_a_path_without_an_answer(make_silent, links):
    """It is asked once, not once for each of its sessions; then the other one is."""
    volume, asked = make_silent(times=99, link=links[0], paths=2, path={"connections": 2})
    size = volume.size_bytes()
    volume.rescan()
    assert volume.size_bytes() == size + 4 * MIB
    assert len(asked) == 1


@pytest.mark.allow_log("error, dev istripe|Buffer I/O error on dev istripe",
                       "it goes down meanwhile")
@pytest.mark.parametrize("paths, connections", [(1, 4), (2, 1)])
def test_goes_down_meanwhile(make_silent, paths, connections):
    """A superblock that is not answered holds up neither the rescan nor the end for long.

    No other session is asked then. The time to go down must not be over before that has begun.
    """
    volume, asked = make_silent(times=99, ms=10000, paths=paths, fence="path",
                                path={"connections": connections})

    def ask():
        with contextlib.suppress(OSError):
            volume.rescan()

    rescan = threading.Thread(target=ask, daemon=True)
    rescan.start()
    wait_for("the write", lambda: asked)
    volume.disable()
    rescan.join(30)
    assert not rescan.is_alive()
    assert len(asked) == 1


@pytest.mark.parametrize("opcode, lba", [(WRITE_16, SUPER_LBA), (SYNCHRONIZE_CACHE_16, 0)],
                         ids=["write", "flush"])
def test_a_reset_of_the_lun_meanwhile(make_scripted, server, links, opcode, lba):
    """The second path was lost with a write; what its login ends over the first one is sent again."""
    kept, held = [], []

    async def on_command(run, conn, task):
        at = int.from_bytes(task.cdb[2:10], "big")
        if not run.armed:
            return False
        if task.opcode == WRITE_16 and at >= MIB // 512 and over(links[1], conn) and not kept:
            kept.append(conn.session)
            await asyncio.Event().wait()
        if (task.opcode, at) == (opcode, lba) and over(links[0], conn) and not held:
            held.append(task)
            run.target.end_session(kept[0])
            await asyncio.Event().wait()
        return False

    volume, target, device = over_two_paths(make_scripted, "resets", on_command)
    with Direct(device) as disk:
        size, writers = volume.size_bytes(), []
        server.arm()
        for at in range(MIB, MIB + 256 * KIB, 4 * KIB):
            writers.append(Write(disk, at, noise(4 * KIB, at)))
            wait_for("an answer", lambda: kept or not writers[-1].is_alive())
            if kept:
                break
        assert kept, "all writes go over one path"
        target.disk.data.extend(bytes(4 * MIB))
        volume.rescan()
        assert volume.size_bytes() == size + 4 * MIB
        for writer in writers:
            writer.finish()
        assert held


@pytest.mark.parametrize("ends", ["busy", "reset"])
def test_a_lun_that_says_meanwhile_that_it_has_changed(make_scripted, server, links, ends):
    """To a read, while a superblock is sent. It is asked who it is before that is sent again."""
    seen, kept, told = [], [], asyncio.Event()

    async def first(run, conn, task):
        await told.wait()
        if ends == "reset":
            run.target.end_session(kept[0])
            await asyncio.Event().wait()
        await run.target.collect(conn, task)
        await run.target.respond(conn, task, Result.check(2, 4, 1))
        return True

    async def on_command(run, conn, task):
        if not run.armed:
            return False
        if over(links[1], conn):
            if task.opcode == WRITE_16 and not kept:
                kept.append(conn.session)
                await asyncio.Event().wait()
            return False
        if task.opcode == REPORT_LUNS:
            seen.append("asked")
        elif at_super(task, WRITE_16):
            seen.append("superblock")
            return seen.count("superblock") == 1 and await first(run, conn, task)
        elif task.opcode == READ_16 and seen and seen[-1] == "superblock" and not told.is_set():
            await run.target.respond(conn, task, Result.check(6, 0x3F, 0x0E))
            told.set()
            return True
        return False

    volume, target, device = over_two_paths(make_scripted, "changes", on_command)
    with Direct(device) as disk:
        size, writers = volume.size_bytes(), []
        server.arm()
        while ends == "reset" and not kept:
            writers.append(Write(disk, 2 * MIB + len(writers) * 4 * KIB, noise(4 * KIB, 1)))
            wait_for("an answer", lambda: kept or not writers[-1].is_alive())
        target.disk.data.extend(bytes(4 * MIB))
        rescan = threading.Thread(target=volume.rescan, daemon=True)
        rescan.start()
        wait_for("the superblock", lambda: "superblock" in seen)
        wait_for("the news", lambda: disk.read(MIB, 4 * KIB) and told.is_set())
        rescan.join(60)
        assert not rescan.is_alive() and volume.size_bytes() == size + 4 * MIB
        for writer in writers:
            writer.finish()
    first_at, second_at = [at for at, what in enumerate(seen) if what == "superblock"]
    assert "asked" in seen[first_at:second_at]
    assert server.violations() == []


async def reset_all(target):
    for conn in list(target.connections):
        conn.reset()


def test_read_before_and_compared_after(make_scripted, server):
    """A path logs in and reads the old superblock; its answer comes when the new one counts."""
    seen = {"write": asyncio.Event(), "read": asyncio.Event(), "grown": asyncio.Event()}

    async def hook(run, conn, task):
        if not run.armed:
            return False
        if at_super(task, WRITE_16) and not seen["write"].is_set():
            seen["write"].set()
            # Not a byte more before all superblocks say so.
            assert volume.size_bytes() == size
            await seen["read"].wait()
            return False
        if at_super(task, READ_16) and seen["write"].is_set() and not seen["read"].is_set():
            old = bytes(run.target.disk.data[md.SUPER_AT:md.SUPER_AT + md.SUPER_BYTES])
            seen["read"].set()
            await seen["grown"].wait()
            await run.target.respond(conn, task, Result(data=old))
            return True
        return False

    # No test sessions of a proof: logins are counted.
    volume, target = make_scripted(Scenario("late", hooks={"on_command": hook}), paths=2,
                                   path={"login_timeout_ms": 60000}, metadata="md", fence="path")
    create(volume)
    wait_for("both paths", lambda: state(volume) == "live", 60)
    size = volume.size_bytes()
    # The first path writes; the second one is lost, and comes back meanwhile.
    second = read(volume.path_sysfs(0, 1) / "connections/0/local_address").rpartition(":")
    server.arm()
    logins = server.sessions()
    target.disk.data.extend(bytes(4 * MIB))
    rescan = threading.Thread(target=volume.rescan)
    rescan.start()

    async def lose_second():
        await asyncio.wait_for(seen["write"].wait(), 20)
        for conn in list(target.connections):
            if str(conn.writer.get_extra_info("peername")[1]) == second[2]:
                conn.reset()

    server.call(lose_second(), 30)
    rescan.join(60)
    assert not rescan.is_alive()
    assert volume.size_bytes() == size + 4 * MIB

    async def answer():
        assert seen["read"].is_set()
        seen["grown"].set()

    server.call(answer())
    path = volume.path_sysfs(0, 1)
    wait_for("the second path", lambda: read(path / "state") == "live", 60)
    assert read(path / "reconnects") == "1" and server.sessions() == logins + 1
