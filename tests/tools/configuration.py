# SPDX-License-Identifier: GPL-2.0
"""A configuration file with all that such a file may have, and what is in it."""

LEG = "target=iqn.2026-01.a:t1,portal=192.0.2.10,nic=eth1"
PATH = "portal=198.51.100.10,nic=eth2"
SECRET = "correct-horse-battery"
CONF = """\
# a comment
[volume]
initiator = iqn.2026-01.a:host
chunk = 256K
recovery_timeout = 5min

[paths]
ping_interval = 4s

[leg 0]
target = iqn.2026-01.a:t1
fence = path

[leg 0 path 0]
portal = 192.0.2.10
nic = eth1
ping_interval = 1s

[leg 0 path 2]
portal = 198.51.100.10

[leg 1]
; of one path only: no section of its own
target = iqn.2026-01.a:t2
lun = 7
portal = 192.0.2.20
"""
P0, P2, P1 = "db/legs/0/paths/0", "db/legs/0/paths/2", "db/legs/1/paths/0"


def secret_file(tool, name, text=SECRET):
    file = tool.put(f"etc/istripe/{name}", text)
    file.chmod(0o600)
    return file


def files(tool):
    """All settings of all volumes."""
    return {str(file.relative_to(tool.tree)): file.read_text()
            for file in tool.tree.rglob("*") if file.is_file()}
