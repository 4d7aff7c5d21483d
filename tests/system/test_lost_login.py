# SPDX-License-Identifier: GPL-2.0
"""A lost path gets another NIC or secret, in place: what waits for its old session stays, and goes on."""

import contextlib
import errno
import re

import pytest

from lab import ghost, lio, network, topology
from lab.disk import Direct, noise, same
from lab.ghost import KIB, killed, path_state, wait_path
from lab.istripectl import TOOL
from lab.shell import read, run, wait_for, write
from lab.tracing import traced

MIB = 1 << 20
PATH = {"default_time2wait": 0, "login_timeout_ms": 5000, "ping_interval_ms": 1000,
        "ping_timeout_ms": 5000, "login_retry_max_ms": 60000}
CARD = "newcard"
USER, SECRET, OTHER = "initiator", "a-secret-of-20-bytes", "another-one-20-bytes"
WITHIN_S = 60


@contextlib.contextmanager
def another_card(link):
    """In the place of the NIC, whose connections are lost: with another name."""
    run("ip", "link", "set", link.nic, "down")
    run("ip", "link", "set", link.nic, "name", CARD)
    run("ip", "link", "set", CARD, "up")
    try:
        yield
    finally:
        run("ip", "link", "set", CARD, "down")
        run("ip", "link", "set", CARD, "name", link.nic)
        link.set_up(True)


@pytest.fixture
def groups(make_volume, targets, links):
    """A volume whose paths lead to a portal group each, and the disk that holds its writes."""
    ports = [targets(target) for target in
             topology.lio_targets(links, lio.HoldingLun(16 * MIB), topology.GROUPS)]
    volume = make_volume(ports[0], paths=links, policy="failover", fence="auto",
                         recovery_timeout_ms=-1, ghost_timeout_ms=-1, path=PATH)
    write(volume.leg / "paths" / "1" / "target_name", ports[1].iqn)
    return volume, ports[0].luns[0].disk


def path_dir(volume, path):
    return volume.leg / "paths" / str(path)


def is_refused(volume, path, name, value):
    with pytest.raises(OSError) as refused:
        write(path_dir(volume, path) / name, value)
    return refused.value.errno == errno.EBUSY


@pytest.mark.timeout_s(300)
def test_another_nic_ends_the_old_session(groups, links, kernel_log):
    """The session is that of before, so its login ends what the old one has left."""
    volume, holder = groups
    older, newer = noise(4 * KIB, 1), noise(4 * KIB, 2)
    nic = path_dir(volume, 0) / "nic"
    with Direct(volume.enable()) as disk:
        lost = volume.path_sysfs(0, 0)
        assert is_refused(volume, 0, "nic", CARD)
        assert read(nic) == read(lost / "nic") == links[0].nic
        assert kernel_log.matching(
            "leg 0 path 0 is not changed: nic: it is for the next login, and a session of the path is live")
        writer = ghost.write_to_holder(disk, holder, older)
        with another_card(links[0]):
            writer.finish()
            assert holder.held() and read(lost / "ghost_writes") == "1"
            wait_for("the reason", lambda: f"over {links[0].nic}" in read(lost / "last_error"))
            assert is_refused(volume, 1, "nic", CARD)
            waits = ghost.Write(disk, ghost.AT, newer)
            ghost.wait_waiting(volume, waits)
            write(nic, CARD)
            assert read(nic) == read(lost / "nic") == CARD
            waits.join(ghost.SETTLE_S)
            assert waits.is_alive(), "newer data were written over a write that is with the disk"
            holder.release()
            wait_path(volume, 0, True)
            waits.finish()
            same(disk.read(ghost.AT, 4 * KIB), newer, "the data on the disk")
            assert read(lost / "ghost_writes") == "0"
            assert is_refused(volume, 0, "nic", links[0].nic)
        write(nic, links[0].nic)
        wait_path(volume, 0, True)
        assert len(network.ports(links[0])) == 1
    volume.disable()
    assert read(nic) == links[0].nic


@pytest.fixture
def one_group(make_lio, make_volume, links):
    """A volume whose paths lead to one portal group, so that each can be fenced through the other."""
    return make_volume(make_lio(all_links=True), paths=links, fence="auto", path=PATH)


