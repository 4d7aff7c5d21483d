# SPDX-License-Identifier: GPL-2.0
"""Linux MD: mdadm's arrays as a witness, and superblocks (version 1.2) to be damaged."""

import contextlib
import re
import struct
from pathlib import Path

from lab.shell import run, udev_settle, wait_for

MAGIC = b"\xfc\x4e\x2b\xa9"
SUPER_AT = 4096
SUPER_BYTES = 4096
ARRAY = Path("/dev/md100")
CONFIG = Path("/etc/mdadm/mdadm.conf")

#: name: (offset, struct format); linux/raid/md_p.h, struct mdp_superblock_1.
FIELDS = {
    "magic": (0, "<I"), "major_version": (4, "<I"), "feature_map": (8, "<I"),
    "pad0": (12, "<I"), "set_uuid": (16, "16s"), "level": (72, "<I"), "layout": (76, "<I"),
    "chunksize": (88, "<I"), "raid_disks": (92, "<I"), "data_offset": (128, "<Q"), "data_size": (136, "<Q"),
    "dev_number": (160, "<I"), "device_uuid": (168, "16s"), "utime": (192, "<Q"),
    "events": (200, "<Q"), "sb_csum": (216, "<I"), "max_dev": (220, "<I"),
    "logical_block_size": (224, "<I"),
}


class Super:
    """The superblock in a file or on a disk."""

    def __init__(self, file):
        self.file = file
        with open(file, "rb") as source:
            source.seek(SUPER_AT)
            self.data = bytearray(source.read(SUPER_BYTES))

    def __getitem__(self, name):
        offset, code = FIELDS[name]
        return struct.unpack_from(code, self.data, offset)[0]

    def __setitem__(self, name, value):
        offset, code = FIELDS[name]
        struct.pack_into(code, self.data, offset, value)

    @property
    def uuid(self):
        """The array's, as mdadm and istripe write it."""
        text = self["set_uuid"].hex()
        return ":".join(text[at:at + 8] for at in range(0, 32, 8))

    def seal(self):
        """Sets the checksum that belongs to what is there now."""
        self["sb_csum"] = 0
        size = 256 + 2 * self["max_dev"]
        words = struct.unpack_from(f"<{size // 4}I", self.data)
        total = sum(words)
        if size % 4:
            total += struct.unpack_from("<H", self.data, size - 2)[0]
        self["sb_csum"] = ((total & 0xffffffff) + (total >> 32)) & 0xffffffff
        return self

    def save(self, file=None):
        with open(file or self.file, "r+b") as sink:
            sink.seek(SUPER_AT)
            sink.write(self.data)


def edit(file, **fields):
    """Changes fields of a superblock, with a checksum that fits."""
    superblock = Super(file)
    for name, value in fields.items():
        superblock[name] = value
    superblock.seal().save()


def wipe(file):
    with open(file, "r+b") as sink:
        sink.seek(SUPER_AT)
        sink.write(bytes(SUPER_BYTES))


def prepare():
    """Only what a test asks for is assembled, never what udev finds."""
    run("modprobe", "-a", "loop", "md-mod", "raid0")
    CONFIG.parent.mkdir(exist_ok=True)
    CONFIG.write_text("AUTO -all\n", encoding="ascii")


@contextlib.contextmanager
def loops(luns):
    """The files of LUNs as disks: what another host would have of them."""
    made = []
    run("modprobe", "loop")
    try:
        for lun in luns:
            made.append(run("losetup", "--find", "--show", lun.file).strip())
        yield made
    finally:
        udev_settle()
        for loop in made:
            run("losetup", "-d", loop)


def stop():
    udev_settle()
    run("mdadm", "--stop", ARRAY)


@contextlib.contextmanager
def created(disks, chunk_kib=64, level="0", version="1.2", more=()):
    """A new array of mdadm's over disks; stopped afterwards."""
    # A mirror has no chunks; mdadm will not hear of them.
    chunk = [] if level == "1" else [f"--chunk={chunk_kib}"]
    run("mdadm", "--create", ARRAY, "--run", f"--level={level}", f"--metadata={version}",
        f"--raid-devices={len(disks)}", *chunk, *more, *disks)
    try:
        wait_for(f"{ARRAY}", ARRAY.is_block_device)
        yield ARRAY
    finally:
        stop()


def create_on_files(luns, **options):
    """The same on the files of LUNs, just to have the superblocks."""
    with loops(luns) as disks, created(disks, **options):
        pass


@contextlib.contextmanager
def assembled(disks, *options):
    """An array that is there already."""
    run("mdadm", "--assemble", ARRAY, "--run", *options, *disks)
    try:
        wait_for(f"{ARRAY}", ARRAY.is_block_device)
        yield ARRAY
    finally:
        stop()


def examine(disk):
    """What mdadm reads in a superblock: a dictionary."""
    out = run("mdadm", "--examine", disk)
    return dict(re.findall(r"^\s*(.+?) : (.*?)\s*$", out, re.MULTILINE))


def size_bytes(device):
    return int(run("blockdev", "--getsize64", device))
