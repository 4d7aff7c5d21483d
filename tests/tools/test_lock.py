# SPDX-License-Identifier: GPL-2.0
"""Two commands configure the same volume at the same time: one after the other."""

import fcntl
import os
import signal
import subprocess

import pytest
from configuration import P1
from waiting import wait_for

LEG = "target=iqn.2026-01.a:t1,portal=192.0.2.10,nic=eth1"
WORDS = {"apply": ["apply", "db"], "create": ["create", "db", "--no-up", "--leg", LEG, "--leg", LEG],
         "unit": ["up", "--saved", "--wait", "60", "db"], "delete": ["delete", "db"]}
#: Where the first one stands still: before a leg, before the last path.
PLACES = ["db/legs/1", P1]


#: A PID namespace of its own, with the files of its processes.
UNSHARE = ["unshare", "--pid", "--fork", "--mount-proc"]


def can_unshare():
    try:
        return not subprocess.run([*UNSHARE, "true"], capture_output=True, check=False).returncode
    except OSError:
        return False


ELSEWHERE = pytest.mark.skipif(not can_unshare(), reason="needs PID namespaces")


def elsewhere(tool, *words, **env):
    """Runs it where no process of this namespace is seen."""
    done = subprocess.run([*UNSHARE, tool.program, *words], env={**tool.env, **env},
                          capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stdout, done.stderr


@pytest.fixture(autouse=True)
def run_folder(tool):
    (tool.root / "run").mkdir()


def begun(tool, name, place=P1):
    """A process that has made half of the volume."""
    process = tool.start(*WORDS[name], FAKE_HOLD=place)
    wait_for(lambda: (tool.root / "held").exists())
    return process


def waiting(tool, name, process):
    """Another one, which waits for it."""
    other = tool.start(*WORDS[name])
    line = other.stderr.readline()
    if line != f"db: waits for process {process.pid}, which is just configuring it\n":
        process.kill()
        other.kill()
        pytest.fail(line + other.communicate()[1])
    return other


def ended(process):
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("first, second", [("apply", "unit"), ("unit", "apply"), ("create", "unit")])
def test_two_make_a_volume(tool, conf, first, second, place):
    path = conf()
    if first == "create":
        path.write_text(f"[leg 0]\n{LEG}\n[leg 1]\n{LEG}\n".replace(",", "\n"))
    process = begun(tool, first, place)
    other = waiting(tool, second, process)
    tool.put("go", "")
    assert [ended(process)[::2], ended(other)[::2]] == [(0, ""), (0, "")]
    assert tool.value("db/enable") == "1" and tool.value(f"{P1}/enable") == "1"


def test_a_volume_is_deleted_while_it_is_made(tool, conf):
    conf()
    process = begun(tool, "apply")
    other = waiting(tool, "delete", process)
    tool.put("go", "")
    assert [ended(process)[::2], ended(other)[::2]] == [(0, ""), (0, "")]
    assert tool.volumes() == []


def test_a_volume_is_not_deleted_when_it_came_up_meanwhile(tool, conf):
    conf()
    process = begun(tool, "apply")
    other = waiting(tool, "delete", process)
    (tool.tree / "db/enable").write_text("1\n")
    tool.put("go", "")
    ended(process)
    code, _, err = ended(other)
    assert (code, err) == (1, "istripectl: volume db is up: its settings stay\n")
    assert tool.volumes() == ["db"]


def test_a_volume_is_not_deleted_when_another_one_brings_it_up(tool, conf):
    conf()
    process = begun(tool, "apply")
    other = waiting(tool, "delete", process)
    unit = waiting(tool, "unit", process)
    tool.put("go", "")
    assert ended(process)[0] == 0 and ended(other)[0] == 1 and ended(unit)[0] == 0
    assert tool.value("db/enable") == tool.value(f"{P1}/enable") == "1"


@pytest.mark.parametrize("place", PLACES)
def test_a_volume_is_not_deleted_while_create_is_to_bring_it_up(tool, place):
    """Its settings are made and the lock is free before it does: delete would come between them."""
    process = tool.start("create", "db", "--leg", LEG, "--leg", LEG, FAKE_HOLD=place)
    wait_for(lambda: (tool.root / "held").exists())
    _, err = tool.run("delete", "db", code=1, FAKE_CLOCK="/bin/true")
    tool.put("go", "")
    assert ended(process)[::2] == (0, "")
    assert f"process {process.pid} brings it up\n" in err and "waits" not in err
    assert tool.value("db/enable") == "1"


def test_one_that_dies_keeps_nobody_waiting(tool, conf):
    conf()
    process = begun(tool, "apply")
    other = waiting(tool, "delete", process)
    process.kill()
    assert ended(other)[::2] == (0, "")
    process.communicate(timeout=60)
    tool.put("go", "")
    assert (tool.root / "run/istripe-db.configuring").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("name", ["apply", "create", "delete", "unit"])
def test_waiting_is_interrupted(tool, conf, name):
    conf()
    process = begun(tool, "apply")
    other = waiting(tool, name, process)
    other.send_signal(signal.SIGTERM)
    code, _, err = ended(other)
    assert code == 1 and "istripectl: interrupted\n" in err
    tool.put("go", "")
    assert ended(process)[0] == 0 and tool.volumes() == ["db"]


def test_waiting_ends(tool, conf):
    """It is a matter of trying again: the unit does."""
    conf()
    with open(tool.root / "run/istripe-db.configuring", "w", encoding="ascii") as file:
        fcntl.lockf(file, fcntl.LOCK_EX)
        for name in ("apply", "unit"):
            _, err = tool.run(*WORDS[name], code=1, FAKE_CLOCK="/bin/true")
            assert f"volume db is just being configured by process {os.getpid()}\n" in err
            assert f"next: wait for process {os.getpid()}, or end it; then this command again\n" in err
    assert tool.volumes() == []


@ELSEWHERE
def test_waiting_for_a_process_that_is_not_seen(tool, conf):
    """It is in another PID namespace: process 0 would be the group of whoever ends it."""
    conf()
    with open(tool.root / "run/istripe-db.configuring", "w", encoding="ascii") as file:
        fcntl.lockf(file, fcntl.LOCK_EX)
        code, _, err = elsewhere(tool, *WORDS["apply"], FAKE_CLOCK="/bin/true")
    assert code == 1 and "process 0" not in err
    assert "db: waits for another process (not seen from here), which is just configuring it\n" in err
    assert "volume db is just being configured by another process (not seen from here)\n" in err
    assert "next: wait for that process, or end it where it runs; then this command again\n" in err


@ELSEWHERE
def test_a_process_that_is_not_seen_brings_it_up(tool):
    tool.run("create", "db", "--no-up", "--leg", LEG)
    with open(tool.root / "run/istripe-db.lock", "w", encoding="ascii") as file:
        fcntl.lockf(file, fcntl.LOCK_EX)
        code, _, err = elsewhere(tool, "down", "db")
    assert code == 1 and "process 0" not in err
    assert ("it is just coming up or going down: another process (not seen from here) brings it up\n"
            in err)
    assert "next: end that process where it runs, then this command again\n" in err


def test_nobody_waits_for_those_who_wait(tool):
    """For a name server, or for a login."""
    tool.put("etc/istripe/db.conf", "[leg 0]\ntarget = iqn.2026-01.a:t1\nportal = array")
    process = tool.start("up", "--saved", "--wait", "forever", "db", FAKE_NAMES_TIMES="1000")
    assert "array" in process.stderr.readline()
    tool.run("create", "db", "--no-up", "--leg", LEG)
    process.kill()
    process.communicate(timeout=60)
    tool.put("etc/istripe/db.conf", "[leg 0]\ntarget = iqn.2026-01.a:t1\nportal = 192.0.2.10")
    process = tool.start("up", "db", FAKE_ENABLE="hang", FAKE_ENABLE_TIMES="1")
    wait_for(lambda: (tool.root / "failures").exists() and tool.value("db/enable") == "0")
    assert "waits" not in tool.run("apply", "db")[1]
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
