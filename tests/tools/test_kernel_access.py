# SPDX-License-Identifier: GPL-2.0
"""What istripectl does to the kernel's files, and what it says when they refuse."""

import errno
import json
import os
import re
import shutil
import signal
import subprocess

import pytest
from configuration import LEG, SECRET
from waiting import wait_for


def read(path):
    with open(path) as file:
        return file.read()


# All or nothing

def test_refused_value_is_named_and_nothing_is_left(tool):
    _, err = tool.run("create", "db", "--leg", LEG, "--leg", LEG + ",lun=99", code=1,
                      FAKE_REFUSE="lun=99")
    assert '/db/legs/1/paths/0/lun refuses "99": Invalid argument' in err
    assert "kernel: istripe: db/0/0: lun: is refused, allowed is less" in err
    assert "an old line" not in err
    assert tool.volumes() == []


def test_unknown_setting_lists_those_there_are(tool):
    _, err = tool.run("create", "db", "--leg", LEG, "--set", "colour=red", code=1)
    assert "this version of the module has no setting colour" in err
    line, = [line for line in err.splitlines() if "it has: " in line]
    names = line.split("it has: ")[1]
    assert "enable" not in names and "last_error" not in names
    assert names.startswith("chunk (chunk_bytes) ") and " queue_depth " in names
    assert "did you mean" not in err
    assert tool.volumes() == []


@pytest.mark.parametrize("words, said", [
    (["--leg", LEG + ",wieght=2"], "did you mean weight=?"),
    (["--leg", "portal=192.0.2.1,traget=iqn.x"], "did you mean target=?"),
    (["--leg", LEG + ",ping_intervall=2s"], "did you mean ping_interval=?"),
    (["--leg", LEG, "--set", "nic=eth0"], "nic is a setting of a path: give it in --leg or --path"),
    (["--leg", LEG + ",queue_depth=3"], "queue_depth is a setting of the volume: give it in --set"),
    (["--leg", LEG, "--set", "fence=path"], "fence is a setting of a leg: give it in --leg"),
])
def test_unknown_setting_is_explained(tool, words, said):
    _, err = tool.run("create", "db", *words, code=1)
    assert said in err and tool.volumes() == []


def test_existing_volume_is_left_alone(tool):
    tool.run("create", "db", "--leg", LEG)
    _, err = tool.run("create", "db", "--leg", LEG + ",lun=5", code=1)
    assert "exists already" in err and "istripectl show db" in err
    assert tool.value("db/enable") == "1"
    assert tool.value("db/legs/0/paths/0/lun") == "0"


def test_failed_enable_removes_everything(tool):
    _, err = tool.run("create", "db", "--leg", LEG, code=1,
                      FAKE_ENABLE=str(errno.ETIMEDOUT))
    assert "does not come up: Connection timed out" in err
    assert "leg 0 path 0: nobody?[2J answers" in err
    assert "nothing of it is left" in err
    assert tool.volumes() == []


@pytest.mark.parametrize("command,number,step", [
    ("create", errno.EEXIST, "next: istripectl assemble, if this is what is to come up"),
    ("assemble", errno.ENODATA, "next: istripectl create makes superblocks"),
])
def test_what_to_do_about_superblocks(tool, command, number, step):
    _, err = tool.run(command, "db", "--leg", LEG, code=1, FAKE_ENABLE=str(number))
    assert step in err and tool.volumes() == []


MARKED = "legs may have superblocks now: this command may have written them\n"


@pytest.mark.parametrize("number, reason", [
    (errno.EIO, "leg 1: cannot write its superblock: status 0x02, sense 3/0c/00"),
    (errno.ETIMEDOUT, "leg 1: cannot flush its cache: no answer in time (-ETIMEDOUT)"),
    (errno.ENOTCONN, "leg 1: its path was lost"), (errno.EINTR, "interrupted at leg 1"),
    (errno.EEXIST, "leg 1: somebody else has just made an array of it"),
    (errno.EINVAL, "over path 1: leg 0: its superblock has changed"),
    (errno.ENOMEM, "cannot add the disk: out of memory (-ENOMEM)"), (errno.EIO, "something new"),
])
def test_superblocks_may_be_left(tool, number, reason):
    """By what was cut short; that the legs are as they were is not said then."""
    _, err = tool.run("create", "db", "--leg", LEG, code=1, FAKE_ENABLE=str(number), FAKE_REASON=reason)
    assert MARKED in err and "create --force" in err and "istripectl examine DEVICE..." in err
    assert "nothing of it is left" not in err and tool.volumes() == []
    for more in ((), ("--metadata", "none")):
        _, err = tool.run("assemble", "db", "--leg", LEG, *more, code=1, FAKE_ENABLE=str(number),
                          FAKE_REASON=reason)
        assert "may have superblocks" not in err
    tool.run("create", "db", "--no-up", "--leg", LEG)
    code = 78 if number == errno.EINVAL else 1
    _, err = tool.run("up", "--create", "db", code=code, FAKE_ENABLE=str(number), FAKE_REASON=reason)
    assert MARKED in err


@pytest.mark.parametrize("number, reason", [
    (errno.ECONNREFUSED, "leg 1 path 0: cannot connect: refused (-ECONNREFUSED)"),
    (errno.EEXIST, "leg 0: it holds ext4: nothing was written; metadata_create=force would overwrite it"),
    (errno.EINTR, "interrupted while leg 0 path 1 was connecting"),
    (errno.ENOTCONN, "leg 0 path 1 is down: superblocks are written when all paths are up"),
    (errno.EROFS, "leg 0 is write protected: superblocks cannot be written: end that at the array"),
    (errno.EINVAL, "initiator_name is not set"), (errno.EBUSY, ""),
])
def test_no_superblocks_are_left(tool, number, reason):
    _, err = tool.run("create", "db", "--leg", LEG, code=1, FAKE_ENABLE=str(number), FAKE_REASON=reason)
    assert "may have superblocks" not in err and "nothing of it is left" in err


def test_an_attempt_finds_superblocks_of_the_one_before(tool):
    """Nobody can tell that they are its own: it is not tried with force."""
    _, err = tool.run("create", "db", "--wait", "1min", "--leg", LEG, code=1, FAKE_CLOCK="true",
                      FAKE_MARKS="1", FAKE_ENABLE=str(errno.EIO),
                      FAKE_REASON="leg 1: cannot write its superblock: status 0x02, sense 3/0c/00")
    first, second = err.split("trying again")
    assert "cannot write its superblock" in first and "leg 0: it holds an MD superblock" in second
    assert MARKED in second and "nothing of it is left" not in second


