# SPDX-License-Identifier: GPL-2.0
"""Connecting and logging in: authentication, keys, every refusal in words."""

import contextlib
import errno
import time

import pytest

from lab import fio, network
from lab.connections import log_in_again
from lab.disk import Direct, noise, same
from lab.istripe import INITIATOR, EnableError
from lab.shell import read, run, wait_for, write
from lab.tracing import traced
from scripted.scenario import Scenario
from scripted.steps import login_keys

MIB = 1 << 20
USER, SECRET = "initiator", "a-secret-of-20-bytes"
MUTUAL_USER, MUTUAL_SECRET = "target", "another-one-20-bytes"
CHAP = {"chap_user": USER, "chap_secret": SECRET}
MUTUAL = {**CHAP, "chap_mutual_user": MUTUAL_USER, "chap_mutual_secret": MUTUAL_SECRET}


def refused(volume):
    with pytest.raises(EnableError) as failed:
        volume.enable()
    assert not volume.enabled()
    assert volume.device() == ""
    assert failed.value.reason
    assert network.established() == []
    return failed.value


@pytest.mark.parametrize("algorithm", ["", "MD5", "SHA1", "SHA256", "SHA3-256"])
@pytest.mark.parametrize("mutual", [False, True], ids=["one-way", "mutual"])
def test_chap(make_lio, make_volume, kernel_log, algorithm, mutual):
    target = make_lio(chap=(USER, SECRET), chap_mutual=(MUTUAL_USER, MUTUAL_SECRET) if mutual else None)
    volume = make_volume(target, path={**(MUTUAL if mutual else CHAP), "chap_algorithms": algorithm})
    with open(volume.enable(), "rb") as disk:
        assert disk.read(4096) == bytes(4096)
    assert not kernel_log.matching(f"{SECRET}|{MUTUAL_SECRET}")


@pytest.mark.parametrize("algorithms", ["", "SHA256,MD5", "MD5"], ids=["default", "list", "md5"])
@pytest.mark.parametrize("mutual", [False, True], ids=["one-way", "mutual"])
def test_chap_with_tgt(make_tgt, make_volume, kernel_log, mutual, algorithms):
    """tgt 1.0.85 takes SHA-256's number for SHA-1, and refuses it: then without it, for good."""
    target = make_tgt(chap=(USER, SECRET), chap_mutual=(MUTUAL_USER, MUTUAL_SECRET) if mutual else None)
    path = {**(MUTUAL if mutual else CHAP), "default_time2wait": 0,
            "chap_algorithms": algorithms}
    volume = make_volume(target, path=path)
    device = volume.enable()
    network.kill_connections()
    fio.run(device, rw="randread", bs="4k", io_size=MIB, size="100%")
    assert volume.reconnects() == 1
    assert len(kernel_log.matching("once more without it")) == (algorithms != "MD5")


def test_chap_refused_by_tgt(make_tgt, make_volume, kernel_log):
    """A secret that is wrong is one with each hash, and is tried with the strongest one each time."""
    target = make_tgt(chap=(USER, SECRET))
    volume = make_volume(target, path={**CHAP, "chap_secret": "not-the-right-secret"})
    for tried in (1, 2):
        error = refused(volume)
        assert error.number == errno.EACCES
        assert "authentication" in error.reason
        assert len(kernel_log.matching("once more without it")) == tried


def test_chap_with_tgt_and_no_other_hash(make_tgt, make_volume, kernel_log):
    target = make_tgt(chap=(USER, SECRET))
    error = refused(make_volume(target, path={**CHAP, "chap_algorithms": "SHA256"}))
    assert "initiator error" in error.reason
    assert not kernel_log.matching("once more")


@pytest.mark.parametrize("change", [
    {"chap_secret": "not-the-right-secret"},
    {"chap_user": "somebody"},
], ids=["secret", "user"])
def test_chap_refused(make_lio, make_volume, change):
    volume = make_volume(make_lio(chap=(USER, SECRET)), path={**CHAP, **change})
    error = refused(volume)
    assert error.number == errno.EACCES
    assert "authentication" in error.reason


def test_chap_is_asked_for_but_not_configured(make_lio, make_volume):
    """LIO answers nothing and closes."""
    error = refused(make_volume(make_lio(chap=(USER, SECRET))))
    assert error.number in (errno.EACCES, errno.ECONNREFUSED, errno.ECONNRESET)
    assert "login: " in error.reason


