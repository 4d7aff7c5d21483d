# SPDX-License-Identifier: GPL-2.0
"""Configuration files: what is read, what is written, and volumes that follow them."""

import errno
import importlib.machinery
import importlib.util
import json
import os
import re
import subprocess

import pytest
from configuration import CONF, LEG, P0, P1, P2, PATH, SECRET, files, secret_file
from conftest import TOP

# Reading

def test_up_configures_from_the_file(tool, conf):
    conf()
    assert tool.run("up", "db")[0] == (
        f"db: configured from {tool.root}/etc/istripe/db.conf\n"
        "db: /dev/istripe0 (link: /dev/istripe/db)\n")
    wanted = {
        "db/initiator_name": "iqn.2026-01.a:host", "db/chunk_bytes": "262144",
        "db/recovery_timeout_ms": "300000", "db/metadata": "md", "db/metadata_create": "0",
        "db/legs/0/fence": "path", "db/legs/1/fence": "auto",
        f"{P0}/target_name": "iqn.2026-01.a:t1", f"{P2}/target_name": "iqn.2026-01.a:t1",
        f"{P1}/target_name": "iqn.2026-01.a:t2",
        f"{P0}/portal": "192.0.2.10:3260", f"{P2}/portal": "198.51.100.10:3260",
        f"{P1}/portal": "192.0.2.20:3260",
        f"{P0}/nic": "eth1", f"{P2}/nic": "", f"{P1}/lun": "7",
        f"{P0}/ping_interval_ms": "1000", f"{P2}/ping_interval_ms": "4000",
        f"{P1}/ping_interval_ms": "4000", "db/enable": "1"}
    assert {name: tool.value(name) for name in wanted} == wanted
    assert not (tool.tree / "db/legs/0/paths/1").exists()


def test_lines_of_another_system(tool, conf):
    """They end with a carriage return, too."""
    conf(CONF.replace("\n", "\r\n"))
    tool.run("up", "db")
    assert tool.value("db/initiator_name") == "iqn.2026-01.a:host"
    assert tool.value(f"{P0}/target_name") == "iqn.2026-01.a:t1"
    assert tool.value("db/legs/0/fence") == "path"


@pytest.mark.parametrize("old, new, message", [
    ("[volume]", "", r'"initiator = iqn.2026-01.a:host" is before the first section'),
    ("[volume]", "[volume", r'db.conf:2: "\[volume" has no \] at its end'),
    ("[paths]", "[pathes]", r"db.conf:7: \[pathes\]: sections are \[volume\], \[paths\], \[leg N\]"),
    ("[leg 1]", "[leg one]", r"\[leg one\]: sections are"),
    ("[leg 1]", "[leg 01]", r"\[leg 01\]: sections are"),
    ("[leg 1]", "[leg 64]", r"\[leg 64\]: sections are .* N from 0 to 63"),
    ("[leg 1]", "[leg 1 path]", r"\[leg 1 path\]: sections are"),
    ("[leg 1]", "[leg 1 2]", r"\[leg 1 2\]: sections are"),
    ("[leg 1]", "[leg 2]", r"db.conf: there is no \[leg 1\]"),
    ("[leg 1]", "[leg 0]", r"\[leg 0\] is given twice"),
    ("[leg 0 path 2]", "[leg 0 path 0]", r"\[leg 0 path 0\] is given twice"),
    ("[paths]", "[volume]", r"\[volume\] is given twice"),
    ("chunk = 256K", "chunk", r'db.conf:4: "chunk" is neither \[section\] nor name = value'),
    ("chunk = 256K", "chunk = 999999999999G", r"db.conf:4: chunk_bytes: 999999999999G is too big"),
    ("chunk = 256K", "enable = 1", r"db.conf:4: enable is not a setting"),
    ("chunk = 256K", "../enable = 1", r'db.conf:4: "../enable" is no name of a setting'),
    ("chunk = 256K", "initiator_name = x", r"db.conf:4: initiator_name is given twice"),
    ("chunk = 256K", "metadata_create = 1", r"metadata_create is for the command create alone"),
    ("fence = path", "portal = 192.0.2.9", r"\[leg 0\] has sections for its paths: portal belongs"),
    ("ping_interval = 1s", "alua = off", r"\[leg 0 path 0\]: alua belongs in \[leg 0\]"),
    ("lun = 7", "chunk = 64K", r"db.conf:\d+: chunk_bytes belongs in \[volume\]"),
    ("ping_interval = 4s", "queue_depth = 8", r"queue_depth belongs in \[volume\]"),
    ("chunk = 256K", "ping_timeout = 4s", r"db.conf:4: ping_timeout_ms belongs in \[paths\], \["),
    ("chunk = 256K", "fence = path", r"db.conf:4: fence belongs in \[leg N\]"),
    ("ping_interval = 4s", "nic = eth9", r"\[paths\] cannot have nic"),
    ("ping_interval = 4s", "fence = path", r"\[paths\] cannot have fence"),
    ("lun = 7", "chap_secret = hunter2hunter2", r"a secret is never given on the command line or in"),
    ("lun = 7", "chap_secret = @-", r"nobody is there to type it at boot: name a file, as @db.secret"),
    ("lun = 7", 'chap_user = "a" b', r'a value that begins with " ends with it'),
    ("lun = 7", 'chap_user = "a', r'a value that begins with " ends with it'),
])
def test_what_is_wrong_is_named(tool, conf, old, new, message):
    conf(CONF.replace(old, new))
    out, err = tool.run("up", "db", code=78)
    assert re.search(message, err) and not out
    assert "hunter2" not in err
    assert tool.volumes() == []


def test_a_file_that_is_not_utf8(tool, conf):
    """The value would be saved as another one; a comment is none."""
    file = conf(f"# M\u00fcller\n{CONF}")
    file.write_text(file.read_text(encoding="utf-8"), encoding="latin-1")
    tool.run("up", "db")
    tool.run("delete", "db")
    file.write_bytes(file.read_bytes().replace(b"lun = 7", b"chap_user = m\xfcller"))
    _, err = tool.run("up", "db", code=78)
    assert re.search(r"db.conf:\d+: chap_user: a value is text in UTF-8, without control", err)
    assert tool.volumes() == []


def test_no_leg(tool, conf):
    conf("[volume]")
    assert "db.conf: there is no [leg 0]: a volume needs a leg" in tool.run("up", "db", code=78)[1]


