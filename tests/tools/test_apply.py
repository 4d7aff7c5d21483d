# SPDX-License-Identifier: GPL-2.0
"""Volumes that follow their files: apply, and save afterwards."""

import errno
import signal
from pathlib import Path

import pytest
from configuration import CONF, LEG, P0, P1, P2, PATH, SECRET, files, secret_file


def test_apply_while_up(tool, conf):
    """What can change at once does, a path logs in anew for others, paths come and go."""
    path = conf()
    tool.run("up", "db")
    path.write_text(CONF.replace("fence = path\n", "").replace("ping_interval = 1s", "lun = 1")
                    .replace("[leg 0 path 2]", "[leg 0 path 1]")
                    .replace("recovery_timeout = 5min", "recovery_timeout = 1min"))
    steps = ["db: leg 0 path 1: a new path", 'db: recovery_timeout_ms "300000" -> "60000"',
             'db: leg 0: fence "path" -> "auto"',
             'db: leg 0 path 0: ping_interval_ms "1000" -> "4000"',
             'db: leg 0 path 0: lun "0" -> "1", the path logs in anew',
             "db: leg 0 path 2: the path goes"]
    before = files(tool)
    assert tool.run("apply", "--dry-run", "db")[0].splitlines() == steps
    assert files(tool) == before
    assert tool.run("apply", "db")[0].splitlines() == steps
    assert [tool.value(name) for name in (
        f"{P0}/lun", f"{P0}/ping_interval_ms", f"{P0}/enable", "db/legs/0/paths/1/portal",
        "db/legs/0/paths/1/enable", "db/legs/0/fence", "db/recovery_timeout_ms")] == [
            "1", "4000", "1", "198.51.100.10:3260", "1", "auto", "60000"]
    assert not (tool.tree / P2).exists()
    assert tool.run("apply", "db") == ("", "")


def test_apply_leaves_what_needs_it_down(tool, conf):
    path = conf()
    tool.run("up", "db")
    path.write_text(CONF.replace("256K", "64K").replace("4s", "3s"))
    out, err = tool.run("apply", "db", code=1)
    assert 'db: chunk_bytes "262144" -> "65536", needs down and up' in out
    assert "not changed, since it needs it down: chunk_bytes" in err
    assert "istripectl down db; istripectl up --saved db" in err
    assert tool.value("db/chunk_bytes") == "262144"
    assert tool.value(f"{P2}/ping_interval_ms") == "3000"


def test_apply_never_takes_the_only_path(tool, conf):
    path = conf()
    tool.run("up", "db")
    path.write_text(CONF.replace("lun = 7", "lun = 8\nweight = 3"))
    out, err = tool.run("apply", "db", code=1)
    assert 'db: leg 1 path 0: lun "7" -> "8", needs down and up' in out
    assert ("since it needs it down: leg 1 path 0: lun\n            next: istripectl path add db 1 LIST, "
            "with the new settings; istripectl path remove db 1 0; istripectl save db; or, with a "
            "pause:\n            istripectl down db; istripectl up --saved db\n") in err
    assert [tool.value(f"{P1}/{name}") for name in ("lun", "weight", "enable")] == ["7", "3", "1"]


@pytest.mark.parametrize("old, new", [
    ("lun = 7", "lun = 8\ndata_digest = CRC32C"), ("256K", "64K")], ids=["digest", "volume"])
def test_no_path_is_added_when_more_waits(tool, conf, old, new):
    """save would write the file without it."""
    path = conf()
    tool.run("up", "db")
    path.write_text(CONF.replace(old, new).replace("lun = 7", "lun = 8"))
    err = tool.run("apply", "db", code=1)[1]
    assert "since it needs it down" in err and "leg 1 path 0: lun" in err
    assert "path add" not in err and "next: istripectl down db; istripectl up --saved db" in err


ISIDS = ("[leg 0]\ntarget = iqn.2026-01.a:t1\n[leg 0 path 0]\nportal = 192.0.2.10\nisid = {}\n"
         "[leg 0 path 1]\nportal = 192.0.2.11\nisid = {}\n")


