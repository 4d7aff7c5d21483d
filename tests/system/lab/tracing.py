# SPDX-License-Identifier: GPL-2.0
"""The kernel's trace: what the tracepoints of the module, and of others, tell."""

import contextlib
from pathlib import Path

from lab.shell import read, write

TRACING = Path("/sys/kernel/tracing")


def empty():
    write(TRACING / "trace", "")


@contextlib.contextmanager
def traced(*events):
    """These events, or groups of them, are traced meanwhile; yields what reads the trace so far."""
    switches = [TRACING / "events" / event / "enable" for event in events]
    empty()
    try:
        for switch in switches:
            write(switch, 1)
        yield lambda: read(TRACING / "trace")
    finally:
        for switch in switches:
            write(switch, 0)
