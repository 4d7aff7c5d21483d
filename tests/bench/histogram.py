# SPDX-License-Identifier: GPL-2.0
"""What the bins of fio's histogram say: lists of [ns, how many]."""


def percentile_ns(found, percent):
    """Also of the bins of several rounds, one after the other."""
    left = sum(count for _, count in found) * percent / 100
    for ns, count in sorted(found):
        left -= count
        if left <= 0:
            return ns
    return None