def test_target_that_cannot_prove_itself(make_lio, make_volume):
    """A mutual secret is configured: a target that does not know it is not trusted."""
    target = make_lio(chap=(USER, SECRET), chap_mutual=(MUTUAL_USER, "a-wrong-secret-of-it"))
    error = refused(make_volume(target, path=MUTUAL))
    assert error.number == errno.EACCES


def test_target_that_does_not_prove_itself(make_lio, make_volume):
    error = refused(make_volume(make_lio(chap=(USER, SECRET)), path=MUTUAL))
    assert error.number in (errno.EACCES, errno.EPROTO, errno.ECONNREFUSED)


def test_target_without_authentication_when_it_must_prove_itself(make_lio, make_volume):
    error = refused(make_volume(make_lio(), path=MUTUAL))
    assert error.number in (errno.EACCES, errno.EPROTO, errno.ECONNREFUSED, errno.ECONNRESET)


def test_unknown_target_with_lio(make_lio, make_volume):
    volume = make_volume(make_lio(), path={"target_name": "iqn.2024-01.org.example:nobody"})
    error = refused(volume)
    assert "unavailable" in error.reason or "not found" in error.reason


def test_unknown_target_with_tgt(make_tgt, make_volume):
    volume = make_volume(make_tgt(), path={"target_name": "iqn.2024-01.org.example:nobody"})
    assert "not found" in refused(volume).reason


def test_forbidden(make_lio, make_volume):
    """0202: the portal group has an access list, and we are not in it."""
    target = make_lio(attributes={"generate_node_acls": 0, "cache_dynamic_acls": 0})
    error = refused(make_volume(target))
    assert "not allowed" in error.reason


def test_service_unavailable(make_lio, make_volume):
    """0301: the portal group is off. The reason is in words, and enabling works once it is on."""
    target = make_lio()
    volume = make_volume(target, path={"login_timeout_ms": 10000})
    target.enable(False)
    refused(volume)
    target.enable(True)
    volume.enable()
    assert volume.last_error() == ""


def test_nobody_listens(make_lio, make_volume, link):
    volume = make_volume(make_lio(), path={"portal": f"{link.address}:3999"})
    error = refused(volume)
    assert error.number == errno.ECONNREFUSED
    assert f"{link.address}:3999" in error.reason


def test_nobody_is_there(make_lio, make_volume, link):
    """The neighbour is known, and takes nothing: an attempt lasts as long as a login may."""
    volume = make_volume(make_lio(), path={"portal": "10.55.0.99:3260", "login_timeout_ms": 1500})
    neighbour = ("10.55.0.99", "dev", link.nic)
    run("ip", "neigh", "add", *neighbour, "lladdr", "02:00:00:00:00:01")
    try:
        start = time.monotonic()
        with pytest.raises(EnableError) as failed:
            volume.enable()
        assert time.monotonic() - start < 14
    finally:
        run("ip", "neigh", "del", *neighbour, check=False)
    assert failed.value.number == errno.ETIMEDOUT


def test_no_such_lun(make_lio, make_volume):
    volume = make_volume(make_lio(), path={"lun": 7})
    error = refused(volume)
    assert error.number == errno.ENXIO
    assert "7" in error.reason


def test_designator_is_pinned(make_lio, make_volume):
    """The identity that a first login found is the only one that a pinned leg accepts."""
    target = make_lio(8 * MIB, 8 * MIB)
    volume = make_volume(target)
    volume.enable()
    designator = read(volume.sysfs() / "legs" / "0" / "designator")
    assert designator.startswith("naa.6001405")
    volume.disable()
    (volume.leg / "designator").write_text(designator, encoding="ascii")
    volume.enable()
    volume.disable()
    (volume.path / "lun").write_text("1", encoding="ascii")
    error = refused(volume)
    assert designator in error.reason


@pytest.mark.parametrize("version", [4, 6])
def test_bound_to_nic_and_source(make_lio, make_volume, link, version):
    source = link.source6 if version == 6 else link.source
    volume = make_volume(make_lio(), ipv6=version == 6,
                         path={"nic": link.nic, "source_address": source})
    with open(volume.enable(), "rb") as disk:
        disk.read(MIB)
    local, remote = network.established()[0]
    assert source in local
    assert (link.address6 if version == 6 else link.address) in remote


