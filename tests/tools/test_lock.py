# SPDX-License-Identifier: GPL-2.0
"""Two commands configure the same volume at the same time: one after the other."""

import fcntl
import os
import shutil
import signal
import subprocess

import pytest
from configuration import P1, files
from waiting import wait_for

LEG = "target=iqn.2026-01.a:t1,portal=192.0.2.10,nic=eth1"
WORDS = {"apply": ["apply", "db"], "create": ["create", "db", "--no-up", "--leg", LEG, "--leg", LEG],
         "unit": ["up", "--saved", "--wait", "60", "db"], "delete": ["delete", "db"],
         "up": ["up", "db"], "save": ["save", "db"], "set": ["set", "db", "chunk=64K"],
         "add": ["path", "add", "db", "0", "portal=192.0.2.99"],
         "remove": ["path", "remove", "db", "0", "2"]}
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


@pytest.mark.parametrize("first", ["apply", "create"])
@pytest.mark.parametrize("place", PLACES)
def test_a_half_made_volume_does_not_come_up(tool, conf, first, place):
    """Its directory is there already; nor does its file change what another command has made."""
    path = conf()
    if first == "create":
        path.write_text("[leg 0]\ntarget = iqn.2026-01.a:other\nportal = 192.0.2.10\n")
    process = begun(tool, first, place)
    other = waiting(tool, "up", process)
    assert tool.value("db/enable") == "0"
    tool.put("go", "")
    assert ended(process)[::2] == (0, "") and ended(other)[0] == 0
    assert tool.value("db/enable") == tool.value(f"{P1}/enable") == "1"


@pytest.mark.parametrize("patience, code", [("0", 1), ("forever", 0)])
def test_up_of_a_volume_that_is_configured_for_long(tool, patience, code):
    """With --wait it tries again; without, it says who is at work."""
    tool.run("create", "db", "--no-up", "--leg", LEG)
    with open(tool.root / "run/istripe-db.configuring", "w", encoding="ascii") as file:
        fcntl.lockf(file, fcntl.LOCK_EX)
        process = tool.start("up", "--wait", patience, "db", FAKE_CLOCK="/bin/true")
        said = process.stderr.readline() + process.stderr.readline()
        assert f"process {os.getpid()}" in said and "just being configured" in said
        assert tool.value("db/enable") == "0"
    assert ended(process)[0] == code and tool.value("db/enable") == str(1 - code)


def test_up_of_a_volume_that_is_up_does_not_wait(tool):
    tool.run("create", "db", "--leg", LEG)
    with open(tool.root / "run/istripe-db.configuring", "w", encoding="ascii") as file:
        fcntl.lockf(file, fcntl.LOCK_EX)
        assert not tool.run("up", "db")[1]
        assert "waits" not in tool.run("create", "other", "--leg", LEG)[1]


@pytest.mark.parametrize("second", ["set", "add", "remove", "save"])
def test_a_volume_is_changed_while_it_is_made(tool, conf, second):
    """What comes second sees all of it."""
    conf()
    process = begun(tool, "apply", "db/legs/1")
    other = waiting(tool, second, process)
    tool.put("go", "")
    assert [ended(process)[0], ended(other)[0]] == [0, 0]
    paths = [path.name for path in sorted((tool.tree / "db/legs/0/paths").iterdir())]
    assert paths == {"add": ["0", "1", "2"], "remove": ["0"]}.get(second, ["0", "2"])
    assert tool.value("db/chunk_bytes") == ("65536" if second == "set" else "262144")
    file = (tool.root / "etc/istripe/db.conf").read_text()
    assert file.count("target") == 2


