# SPDX-License-Identifier: GPL-2.0
"""Records of open-iscsi: what istripectl makes of them, and what it says of each of its settings.

node_record.txt is what iscsiadm prints for a new record; fake_iscsiadm prints such records.
Tests with real_iscsiadm are skipped where it is not installed.
"""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import TOP
from iscsiadm import ONLY_ROOT, RECORD, SECRET, T1, T2, TWO, asked, record
from texts import shell_words

MANUAL = TOP / "tools/istripectl/istripectl.8"
MUTUAL = "another-secret-of-28-characters"
CHAP = {"node.session.auth.authmethod": "CHAP", "node.session.auth.username": "me",
        "node.session.auth.password": SECRET}
P0 = "db/legs/0/paths/0"


def sections(text):
    """{section: {name: value}} of a configuration file."""
    found = {}
    for line in text.splitlines():
        if header := re.fullmatch(r"\[(.*)\]", line):
            values = found.setdefault(header[1], {})
        elif setting := re.fullmatch(r"([a-z]\w*) = ?(.*)", line):
            values[setting[1]] = setting[2]
    return found


def imported(tool, *words, **env):
    return sections(tool.run("import", "db", *words, **env)[0])


# Paths and legs

def test_each_record_is_a_path(tool, stock):
    found = imported(tool)
    assert found["volume"] == {"initiator_name": "iqn.2026-01.a:host", "from_node": "yes",
                               "metadata": "md"}
    assert found["leg 0"] == {"target_name": T1, "lun": "0"}
    assert found["leg 0 path 0"] == {"portal": "192.0.2.10:3260", "nic": "eth1"}
    assert found["leg 0 path 1"] == {"portal": "198.51.100.10:3260", "nic": "eth2"}
    assert "leg 1" not in found and "leg 0 path 2" not in found
    # Nothing is made, and open-iscsi is only asked.
    assert asked(tool) == ["-m node -o show -S"]
    assert tool.volumes() == [] and not list((tool.root / "etc/istripe").iterdir())
    assert imported(tool, "--dry-run") == found


def test_each_target_is_a_leg_without_leg(tool, stock):
    stock(record(T1), record(T2, address="2001:db8::1", port=3261), record(T2, "192.0.2.9"))
    found = imported(tool)
    assert found["leg 0"]["target_name"] == T1 and found["leg 1"]["target_name"] == T2
    assert found["leg 1 path 0"]["portal"] == "[2001:db8::1]:3261"
    assert found["leg 1 path 1"]["portal"] == "192.0.2.9:3260"


def test_leg_chooses(tool, stock):
    stock(*TWO, record(T2))
    found = imported(tool, "--chunk", "1M", "--leg", f"target={T2},lun=7,policy=failover",
                     "--leg", f"target={T1},portal=198.51.100.10,weight=3",
                     "--leg", f"target={T1},lun=1,nic=eth1")
    assert found["volume"]["chunk_bytes"] == "1M"
    assert found["leg 0"] == {"target_name": T2, "lun": "7", "policy": "failover"}
    assert found["leg 0 path 0"] == {"portal": "192.0.2.10:3260"}
    assert found["leg 1 path 0"]["nic"] == "eth2"
    assert found["leg 1"]["weight"] == "3" and found["leg 2"]["lun"] == "1"
    assert found["leg 2 path 0"]["nic"] == "eth1" and "leg 2 path 1" not in found


def test_nic_of_a_record_that_is_not_bound(tool, stock):
    stock(record())
    assert imported(tool, "--leg", f"target={T1},nic=eth9")["leg 0 path 0"]["nic"] == "eth9"


def test_records_of_one_way_are_one_path(tool, stock):
    stock(record(), record(**{"node.tpgt": "-1"}), record(**{"iface.transport_name": "iser"}))
    assert "leg 0 path 1" not in imported(tool)


def test_a_name_of_several_addresses(tool, stock):
    """The first one, or the one that is given; open-iscsi tries them one after the other."""
    tool.put("etc/hosts", "2001:db8::11 both\n192.0.2.11 both\n192.0.2.12 one")
    stock(record(address="both", nic="eth1"), record(address="one"),
          record(T2, address="both", port=3261, **{"iface.ipaddress": "192.0.2.1"}))
    out, err = tool.run("import", "db")
    assert err == ("istripectl: warning: leg 0 path 0 of db: portal: the host name both has 2 "
                   "addresses: 2001:db8::11 is taken\n")
    found = sections(out)
    assert found["leg 0 path 0"] == {"portal": "[2001:db8::11]:3260", "nic": "eth1"}
    assert found["leg 0 path 1"] == {"portal": "192.0.2.12:3260"}
    assert found["leg 1 path 0"] == {"portal": "192.0.2.11:3261", "source_address": "192.0.2.1"}
    leg = f"target={T1},portal="
    out, err = tool.run("import", "db", "--leg", f"{leg}192.0.2.11")
    assert err == "" and sections(out)["leg 0 path 0"] == {"portal": "192.0.2.11:3260", "nic": "eth1"}
    assert "leg 0 path 1" not in sections(out)
    # What another record leads to is said of no path.
    out, err = tool.run("import", "db", "--leg", f"{leg}one")
    assert err == "" and sections(out)["leg 0 path 0"] == {"portal": "192.0.2.12:3260"}
    _, err = tool.run("import", "db", "--leg", f"{leg}both", code=1)
    assert "host name both has 2 addresses, and a path has one:" in err


def test_interface_by_hardware_address(tool, stock):
    bound = {"iface.iscsi_ifacename": "i0", "iface.hwaddress": "02:00:00:AA:BB:01",
             "iface.ipaddress": "192.0.2.1"}
    stock(record(**bound))
    _, err = tool.run("import", "db", code=1)
    assert "iface i0 of open-iscsi has iface.hwaddress 02:00:00:AA:BB:01: no interface" in err
    tool.put("sys/class/net/eth4/address", "02:00:00:aa:bb:01")
    tool.put("sys/class/net/eth5/address", "02:00:00:aa:bb:02")
    assert imported(tool)["leg 0 path 0"] == {"portal": "192.0.2.10:3260", "nic": "eth4",
                                              "source_address": "192.0.2.1"}
    tool.put("sys/class/net/bond0/address", "02:00:00:aa:bb:01")
    _, err = tool.run("import", "db", code=1)
    assert "several interfaces have it: bond0, eth4" in err
    assert "next: iscsiadm -m iface -I i0 -o update -n iface.net_ifacename -v NIC" in err


