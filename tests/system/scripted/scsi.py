# SPDX-License-Identifier: GPL-2.0
"""A disk in memory: what SPC and SBC ask of one, as far as initiators use it."""

GOOD, CHECK_CONDITION, CONDITION_MET, BUSY = 0x00, 0x02, 0x04, 0x08
RESERVATION_CONFLICT, TASK_SET_FULL, ACA_ACTIVE, TASK_ABORTED = 0x18, 0x28, 0x30, 0x40

INVALID_OPCODE = (5, 0x20, 0x00)
INVALID_FIELD = (5, 0x24, 0x00)
INVALID_PARAMETER = (5, 0x26, 0x00)
OUT_OF_RANGE = (5, 0x21, 0x00)
NO_SUCH_LUN = (5, 0x25, 0x00)

READ_10, WRITE_10, READ_16, WRITE_16, WRITE_ATOMIC_16 = 0x28, 0x2A, 0x88, 0x8A, 0x9C
SYNCHRONIZE_CACHE_10, SYNCHRONIZE_CACHE_16 = 0x35, 0x91
INQUIRY, REPORT_LUNS, TEST_UNIT_READY, MODE_SENSE_6, READ_CAPACITY_10 = 0x12, 0xA0, 0, 0x1A, 0x25
SERVICE_ACTION_IN_16, UNMAP, WRITE_SAME_16, REQUEST_SENSE, MODE_SENSE_10 = 0x9E, 0x42, 0x93, 3, 0x5A
START_STOP, PREVENT, PERSISTENT_RESERVE_IN, PERSISTENT_RESERVE_OUT = 0x1B, 0x1E, 0x5E, 0x5F


def number(cdb, offset, size):
    return int.from_bytes(cdb[offset:offset + size], "big")


def fixed_sense(key, asc, ascq, information=None, deferred=False):
    sense = bytearray(18)
    sense[0] = 0x71 if deferred else 0x70
    if information is not None:
        sense[0] |= 0x80
        sense[3:7] = information.to_bytes(4, "big")
    sense[2], sense[7], sense[12], sense[13] = key, 10, asc, ascq
    return bytes(sense)


def descriptor_sense(key, asc, ascq, deferred=False):
    return bytes([0x73 if deferred else 0x72, key, asc, ascq, 0, 0, 0, 0])


#: No protection information is supported: their field for it must be 0.
PROTECTED = (READ_10, WRITE_10, READ_16, WRITE_16, WRITE_SAME_16, WRITE_ATOMIC_16)


class Result:
    """What a command came to: status, data for the initiator, sense."""

    def __init__(self, status=GOOD, data=b"", sense=b""):
        self.status = status
        self.data = data
        self.sense = sense

    @classmethod
    def check(cls, key, asc, ascq):
        return cls(CHECK_CONDITION, sense=fixed_sense(key, asc, ascq))


class Refuse(Exception):
    """CHECK CONDITION with (key, asc, ascq)."""


class Atomic:
    """What a disk offers of atomic writes, in blocks as VPD B0h has them."""

    def __init__(self, longest, alignment=0, granularity=0, longest_with_boundary=0, boundary=0):
        self.longest = longest
        self.alignment = alignment
        self.granularity = granularity
        self.longest_with_boundary = longest_with_boundary
        self.boundary = boundary

    def page(self):
        """Bytes 44 to 63 of it."""
        return b"".join(figure.to_bytes(4, "big") for figure in (
            self.longest, self.alignment, self.granularity, self.longest_with_boundary,
            self.boundary))

    def takes(self, lba, blocks):
        """Without a boundary."""
        return blocks <= self.longest and not lba % (self.alignment or 1) and not (
            blocks % (self.granularity or 1))


