# SPDX-License-Identifier: GPL-2.0
"""Which event happens when. What happens, and in which order, follows from the seed."""

import collections
import heapq
import itertools
import random
import time


class Director:
    """Lets events happen one after another, and takes them back when they have held long enough.

    events: classes of soak.events; pause_s: from one event to the next, at least and at most.
    """

    def __init__(self, bed, events, seed, say, pause_s=(0.1, 1.0)):
        self.bed = bed
        self.events = events
        self.seed = seed
        self.say = say
        self.pause_s = pause_s
        self.counts = collections.Counter({event.name: 0 for event in events})
        self._holding = []              # (when it is over, order, event)
        self._order = itertools.count()
        self._turn = itertools.count()
        self._next = time.monotonic()

    def total(self, events):
        """How often one of these has happened."""
        return sum(self.counts[event.name] for event in events)

    def step(self):
        """What is due now, and a short sleep."""
        now = time.monotonic()
        while self._holding and self._holding[0][0] <= now:
            self._end(heapq.heappop(self._holding)[2])
        if now >= self._next:
            # Numbers of its own for each: what one event has drawn must not change the next.
            rng = random.Random(f"{self.seed} {next(self._turn)}")
            self._begin(rng)
            self._next = time.monotonic() + rng.uniform(*self.pause_s)
        time.sleep(0.05)

    def finish(self):
        """Everything is as it was."""
        while self._holding:
            self._end(heapq.heappop(self._holding)[2])

    def _begin(self, rng):
        weights = [event.weight for event in self.events]
        event = rng.choices(self.events, weights)[0](self.bed, rng)
        if event.place and any(event.place == held.place for _, _, held in self._holding):
            return
        hold_s = rng.uniform(*event.hold_s) if event.hold_s else 0
        if hold_s:
            # Before it begins: what fails half-way is taken back, too.
            heapq.heappush(self._holding,
                           (time.monotonic() + hold_s, next(self._order), event))
        happened = event.apply()
        if happened:
            self.say(f"{event}" + (f" for {hold_s:.1f} s" if hold_s else ""))
        self.counts[event.name] += happened

    def _end(self, event):
        event.undo()
        self.say(f"{event}: over")
