# SPDX-License-Identifier: GPL-2.0
"""The kernel's iSCSI target (LIO), driven through its configfs tree without targetcli."""

import concurrent.futures
import os
import subprocess
from pathlib import Path

from lab import nbd, network, storage
from lab.network import NETNS
from lab.shell import LabError, read, run, wait_for, write
from scripted.server import enter

CONFIG = Path("/sys/kernel/config/target")
IQN = "iqn.2024-01.org.example.istripe:lio"

#: Any initiator may log in, write, and have many commands outstanding.
DEMO_MODE = {
    "generate_node_acls": 1,
    "cache_dynamic_acls": 1,
    "demo_mode_write_protect": 0,
    "prod_mode_write_protect": 0,
    "default_cmdsn_depth": 128,
    "authentication": 0,
}


#: Removing portals waits for all logins there; LIO ends them itself after 15 s.
PORTAL_S = 90
#: Targets of which LIO has not let go.
left = []


def _give_up_portals(portals):
    """Removes portals. False: LIO waits for a login whose connection is long gone, for ever.

    That is a defect of LIO, seen on Linux 6.1 after an afternoon of tests: the process hangs where
    iscsit_reset_np_thread() waits for tpg_np_comp. Other targets are not harmed.
    """
    # No with: that would wait for a process that cannot be killed.
    process = subprocess.Popen(["rmdir", *map(str, portals)])
    try:
        code = process.wait(PORTAL_S)
    except subprocess.TimeoutExpired as error:
        if network.established():
            raise LabError(f"{portals[0].parent} stays, and so do connections") from error
        return False
    if code:
        raise LabError(f"rmdir {' '.join(map(str, portals))}: exit code {code}")
    return True


def prepare():
    """Loads the target and its file backstore, and creates the iSCSI fabric."""
    run("modprobe", "-a", "target_core_mod", "target_core_file", "iscsi_target_mod")
    (CONFIG / "iscsi").mkdir(exist_ok=True)
    (CONFIG / "core" / "fileio_0").mkdir(parents=True, exist_ok=True)


class Lun:
    """A file on the laboratory's tmpfs as one LUN.

    write_cache: whether the LUN says it has a volatile write cache (WCE).
    attributes: more of the backstore's attrib/ directory, set before the LUN is exported.
    unmap, write_same: whether UNMAP and WRITE SAME with UNMAP are announced (LBPU, LBPWS).
    pinned: the file's memory is there from the start, and is not swapped out.
    same_data: another LUN, which is there before this one: its file is the file of both. For an
    initiator they are two LUNs.
    """

    def __init__(self, size_bytes, block_bytes=512, write_cache=True, unmap=True, write_same=True,
                 serial=None, attributes=None, pinned=False, same_data=None):
        self.name = storage.new_name()
        self.size_bytes = size_bytes
        self.block_bytes = block_bytes
        self.write_cache = write_cache
        self.unmap = unmap
        self.write_same = write_same
        self.serial = serial or f"istripe-{self.name}"
        self.attributes = attributes or {}
        self.pinned = pinned
        self.same_data = same_data
        self.file = None
        self.path = CONFIG / "core" / "fileio_0" / self.name

    def create(self):
        image = storage.pinned_image if self.pinned else storage.image
        self.file = self.same_data.file if self.same_data else image(self.name, self.size_bytes)
        self.path.mkdir()
        write(self.path / "control",
              f"fd_dev_name={self.file},fd_dev_size={self.size_bytes},fd_buffered_io=1")
        write(self.path / "enable", 1)
        write(self.path / "wwn" / "vpd_unit_serial", self.serial)
        self.attribute("block_size", self.block_bytes)
        self.attribute("emulate_write_cache", int(self.write_cache))
        self.attribute("emulate_tpu", int(self.unmap))
        self.attribute("emulate_tpws", int(self.write_same))
        for name, value in self.attributes.items():
            self.attribute(name, value)

    def attribute(self, name, value=None):
        """Reads (without value) or writes an attribute of the backstore."""
        path = self.path / "attrib" / name
        if value is not None and read(path) != str(value):
            write(path, value)
        return read(path)

    def resize(self, size_bytes):
        """Grows or shrinks the LUN under the initiator, who hears of it when it asks."""
        with open(self.file, "r+b") as file:
            file.truncate(size_bytes)
        # Of a file that is no block device, LIO believes what it was told.
        write(self.path / "control", f"fd_dev_size={size_bytes}")
        self.size_bytes = size_bytes

    def destroy(self):
        if self.path.exists():
            self.path.rmdir()
        if self.file:
            self.file.unlink(missing_ok=True)


