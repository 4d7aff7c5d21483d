# SPDX-License-Identifier: GPL-2.0
"""configfs: every file's default, good and bad values, and when it may be written."""

import contextlib
import errno
import json
import os
import stat
import sys
from pathlib import Path

import pytest

from lab import istripe, kcore, settings
from lab.kernel import ATOMIC_WRITES
from lab.shell import read, run, status, write

IQN_LONG = "iqn.2024-01.org.example:" + "x" * (223 - 24)

#: file: (default, good values, bad values). A good value that reads back otherwise is a pair.
VOLUME = {
    "initiator_name": (
        "",
        ["iqn.2024-01.org.example:a", "eui.02004567A425678D", "naa.52004567BA64678D", IQN_LONG],
        ["nonsense", "iqn", IQN_LONG + "x", "iqn.2024-01.org.example:a b"],
    ),
    "chunk_bytes": ("65536", ["4096", "65536", "4194304", ("", "65536")],
                    ["0", "2048", "65537", "8388608", "-4096", "64k", "99999999999999999999"]),
    "metadata": ("md", ["none", "md"], ["", "None", "md5", "0"]),
    "metadata_create": ("0", ["0", "1", "force"], ["", "2", "yes", "Force"]),
    "host_disks": ("refuse", ["claim", "refuse"], ["", "0", "Claim", "force"]),
    "recovery_timeout_ms": ("120000", ["-1", "0", "1", "2147483647"],
                            ["", "-2", "2147483648", "1.5", "x"]),
    "command_timeout_ms": ("30000", ["1000", "3600000"], ["", "0", "999", "3600001", "-1"]),
    "queue_depth": ("128", ["1", "1024"], ["", "0", "1025", "-1", "x"]),
    "poll_queues": ("0", ["1", "1024", "0"], ["", "-1", "1025", "1.5", "x"]),
}

LEG = {
    "policy": ("interleave", ["interleave", "round-robin", "queue-depth", "service-time",
                              "failover", "weighted"], ["", "random", "INTERLEAVE"]),
    "fence_timeout_ms": ("-1", ["-1", "0", "20000", "2147483647"], ["-2", "2147483648", "", "20s"]),
    "ghost_timeout_ms": ("5000", ["-1", "0", "20000", "2147483647"], ["-2", "2147483648", "", "20s"]),
    "fence": ("auto", ["session", "path", "auto"], ["", "none", "timed"]),
    "alua": ("on", ["off", "on"], ["", "0", "On"]),
    "designator": ("", ["naa.6001405b2f2b3e1c6bc4a0f9fd2ba4c1", ""], ["x" * 132]),
}

_LENGTHS = ["", "0", "511", "16777216", "-1", "x"]
_BUFFERS = ["4096", "536870912", "0"]
_NO_BUFFERS = ["", "1", "4095", "536870913", "-1", "00", "64K"]
_YES_NO = ["", "yes", "no", "1", "Maybe"]
_DIGEST = ["", "crc32c", "CRC32C,CRC32C", "None,", "MD5"]
_DIGESTS = ["None", "CRC32C", "CRC32C,None", "None,CRC32C"]

