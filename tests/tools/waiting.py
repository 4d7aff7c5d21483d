# SPDX-License-Identifier: GPL-2.0
"""Tests that wait for a process or a file."""

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
