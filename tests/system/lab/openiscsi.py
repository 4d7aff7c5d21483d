# SPDX-License-Identifier: GPL-2.0
"""The stock initiator: iscsid, iscsiadm and iscsi_tcp. The second witness for everything."""

import os
import shutil
import subprocess
from pathlib import Path

from lab.shell import read, run, status, udev_settle, wait_for

INITIATOR = "iqn.2024-01.org.example.istripe:stock"


def can_be_opened(device):
    """Of one that comes: its file and its folder in sysfs are there before."""
    try:
        os.close(os.open(device, os.O_RDONLY))
    except OSError:
        return False
    return True


class Stock:
    """One run of iscsid with a node database of its own, gone again with stop()."""

    def __init__(self):
        self.daemon = None
        self.logins = []

    def start(self):
        run("modprobe", "-a", "iscsi_tcp", "sd_mod")
        for path in ("/etc/iscsi/nodes", "/etc/iscsi/send_targets"):
            shutil.rmtree(path, ignore_errors=True)
        Path("/etc/iscsi/initiatorname.iscsi").write_text(
            f"InitiatorName={INITIATOR}\n", encoding="ascii")
        os.makedirs("/run/lock/iscsi", exist_ok=True)
        # A process group of its own: an iscsid that is told to stop signals the whole group.
        with open("/run/lab/iscsid.log", "ab") as log:
            self.daemon = subprocess.Popen(["iscsid", "-f"], stdout=log, stderr=log,
                                           start_new_session=True)
        wait_for("iscsid to answer",
                 lambda: status("iscsiadm", "-m", "session")[0] in (0, 21))
        return self

    def connect(self, portal, iqn, **settings):
        """Logs in, and does not wait for disks.

        settings: names of the node database with "_" for ".", as node_session_iscsi_InitialR2T is
        not unambiguous: give them as a dictionary, login(..., **{"node.session...": value}).
        """
        node = ("-m", "node", "-T", iqn, "-p", portal)
        run("iscsiadm", *node, "-o", "new")
        values = {"node.startup": "manual", **settings}
        for name, value in values.items():
            run("iscsiadm", *node, "-o", "update", "-n", name, "-v", value)
        run("iscsiadm", *node, "--login")
        self.logins.append(node)

    def login(self, portal, iqn, lun=0, **settings):
        """Logs in and returns the path of the LUN's disk, /dev/sdX."""
        self.connect(portal, iqn, **settings)
        return wait_for(f"the disk of {iqn} LUN {lun}", lambda: self.disk(iqn, lun))

    def login_all(self, portal, iqn, luns):
        """Logs in and returns the paths of the disks of LUN 0 to luns - 1."""
        self.login(portal, iqn)
        return [wait_for(f"LUN {lun}", lambda lun=lun: self.disk(iqn, lun)) for lun in range(luns)]

    @staticmethod
    def disk(iqn, lun):
        """The disk of a LUN of a logged in target, or None."""
        for session in Path("/sys/class/iscsi_session").glob("session*"):
            try:
                name = read(session / "targetname")
            except OSError:         # another one that goes
                continue
            if name != iqn:
                continue
            for block in session.glob(f"device/target*/*:*:*:{lun}/block/sd*"):
                device = Path("/dev") / block.name
                if can_be_opened(device):
                    return device
        return None

    def forget_all(self):
        """Ends all sessions and removes all records, whoever has made them."""
        udev_settle()
        status("iscsiadm", "-m", "node", "--logoutall=all")
        status("iscsiadm", "-m", "node", "-o", "delete")
        self.logins.clear()

    def logout(self):
        # udev looks at a new disk; it must not find it gone in the middle.
        udev_settle()
        while self.logins:
            node = self.logins.pop()
            run("iscsiadm", *node, "--logout")
            run("iscsiadm", *node, "-o", "delete")

    def stop(self):
        if not self.daemon:
            return
        try:
            self.logout()
        finally:
            run("iscsiadm", "-k", "0", check=False)
            try:
                self.daemon.wait(timeout=10)
            except subprocess.TimeoutExpired:
                self.daemon.kill()
                self.daemon.wait(timeout=10)
            self.daemon = None
        wait_for("the end of the stock initiator's sessions",
                 lambda: not any(Path("/sys/class/iscsi_session").glob("session*")))