def test_initiator_name(tool, stock):
    named = {"iface.initiatorname": "iqn.2026-01.a:other"}
    stock(record(**named), record(address="192.0.2.11", **named))
    assert imported(tool)["volume"]["initiator_name"] == "iqn.2026-01.a:other"
    _, err = tool.run("import", "db", "--initiator", "iqn.2026-01.a:mine", code=1)
    assert "iface.initiatorname of the records is iqn.2026-01.a:other" in err
    once = imported(tool, "--initiator", "iqn.2026-01.a:mine", "--once")
    assert once["volume"]["initiator_name"] == "iqn.2026-01.a:mine"
    stock(record(**named), record(address="192.0.2.11"))
    _, err = tool.run("import", "db", code=1)
    assert "iface.initiatorname differs, and a volume has one initiator_name:" in err
    assert f"iqn.2026-01.a:other in record -T {T1} -p 192.0.2.10:3260 -I default" in err
    assert f"empty in record -T {T1} -p 192.0.2.11:3260 -I default" in err
    stock(record())
    given = imported(tool, "--initiator", "iqn.2026-01.a:mine")
    assert given["volume"]["initiator_name"] == "iqn.2026-01.a:mine"


# Settings

@pytest.mark.parametrize("theirs, value, ours", [
    ("node.session.timeo.replacement_timeout", "30", {"recovery_timeout_ms": "30000"}),
    ("node.session.timeo.replacement_timeout", "-1", {"recovery_timeout_ms": "-1"}),
    ("node.session.timeo.replacement_timeout", "0", {"recovery_timeout_ms": "0"}),
    ("node.session.queue_depth", "32", {}),
    ("node.session.queue_depth", "64", {"queue_depth": "64"}),
    ("node.session.nr_sessions", "4", {"connections": "4"}),
    ("node.session.iscsi.InitialR2T", "Yes", {"initial_r2t": "Yes"}),
    ("node.session.iscsi.ImmediateData", "No", {"immediate_data": "No"}),
    ("node.session.iscsi.FirstBurstLength", "65536", {"first_burst_length": "64K"}),
    ("node.session.iscsi.MaxBurstLength", "16776192", {}),
    ("node.session.iscsi.MaxBurstLength", "524288", {"max_burst_length": "512K"}),
    ("node.session.iscsi.MaxOutstandingR2T", "1", {}),
    ("node.session.iscsi.MaxOutstandingR2T", "4", {"max_outstanding_r2t": "4"}),
    ("node.session.iscsi.DefaultTime2Wait", "5", {"default_time2wait": "5"}),
    ("node.session.iscsi.DefaultTime2Retain", "0", {}),
    ("node.session.iscsi.DefaultTime2Retain", "60", {"default_time2retain": "60"}),
    ("node.conn[0].iscsi.MaxRecvDataSegmentLength", "131072",
     {"max_recv_data_segment_length": "128K"}),
    ("node.conn[0].iscsi.HeaderDigest", "CRC32C,None", {"header_digest": "CRC32C,None"}),
    ("node.conn[0].iscsi.DataDigest", "CRC32C", {"data_digest": "CRC32C"}),
    ("node.conn[0].timeo.login_timeout", "8", {"login_timeout_ms": "8000"}),
    ("node.conn[0].timeo.noop_out_interval", "0", {"ping_interval_ms": "0"}),
    ("node.conn[0].timeo.noop_out_interval", "9", {"ping_interval_ms": "9000"}),
    ("node.conn[0].timeo.noop_out_timeout", "7", {"ping_timeout_ms": "7000"}),
    ("node.conn[0].tcp.window_size", "524288", {}),
    ("node.conn[0].tcp.window_size", "1048576",
     {"receive_buffer_bytes": "1M", "send_buffer_bytes": "1M"}),
    ("node.conn[0].tcp.type_of_service", "184", {"dscp": "46"}),
    ("node.conn[0].tcp.congestion_control", "", {}),
    ("node.conn[0].tcp.congestion_control", "bbr", {"congestion_control": "bbr"}),
    ("node.session.sess_reopen_log_freq", "4", {}),
    ("node.session.auth.chap_algs", "MD5,SHA256", {}),
    ("node.session.cmds_max", "1024", {}),
])
def test_values(tool, stock, theirs, value, ours):
    def settings(*records):
        stock(*records)
        found = imported(tool)
        return {**found["volume"], **found.get("paths", {}), **found["leg 0"],
                **found["leg 0 path 0"]}
    usual = {"node.conn[0].timeo.noop_out_interval": "2", "node.conn[0].timeo.login_timeout": "15",
             "node.conn[0].timeo.noop_out_timeout": "3"}
    before, after = settings(record(**usual)), settings(record(**{**usual, theirs: value}))
    assert {k: v for k, v in after.items() if before.get(k) != v} == ours
    assert set(before) <= set(after)


@pytest.mark.parametrize("legs, each, ours", [
    (4, 16, "64"), (4, 32, None), (4, 256, "1024"), (3, 1000, "1024"), (1, 16, "16"),
])
def test_queue_depth_is_of_all_legs(tool, stock, legs, each, ours):
    """A record says it of each LUN, and the disk has it for all of them."""
    depth = {"node.session.queue_depth": str(each)}
    stock(*(record(f"{T1}{leg}", address, **depth) for leg in range(legs)
            for address in ("192.0.2.10", "192.0.2.11")))
    out, err = tool.run("import", "db")
    assert sections(out)["volume"].get("queue_depth") == ours
    assert err == (
        f"istripectl: warning: db: queue_depth = {ours} is for all of its {legs} legs: "
        f"node.session.queue_depth = {each} of the records is that of each\n"
        if ours and legs > 1 else "")
    out, err = tool.run("import", "db", "--once", "--set", "queue_depth=9")
    assert sections(out)["volume"]["queue_depth"] == "9" and not err


@pytest.mark.parametrize("theirs, value, message", [
    ("node.session.queue_depth", "2048", "queue_depth is 1 to 1024"),
    ("node.session.queue_depth", "many", "queue_depth is 1 to 1024"),
    ("node.session.nr_sessions", "9", "connections is 1 to 8"),
    ("node.session.iscsi.MaxOutstandingR2T", "17", "max_outstanding_r2t is 1 to 16"),
    ("node.session.iscsi.MaxBurstLength", "16777216", "max_burst_length is 512 to 16777215"),
    ("node.conn[0].timeo.noop_out_interval", "3601", "ping_interval_ms is 0 to 3600000"),
    ("node.conn[0].timeo.login_timeout", "99999999999999999",
     "login_timeout_ms is 100 to 600000"),
    ("node.conn[0].tcp.window_size", "512", "receive_buffer_bytes is 4096 to 536870912"),
    ("node.conn[0].tcp.type_of_service", "3", "dscp is 0 to 63"),
])
def test_range(tool, stock, theirs, value, message):
    stock(record(**{theirs: value}))
    out, err = tool.run("import", "db", code=1)
    words = f"-T {T1} -p 192.0.2.10:3260 -I default"
    assert not out and f"{theirs} = {value} of record {words}: {message}" in err
    assert f"next: iscsiadm -m node {words} -o update -n {theirs} -v VALUE" in err


FIRST, MAX = "node.session.iscsi.FirstBurstLength", "node.session.iscsi.MaxBurstLength"


