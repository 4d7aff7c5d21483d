# SPDX-License-Identifier: GPL-2.0
"""Records of the stock initiator: a volume is made of them and tuned with iscsiadm, under I/O."""

import re
from pathlib import Path

import pytest

from lab import fio, istripe
from lab.istripectl import INITIATOR
from lab.shell import read, run, status, wait_for, write

KIB, MIB = 1 << 10, 1 << 20
USER, SECRET = "initiator", "a-secret-of-20-bytes"
MUTUAL_USER, MUTUAL_SECRET = "target", "another-one-20-bytes"
DISCOVERY_AUTH = Path("/sys/kernel/config/target/iscsi/discovery_auth")


def iscsiadm(*words):
    return run("iscsiadm", "-m", *words)


def node(target, *words):
    return iscsiadm("node", "-T", target.iqn, *words)


def update(target, **values):
    """Sets values of all records of a target; "__" in a name is a dot."""
    for name, value in values.items():
        node(target, "-o", "update", "-n", name.replace("__", ".").replace("conn.", "conn[0]."),
             "-v", value)


@pytest.fixture
def records(stock, links):
    """records(target): a record for each link, bound to its NIC. Nothing logs in by them."""
    made = []

    def make(target):
        for link in links[:2]:
            iface = f"on-{link.nic}"
            if status("iscsiadm", "-m", "iface", "-I", iface)[0]:
                iscsiadm("iface", "-I", iface, "-o", "new")
            iscsiadm("iface", "-I", iface, "-o", "update", "-n", "iface.net_ifacename",
                     "-v", link.nic)
            node(target, "-p", link.portal(), "-I", iface, "-o", "new")
        made.append(target)

    assert stock.daemon
    yield make
    for target in made:
        node(target, "-o", "delete")
    for link in links[:2]:
        status("iscsiadm", "-m", "iface", "-I", f"on-{link.nic}", "-o", "delete")


def bring_up(tool, *words):
    tool("import", "db", "--save", *INITIATOR, "--metadata", "none", *words)
    tool("up", "db")
    run("udevadm", "settle", check=False)
    return istripe.Volume("db")


def live(volume, number):
    path = volume.path_sysfs(0, number)
    wait_for("a live path", lambda: path.exists() and read(path / "state") == "live", 60)
    return path


def test_a_volume_of_records_is_tuned_with_iscsiadm(tool, make_lio, links, records, conf):
    target = make_lio(64 * MIB, all_links=True)
    records(target)
    volume = bring_up(tool)
    assert "from_node = yes" in (conf / "db.conf").read_text(encoding="utf-8")
    paths = [live(volume, number) for number in (0, 1)]
    assert {(read(path / "portal"), read(path / "nic")) for path in paths} == {
        (link.portal(), link.nic) for link in links[:2]}
    assert {read(path / "ping_interval_ms") for path in paths} == {"5000"}
    device = Path("/dev", volume.device())
    options = fio.verify_options(4 * MIB, jobs=4, largest_bytes=64 * KIB, depth=4)
    with fio.meanwhile(device, **options):
        update(target, node__conn__timeo__noop_out_interval=7,
               node__session__timeo__replacement_timeout=77,
               node__session__nr_sessions=2,
               node__session__iscsi__MaxBurstLength=128 * KIB,
               node__session__iscsi__FirstBurstLength=64 * KIB,
               node__conn__iscsi__HeaderDigest="CRC32C",
               node__conn__tcp__type_of_service=184)
        tool("apply", "db")
    for number in (0, 1):
        path = live(volume, number)
        negotiated = path / "session" / "negotiated"
        assert read(path / "ping_interval_ms") == "7000" and read(path / "dscp") == "46"
        assert read(negotiated / "HeaderDigest") == "CRC32C"
        assert read(negotiated / "MaxBurstLength") == str(128 * KIB)
        assert read(negotiated / "FirstBurstLength") == str(64 * KIB)
        wait_for("both connections",
                 lambda path=path: len(list((path / "connections").iterdir())) == 2)
    assert read(volume.sysfs() / "recovery_timeout_ms") == "77000"
    assert tool("apply", "db") == ""
    # What is out of range changes nothing, and is said with the record's name.
    update(target, node__conn__timeo__noop_out_interval=99999)
    out = tool("apply", "db", code=1)
    assert "ping_interval_ms is 0 to 3600000" in out and target.iqn in out
    assert read(volume.path_sysfs() / "ping_interval_ms") == "7000"
    # The same again from nothing, as after a reboot.
    update(target, node__conn__timeo__noop_out_interval=6)
    tool("delete", "db")
    assert tool("up", "db").startswith("db: configured from /etc/istripe/db.conf\ndb: /dev/istripe")
    assert read(live(volume, 0) / "ping_interval_ms") == "6000"


