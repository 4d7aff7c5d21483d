# SPDX-License-Identifier: GPL-2.0
"""--dry-run of commands that change something: it says what, and changes nothing."""

import re

import pytest
from conftest import TOP

LEG = "target=iqn.2026-01.a:t1,portal=192.0.2.10,nic=eth1"
PORTAL = "portal=192.0.2.20,nic=eth3"
DISK = "sys/block/istripe0"
MOUNTED = "36 35 259:0 / /srv/db rw,noatime shared:1 - xfs /dev/x rw"


def whole(tool):
    return {str(file.relative_to(tool.root)): file.read_text() for file in tool.root.rglob("*")
            if file.is_file()}


def dry(tool, *words, code=0):
    """(output, errors) of a run that has changed nothing."""
    before = whole(tool)
    said = tool.run(*words, "--dry-run", code=code)
    assert whole(tool) == before
    return said


@pytest.fixture
def down(tool):
    """db, of two paths, is down."""
    tool.run("create", "db", "--no-up", "--leg", LEG, "--path", "portal=192.0.3.10,nic=eth2")
    return tool


@pytest.fixture
def up(down):
    """db is up, with its disk."""
    down.run("up", "db")
    down.put(f"{DISK}/dev", "259:0")
    down.put(f"{DISK}/size", "131072")
    down.put(f"{DISK}/istripe/rescan", "")
    (down.root / DISK / "holders").mkdir()
    for path in range(2):
        for name, value in (("state", "live"), ("waiting_writes", "0"), ("fence_confirm", "")):
            down.put(f"{DISK}/istripe/legs/0/paths/{path}/{name}", value)
    return down


def conf(tool, name="db"):
    return f"{tool.root}/etc/istripe/{name}.conf"


@pytest.mark.parametrize("command", ["save", "up", "down", "delete", "rescan", "path add",
                                     "path remove", "path confirm"])
def test_wrong_input_is_the_same(down, command):
    """A volume that is not there, no name at all, an option that is not there."""
    words = [*command.split(), "nobody"]
    if words[0] == "path":
        words += ["0", PORTAL if words[1] == "add" else "0"]
    code = 78 if command == "up" else 1
    assert "there is no volume nobody" in dry(down, *words, code=code)[1]
    dry(down, *command.split(), code=2)
    dry(down, *words, "--nonsense", code=2)


def test_save(up):
    assert dry(up, "save", "db") == (f"db: would write {conf(up)}\n", "")
    out, err = dry(up, "save", "--boot", "db")
    assert out == f"db: would write {conf(up)}\ndb: would start at boot\n" and not err
    up.run("down", "db")
    assert dry(up, "save", "--boot", "db")[0].endswith(
        "\ndb: would start at boot, not now\n")
    up.run("save", "db")
    assert dry(up, "save", "db")[0] == f"db: would write {conf(up)}\n"
    up.put("etc/istripe/db.conf", "nonsense")
    assert "db.conf:1" in dry(up, "save", "db", code=1)[1]


def test_save_of_a_secret(tool):
    tool.run("create", "db", "--no-up", "--leg", f"{LEG},chap_user=me,chap_secret=@-",
             text_in="a-long-enough-secret\n")
    assert "cannot be saved" in dry(tool, "save", "db")[1]


def test_up(down):
    assert dry(down, "up", "db") == ("db: would come up\n", "")
    assert dry(down, "up", "--create", "db")[0] == (
        "db: would make superblocks on its legs\ndb: would come up\n")
    down.run("save", "db")
    down.run("set", "db", "queue_depth=9")
    assert dry(down, "up", "--saved", "db")[0] == (
        'db: queue_depth "9" -> "128"\ndb: would come up\n')
    down.run("up", "db")
    assert dry(down, "up", "db")[0] == "db: is up already\n"
    down.run("delete", "db")
    assert dry(down, "up", "--all")[0] == f"db: would be configured from {conf(down)}\ndb: would come up\n"