@pytest.mark.parametrize("first, most, ours, said", [
    ("1048576", "16776192", {"first_burst_length": "1M"}, ""),
    ("1048580", "16776192", {"first_burst_length": "1048580", "max_burst_length": "16383K"}, ""),
    ("2097152", "2097152", {"first_burst_length": "2M", "max_burst_length": "2M"}, ""),
    ("262144", "65536", {"first_burst_length": "64K", "max_burst_length": "64K"}, "65536"),
    ("16777215", "16776192", {"first_burst_length": "16383K", "max_burst_length": "16383K"},
     "16776192"),
])
def test_a_first_burst_is_no_longer_than_others(tool, stock, first, most, ours, said):
    """open-iscsi logs in with such records, too; the module would refuse these settings."""
    stock(record(**{FIRST: first, MAX: most}))
    out, err = tool.run("import", "db")
    given = {name: value for its in sections(out).values() for name, value in its.items()}
    assert {name: value for name, value in given.items() if "burst" in name} == ours
    assert err == (f"istripectl: warning: record -T {T1} -p 192.0.2.10:3260 -I default: {FIRST} = {first} "
                   f"is more than MaxBurstLength: {said} is taken for both, as by open-iscsi\n"
                   if said else "")


@pytest.mark.parametrize("theirs, ours", [
    ("node.session.timeo.replacement_timeout", "recovery_timeout_ms"),
    ("node.session.queue_depth", "queue_depth")])
def test_what_a_volume_has_once(tool, stock, theirs, ours):
    stock(record(T1, **{theirs: "7"}), record(T2, **{theirs: "8"}))
    out, err = tool.run("import", "db", code=1)
    assert not out and f"{theirs} differs, and a volume has one {ours}:" in err
    assert f"7 in record -T {T1} " in err and f"8 in record -T {T2} " in err
    # Of targets that are not in the volume it does not matter.
    imported(tool, "--leg", f"target={T2}")


# Secrets

def test_chap_both_ways(tool, stock):
    mutual = {"node.session.auth.username_in": "it", "node.session.auth.password_in": MUTUAL,
              "node.session.auth.chap_algs": "MD5,SHA256"}
    stock(record(T1, **CHAP), record(T2, **CHAP, **mutual),
          record(T2, "192.0.2.11", **{**CHAP, "node.session.auth.password": MUTUAL[1:]}))
    shown, _ = tool.run("import", "db")
    assert SECRET not in shown and MUTUAL not in shown
    out, err = tool.run("import", "db", "--save")
    path = tool.root / "etc/istripe"
    assert out == f"db: {path}/db.conf\nnext: istripectl up db\n" and not err
    assert {file.name: file.read_text() for file in path.glob("*.secret")} == {
        "db-leg0-chap.secret": f"{SECRET}\n", "db-leg1-mutual.secret": f"{MUTUAL}\n",
        "db-leg1-path1-chap.secret": f"{MUTUAL[1:]}\n"}
    assert {file.stat().st_mode & 0o777 for file in path.glob("*.secret")} == {0o600}
    assert (path / "db.conf").read_text() == shown
    tool.run("up", "db")
    assert tool.value(f"{P0}/chap_user") == "me" and tool.value(f"{P0}/chap_secret") == SECRET
    # Older targets refuse other algorithms than MD5, which open-iscsi's default is.
    assert tool.value(f"{P0}/chap_algorithms") == "MD5"
    assert tool.value("db/legs/1/paths/0/chap_secret") == SECRET
    assert tool.value("db/legs/1/paths/0/chap_mutual_user") == "it"
    assert tool.value("db/legs/1/paths/0/chap_mutual_secret") == MUTUAL
    assert tool.value("db/legs/1/paths/0/chap_algorithms") == "SHA256,MD5"
    assert tool.value("db/legs/1/paths/1/chap_secret") == MUTUAL[1:]


@pytest.mark.parametrize("method", ["None", "CHAP"])
def test_chap_with_a_password(tool, stock, method):
    """open-iscsi looks at the passwords, not at the method: a target that need not prove itself
    any more would be a surprise."""
    stock(record(**{**CHAP, "node.session.auth.authmethod": method,
                    "node.session.auth.username_in": "it",
                    "node.session.auth.password_in": MUTUAL}))
    tool.run("import", "db", "--save")
    tool.run("up", "db")
    assert {name: tool.value(f"{P0}/chap_{name}") for name in (
        "user", "secret", "mutual_user", "mutual_secret")} == {
            "user": "me", "secret": SECRET, "mutual_user": "it", "mutual_secret": MUTUAL}


def test_the_password_of_the_target_is_enough(tool, stock):
    """open-iscsi refuses to log in then, and so does the module."""
    stock(record(**{"node.session.auth.password_in": MUTUAL}))
    assert "chap_mutual_secret" in str(imported(tool))


def test_no_chap_without_the_method_and_a_password(tool, stock):
    stock(record(**{**CHAP, "node.session.auth.authmethod": "None",
                    "node.session.auth.password": "", "node.session.auth.username_in": "it"}))
    assert "chap" not in str(imported(tool))


@pytest.mark.parametrize("secret, message", [
    ("x" * 256, "chap_secret is 1 to 255 bytes"),
    ("@/etc/shadow-of-it", "a secret that begins with @ cannot be imported"),
])
def test_secrets_that_cannot_be(tool, stock, secret, message):
    stock(record(**{**CHAP, "node.session.auth.password": secret}))
    _, err = tool.run("import", "db", "--save", code=1)
    assert message in err and "node.session.auth.password" in err and secret not in err
    assert not list((tool.root / "etc/istripe").iterdir())


@pytest.mark.parametrize("save", [[], ["--save"]])
def test_a_short_secret_is_taken_with_a_warning(tool, stock, save):
    """open-iscsi takes any, and old arrays have short ones."""
    short = {**CHAP, "node.session.auth.password": "qzx",
             "node.session.auth.password_in": "another-horse-battery"}
    stock(record(**short), record(address="192.0.2.11", **short))
    out, err = tool.run("import", "db", *save)
    assert ("istripectl: warning: the secret of leg 0 path 0: chap_secret has 3 bytes; RFC 7143 "
            "asks for 12 or more\n") == err
    assert "qzx" not in out
    if save:
        _, err = tool.run("up", "db")
        assert tool.value(f"{P0}/chap_secret") == "qzx"
        assert err.count("db-leg0-chap.secret has 3 bytes") == 1 and "qzx" not in err


def test_a_secret_in_a_file_of_ones_own(tool, stock):
    file = tool.put("own.secret", SECRET)
    file.chmod(0o600)
    stock(record(**{**CHAP, "node.session.auth.password": "@text-of-it-all"}))
    tool.run("import", "db", "--once", "--leg", f"target={T1},chap_secret=@{file}", "--save")
    tool.run("up", "db")
    assert tool.value(f"{P0}/chap_secret") == SECRET


def test_secret_files_are_not_replaced(tool, stock):
    stock(record(**CHAP))
    file = tool.put("etc/istripe/db-leg0-chap.secret", "of-somebody-else")
    _, err = tool.run("import", "db", "--save", code=1)
    assert "db-leg0-chap.secret is there already, with another secret" in err
    assert file.read_text() == "of-somebody-else\n"
    assert not (tool.root / "etc/istripe/db.conf").exists()
    # The one of an import that failed later is.
    tool.put("etc/istripe/db-leg0-chap.secret", SECRET).chmod(0o600)
    tool.run("import", "db", "--save")


