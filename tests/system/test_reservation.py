# SPDX-License-Identifier: GPL-2.0
"""Persistent reservations: they reach every leg, and another initiator feels them."""

import asyncio
import errno
import re
import threading
import time
from contextlib import ExitStack, contextmanager, suppress

import pytest

from lab import lio, network
from lab.disk import Direct
from lab.ghost import LOST_S, lost, wait_path
from lab.istripe import EnableError
from lab.reservation import (
    CONFLICT,
    EXCLUSIVE_REG_ONLY,
    IGNORE_KEY,
    KEY,
    OTHER_KEY,
    WRITE_EXCLUSIVE,
    WRITE_EXCLUSIVE_REG_ONLY,
    PassedLun,
    Reservations,
)
from lab.shell import read, run, status, wait_for, write
from scripted.registrations import EXCLUSIVE_REG_ONLY as EXCLUSIVE_SCSI
from scripted.registrations import Conflict, RegisteredDisk, second
from scripted.scenario import HONEST, Scenario
from scripted.scsi import (
    INVALID_FIELD,
    INVALID_OPCODE,
    INVALID_PARAMETER,
    PERSISTENT_RESERVE_IN,
    PERSISTENT_RESERVE_OUT,
    WRITE_16,
    Refuse,
)

KIB, MIB = 1 << 10, 1 << 20
ALLOWED = pytest.mark.allow_log(
    "error(,| on) dev istripe|Buffer I/O error on dev sd|reservation conflict|critical nexus error",
    "somebody else holds a reservation")

#: NOT READY: a target port in transition, also of a target that reports no access states.
TRANSITION = (2, 4, 0x0A)
INTERNAL_TARGET_FAILURE = (4, 0x44, 0)
#: INSUFFICIENT REGISTRATION RESOURCES.
NO_RESOURCES = (5, 0x55, 4)
REGISTER, RESERVE = 0, 1
#: Nobody has it.
ANY_KEY = 0xA11
#: What the log says when a key is not registered again.
GIVEN_UP = "paths that log in are not registered with it any more"


@pytest.fixture
def two_legs(make_lio, make_volume, stock, link, keep_on_disk):
    """A disk of two legs, and the stock initiator's disks for the LUNs of them."""
    target = make_lio(64 * MIB, 64 * MIB)
    device = make_volume(target, legs=2, chunk_bytes=64 * KIB).enable()
    return device, stock.login_all(link.portal(), target.iqn, 2)


@pytest.fixture
def legs_apart(make_lio, make_volume, links, stock, keep_on_disk):
    """The same with a link for each leg: the volume, its disk, and those of the stock initiator."""
    target = make_lio(64 * MIB, 64 * MIB, all_links=True)
    volume = make_volume(target, chunk_bytes=64 * KIB, more_legs=[
        {"portal": links[1].portal(), "target_name": target.iqn, "lun": target.lun_number(1)}])
    device = volume.enable()
    others = stock.login_all(links[0].portal(), target.iqn, 2)
    return volume, device, others


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
def test_what_one_leg_refuses_is_taken_back(two_legs, kernel_log):
    """Another initiator holds the second leg: the first one is not ours either."""
    device, (first, second) = two_legs
    with Reservations(device) as ours, Reservations(second) as theirs:
        assert ours.register(0, KEY, IGNORE_KEY) == 0
        assert theirs.register(0, OTHER_KEY) == 0
        assert theirs.reserve(OTHER_KEY, WRITE_EXCLUSIVE) == 0
        assert ours.reserve(KEY, WRITE_EXCLUSIVE) == CONFLICT
        assert kernel_log.matching("PERSISTENT RESERVE OUT, service action 1: reservation conflict")
        assert writes(first) and writes(second)
        # The wrong key is refused by the first leg, and nothing changes.
        assert ours.register(OTHER_KEY, KEY) == CONFLICT
        assert keys(first) == [KEY]
        # Nobody has that key at the first leg, and nobody has another one at any.
        assert ours.preempt(KEY, ANY_KEY, WRITE_EXCLUSIVE) == CONFLICT
        assert writes(second)
        assert ours.preempt(KEY, OTHER_KEY, WRITE_EXCLUSIVE) == 0
        assert not writes(second)
        assert ours.clear(KEY) == 0


@pytest.mark.allow_log("error, dev istripe|Buffer I/O error on dev istripe",
                       "another host takes it away")
def test_preempted_by_another_host_at_one_leg(two_legs):
    """It knows our key no more: the conflict there does not mean that it is done."""
    device, (first, second) = two_legs
    with Reservations(device) as ours, Reservations(first) as one, Reservations(second) as two:
        assert ours.register(0, KEY, IGNORE_KEY) == 0
        assert one.register(0, OTHER_KEY) == 0
        assert two.register(0, OTHER_KEY) == 0
        assert two.preempt(OTHER_KEY, KEY, WRITE_EXCLUSIVE) == 0
        assert ours.preempt(KEY, OTHER_KEY, WRITE_EXCLUSIVE) == CONFLICT
        assert keys(second) == [OTHER_KEY]
        assert two.clear(OTHER_KEY) == 0


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