TARGET_MISSING = "leg 1 path 0: target not found (login status 0203)"


@pytest.mark.parametrize("number, reason, said", [
    (errno.EACCES, "leg 0 path 0: authentication failed (login status 0201)",
     ("next: compare chap_user and chap_secret with the target's, then repeat the command:\n"
      "            create with the right ones, up after istripectl set --leg 0 --path 0 db chap_secret=@FILE\n")),
    (errno.EACCES, "leg 0 path 0: authentication failed (login status 0201): no chap_secret is set",
     "next: give chap_user=NAME,chap_secret=@FILE"),
    (errno.ECONNRESET, ("leg 0 path 0: login: connection lost: the other side has reset it "
                        "(-ECONNRESET); no chap_secret is set, and it may want CHAP"),
     ("the target closed the connection: it may want CHAP, or a proxy or firewall on the way has no "
      "target behind it\n            next: look whether the target runs there; if it wants CHAP, "
      "give chap_user=NAME,chap_secret=@FILE\n")),
    (errno.EACCES, "leg 0 path 0: target does not know its CHAP secret",
     "next: compare chap_mutual_secret"),
    (errno.EACCES, "leg 0 path 0: target gave another CHAP name than configured",
     "next: compare chap_mutual_user"),
    (errno.EACCES, "leg 0 path 0: target wants no authentication, CHAP is required",
     "next: set CHAP up at the target"),
    (errno.ECONNREFUSED, TARGET_MISSING,
     ("there is no target iqn.2026-01.a:t2 at portal 192.0.2.11:3260\n            next: istripectl "
      "discover 192.0.2.11:3260 lists the names there are\n")),
    (errno.ECONNREFUSED, "leg 0 path 0: initiator is not allowed to use this target (login 0202)",
     "next: admit the initiator iqn.2026-01.a:host at the target iqn.2026-01.a:t1"),
])
def test_refused_logins(tool, number, reason, said):
    """What the target has refused is not for root to mend."""
    other = "target=iqn.2026-01.a:t2,portal=192.0.2.11"
    for words in (["create", "db", "--leg", LEG, "--leg", other], ["up", "db"]):
        if words[0] == "up":
            tool.run("create", "db", "--no-up", "--leg", LEG, "--leg", other)
        code = 78 if words[0] == "up" and number == errno.EACCES else 1
        _, err = tool.run(*words, code=code, FAKE_ENABLE=str(number), FAKE_REASON=reason)
        assert f"reason: {reason}\n" in err and said in err
        assert "as root" not in err and "Permission denied" not in err
        assert ("authentication failed" in err.splitlines()[0]) == (number == errno.EACCES)


def test_missing_target_with_chap(tool):
    """The portal may want the same CHAP for its list of targets."""
    secret = tool.put("own.secret", "a-long-enough-secret")
    secret.chmod(0o600)
    other = f"target=iqn.2026-01.a:t2,portal=192.0.2.11,chap_user=me,chap_secret=@{secret}"
    _, err = tool.run("create", "db", "--leg", LEG, "--leg", other, code=1,
                      FAKE_ENABLE=str(errno.ECONNREFUSED), FAKE_REASON=TARGET_MISSING)
    assert ("next: istripectl discover 192.0.2.11:3260 --chap user=me,secret=@FILE lists the names "
            "there are\n") in err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_interrupted_enable_removes_everything(tool, number):
    process = tool.start("create", "db", "--leg", LEG, FAKE_ENABLE="hang")
    children = f"/proc/{process.pid}/task/{process.pid}/children"
    wait_for(lambda: read(children))
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "interrupted" in err and MARKED in err
    assert tool.volumes() == []


def test_failed_up_keeps_the_blueprint(tool):
    tool.run("create", "db", "--no-up", "--leg", LEG)
    _, err = tool.run("up", "db", code=1, FAKE_ENABLE=str(errno.ENODEV))
    assert "nobody?[2J answers" in err
    assert tool.volumes() == ["db"]


@pytest.mark.parametrize("words", [["up", "--wait", "30", "db"], ["up", "db", "--wait=forever"]])
def test_up_waits(tool, words):
    """What may pass is tried again, and each reason is said once."""
    tool.run("create", "db", "--no-up", "--leg", LEG)
    out, err = tool.run(*words, FAKE_ENABLE=str(errno.EHOSTUNREACH), FAKE_ENABLE_TIMES="2")
    assert out == "db: /dev/istripe0 (link: /dev/istripe/db)\n"
    assert err.count("does not come up: No route to host") == 1
    assert err.count("leg 0 path 0: nobody?[2J answers") == err.count("trying again") == 1
    assert tool.value("db/enable") == "1"


@pytest.fixture
def pauses(tool):
    """pauses() has the milliseconds of each wait; none of them takes any time."""
    log = tool.root / "pauses"
    clock = tool.put("clock", f'#!/bin/sh\necho "$2" >>{log}')
    clock.chmod(0o755)
    tool.env["FAKE_CLOCK"] = str(clock)
    return lambda: [int(line) for line in log.read_text().split()] if log.exists() else []


@pytest.mark.parametrize("wait, expected", [
    ("60", [1000, 2000, 4000, *[8000] * 6, 5000]),
    # The last attempt is at the end, but not right behind the one before it.
    ("8", [1000, 2000, 4000, 1000]), ("7900ms", [1000, 2000, 4000]), ("999ms", [999]), ("0", []),
])
def test_pauses_grow(tool, pauses, wait, expected):
    tool.run("create", "db", "--no-up", "--leg", LEG)
    tool.run("up", "--wait", wait, "db", code=1, FAKE_ENABLE=str(errno.ETIMEDOUT))
    assert pauses() == expected


def test_another_reason_is_tried_soon(tool, pauses):
    """The name server is there, then the array comes, too."""
    tool.put("etc/hosts", "192.0.2.10 array")
    tool.put("etc/istripe/db.conf", "[leg 0]\ntarget = iqn.2026-01.a:t1\nportal = array")
    tool.run("up", "--wait", "forever", "db", FAKE_NAMES_TIMES="4",
             FAKE_ENABLE=str(errno.ETIMEDOUT), FAKE_ENABLE_TIMES="2")
    assert pauses() == [1000, 2000, 4000, 8000, 1000, 2000]


@pytest.mark.parametrize("name", ["EAGAIN", "EBUSY", "ECANCELED", "EIO", "ENOLINK"])
def test_assemble_waits(tool, name):
    """For an array that is starting."""
    tool.run("assemble", "db", "--leg", LEG, "--wait", "1min", FAKE_ENABLE_TIMES="1",
             FAKE_ENABLE=str(getattr(errno, name)))
    assert tool.value("db/enable") == "1"


