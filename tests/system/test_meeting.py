# SPDX-License-Identifier: GPL-2.0
"""Commands that change paths of a volume, and what meets them."""

import subprocess
import threading
from pathlib import Path

import pytest

from lab.disk import Direct, noise
from lab.ghost import FAST, KIB, PATIENT, held_write, killed, release, volume_over
from lab.shell import read, wait_for, write
from scripted.ghost import hold
from scripted.scenario import Scenario

#: A target that wants no login for so long: longer than a removal takes at most.
TIME2WAIT_S = 60


class Writer(threading.Thread):
    """A value that is written to a file of the volume, which may take long."""

    def __init__(self, file, value):
        super().__init__(daemon=True)
        self.file, self.value, self.error = file, value, None
        self.start()

    def run(self):
        try:
            write(self.file, self.value)
        except OSError as err:
            self.error = err

    def finish(self, timeout_s):
        self.join(timeout_s)
        assert not self.is_alive(), f"{self.file} takes too long"
        assert self.error is None


@pytest.mark.parametrize("how", ["confirmed", "timeout"])
def test_a_path_goes_when_its_writes_are_confirmed(make_server, make_volume, links, how):
    """It waits for the end of its lost session, and until then for its next login."""
    servers = [make_server() for _ in links]
    # No path can end a session of the other one.
    other = Scenario("another group", settings={"tpgt": 2})
    targets = [server.load(scenario) for server, scenario in
               zip(servers, [Scenario("ghost", hooks={"on_command": hold}), other])]
    targets[1].disk = targets[0].disk
    volume = volume_over(make_volume, links, [server.port for server in servers], targets[0],
                         fence="auto", path={**FAST, "default_time2wait": TIME2WAIT_S})
    with Direct(volume.enable()) as disk:
        lost = volume.path_sysfs(0, 0)
        wait_for("the search for a fence to end", lambda: read(lost / "unproven"), 60)
        servers[0].arm()
        writer = held_write(disk, targets[0], noise(4 * KIB, 1))
        killed(links[0], servers[0].port)
        writer.finish()
        assert read(lost / "ghost_writes") == "1"
        removal = Writer(volume.path / "enable", 0)
        removal.join(2)
        assert removal.is_alive(), "the path did not wait for its write"
        if how == "confirmed":
            write(lost / "fence_confirm", 1)
        else:
            write(volume.leg / "fence_timeout_ms", 0)
        removal.finish(15)
    volume.disable()
    release(servers[0], targets[0])


def is_waiting(process):
    """In the module, where only a fatal signal ends it, if at all."""
    folder = Path(f"/proc/{process.pid}")
    return (read(folder / "stat").rsplit(")", 1)[1].split()[0] == "D" and
            "[istripe]" in read(folder / "stack"))


@pytest.mark.parametrize("second", ["reconnect", "remove"])
def test_one_that_waits_for_another_command_is_killed(server, make_volume, links, second):
    """The first one waits for a write to which the target says nothing."""
    target = server.load(Scenario("ghost", hooks={"on_command": hold}))
    volume = volume_over(make_volume, links, [server.port] * 2, target, path=PATIENT,
                         policy="failover", command_timeout_ms=60000)
    with Direct(volume.enable()) as disk:
        server.arm()
        writer = held_write(disk, target, noise(4 * KIB, 1))
        first = Writer(volume.path_sysfs(0, 0) / "reconnect", 1)
        first.join(2)
        assert first.is_alive()
        line = {"reconnect": f"echo 1 >{volume.path_sysfs(0, 1)}/reconnect",
                "remove": f"echo 0 >{volume.leg}/paths/1/enable"}[second]
        with subprocess.Popen(["sh", "-c", line]) as other:
            try:
                wait_for("the second one", lambda: is_waiting(other))
                other.kill()
                wait_for("its end", lambda: other.poll() is not None)
            finally:
                release(server, target)
        writer.finish()
        first.finish(60)
        wait_for("both paths", lambda: read(volume.sysfs() / "state") == "live", 60)
    volume.disable()
