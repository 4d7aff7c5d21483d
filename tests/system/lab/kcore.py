# SPDX-License-Identifier: GPL-2.0
"""Variables of the running kernel, as they are in its memory."""

import struct

from lab.shell import LabError

LOAD = 1
HEADER = struct.Struct("<32xQ14xHH")
SEGMENT = struct.Struct("<I4xQQ8xQ16x")


def _address(symbol):
    with open("/proc/kallsyms", encoding="ascii") as symbols:
        for line in symbols:
            words = line.split()
            if words[2] == symbol:
                return int(words[0], 16)
    raise LabError(f"the kernel has no {symbol}")


def read_int(symbol):
    """The first four bytes of a variable, as a signed number."""
    address = _address(symbol)
    with open("/proc/kcore", "rb") as memory:
        at, each, count = HEADER.unpack(memory.read(HEADER.size))
        for number in range(count):
            memory.seek(at + number * each)
            kind, offset, start, length = SEGMENT.unpack(memory.read(SEGMENT.size))
            if kind == LOAD and start <= address < start + length:
                memory.seek(offset + address - start)
                return struct.unpack("<i", memory.read(4))[0]
    raise LabError(f"{symbol}: not in /proc/kcore")
