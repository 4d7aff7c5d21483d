# SPDX-License-Identifier: GPL-2.0
"""The user-space target tgtd, in the target's namespace."""

import os
import signal
import subprocess

from lab import nbd, storage
from lab.network import NETNS, wait_port
from lab.shell import run, status, wait_for

IQN = "iqn.2024-01.org.example.istripe:tgt"


class Lun:
    """A file on the laboratory's tmpfs as one LUN of tgtd."""

    flags = ()

    def __init__(self, size_bytes, block_bytes=512, write_cache=True, unmap=True):
        self.name = storage.new_name()
        self.size_bytes = size_bytes
        self.block_bytes = block_bytes
        self.write_cache = write_cache
        self.unmap = unmap
        self.file = None

    def create(self):
        self.file = storage.image(self.name, self.size_bytes)

    def destroy(self):
        if self.file:
            self.file.unlink(missing_ok=True)


class HoldingLun(Lun):
    """A LUN whose disk can hold a write. tgtd's threads write it past the page cache."""

    flags = ("--bsoflags", "direct")

    def __init__(self, size_bytes):
        super().__init__(size_bytes)
        self.disk = nbd.HoldingDisk(size_bytes)

    def create(self):
        self.file = self.disk.create().device

    def destroy(self):
        self.disk.destroy()


class Target:
    """tgtd with one target. LUN 0 of tgt is its controller: the first disk is LUN 1.

    number: of this tgtd, when there are several at a time. LUNs of one number have the same
    designator in each.
    """

    kind = "tgt"

    def __init__(self, portals, luns, iqn=IQN, params=None, chap=None, chap_mutual=None,
                 number=0):
        self.iqn = iqn
        self.portals = portals
        self.luns = luns
        self.params = params or {}
        self.chap = chap
        self.chap_mutual = chap_mutual
        self.control = ("-C", str(number))
        self.daemon = None

    @staticmethod
    def lun_number(index):
        return index + 1

    def _adm(self, op, mode, *more):
        return run("tgtadm", *self.control, "--lld", "iscsi", "--op", op, "--mode", mode, *more)

    def create(self):
        for lun in self.luns:
            lun.create()
        os.makedirs("/run/tgtd", exist_ok=True)
        hosts = [f"[{a}]:{p}" if ":" in a else f"{a}:{p}" for a, p in self.portals]
        # Of several options --iscsi the last one counts.
        portals = ",".join(f"portal={host}" for host in hosts)
        command = ["nsenter", f"--net=/run/netns/{NETNS}", "--", "tgtd", "-f", *self.control,
                   "--iscsi", portals]
        with open("/run/lab/tgtd.log", "ab") as log:
            self.daemon = subprocess.Popen(command, stdout=log, stderr=log,
                                           start_new_session=True)
        show = ("tgtadm", *self.control, "--op", "show", "--mode", "sys")
        wait_for("tgtd to answer", lambda: status(*show)[0] == 0)
        self._adm("new", "target", "--tid", "1", "-T", self.iqn)
        self.update(**self.params)
        self._set_accounts()
        for number, lun in enumerate(self.luns, start=1):
            self._add_lun(number, lun)
        self._adm("bind", "target", "--tid", "1", "-I", "ALL")
        for address, port in self.portals:
            wait_port(f"[{address}]" if ":" in address else address, port)
        return self

    def _add_lun(self, number, lun):
        self._adm("new", "logicalunit", "--tid", "1", "--lun", str(number), "-b", lun.file,
                  "--blocksize", str(lun.block_bytes), *lun.flags)
        self._adm("update", "logicalunit", "--tid", "1", "--lun", str(number),
                  "--params", f"thin_provisioning={int(lun.unmap)}")

    def _set_accounts(self):
        for account, more in ((self.chap, ()), (self.chap_mutual, ("--outgoing",))):
            if account:
                self._adm("new", "account", "--user", account[0], "--password", account[1])
                self._adm("bind", "account", "--tid", "1", "--user", account[0], *more)

    def update(self, **params):
        """Changes negotiation keys; the next login sees them."""
        for name, value in params.items():
            self._adm("update", "target", "--tid", "1", "-n", name, "-v", value)

    def destroy(self):
        if self.daemon:
            # tgtd closes nothing on SIGTERM as long as sessions are there.
            self.daemon.send_signal(signal.SIGKILL)
            self.daemon.wait(timeout=30)
        for lun in self.luns:
            lun.destroy()