def test_no_file(tool):
    _, err = tool.run("apply", "db", code=1)
    assert "/etc/istripe/db.conf: No such file" in err and "istripectl save" not in err
    assert "there is no volume db" in tool.run("up", "db", code=78)[1]
    assert tool.run("up", "--all") == ("", "")


def test_a_refused_value_leaves_nothing(tool, conf):
    conf()
    _, err = tool.run("up", "db", code=78, FAKE_REFUSE="lun=7")
    assert 'legs/1/paths/0/lun refuses "7"' in err
    assert tool.volumes() == []


def test_initiator_of_the_host(tool, conf):
    conf(CONF.replace("initiator = iqn.2026-01.a:host\n", ""))
    tool.run("up", "db")
    assert tool.value("db/initiator_name") == "iqn.2026-01.a:host"


def test_secrets(tool, conf, tmp_path):
    """A credential of the service goes before a file beside the configuration."""
    secret_file(tool, "one.secret")
    credentials = tmp_path / "credentials"
    credentials.mkdir()
    (credentials / "two.secret").write_text("another-horse-battery\n")
    (credentials / "two.secret").chmod(0o400)
    conf(CONF.replace("lun = 7", "chap_user = me\nchap_secret = @one.secret\nchap_mutual_user = it\n"
                      "chap_mutual_secret = @two.secret"))
    tool.run("up", "db", CREDENTIALS_DIRECTORY=str(credentials))
    assert tool.value(f"{P1}/chap_secret") == SECRET
    assert tool.value(f"{P1}/chap_mutual_secret") == "another-horse-battery"


def test_credentials_of_the_unit(tool, conf):
    """A shell finds them while the unit is active: it has no CREDENTIALS_DIRECTORY."""
    tool.put("run/credentials/istripe@db.service/two", SECRET).chmod(0o400)
    tool.put("run/credentials/istripe@other.service/one", SECRET).chmod(0o400)
    conf(CONF.replace("lun = 7", "chap_user = me\nchap_secret = @two"))
    tool.run("up", "--saved", "db")
    assert tool.value(f"{P1}/chap_secret") == SECRET
    assert tool.run("save", "db")[1] == tool.run("apply", "db")[1] == ""
    conf(CONF.replace("lun = 7", "chap_user = me\nchap_secret = @one"), "db")
    assert "etc/istripe/one: No such file" in tool.run("apply", "db", code=1)[1]


def test_a_secret_in_a_folder(tool, conf, tmp_path, monkeypatch):
    """It is below the folder of configurations, not below that of the caller."""
    tool.put("etc/istripe/secrets/a", SECRET).chmod(0o600)
    tool.put("etc/other", "another-horse-battery").chmod(0o600)
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets/a").write_text("caught-horse-battery\n")
    (tmp_path / "secrets/a").chmod(0o600)
    conf(CONF.replace("lun = 7", "chap_user = me\nchap_secret = @secrets/a\nchap_mutual_user = it\n"
                      "chap_mutual_secret = @../other"))
    monkeypatch.chdir(tmp_path)
    tool.run("up", "db", CREDENTIALS_DIRECTORY=str(tmp_path))
    assert tool.value(f"{P1}/chap_secret") == SECRET
    assert tool.value(f"{P1}/chap_mutual_secret") == "another-horse-battery"


@pytest.mark.parametrize("up", [False, True])
def test_secrets_go_with_their_names(tool, conf, up):
    """The module refuses a secret without a name, which it would still have."""
    secret_file(tool, "one.secret")
    secret_file(tool, "two.secret", "another-horse-battery")
    chap = ("chap_user = me\nchap_secret = @one.secret\nchap_mutual_user = it\n"
            "chap_mutual_secret = @two.secret")
    conf(CONF.replace("nic = eth1", f"nic = eth1\n{chap}"))
    tool.run("up", "db")
    path = "db/legs/0/paths/0"
    assert tool.value(f"{path}/chap_secret") == SECRET
    assert tool.value(f"{path}/chap_mutual_secret") == "another-horse-battery"
    if not up:
        tool.run("down", "db")
    conf()
    out, _ = tool.run("apply", "db")
    assert 'leg 0 path 0: chap_user "me" -> ""' in out and "leg 0 path 0: chap_secret" in out
    for name in ("user", "secret", "mutual_user", "mutual_secret"):
        assert tool.value(f"{path}/chap_{name}") == ""
    assert tool.run("apply", "db")[0] == ""


@pytest.mark.parametrize("before", ["", "chap_user = me\nchap_secret = @one.secret"])
def test_another_user_comes_with_the_secret(tool, conf, before):
    """The path would log in as the new user with the old secret."""
    secret_file(tool, "one.secret", "some-other-secret-1")
    secret_file(tool, "two.secret")
    conf(CONF.replace("nic = eth1", f"nic = eth1\n{before}"))
    tool.run("up", "db")
    conf(CONF.replace("nic = eth1", "nic = eth1\nchap_user = you\nchap_secret = @two.secret"))
    out, _ = tool.run("apply", "db")
    assert "leg 0 path 0: chap_secret, the path logs in anew" in out
    assert tool.value("db/legs/0/paths/0/chap_user") == "you"
    assert tool.value("db/legs/0/paths/0/chap_secret") == SECRET
    assert tool.run("apply", "db")[0] == ""


def test_secret_that_others_may_read(tool, conf):
    secret_file(tool, "one.secret").chmod(0o644)
    conf(CONF.replace("lun = 7", "chap_secret = @one.secret"))
    assert "its mode is 0644" in tool.run("up", "db", code=78)[1]
    assert tool.volumes() == []


def test_quotes(tool, conf):
    conf(CONF.replace("lun = 7", r'chap_user = " a \"b\\ "'))
    tool.run("apply", "db")
    assert tool.value(f"{P1}/chap_user") == ' a "b\\ '


# Writing

