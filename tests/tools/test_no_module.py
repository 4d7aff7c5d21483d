# SPDX-License-Identifier: GPL-2.0
"""The running kernel has no module: what all commands say, and what doctor checks all the same."""

import json
import os
import shutil

import pytest
from conftest import FOUND
from host import Host

RELEASE = os.uname().release
DEP = f"lib/modules/{RELEASE}/modules.dep"
DKMS = "usr/src/istripe-0.1.0/dkms.conf"
BUILD = f"dkms autoinstall -k {RELEASE}"
LACKS = f"istripectl: the module is not loaded: Linux {RELEASE} has no module istripe\n"


def boot(tool):
    """Configfs has no directory of istripe, and none of any other module."""
    shutil.rmtree(tool.tree)
    tool.put(DEP, "kernel/a.ko: kernel/b.ko")
    tool.put(DKMS, "MAKE[0]=make")
    return tool


@pytest.fixture
def booted(tool):
    return boot(tool)


def other_subsystem(booted):
    booted.put("sys/kernel/config/nullb/features", "x")


@pytest.mark.parametrize("other", [False, True])
@pytest.mark.parametrize("words", [["list"], ["up", "db"], ["doctor"]])
def test_a_kernel_for_which_it_was_not_built(booted, words, other):
    if other:
        other_subsystem(booted)
    _, err = booted.run(*words, code=1)
    assert LACKS in err and f"            next: {BUILD} && modprobe istripe\n" in err


@pytest.mark.parametrize("other", [False, True])
def test_a_kernel_for_which_it_is_not_built(booted, other):
    if other:
        other_subsystem(booted)
    booted.put(DKMS, 'BUILD_EXCLUSIVE_KERNEL="^0$"')
    _, err = booted.run("list", code=1)
    assert err == (f"istripectl: the module is not loaded: istripe does not support Linux {RELEASE}\n"
                   "            next: boot a kernel that BUILD_EXCLUSIVE_KERNEL allows: "
                   f"grep BUILD_EXCLUSIVE_KERNEL {booted.root / DKMS}\n")


def test_a_module_that_is_there(booted):
    """Then the command to build it is for when it cannot be loaded."""
    booted.put(DEP, "updates/dkms/istripe.ko.xz: kernel/a.ko")
    _, err = booted.run("list", code=1)
    assert "next: modprobe istripe; mount -t configfs" in err
    assert "when modprobe fails: dkms status -m istripe\n" in err
    other_subsystem(booted)
    _, err = booted.run("list", code=1)
    assert err == ("istripectl: the module is not loaded\n"
                   "            next: modprobe istripe; when modprobe fails: dkms status -m istripe\n")


# What doctor checks: the host, and what files say

@pytest.fixture
def rebooted(tool):
    """A good host, but for its new kernel."""
    host = Host(tool)
    shutil.rmtree(tool.root / host.disk)
    boot(tool)
    host.tool.put(f"boot/vmlinuz-{RELEASE}", "")
    return host


def told(tool, *words):
    """The findings, and the errors."""
    out, err = tool.run("doctor", "--json", *words, code=1)
    found = json.loads(out)["findings"]
    FOUND.update(str(value) for finding in found for value in finding.values())
    return {finding["check"]: finding for finding in found}, err


def test_doctor_names_the_kernel(rebooted):
    found, err = told(rebooted.tool)
    assert LACKS in err
    unit = found["unit"]
    assert (unit["volume"], unit["result"], unit["measured"], unit["next"]) == (
        "db", "warn", f"Linux {RELEASE} has no module istripe", BUILD)
    state = found["state"]
    assert (state["volume"], state["measured"], state["next"]) == (
        "db", "not configured", f"{BUILD} && modprobe istripe")
    assert {check for check, finding in found.items() if finding["result"] == "warn"} == {"state", "unit"}


def test_doctor_checks_files_and_the_host(rebooted):
    (rebooted.tool.root / "etc/istripe/db.secret").chmod(0o644)
    rebooted.tool.put("etc/fstab", "/dev/istripe/db /srv xfs defaults 0 0")
    rebooted.tool.put("fake/clock", "64")
    found, _ = told(rebooted.tool)
    assert {check for check, finding in found.items() if finding["result"] == "warn"} == {
        "state", "unit", "secret-modes", "fstab", "clock"}
    assert found["crypttab"]["result"] == "pass"


def test_doctor_of_one_that_is_named(rebooted):
    """Of two with a file, and of one without."""
    rebooted.tool.put("etc/istripe/log.conf", "[leg 0]\ntarget = iqn.2026-01.a:t9\nportal = 192.0.9.9")
    for words, names in (((), {"db", "log", None}), (("db",), {"db", None}), (("no",), {None})):
        out, _ = rebooted.tool.run("doctor", "--json", *words, code=1)
        assert {finding["volume"] for finding in json.loads(out)["findings"]} == names


def test_doctor_of_a_host_without_volumes(booted):
    """All is well but for the module, which the exit code says, too."""
    booted.put("fake/clock", "0")
    found, err = told(booted)
    assert LACKS in err and {finding["result"] for finding in found.values()} == {"pass", "skip"}
    out, _ = booted.run("doctor", code=1)
    assert " passed, 0 warnings, " in out
