# SPDX-License-Identifier: GPL-2.0
"""Host names in portal=: what is stored is the address. The names are those of fake_resolver.c."""

import pytest

TARGET = "target=iqn.2026-01.a:t1,nic=eth1"
PORTAL = "db/legs/0/paths/0/portal"


@pytest.fixture(autouse=True)
def hosts(tool):
    tool.put("etc/hosts", "192.0.2.10 array\n192.0.2.10 array\n2001:db8::10 array6\n"
             "192.0.2.11 both\n2001:db8::11 both\n198.51.100.7 array.example.com\n"
             "fe80::12 local\n192.0.2.12 local\nfe80::13 link")


@pytest.mark.parametrize("typed, stored", [
    ("array", "192.0.2.10:3260"), ("array:3261", "192.0.2.10:3261"),
    ("array.example.com", "198.51.100.7:3260"),
    # A link-local address of a name is without its interface.
    ("local", "192.0.2.12:3260"),
    ("array6", "[2001:db8::10]:3260"), ("array6:3261", "[2001:db8::10]:3261"),
    # What is no address is for the module to judge.
    ("192.0.2.10", "192.0.2.10:3260"), ("192.0.2.10:3261", "192.0.2.10:3261"),
    ("2001:db8::1", "[2001:db8::1]:3260"), ("[2001:DB8::1]:3260", "[2001:db8::1]:3260"),
    ("[fe80::1%lo]:3260", "[fe80::1%1]:3260"), ("fe80::1%7", "[fe80::1%7]:3260"),
    ("192.0.2.999", "192.0.2.999"), ("", ""),
])
def test_stored(tool, typed, stored):
    for command in ("create", "assemble"):
        tool.run(command, "db", "--no-up", "--leg", f"{TARGET},portal={typed}")
        assert tool.value(PORTAL) == stored
        tool.run("delete", "db")


@pytest.mark.parametrize("typed, nic", [
    ("portal=[fe80::1%lo]:3260", "lo"), ("portal=fe80::1%1", "lo"),
    ("portal=fe80::1%lo,nic=eth1", "eth1"), ("portal=[2001:db8::10],source=fe80::2%lo", "lo"),
    ("portal=[2001:db8::10]", ""),
])
def test_nic_of_a_link_local_portal(tool, typed, nic):
    """By it the driver finds the interface when that was made anew, and has another number."""
    tool.run("create", "db", "--no-up", "--leg", f"target=iqn.2026-01.a:t1,{typed}")
    tool.run("path", "add", "db", "0", typed)
    assert [tool.value(f"db/legs/0/paths/{path}/nic") for path in range(2)] == [nic, nic]
    tool.run("path", "remove", "db", "0", "1")
    tool.run("save", "db")
    assert tool.run("apply", "db") == ("", "")
    tool.run("delete", "db")
    tool.put("etc/istripe/db.conf", "[leg 0]\ntarget = iqn.2026-01.a:t1\n" + typed.replace(",", "\n"))
    tool.run("up", "db")
    assert tool.value("db/legs/0/paths/0/nic") == nic
    assert tool.run("apply", "db") == ("", "")


def test_another_link_local_portal(tool):
    tool.run("create", "db", "--no-up", "--leg", f"{TARGET},portal=192.0.2.10")
    tool.run("set", "db", "--leg", "0", "--path", "0", "portal=fe80::1%lo")
    assert tool.value("db/legs/0/paths/0/nic") == "lo"


@pytest.mark.parametrize("typed, message", [
    ("both", "host name both has 2 addresses, and a path has one:"),
    ("both:3260", "host name both has 2 addresses, and a path has one:"),
    ("nobody", "host name nobody is not known: "),
    ("array6,source_address=192.0.2.1", "host name array6 is not known: "),
    ("link", "host name link is not known: its addresses are link-local"),
    ("[fe80::1%none0]:3260", "portal: there is no interface none0"),
    ("192.0.2.10,source_address=fe80::1%none0", "source_address: there is no interface none0"),
])
def test_refused(tool, typed, message):
    leg = ["--leg", f"{TARGET},portal=192.0.2.10"]
    bad = ["--leg", f"{TARGET},portal={typed}"]
    for words in (["create", "db", *bad], ["create", "db", "--dry-run", *bad],
                  ["create", "db", *leg, "--path", f"portal={typed}"], ["assemble", "db", *bad]):
        out, err = tool.run(*words, code=1)
        assert not out and message in err and "next: " in err
        assert ("192.0.2.11" in err and "2001:db8::11" in err) == typed.startswith("both")
    assert tool.volumes() == []


@pytest.mark.parametrize("source, stored", [
    ("192.0.2.1", "192.0.2.11:3260"), ("2001:db8::1", "[2001:db8::11]:3260")])