@pytest.mark.parametrize("words", [
    ["--leg", LEG], ["--leg", LEG, "--path", PATH], ["--leg", LEG, "--leg", LEG + ",lun=2"],
    ["--chunk", "1M", "--set", "recovery_timeout=-1,queue_depth=7", "--all-paths", "dscp=3",
     "--leg", LEG + ",fence=path,ping_interval=9s,header_digest=CRC32C,None",
     "--path", PATH + ",ping_interval=1s", "--leg", LEG + ",lun=3,designator= x=y\\, "],
    ["--metadata", "none", "--leg", LEG + ",isid=00023d000001"],
])
def test_round_trip(tool, words):
    """A volume that was saved and forgotten comes back as it was, and its file is the same again."""
    tool.run("create", "db", *words)
    before = files(tool)
    out, err = tool.run("save", "db")
    path = tool.root / "etc/istripe/db.conf"
    assert out == f"db: {path}\n" and not err
    text = path.read_text()
    assert tool.run("show", "--conf", "db")[0] == text
    assert "metadata_create" not in text and not list(path.parent.glob("*.new"))
    tool.run("delete", "db")
    tool.run("up", "db")
    after = files(tool)
    created = {"db/metadata_create"}
    assert {k: v for k, v in before.items() if k not in created} == \
        {k: v for k, v in after.items() if k not in created}
    tool.run("save", "db")
    assert path.read_text() == text
    assert tool.run("apply", "db") == ("", "")


def test_save_says_which_settings_of_another_version_it_drops(tool, conf):
    """The module that is loaded does not know them; from_node is the tool's own."""
    path = conf(CONF.replace("[volume]", "[volume]\nfrom_node = no"))
    tool.run("create", "db", "--no-up", "--leg", LEG, "--leg", "target=iqn.2026-01.a:t2,portal=192.0.2.20")
    tool.run("save", "db")
    path.write_text(path.read_text().replace("[volume]", "[volume]\nnew_setting = 5")
                    .replace("[leg 0 path 0]", "[leg 0 path 0]\nlater_leg_setting = a\nother_setting = x"))
    said = ['db: its file said otherwise: new_setting "5"',
            'db: its file said otherwise: leg 0: later_leg_setting "a"',
            'db: its file said otherwise: leg 0 path 0: other_setting "x"']
    for words in (["-n", "db"], ["db"]):
        assert [line for line in tool.run("save", *words)[0].splitlines() if "said" in line] == said
    assert "said" not in tool.run("save", "db")[0]


def test_what_is_the_default_is_a_comment(tool):
    tool.run("create", "db", "--leg", LEG)
    text = tool.run("show", "--conf", "db")[0].splitlines()
    assert {"#queue_depth = 128", "#fence = auto", "#ping_interval_ms = 2000", "lun = 0",
            "chunk_bytes = 64K", "initiator_name = iqn.2026-01.a:host"} < set(text)
    table = (TOP / "include/istripe/settings.h").read_text(encoding="utf-8")
    names = {name for name, file in re.findall(r"_row\((\w+), (\w+), \w+, \"", table)
             if file != "secret"}
    shown = {re.split(r" =", line.lstrip("#"))[0] for line in text}
    assert names - shown == {"metadata_create", "source_address", "isid"}


def test_secrets_are_not_saved(tool):
    """The names of their files are kept, or invented, and said."""
    secret = secret_file(tool, "x.secret")
    chap = f",chap_user=me,chap_secret=@{secret}"
    tool.run("create", "db", "--leg", LEG + chap)
    _, err = tool.run("save", "db")
    assert "leg 0 path 0: chap_secret is not in the kernel's files" in err
    assert f"put it into {tool.root}/etc/istripe/db.chap_secret, mode 0600" in err
    path = tool.root / "etc/istripe/db.conf"
    text = path.read_text()
    assert "chap_secret = @db.chap_secret" in text and SECRET not in text
    path.write_text(text.replace("@db.chap_secret", "@x.secret"))
    assert tool.run("save", "db")[1] == ""
    assert "chap_secret = @x.secret" in path.read_text()


def test_a_new_path_has_the_secret_of_another(tool):
    """As path add and save leave it, the next boot finds all secrets."""
    chap = f"chap_secret=@{secret_file(tool, 'db.secret')}"
    tool.run("create", "db", "--save", "--leg", f"{LEG},chap_user=me,{chap}")
    tool.run("path", "add", "db", "0", f"{PATH},{chap}")
    assert tool.run("save", "db")[1] == ""
    text = (tool.root / "etc/istripe/db.conf").read_text()
    assert re.findall(r"(?m)^ *chap_secret = (.*)$", text) == [chap.removeprefix("chap_secret=")]
    tool.run("delete", "--force", "db")
    tool.run("up", "--saved", "db")
    assert tool.value("db/legs/0/paths/1/chap_secret") == SECRET
    # Not of another user.
    tool.run("path", "add", "db", "0", f"portal=192.0.2.30,nic=eth3,chap_user=you,{chap}")
    assert "leg 0 path 2: chap_secret is not in the kernel's files" in tool.run("save", "db")[1]


def test_save_does_not_see_the_secret_of_a_new_path(tool):
    """It is said which file the next boot takes it from, also when the old path has gone."""
    old = secret_file(tool, "db.secret")
    new = secret_file(tool, "new.secret", "new-horse-battery")
    tool.run("create", "db", "--save", "--leg", f"{LEG},chap_user=me,chap_secret=@{old}")
    _, err = tool.run("path", "add", "db", "0", f"{PATH},chap_secret=@{new}")
    assert f"the configuration file of db goes on to name {old} for chap_secret\n" in err
    assert f"next: put the new secret there, or change {tool.root}/etc/istripe/db.conf\n" in err
    tool.run("path", "remove", "db", "0", "0")
    new.replace(old)
    assert tool.run("save", "db")[1] == ""
    tool.run("down", "db")
    tool.run("up", "--saved", "db")
    assert tool.value("db/legs/0/paths/1/chap_secret") == "new-horse-battery"


def test_different_secrets_have_different_files(tool):
    secret = secret_file(tool, "x.secret")
    words = [f"portal=192.0.2.{i},nic=eth1,target=iqn.2026-01.a:t{target},chap_user={user},"
             f"chap_secret=@{secret}" for i, (target, user) in enumerate(
                 [(1, "me"), (1, "me"), (1, "you"), (2, "you"), (2, "you")])]
    tool.run("create", "db", "--no-up", "--leg", words[0], "--path", words[1], "--path", words[2],
             "--leg", words[3], "--path", words[4])
    _, err = tool.run("save", "db")
    names = ["db-leg0", "db-leg0", "db-leg0-path2", "db-leg1", "db-leg1"]
    assert re.findall(r"put it into .*/(.*)\.chap_secret, mode 0600", err) == names
    for name in names:
        secret_file(tool, f"{name}.chap_secret", f"secret-of-{name}")
    assert tool.run("save", "db")[1] == ""
    tool.run("delete", "db")
    tool.run("up", "--saved", "db")
    assert [tool.value(f"db/legs/{place}/chap_secret").removeprefix("secret-of-") for place in
            ("0/paths/0", "0/paths/1", "0/paths/2", "1/paths/0", "1/paths/1")] == names


