# SPDX-License-Identifier: GPL-2.0
"""What istripectl understands, what it refuses, and what it makes of it."""

import json
import re
import signal
import subprocess

import pytest
from conftest import TOP

LEG = "target=iqn.2026-01.a:t1,portal=192.0.2.10,nic=eth1"
FOUR = [word for i in range(4) for word in (
    "--leg", f"target=iqn.2026-01.a:t{i},portal=192.0.2.1{i},nic=eth{i},lun={i}",
    "--path", f"portal=192.0.3.1{i},nic=eth{i + 4}")]

#: The default of every setting, as the table of the driver has it.
DEFAULTS = dict(re.findall(r'_row\((\w+), \w+, \w+, "([^"]*)"',
                           (TOP / "include/istripe/settings.h").read_text(encoding="utf-8")))


def path(tool, leg=0, number=0, volume="db"):
    """The non-empty settings of a path, but those that nobody has changed."""
    directory = tool.tree / volume / "legs" / str(leg) / "paths" / str(number)
    values = {file.name: file.read_text().rstrip("\n") for file in directory.iterdir()
              if file.name != "enable"}
    return {k: v for k, v in values.items() if v and (k == "lun" or DEFAULTS[k] != v)}


@pytest.mark.parametrize("words,named", [
    ([], "COMMAND"),
    (["nonsense"], "nonsense"),
    (["create"], "name is needed"),
    (["create", "db"], "needs a leg"),
    # The links of these would be those of partitions of db.
    (["create", "db-part1", "--leg", LEG], "nor -part and digits at its end"),
    (["up", "db-part23"], "nor -part and digits at its end"),
    (["create", "../x", "--leg", LEG], "../x"),
    (["create", ".x", "--leg", LEG], ".x"),
    (["create", "a" * 64, "--leg", LEG], "a" * 64),
    (["create", "db", "more", "--leg", LEG], "more"),
    (["create", "db", "--path", LEG], "--leg it is of"),
    (["create", "db", "--leg", "portal"], "NAME=VALUE"),
    (["create", "db", "--leg", ""], "NAME=VALUE"),
    (["create", "db", "--leg", LEG + ","], "NAME=VALUE"),
    (["create", "db", "--leg", LEG + ",,lun=1"], "NAME=VALUE"),
    (["create", "db", "--leg", LEG + ",lun=1,lun=2"], "lun is given twice"),
    (["create", "db", "--leg", LEG + ",target_name=iqn.x"], "target_name is given twice"),
    (["create", "db", "--leg", "../enable=1"], "../enable"),
    (["create", "db", "--leg", LEG, "--set", "enable=1"], "enable is not a setting"),
    (["create", "db", "--leg", LEG, "--set", "=1"], "no name of a setting"),
    (["create", "db", "--leg", LEG, "--chunk", "9999999999999G"], "too big"),
    (["create", "db", "--leg", LEG, "--nonsense"], "--nonsense"),
    (["create", "db", "--leg"], "--leg needs a value"),
    (["create", "db", "--leg", LEG + ",chap_secret=hunter2hunter2"], "never given on the command"),
    (["create", "db", "--leg", LEG + ",chap_secret=@"], "never given on the command"),
    (["assemble", "db"], "needs a leg"),
    (["assemble", "db", "--leg", LEG, "--force"], "assemble writes nothing"),
    (["assemble", "db", "--leg", LEG, "--set", "metadata_create=1"], "assemble writes nothing"),
    (["create", "db", "--leg", LEG, "--force", "--set", "metadata_create=1"], "given twice"),
    (["up"], "name is needed"),
    (["up", "a/b"], "a/b"),
    (["down", "--json", "db"], "--json"),
    (["rescan"], "name is needed"),
    (["show", "--json", "--command"], "either"),
    (["help", "nonsense"], "nonsense"),
    (["save"], "name is needed"),
    (["apply", "--force", "db"], "--force"),
    (["show", "--conf", "--json"], "either"),
])
def test_usage_is_code_2(tool, words, named):
    out, err = tool.run(*words, code=2)
    assert not out
    assert named in err
    assert "usage:" in err
    assert "hunter2" not in err
    assert tool.volumes() == []


@pytest.mark.parametrize("command", ["create", "assemble", "discover", "import", "save", "apply",
                                     "up", "down", "delete", "rescan", "show", "status", "list",
                                     "top", "monitor", "metrics", "report", "examine", "set",
                                     "doctor", "reconnect"])
