# SPDX-License-Identifier: GPL-2.0
"""What a portal offers, as fake_iscsiadm says it in the form of iscsiadm 2.1.8 and iscsi-ls 1.19."""

import json
import re
import shlex
import shutil

import pytest
from iscsiadm import ONLY_ROOT, SECRET, T1, T2, asked

FOUND = f"192.0.2.10:3260,1 {T1}\n198.51.100.10:3260,2 {T1}\n[2001:db8::1]:3260,1 {T2}"
LUNS = f"""\
Target:{T2} Portal:[2001:db8::1]:3260,1
Lun:0    Type:STORAGE_ARRAY_CONTROLLER
Target:{T1} Portal:192.0.2.10:3260,1
Lun:0    Type:STORAGE_ARRAY_CONTROLLER
Lun:1    Type:DIRECT_ACCESS (Size:63M)
Lun:12   Type:DIRECT_ACCESS (Size:2T)
Target:{T1} Portal:198.51.100.10:3260,2
Lun:1    Type:DIRECT_ACCESS (Size:63M)
Target:iqn.unknown Portal:192.0.2.10:3260,1
Lun:1    Type:DIRECT_ACCESS (Size:63M)"""


@pytest.fixture
def found(tool, stock):
    tool.put("discovered", FOUND)
    tool.put("luns", LUNS)
    tool.put("fake/addresses", "eth1 192.0.2.1 24\neth2 198.51.100.1 24")
    (tool.root.parent / "bin/iscsi-ls").symlink_to(
        (tool.root.parent / "bin/iscsiadm").readlink())


def test_targets(tool, found):
    out, err = tool.run("discover", "192.0.2.10")
    assert not err and out == f"""\
{T1}
    portal    192.0.2.10:3260, portal group 1
    portal    198.51.100.10:3260, portal group 2
    use       --leg target={T1},portal=192.0.2.10:3260 --path portal=198.51.100.10:3260
{T2}
    portal    [2001:db8::1]:3260, portal group 1
    use       --leg 'target={T2},portal=[2001:db8::1]:3260'
"""
    assert asked(tool) == ["-m discovery -t st -p 192.0.2.10 -o nonpersistent"]
    # They are the words that create takes.
    words = out.split("use       ")[1].split("\n")[0].split()
    tool.run("create", "db", "--no-up", *words)
    assert tool.value("db/legs/0/paths/1/portal") == "198.51.100.10:3260"


@pytest.mark.parametrize("reach, nics", [
    ("eth1 0\n{0} eth2 0\n{0} eth3 0", "eth1,eth2"), ("eth1 0\n{0} eth2 113", None),
])
def test_several_nics(tool, found, reach, nics):
    """One line says what the words lack: eth1 and eth2 are in the subnet, eth3 is in another one."""
    portal = "192.0.2.10:3260"
    tool.put("fake/addresses", "lo 127.0.0.1 8\neth1 192.0.2.1 24\neth2 192.0.2.2 24\n"
             "eth2 192.0.2.3 24\neth3 198.51.100.1 24")
    tool.put("fake/reach", f"{portal} {reach.format(portal)}\n198.51.100.10:3260 eth3 0")
    out, err = tool.run("discover", "192.0.2.10")
    assert ",nic=" not in out
    assert err == (f"istripectl: {portal} answers over eth1,eth2: give each path its nic=, as --path "
                   f"portal={portal},nic=eth2, or: istripectl create NAME --discover 192.0.2.10 "
                   "--nics eth1,eth2\n" if nics else "")
    tool.put("ifaces", "one tcp,<empty>,<empty>,eth1,<empty>")
    assert tool.run("discover", "192.0.2.10", "--nic", "eth1")[1] == ""


def test_json(tool, found):
    answer = json.loads(tool.run("discover", "192.0.2.10:3260", "--json")[0])
    assert set(answer) == {"schema", "targets"} and answer["schema"] == 1
    targets = answer["targets"]
    assert targets[0] == {
        "target_name": T1, "luns": None, "used_by": [],
        "portals": [{"portal": "192.0.2.10:3260", "portal_group": 1},
                    {"portal": "198.51.100.10:3260", "portal_group": 2}],
        "words": f"--leg target={T1},portal=192.0.2.10:3260 --path portal=198.51.100.10:3260"}
    assert targets[1]["target_name"] == T2


