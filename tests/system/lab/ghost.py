# SPDX-License-Identifier: GPL-2.0
"""Ghost writes: a target's backend holds a write, the path it came over is lost, the initiator goes
on, and then the backend carries it out.

The backend is a `holder`: hold(at) the next write to that place, held(), release(), carried_out.
A nbd.HoldingDisk is one, scripted.ghost.Holder another.
"""

import asyncio
import contextlib
import itertools
import threading
import time

from lab import network
from lab.disk import noise
from lab.shell import read, wait_for, write

KIB = 1 << 10
AT = 64 * KIB
SIZE = 4 * KIB
#: Silence is noticed soon, but not because an emulated processor stands still for a moment.
FAST = {"default_time2wait": 0, "login_timeout_ms": 5000, "ping_interval_ms": 300,
        "ping_timeout_ms": 6000}
#: The same for who does not wait for silence to be noticed.
CALM = {**FAST, "ping_timeout_ms": 12000}
#: Silence is not noticed.
PATIENT = {**FAST, "ping_interval_ms": 60000}
#: How long a write that must not go on is given to do so, and one that must.
SETTLE_S = 4
PATIENCE_S = 60
#: Until a path is lost, or back.
LOST_S = 60
#: Abort and reset of a command may have to time out before anything is noticed.
NOTICED_S = 90


def state(volume):
    return read(volume.sysfs() / "state")


def path_state(volume, path=0, leg=0):
    return read(volume.path_sysfs(leg, path) / "state")


def volume_over(make_volume, links, ports, target, **options):
    """A volume of one leg with a path over each link, each to a port of a scripted target.

    Writes to the blocks of a ghost wait for as long as it takes: by default they go on (overlays).
    """
    options = {"policy": "failover", "recovery_timeout_ms": -1, "ghost_timeout_ms": -1, "path": FAST,
               **options}
    volume = make_volume(target, paths=links, **options)
    for index, (link, port) in enumerate(zip(links, ports)):
        write(volume.leg / "paths" / str(index) / "portal", f"{link.address}:{port}")
    return volume


#: By these a target can tell the paths of a volume from each other.
ISIDS = [f"80000000000{index}" for index in range(3)]


def set_isids(volume, paths=2):
    for index in range(paths):
        write(volume.leg / "paths" / str(index) / "isid", ISIDS[index])


def path_is(volume, index, live, leg=0):
    """Whether the path is live; or, if that is asked, whether it is lost and gets no command any more.
    """
    now = path_state(volume, index, leg)
    return now == "live" if live else now not in ("live", "draining")


def wait_path(volume, index, live, leg=0):
    wait_for(f"leg {leg} path {index} to be {'live' if live else 'lost'}",
             lambda: path_is(volume, index, live, leg), LOST_S)


def undisturbed(volume, paths=2, legs=1):
    """No session was lost for what the test has done."""
    for leg, path in itertools.product(range(legs), range(paths)):
        assert path_state(volume, path, leg) == "live"
        assert read(volume.path_sysfs(leg, path) / "faults") == "0"


@contextlib.contextmanager
def lost(volume, link, index, leg=0):
    """One of the paths is lost meanwhile."""
    with network.down(link):
        wait_path(volume, index, False, leg)
        yield
    wait_path(volume, index, True, leg)


class Write(threading.Thread):
    """A write that may take long, or fail."""

    def __init__(self, disk, at, data):
        super().__init__(daemon=True)
        self.disk, self.at, self.data = disk, at, data
        self.good = False
        self.start()

    def run(self):
        with contextlib.suppress(OSError):
            self.disk.write(self.at, self.data)
            self.good = True

    def finish(self, timeout_s=PATIENCE_S):
        self.join(timeout_s)
        assert not self.is_alive(), "the write does not go on"
        assert self.good, "the write has failed"


def wait_waiting(volume, writer, path=0):
    """Until the write waits for the end of a lost session, or is over without having done so."""
    waiting = volume.path_sysfs(0, path) / "waiting_writes"
    wait_for("the write to wait", lambda: not writer.is_alive() or read(waiting) != "0")


def held_write(disk, target, data):
    """A write that a scripted target holds, and the thread that waits for it."""
    writer = Write(disk, AT, data)
    wait_for("the write that is held", lambda: "event" in target.run.memory)
    return writer


