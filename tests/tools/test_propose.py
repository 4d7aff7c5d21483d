# SPDX-License-Identifier: GPL-2.0
"""create --discover: legs and paths as a portal, the network and the LUNs say, and who is asked."""

import os
import pty
import shutil
import socket
import subprocess

import pytest
from iscsiadm import HERE, ONLY_ROOT, SECRET, T1, T2, asked

A, B, C = "192.0.2.10:3260", "198.51.100.10:3260", "[2001:db8::1]:3260"
FOUND = f"{A},1 {T2}\n{B},2 {T2}\n{A},1 {T1}\n{B},2 {T1}"
DISK = "DIRECT_ACCESS"
GIB = 1 << 30
#: Each target has a disk of its own, over whatever portal.
DISKS = f"*/{T1}/0 {DISK} naa-1 s1 {GIB}\n*/{T2}/0 {DISK} naa-2 s2 {2 * GIB}"
ARGS = ["create", "db", "--discover", "192.0.2.10", "--nics", "eth1,eth2"]


@pytest.fixture
def found(tool, stock):
    for name in ("iscsi-inq", "iscsi-readcapacity16"):
        (tool.root.parent / "bin" / name).symlink_to(HERE / "fake_iscsiadm")
    tool.put("discovered", FOUND)
    tool.put("disks", DISKS)
    tool.put("fake/addresses", "eth1 192.0.2.1 24\neth2 198.51.100.1 24")
    tool.put("fake/reach", f"{A} eth1 0\n{A} eth2 113\n{B} eth1 113\n{B} eth2 0")


def conf(tool):
    return tool.root / "etc/istripe/db.conf"


def paths(tool):
    """(leg, path): (target, LUN, portal, NIC)"""
    names = ("target_name", "lun", "portal", "nic")
    return {tuple(int(part) for part in (path.parts[-3], path.parts[-1])):
            tuple((path / name).read_text().rstrip("\n") for name in names)
            for path in tool.tree.glob("db/legs/*/paths/*")}


BOTH = {(0, 0): (T1, "0", A, "eth1"), (0, 1): (T1, "0", B, "eth2"),
        (1, 0): (T2, "0", A, "eth1"), (1, 1): (T2, "0", B, "eth2")}
STARTED = ["enable istripe@db.service", "start istripe@db.service"]


def test_from_nothing(tool, found):
    out, err = tool.run(*ARGS, "--yes", "--chunk", "128K")
    assert out == (f"db: /dev/istripe0 (link: /dev/istripe/db)\ndb: {conf(tool)}\n"
                   "db: starts at boot\n")
    assert tool.enabled() == STARTED
    assert paths(tool) == BOTH
    assert tool.value("db/chunk_bytes") == "131072" and tool.value("db/metadata_create") == "1"
    lines = [line.split() for line in err.splitlines()]
    assert lines[:5] == [
        ["LEG", "PATH", "PORTAL", "NIC", "SIZE", "LUN", "TARGET"],
        ["0", "0", A, "eth1", "1", "GiB", "0", T1], ["0", "1", B, "eth2", "1", "GiB", "0", T1],
        ["1", "0", A, "eth1", "2", "GiB", "0", T2], ["1", "1", B, "eth2", "2", "GiB", "0", T2]]
    assert err.splitlines()[5:] == [
        f"left out: {A} over eth2: No route to host", f"left out: {B} over eth1: No route to host",
        "volume db: legs: 2, chunk: 128 KiB, metadata: md"]
    assert tool.run("apply", "--dry-run", "db")[0] == ""
    # Each was logged in to over its own interface, as this host.
    assert {line.split()[1] for line in (tool.root / "sessions").read_text().splitlines()} == {
        "eth1", "eth2"}
    assert f"-i iqn.2026-01.a:host -e 1 -c 131 iscsi://{B}/{T2}/0" in asked(tool)


def test_link_local_portals(tool, found):
    """Of the link of each NIC, which the target does not know."""
    tool.put("discovered", f"[fe80::1]:3260,1 {T1}\n[fe80::2]:3260,1 {T1}")
    tool.put("fake/reach", "[fe80::1%lo]:3260 lo 0\n[fe80::2%eth1]:3260 eth1 0")
    words = ["create", "db", "--discover", "fe80::1%lo", "--yes", "--nics"]
    # This host has no eth1.
    _, err = tool.run(*words, "lo,eth1", code=1)
    assert [line.split()[:4] for line in err.splitlines()[1:3]] == [
        ["0", "0", "[fe80::1%lo]:3260", "lo"], ["0", "1", "[fe80::2%eth1]:3260", "eth1"]]
    assert f"iscsi://[fe80::2%eth1]:3260/{T1}/0" in " ".join(asked(tool))
    tool.run(*words, "lo")
    assert list(paths(tool).values()) == [(T1, "0", "[fe80::1%1]:3260", "lo")]


