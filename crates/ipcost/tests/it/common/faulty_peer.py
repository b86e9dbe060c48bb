#!/usr/bin/env python3
"""The native peer until a given moment, and then a fault.

usage: faulty_peer.py PROGRAM PHASE KIND COUNTER [AFTER]

PHASE is the message of the engine at which it happens: hello (before anything is said), prepare, verify, batch, stop.
KIND is what happens: kill (SIGKILL), stop (SIGSTOP), exit (status 0, too early).
COUNTER is a file that counts such messages over all processes; the fault happens after AFTER of them.
"""

import json
import os
import signal
import subprocess
import sys
import threading

program, phase, kind, counter = sys.argv[1:5]
after = int(sys.argv[5]) if len(sys.argv) > 5 else 0


def due():
    """Counts one message; whether its time has come."""
    with open(counter, "ab") as file:
        file.write(b".")
    return os.path.getsize(counter) > after


def fail():
    if kind == "exit":
        os._exit(0)
    os.kill(os.getpid(), signal.SIGKILL if kind == "kill" else signal.SIGSTOP)


if phase == "hello" and due():
    fail()

peer = subprocess.Popen([program, "peer"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def answer():
    for line in peer.stdout:
        sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()
    os._exit(peer.wait())


threading.Thread(target=answer, daemon=True).start()
for line in sys.stdin.buffer:
    if json.loads(line)["type"] == phase and due():
        fail()
    peer.stdin.write(line)
    peer.stdin.flush()
peer.stdin.close()
peer.wait()
threading.Event().wait(5)
