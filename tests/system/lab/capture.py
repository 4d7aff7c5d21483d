# SPDX-License-Identifier: GPL-2.0
"""Captures what goes over a link and has tshark judge it."""

import collections
import os
import signal
import socket
import subprocess
from pathlib import Path

from lab.network import NETNS
from lab.shell import run, wait_for

#: Expert severities of Wireshark, as `_ws.expert.severity` prints them.
SEVERITY_ERROR = 0x00800000
#: The last packet of a capture: to the port of discard, where nobody listens.
END, END_PORT = b"the end of the capture", 9


class Capture:
    """tcpdump on the target's end of a link, full packets, no loss accepted."""

    def __init__(self, link, path="/run/lab/capture.pcap", port=3260):
        self.link = link
        self.path = path
        self.port = port
        self.process = None

    def __enter__(self):
        command = ["nsenter", f"--net=/run/netns/{NETNS}", "--", "tcpdump", "-i", self.link.peer,
                   "-w", self.path, "-s", "0", "-U", "-B", "65536", "-Z", "root",
                   f"tcp port {self.port} or udp port {END_PORT}"]
        if os.path.exists(self.path):
            os.unlink(self.path)
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        wait_for("tcpdump to start", lambda: os.path.exists(self.path)
                 and os.path.getsize(self.path) >= 24)
        return self

    def __exit__(self, *_):
        # tcpdump writes packets in their order.
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            sock.sendto(END, (self.link.address, END_PORT))
        wait_for("the end of the capture", self._at_end)
        self.process.send_signal(signal.SIGINT)
        _, errors = self.process.communicate(timeout=30)
        self.report = errors.decode(errors="replace")

    def _at_end(self):
        return END in Path(self.path).read_bytes()

    def dropped(self):
        """Packets that the kernel dropped before tcpdump saw them."""
        for line in self.report.splitlines():
            if "dropped by kernel" in line:
                return int(line.split()[0])
        return 0


class Verdict:
    """What tshark's dissectors say about a capture.

    complaints: one line for each frame whose iSCSI or SCSI layer is malformed or has an expert
    error, but for what the target answers in SCSI: newer targets have pages of other lengths than
    Wireshark 4.0 knows; opcodes: number of PDUs of each opcode; pairs: key=value of login and text PDUs;
    isids: the ISIDs of all login PDUs; statuses: Data-In PDUs that carry a status.

    Wireshark 4.0 does not know how long a PDU with a data digest is and loses its place in the
    stream: such sessions must not be judged by it. all_answered() tells when that has happened.
    """

    FIELDS = ("frame.number", "iscsi.opcode", "iscsi.isid", "iscsi.keyvalue", "iscsi.scsidata.S",
              "_ws.expert.severity", "_ws.expert.message", "_ws.malformed", "tcp.srcport", "_ws.col.Info")

    def __init__(self, path):
        self.complaints = []
        self.opcodes = collections.Counter()
        self.pairs = []
        self.isids = set()
        self.statuses = 0
        self.frames = 0
        fields = [word for name in self.FIELDS for word in ("-e", name)]
        # Reassembly puts several PDUs into one frame; their values come separated by a byte that
        # no value contains.
        out = run("tshark", "-n", "-r", path, "-d", "tcp.port==3260,iscsi",
                  "-o", "tcp.reassemble_out_of_order:TRUE", "-Y", "iscsi || _ws.malformed",
                  "-T", "fields", "-E", "separator=/t", "-E", "aggregator=|", *fields,
                  timeout_s=900)
        for line in out.splitlines():
            self._frame(*(line.split("\t") + [""] * len(self.FIELDS))[: len(self.FIELDS)])

    def all_answered(self):
        """Every command has its status: nothing was lost between the PDUs that were recognised."""
        return self.opcodes[0x01] == self.opcodes[0x21] + self.statuses

    def _frame(self, number, opcodes, isids, pairs, status, severities, messages, malformed, port,
               info):
        self.frames += 1
        self.opcodes.update(int(opcode, 0) for opcode in opcodes.split("|") if opcode)
        self.isids.update(isid for isid in isids.split("|") if isid)
        self.statuses += status.split("|").count("1")
        self.pairs += [pair for pair in pairs.split("|") if pair]
        worst = max((int(s, 0) for s in severities.split("|") if s), default=0)
        of_target = port == "3260" and "[Malformed Packet: SCSI]" in malformed
        if (malformed or worst >= SEVERITY_ERROR) and not of_target:
            self.complaints.append(f"frame {number}: {messages} {malformed} {info}")
