# SPDX-License-Identifier: GPL-2.0
"""The running kernel's memory."""

import struct

from lab.shell import LabError

LOAD = 1
HEADER = struct.Struct("<32xQ14xHH")
SEGMENT = struct.Struct("<I4xQQQQ16x")
#: The physical address of segments that have none: vmalloc and the like.
NOWHERE = (1 << 64) - 1
PAGE, CHUNK = 4 << 10, 1 << 20


def _address(symbol):
    with open("/proc/kallsyms", encoding="ascii") as symbols:
        for line in symbols:
            words = line.split()
            if words[2] == symbol:
                return int(words[0], 16)
    raise LabError(f"the kernel has no {symbol}")


def _segments(memory):
    """(offset in the file, address, physical address, bytes) of each."""
    at, each, count = HEADER.unpack(memory.read(HEADER.size))
    for number in range(count):
        memory.seek(at + number * each)
        kind, *segment = SEGMENT.unpack(memory.read(SEGMENT.size))
        if kind == LOAD:
            yield segment


def read_int(symbol):
    """The first four bytes of a variable, as a signed number."""
    address = _address(symbol)
    with open("/proc/kcore", "rb") as memory:
        for offset, start, _, length in _segments(memory):
            if start <= address < start + length:
                memory.seek(offset + address - start)
                return struct.unpack("<i", memory.read(4))[0]
    raise LabError(f"{symbol}: not in /proc/kcore")


def _begins_page(chunk, text):
    at = chunk.find(text)
    while at > 0 and at % PAGE:
        at = chunk.find(text, at + 1)
    return at >= 0


def page_beginnings(texts):
    """Those of the texts with which a page of memory begins, whoever's it is."""
    found = set()
    with open("/proc/kcore", "rb", buffering=0) as memory:
        for offset, _, physical, length in list(_segments(memory)):
            if physical == NOWHERE:
                continue
            for at in range(0, length, CHUNK):
                memory.seek(offset + at)
                chunk = memory.read(min(CHUNK, length - at))
                found |= {text for text in texts if _begins_page(chunk, text)}
    return found
