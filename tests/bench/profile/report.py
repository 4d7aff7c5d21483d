# SPDX-License-Identifier: GPL-2.0
"""Where the instructions of an I/O go: the counts of a profile, by function of the kernel.

usage: report.py FOLDER [lines]
"""

import bisect
import json
import sys
from collections import Counter
from pathlib import Path

#: Where the kernel's half of the address space begins.
KERNEL = 1 << 63
USER = "(user space)"


class Symbols:
    def __init__(self, path):
        table = []
        for line in path.read_text(encoding="ascii", errors="replace").splitlines():
            words = line.split()
            if words[1] in "tTwW":
                table.append((int(words[0], 16), words[2], words[3] if words[3:] else ""))
        table.sort()
        self.starts = [start for start, _, _ in table]
        self.names = [f"{name} {module}".strip() for _, name, module in table]

    def name(self, address):
        if address < KERNEL:
            return USER
        at = bisect.bisect_right(self.starts, address) - 1
        return self.names[at] if at >= 0 else hex(address)


def by_function(path, symbols):
    """Of the first processor, which is the initiator's."""
    counts = Counter()
    for line in path.read_text(encoding="ascii").splitlines():
        address, instructions, runs = line.split()[:3]
        counts[symbols.name(int(address, 16))] += int(instructions) * int(runs)
    return +counts


def by_module(counts):
    modules = Counter()
    for name, instructions in counts.items():
        module = name.split()[-1] if name.endswith("]") else "kernel"
        modules["user space" if name == USER else module.strip("[]")] += instructions
    return modules


def show(title, counts, ios, lines):
    total = sum(counts.values())
    print(f"\n{title}: {ios:.0f} I/Os, {total / ios:.0f} instructions each")
    print(", ".join(f"{name} {instructions / ios:.0f}"
                    for name, instructions in by_module(counts).most_common(8)))
    for name, instructions in counts.most_common(lines):
        print(f"{instructions / ios:9.1f} {100 * instructions / total:5.1f} %  {name}")


def main():
    folder = Path(sys.argv[1])
    lines = int(sys.argv[2]) if sys.argv[2:] else 60
    symbols = Symbols(folder / "kallsyms")
    for ios in sorted(folder.glob("*.ios")):
        title, count = ios.stem, json.loads(ios.read_text(encoding="ascii"))
        show(title, by_function(folder / f"{title}.counts", symbols), count, lines)
    return 0


if __name__ == "__main__":
    sys.exit(main())
