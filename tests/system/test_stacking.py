# SPDX-License-Identifier: GPL-2.0
"""What a disk has to be for what administrators put on disks, and for tools that look at them."""

import contextlib
import fcntl
import json
import os
import re
import struct
from pathlib import Path

import pytest

from lab import lio, md, network, stacking
from lab.shell import LabError, read, run, status, udev_settle, wait_for

MIB = 1 << 20
LUN_BYTES = 64 * MIB
#: Little and quick: what is above the disk is not on trial, but whether it takes the disk.
SHAPE = {"total_bytes": 8 * MIB, "jobs": 2, "largest_bytes": MIB}


@pytest.fixture
def make_disks(make_lio, make_volume, udev_rules):
    """make_disks(count, ...): volumes that are up, of one LUN each."""

    def make(count, **options):
        target = make_lio(*[lio.Lun(LUN_BYTES) for _ in range(count)])
        volumes = [make_volume(target, lun=number, **options) for number in range(count)]
        return volumes, [volume.enable() for volume in volumes]

    return make


@pytest.fixture
def lvm(tmp_path):
    folder = tmp_path / "lvm"
    folder.mkdir()
    return stacking.Lvm(folder)


TEXT = b"it is still there, "


def mark(device, more=""):
    """Writes a few words to the beginning of a device."""
    with open(device, "r+b") as disk:
        disk.write(TEXT + more.encode())
        os.fsync(disk.fileno())


def marked(device, more=""):
    """Whether they are there."""
    text = TEXT + more.encode()
    with open(device, "rb") as disk:
        return disk.read(len(text)) == text


def test_lvm(make_disks, lvm, verify):
    """A volume group over two volumes comes back when they do, under whatever number."""
    volumes, disks = make_disks(2, metadata="md", metadata_create=1)
    lvm("vgcreate", "data", *disks)
    lvm("lvcreate", "-y", "-W", "n", "-i", 2, "-l", "100%FREE", "-n", "db", "data")
    verify("/dev/mapper/data-db", **SHAPE)
    mark("/dev/mapper/data-db")
    lvm("vgchange", "-an", "data")
    identities = {str(disk): ("sys_wwid", read(f"/sys/block/{disk.name}/wwid")) for disk in disks}
    assert lvm.devices() == identities
    for volume in volumes:
        volume.disable()
    swapped = [volume.enable() for volume in reversed(volumes)]
    lvm("vgchange", "-ay", "data")
    assert marked("/dev/mapper/data-db")
    udev_settle()
    lvm("vgremove", "-f", "data")
    assert sorted(swapped) == sorted(disks)


def test_md(make_disks, verify):
    """A mirror over two volumes is put together by udev when they are up again."""
    volumes, disks = make_disks(2)
    md.prepare()
    run("modprobe", "raid1")
    with md.created(disks, level="1", more=("--assume-clean", "--homehost=any")) as array:
        verify(array, **SHAPE)
        mark(array)
        uuid = md.Super(disks[0]).uuid
    for volume in volumes:
        volume.disable()
    md.CONFIG.write_text(f"ARRAY {md.ARRAY} UUID={uuid}\n", encoding="ascii")
    try:
        for volume in volumes:
            volume.enable()
        # The file is there when the first disk has been put in and the array runs.
        degraded = Path(f"/sys/block/{md.ARRAY.name}/md/degraded")
        wait_for(f"{md.ARRAY} by udev", lambda: md.ARRAY.is_block_device() and
                 degraded.exists() and read(degraded) == "0", 60)
        assert marked(md.ARRAY)
    finally:
        md.stop()
        md.prepare()


def test_luks(make_disks, verify):
    _, disks = make_disks(1)
    with stacking.luks(disks[0]) as plain:
        verify(plain, **SHAPE)
    # udev hears of what has been written when the disk is closed, and looks at it then.
    wait_for("udev to know it", lambda: "crypto_LUKS" in run(
        "udevadm", "info", "--query=property", disks[0]), 60)