@pytest.mark.parametrize("words, saved, enabled", [
    ([], True, STARTED), (["--save"], True, STARTED),
    (["--no-up"], True, ["enable istripe@db.service"]), (["--no-boot"], True, []),
    (["--no-save"], False, []), (["--no-save", "--no-boot"], False, []),
])
def test_saved_and_started_at_boot(tool, found, words, saved, enabled):
    out, _ = tool.run(*ARGS, "--yes", *words)
    assert conf(tool).exists() == saved == (f"db: {conf(tool)}\n" in out)
    assert tool.enabled() == enabled and bool(enabled) == ("db: starts at boot" in out)
    assert ("at boot, not now" in out) == ("--no-up" in words)
    assert paths(tool) == BOTH


def test_no_service_manager(tool, found):
    """The volume is there, and so is its file. It is an error only with --boot."""
    (tool.root / "bin/systemctl").unlink()
    path = f"{tool.root}/bin:{tool.root.parent}/bin"
    for name in ("cat", "cp", "sh", "grep", "sed"):
        (tool.root / "bin" / name).symlink_to(shutil.which(name))
    out, err = tool.run(*ARGS, "--yes", PATH=path)
    assert conf(tool).exists() and tool.value("db/enable") == "1" and "at boot" not in out
    said = "db is saved, but does not start at boot: there is no systemctl\n"
    assert said in err and "next: have istripectl up --all run at boot, and" in err
    tool.run("delete", "db")
    conf(tool).unlink()
    assert said in tool.run(*ARGS, "--yes", "--boot", code=1, PATH=path)[1]
    assert tool.value("db/enable") == "1"


def test_boot_that_fails(tool, found):
    _, err = tool.run(*ARGS, "--yes", code=1, FAKE_SYSTEMCTL="1")
    assert "start at boot: systemctl enable istripe@db.service failed\n" in err
    assert tool.value("db/enable") == "1" and conf(tool).exists()


def test_a_file_that_cannot_be_written(tool, found):
    (tool.root / "etc/istripe/db.conf").symlink_to("away/db.conf")
    _, err = tool.run(*ARGS, "--yes", code=1)
    assert "db.conf: No such file or directory\n" in err and "db is made, but not saved\n" in err
    assert "next: istripectl save --boot db\n" in err
    assert tool.value("db/enable") == "1" and tool.enabled() == []


def test_a_file_that_is_there(tool, found):
    """It may be all that is known of another volume."""
    file = tool.put("etc/istripe/db.conf", f"[leg 0]\ntarget = {T1}\nportal = 192.0.2.77")
    before = file.read_text()
    _, err = tool.run(*ARGS, "--yes", code=1)
    assert f"{file} is there already\n" in err and "--no-save" in err
    assert file.read_text() == before and tool.volumes() == [] and asked(tool) == []
    tool.run(*ARGS, "--yes", "--no-save")
    assert file.read_text() == before and paths(tool) == BOTH
    tool.run("delete", "db")
    tool.run(*ARGS, "--yes", "--save")
    assert file.read_text() != before and paths(tool) == BOTH


@pytest.mark.parametrize("words, legs", [
    (["--targets", T2], [T2]), (["--targets", f"{T2},{T1}"], [T2, T1]), ([], [T1, T2])])
def test_targets(tool, found, words, legs):
    _, err = tool.run(*ARGS, "--yes", *words)
    assert [value[0] for key, value in sorted(paths(tool).items()) if key[1] == 0] == legs
    assert (f"left out: {T1}: not in --targets\n" in err) == (legs == [T2])


def test_luns(tool, found):
    tool.put("disks", f"*/{T1}/[34] {DISK} - - {GIB}\n*/{T1}/3 {DISK} naa-3 s {GIB}\n"
             f"*/{T1}/4 {DISK} naa-4 s {GIB}\n*/{T2}/3 CDROM naa-5 s 0")
    _, err = tool.run(*ARGS, "--yes", "--luns", "4,3")
    assert [value[:2] for key, value in sorted(paths(tool).items()) if key[1] == 0] == [
        (T1, "4"), (T1, "3")]
    assert f"left out: {T2} LUN 3, {A} over eth1: no disk; istripectl discover --luns" in err
    assert f"left out: {T2} LUN 4, {A} over eth1: Login Failed. the target says no\n" in err


