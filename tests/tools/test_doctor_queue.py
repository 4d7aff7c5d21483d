# SPDX-License-Identifier: GPL-2.0
"""istripectl doctor: a disk whose queue must not be written to just now."""

import pytest
from faults import QUEUE, both, file, findings
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
