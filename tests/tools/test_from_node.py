# SPDX-License-Identifier: GPL-2.0
"""Volumes and single paths that follow records of open-iscsi: every setting, and what has none.

A volume of two paths is made of records. One setting of a record is changed with fake_iscsiadm, then
all files of the volume are compared: those that the table names have the value, no other has changed.
"""

import errno
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from iscsiadm import (
    LATER,
    ONLY_ROOT,
    RECORD,
    SECRET,
    T1,
    change,
    rebind,
    record,
    update,
)

pytestmark = pytest.mark.slow

MUTUAL = "another-secret-of-28-characters"
CHAP = {"node.session.auth.authmethod": "CHAP", "node.session.auth.username": "me",
        "node.session.auth.password": SECRET, "node.session.auth.username_in": "it",
        "node.session.auth.password_in": MUTUAL}
RECORDS = (record(nic="eth1", **CHAP), record(address="198.51.100.10", nic="eth2", **CHAP))
PATHS = ("db/legs/0/paths/0", "db/legs/0/paths/1")
SECOND = ("-p", "198.51.100.10:3260", "-I", "i-eth2")
LIVE, DOWN = "live", "down"

#: Settings of a path: name and value as open-iscsi has them, and as the module's files do.
OF_PATHS = {
    "node.session.nr_sessions": ("4", {"connections": "4"}),
    # With passwords there is CHAP all the same, as in open-iscsi.
    "node.session.auth.authmethod": ("None", {}),
    "node.session.auth.username": ("other", {"chap_user": "other"}),
    "node.session.auth.username_in": ("array", {"chap_mutual_user": "array"}),
    "node.session.auth.password": ("battery = staple", {"chap_secret": "battery = staple"}),
    "node.session.auth.password_in": ("its-secret-is-new", {
        "chap_mutual_secret": "its-secret-is-new"}),
    "node.session.auth.chap_algs": ("SHA1,SHA256", {"chap_algorithms": "SHA256,SHA1"}),
    "node.session.iscsi.InitialR2T": ("Yes", {"initial_r2t": "Yes"}),
    "node.session.iscsi.ImmediateData": ("No", {"immediate_data": "No"}),
    "node.session.iscsi.FirstBurstLength": ("65536", {"first_burst_length": "65536"}),
    "node.session.iscsi.MaxBurstLength": ("524288", {"max_burst_length": "524288"}),
    "node.session.iscsi.MaxOutstandingR2T": ("4", {"max_outstanding_r2t": "4"}),
    "node.session.iscsi.DefaultTime2Wait": ("5", {"default_time2wait": "5"}),
    "node.session.iscsi.DefaultTime2Retain": ("60", {"default_time2retain": "60"}),
    "node.conn[0].iscsi.MaxRecvDataSegmentLength": ("131072", {
        "max_recv_data_segment_length": "131072"}),
    "node.conn[0].iscsi.HeaderDigest": ("CRC32C", {"header_digest": "CRC32C"}),
    "node.conn[0].iscsi.DataDigest": ("CRC32C,None", {"data_digest": "CRC32C,None"}),
    "node.conn[0].timeo.login_timeout": ("8", {"login_timeout_ms": "8000"}),
    "node.conn[0].timeo.noop_out_interval": ("9", {"ping_interval_ms": "9000"}),
    "node.conn[0].timeo.noop_out_timeout": ("7", {"ping_timeout_ms": "7000"}),
    "node.conn[0].tcp.window_size": ("1048576", {
        "receive_buffer_bytes": "1048576", "send_buffer_bytes": "1048576"}),
    "node.conn[0].tcp.type_of_service": ("184", {"dscp": "46"}),
    "node.conn[0].tcp.congestion_control": ("bbr", {"congestion_control": "bbr"}),
}
#: Settings that a volume has once.
OF_VOLUMES = {
    "node.session.timeo.replacement_timeout": ("30", {"recovery_timeout_ms": "30000"}, LIVE),
    "node.session.queue_depth": ("64", {"queue_depth": "64"}, DOWN),
    "iface.initiatorname": ("iqn.2026-01.a:new", {"initiator_name": "iqn.2026-01.a:new"}, DOWN),
}
#: From where to where a path is: a record with another value is that of another path.
WAYS = {"node.name": "iqn.2026-01.a:t9", "node.conn[0].address": "198.51.100.99",
        "node.conn[0].port": "3261", "iface.net_ifacename": "eth9",
        "iface.hwaddress": "02:00:00:00:00:09", "iface.ipaddress": "192.0.2.99"}


def table(tool):
    """{name of open-iscsi: names of ours, none for what is not taken} of import --table."""
    rows = re.findall(r"^(\S+) +([\w ]+|-): ", tool.run("import", "--table")[0], re.MULTILINE)
    return {theirs: set(ours.replace("-", "").split()) for theirs, ours in rows}