@pytest.mark.allow_log("error, dev istripe|Buffer I/O error on dev istripe",
                       "it is taken down by force")
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


@ALLOWED
def test_preempted_on_every_leg(two_legs):
    """The host whose keys were preempted cannot write any more, and this one can."""
    device, others = two_legs
    theirs = [Reservations(disk) for disk in others]
    try:
        with Reservations(device) as ours:
            assert ours.register(0, KEY) == 0
            for leg in theirs:
                assert leg.register(0, OTHER_KEY) == 0
                assert leg.reserve(OTHER_KEY, WRITE_EXCLUSIVE) == 0
            assert not writes(device) and all(writes(disk) for disk in others)
            assert ours.preempt(KEY, OTHER_KEY, WRITE_EXCLUSIVE) == 0
            assert writes(device) and not any(writes(disk) for disk in others)
            assert [keys(disk) for disk in others] == [[KEY], [KEY]]
            assert ours.clear(KEY) == 0
    finally:
        for leg in theirs:
            leg.__exit__()


def has_no_path(call, *args):
    with pytest.raises(OSError) as failed:
        call(*args)
    return failed.value.errno == errno.ENOTCONN


@ALLOWED
def test_what_was_there_before_stays(legs_apart, links):
    """What a leg already has is not taken from it when the same call fails for another one."""
    volume, device, others = legs_apart
    reservation = KEY, WRITE_EXCLUSIVE_REG_ONLY
    with Reservations(device) as ours:
        assert ours.register(0, KEY) == 0
        with lost(volume, links[1], 0, leg=1):
            for _ in range(2):
                assert has_no_path(ours.reserve, *reservation)
                assert writes(others[0])
        assert ours.reserve(*reservation) == 0
        with lost(volume, links[1], 0, leg=1):
            assert has_no_path(ours.register, 0, KEY, IGNORE_KEY)
            assert keys(others[0]) == [KEY]
            assert has_no_path(ours.reserve, *reservation)
            assert writes(device) and not writes(others[0])
        assert [keys(disk) for disk in others] == [[KEY], [KEY]]
        assert not any(writes(disk) for disk in others)
        assert ours.release(*reservation) == 0
        assert ours.clear(KEY) == 0


@ALLOWED
def test_the_rest_is_done_when_it_is_repeated(legs_apart, links):
    """What one leg has done, and cannot take back, is no conflict when the other one can be asked."""
    volume, device, others = legs_apart
    theirs = [Reservations(disk) for disk in others]
    preempt = KEY, OTHER_KEY, WRITE_EXCLUSIVE_REG_ONLY
    with ExitStack() as stack:
        ours = stack.enter_context(Reservations(device))
        for leg in theirs:
            stack.push(leg)
            assert leg.register(0, OTHER_KEY) == 0
            assert leg.reserve(OTHER_KEY, WRITE_EXCLUSIVE_REG_ONLY) == 0
        assert ours.register(0, KEY) == 0
        with lost(volume, links[1], 0, leg=1):
            for _ in range(2):
                assert has_no_path(ours.preempt, *preempt)
            assert not writes(others[0])
            assert keys(others[0]) == [KEY] and OTHER_KEY in keys(others[1])
        assert ours.preempt(*preempt) == 0
        assert not any(writes(disk) for disk in others)
        assert [keys(disk) for disk in others] == [[KEY], [KEY]]
        # Nobody has that key any more.
        assert ours.preempt(*preempt) == CONFLICT
        with lost(volume, links[1], 0, leg=1):
            assert has_no_path(ours.clear, KEY)
        assert ours.clear(KEY) == 0
        assert [keys(disk) for disk in others] == [[], []]
        assert ours.clear(KEY) == CONFLICT


@ALLOWED
def test_keys_while_a_path_is_lost(make_lio, make_volume, links, stock, keep_on_disk):
    """mpathpersist registers the paths that there are, and multipathd those that come later."""
    target = make_lio(64 * MIB, all_links=True)
    volume = make_volume(target, paths=links)
    device = volume.enable()
    other = stock.login(links[0].portal(), target.iqn, target.lun_number(0))
    with Reservations(device) as ours:
        with lost(volume, links[1], 1):
            assert ours.register(0, KEY) == 0
            assert keys(other) == [KEY] * (len(links) - 1)
            assert ours.reserve(KEY, WRITE_EXCLUSIVE_REG_ONLY) == 0
            assert writes(device) and not writes(other)
        assert keys(other) == [KEY] * len(links)
        with lost(volume, links[1], 1):
            assert writes(device)
            assert ours.release(KEY, WRITE_EXCLUSIVE_REG_ONLY) == 0
            assert ours.register(KEY, 0) == 0
            # Linux's own target keeps the registration of a nexus without a session.
            assert keys(other) == [KEY]
        assert keys(other) == []


