# SPDX-License-Identifier: GPL-2.0
"""The module under test: volumes through configfs, read-outs through sysfs."""

import errno
import os
import time
from pathlib import Path

from lab.shell import read, run, udev_settle, udev_settle_told, wait_for, write

CONFIG = Path("/sys/kernel/config/istripe")
#: How long udev may have a disk open that it has been told of.
OPEN_S = 30
INITIATOR = "iqn.2024-01.org.example.istripe:initiator"


class EnableError(Exception):
    """Enabling failed: `number` is the errno, `reason` what last_error says."""

    def __init__(self, number, reason):
        super().__init__(f"{errno.errorcode.get(number, number)}: {reason}")
        self.number = number
        self.reason = reason


def load():
    run("modprobe", "configfs")
    run("modprobe", "istripe")
    wait_for(f"{CONFIG}", CONFIG.is_dir)


def unload():
    # It may still look at a disk.
    udev_settle()
    run("rmmod", "istripe")


class Volume:
    """One volume; of one leg with one path, unless more_legs or more_paths are given.

    settings of the volume are keyword arguments; `path` is a dictionary of the path's settings,
    `more_legs` has one such dictionary for each further leg, `more_paths` for each further path
    of leg 0. Unless a test says metadata="md", the data lie on the LUNs as in dm-stripe, and whoever
    looks at those sees them.
    """

    def __init__(self, name="vol", path=None, more_legs=(), more_paths=(), policy=None,
                 fence=None, fence_timeout_ms=None, ghost_timeout_ms=None, alua=None, **settings):
        self.name = name
        self.config = CONFIG / name
        self.leg = self.config / "legs" / "0"
        self.path = self.leg / "paths" / "0"
        self.settings = {"initiator_name": INITIATOR, "metadata": "none", **settings}
        self.path_settings = path or {}
        self.more_legs = more_legs
        self.more_paths = more_paths
        self.policy = policy
        self.fence = fence
        self.fence_timeout_ms = fence_timeout_ms
        self.ghost_timeout_ms = ghost_timeout_ms
        self.alua = alua

    @classmethod
    def of(cls, target, link, name="vol", lun=0, ipv6=False, path=None, **settings):
        """A volume of one LUN (by its index) of one of the laboratory's targets."""
        values = {
            "portal": link.portal(ipv6),
            "target_name": target.iqn,
            "lun": target.lun_number(lun),
            **(path or {}),
        }
        return cls(name, values, **settings)

    @classmethod
    def of_many_paths(cls, target, links, ipv6=False, path=None, **settings):
        """A volume of one LUN behind several links, with a path over each of them."""
        each = [{"portal": link.portal(ipv6), "target_name": target.iqn, "nic": link.nic,
                 "lun": target.lun_number(0), **(path or {})} for link in links]
        return cls(path=each[0], more_paths=each[1:], **settings)

    @classmethod
    def striped(cls, target, link, legs, path=None, **settings):
        """A volume whose legs are the first LUNs of a target."""
        each = [{"portal": link.portal(), "target_name": target.iqn,
                 "lun": target.lun_number(number), **(path or {})} for number in range(legs)]
        return cls(path=each[0], more_legs=each[1:], **settings)

    def create(self):
        self.config.mkdir()
        self.leg.mkdir()
        self.path.mkdir()
        for name, value in self.settings.items():
            write(self.config / name, value)
        for name, value in self.path_settings.items():
            write(self.path / name, value)
        for name in ("policy", "fence", "fence_timeout_ms", "ghost_timeout_ms", "alua"):
            if getattr(self, name) is not None:
                write(self.leg / name, getattr(self, name))
        for number, settings in enumerate(self.more_paths, 1):
            self.add_path(number, settings)
        for number, settings in enumerate(self.more_legs, 1):
            self.add_leg(number, settings)
        return self

    def add_path(self, number, settings, leg=0):
        """A further path of a leg; if the volume is up, it is not in use yet. Returns its folder."""
        path = self.config / "legs" / str(leg) / "paths" / str(number)
        path.mkdir()
        for name, value in settings.items():
            write(path / name, value)
        return path

    def add_leg(self, number, settings):
        path = self.config / "legs" / str(number) / "paths" / "0"
        path.parent.parent.mkdir()
        path.mkdir()
        for name, value in settings.items():
            write(path / name, value)

    def enable(self):
        """Brings the volume up and returns the path of its disk. Raises EnableError."""
        try:
            write(self.config / "enable", 1)
        except OSError as err:
            raise EnableError(err.errno, self.last_error()) from err
        device = Path("/dev") / self.device()
        wait_for(f"{device}", device.is_block_device)
        udev_settle_told()
        return device

    def up(self):
        """Creates and enables."""
        return self.create().enable()

    def disable(self):
        """Takes the disk away, when udev has closed it; EBUSY when somebody else has it open."""
        udev_settle_told()
        end = time.monotonic() + OPEN_S
        while True:
            try:
                write(self.config / "enable", 0)
                return
            except OSError as err:
                if err.errno != errno.EBUSY or time.monotonic() > end:
                    raise
            time.sleep(0.2)

    def force_down(self):
        """Takes the disk away, whoever has it open. Returns whether all its writes went well."""
        try:
            write(self.config / "enable", "force")
        except OSError as err:
            if err.errno != errno.EIO:
                raise
            return False
        return True

    def enabled(self):
        return read(self.config / "enable") == "1"

    def device(self):
        """Name of the disk, istripeN, or nothing."""
        return read(self.config / "device")

    def last_error(self):
        return read(self.config / "last_error")

    def delete(self):
        if not self.config.exists():
            return
        if self.enabled():
            self.force_down()
        for leg in sorted((self.config / "legs").iterdir()):
            for path in sorted((leg / "paths").iterdir()):
                path.rmdir()
            leg.rmdir()
        self.config.rmdir()

    def rescan(self):
        """Asks all LUNs whether they have grown; the disk has grown when it returns."""
        write(self.sysfs() / "rescan", 1)

    # Below the disk

    def queue(self, name):
        """An attribute of /sys/block/istripeN/queue."""
        return read(Path("/sys/block") / self.device() / "queue" / name)

    def size_bytes(self):
        return int(read(Path("/sys/block") / self.device() / "size")) * 512

    def sysfs(self):
        return Path("/sys/block") / self.device() / "istripe"

    def leg_sysfs(self, number):
        return self.sysfs() / "legs" / str(number)

    def path_sysfs(self, leg=0, path=0):
        return self.leg_sysfs(leg) / "paths" / str(path)

    def state(self):
        """State of the path."""
        return read(self.path_sysfs() / "state")

    def negotiated(self, key):
        return read(self.path_sysfs() / "session" / "negotiated" / key)

    def offered(self, key):
        return read(self.path_sysfs() / "session" / "offered" / key)

    def all_negotiated(self):
        directory = self.path_sysfs() / "session" / "negotiated"
        return {file.name: read(file) for file in sorted(directory.iterdir())}

    def fenced_through(self, path=0):
        """Numbers of the paths of leg 0 through which this one's session can be ended."""
        return [int(word) for word in read(self.path_sysfs(0, path) / "fenced_through").split()]

    def wait_proven(self, paths=2, timeout_s=60):
        """Until each of the paths of leg 0 can be fenced through all others."""
        for path in range(paths):
            others = [other for other in range(paths) if other != path]
            wait_for(f"{self.name}: the proof for path {path}",
                     lambda path=path, others=others: self.fenced_through(path) == others,
                     timeout_s)

    def reconnects(self):
        return int(read(self.path_sysfs() / "reconnects"))

    def wait_state(self, state, timeout_s=60):
        wait_for(f"{self.name}: path {state}", lambda: self.state() == state, timeout_s)


def volumes():
    """All volumes that are configured."""
    if not CONFIG.is_dir():
        return []
    return [Volume(path.name) for path in CONFIG.iterdir() if path.is_dir()]


def delete_all():
    for volume in volumes():
        volume.delete()


def devices():
    return sorted(name for name in os.listdir("/sys/block") if name.startswith("istripe"))
