# SPDX-License-Identifier: GPL-2.0
"""set: all settings of a list, or none of them."""

import os

import pytest

LEG = "target=iqn.2026-01.a:t1,portal=192.0.2.10,nic=eth1"
PATH = "db/legs/0/paths/1"


@pytest.fixture
def volume(tool):
    tool.run("create", "db", "--leg", LEG, "--path", "portal=192.0.2.11")
    return tool


@pytest.mark.parametrize("words, files, said", [
    (["recovery_timeout=0"], {"db/recovery_timeout_ms": "0"}, "recovery_timeout_ms: 120000 -> 0\n"),
    (["recovery_timeout=-1"], {"db/recovery_timeout_ms": "-1"}, "recovery_timeout_ms: 120000 -> -1\n"),
    (["command_timeout=20s"], {"db/command_timeout_ms": "20000"},
     "command_timeout_ms: 30000 -> 20000\n"),
    (["--leg", "0", "fence=path,policy=failover"],
     {"db/legs/0/fence": "path", "db/legs/0/policy": "failover"},
     "policy: interleave -> failover\nfence: auto -> path\n"),
    (["--leg=0", "--path=1", "ping_interval=1s"], {f"{PATH}/ping_interval_ms": "1000"},
     "ping_interval_ms: 2000 -> 1000\n"),
])
def test_set(volume, words, files, said):
    before = {name: volume.value(name) for name in files}
    assert volume.run("set", "--dry-run", "db", *words)[0] == said
    assert {name: volume.value(name) for name in files} == before
    assert volume.run("set", "db", *words)[0] == said
    assert {name: volume.value(name) for name in files} == files


def test_what_was_written_is_put_back(volume):
    out, err = volume.run("set", "db", "--leg", "0", "--path", "1", "weight=5,dscp=8,priority=7",
                          code=1, FAKE_REFUSE="priority=7")
    assert not out and f'{PATH}/priority refuses "7": Invalid argument' in err
    assert "kernel: istripe: db/0/0: priority: is refused" in err
    assert err.endswith("dscp was 8 until it was put back\n            weight was 5 until it was put "
                        "back\n            nothing else is changed\n")
    assert [volume.value(f"{PATH}/{name}") for name in ("weight", "dscp")] == ["1", "0"]


def untouched(tool, *names):
    """Those of them whose time is still the one that a test has set."""
    return [name for name in names if not os.stat(tool.tree / name).st_mtime_ns]


@pytest.mark.parametrize("words, refused, kept, said", [
    (["recovery_timeout=1s,queue_depth=9"], "", "db/recovery_timeout_ms",
     "db is up, and queue_depth is refused until it is down\n"),
    (["--leg", "0", "fence_timeout=0,policy=nonsense"], "", "db/legs/0/fence_timeout_ms",
     'policy: "nonsense" is refused, allowed is interleave'),
    # What the tool cannot tell.
    (["recovery_timeout=1s,command_timeout=31s"], "command_timeout_ms=31000", "db/recovery_timeout_ms",
     "command_timeout_ms: is refused"),
    *((["--leg", "0", f"{given},policy=failover,alua=off"], "alua=off", f"db/legs/0/{file}",
       "policy was failover until it was put back\n")
      for given, file in (("fence_timeout=0", "fence_timeout_ms"), ("fence=path", "fence"),
                          ("ghost_timeout=0", "ghost_timeout_ms"))),
])
def test_what_is_not_undone_comes_last(volume, words, refused, kept, said):
    """Requests that recovery_timeout_ms fails, and fences that end, do not come back with the value."""
    os.utime(volume.tree / kept, ns=(0, 0))
    out, err = volume.run("set", "db", *words, code=1, FAKE_REFUSE=refused)
    assert not out and said in err
    assert untouched(volume, kept) == [kept]