@pytest.mark.parametrize("secret", [b"geh\xe9im-geh\xe9im", b"tab\tand \x7f more", b"\xc3\xa9" * 8])
def test_a_secret_of_any_bytes_is_the_same_again(tool, stock, secret):
    stock(record(**{**CHAP, "node.session.auth.password": "SECRET"}))
    records = tool.root / "records"
    records.write_bytes(records.read_bytes().replace(b"SECRET", secret))
    for _ in range(2):
        tool.run("import", "db", "--save")
        file = tool.root / "etc/istripe/db-leg0-chap.secret"
        assert file.read_bytes() == secret + b"\n"
        (tool.root / "etc/istripe/db.conf").unlink()
    for other in (secret[:-1], secret + b"x", secret + b"\nx", secret[:-1] + b"x", b""):
        file.write_bytes(other + b"\n")
        _, err = tool.run("import", "db", "--save", code=1)
        assert "is there already, with another secret" in err
        assert file.read_bytes() == other + b"\n"


# Following the records

def saved(tool, stock, *words, records=TWO):
    stock(*records)
    tool.run("import", "db", "--save", *words)
    tool.run("up", "db")


def test_apply_reads_the_records_again(tool, stock):
    saved(tool, stock)
    assert tool.value(f"{P0}/ping_interval_ms") == "5000"
    stock(record(nic="eth1", **{"node.conn[0].timeo.noop_out_interval": "9",
                                "node.session.timeo.replacement_timeout": "45"}),
          record(address="198.51.100.10", nic="eth2",
                 **{"node.session.timeo.replacement_timeout": "45"}))
    out, _ = tool.run("apply", "--dry-run", "db")
    assert "ping_interval_ms" in out and tool.value(f"{P0}/ping_interval_ms") == "5000"
    out, _ = tool.run("apply", "db")
    assert "from_node" not in out
    assert tool.value(f"{P0}/ping_interval_ms") == "9000"
    assert tool.value("db/legs/0/paths/1/ping_interval_ms") == "5000"
    assert tool.value("db/recovery_timeout_ms") == "45000"
    assert not tool.run("apply", "db")[0].replace("db: nothing to do\n", "")
    assert not (tool.tree / "db/from_node").exists()


def test_a_default_of_open_iscsi_takes_a_value_back(tool, stock):
    window = {"node.conn[0].tcp.window_size": "1048576"}
    saved(tool, stock, records=[record(**window, **CHAP)])
    assert tool.value(f"{P0}/send_buffer_bytes") == "1048576"
    stock(record(**CHAP))
    tool.run("apply", "db")
    assert tool.value(f"{P0}/send_buffer_bytes") == "0"
    assert tool.value(f"{P0}/chap_user") == "me"


def test_apply_with_new_secrets(tool, stock):
    saved(tool, stock, records=[record(**CHAP)])
    stock(record(**{**CHAP, "node.session.auth.password": "@" + SECRET}))
    tool.run("down", "db")
    tool.run("apply", "db")
    assert tool.value(f"{P0}/chap_secret") == "@" + SECRET


def test_the_record_of_the_same_interface_counts(tool, stock):
    saved(tool, stock, records=[record(nic="eth1"), record(nic="eth2")])
    quick = {"node.conn[0].timeo.noop_out_timeout": "1"}
    stock(record(**{"node.conn[0].timeo.noop_out_timeout": "8"}), record(nic="eth2", **quick))
    tool.run("apply", "db")
    # Path 0 has only the record that is bound to no interface.
    assert tool.value(f"{P0}/ping_timeout_ms") == "8000"
    assert tool.value("db/legs/0/paths/1/ping_timeout_ms") == "1000"


def test_once_does_not_follow(tool, stock):
    saved(tool, stock, "--once", "--set", "recovery_timeout=9s",
          "--leg", f"target={T1},ping_interval=1s")
    assert tool.value("db/recovery_timeout_ms") == "9000"
    assert tool.value(f"{P0}/ping_interval_ms") == "1000"
    stock(record(**{"node.conn[0].timeo.noop_out_timeout": "8"}))
    tool.run("apply", "db")
    assert tool.value(f"{P0}/ping_timeout_ms") == "5000"


@pytest.mark.parametrize("words", [["--set", "recovery_timeout=9s"],
                                   ["--all-paths", "login_timeout=9s"],
                                   ["--leg", f"target={T1},ping_interval=1s"]])
def test_what_the_records_say_is_not_given_too(tool, stock, words):
    _, err = tool.run("import", "db", *words, code=2)
    assert re.search(r"\w+_ms is node\.\S+ of the records, which apply reads again", err)
    assert "--once to read the records only now" in err


def test_records_that_are_gone(tool, stock):
    saved(tool, stock)
    stock(record(T2))
    _, err = tool.run("apply", "db", code=1)
    assert "no path of volume db has a node record of open-iscsi" in err and "from_node = no" in err
    stock()
    assert "open-iscsi has no node record for TCP" in tool.run("apply", "db", code=1)[1]
    # At boot the file is enough.
    tool.run("delete", "db")
    out, err = tool.run("up", "db")
    assert out == (f"db: configured from {tool.root}/etc/istripe/db.conf\n"
                   "db: /dev/istripe0 (link: /dev/istripe/db)\n")
    assert "open-iscsi has no node record for TCP" in err and "configured as its file says" in err
    assert tool.value(f"{P0}/ping_interval_ms") == "5000"


def test_import_for_the_next_boot(tool, stock):
    out, _ = tool.run("import", "db", "--boot")
    assert "db: starts at boot, not now\nnext: systemctl start istripe@db\n" in out
    assert tool.enabled() == ["enable istripe@db.service"]
    assert (tool.root / "etc/istripe/db.conf").exists()


def test_import_of_an_array_of_another_chunk(tool, stock):
    tool.env["FAKE_CHUNK"] = "524288"
    saved(tool, stock)
    tool.run("up", "db")
    assert tool.value("db/chunk_bytes") == "524288"


def test_save_keeps_that_a_volume_follows(tool, stock):
    saved(tool, stock)
    tool.run("save", "db")
    assert "from_node = yes\n" in (tool.root / "etc/istripe/db.conf").read_text()
    text = (tool.root / "etc/istripe/db.conf").read_text()
    tool.put("etc/istripe/db.conf", text.replace("from_node = yes", "from_node = maybe"))
    assert "from_node = maybe: it is yes or no" in tool.run("apply", "db", code=1)[1]
    tool.put("etc/istripe/db.conf", text.replace("from_node = yes", "from_node = no"))
    stock()
    tool.run("apply", "db")


# Failures and logins of open-iscsi

