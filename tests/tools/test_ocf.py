# SPDX-License-Identifier: GPL-2.0
"""The resource agent for Pacemaker: what it runs, and what its exit codes tell of a volume."""

import os
import subprocess
from xml.etree import ElementTree

import pytest
from conftest import TOP

AGENT = TOP / "packaging/ocf/istripe"
SUCCESS, ERR_GENERIC, ERR_ARGS, ERR_UNIMPLEMENTED, ERR_CONFIGURED, NOT_RUNNING = 0, 1, 2, 3, 6, 7
#: A volume that is up loses its disk and its writes, or keeps its disk; up ends what was left.
TOOL = """
echo "$*" >>ROOT/called
volume=ROOT/config/db
case $1 in
up)
	[ "$FAKE_UP" = 0 ] || exit "$FAKE_UP"
	echo | tee $volume/legs/0/unfenced >$volume/legs/1/unfenced
	echo 1 >$volume/enable ;;
down)
	if [ "$(cat $volume/enable)" = 1 ]; then
		[ "$FAKE_DOWN" != used ] || exit 1
		echo 0 >$volume/enable
		[ "$FAKE_DOWN" != lost ] || exit 1
	fi
	[ "$FAKE_DOWN" != activating ] || exit 1
	! grep -q . $volume/legs/*/unfenced ;;
esac"""


class Agent:
    """The agent, with folders and programs of the test's own."""

    def __init__(self, root):
        self.root, self.volume = root, root / "config/db"
        self.script = root / "agent"
        text = AGENT.read_text(encoding="ascii")
        for old, new in (("/sys/kernel/config/istripe", f"{root}/config"),
                         ("/sys/module", f"{root}/module"), ("/sys/block", f"{root}/block"), ("/etc/istripe", f"{root}/etc")):
            assert old in text
            text = text.replace(old, new)
        self.script.write_text(text)
        (root / "bin").mkdir()
        self.program("istripectl", TOOL.replace("ROOT", str(root)))
        self.program("udevadm", f'echo "udevadm $*" >>{root}/called')
        (root / "etc").mkdir()
        (root / "etc/db.conf").touch()

    def module(self, state):
        (self.root / "module/istripe").mkdir(parents=True, exist_ok=True)
        (self.root / "module/istripe/initstate").write_text(f"{state}\n")

    def hide(self):
        """Configfs is not mounted, and a second's wait is over at once."""
        (self.root / "config").rename(self.root / "unmounted")
        self.program("sleep", f"echo sleep >>{self.root}/waits")

    def program(self, name, line):
        (self.root / "bin" / name).write_text(f"#!/bin/sh\n{line}\n")
        (self.root / "bin" / name).chmod(0o755)

    def put(self, enable="0", state="live", unfenced="", error="leg 0 path 0: nobody"):
        self.module("live")
        (self.volume / "legs/0").mkdir(parents=True, exist_ok=True)
        (self.volume / "legs/1").mkdir(exist_ok=True)
        for file, text in (("enable", enable), ("device", "istripe0" if enable == "1" else ""),
                           ("last_error", error), ("legs/0/unfenced", ""),
                           ("legs/1/unfenced", unfenced)):
            (self.volume / file).write_text(f"{text}\n")
        disk = self.root / "block/istripe0/istripe"
        disk.mkdir(parents=True, exist_ok=True)
        (disk / "state").write_text(f"{state}\n")

    def run(self, action, **env):
        """(exit code, errors, what it has run)."""
        (self.root / "called").write_text("")
        done = subprocess.run(
            ["sh", self.script, action], capture_output=True, text=True, check=False,
            env={"PATH": f"{self.root}/bin:{os.environ['PATH']}", "OCF_RESKEY_name": "db",
                 "FAKE_UP": "0", **env})
        assert not done.stdout or action == "meta-data"
        return done.returncode, done.stderr, (self.root / "called").read_text().splitlines()


@pytest.fixture
def agent(tmp_path):
    return Agent(tmp_path)


