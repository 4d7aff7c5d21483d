# SPDX-License-Identifier: GPL-2.0
"""PDUs as they never should be: what a broken or a hostile target sends.

Pure functions: a random.Random decides, bytes come out, the same ones for the same seed. A Frame is
a PDU on its connection. Each damage makes of it a list of byte strings to be sent instead.

WIRE    happens to a PDU on its way, its digests are made already: where there are digests, none of
        it may be believed
INTENT  a target that lies: the digests are right

Of what no initiator could see through, nothing happens: see Frame.veiled().
"""

import dataclasses

from scripted import pdu as p
from scripted.pdu import RESERVED_TAG, Pdu

TARGET_OPCODES = (p.NOP_IN, p.SCSI_RESPONSE, p.TASK_MANAGEMENT_RESPONSE, p.LOGIN_RESPONSE,
                  p.TEXT_RESPONSE, p.DATA_IN, p.LOGOUT_RESPONSE, p.R2T, p.ASYNC, p.REJECT)
#: What answers a command, or a part of it.
ANSWERS = (p.DATA_IN, p.SCSI_RESPONSE)
#: Bit of a tag that belongs to the initiator's generation, and that a short session does not get to.
STRANGE_TAG = 0x40000000
NOISE_MAX = 300


@dataclasses.dataclass
class Frame:
    """data: whether the data segment may be damaged; login: whether it is text of a login.

    tags: ITTs of what the target has been asked and has not answered.
    """

    pdu: Pdu
    header_digest: bool = False
    data_digest: bool = False
    data: bool = True
    login: bool = False
    tags: tuple = ()

    @property
    def sealed(self):
        return self.header_digest and self.data_digest

    def encode(self, pdu=None):
        return (pdu or self.pdu).encode(self.header_digest, self.data_digest)

    @property
    def data_at(self):
        """Where the data segment begins."""
        return p.BHS_BYTES + len(self.pdu.ahs) + 4 * self.header_digest

    def open_end(self, wire):
        """How much of its bytes may be damaged: all, or what is in front of the data."""
        return len(wire) if self.data or not self.pdu.data else self.data_at

    def seal(self, wire):
        """Makes the header digest right again."""
        end = p.BHS_BYTES + len(self.pdu.ahs)
        if self.header_digest:
            wire[end:end + 4] = p.crc32c(wire[:end]).to_bytes(4, "little")
        return bytes(wire)

    def veiled(self, wire):
        """Takes back what would make of the header another one that is as right as it was.

        An answer must not become that to another command that waits for one; what a target may
        demand, above all that we stay away for a while, is bounded; and data must not be shifted.
        """
        itt = wire[16:20]
        if itt != self.pdu.bhs[16:20] and itt != RESERVED_TAG.to_bytes(4, "big"):
            wire[16] |= STRANGE_TAG >> 24
        if wire[0] & 0x3F in (p.ASYNC, p.LOGOUT_RESPONSE):
            wire[40:42] = bytes([0, wire[41] & 1])
        if not self.data and self.pdu.data:
            wire[4] = self.pdu.bhs[4]
        return wire


def noise(rng, most=NOISE_MAX):
    return rng.randbytes(rng.randint(1, most))


# On its way

def garbage(rng, frame):
    """Random bytes instead."""
    return [noise(rng)]


def _damaged(rng, frame, change):
    wire = bytearray(frame.encode())
    start, end = 0, frame.open_end(wire)
    # Header and data get their shares, however long the data are, and each may be right.
    if rng.random() < 0.5:
        end = p.BHS_BYTES
    elif end > frame.data_at:
        start = frame.data_at
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(start, end)
        wire[at] = change(wire[at])
    return [bytes(wire if frame.sealed else frame.veiled(wire))]


def bits(rng, frame):
    return _damaged(rng, frame, lambda byte: byte ^ 1 << rng.randrange(8))


def octets(rng, frame):
    return _damaged(rng, frame, lambda byte: rng.choice((0, 0xFF, rng.randrange(256))))


def cut(rng, frame):
    """The end is missing."""
    wire = frame.encode()
    if frame.sealed or frame.data:
        return [wire[:rng.randrange(1, len(wire))]]
    # No tag made up of two.
    return [wire[:rng.randrange(20, min(len(wire), p.BHS_BYTES))]]


def twice(rng, frame):
    return [frame.encode()] * 2