def test_one_lun_of_two_targets_is_one_leg(tool, found):
    tool.put("disks", f"* {DISK} naa-1 s1 {GIB}")
    tool.run(*ARGS, "--yes")
    assert paths(tool) == {(0, 0): (T1, "0", A, "eth1"), (0, 1): (T1, "0", B, "eth2"),
                           (0, 2): (T2, "0", A, "eth1"), (0, 3): (T2, "0", B, "eth2")}


@pytest.mark.parametrize("disks, reason", [
    (f"*/{T1}/0 {DISK} naa-1 s1 1\n*{B}/{T1}/0 {DISK} naa-9 s1 1", f"another LUN than over {A}"),
    (f"*/{T1}/0 {DISK} naa-1 s1 1\n*{B}/{T1}/0 {DISK} naa-1 s9 1", f"another LUN than over {A}"),
    (f"*/{T1}/0 {DISK} - s1 1", "the LUN has no designator"),
])
def test_a_portal_of_another_lun(tool, found, disks, reason):
    tool.put("disks", disks)
    _, err = tool.run(*ARGS, "--yes", "--targets", T1)
    assert paths(tool) == {(0, 0): (T1, "0", A, "eth1")}
    assert f"left out: {T1} LUN 0, {B} over eth2: {reason}" in err


def test_a_portal_in_the_subnet_of_another_nic(tool, found):
    """The target answers on both links, but only one is its own; routed portals use all NICs."""
    routed = "203.0.113.5:3260"
    tool.put("discovered", f"{A},1 {T1}\n{routed},1 {T1}\n{C},1 {T1}")
    tool.put("fake/reach", f"{A} eth1 0\n{A} eth2 0\n{routed} eth1 0\n{routed} eth2 0")
    _, err = tool.run(*ARGS, "--yes")
    assert paths(tool) == {(0, 0): (T1, "0", A, "eth1"), (0, 1): (T1, "0", routed, "eth1"),
                           (0, 2): (T1, "0", routed, "eth2")}
    assert f"left out: {A} over eth2: it is in the subnet of eth1\n" in err
    assert f"left out: {C} over eth1: no answer\n" in err


@pytest.mark.parametrize("leg", [
    ["--leg", f"target={T1},portal=192.0.2.10"],
    # It reaches the LUN under another name first.
    ["--leg", "target=iqn.2026-01.a:other,portal=192.0.2.99,lun=3",
     "--path", f"target={T1},portal={A},lun=0"],
])
def test_a_lun_that_a_volume_has(tool, found, leg):
    tool.run("create", "old", "--no-up", *leg)
    _, err = tool.run(*ARGS, "--yes", "--no-save")
    assert paths(tool)[0, 0][0] == T2
    assert f"left out: {T1} LUN 0: it is leg 0 of volume old\n" in err
    tool.run("delete", "db")
    _, err = tool.run(*ARGS, "--yes", "--targets", T1, code=1)
    assert "leads to no LUN that could be a leg" in err and tool.volumes() == ["old"]


def test_dry_run(tool, found):
    out, err = tool.run(*ARGS, "--dry-run", "--all-paths", "ping_interval=1s")
    assert tool.volumes() == [] and "LEG" in err and "LEG" not in out
    assert out.startswith("mkdir ") and out.endswith("/db/enable\n")
    assert out.count("/ping_interval_ms\n") == 4
    assert f"db: would write {conf(tool)}\ndb: would start at boot\n" in err
    assert not conf(tool).exists() and tool.enabled() == []
    assert "would" not in tool.run(*ARGS, "--dry-run", "--no-save")[1]


def dialogue(tool, answer, *words):
    """What is said and done when somebody at a terminal gives this answer."""
    ours, theirs = pty.openpty()
    with os.fdopen(theirs) as terminal:
        process = tool.start(*ARGS, *words, stdin=terminal)
        os.write(ours, answer.encode())
        out, err = process.communicate(timeout=60)
    os.close(ours)
    return process.returncode, out, err


