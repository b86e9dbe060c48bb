"""The control protocol from the peer's side: one role, one cell, many batches."""

from __future__ import annotations

import json
import os
import platform
import signal
from array import array
from dataclasses import asdict, replace
from functools import partial
from typing import Any, Iterator, Optional

from .cell import OPTIONS, PATTERNS, ROLES, Cell, read_cell
from .connect import ConnectClient, ConnectServer, Turns
from .control import ControlInput, say
from .crew import Crew, Processes, Together, crew_within
from .errors import EndOfInput, PeerError
from .pipes import Fifo, Pipe
from .rr import RrClient, RrServer
from .sockets import Socketpair, Unix, UnixAbstract
from .stream import StreamClient, StreamServer
from .system import end_with_parent
from .tcp import Tcp, Tcp6
from .transport import Address, Channel, Effective, Server, Transport
from .work import Kind, Order, Work

_PROTOCOL = 1
_VERSION = "0.1.0"
_OPERATIONS = range(1, 1 << 63)
_MOST_LATENCY_VALUES = 10_000
# How long a client waits before it looks again for a server that does not exist yet.
_PAUSE_MS = 1

# Every transport, in the order of tables.
_TRANSPORTS: dict[str, Transport] = {
    "pipe": Pipe(),
    "fifo": Fifo(),
    "unix": Unix(),
    "unix-abstract": UnixAbstract(),
    "socketpair": Socketpair(),
    "tcp": Tcp(),
    "tcp6": Tcp6(),
}


