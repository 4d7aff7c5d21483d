# SPDX-License-Identifier: GPL-2.0
"""Every check of scripted/checks.py sees the PDU that it is there for, and nothing else."""

import pytest

from scripted import checks
from scripted import pdu as p
from scripted.pdu import RESERVED_TAG, Pdu

LUN = bytes([0, 1]) + bytes(6)
KIB64 = bytes(65536)
TEXT = (b"InitiatorName=iqn.2024-01.a:b\0TargetName=iqn.2024-01.a:c\0SessionType=Normal\0"
        b"AuthMethod=None\0")


class Initiator:
    """A connection under test; every PDU that it makes is right until it is changed."""

    def __init__(self, **held):
        self.violations = []
        self.session = checks.Session(self.violations)
        self.conn = checks.Connection(self.session)
        self.session.cmd_sn = 7
        self.session.max_cmd_sn = 20
        self.conn.stat_sn = 100
        held = {"InitialR2T": False, "FirstBurstLength": 65536, "MaxBurstLength": 262144,
                "ImmediateData": True, **held}
        self.conn.enter_full_feature(held, 32768)
        self.cmd_sn = 7

    def give(self, pdu):
        self.conn.received(pdu)
        return self

    def command(self, take=True, opcode=0x8A, flags=0xA1, edtl=65536, data=b"", **changes):
        cdb = bytes([opcode]).ljust(16, b"\0")
        fields = {"lun": LUN, "itt": 1, "edtl": edtl, "cmd_sn": self.cmd_sn, "exp_stat_sn": 100,
                  "cdb": cdb, **changes}
        self.cmd_sn += take
        return Pdu(p.SCSI_COMMAND, flags, data=data, **fields)

    def data_out(self, flags=0x80, data=KIB64[:4096], ttt=5, lun=LUN, **changes):
        return Pdu(p.DATA_OUT, flags, data=data, **{
            "lun": lun, "itt": 1, "ttt": ttt, "exp_stat_sn": 100, "offset": 0, **changes})

    def immediate(self, opcode, flags=0x80, data=b"", **changes):
        pdu = Pdu(opcode, flags, immediate=True, data=data, **{
            "itt": 9, "cmd_sn": self.cmd_sn, "exp_stat_sn": 100, **changes})
        if opcode == p.NOP_OUT and "ttt" not in changes:
            pdu.ttt = RESERVED_TAG
        if opcode == p.TASK_MANAGEMENT and "referenced_itt" not in changes:
            pdu.referenced_itt = RESERVED_TAG
        return pdu

    def r2t(self, ttt=5, offset=0, desired=4096):
        self.conn.sent(Pdu(p.R2T, itt=1, ttt=ttt, offset=offset, desired=desired, max_cmd_sn=20))
        return self

    def writing(self, **command):
        return self.give(self.command(**command)).r2t()


def raw(pdu, offset, value):
    pdu.bhs[offset] = value
    return pdu


def unpadded(pdu):
    pdu.data, pdu.pad = b"abc", b"x"
    return pdu


def spoiled(pdu):
    pdu.digests_right = False
    return pdu


def with_ahs(pdu):
    pdu.ahs = bytes(4)
    return pdu


def unsolicited(i, *pdus, **command):
    return [i.command(flags=0x21, **command), *pdus]


def abort(i):
    return i.immediate(p.TASK_MANAGEMENT, 0x81, referenced_itt=1, ref_cmd_sn=7, lun=LUN)


def wrong(text, *pdus):
    """A row: what the violation must say, and how the PDUs are made from an Initiator."""
    return pytest.param(text, pdus, id=f"{text[:60]}")


