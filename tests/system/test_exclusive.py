# SPDX-License-Identifier: GPL-2.0
"""One LUN, one user: a host does not get two disks over the same blocks."""

import asyncio
import contextlib
import errno
import os
import shutil
import threading
import time
from pathlib import Path

import pytest

from lab import network, openiscsi, stacking, storage
from lab.istripe import EnableError
from lab.shell import read, run, status, udev_settle, wait_for, write
from lab.uevents import Uevents
from scripted.scenario import Scenario
from scripted.scsi import READ_CAPACITY_10, SERVICE_ACTION_IN_16, TEST_UNIT_READY

MIB = 1 << 20
LUN_BYTES = 32 * MIB


def head(lun):
    return lun.file.read_bytes()[:MIB]


def refused(volume, *words, enable=None):
    """It does not come up, and what it says names the other user."""
    with pytest.raises(EnableError) as error:
        (enable or volume.enable)()
    assert error.value.number == errno.EBUSY
    for word in words:
        assert word in error.value.reason, error.value.reason
    assert not volume.enabled() and volume.device() == ""


def enable_elsewhere(volume):
    """In the network namespace of the target, where its address is a local one."""
    try:
        run("python3", "-c", f"open('{volume.config}/enable', 'wb', 0).write(b'1')",
            netns=network.NETNS)
    except Exception as err:
        raise EnableError(errno.EBUSY if "Errno 16" in str(err) else 0,
                          volume.last_error()) from err


#: How the second volume gets there: options of make_volume, what else it does, how it is enabled.
WAYS = {
    "name": ({}, None),
    "portal": ({"link": 1}, None),
    "ipv6": ({"ipv6": True}, None),
    "namespace": ({}, enable_elsewhere),
    "md-over-none": ({"metadata": "md"}, None),
    "made-anew": ({"metadata": "md", "metadata_create": "force"}, None),
}


@pytest.mark.parametrize("way", WAYS)
def test_lun_of_another_volume(make_lio, make_volume, links, way):
    """The second volume is refused before it has written anything, and the first one goes on."""
    options, enable = WAYS[way]
    options = dict(options)
    target = make_lio(LUN_BYTES, LUN_BYTES, all_links=True)
    first = make_volume(target, lun=1, name="first")
    device = first.enable()
    written = storage.fill_pattern(device, 4 * MIB, seed=1)
    before = head(target.luns[1])
    path = {"portal": links[options.pop("link", 0)].portal(options.pop("ipv6", False))}
    second = make_volume(target, 1, name="second", lun=1, path=path, **options)
    refused(second, "leg 0 is LUN naa.",
            "which is leg 0 of volume first already: that volume must be down first", enable=enable and (lambda: enable(second)))
    assert head(target.luns[1]) == before
    storage.drop_caches()
    assert storage.sha256(device, 4 * MIB) == written
    first.disable()
    write(second.config / "metadata_create", "0")
    write(second.config / "metadata", "none")
    second.enable()
    refused(first, "leg 0 of volume second")


def test_lun_of_a_volume_with_superblocks(make_lio, make_volume):
    """Assembled under another name, and taken without superblocks."""
    target = make_lio(LUN_BYTES, LUN_BYTES)
    first = make_volume(target, 2, name="first", metadata="md", metadata_create="1")
    first.enable()
    for kind in ("md", "none"):
        refused(make_volume(target, 2, name=f"second-{kind}", metadata=kind),
                "leg 0 of volume first")
    # One of the two is enough.
    refused(make_volume(target, lun=1, name="third"), "leg 1 of volume first")


def test_copy_beside_its_original(make_lio, make_volume):
    """LUNs copied as a whole are others, but the array is the same."""
    target, copies = make_lio(LUN_BYTES, LUN_BYTES), make_lio(LUN_BYTES, LUN_BYTES)
    first = make_volume(target, 2, name="first", metadata="md", metadata_create="1")
    first.enable()
    uuid = read(first.sysfs() / "array_uuid")
    for lun, copy in zip(target.luns, copies.luns):
        shutil.copyfile(lun.file, copy.file)
    storage.drop_caches()
    second = make_volume(copies, 2, name="second", metadata="md")
    refused(second, uuid, "which is volume first already")
    first.disable()
    second.enable()


