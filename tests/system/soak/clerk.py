# SPDX-License-Identifier: GPL-2.0
"""Who writes files that may not return before I/O has, while I/O may wait for what the director
does next.
"""

import subprocess

from lab.shell import wait_for


class Clerk:
    """Does one thing at a time, in a process of its own."""

    def __init__(self):
        self.process = None

    def busy(self):
        return self.process is not None and self.process.poll() is None

    def order(self, script):
        """Lets a shell do it, unless there is still something else to do; returns whether."""
        if self.busy():
            return False
        self.process = subprocess.Popen(("sh", "-c", script), stderr=subprocess.DEVNULL)
        return True

    def finish(self):
        wait_for("the clerk to have done what he was told", lambda: not self.busy(), 180)

    def kill(self):
        if self.busy():
            self.process.kill()
