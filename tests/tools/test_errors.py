# SPDX-License-Identifier: GPL-2.0
"""Errors that no other test is about: those of a kernel that refuses, and of odd volumes."""

import errno
import os
import pty
import shutil

import pytest
from texts import shell_words

LEG = "target=iqn.2026-01.a:t1,portal=192.0.2.10,nic=eth1"
ONE, TWO = ["--leg", LEG], ["--leg", LEG, "--path", "portal=192.0.3.10,nic=eth2"]
IO, BUSY = str(errno.EIO), str(errno.EBUSY)
OFF = ["--no-up", *TWO]
CHANGE = "a change of leg 0 path 1 is under way"
GROUP = "leg 0 path 1: login: portal is in portal group 3, expected was 1"
LEFT = ("leg 0 path 1 has left writes that its target may still carry out, and cannot end them, see "
        "unfenced: no answer")
NO_NIC = "leg 0 path 1: cannot connect to 192.0.2.11:3260 over eth1: no such network device (-ENODEV)"
OFF_SINCE = "or, when its target was switched off or restarted since"
REMOVED = "next: when its target was restarted since, or that group was removed"
#: A secret, and a setting that is refused.
SECRET = "chap_secret=@{root}/secret,ping_interval=7s"


def test_a_wrong_secret_of_a_volume_with_a_file(tool):
    tool.run("create", "db", "--no-up", "--save", *ONE)
    _, err = tool.run("up", "db", code=78, FAKE_ENABLE=str(errno.EACCES),
                      FAKE_REASON="leg 0 path 0: authentication failed (login status 0201)")
    assert "up with --saved, which reads the file of a secret again\n" in err


@pytest.mark.parametrize("saved", [[], ["--save"]])
def test_a_wrong_secret_of_a_path_that_is_added(tool, saved):
    """The volume is up, and stays so; the path is not there for set."""
    tool.run("create", "db", *saved, *ONE)
    reason = tool.tree / "db/last_error"
    reason.unlink(missing_ok=True)
    reason.write_text("leg 0 path 1: authentication failed (login status 0201)\n")
    _, err = tool.run("path", "add", "db", "0", "nic=eth3", code=1,
                      FAKE_ENABLE_PATH=str(errno.EACCES))
    assert ("next: compare chap_user and chap_secret with the target's, then repeat the command:\n"
            "            path add with the right ones") in err
    assert ("apply with --secrets, which reads the file" in err) == bool(saved)
    assert "create with" not in err and "--saved" not in err and "istripectl set" not in err


def test_another_chunk_than_the_superblocks_say(tool):
    tool.run("create", "db", *OFF)
    _, err = tool.run("up", "db", code=78, FAKE_ENABLE=str(errno.EINVAL),
                      FAKE_REASON="chunk_bytes is 65536, but the superblocks say 131072")
    assert "next: istripectl set db chunk=131072, then up again" in err


def test_a_value_that_waits_in_vain(tool):
    """To take the volume down would not help."""
    tool.run("create", "db", *ONE)
    _, err = tool.run("set", "db", "queue_depth=99999", code=1)
    assert 'queue_depth: "99999" is refused, allowed is a number from 1 to ' in err


def test_rescan_of_a_volume_that_is_down(tool):
    """With superblocks it comes up with the size of before."""
    tool.run("create", "db", *OFF)
    _, err = tool.run("rescan", "db", code=1)
    assert err.endswith("next: istripectl up db, then istripectl rescan db\n")


def test_help_of_help(tool):
    assert tool.run("help", "help") == tool.run("help")


def test_a_target_that_does_not_say_that_it_has_no_such_name(tool):
    """Linux's own."""
    _, err = tool.run("create", "db", *ONE, code=1, FAKE_ENABLE=str(errno.ECONNREFUSED),
                      FAKE_REASON="leg 0 path 0: service unavailable (login status 0301)")
    assert "Linux's own target says so, too, of a name that it does not have\n" in err
    assert "next: istripectl discover 192.0.2.10:3260 lists the names there are\n" in err