def test_create_waits(tool):
    """Each attempt is one to make superblocks."""
    tool.run("create", "db", "--leg", LEG, "--wait", "1min", FAKE_ENABLE=str(errno.EIO),
             FAKE_ENABLE_TIMES="1", FAKE_BLANK="1")
    assert tool.value("db/enable") == "1"


@pytest.mark.parametrize("number, wait, code", [
    (errno.EACCES, "forever", 78), (errno.EINVAL, "30", 78), (errno.ENODATA, "30", 1),
    (errno.ETIMEDOUT, "0", 1),
])
def test_up_does_not_wait(tool, number, wait, code):
    """For what does not pass by itself, and when the time is over."""
    tool.run("create", "db", "--no-up", "--leg", LEG)
    _, err = tool.run("up", "--wait", wait, "db", code=code, FAKE_ENABLE=str(number))
    assert "does not come up" in err and "trying again" not in err


@pytest.mark.parametrize("names", [["db", "none"], ["none", "db"]])
def test_up_may_help_when_it_does_for_one(tool, names):
    """The exit code says that it is no use only when that holds for all that failed."""
    tool.run("create", "db", "--no-up", "--leg", LEG)
    _, err = tool.run("up", *names, code=1, FAKE_ENABLE=str(errno.ETIMEDOUT))
    assert "there is no volume none" in err and "db does not come up" in err
    tool.run("up", *names, code=78)


def test_wait_is_interrupted(tool):
    tool.run("create", "db", "--no-up", "--leg", LEG)
    process = tool.start("up", "--wait", "forever", "db", FAKE_ENABLE=str(errno.ETIMEDOUT),
                         FAKE_ENABLE_TIMES="1000")
    wait_for(lambda: (tool.root / "failures").exists())
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode == 1
    assert tool.volumes() == ["db"]


@pytest.mark.parametrize("words", [["up", "db", "--wait"], ["up", "--wait", "soon", "db"],
                                   ["up", "--wait=-1", "db"], ["down", "--wait", "1", "db"],
                                   ["assemble", "db", "--wait", "1y", "--leg", LEG]])
def test_wait_wants_a_time(tool, words):
    _, err = tool.run(*words, code=2)
    assert "--wait" in err


def unload(tool):
    (tool.tree / "features").unlink()
    tool.tree.rmdir()


@pytest.fixture
def modprobe(tool, tmp_path):
    """A modprobe that is told what to do, and the file in which it notes its words."""
    def make(body):
        program = tmp_path / "bin/modprobe"
        program.parent.mkdir(exist_ok=True)
        program.write_text(f'#!/bin/sh\necho "$@" >>{tmp_path}/modprobed\n{body}\n')
        program.chmod(0o755)
        tool.env["PATH"] = f"{program.parent}:{os.environ['PATH']}"
        return tmp_path / "modprobed"
    return make


@pytest.mark.parametrize("words", [["create", "db", "--leg", LEG, "--leg", LEG], ["up", "db"]])
def test_module_is_loaded(tool, modprobe, words):
    if words[0] == "up":
        tool.run("create", "db", "--no-up", "--leg", LEG)
    tool.tree.rename(tool.root / "unloaded")
    noted = modprobe(f"mv {tool.root}/unloaded {tool.tree}")
    assert tool.run(*words)[0] == "db: /dev/istripe0 (link: /dev/istripe/db)\n"
    assert noted.read_text() == "istripe\n"
    # Not again when it is there.
    tool.run("up", "db")
    assert noted.read_text() == "istripe\n"


def test_module_cannot_be_loaded(tool, modprobe):
    """Once, by a command that needs it; configfs is mentioned when it is not mounted."""
    unload(tool)
    noted = modprobe("echo modprobe: FATAL: nothing there >&2; exit 1")
    _, err = tool.run("up", "db", "other", code=1)
    assert noted.read_text() == "istripe\n"
    assert "FATAL: nothing there" in err and "next: modprobe istripe; mount -t configfs" in err
    install = f"when modprobe fails: make install KDIR=/lib/modules/{os.uname().release}/build\n"
    assert err.count(install) == 2
    tool.put("usr/src/istripe-0.2.0/dkms.conf", "MAKE[0]=make")
    assert "when modprobe fails: dkms status -m istripe\n" in tool.run("up", "db", code=1)[1]
    noted.write_text("istripe\n")
    tool.put("sys/kernel/config/nullb/features", "x")
    _, err = tool.run("create", "db", "--leg", LEG, code=1)
    assert "the module is not loaded\n" in err and "mount" not in err
    noted.unlink()
    for words in (["create", "db", "--dry-run", "--leg", LEG], ["create", "db"]):
        tool.run(*words, code=0 if "--dry-run" in words else 2)
    for words in (["list"], ["status"], ["show"], ["down", "db"], ["delete", "db"]):
        tool.run(*words, code=1)
    assert not noted.exists()


def test_module_not_loaded(tool):
    (tool.tree / "features").unlink()
    tool.tree.rmdir()
    for words in (["create", "db", "--leg", LEG], ["list"], ["status"], ["show"], ["up", "db"],
                  ["delete", "db"]):
        _, err = tool.run(*words, code=1)
        assert "modprobe istripe" in err


def test_no_initiator_name(tool):
    (tool.root / "etc/iscsi/initiatorname.iscsi").unlink()
    _, err = tool.run("create", "db", "--leg", LEG, code=1)
    assert "--initiator" in err
    tool.run("create", "db", "--initiator", "iqn.x:y", "--leg", LEG)
    assert tool.value("db/initiator_name") == "iqn.x:y"


def test_no_such_volume(tool):
    for command in ("up", "down", "delete", "show", "status", "list"):
        _, err = tool.run(command, "nobody", code=78 if command == "up" else 1)
        assert "there is no volume nobody" in err


# Up and down

def test_life_of_a_volume(tool):
    tool.run("create", "db", "--no-up", "--leg", LEG)
    assert tool.run("up", "db")[0] == "db: /dev/istripe0 (link: /dev/istripe/db)\n"
    tool.run("down", "db")
    tool.run("down", "db")
    assert tool.value("db/enable") == "0"
    tool.run("up", "db")
    tool.run("delete", "db")
    assert tool.volumes() == []


