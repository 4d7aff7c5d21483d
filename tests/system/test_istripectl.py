# SPDX-License-Identifier: GPL-2.0
"""istripectl on the real module: what is described comes up, and what fails leaves nothing."""

import contextlib
import json
import os
import re
import shlex
import signal
import subprocess
import time
from pathlib import Path

import pytest

from lab import istripe, leaks, lio, network, storage, uevents
from lab.istripectl import INITIATOR, TOOL, leg
from lab.shell import read, run, status, wait_for

MIB = 1 << 20
USER, SECRET = "initiator", "a-secret-of-20-bytes"
MUTUAL_USER, MUTUAL_SECRET = "target", "another-one-20-bytes"
#: For a path that is to be live: an emulated processor may stand still for longer than by default.
PATIENT = ",ping_timeout=10s"


def settled(device):
    """Whoever looks at a new disk because it is new has done so."""
    run("udevadm", "settle", check=False)
    return device


def names():
    return [volume.name for volume in istripe.volumes()]


def test_life_of_a_volume(tool, make_lio, link):
    target = make_lio()
    out = tool("create", "db", *INITIATOR, "--chunk", "128K", "--set", "recovery_timeout=10s",
               *leg(target, link, more=",ping_interval=2s,dscp=46,user_timeout=3s,"
                                       "congestion_control=reno,receive_buffer_bytes=1M"))
    device = re.fullmatch(r"db: (/dev/istripe\d+) \(link: /dev/istripe/db\)\n", out).group(1)
    disk = settled(Path(device))
    assert disk.is_block_device()
    assert read(istripe.CONFIG / "db/chunk_bytes") == "131072"
    assert read(f"/sys/block/{disk.name}/istripe/recovery_timeout_ms") == "10000"
    path = Path(f"/sys/block/{disk.name}/istripe/legs/0/paths/0")
    assert read(path / "ping_interval_ms") == "2000"
    assert read(path / "dscp") == "46" and read(path / "user_timeout_ms") == "3000"
    assert read(path / "congestion_control") == "reno"
    assert read(path / "receive_buffer_bytes") == "1048576"
    with open(disk, "rb") as file:
        assert file.read(4096) == bytes(4096)
    # What is so already is no failure.
    assert tool("up", "db") == out
    settled(disk)
    tool("down", "db")
    tool("down", "db")
    assert istripe.devices() == []
    assert names() == ["db"]
    assert tool("up", "db").startswith("db: /dev/istripe")
    settled(disk)
    tool("delete", "db")
    assert names() == [] and istripe.devices() == []


def test_list_and_status(tool, make_lio, link):
    target = make_lio()
    tool("create", "db", *INITIATOR, *leg(target, link, more=PATIENT))
    tool("create", "other", *INITIATOR, "--no-up", *leg(target, link))
    device = istripe.Volume("db").device()
    rows = [line.split() for line in tool("list").splitlines()]
    assert rows[1:] == [["db", device, "live", "63", "MiB", "1", "1"],
                        ["other", "-", "down", "-", "1", "1"]]
    text = tool("status")
    for words in (rf"db +live +/dev/{device} +63 MiB", r"leg 0 +live +naa\.",
                  rf"path 0 +live +{re.escape(link.portal())} via {link.nic} ",
                  r" lun 0, active/optimized in port group 0, 0 faults",
                  r"session +logged-in +isid [0-9a-f]{12}",
                  rf"connection 0 +logged-in +{link.source}:\d+ > {link.portal()}",
                  r"other +down"):
        assert re.search(words, text), f"{words} in\n{text}"
    down, = json.loads(tool("status", "--json", "other"))["volumes"]
    assert down["state"] == "down" and down["device"] is None
    volume, = json.loads(tool("status", "--json", "db"))["volumes"]
    assert volume["state"] == "live" and volume["size_bytes"] == 63 * MIB
    path = volume["legs"][0]["paths"][0]
    assert path["target_name"] == target.iqn and path["lun"] == 0
    assert path["access_state"] == "active/optimized"
    assert path["port_group"] == 0 and path["preferred"] is False
    assert path["session"]["tsih"] > 0
    assert isinstance(path["session"]["isid"], str)
    assert path["session"]["negotiated"]["MaxBurstLength"] >= 512
    assert path["session"]["negotiated"]["ImmediateData"] in (True, False)
    connection, = path["connections"]
    assert connection["bytes_sent"] > 0 and connection["digest_errors"] == 0