def test_help(tool, command):
    out, err = tool.run(command, "--help")
    assert out.startswith(f"usage: istripectl {command} ") and not err
    assert tool.run("help", command)[0] == out
    assert command in tool.run("help")[0]


def manual():
    """istripectl.8 as text."""
    page = (TOP / "tools/istripectl/istripectl.8").read_text(encoding="utf-8")
    return page.replace("\\-", "-")


def test_help_has_the_short_options(tool):
    """Those of the manual page."""
    pairs = re.findall(r'^\.BR (-\w) ", " "?(--[\w-]+)', manual(), re.MULTILINE)
    assert len(pairs) > 10
    texts = [tool.run(name, "--help")[0] for name in ("create", "list")]
    for short, long in pairs:
        if long != "--help":
            assert any(f" {short}, {long} " in text for text in texts), long


@pytest.mark.parametrize("command", ["discover", "rescan", "show", "status", "top", "monitor",
                                     "examine", "doctor", "list", "reconnect"])
def test_json_has_a_short_form(tool, command):
    """As of lsblk and findmnt."""
    assert "\n  -J, --json " in tool.run(command, "-J", "--help")[0]


def test_all_that_have_json_are_there():
    page = manual().split(".SH SYNOPSIS")[1].split(".SH DESCRIPTION")[0]
    assert len([text for text in page.split(".br") if "--json" in text]) == 10


@pytest.mark.parametrize("command", ["list", "status", "top"])
def test_manual_has_the_columns(tool, command):
    tool.run("create", "db", "--no-up", "--leg", LEG)
    _, err = tool.run(command, "-o", "NONSENSE", code=2)
    columns = err.split("there are:")[1].split("\n")[0].split()
    text = re.search(rf"\.RS\n(?:.*\n)*?\.TP\n\.B {command}\n((?:[^.].*\n)+)", manual().split(
        "Of list, status and top: print only these columns")[1]).group(1)
    assert re.findall(r"\b[A-Z]+_?(?:[a-zA-Z]+/s|ms|us|[A-Z]+)?\b", text) == columns


def test_version(tool):
    assert tool.run("--version")[0].startswith("istripectl 0.")


def test_full_output_is_a_failure(tool):
    with open("/dev/full", "w") as full:
        process = tool.start("help", stdout=full)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 1 and "istripectl: standard output: No space left" in err


@pytest.mark.parametrize("words, code", [([], -signal.SIGPIPE), (["--watch=60"], 1)])
def test_output_that_nobody_reads(tool, words, code):
    tool.run("create", "db", "--no-up", "--leg", LEG)
    assert tool.unread("status", *words) == (code, "")


def test_four_legs_of_two_paths(tool):
    out, _ = tool.run("create", "db", "--chunk", "1M", "--set", "recovery_timeout=5s", *FOUR)
    assert out == "db: /dev/istripe0 (link: /dev/istripe/db)\n"
    assert tool.value("db/enable") == "1"
    assert tool.value("db/initiator_name") == "iqn.2026-01.a:host"
    assert tool.value("db/chunk_bytes") == str(1 << 20)
    assert tool.value("db/recovery_timeout_ms") == "5000"
    for i in range(4):
        first = {"target_name": f"iqn.2026-01.a:t{i}", "portal": f"192.0.2.1{i}:3260",
                 "nic": f"eth{i}", "lun": str(i)}
        assert path(tool, i) == first
        assert path(tool, i, 1) == {**first, "portal": f"192.0.3.1{i}:3260", "nic": f"eth{i + 4}"}
        assert not (tool.tree / f"db/legs/{i}/paths/2").exists()
    assert not (tool.tree / "db/legs/4").exists()


@pytest.mark.parametrize("words,metadata,create", [
    (["create"], "md", "1"), (["create", "-m", "md"], "md", "1"),
    (["create", "--force"], "md", "force"), (["create", "--metadata=none"], "none", "0"),
    (["create", "--set", "metadata_create=0"], "md", "0"),
    (["assemble"], "md", "0"), (["assemble", "-m", "none"], "none", "0"),
])
def test_metadata(tool, words, metadata, create):
    tool.run(*words, "--no-up", "--leg", LEG, "db")
    assert tool.value("db/metadata") == metadata
    assert tool.value("db/metadata_create") == create
    # A line that configures the volume again is never one that makes it again.
    line, _ = tool.run("show", "--command", "db")
    assert line.startswith("istripectl assemble db ") and "create" not in line
    assert f"--metadata {metadata} " in line


