# SPDX-License-Identifier: GPL-2.0
"""istripectl doctor: the commands that it proposes, and where it proposes none."""

import pytest
from faults import findings
from host import Host
from texts import shell_words


@pytest.fixture
def host(tool):
    return Host(tool)


def warned(host, check):
    return [finding for finding in findings(host.tool, 1, "warn") if finding["check"] == check]


def test_a_file_is_edited_with_the_editor_of_the_user(host):
    host.put("etc/multipath/conf.d/a b.conf", 'blacklist_exceptions {\n  devnode ".*"\n}')
    found, = warned(host, "multipath")
    assert found["next"].startswith("${EDITOR:-vi} ")
    assert shell_words(found["next"].split(" && ")[0].removeprefix("${EDITOR:-vi} ")) == [
        "/etc/multipath/conf.d/a b.conf"]


@pytest.mark.parametrize("package, installer", [("rpm", "dnf"), ("dpkg", "apt")])
def test_irqbalance_runs_once_it_is_there(host, package, installer):
    """Only packages of Debian start what they bring, and only when they are new."""
    host.put(f"usr/bin/{package}", "")
    host.put("proc/irq/31/effective_affinity_list", "0")
    install = f"{installer} install irqbalance"
    assert warned(host, "interrupts")[0]["next"] == f"{install} && systemctl enable --now irqbalance"
    host.put("proc/88/comm", "irqbalance")
    assert warned(host, "interrupts")[0]["next"] == install
