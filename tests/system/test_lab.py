# SPDX-License-Identifier: GPL-2.0
"""The laboratory itself, with the stock initiator: what it measures with is proven first."""

import subprocess
from types import SimpleNamespace

import pytest

import conftest
from lab import kernlog, network, storage, unsteady
from lab.shell import LabError

MIB = 1 << 20


def test_stock_initiator_and_lio(make_lio, stock, link, verify):
    target = make_lio(32 * MIB)
    disk = stock.login(link.portal(), target.iqn)
    verify(disk, total_bytes=16 * MIB, jobs=4)
    assert storage.sha256(disk) == storage.sha256(target.luns[0].file)


def test_stock_initiator_and_tgt(make_tgt, stock, link):
    target = make_tgt(32 * MIB, params={"InitialR2T": "No", "MaxOutstandingR2T": 8})
    disk = stock.login(link.portal(), target.iqn, lun=target.lun_number(0))
    written = storage.fill_pattern(disk, 32 * MIB, seed=3)
    assert storage.sha256(disk) == written
    assert storage.sha256(target.luns[0].file) == written


def test_stock_initiator_and_chap(make_lio, stock, link):
    target = make_lio(8 * MIB, chap=("user", "a-secret-of-20-bytes"))
    stock.login(link.portal(), target.iqn, **{
        "node.session.auth.authmethod": "CHAP", "node.session.auth.username": "user",
        "node.session.auth.password": "a-secret-of-20-bytes"})


def test_a_difference_is_seen(make_lio, stock, link):
    """One flipped bit at the target changes the checksum that the initiator reads."""
    target = make_lio(8 * MIB)
    disk = stock.login(link.portal(), target.iqn)
    written = storage.fill_pattern(disk, 8 * MIB, seed=5)
    with open(target.luns[0].file, "r+b") as file:
        file.seek(5 * MIB + 17)
        byte = file.read(1)[0]
        file.seek(5 * MIB + 17)
        file.write(bytes([byte ^ 1]))
    storage.drop_caches()
    assert storage.sha256(disk) != written


@pytest.mark.parametrize("by_target", [False, True])
def test_kill_breaks_the_connection(make_lio, stock, link, by_target):
    target = make_lio()
    stock.login(link.portal(), target.iqn)
    assert len(network.established()) == 1
    assert network.kill_connections(by_target) == 1


@pytest.mark.allow_log(r"istripe-test: WARNING: ", "written by the test itself")
def test_kernel_log_is_judged(kernel_log):
    with open("/dev/kmsg", "w", encoding="ascii") as log:
        log.write("<4>istripe-test: WARNING: not a real one\n")
    assert len(kernel_log.bad()) == 1
    assert kernel_log.bad([r"istripe-test: WARNING"]) == []


class Said(kernlog.KernelLog):
    """A log of what is put into it."""

    def __init__(self, *texts):
        self.lines, self.lost, self.closed = [], False, False
        self.put(*texts)

    def put(self, *texts):
        self.lines += [f"{len(self.lines) + at}.000000 {text}" for at, text in enumerate(texts)]

    def read(self):
        return self.lines

    def close(self):
        self.closed = True


@pytest.mark.parametrize(("allowed", "texts", "said"), [
    ((), [], ""),
    ((), ["istripe: loaded", "Buffer I/O error on dev istripe0"], ""),
    ((), ["WARNING: of a work item"], "kernel log, after a:\n1.000000 WARNING: of a work item"),
    (("of a work item",), ["WARNING: of a work item"], ""),
])
def test_the_gap_after_a_test_is_judged(allowed, texts, said):
    log = Said("BUG: of the test")
    gap = kernlog.Gap(log, "a", allowed)
    log.put(*texts)
    assert gap.end() == said
    assert log.closed


def test_a_warning_of_the_stock_initiator_may_end_in_the_gap():
    log = Said("WARNING: at flush_workqueue", "Workqueue: iscsi_ctrl_1 stop")
    gap = kernlog.Gap(log, "a")
    log.put("Call Trace:", "---[ end trace ]---", "Call Trace:")
    assert gap.end() == "kernel log, after a:\n4.000000 Call Trace:"


