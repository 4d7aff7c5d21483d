# SPDX-License-Identifier: GPL-2.0
"""A login that is refused: tried again slowly, at once when something changes, in time for I/O."""

import errno
import time

import pytest

from lab import network
from lab.disk import Direct, noise, same
from lab.ghost import KIB, Write, held_write, killed, path_state, state, volume_over
from lab.istripe import EnableError
from lab.shell import read, wait_for, write
from scripted.ghost import hold
from scripted.scenario import Scenario
from scripted.scsi import Disk
from scripted.steps import refuse

#: Other failures are repeated each second.
PATH = {"default_time2wait": 0, "login_timeout_ms": 10000, "login_retry_max_ms": 1000,
        "ping_interval_ms": 2000, "ping_timeout_ms": 5000}
WRONG_SECRET, FORBIDDEN, TOO_MANY = 0x0201, 0x0202, 0x0206
#: A port at which nobody listens.
CLOSED = 1
#: The wait doubles, from 200 ms on: so many attempts take that long, the next comes 22 s later.
LONG_ATTEMPTS, LONG_S = 8, 21
AT_ONCE_S = 16
#: So many only the normal rate makes within this time.
MANY_S, MANY_ATTEMPTS = 45, 11
WITHIN_S = 60
USER, SECRET, OTHER = "initiator", "a-secret-of-20-bytes", "another-one-20-bytes"
CHAP = {"chap_user": USER, "chap_secret": SECRET}


def scenario(status, armed=False):
    return Scenario("refuses", hooks=refuse(status), times=10000, armed=armed)


def two_paths(make_volume, links, servers, *scenarios):
    targets = [server.load(each) for server, each in zip(servers, scenarios)]
    targets[1].disk = targets[0].disk
    ports = [server.port for server in servers]
    volume = volume_over(make_volume, links, ports, targets[0], path=PATH, fence="path")
    return volume, targets


def path_error(volume, path=0):
    return read(volume.path_sysfs(0, path) / "last_error")


def lose(server):
    """Its connections break, and it refuses logins from now on."""
    server.arm()
    wait_for("a connection to break", lambda: network.kill_connections(port=server.port))


def forgive(server):
    server.target.run.armed = False


def wait_live(volume, path=0, timeout_s=AT_ONCE_S):
    wait_for(f"path {path} to be live", lambda: path_state(volume, path) == "live", timeout_s)


def refused_for_long(volume, server):
    """Path 0 is refused, and its next login is seconds away."""
    start = time.monotonic()
    lose(server)
    wait_for("some attempts", lambda: server.attempts() == LONG_ATTEMPTS, 60)
    assert time.monotonic() - start > LONG_S
    wait_for("the refusal", lambda: path_state(volume) == "refused", AT_ONCE_S)


def test_what_may_pass_is_the_error_of_enable(make_volume, links, servers):
    """One path has a wrong secret, the other one's port is not open yet: it is worth another try."""
    target = servers[0].load(scenario(WRONG_SECRET, armed=True))
    for ports in ((servers[0].port, CLOSED), (CLOSED, servers[0].port)):
        volume = volume_over(make_volume, links, ports, target, path=PATH)
        with pytest.raises(EnableError) as failed:
            volume.enable()
        assert failed.value.number == errno.ECONNREFUSED
        volume.delete()


def test_slowly_and_the_other_path_goes_on(make_volume, links, servers, kernel_log):
    volume, _ = two_paths(make_volume, links, servers, scenario(FORBIDDEN), scenario(FORBIDDEN))
    with Direct(volume.enable()) as disk:
        refused_for_long(volume, servers[0])
        assert "login status 0202); refused" in path_error(volume)
        assert len(kernel_log.matching(f"{volume.name}/0/0: login: .*refused")) == 1
        assert state(volume) == "degraded" and path_state(volume, 1) == "live"
        disk.write(0, noise(64 * KIB, 1))
        same(disk.read(0, 64 * KIB), noise(64 * KIB, 1), "what was read")
        forgive(servers[0])
        volume.rescan()
        wait_live(volume)


