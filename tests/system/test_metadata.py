# SPDX-License-Identifier: GPL-2.0
"""MD superblocks on the legs: made here or by mdadm, checked, and refused with a reason."""

import asyncio
import hashlib
import re
import shutil
import struct
from concurrent.futures import ThreadPoolExecutor

import pytest

from conftest import PATIENCE
from lab import istripe, lio, md, network, storage
from lab.connections import log_in_again
from lab.disk import Direct, noise, same
from lab.shell import LabError, read, run, wait_for, write
from scripted.conn import Drop
from scripted.ghost import NOT_SUPPORTED, REJECTED, Holder, completes, discards
from scripted.scenario import Scenario
from scripted.scsi import READ_16, WRITE_16, Result

KIB = 1 << 10
MIB = 1 << 20
LUN_BYTES = 16 * MIB
NO_WAIT = {"DefaultTime2Wait": 0}
QUICK = {"default_time2wait": 0}


@pytest.fixture(scope="module", autouse=True)
def mdadm(laboratory):
    md.prepare()


@pytest.fixture
def make_legs(make_lio):
    """make_legs(count, ...): a target with so many LUNs."""

    def make(count, lun_bytes=LUN_BYTES, block_bytes=512):
        return make_lio(*[lio.Lun(lun_bytes, block_bytes) for _ in range(count)], params=NO_WAIT)

    return make


@pytest.fixture
def make_md(make_volume):
    """make_md(target, legs, ...): a volume with metadata=md."""

    def make(target, legs, **options):
        return make_volume(target, legs=legs, metadata="md", path=QUICK, **options)

    return make


def digests(target):
    return [hashlib.sha256(lun.file.read_bytes()).hexdigest() for lun in target.luns]


def heads(target):
    """What stands where superblocks are; make_good() puts it back."""
    return [lun.file.read_bytes()[:MIB] for lun in target.luns]


def make_good(target, good):
    for lun, data in zip(target.luns, good, strict=True):
        lun.resize(LUN_BYTES)
        put(0, data)(lun.file)


def create(volume, how="1"):
    write(volume.config / "metadata_create", how)
    return volume.enable()


def refuse(volume, *patterns):
    """Enabling fails with this reason; it leaves nothing behind."""
    with pytest.raises(istripe.EnableError) as error:
        volume.enable()
    for pattern in patterns:
        assert pattern in error.value.reason
    assert not istripe.devices()
    assert not network.established()
    assert read(volume.config / "metadata_create") == "0"
    return error.value


# Making


@pytest.mark.parametrize("legs,chunk_bytes,block_bytes", [(3, 64 * KIB, 512), (2, 4 * KIB, 4096),
                                                          (4, MIB, 512)])