def test_status_while_the_path_is_lost(tool, make_lio, link):
    tool("create", "db", *INITIATOR, *leg(make_lio(), link, more=",ping_interval_ms=500,"
                                                                "ping_timeout_ms=500"))
    with network.down(link):
        path = istripe.Volume("db").path_sysfs()
        wait_for("a lost path", lambda: read(path / "state") == "backoff")
        text = tool("status", "db")
        assert re.search(r"path 0 +(backoff|connecting) ", text), text
        assert re.search(r"session +none|session +login", text), text
        assert re.search(r"last error +\S", text), text
        volume, = json.loads(tool("status", "--json"))["volumes"]
        assert volume["state"] == "waiting"
    wait_for("the path again", lambda: read(path / "state") == "live", 60)


def test_show_and_round_trip(tool, make_lio, link):
    target = make_lio()
    tool("create", "db", *INITIATOR, "--chunk", "16K",
         *leg(target, link, more=",header_digest=CRC32C,None,max_burst_length=512K"))
    before = json.loads(tool("show", "--json"))
    shown, = before["volumes"]
    assert shown["up"] is True and shown["chunk_bytes"] == 16384
    assert shown["legs"][0]["paths"][0]["header_digest"] == "CRC32C,None"
    assert "portal = " + link.portal() in tool("show", "db")
    line = tool("show", "--command", "db")
    settled(None)
    tool("delete", "db")
    words = shlex.split(line.replace("\\\n", " "))
    assert words[:2] == ["istripectl", "assemble"]
    tool(*words[1:])
    after = json.loads(tool("show", "--json"))
    for volume in (shown, after["volumes"][0]):
        volume.pop("device")
    assert after["volumes"] == [shown]


def test_dry_run_is_what_create_does(tool, make_lio, link):
    target = make_lio()
    words = ["create", "db", *INITIATOR, "--chunk", "32K", *leg(target, link)]
    script = tool(*words, "--dry-run")
    assert names() == []
    run("bash", "-e", text_in=script)
    by_hand = tool("show", "--json")
    assert json.loads(by_hand)["volumes"][0]["up"]
    settled(None)
    tool("delete", "db")
    tool(*words, "--force")
    normal = re.compile(r"istripe\d+")
    assert normal.sub("", tool("show", "--json")) == normal.sub("", by_hand)


def test_created_once_assembled_ever_after(tool, make_lio, link):
    """What one command has made the other one finds; neither writes over the other's work."""
    target = make_lio(16 * MIB, 16 * MIB)
    legs = [leg(target, link, lun) for lun in range(2)]
    words = ["db", *INITIATOR, *legs[0], *legs[1]]
    err = tool("assemble", *words, code=1)
    assert "leg 0: no MD superblock found" in err and "next: istripectl create makes" in err
    device = settled(tool("create", *words, "--chunk", "16K").split()[1])
    written = storage.fill_pattern(device, 8 * MIB, seed=1)
    tool("down", "db")
    tool("up", "db")
    settled(device)
    tool("delete", "db")

    err = tool("create", *words, code=1)
    assert "leg 0: it holds an MD superblock" in err and "next: istripectl assemble" in err
    err = tool("assemble", "db", *INITIATOR, *legs[1], *legs[0], code=1)
    assert "leg 0: swapped, it is role 1 of the array" in err
    assert names() == []
    device = settled(tool("assemble", *words).split()[1])
    assert read(istripe.CONFIG / "db/chunk_bytes") == "16384"
    assert storage.sha256(device, 8 * MIB) == written
    tool("delete", "db")


# Failures

