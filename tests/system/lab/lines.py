# SPDX-License-Identifier: GPL-2.0
"""A program that prints lines until it is ended, and when each of them came."""

import subprocess
import threading
import time

from lab.shell import wait_for


class Lines:
    """with Lines(program, word, ...) as lines: lines.seen is a list of (time.monotonic(), line)."""

    def __init__(self, *argv):
        self.argv = [str(word) for word in argv]
        self.seen = []

    def __enter__(self):
        # Line by line, as on a terminal: otherwise most programs print all at their end.
        self._process = subprocess.Popen(["stdbuf", "-oL", *self.argv], text=True,
                                         stdout=subprocess.PIPE)
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._process.terminate()
        self._thread.join()
        self._process.wait()

    def _read(self):
        for line in self._process.stdout:
            self.seen.append((time.monotonic(), line.rstrip("\n")))

    def having(self, *words, since=0):
        """Those lines that have all of these words in them."""
        return [(at, line) for at, line in self.seen[since:]
                if all(word in line for word in words)]

    def wait(self, *words, since=0, timeout_s=30):
        """The first of these lines."""
        wait_for(f"a line with {words}", lambda: self.having(*words, since=since), timeout_s, 0.01)
        return self.having(*words, since=since)[0]
