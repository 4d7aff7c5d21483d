# SPDX-License-Identifier: GPL-2.0
"""What is acknowledged as durable is so at the target, whose disk loses what only its cache has."""

import mmap
import os
import random

import pytest

from lab.disk import Direct, noise, same
from lab.istripe import Named
from scripted.scenario import HONEST
from scripted.volatile import VolatileDisk

pytestmark = pytest.mark.both
KIB = 1 << 10
AT = 64 * KIB


@pytest.fixture
def volatile(server, make_volume, link):
    """The disk, and the volume's device."""
    disk = server.load(HONEST, VolatileDisk).disk
    volume = make_volume(Named(server.target.settings.name),
                         path={"portal": f"{link.address}:{server.port}"})
    device = volume.enable()
    assert volume.queue("write_cache") == "write back"
    assert volume.queue("fua") == "1"
    return disk, device


def cut(disk):
    """Returns how many blocks are lost with the power."""
    return disk.cut(random.Random(1))


def test_fua(volatile):
    """A write that is to be durable says so itself, whatever is flushed after it."""
    disk, device = volatile
    data = noise(4 * KIB, 1)
    fd = os.open(device, os.O_RDWR | os.O_DIRECT | os.O_DSYNC)
    try:
        with mmap.mmap(-1, len(data)) as memory:
            memory[:] = data
            assert os.pwrite(fd, memory, AT) == len(data)
    finally:
        os.close(fd)
    assert disk.fua_writes == 1
    assert cut(disk) == 0
    same(bytes(disk.data[AT:AT + len(data)]), data, "what the target has")


def test_flush(volatile):
    """Without FUA a write is in the cache; the flush gets it out of there."""
    disk, device = volatile
    older, newer = noise(64 * KIB, 2), noise(64 * KIB, 3)
    with Direct(device) as volume:
        volume.write(AT, older)
        assert disk.cached and not disk.fua_writes
        volume.flush()
        assert not disk.cached
        volume.write(AT, newer)
        assert cut(disk) == len(newer) // disk.block_bytes
        same(volume.read(AT, len(older)), older, "what was read")
