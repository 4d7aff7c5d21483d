# SPDX-License-Identifier: GPL-2.0
"""SCSI: statuses, sense, unit attentions, LUNs that change, and how a LUN is brought up."""

import errno

from scripted.scenario import (
    SURVIVES,
    WORKS,
    Scenario,
    elsewhere,
    io_error,
    not_served,
    path_refused,
    reconnects,
    refused,
    silence,
)
from scripted.scsi import (
    INQUIRY,
    MODE_SENSE_6,
    READ_16,
    REPORT_LUNS,
    SERVICE_ACTION_IN_16,
    START_STOP,
    SYNCHRONIZE_CACHE_16,
    TEST_UNIT_READY,
    WRITE_16,
    Result,
    descriptor_sense,
    fixed_sense,
)
from scripted.steps import (
    attention,
    change_disk,
    check,
    instead,
    on_task,
    reset,
    result,
    tell,
    then_normal,
)

NAMES = {READ_16: "read", WRITE_16: "write", SYNCHRONIZE_CACHE_16: "flush"}
FAILS = {"times": 1000, "io": "either"}
LOG = ("error, dev istripe", "Buffer I/O error on dev istripe")


def status(code, expect, opcode=READ_16, **more):
    return Scenario(f"status {code:02x} to a {NAMES[opcode]}", expect,
                    result(code, opcode=opcode), **more)


def fails(name, number, hooks):
    return Scenario(name, io_error(number), hooks, allow=LOG, **FAILS)


def given_up(name, number, hooks, **more):
    """No path serves it: it is tried again until recovery_timeout_ms is over."""
    return Scenario(name, io_error(number), hooks, volume={"recovery_timeout_ms": 1000},
                    allow=(*LOG, "no path serves it", "given up"), **FAILS, **more)


STATUSES = [
    *(status(code, WORKS, opcode) for code in (0x08, 0x28, 0x30, 0x40)
      for opcode in (READ_16, WRITE_16)),
    status(0x08, WORKS, SYNCHRONIZE_CACHE_16),
    Scenario("status 28, ten times", WORKS, result(0x28), times=10),
    fails("status 18, reserved", errno.EBADE, result(0x18)),
    given_up("status ff, unknown", errno.EIO, result(0xFF)),
    Scenario("status 02 without sense", WORKS, result(2)),
    given_up("status 02 without sense, always", errno.EIO, result(2)),
    Scenario("response 01, target failure", WORKS, result(response=1)),
    Scenario("response 80, vendor's", WORKS, result(response=0x80)),
    given_up("response 01, always", errno.EIO, result(response=1),
             says="command 0x88: the target has dropped it, response 0x01: again and again"),
]


def sense(key, asc, ascq, expect=WORKS, opcode=READ_16, times=1):
    often = f", {times} times" if times > 1 else ""
    return Scenario(f"sense {key:x}/{asc:02x}/{ascq:02x} to a {NAMES[opcode]}{often}", expect,
                    check(key, asc, ascq, opcode), times=times)


def bad_sense(key, asc, ascq, number, opcode=READ_16):
    return fails(f"sense {key:x}/{asc:02x}/{ascq:02x} to each {NAMES[opcode]}", number,
                 check(key, asc, ascq, opcode))


def given_up_sense(key, asc, ascq, number):
    return given_up(f"sense {key:x}/{asc:02x}/{ascq:02x} to each {NAMES[READ_16]}", number,
                    check(key, asc, ascq, READ_16))


def not_served_sense(key, asc, ascq):
    return Scenario(f"sense {key:x}/{asc:02x}/{ascq:02x} to each {NAMES[READ_16]}, for long",
                    not_served(errno.ENOLINK), check(key, asc, ascq, READ_16),
                    allow=(*LOG, "not served on any path: given up", "no path for"),
                    volume={"recovery_timeout_ms": 8000}, **FAILS)