def files(tool):
    """{file of the volume in the tree: value}."""
    return {str(file.relative_to(tool.tree)): file.read_text().rstrip("\n")
            for file in tool.tree.rglob("*") if file.is_file()}


def changed(before, after):
    assert set(before) == set(after)
    return {name: value for name, value in after.items() if before[name] != value}


@pytest.fixture
def volume(tool, stock):
    """Up, with what the records say; volume(words...) is apply, and the files after it."""
    stock(*RECORDS)
    tool.run("import", "db", "--save")
    tool.run("up", "db")

    def apply(*words, code=0):
        tool.run("apply", *words, "db", code=code)
        return files(tool)

    assert files(tool)["db/enable"] == "1" and changed(files(tool), apply()) == {}
    return apply


def remake(tool, name, value):
    """The second record is deleted and made anew with another value."""
    first, second = re.findall("# BEGIN.*?# END RECORD\n", (tool.root / "records").read_text(),
                               re.DOTALL)
    second, count = re.subn(rf"^{re.escape(name)} = .*$", f"{name} = {value}", second,
                            flags=re.MULTILINE)
    assert count == 1
    tool.put("records", f"{first}{second}".rstrip("\n"))


# Every setting of the table

def test_all_of_the_table_is_here(tool):
    """Each row of the table is tried, and each names the settings that the tests see change."""
    rows = table(tool)
    taken = {theirs for theirs, ours in rows.items() if ours}
    assert taken == set(OF_PATHS) | set(OF_VOLUMES) | set(WAYS)
    named = {theirs: set(row[1]) for theirs, row in [*OF_PATHS.items(), *OF_VOLUMES.items()]}
    assert {theirs: ours for theirs, ours in rows.items() if theirs in named} == {
        **named, "node.session.auth.authmethod": {"chap_user"}}


@pytest.mark.parametrize("theirs", OF_PATHS)
def test_setting_of_a_path(tool, volume, theirs):
    value, ours = OF_PATHS[theirs]
    words = ["--secrets"] if ".password" in theirs else []
    before = files(tool)
    update(tool, theirs, value, *SECOND)
    if words:
        assert changed(before, volume()) == {}
    if theirs.endswith("DataDigest"):
        # The first one of the volume: without any its pages are not stable.
        assert changed(before, volume(code=1)) == {}
        tool.run("down", "db")
        tool.run("up", "--saved", "db")
    after = volume(*words)
    assert changed(before, after) == {f"{PATHS[1]}/{name}": text for name, text in ours.items()}
    assert after["db/enable"] == after[f"{PATHS[1]}/enable"] == "1"
    assert volume(*words) == after
    # The old one is taken back, also where it is a default that is left out.
    update(tool, theirs, {**RECORD, **CHAP}[theirs], *SECOND)
    assert changed(before, volume(*words)) == {}


def test_bursts_fit(tool, volume):
    """FirstBurstLength is taken only with a MaxBurstLength that is as long, also with the default."""
    names = [f"{PATHS[1]}/{name}_burst_length" for name in ("first", "max")]
    before, theirs = files(tool), "node.session.iscsi."
    for first, most, ours in (("2097152", "16776192", ["2097152", "16776192"]),
                              ("2097152", "131072", ["131072", "131072"]),
                              ("262144", "16776192", ["262144", "1048576"])):
        update(tool, f"{theirs}FirstBurstLength", first, *SECOND)
        update(tool, f"{theirs}MaxBurstLength", most, *SECOND)
        after = volume()
        assert [after[name] for name in names] == ours
    assert changed(before, after) == {}


def test_chap_goes_with_the_passwords(tool, volume):
    before = files(tool)
    for name in ("authmethod", "password", "password_in"):
        update(tool, f"node.session.auth.{name}", {"authmethod": "None"}.get(name, ""), *SECOND)
    names = ("chap_user", "chap_secret", "chap_mutual_user", "chap_mutual_secret",
             "chap_algorithms")
    assert changed(before, volume()) == {f"{PATHS[1]}/{name}": "" for name in names}
    for name in ("authmethod", "password", "password_in"):
        update(tool, f"node.session.auth.{name}", CHAP[f"node.session.auth.{name}"], *SECOND)
    assert changed(before, volume("--secrets")) == {}


