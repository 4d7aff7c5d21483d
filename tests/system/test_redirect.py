# SPDX-License-Identifier: GPL-2.0
"""Login redirection (status 0101 and 0102): followed, but not for ever, nor to another group."""

import errno
import itertools

import pytest

from lab import lio, network, tgt
from lab.connections import log_in_again
from lab.disk import Direct, noise, same
from lab.ghost import (
    AT,
    ISIDS,
    Write,
    held_write,
    release,
    set_isids,
    state,
    volume_over,
)
from lab.istripe import EnableError
from lab.names import StuckHelper
from lab.shell import clock, read, status, wait_for, write
from scripted import keys
from scripted.ghost import hold, keep
from scripted.scenario import HONEST, Scenario
from scripted.scsi import READ_16, WRITE_16

KIB, MIB = 1 << 10, 1 << 20
SECRET = b"a-secret-of-20-bytes"


@pytest.mark.parametrize("reason", ["Temporary", "Permanent"])
@pytest.mark.parametrize("version", [4, 6])
def test_redirect_is_followed(targets, links, make_volume, kernel_log, reason, version):
    """tgtd on one link sends us to LIO on the other one; both know the target by one name."""
    name = "iqn.2024-01.org.example.istripe:moved"
    there = links[1].address6 if version == 6 else links[1].address
    targets(lio.Target([(there, network.ISCSI_PORT)], [lio.Lun(16 * MIB)], iqn=name))
    here = targets(tgt.Target([(links[0].address, network.ISCSI_PORT)], [tgt.Lun(8 * MIB)],
                              iqn=name))
    here.update(RedirectAddress=f"[{there}]" if version == 6 else there,
                RedirectPort=network.ISCSI_PORT, RedirectReason=reason)
    volume = make_volume(here, path={"lun": 0})
    volume.enable()
    assert volume.size_bytes() == 16 * MIB
    assert any("the target redirects to" in line for line in kernel_log.read())


def test_redirect_in_a_circle(targets, link, make_volume):
    """A target that sends us to itself is given up after a few hops, with a reason."""
    target = targets(tgt.Target([(link.address, network.ISCSI_PORT)], [tgt.Lun(8 * MIB)]))
    target.update(RedirectAddress=link.address, RedirectPort=network.ISCSI_PORT,
                  RedirectReason="Temporary")
    volume = make_volume(target)
    with pytest.raises(EnableError, match="redirects more than") as failure:
        volume.enable()
    assert failure.value.number


@pytest.mark.parametrize("version", [4, 6])
def test_redirect_with_several_addresses(make_server, make_volume, link, version):
    """The first address counts that can be had from the path's own: no name, no other family."""
    own, other = link.address, f"[{link.address6}]"
    if version == 6:
        own, other = other, own
    balancer, server = [make_server("::" if version == 6 else "0.0.0.0") for _ in range(2)]
    addresses = ["target.example:3260", f"{own}:0", f"{other}:{server.port},1",
                 f"{own}:{server.port},1", f"{own}:1,1"]

    async def send_on(run, conn, pdu):
        run.hits += 1
        await conn.refuse(pdu, 0x0101, [("TargetAddress", address) for address in addresses])
        return True

    balancer.load(Scenario("has several portals", hooks={"on_login": send_on}))
    volume = make_volume(server.target, path={
        "portal": f"{own}:{balancer.port}",
        "source_address": link.source6 if version == 6 else link.source})
    volume.enable()
    remote = read(volume.path_sysfs() / "connections" / "0" / "remote_address")
    assert remote == f"{own}:{server.port}"
    assert balancer.target.run.hits == 1


TEMPORARY, PERMANENT = 0x0101, 0x0102
AUTH_FAILED = 0x0201


def moved_to(volume):
    return read(volume.path_sysfs() / "moved_to")


def portals_in_a_row(make_server, link, codes, scenario):
    """Servers of which each but the last one, which plays the scenario, redirects to the next."""
    servers = [make_server() for _ in range(len(codes) + 1)]
    portals = [f"{link.address}:{server.port}" for server in servers]

    def hook(code, portal):
        async def send_on(run, conn, pdu):
            run.hits += 1
            await conn.refuse(pdu, code, [("TargetAddress", f"{portal},1")])
            return True
        return send_on

    for server, code, portal in zip(servers, codes, portals[1:]):
        server.load(Scenario("has moved", hooks={"on_login": hook(code, portal)}))
    servers[-1].load(scenario)
    return servers, portals