def test_lost_lines_are_judged():
    log = Said()
    assert log.bad() == []
    log.lost = True
    assert log.bad(["."]) == [kernlog.LOST]
    assert kernlog.Gap(log, "a").end() == ""
    gap = kernlog.Gap(log, "a")
    log.lost = True
    assert kernlog.LOST in gap.end()


def test_what_threads_wait_for_is_no_fault():
    """The laboratory has asked for it, when a test takes too long."""
    assert Said(f"istripe-lab: {kernlog.BLOCKED}", "Call Trace:", "istripe-lab: that was all",
                ).bad() == []
    assert len(Said(f"istripe-lab: {kernlog.BLOCKED}", "BUG: x", "istripe-lab: that was all",
                    "Call Trace:").bad()) == 2


@pytest.mark.parametrize(("line", "judged"), [
    ("recoverable transport error, dev istripe0, sector 0 op 0x1:(WRITE) flags 0x8800", True),
    ("critical space allocation error, dev istripe12, sector 0 op 0x1:(WRITE)", True),
    ("critical nexus error, dev istripe0, sector 0 op 0x1:(WRITE)", True),
    ("reservation conflict error, dev istripe0, sector 0 op 0x1:(WRITE)", True),
    ("critical medium error, dev istripe0, sector 0 op 0x0:(READ)", True),
    ("protection error, dev istripe0, sector 0 op 0x0:(READ)", True),
    ("I/O error, dev istripe0, sector 0 op 0x0:(READ)", True),
    ("Buffer I/O error on dev istripe0, logical block 0, async page read", True),
    ("recoverable transport error, dev sda, sector 0 op 0x0:(READ)", False),
    ("istripe: vol1/0: I/O fails that has waited for recovery_timeout_ms", False),
])
def test_failed_requests_are_judged(line, judged):
    assert bool(kernlog.BAD.search(line)) == judged


@pytest.mark.parametrize(("line", "judged"), [
    ("[   12.345678] WARNING: CPU: 1 PID: 7 at block/blk-mq.c:1 blk_mq_end_request+0x1/0x2", True),
    ("login: [   12.345678][   T31] INFO: task fio:31 blocked for more than 120 seconds.", True),
    ("[ 1234.567890] Call Trace:", True),
    ("[   12.345678] Kernel command line: console=ttyS0 oops=panic softlockup_panic=1", False),
    ("[   12.345678] rcu: \tRCU callback double-/use-after-free debug is enabled.", False),
    ("[   12.345678] I/O error, dev istripe0, sector 0 op 0x0:(READ)", False),
    ("[  OK  ] WARNING: of a program", False),
])
def test_console_is_judged(tmp_path, line, judged):
    console = tmp_path / "console"
    before = b"[    1.000000] BUG: of before\r\n"
    console.write_bytes(before + line.encode() + b"\r\n")
    found = kernlog.faults_on_console(console, len(before))
    assert found == (f"the kernel's log, {console}:\n{line}" if judged else "")


def kept_of_race(*report):
    """The first ruler stands before what is recognised, and stays."""
    report = ["=" * 66, *report, "=" * 66]
    lines = [f"1.000000 {line}" for line in ["before", *report, "after"]]
    kept = kernlog.without_foreign_races(lines)
    assert kept in (lines, [*lines[:2], lines[-1]])
    return kept == lines


@pytest.mark.parametrize(("top", "below", "judged"), [
    ("submit_one [istripe]", "queue_rq [istripe]", True),
    ("__hrtimer_run_queues", "hrtimer_interrupt", False),
    ("__list_add_valid_or_report+0x1/0x2", "submit_one+0x1/0x2 [istripe]", True),
    ("tcp_add_backlog+0x1/0x2", "submit_one+0x1/0x2 [istripe]", False),
])
def test_only_own_races_are_judged(top, below, judged):
    assert kept_of_race(f"BUG: KCSAN: data-race in {top.split('+', maxsplit=1)[0]} / run", "",
                        "write to 0x1:", f" {top}", f" {below}") == judged


