# SPDX-License-Identifier: GPL-2.0
"""report.py CELLS RESULT: medians of what cpu.py and the others found, as tables and as JSON.

Documentation/benchmarks.rst says what the columns and the fields of RESULT mean.
"""

import json
import sys
from pathlib import Path
from statistics import median

import possible
import statistic
from histogram import percentile_ns

STACKS = ("null_blk", "stock", "istripe", "nvme")
WAYS = {"read": "read", "write": "written"}
VERDICTS = {True: "ok", False: "missed", None: ""}


def half_spread(samples):
    """How far the rounds lie from their middle, in percent of their median."""
    if len(samples) < 2 or not median(samples):
        return "-"
    return f"{(max(samples) - min(samples)) / median(samples) * 50:.0f} %"


def number(value, form):
    return "-" if value is None else format(value, form)


def quotient(above, below):
    return round(above / below, 3) if above is not None and below else None


def less(value, part):
    return round(value - part, 2) if value is not None and part is not None else None


class Table:
    """Lines of columns: the first one to the left, all others to the right."""

    def __init__(self, *columns):
        self.columns = columns
        self.line(*(name for name, _ in columns))

    def line(self, *cells):
        text = [format(cell, f"<{width}" if at == 0 else f">{width}")
                for at, (cell, (_, width)) in enumerate(zip(cells, self.columns))]
        print("".join(text).rstrip())


class Report:
    """The rows of one run: what is common to instructions and links."""

    compared = ("istripe", "stock")

    def __init__(self, result):
        self.result = result
        self.cells = result["cells"]
        self.rows = []

    def samples(self, job, figure):
        return {stack: [round(cell[figure], 3) for cell in self.cells
                        if (cell["job"], cell["stack"]) == (job, stack) and figure in cell]
                for stack in STACKS}

    def row(self, job, figure, unit):
        """Medians of one figure of a job, their ratio, and the rounds they come from."""
        samples = self.samples(job, figure)
        row = {"job": job, "unit": unit}
        for stack in self.compared:
            row[stack] = median(samples[stack]) if samples[stack] else None
        row["limit"] = None
        row["ratio"] = quotient(row["istripe"], row["stock"])
        row["samples"] = {stack: found for stack, found in samples.items() if found}
        return row

    def spread(self, row, stack):
        return half_spread(row["samples"].get(stack, []))

    def titles(self):
        """The described rows, by the title that they stand below."""
        found = {}
        for row in self.result["rows"]:
            found.setdefault(row["title"], []).append(row)
        return found.items()

    def head(self, text):
        print(f"\nLinux {self.result['kernel']}, {text}; medians of {self.result['rounds']} rounds, "
              "+- is half of their spread")

    def verdict(self):
        judged = [row["reached"] for row in self.rows if row.get("reached") is not None]
        if judged:
            print(f"\n{sum(judged)} of {len(judged)} goals reached")


class Cost(Report):
    """bench-first and bench-cpu: instructions. The limit is what istripe may cost at most."""

    def cost(self, described):
        row = self.row(described["job"], "kinstr", "thousand instructions/IO")
        base = row["samples"].get("null_blk")
        row["null_blk"] = median(base) if base else None
        for stack in ("istripe", "stock"):
            row[f"{stack}_net"] = less(row[stack], row["null_blk"])
        row["ratio_net"] = quotient(row["istripe_net"], row["stock_net"])
        row["goal"] = described["goal"]
        row["reached"] = None
        if described["goal"] and row["ratio_net"] is not None:
            row["limit"] = round(row["null_blk"] + described["goal"] * row["stock_net"], 2)
            row["reached"] = row["ratio_net"] <= described["goal"]
        return row

    def print_cost(self, described):
        table = Table(("", 27), ("null_blk", 9), ("stock", 10), ("+-", 6), ("istripe", 10),
                      ("+-", 6), ("ratio", 7), ("net:", 7), ("stock", 9), ("istripe", 9),
                      ("ratio", 7), ("goal", 6), ("", 7))
        for entry in described:
            row = self.cost(entry)
            self.rows.append(row)
            table.line(row["job"], number(row["null_blk"], ".1f"),
                       number(row["stock"], ".1f"), self.spread(row, "stock"),
                       number(row["istripe"], ".1f"), self.spread(row, "istripe"),
                       number(row["ratio"], ".2f"), "",
                       number(row["stock_net"], ".1f"), number(row["istripe_net"], ".1f"),
                       number(row["ratio_net"], ".2f"), number(row["goal"], ".2f"),
                       VERDICTS[row["reached"]])

    def print_iops(self, described):
        table = Table(("", 27), ("stock", 10), ("+-", 6), ("istripe", 10), ("+-", 6), ("ratio", 7))
        for entry in described:
            row = self.row(entry["job"], "iops", "IOPS")
            self.rows.append(row)
            table.line(row["job"], number(row["stock"], ".0f"), self.spread(row, "stock"),
                       number(row["istripe"], ".0f"), self.spread(row, "istripe"),
                       number(row["ratio"], ".2f"))

    def print(self):
        self.head("one processor, tgt outside the virtual machine")
        for title, described in self.titles():
            print(f"\n{title}\nthousand instructions per I/O; less is better; "
                  "net is without null_blk, that is, without fio and the block layer")
            self.print_cost(described)
            print("I/Os per second of the guest's clock, where 1000 instructions take 1 us; "
                  "more is better")
            self.print_iops(described)
        self.verdict()