def test_volumes_of_this_host(tool, found):
    tool.run("create", "db", "--no-up", "--leg", f"target={T2},portal=192.0.2.1,lun=7",
             "--leg", f"target={T1},portal=192.0.2.1",
             "--leg", "target=iqn.2026-01.a:other,portal=192.0.2.99,lun=1",
             "--path", f"target={T2},portal=192.0.2.1,lun=5",
             "--path", f"target={T2},portal=198.51.100.1,lun=5")
    tool.put("etc/istripe/later.conf", f"[leg 0]\ntarget = {T1}\nlun = 3\nportal = 192.0.2.1")
    tool.put("etc/istripe/db.conf", f"[leg 0]\ntarget = {T2}\nlun = 9\nportal = 192.0.2.1")
    tool.put("etc/istripe/bad.conf", "nonsense")
    out, _ = tool.run("discover", "192.0.2.10")
    assert [line.strip() for line in out.splitlines() if "used by" in line] == [
        "used by   LUN 0 is leg 1 of volume db", "used by   LUN 3 is leg 0 of volume later",
        "used by   LUN 7 is leg 0 of volume db", "used by   LUN 5 is leg 2 of volume db"]
    one, other = json.loads(tool.run("discover", "192.0.2.10", "-J")[0])["targets"]
    assert one["used_by"] == [{"volume": "db", "leg": 1, "lun": 0},
                              {"volume": "later", "leg": 0, "lun": 3}]
    assert other["used_by"] == [{"volume": "db", "leg": 0, "lun": 7},
                                {"volume": "db", "leg": 2, "lun": 5}]


def test_luns(tool, found):
    out, _ = tool.run("discover", "192.0.2.10:3261", "--luns")
    assert "    LUN 1     63M\n    LUN 12    2T\n" in out and "unknown" not in out
    assert asked(tool)[1] == "-s -i iqn.2026-01.a:host iscsi://192.0.2.10:3261"
    one, other = json.loads(tool.run("discover", "192.0.2.10", "--luns", "--json")[0])["targets"]
    assert one["luns"] == [{"lun": 1, "size": "63M"}, {"lun": 12, "size": "2T"}]
    assert other["luns"] == []


@pytest.mark.parametrize("portal, host", [
    ("fd00::2", "[fd00::2]"), ("[fd00::2]:3261", "[fd00::2]:3261"), ("[fd00::2]", "[fd00::2]"),
    ("fe80::2%eth1", "[fe80::2%eth1]"), ("array1:3261", "array1:3261"), ("array1", "array1"),
])
def test_luns_by_url(tool, found, portal, host):
    """libiscsi takes what is behind a colon for a port."""
    tool.run("discover", portal, "--luns")
    assert asked(tool)[0] == f"-m discovery -t st -p {portal} -o nonpersistent"
    assert asked(tool)[1].split()[-1] == f"iscsi://{host}"


@pytest.mark.parametrize("words, zone", [
    (["[fe80::1%lo]:3260"], "%lo"), (["fe80::1%1"], "%1"), (["192.0.2.10", "--nic", "eth1"], "%eth1"),
    (["fe80::1%lo", "--nic", "eth1"], "%lo"), (["192.0.2.10"], ""),
])
def test_a_link_local_portal_has_an_interface(tool, found, words, zone):
    """The module refuses one without; a target does not know those of this host."""
    tool.put("ifaces", "one tcp,<empty>,<empty>,eth1,<empty>")
    tool.put("discovered", f"[fe80::1]:3260,1 {T1}\n[fe80::2%lo]:3260,1 {T1}\n192.0.2.10:3260,1 {T1}")
    out, _ = tool.run("discover", *words)
    assert [line.split()[1] for line in out.splitlines() if line.startswith("    portal")] == [
        f"[fe80::1{zone}]:3260,", "[fe80::2%lo]:3260,", "192.0.2.10:3260,"]
    assert f"portal=[fe80::1{zone}]:3260" in out


