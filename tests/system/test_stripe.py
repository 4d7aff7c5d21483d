# SPDX-License-Identifier: GPL-2.0
"""Several legs: where the data lie, how many commands it takes, what no leg must be."""

import re

import pytest

from lab import dm, fio, istripe, lio, md, network, storage
from lab.connections import log_in_again
from lab.shell import read, run, status, wait_for

KIB = 1 << 10
MIB = 1 << 20
LUN_BYTES = 8 * MIB


def commands(volume, legs):
    return [int(read(volume.leg_sysfs(leg) / "commands")) for leg in range(legs)]


@pytest.fixture
def make_striped(make_lio, make_volume):
    """make_striped(legs, chunk_bytes, ...): LIO LUNs of one target, and a volume over them."""

    def make(legs, chunk_bytes=64 * KIB, lun_bytes=LUN_BYTES, block_bytes=512, **options):
        target = make_lio(*[lio.Lun(lun_bytes, block_bytes) for _ in range(legs)])
        return target, make_volume(target, legs=legs, chunk_bytes=chunk_bytes, **options)

    return make


@pytest.mark.parametrize("legs,chunk_bytes", [(7, 16 * KIB), (2, 4 * MIB)])
def test_layout_is_that_of_dm_stripe(make_striped, legs, chunk_bytes):
    """Written through the one, read through the other; shapes that test_matrix.py has not."""
    run("modprobe", "loop")
    target, volume = make_striped(legs, chunk_bytes)
    device = volume.enable()
    size = volume.size_bytes()
    assert size == legs * (LUN_BYTES // chunk_bytes * chunk_bytes)
    written = storage.fill_pattern(device, size, seed=legs)
    storage.drop_caches()
    with md.loops(target.luns) as loops, dm.striped(loops, chunk_bytes, size // 512) as reference:
        assert storage.sha256(reference, size) == written
        written = storage.fill_pattern(reference, size, seed=legs + 100)
    storage.drop_caches()
    assert storage.sha256(device, size) == written


@pytest.mark.parametrize("chunk_bytes", [4 * KIB, 16 * KIB, 64 * KIB, 256 * KIB])
def test_one_command_per_leg(make_striped, chunk_bytes):
    """An aligned request of 1 MiB over 4 legs is 4 commands, whatever the chunk."""
    _, volume = make_striped(4, chunk_bytes)
    device = volume.enable()
    for words in ([f"if={device}", "of=/dev/null", "iflag=direct"],
                  ["if=/dev/zero", f"of={device}", "oflag=direct"]):
        before = commands(volume, 4)
        run("dd", *words, "bs=1M", "count=8")
        assert [now - then for now, then in zip(commands(volume, 4), before)] == [8] * 4


def test_request_within_a_chunk_is_one_command(make_striped):
    _, volume = make_striped(4, 64 * KIB)
    device = volume.enable()
    before = commands(volume, 4)
    run("dd", f"if={device}", "of=/dev/null", "iflag=direct", "bs=64k", "count=4", "skip=4")
    assert [now - then for now, then in zip(commands(volume, 4), before)] == [1] * 4


def test_queue_limits(make_striped):
    _, volume = make_striped(4, 64 * KIB)
    volume.enable()
    assert int(volume.queue("minimum_io_size")) == 64 * KIB
    assert int(volume.queue("optimal_io_size")) == 4 * 64 * KIB
    assert int(volume.queue("max_hw_sectors_kb")) >= 4 * 1024
    assert int(volume.queue("read_ahead_kb")) >= 2 * 4 * 64


def flushes(volume, legs):
    """Commands that neither read, as udev may as well, nor write."""
    return [sum(map(int, read(volume.leg_sysfs(leg) / "latency_other").split()[1:]))
            for leg in range(legs)]


def test_flush_reaches_every_leg(make_striped):
    _, volume = make_striped(3)
    device = volume.enable()
    before = flushes(volume, 3)
    run("dd", "if=/dev/zero", f"of={device}", "bs=4k", "count=1", "oflag=direct", "conv=fsync")
    assert [now - then for now, then in zip(flushes(volume, 3), before)] == [1] * 3


def test_discard_reaches_every_leg(make_striped):
    target, volume = make_striped(4)
    device = volume.enable()
    size = volume.size_bytes()
    storage.fill_pattern(device, size, seed=1)
    full = [storage.allocated_bytes(lun.file) for lun in target.luns]
    run("blkdiscard", device)
    empty = [storage.allocated_bytes(lun.file) for lun in target.luns]
    assert all(before >= LUN_BYTES and after < MIB for before, after in zip(full, empty))


def test_xfs(make_striped):
    """mkfs.xfs finds the geometry of the stripe by itself."""
    _, volume = make_striped(4, 64 * KIB, lun_bytes=512 * MIB)
    device = volume.enable()
    text = run("mkfs.xfs", "-f", device)
    assert re.search(r"sunit=16\s+swidth=64 blks", text), text
    mount = storage.ROOT / "striped"
    mount.mkdir()
    run("mount", "-t", "xfs", device, mount)
    try:
        fio.run(mount / "file", rw="randwrite", bsrange="4k-512k", size=24 * MIB, iodepth=8,
                verify="crc32c", do_verify=1, verify_state_save=0)
    finally:
        run("umount", mount)
        mount.rmdir()
    assert status("xfs_repair", "-n", device)[0] == 0


@pytest.mark.timeout_s(600)
def test_connections_killed_under_verify(make_striped, size):
    """All legs lose their connections again and again; fio does not notice."""
    _, volume = make_striped(4, path={"default_time2wait": 0}, lun_bytes=12 * MIB)
    device = volume.enable()
    legs = [(leg, 0) for leg in range(4)]
    shape = fio.verify_options(32 * MIB, jobs=4, largest_bytes=2 * MIB, depth=4)
    with fio.meanwhile(device, **shape):
        for round_ in range(size.rounds(4, 25)):
            fio.wait_transfers(device)
            log_in_again(volume, paths=legs, by_target=round_ % 2 == 1)
    wait_for("all legs", lambda: read(volume.sysfs() / "state") == "live", 60)


def test_a_leg_is_missing(make_lio, make_volume):
    volume = make_volume(make_lio(LUN_BYTES, LUN_BYTES), legs=3)
    with pytest.raises(istripe.EnableError) as error:
        volume.enable()
    assert "leg 2 path 0:" in error.value.reason
    assert not istripe.devices()
    assert not network.established()


def test_the_same_lun_twice(make_lio, make_volume):
    volume = make_volume(make_lio(LUN_BYTES, LUN_BYTES), legs=3)
    (volume.config / "legs" / "2" / "paths" / "0" / "lun").write_text("0\n", encoding="ascii")
    with pytest.raises(istripe.EnableError, match="legs 0 and 2 are the same LUN, "):
        volume.enable()


def test_blocks_of_different_size(make_lio, make_volume):
    volume = make_volume(make_lio(lio.Lun(LUN_BYTES, 512), lio.Lun(LUN_BYTES, 4096)), legs=2)
    with pytest.raises(istripe.EnableError,
                       match="leg 1 has blocks of 4096 bytes, leg 0 of 512"):
        volume.enable()


def test_smallest_leg_counts(make_lio, make_volume):
    volume = make_volume(make_lio(LUN_BYTES, LUN_BYTES + 5 * MIB, LUN_BYTES - 3 * MIB), legs=3)
    volume.enable()
    assert volume.size_bytes() == 3 * (LUN_BYTES - 3 * MIB)


def test_equal_isids_are_refused(make_lio, make_volume):
    volume = make_volume(make_lio(LUN_BYTES, LUN_BYTES), legs=2, path={"isid": "80123456789a"})
    with pytest.raises(istripe.EnableError,
                       match="leg 0 path 0 and leg 1 path 0 have the same isid at the same target"):
        volume.enable()