def test_a_secret_of_the_file_does_not_count(tool, volume):
    """The record is named, before and when the target refuses it."""
    name, new = "node.session.auth.password", "new-horse-battery"
    changed_files = [file for file in (tool.root / "etc/istripe").iterdir()
                     if file.read_text().strip() == SECRET]
    for file in changed_files:
        file.write_text(new)
    _, err = tool.run("apply", "--secrets", "db")
    assert changed_files and new not in err and "chap_mutual_secret" not in err
    assert ("warning: leg 0 path 1 of db: the node record of open-iscsi has another chap_secret than "
            "its file, and counts\n            next: if the file is right: iscsiadm -m node "
            f"-T {T1} -p 198.51.100.10:3260 -I i-eth2 -o update -n {name} -v SECRET\n") in err
    tool.run("down", "db")
    _, err = tool.run("up", "--saved", "db", code=78, FAKE_ENABLE=str(errno.EACCES),
                      FAKE_REASON="leg 0 path 0: authentication failed (login status 0201)")
    assert (" next: where from_node has the record of open-iscsi count, and not the file:\n"
            f"            iscsiadm -m node -T TARGET -o update -n {name} -v SECRET\n") in err
    update(tool, name, new)
    assert "warning" not in tool.run("up", "--saved", "db")[1]
    assert tool.value(f"{PATHS[1]}/chap_secret") == new


def test_a_secret_that_is_set_does_not_last(tool, volume):
    """No file of a secret counts for the path; one that follows none has it from its file."""
    words = ["set", "db", "--leg", "0", "--path", "1", "chap_secret=@-"]
    tool.run("down", "db")
    _, err = tool.run(*words, text_in="new-horse-battery\n")
    assert ("leg 0 path 1 of db follows its node record of open-iscsi: the next up, or apply --secrets, "
            "takes chap_secret from there\n            next: iscsiadm -m node "
            f"-T {T1} -o update -n node.session.auth.password -v SECRET\n") in err
    assert "goes on to name" not in err
    edit(tool, leg__0__path__1="from_node = no")
    _, err = tool.run(*words, text_in="new-horse-battery\n")
    assert "goes on to name" in err and "follows its node record" not in err


def test_a_record_without_chap_counts(tool, volume):
    """The secrets of the file are not used, and that is said."""
    for name in ("password", "password_in"):
        update(tool, f"node.session.auth.{name}", "", *SECOND)
    update(tool, "node.session.auth.authmethod", "None", *SECOND)
    _, err = tool.run("apply", "--secrets", "db")
    for name in ("chap_secret", "chap_mutual_secret"):
        assert ("warning: leg 0 path 1 of db: the node record of open-iscsi has no "
                f"{name}, and counts: the path logs in without that of its file\n") in err
    assert ("next: if the file is right: iscsiadm -m node "
            f"-T {T1} -p 198.51.100.10:3260 -I i-eth2 -o update -n "
            "node.session.auth.authmethod -v CHAP, the same with") in err
    assert "path 0 of db" not in err and tool.value(f"{PATHS[1]}/chap_user") == ""


@pytest.mark.parametrize("theirs", OF_VOLUMES)
def test_setting_of_a_volume(tool, volume, theirs):
    value, ours, kind = OF_VOLUMES[theirs]
    before, wanted = files(tool), {f"db/{name}": text for name, text in ours.items()}
    if theirs.startswith("iface."):
        rebind(tool, theirs, value, "eth1")
        _, err = tool.run("apply", "db", code=1)
        assert f"{theirs} differs, and a volume has one" in err
        rebind(tool, theirs, value, "eth2")
    else:
        update(tool, theirs, value)
    if kind == DOWN:
        assert changed(before, volume(code=1)) == {}
        tool.run("down", "db")
        tool.run("up", "--saved", "db")
    assert changed(before, volume()) == wanted


@pytest.mark.parametrize("theirs", WAYS)
def test_a_record_of_another_way_is_not_that_of_the_path(tool, volume, theirs):
    tool.put("sys/class/net/eth9/address", WAYS["iface.hwaddress"])
    before = files(tool)
    # iscsiadm changes none of them in a record but those of ifaces: the record is made anew.
    update(tool, "node.conn[0].timeo.noop_out_interval", "9")
    if theirs == "iface.hwaddress":
        remake(tool, "iface.net_ifacename", "<empty>")
    remake(tool, theirs, WAYS[theirs])
    assert changed(before, volume()) == {f"{PATHS[0]}/ping_interval_ms": "9000"}


NO_NIC = {"iface.iscsi_ifacename": "i-lost", "iface.hwaddress": "02:00:00:00:00:77"}
INTERVAL = "node.conn[0].timeo.noop_out_interval"


@pytest.mark.parametrize("place", [0, 2])
@pytest.mark.parametrize("bad", [
    record(address="203.0.113.10", **NO_NIC), record(address="nobody-knows", nic="eth7"),
], ids=["no NIC", "no address"])
def test_a_record_of_another_interface_that_leads_nowhere(tool, stock, volume, place, bad):
    """Each path has a record of its own, and follows it, as open-iscsi does."""
    before, records = files(tool), list(RECORDS)
    records.insert(place, bad)
    stock(*records)
    update(tool, INTERVAL, "9", *SECOND)
    assert tool.run("apply", "db")[1] == ""
    assert changed(before, files(tool)) == {f"{PATHS[1]}/ping_interval_ms": "9000"}
    tool.run("delete", "db")
    assert tool.run("up", "db")[1] == ""
    assert files(tool)[f"{PATHS[1]}/ping_interval_ms"] == "9000"


