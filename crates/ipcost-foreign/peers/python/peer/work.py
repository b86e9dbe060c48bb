"""One worker's part of a batch."""

from __future__ import annotations

import enum
from array import array
from dataclasses import dataclass, field
from time import monotonic_ns
from typing import Callable, Optional

from .errors import OtherSideClosed, PeerError, in_operation
from .keeping import Keeping
from .pace import Schedule
from .system import Usage


class Kind(enum.Enum):
    """How to do a batch's operations."""

    TIMED = "as fast as they go"
    METERED = "with the clock read around each"
    PACED = "each when its time has come"
    VERIFIED = "with a payload that is checked"


@dataclass(frozen=True)
class Order:
    """A worker's order."""

    ops: int
    kind: Kind
    # Of a client whose operations are paced.
    schedule: Optional[Schedule] = None


@dataclass
class Report:
    """One worker's results; the clock is the same for all processes."""

    began_ns: int
    ended_ns: int
    sent_at_ns: Optional[int] = None
    latency_ns: array = field(default_factory=lambda: array("Q"))
    measures: dict[str, int] = field(default_factory=dict)
    # Of a client whose operations are paced, in place of latencies and measures.
    keeping: Optional[Keeping] = None
    retries: int = 0
    # Only of a worker process.
    usage: Optional[Usage] = None


class Work:
    """One worker of a cell in one role."""

    def run(self, order: Order) -> Report:
        """Runs its part of a batch."""
        raise NotImplementedError

    def close(self) -> None:
        """Closes what it has open."""


class RepeatedWork(Work):
    """A worker that repeats one operation."""

    # Does it once with a message that carries from when it counts; None if messages carry nothing.
    operate_since: Optional[Callable[[int], None]] = None

    def operate(self) -> None:
        """Does it once."""
        raise NotImplementedError

    def operate_checked(self, message: int) -> None:
        """Does it once as message number `message`, with a checked payload."""
        raise NotImplementedError

    def run(self, order: Order) -> Report:
        latency_ns = array("Q")
        keeping = Keeping(order.schedule) if order.schedule is not None else None
        began_ns = monotonic_ns()
        if keeping is not None:
            keeping.repeat(self.operate, self.operate_since)
        else:
            self._repeat_at_once(order, latency_ns)
        return Report(began_ns, monotonic_ns(), latency_ns=latency_ns, keeping=keeping)

    def _repeat_at_once(self, order: Order, latency_ns: array) -> None:
        if order.kind is Kind.VERIFIED:
            self._repeat_checked(order.ops)
        elif order.kind is Kind.METERED:
            self._repeat_metered(order.ops, latency_ns)
        else:
            self._repeat_plainly(order.ops)

    def _repeat_plainly(self, ops: int) -> None:
        operate = self.operate
        operation = 0
        try:
            for operation in range(ops):
                operate()
        except (OSError, PeerError) as error:
            raise in_operation(operation, ops, error) from error

    def _repeat_metered(self, ops: int, latency_ns: array) -> None:
        operate = self.operate
        # The first tenth includes the cost of starting the loop; of fewer than ten operations all are recorded.
        first_recorded = ops // 10
        operation = 0
        try:
            for operation in range(ops):
                began_ns = monotonic_ns()
                operate()
                elapsed_ns = monotonic_ns() - began_ns
                if operation >= first_recorded:
                    latency_ns.append(elapsed_ns)
        except (OSError, PeerError) as error:
            raise in_operation(operation, ops, error) from error

    def _repeat_checked(self, ops: int) -> None:
        message = 0
        try:
            for message in range(ops):
                self.operate_checked(message)
        except (OSError, PeerError) as error:
            raise in_operation(message, ops, error) from error


def receive_all(recv_into: Callable[[memoryview], int], buffer: memoryview) -> None:
    """Fills the whole buffer."""
    size = len(buffer)
    received = recv_into(buffer)
    while received < size:
        count = recv_into(buffer[received:])
        if not count:
            raise OtherSideClosed
        received += count


def receive_end(recv_into: Callable[[memoryview], int], one_byte: memoryview) -> None:
    """Waits for the other side to close."""
    if recv_into(one_byte):
        raise PeerError("more bytes came than were agreed on")
