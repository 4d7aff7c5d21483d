# SPDX-License-Identifier: GPL-2.0
"""A command that makes or removes a volume, and is ended before its end."""

import fcntl
import os
import signal

import pytest
from configuration import P1
from waiting import wait_for

LEG = "target=iqn.2026-01.a:t1,portal=192.0.2.10,nic=eth1"
LOCK = "run/istripe-db.configuring"
CREATE = ["create", "db", "--leg", LEG, "--leg", LEG]
#: Before the volume itself, a leg, the last path.
PLACES = ["db", "db/legs/0", "db/legs/1", P1]
IN_PART = ("istripectl: volume db is there in part: the command that made or removed it did "
           "not come to its end\n")


@pytest.fixture(autouse=True)
def run_folder(tool):
    (tool.root / "run").mkdir()


def begun(tool, *words, place, hold="FAKE_HOLD"):
    process = tool.start(*words, **{hold: place})
    wait_for(lambda: (tool.root / "held").exists())
    return process


def killed(tool, *words, place=P1, hold="FAKE_HOLD"):
    """What it has made is left."""
    process = begun(tool, *words, place=place, hold=hold)
    process.kill()
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL
    (tool.root / "held").unlink()
    tool.put("go", "")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("words", [CREATE, [*CREATE, "--no-up"], ["apply", "db"], ["up", "db"]])
def test_interrupted(tool, conf, words, place, number):
    if words[0] != "create":
        conf()
    process = begun(tool, *words, place=place)
    process.send_signal(number)
    tool.put("go", "")
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (1, "istripectl: interrupted\n")
    assert tool.volumes() == []
    tool.run(*words)


def test_interrupted_while_another_command_has_it(tool):
    """It is not left because somebody else looks at it just then."""
    process = tool.start(*CREATE, FAKE_ENABLE="hang")
    wait_for(lambda: (tool.root / "failures").exists() or tool.volumes() and
             (tool.tree / P1).exists() and not (tool.root / LOCK).read_text())
    with open(tool.root / LOCK, "r+", encoding="ascii") as file:
        fcntl.lockf(file, fcntl.LOCK_EX)
        process.send_signal(signal.SIGTERM)
        said = process.stderr.readline()
    assert said == f"db: waits for process {os.getpid()}, which is just configuring it\n"
    _, err = process.communicate(timeout=60)
    assert "nothing of it is left" in err or "superblocks" in err
    assert process.returncode == 1 and tool.volumes() == []


@pytest.mark.parametrize("place", PLACES[1:])
def test_killed_and_made_again(tool, place):
    killed(tool, *CREATE, place=place)
    assert tool.volumes() == ["db"]
    _, err = tool.run(*CREATE)
    assert err.startswith("db: what an unfinished command has left of it is removed\n")
    assert tool.value("db/enable") == tool.value(f"{P1}/enable") == "1"
    _, err = tool.run(*CREATE, code=1)
    assert "volume db exists already" in err


def test_a_part_that_cannot_be_removed_stays_one(tool):
    killed(tool, *CREATE, place="db/legs/1")
    tool.run(*CREATE, code=1, FAKE_RMDIR="16")
    _, err = tool.run("up", "db", code=1)
    assert err.startswith(IN_PART)
    tool.run(*CREATE)


def test_a_name_that_is_taken(tool):
    """The volume that has it is no part, whenever the other command is killed."""
    tool.run(*CREATE, "--no-up")
    killed(tool, *CREATE, place="db")
    _, err = tool.run(*CREATE, code=1)
    assert "volume db exists already" in err
    tool.run("up", "db")


@pytest.mark.parametrize("words", [["apply", "db"], ["up", "db"], ["up", "--saved", "db"],
                                   ["up", "--all"]])
@pytest.mark.parametrize("before", [CREATE, ["apply", "db"], ["up", "db"]])
def test_killed_and_made_from_its_file(tool, conf, before, words):
    path = conf()
    killed(tool, *before, place="db/legs/1")
    out, err = tool.run(*words)
    assert err == "db: what an unfinished command has left of it is removed\n"
    assert "db: configured from " in out and tool.value(f"{P1}/lun") == "7"
    assert tool.value("db/enable") == str(int(words[0] == "up"))
    path.unlink()
    assert not tool.run("up", "db")[1]


@pytest.mark.parametrize("words", [["up", "db"], ["up", "--create", "db"], ["save", "db"],
                                   ["up", "--dry-run", "db"], ["set", "db", "chunk=64K"],
                                   ["path", "add", "db", "0", "portal=192.0.2.99"],
                                   ["path", "remove", "db", "0", "0"]])