@pytest.mark.parametrize("codes, kept", [
    ((PERMANENT,), 1), ((PERMANENT, PERMANENT), 2), ((PERMANENT, TEMPORARY), 1),
    ((TEMPORARY, PERMANENT), 0)])
def test_permanent_redirect_is_kept(make_server, make_volume, link, kernel_log, codes, kept):
    """The next login begins where permanent ones have led, not where a temporary one has."""
    servers, portals = portals_in_a_row(make_server, link, codes, HONEST)
    volume = make_volume(servers[-1].target, path={
        "portal": portals[0], "default_time2wait": 0})
    data = noise(64 * KIB, 1)
    with Direct(volume.enable()) as disk:
        disk.write(0, data)
        for count in range(1, 3):
            log_in_again(volume, servers[-1].port)
            assert [server.target.run.hits for server in servers[:-1]] == [
                1 if at < kept else 1 + count for at in range(len(codes))]
            assert moved_to(volume) == (portals[kept] if kept else "")
        same(disk.read(0, len(data)), data, "what was read")
    assert len(kernel_log.matching("moved permanently: logins begin at ")) == bool(kept)


def sends_to(*addresses, code=TEMPORARY):
    """A scenario's hooks: each login is redirected."""

    async def send_on(run, conn, pdu):
        run.hits += 1
        await conn.refuse(pdu, code, [("TargetAddress", address) for address in addresses])
        return True

    return {"on_login": send_on}


@pytest.mark.parametrize("version", [4, 6])
def test_redirect_to_a_name(make_server, make_volume, link, resolver, kernel_log, version):
    """Of its addresses the one counts that can be had from the path's own; that is where it moved."""
    own, name = f"[{link.address6}]" if version == 6 else link.address, f"both{version}.example"
    resolver({name: [link.address, link.address6]})
    balancer, server = [make_server("::" if version == 6 else "0.0.0.0") for _ in range(2)]
    balancer.load(Scenario("has moved to a name", hooks=sends_to(
        "10.0.0", f"{name}:{server.port},1", code=PERMANENT)))
    volume = make_volume(server.target, path={
        "portal": f"{own}:{balancer.port}", "default_time2wait": 0,
        "source_address": link.source6 if version == 6 else link.source})
    data = noise(64 * KIB, 1)
    with Direct(volume.enable()) as disk:
        disk.write(0, data)
        assert moved_to(volume) == f"{own}:{server.port}"
        log_in_again(volume, server.port)
        same(disk.read(0, len(data)), data, "what was read")
    assert balancer.target.run.hits == 1
    assert kernel_log.matching(f"redirects to {name} port {server.port}, which is ")


def test_redirect_to_a_name_of_the_other_family(make_server, make_volume, link, resolver):
    """Taken when the path has no address of its own; else the reason says which one is missing."""
    resolver({"other.example": [link.address6]})
    balancer, server = make_server(), make_server("::")
    balancer.load(Scenario("to IPv6", hooks=sends_to(f"other.example:{server.port}")))
    here = {"portal": f"{link.address}:{balancer.port}"}
    volume = make_volume(server.target, path=here)
    volume.enable()
    remote = read(volume.path_sysfs() / "connections" / "0" / "remote_address")
    assert remote == f"[{link.address6}]:{server.port}"
    volume.disable()
    bound = make_volume(server.target, path={**here, "source_address": link.source})
    with pytest.raises(EnableError, match="no IPv4 address of it is found .*: other.ex") as failure:
        bound.enable()
    assert failure.value.number == errno.EHOSTUNREACH


