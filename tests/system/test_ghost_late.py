# SPDX-License-Identifier: GPL-2.0
"""Ghost writes of which the target has not had all when the path is lost: the rest comes after the
fence, and after newer data were written.

That is data for which the target has asked, or the second half of a PDU. A relay keeps them, for which
the initiator's connection is over, and the target's is not.
"""

import contextlib
import time

import pytest

from lab import lio, network, tgt, topology
from lab.disk import Direct, noise, same
from lab.ghost import (
    AT,
    KIB,
    SETTLE_S,
    Write,
    killed,
    path_is,
    state,
    volume_over,
    wait_waiting,
)
from lab.istripe import INITIATOR
from lab.relay import ASKED, HALF_COMMAND, HALF_DATA, Relay
from lab.shell import read, wait_for, write
from lab.topology import GROUP, GROUPS, TARGETS
from scripted import checks
from scripted.scenario import Scenario

MIB = 1 << 20
#: The target has to ask for the data, or all of them go with the command.
SIZES = {ASKED: 128 * KIB, HALF_DATA: 128 * KIB, HALF_COMMAND: 4 * KIB}
#: Silence is not to be noticed before the path is lost.
PATH = {"default_time2wait": 0, "login_timeout_ms": 10000, "ping_interval_ms": 60000}
REAL = [("lio", GROUP), ("lio", GROUPS), ("lio", TARGETS), ("tgt", GROUP), ("tgt", TARGETS)]


@pytest.fixture
def make_relay(targets):
    """make_relay(link, port): before the portal of a link. Depends on `targets`, which end after it."""
    made = []

    def make(link, port=network.ISCSI_PORT):
        made.append(Relay(link.address, (link.address, port)))
        return made[-1]

    yield make
    for relay in made:
        relay.stop()


def array_of(targets, links, name, kind):
    """The targets of the array, and a function that reads the file behind it."""
    lun = {"lio": lio, "tgt": tgt}[name].Lun(16 * MIB)
    made = (topology.lio_targets(links, lun, kind, patient_with=INITIATOR) if name == "lio" else
            topology.tgt_targets(links, lun, kind))

    def content(at, size):
        with open(lun.file, "rb") as file:
            file.seek(at)
            return file.read(size)

    return [targets(target) for target in made], content


def volume_behind(make_volume, links, array, relay):
    """A volume whose first path leads through the relay."""
    volume = make_volume(array[0], paths=links, policy="failover", fence="auto",
                         ghost_timeout_ms=-1, recovery_timeout_ms=-1, path=PATH)
    write(volume.path / "portal", relay.portal)
    write(volume.leg / "paths" / "1" / "target_name", array[-1].iqn)
    return volume


def lose_in_the_middle(disk, relay, link, place, data):
    """The first path is lost when the target has had a write up to this place."""
    relay.hold(place, AT)
    writer = Write(disk, AT, data)
    wait_for("the write that is kept", relay.held)
    relay.open(False)
    killed(link, relay.port)
    return writer


def write_newer(volume, disk, relay, kind, content, newer):
    """Acknowledged over the other path: at once if that can end the lost session, and else not before
    the lost path is back.
    """
    writer = Write(disk, AT, newer)
    if kind == GROUP:
        writer.finish()
        assert not path_is(volume, 0, True)
        return
    wait_waiting(volume, writer)
    writer.join(SETTLE_S)
    if not writer.is_alive():       # Then this is what becomes of it.
        relay.release()
        same(content(AT, len(newer)), newer, "the data on the disk")
    assert writer.is_alive(), "newer data were written before the fence"
    assert read(volume.path_sysfs(0, 0) / "ghost_writes") == "1"
    assert read(volume.path_sysfs(0, 0) / "waiting_writes") == "1"
    assert not relay.ended, "the target has ended the connection by itself"
    relay.open(True)
    writer.finish()


def comes_late(volume, disk, relay, link, kind, content, place):
    """One round. The lost write is acknowledged before newer data are written."""
    size = SIZES[place]
    older, newer = noise(size, f"older-{place}"), noise(size, f"newer-{place}")
    wait_for("all paths", lambda: state(volume) == "live", 60)
    if kind == GROUP:
        volume.wait_proven()
    lose_in_the_middle(disk, relay, link, place, older).finish()
    same(content(AT, size), older, "the data on the disk")
    write_newer(volume, disk, relay, kind, content, newer)
    same(content(AT, size), newer, "the data on the disk")
    relay.release()
    same(content(AT, size), newer, "the data on the disk")
    relay.open(True)
    wait_for("all paths", lambda: state(volume) == "live", 60)
    same(disk.read(AT, size), newer, "what is read")
    same(content(AT, size), newer, "the data on the disk")
    assert read(volume.path_sysfs(0, 0) / "ghost_writes") == "0"


@pytest.mark.parametrize("name, kind", REAL)
def test_data_come_late(targets, make_volume, make_relay, links, name, kind):
    array, content = array_of(targets, links, name, kind)
    relay = make_relay(links[0])
    volume = volume_behind(make_volume, links, array, relay)
    with Direct(volume.enable()) as disk:
        for place in SIZES:
            comes_late(volume, disk, relay, links[0], kind, content, place)
    volume.disable()