class Latency(Report):
    """bench-latency: how long a request takes, and what of that is not the target's part."""

    compared = (*Report.compared, "nvme")

    def latency(self, described):
        row = self.row(described["job"], "latency_us", "us/IO")
        row["goal"] = described["goal"]
        row["reached"] = None
        if row["ratio"] is not None:
            row["limit"] = round(described["goal"] * row["stock"], 2)
            row["reached"] = row["ratio"] <= described["goal"]
        part = self.row(described["job"], "target_us", "us/IO")
        for stack in self.compared:
            row[f"{stack}_own"] = less(row[stack], part[stack])
        row["ratio_own"] = quotient(row["istripe_own"], row["stock_own"])
        row["ratio_nvme_own"] = quotient(row["istripe_own"], row["nvme_own"])
        return row

    def print(self):
        self.head("a processor for us, one for LIO, in one virtual machine")
        for title, described in self.titles():
            print(f"\n{title}\nmicroseconds that a request takes, where 1000 instructions take 1 us; "
                  "less is better; own is what the target is not busy")
            table = Table(("", 27), ("stock", 10), ("+-", 6), ("nvme", 9), ("+-", 6),
                          ("istripe", 10), ("+-", 6), ("ratio", 7), ("goal", 6), ("", 8),
                          ("own:", 6), ("stock", 8), ("nvme", 8), ("istripe", 9), ("to stock", 10),
                          ("to nvme", 9))
            for entry in described:
                row = self.latency(entry)
                self.rows.append(row)
                table.line(row["job"], number(row["stock"], ".1f"), self.spread(row, "stock"),
                           number(row["nvme"], ".1f"), self.spread(row, "nvme"),
                           number(row["istripe"], ".1f"), self.spread(row, "istripe"),
                           number(row["ratio"], ".2f"), number(row["goal"], ".2f"),
                           VERDICTS[row["reached"]], "", number(row["stock_own"], ".1f"),
                           number(row["nvme_own"], ".1f"), number(row["istripe_own"], ".1f"),
                           number(row["ratio_own"], ".2f"), number(row["ratio_nvme_own"], ".2f"))
        self.verdict()


class Peers(Report):
    """bench-peers: instructions beside both peers, and what they are made of."""

    compared = (*Report.compared, "nvme")
    EVENTS = (("acks", "acknowledgments"), ("acks_mib", "for each MiB"), ("sends", "sends"),
              ("switches", "context switches"), ("cross_calls", "cross-calls"))

    def cost(self, described):
        row = self.row(described["job"], "kinstr", "thousand instructions/IO")
        row["goal"], row["goal_nvme"] = described["goal"], described["goal_nvme"]
        row["ratio_nvme"] = quotient(row["istripe"], row["nvme"])
        judged = [(row["ratio"], row["goal"]), (row["ratio_nvme"], row["goal_nvme"])]
        row["reached"] = None if None in dict(judged) else all(
            ratio <= goal for ratio, goal in judged)
        return row

    def print_cost(self, described):
        table = Table(("", 24), ("stock", 9), ("+-", 6), ("nvme", 9), ("+-", 6), ("istripe", 9),
                      ("+-", 6), ("to stock", 10), ("goal", 6), ("to nvme", 9), ("goal", 6), ("", 8))
        for entry in described:
            row = self.cost(entry)
            self.rows.append(row)
            cells = [text for stack in ("stock", "nvme", "istripe")
                     for text in (number(row[stack], ".1f"), self.spread(row, stack))]
            table.line(row["job"], *cells, number(row["ratio"], ".2f"), number(row["goal"], ".2f"),
                       number(row["ratio_nvme"], ".2f"), number(row["goal_nvme"], ".2f"),
                       VERDICTS[row["reached"]])

    def print_events(self, described):
        for figure, words in self.EVENTS:
            table = Table((f"{words} per I/O" if figure != "acks_mib" else f"acknowledgments {words}", 32),
                          ("stock", 9), ("nvme", 9), ("istripe", 9))
            for entry in described:
                row = self.row(entry["job"], figure, figure)
                self.rows.append(row)
                table.line(f"  {row['job']}",
                           *(number(row[stack], ".2f") for stack in ("stock", "nvme", "istripe")))

    def print(self):
        self.head("LIO and nvmet on a processor of their own")
        for title, described in self.titles():
            print(f"\n{title}\nthousand instructions of the initiator's processors per I/O, fio and "
                  "block layer included; less is better")
            self.print_cost(described)
            self.print_events(described)
        self.verdict()


