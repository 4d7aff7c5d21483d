# SPDX-License-Identifier: GPL-2.0
"""Numbered records with checksums, written so that each is durable before the next one begins."""

import hashlib
import mmap
import os
import struct
import zlib

HEADER = struct.Struct("<8sQII")        # magic, number, bytes behind it, CRC of all but the magic
MAGIC = b"istriper"
#: A record of the ring is one block: blocks are written whole or not at all.
BLOCK_BYTES = 512
RING_SLOTS = 64
LARGEST_BYTES = 8192


def record(number, size_bytes):
    """A record, its header included."""
    content = hashlib.shake_256(b"record %d" % number).digest(size_bytes - HEADER.size)
    crc = zlib.crc32(content, zlib.crc32(struct.pack("<QI", number, len(content))))
    return HEADER.pack(MAGIC, number, len(content), crc) + content


def number_of(data):
    """The number of the record at the beginning of these bytes, or None if it is none."""
    if len(data) < HEADER.size:
        return None
    magic, number, size, crc = HEADER.unpack_from(data)
    content = data[HEADER.size:HEADER.size + size]
    if magic != MAGIC or len(content) != size or size > LARGEST_BYTES:
        return None
    if crc != zlib.crc32(content, zlib.crc32(struct.pack("<QI", number, size))):
        return None
    return number


def sync_directory(folder):
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def content_of(path):
    """All bytes of a file; none when it is not there."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return b""


class Append:
    """A file that grows by a record and an fsync() at a time: data, then a flush."""

    name = "append"

    def __init__(self, path):
        self.path = path
        self.number = 0

    def open(self):
        self.fd = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        sync_directory(os.path.dirname(self.path))

    @staticmethod
    def size(number):
        return HEADER.size + number * 2654435761 % (LARGEST_BYTES - HEADER.size)

    def step(self):
        """Writes a record; it is durable when its number is returned."""
        number = self.number
        os.write(self.fd, record(number, self.size(number)))
        os.fsync(self.fd)
        self.number += 1
        return number

    @classmethod
    def found(cls, path):
        """The numbers that are there: from the first on, without a hole."""
        data = content_of(path)
        numbers, at = [], 0
        while number_of(data[at:at + LARGEST_BYTES]) == len(numbers):
            at += cls.size(len(numbers))
            numbers.append(len(numbers))
        return numbers


class Ring:
    """A file of fixed blocks, overwritten in place with O_DIRECT and O_DSYNC: a write with FUA."""

    name = "ring"

    def __init__(self, path):
        self.path = path
        self.number = 0
        self.memory = mmap.mmap(-1, BLOCK_BYTES)

    def open(self):
        with open(self.path, "wb") as file:
            file.write(bytes(RING_SLOTS * BLOCK_BYTES))
            file.flush()
            os.fsync(file.fileno())
        sync_directory(os.path.dirname(self.path))
        self.fd = os.open(self.path, os.O_WRONLY | os.O_DIRECT | os.O_DSYNC)

    def step(self):
        number = self.number
        self.memory[:] = record(number, BLOCK_BYTES)
        os.pwrite(self.fd, self.memory, number % RING_SLOTS * BLOCK_BYTES)
        self.number += 1
        return number

    @classmethod
    def found(cls, path):
        data = content_of(path)
        blocks = (data[at:at + BLOCK_BYTES] for at in range(0, len(data), BLOCK_BYTES))
        return [number for number in map(number_of, blocks) if number is not None]


def lost(kind, acknowledged, numbers):
    """How many of the acknowledged records (so many, from 0 on) are not there.

    In the ring a record may have been overwritten by one that came later.
    """
    if kind == Append.name:
        return max(0, acknowledged - len(numbers))
    there = dict.fromkeys(range(RING_SLOTS), -1)
    for number in numbers:
        there[number % RING_SLOTS] = number
    first = max(0, acknowledged - RING_SLOTS)
    return sum(there[number % RING_SLOTS] < number for number in range(first, acknowledged))


KINDS = (Append, Ring)