@pytest.mark.parametrize("action", ["set", "create"])
def test_a_choice_that_an_older_module_has_not(volume, action):
    """What the module allows instead is in its log."""
    words = {"set": ["set", "db", "--leg", "0", "fence=session"],
             "create": ["create", "log", "--no-up", "--leg", "target=iqn.t,portal=192.0.2.10,fence=session"]}
    _, err = volume.run(*words[action], code=1, FAKE_REFUSE="fence=session")
    assert "this version of the module has no fence=session for " in err
    assert "fence: is refused" in err or action == "create"


def test_what_was_in_force_is_said(volume):
    _, err = volume.run("set", "db", "--leg", "0", "fence=path,fence_timeout=0", code=1,
                        FAKE_REFUSE="fence=path")
    assert "fence_timeout_ms was 0 until it was put back\n" in err
    assert volume.value("db/legs/0/fence_timeout_ms") == "-1"
    volume.run("down", "db")
    _, err = volume.run("set", "db", "recovery_timeout=1s,queue_depth=9", code=1,
                        FAKE_REFUSE="recovery_timeout_ms=1000")
    assert "until it was put back" not in err and volume.value("db/queue_depth") == "128"


def test_a_path_that_is_off_takes_all(volume):
    (volume.tree / PATH / "enable").write_text("0\n")
    words = ["db", "--leg", "0", "--path", "1", "nic=eth5,lun=3"]
    assert "lun: 0 -> 3\n" in volume.run("set", "--dry-run", *words)[0]
    assert volume.run("set", *words)[0] == "nic:  -> eth5\nlun: 0 -> 3\n"


@pytest.mark.parametrize("words, changed, kept, said", [
    (["queue_depth=128"], {}, ["db/queue_depth"], "queue_depth: 128 (unchanged)\n"),
    (["command_timeout=31s,queue_depth=128"], {"db/command_timeout_ms": "31000"}, ["db/queue_depth"],
     "command_timeout_ms: 30000 -> 31000\nqueue_depth: 128 (unchanged)\n"),
    (["command_timeout=31s,chunk=64K"], {"db/command_timeout_ms": "31000"}, ["db/chunk_bytes"],
     "command_timeout_ms: 30000 -> 31000\nchunk_bytes: 65536 (unchanged)\n"),
    # In another form.
    (["--leg", "0", "--path", "1", "portal=192.0.2.11,lun=0,weight=2"], {f"{PATH}/weight": "2"},
     [f"{PATH}/portal", f"{PATH}/lun"],
     "portal: 192.0.2.11:3260 (unchanged)\nlun: 0 (unchanged)\nweight: 1 -> 2\n"),
])
def test_what_is_so_already_is_not_written(volume, words, changed, kept, said):
    """The module refuses it while the volume is up."""
    for name in kept:
        os.utime(volume.tree / name, ns=(0, 0))
    assert volume.run("set", "--dry-run", "db", *words)[0] == said
    assert volume.run("set", "db", *words)[0] == said
    assert untouched(volume, *kept) == kept
    assert {name: volume.value(name) for name in changed} == changed


@pytest.mark.parametrize("words, file, said", [
    (["--leg", "0", "fence=auto"], "db/legs/0/fence", "fence: auto -> auto\n"),
    (["command_timeout=30s"], "db/command_timeout_ms", "command_timeout_ms: 30000 -> 30000\n"),
])
def test_a_live_one_is_written_again(volume, words, file, said):
    """The module does not refuse it, and asks for proofs, or sets the time-out of the disk, again."""
    os.utime(volume.tree / file, ns=(0, 0))
    assert volume.run("set", "--dry-run", "db", *words)[0] == said
    assert untouched(volume, file)
    assert volume.run("set", "db", *words)[0] == said
    assert not untouched(volume, file)


