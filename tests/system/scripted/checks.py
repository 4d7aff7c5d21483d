# SPDX-License-Identifier: GPL-2.0
"""What an initiator may send: every PDU is held against RFC 7143.

The target tells a Connection of each PDU that comes and each that goes. What is wrong becomes a
line "section: what" in the session's list.
"""

from scripted import keys
from scripted import pdu as p
from scripted.pdu import RESERVED_TAG, after, plus

INITIATOR = (p.NOP_OUT, p.SCSI_COMMAND, p.TASK_MANAGEMENT, p.LOGIN, p.TEXT, p.DATA_OUT, p.LOGOUT,
             p.SNACK)
ABORT_TASK, ABORT_TASK_SET, CLEAR_ACA, CLEAR_TASK_SET, LUN_RESET = 1, 2, 3, 4, 5
WARM_RESET, COLD_RESET, REASSIGN = 6, 7, 8
READS = (0x08, 0x28, 0x88, 0xA8)
WRITES = (0x0A, 0x2A, 0x8A, 0xAA, 0x93, 0x41)


class Sequence:
    """Data-Out that belong together: unsolicited ones, or the answer to an R2T."""

    def __init__(self, ttt, offset, length):
        self.ttt = ttt
        self.offset = offset
        self.left = length
        self.data_sn = 0


class Task:
    """A SCSI command as the checks remember it."""

    def __init__(self, conn, pdu):
        self.conn = conn
        self.lun = pdu.lun
        self.cmd_sn = pdu.cmd_sn
        self.edtl = pdu.edtl
        self.write = bool(pdu.flags & 0x20)
        self.unsolicited = None
        self.r2ts = []
        self.abort = None           # ITT of the ABORT TASK that may have ended it


class Session:
    """What the connections of a session share."""

    def __init__(self, violations):
        self.violations = violations
        self.cmd_sn = None          # the lowest that has not come yet
        self.ahead = set()          # those beyond it that have
        self.max_cmd_sn = None      # as last told
        self.connections = []
        self.several = False        # ever had: what was sent over a lost one is missing
        self.tasks = {}             # in flight, by ITT
        self.finished = {}          # answered: Data-Out may still be on its way
        self.others = set()         # ITTs of requests that are not SCSI commands
        self.aborts = {}            # their ITTs: the task
        self.held = keys.defaults()
        self.target_segment = 8192

    def add(self, conn):
        self.connections.append(conn)
        self.several = self.several or len(self.connections) > 1