@ALLOWED
def test_preempted_host_stays_out(make_lio, make_volume, links, stock, keep_on_disk, kernel_log):
    """By a cluster manager: a key that the target does not list is not registered again."""
    target = make_lio(64 * MIB, all_links=True)
    volume = make_volume(target, paths=links)
    device = volume.enable()
    other = stock.login(links[0].portal(), target.iqn, target.lun_number(0))
    with Reservations(device) as ours, Reservations(other) as theirs:
        assert ours.register(0, KEY) == 0
        assert ours.reserve(KEY, WRITE_EXCLUSIVE_REG_ONLY) == 0
        assert theirs.register(0, OTHER_KEY) == 0
        with lost(volume, links[1], 1):
            assert writes(device)
            assert theirs.preempt(OTHER_KEY, KEY, WRITE_EXCLUSIVE_REG_ONLY) == 0
            assert keys(other) == [OTHER_KEY]
        assert keys(other) == [OTHER_KEY]
        assert not writes(device)
        with lost(volume, links[1], 1):
            pass
        assert keys(other) == [OTHER_KEY] and not writes(device)
        assert len(kernel_log.matching(GIVEN_UP)) == 1
        assert kernel_log.matching("reserved for another initiator, and no key of this host is known")
        assert writes(other)
        # Somebody has to say so: this host takes part again.
        assert ours.register(0, KEY) == 0
        assert keys(other) == [KEY] * len(links) + [OTHER_KEY] and writes(device)
        assert theirs.clear(OTHER_KEY) == 0


@ALLOWED
def test_reserved_for_others_alone(make_lio, make_volume, links, stock, keep_on_disk):
    """The target then refuses what the bring-up asks, too: that is nothing against a path."""
    target = make_lio(64 * MIB, all_links=True)
    volume = make_volume(target, paths=links)
    device = volume.enable()
    other = stock.login(links[0].portal(), target.iqn, target.lun_number(0))
    with Reservations(device) as ours, Reservations(other) as theirs:
        assert theirs.register(0, OTHER_KEY) == 0
        assert theirs.reserve(OTHER_KEY, EXCLUSIVE_REG_ONLY) == 0
        volume.rescan()
        with lost(volume, links[1], 1):
            pass
        start = time.monotonic()
        with pytest.raises(OSError) as failed, Direct(device) as disk:
            disk.read(0, 4 * KIB)
        assert failed.value.errno == errno.EBADE
        assert time.monotonic() - start < 60
        assert ours.register(0, KEY) == 0
        assert keys(other) == [KEY] * len(links) + [OTHER_KEY] and writes(device)
        assert theirs.clear(OTHER_KEY) == 0


def switch(volume, index, value):
    """The errno with which a path is not added or removed, or 0."""
    try:
        write(volume.leg / "paths" / str(index) / "enable", value)
    except OSError as failed:
        return failed.errno
    return 0


@ALLOWED
def test_keys_of_paths_that_come_and_go(make_lio, make_volume, links, stock, keep_on_disk):
    """A path that is added is registered before it gets I/O; one that goes leaves no key behind."""
    target = make_lio(64 * MIB, all_links=True)
    volume = make_volume(target, paths=links[:2])
    device = volume.enable()
    other = stock.login(links[1].portal(), target.iqn, target.lun_number(0))
    assert switch(volume, 1, 0) == 0
    with Reservations(device) as ours:
        assert ours.register(0, KEY) == 0
        assert ours.reserve(KEY, WRITE_EXCLUSIVE_REG_ONLY) == 0
        assert keys(other) == [KEY]
        assert switch(volume, 1, 1) == 0
        assert keys(other) == [KEY] * 2
        with lost(volume, links[0], 0):
            assert writes(device) and not writes(other)
            # It holds the reservation.
            assert switch(volume, 0, 0) == errno.EBUSY
        assert switch(volume, 0, 0) == errno.EBUSY
        assert "leg 0 is held over this path" in volume.last_error()
        write(volume.path_sysfs(0, 1) / "reconnect", 1)
        wait_path(volume, 1, True)
        assert keys(other) == [KEY] * 2
        for _ in range(2):
            assert switch(volume, 1, 0) == 0
            assert keys(other) == [KEY]
            assert writes(device) and not writes(other)
            assert switch(volume, 1, 1) == 0
        assert ours.release(KEY, WRITE_EXCLUSIVE_REG_ONLY) == 0
        assert switch(volume, 0, 0) == 0
        assert keys(other) == [KEY] and writes(device)
        assert ours.register(KEY, 0) == 0
        assert keys(other) == []


class HugeDisk(RegisteredDisk):
    """It has one block more than READ CAPACITY(10) can tell."""

    blocks = 1 << 32


