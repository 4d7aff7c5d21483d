# SPDX-License-Identifier: GPL-2.0
"""LUNs that take no writes: the disk is read-only, says why, and goes on reading."""

import errno
import os
from pathlib import Path

import pytest

from lab import lio
from lab.disk import Direct, Reader, noise
from lab.istripe import EnableError
from lab.shell import read, udev_settle, wait_for, write
from scripted.scenario import Scenario
from scripted.scsi import INVALID_FIELD, WRITE_16, Disk, Refuse, Result

pytestmark = pytest.mark.both
KIB, MIB = 1 << 10, 1 << 20
MODE_CHANGED = (6, 0x2A, 1)
#: Mode pages: all of them, and the vendor's.
ALL_PAGES, VENDORS_PAGE = 0x3F, 0x00


class Pageless(Disk):
    """It has no caching page, and knows one request for others. sd makes both, for their header."""

    def __init__(self, page, **options):
        super().__init__(**options)
        self.page = page

    def _mode_pages(self, cdb):
        if cdb[2] & 0x3F != self.page:
            raise Refuse(*INVALID_FIELD)
        return b""


@pytest.fixture
def scripted(server, make_volume, link):
    """scripted(...): a volume of the scripted target's LUN, and the target."""

    def make(hooks=None, **options):
        target = server.load(Scenario("takes no writes", hooks=hooks or {}))
        path = {"portal": f"{link.address}:{server.port}", **options.pop("path", {})}
        return make_volume(target, path=path, **options), target

    return make


def is_read_only(device):
    return read(Path("/sys/block") / Path(device).name / "ro") == "1"


def refuses_writers(device):
    try:
        os.close(os.open(device, os.O_RDWR))
    except OSError as error:
        return error.errno == errno.EROFS
    return False


def protected(volume, leg=0):
    return read(volume.leg_sysfs(leg) / "write_protected")


def refused(disk):
    with pytest.raises(OSError) as failed:
        disk.write(0, noise(4 * KIB, 2))
    return failed.value.errno


def test_one_leg_is(make_lio, make_volume, stock, link, kernel_log):
    """From the start; the stock stack's disk of this LUN is read-only, too."""
    target = make_lio(lio.Lun(32 * MIB), lio.ReadOnlyLun(32 * MIB))
    volume = make_volume(target, legs=2)
    device = volume.enable()
    assert is_read_only(device) and refuses_writers(device)
    assert [protected(volume, leg) for leg in (0, 1)] == ["no", "reported"]
    data = target.luns[1].file.read_bytes()
    chunk = int(read(volume.sysfs() / "chunk_bytes"))
    with open(device, "rb") as file:
        file.seek(chunk)
        assert file.read(chunk) == data[:chunk]
    disk = stock.login(link.portal(), target.iqn, lun=1)
    # Each time sd asks, and udev's open() may make it ask, its disk is writable until the answer.
    udev_settle()
    wait_for("sd to know", lambda: is_read_only(disk) and refuses_writers(disk))
    assert kernel_log.matching(f"{volume.name}/1: the LUN says that it is write protected")
    assert kernel_log.matching(f"{volume.name}: {device.name} is read-only")


@pytest.mark.allow_log("error, dev istripe", "writes to a LUN that takes none")
def test_it_becomes_so_and_ceases(scripted, kernel_log):
    """While it is in use: what reads goes on, over the same session."""
    volume, target = scripted()
    device = volume.enable()
    assert not is_read_only(device) and protected(volume) == "no"
    reader = Reader(device)
    try:
        with Direct(device) as disk:
            disk.write(0, noise(4 * KIB, 1))
            # Without a word: the next write finds out.
            target.disk.write_protected = True
            reader.goes_on()
            assert refused(disk) == errno.EREMOTEIO
            wait_for("a read-only disk", lambda: is_read_only(device))
            assert protected(volume) == "refused" and refuses_writers(device)
            assert refused(disk) == errno.EPERM
            reader.goes_on()
            # With a word: it is asked.
            target.disk.attentions.append(MODE_CHANGED)
            wait_for("the LUN to be asked", lambda: protected(volume) == "reported")
            assert is_read_only(device)
            reader.goes_on()
            target.disk.write_protected = False
            target.disk.attentions.append(MODE_CHANGED)
            wait_for("a disk to write to", lambda: not is_read_only(device))
            assert protected(volume) == "no"
            assert kernel_log.matching("/0: the LUN is not write protected any more")
            disk.write(0, noise(4 * KIB, 3))
            # Asked because somebody says so.
            target.disk.write_protected = True
            volume.rescan()
            wait_for("a read-only disk", lambda: is_read_only(device))
            target.disk.write_protected = False
            volume.rescan()
            wait_for("a disk to write to", lambda: not is_read_only(device))
            disk.write(0, noise(4 * KIB, 4))
    finally:
        reader.end()
    assert reader.errors == []
    assert volume.reconnects() == 0 and read(volume.path_sysfs() / "last_error") == ""
    assert kernel_log.matching(f"{volume.name}: {device.name} is writable again")


