# SPDX-License-Identifier: GPL-2.0
"""create --discover: from nothing to a volume over two NICs, of what the targets and links say."""

import re
from pathlib import Path

from lab import istripe, network
from lab.istripectl import INITIATOR
from lab.shell import read, run, wait_for

MIB = 1 << 20


def words(links, *more):
    return ["create", "db", *INITIATOR, "--discover", links[0].portal(), "--nics",
            ",".join(link.nic for link in links[:2]), *more]


def path(leg, number):
    directory = istripe.CONFIG / f"db/legs/{leg}/paths/{number}"
    return {name: read(directory / name) for name in ("target_name", "portal", "nic", "lun")}


def test_from_nothing(tool, make_lio, links, stock, conf):
    """Two targets with two portals each, IPv6 as well: two legs, each over both links."""
    targets = sorted((make_lio(16 * MIB, all_links=True) for _ in range(2)),
                     key=lambda target: int(re.search(r"\d+$", target.iqn).group()))
    assert stock.daemon
    script = tool(*words(links, "--dry-run"))
    assert script.startswith("mkdir ") and istripe.volumes() == []
    assert "there is no terminal to ask at" in tool(*words(links, "--save"), code=1)
    assert istripe.volumes() == []
    out = tool(*words(links, "--yes", "--no-boot"))
    line = r"^db: (/dev/istripe\d+) \(link: /dev/istripe/db\)$"
    device = Path(re.search(line, out, re.MULTILINE).group(1))
    for leg, target in enumerate(targets):
        paths = [path(leg, number) for number in range(4)]
        assert not (istripe.CONFIG / f"db/legs/{leg}/paths/4").exists()
        assert {one["target_name"] for one in paths} == {target.iqn}
        assert {(one["portal"], one["nic"]) for one in paths} == {
            (link.portal(ipv6), link.nic) for link in links[:2] for ipv6 in (False, True)}
    volume = istripe.Volume("db")
    for leg in range(2):
        for number in range(4):
            state = volume.path_sysfs(leg, number) / "state"
            wait_for("a live path", lambda state=state: read(state) == "live", 60)
    run("dd", "if=/dev/urandom", f"of={device}", "bs=1M", "count=4", "oflag=direct")
    assert (conf / "db.conf").exists() and tool("apply", "--dry-run", "db") == ""


def test_a_link_that_is_down_is_left_out(tool, make_lio, links, stock):
    target = make_lio(16 * MIB, all_links=True)
    assert stock.daemon
    with network.down(links[1]):
        tool(*words(links, "--yes", "--no-save", "--targets", target.iqn))
    assert {(path(0, number)["portal"], path(0, number)["nic"]) for number in range(2)} == {
        (links[0].portal(ipv6), links[0].nic) for ipv6 in (False, True)}
    assert not (istripe.CONFIG / "db/legs/0/paths/2").exists()
    # The LUN belongs to the volume: nobody gets it a second time.
    again = tool(*[word.replace("db", "db2") if word == "db" else word
                   for word in words(links, "--yes", "--no-save")], code=1)
    assert f"{target.iqn} LUN 0: it is leg 0 of volume db" in again


def test_no_such_lun(tool, make_lio, links, stock):
    target = make_lio(16 * MIB, all_links=True)
    assert stock.daemon
    err = tool(*words(links, "--yes", "--no-save", "--luns", "3"), code=1)
    assert "leads to no LUN that could be a leg" in err and f"{target.iqn} LUN 3, " in err
    assert istripe.volumes() == []
