"""A worker's buffers, and how the option touch writes and reads them."""

from __future__ import annotations

import mmap
from itertools import cycle
from typing import Optional, Union

from .cell import Cell
from .transport import Channel

Outgoing = Union[bytes, memoryview]


def outgoing(content: bytes, cell: Cell) -> Outgoing:
    """What to send payload from: plain bytes, unless the cell asks for a place or for changing content."""
    if cell.send_offset is None and not cell.touches and not cell.stamps:
        return content
    return with_content(_buffer(len(content), cell.send_offset), content)


def incoming(size: int, cell: Cell) -> memoryview:
    """A buffer to receive payload into."""
    return _buffer(size, cell.recv_offset)


def with_content(buffer: Outgoing, content: bytes) -> Outgoing:
    """The buffer with other content; bytes cannot change, so the content itself takes their place."""
    if isinstance(buffer, bytes):
        return content
    buffer[:] = content
    return buffer


def _buffer(size: int, offset: Optional[int]) -> memoryview:
    """A buffer that begins that many bytes after the start of a page, or wherever Python puts it."""
    if offset is None:
        return memoryview(bytearray(size))
    # A mapping begins on a page and never moves.
    room = mmap.mmap(-1, offset + size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANON)
    buffer = memoryview(room)[offset:]
    # Its pages exist from now on, not from the first operation.
    buffer[:] = bytes(size)
    return buffer


class Touch:
    """The option touch: writes every byte that one worker sends, and reads every byte that it receives.

    The fastest way to do either in Python is a copy: from content prepared earlier, and to memory that is never read.
    """

    def __init__(self, message: Outgoing = b"", most_received: int = 0) -> None:
        self._message = message
        # The content changes from one message to the next, and contains no newline.
        self._contents = cycle([b"c" * len(message), b"d" * len(message)])
        self._elsewhere = memoryview(bytearray(most_received))

    def write(self) -> None:
        self._message[:] = next(self._contents)

    def read(self, buffer: memoryview, count: int) -> None:
        self._elsewhere[:count] = buffer[:count]


class TouchingChannel:
    """A channel that writes every byte before it sends it, and reads every byte after it received it."""

    def __init__(self, channel: Channel, touch: Touch) -> None:
        self._sendall = channel.sendall
        self._recv_into = channel.recv_into
        self._touch = touch
        self.close = channel.close

    def sendall(self, data: Outgoing) -> None:
        self._touch.write()
        self._sendall(data)

    def recv_into(self, buffer: memoryview) -> int:
        count = self._recv_into(buffer)
        self._touch.read(buffer, count)
        return count