@contextlib.contextmanager
def temporary_address(link):
    """The NIC has one as well, which the kernel prefers."""
    wanted = f"/proc/sys/net/ipv6/conf/{link.nic}/use_tempaddr"
    before = read(wanted)
    write(wanted, 2)
    run("ip", "addr", "add", "fd55::aa/64", "dev", link.nic, "mngtmpaddr", "nodad")

    def checked():
        lines = run("ip", "-6", "-o", "addr", "show", "dev", link.nic, "temporary").splitlines()
        return [line.split()[3].split("/")[0] for line in lines if "tentative" not in line]

    try:
        yield wait_for("a temporary address", checked, 20)[0]
    finally:
        run("ip", "addr", "del", "fd55::aa/64", "dev", link.nic, "mngtmpaddr")
        write(wanted, before)


def test_no_temporary_address_is_used(make_lio, make_volume, link):
    """The kernel deletes it some day, and with it the session would end without a word."""
    volume = make_volume(make_lio(), ipv6=True, path={"nic": link.nic})
    with temporary_address(link) as temporary:
        volume.enable()
        local = read(volume.path_sysfs(0, 0) / "connections" / "0" / "local_address")
        assert "fd55::" in local and temporary not in local
        volume.disable()


def test_deprecated_address(make_lio, make_volume, links):
    """It is still valid, and the only one of the NIC; the kernel would take that of the other NIC."""
    link = links[0]
    volume = make_volume(make_lio(), ipv6=True, path={"nic": link.nic})
    run("ip", "addr", "change", f"{link.source6}/64", "dev", link.nic, "preferred_lft", "0")
    try:
        with open(volume.enable(), "rb") as disk:
            disk.read(MIB)
        assert network.established()[0][0].startswith(f"[{link.source6}]%{link.nic}:")
        volume.disable()
    finally:
        run("ip", "addr", "change", f"{link.source6}/64", "dev", link.nic, "preferred_lft",
            "forever", "valid_lft", "forever")


def test_bound_to_the_wrong_nic(make_lio, make_volume, links):
    """Binding is meant: nothing goes over another NIC when the chosen one leads nowhere."""
    volume = make_volume(make_lio(), path={"nic": links[1].nic, "login_timeout_ms": 1500})
    refused(volume)


def test_nic_that_does_not_exist(make_lio, make_volume):
    error = refused(make_volume(make_lio(), path={"nic": "nosuchnic0"}))
    assert "nosuchnic0" in error.reason


@contextlib.contextmanager
def no_address(link):
    run("ip", "addr", "del", f"{link.source}/24", "dev", link.nic)
    try:
        yield
    finally:
        run("ip", "addr", "add", f"{link.source}/24", "dev", link.nic)


@contextlib.contextmanager
def no_address6(link):
    """There is a route still."""
    run("ip", "addr", "del", f"{link.source6}/64", "dev", link.nic)
    run("ip", "route", "add", f"{link.address6}/128", "dev", link.nic)
    try:
        yield
    finally:
        run("ip", "route", "del", f"{link.address6}/128", "dev", link.nic)
        run("ip", "addr", "add", f"{link.source6}/64", "dev", link.nic, "nodad")


@pytest.mark.parametrize("without, words", [
    (no_address, "the NIC has no address"), (no_address6, "the source address cannot be used")],
    ids=["ipv4", "ipv6"])
def test_nic_without_an_address(make_lio, make_volume, link, without, words):
    """The kernel would take that of another NIC."""
    volume = make_volume(make_lio(), ipv6=without is no_address6, path={"nic": link.nic})
    with without(link):
        error = refused(volume)
    assert error.number == errno.EADDRNOTAVAIL
    assert link.nic in error.reason and words in error.reason
    volume.enable()


@pytest.mark.parametrize("owner, routed", [("lo", False), ("lo", True), ("other", True)])
def test_nic_that_borrows_an_address(make_lio, make_volume, links, owner, routed):
    """Of the loopback without a route, too; of any NIC if a route says so."""
    link, owner = links[0], links[1].nic if owner == "other" else owner
    volume = make_volume(make_lio(), path={"nic": link.nic})
    with no_address(link):
        run("ip", "addr", "add", f"{link.source}/32", "dev", owner)
        try:
            if routed:
                run("ip", "route", "add", f"{link.address}/32", "dev", link.nic, "src", link.source)
            with open(volume.enable(), "rb") as disk:
                disk.read(MIB)
            assert network.established()[0][0].startswith(f"{link.source}%{link.nic}:")
            volume.disable()
        finally:
            run("ip", "addr", "del", f"{link.source}/32", "dev", owner)


