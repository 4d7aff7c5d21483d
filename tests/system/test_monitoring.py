# SPDX-License-Identifier: GPL-2.0
"""metrics, report, examine, monitor --program and the commands of tracing.rst, on the real module."""

import contextlib
import importlib.util
import json
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

from lab import fio, istripe, network, pages
from lab.connections import log_in_again
from lab.istripectl import INITIATOR, TOOL, leg
from lab.shell import read, run, wait_for

TOP = Path(__file__).resolve().parents[2]
USER, SECRET = "initiator", "a-secret-of-20-bytes"


def module_of(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


prometheus = module_of(TOP / "tests/tools/prometheus.py")


@pytest.fixture
def target(make_lio):
    return make_lio(32 << 20, 32 << 20, chap=(USER, SECRET), params={"DefaultTime2Wait": 0})


@pytest.fixture
def volume(tool, target, link, tmp_path):
    """Two legs on two LUNs of a target that asks for a secret."""
    file = tmp_path / "secret"
    file.write_text(SECRET)
    file.chmod(0o600)
    more = f",chap_user={USER},chap_secret=@{file}"
    tool("create", "db", *INITIATOR, *leg(target, link, more=more),
         *leg(target, link, lun=1, more=more))
    return istripe.Volume("db")


def sample(families, name, **labels):
    return families[name].samples[tuple(sorted({"volume": "db", **labels}.items()))]


def test_metrics(tool, volume):
    before = prometheus.parse(tool("metrics"))
    run("dd", "if=/dev/zero", f"of=/dev/{volume.device()}", "bs=1M", "count=8", "oflag=direct")
    after = prometheus.parse(tool("metrics"))
    for families in (before, after):
        assert sample(families, "istripe_volume_up") == 1
        assert sample(families, "istripe_volume_state", state="live") == 1
        assert sample(families, "istripe_path_state", leg="1", path="0", state="live") == 1
    written = [sample(families, "istripe_volume_written_bytes_total") for families in (before, after)]
    assert written[1] - written[0] == 8 << 20
    for number in ("0", "1"):
        place = {"leg": number, "path": "0", "connection": "0"}
        sent = [sample(families, "istripe_connection_sent_bytes_total", **place)
                for families in (before, after)]
        assert sent[1] - sent[0] >= 4 << 20
        assert sample(after, "istripe_connection_digest_errors_total", **place) == 0
        writes = [sample(families, "istripe_path_latency_seconds", leg=number, path="0",
                         kind="write").count for families in (before, after)]
        assert 0 < writes[1] - writes[0] <= sample(after, "istripe_leg_commands_total", leg=number)
        assert sample(after, "istripe_leg_write_protected", leg=number) == 0
    tool("down", "db")
    assert sample(prometheus.parse(tool("metrics")), "istripe_volume_state", state="down") == 1


def is_loaded(found):
    """Whether all rows tell of the load. Files are read one after the other, not at one moment."""
    rows = [row for leg_row in found["legs"] for path in leg_row["paths"]
            for row in (leg_row, path, *path["connections"])]
    return (any(leg_row["queue"] for leg_row in found["legs"]) and
            all(row["read_bytes_per_second"] > 0.8 * 4096 * row["iops"] > 0 for row in rows))


def test_top(tool, volume):
    """Each row under load: of the disk, its legs, paths and connections."""
    with fio.meanwhile(f"/dev/{volume.device()}", rw="randread", bs="4k", iodepth=16, size="16M",
                       time_based=True, runtime=10):
        # The queue is that of one moment; at another one all commands have been answered.
        for _ in range(10):
            found, = json.loads(tool("top", "--once", "-J", "--interval", "2"))["volumes"]
            if is_loaded(found):
                break
    assert is_loaded(found)
    assert found["iops"] > 0 and len(found["legs"]) == 2
    for leg_row in found["legs"]:
        path, = leg_row["paths"]
        connection, = path["connections"]
        for row in (leg_row, path, connection):
            assert row["latency_ms"] > 0 and 0 <= row["queue"] <= 128
            assert row["retries"] == 0 and row["retransmits"] >= 0
        assert connection["ping_us"] is not None
    wait_for("an end of all commands", lambda: all(
        read(volume.path_sysfs(number) / "connections/0/commands_in_flight") == "0"
        for number in range(2)), 30)


def test_report(tool, volume, tmp_path):
    out = tool("report", "--output", tmp_path / "report")
    assert out.endswith(f"report: {tmp_path / 'report'}\n")
    files = {file.name: file.read_text() for file in (tmp_path / "report").iterdir()}
    assert [name for name, text in files.items() if SECRET in text] == []
    assert "istripe/legs/1/paths/0/state = live" in files[f"sysfs-{volume.device()}.txt"]
    assert json.loads(files["status.json"])["volumes"][0]["state"] == "live"
    # The secret cannot be read in configfs, and is not asked for.
    assert "chap_user = initiator" in files["configfs-db.txt"]
    assert "secret" not in files["configfs-db.txt"]
    assert "istripe: db" in files["kernel-log.txt"]


def test_examine(tool, volume, target):
    found = json.loads(tool("examine", "--json", *[lun.file for lun in target.luns]))
    assert [device["result"] for device in found["devices"]] == ["leg", "leg"]
    assert [device["role"] for device in found["devices"]] == [0, 1]
    array, = found["arrays"]
    assert array["complete"]
    sysfs = Path(f"/sys/block/{volume.device()}/istripe")
    assert array["array_uuid"] == (sysfs / "array_uuid").read_text().strip()
    for device in found["devices"]:
        uuid = (sysfs / f"legs/{device['role']}/device_uuid").read_text().strip()
        assert device["device_uuid"] == uuid


def test_a_program_is_told_events(volume, tmp_path):
    noted = tmp_path / "noted"
    program = tmp_path / "program"
    program.write_text(f'#!/bin/sh\necho "$@" >>{noted}\n')
    program.chmod(0o755)
    with subprocess.Popen([TOOL, "monitor", "--json", "--program", program],
                          stdout=subprocess.PIPE, text=True) as process:
        try:
            # Nobody knows when it has read the states first: they are lost until it says so.
            def reinstated():
                events = noted.read_text() if noted.exists() else ""
                if "PATH_FAILED" not in events:
                    network.kill_connections()
                # That it came up may be told, too.
                return "PATH_FAILED db " in events and "PATH_REINSTATED db " in events
            # Not so often that LIO loses one login after the other.
            wait_for("an event", reinstated, 120, 1)
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=60)
    events = noted.read_text().splitlines()
    assert any(re.fullmatch(r"PATH_FAILED db [01] 0", event) for event in events), events
    assert volume.device()


