# SPDX-License-Identifier: GPL-2.0
"""Data are right: written by one initiator, read by another, over every way to negotiate."""

import mmap
import os
import threading

import pytest

from lab import lio, storage, tgt
from lab.disk import Direct
from lab.istripe import INITIATOR
from lab.network import silent
from lab.shell import read, wait_for

KIB, MIB = 1 << 10, 1 << 20

#: The negotiation keys of a published study of small writes, at the target.
STUDY = {
    "HeaderDigest": "None", "DataDigest": "None", "InitialR2T": "Yes", "ImmediateData": "No",
    "MaxConnections": 1, "MaxOutstandingR2T": 8, "MaxBurstLength": 262144,
    "FirstBurstLength": 262144, "MaxRecvDataSegmentLength": 131072,
    "MaxXmitDataSegmentLength": 131072, "DefaultTime2Wait": 2, "DefaultTime2Retain": 20,
    "DataPDUInOrder": "Yes", "DataSequenceInOrder": "Yes", "ErrorRecoveryLevel": 0,
}

TINY = {
    "MaxRecvDataSegmentLength": 512, "MaxXmitDataSegmentLength": 512, "MaxBurstLength": 512,
    "FirstBurstLength": 512, "MaxOutstandingR2T": 1,
}
TINY_PATH = {
    "max_recv_data_segment_length": 512, "max_burst_length": 512, "first_burst_length": 512,
    "max_outstanding_r2t": 1,
}

HUGE = {
    "MaxRecvDataSegmentLength": 16777215, "MaxXmitDataSegmentLength": 16777215,
    "MaxBurstLength": 16777215, "FirstBurstLength": 16777215, "MaxOutstandingR2T": 16,
    "InitialR2T": "No", "ImmediateData": "Yes",
}
HUGE_PATH = {
    "max_recv_data_segment_length": 16777215, "max_burst_length": 16777215,
    "first_burst_length": 16777215, "max_outstanding_r2t": 16,
}

#: On a busy machine the target may be slow to answer a ping, and nothing here is silent.
PATIENT = {"ping_timeout_ms": 20000}

DIGEST = {"HeaderDigest": "CRC32C", "DataDigest": "CRC32C"}
DIGEST_PATH = {"header_digest": "CRC32C", "data_digest": "CRC32C"}

#: target's keys, path's settings, what the verification is shaped like
MATRIX = {
    "study": (STUDY, {}, {}),
    "tiny": (TINY, TINY_PATH, {"largest_bytes": 256 << 10, "share": 4}),
    "tiny-digests": ({**TINY, **DIGEST}, {**TINY_PATH, **DIGEST_PATH},
                     {"largest_bytes": 128 << 10, "share": 8}),
    "huge": (HUGE, HUGE_PATH, {}),
    "huge-digests": ({**HUGE, **DIGEST}, {**HUGE_PATH, **DIGEST_PATH}, {}),
    "digests": (DIGEST, DIGEST_PATH, {}),
    "header-digest": ({"HeaderDigest": "CRC32C"}, {"header_digest": "CRC32C"}, {}),
    "data-digest": ({"DataDigest": "CRC32C"}, {"data_digest": "CRC32C"}, {}),
    "r2t-immediate": ({"InitialR2T": "Yes", "ImmediateData": "Yes", "MaxOutstandingR2T": 4,
                       "MaxBurstLength": 16384}, {}, {}),
    "unsolicited-no-immediate": ({"InitialR2T": "No", "ImmediateData": "No",
                                  "FirstBurstLength": 65536}, {}, {}),
    "odd-lengths": ({"MaxRecvDataSegmentLength": 5000, "MaxXmitDataSegmentLength": 7004,
                     "MaxBurstLength": 30008, "FirstBurstLength": 13004, "InitialR2T": "No"},
                    {"max_recv_data_segment_length": 3004}, {}),
    "short-window": ({}, {}, {"attributes": {"default_cmdsn_depth": 2}}),
    # While its one command is in flight, the window is closed.
    "closed-window": ({}, {}, {"attributes": {"default_cmdsn_depth": 1}}),
}


