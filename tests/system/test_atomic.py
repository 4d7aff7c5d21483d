# SPDX-License-Identifier: GPL-2.0
"""Atomic writes: what the disk promises, and that each write is one WRITE ATOMIC(16) or refused.

No target that there is has them, so it is the scripted one that does: see scripted/scsi.py.
"""

import errno
import mmap
import os

import pytest

from lab import md, network, storage
from lab.aio import IOCB_CMD_PWRITE, RWF_DSYNC, together
from lab.disk import Direct, noise, same
from lab.kernel import ATOMIC_WRITES
from lab.shell import read, wait_for, write
from scripted.scenario import Scenario
from scripted.scsi import WRITE_16, WRITE_ATOMIC_16, Atomic, number

pytestmark = pytest.mark.both
KIB, MIB = 1 << 10, 1 << 20
BLOCK = 512
#: linux/fs.h; Python's os does not know it.
RWF_ATOMIC = 0x40
#: Blocks: writes of 4 KiB to 64 KiB.
USUAL = Atomic(128, 8, 8)
QUICK = {"default_time2wait": 0, "login_timeout_ms": 10000}
FIGURES = ("unit_min", "unit_max", "max", "boundary")

atomic = pytest.mark.atomic


class Leg:
    """One LUN: its target, and what has been written there: (opcode, LBA, blocks, FUA)."""

    def __init__(self, server, index, offer):
        self.server = server
        self.written = []
        self.lose = 0           # writes whose connection is lost
        scenario = Scenario(f"leg {index}", hooks={"on_command": self.hook},
                            settings={"name": f"iqn.2024-01.org.example.istripe:leg{index}"})
        self.target = server.load(scenario, identity=f"6001405{index:025x}", atomic=offer)
        self.iqn = self.target.settings.name

    @property
    def disk(self):
        return self.target.disk

    async def hook(self, _run, conn, task):
        if task.opcode not in (WRITE_16, WRITE_ATOMIC_16):
            return False
        blocks = number(task.cdb, *((10, 4) if task.opcode == WRITE_16 else (12, 2)))
        self.written.append((task.opcode, number(task.cdb, 2, 8), blocks, bool(task.cdb[1] & 8)))
        if self.lose:
            self.lose -= 1
            conn.reset()
            return True
        return False


@pytest.fixture
def make_legs(make_server, make_volume, links):
    """make_legs(offers, ...): a volume over one LUN for each offer; the legs and the volume."""

    def make(*offers, paths=1, **options):
        legs = [Leg(make_server(), index, offer) for index, offer in enumerate(offers)]
        each = [{"portal": f"{links[0].address}:{leg.server.port}", "target_name": leg.iqn,
                 "lun": 0, **QUICK} for leg in legs]
        options = {"recovery_timeout_ms": 20000, **options}
        if paths > 1:
            volume = make_volume(legs[0].target, paths=links[:paths], path=QUICK, **options)
            for index, link in enumerate(links[:paths]):
                write(volume.leg / "paths" / str(index) / "portal",
                      f"{link.address}:{legs[0].server.port}")
        else:
            volume = make_volume(legs[0].target, path=each[0], more_legs=each[1:], **options)
        return legs, volume

    return make


def put(disk, at, data, flags=RWF_ATOMIC):
    with mmap.mmap(-1, len(data)) as memory:
        memory[:] = data
        assert os.pwritev(disk.fd, [memory], at, flags) == len(data)


def refused(code, disk, at, size):
    with pytest.raises(OSError) as error:
        put(disk, at, bytes(size))
    assert error.value.errno == code


def promised(volume):
    return tuple(int(volume.queue(f"atomic_write_{name}_bytes")) for name in FIGURES)


def place(leg_count, chunk, at):
    """(leg, offset on it) of an offset of the volume."""
    index, within = divmod(at, chunk)
    return index % leg_count, index // leg_count * chunk + within


