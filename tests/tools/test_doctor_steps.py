# SPDX-License-Identifier: GPL-2.0
"""istripectl doctor: the commands that it proposes, and where it proposes none."""

import pytest
from faults import both, file, findings, path_file, setting, volume_setting, without
from host import NICS, Host, portal
from iscsiadm import record
from texts import shell_words


@pytest.fixture
def host(tool):
    return Host(tool)


def warned(host, check):
    return [finding for finding in findings(host.tool, 1, "warn") if finding["check"] == check]


def test_a_file_is_edited_with_the_editor_of_the_user(host):
    host.put("etc/multipath/conf.d/a b.conf", 'blacklist_exceptions {\n  devnode ".*"\n}')
    found, = warned(host, "multipath")
    assert found["next"].startswith("${EDITOR:-vi} ")
    assert shell_words(found["next"].split(" && ")[0].removeprefix("${EDITOR:-vi} ")) == [
        "/etc/multipath/conf.d/a b.conf"]


@pytest.mark.parametrize("package, installer, folder", [("rpm", "dnf", "sysconfig"),
                                                        ("dpkg", "apt", "default")])
def test_irqbalance_runs_once_it_is_there(host, package, installer, folder):
    """Only packages of Debian start what they bring, and only when they are new. One that runs has
    been told to leave them there, or has not looked since.
    """
    host.put(f"usr/bin/{package}", "")
    host.put("proc/irq/31/effective_affinity_list", "0")
    assert warned(host, "interrupts")[0]["next"] == (
        f"{installer} install irqbalance && systemctl enable --now irqbalance")
    host.put("proc/88/comm", "irqbalance")
    assert warned(host, "interrupts")[0]["next"] == (
        f"${{EDITOR:-vi}} /etc/{folder}/irqbalance && systemctl restart irqbalance "
        "# without what bans processors or interrupts there")


#: What needs the volume down to be mended: (check, fault, the change).
CHANGES = [
    ("route", both(setting("source_address", "192.0.3.1"),
                   file("fake/addresses", "eth1 192.0.2.1 24\neth2 192.0.3.1 24")),
     "istripectl set db --leg 0 --path 0 nic=eth1,source="),
    ("initiator-name", volume_setting("initiator_name", "iqn.2003-01.com.example:host"),
     "istripectl set db initiator_name=$N"),
]


@pytest.mark.parametrize("check, plant, change", CHANGES, ids=[check for check, *_ in CHANGES])
def test_a_volume_that_is_down_stays_down(tool, check, plant, change):
    """Another host of a cluster may have it, here without a unit that is enabled."""
    host = Host(tool, paths=1)
    both(file("etc/systemd/system/multi-user.target.wants/pacemaker.service", ""),
         without("etc/systemd/system/multi-user.target.wants/istripe@db.service"), plant)(host)
    found = warned(host, check)[0]
    assert found["next"].endswith(f"istripectl down db && {change} && istripectl up db")
    tool.run("down", "db")
    found = findings(tool, 1, "warn")
    assert next(one for one in found if one["check"] == check)["next"].endswith(change)
    assert not [one["next"] for one in found if "istripectl up" in one["next"]]


def test_a_secret_of_several_paths_is_one_step(host):
    """A path that fails for something else, or has writes that were lost, has its own."""
    refused = "login: authentication failed (login status 0201)"
    for leg, path, error in ((0, 0, refused), (0, 1, "no answer"), (1, 0, refused), (1, 1, refused)):
        both(path_file("state", "refused", leg, path), path_file("last_error", error, leg, path))(host)
    found = {one["subject"]: one["next"] for one in warned(host, "path-state")}
    assert set(found) == {"leg 0 path 0, leg 1 path 0, leg 1 path 1", "leg 0 path 1"}
    assert found["leg 0 path 0, leg 1 path 0, leg 1 path 1"] == (
        "compare chap_user and chap_secret with the target's, then istripectl set db --leg 0 --path 0 "
        "chap_secret=@FILE, FILE being that of its configuration file; the same with "
        "--leg 1 --path 0, --leg 1 --path 1")
    path_file("unfenced", "1", 1, 0)(host)
    assert [one["subject"] for one in warned(host, "path-state")] == [
        "leg 0 path 0, leg 1 path 1", "leg 0 path 1", "leg 1 path 0"]


def test_a_secret_that_a_record_says_is_changed_there(host, stock):
    """What set gives, and the file, would last until the next apply; one path follows its file."""
    stock(*(record(f"iqn.2026-01.a:t{leg}", portal(leg, path), nic=NICS[path])
            for leg in range(2) for path in range(2)))
    conf = host.tool.root / "etc/istripe/db.conf"
    conf.write_text(conf.read_text().replace("[volume]\n", "[volume]\nfrom_node = yes\n")
                    .replace("[leg 1 path 1]\n", "[leg 1 path 1]\nfrom_node = no\n"))
    refused = "login: authentication failed (login status 0201)"
    for leg, path in ((0, 0), (0, 1), (1, 0), (1, 1)):
        both(path_file("state", "refused", leg, path), path_file("last_error", refused, leg, path))(host)
    assert {one["subject"]: one["next"] for one in warned(host, "path-state")} == {
        "leg 0 path 0, leg 0 path 1, leg 1 path 0":
        "iscsiadm -m node -T TARGET -o update -n node.session.auth.password -v SECRET, "
        "then istripectl apply --secrets db",
        "leg 1 path 1":
        "compare chap_user and chap_secret with the target's, then istripectl set db --leg 1 --path 1 "
        "chap_secret=@FILE, FILE being that of its configuration file"}
