# SPDX-License-Identifier: GPL-2.0
"""The honest target and an initiator that is not ours (libiscsi): it works, and nothing is wrong."""

import hashlib
import re
import subprocess

import pytest

from scripted.login import Chap, Refused
from scripted.scenario import HONEST, Scenario
from scripted.server import Server

SECRET = {"user": b"a-secret-of-20-bytes"}
#: libiscsi's own faults: it takes the StatSN of an R2T, which consumes none, for one of its own,
#: and tells an NSG where it does not ask for a transition.
LIBISCSI = re.compile(r"4\.2\.2\.2: Data-Out .* acknowledges what was not sent|NSG without T")


@pytest.fixture(scope="module")
def server():
    server = Server().start()
    yield server
    server.stop()


@pytest.fixture
def run(server):
    def command(*argv, scenario=HONEST, size_bytes=64 << 20, query=""):
        server.load(scenario, size_bytes=size_bytes)
        url = f"iscsi://{query}{server.portal}/{server.target.settings.name}/0"
        if argv[0] == "iscsi-ls":
            url = f"iscsi://{query}{server.portal}"
        done = subprocess.run([*argv, url], capture_output=True, text=True, errors="replace",
                              timeout=600, check=False)
        out = done.stdout + done.stderr
        assert done.returncode == 0, out
        assert [line for line in server.violations() if not LIBISCSI.search(line)] == []
        return out

    return command


def test_discovery(run, server):
    assert server.target.settings.name in run("iscsi-ls", "-s")


def test_inquiry(run):
    assert "SCRIPTED TARGET" in run("iscsi-inq")


@pytest.mark.parametrize("page, text", [(0, "0x83"), (0x80, "6001405"), (0x83, "NAA")])
def test_pages(run, page, text):
    assert text in run("iscsi-inq", "-e", "1", "-c", str(page))


def test_capacity(run):
    assert "Total size:67108864" in run("iscsi-readcapacity16")


def test_performance(run):
    assert "finished" in run("iscsi-perf", "-t", "1")


@pytest.mark.parametrize("keys", [
    {},
    {"InitialR2T": True, "ImmediateData": False},
    {"MaxBurstLength": 4096, "FirstBurstLength": 512, "MaxRecvDataSegmentLength": 512},
    {"MaxOutstandingR2T": 1, "InitialR2T": True},
    {"HeaderDigest": ("CRC32C",)},
    {"first_stat_sn": 1000},
    {"depth": 1},
])
@pytest.mark.parametrize("suite", ["SCSI.Read16.Simple", "SCSI.Write16.Simple", "SCSI.Unmap.Simple",
                                   "SCSI.WriteSame16.Simple"])
def test_data(run, suite, keys):
    """iscsi-test-cu writes, reads and compares."""
    out = run("iscsi-test-cu", "--dataloss", "-n", "-s", "--test", suite,
              scenario=Scenario("keys", settings=keys))
    assert "[FAILED]" not in out
    assert re.search(r"asserts +\d+ +\d+ +\d+ +0 ", out)


def test_chap(run):
    """MD5 is all that libiscsi has."""
    scenario = Scenario("chap", settings={"secrets": SECRET})
    run("iscsi-inq", scenario=scenario, query="user%a-secret-of-20-bytes@")


@pytest.mark.parametrize("algorithm", [5, 6, 7, 8])
def test_chap_algorithms(algorithm):
    """Both ways, with the initiator's half worked out here from RFC 1994."""
    name = {5: "md5", 6: "sha1", 7: "sha256", 8: "sha3_256"}[algorithm]
    chap = Chap(SECRET, ("target", b"another-secret-of-it"))
    asked = dict(chap.step({"CHAP_A": str(algorithm)}))
    proof = hashlib.new(name, bytes([int(asked["CHAP_I"])]) + SECRET["user"] +
                        bytes.fromhex(asked["CHAP_C"][2:])).hexdigest()
    answer = dict(chap.step({"CHAP_N": "user", "CHAP_R": "0x" + proof, "CHAP_I": "9",
                             "CHAP_C": "0x" + "ab" * 16}))
    assert chap.done and chap.proven
    wanted = hashlib.new(name, b"\x09another-secret-of-it" + b"\xab" * 16).hexdigest()
    assert answer == {"CHAP_N": "target", "CHAP_R": "0x" + wanted}


@pytest.mark.parametrize("got", [
    {"CHAP_A": "99"},
    {"CHAP_N": "user", "CHAP_R": "0x00"},
])
def test_chap_refuses(got):
    chap = Chap(SECRET)
    with pytest.raises(Refused):
        chap.step(got)