def make_disk(tool, part=False):
    disk = tool.root / "sys/block/istripe0"
    tool.put("sys/block/istripe0/dev", "259:0")
    tool.put("sys/block/istripe0/size", "131072")
    (disk / "holders").mkdir()
    if part:
        tool.put("sys/block/istripe0/istripe0p1/dev", "259:1")
        (disk / "istripe0p1/holders").mkdir()
    return disk


MOUNT = "36 35 {} / {} rw,noatime shared:1 - {} {} rw"

USERS = {
    "mount": ("proc/self/mountinfo", MOUNT.format("259:0", "/srv/db", "xfs", "/dev/x"),
              "mounted at /srv/db"),
    "partition": ("proc/self/mountinfo", MOUNT.format("259:1", "/srv/p", "xfs", "/dev/x"),
                  "/dev/istripe0p1 is mounted at /srv/p"),
    "btrfs": ("proc/self/mountinfo",
              MOUNT.format("0:55", "/srv/b", "btrfs", "/dev/istripe0"), "mounted at /srv/b"),
    "swap": ("proc/swaps", "Filename Type\n/dev/istripe0p1    partition\t8 0 -2",
             "/dev/istripe0p1 is used as swap space"),
    "holder": ("sys/block/istripe0/holders/dm-3/dev", "253:3", "part of dm-3"),
}


@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize("command", ["down", "delete"])
def test_down_refuses_a_disk_in_use(tool, user, command):
    tool.run("create", "db", "--leg", LEG)
    make_disk(tool, part=True)
    file, text, named = USERS[user]
    tool.put(file, text)
    _, err = tool.run(command, "db", code=1, FAKE_OPEN="1")
    assert "is in use" in err and named in err and "--force" in err
    # One that is only open for a moment would be waited for.
    assert (tool.root / "refusals").read_text() == "x"
    assert tool.value("db/enable") == "1"
    tool.run(command, "--force", "db", FAKE_OPEN="1")
    assert "db" not in tool.volumes() or tool.value("db/enable") == "0"


def test_down_names_what_uses_devices_on_top(tool):
    """LVM on the disk, and a file system on that."""
    tool.run("create", "db", "--leg", LEG)
    make_disk(tool)
    tool.put("sys/block/istripe0/holders/dm-3/dm/name", "vg-data")
    tool.put("sys/block/dm-3/dm/name", "vg-data")
    tool.put("sys/block/dm-3/dev", "253:3")
    tool.put("proc/self/mountinfo", MOUNT.format("253:3", "/srv/db", "xfs", "/dev/mapper/vg-data"))
    _, err = tool.run("down", "db", code=1, FAKE_OPEN="1")
    assert "/dev/istripe0 is part of dm-3 (vg-data)\n" in err
    assert "/dev/dm-3 is mounted at /srv/db\n" in err


def test_down_names_the_processes(tool):
    tool.run("create", "db", "--leg", LEG)
    make_disk(tool)
    for pid, name, node in (("12", "fio", "/dev/istripe0"), ("13", "dd", "/dev/istripe0p1"),
                            ("14", "other", "/dev/istripe01"), ("15", "else", "/dev/sda")):
        tool.put(f"proc/{pid}/comm", name)
        fds = tool.root / f"proc/{pid}/fd"
        fds.mkdir()
        (fds / "3").symlink_to(node)
    _, err = tool.run("down", "db", code=1, FAKE_OPEN="1")
    assert "open in process 12 (fio)" in err and "open in process 13 (dd)" in err
    assert "other" not in err and "else" not in err
    shutil.rmtree(tool.root / "proc")
    _, err = tool.run("down", "db", code=1, FAKE_OPEN="1")
    assert "by somebody not seen from here" in err
    assert tool.value("db/enable") == "1"


def test_down_says_that_data_are_lost(tool):
    tool.run("create", "db", "--leg", LEG)
    _, err = tool.run("down", "--force", "db", code=1, FAKE_LOST="1")
    assert "not all has reached the legs" in err and tool.value("db/enable") == "0"
    tool.run("up", "db")
    tool.run("delete", "db", code=1, FAKE_LOST="1")
    assert tool.volumes() == ["db"]
    tool.run("up", "db")
    _, err = tool.run("delete", "--force", "db", code=1, FAKE_LOST="1")
    assert "not all has reached the legs" in err and tool.volumes() == []


def test_down_of_a_disk_that_others_use(tool):
    tool.run("create", "db", "--leg", LEG)
    make_disk(tool)
    tool.put("proc/self/mountinfo", MOUNT.format("259:10", "/srv", "xfs", "/dev/istripe01"))
    tool.put("proc/swaps", "Filename\n/dev/istripe01 partition")
    tool.run("down", "db")


@pytest.mark.parametrize("words", [["down"], ["down", "--force"], ["down", "-n"], ["delete"],
                                   ["delete", "--force"]])
def test_down_while_its_unit_brings_it_up(tool, words):
    """Also between two attempts: the unit would bring it up when another host has it."""
    tool.run("create", "db", "--no-up", "--leg", LEG)
    out, err = tool.run(*words, "db", code=1, FAKE_ACTIVE="activating")
    assert not out and "istripe@db.service is just bringing it up" in err
    assert "next: systemctl stop istripe@db, then this command again\n" in err
    assert tool.volumes() == ["db"]


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_down_while_its_unit_brings_it_up_without_standard_files(tool, closed):
    """What systemctl prints would go nowhere."""
    tool.run("create", "db", "--leg", LEG)
    run = ["sh", "-c", f'exec "$@" {closed}', "sh", tool.program, "down", "db"]
    for active, code in (("activating", 1), ("inactive", 0)):
        done = subprocess.run(run, env={**tool.env, "FAKE_ACTIVE": active}, capture_output=True,
                              text=True, timeout=60, check=False)
        assert (done.returncode, done.stdout) == (code, "")
        assert ("is just bringing it up" in done.stderr) == bool(code and "2" not in closed)
        assert tool.value("db/enable") == str(code)


@pytest.mark.parametrize("answer, said", [
    ("echo 'Transport endpoint is not connected' >&2; exit 1",
     ["systemctl show failed with exit code 1", "Transport endpoint is not connected"]),
    ("kill -9 $$", ["systemctl: Input/output error"]), ("exit 0", ["systemctl show says nothing"]),
])
def test_down_when_nobody_knows_of_the_unit(tool, answer, said):
    """It may be between two attempts: no other host is told that it may have the LUN."""
    tool.run("create", "db", "--leg", LEG)
    (tool.root / "bin/systemctl").write_text(f"#!/bin/sh\n{answer}\n")
    (tool.root / "run/systemd/system").mkdir(parents=True)
    for words in (["down"], ["down", "-n"], ["delete"]):
        _, err = tool.run(*words, "db", code=1)
        assert ("volume db does not go down: whether istripe@db.service is just bringing it up cannot be "
                "told:\n") in err
        assert [text for text in said if f" {text}\n" not in err] == []
        assert "next: systemctl status istripe@db; or, when that is not activating, --force" in err
    assert tool.value("db/enable") == "1"
    tool.run("down", "--force", "db")
    assert tool.value("db/enable") == "0"


