# SPDX-License-Identifier: GPL-2.0
"""What bash offers behind a command line that is not finished."""

import re
import subprocess

import pytest
from conftest import TOP

SCRIPT = TOP / "tools" / "istripectl" / "istripectl.bash"
#: As bash would call the function: words are cut at = and :, too.
CALL = r"""
. "$1"; _istripectl_tree=$2; COMP_LINE=$3; COMP_POINT=${#3}
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
    for name in ("designator", "policy", "unfenced"):
        (tmp_path / "db/legs/0" / name).touch()

    def offer(line):
        out = subprocess.run(["bash", "-c", CALL, "bash", SCRIPT, tmp_path, line], check=True,
                             capture_output=True, text=True)
        assert out.stderr == ""
        return set(out.stdout.split())

    return offer


@pytest.mark.parametrize("line, replies", [
    ("istripectl pa", {"path"}),
    ("istripectl path ", {"add", "remove"}),
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
    ("istripectl create new --leg fence=", {"auto", "path"}),
    ("istripectl create new --leg alua=", {"on", "off"}),
    ("istripectl create new --set host_disks=c", {"claim"}),
    ("istripectl up --wait ", {"30", "5min", "forever"}),
    ("istripectl up ", {"--wait", "db", "log"}),
    ("istripectl down ", {"--force", "db", "log"}),
])
def test_offered(offered, line, replies):
    assert offered(line) == replies


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
    values = re.findall(r"_istripectl_values (\w+) ([^)]*)\)", script)
    assert len(values) == 4
    for name, words in values:
        assert words.replace("\\\n", " ").split() == settings[name]