def test_what_is_written_to_a_volume_that_is_down_is_not_called_unchanged(volume):
    volume.run("down", "db")
    os.utime(volume.tree / "db/queue_depth", ns=(0, 0))
    assert volume.run("set", "db", "queue_depth=128")[0] == "queue_depth: 128 -> 128\n"
    assert not untouched(volume, "db/queue_depth")


def test_what_is_so_already_is_not_put_back(volume):
    os.utime(volume.tree / "db/queue_depth", ns=(0, 0))
    _, err = volume.run("set", "db", "queue_depth=128,command_timeout=31s,recovery_timeout=9s", code=1,
                        FAKE_REFUSE="recovery_timeout_ms=9000")
    assert "could not be put back" not in err and "nothing else is changed" in err
    assert untouched(volume, "db/queue_depth") and volume.value("db/command_timeout_ms") == "30000"


def test_a_chunk_that_is_so_already_is_said(tool):
    """Of a volume that is down: without it, one of the superblocks would be taken."""
    tool.run("assemble", "db", "--no-up", "--leg", LEG)
    tool.run("set", "db", "chunk=64K")
    _, err = tool.run("up", "db", code=78, FAKE_CHUNK="524288")
    assert "chunk_bytes is 65536, but the superblocks say 524288" in err


@pytest.mark.parametrize("settings", ["chunk=128K,queue_depth=9", "queue_depth=9,chunk=128K"])
def test_a_refusal_leaves_the_chunk_to_the_superblocks(tool, settings):
    """It cannot be put back: once it is written, those of another chunk are refused."""
    tool.run("assemble", "db", "--no-up", "--leg", LEG)
    tool.run("set", "db", settings, code=1, FAKE_REFUSE="queue_depth=9")
    (tool.tree / "db/queue_depth").write_text("128\n")
    tool.run("up", "db", FAKE_CHUNK="524288")
    assert tool.value("db/chunk_bytes") == "524288"


def contents(tool):
    """A refused write leaves an empty file empty."""
    return {file: file.read_text().strip() for file in tool.tree.rglob("*") if file.is_file()}


@pytest.mark.parametrize("words, code, said", [
    (["weight=5"], 1,
     "weight is a setting of a path: istripectl set NAME --leg N --path N weight=...\n"),
    (["--leg", "0", "queue_depth=5"], 1,
     "queue_depth is a setting of the volume: istripectl set NAME queue_depth=...\n"),
    (["fence=path"], 1, "fence is a setting of a leg: istripectl set NAME --leg N fence=...\n"),
    (["--leg", "0", "--path", "1", "dscp=8,wieght=5"], 1, "did you mean weight=?"),
    (["--leg", "3", "fence=path"], 1, "volume db has no leg 3"),
    (["--leg", "0", "--path", "7", "weight=2"], 1, "leg 0 has no path 7"),
    (["--leg", "0", "--path", "1", "dscp=8,nic=eth5"], 1,
     ("kernel: istripe: db/0/0: nic: is refused while the volume is up\n            next: istripectl save "
      "db, edit /etc/istripe/db.conf, istripectl apply db: the path logs in anew\n")),
    (["--leg", "x", "fence=path"], 2, "--leg x: a number"),
    (["--leg"], 2, "--leg : a number"), (["--leg="], 2, "--leg : a number"),
    (["--legs=0", "weight=2"], 2, "unknown option --legs=0"),
    (["--path", "1", "weight=2"], 2, "--path needs the --leg"), ([], 2, "settings are needed"),
    (["command_timeout=5"], 2, "ms, s, min, h or d: say 5s or 5ms"), (["a=1", "b=2"], 2, "one word too many"),
    (["--nonsense", "a=1"], 2, "unknown option --nonsense"), (["weight"], 2, "NAME=VALUE"),
    (["chap_secret=hunter2hunter2"], 2, "never given on the command line"),
    (["--leg", "0", "--path", "1", "weight=2,chap_user=m\udcfc"], 2,
     "chap_user: a value is text in UTF-8, without control characters"),
])
def test_nothing_changes(volume, words, code, said):
    before = contents(volume)
    _, err = volume.run("set", "db", *words, code=code)
    assert said in err and "hunter2" not in err
    assert contents(volume) == before


