# SPDX-License-Identifier: GPL-2.0
"""Configuration files on the real module: a volume comes back as it was, and follows its file."""

import json
import re
from pathlib import Path

import pytest

from lab import fio, istripe
from lab.istripectl import INITIATOR, leg
from lab.shell import read, run, wait_for

KIB, MIB = 1 << 10, 1 << 20
USER, SECRET = "initiator", "a-secret-of-20-bytes"


@pytest.fixture
def conf(conf):
    """The file of the volume."""
    return conf / "db.conf"


def edit(conf, *changes):
    text = conf.read_text(encoding="utf-8")
    for old, new in changes:
        assert re.search(old, text, re.MULTILINE), f"{old} in\n{text}"
        text = re.sub(old, new, text, flags=re.MULTILINE)
    conf.write_text(text, encoding="utf-8")


def create(tool, target, links, *more):
    """A leg of two paths, saved. A path is not lost because an emulated processor stands still."""
    patient = ",ping_timeout=10s"
    second = f"portal={links[1].portal()},nic={links[1].nic}{patient}"
    tool("create", "db", "--save", *INITIATOR, *leg(target, links[0], more=patient),
         "--path", second, *more)
    run("udevadm", "settle", check=False)


def test_comes_back_as_it_was(tool, make_lio, links, conf):
    secret = Path("/etc/istripe/db.secret")
    secret.parent.mkdir(exist_ok=True)
    secret.touch(0o600)
    secret.write_text(f"{SECRET}\n", encoding="ascii")
    target = make_lio(16 * MIB, all_links=True, chap=(USER, SECRET))
    create(tool, target, links, "--chunk", "16K", "--all-paths",
           f"chap_user={USER},chap_secret=@{secret},connections=2,dscp=46")
    before = tool("show", "--json", "db")
    text = conf.read_text(encoding="utf-8")
    assert SECRET not in text and f"chap_secret = @{secret}" in text
    designator = read(istripe.Volume("db").leg_sysfs(0) / "designator")
    assert f"designator = {designator}\n" in text
    tool("save", "db")
    assert f"chap_secret = @{secret}" in conf.read_text(encoding="utf-8")
    tool("delete", "db")
    assert tool("up", "db").startswith("db: configured from /etc/istripe/db.conf\ndb: /dev/istripe")
    shown, again = json.loads(before), json.loads(tool("show", "--json", "db"))
    for each in (shown, again):
        each["volumes"][0].pop("device")
    # configfs takes none while the volume is up.
    assert [each["volumes"][0]["legs"][0].pop("designator") for each in (shown, again)] == [
        None, designator]
    assert again == shown
    assert tool("apply", "db") == ""


def test_follows_its_file_under_io(tool, make_lio, links, conf):
    """Live settings at once, keys of the login path after path; nobody gets an error."""
    create(tool, make_lio(64 * MIB, all_links=True), links)
    volume = istripe.Volume("db")
    device = Path("/dev", volume.device())
    options = fio.verify_options(4 * MIB, jobs=4, largest_bytes=64 * KIB, depth=4)
    with fio.meanwhile(device, **options):
        edit(conf, (r"^#ping_interval_ms = .*", "ping_interval = 7s"),
             (r"^#recovery_timeout_ms = .*", "recovery_timeout = 77s"),
             (r"^#policy = .*", "policy = round-robin"),
             (r"^#connections = .*", "connections = 2"),
             (r"^#header_digest = .*", "header_digest = CRC32C"),
             (r"^#max_burst_length = .*", "max_burst_length = 128K"),
             (r"^#first_burst_length = .*", "first_burst_length = 64K"))
        steps = tool("apply", "--dry-run", "db")
        assert tool("apply", "db") == steps
    assert steps.count("the path logs in anew") == 6 and "down" not in steps
    for number in (0, 1):
        path = volume.path_sysfs(0, number)
        wait_for("a live path", lambda path=path: read(path / "state") == "live", 60)
        negotiated = path / "session" / "negotiated"
        assert read(path / "ping_interval_ms") == "7000"
        assert read(negotiated / "HeaderDigest") == "CRC32C"
        assert read(negotiated / "MaxBurstLength") == str(128 * KIB)
        assert len(list((path / "connections").iterdir())) == 2
    assert read(volume.sysfs() / "recovery_timeout_ms") == "77000"
    assert read(volume.sysfs() / "legs/0/policy") == "round-robin"
    assert tool("apply", "db") == ""


def test_what_is_refused_is_as_before(tool, make_lio, links, conf):
    """A path that cannot come back with its new settings, a value out of range, the last path."""
    create(tool, make_lio(16 * MIB, 16 * MIB, all_links=True), links)
    volume = istripe.Volume("db")
    saved = conf.read_text(encoding="utf-8")
    edit(conf, (r"^nic = " + links[1].nic, f"nic = {links[1].nic}\nlun = 1"))
    out = tool("apply", "db", code=1)
    assert "leg 0 path 1 of db is not added" in out and "the path is as it was before" in out
    assert read(volume.path_sysfs(0, 1) / "state") == "live"
    conf.write_text(saved.replace("#ping_interval_ms = 2000", "ping_interval_ms = 9999999"),
                    encoding="utf-8")
    out = tool("apply", "db", code=1)
    assert re.search(r'/db\.conf:\d+: ping_interval_ms: "9999999" is refused', out) and "3600000" in out
    conf.write_text(saved.replace("chunk_bytes = 64K", "chunk_bytes = 128K"), encoding="utf-8")
    out = tool("apply", "db", code=1)
    assert "not changed, since it needs it down: chunk_bytes" in out
    conf.write_text(saved, encoding="utf-8")
    assert tool("apply", "db") == ""
    assert volume.state() == "live"
