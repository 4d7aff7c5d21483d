# SPDX-License-Identifier: GPL-2.0
"""Persistent reservations: they reach every leg, and another initiator feels them."""

import errno
import re

import pytest

from lab.reservation import (
    CONFLICT,
    IGNORE_KEY,
    KEY,
    OTHER_KEY,
    WRITE_EXCLUSIVE,
    WRITE_EXCLUSIVE_REG_ONLY,
    Reservations,
)
from lab.shell import run, status
from scripted.scenario import HONEST

KIB, MIB = 1 << 10, 1 << 20
ALLOWED = pytest.mark.allow_log(r"reservation conflict|I/O error|critical nexus error",
                                "somebody else holds a reservation")

#: NOT READY: a target port in transition, also of a target that reports no access states.
TRANSITION = (2, 4, 0x0A)
REGISTER, RESERVE = 0, 1


@pytest.fixture
def two_legs(make_lio, make_volume, stock, link, keep_on_disk):
    """A disk of two legs, and the stock initiator's disks for the LUNs of them."""
    target = make_lio(64 * MIB, 64 * MIB)
    device = make_volume(target, legs=2, chunk_bytes=64 * KIB).enable()
    return device, stock.login_all(link.portal(), target.iqn, 2)


def keys(disk):
    """The keys that are registered at a LUN, one for each port of an initiator."""
    out = run("sg_persist", "--in", "--read-keys", disk)
    return sorted(int(key, 16) for key in re.findall(r"^\s+(0x[0-9a-f]+)\s*$", out, re.MULTILINE))


def writes(disk):
    return status("dd", "if=/dev/zero", f"of={disk}", "oflag=direct", "bs=4k", "count=1")[0] == 0


@ALLOWED
def test_every_leg_is_reserved(two_legs):
    device, others = two_legs
    with Reservations(device) as ours:
        assert ours.register(0, KEY) == 0
        assert [keys(disk) for disk in others] == [[KEY], [KEY]]
        assert all(writes(disk) for disk in others)
        assert ours.reserve(KEY, WRITE_EXCLUSIVE) == 0
        assert not any(writes(disk) for disk in others)
        assert writes(device)
        assert ours.release(KEY, WRITE_EXCLUSIVE) == 0
        assert all(writes(disk) for disk in others)
        assert ours.clear(KEY) == 0
        assert [keys(disk) for disk in others] == [[], []]


@ALLOWED
def test_what_one_leg_refuses_is_taken_back(two_legs):
    """Another initiator holds the second leg: the first one is not ours either."""
    device, (first, second) = two_legs
    with Reservations(device) as ours, Reservations(second) as theirs:
        assert ours.register(0, KEY, IGNORE_KEY) == 0
        assert theirs.register(0, OTHER_KEY) == 0
        assert theirs.reserve(OTHER_KEY, WRITE_EXCLUSIVE) == 0
        assert ours.reserve(KEY, WRITE_EXCLUSIVE) == CONFLICT
        assert writes(first) and writes(second)
        # The wrong key is refused by the first leg, and nothing changes.
        assert ours.register(OTHER_KEY, KEY) == CONFLICT
        assert keys(first) == [KEY]
        assert ours.preempt(KEY, OTHER_KEY, WRITE_EXCLUSIVE) in (0, CONFLICT)
        assert theirs.clear(OTHER_KEY) in (0, CONFLICT)


def test_keys_are_registered_over_every_path(make_lio, make_volume, links, stock, keep_on_disk):
    target = make_lio(64 * MIB, all_links=True)
    volume = make_volume(target, paths=links)
    device = volume.enable()
    other = stock.login(links[0].portal(), target.iqn, target.lun_number(0))
    with Reservations(device) as ours:
        assert ours.register(0, KEY) == 0
        assert keys(other) == [KEY] * len(links)
        assert ours.reserve(KEY, WRITE_EXCLUSIVE_REG_ONLY) == 0
        run("dd", "if=/dev/zero", f"of={device}", "oflag=direct", "bs=1M", "count=8")
        assert ours.release(KEY, WRITE_EXCLUSIVE_REG_ONLY) == 0
        assert ours.register(KEY, 0) == 0
        assert keys(other) == []


def test_volume_that_is_gone(make_lio, make_volume, keep_on_disk):
    """Who still has the disk open gets an error."""
    volume = make_volume(make_lio(64 * MIB))
    with Reservations(volume.enable()) as ours:
        volume.force_down()
        with pytest.raises(OSError) as failed:
            ours.register(0, KEY)
        assert failed.value.errno == errno.ENXIO


@pytest.mark.parametrize("paths", [1, 2])
def test_a_refusal_may_be_over_soon(make_scripted, paths):
    """The target reports no access states: its refusal says nothing about one of the paths."""
    volume, target = make_scripted(HONEST, paths=paths)
    with Reservations(volume.enable()) as ours:
        assert ours.register(0, KEY) == 0
        target.disk.attentions += [TRANSITION] * 3
        assert ours.reserve(KEY, WRITE_EXCLUSIVE_REG_ONLY) == 0
        assert target.disk.attentions == []
    assert target.disk.reserved == [REGISTER] * paths + [RESERVE]