@pytest.mark.parametrize("words, said", [
    (["queue_depth=0"], 'queue_depth: "0" is refused, allowed is a number from 1 to 1024'),
    (["queue_depth=1025"], "from 1 to 1024"), (["queue_depth=many"], "from 1 to 1024"),
    (["queue_depth="], "from 1 to 1024"), (["queue_depth=99999999999999999999"], "from 1 to 1024"),
    (["recovery_timeout_ms=-2"], "a number from -1 to 2147483647"),
    (["chunk_bytes=96K"], "a power of two from 4096 to 4194304"),
    (["chunk_bytes=8M"], "a power of two from 4096 to 4194304"),
    (["--leg", "0", "fence=none"], 'fence: "none" is refused, allowed is auto, session, path'),
    (["--leg", "0", "--path", "1", "weight=2,send_buffer_bytes=1"],
     "0 or a number from 4096 to 536870912"),
])
def test_a_dry_run_knows_ranges(volume, words, said):
    before = contents(volume)
    out, err = volume.run("set", "--dry-run", "db", *words, code=1)
    assert not out and said in err
    assert contents(volume) == before


@pytest.mark.parametrize("words", [
    ["queue_depth=1024"], ["recovery_timeout_ms=-1"], ["chunk_bytes=4M"],
    ["--leg", "0", "policy=weighted"], ["--leg", "0", "--path", "1", "receive_buffer_bytes=0"],
])
def test_a_dry_run_takes_the_ends_of_ranges(volume, words):
    volume.run("down", "db")
    out, _ = volume.run("set", "--dry-run", "db", *words)
    assert out.startswith(words[-1].split("=")[0] + ": ") and "is written" not in out


@pytest.mark.parametrize("words, step", [
    (["queue_depth=9"], "next: istripectl down db"),
    (["--leg", "0", "--path", "1", "weight=3,header_digest=CRC32C"],
     "next: edit /etc/istripe/db.conf, istripectl apply db: the path logs in anew\n"),
])
def test_a_dry_run_knows_what_needs_the_volume_down(volume, words, step):
    volume.run("save", "db")
    out, err = volume.run("set", "--dry-run", "db", *words, code=1)
    assert not out and "db is up, and " in err and step in err
    volume.run("down", "db")
    assert volume.run("set", "--dry-run", "db", *words)[0]


def test_a_dry_run_says_what_it_does_not_check(volume):
    words = ["db", "--leg", "0", "--path", "1", "congestion_control=nonsense,weight=3"]
    assert volume.run("set", "-n", *words)[0] == (
        "congestion_control:  -> nonsense (the module checks it when it is written)\n"
        "weight: 1 -> 3\n")


def test_a_secret(tool):
    tool.run("create", "db", "--no-up", "--leg", LEG + ",chap_user=u")
    out, _ = tool.run("set", "db", "--leg", "0", "--path", "0", "chap_secret=@-",
                      text_in="correct-horse-1\n")
    assert out == "chap_secret: a secret\n"
    assert tool.value("db/legs/0/paths/0/chap_secret") == "correct-horse-1"


def test_save_does_not_see_a_secret(tool):
    """The file names another one, unless it is the one that was given."""
    own = tool.put("etc/istripe/own.secret", "correct-horse-1")
    other = tool.put("etc/istripe/other.secret", "correct-horse-2")
    words = ["set", "db", "--leg", "0", "--path", "0"]
    for file in (own, other):
        file.chmod(0o600)
    tool.run("create", "db", "--no-up", "--save", "--leg",
             f"{LEG},chap_user=me,chap_secret=@{own}")
    assert not tool.run(*words, f"chap_secret=@{own}")[1]
    for given in (other, "-"):
        _, err = tool.run(*words, f"chap_secret=@{given}", text_in="correct-horse-3\n")
        assert f"the configuration file of db goes on to name {own} for chap_secret\n" in err
        assert f"next: put the new secret there, or change {tool.root}/etc/istripe/db.conf\n" in err
    (tool.root / "etc/istripe/db.conf").unlink()
    assert not tool.run(*words, f"chap_secret=@{other}")[1]


