"""How a worker keeps its pace, and what follows from when its operations began and ended."""

from __future__ import annotations

import sys
import time
from array import array
from time import sleep
from typing import Callable, Optional, Sequence

from .errors import PeerError, in_operation
from .pace import Schedule

if sys.platform == "linux":
    monotonic_ns = time.monotonic_ns
else:

    def monotonic_ns() -> int:
        """Reads the clock that the protocol names; Python's own may be another one."""
        return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


class Keeping:
    """A schedule that is kept. Its loop only notes the time; what follows from that is found after the batch."""

    def __init__(self, schedule: Schedule) -> None:
        ops = len(schedule.moments_ns)
        self.schedule = schedule
        # Whether the time of an operation is that of its send alone.
        self.sends = False
        self._began_ns = 0
        self._begun_ns = array("Q", bytes(8 * ops))
        self._ended_ns = array("Q", bytes(8 * ops))

    def repeat(self, operate: Callable[[], None], operate_since: Optional[Callable[[int], None]]) -> None:
        """Does the operations, each when its time has come.

        With `operate_since`, each gets the time from when it counts.
        """
        self.sends = operate_since is not None
        is_open = self.schedule.is_open
        begun_ns, ended_ns = self._begun_ns, self._ended_ns
        self._began_ns = from_ns = monotonic_ns()
        operation = 0
        try:
            for operation, moment_ns in enumerate(self.schedule.moments_ns):
                due_ns = from_ns + moment_ns
                now_ns = monotonic_ns()
                while now_ns < due_ns:
                    sleep((due_ns - now_ns) * 1e-9)
                    now_ns = monotonic_ns()
                if operate_since is None:
                    operate()
                else:
                    operate_since(due_ns if is_open else now_ns)
                end_ns = monotonic_ns()
                begun_ns[operation] = now_ns
                ended_ns[operation] = end_ns
                if not is_open:
                    from_ns = end_ns
        except (OSError, PeerError) as error:
            raise in_operation(operation, len(begun_ns), error) from error

    def late_ns(self) -> list[int]:
        """How late the operations began that had to wait."""
        is_open = self.schedule.is_open
        return [
            begun_ns - due_ns
            for begun_ns, due_ns, moment_ns in zip(self._begun_ns, self._due_ns(), self.schedule.moments_ns)
            if is_open or moment_ns
        ]

    def took_ns(self) -> list[int]:
        """How long the operations took that count, or their sends."""
        is_open = self.schedule.is_open
        since_ns = self._due_ns() if is_open and not self.sends else self._begun_ns
        took_ns = [ended_ns - since for ended_ns, since in zip(self._ended_ns, since_ns)]
        return took_ns[first_counted(len(took_ns), is_open) :]

    def measures(self) -> dict[str, int]:
        """How far the operations fell behind their rate; nothing of pauses.

        `queued`: for each that began, how many more were due, added up. `unsent`: how many had not begun when the last
        one was due, without that one.
        """
        if not self.schedule.is_open:
            return {}
        moments_ns = self.schedule.moments_ns
        last = len(moments_ns) - 1
        arrived = queued = unsent = 0
        for operation, begun_ns in enumerate(self._begun_ns):
            passed_ns = begun_ns - self._began_ns
            while arrived <= last and moments_ns[arrived] <= passed_ns:
                arrived += 1
            # No operation begins before it is due, so it has itself arrived.
            queued += arrived - operation - 1
            unsent += operation < last and moments_ns[last] < passed_ns
        return {"queued": queued, "unsent": unsent}

    def _due_ns(self) -> list[int]:
        """When each operation was to begin."""
        moments_ns = self.schedule.moments_ns
        if self.schedule.is_open:
            return [self._began_ns + moment_ns for moment_ns in moments_ns]
        return [from_ns + moment_ns for from_ns, moment_ns in zip([self._began_ns, *self._ended_ns], moments_ns)]


def first_counted(ops: int, is_open: bool) -> int:
    """The first operation whose time counts. At a rate, no queue has formed before it."""
    return ops // 10 if is_open else 0


def operations_of(times_ns: Sequence[int]) -> dict[str, int]:
    """How many operations were timed, and for how long they took together."""
    return {"operations": len(times_ns), "operations_ns": sum(times_ns)}
