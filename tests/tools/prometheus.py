# SPDX-License-Identifier: GPL-2.0
"""A reader of Prometheus' text format 0.0.4 that is as strict as promtool check metrics."""

import re

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\n"])*)"(,|$)')
SAMPLE = re.compile(rf"({NAME})(?:\{{(.*)\}})? ([-+.0-9eE]+|[+-]Inf|NaN)")
ESCAPES = {"\\\\": "\\", "\\n": "\n", '\\"': '"'}


class Wrong(Exception):
    pass


def demand(condition, line):
    if not condition:
        raise Wrong(line)


def labels(text, line):
    found = {}
    while text:
        match = LABEL.match(text)
        demand(match and match[1] not in found and not match[1].startswith("__"), line)
        found[match[1]] = re.sub(r'\\[\\n"]', lambda escape: ESCAPES[escape[0]], match[2])
        text = text[match.end():]
        demand(match[3] == "," or not text, line)
    return found


class Family:
    def __init__(self, help_text):
        self.help, self.type, self.samples = help_text, None, {}


def parse(text):
    """{name: Family}; samples are {labels as pairs, sorted: number}."""
    demand(text.endswith("\n") or not text, "no newline at the end")
    families, now = {}, None
    for line in text.splitlines():
        if match := re.fullmatch(rf"# HELP ({NAME}) (.+)", line):
            demand(match[1] not in families and not re.search(r"\\[^\\n]", match[2]), line)
            now = match[1]
            families[now] = Family(match[2])
        elif match := re.fullmatch(rf"# TYPE ({NAME}) (counter|gauge)", line):
            # Once, behind the help, before the samples.
            demand(match[1] == now and families[now].type is None, line)
            demand(not families[now].samples, line)
            families[now].type = match[2]
            demand((match[2] == "counter") == now.endswith("_total"), line)
        else:
            match = SAMPLE.fullmatch(line)
            demand(match and match[1] == now and families[now].type, line)
            key = tuple(sorted(labels(match[2] or "", line).items()))
            demand(key not in families[now].samples, line)
            families[now].samples[key] = float(match[3])
    demand(all(family.samples for family in families.values()), "a family without samples")
    return families
