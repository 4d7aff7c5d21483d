# SPDX-License-Identifier: GPL-2.0
"""The desk at which a page is typed: its commands find their programs under the names it uses."""

import subprocess
from pathlib import Path

from lab import stacking
from lab.istripectl import TOOL
from lab.network import NETNS
from lab.shell import read, run, wait_for

#: What tests/vm/install has unpacked.
UNPACKED = ("targetcli", "cryptsetup", "make-bcache", "multipath", "pvcreate", "pvresize", "pvmove",
            "pvremove", "pvs", "vgcreate", "vgextend", "vgreduce", "vgchange", "lvcreate",
            "lvextend", "lvconvert", "lvm")
#: Nobody still looks at a new disk when it is taken away; doctor may well find the machine wanting.
ISTRIPECTL = f"""udevadm settle
{TOOL} "$@" || {{ code=$?; [ "$1 $code" = "doctor 1" ] || exit $code; }}
"""


class Desk:
    """A folder of programs, in front of all others.

    Of these the machine has stand-ins: systemctl writes down what it is told, as no systemd runs;
    editor writes `text`, as nobody is there to type it.
    """

    def __init__(self, folder):
        self.folder = folder
        self.told = folder / "systemctl.log"
        self.told.touch()
        self.text = folder / "text"
        stacking.Lvm(folder)
        with open(folder / "lvm.conf", "a", encoding="ascii") as conf:
            conf.write(f'global/fsadm_executable = "{stacking.ROOT}/sbin/fsadm"\n'
                       "activation/polling_interval = 1\n")
        self.bus = None
        self._program("istripectl", ISTRIPECTL)
        self._program("systemctl", f'echo "$@" >> {self.told}\n')
        self._program("editor", f'cat {self.text} > "$1"\n')
        # The package has it.
        Path("/etc/rtslib-fb-target").mkdir(exist_ok=True)
        packages = folder / "python"
        packages.mkdir()
        for name in UNPACKED:
            words = stacking.argv(name, LVM_SYSTEM_DIR=folder, PYTHONPATH=packages,
                                  TARGETCLI_HOME=folder,
                                  DBUS_SYSTEM_BUS_ADDRESS=f"unix:path={self.folder}/bus")
            self._program(name, f'exec {" ".join(map(str, words))} "$@"\n')

    def _program(self, name, script):
        file = self.folder / name
        file.write_text(f"#!/bin/bash\n{script}", encoding="ascii")
        file.chmod(0o755)

    def targetcli_prepare(self):
        """Its modules, and D-Bus, where it looks for further backstores: with systemd that is there."""
        run("tar", "-C", self.folder / "python", "-xf", stacking.ROOT / "python.tar")
        self.bus = subprocess.Popen(["dbus-daemon", "--system", "--nofork", "--nopidfile",
                                     f"--address=unix:path={self.folder}/bus"])
        wait_for("D-Bus", (self.folder / "bus").exists)

    def end(self):
        if self.bus:
            self.bus.terminate()
            self.bus.wait(30)

    def type(self, text, at_target=False, answers=None):
        """Types it all, up to the first command that fails; returns what it has printed.

        answers: what is typed when a program asks.
        """
        return run("bash", "-e", "-c", f"PATH={self.folder}:$PATH\n{text}", timeout_s=600,
                   netns=NETNS if at_target else None, text_in=answers)

    def systemctl(self):
        """What systemctl was told so far."""
        return read(self.told).splitlines()