def test_create_and_rescue_with_mdadm(make_legs, make_md, legs, chunk_bytes, block_bytes):
    """A new array; enabled again it is the same; mdadm reads it, assembles it, has the data."""
    target = make_legs(legs, block_bytes=block_bytes)
    volume = make_md(target, legs, chunk_bytes=chunk_bytes)
    device = create(volume)
    assert read(volume.config / "metadata_create") == "0"
    assert read(volume.sysfs() / "metadata") == "md"
    uuid = read(volume.sysfs() / "array_uuid")
    offset = int(read(volume.sysfs() / "data_offset_bytes"))
    size = volume.size_bytes()
    assert offset % MIB == 0
    assert size == legs * ((LUN_BYTES - offset) // chunk_bytes * chunk_bytes)
    written = storage.fill_pattern(device, size, seed=legs)
    volume.disable()

    device = volume.enable()
    assert read(volume.sysfs() / "array_uuid") == uuid
    assert storage.sha256(device, size) == written
    device_uuids = [read(volume.leg_sysfs(leg) / "device_uuid") for leg in range(legs)]
    assert len(set(device_uuids)) == legs
    assert {read(volume.leg_sysfs(leg) / "events") for leg in range(legs)} == {"0"}
    volume.disable()
    storage.drop_caches()

    with md.loops(target.luns) as disks:
        for role, disk in enumerate(disks):
            seen = md.examine(disk)
            assert seen["Array UUID"] == uuid
            assert seen["Device UUID"] == device_uuids[role]
            assert seen["Raid Level"] == "raid0"
            assert seen["Raid Devices"] == str(legs)
            assert seen["Device Role"] == f"Active device {role}"
            assert seen["Array State"].startswith("A" * legs)
            assert seen["Checksum"].endswith("- correct")
            assert seen["Chunk Size"] == f"{chunk_bytes // KIB}K"
            assert volume.name in seen["Name"]
        with md.assembled(disks) as array:
            assert md.size_bytes(array) == size
            assert storage.sha256(array, size) == written


def test_legs_of_different_size(make_lio, make_md):
    """The smallest one counts, for mdadm, too."""
    target = make_lio(LUN_BYTES, LUN_BYTES + 5 * MIB, LUN_BYTES - 3 * MIB)
    volume = make_md(target, 3)
    device = create(volume)
    size = volume.size_bytes()
    assert size == 3 * (LUN_BYTES - 3 * MIB - int(read(volume.sysfs() / "data_offset_bytes")))
    written = storage.fill_pattern(device, size, seed=1)
    volume.disable()
    storage.drop_caches()
    with md.loops(target.luns) as disks, md.assembled(disks) as array:
        assert md.size_bytes(array) == size
        assert storage.sha256(array, size) == written


def put(offset, data):
    def change(file):
        with open(file, "r+b") as sink:
            sink.seek(offset)
            sink.write(data)

    return change


OCCUPIED = {
    "ext4": (lambda file: run("mkfs.ext4", "-q", "-F", file), "an ext2, ext3 or ext4"),
    "xfs": (put(0, b"XFSB"), "an XFS"),
    "swap": (lambda file: run("mkswap", file), "swap space"),
    "lvm": (put(512, b"LABELONE"), "an LVM label"),
    "gpt": (put(512, b"EFI PART"), "a partition table (GPT)"),
    "mbr": (put(510, b"\x55\xaa"), "a partition table or boot sector"),
    "btrfs": (put(65536 + 64, b"_BHRfS_M"), "a btrfs"),
    "luks": (put(0, b"LUKS\xba\xbe"), "a LUKS header"),
    "md 1.0": (put(LUN_BYTES - 8 * KIB, md.MAGIC), "an MD superblock (version 1.0)"),
    "md 0.90": (put(LUN_BYTES - 64 * KIB, md.MAGIC), "an MD superblock (version 0.90)"),
}


@pytest.mark.parametrize("what", OCCUPIED)
def test_an_occupied_leg_is_not_overwritten(make_legs, make_md, kernel_log, what):
    occupy, name = OCCUPIED[what]
    target = make_legs(2)
    occupy(target.luns[1].file)
    before = digests(target)
    volume = make_md(target, 2)
    write(volume.config / "metadata_create", "1")
    refuse(volume, "leg 1: ", f"holds {name}", "metadata_create=force")
    assert digests(target) == before

    create(volume, "force")
    assert kernel_log.matching(rf"{volume.name}/1: it held {re.escape(name)}, overwritten")
    volume.disable()
    with md.loops(target.luns) as disks:
        for disk in disks:
            assert "linux_raid_member" in run("wipefs", "--noheadings", disk)
            assert len(run("wipefs", "--noheadings", disk).splitlines()) == 1


def pair(name, kind, value):
    name = name.encode()
    body = struct.pack(">I", len(name)) + name.ljust((len(name) + 3) // 4 * 4, b"\0")
    body += struct.pack(">II", kind, 1) + value
    return struct.pack(">II", len(body) + 8, len(body) + 8) + body


def zfs_label():
    """What zpool writes of a label: the list of the pool, and a ring of uberblocks."""
    numbers = {"version": 5000, "state": 0, "txg": 4, "pool_guid": 77, "guid": 78}
    pairs = [pair(name, 8, struct.pack(">Q", value)) for name, value in numbers.items()]
    pairs.append(pair("name", 9, struct.pack(">I", 4) + b"tank"))
    head = bytes((1, 1, 0, 0)) + struct.pack(">II", 0, 1)
    uber = struct.pack("<QQQQQ", 0x00bab10c, 5000, 4, 0, 0).ljust(KIB, b"\0")
    return (bytes(16 * KIB) + head + b"".join(pairs)).ljust(128 * KIB, b"\0") + uber * 128


@pytest.mark.parametrize("labels", [(0, 1, 2, 3), (3,)])
def test_zfs_is_overwritten_as_a_whole(make_legs, make_md, labels):
    """A pool is known by each of its four labels, two of them at the end of the LUN."""
    size = 65 * MIB + 100 * KIB
    places = [0, 256 * KIB, 65 * MIB - 512 * KIB, 65 * MIB - 256 * KIB]
    target = make_legs(2, lun_bytes=size)
    file = target.luns[1].file
    for label in labels:
        put(places[label], zfs_label())(file)
    assert "zfs_member" in run("wipefs", "--noheadings", file)
    volume = make_md(target, 2)
    write(volume.config / "metadata_create", "1")
    refuse(volume, "leg 1: it holds a ZFS label", "metadata_create=force")
    create(volume, "force")
    volume.disable()
    storage.drop_caches()
    assert len(run("wipefs", "--noheadings", file).splitlines()) == 1
    left = file.read_bytes()
    # Of label 0 the superblock has the place of a part.
    assert not left[:md.SUPER_AT].strip(b"\0")
    for place in [2 * md.SUPER_AT, *places[1:]]:
        assert not left[place:(place | 0x3ffff) + 1].strip(b"\0")


def test_an_array_is_not_made_over_another(make_legs, make_md):
    target = make_legs(2)
    volume = make_md(target, 2)
    create(volume)
    uuid = read(volume.sysfs() / "array_uuid")
    volume.disable()
    before = digests(target)
    write(volume.config / "metadata_create", "1")
    refuse(volume, "leg 0: it holds an MD superblock")
    assert digests(target) == before
    create(volume, "force")
    assert read(volume.sysfs() / "array_uuid") != uuid


def test_power_lost_while_making(make_legs, make_md):
    """Some legs have a superblock, some have not: refused, with a way out."""
    target = make_legs(3)
    volume = make_md(target, 3)
    create(volume)
    volume.disable()
    md.wipe(target.luns[2].file)
    refuse(volume, "leg 2: no MD superblock found", "cut short, set metadata_create=force")
    create(volume, "force")


def test_create_needs_md(make_legs, make_volume):
    volume = make_volume(make_legs(2), legs=2)
    write(volume.config / "metadata_create", "1")
    refuse(volume, "metadata_create is set, but metadata is none")


def test_create_needs_room(make_legs, make_md):
    target = make_legs(2, lun_bytes=MIB)
    before = digests(target)
    volume = make_md(target, 2)
    write(volume.config / "metadata_create", "1")
    refuse(volume, "the smallest leg has 2048 sectors: superblock and one chunk take ")
    assert digests(target) == before


# Adopting


@pytest.mark.parametrize("legs,chunk_kib,block_bytes", [(2, 4, 512), (3, 64, 4096), (4, 512, 512)])
def test_array_of_mdadm(make_legs, make_md, legs, chunk_kib, block_bytes):
    """Made and filled by mdadm: comes up with its data, and what is written is there for mdadm."""
    target = make_legs(legs, block_bytes=block_bytes)
    with md.loops(target.luns) as disks, md.created(disks, chunk_kib) as array:
        size = md.size_bytes(array)
        written = storage.fill_pattern(array, size, seed=legs)
        uuid = md.Super(disks[0]).uuid
    storage.drop_caches()
    volume = make_md(target, legs)
    device = volume.enable()
    assert read(volume.sysfs() / "chunk_bytes") == str(chunk_kib * KIB)
    assert read(volume.sysfs() / "array_uuid") == uuid
    assert volume.size_bytes() == size
    assert storage.sha256(device, size) == written
    written = storage.fill_pattern(device, size, seed=legs + 100)
    volume.disable()
    # The configuration says now what it would take to make the same volume.
    assert read(volume.config / "chunk_bytes") == str(chunk_kib * KIB)
    storage.drop_caches()
    with md.loops(target.luns) as disks, md.assembled(disks) as array:
        assert storage.sha256(array, size) == written


@pytest.mark.timeout_s(600)
def test_over_the_stock_initiator(make_legs, make_md, stock, link):
    """An existing raid0 over open-iscsi moves to a volume, and back for rescue."""
    target = make_legs(3)

    with md.created(stock.login_all(link.portal(), target.iqn, 3)) as array:
        size = md.size_bytes(array)
        written = storage.fill_pattern(array, size, seed=1)
    stock.logout()

    volume = make_md(target, 3)
    device = volume.enable()
    assert volume.size_bytes() == size
    assert storage.sha256(device, size) == written
    uuid = read(volume.sysfs() / "array_uuid")
    written = storage.fill_pattern(device, size, seed=2)
    volume.disable()

    again = stock.login_all(link.portal(), target.iqn, 3)
    assert [md.examine(disk)["Array UUID"] for disk in again] == [uuid] * 3
    with md.assembled(again) as array:
        assert storage.sha256(array, size) == written
    stock.logout()
    # Assembling is not changing: the volume comes up again.
    volume.enable()


def test_chunk_that_was_written_must_be_right(make_legs, make_md):
    target = make_legs(2)
    md.create_on_files(target.luns, chunk_kib=128)
    volume = make_md(target, 2, chunk_bytes=64 * KIB)
    refuse(volume, "chunk_bytes is 65536, but the superblocks say 131072")
    write(volume.config / "chunk_bytes", "")
    volume.enable()
    assert read(volume.sysfs() / "chunk_bytes") == str(128 * KIB)
    volume.disable()
    write(volume.config / "chunk_bytes", 128 * KIB)
    volume.enable()
    assert read(volume.sysfs() / "chunk_bytes") == str(128 * KIB)


def test_a_grown_leg_keeps_its_share(make_legs, make_md):
    """The superblocks say how much of a leg is the array's: more of it changes nothing."""
    target = make_legs(2)
    volume = make_md(target, 2)
    create(volume)
    size = volume.size_bytes()
    volume.disable()
    target.luns[1].resize(LUN_BYTES + 8 * MIB)
    device = volume.enable()
    assert volume.size_bytes() == size
    storage.fill_pattern(device, size, seed=1)


# Refusing: a good array of four legs, then one thing is wrong with it


def edit_all(target, **fields):
    for lun in target.luns:
        md.edit(lun.file, **fields)


@pytest.mark.parametrize("block_bytes", [512, 4096])
def test_a_logical_block_as_of_linux_6_19(make_legs, make_md, block_bytes):
    target = make_legs(2, block_bytes=block_bytes)
    md.create_on_files(target.luns)
    edit_all(target, logical_block_size=block_bytes)
    before = digests(target)
    volume = make_md(target, 2)
    volume.enable()
    volume.disable()
    assert digests(target) == before


def copy_super(target, source, sink):
    md.Super(target.luns[source].file).save(target.luns[sink].file)


def foreign(target, sink):
    """The leg of another array that has the same place there."""
    other = [lio.Lun(LUN_BYTES) for _ in range(4)]
    for lun in other:
        lun.file = storage.image(lun.name, lun.size_bytes)
    md.create_on_files(other)
    md.Super(other[sink].file).save(target.luns[sink].file)
    for lun in other:
        lun.file.unlink()


def flip(file, offset):
    data = bytearray(file.read_bytes()[:8192])
    data[offset] ^= 1
    put(0, data)(file)


def same_device(target, source, sink):
    md.edit(target.luns[sink].file, device_uuid=md.Super(target.luns[source].file)["device_uuid"])


def edit(leg, **fields):
    return lambda target: md.edit(target.luns[leg].file, **fields)


DAMAGE = {
    "foreign": (lambda target: foreign(target, 2),
                "leg 2: belongs to another array than leg 0"),
    "repeated": (lambda target: copy_super(target, 0, 3),
                 "leg 3: repeated, leg 0 is role 0 already"),
    "clone": (edit(2, dev_number=1), "leg 2: repeated, leg 1 is role 1 already"),
    "blank": (lambda target: md.wipe(target.luns[1].file), "leg 1: no MD superblock found"),
    "shrunk": (lambda target: target.luns[1].resize(LUN_BYTES - 2 * MIB),
               "leg 1: data size does not fit the leg"),
    "stale": (edit(0, events=7), "leg 1: event count is 0, on leg 0 it is 7, the leg is stale"),
    "checksum": (lambda target: flip(target.luns[2].file, 4096 + 40),
                 "leg 2: superblock is damaged, its checksum is wrong"),
    "chunk": (edit(3, chunksize=256), "leg 3: chunk in sectors is 256, on leg 0 it is 128"),
    "odd chunk": (edit(3, chunksize=120),
                  "leg 3: chunk is not a power of two of 4 KiB to 4 MiB"),
    "level": (edit(1, level=5), "leg 1: array is not a raid0"),
    "reshape": (edit(1, feature_map=0x1004), "leg 1: a reshape is in progress"),
    "data offset": (edit(1, data_offset=4096, data_size=LUN_BYTES // 512 - 4096),
                    "leg 1: data offset in sectors is 4096"),
    "members": (edit(0, raid_disks=5), "leg 0: number of members is 5, on leg 1 it is 4"),
    "spare": (edit(0, dev_number=100), "leg 0: not an active member of its array"),
    "version": (edit(2, major_version=2), "leg 2: superblock is not of version 1.2"),
    "newer format": (edit(1, pad0=1), "leg 1: superblock uses reserved bytes, a newer format"),
    "feature": (edit(1, feature_map=1 << 14), "leg 1: superblock has an unsupported feature"),
    "bad blocks": (edit(3, feature_map=8), "leg 3: bad-block log is not empty"),
    "too many members": (edit(0, raid_disks=65), "leg 0: array has no or too many members"),
    "odd data offset": (edit(1, data_offset=2049),
                        "leg 1: data offset is in the superblock or not on 4 KiB"),
    "logical block": (edit(1, logical_block_size=1024),
                      "leg 1: logical block in bytes is 1024, on leg 0 it is "),
    "larger logical block": (lambda target: edit_all(target, logical_block_size=4096),
                             "the superblocks say logical blocks of 4096 bytes, but the legs"),
    "device UUID": (lambda target: same_device(target, 1, 2),
                    "leg 2: repeated, same device UUID as leg 1"),
}


@pytest.mark.parametrize("what", DAMAGE)
def test_refused(make_legs, make_md, what):
    """With the leg and the reason; nothing is written; made good it comes up."""
    damage, reason = DAMAGE[what]
    target = make_legs(4)
    md.create_on_files(target.luns)
    good = heads(target)
    damage(target)
    before = digests(target)
    volume = make_md(target, 4)
    refuse(volume, reason)
    assert digests(target) == before
    make_good(target, good)
    volume.enable()


def test_swapped_legs_are_refused(make_legs, make_md):
    target = make_legs(3)
    md.create_on_files(target.luns)
    volume = make_md(target, 3)
    legs = volume.config / "legs"
    write(legs / "1" / "paths" / "0" / "lun", 2)
    write(legs / "2" / "paths" / "0" / "lun", 1)
    refuse(volume, "leg 1: swapped, it is role 2 of the array")


def test_a_missing_leg_is_refused(make_legs, make_md):
    target = make_legs(4)
    md.create_on_files(target.luns)
    refuse(make_md(target, 3), "leg 3: missing, the array has 4 legs, 3 are given")


def test_a_leg_too_many_is_refused(make_legs, make_md):
    target = make_legs(3)
    md.create_on_files(target.luns[:2])
    refuse(make_md(target, 3), "leg 2: no MD superblock found")


def test_blank_legs_are_not_made_an_array(make_legs, make_md):
    target = make_legs(2)
    before = digests(target)
    refuse(make_md(target, 2), "leg 0: no MD superblock found",
           "to make a new array, set metadata_create=1")
    assert digests(target) == before


@pytest.mark.parametrize("level,version,reason", [
    ("1", "1.2", "leg 0: array is not a raid0"),
    ("linear", "1.2", "leg 0: array is not a raid0"),
    ("0", "1.1", "leg 0: no MD superblock found"),
    # mdadm makes no raid0 with it any more; who finds the superblock nowhere does not ask.
    ("1", "0.90", "leg 0: no MD superblock found"),
])
def test_other_arrays_of_mdadm_are_refused(make_legs, make_md, level, version, reason):
    run("modprobe", "-a", "raid1", "linear", check=False)
    target = make_legs(2)
    options = ["--assume-clean", "--bitmap=none"] if level == "1" else []
    try:
        md.create_on_files(target.luns, level=level, version=version, more=options)
    except LabError as err:
        # Not every kernel still has the level; then its superblock will do.
        assert "linear" in level, err
        md.create_on_files(target.luns)
        for lun in target.luns:
            md.edit(lun.file, level=0xffffffff)
    refuse(make_md(target, 2), reason)


# Changed behind our back


CHANGED = {
    "assembled": (edit(1, events=2), "leg 1: another host has assembled it: events 2, were 0"),
    "foreign": (lambda target: foreign(target, 1),
                "leg 1: it has been made a member of another array"),
    "role": (edit(1, dev_number=2), "leg 1: it is role 2 of its array now, it was 1"),
    "wiped": (lambda target: md.wipe(target.luns[1].file),
              "leg 1: it was in use, but now: no MD superblock found"),
    "updated": (edit(1, utime=12345), "leg 1: another host has changed its superblock"),
}


@pytest.mark.parametrize("what", CHANGED)
@pytest.mark.allow_log("error, dev istripe|Buffer I/O error on dev istripe", "the leg fails")
def test_changed_while_up(make_legs, make_md, what):
    """Seen at the next login: the path is dead, with the reason, and nothing goes there."""
    change, reason = CHANGED[what]
    target = make_legs(3)
    md.create_on_files(target.luns)
    good = heads(target)
    volume = make_md(target, 3, recovery_timeout_ms=1000)
    volume.enable()
    path = volume.path_sysfs(1)
    log_in_again(volume)
    wait_for("leg 1", lambda: read(path / "state") == "live", 60)
    change(target)
    # Leg 0, which nobody has touched.
    log_in_again(volume)
    wait_for("the refusal", lambda: read(path / "state") == "dead", 60)
    assert read(path / "last_error") == reason
    wait_for("leg 2", lambda: read(volume.path_sysfs(2) / "state") == "live", 60)
    wait_for("the volume", lambda: read(volume.sysfs() / "state") == "failed", 60)
    volume.disable()
    make_good(target, good)
    volume.enable()


@pytest.mark.allow_log("error, dev istripe|Buffer I/O error on dev istripe",
                       "the paths are refused for good")
def test_mdadm_updates_it_while_up(make_legs, make_md):
    """What another host really does to superblocks."""
    target = make_legs(2)
    md.create_on_files(target.luns)
    volume = make_md(target, 2)
    volume.enable()
    with md.loops(target.luns) as disks, \
            md.assembled(disks, "--update=name", "--name=mine"):
        pass
    assert network.kill_connections() == 2
    for leg in range(2):
        path = volume.path_sysfs(leg)
        wait_for("the refusal", lambda path=path: read(path / "state") == "dead", 60)
        assert read(path / "last_error") == f"leg {leg}: another host has changed its superblock"


def test_a_copy_of_a_volume(make_legs, make_md):
    """LUNs copied as a whole (a snapshot) are the same array, elsewhere."""
    target, copies = make_legs(2), make_legs(2)
    volume = make_md(target, 2)
    device = create(volume)
    size = volume.size_bytes()
    written = storage.fill_pattern(device, size, seed=3)
    volume.disable()
    for lun, copy in zip(target.luns, copies.luns):
        shutil.copyfile(lun.file, copy.file)
    storage.drop_caches()
    device = make_md(copies, 2).enable()
    assert storage.sha256(device, size) == written


# What the target does not do


def at(opcode, where):
    """Whether a task has this opcode and first block."""
    return lambda task: task.opcode == opcode and int.from_bytes(task.cdb[2:10], "big") * 512 == where


def test_a_superblock_that_cannot_be_read(make_scripted, server, kernel_log):
    """Over each path it is compared with what the first one has read."""
    reads = []

    async def hook(run, conn, task):
        if not at(READ_16, md.SUPER_AT)(task) or not run.armed:
            return False
        reads.append(task)
        if len(reads) != 2:
            return False
        conn.session.tasks.pop(task.itt, None)
        await run.target.respond(conn, task, Result.check(3, 0x11, 0))
        return True

    volume, _ = make_scripted(Scenario("unreadable", hooks={"on_command": hook}), metadata="md")
    create(volume)
    volume.disable()
    server.arm()
    refuse(volume, "leg 0: cannot read its superblock: status 0x02, sense 3/11/00")
    assert len(reads) == 2
    assert kernel_log.matching("/0/0: cannot read the superblock")
    volume.enable()


def test_a_superblock_that_becomes_unreadable(make_scripted, server, kernel_log):
    """A path that has had the right one before is used without it: no I/O depends on that block."""
    async def hook(run, conn, task):
        if at(READ_16, md.SUPER_AT)(task) and run.armed:
            run.memory["asked"] = run.memory.get("asked", 0) + 1
            await run.target.respond(conn, task, Result.check(3, 0x11, 0))
            return True
        if task.opcode == READ_16 and run.armed and run.memory.pop("change", False):
            await run.target.respond(conn, task, Result.check(6, 0x3F, 0x0E))
            return True
        return False

    volume, target = make_scripted(Scenario("bad block", hooks={"on_command": hook}),
                                   metadata="md")
    memory = target.run.memory
    said = f"{volume.name}/0/0: cannot read the superblock: status 0x02, sense 3/11/00"
    data = noise(64 * KIB, 1)
    with Direct(create(volume)) as disk:
        disk.write(0, data)
        memory["change"] = True
        server.arm()
        same(disk.read(0, len(data)), data, "what was read")
        assert memory["asked"] == 1
        assert (volume.state(), volume.reconnects()) == ("live", 0)
        assert network.kill_connections(port=server.port) == 1
        wait_for("the path", lambda: volume.reconnects() and volume.state() == "live", 60)
        assert memory["asked"] > 1
        same(disk.read(0, len(data)), data, "what was read")
    assert len(kernel_log.matching(said)) == 1
    # Nobody has compared it yet when the volume comes up.
    volume.disable()
    refuse(volume, "leg 0: cannot read its superblock: status 0x02, sense 3/11/00")


def test_a_lun_that_reads_nothing_any_more(make_scripted, server):
    """That is no bad block: all I/O over such a path would fail, and the others have none of it."""
    async def hook(run, conn, task):
        if task.opcode != READ_16 or not run.armed:
            return False
        run.memory["asked"] = run.memory.get("asked", 0) + 1
        await run.target.respond(conn, task, Result.check(4, 0x44, 0))
        return True

    volume, target = make_scripted(Scenario("internal failure", hooks={"on_command": hook}),
                                   metadata="md")
    memory = target.run.memory
    with Direct(create(volume)) as disk:
        server.arm()
        assert network.kill_connections(port=server.port) == 1
        wait_for("two logins", lambda: memory.get("asked", 0) > 1, 60)
        assert volume.state() != "live" and not volume.reconnects()
        target.run.armed = False
        wait_for("the path", lambda: volume.state() == "live", 60)
        disk.write(0, noise(64 * KIB, 1))


def test_a_wipe_without_an_answer(make_scripted, server, kernel_log):
    """Its session is given up, and so is the array; later it can be made."""
    async def hook(run, _conn, task):
        if not at(WRITE_16, 0)(task) or not run.strike():
            return False
        await asyncio.sleep(3600)
        return True

    volume, target = make_scripted(Scenario("silent", hooks={"on_command": hook}), metadata="md")
    target.disk.data[:4] = b"XFSB"
    server.arm()
    with pytest.raises(istripe.EnableError):
        create(volume, "force")
    assert target.run.hits == 1
    assert kernel_log.matching("lost while old signatures were overwritten")
    create(volume, "force")


@pytest.fixture
def left_zeroes(make_scripted, server):
    """left_zeroes(reset): a volume whose array could not be made, of which nothing is remembered, and
    the holder of a write of zeroes to what will be data.
    """
    away = []

    async def on_login(_run, _conn, _pdu):
        if away:
            raise Drop
        return False

    def make(reset):
        holder = Holder(reset)
        holder.server = server
        volume, target = make_scripted(
            Scenario("keeps zeroes", hooks={**holder.hooks(), "on_login": on_login}), metadata="md")
        place = len(target.disk.data) - 8 * KIB
        target.disk.data[place:place + len(md.MAGIC)] = md.MAGIC
        holder.hold(place)
        with ThreadPoolExecutor(1) as pool:
            making = pool.submit(create, volume, "force")
            wait_for("the write that is held", holder.held)
            away.append(True)
            assert network.kill_connections(port=server.port)
            with pytest.raises(istripe.EnableError):
                making.result(60)
        volume.delete()
        away.clear()
        holder.resets = 0
        return volume.create(), holder

    return make


def check_zeroes(volume, holder):
    """They do not come over the data."""
    with Direct(f"/dev/{volume.device()}") as disk:
        at = volume.size_bytes() - 64 * KIB
        data = noise(64 * KIB, 1)
        disk.write(at, data)
        holder.release()
        same(disk.read(at, len(data)), data, "what was read")


def test_zeroes_that_an_attempt_has_left(left_zeroes):
    """The target has not ended them with their session."""
    volume, holder = left_zeroes(discards)
    create(volume, "force")
    check_zeroes(volume, holder)
    assert holder.resets == 1 and not holder.carried_out


def test_nothing_is_made_while_zeroes_may_come(left_zeroes):
    """The reset of the LUN is not answered before they are carried out."""
    volume, holder = left_zeroes(completes)
    write(volume.config / "metadata_create", "force")
    refuse(volume, "the target may still carry out writes of an earlier attempt: "
                   "LOGICAL UNIT RESET is unanswered")
    holder.release()
    create(volume, "force")
    check_zeroes(volume, holder)
    assert holder.carried_out == 1


@pytest.mark.parametrize("response", [NOT_SUPPORTED, REJECTED])
def test_a_target_that_refuses_resets(make_scripted, response):
    """It is believed, though not at its first word if that may pass."""
    resets = []

    async def refuses(run, conn, pdu):
        resets.append(pdu.flags & 0x7F)
        await run.target.answer_task_management(conn, pdu, response)
        return True

    volume, _ = make_scripted(Scenario("no reset", hooks={"on_tmf": refuses}), metadata="md")
    create(volume, "force")
    asked = len(resets)
    assert asked == 1 if response == NOT_SUPPORTED else asked >= 3
    assert read(volume.leg_sysfs(0) / "lun_reset") == "unsupported"
    volume.disable()
    volume.enable()
    assert len(resets) == asked


# Several paths to a leg


QUICK_PATHS = {**QUICK, "login_timeout_ms": 15000}


@pytest.fixture
def make_md_paths(make_lio, make_volume, links):
    """make_md_paths(...): a LUN behind two links, and a volume with metadata=md over both."""

    def make(**options):
        target = make_lio(LUN_BYTES, all_links=True, params=NO_WAIT)
        return target, make_volume(target, paths=links, metadata="md", path=QUICK_PATHS, **options)

    return make


def wait_paths(volume, state):
    for path in range(2):
        file = volume.path_sysfs(0, path) / "state"
        wait_for(f"path {path} {state}", lambda file=file: read(file) == state, 60)


@pytest.mark.allow_log("error, dev istripe|Buffer I/O error on dev istripe",
                       "no path is used in the end")
def test_every_path_is_checked_at_its_login(make_md_paths):
    target, volume = make_md_paths()
    device = create(volume)
    written = storage.fill_pattern(device, volume.size_bytes(), seed=1)
    # Those of a proof may be there, too.
    assert network.kill_connections() >= 2
    wait_for("both paths", lambda: all(int(read(volume.path_sysfs(0, path) / "reconnects"))
                                       for path in range(2)), 60)
    wait_paths(volume, "live")
    storage.drop_caches()
    assert storage.sha256(device, volume.size_bytes()) == written
    md.edit(target.luns[0].file, events=3)
    assert network.kill_connections() >= 2
    wait_paths(volume, "dead")
    for path in range(2):
        assert (read(volume.path_sysfs(0, path) / "last_error") ==
                "leg 0: another host has assembled it: events 3, were 0")


def test_a_path_that_comes_late_is_checked(make_md_paths, links):
    """The volume came up without it: nobody has looked over it yet."""
    target, volume = make_md_paths()
    with network.down(links[1]):
        # Writes of an attempt before this one might come over it yet.
        with pytest.raises(istripe.EnableError, match="leg 0 path 1 is down: superblocks"):
            create(volume)
        links[1].set_up(True)
        create(volume)
        good = heads(target)
        volume.disable()

        links[1].set_up(False)
        volume.enable()
        assert read(volume.path_sysfs(0, 1) / "state") != "live"
        md.edit(target.luns[0].file, events=3)
        links[1].set_up(True)
        path = volume.path_sysfs(0, 1)
        wait_for("the refusal", lambda: read(path / "state") == "dead", 60)
        assert "another host has assembled it" in read(path / "last_error")
        assert volume.state() == "live"
        volume.disable()
        make_good(target, good)
        volume.enable()
        wait_paths(volume, "live")


def over(target, lun, link):
    return {"portal": link.portal(), "target_name": target.iqn, "lun": lun, **QUICK, **PATIENCE}


def test_a_lun_that_has_another_number_elsewhere(make_lio, make_volume, link):
    """One LUN through two targets, which call it 0 and 3; their LUN 0 differ."""
    first, second = make_lio(LUN_BYTES), make_lio(LUN_BYTES)
    second.add_lun(3, first.luns[0])
    before = digests(second)
    volume = make_volume(first, path=QUICK, more_paths=[over(second, 3, link)], metadata="md")
    device = create(volume)
    written = storage.fill_pattern(device, volume.size_bytes(), seed=2)
    wait_paths(volume, "live")
    assert network.kill_connections() >= 2
    wait_for("path 1", lambda: read(volume.path_sysfs(0, 1) / "reconnects") != "0", 60)
    wait_paths(volume, "live")
    storage.drop_caches()
    assert storage.sha256(device, volume.size_bytes()) == written
    volume.disable()
    assert digests(second) == before


@pytest.mark.parametrize("marked", [False, True])
def test_paths_to_different_luns_that_call_themselves_the_same(make_lio, make_volume, link, marked):
    """The designator is the same, the data are not: only the superblocks tell."""
    target = make_lio(lio.Lun(LUN_BYTES, serial="twin"), lio.Lun(LUN_BYTES, serial="twin"))
    if marked:
        for lun in target.luns:
            md.create_on_files([lun], more=["--force"])
    volume = make_volume(target, path=QUICK, more_paths=[over(target, 1, link)], metadata="md")
    if marked:
        refuse(volume, "over path 1: leg 0: it has been made a member of another array")
        return
    write(volume.config / "metadata_create", "1")
    refuse(volume, "over path 1: leg 0: it was in use, but now: no MD superblock found")
