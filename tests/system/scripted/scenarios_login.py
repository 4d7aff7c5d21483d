# SPDX-License-Identifier: GPL-2.0
"""Login: statuses, redirects, text, stages, numbers, CHAP, silence and drops."""

import errno

from scripted import keys
from scripted import login as lg
from scripted import pdu as p
from scripted.pdu import Pdu
from scripted.scenario import SURVIVES, WORKS, Scenario, refused
from scripted.steps import (
    drop,
    field,
    login_keys,
    login_pdu,
    login_step,
    moved,
    mute,
    refuse,
    reset,
)

SECRET, OTHER = b"a-secret-of-20-bytes", b"another-one-20-bytes"
CHAP = {"chap_user": "initiator", "chap_secret": SECRET.decode()}
MUTUAL = {**CHAP, "chap_mutual_user": "target", "chap_mutual_secret": OTHER.decode()}
SECRETS = {"secrets": {"initiator": SECRET}}
BOTH = {**SECRETS, "own": ("target", OTHER)}
#: The target has to come as far as its silence by then.
SHORT = {"login_timeout_ms": 6000}


def row(name, expect, hooks=None, **more):
    """A login that misbehaves from the start, every time."""
    return Scenario(f"login: {name}", expect, hooks or {}, armed=True,
                    **{"times": 1000, **more})


def status(code, number, reason):
    return row(f"status {code:04x}", refused(reason, number), refuse(code))


STATUSES = [
    status(0x0200, errno.ECONNREFUSED, "initiator error"),
    status(0x0201, errno.EACCES, "authentication failed"),
    status(0x0202, errno.ECONNREFUSED, "not allowed"),
    status(0x0203, errno.ECONNREFUSED, "not found"),
    status(0x0204, errno.ECONNREFUSED, "removed"),
    status(0x0205, errno.ECONNREFUSED, "version"),
    status(0x0206, errno.ECONNREFUSED, "too many connections"),
    status(0x0207, errno.ECONNREFUSED, "missing"),
    status(0x0208, errno.ECONNREFUSED, "cannot join"),
    status(0x0209, errno.ECONNREFUSED, "session type"),
    status(0x020A, errno.ECONNREFUSED, "session does not exist"),
    status(0x020B, errno.ECONNREFUSED, "invalid during login"),
    status(0x02FF, errno.ECONNREFUSED, "unknown initiator error"),
    status(0x0300, errno.ECONNREFUSED, "target error"),
    status(0x0301, errno.ECONNREFUSED, "service unavailable"),
    status(0x0302, errno.ECONNREFUSED, "out of resources"),
    status(0x03FF, errno.ECONNREFUSED, "unknown target error"),
    status(0x0102 + 1, errno.ECONNREFUSED, "unknown redirection"),
    status(0x0400, errno.ECONNREFUSED, "unknown status class"),
    status(0xFFFF, errno.ECONNREFUSED, "unknown status class"),
]


def redirect(name, address, expect, code=0x0101, **more):
    pairs = (("TargetAddress", address),) if address is not None else ()
    return row(f"redirect {name}", expect, refuse(code, *pairs), **more)


async def redirect_here(run, conn, pdu):
    await conn.refuse(pdu, 0x0101, [("TargetAddress", conn.target.settings.portal)])


def redirect_among(*others):
    """The portal itself comes last."""
    async def action(run, conn, pdu):
        portals = [*others, conn.target.settings.portal]
        await conn.refuse(pdu, 0x0101, [("TargetAddress", portal) for portal in portals])

    return login_step(action)


