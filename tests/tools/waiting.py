# SPDX-License-Identifier: GPL-2.0
"""Tests that wait for a process or a file, or make one wait."""

import contextlib
import fcntl
import signal
import time


def wait_for(condition):
    end = time.monotonic() + 60
    while True:
        # Before the condition: a test that stood still looks once more.
        late = time.monotonic() > end
        if condition():
            return
        assert not late
        time.sleep(0.02)


@contextlib.contextmanager
def held(file):
    """Whoever opens the file waits for the end of this, by a lease; the value waits for that."""
    signal.signal(signal.SIGIO, signal.SIG_IGN)
    with open(file, "r+", encoding="ascii") as lease:
        fcntl.fcntl(lease, fcntl.F_SETLEASE, fcntl.F_WRLCK)
        yield lambda: wait_for(lambda: fcntl.fcntl(lease, fcntl.F_GETLEASE) != fcntl.F_WRLCK)