def main() -> None:
    """Runs the peer on standard input and output until told to stop or its input ends."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    end_with_parent()
    session = Session()
    status = 0
    try:
        session.converse()
    except EndOfInput:
        pass
    except Exception as error:  # the engine must hear of any error, in one line
        status = 1
        _say_error(error)
    session.close()
    # Exits without waiting for worker threads, which may wait for ever.
    os._exit(status)


def _say_error(error: Exception) -> None:
    known = isinstance(error, (PeerError, OSError))
    try:
        say({"type": "error", "message": str(error) if known else repr(error)})
    except OSError:
        # The engine is gone; no one reads this.
        pass


class Session:
    """A conversation with the engine."""

    def __init__(self) -> None:
        self._input = ControlInput()
        self._role = ""
        self._cell: Optional[Cell] = None
        # A server that still waits for channels, with those that it has.
        self._gathering: Optional[tuple[Server, list[Channel]]] = None
        self._crew: Optional[Crew] = None
        # In pattern connect, what the server's workers share.
        self._turns: Optional[Turns] = None

    def close(self) -> None:
        """Ends what does not end with this process."""
        if self._crew is not None:
            self._crew.close()

    def converse(self) -> None:
        """Answers the engine until it says stop; raises EndOfInput if its messages end without that."""
        say(_hello())
        while True:
            message = _read_message(self._next_line())
            kind = message.get("type")
            if kind == "stop":
                return
            if kind == "prepare":
                self._prepare(message)
            elif kind in ("batch", "verify"):
                self._batch(message)
            else:
                raise PeerError(f"protocol: there is no message of type {kind!r}")

    def _next_line(self) -> bytes:
        """Accepts channels until a control line arrives."""
        while self._gathering is not None and not self._input.has_line():
            self._gather()
        return self._input.line()

    def _gather(self) -> None:
        """Waits for one more channel, or for input."""
        assert self._cell is not None and self._gathering is not None
        server, channels = self._gathering
        descriptor = server.fileno()
        if descriptor is not None and self._input.wait_beside(descriptor):
            self._input.fill()
            return
        channels.append(server.accept())
        if len(channels) == self._cell.concurrency:
            worker = RrServer if self._cell.pattern == "rr" else StreamServer
            self._crew = crew_within([worker(channel, self._cell) for channel in channels])
            self._gathering = None

    def _prepare(self, message: dict[str, Any]) -> None:
        if self._cell is not None:
            raise PeerError("protocol: prepared twice")
        self._role = message.get("role", "")
        if self._role not in ROLES:
            raise PeerError(f"protocol: there is no role {self._role!r}")
        self._cell = read_cell(message.get("cell"))
        transport = _find_transport(self._cell)
        address = message.get("address")
        if not isinstance(address, dict):
            raise PeerError(f"protocol: an address must be an object, not {address!r}")
        if self._role == "client":
            self._prepare_client(self._cell, transport, address)
        else:
            self._prepare_server(self._cell, transport, address)

    def _prepare_client(self, cell: Cell, transport: Transport, address: Address) -> None:
        effective: Effective = {}
        works = self._client_works(cell, transport, address, effective)
        self._crew = Processes(works) if cell.processes else crew_within(list(works))
        _say_ready({}, effective)

    def _client_works(self, cell: Cell, transport: Transport, address: Address, effective: Effective) -> Iterator[Work]:
        """A client's workers one by one: each connects, except in connect, when it is asked for."""
        for worker in range(cell.concurrency):
            client = transport.reach(address, cell, worker, self._pause)
            if cell.pattern == "connect":
                yield ConnectClient(client, cell)
                continue
            channel = client.connect()
            effective.update(client.effective)
            yield RrClient(channel, cell) if cell.pattern == "rr" else StreamClient(channel, cell)

    def _pause(self) -> None:
        if self._input.wait_beside(timeout_ms=_PAUSE_MS):
            self._input.fill()

    def _prepare_server(self, cell: Cell, transport: Transport, address: Address) -> None:
        server = transport.serve(address, cell)
        if cell.pattern == "connect":
            turns = self._turns = Turns()
            self._crew = crew_within([ConnectServer(server, turns, cell) for _ in range(cell.concurrency)])
        else:
            self._gathering = (server, [])
        _say_ready(server.address, server.effective)

    def _batch(self, message: dict[str, Any]) -> None:
        if self._cell is None:
            raise PeerError(f"protocol: {message['type']} before prepare")
        number, ops = message.get("id"), message.get("ops")
        workers = self._cell.concurrency
        seed = message.get("seed")
        if type(number) is not int:
            raise PeerError(f"protocol: a batch cannot have the id {number!r}")
        if type(ops) is not int or ops not in _OPERATIONS or ops % workers:
            raise PeerError(f"protocol: {ops!r} operations cannot be shared by {workers} workers")
        if type(seed) not in (int, type(None)):
            raise PeerError(f"protocol: a seed cannot be {seed!r}")
        # The engine has seen the client connect, so the missing channels are on their way.
        while self._gathering is not None:
            self._gather()
        assert self._crew is not None
        if self._turns is not None:
            self._turns.start(ops)
        orders = self._orders(self._cell, message)
        if self._role == "server":
            say({"type": "armed", "id": number})
        say(_done(number, ops, self._crew.run(orders)))

    def _orders(self, cell: Cell, message: dict[str, Any]) -> list[Order]:
        """What each worker does in a batch."""
        order = Order(message["ops"] // cell.concurrency, self._kind(cell, message))
        if order.kind is not Kind.PACED or self._role == "server":
            return [order] * cell.concurrency
        schedule = partial(cell.pace.schedule, order.ops, message["seed"])
        return [replace(order, schedule=schedule(worker)) for worker in range(cell.concurrency)]

    def _kind(self, cell: Cell, message: dict[str, Any]) -> Kind:
        if message["type"] == "verify":
            return Kind.VERIFIED
        if message.get("seed") is not None and cell.pace and (self._role == "client" or cell.stamps):
            return Kind.PACED
        return Kind.METERED if message.get("latency") and self._role == "client" else Kind.TIMED


def _read_message(line: bytes) -> dict[str, Any]:
    try:
        message = json.loads(line)
    except ValueError as error:
        raise PeerError(f"protocol: {error}") from None
    if not isinstance(message, dict):
        raise PeerError(f"protocol: a message must be an object, not {message!r}")
    return message


def _find_transport(cell: Cell) -> Transport:
    transport = _TRANSPORTS.get(cell.transport)
    if transport is None:
        raise PeerError(f"protocol: there is no transport {cell.transport!r}")
    if cell.pattern == "connect" and not transport.connects:
        raise PeerError(f"protocol: pattern connect needs a transport that connects, and {cell.transport} does not")
    return transport


def _hello() -> dict[str, Any]:
    return {
        "type": "hello",
        "protocol": _PROTOCOL,
        "peer": "python",
        "version": _VERSION,
        "runtime": f"{platform.python_implementation()} {platform.python_version()}",
        "roles": ROLES,
        "transports": [name for name, transport in _TRANSPORTS.items() if transport.usable()],
        "patterns": PATTERNS,
        "options": list(OPTIONS),
    }


def _say_ready(address: Address, effective: Effective) -> None:
    message: dict[str, Any] = {"type": "ready", "address": address}
    if effective:
        message["effective"] = effective
    say(message)


def _done(number: int, ops: int, together: Together) -> dict[str, Any]:
    message = {
        "type": "done",
        "id": number,
        "ops": ops,
        "wall_ns": together.wall_ns,
        "usage": asdict(together.usage),
        "latency_ns": spaced_ranks(together.latency_ns, _MOST_LATENCY_VALUES),
        "retries": together.retries,
    }
    if together.sent_ns is not None:
        message["sent_ns"] = together.sent_ns
    for name, values in (("late_ns", together.late_ns), ("send_ns", together.send_ns)):
        if values:
            message[name] = spaced_ranks(values, _MOST_LATENCY_VALUES)
    if together.measures:
        message["measures"] = together.measures
    return message


def spaced_ranks(values: array, most: int) -> list[int]:
    """The values in order; of more than `most`, evenly spaced ranks that include the largest."""
    ordered = sorted(values)
    count = len(ordered)
    if count <= most:
        return ordered
    # The rank, counted from 1, is (index + 1) * count / most, rounded up.
    return [ordered[-(-(index + 1) * count // most) - 1] for index in range(most)]