def test_a_target_that_does_not_answer(tool, found):
    out, err = tool.run("discover", "192.0.2.10", "--luns", code=1, FAKE_LUNS="ALRM")
    assert out == tool.run("discover", "192.0.2.10")[0]
    assert "istripectl: iscsi-ls has not got all LUNs within 60 s\n" in err
    assert "next: mend the portal that does not answer, or leave --luns out\n" in err
    program = tool.root.parent / "bin/iscsi-ls"
    program.unlink()
    program.write_text("#!/usr/bin/python3\nimport signal\n"
                       "exit(f'alarm after {signal.getitimer(signal.ITIMER_REAL)[0]} s')\n")
    program.chmod(0o755)
    _, err = tool.run("discover", "192.0.2.10", "--luns", code=1)
    assert 50 < float(err.split("alarm after ")[1].split()[0]) <= 60


def test_a_lun_that_has_something_to_say_first(tool, found):
    """iscsi-ls ends at the first UNIT ATTENTION, which is gone with the next question."""
    whole = tool.run("discover", "192.0.2.10", "--luns")
    tool.put("iscsiadm.log", "")
    assert tool.run("discover", "192.0.2.10", "--luns", FAKE_LUNS_FAIL="1") == whole
    tool.put("iscsiadm.log", "")
    out, err = tool.run("discover", "192.0.2.10", "--luns", code=1, FAKE_LUNS_FAIL="9")
    assert out == tool.run("discover", "192.0.2.10")[0]
    assert err.startswith("istripectl: the LUNs are not known: iscsi-ls -s failed with exit code 10\n")
    assert "UNIT_ATTENTION" in err and "next: after a UNIT_ATTENTION the same command again; else" in err
    assert (tool.root / "iscsiadm.log").read_text().count("iscsi://") == 2
    tool.put("iscsiadm.log", "")
    out, _ = tool.run("discover", "192.0.2.10", "--luns", "--json", code=1, FAKE_LUNS_FAIL="9")
    assert {str(target["luns"]) for target in json.loads(out)["targets"]} == {"None"}


def test_luns_that_are_not_known(tool, found):
    """The line is the one that has failed."""
    _, err = tool.run("discover", "fd00::2", "--luns", code=1, FAKE_LUNS_FAIL="9")
    assert err.endswith("compare --chap and the initiator name with the target's\n            next: to see it: "
                        "iscsi-ls -s -i iqn.2026-01.a:host 'iscsi://[fd00::2]'\n")


@ONLY_ROOT
def test_luns_that_are_not_known_with_chap(tool, found):
    """A secret is in no line, which would fail otherwise without it."""
    tool.put("etc/iscsi/iscsid.conf", "node.startup = manual")
    secret = tool.put("own.secret", SECRET)
    secret.chmod(0o600)
    _, err = tool.run("discover", "fd00::2", "--luns", "--chap", f"user=me,secret=@{secret}", code=1,
                      FAKE_LUNS_FAIL="9")
    assert err.endswith("compare --chap and the initiator name with the target's\n")


def test_a_size_is_that_of_somebody_else(tool, found):
    tool.put("luns", f"Target:{T1} Portal:192.0.2.10:3260,1\nLun:1    Type:DIRECT_ACCESS (Size:\x1b[2J)")
    out, _ = tool.run("discover", "192.0.2.10", "--luns")
    assert "LUN 1     ?[2J\n" in out


def test_nic(tool, found):
    tool.put("ifaces", "default tcp,<empty>,<empty>,<empty>,<empty>\n"
             "hard bnx2i,00:11:22:33:44:55,<empty>,eth1,<empty>\n"
             "one tcp,<empty>,<empty>,eth1,<empty>")
    out, _ = tool.run("discover", "192.0.2.10", "--nic=eth1")
    assert "portal=192.0.2.10:3260,nic=eth1 --path portal=198.51.100.10:3260,nic=eth1" in out
    assert asked(tool)[-1] == "-m discovery -t st -p 192.0.2.10 -o nonpersistent -I one"
    _, err = tool.run("discover", "192.0.2.10", "--nic", "eth2", code=1)
    assert "no iface of open-iscsi is bound to eth2" in err
    assert "next: iscsiadm -m iface -I eth2 -o new" in err


