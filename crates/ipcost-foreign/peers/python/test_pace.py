"""Tests of the options think, rate and arrivals."""

from __future__ import annotations

import socket
import threading
import time
import unittest
from array import array
from typing import Any

from peer.arrivals import Arrivals
from peer.cell import Cell, read_cell
from peer.crew import crew_within
from peer.errors import PeerError
from peer.keeping import Keeping, monotonic_ns
from peer.pace import STAMP, Schedule, draws
from peer.session import Session
from peer.stream import StreamClient, StreamServer
from peer.work import Kind, Order, RepeatedWork

MS = 1_000_000


def cell(pattern: str = "rr", size: int = 20, concurrency: int = 1, **options: Any) -> Cell:
    return read_cell(
        {
            "pattern": pattern,
            "transport": "socketpair",
            "size": size,
            "reply": 20,
            "concurrency": concurrency,
            "speaks_first": "client",
            "options": options,
        }
    )


def moments(ops: int, worker: int = 0, **options: Any) -> list[int]:
    """Those of one of two workers."""
    pace = cell(concurrency=2, **options).pace
    assert pace is not None
    return list(pace.schedule(ops, 7, worker).moments_ns)


class Paces(unittest.TestCase):
    def test_draws_are_those_of_every_peer(self) -> None:
        first, second = draws(42, 0), draws(42, 1)
        # docs/contributing/control-protocol.md names these.
        found = (first(), first(), second())
        for drawn, wanted in zip(found, (1.8559180694583175, 0.03750100939329999, 0.4576345973053771)):
            self.assertAlmostEqual(drawn, wanted, places=12)

    def test_arrivals_come_at_the_rate(self) -> None:
        even = {"rate": 1000, "arrivals": "constant"}
        self.assertEqual(moments(3, 0, **even), [MS, 3 * MS, 5 * MS])
        self.assertEqual(moments(3, 1, **even), [2 * MS, 4 * MS, 6 * MS])
        # Two workers share 20 000 a second, so 20 000 of one of them take two seconds.
        random = moments(20_000, rate=20_000)
        self.assertEqual(random, sorted(random))
        self.assertAlmostEqual(random[-1] / 1e9, 2, delta=0.1)

    def test_pauses_are_equal_unless_they_are_drawn(self) -> None:
        self.assertEqual(moments(2, think=5), [5, 5])
        self.assertEqual(len(set(moments(3, think=MS, arrivals="exponential"))), 3)

    def test_options_that_contradict_are_refused(self) -> None:
        for options in (
            {"think": 1, "rate": 1},
            {"arrivals": "constant"},
            {"rate": 0},
            {"think": 60_000_000_001},
            {"rate": 1, "arrivals": "often"},
        ):
            with self.subTest(options=options), self.assertRaises(PeerError):
                cell(**options)
        cell("stream", 8, think=0)
        with self.assertRaisesRegex(PeerError, "at least 8 bytes"):
            cell("stream", 7, think=0)

    def test_only_a_seed_makes_a_batch_keep_its_pace(self) -> None:
        batch, seed = {"type": "batch", "ops": 5}, {"seed": 0}
        for role, pattern, message, kind in (
            ("client", "rr", {**batch, **seed}, Kind.PACED),
            ("client", "stream", {**batch, **seed, "latency": True}, Kind.PACED),
            ("server", "stream", {**batch, **seed}, Kind.PACED),
            ("server", "rr", {**batch, **seed}, Kind.TIMED),
            ("client", "rr", batch, Kind.TIMED),
            ("client", "rr", {**batch, **seed, "type": "verify"}, Kind.VERIFIED),
        ):
            with self.subTest(role=role, pattern=pattern, message=message):
                session = Session()
                session._role = role
                (order,) = session._orders(cell(pattern, think=0), message)
                self.assertEqual(order.kind, kind)
                self.assertEqual(order.schedule is not None, kind is Kind.PACED and role == "client")


class Pausing(RepeatedWork):
    """An operation that takes a while at first."""

    def __init__(self, pause_s: float) -> None:
        self._pause_s = pause_s

    def operate(self) -> None:
        time.sleep(self._pause_s)
        self._pause_s = 0


