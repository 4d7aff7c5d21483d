# SPDX-License-Identifier: GPL-2.0
"""Paths and connections that come and go while the volume is up and busy."""

import concurrent.futures
import contextlib
import errno
import re
import subprocess
from pathlib import Path

import pytest

from lab import fio, network
from lab.disk import Direct, noise, same
from lab.ghost import state
from lab.istripe import INITIATOR
from lab.istripectl import TOOL
from lab.reservation import KEY, WRITE_EXCLUSIVE_REG_ONLY, Reservations
from lab.shell import on_failure, read, run, status, wait_for, write
from scripted import checks, scsi
from scripted.conn import Drop
from scripted.scenario import Held, Scenario

KIB, MIB = 1 << 10, 1 << 20
LUN_BYTES = 64 * MIB
#: On a busy machine the target may be slow to answer a ping.
QUICK = {"default_time2wait": 0, "ping_interval_ms": 500, "ping_timeout_ms": 20000,
         "login_timeout_ms": 10000}
NO_WAIT = {"DefaultTime2Wait": 0}
#: Silence is noticed.
FAST = {"command_timeout_ms": 2000, "path": {"ping_timeout_ms": 5000}}


@pytest.fixture
def one_path(make_lio, make_volume, links):
    """A LIO LUN behind two links, and a volume that uses the first one; no proofs."""

    def make(params=None, path=None, fence="path", **options):
        target = make_lio(LUN_BYTES, LUN_BYTES, all_links=True,
                          params={**NO_WAIT, **(params or {})}, patient_with=INITIATOR)
        return make_volume(target, path={**QUICK, "nic": links[0].nic, **(path or {})},
                           fence=fence, **options)

    return make


def path_dir(volume, number):
    return volume.leg / "paths" / str(number)


def configure(volume, number, link, **more):
    """The directory of a further path, not in use yet; like path 0, but over another link."""
    directory = path_dir(volume, number)
    directory.mkdir()
    for name, value in {**volume.path_settings, "portal": link.portal(), "nic": link.nic,
                        **more}.items():
        write(directory / name, value)
    return directory


def add(volume, number, link, **more):
    write(configure(volume, number, link, **more) / "enable", 1)


def remove(volume, number):
    write(path_dir(volume, number) / "enable", 0)
    path_dir(volume, number).rmdir()


def refused(directory, value=0):
    """The errno with which enabling or disabling a path is refused."""
    with pytest.raises(OSError) as failed:
        write(directory / "enable", value)
    return failed.value.errno


def sent(volume, path):
    return int(read(volume.path_sysfs(0, path) / "session" / "commands_sent"))


def wait_connections(count):
    wait_for("as many connections", lambda: len(network.established()) == count, 60)


def wait_session(volume, count):
    """A session of so many connections."""
    file = volume.path_sysfs() / "session" / "connections"

    def there():
        try:
            return int(read(file)) == count and volume.state() == "live"
        except OSError:
            return False

    wait_for("the next session", there, 60)


def verified_io(device):
    return fio.meanwhile(device, **fio.verify_options(4 * MIB, jobs=4, largest_bytes=64 * KIB, depth=4))


def test_paths_come_and_go_under_verify(one_path, links, size):
    volume = one_path()
    device = volume.enable()
    with verified_io(device):
        for _ in range(size.rounds(3, 50)):
            add(volume, 1, links[1])
            assert volume.state() == state(volume) == "live"
            assert len(network.established()) == 2
            wait_for("commands over it", lambda: sent(volume, 1) > 20, 60)
            remove(volume, 1)
            assert not volume.path_sysfs(0, 1).exists()
            assert len(network.established()) == 1
    assert volume.reconnects() == 0 and state(volume) == "live"