@pytest.mark.parametrize(("values", "judged"), [
    ("0x20400800 -> 0x00400800", False),
    ("0x20400840 -> 0x00400800", True),
    ("0x00000001 -> 0x00000002", True),
])
def test_own_scheduling_is_no_race(values, judged):
    assert kept_of_race("BUG: KCSAN: data-race in flush+0x1 [istripe]", "",
                        "race at unknown origin, with write to 0x1 of 4 bytes by task 1 on cpu 1:",
                        " flush+0x1 [istripe]", "", f"value changed: {values}") == judged


def report(*cases):
    """A JUnit report: (test, looks at data, outcome, where each of its phases has failed) each."""
    return "<testsuites><testsuite>" + "".join(
        f'<testcase name="x"><properties><property name="nodeid" value="{nodeid}"/>'
        f'<property name="data" value="{data}"/>'
        + "".join(f'<property name="failed_at" value="{place}"/>' for place in places)
        + f'</properties>{outcome}</testcase>'
        for nodeid, data, outcome, *places in cases) + "</testsuite></testsuites>"


FAILED, ERROR = "<failure>why</failure>", "<error>why</error>"


@pytest.mark.parametrize(("cases", "reason"), [
    ([("a", "no", ""), ("b", "no", FAILED)], ""),
    ([("a", "no", ERROR), ("a", "no", FAILED), ("b", "no", FAILED)], ""),
    ([("a", "no", FAILED), ("b", "yes", FAILED)], "b looks at data"),
    ([("a", "yes", FAILED, "state")], ""),
    ([("a", "yes", FAILED, "state", "other")], "a looks at data"),
    ([("a", "yes", FAILED, "other")], "a looks at data"),
    ([("a", "who knows", FAILED)], "a looks at data"),
    ([("a", "no", ERROR, "judge")], "a was judged by what the kernel or a target says"),
    ([("a", "yes", FAILED, "state", "judge")], "a was judged by what the kernel or a target says"),
    ([("", "no", FAILED)], "a test without a name has failed"),
    ([("a", "no", FAILED), ("b", "no", ERROR), ("c", "no", FAILED)],
     "3 tests have failed, more than 2"),
    ([("a", "no", "")], "the report names no test that has failed"),
])
def test_what_is_run_again(cases, reason):
    assert unsteady.why_not(unsteady.failures(report(*cases))) == reason


def test_a_report_without_notes():
    assert unsteady.failures('<testcase name="x"><failure/></testcase>') == [
        unsteady.Failure("", "looks at data")]


def item_that_fails(sections):
    """As pytest has it; a test that looks at no data."""
    return SimpleNamespace(nodeid="test_x.py::test_y", fixturenames=[], function=kept_of_race,
                           user_properties=[], add_report_section=lambda *words: sections.append(words))


def test_a_judgement_is_noted():
    """Also when it is not what pytest reports, and for that one test only."""
    judged, other, sections = item_that_fails([]), item_that_fails([]), []
    with pytest.raises(pytest.fail.Exception) as reported:
        unsteady.judge("kernel log: BUG")
    unsteady.describe_failure(judged, reported, "teardown")
    assert judged.user_properties[-1] == ("failed_at", "judge")
    with pytest.raises(pytest.fail.Exception):
        unsteady.judge("kernel log: BUG")
    with pytest.raises(LabError) as reported:
        raise LabError("slow")
    unhidden = item_that_fails(sections)
    unsteady.describe_failure(unhidden, reported, "teardown")
    assert unhidden.user_properties[-1] == ("failed_at", "judge")
    assert sections == [("teardown", "judge", "kernel log: BUG")]
    unsteady.describe_failure(other, reported, "call")
    assert ("failed_at", "judge") not in other.user_properties


