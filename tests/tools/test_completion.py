# SPDX-License-Identifier: GPL-2.0
"""What bash offers behind a command line that is not finished."""

import os
import pty
import re
import select
import subprocess
import time

import pytest
from conftest import TOP

SCRIPT = TOP / "tools" / "istripectl" / "istripectl.bash"
#: As bash would call the function: words are cut at = and :, too.
CALL = r"""
. "$1"; _istripectl_tree=$2; _istripectl_conf=$2.conf; COMP_LINE=$3; COMP_POINT=${#3}
compopt() { :; }
mapfile -t COMP_WORDS < <(grep -oE '[=:]|[^=: ]+' <<<"$3")
[[ $3 != *[=:\ ] ]] || COMP_WORDS+=("")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_istripectl
printf '%s\n' "${COMPREPLY[@]}"
"""


@pytest.fixture
def offered(tmp_path):
    for path in ("db/legs/0/paths/0", "db/legs/0/paths/1", "db/legs/1/paths/0", "log/legs/0"):
        (tmp_path / path).mkdir(parents=True)
    for name in ("portal", "nic", "weight", "enable", "last_error"):
        (tmp_path / "db/legs/0/paths/0" / name).touch()
    (tmp_path / "db/legs/1/paths/0/target_name").write_text("iqn.2026-01.a\n")
    files = tmp_path.with_name(f"{tmp_path.name}.conf")
    files.mkdir()
    for name in ("old.conf", "log.conf", "log.conf.new"):
        (files / name).touch()
    for name in ("designator", "policy", "unfenced"):
        (tmp_path / "db/legs/0" / name).touch()

    def offer(line):
        out = subprocess.run(["bash", "-c", CALL, "bash", SCRIPT, tmp_path, line], check=True,
                             capture_output=True, text=True)
        assert out.stderr == ""
        words = out.stdout.split()
        assert len(words) == len(set(words))
        return set(words)

    return offer


