"""What ends a peer."""


class PeerError(Exception):
    """What failed and where; its text becomes the protocol's error message."""


class OtherSideClosed(PeerError):
    """The stream ended in the middle of a message."""

    def __init__(self) -> None:
        super().__init__("the other side closed the connection")


def in_operation(operation: int, ops: int, error: Exception) -> PeerError:
    """Adds where something failed; operations are counted from 0 here."""
    return PeerError(f"in operation {operation + 1} of {ops}: {error}")


class EndOfInput(Exception):
    """Standard input has ended: the engine is done with this peer, or has died."""