@pytest.mark.parametrize("name, value", [("chap_user", "you"), ("target_name", "iqn.2026-01.a:t9")])
@pytest.mark.parametrize("file", ["x.secret", "db.chap_secret"])
def test_a_secret_is_that_of_a_user(tool, file, name, value):
    """The file of another user's secret is not that of this one, whatever its name."""
    secret = secret_file(tool, file)
    chap = f",chap_user=me,chap_secret=@{secret},chap_mutual_user=it,chap_mutual_secret=@{secret}"
    tool.run("create", "db", "--no-up", "--save", "--leg", LEG + chap)
    assert tool.run("save", "db")[1] == ""
    tool.run("set", "db", "--leg", "0", "--path", "0", f"{name}={value}")
    dry, said = tool.run("save", "-n", "db")[1], tool.run("save", "db")[1]
    assert dry == said and "leg 0 path 0: chap_secret is not in the kernel's files" in said
    assert ("chap_mutual_secret" in said) == (name == "target_name")
    text = (tool.root / "etc/istripe/db.conf").read_text()
    assert "chap_secret = @db.chap_secret\n" in text
    secret_file(tool, "db.chap_secret")
    secret_file(tool, "db.chap_mutual_secret")
    assert tool.run("save", "db")[1] == ""


@pytest.mark.parametrize("words", [["create", "db", "--save"], ["assemble", "db", "--boot"]])
@pytest.mark.parametrize("old", [CONF, "nonsense"], ids=["right", "wrong"])
def test_create_keeps_nothing_of_another_file(tool, conf, words, old):
    """It says that it replaces it, before, too."""
    path = conf(old.replace("[volume]", "[volume]\nfrom_node = yes").replace(
        "nic = eth1", "nic = eth1\nchap_user = me\nchap_secret = @x.secret\nfrom_node = no"))
    words = [*words, "--no-up", "--leg", LEG]
    assert f"db: would replace {path}\n" in tool.run(*words, "-n")[1]
    out, err = tool.run(*words)
    assert out.startswith(f"db: {path}, which was another one before\n") and not err
    assert "from_node" not in path.read_text() and "secret" not in path.read_text()
    # Of a volume that is saved the file is a new one of its own.
    assert tool.run("save", "db")[0] == f"db: {path}\n"


def test_create_saves(tool):
    secret = secret_file(tool, "x.secret")
    out, err = tool.run("create", "db", "--save", "--leg", f"{LEG},chap_user=me,chap_secret=@{secret}")
    path = tool.root / "etc/istripe/db.conf"
    assert out == f"db: /dev/istripe0 (link: /dev/istripe/db)\ndb: {path}\n" and not err
    assert f"chap_secret = @{secret}" in path.read_text()
    assert tool.run("apply", "db") == ("", "")


@pytest.mark.parametrize("secret, reason", [("@-", "@- cannot be saved"), ("@/none/x", "No such file")])
def test_create_cannot_save(tool, secret, reason):
    _, err = tool.run("create", "db", "--save", "--leg", f"{LEG},chap_secret={secret}", code=1)
    assert reason in err
    assert tool.volumes() == []


def proves_itself(tool, conf):
    """A volume that is up, whose target has a secret and no name. Returns its file."""
    for name in ("one", "two"):
        secret_file(tool, f"{name}.secret", f"{name}-horse-battery")
    chap = "chap_user = me\nchap_secret = @one.secret\nchap_mutual_secret = @two.secret"
    path = conf(CONF.replace("nic = eth1", f"nic = eth1\n{chap}"))
    tool.run("up", "db")
    return path


def test_a_target_of_any_name_still_proves_itself(tool, conf):
    """chap_mutual_secret without chap_mutual_user."""
    path = proves_itself(tool, conf)
    assert tool.run("save", "db")[1] == ""
    assert path.read_text().count("chap_mutual_secret = @two.secret\n") == 1
    # The module refuses it without the secret of this initiator, and that without a user.
    for name in ("user", "secret", "mutual_secret"):
        (tool.tree / f"{P0}/chap_{name}").write_text("\n")
    tool.run("save", "db")
    assert "secret = @" not in path.read_text()


def test_a_path_more_where_the_target_proves_itself(tool, conf):
    """What the file names for the first path is needed for another one, too."""
    path = proves_itself(tool, conf)
    folder, add = tool.root / "etc/istripe", ["path", "add", "db", "0"]
    one, two = (f"chap_{name}=@{folder}/{file}.secret" for name, file in
                (("secret", "one"), ("mutual_secret", "two")))
    _, err = tool.run(*add, PATH, code=1)
    assert f"chap_secret of db cannot be read back: give {one}\n" in err
    _, err = tool.run(*add, f"{PATH},{one}", code=1)
    assert f"chap_mutual_secret of db cannot be read back: give {two}\n" in err
    tool.run(*add, f"{PATH},{one},{two}")
    path.unlink()
    _, err = tool.run(*add, PATH, code=1)
    assert "chap_secret of db cannot be read back: give chap_secret=@FILE\n" in err
    tool.run(*add, f"{PATH},{one}")
    tool.run(*add, f"{PATH},chap_user=")


def names(folder):
    return sorted(file.name for file in folder.iterdir())


@pytest.mark.parametrize("file, lead, said", [
    (None, "/nowhere/db.conf", "db.conf: No such file or directory"),
    (None, "/dev/null", "/dev/null is not a regular file"),
    ("db.conf/x", None, "db.conf is not a regular file"),
])
def test_a_file_that_cannot_be_written(tool, file, lead, said):
    folder = tool.root / "etc/istripe"
    folder.mkdir()
    if file:
        tool.put(f"etc/istripe/{file}", "")
    else:
        (folder / "db.conf").symlink_to(lead)
    _, err = tool.run("create", "db", "--no-up", "--save", "--leg", LEG, code=1)
    assert said in err and names(folder) == ["db.conf"]


def test_a_file_that_is_not_complete_is_removed(tool, conf):
    path = conf()
    tool.run("up", "db")
    tool.run("down", "db")
    (tool.tree / P1).rename(tool.root / "lost")
    assert "db: leg 1 has no path" in tool.run("save", "db", code=1)[1]
    assert path.read_text() == CONF and names(path.parent) == ["db.conf"]