def test_a_nic_that_is_gone(tool, stock, volume):
    """The other path follows its record all the same."""
    before = files(tool)
    nics = [tool.put(f"sys/class/net/eth{number}/address", f"02:00:00:00:00:0{number}")
            for number in (1, 2)]
    stock(*(record(address=address, **CHAP, **{"iface.iscsi_ifacename": f"i-eth{number}",
                                               "iface.hwaddress": f"02:00:00:00:00:0{number}"})
            for number, address in ((1, "192.0.2.10"), (2, "198.51.100.10"))))
    assert tool.run("apply", "db")[1] == "" and changed(before, files(tool)) == {}
    update(tool, INTERVAL, "9")
    nics[1].unlink()
    why = ("iface i-eth2 of open-iscsi has iface.hwaddress 02:00:00:00:00:02: no interface has it\n"
           "            next: iscsiadm -m iface -I i-eth2 -o update -n iface.net_ifacename -v NIC\n")
    _, err = tool.run("apply", "db")
    assert err == f"istripectl: warning: leg 0 path 1 of db is as its file says: {why}"
    assert changed(before, files(tool)) == {f"{PATHS[0]}/ping_interval_ms": "9000"}
    # One that has to follow; or none that can.
    edit(tool, leg__0__path__1="from_node = yes")
    assert tool.run("apply", "db", code=1)[1] == f"istripectl: {why}"
    edit(tool, volume="from_node = yes")
    nics[0].unlink()
    _, err = tool.run("apply", "db", code=1)
    assert err == f"istripectl: {why}".replace("eth2", "eth1").replace(":02:", ":01:")


@pytest.mark.parametrize("order", [("192.0.2.10", "192.0.2.11"), ("192.0.2.11", "192.0.2.10")])
def test_a_record_with_a_name_of_several_addresses(tool, stock, order):
    """The first one is taken; whichever it is later, the record is that of the path, and of another
    path with another one.
    """
    tool.put("etc/hosts", "192.0.2.10 array\n192.0.2.11 array")
    stock(record(address="array", nic="eth1"))
    _, err = tool.run("import", "db", "--save")
    assert err == ("istripectl: warning: leg 0 path 0 of db: portal: the host name array has 2 "
                   "addresses: 192.0.2.10 is taken\n")
    with open(tool.root / "etc/istripe/db.conf", "a", encoding="utf-8") as file:
        file.write("\n[leg 0 path 1]\nportal = 192.0.2.11\nnic = eth1\nfrom_node = yes\n")
    tool.put("etc/hosts", "".join(f"{address} array\n" for address in order).rstrip("\n"))
    update(tool, "node.session.nr_sessions", "2")
    assert tool.run("up", "--saved", "db")[1] == ""
    assert tool.run("apply", "db") == ("", "")
    assert [tool.value(f"{path}/{name}") for path in PATHS for name in ("portal", "connections")] == [
        "192.0.2.10:3260", "2", "192.0.2.11:3260", "2"]


# What has no meaning here

def other(name):
    """Another value that open-iscsi could have there."""
    value = RECORD[name]
    known = {"Yes": "No", "No": "Yes", "manual": "automatic", "static": "send_targets",
             "auto": "manual", "tcp": "iser", "<empty>": "something"}
    return known.get(value) or (str(int(value) + 1) if value.lstrip("-").isdigit() else "another")


def is_fixed(name):
    """iscsiadm looks records up by it."""
    return name == "node.tpgt" or name.startswith("node.discovery_")


def meaningless(tool):
    """Names of records that no row takes."""
    rows = table(tool)
    return [name for name in RECORD if not rows.get(name)]


def test_settings_without_a_meaning_change_nothing(tool, volume):
    names = meaningless(tool)
    before = files(tool)
    assert len(names) > 60 and {"node.startup", "node.session.cmds_max", "iface.mtu",
                                "node.conn[0].iscsi.IFMarker"} <= set(names)
    for name in names:
        if name.startswith("node."):
            if is_fixed(name):
                remake(tool, name, other(name))
            else:
                update(tool, name, other(name), *SECOND)
            assert changed(before, volume()) == {}, name
    # Those of adapters, all at once; the name of the iface is the last.
    for name in names:
        if name.startswith("iface.") and name not in ("iface.transport_name",
                                                      "iface.iscsi_ifacename"):
            rebind(tool, name, other(name), "eth2")
    remake(tool, "iface.iscsi_ifacename", "another")
    text = (tool.root / "records").read_text()
    assert text.count("\niface.mtu = 1\n") == text.count("\niface.vlan_id = 1\n") == 1
    assert changed(before, volume()) == {}
    # The record is still that of the path; with another transport it is not.
    update(tool, "node.conn[0].timeo.noop_out_interval", "9", *SECOND[:2])
    assert changed(before, volume()) == {f"{PATHS[1]}/ping_interval_ms": "9000"}
    remake(tool, "iface.transport_name", "iser")
    assert changed(before, volume()) == {}


