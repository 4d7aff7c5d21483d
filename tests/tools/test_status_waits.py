# SPDX-License-Identifier: GPL-2.0
"""status: what a path waits for, since when, and what ends it."""

import json
import re

import pytest
from configuration import LEG

PATH = "sys/block/istripe0/istripe/legs/0/paths/0"


@pytest.fixture
def path(tool):
    """put(name=value, ...) writes files of the path of a volume that is up."""
    tool.run("create", "db", "--leg", LEG)
    tool.put("sys/block/istripe0/size", "131072")
    tool.put("sys/block/istripe0/istripe/name", "db")

    def put(**values):
        for name, value in values.items():
            tool.put(f"{PATH}/{name}", value)

    return put


def row(tool):
    line, = [line for line in tool.run("status", "db")[0].splitlines() if " path 0 " in line]
    return line


def in_json(tool):
    volume, = json.loads(tool.run("status", "--json", "db")[0])["volumes"]
    return volume["legs"][0]["paths"][0]


@pytest.mark.parametrize("state, next_ms, failures, said", [
    ("backoff", "1249", "14", "next login in 1.2 s, 14 failed"),
    ("refused", "52000", "1", "next login in 52.0 s, 1 failed"),
    ("backoff", "0", "2", "next login now, 2 failed"),
    ("backoff", "400", "0", "next login in 0.4 s, 0 failed"),
    ("connecting", "0", "3", "logging in, 3 failed"),
    ("degraded", "700", "5", "next login in 0.7 s, 5 failed"),
    ("degraded", "0", "5", "5 logins failed"),
    ("dead", "0", "4", "4 logins failed"),
    ("live", "0", "0", ""),
    ("closing", "0", "0", ""),
    ("backoff", None, None, ""),
])
def test_when_the_next_login_comes(tool, path, state, next_ms, failures, said):
    """Also of a module that does not tell."""
    path(state=state, faults="2", reconnects="1")
    if next_ms is not None:
        path(next_login_ms=next_ms, login_failures=failures)
    assert re.search(f"2 faults, 1 reconnects{', ' if said else ''}{said}$", row(tool))
    if next_ms is not None:
        told = in_json(tool)
        assert (told["next_login_ms"], told["login_failures"]) == (int(next_ms), int(failures))


@pytest.mark.parametrize("state", ["dead", "backoff", "live"])
def test_what_brings_a_dead_path_back(tool, path, state):
    """It is not tried again by itself, and its volume need not go down."""
    path(state=state, last_error="leg 0 has 8 blocks, the LUN has shrunk to 4: path not used")
    advice = re.search("next +when that has been mended: istripectl reconnect db 0 0$",
                       tool.run("status", "db")[0], re.MULTILINE)
    assert bool(advice) == (state == "dead")


@pytest.mark.parametrize("word, end", [
    ("fence", " until the leg is not unfenced any more"),
    ("reset", " until the LUN reset is answered, or for 10 s"),
    ("revalidation", " until the LUN, which has changed, has said what it is"),
    ("window", None),
    ("pace", None),
    ("news", ""),
    ("none", None),
])
def test_what_a_live_path_waits_for(tool, path, word, end):
    """Also a word of a later module; not what comes and goes under load."""
    path(state="live", holding=word)
    lines = [line for line in tool.run("status", "db")[0].splitlines() if "holding" in line]
    assert len(lines) == (end is not None)
    if lines:
        assert re.search(rf"holding +{word} +commands wait{end}$", lines[0])
    assert in_json(tool)["holding"] == word


def test_status_of_several_sessions(tool):
    """Each has its connections below it, also in pairs, and the first one has a number, too."""
    tool.run("create", "db", "--leg", LEG)
    for name, value in {"dev": "259:0", "size": "131072", "istripe/name": "db", "istripe/state": "live",
                        "istripe/legs/0/state": "live"}.items():
        tool.put(f"sys/block/istripe0/{name}", value)
    base = "sys/block/istripe0/istripe/legs/0/paths/0"
    tool.put(f"{base}/session/state", "logged-in")
    tool.put(f"{base}/connections/0/state", "logged-in")
    assert re.search(r"session +logged-in", tool.run("status")[0])
    for name, value in {"sessions/1/state": "logged-in", "sessions/2/state": "",
                        "connections/0/session": "0", "connections/1/session": "1",
                        "connections/1/state": "logged-in", "connections/2/session": "2",
                        "connections/2/state": "none"}.items():
        tool.put(f"{base}/{name}", value)
    rows = [" ".join(line.split()[:2]) for line in tool.run("status")[0].splitlines()]
    first = rows.index("session 0")
    assert rows[first:first + 5] == ["session 0", "connection 0", "session 1", "connection 1",
                                     "session 2"]
    names = re.findall(r"NAME=.*?((?:session|connection) \d)\"", tool.run("status", "-P")[0])
    assert names == rows[first:first + 5]
