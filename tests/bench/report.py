# SPDX-License-Identifier: GPL-2.0
"""report.py CELLS RESULT: medians of what measure.py found, as a table and as JSON.

RESULT is a list with one object for each job and unit: job, unit, istripe, stock, null_blk
(medians, or null), ratio (istripe to stock, or null) and samples (each round by stack).
"""

import json
import sys
from pathlib import Path
from statistics import median

STACKS = ("null_blk", "stock", "istripe")
UNITS = {"kinstr": "thousand instructions/IO", "iops": "IOPS"}


def rows(cells):
    found = []
    for job in dict.fromkeys(cell["job"] for cell in cells):
        for figure, unit in UNITS.items():
            samples = {
                stack: [round(cell[figure], 2) for cell in cells
                        if (cell["job"], cell["stack"]) == (job, stack)]
                for stack in STACKS
            }
            row = {"job": job, "unit": unit}
            row.update({stack: median(samples[stack]) if samples[stack] else None
                        for stack in ("istripe", "stock", "null_blk")})
            both = row["istripe"] is not None and row["stock"]
            row["ratio"] = round(row["istripe"] / row["stock"], 3) if both else None
            row["samples"] = samples
            found.append(row)
    return found


def half_spread(samples):
    """How far the rounds lie from their middle, in percent of their median."""
    if len(samples) < 2:
        return "-"
    return f"{(max(samples) - min(samples)) / median(samples) * 50:.0f} %"


def number(value, form):
    return "-" if value is None else format(value, form)


def line(*columns):
    widths = (19, 9, 10, 6, 10, 6, 7)
    text = [format(columns[0], f"<{widths[0]}")]
    text += [format(c, f">{w}") for c, w in zip(columns[1:], widths[1:])]
    return "".join(text)


def print_table(found, unit, form):
    print(f"\n{unit}")
    print(line("", "null_blk", "iscsi_tcp", "+-", "istripe", "+-", "ratio"))
    for row in found:
        if row["unit"] != unit:
            continue
        samples = row["samples"]
        print(line(row["job"], number(row["null_blk"], form),
                   number(row["stock"], form), half_spread(samples["stock"]),
                   number(row["istripe"], form), half_spread(samples["istripe"]),
                   number(row["ratio"], ".2f")))


def main():
    source, target = map(Path, sys.argv[1:])
    result = json.loads(source.read_text(encoding="ascii"))
    found = rows(result["cells"])
    print(f"\nLinux {result['kernel']} with one processor, one LUN of tgt outside the VM, one NIC;"
          f" medians of {result['rounds']} rounds")
    print_table(found, UNITS["kinstr"], ".1f")
    print("less is better; fio and the block layer included; null_blk is fio and block layer alone")
    print_table(found, UNITS["iops"], ".0f")
    print("more is better; by the guest's clock, on which 1000 instructions take 1 us")
    part = target.with_suffix(".part")
    part.write_text(json.dumps(found, indent=1) + "\n", encoding="ascii")
    part.rename(target)
    print(f"\n{target}")


if __name__ == "__main__":
    main()
