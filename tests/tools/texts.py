# SPDX-License-Identifier: GPL-2.0
"""Texts of C sources, with ... for what varies, and what is in manual pages of them."""

import re
import subprocess

from conftest import TOP

STRING = r'"((?:[^"\\\n]|\\.)*)"'
#: A conversion; those of the kernel may have letters and digits behind %p.
CONVERSION = re.compile(r"%(?:%|pISpc|pISc|\*pE|4phN|\*pbl|pe|[-0-9*.]*[hlz]*[a-zA-Z])")
#: Adjacent literals, with names of macros that are literals between them.
MACRO = r"\b[A-Z][A-Z_]{2,}\b"
GROUP = re.compile(rf"(?:{MACRO}\s*(?={STRING}))?{STRING}(?:\s*(?:{STRING}|{MACRO}))*")
#: Calls that say what is wrong; the first literal is a format, and so are others with conversions.
CALL = re.compile(r"\b(fault_(?:set|add|append)|fprintf|fputs|perror|left_add)\(")


def shell_words(command):
    """The words that a shell makes of a command's."""
    return subprocess.run(["sh", "-c", f"printf '%s\\0' {command}"], check=True, text=True,
                          stdout=subprocess.PIPE).stdout.split("\0")[:-1]


def varies(text):
    """The text with ... for each conversion."""
    text = re.sub(r"\.\.\.(\s*\.\.\.)+", "...", CONVERSION.sub("...", text))
    return text.replace('\\"', '"').replace("\\\\", "\\")


def general(literals):
    """The text of adjacent literals, with ... for what differs."""
    text = "".join(re.findall(STRING, literals)).removesuffix("\\n")
    return " ".join(varies(text).split())


def pieces(text):
    """The words of a text between those that vary."""
    return [piece.strip() for piece in text.split("...") if re.search(r"\w{2}", piece)]


def covers(message, text):
    """The pieces of the text are in the message, in order."""
    return re.search(".*".join(re.escape(piece) for piece in pieces(text)), message, re.DOTALL)


def entries(page):
    """What a manual page has as bold headings."""
    found = re.findall(r"^\.T[PQ]\n\.B (.*)", page, re.MULTILINE)
    return [re.sub(r'^"(.*)"$', r"\1", text).replace('""', '"').replace("\\-", "-")
            .replace("\\e", "\\").replace("\\&", "") for text in found]


# The texts of istripectl.

def call_end(text, at):
    """The end of the call whose bracket is before this place."""
    depth = 1
    for match in re.compile(rf"{STRING}|'.'|[()]").finditer(text, at):
        depth += {"(": 1, ")": -1}.get(match.group(), 0)
        if not depth:
            return match.end()
    raise ValueError(text[at:at + 80])


def formats(text):
    """Groups of literals of a source that are printed as errors."""
    for match in CALL.finditer(text):
        call = text[match.start():call_end(text, match.end())]
        if match.group(1) in ("fprintf", "fputs") and not re.search(r'stderr,\s*"istripectl:|stderr\)$',
                                                                    call):
            continue
        for number, group in enumerate(GROUP.finditer(call)):
            if not number or "%" in group.group():
                yield group.group()
    # Those that a table has, or a ternary.
    for match in GROUP.finditer(text):
        if "next: " in match.group():
            yield match.group()


def lines(group):
    """(line, whether it is advice) of a group of literals."""
    parts = re.findall(rf"{STRING}|({MACRO})", group)
    text = "".join("..." if macro else literal for literal, macro in parts)
    advice = False
    for line in varies(text).split("\\n"):
        advice = advice or line.startswith(("next: ", " "))
        yield line.removeprefix("istripectl: "), advice


def errors():
    """{line: whether it is advice} of all errors of istripectl but those of the checks of doctor."""
    found = {}
    for file in sorted((TOP / "tools/istripectl").glob("*.c")):
        if file.name.startswith("doctor"):
            continue
        for group in formats(file.read_text(encoding="utf-8")):
            for line, advice in lines(group):
                if pieces(line):
                    found[line] = found.get(line, True) and advice
    return found


def doctor_texts():
    """{text: its parts between what differs}, of all that checks of doctor say in two words or more."""
    found = {}
    for file in sorted((TOP / "tools/istripectl").glob("doctor*.c")):
        source = re.sub(r"/\*.*?\*/", "", file.read_text(encoding="utf-8"), flags=re.DOTALL)
        for match in GROUP.finditer(source):
            text = "".join(re.findall(STRING, match.group())).replace('\\"', '"').replace("\\\\", "\\")
            if len(CONVERSION.sub(" ", text).split()) > 1 and not text.startswith("/"):
                found[general(match.group())] = CONVERSION.split(text)
    return found


def has_parts(text, parts):
    """The parts are in the text, in order."""
    at = 0
    for part in parts:
        found = text.find(part, at)
        if found < 0:
            return False
        at = found + len(part)
    return True
