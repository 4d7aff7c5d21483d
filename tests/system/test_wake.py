# SPDX-License-Identifier: GPL-2.0
"""A path that waits to log in: what wakes it, and how long it waits while its leg serves nothing."""

import asyncio
import contextlib
import subprocess
import time
from pathlib import Path

import pytest

from lab import network
from lab.ghost import killed, volume_over
from lab.shell import LabError, read, run, wait_for, write
from scripted.scenario import Scenario
from scripted.steps import login_step, refuse

MIB = 1 << 20
PATH = {"default_time2wait": 0, "login_timeout_ms": 15000, "login_retry_max_ms": 600000,
        "ping_interval_ms": 2000, "ping_timeout_ms": 5000}
FORBIDDEN, TOO_MANY = 0x0202, 0x0206
#: The wait doubles from 200 ms on: an attempt after 22 to 29 s, the next one after 44 s or more.
ASLEEP_S, ASLEEP_ATTEMPTS = 30, 8
SOON_S = 10
#: So many in this time only if the wait stays below 2 s, and all that were before have been woken.
BUSY_S, BUSY_ATTEMPTS = 30, 9
FLAPS = 60
#: From the link to the address: the path has tried meanwhile.
ADDRESS_S = 0.3


def state(volume, path=0):
    return read(volume.path_sysfs(0, path) / "state")


def wait_live(volume, path=0, timeout_s=SOON_S):
    wait_for(f"path {path} to be live", lambda: state(volume, path) == "live", timeout_s)


def take_address(link):
    run("ip", "addr", "del", f"{link.source}/24", "dev", link.nic)


def give_address(link):
    run("ip", "addr", "replace", f"{link.source}/24", "dev", link.nic)


@contextlib.contextmanager
def no_address(link):
    take_address(link)
    try:
        killed(link, network.ISCSI_PORT)
        yield
    finally:
        give_address(link)


@contextlib.contextmanager
def no_route(link):
    route = (f"10.55.{link.index}.0/24", "dev", link.nic, "src", link.source)
    run("ip", "route", "del", *route)
    try:
        killed(link, network.ISCSI_PORT)
        yield
    finally:
        run("ip", "route", "add", *route, "proto", "kernel", "scope", "link")


@contextlib.contextmanager
def withdrawn(link, kind, *words):
    """Meanwhile the host has a route or rule that leads nowhere."""
    run("ip", kind, "add", *words)
    try:
        killed(link, network.ISCSI_PORT)
        yield
    finally:
        run("ip", kind, "del", *words)


def blackhole(link):
    return withdrawn(link, "route", "blackhole", f"{link.address}/32")


def prohibited(link):
    return withdrawn(link, "rule", "to", f"{link.address}/32", "prohibit")


#: A path with a nic needs no route: the kernel takes the portal for a neighbour of the NIC.
ANY_NIC = ({"nic": ""},)


@pytest.mark.parametrize("without, paths", [(network.down, ({}, *ANY_NIC)),
                                            (no_address, ({}, *ANY_NIC)),
                                            (no_route, ANY_NIC), (blackhole, ANY_NIC),
                                            (prohibited, ANY_NIC)],
                         ids=["no_link", "no_address", "no_route", "blackhole", "prohibited"])
def test_at_once_when_it_is_back(make_lio, make_volume, links, without, paths):
    """The other path is live, so nothing is urgent."""
    target = make_lio(16 * MIB, 16 * MIB, all_links=True, params={"DefaultTime2Wait": 0})
    volumes = [make_volume(target, paths=links,
                           path={**PATH, "lun": target.lun_number(lun), **path})
               for lun, path in enumerate(paths)]
    for volume in volumes:
        volume.enable()
    with without(links[0]):
        for volume in volumes:
            wait_for("the loss", lambda volume=volume: state(volume) == "backoff", 20)
        time.sleep(ASLEEP_S)
        # An attempt may be under way just now.
        wait_for("the back-off", lambda: {state(volume) for volume in volumes} == {"backoff"}, 10)
    for volume in volumes:
        wait_live(volume)
        assert state(volume, 1) == "live"


def local_address(volume, path):
    return read(volume.path_sysfs(0, path) / "connections" / "0" / "local_address")


def connected_from(volume, path):
    """The address, without the port."""
    return local_address(volume, path).rsplit(":", 1)[0].strip("[]")


def port_of(volume, path):
    return int(local_address(volume, path).rsplit(":", 1)[1])


def lose_link_and_address(volume, link, path):
    link.set_up(False)
    take_address(link)
    wait_for("the loss", lambda: state(volume, path) == "backoff", 20)


