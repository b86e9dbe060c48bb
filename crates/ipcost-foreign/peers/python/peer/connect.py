"""Pattern connect: every operation opens a connection, exchanges one message each way and closes it."""

from __future__ import annotations

import threading
from time import monotonic_ns

from .buffers import Outgoing, Touch, TouchingChannel, incoming, outgoing, with_content
from .cell import Cell
from .errors import PeerError, in_operation
from .payload import check, message_bytes
from .transport import Channel, Client, Server
from .work import Kind, Order, RepeatedWork, Report, Work, receive_all, receive_end


class ConnectClient(RepeatedWork):
    """Connects, speaks and closes."""

    def __init__(self, client: Client, cell: Cell) -> None:
        self._cell = cell
        self._client = client
        self._request = outgoing(b"a" * cell.size, cell)
        self._reply = incoming(cell.reply, cell)
        self._one_byte = memoryview(bytearray(1))
        self._touch = Touch(self._request, cell.reply) if cell.touches else None
        self._connect = self._connect_touching if cell.touches else client.connect

    def run(self, order: Order) -> Report:
        retries = self._client.retries
        report = super().run(order)
        report.retries = self._client.retries - retries
        return report

    def operate(self) -> None:
        channel = self._connect()
        self._converse(channel, self._request)
        channel.close()

    def _connect_touching(self) -> Channel:
        return TouchingChannel(self._client.connect(), self._touch)

    def operate_checked(self, message: int) -> None:
        # Each connection numbers its own messages, so this is number 0.
        channel = self._client.connect()
        self._converse(channel, with_content(self._request, message_bytes(0, self._cell.size)))
        channel.close()
        check(self._reply, memoryview(message_bytes(0, self._cell.reply)), 0)

    def _converse(self, channel: Channel, request: Outgoing) -> None:
        if self._cell.client_speaks_first:
            channel.sendall(request)
        receive_all(channel.recv_into, self._reply)
        if self._cell.closes_first == "server":
            receive_end(channel.recv_into, self._one_byte)


class Turns:
    """The connections of a batch that no worker has claimed yet."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._left = 0

    def start(self, ops: int) -> None:
        """Offers `ops` connections."""
        self._left = ops

    def claim(self) -> bool:
        """Takes a connection, if one is left."""
        with self._lock:
            self._left -= 1
            return self._left >= 0


class ConnectServer(Work):
    """Accepts, answers and closes. Workers share the listener and take turns as connections come."""

    def __init__(self, server: Server, turns: Turns, cell: Cell) -> None:
        self._cell = cell
        self._server = server
        self._turns = turns
        self._request = incoming(cell.size, cell)
        self._reply = outgoing(b"b" * cell.reply, cell)
        self._one_byte = memoryview(bytearray(1))
        self._touch = Touch(self._reply, cell.size) if cell.touches else None

    def run(self, order: Order) -> Report:
        claim, accept, visit = self._turns.claim, self._server.accept, self._visit
        if order.kind is Kind.VERIFIED:
            visit = self._visit_checked
        elif self._touch is not None:
            accept = self._accept_touching
        done = 0
        began_ns = monotonic_ns()
        try:
            while claim():
                channel = accept()
                visit(channel)
                channel.close()
                done += 1
        except (OSError, PeerError) as error:
            raise in_operation(done, order.ops, error) from error
        return Report(began_ns, monotonic_ns())

    def _accept_touching(self) -> Channel:
        return TouchingChannel(self._server.accept(), self._touch)

    def _visit(self, channel: Channel) -> None:
        if self._cell.client_speaks_first:
            receive_all(channel.recv_into, self._request)
        self._answer(channel, self._reply)

    def _visit_checked(self, channel: Channel) -> None:
        if self._cell.client_speaks_first:
            receive_all(channel.recv_into, self._request)
            check(self._request, memoryview(message_bytes(0, self._cell.size)), 0)
        self._answer(channel, with_content(self._reply, message_bytes(0, self._cell.reply)))

    def _answer(self, channel: Channel, reply: Outgoing) -> None:
        channel.sendall(reply)
        if self._cell.closes_first == "client":
            receive_end(channel.recv_into, self._one_byte)
