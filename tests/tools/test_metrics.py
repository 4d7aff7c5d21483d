# SPDX-License-Identifier: GPL-2.0
"""metrics: what Prometheus reads of it, and how it comes into a file."""

import os
import re
import shutil

import prometheus
import pytest
from conftest import TOP
from host import Host
from waiting import unopened

BASE = "sys/block/istripe0/istripe"
PATH = f"{BASE}/legs/1/paths/0"
#: Files, what is in them, and the metric with its place and value.
VALUES = [
    (f"{BASE}/legs/1/commands", "9000000000", "istripe_leg_commands_total", {"leg": "1"}, 9e9),
    (f"{BASE}/legs/1/redriven", "3", "istripe_leg_redriven_commands_total", {"leg": "1"}, 3),
    (f"{BASE}/legs/1/retried", "4", "istripe_leg_retried_commands_total", {"leg": "1"}, 4),
    (f"{BASE}/legs/1/write_protected", "refused", "istripe_leg_write_protected", {"leg": "1"}, 1),
    (f"{BASE}/legs/1/busy_ms", "11000", "istripe_leg_busy_seconds", {"leg": "1"}, 11),
    (f"{BASE}/legs/1/kept_bios", "30", "istripe_leg_kept_bios", {"leg": "1"}, 30),
    (f"{BASE}/legs/1/down_ms", "2500", "istripe_leg_down_seconds", {"leg": "1"}, 2.5),
    (f"{PATH}/unfenced", "1", "istripe_path_unfenced", {"leg": "1", "path": "0"}, 1),
    (f"{PATH}/faults", "5", "istripe_path_faults_total", {"leg": "1", "path": "0"}, 5),
    (f"{PATH}/reconnects", "6", "istripe_path_reconnects_total", {"leg": "1", "path": "0"}, 6),
    (f"{PATH}/login_failures", "14", "istripe_path_login_failures", {"leg": "1", "path": "0"}, 14),
    (f"{PATH}/waiting_writes", "7", "istripe_path_waiting_writes", {"leg": "1", "path": "0"}, 7),
    (f"{PATH}/ghost_writes", "3", "istripe_path_ghost_writes", {"leg": "1", "path": "0"}, 3),
    (f"{PATH}/waiting_ms", "12045", "istripe_path_waiting_seconds", {"leg": "1", "path": "0"},
     12.045),
    (f"{PATH}/unproven", "other names", "istripe_path_unproven", {"leg": "1", "path": "0"}, 1),
    *[(f"{PATH}/connections/0/{file}", text, f"istripe_connection_{name}",
       {"leg": "1", "path": "0", "connection": "0"}, value) for file, text, name, value in (
        ("bytes_sent", "18446744073709", "sent_bytes_total", 18446744073709),
        ("bytes_received", "0", "received_bytes_total", 0),
        ("pdus_sent", "11", "sent_pdus_total", 11), ("pdus_received", "12", "received_pdus_total", 12),
        ("commands_sent", "13", "commands_total", 13),
        ("digest_errors", "14", "digest_errors_total", 14),
        ("ping_rtt_us", "1234", "ping_rtt_seconds", 0.001234))],
]
#: The numbers of /sys/block/istripe0/stat, and what they are.
STAT = {"reads_completed_total": 1, "read_bytes_total": 3 * 512, "read_time_seconds_total": 4.004,
        "writes_completed_total": 5, "written_bytes_total": 7 * 512,
        "write_time_seconds_total": 8.008, "requests_in_flight": 9,
        "discards_completed_total": 12, "discarded_bytes_total": 14 * 512,
        "flushes_completed_total": 16, "flush_time_seconds_total": 17.017}


#: What the module's buckets have, and what the buckets of the metric do, by their bounds.
COUNTS = [1, 0, 0, 2, 3, *[0] * 15, 5, 0, 0, 0, 7, 11]
BUCKETS = {"0.000016384": 6, "0.000065536": 6, "0.000262144": 6, "0.001048576": 6,
           "0.004194304": 6, "0.016777216": 6, "0.067108864": 6, "0.268435456": 6,
           "1.073741824": 11, "4.294967296": 11, "17.179869184": 18, "+Inf": 29}


