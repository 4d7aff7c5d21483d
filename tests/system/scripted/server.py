# SPDX-License-Identifier: GPL-2.0
"""The target in a thread of its own, with a listening socket in any network namespace.

A socket belongs to the namespace of the thread that makes it, so only a short-lived thread
changes its namespace; the target's loop runs where the tests do, and shares their memory.
"""

import asyncio
import ctypes
import dataclasses
import os
import re
import socket
import threading

from scripted.conn import ITSELF
from scripted.scenario import HONEST, Run, Scenario
from scripted.scsi import Disk
from scripted.target import Settings, Target

CLONE_NEWNET = 0x40000000


def enter(netns):
    """The thread that calls is in the named namespace from now on, and so are its new sockets."""
    libc = ctypes.CDLL(None, use_errno=True)
    fd = os.open(f"/run/netns/{netns}", os.O_RDONLY)
    if libc.setns(fd, CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "setns")
    os.close(fd)


def listen(address, port, netns=None):
    """A listening socket, made in the named namespace."""
    made = []

    def make():
        if netns:
            enter(netns)
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        sock = socket.create_server((address, port), family=family, backlog=64)
        made.append(sock)

    thread = threading.Thread(target=make)
    thread.start()
    thread.join()
    if not made:
        raise OSError(f"cannot listen on {address}:{port}")
    return made[0]


@dataclasses.dataclass
class Found:
    """What was found while this scenario was loaded. looked_at: so many lines a test has seen."""

    scenario: Scenario
    lines: list
    looked_at: int = 0

    def unexpected(self):
        names = self.scenario.violations
        return [line for at, line in enumerate(self.lines) if line.startswith(ITSELF) or not (
            at < self.looked_at or names and re.search(names, line))]


class Server:
    def __init__(self, address="127.0.0.1", port=0, netns=None):
        self.sock = listen(address, port, netns)
        self.portal = "{}:{}".format(*self.sock.getsockname())
        self.port = self.sock.getsockname()[1]
        self.loop = asyncio.new_event_loop()
        self.target = None
        self.found = []             # of that one, and of those before it
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._main, name="scripted", daemon=True)

    def start(self):
        self._thread.start()
        self._ready.wait()
        self.load(HONEST)
        return self

    def _main(self):
        asyncio.set_event_loop(self.loop)
        self._server = self.loop.run_until_complete(
            asyncio.start_server(self._connected, sock=self.sock, limit=1 << 20))
        self._ready.set()
        self.loop.run_forever()

    async def _connected(self, reader, writer):
        await self.target.connected(reader, writer)

    def call(self, coroutine, timeout_s=60):
        """Runs a coroutine in the target's thread; returns its result."""
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(timeout_s)

    def load(self, scenario, kind=Disk, **disk):
        """A new target that plays this scenario; all connections of the old one are reset."""
        run = Run(scenario)
        settings = Settings(**{"portal": self.portal, **scenario.settings})
        target = Target(run, settings, kind(**{**scenario.disk, **disk}))
        run.target = target
        self.found.append(Found(scenario, target.violations))

        async def change():
            old, self.target = self.target, target
            for conn in list(old.connections) if old else ():
                conn.reset()
                conn.close()

        self.call(change())
        return target

    def cut(self, rng, share):
        """The power of a target with a VolatileDisk fails; returns how many blocks are lost."""

        async def fail():
            for conn in list(self.target.connections):
                conn.reset()
                conn.close()
            return self.target.disk.cut(rng, share)

        return self.call(fail())

    def arm(self):
        """The scenario's hooks strike from now on."""
        self.target.run.armed = True

    def attempts(self):
        """Logins at which the scenario has struck."""
        return self.target.run.hits

    def violations(self):
        """Of the target that is loaded."""
        lines = list(self.target.violations)
        self.found[-1].looked_at = len(lines)
        return lines

    def unexpected(self):
        """Exceptions of the hooks of all scenarios that were loaded. And what the initiator has done
        wrong and no scenario names, but for the lines that violations() has returned.
        """
        return [line for found in self.found for line in found.unexpected()]

    def sessions(self):
        return self.target.logins

    def connections(self):
        """Connections in the full feature phase."""
        return [conn for conn in list(self.target.connections) if conn.session]

    def stop(self):
        async def close():
            self._server.close()
            for conn in list(self.target.connections):
                conn.reset()
                conn.close()

        self.call(close())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(60)
