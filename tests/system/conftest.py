# SPDX-License-Identifier: GPL-2.0
"""Fixtures: the laboratory is set up once; targets and volumes live for one test.

Every test's verdict includes the kernel's log from its start to the end of its clean-up. A test
that provokes a line on purpose says so with the marker allow_log(pattern, reason). Faults that the
kernel tells after that fail the test that comes next, or the end of the run.
"""

import contextlib
import faulthandler
import itertools
import os
import signal
import subprocess
import traceback
from pathlib import Path

import pytest

from lab import (
    faults,
    fio,
    istripe,
    journal,
    leaks,
    lio,
    names,
    network,
    openiscsi,
    storage,
    tgt,
    unsteady,
)
from lab.disk import Reader
from lab.ghost import ISIDS, set_isids
from lab.istripectl import TOOL
from lab.kernel import ATOMIC_WRITES, DEBUG, RELEASE
from lab.kernlog import Gap, KernelLog
from lab.shell import LabError, read, run, status, write
from scripted.registrations import RegisteredDisk
from scripted.scenario import HONEST
from scripted.server import Server

MIB = 1 << 20
TOP = Path(__file__).resolve().parents[2]
LONG = Path(__file__).with_name("long.txt")
DEFAULT_TIMEOUT_S = 300
#: A kernel that looks at every access to memory takes its time.
DEBUG_SLOWDOWN = 4
_numbers = itertools.count(1)
FAILURE = pytest.StashKey[str]()


class Size:
    """How much is done: little in a quick run, what the project promises in a full one."""

    full = bool(os.environ.get("ISTRIPE_FULL"))
    fio_bytes = int(os.environ.get("ISTRIPE_FIO_BYTES") or (2048 if full else 32) * MIB)
    #: the matrices run this much for each of their cells
    cell_bytes = 256 * MIB if full else 8 * MIB

    @classmethod
    def rounds(cls, quick, full):
        return full if cls.full else quick


def mark_long(items, named):
    """Marks what LONG lists. A name in it that no test has any more is an error."""
    names = {line for line in LONG.read_text(encoding="ascii").splitlines() if line[:1] != "#"}
    for item in items:
        if item.nodeid in names:
            item.add_marker(pytest.mark.long)
    unknown = names - {item.nodeid for item in items}
    if unknown and not named:
        raise pytest.UsageError(f"{LONG.name}: no such test: {', '.join(sorted(unknown))}")


def wants_newer(item):
    mark = item.get_closest_marker("kernel")
    return mark and RELEASE < mark.args


def others_of(items, named, chosen):
    """What is for other kernels, and for other runs.

    The even ones run on one kernel, the odd ones on the other, but for those that are marked as
    both or with the oldest kernel that can run them, unless tests or files are named, or just those
    that are long are chosen by their mark. What is marked as long runs when tests or files are
    named, or chosen by a mark.
    """
    others = [item for item in items if wants_newer(item)]
    if not faults.available():
        others += [item for item in items if item.get_closest_marker("debug")]
    if not ATOMIC_WRITES:
        others += [item for item in items if item.get_closest_marker("atomic")]
    if not Size.full and not DEBUG and not named:
        # With those that are long: the others stay on their kernel when one more is.
        shared = [item for item in items if item not in others and not (
            item.get_closest_marker("both") or item.get_closest_marker("kernel"))]
        if chosen != "long":
            others += shared[RELEASE != (6, 1)::2]
        if not chosen:
            others += [item for item in items
                       if item.get_closest_marker("long") and item not in others]
    return others


def pytest_configure(config):
    config.pluginmanager.register(journal.Journal(), "journal")


def pytest_collection_modifyitems(config, items):
    named = any(".py" in word for word in config.args)
    mark_long(items, named)
    others = others_of(items, named, chosen=config.option.markexpr)
    passed = config.pluginmanager.get_plugin("journal").passed_before()
    others += [item for item in items if item.nodeid in passed and item not in others]
    config.hook.pytest_deselected(items=others)
    items[:] = [item for item in items if item not in others]


@pytest.hookimpl(hookwrapper=True, trylast=True)
def pytest_runtest_call(item):
    outcome = yield
    if outcome.excinfo:
        item.stash[FAILURE] = "".join(traceback.format_exception(*outcome.excinfo))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_makereport(item, call):
    # Skipped is no failure.
    if not call.excinfo or call.excinfo.errisinstance(pytest.skip.Exception):
        return
    unsteady.describe_failure(item, call.excinfo, call.when)
    # It takes the place of what the test has failed of.
    if call.excinfo.errisinstance(pytest.PytestUnhandledThreadExceptionWarning):
        item.add_report_section(call.when, "failure", item.stash.get(FAILURE, ""))


@pytest.fixture(scope="session")
def size():
    return Size


def judge_gap(gap):
    said = gap.end()
    if said:
        unsteady.judge(said)


@pytest.fixture(scope="session", autouse=True)
def gaps():
    """The one Gap there is: before the first test, between two, and until all is taken down."""
    gaps = [Gap(KernelLog(), "the start of the run")]
    yield gaps
    judge_gap(gaps.pop())


