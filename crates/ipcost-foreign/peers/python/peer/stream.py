"""Pattern stream: messages one way, and one byte back when all have arrived."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from time import monotonic_ns

from .arrivals import Arrivals
from .buffers import Touch, TouchingChannel, incoming, outgoing, with_content
from .cell import Cell
from .errors import OtherSideClosed, PeerError, in_operation
from .keeping import first_counted, operations_of
from .pace import STAMP
from .payload import check, message_bytes
from .transport import Channel
from .work import Kind, Order, RepeatedWork, Report, Work, receive_all


class StreamClient(RepeatedWork):
    """Sends messages and waits for one byte when all have arrived."""

    def __init__(self, channel: Channel, cell: Cell) -> None:
        self._size = cell.size
        self._channel = channel
        self._message = outgoing(b"a" * cell.size, cell)
        self._touch = Touch(self._message) if cell.touches else None
        self._sendall = TouchingChannel(channel, self._touch).sendall if cell.touches else channel.sendall
        self._answer = memoryview(bytearray(1))

    def run(self, order: Order) -> Report:
        if order.kind is Kind.METERED:
            # The sender does not see when a message arrives, so it has no latency.
            order = replace(order, kind=Kind.TIMED)
        report = super().run(order)
        report.sent_at_ns = report.ended_ns
        try:
            receive_all(self._channel.recv_into, self._answer)
        except (OSError, PeerError) as error:
            raise in_operation(order.ops - 1, order.ops, error) from error
        report.ended_ns = monotonic_ns()
        return report

    def operate(self) -> None:
        self._sendall(self._message)

    def operate_since(self, since_ns: int) -> None:
        if self._touch is not None:
            self._touch.write()
        STAMP.pack_into(self._message, 0, since_ns)
        self._channel.sendall(self._message)

    def operate_checked(self, message: int) -> None:
        self._channel.sendall(with_content(self._message, message_bytes(message, self._size)))

    def close(self) -> None:
        self._channel.close()


class StreamServer(Work):
    """Receives, and answers one byte at the end."""

    def __init__(self, channel: Channel, cell: Cell) -> None:
        self._size = cell.size
        self._channel = channel
        self._sendall = channel.sendall
        self._buffer = incoming(cell.recv_buffer, cell)
        self._is_open = cell.pace is not None and cell.pace.is_open
        self._touch = Touch(most_received=cell.recv_buffer) if cell.touches else None
        if cell.touches:
            channel = TouchingChannel(channel, self._touch)
        self._recv_into = channel.recv_into
        self._received = 0

    def run(self, order: Order) -> Report:
        receive = self._receive_checked if order.kind is Kind.VERIFIED else self._receive
        arrivals = None
        if order.kind is Kind.PACED:
            arrivals = Arrivals(self._size, order.ops)
            receive = partial(self._receive_stamped, arrivals)
        self._received = 0
        began_ns = monotonic_ns()
        try:
            receive(order.ops)
            self._sendall(b"b")
        except (OSError, PeerError) as error:
            operation = min(self._received // self._size, order.ops - 1)
            raise in_operation(operation, order.ops, error) from error
        report = Report(began_ns, monotonic_ns())
        if arrivals is not None:
            report.latency_ns = arrivals.took_ns[first_counted(order.ops, self._is_open) :]
            report.measures = operations_of(report.latency_ns)
        return report

    def _receive_stamped(self, arrivals: Arrivals, ops: int) -> None:
        recv_into, buffer, touch = self._channel.recv_into, self._buffer, self._touch
        total = ops * self._size
        while self._received < total:
            count = recv_into(buffer)
            if not count:
                raise OtherSideClosed
            if self._received + count > total:
                raise PeerError(f"{self._received + count} bytes came, and {total} were agreed on")
            arrivals.note(buffer, count)
            if touch is not None:
                touch.read(buffer, count)
            self._received += count

    def _receive(self, ops: int) -> None:
        recv_into, buffer = self._recv_into, self._buffer
        total = ops * self._size
        received = 0
        # The client waits for the answer before it sends more, so the last read cannot take too much.
        while received < total:
            count = recv_into(buffer)
            if not count:
                self._received = received
                raise OtherSideClosed
            received += count
        if received > total:
            raise PeerError(f"{received} bytes came, and {total} were agreed on")

    def _receive_checked(self, ops: int) -> None:
        for message in range(ops):
            expected = memoryview(message_bytes(message, self._size))
            offset = 0
            while offset < self._size:
                chunk = self._buffer[: self._size - offset]
                count = self._channel.recv_into(chunk)
                if not count:
                    raise OtherSideClosed
                check(chunk[:count], expected[offset : offset + count], message, offset)
                offset += count
                self._received += count
