# SPDX-License-Identifier: GPL-2.0
"""Settings of a volume that is up: written in configfs, in use at once, shown in sysfs, kept."""

import collections
import errno
import itertools
import stat
import subprocess
import threading
import time
from contextlib import contextmanager

import pytest

from lab import lio, network
from lab.istripectl import TOOL
from lab.settings import LIVE
from lab.shell import read, status, wait_for, write

MIB = 1 << 20
PATH = {"default_time2wait": 0, "login_timeout_ms": 60000}
NO_WAIT = {"DefaultTime2Wait": 0}


@pytest.fixture
def volume(make_lio, make_volume, links):
    """A volume over the first of two links, which the target listens on both."""
    target = make_lio(lio.Lun(64 * MIB), all_links=True, params=NO_WAIT)
    return make_volume(target, path={**PATH, "nic": links[0].nic}, fence="path")


def configured(volume, level, name):
    return {"volume": volume.config, "leg": volume.leg, "path": volume.path}[level] / name


def shown(volume, level, name):
    return {"volume": volume.sysfs(), "leg": volume.leg_sysfs(0),
            "path": volume.path_sysfs()}[level] / name


def differing(volume):
    """Live settings of which the two trees say different things."""
    return [name for level, name, *_ in LIVE
            if read(configured(volume, level, name)) != read(shown(volume, level, name))]


def refused(file, value):
    """The errno with which a value is refused."""
    with pytest.raises(OSError) as failed:
        write(file, value)
    return failed.value.errno


@contextmanager
def enabling(directory, path, link):
    """A login of a path over a link on which nothing comes back; it is given up at the end."""
    with network.mute(link):
        process = subprocess.Popen(["sh", "-c", f"echo 1 > {directory}/enable"],
                                   stderr=subprocess.DEVNULL)
        try:
            wait_for("the login", lambda: is_busy(path / "weight"), 30)
            yield process
        finally:
            process.terminate()
            process.wait(60)


def is_busy(file):
    try:
        write(file, read(file))
    except OSError as error:
        assert error.errno == errno.EBUSY
        return True
    return False


def test_live_settings_take_effect_and_stay(volume):
    volume.enable()
    assert differing(volume) == []
    for level, name, value, _ in LIVE:
        assert read(configured(volume, level, name)) != value
        write(configured(volume, level, name), value)
        assert read(configured(volume, level, name)) == value
        assert read(shown(volume, level, name)) == value
    volume.disable()
    volume.enable()
    for level, name, value, _ in LIVE:
        assert read(configured(volume, level, name)) == value
        assert read(shown(volume, level, name)) == value


def test_bad_values_change_nothing(volume, kernel_log):
    volume.enable()
    for level, name, _, bad in LIVE:
        for value in ("", bad):
            if value == "" and name == "congestion_control":
                continue
            before = read(shown(volume, level, name))
            seen = len(kernel_log.matching(r"istripe: .*is refused, allowed is"))
            assert refused(configured(volume, level, name), value) == errno.EINVAL, (name, value)
            lines = kernel_log.matching(r"istripe: .*is refused, allowed is")[seen:]
            assert len(lines) == 1 and f" {name}: " in lines[0]
            assert read(shown(volume, level, name)) == before
            assert read(configured(volume, level, name)) == before


def test_sysfs_only_shows(volume):
    """There is one place to write a setting."""
    volume.enable()
    for level, name, value, _ in LIVE:
        file = shown(volume, level, name)
        before = read(file)
        assert stat.S_IMODE(file.stat().st_mode) == 0o444, name
        assert refused(file, value) == errno.EACCES, name
        assert read(file) == before


@contextmanager
def writing(volume):
    """Other values all the time, of each level; EBUSY while the volume comes and goes."""
    enough, done, wrong = threading.Event(), [], []
    files = [configured(volume, *place) for place in (
        ("volume", "command_timeout_ms"), ("path", "login_timeout_ms"),
        ("path", "ping_timeout_ms"))] + [volume.leg / "policy"]

    def work():
        for number in itertools.cycle(range(10000, 20000)):
            if enough.is_set():
                return
            for file in files:
                value = ("failover", "round-robin")[number % 2] if file.name == "policy" else number
                try:
                    write(file, value)
                    done.append(value)
                except OSError as error:
                    if error.errno != errno.EBUSY:
                        wrong.append(error)
                    time.sleep(0.01)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield done
    finally:
        enough.set()
        thread.join()
    assert wrong == []