class Links(Report):
    """bench-links: throughput against what one link carries."""

    def one(self, name, way):
        """What one link has carried in this direction, in MB/s: the best that any stack got."""
        found = [median(rounds) for rounds in
                 self.samples(f"{name} {way} 256k qd8", "mb_s").values() if rounds]
        return max(found, default=None)

    def limit(self, described):
        """All links, in both directions at a time, as far as the row uses them."""
        times = []
        for way, part in zip(("read", "write"), described["parts"]):
            one = self.one(described["one"], way)
            if part and one is None:
                return None
            times.append(part / one if part else 0)
        return round(sum(described["parts"]) / max(times) * described["links"], 2)

    def base(self, described, stack):
        """The share of what the stack does in the row that this one is compared with."""
        rounds = self.samples(described["base"], "mb_s")[stack]
        return median(rounds) * described["base_factor"] if rounds else None

    @staticmethod
    def possible(described):
        """The share of the limit that so many requests can reach."""
        if not described["model"]:
            return None
        return round(possible.share(possible.Model(*described["model"])), 2)

    def throughput(self, described):
        row = self.row(described["job"], "mb_s", "MB/s")
        row["limit"] = self.limit(described)
        for stack in ("istripe", "stock"):
            row[f"{stack}_of_limit"] = quotient(row[stack], row["limit"])
            row[f"{stack}_of_base"] = quotient(row[stack], self.base(described, stack))
        row["possible"] = self.possible(described)
        row["goal"] = described["goal"]
        row["goal_of"] = described["goal_of"]
        reached = row[f"istripe_of_{row['goal_of']}"]
        row["reached"] = reached >= row["goal"] if reached is not None and row["goal"] else None
        return row

    def print_throughput(self, described):
        base = (("of base:", 10), ("stock", 7), ("istripe", 9))
        if not any(entry["base"] for entry in described):
            base = ()
        table = Table(("", 25), ("limit", 8), ("stock", 9), ("+-", 6), ("istripe", 9), ("+-", 6),
                      ("ratio", 7), ("of limit:", 11), ("stock", 7), ("istripe", 9), ("possible", 10),
                      *base,
                      ("goal", 7), ("", 8))
        for entry in described:
            if "skipped" in entry:
                print(f"{entry['job']:<25} skipped: {entry['skipped']}")
                self.rows.append({**self.row(entry["job"], "mb_s", "MB/s"),
                                  "skipped": entry["skipped"]})
                continue
            row = self.throughput(entry)
            self.rows.append(row)
            shares = [number(row[f"{stack}_of_base"], ".2f") for stack in ("stock", "istripe")]
            table.line(row["job"], number(row["limit"], ".2f"),
                       number(row["stock"], ".2f"), self.spread(row, "stock"),
                       number(row["istripe"], ".2f"), self.spread(row, "istripe"),
                       number(row["ratio"], ".2f"), "", number(row["stock_of_limit"], ".2f"),
                       number(row["istripe_of_limit"], ".2f"), number(row["possible"], ".2f"),
                       *(["", *shares] if base else []),
                       number(row["goal"], ".2f"), VERDICTS[row["reached"]])

    def print_samples(self, described):
        for entry in described:
            row = self.row(entry["job"], "iops", "IOPS")
            found = {stack: [value for cell in self.cells
                             if (cell["job"], cell["stack"]) == (entry["job"], stack)
                             for value in cell["samples"]]
                     for stack in ("stock", "istripe")}
            row["statistics"] = statistic.compare(found)
            self.rows.append(row)
            print(entry["job"])
            for line in statistic.words(row["statistics"]):
                print(f"  {line}")

    def print_latency(self, described):
        self.print_throughput(described)
        table = Table(("", 25), ("stock:", 8), ("IOPS", 9), ("p50 ms", 9), ("p99 ms", 9),
                      ("istripe:", 11), ("IOPS", 9), ("p50 ms", 9), ("p99 ms", 9))
        figures = (("iops", "IOPS"), ("p50_ms", "ms, median"), ("p99_ms", "ms, 99th percentile"))
        for entry in described:
            rows = [self.row(entry["job"], figure, unit) for figure, unit in figures]
            self.rows += rows
            table.line(entry["job"], "", *(number(row["stock"], ".1f") for row in rows),
                       "", *(number(row["istripe"], ".1f") for row in rows))

    def print_chunks(self, described):
        """Jobs down, chunks across: the share of the limit, and commands for each request."""
        rows = {}
        for entry in described:
            row = self.throughput(entry)
            made = self.samples(entry["job"], "commands")
            row["chunk_bytes"] = entry["chunk_bytes"]
            for stack in ("istripe", "stock"):
                row[f"{stack}_commands"] = round(median(made[stack]), 2) if made[stack] else None
            rows[entry["name"], entry["chunk_bytes"]] = row
            self.rows.append(row)
        names, chunks = (list(dict.fromkeys(key[part] for key in rows)) for part in (0, 1))
        for title, figure in (("istripe, share of the limit", "istripe_of_limit"),
                              ("stock, share of the limit", "stock_of_limit"),
                              ("what is possible", "possible"),
                              ("istripe, commands for a request", "istripe_commands"),
                              ("stock, commands for a request", "stock_commands")):
            table = Table((title, 34), *((f"{chunk >> 10}k", 8) for chunk in chunks))
            for name in names:
                cells = [rows.get((name, chunk), {}).get(figure) for chunk in chunks]
                table.line(f"  {name}", *(number(cell, ".2f") for cell in cells))

    def print(self):
        self.head("shaped links, LIO in the same virtual machine")
        print("MB/s; the limit is what one link has carried in this run, times the links")
        form = {"rate": self.print_throughput, "samples": self.print_samples,
                "latency": self.print_latency, "commands": self.print_chunks}
        for title, described in self.titles():
            print(f"\n{title}")
            form[described[0]["method"]](described)
        self.verdict()


