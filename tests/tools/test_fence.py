# SPDX-License-Identifier: GPL-2.0
"""A leg that has paths whose lost writes no other path can end: create and path add say so."""

import pytest

LEG = "target=iqn.t,portal=192.0.2.10,nic=eth1"
OTHER = "portal=192.0.3.10,nic=eth2"
WARNING = "istripectl: warning: db leg {}: no other path can end lost writes of path {} ({}): "
MEANS = "writes that are lost with it are not known to be over until it is back"
GIVEN_UP = "writes that are lost with it are sent again without a fence"
NEXT = "            next: at the array: put all portals into one portal group"
TAG = "it is in portal group {}, db/0/{} in {}"
TAGS = {(0, path): ("", TAG.format(path + 1, 1 - path, 2 - path)) for path in range(2)}


@pytest.fixture
def volume(tool):
    """Puts {(leg, path): (fenced_through, unproven)} of paths that are live into sysfs."""
    def put(paths, state="live", fence="auto", timeout_ms="-1"):
        for (leg, path), (through, unproven) in paths.items():
            base = f"sys/block/istripe0/istripe/legs/{leg}"
            for name, value in {
                "fence": fence, "fence_timeout_ms": timeout_ms, f"paths/{path}/state": state,
                f"paths/{path}/fenced_through": through, f"paths/{path}/unproven": unproven,
            }.items():
                tool.put(f"{base}/{name}", value)
    return put


def create(tool, **env):
    out, err = tool.run("create", "db", "--save", "--leg", LEG, "--path", OTHER, FAKE_CLOCK="false", **env)
    assert out.splitlines()[0] == "db: /dev/istripe0 (link: /dev/istripe/db)"
    return err.splitlines()


def test_two_portal_groups(tool, volume):
    volume(TAGS)
    warning, following = create(tool)
    assert warning.startswith(WARNING.format(0, "0, 1", TAG.format(1, 1, 2)) + MEANS)
    assert following == NEXT + "; or see ghost_timeout_ms"


def test_lost_writes_are_given_up(tool, volume):
    volume(TAGS, timeout_ms="20000")
    warning, following = create(tool)
    assert warning.startswith(WARNING.format(0, "0, 1", TAG.format(1, 1, 2)) + GIVEN_UP)
    assert following == NEXT


def test_lost_writes_wait(tool, volume):
    volume(TAGS, fence="session")
    warning, following = create(tool)
    assert warning.startswith(WARNING.format(0, "0, 1", TAG.format(1, 1, 2)) +
                              "writes that are lost with it wait until it is back: ")
    assert following == NEXT


def test_a_line_for_each_leg(tool, volume):
    volume({**TAGS, (1, 0): ("1", ""), (1, 1): ("0", ""), (2, 0): ("", ""), (3, 0): ("1", ""),
            (3, 1): ("0", ""), (3, 2): ("", "one reason")})
    said = [line for line in create(tool) if "warning" in line]
    assert [line.split(": ")[2] for line in said] == ["db leg 0", "db leg 3"]
    assert WARNING.format(3, 2, "one reason") in said[1]


@pytest.mark.parametrize("paths, more", [
    ({(0, 0): ("1", ""), (0, 1): ("0", "")}, {}), ({(0, 0): ("", "")}, {}),
    ({(0, 0): ("", ""), (0, 1): ("", "")}, {"fence": "path"}),
    ({(0, 0): ("", "old"), (0, 1): ("", "old")}, {"state": "backoff"}),
])
def test_nothing_to_say(tool, volume, paths, more):
    """And nothing to wait for: the clock would end it."""
    volume(paths, **more)
    assert create(tool) == []


def clock(tool, *lines):
    script = tool.put("clock", "\n".join(["#!/bin/sh", f"cd {tool.root}", *lines]))
    script.chmod(0o755)
    return {"FAKE_CLOCK": str(script)}


def waits(tool):
    return len((tool.root / "waits").read_text().split())


