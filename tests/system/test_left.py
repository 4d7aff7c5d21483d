# SPDX-License-Identifier: GPL-2.0
"""A volume went down with writes that a path has left, and that path does not come back: the
administrator says that its target is dead, and the volume comes up over the other one.
"""

import errno
import os

import pytest

from lab.disk import Direct, noise, same
from lab.ghost import FAST, KIB, Write, release, state
from lab.istripe import EnableError
from lab.istripectl import TOOL
from lab.pages import TOP
from lab.shell import read, status, wait_for, write
from scripted.ghost import hold
from scripted.scenario import Scenario

AGENT = TOP / "packaging/ocf/istripe"
NOT_RUNNING = 7
CHUNK = 64 * KIB
NEWER = noise(4 * KIB, 2)


@pytest.fixture
def legs(make_server, make_volume, links):
    """A volume of two legs, each with a path over each link to a target that holds a write: (volume,
    the servers).
    """
    servers = [make_server() for _ in range(2)]
    for index, server in enumerate(servers):
        server.load(Scenario("ghost", hooks={"on_command": hold}), identity=f"6001405{index:025x}")
    paths = [[{**FAST, "portal": f"{link.address}:{server.port}", "nic": link.nic, "lun": 0,
               "target_name": server.target.iqn} for link in links[:2]] for server in servers]
    volume = make_volume(servers[0].target, path=paths[0][0], more_legs=[paths[1][0]],
                         chunk_bytes=CHUNK, recovery_timeout_ms=-1)
    for number, (_first, second) in enumerate(paths):
        leg = volume.config / "legs" / str(number)
        volume.add_path(1, second, leg=number)
        write(leg / "policy", "failover")
        write(leg / "fence", "path")
        write(leg / "ghost_timeout_ms", -1)
    yield volume, servers
    links[0].set_up(True)


def leave_writes(volume, servers, link):
    """One to each leg, over its first path; then the link goes down, and then the volume."""
    with Direct(volume.enable()) as disk:
        wait_for("all paths", lambda: state(volume) == "live", 60)
        writers = []
        for number, server in enumerate(servers):
            server.arm()
            writers.append(Write(disk, number * CHUNK, noise(4 * KIB, 1)))
            wait_for("the write that is held",
                     lambda server=server: "event" in server.target.run.memory)
        link.set_up(False)
        wait_for("the loss to be noticed", lambda: state(volume) == "degraded", 60)
        volume.force_down()
        for writer in writers:
            writer.join(60)


def refused(file, value):
    with pytest.raises(OSError) as failed:
        write(file, value)
    return failed.value.errno


def confirm(volume, leg):
    return status(TOOL, "path", "confirm", "--yes", volume.name, leg, "0")


@pytest.mark.allow_log("error(,| on) dev istripe|may still carry out", "the writes may fail")
def test_a_target_that_does_not_come_back(legs, links, kernel_log):
    volume, servers = legs
    leave_writes(volume, servers, links[0])
    first, second = (volume.config / "legs" / str(leg) / "unfenced" for leg in range(2))
    assert [read(first), read(second)] == ["0", "0"]
    with pytest.raises(EnableError, match="leg [01] path 0 has left writes .* see unfenced"):
        volume.enable()
    for value in ("", "-1", "16", "x", "0 1"):
        assert refused(first, value) == errno.EINVAL
    assert refused(first, 1) == errno.ENOENT
    assert kernel_log.matching(f"{volume.name}/0: unfenced: is refused, path 1 has left no writes")
    assert [read(first), read(second)] == ["0", "0"]

    assert confirm(volume, "0") == (0, "")
    said = f"{volume.name}/0/0: the administrator says .* the volume may come up without it"
    assert len(kernel_log.matching(said)) == 1
    # The writes of the other leg are those of another target.
    assert [read(first), read(second)] == ["", "0"]
    with pytest.raises(EnableError, match="leg 1 path 0 has left writes"):
        volume.enable()
    code, out = confirm(volume, "0")
    assert code == 1 and "leg 0 path 0 has left no writes" in out
    assert confirm(volume, "1") == (0, "")

    with Direct(volume.enable()) as disk:
        assert refused(first, 0) == errno.EBUSY
        assert kernel_log.matching("unfenced: is refused, the volume is not down")
        for number in range(2):
            disk.write(number * CHUNK, NEWER)
        links[0].set_up(True)
        wait_for("all paths", lambda: state(volume) == "live", 60)
        # It was not true; but the next login through the path has ended them.
        for number, server in enumerate(servers):
            release(server, server.target)
            assert "carried out" not in server.target.run.memory
            same(disk.read(number * CHUNK, 4 * KIB), NEWER, "the data on the disk")
    volume.disable()
    volume.enable()


def agent(volume, action, wait_s=60):
    """What Pacemaker runs."""
    return status("env", f"PATH={TOOL.parent}:{os.environ['PATH']}", f"OCF_RESKEY_name={volume.name}",
                  f"OCF_RESKEY_wait={wait_s}", AGENT, action)


@pytest.mark.allow_log("error(,| on) dev istripe|may still carry out", "the writes may fail")
def test_no_other_host_before_the_path_is_back(legs, links):
    """The resource agent's stop fails until then, and so does a probe: Pacemaker starts it nowhere."""
    volume, servers = legs
    leave_writes(volume, servers, links[0])
    for _ in range(2):
        code, said = agent(volume, "stop", 1)
        assert code == 1 and "no other host may write to this LUN" in said
        assert "ocf-exit-reason:" in said
        assert agent(volume, "monitor")[0] == 1
    links[0].set_up(True)
    assert agent(volume, "stop")[0] == 0
    assert agent(volume, "monitor")[0] == NOT_RUNNING
    # As the other host does.
    with Direct(volume.enable()) as disk:
        for number, server in enumerate(servers):
            disk.write(number * CHUNK, NEWER)
            release(server, server.target)
            assert "carried out" not in server.target.run.memory
            same(disk.read(number * CHUNK, 4 * KIB), NEWER, "the data on the disk")
        assert agent(volume, "monitor")[0] == 0
        code, said = agent(volume, "stop")
        assert code == 1 and "is up still" in said
    assert agent(volume, "stop")[0] == 0
    assert agent(volume, "stop")[0] == 0