def nothing_promised(volume, device):
    """Nor done."""
    assert promised(volume) == (0, 0, 0, 0)
    with Direct(device) as disk:
        refused(errno.EOPNOTSUPP, disk, 0, 4 * KIB)
        disk.write(0, noise(4 * KIB, 1))
        same(disk.read(0, 4 * KIB), noise(4 * KIB, 1), "what was read")


# What the disk promises


@atomic
@pytest.mark.parametrize("offers, chunk, wanted", [
    ([USUAL], 64, (4, 64, 64, 0)),
    ([Atomic(100, 8, 8)], 64, (4, 32, 48, 0)),
    ([Atomic(128)], 64, (0.5, 64, 64, 0)),
    ([USUAL] * 3, 64, (4, 64, 64, 64)),
    ([USUAL] * 2, 16, (4, 16, 16, 16)),
    ([USUAL, Atomic(48, 16, 1)], 64, (8, 16, 24, 64)),
    ([USUAL, USUAL], 256, (4, 64, 64, 256)),
], ids=["one leg", "no power of two", "single blocks", "a chunk", "more than a chunk",
        "legs that differ", "less than a chunk"])
def test_promises(make_legs, offers, chunk, wanted):
    """In KiB."""
    _, volume = make_legs(*offers, chunk_bytes=chunk * KIB)
    volume.enable()
    assert promised(volume) == tuple(figure * KIB for figure in wanted)


@atomic
@pytest.mark.parametrize("offers, chunk", [
    ([None], 64),
    ([USUAL, None], 64),
    ([None, USUAL], 64),
    ([USUAL, Atomic(128, 16, 16)], 4),
    ([Atomic(128, 8, 24)], 64),
    ([Atomic(128, 24, 8)], 64),
    ([Atomic(8, 8, 16)], 64),
    ([Atomic(4096, 2048, 2048)], 64),
    ([Atomic(0, 8, 8, 128, 64)], 64),
], ids=["nobody", "first leg only", "second leg only", "chunks that are too small",
        "granularity of 24 blocks", "alignment of 24 blocks", "granularity above the most",
        "nothing below 1 MiB", "with a boundary only"])
def test_promises_nothing(make_legs, offers, chunk):
    _, volume = make_legs(*offers, chunk_bytes=chunk * KIB)
    nothing_promised(volume, volume.enable())


@atomic
@pytest.mark.parametrize("kind", ["make_lio", "make_tgt"])
def test_other_targets_offer_nothing(request, make_volume, kind):
    volume = make_volume(request.getfixturevalue(kind)(8 * MIB))
    nothing_promised(volume, volume.enable())


# Writes