def test_an_added_path_carries_its_share(one_path, links):
    """Of one stream at depth 1, as if it had been there when the volume came up."""
    volume = one_path(chunk_bytes=64 * KIB)
    device = volume.enable()
    add(volume, 1, links[1])
    before = [sent(volume, path) for path in range(2)]
    run("dd", f"if={device}", "of=/dev/null", "iflag=direct", f"bs={MIB}", "count=16")
    assert [sent(volume, path) - then for path, then in enumerate(before)] == [16, 16]


@pytest.mark.parametrize("connections", [1, 2])
def test_reconnect_under_verify(one_path, links, size, kernel_log, connections):
    """All paths log in again, one after another: no loss, no error."""
    volume = one_path(path={"connections": connections})
    device = volume.enable()
    add(volume, 1, links[1])
    with verified_io(device) as results:
        for count in range(1, size.rounds(3, 50) + 1):
            out = run(TOOL, "reconnect", volume.name)
            assert len(re.findall("live again after", out)) == 2
            for number in range(2):
                path = volume.path_sysfs(0, number)
                assert read(path / "state") == "live"
                assert int(read(path / "reconnects")) == count * connections
                assert read(path / "faults") == read(path / "retries") == "0"
            assert len(network.established()) == 2 * connections
        wait_for("commands over both", lambda: sent(volume, 0) and sent(volume, 1), 60)
    assert results and state(volume) == "live"
    assert int(read(volume.sysfs() / "legs/0/redriven")) == 0
    assert not kernel_log.matching("I/O error")


def test_reconnect_of_the_only_path(one_path, kernel_log):
    """Refused, unless I/O may wait for it."""
    volume = one_path()
    device = volume.enable()
    reconnect = volume.path_sysfs() / "reconnect"
    for value, error in (("1", errno.EBUSY), ("0", errno.EINVAL), ("yes", errno.EINVAL)):
        with pytest.raises(OSError) as failed:
            write(reconnect, value)
        assert failed.value.errno == error, value
    assert kernel_log.matching("reconnect: is refused, nothing else of leg 0 is live")
    assert volume.reconnects() == 0 and volume.state() == "live"
    with verified_io(device):
        code, out = status(TOOL, "reconnect", volume.name)
        assert code == 1 and "is the only path of its leg that is live" in out
        run(TOOL, "reconnect", "--force", volume.name, "0", "0")
        assert volume.reconnects() == 1
    assert state(volume) == "live" and read(volume.path_sysfs() / "faults") == "0"


def test_reconnect_of_a_path_that_does_not_come_back(one_path, links):
    """It is said which and why; it comes back when it can, and the next one is left alone."""
    volume = one_path()
    device = volume.enable()
    add(volume, 1, links[1])
    with verified_io(device):
        with network.down(links[0]):
            code, out = status(TOOL, "reconnect", "--timeout", "5", volume.name)
        assert code == 1 and "leg 0 path 0" in out and "paths behind it are left" in out
        wait_for("path 0", lambda: read(volume.path_sysfs() / "state") == "live", 60)
    assert int(read(volume.path_sysfs(0, 1) / "reconnects")) == 0
    assert state(volume) == "live"


def test_the_first_path_goes(one_path, links, verify):
    """Its number stays free; the volume comes up again with what is left."""
    volume = one_path()
    device = volume.enable()
    with verified_io(device):
        add(volume, 3, links[1])
        remove(volume, 0)
        assert not volume.path_sysfs(0, 0).exists()
        assert read(volume.path_sysfs(0, 3) / "state") == "live"
    assert network.established() and state(volume) == "live"
    volume.disable()
    assert read(path_dir(volume, 3) / "enable") == "0"
    device = volume.enable()
    assert read(path_dir(volume, 3) / "enable") == "1"
    assert read(volume.path_sysfs(0, 3) / "state") == "live"
    verify(device, total_bytes=4 * MIB, jobs=2, largest_bytes=64 * KIB)


