# SPDX-License-Identifier: GPL-2.0
"""Secrets of CHAP that are shorter than RFC 7143 asks for are used, with a warning."""

import pytest
from configuration import LEG, secret_file


@pytest.mark.parametrize("text, said", [("x", "1 byte"), ("eleven-of-it", None),
                                        ("eleven-byte", "11 bytes")])
def test_a_short_secret_is_warned_of_once(tool, text, said):
    """Old arrays have them."""
    file = secret_file(tool, "short", text)
    chap = f",chap_user=u,chap_secret=@{file}"
    _, err = tool.run("create", "db", "--no-up", "--leg", LEG + chap, "--leg", LEG + chap)
    lines = [line for line in err.splitlines() if "warning: the secret" in line]
    assert lines == ([f"istripectl: warning: the secret of {file} has {said}; RFC 7143 asks "
                      "for 12 or more"] if said else [])
    assert tool.value("db/legs/1/paths/0/chap_secret") == text
    _, err = tool.run("path", "add", "db", "0", f"portal=192.0.2.99{chap}")
    assert err.count("warning: the secret") == len(lines)
    _, err = tool.run("set", "db", "--leg", "0", "--path", "1", f"chap_secret=@{file}")
    assert err.count("warning: the secret") == len(lines)
    assert len(text) == 1 or text not in err


def test_a_short_secret_that_is_typed_is_warned_of(tool):
    _, err = tool.run("create", "db", "--no-up", "--leg", f"{LEG},chap_user=u,chap_secret=@-",
                      text_in="short-one\n")
    assert ("istripectl: warning: the secret of leg 0 path 0: chap_secret has 9 bytes; RFC 7143 "
            "asks for 12 or more\n") == err
