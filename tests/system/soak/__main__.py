# SPDX-License-Identifier: GPL-2.0
"""python3 -m soak: runs in the virtual machine that tests/vm/soak boots. See __init__.py."""

import argparse
import contextlib
import os
import random
import re
import sys
import time

from lab import istripe, leaks, network
from lab.kernlog import KernelLog
from lab.shell import LabError
from soak import report
from soak.bed import Bed
from soak.director import Director
from soak.events import EVENTS, KILLS
from soak.load import Load
from soak.watchdog import Watchdog, blocked_threads


def arguments():
    parser = argparse.ArgumentParser(prog="soak", description=__doc__)
    parser.add_argument("json", help="where the result is written to")
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--kills", type=int, default=0,
                        help="nothing but kills of connections, until there were so many")
    parser.add_argument("--seed", type=int, default=0, help="0: another one each time")
    parser.add_argument("--events", default="", metavar="REGEX", help="only those of these names")
    options = parser.parse_args()
    options.seed = options.seed or random.SystemRandom().randrange(1, 1 << 31)
    return options


def events_of(options):
    events = KILLS if options.kills else EVENTS
    chosen = tuple(event for event in events if re.search(options.events, event.name))
    if not chosen:
        raise LabError(f"no event's name matches {options.events}")
    return chosen


def soak(bed, options, log, watchdog):
    """Load and events until it is enough. Returns the director and the load."""
    load = Load(bed.device, bed.volume.size_bytes(), options.seed)
    pause_s = (0.05, 0.4) if options.kills else (0.1, 1.0)
    director = Director(bed, events_of(options), options.seed, log.say, pause_s)
    end = time.monotonic() + options.seconds

    def enough():
        return (director.total(KILLS) >= options.kills if options.kills
                else time.monotonic() >= end)

    load.start()
    try:
        while not enough() and not load.failed():
            director.step()
            load.step()
            # What nobody reads is lost when more has come than the kernel keeps.
            log.read()
            watchdog.seen()
        director.finish()
        bed.clerk.finish()
        bed.wait_live()
        watchdog.seen()
        load.drain()
        watchdog.seen()
    except LabError:
        blocked_threads()
        raise
    finally:
        with contextlib.suppress(LabError, OSError):
            director.finish()
        load.kill()
    return director, load


def left_behind():
    """What is still there of the module that was unloaded."""
    left = [f"the module {name}" for name in ("istripe",) if leaks.loaded(name)]
    left += [f"a disk {name}" for name in istripe.devices()]
    return left + [f"a thread {name}" for name in leaks.threads()]


def run(options, log):
    bed = Bed()
    watchdog = Watchdog()
    began = time.monotonic()
    with contextlib.ExitStack() as cleanup:
        cleanup.callback(bed.destroy)
        bed.create()
        print(f"soak: seed {options.seed}, {bed.device}, connections {len(network.established())}",
              flush=True)
        director, load = soak(bed, options, log, watchdog)
        counters = bed.counters()
    left = left_behind()
    bad = log.bad()
    return {
        "kernel": os.uname().release, "seed": options.seed,
        "seconds": round(time.monotonic() - began), "events": dict(director.counts),
        "kills": director.total(KILLS), **counters, **load.counts, "words": load.words,
        "log": bad, "left": left,
        "ok": not (load.failed() or bad or left) and load.counts["runs"] > 0,
    }


def main():
    options = arguments()
    log = KernelLog()
    try:
        result = run(options, log)
    except (LabError, istripe.EnableError, OSError) as error:
        print("\n".join(log.read()[-80:]))
        print(f"soak: FAILED with seed {options.seed}: {error}", flush=True)
        return 1
    report.show(result)
    report.save(result, options.json)
    return 0 if result["ok"] else 1


sys.exit(main())