def test_redirect_to_a_name_that_nobody_knows(server, make_volume, link, resolver):
    """The path says so, and tries again until another name comes."""
    names = ["nobody.example"]

    async def send_on(run, conn, pdu):
        struck = run.strike()
        if struck:
            await conn.refuse(pdu, TEMPORARY, [("TargetAddress", f"{names[0]}:{server.port}")])
            run.armed = names[0] == "nobody.example"
        return struck

    target = server.load(Scenario("balances", hooks={"on_login": send_on}, times=1000))
    resolver({"somebody.example": [link.address]})
    volume = make_volume(target, path={
        "portal": f"{link.address}:{server.port}", "default_time2wait": 0,
        "login_retry_max_ms": 1000})
    data = noise(64 * KIB, 1)
    with Direct(volume.enable()) as disk:
        disk.write(0, data)
        server.arm()
        network.kill_connections(port=server.port)
        reason = "no address of it is found (the package keyutils does that): nobody.example"
        wait_for("it", lambda: reason in read(volume.path_sysfs() / "last_error"), 60)
        hits = target.run.hits
        wait_for("another attempt", lambda: target.run.hits > hits, 60)
        names[0] = "somebody.example"
        wait_for("the next session", lambda: volume.reconnects() == 1, 60)
        same(disk.read(0, len(data)), data, "what was read")


def test_a_resolver_that_hangs(server, make_volume, link, resolver, tmp_path):
    """It is asked once; neither the login nor the end of the volume waits for it, only the module."""
    async def send_on(run, conn, pdu):
        struck = run.strike()
        if struck:
            await conn.refuse(pdu, TEMPORARY, [("TargetAddress", "stuck.example:3260")])
        return struck

    target = server.load(Scenario("to a name", hooks={"on_login": send_on}, times=1000))
    volume = make_volume(target, path={
        "portal": f"{link.address}:{server.port}", "default_time2wait": 0,
        "login_retry_max_ms": 1000, "login_timeout_ms": 3000})
    volume.enable()
    helper = StuckHelper(tmp_path)
    try:
        server.arm()
        network.kill_connections(port=server.port)
        helper.wait_started()
        reason = "its address is not found within login_timeout_ms: stuck.example"
        wait_for("it", lambda: reason in read(volume.path_sysfs() / "last_error"), 60)
        hits = target.run.hits
        wait_for("more attempts", lambda: target.run.hits > hits + 1, 60)
        assert helper.count() == 1
        write(volume.path / "login_timeout_ms", 600000)
        hits = target.run.hits
        wait_for("one that waits", lambda: target.run.hits > hits, 60)
        began = clock()
        volume.disable()
        assert clock() - began < 60
        volume.delete()
        wait_for("the volume to go", lambda: read("/sys/module/istripe/refcnt") == "1")
        code, out = status("rmmod", "istripe")
        assert code and "in use" in out
    finally:
        helper.end()
    wait_for("the module to be free", lambda: read("/sys/module/istripe/refcnt") == "0")


async def one_hash(run, conn, pdu):
    """A list of CHAP hashes is refused."""
    if dict(keys.parse(pdu.data)[0]).get("CHAP_A", "5") == "5":
        return False
    await conn.refuse(pdu, AUTH_FAILED)
    return True


def test_another_hash_is_no_redirect(make_server, make_volume, link, kernel_log):
    """As many redirects as are followed, and then one login more because of the hashes."""
    scenario = Scenario("one hash", hooks={"on_login": one_hash},
                        settings={"secrets": {"initiator": SECRET}})
    servers, portals = portals_in_a_row(make_server, link, (TEMPORARY,) * 4, scenario)
    volume = make_volume(servers[-1].target, path={
        "portal": portals[0], "chap_user": "initiator", "chap_secret": SECRET.decode()})
    volume.enable()
    assert kernel_log.matching("once more with MD5 alone")
    assert [server.target.run.hits for server in servers[:-1]] == [1] * 4


def test_permanent_redirect_until_reconnect(make_server, make_volume, link):
    """By hand, that is; and until the volume is disabled."""
    (old, new), portals = portals_in_a_row(make_server, link, (PERMANENT,), HONEST)
    volume = make_volume(new.target, path={
        "portal": portals[0], "default_time2wait": 0})
    volume.enable()
    write(volume.path_sysfs() / "reconnect", "force")
    wait_for("the next session", lambda: volume.reconnects() == 1, 60)
    assert old.target.run.hits == 2
    volume.disable()
    volume.enable()
    assert old.target.run.hits == 3
    assert moved_to(volume) == portals[1]


