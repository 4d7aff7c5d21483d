# SPDX-License-Identifier: GPL-2.0
"""Which tests may fail once: on a busy machine, and never where data may be wrong.

In the machine each test notes in its report what it is (describe()). Outside, tests/vm/again reads
the report of a run that has failed and asks which tests to run once more (Failures).
"""

import functools
import inspect
import re
from typing import NamedTuple
from xml.etree import ElementTree

#: So many of one run of make check may be unsteady.
ALLOWED = 2
#: A test with one of these in its name, its fixtures, its source or that of a helper beside it
#: compares data, or is about what data depend on. Better one too many: it just has to pass.
DATA = re.compile(r"verif|other_lun|ghost|fenc|power|metadata|superblock|\bmd\b|digest|sha256|pattern|garbage"
                  r"|compar|corrupt|stripe_|\bsame\(|\bmarked\(|read_bytes|\.cmp\b", re.IGNORECASE)
#: And all tests of these, whatever is in them.
DATA_MODULES = re.compile(r"test_(atomic|data|durable|fence|fs|garbage|ghost_ports|ghost_write"
                          r"|growth|lun_reset|matrix|md_growth|memory|metadata|overdue|reservation"
                          r"|scripted|stacking|stripe)\b")


def sources(function):
    """The source of a function, and of all functions of its module that it leads to."""
    names = vars(inspect.getmodule(function))
    left, seen = [function], set()
    while left:
        one = left.pop()
        if one in seen:
            continue
        seen.add(one)
        yield inspect.getsource(one)
        left += [names[name] for name in one.__code__.co_names
                 if inspect.isfunction(names.get(name))
                 and names[name].__module__ == function.__module__]


@functools.cache
def source_looks_at_data(function):
    """Looked at once for all parameters of a test: an emulated processor takes long to read it."""
    return any(DATA.search(source) for source in sources(function))


def looks_at_data(nodeid, fixtures, function):
    return bool(DATA_MODULES.search(nodeid) or DATA.search(" ".join([nodeid, *fixtures]))
                or source_looks_at_data(function))


def describe(item):
    """Notes in the report what tests/vm/again wants to know of a test."""
    data = looks_at_data(item.nodeid, item.fixturenames, item.function)
    item.user_properties += [("nodeid", item.nodeid), ("data", "yes" if data else "no")]


class Failure(NamedTuple):
    """A test that has failed; what does not say that it looks at no data, does."""

    nodeid: str
    data: bool


def failures(report):
    """The tests that have failed in the text of a JUnit report."""
    found = []
    for case in ElementTree.fromstring(report).iter("testcase"):
        if case.find("failure") is None and case.find("error") is None:
            continue
        notes = {note.get("name"): note.get("value") for note in case.iter("property")}
        found.append(Failure(notes.get("nodeid", ""), notes.get("data") != "no"))
    return list(dict.fromkeys(found))


def why_not(found):
    """Why these failures stand, or nothing when each of the tests may be run once more."""
    if not found:
        return "the report names no test that has failed"
    if len(found) > ALLOWED:
        return f"{len(found)} tests have failed, more than {ALLOWED}"
    for failure in found:
        if failure.data or not failure.nodeid:
            return f"{failure.nodeid or 'a test without a name'} looks at data"
    return ""
