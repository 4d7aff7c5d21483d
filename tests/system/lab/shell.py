# SPDX-License-Identifier: GPL-2.0
"""Commands, files of sysfs and configfs, and waiting."""

import subprocess
import time
from pathlib import Path


class LabError(Exception):
    """The laboratory, or the thing under test, did not do what it was told to."""


def run(*argv, check=True, timeout_s=120, netns=None, text_in=None):
    """Runs a command to its end and returns its standard output.

    `netns` changes the network namespace and nothing else: unlike `ip netns exec`, nsenter keeps
    /sys as it is, and with it configfs.
    """
    argv = [str(a) for a in argv]
    if netns:
        argv = ["nsenter", f"--net=/run/netns/{netns}", "--", *argv]
    done = subprocess.run(
        argv, input=text_in, capture_output=True, text=True, timeout=timeout_s, check=False
    )
    if check and done.returncode:
        raise LabError(
            f"{' '.join(argv)}: exit code {done.returncode}\n{done.stdout}{done.stderr}".rstrip()
        )
    return done.stdout


def status(*argv, timeout_s=120, netns=None):
    """Runs a command; returns (exit code, output and errors together)."""
    argv = [str(a) for a in argv]
    if netns:
        argv = ["nsenter", f"--net=/run/netns/{netns}", "--", *argv]
    done = subprocess.run(
        argv,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=timeout_s,
        check=False,
    )
    return done.returncode, done.stdout


def udev_settle(timeout_s=30):
    """Waits until udev has looked at what has come; not for ever, as udev itself may."""
    status("udevadm", "settle", f"--timeout={timeout_s}", timeout_s=2 * timeout_s)


def read(path):
    """The content of a small file without the newline at its end."""
    return Path(path).read_text(encoding="ascii", errors="replace").rstrip("\n")


def write(path, value, end="\n"):
    """Writes one value with one write(2): what sysfs and configfs want. Raises OSError."""
    with open(path, "wb", buffering=0) as file:
        file.write(f"{value}{end}".encode())


def wait_for(what, condition, timeout_s=30, step_s=0.05):
    """Waits until condition() is true; returns its value. Raises LabError naming `what`."""
    end = time.monotonic() + timeout_s
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise LabError(f"{what}: not within {timeout_s} s")
        time.sleep(step_s)
