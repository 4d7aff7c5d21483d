# SPDX-License-Identifier: GPL-2.0
"""The units of systemd: where they are installed, and what they run."""

import contextlib
import errno
import os
import re
import shlex
import socket
import subprocess

import pytest
from conftest import TOP

FOLDER = TOP / "tools/istripectl"


def settings(unit, name):
    """Values of a setting, lines that go on in the next one joined."""
    folder = FOLDER if (FOLDER / unit).exists() else TOP / "packaging"
    text = (folder / unit).read_text(encoding="utf-8").replace("\\\n", " ")
    return re.findall(rf"^{name}=(.*)$", text, re.MULTILINE)


@pytest.fixture
def installed(built, tmp_path):
    subprocess.run(["make", "-C", FOLDER, f"O={built}", f"DESTDIR={tmp_path}", "install"],
                   capture_output=True, check=True)
    return tmp_path / "usr/lib/systemd/system"


def test_units_are_installed(installed):
    for unit in ("istripe@.service", "istripe-tried@.target", "istripe-shutdown.service",
                 "istripe-soft-reboot.service"):
        assert (installed / unit).read_text() == (FOLDER / unit).read_text()
    for unit in ("istripe-metrics.service", "istripe-metrics.timer", "istripe-monitor@.service"):
        assert (installed / unit).read_text() == (TOP / "packaging" / unit).read_text()


@pytest.mark.parametrize("target, unit", [("shutdown.target", "istripe-shutdown.service"),
                                          ("sysinit.target", "istripe-soft-reboot.service")])
def test_stop_and_start_pull_their_units_in(installed, target, unit):
    assert (installed / f"{target}.wants" / unit).resolve() == (installed / unit).resolve()


def test_commands_of_the_unit_are_understood(tool):
    [line] = settings("istripe@.service", "ExecStart")
    words = [word.replace("%i", "none") for word in shlex.split(line)]
    assert words[:2] == ["istripectl", "up"]
    assert "none" in tool.run(*words[1:], code=78)[1]       # there is no such file
    assert "none" in tool.run("down", "none", code=1)[1]    # see test_stop_of_a_disk


def test_the_timer_writes_metrics(tool):
    [line] = settings("istripe-metrics.service", "ExecStart")
    [folder] = settings("istripe-metrics.service", "Environment")
    words = shlex.split(line.replace("${DIRECTORY}", str(tool.root)))
    assert folder.startswith("DIRECTORY=/") and words[:2] == ["istripectl", "metrics"]
    tool.run(*words[1:])
    assert "istripe_module_loaded 1\n" in (tool.root / "istripe.prom").read_text()
    assert settings("istripe-metrics.timer", "OnUnitActiveSec") == ["15"]


def test_monitor_runs_a_program(tool):
    """A program that is missing does not start it again and again; without volumes it waits."""
    [line] = settings("istripe-monitor@.service", "ExecStart")
    assert settings("istripe-monitor@.service", "Environment") == ["DIRECTORY=/usr/local/sbin"]
    words = shlex.split(line.replace("${DIRECTORY}", "/bin").replace("%i", "true"))
    assert words[0] == "istripectl"
    tool.run(*words[1:], FAKE_CLOCK="/bin/false")
    words = shlex.split(line.replace("${DIRECTORY}", "/no").replace("%i", "alert"))
    tool.run(*words[1:], code=2)
    assert settings("istripe-monitor@.service", "RestartPreventExitStatus") == ["2"]
    assert settings("istripe-monitor@.service", "WantedBy") == ["multi-user.target"]


def test_unit_does_not_start_again_in_vain():
    """This code is that of istripectl for what only the administrator mends."""
    assert settings("istripe@.service", "RestartPreventExitStatus") == ["78"]


def test_attempts_after_the_first_one_hold_up_no_boot():
    """Each is a job of its unit, which nothing of the boot may wait for: of several volumes that fail,
    there may always be one that is tried. The target is active from the first attempt on.
    """
    assert settings("istripe@.service", "Restart") == ["on-failure"]
    assert settings("istripe@.service", "Before") == []
    [wants] = settings("istripe@.service", "Wants")
    assert {"istripe-tried@%i.target", "remote-fs-pre.target"} < set(wants.split())
    assert settings("istripe-tried@.target", "After") == ["istripe@%i.service"]
    assert settings("istripe-tried@.target", "Before") == ["remote-fs-pre.target"]
    # A target is after all that it wants.
    assert settings("istripe-tried@.target", "Wants") == []


