# SPDX-License-Identifier: GPL-2.0
"""The disk that offers atomic writes: what it says of them, takes and refuses."""

import pytest

from scripted.scsi import (
    INVALID_FIELD,
    INVALID_OPCODE,
    OUT_OF_RANGE,
    WRITE_ATOMIC_16,
    Atomic,
    Disk,
)

BLOCK = 512


def write(disk, lba, blocks, boundary=0, data=None):
    """The sense (key, asc, ascq) of the answer, or nothing."""
    cdb = bytes([WRITE_ATOMIC_16, 0]) + lba.to_bytes(8, "big") + boundary.to_bytes(2, "big")
    cdb += blocks.to_bytes(2, "big") + bytes(2)
    data = b"n" * (blocks * BLOCK) if data is None else data
    assert disk.direction(cdb, 0) == (0, blocks * BLOCK)
    result = disk.execute(cdb, data)
    return (result.sense[2], *result.sense[12:14]) if result.status else None


@pytest.fixture
def disk():
    return Disk(size_bytes=64 * BLOCK, atomic=Atomic(16, 4, 8))


def test_what_is_said(disk):
    assert disk.pages()[0xB0][40:60] == bytes([0, 0, 0, 16, 0, 0, 0, 4, 0, 0, 0, 8]) + bytes(8)
    assert Disk(size_bytes=64 * BLOCK).pages()[0xB0][40:60] == bytes(20)


def test_what_is_taken(disk):
    assert write(disk, 4, 16) is None
    assert disk.data == bytes(4 * BLOCK) + b"n" * (16 * BLOCK) + bytes(44 * BLOCK)


@pytest.mark.parametrize("sense, change", [
    (INVALID_FIELD, {"blocks": 24}),
    (INVALID_FIELD, {"blocks": 12}),
    (INVALID_FIELD, {"lba": 6}),
    (INVALID_FIELD, {"boundary": 8}),
    (INVALID_FIELD, {"data": b"n" * (8 * BLOCK - 1)}),
    (OUT_OF_RANGE, {"lba": 60}),
])
def test_what_is_refused(disk, sense, change):
    assert write(disk, **{"lba": 4, "blocks": 8, **change}) == sense
    assert disk.data == bytes(64 * BLOCK)


def test_nothing_is_offered():
    assert write(Disk(size_bytes=64 * BLOCK), 4, 8) == INVALID_OPCODE
