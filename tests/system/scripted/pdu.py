# SPDX-License-Identifier: GPL-2.0
"""PDUs of RFC 7143 section 11: one table says where each field of each PDU is.

Whatever the table does not name is reserved and zero.
"""

BHS_BYTES = 48
RESERVED_TAG = 0xFFFFFFFF

NOP_OUT, SCSI_COMMAND, TASK_MANAGEMENT, LOGIN, TEXT, DATA_OUT, LOGOUT = range(7)
SNACK = 0x10
NOP_IN, SCSI_RESPONSE, TASK_MANAGEMENT_RESPONSE, LOGIN_RESPONSE, TEXT_RESPONSE = range(0x20, 0x25)
DATA_IN, LOGOUT_RESPONSE = 0x25, 0x26
R2T, ASYNC, REJECT = 0x31, 0x32, 0x3F

_TTT = {"ttt": (20, 4)}
_LUN = {"lun": (8, 8)}
_COMMAND = {"itt": (16, 4), "cmd_sn": (24, 4), "exp_stat_sn": (28, 4)}
_STATUS = {"itt": (16, 4), "stat_sn": (24, 4), "exp_cmd_sn": (28, 4), "max_cmd_sn": (32, 4)}
_LOGIN = {"isid": (8, 6), "tsih": (14, 2)}

#: opcode: (name, the flag bits of byte 1 that mean something, fields: (offset, bytes))
KINDS = {
    NOP_OUT: ("NOP-Out", 0x80, {**_LUN, **_COMMAND, **_TTT}),
    SCSI_COMMAND: ("SCSI Command", 0xE7, {
        **_LUN, **_COMMAND, "edtl": (20, 4), "cdb": (32, 16)}),
    TASK_MANAGEMENT: ("Task Management Function Request", 0xFF, {
        **_LUN, **_COMMAND, "referenced_itt": (20, 4), "ref_cmd_sn": (32, 4),
        "exp_data_sn": (36, 4)}),
    LOGIN: ("Login Request", 0xCF, {
        **_LOGIN, **_COMMAND, "version_max": (2, 1), "version_min": (3, 1), "cid": (20, 2)}),
    TEXT: ("Text Request", 0xC0, {**_LUN, **_COMMAND, **_TTT}),
    DATA_OUT: ("Data-Out", 0x80, {
        **_LUN, **_TTT, "itt": (16, 4), "exp_stat_sn": (28, 4), "data_sn": (36, 4),
        "offset": (40, 4)}),
    LOGOUT: ("Logout Request", 0xFF, {**_COMMAND, "cid": (20, 2)}),
    SNACK: ("SNACK Request", 0x8F, {
        **_LUN, **_TTT, "itt": (16, 4), "exp_stat_sn": (28, 4), "beg_run": (40, 4),
        "run_length": (44, 4)}),
    NOP_IN: ("NOP-In", 0x80, {**_LUN, **_STATUS, **_TTT}),
    SCSI_RESPONSE: ("SCSI Response", 0x9E, {
        **_STATUS, "response": (2, 1), "status": (3, 1), "snack_tag": (20, 4),
        "exp_data_sn": (36, 4), "bidi_residual": (40, 4), "residual": (44, 4)}),
    TASK_MANAGEMENT_RESPONSE: ("Task Management Function Response", 0x80, {
        **_STATUS, "response": (2, 1)}),
    LOGIN_RESPONSE: ("Login Response", 0xCF, {
        **_LOGIN, **_STATUS, "version_max": (2, 1), "version_active": (3, 1),
        "status_class": (36, 1), "status_detail": (37, 1)}),
    TEXT_RESPONSE: ("Text Response", 0xC0, {**_LUN, **_STATUS, **_TTT}),
    DATA_IN: ("Data-In", 0xC7, {
        **_LUN, **_STATUS, **_TTT, "status": (3, 1), "data_sn": (36, 4), "offset": (40, 4),
        "residual": (44, 4)}),
    LOGOUT_RESPONSE: ("Logout Response", 0x80, {
        **_STATUS, "response": (2, 1), "time2wait": (40, 2), "time2retain": (42, 2)}),
    R2T: ("R2T", 0x80, {
        **_LUN, **_STATUS, **_TTT, "r2t_sn": (36, 4), "offset": (40, 4), "desired": (44, 4)}),
    ASYNC: ("Asynchronous Message", 0x80, {
        **_LUN, **_STATUS, "event": (36, 1), "vcode": (37, 1), "parameter1": (38, 2),
        "parameter2": (40, 2), "parameter3": (42, 2)}),
    REJECT: ("Reject", 0x80, {**_STATUS, "reason": (2, 1), "data_sn": (36, 4)}),
}