def test_the_other_ip_version_is_of_no_use(tool, source, stored):
    tool.run("create", "db", "--no-up", "--leg", f"{TARGET},portal=both,source_address={source}")
    assert tool.value(PORTAL) == stored


@pytest.mark.parametrize("words", [["up", "--saved", "db"], ["up", "--all"]])
def test_a_saved_name_with_a_further_address(tool, words):
    """At boot: the name server has learnt of one since the volume was saved."""
    tool.put("etc/istripe/db.conf", "[leg 0]\ntarget = iqn.2026-01.a:t1\nportal = both")
    _, err = tool.run(*words)
    assert err == ("istripectl: warning: leg 0 path 0 of db: portal: the host name both has 2 "
                   "addresses: 192.0.2.11 is taken\n")
    assert tool.value(PORTAL) == "192.0.2.11:3260" and tool.value("db/enable") == "1"
    # A file that was followed is no difference.
    assert tool.run("up", "--saved", "db")[1] == ""


def test_path_add(tool):
    tool.run("create", "db", "--no-up", "--leg", f"{TARGET},portal=192.0.2.99")
    tool.run("path", "add", "db", "0", "portal=array,nic=eth2")
    assert tool.value("db/legs/0/paths/1/portal") == "192.0.2.10:3260"
    _, err = tool.run("path", "add", "db", "0", "portal=both,nic=eth2", code=1)
    assert "has 2 addresses" in err
    assert not (tool.tree / "db/legs/0/paths/2").exists()


def test_configuration_file(tool):
    tool.put("etc/istripe/db.conf", "[leg 0]\ntarget = iqn.2026-01.a:t1\nportal = array:3261")
    tool.run("up", "db")
    assert tool.value(PORTAL) == "192.0.2.10:3261"
    assert tool.run("apply", "db")[0] == ""


@pytest.mark.parametrize("words", [
    ["up", "--wait", "1min", "db"],
    ["create", "db", "--wait", "1min", "--leg", f"{TARGET},portal=array"],
])
def test_look_up_waits(tool, words):
    """A name server, or the network, that is not there yet; the reason is said once."""
    if words[0] == "up":
        tool.put("etc/istripe/db.conf", "[leg 0]\ntarget = iqn.2026-01.a:t1\nportal = array")
    _, err = tool.run(*words, FAKE_NAMES_TIMES="2")
    assert err.count("name array is not known: Temporary failure") == 1
    assert err.count("trying again") == 1
    assert tool.value(PORTAL) == "192.0.2.10:3260" and tool.value("db/enable") == "1"


def test_look_up_does_not_wait(tool):
    """Without --wait; whoever tries the command again later may succeed."""
    tool.put("etc/istripe/db.conf", "[leg 0]\ntarget = iqn.2026-01.a:t1\nportal = array")
    _, err = tool.run("up", "db", code=1, FAKE_NAMES_TIMES="1")
    assert "Temporary failure" in err and "trying again" not in err
    assert tool.volumes() == []


def test_interface_that_is_not_there_yet(tool):
    """At boot: it is no error that only the administrator mends, as the module's would be."""
    tool.put("etc/istripe/db.conf",
             "[leg 0]\ntarget = iqn.2026-01.a:t1\nportal = [fe80::1%none0]:3260")
    _, err = tool.run("up", "--wait", "1s", "db", code=1, FAKE_CLOCK="true")
    assert err.count("portal: there is no interface none0") == 2 and "trying again" in err
    assert tool.volumes() == []


TWO = "[leg 0]\ntarget = iqn.2026-01.a:t1\n[leg 0 path 0]\nportal = 192.0.2.10\n[leg 0 path 1]\n"


def paths(tool):
    return sorted(path.name for path in (tool.tree / "db/legs/0/paths").iterdir())