ROWS = [
    wrong("11.2.1.2: opcode 0x3d", lambda i: Pdu(0x3D)),
    wrong("11: NOP-Out itt 0x9: byte 40 is reserved", lambda i: raw(i.immediate(p.NOP_OUT), 40, 1)),
    wrong("byte 1 is reserved", lambda i: i.immediate(p.NOP_OUT, 0x81)),
    wrong("byte 0 is reserved", lambda i: raw(i.immediate(p.NOP_OUT), 0, 0xC0)),
    wrong("11.2.3", lambda i: spoiled(i.immediate(p.NOP_OUT))),
    wrong("11.1: ", lambda i: unpadded(i.immediate(p.NOP_OUT))),
    wrong("11.2.2", lambda i: with_ahs(i.immediate(p.NOP_OUT))),
    wrong("13.12", lambda i: i.command(data=KIB64[:32769])),
    wrong("acknowledges what was not sent", lambda i: i.command(exp_stat_sn=101)),
    wrong("ExpStatSN went back", lambda i: i.command(), lambda i: i.command(itt=2, exp_stat_sn=99)),
    wrong("immediate with CmdSN 9", lambda i: i.immediate(p.NOP_OUT, cmd_sn=9)),
    wrong("CmdSN 8 instead of 7", lambda i: i.command(cmd_sn=8)),
    wrong("CmdSN 7 instead of 8", lambda i: i.command(take=False), lambda i: i.command(itt=2)),
    wrong("the reserved tag", lambda i: i.command(itt=RESERVED_TAG)),
    wrong("the tag is in use", lambda i: i.command(), lambda i: i.command()),
    wrong("task attribute 5", lambda i: i.command(flags=0xA5)),
    wrong("F=0 for a command that writes nothing", lambda i: i.command(opcode=0x88, flags=0x41)),
    wrong("neither R nor W", lambda i: i.command(opcode=0, flags=0x81)),
    wrong("which reads", lambda i: i.command(opcode=0x88)),
    wrong("which writes", lambda i: i.command(flags=0xC1)),
    wrong("11.3.7", lambda i: i.command(opcode=0x12, flags=0xC1, data=b"data")),
    wrong("more data than expected", lambda i: i.command(edtl=512, data=KIB64[:516])),
    wrong("there is nothing left to send", lambda i: i.command(flags=0x21, edtl=512,
                                                               data=KIB64[:512])),
    wrong("for a task that there is not", lambda i: i.data_out(itt=77)),
    wrong("that were not announced", lambda i: i.command(),
          lambda i: i.data_out(ttt=RESERVED_TAG, lun=bytes(8))),
    wrong("of no R2T outstanding", lambda i: i.command(), lambda i: i.data_out(ttt=6)),
    wrong("a LUN in an unsolicited", lambda i: i.command(flags=0x21, edtl=4096),
          lambda i: i.data_out(ttt=RESERVED_TAG)),
    wrong("FirstBurstLength allows", lambda i: i.command(flags=0x21, edtl=4096),
          lambda i: i.data_out(ttt=RESERVED_TAG, lun=bytes(8), data=KIB64[:4100])),
    wrong("11.18.1", lambda i: raw(i.immediate(p.NOP_OUT, itt=RESERVED_TAG), 0, 0)),
    wrong("a ping that there was not", lambda i: i.immediate(p.NOP_OUT, itt=RESERVED_TAG, ttt=3)),
    wrong("a ping with a Target Transfer Tag", lambda i: i.immediate(p.NOP_OUT, ttt=3)),
    wrong("bit 7 of byte 1", lambda i: i.immediate(p.NOP_OUT, 0)),
    wrong("function 9", lambda i: i.immediate(p.TASK_MANAGEMENT, 0x89)),
    wrong("11.5.4: Task Management Function Request itt 0x9: a LUN where",
          lambda i: i.immediate(p.TASK_MANAGEMENT, 0x86, lun=LUN)),
    wrong("no Referenced Task Tag", lambda i: i.immediate(p.TASK_MANAGEMENT, 0x81)),
    wrong("a Referenced Task Tag where", lambda i: i.immediate(p.TASK_MANAGEMENT, 0x85,
                                                               referenced_itt=1)),
    wrong("RefCmdSN 8", lambda i: i.command(), lambda i: i.immediate(
        p.TASK_MANAGEMENT, 0x81, referenced_itt=1, ref_cmd_sn=8, lun=LUN)),
    wrong("another LUN than the task's", lambda i: i.command(), lambda i: i.immediate(
        p.TASK_MANAGEMENT, 0x81, referenced_itt=1, ref_cmd_sn=7)),
    wrong("behind the task's ABORT TASK", lambda i: i.command(flags=0x21), abort,
          lambda i: i.data_out(0, ttt=RESERVED_TAG, lun=bytes(8))),
    wrong("11.5: Task Management Function Request itt 0x9: data",
          lambda i: i.immediate(p.TASK_MANAGEMENT, 0x85, data=b"data", lun=LUN)),
    wrong("reason 3", lambda i: i.immediate(p.LOGOUT, 0x83)),
    wrong("a CID where", lambda i: i.immediate(p.LOGOUT, 0x80, cid=1)),
    wrong("11.14: Logout Request itt 0x9: data", lambda i: i.immediate(p.LOGOUT, data=b"data")),
    wrong("after the Logout", lambda i: i.immediate(p.LOGOUT), lambda i: i.command()),
    wrong("F and C", lambda i: i.immediate(p.TEXT, 0xC0, ttt=RESERVED_TAG)),
    wrong("6.1: Text Request", lambda i: i.immediate(p.TEXT, data=b"Nonsense\0",
                                                     ttt=RESERVED_TAG)),
    wrong("at ErrorRecoveryLevel 0", lambda i: Pdu(p.SNACK, itt=1, exp_stat_sn=100)),
    wrong("in the full feature phase", lambda i: i.immediate(p.LOGIN)),
]


