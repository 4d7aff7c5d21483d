# SPDX-License-Identifier: GPL-2.0
"""File systems on a volume: make, fill, check, mount again, compare, repair nothing."""

import os
import shutil

import pytest

from lab import fio, lio
from lab.connections import log_in_again
from lab.filesystems import FILE_SYSTEMS
from lab.shell import run

MIB = 1 << 20
SOURCE = "/usr/lib/python3/dist-packages"

#: A quick run has each file system and each block size once.
COMBINATIONS = [("xfs", 512), ("ext4", 4096)]
if os.environ.get("ISTRIPE_FULL"):
    COMBINATIONS += [("xfs", 4096), ("ext4", 512)]


@pytest.mark.parametrize("kind,block_bytes", COMBINATIONS)
@pytest.mark.timeout_s(1800)
def test_file_system(make_lio, make_volume, mount_point, size, kind, block_bytes):
    mkfs, checks = FILE_SYSTEMS[kind]
    volume = make_volume(make_lio(lio.Lun(512 * MIB, block_bytes=block_bytes)))
    device = volume.enable()
    run(*mkfs, device)
    run("mount", "-t", kind, device, mount_point)
    fio.run(mount_point / "data", rw="randwrite", bsrange="4k-256k", blockalign=4096,
            size=size.cell_bytes, iodepth=8, verify="crc32c", do_verify=1, verify_fatal=1,
            verify_state_save=0, fallocate="none")
    many_files(mount_point, size.rounds(1, 5))
    run("fstrim", mount_point)
    run("umount", mount_point)
    for check in checks:
        run(*check, device, timeout_s=600)
    volume.disable()
    device = volume.enable()
    run("mount", "-t", kind, device, mount_point)
    run("diff", "-r", f"{mount_point}/kept", sorted_source(), timeout_s=600)
    run("umount", mount_point)


def sorted_source():
    """Something with some hundred files that every machine with pytest has."""
    return f"{SOURCE}/_pytest"


def many_files(mount_point, rounds):
    """Creates, renames, links, truncates and removes trees, and keeps one copy."""
    for number in range(rounds):
        tree = mount_point / f"tree{number}"
        shutil.copytree(sorted_source(), tree)
        for index, file in enumerate(sorted(tree.rglob("*.py"))):
            if index % 3 == 0:
                file.rename(file.with_suffix(".moved"))
            elif index % 3 == 1:
                with open(file, "r+b") as handle:
                    handle.truncate(index * 7)
        run("sync", "-f", mount_point)
        shutil.rmtree(tree)
    shutil.copytree(sorted_source(), mount_point / "kept")


@pytest.mark.timeout_s(900)
def test_data_survive_a_lost_connection(make_lio, make_volume, mount_point):
    """A journal is being written while the connection breaks: nothing is wrong afterwards."""
    target = make_lio(lio.Lun(512 * MIB), params={"DefaultTime2Wait": 0})
    volume = make_volume(target, path={"default_time2wait": 0})
    device = volume.enable()
    run("mkfs.xfs", "-q", "-f", device)
    run("mount", "-t", "xfs", device, mount_point)
    job = fio.begin(mount_point / "data", device, rw="randwrite", bs="16k", size=16 * MIB, fsync=8,
                    verify="crc32c", do_verify=1, verify_fatal=1, verify_state_save=0)
    kills = 0
    while job.poll() is None and kills < 5:
        log_in_again(volume, by_target=kills % 2 == 1)
        kills += 1
    fio.finish(job)
    assert kills > 0
    run("umount", mount_point)
    run("xfs_repair", "-n", device)