CHROOT = "Running in chroot, ignoring command 'show'"


@pytest.mark.parametrize("words", [["down"], ["down", "-n"], ["delete"]])
def test_down_in_a_chroot(tool, words):
    """systemctl does nothing there, says so, and succeeds."""
    tool.run("create", "db", "--leg", LEG)
    (tool.root / "bin/systemctl").write_text(f'#!/bin/sh\necho "{CHROOT}" >&2; exit 0\n')
    (tool.root / "run/systemd/system").mkdir(parents=True)
    _, err = tool.run(*words, "db", code=1)
    said = [line.strip() for line in err.splitlines()]
    at = said.index("systemctl show says nothing")
    assert said[at + 1:] == [
        CHROOT, "next: this command again outside of the chroot, and without SYSTEMD_OFFLINE",
        ("or, when systemctl status istripe@db there is not activating, --force, which fails the I/O "
         "of a disk in use")]
    assert tool.value("db/enable") == "1"


@pytest.mark.parametrize("env", [{"FAKE_ACTIVE": "deactivating"}, {"FAKE_ACTIVE": "active"},
                                 {"FAKE_ACTIVE": "activating", "FAKE_SYSTEMCTL": "1"}])
def test_down_while_its_unit_does_not(tool, env):
    """Its own ExecStop, say; or nobody knows, without systemd."""
    tool.run("create", "db", "--leg", LEG)
    tool.run("down", "db", **env)
    assert tool.value("db/enable") == "0"


def test_down_without_systemctl(tool):
    tool.run("create", "db", "--leg", LEG)
    (tool.root / "bin/systemctl").unlink()
    tool.run("down", "db", PATH=f"{tool.root}/bin")
    assert tool.value("db/enable") == "0"


@pytest.mark.parametrize("words", [["up", "--wait", "forever", "db", "other"],
                                   ["create", "db", "--leg", LEG, "--wait", "forever"]])
def test_down_between_two_attempts(tool, words):
    """Of another process, which would bring it up when another host has it."""
    (tool.root / "run").mkdir()
    if words[0] == "up":
        tool.run("create", "db", "--no-up", "--leg", LEG)
    process = tool.start(*words, FAKE_ENABLE=str(errno.ETIMEDOUT), FAKE_ENABLE_TIMES="1000")
    wait_for(lambda: (tool.root / "failures").exists())
    for command in (["down"], ["down", "--force"], ["delete"]):
        _, err = tool.run(*command, "db", code=1)
        assert f"it is just coming up or going down: process {process.pid} brings it up\n" in err
        assert f"next: end process {process.pid}, then this command again\n" in err
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    tool.run("down", "db", code=int(words[0] == "create"))     # create has removed it
    assert (tool.root / "run/istripe-db.lock").stat().st_mode & 0o777 == 0o600


def test_down_of_a_volume_whose_turn_comes_later(tool):
    """The process will bring it up, too."""
    (tool.root / "run").mkdir()
    for name in ("db", "log"):
        tool.run("create", name, "--no-up", "--leg", LEG)
    process = tool.start("up", "--wait", "forever", "db", "log", FAKE_ENABLE=str(errno.ETIMEDOUT),
                         FAKE_ENABLE_TIMES="1000")
    wait_for(lambda: (tool.root / "failures").exists())
    _, err = tool.run("down", "log", code=1)
    assert f"process {process.pid} brings it up\n" in err
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    tool.run("down", "log")


def test_down_of_a_volume_that_was_brought_up(tool):
    """The process goes on with the next volume."""
    (tool.root / "run").mkdir()
    tool.run("create", "db", "--no-up", "--leg", LEG)
    tool.put("etc/istripe/log.conf", "[leg 0]\ntarget = iqn.2026-01.a:t1\nportal = array")
    process = tool.start("up", "--wait", "forever", "db", "log", FAKE_NAMES_TIMES="1000")
    # Why the next one does not come up yet.
    assert process.stderr.readline()
    tool.run("down", "db")
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)


# Growing

def test_rescan(tool):
    tool.run("create", "db", "--leg", LEG)
    _, err = tool.run("rescan", "db", code=1)
    assert "cannot all be asked" in err and "this version of the module cannot" in err
    make_disk(tool)
    asked = tool.put("sys/block/istripe0/istripe/rescan", "")
    out, _ = tool.run("rescan", "db")
    assert out == "db: /dev/istripe0 keeps its size, 64 MiB\n"
    assert asked.read_text() == "1\n"
    volume, = json.loads(tool.run("rescan", "--json", "db")[0])["volumes"]
    assert volume == {"name": "db", "device": "istripe0", "size_bytes_before": 64 << 20,
                      "size_bytes": 64 << 20}


def test_rescan_says_why_the_disk_keeps_its_size(tool):
    tool.run("create", "db", "--leg", LEG)
    make_disk(tool)
    tool.put("sys/block/istripe0/istripe/rescan", "")
    why = "leg 1 has 262144 sectors, leg 0 has 131072: the disk keeps its size"
    for words in ([], ["--json"]):
        out, err = tool.run("rescan", *words, "db", FAKE_RESCAN=why)
        assert "istripe0" in out and err == f"istripectl: kernel: istripe: db: {why}\n"


def test_rescan_of_paths_that_were_lost_before(tool):
    """What the log has said earlier is not asked for again: the paths have it."""
    tool.run("create", "db", "--leg", LEG, "--leg", LEG + "1")
    make_disk(tool)
    tool.put("sys/block/istripe0/istripe/state", "waiting")
    (tool.root / "sys/block/istripe0/istripe/rescan").symlink_to("/dev/full")
    for leg, state in enumerate(("live", "backoff")):
        path = f"sys/block/istripe0/istripe/legs/{leg}/paths/0"
        tool.put(f"{path}/state", state)
        tool.put(f"{path}/last_error", f"leg {leg} has shrunk")
    _, err = tool.run("rescan", "db", code=1)
    assert "No space left on device" in err
    assert "leg 1 path 0 is backoff: leg 1 has shrunk" in err
    assert "leg 0" not in err and "next:" not in err