@ALLOWED
def test_reserved_and_too_large_to_tell(registered):
    """The host that starts has to wait for the other one: no setting is wrong."""
    volume, disk, _ = registered(paths=1, kind=HugeDisk)
    disk.register("another host", OTHER_KEY)
    disk.kind = EXCLUSIVE_SCSI
    with pytest.raises(EnableError) as failed:
        volume.enable()
    assert failed.value.number == errno.EBUSY
    assert "another host has reserved the LUN, which does not tell its size then" in failed.value.reason


@ALLOWED
def test_asked_again_once_registered(registered):
    """What the LUN kept back for another host's reservation it tells when this host takes part."""
    volume, disk, _ = registered()
    device = volume.enable()
    disk.register("another host", OTHER_KEY)
    disk.kind = EXCLUSIVE_SCSI
    volume.rescan()
    disk.write_protected = True
    volume.rescan()
    assert read(f"/sys/block/{device.name}/ro") == "0"
    with Reservations(device) as ours:
        assert ours.register(0, KEY) == 0
        wait_for("the disk to be read-only", lambda: read(f"/sys/block/{device.name}/ro") == "1")


@pytest.mark.parametrize("kind", [WRITE_EXCLUSIVE_REG_ONLY, EXCLUSIVE_REG_ONLY])
def test_target_that_ends_registrations_with_the_session(registered, links, kernel_log, kind):
    """As SCST may: each path is registered again before it gets I/O."""
    volume, disk, nexuses = registered()
    disk.forgets = True
    device = volume.enable()
    with Reservations(device) as ours:
        assert ours.register(0, KEY) == 0
        assert ours.reserve(KEY, kind) == 0
        for index, link in enumerate(links[:2]):
            with lost(volume, link, index):
                assert writes(device)
            assert disk.keys == dict.fromkeys(nexuses, KEY)
            assert kernel_log.matching(f"/0/{index}: registered with reservation key {KEY:#x}")
            # Only the path that has come back is there.
            with lost(volume, links[1 - index], 1 - index):
                assert writes(device)


@ALLOWED
def test_preempted_between_two_commands(registered, links, kernel_log):
    """Between READ KEYS and the registration another host preempts the key: it is taken back."""
    volume, disk, _ = registered()
    disk.forgets = True
    device = volume.enable()
    with Reservations(device) as ours:
        assert ours.register(0, KEY) == 0
        assert ours.reserve(KEY, WRITE_EXCLUSIVE_REG_ONLY) == 0
        disk.register("another host", OTHER_KEY)
        with lost(volume, links[1], 1):
            disk.when_read = second(lambda: disk.preempt("another host", KEY))
        assert disk.keys == {"another host": OTHER_KEY}
        assert not writes(device)
        assert len(kernel_log.matching(GIVEN_UP)) == 1


@ALLOWED
def test_added_by_a_preempted_host(registered, kernel_log):
    """It must not take part again by itself: the path is refused until the key is registered."""
    volume, disk, nexuses = registered()
    device = volume.enable()
    assert switch(volume, 1, 0) == 0
    with Reservations(device) as ours:
        assert ours.register(0, KEY) == 0
        disk.register("another host", OTHER_KEY)
        disk.preempt("another host", KEY)
        assert switch(volume, 1, 1) == errno.EPERM
        assert "another host has preempted or cleared it" in volume.last_error()
        assert len(kernel_log.matching(GIVEN_UP)) == 1
        for value, index in ((1, 1), (0, 0)):
            assert switch(volume, index, value) == errno.EBUSY
            assert "the key of leg 0 is not known" in volume.last_error()
        assert disk.keys == {"another host": OTHER_KEY}
        assert not writes(device)
        assert ours.register(0, KEY, IGNORE_KEY) == 0
        assert switch(volume, 1, 1) == 0
        assert disk.keys == {**dict.fromkeys(nexuses, KEY), "another host": OTHER_KEY}


def test_removed_while_it_is_lost(registered, links, kernel_log):
    """The target may keep its registration: the log tells it, once."""
    volume, disk, nexuses = registered()
    with Reservations(volume.enable()) as ours:
        assert ours.register(0, KEY) == 0
        links[1].set_up(False)
        try:
            wait_path(volume, 1, False)
            assert switch(volume, 1, 0) == 0
        finally:
            links[1].set_up(True)
        assert len(kernel_log.matching("/0/1: its registration .* may stay at the target")) == 1
        assert disk.keys == dict.fromkeys(nexuses, KEY)
        wait_for("the path", lambda: switch(volume, 1, 1) == 0, LOST_S)
        assert ours.register(KEY, 0) == 0
        assert disk.keys == {}


def test_the_holder_is_asked_for_again(registered):
    """The LUN says first that it has changed: nothing is known of its reservation yet."""
    volume, disk, nexuses = registered()
    with Reservations(volume.enable()) as ours:
        assert ours.register(0, KEY) == 0
        assert ours.reserve(KEY, WRITE_EXCLUSIVE_REG_ONLY) == 0
        disk.kind = 0
        disk.told[nexuses[0]] = (6, 0x3F, 0x0E)
        assert switch(volume, 0, 0) == 0
    assert not disk.told and list(disk.keys) == nexuses[1:]