def test_what_may_pass_is_tried_at_the_normal_rate(make_volume, links, servers):
    """Too many connections: others may end theirs."""
    volume, _ = two_paths(make_volume, links, servers, scenario(TOO_MANY), scenario(TOO_MANY))
    volume.enable()
    lose(servers[0])
    wait_for("many attempts", lambda: servers[0].attempts() >= MANY_ATTEMPTS, MANY_S)
    assert path_state(volume) in ("backoff", "connecting")
    forgive(servers[0])
    wait_live(volume)


def test_at_once_when_the_last_live_path_is_lost(make_volume, links, servers):
    volume, _ = two_paths(make_volume, links, servers, scenario(FORBIDDEN), scenario(FORBIDDEN))
    with Direct(volume.enable()) as disk:
        refused_for_long(volume, servers[0])
        forgive(servers[0])
        lose(servers[1])
        wait_live(volume)
        disk.read(0, 4 * KIB)


def test_at_once_when_the_link_is_back(make_volume, links, servers):
    volume, _ = two_paths(make_volume, links, servers, scenario(FORBIDDEN), scenario(FORBIDDEN))
    volume.enable()
    refused_for_long(volume, servers[0])
    forgive(servers[0])
    links[0].set_up(False)
    links[0].set_up(True)
    wait_live(volume)


def test_at_the_normal_rate_until_io_fails(make_volume, links, servers):
    """I/O waits for the only path: as often as after other failures, while it waits."""
    target = servers[0].load(scenario(FORBIDDEN))
    volume = volume_over(make_volume, links[:1], [servers[0].port], target, path=PATH,
                         recovery_timeout_ms=60000)
    with Direct(volume.enable()) as disk:
        lose(servers[0])
        wait_for("many attempts", lambda: servers[0].attempts() >= MANY_ATTEMPTS, MANY_S)
        assert path_state(volume) in ("refused", "connecting")
        forgive(servers[0])
        disk.read(0, 4 * KIB)


def test_writes_that_wait_say_so(make_volume, links, servers):
    """And go on when the target lets the path in again; nobody tells us so."""
    holds = Scenario("holds", hooks={"on_command": hold}, armed=True)
    volume, targets = two_paths(make_volume, links, servers, holds, scenario(FORBIDDEN))
    with Direct(volume.enable()) as disk:
        writer = held_write(disk, targets[0], noise(4 * KIB, 1))
        servers[0].load(scenario(FORBIDDEN, armed=True)).disk = targets[0].disk
        wait_for("the reason", lambda: path_error(volume).endswith(
            "refused, and writes wait for it"), 20)
        assert writer.is_alive()
        forgive(servers[0])
        writer.finish(WITHIN_S)
        wait_live(volume)


def test_another_lun_answers_for_a_while(make_volume, links, servers, kernel_log):
    """Its path gets no I/O, and is used again when the LUN is back; nobody has to say so."""
    volume, targets = two_paths(make_volume, links, servers, Scenario("one"), Scenario("two"))
    with Direct(volume.enable()) as disk:
        own, other = targets[0].disk, Disk(identity="6001405" + "b" * 25)
        targets[0].disk = other
        wait_for("a connection to break", lambda: network.kill_connections(port=servers[0].port))
        wait_for("the refusal", lambda: path_state(volume) == "refused", 20)
        assert path_error(volume).endswith("path not used; refused, and tried again slowly")
        before = volume.reconnects()
        disk.write(0, noise(64 * KIB, 1))
        same(disk.read(0, 64 * KIB), noise(64 * KIB, 1), "what was read")
        assert other.data == bytes(len(other.data))
        assert volume.reconnects() == before
        assert len(kernel_log.matching(f"{volume.name}/0/0: .*path not used")) == 1
        targets[0].disk = own
        wait_live(volume, 0, WITHIN_S)