def examples():
    """{question: command} of bpftrace in the document."""
    text = (TOP / "Documentation/tracing.rst").read_text(encoding="utf-8")
    found = {}
    for section in re.split(r"\n(?=[A-Z][^\n]*\?\n=+\n)", text)[1:]:
        for number, body in enumerate(re.findall(r"\tbpftrace -e '\n((?:\t.*\n)+)", section)):
            found[f"{section.splitlines()[0]} {number}"] = body[:body.rindex("'")]
    return found


@contextlib.contextmanager
def tracing(program, out):
    """bpftrace runs; what it prints is in the file in the end."""
    with open(out, "w", encoding="utf-8") as file:
        process = subprocess.Popen(["bpftrace", "-e", f'BEGIN {{ printf("begun\\n"); }}\n{program}'],
                                   stdout=file, stderr=subprocess.STDOUT)
        try:
            wait_for("bpftrace", lambda: "begun" in out.read_text() or process.poll(), 180)
            yield
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(120)
    assert process.returncode == 0, out.read_text()


def write_some(volume):
    run("dd", "if=/dev/zero", f"of=/dev/{volume.device()}", "bs=1M", "count=8", "oflag=direct")


def lose_a_session(volume, _link):
    write_some(volume)
    log_in_again(volume)


def await_a_ping(volume, _link):
    file = volume.path_sysfs() / "connections/0/ping_rtt_us"
    before = read(file)
    wait_for("the answer to a ping", lambda: read(file) != before, 60)


