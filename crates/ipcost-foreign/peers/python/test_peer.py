"""Tests that need no engine: `python3 -m unittest` in this directory."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import unittest
from array import array
from pathlib import Path
from typing import Any

from peer.cell import OPTIONS, read_cell
from peer.errors import PeerError
from peer.payload import check, message_bytes
from peer.session import spaced_ranks
from peer.tcp import Tcp
from peer.work import Kind, Order, RepeatedWork

PROGRAM = Path(__file__).with_name("ipcost_peer.py")
CELL = {
    "pattern": "rr",
    "transport": "tcp",
    "size": 1,
    "reply": 1,
    "concurrency": 2,
    "speaks_first": "client",
    "options": {},
}
ANY_PORT = {"host": "127.0.0.1", "port": 0}


def prepare(address: Any = ANY_PORT, role: str = "server", **changes: Any) -> dict[str, Any]:
    return {"type": "prepare", "role": role, "cell": {**CELL, **changes}, "address": address}


def converse(*messages: Any) -> tuple[list[dict[str, Any]], int]:
    """Sends these messages to a peer, then ends its input; returns all but its first answer, and its exit status."""
    lines = [message if isinstance(message, str) else json.dumps(message) for message in messages]
    text = "".join(line + "\n" for line in lines)
    done = subprocess.run([sys.executable, PROGRAM], input=text, capture_output=True, text=True, timeout=60)
    assert not done.stderr, done.stderr
    hello, *answers = map(json.loads, done.stdout.splitlines())
    assert (hello["type"], hello["protocol"], hello["options"]) == ("hello", 1, list(OPTIONS))
    return answers, done.returncode


class Payload(unittest.TestCase):
    def test_every_byte_counts(self) -> None:
        content = message_bytes(300, 600)
        self.assertEqual((content[0], content[201], content[202]), (49, 250, 0))
        found = bytearray(content)
        check(memoryview(found)[400:], memoryview(content)[400:], 300, 400)
        found[599] ^= 1
        with self.assertRaisesRegex(PeerError, "byte 599 of message 300"):
            check(memoryview(found)[400:], memoryview(content)[400:], 300, 400)
        with self.assertRaisesRegex(PeerError, "has 599 bytes, not 600"):
            check(memoryview(content)[:599], memoryview(content), 300)

    def test_newlines_only_end_messages(self) -> None:
        content = message_bytes(7, 1000, newline_ends=True)
        self.assertEqual((content.find(b"\n"), content[3]), (-1, 251))


class Latency(unittest.TestCase):
    def test_the_first_tenth_is_not_recorded_and_one_always_is(self) -> None:
        class Nothing(RepeatedWork):
            def operate(self) -> None:
                pass

        for ops, kept in ((1, 1), (9, 9), (10, 9), (25, 23), (1000, 900)):
            self.assertEqual(len(Nothing().run(Order(ops, Kind.METERED)).latency_ns), kept)

    def test_values_are_kept_by_rank_with_the_largest(self) -> None:
        self.assertEqual(spaced_ranks(array("Q", [5, 3, 5, 1]), 10), [1, 3, 5, 5])
        self.assertEqual(spaced_ranks(array("Q", [7, 6, 5, 4, 3, 2, 1]), 3), [3, 5, 7])
        self.assertEqual(spaced_ranks(array("Q"), 3), [])


class Nagle(unittest.TestCase):
    def test_both_ends_follow_the_pattern_and_the_option(self) -> None:
        for pattern, options, expected in (
            ("rr", {}, True),
            ("rr", {"tcp_nodelay": False}, False),
            ("connect", {}, True),
            ("stream", {}, False),
            ("stream", {"tcp_nodelay": True}, True),
        ):
            with self.subTest(pattern=pattern, options=options):
                cell = read_cell({**CELL, "pattern": pattern, "options": options})
                server = Tcp().serve(ANY_PORT, cell)
                client = Tcp().reach(server.address, cell, 0, lambda: None).connect()
                for end in (client, server.accept()):
                    nodelay = end.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
                    self.assertEqual(bool(nodelay), expected)
                    end.close()


class Conversation(unittest.TestCase):
    def test_what_makes_no_sense_is_answered_with_an_error(self) -> None:
        batch = {"type": "batch", "id": 1, "ops": 2}
        for messages in (
            ["rubbish"],
            ["[]"],
            ["[" * 100_000],
            [{"type": "dance"}],
            [batch],
            [prepare(), prepare()],
            [prepare(), {**batch, "ops": 0}],
            [prepare(), {**batch, "ops": 3}],
            [prepare(), {**batch, "ops": True}],
            [prepare(role="referee")],
            [prepare(transport="carrier-pigeon")],
            [prepare(transport="pipe", pattern="connect")],
            [prepare(pattern="gossip")],
            [prepare(size=0)],
            [prepare(options={"tcp_nodelya": True})],
            [prepare(options={"tcp_nodelay": 1})],
            [prepare(options={"send_offset": 4096})],
            [prepare(options={"recv_offset": -1})],
            [prepare(options={"recv_offset": 1.5})],
            [prepare(options={"touch": "some"})],
            [prepare(address={"host": "192.0.2.1", "port": 0})],
            [prepare(address={"fd": 9999}, transport="socketpair")],
            [prepare(address=None)],
        ):
            with self.subTest(messages=str(messages)[:80]):
                answers, status = converse(*messages)
                self.assertEqual((answers[-1]["type"], status), ("error", 1))

    def test_the_end_of_input_and_stop_end_in_good_order(self) -> None:
        stop = {"type": "stop", "new": 1}
        for messages in ([], [stop], [prepare()], [prepare(), stop], [prepare(pattern="connect"), stop]):
            with self.subTest(messages=messages):
                answers, status = converse(*messages)
                self.assertEqual(status, 0)
                self.assertNotIn("error", [answer["type"] for answer in answers])


if __name__ == "__main__":
    unittest.main()