@pytest.mark.parametrize("late, message", [
    ("portal = nobody", "portal: the host name nobody is not known: "),
    ("portal = both", "portal: the host name both has 2 addresses, and a path has one:"),
    ("portal = [fe80::1%none0]", "portal: there is no interface none0"),
    ("portal = 192.0.2.11\nsource_address = fe80::1%none0", "source_address: there is no interface"),
    ("portal = 192.0.2.11\nchap_user = me\nchap_secret = @none.secret",
     "none.secret: No such file or directory"),
])
@pytest.mark.parametrize("words", [["up", "--saved", "--wait", "1s"], ["up"], ["apply"]])
def test_a_path_does_not_keep_the_others_down(tool, words, late, message):
    """As at boot; once it can be made, apply adds it."""
    tool.put("etc/istripe/db.conf", TWO + late)
    _, err = tool.run(*words, "db", FAKE_CLOCK="true")
    if words[0:2] == ["up", "--saved"] and "has 2 addresses" in message:
        assert err.count("warning: ") == 1 and "192.0.2.11 is taken" in err and "next: " not in err
        assert paths(tool) == ["0", "1"]
        return
    assert f"warning: leg 0 path 1 of db is left out: {message}" in err.replace(f"{tool.root}/etc/istripe/", "")
    assert "then istripectl apply db, or up --saved, adds it" in err
    waits = len(words) > 2 and ("not known" in message or "no interface" in message)
    assert ("trying again" in err) == waits and err.count("is left out") == 1 + waits
    assert paths(tool) == ["0"] and tool.value("db/enable") == str(int(words[0] == "up"))
    tool.put("etc/istripe/db.conf", TWO + "portal = array6")
    out, err = tool.run("apply", "db")
    assert out == "db: leg 0 path 1: a new path\n" and not err
    assert paths(tool) == ["0", "1"]
    # One that is there stays as it is.
    tool.put("etc/istripe/db.conf", TWO + late)
    out, err = tool.run("apply", "db")
    assert not out and "leg 0 path 1 of db is left out" in err
    assert paths(tool) == ["0", "1"]
    assert tool.value("db/legs/0/paths/1/portal") == "[2001:db8::10]:3260"


def test_the_first_path_of_a_leg_is_left_out(tool):
    tool.put("etc/istripe/db.conf", TWO.replace("192.0.2.10", "nobody") + "portal = array")
    assert "leg 0 path 0 of db is left out" in tool.run("up", "db")[1]
    assert paths(tool) == ["1"] and tool.value("db/enable") == "1"


def test_a_late_name_is_waited_for(tool):
    tool.put("etc/istripe/db.conf", TWO + "portal = array6")
    _, err = tool.run("up", "--saved", "--wait", "1min", "db", FAKE_NAMES_TIMES="2")
    assert err.count("is left out") == err.count("trying again") == 1
    assert paths(tool) == ["0", "1"]


@pytest.mark.parametrize("first, code", [("nobody", 1), ("both", 0), ("array", 0)])
def test_a_leg_without_any_path(tool, first, code):
    """What may pass by itself is no error of the file."""
    tool.put("etc/istripe/db.conf", TWO.replace("192.0.2.10", first) + "portal = nobody")
    _, err = tool.run("up", "--saved", "db", code=code)
    assert ("host name nobody is not known" in err) and ("is left out" in err) == (not code)
    tool.run("up", "--saved", "other", code=78)


@pytest.mark.parametrize("late", ["portal = nobody\nweight = 3", "portal = [fe80::1%none0]",
                                  "portal = 192.0.2.11\nchap_user = me\nchap_secret = @none.secret"])
def test_a_path_that_is_left_out_stays_in_the_file(tool, late):
    """It is not in configfs for another reason than that somebody has removed it."""
    (tool.root / "run").mkdir()
    file = tool.put("etc/istripe/db.conf", TWO + late + "\n[leg 0 path 2]\nportal = 192.0.2.12")
    tool.run("up", "--saved", "db")
    tool.run("set", "db", "command_timeout=45s")
    said = "db: leg 0 path 1 is left out and stays in its file\n"
    before = file.read_text()
    assert said in tool.run("save", "--dry-run", "db")[0] and file.read_text() == before
    for _ in range(2):
        assert said in tool.run("save", "db")[0]
        text = file.read_text()
        assert "command_timeout_ms = 45000" in text and all(line in text for line in late.split("\n"))
        assert text.index("[leg 0 path 1]") < text.index("[leg 0 path 2]")
        assert "leg 0 path 1 of db is left out" in tool.run("apply", "db")[1]
    # Once it is there, its end is that of the file, too.
    file.write_text(TWO + "portal = array6")
    tool.run("apply", "db")
    tool.run("path", "remove", "db", "0", "1")
    assert "left out" not in tool.run("save", "db")[0] and "path 1" not in file.read_text()


def test_a_new_path_leaves_the_number_of_one_that_is_left_out(tool):
    (tool.root / "run").mkdir()
    file = tool.put("etc/istripe/db.conf", TWO + "portal = nobody\n[leg 0 path 2]\nportal = 192.0.2.12")
    tool.run("up", "--saved", "db")
    more = ("path", "add", "db", "0", "portal=192.0.2.30,nic=eth3")
    assert "would add leg 0 path 3" in tool.run(*more, "--dry-run")[0]
    assert tool.run(*more)[0] == "db: leg 0 path 3\n" and paths(tool) == ["0", "2", "3"]
    assert "leg 0 path 1 is left out and stays" in tool.run("save", "db")[0]
    text = file.read_text()
    assert "portal = nobody" in text and "portal = 192.0.2.30:3260" in text
    # One that the file does not have any more is no path.
    file.write_text(text.replace(text[text.index("[leg 0 path 1]"):text.index("[leg 0 path 2]")], ""))
    assert tool.run(*more[:-1], "portal=192.0.2.31,nic=eth4")[0] == "db: leg 0 path 1\n"


