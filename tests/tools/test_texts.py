# SPDX-License-Identifier: GPL-2.0
"""istripectl-messages.7 has the errors of istripectl, no others, and tests make it print each."""

import os
import re

import pytest
from conftest import TOP
from texts import entries, errors

PAGE = TOP / "tools/istripectl/istripectl-messages.7"
ERRORS = errors()
#: No test makes it print these, and why.
NOT_PRINTED = {
    "out of memory": "Linux ends a process rather than refuse it memory",
}


def test_there_are_errors():
    assert len(ERRORS) > 200
    assert {"unknown option ...", "... needs a value", "the target wants CHAP", "standard output",
            "next: modprobe istripe; when modprobe fails: ..."} <= set(ERRORS)
    assert set(NOT_PRINTED) <= set(ERRORS) and len(NOT_PRINTED) < 5


def test_every_error_is_in_the_page():
    """But lines of advice, which say what the page would."""
    page = entries(PAGE.read_text(encoding="utf-8"))
    assert len(page) == len(set(page))
    assert {text for text, advice in ERRORS.items() if not advice} ^ set(page) == set()


def test_every_entry_says_what_to_do():
    page = PAGE.read_text(encoding="utf-8")
    assert re.findall(r"^\.B .*\n(?!\w)(?!\.TQ).*", page.split(".SH WORDS")[1].split(".SH SEE")[0],
                      re.MULTILINE) == []


@pytest.mark.last
@pytest.mark.skipif(os.geteuid() != 0, reason="tests that are for root are not run")
def test_every_error_is_printed(seen):
    """By the other tests of this folder."""
    printed, _ = seen
    patterns = {text: re.compile(".*".join(map(re.escape, text.strip().split("..."))))
                for text in ERRORS if text not in NOT_PRINTED}
    assert [text for text, pattern in patterns.items()
            if not any(map(pattern.search, printed))] == []