@pytest.mark.parametrize("answer, made", [("yes\n", True), ("no\n", False), ("y\n", False),
                                          ("\n", False), ("\x04", False)])
def test_question(tool, found, answer, made):
    code, out, err = dialogue(tool, answer)
    assert (f"Create the volume db of these legs, save it in {conf(tool)} and start it at boot? "
            "yes or no: ") in err and "LEG" in err
    assert (code, tool.volumes()) == ((0, ["db"]) if made else (1, []))
    assert made == out.startswith("db: /dev/istripe0 (link: /dev/istripe/db)\n")
    assert made == conf(tool).exists()
    assert made != ("the answer was not yes: nothing was done" in err)


@pytest.mark.parametrize("word, asked_for", [
    ("--no-boot", "of these legs and save it in {}? yes or no: "),
    ("--no-save", "of these legs? yes or no: "),
])
def test_question_of_less(tool, found, word, asked_for):
    code, _, err = dialogue(tool, "yes\n", word)
    assert code == 0 and f"Create the volume db {asked_for.format(conf(tool))}" in err
    assert conf(tool).exists() == (word == "--no-boot") and tool.enabled() == []


def test_nobody_to_ask(tool, found):
    _, err = tool.run(*ARGS, text_in="yes\n", code=1)
    assert "there is no terminal to ask at" in err and "then give --yes" in err
    assert tool.volumes() == [] and asked(tool) == []


@ONLY_ROOT
def test_chap(tool, found):
    tool.put("etc/iscsi/iscsid.conf", "node.startup = manual")
    file = tool.put("own.secret", SECRET)
    file.chmod(0o600)
    tool.run(*ARGS, "--yes", "--chap", f"user=me,secret=@{file}")
    assert tool.value("db/legs/1/paths/1/chap_user") == "me"
    assert tool.value("db/legs/1/paths/1/chap_secret") == SECRET
    assert f"iscsi-inq eth2 me {SECRET}\n" in (tool.root / "sessions").read_text()
    assert f"password = {SECRET}\n" in (tool.root / "iscsid.conf.seen").read_text()
    assert SECRET not in (tool.root / "iscsiadm.log").read_text()
    assert f"chap_secret = @{file}" in (tool.root / "etc/istripe/db.conf").read_text()
    tool.run("delete", "db")
    (tool.root / "etc/istripe/db.conf").unlink()
    other = tool.put("path.secret", "a-secret-of-paths")
    other.chmod(0o600)
    tool.run(*ARGS, "--yes", "--chap", f"user=me,secret=@{file}", "--all-paths",
             f"chap_user=you,chap_secret=@{other}")
    assert tool.value("db/legs/0/paths/0/chap_user") == "you"
    assert "iscsi-inq eth1 you a-secret-of-paths\n" in (tool.root / "sessions").read_text()


LEG = ["--leg", "target=iqn.t,portal=192.0.2.10"]


@pytest.mark.parametrize("words, said", [
    (["create", "db", "--discover", "192.0.2.10"], "--nics eth1,eth2"),
    ([*ARGS, *LEG], "either --discover or --leg"), ([*ARGS[:4], "--nics"], "needs a value"),
    ([*ARGS[:4], "--nics", "eth1,,eth2"], "names with commas"),
    ([*ARGS[:4], "--nics", "eth1,eth2,eth1"], "eth1 is given twice"),
    ([*ARGS, "--luns", "1-3"], "numbers of LUNs"), ([*ARGS, "--luns", ","], "with commas"),
    (["assemble", *ARGS[1:]], "--discover is for create"),
    (["create", "db", *LEG, "--yes"], "are for create --discover"),
    (["create", "db", *LEG, "--luns", "1"], "are for create --discover"),
    (["create", "db", *LEG, "--no-save"], "are for create --discover"),
    (["assemble", "db", *LEG, "--no-boot"], "are for create --discover"),
    ([*ARGS, "--save", "--no-save"], "--save or --no-save"),
    ([*ARGS, "--boot", "--no-save"], "--boot or --no-save"),
    ([*ARGS, "--no-boot", "--boot"], "--boot or --no-boot"),
    ([*ARGS, "--all-paths", "nic=eth7"], "nic is what --discover finds"),
    ([*ARGS, "--all-paths", "lun=1"], "lun is what --discover finds"),
    ([*ARGS, "--chap", "user=me"], "--chap needs user=NAME,secret=@FILE"),
    ([*ARGS, "--chap", "user=me,secret=@-"], "more than once: put it into a file"),
    ([*ARGS, "--chap", "user=me,secret=hunter2hunter2"], "never given on the command line"),
])
def test_usage(tool, found, words, said):
    _, err = tool.run(*words, code=2)
    assert said in err and "hunter2" not in err
    assert tool.volumes() == [] and asked(tool) == []