@pytest.mark.parametrize("page", [ALL_PAGES, VENDORS_PAGE], ids=["all", "vendors"])
def test_without_a_caching_page(scripted, page):
    """The header is the same in front of any page: no write is needed to find out, and it stays so."""
    volume, target = scripted()
    target.disk = Pageless(page, write_protected=True)
    device = volume.enable()
    assert is_read_only(device) and refuses_writers(device)
    assert protected(volume) == "reported"
    volume.rescan()
    assert is_read_only(device) and protected(volume) == "reported"
    target.disk.write_protected = False
    volume.rescan()
    wait_for("a disk to write to", lambda: not is_read_only(device))
    assert protected(volume) == "no"
    assert volume.reconnects() == 0
    volume.disable()
    with Direct(volume.enable()) as disk:
        disk.write(0, noise(4 * KIB, 1))
    # There may be a cache; the header says that FUA passes it.
    assert volume.queue("write_cache") == "write back" and volume.queue("fua") == "1"


async def refuse_early(run, conn, task):
    if task.opcode != WRITE_16 or not run.target.disk.write_protected:
        return False
    run.hits += 1
    conn.session.tasks.pop(task.itt, None)
    await run.target.scsi_response(conn, task, Result.check(7, 0x27, 0), (2, task.edtl))
    return True


@pytest.mark.allow_log("error, dev istripe", "writes to a LUN that takes none")
@pytest.mark.parametrize("rescan", [True, False])
def test_it_refuses_before_it_asks_for_data(scripted, rescan):
    """The answer comes instead of an R2T. sd fails the write alike, and its disk stays writable."""
    volume, target = scripted({"on_command": refuse_early},
                              path={"immediate_data": "No", "initial_r2t": "Yes"})
    device = volume.enable()
    with Direct(device) as disk:
        disk.write(0, noise(64 * KIB, 1))
        target.disk.write_protected = True
        assert refused(disk) == errno.EREMOTEIO
        wait_for("a read-only disk", lambda: is_read_only(device))
        assert disk.read(0, 64 * KIB) == noise(64 * KIB, 1)
        target.disk.write_protected = False
        if rescan:
            volume.rescan()
        wait_for("a disk to write to", lambda: not is_read_only(device), 120)
        disk.write(0, noise(64 * KIB, 2))
        assert disk.read(0, 64 * KIB) == noise(64 * KIB, 2)
    assert target.run.hits == 1
    assert volume.reconnects() == 0 and read(volume.path_sysfs() / "last_error") == ""


def test_superblocks(scripted):
    """Assembled read-only; what would write superblocks is refused before the first one."""
    volume, target = scripted(metadata="md")
    target.disk.write_protected = True
    before = bytes(target.disk.data)
    write(volume.config / "metadata_create", 1)
    with pytest.raises(EnableError) as failed:
        volume.enable()
    assert failed.value.number == errno.EROFS
    assert "leg 0 is write protected: superblocks cannot be written" in failed.value.reason
    assert target.disk.data == before
    target.disk.write_protected = False
    write(volume.config / "metadata_create", 1)
    with Direct(volume.enable()) as disk:
        disk.write(0, noise(4 * KIB, 5))
    volume.disable()
    target.disk.write_protected = True
    device = volume.enable()
    assert is_read_only(device)
    with open(device, "rb") as file:
        assert file.read(4 * KIB) == noise(4 * KIB, 5)
    size = volume.size_bytes()
    target.disk.data.extend(bytes(4 * MIB))
    with pytest.raises(OSError) as refusal:
        volume.rescan()
    assert refusal.value.errno == errno.EROFS and volume.size_bytes() == size
    target.disk.write_protected = False
    volume.rescan()
    assert volume.size_bytes() > size
    wait_for("a disk to write to", lambda: not is_read_only(device))


def test_superblocks_of_a_leg_without_a_caching_page(make_server, make_volume, link):
    """The last leg is known to take none before the first one gets its superblock."""
    servers = [make_server(), make_server()]
    legs = []
    for index, server in enumerate(servers):
        server.load(Scenario("takes no writes"), identity=f"6001405{index:025x}")
        legs.append({"portal": f"{link.address}:{server.port}", "target_name": server.target.iqn,
                     "lun": 0})
    servers[1].target.disk = Pageless(ALL_PAGES, write_protected=True, identity=f"6001405{1:025x}")
    before = bytes(servers[0].target.disk.data)
    volume = make_volume(servers[0].target, path=legs[0], more_legs=legs[1:], metadata="md")
    write(volume.config / "metadata_create", 1)
    with pytest.raises(EnableError) as failed:
        volume.enable()
    assert failed.value.number == errno.EROFS
    assert "leg 1 is write protected: superblocks cannot be written" in failed.value.reason
    assert servers[0].target.disk.data == before