def test_it_is_installed(built, tmp_path):
    subprocess.run(["make", "-C", TOP / "tools/istripectl", f"O={built}", f"DESTDIR={tmp_path}",
                    "install"], capture_output=True, check=True)
    file = tmp_path / "usr/lib/ocf/resource.d/istripe/istripe"
    assert file.read_text() == AGENT.read_text() and os.access(file, os.X_OK)


def test_meta_data():
    """Without Pacemaker's variables, as anybody."""
    out = subprocess.run(["sh", AGENT, "meta-data"], env={"PATH": os.environ["PATH"]},
                         stdout=subprocess.PIPE, check=True).stdout
    tree = ElementTree.fromstring(out)
    assert tree.tag == "resource-agent" and tree.get("name") == "istripe"
    assert [(one.get("name"), one.get("required")) for one in tree.iter("parameter")] == [
        ("name", "1"), ("wait", None)]
    actions = {one.get("name"): one for one in tree.iter("action")}
    assert set(actions) == {"start", "stop", "monitor", "validate-all", "meta-data"}
    # As long as down, and an attempt to end what was left behind it, may take.
    assert int(actions["stop"].get("timeout").removesuffix("s")) >= 120 + 30 + 60
    assert actions["monitor"].get("interval") == "10s"


@pytest.mark.parametrize("more, code", [
    ({}, SUCCESS), ({"OCF_RESKEY_name": ""}, ERR_CONFIGURED),
    ({"OCF_RESKEY_name": "../db"}, ERR_CONFIGURED), ({"OCF_RESKEY_name": "log"}, ERR_ARGS),
])
def test_validate_all(agent, more, code):
    assert agent.run("validate-all", **more)[0] == code


def test_other_actions(agent):
    assert agent.run("promote")[0] == ERR_UNIMPLEMENTED


@pytest.mark.parametrize("up, code", [
    ("0", SUCCESS), ("1", ERR_GENERIC), ("130", ERR_GENERIC),
    # What only the administrator mends, on this host: another one may have it right.
    ("78", ERR_ARGS), ("2", ERR_ARGS),
])
def test_start(agent, up, code):
    """The link to the disk is there when the next resource wants it."""
    agent.put()
    got, said, called = agent.run("start", FAKE_UP=up)
    assert got == code
    assert called == ["up --saved --wait 60 db",
                      *(["udevadm settle --timeout=10 --exit-if-exists=/dev/istripe/db"]
                        if not code else [])]
    if code:
        assert "ocf-exit-reason:volume db does not come up: leg 0 path 0: nobody" in said


@pytest.mark.parametrize("up", ["1", "78", "2"])
def test_start_that_the_module_knows_nothing_of(agent, up):
    agent.put(error="")
    said = agent.run("start", FAKE_UP=up)[1]
    assert "ocf-exit-reason:volume db does not come up: the journal of this host says why" in said


def test_start_waits_as_long_as_it_is_told(agent):
    agent.put()
    assert agent.run("start", OCF_RESKEY_wait="5min")[2][0] == "up --saved --wait 5min db"


@pytest.mark.parametrize("state, code", [
    ("live", SUCCESS), ("degraded", SUCCESS),
    # I/O waits, for recovery_timeout_ms: no reason for another host to take over yet.
    ("waiting", SUCCESS), ("failed", ERR_GENERIC), ("", ERR_GENERIC),
])
def test_monitor_of_a_volume_that_is_up(agent, state, code):
    agent.put(enable="1", state=state)
    got, said, called = agent.run("monitor")
    assert (got, called) == (code, [])
    assert ("ocf-exit-reason:" in said) == bool(code)


def test_monitor_of_a_volume_that_is_down(agent):
    """One that has left writes is not cleanly stopped: a probe, as after a clean-up, says so."""
    assert agent.run("monitor")[::2] == (NOT_RUNNING, [])
    agent.put()
    assert agent.run("monitor")[:2] == (NOT_RUNNING, "")
    agent.put(unfenced="0 2")
    code, said, called = agent.run("monitor")
    assert (code, called) == (ERR_GENERIC, [])
    assert "ocf-exit-reason:volume db is down, but its target may still carry out" in said


