# SPDX-License-Identifier: GPL-2.0
"""A reader of Prometheus' text format 0.0.4 that is as strict as promtool check metrics."""

import re

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\n"])*)"(,|$)')
SAMPLE = re.compile(rf"({NAME})(?:\{{(.*)\}})? ([-+.0-9eE]+|[+-]Inf|NaN)")
PARTS = re.compile("(.+)_(bucket|sum|count)")
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


class Histogram:
    """Of one set of labels: buckets are {bound as text: number}."""

    def __init__(self):
        self.buckets, self.sum, self.count = {}, None, None

    def add(self, part, bound, number, line):
        if part == "bucket":
            demand(bound is not None and bound not in self.buckets, line)
            # Bounds grow, +Inf is the last, and the numbers are cumulative.
            for before, less in self.buckets.items():
                demand(float(before) < float(bound) and less <= number, line)
            self.buckets[bound] = number
        else:
            demand(bound is None and getattr(self, part) is None, line)
            setattr(self, part, number)

    def check(self, name):
        demand(list(self.buckets)[-1:] == ["+Inf"], f"{name}: no +Inf")
        demand(self.buckets["+Inf"] == self.count, f"{name}: +Inf is not its count")
        demand(self.sum is not None and len(self.buckets) > 1, f"{name}: no sum, or one bucket")


class Family:
    def __init__(self, help_text):
        self.help, self.type, self.samples = help_text, None, {}


def sample_add(family, now, match, line):
    found = labels(match[2] or "", line)
    part = PARTS.fullmatch(match[1]) if family.type == "histogram" else None
    demand((part[1] if part else match[1]) == now, line)
    demand(bool(part) == (family.type == "histogram") and (part or "le" not in found), line)
    bound = found.pop("le", None) if part else None
    key = tuple(sorted(found.items()))
    if part:
        family.samples.setdefault(key, Histogram()).add(part[2], bound, float(match[3]), line)
        return
    demand(key not in family.samples, line)
    family.samples[key] = float(match[3])


def parse(text):
    """{name: Family}; samples are {labels as pairs, sorted: number, or Histogram}."""
    demand(text.endswith("\n") or not text, "no newline at the end")
    families, now = {}, None
    for line in text.splitlines():
        if match := re.fullmatch(rf"# HELP ({NAME}) (.+)", line):
            demand(match[1] not in families and not re.search(r"\\[^\\n]", match[2]), line)
            now = match[1]
            families[now] = Family(match[2])
        elif match := re.fullmatch(rf"# TYPE ({NAME}) (counter|gauge|histogram)", line):
            # Once, behind the help, before the samples.
            demand(match[1] == now and families[now].type is None, line)
            demand(not families[now].samples, line)
            families[now].type = match[2]
            demand((match[2] == "counter") == now.endswith("_total"), line)
        else:
            match = SAMPLE.fullmatch(line)
            demand(match and now and families[now].type, line)
            sample_add(families[now], now, match, line)
    for name, family in families.items():
        demand(family.samples, f"{name}: no samples")
        for sample in family.samples.values():
            if family.type == "histogram":
                sample.check(name)
    return families
