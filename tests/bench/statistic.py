# SPDX-License-Identifier: GPL-2.0
"""Mean, interval of confidence, and whether two means differ: for rows that have many samples."""

import math
from statistics import NormalDist, mean, stdev

CONFIDENCE = 0.99


def summary(samples):
    """Mean, standard deviation, and half of the interval that holds the mean with CONFIDENCE.

    The normal distribution stands for Student's: with hundreds of samples they are the same.
    """
    deviation = stdev(samples)
    factor = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
    return {"samples": len(samples), "mean": round(mean(samples), 2),
            "sd": round(deviation, 2),
            "confidence": round(factor * deviation / math.sqrt(len(samples)), 2)}


def welch(first, second):
    """Welch's t of two samples and the probability of one as large when the means are equal."""
    error = math.sqrt(stdev(first) ** 2 / len(first) + stdev(second) ** 2 / len(second))
    if not error:
        return None, None
    t = (mean(first) - mean(second)) / error
    return round(t, 2), math.erfc(abs(t) / math.sqrt(2))


def compare(samples):
    """samples: a list for each stack. What summary() and welch() say about them."""
    found = {stack: summary(values) for stack, values in samples.items() if len(values) > 1}
    if len(found) == 2:
        found["t"], found["p"] = welch(samples["istripe"], samples["stock"])
    return found


def words(found):
    """What compare() has found, as lines."""
    lines = [f"{stack:8} {one['mean']:10.1f} IOPS, sd {one['sd']:.1f}, "
             f"{CONFIDENCE * 100:.0f} % confidence +- {one['confidence']:.1f}, "
             f"{one['samples']} samples"
             for stack, one in found.items() if isinstance(one, dict)]
    if found.get("p") is not None:
        differ = "differ" if found["p"] < 1 - CONFIDENCE else "cannot be told apart"
        lines.append(f"t = {found['t']:.2f}, p = {found['p']:.3g}: the means {differ}")
    return lines
