# SPDX-License-Identifier: GPL-2.0
"""Tests that wait for a process or a file."""

import time


def wait_for(condition):
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)
