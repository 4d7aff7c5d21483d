# SPDX-License-Identifier: GPL-2.0
"""A congestion_control that the booted kernel does not have keeps no volume down."""

import pytest

PATH = "db/legs/0/paths/{}/congestion_control"
FILE = ("[leg 0]\ntarget = iqn.2026-01.a:t1\n[leg 0 path 0]\nportal = 192.0.2.10\n"
        "congestion_control = bbr\n[leg 0 path 1]\nportal = 192.0.2.11\n"
        "congestion_control = cubic")
WARNING = "warning: leg 0 path 0 of db is without congestion_control = bbr, which this kernel refuses"
LACKS = {"FAKE_REFUSE": "congestion_control=bbr"}


def values(tool):
    return [tool.value(PATH.format(path)) for path in range(2)]


@pytest.mark.parametrize("words", [["up", "--saved", "--wait", "1s"], ["up"], ["apply"]])
def test_a_new_volume(tool, words):
    """As at boot; apply brings it once the module is there, and is refused before."""
    tool.put("etc/istripe/db.conf", FILE)
    _, err = tool.run(*words, "db", **LACKS)
    assert err.count("warning") == 1 and WARNING in err
    assert "modprobe tcp_bbr" in err and "then istripectl apply db" in err
    assert values(tool) == ["", "cubic"]
    up = int(words[0] == "up")
    assert tool.value("db/enable") == str(up)
    _, err = tool.run("apply", "db", code=up, **LACKS)
    assert ("refuses \"bbr\"" in err) == bool(up) and (WARNING in err) == (not up)
    tool.run("apply", "db")
    assert values(tool) == ["bbr", "cubic"]
    assert tool.run("apply", "db") == ("", "")


def test_a_volume_that_is_down(tool):
    """As after a first attempt at boot."""
    tool.put("etc/istripe/db.conf", FILE.split("[leg 0 path 1]", maxsplit=1)[0].replace("bbr", "reno"))
    tool.run("apply", "db")
    tool.put("etc/istripe/db.conf", FILE.replace("cubic", "bbr"))
    out, err = tool.run("up", "--saved", "db", **LACKS)
    assert "db: leg 0 path 1: a new path" in out
    assert WARNING in err and WARNING.replace("path 0", "path 1") in err
    assert values(tool) == ["", ""] and tool.value("db/enable") == "1"


def test_others_are_refused(tool):
    """Another value of the file, and what is typed."""
    tool.put("etc/istripe/db.conf", FILE + "\nweight = 7")
    assert "weight refuses" in tool.run("up", "--saved", "db", code=78, FAKE_REFUSE="weight=7")[1]
    assert tool.volumes() == []
    leg = "target=iqn.2026-01.a:t1,portal=192.0.2.10"
    _, err = tool.run("create", "db", "--no-up", "--leg", f"{leg},congestion_control=bbr", code=1, **LACKS)
    assert "congestion_control refuses \"bbr\"" in err and tool.volumes() == []
    tool.run("create", "db", "--no-up", "--leg", leg)
    _, err = tool.run("set", "db", "--leg", "0", "--path", "0", "congestion_control=bbr", code=1, **LACKS)
    assert "congestion_control refuses \"bbr\"" in err
    assert tool.value(PATH.format(0)) == ""


def test_dry_run_says_nothing_of_it(tool):
    tool.put("etc/istripe/db.conf", FILE)
    assert tool.run("up", "--saved", "--dry-run", "db", **LACKS)[1] == ""
    assert tool.volumes() == []