@pytest.mark.parametrize("words, message", [
    (["import"], "name is needed"), (["import", "a/b"], "a/b"),
    (["import", "db", "--leg", f"target={T1}", "--path", "portal=192.0.2.1"], "no --path"),
    (["import", "db", "--leg", "lun=1"], "a target is needed"),
    (["import", "db", "--no-up"], "import does not connect"),
    (["import", "db", "--wait", "5"], "import does not connect"),
    (["import", "db", "--save", "--dry-run"], "either --save or --dry-run"),
    (["import", "db", "--take-over"], "--take-over goes with --save"),
    (["import", "db", "--nonsense"], "--nonsense"),
])
def test_usage(tool, stock, words, message):
    out, err = tool.run(*words, code=2)
    assert not out and message in err and "usage: istripectl import" in err
    assert asked(tool) == []


def test_help(tool):
    assert "--take-over" in tool.run("import", "--help")[0]


def test_no_such_record(tool, stock):
    _, err = tool.run("import", "db", "--leg", "target=iqn.x", code=1)
    assert "no node record of target iqn.x for TCP" in err
    assert f"there is -T {T1} -p 192.0.2.10:3260 -I i-eth1" in err
    _, err = tool.run("import", "db", "--leg", f"target={T1},portal=192.0.2.99", code=1)
    assert f"no node record of target {T1} at portal 192.0.2.99" in err


def test_too_many_paths(tool, stock):
    stock(*(record(address=f"192.0.2.{i}") for i in range(17)))
    assert f"records of target {T1} make more than 16 paths" in tool.run("import", "db", code=1)[1]


@pytest.mark.parametrize("name", ["iqn.2001-04.com.x:$(echo${IFS}x)", "iqn.x:a\\b'`c`"])
def test_commands_quote_names_of_targets(tool, stock, name):
    """Discovery has written them, as the portal has said."""
    stock(*(record(name, address=f"192.0.2.{i}") for i in range(17)))
    _, err = tool.run("import", "db", code=1)
    option, word = shell_words(err.split("next: give ")[1].split(" or ")[0])
    assert option == "--leg" and word == f"target={name},portal=ADDRESS".replace("\\", "\\\\")
    saved(tool, stock, records=[record(name)])
    file = tool.root / "etc/istripe/db.conf"
    file.write_text(file.read_text().replace("[leg 0]\n", "[leg 0]\nfrom_node = yes\n"))
    stock(record(T2))
    _, err = tool.run("apply", "db", code=1)
    words = shell_words(err.split("next: ")[1].split(" shows them")[0])
    assert words == ["iscsiadm", "-m", "node", "-T", name]


def test_iscsiadm_fails_or_is_missing(tool, stock):
    _, err = tool.run("import", "db", code=1, FAKE_ISCSIADM="6")
    assert "iscsiadm -m node -o show failed with exit code 6" in err
    assert "it does not work today" in err
    _, err = tool.run("import", "db", code=1, PATH="/nonexistent")
    assert "install the package open-iscsi" in err
    stock()
    _, err = tool.run("import", "db", code=1)
    assert "open-iscsi has no node record for TCP" in err and "next: iscsiadm -m discovery" in err
    stock(record(**{"iface.transport_name": "iser"}))
    _, err = tool.run("import", "db", code=1)
    assert "open-iscsi has no node record for TCP" in err


def test_a_file_is_not_replaced(tool, stock):
    tool.run("import", "db", "--save")
    _, err = tool.run("import", "db", "--save", code=1)
    assert "db.conf is there already" in err and "next: istripectl apply db" in err


def test_automatic_logins(tool, stock):
    stock(record(**{"node.startup": "automatic"}), record(T2))
    command = f"-m node -T {T1} -p 192.0.2.10:3260 -I default -o update -n node.startup -v manual"
    out, err = tool.run("import", "db")
    assert "[leg 1]" in out and f"iscsiadm {command}" in err
    _, err = tool.run("import", "db", "--save", code=1)
    assert "node.startup = automatic" in err and f"iscsiadm {command}" in err
    assert T2 not in err and not list((tool.root / "etc/istripe").iterdir())
    out, _ = tool.run("import", "db", "--save", "--take-over")
    assert f"node.startup is manual now: -T {T1} -p 192.0.2.10:3260 -I default" in out
    assert asked(tool)[-1] == command and (tool.root / "etc/istripe/db.conf").exists()


def test_automatic_logins_of_the_connection(tool, stock):
    """open-iscsi logs in by a record when either of the two settings says so."""
    stock(record(**{"node.conn[0].startup": "automatic"}), record(T2, **{
        "node.startup": "onboot", "node.conn[0].startup": "onboot"}))
    command = "-p 192.0.2.10:3260 -I default -o update -n node.{}startup -v manual"
    _, err = tool.run("import", "db", "--save", code=1)
    assert "records (node.conn[0].startup = automatic or onboot)" in err
    commands = [f"-m node -T {T1} " + command.format("conn[0]."),
                f"-m node -T {T2} " + command.format(""),
                f"-m node -T {T2} " + command.format("conn[0].")]
    told = [shell_words(line)[1:] for line in re.findall(r"  (iscsiadm -m node -T .*)", err)]
    assert told == [command.split() for command in commands] and "-n 'node.conn[0].startup'" in err
    tool.run("import", "db", "--save", "--take-over")
    assert asked(tool)[-3:] == commands
    assert not re.search(r"startup = (?!manual)", (tool.root / "records").read_text())


USE = "discovery.{}.use_discoveryd"


def discovery(tool, portal, kind="sendtargets", use="Yes"):
    folder, name = {"sendtargets": ("send_targets", "st"), "isns": ("isns", "isns")}[kind]
    return tool.put(f"etc/iscsi/{folder}/{portal}/{name}_config", "# BEGIN RECORD\n"
                    f"discovery.type = {kind}\n{USE.format(kind)} = {use}\n# END RECORD")


def test_logins_of_iscsid_itself(tool, stock):
    """It logs in to all that a discovery record with use_discoveryd tells it of."""
    stock(record(address="2001:db8::1"), record(**{"node.discovery_address": "192.0.2.77"}))
    files = [discovery(tool, "2001:db8::1,3260"), discovery(tool, "192.0.2.77,3261"),
             discovery(tool, "192.0.2.5,3205", "isns")]
    discovery(tool, "192.0.2.88,3260")
    discovery(tool, "192.0.2.10,3260", use="No")
    update = "-m discoverydb -t {} -p {} -o update -n {} -v No"
    commands = [update.format("st", portal, USE.format("sendtargets"))
                for portal in ("192.0.2.77:3261", "[2001:db8::1]:3260")]
    commands.append(update.format("isns", "192.0.2.5:3205", USE.format("isns")))
    _, err = tool.run("import", "db", "--save", code=1)
    assert err.startswith("istripectl: iscsid logs in to all targets that these portals tell it of")
    told = [shell_words(line)[1:] for line in re.findall(
        r"  (iscsiadm -m discoverydb .*) && systemctl restart iscsid", err)]
    assert sorted(told) == sorted(command.split() for command in commands)
    assert "next: import --save --take-over does that" in err
    assert not list((tool.root / "etc/istripe").iterdir())
    out, _ = tool.run("import", "db", "--save", "--take-over")
    assert sorted(asked(tool)[-3:]) == sorted(commands)
    assert "discovery.isns.use_discoveryd is No now: portal 192.0.2.5:3205\n" in out
    assert "restarted: systemctl restart iscsid" in out
    assert all(" = No\n" in file.read_text() for file in files)