REDIRECTS = [
    row("redirect once", SURVIVES, login_step(redirect_here), times=1),
    row("redirect in circles", refused("more than 4 times", errno.ELOOP),
        login_step(redirect_here)),
    redirect("without an address", None, refused("usable TargetAddress", errno.EPROTO)),
    redirect("to a name", "target.example:3260", refused("redirects to a name, and .*: target")),
    redirect("to nothing", "", refused("usable TargetAddress", errno.EPROTO)),
    redirect("to port 99999", "10.55.0.2:99999", refused("usable TargetAddress", errno.EPROTO)),
    redirect("to port 0", "10.55.0.2:0", refused("usable TargetAddress", errno.EPROTO)),
    redirect("to an open bracket", "[fd55::2", refused("usable TargetAddress", errno.EPROTO)),
    redirect("to IPv6 without brackets", "fd55::2:1,1", refused(r"cannot connect to \[fd55::2\]:1")),
    redirect("to colons", "a:1:2", refused("usable TargetAddress", errno.EPROTO)),
    redirect("to a very long address", "1" * 4000, refused("usable TargetAddress", errno.EPROTO)),
    redirect("to where nobody listens", "10.55.0.2:1",
             refused("cannot connect to 10.55.0.2:1", errno.ECONNREFUSED), code=0x0102),
    row("redirect to a name, or here", SURVIVES, redirect_among("target.example:3260"), times=1),
    row("redirect to port 0, or here", SURVIVES, redirect_among("10.55.0.2:0"), times=1),
    row("redirect to IPv6, or here", SURVIVES, redirect_among("[fd55::2]:1,1"), times=1),
    row("redirect to IPv6 or a name", refused(r"cannot connect to \[fd55::2\]:1"),
        refuse(0x0101, ("TargetAddress", "target.example"), ("TargetAddress", "[fd55::2]:1"))),
    row("redirect to a name or nothing", refused("redirects to a name, and .*: target"),
        refuse(0x0101, ("TargetAddress", "target.example"), ("TargetAddress", ""))),
]


def answer(key, value, reason):
    """The target answers an offered key with this."""
    return row(f"{key}={value}", refused(reason, errno.EPROTO), login_keys(1, **{key: value}))


def extra(name, pair, reason, stage=1):
    return row(name, refused(reason, errno.EPROTO), login_keys(stage, pair))


async def more_r2ts(conn, request, pairs, ready):
    """The target answers an offer of 2 with 16, and keeps so many outstanding."""
    if "MaxOutstandingR2T" in dict(pairs):
        conn.login.held["MaxOutstandingR2T"] = 16
        pairs = [(name, 16 if name == "MaxOutstandingR2T" else value) for name, value in pairs]
    return pairs, ready


