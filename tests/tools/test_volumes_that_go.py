# SPDX-License-Identifier: GPL-2.0
"""status, list, show and doctor, while volumes and paths are removed."""

import json
import shutil

import pytest
from host import Host
from waiting import held

PATHS = "db/legs/0/paths"


def removed_meanwhile(tool, place, *words, at=f"{PATHS}/0/portal", code=0):
    """(what it says, its errors); the directory goes when the tool has got as far as to the file."""
    with held(tool.tree / at) as waits:
        process = tool.start(*words)
        waits()
        shutil.rmtree(tool.tree / place)
    out, err = process.communicate(timeout=60)
    assert process.returncode == code, out + err
    return json.loads(out), err


@pytest.fixture
def host(tool):
    """Volume db, of two paths to a leg, is up; scratch is not."""
    host = Host(tool)
    tool.run("create", "scratch", "--no-up", "--leg", "target=iqn.2026-01.a:t9,portal=192.0.9.9")
    return host


@pytest.mark.parametrize("path", [0, 1])
@pytest.mark.parametrize("command", ["list", "show"])
def test_path_that_goes(host, command, path):
    """The volume is there, with its other path."""
    said, err = removed_meanwhile(host.tool, f"{PATHS}/{path}", command, "--json")
    counts = {volume["name"]: volume["paths"] if command == "list" else
              sum(len(leg["paths"]) for leg in volume["legs"]) for volume in said["volumes"]}
    assert (counts, err) == ({"db": host.legs * host.paths - 1, "scratch": 1}, "")


@pytest.mark.parametrize("path", [0, 1])
def test_status_of_a_volume_whose_path_goes(host, path):
    said, err = removed_meanwhile(host.tool, f"{PATHS}/{path}", "status", "--json")
    assert [volume["name"] for volume in said["volumes"]] == ["db", "scratch"] and not err


@pytest.mark.parametrize("name, other", [("scratch", "db"), ("db", "scratch")])
@pytest.mark.parametrize("command", ["status", "list", "show"])
def test_volume_that_goes(host, command, name, other):
    """Nobody has asked for it, and it has no file."""
    (host.tool.root / "etc/istripe/db.conf").unlink()
    said, err = removed_meanwhile(host.tool, name, command, "--json")
    assert [volume["name"] for volume in said["volumes"]] == [other] and not err


def test_file_that_goes(host):
    """list reads it after all that is configured."""
    file = host.tool.put("etc/istripe/web.conf", "")
    with held(host.tool.tree / f"{PATHS}/0/portal") as waits:
        process = host.tool.start("list", "--json")
        waits()
        file.unlink()
    out, err = process.communicate(timeout=60)
    names = [volume["name"] for volume in json.loads(out)["volumes"]]
    assert (process.returncode, names, err) == (0, ["db", "scratch"], "")


@pytest.mark.parametrize("command", ["status", "list", "show"])
def test_volume_that_was_named_goes(host, command):
    said, err = removed_meanwhile(host.tool, "scratch", command, "--json", "db", "scratch", code=1)
    assert [volume["name"] for volume in said["volumes"]] == ["db"]
    assert "there is no volume scratch" in err


@pytest.mark.parametrize("names", [[], ["db"]])
def test_doctor_while_another_volume_goes(host, names):
    said, err = removed_meanwhile(host.tool, "scratch", "doctor", "--json", *names)
    assert {finding["volume"] for finding in said["findings"]} == {"db", None} and not err


def test_doctor_of_a_volume_that_goes(host):
    said, err = removed_meanwhile(host.tool, "scratch", "doctor", "--json", "db", "scratch", code=1)
    assert not said["findings"] and "there is no volume scratch" in err


def down_meanwhile(host, *words, at="command_timeout_ms", code=0):
    """(what it says, its errors); the volume goes down when the tool has got as far as to the file."""
    with held(host.tool.root / host.disk / "istripe" / at) as waits:
        process = host.tool.start(*words)
        waits()
        shutil.rmtree(host.tool.root / host.disk)
        (host.tool.tree / "db/device").write_text("\n")
        (host.tool.tree / "db/enable").write_text("0\n")
        (host.tool.tree / "db/last_error").write_text("not all has reached the legs\n")
    out, err = process.communicate(timeout=60)
    assert process.returncode == code, out + err
    return out, err


@pytest.mark.parametrize("at", ["chunk_bytes", "legs/0/state", "state"])
@pytest.mark.parametrize("command", ["status", "list"])
def test_volume_that_goes_down(host, command, at):
    """It is down, and not in a state without a name, on a disk of 0 bytes."""
    host.put(f"{host.disk}/size", "2048")
    out, err = down_meanwhile(host, command, "--json", at=at)
    volume = next(volume for volume in json.loads(out)["volumes"] if volume["name"] == "db")
    assert (volume["state"], volume["device"], volume["size_bytes"], err) == ("down", None, None, "")
    if command == "status":
        assert not volume["up"] and volume["last_error"] == "not all has reached the legs"


def test_metrics_of_a_volume_that_goes_down(host):
    out, err = down_meanwhile(host, "metrics")
    assert 'istripe_volume_up{volume="db"} 0' in out and 'state=""' not in out and not err