@pytest.mark.parametrize("down, code, called", [
    ("", SUCCESS, ["down db"]),
    ("used", ERR_GENERIC, ["down db"]),
    # What has not reached the LUN, nothing will write any more.
    ("lost", SUCCESS, ["down db", "down db"]),
])
def test_stop_of_a_volume_that_is_up(agent, down, code, called):
    agent.put(enable="1")
    got, said, ran = agent.run("stop", FAKE_DOWN=down)
    assert (got, ran) == (code, called)
    assert ("ocf-exit-reason:volume db is up still" in said) == bool(code)
    assert agent.run("monitor")[0] == (SUCCESS if code else NOT_RUNNING)


def test_stop_of_what_is_not_there(agent):
    assert agent.run("stop") == (SUCCESS, "", [])
    agent.put()
    assert agent.run("stop", OCF_RESKEY_name="log") == (SUCCESS, "", [])


def test_stop_without_a_name(agent):
    """No start has brought it up, so its host is not fenced for it."""
    assert agent.run("stop", OCF_RESKEY_name="") == (SUCCESS, "", [])
    agent.put(enable="1")
    assert agent.run("stop", OCF_RESKEY_name="") == (SUCCESS, "", [])
    agent.hide()
    assert agent.run("stop", OCF_RESKEY_name="") == (SUCCESS, "", [])


@pytest.mark.parametrize("action", ["stop", "monitor"])
def test_no_configfs(agent, action):
    """A volume that is up is not seen, and is not said to be down."""
    agent.put(enable="1")
    agent.hide()
    code, said, called = agent.run(action)
    assert (code, called) == (ERR_GENERIC, [])
    assert said == "ocf-exit-reason:volume db cannot be seen: configfs is not mounted\n"


@pytest.mark.parametrize("state", ["coming", "going"])
@pytest.mark.parametrize("action, down", [("stop", SUCCESS), ("monitor", NOT_RUNNING)])
def test_the_module_is_not_loaded_yet(agent, action, down, state):
    """Nothing can be up: a probe at boot is no error, for which the host would be fenced."""
    agent.module(state)
    assert agent.run(action) == (down, "", [])


@pytest.mark.parametrize("enable, code", [("0", NOT_RUNNING), ("1", SUCCESS)])
def test_configfs_is_mounted_after_the_module_is_loaded(agent, enable, code):
    """By systemd: a probe waits for it, and tells then what there is."""
    agent.put(enable=enable)
    agent.hide()
    agent.program("sleep", f"[ -e {agent.root}/waits ] && mv {agent.root}/unmounted {agent.root}/config; "
                  f"echo $1 >>{agent.root}/waits")
    assert agent.run("monitor")[:2] == (code, "")
    assert (agent.root / "waits").read_text() == "1\n1\n"


def test_stop_ends_what_was_left(agent):
    """A failover waits for the path as long as it may; until the path is back each stop is an error."""
    agent.put(unfenced="1")
    tried = ["down db", "down db", "up --wait 60 db"]
    for _ in range(2):
        code, said, called = agent.run("stop", FAKE_UP="1")
        assert (code, called) == (ERR_GENERIC, tried)
        assert "ocf-exit-reason:volume db is down, but its target may still carry out" in said
    assert agent.run("stop") == (SUCCESS, "", [*tried, "down db"])
    assert agent.run("monitor")[0] == NOT_RUNNING


def test_stop_beside_the_unit(agent):
    """It is just bringing the volume up, and does so again: no other host may have it."""
    agent.put()
    code, said, called = agent.run("stop", FAKE_DOWN="activating")
    assert (code, called) == (ERR_GENERIC, ["down db", "down db"])
    assert "ocf-exit-reason:volume db does not go down: leg 0 path 0: nobody" in said


def test_stop_that_brings_the_volume_up_only(agent):
    """The unit has begun meanwhile: the volume is not said to be down."""
    agent.put(unfenced="1")
    code, said, called = agent.run("stop", FAKE_DOWN="used")
    assert (code, called) == (ERR_GENERIC, ["down db", "down db", "up --wait 60 db", "down db"])
    assert "ocf-exit-reason:volume db is up still: leg 0 path 0: nobody" in said