def test_other_nics_hold_up_no_volume():
    """network-online.target waits for them. The network stops after the volume."""
    for order in ("Wants", "After"):
        assert "network-online" not in settings("istripe@.service", order)[0]
    assert "network.target" in settings("istripe@.service", "After")[0].split()


@pytest.mark.parametrize("script", ["debian/istripe-tools.postinst", "istripe.spec"])
def test_an_upgrade_moves_links_of_an_earlier_version(tmp_path, script):
    """Those of multi-user.target, which would wait for the volume. Links of others stay, and so do one
    that would be the last, and that of a masked unit; nothing is started or stopped.
    """
    text = (TOP / "packaging" / script).read_text(encoding="utf-8").replace("%%", "%")
    [loop] = re.findall(r"^for link in .*?^done$", text, re.MULTILINE | re.DOTALL)
    loop = loop.replace("/etc/systemd/system", str(tmp_path))
    old, own = tmp_path / "multi-user.target.wants", tmp_path / "own.target.wants"
    for folder, name in ((old, "db"), (old, "broken"), (old, "masked"), (own, "db")):
        folder.mkdir(exist_ok=True)
        (folder / f"istripe@{name}.service").symlink_to("/lib/systemd/system/istripe@.service")
    (old / "ssh.service").symlink_to("/lib/systemd/system/ssh.service")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/systemctl").write_text(f"""#!/bin/sh
        case $1$2 in
        is-enabledistripe@masked.service) echo masked; exit 1 ;;
        is-enabled*) echo enabled; exit ;;
        esac
        echo "$*" >>{tmp_path}/called
        case $4 in *broken*) exit 1 ;; esac
        mkdir -p {tmp_path}/remote-fs.target.wants
        ln -s /lib/systemd/system/istripe@.service {tmp_path}/remote-fs.target.wants/"$4"\n""")
    (tmp_path / "bin/systemctl").chmod(0o755)
    said = ("istripe-tools: istripe@db.service is wanted by remote-fs.target now, not by "
            "multi-user.target.")
    for moved in [said], []:
        (tmp_path / "called").write_text("")
        done = subprocess.run(["sh", "-ec", loop, "sh", "configure"],
                              env={"PATH": f"{tmp_path}/bin:{os.environ['PATH']}"},
                              capture_output=True, text=True, check=True)
        assert done.stderr.splitlines() == [
            "istripe-tools: multi-user.target still waits for istripe@broken.service at boot.",
            "next: systemctl reenable istripe@broken.service"]
        assert done.stdout.splitlines() == moved
        links = sorted(str(link.relative_to(tmp_path)) for link in tmp_path.rglob("*.service"))
        assert links == [
            "multi-user.target.wants/istripe@broken.service",
            "multi-user.target.wants/istripe@masked.service", "multi-user.target.wants/ssh.service",
            "own.target.wants/istripe@db.service", "remote-fs.target.wants/istripe@db.service"]
        assert (old / "istripe@broken.service").readlink().name == "istripe@.service"
        calls = (tmp_path / "called").read_text().splitlines()
        assert all(call.startswith("--quiet --no-reload enable istripe@") for call in calls)
        assert not any("masked" in call for call in calls)
    # A root without systemd has nothing to move them.
    (tmp_path / "bin/systemctl").unlink()
    for program in ("rm", "ln", "readlink", "rmdir"):
        (tmp_path / "bin" / program).symlink_to(f"/bin/{program}")
    subprocess.run(["/bin/sh", "-ec", loop, "sh", "configure"], check=True,
                   env={"PATH": f"{tmp_path}/bin"})
    assert (old / "istripe@masked.service").is_symlink()


def test_unit_waits_for_no_name_server():
    """Its data may be on the volume: systemd would drop a job of the cycle, such as that of a mount."""
    assert "nss-lookup" not in settings("istripe@.service", "After")[0]


def test_uninstall_leaves_what_is_of_a_package(built, installed, tmp_path):
    """DESTDIR is no root of packages: here it is a part of the names."""
    unit = installed / "istripe@.service"
    dpkg = tmp_path / "bin/dpkg"
    dpkg.parent.mkdir()
    dpkg.write_text(f'#!/bin/sh\n[ "$1" = -S ] && [ "$2" = {unit} ]\n')
    dpkg.chmod(0o755)
    (tmp_path / "bin/rpm").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "bin/rpm").chmod(0o755)
    subprocess.run(["make", "-C", FOLDER, f"O={built}", f"PREFIX={tmp_path}/usr/local",
                    f"UNITDIR={installed}", f"UDEVDIR={tmp_path}/usr/lib/udev/rules.d",
                    f"OCFDIR={tmp_path}/usr/lib/ocf/resource.d/istripe", "uninstall"],
                   env={**os.environ, "PATH": f"{dpkg.parent}:{os.environ['PATH']}"}, check=True)
    assert [file.name for file in (tmp_path / "usr").rglob("*istripe*") if file.is_file()] == [
        unit.name]


@pytest.fixture
def systemd():
    """The socket of NOTIFY_SOCKET; what the tool has said to it."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as end:
        end.bind(f"\0istripe-{os.getpid()}")
        end.setblocking(False)

        def said():
            with contextlib.suppress(BlockingIOError):
                while True:
                    yield end.recv(1 << 16).decode()
        yield f"@istripe-{os.getpid()}", lambda: list(said())