def keep(work: RepeatedWork, *moments_ns: int, is_open: bool) -> Any:
    """What a crew of one tells of these moments."""
    order = Order(len(moments_ns), Kind.PACED, Schedule(is_open, array("Q", moments_ns)))
    return crew_within([work]).run([order])


class Keepings(unittest.TestCase):
    def test_what_begins_late_counts_from_when_it_was_due(self) -> None:
        # One operation every 0.1 ms; the others are due by the time the first, which takes 5 ms, has ended.
        told = keep(Pausing(0.005), *(operation * MS // 10 for operation in range(10)), is_open=True)
        # The first tenth is left out.
        self.assertEqual((told.measures["operations"], len(told.latency_ns), len(told.late_ns)), (9, 9, 10))
        self.assertGreaterEqual(told.measures["operations_ns"], 9 * 4 * MS)
        self.assertGreaterEqual(max(told.late_ns), 4 * MS)
        # Of the first it depends on this machine how many are due when it begins.
        self.assertGreaterEqual(told.measures["queued"], 8 * 9 // 2)
        self.assertGreaterEqual(told.measures["unsent"], 8)

    def test_the_backlog_is_what_is_due_and_has_not_begun(self) -> None:
        keeping = Keeping(Schedule(True, array("Q", [10, 20, 30, 40])))
        keeping._began_ns = 100
        # The first is on time. The second is late: two more are due. The third begins just after the last was due.
        keeping._begun_ns = array("Q", [110, 140, 141, 142])
        self.assertEqual(keeping.measures(), {"queued": 3, "unsent": 1})

    def test_pauses_are_no_part_of_operations(self) -> None:
        pause_ns = 2 * MS
        began_ns = monotonic_ns()
        told = keep(Pausing(0), pause_ns, 0, pause_ns, pause_ns, is_open=False)
        self.assertGreaterEqual(monotonic_ns() - began_ns, 3 * pause_ns)
        self.assertLess(min(told.latency_ns), pause_ns)
        self.assertEqual((len(told.latency_ns), len(told.late_ns)), (4, 3))
        self.assertEqual(told.measures, {"operations": 4, "operations_ns": sum(told.latency_ns)})


class Streams(unittest.TestCase):
    def test_stamps_arrive_in_any_parts(self) -> None:
        size, messages = 20, 5
        sent_ns = monotonic_ns()
        stamps = [sent_ns - message * 10 * MS for message in range(messages)]
        stream = memoryview(b"".join(STAMP.pack(stamp) + bytes(size - STAMP.size) for stamp in stamps))
        for part in range(1, 2 * size + 2):
            with self.subTest(part=part):
                arrivals = Arrivals(size, messages)
                for offset in range(0, len(stream), part):
                    piece = stream[offset : offset + part]
                    arrivals.note(piece, len(piece))
                now_ns = monotonic_ns()
                for stamp, took_ns in zip(stamps, arrivals.took_ns):
                    self.assertTrue(sent_ns <= stamp + took_ns <= now_ns)
        with self.assertRaisesRegex(PeerError, "before it was sent"):
            future = STAMP.pack(monotonic_ns() + 1000 * MS)
            Arrivals(STAMP.size, 1).note(memoryview(future), STAMP.size)

    def test_the_server_times_what_the_client_sends(self) -> None:
        for counted, options in (
            (90, {"rate": 20_000}),
            (100, {"think": 0, "touch": "every-byte"}),
            (100, {"think": 10_000, "recv_buffer": 7}),
        ):
            with self.subTest(options=options):
                shape = cell("stream", **options)
                near, far = socket.socketpair()
                client, server = StreamClient(near, shape), StreamServer(far, shape)
                reports: list[Any] = []
                serving = threading.Thread(target=lambda: reports.append(server.run(Order(100, Kind.PACED))))
                serving.start()
                schedule = shape.pace.schedule(100, 42, 0)
                told = crew_within([client]).run([Order(100, Kind.PACED, schedule)])
                serving.join()
                client.close()
                far.close()
                (received,) = reports
                self.assertEqual((len(received.latency_ns), received.measures["operations"]), (counted, counted))
                self.assertEqual((len(told.send_ns), len(told.latency_ns)), (counted, 0))
                self.assertNotIn("operations", told.measures)
                self.assertLessEqual(told.sent_ns, told.wall_ns)


if __name__ == "__main__":
    unittest.main()
