# SPDX-License-Identifier: GPL-2.0
"""Direct reads or writes of 4 KiB, one after the other, with the time of each completion."""

import itertools
import mmap
import os
import threading
import time

from lab.shell import LabError, wait_for

BLOCK_BYTES = 4096
#: Where a stream is: the readers do not look at what the writers write.
AREA_BYTES = {"read": (0, 16 << 20), "write": (16 << 20, 32 << 20)}
#: Between two requests: the processor is an emulated one, and not the stream's alone.
REST_S = 0.001
#: More than a connection that is being given up may still complete.
GOES_ON = 20


class Stream(threading.Thread):
    """way: "read" or "write". It runs until it is stopped, or sees an error."""

    def __init__(self, device, way):
        super().__init__(name=f"{way} {device}", daemon=True)
        self.way = way
        self.file = os.open(device, os.O_RDWR | os.O_DIRECT)
        self.times_ns = []
        self.error = None
        self.wanted = True

    def run(self):
        buffer = [mmap.mmap(-1, BLOCK_BYTES)]
        transfer = os.preadv if self.way == "read" else os.pwritev
        start, end = AREA_BYTES[self.way]
        try:
            for at in itertools.cycle(range(start, end, BLOCK_BYTES)):
                if not self.wanted:
                    return
                if transfer(self.file, buffer, at) != BLOCK_BYTES:
                    raise OSError(f"short {self.way} at {at}")
                self.times_ns.append(time.monotonic_ns())
                time.sleep(REST_S)
        except OSError as err:
            self.error = err

    def stop(self):
        """LabError when an I/O has failed, or does not come back."""
        self.wanted = False
        self.join(60)
        if self.is_alive():
            raise LabError(f"{self.name}: an I/O does not come back")
        os.close(self.file)
        if self.error:
            raise LabError(f"{self.name}: {self.error}")

    def completed(self):
        """How many have been completed; LabError after an error."""
        if self.error:
            raise LabError(f"{self.name}: {self.error}")
        return len(self.times_ns)

    def wait_going(self, timeout_s=180):
        """Until some more have been completed than now."""
        wanted = self.completed() + GOES_ON
        wait_for(f"{self.name} goes on", lambda: self.completed() >= wanted, timeout_s, 0.005)

    def pause_s(self, since_ns):
        """The longest time from one completion to the next that has ended since then."""
        times = list(self.times_ns)
        return max(end - start for start, end in itertools.pairwise(times) if end > since_ns) / 1e9

    def first_s(self, since_ns):
        """The time until the first completion since then."""
        return (next(end for end in self.times_ns if end > since_ns) - since_ns) / 1e9
