# SPDX-License-Identifier: GPL-2.0
"""Which tests may fail once: on a busy machine, and never where data may be wrong.

In the machine each test that fails notes in its report what it is, and how it has failed
(describe_failure()). Outside, tests/vm/again reads the report of a run that has failed and asks which
tests to run once more (failures()).
"""

import ast
import contextlib
import inspect
import re
import subprocess
import textwrap
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

import pytest

from lab.shell import LabError

#: So many of one run of make check may be unsteady.
ALLOWED = 2
#: A test with one of these in its name, its fixtures, its source or that of a helper beside it
#: compares data, or is about what data depend on. Better one too many: it just has to pass. The
#: attributes fenced_through and ghost_writes are states, and mostly waited for.
DATA = re.compile(r"verif|other_lun|ghost(?!_writes\b)|fenc(?!ed_through\b)|power|metadata|superblock"
                  r"|\bmd\b|digest|sha256|pattern|garbage|compar|corrupt|\bstripe_|\bsame\("
                  r"|\bmarked\(|read_bytes|\.cmp\b", re.IGNORECASE)
#: Beginnings of the names of modules. In these, and in tests of such names, an assertion about a state
#: says that newer data were overtaken by older ones, or might have been: it stands.
ORDER_MODULES = "durable|fence|ghost|holding|lun_reset|metadata|overlay|reservation"
ORDER = re.compile(rf"\btest_({ORDER_MODULES})\w*\.py|::\w*(fence|ghost)")
#: And all tests of these, whatever is in them.
DATA_MODULES = re.compile(rf"\btest_({ORDER_MODULES}|atomic|data|fs|garbage|growth|matrix|md_growth"
                          r"|memory|overdue|scripted|stacking|stripe)\w*\.py")
#: An assertion about a state or a time: it was looked at too early, or the machine stood still.
#: That a write still waits (is_alive) is none of these: no machine is too slow for it.
STATE = re.compile(r"assert\b.*(state|_error\(|faults|logins|reconnects|attempts|_s\b"
                   r"|monotonic\(\)|undisturbed\()", re.DOTALL)
#: Such a one, wherever it is: no data depend on how soon something came.
LATE = re.compile(r"assert (time\.monotonic\(\) - [\w.]+|\w+\.longest_s) < [\w.]+(, .*)?",
                  re.DOTALL)
#: A wait that was too short: a LabError of these, and the time-out of a command of lab.shell.
WAIT = re.compile(r"""wait_for\(|"iscsiadm", .*"--login\"""")
COMMAND = re.compile(r"\b_finish\(")
OWN = Path(__file__).resolve().parents[1]
#: What has been judged and is in no report yet.
_judged = []


def code_of(function):
    """Its source without comments and docstrings; all of it where Python 3.11 cannot parse it."""
    source = textwrap.dedent(inspect.getsource(function))
    try:
        tree = ast.parse(source)
    except (SyntaxError, SystemError):
        return source
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [one for one in body if not is_text(one)] or [ast.Pass()]
    return ast.unparse(tree)


def is_text(statement):
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def sources(function):
    """The code of a function, and of all functions of its module that it leads to."""
    names = vars(inspect.getmodule(function))
    left, seen = [function], set()
    while left:
        one = left.pop()
        if one in seen:
            continue
        seen.add(one)
        yield code_of(one)
        left += [names[name] for name in one.__code__.co_names
                 if inspect.isfunction(names.get(name))
                 and names[name].__module__ == function.__module__]


def looks_at_data(nodeid, fixtures, function):
    return bool(DATA_MODULES.search(nodeid) or DATA.search(" ".join([nodeid, *fixtures]))
                or any(DATA.search(source) for source in sources(function)))


def looks_at_state(error, statements, nodeid):
    """Whether a test that looks at data has failed at something else.

    `statements` are those of the tests' own code that lead to the error. A wait that was too short
    is no wrong data, and neither is a state that was not yet there, but where ORDER says so.
    """
    if any(DATA.search(statement) for statement in statements):
        return False
    for kind, place in ((LabError, WAIT), (subprocess.TimeoutExpired, COMMAND)):
        if isinstance(error, kind):
            return any(place.search(statement) for statement in statements)
    return isinstance(error, AssertionError) and bool(
        LATE.fullmatch(statements[-1])
        or (STATE.match(statements[-1]) and not ORDER.search(nodeid)))


def own_statements(excinfo):
    """Those of the tests that lead to a failure; none where Python 3.11 cannot parse them."""
    with contextlib.suppress(SystemError):
        return [str(entry.statement).strip() for entry in excinfo.traceback
                if OWN in Path(entry.path).parents]
    return []


def judge(text):
    """Fails a test for what no busy machine brings about, whatever the test looks at.

    Of several failures of one clean-up pytest may report the first one only: describe_failure()
    reports this one all the same.
    """
    _judged.append(text)
    pytest.fail(text, pytrace=False)


def describe_failure(item, excinfo, when):
    """Notes in the report what tests/vm/again wants to know of a test that fails; each phase may.

    Of those only: an emulated processor takes long to read the sources of all.
    """
    data = looks_at_data(item.nodeid, item.fixturenames, item.function)
    item.user_properties += [("nodeid", item.nodeid), ("data", "yes" if data else "no")]
    statements = own_statements(excinfo)
    state = bool(statements) and looks_at_state(excinfo.value, statements, item.nodeid)
    item.user_properties.append(("failed_at", "state" if state else "other"))
    for text in _judged:
        item.user_properties.append(("failed_at", "judge"))
        if text not in str(excinfo.value):
            item.add_report_section(when, "judge", text)
    _judged.clear()


class Failure(NamedTuple):
    """A test that has failed, and why that stands, if it does."""

    nodeid: str
    stands: str


def why_it_stands(case):
    """What does not say that it looks at no data, does."""
    notes = [(note.get("name"), note.get("value")) for note in case.iter("property")]
    failed_at = {value for name, value in notes if name == "failed_at"}
    if "judge" in failed_at:
        return "was judged by what the kernel or a target says"
    return "" if ("data", "no") in notes or failed_at == {"state"} else "looks at data"


def failures(report):
    """The tests that have failed in the text of a JUnit report."""
    found = []
    for case in ElementTree.fromstring(report).iter("testcase"):
        if case.find("failure") is None and case.find("error") is None:
            continue
        notes = {note.get("name"): note.get("value") for note in case.iter("property")}
        found.append(Failure(notes.get("nodeid", ""), why_it_stands(case)))
    return list(dict.fromkeys(found))


def why_not(found):
    """Why these failures stand, or nothing when each of the tests may be run once more."""
    if not found:
        return "the report names no test that has failed"
    if len(found) > ALLOWED:
        return f"{len(found)} tests have failed, more than {ALLOWED}"
    for failure in found:
        if not failure.nodeid:
            return "a test without a name has failed"
        if failure.stands:
            return f"{failure.nodeid} {failure.stands}"
    return ""