class GroupedLun(Lun):
    """A LUN with target port groups of its own, numbered from FIRST on."""

    FIRST = 0x101

    def __init__(self, size_bytes, groups):
        super().__init__(size_bytes)
        self.groups = [self.path / "alua" / f"group{index}" for index in range(groups)]

    def create(self):
        super().create()
        for number, group in enumerate(self.groups, self.FIRST):
            group.mkdir()
            write(group / "tg_pt_gp_id", number)

    def destroy(self):
        for group in self.groups:
            if group.exists():
                group.rmdir()
        super().destroy()


class HoldingLun(Lun):
    """A LUN whose disk can hold a write."""

    def __init__(self, size_bytes):
        super().__init__(size_bytes)
        self.path = CONFIG / "core" / "iblock_0" / self.name
        self.disk = nbd.HoldingDisk(size_bytes)

    def create(self):
        run("modprobe", "target_core_iblock")
        self.disk.create()
        self.path.mkdir(parents=True)
        write(self.path / "control", f"udev_path={self.disk.device}")
        write(self.path / "enable", 1)
        write(self.path / "wwn" / "vpd_unit_serial", self.serial)

    def destroy(self):
        super().destroy()
        self.disk.destroy()


class SameLun:
    """A LUN that another target, or portal group, exports as well: one LUN for an initiator."""

    def __init__(self, lun):
        self.lun = lun

    def __getattr__(self, name):
        return getattr(self.lun, name)

    def create(self):
        """It is there already."""

    def destroy(self):
        """The other one does it."""


class ReadOnlyLun(Lun):
    """A LUN of a disk that nobody can write to."""

    def __init__(self, size_bytes):
        super().__init__(size_bytes)
        self.path = CONFIG / "core" / "iblock_0" / self.name
        self.disk = None

    def create(self):
        run("modprobe", "-a", "loop", "target_core_iblock")
        self.file = storage.image(self.name, self.size_bytes)
        storage.fill_pattern(self.file, self.size_bytes, seed=1)
        self.disk = run("losetup", "--find", "--show", "--read-only", self.file).strip()
        self.path.mkdir(parents=True)
        write(self.path / "control", f"udev_path={self.disk},readonly=1")
        write(self.path / "enable", 1)
        write(self.path / "wwn" / "vpd_unit_serial", self.serial)

    def destroy(self):
        if self.path.exists():
            self.path.rmdir()
        if self.disk:
            run("losetup", "-d", self.disk)
        super().destroy()

#: A parameter that hides from istripe what the target is: it lets no second connection join a
#: session with LIO, which is the only real target at hand that grants several.
UNKNOWN = {"TargetAlias": "unknown"}