#: A descriptor with the LBA of the error, and the length of all descriptors before it.
INFORMATION = bytes([12, 0, 10, 0x80, 0]) + bytes(8)
VENDORS = b"\x7f" + bytes(range(1, 18))
#: What an array that was restarted and reconfigured has to say, the first one first.
QUEUED = [(6, 0x29, 0x01), (6, 0x3F, 0x0E), (6, 0x2A, 0x01), (6, 0x2A, 0x06), (6, 0x2A, 0x09),
          (6, 0x3F, 0x03), (6, 0x3F, 0x05)]

SENSES = [
    sense(0x6, 0x29, 0x00), sense(0x6, 0x29, 0x07), sense(0x6, 0x29, 0x00, opcode=WRITE_16),
    sense(0x6, 0x29, 0x00, opcode=SYNCHRONIZE_CACHE_16),
    sense(0x6, 0x2A, 0x06), sense(0xB, 0x00, 0x00), sense(0xB, 0x47, 0x03, opcode=WRITE_16),
    sense(0x0, 0x00, 0x00), sense(0x2, 0x04, 0x01), sense(0x2, 0x04, 0x0A), sense(0x2, 0x08, 0x00),
    sense(0x1, 0x17, 0x01, opcode=WRITE_16),
    sense(0x6, 0x2A, 0x09), sense(0x6, 0x2A, 0x09, opcode=WRITE_16),
    sense(0x6, 0x2A, 0x09, opcode=SYNCHRONIZE_CACHE_16),
    sense(0x6, 0x2A, 0x09, opcode=READ_16, times=3),
    sense(0x6, 0x2A, 0x01), sense(0x6, 0x3F, 0x0E), sense(0x6, 0x3F, 0x0E, opcode=WRITE_16),
    sense(0x6, 0x3F, 0x0E, times=3), sense(0x6, 0x3F, 0x03), sense(0x6, 0x3F, 0x05),
    sense(0x6, 0x28, 0x00),
    bad_sense(0x3, 0x11, 0x00, errno.ENODATA), bad_sense(0x3, 0x14, 0x00, errno.ENODATA, WRITE_16),
    bad_sense(0x8, 0x00, 0x00, errno.ENODATA), bad_sense(0xB, 0x10, 0x01, errno.EILSEQ),
    bad_sense(0x5, 0x10, 0x01, errno.EILSEQ), bad_sense(0xB, 0x10, 0x03, errno.EILSEQ, WRITE_16),
    bad_sense(0x4, 0x44, 0x00, errno.EREMOTEIO), bad_sense(0x7, 0x20, 0x02, errno.EREMOTEIO,
                                                           WRITE_16),
    bad_sense(0x7, 0x27, 0x07, errno.ENOSPC, WRITE_16),
    # For sd these two say nothing of the LUN: dm-multipath takes another path.
    given_up_sense(0x9, 0x80, 0x00, errno.EIO), given_up_sense(0xF, 0x00, 0x00, errno.EIO),
    bad_sense(0x5, 0x20, 0x00, errno.EREMOTEIO), bad_sense(0x5, 0x24, 0x01, errno.EREMOTEIO),
    not_served_sense(0x5, 0x25, 0x00),
    bad_sense(0x5, 0x21, 0x00, errno.EREMOTEIO), given_up_sense(0x2, 0x04, 0x03, errno.EIO),
    not_served_sense(0x2, 0x04, 0x0B), bad_sense(0xE, 0x1D, 0x00, errno.EREMOTEIO),
    given_up_sense(0x6, 0x29, 0x00, errno.EIO), given_up_sense(0x6, 0x2A, 0x09, errno.EIO),
    sense(0x5, 0x20, 0x00, opcode=SYNCHRONIZE_CACHE_16, times=1000),
    Scenario("sense as descriptors", WORKS, result(2, descriptor_sense(6, 0x29, 0))),
    fails("sense as descriptors, medium error", errno.ENODATA,
          result(2, descriptor_sense(3, 0x11, 0)[:7] + INFORMATION)),
    Scenario("sense deferred", WORKS, result(2, fixed_sense(3, 0x11, 0, deferred=True))),
    # sd tries again, too: it takes each odd response code for a deferred error.
    Scenario("sense deferred, as descriptors", WORKS,
             result(2, descriptor_sense(3, 0x11, 0, deferred=True))),
    Scenario("sense deferred, recovered, to a flush", WORKS,
             result(2, fixed_sense(1, 0x0C, 1, deferred=True), opcode=SYNCHRONIZE_CACHE_16)),
    Scenario("sense of a vendor's format", WORKS, result(2, VENDORS)),
    given_up("sense of a vendor's format, always", errno.EIO, result(2, VENDORS)),
    # An even code, which sd reads as descriptors: as RECOVERED ERROR it would be success.
    Scenario("sense of a reserved format", WORKS, result(2, b"\x7e\x01" + bytes(16))),
    Scenario("sense: several unit attentions queued", WORKS,
             then_normal(*(attention(*told) for told in QUEUED))),
    Scenario("sense: several unit attentions queued, and the connection lost", reconnects("lost"),
             instead(*(attention(*told) for told in QUEUED), reset)),
    Scenario("sense of 1 byte", WORKS, result(2, b"\x70")),
    Scenario("sense of 252 bytes", WORKS, result(2, fixed_sense(6, 0x29, 0).ljust(252, b"\0"))),
    Scenario("sense of noise", WORKS, result(2, b"\xff" * 18)),
    Scenario("sense longer than the segment", WORKS, result(2, data=b"\xff\xff\x70\x00\x06")),
    Scenario("sense length of 1 byte", WORKS, result(2, data=b"\x00")),
    Scenario("sense longer than the segment, of BUSY", WORKS, result(8, data=b"\xff\xff\x70")),
    Scenario("status 02 with a residual of 4 GiB", WORKS, result(2, fixed_sense(6, 0x29, 0),
             missing=0xFFFFFFFF)),
]