@contextlib.contextmanager
def address6_of(owner, link):
    """Another NIC has the address of the link's; the target sends to the link what is for it."""
    neighbour = (link.source6, "dev", link.peer)
    if owner == "dummy0":
        run("ip", "link", "add", owner, "up", "type", "dummy")
    run("ip", "addr", "add", f"{link.source6}/128", "dev", owner, "nodad")
    run("ip", "neigh", "replace", *neighbour, "lladdr", read(f"/sys/class/net/{link.nic}/address"),
        "nud", "permanent", netns=network.NETNS)
    try:
        yield
    finally:
        run("ip", "neigh", "del", *neighbour, netns=network.NETNS)
        run("ip", "addr", "del", f"{link.source6}/128", "dev", owner)
        if owner == "dummy0":
            run("ip", "link", "del", owner)


@pytest.mark.parametrize("owner, routed", [("lo", False), ("dummy0", False), ("other", True)])
def test_nic_that_borrows_an_ipv6_address(make_lio, make_volume, links, owner, routed):
    """Of the loopback and of a dummy; of any NIC if a route says so."""
    link, owner = links[0], links[1].nic if owner == "other" else owner
    volume = make_volume(make_lio(), ipv6=True, path={"nic": link.nic})
    with no_address6(link), address6_of(owner, link):
        if routed:
            assert refused(volume).number == errno.EADDRNOTAVAIL
            run("ip", "route", "replace", f"{link.address6}/128", "dev", link.nic,
                "src", link.source6)
        with open(volume.enable(), "rb") as disk:
            disk.read(MIB)
        assert network.established()[0][0].startswith(f"[{link.source6}]%{link.nic}:")
        volume.disable()


def test_source_address_that_is_not_ours(make_lio, make_volume):
    error = refused(make_volume(make_lio(), path={"source_address": "10.99.99.99"}))
    assert error.number == errno.EADDRNOTAVAIL
    assert "10.99.99.99" in error.reason
    assert "the source address cannot be used: it is not on this host" in error.reason


def test_isid_is_used(make_lio, make_volume):
    volume = make_volume(make_lio(), path={"isid": "00023d0a0b0c"})
    volume.enable()
    assert read(volume.path_sysfs() / "session" / "isid") == "00023d0a0b0c"
    assert int(read(volume.path_sysfs() / "session" / "tsih"), 0) != 0


NEGOTIATED = [
    # what the target has, what we offer, what must come out
    ({}, {}, {"HeaderDigest": "None", "DataDigest": "None", "MaxConnections": "1",
              "ErrorRecoveryLevel": "0", "DataPDUInOrder": "Yes", "DataSequenceInOrder": "Yes"}),
    ({"InitialR2T": "Yes"}, {"initial_r2t": "No"}, {"InitialR2T": "Yes"}),
    ({"InitialR2T": "No"}, {"initial_r2t": "Yes"}, {"InitialR2T": "Yes"}),
    ({"InitialR2T": "No"}, {"initial_r2t": "No"}, {"InitialR2T": "No"}),
    ({"ImmediateData": "Yes"}, {"immediate_data": "Yes"}, {"ImmediateData": "Yes"}),
    ({"ImmediateData": "No"}, {"immediate_data": "Yes"}, {"ImmediateData": "No"}),
    ({"ImmediateData": "Yes"}, {"immediate_data": "No"}, {"ImmediateData": "No"}),
    ({"MaxBurstLength": 65536, "FirstBurstLength": 4096}, {},
     {"MaxBurstLength": "65536", "FirstBurstLength": "4096"}),
    ({"MaxBurstLength": 1048576, "FirstBurstLength": 1048576},
     {"max_burst_length": 32768, "first_burst_length": 8192},
     {"MaxBurstLength": "32768", "FirstBurstLength": "8192"}),
    ({"MaxOutstandingR2T": 4}, {"max_outstanding_r2t": 8}, {"MaxOutstandingR2T": "4"}),
    ({"MaxOutstandingR2T": 8}, {"max_outstanding_r2t": 2}, {"MaxOutstandingR2T": "2"}),
    ({"DefaultTime2Wait": 3}, {"default_time2wait": 1}, {"DefaultTime2Wait": "3"}),
    ({"DefaultTime2Retain": 5}, {"default_time2retain": 30}, {"DefaultTime2Retain": "5"}),
    ({"HeaderDigest": "CRC32C,None", "DataDigest": "CRC32C,None"},
     {"header_digest": "CRC32C", "data_digest": "CRC32C"},
     {"HeaderDigest": "CRC32C", "DataDigest": "CRC32C"}),
    ({"HeaderDigest": "None", "DataDigest": "None"},
     {"header_digest": "CRC32C,None", "data_digest": "None,CRC32C"},
     {"HeaderDigest": "None", "DataDigest": "None"}),
    ({"MaxRecvDataSegmentLength": 8192}, {"max_recv_data_segment_length": 65536},
     {"MaxRecvDataSegmentLength": "65536"}),
]


