# SPDX-License-Identifier: GPL-2.0
"""Ghost writes: what a lost path has left in the target must not come back over newer data.

The target's disk holds a write, and does not notice that the path it came over is dead. The
initiator sends it again, then writes newer data to the same place. Then the disk carries the old
one out. On some targets a login with the path's ISID makes it drop the write, or waits for it; on
others the login is answered at once, and only a reset of the LUN waits for what is with the disk.
"""

import asyncio
import itertools
import threading
import time

import pytest

from conftest import Size
from lab import ghost, lio, network, tgt
from lab.disk import Direct, noise, same
from lab.ghost import (
    ISIDS,
    KIB,
    Write,
    held_by_dead_link,
    held_write,
    killed,
    killed_by_target,
    path_is,
    release,
    set_isids,
    silent,
    slow,
    state,
    volume_over,
)
from lab.istripe import EnableError
from lab.shell import read, wait_for, write
from scripted.checks import ABORT_TASK
from scripted.conn import Drop
from scripted.ghost import (
    NO_TASK,
    NOT_SUPPORTED,
    REJECTED,
    Gate,
    Holder,
    completes,
    discards,
    hold,
    keep,
    rejects,
    silence,
)
from scripted.scenario import Scenario
from scripted.scsi import WRITE_16

MIB = 1 << 20
ROUNDS = Size.rounds(1, 20)
#: Silence is to be noticed, but not that an emulated processor stands still.
PATH = {"default_time2wait": 0, "login_timeout_ms": 5000, "ping_interval_ms": 1000,
        "ping_timeout_ms": 5000}
OVERDUE = pytest.mark.allow_log("has timed out: aborting it|commands stay unanswered",
                                "the disk is too slow for command_timeout_ms")

#: Paths, fence, how the first path is lost. QUICK are those of a quick run.
CELLS = list(itertools.product((1,), ("path",), (killed, killed_by_target, silent, slow))) + list(
    itertools.product((2,), ("path", "auto"), (killed, killed_by_target, silent, slow)))
QUICK = {
    "tgt": ((1, "path", killed), (1, "path", slow), (2, "path", killed_by_target),
            (2, "auto", silent)),
    "lio": ((1, "path", killed_by_target), (2, "path", slow), (2, "auto", silent)),
}


def cells(kind):
    return [pytest.param(*cell, id=f"{cell[0]}-{cell[1]}-{cell[2].__name__}",
                         marks=OVERDUE)
            for cell in (CELLS if Size.full else QUICK[kind])]


def volume_on(make_volume, links, target, paths, fence, lose):
    return make_volume(target, paths=links[:paths], policy="failover", fence=fence, path=PATH,
                       recovery_timeout_ms=-1, command_timeout_ms=2000 if lose is slow else 30000)


def wait_ready(volume, paths, fence, port=network.ISCSI_PORT):
    """For all paths, and until there are no sessions but theirs."""
    wait_for("all paths", lambda: state(volume) == "live", 60)
    if fence == "auto":
        volume.wait_proven()
    wait_for("the end of other sessions", lambda: len(network.ports(port=port)) == paths, 60)


def rounds_of(volume, disk, holder, link, paths, fence, lose):
    """What becomes of each round."""
    for number in range(ROUNDS):
        wait_ready(volume, paths, fence)
        yield ghost.appear(disk, holder, lose, link, seed=number,
                           wait_healed=lose is silent and fence == "path")


def no_ghost(make_volume, links, target, paths, fence, lose):
    """None comes back, and nothing is acknowledged as long as an older write is with the disk."""
    holder = target.luns[0].disk
    volume = volume_on(make_volume, links, target, paths, fence, lose)
    with Direct(volume.enable()) as disk:
        outcomes = list(rounds_of(volume, disk, holder, links[0], paths, fence, lose))
    assert [str(outcome) for outcome in outcomes] == ["late, data right"] * ROUNDS
    assert holder.carried_out == ROUNDS
    volume.disable()


