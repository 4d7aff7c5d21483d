# SPDX-License-Identifier: GPL-2.0
"""What the kernel announces of block devices."""

import contextlib
import subprocess
import time


@contextlib.contextmanager
def collected():
    """Collects lines of udevadm monitor, in the end."""
    monitor = subprocess.Popen(["udevadm", "monitor", "--kernel", "--property", "-s", "block"],
                               stdout=subprocess.PIPE, text=True)
    lines = [monitor.stdout.readline()]
    try:
        yield lines
    finally:
        time.sleep(1)
        monitor.terminate()
        lines += monitor.communicate(timeout=10)[0].splitlines()