def test_rescan_of_what_is_down(tool):
    tool.run("create", "db", "--no-up", "--leg", LEG)
    out, err = tool.run("rescan", "db", "other", code=1)
    assert not out
    assert "volume db is down" in err and "istripectl up db" in err and "other" in err


# What is shown

def make_live(tool):
    make_disk(tool)
    base = "sys/block/istripe0/istripe"
    for name, value in {
        "state": "live", "name": "db", "chunk_bytes": "65536", "recovery_timeout_ms": "-1",
        "legs/0/state": "live", "legs/0/designator": "naa.6001", "legs/0/serial": "12345",
        "legs/0/commands": "12", "legs/0/redriven": "0", "legs/0/retried": "1",
        "legs/0/lun_reset": "unsupported", "legs/0/write_protected": "reported",
        "legs/0/paths/0/state": "backoff", "legs/0/paths/0/last_error": "no\033[2J answer",
        "legs/0/paths/0/portal": "192.0.2.10:3260", "legs/0/paths/0/nic": "eth1",
        "legs/0/paths/0/moved_to": "192.0.2.11:3260",
        "legs/0/paths/0/session/state": "logged-in",
        "legs/0/paths/0/session/isid": "800000000001",
        "legs/0/paths/0/session/negotiated/MaxBurstLength": "65536",
        "legs/0/paths/0/session/negotiated/InitialR2T": "No",
        "legs/0/paths/0/session/offered/MaxBurstLength": "",
        "legs/0/paths/0/connections/0/state": "logged-in",
        "legs/0/paths/0/connections/0/local_address": "192.0.2.1:40000",
        "legs/0/paths/0/connections/0/bytes_sent": "1536",
    }.items():
        tool.put(f"{base}/{name}", value)


def test_status(tool):
    tool.run("create", "db", "--leg", LEG)
    make_live(tool)
    out, _ = tool.run("status")
    assert "\033" not in out
    for words in (r"db +live +/dev/istripe0 +64 MiB", r"leg 0 +live +naa.6001 +12 commands",
                  r"LUN reset +unsupported", r"write protected +reported +the LUN says so",
                  r"path 0 +backoff +192.0.2.10:3260 via eth1", r"session +logged-in +isid 8000",
                  r"connection 0 +logged-in +192.0.2.1:40000 > - +1.5 KiB sent",
                  r"last error +no\?\[2J answer", r"moved to +192.0.2.11:3260"):
        assert re.search(words, out), words
    volume, = json.loads(tool.run("status", "--json", "db")[0])["volumes"]
    assert volume["size_bytes"] == 64 << 20 and volume["recovery_timeout_ms"] == -1
    path = volume["legs"][0]["paths"][0]
    assert path["index"] == 0 and path["connections"][0]["bytes_sent"] == 1536
    assert path["session"]["isid"] == "800000000001"
    assert path["session"]["negotiated"] == {"InitialR2T": False, "MaxBurstLength": 65536}
    assert path["session"]["offered"] == {"MaxBurstLength": None}
    assert volume["legs"][0]["serial"] == "12345"


def test_status_of_a_path_that_is_off(tool):
    """The module has no directory of it."""
    tool.run("create", "db", "--leg", LEG, "--path", "portal=192.0.3.10,nic=eth2")
    make_live(tool)
    (tool.tree / "db/legs/0/paths/1/enable").write_text("0\n")
    (tool.tree / "db/legs/0/paths/1/source_address").write_text("192.0.3.1\n")
    assert re.search(r"path 1 +off +192.0.3.10:3260 via eth2 +iqn.2026-01.a:t1 lun 0, "
                     r"until istripectl apply brings it back\n", tool.run("status")[0])
    volume, = json.loads(tool.run("status", "--json", "db")[0])["volumes"]
    assert volume["legs"][0]["paths"][1] == {
        "index": 1, "state": "off", "target_name": "iqn.2026-01.a:t1", "lun": 0,
        "portal": "192.0.3.10:3260", "source_address": "192.0.3.1", "nic": "eth2", "slow": None}


def test_paths_are_in_order_when_one_is_off(tool):
    tool.run("create", "db", "--leg", LEG, "--path", "portal=192.0.3.10,nic=eth2")
    make_live(tool)
    paths = tool.root / "sys/block/istripe0/istripe/legs/0/paths"
    (paths / "0").rename(paths / "1")
    (tool.tree / "db/legs/0/paths/0/enable").write_text("0\n")
    volume, = json.loads(tool.run("status", "--json", "db")[0])["volumes"]
    assert [(path["index"], path["state"]) for path in volume["legs"][0]["paths"]] == [
        (0, "off"), (1, "backoff")]


def test_status_of_a_volume_that_is_down(tool):
    tool.run("create", "db", "--no-up", "--leg", LEG)
    tool.run("up", "db", code=1, FAKE_ENABLE="5")
    out, _ = tool.run("status")
    assert re.search(r"db +down +configured, legs: 1, paths: 1", out) and "nobody" in out
    volume, = json.loads(tool.run("status", "--json")[0])["volumes"]
    assert volume["state"] == "down" and volume["device"] is None


def test_list(tool):
    assert tool.run("list")[0] == ""
    assert json.loads(tool.run("list", "--json")[0]) == {"schema": 1, "volumes": []}
    tool.run("create", "db", "--leg", LEG)
    tool.run("create", "a", "--no-up", "--leg", LEG, "--path", "nic=eth2", "--leg", LEG)
    make_live(tool)
    rows = [line.split() for line in tool.run("list")[0].splitlines()[1:]]
    assert rows == [["a", "-", "down", "-", "2", "3"],
                    ["db", "istripe0", "live", "64", "MiB", "1", "1"]]


def test_show(tool):
    tool.run("create", "db", "--leg", LEG + ",chap_user=u,chap_secret=@-", text_in=SECRET)
    out, _ = tool.run("show", "db")
    assert out.startswith("db: /dev/istripe0\n")
    assert "      portal = 192.0.2.10:3260\n" in out
    assert "      chap_secret = (cannot be read)\n" in out
    volume, = json.loads(tool.run("show", "--json")[0])["volumes"]
    assert volume["up"] is True and volume["chunk_bytes"] == 65536
    path = volume["legs"][0]["paths"][0]
    assert path["lun"] == 0 and path["chap_user"] == "u" and "chap_secret" not in path


# The fuzz target, briefly: make it longer by hand.