class Disk:
    """LUN 0."""

    def __init__(self, size_bytes=16 << 20, block_bytes=512, identity="6001405" + "a" * 25,
                 max_transfer=0, optimal_transfer=0, write_protected=False, write_cache=True,
                 atomic=None, doors=1, addresses=None, without=(), cut_pages=(),
                 physical_exponent=0, lowest_aligned=0, designators=("naa",), spc2=False,
                 vendor="ISTRIPE", product="SCRIPTED TARGET", granularity=0, provisioning=0xE0, thin=0xC0,
                 max_unmap=8192, max_write_same=8192, unmap_granularity=0):
        self.block_bytes = block_bytes
        self.data = bytearray(size_bytes)
        self.naa = bytes.fromhex(identity)
        self.write_cache = write_cache
        self.dpofua = True
        self.write_protected = write_protected
        self.device_type = 0
        self.max_transfer = max_transfer
        self.optimal_transfer = optimal_transfer
        self.granularity = granularity      # of transfers, blocks
        self.provisioning = provisioning    # commands that deallocate, as VPD B2h has them
        self.thin = thin                    # LBPME and LBPRZ, as READ CAPACITY(16) has them
        self.max_unmap = max_unmap              # blocks of one UNMAP
        self.max_write_same = max_write_same    # and of one WRITE SAME
        self.unmap_granularity = unmap_granularity
        self.cleared = []       # the blocks of each of both
        self.atomic = atomic    # Atomic, or nothing of that kind
        self.doors = doors      # how many LUNs, each of a name of its own, lead to these blocks
        #: The LUNs as they are listed, each its first two bytes as a number; None: 0 to doors - 1.
        self.addresses = addresses
        self.without = without  # VPD pages that it does not have
        self.cut_pages = dict(cut_pages)    # VPD pages of an older standard: their bytes
        self.physical_exponent = physical_exponent  # 2^n logical blocks are a physical one
        self.lowest_aligned = lowest_aligned        # LBA at which the first of these begins
        self.designators = designators  # in VPD 83h: "naa", "t10", "vendors" (576 bytes)
        self.vendor, self.product = vendor, product
        self.spc2 = spc2        # the allocation length of INQUIRY is one byte, as of IET
        self.nexus = None       # who sends the command: (name of the initiator, ISID)
        self.attentions = []    # (key, asc, ascq) to tell, the first one first
        self.flushes = 0
        self.reserved = []      # service actions of PERSISTENT RESERVE OUT; nothing comes of them

    @property
    def blocks(self):
        return len(self.data) // self.block_bytes

    def luns(self):
        addresses = range(self.doors) if self.addresses is None else self.addresses
        return [address << 48 for address in addresses]

    def is_door(self, lun):
        return lun in self.luns()

    def logged_in(self, nexus):
        """A new session of this nexus."""

    def store(self, at, data, fua=False):
        """Puts data at an offset; fua: no cache may hold them alone."""
        self.data[at:at + len(data)] = data

    def flush(self):
        """Everything that has been stored is durable."""
        self.flushes += 1

    def execute(self, cdb, out, lun=0):
        """One command; `out` is what the initiator wrote. Never raises."""
        opcode = cdb[0]
        if not self.is_door(lun) and opcode not in (INQUIRY, REPORT_LUNS):
            return Result.check(*NO_SUCH_LUN)
        if self.attentions and opcode not in (INQUIRY, REPORT_LUNS, REQUEST_SENSE):
            return Result.check(*self.attentions.pop(0))
        run = COMMANDS.get(opcode)
        if not run:
            return Result.check(*INVALID_OPCODE)
        if opcode in PROTECTED and cdb[1] & 0xE0:
            return Result.check(*INVALID_FIELD)
        try:
            return Result(data=run(self, cdb, out, lun) or b"")
        except Refuse as why:
            return Result.check(*why.args)

    def direction(self, cdb, edtl):
        """Bytes that the command itself wants to (read, write)."""
        op, block = cdb[0], self.block_bytes
        if op in (READ_16, READ_10):
            return number(cdb, *((10, 4) if op == READ_16 else (7, 2))) * block, 0
        if op in (WRITE_16, WRITE_10):
            return 0, number(cdb, *((10, 4) if op == WRITE_16 else (7, 2))) * block
        if op == WRITE_ATOMIC_16:
            return 0, number(cdb, 12, 2) * block
        if op == WRITE_SAME_16:
            return 0, block
        if op == UNMAP:
            return 0, number(cdb, 7, 2)
        if op == PERSISTENT_RESERVE_OUT:
            return 0, number(cdb, 5, 4)
        return edtl, 0

    def _within(self, lba, blocks):
        if lba + blocks > self.blocks:
            raise Refuse(*OUT_OF_RANGE)
        return lba * self.block_bytes, blocks * self.block_bytes

    def _range(self, cdb, long):
        if long:
            return self._within(number(cdb, 2, 8), number(cdb, 10, 4))
        return self._within(number(cdb, 2, 4), number(cdb, 7, 2))

    def _read(self, cdb, out, lun):
        at, size = self._range(cdb, cdb[0] == READ_16)
        return bytes(memoryview(self.data)[at:at + size])

    def _write(self, cdb, out, lun):
        at, size = self._range(cdb, cdb[0] == WRITE_16)
        if self.write_protected:
            raise Refuse(7, 0x27, 0)
        self.store(at, out[:size], bool(cdb[1] & 8))

    def _write_atomic(self, cdb, out, lun):
        """Whole or not at all: stored in one step, with nothing left to a cache."""
        lba, blocks = number(cdb, 2, 8), number(cdb, 12, 2)
        if not self.atomic:
            raise Refuse(*INVALID_OPCODE)
        if number(cdb, 10, 2) or not self.atomic.takes(lba, blocks):
            raise Refuse(*INVALID_FIELD)
        at, size = self._within(lba, blocks)
        if self.write_protected:
            raise Refuse(7, 0x27, 0)
        if len(out) < size:
            raise Refuse(*INVALID_FIELD)
        self.store(at, out[:size], True)

    def _write_same(self, cdb, out, lun):
        at, size = self._range(cdb, True)
        size = size or len(self.data) - at
        if size > self.max_write_same * self.block_bytes:
            raise Refuse(*INVALID_FIELD)
        if cdb[1] & 1:
            out = bytes(self.block_bytes)       # NDOB: zeros
        if len(out) != self.block_bytes:
            raise Refuse(*INVALID_FIELD)
        self.cleared.append(size // self.block_bytes)
        self.store(at, bytes(out) * (size // self.block_bytes))

    def _unmap(self, cdb, out, lun):
        if len(out) < 8:
            raise Refuse(*INVALID_PARAMETER)
        descriptors = range(8, min(len(out), 8 + number(out, 2, 2)), 16)
        blocks = sum(number(out, at + 8, 4) for at in descriptors)
        if blocks > self.max_unmap:
            raise Refuse(*INVALID_PARAMETER)
        self.cleared.append(blocks)
        for at in descriptors:
            start = number(out, at, 8) * self.block_bytes
            size = number(out, at + 8, 4) * self.block_bytes
            if start + size > len(self.data):
                raise Refuse(*OUT_OF_RANGE)
            self.store(start, bytes(size))

    def _flush(self, cdb, out, lun):
        self.flush()

    def _reserve_out(self, cdb, out, lun):
        self.reserved.append(cdb[1] & 0x1F)

    def _nothing(self, cdb, out, lun):
        return b""

    def _inquiry(self, cdb, out, lun):
        length = cdb[4] if self.spc2 else number(cdb, 3, 2)
        if cdb[1] & 1:
            pages = self.pages(lun >> 48)
            if cdb[2] not in pages or not self.is_door(lun):
                raise Refuse(*INVALID_FIELD)
            return (bytes([self.device_type, cdb[2]]) + len(pages[cdb[2]]).to_bytes(2, "big") +
                    pages[cdb[2]])[:length]
        if cdb[2]:
            raise Refuse(*INVALID_FIELD)
        first = self.device_type if self.is_door(lun) else 0x7F
        head = bytes([first, 0, 6, 0x12, 91, 0, 0, 2])
        text = f"{self.vendor:8}{self.product:16}0001".encode()
        return (head + text).ljust(96, b"\0")[:length]

    def pages(self, door=0):
        naa = self.naa[:-1] + bytes([(self.naa[-1] + door) % 256])
        serial = naa.hex().encode()
        t10 = b"ISTRIPE " + serial
        vendors = b"".join(bytes([1, 0, 0, size]) + bytes(size) for size in (252, 252, 60))
        known = {"naa": bytes([1, 3, 0, len(naa)]) + naa, "t10": bytes([2, 1, 0, len(t10)]) + t10,
                 "vendors": vendors}
        identification = b"".join(known[kind] for kind in self.designators)
        limits = bytearray(60)
        limits[2:4] = self.granularity.to_bytes(2, "big")
        limits[4:8] = self.max_transfer.to_bytes(4, "big")
        limits[8:12] = self.optimal_transfer.to_bytes(4, "big")
        limits[16:20] = self.max_unmap.to_bytes(4, "big")
        limits[20:24] = (1).to_bytes(4, "big")       # descriptors of an UNMAP
        limits[24:28] = self.unmap_granularity.to_bytes(4, "big")
        limits[32:40] = self.max_write_same.to_bytes(8, "big")
        if self.atomic:
            limits[40:60] = self.atomic.page()
        rotation = bytes([0, 1]) + bytes(58)
        pages = {0x80: serial, 0x83: identification, 0xB0: bytes(limits), 0xB1: rotation,
                 0xB2: bytes([0, self.provisioning, 2, 0])}
        pages = {page: data[:self.cut_pages.get(page, len(data))]
                 for page, data in pages.items() if page not in self.without}
        return pages if 0x00 in self.without else {0x00: bytes([0x00, *pages]), **pages}

    def _report_luns(self, cdb, out, lun):
        luns = b"".join(lun.to_bytes(8, "big") for lun in self.luns())
        return (len(luns).to_bytes(4, "big") + bytes(4) + luns)[:number(cdb, 6, 4)]

    def _capacity10(self, cdb, out, lun):
        last = min(self.blocks - 1, 0xFFFFFFFF)
        return last.to_bytes(4, "big") + self.block_bytes.to_bytes(4, "big")

    def _service_action_in(self, cdb, out, lun):
        if cdb[1] & 0x1F != 0x10:
            raise Refuse(*INVALID_FIELD)
        answer = (self.blocks - 1).to_bytes(8, "big") + self.block_bytes.to_bytes(4, "big")
        answer += bytes([0, self.physical_exponent])
        answer += (self.thin << 8 | self.lowest_aligned).to_bytes(2, "big") + bytes(16)
        return answer[:number(cdb, 10, 4)]

    def _mode_pages(self, cdb):
        caching = bytes([0x08, 18, 4 if self.write_cache else 0]) + bytes(17)
        control = bytes([0x0A, 10]) + bytes(10)
        known = {0x08: caching, 0x0A: control, 0x3F: caching + control}
        if cdb[2] & 0x3F not in known:
            raise Refuse(*INVALID_FIELD)
        return known[cdb[2] & 0x3F]

    def _device_specific(self):
        return 0x80 if self.write_protected else 0x10 * self.dpofua

    def _mode_sense6(self, cdb, out, lun):
        pages = self._mode_pages(cdb)
        head = bytes([3 + len(pages), 0, self._device_specific(), 0])
        return (head + pages)[:cdb[4]]

    def _mode_sense10(self, cdb, out, lun):
        pages = self._mode_pages(cdb)
        head = (6 + len(pages)).to_bytes(2, "big")
        head += bytes([0, self._device_specific(), 0, 0, 0, 0])
        return (head + pages)[:number(cdb, 7, 2)]

    def _request_sense(self, cdb, out, lun):
        told = self.attentions.pop(0) if self.attentions else (0, 0, 0)
        return fixed_sense(*told)[:cdb[4]]


COMMANDS = {
    READ_10: Disk._read, READ_16: Disk._read, WRITE_10: Disk._write, WRITE_16: Disk._write,
    WRITE_ATOMIC_16: Disk._write_atomic, WRITE_SAME_16: Disk._write_same, UNMAP: Disk._unmap,
    SYNCHRONIZE_CACHE_10: Disk._flush, SYNCHRONIZE_CACHE_16: Disk._flush,
    TEST_UNIT_READY: Disk._nothing, START_STOP: Disk._nothing, PREVENT: Disk._nothing,
    INQUIRY: Disk._inquiry, REPORT_LUNS: Disk._report_luns,
    READ_CAPACITY_10: Disk._capacity10, SERVICE_ACTION_IN_16: Disk._service_action_in,
    MODE_SENSE_6: Disk._mode_sense6, MODE_SENSE_10: Disk._mode_sense10,
    REQUEST_SENSE: Disk._request_sense, PERSISTENT_RESERVE_OUT: Disk._reserve_out,
}
