# SPDX-License-Identifier: GPL-2.0
"""Lost writes whose pages the network stack still has: who waits for it, and who does not."""

import contextlib
import re
import threading
from pathlib import Path

import pytest

from lab import network
from lab.disk import Direct, noise
from lab.ghost import (
    KIB,
    PATIENT,
    Write,
    held_write,
    lose_with_data_in_the_queue,
    release,
    state,
    volume_over,
)
from lab.shell import read, wait_for, write
from lab.tracing import traced
from scripted.ghost import hold
from scripted.scenario import HONEST, Scenario
from scripted.scsi import BUSY, WRITE_16, Result


@contextlib.contextmanager
def slow_queue(link):
    """What is sent over this link waits for nine seconds, less than the driver waits for it.

    Yields what has become of the connections of the volume's first path, in order: "login", "free".
    With "free" all segments with data are gone.
    """
    def seen(volume):
        return ["free" if free else "login" for free in re.findall(
            rf" (?:istripe_login: {volume.name}/0/0 |{volume.name}/0/0 connection \S+ -> (free))",
            trace())]

    with (traced("istripe/istripe_state", "istripe/istripe_login") as trace,
          network.delayed(link, 9)):
        yield seen


def test_goes_on_while_the_stack_has_its_pages(server, make_volume, links):
    """The target takes nothing more from that connection: nobody waits for the dead link."""
    # The login ends before the queue lets go.
    volume = volume_over(make_volume, links, (server.port,) * 2, server.load(HONEST), fence="auto",
                         path={**PATIENT, "login_timeout_ms": 3000})
    with Direct(volume.enable()) as disk:
        volume.wait_proven()
        with slow_queue(links[0]) as seen:
            writer = lose_with_data_in_the_queue(
                volume, links[0], server.port, lambda: Write(disk, 64 * KIB, noise(4 * KIB, 1)))
            writer.finish()
            wait_for("the end of both", lambda: seen(volume).count("free") >= 2, 60)
            assert seen(volume)[0] == "login"
    wait_for("both paths", lambda: state(volume) == "live", 60)


@pytest.mark.allow_log("error(,| on) dev istripe|may still carry",
                       "the volume goes down while a write waits")
def test_fails_when_the_stack_has_no_pages(server, make_volume, links):
    """Its owner may change them then. No other path is live: nothing waits for the last writes."""
    volume = volume_over(make_volume, links[:1], [server.port], server.load(HONEST), path=PATIENT,
                         fence="auto")
    with Direct(volume.enable()) as disk, slow_queue(links[0]) as seen:
        writer = lose_with_data_in_the_queue(
            volume, links[0], server.port, lambda: Write(disk, 64 * KIB, noise(4 * KIB, 1)))
        wait_for("the loss", lambda: state(volume) == "waiting", 30)
        down = threading.Thread(target=volume.force_down)
        down.start()
        writer.join(60)
        assert "free" in seen(volume)
        assert not writer.is_alive() and not writer.good
        down.join(60)


def refuse_in_the_queue(server, target, volume, conn, task):
    """The target is busy for a write when it has asked for its data, which are on their way."""
    place = volume.path_sysfs() / "connections" / "0"
    before = int(read(place / "bytes_sent"))
    server.call(target.r2t(conn, task, 0, task.edtl))
    wait_for("the data", lambda: int(read(place / "bytes_sent")) > before + task.edtl, step_s=0.01)
    server.call(target.scsi_response(conn, task, Result(BUSY), (2, task.edtl)))
    wait_for("the answer", lambda: read(place / "commands_in_flight") == "1", step_s=0.01)


def test_an_answered_write_follows_the_fence(server, make_volume, links, kernel_log):
    """The target was busy for it, and TCP has its data until the fence is over: there is another one.

    The path's own way is too slow for a login.
    """
    tasks = []

    async def on_command(run, conn, task):
        if not run.hits or tasks or task.opcode != WRITE_16:
            return await hold(run, conn, task)
        tasks.append((conn, task))
        return True

    target = server.load(Scenario("ghost", hooks={"on_command": on_command}))
    volume = volume_over(make_volume, links, (server.port,) * 2, target, fence="auto",
                         path={**PATIENT, "login_timeout_ms": 120000, "immediate_data": "No",
                               "initial_r2t": "Yes"})
    with Direct(volume.enable()) as disk:
        volume.wait_proven()
        server.arm()
        lost = volume.path_sysfs(0, 0)
        reconnects = read(lost / "reconnects")
        writer = held_write(disk, target, noise(4 * KIB, 1))
        refused = Write(disk, 256 * KIB, noise(4 * KIB, 2))
        conn, task = wait_for("the other write", lambda: tasks)[0]
        with network.delayed(links[0], 9):
            lose_with_data_in_the_queue(
                volume, links[0], server.port,
                lambda: refuse_in_the_queue(server, target, volume, conn, task))
            writer.finish()
            refused.finish()
            wait_for("both fences", lambda: len(
                kernel_log.matching("the old session is ended through")) == 2, 60)
            assert read(lost / "ghost_writes") == "0"
            assert read(lost / "reconnects") == reconnects
        release(server, target)


@contextlib.contextmanager
def mtu_probing(mode):
    """Of connections that begin from now on, also over IPv6."""
    setting = Path("/proc/sys/net/ipv4/tcp_mtu_probing")
    before = read(setting)
    write(setting, mode)
    try:
        yield
    finally:
        write(setting, before)


@pytest.mark.parametrize("mode", [1, 2], ids=["when silent", "always"])
def test_goes_on_where_tcp_probes(make_server, make_volume, links, mode):
    """TCP may have probed for the path's MTU, but has not: nobody waits for the link that is silent.

    The paths lead to two portal groups, so no other one can end the lost session. With 1 TCP begins to
    probe after some seconds of silence.
    """
    servers = [make_server(), make_server()]
    targets = [servers[0].load(Scenario("ghost", hooks={"on_command": hold})),
               servers[1].load(Scenario("another group", settings={"tpgt": 2}))]
    targets[1].disk = targets[0].disk
    with mtu_probing(mode):
        volume = volume_over(make_volume, links, [server.port for server in servers], targets[0],
                             fence="auto", path={"default_time2wait": 0, "login_timeout_ms": 5000,
                                                 "ping_interval_ms": 5000, "ping_timeout_ms": 5000})
        with Direct(volume.enable()) as disk:
            lost = volume.path_sysfs(0, 0)
            wait_for("the search for a fence to end", lambda: read(lost / "unproven"), 60)
            servers[0].arm()
            writer = held_write(disk, targets[0], noise(4 * KIB, 1))
            try:
                with network.silent(links[0]):
                    writer.finish()
                    assert read(lost / "ghost_writes") == "1"
                    assert read(lost / "waiting_writes") == "0"
            finally:
                release(servers[0], targets[0])
            wait_for("both paths", lambda: state(volume) == "live", 60)
        volume.disable()