def test_iscsid_conf_is_not_read(tool, volume):
    """Rows of the daemon and of discovery are no settings of records: nothing follows them."""
    rows = table(tool)
    assert {name for name in rows if not name.startswith(("node.", "iface."))} == {
        "iscsid.*", "discovery.*", "discovery.sendtargets.auth.*",
        "discovery.sendtargets.use_discoveryd", "discovery.isns.use_discoveryd"}
    before = files(tool)
    tool.put("etc/iscsi/iscsid.conf", "iscsid.startup = /bin/false\niscsid.safe_logout = Yes\n"
             "discovery.sendtargets.iscsi.MaxRecvDataSegmentLength = 8192\n"
             "node.conn[0].timeo.noop_out_interval = 33")
    assert changed(before, volume()) == {}


CONF = Path("/etc/iscsi/iscsid.conf")
real_iscsiadm = pytest.mark.skipif(not shutil.which("iscsiadm") or not CONF.exists(),
                                   reason="open-iscsi is not installed")


@real_iscsiadm
def test_names_of_iscsid_conf(tool):
    """Each name, in use or as a comment, is tried above or has a row that says why it is not taken."""
    text = CONF.read_text(encoding="utf-8")
    names = set(re.findall(r"^#? ?((?:node|iscsid|discovery|iface|isns)\.\S+) *=", text,
                           re.MULTILINE))
    rows = table(tool)
    tried = {*OF_PATHS, *OF_VOLUMES, *WAYS, *meaningless(tool)}
    assert len(names) > 40
    assert {name for name in names - tried if name not in rows and not name.startswith(
        ("iscsid.", "discovery."))} == set()
    assert len(names & {*OF_PATHS, *OF_VOLUMES}) > 17


REAL = r"""
set -e
mount -t tmpfs none /etc/iscsi
printf 'InitiatorName=iqn.2026-01.a:host\n' > /etc/iscsi/initiatorname.iscsi
: > /etc/iscsi/iscsid.conf
iscsiadm -m node -o new -T "$1" -p 192.0.2.10 > /dev/null 2>&1
# They say no, and change nothing.
for name in iface.mtu node.name node.tpgt node.discovery_address node.discovery_port \
	node.discovery_type node.conn[0].address node.conn[0].port; do
	! iscsiadm -m node -T "$1" -o update -n "$name" -v 1 2>> /etc/iscsi/refused
done
target=$1
shift
while [ $# != 0 ]; do
	iscsiadm -m node -T "$target" -o update -n "$1" -v "$2"
	shift 2
done
iscsiadm -m node -o show -S
grep 'Cannot modify' /etc/iscsi/refused
"""


@real_iscsiadm
@ONLY_ROOT
def test_the_double_prints_what_iscsiadm_does(tool, stock):
    """Each value of the tests is one that the real program takes, and it prints it the same way."""
    stock(record())
    path = {"PATH": tool.env["PATH"].split(":", 1)[1]}
    values = {name: row[0] for name, row in [*OF_PATHS.items(), *OF_VOLUMES.items()]}
    values = {**values, "node.session.auth.authmethod": "CHAP",
              **{name: other(name) for name in meaningless(tool)
                 if name.startswith("node.") and not is_fixed(name)}}
    values = {name: value for name, value in values.items()
              if name.startswith("node.") and name not in LATER}
    for name, value in values.items():
        update(tool, name, value)
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", REAL, "sh", T1,
         *(word for pair in values.items() for word in pair)],
        env={**tool.env, **path}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    shown = dict(re.findall(r"^(\S+) = (.*)$", done.stdout, re.MULTILINE))
    double = dict(re.findall(r"^(\S+) = (.*)$", (tool.root / "records").read_text(), re.MULTILINE))
    assert {name: shown.get(name) for name in values} == {name: double[name] for name in values}
    for line in re.findall(r"^iscsiadm: Cannot modify (\S+)\. (.*)$", done.stdout, re.MULTILINE):
        refused = subprocess.run(["iscsiadm", "-m", "node", "-T", T1, "-o", "update", "-n",
                                  line[0], "-v", "1"], env=tool.env, capture_output=True,
                                 text=True, check=False)
        assert refused.returncode == 7
        assert refused.stderr == f"iscsiadm: Cannot modify {line[0]}. {line[1]}\n"
    assert done.stdout.count("Cannot modify") == 8