def test_the_only_path_takes_less_for_a_while(make_volume, link, server):
    """Its I/O waits, and goes on when the LUN takes as long commands as before; nobody has to say so."""
    target = server.load(Scenario("less"))
    volume = make_volume(target, metadata="none", recovery_timeout_ms=-1,
                         path={**PATH, "portal": f"{link.address}:{server.port}"})
    with Direct(volume.enable()) as disk:
        target.disk.max_transfer = 1024
        lose(server)
        wait_for("the refusal", lambda: path_state(volume) == "refused", 20)
        assert "leg 0 takes longer commands" in path_error(volume)
        assert path_error(volume).endswith("refused, and tried again slowly")
        writer = Write(disk, 0, noise(64 * KIB, 1))
        time.sleep(2)
        assert writer.is_alive() and not any(target.disk.data)
        target.disk.max_transfer = 0
        writer.finish(WITHIN_S)
        wait_live(volume)
        same(disk.read(0, 64 * KIB), noise(64 * KIB, 1), "what was read")


def test_one_path_has_taken_less(make_volume, links, servers):
    """It gets no I/O, and serves when the LUN is as it was and the other path is lost."""
    volume, targets = two_paths(make_volume, links, servers, scenario(FORBIDDEN), Scenario("less"))
    targets[1].disk = Disk()
    targets[1].disk.data = targets[0].disk.data
    with Direct(volume.enable()) as disk:
        targets[1].disk.max_transfer = 1024
        lose(servers[1])
        wait_for("the refusal", lambda: path_state(volume, 1) == "refused", 20)
        disk.write(0, noise(64 * KIB, 1))
        assert path_state(volume, 1) != "live"
        targets[1].disk.max_transfer = 0
        lose(servers[0])
        disk.write(64 * KIB, noise(64 * KIB, 2))
        for at in range(2):
            same(disk.read(at * 64 * KIB, 64 * KIB), noise(64 * KIB, at + 1), "what was read")
        assert path_state(volume, 0) != "live" and path_state(volume, 1) == "live"


def set_secret(target, secret):
    write(target.tpg / "auth" / "password", secret, end="")


def test_a_wrong_secret_on_one_path(make_lio, make_volume, links):
    """It harms no other path, and is corrected while the volume is up."""
    target = make_lio(all_links=True, chap=(USER, SECRET))
    volume = make_volume(target, paths=links, path={**PATH, **CHAP})
    path = volume.leg / "paths" / "1"
    write(path / "chap_secret", OTHER)
    with Direct(volume.enable()) as disk:
        wait_for("the refusal", lambda: path_state(volume, 1) == "refused", 20)
        assert "authentication failed" in path_error(volume, 1)
        assert state(volume) == "degraded" and volume.state() == "live"
        disk.write(0, noise(64 * KIB, 1))
        write(path / "enable", 0)
        write(path / "chap_secret", SECRET)
        write(path / "enable", 1)
        assert path_state(volume, 1) == "live"
        same(disk.read(0, 64 * KIB), noise(64 * KIB, 1), "what was read")


def test_the_target_changes_the_secret(make_lio, make_volume, links):
    """All paths are refused; when it takes the change back, they are live again within a minute."""
    target = make_lio(all_links=True, chap=(USER, SECRET))
    volume = make_volume(target, paths=links, path={**PATH, **CHAP}, recovery_timeout_ms=-1)
    with Direct(volume.enable()) as disk:
        set_secret(target, OTHER)
        for link in links:
            killed(link, network.ISCSI_PORT)
        for path in range(2):
            wait_for("the refusal", lambda path=path: path_state(volume, path) == "refused", 20)
        assert state(volume) == "waiting"
        time.sleep(5)
        set_secret(target, SECRET)
        disk.read(0, 4 * KIB)
        for path in range(2):
            wait_live(volume, path, WITHIN_S)
