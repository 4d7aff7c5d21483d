# SPDX-License-Identifier: GPL-2.0
"""Four paths to two target port groups: which of them get I/O, and how it moves between them.

The scripted array counts all commands for the medium that come to a portal; LIO counts those of a
portal group, and the driver those that a path has carried out (histograms) and those that came to
nothing there (retries).
"""

import itertools
import time
from statistics import median

import pytest

from conftest import PATIENCE
from lab import fio, lio
from lab.array import EXPLICIT, IMPLICIT, LioArray, ways
from lab.disk import Direct, noise, same
from lab.ghost import AT, KIB, Write, path_is, state, undisturbed
from lab.settings import POLICIES
from lab.shell import read, wait_for, write
from scripted.alua import NON_OPTIMIZED, OPTIMIZED, STANDBY
from scripted.array import Array

pytestmark = pytest.mark.timeout_s(600)
MIB = 1 << 20
KINDS = ("scripted", "lio")
WEIGHTS = (1, 3)
PATH = {"login_timeout_ms": 10000, "default_time2wait": 0, "login_retry_max_ms": 1000}
NAMES = {OPTIMIZED: "active/optimized", NON_OPTIMIZED: "active/non-optimized", STANDBY: "standby"}
CHUNK = 64 * KIB
#: How long a group is in transition.
DELAY_S = 0.3
#: How long I/O may stand still beyond that; where nobody has a processor to itself: median, longest.
STALL_S, STALL_BUSY_S, STALL_ONCE_S = 0.5, 1, 5
SOON_S = 20
#: How long a target that changes states by itself as well is given to do that.
IMPLICIT_S = 1
VERIFY = {"lio": {"total_bytes": 4 * MIB, "jobs": 4, "largest_bytes": 64 * KIB, "depth": 4},
          "scripted": {"total_bytes": MIB, "jobs": 2, "largest_bytes": 16 * KIB, "depth": 4}}
_numbers = itertools.count(1)


@pytest.fixture
def make_array(make_server, targets, links):
    """make_array(kind, ...): the array, with its four ways."""
    made = []

    def make(kind, **options):
        made.extend(ways(links))
        for way in made:
            way.create()
        if kind == "scripted":
            return Array(make_server, made, **options)
        return LioArray(targets, made, f"iqn.2024-01.org.example.istripe:array{next(_numbers)}",
                        **options)

    yield make
    for way in made:
        way.destroy()


@pytest.fixture
def four(make_array, make_volume):
    """four(kind, ...): an array and a volume with a path over each way, not enabled yet."""

    def make(kind, policy="round-robin", settings=(), **options):
        array = make_array(kind, **options)
        volume = make_volume(array, paths=array.ways, policy=policy, path=PATH, chunk_bytes=CHUNK,
                             recovery_timeout_ms=60000, **dict(settings))
        return array, volume

    return make


def paths_of(array, group):
    """Numbers of the paths that lead to a group."""
    return [path for path, way in enumerate(array.ways) if way.group == group]


def wait_states(array, volume, *states):
    for path, way in enumerate(array.ways):
        wait_for(f"path {path} to be {NAMES[states[way.group]]}",
                 lambda path=path, way=way: read(volume.path_sysfs(0, path) / "access_state")
                 == NAMES[states[way.group]], SOON_S)


def change(array, volume, disk, *states):
    """Whoever finds out does so by a command."""
    array.set(*states)
    for _ in range(8):
        disk.read(0, 4 * KIB)
    wait_states(array, volume, *states)


def wait_live(array, volume):
    for path in range(len(array.ways)):
        wait_for(f"path {path}",
                 lambda path=path: read(volume.path_sysfs(0, path) / "state") == "live", 60)
    # A path's own state is told before the leg uses it.
    wait_for("the leg", lambda: state(volume) == "live", SOON_S)


def wait_siblings(array, volume):
    """Until a lost session can be ended over the other path to its group, and not over others."""
    for path, way in enumerate(array.ways):
        wanted = [other for other in paths_of(array, way.group) if other != path]
        wait_for(f"the proof for path {path}",
                 lambda path=path, wanted=wanted: volume.fenced_through(path) == wanted, 60)


def carried_out(volume, leg=0, paths=4):
    """Of each path, how many commands for requests."""
    return [sum(sum(map(int, read(volume.path_sysfs(leg, path) / f"latency_{kind}").split()[1:]))
                for kind in ("read", "write", "other")) for path in range(paths)]


