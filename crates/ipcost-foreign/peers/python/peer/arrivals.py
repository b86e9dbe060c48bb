"""How long the messages of a stream took that carry when they were sent."""

from __future__ import annotations

from array import array

from .errors import PeerError
from .keeping import monotonic_ns
from .pace import STAMP


class Arrivals:
    """The messages of one worker's batch as they arrive, whole or in parts."""

    def __init__(self, size: int, messages: int) -> None:
        self.took_ns = array("Q", bytes(8 * messages))
        self._size = size
        # How many messages are complete, and how many bytes of the next one are here.
        self._complete = 0
        self._index = 0
        self._stamp = bytearray(STAMP.size)

    def note(self, buffer: memoryview, count: int) -> None:
        """Takes the first `count` bytes as received now."""
        now_ns = monotonic_ns()
        size = self._size
        at = 0
        while at < count:
            index = self._index
            part = min(size - index, count - at)
            if part == size:
                (sent_ns,) = STAMP.unpack_from(buffer, at)
            else:
                if index < STAMP.size:
                    piece = buffer[at : at + min(STAMP.size - index, part)]
                    self._stamp[index : index + len(piece)] = piece
                (sent_ns,) = STAMP.unpack(self._stamp)
            at += part
            self._index = (index + part) % size
            if not self._index:
                self._complete_one(now_ns - sent_ns)

    def _complete_one(self, took_ns: int) -> None:
        if took_ns < 0:
            raise PeerError(
                f"the message arrived {-took_ns} ns before it was sent: the two processes have different clocks, "
                "so how long it took is not known"
            )
        self.took_ns[self._complete] = took_ns
        self._complete += 1