@ALLOWED
def test_preempted_while_a_path_is_added(registered):
    """Between READ KEYS and the registration: nothing is left of it."""
    volume, disk, _ = registered()
    with Reservations(volume.enable()) as ours:
        assert switch(volume, 1, 0) == 0
        assert ours.register(0, KEY) == 0
        disk.register("another host", OTHER_KEY)
        disk.when_read = second(lambda: disk.preempt("another host", KEY))
        assert switch(volume, 1, 1) == errno.EBUSY
        assert disk.keys == {"another host": OTHER_KEY}


def test_another_change_between_two_commands(registered, links):
    """Nothing is taken back: another path has the key all the time."""
    volume, disk, nexuses = registered()
    disk.forgets = True
    with Reservations(volume.enable()) as ours:
        assert ours.register(0, KEY) == 0
        with lost(volume, links[1], 1):
            disk.when_read = second(lambda: disk.register("another host", OTHER_KEY))
        assert disk.keys == {**dict.fromkeys(nexuses, KEY), "another host": OTHER_KEY}


@contextmanager
def both_lost(volume, links):
    """They come back afterwards."""
    for link in links[:2]:
        link.set_up(False)
    try:
        for index in range(2):
            wait_path(volume, index, False)
        yield
    finally:
        for link in links[:2]:
            link.set_up(True)


def test_list_that_does_not_come(registered, server, links):
    """One path waits for the list of keys; the other one logs in meanwhile, and is registered."""

    async def on_command(_run, conn, task):
        if task.opcode == PERSISTENT_RESERVE_OUT and conn.session.isid == nexuses[1][1]:
            together.append(bool(met) and met[-1] in asking)
        if task.opcode != PERSISTENT_RESERVE_IN or not disk.keys:
            return False
        if conn.session.isid != nexuses[0][1]:
            while not asking:
                await asyncio.sleep(0.01)
            met.append(asking[-1])
            return False
        asking.append(task)
        try:
            await let_go.wait()
        finally:
            asking.remove(task)
        return False

    asking, met, together, let_go = [], [], [], asyncio.Event()
    volume, disk, nexuses = registered(scenario=Scenario("silent", hooks={"on_command": on_command}))
    with Reservations(volume.enable()) as ours:
        assert ours.register(0, KEY) == 0
        with both_lost(volume, links):
            del disk.keys[nexuses[1]]
        wait_path(volume, 1, True)
        assert together[-1]
        server.loop.call_soon_threadsafe(let_go.set)
        wait_path(volume, 0, True)
    assert disk.keys == dict.fromkeys(nexuses, KEY)


@ALLOWED
def test_preempted_while_two_paths_log_in(registered, links, kernel_log):
    """Neither takes the other one for a path that has kept the key."""

    async def on_command(_run, conn, task):
        if task.opcode == PERSISTENT_RESERVE_IN and disk.keys:
            lists.append(conn.session.isid)
            number = lists.count(conn.session.isid)
            if all(lists.count(isid) >= number for _, isid in nexuses):
                met.setdefault(number, asyncio.Event()).set()
            # They do meet if nothing keeps them apart; all lists of a login have 10 s.
            with suppress(asyncio.TimeoutError):
                await asyncio.wait_for(met.setdefault(number, asyncio.Event()).wait(),
                                       2 if number == 1 else 0.5)
        return False

    lists, met = [], {}
    volume, disk, nexuses = registered(scenario=Scenario("meet", hooks={"on_command": on_command}))
    device = volume.enable()
    with Reservations(device) as ours:
        assert ours.register(0, KEY) == 0
        disk.register("another host", OTHER_KEY)
        disk.register("a third path", KEY)
        with both_lost(volume, links):
            for nexus in nexuses:
                del disk.keys[nexus]
            # Both are refused the key that they do not have; then the first one takes it.
            disk.when_registered = lambda _: second(lambda: disk.preempt("another host", KEY))
        for index in range(2):
            wait_path(volume, index, True)
        assert disk.keys == {"another host": OTHER_KEY}
        assert not writes(device)
        assert len(kernel_log.matching(GIVEN_UP)) == 1


@ALLOWED
@pytest.mark.parametrize("told", ["to-io", "to-a-question"])
def test_another_host_with_the_same_key(registered, links, kernel_log, told):
    """It has preempted us, and the key is listed: what we were told counts."""
    volume, disk, _ = registered()
    device = volume.enable()
    with Reservations(device) as ours:
        assert ours.register(0, KEY) == 0
        disk.register("another host", KEY)
        disk.preempt("another host", KEY)
        if told == "to-a-question":
            volume.rescan()
            assert len(kernel_log.matching(GIVEN_UP)) == 1
        assert not writes(device)
        for index, link in enumerate(links[:2]):
            with lost(volume, link, index):
                pass
        assert disk.keys == {"another host": KEY}
        assert not writes(device)
        assert len(kernel_log.matching(GIVEN_UP)) == 1


