"""When the operations of a cell begin that do not follow one another at once."""

from __future__ import annotations

import math
from array import array
from dataclasses import dataclass
from struct import Struct
from typing import Callable

# Where a stream has a pace, a message begins with when it was sent: nanoseconds, in the machine's byte order.
STAMP = Struct("=Q")

_MASK = (1 << 64) - 1


@dataclass(frozen=True)
class Pace:
    """A pause before every operation, or operations that are due at a rate."""

    # Whether operations are due at a rate, answered or not; otherwise each follows a pause.
    is_open: bool
    # Whether pauses or gaps are drawn; otherwise all are the same.
    random: bool
    # The mean pause, or the mean gap between the operations of one worker.
    interval_ns: float
    workers: int
    # Whether even arrivals come to all workers at the same moments.
    in_step: bool = False

    def schedule(self, ops: int, seed: int, worker: int) -> Schedule:
        """The moments of one worker, counted from 0, in one batch."""
        return Schedule(self.is_open, self._moments_ns(ops, seed, worker))

    def _moments_ns(self, ops: int, seed: int, worker: int) -> array:
        interval_ns = self.interval_ns
        if not self.random and not self.is_open:
            return array("Q", [int(interval_ns)]) * ops
        if not self.random:
            # Even arrivals of several workers take turns, or come in step.
            first = 1.0 if self.in_step else (worker + 1) / self.workers
            return array("Q", (int((first + index) * interval_ns) for index in range(ops)))
        if not self.is_open:
            draw = draws(seed, worker)
            return array("Q", (int(draw() * interval_ns) for _ in range(ops)))
        # Arrivals at a rate are drawn for all workers, and each takes its own.
        draw = draws(seed, 0)
        moments_ns = array("Q")
        due_ns = 0.0
        for arrival in range(ops * self.workers):
            due_ns += draw() * interval_ns / self.workers
            if arrival % self.workers == worker:
                moments_ns.append(int(due_ns))
        return moments_ns


@dataclass(frozen=True)
class Schedule:
    """The pace of one worker in one batch."""

    is_open: bool
    # For each operation its pause, or when it is due after the begin.
    moments_ns: array


def draws(seed: int, worker: int) -> Callable[[], float]:
    """Draws exponential numbers of mean 1 from SplitMix64; every peer draws the same."""
    state = seed + (worker + 1) * 0xD1B54A32D192ED03

    def exponential() -> float:
        nonlocal state
        state = (state + 0x9E3779B97F4A7C15) & _MASK
        z = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
        z ^= z >> 31
        return -math.log(1.0 - (z >> 11) * 2.0**-53)

    return exponential