def test_inheritance(tool):
    tool.run("create", "db", "--no-up", "--all-paths", "ping_interval=3s,chap_user=all",
             "--leg", LEG + ",source=192.0.2.1,isid=00023d000001,chap_user=leg,lun=7",
             "--path", "portal=192.0.3.10,lun=8", "--path", "chap_user=",
             "--leg", "target=iqn.u,designator=naa.6001")
    common = {"target_name": "iqn.2026-01.a:t1", "ping_interval_ms": "3000"}
    assert path(tool) == {**common, "portal": "192.0.2.10:3260", "nic": "eth1", "lun": "7",
                          "source_address": "192.0.2.1", "isid": "00023d000001",
                          "chap_user": "leg"}
    assert path(tool, 0, 1) == {**common, "portal": "192.0.3.10:3260", "chap_user": "leg", "lun": "8"}
    assert path(tool, 0, 2) == {**common, "lun": "7"}
    assert path(tool, 1) == {"target_name": "iqn.u", "lun": "0", "ping_interval_ms": "3000",
                             "chap_user": "all"}
    assert tool.value("db/legs/1/designator") == "naa.6001"
    assert tool.value("db/enable") == "0"


def test_values_with_commas(tool):
    tool.run("create", "db", "--no-up", "--leg",
             LEG + ",header_digest=CRC32C,None,chap_user=a\\,b=c\\\\d e,lun=1")
    assert path(tool)["header_digest"] == "CRC32C,None"
    assert path(tool)["chap_user"] == "a,b=c\\d e"


@pytest.mark.parametrize("name,typed,value", [
    ("max_burst_length", "64K", "65536"), ("max_burst_length", "1M", "1048576"),
    ("max_burst_length", "64KB", "64KB"), ("max_burst_length", "0x10", "0x10"),
    ("ping_interval", "500ms", "500"), ("ping_interval", "5s", "5000"),
    ("ping_interval", "2min", "120000"), ("ping_interval_ms", "-1", "-1"),
    ("ping_interval", "1h", "3600000"), ("ping_interval", "2d", "172800000"),
    ("ping_interval", "0", "0"), ("ping_interval", "-1", "-1"), ("ping_interval_ms", "5", "5"),
    ("lun", "1K", "1K"),
])
def test_units(tool, name, typed, value):
    tool.run("create", "db", "--no-up", "--leg", f"{LEG},{name}={typed}")
    file = name if name in ("lun", "max_burst_length") else "ping_interval_ms"
    assert tool.value(f"db/legs/0/paths/0/{file}") == value


def test_a_setting_of_a_later_module(tool):
    tool.run("create", "db", "--no-up", "--leg", LEG + ",later_leg_setting=x",
             "--path", "portal=192.0.3.1")
    assert tool.value("db/legs/0/later_leg_setting") == "x"
    _, err = tool.run("create", "db2", "--no-up", "--leg", LEG, "--path", "later_leg_setting=x",
                      code=1)
    assert "give it in --leg" in err
    assert tool.volumes() == ["db"]


BLUEPRINTS = {
    "one": ["--leg", LEG],
    "none": ["--metadata", "none", "--leg", LEG],
    "four": ["--chunk", "256K", "--set", "queue_depth=7", *FOUR],
    "common": ["--all-paths", "chap_user=it's $me,header_digest=CRC32C,None", *FOUR],
    "back": ["--leg", LEG + ",chap_user=a,ping_interval=1s", "--path", "chap_user=,lun=3",
             "--path", "portal=192.0.3.1", "--leg", LEG],
    "odd": ["--leg", LEG + ",chap_user=a\\,b=c\\\\,designator=t10.x y", "--path", "nic="],
    "commas": ["--leg", LEG + ",chap_user=a\\,b\\,c=d\\,\\,e"],
    "same": ["--leg", "portal=", "--path", "portal="],
}


def shell_words(line):
    """The words of a command line as a shell hands them to the command."""
    script = f"istripectl() {{ printf '%s\\0' \"$@\"; }}\n{line}"
    out = subprocess.run(["sh", "-c", script], check=True, capture_output=True, text=True).stdout
    return out.split("\0")[:-1]


