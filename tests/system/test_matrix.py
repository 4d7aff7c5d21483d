# SPDX-License-Identifier: GPL-2.0
"""Data are right whatever the volume's shape: legs, chunk, connections, metadata.

fio verifies what it writes; then the stock initiator, with dm-stripe or mdadm above it, reads what
istripe has written, and istripe reads what that has.
"""

import contextlib
import itertools

import pytest

from conftest import Size
from lab import dm, lio, md, storage
from lab.shell import read

KIB, MIB = 1 << 10, 1 << 20
pytestmark = pytest.mark.timeout_s(900)

LEGS = (1, 2, 3, 5, 8)
CHUNKS = (4 * KIB, 64 * KIB, MIB)
#: How a path has its connections: its settings, and what its session must have.
WAYS = {"one": ({}, 1), "mcs2": ({"multi": "mcs", "connections": 2}, 2)}
METADATA = ("none", "md")
NO_WAIT = {"DefaultTime2Wait": 0, "MaxConnections": 2, **lio.UNKNOWN}
#: Superblock, data offset, and what is less than a chunk.
ROOM_BYTES = 3 * MIB


def pairwise():
    """Each value of one of the four with each value of another one, in few cells.

    Neighbours in the list are alike: of what is shared each kernel gets every second one.
    """
    cells = []
    for (i, legs), (j, chunk_bytes) in itertools.product(enumerate(LEGS), enumerate(CHUNKS)):
        way = list(WAYS)[(i + j) % 2]
        cells.append((legs, chunk_bytes, way, METADATA[(i + j) // 2 % 2]))
    return sorted(cells, key=lambda cell: cell[2:])


CELLS = list(itertools.product(LEGS, CHUNKS, WAYS, METADATA)) if Size.full else [
    pytest.param(*cell, marks=[pytest.mark.long] if number % 3 else [])
    for number, cell in enumerate(pairwise())]


@contextlib.contextmanager
def other_stack(stock, link, target, volume, chunk_bytes, size_bytes):
    """The same LUNs over iscsi_tcp, as one disk."""
    volume.disable()
    storage.drop_caches()
    disks = stock.login_all(link.portal(), target.iqn, len(target.luns))
    whole = (md.assembled(disks) if volume.settings["metadata"] == "md" else
             dm.striped(disks, chunk_bytes, size_bytes // 512))
    with whole as device:
        yield device
    stock.logout()


def fitting_bytes(size, legs):
    """Of each LUN, so that all together hold what a cell writes."""
    return -(-size.cell_bytes // legs // MIB) * MIB + ROOM_BYTES


@pytest.mark.parametrize("legs,chunk_bytes,way,metadata", CELLS)
def test_verify_and_cross_read(make_lio, make_volume, verify, size, stock, link, legs, chunk_bytes,
                               way, metadata):
    md.prepare()
    path, connections = WAYS[way]
    # Digests and large blocks here and there; test_data.py has all of them.
    digest = "CRC32C,None" if legs % 2 else "None"
    block_bytes = 4096 if legs in (3, 8) else 512
    target = make_lio(*[lio.Lun(fitting_bytes(size, legs), block_bytes) for _ in range(legs)],
                      params=NO_WAIT)
    volume = make_volume(target, legs=legs, chunk_bytes=chunk_bytes, metadata=metadata,
                         metadata_create=int(metadata == "md"),
                         path={**path, "data_digest": digest})
    device = volume.enable()
    size_bytes = volume.size_bytes()
    verify(device, total_bytes=size.cell_bytes, jobs=4, block_bytes=block_bytes, largest_bytes=MIB)
    for leg in range(legs):
        assert read(volume.path_sysfs(leg) / "session" / "connections") == str(connections)
        assert int(read(volume.leg_sysfs(leg) / "commands")) > 0
    written = storage.sha256(device, size_bytes)
    with other_stack(stock, link, target, volume, chunk_bytes, size_bytes) as witness:
        assert storage.sha256(witness, size_bytes) == written
        written = storage.fill_pattern(witness, size_bytes, seed=legs)
    assert storage.sha256(volume.enable(), size_bytes) == written
