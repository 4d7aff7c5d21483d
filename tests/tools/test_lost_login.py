# SPDX-License-Identifier: GPL-2.0
"""A lost path gets another NIC, source address or secret: apply writes it in place."""

import errno

import pytest

P0, P1 = "db/legs/0/paths/0", "db/legs/0/paths/1"
STATE = "sys/block/istripe0/istripe/legs/0/paths/{}/state"
CONF = """\
[leg 0]
target = iqn.2026-01.a:t1
[leg 0 path 0]
portal = 192.0.2.10
nic = eth1
[leg 0 path 1]
portal = 192.0.3.10
nic = eth2
chap_user = me
chap_secret = @db.secret
"""
#: The kernel does not let the path go: its lost writes wait.
KEPT = {"FAKE_ENABLE_PATH": str(errno.EBUSY)}
LOST = ("leg 0 path 0: its session was lost, and its writes wait for the end of it, or keep their "
        "blocks from others: see fence_confirm")


@pytest.fixture
def up(tool):
    tool.put("etc/istripe/db.secret", "correct-horse-battery").chmod(0o600)
    tool.put("etc/istripe/db.conf", CONF)
    tool.run("up", "db")
    tool.put(STATE.format(0), "live")
    tool.put(STATE.format(1), "backoff")
    return tool


def change(tool, *pairs):
    conf = CONF
    for old, new in pairs:
        assert old in conf
        conf = conf.replace(old, new)
    tool.put("etc/istripe/db.conf", conf)


@pytest.mark.parametrize("lost", ["backoff", "refused", "draining"])
def test_another_nic(up, lost):
    """Its old session cannot end before: the path stays as it is, but for that."""
    up.put(STATE.format(1), lost)
    change(up, ("eth2", "enp5s0"), ("me\n", "you\n"))
    said = ['db: leg 0 path 1: chap_secret, the lost path logs in with it',
            'db: leg 0 path 1: chap_user "me" -> "you", the lost path logs in with it',
            'db: leg 0 path 1: nic "eth2" -> "enp5s0", the lost path logs in with it']
    assert up.run("apply", "--dry-run", "db")[0].splitlines() == said
    assert up.value(f"{P1}/nic") == "eth2"
    out, err = up.run("apply", "db", **KEPT)
    assert (out.splitlines(), err) == (said, "")
    assert [up.value(f"{P1}/{name}") for name in ("nic", "chap_user", "enable")] == [
        "enp5s0", "you", "1"]


def test_another_secret(up):
    up.put("etc/istripe/db.secret", "staple-battery-horse").chmod(0o600)
    out, err = up.run("apply", "--secrets", "db", **KEPT)
    assert "db: leg 0 path 1: chap_secret, the lost path logs in with it\n" in out and not err
    assert up.value(f"{P1}/chap_secret") == "staple-battery-horse"


@pytest.mark.parametrize("state", ["live", "degraded", "dead", ""])
def test_a_path_with_a_session_logs_in_anew(up, state):
    """Or one that logs in no more."""
    up.put(STATE.format(1), state)
    change(up, ("eth2", "enp5s0"))
    out, _ = up.run("apply", "db")
    assert 'nic "eth2" -> "enp5s0", the path logs in anew\n' in out
    assert up.value(f"{P1}/nic") == "enp5s0"


def test_more_than_that(up):
    change(up, ("eth2", "enp5s0"), ("192.0.3.10", "192.0.3.11"))
    out, _ = up.run("apply", "db")
    assert 'nic "eth2" -> "enp5s0", the path logs in anew\n' in out and "lost" not in out
    assert up.value(f"{P1}/nic") == "enp5s0"


def test_the_only_path_of_a_leg(tool):
    """Its volume need not go down."""
    tool.put("etc/istripe/db.conf", CONF.split("[leg 0 path 1]", maxsplit=1)[0])
    tool.run("up", "db")
    tool.put(STATE.format(0), "backoff")
    tool.put("etc/istripe/db.conf", CONF.split("[leg 0 path 1]", maxsplit=1)[0]
             .replace("eth1", "enp5s0"))
    assert tool.run("apply", "db") == (
        'db: leg 0 path 0: nic "eth1" -> "enp5s0", the lost path logs in with it\n', "")
    assert tool.value(f"{P0}/nic") == "enp5s0"


def test_the_secret_of_the_only_path(up):
    """With its user, as that of one among several."""
    only = CONF.split("[leg 0 path 0]", maxsplit=1)[0] + "[leg 0 path 1]" + CONF.split("[leg 0 path 1]")[1]
    (up.tree / P0).rename(up.root / "aside")
    up.put("etc/istripe/db.secret", "staple-battery-horse").chmod(0o600)
    up.put("etc/istripe/db.conf", only.replace("me\n", "you\n"))
    up.run("apply", "db", **KEPT)
    assert up.value(f"{P1}/chap_user") == "you"
    assert up.value(f"{P1}/chap_secret") == "staple-battery-horse"


def test_set_as_its_dry_run_says(up):
    words = ("db", "--leg", "0", "--path", "1", "nic=enp5s0")
    assert up.run("set", "--dry-run", *words)[1] == ""
    up.run("set", *words)
    assert up.value(f"{P1}/nic") == "enp5s0"


@pytest.mark.parametrize("alone", [True, False])
def test_it_is_live_again_meanwhile(up, alone):
    """Or the module is older: as for any path with a session."""
    change(up, ("eth2", "enp5s0"), ("me\n", "you\n"))
    if alone:
        (up.tree / P0).rename(up.root / "aside")
        conf = up.root / "etc/istripe/db.conf"
        conf.write_text(CONF.split("[leg 0 path 0]", maxsplit=1)[0] + "[leg 0 path 1]"
                        + conf.read_text().split("[leg 0 path 1]")[1])
    _, err = up.run("apply", "db", code=alone, FAKE_RELOGIN="live")
    if alone:
        assert ("since it needs it down: leg 0 path 1: chap_secret, "
                "leg 0 path 1: chap_user, leg 0 path 1: nic\n") in err
        assert up.value(f"{P1}/nic") == "eth2"
    else:
        assert err == "" and up.value(f"{P1}/nic") == "enp5s0" and up.value(f"{P1}/enable") == "1"


def test_a_bad_value(up):
    """What is written before it stays."""
    change(up, ("eth2", "enp5s0"), ("me\n", "you\n"))
    _, err = up.run("apply", "db", code=1, FAKE_REFUSE="nic=enp5s0")
    assert 'nic refuses "enp5s0"' in err
    assert [up.value(f"{P1}/{name}") for name in ("chap_user", "enable")] == ["you", "1"]


@pytest.mark.parametrize("words", [["apply", "db"], ["path", "remove", "db", "0", "0"]])
def test_the_way_out_is_said(up, words):
    """Not only to say that the target was restarted, which may not be so."""
    change(up, ("192.0.2.10", "192.0.2.11"))
    (up.tree / P1 / "enable").write_text("0")
    (up.tree / "db/last_error").unlink()
    up.put("sys/kernel/config/istripe/db/last_error", LOST)
    _, err = up.run(*words, code=1)
    assert ("next: when all it lacks is a NIC that works, an address or a secret: nic, source_address "
            "and chap_... alone may change while it is lost: in the file, then istripectl apply db\n"
            "            next: when its target was switched off or restarted since: ") in err
