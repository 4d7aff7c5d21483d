# SPDX-License-Identifier: GPL-2.0
"""Commands, files of sysfs and configfs, and waiting."""

import contextlib
import errno
import os
import socket
import struct
import subprocess
import time
from pathlib import Path

#: Set where the machine's clock runs on to the next timer as soon as no processor has anything to
#: do, also while the host reads a file for it: a time-out would be over in a moment then. The
#: clock chip goes with the host.
HOST_CLOCK = bool(os.environ.get("ISTRIPE_HOST_CLOCK"))
CLOCK_CHIP = Path("/sys/class/rtc/rtc0/since_epoch")
#: How often that clock is looked at, by the other one.
SLICE_S = 10
UDEV_MAGIC, UDEV_PING, UDEV_END = 0xdead1dea, 7, 0
#: There while udev has something to look at.
UDEV_QUEUE = Path("/run/udev/queue")


class LabError(Exception):
    """The laboratory, or the thing under test, did not do what it was told to."""


def clock():
    """Seconds since some moment, by the clock that time-outs go by."""
    while HOST_CLOCK:
        try:
            return int(CLOCK_CHIP.read_text(encoding="ascii"))
        except OSError as err:
            # Not while it changes.
            if err.errno != errno.EIO:
                raise
    return time.monotonic()


def communicate(process, timeout_s, text_in=None):
    """Popen.communicate() with a time-out that goes by clock()."""
    end = clock() + timeout_s
    while True:
        try:
            return process.communicate(text_in, timeout=SLICE_S if HOST_CLOCK else timeout_s)
        except subprocess.TimeoutExpired:
            text_in = None
            if clock() >= end:
                raise


def _finish(argv, netns, timeout_s, text_in=None, stderr=subprocess.PIPE):
    """Runs a command to its end, or kills it; returns (exit code, output, errors)."""
    argv = [str(a) for a in argv]
    if netns:
        argv = ["nsenter", f"--net=/run/netns/{netns}", "--", *argv]
    with subprocess.Popen(argv, text=True, stdout=subprocess.PIPE, stderr=stderr,
                          stdin=subprocess.PIPE if text_in is not None else None) as process:
        try:
            out, err = communicate(process, timeout_s, text_in)
        except BaseException as error:
            process.kill()
            if isinstance(error, subprocess.TimeoutExpired):
                raise subprocess.TimeoutExpired(argv, timeout_s) from error
            raise
    return process.returncode, out, err


def run(*argv, check=True, timeout_s=120, netns=None, text_in=None):
    """Runs a command to its end and returns its standard output.

    `netns` changes the network namespace and nothing else: unlike `ip netns exec`, nsenter keeps
    /sys as it is, and with it configfs.
    """
    code, out, err = _finish(argv, netns, timeout_s, text_in)
    if check and code:
        raise LabError(f"{' '.join(map(str, argv))}: exit code {code}\n{out}{err}".rstrip())
    return out


def status(*argv, timeout_s=120, netns=None):
    """Runs a command; returns (exit code, output and errors together)."""
    code, out, _ = _finish(argv, netns, timeout_s, stderr=subprocess.STDOUT)
    return code, out


def udev_ping():
    """As udev-ctrl.c does: the connection ends when udev has taken all that the kernel has told it."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as sock:
        sock.settimeout(SLICE_S)
        sock.connect("/run/udev/control")
        for kind in (UDEV_PING, UDEV_END):
            sock.send(struct.pack("=16sII256x", b"udev", UDEV_MAGIC, kind))
        sock.recv(1)


def udev_settle(timeout_s=30):
    """Waits until udev has looked at what has come; not for ever, as udev itself may."""
    status("udevadm", "settle", f"--timeout={timeout_s}", timeout_s=2 * timeout_s)


def udev_settle_told(timeout_s=30):
    """Does the same, where the kernel has told udev by now; a disk of sd may be there before that.

    An emulated processor takes long to start udevadm.
    """
    try:
        udev_ping()
    except OSError:
        udev_settle(timeout_s)
        return
    end = clock() + timeout_s
    while UDEV_QUEUE.exists() and clock() <= end:
        time.sleep(0.02)


@contextlib.contextmanager
def on_failure(end):
    """Calls end() when what is inside fails: volume.force_down, say.

    The innermost of those in one `with`. The exit of a pool or a process waits for I/O that is still
    under way, and what has failed would not be shown before that is over.
    """
    try:
        yield
    except BaseException:
        end()
        raise


def read(path):
    """The content of a small file without the newline at its end."""
    return Path(path).read_text(encoding="ascii", errors="replace").rstrip("\n")


def write(path, value, end="\n"):
    """Writes one value with one write(2): what sysfs and configfs want. Raises OSError."""
    with open(path, "wb", buffering=0) as file:
        file.write(f"{value}{end}".encode())


def wait_for(what, condition, timeout_s=30, step_s=0.05):
    """Waits until condition() is true; returns its value. Raises LabError naming `what`."""
    end = clock() + timeout_s
    while True:
        # Before the condition: a thread that stood still looks once more.
        late = clock() > end
        value = condition()
        if value:
            return value
        if late:
            raise LabError(f"{what}: not within {timeout_s} s")
        time.sleep(step_s)
