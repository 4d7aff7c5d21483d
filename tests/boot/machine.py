# SPDX-License-Identifier: GPL-2.0
"""A machine that boots from a disk of its own, and what it is told and tells."""

import contextlib
import json
import os
import re
import shlex
import socket
import subprocess
import threading
import time
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
#: An emulated processor on a busy host is slow; a machine that is alive is never this late.
BOOT_TIMEOUT_S = 600
COMMAND_TIMEOUT_S = 300
#: Of QEMU itself, on a busy host.
START_S = 120
#: QEMU's cmpxchg16b may leave garbage in the flags, see tests/vm/boot; the kernel has another way.
EMULATED = "max,-cx16"
#: Into the kernel's log when a machine is told to stop; "reboot: " is the kernel's last word.
STOP_MARK = "tests/boot: stop"
STOPPED = re.compile(rb"\[ *([\d.]+)\] " + STOP_MARK.encode() + rb".*\[ *([\d.]+)\] reboot: ",
                     re.DOTALL)


class Failed(Exception):
    """The machine does not do what it is told, and the scenario cannot go on."""


def kernel_words():
    """The kernel's command line, with the frequency of the host's TSC, which QEMU lends.

    A kernel that measures it while the emulated processor stands still has a clock that runs
    several times too fast.
    """
    words = ("root=/dev/vda rw console=ttyS0 TERM=dumb panic=-1 oops=panic tsc=reliable "
             "watchdog_thresh=60 rcupdate.rcu_cpu_stall_timeout=120 mitigations=off "
             "systemd.show_status=1 module_blacklist=ahci,iTCO_wdt,lpc_ich,i2c_i801,psmouse")
    text = Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace")
    mips = re.search(r"^bogomips\s*: ([\d.]+)$", text, re.MULTILINE)
    return f"{words} tsc_early_khz={round(float(mips[1]) * 500)}" if mips else words


def connected(path, machine):
    """A connection to a socket that QEMU makes when it starts."""
    end = time.monotonic() + START_S
    while time.monotonic() < end and not machine.ended():
        with contextlib.suppress(OSError):
            link = socket.socket(socket.AF_UNIX)
            link.connect(str(path))
            return link
        time.sleep(0.1)
    raise Failed("QEMU does not start")


class Agent:
    """tests/boot/agent.py in the machine."""

    def __init__(self, link):
        self.link = link
        self.rest = b""
        self.number = 0

    def line(self, timeout_s):
        end = time.monotonic() + timeout_s
        while b"\n" not in self.rest:
            self.link.settimeout(max(0.01, end - time.monotonic()))
            try:
                data = self.link.recv(1 << 16)
            except OSError as error:
                raise Failed(f"no answer from the machine: {error}") from error
            if not data:
                raise Failed("the machine has ended")
            self.rest += data
        line, self.rest = self.rest.split(b"\n", 1)
        return json.loads(line)

    def hello(self):
        """Seconds after the kernel's start at which the agent of this boot was there."""
        return self.line(BOOT_TIMEOUT_S)["hello"]

    def run(self, text, timeout_s):
        self.number += 1
        order = {"id": self.number, "run": text, "timeout_s": timeout_s}
        self.link.sendall(json.dumps(order).encode() + b"\n")
        while (answer := self.line(timeout_s + 60)).get("id") != self.number:
            pass
        return answer["code"], answer["out"]


class Records(threading.Thread):
    """Counts the records that the writer in the machine has told to be durable."""

    def __init__(self, link):
        super().__init__(daemon=True)
        self.link = link
        self.acknowledged = 0
        self.start()

    def run(self):
        with self.link.makefile("rb") as lines:
            for line in lines:
                if line.endswith(b"\n"):
                    self.acknowledged = int(line) + 1