class Connection:
    """The checks of one connection; `session` may be replaced when the login has found it."""

    def __init__(self, session):
        self.session = session
        session.add(self)
        self.full = False
        self.discovery = False
        self.login = None           # the first Login Request
        self.stage = None
        self.named = {}             # keys that the login has seen: name -> stage
        self.text = b""
        self.exp_stat_sn = None
        self.last_cmd_sn = None     # of the commands that came over this connection
        self.stat_sn = None         # next of the target's
        self.logged_out = False
        self.pings = {}             # the target's, TTT: LUN

    def wrong(self, section, what, pdu=None):
        about = f"{pdu.name} itt {pdu.itt:#x}: " if pdu is not None else ""
        self.session.violations.append(f"RFC 7143 {section}: {about}{what}")

    def join(self, session):
        """This connection belongs to a session that is there already."""
        self.session.connections.remove(self)
        self.session = session
        session.add(self)

    def enter_full_feature(self, held, target_segment, discovery=False):
        """held: what this connection's login has agreed on for the session."""
        self.full = True
        self.discovery = discovery
        self.session.held.update(held)
        self.session.target_segment = target_segment

    # What comes

    def received(self, pdu):
        if pdu.opcode not in INITIATOR:
            self.wrong("11.2.1.2", f"opcode {pdu.opcode:#04x} is none of an initiator's")
            return
        self._common(pdu)
        if self.logged_out and pdu.opcode != p.DATA_OUT:
            self.wrong("11.14", "a request after the Logout Request", pdu)
        if not self.full and pdu.opcode != p.LOGIN:
            self.wrong("6.3", "before the login is over", pdu)
            return
        if self.full and self.discovery and pdu.opcode not in (p.TEXT, p.LOGOUT, p.NOP_OUT):
            self.wrong("4.3", "not for a discovery session", pdu)
        CHECKS[pdu.opcode](self, pdu)

    def _common(self, pdu):
        for offset in pdu.reserved():
            self.wrong("11", f"byte {offset} is reserved and not zero", pdu)
        if not pdu.digests_right:
            self.wrong("11.2.3", "a digest is wrong", pdu)
        if any(pdu.pad) or len(pdu.pad) != -len(pdu.data) % 4:
            self.wrong("11.1", "padding is not zero", pdu)
        if pdu.ahs and pdu.opcode != p.SCSI_COMMAND:
            self.wrong("11.2.2", "additional header segments", pdu)
        limit = self.session.target_segment if self.full else 8192
        if len(pdu.data) > limit:
            self.wrong("13.12", f"data segment of {len(pdu.data)} bytes, {limit} are allowed", pdu)

    def _exp_stat_sn(self, pdu):
        if self.stat_sn is not None and after(pdu.exp_stat_sn, self.stat_sn):
            self.wrong("4.2.2.2", f"ExpStatSN {pdu.exp_stat_sn} acknowledges what was not sent "
                       f"(next is {self.stat_sn})", pdu)
        if self.exp_stat_sn is not None and after(self.exp_stat_sn, pdu.exp_stat_sn):
            self.wrong("4.2.2.2", f"ExpStatSN went back from {self.exp_stat_sn} to "
                       f"{pdu.exp_stat_sn}", pdu)
        self.exp_stat_sn = pdu.exp_stat_sn

    def _cmd_sn(self, pdu):
        """Numbered without holes over all connections, in rising order on each of them."""
        session = self.session
        several = session.several
        if session.cmd_sn is None:
            session.cmd_sn = pdu.cmd_sn
        if several and self.last_cmd_sn is not None and not after(pdu.cmd_sn, self.last_cmd_sn):
            self.wrong("4.2.2.1", f"CmdSN {pdu.cmd_sn} after {self.last_cmd_sn} on the same "
                       "connection", pdu)
        if pdu.immediate:
            if pdu.cmd_sn != session.cmd_sn and not several:
                self.wrong("4.2.2.1", f"immediate with CmdSN {pdu.cmd_sn}, the next is "
                           f"{session.cmd_sn}", pdu)
            return
        self.last_cmd_sn = pdu.cmd_sn
        if session.max_cmd_sn is not None and after(pdu.cmd_sn, session.max_cmd_sn):
            self.wrong("4.2.2.1", f"CmdSN {pdu.cmd_sn} beyond MaxCmdSN {session.max_cmd_sn}", pdu)
        if pdu.cmd_sn != session.cmd_sn and not several:
            self.wrong("4.2.2.1", f"CmdSN {pdu.cmd_sn} instead of {session.cmd_sn}", pdu)
            session.cmd_sn = plus(pdu.cmd_sn, 1)
            return
        if after(session.cmd_sn, pdu.cmd_sn) or pdu.cmd_sn in session.ahead:
            self.wrong("4.2.2.1", f"CmdSN {pdu.cmd_sn} for a second time", pdu)
            return
        session.ahead.add(pdu.cmd_sn)
        while session.cmd_sn in session.ahead:
            session.ahead.remove(session.cmd_sn)
            session.cmd_sn = plus(session.cmd_sn, 1)

    def _new_tag(self, pdu):
        if pdu.itt == RESERVED_TAG:
            self.wrong("11.2.1.8", "the reserved tag", pdu)
        if pdu.itt in self.session.tasks or pdu.itt in self.session.others:
            self.wrong("11.2.1.8", "the tag is in use", pdu)

    def _final(self, pdu):
        if not pdu.final:
            self.wrong("11", "bit 7 of byte 1 must be 1", pdu)

    def _command(self, pdu):
        self._exp_stat_sn(pdu)
        self._cmd_sn(pdu)
        self._new_tag(pdu)
        task = Task(self, pdu)
        self._command_flags(pdu)
        self._command_data(pdu, task)
        self.session.finished.pop(pdu.itt, None)
        self.session.tasks[pdu.itt] = task

    def _command_flags(self, pdu):
        read, write = pdu.flags & 0x40, pdu.flags & 0x20
        if pdu.flags & 7 > 4:
            self.wrong("11.3.1", f"task attribute {pdu.flags & 7}", pdu)
        if not write and not pdu.final:
            self.wrong("11.3.1", "F=0 for a command that writes nothing", pdu)
        if pdu.edtl and not read and not write:
            self.wrong("11.3.4", "expects data, but neither R nor W", pdu)
        if pdu.cdb[0] in READS and (write or (pdu.edtl and not read)):
            self.wrong("11.3.1", "R and W do not fit the CDB, which reads", pdu)
        if pdu.cdb[0] in WRITES and (read or (pdu.edtl and not write)):
            self.wrong("11.3.1", "R and W do not fit the CDB, which writes", pdu)

    def _command_data(self, pdu, task):
        held, sent = self.session.held, len(pdu.data)
        first_burst = min(held["FirstBurstLength"], held["MaxBurstLength"])
        if sent and not task.write:
            self.wrong("11.3.7", "data for a command that writes nothing", pdu)
        if sent and not held["ImmediateData"]:
            self.wrong("13.11", "immediate data, which were not agreed", pdu)
        if sent > first_burst:
            self.wrong("13.14", f"immediate data of {sent} bytes, FirstBurstLength is "
                       f"{first_burst}", pdu)
        if sent > pdu.edtl:
            self.wrong("11.3.4", "more data than expected", pdu)
        if task.write and not pdu.final:
            if held["InitialR2T"]:
                self.wrong("13.10", "F=0 although InitialR2T=Yes", pdu)
            if sent >= min(pdu.edtl, first_burst):
                self.wrong("11.3.1", "F=0, but there is nothing left to send unsolicited", pdu)
            task.unsolicited = Sequence(RESERVED_TAG, sent, min(first_burst, pdu.edtl) - sent)

    def _find_task(self, pdu):
        task = self.session.tasks.get(pdu.itt) or self.session.finished.get(pdu.itt)
        if not task:
            self.wrong("11.7", "for a task that there is not", pdu)
        elif task.conn is not self:
            self.wrong("4.2.3", "not on the command's connection", pdu)
            return None
        return task

    def _data_out(self, pdu):
        self._exp_stat_sn(pdu)
        task = self._find_task(pdu)
        if not task:
            return
        if task.abort is not None:
            self.wrong("11.5.1", "data behind the task's ABORT TASK", pdu)
        if pdu.ttt == RESERVED_TAG:
            sequence = task.unsolicited
            if pdu.lun != bytes(8):
                self.wrong("11.7.4", "a LUN in an unsolicited Data-Out", pdu)
            if not sequence:
                self.wrong("4.2.5.2", "unsolicited data that were not announced", pdu)
                return
        else:
            sequence = self._find_r2t(task, pdu)
            if not sequence:
                return
            if pdu.lun != task.lun:
                self.wrong("11.7.4", "another LUN than the command's", pdu)
        self._sequence(task, sequence, pdu)

    def _find_r2t(self, task, pdu):
        for position, r2t in enumerate(task.r2ts):
            if r2t.ttt == pdu.ttt:
                if position and self.session.held["DataSequenceInOrder"]:
                    self.wrong("11.8", "the R2Ts are not answered in order", pdu)
                return r2t
        self.wrong("11.7.4", f"Target Transfer Tag {pdu.ttt:#x} is of no R2T outstanding", pdu)
        return None

    def _sequence(self, task, sequence, pdu):
        sent = len(pdu.data)
        if pdu.data_sn != sequence.data_sn:
            self.wrong("11.7.5", f"DataSN {pdu.data_sn} instead of {sequence.data_sn}", pdu)
        if pdu.offset != sequence.offset:
            self.wrong("11.7.6", f"Buffer Offset {pdu.offset} instead of {sequence.offset}", pdu)
        if sent > sequence.left:
            what = "FirstBurstLength" if pdu.ttt == RESERVED_TAG else "the R2T"
            self.wrong("11.7", f"more data than {what} allows", pdu)
        if not sent:
            self.wrong("11.7.7", "no data", pdu)
        if pdu.final and sent < sequence.left:
            self.wrong("11.7.1", "F=1 before the end of the sequence", pdu)
        if not pdu.final and sent >= sequence.left:
            self.wrong("11.7.1", "F=0 at the end of the sequence", pdu)
        sequence.data_sn += 1
        sequence.offset += sent
        sequence.left -= min(sent, sequence.left)
        if pdu.final or not sequence.left:
            if sequence is task.unsolicited:
                task.unsolicited = None
            else:
                task.r2ts.remove(sequence)

    def _nop_out(self, pdu):
        self._exp_stat_sn(pdu)
        self._cmd_sn(pdu)
        self._final(pdu)
        if pdu.itt == RESERVED_TAG:
            if not pdu.immediate:
                self.wrong("11.18.1", "no answer wanted, but not immediate", pdu)
            if pdu.ttt != RESERVED_TAG:
                if pdu.ttt not in self.pings:
                    self.wrong("11.18.2", "answers a ping that there was not", pdu)
                elif self.pings.pop(pdu.ttt) != pdu.lun:
                    self.wrong("11.18.2", "another LUN than the ping's", pdu)
            return
        self._new_tag(pdu)
        self.session.others.add(pdu.itt)
        if pdu.ttt != RESERVED_TAG:
            self.wrong("11.18.2", "a ping with a Target Transfer Tag", pdu)

    def _task_management(self, pdu):
        self._exp_stat_sn(pdu)
        self._cmd_sn(pdu)
        self._final(pdu)
        self._new_tag(pdu)
        self.session.others.add(pdu.itt)
        function = pdu.flags & 0x7F
        if not ABORT_TASK <= function <= REASSIGN:
            self.wrong("11.5.1", f"function {function}", pdu)
        if function in (WARM_RESET, COLD_RESET) and pdu.lun != bytes(8):
            self.wrong("11.5.4", "a LUN where none belongs", pdu)
        if function in (ABORT_TASK, REASSIGN):
            if pdu.referenced_itt == RESERVED_TAG:
                self.wrong("11.5.5", "no Referenced Task Tag", pdu)
        elif pdu.referenced_itt != RESERVED_TAG:
            self.wrong("11.5.5", "a Referenced Task Tag where none belongs", pdu)
        task = self.session.tasks.get(pdu.referenced_itt)
        if function == ABORT_TASK and task:
            if pdu.ref_cmd_sn != task.cmd_sn:
                self.wrong("11.5.6", f"RefCmdSN {pdu.ref_cmd_sn}, the task has {task.cmd_sn}", pdu)
            if pdu.lun != task.lun:
                self.wrong("11.5.4", "another LUN than the task's", pdu)
            if task.conn is not self:
                self.wrong("11.5.1", "not on the task's connection", pdu)
            task.abort = pdu.itt
            self.session.aborts[pdu.itt] = task
        if pdu.data:
            self.wrong("11.5", "data", pdu)

    def _logout(self, pdu):
        self._exp_stat_sn(pdu)
        self._cmd_sn(pdu)
        self._final(pdu)
        self._new_tag(pdu)
        reason = pdu.flags & 0x7F
        if reason > 2:
            self.wrong("11.14.1", f"reason {reason}", pdu)
        if reason == 0 and pdu.cid:
            self.wrong("11.14.3", "a CID where none belongs", pdu)
        if pdu.data:
            self.wrong("11.14", "data", pdu)
        self.logged_out = True

    def _text(self, pdu):
        self._exp_stat_sn(pdu)
        self._cmd_sn(pdu)
        if pdu.final and pdu.flags & 0x40:
            self.wrong("11.10.2", "F and C", pdu)
        if pdu.ttt == RESERVED_TAG:
            self._new_tag(pdu)
        if not pdu.flags & 0x40:
            for what in keys.parse(pdu.data)[1]:
                self.wrong("6.1", what, pdu)

    def _snack(self, pdu):
        self._exp_stat_sn(pdu)
        if not self.session.held["ErrorRecoveryLevel"]:
            self.wrong("11.16", "at ErrorRecoveryLevel 0", pdu)

    # The login phase

    def _login(self, pdu):
        if self.full:
            self.wrong("6.3", "in the full feature phase", pdu)
            return
        if not pdu.immediate:
            self.wrong("11.12", "not immediate", pdu)
        if pdu.version_min > pdu.version_max or pdu.version_min:
            self.wrong("11.12.4", f"version {pdu.version_min} to {pdu.version_max}", pdu)
        if pdu.isid[0] >> 6 == 3:
            self.wrong("11.12.5", "ISID of type 3", pdu)
        self._login_stage(pdu)
        if self.login is not None:
            self._login_same(pdu)
            self._exp_stat_sn(pdu)
        else:
            self.login = pdu
        self.text += pdu.data
        if not pdu.flags & 0x40:
            self._login_text(pdu)
            self.text = b""

    def _login_stage(self, pdu):
        csg, nsg = pdu.flags >> 2 & 3, pdu.flags & 3
        transit, more = pdu.flags & 0x80, pdu.flags & 0x40
        if csg not in (0, 1):
            self.wrong("11.12.3", f"CSG {csg}", pdu)
        if self.stage is not None and csg != self.stage:
            self.wrong("6.3.3", f"CSG {csg} instead of {self.stage}", pdu)
        if self.stage is None:
            self.stage = csg
        if transit and more:
            self.wrong("11.12.2", "T and C", pdu)
        if transit and (nsg <= csg or nsg == 2):
            self.wrong("11.12.3", f"NSG {nsg} after CSG {csg}", pdu)
        if not transit and nsg:
            self.wrong("11.12.3", "NSG without T", pdu)

    def _login_same(self, pdu):
        for name in ("isid", "tsih", "cid", "itt", "cmd_sn"):
            if getattr(pdu, name) != getattr(self.login, name):
                self.wrong("11.12", f"{name} changed during the login", pdu)

    def _login_text(self, pdu):
        stage = pdu.flags >> 2 & 3
        pairs, wrong = keys.parse(self.text)
        for what in wrong:
            self.wrong("6.1", what, pdu)
        if not self.named:
            self._login_first(pdu, pairs)
        for name, value in pairs:
            problem = keys.value_problem(name, value)
            if problem:
                self.wrong("13", problem, pdu)
            if name in self.named and not name.startswith("CHAP_"):
                self.wrong("6.2", f"{name} twice in one login", pdu)
            self.named[name] = stage
            if stage == 0 and name in keys.OPERATIONAL and name != "MaxRecvDataSegmentLength":
                self.wrong("6.3.2", f"{name} in the security stage", pdu)
            if self.login.tsih and name in keys.LEADING_ONLY:
                self.wrong("13", f"{name} is for the leading connection", pdu)
            if stage == 1 and (name == "AuthMethod" or name.startswith("CHAP_")):
                self.wrong("6.3.3", f"{name} in the operational stage", pdu)
        self.named.setdefault("", stage)

    def _login_first(self, pdu, pairs):
        names = [name for name, _ in pairs]
        if "InitiatorName" not in names:
            self.wrong("6.3", "no InitiatorName in the first request", pdu)
        if ("SessionType", "Discovery") not in pairs and "TargetName" not in names:
            self.wrong("6.3", "no TargetName in the first request", pdu)

    # What goes

    def sent(self, pdu):
        """The target sends this PDU; its numbers are set."""
        if hasattr(pdu, "max_cmd_sn"):
            best = self.session.max_cmd_sn
            if best is None or after(pdu.max_cmd_sn, best):
                self.session.max_cmd_sn = pdu.max_cmd_sn
        handler = SENT.get(pdu.opcode)
        if handler:
            handler(self, pdu)

    def _sent_r2t(self, pdu):
        task = self.session.tasks.get(pdu.itt)
        if task:
            task.r2ts.append(Sequence(pdu.ttt, pdu.offset, pdu.desired))

    def _sent_status(self, pdu):
        if pdu.opcode == p.DATA_IN and not pdu.flags & 1:
            return
        self.session.others.discard(pdu.itt)
        task = self.session.tasks.pop(pdu.itt, None)
        if task:
            task.abort = None
            self.session.finished[pdu.itt] = task

    def _sent_task_management(self, pdu):
        self.session.others.discard(pdu.itt)
        # Without success the task may go on, also one that is "no such task" for a while.
        if pdu.response:
            self._abort_refused(pdu.itt)

    def _sent_reject(self, pdu):
        rejected = p.Pdu.decode(pdu.data[:p.BHS_BYTES].ljust(p.BHS_BYTES, b"\0"))
        if rejected.opcode == p.TASK_MANAGEMENT:
            self._abort_refused(rejected.itt)

    def _abort_refused(self, itt):
        task = self.session.aborts.get(itt)
        if task and task.abort == itt:
            task.abort = None

    def _sent_nop_in(self, pdu):
        self.session.others.discard(pdu.itt)
        if pdu.ttt != RESERVED_TAG:
            self.pings[pdu.ttt] = pdu.lun

    def _sent_login(self, pdu):
        if pdu.flags & 0x80 and not pdu.status_class:
            self.stage = pdu.flags & 3


CHECKS = {
    p.NOP_OUT: Connection._nop_out, p.SCSI_COMMAND: Connection._command,
    p.TASK_MANAGEMENT: Connection._task_management, p.LOGIN: Connection._login,
    p.TEXT: Connection._text, p.DATA_OUT: Connection._data_out, p.LOGOUT: Connection._logout,
    p.SNACK: Connection._snack,
}
SENT = {
    p.R2T: Connection._sent_r2t, p.SCSI_RESPONSE: Connection._sent_status,
    p.DATA_IN: Connection._sent_status, p.REJECT: Connection._sent_reject,
    p.TASK_MANAGEMENT_RESPONSE: Connection._sent_task_management,
    p.NOP_IN: Connection._sent_nop_in, p.LOGIN_RESPONSE: Connection._sent_login,
}