@pytest.mark.timeout_s(600 if not Size.full else 3600)
@pytest.mark.parametrize("paths, fence, lose", cells("tgt"))
def test_tgt(make_tgt, make_volume, links, paths, fence, lose):
    """Its login is answered at once: what is with the disk goes on."""
    target = make_tgt(tgt.HoldingLun(16 * MIB), all_links=True)
    no_ghost(make_volume, links, target, paths, fence, lose)


@pytest.mark.timeout_s(600 if not Size.full else 3600)
@pytest.mark.parametrize("paths, fence, lose", cells("lio"))
def test_lio(make_lio, make_volume, links, paths, fence, lose):
    """Its login waits until the disk has done what the old session has asked for."""
    target = make_lio(lio.HoldingLun(16 * MIB), all_links=True)
    no_ghost(make_volume, links, target, paths, fence, lose)


@pytest.mark.allow_log("error(,| on) dev istripe|may still carry",
                       "the volume goes down while a write waits")
def test_tgt_while_the_volume_is_down(make_tgt, make_volume, links):
    """What the life before has left must be over before the volume is up again."""
    target = make_tgt(tgt.HoldingLun(16 * MIB))
    holder = target.luns[0].disk
    older, newer = noise(4 * KIB, 1), noise(4 * KIB, 2)
    volume = volume_on(make_volume, links, target, 1, "path", silent)
    with Direct(volume.enable()) as disk:
        with held_by_dead_link(disk, holder, older, volume, links[0], "waiting") as writer:
            volume.force_down()
        writer.join(60)
        assert not writer.is_alive() and not writer.good
    with pytest.raises(EnableError, match="LOGICAL UNIT RESET"):
        volume.enable()
    holder.release()
    with Direct(volume.enable()) as disk:
        disk.write(ghost.AT, newer)
        same(disk.read(ghost.AT, 4 * KIB), newer, "the data on the disk")
    volume.disable()


#: Of VMFS, at 1 MiB of a LUN, where the data of an array begin.
VMFS = b"\x0d\xd0\x01\xc0"


def make_array(volume):
    write(volume.config / "metadata_create", "force")
    return volume.enable()


def lose_array(volume, holder, link, port=network.ISCSI_PORT):
    """The path is lost while zeroes go over the signature of a VMFS; the holder has them."""
    refusals = []

    def make():
        try:
            make_array(volume)
        except EnableError as refusal:
            refusals.append(refusal)

    holder.hold(MIB)
    maker = threading.Thread(target=make, daemon=True)
    maker.start()
    wait_for("the zeroes that are held", holder.held)
    killed(link, port)
    maker.join(60)
    assert not maker.is_alive() and refusals
    assert read(volume.leg / "unfenced") == "0"


def test_tgt_while_an_array_is_made(make_tgt, make_volume, links):
    """What an attempt that failed has left must be over before the next one writes."""
    target = make_tgt(tgt.HoldingLun(16 * MIB))
    holder = target.luns[0].disk
    holder.data[MIB:MIB + len(VMFS)] = VMFS
    newer = noise(4 * KIB, 1)
    volume = make_volume(target, paths=links[:1], path=PATH, metadata="md")
    lose_array(volume, holder, links[0])
    with pytest.raises(EnableError, match="LOGICAL UNIT RESET"):
        make_array(volume)
    assert read(volume.leg / "unfenced") == "0"
    holder.release()
    with Direct(make_array(volume)) as disk:
        assert holder.carried_out == 1
        disk.write(0, newer)
        same(disk.read(0, 4 * KIB), newer, "the data on the disk")
    assert read(volume.leg / "unfenced") == ""
    volume.disable()


@pytest.mark.skipif(not Size.full, reason="it looks at tgt and open-iscsi, not at istripe")
def test_tgt_and_the_stock_initiator(make_tgt, stock, link):
    """The laboratory makes ghosts: the stock initiator believes the login, and older data win."""
    target = make_tgt(tgt.HoldingLun(16 * MIB))
    device = stock.login(link.portal(), target.iqn, target.lun_number(0))
    holder = target.luns[0].disk
    with Direct(device) as disk:
        outcomes = [ghost.appear(disk, holder, killed, link, seed=number,
                                 settle_s=ghost.PATIENCE_S) for number in range(ROUNDS)]
    assert [str(outcome) for outcome in outcomes] == ["early, data older"] * ROUNDS