def test_added_to_a_leg_that_waits(one_path, links):
    """The only path is lost: I/O goes on over one that is added. The lost one goes when it is back."""
    volume = one_path(fence="auto", ghost_timeout_ms=1000)
    device = volume.enable()
    with verified_io(device):
        wait_for("commands", lambda: sent(volume, 0) > 20, 60)
        with network.down(links[0]):
            wait_for("the loss", lambda: state(volume) == "waiting", 60)
            add(volume, 1, links[1])
            wait_for("commands over it", lambda: sent(volume, 1) > 20, 60)
        wait_for("the lost path", lambda: state(volume) == "live", 60)
        remove(volume, 0)
    assert not volume.path_sysfs(0, 0).exists()
    assert state(volume) == "live"


def test_the_last_one_stays(one_path, links):
    """The only path, and the only live one."""
    volume = one_path()
    device = volume.enable()
    assert refused(volume.path) == errno.EBUSY
    assert "leg 0 has no other path" in volume.last_error()
    with pytest.raises(OSError):
        volume.path.rmdir()
    add(volume, 1, links[1])
    with network.down(links[1]):
        wait_for("the loss", lambda: state(volume) == "degraded", 30)
        assert refused(volume.path) == errno.EBUSY
        # At once: "any more" is told by one that has begun to log out.
        assert volume.last_error().endswith("nothing else of leg 0 is live")
        run("dd", f"if={device}", "of=/dev/null", "iflag=direct", "bs=64k", "count=16")
        # The lost one has nothing that waits for it: it may go.
        remove(volume, 1)
    assert state(volume) == "live"


