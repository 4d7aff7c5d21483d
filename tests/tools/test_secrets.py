# SPDX-License-Identifier: GPL-2.0
"""Secrets of CHAP: where they are read from, and that they are shown nowhere."""

import fcntl
import os
import pty
import signal
import subprocess
import termios
from pathlib import Path

import pytest
from configuration import LEG, SECRET
from configuration import secret_file as short_file
from iscsiadm import ONLY_ROOT, T1
from waiting import wait_for


@pytest.fixture
def secret_file(tmp_path):
    file = tmp_path / "secret"
    file.write_text(f"{SECRET}\nsecond line\n")
    file.chmod(0o600)
    return file


def create_with(tool, secret, code=0, text_in=""):
    return tool.run("create", "db", "--no-up", "--leg", f"{LEG},chap_user=u,chap_secret={secret}",
                    code=code, text_in=text_in)


def test_secret_from_a_file(tool, secret_file):
    create_with(tool, f"@{secret_file}")
    assert tool.value("db/legs/0/paths/0/chap_secret") == SECRET


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o602, 0o610, 0o700])
def test_secret_that_others_may_read(tool, secret_file, mode):
    secret_file.chmod(mode)
    _, err = create_with(tool, f"@{secret_file}", code=1)
    assert f"{mode:04o}" in err and "chmod 600" in err and SECRET not in err
    assert tool.volumes() == []


def test_secret_of_somebody_else(tool, secret_file):
    if os.geteuid() == 0:
        os.chown(secret_file, 12345, 0)
        _, err = create_with(tool, f"@{secret_file}", code=1)
        assert "must be root's" in err
    else:
        _, err = create_with(tool, "@/etc/hostname", code=1)
        assert "others may read it" in err
    assert tool.volumes() == []


@pytest.mark.parametrize("what", ["missing", "directory", "pipe", "empty", "long"])
def test_secret_that_is_none(tool, tmp_path, what):
    file = tmp_path / what
    if what == "directory":
        file.mkdir(mode=0o600)
    elif what == "pipe":
        os.mkfifo(file, 0o600)
    elif what != "missing":
        file.write_text("x" * 256 if what == "long" else "\n")
        file.chmod(0o600)
    _, err = create_with(tool, f"@{file}", code=1)
    assert str(file) in err
    assert tool.volumes() == []


def test_secrets_from_standard_input(tool):
    tool.run("create", "db", "--no-up", "--leg", LEG + ",chap_secret=@-", "--leg",
             LEG + ",chap_secret=@-", text_in="first-secret\nsecond-secret\n")
    assert tool.value("db/legs/0/paths/0/chap_secret") == "first-secret"
    assert tool.value("db/legs/1/paths/0/chap_secret") == "second-secret"
    _, err = create_with(tool, "@-", code=1)
    assert "a secret is a line of 1 to 255 bytes, and this one has none" in err


def test_refused_secret_is_not_shown(tool, secret_file):
    _, err = tool.run("create", "db", "--leg", f"{LEG},chap_secret=@{secret_file}", code=1,
                      FAKE_REFUSE=f"chap_secret={SECRET}")
    assert f"refuses the given secret of {len(SECRET)} bytes" in err and SECRET not in err