#: What LIO calls itself: its login is answered when what the old session has asked for is over.
LIO_ALIAS = ("TargetAlias", "LIO Target")


def named_as_lio(holder, unanswered=(), logouts=None):
    """Hooks of a target that calls itself LIO.

    While a write is held a login for each entry of `unanswered` gets no answer. Logouts are noted.
    """

    async def login_pairs(_conn, _request, pairs, ready):
        if holder.task and unanswered:
            unanswered.pop()
            raise Drop
        return [*pairs, LIO_ALIAS], ready

    async def on_logout(_run, _conn, _pdu):
        logouts.append(holder.task)

    hooks = {"login_pairs": login_pairs}
    return hooks if logouts is None else {**hooks, "on_logout": on_logout}


def test_login_as_that_of_lio_while_an_array_is_made(server, make_volume, links):
    """The attempt that failed has left where its session was: the next login there needs no reset."""
    holder = Holder(completes)
    holder.server = server
    target = server.load(Scenario("LIO by name",
                                  hooks={**holder.hooks(), **named_as_lio(holder, ["one"])}))
    target.disk.data[MIB:MIB + len(VMFS)] = VMFS
    volume = volume_over(make_volume, links[:1], [server.port], target, path=PATH, metadata="md")
    lose_array(volume, holder, links[0], server.port)
    # As LIO's login does, but before it.
    holder.release()
    make_array(volume)
    assert holder.resets == 0
    assert read(volume.leg_sysfs(0) / "lun_reset") == "unneeded"
    volume.disable()
    assert server.violations() == []


@pytest.mark.parametrize("unanswered", [[], ["one"]], ids=["first", "second"])
def test_login_as_that_of_lio(server, make_volume, links, unanswered):
    """It needs no reset, also when a login before it was not answered."""
    holder = Holder(completes)
    holder.server = server
    target = server.load(Scenario("LIO by name",
                                  hooks={**holder.hooks(), **named_as_lio(holder, unanswered)}))
    volume = volume_over(make_volume, links[:1], [server.port], target, path=PATH)
    with Direct(volume.enable()) as disk:
        writer = ghost.write_to_holder(disk, holder, noise(4 * KIB, 1))
        killed(links[0], server.port)
        wait_for("what follows", lambda: holder.resets or not writer.is_alive(), 60)
        holder.release()
        writer.finish()
        assert holder.resets == 0 and not unanswered
        assert read(volume.leg_sysfs(0) / "lun_reset") == "unneeded"
    volume.disable()
    assert server.violations() == []


def test_lio_is_not_logged_out_with_a_write_in_flight(server, make_volume, links, kernel_log):
    """Its next login would not wait for the write: the session is cut, and so reinstated."""
    holder, logouts = Holder(completes), []
    holder.server = server
    target = server.load(Scenario("LIO wants a logout", hooks={
        **holder.hooks(), **named_as_lio(holder, logouts=logouts)}))
    volume = volume_over(make_volume, links[:1], [server.port], target, path=PATH)
    with Direct(volume.enable()) as disk:
        writer = ghost.write_to_holder(disk, holder, noise(4 * KIB, 1))
        server.call(holder.task.conn.tell(1, 0, 0, 3))
        wait_for("the next session", lambda: volume.reconnects() == 1, 60)
        holder.release()
        writer.finish()
        assert kernel_log.matching("target requests logout")
        assert not logouts and holder.resets == 0
        assert read(volume.leg_sysfs(0) / "lun_reset") == "unneeded"
    volume.disable()
    wait_for("the logout", lambda: logouts)
    assert logouts == [None]
    assert server.violations() == []