@pytest.mark.parametrize(("error", "statements", "state"), [
    (LabError("slow"), ["wait_for('it', lambda: live)", "raise LabError(what)"], True),
    (LabError("slow"), ["wait_for('the ghost', lambda: live)", "raise LabError(what)"], False),
    (LabError("slow"), ["wait_for('the proof', lambda: volume.fenced_through(0))", "raise"], True),
    (LabError("slow"), ["wait_for('it', lambda: read(path / 'ghost_writes') == '0')", "raise"], True),
    (LabError("slow"), ["wait_for('the fence', lambda: read(file) == '0')", "raise"], False),
    (LabError("slow"), ["wait_for('it', lambda: read(istripe_file))", "raise"], True),
    (LabError("fio"), ["run('fio')", "raise LabError(what)"], False),
    (LabError("iscsiadm"), ['run("iscsiadm", *node, "--login")', "raise LabError(what)"], True),
    (LabError("iscsiadm"), ['run("iscsiadm", *node, "-o", "new")', "raise LabError(what)"], False),
    (LabError("slow"), ["code, out, err = _finish(argv, netns, timeout_s)", "raise"], False),
    (subprocess.TimeoutExpired("dd", 60),
     ["run('dd')", "code, out, err = _finish(argv, netns, timeout_s, text_in)", "raise"], True),
    (subprocess.TimeoutExpired("dd", 60), ["writer.communicate(timeout=60)"], False),
    (subprocess.TimeoutExpired("cmp", 60),
     ["verify(disk)", "code, out, err = _finish(argv, netns, timeout_s, text_in)"], False),
    (AssertionError(), ["assert path_state(volume) == 'live'"], True),
    (AssertionError(), ["assert took_s < 2"], True),
    (AssertionError(), ["assert time.monotonic() - start < 20"], True),
    (AssertionError(), ["assert undisturbed(volume, 2)"], True),
    (AssertionError(), ["undisturbed(volume)", "assert read(path / 'faults') == '0'"], True),
    (AssertionError(), ["assert target.logins == 2"], True),
    (AssertionError(), ["assert disk.read(0, 4) == data"], False),
    (AssertionError(), ["same(found, wanted, what)", "assert took_s < 2"], False),
    (AssertionError(), ["assert path_state(volume) == 'live'", "raise AssertionError(what)"], False),
    (OSError(), ["assert path_state(volume) == 'live'"], False),
])
def test_failed_at_a_state(error, statements, state):
    assert unsteady.looks_at_state(error, statements, "test_data.py::test_y") == state


@pytest.mark.parametrize(("nodeid", "statement"), [
    ("test_ghost_ports.py::test_y", "assert waits.is_alive(), 'newer data were written over it'"),
    ("test_ghost_write.py::test_y", "assert writer.is_alive() or not after_s, 'acknowledged'"),
    ("test_fence.py::test_y[path]", "assert writer.is_alive(), 'the write was answered'"),
    ("test_lun_reset.py::test_y", "assert writer.is_alive(), 'no wait'"),
    ("test_overlay.py::test_y", "assert waits.is_alive(), 'it was sent'"),
    ("test_overlay_cache.py::test_y", "assert state(volume) == 'live'"),
    ("test_holding.py::test_y", "assert took_s < 2"),
    ("test_metadata.py::test_y", "assert state(volume) == 'live'"),
    ("test_durable.py::test_y", "assert target.logins == 2"),
    ("test_reservation.py::test_y", "assert volume.last_error() == ''"),
    ("test_reservation_ports.py::test_y", "assert state(volume) == 'live'"),
    ("test_reservation_slow.py::test_y", "assert state(volume) == 'live'"),
    ("test_fence_session.py::test_y", "assert target.logins == 2"),
    ("test_paths.py::test_nothing_is_written_after_an_unfenced_write",
     "assert state(volume) == 'failed'"),
    # Wherever it is.
    ("test_data.py::test_y", "assert writer.is_alive()"),
])
def test_overtaken_data_are_no_state(nodeid, statement):
    assert not unsteady.looks_at_state(AssertionError(), [statement], nodeid)
    late = ["wait_for('it', lambda: live)", "raise LabError(what)"]
    assert unsteady.looks_at_state(LabError("slow"), late, nodeid)


@pytest.mark.parametrize(("statement", "state"), [
    ("assert time.monotonic() - start < 60", True),
    ("assert time.monotonic() - start < YIELD_S, 'late'", True),
    ("assert reader.longest_s < STALL_S", True),
    ("assert count == 1 or reader.longest_s < STALL_S", False),
    ("assert time.monotonic() - start > 60", False),
    ("assert 2 < time.monotonic() - start < 60", False),
    ("assert time.monotonic() - start < 60 and target.logins == 2", False),
])
def test_late_is_a_state_everywhere(statement, state):
    assert unsteady.looks_at_state(AssertionError(), [statement], "test_fence.py::test_y") == state


