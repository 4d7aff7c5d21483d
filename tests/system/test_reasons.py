# SPDX-License-Identifier: GPL-2.0
"""Why something failed is said where it is looked for: last_error, the kernel's log."""

import contextlib
import errno
import mmap
import os

import pytest

from lab import names
from lab.istripe import EnableError
from lab.shell import read, run, wait_for, write
from scripted import pdu as p
from scripted.scenario import HONEST, Scenario
from scripted.scsi import READ_16
from scripted.steps import answered_read, check, field, refuse, spoil

OWN = pytest.mark.allow_log("error, dev istripe|Buffer I/O error on dev istripe", "its own")
USER, SECRET = "initiator", "a-secret-of-20-bytes"
QUICK = {"default_time2wait": 0}


@pytest.fixture
def scripted(server, make_volume, link):
    """scripted(scenario): a volume of the scripted target's LUN."""

    def make(scenario, **path):
        target = server.load(scenario)
        return make_volume(target, path={"portal": f"{link.address}:{server.port}", **QUICK, **path})

    return make


def refusal(volume, number):
    with pytest.raises(EnableError) as failed:
        volume.enable()
    assert failed.value.number == number, failed.value
    return failed.value.reason


def read_block(device):
    """errno of a read, or None."""
    fd = os.open(device, os.O_RDONLY | os.O_DIRECT)
    try:
        with mmap.mmap(-1, 8192) as memory:
            os.preadv(fd, [memory], 0)
    except OSError as err:
        return err.errno
    finally:
        os.close(fd)
    return None


def test_the_session_ends_while_the_lun_is_asked(scripted):
    """The reason is that of the session, not that there is none any more."""
    volume = scripted(Scenario("digest", hooks=spoil(p.DATA_IN, field(spoil="data")), times=1000,
                               armed=True), data_digest="CRC32C")
    reason = refusal(volume, errno.ENOTCONN)
    assert "LUN bring-up: " in reason and "digest" in reason


def test_lio_wants_chap(make_lio, make_volume):
    """It hangs up without a word when nothing is offered."""
    volume = make_volume(make_lio(chap=(USER, SECRET)))
    with pytest.raises(EnableError) as failed:
        volume.enable()
    assert "no chap_secret is set" in failed.value.reason


def test_authentication_failed(scripted):
    refused = Scenario("wants CHAP", hooks=refuse(0x0201), times=1000, armed=True)
    assert refusal(scripted(refused), errno.EACCES).endswith(
        "authentication failed (login status 0201): no chap_secret is set")
    with_secret = scripted(refused, chap_user=USER, chap_secret=SECRET)
    assert "no chap_secret" not in refusal(with_secret, errno.EACCES)


def test_redirected_to_a_long_name(scripted, known_hosts):
    """What is wrong comes first, and the name may be cut. Nobody knows it."""
    name = "a-very-long-name." * 14 + "example"
    volume = scripted(Scenario("redirects", times=1000, armed=True,
                               hooks=refuse(0x0101, ("TargetAddress", f"{name}:3260"))))
    if names.resolver():
        reason = refusal(volume, errno.EHOSTUNREACH)
        assert "no address of it is found (the package keyutils does that): a-very-long" in reason
    else:
        reason = refusal(volume, errno.EPROTO)
        assert "resolves none, without CONFIG_DNS_RESOLVER: a-very-long-name.a-very" in reason


def test_nobody_listens(scripted, link):
    """In words."""
    volume = scripted(HONEST, portal=f"{link.address}:9")
    assert refusal(volume, errno.ECONNREFUSED).endswith("nobody listens there (-ECONNREFUSED)")


@pytest.mark.parametrize("kind, error", [("prohibit", "-EACCES"), ("blackhole", "-EINVAL")])
def test_a_route_forbids(scripted, link, kind, error):
    """It may be put right any time, unlike a secret or a setting: the unit has to try again."""
    volume = scripted(HONEST)
    run("ip", "route", "add", kind, link.address)
    try:
        reason = refusal(volume, errno.ENETUNREACH)
    finally:
        run("ip", "route", "del", kind, link.address)
    assert "cannot connect to" in reason
    assert reason.endswith(f": a route or a firewall forbids it ({error})")
    volume.enable()


@OWN
def test_lost_soon_after_a_login(scripted, kernel_log):
    """The next login fails, and that is said although the session before was a short one."""
    lost = []

    async def on_command(run, conn, task):
        if task.opcode == READ_16:
            lost.append(task)
            conn.reset()
        return task.opcode == READ_16

    async def on_login(run, conn, pdu):
        if lost:
            conn.reset()
        return bool(lost)

    volume = scripted(Scenario("gone", hooks={"on_command": on_command, "on_login": on_login}))
    write(volume.config / "recovery_timeout_ms", 500)
    # udev reads at once.
    volume.enable()
    wait_for("the loss", lambda: lost)
    wait_for("a failed login", lambda: kernel_log.matching(
        rf"{volume.name}/0/0: login: connection lost: "), 60)
    # The log has it first.
    wait_for("the reason", lambda: read(volume.path_sysfs() / "last_error").startswith(
        "login: connection lost"))


def short(pdus):
    """GOOD, and half of it is missing."""
    del pdus[1:]
    pdus[0].data = pdus[0].data[:4096]
    pdus[0].flags = 0x81 | 2
    pdus[0].residual = 4096


@OWN
def test_short_transfer(scripted, server, kernel_log):
    volume = scripted(Scenario("short", hooks=answered_read(short), times=1000))
    device = volume.enable()
    server.arm()
    # It is tried again until this is over.
    write(volume.config / "recovery_timeout_ms", 1000)
    assert read_block(device) == errno.EIO
    assert kernel_log.matching(f"{volume.name}/0: command 0x88: GOOD, but the target says that it "
                               "has not transferred just the 8192 bytes asked for")


@OWN
def test_retries_used_up(scripted, server, kernel_log):
    volume = scripted(Scenario("again", hooks=check(6, 0x29, 0, READ_16), times=1000))
    device = volume.enable()
    server.arm()
    # It is tried again until this is over.
    write(volume.config / "recovery_timeout_ms", 1000)
    assert read_block(device) == errno.EIO
    assert kernel_log.matching(f"{volume.name}/0: command 0x88: status 0x02, sense 6/29/00: again "
                               "and again: given up")
    with contextlib.suppress(OSError):
        volume.disable()
