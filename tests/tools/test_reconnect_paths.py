# SPDX-License-Identifier: GPL-2.0
"""reconnect: one path after another; the clock is one of the tests' own, see fake_clock.c."""

import json
import signal
import time

import pytest

LEG = "target=iqn.2026-01.a:t{},portal=192.0.2.1{},nic=eth1"
LEGS = "sys/block/istripe0/istripe/legs"
#: (leg, path) of all paths, in their order.
PATHS = [(0, 0), (0, 1), (1, 0), (1, 1)]
ALONE = "leg 0 path 0 of db is the only path of its leg that is live"


@pytest.fixture
def up(tool):
    """db is up: two legs of two paths."""
    words = [word for leg in range(2) for word in (
        "--leg", LEG.format(leg, leg), "--path", f"portal=192.0.3.1{leg}")]
    tool.run("create", "db", *words)
    for leg, path in PATHS:
        for name, value in (("state", "live"), ("reconnect", ""), ("last_error", "")):
            tool.put(f"{LEGS}/{leg}/paths/{path}/{name}", value)
    return tool


def written(tool):
    """{(leg, path): value} of the paths that were told to log in again."""
    values = {(leg, path): (tool.root / LEGS / f"{leg}/paths/{path}/reconnect").read_text().strip()
              for leg, path in PATHS}
    return {place: value for place, value in values.items() if value}


def clock(tool, lines):
    """A program in the place of each wait of the tool."""
    script = tool.root / "clock"
    script.write_text(f"#!/bin/sh\ncd {tool.root}/{LEGS} || exit 1\n{lines}\n")
    script.chmod(0o755)
    return {"FAKE_CLOCK": str(script)}


@pytest.mark.parametrize("numbers, places", [
    ((), PATHS), (("1",), PATHS[2:]), (("0", "1"), [(0, 1)]),
])
def test_paths_that_are_meant(up, numbers, places):
    out, err = up.run("reconnect", "db", *numbers)
    assert written(up) == dict.fromkeys(places, "1") and not err
    assert [line.rsplit(" ", 2)[0] for line in out.splitlines()] == [
        f"db: leg {leg} path {path} ({i + 1} of {len(places)}): live again after"
        for i, (leg, path) in enumerate(places)]


def test_one_after_another(up):
    """The next one is not told before the one before is live: here at the third look."""
    env = clock(up, "cat */paths/*/reconnect | grep -c 1 >>told\n"
                    "[ $(($1 % 3)) != 0 ] || for s in */paths/*/state; do echo live >$s; done")
    out, _ = up.run("reconnect", "db", FAKE_RECONNECT="connecting", **env)
    assert (up.root / LEGS / "told").read_text().split() == [
        str(count) for count in range(1, 5) for _ in range(3)]
    assert out.count("live again after 0.30 s") == 4


def test_one_does_not_come_back(up):
    """The first one ends it, with its reason, when its time is over."""
    up.put(f"{LEGS}/0/paths/1/last_error", "login: the target refuses: target not found (0x0203)")
    env = clock(up, "echo live >0/paths/0/state; echo $1 >waits")
    out, err = up.run("reconnect", "--timeout", "2", "db", code=1, FAKE_RECONNECT="backoff", **env)
    assert "leg 0 path 0 (1 of 4): live again after 0.10 s" in out and out.endswith("failed\n")
    assert "leg 0 path 1 of db is not live again in time: it is backoff" in err
    assert "reason: login: the target refuses: target not found" in err
    assert "there is no target iqn.2026-01.a:t0 at portal 192.0.3.10" in err
    assert "paths behind it are left as they were: 2" in err
    assert written(up) == dict.fromkeys(PATHS[:2], "1")
    assert int((up.root / LEGS / "waits").read_text()) == 1 + 20


