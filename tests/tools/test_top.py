# SPDX-License-Identifier: GPL-2.0
"""top and status --watch: the clock is one of the tests' own, see fake_clock.c."""

import json
import os
import pty
import re

import pytest
from waiting import unopened

BASE = "sys/block/istripe0/istripe"
LEG = "target=iqn.2026-01.a:t1,portal=192.0.2.10,nic=eth1"
CONNECTION = f"{BASE}/legs/0/paths/0/connections/0"


def line(ns, count):
    """A file of how long commands took: their sum, and all of them in one bucket."""
    return " ".join(map(str, [ns, *[0] * 12, count, *[0] * 13]))


#: Files, and what is in them at the beginning and after each interval.
COUNTERS = {
    # reads, merged, sectors, ms, writes, merged, sectors, ms, in flight, ...
    "sys/block/istripe0/stat": ["100 0 8000 50 10 0 80 5 0 0 0",
                                "1100 0 2008000 2050 510 0 1000080 1005 7 0 0",
                                "1100 0 2008000 2050 510 0 1000080 1005 0 0 0"],
    f"{BASE}/state": ["live"] * 3,
    f"{BASE}/legs/0/state": ["live"] * 3,
    f"{BASE}/legs/0/commands": ["10", "3010", "3010"],
    f"{BASE}/legs/0/retried": ["5", "6", "6"],
    f"{BASE}/legs/0/redriven": ["1", "3", "3"],
    f"{BASE}/legs/0/paths/0/state": ["live", "live", "backoff"],
    f"{BASE}/legs/0/paths/0/reconnects": ["1", "2", "2"],
    f"{BASE}/legs/0/paths/0/retries": ["7", "9", "9"],
    f"{BASE}/legs/0/paths/0/session/commands_sent": ["1000", "3000", ""],
    f"{BASE}/legs/0/paths/0/sessions/1/commands_sent": ["0", "1000", "1000"],
    # 600 reads and 400 writes in 3 s; the leg has another path that is none of this test.
    **{f"{BASE}/legs/0/paths/0/latency_{kind}": [line(ns, count) for ns, count in values]
       for kind, values in {"read": [(9, 3), (2000000009, 603), (2000000009, 603)],
                            "write": [(7, 1), (1000000007, 401), (1000000007, 401)],
                            "other": [(0, 0), (10 ** 12, 9), (10 ** 12, 9)]}.items()},
    f"{BASE}/legs/0/latency_read": [line(0, 0), line(10 ** 9, 2000), line(10 ** 9, 2000)],
    f"{BASE}/legs/0/latency_write": [line(0, 0), line(0, 0), line(0, 0)],
    f"{CONNECTION}/state": ["logged-in"] * 3,
    # A session made anew counts from 0 on.
    f"{CONNECTION}/bytes_sent": ["900000000", "20000000", "20000000"],
    f"{CONNECTION}/bytes_received": ["1000", "50001000", "50001000"],
    f"{CONNECTION}/commands_sent": ["0", "2000", "2000"],
    f"{CONNECTION}/commands_in_flight": ["4", "9", "0"],
    f"{CONNECTION}/ping_rtt_us": ["0", "123", "123"],
    f"{CONNECTION}/local_address": ["192.0.2.1:40000"] * 3,
    f"{CONNECTION}/remote_address": ["192.0.2.10:3260"] * 3,
    # Segments sent, and sent again.
    "fake/tcp": [f"192.0.2.1:40000 192.0.2.10:3260 150 9000 {sent} {again} cubic"
                 for sent, again in ((1000, 4), (9000, 11), (9000, 11))],
}


@pytest.fixture
def busy(tool, tmp_path):
    """A volume that is up, and a clock with which its counters change."""
    tool.run("create", "db", "--leg", LEG)
    tool.run("create", "off", "--no-up", "--leg", LEG)
    steps = ["#!/bin/sh", "case $1 in"]
    for number in (1, 2):
        steps.append(f"{number})")
        steps += [f"echo '{values[number]}' >{tool.root}/{file}"
                  for file, values in COUNTERS.items()]
        steps.append(";;")
    script = tmp_path / "clock"
    script.write_text("\n".join([*steps, "*) exit 1 ;;", "esac", ""]))
    script.chmod(0o755)
    for file, values in COUNTERS.items():
        tool.put(file, values[0])
    tool.env["FAKE_CLOCK"] = str(script)
    return tool