PATH = {
    "portal": (
        "",
        ["10.0.0.2:3260", "10.0.0.2:65535", "[fd00::2]:3260", ("10.0.0.2", "10.0.0.2:3260"),
         ("[fd00::2]", "[fd00::2]:3260"), ("fd00::2", "[fd00::2]:3260")],
        ["10.0.0.2:0", "10.0.0.2:65536", "10.0.0.256:3260", "host:3260", "[fd00::2:3260",
         "10.0.0.2:", "10.0.0.2:x", ":3260"],
    ),
    "target_name": (
        "",
        ["iqn.2024-01.org.example:t", "eui.02004567A425678D", IQN_LONG],
        ["nonsense", IQN_LONG + "x"],
    ),
    "lun": ("0", ["0", "255", "256", "16383"], ["", "16384", "-1", "x"]),
    "nic": ("", ["ini0", ""], ["x" * 16, "a/b", "a b"]),
    "source_address": ("", ["10.0.0.1", "fd00::1", ""], ["10.0.0", "nonsense", "10.0.0.1:80"]),
    "weight": ("1", ["1", "1000"], ["", "0", "1001", "-1", "x"]),
    "isid": ("", ["00023d000001", "800000000001", ""], ["0", "00023d00000", "00023d0000010",
                                                        "zz023d000001", "c00000000000"]),
    "chap_user": ("", ["user", "x" * 255, ""], ["x" * 256]),
    "chap_mutual_user": ("", ["user", "x" * 255, ""], ["x" * 256]),
    "chap_algorithms": ("", ["MD5", "SHA1", "SHA256", "SHA3-256", ("MD5,SHA1", "SHA1,MD5"), ""],
                        ["md4", "MD5,", "MD5,MD6"]),
    "header_digest": ("None", _DIGESTS, _DIGEST),
    "data_digest": ("None", _DIGESTS, _DIGEST),
    "connections": ("1", ["1", "8"], ["", "0", "9", "65535", "-1", "x"]),
    "multi": ("auto", ["sessions", "mcs", "auto"], ["", "Auto", "mc/s"]),
    "initial_r2t": ("No", ["Yes", "No"], _YES_NO),
    "immediate_data": ("Yes", ["Yes", "No"], _YES_NO),
    "max_recv_data_segment_length": ("262144", ["512", "16777215"], _LENGTHS),
    "max_burst_length": ("1048576", ["512", "16777215"], _LENGTHS),
    "first_burst_length": ("262144", ["512", "16777215"], _LENGTHS),
    "max_outstanding_r2t": ("16", ["1", "16"], ["", "0", "65536", "-1", "x"]),
    "default_time2wait": ("2", ["0", "3600"], ["", "3601", "-1", "x"]),
    "default_time2retain": ("20", ["0", "3600"], ["", "3601", "-1", "x"]),
    "error_recovery_level": ("0", ["0"], ["", "3", "-1", "x"]),
    "login_timeout_ms": ("15000", ["100", "600000"], ["", "0", "99", "600001", "-1"]),
    "ping_interval_ms": ("2000", ["0", "3600000"], ["", "3600001", "-1", "x"]),
    "ping_timeout_ms": ("3000", ["100", "3600000"], ["", "99", "3600001", "-1"]),
    "login_retry_max_ms": ("10000", ["1000", "600000"], ["", "999", "600001", "-1"]),
    "dscp": ("0", ["0", "46", "63"], ["", "64", "-1", "EF", "0x2e"]),
    "priority": ("0", ["0", "7"], ["", "8", "-1", "x"]),
    "congestion_control": ("", ["reno", "cubic", "vegas", ""],
                           ["nonesuch", "Reno", "reno cubic", "../reno", "x" * 16]),
    "user_timeout_ms": ("0", ["0", "1", "3600000"], ["", "-1", "3600001", "1.5"]),
    "send_buffer_bytes": ("0", _BUFFERS, _NO_BUFFERS),
    "receive_buffer_bytes": ("0", _BUFFERS, _NO_BUFFERS),
}

LIVE = {(level, name) for level, name, *_ in settings.LIVE}
SECRETS = ("chap_secret", "chap_mutual_secret")
#: Of a path: may be written while it is lost, see test_lost_login.py.
LOGIN = {"nic", "source_address", "chap_user", "chap_mutual_user", "chap_algorithms"}
#: Of a volume that has not been up all of them say nothing.
READ_ONLY = {"volume": {"device", "last_error", "phase"}}
SECRET = "correct-horse-battery"


@pytest.fixture
def plain(module):
    """A volume's directories with nothing set."""
    volume = istripe.Volume("plain")
    volume.settings = {}
    yield volume.create()
    volume.delete()


def directory(volume, level):
    return {"volume": volume.config, "leg": volume.leg, "path": volume.path}[level]


CASES = [(level, name, *table[name])
         for level, table in (("volume", VOLUME), ("leg", LEG), ("path", PATH)) for name in table]
IDS = [f"{case[0]}-{case[1]}" for case in CASES]


@pytest.mark.parametrize("level,name,default,good,bad", CASES, ids=IDS)
def test_values(plain, kernel_log, level, name, default, good, bad):
    file = directory(plain, level) / name
    assert file.read_bytes() == f"{default}\n".encode()
    for value in good:
        given, shown = value if isinstance(value, tuple) else (value, value)
        write(file, given)
        assert file.read_bytes() == f"{shown}\n".encode()
    before = file.read_bytes()
    for value in bad:
        seen = len(kernel_log.matching(r"istripe: .*is refused"))
        with pytest.raises(OSError) as refused:
            write(file, value)
        assert refused.value.errno == errno.EINVAL, value
        assert file.read_bytes() == before, value
        lines = kernel_log.matching(r"istripe: .*is refused")[seen:]
        assert len(lines) == 1, lines
        assert "plain" in lines[0] and f" {name}: " in lines[0]
        assert value[:64] in lines[0] and "allowed is" in lines[0]


