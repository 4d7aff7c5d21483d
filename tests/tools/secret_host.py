# SPDX-License-Identifier: GPL-2.0
"""A host in files that is full of secrets, of which nothing may get out."""

import json

from host import Host
from iscsiadm import record

#: Secrets of all kinds that a host has, by where they come from.
SECRETS = {
    "beside the configuration": "beside-the-file-4711",
    "in the configuration": "in the file = @itself",
    "in a comment": "an-old-one-4",
    "of nobody any more": "left-by-an-old-volume",
    "of a target": "mutual:secret/with#signs",
    "in a folder": "in-a-folder-of-its-own",
    "in a record": "record-pass-word-1",
    "the other way": 'record "quoted" \\ back',
    "in iscsid.conf": "from-iscsid-conf-99",
    "with odd bytes": "odd\x01bytes\tin-it",
}
#: Other programs, and what they print: each knows all secrets.
PROGRAMS = ("ip", "ss", "ethtool", "systemctl", "journalctl", "udevadm", "lsblk", "lscpu", "uname")


def secretive_host(tool, stock):
    """A host where every program and file talks of secrets."""
    host = Host(tool)
    everything = "\n".join([*SECRETS.values(), *map(json.dumps, SECRETS.values())])
    tool.put("told", everything)
    for name in PROGRAMS:
        program = tool.root / "bin" / name
        program.write_text(f'#!/bin/sh\necho "$@"\ncat {tool.root}/told\n')
        program.chmod(0o755)
    # Before the file: this writes it, too.
    for leg in range(2):
        host.put(host.config(leg, 0, "chap_secret"), SECRETS["beside the configuration"])
    host.put("etc/istripe/db.conf", "\n".join([
        "[leg 0]", "target = iqn.2026-01.a:t0", "chap_user = me", "chap_secret = @db.secret",
        "[leg 0 path 0]", "portal = 192.0.2.10", "chap_mutual_user = it",
        "chap_mutual_secret = @mutual", "[leg 0 path 1]",
        "portal = 192.0.3.10", "chap_secret = @secrets/a", "[leg 1]", "target = iqn.2026-01.a:t1",
        f"chap_secret = {SECRETS['in the configuration']}", "[leg 1 path 0]",
        "portal = 192.0.2.11", f"# chap_secret = {SECRETS['in a comment']}"]))
    for file, key in {"db.secret": "beside the configuration", "mutual": "of a target",
                      "secrets/a": "in a folder", "old.secret": "of nobody any more",
                      "odd": "with odd bytes"}.items():
        host.put(f"etc/istripe/{file}", SECRETS[key]).chmod(0o600)
    stock(record(nic="eth1", **{"node.session.auth.username": "me",
                                "node.session.auth.password": SECRETS["in a record"],
                                "node.session.auth.password_in": SECRETS["the other way"]}))
    host.put("etc/iscsi/iscsid.conf",
             f"discovery.sendtargets.auth.password = {SECRETS['in iscsid.conf']}")
    lines = [f"6,{number},{number}000000,-;istripe: db: it was {secret}"
             for number, secret in enumerate(SECRETS.values())]
    host.put("dev/kmsg", "\n".join([*lines, "6,9,9000000,-;other: not for us"]))
    host.put(host.path(0, 0, "last_error"), f"wrong: {SECRETS['in a record']}")
    host.put("proc/net/dev", everything)
    host.put("proc/interrupts", "30: 7 7 eth1-rx-0")
    # The clock that top waits for.
    script = tool.put("clock", "#!/bin/sh\nexit 0")
    script.chmod(0o755)
    tool.env["FAKE_CLOCK"] = str(script)
    return host


def forms(secret):
    cleaned = secret.replace("\t", " ").replace("\x01", "?")
    return {secret, cleaned, json.dumps(secret)[1:-1]}