@pytest.mark.timeout_s(300)
def test_writes_race_with_down_and_up(volume):
    """What was taken is in both trees, whenever it came."""
    for _ in range(8):
        with writing(volume) as done:
            for _ in range(2):
                volume.enable()
                count = len(done)
                wait_for("writes while it is up", lambda count=count: len(done) > count + 20)
                volume.disable()
            volume.enable()
        assert differing(volume) == []
        volume.disable()


def test_up_while_a_path_goes(volume, links):
    """Each comes before the other now and then: the volume takes all of a path, or nothing."""
    closed = {**volume.path_settings, "portal": f"{links[0].address}:1"}
    write(volume.path / "portal", closed["portal"])
    for number in range(1, 15):
        volume.add_path(number, closed)
    errors = collections.Counter()
    for _ in range(100):
        path = volume.add_path(15, closed)
        start = threading.Barrier(2)

        def go(start=start, path=path):
            start.wait()
            try:
                path.rmdir()
            except OSError as error:
                assert error.errno == errno.EBUSY

        thread = threading.Thread(target=go)
        thread.start()
        start.wait()
        errors[errno.errorcode[refused(volume.config / "enable", 1)]] += 1
        thread.join()
        if path.exists():
            path.rmdir()
    assert set(errors) <= {"ECONNREFUSED", "EBUSY"}


def test_while_a_path_comes(volume, links, kernel_log):
    """A login that takes long keeps nobody but the path itself from its settings."""
    volume.enable()
    coming = volume.add_path(1, {**volume.path_settings, "portal": links[1].portal(),
                                 "nic": links[1].nic})
    with enabling(coming, coming, links[1]) as login:
        for level, name, value, _ in LIVE:
            write(configured(volume, level, name), value)
            assert read(shown(volume, level, name)) == value
        assert refused(volume.config / "queue_depth", 64) == errno.EBUSY
        assert refused(coming / "weight", 3) == errno.EBUSY
        assert kernel_log.matching(r"0/1: weight: is refused while the volume or a path comes")
        assert login.poll() is None
    assert differing(volume) == []


def test_changes_while_a_path_comes(volume, links, kernel_log):
    """They are refused, and say why: nothing else shows that the path is coming."""
    volume.enable()
    coming = volume.add_path(1, {**volume.path_settings, "portal": links[1].portal(),
                                 "nic": links[1].nic})
    more = volume.add_path(2, {**volume.path_settings, "portal": links[1].portal(),
                               "nic": links[1].nic})
    why = "a change of leg 0 path 1 is under way"
    with enabling(coming, coming, links[1]) as login:
        for file, value, what in (
                (volume.config / "enable", 0, "not disabled"),
                (volume.path / "connections", 2, "leg 0 path 0 is not changed"),
                (volume.path / "enable", 0, "leg 0 path 0 is not removed"),
                (more / "enable", 1, "leg 0 path 2 is not added")):
            assert refused(file, value) == errno.EBUSY
            assert volume.last_error() == why
            assert kernel_log.matching(rf"{volume.name}: {what}: {why}")
        with pytest.raises(OSError):
            (volume.leg / "paths" / "3").mkdir()
        assert kernel_log.matching(rf"path not made: {why}")
        code, out = status(TOOL, "down", volume.name)
        assert code == 1 and f"reason: {why}" in out and "coming up" not in out
        assert login.poll() is None
    assert volume.last_error() != why


def test_while_it_does_not_come_up(volume, links):
    """Enabling has taken its copy: nothing may be written beside it."""
    with enabling(volume.config, volume.path, links[0]):
        for level, name, value, _ in LIVE:
            before = read(configured(volume, level, name))
            assert refused(configured(volume, level, name), value) == errno.EBUSY
            assert read(configured(volume, level, name)) == before
    volume.enable()
    assert differing(volume) == []
