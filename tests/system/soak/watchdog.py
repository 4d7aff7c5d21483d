# SPDX-License-Identifier: GPL-2.0
"""Somebody has to say so when nothing goes on any more: who is stuck cannot."""

import faulthandler
import os
import threading
import time

from lab.shell import write

#: Longer than a run of fio may take.
LIMIT_S = 500


def blocked_threads():
    """What all threads of the kernel wait for goes to its log, and to the console."""
    write("/proc/sysrq-trigger", "w")


class Watchdog:
    """Ends the process when it has not been seen() for too long."""

    def __init__(self, limit_s=LIMIT_S):
        self.limit_s = limit_s
        self.last = time.monotonic()
        threading.Thread(target=self._watch, daemon=True).start()

    def seen(self):
        self.last = time.monotonic()

    def _watch(self):
        while time.monotonic() - self.last < self.limit_s:
            time.sleep(5)
        blocked_threads()
        faulthandler.dump_traceback()
        print(f"soak: FAILED: nothing has gone on for {self.limit_s} s", flush=True)
        os._exit(1)