@pytest.mark.parametrize("level,name", [(c[0], c[1]) for c in CASES], ids=IDS)
def test_control_characters_are_refused(plain, kernel_log, level, name):
    file = directory(plain, level) / name
    before = file.read_bytes()
    for value in (b"a\nb\n", b"a\0b", b"\x1b[2J", b"x" * 4095):
        with pytest.raises(OSError) as refused, open(file, "wb", buffering=0) as handle:
            handle.write(value)
        assert refused.value.errno == errno.EINVAL
    assert file.read_bytes() == before
    # In /dev/kmsg what is in the log as it is has become \x1b, and a backslash \x5c.
    lines = kernel_log.matching("is refused")
    assert any(r'"\x5ce[2J"' in line for line in lines), lines
    assert not any(r"\x1b" in line for line in lines), lines


@pytest.mark.both
def test_every_file_is_in_a_table(plain):
    tables = {"volume": {*VOLUME, *READ_ONLY["volume"], "enable"},
              "leg": {*LEG, "unfenced"},
              "path": {*PATH, *SECRETS, "enable"}}
    for level, names in tables.items():
        here = directory(plain, level)
        assert {file.name for file in here.iterdir() if file.is_file()} == names


@pytest.mark.both
@pytest.mark.parametrize("name", SECRETS)
def test_secrets_are_write_only(plain, kernel_log, name):
    file = plain.path / name
    assert stat.S_IMODE(os.stat(file).st_mode) == 0o200
    write(file, SECRET)
    with pytest.raises(OSError):
        file.read_bytes()
    for value in ("tab\tbed", "x" * 256):
        with pytest.raises(OSError) as refused:
            write(file, value)
        assert refused.value.errno == errno.EINVAL
    write(file, "")
    assert not kernel_log.matching(SECRET)
    assert not kernel_log.matching(r"tab.*bed|xxxxxxxx")
    refused = kernel_log.matching(rf"{name}: the given \d+ bytes are refused")
    assert len(refused) == 2
    assert all("allowed is 1 to 255 bytes of text" in line for line in refused)


@pytest.mark.both
def test_no_page_keeps_a_secret(plain):
    """configfs has a page for each open file, which it frees as it is; refused ones included."""
    texts = {name: os.urandom(16).hex().encode() for name in ("chap_user", *SECRETS)}
    refused = os.urandom(16).hex().encode()
    with contextlib.ExitStack() as stack:
        for name, text in texts.items():
            stack.enter_context(open(plain.path / name, "wb", buffering=0)).write(text)
        file = stack.enter_context(open(plain.path / SECRETS[0], "wb", buffering=0))
        with pytest.raises(OSError):
            file.write(refused * 8)
        found = kcore.page_beginnings([refused, *texts.values()])
    assert found == {texts["chap_user"]}


@pytest.mark.parametrize("name", SECRETS)
def test_a_short_secret_is_taken_with_a_warning(plain, kernel_log, name):
    """Some arrays have one: it must be possible to log in to them."""
    for value in ("", "y" * 12, "y" * 255):
        write(plain.path / name, value)
    assert not kernel_log.matching(r"istripe: .*secret")
    for value in ("y", "short-one", "y" * 11):
        seen = len(kernel_log.matching(r"istripe: plain/0/0: .*secret"))
        write(plain.path / name, value)
        (line,) = kernel_log.matching(r"istripe: plain/0/0: .*secret")[seen:]
        assert (f" {name}: a secret of {len(value)} bytes is easily found from a recorded login: "
                "RFC 7143 asks for 12 or more") in line
    assert not kernel_log.matching(r"short-one|yyyyyyyy")


@pytest.mark.parametrize(("level", "name"), [
    (level, name) for level, names in READ_ONLY.items() for name in sorted(names)])
def test_read_only(plain, level, name):
    file = directory(plain, level) / name
    assert file.read_bytes() == (b"down\n" if name == "phase" else b"\n")
    assert not stat.S_IMODE(os.stat(file).st_mode) & 0o222