def compares(device):
    return storage.same(device, device)


def leads_to_data():
    return compares


def says_so_only():
    """What compares a pattern."""
    for _ in range(2):
        # verified
        """The superblock."""


def comes_of_itself(path, volume):
    volume.fenced_through(path) and path / "ghost_writes" / "istripe_x"


def of_a_fence(path):
    return path / "fence_timeout_ms"


@pytest.mark.parametrize(("nodeid", "fixtures", "function", "data"), [
    ("test_x.py::test_y", ["link"], kept_of_race, False),
    ("test_x.py::test_y", ["link"], says_so_only, False),
    ("test_x.py::test_y", ["link"], comes_of_itself, False),
    ("test_x.py::test_y", ["link"], of_a_fence, True),
    ("test_x.py::test_is_fenced_through_another", ["link"], kept_of_race, True),
    ("test_x.py::test_y", ["link", "verify"], kept_of_race, True),
    ("test_x.py::test_fence", ["link"], kept_of_race, True),
    ("test_growth.py::test_y", ["link"], kept_of_race, True),
    ("test_overlay.py::test_y", ["link"], kept_of_race, True),
    ("test_overlay_cache.py::test_y", ["link"], kept_of_race, True),
    ("test_reservation_ports.py::test_y", ["link"], kept_of_race, True),
    ("test_reservation_slow.py::test_y", ["link"], kept_of_race, True),
    ("test_holding.py::test_y", ["link"], kept_of_race, True),
    ("test_x.py::test_overlay_y", ["link"], kept_of_race, False),
    ("test_x.py::test_y", ["link"], leads_to_data, True),
])
def test_who_looks_at_data(nodeid, fixtures, function, data):
    assert unsteady.looks_at_data(nodeid, fixtures, function) == data


def test_all_are_ended():
    ended = []

    def fails(what):
        ended.append(what)
        raise LabError(what)

    with pytest.raises(LabError, match="second"):
        conftest.end_all([lambda: fails("first"), lambda: fails("second"),
                          lambda: ended.append("third")])
    assert ended == ["first", "second", "third"]


class Item:
    """As pytest collects it, with the names of its marks and the kernel that it needs."""

    def __init__(self, nodeid, *marks, kernel=None):
        self.nodeid, self.marks = nodeid, marks
        self.kernel = SimpleNamespace(args=kernel) if kernel else None

    def get_closest_marker(self, name):
        return self.kernel if name == "kernel" else name in self.marks


ITEMS = [Item("a"), Item("b", "long"), Item("c", "long"), Item("d"), Item("e", "both"),
         Item("f", "both", "long"), Item("h", kernel=(6, 4)), Item("i", kernel=(6, 19)), Item("g")]


@pytest.mark.parametrize(("release", "chosen", "named", "left"), [
    ((6, 1), "", False, "de"),
    ((6, 12), "", False, "aehg"),
    ((6, 1), "long", False, "bcf"),
    ((6, 12), "long", False, "bcf"),
    ((6, 12), "not debug", False, "acefhg"),
    ((6, 1), "", True, "abcdefg"),
    ((7, 3), "kernel", False, "hi"),
])
def test_which_kernel_runs_what(monkeypatch, release, chosen, named, left):
    """make check halves the tests, make check-long has all that it leaves out on each kernel."""
    monkeypatch.setattr(conftest.Size, "full", False)
    for name, value in (("DEBUG", False), ("ATOMIC_WRITES", True),
                        ("faults", SimpleNamespace(available=lambda: True)),
                        ("RELEASE", release)):
        monkeypatch.setattr(conftest, name, value)
    others = conftest.others_of(ITEMS, named, chosen)
    kept = [item for item in ITEMS if item not in others]
    if chosen in ("long", "kernel"):
        kept = [item for item in kept if item.get_closest_marker(chosen)]
    assert "".join(item.nodeid for item in kept) == left