@pytest.mark.parametrize("second", ["apply", "add", "remove", "set", "save", "delete"])
def test_a_path_is_added_while_another_command_comes(tool, conf, second):
    conf()
    tool.run("apply", "db")
    process = begun(tool, "add", "db/legs/0/paths/1")
    other = waiting(tool, second, process)
    tool.put("go", "")
    assert [ended(process)[0], ended(other)[0]] == [0, 0]
    if second == "delete":
        assert tool.volumes() == []
        return
    paths = [path.name for path in sorted((tool.tree / "db/legs/0/paths").iterdir())]
    assert paths == {"apply": ["0", "2"], "add": ["0", "1", "2", "3"],
                     "remove": ["0", "1"]}.get(second, ["0", "1", "2"])
    assert ("192.0.2.99" in (tool.root / "etc/istripe/db.conf").read_text()) == (second == "save")


@pytest.mark.parametrize("name", ["set", "add", "remove", "save"])
def test_nothing_is_changed_by_one_that_has_waited_in_vain(tool, conf, name):
    conf()
    tool.run("apply", "db")
    before = files(tool)
    text = (tool.root / "etc/istripe/db.conf").read_text()
    with open(tool.root / "run/istripe-db.configuring", "w", encoding="ascii") as file:
        fcntl.lockf(file, fcntl.LOCK_EX)
        _, err = tool.run(*WORDS[name], code=1, FAKE_CLOCK="/bin/true")
        assert f"volume db is just being configured by process {os.getpid()}\n" in err
        # What only looks waits for nobody.
        for words in (["show", "db"], ["status", "db"], [*WORDS[name], "--dry-run"]):
            assert not tool.run(*words)[1]
    assert files(tool) == before
    assert (tool.root / "etc/istripe/db.conf").read_text() == text


def test_one_value_of_a_volume_in_use_is_written_at_once(tool, conf):
    """As a fence, for which the command that changes the volume may be waiting."""
    conf()
    tool.run("up", "db")
    with open(tool.root / "run/istripe-db.configuring", "w", encoding="ascii") as file:
        fcntl.lockf(file, fcntl.LOCK_EX)
        out, err = tool.run("set", "db", "command_timeout=20s")
        assert "command_timeout_ms: 30000 -> 20000" in out and "waits" not in err
        _, err = tool.run("set", "db", "command_timeout=21s,recovery_timeout=1min", code=1,
                          FAKE_CLOCK="/bin/true")
        assert "just being configured" in err
    assert tool.value("db/command_timeout_ms") == "20000"


def test_save_leaves_the_volume_to_its_unit(tool):
    """systemctl start waits for an up, which waits for those who configure the volume."""
    tool.run("create", "db", "--no-up", "--leg", LEG)
    script = tool.root / "bin/systemctl"
    script.write_text(f'#!/bin/sh\n[ "$1" != start ] || exec {tool.program} up --saved db\n')
    (tool.tree / "db/enable").write_text("1\n")
    _, err = tool.run("save", "--boot", "db")
    assert "waits" not in err
    tool.run("delete", "--force", "db")
    _, err = tool.run("create", "db", "--boot", "--leg", LEG)
    assert "waits" not in err and tool.value("db/enable") == "1"


@pytest.mark.usefixtures("stock")
def test_import_writes_a_file_that_nobody_else_writes(tool):
    with open(tool.root / "run/istripe-db.configuring", "w", encoding="ascii") as file:
        fcntl.lockf(file, fcntl.LOCK_EX)
        _, err = tool.run("import", "db", "--save", code=1, FAKE_CLOCK="/bin/true")
    assert "just being configured" in err and not list((tool.root / "etc/istripe").iterdir())


def test_the_secret_and_the_name_are_waited_for_before(tool):
    """Of one that is typed, others know nothing."""
    tool.run("create", "db", "--no-up", "--leg", LEG)
    process = tool.start("path", "add", "db", "0", "portal=192.0.2.11,chap_user=me,chap_secret=@-")
    assert "waits" not in tool.run("set", "db", "chunk=64K")[1]
    tool.run("path", "add", "db", "0", "portal=192.0.2.12")
    out, err = process.communicate("a-long-enough-secret\n", timeout=60)
    assert (process.returncode, out) == (0, "db: leg 0 path 2\n"), err
    assert tool.value("db/legs/0/paths/1/portal").startswith("192.0.2.12")


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
    code, _, said = ended(process)
    assert code == 0 and "not saved" in said and "waits" not in said
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
    err = tool.run("apply", "db", code=1)[1]
    assert "db: waits" not in err and "Device or resource busy" in err
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)