def test_once(busy):
    """1000 reads of 512 KB and 500 writes of as much in 2 s."""
    out, _ = busy.run("top", "--once", "--interval", "2")
    lines = [re.split(r" {2,}| (?=\S)", line.strip()) for line in out.splitlines()]
    assert lines[0] == ["NAME", "STATE", "READ_MB/s", "WRITE_MB/s", "IOPS", "LATENCY_ms", "QUEUE",
                        "RETRIES", "RECONNECTS", "PING_us", "RETRANS"]
    values = {" ".join(line[:-10]): line[-10:] for line in lines[1:]}
    assert values == {
        "db": ["live", "512.0", "256.0", "750", "2.00", "7", "3", "1", "-", "7"],
        "leg 0": ["live", "25.0", "10.0", "1500", "0.50", "9", "3", "1", "-", "7"],
        "path 0": ["live", "25.0", "10.0", "1500", "3.00", "9", "2", "1", "-", "7"],
        "connection 0": ["logged-in", "25.0", "10.0", "1000", "3.00", "9", "2", "-", "123", "7"],
        "off": ["down", *["-"] * 9],
    }


def test_what_was_negotiated_is_not_opened(busy):
    """There are many such files."""
    names = ("session/offered", "session/negotiated", "sessions/1/negotiated")
    folders = [busy.put(f"{BASE}/legs/0/paths/0/{name}/DataDigest", "None").parent
               for name in names]
    with unopened(*folders):
        out, _ = busy.run("top", "--once", "--interval", "2")
    # Of the counters of sessions, which are beside them.
    assert "1500" in next(line for line in out.splitlines() if "path 0" in line).split()


def test_json_until_a_signal(busy):
    """A line for each interval; nothing in the second one."""
    first, second = map(json.loads, busy.run("top", "--json", "db")[0].splitlines())
    assert first["schema"] == second["schema"] == 1
    volume, = first["volumes"]
    assert volume["name"] == "db" and volume["state"] == "live" and volume["seconds"] == 1
    assert volume["read_bytes_per_second"] == 1024e6 and volume["iops"] == 1500
    assert volume["latency_ms"] == 2 and volume["queue"] == 7 and volume["ping_us"] is None
    path = volume["legs"][0]["paths"][0]
    assert path["index"] == 0 and path["write_bytes_per_second"] == 20e6 and path["iops"] == 3000
    assert path["reconnects"] == 1 and path["queue"] == 9 and path["retries"] == 2
    assert path["latency_ms"] == 3 and volume["legs"][0]["latency_ms"] == 0.5
    connection, = path["connections"]
    assert connection["ping_us"] == 123 and connection["latency_ms"] == 3
    assert connection["queue"] == 9 and connection["retransmits"] == 7
    assert connection["iops"] == 2000 and connection["reconnects"] is None
    volume, = second["volumes"]
    assert volume["iops"] == volume["queue"] == volume["retries"] == 0
    assert volume["latency_ms"] is None
    path = volume["legs"][0]["paths"][0]
    assert path["state"] == "backoff" and path["latency_ms"] is None


def test_two_connections(busy):
    """What is counted for a path is none of theirs: its latency, its retries."""
    busy.put(f"{BASE}/legs/0/paths/0/connections/1/state", "logged-in")
    busy.put(f"{BASE}/legs/0/paths/0/connections/1/commands_in_flight", "5")
    volume, = json.loads(busy.run("top", "--once", "-J", "db")[0])["volumes"]
    path, = volume["legs"][0]["paths"]
    assert path["queue"] == volume["legs"][0]["queue"] == 14 and path["latency_ms"] == 3
    assert [one["queue"] for one in path["connections"]] == [9, 5]
    assert [one["retransmits"] for one in path["connections"]] == [7, None]
    assert all(one["latency_ms"] is one["retries"] is None for one in path["connections"])