def test_waits_for_the_proof(tool, volume):
    """Which is made a second after the last path has come, and is well in the end."""
    volume({(0, 0): ("", ""), (0, 1): ("", "")})
    paths = "sys/block/istripe0/istripe/legs/0/paths"
    env = clock(tool, "echo $1 >>waits", "[ $1 = 20 ] || exit 0",
                *(f"echo {path} >{paths}/{1 - path}/fenced_through" for path in range(2)))
    assert tool.run("create", "db", "--save", "--leg", LEG, "--path", OTHER, **env)[1] == ""
    assert waits(tool) == 20


def test_waits_for_no_longer_than_this(tool, volume):
    volume({(0, 0): ("", ""), (0, 1): ("", "")})
    env = clock(tool, "echo $1 >>waits")
    assert tool.run("create", "db", "--save", "--leg", LEG, "--path", OTHER, **env)[1] == ""
    assert waits(tool) == 50


def test_interrupted(tool, volume):
    """The volume is made: it stays."""
    volume({(0, 0): ("", ""), (0, 1): ("", "")})
    assert tool.run("create", "db", "--save", "--leg", LEG, "--path", OTHER, FAKE_CLOCK="false")[1] == ""
    assert tool.value("db/enable") == "1"


def test_a_path_is_added(tool, volume):
    """Of its leg only; no word of a volume that is down."""
    tool.run("create", "db", "--leg", LEG, "--leg", LEG + ",lun=1", "--no-up")
    volume({**TAGS, (1, 0): ("", "other"), (1, 1): ("", "other")})
    assert tool.run("path", "add", "db", "0", OTHER)[1] == ""
    tool.run("path", "remove", "db", "0", "1")
    tool.run("up", "db")
    out, err = tool.run("path", "add", "db", "0", OTHER, FAKE_CLOCK="false")
    assert out == "db: leg 0 path 1\n"
    assert WARNING.format(0, "0, 1", TAG.format(1, 1, 2)) + MEANS in err and "leg 1" not in err


def test_doctor_says_the_same(tool, volume):
    volume(TAGS)
    warning = create(tool)[0]
    said = tool.run("doctor", "db", code=1)[0]
    assert warning[warning.index(MEANS):] in said and NEXT.strip() in said


CONFIRM = (", or until 'istripectl path confirm' (only if its target was switched off or restarted "
           "since)")


@pytest.mark.parametrize("fence, fence_ms, ghosts, ghost_ms, recovery_ms, said", [
    ("auto", "-1", 0, "5000", "-1", CONFIRM),
    ("auto", "-1", 0, "5000", "120000", f"{CONFIRM}; they fail after 120000 ms"),
    ("auto", "-1", 2, "5000", "120000", ", or, behind ghost writes, for 5000 ms; not while keys are registered"),
    ("auto", "-1", 2, "-1", "120000", f"{CONFIRM}; they fail after 120000 ms"),
    ("auto", "8000", 2, "5000", "120000",
     ", or for 8000 ms, or, behind ghost writes, for 5000 ms; not while keys are registered"),
    ("path", "-1", 2, "5000", "0", f"{CONFIRM}; they fail after 30000 ms"),
    ("session", "-1", 2, "5000", "0", f"{CONFIRM}; they fail after 30000 ms"),
    ("auto", "8000", 0, "5000", "120000", ", or for 8000 ms"),
    ("auto", "60000", 0, "5000", "20000", ", or for 60000 ms; they fail after 30000 ms")])
def test_status_says_how_long_writes_wait(tool, fence, fence_ms, ghosts, ghost_ms, recovery_ms, said):
    tool.run("create", "db", "--leg", "target=iqn.2026-01.a:t1,portal=192.0.2.10")
    tool.put("sys/block/istripe0/istripe/state", "live")
    tool.put("sys/block/istripe0/istripe/recovery_timeout_ms", recovery_ms)
    leg = "sys/block/istripe0/istripe/legs/0"
    for name, value in (("fence", fence), ("fence_timeout_ms", fence_ms),
                        ("ghost_timeout_ms", ghost_ms), ("paths/0/ghost_writes", ghosts)):
        tool.put(f"{leg}/{name}", value)
    tool.put(f"{leg}/paths/0/waiting_writes", "3")
    line, = [line for line in tool.run("status", "db")[0].splitlines() if "waiting writes" in line]
    assert line.endswith(f"until a login through this path ends its lost session{said}")
