# SPDX-License-Identifier: GPL-2.0
"""nvme-tcp as a yardstick: nvmet in the target's namespace, over the file of a LUN."""

import os
import re
from pathlib import Path

from lab.network import NETNS
from lab.shell import run, wait_for, write
from stacks import COMMANDS, queue_tune

CONFIG = Path("/sys/kernel/config/nvmet")
NQN = "nqn.2024-01.org.example.istripe:bench"
HOST = "nqn.2024-01.org.example.istripe:host"
HOST_ID = "5c6f2ab8-8f5c-4d0e-9f0a-0f5b6d1c2e3f"
PORT = 4420


class Target:
    """One namespace, which shows the data of a LUN."""

    def __init__(self, address, lun):
        self.address = address
        self.lun = lun
        self.subsystem = CONFIG / "subsystems" / NQN
        self.namespace = self.subsystem / "namespaces" / "1"
        self.port = CONFIG / "ports" / "1"
        self.link = self.port / "subsystems" / NQN

    def create(self):
        # nvmet loads it, too; the initiator is to be without its own multipathing.
        run("modprobe", "nvme-core", "multipath=N")
        run("modprobe", "-a", "nvmet", "nvmet-tcp")
        self.namespace.mkdir(parents=True)
        write(self.subsystem / "attr_allow_any_host", 1)
        write(self.namespace / "device_path", self.lun.file)
        write(self.namespace / "buffered_io", 1)
        write(self.namespace / "enable", 1)
        self.port.mkdir()
        for name, value in (("trtype", "tcp"), ("adrfam", "ipv4"), ("traddr", self.address),
                            ("trsvcid", PORT)):
            write(self.port / f"addr_{name}", value)
        # It listens in the namespace of the process that makes the link.
        run("ln", "-s", self.subsystem, self.link, netns=NETNS)

    def destroy(self):
        self.link.unlink(missing_ok=True)
        for directory in (self.port, self.namespace, self.subsystem):
            if directory.exists():
                directory.rmdir()


def connect(options):
    """Makes a controller, as nvme-cli does; what the kernel answers."""
    fabrics = os.open("/dev/nvme-fabrics", os.O_RDWR)
    try:
        os.write(fabrics, ",".join(f"{key}={value}" for key, value in options.items()).encode())
        return os.read(fabrics, 4096).decode()
    finally:
        os.close(fabrics)


class Nvme:
    """The kernel's nvme-tcp with one queue, without its own multipathing."""

    name = "nvme"

    def __init__(self, layout):
        self.address = layout.nvme
        self.device = None
        self.controller = None

    def start(self):
        run("modprobe", "-a", "nvme-fabrics", "nvme-tcp")
        options = {"nqn": NQN, "transport": "tcp", "traddr": self.address, "trsvcid": PORT,
                   "hostnqn": HOST, "hostid": HOST_ID, "queue_size": COMMANDS, "nr_io_queues": 1}
        (number,) = re.findall(r"instance=(\d+)", connect(options))
        self.controller = Path(f"/sys/class/nvme/nvme{number}")
        self.device = Path(f"/dev/nvme{number}n1")
        wait_for(f"{self.device}", self.device.is_block_device)
        queue_tune(self.device.name)

    def negotiated(self):
        return []

    def stop(self):
        if self.controller:
            write(self.controller / "delete_controller", 1)
        self.controller = None
