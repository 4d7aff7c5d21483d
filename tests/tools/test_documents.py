# SPDX-License-Identifier: GPL-2.0
"""Command lines in documents are understood; documents and tests have all commands and options."""

import ast
import re
import shlex

import pytest
from conftest import TOP

LEG = "target=iqn.2026-01.a:t1,portal=192.0.2.10,nic=eth1"
PAGES = sorted([TOP / "README", *(TOP / "Documentation").rglob("*.rst"),
                *(TOP / "packaging/debian").glob("*.README.Debian"),
                *(TOP / "tools/istripectl").glob("*.[578]")])
#: Words that stand for something.
STANDS_FOR = (
    (r"--initiator \.\.\.", "--initiator iqn.2026-01.a:host"), (r"--leg \.\.\.", f"--leg {LEG}"),
    (r"\bportal=P(\d)", r"portal=192.0.2.\1"), (r"\btarget=T\b", "target=iqn.2026-01.a:t"),
    (r"\btarget=T(\d)", r"target=iqn.2026-01.a:t\1"), (r"\b(NAME|log|data)\b|<volume>", "db"),
    (r"--leg N\b", "--leg 0"), (r"--path N\b", "--path 0"), (r"\bPORTAL\b", "192.0.2.1"),
    (r" \.\.\.", ""),
)
#: They end by a signal only, want a file of the machine, or write one into the current folder.
NOT_RUN = re.compile(r"^(report|monitor|top(?!.*--once)|.*--watch|.*--exec|discover|help|-)")


def joined(text):
    return re.sub(r"\s*\\\n\s*", " ", text)


def plain(page):
    """The text of a page, without the marks of a manual page."""
    text = page.read_text(encoding="utf-8")
    if page.suffix in (".5", ".7", ".8"):
        text = re.sub(r"^\.(?:[BI]R?|RB) (.*)", lambda m: m.group(1).replace('"', ""), text,
                      flags=re.MULTILINE)
        text = text.replace("\\-", "-").replace("\\e", "\\").replace("\\&", "")
    return text


def lines(page):
    """Whole command lines: in blocks and, with an argument, in literals."""
    text, indent = plain(page), r"(?:\t+| {2,})"
    if page.suffix in (".5", ".7", ".8"):
        text = "\n".join(re.findall(r"^\.nf\n((?:.*\n)*?)\.fi", text, re.MULTILINE))
        indent = r"\s*"
    found = re.findall(rf"^{indent}(?:.*(?:&&|\|\|) )?(istripectl [a-z].*)", joined(text),
                       re.MULTILINE)
    found += re.findall(r"``(istripectl\s[^`]*(?:\bdb\b|=)[^`]*)``", text)
    return [" ".join(line.split()) for line in found]


def mentions(page):
    """(command, option or nothing) that a page names anywhere."""
    text = plain(page)
    if page.suffix not in (".5", ".7", ".8"):
        text = "\n".join(re.findall(r"``([^`]+)``", text))
    for command, options in re.findall(r"istripectl\s([a-z]+)((?:\s+--[a-z-]+)*)", text):
        yield command, ""
        for option in options.split():
            yield command, option


def words(line):
    """The words of the command, without istripectl, to its end."""
    for pattern, meant in STANDS_FOR:
        line = re.sub(pattern, meant, line)
    return shlex.split(re.split(r"\s(?:\||\|\||&&|<|>)\s|;", line)[0], comments=True)[1:]


COMMANDS = sorted({(page.name, line) for page in PAGES for line in lines(page)})
#: Words behind the name of the program that are no command of it, and help.
PROSE = {"and", "for", "help", "is", "packaging", "with", "writes"}
MENTIONS = sorted({(page.name, *mention) for page in PAGES for mention in mentions(page)
                   if mention[0] not in PROSE})


def test_there_are_commands():
    assert len(COMMANDS) > 40 and len(MENTIONS) > 60
    assert {"README", "usage.rst", "istripectl.8", "istripe.7"} <= {page for page, _ in COMMANDS}


@pytest.mark.parametrize("page, command, option", MENTIONS)
def test_mentioned(tool, page, command, option):
    helped = tool.run(command, "--help")[0]
    assert re.search(rf"(?<![\w-]){option}(?![\w-])", helped), f"{page}: no {option}"


# The other way round: what the program has is in its manual page, and in a test.

MANUAL = plain(TOP / "tools/istripectl/istripectl.8")
OPTION = re.compile(r"(?<![\w-])(--?[A-Za-z][a-z-]*)")
#: Commands of others, and of istripectl, in the texts for --help.
EXAMPLE = re.compile(r"^ *(?:istripectl|systemctl|iscsiadm|-n node)[ .].*$", re.MULTILINE)


def helped():
    """{command: the text of its --help}, out of main.c."""
    text = (TOP / "tools/istripectl/main.c").read_text(encoding="utf-8")
    shared = {name: body for name, body in re.findall(
        r"^#define (\w+_DETAILS) \\\n((?:.*\\\n)*.*)", text, re.MULTILINE)}
    details = {name: re.sub("|".join(shared), lambda match: shared[match.group()], body)
               for name, body in re.findall(r"^static const char (\w+)\[\] =\n((?:.*\n)*?.*);$", text,
                                            re.MULTILINE)}
    rows = re.findall(r'^\t\{ "(\w+)", "([^"]*)",\s+"[^"]*",\s+(\w+),', text, re.MULTILINE)
    return {name: "\n".join([synopsis, *re.findall(r'"(.*?)(?:\\n)?"', details[body])])
            for name, synopsis, body in rows}


