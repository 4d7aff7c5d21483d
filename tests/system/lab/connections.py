# SPDX-License-Identifier: GPL-2.0
"""The connections of a path, in sysfs, what each of them carries, and their loss."""

from lab import network
from lab.shell import read, run, wait_for


def connections(volume):
    """The directories of the path's connections, in order of their CIDs."""
    return sorted((volume.path_sysfs() / "connections").iterdir(), key=lambda place: int(place.name))


def in_use(volume):
    """Connections of the path's first session."""
    return int(read(volume.path_sysfs() / "session" / "connections"))


def log_in_again(volume, port=network.ISCSI_PORT, paths=((0, 0),), by_target=False):
    """Breaks all connections to the port; each of the paths, (leg, path), has another session."""
    files = [volume.path_sysfs(*path) for path in paths]
    before = [read(file / "reconnects") for file in files]
    wait_for("a connection to break", lambda: network.kill_connections(by_target, port))
    for file, then in zip(files, before):
        wait_for("the next session", lambda file=file, then=then: read(file / "reconnects") != then
                 and read(file / "state") == "live", 60)


def wait_reconnects(volume, count):
    wait_for("another session", lambda: volume.reconnects() >= count, 60)
    volume.wait_state("live")


def sent(volume):
    """SCSI commands that each connection has carried."""
    return [int(read(place / "commands_sent")) for place in connections(volume)]


def assert_queue_for_each(volume, sent):
    """sent(volume): the commands that each of two connections has carried."""
    device = volume.enable()
    queues = sorted((volume.sysfs().parent / "mq").iterdir())
    assert len(queues) == 2
    for number, queue in enumerate(queues):
        cpu = read(queue / "cpu_list").split(",")[0]
        before = sent(volume)
        run("taskset", "-c", cpu, "dd", f"if={device}", "of=/dev/null", "iflag=direct", "bs=4k",
            "count=64")
        now = [after - then for after, then in zip(sent(volume), before)]
        assert now[number] >= 60, now