def becomes(name, expect, change, *told, **more):
    """The LUN changes, and a unit attention tells."""
    return Scenario(f"lun: {name}", expect, then_normal(change_disk(change), attention(*told)),
                    **more)


def grow(disk):
    disk.data.extend(bytes(1 << 20))


def shrink(disk):
    del disk.data[8 << 20:]


def another(disk):
    disk.naa = bytes.fromhex("6001405" + "b" * 25)


def both_designators(disk):
    disk.designators = ("naa", "t10")


def cache(disk):
    disk.write_cache = True


def cache_without_fua(disk):
    disk.write_cache, disk.dpofua = True, False


def coarse(disk):
    disk.block_bytes = 4096


def looked_at(name, expect, action):
    """The LUN says that it has grown, and READ CAPACITY(16) is left to action(run, conn, task)."""

    async def hook(run, conn, task):
        if task.opcode == READ_16 and run.strike():
            await attention(6, 0x2A, 9)(run, conn, task)
        elif task.opcode == SERVICE_ACTION_IN_16 and run.hits == 1:
            run.hits += 1
            return await action(run, conn, task)
        return False

    return Scenario(f"lun: grows, {name}", expect, {"on_command": hook}, times=1)


async def reserved_later(run, conn, task):
    """It says that it has grown, and from then on that another host has reserved it."""
    if task.opcode == READ_16 and run.strike():
        await attention(6, 0x2A, 9)(run, conn, task)
    elif run.hits and task.opcode in (TEST_UNIT_READY, SERVICE_ACTION_IN_16, MODE_SENSE_6):
        await run.target.respond(conn, task, Result(0x18))
        return True
    return False


async def cut(run, conn, task):
    conn.reset()
    return True


def says(*sense):
    async def action(run, conn, task):
        await run.target.respond(conn, task, Result.check(*sense))
        return True

    return action


def tells(name, expect, change, *told):
    """The LUN changes, and an asynchronous message tells; no unit attention does (SCST)."""
    data = fixed_sense(*told)
    return Scenario(f"lun: {name}, asynchronously", expect, then_normal(
        change_disk(change), tell(0, data=len(data).to_bytes(2, "big") + data)))