@atomic
@pytest.mark.parametrize("leg_count", [1, 3])
def test_one_command(make_legs, leg_count):
    """Each length, at the start, in the middle and at the end of a chunk, with FUA and without."""
    chunk = 64 * KIB
    legs, volume = make_legs(*[USUAL] * leg_count, chunk_bytes=chunk)
    with Direct(volume.enable()) as disk:
        for seed, (at, size, fua) in enumerate([
                (0, 4 * KIB, False),
                (5 * chunk, 64 * KIB, False),
                (4 * chunk + 16 * KIB, 16 * KIB, True),
                (3 * chunk - 4 * KIB, 4 * KIB, True),
                (7 * chunk + 32 * KIB, 32 * KIB, False)]):
            data = noise(size, seed)
            put(disk, at, data, RWF_ATOMIC | (RWF_DSYNC if fua else 0))
            index, start = place(leg_count, chunk, at) if leg_count > 1 else (0, at)
            found = [(role, *what) for role, leg in enumerate(legs) for what in leg.written]
            assert found == [(index, WRITE_ATOMIC_16, start // BLOCK, size // BLOCK, fua)]
            same(bytes(legs[index].disk.data[start:start + size]), data, "what the target has")
            same(disk.read(at, size), data, "what was read")
            legs[index].written.clear()
        # And those that do not ask for it are what they were.
        disk.write(0, noise(64 * KIB, 99))
        assert [what[0] for leg in legs for what in leg.written] == [WRITE_16]


@atomic
@pytest.mark.parametrize("leg_count", [1, 2])
def test_refused(make_legs, leg_count):
    """By the kernel; nothing of it reaches a target."""
    chunk = 64 * KIB
    legs, volume = make_legs(*[USUAL] * leg_count, chunk_bytes=chunk)
    with Direct(volume.enable()) as disk:
        refused(errno.EINVAL, disk, 0, 2 * chunk)
        refused(errno.EINVAL, disk, 0, 12 * KIB)
        refused(errno.EINVAL, disk, 0, 2 * KIB)
        refused(errno.EINVAL, disk, chunk - 4 * KIB, 8 * KIB)
        refused(errno.EINVAL, disk, 32 * KIB, chunk)
    assert [leg.written for leg in legs] == [[]] * leg_count
    assert not any(any(leg.disk.data) for leg in legs)


@atomic
@pytest.mark.parametrize("shift, alignment, kept", [
    (0, 128, True), (8, 8, True), (8, 16, False), (8, 128, False),
])
def test_where_the_data_start(make_legs, tmp_path, shift, alignment, kept):
    """Behind a superblock: the LUN's alignment counts from the LUN's start."""
    chunk = 64 * KIB
    legs, volume = make_legs(*[Atomic(128, alignment, 8)] * 2, chunk_bytes=chunk, metadata="md")
    write(volume.config / "metadata_create", "1")
    volume.enable()
    offset = int(read(volume.sysfs() / "data_offset_bytes")) + shift * BLOCK
    volume.disable()
    for leg in legs:
        head = tmp_path / "head"
        head.write_bytes(leg.disk.data[:8 * KIB])
        superblock = md.Super(head)
        md.edit(head, data_offset=offset // BLOCK, data_size=superblock["data_size"] - shift)
        leg.disk.data[:8 * KIB] = head.read_bytes()
        leg.written.clear()
    device = volume.enable()
    assert int(read(volume.sysfs() / "data_offset_bytes")) == offset
    if not kept:
        nothing_promised(volume, device)
        return
    assert promised(volume) == (max(alignment, 8) * BLOCK, chunk, chunk, chunk)
    with Direct(device) as disk:
        put(disk, 3 * chunk, noise(chunk, 1))
    assert [leg.written for leg in legs] == [[], [
        (WRITE_ATOMIC_16, (offset + chunk) // BLOCK, chunk // BLOCK, False)]]
    same(bytes(legs[1].disk.data[offset + chunk:offset + 2 * chunk]), noise(chunk, 1), "the data")


@atomic
def test_is_not_cut_over_paths(make_legs):
    """The policy that cuts every other request that is long enough."""
    (leg,), volume = make_legs(USUAL, paths=2, policy="interleave", chunk_bytes=16 * KIB)
    device = volume.enable()
    wait_for("both paths", lambda: read(volume.sysfs() / "state") == "live", 30)
    with Direct(device) as disk:
        disk.write(0, noise(64 * KIB, 1))
        assert [what[0] for what in leg.written] == [WRITE_16] * 2
        leg.written.clear()
        put(disk, 64 * KIB, noise(64 * KIB, 2))
    assert leg.written == [(WRITE_ATOMIC_16, 128, 128, False)]


@atomic
def test_is_sent_again_as_it_was(make_legs):
    """The session is lost with it."""
    (leg,), volume = make_legs(USUAL)
    with Direct(volume.enable()) as disk:
        leg.lose = 1
        put(disk, 64 * KIB, noise(32 * KIB, 1))
        assert leg.written == [(WRITE_ATOMIC_16, 128, 64, False)] * 2
        same(disk.read(64 * KIB, 32 * KIB), noise(32 * KIB, 1), "what was read")
    assert volume.reconnects() == 1


def put_together(disk, at, data, size):
    """Neighbouring atomic writes of one size, in one call: the block layer may join them."""
    memory = mmap.mmap(-1, len(data))
    memory[:] = data
    assert together(disk.fd, IOCB_CMD_PWRITE, memory, size, at, RWF_ATOMIC) == \
        [size] * (len(data) // size)


@atomic
@pytest.mark.parametrize("leg_count", [1, 2])
def test_joined(make_legs, leg_count):
    """Two in one command are whole as each of them is: none is in two commands, or two chunks."""
    chunk, size = 64 * KIB, 8 * KIB
    legs, volume = make_legs(*[USUAL] * leg_count, chunk_bytes=chunk)
    data = noise(4 * chunk, 1)
    with Direct(volume.enable()) as disk:
        # From the middle of a chunk.
        put_together(disk, chunk - 3 * size, data, size)
        same(disk.read(chunk - 3 * size, len(data)), data, "what was read")
    written = [what for leg in legs for what in leg.written]
    assert len(written) < len(data) // size, "nothing was joined"
    assert sum(blocks for _, _, blocks, _ in written) == len(data) // BLOCK
    for opcode, lba, blocks, _ in written:
        assert opcode == WRITE_ATOMIC_16 and blocks <= USUAL.longest
        assert lba % (size // BLOCK) == 0 and blocks % (size // BLOCK) == 0
        if leg_count > 1:
            assert lba * BLOCK // chunk == ((lba + blocks) * BLOCK - 1) // chunk


def comes_back(volume, times):
    wait_for("the next session", lambda: volume.reconnects() == times, 60)


@atomic
@pytest.mark.parametrize("offers, less", [
    ([Atomic(256, 8, 8)] * 2, Atomic(192, 8, 8)),
    ([Atomic(256, 8, 8), Atomic(128, 16, 16)], Atomic(128, 16, 16)),
    ([USUAL, None], None),
], ids=["longer than a chunk", "more than another leg", "not offered"])
def test_less_than_was_not_promised(make_legs, offers, less):
    """What the disk does not offer it does not need."""
    legs, volume = make_legs(*offers, chunk_bytes=64 * KIB)
    with Direct(volume.enable()) as disk:
        before = promised(volume)
        legs[0].disk.atomic = less
        network.kill_connections(port=legs[0].server.port)
        comes_back(volume, 1)
        assert promised(volume) == before
        if before[1]:
            put(disk, 0, noise(before[1], 1))
        else:
            disk.write(0, noise(4 * KIB, 1))


@atomic
def test_less_than_a_chunk(make_legs):
    """That the disk does need."""
    legs, volume = make_legs(*[Atomic(256, 8, 8)] * 2, chunk_bytes=64 * KIB)
    volume.enable()
    legs[0].disk.atomic = Atomic(120, 8, 8)
    network.kill_connections(port=legs[0].server.port)
    wait_for("the refusal", lambda: volume.state() == "refused", 60)
    assert "atomic writes" in read(volume.path_sysfs() / "last_error")
    legs[0].disk.atomic = Atomic(256, 8, 8)
    comes_back(volume, 1)


# With every kernel


def test_less_than_promised(make_legs):
    """A LUN that has less than at first is refused for so long, by a kernel that may rely on it."""
    (leg,), volume = make_legs(USUAL)
    device = volume.enable()
    written = storage.fill_pattern(device, MIB, seed=1)
    leg.disk.atomic = Atomic(256, 8, 8)
    network.kill_connections(port=leg.server.port)
    comes_back(volume, 1)
    leg.disk.atomic = Atomic(64, 8, 8)
    network.kill_connections(port=leg.server.port)
    if ATOMIC_WRITES:
        wait_for("the refusal", lambda: volume.state() == "refused", 60)
        assert "atomic writes" in read(volume.path_sysfs() / "last_error")
        leg.disk.atomic = USUAL
    comes_back(volume, 2)
    storage.drop_caches()
    assert storage.sha256(device, MIB) == written
