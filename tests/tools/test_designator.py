# SPDX-License-Identifier: GPL-2.0
"""Which LUN a leg is goes into the file, so that the next boot takes no other one for it."""

import pytest
from configuration import CONF, LEG, files

A, B = "naa.6001405aaaaaaaaaaaaaaaaaaaaaaaaaa", "naa.6001405bbbbbbbbbbbbbbbbbbbbbbbbbb"
TWO = ("--leg", LEG, "--leg", LEG.replace("a:t1", "a:t2"))


@pytest.fixture
def found(tool):
    """Says what the module shows of a leg of a volume that is up."""
    def put(leg, designator):
        tool.put(f"sys/block/istripe0/istripe/legs/{leg}/designator", designator)
    return put


def sections(text):
    """The lines of each section of a file that count."""
    found = {}
    for line in text.splitlines():
        if line.startswith("["):
            lines = found.setdefault(line, [])
        elif line and not line.startswith("#"):
            lines.append(line)
    return found


def pinned(file):
    """The designators that a file has, by leg."""
    return {name: line.partition(" = ")[2] for name, lines in sections(file.read_text()).items()
            for line in lines if line.startswith("designator = ")}


@pytest.fixture
def file(tool):
    return tool.root / "etc/istripe/db.conf"


def test_save(tool, found, file):
    """The volume is then as its file says, whichever command asks; and after the next boot."""
    found(0, A)
    found(1, "t10.ACME two words \\x5c")
    tool.run("create", "db", *TWO)
    assert tool.run("save", "db")[1] == ""
    assert pinned(file) == {"[leg 0]": A, "[leg 1]": "t10.ACME two words \\x5c"}
    for words in (["apply", "-n", "db"], ["apply", "db"], ["up", "db"], ["up", "--saved", "db"],
                  ["set", "db", "policy=failover", "--leg", "0"]):
        out, err = tool.run(*words)
        assert "designator" not in out + err, words
    assert tool.value("db/legs/0/designator") == ""
    before = pinned(file)
    assert "said" not in tool.run("save", "db")[0] and pinned(file) == before
    tool.run("delete", "db")
    tool.run("up", "db")
    assert tool.value("db/legs/0/designator") == A
    assert tool.run("apply", "db") == ("", "")


@pytest.mark.parametrize("option", ["--save", "--boot"])
def test_create(tool, found, file, option):
    found(0, A)
    found(1, B)
    tool.run("create", "db", option, *TWO[:-1], f"{TWO[-1]},designator=eui.0011223344556677")
    assert pinned(file) == {"[leg 0]": A, "[leg 1]": "eui.0011223344556677"}


def test_a_volume_that_is_not_up(tool, found, file):
    """Nobody knows its LUNs; what the file says of them stays."""
    found(0, A)
    found(1, B)
    tool.run("create", "db", "--save", "--no-up", *TWO)
    assert pinned(file) == {}
    tool.run("up", "db")
    tool.run("save", "db")
    tool.run("down", "db")
    out, err = tool.run("save", "db")
    assert "said" not in out and not err and pinned(file) == {"[leg 0]": A, "[leg 1]": B}
    # It comes up as configfs has it, and is as its file says then.
    for words in (["save", "db"], ["up", "-n", "db"], ["up", "db"],
                  ["set", "db", "recovery_timeout=2min"]):
        assert "designator" not in "".join(tool.run(*words)), words
    tool.run("down", "db")
    assert tool.run("apply", "db")[0] == f'db: leg 0: designator "" -> "{A}"\n' \
                                         f'db: leg 1: designator "" -> "{B}"\n'


@pytest.mark.parametrize("text", [
    "serial.ACME.DISK.0001", "naa.3000000100000001", "t10.IET     00010001", ""])
def test_a_name_that_others_may_have(tool, found, file, text):
    """A serial number counts when somebody vouches for it; of tgt it is the number of a LUN."""
    found(0, text)
    tool.run("create", "db", "--leg", LEG)
    tool.run("save", "db")
    assert pinned(file) == {}
    if text:
        file.write_text(file.read_text().replace("[leg 0]\n", f"[leg 0]\ndesignator = {text}\n"))
        assert tool.run("save", "db")[1] == "" and pinned(file) == {"[leg 0]": text}


def test_a_file_of_a_lun_elsewhere(tool, found, file):
    """The volume is another one of that name: what its file keeps says nothing of this LUN."""
    found(0, A)
    tool.run("create", "db", "--save", "--leg", LEG)
    assert pinned(file) == {"[leg 0]": A}
    tool.run("delete", "db")
    tool.run("create", "db", "--no-up", "--leg", LEG.replace("target=", "target=iqn.2026-01.example:new-", 1))
    assert tool.run("save", "db")[1] == "" and pinned(file) == {}


def test_another_lun_than_that_of_the_file(tool, found, conf):
    """Neither save nor a leg that is up takes it for the one that was meant."""
    file = conf()
    tool.run("up", "db")
    found(0, B)
    file.write_text(CONF.replace("fence = path", f"fence = path\ndesignator = {A}"))
    before = files(tool)
    _, err = tool.run("apply", "db", code=1)
    assert "not changed, since it needs it down: leg 0: designator" in err
    assert f"leg 0 is LUN {B} now: with {A} it comes up only when that LUN answers there" in err
    assert files(tool) == before
    said = (f"leg 0 of db is LUN {B}, and its file keeps {A}: "
            "from the next boot on no other LUN is accepted")
    for words in (["save", "-n", "db"], ["save", "db"]):
        out, err = tool.run(*words)
        assert said in err and "if the new LUN is right" in err and "designator" not in out
    assert pinned(file) == {"[leg 0]": A}
    # As the line says.
    file.write_text(file.read_text().replace(f"designator = {A}\n", ""))
    assert tool.run("save", "db")[1] == "" and pinned(file) == {"[leg 0]": B}