def test_each_save_writes_a_file_of_its_own(tool, conf):
    """Of two at once neither fails, and the file is always complete."""
    path = conf()
    tool.run("up", "db")
    (path.parent / "db.conf.new").mkdir()
    tool.run("save", "db")
    text = path.read_text()
    assert names(path.parent) == ["db.conf", "db.conf.new"] and "[leg 1 path 0]" in text
    saves = [tool.start("save", "db") for _ in range(4)]
    assert [(save.communicate()[1], save.returncode) for save in saves] == [("", 0)] * 4
    assert path.read_text() == text and names(path.parent) == ["db.conf", "db.conf.new"]


def test_a_file_keeps_its_place_mode_and_owner(tool, conf):
    path = conf()
    real = path.rename(tool.root / "real.conf")
    path.symlink_to("../../real.conf")
    tool.run("up", "db")
    real.chmod(0o600)
    if not os.geteuid():
        os.chown(real, 12, 34)
    before = real.stat()
    tool.run("save", "db")
    after = real.stat()
    assert path.is_symlink() and "[leg 1 path 0]" in real.read_text()
    assert names(path.parent) == ["db.conf"] and not list(tool.root.glob("real.conf.*"))
    assert (after.st_mode, after.st_uid, after.st_gid) == \
        (before.st_mode, before.st_uid, before.st_gid)


def test_others_read_a_new_file_as_the_umask_says(tool):
    before = os.umask(0o027)
    try:
        tool.run("create", "db", "--no-up", "--save", "--leg", LEG)
    finally:
        os.umask(before)
    assert (tool.root / "etc/istripe/db.conf").stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("words", [["save", "--boot", "db"],
                                   ["create", "db", "--boot", "--leg", LEG],
                                   ["assemble", "db", "--save", "--boot", "--leg", LEG]])
@pytest.mark.parametrize("code", [0, 1])
def test_boot(tool, words, code):
    if words[0] == "save":
        tool.run("create", "db", "--leg", LEG)
    out, err = tool.run(*words, code=code, FAKE_SYSTEMCTL=str(code))
    starts = [] if code else ["start istripe@db.service"]
    assert tool.enabled() == ["enable istripe@db.service", *starts]
    assert (tool.root / "etc/istripe/db.conf").exists()
    assert "db: starts at boot\n" in out if not code else "does not start at boot" in err


def test_unit_that_is_enabled_but_does_not_start(tool):
    """The next boot brings the volume up; until then only its unit is missing."""
    out, err = tool.run("create", "db", "--boot", "--leg", LEG, code=1, FAKE_START="1")
    assert tool.enabled() == ["enable istripe@db.service", "start istripe@db.service"]
    assert "does not start at boot" not in err and "db: starts at boot\n" not in out
    assert ("db is saved, up, and starts at boot, but systemctl start istripe@db.service failed: "
            "nothing stops it at a shutdown\n") in err
    assert "next: systemctl status istripe@db.service\n" in err


def test_boot_of_a_volume_that_is_down(tool):
    """Another host may have its LUNs: it stays down."""
    tool.run("create", "db", "--no-up", "--leg", LEG)
    _, err = tool.run("save", "--boot", "db", code=1, FAKE_SYSTEMCTL="1")
    assert "start at boot: systemctl enable istripe@db.service failed\n" in err
    out, _ = tool.run("save", "--boot", "db")
    assert "db: starts at boot, not now\n" in out
    assert tool.enabled() == 2 * ["enable istripe@db.service"] and tool.value("db/enable") == "0"


# Following the file

def test_up_all(tool, conf):
    conf()
    conf(CONF.replace("t2", "t3"), "log")
    conf("nonsense", "wrong")
    tool.put("etc/istripe/README", "no configuration")
    _, err = tool.run("up", "--all", code=78)
    assert "wrong.conf:1" in err
    assert tool.volumes() == ["db", "log"]
    assert tool.value("db/enable") == tool.value("log/enable") == "1"
    assert "either --all or names" in tool.run("up", "--all", "db", code=2)[1]


@pytest.mark.parametrize("words", [["status"], ["doctor"], ["show"], ["save"],
                                   ["set", "db", "queue_depth=3"], ["path", "remove", "db", "0", "0"]])
def test_a_volume_that_is_only_in_its_file(tool, conf, words):
    conf()
    words = [*words, *["db"] * (len(words) == 1)]
    _, err = tool.run(*words, code=1)
    assert err.endswith("istripectl: there is no volume db\n            next: istripectl up db: it is in "
                        "its file, but not configured\n")
    words = [word.replace("db", "other") for word in words]
    assert "istripectl create, or a file" in tool.run(*words, code=1)[1]


@pytest.mark.parametrize("words", [["down"], ["delete"], ["delete", "--dry-run"]])
def test_what_is_down_already(tool, conf, words):
    """To bring it up is no way to get rid of it."""
    path = conf()
    _, err = tool.run(*words, "db", code=1)
    said = "there is no volume db: it is in its file, but not configured, and so it is down\n"
    if words[0] == "delete":
        said += (f"            next: to have it forgotten: systemctl disable istripe@db; rm {path}\n")
    assert err == f"istripectl: {said}"


def test_a_file_that_is_not_there(tool):
    """save writes one only of a volume that the kernel has."""
    assert "save" not in tool.run("apply", "db", code=1)[1]
    tool.run("create", "db", "--no-up", "--leg", "target=iqn.t,portal=192.0.2.10")
    assert "next: istripectl save db writes it\n" in tool.run("apply", "db", code=1)[1]


def test_a_volume_in_no_file_is_mentioned(tool):
    """When it comes up, and before it is forgotten."""
    leg = ["--leg", "target=iqn.2026-01.a:t1,portal=192.0.2.10"]
    said = "db: not saved: gone after a reboot; next: istripectl save --boot db\n"
    assert tool.run("create", "db", *leg)[1] == said
    def told():
        line = tool.run("show", "--command", "db")[0]
        return f"db: is in no file, where its settings would stay; they are:\n{line}"
    assert tool.run("delete", "--dry-run", "db")[1] == told()
    tool.run("down", "db")
    tool.run("set", "db", "chunk=64K")
    said = told()
    assert tool.run("delete", "db")[1] == said
    assert tool.run("create", "db", "--no-up", *leg)[1] == ""
    tool.run("save", "db")
    assert tool.run("delete", "db")[1] == ""
    assert tool.run("create", "log", "--save", *leg)[1] == ""