LUNS = [
    tells("grows", WORKS, grow, 6, 0x2A, 9),
    tells("is another one", elsewhere("answers here"), another, 6, 0x3F, 0x0E),
    becomes("has a write cache, without FUA", reconnects("has a write cache now"),
            cache_without_fua, 6, 0x2A, 1, disk={"write_cache": False}),
    becomes("has a write cache, and FUA", reconnects("has a write cache now"), cache, 6, 0x2A, 1,
            disk={"write_cache": False}),
    becomes("grows", WORKS, grow, 6, 0x2A, 9),
    Scenario("lun: says that it has grown, and is reserved", WORKS, {"on_command": reserved_later}),
    becomes("says that it has grown, and is another one", elsewhere("answers here"), another,
            6, 0x2A, 9),
    looked_at("and the connection is lost", reconnects("lost"), cut),
    looked_at("and says so again", WORKS, says(6, 0x2A, 9)),
    looked_at("and is busy", WORKS, says(2, 4, 1)),
    looked_at("and does not say how much", reconnects("READ CAPACITY"), says(5, 0x24, 0)),
    becomes("shrinks", path_refused("has shrunk"), shrink, 6, 0x2A, 9),
    becomes("is another one", elsewhere("answers here"), another, 6, 0x3F, 0x0E),
    becomes("gets a better designator", WORKS, both_designators, 6, 0x3F, 5,
            disk={"designators": ("t10",)}),
    becomes("has other blocks", path_refused("the LUN now says 4096"), coarse, 6, 0x2A, 9),
]


# Bring-up

def answers(opcode, data, page=None):
    """Every such command of the bring-up gets these data."""

    async def hook(run, conn, task):
        if task.opcode != opcode or (page is not None and (
                not task.cdb[1] & 1 or task.cdb[2] != page)) or (
                page is None and opcode == INQUIRY and task.cdb[1] & 1):
            return False
        await run.target.respond(conn, task, Result(data=data))
        return True

    return {"on_command": hook}


def refuses_page(page):
    async def hook(run, conn, task):
        if task.opcode != INQUIRY or not task.cdb[1] & 1 or task.cdb[2] != page:
            return False
        await run.target.respond(conn, task, Result(2, sense=fixed_sense(5, 0x24, 0)))
        return True

    return {"on_command": hook}


def up(name, expect, hooks=None, **more):
    return Scenario(f"bring-up: {name}", expect, hooks or {}, armed=True, **more)


def stopped(starts=True, times=3, still=0):
    """Once it is started it says so many times that it is becoming ready, before that `still`."""

    async def hook(run, conn, task):
        left = run.memory.get("left")
        if task.opcode == START_STOP:
            run.memory["starts"] = run.memory.get("starts", 0) + 1
            if starts and task.cdb[1] & 1 and task.cdb[4] == 1:
                run.memory["left"] = times + still
                return False
            await run.target.respond(conn, task, Result.check(5, 0x20, 0))
            return True
        if task.opcode != TEST_UNIT_READY or left == 0:
            return False
        if left is not None:
            run.memory["left"] -= 1
        told = 2 if left is None or left > times else 1
        await run.target.respond(conn, task, Result.check(2, 4, told))
        return True

    return {"on_command": hook}


def lost_at(opcode, name):
    async def action(run, conn, task):
        conn.reset()
        await silence()

    return up(f"lost at {name}", refused("LUN bring-up"), on_task(opcode, action), times=1000)


def silent_at(opcode, name):
    async def action(run, conn, task):
        await silence()

    return up(f"silence at {name}", refused("", errno.ETIMEDOUT), on_task(opcode, action),
              times=1000, path={"login_timeout_ms": 6000})


def asks(key, asc, ascq, expect, opcode=TEST_UNIT_READY, **more):
    return up(f"sense {key:x}/{asc:02x}/{ascq:02x} to {opcode:02x}", expect,
              check(key, asc, ascq, opcode), **more)


def at_address(number, *addresses, expect=WORKS):
    """LUN `number` of a target that lists these addresses, and serves no others."""
    listed = " ".join(f"{address:04x}" for address in addresses)
    return up(f"LUN {number} of {listed}", expect, path={"lun": number},
              disk={"addresses": addresses})