def test_dm_cache(make_disks, verify):
    """A volume that is cached, by one volume, with metadata on a third."""
    _, disks = make_disks(3)
    with stacking.dm_cache(*disks, sectors=LUN_BYTES // 512) as cached:
        verify(cached, **SHAPE)


def test_bcache(make_disks, verify):
    _, disks = make_disks(2)
    with stacking.bcache(*disks) as cached:
        verify(cached, **SHAPE)


def test_multipath_leaves_it_alone(make_disks):
    """Paths are ours: device-mapper multipath, as it is configured by default, takes no volume."""
    _, disks = make_disks(1)
    code, said = stacking.tool_status("multipath", "-v3", "-c", disks[0])
    assert code == 1, said
    assert f"{disks[0].name}: device node name blacklisted" in said


COLUMNS = ("model", "serial", "wwn", "vendor", "tran")


def listed(disk):
    out = run("lsblk", "-J", "-d", "-o", ",".join(COLUMNS).upper(), disk)
    return tuple(json.loads(out)["blockdevices"][0][column] for column in COLUMNS)


def assert_listed(disk, *wanted):
    """The kernel may tell udev of the disk only after its node is there."""
    with contextlib.suppress(LabError):
        wait_for("udev to know the disk", lambda: listed(disk) == wanted)
    assert listed(disk) == wanted


@pytest.mark.parametrize("rules", (True, False), ids=("udev", "sysfs"))
def test_lsblk(make_lio, make_volume, request, rules):
    """With superblocks a volume has an identity of its own; of one LUN without, that LUN's."""
    if rules:
        request.getfixturevalue("udev_rules")
    target = make_lio(*[lio.Lun(LUN_BYTES) for _ in range(2)])
    # Before there are superblocks, for which mdadm would take the disk of one LUN.
    bare = make_volume(target)
    disk = bare.enable()
    leg = bare.leg_sysfs(0)
    wwid = read(leg / "designator")
    assert read(f"/sys/block/{disk.name}/wwid") == wwid
    assert_listed(disk, "volume", read(leg / "serial"), wwid if rules else None, "istripe", None)
    bare.disable()
    both = make_volume(target, legs=2)
    assert_listed(both.enable(), "volume", None, None, "istripe", None)
    both.disable()
    striped = make_volume(target, legs=2, metadata="md", metadata_create=1)
    disk = striped.enable()
    uuid = read(striped.sysfs() / "array_uuid").replace(":", "")
    wwid = "uuid.{}-{}-{}-{}-{}".format(*re.fullmatch(
        r"(.{8})(.{4})(.{4})(.{4})(.{12})", uuid).groups())
    assert read(f"/sys/block/{disk.name}/wwid") == wwid
    # Of the WWN it hears from udev only; a transport it knows of by the names of drivers only.
    assert_listed(disk, "volume", uuid, wwid if rules else None, "istripe", None)


def links_to(device, folder):
    directory = Path("/dev/disk") / folder
    return {entry.name for entry in directory.iterdir() if entry.resolve() == device} \
        if directory.is_dir() else set()


def wait_links(device, folder, names):
    """The kernel may tell udev of the disk only after its node is there."""
    wait_for(f"the links {', '.join(names)}", lambda: links_to(device, folder) == names)


def test_links(make_disks):
    """By name and by identity; none by path, as there are many, and they come and go."""
    volumes, disks = make_disks(1, metadata="md", metadata_create=1)
    name = volumes[0].name
    wwid = read(f"/sys/block/{disks[0].name}/wwid")
    wait_links(disks[0], "by-id", {f"istripe-{name}", f"istripe-{wwid}"})
    wait_links(disks[0], "by-diskseq", {read(f"/sys/block/{disks[0].name}/diskseq")})
    assert links_to(disks[0], "by-path") == set()


@pytest.mark.parametrize("recovery_ms, state", [(1000, "failed"), (-1, "waiting")])
@pytest.mark.allow_log("error, dev istripe", "udev and the page cache read it meanwhile")
def test_links_without_a_path(make_disks, link, recovery_ms, state):
    """Whatever makes udev look at it: nobody can read it, and what is on it is still there."""
    volumes, (disk,) = make_disks(1, recovery_timeout_ms=recovery_ms)
    uuid = "0a1b2c3d-1111-4222-8333-444455556666"
    run("mkfs.ext4", "-q", "-L", "label", "-U", uuid, disk)
    wait_links(disk, "by-uuid", {uuid})
    with network.down(link):
        wait_for(state, lambda: read(volumes[0].sysfs() / "state") == state, 60)
        run("udevadm", "trigger", "--action=change", disk)
        udev_settle()
        assert links_to(disk, "by-uuid") == {uuid} and links_to(disk, "by-label") == {"label"}
        assert f"ID_FS_UUID={uuid}" in run("udevadm", "info", disk)
    wait_for("the path", lambda: read(volumes[0].sysfs() / "state") == "live", 60)
    run("udevadm", "trigger", "--action=change", disk)
    udev_settle()
    assert links_to(disk, "by-uuid") == {uuid}


#: Of <linux/hdreg.h>: heads, sectors, cylinders, first sector.
HDIO_GETGEO, GEOMETRY = 0x0301, "BBHL"


def geometry(device):
    with open(device, "rb") as disk:
        return struct.unpack(GEOMETRY, fcntl.ioctl(disk, HDIO_GETGEO,
                                                   bytes(struct.calcsize(GEOMETRY))))


def test_geometry(make_disks):
    """That of sd and NVMe; mkntfs and mkfs.fat write the first sector of a partition into it."""
    _, disks = make_disks(1)
    stacking.tool("parted", "-s", disks[0], "mklabel", "gpt", "mkpart", "first", "3MiB", "100%")
    part = Path(f"{disks[0]}p1")
    wait_for("the partition", part.is_block_device)
    for device, start in (disks[0], 0), (part, 3 * MIB // 512):
        assert geometry(device) == (64, 32, LUN_BYTES // MIB, start)


def test_parted(make_disks):
    """Partitions by name, also after the volume was down."""
    volumes, disks = make_disks(1)
    wwid = read(f"/sys/block/{disks[0].name}/wwid")
    stacking.tool("parted", "-s", disks[0], "mklabel", "gpt", "mkpart", "first", "1MiB", "8MiB",
                  "mkpart", "second", "8MiB", "100%")
    parts = [Path(f"{disks[0]}p{number}") for number in (1, 2)]
    wait_for("the partitions", lambda: all(part.is_block_device() for part in parts))
    udev_settle()
    for part in parts:
        mark(part, part.name)
    volumes[0].disable()
    assert not any(part.exists() for part in parts)
    assert volumes[0].enable() == disks[0]
    wait_for("the partitions", lambda: all(part.is_block_device() for part in parts))
    udev_settle()
    assert all(marked(part, part.name) for part in parts)
    wait_links(parts[1], "by-partlabel", {"second"})
    wait_links(parts[1], "by-id", {f"istripe-{volumes[0].name}-part2", f"istripe-{wwid}-part2"})


def test_smartctl_is_refused(make_disks):
    """There is no one device behind a volume whose health it could tell; asking does no harm."""
    _, disks = make_disks(1)
    code, said = stacking.tool_status("smartctl", "-a", disks[0])
    assert code == 1, said
    assert "Unable to detect device type" in said
    code, said = stacking.tool_status("smartctl", "-a", "-d", "scsi", disks[0])
    assert code == 2, said
    assert status("blockdev", "--getsz", disks[0])[0] == 0
