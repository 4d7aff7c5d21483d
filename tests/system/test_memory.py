# SPDX-License-Identifier: GPL-2.0
"""Memory is short, and what could free some has to go to a volume first: swap and write-back.

A target in the same machine needs memory as well, to take what would free some. So it gets a
reserve here: only a cgroup runs out of memory, or some is left. With the target outside all of
the machine does: tests/vm/outside tests/vm/run --mem 700M tests/system/test_memory.py
"""

import contextlib
import threading
from pathlib import Path

import pytest

from lab import fio, lio, memory, network, outside, storage
from lab.shell import read, run, wait_for

MIB = 1 << 20
LEG_BYTES = 64 * MIB
#: What the cgroup that swaps may have, and what is left to everybody where write-back is tested.
GROUP_BYTES = 20 * MIB
LEFT_BYTES = 48 * MIB
LEFT_OUTSIDE_BYTES = 24 * MIB


@pytest.fixture
def device(module, targets, make_volume, links):
    """The disk of a volume of two legs whose target does not depend on it."""
    settings = {"recovery_timeout_ms": -1, "chunk_bytes": 65536}
    if outside.present():
        outside.connect()
        volume = outside.volume("memory", [(outside.PORTAL, outside.IQN, lun)
                                           for lun in outside.WITH_CACHE], **settings)
        volume.create()
    else:
        target = targets(lio.Target([(links[0].address, network.ISCSI_PORT)],
                                    [lio.Lun(LEG_BYTES, pinned=True) for _ in range(2)]))
        volume = make_volume(target, legs=2, **settings)
    yield volume.enable()
    volume.delete()


@contextlib.contextmanager
def swap(device):
    run("mkswap", device)
    run("swapon", device)
    try:
        yield
    finally:
        run("swapoff", device, timeout_s=600)


@contextlib.contextmanager
def kills(pause_s=4):
    """Meanwhile connections die: what brings them back must not need what it frees. Yields a list
    of how many each time."""
    killed, over = [], threading.Event()

    def kill():
        while not over.wait(pause_s):
            killed.append(network.kill_connections())

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        yield killed
    finally:
        over.set()
        thread.join()


def exhaust(size_bytes, seconds):
    """A process that needs so much more than there is: in the machine, or in a cgroup."""
    if outside.present():
        return memory.swap_back_and_forth(memory.available_bytes() + size_bytes, seconds)
    with memory.Group("swap", GROUP_BYTES) as group:
        return memory.swap_back_and_forth(GROUP_BYTES + size_bytes, seconds, group)


@pytest.mark.timeout_s(3600)
def test_swap(device, size):
    """Most of a process is on the volume; all of its memory is right whenever it is read."""
    needs = size.rounds(32, 64) * MIB
    out, back = memory.swapped_pages()
    with swap(device):
        with kills() as killed:
            visited = exhaust(needs, size.rounds(30, 600))
        now_out, now_back = memory.swapped_pages()
    assert sum(killed) > 0
    assert visited > 0
    assert now_out - out >= needs // 4096
    assert now_back - back > visited // 4


def reconnects(device):
    legs = Path("/sys/block", device.name, "istripe/legs")
    return sum(int(read(file)) for file in legs.glob("*/paths/0/reconnects"))


@contextlib.contextmanager
def silent(address, seconds):
    """Nothing gets there for so long: the kernel ends it, for all that runs may wait for memory."""
    rules = f"""table ip outage {{
        set silent {{ type ipv4_addr; flags timeout; elements = {{ {address} timeout {seconds}s }} }}
        chain out {{ type filter hook output priority 0; ip daddr @silent drop; }}
    }}"""
    run("nft", "-f", "-", text_in=rules)
    try:
        yield
    finally:
        run("nft", "delete", "table", "ip", "outage")


@pytest.mark.timeout_s(1800)
def test_swap_through_an_outage(device, size, links):
    """What is swapped waits, and takes the memory that is left; the login needs some."""
    address = outside.ADDRESS if outside.present() else links[0].address
    before = reconnects(device)
    with swap(device), silent(address, 40):
        assert exhaust(size.rounds(32, 64) * MIB, 90) > 0
        wait_for("the path that was lost", lambda: reconnects(device) > before, 120)


@pytest.mark.timeout_s(3600)
def test_write_back(device, size):
    """The page cache can free memory only by writing to the volume."""
    hog = memory.Hog(LEFT_OUTSIDE_BYTES if outside.present() else LEFT_BYTES).start()
    try:
        hog.full()
        fio.run(device, rw="randwrite", bsrange="4k-256k", blockalign=4096, direct=0,
                ioengine="sync", size=64 * MIB, io_size=size.rounds(64, 4096) * MIB,
                end_fsync=1, invalidate=1, verify="crc32c", do_verify=1, verify_fatal=1,
                verify_dump=0, verify_state_save=0, randseed=7)
        assert hog.alive()
    finally:
        hog.stop()
    storage.drop_caches()