def link_then_address(volume, link, path):
    """As DHCP does it: the link wakes the path before the NIC has an address."""
    link.set_up(True)
    time.sleep(ADDRESS_S)
    give_address(link)
    wait_live(volume, path)
    assert connected_from(volume, path) == link.source


def lose_link_and_address6(volume, link, path):
    """The kernel takes the addresses of IPv6 away with the link."""
    link.set_up(False)
    wait_for("the loss", lambda: state(volume, path) == "backoff", 20)


def link_then_address6(volume, link, path):
    """The kernel asks for a second or two whether another host has the address; its route is there."""
    run("ip", "link", "set", link.nic, "up")
    run("ip", "addr", "add", f"{link.source6}/64", "dev", link.nic)
    wait_live(volume, path)
    assert connected_from(volume, path) == link.source6


@pytest.mark.parametrize("lose_both, give_both, ipv6", [
    (lose_link_and_address, link_then_address, False),
    (lose_link_and_address6, link_then_address6, True)], ids=["ipv4", "ipv6"])
def test_the_link_comes_before_the_address(make_lio, make_volume, links, lose_both, give_both, ipv6):
    """With the address of the other NIC it would wait for answers that go there."""
    target = make_lio(16 * MIB, all_links=True, params={"DefaultTime2Wait": 0})
    volume = make_volume(target, paths=links, ipv6=ipv6, path={**PATH, "lun": target.lun_number(0)})
    volume.enable()
    try:
        lose_both(volume, links[0], 0)
        give_both(volume, links[0], 0)
    finally:
        links[0].set_up(True)
        give_address(links[0])
    assert state(volume, 1) == "live"


def answer_for_own_addresses(nic):
    """It asks with them, too. Returns what was set before."""
    files = {Path(f"/proc/sys/net/ipv4/conf/{nic}/{name}"): value
             for name, value in (("arp_ignore", 1), ("arp_announce", 2), ("rp_filter", 2))}
    before = {file: read(file) for file in files}
    for file, value in files.items():
        write(file, value)
    return before


def make_beside(other, link):
    run("ip", "link", "add", other.nic, "link", link.nic, "type", "macvlan", "mode", "bridge")
    answer_for_own_addresses(other.nic)
    give_address(other)
    other.set_up(True)


def take_away(link):
    run("ip", "link", "del", link.nic, check=False)


@pytest.fixture
def beside(links):
    """Another NIC in the network of the first link, at the same switch."""
    other = network.Link(0)
    other.nic, other.source = "beside", "10.55.0.3"
    other.source6 = "fd55::3"
    before = answer_for_own_addresses(links[0].nic)
    make_beside(other, links[0])
    yield other
    take_away(other)
    for file, value in before.items():
        write(file, value)


def test_the_link_comes_before_the_address_of_the_same_network(make_volume, links, beside,
                                                               make_server):
    """The target would look for the address of the first NIC at the second one from then on."""
    server = make_server()
    target = server.load(Scenario("serves"))
    volume = volume_over(make_volume, [links[0], beside], [server.port] * 2, target,
                         path={**PATH, "ping_interval_ms": 300}, fence="path")
    volume.enable()
    wait_live(volume, 1)
    for _ in range(2):
        lose_link_and_address(volume, beside, 1)
        link_then_address(volume, beside, 1)
    time.sleep(PATH["ping_timeout_ms"] / 1000 + 2)
    assert connected_from(volume, 0) == links[0].source
    assert read(volume.path_sysfs(0, 0) / "faults") == "0"


#: Nothing but the NIC itself tells of its end before the test has failed.
DEAF = {**PATH, "login_timeout_ms": 120000, "ping_interval_ms": 60000, "ping_timeout_ms": 60000}


def test_the_only_nic_is_made_anew(make_lio, make_volume, links, beside, kernel_log):
    """The socket is bound to the number of the one that is gone. TCP would send for a quarter of an hour.

    Sessions over other NICs are left alone, then and when a volume no longer listens.
    """
    target = make_lio(16 * MIB, 16 * MIB, 16 * MIB, all_links=True, params={"DefaultTime2Wait": 0})
    other, stopped, volume = [
        make_volume(target, paths=[link], path={**DEAF, "lun": target.lun_number(lun)})
        for lun, link in enumerate((links[0], links[0], beside))]
    other.enable()
    stopped.enable()
    device = volume.enable()
    take_away(beside)
    reader = subprocess.Popen(("dd", f"if={device}", "of=/dev/null", "iflag=direct", "bs=4k",
                               "count=16"), stderr=subprocess.DEVNULL)
    wait_for("the loss", lambda: state(volume) != "live", 20)
    make_beside(beside, links[0])
    assert reader.wait(timeout=40) == 0
    wait_live(volume)
    stopped.disable()
    assert len(kernel_log.matching("istripe: .*the NIC is gone")) == 1
    assert read(other.path_sysfs(0, 0) / "faults") == "0"


