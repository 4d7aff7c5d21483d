# SPDX-License-Identifier: GPL-2.0
"""Boots: tests/vm/boots runs this in the namespaces that tests/vm/outside makes."""

import argparse
import json
import sys
import time
from pathlib import Path

from hour import first_hour
from lab.kernlog import faults_on_console
from place import ATTEMPTS, Failed, Lab
from scenarios import OF_VOLUMES, SHORT

#: first_hour has a disk of its own, and comes before all others.
SCENARIOS = {"first_hour": first_hour, **OF_VOLUMES}
SETS = {"all": list(SCENARIOS), "short": list(SHORT)}


def attempt(lab, name):
    """What a scenario has measured, and why it has failed."""
    try:
        return SCENARIOS[name](lab) or {}, ""
    except Failed as error:
        lab.abandon()
        return {}, f"{error}\n{lab.words()}"


def run(lab, name):
    """One scenario; its row of the table."""
    start = time.monotonic()
    for _ in range(ATTEMPTS):
        console = lab.console_size()
        figures, failed = attempt(lab, name)
        failed = failed or faults_on_console(lab.console, console)
        if not failed or not lab.emulator_failed(console):
            break
    row = {"scenario": name, "figures": figures, "failed": failed,
           "took_s": round(time.monotonic() - start)}
    show(row)
    return row


def run_with_volumes(lab, names):
    """Without volumes there is nothing to boot from: fresh makes them."""
    if names and names[0] != "fresh":
        names = ["fresh", *names]
    rows = [run(lab, name) for name in names[:1]]
    return rows + [run(lab, name) for name in names[1:] if not rows[0]["failed"]]


def show(row):
    figures = ", ".join(f"{name} {value:.1f} s" if isinstance(value, float) else f"{name} {value}"
                        for name, value in row["figures"].items())
    state = "FAIL" if row["failed"] else "ok"
    print(f"{state:<4} {row['scenario']:<14} {row['took_s']:>4} s  {figures}", flush=True)
    if row["failed"]:
        print(row["failed"], flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("json")
    parser.add_argument("scenarios", nargs="+")
    parser.add_argument("--boots", type=int, default=3)
    parser.add_argument("--cpus", type=int, default=2)
    parser.add_argument("--kernel", default="6.12")
    parser.add_argument("--name", default="boots")
    options = parser.parse_args()
    names = SETS.get(options.scenarios[0], options.scenarios)
    unknown = [name for name in names if name not in SCENARIOS]
    if unknown:
        parser.error(f"no scenario {unknown[0]}; there are {', '.join(SCENARIOS)}, all, short")
    lab, rows = Lab(options), []
    try:
        if "first_hour" in names:
            rows.append(run(lab, "first_hour"))
        rows += run_with_volumes(lab, [name for name in names if name != "first_hour"])
    finally:
        lab.abandon()
    failed = [row for row in rows if row["failed"]]
    Path(options.json).write_text(json.dumps({"kernel": options.kernel, "scenarios": rows},
                                             indent=1) + "\n", encoding="utf-8")
    print(f"boots: {len(rows) - len(failed)} scenarios passed, {len(failed)} failed")
    return 1 if failed else 0


sys.exit(main())
