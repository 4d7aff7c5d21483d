# SPDX-License-Identifier: GPL-2.0
"""Registrations while a port takes no I/O (ALUA): its path has its own before it gets any."""

import errno

import pytest

from lab.ghost import ISIDS, lost, set_isids, state, volume_over
from lab.reservation import KEY, WRITE_EXCLUSIVE_REG_ONLY, Reservations
from lab.shell import read, wait_for
from scripted.alua import (
    EXPLICIT,
    OFFLINE,
    OPTIMIZED,
    STANDBY,
    TRANSITIONING,
    UNAVAILABLE,
    Groups,
)
from scripted.scenario import HONEST
from scripted.scsi import Refuse

#: REPORTED LUNS DATA HAS CHANGED.
LUNS_CHANGED = (6, 0x3F, 0x0E)
PATH = {"login_timeout_ms": 10000, "default_time2wait": 0}


@pytest.fixture
def two_ports(make_server, make_volume, links):
    """A volume with a path to each of two ports, the ports, and the nexuses of the paths."""
    servers = [make_server(), make_server()]
    groups = Groups(OPTIMIZED, OPTIMIZED, keyed=True)
    for server, port in zip(servers, groups.ports):
        server.load(HONEST).disk = port
    volume = volume_over(make_volume, links[:2], [server.port for server in servers],
                         servers[0].target, policy="round-robin", fence="path", path=PATH,
                         recovery_timeout_ms=30000)
    set_isids(volume)
    name = volume.settings["initiator_name"]
    return volume, groups, [(name, bytes.fromhex(isid)) for isid in ISIDS[:2]]


def enabled(volume):
    device = volume.enable()
    wait_for("both paths", lambda: state(volume) == "live")
    return device


def undisturbed(volume):
    """No session was lost for this."""
    for path in range(2):
        assert read(volume.path_sysfs(0, path) / "state") == "live"
        assert read(volume.path_sysfs(0, path) / "faults") == "0"


def takes_io(volume, groups, told=""):
    """All ports do. What is due over the second one is done before it gets any.

    told: that LUNs have changed, for which everything is asked once more: to the first command that
    follows READ KEYS, or to the first that registers.
    """
    seen = []
    port = groups.ports[1]
    before = port.served

    def registers(_nexus):
        seen.append(port.served)
        if told == "registration" and len(seen) == 1:
            port.when_registered = registers
            raise Refuse(*LUNS_CHANGED)

    port.when_registered = registers
    if told == "keys":
        port.when_read = lambda _nexus: port.attentions.append(LUNS_CHANGED)
    groups.set(OPTIMIZED, OPTIMIZED)
    volume.rescan()
    assert seen == [before] * (2 if told == "registration" else 1)


@pytest.mark.parametrize(("refuses", "told"), [
    (UNAVAILABLE, ""), (OFFLINE, ""), (TRANSITIONING, ""), (OFFLINE, "keys"),
    (OFFLINE, "registration"),
], ids=["unavailable", "offline", "transitioning", "once-more", "once-more-at-the-end"])
def test_registered_when_the_port_takes_io(two_ports, reader, refuses, told):
    """So is the end of it. The other path serves all the time."""
    volume, groups, (first, second) = two_ports
    device = enabled(volume)
    with Reservations(device) as ours:
        groups.set(OPTIMIZED, refuses)
        assert ours.register(0, KEY) == 0
        assert groups.keys == {first: KEY}
        one = reader(device)
        one.goes_on()
        takes_io(volume, groups, told)
        assert groups.keys == {first: KEY, second: KEY}
        one.goes_on()

        groups.set(OPTIMIZED, refuses)
        assert ours.register(KEY, 0) == 0
        assert groups.keys == {second: KEY}
        one.goes_on()
        takes_io(volume, groups, told)
        assert groups.keys == {}
        one.goes_on()
    assert one.errors == []
    undisturbed(volume)


def test_registered_over_a_standby_port(two_ports, links, reader):
    """The target serves the LUN there when it is asked to by a path that is registered."""
    volume, groups, (first, second) = two_ports
    groups.set(OPTIMIZED, STANDBY)
    groups.tpgs = EXPLICIT
    device = enabled(volume)
    one = reader(device)
    with Reservations(device) as ours:
        with lost(volume, links[1], 1):
            assert ours.register(0, KEY) == 0
            assert ours.reserve(KEY, WRITE_EXCLUSIVE_REG_ONLY) == 0
            assert groups.keys == {first: KEY}
        assert groups.keys == {first: KEY, second: KEY}
        with lost(volume, links[0], 0):
            one.goes_on()
            assert groups.wanted == [1]
    assert one.errors == []


def test_unregistered_over_a_standby_port(two_ports, links):
    volume, groups, (first, second) = two_ports
    groups.set(OPTIMIZED, STANDBY)
    with Reservations(enabled(volume)) as ours:
        assert ours.register(0, KEY) == 0
        assert groups.keys == {first: KEY, second: KEY}
        with lost(volume, links[1], 1):
            assert ours.register(KEY, 0) == 0
            assert groups.keys == {second: KEY}
        assert groups.keys == {}


@pytest.mark.parametrize("refuses", [True, False], ids=["refuses", "lists-none"])
def test_not_registered_over_a_standby_port(two_ports, links, kernel_log, refuses):
    """The path logs in all the same, and the key is not forgotten for that."""
    volume, groups, (first, second) = two_ports
    port = groups.ports[1]
    groups.set(OPTIMIZED, STANDBY)
    with Reservations(enabled(volume)) as ours:
        with lost(volume, links[1], 1):
            assert ours.register(0, KEY) == 0
            groups.standby_reserves = not refuses
            port.keys = groups.keys if refuses else {}
        volume.rescan()
        assert groups.keys == {first: KEY}
        assert not kernel_log.matching("reservation key")
        groups.standby_reserves = True
        port.keys = groups.keys
        volume.rescan()
        assert groups.keys == {first: KEY, second: KEY}


def test_released_over_the_holder(two_ports):
    """The port of the other path does not matter; over that of the holder the target refuses."""
    volume, groups, _ = two_ports
    holder = groups.ports[0]
    with Reservations(enabled(volume)) as ours:
        assert ours.register(0, KEY) == 0
        assert ours.reserve(KEY, WRITE_EXCLUSIVE_REG_ONLY) == 0
        assert holder.kind
        groups.set(UNAVAILABLE, OPTIMIZED)
        with pytest.raises(OSError) as failed:
            ours.release(KEY, WRITE_EXCLUSIVE_REG_ONLY)
        assert failed.value.errno == errno.EIO
        groups.set(OPTIMIZED, UNAVAILABLE)
        assert ours.release(KEY, WRITE_EXCLUSIVE_REG_ONLY) == 0
        assert not holder.kind
    undisturbed(volume)
