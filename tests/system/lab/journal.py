# SPDX-License-Identifier: GPL-2.0
"""What a machine has done, for the machine after it: the emulator may end one in the middle.

tests/vm/run empties the journal, tests/vm/boot may boot again (see emulator_fault there). Only what
has not passed on the machine before is left then. A failure there is not forgotten: it ends the run.
"""

import os
from pathlib import Path

import pytest


class Journal:
    def __init__(self):
        name = os.environ.get("ISTRIPE_JOURNAL")
        self.path = Path(name) if name else None
        self.failed = {}

    def passed_before(self):
        """Names of tests. UsageError: one had failed."""
        if not self.path or not self.path.exists():
            return set()
        lines = [line.split(" ", 1) for line in self.path.read_text(encoding="utf-8").splitlines()]
        failed = [name for word, name in lines if word == "failed"]
        if failed:
            raise pytest.UsageError("the machine before this one has died, and tests had failed on "
                                    "it:\n" + "\n".join(failed))
        return {name for word, name in lines if word == "passed"}

    def pytest_runtest_logreport(self, report):
        """Called by pytest for the set-up, the test and its clean-up, in this order."""
        if report.failed:
            self.failed.setdefault(report.nodeid, (report.longreprtext.splitlines() or ["?"])[-1])
        if report.when != "teardown" or not self.path:
            return
        why = self.failed.get(report.nodeid)
        line = f"failed {report.nodeid}: {why}" if why else f"passed {report.nodeid}"
        with self.path.open("a", encoding="utf-8") as journal:
            journal.write(f"{line}\n")
            journal.flush()
            os.fsync(journal.fileno())