NOT_ALLOWED = "which the offer does not allow"
KEYS = [
    answer("MaxBurstLength", 0, "not a number from 512"),
    row("MaxBurstLength=1048577", SURVIVES, login_keys(1, MaxBurstLength=1048577)),
    answer("MaxBurstLength", "99999999999999999999", "not a number"),
    answer("MaxBurstLength", "-1", "not a number"),
    answer("MaxBurstLength", "", "not a number"),
    answer("MaxBurstLength", "512 ", "not a number"),
    answer("FirstBurstLength", 511, "not a number"),
    answer("MaxOutstandingR2T", 0, "not a number"),
    answer("ErrorRecoveryLevel", 2, NOT_ALLOWED),
    row("FirstBurstLength=16777215", SURVIVES, login_keys(1, FirstBurstLength=16777215),
        settings={"FirstBurstLength": 262144}),
    *(row(f"{key}={value}", SURVIVES, login_keys(1, **{key: value}), path=path)
      for key, value, path in (
          ("DefaultTime2Wait", 0, {"default_time2wait": 2}), ("DefaultTime2Retain", 3600, {}),
          ("MaxOutstandingR2T", 65535, {}), ("MaxConnections", 2, {}), ("MaxConnections", 65536, {}),
          ("MaxBurstLength", 16777216, {}), ("MaxBurstLength", 4294967295, {}),
          ("FirstBurstLength", 16777216, {}), ("DefaultTime2Wait", 3601, {}),
          ("DefaultTime2Retain", 3601, {}),
          ("InitialR2T", "No", {"initial_r2t": "Yes"}),
          ("ImmediateData", "Yes", {"immediate_data": "No"}))),
    answer("InitialR2T", "Maybe", "neither Yes nor No"),
    answer("InitialR2T", "yes", "neither Yes nor No"),
    answer("DataPDUInOrder", "No", NOT_ALLOWED),
    answer("HeaderDigest", "CRC32C", "which was not offered"),
    answer("DataDigest", "MD5", "which was not offered"),
    answer("DataDigest", "None,CRC32C", "which was not offered"),
    answer("MaxRecvDataSegmentLength", 511, "not a number"),
    answer("MaxBurstLength", "Irrelevant", "may not be answered with"),
    answer("MaxBurstLength", "NotUnderstood", "may not be answered with"),
    row("MaxBurstLength=Reject", SURVIVES, login_keys(1, MaxBurstLength="Reject"),
        settings={"MaxBurstLength": 262144}),
    row("no MaxOutstandingR2T, and many", SURVIVES, login_keys(1, drop=("MaxOutstandingR2T",)),
        settings={"MaxOutstandingR2T": 16, "MaxBurstLength": 4096, "FirstBurstLength": 512}),
    row("MaxOutstandingR2T=16 of 2, and many", WORKS, {"login_pairs": more_r2ts},
        settings={"MaxBurstLength": 4096, "FirstBurstLength": 512},
        path={"max_outstanding_r2t": 2}, says="no more than 16 of a task are taken"),
    row("MaxRecvDataSegmentLength=16777216", SURVIVES,
        login_keys(1, MaxRecvDataSegmentLength=16777216),
        settings={"MaxRecvDataSegmentLength": 16777215}),
    row("MaxBurstLength=0x40000", SURVIVES, login_keys(1, MaxBurstLength="0x40000")),
    row("keys without answers", SURVIVES, login_keys(1, drop=("InitialR2T", "ImmediateData"))),
    row("no MaxRecvDataSegmentLength", SURVIVES,
        login_keys(1, drop=("MaxRecvDataSegmentLength",))),
    extra("a key twice", ("MaxBurstLength", 512), "twice"),
    row("an unknown key and T=1", WORKS, login_keys(1, ("X#NodeArchitecture", "a"))),
    row("an unknown key and T=0", SURVIVES,
        login_keys(1, ("X-org.example.what", 1), ready=False)),
    row("many unknown keys", SURVIVES,
        login_keys(1, *((f"X-org.example.{i}", i) for i in range(100)), ready=False)),
    extra("an initiator's key", ("InitiatorName", "iqn.2024-01.a:b"), "not a target's key"),
    extra("AuthMethod late", ("AuthMethod", "None"), "AuthMethod twice|after the security"),
    extra("an operational key early", ("MaxBurstLength", 512), "in the security stage", 0),
    extra("CHAP unasked", ("CHAP_A", 5), "without AuthMethod=CHAP", 0),
    row("AuthMethod=CHAP unoffered", refused("offered was None", errno.EPROTO),
        login_keys(0, AuthMethod="CHAP")),
    row("AuthMethod=Reject", refused("rejected AuthMethod", errno.EACCES),
        login_keys(0, AuthMethod="Reject")),
    row("AuthMethod=KRB5", refused("offered was None", errno.EPROTO),
        login_keys(0, AuthMethod="KRB5")),
    row("no portal group", SURVIVES, login_keys(0, drop=("TargetPortalGroupTag",))),
    row("a portal group and an alias, again and again", SURVIVES,
        login_keys(1, ("TargetPortalGroupTag", 1), ("TargetAlias", "a"), ("TargetAlias", "b"))),
    row("portal group 65536", refused("is no group", errno.EPROTO),
        login_keys(0, TargetPortalGroupTag=65536)),
    extra("two portal groups", ("TargetPortalGroupTag", 2), "portal group changed from 1 to 2", 1),
    row("a long alias", SURVIVES, login_keys(1, ("TargetAlias", "alias " * 40))),
    row("a hostile alias", WORKS, login_keys(1, ("TargetAlias", "\x1b[2J%s%n\x07"))),
    extra("a hostile value", ("X-org.example.what", "\x1b[2J%s%n\x07"), "malformed"),
]