class Among(Report):
    """bench-among: how long small requests take while large ones fill the links."""

    compared = (*Report.compared, "nvme")
    FIGURES = (("p50", 50, "ms, median"), ("p99", 99, "ms, 99th percentile"),
               ("max", 100, "ms, maximum"))

    def bins(self, job, stack, kind):
        """Of all rounds."""
        return [one for cell in self.cells if (cell["job"], cell["stack"]) == (job, stack)
                for one in cell[kind]]

    def figures(self, job, stack):
        """None where the stack has not run."""
        alone, among = (self.bins(job, stack, kind) for kind in ("alone", "among"))
        if not among:
            return None
        found = {name: percentile_ns(among, percent) / 1e6 for name, percent, _ in self.FIGURES}
        found["alone"] = percentile_ns(alone, 50) / 1e6
        found["requests"] = sum(count for _, count in among)
        found["mb_s"] = median(self.samples(job, "mb_s")[stack])
        return {name: round(value, 3) for name, value in found.items()}

    def judged(self, described, found):
        """A row in JSON for each figure. The 99th percentile and the maximum have a goal."""
        ours = found["istripe"]
        for name, _, unit in (*self.FIGURES, ("alone", 50, "ms, median without the large ones")):
            row = {"job": described["job"], "unit": unit, "limit": None, "reached": None,
                   "samples": {}}
            row |= {stack: found[stack] and found[stack][name] for stack in self.compared}
            row["ratio"] = quotient(row["istripe"], row["stock"])
            if name == "p99" and row["stock"]:
                row["limit"] = round(described["goal"] * row["stock"], 3)
            elif name == "max" and ours:
                row["limit"] = round(described["most"] * ours["alone"], 3)
            if ours and row["limit"]:
                row["reached"] = row["istripe"] < row["limit"]
            yield row

    def print(self):
        self.head("shaped links, LIO in the same virtual machine")
        print("milliseconds that small requests of all rounds took; alone is the median without the "
              "large ones,\nMB/s are of all requests; limits are for the 99th percentile and the "
              "maximum of istripe")
        for title, described in self.titles():
            print(f"\n{title}")
            table = Table(("", 28), ("stack", 8), ("requests", 10), ("MB/s", 8), ("alone", 8),
                          ("median", 9), ("99th", 9), ("maximum", 9), ("ratio", 7), ("limit", 8),
                          ("", 8), ("limit", 8), ("", 8))
            for entry in described:
                found = {stack: self.figures(entry["job"], stack) for stack in self.compared}
                rows = list(self.judged(entry, found))
                self.rows += rows
                for stack in filter(found.get, self.compared):
                    values = found[stack]
                    goals = [cell for row in rows[1:3]
                             for cell in (number(row["limit"], ".2f"), VERDICTS[row["reached"]])]
                    table.line(entry["job"], stack, str(values["requests"]),
                               *(f"{values[name]:.2f}" for name in
                                 ("mb_s", "alone", "p50", "p99", "max")),
                               *((number(rows[1]["ratio"], ".2f"), *goals)
                                 if stack == "istripe" else ()))
        self.verdict()