@pytest.fixture
def host(tool):
    host = Host(tool)
    host.put("sys/block/istripe0/stat",
             "1 2 3 4004 5 6 7 8008 9 10 11 12 13 14 15015 16 17017")
    host.put("sys/block/istripe0/size", "2048")
    for file, text, *_ in VALUES:
        host.put(file, text)
    return host


def read(tool):
    return prometheus.parse(tool.run("metrics")[0])


def value(families, name, **labels):
    return families[name].samples[tuple(sorted(labels.items()))]


def states(families, name, **labels):
    """The states that have 1, and those that have 0."""
    found = {dict(key)["state"]: number for key, number in families[name].samples.items()
             if labels.items() <= dict(key).items()}
    return [state for state, number in found.items() if number == 1], \
        [state for state, number in found.items() if number == 0]


def test_what_is_told(host):
    families = read(host.tool)
    for _, _, name, labels, wanted in VALUES:
        assert value(families, name, volume="db", **labels) == wanted, name
    for name, wanted in STAT.items():
        assert value(families, f"istripe_volume_{name}", volume="db") == wanted, name
    assert value(families, "istripe_volume_up", volume="db") == 1
    assert value(families, "istripe_volume_size_bytes", volume="db") == 1 << 20
    assert value(families, "istripe_volume_chunk_bytes", volume="db") == 65536
    assert value(families, "istripe_volume_recovery_timeout_seconds", volume="db") == 120
    assert value(families, "istripe_module_loaded") == 1
    assert len(families["istripe_path_info"].samples) == 4


def test_files_of_sessions_are_not_opened(host):
    """There are many, of which nothing is told."""
    host.put(f"{PATH}/sessions/1/state", "logged-in")
    folder = host.tool.root / PATH
    with unopened(*(folder / name for name in ("session", "session/negotiated", "sessions",
                                               "sessions/1"))):
        told = host.tool.run("metrics")
    for name in ("session", "sessions"):
        shutil.rmtree(folder / name)
    assert host.tool.run("metrics") == told


def line(sum_ns, counts):
    return " ".join(map(str, [sum_ns, *counts]))


@pytest.mark.parametrize("kind", ["read", "write", "other"])
def test_histograms(host, kind):
    name = "istripe_path_latency_seconds"
    host.put(f"{PATH}/latency_{kind}", line(18446744073709551615, COUNTS))
    families = read(host.tool)
    assert families[name].type == "histogram"
    found = value(families, name, volume="db", leg="1", path="0", kind=kind)
    assert found.buckets == BUCKETS and list(found.buckets) == list(BUCKETS)
    assert found.sum == 18446744073.709551615 and found.count == sum(COUNTS)


@pytest.mark.parametrize("text", [
    "", "7", line(1, COUNTS[1:]), line(1, [*COUNTS, 1]), line(1, COUNTS) + " ",
    line(1, COUNTS).replace(" ", "  ", 1), line(-1, COUNTS), line(1, [*COUNTS[1:], "x"]),
    line(18446744073709551616, COUNTS),
])
def test_histograms_that_cannot_be_read(host, text):
    name = "istripe_path_latency_seconds"
    host.put(f"{PATH}/latency_read", text)
    (host.tool.root / PATH / "latency_write").unlink()
    kinds = [dict(key)["kind"] for key in read(host.tool)[name].samples
             if {("leg", "1"), ("path", "0")} <= set(key)]
    assert kinds == ["other"]


def test_without_histograms(host):
    """As of an older module."""
    for file in (host.tool.root / BASE).rglob("latency_*"):
        file.unlink()
    families = read(host.tool)
    assert [name for name in families if "latency" in name] == []
    assert "istripe_path_faults_total" in families


