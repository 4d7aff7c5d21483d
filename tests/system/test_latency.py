# SPDX-License-Identifier: GPL-2.0
"""How long commands took: histograms of legs and paths in sysfs."""

import asyncio
import os

import pytest

from lab.disk import Direct, noise
from lab.ghost import volume_over
from lab.shell import read, write
from scripted.scenario import Scenario
from scripted.scsi import READ_16, Result

KIB = 1 << 10
KINDS = ("read", "write", "other")
BUCKETS = 26
SLOW_S = 0.3


def latency(directory, kind):
    """The sum in nanoseconds, and the buckets."""
    total, *counts = map(int, read(directory / f"latency_{kind}").split())
    assert len(counts) == BUCKETS
    return total, counts


def counted(directory):
    return {kind: sum(latency(directory, kind)[1]) for kind in KINDS}


def leg_dir(volume):
    return volume.path_sysfs().parents[1]


def test_each_command_is_counted_once(make_lio, make_volume, links):
    volume = make_volume(make_lio(all_links=True), paths=links, policy="round-robin")
    device = volume.enable()
    before = counted(leg_dir(volume))
    with Direct(device) as disk:
        for index in range(20):
            disk.write(index * 4 * KIB, noise(4 * KIB, index))
        disk.flush()
        for index in range(30):
            disk.read(index * 4 * KIB, 4 * KIB)
        after = counted(leg_dir(volume))
        # Before the disk is closed: udev may look at it then.
        paths = [counted(volume.path_sysfs(0, path)) for path in range(len(links))]
    assert {kind: after[kind] - before[kind] for kind in KINDS} == {
        "read": 30, "write": 20, "other": 1}
    assert after == {kind: sum(path[kind] for path in paths) for kind in KINDS}
    # Round robin: none of them has all.
    assert all(path["read"] and path["write"] for path in paths)
    for kind in KINDS:
        total, counts = latency(leg_dir(volume), kind)
        least = sum(count << 9 << index for index, count in enumerate(counts) if index)
        most = sum(count << 10 << index for index, count in enumerate(counts))
        assert least <= total < most and not counts[-1]


def test_counts_of_a_path_that_goes(make_lio, make_volume, links):
    """The leg keeps them."""
    volume = make_volume(make_lio(all_links=True), paths=links, policy="round-robin")
    with Direct(volume.enable()) as disk:
        for index in range(20):
            disk.write(index * 4 * KIB, noise(4 * KIB, index))
            disk.read(0, 4 * KIB)
            disk.read(4 * KIB, 4 * KIB)
        before = counted(leg_dir(volume))
        gone = counted(volume.path_sysfs(0, 1))
        assert gone["read"] and gone["write"]
        write(volume.leg / "paths" / "1" / "enable", 0)
        assert not volume.path_sysfs(0, 1).exists()
        assert counted(leg_dir(volume)) == before
        disk.read(0, 4 * KIB)
        assert counted(leg_dir(volume)) == {**before, "read": before["read"] + 1}


@pytest.mark.both
def test_nothing_without_iostats(make_lio, make_volume):
    volume = make_volume(make_lio())
    device = volume.enable()
    with Direct(device) as disk:
        # Each tag has had a request with a time.
        for _ in range(2 * int(read(f"/sys/block/{os.path.basename(device)}/queue/nr_requests"))):
            disk.read(0, 4 * KIB)
        write(f"/sys/block/{os.path.basename(device)}/queue/iostats", 0)
        before = counted(leg_dir(volume))
        disk.write(0, noise(4 * KIB, 1))
        disk.read(0, 4 * KIB)
        assert counted(leg_dir(volume)) == before


@pytest.mark.allow_log("error, dev istripe|critical medium error", "a read that fails")
def test_a_slow_path_and_what_fails(make_server, make_volume, links):
    """What took long is in the buckets of long times; what failed is in none."""
    server = make_server()
    answers = []

    async def hook(run, conn, task):
        if task.opcode != READ_16 or not run.armed:
            return False
        if answers:
            await run.target.respond(conn, task, answers.pop())
            return True
        await asyncio.sleep(SLOW_S)
        return False

    target = server.load(Scenario("slow", hooks={"on_command": hook}, times=10000))
    volume = volume_over(make_volume, links[:1], [server.port], target, path={})
    with Direct(volume.enable()) as disk:
        place = volume.path_sysfs()
        before = latency(place, "read")
        server.arm()
        disk.read(0, 4 * KIB)
        total, counts = latency(place, "read")
        new = [now - then for now, then in zip(counts, before[1])]
        assert sum(new) == 1 and total - before[0] >= SLOW_S * 1e9
        assert 1024 << new.index(1) > SLOW_S * 1e9
        answers.append(Result.check(3, 0x11, 0))
        with pytest.raises(OSError):
            disk.read(0, 4 * KIB)
        assert latency(place, "read") == (total, counts)