def test_killed_and_nothing_says_how_it_should_be(tool, words):
    killed(tool, *CREATE)
    _, err = tool.run(*words, code=1)
    assert err == (f"{IN_PART}            next: make it anew, with istripectl create, assemble when its "
                   "LUNs have data, or a file: that removes this; or: istripectl delete db\n")
    assert tool.value("db/enable") == "0" and not (tool.root / "etc/istripe").exists()
    assert tool.run("delete", "db") == ("", "")
    assert tool.volumes() == []
    tool.run(*CREATE, "--no-up")
    assert not tool.run("up", "db")[1]


def test_one_waits_for_it_when_it_is_killed(tool, conf):
    """It goes on with what its file says; without a file, it says so."""
    for file in (conf(), None):
        process = begun(tool, *CREATE, place="db/legs/1")
        other = tool.start("up", "db")
        assert "waits" in other.stderr.readline()
        process.kill()
        process.communicate(timeout=60)
        _, err = other.communicate(timeout=60)
        assert other.returncode == (0 if file else 1)
        assert err.startswith("db: what an unfinished" if file else IN_PART)
        (tool.root / "held").unlink()
        if file:
            file.unlink()
            tool.run("delete", "db")


@pytest.mark.parametrize("place", [P1, "db/legs/0", "db"])
def test_killed_while_it_removes(tool, place):
    """Of a volume without superblocks, what is left would be another one."""
    tool.run(*CREATE)
    killed(tool, "delete", "db", place=place, hold="FAKE_HOLD_REMOVE")
    assert IN_PART in tool.run("up", "db", code=1)[1]
    assert tool.run("delete", "db") == ("", "")
    assert tool.volumes() == []


def test_a_part_with_writes_that_were_left(tool):
    """It never comes up, and nothing but delete --force removes it."""
    killed(tool, *CREATE)
    (tool.tree / "db/legs/0/unfenced").write_text("0\n")
    for words in (CREATE, ["up", "db"], ["set", "db", "chunk=64K"], ["down", "db"], ["delete", "db"],
                  ["delete", "--dry-run", "db"]):
        _, err = tool.run(*words, code=1)
        assert err == ("istripectl: volume db is there in part, and has left writes that a target may "
                       "still carry out\n            next: restart the target; then istripectl delete "
                       "--force db\n")
    (tool.tree / "db/legs/0/unfenced").write_text("\n")
    tool.run(*CREATE)
    (tool.tree / "db/enable").write_text("0\n")
    (tool.tree / "db/legs/0/unfenced").write_text("0\n")
    assert "next: istripectl up db, until it works; or" in tool.run("delete", "db", code=1)[1]


def test_a_part_whose_luns_have_data(tool):
    tool.run(*CREATE)
    killed(tool, "delete", "db", place="db", hold="FAKE_HOLD_REMOVE")
    assert "assemble when its LUNs have data" in tool.run("up", "db", code=1)[1]
    _, err = tool.run("assemble", *CREATE[1:])
    assert err.startswith("db: what an unfinished command has left of it is removed\n")


def test_a_refused_delete_leaves_all(tool):
    tool.run(*CREATE, "--no-up")
    tool.run("delete", "db", code=1, FAKE_RMDIR="16")
    assert tool.run("up", "db")[1] == ""


def test_one_that_is_up_is_none(tool):
    """Somebody has done the rest by hand."""
    killed(tool, *CREATE)
    (tool.tree / "db/enable").write_text("1\n")
    assert "exists already" in tool.run(*CREATE, code=1)[1]
    assert tool.run("set", "db", "command_timeout=21s,recovery_timeout=1min")[1] == ""
    (tool.tree / "db/enable").write_text("0\n")
    assert "exists already" in tool.run(*CREATE, code=1)[1]


@pytest.mark.parametrize("words", [["down", "db"], ["up", "db"]])
def test_one_that_was_up_is_none(tool, words):
    """Nobody saw it up with the lock."""
    killed(tool, *CREATE)
    (tool.tree / "db/enable").write_text("1\n")
    tool.run(*words)
    (tool.tree / "db/enable").write_text("0\n")
    assert not tool.run("up", "db")[1]
    assert "exists already" in tool.run(*CREATE, code=1)[1]


def test_another_volume_of_that_name_is_none(tool):
    """It was removed, and made anew, by hand."""
    killed(tool, *CREATE)
    (tool.tree / "db").rename(tool.tree / "old")
    (tool.root / "run/istripe-db.configuring").rename(tool.root / "run/kept")
    tool.run(*CREATE, "--no-up")
    (tool.root / "run/kept").rename(tool.root / "run/istripe-db.configuring")
    assert "exists already" in tool.run(*CREATE, code=1)[1]
    assert not tool.run("up", "db")[1]
