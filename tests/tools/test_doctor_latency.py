# SPDX-License-Identifier: GPL-2.0
"""istripectl doctor: how long commands take."""

import pytest
from faults import both, findings, path_file, slow_commands
from host import Host


@pytest.fixture
def host(tool):
    return Host(tool)


@pytest.mark.parametrize("plant", [
    # Three times, but not a millisecond longer; a millisecond, but not three times; too few.
    slow_commands("0/paths/0", "read", {1.3: 100000}),
    both(*(slow_commands(f"0/paths/{path}", "read", {ms: 5000}) for path, ms in ((0, 10), (1, 29)))),
    slow_commands("0/paths/0", "read", {50: 999}),
    # What waited for a lost path, on the one that answered.
    slow_commands("0/paths/0", "write", {0.3: 5000, 5000: 300}),
    slow_commands("1", "write", {0.3: 5000, 60000: 300}),
    # Flushes take their time, and an array says itself which of its ports are slow.
    slow_commands("0/paths/0", "other", {500: 5000}),
    both(slow_commands("0/paths/0", "read", {9: 5000}),
         path_file("access_state", "active/non-optimized")),
    # The fastest one is not among those that are compared.
    both(slow_commands("0/paths/0", "read", {0.01: 999}), slow_commands("0/paths/1", "read", {9: 5000})),
])
def test_commands_that_are_not_slow(host, plant):
    plant(host)
    assert not findings(host.tool, 0, "warn")


def test_since_when(host):
    """A path that has become slow may pass for long."""
    why = {finding["check"]: finding["why"] for finding in findings(host.tool)}
    assert all("since they have come; istripectl top has those of now" in why[check]
               for check in ("slow-path", "slow-leg"))


def skipped(host):
    return {(finding["check"], finding["subject"]): finding["why"] for finding in findings(host.tool)
            if finding["result"] == "skip" and finding["check"].startswith("slow-")}


def test_too_few_commands(host):
    for place in ("0", "0/paths/0", "1/paths/1"):
        for kind in ("read", "write"):
            slow_commands(place, kind, {50: 999})(host)
    paths = "no two paths have 1000 reads or writes each"
    assert skipped(host) == {
        ("slow-path", "leg 0"): paths, ("slow-path", "leg 1"): paths,
        ("slow-leg", None): "no two legs have 1000 reads or writes each",
    }


def test_module_that_does_not_count(host):
    for name in (host.tool.root / host.disk).rglob("latency_*"):
        name.unlink()
    why = "the time of commands cannot be read"
    assert skipped(host) == {("slow-path", "leg 0"): why, ("slow-path", "leg 1"): why,
                             ("slow-leg", None): why}


def test_nothing_to_compare(tool):
    host = Host(tool, legs=1, paths=1)
    why = {finding["check"]: finding["why"] for finding in findings(tool, 1)}
    assert why["slow-path"] == "each leg has one path" and why["slow-leg"] == "there is one leg"
    assert host.legs == 1