@pytest.mark.both
def test_features(module):
    words = read(istripe.CONFIG / "features").splitlines()
    assert {"chap", "mutual-chap", "header-digest", "data-digest", "ipv6", "redirect", "flush",
            "fua", "discard", "write-zeroes", "md", "reservations", "mcs", "sessions",
            "live-paths", "fence-auto", "fence-session"} <= set(words)
    assert ("atomic-writes" in words) == ATOMIC_WRITES
    assert all(word == word.strip() and " " not in word for word in words)
    with pytest.raises(OSError):
        write(istripe.CONFIG / "features", "x")


@pytest.mark.parametrize("name", ["x" * 64, ".hidden", "-dash", "a b", "a:b", "ä"])
def test_bad_volume_names(module, name):
    with pytest.raises(OSError) as refused:
        (istripe.CONFIG / name).mkdir()
    assert refused.value.errno in (errno.EINVAL, errno.ENAMETOOLONG)


@pytest.mark.both
@pytest.mark.parametrize("name", ["x" * 63, "A.b_c-9"])
def test_good_volume_names(module, name):
    (istripe.CONFIG / name).mkdir()
    (istripe.CONFIG / name).rmdir()


@pytest.mark.parametrize("name", ["64", "00", "01", "-1", "x", "1x", "+1"])
def test_bad_leg_names(plain, name):
    with pytest.raises(OSError) as refused:
        (plain.config / "legs" / name).mkdir()
    assert refused.value.errno == errno.EINVAL


@pytest.mark.parametrize("name", ["16", "00", "x"])
def test_bad_path_names(plain, name):
    with pytest.raises(OSError) as refused:
        (plain.leg / "paths" / name).mkdir()
    assert refused.value.errno == errno.EINVAL


def test_enable_needs_a_whole_blueprint(plain, kernel_log):
    """What is missing is named, and naming it is all that happens."""
    steps = (
        ("initiator_name", plain.config, "iqn.2024-01.org.example:i"),
        ("portal", plain.path, "10.55.0.2:3260"),
        ("target_name", plain.path, "iqn.2024-01.org.example:t"),
    )
    for name, where, value in steps:
        with pytest.raises(istripe.EnableError) as failed:
            plain.enable()
        assert failed.value.number == errno.EINVAL
        assert name in failed.value.reason
        assert failed.value.reason in "\n".join(kernel_log.read())
        assert not plain.enabled()
        write(where / name, value)


def test_enable_wants_all_legs(module):
    volume = istripe.Volume("gap").create()
    (volume.config / "legs" / "2").mkdir()
    with pytest.raises(istripe.EnableError) as failed:
        volume.enable()
    assert "leg 1" in failed.value.reason
    volume.delete()


def test_the_same_secret_both_ways_is_refused(plain):
    write(plain.config / "initiator_name", istripe.INITIATOR)
    for name, value in (("portal", "10.55.0.2:3260"), ("target_name", "iqn.2024-01.org.example:t"),
                        ("chap_user", "a"), ("chap_secret", SECRET),
                        ("chap_mutual_user", "b"), ("chap_mutual_secret", SECRET)):
        write(plain.path / name, value)
    with pytest.raises(istripe.EnableError) as failed:
        plain.enable()
    assert failed.value.number == errno.EINVAL
    assert "secret" in failed.value.reason
    assert SECRET not in failed.value.reason


@pytest.mark.both
def test_busy_while_up(make_lio, make_volume, kernel_log):
    """But for what may change while it is up: see test_settings.py, test_live_paths.py."""
    volume = make_volume(make_lio())
    volume.enable()
    assert read(volume.config / "device") == volume.device() != ""
    for level, name, _, good, _ in CASES:
        if name == "connections" or (level, name) in LIVE:
            continue
        file = directory(volume, level) / name
        before = file.read_bytes()
        value = good[0][0] if isinstance(good[0], tuple) else good[0]
        with pytest.raises(OSError) as refused:
            write(file, value)
        assert refused.value.errno == errno.EBUSY, name
        assert file.read_bytes() == before
        said = f"leg 0 path 0 is not changed: {name}: it is for the next login, and a session of"
        if name not in LOGIN:
            said = f".*: {name}: is refused while the volume is up"
        assert kernel_log.matching(rf"istripe: {volume.name}.*{said}")
    for name in SECRETS:
        with pytest.raises(OSError) as refused:
            write(volume.path / name, SECRET)
        assert refused.value.errno == errno.EBUSY
    for path in (volume.path, volume.leg, volume.config):
        with pytest.raises(OSError) as refused:
            path.rmdir()
        assert refused.value.errno in (errno.EBUSY, errno.ENOTEMPTY)
    with pytest.raises(OSError) as refused:
        (volume.config / "legs" / "1").mkdir()
    assert refused.value.errno == errno.EBUSY
    volume.disable()
    write(volume.config / "queue_depth", 64)
    assert volume.device() == ""