def cell_bytes(size, shape):
    return max(2 * MIB, size.cell_bytes // shape.get("share", 1))


@pytest.mark.timeout_s(3600)
def test_written_by_istripe_read_by_stock(make_lio, make_volume, stock, link, verify, size):
    """The main promise: random blocks of 512 B to 4 MiB by 8 jobs, checked twice."""
    length = max(64 * MIB, size.fio_bytes)
    target = make_lio(lio.Lun(length))
    volume = make_volume(target)
    device = volume.enable()
    result = verify(device)
    assert result.bytes("write") >= size.fio_bytes // 2
    ours = storage.sha256(device)
    volume.disable()
    assert storage.sha256(target.luns[0].file) == ours
    disk = stock.login(link.portal(), target.iqn)
    assert storage.sha256(disk) == ours


@pytest.mark.timeout_s(3600)
def test_written_by_stock_read_by_istripe(make_lio, make_volume, stock, link, size):
    length = size.fio_bytes
    target = make_lio(lio.Lun(length))
    disk = stock.login(link.portal(), target.iqn)
    written = storage.fill_pattern(disk, length, seed=11)
    stock.logout()
    device = make_volume(target).enable()
    assert storage.sha256(device) == written


@pytest.mark.parametrize("name", MATRIX)
@pytest.mark.timeout_s(1800)
def test_lio_matrix(make_lio, make_volume, verify, size, name):
    params, path, shape = MATRIX[name]
    total = cell_bytes(size, shape)
    target = make_lio(lio.Lun(max(total, 32 * MIB)), params=params,
                      attributes=shape.get("attributes"), patient_with=INITIATOR)
    volume = make_volume(target, path={**PATIENT, **path})
    device = volume.enable()
    verify(device, total_bytes=total, jobs=4,
           largest_bytes=min(shape.get("largest_bytes", 4 * MIB), total // 4))
    assert storage.same(device, target.luns[0].file)
    assert volume.reconnects() == 0


def test_buffer_changes_with_a_digest(make_lio, make_volume, link):
    """A program writes to its buffer of O_DIRECT when TCP has the data, and TCP sends them again.

    So few go with the command on a link that is slow, or may be.
    """
    target = make_lio(lio.Lun(32 * MIB), params={"DataDigest": "CRC32C", "ImmediateData": "Yes"})
    volume = make_volume(target, path={**PATIENT, "data_digest": "CRC32C"})
    device = volume.enable()
    sent = volume.path_sysfs() / "connections" / "0" / "bytes_sent"
    with Direct(device) as disk:
        for at in range(20):
            before = int(read(sent))
            buffer = mmap.mmap(-1, KIB)
            writer = threading.Thread(target=os.pwrite, args=(disk.fd, buffer, at * MIB))
            with silent(link):
                writer.start()
                wait_for("the data to be TCP's", lambda before=before: int(read(sent)) > before + KIB)
                buffer[:] = b"\xff" * KIB
            writer.join(60)
            assert not writer.is_alive()
            assert disk.read(at * MIB, KIB) == bytes(KIB)
    assert volume.reconnects() == 0


TGT_TUNED = {
    "MaxRecvDataSegmentLength": 262144, "MaxXmitDataSegmentLength": 262144,
    "FirstBurstLength": 262144, "MaxBurstLength": 1048576, "InitialR2T": "No",
    "MaxOutstandingR2T": 8,
}
TGT_STUDY = {key: value for key, value in STUDY.items()
             if key not in ("HeaderDigest", "DataDigest")}


@pytest.mark.parametrize("params,path", [
    ({}, {}),
    (TGT_TUNED, {}),
    (TGT_STUDY, {}),
    ({**TGT_TUNED, "HeaderDigest": "CRC32C", "DataDigest": "CRC32C"}, DIGEST_PATH),
], ids=["defaults", "tuned", "study", "digests"])
@pytest.mark.timeout_s(1800)
def test_tgt_matrix(make_tgt, make_volume, verify, size, params, path):
    target = make_tgt(tgt.Lun(max(size.cell_bytes, 32 * MIB)), params=params)
    volume = make_volume(target, path={**PATIENT, **path})
    device = volume.enable()
    verify(device, total_bytes=size.cell_bytes, jobs=4, largest_bytes=size.cell_bytes // 4)
    assert storage.same(device, target.luns[0].file)
    assert volume.reconnects() == 0


@pytest.mark.timeout_s(900)
def test_blocks_of_4096(make_lio, make_volume, verify, size):
    target = make_lio(lio.Lun(max(size.cell_bytes, 32 * MIB), block_bytes=4096))
    device = make_volume(target).enable()
    verify(device, total_bytes=size.cell_bytes, jobs=4, block_bytes=4096)


@pytest.mark.timeout_s(900)
def test_ipv6(make_lio, make_volume, verify, size):
    device = make_volume(make_lio(64 * MIB), ipv6=True).enable()
    verify(device, total_bytes=size.cell_bytes, jobs=4)


@pytest.mark.parametrize("engine,options", [
    ("io_uring", {"fixedbufs": 1, "registerfiles": 1}),
    ("sync", {"direct": 0, "fsync": 64, "iodepth": 1}),
    ("libaio", {"iodepth": 64, "bsrange": "4k-4k", "blockalign": 4096}),
], ids=["io_uring", "buffered", "deep-4k"])
@pytest.mark.timeout_s(900)
def test_engines(make_lio, make_volume, verify, engine, options):
    device = make_volume(make_lio(64 * MIB)).enable()
    verify(device, total_bytes=16 * MIB, jobs=4, largest_bytes=MIB, ioengine=engine, **options)


@pytest.mark.timeout_s(900)
def test_buffered_and_in_order(make_lio, make_volume):
    """Through the page cache, with read-ahead and write-back, as file systems do it."""
    target = make_lio(24 * MIB)
    device = make_volume(target).enable()
    written = storage.fill_pattern(device, 24 * MIB, seed=21)
    storage.drop_caches()
    assert storage.sha256(target.luns[0].file) == written
    assert storage.sha256(device) == written