@pytest.mark.parametrize("line, replies", [
    ("istripectl pa", {"path"}),
    ("istripectl path ", {"add", "remove", "confirm"}),
    ("istripectl path r", {"remove"}),
    ("istripectl path add ", {"db", "log"}),
    ("istripectl path add db ", {"0", "1"}),
    ("istripectl path add db 0 ", {"target=", "portal=", "nic=", "weight="}),
    ("istripectl path add db 0 portal=192.0.2.1,wei", {"192.0.2.1,weight="}),
    ("istripectl path remove db 0 ", {"0", "1"}),
    ("istripectl path remove db 1 ", {"0"}),
    ("istripectl path remove db 1 0 ", set()),
    ("istripectl create new --leg por", {"portal="}),
    ("istripectl create new --metadata ", {"md", "none"}),
    ("istripectl create new --leg po", {"portal=", "policy="}),
    ("istripectl create new --leg un", set()),
    ("istripectl create new --leg fence=", {"auto", "session", "path"}),
    ("istripectl create new --leg alua=", {"on", "off"}),
    ("istripectl create new --leg multi=s", {"sessions"}),
    ("istripectl create new --leg lun=1,header_digest=C", {"CRC32C"}),
    ("istripectl create new --leg initial_r2t=", {"Yes", "No"}),
    ("istripectl create new --all-paths congestion_control=cub", {"cubic"}),
    ("istripectl create new --leg nic=l", {"lo"}),
    ("istripectl create new --leg target=iqn.2026-01.a", {"iqn.2026-01.a"}),
    ("istripectl create new --leg lun=", set()),
    ("istripectl create new --chunk 1", {"16K", "1M"}),
    ("istripectl set db chunk=2", {"256K"}),
    ("istripectl create new --set host_disks=c", {"claim"}),
    ("istripectl up --wait ", {"30", "5min", "forever"}),
    ("istripectl up ", {"--wait", "--saved", "--all", "--create", "--dry-run", "db", "log", "old"}),
    ("istripectl apply ", {"--dry-run", "--secrets", "old", "log"}),
    ("istripectl save ", {"--boot", "--dry-run", "db", "log"}),
    ("istripectl show --co", {"--command", "--conf"}),
    ("istripectl create new --sa", {"--save"}),
    ("istripectl list -o ", {"VOLUME", "DEVICE", "STATE", "SIZE", "LEGS", "PATHS"}),
    ("istripectl monitor ", {"--json", "--program", "--exec"}),
    ("istripectl me", {"metrics"}),
    ("istripectl metrics ", {"--output"}),
    ("istripectl exa", {"examine"}),
    ("istripectl report ", {"--output", "db", "log", "old"}),
    ("istripectl set ", {"--dry-run", "db", "log"}),
    ("istripectl set db --leg ", {"0", "1"}),
    ("istripectl set db --leg 0 --path ", {"0", "1"}),
    ("istripectl set db --leg 0 po", {"policy="}),
    ("istripectl set db --leg 0 --path 0 wei", {"weight="}),
    ("istripectl set db --leg 0 fence=", {"auto", "session", "path"}),
    ("istripectl set db --l", {"--leg"}),
    ("istripectl to", {"top"}),
    ("istripectl top --o", {"--once", "--output"}),
    ("istripectl top --interval ", {"1", "5", "500ms", "1min"}),
    ("istripectl top -o R", {"READ_MB/s", "RETRIES", "RECONNECTS", "RETRANS"}),
    ("istripectl status --w", {"--watch"}),
    ("istripectl status -o W", {"WHERE"}),
    ("istripectl status -o NAME,ST", {"NAME,STATE"}),
    ("istripectl create new --leg chap_algorithms=SHA", {"SHA3-256", "SHA256", "SHA1"}),
    ("istripectl list ",
     {"--json", "--output", "--noheadings", "--pairs", "db", "log", "old"}),
    ("istripectl list --", {"--json", "--output", "--noheadings", "--pairs"}),
    ("istripectl discover 192.0.2.1 --l", {"--luns"}),
    ("istripectl discover 192.0.2.1 --chap u", {"user="}),
    ("istripectl discover --nic l", {"lo"}),
    ("istripectl discover 192.0.2.1 --chap user=me,mutual_s", {"me,mutual_secret=@"}),
    ("istripectl create db --disc", {"--discover"}),
    ("istripectl create db --discover 192.0.2.1 --n",
     {"--no-up", "--no-save", "--no-boot", "--nics"}),
    ("istripectl create db --nics l", {"lo"}),
    ("istripectl create db --nics eth9,l", {"eth9,lo"}),
    ("istripectl create db --chap s", {"secret=@"}),
    ("istripectl assemble db --y", set()),
    ("istripectl import db --t", {"--take-over", "--table"}),
    ("istripectl import db --o", {"--once"}),
    ("istripectl import db --p", {"--path"}),
    ("istripectl import db --leg lun=1 --path tar", {"target="}),
    ("istripectl import db --leg por", {"portal="}),
    ("istripectl import db --leg lun=1,fro", {"1,from_node="}),
    ("istripectl import db --leg from_node=", {"yes", "no"}),
    ("istripectl create new --leg fro", set()),
    ("istripectl import db --metadata m", {"md"}),
    ("istripectl down ", {"--force", "--all", "--dry-run", "db", "log"}),
    ("istripectl delete ", {"--force", "--dry-run", "db", "log"}),
    ("istripectl rescan --", {"--json", "--dry-run"}),
    ("istripectl path add --d", {"--dry-run"}),
    ("istripectl path confirm --yes db ", {"0", "1"}),
    ("istripectl rec", {"reconnect"}),
    ("istripectl reconnect ", {"db", "log"}),
    ("istripectl reconnect --force db ", {"0", "1"}),
    ("istripectl reconnect --timeout 5 db 0 ", {"0", "1"}),
    ("istripectl reconnect db 1 ", {"0"}),
    ("istripectl reconnect db 1 0 ", set()),
    ("istripectl reconnect db --", {"--force", "--timeout", "--json", "--dry-run", "--help"}),
    ("istripectl reconnect db --timeout ", {"30", "5min", "forever"}),
    ("istripectl do", {"down", "doctor"}),
    ("istripectl doctor ", {"--json", "--list", "db", "log"}),
])
def test_offered(offered, line, replies):
    assert offered(line) == replies