def test_paths_swap_their_isids(tool, conf):
    """The first one would have that of the other: the module refuses it."""
    one, two, three = ("80000000000a", "80000000000B", "800000000003")
    path = conf(ISIDS.format(one, two))
    tool.run("up", "db")
    path.write_text(ISIDS.format(two.lower(), one.upper()))
    out, err = tool.run("apply", "db", code=1)
    assert out.count(", needs down and up\n") == 2
    assert "since it needs it down: leg 0 path 0: isid, leg 0 path 1: isid\n" in err
    assert "next: istripectl down db; istripectl up --saved db\n" in err
    assert tool.value(f"{P0}/isid") == one
    # At another target, or once the other path has got one of its own, it is nobody's.
    path.write_text(ISIDS.format(two, one).replace("a:t1", "a:t2", 1).replace(
        "192.0.2.11", "192.0.2.11\ntarget = iqn.2026-01.a:t3"))
    assert "needs down" not in tool.run("apply", "-n", "db")[0]
    path.write_text(ISIDS.format(three, one))
    assert "needs down" not in tool.run("apply", "-n", "db")[0]
    path.write_text(ISIDS.format(two, two))
    assert "needs down" not in tool.run("apply", "-n", "db")[0]


def test_values_are_looked_at_before_it_is_taken_down(tool, conf):
    path = conf()
    tool.run("up", "db")
    path.write_text(CONF.replace("256K", "64K") + "weight = 0\n")
    err = tool.run("apply", "db", code=1)[1]
    assert "allowed is a number from 1 to 1000" in err and "istripectl down" not in err


def test_the_last_live_path_is_left_alone(tool, conf):
    """The kernel refuses it; others log in all the same."""
    path = conf()
    tool.run("up", "db")
    path.write_text(CONF.replace("fence = path", "fence = path\nlun = 4"))
    _, err = tool.run("apply", "db", code=1, FAKE_ENABLE_PATH=str(errno.ENODEV),
                      FAKE_ENABLE_TIMES="1")
    assert "leg 0 path 0 of db is not added" in err and tool.value(f"{P0}/lun") == "0"
    assert tool.value(f"{P2}/lun") == "4"


@pytest.mark.parametrize("words", [["apply", "db"], ["apply", "-n", "db"]])
@pytest.mark.parametrize("old, place", [
    ("chunk = 256K", ""), ("fence = path", "leg 0 path 0: "), ("lun = 7", "leg 1 path 0: ")])
def test_unknown_names_change_nothing(tool, conf, words, old, place):
    path = conf()
    tool.run("up", "db")
    before = files(tool)
    path.write_text(CONF.replace(old, f"{old}\nheader_digst = CRC32C").replace("5min", "6min"))
    out, err = tool.run(*words, code=1)
    line = path.read_text().split("header_digst")[0].count("\n") + 1
    assert err.startswith(f"istripectl: {path}:{line}: this version of the module has no setting "
                          f"{place}header_digst\n            did you mean header_digest?\n")
    assert not out and files(tool) == before


def test_a_path_that_is_off_logs_in(tool, conf):
    """As after an apply that could not put it back."""
    conf()
    tool.run("up", "db")
    (tool.tree / P2 / "enable").write_text("0\n")
    assert tool.run("apply", "db")[0] == "db: leg 0 path 2: the path is off: it logs in\n"
    assert tool.value(f"{P2}/enable") == "1"
    assert tool.run("apply", "db") == ("", "")


def test_legs_with_gaps(tool, conf):
    conf()
    tool.run("create", "db", "--no-up", "--leg", LEG)
    (tool.tree / "db/legs/40/paths").mkdir(parents=True)
    _, err = tool.run("apply", "db", code=1)
    assert "db has no leg 1, but its file has one" in err


def test_a_secret_of_a_path_that_does_not_come_back_goes(tool, conf):
    """Without a name the module would refuse it, and the path with it."""
    path = conf()
    tool.run("up", "db")
    secret_file(tool, "new.secret")
    path.write_text(CONF.replace("ping_interval = 1s",
                                 "ping_interval = 1s\nchap_user = me\nchap_secret = @new.secret"))
    _, err = tool.run("apply", "--secrets", "db", code=1, FAKE_ENABLE_PATH=str(errno.ENODEV),
                      FAKE_ENABLE_TIMES="1")
    assert "the path is as it was before" in err
    assert tool.value(f"{P0}/chap_user") == "" and tool.value(f"{P0}/enable") == "1"
    assert tool.value(f"{P0}/chap_secret") == ""