def test_states(host):
    families = read(host.tool)
    assert states(families, "istripe_volume_state", volume="db") == (
        ["live"], ["degraded", "waiting", "failed", "down"])
    assert states(families, "istripe_leg_state", leg="1")[0] == ["live"]
    assert "istripe_path_access_state" not in families
    host.put(f"{BASE}/state", "waiting")
    host.put(f"{PATH}/state", "backoff")
    host.put(f"{PATH}/access_state", "standby")
    host.put(f"{BASE}/legs/0/paths/0/state", "a later state")
    families = read(host.tool)
    assert states(families, "istripe_volume_state")[0] == ["waiting"]
    now, others = states(families, "istripe_path_state", leg="1", path="0")
    assert now == ["backoff"] and len(others) == 8
    assert states(families, "istripe_path_state", leg="0", path="0")[0] == ["a later state"]
    assert states(families, "istripe_path_access_state", leg="1")[0] == ["standby"]


def test_a_path_that_is_off(host):
    """The module has no directory of it: an alert on paths that are not live needs a sample."""
    shutil.rmtree(host.tool.root / PATH)
    host.put(host.config(1, 0, "enable"), "0")
    families = read(host.tool)
    now, others = states(families, "istripe_path_state", leg="1", path="0")
    assert now == ["off"] and "live" in others
    info, = [dict(key) for key in families["istripe_path_info"].samples
             if {("leg", "1"), ("path", "0")} <= set(key)]
    assert info["portal"] == "192.0.2.11:3260" and info["nic"] == "eth1"
    assert ("istripe_path_faults_total" not in families
            or value(families, "istripe_path_faults_total", volume="db", leg="0", path="0"))


def test_what_cannot_be_read_is_left_out(host):
    """A path without a session: its files say ENOTCONN, here they are gone or empty."""
    for file in ("bytes_sent", "ping_rtt_us", "commands_sent"):
        host.put(f"{PATH}/connections/0/{file}", "")
    host.put(f"{BASE}/recovery_timeout_ms", "-1")
    families = read(host.tool)
    assert "istripe_connection_sent_bytes_total" not in families
    assert "istripe_connection_received_bytes_total" in families
    assert "istripe_connection_commands_total" not in families
    assert "istripe_volume_recovery_timeout_seconds" not in families


def test_a_volume_that_is_down(host):
    host.tool.run("down", "db")
    host.tool.run("create", "log", "--no-up", "--leg", "target=iqn.2026-01.a:t1,portal=192.0.2.1")
    host.put("etc/istripe/only-a-file.conf", "")
    families = read(host.tool)
    for name in ("db", "log", "only-a-file"):
        assert value(families, "istripe_volume_up", volume=name) == 0
        assert states(families, "istripe_volume_state", volume=name)[0] == ["down"]
    assert {name for name in families if not name.startswith(("istripe_module", "istripe_build"))} \
        == {"istripe_volume_up", "istripe_volume_state"}


def test_without_the_module(host):
    """The file is written all the same: an alert on what is missing needs a sample."""
    host.tool.tree.rename(host.tool.root / "away")
    families = read(host.tool)
    assert value(families, "istripe_module_loaded") == 0
    assert value(families, "istripe_volume_up", volume="db") == 0


def test_labels_are_escaped(host):
    odd = 'a "quoted" \\ back\\nslash'
    host.put(f"{PATH}/target_name", odd)
    host.put(f"{BASE}/legs/1/designator", "two\nlines")
    families = read(host.tool)
    infos = [dict(key) for key in families["istripe_path_info"].samples]
    assert odd in [info["target_name"] for info in infos]
    assert "two\nlines" in [dict(key)["designator"] for key in families["istripe_leg_info"].samples]


@pytest.mark.parametrize("text", [
    "# HELP a b\n# TYPE a gauge\na 1\na 1\n", "a 1\n", "# HELP a b\na 1\n",
    '# HELP a b\n# TYPE a gauge\na{x="1",x="2"} 1\n', '# HELP a b\n# TYPE a gauge\na{x="\\q"} 1\n',
    "# HELP a b\n# TYPE a gauge\na 1\n# HELP a b\n# TYPE a gauge\na{x=\"1\"} 1\n",
    "# HELP a b\n# TYPE a counter\na 1\n", "# HELP a b\n# TYPE a gauge\na one\n",
    "# HELP a b\n# TYPE a gauge\n", "# HELP a b\n# TYPE a gauge\na 1",
])
def test_the_reader_is_strict(text):
    with pytest.raises(prometheus.Wrong):
        prometheus.parse(text)