class Demo(Links):
    """make demo: what was done, what both stacks did, and how many times as much that is."""

    def print(self):
        print(f"MB/s, Linux {self.result['kernel']}")
        table = Table(("", 44), ("stock", 8), ("istripe", 10), ("times as much", 16))
        for title, described in self.titles():
            print(f"\n{title}")
            for entry in described:
                row = self.throughput(entry)
                self.rows.append(row)
                way, size, depth = row["job"].split()[1:]
                what = f"  {WAYS[way]}, {size}, {depth.removeprefix('qd')} at a time"
                table.line(what, number(row["stock"], ".1f"), number(row["istripe"], ".1f"),
                           number(row["ratio"], ".1f"))


class Memory(Report):
    """bench-memory: what is kept for each connection."""

    FIGURES = ("slab", "vmalloc", "percpu", "pages", "total")

    def memory(self, described, figure):
        row = self.row(f"{described['job']} {figure}", figure, "KiB/connection")
        total = figure == "total"
        row["limit"] = described["goal"] if total else None
        row["reached"] = None
        if total and row["istripe"] is not None:
            row["reached"] = row["istripe"] <= row["limit"]
        return row

    def samples(self, job, figure):
        return super().samples(job.removesuffix(f" {figure}"), figure)

    def print(self):
        self.head("8 legs with 4 connections each, commands 128")
        for title, described in self.titles():
            print(f"\n{title}: KiB that the kernel keeps for each connection; less is better")
            table = Table(("", 18), ("stock", 9), ("+-", 6), ("istripe", 9), ("+-", 6),
                          ("ratio", 7), ("limit", 7), ("", 8))
            for figure in self.FIGURES:
                row = self.memory(described[0], figure)
                self.rows.append(row)
                table.line(row["job"], number(row["stock"], ".1f"), self.spread(row, "stock"),
                           number(row["istripe"], ".1f"), self.spread(row, "istripe"),
                           number(row["ratio"], ".2f"), number(row["limit"], "d"),
                           VERDICTS[row["reached"]])
        self.verdict()


class Failover(Report):
    """bench-failover: how long I/O stands when one of two paths is lost."""

    def pause(self, described):
        row = self.row(described["job"], "s", "s")
        row["limit"] = described["goal"]
        row["reached"] = None
        if row["limit"] and row["istripe"] is not None:
            row["reached"] = row["istripe"] < row["limit"]
        for stack in ("istripe", "stock"):
            row[f"{stack}_worst"] = max(row["samples"].get(stack, []), default=None)
        return row

    def print_pauses(self, described):
        table = Table(("", 26), ("stock", 9), ("worst", 9), ("rounds", 8), ("istripe", 10),
                      ("worst", 9), ("rounds", 8), ("ratio", 8), ("limit", 7), ("", 8))
        for entry in described:
            row = self.pause(entry)
            if not row["samples"]:
                continue
            self.rows.append(row)
            cells = [text for stack in ("stock", "istripe") for text in (
                number(row[stack], ".3f"), number(row[f"{stack}_worst"], ".3f"),
                str(len(row["samples"].get(stack, []))))]
            table.line(row["job"], *cells, number(row["ratio"], ".3f"),
                       number(row["limit"], ".1f"), VERDICTS[row["reached"]])

    def print(self):
        print(f"\nLinux {self.result['kernel']}, one of two paths is lost; median and worst of the "
              "rounds, in seconds; less is better")
        for title, described in self.titles():
            print(f"\n{title}")
            self.print_pauses(described)
        self.verdict()


def main():
    source, target = map(Path, sys.argv[1:])
    result = json.loads(source.read_text(encoding="ascii"))
    kinds = {"links": Links, "chunk": Links, "latency": Latency, "demo": Demo, "memory": Memory,
             "failover": Failover, "peers": Peers, "processors": Peers, "among": Among}
    report = kinds.get(result["set"], Cost)(result)
    report.print()
    part = target.with_suffix(".part")
    part.write_text(json.dumps(report.rows, indent=1) + "\n", encoding="ascii")
    part.rename(target)
    print(f"\n{target}")


if __name__ == "__main__":
    main()
