# SPDX-License-Identifier: GPL-2.0
"""The files behind the LUNs, on a tmpfs of their own."""

import functools
import hashlib
import itertools
import os
import struct
from pathlib import Path

from lab.shell import run, status

ROOT = Path("/run/lab")
MIB = 1 << 20
_names = itertools.count(1)


def prepare():
    """Mounts the tmpfs for the LUNs' data."""
    ROOT.mkdir(exist_ok=True)
    if not os.path.ismount(ROOT):
        run("mount", "-t", "tmpfs", "-o", "size=90%,mode=0700", "lab", ROOT)


def image(name, size_bytes):
    """A new sparse file; an old one of this name is gone."""
    path = ROOT / f"{name}.img"
    path.unlink(missing_ok=True)
    with open(path, "wb") as file:
        file.truncate(size_bytes)
    return path


def pinned_image(name, size_bytes):
    """As image(), but it has all its memory from the start, and that is never swapped out."""
    folder = ROOT / "pinned"
    folder.mkdir(exist_ok=True)
    if not os.path.ismount(folder):
        run("mount", "-t", "ramfs", "lab", folder)
    path = folder / f"{name}.img"
    with open(path, "wb") as file:
        file.writelines(bytes(MIB) for _ in range(size_bytes // MIB))
    return path


def allocated_bytes(path):
    """How much of a sparse file is really there: shrinks when a range is unmapped."""
    return os.stat(path).st_blocks * 512


@functools.lru_cache(maxsize=4)
def _noise(seed):
    return hashlib.shake_256(f"istripe-lab-{seed}".encode()).digest(MIB)


def fill_pattern(path, size_bytes, seed):
    """Fills a file or device with bytes that depend on the seed and the position; returns sha256.

    Every 512 byte block is different: the noise of one MiB, rotated for each further one, so
    that swapped, shifted and stale blocks are seen.
    """
    digest = hashlib.sha256()
    noise = _noise(seed)
    with open(path, "r+b", buffering=0) as file:
        for at in range(0, size_bytes, MIB):
            turn = (at // MIB * 1032) % MIB
            part = (noise[turn:] + noise[:turn])[: size_bytes - at]
            file.write(part)
            digest.update(part)
            # LIO gives up a session whose data do not come for 3 s: not too much at once.
            if at // MIB % 16 == 15:
                os.fdatasync(file.fileno())
        os.fsync(file.fileno())
    return digest.hexdigest()


def sha256(path, size_bytes=None):
    """The sha256 of a file or block device, read past the page cache if that is possible."""
    command = f"dd if={path} bs=1M iflag=direct status=none"
    if size_bytes is not None:
        command += f" iflag=count_bytes count={size_bytes}"
    if not Path(path).is_block_device():
        command = command.replace("iflag=direct ", "")
    out = run("bash", "-o", "pipefail", "-c", f"{command} | sha256sum", timeout_s=1200)
    return out.split()[0]


def same(device, path):
    """Whether a block device holds, past the page cache, what a file holds."""
    command = f"dd if={device} bs=1M iflag=direct status=none | cmp - {path}"
    return status("bash", "-o", "pipefail", "-c", command, timeout_s=1200)[0] == 0


def partitioned(device, sectors):
    """Writes a table of the old kind: one partition of type 83h, from 1 MiB on. Nobody reads it."""
    entry = struct.pack("<B3sB3sII", 0, bytes(3), 0x83, bytes(3), 2048, sectors)
    with open(device, "r+b") as file:
        file.write(bytes(446) + entry + bytes(48) + b"\x55\xaa")


def drop_caches():
    """Forgets clean cached pages, so that the next read goes to the wire."""
    run("sync")
    Path("/proc/sys/vm/drop_caches").write_text("3\n", encoding="ascii")


def new_name():
    """A name that no LUN of this run has had before."""
    return f"lun{next(_names)}"