def test_the_first_data_digest_needs_the_volume_down(tool, conf):
    """The pages of a volume that came up without any are not stable."""
    path = conf()
    tool.run("up", "db")
    path.write_text(CONF.replace("ping_interval = 1s", "ping_interval = 1s\ndata_digest = CRC32C"))
    out, err = tool.run("apply", "db", code=1)
    assert 'data_digest "None" -> "CRC32C", needs down and up' in out
    assert ("since it needs it down: leg 0 path 0: data_digest\n            next: istripectl down db; "
            "istripectl up --saved db\n") in err


def test_save_says_what_of_the_file_it_replaces(tool, conf):
    """Edits that were not applied yet; never the value of a secret."""
    path = conf()
    tool.run("up", "db")
    secret_file(tool, "new.secret")
    path.write_text(CONF.replace("fence = path", "policy = failover").replace("5min", "6min")
                    .replace("lun = 7", "lun = 8\nchap_user = me\nchap_secret = @new.secret")
                    + "\n[leg 0 path 1]\nportal = 192.0.2.11\n")
    said = [f"db: its file said otherwise: {text}" for text in (
        "leg 0 path 1: a path", 'recovery_timeout_ms "360000"', 'leg 0: policy "failover"',
        'leg 1 path 0: chap_user "me"', 'leg 1 path 0: lun "8"')]
    for words in (["-n", "db"], ["db"]):
        out, _ = tool.run("save", *words)
        assert sorted(line for line in out.splitlines() if "said" in line) == sorted(said)
        assert SECRET not in out and "new.secret" not in out
    assert "said" not in tool.run("save", "db")[0]
    path.write_text(CONF[:CONF.index("[leg 1]")])
    assert "db: its file said otherwise: 1 legs\n" in tool.run("save", "db")[0]


def test_a_file_that_cannot_be_read_is_not_replaced(tool, conf):
    path = conf(CONF.replace("[paths]", "[pathes]"))
    tool.run("create", "db", "--leg", LEG)
    before = path.read_text()
    _, err = tool.run("save", "db", code=1)
    assert "[pathes]: sections are" in err and "mend it, or move it away" in err
    assert path.read_text() == before


def test_interrupted_apply_puts_the_path_back(tool, conf):
    path = conf()
    tool.run("up", "db")
    path.write_text(CONF.replace("ping_interval = 1s", "ping_interval = 1s\nlun = 3"))
    process = tool.start("apply", "db", FAKE_ENABLE_PATH="hang", FAKE_ENABLE_TIMES="1")
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    # Counted, so that the second try does not hang, too.
    while not (tool.root / "failures").exists() or not (tool.root / "failures").stat().st_size:
        assert process.poll() is None
    assert children.read_text()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1 and "the path is as it was before" in err
    assert tool.value(f"{P0}/lun") == "0" and tool.value(f"{P0}/enable") == "1"


def test_a_path_that_does_not_come_back_is_as_before(tool, conf):
    path = conf()
    tool.run("up", "db")
    path.write_text(CONF.replace("ping_interval = 1s", "ping_interval = 1s\nlun = 3"))
    _, err = tool.run("apply", "db", code=1, FAKE_ENABLE_PATH=str(errno.ENODEV),
                      FAKE_ENABLE_TIMES="1")
    assert "leg 0 path 0 of db is not added: No such device" in err
    assert "the path is as it was before" in err
    assert tool.value(f"{P0}/lun") == "0" and tool.value(f"{P0}/enable") == "1"


