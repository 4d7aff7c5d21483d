# SPDX-License-Identifier: GPL-2.0
"""report: what is in it, and that no secret is."""

import io
import json
import os
import signal
import tarfile

import pytest
from conftest import TOP
from secret_host import PROGRAMS, SECRETS, forms, secretive_host

FILES = [
    "conf-db.conf", "configfs-db.txt", "doctor.json", "doctor.txt", "ethtool-eth1.txt",
    "ethtool-eth2.txt", "host.txt", "interrupts.txt", "kernel-log.txt", "list.txt", "metrics.txt",
    "network.txt", "open-iscsi-records.txt", "open-iscsi.txt", "proc-net.txt", "show-command.txt",
    "show.json", "show.txt", "status.json", "status.txt", "sysctl-net.txt", "sysfs-istripe0.txt",
    "systemd.txt", "top.txt", "udev-istripe0.txt", "versions.txt",
]


@pytest.fixture
def host(tool, stock):
    return secretive_host(tool, stock)


def contents(archive):
    """{name: bytes} of an archive or a folder."""
    if archive.is_dir():
        return {file.name: file.read_bytes() for file in archive.iterdir()}
    with tarfile.open(archive) as tar:
        return {os.path.basename(member.name): tar.extractfile(member).read()
                for member in tar if member.isfile()}


@pytest.mark.parametrize("name", ["report.tar.gz", "report.tgz", "report"])
def test_no_secret_is_in_it(host, tmp_path, name):
    out, _ = host.tool.run("report", "--output", tmp_path / name)
    files = contents(tmp_path / name)
    assert set(FILES) <= set(files)
    assert out.splitlines()[-1] == f"report: {tmp_path / name}"
    assert sorted(out.splitlines()[:-1]) == sorted(files)
    for file, data in files.items():
        assert data, file
        text = data.decode()
        for where, secret in SECRETS.items():
            for form in forms(secret):
                assert form not in text, f"{file}: {where}: {form}"
    # The programs have been asked, and what is no secret is there.
    assert b"(left out)" in files["network.txt"] and b"$ ss -tienmO" in files["network.txt"]
    assert b"eth1" in files["ethtool-eth1.txt"]


def test_who_may_read_it(host, tmp_path):
    old = os.umask(0)
    try:
        host.tool.run("report", "-o", tmp_path / "a.tar.gz")
        host.tool.run("report", "-o", tmp_path / "folder")
    finally:
        os.umask(old)
    assert (tmp_path / "a.tar.gz").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "folder").stat().st_mode & 0o777 == 0o700
    assert {file.stat().st_mode & 0o777 for file in (tmp_path / "folder").iterdir()} == {0o600}
    # Nothing but what was asked for is left.
    assert {file.name for file in tmp_path.iterdir()} >= {"a.tar.gz", "folder"}
    assert [file.name for file in tmp_path.iterdir() if file.name.startswith("a.tar.gz.")] == []


def test_what_is_in_it(host, tmp_path):
    host.tool.run("report", "-o", tmp_path / "r")
    files = {name: data.decode() for name, data in contents(tmp_path / "r").items()}
    assert json.loads(files["status.json"])["volumes"][0]["name"] == "db"
    assert json.loads(files["show.json"])["volumes"][0]["name"] == "db"
    assert "findings" in json.loads(files["doctor.json"])
    assert "istripe/legs/1/paths/0/state = live" in files["sysfs-istripe0.txt"]
    assert "queue/scheduler = [none] mq-deadline" in files["sysfs-istripe0.txt"]
    assert "db/legs/1/paths/0/portal = 192.0.2.11" in files["configfs-db.txt"]
    assert "chap_secret" not in files["configfs-db.txt"]
    assert "chap_secret = @db.secret" in files["conf-db.conf"]
    assert "chap_secret = (left out)" in files["conf-db.conf"]
    assert "[    2.000000] istripe: db: it was" in files["kernel-log.txt"]
    assert "not for us" not in files["kernel-log.txt"]
    assert "node.session.auth.password = (left out)" in files["open-iscsi-records.txt"]
    assert "node.session.auth.username = me" in files["open-iscsi-records.txt"]
    assert "istripe_volume_up" in files["metrics.txt"]
    assert "istripectl 0." in files["versions.txt"]


def test_while_a_leg_is_away(host, tmp_path):
    """What may wait for it is left out."""
    host.put("sys/block/istripe0/istripe/state", "waiting")
    host.tool.run("report", "-o", tmp_path / "r")
    files = {name: data.decode() for name, data in contents(tmp_path / "r").items()}
    assert "istripe/state = waiting" in files["sysfs-istripe0.txt"]
    assert "queue/" not in files["sysfs-istripe0.txt"]
    assert "/sys/block/istripe0/queue: I/O waits for a leg: not read" in files["errors.txt"]