@pytest.fixture(scope="session", autouse=True)
def laboratory(gaps):
    """The namespaces, the links, the target's modules; nothing is left to the host."""
    assert os.geteuid() == 0, "the system tests run as root inside a VM: tests/vm/run"
    assert "virtme" in read("/proc/cmdline"), (
        "these tests change the network and load modules: use tests/vm/run"
    )
    net = network.Network(links=2)
    net.create()
    # The kernel's code for each packet is patched with the first of them and after the last one, which
    # the emulator does not always survive: there is one all the time, also of a run before this one.
    if "clsact" not in run("tc", "qdisc", "show", "dev", "lo"):
        run("tc", "qdisc", "add", "dev", "lo", "clsact")
    storage.prepare()
    lio.prepare()
    yield net
    net.destroy()


@pytest.fixture(scope="session", autouse=True)
def nothing_leaked(laboratory):
    """At the end, where the kernel knows: while functions have names, and after them."""
    yield
    if not leaks.loaded():
        return
    for step in (None, istripe.unload):
        if step:
            step()
        suspects = leaks.kmemleak()
        if suspects:
            unsteady.judge("kmemleak:\n" + "".join(suspects))


@pytest.fixture(scope="session")
def links(laboratory):
    return laboratory.links


@pytest.fixture
def link(links):
    return links[0]


@pytest.fixture
def module(laboratory):
    """The module is loaded, whatever the test before this one has done with it."""
    if not leaks.loaded():
        istripe.load()


@pytest.fixture(autouse=True)
def verdict(request, gaps):
    """Bounds a test in time and adds the kernel's log to its verdict.

    The first fixture of a test to be set up and the last one to be torn down.
    """
    log, nodeid = KernelLog(), request.node.nodeid
    gap, gaps[:] = gaps[0], [Gap(log, nodeid)]
    judge_gap(gap)
    log.say(f"start {nodeid}")
    marker = request.node.get_closest_marker("timeout_s")
    limit = marker.args[0] if marker else DEFAULT_TIMEOUT_S
    limit *= DEBUG_SLOWDOWN if DEBUG else 1

    def expired(*_):
        # Before anything else.
        log.tell_blocked()
        faulthandler.dump_traceback()
        raise LabError(f"the test took longer than {limit} s")

    signal.signal(signal.SIGALRM, expired)
    signal.alarm(limit)
    yield log
    signal.alarm(0)
    allowed = [m.args[0] for m in request.node.iter_markers("allow_log")]
    bad = log.bad(allowed)
    gaps[:] = [Gap(log, nodeid, allowed)]
    if bad:
        unsteady.judge("kernel log:\n" + "\n".join(bad[:10] + ["..."] + log.lines[-60:]))


@pytest.fixture
def kernel_log(verdict):
    """The kernel's log since the start of the test."""
    return verdict


@pytest.fixture
def conf():
    """The folder of configurations, which no test leaves anything in."""
    folder = Path("/etc/istripe")
    yield folder
    for file in folder.glob("*"):
        file.unlink()


def end_all(ends):
    """Calls all of them in this order, also when one raises."""
    with contextlib.ExitStack() as stack:
        for end in reversed(ends):
            stack.callback(end)


@pytest.fixture
def targets():
    """Whatever a test creates with it is taken down after the test."""
    made = []

    def make(target):
        made.append(target)
        return target.create()

    yield make
    end_all([target.destroy for target in reversed(made)])


@pytest.fixture
def make_lio(targets, links):
    """make_lio(size_bytes or Lun, ..., params={}, ...): a LIO target on the first link."""

    def make(*luns, all_links=False, **options):
        luns = [lun if isinstance(lun, lio.Lun) else lio.Lun(lun) for lun in luns or (64 * MIB,)]
        portals = [(address, network.ISCSI_PORT)
                   for link in (links if all_links else links[:1])
                   for address in (link.address, link.address6)]
        options.setdefault("iqn", f"{lio.IQN}{next(_numbers)}")
        return targets(lio.Target(portals, luns, **options))

    return make


@pytest.fixture
def known_hosts():
    """known_hosts({name: [address, ...]}): names that the machine knows, beside localhost."""
    with names.known_hosts() as add:
        yield add


@pytest.fixture
def resolver(module, known_hosts):
    """The same, where the kernel can resolve names."""
    if status("modinfo", "dns_resolver")[0]:
        pytest.skip("this kernel has no CONFIG_DNS_RESOLVER")
    assert names.resolver(), "the module does without the kernel's"
    assert names.HELPER.exists(), "no package keyutils: tests/vm/install vm"
    return known_hosts


@pytest.fixture
def keep_on_disk():
    """Where LIO writes down the reservations that shall outlive a loss of power; targetcli moves it."""
    moved = Path("/sys/kernel/config/target/dbroot")
    for root in {"/var/target", read(moved) if moved.exists() else "/var/target"}:
        Path(root, "pr").mkdir(parents=True, exist_ok=True)