def refused(volume, leg=0, paths=4):
    """Of each path that was not lost, how many got a refusal, or a unit attention."""
    return [int(read(volume.path_sysfs(leg, path) / "retries")) for path in range(paths)]


def counted(array, volume, work):
    """Of each path, the commands that the work makes: as the target says if it does, in detail."""
    def now():
        if array.kind == "scripted":
            return [array.arrived[way.address] for way in array.ways]
        return carried_out(volume)

    before = now()
    work()
    return [after - earlier for earlier, after in zip(before, now())]


def traffic(disk):
    """One command at a time."""
    data = noise(CHUNK, 1)
    for index in range(32):
        disk.write(MIB + index * CHUNK, data)
        same(disk.read(MIB + index * CHUNK, CHUNK), data, "what was read")


def check_shares(policy, shares):
    """What Documentation/ABI says of a policy, for paths in their order; one at a time."""
    assert sum(shares) >= 64
    if len(shares) == 1:
        return
    first, second = shares
    if policy == "failover":
        assert second == 0
    elif policy == "round-robin":
        assert abs(first - second) <= 1
    elif policy == "weighted":
        assert abs(first * WEIGHTS[1] - second * WEIGHTS[0]) <= sum(WEIGHTS)
    else:
        assert first and second


def check_only(array, volume, disk, policy, paths):
    """Only these paths get commands, each its share."""
    groups = {array.ways[path].group for path in paths}
    before = [array.commands(group) for group in range(2)]
    counts = counted(array, volume, lambda: traffic(disk))
    for path, count in enumerate(counts):
        assert path in paths or count == 0, (path, counts)
    check_shares(policy, [counts[path] for path in paths])
    if array.kind == "lio":
        # Of the others, only what asks for their state.
        for group in {0, 1} - groups:
            assert array.commands(group) - before[group] < 30
    if policy == "interleave":
        size = len(paths) * CHUNK
        counts = counted(array, volume, lambda: disk.read(0, size))
        assert [counts[path] for path in paths] == [1] * len(paths), counts


def lose_one(array, volume, disk, policy):
    """A path of the first group, with a write in flight: it goes on over the other one."""
    mine = paths_of(array, 0)
    if array.kind == "lio":
        lost = mine[0]
        with fio.meanwhile(f"/dev/{volume.device()}", **fio.verify_options(**VERIFY["lio"])):
            array.ways[lost].lose()
            wait_for("the loss", lambda: state(volume) == "degraded", SOON_S)
    else:
        array.hold_at = AT
        writer = Write(disk, AT, noise(4 * KIB, policy))
        wait_for("the write that is held", lambda: array.held, SOON_S)
        lost = next(path for path in mine if array.ways[path].address == array.held)
        before = array.commands(1)
        array.ways[lost].lose()
        writer.finish()
        assert array.commands(1) == before
        same(disk.read(AT, 4 * KIB), noise(4 * KIB, policy), "what was read")
    return lost, next(path for path in mine if path != lost)


def lose_the_other(array, volume, disk, last):
    """The last one of the group: all goes on over the other one, a write in flight, too."""
    writer = None
    if array.kind == "scripted":
        array.hold_at = AT
        writer = Write(disk, AT, noise(4 * KIB, "last"))
        wait_for("the write that is held", lambda: array.held == array.ways[last].address, SOON_S)
    array.ways[last].lose()
    wait_for("the loss", lambda: path_is(volume, last, False), SOON_S)
    return writer


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("kind", KINDS)
def test_which_paths_get_io(four, kind, policy):
    array, volume = four(kind, policy=policy)
    first, second = paths_of(array, 0), paths_of(array, 1)
    if policy == "weighted":
        for paths in (first, second):
            for path, weight in zip(paths, WEIGHTS):
                write(volume.leg / "paths" / str(path) / "weight", weight)
    array.set(OPTIMIZED, NON_OPTIMIZED)
    with Direct(volume.enable()) as disk:
        wait_states(array, volume, OPTIMIZED, NON_OPTIMIZED)
        check_only(array, volume, disk, policy, first)
        change(array, volume, disk, STANDBY, OPTIMIZED)
        check_only(array, volume, disk, policy, second)
        change(array, volume, disk, OPTIMIZED, NON_OPTIMIZED)
        check_only(array, volume, disk, policy, first)
        wait_siblings(array, volume)
        lost, left = lose_one(array, volume, disk, policy)
        check_only(array, volume, disk, policy, [left])
        writer = lose_the_other(array, volume, disk, left)
        check_only(array, volume, disk, policy, second)
        assert state(volume) == "degraded"
        if writer:
            writer.finish()
        for path in (lost, left):
            array.ways[path].heal()
        wait_live(array, volume)
        if writer:
            same(disk.read(AT, 4 * KIB), noise(4 * KIB, "last"), "what was read")
        check_only(array, volume, disk, policy, first)


