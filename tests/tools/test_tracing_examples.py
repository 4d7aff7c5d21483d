# SPDX-License-Identifier: GPL-2.0
"""Documentation/tracing.rst: tracepoints and fields that it names are there."""

import re

import pytest
from conftest import TOP

TEXT = (TOP / "Documentation/tracing.rst").read_text(encoding="utf-8")
HEADER = (TOP / "include/trace/events/istripe.h").read_text(encoding="utf-8")
#: {question: program of bpftrace}
EXAMPLES = dict(re.findall(r"^([A-Z][^\n]*\?)\n=+\n(?:(?!^=====).*\n)*?.*\tbpftrace -e '\n((?:\t.*\n)+)",
                           TEXT, re.MULTILINE))


def fields():
    """{tracepoint: its fields}."""
    found, classes = {}, {}
    for kind, name, body in re.findall(
            r"^(TRACE_EVENT|DECLARE_EVENT_CLASS)\((\w+),(.*?)\n\);", HEADER, re.MULTILINE | re.DOTALL):
        entries = re.findall(r"__(?:string|field|array)\((?:u\w+|int), (\w+)|__string\((\w+)", body)
        (found if kind == "TRACE_EVENT" else classes)[name] = {a or b for a, b in entries}
    for of, name in re.findall(r"^DEFINE_EVENT\((\w+), (\w+),", HEADER, re.MULTILINE):
        found[name] = classes[of]
    return found


def test_there_are_examples():
    assert len(EXAMPLES) >= 7 and len(fields()) == 5


def test_the_table_has_all_tracepoints():
    table = re.findall(r"^(istripe_\w+) {2,}", TEXT, re.MULTILINE)
    assert sorted(table) == sorted(fields())


@pytest.mark.parametrize("question", EXAMPLES)
def test_tracepoints_and_fields(question):
    program, known = EXAMPLES[question], fields()
    probes = re.split(r"tracepoint:(\w+:\w+)", program)
    assert len(probes) > 1
    for name, body in zip(probes[1::2], probes[2::2], strict=True):
        system, event = name.split(":")
        if system != "istripe":
            continue
        assert set(re.findall(r"args->(\w+)", body)) <= known[event], event
    assert program.count("{") == program.count("}")
    assert program.rstrip().endswith("}'")


def test_perf_names_tracepoints():
    names = re.findall(r"istripe:(istripe_\w+)", TEXT.split("perf record")[1].split("\n")[0])
    assert len(names) == 3 and set(names) <= set(fields())
