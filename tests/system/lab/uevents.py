# SPDX-License-Identifier: GPL-2.0
"""What the kernel announces: uevents of block devices, and of volumes."""

import contextlib
import errno
import socket
import threading
import time
import uuid

from lab.shell import wait_for, write

NETLINK_KOBJECT_UEVENT = 15
KERNEL_GROUP = 1
SO_RCVBUFFORCE = 33
BUFFER_BYTES = 32 << 20
EVENT_BYTES = 1 << 16


class Event(dict):
    """The variables of a uevent; `at`: when it came, by the clock of time.monotonic()."""

    def __init__(self, message, at):
        words = message.decode(errors="replace").split("\0")
        super().__init__(word.split("=", 1) for word in words if "=" in word)
        self.at = at

    def of(self, volume=None, leg=None, path=None):
        """Whether it is of this volume, leg, or path; None: any."""
        wanted = {"VOLUME": volume, "LEG": leg, "PATH": path}
        return all(value is None or self.get(f"ISTRIPE_{name}") == str(value)
                   for name, value in wanted.items())

    @property
    def action(self):
        return self.get("ISTRIPE_ACTION")


class Uevents:
    """All uevents of the kernel from the start on, as they come."""

    def __enter__(self):
        self.events = []
        self.lost = False           # whether the kernel had no room for one
        self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, NETLINK_KOBJECT_UEVENT)
        self._socket.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, BUFFER_BYTES)
        self._socket.bind((0, KERNEL_GROUP))
        self._socket.settimeout(0.2)
        self._over = False
        self._thread = threading.Thread(target=self._receive, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._over = True
        self._thread.join()
        self._socket.close()

    def settle(self):
        """Until all that were sent so far are here: each comes after those before it."""
        mark = str(uuid.uuid4())
        write("/sys/class/net/lo/uevent", f"change {mark}")
        wait_for("an event of our own", lambda: self.lost or any(
            event.get("SYNTH_UUID") == mark for event in list(self.events)), step_s=0.01)
        assert not self.lost, "the socket was overrun: events are missing"

    def _receive(self):
        while not self._over:
            try:
                message = self._socket.recv(EVENT_BYTES)
            except TimeoutError:
                continue
            except OSError as error:
                self.lost = True
                if error.errno != errno.ENOBUFS:
                    raise
                continue
            self.events.append(Event(message, time.monotonic()))

    def seen(self, *actions, since=0, **of):
        """Events of states of a volume, in their order; only these actions, or all."""
        return [event for event in self.events[since:]
                if event.action and event.of(**of) and (not actions or event.action in actions)]

    def wait(self, action, since=0, timeout_s=30, **of):
        """The first event of that action."""
        wait_for(f"{action} {of}", lambda: self.seen(action, since=since, **of), timeout_s, 0.01)
        return self.seen(action, since=since, **of)[0]


@contextlib.contextmanager
def collected(subsystem="block"):
    """Collects events of a subsystem as lines, in the end: its action and device, its variables."""
    lines = []
    with Uevents() as seen:
        try:
            yield lines
        finally:
            seen.settle()
    for event in seen.events:
        if event.get("SUBSYSTEM") == subsystem:
            lines.append(f"{event['ACTION']} {event['DEVPATH']}")
            lines += [f"{name}={value}" for name, value in event.items()]