def text(name, data, reason="malformed"):
    """The second response has this text."""
    return row(f"text {name}", refused(reason, errno.EPROTO), login_pdu(field(data=data), 2))


def no_nul(pdu):
    pdu.data = pdu.data[:-1]


async def more_text(run, conn, pdu):
    """C bit for ever."""
    while True:
        await conn.send(lg.response(pdu, 0x44, pdu.tsih, b"X-a=" + b"b" * 8188))
        pdu = await conn.read_pdu()


TEXTS = [
    text("without =", b"MaxBurstLength\0"),
    row("text without a NUL", SURVIVES, login_pdu(no_nul, 2)),
    text("without a key", b"=512\0"),
    text("of a very long key", b"X-" + b"a" * 4000 + b"=1\0"),
    row("text of NULs", SURVIVES, login_pdu(field(data=bytes(64)), 2)),
    text("of noise", bytes(range(1, 256)) * 8),
    row("text in many parts", SURVIVES, settings={"login_segment": 40}),
    row("text in too many parts", refused("did not end after 32", errno.EPROTO),
        settings={"login_segment": 10}),
    row("text without an end", refused("longer than", errno.EPROTO), login_step(more_text, 2)),
]


def header(name, reason, change, nth=1, **more):
    return row(name, refused(reason, errno.EPROTO), login_pdu(change, nth), **more)


def in_place_of(*pdus):
    """Something else instead of the response."""
    return lambda pdu: list(pdus)


def other(opcode, **fields):
    return Pdu(opcode, **{"itt": 0, "stat_sn": 1, **fields})


