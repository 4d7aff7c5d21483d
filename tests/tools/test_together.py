# SPDX-License-Identifier: GPL-2.0
"""up and down of several volumes: at the same time, each in a process of its own."""

import errno
import signal

import pytest
from waiting import wait_for

LEG = "target=iqn.2026-01.a:t1,portal=192.0.2.10,nic=eth1"


def states(tool, *names):
    return sorted(tool.value(f"{name}/enable") for name in names)


@pytest.mark.parametrize("words", [["up", "db", "log"], ["up", "--all", "--wait", "forever"]])
def test_a_volume_does_not_wait_for_another_one(tool, words):
    """Whichever the first one is: its login takes without end, the other one comes up."""
    for name in ("db", "log"):
        tool.put(f"etc/istripe/{name}.conf",
                 "[leg 0]\ntarget = iqn.2026-01.a:t1\nportal = 192.0.2.10")
        tool.run("apply", name)
    process = tool.start(*words, FAKE_ENABLE="hang", FAKE_ENABLE_TIMES="1")
    wait_for(lambda: states(tool, "db", "log") == ["0", "1"])
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 1 and out.count("/dev/istripe0") == 1
    assert err.count("does not come up: interrupted") == 1


def test_another_try_does_not_wait_for_another_volume(tool):
    """One has no address and is tried for ever; the other one needs three attempts."""
    (tool.root / "run").mkdir()
    tool.run("create", "log", "--no-up", "--leg", LEG)
    tool.put("etc/istripe/db.conf", "[leg 0]\ntarget = iqn.2026-01.a:t1\nportal = array")
    process = tool.start("up", "--wait", "forever", "db", "log", FAKE_NAMES_TIMES="1000",
                         FAKE_ENABLE=str(errno.ETIMEDOUT), FAKE_ENABLE_TIMES="2")
    wait_for(lambda: tool.value("log/enable") == "1")
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1
    # Lines of one reason stay together.
    assert ("istripectl: volume log does not come up: Connection timed out\n"
            "            reason: leg 0 path 0: nobody?[2J answers\n") in err
    assert tool.volumes() == ["log"]


def test_each_name_has_its_turn_once(tool):
    """Two attempts of one volume at a time would be in each other's way."""
    for name in ("db", "log"):
        tool.run("create", name, "--no-up", "--leg", LEG)
    out, err = tool.run("up", "db", "log", "db")
    assert sorted(out.splitlines()) == [f"{name}: /dev/istripe0 (link: /dev/istripe/{name})"
                                        for name in ("db", "log")] and err == ""


def test_volumes_are_not_tried_without_the_command(tool):
    """Whose process is killed: nobody knows of attempts that go on."""
    for name in ("db", "log"):
        tool.run("create", name, "--no-up", "--leg", LEG)
    process = tool.start("up", "--wait", "forever", "db", "log", FAKE_ENABLE=str(errno.ETIMEDOUT),
                         FAKE_ENABLE_TIMES="1000")
    wait_for(lambda: (tool.root / "failures").exists())
    process.kill()
    # Its end is that of all that have the pipe.
    process.communicate(timeout=60)
    # A file of the double is empty when its writer is killed between open() and write().
    assert "1" not in states(tool, "db", "log")


def test_output_of_several_volumes_is_lost(tool):
    for name in ("db", "log"):
        tool.run("create", name, "--no-up", "--leg", LEG)
    with open("/dev/full", "w", encoding="ascii") as full:
        process = tool.start("up", "db", "log", stdout=full)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 1 and "standard output: No space left on device" in err


@pytest.fixture
def up(tool):
    for name in ("db", "log"):
        tool.run("create", name, "--leg", LEG)
    return tool


@pytest.mark.parametrize("words", [["--all"], ["db", "log", "db"]])
def test_a_volume_goes_down_while_another_one_hangs(up, words):
    """The first one waits for its array: what the other one holds is written meanwhile."""
    process = up.start("down", *words, FAKE_HOLD_ENABLE="db/enable")
    wait_for(lambda: up.value("log/enable") == "0")
    assert process.poll() is None
    up.put("go", "")
    assert process.communicate(timeout=60) == ("", "") and process.returncode == 0
    assert up.value("db/enable") == "0"


def test_errors_of_volumes_that_go_down_come_in_order(up):
    """Whichever ends first."""
    process = up.start("down", "--all", FAKE_HOLD_ENABLE="db/enable",
                       FAKE_DISABLE=str(errno.EIO), FAKE_REASON="broken")
    wait_for(lambda: up.value("log/last_error") == "broken")
    up.put("go", "")
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert [line for line in err.splitlines() if "does not go down" in line] == [
        f"istripectl: volume {name} does not go down: Input/output error" for name in ("db", "log")]


def test_volumes_that_hang_are_interrupted(up):
    """Errors of the others are told all the same."""
    process = up.start("down", "log", "db", FAKE_HOLD_ENABLE="log/enable",
                       FAKE_DISABLE=str(errno.EIO), FAKE_REASON="broken")
    wait_for(lambda: up.value("db/last_error") == "broken")
    process.send_signal(signal.SIGTERM)
    up.put("go", "")
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1 and "volume db does not go down: Input/output error" in err