@pytest.mark.parametrize("name", BLUEPRINTS)
def test_round_trip(tool, name):
    typed = "a-typed-secret\n" * 16
    tool.run("assemble", "db", "--no-up", *BLUEPRINTS[name])
    before = json.loads(tool.run("show", "--json")[0])
    line, _ = tool.run("show", "--command", "db")
    tool.run("delete", "db")
    assert tool.volumes() == []
    words = shell_words(line)
    assert words[:2] == ["assemble", "db"]
    tool.run(*words, "--no-up", text_in=typed)
    assert json.loads(tool.run("show", "--json")[0]) == before
    assert tool.run("show", "--command", "db")[0] == line


def test_a_watch_of_no_volume_ends(tool):
    """1 is a name, and was meant for an interval."""
    tool.run("create", "db", "--no-up", "--leg", LEG)
    for words in (["1"], ["db", "1"]):
        out, err = tool.run("status", "--watch", *words, code=1)
        assert not out and err.count("there is no volume 1\n") == 1
        assert err.endswith(" next: --watch=1 for an interval\n")
    assert "--watch" not in tool.run("status", "--watch", "other", code=1)[1]


def test_round_trip_asks_for_secrets(tool):
    tool.run("create", "db", "--no-up", "--leg", LEG + ",chap_user=a,chap_secret=@-",
             "--path", "portal=192.0.3.1", "--leg", LEG, text_in="secret-of-leg-0\n" * 2)
    line, _ = tool.run("show", "--command")
    assert line.count("chap_secret=@-") == 2
    assert "secret-of" not in line


def test_no_line_for_a_volume_with_a_gap(tool):
    tool.run("create", "db", "--no-up", *FOUR)
    tree = tool.tree / "db/legs/1"
    tree.rename(tool.tree / "db/legs/9")
    _, err = tool.run("show", "--command", code=1)
    assert "leg 1 is missing" in err


def tree_values(directory):
    return {str(file.relative_to(directory)): file.read_text()
            for file in directory.rglob("*") if file.is_file()}


def test_dry_run_does_the_same(tool, tmp_path):
    """The lines, run by a shell in an empty tree, write what the tool would have written."""
    secret = tmp_path / "it's secret"
    secret.write_text("correct-horse\n")
    secret.chmod(0o600)
    words = ["create", "db", "--no-up", "--chunk", "64K", *BLUEPRINTS["odd"], *FOUR, "--all-paths",
             f"chap_secret=@{secret}"]
    script, err = tool.run(*words, "--dry-run")
    assert not err and tool.volumes() == []
    assert "correct-horse" not in script
    assert "/db/enable" not in script
    assert tool.run("create", "db", "--leg", LEG, "--dry-run")[0].endswith("/db/enable\n")
    shell = script.replace(str(tool.tree), str(tmp_path / "copy"))
    (tmp_path / "copy").mkdir()
    lines = []
    for line in shell.splitlines():
        lines.append(line)
        if line.startswith("mkdir "):
            kind = "legs" if line.endswith("/db") else "paths"
            lines.append(f"{line}/{kind}" if "/paths/" not in line else ":")
    subprocess.run(["sh", "-e"], input="\n".join(lines), text=True, check=True)
    tool.run(*words)
    made, dry = tree_values(tool.tree / "db"), tree_values(tmp_path / "copy/db")
    # The module has portals with their ports.
    dry = {name: f"{text.strip()}:3260\n" if name.endswith("/portal") else text
           for name, text in dry.items()}
    assert dry and {name: made[name] for name in dry} == dry


def test_dry_run_needs_no_module(tool):
    (tool.tree / "features").unlink()
    tool.tree.rmdir()
    out, _ = tool.run("create", "db", "--dry-run", "--no-up", "--leg",
                      LEG + ",designator=naa.1,chap_secret=@-")
    assert "/db/legs/0/designator" in out and "read -rs secret" in out and "enable" not in out


@pytest.mark.parametrize("typed, said", [
    ("ping_interval=5", "ping_interval: 5: a time needs a unit, ms, s, min, h or d: say 5s or 5ms"),
    ("login_retry_max=15", "ms, s, min, h or d: say 15s or 15ms"),
    ("ping_interval=5x", "ping_interval: 5x: a time is a number with ms, s, min, h or d"),
    ("ping_interval=5 s", "5 s: a time is a number with"),
])
def test_a_time_has_a_unit(tool, typed, said):
    _, err = tool.run("create", "db", "--leg", f"{LEG},{typed}", code=2)
    assert said in err and tool.volumes() == []


