# SPDX-License-Identifier: GPL-2.0
"""The target's half of the login phase: RFC 7143 sections 6.3, 12.1 and 13; CHAP is RFC 1994."""

import base64
import binascii
import hashlib
import hmac
import os

from scripted import keys
from scripted.pdu import LOGIN_RESPONSE, Pdu

SECURITY, OPERATIONAL, FULL_FEATURE = 0, 1, 3
TRANSIT, CONTINUE = 0x80, 0x40
HASHES = {5: hashlib.md5, 6: hashlib.sha1, 7: hashlib.sha256, 8: hashlib.sha3_256}
SEGMENT_BYTES = 8192


class Refused(Exception):
    """The login ends with this (class << 8 | detail)."""


def chap_response(algorithm, identifier, secret, challenge):
    return HASHES[algorithm](bytes([identifier]) + secret + challenge).digest()


def binary(text):
    """A binary value: 0x... or 0b..., section 6.1."""
    if text[:2] in ("0x", "0X"):
        return binascii.unhexlify(text[2:])
    if text[:2] in ("0b", "0B"):
        return base64.b64decode(text[2:], validate=True)
    raise ValueError(text)


class Chap:
    """One authentication. secrets: {user: secret}; own: (name, secret) or nothing."""

    def __init__(self, secrets, own=None, algorithms=(8, 7, 6, 5), challenge=None):
        self.secrets = secrets
        self.own = own
        self.algorithms = algorithms
        self.algorithm = None
        self.identifier = os.urandom(1)[0]
        self.challenge = challenge
        self.done = False
        self.proven = False     # whether we have proven ourselves
        self.seen = None        # the initiator's (identifier, challenge)

    def step(self, got):
        """Answers the CHAP keys of one request. Raises Refused."""
        if "CHAP_A" in got:
            return self._choose(got["CHAP_A"])
        if self.algorithm and "CHAP_N" in got and "CHAP_R" in got:
            return self._check(got)
        raise Refused(0x0201)

    def _choose(self, offered):
        for one in offered.split(","):
            if one.isdigit() and int(one) in self.algorithms:
                self.algorithm = int(one)
                size = HASHES[self.algorithm]().digest_size
                self.challenge = self.challenge or os.urandom(size)
                return [("CHAP_A", one), ("CHAP_I", self.identifier),
                        ("CHAP_C", "0x" + self.challenge.hex())]
        raise Refused(0x0201)

    def _check(self, got):
        secret = self.secrets.get(got["CHAP_N"])
        try:
            response = binary(got["CHAP_R"])
        except ValueError as err:
            raise Refused(0x0201) from err
        wanted = chap_response(self.algorithm, self.identifier, secret or b"", self.challenge)
        if secret is None or not hmac.compare_digest(wanted, response):
            raise Refused(0x0201)
        self.done = True
        if "CHAP_I" not in got:
            return []
        self.seen = int(got["CHAP_I"]), binary(got["CHAP_C"])
        if not self.own or self.seen[1] == self.challenge:
            raise Refused(0x0201)
        self.proven = True
        answer = chap_response(self.algorithm, self.seen[0], self.own[1], self.seen[1])
        return [("CHAP_N", self.own[0]), ("CHAP_R", "0x" + answer.hex())]


class Login:
    """One login on one connection. answer() turns each request into responses."""

    def __init__(self, settings):
        self.settings = settings    # see target.Settings
        self.stage = None
        self.first = True
        self.text = b""
        self.pending = b""          # of our own, too long for one PDU
        self.pairs = {}             # all the initiator has said
        self.held = keys.defaults()
        self.declared = False
        self.chap = Chap(settings.secrets, settings.own, settings.algorithms,
                         settings.challenge) if settings.secrets else None
        self.method = None
        self.discovery = False

    def request(self, pdu):
        """(pairs of the whole text or None while it is not complete)"""
        self.text += pdu.data
        if pdu.flags & CONTINUE:
            return None
        pairs, _ = keys.parse(self.text)
        self.text = b""
        return pairs

    def answer(self, pdu, pairs):
        """The pairs that answer a complete text, and whether the stage may be left."""
        stage = pdu.flags >> 2 & 3
        got = dict(pairs)
        out = []
        if self.first:
            self._identify(got)
            out.append(("TargetPortalGroupTag", self.settings.tpgt))
        self.first = False
        self.pairs |= got
        if stage == SECURITY:
            out += self._security(got)
            ready = self.method == "None" or self.chap and self.chap.done
        elif stage == OPERATIONAL:
            if self.chap and not self.chap.done:
                raise Refused(0x0201)
            out += self._operational(pairs)
            ready = True
        else:
            raise Refused(0x020B)
        return out, ready

    def _identify(self, got):
        if "InitiatorName" not in got:
            raise Refused(0x0207)
        self.discovery = got.get("SessionType") == "Discovery"
        if not self.discovery and "TargetName" not in got:
            raise Refused(0x0207)
        if not self.discovery and got["TargetName"] != self.settings.name:
            raise Refused(0x0203)

    def _security(self, got):
        out = []
        if "AuthMethod" in got:
            offered = got["AuthMethod"].split(",")
            self.method = "CHAP" if self.chap else "None"
            if self.method not in offered:
                raise Refused(0x0201)
            out.append(("AuthMethod", self.method))
        elif any(name.startswith("CHAP_") for name in got):
            out += self.chap.step(got) if self.chap else []
        return out

    def _operational(self, pairs):
        out = []
        for name, value in pairs:
            if value in keys.SPECIAL:
                continue        # an answer to a key of ours, which must not be answered again
            if name in keys.OPERATIONAL:
                text, result = keys.negotiate(name, value, self.settings.keys)
                self.held[name] = result
                if text is not None:
                    out.append((name, text))
            elif name not in (*keys.LOGIN_ONLY, "TargetAlias"):
                out.append((name, "NotUnderstood"))
        if not self.declared:
            self.declared = True
            out.append(("MaxRecvDataSegmentLength",
                        self.settings.keys["MaxRecvDataSegmentLength"]))
        return out


def response(request, flags, tsih=0, data=b"", status=0):
    """A Login Response to this request; the numbers are for the sender."""
    pdu = Pdu(LOGIN_RESPONSE, flags, data=data, isid=request.isid, tsih=tsih, itt=request.itt)
    pdu.status_class, pdu.status_detail = status >> 8, status & 0xFF
    return pdu
