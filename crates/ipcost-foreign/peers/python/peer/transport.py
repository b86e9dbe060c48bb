"""The contract of a transport: how bytes travel between the two processes.

Its abilities are data, and no other module depends on its name. A server accepts channels, a client connects them.
"""

from __future__ import annotations

import os
from typing import Any, Callable, Dict, Optional, Protocol, Union

from .cell import Cell
from .errors import PeerError

Address = Dict[str, Any]
Effective = Dict[str, int]
# Waits a moment for the other side; raises EndOfInput if the engine goes away meanwhile.
Pause = Callable[[], None]


class Channel(Protocol):
    """A two-way stream of bytes. Sockets are channels as they are, and all others look like them."""

    def sendall(self, data: Union[bytes, memoryview]) -> None:
        """Sends all of the bytes."""

    def recv_into(self, buffer: memoryview) -> int:
        """Receives some bytes; returns how many, 0 at the end."""

    def close(self) -> None:
        """Closes both directions."""


class Server(Protocol):
    """The server's end of a cell."""

    address: Address
    effective: Effective

    def accept(self) -> Channel:
        """Waits for the next channel; several workers may call it at once."""

    def fileno(self) -> Optional[int]:
        """Readable when a channel is ready; None if all of them are from the start."""


class Client(Protocol):
    """One worker's end of a cell."""

    # Known once connected.
    effective: Effective
    # Attempts repeated because the listener's queue was full.
    retries: int

    def connect(self) -> Channel:
        """Opens a channel."""


class Transport:
    """How bytes travel."""

    # Whether connections can be opened at any time, as pattern connect needs.
    connects = True

    def usable(self) -> bool:
        """Whether it works on this machine."""
        return True

    def serve(self, address: Address, cell: Cell) -> Server:
        """Sets up the server's end."""
        raise NotImplementedError

    def reach(self, address: Address, cell: Cell, worker: int, pause: Pause) -> Client:
        """Sets up the end of one of the client's workers, counted from 0; connects nothing yet."""
        raise NotImplementedError


class OpenServer:
    """A server whose channels are open from the start."""

    def __init__(self, address: Address, channels: list[Channel], effective: Effective) -> None:
        self.address = address
        self.effective = effective
        self._channels = iter(channels)

    def accept(self) -> Channel:
        return next(self._channels)

    def fileno(self) -> Optional[int]:
        return None


class OpenClient:
    """A client whose channel is open from the start."""

    def __init__(self, channel: Channel) -> None:
        self.effective: Effective = {}
        self.retries = 0
        self._channel = channel

    def connect(self) -> Channel:
        return self._channel


def address_of(address: Address, worker: int) -> Address:
    """A worker's address if each has its own: the object itself, then those under "more"."""
    try:
        own = address if worker == 0 else address["more"][worker - 1]
    except (KeyError, IndexError, TypeError):
        raise PeerError(f"the address names no channel for worker {worker + 1}") from None
    if not isinstance(own, dict):
        raise PeerError(f"an address must be an object, not {own!r}")
    return own


def text_in(address: Address, name: str) -> str:
    """A field that is text."""
    value = address.get(name)
    if not isinstance(value, str) or not value:
        raise PeerError(f"{name} in the address must be text, not {value!r}")
    return value


def number_in(address: Address, name: str) -> int:
    """A field that is a whole number."""
    value = address.get(name)
    if type(value) is not int:
        raise PeerError(f"{name} in the address must be a whole number, not {value!r}")
    return value


def inherited(descriptor: int, is_expected: Callable[[int], bool]) -> int:
    """Refuses a descriptor that this process has not inherited, or of another type."""
    try:
        expected = descriptor > 2 and is_expected(os.fstat(descriptor).st_mode)
    except OSError as error:
        raise PeerError(f"descriptor {descriptor} was to be inherited: {error}") from error
    if not expected:
        raise PeerError(f"descriptor {descriptor} is not what the address says")
    return descriptor
