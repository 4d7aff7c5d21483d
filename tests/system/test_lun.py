# SPDX-License-Identifier: GPL-2.0
"""What a disk says about itself, against what the LUN says and what the stock disk shows."""

import os
import re
from pathlib import Path

import pytest

from lab import lio, storage
from lab.disk import Direct, noise, same
from lab.shell import read, run, status
from scripted.scenario import HONEST, Scenario
from scripted.scsi import UNMAP, WRITE_16, WRITE_SAME_16

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30


def stock_queue(disk, name):
    return read(Path("/sys/block") / disk.name / "queue" / name)


def vpd(disk, page):
    return run("sg_vpd", f"--page={page}", disk)


def number(text, name):
    """Some are hexadecimal."""
    return int(re.search(rf"{name}[^:]*: (0x[0-9a-f]+|\d+)", text).group(1), 0)


@pytest.mark.parametrize("block_bytes", [512, 4096])
@pytest.mark.parametrize("write_cache", [True, False], ids=["write-back", "write-through"])
def test_as_the_stock_disk(make_lio, make_volume, stock, link, block_bytes, write_cache):
    target = make_lio(lio.Lun(64 * MIB, block_bytes=block_bytes, write_cache=write_cache))
    volume = make_volume(target)
    device = volume.enable()
    disk = stock.login(link.portal(), target.iqn)
    assert volume.size_bytes() == 64 * MIB
    for name in ("logical_block_size", "physical_block_size", "rotational", "write_cache", "fua",
                 "discard_granularity"):
        assert volume.queue(name) == stock_queue(disk, name), name
    assert volume.queue("logical_block_size") == str(block_bytes)
    assert volume.queue("write_cache") == ("write back" if write_cache else "write through")
    with open(device, "r+b", buffering=0) as file:
        file.write(os.urandom(block_bytes))
    assert read(f"/sys/block/{device.name}/ro") == "0"


def test_limits_follow_vpd_b0(make_lio, make_volume, stock, link):
    target = make_lio(lio.Lun(64 * MIB))
    volume = make_volume(target)
    volume.enable()
    limits = vpd(stock.login(link.portal(), target.iqn), "bl")
    transfer_blocks = number(limits, "Maximum transfer length")
    assert 0 < int(volume.queue("max_hw_sectors_kb")) * 2 <= transfer_blocks
    unmap_blocks = number(limits, "Maximum unmap LBA count")
    assert 0 < int(volume.queue("discard_max_hw_bytes")) <= unmap_blocks * 512 * number(
        limits, "Maximum unmap block descriptor count")
    same_blocks = number(limits, "Maximum write same length")
    assert 0 < int(volume.queue("write_zeroes_max_bytes")) <= same_blocks * 512


@pytest.mark.both
@pytest.mark.parametrize("legs", [1, 2])
def test_zeroes_of_4_gib_at_a_time(make_lio, make_volume, legs):
    """Linux 6.1 counts the bytes of one request in 32 bits, and leaves out what does not fit."""
    luns = [lio.Lun(64 * MIB, attributes={"max_write_same_len": 0xFFFFFFFF}) for _ in range(legs)]
    volume = make_volume(make_lio(*luns), legs=legs)
    volume.enable()
    assert GIB <= int(volume.queue("write_zeroes_max_bytes")) < 4 * GIB


@pytest.mark.parametrize("optimal_sectors", [8, 16, 1024])
def test_small_optimal_size_is_no_limit(make_lio, make_volume, optimal_sectors):
    """A target that calls 4 KiB optimal does not get a disk of 4 KiB requests."""
    lun = lio.Lun(64 * MIB, attributes={"optimal_sectors": optimal_sectors})
    volume = make_volume(make_lio(lun))
    volume.enable()
    assert int(volume.queue("max_sectors_kb")) >= 512
    assert int(volume.queue("max_sectors_kb")) <= int(volume.queue("max_hw_sectors_kb"))


@pytest.mark.parametrize(("blocks", "hint"), [(2048, MIB), (2 * MIB, 0), (0xFFFFFFFF, 0)])
def test_huge_optimal_size_is_no_hint(server, link, make_volume, blocks, hint):
    """The kernel reads ahead as much as the hint says, or twice that: a GiB for a wrong figure."""
    target = server.load(HONEST, optimal_transfer=blocks)
    volume = make_volume(target, metadata="none",
                         path={"portal": f"{link.address}:{server.port}"})
    volume.enable()
    assert int(volume.queue("optimal_io_size")) == hint
    assert int(volume.queue("read_ahead_kb")) <= 2 * MIB // KIB
    volume.disable()


@pytest.mark.parametrize(("granularity", "preferred", "smallest", "hint"),
                         [(0xFFFF, 0, 4096, 0), (128, 192, 64 * KIB, 0), (128, 256, 64 * KIB, 128 * KIB)])