def test_a_volume_in_no_file_with_a_gap_is_mentioned(tool):
    """No line makes it."""
    tool.run("create", "db", "--leg", LEG, "--path", PATH)
    tool.run("path", "remove", "db", "0", "0")
    assert "istripectl create" not in tool.run("show", "--command", "db", code=1)[0]
    told = tool.run("show", "--conf", "db")[0]
    said = "db: is in no file, where its settings would stay; they are:\n"
    assert "[leg 0 path 1]" in told and "[leg 0 path 0]" not in told
    assert tool.run("delete", "--dry-run", "db")[1] == said + told
    assert tool.run("delete", "db")[1].startswith(said)


def test_a_file_that_is_refused_configures_nothing(tool, conf):
    conf()
    for words in (["up", "--saved", "db"], ["up", "db"], ["apply", "db"]):
        out, err = tool.run(*words, code=1 if words[0] == "apply" else 78,
                            FAKE_REFUSE="portal=192.0.2.20")
        assert not out and "/portal refuses " in err and tool.volumes() == []


def test_list_has_volumes_that_are_only_in_their_files(tool, conf):
    conf()
    tool.run("create", "a", "--no-up", "--leg", LEG)
    rows = [line.split() for line in tool.run("list")[0].splitlines()[1:]]
    saved = ["db", "-", "saved", "-", "2", "3"]
    assert rows == [["a", "-", "down", "-", "1", "1"], saved]
    assert tool.run("list", "db")[0].splitlines()[1].split() == saved
    assert json.loads(tool.run("list", "--json")[0])["volumes"][1] == {
        "name": "db", "device": None, "state": "saved", "size_bytes": None, "legs": 2, "paths": 3}
    conf("nonsense", "wrong")
    out, err = tool.run("list", code=1)
    assert "wrong.conf:1" in err and "saved" in out
    (tool.root / "etc/istripe/wrong.conf").unlink()
    tool.run("up", "db")
    assert "saved" not in tool.run("list")[0]


@pytest.mark.parametrize("words", [["list"], ["list", "--json"], ["list", "web"]])
def test_list_of_a_file_that_cannot_be_read(tool, conf, words):
    """It is not hidden as one that is gone meanwhile. Nobody waits for a writer of a pipe."""
    conf()
    path = tool.root / "etc/istripe/web.conf"
    for make in (lambda: path.symlink_to("missing"), lambda: os.mkfifo(path)):
        make()
        out, err = tool.run(*words, code=1)
        assert ("db" in out) == (words[-1] != "web")
        assert err == (f"istripectl: {path} is not a regular file\n            next: mend it, or "
                       "move it away; a link is to lead to a file\n")
        path.unlink()


def test_list_of_files_without_the_module(tool, conf):
    conf()
    tool.tree.rename(tool.root / "gone")
    out, err = tool.run("list", code=1)
    assert out.splitlines()[1].split()[:3] == ["db", "-", "saved"] and "modprobe istripe" in err
    assert tool.run("list", "db", code=1) == (out, err)
    assert tool.run("list", "nobody", code=1) == ("", err)


def test_down_all(tool, conf):
    """What is configured, each tried, as by a script at shutdown."""
    conf()
    conf(CONF.replace("t2", "t3"), "log")
    conf(CONF.replace("t2", "t4"), "old")
    tool.run("up", "db", "log")
    assert tool.run("down", "--all", "--dry-run")[0].count(": would take /dev/istripe") == 2
    _, err = tool.run("down", "--all", code=1, FAKE_DISABLE=str(errno.EIO))
    assert "volume db does not go down" in err and "volume log does not go down" in err
    assert tool.run("down", "--all") == ("", "") and tool.volumes() == ["db", "log"]
    assert tool.value("db/enable") == tool.value("log/enable") == "0"
    assert "either --all or names" in tool.run("down", "--all", "db", code=2)[1]
    assert "unknown option --all" in tool.run("delete", "--all", code=2)[1]


def test_down_all_without_the_module(tool):
    tool.tree.rename(tool.root / "gone")
    assert tool.run("down", "--all") == ("", "")


def test_a_secret_in_the_folder_of_configurations(tool):
    """Only files look for it there."""
    secret_file(tool, "db.secret")
    leg = f"{LEG},chap_user=me,chap_secret=@"
    said = "next: chap_secret=@/etc/istripe/db.secret: names are relative to the current folder\n"
    for words in (["--no-up"], ["--no-up", "--save"]):
        _, err = tool.run("create", "db", *words, "--leg", f"{leg}db.secret", code=1)
        assert "db.secret: No such file or directory\n" in err and said in err
        assert "next: chap" not in tool.run("create", "db", *words, "--leg", f"{leg}no.secret", code=1)[1]


def test_up_makes_superblocks(tool, conf):
    """Only when it is told to, and once."""
    conf()
    _, err = tool.run("up", "db", code=1, FAKE_BLANK="1")
    assert "next: istripectl create makes superblocks" in err
    tool.run("up", "--create", "db", FAKE_BLANK="1")
    assert tool.value("db/enable") == "1" and tool.value("db/metadata_create") == "0"
    assert "metadata_create" not in tool.run("show", "--conf", "db")[0]
    # They are there now, and so is the volume.
    said = tool.run("up", "db")
    assert tool.run("up", "--create", "db") == said and tool.value("db/metadata_create") == "0"


def test_up_saved(tool, conf):
    """A volume that was configured otherwise is brought up as it is, or as its file says."""
    tool.run("create", "db", "--no-up", "--leg", LEG, "--leg", LEG + ",lun=9")
    conf(CONF.replace("lun = 7", "lun = 8").replace("[leg 0 path 2]\nportal = 198.51.100.10\n", ""))
    tool.run("up", "db")
    assert tool.value(f"{P1}/lun") == "9"
    tool.run("down", "db")
    out, _ = tool.run("up", "--saved", "db")
    assert 'db: leg 1 path 0: lun "9" -> "8"\n' in out
    assert tool.value(f"{P1}/lun") == "8" and tool.value("db/chunk_bytes") == "262144"


