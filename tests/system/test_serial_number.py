# SPDX-License-Identifier: GPL-2.0
"""LUNs without VPD 83h are known by their serial number (VPD 80h), which may not be theirs alone."""

import pytest

from lab.disk import Direct, noise, same
from lab.ghost import CALM, KIB, state, volume_over
from lab.istripe import EnableError
from lab.istripectl import TOOL
from lab.shell import read, status, wait_for, write
from scripted.scenario import Scenario

NUMBER = "serial.ISTRIPE.SCRIPTED TARGET."


@pytest.fixture
def nameless(server):
    """A scripted target whose LUN has a serial number only."""
    return server, server.load(Scenario("nameless", disk={"without": (0x83,)}))


def serves(volume):
    device = volume.enable()
    with Direct(device) as disk:
        disk.write(0, noise(4 * KIB, 1))
        same(disk.read(0, 4 * KIB), noise(4 * KIB, 1), "the data on the disk")
        assert read(volume.leg_sysfs(0) / "designator").startswith(NUMBER)
    return device


def test_one_path(nameless, make_volume, links):
    server, target = nameless
    volume = volume_over(make_volume, links[:1], [server.port], target, path=CALM)
    serves(volume)
    volume.disable()


def test_several_paths_only_when_somebody_vouches_for_the_number(nameless, make_volume, links):
    server, target = nameless
    volume = volume_over(make_volume, links, [server.port] * 2, target, path=CALM)
    with pytest.raises(EnableError, match=f"write {NUMBER}[0-9a-f]* to designator of leg 0"):
        volume.enable()
    number = target.disk.naa.hex()
    write(volume.leg / "designator", f"{NUMBER}{number[:-1]}{'0' if number[-1] != '0' else '1'}")
    with pytest.raises(EnableError, match="answers here: path not used"):
        volume.enable()
    write(volume.leg / "designator", f"{NUMBER}{number}")
    serves(volume)
    wait_for("both paths", lambda: state(volume) == "live", 60)
    volume.disable()


def test_no_second_path_while_nobody_does(nameless, make_volume, links):
    server, target = nameless
    volume = volume_over(make_volume, links[:1], [server.port], target, path=CALM)
    device = serves(volume)
    code, said = status(TOOL, "path", "add", volume.name, "0",
                        f"target={target.settings.name},portal={links[1].address}:{server.port}")
    assert code and "no VPD 83h: for several paths" in said
    with Direct(device) as disk:
        same(disk.read(0, 4 * KIB), noise(4 * KIB, 1), "the data on the disk")
    volume.disable()