#: A shell for a terminal, in which the tool only tells what it was called with.
INTERACTIVE = r"""
. "$SCRIPT"; _istripectl_tree=$PWD/tree; _istripectl_conf=$PWD/conf; PS1=READY
istripectl() { printf '%s\n' "$@" >called.new; mv called.new called; }
"""
NAMES = ["v$(touch${IFS}pwned)", "v`touch pwned`", "v two words", "v;&*'\"\\"]


@pytest.fixture
def terminal(tmp_path):
    """Types a line, a tab and a return; returns the words that the tool is called with."""
    (tmp_path / "rc").write_text(INTERACTIVE)
    master, slave = pty.openpty()
    shell = subprocess.Popen(
        ["bash", "--noprofile", "--rcfile", "rc", "-i"], stdin=slave, stdout=slave, stderr=slave,
        cwd=tmp_path, env={**os.environ, "SCRIPT": str(SCRIPT), "INPUTRC": "/dev/null",
                           "TERM": "dumb", "HISTFILE": "/dev/null"}, start_new_session=True)
    os.close(slave)

    def until(done):
        seen, end, late = "", time.monotonic() + 60, False
        while not done(seen):
            assert not late, seen
            late = time.monotonic() > end
            if select.select([master], [], [], 0.1)[0]:
                seen += os.read(master, 4096).decode(errors="replace")

    def typed(line):
        until(lambda seen: "READY" in seen)
        os.write(master, f"{line}\t\r".encode())
        until(lambda _: (tmp_path / "called").exists())
        return (tmp_path / "called").read_text().splitlines()

    yield typed
    shell.kill()
    shell.wait()
    os.close(master)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("before", [
    "examine files/", "monitor --program files/", "monitor --exec files/", "metrics --output files/",
    "report -o files/", "create new --leg chap_secret=@files/", "create new --chap secret=@files/",
    "create new --leg chap_secret=@files/v", "create new --chap user=me,secret=@files/v"])
def test_file_names_are_only_names(terminal, tmp_path, before, name):
    """What anybody may call a file is offered whole, and the shell does not execute it."""
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / name).touch()
    words = f"{before.removesuffix('v')}{name}".split(" ", before.count(" "))
    assert terminal(f"istripectl {before}") == words
    assert not (tmp_path / "pwned").exists()


@pytest.mark.parametrize("name", [name for name in NAMES if " " not in name])
@pytest.mark.parametrize("before, place", [
    ("down ", "tree/{}/"), ("up ", "conf/{}.conf"), ("apply ", "conf/{}.conf"),
    ("status ", "tree/{}/"), ("set ", "tree/{}/"), ("path add ", "tree/{}/"),
    ("reconnect db ", "tree/db/legs/{}/"),
    ("create new --leg target=", "tree/db/legs/0/paths/0/target_name"),
    ("create new --leg lun=1,target=", "tree/db/legs/0/paths/0/target_name")])
def test_names_of_the_tree_are_only_names(terminal, tmp_path, before, place, name):
    file = tmp_path / place.format(name)
    if place.endswith("/"):
        file.mkdir(parents=True)
    else:
        file.parent.mkdir(parents=True)
        file.write_text(name + "\n")
    assert terminal(f"istripectl {before}v") == f"{before}{name}".split()
    assert not (tmp_path / "pwned").exists()


def table():
    """{name: (kind, arguments)} of all settings of the driver."""
    text = (TOP / "include/istripe/settings.h").read_text(encoding="utf-8")
    rows = re.findall(r'_row\((\w+), \w+, \w+, "[^"]*", (\w+),[\s\\]*\(([^)]*)\)\)', text)
    choices = {name: re.findall(r'"([^"]*)"', body) for name, body in
               re.findall(r"#define (\w+)_CHOICES\(_choice\)((?:.*\\\n)+.*)", text)}
    return {name: choices[arguments.split()[-1].removesuffix("_CHOICES")] if kind == "choice"
            else None for name, kind, arguments in rows}


