# SPDX-License-Identifier: GPL-2.0
"""Commands that change paths of a volume, and what meets them."""

import threading

import pytest

from lab.disk import Direct, noise
from lab.ghost import FAST, KIB, held_write, killed, release, volume_over
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