def test_up_says_what_the_file_says_otherwise(down):
    """As up does when it is done: it leaves the volume as it is configured."""
    down.run("save", "db")
    assert dry(down, "up", "db") == ("db: would come up\n", "")
    down.run("set", "db", "--leg", "0", "--path", "1", "lun=9")
    out, err = dry(down, "up", "db")
    assert out == "db: would come up\n" and err == (
        "istripectl: db is not as its configuration file says, and up leaves that:\n"
        '            leg 0 path 1: lun "9" -> "0"\n'
        "            next: istripectl up --saved db\n")
    down.run("up", "db")
    out, err = dry(down, "up", "db")
    assert out == "db: is up already\n"
    assert err.startswith("istripectl: db is up and stays as it is, which is not as its ")
    assert 'leg 0 path 1: lun "9" -> "0"' in err


def test_up_loads_no_module(down):
    down.run("save", "db")
    down.run("delete", "db")
    (down.root / "bin/modprobe").write_text("#!/bin/sh\necho >$ISTRIPECTL_ROOT/loaded\n")
    (down.tree / "features").unlink()
    down.tree.rmdir()
    assert dry(down, "up", "db")[0] == f"db: would be configured from {conf(down)}\ndb: would come up\n"
    assert dry(down, "apply", "db")[0] == f"db: would be configured from {conf(down)}\n"


def test_up_of_a_wrong_file(down):
    down.put("etc/istripe/log.conf", "nonsense")
    assert "log.conf:1" in dry(down, "up", "log", code=78)[1]


@pytest.mark.parametrize("text, said", [
    ("[volume]\nqueue_depth = 0\n[leg 0]\ntarget = iqn.t\nportal = 192.0.2.10", '2: queue_depth: "0"'),
    ("[leg 0]\ntarget = iqn.t\nportal = 192.0.2.10\nfence = none", '4: fence: "none"'),
    ("[paths]\nweight = 0\n[leg 0]\ntarget = iqn.t\n[leg 0 path 3]\nportal = 192.0.2.10",
     '2: weight: "0"')])
def test_up_of_a_file_with_a_value_that_is_refused(down, text, said):
    """Of a volume that is new, and of one that is down."""
    for name in ("log", "db"):
        down.put(f"etc/istripe/{name}.conf", text)
        for words, code in ((("up", "--saved"), 78), (("apply",), 1)):
            out, err = dry(down, *words, name, code=code)
            assert not out
            assert err.startswith(f"istripectl: {conf(down, name)}:{said} is refused, allowed is ")
            assert "/sys/kernel" not in err


@pytest.mark.parametrize("command, more", [("down", ""), ("delete", "db: would forget its settings\n")])
def test_down_and_delete(up, command, more):
    up.run("save", "db")
    assert dry(up, command, "db") == (f"db: would take /dev/istripe0 away\n{more}", "")
    up.put("proc/self/mountinfo", MOUNTED)
    out, err = dry(up, command, "db", code=1)
    assert not out and "/dev/istripe0 is in use:" in err and "/srv/db" in err
    assert dry(up, command, "--force", "db")[0] == (
        f"db: would take /dev/istripe0 away, which is in use: its I/O would fail\n{more}")
    (up.root / "proc/self/mountinfo").unlink()
    up.run("down", "db")
    assert dry(up, command, "db")[0] == f"db: is down already\n{more}"


@pytest.mark.parametrize("mount, uses", [
    ("0:99 {} - fuse.x /dev/istripe0", False), ("0:99 {} - fuse /dev/istripe0", False),
    ("8:99 {} - fuseblk /dev/istripe0", False), ("259:0 {} - fuseblk /dev/x", True),
    ("8:99 {} - xfs /dev/istripe0", False), ("0:55 {} - btrfs /dev/istripe0", True),
    ("0:55 {} - fusel /dev/istripe0", True),
])
def test_who_mounts_fuse_names_the_source_freely(up, mount, uses):
    """The source tells only where a file system has a number of its own and no user chose it."""
    up.put("proc/self/mountinfo", f"36 35 {mount.format('/ /srv/x rw shared:1')} rw")
    out, err = dry(up, "down", "db", code=int(uses))
    assert ("/dev/istripe0 is mounted at /srv/x" in err) == uses
    assert out == ("" if uses else "db: would take /dev/istripe0 away\n")