@pytest.mark.both
def test_enable_says_the_same_twice(make_lio, make_volume):
    volume = make_volume(make_lio())
    device = volume.enable()
    assert volume.enable() == device
    volume.disable()
    volume.disable()
    assert not device.exists()


@pytest.mark.parametrize("level", ["volume", "path"])
@pytest.mark.parametrize("value", ["", "2", "on", "-1", "0 force", "forced"])
def test_enable_takes_only_its_words(plain, value, level):
    with pytest.raises(OSError) as refused:
        write(directory(plain, level) / "enable", value)
    assert refused.value.errno == errno.EINVAL


@pytest.mark.both
def test_only_root_may(plain):
    code, said = status("python3", "-c", "import os; os.setuid(65534); "
                        f"open('{plain.config}/queue_depth', 'w')")
    assert code and "PermissionError" in said
    assert not stat.S_IMODE(os.stat(plain.config / "queue_depth").st_mode) & 0o022
    assert read(plain.config / "queue_depth") == "128"


#: Each of [file or folder, value or None for mkdir]; prints the error numbers.
ATTEMPTS = """
import json, os, sys

def attempt(path, value):
    try:
        if value is None:
            os.mkdir(path)
        else:
            with open(path, "wb", buffering=0) as file:
                file.write(value.encode())
    except OSError as error:
        return error.errno
    return 0

print(json.dumps([attempt(*what) for what in json.load(sys.stdin)]))
"""


def refused_without_admin(attempts):
    """Root without CAP_SYS_ADMIN, as in a container, writes and makes what `attempts` says."""
    files = [Path(path) for path, value in attempts if value is not None]
    readable = [file for file in files if stat.S_IMODE(file.stat().st_mode) & 0o444]
    before = [file.read_bytes() for file in readable]
    out = run("setpriv", "--bounding-set=-sys_admin", "--inh-caps=-sys_admin", sys.executable,
              "-c", ATTEMPTS, text_in=json.dumps([(str(path), value) for path, value in attempts]))
    wrong = [(str(what[0]), number) for what, number in zip(attempts, json.loads(out))
             if number != errno.EPERM]
    assert wrong == []
    assert [file.read_bytes() for file in readable] == before


@pytest.mark.both
def test_writing_needs_the_capability(plain, kernel_log):
    attempts = [(directory(plain, level) / "enable", "1") for level in ("volume", "path")]
    attempts += [(plain.path / name, SECRET) for name in SECRETS]
    for level, name, default, good, _ in CASES:
        given = [value[0] if isinstance(value, tuple) else value for value in good]
        value = next((value for value in given if value != default), default)
        attempts.append((directory(plain, level) / name, value))
    made = [istripe.CONFIG / "other", plain.config / "legs" / "1", plain.leg / "paths" / "1"]
    refused_without_admin([*attempts, *((folder, None) for folder in made)])
    assert not any(folder.exists() for folder in made)
    assert not kernel_log.matching(r"istripe: .*is refused")


@pytest.mark.both
def test_writing_needs_the_capability_while_up(make_lio, make_volume):
    volume = make_volume(make_lio())
    volume.enable()
    live = {directory(volume, level) / name: value for level, name, value, _ in settings.LIVE}
    files = [file for root in (volume.config, volume.sysfs()) for file in root.rglob("*")
             if file.is_file() and stat.S_IMODE(file.stat().st_mode) & 0o222]
    assert {"enable", "queue_depth", "rescan", "reconnect", "fence_confirm"} <= {
        file.name for file in files}
    refused_without_admin([
        (file, "0" if file.name == "enable" else live.get(file, "1")) for file in files])
    assert volume.enabled() and volume.reconnects() == 0
    write(volume.config / "command_timeout_ms", 20000)