def test_a_wrong_secret(up):
    """apply would take all that nobody has saved back; a volume may have no file yet."""
    up.put(f"{LEGS}/0/paths/0/last_error", "authentication failed (login status 0201)")
    for more in ("", ", FILE being that of its configuration file"):
        _, err = up.run("reconnect", "--timeout", "1", "db", "0", "0", code=1,
                        FAKE_RECONNECT="backoff", **clock(up, ""))
        assert "the CHAP user or secret is wrong\n" in err
        assert ("next: compare chap_user and chap_secret with the target's, then\n            "
                f"istripectl set db --leg 0 --path 0 chap_secret=@FILE{more}\n") in err
        assert "repeat the command" not in err
        up.run("save", "db")
    conf = up.root / "etc/istripe/db.conf"
    conf.write_text(conf.read_text().replace("[volume]\n", "[volume]\nfrom_node = yes\n"))
    _, err = up.run("reconnect", "--timeout", "1", "db", "0", "0", code=1,
                    FAKE_RECONNECT="backoff", **clock(up, ""))
    assert ("next: iscsiadm -m node -T TARGET -o update -n node.session.auth.password -v SECRET, "
            "then istripectl apply --secrets db\n") in err


@pytest.mark.parametrize("reason", [
    "portal is in portal group 3, expected was 1",
    "target did not send TargetPortalGroupTag, expected was 1"])
def test_another_portal_group(up, reason):
    """No login in it ends what the path has lost: only the administrator can."""
    up.put(f"{LEGS}/1/paths/1/last_error", f"login: {reason}")
    _, err = up.run("reconnect", "--timeout", "1", "db", "1", "1", code=1,
                    FAKE_RECONNECT="backoff", **clock(up, ""))
    assert f"reason: login: {reason}\n" in err
    assert "only a login in the old portal group ends the writes that were lost\n" in err
    assert ("next: when its target was restarted since, or that group was removed: "
            "istripectl path confirm db 1 1\n") in err


def test_a_nic_that_has_another_name(up):
    up.put(f"{LEGS}/1/paths/1/last_error", "cannot connect to 192.0.2.10:3260 over eth1: no such network device "
           "(-ENODEV)")
    _, err = up.run("reconnect", "--timeout", "1", "db", "1", "1", code=1,
                    FAKE_RECONNECT="backoff", **clock(up, ""))
    assert ("next: ip -br link; istripectl set db --leg 1 --path 1 nic=NEW, then istripectl save db\n") in err


def test_the_time_is_a_minute(up):
    env = clock(up, "echo $1 >waits")
    up.run("reconnect", "db", "0", "0", code=1, FAKE_RECONNECT="connecting", **env)
    assert int((up.root / LEGS / "waits").read_text()) == 600


@pytest.mark.parametrize("other", ["backoff", "dead", "refused", "connecting"])
def test_the_only_live_one(up, other):
    """I/O would wait: only with --force. A path that is lost may log in."""
    up.put(f"{LEGS}/0/paths/1/state", other)
    _, err = up.run("reconnect", "db", code=1)
    assert ALONE in err and "--force" in err and "recovery_timeout_ms" in err
    assert "paths behind it are left as they were: 3" in err
    assert not written(up)
    env = clock(up, "echo live >0/paths/1/state")
    up.run("reconnect", "db", "0", "1", **env)
    assert written(up) == {(0, 1): "1"}
    up.run("reconnect", "--force", "db", "0", "0")
    assert written(up) == {(0, 0): "force", (0, 1): "1"}


def test_some_sessions_are_enough_for_others(up):
    up.put(f"{LEGS}/0/paths/1/state", "degraded")
    up.run("reconnect", "db", "0", "0")
    assert written(up) == {(0, 0): "1"}


def test_dry_run(up):
    up.put(f"{LEGS}/1/paths/0/state", "backoff")
    out, _ = up.run("reconnect", "--dry-run", "db")
    assert out == ("db: would log in leg 0 path 0 again\ndb: would log in leg 0 path 1 again\n"
                   "db: would log in leg 1 path 0 again\ndb: would log in leg 1 path 1 again, "
                   "with --force only: nothing else of its leg is live\n")
    out, _ = up.run("reconnect", "-n", "--force", "db", "1", "1")
    assert out.endswith("is live, I/O would wait\n") and not written(up)