def test_two_at_a_time(make_lio, make_volume):
    """Both are enabled at once: one gets the LUN."""
    target = make_lio(LUN_BYTES)
    pair = [make_volume(target, name=name) for name in ("first", "second")]
    for _ in range(3):
        errors = []

        def enable(volume, errors=errors):
            try:
                write(volume.config / "enable", 1)
            except OSError as err:
                errors.append(err.errno)

        threads = [threading.Thread(target=enable, args=(volume,)) for volume in pair]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert errors == [errno.EBUSY]
        assert sorted(volume.enabled() for volume in pair) == [False, True]
        for volume in pair:
            volume.disable()


# What this host uses through open-iscsi

@contextlib.contextmanager
def mounted(disk, place):
    run("mkfs.ext4", "-q", disk)
    run("mount", disk, place)
    try:
        yield
    finally:
        run("umount", place)


@contextlib.contextmanager
def partition_mounted(disk, place):
    storage.partitioned(disk, 32768)
    udev_settle()
    run("blockdev", "--rereadpt", disk)
    part = Path(f"{disk}1")
    wait_for(part, part.is_block_device)
    udev_settle()
    with mounted(part, place):
        yield


@contextlib.contextmanager
def swapped_to(disk, _):
    run("mkswap", disk)
    run("swapon", disk)
    try:
        yield
    finally:
        run("swapoff", disk)


@contextlib.contextmanager
def lvm(disk, place):
    """A physical volume of a volume group that is active."""
    run_lvm = stacking.Lvm(place)
    run_lvm("vgcreate", "taken", disk)
    run_lvm("lvcreate", "-y", "-W", "n", "-l", "100%FREE", "-n", "db", "taken")
    try:
        yield
    finally:
        udev_settle()
        run_lvm("vgchange", "-an", "taken")


@pytest.mark.parametrize("used", [mounted, partition_mounted, swapped_to, lvm])
def test_lun_in_use_through_open_iscsi(make_lio, make_volume, stock, link, tmp_path, used):
    """Not with force, nor with host_disks=claim; nothing has been written."""
    target = make_lio(LUN_BYTES)
    disk = stock.login(link.portal(), target.iqn)
    udev_settle()
    with used(disk, tmp_path):
        run("sync")
        before = head(target.luns[0])
        forced = make_volume(target, name="forced", metadata="md", metadata_create="force",
                             host_disks="claim")
        plain = make_volume(target, name="plain")
        for volume in (forced, plain):
            refused(volume, "leg 0 is LUN naa.", f"which this host uses as {disk}")
        assert head(target.luns[0]) == before


def is_claimed(disk):
    """As mount, swapon, LVM, md and dm find out."""
    try:
        os.close(os.open(disk, os.O_RDONLY | os.O_EXCL))
    except OSError as err:
        if err.errno != errno.EBUSY:
            raise
        return True
    return False


def test_logged_in_before(make_lio, make_volume, stock, link, tmp_path, kernel_log):
    """One that nobody uses is refused, too, unless it is to be claimed; then none can mount it."""
    target = make_lio(LUN_BYTES)
    disk = stock.login(link.portal(), target.iqn)
    udev_settle()
    volume = make_volume(target, name="vol")
    refused(volume, "leg 0 is LUN naa.", f"which is {disk} of this host", "log out",
            "host_disks to claim")
    assert not is_claimed(disk)
    write(volume.config / "host_disks", "claim")
    run("mkfs.ext4", "-q", volume.enable())
    assert kernel_log.matching(rf"istripe: vol: leg 0 is also {disk} of this host, .*claimed")
    code, out = status("mount", "-t", "ext4", disk, tmp_path)
    assert code and "busy" in out, out
    volume.disable()
    assert not is_claimed(disk)
    stock.logout()
    write(volume.config / "host_disks", "refuse")
    volume.enable()


