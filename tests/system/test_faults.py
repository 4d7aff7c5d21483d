# SPDX-License-Identifier: GPL-2.0
"""Allocations fail, connections, logins, digests, too: whatever the module was about ends with an
error or is done again.
"""

import contextlib
import errno

import pytest

from lab import faults, fio, network
from lab.istripe import EnableError
from lab.shell import read, wait_for

#: A report of anything else has a further line that says what it is.
pytestmark = [
    pytest.mark.debug,
    pytest.mark.allow_log("page allocation failure|Call Trace", "allocations fail: that is said"),
]

MIB = 1 << 20
#: What a volume that can get no memory may say.
ERRORS = {errno.ENOMEM, errno.ENOBUFS, errno.ETIMEDOUT}
#: A login is some hundred allocations: it must come off now and then.
PERCENT = 1
ROUNDS_MAX = 40


def try_to_enable(volume):
    try:
        volume.enable()
    except EnableError as err:
        assert err.number in ERRORS, err
        assert not volume.enabled() and network.established() == []
        return False
    volume.disable()
    return True


@pytest.mark.timeout_s(1800)
@pytest.mark.parametrize("injector", [faults.SLAB, faults.PAGES], ids=["slab", "pages"])
def test_enable(make_lio, make_volume, verify, injector):
    """Each time another one of the allocations fails, early and late ones."""
    volume = make_volume(make_lio(params={"DefaultTime2Wait": 0}), path={"default_time2wait": 0})
    struck = failed = 0
    for interval in range(1, 60, 2):
        with faults.injected(injector, 1, interval=interval):
            failed += not try_to_enable(volume)
            struck += not injector.left()
    assert struck >= 10 and failed
    verify(volume.enable(), total_bytes=4 * MIB, jobs=2, largest_bytes=MIB)


#: How often: of connects and logins many, or there are none; each of the others ends a session.
OFTEN = {
    faults.SLAB: {"percent": PERCENT},
    faults.PAGES: {"percent": PERCENT},
    faults.CONNECT: {"percent": 30},
    faults.LOGIN: {"percent": 10},
    faults.SEND: {"interval": 500},
    faults.RECEIVE: {"interval": 500},
    faults.DIGEST: {"interval": 500},
}


@contextlib.contextmanager
def all_injected(injectors, times):
    """Yields what tells how many faults there have been, by the injectors."""
    with contextlib.ExitStack() as stack:
        for injector in injectors:
            stack.enter_context(faults.injected(injector, times, **OFTEN[injector]))
        yield lambda: [times - injector.left() for injector in injectors]


@pytest.mark.timeout_s(1800)
@pytest.mark.parametrize("injectors, least", [((faults.SLAB, faults.PAGES), 1000),
                                              (tuple(faults.OWN), 100)], ids=["memory", "own"])
def test_io(make_lio, make_volume, links, injectors, least):
    """So many faults while fio verifies and connections die: nothing is lost."""
    target = make_lio(64 * MIB, all_links=True, params={"DefaultTime2Wait": 0})
    volume = make_volume(target, paths=links, recovery_timeout_ms=600000,
                         path={"default_time2wait": 0})
    device = volume.enable()
    rounds = 0
    with all_injected(injectors, least) as struck:
        while sum(struck()) < least or not all(struck()):
            rounds += 1
            assert rounds <= ROUNDS_MAX, f"only {struck()} faults"
            job = fio.start(device, **fio.verify_options(16 * MIB, jobs=4, block_bytes=4096,
                                                         largest_bytes=16384))
            if rounds % 2:
                network.kill_connections()
            assert fio.finish(job).errors() == 0
        print(f"{struck()} faults in {rounds} rounds")
    wait_for("both paths", lambda: read(volume.sysfs() / "state") == "live", 240)
    fio.verify(device, total_bytes=16 * MIB, jobs=4, largest_bytes=MIB)