@pytest.mark.parametrize("made, words, env, said", [
    (None, ["create", "db", *ONE], {"FAKE_MKDIR": IO}, ["db cannot be made: Input/output error"]),
    (None, ["create", "db", *ONE], {"FAKE_MKDIR": BUSY},
     ["next: take the volume down, or wait while it is coming or going"]),
    (None, ["create", "db", *ONE], {"FAKE_ENABLE": IO, "FAKE_RMDIR": IO},
     ["volume db does not come up: Input/output error", "and it could not be removed again: "]),
    (None, ["create", "db", *ONE], {"FAKE_REFUSE": "portal=", "FAKE_RMDIR": IO},
     ['/portal refuses "192.0.2.10": Invalid argument', "and not all of it could be removed: "]),
    (OFF, ["delete", "db"], {"FAKE_RMDIR": IO}, ["cannot be removed: Input/output error"]),
    (TWO, ["path", "add", "db", "0", "nic=eth3"], {"FAKE_ENABLE_PATH": IO, "FAKE_RMDIR": IO},
     ["leg 0 path 2 of db is not added: Input/output error", "and its settings are left: "]),
    (TWO, ["path", "remove", "db", "0", "7"], {}, ["leg 0 has no path 7\n", "next: istripectl show db"]),
    (TWO, ["down", "db"], {"FAKE_DISABLE": IO}, ["volume db does not go down: Input/output error"]),
    (OFF, ["down", "db"], {"FAKE_DISABLE": BUSY},
     ["it is just coming up or going down\n", "next: istripectl status db"]),
    (TWO, ["down", "db"], {"FAKE_DISABLE": BUSY},
     ["one of its paths is just being added, removed or changed\n", "next: istripectl status db"]),
    (TWO, ["down", "db"], {"FAKE_DISABLE": BUSY, "FAKE_REASON": CHANGE},
     [f"reason: {CHANGE}\n", "next: istripectl status db"]),
    (OFF, ["up", "db"], {"FAKE_ENABLE": BUSY, "FAKE_REASON": ""},
     ["volume db does not come up: ", "it is just coming up or going down\n"]),
    (OFF, ["up", "db"], {"FAKE_ENABLE": str(errno.EPROTO), "FAKE_REASON": GROUP},
     ["only a login in the old portal group ends the writes that were lost\n",
      f"{REMOVED}: istripectl path confirm db 0 1, then repeat the command\n"]),
    (OFF, ["up", "db"], {"FAKE_ENABLE": str(errno.ENOTCONN), "FAKE_REASON": LEFT},
     [f"next: bring this path back as it was; {OFF_SINCE}: istripectl path confirm db 0 1, then repeat"]),
    (OFF, ["up", "db"], {"FAKE_ENABLE": str(errno.ENODEV), "FAKE_REASON": NO_NIC},
     [("next: ip -br link; create, or path add, with nic=NEW; up after istripectl set db --leg 0 --path 1 "
      "nic=NEW, or with nic=NEW in its file: up --saved\n")]),
    (OFF, ["set", "--leg", "0", "--path", "0", "db", SECRET], {"FAKE_REFUSE": "ping_interval_ms="},
     ["chap_secret is changed: its old value cannot be read", "nothing else is changed"]),
    (OFF, ["set", "--leg", "0", "--path", "0", "db", "ping_interval=7s,lun=3"],
     {"FAKE_REFUSE": "lun="}, ['lun refuses "3"', "nothing else is changed"]),
    (OFF, ["set", "--leg", "0", "--path", "0", "db", "ping_interval=7s,lun=3"],
     {"FAKE_REFUSE_AFTER": "1"}, ["and ping_interval_ms could not be put back: "]),
])
def test_the_kernel_refuses(tool, made, words, env, said):
    tool.put("secret", "correct horse battery").chmod(0o600)
    if made:
        tool.run("create", "db", *made)
    _, err = tool.run(*(word.format(root=tool.root) for word in words), code=1, **env)
    assert [text for text in said if text not in err] == [], err


def test_root_is_needed(tool):
    tool.put("fake/user", "1000")
    tool.run("create", "db", *OFF)
    _, err = tool.run("up", "db", code=78, FAKE_ENABLE=str(errno.EACCES))
    assert "volume db does not come up: Permission denied\n" in err and "next: try again as root" in err


