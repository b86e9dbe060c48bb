"""The payload that is checked: byte i of message m is (m + i) mod 251."""

from __future__ import annotations

from .errors import PeerError

_PERIOD = 251
_NEWLINE = 10
# Replaces a byte that would end a message too early; the pattern otherwise never contains it.
_STAND_IN = 251

_ONE_PERIOD = bytes(range(_PERIOD))


def message_bytes(message: int, size: int, newline_ends: bool = False) -> bytes:
    """Message number `message`, without the newline that may end it."""
    start = message % _PERIOD
    periods = (start + size) // _PERIOD + 1
    content = (_ONE_PERIOD * periods)[start : start + size]
    return content.replace(bytes([_NEWLINE]), bytes([_STAND_IN])) if newline_ends else content


def check(found: memoryview, expected: memoryview, message: int, offset: int = 0) -> None:
    """Reports the first byte that differs; the bytes begin at byte number `offset` of the message."""
    if found == expected:
        return
    for index, (one, other) in enumerate(zip(found, expected), offset):
        if one != other:
            raise PeerError(f"payload mismatch: byte {index} of message {message} is {one}, not {other}")
    raise PeerError(
        f"payload mismatch: message {message} has {offset + len(found)} bytes, not {offset + len(expected)}"
    )