# Single paths

def edit(tool, **sections):
    """The file, with lines in sections; "__" in a name is a blank."""
    file = tool.root / "etc/istripe/db.conf"
    text = file.read_text().replace("from_node = yes\n", "")
    for section, line in sections.items():
        header = f"[{section.replace('__', ' ')}]\n"
        assert text.count(header) == 1
        text = text.replace(header, f"{header}{line}\n")
    file.write_text(text)


def tuned(tool):
    """The records have new values of paths and of the volume."""
    update(tool, "node.conn[0].timeo.noop_out_interval", "9")
    update(tool, "node.session.timeo.replacement_timeout", "30")


PINGS = [{f"{path}/ping_interval_ms": "9000"} for path in PATHS]
BOTH, RECOVERY = {**PINGS[0], **PINGS[1]}, {"db/recovery_timeout_ms": "30000"}


@pytest.mark.parametrize("sections, wanted", [
    ({"leg__0__path__1": "from_node = yes"}, PINGS[1]),
    ({"leg__0__path__0": "from_node = yes"}, PINGS[0]),
    ({"volume": "from_node = no", "leg__0__path__1": "from_node = yes"}, PINGS[1]),
    ({"volume": "from_node = yes", "leg__0__path__1": "from_node = no"}, {**PINGS[0], **RECOVERY}),
    ({"leg__0": "from_node = yes"}, BOTH),
    ({"paths": "from_node = yes"}, BOTH),
    ({"paths": "from_node = yes", "leg__0__path__0": "from_node = no"}, PINGS[1]),
    ({"paths": "from_node = no", "leg__0": "from_node = yes"}, BOTH),
    ({"volume": "from_node = yes"}, {**BOTH, **RECOVERY}),
    ({"volume": "from_node = no"}, {}),
    ({}, {}),
])
def test_which_paths_follow(tool, volume, sections, wanted):
    before = files(tool)
    edit(tool, **sections)
    assert changed(before, volume()) == {}
    tuned(tool)
    assert changed(before, volume()) == wanted
    # As after a reboot, and when the file is written anew.
    after = files(tool)
    tool.run("save", "db")
    tool.run("delete", "db")
    tool.run("up", "db")
    assert changed(after, files(tool)) == {} and changed(after, volume()) == {}
    update(tool, "node.conn[0].timeo.noop_out_interval", "8")
    assert set(changed(after, volume())) == {name for name in wanted if "ping" in name}


# What is set while a record says otherwise

def commands(err):
    """The lines of advice that are iscsiadm's."""
    return re.findall(r"^ +(iscsiadm .*)$", err, re.MULTILINE)


def obey(tool, err):
    for line in commands(err):
        subprocess.run(line, shell=True, env=tool.env, check=True)


def again(tool):
    """As after a reboot: the files of the volume."""
    tool.run("delete", "db")
    tool.run("up", "--saved", "db")
    return files(tool)


def test_save_names_what_records_say_otherwise(tool, volume):
    before, conf = files(tool), tool.root / "etc/istripe/db.conf"
    _, err = tool.run("set", "db", "recovery_timeout=-1")
    assert "has from_node = yes: what records of open-iscsi say counts" in err
    assert "next: istripectl save" not in err
    for words in (["--dry-run"], [], ["--boot"]):
        out, err = tool.run("save", *words, "db", code=1)
        assert "db.conf" in out
        assert '  recovery_timeout_ms "-1" -> "120000"' in err
        assert f"from_node = no in {conf}" in err
        assert [line.split(" -o ")[0] for line in commands(err)] == [f"iscsiadm -m node -T {T1}"]
    assert "start istripe@db.service" in tool.enabled()
    assert "\nfrom_node = yes\n" in conf.read_text()
    assert "\nrecovery_timeout_ms = -1\n" in conf.read_text()
    # It is true, and what it says helps.
    assert changed(before, again(tool)) == {}
    tool.run("set", "db", "recovery_timeout=-1")
    obey(tool, err)
    assert tool.run("save", "db")[1] == ""
    assert changed(before, again(tool)) == {"db/recovery_timeout_ms": "-1"}


