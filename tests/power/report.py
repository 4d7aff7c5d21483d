# SPDX-License-Identifier: GPL-2.0
"""What has come of the power cuts: a table, and the verdict."""


def wrong(rows):
    """Why the run has failed, in words; nothing if it has not."""
    words = []
    for row in rows:
        name = row["volume"]
        if row["lost"]:
            words.append(f"{name}: {row['lost']} acknowledged records lost")
        if not row["records"]:
            words.append(f"{name}: nothing was acknowledged")
        if row["target"] == "scripted" and row["write_cache"] and not row["dropped"]:
            words.append(f"{name}: the cuts dropped nothing, and so prove nothing")
        words += [f"{name}: {line}" for line in row["violations"]]
    return words


def show(result):
    head = ("volume", "records", "lost", "beyond", "dropped", "flushes", "fua")
    print(f"\n{result['cuts']} power cuts, kernel {result['kernel']}, seed {result['seed']}\n")
    print(f"  {head[0]:<18}" + "".join(f"{word:>10}" for word in head[1:]))
    for row in result["volumes"]:
        print(f"  {row['volume']:<18}" + "".join(f"{row[word]:>10}" for word in head[1:]))
    print("\nrecords: acknowledged before a cut; beyond: there, though nobody had been told;\n"
          "dropped: blocks that only the target's cache had when its power was cut")
    for text in result["wrong"]:
        print(text)
    print("power-cuts: " + ("FAILED" if result["wrong"] else "no acknowledged record was lost"),
          flush=True)
