# SPDX-License-Identifier: GPL-2.0
"""A relay before a target's portal, which keeps what comes from the initiator of one write on.

For the initiator these bytes are sent and acknowledged. For the target they are still on their way,
over a connection that lives. Connections without digests only.
"""

import contextlib
import socket
import threading
import time

from lab.network import NETNS
from lab.shell import wait_for
from scripted import pdu as p
from scripted.scsi import WRITE_16
from scripted.server import enter, listen

BLOCK_BYTES = 512
#: The target has had this long to make something of what has come late.
LATE_S = 2

#: From where on it is kept: the first Data-Out, which the target has asked for; the second half of its
#: data; the second half of the data that come with the command.
ASKED, HALF_DATA, HALF_COMMAND = "asked", "half-data", "half-command"


def _take(sock, size):
    parts = bytearray()
    while len(parts) < size:
        part = sock.recv(size - len(parts))
        if not part:
            raise EOFError
        parts += part
    return bytes(parts)


def _take_pdu(sock):
    """(header, its bytes; the rest)."""
    raw = _take(sock, p.BHS_BYTES)
    header = p.Pdu.decode(raw)
    return header, raw, _take(sock, header.ahs_bytes + (header.data_bytes + 3) // 4 * 4)


class Relay:
    def __init__(self, address, to):
        """to: (address, port) of the target, in its namespace."""
        self.to = to
        self.listener = listen(address, 0, NETNS)
        self.address = address
        self.port = self.listener.getsockname()[1]
        self.portal = f"{address}:{self.port}"
        self.is_open = True         # for new connections
        self.ended = False          # the target has closed the connection of what is kept
        self._wanted = self._tag = None
        self._kept = None           # (socket of the target, bytes)
        self._complete = threading.Event()
        threading.Thread(target=self._accept, daemon=True).start()

    # In threads of its own

    def _accept(self):
        enter(NETNS)
        with contextlib.suppress(OSError):
            while True:
                ours, _ = self.listener.accept()
                if not self.is_open:
                    ours.close()
                    continue
                theirs = socket.create_connection(self.to)
                for sock in (ours, theirs):
                    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                for work in (self._to_target, self._to_initiator):
                    threading.Thread(target=work, args=(ours, theirs), daemon=True).start()

    def _to_target(self, ours, theirs):
        with contextlib.suppress(OSError, EOFError):
            while True:
                header, raw, rest = _take_pdu(ours)
                passed = self._passes(header, raw + rest)
                theirs.sendall((raw + rest)[:passed])
                if passed < len(raw + rest):
                    self._keep(ours, theirs, (raw + rest)[passed:])
                    return
        # What is kept for it keeps the target's connection.
        with contextlib.suppress(OSError):
            theirs.shutdown(socket.SHUT_RDWR)

    def _passes(self, header, whole):
        """How many bytes of a PDU may pass."""
        if not self._wanted:
            return len(whole)
        place, at = self._wanted
        half = len(whole) - header.data_bytes // 2
        if header.opcode == p.SCSI_COMMAND and self._is_at(header, at):
            self._tag = header.itt
            return half if place == HALF_COMMAND else len(whole)
        if header.opcode == p.DATA_OUT and header.itt == self._tag:
            return 0 if place == ASKED else half
        return len(whole)

    @staticmethod
    def _is_at(header, at):
        lba = int.from_bytes(header.cdb[2:10], "big")
        return header.cdb[0] == WRITE_16 and lba * BLOCK_BYTES == at

    def _keep(self, ours, theirs, rest):
        self._wanted = self._tag = None
        self._kept = theirs, bytearray(rest)
        with contextlib.suppress(OSError):
            while part := ours.recv(1 << 16):
                self._kept[1].extend(part)
        self._complete.set()

    def _to_initiator(self, ours, theirs):
        """What comes for an initiator that is gone is thrown away."""
        with contextlib.suppress(OSError):
            while part := theirs.recv(1 << 16):
                with contextlib.suppress(OSError):
                    ours.sendall(part)
        if self._kept and self._kept[0] is theirs:
            self.ended = True
            return
        with contextlib.suppress(OSError):
            ours.shutdown(socket.SHUT_RDWR)

    # For the test

    def hold(self, place, at):
        """The next write to this offset is kept from this place on."""
        self.ended = False
        self._complete.clear()
        self._wanted = place, at

    def held(self):
        return self._kept is not None

    def open(self, is_open):
        """Whether it takes new connections."""
        self.is_open = is_open

    def release(self):
        """What is kept goes to the target, whose connection ends after that."""
        wait_for("the end of what the initiator has sent", self._complete.is_set)
        theirs, rest = self._kept
        with contextlib.suppress(OSError):
            theirs.sendall(rest)
        time.sleep(LATE_S)
        self._kept = None
        with contextlib.suppress(OSError):
            theirs.shutdown(socket.SHUT_RDWR)

    def stop(self):
        self.is_open = False
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