def proven_over(volume, name, value):
    """The lost path logs in with this setting, and is compared with the other one anew."""
    wait_for("the loss", lambda: path_state(volume) != "live", WITHIN_S)
    with traced("istripe/istripe_login") as trace:
        write(path_dir(volume, 0) / name, value)
        wait_path(volume, 0, True)
        own = "|".join(read(volume.path_sysfs(0, path) / "session" / "isid") for path in range(2))
        # The old proof is there until the new session is in use.
        wait_for("a test login of the next proof", lambda: re.search(
            rf" istripe_login: {volume.name}/0/[01] isid=(?!{own})\w+ tsih=\d+ result=0$", trace(),
            re.MULTILINE), WITHIN_S)
    volume.wait_proven()


def test_proven_over_another_nic(one_group, links):
    one_group.enable()
    one_group.wait_proven()
    with another_card(links[0]):
        proven_over(one_group, "nic", CARD)


def test_proven_from_another_address(one_group, links):
    """The one of before is not on this host any more."""
    before = f"{links[0].source.rsplit('.', 1)[0]}.9"
    address = f"{before}/24", "dev", links[0].nic
    write(path_dir(one_group, 0) / "source_address", before)
    run("ip", "addr", "add", *address)
    try:
        one_group.enable()
        one_group.wait_proven()
    finally:
        run("ip", "addr", "del", *address)
    # Unless that has been noticed by now.
    network.kill_connections(source_ports=network.ports(links[0]))
    proven_over(one_group, "source_address", links[0].source)


def test_a_setting_changes_during_a_login(groups, links, kernel_log):
    """No session comes of settings that are not those of now."""
    volume, _ = groups
    nic = path_dir(volume, 0) / "nic"
    volume.enable()
    with network.silent(links[0]):
        wait_for("a login", lambda: path_state(volume) == "connecting", WITHIN_S)
        write(nic, links[1].nic)
        wait_for("the next login", lambda: f"over {links[1].nic}" in
                 read(volume.path_sysfs(0, 0) / "last_error"), WITHIN_S)
        assert kernel_log.matching("settings of the path have changed meanwhile")
        write(nic, "")
        write(nic, links[0].nic)
    wait_path(volume, 0, True)


def chap_of(target, name, secret):
    for file, value in (("userid", name), ("password", secret)):
        write(target.tpg / "auth" / file, value, end="")


def test_another_secret(make_lio, make_volume, links, kernel_log):
    """Of both paths, one after the other; the user of the second one, too."""
    target = make_lio(all_links=True, chap=(USER, SECRET))
    volume = make_volume(target, paths=links, recovery_timeout_ms=-1,
                         path={**PATH, "chap_user": USER, "chap_secret": SECRET})
    with Direct(volume.enable()) as disk:
        assert is_refused(volume, 0, "chap_secret", OTHER)
        disk.write(0, noise(64 * KIB, 1))
        chap_of(target, USER, OTHER)
        for link in links:
            killed(link, network.ISCSI_PORT)
        for path in range(2):
            wait_for("the refusal", lambda path=path: path_state(volume, path) == "refused", WITHIN_S)
        write(path_dir(volume, 0) / "chap_secret", OTHER)
        wait_path(volume, 0, True)
        same(disk.read(0, 64 * KIB), noise(64 * KIB, 1), "what was read")
        write(path_dir(volume, 1) / "chap_secret", "")
        assert kernel_log.matching("chap_secret: the path logs in with CHAP as before: chap_user is "
                                   "set, chap_secret is not")
        assert path_state(volume, 1) != "live"
        write(path_dir(volume, 1) / "chap_secret", OTHER)
        wait_path(volume, 1, True)
    volume.disable()
    volume.enable()
    assert [path_state(volume, path) for path in range(2)] == ["live", "live"]


def test_apply_writes_it_in_place(groups, links):
    volume, holder = groups
    with Direct(volume.enable()) as disk:
        run(TOOL, "save", volume.name)
        writer = ghost.write_to_holder(disk, holder, noise(4 * KIB, 1))
        with another_card(links[0]):
            writer.finish()
            run(TOOL, "set", volume.name, "--leg", "0", "--path", "0", f"nic={CARD}")
            holder.release()
            wait_path(volume, 0, True)
        # The file has the old one.
        wait_for("the loss", lambda: path_state(volume) != "live", WITHIN_S)
        assert "the lost path logs in with it" in run(TOOL, "apply", volume.name)
        wait_path(volume, 0, True)
        assert read(volume.path_sysfs(0, 0) / "ghost_writes") == "0"