@OVERDUE
def test_lio_does_not_know_a_task_that_it_carries_out(server, make_volume, links):
    """As when a reset of the LUN waits for it: the session ends, and the next login waits."""
    holder, asked = Holder(completes), []
    holder.server = server

    async def not_known(run, conn, pdu):
        asked.append(pdu.flags & 0x7F)
        await run.target.answer_task_management(conn, pdu, NO_TASK)
        return True

    target = server.load(Scenario("LIO forgets", hooks={
        **holder.hooks(), **named_as_lio(holder), "on_tmf": not_known}))
    volume = volume_over(make_volume, links[:1], [server.port], target, path=PATH,
                         command_timeout_ms=5000)
    with Direct(volume.enable()) as disk:
        writer = ghost.write_to_holder(disk, holder, noise(4 * KIB, 1))
        wait_for("what follows", lambda: volume.reconnects() or not writer.is_alive(), 60)
        assert volume.reconnects() == 1
        assert asked == [ABORT_TASK]
        holder.release()
        writer.finish()
    volume.disable()
    assert server.violations() == []


def test_lio_holds_a_write_for_longer_than_a_login_may_take(make_lio, make_volume, links):
    """The next login waits for the session that the one before has begun to end."""
    target = make_lio(lio.HoldingLun(16 * MIB))
    holder = target.luns[0].disk
    older, newer = noise(4 * KIB, 1), noise(4 * KIB, 2)
    volume = make_volume(target, paths=links[:1], path=PATH, recovery_timeout_ms=-1)
    with Direct(volume.enable()) as disk:
        write(volume.path / "login_timeout_ms", 2000)
        writer = ghost.write_to_holder(disk, holder, older)
        killed(links[0], network.ISCSI_PORT)
        writer.join(9)
        assert writer.is_alive(), "acknowledged while the older one was with the disk"
        holder.release()
        writer.finish()
        disk.write(ghost.AT, newer)
        same(disk.read(ghost.AT, 4 * KIB), newer, "the data on the disk")
        assert read(volume.leg_sysfs(0) / "lun_reset") == "unneeded"
    volume.disable()


RESETS = {
    # a reset's answer while the write is held, the write, how often that is carried out, resets
    "completes": (completes, "late", 1, 1),
    "discards": (discards, "early", 0, 1),
    "silence": (silence, "late", 1, 3),
    "rejects": (rejects, "late", 1, 2),
}


def scripted_volume(server, make_volume, links, holder, paths, fence, **options):
    """A volume on a target whose login ends sessions, but not the write that is with the disk."""
    holder.server = server
    target = server.load(Scenario("keeps a write", hooks=holder.hooks()))
    return volume_over(make_volume, links[:paths], [server.port] * paths, target, fence=fence,
                       path=PATH, **options)


def resets():
    """All of them with a killed path; with others what a quick run leaves out."""
    ways = ((1, "path", killed), (1, "path", slow), (2, "auto", silent))
    return [pytest.param(reset, *way, id=f"{reset}-{way[0]}-{way[1]}-{way[2].__name__}",
                         marks=OVERDUE)
            for reset, way in itertools.product(RESETS, ways)
            if Size.full or way == ways[0] or reset == "completes"]


@pytest.mark.timeout_s(600 if not Size.full else 3600)
@pytest.mark.parametrize("reset, paths, fence, lose", resets())
def test_reset(server, make_volume, links, reset, paths, fence, lose):
    """Only a reset that was answered with success has ended what is with the disk."""
    answer, early, carried_out, resets = RESETS[reset]
    holder = Holder(answer)
    volume = scripted_volume(server, make_volume, links, holder, paths, fence,
                             command_timeout_ms=2000 if lose is slow else 30000)
    settle_s = ghost.SETTLE_S if early == "late" else ghost.PATIENCE_S
    with Direct(volume.enable()) as disk:
        for number in range(ROUNDS):
            wait_ready(volume, paths, fence, server.port)
            wanted = holder.resets + resets
            outcome = ghost.appear(disk, holder, lose, links[0], server.port, seed=number,
                                   settle_s=settle_s,
                                   asked=lambda wanted=wanted: holder.resets >= wanted)
            assert str(outcome) == f"{early}, data right"
        assert holder.carried_out == carried_out * ROUNDS
    volume.disable()
    assert server.violations() == []