def test_parser_fuzz(built, tmp_path):
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    (corpus / "seed").write_bytes(
        b"db\0--initiator\0iqn.a:b\0--chunk\00064K\0--set\0queue_depth=3\0--all-paths\0"
        b"chap_user=x,chap_secret=@-\0--leg\0target=iqn.t,portal=1.2.3.4,nic=e1\0"
        b"--path\0portal=a,header_digest=CRC32C,None\0--leg\0target=iqn.u,lun=3,isid=9")
    done = subprocess.run(
        [built / "parse_fuzz", "-runs=20000", "-max_len=600", "-seed=1", "-verbosity=0",
         f"-artifact_prefix={tmp_path}/", corpus], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]


# Paths

PORTAL = "portal=192.0.2.20,nic=eth3"


def test_path_comes_and_goes_while_down(tool):
    """It inherits what is not of one path alone; the first free number is its own."""
    tool.run("create", "db", "--leg", LEG + ",lun=5,ping_interval=2s", "--no-up")
    assert tool.run("path", "add", "db", "0", PORTAL)[0] == "db: leg 0 path 1\n"
    here = "db/legs/0/paths/1"
    assert [tool.value(f"{here}/{name}") for name in ("portal", "nic", "lun", "target_name",
                                                      "ping_interval_ms", "source_address")] == [
        "192.0.2.20:3260", "eth3", "5", "iqn.2026-01.a:t1", "2000", ""]
    assert tool.run("path", "add", "db", "0", PORTAL)[0] == "db: leg 0 path 2\n"
    tool.run("path", "remove", "db", "0", "1")
    assert tool.run("path", "add", "db", "0", PORTAL + ",lun=7")[0] == "db: leg 0 path 1\n"
    assert tool.value(f"{here}/lun") == "7"


def test_path_that_is_refused_leaves_nothing(tool):
    tool.run("create", "db", "--leg", LEG, "--no-up")
    _, err = tool.run("path", "add", "db", "0", PORTAL + ",lun=99", code=1, FAKE_REFUSE="lun=99")
    assert '/db/legs/0/paths/1/lun refuses "99"' in err
    assert not (tool.tree / "db/legs/0/paths/1").exists()


@pytest.mark.parametrize("words,reason", [
    (("add", "db", "1", PORTAL), "volume db has no leg 1"),
    (("add", "db", "x", PORTAL), "volume db has no leg x"),
    (("add", "no", "0", PORTAL), "there is no volume no"),
    (("remove", "db", "0", "1"), "leg 0 has no path 1"),
    (("remove", "db", "0", "x"), "leg 0 has no path x"),
    (("add", "db", "0", "portal"), "is not NAME=VALUE"),
    (("add", "db", "0", "chap_secret=" + SECRET), "never given on the command line"),
])
def test_path_that_makes_no_sense(tool, words, reason):
    tool.run("create", "db", "--leg", LEG, "--no-up")
    _, err = tool.run("path", *words, code=1)
    assert reason in err and SECRET not in err


def test_path_of_a_leg_with_chap(tool):
    """The secret cannot be inherited: it cannot be read."""
    secret = tool.put("secret", SECRET)
    secret.chmod(0o600)
    chap = f"chap_user=me,chap_secret=@{secret}"
    tool.run("create", "db", "--leg", f"{LEG},{chap}", "--no-up")
    _, err = tool.run("path", "add", "db", "0", PORTAL, code=1)
    assert "give chap_secret=@FILE" in err
    tool.run("path", "add", "db", "0", f"{PORTAL},chap_secret=@{secret}")
    assert (tool.tree / "db/legs/0/paths/1/chap_secret").read_text().strip() == SECRET


@pytest.mark.parametrize("words", [(), ("add",), ("take", "db", "0", "1"), ("remove", "db", "0"),
                                   ("add", "-db", "0", PORTAL), ("add", "db", "0", PORTAL, "x")])
def test_path_wrong_usage(tool, words):
    _, err = tool.run("path", *words, code=2)
    assert "usage: istripectl path add NAME LEG LIST | path remove NAME LEG PATH" in err


def test_path_says_which_word(tool):
    assert "which of add, remove, confirm? a word is needed" in tool.run("path", code=2)[1]
    assert '"take" is none of add, remove, confirm' in tool.run("path", "take", code=2)[1]


def test_path_confirm(tool):
    """Somebody knows that a target is dead: writes that wait for it go on."""
    tool.run("create", "db", "--leg", LEG)
    make_disk(tool)
    path = "sys/block/istripe0/istripe/legs/0/paths/0"
    confirmed = tool.put(f"{path}/fence_confirm", "")
    tool.put(f"{path}/waiting_writes", "3")
    _, err = tool.run("path", "confirm", "db", "0", "0", code=1)
    assert err == ("istripectl: there is no terminal to ask at\n            next: only if its target was "
                   "switched off or restarted since the path was lost: the same with --yes\n")
    for words, reason in ((("0", "1"), "leg 0 has no path 1"), (("1", "0"), "has no leg 1")):
        assert reason in tool.run("path", "confirm", "--yes", "db", *words, code=1)[1]
    assert confirmed.read_text() == "\n"
    tool.run("path", "confirm", "--yes", "db", "0", "0")
    assert confirmed.read_text() == "1\n"
    confirmed.unlink()
    confirmed.symlink_to("/dev/full")
    _, err = tool.run("path", "confirm", "--yes", "db", "0", "0", code=1)
    assert "writes of db go on waiting: No space left on device" in err
    assert "next: istripectl status db" in err


@pytest.mark.parametrize("answer, done", [("yes\n", True), ("y\n", False), ("no\n", False), ("", False)])
def test_path_confirm_asks(tool, answer, done):
    tool.run("create", "db", "--leg", LEG)
    make_disk(tool)
    path = "sys/block/istripe0/istripe/legs/0/paths/0"
    confirmed = tool.put(f"{path}/fence_confirm", "")
    tool.put(f"{path}/waiting_writes", "3")
    code, err = tool.answered(answer or "\x04", "path", "confirm", "db", "0", "0")
    assert code == (0 if done else 1)
    assert "leg 0 path 0: writes that wait: 3" in err and "overwrite newer data" in err
    assert confirmed.read_text() == ("1\n" if done else "\n")
    assert ("the answer was not yes: nothing was done" in err) != done


def test_status_says_what_no_path_serves(tool):
    tool.run("create", "db", "--leg", LEG)
    make_live(tool)
    leg = "sys/block/istripe0/istripe/legs/0"
    said = "command 0x8a: status 0x02, sense 2/04/03: failed on this path"
    for ms, error in (("0", ""), ("2500", said)):
        tool.put(f"{leg}/waiting_ms", ms)
        tool.put(f"{leg}/last_error", error)
        lines = [line for line in tool.run("status", "db")[0].splitlines() if "waiting I/O" in line]
        assert len(lines) == bool(error)
    assert re.search(rf"waiting I/O +since 2500 ms +no path serves it: {said}$", lines[0])