async def refuse_when_armed(run, conn, pdu):
    """Until it has struck as often as the scenario says; with what the scenario's name is."""
    struck = run.strike()
    if struck:
        await conn.refuse(pdu, int(run.scenario.name, 16))
    return struck


async def close_when_armed(run, conn, what):
    struck = run.strike()
    if struck:
        conn.reset()
        conn.close()
    return struck


@pytest.mark.parametrize("hooks", [{"on_login": refuse_when_armed}, {"on_connect": close_when_armed}],
                         ids=["refused", "unanswered"])
def test_permanent_redirect_was_wrong(make_server, make_volume, link, kernel_log, hooks):
    """The new portal fails a few times: the path is live at the configured one, and stays there."""
    (old, new), portals = portals_in_a_row(
        make_server, link, (PERMANENT,), Scenario("0203", hooks=hooks, times=1000))
    target = old.target
    volume = make_volume(target, path={
        "portal": portals[0], "default_time2wait": 0, "login_retry_max_ms": 1000})
    data = noise(64 * KIB, 1)
    with Direct(volume.enable()) as disk:
        disk.write(0, data)
        assert moved_to(volume) == portals[1]
        # The configured portal serves the LUN itself now.
        assert target.logins == 0
        honest = old.load(HONEST)
        honest.disk = new.target.disk
        new.arm()
        log_in_again(volume, new.port)
        assert new.target.run.hits == 3
        assert moved_to(volume) == ""
        same(disk.read(0, len(data)), data, "what was read")
        log_in_again(volume, old.port)
        assert honest.logins == 2 and new.target.run.hits == 3
    assert len(kernel_log.matching("logins begin at the configured portal again")) == 1


def test_both_portals_fail_for_a_while(make_server, make_volume, link, kernel_log):
    """They are tried in turn, and the log does not say again and again what each one says."""
    (old, new), portals = portals_in_a_row(
        make_server, link, (PERMANENT,),
        Scenario("0301", hooks={"on_login": refuse_when_armed}, times=5))
    volume = make_volume(new.target, path={
        "portal": portals[0], "default_time2wait": 0, "login_retry_max_ms": 1000})
    data = noise(64 * KIB, 1)
    with Direct(volume.enable()) as disk:
        disk.write(0, data)
        gone = old.load(Scenario("0302", hooks={"on_login": refuse_when_armed}, times=1000))
        old.arm()
        new.arm()
        log_in_again(volume, new.port)
        # Three times at the new portal, then each second time.
        assert (new.target.run.hits, gone.run.hits) == (5, 3)
        assert moved_to(volume) == portals[1]
        same(disk.read(0, len(data)), data, "what was read")
    assert len(kernel_log.matching("service unavailable")) == 1
    assert len(kernel_log.matching("out of resources")) == 1


async def note_portal(run, conn, what):
    run.memory.setdefault("portals", []).append(conn.writer.get_extra_info("sockname")[0])
    return False


async def lose(run, conn, task):
    """A write is done, and a read is not, when the connection is reset before the answer."""
    if task.opcode not in (READ_16, WRITE_16) or not run.strike():
        return False
    if task.write:
        await run.target.collect(conn, task)
        run.target.disk.execute(task.cdb, task.buffer)
    conn.reset()
    return True


