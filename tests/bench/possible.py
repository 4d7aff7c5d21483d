# SPDX-License-Identifier: GPL-2.0
"""What share of their links a number of requests can keep busy, whoever sends them.

Four random requests are not on four links all the time: two that meet on one of them leave
another one idle, and so does one request that is no larger than a chunk. The links of this model
carry bytes and do nothing else; there are always as many requests as the depth says.
"""

import heapq
import random
from typing import NamedTuple

REQUESTS = 20000
#: Random requests begin at one of as many places.
PLACES = 1 << 20


class Model(NamedTuple):
    """A workload and what it runs on. The unit of time is that in which a link carries one byte.

    sizes: of the requests, in bytes, each as often as the others. chunk_bytes: of the stripe; with
    paths the links all lead to one LUN, and the longer requests are cut into one part for each.
    burst_bytes: what a link that was idle has saved up. rtt_bytes: what it carries in a
    round-trip time.
    """

    random: bool
    sizes: tuple
    depth: int
    links: int
    chunk_bytes: int
    paths: bool = False
    burst_bytes: float = 0
    rtt_bytes: float = 0


def striped(model, start, size):
    """Pairs of a link and the bytes that it has of the request; whole rounds are the same on all."""
    row = model.chunk_bytes * model.links
    found = [size // row * model.chunk_bytes] * model.links
    at, left = start, size % row
    while left:
        piece = min(left, model.chunk_bytes - at % model.chunk_bytes)
        found[at // model.chunk_bytes % model.links] += piece
        at += piece
        left -= piece
    return [(link, piece) for link, piece in enumerate(found) if piece]


def cut(model, free, size):
    """The same for one LUN behind all links: those that are free first get the parts."""
    chunks = -(-size // model.chunk_bytes)
    part = size if chunks == 1 else -(-chunks // model.links) * model.chunk_bytes
    first = sorted(range(model.links), key=lambda link: free[link])
    return [(first[number], min(part, size - at)) for number, at in enumerate(range(0, size, part))]


def share(model):
    """The share of all links that is busy, from 0 to 1."""
    rng = random.Random(1)
    free = [-model.burst_bytes] * model.links
    ends = [(0.0, 0)] * model.depth
    now = at = moved = 0
    for _ in range(REQUESTS):
        now, done = heapq.heappop(ends)
        moved += done
        size = rng.choice(model.sizes)
        start = rng.randrange(PLACES) * size if model.random else at
        pieces = cut(model, free, size) if model.paths else striped(model, start, size)
        for link, piece in pieces:
            free[link] = max(free[link], now - model.burst_bytes) + piece
        end = max(now, *(free[link] for link, _ in pieces)) + model.rtt_bytes
        heapq.heappush(ends, (end, size))
        at = start + size
    return min(1.0, moved / now / model.links)