def test_logs_in_after(make_lio, make_volume, stock, link, tmp_path, kernel_log):
    """It is claimed as soon as it is there, again and again, and does not keep open-iscsi from
    logging out."""
    target = make_lio(LUN_BYTES, LUN_BYTES)
    volume = make_volume(target, name="vol", lun=1)
    run("mkfs.ext4", "-q", volume.enable())
    for times in (1, 2):
        stock.login(link.portal(), target.iqn)
        other, disk = (wait_for(f"LUN {lun}", lambda lun=lun: stock.disk(target.iqn, lun))
                       for lun in range(2))
        wait_for("it to be claimed", lambda times=times: len(kernel_log.matching(
            r"istripe: vol: leg 0 is also /dev/sd\w+ of this host, .*claimed")) == times)
        assert is_claimed(disk) and not is_claimed(other)
        code, out = status("mount", "-t", "ext4", disk, tmp_path)
        assert code and "busy" in out, out
        if times == 1:
            stock.logout()
    volume.disable()
    assert not is_claimed(disk)
    refused(volume, f"which is {disk} of this host")


class Rival(threading.Thread):
    """Takes each new disk 200 ms after its uevent, as a udev rule that assembles arrays does."""

    def __init__(self, seen):
        super().__init__(daemon=True)
        self.seen, self.over = seen, threading.Event()
        self.held, self.errors = [], {}     # file descriptors; the errno, or 0, of each disk

    def run(self):
        while not self.over.wait(0.002):
            for event in list(self.seen.events):
                name = event.get("DEVNAME", "")
                if (event.get("ACTION") == "add" and event.get("DEVTYPE") == "disk"
                        and name.startswith("sd") and name not in self.errors):
                    time.sleep(max(0, event.at + 0.2 - time.monotonic()))
                    self.errors[name] = self.take(name)

    def take(self, name):
        try:
            self.held.append(os.open(f"/dev/{name}", os.O_RDONLY | os.O_EXCL))
        except OSError as err:
            return err.errno
        return 0

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.join()
        for fd in self.held:
            os.close(fd)


def test_claimed_before_udev_gets_there(make_lio, make_volume, stock, link):
    """It is claimed when it is announced, not half a second later; that of another LUN is not."""
    target = make_lio(LUN_BYTES, LUN_BYTES)
    volume = make_volume(target, name="vol", lun=1)
    volume.enable()
    found = []
    for _ in range(3):
        with Uevents() as seen, Rival(seen) as rival:
            stock.connect(link.portal(), target.iqn)
            other, disk = (wait_for(f"LUN {lun}", lambda lun=lun: stock.disk(target.iqn, lun))
                           for lun in range(2))
            wait_for("the rival", lambda: len(rival.errors) == 2)
            assert rival.errors[other.name] == 0
            found.append(rival.errors[disk.name])
        wait_for("it to be claimed", lambda disk=disk: is_claimed(disk))
        assert not is_claimed(other)
        stock.logout()
    # A processor that stands still may let the rival be first once, a late claim each time.
    assert errno.EBUSY in found


def test_claimed_when_it_is_let_go(server, make_volume, stock, links, kernel_log):
    """A rival that was faster is told of once; its disk is claimed though nothing comes or goes."""
    target = server.load(Scenario("nameless"))
    first, second = (f"{link.address}:{server.port}" for link in links[:2])
    target.disk.without = (0x80, 0x83)
    disk = stock.login(first, target.settings.name)
    udev_settle()
    target.disk.without = ()
    volume = make_volume(target, name="vol", path={"portal": first})
    rival = os.open(disk, os.O_RDONLY | os.O_EXCL)
    try:
        # Nothing says that it is the volume's LUN, until it is asked again.
        volume.enable()
        write(f"/sys/block/{disk.name}/device/rescan", 1)
        # One that comes has all of them looked at.
        stock.connect(second, target.settings.name)
        wait_for("the second disk to be claimed", lambda: kernel_log.matching(
            r"istripe: vol: leg 0 is also /dev/sd\w+ of this host, .*claimed"))
        wait_for("the rival to be told of", lambda: kernel_log.matching(
            rf"istripe: vol: leg 0 is also in use as {disk} of this host, .*lsblk {disk}"))
        time.sleep(6)
    finally:
        os.close(rival)
    wait_for("it to be claimed", lambda: kernel_log.matching(
        rf"istripe: vol: leg 0 is also {disk} of this host, .*claimed"))
    assert is_claimed(disk)
    assert len(kernel_log.matching("is also in use as")) == 1
    assert len(kernel_log.matching("leg 0 is also /dev/sd")) == 2
    volume.disable()
    assert not is_claimed(disk)