def test_bad_value_is_named(tool, link):
    err = tool("create", "db", *INITIATOR, "--leg",
               f"target=iqn.2024-01.org.example:x,portal={link.portal()},lun=99999", code=1)
    assert '/db/legs/0/paths/0/lun refuses "99999": Invalid argument' in err
    assert re.search(r'kernel: istripe: db/0/0: lun: "99999" is refused, allowed is', err), err
    assert names() == []
    err = tool("create", "db", *INITIATOR, "--chunk", "5K", *leg(lio.Target([], []), link), code=1)
    assert 'chunk_bytes refuses "5120"' in err and "allowed is" in err
    err = tool("create", "db", *INITIATOR, *leg(lio.Target([], []), link, more=",colour=red"),
               code=1)
    assert "no setting colour" in err and "ping_interval_ms" in err
    assert names() == []


def test_bad_secret_is_not_shown(tool, link, kernel_log):
    err = tool("create", "db", *INITIATOR, *leg(lio.Target([], []), link, more=",chap_secret=@-"),
               text_in="hunter2\thunter3\n", code=1)
    assert "refuses the given secret of 15 bytes" in err and "1 to 255 bytes of text" in err
    assert "hunter" not in err
    assert not kernel_log.matching("hunter")
    assert names() == []


def test_module_not_loaded(tool):
    istripe.unload()
    try:
        assert not leaks.loaded()
        for words in (["list"], ["status"], ["down", "db"]):
            assert "modprobe istripe" in tool(*words, code=1)
        # What configures a volume loads it.
        assert "there is no volume db" in tool("up", "db", code=78)
        assert leaks.loaded()
    finally:
        istripe.load()


def test_volume_exists(tool, make_lio, link):
    target = make_lio()
    tool("create", "db", *INITIATOR, *leg(target, link))
    err = tool("create", "db", *INITIATOR, *leg(target, link, lun=5), code=1)
    assert "exists already" in err
    assert istripe.Volume("db").enabled()
    assert read(istripe.CONFIG / "db/legs/0/paths/0/lun") == "0"


def test_nobody_answers(tool, link):
    """The reason is shown, and nothing is left."""
    err = tool("create", "db", *INITIATOR, *leg(lio.Target([], []), link), code=1)
    assert "does not come up: " in err and re.search(r"reason: \S", err)
    assert names() == []
    tool("create", "db", "--no-up", *INITIATOR, *leg(lio.Target([], []), link))
    assert re.search(r"reason: \S", tool("up", "db", code=1))
    assert names() == ["db"]
    assert re.search(r"db +down.*\n +last error +\S", tool("status", "db"))


@pytest.fixture
def silence(link):
    """An address that swallows packets: a login to it lasts as long as it may."""
    address = "10.55.0.99"
    run("ip", "neigh", "add", address, "lladdr", "02:00:00:00:00:01", "dev", link.nic)
    yield ["--leg", f"target=iqn.2024-01.org.example:x,portal={address},login_timeout=60s"]
    run("ip", "neigh", "del", address, "dev", link.nic, check=False)


def start(*words):
    """Starts the tool and returns when it is waiting for a login."""
    process = subprocess.Popen([TOOL, *words], stderr=subprocess.PIPE, text=True)
    wait_for("a login", lambda: run("ss", "-Htn", "state", "syn-sent", "dport = 3260"))
    return process


def interrupt(process):
    begin = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert time.monotonic() - begin < 20
    assert process.returncode == 1 and "interrupted" in err


def test_interrupted_create(tool, silence):
    """Ctrl-C ends the login and removes the volume."""
    interrupt(start("create", "db", *INITIATOR, *silence))
    assert names() == []


def test_busy_volume(tool, silence):
    """While a volume is coming up, nobody else does anything to it."""
    tool("create", "db", "--no-up", *INITIATOR, *silence)
    process = start("up", "db")
    assert "just coming up or going down" in tool("up", "db", code=1)
    assert "just coming up or going down" in tool("down", "db", code=1)
    assert "just coming up or going down" in tool("delete", "db", code=1)
    interrupt(process)
    assert names() == ["db"]
    assert (istripe.CONFIG / "db/legs/0/paths/0").is_dir()
    tool("delete", "db")
    assert names() == []