class Pdu:
    """One PDU. Fields of the table are attributes, big endian numbers; isid, lun, cdb are bytes.

    opcode, immediate and flags are the first two bytes; data is the data segment without padding,
    pad what stood behind it, ahs the additional header segments.
    """

    BYTES = ("isid", "lun", "cdb")

    def __init__(self, opcode, flags=0x80, immediate=False, data=b"", ahs=b"", **fields):
        kind = KINDS.get(opcode)
        object.__setattr__(self, "bhs", bytearray(BHS_BYTES))
        object.__setattr__(self, "fields", kind[2] if kind else {"itt": (16, 4)})
        self.bhs[0] = opcode | (0x40 if immediate else 0)
        self.bhs[1] = flags
        self.data = data
        self.ahs = ahs
        self.pad = bytes(-len(data) % 4)
        self.digests_right = True
        for name, value in fields.items():
            setattr(self, name, value)

    @classmethod
    def decode(cls, bhs):
        """From 48 bytes; ahs and data are for the reader of the rest to fill in."""
        pdu = cls(bhs[0] & 0x3F)
        pdu.bhs[:] = bhs
        return pdu

    def __getattr__(self, name):
        if name not in self.fields:
            raise AttributeError(f"{self.name} has no field {name}")
        offset, size = self.fields[name]
        value = bytes(self.bhs[offset:offset + size])
        return value if name in self.BYTES else int.from_bytes(value, "big")

    def __setattr__(self, name, value):
        if name not in self.fields:
            object.__setattr__(self, name, value)
            return
        offset, size = self.fields[name]
        if isinstance(value, int):
            value = (value & ((1 << 8 * size) - 1)).to_bytes(size, "big")
        self.bhs[offset:offset + size] = value.ljust(size, b"\0")

    @property
    def opcode(self):
        return self.bhs[0] & 0x3F

    @property
    def immediate(self):
        return bool(self.bhs[0] & 0x40)

    @property
    def flags(self):
        return self.bhs[1]

    @flags.setter
    def flags(self, value):
        self.bhs[1] = value

    @property
    def final(self):
        return bool(self.bhs[1] & 0x80)

    @property
    def name(self):
        return KINDS.get(self.bhs[0] & 0x3F, (f"opcode {self.bhs[0] & 0x3F:02x}",))[0]

    @property
    def ahs_bytes(self):
        return self.bhs[4] * 4

    @property
    def data_bytes(self):
        return int.from_bytes(self.bhs[5:8], "big")

    def reserved(self):
        """Offsets of reserved bytes that are not zero; byte 1 when it has a reserved bit."""
        kind = KINDS[self.opcode]
        named = {0, 1, 4, 5, 6, 7}
        for offset, size in kind[2].values():
            named.update(range(offset, offset + size))
        bad = [at for at in range(BHS_BYTES) if at not in named and self.bhs[at]]
        if self.bhs[1] & ~kind[1] & 0xFF:
            bad.append(1)
        if self.bhs[0] & 0x80:
            bad.append(0)
        return sorted(bad)

    def encode(self, header_digest=False, data_digest=False, spoil=""):
        """The PDU's bytes. spoil: "header" or "data" has that digest wrong."""
        self.bhs[4] = len(self.ahs) // 4
        self.bhs[5:8] = len(self.data).to_bytes(3, "big")
        out = bytes(self.bhs) + self.ahs
        if header_digest:
            out += (crc32c(out) ^ (spoil == "header")).to_bytes(4, "little")
        if self.data:
            segment = self.data + bytes(-len(self.data) % 4)
            out += segment
            if data_digest:
                out += (crc32c(segment) ^ (spoil == "data")).to_bytes(4, "little")
        return out

    def __repr__(self):
        shown = " ".join(f"{name}={getattr(self, name).hex()}" if name in self.BYTES
                         else f"{name}={getattr(self, name):#x}" for name in self.fields)
        return f"<{self.name} flags={self.flags:02x} {shown} data={len(self.data)}>"


def _crc_table():
    table = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
        table.append(value)
    return table


_TABLE = _crc_table()


def crc32c(data):
    """RFC 7143 section 13.1."""
    crc = 0xFFFFFFFF
    table = _TABLE
    for byte in data:
        crc = table[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


# Serial numbers of 32 bits, RFC 1982.

def after(a, b):
    """Whether a comes after b."""
    return 0 < (a - b) & 0xFFFFFFFF < 1 << 31


def plus(a, b):
    return (a + b) & 0xFFFFFFFF
