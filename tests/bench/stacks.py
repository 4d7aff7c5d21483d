# SPDX-License-Identifier: GPL-2.0
"""What is compared: istripe, the stock stack, and a disk that does nothing; nvme.py has one more.

All of them have a name, a device while they are started, start(), stop() and negotiated().
"""

import os
from pathlib import Path
from typing import NamedTuple

from lab import istripe, openiscsi
from lab.shell import LabError, read, run, udev_settle, wait_for, write

KIB = 1 << 10
MIB = 1 << 20
RUN = Path("/run/lab")
COMMANDS = 128
SESSIONS = Path("/sys/class/iscsi_session")
CONNECTIONS = Path("/sys/class/iscsi_connection")

#: What both stacks must have agreed on with the target.
KEYS = {
    "HeaderDigest": "None",
    "DataDigest": "None",
    "InitialR2T": "No",
    "ImmediateData": "Yes",
    "FirstBurstLength": "262144",
    "MaxBurstLength": "1048576",
    "MaxOutstandingR2T": "8",
    "MaxRecvDataSegmentLength": "262144",
    "ErrorRecoveryLevel": "0",
    "MaxConnections": "1",
}


class Place(NamedTuple):
    """Where a LUN is, or one of several ways to the same one.

    stock_iqn: a target that shows the same data as another LUN, for the stock stack while istripe
    is up: istripe takes no LUN that the host has as a disk.
    """

    portal: str
    iqn: str
    lun: int
    stock_iqn: str = ""


class Layout(NamedTuple):
    """What the disk is made of: a stripe over LUNs, or with paths one LUN reached in many ways."""

    places: tuple
    chunk_bytes: int = 64 * KIB
    paths: bool = False
    keys: dict = KEYS
    poll_queues: bool = False
    connections: int = 1        # of each path of istripe
    nvme: str = ""      # address of nvmet, which shows the same data; see nvme.py


def say(text):
    print(f"bench: {text}", flush=True)


def queue_say(disk):
    queue = Path("/sys/block") / disk / "queue"
    values = ("max_sectors_kb", "max_segments", "nr_requests", "rotational", "write_cache", "fua")
    # What has no requests, as dm-stripe, has not all of them.
    say(f"{disk}: " + ", ".join(f"{v} {read(queue / v)}" for v in values if (queue / v).exists()))


def queue_tune(disk):
    """The same elevator and request size for everybody; says what it is."""
    queue = Path("/sys/block") / disk / "queue"
    write(queue / "scheduler", "none")
    write(queue / "max_sectors_kb", min(1024, int(read(queue / "max_hw_sectors_kb"))))
    queue_say(disk)


def disk_commands(disk):
    """The reads and writes that a disk's driver has carried out since the disk is there."""
    fields = read(f"/sys/block/{disk}/stat").split()
    return int(fields[0]) + int(fields[4])


def mapper_create(table, modules):
    """A disk of the device mapper; its path, by the name that /sys/block has for it."""
    run("modprobe", "-a", "dm-mod", *modules)
    run("dmsetup", "create", "--noudevsync", "bench", "--table", table)
    minor = run("dmsetup", "info", "-c", "--noheadings", "-o", "minor", "bench").strip()
    device = Path(f"/dev/dm-{minor}")
    wait_for(f"{device}", device.is_block_device)
    queue_say(device.name)
    return device


def mapper_remove():
    # Not with udev, which may be busy with other disks for ever; removing goes on trying anyway.
    udev_settle()
    run("dmsetup", "remove", "--noudevsync", "--retry", "bench")


class NullBlk:
    """The baseline: fio and the block layer with a disk that does nothing."""

    name = "null_blk"

    def __init__(self):
        self.device = Path("/dev/nullb0")

    def start(self):
        run("modprobe", "null_blk", "nr_devices=1", "gb=1", "bs=512", "submit_queues=1",
            f"hw_queue_depth={COMMANDS}", "max_sectors=2048")
        wait_for(f"{self.device}", self.device.is_block_device)
        queue_tune(self.device.name)

    def negotiated(self):
        return []

    def stop(self):
        run("modprobe", "-r", "null_blk")


