"""The peer's side of the control protocol: lines from standard input and to standard output."""

from __future__ import annotations

import json
import os
import select
from typing import Any, Optional

from .errors import EndOfInput, PeerError

_STDIN = 0
_STDOUT = 1
_MOST_LINE_BYTES = 4 << 20
_CHUNK_BYTES = 65_536


class ControlInput:
    """Lines from standard input.

    It is read here, not in a thread: a single-threaded process does not have to share the interpreter or its
    descriptors.
    """

    def __init__(self) -> None:
        self._buffer = bytearray()

    def has_line(self) -> bool:
        return b"\n" in self._buffer

    def line(self) -> bytes:
        """The next line without its newline; raises EndOfInput at the end."""
        while not self.has_line():
            self.fill()
        line, _, self._buffer = self._buffer.partition(b"\n")
        return bytes(line)

    def fill(self) -> None:
        """Waits for input and takes what has arrived."""
        if len(self._buffer) > _MOST_LINE_BYTES:
            raise PeerError("protocol: a line is too long")
        chunk = os.read(_STDIN, _CHUNK_BYTES)
        if not chunk:
            raise EndOfInput
        self._buffer += chunk

    def wait_beside(self, descriptor: Optional[int] = None, timeout_ms: Optional[int] = None) -> bool:
        """Waits until input or the other descriptor is readable; returns whether it is the input."""
        poll = select.poll()
        poll.register(_STDIN, select.POLLIN)
        if descriptor is not None:
            poll.register(descriptor, select.POLLIN)
        return any(ready == _STDIN for ready, _ in poll.poll(timeout_ms))


def say(message: dict[str, Any]) -> None:
    """Writes one line."""
    line = json.dumps(message).encode() + b"\n"
    while line:
        line = line[os.write(_STDOUT, line) :]
