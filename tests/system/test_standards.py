# SPDX-License-Identifier: GPL-2.0
"""A whole session as another implementation of the standards reads it: tshark's dissectors."""

import os

import pytest

from lab import fio, storage
from lab.capture import Capture, Verdict
from lab.connections import log_in_again
from lab.shell import run

KIB = 1 << 10
MIB = 1 << 20

# Opcodes of RFC 7143 section 11.2.1.2
NOP_OUT, COMMAND, TEXT_OR_LOGIN, DATA_OUT, LOGOUT = 0x00, 0x01, 0x03, 0x05, 0x06
NOP_IN, RESPONSE, LOGIN_RESPONSE, DATA_IN, LOGOUT_RESPONSE, R2T, REJECT = (
    0x20, 0x21, 0x23, 0x25, 0x26, 0x31, 0x3F)

#: What every login of a normal session says, RFC 7143 section 13.
OFFERED = {
    "InitiatorName", "TargetName", "SessionType", "MaxRecvDataSegmentLength", "MaxBurstLength",
    "FirstBurstLength", "InitialR2T", "ImmediateData", "MaxOutstandingR2T", "HeaderDigest",
    "DataDigest", "DefaultTime2Wait", "DefaultTime2Retain", "ErrorRecoveryLevel", "MaxConnections",
}


@pytest.mark.parametrize("digest", [False, True], ids=["plain", "header-digest"])
@pytest.mark.timeout_s(900)
def test_whole_session(make_lio, make_volume, link, digest):
    keys = {"HeaderDigest": "CRC32C"} if digest else {}
    path = {"header_digest": "CRC32C"} if digest else {}
    target = make_lio(16 * MIB, params={"InitialR2T": "No", "FirstBurstLength": 16 * KIB,
                                        "MaxRecvDataSegmentLength": 8 * KIB,
                                        "MaxBurstLength": 64 * KIB, **keys})
    volume = make_volume(target, path={"ping_interval_ms": 300, **path})
    with Capture(link) as capture:
        device = volume.enable()
        fio.run(device, **fio.verify_options(512 * KIB, jobs=2, largest_bytes=128 * KIB, depth=4))
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
    assert verdict.all_answered(), (verdict.opcodes, verdict.statuses)
    assert {NOP_OUT, COMMAND, TEXT_OR_LOGIN, DATA_OUT, LOGOUT, NOP_IN, RESPONSE, LOGIN_RESPONSE,
            DATA_IN, LOGOUT_RESPONSE, R2T} <= set(verdict.opcodes)
    assert REJECT not in verdict.opcodes
    offered = {pair.partition("=")[0] for pair in verdict.pairs}
    assert offered >= OFFERED
    assert not offered & {"IFMarker", "OFMarker"}


@pytest.mark.timeout_s(900)
def test_reinstatement(make_lio, make_volume, link):
    """The session after a lost connection reads as well as the first one, and has the same ISID."""
    volume = make_volume(make_lio(8 * MIB, params={"DefaultTime2Wait": 0}),
                         path={"default_time2wait": 0})
    with Capture(link) as capture:
        device = volume.enable()
        log_in_again(volume, by_target=True)
        storage.sha256(device, MIB)
        volume.disable()
    verdict = Verdict(capture.path)
    assert verdict.complaints == []
    assert verdict.all_answered(), (verdict.opcodes, verdict.statuses)
    assert verdict.opcodes[LOGOUT] == 1 and len(verdict.isids) == 1
    assert len([pair for pair in verdict.pairs if pair.startswith("TargetName=")]) == 2
