# SPDX-License-Identifier: GPL-2.0
"""istripectl doctor: a volume, its configuration file, and records that the file follows."""

import subprocess

import iscsiadm
import pytest
from faults import findings
from host import NICS, Host, portal


@pytest.fixture
def host(tool):
    return Host(tool)


def conf_finding(host, code=1):
    return next(f for f in findings(host.tool, code) if f["check"] == "conf")


def test_volume_of_a_cluster_whose_unit_is_enabled(host):
    """As that of sbd: nothing else brings it up."""
    for unit in ("pacemaker", "istripe@log"):
        host.tool.put(f"etc/systemd/system/multi-user.target.wants/{unit}.service", "")
    host.tool.put("etc/istripe/log.conf", "[leg 0]\ntarget = iqn.2026-01.a:t9\nportal = 192.0.9.9")
    found, = [found for found in findings(host.tool, 1) if found["volume"] == "log"]
    assert (found["check"], found["result"], found["next"]) == ("state", "warn", "istripectl up log")
    _, err = host.tool.run("doctor", "log", code=1)
    assert "next: istripectl up log" in err


def test_file_and_volume_differ(host):
    """As after a set without save: the next boot would take it back."""
    host.tool.put("sys/kernel/config/istripe/db/legs/1/paths/0/weight", "5")
    host.tool.put("sys/kernel/config/istripe/db/recovery_timeout_ms", "60000")
    found = conf_finding(host)
    assert found["result"] == "warn"
    assert found["measured"] == ('2 differences from it, as recovery_timeout_ms "60000" -> "120000"')
    assert found["wanted"] == "a volume that is as /etc/istripe/db.conf says"
    host.tool.run(*found["next"].split("#")[0].split()[1:])
    assert conf_finding(host, 0)["result"] == "pass"


@pytest.mark.parametrize("text, measured", [
    ("nonsense", '"nonsense" is neither'), ("[leg 0", "has no ] at its end"), ("[leg 0]\nportal = 192.0.2.10", "has 2 legs, its file 1"),
    ("[leg 0]\nwieght = 3\n[leg 1]", "has no setting"),
    ("[volume]\nfrom_node = perhaps\n[leg 0]\n[leg 1]", "from_node = perhaps: it is yes or no"),
])
def test_file_that_cannot_be_applied(host, text, measured):
    host.tool.put("etc/istripe/db.conf", text)
    found = conf_finding(host)
    assert found["result"] == "warn" and measured in found["measured"]
    assert found["wanted"] == "a file that can be applied"
    assert found["why"] == "apply fails, and so may the next boot"
    assert found["next"] == (f"${{EDITOR:-vi}} {host.tool.root}/etc/istripe/db.conf && "
                             "istripectl apply --dry-run db")


def test_file_that_follows_records_which_are_not_there(host, stock):
    stock()
    file = host.tool.root / "etc/istripe/db.conf"
    file.write_text(file.read_text().replace("[volume]\n", "[volume]\nfrom_node = yes\n"))
    found = conf_finding(host, 0)
    assert found["result"] == "skip" and "open-iscsi has no node record for TCP" in found["why"]


def test_settings_that_records_say_otherwise(host, stock):
    """To save them is in vain."""
    stock(*(iscsiadm.record(f"iqn.2026-01.a:t{leg}", portal(leg, path), nic=NICS[path])
              for leg in range(2) for path in range(2)))
    file = host.tool.root / "etc/istripe/db.conf"
    text = file.read_text().replace("[volume]\n", "[volume]\nfrom_node = yes\n")
    file.write_text(text)
    host.tool.run("apply", "db")
    assert conf_finding(host, 0)["result"] == "pass"
    host.tool.run("set", "db", "recovery_timeout=1min")
    found = conf_finding(host)
    assert found["measured"] == ('records of open-iscsi say otherwise: recovery_timeout_ms "60000" '
                                 '-> "120000"')
    assert "from_node = no in /etc/istripe/db.conf" in found["wanted"]
    command = "iscsiadm -m node -T iqn.2026-01.a:t{} -o update -n {} -v 60"
    name = "node.session.timeo.replacement_timeout"
    assert found["next"] == (f"{command.format(0, name)} && {command.format(1, name)} "
                             "# or, to follow them: istripectl apply db")
    subprocess.run(found["next"], shell=True, env=host.tool.env, check=True)
    assert conf_finding(host, 0)["result"] == "pass"


@pytest.mark.parametrize("name, value, measured, step", [
    ("node.session.timeo.replacement_timeout", "90",
     ("node.session.timeo.replacement_timeout differs, and a volume has one recovery_timeout_ms: 120 in "
      "record -T iqn.2026-01.a:t0 -p 192.0.3.10:3260 -I i-eth2, 90 in record -T iqn.2026-01.a:t1 -p "),
     ("iscsiadm -m node -T iqn.2026-01.a:t1 -p 192.0.2.11:3260 -I i-eth1 -o update "
      "-n node.session.timeo.replacement_timeout -v VALUE")),
    ("iface.initiatorname", "iqn.2026-01.a:other",
     "iface.initiatorname differs, and a volume has one initiator_name: empty in record -T ",
     "iscsiadm -m iface -I i-eth1 -o update -n iface.initiatorname -v VALUE"),
    ("node.conn[0].timeo.noop_out_timeout", "-7",
     "node.conn[0].timeo.noop_out_timeout = -7 of record -T iqn.2026-01.a:t1 -p ",
     "iscsiadm -m node -T iqn.2026-01.a:t1 -p "),
])
def test_records_that_cannot_be_followed(host, stock, name, value, measured, step):
    """The file follows them; apply fails."""
    stock(*(iscsiadm.record(f"iqn.2026-01.a:t{leg}", portal(leg, path), nic=NICS[path],
                            **({name: value} if leg else {}))
              for leg in range(2) for path in range(2)))
    file = host.tool.root / "etc/istripe/db.conf"
    file.write_text(file.read_text().replace("[volume]\n", "[volume]\nfrom_node = yes\n"))
    host.tool.run("apply", "db", code=1)
    found = conf_finding(host)
    assert found["result"] == "warn" and found["measured"].startswith(measured)
    assert "  " not in found["measured"]
    assert found["wanted"] == ("records that can be followed, or from_node = no in "
                               "/etc/istripe/db.conf")
    assert found["next"].startswith(step)
