# SPDX-License-Identifier: GPL-2.0
"""The disk that loses what was not flushed: what a cut may take, and what it may not."""

import random

import pytest

from scripted.scsi import SYNCHRONIZE_CACHE_16, UNMAP, WRITE_16
from scripted.volatile import VolatileDisk

BLOCK = 512
OLD, NEW = b"o" * BLOCK, b"n" * BLOCK


def write(disk, lba, data, fua=False):
    cdb = bytes([WRITE_16, 8 if fua else 0]) + lba.to_bytes(8, "big")
    cdb += (len(data) // BLOCK).to_bytes(4, "big") + bytes(2)
    assert disk.execute(cdb, data).status == 0


def flush(disk):
    assert disk.execute(bytes([SYNCHRONIZE_CACHE_16]).ljust(16, b"\0"), b"").status == 0


def block(disk, lba):
    return bytes(disk.data[lba * BLOCK:(lba + 1) * BLOCK])


def cut(disk, share=1.0):
    return disk.cut(random.Random(1), share)


@pytest.fixture
def disk():
    disk = VolatileDisk(size_bytes=64 * BLOCK)
    write(disk, 5, OLD)
    flush(disk)
    return disk


def test_what_was_flushed_stays(disk):
    assert cut(disk) == 0
    assert block(disk, 5) == OLD


def test_what_was_not_flushed_is_lost(disk):
    write(disk, 5, b"x" * BLOCK)
    write(disk, 5, NEW)
    assert block(disk, 5) == NEW
    assert cut(disk) == 1
    assert block(disk, 5) == OLD


def test_fua_stays_and_covers_only_its_own(disk):
    write(disk, 5, b"x" * BLOCK)
    write(disk, 6, NEW)
    write(disk, 5, NEW, fua=True)
    assert cut(disk) == 1
    assert (block(disk, 5), block(disk, 6)) == (NEW, bytes(BLOCK))


def test_without_a_cache_all_stays():
    disk = VolatileDisk(size_bytes=64 * BLOCK, write_cache=False)
    write(disk, 5, NEW)
    assert cut(disk) == 0
    assert block(disk, 5) == NEW


def test_unmap_is_cached(disk):
    descriptor = bytes(2) + (16).to_bytes(2, "big") + bytes(4) + (5).to_bytes(8, "big")
    descriptor += (1).to_bytes(4, "big") + bytes(4)
    cdb = bytes([UNMAP]).ljust(7, b"\0") + len(descriptor).to_bytes(2, "big") + b"\0"
    assert disk.execute(cdb, descriptor).status == 0
    assert block(disk, 5) == bytes(BLOCK)
    assert cut(disk) == 1
    assert block(disk, 5) == OLD


def test_a_part_may_be_lost(disk):
    write(disk, 0, NEW * 64)
    lost = cut(disk, share=0.5)
    assert 10 < lost < 54
    assert sum(block(disk, lba) == NEW for lba in range(64)) == 64 - lost


def test_whole_blocks_are_lost_together():
    disk = VolatileDisk(size_bytes=64 * BLOCK, whole_blocks=4)
    for seed in range(20):
        disk.data[:] = bytes(len(disk.data))
        disk.store(0, b"x" * 32 * BLOCK)
        disk.cut(random.Random(seed), 0.5)
        units = {bytes(disk.data[at:at + 4 * BLOCK]) for at in range(0, 32 * BLOCK, 4 * BLOCK)}
        assert units == {b"x" * 4 * BLOCK, bytes(4 * BLOCK)}
