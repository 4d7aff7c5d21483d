# SPDX-License-Identifier: GPL-2.0
"""Loading and unloading, enabling and disabling: often, under I/O, and nothing stays behind."""

import errno
import time

import pytest

from lab import fio, istripe, leaks, network
from lab.shell import LabError, read, run, status, wait_for

MIB = 1 << 20
#: What a whole test may add to unreclaimable memory: noise of the kernel, not a leak per round.
NOISE_KIB = 4096


def assert_no_growth(before, after, rounds):
    for name, kib in before.items():
        grown = after[name] - kib
        assert grown < NOISE_KIB, f"{name} grew by {grown} KiB in {rounds} rounds"


def test_modinfo(module):
    assert read("/sys/module/istripe/refcnt") == "0"
    assert run("modinfo", "-F", "license", "istripe").split() == ["GPL"]
    assert run("modinfo", "-F", "description", "istripe").strip()
    depends = run("modinfo", "-F", "depends", "istripe").strip().split(",")
    assert "scsi_common" in depends


def test_load_and_unload(module, size):
    rounds = size.rounds(15, 50)
    istripe.unload()
    leaks.kmemleak_clear()
    for _ in range(3):
        istripe.load()
        istripe.unload()
    leaks.settle()
    before = leaks.memory_kib()
    for _ in range(rounds):
        istripe.load()
        assert istripe.CONFIG.is_dir()
        istripe.unload()
        assert not leaks.loaded()
    leaks.settle()
    assert_no_growth(before, leaks.memory_kib(), rounds)
    assert leaks.own_slabs() == []
    assert leaks.threads() == []
    assert not leaks.kmemleak()
    assert not istripe.CONFIG.exists()
    istripe.load()


def test_unload_is_refused_while_a_volume_exists(make_lio, make_volume):
    volume = make_volume(make_lio())
    code, words = status("rmmod", "istripe")
    assert code != 0 and "in use" in words
    volume.enable()
    code, words = status("rmmod", "istripe")
    assert code != 0 and "in use" in words
    assert leaks.loaded()


def test_unload_after_use(make_lio, make_volume, verify):
    """A module that has carried I/O leaves as completely as one that has not."""
    volume = make_volume(make_lio())
    verify(volume.enable(), total_bytes=4 * MIB, jobs=2, largest_bytes=MIB)
    volume.delete()
    assert leaks.references() == 0
    istripe.unload()
    leaks.settle()
    assert leaks.own_slabs() == [] and leaks.threads() == []
    istripe.load()


@pytest.mark.timeout_s(900)
def test_enable_and_disable_idle(make_lio, make_volume, size):
    volume = make_volume(make_lio())
    rounds = size.rounds(10, 100)
    for _ in range(3):
        volume.enable()
        volume.disable()
    leaks.settle()
    before = leaks.memory_kib()
    for _ in range(rounds):
        device = volume.enable()
        assert len(network.established()) == 1
        volume.disable()
        assert not device.exists()
        assert network.established() == []
    leaks.settle()
    assert_no_growth(before, leaks.memory_kib(), rounds)
    assert istripe.devices() == []


def reads_done(volume):
    return int(read(f"/sys/block/{volume.device()}/stat").split()[0])


@pytest.mark.timeout_s(1800)
@pytest.mark.allow_log(r"I/O error, dev istripe\d+", "the disk goes away under fio on purpose")
def test_enable_and_disable_under_io(make_lio, make_volume, size):
    """The disk is taken away under eight busy jobs: they get errors, nothing hangs."""
    volume = make_volume(make_lio())
    rounds = size.rounds(8, 100)
    leaks.kmemleak_clear()
    for number in range(rounds):
        device = volume.enable()
        jobs = fio.start(device, rw="randrw", bsrange="512-256k", blockalign=512, iodepth=8,
                         numjobs=4, time_based=True, runtime=60, size="100%")
        wait_for("fio to do I/O", lambda: reads_done(volume) > 20, 30)
        time.sleep(0.05 * (number % 5))
        start = time.monotonic()
        volume.disable()
        assert time.monotonic() - start < 30
        with pytest.raises(LabError):
            fio.finish(jobs, 30)
        assert network.established() == []
    leaks.settle()
    assert not leaks.kmemleak()
    assert istripe.devices() == []


@pytest.mark.allow_log(r"I/O error, dev istripe\d+", "the disk goes away while it is open")
def test_disable_while_open(make_lio, make_volume):
    """Whoever holds the disk open keeps a dead descriptor, not a dangling one."""
    volume = make_volume(make_lio())
    device = volume.enable()
    with open(device, "r+b", buffering=0) as disk:
        disk.read(4096)
        volume.disable()
        run("sync")
        try:
            disk.seek(MIB)
            assert disk.read(MIB) == b""
        except OSError as err:
            # EINVAL: there is nothing left to seek in.
            assert err.errno in (errno.EIO, errno.ENXIO, errno.ENODEV, errno.EINVAL)
    volume.delete()
    assert leaks.references() == 0


def test_names_are_reused(make_lio, make_volume):
    target = make_lio(8 * MIB, 8 * MIB)
    first, second = make_volume(target), make_volume(target, lun=1)
    names = [first.enable().name, second.enable().name]
    assert len(set(names)) == 2
    first.disable()
    assert first.enable().name == names[0]