def test_each_login_is_redirected(make_server, make_volume, links):
    """An array that balances its load sends every login to another portal, also after a loss.

    The next login begins at the configured portal, and its session takes the lost one's place. In
    open-iscsi iscsid does that; its kernel part gets another socket.
    """
    balancer, server = make_server(), make_server()
    portals = [link.address for link in links]
    turns = itertools.cycle(portals)

    async def send_on(run, conn, pdu):
        run.hits += 1
        await conn.refuse(pdu, 0x0101, [("TargetAddress", f"{next(turns)}:{server.port},1")])
        return True

    target = server.load(Scenario("serves", times=1, hooks={
        "on_connect": note_portal, "on_command": lose}))
    balancer.load(Scenario("balances", hooks={"on_login": send_on}))
    volume = make_volume(target, path={
        "portal": f"{links[0].address}:{balancer.port}", "default_time2wait": 0})
    rounds = 4
    with Direct(volume.enable()) as disk:
        for seed in range(rounds):
            target.run.hits = 0
            server.arm()
            data = noise(64 * KIB, seed)
            Write(disk, seed // 2 * 64 * KIB, data).finish()
            wait_for("the loss", lambda seed=seed: volume.reconnects() > seed, 60)
            same(disk.read(seed // 2 * 64 * KIB, len(data)), data, "what was read")
            assert read(volume.path_sysfs() / "session" / "target_portal_group_tag") == "1"
    assert target.run.memory["portals"] == list(
        itertools.islice(itertools.cycle(portals), rounds + 1))
    assert balancer.target.run.hits == rounds + 1
    assert len(target.sessions) == 1


def test_two_paths_are_redirected(make_server, make_volume, links, kernel_log):
    """To another portal at each login, all in one portal group: one path ends the session of another.

    The logins that prove and do so go to the portals where the sessions are, not to the balancer.
    """
    balancer, here, there = make_server(), make_server(), make_server()
    turns = {link.address: itertools.cycle(ports) for link, ports in
             zip(links, ([here.port, there.port], [there.port, here.port]))}
    sent = []

    async def send_on(_run, conn, pdu):
        address = conn.writer.get_extra_info("sockname")[0]
        sent.append(f"{address}:{next(turns[address])}")
        await conn.refuse(pdu, 0x0101, [("TargetAddress", f"{sent[-1]},1")])
        return True

    def portal(path):
        return read(volume.path_sysfs(0, path) / "connections" / "0" / "remote_address")

    target = here.load(Scenario("ghost", hooks={"on_command": hold}))
    # One target with two ports, by two servers.
    there.load(HONEST).connected = target.connected
    balancer.load(Scenario("balances", hooks={"on_login": send_on}))
    volume = volume_over(make_volume, links, [balancer.port] * 2, target, fence="auto")
    with Direct(volume.enable()) as disk:
        volume.wait_proven()
        assert len(sent) == 2 and {portal(0), portal(1)} == set(sent)
        here.arm()
        writer = held_write(disk, target, noise(4 * KIB, 1))
        with network.down(links[0]):
            writer.finish()
            wait_for("the end of the lost session",
                     lambda: read(volume.path_sysfs(0, 0) / "ghost_writes") == "0", 60)
            wait_for("the fence", lambda: kernel_log.matching("the old session is ended through"))
            assert len(sent) == 2 and read(volume.path_sysfs(0, 0) / "state") != "live"
            disk.write(AT, noise(4 * KIB, 2))
        release(here, target)
        assert "carried out" not in target.run.memory
        same(disk.read(AT, 4 * KIB), noise(4 * KIB, 2), "the data on the disk")
        wait_for("both paths", lambda: state(volume) == "live", 60)
        assert len(sent) > 2 and portal(0) == sent[-1]
        volume.wait_proven()


def test_test_logins_are_redirected(server, make_volume, links, kernel_log):
    """Those that would prove that the paths lead to one portal group are not sent on: it says so."""
    async def send_on(_run, conn, pdu):
        if pdu.isid.hex() in ISIDS:
            return False
        await conn.refuse(pdu, 0x0101, [("TargetAddress", f"{links[0].address}:{server.port},1")])
        return True

    def unproven():
        return [read(volume.path_sysfs(0, path) / "unproven") for path in range(2)]

    target = server.load(Scenario("sends test logins on", hooks={"on_login": send_on}))
    volume = volume_over(make_volume, links, [server.port] * 2, target, fence="auto")
    set_isids(volume)
    with Direct(volume.enable()):
        wait_for("the proof to fail", lambda: any(unproven()), 60)
        assert any("login: target moved temporarily to port" in why for why in unproven())
        assert kernel_log.matching("not known to lead to the same portal group as .*: .*moved")
    volume.disable()


OTHER_GROUP = "portal is in portal group 2, expected was 1"


@pytest.mark.parametrize("redirected", [True, False], ids=["redirected", "renumbered"])
def test_another_portal_group(make_server, make_volume, links, redirected):
    """There the next login would not end the lost session: it is refused until the group is right.

    A write that was lost waits meanwhile.
    """
    here, there = make_server(), make_server()
    elsewhere = f"{links[1].address}:{there.port},2"

    async def send_on(run, conn, pdu):
        if run.armed and redirected:
            await conn.refuse(pdu, 0x0101, [("TargetAddress", elsewhere)])
        return run.armed and redirected

    target = here.load(Scenario("moves", hooks={"on_login": send_on, "on_command": lose}))
    other = there.load(Scenario("other group", settings={"tpgt": 2}))
    other.disk = target.disk
    volume = make_volume(target, recovery_timeout_ms=-1, path={
        "portal": f"{links[0].address}:{here.port}", "default_time2wait": 0,
        "login_retry_max_ms": 1000})
    data = noise(64 * KIB, 1)
    with Direct(volume.enable()) as disk:
        target.settings.tpgt = 1 if redirected else 2
        here.arm()
        writer = Write(disk, 0, data)
        wait_for("the refusal",
                 lambda: OTHER_GROUP in read(volume.path_sysfs() / "last_error"), 60)
        assert writer.is_alive()
        assert volume.reconnects() == 0
        target.settings.tpgt = 1
        target.run.armed = False
        writer.finish()
        volume.wait_state("live")
        assert volume.reconnects() == 1
        same(disk.read(0, len(data)), data, "what was read")
    assert (target.logins, other.logins) == (2, 0)


@pytest.mark.parametrize("connections", [1, 2])
def test_another_portal_group_and_a_decision(server, make_volume, links, connections):
    """The path goes on in the new group when fence_timeout_ms says that the old one does not count."""
    target = server.load(Scenario("renumbers", hooks={"on_command": lose}))
    volume = make_volume(target, recovery_timeout_ms=-1, path={
        "portal": f"{links[0].address}:{server.port}", "default_time2wait": 0,
        "login_retry_max_ms": 1000, "multi": "mcs", "connections": connections})
    data = noise(64 * KIB, 1)
    with Direct(volume.enable()) as disk:
        assert read(volume.path_sysfs() / "session" / "connections") == str(connections)
        target.settings.tpgt = 2
        server.arm()
        writer = Write(disk, 0, data)
        wait_for("the refusal",
                 lambda: OTHER_GROUP in read(volume.path_sysfs() / "last_error"), 60)
        assert writer.is_alive()
        write(volume.leg / "fence_timeout_ms", 0)
        writer.finish()
        volume.wait_state("live")
        session = volume.path_sysfs() / "session"
        assert read(session / "target_portal_group_tag") == "2"
        assert read(session / "connections") == str(connections)
        same(disk.read(0, len(data)), data, "what was read")
    volume.disable()


def test_a_portal_group_that_was_renumbered(server, make_scripted):
    """Nothing was lost with the old session: the path goes on in the new group, as open-iscsi does."""
    volume, target = make_scripted(Scenario("renumbered"))
    data = noise(64 * KIB, 1)
    with Direct(volume.enable()) as disk:
        disk.write(0, data)
        target.settings.tpgt = 2
        network.kill_connections(port=server.port)
        wait_for("the next session", lambda: volume.reconnects() == 1, 60)
        same(disk.read(0, len(data)), data, "what was read")
        assert read(volume.path_sysfs() / "session" / "target_portal_group_tag") == "2"


async def tells_no_group(conn, request, pairs, ready):
    return [pair for pair in pairs if pair[0] != "TargetPortalGroupTag"], ready


@pytest.mark.both
@pytest.mark.allow_log(r"error(,| on) dev istripe", "the write that is lost fails")
def test_a_target_that_tells_no_portal_group(server, make_scripted, links):
    """None is expected of it when the volume comes up again, and its login ends what was left."""
    volume, target = make_scripted(
        Scenario("tells none", hooks={"login_pairs": tells_no_group, "on_command": keep}),
        recovery_timeout_ms=1000)
    older, newer = noise(4 * KIB, 1), noise(4 * KIB, 2)
    with Direct(volume.enable()) as disk:
        server.arm()
        writer = held_write(disk, target, older)
        with network.down(links[0]):
            writer.join(90)
            assert not writer.is_alive() and not writer.good
            volume.force_down()
    assert read(volume.leg / "unfenced") == "0"
    with Direct(volume.enable()) as disk:
        assert read(volume.leg / "unfenced") == ""
        disk.write(AT, newer)
        release(server, target)
        same(disk.read(AT, len(newer)), newer, "what was read")
    assert "carried out" not in target.run.memory
