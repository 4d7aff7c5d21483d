# SPDX-License-Identifier: GPL-2.0
"""Writes that a path has left when its volume went down, and the word of the administrator."""

import errno

import pytest

LEG = "target=iqn.2026-01.a:t1,portal=192.0.2.10"
CONFIRM = ["path", "confirm", "--yes", "db", "0"]
ASKED = "leg 0 path 0: it has left writes, and the volume may come up without it"


@pytest.fixture
def left(tool):
    """Of the first leg the paths 0 and 3 have, of which the latter is gone; of the other one path 0."""
    tool.run("create", "db", "--no-up", "--leg", LEG, "--leg", f"{LEG},lun=1")
    (tool.tree / "db/legs/0/unfenced").write_text("0 3\n")
    (tool.tree / "db/legs/1/unfenced").write_text("0\n")
    return tool


def confirmed(tool):
    file = tool.root / "confirmed"
    return file.read_text().strip() if file.exists() else None


@pytest.mark.parametrize("path", ["0", "3"])
def test_what_a_path_has_left_is_confirmed(left, path):
    """The module forgets this path only, and a path that is gone counts, too."""
    assert left.run(*CONFIRM, path) == ("", "")
    assert confirmed(left) == path
    assert left.value("db/legs/1/unfenced") == "0"


def test_a_dry_run_forgets_nothing(left):
    said = "db: would forget that leg 0 path 3 has left writes\n"
    assert left.run("path", "confirm", "--dry-run", "db", "0", "3") == (said, "")
    assert confirmed(left) is None and left.value("db/legs/0/unfenced") == "0 3"


@pytest.mark.parametrize("path, said", [
    ("1", "leg 0 has no path 1\n"), ("03", "leg 0 has no path 03\n"), ("16", "leg 0 has no path 16\n")])
def test_another_path(left, path, said):
    assert said in left.run(*CONFIRM, path, code=1)[1]
    assert confirmed(left) is None


def test_a_path_that_has_left_none(left):
    (left.tree / "db/legs/0/unfenced").write_text("3\n")
    _, err = left.run(*CONFIRM, "0", code=1)
    assert err == ("istripectl: volume db is down, and leg 0 path 0 has left no writes\n"
                   "            next: istripectl up db\n")
    assert confirmed(left) is None


def test_nobody_can_be_asked(left):
    _, err = left.run("path", "confirm", "db", "0", "0", code=1)
    assert "there is no terminal to ask at\n" in err and confirmed(left) is None
    assert ("next: only if its target was switched off or restarted since the path was lost: the same with "
            "--yes\n") in err


@pytest.mark.parametrize("answer, done", [("yes\n", True), ("y\n", False), ("", False)])
def test_it_asks(left, answer, done):
    code, err = left.answered(answer or "\x04", "path", "confirm", "db", "0", "0")
    assert code == (0 if done else 1)
    assert ASKED in err and "overwrite newer data" in err
    assert confirmed(left) == ("0" if done else None)
    assert ("the answer was not yes: nothing was done" in err) != done


def test_the_module_refuses(left):
    _, err = left.run(*CONFIRM, "0", code=1, FAKE_REFUSE="unfenced=0")
    assert "what leg 0 path 0 of db has left is not forgotten: Invalid argument\n" in err
    assert "unfenced: is refused" in err


def test_an_attempt_to_bring_it_up_is_waited_for(left):
    """As up --wait makes again and again."""
    phase = left.tree / "db/phase"
    phase.unlink()
    phase.write_text("starting\n")
    process = left.start(*CONFIRM, "0")
    with pytest.raises(Exception, match="timed out"):
        process.wait(1)
    assert confirmed(left) is None
    phase.write_text("down\n")
    _, err = process.communicate(timeout=60)
    assert process.returncode == 0 and not err and confirmed(left) == "0"


def test_it_is_no_setting(left):
    """Else a file of the volume would have it, and set would write it."""
    assert "unfenced" not in left.run("show", "db")[0]
    assert "unfenced" not in left.run("show", "--conf", "db")[0]
    _, err = left.run("set", "db", "--leg", "0", "unfenced=0", code=2)
    assert "unfenced is not a setting\n            next: istripectl path confirm\n" in err
    assert confirmed(left) is None


def test_what_keeps_it_down_names_the_way_on(left):
    """Another path may be sound: nothing else of what was left is forgotten."""
    reason = ("leg 0 path 0 has left writes that its target may still carry out, and cannot end them, "
              "see unfenced: connect: no route to host")
    _, err = left.run("up", "db", code=1, FAKE_ENABLE=str(errno.EHOSTUNREACH), FAKE_REASON=reason)
    assert ("next: bring this path back as it was; or, when its target was switched off or restarted "
            "since: istripectl path confirm db 0 0, then repeat the command\n") in err
    _, err = left.run("delete", "db", code=1)
    assert ("next: istripectl up db, until it works; or, only after a restart of the target: istripectl "
            "path confirm db 0 0 (one path), or istripectl delete --force db (all)\n") in err


def test_a_volume_that_was_not_made_stays(tool):
    """Superblocks may still be written, and nothing else knows: it goes when a login has ended that."""
    _, err = tool.run("create", "db", "--force", "--leg", LEG, code=1, FAKE_ENABLE=str(errno.EIO),
                      FAKE_REASON="leg 0: cannot overwrite its old signatures: lost", FAKE_LEFT="0")
    assert ("and it could not be removed again: db: leg 0, path 0: writes were left that the target may "
            "still carry out, and only this volume knows") in err
    assert tool.volumes() == ["db"]
    for command in ("down", "delete"):
        assert "leg 0, path 0: writes were left" in tool.run(command, "db", code=1)[1]
    (tool.tree / "db/legs/0/unfenced").write_text("\n")
    tool.run("delete", "db")
    assert tool.volumes() == []
