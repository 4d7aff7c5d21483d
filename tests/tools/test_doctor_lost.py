# SPDX-License-Identifier: GPL-2.0
"""istripectl doctor while paths are lost: no step that it names does harm."""

import itertools

import iscsiadm
import pytest
from faults import (
    IDLE,
    both,
    file,
    findings,
    not_logged_in,
    path_file,
    setting,
    volume_setting,
)
from host import NICS, Host, portal

LEG = "sys/block/istripe0/istripe/legs/0"
TIMEOUT = "ROOT/sys/kernel/config/istripe/db/recovery_timeout_ms"
LATER = "istripectl status db # then, when all legs are live: "
FAILS = "now it would fail at once all I/O that has waited longer"
WAITS = {"down": ("down_ms", "600000"), "unserved": ("waiting_ms", "5000"),
         "fence": ("paths/1/waiting_writes", "3")}


@pytest.fixture
def host(tool):
    return Host(tool)


def finding_of(host, check):
    found, = [found for found in findings(host.tool, 1, "warn") if found["check"] == check]
    return {name: str(value).replace(str(host.tool.root), "ROOT") for name, value in found.items()}


def waits(how):
    name, value = WAITS[how]
    return file(f"{LEG}/{name}", value)


# recovery_timeout_ms, which counts from the beginning of an outage that there is

@pytest.mark.parametrize("how", WAITS)
def test_the_wait_of_an_outage_is_not_ended(host, how):
    both(volume_setting("recovery_timeout_ms", "-1"), waits(how))(host)
    found = finding_of(host, "recovery-timeout")
    assert found["next"] == f"{LATER}echo 120000 > {TIMEOUT}"
    assert found["why"].endswith(FAILS)


@pytest.mark.parametrize("plant, step", [
    # Nothing waits.
    (both(volume_setting("recovery_timeout_ms", "-1"), file(f"{LEG}/down_ms", "0")), "120000"),
    # What waits may wait longer.
    (both(volume_setting("recovery_timeout_ms", "0"), waits("down")), "120000"),
    (both(volume_setting("command_timeout_ms", "300000"), waits("down")), "600000"),
])
def test_a_step_that_fails_nothing_is_for_now(host, plant, step):
    plant(host)
    found = finding_of(host, "recovery-timeout")
    assert found["next"] == f"echo {step} > {TIMEOUT}" and FAILS not in found["why"]


def test_recovery_is_longer_than_it_takes_to_notice(host):
    """Once it is as proposed the check has nothing more to say."""
    for leg, path in itertools.product((0, 1), (0, 1)):
        setting("ping_interval_ms", "90000", leg, path)(host)
        setting("ping_timeout_ms", "90000", leg, path)(host)
    volume_setting("recovery_timeout_ms", "150000")(host)
    assert [found["wanted"] for found in findings(host.tool, 1, "warn")
            if found["check"] == "recovery-timeout"] == [360000]
    volume_setting("recovery_timeout_ms", "360000")(host)
    assert "recovery-timeout" not in {found["check"] for found in findings(host.tool, 1, "warn")}


@pytest.mark.parametrize("how", WAITS)
def test_a_file_that_ends_the_wait_is_not_applied(host, how):
    host.tool.put("sys/kernel/config/istripe/db/recovery_timeout_ms", "-1")
    waits(how)(host)
    found = finding_of(host, "conf")
    assert found["next"] == "istripectl save db" and found["why"].endswith(FAILS)


@pytest.mark.parametrize("name, value", [("recovery_timeout_ms", "60000"), ("command_timeout_ms", "31000")])
def test_a_file_that_ends_no_wait_may_be_applied(host, name, value):
    host.tool.put(f"sys/kernel/config/istripe/db/{name}", value)
    waits("down")(host)
    found = finding_of(host, "conf")
    assert found["next"] == "istripectl save db # or, to follow it: istripectl apply db"
    assert FAILS not in found["why"]


@pytest.fixture
def follower(host, stock):
    """Its file follows records of open-iscsi; a leg is lost."""
    stock(*(iscsiadm.record(f"iqn.2026-01.a:t{leg}", portal(leg, path), nic=NICS[path])
            for leg in range(2) for path in range(2)))
    conf = host.tool.root / "etc/istripe/db.conf"
    conf.write_text(conf.read_text().replace("[volume]\n", "[volume]\nfrom_node = yes\n"))
    host.tool.run("apply", "db")
    waits("down")(host)
    return host


# The latter no record can have.
@pytest.mark.parametrize("value, step", [("-1", "iscsiadm -m node -T "),
                                         ("150500ms", f"{LATER}istripectl apply db")])
def test_records_that_end_the_wait_are_not_applied(follower, value, step):
    follower.tool.run("set", "db", f"recovery_timeout={value}")
    found = finding_of(follower, "conf")
    assert found["next"].startswith(step) and "or, to follow" not in found["next"]
    assert found["why"].endswith(FAILS)


def off(host):
    """A path that the volume does not have, as it is not to try."""
    not_logged_in(host)
    host.tool.put(host.config(0, 0, "enable"), "0")


@pytest.mark.parametrize("plant", [off, both(path_file("state", "refused"), path_file(
    "last_error", "login: authentication failed (login status 0201)"))])
@pytest.mark.parametrize("saved", [True, False])
def test_no_step_takes_the_file_for_what_is_meant(host, plant, saved):
    """Nobody has saved that I/O may wait without end, nor a path in the place of a lost one."""
    host.tool.put("sys/kernel/config/istripe/db/recovery_timeout_ms", "-1")
    both(file("sys/block/istripe0/istripe/recovery_timeout_ms", "-1"),
         file("sys/block/istripe0/istripe/state", "waiting"), waits("down"), plant)(host)
    if not saved:
        (host.tool.root / "etc/istripe/db.conf").unlink()
    found = findings(host.tool, 1, "warn")
    assert "path-state" in {one["check"] for one in found}
    assert not [one["next"] for one in found if "istripectl apply" in one["next"]]


def test_no_link_goes_down_that_a_leg_needs(host):
    both(IDLE, lambda host: host.ping(1480),
         *(path_file("state", "backoff", leg, 1) for leg in (0, 1)))(host)
    steps = {one["subject"]: one["next"] for one in findings(host.tool, 1, "warn")
             if one["check"] == "path-mtu"}
    assert steps["leg 0 path 0"] == "ping -M do -c 3 -s 8972 -I eth1 192.0.2.10"
    assert steps["leg 0 path 1"].startswith("ip link set dev eth2 mtu 1450")


# What brings a path back

@pytest.mark.parametrize("error, step", [
    ("login: authentication failed (login status 0201)",
     ("compare chap_user and chap_secret with the target's, then istripectl set db --leg 0 --path 0 "
      "chap_secret=@FILE, FILE being that of its configuration file")),
    ("cannot connect to 192.0.2.10:3260 over eth1: no such network device (-ENODEV)",
     "ip -br link; istripectl set db --leg 0 --path 0 nic=NEW, then istripectl save db"),
    ("login: initiator is not allowed to use this target (login status 0202)",
     "admit the initiator iqn.2026-01.a:host at the target iqn.2026-01.a:t0"),
    ("login: service unavailable (login status 0301)",
     "istripectl discover 192.0.2.10:3260 lists the names there are"),
    ("login: the target does not answer", "istripectl rescan db; istripectl status db"),
])
def test_the_step_is_that_of_the_reason(host, error, step):
    both(path_file("state", "backoff"), path_file("last_error", error))(host)
    assert finding_of(host, "path-state")["next"] == step