def lost(rng, frame):
    return []


def glued(rng, frame):
    return rng.choice(([noise(rng), frame.encode()], [frame.encode(), noise(rng)]))


# On purpose

def _value(rng, size, old):
    top = (1 << 8 * size) - 1
    return rng.choice((0, 1, top, top >> 1, (top >> 1) + 1, old + 1, old - 1, old + 2, old * 2,
                       old ^ 1 << rng.randrange(8 * size), rng.randint(0, top))) & top


def _sealed(frame, pdu, *changes):
    """The PDU's bytes after changes to the header, its digest right."""
    wire = bytearray(frame.encode(pdu))
    for at, value in changes:
        wire[at:at + len(value)] = value
    return frame.seal(frame.veiled(wire))


def fields(rng, frame):
    """Fields of the PDU have other values."""
    pdu = frame.pdu
    places = list(pdu.fields.values())
    changes = []
    for at, size in rng.sample(places, min(len(places), rng.randint(1, 3))):
        old = int.from_bytes(pdu.bhs[at:at + size], "big")
        changes.append((at, _value(rng, size, old).to_bytes(size, "big")))
    return [_sealed(frame, pdu, *changes)]


def opcode(rng, frame):
    code = rng.choice((*TARGET_OPCODES, rng.randrange(256)))
    return [_sealed(frame, frame.pdu, (0, bytes([code])))]


def flags(rng, frame):
    return [_sealed(frame, frame.pdu, (1, bytes([_value(rng, 1, frame.pdu.flags)])))]


def lengths(rng, frame):
    """DataSegmentLength or TotalAHSLength are not what follows."""
    if rng.random() < 0.5:
        return [_sealed(frame, frame.pdu, (4, bytes([_value(rng, 1, frame.pdu.bhs[4])])))]
    told = _value(rng, 3, len(frame.pdu.data))
    return [_sealed(frame, frame.pdu, (5, told.to_bytes(3, "big")))]


def _copy(pdu, data=None, ahs=None):
    twin = Pdu.decode(pdu.bhs)
    twin.data = pdu.data if data is None else data
    twin.ahs = pdu.ahs if ahs is None else ahs
    return twin


def segments(rng, frame):
    """Additional header segments, which no PDU of a target's has."""
    return [frame.encode(_copy(frame.pdu, ahs=rng.randbytes(4 * rng.randint(1, 255))))]


def contents(rng, frame):
    """Other data, and as many as there are or not."""
    data = bytearray(frame.pdu.data)
    if not data or rng.random() < 0.5:
        return [frame.encode(_copy(frame.pdu, rng.randbytes(rng.choice(
            (0, 1, 3, len(data), len(data) + 1, rng.randint(0, 8192))))))]
    for _ in range(rng.randint(1, 8)):
        data[rng.randrange(len(data))] = rng.choice((0, 0xFF, rng.randrange(256)))
    return [frame.encode(_copy(frame.pdu, bytes(data)))]


def sense(rng, frame):
    """A status with sense data that are random, and longer or shorter than they say."""
    twin = _copy(frame.pdu, sense_data(rng))
    twin.status = rng.choice((2, 2, 2, 0, 8, 0x18, 0x28, 0x30, 0x40, rng.randrange(256)))
    return [frame.encode(twin)]


def sense_data(rng):
    body = bytearray(rng.randbytes(rng.choice((0, 1, 7, 8, 18, 18, 18, 32, 252))))
    if body and rng.random() < 0.8:
        body[0] = rng.randint(0x70, 0x73)
        body[2:3] = bytes([rng.randrange(16)]) * bool(body[2:3])
    told = rng.choice((len(body), len(body), _value(rng, 2, len(body))))
    return told.to_bytes(2, "big") + bytes(body)


def forged(rng, frame, stat_sn=None):
    """A PDU that nothing has led to. It is for nobody, or for a task that it does not answer."""
    code = rng.choice(TARGET_OPCODES)
    pdu = Pdu(code, rng.choice((0x80, 0x81, 0, rng.randrange(256))))
    for name, (_, size) in pdu.fields.items():
        setattr(pdu, name, _value(rng, size, 0).to_bytes(size, "big"))
    pdu.itt = rng.randrange(1 << 32) | STRANGE_TAG
    if rng.random() < 0.3:
        pdu.itt = RESERVED_TAG
    elif frame.tags and code not in ANSWERS and rng.random() < 0.7:
        pdu.itt = rng.choice(frame.tags)
    if hasattr(pdu, "stat_sn") and stat_sn is not None:
        pdu.stat_sn = stat_sn
    if rng.random() < 0.5:
        pdu.data = noise(rng)
    wire = bytearray(frame.encode(pdu))
    if code in (p.ASYNC, p.LOGOUT_RESPONSE):
        wire[40:42] = bytes(2)
        if frame.header_digest:
            wire[48:52] = p.crc32c(wire[:48]).to_bytes(4, "little")
    return [frame.encode(), bytes(wire)]