@ALLOWED
def test_registered_over_some_paths_only(registered):
    """One refuses: the others are as they were."""
    volume, disk, nexuses = registered()
    with Reservations(volume.enable()) as ours:
        disk.keys[nexuses[1]] = OTHER_KEY
        assert ours.register(0, KEY) == CONFLICT
        assert disk.keys == {nexuses[1]: OTHER_KEY}
        assert ours.register(0, KEY, IGNORE_KEY) == 0
        assert disk.keys == dict.fromkeys(nexuses, KEY)


@pytest.mark.allow_log("error, dev istripe|Buffer I/O error on dev istripe",
                       "a path is lost, and commands are refused")
def test_registration_loses_a_path(registered, server):
    """The connection breaks when the key is registered: the next session is registered."""
    volume, disk, nexuses = registered()

    def breaks(nexus):
        if nexus != nexuses[1]:
            return breaks
        for conn in server.connections():
            if conn.session.isid == nexus[1]:
                conn.reset()
        raise Conflict

    with Reservations(volume.enable()) as ours:
        disk.when_registered = breaks
        assert ours.register(0, KEY) == 0
        wait_for("both paths", lambda: disk.keys == dict.fromkeys(nexuses, KEY), LOST_S)


@pytest.mark.allow_log("error, dev istripe|Buffer I/O error on dev istripe",
                       "a path is lost, and commands are refused")
def test_taken_back_where_the_path_is_lost(registered, server):
    """One path refuses the key, and the other one is lost: its next login ends the registration."""
    volume, disk, nexuses = registered()

    def breaks(nexus):
        if nexus == nexuses[0]:
            return breaks
        for conn in server.connections():
            if conn.session.isid == nexuses[0][1]:
                conn.reset()
        refused.append(nexus)
        raise Conflict

    refused = []
    with Reservations(volume.enable()) as ours:
        disk.when_registered = breaks
        assert ours.register(0, KEY, IGNORE_KEY) == CONFLICT
        assert refused == [nexuses[1]]
        wait_for("the end of the registration", lambda: not disk.keys, LOST_S)
        wait_path(volume, 0, True)


def test_unregistered_while_a_path_logs_in(registered, links):
    """The login has just found the key, and the path is passed over: it logs in once more."""

    async def on_command(_run, _conn, task):
        if task.opcode == PERSISTENT_RESERVE_IN and disk.keys and not ended:
            ended.append(True)
            ended[0] = await asyncio.to_thread(ours.register, KEY, 0)
        return False

    ended = []
    volume, disk, nexuses = registered(scenario=Scenario("asked", hooks={"on_command": on_command}))
    with Reservations(volume.enable()) as ours:
        assert ours.register(0, KEY) == 0
        with lost(volume, links[1], 1):
            assert disk.keys == dict.fromkeys(nexuses, KEY)
        assert ended == [0]
        assert disk.keys == {}


def test_no_writes_over_a_session_that_is_not_admitted(registered, links):
    """Registrations change while it logs in: it ends again, and only the next one gets writes."""

    async def on_command(_run, conn, task):
        if conn.session.isid != nexuses[1][1]:
            return False
        written[conn.session] = written.get(conn.session, 0) + (task.opcode == WRITE_16)
        if task.opcode == PERSISTENT_RESERVE_IN and disk.keys and not refused:
            refused.append(conn.session)
            await asyncio.to_thread(ours.register, KEY, 0)
        return False

    def go_on():
        while not over.wait(0.005):
            direct.write(0, bytes(4 * KIB))

    written, refused, over = {}, [], threading.Event()
    writer = threading.Thread(target=go_on, daemon=True)
    volume, disk, nexuses = registered(scenario=Scenario("asked", hooks={"on_command": on_command}))
    write(volume.leg / "policy", "round-robin")
    device = volume.enable()
    with Reservations(device) as ours, Direct(device) as direct:
        assert ours.register(0, KEY) == 0
        try:
            with lost(volume, links[1], 1):
                writer.start()
                before = sum(list(written.values()))
            wait_for("writes over the second path",
                     lambda: sum(list(written.values())) > before, LOST_S)
        finally:
            over.set()
            writer.join(LOST_S)
        assert len(refused) == 1 and written[refused[0]] == 0
        assert disk.keys == {}