#: What the table of import --table takes: name and value as open-iscsi has them; files in configfs.
#: Those that change while the volume is in use, without a login.
LIVE = {
    "node.session.timeo.replacement_timeout": (33, {"recovery_timeout_ms": "33000"}),
    "node.session.nr_sessions": (2, {"connections": "2"}),
    "node.conn[0].timeo.login_timeout": (21, {"login_timeout_ms": "21000"}),
    "node.conn[0].timeo.noop_out_interval": (7, {"ping_interval_ms": "7000"}),
    "node.conn[0].timeo.noop_out_timeout": (9, {"ping_timeout_ms": "9000"}),
    "node.conn[0].tcp.window_size": (
        MIB, {"receive_buffer_bytes": str(MIB), "send_buffer_bytes": str(MIB)}),
    "node.conn[0].tcp.type_of_service": (184, {"dscp": "46"}),
}
#: Those that each path logs in anew for, one after the other.
LOGIN = {
    "node.session.iscsi.InitialR2T": ("Yes", {"initial_r2t": "Yes"}),
    "node.session.iscsi.ImmediateData": ("No", {"immediate_data": "No"}),
    "node.session.iscsi.FirstBurstLength": (64 * KIB, {"first_burst_length": str(64 * KIB)}),
    "node.session.iscsi.MaxBurstLength": (128 * KIB, {"max_burst_length": str(128 * KIB)}),
    "node.session.iscsi.MaxOutstandingR2T": (4, {"max_outstanding_r2t": "4"}),
    "node.session.iscsi.DefaultTime2Wait": (3, {"default_time2wait": "3"}),
    "node.session.iscsi.DefaultTime2Retain": (10, {"default_time2retain": "10"}),
    "node.conn[0].iscsi.MaxRecvDataSegmentLength": (
        128 * KIB, {"max_recv_data_segment_length": str(128 * KIB)}),
    "node.conn[0].iscsi.HeaderDigest": ("CRC32C", {"header_digest": "CRC32C"}),
    "node.session.auth.authmethod": ("CHAP", {}),
    "node.session.auth.chap_algs": ("MD5,SHA256", {"chap_algorithms": "SHA256,MD5"}),
    "node.session.auth.username": (USER, {"chap_user": USER}),
    "node.session.auth.password": (SECRET, {}),
    "node.session.auth.username_in": (MUTUAL_USER, {"chap_mutual_user": MUTUAL_USER}),
    "node.session.auth.password_in": (MUTUAL_SECRET, {}),
}
#: Those that need the volume down.
DOWN = {
    # None before: its pages are not stable.
    "node.conn[0].iscsi.DataDigest": ("CRC32C", {"data_digest": "CRC32C"}),
    "node.session.queue_depth": (64, {"queue_depth": "64"}),
    "iface.initiatorname": (f"{istripe.INITIATOR}-anew",
                            {"initiator_name": f"{istripe.INITIATOR}-anew"}),
}
#: Where a path leads from and to, which the record is found by.
WAYS = {"node.name", "node.conn[0].address", "node.conn[0].port", "iface.net_ifacename",
        "iface.hwaddress", "iface.ipaddress"}
#: What open-iscsi 2.1.11 does not have yet.
LATER = {"node.conn[0].tcp.congestion_control"}


def tune(target, links, values):
    for name, (value, _) in values.items():
        if name.startswith("iface."):
            for link in links[:2]:
                iscsiadm("iface", "-I", f"on-{link.nic}", "-o", "update", "-n", name, "-v", value)
        else:
            node(target, "-o", "update", "-n", name, "-v", value)


