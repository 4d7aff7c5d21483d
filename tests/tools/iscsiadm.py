# SPDX-License-Identifier: GPL-2.0
"""Records of open-iscsi for fake_iscsiadm, and what it was asked; the fixture stock sets them.

node_record.txt is what iscsiadm 2.1.8 prints for a new record, and what later ones have beside it.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
RECORD = dict(re.findall(r"^(\S+) = (.*)$", (HERE / "node_record.txt").read_text("utf-8"),
                         re.MULTILINE))
#: What 2.1.8 does not have; no version has both of the last two.
LATER = {"node.conn[0].tcp.congestion_control", "node.session.sess_reopen_log_freq",
         "node.session.conn_reopen_log_freq"}
T1, T2 = "iqn.2026-01.a:t1", "iqn.2026-01.a:t2"
SECRET = "correct horse = @battery"
ONLY_ROOT = pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("unshare"),
                               reason="mount namespaces are for root")


def record(target=T1, address="192.0.2.10", port=3260, nic=None, **more):
    """The text of a record; more: settings with names as open-iscsi has them, "" for empty."""
    changed = {"node.name": target, "node.conn[0].address": address, "node.conn[0].port": port,
               **({"iface.iscsi_ifacename": f"i-{nic}", "iface.net_ifacename": nic} if nic
                  else {}), **more}
    unknown = set(changed) - set(RECORD)
    assert not unknown
    values = {name: changed.get(name, value) for name, value in RECORD.items()}
    lines = [f"{name} = {'<empty>' if value == '' else value}" for name, value in values.items()]
    return "\n".join(["# BEGIN RECORD 2.1.8", *lines, "# END RECORD\n"])


TWO = (record(nic="eth1"), record(address="198.51.100.10", nic="eth2"))


def update(tool, name, value, *words):
    """iscsiadm -m node -o update of the records that the words choose."""
    change(tool, name, value, "node", "-T", T1, *words)


def rebind(tool, name, value, nic):
    """iscsiadm -m iface -o update of the iface that records are bound to, and so of these."""
    change(tool, name, value, "iface", "-I", f"i-{nic}")


def change(tool, name, value, *words):
    subprocess.run(["iscsiadm", "-m", *words, "-o", "update", "-n", name, "-v", str(value)],
                   env=tool.env, check=True)


def asked(tool):
    return (tool.root / "iscsiadm.log").read_text().split("\n")[1:-1]
