"""Pattern rr: request and reply on an open connection."""

from __future__ import annotations

from .buffers import Touch, TouchingChannel, incoming, outgoing, with_content
from .cell import Cell
from .errors import OtherSideClosed
from .payload import check, message_bytes
from .transport import Channel
from .work import RepeatedWork, receive_all

_NEWLINE = b"\n"


class RrClient(RepeatedWork):
    """Sends a request and waits for the reply."""

    def __init__(self, channel: Channel, cell: Cell) -> None:
        self._cell = cell
        self._channel = channel
        self._ending = _NEWLINE if cell.newline_ends else b""
        self._request = outgoing(b"a" * cell.size + self._ending, cell)
        self._reply = incoming(cell.reply, cell)
        if cell.touches:
            channel = TouchingChannel(channel, Touch(self._request[: cell.size], cell.reply))
        self._sendall = channel.sendall
        self._recv_into = channel.recv_into

    def operate(self) -> None:
        self._sendall(self._request)
        receive_all(self._recv_into, self._reply)

    def operate_checked(self, message: int) -> None:
        cell = self._cell
        request = message_bytes(message, cell.size, cell.newline_ends) + self._ending
        self._channel.sendall(with_content(self._request, request))
        receive_all(self._channel.recv_into, self._reply)
        check(self._reply, memoryview(message_bytes(message, cell.reply)), message)

    def close(self) -> None:
        self._channel.close()


class RrServer(RepeatedWork):
    """Waits for a request and sends the reply."""

    def __init__(self, channel: Channel, cell: Cell) -> None:
        self._cell = cell
        self._channel = channel
        self._request = incoming(cell.server_buffer if cell.newline_ends else cell.size, cell)
        self._reply = outgoing(b"b" * cell.reply, cell)
        if cell.touches:
            channel = TouchingChannel(channel, Touch(self._reply, len(self._request)))
        self._sendall = channel.sendall
        self._recv_into = channel.recv_into
        self._receive = self._receive_line if cell.newline_ends else self._receive_request

    def operate(self) -> None:
        self._receive()
        self._sendall(self._reply)

    def operate_checked(self, message: int) -> None:
        if self._cell.newline_ends:
            self._receive_line_checked(message)
        else:
            receive_all(self._channel.recv_into, self._request)
            check(self._request, memoryview(message_bytes(message, self._cell.size)), message)
        self._channel.sendall(with_content(self._reply, message_bytes(message, self._cell.reply)))

    def _receive_request(self) -> None:
        receive_all(self._recv_into, self._request)

    def _receive_line(self) -> None:
        """Reads until the last byte read is a newline."""
        recv_into, buffer = self._recv_into, self._request
        while True:
            count = recv_into(buffer)
            if not count:
                raise OtherSideClosed
            if buffer[count - 1] == 10:
                return

    def _receive_line_checked(self, message: int) -> None:
        """As _receive_line; every chunk is checked before the next one overwrites it."""
        expected = memoryview(message_bytes(message, self._cell.size, newline_ends=True) + _NEWLINE)
        received = 0
        while received < len(expected):
            count = self._channel.recv_into(self._request)
            if not count:
                raise OtherSideClosed
            check(self._request[:count], expected[received : received + count], message, received)
            received += count