class Stock:
    """open-iscsi and iscsi_tcp; above them dm-stripe when there are several LUNs, or dm-multipath."""

    name = "stock"

    def __init__(self, layout):
        self.layout = layout
        self.initiator = openiscsi.Stock()
        self.device = None
        self.members = []
        self.mapped = False

    def settings(self):
        keys = self.layout.keys
        session = "node.session"
        connection = "node.conn[0].iscsi"
        values = {
            f"{session}.iscsi.{key}": keys[key]
            for key in ("InitialR2T", "ImmediateData", "FirstBurstLength", "MaxBurstLength",
                        "MaxOutstandingR2T")
        }
        values.update({f"{connection}.{key}": keys[key]
                       for key in ("HeaderDigest", "DataDigest", "MaxRecvDataSegmentLength")})
        values.update({f"{session}.cmds_max": COMMANDS, f"{session}.queue_depth": COMMANDS})
        return values

    @staticmethod
    def disks(lun):
        """The disks that the LUN of this number is in all sessions, as far as they are complete."""
        return {path.name for path in SESSIONS.glob(f"session*/device/target*/*:*:*:{lun}/block/sd*")
                if (path / "queue/scheduler").exists()
                and (Path("/dev") / path.name).is_block_device()}

    def login(self, place):
        before = self.disks(place.lun)
        iqn = place.stock_iqn or place.iqn
        self.initiator.login(place.portal, iqn, place.lun, **self.settings())
        wait_for(f"the disk of {iqn} at {place.portal}",
                 lambda: self.disks(place.lun) - before)
        (disk,) = self.disks(place.lun) - before
        queue_tune(disk)
        return disk

    def table(self, disks):
        """The device mapper's table, and the modules that it needs."""
        sectors = min(int(read(f"/sys/block/{disk}/size")) for disk in disks)
        paths = [f"/dev/{disk}" for disk in disks]
        if self.layout.paths:
            each = " ".join(f"{path} 1" for path in paths)
            return (f"0 {sectors} multipath 0 0 1 1 round-robin 0 {len(paths)} 1 {each}",
                    ("dm-multipath", "dm-round-robin"))
        chunk = self.layout.chunk_bytes // 512
        each = " ".join(f"{path} 0" for path in paths)
        return f"0 {sectors // chunk * chunk * len(paths)} striped {len(paths)} {chunk} {each}", ()

    def start(self):
        self.initiator.start()
        self.members = disks = [self.login(place) for place in self.layout.places]
        udev_settle()
        if len(disks) == 1:
            self.device = Path("/dev") / disks[0]
            return
        table, modules = self.table(disks)
        self.device = mapper_create(table, modules)
        self.mapped = True

    def commands(self):
        """SCSI commands sent for requests, on all LUNs."""
        return sum(map(disk_commands, self.members))

    def negotiated(self):
        """What each session has agreed on."""
        connections = sorted(CONNECTIONS.iterdir())
        return [self.session(session, connection)
                for session, connection in zip(sorted(SESSIONS.iterdir()), connections, strict=True)]

    def session(self, session, connection):
        def word(path, words):
            return words[int(read(path))]

        values = {
            "HeaderDigest": word(connection / "header_digest", ("None", "CRC32C")),
            "DataDigest": word(connection / "data_digest", ("None", "CRC32C")),
            "InitialR2T": word(session / "initial_r2t", ("No", "Yes")),
            "ImmediateData": word(session / "immediate_data", ("No", "Yes")),
            "FirstBurstLength": read(session / "first_burst_len"),
            "MaxBurstLength": read(session / "max_burst_len"),
            "MaxOutstandingR2T": read(session / "max_outstanding_r2t"),
            "MaxRecvDataSegmentLength": read(connection / "max_recv_dlength"),
            "ErrorRecoveryLevel": read(session / "erl"),
            "MaxConnections": "1",
        }
        sent = read(connection / "max_xmit_dlength")
        if sent != self.layout.keys["MaxRecvDataSegmentLength"]:
            raise LabError(f"stock: sends segments of up to {sent} bytes, not as it receives")
        return values

    def stop(self):
        if self.mapped:
            mapper_remove()
            self.mapped = False
        self.initiator.stop()


class Istripe:
    """The module: a leg for each LUN, or one leg with many paths; one connection for each."""

    name = "istripe"

    def __init__(self, layout):
        self.layout = layout
        each = [self.settings(place) for place in layout.places]
        more = "more_paths" if layout.paths else "more_legs"
        self.volume = istripe.Volume("bench", each[0], **{more: each[1:]}, queue_depth=COMMANDS,
                                     policy="interleave" if layout.paths else None,
                                     metadata="none", chunk_bytes=layout.chunk_bytes,
                                     poll_queues=int(layout.poll_queues))
        self.device = None

    def settings(self, place):
        keys = self.layout.keys
        return {
            "portal": place.portal,
            "target_name": place.iqn,
            "lun": place.lun,
            "header_digest": keys["HeaderDigest"],
            "data_digest": keys["DataDigest"],
            "initial_r2t": keys["InitialR2T"],
            "immediate_data": keys["ImmediateData"],
            "max_recv_data_segment_length": keys["MaxRecvDataSegmentLength"],
            "first_burst_length": keys["FirstBurstLength"],
            "max_burst_length": keys["MaxBurstLength"],
            "max_outstanding_r2t": keys["MaxOutstandingR2T"],
            **({"connections": self.layout.connections} if self.layout.connections > 1 else {}),
        }

    def start(self):
        istripe.load()
        try:
            self.device = self.volume.up()
        except istripe.EnableError as err:
            raise LabError(f"istripe: enable failed: {err}") from err
        queue_tune(self.device.name)

    def commands(self):
        """SCSI commands sent for requests, on all LUNs."""
        return sum(int(read(path)) for path in self.volume.sysfs().glob("legs/*/commands"))

    def negotiated(self):
        found = sorted(self.volume.sysfs().glob("legs/*/paths/*/session/negotiated"))
        if len(found) != len(self.layout.places):
            raise LabError(f"istripe: {len(found)} sessions, not {len(self.layout.places)}")
        return [{key: read(directory / key) for key in self.layout.keys} for directory in found]

    def stop(self):
        self.volume.delete()
        istripe.unload()


def features():
    """What the module says it can do."""
    istripe.load()
    words = read(istripe.CONFIG / "features").split()
    istripe.unload()
    return words


def check_negotiated(stack):
    for session in stack.negotiated():
        for key, value in session.items():
            if value != stack.layout.keys[key]:
                raise LabError(f"{stack.name}: {key} is {value}, not {stack.layout.keys[key]}")


def check_same_data(writer, reader, size_mib=4):
    """What one stack writes the other one reads: the figures are of real data, the same,
    laid out in the same way."""
    pattern = os.urandom(size_mib * MIB)
    source, copy = RUN / "pattern", RUN / "copy"
    source.write_bytes(pattern)
    run("dd", f"if={source}", f"of={writer.device}", "bs=512k", "oflag=direct", "conv=notrunc")
    run("dd", f"if={reader.device}", f"of={copy}", "bs=512k", f"count={2 * size_mib}",
        "iflag=direct")
    if copy.read_bytes() != pattern:
        raise LabError(f"{reader.name} reads other data than {writer.name} has written")
    source.unlink()
    copy.unlink()