@pytest.mark.parametrize("left, end", [("-1", "waits for ever"), ("0", "fails"), ("900", "fails in 900 ms")])
@pytest.mark.parametrize("error", ["", "path 1: its target port is standby"])
def test_status_says_since_when_and_until_when(tool, left, end, error):
    tool.run("create", "db", "--leg", LEG)
    make_live(tool)
    for down_ms in ("0", "2500"):
        for name, value in (("down_ms", down_ms), ("recovery_left_ms", left), ("last_error", error)):
            tool.put(f"sys/block/istripe0/istripe/legs/0/{name}", value)
        lines = [line for line in tool.run("status", "db")[0].splitlines() if "outage" in line]
        assert len(lines) == (down_ms != "0")
    said = f"no path takes I/O, which {end}{': ' if error else ''}{error}"
    assert re.search(rf"outage +since 2500 ms +{said}$", lines[0])
    leg = json.loads(tool.run("status", "--json", "db")[0])["volumes"][0]["legs"][0]
    assert (leg["down_ms"], leg["recovery_left_ms"]) == (2500, int(left))


@pytest.mark.parametrize("ms", ["0", "2500"])
def test_status_says_that_the_lun_is_busy(tool, ms):
    tool.run("create", "db", "--leg", LEG)
    make_live(tool)
    tool.put("sys/block/istripe0/istripe/legs/0/busy_ms", ms)
    out = tool.run("status", "db")[0]
    assert bool(re.search(r"busy +since 2500 ms +the LUN takes no command", out)) == (ms != "0")


@pytest.mark.parametrize("bios", ["0", "30"])
def test_status_says_what_is_kept(tool, bios):
    tool.run("create", "db", "--leg", LEG)
    make_live(tool)
    tool.put("sys/block/istripe0/istripe/legs/0/kept_bios", bios)
    out = tool.run("status", "db")[0]
    assert bool(re.search(r"kept +30 +bios +wait without a request until the leg answers", out)) == (bios != "0")
    leg = json.loads(tool.run("status", "--json", "db")[0])["volumes"][0]["legs"][0]
    assert leg["kept_bios"] == int(bios)


@pytest.mark.parametrize("unfenced", ["0", "1"])
def test_status_says_which_path_keeps_all_io_back(tool, unfenced):
    tool.run("create", "db", "--leg", LEG)
    make_live(tool)
    tool.put("sys/block/istripe0/istripe/legs/0/paths/0/unfenced", unfenced)
    said = (r"unfenced +no I/O of the leg before a login through it, or 'istripectl path confirm' "
            r"\(only if its target was switched off or restarted since\)")
    assert bool(re.search(said, tool.run("status", "db")[0])) == (unfenced == "1")
    volume, = json.loads(tool.run("status", "--json", "db")[0])["volumes"]
    assert volume["legs"][0]["paths"][0]["unfenced"] is (unfenced == "1")


@pytest.mark.parametrize("left", ["", "0\n"])
def test_down_looks_for_writes_that_were_left(tool, left):
    """Another host takes over if it ends without an error; --force asks for nothing."""
    tool.run("create", "db", "--leg", LEG)
    make_live(tool)
    tool.put("sys/block/istripe0/istripe/legs/0/paths/0/ghost_writes", "2")
    (tool.tree / "db/legs/0/unfenced").write_text(left)
    out, err = tool.run("down", "db", code=int(bool(left)))
    assert "db: waits up to 5 s: the target may still carry out 2 lost write(s)" in err and not out
    said = "leg 0, path 0: writes were left that the target may still carry out, and only this"
    assert (said in err and "no other host may write to this LUN" in err) == bool(left)
    tool.run("up", "db")
    assert tool.run("down", "--force", "db") == ("", "")


@pytest.mark.parametrize("command", ["down", "delete"])
def test_down_that_is_interrupted_while_it_waits(tool, command):
    """Ctrl-C means the command, not only its patience."""
    tool.run("create", "db", "--leg", LEG)
    make_live(tool)
    tool.put("sys/block/istripe0/istripe/legs/0/paths/0/ghost_writes", "1")
    process = tool.start(command, "db")
    assert "waits up to 5 s" in process.stderr.readline()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1 and tool.value("db/enable") == "1"
    assert err == "istripectl: interrupted: db stays up\n"


def test_down_does_not_wait_for_a_leg_without_paths(tool):
    """They have been away for longer than I/O waits for them: a system that stops goes on."""
    tool.run("create", "db", "--leg", LEG)
    make_live(tool)
    leg = "sys/block/istripe0/istripe/legs/0"
    tool.put(f"{leg}/state", "failed")
    tool.put(f"{leg}/paths/0/ghost_writes", "2")
    (tool.tree / "db/legs/0/unfenced").write_text("0\n")
    err = tool.run("down", "db", code=1)[1]
    assert "waits" not in err and "no other host may write to this LUN" in err


# Tables

def test_columns(tool):
    tool.run("create", "db", "--leg", LEG)
    make_live(tool)
    assert tool.run("list", "-o", "state,VOLUME")[0] == "STATE VOLUME\nlive  db\n"
    assert tool.run("list", "--noheadings", "--output=size,device")[0] == "64 MiB istripe0\n"
    assert tool.run("list", "-P", "-o", "VOLUME,SIZE", "db")[0] == 'VOLUME="db" SIZE="64 MiB"\n'
    rows = tool.run("status", "-n", "-P", "-o", "NAME,STATE")[0].splitlines()
    assert rows[0] == 'NAME="db" STATE="live"'
    assert 'NAME="db leg 0 path 0 session" STATE="logged-in"' in rows
    assert 'NAME="db leg 0 path 0 session connection 0" STATE="logged-in"' in rows
    assert all(line == line.rstrip() for line in tool.run("status")[0].splitlines())


@pytest.mark.parametrize("command", ["list", "status"])
@pytest.mark.parametrize("words, said", [
    (["-o", "colour"], '"colour" is no column; there are: '), (["-o", ""], '"" is no column'),
    (["-o"], "-o needs a value"), (["--json", "-P"], "--json has all values"),
    (["-o", ",".join(["state"] * 12)], "too many columns"),
])
def test_columns_that_are_none(tool, command, words, said):
    _, err = tool.run(command, *words, code=2)
    assert said in err
