# SPDX-License-Identifier: GPL-2.0
"""Names of hosts: the machine's own files, no DNS server; and the program that the kernel asks."""

import contextlib
import os
import signal
from pathlib import Path

from lab.shell import run, wait_for

HOSTS, SWITCH = Path("/etc/hosts"), Path("/etc/nsswitch.conf")
#: Of the package keyutils.
HELPER = Path("/sbin/request-key")


def resolver():
    """Has the kernel one? Known when istripe is loaded, which needs it then."""
    return Path("/sys/module/dns_resolver").exists()


@contextlib.contextmanager
def known_hosts():
    """Gives add({name: [address, ...]}). Programs that the kernel starts see the same files."""
    assert os.readlink("/proc/self/ns/mnt") == os.readlink("/proc/1/ns/mnt")
    before = {file: file.read_bytes() if file.exists() else None for file in (HOSTS, SWITCH)}

    def add(names):
        lines = [f"{address} {name}\n" for name, addresses in names.items()
                 for address in addresses]
        HOSTS.write_text(HOSTS.read_text(encoding="ascii") + "".join(lines), encoding="ascii")

    try:
        HOSTS.write_text("127.0.0.1 localhost\n", encoding="ascii")
        SWITCH.write_text("hosts: files\n", encoding="ascii")
        yield add
    finally:
        for file, content in before.items():
            if content is None:
                file.unlink(missing_ok=True)
            else:
                file.write_bytes(content)


class StuckHelper:
    """The program does not come to an end, until end() kills those that have been started."""

    def __init__(self, folder):
        self.started = folder / "started"
        script = folder / "request-key"
        script.write_text(f"#!/bin/sh\necho $$ >>{self.started}\nexec sleep 1000\n",
                          encoding="ascii")
        script.chmod(0o755)
        run("mount", "--bind", script, HELPER)
        self.mounted = True

    def wait_started(self):
        wait_for("the helper", lambda: self.count() > 0, 60)

    def count(self):
        if not self.started.exists():
            return 0
        return len(self.started.read_text(encoding="ascii").split())

    def end(self):
        if self.mounted:
            run("umount", "--lazy", HELPER)
            self.mounted = False
        if self.started.exists():
            for number in self.started.read_text(encoding="ascii").split():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(number), signal.SIGKILL)