@pytest.mark.parametrize("sense", [INTERNAL_TARGET_FAILURE, NO_RESOURCES, INVALID_FIELD])
def test_key_that_is_not_taken_again(registered, links, kernel_log, sense):
    """The path is not used before it is."""
    volume, disk, nexuses = registered()
    disk.forgets = True

    def fails(nexus):
        refused.append(nexus)
        raise Refuse(*sense)

    refused = []
    words = "status 0x02, sense {:x}/{:02x}/{:02x}".format(*sense)
    with Reservations(volume.enable()) as ours:
        assert ours.register(0, KEY) == 0
        with lost(volume, links[1], 1):
            disk.when_registered = fails
        assert refused == [nexuses[1]]
        assert kernel_log.matching(f"cannot register reservation key {KEY:#x}: {words}")
        assert disk.keys == dict.fromkeys(nexuses, KEY)


def test_key_that_cannot_be_registered_again(registered, links, kernel_log):
    """The LUN does not know the command any more: the path is used without."""
    volume, disk, nexuses = registered()
    disk.forgets = True

    def unknown(_nexus):
        raise Refuse(*INVALID_OPCODE)

    with Reservations(volume.enable()) as ours:
        assert ours.register(0, KEY) == 0
        with lost(volume, links[1], 1):
            disk.when_registered = unknown
        assert kernel_log.matching("cannot tell whether another host has preempted it: ")
        assert disk.keys == {nexuses[0]: KEY}


@pytest.mark.parametrize(("sense", "number"), [
    (INVALID_OPCODE, errno.EOPNOTSUPP), (INVALID_FIELD, errno.EINVAL),
    (INVALID_PARAMETER, errno.EINVAL), (NO_RESOURCES, errno.EIO),
    (INTERNAL_TARGET_FAILURE, errno.EIO),
], ids=["opcode", "field", "parameter", "resources", "failure"])
def test_refused_by_the_lun(registered, sense, number):
    """Programs are told as by the SCSI disk driver; no key is left."""
    volume, disk, _ = registered(paths=1)

    def fails(_nexus):
        raise Refuse(*sense)

    with Reservations(volume.enable()) as ours:
        disk.when_registered = fails
        with pytest.raises(OSError) as failed:
            ours.register(0, KEY)
        assert failed.value.errno == number
        assert disk.keys == {}
        assert ours.register(0, KEY) == 0


def test_released_without_the_holder(registered, links):
    """Over another path the target would say GOOD, and keep the reservation."""
    volume, disk, _ = registered()
    with Reservations(volume.enable()) as ours:
        assert ours.register(0, KEY) == 0
        assert ours.reserve(KEY, WRITE_EXCLUSIVE_REG_ONLY) == 0
        with lost(volume, links[0], 0):
            with pytest.raises(OSError) as failed:
                ours.release(KEY, WRITE_EXCLUSIVE_REG_ONLY)
            assert failed.value.errno == errno.ENOTCONN
        with lost(volume, links[1], 1):
            assert ours.release(KEY, WRITE_EXCLUSIVE_REG_ONLY) == 0
    assert disk.kind == 0


def test_more_keys_than_can_be_read(registered, links, kernel_log):
    """Ours may be behind them: a path is as the target has kept it."""
    volume, disk, nexuses = registered()
    for number in range(600):
        disk.register(number, OTHER_KEY)
    with Reservations(volume.enable()) as ours:
        assert ours.register(0, KEY) == 0
        with lost(volume, links[1], 1):
            pass
        assert not kernel_log.matching("cannot tell")
        disk.forgets = True
        with lost(volume, links[1], 1):
            pass
        assert len(kernel_log.matching("more keys than can be read: not registered")) == 1
        assert nexuses[0] in disk.keys and nexuses[1] not in disk.keys


@contextmanager
def guest(stock, link, device):
    """The disk of the stock initiator for what LIO on this host makes of the volume's disk."""
    target = lio.Target([(link.address, network.ISCSI_PORT)], [PassedLun(device)],
                        iqn=f"{lio.IQN}passed")
    try:
        target.create()
        yield stock.login(link.portal(), target.iqn)
    finally:
        stock.logout()
        target.destroy()


def holder(disk):
    """The key and the type of the reservation of a LUN, or None."""
    out = run("sg_persist", "--in", "--read-reservation", disk)
    if "NO reservation held" in out:
        return None
    key, kind = re.search(r"Key=(0x[0-9a-f]+)\s+scope: LU_SCOPE,\s+type: (.*)", out).groups()
    return int(key, 16), kind.strip()


#: LIO passes reservations on to its disk, which are read then.
PASSED = pytest.mark.kernel(6, 4)


@PASSED
@ALLOWED
def test_guest_reads_what_is_registered(make_lio, make_volume, links, stock, keep_on_disk):
    """LIO on this host passes its guest's reservations through, and the guest reads them."""
    target = make_lio(64 * MIB, all_links=True)
    device = make_volume(target, paths=links[:2]).enable()
    with guest(stock, links[0], device) as disk, Reservations(disk) as its:
        assert keys(disk) == [] and holder(disk) is None
        assert its.register(0, KEY) == 0
        assert keys(disk) == [KEY] * 2
        assert its.reserve(KEY, EXCLUSIVE_REG_ONLY) == 0
        assert holder(disk) == (KEY, "Exclusive Access, registrants only")
        assert its.release(KEY, EXCLUSIVE_REG_ONLY) == 0
        assert holder(disk) is None
        assert its.clear(KEY) == 0
        assert keys(disk) == []