@pytest.mark.parametrize("words", [["show", "--command", "db"], ["save", "db"]])
def test_a_leg_without_a_path(tool, words):
    tool.run("create", "db", "--no-up", *ONE)
    shutil.rmtree(tool.tree / "db/legs/0/paths/0")
    assert "db: leg 0 has no path\n" in tool.run(*words, code=1)[1]


def test_a_path_is_missing(tool):
    tool.run("create", "db", *OFF)
    (tool.tree / "db/legs/0/paths/1").rename(tool.tree / "db/legs/0/paths/5")
    assert "db: leg 0: path 1 is missing\n" in tool.run("show", "--command", "db", code=1)[1]


def test_a_leg_has_all_paths_that_it_can_have(tool):
    more = [word for number in range(15) for word in ("--path", f"portal=192.0.4.{number}")]
    tool.run("create", "db", "--no-up", *ONE, *more)
    _, err = tool.run("path", "add", "db", "0", "nic=eth9", code=1)
    assert "leg 0 has 16 paths, and no more are possible\n" in err
    assert "next: istripectl path remove db 0 PATH\n" in err


LOST = ("leg 0 path 0: its session was lost, and its writes wait for the end of it, or keep their "
        "blocks from others: see fence_confirm")
PATHS = "sys/block/istripe0/istripe/legs/0/paths"
CONF = """\
[leg 0]
target = iqn.2026-01.a:t1
[leg 0 path 0]
portal = 192.0.2.10
lun = {lun}
[leg 0 path 1]
portal = 192.0.3.10"""


@pytest.mark.parametrize("on, env, said", [
    ("1", {"FAKE_ENABLE_PATH": IO}, ["leg 0 path 0 of db is not added: Input/output error",
                                     "and the path is off now: ", "next: istripectl apply db"]),
    ("0", {}, ["so it does not log in anew\n", "next: bring another path of the leg back; or",
               "istripectl down db; istripectl up --saved db"]),
])
def test_a_path_does_not_log_in_anew(tool, on, env, said):
    tool.put("etc/istripe/db.conf", CONF.format(lun=0))
    tool.run("up", "db")
    (tool.tree / "db/legs/0/paths/1/enable").write_text(on)
    tool.put("etc/istripe/db.conf", CONF.format(lun=3))
    _, err = tool.run("apply", "db", code=1, **env)
    assert [text for text in said if text not in err] == [], err


@pytest.fixture
def lost(tool):
    """The session of the first path is lost, and the other path is not live."""
    tool.put("etc/istripe/db.conf", CONF.format(lun=0))
    tool.run("up", "db")
    (tool.tree / "db/legs/0/paths/1/enable").write_text("0")
    (tool.tree / "db/last_error").unlink()
    tool.put("sys/kernel/config/istripe/db/last_error", LOST)
    for path in range(2):
        tool.put(f"{PATHS}/{path}/state", "dead")
    tool.put("etc/istripe/db.conf", CONF.format(lun=3))
    return tool


@pytest.mark.parametrize("words, way", [
    (["apply", "db"], "next: for I/O to go on: istripectl path add db 0 lun=3,portal=192.0.2.10"),
    (["path", "remove", "db", "0", "0"],
     "next: for I/O to go on, if the LUN is elsewhere now: istripectl path add db 0 LIST"),
])
def test_a_lost_session_keeps_a_path(lost, words, way):
    """Other paths do not end it: the target has to have forgotten the session."""
    _, err = lost.run(*words, code=1)
    assert (f"            {way}\n            next: when all it lacks is a NIC that works, an address or a "
            "secret: nic, source_address and chap_... alone may change while it is lost: in the file, then "
            "istripectl apply db\n            next: when its target was switched off or restarted since: "
            "istripectl path confirm db 0 0, then repeat the command\n") in err
    assert "another path" not in err and "--saved" not in err


@pytest.mark.parametrize("words", [["apply", "db"], ["path", "remove", "db", "0", "0"]])
def test_a_lost_session_while_another_path_serves(lost, words):
    """I/O goes on over that one."""
    lost.put(f"{PATHS}/1/state", "live")
    _, err = lost.run(*words, code=1)
    assert "istripectl path confirm db 0 0, then repeat the command\n" in err
    assert "path add" not in err