def test_the_nic_is_made_anew_during_a_login(make_lio, make_volume, links, beside):
    """Nobody answers it, and it has two minutes."""
    target = make_lio(16 * MIB, all_links=True, params={"DefaultTime2Wait": 0})
    volume = make_volume(target, paths=[beside], path={**DEAF, "lun": target.lun_number(0)})
    volume.enable()
    with network.mute(links[0]):
        killed(beside, network.ISCSI_PORT)
        wait_for("a login", lambda: state(volume) == "connecting", 20)
        take_away(beside)
        wait_for("its end", lambda: state(volume) == "backoff", 20)
    make_beside(beside, links[0])
    wait_live(volume, timeout_s=40)


def test_at_once_by_another_name(make_lio, make_volume, links):
    """The kernel takes any name of an interface."""
    target = make_lio(16 * MIB, all_links=True, params={"DefaultTime2Wait": 0})
    volume = make_volume(target, paths=links, path={**PATH, "lun": target.lun_number(0)})
    run("ip", "link", "property", "add", "dev", links[0].nic, "altname", "enp3s0f0")
    try:
        write(volume.path / "nic", "enp3s0f0")
        volume.enable()
        with network.down(links[0]):
            wait_for("the loss", lambda: state(volume) == "backoff", 20)
            time.sleep(ASLEEP_S)
            wait_for("the back-off", lambda: state(volume) == "backoff", 10)
        wait_live(volume)
    finally:
        run("ip", "link", "property", "del", "dev", links[0].nic, "altname", "enp3s0f0")


def rename(old, new):
    run("ip", "link", "set", old, "name", new)


def test_at_once_when_a_nic_gets_the_name(make_lio, make_volume, links, beside):
    """It is up, and has its address, before udev gives it the name that the path has."""
    target = make_lio(16 * MIB, all_links=True, params={"DefaultTime2Wait": 0})
    volume = make_volume(target, paths=[links[0], beside],
                         path={**PATH, "lun": target.lun_number(0)})
    volume.enable()
    try:
        rename(beside.nic, "early")
    except LabError as error:
        if "busy" not in str(error):
            raise
        pytest.skip("this kernel renames none that is up")
    try:
        network.kill_connections(source_ports={port_of(volume, 1)})
        wait_for("the loss", lambda: state(volume, 1) == "backoff", 20)
        wait_for("a long wait", lambda: logins(volume, 1)[0] > 2000 * SOON_S, 120)
    finally:
        rename("early", beside.nic)
    wait_live(volume, 1)


@contextlib.contextmanager
def in_vrf(link):
    """The NIC is a port of a VRF. It has no address of IPv4: routes of IPv4 tell of a carrier, too."""
    take_address(link)
    run("ip", "link", "add", "vrf0", "up", "type", "vrf", "table", "55")
    try:
        run("ip", "link", "set", link.nic, "master", "vrf0")
        # It was taken down and up.
        run("ip", "addr", "replace", f"{link.source6}/64", "dev", link.nic, "nodad")
        yield "vrf0"
    finally:
        run("ip", "link", "del", "vrf0")
        link.set_up(True)
        give_address(link)


def test_at_once_when_the_port_of_a_vrf_is_back(make_lio, make_volume, links):
    """The VRF itself was up all the time."""
    target = make_lio(16 * MIB, all_links=True, params={"DefaultTime2Wait": 0})
    volume = make_volume(target, paths=links, ipv6=True, path={**PATH, "lun": target.lun_number(0)})
    with in_vrf(links[0]) as vrf:
        write(volume.path / "nic", vrf)
        volume.enable()
        with network.peer_down(links[0]):
            wait_for("the loss", lambda: state(volume) == "backoff", 20)
            wait_for("a long wait", lambda: logins(volume)[0] > 2000 * SOON_S, 120)
        wait_live(volume)
        volume.disable()


def refusing(make_volume, links, servers, hooks, **path):
    """A volume whose paths are refused when their server is armed."""
    targets = [server.load(Scenario("refuses", hooks=hooks, times=10000)) for server in servers]
    for target in targets[1:]:
        target.disk = targets[0].disk
    return volume_over(make_volume, links[:len(servers)], [server.port for server in servers],
                       targets[0], path={**PATH, **path}, fence="path")


def lose(link, server):
    server.arm()
    killed(link, server.port)