def test_status_of_the_unit_has_the_reason(tool, systemd):
    """While it tries again and when it has given up, but not when the volume is up."""
    address, said = systemd
    tool.run("create", "db", "--no-up", "--leg",
             "target=iqn.2026-01.a:t1,portal=192.0.2.10", NOTIFY_SOCKET=address)
    assert said() == []
    failure = {"NOTIFY_SOCKET": address, "FAKE_ENABLE": str(errno.ECONNREFUSED),
               "FAKE_REASON": "leg 0 path 0: nobody"}
    reason = "STATUS=volume db does not come up: Connection refused; reason: leg 0 path 0: nobody"
    tool.run("up", "db", code=1, **failure)
    assert said() == [reason]
    tool.run("up", "--wait", "1min", "db", FAKE_ENABLE_TIMES="1", **failure)
    assert said() == [reason, "STATUS="]
    # Where nobody listens any more it is no matter.
    tool.run("down", "db")
    tool.run("up", "db", NOTIFY_SOCKET="/nowhere")
    assert settings("istripe@.service", "NotifyAccess") == ["main"]


@pytest.mark.parametrize("lines", [
    ["/dev/istripe0"],
    # The disk need not be the first one.
    ["/dev/mapper/vg-data", "/dev/istripe0", "/dev/istripe0p1"],
])
def test_stop_deactivates_what_is_on_the_disk(tmp_path, lines):
    """One after the other, whatever becomes of each."""
    for name, text in (("lsblk", "\n".join(["[ $3 = /dev/istripe/db ] || exit 1",
                                            *(f"echo {line}" for line in lines)])),
                       ("udevadm", f'[ "$1" = settle ] && echo settled >>{tmp_path}/called; exit 1'),
                       ("blkdeactivate", f"shift 4; echo $1 >>{tmp_path}/called; exit 1")):
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    (tmp_path / "called").touch()
    line = settings("istripe@.service", "ExecStop")[0]
    words = shlex.split(line.removeprefix("-").replace("$$", "$").replace("%i", "db"))
    subprocess.run(words, env={"PATH": f"{tmp_path}:{os.environ['PATH']}"}, check=False)
    assert (tmp_path / "called").read_text().split() == ["settled", *lines]


def unit_line(tmp_path, setting, number):
    """The words of a command of the volume's unit, with folders of the test's own."""
    line = settings("istripe@.service", setting)[number].removeprefix("-").replace("$$", "$")
    for old, new in (("%i", "db"), ("%n", "istripe@db.service"), ("/bin/systemctl", "systemctl"),
                     ("/sys/kernel/config/istripe", str(tmp_path)), ("/run/", f"{tmp_path}/")):
        line = line.replace(old, new)
    return shlex.split(line)


