//! What programs that already run do to each other.

use super::{Rule, RuleSource};

rules! {
    CONNECTION_EACH = "connection-each", "connections that carry one request",
        "To open and close a connection costs several times what a request over an open one does.",
        "one connection a second that carries 8 messages or less", [Watch], "Measured in every default run: pattern connect against rr; planted in a test of `watch`";
    SLOW_READER = "slow-reader", "senders that wait for room in the other side's buffer",
        "The reader is the slower side, and a faster transport or a larger buffer changes nothing about that.",
        "half of the time that was looked at", [Watch], "Planted in a test of `watch`; https://man7.org/linux/man-pages/man7/tcp.7.html";
    PIECES = "pieces", "messages that are written with several calls",
        "Each is a system call, and over TCP may be a packet of its own.",
        "half of the messages", [Watch], "Planted in a test of `watch`";
    SMALL_WRITES = "small-writes", "streams that are written in small pieces",
        "Each is a system call, which costs as much as copying kilobytes does.",
        "5 000 calls a second of 1 KiB or less", [Watch], "Planted in a test of `watch`";
    EMPTY_POLLS = "empty-polls", "calls that ask for data and find none",
        "Each enters the kernel for nothing; a call that waits costs nothing meanwhile.",
        "half of the calls, and 100 a second", [Watch], "Planted in a test of `watch`";
    DATAGRAM_QUEUE = "datagram-queue", "datagrams for which the receiver has no room",
        "Over UDP they are lost, and over a Unix socket the sender waits.",
        "one that is dropped, or a tenth of the time waited", [Watch], "Planted in a test of `watch`; https://man7.org/linux/man-pages/man7/unix.7.html";
    REQUEST_QUEUED = "request-queued", "slow requests whose server or client was busy with something else",
        "A server that serves one request after the other makes all wait for the slowest.",
        "half of what a slow request took beyond the usual", [Watch], "Planted in tests of `watch --slow`";
    REQUEST_READY = "request-ready", "slow requests of which a thread could run and another one did",
        "Who waits for a processor waits for slices of others, milliseconds each.",
        "half of what a slow request took beyond the usual", [Watch], "Planted in tests of `watch --slow`; https://man7.org/linux/man-pages/man7/sched.7.html";
    REQUEST_BLOCKED = "request-blocked", "slow requests whose server waited in a call",
        "A disk, a lock, a page of memory or another server decides then, not the transport.",
        "half of what a slow request took beyond the usual", [Watch], "Planted in tests of `watch --slow`";
    REQUEST_THROTTLED = "request-throttled", "slow requests while a control group had used up its processor time",
        "A group with a quota stands still until its next period, usually of 100 ms.",
        "half of what a slow request took beyond the usual, and the group was throttled meanwhile", [Watch], "Planted in tests of `watch --slow`; https://docs.kernel.org/scheduler/sched-bwc.html";
    REQUEST_STOPPED = "request-stopped", "slow requests while a process was stopped",
        "A debugger, a tracer or SIGSTOP holds a process up for any time.",
        "half of what a slow request took beyond the usual", [Watch], "Planted in tests of `watch --slow`";
    REQUEST_COMPUTING = "request-computing", "slow requests whose server computed longer than usual",
        "The time is the server's own work; a profile of it tells more.",
        "half of what a slow request took beyond the usual", [Watch], "Planted in tests of `watch --slow`";
}
