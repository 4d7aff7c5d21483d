# SPDX-License-Identifier: GPL-2.0
"""A whole session as another implementation of the standards reads it: tshark's dissectors."""

import os

import pytest

from lab import fio, storage
from lab.capture import Capture, Verdict
from lab.shell import run

KIB = 1 << 10
MIB = 1 << 20

# Opcodes of RFC 7143 section 11.2.1.2
NOP_OUT, COMMAND, TEXT_OR_LOGIN, DATA_OUT, LOGOUT = 0x00, 0x01, 0x03, 0x05, 0x06
NOP_IN, RESPONSE, LOGIN_RESPONSE, DATA_IN, LOGOUT_RESPONSE, R2T, REJECT = (
    0x20, 0x21, 0x23, 0x25, 0x26, 0x31, 0x3F)


@pytest.mark.parametrize("digests", [False, True], ids=["plain", "digests"])
@pytest.mark.timeout_s(900)
def test_whole_session(make_lio, make_volume, link, digests):
    keys = {"HeaderDigest": "CRC32C", "DataDigest": "CRC32C"} if digests else {}
    path = {"header_digest": "CRC32C", "data_digest": "CRC32C"} if digests else {}
    target = make_lio(16 * MIB, params={"InitialR2T": "No", "FirstBurstLength": 16 * KIB,
                                        "MaxRecvDataSegmentLength": 8 * KIB,
                                        "MaxBurstLength": 64 * KIB, **keys})
    volume = make_volume(target, path={"ping_interval_ms": 300, **path})
    with Capture(link) as capture:
        device = volume.enable()
        fio.run(device, **fio.verify_options(MIB, jobs=2, largest_bytes=256 * KIB, depth=4))
        with open(device, "r+b", buffering=0) as file:
            file.write(os.urandom(4096))
            os.fsync(file.fileno())
        run("dd", "if=/dev/zero", f"of={device}", "bs=4096", "count=1", "oflag=direct,dsync")
        run("blkdiscard", "-o", MIB, "-l", MIB, device)
        run("blkdiscard", "--zeroout", "-o", MIB, "-l", MIB, device)
        run("sleep", "2")
        volume.disable()
    assert capture.dropped() == 0
    verdict = Verdict(capture.path)
    assert verdict.complaints == []
    assert {NOP_OUT, COMMAND, TEXT_OR_LOGIN, DATA_OUT, LOGOUT, NOP_IN, RESPONSE, LOGIN_RESPONSE,
            DATA_IN, LOGOUT_RESPONSE, R2T} <= set(verdict.opcodes)
    assert REJECT not in verdict.opcodes


def test_login_text(make_lio, make_volume, link):
    """Each key of RFC 7143 is offered once, and no key that is none."""
    volume = make_volume(make_lio(8 * MIB))
    with Capture(link) as capture:
        volume.enable()
        volume.disable()
    verdict = Verdict(capture.path)
    keys = [pair.partition("=")[0] for pair in verdict.pairs]
    for key in ("InitiatorName", "TargetName", "SessionType", "MaxRecvDataSegmentLength",
                "MaxBurstLength", "FirstBurstLength", "InitialR2T", "ImmediateData",
                "MaxOutstandingR2T", "HeaderDigest", "DataDigest", "DefaultTime2Wait",
                "DefaultTime2Retain", "ErrorRecoveryLevel", "MaxConnections"):
        assert key in keys, key
    assert "IFMarker" not in keys and "OFMarker" not in keys


@pytest.mark.timeout_s(900)
def test_reinstatement(make_lio, make_volume, link):
    """The session after a lost connection reads as well as the first one, and has the same ISID."""
    from lab import network

    volume = make_volume(make_lio(8 * MIB, params={"DefaultTime2Wait": 0}),
                         path={"default_time2wait": 0})
    with Capture(link) as capture:
        device = volume.enable()
        network.kill_connections(by_target=True)
        volume.wait_state("live")
        storage.sha256(device, MIB)
        volume.disable()
    assert Verdict(capture.path).complaints == []
    out = run("tshark", "-n", "-r", capture.path, "-Y", "iscsi.opcode == 3", "-T", "fields",
              "-e", "iscsi.isid", "-e", "iscsi.isid.a", "-e", "iscsi.isid.b", "-e", "iscsi.isid.c",
              "-e", "iscsi.isid.d", timeout_s=120)
    assert len({line for line in out.splitlines() if line.strip()}) == 1