def test_a_setting_of_the_volume_needs_it_down(volume):
    _, err = volume.run("set", "db", "chunk=128K", code=1)
    assert "kernel: istripe: db/0/0: chunk_bytes: is refused while the volume is up\n" in err
    assert " next: take the volume down, or wait while it is coming or going\n" in err


def test_a_path_has_no_setting_of_its_leg(volume):
    _, err = volume.run("path", "add", "db", "0", "nic=eth3,policy=failover", code=1)
    assert "policy is a setting of a leg: istripectl set NAME --leg N policy=...\n" in err


def test_of_no_volume(tool):
    assert "there is no volume db" in tool.run("set", "db", "queue_depth=3", code=1)[1]
    assert "cannot be the name of a volume: 1 to 63 letters" in tool.run("set", "a/b", "queue_depth=3", code=2)[1]


def mentions(err):
    return "db is not as its configuration file says" in err and "next: istripectl save db" in err


def test_a_file_that_says_something_else(volume):
    """The next boot would take the change back: set and path say so, when there is such a file."""
    change = ("set", "db", "--leg", "0", "--path", "1", "weight=5")
    add, remove = ("path", "add", "db", "0", "portal=192.0.2.12"), ("path", "remove", "db", "0", "2")
    for words in (change, add, remove):
        assert volume.run(*words)[1] == ""
    volume.run("save", "db")
    assert volume.run(*change)[1] == ""
    assert mentions(volume.run(*add)[1])
    assert volume.run(*remove)[1] == ""
    assert volume.run("set", "--dry-run", "db", "--leg", "0", "--path", "1", "weight=7")[1] == ""
    _, err = volume.run("set", "db", "--leg", "0", "--path", "1", "weight=7")
    assert mentions(err) and 'leg 0 path 1: weight "7" -> "5"\n' in err
    assert err.endswith("or, to have it as its file says: istripectl apply db\n")
    out, _ = volume.run("save", "db")
    assert 'db: its file said otherwise: leg 0 path 1: weight "5"\n' in out
    assert volume.run("apply", "--dry-run", "db")[0] == ""


def test_a_host_name_becomes_its_address(tool):
    tool.put("etc/hosts", "192.0.2.12 array1\n192.0.2.13 two\n192.0.2.14 two")
    tool.run("create", "db", "--no-up", "--leg", LEG, "--path", "portal=192.0.2.11")
    words = ["db", "--leg", "0", "--path", "1"]
    out, _ = tool.run("set", "--dry-run", *words, "portal=array1:3261")
    assert "portal: 192.0.2.11:3260 -> 192.0.2.12:3261" in out
    assert tool.value(f"{PATH}/portal").startswith("192.0.2.11")
    tool.run("set", *words, "portal=array1,weight=5")
    assert tool.value(f"{PATH}/portal") == "192.0.2.12:3260" and tool.value(f"{PATH}/weight") == "5"
    _, err = tool.run("set", *words, "weight=6,portal=two", code=1)
    assert "portal: the host name two has 2 addresses, and a path has one:" in err
    _, err = tool.run("set", *words, "weight=6,portal=nobody", code=1)
    assert "portal: the host name nobody is not known" in err
    assert tool.value(f"{PATH}/portal") == "192.0.2.12:3260" and tool.value(f"{PATH}/weight") == "5"
    # A leg has no portal.
    _, err = tool.run("set", "db", "--leg", "0", "portal=two", code=1)
    assert "portal is a setting of a path" in err
