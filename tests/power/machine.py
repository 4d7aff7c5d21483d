# SPDX-License-Identifier: GPL-2.0
"""The virtual machine whose power is cut, and what it says while it lives."""

import json
import os
import signal
import subprocess
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
BOOT_TIMEOUT_S = 600


class Failed(Exception):
    """The run is over, and nobody knows what is on the disks."""


class Machine:
    """One boot of the virtual machine, until it is killed or has ended by itself."""

    def __init__(self, options):
        self.pidfile = TOP / "build" / "vm" / options.name / "qemu.pid"
        self.pidfile.parent.mkdir(parents=True, exist_ok=True)
        self.pidfile.unlink(missing_ok=True)
        logs = TOP / "build" / "log"
        self.log = logs / f"{options.name}-boot.log"
        #: tests/vm/boot keeps it, and puts aside what the emulator has spoilt.
        self.console = logs / f"vm-{options.name}.console"
        command = ["tests/vm/boot", "--kernel", options.kernel, "--name", options.name,
                   "--mem", "1500M", "--timeout", str(2 * BOOT_TIMEOUT_S),
                   "--qemu", f"-pidfile {self.pidfile}", "--",
                   "env", f"PYTHONPATH={TOP}/tests/system", "/usr/bin/python3", "-B",
                   f"{TOP}/tests/power/guest.py"]
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(command, cwd=TOP, stdout=log, stderr=log)

    def ended(self):
        return self.process.poll() is not None

    def cut(self):
        """Nothing is written, flushed or told any more."""
        os.kill(int(self.pidfile.read_text(encoding="ascii")), signal.SIGKILL)

    def wait(self):
        return self.process.wait(timeout=120)

    def words(self):
        lines = self.log.read_text(encoding="utf-8", errors="replace").splitlines()
        return "\n".join(lines[-40:])


class Talk:
    """The lines of one boot of the machine."""

    def __init__(self, connection):
        self.connection = connection
        self.rest = b""

    def send(self, what):
        self.connection.sendall(json.dumps(what).encode() + b"\n")

    def lines(self, timeout_s=0.1):
        """What has come; None when the machine is gone."""
        self.connection.settimeout(timeout_s)
        try:
            data = self.connection.recv(1 << 20)
        except TimeoutError:
            return []
        except ConnectionError:
            return None
        if not data:
            return None
        *lines, self.rest = (self.rest + data).split(b"\n")
        return [json.loads(line) for line in lines]