@pytest.mark.parametrize("typed, said", [
    ("staus", "did you mean status?"), ("lsit", "did you mean list?"), ("creat", "create?"),
    ("stop", "did you mean down?"), ("resize", "did you mean rescan?"),
])
def test_did_you_mean_a_command(tool, typed, said):
    _, err = tool.run(typed, code=2)
    assert f"there is no command {typed}\n" in err and said in err
    assert "did you mean" not in tool.run("sausage", code=2)[1]


TWIN = "paths {} and {} have the same portal and nic"


@pytest.mark.parametrize("first, second, warned", [
    ("portal=192.0.2.10,nic=eth1", "portal=192.0.2.10:3260,nic=eth1", True),
    ("portal=[2001:db8::1],nic=eth1", "portal=2001:db8::1,nic=eth1", True),
    ("portal=192.0.2.10,nic=eth1", "portal=192.0.2.10,nic=eth2", False),
    ("portal=192.0.2.10,nic=eth1", "portal=192.0.2.10:3261,nic=eth1", False),
    ("portal=2001:db8::3260,nic=eth1", "portal=2001:db8:,nic=eth1", False),
    ("portal=192.0.2.10,source=192.0.2.1", "portal=192.0.2.10,source=192.0.2.2", False),
])
def test_paths_that_are_one_way(tool, first, second, warned):
    _, err = tool.run("create", "db", "--no-up", "--leg", "target=iqn.t," + first, "--path", second)
    assert (TWIN.format(0, 1) in err) == warned
    tool.run("create", "db2", "--no-up", "--leg", "target=iqn.t," + first)
    _, err = tool.run("path", "add", "db2", "0", second)
    assert (TWIN.format(0, 1) in err) == warned


@pytest.mark.parametrize("words", [
    ["up", "{}"], ["down", "{}"], ["delete", "{}"], ["rescan", "{}"], ["show", "{}"], ["save", "{}"],
    ["status", "{}"], ["top", "--once", "{}"], ["list", "{}"], ["doctor", "{}"], ["apply", "{}"],
    ["up", "--saved", "{}"], ["set", "{}", "queue_depth=3"], ["path", "add", "{}", "0", "nic=eth2"],
    ["path", "remove", "{}", "0", "0"], ["path", "confirm", "--yes", "{}", "0", "0"],
])
def test_did_you_mean_a_volume(tool, words):
    """Every command that takes a volume's name."""
    for name in ("orders", "log"):
        tool.run("create", name, "--no-up", "--leg", LEG)
    tool.put("etc/istripe/orders.conf", "[leg 0]\nportal = 192.0.2.1")
    tool.put("etc/istripe/archive.conf", "[leg 0]\nportal = 192.0.2.1")
    for typed, meant in (("ordrs", "orders"), ("archve", "archive"), ("backup", None)):
        _, err = tool.run(*(word.format(typed) for word in words),
                          code=78 if words[0] == "up" else 1)
        assert ("did you mean" in err) == bool(meant)
        assert not meant or f"            did you mean {meant}?\n" in err
        assert "            volumes: log, orders\n" in err
        assert "            configuration files: archive, orders\n" in err
    assert tool.volumes() == ["log", "orders"]


def test_no_volume_at_all(tool):
    _, err = tool.run("up", "db", code=78)
    assert "there is no volume db\n" in err and "did you mean" not in err and "volumes:" not in err
    for number in range(25):
        tool.run("create", f"v{number:02}", "--no-up", "--leg", LEG)
    _, err = tool.run("up", "nobody", code=78)
    assert "volumes: v00, v01, " in err and "v19 and 5 more\n" in err


def test_twins_in_a_file(tool):
    tool.put("etc/istripe/db.conf", "[leg 0]\ntarget = iqn.t\n"
             "[leg 0 path 0]\nportal = 192.0.2.10\n[leg 0 path 1]\nportal = 192.0.2.10:3260\n")
    assert TWIN.format(0, 1) in tool.run("apply", "--dry-run", "db")[1]
    assert TWIN.format(0, 1) in tool.run("up", "db")[1]


def test_signals_that_the_caller_ignores(tool):
    """An ignored SIGCHLD is inherited: the system call that waits for a child fails then."""
    done = subprocess.run(
        [tool.program, "create", "db", "--leg", LEG], env=tool.env, capture_output=True, text=True,
        check=False, preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
    assert done.returncode == 0, done.stderr
    assert tool.value("db/enable") == "1"
