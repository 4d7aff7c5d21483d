# SPDX-License-Identifier: GPL-2.0
"""What programs rely on: every --json output, walked."""

import json
import re

import pytest
from conftest import TOP
from superblock import image, superblock

LEG = "target=iqn.2026-01.a:t1,portal=192.0.2.10,nic=eth1"
ABI = TOP / "Documentation/ABI/testing/sysfs-block-istripe"
#: Files of the ABI that hold text, whatever it looks like.
TEXTS = {
    "wwid", "vendor", "model", "serial", "state", "name", "initiator_name", "metadata",
    "array_uuid", "policy", "fence", "alua", "designator", "device_uuid", "lun_reset",
    "write_protected", "last_error", "access_state", "unproven", "moved_to", "multi", "portal",
    "source_address", "nic", "target_name", "congestion_control", "path_state", "isid",
    "local_address", "remote_address", "holding",
}
#: And of other outputs. What doctor has measured is a number if it has a unit: test_doctor.py.
OTHER_TEXTS = {"metadata_create", "reason", "measured", "wanted"}
BOOLEANS = {"preferred", "unfenced", "up"}
LISTS = {"fenced_through", "latency_read", "latency_write", "latency_other"}
#: Of keys of RFC 7143.
KEYS = {"MaxBurstLength": "65536", "InitialR2T": "No", "HeaderDigest": "None", "OFMarker": "No",
        "DefaultTime2Wait": "2", "TaskReporting": "RFC3720", "iSCSIProtocolLevel": "1"}
BASE = "sys/block/istripe0/istripe"
STATE = f"{BASE}/legs/0/paths/0/state"
#: {command: what follows it}: all that have --json.
COMMANDS = {
    "show": [], "status": [], "list": [], "rescan": ["db"], "top": ["--once", "db"],
    "monitor": [], "examine": ["LEG"], "doctor": [], "discover": ["192.0.2.10"],
    "reconnect": ["--force", "db"],
}
#: doctor finds what this host lacks.
CODES = {"doctor": 1}
#: While monitor waits a path is lost; then it ends.
CLOCK = """#!/bin/sh
cd "$ISTRIPECTL_ROOT" || exit 1
[ "$(cat command)" != monitor ] || [ "$1" = 1 ] && echo {state} >{file}
"""


def described():
    """{path below the volume's directory: name} of every file of the ABI that can be read."""
    text = re.sub(r"<(leg|path|connection)>", "0", ABI.read_text(encoding="utf-8"))
    text = text.replace("<session>", "1")
    files = {}
    for block in text.split("\n\n"):
        readable = "(RO)" in block or "(RW)" in block
        for file in re.findall(r"/sys/block/istripe<N>/istripe/(\S+)", block):
            if readable and not file.endswith("<Key>"):
                files[file] = file.rsplit("/", 1)[-1]
    assert len(files) > 70
    return files


def value_of(name):
    if name in TEXTS:
        return "12"
    if name in LISTS:
        return "1 3"
    return "1" if name in BOOLEANS else "7"


@pytest.fixture
def whole(tool):
    """A volume that is up and has every file of the ABI."""
    tool.run("create", "db", "--leg", LEG + ",chap_user=u,chap_secret=@-", "--path", "portal=[::1]",
             text_in="correct-horse-1\n" * 2)
    tool.put("sys/block/istripe0/size", "131072")
    for file, name in described().items():
        tool.put(f"sys/block/istripe0/istripe/{file}", value_of(name))
    for kind in ("negotiated", "offered"):
        for key, value in KEYS.items():
            tool.put(f"sys/block/istripe0/istripe/legs/0/paths/0/session/{kind}/{key}", value)
    tool.put("sys/block/istripe0/istripe/rescan", "")
    return tool


@pytest.fixture
def ready(whole, stock, tmp_path):
    """And what the other commands look at."""
    whole.put("discovered", "192.0.2.10:3260,1 iqn.2026-01.a:t1")
    whole.put(f"{BASE}/legs/0/paths/0/reconnect", "")
    image(tmp_path / "leg", superblock(0, legs=1))
    return whole


def answer(tool, command, option):
    """What it says, by the clock of these tests."""
    monitor = command == "monitor"
    tool.put("command", command)
    tool.put(STATE, "live")
    clock = tool.put("clock", CLOCK.format(state="backoff" if monitor else "live", file=STATE))
    clock.chmod(0o755)
    words = [tool.root.parent / "leg" if word == "LEG" else word for word in COMMANDS[command]]
    found = loads(tool, command, option, *words, code=CODES.get(command, 0),
                  FAKE_CLOCK=str(clock))
    assert (found.pop("time", None) is not None) == monitor
    return found


