# SPDX-License-Identifier: GPL-2.0
"""istripectl with sanitizers, on a configfs of the tests' own: see fake_configfs.c."""

import fcntl
import json
import os
import pty
import subprocess
from pathlib import Path

import pytest
from configuration import CONF
from iscsiadm import HERE, TWO

TOP = Path(__file__).resolve().parents[2]
OUT = TOP / "build" / "tools"
#: FAKE_ACTIVE: the ActiveState of units, which only this question asks for. FAKE_START: the exit code
#: of systemctl start, FAKE_SYSTEMCTL: of all else.
SYSTEMCTL = """case "$*" in
"show -p ActiveState --value istripe@"*.service) echo "${FAKE_ACTIVE:-inactive}" ;;
*) echo "$*" >>"$ISTRIPECTL_ROOT/systemctl.log" ;;
esac
[ "$1" != start ] || exit ${FAKE_START:-0}
exit ${FAKE_SYSTEMCTL:-0}"""


#: The lines of errors of all processes until now, and all that doctor has found.
PRINTED = set()
FOUND = set()
#: Each process of pytest leaves both here.
SEEN = OUT / "seen"


def pytest_collection_modifyitems(config, items):
    """Those that go over what all others have seen run in a run of their own, after them."""
    if config.option.markexpr != "last":
        items[:] = [item for item in items if not item.get_closest_marker("last")]


def pytest_sessionfinish():
    """What this process has seen, for the tests that are last."""
    SEEN.mkdir(parents=True, exist_ok=True)
    name = os.environ.get("PYTEST_XDIST_WORKER", "main")
    (SEEN / f"{name}.json").write_text(json.dumps([sorted(PRINTED), sorted(FOUND)]),
                                       encoding="utf-8")


@pytest.fixture
def seen():
    """(lines of errors, words of doctor) of the runs before."""
    runs = [json.loads(file.read_text(encoding="utf-8")) for file in SEEN.glob("*.json")]
    return tuple({text for run in runs for text in run[kind]} for kind in (0, 1))


@pytest.fixture(scope="session")
def built():
    """Builds the program as it is shipped, the one with sanitizers, and the fuzz target."""
    env = {k: v for k, v in os.environ.items() if k not in ("CFLAGS", "MAKEFLAGS")}
    OUT.mkdir(parents=True, exist_ok=True)
    with open(OUT / ".lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = subprocess.run(
            ["make", "-C", TOP / "tools" / "istripectl", f"O={OUT}", "all", "test-tools"],
            capture_output=True, text=True, env=env, check=False,
        )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "warning" not in done.stderr
    return OUT


class Process(subprocess.Popen):
    """Its errors are remembered."""

    def communicate(self, *words, **more):
        out, err = super().communicate(*words, **more)
        PRINTED.update(line.removeprefix("istripectl:").strip() for line in (err or "").split("\n"))
        return out, err


class Tool:
    """istripectl and the root of the files that it takes for the kernel's."""

    def __init__(self, program, root):
        self.program = program
        self.root = root
        self.tree = root / "sys/kernel/config/istripe"
        # No test loads a module into the kernel that it runs on, or enables a unit there.
        (root / "bin").mkdir(parents=True)
        for name, line in (("modprobe", "exit 1"), ("systemctl", SYSTEMCTL)):
            program = root / "bin" / name
            program.write_text(f"#!/bin/sh\n{line}\n")
            program.chmod(0o755)
        self.env = {"PATH": f"{root}/bin:{os.environ['PATH']}", "ISTRIPECTL_ROOT": str(root),
                    "LANG": "C.UTF-8"}
        self.tree.mkdir(parents=True)
        self.put("sys/kernel/config/istripe/features", "chap")
        self.put("etc/iscsi/initiatorname.iscsi", "## comment\nInitiatorName=iqn.2026-01.a:host")
        self.put("dev/kmsg", "3,0,0,-;istripe: db: an old line")

    def put(self, path, text):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{text}\n")
        return file

    def start(self, *words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, **env):
        return Process(
            [self.program, *map(str, words)], env={**self.env, **env}, stdin=stdin,
            stdout=stdout, stderr=subprocess.PIPE, text=True, errors="surrogateescape",
        )

    def answered(self, answer, *words):
        """Runs it at a terminal, where @answer is typed; returns (exit code, errors)."""
        here, there = pty.openpty()
        os.write(here, answer.encode())
        process = self.start(*words, stdin=there)
        _, err = process.communicate(timeout=60)
        os.close(here)
        os.close(there)
        return process.returncode, err

    def unread(self, *words, **env):
        """Runs it while nobody reads its output; returns (exit code, errors)."""
        here, there = os.pipe()
        os.close(here)
        process = self.start(*words, stdout=there, **env)
        os.close(there)
        _, err = process.communicate(timeout=60)
        return process.returncode, err

    def run(self, *words, text_in="", code=0, **env):
        """Runs it, demands the exit code, and returns (output, errors)."""
        process = self.start(*words, **env)
        out, err = process.communicate(text_in, timeout=60)
        assert process.returncode == code, f"exit code {process.returncode}\n{out}{err}"
        assert "Sanitizer" not in err and "runtime error" not in err
        return out, err

    def value(self, name):
        return (self.tree / name).read_text().rstrip("\n")

    def enabled(self):
        """What was asked of systemctl, a line for each call."""
        log = self.root / "systemctl.log"
        return log.read_text().splitlines() if log.exists() else []

    def volumes(self):
        return sorted(path.name for path in self.tree.iterdir() if path.is_dir())


@pytest.fixture
def tool(built, tmp_path):
    return Tool(built / "istripectl-test", tmp_path / "root")


@pytest.fixture
def stock(tool, tmp_path):
    """Sets the records; iscsiadm is a fake."""
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "iscsiadm").symlink_to(HERE / "fake_iscsiadm")
    tool.env["PATH"] = f"{programs}:{tool.env['PATH']}"
    tool.put("iscsiadm.log", "")
    (tool.root / "etc/istripe").mkdir(parents=True, exist_ok=True)

    def put(*records):
        file = tool.put("records", "".join(records).rstrip("\n"))
        if not records:
            file.unlink()
    put(*TWO)
    return put


@pytest.fixture
def conf(tool):
    """Writes the file of a volume."""
    def write(text=CONF, name="db"):
        return tool.put(f"etc/istripe/{name}.conf", text.rstrip("\n"))
    return write
