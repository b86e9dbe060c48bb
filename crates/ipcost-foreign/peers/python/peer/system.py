"""What the standard library lacks a name for, or offers only on some systems."""

from __future__ import annotations

import ctypes
import fcntl
import resource
import signal
import socket
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

ON_LINUX = sys.platform == "linux"

# Linux constants, the same on every architecture.
_PR_SET_PDEATHSIG = 1
_F_SETPIPE_SZ = 1031
_F_GETPIPE_SZ = 1032
_IP_BIND_ADDRESS_NO_PORT = 24


def end_with_parent() -> None:
    """Asks the kernel to kill this process when its parent ends, also from within a batch (prctl(2))."""
    if not ON_LINUX:
        return
    try:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL))
    except (OSError, AttributeError):
        # Without it, the engine's own request and the end of input remain.
        pass


def bind_without_port(connection: socket.socket, host: str) -> None:
    """Binds only an address.

    It leaves the port to connect, which knows the whole connection and so may use one that another connection from
    there already uses (ip(7)).
    """
    connection.setsockopt(socket.IPPROTO_IP, _IP_BIND_ADDRESS_NO_PORT, 1)
    connection.bind((host, 0))


def set_pipe_size(descriptor: int, size: int) -> int:
    """Sets a pipe's capacity and returns the effective one.

    The kernel rounds it up, and refuses unprivileged users more than a limit; the pipe then gets that limit.
    """
    if not ON_LINUX:
        raise OSError("this system cannot set it")
    try:
        fcntl.fcntl(descriptor, _F_SETPIPE_SZ, size)
    except PermissionError:
        limit = int(Path("/proc/sys/fs/pipe-max-size").read_text())
        fcntl.fcntl(descriptor, _F_SETPIPE_SZ, limit)
    return fcntl.fcntl(descriptor, _F_GETPIPE_SZ)


def buffer_size(connection: socket.socket, option: int) -> int:
    """The size of a socket's buffer in the unit of the request: Linux keeps it doubled."""
    size = connection.getsockopt(socket.SOL_SOCKET, option)
    return size // 2 if ON_LINUX else size


@dataclass(frozen=True)
class Usage:
    """A process's resource usage."""

    user_ns: int = 0
    sys_ns: int = 0
    voluntary_switches: int = 0
    involuntary_switches: int = 0

    def __add__(self, other: Optional[Usage]) -> Usage:
        return self._with(other or Usage(), 1)

    def __sub__(self, other: Usage) -> Usage:
        return self._with(other, -1)

    def _with(self, other: Usage, sign: int) -> Usage:
        return Usage(
            self.user_ns + sign * other.user_ns,
            self.sys_ns + sign * other.sys_ns,
            self.voluntary_switches + sign * other.voluntary_switches,
            self.involuntary_switches + sign * other.involuntary_switches,
        )


def own_usage() -> Usage:
    """Usage of this process since its start, all threads."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return Usage(
        user_ns=round(used.ru_utime * 1e6) * 1000,
        sys_ns=round(used.ru_stime * 1e6) * 1000,
        voluntary_switches=used.ru_nvcsw,
        involuntary_switches=used.ru_nivcsw,
    )
