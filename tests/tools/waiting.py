# SPDX-License-Identifier: GPL-2.0
"""Tests that wait for a process or a file, make one wait, or see that none is opened."""

import contextlib
import ctypes
import fcntl
import os
import signal
import time

import pytest

#: sys/inotify.h
IN_OPEN = 0x20
LIBC = ctypes.CDLL(None, use_errno=True)


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


@contextlib.contextmanager
def unopened(*folders):
    """Meanwhile nobody opens these, or what is in them."""
    fd = LIBC.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
    for folder in folders:
        assert LIBC.inotify_add_watch(fd, os.fsencode(folder), IN_OPEN) >= 0
    yield
    with pytest.raises(BlockingIOError):
        os.read(fd, 4096)
    os.close(fd)
