# SPDX-License-Identifier: GPL-2.0
"""Tracepoints: state changes, login, PDUs both ways, faults."""

import pytest

from lab import network
from lab.shell import run, wait_for
from lab.tracing import TRACING, traced

pytestmark = pytest.mark.both
EVENTS = {"istripe_state", "istripe_login", "istripe_pdu_send", "istripe_pdu_receive",
          "istripe_fault"}


def test_every_event_is_traced(make_lio, make_volume):
    volume = make_volume(make_lio(params={"DefaultTime2Wait": 0}), path={"default_time2wait": 0})
    directory = TRACING / "events" / "istripe"
    assert {path.name for path in directory.iterdir() if path.is_dir()} == EVENTS
    with traced("istripe") as trace:
        device = volume.enable()
        run("dd", f"if={device}", "of=/dev/null", "bs=4k", "count=1", "iflag=direct")
        network.kill_connections()
        wait_for("another session", lambda: volume.reconnects() >= 1, 60)
        seen = trace()
    for event in EVENTS:
        assert f" {event}: {volume.name}/0/0 " in seen, event
    # The login, without the bit of immediate commands.
    assert " opcode=0x03 " in seen and " opcode=0x43 " not in seen
    assert "connection in-login -> logged-in" in seen
    assert "path live -> draining" in seen
