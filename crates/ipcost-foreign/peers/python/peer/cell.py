"""A cell: what to do over which transport."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Optional

from .errors import PeerError
from .pace import STAMP, Pace

PATTERNS = ("connect", "rr", "stream")
ROLES = ("server", "client")

# The engine's bounds.
_SIZES = range(1, (1 << 30) + 1)
_CONCURRENCIES = range(1, 100_001)
_BACKLOGS = range(1, 65_536)
_PAUSES_NS = range(60_000_000_001)
_RATES = range(1, 1_000_000_001)

# Where a buffer may begin within a page.
_OFFSETS = range(4096)

# Every option with its permitted values. Their names are what hello lists and what a cell may set.
OPTIONS: dict[str, Any] = {
    "framing": ("length", "newline"),
    "server_buffer": _SIZES,
    "recv_buffer": _SIZES,
    "send_offset": _OFFSETS,
    "recv_offset": _OFFSETS,
    "touch": ("none", "every-byte"),
    "workers": ("threads", "processes"),
    "tcp_nodelay": (True, False),
    "so_sndbuf": _SIZES,
    "so_rcvbuf": _SIZES,
    "pipe_size": _SIZES,
    "backlog": _BACKLOGS,
    "closes_first": (*ROLES, "any"),
    "spread_sources": (True, False),
    "think": _PAUSES_NS,
    "rate": _RATES,
    "arrivals": ("poisson", "exponential", "constant", "in-step"),
}


@dataclass(frozen=True)
class Cell:
    """One point of the matrix; an option that is not set has its default."""

    pattern: str
    transport: str
    size: int
    reply: int
    concurrency: int
    client_speaks_first: bool
    newline_ends: bool
    server_buffer: int
    recv_buffer: int
    send_offset: Optional[int]
    recv_offset: Optional[int]
    # Whether payload is written before it is sent, and read after it was received.
    touches: bool
    processes: bool
    tcp_nodelay: bool
    so_sndbuf: Optional[int]
    so_rcvbuf: Optional[int]
    pipe_size: Optional[int]
    backlog: int
    # The side that closes first, while the other waits for the end; with "any", neither waits.
    closes_first: str
    spread_sources: Optional[bool]
    # None if operations follow one another at once.
    pace: Optional[Pace]

    @property
    def stamps(self) -> bool:
        """Whether messages carry when they were sent, in batches that keep a pace."""
        return self.pattern == "stream" and self.pace is not None


def read_cell(message: Any) -> Cell:
    """Reads the protocol's object and refuses invalid values."""
    cell = _Fields("the cell", message)
    options = _Fields("options", cell.fields.get("options", {}))
    _refuse_unknown(options)
    pattern = cell.choice("pattern", PATTERNS)
    size = cell.choice("size", _SIZES)
    concurrency = cell.choice("concurrency", _CONCURRENCIES)
    pace = _read_pace(options, concurrency)
    if pattern == "stream" and pace is not None and size < STAMP.size:
        raise PeerError(
            f"protocol: with think or rate, a message of a stream has at least {STAMP.size} bytes, not {size}"
        )
    return Cell(
        pattern=pattern,
        transport=cell.text("transport"),
        size=size,
        reply=0 if pattern == "stream" else cell.choice("reply", _SIZES),
        concurrency=concurrency,
        client_speaks_first=cell.choice("speaks_first", ROLES) == "client",
        newline_ends=options.option("framing", "length") == "newline",
        server_buffer=options.option("server_buffer", 65_537),
        recv_buffer=options.option("recv_buffer", max(size, 65_536)),
        send_offset=options.option("send_offset", None),
        recv_offset=options.option("recv_offset", None),
        touches=options.option("touch", "none") == "every-byte",
        processes=options.option("workers", "threads") == "processes",
        tcp_nodelay=options.option("tcp_nodelay", pattern != "stream"),
        so_sndbuf=options.option("so_sndbuf", None),
        so_rcvbuf=options.option("so_rcvbuf", None),
        pipe_size=options.option("pipe_size", None),
        backlog=options.option("backlog", 4096),
        closes_first=options.option("closes_first", "server"),
        spread_sources=options.option("spread_sources", None),
        pace=pace,
    )


def _read_pace(options: _Fields, workers: int) -> Optional[Pace]:
    think_ns, rate = options.option("think", None), options.option("rate", None)
    arrivals = options.option("arrivals", None)
    if think_ns is not None and rate is not None:
        raise PeerError("protocol: options think and rate exclude each other")
    if rate is not None:
        is_random = arrivals not in ("constant", "in-step")
        return Pace(True, is_random, workers * 1e9 / rate, workers, arrivals == "in-step")
    if think_ns is not None:
        return Pace(False, arrivals not in (None, "constant"), float(think_ns), workers)
    if arrivals is not None:
        raise PeerError("protocol: option arrivals needs think or rate")
    return None


def _refuse_unknown(options: _Fields) -> None:
    for name in options.fields:
        if name not in OPTIONS:
            raise PeerError(f"protocol: there is no option {name!r}")


class _Fields:
    """The fields of a JSON object, each returned only if valid."""

    def __init__(self, what: str, fields: Any) -> None:
        if not isinstance(fields, dict):
            raise PeerError(f"protocol: {what} must be an object, not {fields!r}")
        self.what = what
        self.fields = fields

    def text(self, name: str) -> str:
        value = self.fields.get(name)
        if not isinstance(value, str):
            raise PeerError(f"protocol: {name} in {self.what} must be text, not {value!r}")
        return value

    def choice(self, name: str, allowed: Any) -> Any:
        """One of the allowed values, of the same type; to JSON, `true` is not 1."""
        value = self.fields.get(name)
        if type(value) is not type(allowed[0]) or value not in allowed:
            raise PeerError(f"protocol: {name} in {self.what} takes {_shown(allowed)}, not {value!r}")
        return value

    def option(self, name: str, default: Any) -> Any:
        return self.choice(name, OPTIONS[name]) if name in self.fields else default


def _shown(allowed: Any) -> str:
    if isinstance(allowed, range):
        return f"a whole number from {allowed[0]} to {allowed[-1]}"
    return " or ".join(map(repr, allowed))