class Target:
    """One target with one portal group; another Target of the same IQN may have another group.

    portals: ("address", port) pairs; params: negotiation keys by their RFC 7143 names, as
    the portal group's param/ directory has them; chap and chap_mutual: (user, secret).
    patient_with: the initiator whose data are waited for for a minute, and not three seconds.
    """

    kind = "lio"

    def __init__(self, portals, luns, iqn=IQN, params=None, attributes=None, chap=None,
                 chap_mutual=None, tpgt=1, patient_with=None):
        self.iqn = iqn
        self.portals = portals
        self.luns = luns
        self.params = params or {}
        self.attributes = {**DEMO_MODE, **(attributes or {})}
        self.chap = chap
        self.chap_mutual = chap_mutual
        self.patient_with = patient_with
        self.path = CONFIG / "iscsi" / iqn
        self.tpgt = tpgt
        self.tpg = self.path / f"tpgt_{tpgt}"

    #: LUN number that the initiator sees for self.luns[i].
    @staticmethod
    def lun_number(index):
        return index

    def create(self):
        for lun in self.luns:
            lun.create()
        self.tpg.mkdir(parents=True)
        for name, value in self.attributes.items():
            write(self.tpg / "attrib" / name, value)
        for name, value in self.params.items():
            write(self.tpg / "param" / name, value)
        for index, lun in enumerate(self.luns):
            self.add_lun(index, lun)
        if self.patient_with:
            self._add_initiator(self.patient_with)
        self._set_chap()
        for address, port in self.portals:
            self.add_portal(address, port)
        self.enable(True)
        return self

    def _set_chap(self):
        if not self.chap:
            write(self.tpg / "param" / "AuthMethod", "None")
            return
        write(self.tpg / "attrib" / "authentication", 1)
        write(self.tpg / "param" / "AuthMethod", "CHAP")
        auth = {"userid": self.chap[0], "password": self.chap[1]}
        if self.chap_mutual:
            auth["userid_mutual"], auth["password_mutual"] = self.chap_mutual
        for place in (self.tpg, *(self.tpg / "acls").iterdir()):
            for name, value in auth.items():
                # Here, LIO takes a newline for a part of the value.
                write(place / "auth" / name, value, end="")

    def demand_chap(self, chap, chap_mutual=None):
        """The next login has to authenticate; sessions that there are stay."""
        self.chap, self.chap_mutual = chap, chap_mutual
        self._set_chap()

    def add_lun(self, number, lun):
        directory = self.tpg / "lun" / f"lun_{number}"
        directory.mkdir()
        os.symlink(lun.path, directory / lun.name)

    def join_group(self, number, group):
        """The LUN is behind this target port group of its own here; see GroupedLun."""
        write(self.tpg / "lun" / f"lun_{number}" / "alua_tg_pt_gp", group.name)

    def _add_initiator(self, name):
        acl = self.tpg / "acls" / name
        acl.mkdir()
        write(acl / "attrib" / "dataout_timeout", 60)
        for lun in (self.tpg / "lun").iterdir():
            (acl / lun.name).mkdir()
            os.symlink(lun, acl / lun.name / "lun")

    def _remove_initiators(self):
        for acl in (self.tpg / "acls").iterdir():
            for lun in acl.glob("lun_*"):
                (lun / "lun").unlink()
                lun.rmdir()
            acl.rmdir()

    def remove_lun(self, number):
        directory = self.tpg / "lun" / f"lun_{number}"
        for link in directory.iterdir():
            if link.is_symlink():
                link.unlink()
        directory.rmdir()

    def _portal(self, address, port):
        host = f"[{address}]" if ":" in address else address
        return self.tpg / "np" / f"{host}:{port}"

    def add_portal(self, address, port=3260):
        """The listening socket belongs to the network namespace of the thread that creates it."""

        def make():
            enter(NETNS)
            self._portal(address, port).mkdir()

        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            pool.submit(make).result()

    def remove_portal(self, address, port=3260):
        self._portal(address, port).rmdir()

    def enable(self, on):
        """Off: the portal group refuses logins and its sessions are closed."""
        write(self.tpg / "enable", int(on))

    def sessions(self):
        """What LIO says about the sessions of its dynamic nodes, one text per session."""
        text = read(self.tpg / "dynamic_sessions") if (self.tpg / "dynamic_sessions").exists() else ""
        return [line for line in text.replace("\0", "").splitlines() if line]

    def update(self, **params):
        """Changes negotiation keys; the next login sees them."""
        for name, value in params.items():
            write(self.tpg / "param" / name, value)

    def _leave(self):
        """It stays as it is, once in a run; the kernel shall not complain of the process."""
        if left:
            raise LabError(f"LIO lets go of neither {left[0]} nor {self.iqn}")
        left.append(self.iqn)
        write("/proc/sys/kernel/hung_task_timeout_secs", 0)
        with open("/dev/kmsg", "w", encoding="ascii") as log:
            log.write(f"istripe-lab: LIO does not let go of a login: {self.iqn} stays\n")

    def destroy(self):
        """Takes everything down in the order that configfs asks for."""
        if self.tpg.exists():
            self.enable(False)
            wait_for("LIO to close its sessions", lambda: not self.sessions(), 60)
            portals = list((self.tpg / "np").iterdir())
            if portals and not _give_up_portals(portals):
                self._leave()
                return
            self._remove_initiators()
            for lun in list((self.tpg / "lun").iterdir()):
                self.remove_lun(int(lun.name.split("_")[1]))
            self.tpg.rmdir()
        if self.path.exists() and not any(self.path.glob("tpgt_*")):
            self.path.rmdir()
        for lun in self.luns:
            lun.destroy()


def resize(target, size_bytes, numbers=None):
    """Grows or shrinks LUNs, all of them or those of these indices."""
    for number, lun in enumerate(target.luns):
        if numbers is None or number in numbers:
            lun.resize(size_bytes)
