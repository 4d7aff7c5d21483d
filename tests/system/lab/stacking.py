# SPDX-License-Identifier: GPL-2.0
"""What stands on block devices: LVM, LUKS, dm-cache, bcache, and tools that look at disks.

Their programs are not installed: tests/vm/install unpacks them in build/stacking, so that neither
their services nor their udev rules are there for other tests.
"""

import contextlib
import re
from pathlib import Path

from lab.shell import read, run, status, udev_settle, wait_for, write

ROOT = Path(__file__).resolve().parents[3] / "build" / "stacking"
LIBRARIES = ":".join(str(ROOT / folder) for folder in
                     ("lib", "lib/x86_64-linux-gnu", "usr/lib/x86_64-linux-gnu"))
FOLDERS = ("sbin", "usr/sbin", "bin", "usr/bin")
#: It keeps a list of its disks, and makes the nodes of volumes itself, as its rules are not there.
LVM_CONFIG = """devices { use_devicesfile = 1 }
activation { monitoring = 0 udev_sync = 0 udev_rules = 0 }
"""


def argv(program, *words, **environment):
    file = next(ROOT / folder / program for folder in FOLDERS
                if (ROOT / folder / program).exists())
    values = {"LD_LIBRARY_PATH": LIBRARIES, **environment}
    return ["env", *(f"{name}={value}" for name, value in values.items()), file, *words]


def tool(program, *words, **options):
    """Runs one of the programs; options: those of shell.run()."""
    return run(*argv(program, *words), **options)


def tool_status(program, *words):
    return status(*argv(program, *words))


class Lvm:
    """LVM with a folder of its own, where it keeps the list of the disks that it takes."""

    def __init__(self, folder):
        self.folder = folder
        (folder / "lvm.conf").write_text(LVM_CONFIG, encoding="ascii")
        run("modprobe", "-a", "dm-mod")

    def __call__(self, command, *words):
        return run(*argv("lvm", command, *words, LVM_SYSTEM_DIR=self.folder))

    def devices(self):
        """The disks in its list: {name now: (kind of identity, identity)}."""
        entries = {}
        for line in read(self.folder / "devices" / "system.devices").splitlines():
            words = dict(word.split("=", 1) for word in line.split() if "=" in word)
            if "IDTYPE" in words:
                entries[words["DEVNAME"]] = words["IDTYPE"], words["IDNAME"]
        return entries


@contextlib.contextmanager
def luks(device, secret="a secret of the test"):
    """Encrypts a disk; yields what is decrypted. Closed afterwards."""
    run("modprobe", "-a", "dm-crypt")
    quick = ("--pbkdf", "pbkdf2", "--pbkdf-force-iterations", "1000")
    tool("cryptsetup", "-q", "luksFormat", *quick, device, "-", text_in=secret)
    tool("cryptsetup", "open", "--key-file", "-", device, "plain", text_in=secret)
    try:
        yield Path("/dev/mapper/plain")
    finally:
        udev_settle()
        tool("cryptsetup", "close", "plain")


@contextlib.contextmanager
def dm_cache(origin, cache, metadata, sectors):
    """A disk with another one as a cache in front of it, in write-back."""
    run("modprobe", "-a", "dm-cache", "dm-cache-smq")
    run("dmsetup", "create", "cached", "--table",
        f"0 {sectors} cache {metadata} {cache} {origin} 128 1 writeback default 0")
    try:
        yield Path("/dev/mapper/cached")
    finally:
        udev_settle()
        run("dmsetup", "remove", "--retry", "cached")


@contextlib.contextmanager
def bcache(backing, cache):
    """The same with bcache; both disks are free again afterwards."""
    run("modprobe", "bcache")
    out = tool("make-bcache", "--bucket", "32k", "--writeback", "-B", backing, "-C", cache)
    sets = Path("/sys/fs/bcache") / re.search(r"Set UUID:\s+(\S+)", out).group(1)
    for disk in (cache, backing):
        write("/sys/fs/bcache/register", disk)
    cached = Path("/dev/bcache0")
    wait_for(f"{cached}", cached.is_block_device)
    try:
        yield cached
    finally:
        udev_settle()
        # What it still has to write back it writes first.
        write(f"/sys/block/{cached.name}/bcache/detach", 1)
        wait_for("bcache to let the cache go",
                 lambda: read(f"/sys/block/{cached.name}/bcache/state") == "no cache", 60)
        write(f"/sys/block/{cached.name}/bcache/stop", 1)
        write(sets / "unregister", 1)
        wait_for("bcache to stop", lambda: not cached.exists() and not sets.exists(), 60)