@pytest.mark.parametrize("text, pdus", ROWS)
def test_wrong(text, pdus):
    initiator = Initiator()
    for make in pdus:
        assert initiator.violations == []
        initiator.give(make(initiator))
    assert len(initiator.violations) == 1, initiator.violations
    assert text in initiator.violations[0]


@pytest.mark.parametrize("text, changes", [
    ("DataSN 1 instead of 0", {"data_sn": 1}),
    ("Buffer Offset 512 instead of 0", {"offset": 512}),
    ("the R2T allows", {"data": KIB64[:4100]}),
    ("F=1 before the end", {"data": KIB64[:512]}),
    ("F=0 at the end", {"flags": 0}),
    ("no data", {"data": b"", "flags": 0}),
    ("another LUN than the command's", {"lun": bytes(8)}),
])
def test_wrong_answer_to_an_r2t(text, changes):
    i = Initiator().writing()
    i.give(i.data_out(**changes))
    assert len(i.violations) == 1 and text in i.violations[0], i.violations


def test_r2ts_out_of_order():
    i = Initiator().writing(edtl=8192).r2t(ttt=6, offset=4096)
    i.give(i.data_out(ttt=6, offset=4096))
    assert "not answered in order" in i.violations[0] and len(i.violations) == 1


@pytest.mark.parametrize("text, held, changes", [
    ("13.11", {"ImmediateData": False}, {"data": KIB64[:512]}),
    ("13.14", {"FirstBurstLength": 512}, {"data": KIB64[:1024]}),
    ("13.10", {"InitialR2T": True}, {"flags": 0x21}),
])
def test_not_negotiated(text, held, changes):
    i = Initiator(**held)
    i.give(i.command(**changes))
    assert len(i.violations) == 1 and text in i.violations[0], i.violations


def test_window_is_closed():
    i = Initiator()
    i.session.max_cmd_sn = 6
    i.give(i.command())
    assert len(i.violations) == 1 and "beyond MaxCmdSN 6" in i.violations[0]


def test_window_wraps():
    i = Initiator()
    i.session.cmd_sn = i.cmd_sn = 0xFFFFFFFF
    i.session.max_cmd_sn = 3
    i.give(i.command())
    i.cmd_sn = 0
    i.give(i.command(itt=2))
    assert i.violations == []


def test_other_connection():
    i = Initiator()
    other = checks.Connection(i.session)
    other.enter_full_feature({}, 32768)
    i.writing()
    other.received(i.data_out())
    other.received(i.immediate(p.TASK_MANAGEMENT, 0x81, referenced_itt=1, ref_cmd_sn=7, lun=LUN))
    assert ["4.2.3" in i.violations[0], "11.5.1" in i.violations[1]] == [True, True]
    assert len(i.violations) == 2


