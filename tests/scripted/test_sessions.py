# SPDX-License-Identifier: GPL-2.0
"""Sessions of several connections, reinstatement, task management: a small initiator of our own."""

import socket

import pytest

from lab.ghost import release
from lab.shell import wait_for
from scripted import pdu as p
from scripted.ghost import hold, keep
from scripted.pdu import RESERVED_TAG, Pdu
from scripted.scenario import HONEST, Scenario
from scripted.server import Server
from scripted.steps import instead

ISID = bytes([0x80, 0, 0, 0, 0, 9])
OTHER_ISID = ISID[:5] + b"\x0a"
TUR, READ_16, WRITE_16 = 0x00, 0x88, 0x8A


class Wire:
    """One connection, logged in."""

    def __init__(self, server, tsih=0, cid=0, cmd_sn=1, keys="MaxConnections=2", isid=ISID):
        address, _, port = server.portal.rpartition(":")
        self.sock = socket.create_connection((address, int(port)), timeout=60)
        self.digests = False
        names = (f"InitiatorName=iqn.2024-01.a:b\0TargetName={server.target.settings.name}\0"
                 "AuthMethod=None\0" + ("" if tsih else "SessionType=Normal\0"))
        self.fields = {"isid": isid, "tsih": tsih, "cid": cid, "itt": 0, "cmd_sn": cmd_sn}
        self.exp_stat_sn = 0
        self.give(Pdu(p.LOGIN, 0x81, True, names.encode(), **self.fields))
        self.answer = self.take()
        if not self.answer.status_class:
            keys = "HeaderDigest=None" if tsih else keys
            text = "".join(f"{key}\0" for key in keys.split()).encode()
            self.give(Pdu(p.LOGIN, 0x87, True, text, exp_stat_sn=self.exp_stat_sn, **self.fields))
            self.answer = self.take()
        self.status = self.answer.status_class << 8 | self.answer.status_detail
        self.digests = "HeaderDigest=CRC32C" in keys

    def give(self, pdu):
        self.sock.sendall(pdu.encode(self.digests, self.digests))

    def _read(self, size):
        data = b""
        while len(data) < size:
            part = self.sock.recv(size - len(data))
            if not part:
                raise EOFError
            data += part
        return data

    def take(self):
        head = self._read(48)
        pdu = Pdu.decode(head)
        if self.digests:
            assert self._read(4) == p.crc32c(head).to_bytes(4, "little")
        if pdu.data_bytes:
            data = self._read(pdu.data_bytes + -pdu.data_bytes % 4)
            pdu.data = data[:pdu.data_bytes]
            if self.digests:
                assert self._read(4) == p.crc32c(data).to_bytes(4, "little")
        self.exp_stat_sn = pdu.stat_sn + 1
        return pdu

    def command(self, itt, cmd_sn, opcode=TUR, edtl=0):
        cdb = bytes([opcode]) + bytes(12) + bytes([edtl // 512, 0, 0])
        self.give(Pdu(p.SCSI_COMMAND, 0xC1 if edtl else 0x81, itt=itt, cmd_sn=cmd_sn, cdb=cdb,
                      edtl=edtl, exp_stat_sn=self.exp_stat_sn))

    def ended(self):
        """Whether the target has ended the connection."""
        try:
            return self.sock.recv(1) == b""
        except ConnectionError:
            return True


@pytest.fixture
def server():
    server = Server().start()
    yield server
    server.stop()


def test_two_connections_one_order(server):
    """The second command comes first, over the other connection: it waits for its turn."""
    first = Wire(server)
    second = Wire(server, first.answer.tsih, cid=1)
    assert second.status == 0 and second.answer.tsih == first.answer.tsih
    assert server.sessions() == 1
    second.command(2, 2)
    session, = server.target.sessions.values()
    wait_for("the command", lambda: 2 in session.early)
    second.sock.settimeout(0.2)
    with pytest.raises(TimeoutError):
        second.take()
    first.command(1, 1)
    second.sock.settimeout(60)
    assert (first.take().itt, second.take().itt) == (1, 2)
    assert server.violations() == []


def test_a_connection_too_many(server):
    first = Wire(server)
    second = Wire(server, first.answer.tsih, cid=1)
    assert second.status == 0
    assert Wire(server, first.answer.tsih, cid=2).status == 0x0206


def test_no_such_session(server):
    assert Wire(server, tsih=77).status == 0x020A


def test_session_reinstatement(server):
    old = Wire(server)
    new = Wire(server)
    assert old.ended()
    assert server.sessions() == 2 and len(server.connections()) == 1
    new.command(1, 1)
    assert new.take().status == 0


def test_another_isid_is_another_session(server):
    wires = [Wire(server), Wire(server, isid=OTHER_ISID)]
    for wire in wires:
        wire.command(1, 1)
        assert wire.take().status == 0
    assert len(server.connections()) == 2


def test_connection_reinstatement(server):
    first = Wire(server)
    again = Wire(server, first.answer.tsih, cid=0)
    assert first.ended() and again.status == 0


def test_digests(server):
    wire = Wire(server, keys="HeaderDigest=CRC32C DataDigest=CRC32C")
    wire.command(1, 1, READ_16, 512)
    assert wire.take().data == bytes(512)
    assert server.violations() == []


def test_wrong_digest_is_seen(server):
    wire = Wire(server, keys="HeaderDigest=CRC32C")
    wire.sock.sendall(Pdu(p.NOP_OUT, immediate=True, itt=1, ttt=RESERVED_TAG, cmd_sn=1,
                          exp_stat_sn=wire.exp_stat_sn).encode(True, spoil="header"))
    wire.take()
    assert len(server.violations()) == 1 and "digest" in server.violations()[0]


def test_abort_task(server):
    server.load(Scenario("held", hooks=instead()))
    server.arm()
    wire = Wire(server)
    wire.command(1, 1, READ_16, 512)
    fields = {"referenced_itt": 1, "ref_cmd_sn": 1, "cmd_sn": 2, "exp_stat_sn": wire.exp_stat_sn}
    wire.give(Pdu(p.TASK_MANAGEMENT, 0x81, True, itt=2, **fields))
    assert wire.take().response == 0
    fields["exp_stat_sn"] = wire.exp_stat_sn
    wire.give(Pdu(p.TASK_MANAGEMENT, 0x81, True, itt=3, **fields))
    assert wire.take().response == 1
    assert server.violations() == []


@pytest.mark.parametrize("how, isid, carried_out", [
    (hold, ISID, False), (hold, OTHER_ISID, False), (keep, ISID, False), (keep, OTHER_ISID, True)])
def test_a_write_whose_connection_ends(server, how, isid, carried_out):
    """What is kept ends with its session, and that only when it is reinstated."""
    target = server.load(Scenario("ghost", hooks={"on_command": how}))
    server.arm()
    old = Wire(server)
    old.give(Pdu(p.SCSI_COMMAND, 0xA1, itt=1, cmd_sn=1, exp_stat_sn=old.exp_stat_sn, edtl=512,
                 cdb=bytes([WRITE_16]) + bytes(12) + bytes([1, 0, 0]), data=b"x" * 512))
    wait_for("the write", lambda: "event" in target.run.memory)
    old.sock.close()
    wait_for("the end of its connection", lambda: not server.connections())
    assert Wire(server, isid=isid).status == 0
    release(server, target)
    assert ("carried out" in target.run.memory) == carried_out
    assert target.disk.data[:512] == (b"x" if carried_out else b"\0") * 512
    assert server.violations() == []


def test_ping_and_logout(server):
    wire = Wire(server)
    wire.give(Pdu(p.NOP_OUT, immediate=True, itt=1, ttt=RESERVED_TAG, cmd_sn=1, data=b"ping!",
                  exp_stat_sn=wire.exp_stat_sn))
    assert wire.take().data == b"ping!"
    wire.give(Pdu(p.LOGOUT, immediate=True, itt=2, cmd_sn=1, exp_stat_sn=wire.exp_stat_sn))
    assert wire.take().response == 0
    assert wire.ended() and server.violations() == []


def test_its_own_mistakes_are_seen(server):
    """Also those of hooks that no command leads to."""

    async def on_nop(_run, _conn, _pdu):
        raise IndexError("a mistake")

    server.load(Scenario("wrong", hooks={"on_nop": on_nop}))
    wire = Wire(server)
    wire.give(Pdu(p.NOP_OUT, immediate=True, itt=1, ttt=RESERVED_TAG, cmd_sn=1,
                  exp_stat_sn=wire.exp_stat_sn))
    assert wire.ended()
    found = server.violations()
    assert found == ["the target itself: IndexError('a mistake')"]
    server.load(HONEST)
    assert server.violations() == [] and server.unexpected() == found


def test_violations_are_unexpected(server):
    """But for those that the scenario names, and those at which the test has looked itself."""

    def violate():
        wire = Wire(server)
        wire.give(Pdu(p.NOP_OUT, immediate=True, itt=1, ttt=5, cmd_sn=1,
                      exp_stat_sn=wire.exp_stat_sn))
        wire.take()

    for names, expected in (("", 1), ("a Target Transfer Tag", 1), ("", 2)):
        server.load(Scenario("honest", violations=names))
        violate()
        assert len(server.unexpected()) == expected
    # Neither those of other targets, nor what comes later.
    assert len(server.violations()) == 1
    assert len(server.unexpected()) == 1
    violate()
    assert len(server.unexpected()) == 2
    assert len(server.violations()) == 2
    assert len(server.unexpected()) == 1
    server.load(HONEST)
    violate()
    assert len(server.unexpected()) == 2


def test_a_load_ends_what_was(server):
    wire = Wire(server)
    server.load(HONEST)
    assert wire.ended() and server.sessions() == 0