@pytest.mark.parametrize("secrets", [False, True])
def test_apply_stops_at_a_path_that_stays_off(tool, conf, secrets):
    """The others go on; what was not done is said."""
    secret = secret_file(tool, "one.secret")
    text = CONF.replace("fence = path", "chap_user = me\nchap_secret = @one.secret")
    path = conf(text)
    tool.run("up", "db")
    if secrets:
        secret.write_text("new-horse-battery\n")
    path.write_text(text if secrets else text.replace("chap_user = me", "chap_user = me\nlun = 3"))
    _, err = tool.run("apply", "db", *["--secrets"] * secrets, code=1,
                      FAKE_ENABLE_PATH=str(errno.ECONNREFUSED))
    assert "and the path is off now: " in err and "leg 0 path 2 of db" not in err
    assert tool.value(f"{P0}/enable") != "1" and tool.value(f"{P2}/enable") == "1"
    assert tool.value(f"{P2}/lun") == "0" and "horse-battery" not in err
    assert "not done, so that the other paths stay:\n" in err
    assert ("leg 0 path 2: chap_secret, the path logs in anew\n" if secrets else
            'leg 0 path 2: lun "0" -> "3", the path logs in anew\n') in err
    assert err.endswith("next: istripectl apply db\n")


def test_a_short_secret_is_warned_of(tool, conf):
    secret = secret_file(tool, "one.secret", "short-one")
    conf(CONF.replace("fence = path", "chap_user = me\nchap_secret = @one.secret"))
    said = (f"istripectl: warning: the secret of {secret} has 9 bytes; RFC 7143 asks for 12 or "
            "more\n")
    assert tool.run("up", "db")[1].count(said) == 1
    assert tool.run("apply", "db")[1] == said


def test_secrets_that_have_changed(tool, conf):
    secret = secret_file(tool, "one.secret")
    conf(CONF.replace("fence = path", "chap_user = me\nchap_secret = @one.secret"))
    tool.run("up", "db")
    secret.write_text("new-horse-battery\n")
    assert tool.run("apply", "db")[0] == ""
    out, _ = tool.run("apply", "--secrets", "db")
    assert out == ("db: leg 0 path 0: chap_secret, the path logs in anew\n"
                   "db: leg 0 path 2: chap_secret, the path logs in anew\n")
    assert tool.value(f"{P0}/chap_secret") == tool.value(f"{P2}/chap_secret") == "new-horse-battery"


def test_another_number_of_legs(tool, conf):
    path = conf()
    tool.run("up", "db")
    path.write_text(CONF[:CONF.index("[leg 1]")])
    _, err = tool.run("apply", "db", code=1)
    assert "db has 2 legs, its file 1: legs of a volume never come or go" in err
    assert tool.value("db/enable") == "1"


LATER = "db/legs/0/later_leg_setting"


@pytest.fixture
def later(tool):
    """The module is newer than the tool: of two paths, the file of db has it in [leg 0]."""
    tool.run("create", "db", "--leg", f"{LEG},later_leg_setting=7", "--path", PATH)
    tool.run("save", "db")
    conf = tool.root / "etc/istripe/db.conf"
    assert conf.read_text().count("later_leg_setting = 7\n") == 1
    return conf


def test_apply_with_a_setting_of_a_later_leg(tool, later):
    assert tool.run("apply", "db") == ("", "")
    tool.run("down", "db")
    later.write_text(later.read_text().replace("later_leg_setting = 7", "later_leg_setting = 8"))
    assert tool.run("apply", "db")[0].startswith('db: leg 0: later_leg_setting "7" -> "8"\n')
    assert tool.value(LATER) == "8"
    # A path may come, too.
    later.write_text(f"{later.read_text()}\n[leg 0 path 2]\nportal = 192.0.2.77\n")
    tool.run("apply", "db")
    assert tool.value("db/legs/0/paths/2/portal").startswith("192.0.2.77")
    # Paths that say different things do not.
    before = later.read_text()
    later.write_text(before.replace("[leg 0 path 1]\n", "[leg 0 path 1]\nlater_leg_setting = 9\n"))
    _, err = tool.run("apply", "db", code=1)
    assert "has no setting leg 0 path 1: later_leg_setting\n" in err and tool.value(LATER) == "8"


def test_up_with_a_setting_of_a_later_leg(tool, later):
    tool.run("down", "db")
    tool.run("up", "--saved", "db")
    assert tool.value("db/enable") == "1" and tool.value(LATER) == "7"
    tool.run("delete", "db")
    tool.run("up", "db")
    assert tool.value(LATER) == "7"
