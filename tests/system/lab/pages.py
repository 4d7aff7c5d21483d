# SPDX-License-Identifier: GPL-2.0
"""The pages, and what they tell to type."""

import contextlib
import re
from pathlib import Path

from lab import network
from lab.shell import run

TOP = Path(__file__).resolve().parents[3]
GUIDE = TOP / "Documentation" / "guide"

#: The NICs of README and guide: name, our address, that of the first portal.
NICS = (("eth1", "192.0.2.1", "192.0.2.10"), ("eth2", "198.51.100.1", "198.51.100.10"),
        ("eth3", "203.0.113.1", "203.0.113.10"))


def blocks(page):
    """The literal blocks of a page: indented lines that stand together."""
    return re.findall(r"(?:^\t.*\n)+", page.read_text(encoding="ascii"), re.MULTILINE)


def block(words, *pages):
    """The one that contains the words, of all those of the pages."""
    found, = [text for page in pages for text in blocks(page) if words in text]
    return found


@contextlib.contextmanager
def nics(more=()):
    """The NICs of the pages; more: (NIC, address) of further portals."""
    made = {}
    try:
        for index, (nic, source, address) in enumerate(NICS):
            link = network.Link(100 + index)
            link.nic, link.source, link.address = nic, source, address
            link.create()
            made[nic] = link
        for nic, address in more:
            run("ip", "addr", "add", f"{address}/24", "dev", made[nic].peer, netns=network.NETNS)
        yield made
    finally:
        for nic in made:
            run("ip", "link", "del", nic)