def test_hints_that_do_not_fit(server, link, make_volume, granularity, preferred, smallest, hint):
    """As sd does: no request is as long, and nothing is aligned, by figures that make no sense."""
    target = server.load(HONEST, granularity=granularity, optimal_transfer=preferred,
                         physical_exponent=3)
    volume = make_volume(target, metadata="none",
                         path={"portal": f"{link.address}:{server.port}"})
    volume.enable()
    assert int(volume.queue("minimum_io_size")) == smallest
    assert int(volume.queue("optimal_io_size")) == hint


@pytest.mark.parametrize(("most", "opcode"), [(8192, UNMAP), (0, WRITE_SAME_16)])
def test_discard_of_an_old_lun(server, link, make_volume, most, opcode):
    """Thin, without a page that tells which commands deallocate: as sd does, one is tried."""
    seen = []

    async def hook(run, conn, task):
        seen.append(task.opcode)
        return False

    target = server.load(Scenario("old", times=1 << 20, hooks={"on_command": hook}),
                         without=(0xB2,), max_unmap=most)
    volume = make_volume(target, metadata="none",
                         path={"portal": f"{link.address}:{server.port}"})
    device = volume.enable()
    assert int(volume.queue("discard_max_bytes")) >= MIB
    run("blkdiscard", "-l", MIB, device)
    assert opcode in seen


def test_limits_of_an_old_page(server, link, make_volume):
    """VPD B0h of SBC-2 ends behind the lengths of transfers, which count; B1h has nothing to say.

    sd reads it alike (sd_read_block_limits()).
    """
    target = server.load(HONEST, max_transfer=64, cut_pages={0xB0: 12, 0xB1: 1})
    volume = make_volume(target, metadata="none",
                         path={"portal": f"{link.address}:{server.port}"})
    volume.enable()
    assert volume.queue("max_hw_sectors_kb") == "32"
    assert volume.queue("rotational") == "1"


@pytest.mark.parametrize("vendor, product", [("SYNOLOGY", "iSCSI Storage"),
                                             ("QNAP", "iSCSI Storage"),
                                             ("MSFT", "Virtual HD")])
def test_limit_that_a_target_does_not_tell(server, link, make_volume, vendor, product):
    """The kernel's list of devices (scsi_devinfo.c) has 1024 sectors for these."""
    lengths = []

    async def hook(run, conn, task):
        if task.opcode == WRITE_16:
            lengths.append(int.from_bytes(task.cdb[10:14], "big"))
        return False

    target = server.load(Scenario("lengths", hooks={"on_command": hook}), vendor=vendor,
                         product=product)
    volume = make_volume(target, metadata="none",
                         path={"portal": f"{link.address}:{server.port}"})
    with Direct(volume.enable()) as disk:
        assert volume.queue("max_hw_sectors_kb") == "512"
        disk.write(0, noise(2 * MIB, 1))
        same(disk.read(0, 2 * MIB), noise(2 * MIB, 1), "what was read")
    assert max(lengths) == 1024


@pytest.mark.parametrize("exponent,lowest", [(0, 0), (3, 0), (3, 7)])
def test_physical_blocks(server, link, make_volume, stock, exponent, lowest):
    """Blocks of 512 bytes, 2^exponent of them one of the medium's, the first one at LBA `lowest`.

    sd tells the same, and so do several legs that are equal in that.
    """
    target = server.load(HONEST, physical_exponent=exponent, lowest_aligned=lowest, doors=2)
    portal = f"{link.address}:{server.port}"
    one, two = (make_volume(target, legs=legs, path={"portal": portal})
                for legs in (1, 2))
    names = "logical_block_size", "physical_block_size", "minimum_io_size"
    blocks = ["512", str(512 << exponent), str(512 << exponent)]
    one.enable()
    assert [one.queue(name) for name in names] == blocks
    assert alignment(one.device()) == 512 * lowest
    one.disable()
    two.enable()
    assert [two.queue(name) for name in names[:2]] == blocks[:2]
    assert alignment(two.device()) == 512 * lowest
    two.disable()
    disk = stock.login(portal, target.settings.name)
    assert [stock_queue(disk, name) for name in names] == blocks
    assert alignment(disk.name) == 512 * lowest


@pytest.mark.parametrize("settings,chunk_bytes", [
    ([{"physical_exponent": 3, "lowest_aligned": 7}, {"physical_exponent": 3}], 64 * KIB),
    ([{"physical_exponent": 3, "lowest_aligned": 7},
      {"physical_exponent": 4, "lowest_aligned": 7}], 64 * KIB),
    ([{"physical_exponent": 4, "lowest_aligned": 7}] * 2, 4 * KIB),
], ids=["start", "size", "chunk"])
def test_physical_blocks_without_a_common_alignment(make_server, link, make_volume, settings,
                                                    chunk_bytes):
    """Legs that begin differently, or whose blocks chunks would cut: of those nothing is told."""
    servers = [make_server() for _ in settings]
    for index, (server, each) in enumerate(zip(servers, settings)):
        server.load(HONEST, identity=f"6001405{index:025x}", **each)
    legs = [{"portal": f"{link.address}:{server.port}", "lun": 0,
             "target_name": server.target.settings.name} for server in servers]
    volume = make_volume(servers[0].target, path=legs[0], more_legs=legs[1:],
                         chunk_bytes=chunk_bytes)
    volume.enable()
    largest = max(512 << each["physical_exponent"] for each in settings)
    assert volume.queue("physical_block_size") == str(largest)
    assert alignment(volume.device()) == 0