def test_up_keeps_what_is_configured(tool, conf):
    """As after an attempt with a wrong portal: the file that is mended counts with --saved only."""
    path = conf()
    tool.run("up", "db", code=1, FAKE_ENABLE=str(errno.EHOSTUNREACH))
    path.write_text(CONF.replace("192.0.2.20", "192.0.2.21"))
    step = 'leg 1 path 0: portal "192.0.2.20:3260" -> "192.0.2.21'
    _, err = tool.run("up", "db", code=1, FAKE_ENABLE=str(errno.EHOSTUNREACH))
    assert "db is not as its configuration file says, and up leaves that:\n" in err
    assert step in err and err.endswith(" next: istripectl up --saved db\n")
    for _ in range(2):
        out, err = tool.run("up", "db")
        assert out == "db: /dev/istripe0 (link: /dev/istripe/db)\n" and step in err
        assert "next: istripectl apply db; or, to keep it as it is: istripectl save db\n" in err
    assert tool.value(f"{P1}/portal") == "192.0.2.20:3260"
    tool.run("down", "db")
    tool.run("up", "--saved", "db")
    assert tool.value(f"{P1}/portal") == "192.0.2.21:3260" and tool.run("up", "db")[1] == ""


def test_many_differences(tool, conf):
    """What to do about them is there, too."""
    path = conf()
    tool.run("up", "db", code=1, FAKE_ENABLE=str(errno.EHOSTUNREACH))
    more = "".join(f"\n[leg 0 path {number}]\nportal = 192.0.3.{number}" for number in range(3, 16))
    path.write_text(CONF.replace("4s", "3s\nlun = 3\nweight = 9\nlogin_timeout = 7s") + more)
    _, err = tool.run("up", "db", code=1, FAKE_ENABLE=str(errno.EHOSTUNREACH))
    assert "  and " in err and err.endswith(" next: istripectl up --saved db\n")


@pytest.mark.parametrize("words", [["up", "--saved", "db"], ["up", "--all"]])
def test_a_volume_that_is_up_stays_as_it_is(tool, conf, words):
    """As when its unit starts again: nobody takes a path away that somebody has added."""
    path = conf()
    tool.run("up", "db")
    tool.run("path", "add", "db", "0", "portal=203.0.113.10")
    path.write_text(CONF.replace("256K", "64K"))
    before = files(tool)
    out, err = tool.run(*words)
    assert out == "db: /dev/istripe0 (link: /dev/istripe/db)\n" and files(tool) == before
    for line in ("db is up and stays as it is, which is not as its configuration file says:\n",
                 "leg 0 path 1: the path goes\n",
                 'chunk_bytes "262144" -> "65536", needs down and up\n',
                 "next: istripectl apply db; or, to keep it as it is: istripectl save db\n"):
        assert line in err
    assert "the path goes" in tool.run(*words, "--dry-run")[1] and files(tool) == before


@pytest.mark.parametrize("text, said", [("nonsense", "db.conf:1: "), (None, "No such file"),
                                        (CONF[:CONF.index("[leg 1]")], "db has 2 legs, its file 1")])
def test_a_volume_that_is_up_needs_no_file(tool, conf, text, said):
    path = conf()
    tool.run("up", "db")
    path.unlink()
    if text:
        conf(text)
    out, err = tool.run("up", "--saved", "db")
    assert out == "db: /dev/istripe0 (link: /dev/istripe/db)\n" and said in err
    assert "db is up and stays as it is: its configuration file cannot be followed\n" in err


def test_a_volume_that_is_going_down_is_not_waited_for(tool, conf):
    """It shall come up as its file says, so this attempt is none."""
    conf()
    tool.run("up", "db")
    tool.run("up", "--saved", "--wait", "forever", "db", code=1, FAKE_ENABLE=str(errno.EBUSY))


def test_a_volume_that_is_up_as_its_file_says(tool, conf):
    conf()
    tool.run("up", "db")
    assert tool.run("up", "--saved", "db") == ("db: /dev/istripe0 (link: /dev/istripe/db)\n", "")


#: A setting of its leg as somebody may write it, and as the module shows it.
READ_BACK = [
    ("portal", "[fe80::1%lo]:3260", "[fe80::1%1]:3260"), ("portal", "fe80::1%1", "[fe80::1%1]:3260"),
    ("portal", "[fe80:0:0:0:0:0:0:01%lo]", "[fe80::1%1]:3260"),
    ("portal", "[2001:DB8:0::1]:3260", "[2001:db8::1]:3260"),
    ("portal", "192.0.02.10:03260", "192.0.2.10:3260"), ("portal", "192.0.2.10", "192.0.2.10:3260"),
    ("source", "fe80::2%lo", "fe80::2%1"), ("source", "FE80:0::2%1", "fe80::2%1"),
    ("source", "2001:db8:0:0::2", "2001:db8::2"), ("source", "192.0.02.1", "192.0.2.1"),
    ("isid", "80000000ABCD", "80000000abcd"), ("isid", "80000000abcd", "80000000abcd"),
    ("chap_algorithms", "MD5,SHA256", "SHA256,MD5"), ("chap_algorithms", "MD5", "MD5"),
    ("lun", "007", "7"), ("lun", "+7", "7"), ("dscp", "+046", "46"), ("weight", "010", "10"),
    ("send_buffer_bytes", "8K", "8192"), ("send_buffer_bytes", "008192", "8192"), ("ping_interval", "1s", "1000"),
    ("fence_timeout", "+60000", "60000"), ("ghost_timeout", "-01", "-1"),
    ("designator", "naa.6001405ABC", "naa.6001405ABC"), ("header_digest", "CRC32C", "CRC32C"),
    ("initial_r2t", "Yes", "Yes"), ("max_burst_length", "1M", "1048576"), ("policy", "weighted", "weighted"),
    ("target", "iqn.2026-01.A:t2", "iqn.2026-01.A:t2"), ("congestion_control", "bbr", "bbr"),
]


def with_setting(name, text):
    """The leg of one path has it, in the place of what it had."""
    before, leg = CONF.split("[leg 1]")
    leg = re.sub(rf"^{name} = .*\n", "", leg, flags=re.MULTILINE)
    if name == "source" and ":" in text:
        leg = leg.replace("192.0.2.20", "2001:db8::20")
    return f"{before}[leg 1]\n{name} = {text}{leg}"


@pytest.mark.parametrize("name, text, shown", READ_BACK)
def test_what_the_module_shows_otherwise_is_no_change(tool, conf, name, text, shown):
    """Of one path, which could not log in anew; the next save leaves names of interfaces."""
    conf(with_setting(name, text))
    tool.run("up", "db")
    file, = [file for file in (tool.tree / "db/legs/1").rglob(f"{name}*")
             if file.name in (name, f"{name}_address", f"{name}_name", f"{name}_ms")]
    assert file.read_text() == f"{shown}\n"
    assert tool.run("apply", "db") == ("", "")
    tool.run("down", "db")
    out, err = tool.run("up", "--saved", "db")
    assert "->" not in out and not err
    tool.run("save", "db")
    assert tool.run("apply", "db") == ("", "")
    assert "%1" not in (tool.root / "etc/istripe/db.conf").read_text()