def as_recorded(volume, values):
    """The files of the volume and of both paths have what the records say."""
    for name, (_, ours) in values.items():
        for file, wanted in ours.items():
            if (volume.config / file).exists():
                places = [volume.config]
            else:
                places = [volume.config / "legs/0/paths" / str(number) for number in (0, 1)]
            assert {read(place / file) for place in places} == {wanted}, name


#: What the target has, and what comes of that and of LOGIN. FirstBurstLength is irrelevant then.
TARGET = {"MaxBurstLength": 256 * KIB, "MaxOutstandingR2T": 2, "DefaultTime2Wait": 1,
          "DefaultTime2Retain": 5}
AGREED = {"InitialR2T": "Yes", "ImmediateData": "No", "MaxBurstLength": str(128 * KIB),
          "MaxOutstandingR2T": "2", "DefaultTime2Wait": "3", "DefaultTime2Retain": "5",
          "MaxRecvDataSegmentLength": str(128 * KIB), "HeaderDigest": "CRC32C"}


def log_in_as_recorded(volume, data_digest):
    """Each path has offered what the records say at its last login, and keeps to the answers."""
    for number in (0, 1):
        session = live(volume, number) / "session"
        for name, (value, _) in LOGIN.items():
            if ".iscsi." in name:
                key = name.split(".")[-1]
                assert read(session / "offered" / key) == str(value), (number, key)
        agreed = {**AGREED, "DataDigest": data_digest}
        assert {key: read(session / "negotiated" / key) for key in agreed} == agreed


def test_every_setting_of_records_under_io(tool, make_lio, links, records, conf):
    """Live ones one by one, those of logins together, the others with the volume down for a moment."""
    taken = {line.split()[0] for line in tool("import", "--table").splitlines() if " -: " not in line}
    assert taken == {*LIVE, *LOGIN, *DOWN} | WAYS | LATER
    target = make_lio(64 * MIB, all_links=True, patient_with=istripe.INITIATOR, params=TARGET)
    records(target)
    volume = bring_up(tool)
    assert (conf / "db.conf").exists() and {read(live(volume, n) / "nic") for n in (0, 1)} == {
        link.nic for link in links[:2]}
    options = fio.verify_options(4 * MIB, jobs=2, largest_bytes=64 * KIB, depth=4)
    with fio.meanwhile(Path("/dev", volume.device()), **options):
        for name, row in LIVE.items():
            before = [read(volume.path_sysfs(0, number) / "faults") for number in (0, 1)]
            tune(target, links, {name: row})
            tool("apply", "db")
            as_recorded(volume, {name: row})
            assert [read(live(volume, number) / "faults") for number in (0, 1)] == before
        target.demand_chap((USER, SECRET), (MUTUAL_USER, MUTUAL_SECRET))
        tune(target, links, LOGIN)
        tool("apply", "--secrets", "db")
        as_recorded(volume, {**LIVE, **LOGIN})
        log_in_as_recorded(volume, "None")
        tune(target, links, DOWN)
        said = tool("apply", "db", code=1)
        assert "needs it down: initiator_name, queue_depth, leg 0 path 0: data_digest" in said
    tool("down", "db")
    tool("up", "--saved", "db")
    as_recorded(volume, {**LIVE, **LOGIN, **DOWN})
    log_in_as_recorded(volume, "CRC32C")
    assert read(volume.sysfs() / "queue_depth") == "64" and tool("apply", "db") == ""


def test_one_path_of_records(tool, make_lio, records, conf):
    """Only path 1 follows its record; path 0 and what a volume has once are as the file says."""
    target = make_lio(16 * MIB, all_links=True)
    records(target)
    volume = bring_up(tool, "--once")
    file = conf / "db.conf"
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace("[leg 0 path 1]\n", "[leg 0 path 1]\nfrom_node = yes\n"),
                    encoding="utf-8")
    assert tool("apply", "db") == ""
    update(target, node__conn__timeo__noop_out_interval=7,
           node__session__timeo__replacement_timeout=77, node__conn__iscsi__HeaderDigest="CRC32C")
    tool("apply", "db")
    paths = [live(volume, number) for number in (0, 1)]
    assert [read(path / "ping_interval_ms") for path in paths] == ["5000", "7000"]
    assert [read(path / "session/negotiated/HeaderDigest") for path in paths] == ["None", "CRC32C"]
    assert read(volume.sysfs() / "recovery_timeout_ms") == "120000"
    tool("save", "db")
    assert file.read_text(encoding="utf-8").count("from_node = yes") == 1 and tool("apply", "db") == ""