@PASSED
@ALLOWED
def test_guest_reads_of_every_leg(two_legs, links, stock):
    """A key that one leg alone has is told, too; a reservation that one leg alone has is none."""
    device, (first, second) = two_legs
    with guest(stock, links[0], device) as disk, Reservations(disk) as its, \
            Reservations(second) as theirs:
        assert its.register(0, KEY) == 0
        assert keys(disk) == [KEY]
        assert theirs.register(0, OTHER_KEY) == 0
        assert keys(disk) == [KEY, OTHER_KEY] and keys(first) == [KEY]
        assert holder(disk) is None
        assert theirs.reserve(OTHER_KEY, WRITE_EXCLUSIVE_REG_ONLY) == 0
        assert status("sg_persist", "--in", "--read-reservation", disk)[0] != 0
        assert theirs.release(OTHER_KEY, WRITE_EXCLUSIVE_REG_ONLY) == 0
        assert holder(disk) is None
        assert its.clear(KEY) == 0


#: IOC_PR_READ_KEYS and IOC_PR_READ_RESERVATION.
READS = pytest.mark.kernel(6, 19)


@READS
@ALLOWED
def test_read_from_every_leg(two_legs, kernel_log):
    """A key that one leg has is told; a reservation that one leg has is none of the disk."""
    device, (first, second) = two_legs
    with Reservations(device) as ours, Reservations(second) as theirs:
        assert ours.read_keys(8)[1:] == (0, [])
        assert ours.read_reservation()[0::2] == (0, 0)
        assert ours.register(0, KEY) == 0
        assert ours.reserve(KEY, WRITE_EXCLUSIVE_REG_ONLY) == 0
        assert ours.read_keys(8)[1:] == (1, [KEY])
        assert ours.read_keys(0)[1:] == (1, [])
        assert ours.read_reservation()[0::2] == (KEY, WRITE_EXCLUSIVE_REG_ONLY)
        assert theirs.register(0, OTHER_KEY) == 0
        assert keys(first) == [KEY]
        assert ours.read_keys(8)[1:] == (2, [KEY, OTHER_KEY])
        assert ours.read_keys(1)[1:] == (2, [KEY])
        assert theirs.preempt(OTHER_KEY, KEY, WRITE_EXCLUSIVE_REG_ONLY) == 0
        assert ours.read_keys(8)[1:] == (2, [KEY, OTHER_KEY])
        with pytest.raises(OSError) as failed:
            ours.read_reservation()
        assert failed.value.errno == errno.EBUSY
        assert kernel_log.matching(
            f"READ RESERVATION: leg 1: key {OTHER_KEY:#x}, type 5, but leg 0: key {KEY:#x}, type 5")
        assert theirs.clear(OTHER_KEY) == 0
        assert ours.register(0, KEY, IGNORE_KEY) == 0
        assert ours.clear(KEY) == 0


@READS
def test_read_over_the_path_that_is_left(registered, links):
    volume, disk, nexuses = registered()
    with Reservations(volume.enable()) as ours:
        assert ours.register(0, KEY) == 0
        with lost(volume, links[0], 0):
            assert ours.read_keys(8) == (disk.generation, 2, [KEY] * 2)
        assert disk.keys == dict.fromkeys(nexuses, KEY)


@READS
@pytest.mark.parametrize("sense", [INVALID_OPCODE, INTERNAL_TARGET_FAILURE])
def test_reading_is_refused(registered, kernel_log, sense):
    volume, disk, _ = registered(paths=1)

    def fails(_nexus):
        raise Refuse(*sense)

    with Reservations(volume.enable()) as ours:
        disk.when_read = fails
        with pytest.raises(OSError) as failed:
            ours.read_keys(8)
        unknown = sense == INVALID_OPCODE
        assert failed.value.errno == (errno.EOPNOTSUPP if unknown else errno.EIO)
        words = "not supported" if unknown else "refused"
        assert kernel_log.matching(f"PERSISTENT RESERVE IN: {words}")


@READS
def test_more_keys_than_can_be_told(registered, kernel_log):
    volume, disk, _ = registered(paths=1)
    with Reservations(volume.enable()) as ours:
        for number in range(511):
            disk.register(number, OTHER_KEY)
        assert ours.read_keys(1024) == (511, 511, [OTHER_KEY] * 511)
        disk.register(511, KEY)
        with pytest.raises(OSError) as failed:
            ours.read_keys(1024)
        assert failed.value.errno == errno.E2BIG
        assert kernel_log.matching("PERSISTENT RESERVE IN: the LUN has more keys than can be read")