def test_failures(tool, found):
    tool.put("fake/reach", f"{A} eth1 19")
    assert "--nics: there is no interface eth1" in tool.run(*ARGS, "--yes", code=1)[1]
    tool.put("fake/reach", f"{A} eth1 0")
    _, err = tool.run(*ARGS, "--yes", "--targets", "iqn.x", code=1)
    assert "192.0.2.10 does not offer the target iqn.x" in err
    tool.put("disks", "* - - - 0")
    _, err = tool.run(*ARGS, "--yes", code=1)
    assert "leads to no LUN that could be a leg" in err and "the target says no" in err
    _, err = tool.run(*ARGS, "--yes", code=1, FAKE_INQUIRY="ALRM")
    assert "over eth1: no answer to the login within 15 s" in err
    programs = tool.root.parent / "bin"
    (programs / "iscsi-inq").unlink()
    for name in ("cat", "cp", "sh"):
        (programs / name).symlink_to(shutil.which(name))
    _, err = tool.run(*ARGS, "--yes", code=1, PATH=str(programs))
    assert "iscsi-inq is not installed" in err and "package libiscsi-bin" in err
    assert tool.volumes() == []


def test_portals_are_really_tried(tool, found):
    """Over the loopback interface: one that listens, and one that does not."""
    (tool.root / "fake/reach").unlink()
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        here, there = (f"127.0.0.1:{one.getsockname()[1]}" for one in (listener, closed))
        tool.put("discovered", f"{here},1 {T1}\n{there},1 {T1}")
        _, err = tool.run(*ARGS[:4], "--nics", "lo", "--yes")
        assert paths(tool) == {(0, 0): (T1, "0", here, "lo")}
        assert f"left out: {there} over lo: Connection refused\n" in err
        tool.run("delete", "db")
        _, err = tool.run(*ARGS[:4], "--nics", "lo,no-such-nic", "--yes", "--no-save", code=1)
        assert "there is no interface no-such-nic" in err


#: Two links to a host that listens on port 3260 of both, and answers for all of its addresses on each.
NETWORK = r"""
unshare -n python3 -c '
import socket, time
with socket.create_server(("0.0.0.0", 3260)):
    time.sleep(120)' &
peer=$!
while [ "$(readlink /proc/$peer/ns/net)" = "$(readlink /proc/self/ns/net)" ]; do sleep 0.1; done
for i in 1 2; do
    ip link add eth$i type veth peer name peer$i
    ip link set peer$i netns $peer
    nsenter -n -t $peer ip link set peer$i up
    nsenter -n -t $peer ip addr add 192.0.$i.10/24 dev peer$i
    ip addr add 192.0.$i.1/24 dev eth$i
    ip link set eth$i up
done
until nsenter -n -t $peer ss -Hltn | grep -q :3260; do sleep 0.1; done
code=0
"$@" || code=$?
kill $peer
exit $code
"""


def test_two_nics(tool, found):
    """The network as the kernel has it, in a namespace of the test's own."""
    if subprocess.run(["unshare", "-rn", "ip", "link", "add", "type", "veth"], capture_output=True,
                      check=False).returncode:
        pytest.skip("no network namespaces or no veth here")
    for name in ("reach", "addresses"):
        (tool.root / "fake" / name).unlink()
    one, two = "192.0.1.10:3260", "192.0.2.10:3260"
    closed, nobody = "192.0.1.10:3261", "192.0.2.99:3260"
    tool.put("discovered", "".join(f"{portal},1 {T1}\n" for portal in (one, two, closed, nobody)))
    done = subprocess.run(["unshare", "-rn", "sh", "-ec", NETWORK, "sh", tool.program, *ARGS, "--yes"],
                          env=tool.env, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert paths(tool) == {(0, 0): (T1, "0", one, "eth1"), (0, 1): (T1, "0", two, "eth2")}
    for line in (f"{one} over eth2: it is in the subnet of eth1\n",
                 f"{closed} over eth1: Connection refused\n", f"{nobody} over eth2: "):
        assert f"left out: {line}" in done.stderr