@pytest.mark.parametrize("portal", ["192.0.2.10", "192.0.2.88"])
def test_take_over_names_targets_that_iscsid_has_found(tool, stock, portal):
    """use_discoveryd is of a portal, whose other targets do not come back at boot either."""
    stock(record(), record(T2, **{"node.conn[0].startup": "onboot"}), record(T3))
    discovery(tool, f"{portal},3260")
    for number, target in enumerate((T1, T2, T3, T3, "iqn.2026-01.a:no record")):
        session(tool, number, target, 0, f"sd{'abcde'[number]}", f"naa.600{number}")
    _, err = tool.run("import", "db", "--save", "--take-over", "--leg", f"target={T1}")
    warned = re.findall(r"warning: target (.*), which is not of the volume, has a session", err)
    assert warned == ([T3, "iqn.2026-01.a:no record"] if portal == "192.0.2.10" else [])
    assert (f"next: if it shall stay, iscsiadm -m node -T {T3} -o update "
            "-n node.startup -v automatic\n" in err) == bool(warned)
    assert ("-T 'iqn.2026-01.a:no record' -o" in err) == bool(warned)


def test_take_over_leaves_iscsid_as_it_is(tool, stock):
    """iscsiadm cannot change the record: it is named."""
    stock(record())
    discovery(tool, "192.0.2.10,3260")
    program = tool.root.parent / "bin/iscsiadm"
    real = program.resolve()
    program.unlink()
    program.write_text(f'#!/bin/sh\ncase "$*" in *discoverydb*) exit 8 ;; esac\nexec {real} "$@"\n')
    program.chmod(0o755)
    _, err = tool.run("import", "db", "--save", "--take-over", code=1)
    assert "db is saved, but open-iscsi still logs in at boot by these records" in err
    assert "-n discovery.sendtargets.use_discoveryd -v No && systemctl restart iscsid\n" in err
    rest = "; the same import without --save and --take-over prints what is left\n"
    assert f"next: these commands, before the host boots{rest}" in err
    _, err = tool.run("import", "db")
    assert "next: these commands; log out of each with iscsiadm -m node -T TARGET --logout\n" in err
    assert "does that" not in err


@pytest.mark.parametrize("words", [["--save"], ["--save", "--take-over"]])
def test_automatic_logins_of_other_ways(tool, stock, words):
    """A record that is no path of the volume shows its LUN to this host all the same."""
    stock(TWO[0], record(address="198.51.100.10", nic="eth2", **{"node.startup": "automatic"}))
    leg = ["--leg", f"target={T1},portal=192.0.2.10"]
    command = f"-T {T1} -p 198.51.100.10:3260 -I i-eth2"
    out, err = tool.run("import", "db", *leg, *words, code=len(words) == 1)
    assert command in (err if len(words) == 1 else out)
    assert (asked(tool)[-1] == f"-m node {command} -o update -n node.startup -v manual") == \
        (len(words) == 2)


def test_take_over_when_nothing_can_be_saved(tool, stock):
    """Neither stack would have the disk at the next boot."""
    stock(record(**{"node.startup": "automatic"}))
    (tool.root / "etc/istripe/db.conf").symlink_to("away/db.conf")
    before = (tool.root / "records").read_text()
    out, err = tool.run("import", "db", "--save", "--take-over", code=1)
    assert "db.conf: No such file or directory" in err and "manual" not in out + err
    assert (tool.root / "records").read_text() == before


def test_many_automatic_logins(tool, stock):
    """What to do is said all the same."""
    stock(*(record(f"iqn.2026-01.a:t{number}", **{"node.startup": "automatic"})
            for number in range(40)))
    _, err = tool.run("import", "db", "--save", code=1)
    assert err.count("  iscsiadm -m node -T ") == 8 and "  and 32 more\n" in err
    assert err.splitlines()[-1].strip().startswith("next: import --save --take-over does that")


@pytest.mark.parametrize("does", ["exit 8", "kill -INT $PPID; exit 8"])
def test_take_over_that_fails(tool, stock, does):
    """The file is there, and the records that open-iscsi still logs in by are named."""
    automatic = {"node.startup": "automatic"}
    stock(record(**automatic), record(T2, **automatic), record("iqn.2026-01.a:t3", **automatic))
    # iscsiadm fails for the second one.
    program = tool.root.parent / "bin/iscsiadm"
    real = program.resolve()
    program.unlink()
    program.write_text(f'#!/bin/sh\ncase "$*" in *{T2}*update*) {does} ;; esac\nexec {real} "$@"\n')
    program.chmod(0o755)
    out, err = tool.run("import", "db", "--save", "--boot", "--take-over", code=1)
    assert (tool.root / "etc/istripe/db.conf").exists() and tool.enabled() == []
    assert f"db: node.startup is manual now: -T {T1} " in out
    assert "db is saved, but open-iscsi still logs in at boot by these records" in err
    for target in (T2, "iqn.2026-01.a:t3"):
        assert (f"  iscsiadm -m node -T {target} -p 192.0.2.10:3260 -I default -o update "
                "-n node.startup -v manual\n") in err
    assert f"-T {T1} " not in err
    assert "next: systemctl enable istripe@db after that: it does not start at boot yet\n" in err


def test_take_over_that_nobody_reads(tool, stock):
    """It is done, and how it is taken back is said all the same."""
    targets = [T1, T2, T3]
    stock(*(record(target, **{"node.startup": "automatic"}) for target in targets))
    code, err = tool.unread("import", "db", "--save", "--take-over")
    assert code == 1 and (tool.root / "etc/istripe/db.conf").exists()
    assert "node.startup = automatic" not in (tool.root / "records").read_text()
    assert err.startswith("db: keep these commands, which give the records back to open-iscsi:\n")
    assert re.findall(r"^  iscsiadm -m node -T (\S+) .* -v automatic$", err, re.MULTILINE) == targets
    assert "standard output" not in err


@pytest.mark.parametrize("lun, shown", [(1, 1), (300, 16684), (16383, 32767)])
def test_take_over_leaves_what_is_in_use(tool, stock, lun, shown):
    """At the next boot a disk that is no leg would not be there. From 256 on the numbers of sysfs
    are those of flat addressing.
    """
    stock(record(**{"node.startup": "automatic"}))

    def put(path, text):
        (tool.root / path).parent.mkdir(parents=True, exist_ok=True)
        (tool.root / path).write_text(text)

    session = "sys/class/iscsi_session/session3"
    put(f"{session}/targetname", f"{T1}\n")
    put(f"{session}/device/target3:0:0/3:0:0:{shown}/block/sdb/size", "8")
    put("sys/block/sdb/dev", "8:16\n")
    put("proc/self/mountinfo", "36 35 8:16 / /home rw - xfs /dev/sdb rw\n")
    words = ["import", "db", "--save", "--take-over", "--leg"]
    _, err = tool.run(*words, f"target={T1},lun={lun - 1}", code=1)
    assert f"target {T1}: a disk of this host, which is no leg, is in use:\n" in err
    assert "/dev/sdb is mounted at /home" in err and "next: " in err
    assert asked(tool) == ["-m node -o show -S"]
    assert not list((tool.root / "etc/istripe").iterdir())
    tool.run(*words, f"target={T1},lun={lun}")