@pytest.mark.parametrize("name, text, other", [
    ("portal", "[fe80::1%lo]:3260", "[fe80::1%2]:3260"), ("portal", "[fe80::1%lo]", "[fe80::1%lo]:3261"),
    ("portal", "[fe80::1%lo]", "[fe80::2%lo]"), ("portal", "192.0.2.1", "192.0.2.10"),
    ("source", "192.0.2.1", "192.0.2.2"), ("source", "192.0.2.1", ""), ("source", "fe80::2%lo", "fe80::3%lo"),
    ("isid", "80000000ABCD", ""),
    ("isid", "80000000abcd", "80000000abce"), ("chap_algorithms", "MD5,SHA256", "MD5"),
    ("chap_algorithms", "SHA256", "SHA256,MD5"), ("lun", "007", "8"),
])
def test_another_value_is_a_change(tool, conf, name, text, other):
    conf(with_setting(name, text))
    tool.run("up", "db")
    conf(with_setting(name, other))
    # The nic of a link-local one that has none is its interface.
    nic = '(db: leg 1 path 0: nic ".*" -> ".*", needs down and up\n)?' if "%" in text else ""
    assert re.fullmatch(rf'{nic}db: leg 1 path 0: {name}\w* ".*" -> ".*", needs down and up\n',
                        tool.run("apply", "--dry-run", "db")[0])


def test_an_interface_that_is_gone(tool, conf):
    """Its number is all that is known of it."""
    conf(with_setting("portal", "[fe80::1%4000000000]"))
    tool.run("up", "db")
    assert tool.run("apply", "db") == ("", "")
    tool.run("save", "db")
    assert "portal = [fe80::1%4000000000]:3260" in (tool.root / "etc/istripe/db.conf").read_text()


def test_superblocks_say_the_chunk(tool, conf):
    """That of an array is another one than the default, and its file need not say it."""
    conf(CONF.replace("chunk = 256K\n", ""))
    tool.run("up", "db")
    (tool.tree / "db/chunk_bytes").write_text("131072\n")
    assert tool.run("apply", "db") == ("", "")
    conf(CONF.replace("chunk = 256K", "metadata = none"))
    assert 'db: chunk_bytes "131072" -> "65536"' in tool.run("apply", "--dry-run", "db")[0]


def chunk_of_the_file(tool):
    """What the file says, None: nothing."""
    text = (tool.root / "etc/istripe/db.conf").read_text()
    found = re.search("^chunk_bytes = (.*)$", text, re.MULTILINE)
    return found and found[1]


@pytest.mark.parametrize("commands, said", [
    ([["assemble", "db", "--save", "--leg", LEG]], "512K"),
    ([["assemble", "db", "--boot", "--chunk", "512K", "--leg", LEG]], "512K"),
    ([["assemble", "db", "--save", "--no-up", "--leg", LEG]], None),
    ([["assemble", "db", "--leg", LEG], ["save", "db"]], "512K"),
    ([["assemble", "db", "--leg", LEG], ["down", "db"], ["save", "db"]], "512K"),
    # Never up: the chunk that the module shows may be another one than that of the superblocks.
    ([["assemble", "db", "--no-up", "--leg", LEG], ["save", "db"]], None),
    ([["assemble", "db", "--no-up", "--chunk", "512K", "--leg", LEG], ["save", "db"]], "512K"),
])
def test_an_array_of_another_chunk_is_there_at_the_next_boot(tool, commands, said):
    tool.env["FAKE_CHUNK"] = "524288"
    for words in commands:
        tool.run(*words)
    assert chunk_of_the_file(tool) == said
    tool.run("delete", "--force", "db")
    tool.run("up", "db")
    assert tool.value("db/chunk_bytes") == "524288"
    tool.run("save", "db")
    assert chunk_of_the_file(tool) == "512K"
    assert tool.run("apply", "db") == ("", "")


@pytest.mark.parametrize("words, said", [
    (["create", "db", "--save"], "64K"), (["create", "db", "--save", "--chunk", "128K"], "128K"),
    (["create", "db", "--save", "--no-up", "--chunk", "64K"], "64K"),
    (["create", "db", "--save", "--no-up", "--metadata", "none"], "64K"),
])
def test_the_chunk_is_in_the_file_when_it_is_known(tool, words, said):
    tool.run(*words, "--leg", LEG)
    assert chunk_of_the_file(tool) == said


def test_a_written_chunk_of_another_array_is_refused(tool):
    _, err = tool.run("assemble", "db", "--chunk", "64K", "--leg", LEG, code=1, FAKE_CHUNK="524288")
    assert "chunk_bytes is 65536, but the superblocks say 524288" in err


def test_the_line_of_an_array_that_was_never_up(tool):
    """What show prints makes the same volume of an array of any chunk."""
    tool.run("assemble", "db", "--no-up", "--leg", LEG)
    assert "--chunk" not in tool.run("show", "--command", "db")[0]
    assert "chunk_bytes" not in tool.run("show", "--conf", "db")[0]
    tool.run("up", "db", FAKE_CHUNK="524288")
    assert "--chunk 512K" in tool.run("show", "--command", "db")[0]
    assert "\nchunk_bytes = 512K\n" in tool.run("show", "--conf", "db")[0]


def test_manual_page_is_that_of_the_table():
    """Every setting that a file may have, as the driver's table and the ABI's document have it."""
    folder = TOP / "tools/istripectl"
    loader = importlib.machinery.SourceFileLoader("conf_manual", str(folder / "conf-manual"))
    manual = importlib.util.module_from_spec(importlib.util.spec_from_loader("conf_manual", loader))
    loader.exec_module(manual)
    assert manual.page() == (folder / "istripe.conf.5").read_text(encoding="utf-8"), \
        "next: tools/istripectl/conf-manual"


def test_fuzz_configurations(built, tmp_path):
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    (corpus / "seed").write_text(CONF)
    done = subprocess.run(
        [built / "conf_fuzz", "-runs=20000", "-max_len=800", "-seed=1", "-verbosity=0",
         f"-artifact_prefix={tmp_path}/", corpus], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]


# A setting of a leg that a later module has