def test_delete_of_writes_that_were_left(down):
    (down.tree / "db/legs/0/unfenced").write_text("1\n")
    assert "may still carry out" in dry(down, "delete", "db", code=1)[1]
    assert "would forget" in dry(down, "delete", "--force", "db")[0]


def test_path_add(down):
    assert dry(down, "path", "add", "db", "0", PORTAL) == ("db: would add leg 0 path 2\n", "")
    down.run("up", "db")
    assert dry(down, "path", "add", "db", "0", PORTAL)[0] == (
        "db: would add leg 0 path 2, which would log in\n")
    # A secret is not asked for, and nothing is written to that of another path.
    (secret,) = down.root.glob("**/db/legs/0/paths/0/chap_secret")
    secret.chmod(0o200)
    assert dry(down, "path", "add", "db", "0", f"{PORTAL},chap_user=me,chap_secret=@-")[0]


@pytest.mark.parametrize("text, said", [
    ("portal", "is not NAME=VALUE"), ("portal=192.0.2.20,weight=0", 'weight: "0" is refused'),
    ("portal=192.0.2.20,colour=red", "has no setting colour"),
    ("portal=192.0.2.20,policy=failover", "has no setting policy"),
])
def test_path_add_of_what_is_refused(down, text, said):
    assert said in dry(down, "path", "add", "db", "0", text, code=1)[1]


def test_path_remove(up):
    assert dry(up, "path", "remove", "db", "0", "1") == ("db: would remove leg 0 path 1\n", "")
    assert "leg 0 has no path 2" in dry(up, "path", "remove", "db", "0", "2", code=1)[1]


@pytest.mark.parametrize("number", [1 << 32, (1 << 64) - 1, 1 << 64, " 0", "+0", "00"])
def test_a_number_is_all_of_it(up, number):
    for verb, word in (("add", PORTAL), ("remove", "0"), ("confirm", "0")):
        said = dry(up, "path", verb, "db", number, word, code=1)[1]
        assert f"volume db has no leg {number}\nnext" in said.replace("            ", "")
        if verb != "add":
            assert f"leg 0 has no path {number}\n" in dry(up, "path", verb, "db", "0", number,
                                                         code=1)[1]
    up.run("path", "remove", "db", "0", "1")
    _, err = dry(up, "path", "remove", "db", "0", "0", code=1)
    assert "leg 0 path 0 of db is its only path" in err


def test_path_confirm(up):
    """Nobody is asked, and a path that is live is refused."""
    _, err = dry(up, "path", "confirm", "db", "0", "0", code=1)
    assert "leg 0 path 0 of db is live" in err
    assert up.run("path", "confirm", "--yes", "db", "0", "0", code=1)[1] == err
    up.put(f"{DISK}/istripe/legs/0/paths/0/state", "backoff")
    up.put(f"{DISK}/istripe/legs/0/paths/0/waiting_writes", "3")
    said = "db: would send writes of leg 0 path 0 that wait again: 3\n"
    assert dry(up, "path", "confirm", "db", "0", "0") == (said, "")
    assert up.run("path", "confirm", "-n", "--yes", "db", "0", "0")[0] == said


def test_rescan(up):
    assert dry(up, "rescan", "db") == (
        "db: would ask for the sizes of its legs; /dev/istripe0 has 64 MiB\n", "")
    assert "either --json or --dry-run" in dry(up, "rescan", "--json", "db", code=2)[1]
    up.run("down", "db")
    assert "volume db is down" in dry(up, "rescan", "db", code=1)[1]


def test_yes_is_for_confirm(up):
    assert "--yes is for confirm" in up.run("path", "remove", "--yes", "db", "0", "1", code=2)[1]