@pytest.mark.parametrize("interrupt", [False, True], ids=["typed", "interrupted"])
def test_secret_from_a_terminal_without_echo(tool, interrupt):
    """Ctrl-C included: the terminal always gets its echo back."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(tool.program, ["istripectl", "create", "db", "--no-up", "--leg",
                                 f"{LEG},chap_secret=@-"], tool.env)
    shown = b""
    while b"chap_secret: " not in shown:
        shown += os.read(terminal, 1000)
    # The prompt comes before the echo goes: look for what stty says.
    wait_for(lambda: b" -echo " in stty(terminal))
    os.write(terminal, b"\x03" if interrupt else SECRET.encode() + b"\n")
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == (1 if interrupt else 0)
    assert b" echo " in stty(terminal)
    try:
        shown += os.read(terminal, 1000)
    except OSError:
        pass
    os.close(terminal)
    assert SECRET.encode() not in shown
    assert tool.volumes() == ([] if interrupt else ["db"])


def stty(terminal):
    out = subprocess.run(["stty", "-a"], stdin=terminal, capture_output=True, check=True).stdout
    return b" " + out.replace(b"\n", b" ") + b" "


def test_secret_is_not_in_the_command_line_or_environment(tool, secret_file):
    process = tool.start("create", "db", "--leg", f"{LEG},chap_user=u,chap_secret=@{secret_file}",
                         FAKE_ENABLE="hang")
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    wait_for(lambda: children.read_text())
    for pid in [process.pid, *map(int, children.read_text().split())]:
        for file in ("cmdline", "environ"):
            try:
                assert SECRET.encode() not in Path(f"/proc/{pid}/{file}").read_bytes()
            except PermissionError:
                assert os.geteuid() != 0
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)


def dumps_core(words, folder, env=None):
    """Whether the kernel takes the memory of a program that aborts when it has read a line."""
    allowed = ["sh", "-c", 'ulimit -c "$(ulimit -Hc)"; exec "$@"', "sh", *words]
    with subprocess.Popen(allowed, cwd=folder, env=env, stdin=subprocess.PIPE,
                          stdout=subprocess.DEVNULL) as process:
        process.stdin.write(f"{SECRET}\n".encode())
        process.stdin.flush()
        wait_for(lambda: fcntl.ioctl(process.stdin, termios.FIONREAD, bytes(4)) == bytes(4))
        process.send_signal(signal.SIGABRT)
        _, status = os.waitpid(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == -signal.SIGABRT
    return os.WCOREDUMP(status)


def test_no_core_dump_has_a_secret(tool, built, tmp_path):
    """Sanitizers forbid them by themselves: this is the program as it is shipped."""
    if not dumps_core(["cat"], tmp_path):
        pytest.skip("there are no core dumps here")
    leg = f"{LEG},chap_secret=@-"
    assert not dumps_core([built / "istripectl", "create", "db", "--no-up", "--leg", leg, "--leg",
                           leg], tmp_path, tool.env)


@ONLY_ROOT
def test_no_core_dump_of_a_program_that_gets_a_secret(tool, stock, secret_file):
    """1 byte: programs that the kernel pipes core dumps to get none, either."""
    tool.put("etc/iscsi/iscsid.conf", "")
    tool.put("discovered", f"192.0.2.10:3260,1 {T1}")
    tool.put("luns", f"Target:{T1} Portal:192.0.2.10:3260,1")
    (tool.root.parent / "bin/iscsi-ls").symlink_to((tool.root.parent / "bin/iscsiadm").readlink())
    tool.run("discover", "192.0.2.10", "--luns", "--chap", f"user=me,secret=@{secret_file}")
    assert SECRET in (tool.root / "luns.chap").read_text()
    assert (tool.root / "luns.core").read_text().split()[-3:] == ["1", "1", "bytes"]


@pytest.mark.parametrize("text, said", [("x", "1 byte"), ("eleven-of-it", None),
                                        ("eleven-byte", "11 bytes")])
def test_a_short_secret_is_warned_of_once(tool, text, said):
    """Old arrays have them."""
    file = short_file(tool, "short", text)
    chap = f",chap_user=u,chap_secret=@{file}"
    _, err = tool.run("create", "db", "--no-up", "--leg", LEG + chap, "--leg", LEG + chap)
    lines = [line for line in err.splitlines() if "warning: the secret" in line]
    warning = f"istripectl: warning: the secret of {file} has {said}; RFC 7143 asks for 12 or more"
    assert lines == ([warning] if said else [])
    assert tool.value("db/legs/1/paths/0/chap_secret") == text
    _, err = tool.run("path", "add", "db", "0", f"portal=192.0.2.99{chap}")
    assert err.count("warning: the secret") == len(lines)
    _, err = tool.run("set", "db", "--leg", "0", "--path", "1", f"chap_secret=@{file}")
    assert err.count("warning: the secret") == len(lines)
    assert len(text) == 1 or text not in err


def test_a_short_secret_that_is_typed_is_warned_of(tool):
    _, err = tool.run("create", "db", "--no-up", "--leg", f"{LEG},chap_user=u,chap_secret=@-",
                      text_in="short-one\n")
    assert ("istripectl: warning: the secret of leg 0 path 0: chap_secret has 9 bytes; RFC 7143 "
            "asks for 12 or more\n") == err
