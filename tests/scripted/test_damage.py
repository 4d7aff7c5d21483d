# SPDX-License-Identifier: GPL-2.0
"""Damage can be made again from its seed, and leaves alone what it must."""

import random

import pytest

from scripted import damage
from scripted import pdu as p
from scripted.pdu import RESERVED_TAG, Pdu

DATA = bytes(range(256)) * 8
TAG = 0x00070003
ALL = (damage.WIRE, damage.INTENT, damage.CONTENTS)
PDUS = {
    "data-in": Pdu(p.DATA_IN, 0x81, itt=TAG, ttt=RESERVED_TAG, data=DATA),
    "response": Pdu(p.SCSI_RESPONSE, itt=TAG, status=2, data=bytes([0, 18]) + bytes(18)),
    "good": Pdu(p.SCSI_RESPONSE, itt=TAG),
    "r2t": Pdu(p.R2T, itt=TAG, ttt=5, desired=4096),
    "login": Pdu(p.LOGIN_RESPONSE, itt=TAG, data=b"AuthMethod=None\0TargetPortalGroupTag=1\0"),
}


def frames(data=True, digests=False):
    return [damage.Frame(pdu, digests, digests, data, name == "login", (TAG, TAG + 1))
            for name, pdu in PDUS.items()]


def every(frame, times=300):
    """(kind, what it makes of the frame) with many seeds."""
    for kind in set(damage.possible(frame, ALL)):
        for seed in range(times):
            yield kind, b"".join(kind(random.Random(seed), frame))


@pytest.mark.parametrize("digests", [False, True])
def test_same_seed_same_bytes(digests):
    for frame in frames(digests=digests):
        assert list(every(frame, 20)) == list(every(frame, 20))


def test_it_is_damage():
    for frame in frames():
        for kind in set(damage.possible(frame, ALL)):
            made = {b"".join(kind(random.Random(seed), frame)) for seed in range(50)}
            assert made - {frame.encode()}, kind


@pytest.mark.parametrize("digests", [False, True])
def test_no_answer_becomes_that_to_another_command(digests):
    """With digests, that holds for what has right ones."""
    for frame in frames(data=False, digests=digests):
        for kind, wire in every(frame):
            if digests and kind in damage.WIRE or kind in (damage.garbage, damage.glued):
                continue
            if len(wire) >= p.BHS_BYTES and kind is not damage.forged:
                tag = int.from_bytes(wire[16:20], "big")
                assert tag in (TAG, RESERVED_TAG) or tag & damage.STRANGE_TAG, (kind, hex(tag))


@pytest.mark.parametrize("digests", [False, True])
def test_data_stay_right(digests):
    frame = frames(data=False, digests=digests)[0]
    for kind, wire in every(frame):
        if kind in damage.INTENT and kind is not damage.segments:
            assert wire[frame.data_at:frame.data_at + len(DATA)] == DATA, kind


def test_header_digest_is_right_again():
    for frame in frames(data=False, digests=True):
        for kind, wire in every(frame, 50):
            if kind in (damage.fields, damage.flags, damage.opcode):
                assert wire[48:52] == p.crc32c(wire[:48]).to_bytes(4, "little"), kind


def test_forged_answers_are_for_nobody():
    frame = frames()[0]
    for seed in range(2000):
        wire = damage.forged(random.Random(seed), frame, 5)[1]
        if wire[0] & 0x3F in damage.ANSWERS:
            tag = int.from_bytes(wire[16:20], "big")
            assert tag & damage.STRANGE_TAG


def test_chopped_is_the_same():
    for seed in range(200):
        rng = random.Random(seed)
        wire = rng.randbytes(rng.randint(1, 5000))
        assert b"".join(damage.chopped(rng, wire)) == wire