def walk(value, name="", found=None):
    """[(name, plain value)] of all that is in an object."""
    found = [] if found is None else found
    if isinstance(value, dict):
        for key, item in value.items():
            walk(item, key, found)
    elif isinstance(value, list):
        for item in value:
            walk(item, name, found)
    else:
        found.append((name, value))
    return found


def loads(tool, *words, **more):
    out, _ = tool.run(*words, **more)
    # Of events the last one: those before tell what is not live at the start.
    whole = json.loads(out.splitlines()[-1] if words[0] == "monitor" else out)
    assert next(iter(whole)) == "schema" and whole["schema"] == 1
    return whole


def test_all_commands_are_walked():
    """Those of the manual page."""
    page = (TOP / "tools/istripectl/istripectl.8").read_text(encoding="utf-8")
    synopsis = page.split(".SH SYNOPSIS")[1].split(".SH DESCRIPTION")[0]
    assert {re.search(r"istripectl (\w+)", text).group(1) for text in synopsis.split(".br")
            if "\\-\\-json" in text} == set(COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_output_has_types(ready, command):
    plain = walk(answer(ready, command, "--json"))
    assert len(plain) > 4
    for name, value in plain:
        assert value != "", name
        # A text that is a number is one of those that only look like it.
        if isinstance(value, str) and re.fullmatch(r"-?\d+", value):
            assert name in TEXTS | OTHER_TEXTS, name
        if isinstance(value, str):
            assert value not in ("Yes", "No", "yes", "no"), name


@pytest.mark.parametrize("command", COMMANDS)
def test_short_form(ready, command):
    assert answer(ready, command, "-J") == answer(ready, command, "--json")


def test_every_file_of_the_abi(whole):
    plain = dict(walk(loads(whole, "status", "--json")))
    for name in set(described().values()):
        if name in TEXTS:
            assert plain[name] in ("12", "db"), name
        elif name in BOOLEANS:
            assert plain[name] is True, name
        elif name in LISTS:
            assert plain[name] == 3, name
        else:
            assert plain[name] == 7 and isinstance(plain[name], int), name
    assert plain["InitialR2T"] is False and plain["iSCSIProtocolLevel"] == 1
    assert plain["HeaderDigest"] == "None" and plain["TaskReporting"] == "RFC3720"


def test_every_setting(whole):
    """Numbers are what the driver's table has as numbers; secrets are missing."""
    out = loads(whole, "show", "--json")
    plain = dict(walk(out))
    text = (TOP / "include/istripe/settings.h").read_text(encoding="utf-8")
    rows = re.findall(r'_row\((\w+), (\w+), \w+, "([^"]*)", (\w+),', text)
    assert len(rows) > 40
    for name, file, default, kind in rows:
        if file == "secret":
            assert name not in plain
        elif kind in ("number", "buffer", "chunk", "key_max"):
            assert isinstance(plain[name], int), name
        elif kind == "key" and default in ("Yes", "No"):
            assert plain[name] is (default == "Yes"), name
        elif kind == "key" and default.isdigit():
            assert plain[name] == int(default), name
        else:
            assert plain[name] is None or isinstance(plain[name], str), name
    assert out["volumes"][0]["up"] is True
    assert "correct-horse" not in json.dumps(out)


def test_nothing_is_null(tool):
    tool.run("create", "db", "--no-up", "--leg", LEG)
    volume, = loads(tool, "status", "--json")["volumes"]
    assert volume == {"name": "db", "up": False, "device": None, "last_error": None,
                      "size_bytes": None, "state": "down"}
    tool.run("up", "db")
    assert loads(tool, "status", "--json")["volumes"][0]["up"] is True
    base = "sys/block/istripe0/istripe"
    tool.put(f"{base}/legs/0/paths/0/port_group", "")
    tool.put(f"{base}/legs/0/paths/0/preferred", "")
    tool.put(f"{base}/legs/0/paths/0/last_error", "")
    tool.put(f"{base}/legs/0/paths/0/fenced_through", "")
    (tool.root / base / "legs/0/paths/0/sessions").mkdir()
    path = loads(tool, "status", "--json")["volumes"][0]["legs"][0]["paths"][0]
    assert path == {"index": 0, "port_group": None, "preferred": None, "last_error": None,
                    "fenced_through": [], "sessions": [], "slow": None}
