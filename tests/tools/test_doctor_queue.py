# SPDX-License-Identifier: GPL-2.0
"""istripectl doctor: a queue that must not be written to just now, and links that must not go down."""

import pytest
from faults import NIC, QUEUE, both, driver, file, findings, path_file
from host import Host

STATE = "sys/block/istripe0/istripe/state"
FAULTS = [
    ("scheduler", file(f"{QUEUE}/scheduler", "none [mq-deadline] bfq")),
    ("read-ahead", file(f"{QUEUE}/read_ahead_kb", "64")),
    ("max-sectors", file(f"{QUEUE}/max_sectors_kb", "64")),
    ("write-cache", both(file(f"{QUEUE}/write_cache", "write through"), file(f"{QUEUE}/fua", "1"))),
    ("throttling", file(f"{QUEUE}/wbt_lat_usec", "2000")),
]


@pytest.fixture
def host(tool):
    return Host(tool)


def finding_of(host, check):
    found, = [found for found in findings(host.tool, 1) if found["check"] == check]
    return found


def faults_of(host, check):
    return [found for found in findings(host.tool, 1)
            if found["check"] == check and found["result"] != "pass"]


@pytest.mark.parametrize("state", ["waiting", "failed"])
@pytest.mark.parametrize("check, plant", FAULTS, ids=[check for check, _ in FAULTS])
def test_left_alone_while_a_leg_is_away(host, state, check, plant):
    """A write to one of its files would hold up all I/O until the leg is back."""
    both(plant, file(STATE, state))(host)
    found = finding_of(host, check)
    assert found["result"] == "skip" and f"the volume is {state}" in found["why"]
    assert not found["next"]
    file(STATE, "degraded")(host)
    found = finding_of(host, check)
    assert found["result"] == "warn" and "echo" in found["next"]


DOWN = "# the link goes down for a moment"
LINK_FAULTS = [
    ("pause", driver(pause="0 0"), f"ethtool -A eth1 rx on tx on {DOWN}"),
    ("rings", driver(rings="256 4096 4096 4096"), f"ethtool -G eth1 rx 4096 {DOWN}"),
    ("mtu-equal", file("sys/class/net/eth2/mtu", "1500"), f"ip link set dev eth1 mtu 1500 {DOWN}; or, "),
]


@pytest.mark.parametrize("check, plant, step", LINK_FAULTS, ids=[row[0] for row in LINK_FAULTS])
def test_links_stay_while_a_path_is_lost(host, check, plant, step):
    """The leg whose other path is lost has this link only."""
    both(plant, path_file("state", "backoff", 0, 1))(host)
    found = faults_of(host, check)
    assert {one["result"] for one in found} == {"skip"}
    assert "eth1: a path is lost: its leg needs this link" in found[0]["why"] and not found[0]["next"]
    path_file("state", "live", 0, 1)(host)
    found = faults_of(host, check)
    assert {one["result"] for one in found} == {"warn"} and found[0]["next"].startswith(step)


def test_descriptors_are_only_shown_while_a_path_is_lost(host):
    """That frames are dropped may be why."""
    both(file(f"{NIC}/statistics/rx_missed_errors", "9000"), path_file("state", "backoff", 0, 1))(host)
    assert faults_of(host, "link-errors")[0]["next"] == "ethtool -g eth1"
    path_file("state", "live", 0, 1)(host)
    assert faults_of(host, "link-errors")[0]["next"] == (
        f"ethtool -g eth1 && ethtool -G eth1 rx MAXIMUM {DOWN}")


def test_links_of_a_leg_that_is_down_may_go_down(host):
    """And one whose own path is the lost one: the others serve."""
    both(driver(pause="0 0"), *(path_file("state", "backoff", leg) for leg in (0, 1)))(host)
    assert faults_of(host, "pause")[0]["result"] == "warn"