def test_only_one_volume(host, tmp_path):
    host.tool.run("create", "log", "--no-up", "--leg",
                  "target=iqn.2026-01.a:t9,portal=192.0.2.9,nic=eth9")
    host.tool.run("report", "-o", tmp_path / "r", "log")
    files = contents(tmp_path / "r")
    assert "configfs-log.txt" in files and "configfs-db.txt" not in files
    assert "ethtool-eth9.txt" in files and "ethtool-eth1.txt" not in files
    volume, = json.loads(files["show.json"])["volumes"]
    assert volume["name"] == "log"


def test_a_volume_that_is_named_twice(host, tmp_path):
    host.tool.run("report", "-o", tmp_path / "r", "db", "db")
    files = contents(tmp_path / "r")
    assert "configfs-db.txt" in files and len(json.loads(files["show.json"])["volumes"]) == 1


def test_a_volume_that_has_a_file_only(host, tmp_path):
    host.put("etc/istripe/later.conf", "[leg 0]\ntarget = iqn.x\n[leg 0 path 0]\nnic = eth7")
    host.tool.run("report", "-o", tmp_path / "r")
    files = contents(tmp_path / "r")
    assert b"db" in files["top.txt"] and b"db" in files["status.txt"]
    assert "conf-later.conf" in files and "configfs-later.txt" not in files
    assert "ethtool-eth7.txt" in files


def test_without_the_module_and_the_programs(host, tmp_path):
    host.tool.tree.rename(host.tool.root / "away")
    for name in PROGRAMS:
        (host.tool.root / "bin" / name).unlink()
    only = tmp_path / "only"
    only.mkdir()
    for name in ("tar", "gzip", "sh", "cat"):
        (only / name).symlink_to(f"/bin/{name}")
    host.tool.run("report", "-o", tmp_path / "r.tar.gz",
                  PATH=f"{host.tool.root}/bin:{only}")
    files = contents(tmp_path / "r.tar.gz")
    errors = files["errors.txt"].decode()
    assert "the module is not loaded" in errors
    assert "ethtool -k eth1: there is no such program" not in errors    # no NIC is named
    assert "ss -tienmO: there is no such program" in errors
    assert "conf-db.conf" in files and "kernel-log.txt" in files


@pytest.mark.parametrize("words, said", [
    (["nobody"], "there is no volume nobody"),
    (["-o", "{}/no/where"], "no/where: No such file"),
    (["-o", "{}/no/where.tar.gz"], "no/where.tar.gz: No such file"),
    (["-o", "{}/there"], "there: File exists"),
])
def test_failures_leave_nothing(host, tmp_path, words, said):
    (tmp_path / "there").mkdir()
    before = sorted(tmp_path.iterdir())
    _, err = host.tool.run("report", *[word.format(tmp_path) for word in words], code=1)
    assert said in err
    assert sorted(tmp_path.iterdir()) == before


def test_a_signal_leaves_nothing(host, tmp_path):
    before = sorted(tmp_path.iterdir())
    slow = host.tool.root / "bin/lscpu"
    slow.write_text("#!/bin/sh\nexec sleep 600\n")
    process = host.tool.start("report", "-o", tmp_path / "r.tar.gz")
    for line in process.stdout:
        if line.startswith("versions.txt"):
            break
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1 and "interrupted" in err
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("name", ["r.tar.gz", "r"])
def test_nobody_reads_what_it_prints(host, tmp_path, name):
    before = sorted(tmp_path.iterdir())
    assert host.tool.unread("report", "-o", tmp_path / name) == (1, "")
    assert set(FILES) <= set(contents(tmp_path / name))
    assert sorted(tmp_path.iterdir()) == sorted([*before, tmp_path / name])


def test_an_archive_is_what_tar_reads(host, tmp_path):
    host.tool.run("report", "-o", tmp_path / "a:b.tar.gz")
    with tarfile.open(fileobj=io.BytesIO((tmp_path / "a:b.tar.gz").read_bytes())) as tar:
        names = tar.getnames()
    assert names[0] == "a:b" and all(name.startswith("a:b") for name in names)


def test_the_manual_says_what_is_collected():
    manual = (TOP / "tools/istripectl/istripectl.8").read_text(encoding="utf-8")
    assert ".B report\nCollects" in manual and "No secret is in any of it" in manual
