"""pipe and fifo: a pair of pipes, anonymous or named, one for each direction."""

from __future__ import annotations

import errno
import os
import stat
from typing import Callable, Union

from .cell import Cell
from .errors import PeerError
from .system import set_pipe_size
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


class PipePair:
    """One descriptor for each direction, unbuffered."""

    def __init__(self, read: int, write: int) -> None:
        self._reader = open(read, "rb", buffering=0)
        self._writer = open(write, "wb", buffering=0)
        self.recv_into: Callable[[memoryview], int] = self._reader.readinto

    def sendall(self, data: Union[bytes, memoryview]) -> None:
        sent = self._writer.write(data)
        while sent < len(data):
            sent += self._writer.write(memoryview(data)[sent:])

    def close(self) -> None:
        self._writer.close()
        self._reader.close()


class Pipe(Transport):
    """A pair of anonymous pipes created by the engine."""

    connects = False

    def serve(self, address: Address, cell: Cell) -> Server:
        return OpenServer(address, [_pipes(address, worker) for worker in range(cell.concurrency)], {})

    def reach(self, address: Address, cell: Cell, worker: int, pause: Pause) -> Client:
        return OpenClient(_pipes(address, worker))


def _pipes(address: Address, worker: int) -> Channel:
    ends = address_of(address, worker)
    return PipePair(
        inherited(number_in(ends, "read_fd"), stat.S_ISFIFO),
        inherited(number_in(ends, "write_fd"), stat.S_ISFIFO),
    )


class Fifo(Transport):
    """A pair of named pipes.

    Opening one waits for the other side, unless one briefly holds it open both ways: the server opens both of its ends
    this way before it is ready, and the client the end it reads from, so that neither side waits in vain.
    """

    connects = False

    def serve(self, address: Address, cell: Cell) -> Server:
        effective: Effective = {}
        channels = [
            _fifos_of_server(address_of(address, worker), cell, effective) for worker in range(cell.concurrency)
        ]
        return OpenServer(address, channels, effective)

    def reach(self, address: Address, cell: Cell, worker: int, pause: Pause) -> Client:
        paths = address_of(address, worker)
        read = _open_without_waiting(text_in(paths, "to_client"), os.O_RDONLY)
        write = _open_to_write(text_in(paths, "to_server"), pause)
        return OpenClient(PipePair(read, write))


def _fifos_of_server(paths: Address, cell: Cell, effective: Effective) -> Channel:
    read = _open_without_waiting(text_in(paths, "to_server"), os.O_RDONLY)
    write = _open_without_waiting(text_in(paths, "to_client"), os.O_WRONLY)
    if cell.pipe_size is not None:
        # Where pipes differ, the least is reported, as it is the limit.
        became = min(set_pipe_size(read, cell.pipe_size), set_pipe_size(write, cell.pipe_size))
        effective["pipe_size"] = min(became, effective.get("pipe_size", became))
    return PipePair(read, write)


def _open_without_waiting(path: str, flags: int) -> int:
    if not stat.S_ISFIFO(os.stat(path).st_mode):
        raise PeerError(f"{path} is not a FIFO")
    holder = os.open(path, os.O_RDWR)
    try:
        return os.open(path, flags)
    finally:
        os.close(holder)


def _open_to_write(path: str, pause: Pause) -> int:
    """Opens as soon as there is a reader: a server may open its end after it is ready."""
    while True:
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise
            pause()
        else:
            os.set_blocking(descriptor, True)
            return descriptor