def test_lists_are_of_the_table():
    """What is offered before there is a volume, and the values of choices."""
    script, settings = SCRIPT.read_text(encoding="utf-8"), table()
    assert len(settings) > 40
    usual = " ".join(re.findall(r"_istripectl_settings '[^']*' \\?\s*'([^']*)'", script)).split()
    assert len(usual) > 20
    assert [name for name in usual if not {name, f"{name}_ms"} & set(settings)] == []


def test_settings_of_a_path_are_the_same_in_both_shells():
    """Those that are offered before there is a volume; target and source are short for others."""
    lists = [re.search(r"_istripectl_settings '\*/legs/0/paths/0' ([^}]*)", (SCRIPT.parent / shell)
                       .read_text(encoding="utf-8")).group(1)
             for shell in ("istripectl.bash", "_istripectl")]
    bash, zsh = (re.findall(r"\w+", names) for names in lists)
    assert len(bash) > 15
    assert zsh == ["target", *(name.removesuffix("_address") for name in bash)]


@pytest.mark.parametrize("shell", ["istripectl.bash", "_istripectl"])
def test_values_are_those_of_the_table(shell):
    """All settings of the kind choice have their values in both shells."""
    body = (SCRIPT.parent / shell).read_text(encoding="utf-8").split("_istripectl_choices() {")[1]
    offered = {name: values.split() for names, values in re.findall(
        r"^\t([\w |]+)\) echo (.*) ;;$", body.split("\n}\n")[0], re.MULTILINE)
        for name in names.split(" | ")}
    choices = {name: values for name, values in table().items() if values}
    assert len(choices) > 5
    assert {name: offered.get(name) for name in choices} == choices


@pytest.mark.parametrize("command", ["list", "status", "top"])
def test_columns_are_those_of_the_program(tool, command):
    """In both shells."""
    tool.run("create", "db", "--no-up", "--leg", "target=iqn.2026-01.a:t1,portal=192.0.2.10")
    _, err = tool.run(command, "-o", "NONSENSE", code=2)
    columns = err.split("there are:")[1].split("\n")[0].split()
    bash, zsh = (re.sub(r"\s+", " ", (SCRIPT.parent / shell).read_text(encoding="utf-8"))
                 for shell in ("istripectl.bash", "_istripectl"))
    assert f"--output:{command}) options='{' '.join(columns)}'" in bash
    assert f" {command}) columns=({' '.join(columns)})" in zsh


# zsh

ZSH = TOP / "tools" / "istripectl" / "_istripectl"
MAIN = TOP / "tools" / "istripectl" / "main.c"


#: Commands whose --dry-run is that of $dry_run; others have a text of their own.
DRY = ("save", "up", "down", "delete", "rescan", "reconnect")


def test_zsh_has_every_command_and_option():
    """The commands of main.c, and for each the options that its help has."""
    script, main = ZSH.read_text(encoding="utf-8"), MAIN.read_text(encoding="utf-8")
    commands = re.findall(r'^\t\{ "(\w+)",', main, re.MULTILINE)
    assert len(commands) > 10
    assert [name for name in commands if f"\t\t'{name}:" not in script] == []
    arms = {name: arm for names, arm in re.findall(
        r"^\t([\w |]+)\)((?:.*\n)*?.*;;)", script.split("_istripectl_options()")[1], re.MULTILINE)
        for name in names.split(" | ")}
    for name, synopsis in re.findall(r'^\t\{ "(\w+)", "([^"]*)"', main, re.MULTILINE):
        for option in set(re.findall(r"--[a-z-]+", synopsis)) - {"--noheadings"}:
            word = {"--json": "$json", "--wait": "$wait", "--force": "force", "--boot": "$boot",
                    "--save": "$save", **({"--dry-run": "$dry_run"} if name in DRY else {}),
                    "--chap": "$chap", "--discover": "$discovery", "--nics": "$discovery"}.get(option, option)
            assert word in arms[name], f"{name} {option}"


def test_zsh_is_installed(tmp_path):
    out = subprocess.run(["make", "-n", "-C", ZSH.parent, "install", f"DESTDIR={tmp_path}"],
                         check=True, capture_output=True, text=True).stdout
    assert f"{tmp_path}/usr/local/share/zsh/site-functions/_istripectl" in out
    assert f"{tmp_path}/usr/local/share/bash-completion/completions/istripectl" in out
