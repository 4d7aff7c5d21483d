# SPDX-License-Identifier: GPL-2.0
"""Tracepoints: state changes, login, PDUs both ways, faults."""

from pathlib import Path

import pytest

from lab import network
from lab.shell import read, run, wait_for, write

pytestmark = pytest.mark.both
TRACING = Path("/sys/kernel/tracing")
EVENTS = {"istripe_state", "istripe_login", "istripe_pdu_send", "istripe_pdu_receive",
          "istripe_fault"}


def test_every_event_is_traced(make_lio, make_volume):
    volume = make_volume(make_lio(params={"DefaultTime2Wait": 0}), path={"default_time2wait": 0})
    directory = TRACING / "events" / "istripe"
    assert {path.name for path in directory.iterdir() if path.is_dir()} == EVENTS
    write(TRACING / "trace", "")
    write(directory / "enable", 1)
    try:
        device = volume.enable()
        run("dd", f"if={device}", "of=/dev/null", "bs=4k", "count=1", "iflag=direct")
        network.kill_connections()
        wait_for("another session", lambda: volume.reconnects() >= 1, 60)
    finally:
        write(directory / "enable", 0)
    trace = read(TRACING / "trace")
    for event in EVENTS:
        assert f" {event}: {volume.name}/0/0 " in trace, event
    # The login, without the bit of immediate commands.
    assert " opcode=0x03 " in trace and " opcode=0x43 " not in trace
    assert "connection in-login -> logged-in" in trace
    assert "path live -> draining" in trace