def segments_again():
    """How often TCP has sent a segment once more."""
    names, values = (line.split() for line in read("/proc/net/snmp").splitlines()
                     if line.startswith("Tcp:"))
    return int(values[names.index("RetransSegs")])


def lose_packets(volume, link):
    before = segments_again()
    words = ["dd", "if=/dev/zero", f"of=/dev/{volume.device()}", "bs=4k", "count=1", "oflag=direct"]
    with network.mute(link):
        process = subprocess.Popen(words, stderr=subprocess.DEVNULL)
        wait_for("TCP to send again", lambda: segments_again() > before, 60)
    assert process.wait(60) == 0


#: {question: what happens meanwhile, words that the program must print}.
SAID = {
    "Which path is slow? 0": (None, "@us[db/0/0]"),
    "Where does the latency come from? 0": (None, "@us["),
    "Is it the network? 0": (await_a_ping, "@ping_us[db/0/0]"),
    "Is it the network? 1": (lose_packets, f"@again[{network.Link(0).address}]"),
    "How long do writes wait for R2Ts? 0": (None, "@r2ts[db/1/0]"),
    "How much goes over which path? 0": (None, "@sent_bytes[db/0/0]"),
    "Which sizes do requests have? 0": (None, "@bytes["),
    "Why was a path lost, and how long did it take? 0": (lose_a_session, "db/0/0 session "),
    "What is retried? 0": (lose_a_session, "@faults[db/0/0, "),
}


@pytest.mark.parametrize("question", examples())
def test_examples_of_tracing(volume, link, tmp_path, question):
    meanwhile, said = SAID[question]
    out = tmp_path / "traced"
    with tracing(examples()[question], out):
        (meanwhile or (lambda volume, _link: write_some(volume)))(volume, link)
    assert said in out.read_text(), out.read_text()


def awaited(text):
    """The commands of a block; perf records until the file done is there, and says begun."""
    return re.sub(r"-- sleep \d+", "-- sh -c 'touch begun; until [ -e done ]; do sleep 0.1; done'", text)


@pytest.mark.parametrize("words, said", [
    ("perf record -a -e istripe:", ["istripe:istripe_state: ", "istripe:istripe_fault: ", " db/0/0 "]),
    ("perf record -a -g", ["# Overhead", "istripe_"]),
])
def test_examples_of_perf(volume, link, tmp_path, words, said):
    typed = awaited(pages.block(words, pages.TOP / "Documentation/tracing.rst"))
    with open(tmp_path / "out", "w", encoding="utf-8") as file:
        process = subprocess.Popen(["bash", "-e", "-c", typed], cwd=tmp_path, stdout=file,
                                   stderr=subprocess.STDOUT)
        try:
            wait_for("perf", lambda: (tmp_path / "begun").exists() or process.poll(), 180)
            lose_a_session(volume, link)
        finally:
            (tmp_path / "done").touch()
            process.wait(300)
    out = (tmp_path / "out").read_text(encoding="utf-8", errors="replace")
    assert process.returncode == 0, out
    assert not [what for what in said if what not in out], out


def test_example_of_the_window(volume):
    """An endless loop, which a signal ends."""
    typed = pages.block("while sleep 1", pages.TOP / "Documentation/tracing.rst").replace(
        "istripe0", volume.device())
    with subprocess.Popen(["bash", "-e", "-c", typed], stdout=subprocess.PIPE, text=True,
                          start_new_session=True) as process:
        lines = [process.stdout.readline() for _ in range(8)]
        os.killpg(process.pid, signal.SIGINT)
    assert all(re.fullmatch(r"/sys/block/istripe\d+/istripe/legs/[01]/paths/0/session/(max_)?cmd_sn:\d+",
                            line.strip()) for line in lines), lines