class Machine:
    """One boot, from the start of QEMU to its end: a reset ends it, too."""

    def __init__(self, lab):
        self.folder = lab.folder
        self.log = lab.log
        self.console = lab.console
        for name in ("agent", "records", "qmp"):
            (self.folder / name).unlink(missing_ok=True)
        self.started = time.monotonic()
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(self.command(lab), cwd=TOP, stdout=log, stderr=log,
                                            stdin=subprocess.DEVNULL)
        self.qmp = connected(self.folder / "qmp", self)
        self.qmp_lines = self.qmp.makefile("rb")
        self.agent = Agent(connected(self.folder / "agent", self))
        self.records = Records(connected(self.folder / "records", self))
        self.qmp_do("qmp_capabilities")

    def command(self, lab):
        port = "virtserialport,chardev={0},name=istripe.{0}"
        words = ["qemu-system-x86_64", "-machine", "q35", "-accel", "tcg,thread=multi",
                 "-cpu", EMULATED, "-smp", str(lab.cpus), "-m", "1280M", "-nodefaults", "-no-user-config",
                 "-display", "none", "-no-reboot", "-rtc", "clock=host",
                 "-kernel", lab.image / "vmlinuz", "-initrd", lab.image / "initrd",
                 "-append", kernel_words(),
                 "-drive", f"file={lab.overlay},if=virtio,cache=unsafe",
                 "-chardev", f"file,id=console,path={lab.console},append=on",
                 "-serial", "chardev:console",
                 "-qmp", f"unix:{self.folder}/qmp,server=on,wait=off",
                 "-device", "virtio-serial-pci"]
        for name in ("agent", "records"):
            words += ["-chardev", f"socket,id={name},path={self.folder}/{name},server=on,wait=off",
                      "-device", port.format(name)]
        return [*map(str, words), *shlex.split(os.environ["ISTRIPE_VM_QEMU"])]

    def qmp_do(self, command, **arguments):
        self.qmp.settimeout(START_S)
        self.qmp.sendall(json.dumps({"execute": command, "arguments": arguments}).encode())
        for line in self.qmp_lines:
            answer = json.loads(line)
            if "return" in answer:
                return answer["return"]
            if "error" in answer:
                raise Failed(f"QEMU: {command}: {answer['error']['desc']}")
        raise Failed("QEMU has ended")

    def link_set(self, path, up):
        """The cable of a NIC."""
        self.qmp_do("set_link", name=f"outside{path}", up=up)

    def run(self, text, timeout_s=COMMAND_TIMEOUT_S):
        """A command for bash; what it prints. It must not fail."""
        code, out = self.agent.run(text, timeout_s)
        if code != 0:
            raise Failed(f"in the machine: {text}: exit code {code}\n{out.strip()}")
        return out

    def until(self, text, timeout_s):
        """Seconds until this command succeeds."""
        start = time.monotonic()
        while self.agent.run(text, COMMAND_TIMEOUT_S)[0] != 0:
            if time.monotonic() - start > timeout_s:
                raise Failed(f"in the machine, after {timeout_s} s, this fails: {text}")
            time.sleep(0.5)
        return time.monotonic() - start

    def ended(self):
        return self.process.poll() is not None

    def active_s(self, unit):
        """Seconds after the kernel's start at which a unit became active, by the machine's clock."""
        return int(self.run(f"systemctl show -p ActiveEnterTimestampMonotonic --value {unit}")) / 1e6

    def end(self, how, timeout_s):
        """systemctl reboot or poweroff; seconds until the kernel ends, by the machine's clock."""
        begin = self.console.stat().st_size
        self.agent.run(f"echo '<2>{STOP_MARK}' >/dev/kmsg; systemctl --no-block {how}", 60)
        try:
            self.process.wait(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            raise Failed(f"{how}: the machine is still there after {timeout_s} s") from None
        self.records.join(timeout=START_S)
        stopped = STOPPED.search(self.console.read_bytes()[begin:])
        if not stopped:
            raise Failed(f"{how}: the machine does not end in good order")
        return float(stopped[2]) - float(stopped[1])

    def kill(self):
        if not self.ended():
            self.process.kill()
        self.process.wait()
