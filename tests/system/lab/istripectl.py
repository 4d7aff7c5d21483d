# SPDX-License-Identifier: GPL-2.0
"""The tool: where it is, and its words for what the laboratory has."""

from pathlib import Path

from lab import istripe

TOOL = Path(__file__).resolve().parents[3] / "build" / "tools" / "istripectl"
INITIATOR = ["--initiator", istripe.INITIATOR]


def leg(target, link, lun=0, more=""):
    return ["--leg", f"target={target.iqn},lun={lun},portal={link.portal()},nic={link.nic}{more}"]
