# SPDX-License-Identifier: GPL-2.0
"""The plugin for sos report: in a sos of the tests' own that only notes what it is asked for, and in
that of Debian.
"""

import importlib.util
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import types
from pathlib import Path

import pytest
from conftest import TOP
from host import Host
from iscsiadm import HERE
from secret_host import SECRETS, forms, secretive_host

FILE = TOP / "packaging/sos/istripe.py"


class Plugin:
    """The part of sos.report.plugins.Plugin that the plugin uses."""

    def __init__(self, folder):
        self.folder, self.commands_run, self.copied, self.forbidden = folder, [], [], []
        self.units, self.substitutions = [], []

    def add_cmd_output(self, commands):
        self.commands_run += [commands] if isinstance(commands, str) else commands

    def add_copy_spec(self, paths):
        self.copied += paths

    def add_forbidden_path(self, paths):
        self.forbidden += paths

    def add_journal(self, units):
        self.units += units

    def get_cmd_output_path(self, name, make):
        assert not make
        return str(self.folder / name)

    def do_cmd_output_sub(self, command, pattern, by):
        self.substitutions.append((command, pattern, by))


@pytest.fixture
def host(tool, stock):
    return secretive_host(tool, stock)


@pytest.fixture
def plugin(tmp_path, monkeypatch):
    plugins = types.ModuleType("sos.report.plugins")
    plugins.Plugin = Plugin
    for name in ("IndependentPlugin", "RedHatPlugin", "DebianPlugin", "UbuntuPlugin"):
        setattr(plugins, name, type(name, (), {}))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    for name in ("sos", "sos.report"):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    monkeypatch.setitem(sys.modules, "sos.report.plugins", plugins)
    spec = importlib.util.spec_from_file_location("istripe_of_sos", FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    made = module.Istripe(tmp_path)
    made.setup()
    made.postproc()
    return made


def test_what_sos_reads_of_the_class(plugin):
    assert plugin.plugin_name == FILE.stem and plugin.short_desc
    control = (TOP / "packaging/debian/control").read_text(encoding="utf-8")
    assert all(f"Package: {name}\n" in control for name in plugin.packages)
    assert plugin.kernel_mods == ("istripe",)


def test_commands_are_there(plugin, tool, stock, tmp_path):
    """Each of them is one of istripectl, and does what it is asked for on a host in use."""
    Host(tool)
    tool.put("clock", "#!/bin/sh\nexit 0").chmod(0o755)
    tool.env["FAKE_CLOCK"] = str(tool.root / "clock")
    assert len(plugin.commands_run) > 5
    for line in plugin.commands_run:
        program, *words = shlex.split(line)
        assert program in plugin.commands
        process = tool.start(*words)
        out, err = process.communicate(timeout=120)
        # doctor has something to say about a host in files.
        assert process.returncode == 0 or (words == ["doctor"] and process.returncode == 1), err
        assert out
    assert (tmp_path / "report/status.json").exists()


def test_secrets_are_left_out(plugin):
    command, pattern, by = plugin.substitutions[0]
    assert command == "istripectl"
    assert re.sub(pattern, by, "--leg lun=1,chap_secret=abc,nic=eth1") == \
        "--leg lun=1,chap_secret=******,nic=eth1"
    assert re.sub(pattern, by, "chap_secret = @db.secret") == "chap_secret = @db.secret"
    assert not [path for path in plugin.copied if "/etc/" in path]
    assert plugin.forbidden == ["/sys/kernel/config/istripe/*/legs/*/paths/*/*secret"]


# That of Debian

ONLY_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="sos report is for root")
#: Where sos looks for programs, whatever PATH says.
INSIDE = 'mount --bind "$1" /usr/sbin && shift && exec "$@"'


@pytest.fixture
def sos(host, tmp_path):
    """Runs sos report, which finds plugins beside its own only, on a host full of secrets."""
    package, programs = tmp_path / "package", host.tool.root / "bin"
    shutil.copytree(Path(importlib.util.find_spec("sos").origin).parent, package / "sos")
    shutil.copy(FILE, package / "sos/report/plugins")
    shutil.copy(host.tool.program, programs / "istripectl")
    shutil.copy(HERE / "fake_iscsiadm", programs / "iscsiadm")
    # Neither the driver nor a unit puts a secret there.
    host.put(host.path(0, 0, "last_error"), "")
    (programs / "journalctl").unlink()
    env = {**host.tool.env, "PYTHONPATH": str(package), "PYTHONDONTWRITEBYTECODE": "1"}

    def run(*words):
        done = subprocess.run(["unshare", "--mount", "sh", "-c", INSIDE, "sh", programs,
                               "/usr/bin/python3", shutil.which("sos"), "report", "--batch", *words],
                              capture_output=True, text=True, env=env, cwd=tmp_path, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout
    return run


@ONLY_ROOT
def test_sos_finds_the_plugin(sos):
    """By istripectl: sos takes it without being told to."""
    enabled = sos("--list-plugins").split("currently enabled")[1].split("currently disabled")[0]
    assert re.search("^ istripe +istripe, striping iSCSI initiator$", enabled, re.MULTILINE)


@ONLY_ROOT
def test_what_sos_collects(sos, host, tmp_path):
    """All that the plugin names, and no secret."""
    out = sos("--only-plugins", "istripe", "--sysroot", host.tool.root, "--chroot", "never",
              "--tmp-dir", tmp_path, "--build")
    tree, = tmp_path.glob("sosreport-*")
    assert str(tree) in out
    files = {str(file.relative_to(tree)): file.read_text(encoding="utf-8", errors="replace")
             for file in tree.rglob("*") if file.is_file() and not file.is_symlink()}
    commands = {Path(name).name: text for name, text in files.items()
                if name.startswith("sos_commands/istripe/istripectl")}
    assert len(commands) == 8 and all(commands.values())
    assert json.loads(commands["istripectl_status_--json"])["volumes"][0]["name"] == "db"
    report = "sos_commands/istripe/report"
    assert {f"{report}/conf-db.conf", f"{report}/kernel-log.txt", f"{report}/doctor.json",
            f"{report}/open-iscsi-records.txt", "sys/block/istripe0/istripe/state",
            "sys/kernel/config/istripe/db/legs/1/paths/1/portal"} <= set(files)
    assert not [name for name in files if name.endswith("secret") or name.startswith("etc/")]
    assert [(name, where) for name, text in files.items() for where, secret in SECRETS.items()
            if any(form in text for form in forms(secret))] == []
