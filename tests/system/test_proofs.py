# SPDX-License-Identifier: GPL-2.0
"""Proofs of a host: as many at a time as its targets, and its other works, can bear."""

import asyncio
import threading
import time

from lab.ghost import volume_over
from lab.shell import read, wait_for
from scripted.scenario import Scenario

#: As PROOFS_MAX of block/workqueue.c.
PROOFS_MAX = 16
PATH = {"login_timeout_ms": 120000, "ping_interval_ms": 5000, "ping_timeout_ms": 20000, "lun": 0}


class EndsLate:
    """As FreeBSD's: a login is answered, then the session that it reinstates ends, and only then the
    new one is served.
    """

    LATE_S = 0.2

    def __init__(self, server):
        self.hooks = {"on_header": self.on_header}
        self.ending = {}            # ISID: the old session, and when it has ended
        self.target = server.load(Scenario("ends the old session late", hooks=self.hooks))
        self.end_session, self.target.end_session = self.target.end_session, self.later

    def later(self, session):
        ended = asyncio.Event()
        self.ending[session.isid] = session, ended

        def end():
            self.end_session(session)
            ended.set()

        asyncio.get_running_loop().call_later(self.LATE_S, end)

    async def on_header(self, _run, conn, _pdu):
        old, ended = self.ending.get(conn.session.isid, (None, None)) if conn.session else (None, None)
        if old and conn.session is not old:
            await ended.wait()


def test_the_old_session_ends_behind_the_login(server, make_volume, links):
    """Its answer to a ping before that says nothing."""
    late = EndsLate(server)
    volume = volume_over(make_volume, links, [server.port] * 2, late.target, fence="auto")
    volume.enable()
    volume.wait_proven()
    assert late.ending
    volume.disable()
    assert server.violations() == []


def test_some_at_a_time(make_server, make_volume, links):
    """Of more legs than that, the last ones are proven when the first ones are."""
    waiting, over = [], threading.Event()

    async def on_login(run, conn, _pdu):
        # The sessions of both paths are there: it is a test session that logs in.
        if len(run.target.sessions) < len(links) or over.is_set():
            return False
        waiting.append(conn)
        while not over.is_set():
            await asyncio.sleep(0.1)
        return False

    servers = [make_server() for _ in range(PROOFS_MAX + 2)]
    for index, server in enumerate(servers):
        server.load(Scenario("holds test logins", hooks={"on_login": on_login}),
                    identity=f"6001405{index:025x}")
    paths = [[{**PATH, "portal": f"{link.address}:{server.port}", "nic": link.nic,
               "target_name": server.target.iqn} for link in links] for server in servers]
    volume = make_volume(servers[0].target, path=paths[0][0],
                         more_legs=[leg[0] for leg in paths[1:]])
    for leg, (_, second) in enumerate(paths):
        volume.add_path(1, second, leg)
    volume.enable()
    try:
        wait_for("test logins", lambda: len(waiting) == PROOFS_MAX, 60)
        time.sleep(3)
        assert len(waiting) == PROOFS_MAX
    finally:
        over.set()
    for leg in range(len(servers)):
        wait_for(f"the proof of leg {leg}", lambda leg=leg: read(
            volume.path_sysfs(leg) / "fenced_through") == "1", 120)
    volume.disable()