def test_json(up):
    whole = json.loads(up.run("reconnect", "--json", "db")[0])
    assert whole["schema"] == 1
    volume, = whole["volumes"]
    assert volume["name"] == "db"
    assert [(one["leg"], one["path"], one["result"]) for one in volume["paths"]] == [
        (*place, "live") for place in PATHS]
    assert all(isinstance(one["milliseconds"], int) for one in volume["paths"])
    up.put(f"{LEGS}/1/paths/0/last_error", "refused")
    env = clock(up, "echo live >0/paths/0/state; echo live >0/paths/1/state")
    out, err = up.run("reconnect", "-J", "--timeout=1", "db", code=1, FAKE_RECONNECT="backoff", **env)
    paths = json.loads(out)["volumes"][0]["paths"]
    assert [one["result"] for one in paths] == ["live", "live", "failed", None]
    assert paths[2]["last_error"] == "refused" and paths[3]["milliseconds"] is None
    assert "reason: refused" in err


def test_the_module_refuses(up):
    log = up.root / "dev/kmsg"
    log.write_text("")
    _, err = up.run("reconnect", "db", code=1, FAKE_RECONNECT="16")
    assert "leg 0 path 0 of db does not log in again: Device or resource busy" in err
    assert "next: istripectl status db" in err
    (up.root / LEGS / "0/paths/0/reconnect").unlink()
    _, err = up.run("reconnect", "db", code=1)
    assert "this version of the module cannot" in err


def test_commands_do_not_end(up):
    """The module waits for them: not longer than was said."""
    _, err = up.run("reconnect", "--timeout", "1", "db", "0", "0", code=1, FAKE_RECONNECT="hang")
    assert "leg 0 path 0 of db does not log in again: its commands have not ended in time" in err


def test_a_signal_ends_it(up):
    process = up.start("reconnect", "--timeout", "forever", "db", FAKE_RECONNECT="connecting")
    while not written(up):
        time.sleep(0.01)
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1
    # While the module is told, or afterwards.
    assert "leg 0 path 0 of db is not live again at the interrupt" in err or (
        "leg 0 path 0 of db does not log in again: interrupted" in err)
    assert written(up) == {(0, 0): "1"}


def test_a_volume_that_is_down(up):
    up.run("down", "db")
    assert "volume db is down: its paths log in when it comes up" in up.run(
        "reconnect", "db", code=1)[1]
    assert "there is no volume nobody" in up.run("reconnect", "nobody", code=1)[1]
    for name in ("db", "nobody"):
        out, _ = up.run("reconnect", "--json", name, code=1)
        assert json.loads(out) == {"schema": 1, "volumes": [{"name": name, "paths": []}]}


@pytest.mark.parametrize("words, code, said", [
    ((), 2, "a volume is needed"), (("db", "0", "1", "2"), 2, "a volume is needed"),
    (("db", "x"), 2, '"x" is no number of a leg'), (("db", "0", "1x"), 2, "no number of a path"),
    (("db", "99999"), 2, "no number of a leg"), (("db", "7"), 1, "volume db has no leg 7"),
    (("db", "1", "7"), 1, "leg 1 has no path 7"), (("db", "--timeout", "soon"), 2, "--timeout soon:"),
    (("db", "--timeout", "0"), 2, "from 1s to 30d"), (("db", "--timeout", "999ms"), 2, "from 1s"),
    (("db", "--timeout", "2592001"), 2, "from 1s to 30d"),
    (("db", "--timeout"), 2, "needs a value"), (("db", "-J", "-n"), 2, "either --json or --dry-run"),
    (("db", "--wait", "5"), 2, "unknown option --wait"),
])
def test_wrong_usage(up, words, code, said):
    assert said in up.run("reconnect", *words, code=code)[1]
    assert not written(up)
