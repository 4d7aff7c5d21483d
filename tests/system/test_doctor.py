# SPDX-License-Identifier: GPL-2.0
"""istripectl doctor on the real module: what is as it should be passes, and each fault is found."""

import json
import subprocess

import pytest

from lab import istripe, network
from lab.istripectl import INITIATOR, TOOL, leg
from lab.shell import read, run, wait_for

#: What makes writes wait, as Linux's own target has it unless somebody changes it.
SLOW = {"InitialR2T": "Yes", "MaxOutstandingR2T": 1}
#: What does not depend on the machine that the tests run on.
GOOD = {"state", "path-state", "single-path", "fence", "timers", "recovery-timeout", "digests",
        "route", "portal", "path-mtu", "mtu-equal", "speed-equal", "shared-nic", "link", "duplex",
        "session-twice", "second-host", "open-iscsi-session", "open-iscsi-record", "max-sectors"}


@pytest.fixture
def two_paths(tool, make_lio, links):
    """A volume of one leg over two links, proven to lead to one target; its disk's name."""
    target = make_lio(all_links=True, params=SLOW)
    tool("create", "db", *INITIATOR, *leg(target, links[0], more=",ping_interval=500ms,ping_timeout=10s"),
         "--path", f"portal={links[1].portal()},nic={links[1].nic},ping_timeout=10s")
    volume = istripe.Volume("db")
    wait_for("the proof", lambda: all(volume.fenced_through(path) for path in range(2)), 60)
    return volume.device()


def doctor():
    """{check: [finding, ...]}; the exit code says whether any of them warns."""
    done = subprocess.run([TOOL, "doctor", "--json", "db"], capture_output=True, text=True,
                          timeout=120, check=False)
    assert done.stderr == ""
    found = {}
    for finding in json.loads(done.stdout)["findings"]:
        found.setdefault(finding["check"], []).append(finding)
    warned = any(finding["result"] == "warn" for all_ in found.values() for finding in all_)
    assert done.returncode == int(warned)
    return found


def results(found, check):
    return {finding["result"] for finding in found[check]}


def test_good_volume(two_paths):
    found = doctor()
    assert {check: found[check] for check in GOOD if results(found, check) != {"pass"}} == {}
    # The sockets of the kernel are found among TCP's.
    for check in ("tcp-buffers", "congestion"):
        assert "skip" not in results(found, check), found[check]
    assert "no such connection" not in str(found["tcp-loss"])


def test_what_the_target_grants(two_paths):
    found = doctor()["negotiated"]
    for key, value in SLOW.items():
        warned = [finding for finding in found if finding["measured"] == f"{key}={value}"]
        assert len(warned) == 2 and all(f"set parameter {key}=" in finding["next"]
                                        for finding in warned)


def test_the_command_mends_it(two_paths):
    scheduler = f"/sys/block/{two_paths}/queue/scheduler"
    run("sh", "-c", f"echo mq-deadline > {scheduler}")
    assert "[mq-deadline]" in read(scheduler)
    warned, = doctor()["scheduler"]
    assert warned["measured"] == "mq-deadline" and warned["wanted"] == "none"
    run("sh", "-c", warned["next"])
    assert results(doctor(), "scheduler") == {"pass"}


def test_link_that_is_down(two_paths, links):
    state = istripe.Volume("db").path_sysfs(path=1) / "state"
    with network.down(links[1]):
        wait_for("a lost path", lambda: read(state) != "live" and
                 read(istripe.Volume("db").sysfs() / "state") == "degraded")
        found = doctor()
        assert [finding["subject"] for finding in found["link"]
                if finding["result"] == "warn"] == [links[1].nic]
        warned, = [finding for finding in found["path-state"] if finding["result"] == "warn"]
        assert warned["subject"] == "leg 0 path 1" and warned["why"]
        assert found["state"][0]["measured"] == "degraded"
    wait_for("the path again", lambda: read(state) == "live", 60)


def test_mtu_that_the_target_does_not_have(two_paths, links):
    """Its end of the link drops what is larger, and says nothing."""
    run("ip", "link", "set", links[1].nic, "mtu", "4000")
    try:
        found = doctor()
        warned, = [finding for finding in found["path-mtu"] if finding["result"] == "warn"]
        assert warned["subject"] == "leg 0 path 1"
        assert warned["measured"] == 1500 and warned["wanted"] == 4000
        assert results(found, "mtu-equal") == {"warn"}
    finally:
        run("ip", "link", "set", links[1].nic, "mtu", "1500")
    assert results(doctor(), "path-mtu") == {"pass"}
