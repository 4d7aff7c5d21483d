# SPDX-License-Identifier: GPL-2.0
"""The plugin for sos report, in a sos of the tests' own that only notes what it is asked for."""

import importlib.util
import re
import shlex
import sys
import types

import pytest
from conftest import TOP
from host import Host

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

    def do_path_regex_sub(self, path, pattern, by):
        self.substitutions.append(("file", path, pattern, by))

    def do_cmd_output_sub(self, command, pattern, by):
        self.substitutions.append(("command", command, pattern, by))


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
    lines = ("chap_secret = plain word", "  # chap_secret = old", "chap_mutual_secret=x",
             "chap_secret = @db.secret", "chap_user = me")
    kept = ("chap_secret = ******", "  # chap_secret = ******", "chap_mutual_secret=******",
            "chap_secret = @db.secret", "chap_user = me")
    kind, path, pattern, by = plugin.substitutions[0]
    assert kind == "file" and re.fullmatch(path, "/etc/istripe/db.conf")
    assert re.sub(pattern, by, "\n".join(lines)) == "\n".join(kept)
    kind, command, pattern, by = plugin.substitutions[1]
    assert (kind, command) == ("command", "istripectl")
    assert re.sub(pattern, by, "--leg lun=1,chap_secret=abc,nic=eth1") == \
        "--leg lun=1,chap_secret=******,nic=eth1"
    assert "/etc/istripe/*secret*" in plugin.forbidden
    assert not [path for path in plugin.copied if path.rstrip("*").endswith("/etc/istripe/")]
