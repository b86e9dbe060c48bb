"""A server that takes the same time for every request, and accounts by itself for how long each took since it was due.

    python3 queue_peer.py SERVICE_NS

It sleeps rather than computes, so that other work on the machine makes it little slower. It draws the arrivals of the
batch's seed as docs/contributing/control-protocol.md says, and adds to the measures of a batch, each as mean, p50, p90 and p99:

- account_*: from when a request was due to right before its answer was sent;
- ideal_*: the same if the machine were perfect: every request takes SERVICE_NS, and nothing else takes any time.
"""

import json
import math
import resource
import socket
import sys
import time

SERVICE_NS = int(sys.argv[1])
PACE = ["think", "rate", "arrivals", "pacer", "timer_slack"]
MASK = (1 << 64) - 1


def say(**message):
    print(json.dumps(message), flush=True)


def receive(connection, count):
    data = bytearray()
    while len(data) < count:
        part = connection.recv(count - len(data))
        if not part:
            raise EOFError("the client closed the connection")
        data += part
    return data


def expected(message, count):
    return bytes((message + i) % 251 for i in range(count))


def due(seed, ops, options):
    """When the operations of the only worker are due, nanoseconds after the batch begins."""
    mean = 1e9 / options["rate"]
    if options.get("arrivals") == "constant":
        return [int((1 + i) * mean) for i in range(ops)]
    state, at, all = (seed + 0xD1B54A32D192ED03) & MASK, 0.0, []
    for _ in range(ops):
        state = (state + 0x9E3779B97F4A7C15) & MASK
        z = state
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & MASK
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB & MASK
        z ^= z >> 31
        at += -math.log(1.0 - (z >> 11) / (1 << 53)) * mean
        all.append(int(at))
    return all


def summary(name, took):
    # The first tenth is left out, as by the client.
    took = sorted(took[len(took) // 10 :])
    at = lambda share: float(took[max(math.ceil(share * len(took)) - 1, 0)])
    found = {"mean": sum(took) / len(took), "p50": at(0.5), "p90": at(0.9), "p99": at(0.99)}
    return {f"{name}_{key}_ns": value for key, value in found.items()}


def account(seed, options, times):
    moments = due(seed, len(times), options)
    # The client says to no one when it began; the soonest of all requests tells it best.
    start = min(began - moment for (began, _), moment in zip(times, moments))
    took = [ended - start - moment for (_, ended), moment in zip(times, moments)]
    free, ideal = 0, []
    for moment in moments:
        free = max(moment, free) + SERVICE_NS
        ideal.append(free - moment)
    return {**summary("account", took), **summary("ideal", ideal)}


def serve():
    # Sleeping ends early never, and late by the timer slack.
    until = time.monotonic_ns() + SERVICE_NS
    left = SERVICE_NS
    while left > 0:
        time.sleep(left / 1e9)
        left = until - time.monotonic_ns()


def batch(connection, cell, order):
    checked, times = order["type"] == "verify", []
    reply = bytes(cell["reply"])
    say(type="armed", id=order["id"])
    before, begin = resource.getrusage(resource.RUSAGE_SELF), time.monotonic_ns()
    for number in range(order["ops"]):
        request = receive(connection, cell["size"])
        began = time.monotonic_ns()
        if checked:
            if request != expected(number, cell["size"]):
                raise ValueError(f"payload mismatch in message {number}")
            reply = expected(number, cell["reply"])
        else:
            serve()
        times.append((began, time.monotonic_ns()))
        connection.sendall(reply)
    wall, after = time.monotonic_ns() - begin, resource.getrusage(resource.RUSAGE_SELF)
    keeps_pace = order.get("seed") is not None and "rate" in cell["options"]
    say(
        type="done",
        id=order["id"],
        ops=order["ops"],
        wall_ns=wall,
        usage={
            "user_ns": int((after.ru_utime - before.ru_utime) * 1e9),
            "sys_ns": int((after.ru_stime - before.ru_stime) * 1e9),
            "voluntary_switches": after.ru_nvcsw - before.ru_nvcsw,
            "involuntary_switches": after.ru_nivcsw - before.ru_nivcsw,
        },
        measures=account(order["seed"], cell["options"], times) if keeps_pace else {},
    )


def converse():
    say(type="hello", protocol=1, peer="queue", version="1", runtime="Python", roles=["server"], transports=["unix"], patterns=["rr"], options=PACE)
    listener = connection = None
    for line in sys.stdin:
        order = json.loads(line)
        if order["type"] == "stop":
            return
        if order["type"] == "prepare":
            cell = order["cell"]
            listener = socket.socket(socket.AF_UNIX)
            listener.bind(order["address"]["path"])
            listener.listen()
            say(type="ready", address=order["address"])
        else:
            connection = connection or listener.accept()[0]
            batch(connection, cell, order)


try:
    converse()
except Exception as error:
    say(type="error", message=" ".join(repr(error).split()))
    sys.exit(1)
