"""socketpair, unix and unix-abstract, and the common parts of all sockets."""

from __future__ import annotations

import errno
import socket
import stat
import time
from typing import Any, Callable

from .cell import Cell
from .errors import PeerError
from .system import ON_LINUX, buffer_size
from .transport import (
    Address,
    Channel,
    Client,
    Effective,
    OpenClient,
    OpenServer,
    Pause,
    Server,
    Transport,
    address_of,
    inherited,
    number_in,
    text_in,
)

# Options to set on a socket before its use.
Preparation = Callable[[socket.socket], None]


class Socketpair(Transport):
    """A pair of connected Unix sockets created by the engine."""

    connects = False

    def serve(self, address: Address, cell: Cell) -> Server:
        return OpenServer(address, [_end(address, worker) for worker in range(cell.concurrency)], {})

    def reach(self, address: Address, cell: Cell, worker: int, pause: Pause) -> Client:
        return OpenClient(_end(address, worker))


def _end(address: Address, worker: int) -> Channel:
    return socket.socket(fileno=inherited(number_in(address_of(address, worker), "fd"), stat.S_ISSOCK))


class Listener:
    """A server that accepts connections."""

    def __init__(self, listener: socket.socket, address: Address, cell: Cell) -> None:
        self.address = address
        self.effective = _buffer_sizes(listener, cell)
        self.fileno = listener.fileno
        self._accept = listener.accept

    def accept(self) -> Channel:
        return self.accept_socket()

    def accept_socket(self) -> socket.socket:
        while True:
            try:
                return self._accept()[0]
            except ConnectionAbortedError:
                continue


class PreparingListener(Listener):
    """A server whose connections do not inherit the listener's options."""

    def __init__(self, listener: socket.socket, address: Address, cell: Cell, prepare: list[Preparation]) -> None:
        super().__init__(listener, address, cell)
        self._prepare = prepare

    def accept(self) -> Channel:
        connection = self.accept_socket()
        for prepare in self._prepare:
            prepare(connection)
        return connection


class SocketClient:
    """A client that opens connections."""

    def __init__(self, family: int, to: Any, cell: Cell, prepare: list[Preparation]) -> None:
        self.effective: Effective = {}
        self.retries = 0
        self._family = family
        self._to = to
        self._cell = cell
        self._prepare = prepare

    def connect(self) -> Channel:
        try:
            connection = self.open()
        except OSError as error:
            raise PeerError(f"cannot connect to {self._to!r}: {error}{_way_out(error)}") from error
        if self._cell.pattern != "connect":
            self.effective = _buffer_sizes(connection, self._cell)
        return connection

    def open(self) -> socket.socket:
        """A connected socket."""
        connection = socket.socket(self._family, socket.SOCK_STREAM)
        for prepare in self._prepare:
            prepare(connection)
        # Unix sockets answer EAGAIN while the listener's queue is full.
        while True:
            try:
                connection.connect(self._to)
                return connection
            except BlockingIOError:
                self.retries += 1
                time.sleep(0)


def _way_out(error: OSError) -> str:
    if error.errno != errno.EADDRNOTAVAIL:
        return ""
    return (
        ": no local port is left: all are in use or in TIME_WAIT; let the server close first (closes_first=server), "
        "or spread sources (spread_sources=true, over tcp)"
    )


class Unix(Transport):
    """A stream socket bound to a path."""

    def serve(self, address: Address, cell: Cell) -> Server:
        path = text_in(address, "path")
        return _serve_unix(path, {"path": path}, cell)

    def reach(self, address: Address, cell: Cell, worker: int, pause: Pause) -> Client:
        return SocketClient(socket.AF_UNIX, text_in(address, "path"), cell, buffers(cell))


class UnixAbstract(Transport):
    """A stream socket with a name outside the file system."""

    def usable(self) -> bool:
        return ON_LINUX

    def serve(self, address: Address, cell: Cell) -> Server:
        name = text_in(address, "name")
        return _serve_unix("\0" + name, {"name": name}, cell)

    def reach(self, address: Address, cell: Cell, worker: int, pause: Pause) -> Client:
        return SocketClient(socket.AF_UNIX, "\0" + text_in(address, "name"), cell, buffers(cell))


def _serve_unix(at: str, address: Address, cell: Cell) -> Server:
    prepare = buffers(cell)
    listener = listen(socket.AF_UNIX, at, cell, prepare)
    if prepare:
        return PreparingListener(listener, address, cell, prepare)
    return Listener(listener, address, cell)


def listen(family: int, at: Any, cell: Cell, prepare: list[Preparation]) -> socket.socket:
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        for one in prepare:
            one(listener)
        listener.bind(at)
        listener.listen(cell.backlog)
    except OSError as error:
        raise PeerError(f"cannot listen on {at!r}: {error}") from error
    return listener


def buffers(cell: Cell) -> list[Preparation]:
    """Sets what the cell asks for; before connecting, since TCP fixes then how large a window may grow."""
    if cell.so_sndbuf is None and cell.so_rcvbuf is None:
        return []

    def set_buffers(connection: socket.socket) -> None:
        if cell.so_sndbuf is not None:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, cell.so_sndbuf)
        if cell.so_rcvbuf is not None:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, cell.so_rcvbuf)

    return [set_buffers]


def _buffer_sizes(connection: socket.socket, cell: Cell) -> Effective:
    """Effective sizes of the buffers that the cell asks for."""
    effective: Effective = {}
    if cell.so_sndbuf is not None:
        effective["so_sndbuf"] = buffer_size(connection, socket.SO_SNDBUF)
    if cell.so_rcvbuf is not None:
        effective["so_rcvbuf"] = buffer_size(connection, socket.SO_RCVBUF)
    return effective
