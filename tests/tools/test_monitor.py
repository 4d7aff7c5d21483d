# SPDX-License-Identifier: GPL-2.0
"""monitor: changes of states; the waiting is one of the tests' own, see fake_clock.c."""

import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys

import pytest
from waiting import held, unopened

BASE = "sys/block/istripe0/istripe"
PATH = f"{BASE}/legs/0/paths/0"
LEG = "target=iqn.2026-01.a:t1,portal=192.0.2.10,nic=eth1"


@pytest.fixture
def volume(tool):
    tool.run("create", "db", "--leg", LEG)
    for file in (f"{BASE}/state", f"{BASE}/legs/0/state", f"{PATH}/state"):
        tool.put(file, "live")
    tool.put(f"{PATH}/last_error", "an old error")
    return tool


def steps(tool, *bodies):
    """The n-th waiting runs the n-th body; behind the last one a signal comes."""
    lines = ["#!/bin/sh", f"cd {tool.root}/{BASE}", "case $1 in"]
    lines += [f"{number}) {body} ;;" for number, body in enumerate(bodies, 1)]
    script = tool.root / "clock"
    script.write_text("\n".join([*lines, "*) exit 1 ;;", "esac", ""]))
    script.chmod(0o755)
    tool.env["FAKE_CLOCK"] = str(script)


LOST = ("echo waiting >state; echo waiting >legs/0/state; echo backoff >legs/0/paths/0/state; "
        "echo no answer >legs/0/paths/0/last_error")
BACK = "echo live >state; echo live >legs/0/state; echo live >legs/0/paths/0/state"
EVENTS = [("db", None, None, "live", "waiting", "no answer"),
          ("db", 0, None, "live", "waiting", "no answer"),
          ("db", 0, 0, "live", "backoff", "no answer"),
          ("db", None, None, "waiting", "live", None), ("db", 0, None, "waiting", "live", None),
          ("db", 0, 0, "backoff", "live", None)]


