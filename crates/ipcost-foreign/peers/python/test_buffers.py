"""Tests of where buffers begin, and of the option touch."""

from __future__ import annotations

import ctypes
import queue
import socket
import threading
import unittest
from typing import Any
from unittest import mock

from peer.buffers import Touch
from peer.cell import Cell, read_cell
from peer.connect import ConnectClient, ConnectServer, Turns
from peer.rr import RrClient, RrServer
from peer.stream import StreamClient, StreamServer
from peer.work import Kind, Order, Work

SIZE = 20
OPS = 30
# Timed operations lie between verified ones.
KINDS = (Kind.VERIFIED, Kind.TIMED, Kind.METERED, Kind.VERIFIED)
TIMED = slice(OPS, 3 * OPS)
SHAPES = (
    ("rr", {}),
    ("rr", {"framing": "newline"}),
    ("rr", {"framing": "newline", "server_buffer": 7}),
    ("stream", {}),
    ("connect", {}),
)


class Side:
    """A channel of the client or the server, or several one by one; notes what is sent and which buffers are used."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []
        self.send_offsets: set[int] = set()
        self.first_recv_offset = -1

    def on(self, channel: socket.socket) -> Side:
        self._channel = channel
        self.close = channel.close
        return self

    def sendall(self, data: Any) -> None:
        self.sent.append(bytes(data))
        if isinstance(data, memoryview):
            self.send_offsets.add(offset_of(data))
        self._channel.sendall(data)

    def recv_into(self, buffer: memoryview) -> int:
        if self.first_recv_offset < 0:
            self.first_recv_offset = offset_of(buffer)
        return self._channel.recv_into(buffer)


class Meeting:
    """A client and a server of connect within one process."""

    retries = 0

    def __init__(self, client: Side, server: Side) -> None:
        self._client, self._server = client, server
        self._coming: queue.SimpleQueue[socket.socket] = queue.SimpleQueue()

    def connect(self) -> Side:
        near, far = socket.socketpair()
        self._coming.put(far)
        return self._client.on(near)

    def accept(self) -> Side:
        return self._server.on(self._coming.get())


def offset_of(buffer: memoryview) -> int:
    return ctypes.addressof(ctypes.c_char.from_buffer(buffer)) % 4096


def workers(cell: Cell, client: Side, server: Side, turns: Turns) -> tuple[Work, Work]:
    if cell.pattern == "connect":
        meeting = Meeting(client, server)
        return ConnectClient(meeting, cell), ConnectServer(meeting, turns, cell)
    near, far = socket.socketpair()
    if cell.pattern == "rr":
        return RrClient(client.on(near), cell), RrServer(server.on(far), cell)
    return StreamClient(client.on(near), cell), StreamServer(server.on(far), cell)


def run(pattern: str, options: dict[str, Any]) -> tuple[Side, Side]:
    """Runs batches between a client and a server; raises what either finds wrong."""
    cell = read_cell(
        {
            "pattern": pattern,
            "transport": "socketpair",
            "size": SIZE,
            "reply": SIZE,
            "concurrency": 1,
            "speaks_first": "client",
            "options": options,
        }
    )
    client, server, turns = Side(), Side(), Turns()
    at_client, at_server = workers(cell, client, server, turns)
    failures: list[Exception] = []

    def serve(order: Order) -> None:
        try:
            at_server.run(order)
        except Exception as error:
            failures.append(error)
            server.close()

    for kind in KINDS:
        turns.start(OPS)
        serving = threading.Thread(target=serve, args=[Order(OPS, kind)])
        serving.start()
        at_client.run(Order(OPS, kind))
        serving.join()
        if failures:
            raise failures[0]
    client.close()
    server.close()
    return client, server


class Buffers(unittest.TestCase):
    def test_every_buffer_begins_where_the_cell_asks(self) -> None:
        for pattern, options in SHAPES:
            for send, receive in ((0, 16), (16, 4095), (4095, 1)):
                for touch in ("none", "every-byte"):
                    with self.subTest(pattern=pattern, options=options, send=send, receive=receive, touch=touch):
                        placed = {"send_offset": send, "recv_offset": receive, "touch": touch}
                        client, server = run(pattern, {**options, **placed})
                        self.assertEqual((client.send_offsets, server.first_recv_offset), ({send}, receive))
                        if pattern != "stream":
                            self.assertEqual((server.send_offsets, client.first_recv_offset), ({send}, receive))

    def test_touch_changes_every_byte_of_timed_messages_alone(self) -> None:
        for pattern, options in SHAPES:
            with self.subTest(pattern=pattern, options=options):
                plain, touched = run(pattern, options), run(pattern, {**options, "touch": "every-byte"})
                for before, after in zip(plain, touched):
                    if len(before.sent) < len(KINDS) * OPS:
                        continue  # A stream's server sends one byte a batch.
                    self.assertEqual(len(set(before.sent[TIMED])), 1)
                    self.assert_changes(after.sent[TIMED], ending=before.sent[0][SIZE:])
                    del before.sent[TIMED], after.sent[TIMED]
                    self.assertEqual(before.sent, after.sent)

    def test_touch_reads_every_byte_of_timed_messages_alone(self) -> None:
        touch = Touch(most_received=8)
        touch.read(memoryview(b"12345678"), 5)
        self.assertEqual(bytes(touch._elsewhere), b"12345\0\0\0")
        for pattern, options in SHAPES:
            with self.subTest(pattern=pattern, options=options), mock.patch.object(Touch, "read") as read:
                client, server = run(pattern, {**options, "touch": "every-byte"})
                timed = client.sent[TIMED] + server.sent[TIMED]
                self.assertEqual(sum(call.args[1] for call in read.call_args_list), sum(map(len, timed)))

    def assert_changes(self, messages: list[bytes], ending: bytes) -> None:
        for one, other in zip(messages, messages[1:]):
            self.assertTrue(all(a != b for a, b in zip(one[:SIZE], other[:SIZE])))
        for message in messages:
            self.assertNotIn(b"\n", message[:SIZE])
            self.assertEqual(message[SIZE:], ending)


if __name__ == "__main__":
    unittest.main()
