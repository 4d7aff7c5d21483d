# SPDX-License-Identifier: GPL-2.0
"""Files of sysfs that poll(2) tells of."""

import errno
import os
import select

from lab.shell import wait_for

SOON_S = 20
SLICE_MS = 1000


class Polled:
    """One of them; value: what it was when it was last read."""

    def __init__(self, path, stack):
        self.path = path
        self.fd = os.open(path, os.O_RDONLY)
        stack.callback(os.close, self.fd)
        self.poll = select.poll()
        self.poll.register(self.fd, select.POLLPRI)
        self.value = self.read()

    def read(self):
        """The name of the error, when it has no content for now."""
        try:
            return os.pread(self.fd, 4096, 0).decode().strip()
        except OSError as error:
            return errno.errorcode[error.errno]

    def next(self):
        """What it is when poll(2) says that it has changed."""
        wait_for(f"{self.path}: another value than {self.value}",
                 lambda: self.poll.poll(SLICE_MS), SOON_S, 0)
        self.value = self.read()
        return self.value

    def wait(self, wanted):
        while self.next() != wanted:
            assert self.value != "ENODEV", f"{self.path} is gone"

    def wait_other(self, than):
        while self.next() == than:
            pass
