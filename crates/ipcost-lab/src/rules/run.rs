//! What can be wrong with a run or with one of its cells.

use super::{Rule, RuleSource};

rules! {
    INTERRUPTED = "interrupted", "whether the run was interrupted",
        "Only the epochs that were complete count.",
        "an interruption", [Warning], "By construction";
    SUSPENDED = "suspended", "batches in which the machine slept or the program was stopped",
        "The pause would be part of their cost; they are discarded and measured again.",
        "one batch", [Warning], "By construction";
    UNRESOLVED = "unresolved", "questions still open when the budget ends",
        "Their intervals are too wide for an answer.",
        "one question", [Warning], "By construction";
    NO_INTERVALS = "no-intervals", "whether there are enough epochs for an interval",
        "With fewer no interval at this level is finite.",
        "too few epochs", [Warning], "[Trust](../trust.md)";
    UNAVAILABLE = "unavailable", "cells that cannot be measured here",
        "They are shown with the reason and have no figures.",
        "one cell", [Warning], "By construction";
    TWO_MODES = "two-modes", "whether epochs of a cell fall into two groups",
        "A median then chooses between the groups by how many epochs fell into each.",
        "two groups with nothing in between", [Warning], "Planted in a test; [Document](document.md#warnings)";
    CORRELATED_EPOCHS = "correlated-epochs", "whether neighbouring epochs of a ratio resemble each other",
        "Intervals assume epochs that do not; they are widened, and describe this run more than the machine.",
        "p below 1 %", [Warning], "[Trust](../trust.md)";
    REGIME = "regime", "whether the cost of a cell changed once during the run, and a ratio with it",
        "What the ratio was before says nothing of what it is since; epochs of both together give no interval.",
        "at most 1 of 199 random orders as clear", [Warning], "Planted in a test; [Trust](../trust.md)";
    DRIFT = "drift", "whether costs rise or fall through the run",
        "Ratios are taken within rounds and hold, single costs do not.",
        "p below 1 %, and 2 % or the margin", [Warning], "Planted in a test";
    CARRY_OVER = "carry-over", "whether cells cost more right after a certain other one",
        "It leaves something behind, such as cold caches or full queues.",
        "p below 1 %, and 2 % or the margin", [Warning], "Planted in a test";
    INVOLUNTARY_SWITCHES = "involuntary-switches", "whether batches with more involuntary switches cost more",
        "Another process took the core in the middle of them.",
        "p below 1 %, and 5 %", [Warning], "Planted in a test";
    CLAMPED_OPTION = "clamped-option", "options that the kernel lowered",
        "The cell is not what was asked for.",
        "one byte less", [Warning], "https://man7.org/linux/man-pages/man7/socket.7.html";
    BACKLOG_FULL = "backlog-full", "connections that had to be tried again",
        "The listener's queue was full, and the client waited.",
        "one retry", [Warning], "Planted in a test of `explain` (`backlog`)";
    CONNECTION_TROUBLE = "connection-trouble", "segments that the kernel dropped or repeated",
        "A dropped SYN costs its client a second.",
        "one segment", [Warning], "Planted in a test of `explain` (`backlog`)";
    FIXED_WAIT = "fixed-wait", "a part of every burst that does not grow with its operations",
        "It is not part of the cost, but of every short burst.",
        "more than noise, by a fit over burst lengths", [Warning], "Planted in a test of `explain` (`nagle`)";
    HELD_BACK = "held-back", "less than a segment that waits for a delayed acknowledgement",
        "Each such wait takes 40 ms or more, whatever the operation costs.",
        "10 % of the time", [Warning], "Planted in a test; RFC 896, RFC 1122";
    BELOW_FLOOR = "below-floor", "cells that cost less than their floor",
        "Their processes hand over faster than two that wait on a futex.",
        "the whole interval below the margin", [Warning], "By construction of the floor ([Floor](../explain.md))";
    WINE = "wine", "whether Wine replaces Windows",
        "Its figures say nothing about Windows.",
        "Wine", [Warning], "By construction";
    INLINE_LATENCY = "inline-latency", "whether the clock was read within timed batches",
        "Every cost then includes reading the clock.",
        "`--latency inline`", [Warning], "By construction";
    CLOCK_IN_COST = "clock-in-cost", "what a reading of the clock is of operations that are timed one by one",
        "Every such cost includes one reading.",
        "2 % of the cost", [Warning], "By construction";
    OVERLOADED = "overloaded", "whether a cell carries the rate that it is offered",
        "Its queue only grows, so that its times say how long the batches were.",
        "less than 90 % of the rate done, and 10 % still unsent when the last was due", [Warning], "Planted in a test";
    PORTS_HELD = "ports-held", "local ports to a server that connections which have ended still hold",
        "The kernel searches longer for a free one, for every program; a minute after the last it is over.",
        "a quarter of the ports; the row stops before", [Warning], "Planted in a test";
    NOT_OFFERED = "not-offered", "whether a cell was offered the rate that was asked for",
        "Its times are those of a lower rate.",
        "less than 95 % of the rate begun, and nothing left unsent", [Warning], "Planted in a test";
    BUFFER_LAYOUT = "buffer-layout", "whether a cell costs more at some places of its buffers within a page",
        "Copies are slow from or to some places, on some processors by a multiple.",
        "p below 1 %, and 5 %", [Warning, Explain], "Measured: [Settings](settings.md); `ipcost sweep layout`";
}