@pytest.mark.parametrize("addresses", [
    {"local_address": "192.0.2.1:40001"}, {"remote_address": ""}, {"local_address": "nonsense"},
])
def test_a_connection_that_tcp_does_not_know(busy, addresses):
    """As of another network namespace."""
    busy.env["FAKE_CLOCK"] = "true"
    for name, value in addresses.items():
        busy.put(f"{CONNECTION}/{name}", value)
    volume, = json.loads(busy.run("top", "--once", "-J", "db")[0])["volumes"]
    connection, = volume["legs"][0]["paths"][0]["connections"]
    assert connection["retransmits"] is None and connection["queue"] == 4


def test_blocks(busy):
    out, _ = busy.run("top", "-o", "NAME,IOPS", "-n", "db")
    first, second = out.split("\n\n")
    assert re.search(r"^db +1500$", first, re.MULTILINE)
    assert re.search(r"^db +0$", second, re.MULTILINE)
    assert re.search(r"^  leg 0 +3000$", first, re.MULTILINE)
    assert "\033" not in out


def test_a_path_that_has_come(busy):
    """No rate without a beginning."""
    clock = busy.root / "clock"
    clock.write_text(f"#!/bin/sh\ncp -r {busy.root}/{BASE}/legs/0/paths/0 "
                     f"{busy.root}/{BASE}/legs/0/paths/1\n")
    clock.chmod(0o755)
    line, = busy.run("top", "--once", "--json", "db", FAKE_CLOCK=str(clock))[0].splitlines()
    old, new = json.loads(line)["volumes"][0]["legs"][0]["paths"]
    assert old["iops"] == 0 and new["iops"] is None and new["read_bytes_per_second"] is None
    assert old["latency_ms"] is None and new["latency_ms"] is None


@pytest.mark.parametrize("file, text", [
    # A leg that has lost a path; a path that has come again under its number; an older module.
    ("latency_read", line(10 ** 9, 1)), ("latency_read", line(1, 5000)), ("latency_read", "7"),
    ("latency_write", None),
])
def test_latency_that_is_not_known(busy, file, text):
    leg = busy.root / BASE / "legs/0"
    (leg / "latency_read").write_text(line(10, 2) + "\n")
    change = f"rm {leg}/{file}" if text is None else f"echo '{text}' >{leg}/{file}"
    clock = busy.root / "clock"
    clock.write_text(f"#!/bin/sh\necho '{line(2 * 10 ** 9, 500)}' >{leg}/latency_read\n{change}\n")
    clock.chmod(0o755)
    out, = busy.run("top", "--once", "--json", "db", FAKE_CLOCK=str(clock))[0].splitlines()
    found = json.loads(out)["volumes"][0]["legs"][0]
    assert found["latency_ms"] is None and found["iops"] == 0


@pytest.mark.parametrize("words, said", [
    (["top", "--interval", "soon"], "soon: an interval is"), (["top", "--interval"], "needs a"),
    (["top", "--interval", "0"], "at least 100ms"), (["top", "--interval=forever"], "forever:"),
    (["top", "--json", "-P"], "--json has all values"), (["status", "--watch=x"], "x: an interval"),
    (["top", "--watch"], "unknown option --watch"), (["list", "--watch"], "unknown option"),
])
def test_wrong_usage(tool, words, said):
    assert said in tool.run(*words, code=2)[1]


def test_top_of_no_volume(busy):
    assert "there is no volume nobody" in busy.run("top", "--once", "nobody", code=1)[1]


def test_status_is_watched(busy):
    out, _ = busy.run("status", "--watch", "-o", "NAME,STATE", "db")
    blocks = out.split("\n\n")
    assert len(blocks) == 3 and all(block.startswith("NAME") for block in blocks)
    assert re.search(r"path 0 +live", blocks[1]) and re.search(r"path 0 +backoff", blocks[2])


def on_terminal(tool, *words):
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(tool.program, ["istripectl", *words], tool.env)
    shown = b""
    try:
        while part := os.read(terminal, 4096):
            shown += part
    except OSError:
        pass
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    return shown


@pytest.mark.parametrize("words, blocks", [(["top"], 2), (["status", "--watch=5s"], 3)])
def test_a_terminal_is_repainted(busy, words, blocks):
    assert on_terminal(busy, *words, "db").count(b"\033[H\033[2J") == blocks