def lose_a_write(disk, server, target, link, seed):
    """One that the target keeps: it ends with the next login."""
    older, newer = noise(4 * KIB, seed), noise(4 * KIB, seed + 1)
    target.run.hits = 0
    target.run.memory.clear()
    writer = held_write(disk, target, older)
    killed(link, server.port)
    writer.finish()
    disk.write(ghost.AT, newer)
    release(server, target)
    same(disk.read(ghost.AT, 4 * KIB), newer, "the data on the disk")
    assert "carried out" not in target.run.memory


def test_target_without_reset(server, make_volume, links, kernel_log):
    """It says so: its login is believed, as there is nothing better."""

    async def refused(run, conn, pdu):
        await run.target.answer_task_management(conn, pdu, NOT_SUPPORTED)
        return True

    target = server.load(Scenario("no reset", hooks={"on_command": keep, "on_tmf": refused}))
    volume = volume_over(make_volume, links[:1], [server.port], target, path=PATH)
    with Direct(volume.enable()) as disk:
        server.arm()
        for seed in (1, 3):
            lose_a_write(disk, server, target, links[0], seed)
            assert read(volume.leg_sysfs(0) / "lun_reset") == "unsupported"
        assert kernel_log.matching("the target does not know LOGICAL UNIT RESET: writes of a lost "
                                   "session are believed to end with the next login")
    volume.disable()
    assert server.violations() == []


async def says_rejected(run, conn, pdu):
    await run.target.answer_task_management(conn, pdu, REJECTED)


def rejects_the_pdu(reason):
    async def refuse(_run, conn, pdu):
        await conn.reject(pdu, reason)

    return refuse


def refusing_volume(server, make_volume, links, refuse):
    """Its target's login ends a write, a reset is refused; the volume, the target, when it was asked.
    """
    asked = []

    async def refused(run, conn, pdu):
        asked.append(time.monotonic())
        await refuse(run, conn, pdu)
        return True

    target = server.load(Scenario("no reset", hooks={"on_command": keep, "on_tmf": refused}))
    return volume_over(make_volume, links[:1], [server.port], target, path=PATH), target, asked


@pytest.mark.parametrize("refuse", [says_rejected, rejects_the_pdu(4)],
                         ids=["rejected", "protocol-error"])
def test_target_that_refuses_resets(server, make_volume, links, kernel_log, refuse):
    """Login after login: as if it had said that it does not know them; a refusal is no such word."""
    volume, target, asked = refusing_volume(server, make_volume, links, refuse)
    with Direct(volume.enable()) as disk:
        server.arm()
        lose_a_write(disk, server, target, links[0], 1)
        # Not the last of them, which the target may have noted long before its answer.
        assert len(asked) >= 3 and time.monotonic() - asked[0] > 4.5
        assert read(volume.leg_sysfs(0) / "lun_reset") == "unsupported"
        # The next time it is asked, and believed at once.
        asked.clear()
        lose_a_write(disk, server, target, links[0], 3)
        assert len(asked) == 1
        assert len(kernel_log.matching("refuses LOGICAL UNIT RESET")) == 1
    volume.disable()
    assert server.violations() == []


@pytest.mark.allow_log("error(,| on) dev istripe|may still carry",
                       "the volume goes down while a write waits")
def test_target_that_refuses_resets_and_was_down(server, make_volume, links):
    """The volume comes up when the target is known to refuse for good."""
    volume, target, asked = refusing_volume(server, make_volume, links, says_rejected)
    with Direct(volume.enable()) as disk:
        server.arm()
        writer = held_write(disk, target, noise(4 * KIB, 1))
        links[0].set_up(False)
        try:
            wait_for("the loss to be noticed", lambda: state(volume) == "waiting", 60)
            volume.force_down()
            writer.join(60)
            assert not writer.is_alive() and not writer.good
        finally:
            links[0].set_up(True)
    asked.clear()
    volume.enable()
    assert len(asked) >= 3 and time.monotonic() - asked[0] > 4.5
    release(server, target)
    assert "carried out" not in target.run.memory
    volume.disable()
    assert server.violations() == []


#: A path that does not answer within a second, as an emulated processor stands still, is left out
#: of what a reset collects. Its write goes on when its time is over, and the log says so.
TRIES, OVERDUE_MS = 3, 20000


