# SPDX-License-Identifier: GPL-2.0
"""Signals while iscsiadm runs. Killed it would leave its lock behind, for which all others wait in
vain from then on.
"""

import array
import fcntl
import os
import signal
import termios
from pathlib import Path

import pytest
from iscsiadm import T1, T2, record
from waiting import wait_for

AUTOMATIC = {"node.startup": "automatic"}
#: It may wait itself, for the lock of another one.
WAITS = "interrupted; waits for iscsiadm to end first\n"


def unread(pipe):
    count = array.array("i", [0])
    fcntl.ioctl(pipe, termios.FIONREAD, count)
    return count[0]


@pytest.fixture
def interrupted(tool, stock):
    """A function that runs a command; signals come while iscsiadm is at work: (output, errors)."""
    stock(record(**AUTOMATIC), record(T2, **AUTOMATIC))
    lock, go = tool.root / "lock", tool.root / "go"

    def run(number, work, *words):
        program = tool.root.parent / "bin/iscsiadm"
        real = program.resolve()
        program.unlink()
        # dash takes signals that are blocked when it starts.
        program.write_text(f"""#!/bin/bash
            case "$*" in *' {work} '*) ;; *) exec {real} "$@" ;; esac
            : >{lock}
            while [ ! -e {go} ]; do sleep 0.02; done
            {real} "$@"
            code=$?
            rm {lock}
            exit $code\n""")
        program.chmod(0o755)
        process = tool.start(*words)
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        wait_for(lock.exists)
        said = unread(process.stderr)
        try:
            # A terminal, and systemd, send it to all.
            for pid in [*map(int, children.read_text().split()), process.pid]:
                os.kill(pid, number)
            wait_for(lambda: unread(process.stderr) > said)
        finally:
            go.touch()
        out, err = process.communicate(timeout=60)
        assert process.returncode == 1 and not lock.exists() and "interrupted\n" in err
        assert err.count(WAITS) == 1
        return out, err
    return run


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_up_asks_for_records(tool, interrupted, number):
    tool.run("import", "db", "--save", "--take-over")
    _, err = interrupted(number, "show", "up", "--saved", "db")
    assert tool.volumes() == [] and "is configured as its file says" not in err


def test_apply_asks_for_records(tool, interrupted):
    """A volume that is down would be as its file says only if they could not be read."""
    tool.run("import", "db", "--save", "--take-over")
    tool.run("up", "--saved", "db")
    tool.run("down", "db")
    out, err = interrupted(signal.SIGTERM, "show", "apply", "--dry-run", "db")
    assert out == "" and "is configured as its file says" not in err


def test_take_over_sets_them(tool, interrupted):
    """What is done is known, and what is not."""
    out, err = interrupted(signal.SIGTERM, "update", "import", "db", "--save", "--take-over")
    assert (tool.root / "etc/istripe/db.conf").exists()
    assert f"db: node.startup is manual now: -T {T1} " in out
    assert f"  iscsiadm -m node -T {T1} -p 192.0.2.10:3260 -I default -o update " \
        "-n node.startup -v automatic\n" in out
    assert f"  iscsiadm -m node -T {T2} " in err and f"-T {T1} " not in err


def test_report_asks_for_sessions(tool, interrupted):
    interrupted(signal.SIGTERM, "session", "report", "-o", tool.root / "r")
    assert not (tool.root / "r").exists()