@pytest.mark.parametrize("params,path,expected", NEGOTIATED, ids=range(len(NEGOTIATED)))
def test_negotiation(make_lio, make_volume, params, path, expected):
    volume = make_volume(make_lio(8 * MIB, params=params), path=path)
    with open(volume.enable(), "rb") as disk:
        disk.read(MIB)
    found = volume.all_negotiated()
    assert {key: found[key] for key in expected} == expected


def test_offered_values_are_visible(make_lio, make_volume):
    volume = make_volume(make_lio(8 * MIB), path={"max_burst_length": 524288, "header_digest": "None,CRC32C"})
    volume.enable()
    assert volume.offered("MaxBurstLength") == "524288"
    assert volume.offered("HeaderDigest") == "None,CRC32C"


def test_digest_that_the_target_refuses(make_lio, make_volume):
    target = make_lio(params={"DataDigest": "None"})
    error = refused(make_volume(target, path={"data_digest": "CRC32C"}))
    assert "DataDigest" in error.reason or "0200" in error.reason


def test_logout_is_clean(make_lio, make_volume):
    target = make_lio()
    volume = make_volume(target)
    volume.enable()
    assert len(target.sessions()) == 1
    volume.disable()
    wait_for("the session's end at the target", lambda: target.sessions() == [])
    assert network.established() == []


def test_logout_is_asked_for(make_scripted, server):
    """Once, before the connection ends."""
    logouts = []

    async def on_logout(_run, conn, _pdu):
        logouts.append(conn)
        return False

    volume, target = make_scripted(Scenario("counts logouts", hooks={"on_logout": on_logout}))
    volume.enable()
    conn, = server.connections()
    volume.disable()
    wait_for("the connection's end", lambda: not target.connections)
    assert logouts == [conn]


def test_pings_keep_an_idle_session(make_lio, make_volume):
    volume = make_volume(make_lio(), path={"ping_interval_ms": 200, "ping_timeout_ms": 6000})
    volume.enable()
    # Longer than both: a ping without an answer would have ended the session.
    time.sleep(9)
    assert volume.state() == "live"
    assert volume.reconnects() == 0


def test_pings_are_switched_off_and_on(make_scripted):
    """The ping that had no answer when they were switched off does not count afterwards."""
    pings = []

    async def first_is_lost(_run, _conn, ping):
        pings.append(ping)
        return len(pings) == 1

    volume, _ = make_scripted(Scenario("loses a ping", hooks={"on_nop": first_is_lost}),
                              path={"ping_interval_ms": 1000, "ping_timeout_ms": 6000})
    volume.enable()
    wait_for("a ping", lambda: pings)
    write(volume.path / "ping_interval_ms", 0)
    # Longer than ping_timeout_ms: it would have ended the session.
    time.sleep(9)
    assert len(pings) == 1
    write(volume.path / "ping_interval_ms", 1000)
    wait_for("further pings", lambda: len(pings) >= 3)
    assert volume.state() == "live"
    assert read(volume.path_sysfs() / "faults") == "0"


def test_a_shorter_ping_interval_counts_at_once(make_scripted):
    pings = []

    async def noted(_run, _conn, ping):
        pings.append(ping)
        return False

    volume, _ = make_scripted(Scenario("notes pings", hooks={"on_nop": noted}),
                              path={"ping_interval_ms": 3600000, "ping_timeout_ms": 10000})
    volume.enable()
    before = len(pings)
    write(volume.path / "ping_interval_ms", 500)
    wait_for("further pings", lambda: len(pings) >= before + 2)
    assert read(volume.path_sysfs() / "faults") == "0"


