"""tcp and tcp6: TCP over a loopback address."""

from __future__ import annotations

import errno
import ipaddress
import os
import socket

from .cell import Cell
from .errors import PeerError
from .sockets import Listener, Preparation, SocketClient, buffers, listen
from .system import ON_LINUX, bind_without_port
from .transport import Address, Client, Pause, Server, Transport, number_in, text_in


class Tcp(Transport):
    """TCP over IPv4's loopback."""

    family = socket.AF_INET
    loopback = "127.0.0.1"

    def usable(self) -> bool:
        try:
            with socket.socket(self.family) as probe:
                probe.bind((self.loopback, 0))
        except OSError:
            return False
        return True

    def serve(self, address: Address, cell: Cell) -> Server:
        # Accepted connections inherit all of this.
        listener = listen(self.family, _loopback(address), cell, [_reuse_address, *_nodelay(cell), *buffers(cell)])
        host, port = listener.getsockname()[:2]
        return Listener(listener, {"host": host, "port": port}, cell)

    def reach(self, address: Address, cell: Cell, worker: int, pause: Pause) -> Client:
        prepare = [*_nodelay(cell), *buffers(cell)]
        if self.spreads(cell):
            return SpreadingClient(_loopback(address), cell, prepare, Sources(worker))
        return SocketClient(self.family, _loopback(address), cell, prepare)

    def spreads(self, cell: Cell) -> bool:
        """Whether to connect from addresses all over 127.0.0.0/8, all of which work on Linux."""
        if cell.spread_sources and not ON_LINUX:
            raise PeerError("spread_sources=true cannot be followed on this system")
        return ON_LINUX and cell.pattern == "connect" and cell.spread_sources is not False


class Tcp6(Tcp):
    """TCP over IPv6's loopback, which has only one address."""

    family = socket.AF_INET6
    loopback = "::1"

    def spreads(self, cell: Cell) -> bool:
        return False


# Connections from one source address before the next one's turn: far fewer than it has ports.
_USES_OF_SOURCE = 256
# How many in a row may run out of ports before that is an error.
_MOST_SOURCES_TRIED = 16
# 127.0.0.0/16 is excluded, since other services listen there.
_FIRST_SOURCE = int(ipaddress.IPv4Address("127.1.0.0"))
_SOURCES = 0x00FF_0000


class Sources:
    """Source addresses for ever; workers and processes start far apart, so that they seldom meet.

    Two addresses and two ports identify a connection. Towards one listener, one source address has about 28 000 ports,
    and if this side closes first, each stays in use for a minute.
    """

    def __init__(self, worker: int) -> None:
        self._number = (os.getpid() * 0x9E37_79B9) ^ (worker * 0x85EB_CA6B)
        self.advance()

    def next(self) -> str:
        """The address of the next connection."""
        if self._uses_left == 0:
            self.advance()
        self._uses_left -= 1
        return self._address

    def advance(self) -> None:
        """Moves on to the next address."""
        self._number = (self._number + 1) % _SOURCES
        self._address = str(ipaddress.IPv4Address(_FIRST_SOURCE + self._number))
        self._uses_left = _USES_OF_SOURCE


class SpreadingClient(SocketClient):
    """A client that connects from many addresses."""

    def __init__(self, to: tuple[str, int], cell: Cell, prepare: list[Preparation], sources: Sources) -> None:
        super().__init__(socket.AF_INET, to, cell, [*prepare, self._bind])
        self._sources = sources

    def _bind(self, connection: socket.socket) -> None:
        bind_without_port(connection, self._sources.next())

    def open(self) -> socket.socket:
        for _ in range(_MOST_SOURCES_TRIED):
            try:
                return super().open()
            except OSError as error:
                if error.errno != errno.EADDRNOTAVAIL:
                    raise
                # The next source has its own ports.
                self._sources.advance()
        return super().open()


def _loopback(address: Address) -> tuple[str, int]:
    """Refuses any address outside loopback: nothing is ever measured, or offered, beyond it."""
    host, port = text_in(address, "host"), number_in(address, "port")
    try:
        on_loopback = ipaddress.ip_address(host).is_loopback
    except ValueError:
        on_loopback = False
    if not on_loopback or port not in range(65_536):
        raise PeerError(f"{host!r} with port {port} is not a loopback address")
    return host, port


def _reuse_address(connection: socket.socket) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)


def _nodelay(cell: Cell) -> list[Preparation]:
    return [_set_nodelay] if cell.tcp_nodelay else []


def _set_nodelay(connection: socket.socket) -> None:
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
