# SPDX-License-Identifier: GPL-2.0
"""What has come of a soak: a table for people, JSON for programs."""

import json
from pathlib import Path

MIB = 1 << 20


def rows(result):
    """(what, figure) pairs."""
    for name, count in result["events"].items():
        yield name, count
    yield "", ""
    yield "connections killed", result["kills"]
    for name in ("reconnects", "faults", "redriven", "retried"):
        yield f"{name} of the volume", result[name]
    yield "LUNs that the initiator has asked for", result["asked_for"]
    yield "fio runs", result["runs"]
    yield "MiB written", result["bytes_written"] // MIB
    yield "MiB read back and compared", result["bytes_verified"] // MIB
    yield "longest I/O, ms", result["longest_ms"]
    yield "", ""
    yield "I/O errors", result["errors"]
    yield "differences", result["differences"]
    yield "bad lines in the kernel's log", len(result["log"])
    yield "left behind by the module", len(result["left"])


def show(result):
    print(f"\nsoak of {result['seconds']} s, kernel {result['kernel']}, seed {result['seed']}\n")
    for name, figure in rows(result):
        print(f"  {name:<40} {figure:>10}" if name else "")
    for text in (*result["words"], *result["log"][:20], *result["left"]):
        print(f"\n{text}")
    print("\nsoak: " + ("nothing lost, nothing left" if result["ok"] else "FAILED"), flush=True)


def save(result, path):
    Path(path).write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