def over_connections(*numbers):
    """Commands (connection, CmdSN) of a session of two; the violations."""
    i = Initiator()
    other = checks.Connection(i.session)
    other.enter_full_feature({}, 32768)
    other.stat_sn = 100
    for itt, (cid, cmd_sn) in enumerate(numbers):
        (i.conn, other)[cid].received(i.command(itt=itt, cmd_sn=cmd_sn))
    i.cmd_sn = numbers[-1][1] + 1
    i.give(i.immediate(p.LOGOUT, itt=90))
    return i.violations


def test_numbers_over_connections():
    assert over_connections((1, 8), (1, 9), (0, 7), (0, 10)) == []
    for text, *numbers in (
        ("CmdSN 8 for a second time", (1, 8), (0, 7), (0, 8)),
        ("CmdSN 9 for a second time", (0, 7), (1, 9), (0, 9), (1, 10)),
        ("CmdSN 8 after 9 on the same connection", (0, 7), (1, 9), (1, 8), (0, 10)),
    ):
        assert any(text in line for line in over_connections(*numbers)), text


def test_numbers_after_a_loss():
    """What was sent over a lost connection has not come; the other one goes on."""
    i = Initiator()
    other = checks.Connection(i.session)
    other.enter_full_feature({}, 32768)
    i.session.connections.remove(other)
    i.give(i.command(cmd_sn=12))
    assert i.violations == []


def test_ping_with_another_lun():
    i = Initiator()
    i.conn.sent(Pdu(p.NOP_IN, itt=RESERVED_TAG, ttt=3, lun=LUN, max_cmd_sn=20))
    i.give(i.immediate(p.NOP_OUT, itt=RESERVED_TAG, ttt=3))
    assert len(i.violations) == 1 and "another LUN than the ping's" in i.violations[0]


@pytest.mark.parametrize("answer, goes_on", [
    (Pdu(p.TASK_MANAGEMENT_RESPONSE, itt=9, response=0), False),
    (Pdu(p.TASK_MANAGEMENT_RESPONSE, itt=9, response=1), True),
    (Pdu(p.TASK_MANAGEMENT_RESPONSE, itt=9, response=255), True),
    (Pdu(p.SCSI_RESPONSE, itt=1), True),
    (None, True),
], ids=["complete", "no such task", "rejected", "answered", "Reject"])
def test_data_after_an_abort(answer, goes_on):
    i = Initiator().writing()
    request = abort(i)
    i.give(request)
    i.conn.sent(answer or Pdu(p.REJECT, itt=RESERVED_TAG, reason=4, data=request.encode()[:48]))
    i.give(i.data_out())
    assert len(i.violations) == (not goes_on), i.violations


def test_discovery():
    i = Initiator()
    i.conn.discovery = True
    i.give(i.command())
    assert len(i.violations) == 1 and "4.3" in i.violations[0]


def test_nothing_wrong():
    """A write with immediate, unsolicited and solicited data; a read; ping; abort; logout."""
    i = Initiator(FirstBurstLength=8192)
    i.give(i.command(flags=0x21, edtl=16384, data=KIB64[:4096]))
    i.give(i.data_out(ttt=RESERVED_TAG, lun=bytes(8), offset=4096))
    i.r2t(offset=8192, desired=8192)
    i.give(i.data_out(flags=0, offset=8192)).give(i.data_out(offset=12288, data_sn=1))
    i.conn.stat_sn = 101
    i.conn.sent(Pdu(p.SCSI_RESPONSE, itt=1, max_cmd_sn=25))
    i.give(i.command(opcode=0x88, flags=0xC1, exp_stat_sn=101))
    i.give(i.immediate(p.TASK_MANAGEMENT, 0x81, referenced_itt=1, ref_cmd_sn=8, lun=LUN,
                       exp_stat_sn=101))
    i.give(i.immediate(p.NOP_OUT, exp_stat_sn=101, itt=11))
    i.give(i.immediate(p.LOGOUT, exp_stat_sn=101, itt=12))
    assert i.violations == []