def words_of(stalls, transition_s):
    late = sum(stall > transition_s + STALL_S for stall in stalls)
    return (f"{len(stalls)} for {transition_s:.1f} s, median {median(stalls):.2f} s, longest"
            f" {max(stalls):.2f} s, {late} beyond that by more than {STALL_S} s")


def report(request, verdict, figures):
    for name, text in figures.items():
        request.node.user_properties.append((name, text))
        verdict.say(f"{name}: {text}")


def in_flight(kind):
    """I/Os of fio, and one of the reader."""
    return VERIFY[kind]["jobs"] * VERIFY[kind]["depth"] + 1


def check_stalls(stalls, transition_s):
    assert median(stalls) < transition_s + STALL_BUSY_S
    assert max(stalls) < transition_s + STALL_ONCE_S


def sent_to(volume, places):
    """Of paths (leg, path), how many commands for requests have come to an end, good or not."""
    return [carried_out(volume, leg, path + 1)[path] + refused(volume, leg, path + 1)[path]
            for leg, path in places]


def sent_at_last(volume, places):
    """The same, when nothing is on its way there and nothing is added any more."""
    def stays():
        time.sleep(0.5)
        counts.append(sent_to(volume, places))
        there = [folder for place in places
                 for folder in (volume.path_sysfs(*place) / "connections").iterdir()]
        return counts[-1] == counts[-2] and {
            read(folder / "commands_in_flight") for folder in there} == {"0"}

    counts = [sent_to(volume, places)]
    wait_for("I/O to end there", stays, SOON_S)
    return counts[-1]


def half_round(array, volume, reader, better):
    """The other group has the LUN; returns the longest time that a read took."""
    states = [STANDBY, STANDBY]
    states[better] = OPTIMIZED
    reader.longest_s = 0
    array.set(*states)
    wait_states(array, volume, *states)
    reader.goes_on()
    worse = 1 - better
    there = [(0, path) for path in paths_of(array, worse)]
    before = sent_at_last(volume, there)
    commands = array.commands(worse)
    time.sleep(0.5)
    reader.goes_on()
    assert sent_to(volume, there) == before
    # LIO counts the questions for its state, too.
    asked = 0 if array.kind == "scripted" else 40
    assert 0 <= array.commands(worse) - commands <= asked
    return reader.longest_s


@pytest.mark.timeout_s(3600)
@pytest.mark.allow_log("error.* dev sd", "somebody looks at the other host's disk")
@pytest.mark.parametrize("access", [IMPLICIT, EXPLICIT], ids=["implicit", "explicit"])
@pytest.mark.parametrize("kind", KINDS)
def test_to_standby_and_back(four, reader, size, request, verdict, kind, access):
    """No error, no session lost, and nothing for a standby port once one refusal was seen.

    How long I/O stands still is a figure for the report; a full run has a limit for it.
    """
    # The other host is this one.
    array, volume = four(kind, access=access, delay_s=DELAY_S, settings={"host_disks": "claim"})
    if kind == "lio" and access == EXPLICIT:
        array.other_host(request.getfixturevalue("stock"))
    array.set(OPTIMIZED, STANDBY)
    device = volume.enable()
    each = reader(device)
    stalls = []
    rounds = size.rounds(2, 50)
    with fio.meanwhile(device, **fio.verify_options(**VERIFY[kind])) as results:
        for _ in range(rounds):
            stalls += [half_round(array, volume, each, better) for better in (1, 0)]
    of_fio = max(result.longest_s() for result in results)
    figures = {"stalls": f"{words_of(stalls, array.transition_s)}, of fio {of_fio:.2f} s",
               "refused": f"{sum(refused(volume))} in {len(stalls)} changes"}
    if kind == "scripted":
        figures["refused"] += f", {array.late} of them late"
        # What was on its way to the connection of each of the port's paths by then.
        assert array.late <= 2 * len(stalls)
        assert array.groups.wanted == []
    report(request, verdict, figures)
    assert each.errors == []
    # One at most for each I/O and each path to the group, and attentions.
    assert sum(refused(volume)) <= len(stalls) * (2 * in_flight(kind) + 8)
    undisturbed(volume, paths=4)
    # The scripted target takes its time on a busy machine.
    if size.full and kind == "lio":
        check_stalls([*stalls, of_fio], array.transition_s)


