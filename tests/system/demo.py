# SPDX-License-Identifier: GPL-2.0
"""The demonstration: one LUN over in-kernel iSCSI, from nothing to a file system and back.

Runs inside the virtual machine; tests/vm/demo starts it.
"""

import contextlib
import os
import sys
import time

from lab import fio, istripe, leaks, lio, network, storage
from lab.kernlog import KernelLog
from lab.shell import LabError, read, run

MIB = 1 << 20
LUN_BYTES = 512 * MIB
#: what is written through the file system and read back; small enough for an emulated processor
BYTES = int(os.environ.get("ISTRIPE_FIO_BYTES") or 64 * MIB)
KEYS = ("HeaderDigest", "DataDigest", "InitialR2T", "ImmediateData", "MaxRecvDataSegmentLength",
        "MaxXmitDataSegmentLength", "FirstBurstLength", "MaxBurstLength", "MaxOutstandingR2T",
        "ErrorRecoveryLevel")


def say(text=""):
    print(text, flush=True)


@contextlib.contextmanager
def step(text):
    say(f"== {text}")
    yield
    say()


def show(name, value):
    say(f"   {name:<28} {value}")


def figures(name, result, direction):
    show(name, f"{result.mb_per_s(direction):8.1f} MB/s {result.iops(direction):9.0f} IOPS   "
         f"errors {result.errors()}")


def bring_up(cleanup, link):
    with step("A target: LIO in a network namespace of its own, one LUN"):
        target = lio.Target([(link.address, network.ISCSI_PORT)], [lio.Lun(LUN_BYTES)],
                            params={"InitialR2T": "No"})
        cleanup.callback(target.destroy)
        target.create()
        show("target", target.iqn)
        show("portal", link.portal())
        show("LUN 0", f"{LUN_BYTES // MIB} MiB, a file in memory")
    with step("A volume: directories and files in /sys/kernel/config/istripe, then enable"):
        volume = istripe.Volume.of(target, link, name="demo", metadata="md", metadata_create=1)
        cleanup.callback(volume.delete)
        volume.create()
        for name, value in {**volume.settings, **volume.path_settings}.items():
            show(name, value)
        start = time.monotonic()
        device = volume.enable()
        show("enable", f"done after {time.monotonic() - start:.2f} s")
    return target, volume, device


def describe(volume, device):
    with step(f"The disk: {device}"):
        show("size", f"{volume.size_bytes() // MIB} MiB in blocks of "
             f"{volume.queue('logical_block_size')} bytes")
        show("write cache", f"{volume.queue('write_cache')}, FUA {volume.queue('fua')}")
        show("largest request", f"{volume.queue('max_sectors_kb')} KiB of "
             f"{volume.queue('max_hw_sectors_kb')} KiB")
        show("discard, write zeroes", f"{volume.queue('discard_max_bytes')}, "
             f"{volume.queue('write_zeroes_max_bytes')} bytes at a time")
        show("path", volume.state())
        found = volume.all_negotiated()
        for key in KEYS:
            if key in found:
                show(key, found[key])


def use(cleanup, device):
    mount_point = storage.ROOT / "demo"
    mount_point.mkdir()
    with step("XFS on it, and fio that verifies every block it has written"):
        run("mkfs.xfs", "-q", "-f", device)
        run("mount", "-t", "xfs", device, mount_point)
        cleanup.callback(run, "umount", mount_point, check=False)
        size = BYTES // 4
        result = fio.run(mount_point / "verified", rw="randwrite", bsrange="4k-1M",
                         blockalign=4096, size=size, numjobs=4, offset_increment=size,
                         filesize=BYTES, iodepth=8, verify="crc32c", do_verify=1, verify_fatal=1,
                         verify_state_save=0)
        figures("written, random 4k to 1M", result, "write")
        figures("read back and verified", result, "read")
        if result.bytes("read") < result.bytes("write"):
            raise LabError("fio has read back less than it has written")
        run("umount", mount_point)
        run("xfs_repair", "-n", device)
        show("xfs_repair -n", "clean")
    with step("The bare disk, two seconds each"):
        for name, direction, options in (
            ("randread 4k, depth 1", "read", {"rw": "randread", "bs": "4k", "iodepth": 1}),
            ("randread 4k, depth 32", "read", {"rw": "randread", "bs": "4k", "iodepth": 32}),
            ("read 1M, depth 4", "read", {"rw": "read", "bs": "1M", "iodepth": 4}),
            ("write 1M, depth 4", "write", {"rw": "write", "bs": "1M", "iodepth": 4}),
        ):
            figures(name, fio.run(device, time_based=True, runtime=2, size="100%", **options),
                    direction)


def finish(log):
    with step("Gone again"):
        istripe.unload()
        show("module", "unloaded")
        if network.established() or istripe.devices() or leaks.threads():
            raise LabError("something of istripe is left behind")
        show("left behind", "nothing")
        bad = log.bad()
        show("kernel log", "clean" if not bad else f"{len(bad)} bad lines")
        if bad:
            raise LabError("\n".join(bad))


def demonstrate(log):
    net = network.Network(links=1)
    net.create()
    storage.prepare()
    lio.prepare()
    link = net.links[0]
    with step(f"Linux {os.uname().release}: modprobe istripe"):
        istripe.load()
        show("version", read("/sys/module/istripe/version")
             if os.path.exists("/sys/module/istripe/version") else "-")
        show("features", " ".join(read(istripe.CONFIG / "features").split()))
    with contextlib.ExitStack() as cleanup:
        _, volume, device = bring_up(cleanup, link)
        describe(volume, device)
        use(cleanup, device)
        show("reconnects", volume.reconnects())
        say()
    finish(log)
    net.destroy()


def main():
    log = KernelLog()
    try:
        demonstrate(log)
    except (LabError, OSError, istripe.EnableError) as error:
        say(f"\nFAILED: {error}")
        say("The end of the kernel's log:")
        say("\n".join(log.read()[-40:]))
        return 1
    say("Everything worked.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
