# SPDX-License-Identifier: GPL-2.0
"""What the kernel that runs can do."""

import os
import re

RELEASE = tuple(int(number) for number in re.match(r"(\d+)\.(\d+)", os.uname().release).groups())
#: One of tests/vm/kernels, compiled to be watched.
DEBUG = "-istripe-" in os.uname().release
#: RWF_ATOMIC, and limits for it in /sys/block/*/queue.
ATOMIC_WRITES = RELEASE >= (6, 11)