def alignment(name):
    return int(read(Path("/sys/block") / name / "alignment_offset"))


def test_non_rotational(make_lio, make_volume):
    volume = make_volume(make_lio(lio.Lun(8 * MIB, attributes={"is_nonrot": 1})))
    volume.enable()
    assert volume.queue("rotational") == "0"


def test_rotational(make_lio, make_volume):
    volume = make_volume(make_lio(lio.Lun(8 * MIB, attributes={"is_nonrot": 0})))
    volume.enable()
    assert volume.queue("rotational") == "1"


@pytest.mark.parametrize("block_bytes", [512, 4096])
def test_discard(make_lio, make_volume, block_bytes):
    lun = lio.Lun(64 * MIB, block_bytes=block_bytes)
    volume = make_volume(make_lio(lun))
    device = volume.enable()
    storage.fill_pattern(device, 32 * MIB, seed=1)
    storage.drop_caches()
    before = storage.allocated_bytes(lun.file)
    assert before >= 32 * MIB
    run("blkdiscard", "-o", 8 * MIB, "-l", 16 * MIB, device)
    assert storage.allocated_bytes(lun.file) <= before - 15 * MIB
    data = lun.file.read_bytes()
    assert not any(data[8 * MIB : 24 * MIB])
    assert any(data[8 * MIB - 4096 : 8 * MIB]) and any(data[24 * MIB : 24 * MIB + 4096])


def test_whole_disk_discard(make_lio, make_volume):
    """More than one UNMAP command's worth."""
    lun = lio.Lun(256 * MIB)
    volume = make_volume(make_lio(lun))
    device = volume.enable()
    storage.fill_pattern(device, 32 * MIB, seed=2)
    storage.drop_caches()
    run("blkdiscard", device)
    assert storage.allocated_bytes(lun.file) == 0


def test_no_discard_without_unmap(make_lio, make_volume):
    volume = make_volume(make_lio(lio.Lun(8 * MIB, unmap=False, write_same=False)))
    device = volume.enable()
    assert volume.queue("discard_max_bytes") == "0"
    code, words = status("blkdiscard", device)
    assert code != 0 and "not supported" in words


@pytest.mark.parametrize("block_bytes", [512, 4096])
def test_write_zeroes(make_lio, make_volume, block_bytes):
    lun = lio.Lun(64 * MIB, block_bytes=block_bytes)
    volume = make_volume(make_lio(lun))
    device = volume.enable()
    storage.fill_pattern(device, 32 * MIB, seed=4)
    storage.drop_caches()
    run("blkdiscard", "--zeroout", "-o", 4 * MIB, "-l", 20 * MIB, device)
    data = lun.file.read_bytes()
    assert not any(data[4 * MIB : 24 * MIB])
    assert any(data[4 * MIB - 4096 : 4 * MIB]) and any(data[24 * MIB : 24 * MIB + 4096])


def test_lun_numbers(make_lio, make_volume):
    """Peripheral (below 256) and flat (from 256) addressing reach the LUN they mean."""
    small, large = lio.Lun(8 * MIB), lio.Lun(16 * MIB)
    target = make_lio(small)
    large.create()
    target.luns.append(large)
    target.add_lun(300, large)
    volume = make_volume(target, path={"lun": 300})
    volume.enable()
    assert volume.size_bytes() == 16 * MIB


def test_more_than_2_tib(make_lio, make_volume):
    """Sixteen byte CDBs all the way: the last block of 8 TiB is another one than block 0."""
    lun = lio.Lun(8 << 40)
    volume = make_volume(make_lio(lun))
    device = volume.enable()
    assert volume.size_bytes() == 8 << 40
    text = os.urandom(4096)
    with open(device, "r+b", buffering=0) as file:
        file.seek((8 << 40) - 4096)
        file.write(text)
        os.fsync(file.fileno())
    with open(lun.file, "rb") as file:
        assert file.read(4096) == bytes(4096)
        file.seek((8 << 40) - 4096)
        assert file.read(4096) == text


def test_tgt_lun(make_tgt, make_volume):
    volume = make_volume(make_tgt(64 * MIB))
    volume.enable()
    assert volume.size_bytes() == 64 * MIB
    assert volume.queue("logical_block_size") == "512"
