# SPDX-License-Identifier: GPL-2.0
"""Documentation/ABI against the live tree: every file is described, every description exists."""

import re
from pathlib import Path

import pytest

ABI = Path(__file__).resolve().parents[2] / "Documentation" / "ABI"
#: What is ours outside of the module's own directories, below /sys/block/istripeN.
IDENTITY = ("wwid", "device/model", "device/serial", "device/vendor")


def described():
    """All paths of the What: lines."""
    found = []
    for document in sorted(ABI.glob("*/*")):
        in_what = False
        for line in document.read_text(encoding="utf-8").splitlines():
            match = re.match(r"What:\s*(\S+)", line)
            if match:
                in_what = True
                found.append(match.group(1))
            elif in_what and re.match(r"\s+/", line):
                found.append(line.strip())
            else:
                in_what = False
    return found


def expression(what):
    """The paths that a What: line means; <word> stands for one name."""
    what = re.sub(r"istripeN(?=/|$)", "istripe<N>", what.replace("/config/istripe", "/config/istripe"))
    parts = re.split(r"<[^>]+>", what)
    return re.compile("[^/]+".join(re.escape(part) for part in parts) + "$")


def live(volume):
    """Every file below the module's directories, as the documents would name it."""
    block = Path("/sys/block") / volume.device()
    return [str(path) for root in (Path("/sys/kernel/config/istripe"), block / "istripe")
            for path in root.rglob("*") if path.is_file()] + [
                str(block / name) for name in IDENTITY]


@pytest.fixture
def files(make_lio, make_volume):
    volume = make_volume(make_lio(8 << 20), path={"connections": 2})
    volume.enable()
    return live(volume)


def test_every_file_is_described(files):
    expressions = [expression(what) for what in described()]
    assert [file for file in files if not any(e.match(file) for e in expressions)] == []


def test_every_description_exists(files, make_lio):
    names = files + sorted({str(parent) for file in files for parent in Path(file).parents})
    missing = [what for what in described()
               if what.startswith(("/sys/kernel/config/istripe", "/sys/block/istripe"))
               and not any(expression(what).match(name) for name in names)]
    assert missing == []


def test_reading_everything_is_harmless(files):
    """Each readable file gives one value that ends with a newline."""
    for name in files:
        path = Path(name)
        if not path.stat().st_mode & 0o444:
            continue
        data = path.read_bytes()
        assert data.endswith(b"\n"), name
        assert b"\0" not in data, name