def session(tool, number, target, lun, disk, wwid):
    folder = f"sys/class/iscsi_session/session{number}"
    tool.put(f"{folder}/targetname", target)
    scsi = f"{folder}/device/target{number}:0:0/{number}:0:0:{lun}"
    tool.put(f"{scsi}/wwid", wwid)
    tool.put(f"{scsi}/block/{disk}/size", "8")


T3 = "iqn.2026-01.a:t3"


def test_a_target_for_each_controller(tool, stock):
    stock(record(T1), record(T2, "192.0.2.10"), record(T2, "192.0.2.11", nic="eth2"), record(T3))
    session(tool, 1, T1, 1, "sdb", "naa.6001")
    session(tool, 2, T2, 1, "sdc", "naa.6001")
    session(tool, 3, T3, 1, "sdd", "naa.6003")
    both = ["--leg", f"target={T1},lun=1", "--path", f"target={T2}"]
    out, err = tool.run("import", "db", *both)
    assert not err and re.findall(r"target_name = (\S+)", out) == [T1, T2, T2]
    assert re.findall(r"\nportal = 192.0.2.(\d+):3260", out) == ["10", "10", "11"]
    assert "[leg 1]" not in out
    out, _ = tool.run("import", "db", *both[:3], f"{both[3]},nic=eth2,portal=192.0.2.11")
    assert "192.0.2.11" in out and "[leg 0 path 2]" not in out
    tool.run("import", "db", *both, "--save")
    tool.run("up", "db")
    assert tool.value("db/legs/0/paths/2/target_name") == T2
    assert tool.run("apply", "db")[0] in ("", "db: nothing to do\n")
    _, err = tool.run("import", "db2", *both[:3], "target=iqn.x", code=1)
    assert "no node record of target iqn.x" in err
    _, err = tool.run("import", "db2", *both, "--path", f"target={T2}", code=2)
    assert "no --path: the records say the paths of a leg; --path target=OTHER" in err


def test_targets_that_show_the_same_lun(tool, stock):
    stock(record(T1), record(T2, **{"node.startup": "automatic"}), record(T3))
    session(tool, 1, T1, 1, "sdb", "naa.6001")
    session(tool, 2, T2, 7, "sdc", "naa.6001")
    session(tool, 3, T3, 1, "sdd", "naa.6003")
    leg = ["--leg", f"target={T1},lun=1"]
    warning = (f"warning: target {T2} shows the LUN of leg 0, too, as /dev/sdc, and its records are "
               f"no paths of it\n            next: --path target={T2},lun=7 behind the --leg")
    assert warning in tool.run("import", "db", *leg)[1]
    _, err = tool.run("import", "db", *leg, "--save", code=1)
    assert warning in err and f"iscsiadm -m node -T {T2} -p" in err
    tool.put("sys/block/sdc/dev", "8:32")
    tool.put("proc/self/mountinfo", "36 35 8:32 / /srv rw - xfs /dev/sdc rw")
    out, err = tool.run("import", "db", *leg, "--save", "--take-over")
    assert warning in err and f"node.startup is manual now: -T {T2} " in out
    _, err = tool.run("import", "db2", *leg, "--leg", f"target={T2},lun=7", code=1)
    assert "legs 0 and 1 are one LUN, naa.6001: /dev/sdb and /dev/sdc show it\n" in err
    assert f"next: one --leg, and behind it --path target={T2},lun=7\n" in err
    out, err = tool.run("import", "db2", *leg, "--path", f"target={T2},lun=7")
    assert "shows the LUN of leg" not in err and re.findall(r"lun = (.)", out) == ["1", "7"]
    session(tool, 2, T2, 1, "sdc", "naa.6001")
    assert f"--path target={T2} behind the --leg" in tool.run("import", "db2", "--leg",
                                                              f"target={T1},lun=1")[1]


def test_luns_of_flat_addressing(tool, stock):
    """As sysfs has them, LUN 300 is another number."""
    stock(record(T1), record(T2))
    session(tool, 1, T1, 16384 + 300, "sdb", "naa.6001")
    session(tool, 2, T2, 16384 + 7000, "sdc", "naa.6001")
    words = ["import", "db", "--leg", f"target={T1},lun=300"]
    _, err = tool.run(*words)
    assert f"target {T2} shows the LUN of leg 0, too, as /dev/sdc" in err
    assert f"next: --path target={T2},lun=7000 behind the --leg" in err
    assert not tool.run(*words, "--path", f"target={T2},lun=7000")[1]


@pytest.mark.parametrize("seconds, words, warned", [
    ("5", [], "5"), ("0", [], "0"), ("29", ["--once"], "29"), ("30", [], ""), ("-1", [], ""),
    ("5", ["--once", "--set", "recovery_timeout=60s"], "")])
def test_multipath_has_held_io(tool, stock, seconds, words, warned):
    """It has a time of its own, so that of open-iscsi is short beneath it."""
    stock(record(**{"node.session.timeo.replacement_timeout": seconds}))
    _, err = tool.run("import", "db", *words)
    assert "multipath" not in err
    session(tool, 1, T1, 0, "sdb", "naa.6001")
    tool.put("sys/block/sdb/holders/dm-3", "")
    tool.put("sys/block/dm-3/dm/uuid", "mpath-36001")
    _, err = tool.run("import", "db", *words)
    assert (f"db fails it {warned} s after the last path is lost" in err) == bool(warned)
    if warned:
        assert ("next: --set recovery_timeout=-1" if words else
                "next: iscsiadm -m node -T TARGET -o update -n "
                "node.session.timeo.replacement_timeout -v -1") in err
    tool.put("sys/block/dm-3/dm/uuid", "LVM-36001")
    assert "multipath" not in tool.run("import", "db", *words)[1]
    tool.put("proc/77/comm", "multipathd")
    assert ("multipath" in tool.run("import", "db", *words)[1]) == bool(warned)


@pytest.mark.parametrize("name, value", [
    ("node.startup", "automatic"), ("node.conn[0].startup", "onboot")])
def test_a_discovery_makes_records_automatic_again(tool, stock, name, value):
    stock(record())
    conf = tool.put("etc/iscsi/iscsid.conf", f"# {name} = manual\n{name} = {value}")
    _, err = tool.run("import", "db", "--save", "--take-over")
    assert err == (f"istripectl: warning: {conf} has {name} = {value}: the next discovery of these "
                   "targets sets their records to that again\n"
                   f"            next: {name} = manual there; or discover with iscsiadm -m discovery "
                   "-o new, or istripectl discover\n")
    tool.put("etc/iscsi/iscsid.conf", f"# {name} = {value}\n{name} = manual")
    assert not tool.run("import", "db2", "--save", "--take-over")[1]