@pytest.fixture
def make_tgt(targets, links):
    """make_tgt(size_bytes or Lun, ..., params={}, ...): a tgt target on the first link."""

    def make(*luns, all_links=False, **options):
        luns = [lun if isinstance(lun, tgt.Lun) else tgt.Lun(lun) for lun in luns or (64 * MIB,)]
        portals = [(link.address, network.ISCSI_PORT) for link in (links if all_links else links[:1])]
        return targets(tgt.Target(portals, luns, **options))

    return make


@pytest.fixture
def udev_rules():
    """The udev rules of the tool are in force."""
    file = Path("/run/udev/rules.d/60-istripe.rules")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text((TOP / "tools/istripectl/60-istripe.rules").read_text())
    run("udevadm", "control", "--reload")
    yield
    file.unlink()
    run("udevadm", "control", "--reload")


@pytest.fixture
def make_server(laboratory):
    """make_server(address, port): the scripted target, at each link; "::": IPv6. Without port: any.

    At the end what the initiator has done wrong with it fails the test, see Server.unexpected().
    """
    made = []

    def make(address="0.0.0.0", port=0):
        made.append(Server(address, port, network.NETNS).start())
        return made[-1]

    yield make
    end_all([server.stop for server in made])
    unexpected = [line for server in made for line in server.unexpected()]
    if unexpected:
        unsteady.judge("\n".join(unexpected))


@pytest.fixture
def server(make_server):
    """The scripted target."""
    return make_server()


@pytest.fixture
def servers(make_server):
    """Two scripted targets of one name."""
    return [make_server(), make_server()]


#: An emulated processor may stand still for longer than a silent target is waited for by default.
PATIENCE = {"ping_interval_ms": 5000, "ping_timeout_ms": 5000}


@pytest.fixture
def make_volume(module, targets, link):
    """make_volume(target, legs=1, paths=links, path={}, ...): a volume that is configured, not enabled.

    Depends on `targets` so that volumes go before the targets they use.
    """
    made = []

    def make(target, legs=1, paths=(), **options):
        options.setdefault("name", f"vol{next(_numbers)}")
        options["path"] = {**PATIENCE, **(options.get("path") or {})}
        for name in {"more_legs", "more_paths"} & set(options):
            options[name] = [{**PATIENCE, **settings} for settings in options[name]]
        if paths:
            volume = istripe.Volume.of_many_paths(target, paths, **options)
        elif legs > 1:
            volume = istripe.Volume.striped(target, link, legs, **options)
        else:
            volume = istripe.Volume.of(target, link, **options)
        made.append(volume)
        return volume.create()

    yield make
    end_all([volume.delete for volume in reversed(made)])


@pytest.fixture
def make_scripted(server, make_volume, links):
    """make_scripted(scenario, paths=1, path={}, ...): a volume of the scripted target's LUN."""

    def make(scenario, paths=1, path=(), **options):
        target = server.load(scenario)
        path = {"portal": f"{links[0].address}:{server.port}", "login_timeout_ms": 10000,
                "default_time2wait": 0, **dict(path)}
        volume = make_volume(target, paths=links[:paths] if paths > 1 else (),
                             path=path, **{"recovery_timeout_ms": 20000, **options})
        if paths > 1:
            write(volume.leg / "paths" / "1" / "portal", f"{links[1].address}:{server.port}")
        return volume, target

    return make


@pytest.fixture
def registered(make_scripted):
    """registered(paths, ...): a volume, its disk in the target, and the nexuses of its paths."""

    def make(paths=2, scenario=HONEST, kind=RegisteredDisk):
        volume, target = make_scripted(scenario, paths=paths)
        set_isids(volume, paths)
        target.disk = kind()
        name = volume.settings["initiator_name"]
        return volume, target.disk, [(name, bytes.fromhex(isid)) for isid in ISIDS[:paths]]

    return make


@pytest.fixture
def reader():
    """reader(device): reads until the end of the test."""
    made = []

    def make(device):
        made.append(Reader(device))
        return made[-1]

    yield make
    end_all([one.end for one in made])


@pytest.fixture
def mount_point():
    """A directory; what is mounted there is not any more after the test."""
    path = storage.ROOT / "mnt"
    path.mkdir(exist_ok=True)
    yield path
    run("umount", path, check=False)


@pytest.fixture
def tool(module, targets):
    """tool(word, ..., code=0): runs istripectl, demands its exit code; volumes go after the test.

    Depends on `targets` so that volumes go before the targets they use.
    """
    assert TOOL.is_file(), f"no {TOOL}: make -C tools/istripectl"

    def call(*words, code=0, text_in=None):
        done = subprocess.run([TOOL, *map(str, words)], input=text_in, capture_output=True,
                              text=True, timeout=120, check=False)
        assert done.returncode == code, f"{words}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout if code == 0 else done.stderr

    yield call
    if istripe.CONFIG.is_dir():
        istripe.delete_all()


@pytest.fixture
def stock(targets):
    """The stock initiator; logged out and stopped after the test."""
    initiator = openiscsi.Stock()
    yield initiator.start()
    initiator.stop()


@pytest.fixture
def verify(size):
    """verify(device, ...): fio writes with checksums and reads everything back."""

    def run(device, total_bytes=size.fio_bytes, **options):
        return fio.verify(device, total_bytes=total_bytes, **options)

    return run
