# SPDX-License-Identifier: GPL-2.0
"""Documentation/ABI against the live tree: every file is described, every description exists."""

import errno
import re
from pathlib import Path

import pytest

from lab import istripe
from lab.kernel import ATOMIC_WRITES
from lab.shell import read

pytestmark = pytest.mark.both
ABI = Path(__file__).resolve().parents[2] / "Documentation" / "ABI"
#: What is ours outside of the module's own directories, below /sys/block/istripeN.
IDENTITY = ("wwid", "device/model", "device/serial", "device/vendor")


def described():
    """{path of a What: line: RO, RW, WO, "RW, live", or nothing}."""
    found, whats = {}, []
    for document in sorted(ABI.glob("*/*")):
        in_what = False
        for line in document.read_text(encoding="utf-8").splitlines():
            match = re.match(r"What:\s*(\S+)", line) or in_what and re.match(r"\s+(/.*)", line)
            if match:
                whats = [*whats, match.group(1)] if in_what else [match.group(1)]
                found[match.group(1)] = ""
            access = re.match(r"\t\t\((R[OW]|WO|RW, live)\) ", line)
            if access:
                found.update(dict.fromkeys(whats, access.group(1)))
            in_what = bool(match)
    return found


def described_features():
    """The words of the file features: remarks in parentheses are none."""
    text = (ABI / "testing" / "configfs-istripe").read_text(encoding="utf-8")
    text = text.split("/istripe/features\n")[1].split("\nWhat:")[0].split("one word per line:")[1]
    return [word.strip(" .\t\n") for word in re.sub(r"\([^()]*\)", "", text).split(",")]


def expression(what):
    """The paths that a What: line means; <word> stands for one name."""
    what = re.sub(r"istripeN(?=/|$)", "istripe<N>", what)
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


def test_every_description_exists(files):
    names = files + sorted({str(parent) for file in files for parent in Path(file).parents})
    missing = [what for what in described()
               if what.startswith(("/sys/kernel/config/istripe", "/sys/block/istripe"))
               and not any(expression(what).match(name) for name in names)]
    assert missing == []


def test_features_are_as_described(module):
    words = read(istripe.CONFIG / "features").splitlines()
    if not ATOMIC_WRITES:
        words.append("atomic-writes")
    assert sorted(words) == sorted(described_features())


def test_access_is_as_described(files):
    """Modes; and of a volume that is up just the live settings take what they have."""
    for what, access in [row for row in described().items() if row[1]]:
        for file in (Path(name) for name in files if expression(what).match(name)):
            mode = {"RO": 0o444, "WO": 0o200}.get(access, 0o644)
            assert file.stat().st_mode & 0o777 == mode, file
            if mode != 0o644 or file.name in ("enable", "unfenced"):
                continue
            try:
                file.write_bytes(file.read_bytes())
                assert access == "RW, live", file
            except OSError as error:
                assert error.errno == errno.EBUSY and access == "RW", file


def test_what_can_be_polled(files):
    """All that is called a state, and one more; test_events.py polls them."""
    text = (ABI / "testing" / "sysfs-block-istripe").read_text(encoding="utf-8")
    named = [expression(what) for entry in text.split("\n\nWhat:")
             if entry.rstrip().endswith("\tCan be polled.")
             for what in re.findall(r"^(?:What:)?\s+(/sys/\S+)$", entry, re.MULTILINE)]
    assert [file for file in files if any(what.match(file) for what in named)] == [
        file for file in files if re.search(r"/istripe/.*(state|waiting_writes)$", file)]


def test_reading_everything_is_harmless(files):
    """Each readable file gives one value that ends with a newline."""
    for name in files:
        path = Path(name)
        if not path.stat().st_mode & 0o444:
            continue
        data = path.read_bytes()
        assert data.endswith(b"\n"), name
        assert b"\0" not in data, name
