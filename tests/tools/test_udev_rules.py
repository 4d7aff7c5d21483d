# SPDX-License-Identifier: GPL-2.0
"""Links that udev makes of what a target says: udevadm test with the rules, on a disk in files.

/sys, /dev and /run are tmpfs in a mount namespace, so the host's own are not touched.
"""

import os
import shutil
import subprocess

import pytest
from conftest import TOP

RULES = TOP / "tools/istripectl/60-istripe.rules"
#: A container may refuse any of it, or the use of a device that is made.
ALLOWED = "mount -t tmpfs tmpfs /dev; mknod /dev/null c 1 3; : >/dev/null"
HOST = """
for folder in /sys /run /dev /usr/lib/udev/rules.d; do mount -t tmpfs tmpfs $folder; done
mknod /dev/null c 1 3
cp "$1" /usr/lib/udev/rules.d
disk=/sys/devices/virtual/block/istripe0 part=/sys/devices/virtual/block/istripe0/istripe0p1
mkdir -p $disk/istripe $disk/device $part /sys/bus /sys/class/block /sys/dev/block /run/udev/data
uevent() {
    ln -s /sys/class/block $1/subsystem
    ln -s $1 /sys/class/block
    ln -s $1 /sys/dev/block/259:$2
    printf 'MAJOR=259\nMINOR=%s\nDEVNAME=%s\nDEVTYPE=%s\nDISKSEQ=7\n' $2 ${1##*/} $3 >$1/uevent
}
uevent $disk 0 disk
uevent $part 1 partition
echo 1 >$part/partition
echo db >$disk/istripe/name
printf '%s\n' "$2" >$disk/wwid
printf '%s\n' "$3" >$disk/device/serial
mkdir -p $disk/queue $disk/istripe/legs
for leg in $(seq 0 $(($4 - 1))); do mkdir $disk/istripe/legs/$leg; done
echo $5 >$disk/istripe/state
[ -z "$6" ] || echo $6 >$disk/queue/wbt_lat_usec
udevadm test --action=add $disk
echo DISK ENDS
udevadm test --action=add $part
"""


def said(text):
    """{property: value} of a device; what newer versions print has blanks before it."""
    lines = [line.lstrip() for line in text.splitlines()]
    return dict(line.split("=", 1) for line in lines
                if "=" in line and line.split("=")[0].isupper())


@pytest.fixture
def udev(tmp_path):
    """udev(wwid, ...): properties of the disk and of its partition; udev.rules is the file.

    wbt: of the kernel's writeback throttling, in us; "": it has none.
    """
    if os.geteuid() or not shutil.which("udevadm") or not shutil.which("unshare"):
        pytest.skip("udevadm in a mount namespace is for root")
    tried = subprocess.run(["unshare", "-m", "sh", "-ec", ALLOWED], text=True, capture_output=True,
                           check=False)
    if tried.returncode:
        pytest.skip(f"not allowed here: {tried.stderr.strip()}")
    rules = tmp_path / RULES.name
    shutil.copy(RULES, rules)

    def run(wwid, serial="1", legs=1, state="live", wbt="2000"):
        done = subprocess.run(
            ["unshare", "-m", "sh", "-ec", HOST, "sh", rules, wwid, serial, str(legs), state, wbt],
            text=True, capture_output=True, check=False,
            env={**os.environ, "SYSTEMD_DEVICE_VERIFY_SYSFS": "0"})
        assert not done.returncode, done.stderr
        return [said(part) for part in done.stdout.split("DISK ENDS\n")]

    run.rules = rules
    return run


def ids(properties):
    return {link.removeprefix("/dev/disk/by-id/") for link in properties["DEVLINKS"].split()
            if "by-id" in link}


def test_properties_of_newer_udevadm():
    """It has them below a heading, with blanks before each."""
    text = "Properties:\n  ACTION=add\n  ID_SERIAL=a  b\nTags:\n  systemd\n"
    assert said(text) == said("ACTION=add\nID_SERIAL=a  b\n") == {
        "ACTION": "add", "ID_SERIAL": "a  b"}


@pytest.mark.parametrize("wwid, link", [
    ("naa.60014051234567890", "naa.60014051234567890"),
    ("uuid.0a1b2c3d-1111-4222-8333-444455556666", "uuid.0a1b2c3d-1111-4222-8333-444455556666"),
    # As before there were any escapes: runs of blanks are one "_" in the link.
    ("t10.IET     00010001", "t10.IET_00010001"), ("t10.A  $b,c", "t10.A__b_c"),
])
def test_identities_stay_as_they_are(udev, wwid, link):
    disk, part = udev(wwid, "a  b")
    assert disk["ID_WWN"] == part["ID_WWN"] == wwid
    assert disk["ID_SERIAL"] == part["ID_SERIAL"] == disk["ID_SERIAL_SHORT"] == "a  b"
    assert ids(disk) == {"istripe-db", f"istripe-{link}"}
    assert ids(part) == {"istripe-db-part1", f"istripe-{link}-part1"}


@pytest.mark.parametrize("wwid, link", [
    ("t10.EVIL/../../../sda", "t10.EVIL_.._.._.._sda"), ("t10.A /b  c/", "t10.A__b__c_"),
])
def test_an_identity_makes_no_folders(udev, wwid, link):
    """It may be any text of the target, as that of a designator of T10."""
    disk, part = udev(wwid, "a/ b")
    assert disk["ID_WWN"] == part["ID_WWN"] == link
    assert ids(disk) == {"istripe-db", f"istripe-{link}"}
    assert ids(part) == {"istripe-db-part1", f"istripe-{link}-part1"}
    # Only the short one is as the target says it, as of disks of NVMe.
    assert disk["ID_SERIAL"] == part["ID_SERIAL"] == "a__b"
    assert disk["ID_SERIAL_SHORT"] == "a/ b"


def test_udev_that_does_not_replace_in_properties(udev):
    """Before systemd 250: there is no such link then."""
    udev.rules.write_text(RULES.read_text().replace('OPTIONS="string_escape=replace", ', ""))
    disk, part = udev("t10.EVIL/../../../sda")
    assert ids(disk) == {"istripe-db"} and ids(part) == {"istripe-db-part1"}


@pytest.mark.parametrize("legs, state, wbt, off", [
    (2, "live", "2000", True), (12, "degraded", "75000", True), (1, "live", "2000", False),
    # To write it waits for all requests, and a kernel that does not throttle would begin to.
    (2, "waiting", "2000", False), (2, "live", "", False),
])
def test_the_kernel_does_not_throttle_all_legs_as_one_disk(udev, legs, state, wbt, off):
    """Once for a disk: what an administrator writes later stays."""
    disk, part = udev("naa.6001", legs=legs, state=state, wbt=wbt)
    assert disk.get("ISTRIPE_WBT") == ("off" if off else None)
    assert "ISTRIPE_WBT" not in part