def collected(kernel_log, attempt):
    """Whether another path's write went on with the reset in one of some attempts."""

    def overdue():
        return len(kernel_log.matching("has timed out: aborting it"))

    for seed in range(0, 3 * TRIES, 3):
        before = overdue()
        attempt(*(noise(4 * KIB, seed + number) for number in range(3)))
        if overdue() == before:
            return True
    return False


@OVERDUE
@pytest.mark.timeout_s(600)
@pytest.mark.parametrize("tas", [False, True, "late"])
@pytest.mark.parametrize("after_s", [0, 5])
def test_reset_ends_what_others_do(server, make_volume, links, kernel_log, tas, after_s):
    """Another path's write that the reset has aborted, whether that is told or not, is sent again.

    Also when the target takes its time for the reset, long after the other path went on. If it is
    told late, the other path's session has sent it again by then, and goes on.
    """
    holder = Holder(completes, tas)
    volume = scripted_volume(server, make_volume, links, holder, 2, "path",
                             command_timeout_ms=OVERDUE_MS)

    def attempt(older, newer, other):
        wait_ready(volume, 2, "path", server.port)
        before = holder.resets
        with held_by_dead_link(disk, holder, older, volume, links[0], "degraded") as writer:
            holder.lose_at.add(MIB)
            sibling = Write(disk, MIB, other)
            wait_for("the other path's write", lambda: not holder.lose_at)
            if not after_s:
                holder.release()
        wait_for("the reset", lambda: holder.resets > before or not writer.is_alive(), 60)
        writer.join(after_s)
        assert writer.is_alive() or not after_s, "acknowledged before the reset"
        holder.release()
        writer.finish()
        sibling.finish()
        disk.write(ghost.AT, newer)
        same(disk.read(ghost.AT, 4 * KIB), newer, "the data on the disk")
        same(disk.read(MIB, 4 * KIB), other, "what the other path has written")
        assert holder.resets > before

    with Direct(volume.enable()) as disk:
        assert collected(kernel_log, attempt), "the other path's write waits"
        if tas == "late":
            wait_for("what is told late", lambda: holder.told_late)
    # Logouts are answered behind what is told late.
    volume.disable()
    assert not kernel_log.matching("which is not in flight|commands time out over this path")
    assert server.violations() == []


@OVERDUE
@pytest.mark.timeout_s(600)
def test_reset_ends_many_of_others(server, make_volume, links, kernel_log):
    """All are sent again where each abort is complete, of tasks that are gone as well."""
    holder = Holder(ends_unknown=True)
    volume = scripted_volume(server, make_volume, links, holder, 2, "path",
                             command_timeout_ms=OVERDUE_MS)
    places = [MIB, 2 * MIB, 3 * MIB]

    def attempt(older, newer, other):
        wait_ready(volume, 2, "path", server.port)
        before = holder.resets
        with held_by_dead_link(disk, holder, older, volume, links[0], "degraded") as writer:
            holder.lose_at.update(places)
            siblings = [Write(disk, at, other) for at in places]
            wait_for("the other path's writes", lambda: not holder.lose_at)
            holder.release()
        for one in [writer, *siblings]:
            one.finish()
        disk.write(ghost.AT, newer)
        same(disk.read(ghost.AT, 4 * KIB), newer, "the data on the disk")
        for at in places:
            same(disk.read(at, 4 * KIB), other, "what the other path has written")
        assert holder.resets > before

    with Direct(volume.enable()) as disk:
        assert collected(kernel_log, attempt), "the other path's writes wait"
    volume.disable()