@pytest.fixture
def many(targets, make_volume, links):
    """many(legs): an array for each leg, which hosts may ask for its LUN, and a volume.

    There is a path to each of the two groups of an array.
    """
    pair = ways(links[:1])

    def make(legs):
        for way in pair:
            way.create()
        arrays = [LioArray(targets, pair, f"{lio.IQN}-many{leg}", size_bytes=4 * MIB,
                           access=IMPLICIT | EXPLICIT, delay_s=DELAY_S) for leg in range(legs)]
        settings = [[{"portal": way.portal(), "nic": way.nic, "target_name": array.iqn, "lun": 0,
                      **PATH, **PATIENCE} for way in pair] for array in arrays]
        volume = make_volume(arrays[0], paths=pair, path=PATH, chunk_bytes=CHUNK,
                             recovery_timeout_ms=-1, more_legs=[leg[0] for leg in settings[1:]])
        for leg in range(1, legs):
            volume.add_path(1, settings[leg][1], leg)
        return arrays, volume

    yield make
    for way in pair:
        way.destroy()


def take_away(arrays):
    """Each LUN is standby where it was optimized."""
    for array in arrays:
        group = array.lun.groups[array.states().index(OPTIMIZED)]
        write(group / "alua_access_state", STANDBY)


def standby_paths(array):
    """Numbers of the paths to the group that does not have the LUN."""
    return paths_of(array, array.states().index(STANDBY))


def wait_given(arrays, volume):
    """Until each LUN was asked for, and istripe knows that it has got it."""
    for leg, array in enumerate(arrays):
        wait_for(f"leg {leg} to get its LUN", lambda array=array: OPTIMIZED in array.states(), 60)
        path = paths_of(array, array.states().index(OPTIMIZED))[0]
        wait_for(f"path {leg}/{path}",
                 lambda leg=leg, path=path: read(volume.path_sysfs(leg, path) / "access_state")
                 == NAMES[OPTIMIZED], SOON_S)


@pytest.mark.timeout_s(1800)
def test_asked_for_again_and_again(many, reader, size, request, verdict):
    """LUNs become standby at all ports under fio, and istripe asks for each: 50 times in all.

    It asks for the same one less and less often, so there are several.
    """
    legs, rounds = size.rounds(2, 10), size.rounds(2, 5)
    arrays, volume = many(legs)
    for array in arrays:
        array.set(OPTIMIZED, STANDBY)
    device = volume.enable()
    each = reader(device)
    stalls = []
    with fio.meanwhile(device, **fio.verify_options(**VERIFY["lio"])) as results:
        for number in range(rounds):
            # A request is not made sooner after the one before.
            time.sleep(2 ** number if number else 0)
            each.longest_s = 0
            take_away(arrays)
            wait_given(arrays, volume)
            # It reads from all legs.
            each.goes_on(256)
            stalls.append(each.longest_s)
            there = [(leg, path) for leg, array in enumerate(arrays)
                     for path in standby_paths(array)]
            before = sent_at_last(volume, there)
            time.sleep(0.5)
            each.goes_on(256)
            assert sent_to(volume, there) == before
    transition_s = arrays[0].transition_s + IMPLICIT_S
    of_fio = max(result.longest_s() for result in results)
    requests = len(verdict.matching("asking the target to serve the LUN through port group"))
    report(request, verdict, {
        "stalls": f"{words_of(stalls, transition_s)}, of fio {of_fio:.2f} s",
        "requests": f"{requests} for {legs} LUNs"})
    assert requests == legs * rounds
    assert each.errors == []
    undisturbed(volume, legs=legs)
    if size.full:
        check_stalls([*stalls, of_fio], transition_s)