@pytest.mark.parametrize("legs, saved, each", [
    (4, 64, 16), (4, 62, None), (3, 1024, 342), (4, 128, None),
])
def test_save_names_the_queue_depth_of_each_leg(tool, stock, legs, saved, each):
    """The volume has that of all legs; 32 of each is left out."""
    name = "node.session.queue_depth"
    stock(*(record(f"{T1}{leg}", **{name: "7"}) for leg in range(legs)))
    tool.run("import", "db", "--save")
    tool.run("up", "db")
    assert files(tool)["db/queue_depth"] == str(7 * legs)
    for leg in range(legs):
        change(tool, name, "8", "node", "-T", f"{T1}{leg}")
    tool.run("down", "db")
    tool.run("apply", "db")
    assert files(tool)["db/queue_depth"] == str(8 * legs)
    tool.run("set", "db", f"queue_depth={saved}")
    _, err = tool.run("save", "db", code=1)
    assert f'queue_depth "{saved}" -> "{8 * legs}"' in err
    commands = [f"  iscsiadm -m node -T {T1}{leg} -o update -n {name} -v {each}\n"
                for leg in range(legs)]
    assert (f"-n {name}" in err) == bool(each)
    if each:
        assert all(command in err for command in commands)
        for leg in range(legs):
            change(tool, name, each, "node", "-T", f"{T1}{leg}")
        assert tool.run("save", "db")[1] == ""


def test_save_invents_no_secret_that_a_record_says(tool, volume):
    """The next boot would miss its file."""
    update(tool, "node.session.auth.username", "you")
    before = volume()
    assert "you" in before.values()
    _, err = tool.run("save", "db")
    assert "chap_secret" not in err
    assert changed(before, again(tool)) == {}


def test_settings_of_a_path_and_of_an_iface(tool, volume):
    before = files(tool)
    tool.run("down", "db")
    tool.run("set", "db", "initiator_name=iqn.2026-01.a:new")
    _, err = tool.run("set", "db", "--leg", "0", "--path", "1",
                      "dscp=46,ping_interval=9s,weight=3")
    # The weight is in no record.
    assert 'leg 0 path 1: dscp "46" -> "0"' in err and "next: istripectl save db" in err
    _, err = tool.run("save", "db", code=1)
    assert "weight" not in err and "next: istripectl save" not in err
    assert [line.split(" -o ")[0] for line in commands(err)] == [
        f"iscsiadm -m node -T {T1} -p 198.51.100.10:3260 -I i-eth2"] * 2
    wanted = {f"{PATHS[1]}/{name}": value for name, value in (
        ("dscp", "46"), ("ping_interval_ms", "9000"), ("weight", "3"))}
    obey(tool, err)
    assert tool.run("save", "db")[1] == ""
    rebind(tool, "iface.initiatorname", "iqn.2026-01.a:both", "eth1")
    rebind(tool, "iface.initiatorname", "iqn.2026-01.a:both", "eth2")
    _, err = tool.run("save", "db", code=1)
    assert [line.split(" -o ")[0] for line in commands(err)] == [
        "iscsiadm -m iface -I i-eth1", "iscsiadm -m iface -I i-eth2"]
    obey(tool, err)
    assert tool.run("save", "db")[1] == ""
    assert changed(before, again(tool)) == {**wanted, "db/initiator_name": "iqn.2026-01.a:new"}


@pytest.mark.parametrize("name, value", [
    ("recovery_timeout_ms", "1500"), ("ping_timeout_ms", "500"), ("max_outstanding_r2t", "1"),
    ("chap_algorithms", ""),
])
def test_a_value_that_no_record_can_have(tool, volume, name, value):
    """Parts of a second, open-iscsi's defaults, which are left out, and all algorithms."""
    place = [] if name == "recovery_timeout_ms" else ["--leg", "0", "--path", "1"]
    tool.run("down", "db")
    tool.run("set", "db", *place, f"{name}={value}")
    _, err = tool.run("save", "db", code=1)
    assert f'{name} "{value}" -> ' in err and commands(err) == [] and err.endswith("counts\n")
    # The file counts when it does not follow.
    edit(tool, volume="from_node = no")
    assert tool.run("save", "db")[1] == ""
    assert again(tool)[f"{PATHS[1]}/{name}" if place else f"db/{name}"] == value


def test_many_settings_that_records_say_otherwise(tool, volume):
    tool.run("down", "db")
    for path in ("0", "1"):
        tool.run("set", "db", "--leg", "0", "--path", path,
                 "dscp=1,ping_interval=9s,ping_timeout=7s,login_timeout=8s,connections=2")
    _, err = tool.run("save", "db", code=1)
    assert err.count("  and 2 more\n") == 2 and len(commands(err)) == 8


def test_records_that_cannot_be_read_override_nothing(tool, volume):
    """The next up takes the file then."""
    tool.run("set", "db", "recovery_timeout=-1")
    assert tool.run("save", "db", FAKE_ISCSIADM="6")[1] == ""