def test_a_path_that_was_removed_goes_from_the_file(tool):
    """Though it could not be made any more."""
    (tool.root / "run").mkdir()
    file = tool.put("etc/istripe/db.conf", TWO + "portal = array6")
    tool.run("up", "--saved", "db")
    file.write_text(TWO + "portal = nobody")
    assert "leg 0 path 1 of db is left out" in tool.run("apply", "db")[1]
    tool.run("path", "remove", "db", "0", "1")
    assert "left out" not in tool.run("save", "db")[0] and "nobody" not in file.read_text()


def test_a_new_volume_has_nothing_left_out(tool):
    """Of the same name, whoever has it in a file."""
    (tool.root / "run").mkdir()
    file = tool.put("etc/istripe/db.conf", TWO + "portal = nobody")
    tool.run("apply", "db")
    tool.run("delete", "db")
    tool.run("create", "db", "--no-up", "--leg", f"{TARGET},portal=array")
    assert "left out" not in tool.run("save", "db")[0] and "nobody" not in file.read_text()


def test_saved_is_the_address(tool):
    tool.run("create", "db", "--save", "--leg", f"{TARGET},portal=array")
    assert "portal = 192.0.2.10\n" in (tool.root / "etc/istripe/db.conf").read_text()


@pytest.mark.parametrize("saved, kernel, after", [
    ("array", "192.0.2.10:3260", "array"), ("array:3261", "192.0.2.10:3261", "array:3261"),
    ("array", "192.0.2.99:3260", "192.0.2.99:3260"), ("nobody", "192.0.2.10:3260", "192.0.2.10:3260"),
    ("array", "192.0.2.10:3261", "192.0.2.10:3261"),
    # There is no interface 7777 any more.
    ("[fe80::1%none0]", "[fe80::1%7777]:3260", "[fe80::1%none0]"),
    ("[fe80::2%none0]", "[fe80::1%7777]:3260", "[fe80::1%eth1]:3260"),
])
def test_names_stay_in_the_file(tool, saved, kernel, after):
    file = tool.put("etc/istripe/db.conf", "[leg 0]\ntarget = iqn.2026-01.a:t1\nnic = eth1\n"
                    f"portal = {saved}")
    tool.run("create", "db", "--no-up", "--leg", f"{TARGET},portal=192.0.2.10")
    (tool.tree / PORTAL).write_text(f"{kernel}\n")
    tool.run("save", "db")
    assert f"\nportal = {after}\n" in file.read_text()


@pytest.mark.parametrize("order", [1, -1])
def test_a_name_of_several_addresses_stays_in_the_file(tool, order):
    """Whichever of them a name server tells first: the volume is as its file says."""
    addresses = ["192.0.2.21 pair", "192.0.2.22 pair"]
    file = tool.put("etc/istripe/db.conf", "[leg 0]\ntarget = iqn.2026-01.a:t1\nportal = pair")
    tool.put("etc/hosts", "\n".join(addresses))
    tool.run("up", "--saved", "db")
    tool.put("etc/hosts", "\n".join(addresses[::order]))
    assert tool.run("up", "--saved", "db")[1] == ""
    assert tool.run("save", "db") == (f"db: {file}\n", "")
    assert "\nportal = pair\n" in file.read_text()


def test_an_interface_whose_name_nobody_knows(tool):
    tool.run("create", "db", "--no-up", "--leg", "target=iqn.2026-01.a:t1,portal=192.0.2.10")
    (tool.tree / PORTAL).write_text("[fe80::1%7777]:3260\n")
    _, err = tool.run("save", "db", code=1)
    assert "portal [fe80::1%7777]:3260: its interface is gone, and nothing tells its name" in err
    assert "next: istripectl set db --leg 0 --path 0 portal=ADDRESS%NIC" in err
    assert not (tool.root / "etc/istripe/db.conf").exists()


@pytest.mark.parametrize("saved, kernel", [
    ("192.0.2.10", "192.0.2.10:3260"), ("2001:DB8::1", "[2001:db8::1]:3260"),
    ("[2001:db8:0::1]", "[2001:db8::1]:3260"), ("array", "192.0.2.10:3260")])
def test_the_form_of_a_portal_is_no_change(tool, saved, kernel):
    """The module reads a portal back with its port."""
    tool.put("etc/istripe/db.conf", f"[leg 0]\ntarget = iqn.2026-01.a:t1\nportal = {saved}")
    tool.run("up", "db")
    (tool.tree / PORTAL).write_text(f"{kernel}\n")
    assert tool.run("apply", "--dry-run", "db")[0] == ""
    (tool.tree / PORTAL).write_text(f"{kernel[:-1]}1\n")
    assert "portal" in tool.run("apply", "--dry-run", "db")[0]