# The text of a login

KEYS = ("AuthMethod", "CHAP_A", "CHAP_I", "CHAP_C", "CHAP_N", "CHAP_R", "HeaderDigest",
        "DataDigest", "MaxConnections", "SendTargets", "TargetName", "InitiatorName", "TargetAlias",
        "TargetAddress", "InitialR2T", "ImmediateData", "MaxRecvDataSegmentLength",
        "MaxBurstLength", "FirstBurstLength", "DefaultTime2Retain", "MaxOutstandingR2T",
        "DataPDUInOrder", "DataSequenceInOrder", "ErrorRecoveryLevel", "SessionType",
        "TaskReporting", "iSCSIProtocolLevel", "X-org.example.key", "")


def text_value(rng):
    size = rng.choice((0, 1, 2, 16, 63, 255, 256, 1024, 4096))
    return rng.choice((
        b"Reject", b"NotUnderstood", b"Irrelevant", b"None", b"Yes", b"No", b"CRC32C", b"?", b"",
        b"0", b"-1", b"1", b"512", b"511", b"16777215", b"16777216", b"4294967296", b"0x10", b"1" * 40,
        b"5", b"0x" + rng.randbytes(size).hex().encode(), b"0x" + b"f" * 15, b"0b====",
        b"0b" + b"QUJD" * (size // 3), b"A," * size, bytes(rng.choices(range(1, 256), k=size))))


def text(rng, frame):
    """Keys come, go, and have other values."""
    pairs = frame.pdu.data.removesuffix(b"\0").split(b"\0") if frame.pdu.data else []
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(pairs) + 1)
        name = rng.choice(KEYS).encode()
        if pairs and rng.random() < 0.6:
            name = rng.choice(pairs).partition(b"=")[0]
        change = rng.random()
        if change < 0.2 and pairs:
            pairs.pop(at % len(pairs))
        elif change < 0.6 and pairs:
            at %= len(pairs)
            pairs[at] = pairs[at].partition(b"=")[0] + b"=" + text_value(rng)
        elif change < 0.9:
            pairs.insert(at, name + b"=" + text_value(rng))
        else:
            pairs.insert(at, noise(rng, 80))
    pairs = [b"DefaultTime2Wait=1" if pair.startswith(b"DefaultTime2Wait=") else pair
             for pair in pairs]
    joined = b"\0".join(pairs) + rng.choice((b"\0", b"\0", b"\0", b"", b"\0\0\0"))
    return [frame.encode(_copy(frame.pdu, joined[:8192]))]


WIRE = (garbage, bits, bits, octets, cut, twice, lost, glued)
INTENT = (fields, fields, opcode, flags, lengths, segments, forged)
CONTENTS = (contents,)


def possible(frame, sorts):
    """Those of the sorts that can happen to this frame."""
    kinds = [kind for sort in sorts for kind in sort]
    if frame.data and INTENT in sorts:
        kinds += [sense] * (frame.pdu.opcode == p.SCSI_RESPONSE)
        kinds += [contents, contents] * bool(frame.pdu.data)
    if frame.data and frame.pdu.data and WIRE in sorts:
        kinds += [bits, bits, octets]
    if frame.login:
        kinds += [text] * 6
    if frame.pdu.data and not frame.data and not frame.sealed:
        kinds = [kind for kind in kinds if kind != cut]     # what follows would be the data
    return kinds


def chopped(rng, wire):
    """The same bytes in pieces, for a TCP segment each."""
    pieces = []
    while wire:
        size = rng.choice((1, 2, 3, 47, 48, 49, rng.randint(1, len(wire))))
        pieces.append(wire[:size])
        wire = wire[size:]
        if len(pieces) >= 40:
            return [*pieces, wire] if wire else pieces
    return pieces

