# SPDX-License-Identifier: GPL-2.0
"""Superblocks of Linux MD 1.2, written byte for byte as in linux/raid/md_p.h."""

import struct

SUPER_AT = 4096
MAGIC = 0xA92B4EFC
FEATURE_RAID0_LAYOUT = 4096
ROLES = 384

#: (offset, form): where fields are.
PLACES = {
    "magic": (0, "<I"), "major": (4, "<I"), "features": (8, "<I"), "pad0": (12, "<I"),
    "array_uuid": (16, "16s"), "name": (32, "32s"), "ctime": (64, "<Q"), "level": (72, "<i"),
    "layout": (76, "<I"), "size": (80, "<Q"), "chunk": (88, "<I"), "legs": (92, "<I"),
    "data_offset": (128, "<Q"), "data_size": (136, "<Q"), "super_offset": (144, "<Q"),
    "dev_number": (160, "<I"), "device_uuid": (168, "16s"), "utime": (192, "<Q"),
    "events": (200, "<Q"), "resync_offset": (208, "<Q"), "sum": (216, "<I"),
    "max_dev": (220, "<I"), "logical_block": (224, "<I"),
}
DEFAULTS = {
    "magic": MAGIC, "major": 1, "features": FEATURE_RAID0_LAYOUT, "array_uuid": bytes(range(16)),
    "name": b"host:db", "ctime": 1_770_000_000, "level": 0, "layout": 1, "chunk": 128, "legs": 2,
    "data_offset": 2048, "data_size": 6144, "super_offset": 8, "utime": 1_770_000_060,
    "events": 7, "resync_offset": (1 << 64) - 1, "max_dev": ROLES,
}


def checksum(block):
    """MD's: little-endian words are added up in 64 bits, the carries are added to the sum."""
    total = sum(struct.unpack(f"<{len(block) // 4}I", block))
    return (total & 0xFFFFFFFF) + (total >> 32) & 0xFFFFFFFF


def superblock(role, wrong_sum=False, **fields):
    block = bytearray(256 + 2 * ROLES)
    values = {**DEFAULTS, "dev_number": role, "device_uuid": bytes([0xD0 + role] * 16), **fields}
    for name, value in values.items():
        struct.pack_into(PLACES[name][1], block, PLACES[name][0], value)
    for number in range(ROLES):
        place = number if number < values["legs"] else 0xFFFF
        struct.pack_into("<H", block, 256 + 2 * number, place)
    struct.pack_into("<I", block, PLACES["sum"][0], checksum(bytes(block)) ^ wrong_sum)
    return bytes(block)


def image(path, block=b"", mebibytes=4, at=SUPER_AT):
    data = bytearray(mebibytes << 20)
    data[at:at + len(block)] = block
    path.write_bytes(data)
    return path