@OVERDUE
@pytest.mark.timeout_s(600)
def test_reset_beside_a_silent_path(server, make_volume, links, kernel_log):
    """The first path does not answer pings; what the third one has under way is collected all the
    same when the second one resets the LUN.
    """
    gate, holder = Gate(), Holder(discards)
    holder.server = server
    target = server.load(Scenario("silent sibling", hooks={**holder.hooks(), **gate.hooks}))
    volume = volume_over(make_volume, [links[0], links[0], links[1]], [server.port] * 3, target,
                         fence="path", path={**PATH, "ping_interval_ms": 60000},
                         command_timeout_ms=OVERDUE_MS)
    set_isids(volume, 3)

    def attempt(older, other, _):
        before = holder.resets
        wait_for("all paths", lambda: state(volume) == "live", 60)
        gate.close(server, ISIDS[0])
        wait_for("the first path's end", lambda: path_is(volume, 0, False))
        holder.hold(ghost.AT)
        writer = Write(disk, ghost.AT, older)
        wait_for("the write that is held", holder.held)
        assert holder.task.conn.session.isid.hex() == ISIDS[1]
        gate.close(server, ISIDS[1])
        wait_for("the second path's end", lambda: path_is(volume, 1, False))
        holder.lose_at.add(MIB)
        sibling = Write(disk, MIB, other)
        wait_for("the third path's write", lambda: not holder.lose_at)
        gate.closed.discard(ISIDS[0])
        wait_for("the first path", lambda: path_is(volume, 0, True), 60)
        gate.silent.add(ISIDS[0])
        gate.closed.discard(ISIDS[1])
        writer.finish()
        sibling.finish()
        gate.silent.clear()
        same(disk.read(MIB, 4 * KIB), other, "what the third path has written")
        assert holder.resets > before

    with Direct(volume.enable()) as disk:
        assert collected(kernel_log, attempt), "the third path's write waits"
    volume.disable()
    assert server.violations() == []


def test_ghost_write(server, make_volume, links):
    """The login drops the write: nothing waits for it."""
    target = server.load(Scenario("ghost", hooks={"on_command": hold}))
    volume = volume_over(make_volume, links, [server.port] * 2, target, fence="auto")
    older, newer = noise(4 * KIB, 1), noise(4 * KIB, 2)
    with Direct(volume.enable()) as disk:
        volume.wait_proven()
        server.arm()
        writer = held_write(disk, target, older)
        links[0].set_up(False)
        try:
            writer.join(60)
            assert not writer.is_alive(), "the write does not go on over the other path"
            assert state(volume) == "degraded"
            disk.write(64 * KIB, newer)
            release(server, target)
            same(disk.read(64 * KIB, 4 * KIB), newer, "the data on the disk")
            assert "carried out" not in target.run.memory
        finally:
            links[0].set_up(True)
        wait_for("both paths", lambda: state(volume) == "live", 60)
        same(disk.read(64 * KIB, 4 * KIB), newer, "the data on the disk")
    volume.disable()
    assert server.violations() == []


def test_a_slow_fence_holds_up_no_write(server, make_volume, links):
    """The target answers the login that ends the lost session late: its writes go on before."""
    places = [index * MIB for index in range(2)]
    kept, logins, answer = [], [], asyncio.Event()

    async def keep(run, conn, task):
        if task.opcode != WRITE_16 or conn.session.isid.hex() != ISIDS[0] or not run.armed:
            return False
        kept.append(task)
        await asyncio.Event().wait()
        return True

    async def late(run, _conn, pdu):
        if run.armed and pdu.isid.hex() == ISIDS[0]:
            logins.append(pdu)
            await answer.wait()
        return False

    target = server.load(Scenario("a slow fence", hooks={"on_command": keep, "on_login": late}))
    volume = volume_over(make_volume, links, [server.port] * 2, target, fence="auto",
                         path={**ghost.CALM, "login_timeout_ms": 120000})
    set_isids(volume)
    with Direct(volume.enable()) as disk:
        volume.wait_proven()
        server.arm()
        writers = [Write(disk, at, noise(4 * KIB, at)) for at in places]
        wait_for("the writes that are kept", lambda: len(kept) == len(places))
        killed(links[0], server.port)
        try:
            wait_for("the login", lambda: logins, 60)
            for writer in writers:
                writer.finish()
            assert state(volume) == "degraded"
        finally:
            server.loop.call_soon_threadsafe(answer.set)
        wait_for("both paths", lambda: state(volume) == "live", 60)
        for at in places:
            same(disk.read(at, 4 * KIB), noise(4 * KIB, at), "the data on the disk")
    volume.disable()
    assert server.violations() == []
