# SPDX-License-Identifier: GPL-2.0
"""Text keys of RFC 7143: grammar (section 6.1), values and results (section 13)."""

import re

KEY_NAME = re.compile(rb"[A-Z][A-Za-z0-9.@_+-]{0,62}\Z|X[#-][\x21-\x3c\x3e-\x7e]+\Z")
NUMBER = re.compile(r"(0|[1-9][0-9]*)\Z")
SPECIAL = ("Reject", "Irrelevant", "NotUnderstood")

#: name: (how the result comes about, lowest, highest, default)
NUMBERS = {
    "MaxConnections": (min, 1, 65535, 1),
    "MaxRecvDataSegmentLength": (None, 512, 16777215, 8192),
    "MaxBurstLength": (min, 512, 16777215, 262144),
    "FirstBurstLength": (min, 512, 16777215, 65536),
    "DefaultTime2Wait": (max, 0, 3600, 2),
    "DefaultTime2Retain": (min, 0, 3600, 20),
    "MaxOutstandingR2T": (min, 1, 65535, 1),
    "ErrorRecoveryLevel": (min, 0, 2, 0),
    "iSCSIProtocolLevel": (min, 0, 31, 1),
}
BOOLEANS = {    # name: (result from two, default)
    "InitialR2T": (any, True),
    "ImmediateData": (all, True),
    "DataPDUInOrder": (any, True),
    "DataSequenceInOrder": (any, True),
    "IFMarker": (all, False),
    "OFMarker": (all, False),
}
LISTS = {
    "HeaderDigest": ("None", "CRC32C"),
    "DataDigest": ("None", "CRC32C"),
    "TaskReporting": ("RFC3720", "ResponseFence", "FastAbort"),
}
LOGIN_ONLY = ("InitiatorName", "InitiatorAlias", "TargetName", "SessionType", "AuthMethod")
OPERATIONAL = (*NUMBERS, *BOOLEANS, *LISTS)

#: What each connection agrees on for itself; all the rest holds for the session.
OF_A_CONNECTION = ("HeaderDigest", "DataDigest", "MaxRecvDataSegmentLength")
LEADING_ONLY = ("SessionType", *(name for name in OPERATIONAL if name not in OF_A_CONNECTION))

#: What the honest target has to say. Numbers and booleans, lists in order of preference.
TARGET = {
    "MaxConnections": 4,
    "MaxRecvDataSegmentLength": 65536,
    "MaxBurstLength": 262144,
    "FirstBurstLength": 65536,
    "DefaultTime2Wait": 0,
    "DefaultTime2Retain": 0,
    "MaxOutstandingR2T": 4,
    "ErrorRecoveryLevel": 0,
    "iSCSIProtocolLevel": 1,
    "InitialR2T": False,
    "ImmediateData": True,
    "DataPDUInOrder": True,
    "DataSequenceInOrder": True,
    "IFMarker": False,
    "OFMarker": False,
    "HeaderDigest": ("None", "CRC32C"),
    "DataDigest": ("None", "CRC32C"),
    "TaskReporting": ("RFC3720",),
}


def defaults():
    """What holds where nothing is negotiated. MaxRecvDataSegmentLength is the initiator's."""
    held = {name: rule[3] for name, rule in NUMBERS.items()}
    held |= {name: rule[1] for name, rule in BOOLEANS.items()}
    return held | {name: values[0] for name, values in LISTS.items()}


def parse(text):
    """[(name, value)] as str, and what is wrong with the text in words."""
    pairs, wrong = [], []
    if text and not text.endswith(b"\0"):
        wrong.append("the text does not end with a NUL")
    for part in text.removesuffix(b"\0").split(b"\0") if text else ():
        name, equals, value = part.partition(b"=")
        if not equals:
            wrong.append(f"no = in {part[:40]!r}")
            continue
        if not KEY_NAME.match(name) and name != b"iSCSIProtocolLevel":
            wrong.append(f"{name[:70]!r} is not a key name")
        if len(name) > 63:
            wrong.append(f"key name of {len(name)} bytes")
        try:
            pairs.append((name.decode("ascii"), value.decode("utf-8")))
        except UnicodeDecodeError:
            wrong.append(f"{name[:40]!r} is not text")
    return pairs, wrong


def format_text(pairs):
    return b"".join(f"{name}={value}".encode() + b"\0" for name, value in pairs)


def value_problem(name, value):
    """What is wrong with an offered or declared value; nothing when it is right."""
    if value in SPECIAL:
        return None
    if name in NUMBERS:
        low, high = NUMBERS[name][1:3]
        if not NUMBER.match(value) or not low <= int(value) <= high:
            return f"{name}={value} is no number from {low} to {high}"
    elif name in BOOLEANS and value not in ("Yes", "No"):
        return f"{name}={value} is neither Yes nor No"
    elif name in LISTS:
        given = value.split(",")
        if len(set(given)) != len(given) or any(one not in LISTS[name] for one in given):
            return f"{name}={value} has strange or repeated members"
    elif name == "SessionType" and value not in ("Normal", "Discovery"):
        return f"SessionType={value}"
    elif len(value) > 255 and not name.startswith("CHAP_"):
        return f"the value of {name} has {len(value)} bytes"
    return None


def yes(value):
    return "Yes" if value else "No"


def negotiate(name, offered, ours):
    """The target's answer to an offer: (text, what holds). Text is None: no answer is due."""
    if name == "MaxRecvDataSegmentLength":
        return None, int(offered)
    if name in NUMBERS:
        result = NUMBERS[name][0](int(offered), ours[name])
        return str(result), result
    if name in BOOLEANS:
        result = BOOLEANS[name][0]((offered == "Yes", ours[name]))
        return yes(result), result
    for one in offered.split(","):
        if one in ours[name]:
            return one, one
    return "Reject", defaults()[name]