HISTOGRAM = """# HELP a b
# TYPE a histogram
a_bucket{x="1",le="0.5"} 1
a_bucket{x="1",le="2"} 3
a_bucket{x="1",le="+Inf"} 4
a_sum{x="1"} 7.5
a_count{x="1"} 4
"""


@pytest.mark.parametrize("old, new", [
    ('le="2"} 3', 'le="2"} 0'), ('le="2"} 3', 'le="2"} 5'), ('le="2"', 'le="0.25"'),
    ('le="2"', 'le="0.5"'), ('a_bucket{x="1",le="+Inf"} 4\n', ""), ("+Inf", "9"),
    ('a_count{x="1"} 4', 'a_count{x="1"} 3'), ('a_count{x="1"} 4\n', ""),
    ('a_sum{x="1"} 7.5\n', ""), ('a_sum{x="1"}', 'a_sum{x="2"}'), ("a_sum{", "a_total{"),
    ("a_sum{", "b_sum{"), ('a_sum{x="1"}', 'a_sum{x="1",le="1"}'), (',le="2"', ""),
    ("a histogram", "a gauge"), ("a_sum{", "a{"),
])
def test_the_reader_is_strict_with_histograms(old, new):
    (key, found), = prometheus.parse(HISTOGRAM)["a"].samples.items()
    assert key == (("x", "1"),) and found.sum == 7.5 and found.count == 4
    assert HISTOGRAM.count(old) == 1
    with pytest.raises(prometheus.Wrong):
        prometheus.parse(HISTOGRAM.replace(old, new))


def test_a_file_is_replaced_at_once(host, tmp_path):
    file = tmp_path / "out/istripe.prom"
    file.parent.mkdir()
    file.write_text("old\n")
    old = file.open()
    out, _ = host.tool.run("metrics", "--output", file)
    assert out == "" and file.read_text() == host.tool.run("metrics")[0]
    # Who has the old one open still sees all of it, and nothing else is left.
    assert old.read() == "old\n" and os.listdir(file.parent) == ["istripe.prom"]
    old.close()
    assert file.stat().st_mode & 0o777 == 0o644


def test_a_file_that_cannot_be_written(host, tmp_path):
    (tmp_path / "dir").mkdir()
    for path in (tmp_path / "no/where", tmp_path / "dir"):
        assert f"{path}: " in host.tool.run("metrics", "-o", path, code=1)[1]
    assert os.listdir(tmp_path / "dir") == []
    assert sorted(os.listdir(tmp_path)) == ["dir", "root"]


@pytest.mark.parametrize("words, said", [
    (["db"], "one word too many"), (["--output"], "needs a value"), (["--output="], "empty"),
    (["--json"], "unknown option --json"),
])
def test_wrong_usage(tool, words, said):
    assert said in tool.run("metrics", *words, code=2)[1]


def test_every_metric_is_in_the_manual():
    table = set(re.findall(r'\t\{ "(istripe_\w+)"',
                           (TOP / "tools/istripectl/metrics.c").read_text(encoding="utf-8")))
    manual = (TOP / "tools/istripectl/istripectl.8").read_text(encoding="utf-8")
    section = manual.split(".SH METRICS\n")[1].split("\n.SH ")[0]
    assert len(table) > 35
    assert set(re.findall(r"\bistripe_\w+", section)) == table


def test_rules_for_alerts_name_metrics():
    text = (TOP / "Documentation/usage.rst").read_text(encoding="utf-8")
    rules = text[text.index("- name: istripe"):text.index("``istripectl monitor`` prints a line")]
    # Of a volume that each host knows and one has up: nowhere, and twice.
    assert {"max by(volume) (istripe_volume_up", "sum by(volume) (istripe_volume_up"} == set(
        re.findall(r"(?:max|sum) by\(volume\) \(istripe_\w+", rules))
    table = (TOP / "tools/istripectl/metrics.c").read_text(encoding="utf-8")
    named = {re.sub("_seconds_(sum|count|bucket)$", "_seconds", name)
             for name in re.findall(r"\bistripe_\w+", rules)}
    assert len(named) >= 5 and [name for name in named if f'"{name}"' not in table] == []