def lose_with_data_in_the_queue(volume, link, port, start):
    """The first path, with data of the write that start() begins. Returns what that returns.

    What its link delays does not let a login through.
    """
    sent = volume.path_sysfs() / "connections" / "0" / "bytes_sent"
    ours, before = network.ports(link, port), int(read(sent))
    started = start()
    # No process is started for it: the queue does not wait.
    wait_for("the data", lambda: int(read(sent)) > before + 2 * KIB, step_s=0.01)
    assert network.kill_connections(port=port, source_ports=ours)
    return started


def write_to_holder(disk, holder, data):
    """A write that the holder holds, and the thread that waits for it."""
    holder.hold(AT)
    writer = Write(disk, AT, data)
    wait_for("the write that is held", holder.held)
    return writer


@contextlib.contextmanager
def held_by_dead_link(disk, holder, data, volume, link, becomes):
    """As write_to_holder(), but the link is dead then, and the volume in the state that follows."""
    writer = write_to_holder(disk, holder, data)
    with network.silent(link):
        wait_for("the loss to be noticed", lambda: state(volume) == becomes, 30)
        yield writer


def release(server, target):
    """What held_write() has left is carried out, if it is still there."""
    worker = target.run.memory["worker"]

    async def carried_out():
        # In the target's thread: it looks after all that the event has woken. Data of a write whose
        # connection is silent never come.
        for _ in range(50):
            await asyncio.sleep(0.02)
            if worker.done():
                break

    server.loop.call_soon_threadsafe(target.run.memory["event"].set)
    server.call(carried_out())


# Ways to lose a path: lose(link, port) returns what heals it.

def _nothing():
    pass


def killed(link, port):
    """By the initiator's side: the target is told."""
    wait_for("a connection to break",
             lambda: network.kill_connections(port=port, source_ports=network.ports(link, port)))
    return _nothing


def killed_by_target(link, port):
    wait_for("a connection to break", lambda: network.kill_connections(
        port=port, by_target=True, source_ports=network.ports(link, port)))
    return _nothing


def silent(link, port):
    link.set_silent(True)
    return lambda: link.set_silent(False)


def slow(link, port):
    """No connection is touched: what must notice is the command's timeout."""
    return _nothing


class Outcome:
    """early: newer data were acknowledged while the backend still held older ones; ghost: these have
    come over the newer ones."""

    def __init__(self, early, found, older, newer):
        self.early = early
        self.ghost = found == older
        self.right = found == newer

    def __repr__(self):
        data = "right" if self.right else "older" if self.ghost else "neither"
        return f"{'early' if self.early else 'late'}, data {data}"


def write_newer(disk, holder, newer, settle_s):
    """Whether they are acknowledged before the older ones are released; these may have gone twice."""
    writer = Write(disk, AT, newer)
    writer.join(settle_s)
    early = not writer.is_alive()
    holder.release()
    writer.finish()
    return early


def appear(disk, holder, lose, link, port=network.ISCSI_PORT, wait_healed=False, seed=0,
           settle_s=SETTLE_S, asked=None):
    """One round: returns its Outcome.

    disk: Direct; wait_healed: whether nothing can go on before the lost link is back; settle_s: how
    long the write may take to go on after the login; asked(): whether the initiator has asked for
    all that it is refused as long as the write is held.
    """
    older, newer = noise(SIZE, f"older-{seed}"), noise(SIZE, f"newer-{seed}")
    before = network.ports(port=port)
    writer = write_to_holder(disk, holder, older)
    heal = lose(link, port)
    try:
        if wait_healed:
            wait_for("the loss", lambda: before - network.ports(port=port), NOTICED_S)
            time.sleep(SETTLE_S)
            heal, healed = _nothing, heal
            healed()
        # A login through the other path, or one that leads to no session, may be over too soon
        # to be seen.
        seen = asked or (lambda: network.ports(port=port) - before)
        wait_for("a login, or what is refused", lambda: not writer.is_alive() or seen(), NOTICED_S)
        writer.join(settle_s)
        waits = writer.is_alive()
        if waits:
            holder.release()
        writer.finish()
        early = write_newer(disk, holder, newer, settle_s) and not waits
        holder.release()
        found = disk.read(AT, SIZE)
    finally:
        holder.release()
        heal()
    return Outcome(early, found, older, newer)