@pytest.mark.parametrize("words, code, said", [
    (("--leg", LEG, "--chunk", "5K"), 1, "chunk_bytes: \"5120\" is refused, allowed is a power of two"),
    (("--leg", f"{LEG},lun=99999"), 1, 'legs/0/paths/0/lun refuses "99999": Invalid argument'),
    (("--leg", f"{LEG},connections=99"), 1, 'connections: "99" is refused, allowed is a number'),
    (("--leg", f"{LEG},weight=5000"), 1, 'weight: "5000" is refused, allowed is a number from 1 to'),
    (("--leg", LEG, "--set", "queue_depth=5000"), 1, 'db/queue_depth refuses "5000"'),
    (("--leg", "target=iqn.2026-01.a:t1"), 1,
     "reason: leg 0 path 0: portal is not set\n            next: give portal=ADDRESS"),
    (("--leg", "portal=192.0.2.10"), 1,
     "reason: leg 0 path 0: target_name is not set\n            next: give target=NAME"),
    (("--leg", f"{LEG},chap_user=me"), 1, "chap_user is set, chap_secret is not\n            next: give"),
    (("--leg", f"{LEG},chap_secret=@-"), 1, "chap_secret is set, chap_user is not\n            next: "),
    (("--leg", f"{LEG},chap_mutual_user=me"), 1, "mutual CHAP also needs chap_user and chap_secret"),
    (("--leg", f"{LEG},chap_user=me,chap_secret=@-,chap_mutual_user=you"), 1,
     "chap_mutual_user is set, chap_mutual_secret is not\n            next: give chap_mutual_secret"),
    (("--leg", f"{LEG},chap_mutual_secret=@-"), 1, "mutual CHAP also needs chap_user and chap_secret"),
    (("--leg", f"{LEG},first_burst_length=1M,max_burst_length=256K"), 1,
     "reason: leg 0 path 0: first_burst_length is greater than max_burst_length\n"),
    (("--leg", f"{LEG},max_burst_length=128K"), 1, "first_burst_length is greater than"),
    (("--leg", f"{LEG},source_address=2001:db8::1"), 1,
     "reason: leg 0 path 0: source_address and portal are of different IP versions\n"),
    (("--leg", "target=iqn.2026-01.a:t1,portal=2001:db8::1,source_address=192.0.2.1"), 1,
     "source_address and portal are of different IP versions"),
])
def test_create_checks_what_it_can(tool, words, code, said):
    for command in ("create", "assemble"):
        out, err = dry(tool, command, "db", *words, code=code)
        assert not out and said in err
    if "reason: " in said:
        assert said in tool.run("create", "db", *words, code=code)[1]
    if "is not set" in said:
        assert "mkdir" in dry(tool, "create", "db", *words, "--no-up")[0]


@pytest.mark.parametrize("more", [
    "source_address=192.0.2.1", "portal=[2001:db8::1]:3260,source_address=2001:db8::2",
    "max_burst_length=256K", "portal=2001:db8::1,source_address=fe80::1%lo",
    "portal=192.0.2.10:3261,source_address=192.0.2.1"])
def test_create_refuses_nothing_that_fits_together(tool, more):
    leg = LEG if "portal" not in more else "target=iqn.2026-01.a:t1"
    words = "create", "db", "--leg", f"{leg},{more}"
    assert "mkdir" in dry(tool, *words)[0]
    tool.run(*words)


#: The last of the reasons, which needs both secrets (RFC 7143 9.2.1).
SAME = "initiator and target have the same CHAP secret"


def test_create_compares_secrets(tool):
    """What is in their files; one that is to be typed is not known yet."""
    for name, secret in (("a", "correct horse"), ("b", "correct horse"), ("c", "another horse")):
        tool.put(name, secret).chmod(0o600)

    def words(own, targets):
        chap = f"chap_user=me,chap_secret={own},chap_mutual_user=you,chap_mutual_secret={targets}"
        return "create", "db", "--leg", f"{LEG},{chap}"
    a, b, c = (f"@{tool.root}/{name}" for name in "abc")
    for own, targets in ((a, a), (a, b)):
        said = f"reason: leg 0 path 0: {SAME}\n            next: give the target another secret "
        assert said in dry(tool, *words(own, targets), code=1)[1]
        assert said in tool.run(*words(own, targets), code=1)[1]
    assert "mkdir" in dry(tool, *words("@-", "@-"))[0]
    assert "mkdir" in dry(tool, *words(a, "@nothing"))[0]
    assert "mkdir" in dry(tool, *words(a, c))[0]
    tool.run(*words(a, c))


