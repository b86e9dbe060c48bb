"""The workers of a peer: one in the main thread, several as threads, or several as processes."""

from __future__ import annotations

import os
import pickle
import queue
import selectors
import signal
import threading
from array import array
from collections import Counter
from dataclasses import dataclass, replace
from typing import BinaryIO, Iterator, Optional, Union

from .errors import PeerError
from .keeping import operations_of
from .system import Usage, end_with_parent, own_usage
from .work import Order, Report, Work


@dataclass(frozen=True)
class Together:
    """What a batch took, all workers together."""

    wall_ns: int
    sent_ns: Optional[int]
    usage: Usage
    latency_ns: array
    # Where a pace is kept.
    late_ns: array
    send_ns: array
    measures: dict[str, int]
    retries: int


class Crew:
    """Workers that do their parts of a batch at once."""

    def run(self, orders: list[Order]) -> Together:
        """Runs each worker's order; raises the first failure."""
        before = own_usage()
        reports = self.reports(orders)
        return _together(reports, own_usage() - before)

    def reports(self, orders: list[Order]) -> list[Report]:
        """One report per worker, in any order."""
        raise NotImplementedError

    def close(self) -> None:
        """Ends what does not end with this process."""


def crew_within(works: list[Work]) -> Crew:
    """Workers in this process: a single one in the main thread, several in threads."""
    return Alone(works[0]) if len(works) == 1 else Threads(works)


def _together(reports: list[Report], usage: Usage) -> Together:
    began_ns = min(report.began_ns for report in reports)
    sent_at_ns = [report.sent_at_ns for report in reports if report.sent_at_ns is not None]
    latency_ns, late_ns, send_ns = array("Q"), array("Q"), array("Q")
    measures: Counter[str] = Counter()
    for report in reports:
        latency_ns.extend(report.latency_ns)
        measures.update(report.measures)
        usage += report.usage
        if report.keeping is None:
            continue
        took_ns = report.keeping.took_ns()
        late_ns.extend(report.keeping.late_ns())
        measures.update(report.keeping.measures())
        if report.keeping.sends:
            # Only the server sees when a message arrives.
            send_ns.extend(took_ns)
        else:
            latency_ns.extend(took_ns)
            measures.update(operations_of(took_ns))
    return Together(
        wall_ns=max(report.ended_ns for report in reports) - began_ns,
        sent_ns=max(sent_at_ns) - began_ns if sent_at_ns else None,
        usage=usage,
        latency_ns=latency_ns,
        late_ns=late_ns,
        send_ns=send_ns,
        measures=measures,
        retries=sum(report.retries for report in reports),
    )


class Alone(Crew):
    """One worker, in the process's only thread."""

    def __init__(self, work: Work) -> None:
        self._work = work

    def reports(self, orders: list[Order]) -> list[Report]:
        return [self._work.run(orders[0])]


class Threads(Crew):
    """Worker threads that wait for orders."""

    def __init__(self, works: list[Work]) -> None:
        self._orders: list[queue.SimpleQueue[Order]] = [queue.SimpleQueue() for _ in works]
        self._outcomes: queue.SimpleQueue[Union[Report, Exception]] = queue.SimpleQueue()
        for work, orders in zip(works, self._orders):
            threading.Thread(target=self._serve, args=(work, orders), daemon=True).start()

    def reports(self, orders: list[Order]) -> list[Report]:
        for queued, order in zip(self._orders, orders):
            queued.put(order)
        return [self._next_report() for _ in self._orders]

    def _next_report(self) -> Report:
        # A failed worker is heard at once: the others may wait for the other side for ever.
        outcome = self._outcomes.get()
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def _serve(self, work: Work, orders: queue.SimpleQueue[Order]) -> None:
        while True:
            order = orders.get()
            try:
                self._outcomes.put(work.run(order))
            except Exception as error:  # the main thread must hear of any error
                self._outcomes.put(error)


class Processes(Crew):
    """Worker processes; each is created and forked before the next one is created."""

    def __init__(self, works: Iterator[Work]) -> None:
        self._workers: list[ProcessWorker] = []
        try:
            for work in works:
                self._workers.append(ProcessWorker(work, self._workers))
        except BaseException:
            self.close()
            raise

    def reports(self, orders: list[Order]) -> list[Report]:
        for worker, order in zip(self._workers, orders):
            worker.send(order)
        reports = []
        with selectors.DefaultSelector() as selector:
            for worker in self._workers:
                selector.register(worker.answers, selectors.EVENT_READ, worker)
            while selector.get_map():
                for key, _ in selector.select():
                    reports.append(key.data.receive())
                    selector.unregister(key.fileobj)
        return reports

    def close(self) -> None:
        for worker in self._workers:
            worker.kill()


class ProcessWorker:
    """A worker that is a copy of this process."""

    def __init__(self, work: Work, earlier: list[ProcessWorker]) -> None:
        orders, self._orders = _pipe()
        self.answers, answers = _pipe()
        parent = os.getpid()
        self._process = os.fork()
        if self._process == 0:
            try:
                end_with_parent()
                self._close_ends()
                for worker in earlier:
                    worker._close_ends()
                # The parent may have died before the request to the kernel.
                if os.getppid() == parent:
                    _serve_orders(work, orders, answers)
            finally:
                os._exit(0)
        orders.close()
        answers.close()
        work.close()

    def _close_ends(self) -> None:
        self._orders.close()
        self.answers.close()

    def send(self, order: Order) -> None:
        """Sends it an order."""
        pickle.dump(order, self._orders)
        self._orders.flush()

    def receive(self) -> Report:
        """Waits for its report."""
        try:
            outcome = pickle.load(self.answers)
        except EOFError:
            raise PeerError("a worker process has ended") from None
        if isinstance(outcome, Report):
            return outcome
        raise PeerError(outcome)

    def kill(self) -> None:
        """Ends it, whatever it is doing."""
        os.kill(self._process, signal.SIGKILL)
        os.waitpid(self._process, 0)


def _pipe() -> tuple[BinaryIO, BinaryIO]:
    """The two ends of a new pipe, as files."""
    read, write = os.pipe()
    return os.fdopen(read, "rb"), os.fdopen(write, "wb")


def _serve_orders(work: Work, orders: BinaryIO, answers: BinaryIO) -> None:
    """A worker process: runs orders until they end."""
    while True:
        try:
            order = pickle.load(orders)
        except EOFError:
            return
        before = own_usage()
        try:
            outcome: Union[Report, str] = replace(work.run(order), usage=own_usage() - before)
        except Exception as error:  # the parent must hear of any error
            outcome = str(error)
        pickle.dump(outcome, answers)
        answers.flush()