@pytest.mark.parametrize("first, most, ours", [
    (2 * MIB, 16776192, (2 * MIB, 16776192)), (256 * KIB, 64 * KIB, (64 * KIB, 64 * KIB))])
def test_first_bursts_that_are_longer_than_others(tool, make_lio, records, conf, first, most, ours):
    """The stock initiator logs in with such records, too."""
    target = make_lio(16 * MIB, all_links=True)
    records(target)
    update(target, node__session__iscsi__FirstBurstLength=first,
           node__session__iscsi__MaxBurstLength=most)
    volume = bring_up(tool)
    assert "from_node = yes" in (conf / "db.conf").read_text(encoding="utf-8")
    for number in (0, 1):
        offered = live(volume, number) / "session" / "offered"
        assert read(offered / "FirstBurstLength") == str(ours[0])
        assert read(offered / "MaxBurstLength") == str(ours[1])


def test_chap_of_records(tool, make_lio, records, conf):
    target = make_lio(16 * MIB, all_links=True, chap=(USER, SECRET),
                      chap_mutual=(MUTUAL_USER, MUTUAL_SECRET))
    records(target)
    update(target, node__session__auth__authmethod="CHAP", node__session__auth__username=USER,
           node__session__auth__password=SECRET, node__session__auth__username_in=MUTUAL_USER,
           node__session__auth__password_in=MUTUAL_SECRET)
    volume = bring_up(tool)
    live(volume, 0)
    live(volume, 1)
    assert SECRET not in (conf / "db.conf").read_text(encoding="utf-8")
    assert {file.stat().st_mode & 0o777 for file in conf.glob("*.secret")} == {0o600}
    assert len(list(conf.glob("*.secret"))) == 2


def test_records_that_log_in_at_boot(tool, make_lio, records, conf):
    target = make_lio(16 * MIB, all_links=True)
    records(target)
    update(target, node__startup="automatic")
    assert "node.startup = automatic" in tool("import", "db", "--save", *INITIATOR, code=1)
    assert not (conf / "db.conf").exists()
    tool("import", "db", "--save", "--take-over", *INITIATOR)
    shown = node(target, "-o", "show")
    assert shown.count("node.startup = manual") == 2


def test_discover(tool, make_lio, link, stock):
    target = make_lio(16 * MIB)
    out = tool("discover", link.portal())
    assert stock.daemon and target.iqn in out and link.portal() in out
    assert status("iscsiadm", "-m", "node")[0] == 21, "the database of open-iscsi has a record"
    tool("create", "db", *INITIATOR, "--leg", f"target={target.iqn},portal={link.portal()}")
    assert "LUN 0 is leg 0 of volume db" in tool("discover", link.address)
    assert re.search(r"LUN 0 +1[56]M\n", tool("discover", link.portal(), "--luns"))


def test_discover_with_chap(tool, make_lio, link, stock, conf):
    target = make_lio(16 * MIB)
    secret = conf / "discovery.secret"
    conf.mkdir(exist_ok=True)
    secret.touch(0o600)
    secret.write_text(f"{SECRET}\n", encoding="ascii")
    before = Path("/etc/iscsi/iscsid.conf").read_bytes()
    for name, value in (("userid", USER), ("password", SECRET)):
        write(DISCOVERY_AUTH / name, value, end="")
    write(DISCOVERY_AUTH / "enforce_discovery_auth", 1)
    try:
        assert stock.daemon
        tool("discover", link.portal(), code=1)
        out = tool("discover", link.portal(), "--chap", f"user={USER},secret=@{secret}")
        assert target.iqn in out
    finally:
        write(DISCOVERY_AUTH / "enforce_discovery_auth", 0)
    assert Path("/etc/iscsi/iscsid.conf").read_bytes() == before
    assert status("grep", "-r", SECRET, "/etc/iscsi")[0] == 1