@pytest.mark.parametrize("down, up, system, calls", [
    (0, "0", "running", []),
    # It is in use: the unit stays active, and whoever stops it hears of it.
    (1, "1", "degraded", ["cancel 17", "--no-block start istripe@db.service"]),
    # A shutdown goes on; nor is there anything left to stop when it is down, with data lost.
    (1, "1", "stopping", []),
    (1, "0", "running", []),
    # It was deleted before its unit was stopped.
    (1, None, "running", []),
])
def test_stop_of_a_disk(tmp_path, down, up, system, calls):
    for name, text in (("istripectl", f'[ "$*" = "down db" ] && exit {down}'),
                       ("systemctl", f'''case "$*" in
                        is-system-running) echo {system} ;;
                        "show -p Job --value istripe@db.service") echo 17 ;;
                        "show -p Wants --value remote-fs.target")
                            echo 'istripe@log.service iscsi.service srv-db.mount'
                            ;;
                        "show -p Requires --value remote-fs.target")
                            echo '"srv-x\\\\x2dlog.mount" srv-log.automount srv-up.mount' ;;
                        "show -p Requires --value srv-db.mount") echo istripe@db.service -.mount ;;
                        "show -p Requires --value srv-log.automount") echo istripe@log.service ;;
                        "show -p Requires --value srv-up.mount") echo istripe@up.service ;;
                        "show -p Requires --value "*) ;;
                        "show -p ActiveState --value istripe@up.service") echo activating ;;
                        "show -p ActiveState --value "*) echo inactive ;;
                        *) echo "$*" >>{tmp_path}/called ;;
                        esac''')):
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    (tmp_path / "called").touch()
    if up:
        (tmp_path / "db").mkdir()
        (tmp_path / "db/enable").write_text(f"{up}\n")
    env = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(unit_line(tmp_path, "ExecStop", 1), env=env, check=False)
    assert done.returncode == (down if up else 0)
    assert (tmp_path / "called").read_text().splitlines() == calls
    # What has been unmounted before a stop that was refused stays so; the next start mounts, and
    # brings up no volume that is stopped.
    mount = ["--no-block start srv-db.mount srv-x\\x2dlog.mount srv-up.mount"]
    for expected in ([] if calls else mount), mount:
        (tmp_path / "called").write_text("")
        done = subprocess.run(unit_line(tmp_path, "ExecStartPost", 0), env=env, check=True)
        assert (tmp_path / "called").read_text().splitlines() == expected


def test_a_stop_that_succeeds_forgets_one_that_was_refused(tmp_path):
    """Also when the start after that one never came to its end."""
    (tmp_path / "istripectl").symlink_to("/bin/true")
    (tmp_path / "istripe-db.stays").touch()
    (tmp_path / "db").mkdir()
    subprocess.run(unit_line(tmp_path, "ExecStop", 1), check=True,
                   env={"PATH": f"{tmp_path}:{os.environ['PATH']}"})
    assert not (tmp_path / "istripe-db.stays").exists()


def run_once(tmp_path, unit):
    """What a unit runs, with folders of the test's own: volumes, and what is noted in "run"."""
    [line] = settings(unit, "ExecStart")
    for old, new in (("$$", "$"), ("%%", "%"), ("/run/", f"{tmp_path}/run/"),
                     ("/sys/kernel/config/istripe", f"{tmp_path}/volumes")):
        line = line.replace(old, new)
    environment = dict(word.split("=") for word in settings(unit, "Environment"))
    subprocess.run(shlex.split(line), env={"PATH": os.environ["PATH"], **environment}, check=True,
                   stderr=subprocess.DEVNULL)


def put_timeout(tmp_path, name, value):
    """The file of a volume."""
    file = tmp_path / "volumes" / name / "recovery_timeout_ms"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"{value}\n")
    return file


@pytest.mark.parametrize("before, after", [
    ("120000", "15000"), ("-1", "15000"), ("15001", "15000"), ("15000", "15000"), ("0", "0"),
    ("500", "500"),
])
def test_shutdown_makes_timeouts_short(tmp_path, before, after):
    """Those that are shorter already stay; each volume has its own. A soft reboot takes it back."""
    db, other = put_timeout(tmp_path, "db", before), put_timeout(tmp_path, "other", 999999)
    run_once(tmp_path, "istripe-shutdown.service")
    assert (db.read_text(), other.read_text()) == (f"{after}\n", "15000\n")
    run_once(tmp_path, "istripe-soft-reboot.service")
    assert (db.read_text(), other.read_text()) == (f"{before}\n", "999999\n")
    assert not [*(tmp_path / "run/istripe-shutdown").iterdir()]


def test_two_shutdowns_before_a_start(tmp_path):
    db = put_timeout(tmp_path, "db", -1)
    for unit in ("shutdown", "shutdown", "soft-reboot"):
        run_once(tmp_path, f"istripe-{unit}.service")
    assert db.read_text() == "-1\n"


def test_soft_reboot_keeps_what_was_set_since(tmp_path):
    """A volume may have come up anew, or be gone; none that is deleted is made again."""
    db, gone = put_timeout(tmp_path, "db", -1), put_timeout(tmp_path, "gone", -1)
    run_once(tmp_path, "istripe-shutdown.service")
    put_timeout(tmp_path, "db", 60000)
    gone.unlink()
    run_once(tmp_path, "istripe-soft-reboot.service")
    assert db.read_text() == "60000\n"
    assert not gone.exists()
    assert not [*(tmp_path / "run/istripe-shutdown").iterdir()]


def test_shutdown_without_volumes_is_no_failure(tmp_path):
    run_once(tmp_path, "istripe-shutdown.service")