@pytest.mark.parametrize("first, second, connections, meet", [
    ("00023d000000", "00023D000000", 1, True), ("00023d000000", "00023d000400", 1, False),
    # The second session of one path would have the ISID of the other, or of its second one.
    ("00023d000000", "00023d000400", 2, True), ("00023d000000", "00023d000800", 2, False),
    ("00023d000000", "00023d001c00", 8, True), ("00023d000000", "00023d002000", 8, False),
    ("00023d000000", "00023d000401", 8, False)])
def test_create_compares_isids(tool, first, second, connections, meet):
    """As istripe_volume_params_check() does, in its words."""
    words = ("create", "db", "--all-paths", f"connections={connections}", "--leg",
             f"{LEG},isid={first}", "--path", f"portal=192.0.3.10,nic=eth2,isid={second}")
    said = ("leg 0 path 0 and leg 0 path 1 have the same isid at the same target, or their further "
            "sessions would")
    out, err = dry(tool, *words, code=int(meet))
    reason = f"reason: {said}\n            next: leave isid out, "
    assert (reason in err) == meet and ("mkdir" in out) == (not meet)
    _, err = tool.run(*words, code=int(meet))
    assert (reason in err) == meet
    other = [word.replace("portal=192.0.3.10", "target=iqn.2026-01.a:t2,portal=192.0.3.10")
             for word in words]
    other[1] = "log"
    assert "mkdir" in dry(tool, *other)[0]
    said = said.replace("leg 0", "leg %u").replace("path 0", "path %u").replace("path 1", "path %u")
    assert f'"{said}"' in (TOP / "drivers/istripe/control/params.c").read_text(encoding="utf-8")
    assert "#define ISTRIPE_ISID_NEXUS_SHIFT\t2" in (TOP / "include/istripe/params.h").read_text(
        encoding="utf-8")


def problems(path, *functions):
    """The reasons that functions of a file in C know."""
    text = (TOP / path).read_text(encoding="utf-8")
    bodies = [re.search(rf"^[^\n]*{name}\([^;]*?\n{{.*?^}}", text, re.MULTILINE | re.DOTALL)[0]
              for name in functions]
    return [text for body in bodies for text in re.findall('"([^"]*)"', body) if " " in text]


def test_what_is_refused_is_what_the_module_refuses():
    """In one order, too: the first reason is the one that is said."""
    assert problems("tools/istripectl/known.c", "known_path_problem", "credentials_problem") == problems(
        "drivers/istripe/control/params.c", "istripe_path_params_problem",
        "istripe_credentials_problem") + [SAME]
    assert problems("drivers/istripe/iscsi/chap.c", "istripe_chap_config_problem")[-1] == SAME


def test_an_empty_chunk_is_the_default(tool):
    words = "create", "db", "--leg", LEG, "--chunk", ""
    assert "mkdir" in dry(tool, *words)[0]
    tool.run(*words)


def test_all_paths_may_say_what_is_of_the_leg(tool):
    words = ("create", "db", "--no-up", "--all-paths", "fence=path", "--leg")
    out, _ = dry(tool, *words, LEG, "--path", "portal=192.0.3.10,nic=eth2")
    assert [line for line in out.splitlines() if "fence" in line] == [
        f"printf '%s\\n' path > {tool.tree}/db/legs/0/fence"]


def test_create_of_a_name_that_exists(down):
    assert dry(down, "create", "db", "--leg", LEG, code=1)[1].startswith(
        "istripectl: volume db exists already\n            next: another name; or, to see ")