def test_a_shorter_ping_timeout_counts_at_once(make_scripted):
    """Also for a ping that has been sent."""
    pings, answers = [], []

    async def unanswered(_run, _conn, ping):
        pings.append(ping)
        return not answers

    volume, _ = make_scripted(Scenario("answers no ping", hooks={"on_nop": unanswered}),
                              path={"ping_interval_ms": 1000, "ping_timeout_ms": 3600000})
    volume.enable()
    wait_for("a ping", lambda: pings)
    assert read(volume.path_sysfs() / "faults") == "0"
    write(volume.path / "ping_timeout_ms", 2000)
    wait_for("the end of the session", lambda: read(volume.path_sysfs() / "faults") != "0", 30)
    # A later session waits no longer for its answers than a busy machine needs.
    answers.append(True)
    write(volume.path / "ping_timeout_ms", 10000)
    wait_for("another session", lambda: volume.state() == "live" and volume.reconnects(), 60)


def test_the_target_may_ping(make_lio, make_volume):
    """LIO sends NOP-Ins of its own when it is told to; an idle initiator answers them."""
    target = make_lio(patient_with=INITIATOR)
    write(target.tpg / "acls" / INITIATOR / "attrib" / "nopin_timeout", 3)
    volume = make_volume(target, path={"ping_interval_ms": 0})
    with traced("istripe/istripe_pdu_send") as trace:
        volume.enable()
        # It asks once more only when it has been answered. An answer has no tag of its own.
        wait_for("two answers", lambda: trace().count(" opcode=0x00 itt=0xffffffff ") >= 2, 60)
    assert volume.state() == "live"
    assert volume.reconnects() == 0


def test_breaks_the_offer(server, make_volume, stock, link, kernel_log):
    """SCST answers DefaultTime2Wait=0 to an offer of 2. Said once; the stock stack goes on, too."""
    target = server.load(Scenario("SCST", hooks=login_keys(1, DefaultTime2Wait=0), armed=True))
    portal = f"{link.address}:{server.port}"
    stock.login(portal, target.settings.name)
    stock.logout()
    volume = make_volume(target, path={"portal": portal})
    volume.enable()
    assert volume.offered("DefaultTime2Wait") == volume.negotiated("DefaultTime2Wait") == "2"
    log_in_again(volume, server.port, by_target=True)
    said = kernel_log.matching(f"{volume.name}/0/0: login: target answers DefaultTime2Wait=0 to an "
                               "offer of 2, against RFC 7143: a login waits as long as was offered")
    assert len(said) == 1


async def first_burst_as_scst(run, conn, task):
    """What follows the command ends at FirstBurstLength, MaxBurstLength does not matter."""
    if not task.write or task.pdu.final:
        return False
    held = conn.login.held
    asked = held["FirstBurstLength"]
    while asked < task.edtl:
        length = min(held["MaxBurstLength"], task.edtl - asked)
        await run.target.r2t(conn, task, asked, length)
        asked += length
    while task.received < task.edtl:
        pdu = await task.data.get()
        task.take(pdu.offset, pdu.data)
    return False


def test_a_first_burst_above_the_burst(server, make_volume, link, kernel_log):
    """The two ends would have different views of where it ends: data wait for an R2T."""
    keys = {"MaxRecvDataSegmentLength": 8192, "MaxBurstLength": 32768, "FirstBurstLength": 65536,
            "InitialR2T": False}
    target = server.load(Scenario("bursts", hooks={"on_command": first_burst_as_scst},
                                  settings=keys))
    volume = make_volume(target, path={"portal": f"{link.address}:{server.port}",
                                      "login_timeout_ms": 10000}, command_timeout_ms=10000)
    with Direct(volume.enable()) as disk:
        for at, size in ((0, 128 << 10), (1 << 20, 48 << 10), (2 << 20, 4 << 10)):
            data = noise(size, size)
            disk.write(at, data)
            same(disk.read(at, size), data, "what was read")
    assert volume.negotiated("InitialR2T") == "Yes"
    assert kernel_log.matching(f"{volume.name}/0/0: login: FirstBurstLength is not agreed")
    assert volume.reconnects() == 0