def test_the_way_back(tool, stock):
    """Records that were manual stay so."""
    stock(record(), record(T1, "192.0.2.11", **{"node.startup": "automatic"}),
          record(T2, **{"node.startup": "onboot", "node.conn[0].startup": "automatic"}))
    discovery(tool, "192.0.2.10,3260")
    before = (tool.root / "records").read_text()
    out, _ = tool.run("import", "db", "--save", "--take-over")
    lines = out.split("db: keep these commands, which give the records back to open-iscsi:")[1].splitlines()
    back = [line[2:] for line in lines if line.startswith("  iscsiadm ")]
    assert len(back) == 4 and (tool.root / "records").read_text() != before
    for command in back:
        subprocess.run(["sh", "-c", command], env=tool.env, check=True)
    assert (tool.root / "records").read_text() == before
    assert "= Yes" in (tool.root / "etc/iscsi/send_targets/192.0.2.10,3260/st_config").read_text()


# The table

def table(tool):
    rows = [re.fullmatch(r"(\S+) +([\w ]+|-): (.*)", line).groups()
            for line in tool.run("import", "--table")[0].splitlines()]
    assert len({name for name, _, _ in rows}) == len(rows)
    return rows


def without_row(tool, names):
    patterns = [re.compile(re.escape(name).replace(r"\*", ".*")) for name, _, _ in table(tool)]
    return [name for name in names if not any(p.fullmatch(name) for p in patterns)]


def test_table_is_that_of_the_manual(tool):
    text = MANUAL.read_text(encoding="utf-8")
    text = text.split(".SH SETTINGS OF OPEN-ISCSI\n")[1].split("\n.SH ")[0]
    rows = re.findall(r"\.TP\n\.B (\S+)\n((?:(?!\.TP).*\n?)+)", text)
    manual = [(name.replace("\\-", "-"), " ".join(body.replace("\\-", "-").split()))
              for name, body in rows]
    assert manual == [(name, f"{ours}: {why}" if ours != "-" else f"not taken: {why}")
                      for name, ours, why in table(tool)]


def test_table_says_how_long_segments_are(tool):
    """The driver sends no longer ones, whatever a target takes."""
    keys = (TOP / "drivers/istripe/iscsi/keys.c").read_text("utf-8")
    most, = re.findall(r"TYPE_PEER,\n.*\n.*\.offer_default = (\d+),", keys)
    why, = [why for name, _, why in table(tool) if name.endswith("MaxXmitDataSegmentLength")]
    assert why == f"the target's limit holds, up to {most} bytes"


def test_table_has_all_settings_of_a_record(tool):
    assert len(RECORD) > 90 and without_row(tool, RECORD) == []
    # Each name is a row of its own, but those of hardware adapters.
    named = {name for name, _, _ in table(tool)}
    assert [n for n in RECORD if n not in named and not n.startswith("iface.")] == []


def test_rows_name_settings_that_there_are(tool):
    settings = set(re.findall(r"_row\((\w+), ",
                              (TOP / "include/istripe/settings.h").read_text("utf-8")))
    ours = {word for _, names, _ in table(tool) for word in names.split() if word != "-"}
    assert len(ours) > 20 and ours <= settings
    assert {name for name, _, _ in table(tool)
            if not name.endswith(("*", ".use_discoveryd")) and not name.startswith("iscsid.")} <= set(RECORD)


CONF = Path("/etc/iscsi/iscsid.conf")
real_iscsiadm = pytest.mark.skipif(not shutil.which("iscsiadm") or not CONF.exists(),
                                   reason="open-iscsi is not installed")


@real_iscsiadm
def test_table_has_all_settings_of_iscsid_conf(tool):
    names = set(re.findall(r"^#? ?((?:node|iscsid|discovery|iface)\.\S+) *=",
                           CONF.read_text(encoding="utf-8"), re.MULTILINE))
    assert len(names) > 40 and without_row(tool, names) == []


REAL = r"""
set -e
mount -t tmpfs none /etc/iscsi
printf 'InitiatorName=iqn.2026-01.a:host\n' > /etc/iscsi/initiatorname.iscsi
cp "$1" /etc/iscsi/iscsid.conf
shift
mkdir /etc/iscsi/ifaces
printf '%s\n' '# BEGIN RECORD' 'iface.iscsi_ifacename = one' 'iface.net_ifacename = eth7' \
	'iface.transport_name = tcp' '# END RECORD' > /etc/iscsi/ifaces/one
iscsiadm -m node -o new -T iqn.2026-01.a:t1 -p 192.0.2.10 -I one > /dev/null 2>&1
iscsiadm -m node -o new -T iqn.2026-01.a:t1 -p '[2001:db8::1]:3261,1' > /dev/null 2>&1
node='iscsiadm -m node -T iqn.2026-01.a:t1 -o update'
$node -n node.session.auth.authmethod -v CHAP
$node -n node.session.auth.username -v me
$node -n node.session.auth.password -v 'correct horse = @battery'
$node -n node.startup -v automatic
$node -n node.conn[0].timeo.noop_out_interval -v 7
iscsiadm -m discoverydb -t st -p 192.0.2.10 -o new > /dev/null
iscsiadm -m discoverydb -t st -p 192.0.2.10 -o update -n discovery.sendtargets.use_discoveryd -v Yes
mkdir -p "$2" && cp -r /etc/iscsi/send_targets "$2"
"$1" import db --save --take-over >&2
$node -n node.conn[0].timeo.noop_out_interval -v 8
"$1" apply db >&2
iscsiadm -m node -o show
iscsiadm -m discoverydb -t st -p 192.0.2.10 -o show
"""


@real_iscsiadm
@ONLY_ROOT
def test_real_iscsiadm(tool, tmp_path):
    conf = tmp_path / "iscsid.conf"
    shutil.copy(CONF, conf)
    (tool.root / "etc").mkdir(exist_ok=True)
    done = subprocess.run(["unshare", "-m", "sh", "-c", REAL, "sh", conf, tool.program,
                           tool.root / "etc/iscsi"],
                          env=tool.env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "db: configured from " in done.stderr
    paths = [{name: tool.value(f"db/legs/0/paths/{i}/{name}") for name in
              ("portal", "nic", "chap_secret", "ping_interval_ms")} for i in (0, 1)]
    common = {"chap_secret": SECRET, "ping_interval_ms": "8000"}
    wanted = [{**common, "portal": "192.0.2.10:3260", "nic": "eth7"},
              {**common, "portal": "[2001:db8::1]:3261", "nic": ""}]
    assert sorted(paths, key=str) == sorted(wanted, key=str)
    shown = dict(re.findall(r"^(\S+) = (.*)$", done.stdout, re.MULTILINE))
    assert shown["node.startup"] == "manual"
    assert shown["discovery.sendtargets.use_discoveryd"] == "No"
    assert without_row(tool, shown) == []