HELPED = helped()
OPTIONS = sorted({(command, option) for command, text in HELPED.items()
                  for option in OPTION.findall(EXAMPLE.sub("", text))})


def section(name):
    return MANUAL.split(f".SH {name}\n")[1].split("\n.SH ")[0]


def entries(name):
    """The headings of a section."""
    return re.findall(r"^\.T[PQ]\n(.*)", section(name), re.MULTILINE)


def same(command, option):
    """The option and its other form, as -o and --output."""
    rows = re.findall(r"^ *(-\w), (--[a-z-]+)", HELPED[command], re.MULTILINE)
    return next((set(row) for row in rows if option in row), {option})


def synopses(command):
    """The lines of the synopsis of a command."""
    return [text for text in section("SYNOPSIS").split(".br\n")
            if re.search(rf"(\bistripectl|\|) +{command}\b", text)]


def test_the_module_has_no_parameters():
    """usage.rst says so, and how a file in modprobe.d keeps the module out all the same."""
    text = " ".join((TOP / "Documentation/usage.rst").read_text(encoding="utf-8").split())
    assert "The module has no parameters, " in text and "``install istripe /bin/false``" in text
    sources = [file.read_text(encoding="utf-8") for file in (TOP / "drivers").rglob("*.c")]
    assert sources and not [text for text in sources if "module_param" in text]


def test_there_are_options():
    assert len(HELPED) > 20 and len(OPTIONS) > 70
    assert {("create", "--nics"), ("import", "--once"), ("path", "--yes"), ("list", "-P"),
            ("top", "--json"), ("assemble", "--leg")} <= set(OPTIONS)
    assert ("monitor", "--now") not in OPTIONS and ("assemble", "--command") not in OPTIONS
    assert same("list", "--pairs") == {"-P", "--pairs"} and same("up", "--all") == {"--all"}


@pytest.mark.parametrize("command", HELPED)
def test_the_manual_has_the_command(command):
    assert synopses(command)
    assert [one for one in entries("COMMANDS") if re.match(rf"(\.B )?{command}\b", one)]


@pytest.mark.parametrize("command, option", OPTIONS)
def test_the_manual_has_the_option(command, option):
    """An entry, and a place in the synopsis."""
    assert [one for one in entries("OPTIONS") + entries("COMMANDS") if option in OPTION.findall(one)]
    assert [text for text in synopses(command)
            if "[ options ]" in text or same(command, option) & set(OPTION.findall(text))]


def strings(node):
    """The words of all texts below a node, and the names that it uses."""
    found, names = set(), set()
    for below in ast.walk(node):
        if isinstance(below, ast.Constant) and isinstance(below.value, str):
            found.update(below.value.split())
        elif isinstance(below, ast.Name):
            names.add(below.id)
    return found, names


def used_by(file):
    """For each test of a file: its words, and those of all that it uses of the file."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    parts = {}
    for node in tree.body:
        for target in getattr(node, "targets", [node]):
            parts[getattr(target, "name", getattr(target, "id", ""))] = strings(node)
    for test in [name for name in parts if name.startswith("test_")]:
        words_of, todo, seen = set(), [test], set()
        while todo:
            name = todo.pop()
            if name in seen or name not in parts:
                continue
            seen.add(name)
            words_of |= parts[name][0]
            todo.extend(parts[name][1])
        yield {word.split("=")[0] for word in words_of}


@pytest.fixture(scope="module")
def tested():
    """The words of each test but those about documents and completion, which run nothing."""
    files = [file for folder in ("tools", "system", "boot") for file in
             (TOP / "tests" / folder).rglob("test_*.py")
             if not file.name.startswith(("test_documents", "test_completion"))]
    return [words_of for file in sorted(files) for words_of in used_by(file)]


@pytest.mark.parametrize("command, option", OPTIONS)
def test_a_test_has_the_option(tested, command, option):
    assert [one for one in tested if command in one and same(command, option) & one]


@pytest.fixture
def volume(tool):
    """db: two legs of two paths, and its file."""
    (tool.root / "etc/istripe").mkdir(parents=True)
    paths = ["--path", "portal=192.0.3.10,nic=eth2"]
    tool.run("create", "db", "--no-up", "--save", "--leg", LEG, *paths,
             "--leg", LEG.replace("t1", "t2"), *paths)
    return tool


def check_options(helped, rest):
    for word in rest:
        name = word.split("=")[0]
        if re.match(r"--?[a-z]", word):
            assert re.search(rf"(?<![\w-]){name}(?![\w-])", helped), f"there is no {name}"


@pytest.mark.parametrize("page, line", COMMANDS)
def test_command(volume, page, line):
    command, *rest = words(line)
    check_options(volume.run(command, "--help")[0], rest)
    if NOT_RUN.match(f"{command} {' '.join(rest)}") or "--discover" in rest:
        return
    if command in ("create", "assemble"):
        volume.run("delete", "db")
        volume.run(command, *rest, "--dry-run")
        # Names and values are looked at when they are written.
        if not any("@" in word for word in rest):
            kept = [word for word in rest if word not in ("--save", "--boot", "--dry-run")]
            volume.run(command, *kept, "--no-up")
    elif command == "set":
        volume.run(command, *rest)
    else:
        process = volume.start(command, *rest)
        out, err = process.communicate("", timeout=60)
        assert process.returncode in (0, 1), f"{page}: {line}\n{out}{err}"