@ONLY_ROOT
def test_chap(tool, found):
    conf = tool.put("etc/iscsi/iscsid.conf", "node.startup = manual")
    file = tool.put("own.secret", SECRET)
    file.chmod(0o600)
    mutual = tool.put("mutual.secret", "another-secret")
    mutual.chmod(0o600)
    chap = f"user=me,secret=@{file}"
    tool.run("discover", "192.0.2.10", "--luns", "--chap", chap)
    assert (tool.root / "iscsid.conf.seen").read_text() == (
        "node.startup = manual\ndiscovery.sendtargets.auth.authmethod = CHAP\n"
        f"discovery.sendtargets.auth.username = me\ndiscovery.sendtargets.auth.password = {SECRET}\n")
    assert (tool.root / "luns.chap").read_text() == f"PASSWORD={SECRET}\nUSERNAME=me\n"
    tool.run("discover", "192.0.2.10", "--luns", "--chap",
             f"{chap},mutual_user=it,mutual_secret=@{mutual}")
    assert (tool.root / "iscsid.conf.seen").read_text().endswith(
        "discovery.sendtargets.auth.username_in = it\n"
        "discovery.sendtargets.auth.password_in = another-secret\n")
    # Each target that is logged in to proves itself, too.
    assert (tool.root / "luns.chap").read_text() == (
        f"PASSWORD={SECRET}\nTARGET_PASSWORD=another-secret\nTARGET_USERNAME=it\nUSERNAME=me\n")
    # In a mount namespace of its own: the file of the host is as it was, and no command has it.
    assert conf.read_text() == "node.startup = manual\n"
    assert SECRET not in (tool.root / "iscsiadm.log").read_text()
    conf.unlink()
    _, err = tool.run("discover", "192.0.2.10", "--chap", chap, code=1)
    assert "etc/iscsi/iscsid.conf: No such file" in err


@ONLY_ROOT
@pytest.mark.parametrize("typed, user", [
    ("a\\,b", "a,b"), ("a,b", "a,b"), ("a\\\\b", "a\\b"), ("a\\,b=c", "a,b=c")])
def test_chap_is_a_list(tool, found, typed, user):
    tool.put("etc/iscsi/iscsid.conf", "node.startup = manual")
    file = tool.put("own.secret", SECRET)
    file.chmod(0o600)
    tool.run("discover", "192.0.2.10", "--luns", "--chap", f"user={typed},secret=@{file}")
    assert (tool.root / "luns.chap").read_text() == f"PASSWORD={SECRET}\nUSERNAME={user}\n"


@pytest.mark.parametrize("words, message", [
    ([], "which portal?"), (["a", "b"], '"b" is one word too many'), (["--nic"], "--nic needs"),
    (["a", "--wrong"], "--wrong"), (["a", "--chap"], "--chap needs a value"),
    (["a", "--chap", "user=me"], "--chap needs user=NAME,secret=@FILE"),
    (["a", "--chap", "user=me,secret=@f,lun=1"], '--chap: "lun" is none of user=NAME'),
    (["a", "--chap", "user=me,secret"], "--chap needs user=NAME,secret=@FILE"),
    (["a", "--chap", "me,secret=@f"], '"me" is not NAME=VALUE'),
    (["a", "--chap", "user=me,user=you,secret=@f"], "user is given twice"),
    (["a", "--chap", "user=,secret=@f"], "--chap needs user=NAME,secret=@FILE"),
    (["a", "--chap", "user=me,secret=plain-text-here"], "never given on the command line"),
])
def test_usage(tool, found, words, message):
    out, err = tool.run("discover", *words, code=2)
    assert not out and message in err and "usage: istripectl discover" in err
    assert "plain-text" not in err and asked(tool) == []