def asleep(link, server):
    """The path over this link has lost its session, and its next login is 20 s away."""
    lose(link, server)
    wait_for("some attempts", lambda: server.attempts() == ASLEEP_ATTEMPTS, 60)


def test_a_leg_that_serves_nothing(make_volume, links, servers):
    """With its last live path its other paths wake, and all of them are tried often from then on."""
    volume = refusing(make_volume, links, servers, refuse(TOO_MANY))
    volume.enable()
    asleep(links[0], servers[0])
    before = servers[0].attempts()
    lose(links[1], servers[1])
    for server, first in zip(servers, (before, 0)):
        wait_for("many attempts", lambda server=server, first=first:
                 server.attempts() >= first + BUSY_ATTEMPTS, BUSY_S)
    for server in servers:
        server.target.run.armed = False
    for path in range(2):
        wait_live(volume, path, 30)


def test_woken_while_it_is_being_refused(make_volume, links, servers):
    """The attempt has failed already, in the target; the next one has not."""
    async def held(run, conn, pdu):
        if run.hits > ASLEEP_ATTEMPTS - 1:
            run.memory["event"] = asyncio.Event()
            await run.memory["event"].wait()
        await conn.refuse(pdu, FORBIDDEN)

    volume = refusing(make_volume, links, servers, login_step(held))
    volume.enable()
    server = servers[0]
    asleep(links[0], server)
    memory = server.target.run.memory
    event = wait_for("the login", lambda: memory.get("event"))
    assert state(volume) == "connecting"
    write(volume.config / "recovery_timeout_ms", -1)
    server.target.run.armed = False
    server.loop.call_soon_threadsafe(event.set)
    wait_live(volume, timeout_s=20)


def logins(volume, path=0):
    """In how many ms the next one begins, and how many have failed since there was a session."""
    names = ("next_login_ms", "login_failures")
    return [int(read(volume.path_sysfs(0, path) / name)) for name in names]


def test_it_is_told_when_the_next_login_comes(make_volume, links, servers):
    """The sixth wait is of 5.6 s at least."""
    volume = refusing(make_volume, links, servers, refuse(TOO_MANY))
    volume.enable()
    assert logins(volume) == [0, 0]
    lose(links[0], servers[0])
    wait_for("some attempts", lambda: logins(volume)[1] >= 6, 60, step_s=0.01)
    next_ms = wait_for("the back-off", lambda: next((ms for ms in logins(volume)[:1] if ms > 1000), 0),
                       60, step_s=0.01)
    assert next_ms < 60000
    wait_for("it to count down", lambda: 0 < logins(volume)[0] < next_ms, 60)
    assert logins(volume, 1) == [0, 0]
    servers[0].target.run.armed = False
    write(volume.config / "recovery_timeout_ms", -1)
    wait_live(volume)
    assert logins(volume) == [0, 0]


def test_a_shorter_wait_counts_at_once(make_volume, links, servers):
    """It is written while the path waits for longer than that."""
    volume = refusing(make_volume, links, servers, refuse(TOO_MANY))
    volume.enable()
    lose(links[0], servers[0])
    wait_for("a long wait", lambda: logins(volume)[0] > 2000 * SOON_S // 2, 120)
    servers[0].target.run.armed = False
    write(volume.path / "login_retry_max_ms", 1000)
    wait_live(volume, timeout_s=SOON_S // 2)


@contextlib.contextmanager
def other_nic():
    """flap(times): it comes up, without an address or a route, and goes again."""
    run("ip", "link", "add", "flap", "type", "dummy")
    write("/proc/sys/net/ipv6/conf/flap/disable_ipv6", 1)

    def flap(times):
        lines = ("link set flap up", "link set flap down") * times
        run("ip", "-batch", "-", text_in="\n".join(lines) + "\n")

    try:
        yield flap
    finally:
        run("ip", "link", "del", "flap")


def test_a_link_that_flaps(make_volume, links, servers):
    """It may wake paths that name no NIC, but not as often as it comes up."""
    volume = refusing(make_volume, links, servers, refuse(TOO_MANY), nic="")
    volume.enable()
    asleep(links[0], servers[0])
    before, begun, flaps = servers[0].attempts(), time.monotonic(), 0
    with other_nic() as flap:
        while flaps < FLAPS or time.monotonic() < begun + 8:
            flap(10)
            flaps += 10
        tried = servers[0].attempts() - before
        seconds = time.monotonic() - begun
    # A second has one that is woken, and at most two of the back-off that begins anew. On a busy
    # machine they take longer; not woken there would be one in all.
    assert max(3, seconds / 4) <= tried <= 3 * seconds + 2, (flaps, seconds)