DISK = bytes([0, 0, 6, 0x12, 91, 0, 0, 2]) + bytes(88)
DESIGNATOR = bytes([1, 3, 0, 16]) + bytes.fromhex("6001405" + "c" * 25)
ALL_PAGES = (0x00, 0x80, 0x83, 0xB0, 0xB1, 0xB2)
NO_NAME = refused("does not say who it is", errno.EPROTO)
CAPACITY = (32767).to_bytes(8, "big") + (512).to_bytes(4, "big") + bytes(20)
NONSENSE = "makes no sense"
BRING_UP = [
    up("no device", refused("no device", errno.ENXIO), answers(INQUIRY, b"\x7f" + DISK[1:])),
    up("nothing connected, and of no type", refused("no device", errno.ENXIO),
       answers(INQUIRY, bytes([0x3F, 0, 6, 0x12, 91, 0x10, 0, 2]) + bytes(88))),
    up("a CD-ROM", refused("type 0x05", errno.EMEDIUMTYPE), answers(INQUIRY, b"\x05" + DISK[1:])),
    up("INQUIRY of 4 bytes", refused(NONSENSE, errno.EPROTO), answers(INQUIRY, DISK[:4])),
    up("INQUIRY of nothing", refused("", errno.EPROTO), answers(INQUIRY, b"")),
    up("no LUNs", refused("no LUN 0 for us", errno.ENXIO), answers(REPORT_LUNS, bytes(8))),
    up("another LUN", refused("no LUN 0 for us", errno.ENXIO), answers(
        REPORT_LUNS, bytes([0, 0, 0, 8, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0]))),
    up("a list of 4 GiB of LUNs", SURVIVES, answers(REPORT_LUNS, b"\xff\xff\xff\xf8" + bytes(12))),
    up("no list of LUNs", SURVIVES, check(5, 0x20, 0, REPORT_LUNS), times=1000),
    up("no identity, but a serial number", WORKS,
       answers(INQUIRY, bytes([0, 0x83, 0, 0]), 0x83)),
    up("an identity that does not fit, but a serial number", WORKS,
       answers(INQUIRY, bytes([0, 0x83, 0, 8, 1, 3, 0, 0xFF, 0x60, 1, 2, 3]), 0x83)),
    up("another page than asked for", NO_NAME,
       answers(INQUIRY, bytes([0, 0x80, 0, 4]) + b"abcd", 0x83)),
    # Multipath, too, then names the disk by vendor, model and serial number.
    up("no page 83h, but a serial number", WORKS, disk={"without": (0x83,)}),
    up("page 83h is listed and refused", NO_NAME, refuses_page(0x83)),
    up("neither page 83h nor a serial number", NO_NAME, disk={"without": (0x80, 0x83)}),
    up("no VPD pages", NO_NAME, disk={"without": ALL_PAGES}),
    up("no list of pages", WORKS, disk={"without": (0x00,)}),
    up("INQUIRY of 36 bytes", WORKS, answers(INQUIRY, DISK[:36])),
    up("an identity that claims to be longer", WORKS,
       answers(INQUIRY, bytes([0, 0x83, 0x10, 0]) + DESIGNATOR, 0x83)),
    up("an identity and a half", WORKS, answers(
        INQUIRY, bytes([0, 0x83, 0, 40]) + DESIGNATOR + DESIGNATOR[:12], 0x83)),
    up("an identity of 600 bytes, the name at its end", WORKS,
       disk={"designators": ("vendors", "naa")}),
    up("a length of one byte", WORKS, disk={"spc2": True}),
    up("pages of an older standard", WORKS, disk={"cut_pages": {0xB0: 12, 0xB1: 2}}),
    up("limits that claim to be longer", WORKS, answers(
        INQUIRY, bytes([0, 0xB0, 0, 60]) + bytes(12), 0xB0)),
    # sd takes the two bytes for the number: 16384 and above in the flat form.
    at_address(0, 0x4000), at_address(5, 0, 0x4005), at_address(5, 5, 0x4005),
    at_address(256, 0, 0x0100), at_address(256, 0, 0x4100), at_address(300, 0, 0x012C),
    at_address(300, 0x002C, 0x412C), at_address(16383, 0, 0x7FFF),
    at_address(300, 0, 0x002C, expect=refused("no LUN 300 for us", errno.ENXIO)),
    # Logical unit addressing (10b): of a bus and a target behind this one.
    at_address(300, 0, 0x812C, expect=refused("no LUN 300 for us", errno.ENXIO)),
    up("several unit attentions queued", WORKS,
       then_normal(*(attention(*told) for told in QUEUED), opcode=REPORT_LUNS)),
    up("limits of 4 bytes", SURVIVES, answers(INQUIRY, bytes([0, 0xB0, 0, 0]), 0xB0)),
    up("a list of pages that lies", SURVIVES, answers(INQUIRY, bytes([0, 0, 0xFF, 0xFF]), 0)),
    up("one block at a time", refused("at least", errno.EPROTO), disk={"max_transfer": 1}),
    up("eight blocks at a time", WORKS, disk={"max_transfer": 8}),
    up("no write cache", WORKS, disk={"write_cache": False}),
    up("no MODE SENSE", SURVIVES, check(5, 0x20, 0, MODE_SENSE_6), times=1000),
    up("MODE SENSE of nonsense", SURVIVES, answers(MODE_SENSE_6, b"\xff\x00\x10\xff")),
    up("MODE SENSE of 3 bytes", WORKS, answers(MODE_SENSE_6, b"\x03\x00\x10")),
    up("MODE SENSE of nothing", WORKS, answers(MODE_SENSE_6, b"")),
    up("blocks of 4096", WORKS, disk={"block_bytes": 4096}),
    *(up(f"blocks of {size}", refused("", errno.EPROTO), answers(
        SERVICE_ACTION_IN_16, CAPACITY[:8] + size.to_bytes(4, "big") + bytes(20)))
      for size in (0, 1, 520, 0x80000000)),
    up("2^64 blocks", refused(), answers(SERVICE_ACTION_IN_16, b"\xff" * 8 + CAPACITY[8:])),
    up("READ CAPACITY of 11 bytes", refused(NONSENSE, errno.EPROTO),
       answers(SERVICE_ACTION_IN_16, CAPACITY[:11])),
    up("TEST UNIT READY of a reserved LUN", WORKS, result(0x18, opcode=TEST_UNIT_READY),
       times=1000),
    up("MODE SENSE of a reserved LUN", WORKS, result(0x18, opcode=MODE_SENSE_6), times=1000),
    up("READ CAPACITY(16) of a reserved LUN", WORKS, result(0x18, opcode=SERVICE_ACTION_IN_16),
       times=1000),
    up("READ CAPACITY of 12 bytes", WORKS, answers(SERVICE_ACTION_IN_16, CAPACITY[:12])),
    asks(2, 4, 1, SURVIVES, times=2),
    asks(2, 4, 3, refused("TEST UNIT READY", errno.EIO), times=99),
    # sd starts it, too.
    up("stopped", WORKS, stopped()), up("stopped, and does not start at once", WORKS,
                                        stopped(still=3)),
    up("stopped, and cannot be started", refused("TEST UNIT READY.*sense 2/04/02", errno.EIO),
       stopped(starts=False)),
    up("stopped, and is never ready", refused("TEST UNIT READY.*sense 2/04/01", errno.EBUSY),
       stopped(times=1000), path={"login_timeout_ms": 3000}),
    asks(6, 0x29, 0, SURVIVES, times=3), asks(6, 0x29, 0, SURVIVES, INQUIRY, times=3),
    asks(6, 0x29, 0, SURVIVES, SERVICE_ACTION_IN_16, times=3),
    asks(3, 0x11, 0, refused("READ CAPACITY", errno.EIO), SERVICE_ACTION_IN_16, times=99),
    lost_at(REPORT_LUNS, "REPORT LUNS"), lost_at(INQUIRY, "INQUIRY"),
    lost_at(TEST_UNIT_READY, "TEST UNIT READY"),
    lost_at(SERVICE_ACTION_IN_16, "READ CAPACITY"), lost_at(MODE_SENSE_6, "MODE SENSE"),
    silent_at(INQUIRY, "INQUIRY"), silent_at(SERVICE_ACTION_IN_16, "READ CAPACITY"),
]

SCENARIOS = [*STATUSES, *SENSES, *LUNS, *BRING_UP]