def test_failures(tool, found):
    _, err = tool.run("discover", "192.0.2.10", code=1, FAKE_ISCSIADM="4")
    assert "iscsiadm -m discovery failed with exit code 4" in err
    assert "it does not work today" in err and "does it want --chap?" in err
    _, err = tool.run("discover", "192.0.2.10", code=1, PATH="/nonexistent")
    assert "install the package open-iscsi" in err
    programs = tool.root.parent / "bin"
    (programs / "iscsi-ls").unlink()
    for name in ("cat", "cp"):
        (programs / name).symlink_to(shutil.which(name))
    out, err = tool.run("discover", "192.0.2.10", "--luns", code=1, PATH=str(programs))
    assert "install the package libiscsi-bin" in err and T1 in out
    tool.put("discovered", "").write_text("")
    _, err = tool.run("discover", "192.0.2.10", code=1)
    assert "192.0.2.10 offers no target to this initiator" in err


def test_a_name_that_would_command_the_terminal(tool, found):
    """Nobody has proven to be the target that answers."""
    (tool.root / "discovered").write_bytes(b"192.0.2.10:3260,1 iqn.evil:\x1b]0\x07&reboot\xff\n")
    out, _ = tool.run("discover", "192.0.2.10")
    assert "iqn.evil:?]0?&reboot?" in out and "'target=iqn.evil:" in out
    name = json.loads(tool.run("discover", "192.0.2.10", "--json")[0])["targets"][0]["target_name"]
    assert name == "iqn.evil:?]0?&reboot?"


#: The module refuses them, and create would take settings out of the first one.
NO_NAMES = (f"{T1},chap_user=prod,chap_secret=@/etc/istripe/prod.secret,fence=path", f"{T1} --boot",
            f"{T1};reboot", f"{T1}=x", "disk.of.mine", "iqn.", "iqn.x:" + "n" * 218, "")


@pytest.mark.parametrize("name", NO_NAMES, ids=("settings", "words", "separator", "equals", "type",
                                               "only a type", "long", "empty"))
def test_a_name_that_is_none(tool, found, name):
    tool.put("discovered", f"192.0.2.10:3260,1 {name}\n{FOUND}\n192.0.2.11:3260,1 {name}")
    out, err = tool.run("discover", "192.0.2.10")
    assert re.findall(r"^\S+", out, re.MULTILINE) == [T1, T2]
    assert "chap_" not in out and "fence" not in out and "boot" not in out
    assert err == (f'istripectl: warning: 192.0.2.10 offers "{name}", which is no iSCSI name: '
                   "left out\n")
    out, err = tool.run("discover", "192.0.2.10", "--json")
    assert [target["target_name"] for target in json.loads(out)["targets"]] == [T1, T2]
    assert err.count(": left out\n") == 1


def test_the_longest_name_and_other_types(tool, found):
    names = ["iqn.x:" + "n" * 217, "eui.02004567A425678D", "NAA.52004567BA64678D"]
    tool.put("discovered", "\n".join(f"192.0.2.10:3260,1 {name}" for name in names))
    out, err = tool.run("discover", "192.0.2.10")
    assert not err and re.findall(r"^\S+", out, re.MULTILINE) == names


def test_no_name_is_one(tool, found):
    tool.put("discovered", f"192.0.2.10:3260,1 {NO_NAMES[0]}")
    out, err = tool.run("discover", "192.0.2.10", code=1)
    assert not out and err.count(": left out\n") == 1
    assert "offers no target to this initiator" not in err
    assert "istripectl: 192.0.2.10 offers only names that no target can have\n" in err


@pytest.mark.parametrize("name", ["iqn.x:a\\b", "iqn.x:a\\", "iqn.x:$(reboot)`x`'\"\\\\'"])
def test_words_are_read_as_the_name(tool, found, name):
    """A backslash is one of lists, too."""
    tool.put("discovered", f"192.0.2.10:3260,1 {name}")
    out, _ = tool.run("discover", "192.0.2.10")
    tool.run("create", "db", "--no-up", *shlex.split(out.split("use       ")[1]))
    assert tool.value("db/legs/0/paths/0/target_name") == name
    assert tool.value("db/legs/0/paths/0/portal") == "192.0.2.10:3260"