def test_own_values_of_the_other_path(tool, volume):
    """A path that does not follow is as the file says, also where its record differs."""
    edit(tool, leg__0__path__0="ping_interval = 1s", leg__0__path__1="from_node = yes")
    tuned(tool)
    after = volume()
    assert [after[f"{path}/ping_interval_ms"] for path in PATHS] == ["1000", "9000"]
    # The record of a path that does not follow may be wrong.
    update(tool, "node.session.nr_sessions", "99", "-p", "192.0.2.10:3260")
    assert changed(after, volume()) == {}
    update(tool, "node.session.nr_sessions", "99", *SECOND)
    _, err = tool.run("apply", "db", code=1)
    assert "node.session.nr_sessions = 99 of record" in err and changed(after, files(tool)) == {}


def test_records_may_differ_when_only_paths_follow(tool, volume):
    before = files(tool)
    edit(tool, paths="from_node = yes")
    update(tool, "node.session.queue_depth", "7", *SECOND)
    assert changed(before, volume()) == {}
    edit(tool, volume="from_node = yes")
    _, err = tool.run("apply", "db", code=1)
    assert "node.session.queue_depth differs, and a volume has one queue_depth:" in err
    edit(tool, volume="from_node = yes", leg__0__path__1="from_node = no")
    assert changed(before, volume()) == {}


def test_a_path_that_has_to_follow_needs_its_record(tool, stock, volume):
    before = files(tool)
    edit(tool, leg__0__path__1="from_node = yes")
    stock(RECORDS[0])
    _, err = tool.run("apply", "db", code=1)
    assert (f"leg 0 path 1 of volume db has no node record of open-iscsi: target {T1}, "
            "portal 198.51.100.10:3260") in err
    assert "from_node = no for this path in the file of the volume" in err
    assert changed(before, files(tool)) == {}
    # At boot the file is enough.
    tool.run("delete", "db")
    _, err = tool.run("up", "db")
    assert "has no node record" in err and "db is configured as its file says" in err
    assert changed(before, files(tool)) == {}


@pytest.mark.parametrize("sections, message", [
    ({"leg__0__path__1": "from_node = maybe"}, "leg 0 path 1: from_node = maybe: it is yes or no"),
    ({"paths": "from_node = 1"}, "leg 0 path 0: from_node = 1: it is yes or no"),
    ({"volume": "from_node = yes", "paths": "from_node = no"},
     "volume db has from_node = yes, but no path of it has"),
])
def test_what_cannot_be(tool, volume, sections, message):
    before = files(tool)
    edit(tool, **sections)
    _, err = tool.run("apply", "db", code=1)
    assert message in err and changed(before, files(tool)) == {}


def test_import_of_legs_of_which_some_follow(tool, stock):
    stock(record(T1, nic="eth1"), record("iqn.2026-01.a:t2", "192.0.2.20", nic="eth1"))
    legs = ["--leg", f"target={T1},from_node=yes",
            "--leg", "target=iqn.2026-01.a:t2,ping_interval=1s"]
    out, _ = tool.run("import", "db", "--once", *legs)
    assert "from_node" not in out.split("[paths]")[0]
    assert re.search(r"\[leg 0\]\n(?:[^\[]*\n)?from_node = yes\n", out)
    assert "from_node" not in out.split("[leg 1]")[1]
    legs[1], legs[3] = f"target={T1}", f"{legs[3]},from_node=no"
    out, _ = tool.run("import", "db", *legs)
    assert "from_node = yes" in out.split("[paths]")[0]
    assert "from_node = no" in out.split("[leg 1]")[1]
    _, err = tool.run("import", "db", "--once", "--leg", f"target={T1},from_node=yes,dscp=1", code=2)
    assert "dscp is node.conn[0].tcp.type_of_service of the records" in err
    _, err = tool.run("import", "db", "--leg", f"target={T1},from_node=perhaps", code=2)
    assert "from_node = perhaps: it is yes or no" in err
    tool.run("import", "db", "--save", "--set", "from_node=no,recovery_timeout=9s")
    assert "from_node = no" in (tool.root / "etc/istripe/db.conf").read_text()


@pytest.mark.parametrize("words, code", [
    (["create", "new", "--leg", f"target={T1},portal=192.0.2.1,from_node=yes"], 1),
    (["create", "new", "--dry-run", "--set", "from_node=yes", "--leg",
      f"target={T1},portal=192.0.2.1"], 1),
    (["path", "add", "db", "0", "portal=192.0.2.77,from_node=yes"], 1),
    (["set", "db", "--leg", "0", "--path", "1", "from_node=yes"], 1),
    (["set", "db", "--dry-run", "from_node=no"], 1),
])
def test_commands_that_write_no_file(tool, volume, words, code):
    before = files(tool)
    out, err = tool.run(*words, code=code)
    assert not out and "from_node is for the file of a volume, and for import" in err
    assert f"next: istripectl save {words[1] if words[0] != 'path' else 'db'}, write it there" in err
    assert changed(before, files(tool)) == {}