# The login phase

def login(flags=0x81, data=TEXT, immediate=True, **changes):
    fields = {"isid": bytes([0x80, 0, 0, 0, 0, 1]), "itt": 1, "cmd_sn": 1, **changes}
    return Pdu(p.LOGIN, flags, immediate=immediate, data=data, **fields)


def second(flags=0x87, data=b"MaxBurstLength=512\0", **changes):
    return login(flags, data, exp_stat_sn=2, **changes)


LOGINS = [
    wrong("11.12: Login Request itt 0x1: not immediate", lambda: login(immediate=False)),
    wrong("11.12.4", lambda: login(version_min=1, version_max=1)),
    wrong("ISID of type 3", lambda: login(isid=bytes([0xC0]) + bytes(5))),
    wrong("CSG 2", lambda: login(0x8B)),
    wrong("T and C", lambda: login(0xC1, data=b"")),
    wrong("NSG 0 after CSG 0", lambda: login(0x80)),
    wrong("NSG 2 after CSG 0", lambda: login(0x82)),
    wrong("NSG without T", lambda: login(0x01)),
    wrong("CSG 0 instead of 1", login, lambda: second(0x81, b"")),
    wrong("itt changed", login, lambda: second(itt=2)),
    wrong("isid changed", login, lambda: second(isid=bytes(6))),
    wrong("cid changed", login, lambda: second(cid=2)),
    wrong("tsih changed", login, lambda: second(tsih=2)),
    wrong("cmd_sn changed", login, lambda: second(cmd_sn=2)),
    wrong("SessionType is for the leading connection", lambda: login(tsih=2)),
    wrong("no InitiatorName", lambda: login(data=TEXT[TEXT.index(b"Target"):])),
    wrong("no TargetName", lambda: login(data=TEXT.replace(b"TargetName", b"TargetAlias"))),
    wrong("does not end with a NUL", lambda: login(data=TEXT[:-1])),
    wrong("no = in", lambda: login(data=TEXT + b"Nonsense\0")),
    wrong("is not a key name", lambda: login(data=TEXT + b"lower=1\0")),
    wrong("twice in one login", login, lambda: second(data=b"InitialR2T=No\0InitialR2T=No\0")),
    wrong("is no number from", login, lambda: second(data=b"MaxBurstLength=511\0")),
    wrong("is no number from", login, lambda: second(data=b"MaxBurstLength=0512\0")),
    wrong("neither Yes nor No", login, lambda: second(data=b"InitialR2T=yes\0")),
    wrong("strange or repeated", login, lambda: second(data=b"HeaderDigest=None,None\0")),
    wrong("in the security stage", lambda: login(data=TEXT + b"InitialR2T=No\0")),
    wrong("in the operational stage", login, lambda: second(data=b"CHAP_A=5\0")),
    wrong("before the login is over", lambda: Pdu(p.NOP_OUT, itt=1, ttt=RESERVED_TAG)),
]


@pytest.mark.parametrize("text, pdus", LOGINS)
def test_wrong_login(text, pdus):
    violations = []
    conn = checks.Connection(checks.Session(violations))
    for make in pdus:
        assert violations == []
        conn.received(make())
        conn.stat_sn = 2
        if conn.login:
            conn.sent(Pdu(p.LOGIN_RESPONSE, 0x81, itt=1))
    assert len(violations) == 1, violations
    assert text in violations[0]


def test_right_login():
    violations = []
    conn = checks.Connection(checks.Session(violations))
    conn.received(login())
    conn.sent(Pdu(p.LOGIN_RESPONSE, 0x81, itt=1))
    conn.stat_sn = 2
    conn.received(second(0x44, b"InitialR2T=N"))
    conn.received(second(data=b"o\0HeaderDigest=CRC32C,None\0"))
    assert violations == []


def test_crc32c():
    """RFC 3720 B.4."""
    assert p.crc32c(bytes(32)) == 0x8A9136AA
    assert p.crc32c(b"\xff" * 32) == 0x62A8AB43
    assert p.crc32c(bytes(range(32))) == 0x46DD794E