@pytest.mark.parametrize("name", ["up", "set"])
def test_a_volume_that_goes_while_it_is_waited_for(tool, name):
    """It is said to be missing, as one that has never been there."""
    tool.run("create", "db", "--no-up", "--leg", LEG)
    with open(tool.root / "run/istripe-db.configuring", "w", encoding="ascii") as file:
        fcntl.lockf(file, fcntl.LOCK_EX)
        process = tool.start(*WORDS[name])
        said = process.stderr.readline()
        assert said == f"db: waits for process {os.getpid()}, which is just configuring it\n"
        shutil.rmtree(tool.tree / "db")
    code, out, err = ended(process)
    assert (code, out) == (78 if name == "up" else 1, "")
    assert err.startswith("istripectl: there is no volume db\n"), err


def test_nothing_is_changed_between_the_lock_and_the_start(tool):
    """The settings that come up are those that were looked at, not half of another command's."""
    tool.run("create", "db", "--no-up", "--leg", LEG)
    before = [tool.value(f"db/legs/0/paths/0/{name}") for name in ("target_name", "portal")]
    tool.put("etc/istripe/db.conf", "[leg 0]\ntarget = iqn.2026-01.a:other\nportal = 192.0.2.11")
    process = tool.start("up", "db", FAKE_HOLD_ENABLE="db/enable", FAKE_ENABLE="hang")
    wait_for(lambda: (tool.root / "held").exists())
    other = waiting(tool, "apply", process)
    tool.put("go", "")
    code, _, err = ended(other)
    process.send_signal(signal.SIGTERM)
    assert "does not come up: interrupted" in ended(process)[2]
    assert code == 1 and "Device or resource busy" in err
    assert before == [tool.value(f"db/legs/0/paths/0/{name}") for name in ("target_name", "portal")]


def test_the_lock_is_free_while_a_login_is_waited_for(tool):
    """Also of a module that does not tell that it has begun."""
    tool.run("create", "db", "--no-up", "--leg", LEG)
    (tool.tree / "db/phase").unlink()
    process = tool.start("up", "db", FAKE_HOLD_ENABLE="db/enable")
    wait_for(lambda: (tool.root / "held").exists())
    assert "waits" not in tool.run("save", "db")[1]
    tool.put("go", "")
    assert ended(process)[0] == 0


FILE = "[volume]\nqueue_depth = {}\n[leg 0]\ntarget = iqn.2026-01.a:t1\n[leg 0 path 0]\nportal = 192.0.2.10"


def test_the_file_is_replaced_while_a_name_is_waited_for(tool):
    """And applied: what was read before that is not what comes up."""
    file = tool.put("etc/istripe/db.conf", FILE.format(32) + "\n[leg 0 path 1]\nportal = nobody")
    new = tool.put("new", FILE.format(64))
    clock = tool.put("clock", f"#!/bin/sh\n[ $1 -gt 1 ] || {{ cp {new} {file}; {tool.program} apply db; }}")
    clock.chmod(0o755)
    out, _ = tool.run(*WORDS["unit"], FAKE_CLOCK=str(clock))
    assert out.count("configured from") == 1 and "queue_depth" not in out
    assert tool.value("db/queue_depth") == "64" and tool.value("db/enable") == "1"


def test_the_file_is_replaced_while_the_lock_is_waited_for(tool):
    tool.put("etc/istripe/db.conf", FILE.format(32))
    process = begun(tool, "apply", "db/legs/0/paths/0")
    other = waiting(tool, "unit", process)
    tool.put("etc/istripe/db.conf", FILE.format(64))
    tool.put("go", "")
    assert [ended(process)[::2], ended(other)[::2]] == [(0, ""), (0, "")]
    assert tool.value("db/queue_depth") == "64" and tool.value("db/enable") == "1"