WARNED = ("istripectl: warning: leg 0 of db has no live path: if path 0 has lost writes, its login waits "
          "for their end\n            next: for I/O to go on: end this command; "
          "istripectl path add db 0 {}\n")


@pytest.mark.parametrize("old, new, words", [
    ("lun = 3", "lun = 3", "lun=3,portal=192.0.2.10"),
    ("lun = 3", "portal = 192.0.2.77\nnic = eth7", "portal=192.0.2.77,nic=eth7"),
    ("iqn.2026-01.a:t1", "iqn.2026-01.a:it's", "'target=iqn.2026-01.a:it'\\''s,lun=3,portal=192.0.2.10'"),
    ("lun = 3", "lun = 3\nlogin_timeout = 5s", "lun=3,portal=192.0.2.10,login_timeout_ms=5000"),
    ("lun = 3", f"lun = 3\nisid = 80{'a1' * 5}\nchap_user = me\nchap_secret = @db.secret",
     "lun=3,portal=192.0.2.10,chap_secret=@-,chap_user=me"),
])
def test_a_lun_that_is_elsewhere_while_writes_wait(lost, old, new, words):
    """What helps at once is said before the removal of the old path, which takes its time."""
    lost.put("etc/istripe/db.secret", "correct-horse-battery").chmod(0o600)
    conf = CONF.format(lun=3)
    if "portal" in new:
        conf = conf.replace("portal = 192.0.2.10\n", "")
    lost.put("etc/istripe/db.conf", conf.replace(old, new))
    _, err = lost.run("apply", "db", code=1)
    assert err.startswith(WARNED.format(words)), err
    assert err.count("warning") == 1 and "horse" not in err
    lost.run("path", "add", "db", "0", *shell_words(words), text_in="correct-horse-battery\n")
    settings = dict(setting.split("=") for setting in shell_words(words)[0].split(","))
    settings.pop("chap_secret", None)
    added = {name: lost.value(f"db/legs/0/paths/2/{name}") for name in ("isid", "enable")}
    assert added == {"isid": "", "enable": "1"}
    for name, value in settings.items():
        file = {"target": "target_name"}.get(name, name)
        assert lost.value(f"db/legs/0/paths/2/{file}").removesuffix(":3260") == value


def test_a_leg_is_warned_of_once(lost):
    """Nor is one that has a live path, nor when all else of a path changes."""
    (lost.tree / "db/legs/0/paths/1/enable").write_text("1")
    conf = CONF.format(lun=3) + "\nlun = 3"
    lost.put("etc/istripe/db.conf", conf)
    assert lost.run("apply", "--dry-run", "db")[1] == ""
    assert lost.run("apply", "db")[1] == WARNED.format("lun=3,portal=192.0.2.10")
    lost.put("etc/istripe/db.conf", conf.replace("lun = 3", "lun = 3\nheader_digest = CRC32C"))
    assert lost.run("apply", "db")[1] == ""
    lost.put(f"{PATHS}/1/state", "live")
    lost.put("etc/istripe/db.conf", CONF.format(lun=4))
    assert lost.run("apply", "db")[1] == ""


def test_a_path_is_lost_while_it_is_confirmed(tool):
    tool.run("create", "db", *ONE)
    tool.put("sys/block/istripe0/size", "131072")
    lost = "sys/block/istripe0/istripe/legs/0/paths/0/faults"
    confirmed = tool.put(f"{lost[:-len('faults')]}fence_confirm", "")
    tool.put(lost, "1")
    here, there = pty.openpty()
    process = tool.start("path", "confirm", "db", "0", "0", stdin=there)
    asked = ""
    while "yes or no: " not in asked:
        asked += os.read(process.stderr.fileno(), 4096).decode()
    tool.put(lost, "2")
    os.write(here, b"yes\n")
    _, err = process.communicate(timeout=60)
    os.close(here)
    os.close(there)
    assert process.returncode == 1 and confirmed.read_text() == "\n"
    assert "the path was lost again meanwhile: nothing was done\n" in err
    assert "next: istripectl status db\n" in err