HEADERS = [
    header("another ISID", "another ISID", field(isid=bytes(6))),
    header("version 1", "protocol version 1", field(version_active=1)),
    header("a foreign ITT", "foreign task tag", moved(itt=1)),
    header("the reserved ITT", "without an Initiator Task Tag", field(itt=p.RESERVED_TAG)),
    header("a StatSN left out", "target sent StatSN", moved(stat_sn=1), 2),
    row("status 0001, which is success", WORKS, login_pdu(field(status_detail=1))),
    row("status 00ff at the end, which is success", WORKS, login_pdu(field(status_detail=0xFF), 2)),
    row("no TSIH", WORKS, login_pdu(field(tsih=0), 2)),
    header("no TSIH for several connections", "no TSIH", field(tsih=0), 2,
           path={"multi": "mcs", "connections": 2}),
    header("another CSG", "is in login stage 1 instead of 0", field(flags=0x84)),
    header("stage 2", "login stage 2 instead of 0", field(flags=0x08)),
    header("NSG 3 from security", "went to login stage 3 instead of 1", field(flags=0x83)),
    header("NSG 0", "went to login stage 0 instead of 1", field(flags=0x80)),
    header("T and C", "T and C bit", field(flags=0xC1)),
    header("CmdSN 5 expected", "expects CmdSN 5", field(exp_cmd_sn=5, max_cmd_sn=9), 2),
    header("a negative window", "gave MaxCmdSN", field(max_cmd_sn=0xFFFFFFF0), 2),
    header("a long data segment", "sends 8196 bytes", field(data=b"X-a=" + b"b" * 8191 + b"\0")),
    header("AHS", "4 of AHS", field(ahs=bytes(4))),
    header("a NOP-In instead", "NOP-In during login",
           in_place_of(other(p.NOP_IN, ttt=p.RESERVED_TAG))),
    header("a SCSI Response instead", "SCSI Response during login",
           in_place_of(other(p.SCSI_RESPONSE))),
    header("a Reject instead", "rejected the login request",
           in_place_of(other(p.REJECT, itt=p.RESERVED_TAG, reason=4))),
    header("the request echoed", "only initiators send", in_place_of(other(p.LOGIN))),
    header("an unknown opcode", "unknown opcode", in_place_of(other(0x3E))),
    row("bytes of HTTP", refused("login: "), login_pdu(
        in_place_of(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n" + bytes(4096)))),
    row("never ready", refused("did not end", errno.EPROTO), {
        "login_pairs": lambda conn, request, pairs, ready: never(pairs)}),
]


async def never(pairs):
    return pairs, False


def part(size):
    """Only the first bytes of a response, then nothing."""

    async def action(run, conn, pdu):
        await conn.put(Pdu(p.LOGIN_RESPONSE, itt=pdu.itt, data=b"X-a=b\0\0\0").encode()[:size])
        await mute(run, conn, pdu)

    return action


LOST = "connection lost"
DOWN = [
    row("silence after connect", refused("does not answer", errno.ETIMEDOUT),
        {"on_connect": mute}, path=SHORT),
    row("silence at the second request", refused("does not answer", errno.ETIMEDOUT),
        login_step(mute, 2), path=SHORT),
    row("silence in a header", refused("does not answer", errno.ETIMEDOUT),
        login_step(part(20)), path=SHORT),
    row("silence in the data", refused("does not answer", errno.ETIMEDOUT),
        login_step(part(50)), path=SHORT),
    row("closed after connect", refused(LOST), {"on_connect": drop}),
    # The reset may come before connect() has returned.
    row("reset after connect", refused(LOST + "|cannot connect"), {"on_connect": reset}),
    row("closed at the first request", refused(LOST), login_step(drop)),
    row("reset at the first request", refused(LOST), login_step(reset)),
    row("closed at the second request", refused(LOST), login_step(drop, 2)),
    row("reset at the second request", refused(LOST), login_step(reset, 2)),
]


def chap(name, expect, hooks=None, settings=SECRETS, path=CHAP, **more):
    return row(f"CHAP {name}", expect, hooks, settings=settings, path=path, **more)


def challenge(name, expect, **replace):
    return chap(name, expect, login_keys(0, when="CHAP_C", **replace))


def proof(name, number, *add, **replace):
    """Mutual CHAP in which the target's proof is not what it should be."""
    reason = replace.pop("reason", "")
    return chap(name, refused(reason, number), login_keys(0, *add, when="CHAP_R", **replace),
                settings=BOTH, path=MUTUAL)


async def reflect(conn, request, pairs, ready):
    """The target gives the initiator's own response back as its proof."""
    if "CHAP_R" in dict(pairs):
        own = conn.login.pairs["CHAP_R"]
        pairs = [(name, own if name == "CHAP_R" else value) for name, value in pairs]
    return pairs, ready


async def reflect_challenge(conn, request, pairs, ready):
    """A proof made with the secret that the initiator has, not the target."""
    if "CHAP_R" in dict(pairs):
        chapped = conn.login.chap
        made = lg.chap_response(chapped.algorithm, chapped.seen[0], SECRET, chapped.seen[1])
        pairs = [(name, "0x" + made.hex() if name == "CHAP_R" else value)
                 for name, value in pairs]
    return pairs, ready


def one_hash(*statuses):
    """LIO of Linux before 3.15: CHAP_A is "5" or the login is over. The last status holds on."""

    async def hook(run, conn, pdu):
        if dict(keys.parse(pdu.data)[0]).get("CHAP_A", "5") == "5":
            return False
        await conn.refuse(pdu, statuses[min(run.hits, len(statuses) - 1)])
        run.hits += 1
        return True

    return {"on_login": hook}


async def reject_list(conn, request, pairs, ready):
    if "CHAP_C" in dict(pairs) and conn.login.pairs["CHAP_A"] != "5":
        pairs = [("CHAP_A", "Reject")]
    return pairs, ready


ONE_HASH = one_hash(0x0201)
PROVE = "does not know its CHAP secret"
CHAPS = [
    *(chap(f"algorithm {number}", SURVIVES, settings={**BOTH, "algorithms": (number,)},
           path=MUTUAL) for number in (5, 6, 7, 8)),
    chap("a challenge of 1 byte", SURVIVES, settings={**SECRETS, "challenge": b"x"}),
    chap("a challenge of 1024 bytes", SURVIVES, settings={**SECRETS, "challenge": b"xy" * 512}),
    chap("a list is refused", WORKS, ONE_HASH, says="once more with MD5 alone"),
    chap("a list is refused, and the target proves itself", WORKS, ONE_HASH, BOTH, MUTUAL),
    chap("a list is refused, and so is the secret", refused("authentication failed", errno.EACCES),
         one_hash(0x0201, 0x0203), {"secrets": {"initiator": OTHER}},
         says="once more with MD5 alone"),
    chap("a list is refused that has no MD5", refused("authentication failed", errno.EACCES),
         ONE_HASH, path={**CHAP, "chap_algorithms": "SHA1,SHA256"}),
    chap("a list is rejected", WORKS, {"login_pairs": reject_list},
         says="once more with MD5 alone"),
    chap("a wrong secret", refused("authentication failed", errno.EACCES),
         settings={"secrets": {"initiator": OTHER}}),
    chap("an unknown user", refused("authentication failed", errno.EACCES),
         settings={"secrets": {"somebody": SECRET}}),
    challenge("an algorithm unoffered", refused("not offered", errno.EPROTO), CHAP_A=9),
    challenge("a list of algorithms", refused("not an algorithm", errno.EPROTO), CHAP_A="5,6"),
    challenge("algorithm Reject", refused("rejected a CHAP key", errno.EACCES), CHAP_A="Reject"),
    challenge("a challenge of 1025 bytes", refused("1 to 1024", errno.EPROTO),
              CHAP_C="0x" + "ab" * 1025),
    challenge("a challenge of 0 bytes", refused("1 to 1024", errno.EPROTO), CHAP_C="0x"),
    challenge("a challenge that is not hex", refused("1 to 1024", errno.EPROTO), CHAP_C="0xyz"),
    challenge("a challenge without 0x", refused("1 to 1024", errno.EPROTO), CHAP_C="ab" * 16),
    challenge("a broken base64 challenge", refused("1 to 1024", errno.EPROTO), CHAP_C="0b!!!!"),
    challenge("identifier 256", refused("0 to 255", errno.EPROTO), CHAP_I=256),
    chap("no challenge", refused("left out", errno.EPROTO),
         login_keys(0, drop=("CHAP_C",), when="CHAP_C")),
    chap("a key twice", refused("twice", errno.EPROTO),
         login_keys(0, ("CHAP_I", 1), when="CHAP_C")),
    chap("an unknown key", refused("CHAP does not have", errno.EPROTO),
         login_keys(0, ("CHAP_Z", 1), when="CHAP_C")),
    chap("a proof too early", refused("not due", errno.EPROTO),
         login_keys(0, ("CHAP_R", "0x00"), when="CHAP_C")),
    chap("left before the challenge", refused("unasked", errno.EPROTO),
         login_pdu(field(flags=0x81), 2)),
    chap("None, which will do", SURVIVES, settings={}),
    chap("None although mutual CHAP is wanted", refused("CHAP is required", errno.EACCES),
         login_keys(0, AuthMethod="None"), BOTH, MUTUAL),
    chap("no proof", refused("did not prove", errno.EACCES),
         login_keys(0, drop=("CHAP_N", "CHAP_R"), when="CHAP_R"), BOTH, MUTUAL),
    chap("the proof is reflected", refused(PROVE, errno.EACCES), {"login_pairs": reflect}, BOTH,
         MUTUAL),
    chap("the proof with our secret", refused(PROVE, errno.EACCES),
         {"login_pairs": reflect_challenge}, BOTH, MUTUAL),
    chap("the proof with a wrong secret", refused(PROVE, errno.EACCES),
         settings={**SECRETS, "own": ("target", b"some-other-one-of-it")}, path=MUTUAL),
    proof("a proof too short", errno.EPROTO, CHAP_R="0x00", reason="wrong length"),
    proof("a proof too long", errno.EPROTO, CHAP_R="0x" + "00" * 400, reason="wrong length"),
    proof("another name", errno.EACCES, CHAP_N="somebody", reason="another CHAP name"),
]

SCENARIOS = [*STATUSES, *REDIRECTS, *KEYS, *TEXTS, *HEADERS, *DOWN, *CHAPS]