#: Commands of the probe of a disk's driver, not of the scan for LUNs.
PROBES = (TEST_UNIT_READY, READ_CAPACITY_10, SERVICE_ACTION_IN_16)


async def mute(run, conn, task):
    """The stock initiator's probe gets no answer until it is let go."""
    if task.opcode in PROBES and conn.session.initiator == openiscsi.INITIATOR:
        run.memory["held"] = True
        while not run.memory.get("free"):
            await asyncio.sleep(0.1)
    return False


@contextlib.contextmanager
def probed_in_vain(stock, portal, target):
    """A disk of the stock initiator whose driver is stuck in its probe."""
    stock.connect(portal, target.settings.name)
    wait_for("the driver's probe", lambda: target.run.memory.get("held"))
    try:
        yield
    finally:
        target.run.memory["free"] = True


#: Nobody waits for udev, which may read a disk that the stock initiator logs out.
READ_BY_UDEV = pytest.mark.allow_log(
    "device offline error, dev sd|Buffer I/O error on dev sd", "udev reads a disk that goes")


def up(volume):
    """Without udev, which waits for the driver as well."""
    write(volume.config / "enable", 1)


@READ_BY_UDEV
@pytest.mark.allow_log("error, dev istripe|Buffer I/O error on dev istripe",
                       "it is taken down by force")
def test_another_disk_does_not_get_ready(make_lio, make_volume, server, stock, link):
    """It is of no volume: nothing waits for it."""
    target, other = make_lio(LUN_BYTES), server.load(Scenario("mute", hooks={"on_command": mute}))
    disk = stock.login(link.portal(), target.iqn)
    volume = make_volume(target, host_disks="claim")
    with probed_in_vain(stock, f"{link.address}:{server.port}", other):
        up(volume)
        assert is_claimed(disk)
        volume.force_down()
        assert not is_claimed(disk)
        assert not stock.disk(other.settings.name, 0), "it was waited for"


@READ_BY_UDEV
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.allow_log("error, dev istripe|Buffer I/O error on dev istripe",
                       "it is taken down by force")
def test_its_disk_takes_long(server, make_volume, stock, link, kernel_log, when):
    """The LUN is the volume's: it is claimed when it is ready, and holds up nothing."""
    target = server.load(Scenario("mute", hooks={"on_command": mute}))
    portal = f"{link.address}:{server.port}"
    volume = make_volume(target, name="vol", path={"portal": portal})
    if when == "after":
        volume.enable()
    with probed_in_vain(stock, portal, target):
        if when == "after":
            volume.force_down()
        up(volume)
        assert not stock.disk(target.settings.name, 0), "it was waited for"
    disk = wait_for("the disk", lambda: stock.disk(target.settings.name, 0), 60)
    wait_for("it to be claimed", lambda: kernel_log.matching(
        rf"istripe: vol: leg 0 is also {disk} of this host, .*claimed"))
    assert is_claimed(disk)
    volume.disable()
    assert not is_claimed(disk)


def test_known_by_its_serial_number(server, make_volume, stock, link):
    """The other initiator's disk has no designator."""
    target = server.load(Scenario("nameless"))
    portal = f"{link.address}:{server.port}"
    target.disk.without = (0x83,)
    disk = stock.login(portal, target.settings.name)
    udev_settle()
    assert not Path(f"/sys/block/{disk.name}/device/vpd_pg83").exists()
    target.disk.without = ()
    volume = make_volume(target, path={"portal": portal})
    refused(volume, f"which is {disk} of this host")
