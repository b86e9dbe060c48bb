"""A peer that moves nothing and reports planted times, so that the whole program runs and its verdicts do not depend on the machine.

usage: scripted_peer.py [PREFIX=]NS[/LONG_NS] ...

An operation of a cell takes NS nanoseconds, give or take a hundredth that differs from batch to batch. PREFIX is the beginning of
PATTERN/TRANSPORT/SIZE; the longest that fits counts. In a batch that lasts longer than 80 ms an operation takes LONG_NS. The environment variable SCRIPTED_FACTOR multiplies all. A batch lasts as long as
it says, since the engine knows how much time has passed.
"""

import json
import os
import sys
import time

FACTOR = float(os.environ.get("SCRIPTED_FACTOR", "1"))
LONG_BATCH_NS = 80e6
# The cost in short batches and in long ones: the same, if one is given.
COSTS = [("", (1000.0, 1000.0))] + [
    (prefix, (float(ns.partition("/")[0]), float(ns.rpartition("/")[2])))
    for prefix, _, ns in (arg.rpartition("=") for arg in sys.argv[1:])
]
PATTERNS = ["connect", "rr", "stream"]
TRANSPORTS = ["pipe", "fifo", "unix", "unix-abstract", "socketpair", "tcp", "tcp6"]
OPTIONS = ["so_sndbuf", "so_rcvbuf", "tcp_nodelay"]


def say(kind, **values):
    print(json.dumps({"type": kind, **values}), flush=True)


def cost_ns(key, ops):
    short, long = max((len(prefix), ns) for prefix, ns in COSTS if key.startswith(prefix))[1]
    return (short if ops * short < LONG_BATCH_NS else long) * FACTOR


def luck_of(id, cell):
    """From -1 to 1, without any relation between batches (splitmix64)."""
    mixed = (id * 1_000_003 + cell) * 0x9E3779B97F4A7C15 % 2**64
    mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EB % 2**64
    return (mixed ^ mixed >> 31) / 2**63 - 1


def done(message, key, is_client, began):
    ops, id = message["ops"], message["id"]
    luck = luck_of(id, sum(key.encode()))
    wall_ns = max(1, int(ops * cost_ns(key, ops) * (1 + luck / 100)))
    if is_client:
        rest_s = wall_ns / 1e9 - (time.monotonic() - began)
        if rest_s > 0:
            time.sleep(rest_s)
    # The server answers before the client begins.
    values = {"id": id, "ops": ops, "wall_ns": wall_ns if is_client else 1}
    if is_client:
        values["usage"] = dict(
            user_ns=wall_ns // 4, sys_ns=wall_ns // 4, voluntary_switches=0, involuntary_switches=0
        )
        if key.startswith("stream"):
            values["sent_ns"] = wall_ns
        if message.get("latency"):
            values["latency_ns"] = [wall_ns // ops] * min(ops, 1000)
    say("done", **values)


say(
    "hello",
    protocol=1,
    peer="scripted",
    version="1",
    runtime="a script",
    roles=["server", "client"],
    transports=TRANSPORTS,
    patterns=PATTERNS,
    options=OPTIONS,
)
for line in sys.stdin:
    began = time.monotonic()
    message = json.loads(line)
    if message["type"] == "prepare":
        cell, is_client = message["cell"], message["role"] == "client"
        key = "{pattern}/{transport}/{size}".format(**cell)
        say("ready", address=message["address"])
    elif message["type"] in ("verify", "batch"):
        if not is_client:
            say("armed", id=message["id"])
        done(message, key, is_client, began)
    elif message["type"] == "stop":
        break
