# SPDX-License-Identifier: GPL-2.0
"""What the README and usage.rst tell to type is typed, word for word."""

import re
import time
from pathlib import Path

import pytest

from conftest import TOP
from lab import istripe, leaks, lio, network, pages
from lab.shell import read, run, wait_for

MIB = 1 << 20
TOOLS = TOP / "build" / "tools"
PAGES = (TOP / "README", TOP / "Documentation" / "usage.rst")


def block(words):
    return pages.block(words, *PAGES)


#: Its targets: the portals of each, and their size: XFS wants 300 MiB.
TARGETS = {"array1": (("192.0.2.10", "203.0.113.10"), 192 * MIB),
           "array2": (("198.51.100.10",), 192 * MIB), "array3": (("192.0.2.10",), 64 * MIB)}

#: What create and up print.
DISK = r"^db: /dev/istripe\d+ \(link: /dev/istripe/db\)$"

#: Nobody still looks at the new disk when it is taken away.
PRELUDE = """istripectl() { udevadm settle; command istripectl "$@"; }
"""


def shell(script, directory):
    return run("bash", "-e", "-c", f"cd {directory}; PATH={TOOLS}:$PATH\n{PRELUDE}{script}")


@pytest.fixture
def arrays(laboratory, targets):
    """The README's NICs, portals and targets."""
    with pages.nics():
        for name, (addresses, size) in TARGETS.items():
            targets(lio.Target([(address, network.ISCSI_PORT) for address in addresses],
                               [lio.Lun(size)], iqn=f"iqn.2026-01.com.example:{name}"))
        yield


@pytest.fixture
def volumes(module, arrays):
    """Whatever is left of volumes goes before the targets that they use."""
    yield
    istripe.delete_all()


def test_in_one_line(volumes, udev_rules, tmp_path):
    begin = time.monotonic()
    out = shell(block("istripectl create db --save"), tmp_path)
    print(f"a volume with XFS after {time.monotonic() - begin:.0f} s")
    assert re.search(DISK, out, re.MULTILINE)
    assert re.search(r"^db +live +/dev/istripe\d+ +382 MiB", out, re.MULTILINE), out
    conf = Path("/etc/istripe/db.conf")
    assert "portal = 192.0.2.10" in conf.read_text(encoding="utf-8")
    add, remove = block("path add db 0").splitlines()
    shell(add, tmp_path)
    assert read(istripe.Volume("db").path_sysfs(0, 1) / "state") == "live"
    shell(remove, tmp_path)
    assert not istripe.Volume("db").path_sysfs(0, 1).exists()
    out = shell(block("istripectl delete db"), tmp_path)
    assert len(re.findall(DISK, out, re.MULTILINE)) == 2
    conf.unlink()
    run("udevadm", "settle", check=False)
    assert run("blkid", "-o", "value", "-s", "TYPE", "/dev/istripe/db").strip() == "xfs"


def test_by_hand(volumes, udev_rules, tmp_path):
    out = shell(block("mkdir log log/legs/0"), tmp_path)
    device = Path("/dev") / out.split()[-1]
    wait_for(f"{device}", device.is_block_device)
    assert read(istripe.CONFIG / "log/metadata_create") == "0"
    run("udevadm", "settle", check=False)
    run("mkfs.ext4", "-q", device)
    run("mount", device, tmp_path)
    run("udevadm", "settle", check=False)
    shell(block("umount /dev/$(cat log/device)"), istripe.CONFIG)
    assert not leaks.loaded()