@pytest.mark.allow_log("error(,| on) dev istripe|may still carry", "a write fails")
@pytest.mark.parametrize("name", ["lio", "tgt"])
def test_data_of_a_failed_write_come_late(targets, make_volume, make_relay, links, name):
    """There is no other path, and its own does not come back in time."""
    array, content = array_of(targets, links[:1], name, GROUP)
    relay = make_relay(links[0])
    volume = make_volume(array[0], paths=links[:1], recovery_timeout_ms=2000, path=PATH)
    write(volume.path / "portal", relay.portal)
    with Direct(volume.enable()) as disk:
        for place, size in SIZES.items():
            newer = noise(size, f"newer-{place}")
            writer = lose_in_the_middle(disk, relay, links[0], place, noise(size, "older"))
            writer.join(60)
            assert not writer.is_alive() and not writer.good
            relay.open(True)
            # The path's own state is told before the leg uses it.
            wait_for("the leg", lambda: state(volume) == "live", 60)
            disk.write(AT, newer)
            relay.release()
            same(content(AT, size), newer, "the data on the disk")
            same(disk.read(AT, size), newer, "what is read")
    volume.disable()


class Slow:
    """A target whose login takes nothing from the session before it: its commands go on, and take
    their data. A reset of the LUN ends them.
    """

    def __init__(self):
        self.left = []
        self.resets = 0

    def play(self, target):
        honest = target.end_session

        def end_session(session):
            if not session.tasks:       # as that of a proof
                honest(session)
                return
            self.left.append(session)
            target.sessions.pop(session.tsih, None)

        target.end_session = end_session

    async def on_tmf(self, run, _conn, pdu):
        if pdu.flags & 0x7F == checks.LUN_RESET:
            self.resets += 1
            for session in self.left:
                for task in list(session.tasks.values()):
                    run.target.abort(session, task)
        return False


@pytest.mark.parametrize("kind", [GROUP, GROUPS, TARGETS])
def test_only_a_reset_ends_it(make_server, make_volume, make_relay, links, kind):
    """A command is in the task set, and its data are not."""
    slow = Slow()
    servers = [make_server() for _ in range(1 if kind == GROUP else 2)]
    names = [{}, {"tpgt": 2} if kind == GROUPS else {"name": f"{lio.IQN}other"}]
    array = [server.load(Scenario("slow", hooks={"on_tmf": slow.on_tmf}, settings=settings))
             for server, settings in zip(servers, names)]
    array[-1].disk = array[0].disk
    slow.play(array[0])

    def content(at, size):
        return bytes(array[0].disk.data[at:at + size])

    relay = make_relay(links[0], servers[0].port)
    volume = volume_over(make_volume, links, [relay.port, servers[-1].port], array[0], fence="auto",
                         path=PATH)
    write(volume.leg / "paths" / "1" / "target_name", array[-1].iqn)
    with Direct(volume.enable()) as disk:
        for number, place in enumerate((ASKED, HALF_DATA), 1):
            comes_late(volume, disk, relay, links[0], kind, content, place)
            assert slow.resets == number
    volume.disable()


@contextlib.contextmanager
def data_in_the_queue(disk, volume, link, data):
    """A write whose data wait in the queue of the NIC.

    What the target sends takes two seconds. A queue that is made after the R2T has come is too
    late for the data: then it is tried again.
    """
    sent = volume.path_sysfs() / "session" / "commands_sent"
    for _ in range(5):
        before = read(sent)
        writer = Write(disk, AT, data)
        wait_for("the command", lambda before=before: read(sent) != before, step_s=0.01)
        time.sleep(0.2)         # It is there, and the R2T is not here.
        with network.delayed(link, 12):
            wait_for("the data, or the answer", lambda writer=writer: not writer.is_alive() or
                     network.queued_bytes(link) > len(data), 60)
            if writer.is_alive():
                yield writer
                return
            writer.finish()
    pytest.fail("the queue was too late each time")


def test_packets_on_their_way(targets, make_volume, links):
    """The data that LIO has asked for are in a queue of the network, behind which is the RST: LIO's
    connection is sound until they have come.
    """
    array, content = array_of(targets, links, "lio", GROUP)
    volume = make_volume(array[0], paths=links, policy="failover", fence="auto",
                         recovery_timeout_ms=-1, path={**PATH, "immediate_data": "No"})
    size = 8 * KIB      # A slow link is not given more at a time.
    older, newer = noise(size, "older"), noise(size, "newer")
    with Direct(volume.enable()) as disk:
        volume.wait_proven()
        with (network.delayed_from_target(links[0], 2),
              data_in_the_queue(disk, volume, links[0], older) as writer):
            killed(links[0], network.ISCSI_PORT)
            writer.finish()
            disk.write(AT, newer)
            same(content(AT, size), newer, "the data on the disk")
            # Not what follows them: the path logs in again and again.
            assert network.queued_bytes(links[0]) > size, "they came too early"
            wait_for("the data to come", lambda: network.queued_bytes(links[0]) < size, 60)
            time.sleep(1)
            same(content(AT, size), newer, "the data on the disk")
        wait_for("both paths", lambda: state(volume) == "live", 60)
        same(disk.read(AT, size), newer, "what is read")
    volume.disable()