def test_gap(tool, make_lio, link):
    """The module's own words about a blueprint that makes no sense."""
    tool("create", "db", *INITIATOR, "--no-up", *leg(make_lio(), link))
    (istripe.CONFIG / "db/legs/5").mkdir()
    assert "leg 1 is missing" in tool("up", "db", code=78)
    assert "leg 1 is missing" in tool("show", "--command", code=1)
    tool("delete", "db")
    assert names() == []


def test_down_refuses_a_disk_in_use(tool, make_lio, link, tmp_path):
    target = make_lio()
    out = tool("create", "db", *INITIATOR, *leg(target, link))
    device = out.split()[1]
    run("mkfs.ext4", "-q", device)
    run("mount", device, tmp_path)
    try:
        for command in ("down", "delete"):
            err = tool(command, "db", code=1)
            assert f"mounted at {tmp_path}" in err and "--force" in err
        assert istripe.Volume("db").enabled()
    finally:
        run("umount", tmp_path)
    settled(device)
    run("mkswap", device)
    run("swapon", device)
    try:
        assert "swap space" in tool("down", "db", code=1)
    finally:
        run("swapoff", device)
    settled(device)
    with open(device, "rb") as disk:
        err = tool("down", "db", code=1)
        assert re.search(rf"open in process {os.getpid()} \(\S+\)", err), err
        disk.read(512)
    settled(device)
    # Mounted where the tool cannot see it, and by nobody who could be named.
    run("mkfs.ext4", "-q", "-F", device)
    with subprocess.Popen(["unshare", "--mount", "--propagation", "private", "sh", "-c",
                           f"mount {device} {tmp_path} && echo && read -r over"],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as elsewhere:
        elsewhere.stdout.readline()
        settled(device)
        assert "by somebody not seen from here" in tool("down", "db", code=1)
        elsewhere.communicate(b"\n")
    settled(device)
    tool("delete", "db")
    assert names() == []


def test_links(tool, make_lio, link, udev_rules):
    """/dev/istripe/<name>, by UUID as for any other disk; gone with the disk."""
    device = Path(tool("create", "db", *INITIATOR, *leg(make_lio(), link)).split()[1])
    named = Path("/dev/istripe/db")
    wait_for(named, named.is_block_device)
    assert named.resolve() == device
    run("mkfs.ext4", "-q", "-L", "data-of-db", named)
    for directory in ("by-uuid", "by-label"):
        wait_for(directory, lambda path=Path("/dev/disk") / directory: path.is_dir() and any(
            entry.resolve() == device for entry in path.iterdir()))
    settled(device)
    tool("delete", "db")
    wait_for("no link", lambda: not named.is_symlink())


def test_links_of_partitions(tool, make_lio, link, udev_rules):
    device = Path(tool("create", "db", *INITIATOR, *leg(make_lio(), link)).split()[1])
    storage.partitioned(device, 4096)
    settled(device)
    run("blockdev", "--rereadpt", device)
    part = Path("/dev/istripe/db-part1")
    wait_for(part, part.is_block_device)
    assert part.resolve().name == f"{device.name}p1"
    settled(device)
    # Also when the partition is there already as the disk comes up.
    tool("down", "db")
    wait_for("no link", lambda: not part.is_symlink())
    with uevents.collected() as seen:
        tool("up", "db")
        wait_for(part, part.is_block_device)
        settled(device)
    # When the disk has its name, which the rules take for the partition.
    disk, partition = (next(at for at, line in enumerate(seen)
                            if re.fullmatch(rf"{action} \S*/{device.name}/{name}", line))
                       for action, name in (("change", device.name), ("add", part.resolve().name)))
    assert disk < partition
    tool("delete", "db")


# Secrets

def test_secrets_are_nowhere(tool, make_lio, link, tmp_path, kernel_log):
    target = make_lio(chap=(USER, SECRET), chap_mutual=(MUTUAL_USER, MUTUAL_SECRET))
    file = tmp_path / "secret"
    file.write_text(f"{SECRET}\n")
    file.chmod(0o644)
    chap = (f"{PATIENT},chap_user={USER},chap_secret=@{file}"
            f",chap_mutual_user={MUTUAL_USER},chap_mutual_secret=@-")
    words = ["create", "db", *INITIATOR, *leg(target, link, more=chap)]
    assert "chmod 600" in tool(*words, text_in=MUTUAL_SECRET, code=1)
    file.chmod(0o600)
    seen = []
    process = subprocess.Popen([TOOL, *words], text=True, stdin=subprocess.PIPE,
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def watch(whose="[0-9]*"):
        for file in Path("/proc").glob(f"{whose}/cmdline"):
            with contextlib.suppress(OSError):
                seen.append(file.read_bytes())

    # It waits for the other secret by now, or for longer than it takes to look.
    wait_for("its command line", lambda: watch(process.pid) or b"istripectl" in seen[-1])
    process.stdin.write(f"{MUTUAL_SECRET}\n")
    process.stdin.close()
    while process.poll() is None:
        watch()
    assert process.returncode == 0, process.stderr.read()
    shown = [*(line.decode(errors="replace") for line in seen), tool("show"),
             tool("show", "--json"), tool("show", "--command"), tool("status"),
             tool("status", "--json"), tool("create", "other", *words[2:], "--dry-run"),
             *kernel_log.read()]
    for text in shown:
        assert SECRET not in text and MUTUAL_SECRET not in text
    assert istripe.Volume("db").state() == "live"


# Several legs and paths

def test_four_legs_are_described(tool, make_lio, links):
    """The blueprint of a volume of four legs and two paths each, whether or not it can be up."""
    target = make_lio(*[64 * MIB] * 4, all_links=True)
    words = []
    for lun in range(4):
        second = f"portal={links[1].portal()},nic={links[1].nic}"
        words += [*leg(target, links[0], lun), "--path", second]
    tool("assemble", "db", *INITIATOR, "--no-up", *words)
    volume, = json.loads(tool("show", "--json"))["volumes"]
    assert [item["index"] for item in volume["legs"]] == [0, 1, 2, 3]
    for lun, item in enumerate(volume["legs"]):
        assert [(path["portal"], path["nic"], path["lun"], path["target_name"])
                for path in item["paths"]] == [
            (link.portal(), link.nic, lun, target.iqn) for link in links[:2]]
    line = tool("show", "--command", "db")
    tool("delete", "db")
    again = shlex.split(line.replace("\\\n", " "))
    tool(*again[1:], "--no-up")
    assert json.loads(tool("show", "--json"))["volumes"] == [volume]


def test_four_legs_come_up(tool, make_lio, links):
    target = make_lio(*[64 * MIB] * 4, all_links=True)
    words = [word for lun in range(4) for word in leg(target, links[lun % 2], lun, PATIENT)]
    out = tool("create", "db", *INITIATOR, "--chunk", "64K", *words)
    disk = settled(out.split()[1])
    volume, = json.loads(tool("status", "--json"))["volumes"]
    assert volume["state"] == "live" and len(volume["legs"]) == 4
    assert volume["size_bytes"] == 4 * 63 * MIB
    code, text = status("dd", "if=/dev/urandom", f"of={disk}", "bs=1M", "count=4", "oflag=direct")
    assert code == 0, text
    volume, = json.loads(tool("status", "--json"))["volumes"]
    assert all(item["commands"] > 0 for item in volume["legs"])
    settled(disk)
    tool("delete", "db")


def test_path_of_a_volume_that_is_up(tool, make_lio, links):
    """Added, used and removed again without a pause; what is refused leaves nothing."""
    target = make_lio(MIB * 16, MIB * 16, all_links=True)
    tool("create", "db", *INITIATOR, *leg(target, links[0]))
    second = f"portal={links[1].portal()},nic={links[1].nic}"
    assert tool("path", "add", "db", "0", second) == "db: leg 0 path 1\n"
    assert "path 1" in tool("status", "db")
    out = tool("path", "add", "db", "0", second + ",lun=1", code=1)
    assert "leg 0 path 2 of db is not added" in out and "answers here: path not used" in out
    assert "path 2" not in tool("show", "db")
    tool("path", "remove", "db", "0", "0")
    out = tool("path", "remove", "db", "0", "1", code=1)
    assert "leg 0 has no other path" in out
    tool("path", "add", "db", "0", f"portal={links[0].portal()}")
    tool("delete", "db")