def test_added_with_a_shorter_transfer_length(make_server, make_volume, links):
    """It is used while no request is too long for it, and from then on the disk allows no longer."""
    async def refuses_long_ones(run, conn, task):
        if (task.opcode != scsi.READ_16 or
                scsi.number(task.cdb, 10, 4) <= run.target.disk.max_transfer):
            return False
        await run.target.respond(conn, task, scsi.Result.check(5, 0x24, 0))
        return True

    servers = [make_server(), make_server()]
    for server, mib in zip(servers, (16, 2)):
        server.load(Scenario("shorter", hooks={"on_command": refuses_long_ones}),
                    max_transfer=mib * MIB // 512)
    servers[1].target.disk.data = servers[0].target.disk.data
    paths = [{**QUICK, "portal": f"{link.address}:{server.port}"}
             for link, server in zip(links, servers)]
    volume = make_volume(servers[0].target, policy="round-robin", path=paths[0])
    data = noise(16 * MIB, 1)
    with Direct(volume.enable()) as disk:
        limit = Path("/sys/block") / volume.device() / "queue" / "max_sectors_kb"
        write(limit, 1024)
        write(volume.add_path(1, {**volume.path_settings, **paths[1]}) / "enable", 1)
        wait_for("the path", lambda: read(volume.path_sysfs(0, 1) / "state") == "live", 60)
        # Newer kernels take it, and use what the disk allows.
        with contextlib.suppress(OSError):
            write(limit, 16384)
        assert int(read(limit)) <= int(volume.queue("max_hw_sectors_kb")) == 2048
        before = [sent(volume, path) for path in range(2)]
        disk.write(0, data)
        for _ in range(4):
            same(disk.read(0, len(data)), data, "what was read")
        assert all(sent(volume, path) > then + 8 for path, then in enumerate(before))


def test_what_cannot_be_added(one_path, links, kernel_log):
    """It says why, in the volume's last_error, and leaves nothing behind."""
    volume = one_path()
    volume.enable()
    cases = (
        ({"lun": 1}, errno.ENODEV, "answers here: path not used"),
        ({"target_name": "iqn.2024-01.org.example:nobody"}, None, "leg 0 path 1: login"),
        ({"portal": f"{links[1].address}:9"}, errno.ECONNREFUSED, "cannot connect"),
        ({"target_name": ""}, errno.EINVAL, "target_name is not set"),
        ({"data_digest": "CRC32C"}, errno.EINVAL, "pages are not stable"),
    )
    for settings, number, reason in cases:
        directory = configure(volume, 1, links[1], **settings)
        got = refused(directory, 1)
        assert number in (None, got), (settings, got)
        assert reason in volume.last_error(), (settings, volume.last_error())
        assert read(directory / "enable") == "0"
        assert not volume.path_sysfs(0, 1).exists()
        assert len(network.established()) == 1
        directory.rmdir()
    assert state(volume) == "live"
    assert kernel_log.matching(r"istripe: .*leg 0 path 1 is not added: ")
    add(volume, 1, links[1])


def test_while_keys_are_registered(one_path, links):
    """Paths and sessions that come are registered; the one that holds the reservation stays."""
    Path("/var/target/pr").mkdir(parents=True, exist_ok=True)
    volume = one_path(path={"multi": "sessions", "connections": 2})
    device = volume.enable()
    add(volume, 1, links[1])
    another = configure(volume, 2, links[1])

    def goes_on():
        wait_for("all paths", lambda: state(volume) == "live", 60)
        run("dd", "if=/dev/zero", f"of={device}", "oflag=direct", "bs=1M", "count=8")

    with Reservations(device) as ours:
        assert ours.register(0, KEY) == 0
        assert ours.reserve(KEY, WRITE_EXCLUSIVE_REG_ONLY) == 0
        assert refused(path_dir(volume, 0)) == errno.EBUSY
        assert "persistent reservation of leg 0 is held" in volume.last_error()
        for name, value in ((another / "enable", 1), (volume.path / "connections", 4),
                            (volume.path / "connections", 1), (another / "enable", 0),
                            (volume.path_sysfs(0, 1) / "reconnect", 1)):
            write(name, value)
            goes_on()
        assert ours.release(KEY, WRITE_EXCLUSIVE_REG_ONLY) == 0
        assert ours.register(KEY, 0) == 0
    remove(volume, 0)
    goes_on()


def test_not_while_the_volume_is_down(one_path, links):
    volume = one_path()
    assert refused(volume.path, 1) == errno.EINVAL
    write(volume.path / "enable", 0)
    volume.enable()
    assert read(volume.path / "enable") == "1"
    directory = configure(volume, 1, links[1])
    volume.disable()
    assert read(volume.path / "enable") == read(directory / "enable") == "0"
    volume.enable()
    assert read(directory / "enable") == "1"
    write(directory / "weight", 7)
    with pytest.raises(OSError) as busy:
        write(directory / "portal", links[1].portal())
    assert busy.value.errno == errno.EBUSY


def test_reconnect_of_one_session_of_two_connections(make_server, link, make_volume):
    """mcs: the session ends without a command, and the next one has both."""
    server = make_server(link.address)
    server.load(Scenario("honest", settings={"MaxConnections": 4}), size_bytes=16 * MIB)
    volume = make_volume(server.target, path={
        **QUICK, "portal": server.portal, "multi": "mcs", "connections": 2})
    with verified_io(volume.enable()):
        wait_session(volume, 2)
        for count in range(1, 4):
            run(TOOL, "reconnect", "--force", volume.name)
            assert volume.reconnects() == count
            wait_session(volume, 2)
    assert int(read(volume.path_sysfs() / "faults")) == 0
    volume.disable()


@pytest.mark.timeout_s(900)
@pytest.mark.parametrize("multi,granted", [("sessions", 1), ("mcs", 1)])
def test_connections_change_under_verify(one_path, size, multi, granted):
    volume = one_path(params={"MaxConnections": granted}, path={"multi": multi})
    device = volume.enable()
    with verified_io(device):
        for _ in range(size.rounds(1, 20)):
            for count in (2, 8, 3, 1):
                write(volume.path / "connections", count)
                wait_connections(count)
                wait_for("all live", lambda: volume.state() == state(volume) == "live", 60)
                places = volume.path_sysfs() / "connections"
                assert sorted(p.name for p in places.iterdir()) == [str(n) for n in range(count)]
                assert read(volume.path / "connections") == str(count)
                others = volume.path_sysfs() / "sessions"
                assert (len(list(others.iterdir())) if others.exists() else 0) == count - 1
    assert int(read(volume.path_sysfs() / "faults")) == 0


def test_connections_as_they_are(one_path):
    """Nothing happens, and who has a file of a session open can go on reading."""
    volume = one_path(path={"connections": 2})
    volume.enable()
    wait_connections(2)
    with open(volume.path_sysfs() / "sessions" / "1" / "path_state") as file:
        write(volume.path / "connections", 2)
        file.seek(0)
        assert file.read() == "live\n"
    assert len(network.established()) == 2 and volume.reconnects() == 0


def test_one_session_of_more_connections(make_server, link, make_volume):
    """mcs: the session ends, at a moment of its choosing, and the next one has them."""
    server = make_server(link.address)
    server.load(Scenario("honest", settings={"MaxConnections": 4}), size_bytes=16 * MIB)
    volume = make_volume(server.target, path={
        **QUICK, "portal": server.portal, "multi": "mcs", "connections": 1})
    device = volume.enable()
    with verified_io(device):
        for count in (4, 2):
            write(volume.path / "connections", count)
            wait_session(volume, count)
    assert int(read(volume.path_sysfs() / "faults")) == 0
    volume.disable()


def test_tasks_are_finished_first(one_path, links):
    """What is in flight over a path that goes is answered over it, not sent again."""
    volume = one_path(queue_depth=32)
    device = volume.enable()
    with fio.meanwhile(device, rw="randwrite", bs="64k", numjobs=2, iodepth=8, size="8M"):
        for _ in range(3):
            add(volume, 1, links[1])
            wait_for("commands over it", lambda: sent(volume, 1) > 10, 60)
            remove(volume, 1)
    assert read(volume.leg_sysfs(0) / "redriven") == "0"


def test_lost_path_with_writes(one_path, links):
    """Writes wait for the end of its session: it stays until they have been fenced."""
    volume = one_path(**FAST)
    device = volume.enable()
    add(volume, 1, links[1])
    write(volume.leg / "policy", "round-robin")
    with network.mute(links[1]):
        writer = subprocess.Popen(["dd", "if=/dev/zero", f"of={device}", "oflag=direct",
                                   "bs=64k", "count=64"], stderr=subprocess.DEVNULL)
        wait_for("the loss", lambda: state(volume) == "degraded", 30)
        assert writer.poll() is None
        assert refused(path_dir(volume, 1)) == errno.EBUSY
        assert "its writes wait for the end of it" in volume.last_error()
        assert read(path_dir(volume, 1) / "enable") == "1"
        assert writer.poll() is None
    # It is one of the volume's as before, fences its writes and works.
    assert writer.wait(60) == 0
    wait_for("both paths", lambda: state(volume) == "live", 60)
    remove(volume, 1)
    run("dd", f"if={device}", "of=/dev/null", "iflag=direct", "bs=64k", "count=16")


def test_an_add_that_is_given_up_owes_a_drain(make_server, make_volume, links):
    """fence_timeout_ms lets its write go: what the target has of it ends with the next login."""
    servers, held, functions = [make_server(), make_server()], Held(scsi.WRITE_16), []
    unanswered = []

    async def on_login(run, conn, pdu):
        first = run.memory.setdefault("first", (conn, pdu.isid))
        if conn is first[0] or held.released.is_set():
            return False
        if pdu.isid == first[1]:
            raise Drop
        # The other session is neither accepted nor refused.
        unanswered.append(conn)
        return True

    async def on_tmf(_run, _conn, pdu):
        functions.append(pdu.flags & 0x7F)
        return False

    async def cut():
        for session in list(servers[1].target.sessions.values()):
            servers[1].target.end_session(session)

    async def answer():
        await held.release()
        for conn in unanswered:
            conn.close()

    def write_until_held(disk):
        while not held.tasks:
            disk.write(0, bytes(4 * KIB))

    target = servers[0].load(Scenario("honest"), size_bytes=LUN_BYTES)
    servers[1].load(Scenario("one login", armed=True, hooks={
        "on_login": on_login, "on_command": held.on_command, "on_tmf": on_tmf})).disk = target.disk
    paths = [{**QUICK, "portal": f"{link.address}:{server.port}"}
             for link, server in zip(links, servers)]
    paths[1].update(multi="sessions", connections=2, login_timeout_ms=120000)
    volume = make_volume(target, policy="round-robin", path=paths[0],
                         fence="path", fence_timeout_ms=1000)
    with Direct(volume.enable()) as disk:
        enable = volume.add_path(1, {**volume.path_settings, **paths[1]}) / "enable"
        with (subprocess.Popen(["sh", "-c", f"echo 1 > {enable}"]) as adding,
              concurrent.futures.ThreadPoolExecutor() as pool, on_failure(adding.kill)):
            writes = pool.submit(write_until_held, disk)
            wait_for("a write over the new path", lambda: held.tasks, 60)
            servers[1].call(cut())
            writes.result(60)
            assert adding.poll() is None
            adding.kill()
            adding.wait(60)
        assert checks.LUN_RESET not in functions
        servers[1].call(answer())
        if read(enable) == "0":
            write(enable, 1)
        wait_for("the reset", lambda: checks.LUN_RESET in functions, 60)
        wait_for("both paths", lambda: state(volume) == "live", 60)


def test_lost_path_is_fenced_through_its_sibling_and_goes(one_path, links):
    """With fence=auto it need not come back for that."""
    volume = one_path(**FAST, fence="auto")
    device = volume.enable()
    add(volume, 1, links[1])
    volume.wait_proven()
    write(volume.leg / "policy", "round-robin")
    with network.mute(links[1]):
        run("dd", "if=/dev/zero", f"of={device}", "oflag=direct", "bs=64k", "count=64")
        assert state(volume) == "degraded"
        remove(volume, 1)
    assert state(volume) == "live"
    run("dd", "if=/dev/zero", f"of={device}", "oflag=direct", "bs=64k", "count=64")


def test_disable_with_added_paths(one_path, links):
    volume = one_path()
    for _ in range(3):
        volume.enable()
        add(volume, 1, links[1], connections=4)
        write(volume.path / "connections", 3)
        assert len(network.established()) == 7
        remove(volume, 1)
        configure(volume, 2, links[1])
        write(path_dir(volume, 2) / "enable", 1)
        volume.disable()
        wait_for("the connections' end", lambda: not network.established())
        path_dir(volume, 2).rmdir()
        write(volume.path / "connections", 1)


def test_metadata_is_checked(make_lio, make_volume, links):
    """A path that comes is compared with the superblock, as at any login."""
    target = make_lio(LUN_BYTES, all_links=True, params=NO_WAIT)
    volume = make_volume(target, metadata="md", metadata_create=1,
                         path={**QUICK, "nic": links[0].nic})
    device = volume.enable()
    add(volume, 1, links[1])
    run("dd", "if=/dev/zero", f"of={device}", "oflag=direct", "bs=64k", "count=16")
    remove(volume, 1)
    with open(target.luns[0].file, "r+b") as file:
        file.seek(4096 + 200)
        file.write(b"\xff" * 8)
    directory = configure(volume, 1, links[1])
    refused(directory, 1)
    assert "another host has assembled it: events" in volume.last_error()
    assert len(network.established()) == 1
    run("dd", f"if={device}", "of=/dev/null", "iflag=direct", "bs=64k", "count=16")