def test_lines(volume):
    steps(volume, LOST, "true", BACK)
    lines = volume.run("monitor")[0].splitlines()
    plain = [re.sub(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d{4} ", "", line) for line in lines]
    assert plain == ["db: live -> waiting: no answer", "db leg 0: live -> waiting: no answer",
                     "db leg 0 path 0: live -> backoff: no answer", "db: waiting -> live",
                     "db leg 0: waiting -> live", "db leg 0 path 0: backoff -> live"]


def test_the_reason_of_the_volume_is_that_of_a_leg_in_its_state(volume):
    """Leg 0 has lost one of its paths and still serves; leg 1 does not, and I/O fails for it."""
    for name in ("legs/1", "legs/1/paths/0"):
        volume.put(f"{BASE}/{name}/state", "live")
    steps(volume, "echo failed >state; echo degraded >legs/0/state; "
                  "echo a lost path >legs/0/last_error; echo failed >legs/1/state; "
                  "echo no answer >legs/1/last_error")
    assert plain(volume.run("monitor")[0]) == [
        "db: live -> failed: no answer", "db leg 0: live -> degraded: a lost path",
        "db leg 1: live -> failed: no answer"]


def test_lost_and_back_between_two_looks(volume):
    """The counter of a path tells."""
    volume.put(f"{PATH}/reconnects", "7")
    steps(volume, "echo 8 >legs/0/paths/0/reconnects", "true")
    lines = [line.split(" ", 1)[1] for line in volume.run("monitor")[0].splitlines()]
    assert lines == ["db leg 0 path 0: live -> backoff: an old error",
                     "db leg 0 path 0: backoff -> live"]


@pytest.mark.parametrize("second, event, state", [
    ("live", "PATH_DEGRADED", "degraded"), ("idle", "PATH_FAILED", "backoff"),
])
def test_one_of_several_sessions_lost_and_back_between_two_looks(volume, tmp_path, second, event,
                                                                 state):
    """The others have served; with multi=mcs they are in reserve. As the kernel's uevent."""
    volume.put(f"{PATH}/reconnects", "7")
    volume.put(f"{PATH}/sessions/1/path_state", second)
    volume.put(f"{PATH}/sessions/2/path_state", "idle")
    noted, _ = hook(volume, tmp_path, "echo 8 >legs/0/paths/0/reconnects", "true")
    assert noted == [f"{event} db 0 0 4 {state}", "PATH_REINSTATED db 0 0 4 live"]


def test_a_state_is_told_before_latencies_are_read(volume):
    """There may be many of these. Here the tool waits when it opens one."""
    latencies, go = volume.put(f"{PATH}/latency_read", "0"), volume.root / "go"
    os.mkfifo(go)
    steps(volume, f"read word <{go}; {LOST}")
    process = volume.start("monitor")
    with open(go, "w", encoding="ascii") as begin, held(latencies):
        begin.write("now\n")
        begin.flush()
        told = select.select([process.stdout], [], [], 40)[0]
        lines = [process.stdout.readline() for _ in range(3 if told else 0)]
    process.communicate(timeout=60)
    assert len(lines) == 3 and "path 0: live -> backoff" in lines[2]


def test_files_of_sessions_are_not_opened(volume):
    """There are many, and only a path that was lost and is back needs one."""
    names = ("session", "sessions/1")
    folders = [volume.put(f"{PATH}/{name}/state", "logged-in").parent for name in names]
    steps(volume, LOST)
    with unopened(*folders, folders[1].parent):
        assert len(volume.run("monitor")[0].splitlines()) == 3


def test_json(volume):
    steps(volume, LOST, BACK)
    events = [json.loads(line) for line in volume.run("monitor", "--json")[0].splitlines()]
    assert all(event.pop("schema") == 1 and event.pop("time") for event in events)
    assert [event.pop("event") for event in events] == [
        "VOLUME_WAITING", "LEG_WAITING", "PATH_FAILED", "VOLUME_LIVE", "LEG_LIVE",
        "PATH_REINSTATED"]
    assert all(event.pop("waiting_writes") is event.pop("access_state") is None for event in events)
    names = ("volume", "leg", "path", "old", "new", "reason")
    assert events == [dict(zip(names, event, strict=True)) for event in EVENTS]


PLACE = "db leg 0 path 0: "


def plain(out):
    """The lines without their times."""
    return [line.split(" ", 1)[1] for line in out.splitlines()]


WAITING = "echo 5 >legs/0/paths/0/waiting_writes; echo 4096 >legs/0/overlay_bytes"


def test_what_is_not_live_at_the_start(volume, tmp_path):
    """A monitor that starts late, as after a boot, tells it once, and nothing of what is live."""
    for name in ("legs/0/paths/1", "legs/1", "legs/1/paths/0"):
        volume.put(f"{BASE}/{name}/state", "live")
    subprocess.run(["sh", "-c", f"{LOST}; {WAITING}"], cwd=volume.root / BASE, check=True)
    volume.run("create", "log", "--no-up", "--leg", LEG)
    noted, program = tmp_path / "noted", tmp_path / "program"
    program.write_text(f'#!/bin/sh\necho "$*|$ISTRIPE_OLD|$ISTRIPE_REASON|$ISTRIPE_WAITING_WRITES" '
                       f">>{noted}\n")
    program.chmod(0o755)
    steps(volume, "true", BACK)
    assert plain(volume.run("monitor", "--program", program)[0]) == [
        "db: unknown -> waiting: no answer", "db leg 0: unknown -> waiting: no answer",
        f"{PLACE}unknown -> backoff: no answer", "log: unknown -> down",
        "db leg 0: OVERLAYS_KEPT: no answer", f"{PLACE}WRITES_WAITING 5: no answer",
        "db: waiting -> live", "db leg 0: waiting -> live", f"{PLACE}backoff -> live"]
    assert noted.read_text().splitlines()[:7] == [
        "VOLUME_WAITING db|unknown|no answer|", "LEG_WAITING db 0|unknown|no answer|",
        "PATH_FAILED db 0 0|unknown|no answer|", "VOLUME_DOWN log|unknown||",
        "OVERLAYS_KEPT db 0|waiting|no answer|", "WRITES_WAITING db 0 0|backoff|no answer|5",
        "VOLUME_LIVE db|waiting||"]


MISSING = "in its file, but not configured"


def saved(tool, name, enabled=True):
    tool.put(f"etc/istripe/{name}.conf", "[leg 0]\ntarget = iqn.2026-01.a:t9\nportal = 192.0.9.9")
    if enabled:
        tool.put(f"etc/systemd/system/remote-fs.target.wants/istripe@{name}.service", "")


def test_a_volume_that_has_not_come_at_boot(volume):
    """Of a file alone nobody says that it is to come up."""
    saved(volume, "log")
    saved(volume, "spare", enabled=False)
    steps(volume, f"mkdir {volume.tree}/log", f"rm {volume.root}/etc/istripe/log.conf",
          f"rmdir {volume.tree}/log")
    assert plain(volume.run("monitor")[0]) == [f"log: unknown -> down: {MISSING}", "log: down -> none"]


def test_a_volume_that_is_just_coming_at_boot(volume):
    uptime = volume.put("proc/uptime", "119.90 100.00")
    saved(volume, "log")
    saved(volume, "web")
    steps(volume, f"mkdir {volume.tree}/log", f"echo 120.10 100.00 >{uptime}")
    assert plain(volume.run("monitor")[0]) == ["log: none -> down", f"web: unknown -> down: {MISSING}"]


def test_what_is_not_live_at_the_start_as_json(volume):
    subprocess.run(["sh", "-c", LOST], cwd=volume.root / BASE, check=True)
    steps(volume)
    events = [json.loads(line) for line in volume.run("monitor", "--json")[0].splitlines()]
    assert [(event["event"], event["old"], event["new"]) for event in events] == [
        ("VOLUME_WAITING", "unknown", "waiting"), ("LEG_WAITING", "unknown", "waiting"),
        ("PATH_FAILED", "unknown", "backoff")]


@pytest.mark.parametrize("bodies, told", [
    ([WAITING], ["db leg 0: OVERLAYS_KEPT", f"{PLACE}WRITES_WAITING 5"]),
    (["echo standby >legs/0/paths/0/access_state"], [f"{PLACE}PATH_ACCESS standby"]),
    ([f"{WAITING}; {LOST}"], ["db: live -> waiting: no answer", "db leg 0: live -> waiting: no answer",
                              f"{PLACE}live -> backoff: no answer",
                              "db leg 0: OVERLAYS_KEPT: no answer", f"{PLACE}WRITES_WAITING 5: no answer"]),
    ([WAITING, "echo 0 >legs/0/paths/0/waiting_writes; echo 0 >legs/0/overlay_bytes"],
     ["db leg 0: OVERLAYS_KEPT", f"{PLACE}WRITES_WAITING 5", "db leg 0: OVERLAYS_WRITTEN",
      f"{PLACE}WRITES_RESUMED"]),
    ([WAITING, "echo 0 >legs/0/paths/0/waiting_writes; echo 5 >legs/0/paths/0/ghost_writes"],
     ["db leg 0: OVERLAYS_KEPT", f"{PLACE}WRITES_WAITING 5", f"{PLACE}WRITES_RESUMED"]),
    ([WAITING, "echo 0 >legs/0/paths/0/waiting_writes; echo failed >legs/0/state"],
     ["db leg 0: OVERLAYS_KEPT", f"{PLACE}WRITES_WAITING 5", "db leg 0: live -> failed",
      f"{PLACE}WRITES_FAILED"]),
    ([WAITING, "echo 0 >legs/0/paths/0/waiting_writes; echo 1 >legs/0/paths/0/unfenced"],
     ["db leg 0: OVERLAYS_KEPT", f"{PLACE}WRITES_WAITING 5", f"{PLACE}WRITES_FAILED"]),
    (["true"], []),
])
def test_uevents_that_were_lost(volume, bodies, told):
    """What they would have said is in the files."""
    volume.put(f"{PATH}/access_state", "active/optimized")
    volume.put(f"{BASE}/legs/0/overlay_bytes", "0")
    steps(volume, *[f"{body}; echo LOST >{volume.root}/uevents" for body in bodies])
    out, err = volume.run("monitor")
    assert plain(out) == told
    assert err.count("uevents of the kernel were lost") == len(bodies)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may send uevents")
def test_a_socket_that_is_full(volume):
    """Of a network namespace of its own: the kernel sends the same error whoever has sent too many."""
    script = ("import os, select, signal, socket, subprocess, sys\n"
              "monitor = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE)\n"
              "monitor.stdout.readline()\n"
              "os.kill(monitor.pid, signal.SIGSTOP)\n"
              "sender = socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, 15)\n"
              "for _ in range(200):\n"
              "    try:\n"
              "        sender.sendto(b'x' * 1000, (0, 1))\n"
              "    except OSError:\n"
              "        pass\n"
              "os.kill(monitor.pid, signal.SIGCONT)\n"
              "sys.stdin.readline()\n"
              "monitor.terminate()\n"
              "sys.exit(monitor.wait())\n")
    subprocess.run(["sh", "-c", LOST], cwd=volume.root / BASE, check=True)
    process = subprocess.Popen(
        ["unshare", "-n", sys.executable, "-c", script, volume.program, "monitor"],
        env={**volume.env, "FAKE_BUFFER": "4096"}, stdin=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True)
    assert "uevents of the kernel were lost" in process.stderr.readline()
    process.communicate("\n", timeout=60)
    assert process.returncode == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may send uevents")
def test_status_after_uevents_were_lost(volume):
    """It is shown anew once; what comes then, and is of others, is no reason to."""
    script = ("import os, signal, socket, subprocess, sys, time\n"
              "status = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE)\n"
              "out = os.read(status.stdout.fileno(), 65536)\n"
              "sender = socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, 15)\n"
              "def send(bytes):\n"
              "    try:\n"
              "        sender.sendto(b'x' * bytes, (0, 1))\n"
              "    except OSError:\n"
              "        pass\n"
              "def waits():\n"
              "    rows = [line.split() for line in open('/proc/net/netlink')][1:]\n"
              "    return any(row[1] == '15' and int(row[4]) for row in rows)\n"
              "os.kill(status.pid, signal.SIGSTOP)\n"
              "for _ in range(200):\n"
              "    send(1000)\n"
              "os.kill(status.pid, signal.SIGCONT)\n"
              "while b'\\n\\n' not in out:\n"
              "    out += os.read(status.stdout.fileno(), 65536)\n"
              "for _ in range(20):\n"
              "    send(10)\n"
              "    while waits():\n"
              "        time.sleep(0.01)\n"
              "status.terminate()\n"
              "out += status.stdout.read()\n"
              "print(out.count(b'\\n\\n') + 1, status.wait())\n")
    done = subprocess.run(
        ["unshare", "-n", sys.executable, "-c", script, volume.program, "status", "--watch=60",
         "db"], env={**volume.env, "FAKE_BUFFER": "4096"}, capture_output=True, text=True,
        timeout=60, check=True)
    assert done.stdout == "2 0\n" and done.stderr == ""


OF_PATH = "ISTRIPE_LEG=0|ISTRIPE_PATH=0|ISTRIPE_STATE=backoff|ISTRIPE_LIVE_PATHS=1"
OF_DISK = "change@/devices/virtual/istripe/istripe0|SUBSYSTEM=istripe"


def uevents(tool, *events):
    lines = [f"{OF_DISK}|ISTRIPE_ACTION={action}|ISTRIPE_VOLUME=db|ISTRIPE_DEVICE=istripe0|{OF_PATH}"
             f"|ISTRIPE_ACCESS_STATE=standby{more}" for action, more in events]
    return "printf '%s\\n' " + " ".join(f"'{line}'" for line in lines) + f" >{tool.root}/uevents"


WRITES = [("PATH_FAILED", "|ISTRIPE_REASON=no answer"),
          ("WRITES_WAITING", "|ISTRIPE_WAITING_WRITES=5|ISTRIPE_REASON=until a \033[2Jlogin"),
          ("WRITES_RESUMED", ""), ("WRITES_FAILED", ""), ("PATH_ACCESS", ""), ("NEWER", "")]

def test_events_without_a_change_of_a_state(volume, tmp_path):
    """Uevents tell of writes and access states, once; changes of states have a line already."""
    noted = tmp_path / "noted"
    program = tmp_path / "program"
    program.write_text('#!/bin/sh\necho "$*|$ISTRIPE_EVENT|$ISTRIPE_NEW|$ISTRIPE_REASON|'
                       f'$ISTRIPE_WAITING_WRITES|$ISTRIPE_ACCESS_STATE" >>{noted}\n')
    program.chmod(0o755)
    steps(volume, uevents(volume, *WRITES), "true")
    out, _ = volume.run("monitor", "--program", program, "--exec", "/bin/false")
    assert [line.split(" ", 1)[1] for line in out.splitlines()] == [
        f"{PLACE}WRITES_WAITING 5: until a ?[2Jlogin", f"{PLACE}WRITES_RESUMED",
        f"{PLACE}WRITES_FAILED", f"{PLACE}PATH_ACCESS standby"]
    assert noted.read_text().splitlines() == [
        "WRITES_WAITING db 0 0|WRITES_WAITING|backoff|until a ?[2Jlogin|5|",
        "WRITES_RESUMED db 0 0|WRITES_RESUMED|backoff|||",
        "WRITES_FAILED db 0 0|WRITES_FAILED|backoff|||",
        "PATH_ACCESS db 0 0|PATH_ACCESS|backoff|||standby"]


def test_overlays_of_a_leg(volume, tmp_path):
    """Whose uevents name no path."""
    noted, program = tmp_path / "noted", tmp_path / "program"
    program.write_text(f'#!/bin/sh\necho "$*|$ISTRIPE_PATH|$ISTRIPE_REASON" >>{noted}\n')
    program.chmod(0o755)
    begun, over = (uevents(volume, event).replace("|ISTRIPE_PATH=0", "") for event in (
        ("OVERLAYS_KEPT", "|ISTRIPE_REASON=do not reset it"), ("OVERLAYS_WRITTEN", "")))
    steps(volume, begun, over)
    out, _ = volume.run("monitor", "--program", program, "--exec", "/bin/false")
    assert [line.split(" ", 1)[1] for line in out.splitlines()] == [
        "db leg 0: OVERLAYS_KEPT: do not reset it", "db leg 0: OVERLAYS_WRITTEN"]
    assert noted.read_text().splitlines() == ["OVERLAYS_KEPT db 0||do not reset it",
                                              "OVERLAYS_WRITTEN db 0||"]
    steps(volume, begun)
    event, = (json.loads(line) for line in volume.run("monitor", "--json")[0].splitlines())
    assert (event["event"], event["leg"], event["path"]) == ("OVERLAYS_KEPT", 0, None)


def test_events_without_a_change_of_a_state_as_json(volume):
    steps(volume, uevents(volume, *WRITES))
    events = [json.loads(line) for line in volume.run("monitor", "--json")[0].splitlines()]
    same = {"volume": "db", "leg": 0, "path": 0, "old": "backoff", "new": "backoff"}
    nothing = {"reason": None, "waiting_writes": None, "access_state": None}
    assert all(event.pop("schema") == 1 and event.pop("time") for event in events)
    assert events == [
        {"event": "WRITES_WAITING", **same, **nothing, "reason": "until a ?[2Jlogin",
         "waiting_writes": 5},
        {"event": "WRITES_RESUMED", **same, **nothing},
        {"event": "WRITES_FAILED", **same, **nothing},
        {"event": "PATH_ACCESS", **same, **nothing, "access_state": "standby"}]


def test_paths_and_volumes_come_and_go(volume):
    tree = volume.tree
    steps(volume, "cp -r legs/0/paths/0 legs/0/paths/1", "rm -r legs/0/paths/1",
          f"mv legs gone; mv state gone; echo >{tree}/db/device; rm -r ../istripe",
          f"mv {tree}/db {volume.root}")
    lines = [line.split(" ", 1)[1] for line in volume.run("monitor")[0].splitlines()]
    assert lines == ["db leg 0 path 1: none -> live", "db leg 0 path 1: live -> none",
                     "db: live -> down", "db: down -> none"]


GOING = ["rm state legs/0/state; rm -r legs/0/paths/0", "echo >{tree}/db/device; rm -r ../istripe"]


def test_a_volume_that_goes_down_while_it_is_looked_at(volume):
    """Its files go one after another: no path and no leg of it has failed."""
    steps(volume, *[step.format(tree=volume.tree) for step in GOING], "true")
    events = [json.loads(line) for line in volume.run("monitor", "--json")[0].splitlines()]
    assert [(event["event"], event["old"], event["new"]) for event in events] == [
        ("VOLUME_DOWN", "live", "down")]


def test_files_that_go_before_that_of_the_volume(volume):
    """The disk is gone by the end of the look."""
    errors, go = volume.put(f"{BASE}/legs/0/last_error", ""), volume.root / "go"
    os.mkfifo(go)
    steps(volume, f"read word <{go}", "true")
    process = volume.start("monitor")
    with open(go, "w", encoding="ascii") as begin, held(errors) as waits:
        begin.write("now\n")
        begin.flush()
        waits()
        (volume.tree / "db/device").unlink()
        shutil.rmtree(volume.root / PATH)
    assert plain(process.communicate(timeout=60)[0]) == ["db: live -> down"]


def test_a_state_that_cannot_be_read_for_a_moment(volume):
    """As of a path whose directory is just made, or removed."""
    volume.put(f"{PATH}/reconnects", "7")
    steps(volume, "rm legs/0/paths/0/*; mkdir legs/0/paths/1", "echo 7 >legs/0/paths/0/reconnects; "
          "echo live >legs/0/paths/0/state; echo connecting >legs/0/paths/1/state", "true")
    assert plain(volume.run("monitor")[0]) == ["db leg 0 path 1: none -> connecting"]


def test_a_program_is_run(volume, tmp_path):
    hook = tmp_path / "hook"
    hook.write_text('#!/bin/sh\nprintf "%s|" "$@" "$ISTRIPE_VOLUME" "$ISTRIPE_LEG" '
                    f'"$ISTRIPE_PATH" "$ISTRIPE_NEW" "$ISTRIPE_REASON" >>{tmp_path}/noted\n'
                    f"echo >>{tmp_path}/noted\nexit 3\n")
    hook.chmod(0o755)
    steps(volume, LOST)
    _, err = volume.run("monitor", "--exec", hook)
    assert (tmp_path / "noted").read_text().splitlines() == [
        "db|||live|waiting|no answer|db|||waiting|no answer|",
        "db|0||live|waiting|no answer|db|0||waiting|no answer|",
        "db|0|0|live|backoff|no answer|db|0|0|backoff|no answer|"]
    assert err.count("has ended with code 3") == 3


def hook(volume, tmp_path, *bodies, code=0):
    """What a program has been called with, a line for each event; the last word is the state."""
    program = tmp_path / "hook"
    program.write_text(f'#!/bin/sh\necho "$@" "$#" "$ISTRIPE_NEW" >>{tmp_path}/noted\n'
                       f'[ "$ISTRIPE_EVENT" = "$1" ] || echo wrong >>{tmp_path}/noted\n'
                       f"exit {code}\n")
    program.chmod(0o755)
    steps(volume, *bodies)
    err = volume.run("monitor", "--program", program)[1]
    noted = tmp_path / "noted"
    return noted.read_text().splitlines() if noted.exists() else [], err


def test_a_program_is_told_events(volume, tmp_path):
    noted, err = hook(volume, tmp_path, LOST, BACK)
    assert err == ""
    assert noted == ["VOLUME_WAITING db 2 waiting", "LEG_WAITING db 0 3 waiting",
                     "PATH_FAILED db 0 0 4 backoff", "VOLUME_LIVE db 2 live",
                     "LEG_LIVE db 0 3 live", "PATH_REINSTATED db 0 0 4 live"]


def test_attempts_are_no_events(volume, tmp_path):
    state = "legs/0/paths/0/state"
    noted, _ = hook(volume, tmp_path, f"echo backoff >{state}", f"echo connecting >{state}",
                    f"echo backoff >{state}", f"echo refused >{state}", f"echo degraded >{state}",
                    f"echo draining >{state}", f"echo dead >{state}")
    assert noted == ["PATH_FAILED db 0 0 4 backoff", "PATH_FAILED db 0 0 4 refused",
                     "PATH_DEGRADED db 0 0 4 degraded", "PATH_FAILED db 0 0 4 draining",
                     "PATH_FAILED db 0 0 4 dead"]


def test_events_of_what_comes_and_goes(volume, tmp_path):
    tree = volume.tree
    noted, _ = hook(volume, tmp_path, "cp -r legs/0/paths/0 legs/0/paths/1",
                    "rm -r legs/0/paths/1", f"mkdir {tree}/log",
                    f"mv legs gone; mv state gone; echo >{tree}/db/device; rm -r ../istripe",
                    f"mv {tree}/db {volume.root}")
    assert noted == ["PATH_ADDED db 0 1 4 live", "PATH_REMOVED db 0 1 4 none",
                     "VOLUME_ADDED log 2 down", "VOLUME_DOWN db 2 down",
                     "VOLUME_REMOVED db 2 none"]


@pytest.mark.parametrize("known", [True, False])
def test_what_is_not_live_when_a_volume_comes_up(volume, tmp_path, known):
    """One that was down, or that has been made since; nothing is told of what is live."""
    tree, aside = volume.tree, volume.root / "aside"
    shutil.copytree(volume.root / PATH, volume.root / f"{BASE}/legs/0/paths/1")
    down = f"mv {volume.root}/{BASE} {aside}; echo >{tree}/db/device"
    away = "" if known else f"; mv {tree}/db {volume.root}"
    back = "" if known else f"mv {volume.root}/db {tree}; "
    up = (f"cd {aside}; echo degraded >state; echo degraded >legs/0/state; echo backoff "
          f">legs/0/paths/1/state; {back}mv {aside} {volume.root}/{BASE}; "
          f"echo istripe0 >{tree}/db/device")
    noted, _ = hook(volume, tmp_path, down + away, up, "true")
    assert noted == ["VOLUME_DOWN db 2 down" if known else "VOLUME_REMOVED db 2 none",
                     "VOLUME_DEGRADED db 2 degraded" if known else "VOLUME_ADDED db 2 degraded",
                     "LEG_DEGRADED db 0 3 degraded", "PATH_FAILED db 0 1 4 backoff"]


def test_a_path_that_is_removed_has_not_failed(volume, tmp_path):
    """It is idle meanwhile."""
    noted, _ = hook(volume, tmp_path, "echo idle >legs/0/paths/0/state", "rm -r legs/0/paths/0")
    assert noted == ["PATH_REMOVED db 0 0 4 none"]


def test_a_path_that_logs_in_anew(volume, tmp_path):
    """It is idle in between; that it was not live is told once it is over."""
    volume.put(f"{PATH}/reconnects", "7")
    noted, _ = hook(volume, tmp_path, "echo idle >legs/0/paths/0/state", "echo 8 >"
                    "legs/0/paths/0/reconnects; echo live >legs/0/paths/0/state", "true")
    assert noted == ["PATH_FAILED db 0 0 4 backoff", "PATH_REINSTATED db 0 0 4 live"]


def test_a_program_that_fails_ends_nothing(volume, tmp_path):
    noted, err = hook(volume, tmp_path, LOST, BACK, code=4)
    assert len(noted) == 6 and err.count("has ended with code 4") == 6


def test_a_program_that_hangs_ends(volume, tmp_path):
    program = tmp_path / "hook"
    program.write_text(f'#!/bin/sh\necho "$1" >>{tmp_path}/noted\n[ "$1" != LEG_WAITING ] || exec sleep 600\n')
    program.chmod(0o755)
    steps(volume, LOST)
    err = volume.run("monitor", "--program", program, FAKE_ALARM="20")[1]
    assert (tmp_path / "noted").read_text().split() == ["VOLUME_WAITING", "LEG_WAITING", "PATH_FAILED"]
    assert err.count("hook was ended by a signal: an event may take it 60 s") == 1


def limit_files(tool, soft, hard):
    program = tool.root / "bin/limited"
    program.write_text(f'#!/bin/sh\nulimit -Sn {soft}\nulimit -Hn {hard}\nexec {tool.program} "$@"\n')
    program.chmod(0o755)
    tool.program = program


def test_more_states_than_files_may_be_open(tool):
    """70 paths: those of which no file is kept open are told all the same."""
    words = [word for leg in range(5) for path in range(14) for word in (
        "--path" if path else "--leg",
        f"portal=192.0.2.{14 * leg + path + 1},target=iqn.2026-01.a:t{leg}")]
    tool.run("create", "db", *words)
    for place in ("", *(f"legs/{leg}/{path}" for leg in range(5)
                        for path in ("", *(f"paths/{path}/" for path in range(14))))):
        tool.put(f"{BASE}/{place}state", "live")
    limit_files(tool, 64, 64)
    steps(tool, "echo backoff >legs/4/paths/13/state")
    assert plain(tool.run("monitor")[0]) == ["db leg 4 path 13: live -> backoff"]


def test_programs_have_the_limit_of_before(volume, tmp_path):
    """That of the tool is higher: programs with select() would break."""
    program = tmp_path / "hook"
    program.write_text(f"#!/bin/sh\nulimit -Sn >{tmp_path}/noted\n")
    program.chmod(0o755)
    steps(volume, f"grep 'open files' /proc/$PPID/limits >{tmp_path}/own; {LOST}")
    limit_files(volume, 300, 400)
    volume.run("monitor", "--program", program)
    assert (tmp_path / "noted").read_text() == "300\n"
    assert (tmp_path / "own").read_text().split()[3:5] == ["400", "400"]


@pytest.mark.parametrize("words, said", [
    (["--program"], "--program needs a value"), (["--program", "true"], "give the path"),
    (["--program", "/no/thing"], "--program /no/thing: No"),
    (["db"], "one word too many"), (["--exec"], "--exec needs a value"),
    (["--exec", "true"], "give the path of a program"), (["--exec", "/no/thing"], "/no/thing: No"),
])
def test_wrong_usage(tool, words, said):
    assert said in tool.run("monitor", *words, code=2)[1]


def test_without_a_kernel_that_says_so(volume):
    """The waiting as it is shipped: files that are no files of sysfs, and perhaps no uevents."""
    process = volume.start("monitor")
    # Nobody knows when it has read the first time: one more volume until it says so.
    for number in range(600):
        volume.tree.joinpath(f"new{number}").mkdir()
        if select.select([process.stdout], [], [], 0.1)[0]:
            break
    assert re.search(r"new\d+: (none|unknown) -> down", process.stdout.readline())
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode == 0


def test_nobody_reads_it_any_more(volume):
    """It ends, as with SIGPIPE, and says nothing of that."""
    steps(volume, LOST, *["true"] * 3, f"echo >{volume.root}/went_on")
    assert volume.unread("monitor") == (1, "")
    assert not (volume.root / "went_on").exists()
