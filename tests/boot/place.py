# SPDX-License-Identifier: GPL-2.0
"""What outlives a boot: the machine's disk, the target and the links to it."""

import contextlib
import os
import re
import subprocess
import time

from lab import outside
from machine import BOOT_TIMEOUT_S, TOP, Failed, Machine

PATHS = 2
#: QEMU may run a breakpoint that the kernel has taken away again: tests/vm/boot. This one signature,
#: and no other, is worth another attempt.
EMULATOR_FAULT = re.compile(rb"int3: 0000 \[#1\]")
ATTEMPTS = 3
#: A table of nftables in the namespace of the target.
FILTER = "boot"
#: Without a write cache, as LUNs 3 and 4 of tests/vm/outside.
NO_CACHE = "mode_page=8:0:18:0x10:0:0xff:0xff:0:0:0xff:0xff:0xff:0xff:0x80:0x14:0:0:0:0:0:0"
SECOND = "iqn.2024-01.org.example.istripe:second"
SECOND_PORTAL = f"{outside.SECOND_ADDRESS}:3261"
#: Its LUNs. tgt makes the identity of a LUN from numbers: LUN 4 is that of the first target, too.
SHARED_LUN, OWN_LUN, LATE_LUN = 4, 6, 8
#: Of the first target, for one volume.
MUTE_PORT = 3262
MUTE_PORTAL = f"{outside.ADDRESS}:{MUTE_PORT}"
SECOND_START_S = 60
WORDS_LINES = 40


class Lab:
    def __init__(self, options):
        self.image = TOP / "build" / "boot" / options.kernel
        self.boots = options.boots
        self.cpus = options.cpus
        self.folder = TOP / "build" / "vm" / options.name
        self.folder.mkdir(parents=True, exist_ok=True)
        self.overlay = self.folder / "disk.qcow2"
        logs = TOP / "build" / "log"
        self.log = logs / f"{options.name}.log"
        self.console = logs / f"{options.name}.console"
        self.spoilt = logs / f"{options.name}.console.spoilt"
        for log in (self.log, self.console, self.spoilt):
            log.write_bytes(b"")
        self.machine = None
        self.second = None

    def fresh(self):
        """A disk as tests/boot/image has made it."""
        self.host("qemu-img", "create", "-q", "-f", "qcow2", "-F", "raw", "-b",
                  self.image / "root.ext4", self.overlay)

    def installed_s(self):
        """Seconds that tests/boot/image took to install packages; none when it has copied files."""
        file = self.image / "installed_s"
        return float(file.read_text(encoding="ascii")) if file.exists() else None

    def host(self, *words):
        done = subprocess.run([*map(str, words)], capture_output=True, text=True, check=False)
        if done.returncode:
            raise Failed(f"{' '.join(map(str, words))}: {done.stderr.strip()}")
        return done.stdout

    def console_size(self):
        return self.console.stat().st_size

    def words(self):
        """The last ones of QEMU, and of the machine."""
        return "\n".join(line for log in (self.log, self.console) for line in log.read_text(
            encoding="utf-8", errors="replace").splitlines()[-WORDS_LINES:])

    def emulator_failed(self, since):
        """Since the console had this size."""
        return EMULATOR_FAULT.search(self.console.read_bytes()[since:])

    def put_aside(self, begin):
        """What the emulator has spoilt is not to be judged."""
        text = self.console.read_bytes()
        with open(self.spoilt, "ab") as spoilt:
            spoilt.write(text[begin:])
        os.truncate(self.console, begin)

    def boot(self, cables=(True, True)):
        """Boots; returns the machine as soon as its agent is there."""
        for _ in range(ATTEMPTS - 1):
            begin = self.console_size()
            try:
                return self.boot_once(cables)
            except Failed:
                if not self.emulator_failed(begin):
                    raise
                if self.machine:
                    self.machine.kill()
                self.put_aside(begin)
        return self.boot_once(cables)

    def boot_once(self, cables):
        assert self.machine is None or self.machine.ended()
        self.machine = Machine(self)
        for path, plugged in enumerate(cables):
            if not plugged:
                self.machine.link_set(path, False)
        self.machine.agent.hello()
        return self.machine

    def boot_done(self, timeout_s=BOOT_TIMEOUT_S, **how):
        """Boots until multi-user.target; seconds that it took, from the start of QEMU."""
        machine = self.boot(**how)
        machine.until("systemctl -q is-active multi-user.target", timeout_s)
        return time.monotonic() - machine.started

    def abandon(self):
        """The end of a machine that nobody needs any more."""
        if self.machine:
            self.machine.kill()
        self.second_kill()

    # Links

    def silence(self, *paths):
        """No packet passes; the machine still sees a link."""
        for path in paths or range(PATHS):
            self.host("ip", "link", "set", f"tap{path}", "down")

    def refuse(self, *paths):
        """The portals of these paths refuse connections, and end those that are there."""
        names = ", ".join(f"tap{path}" for path in paths or range(PATHS))
        self.filter(f"iifname {{ {names} }} tcp dport 3260 reject with tcp reset")

    def filter(self, rule):
        self.host("nft", f"add table inet {FILTER}; "
                  f"add chain inet {FILTER} in {{ type filter hook input priority 0; }}; "
                  f"add rule inet {FILTER} in {rule}")

    def mute_portal(self, op):
        """A further portal of the first target: "new" or "delete"."""
        self.admin(op, "portal", "--param", f"portal={MUTE_PORTAL}")

    def mute(self):
        """That portal answers nothing any more, and all others do."""
        self.filter(f"tcp dport {MUTE_PORT} drop")

    def admin(self, op, mode, *words, daemon=0):
        """tgtadm, of the target outside."""
        self.host("tgtadm", "-C", daemon, "--lld", "iscsi", "--op", op, "--mode", mode, *words)

    # A second target, which may die alone

    def lun(self, number, daemon, tid=1):
        """A LUN of the one or the other target, or of another one."""
        file = f"/run/lun{number}" if tid == 1 else f"/run/target{tid}-lun{number}"
        with open(file, "ab") as disk:
            disk.truncate(int(os.environ["OUTSIDE_LUN_MB"]) << 20)
        self.admin("new", "logicalunit", "--tid", tid, "--lun", number, "--backing-store", file,
                   daemon=daemon)
        self.admin("update", "logicalunit", "--tid", tid, "--lun", number, "--params", NO_CACHE,
                   daemon=daemon)

    def second_start(self):
        with open(self.log, "ab") as log:
            self.second = subprocess.Popen(["tgtd", "-f", "-C", "1", "--iscsi",
                                            f"portal={SECOND_PORTAL}"], stdout=log, stderr=log)
        end = time.monotonic() + SECOND_START_S
        while True:
            try:
                self.admin("show", "sys", daemon=1)
                break
            except Failed:
                if time.monotonic() > end:
                    raise
                time.sleep(0.1)
        self.admin("new", "target", "--tid", 1, "-T", SECOND, daemon=1)
        for number in (SHARED_LUN, OWN_LUN, LATE_LUN):
            self.lun(number, daemon=1)
        self.admin("bind", "target", "--tid", 1, "--initiator-address", "ALL", daemon=1)

    def second_kill(self):
        if self.second:
            self.second.kill()
            self.second.wait()
            self.second = None

    def heal(self):
        for path in range(PATHS):
            self.host("ip", "link", "set", f"tap{path}", "up")
            if self.machine and not self.machine.ended():
                self.machine.link_set(path, True)
        with contextlib.suppress(Failed):
            self.host("nft", "delete", "table", "inet", FILTER)
