//! The rows: what a tool does, and ipcost's cell for the same work.

use anyhow::Result;
use ipcost_model::Placement;

use super::programs::{self, SockperfSocket};
use xtask::shell::succeeds;

/// A tool, by the name that the command line takes.
#[derive(Debug)]
pub struct ComparedTool {
    pub name: &'static str,
    /// Its programs, and their Debian packages.
    pub programs: &'static [(&'static str, &'static str)],
}

impl ComparedTool {
    /// Which program is missing, with what installs it.
    pub fn lacks(&self) -> Option<String> {
        let is_missing = |program: &str| !succeeds(&["sh", "-c", &format!("command -v {program}")]);
        let (program, package) = self.programs.iter().find(|(program, _)| is_missing(program))?;
        Some(format!("{program} is missing; apt-get install {package}"))
    }
}

const PERF: ComparedTool = ComparedTool { name: "perf", programs: &[("perf", "linux-perf")] };
const SOCKPERF: ComparedTool = ComparedTool { name: "sockperf", programs: &[("sockperf", "sockperf")] };
const QPERF: ComparedTool = ComparedTool { name: "qperf", programs: &[("qperf", "qperf")] };
const IPERF3: ComparedTool = ComparedTool { name: "iperf3", programs: &[("iperf3", "iperf3")] };
pub const REDIS_BENCHMARK: ComparedTool = ComparedTool {
    name: "redis-benchmark",
    programs: &[
        ("redis-benchmark", "redis-tools"),
        ("redis-cli", "redis-tools"),
        ("redis-server", "redis-server"),
    ],
};
const SOCAT: ComparedTool = ComparedTool { name: "socat", programs: &[("socat", "socat")] };

pub const TOOLS: [&ComparedTool; 6] = [&PERF, &SOCKPERF, &QPERF, &IPERF3, &REDIS_BENCHMARK, &SOCAT];

/// Which of ipcost's figures is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ComparedFigure {
    Mean,
    Median,
}

/// The same work by a tool and by ipcost: a row for each placement.
pub struct ToolComparison {
    pub tool: &'static ComparedTool,
    pub measured: &'static str,
    pub placements: &'static [Placement],
    /// ipcost's cell, as in a job file, without its placement.
    pub cell: &'static str,
    pub figure: ComparedFigure,
    /// Runs the tool once, client and server on these processors; the result is in nanoseconds.
    pub run: fn((usize, usize)) -> Result<f64>,
    /// What the tool does differently, as strace showed it.
    pub does: &'static str,
    /// Calls that the tool makes and ipcost does not, if they make it more than 15 % costlier.
    pub differs: Option<&'static str>,
    /// What the installed version of the tool cannot do.
    unfit: fn() -> Option<&'static str>,
}

impl ToolComparison {
    /// Why it cannot run here.
    pub fn lacks(&self) -> Option<String> {
        self.tool.lacks().or_else(|| (self.unfit)().map(str::to_owned))
    }
}

const BOTH: &[Placement] = &[Placement::Together, Placement::Apart];

/// What most have in common.
const USUAL: ToolComparison = ToolComparison {
    tool: &PERF,
    measured: "",
    placements: BOTH,
    cell: "",
    figure: ComparedFigure::Mean,
    run: programs::perf,
    does: "",
    differs: None,
    unfit: || None,
};

/// All comparisons, in the order of the table.
pub const COMPARISONS: [ToolComparison; 16] = [
    ToolComparison {
        tool: &PERF,
        measured: "pipe, 4 B round trip",
        // perf does not pin its processes, and both inherit one processor.
        placements: &[Placement::Together],
        cell: r#"
            pattern = "rr"
            transport = "pipe"
            size = 4"#,
        run: programs::perf,
        does: "Nothing: a write and a read on either side for each round trip.",
        ..USUAL
    },
    ToolComparison {
        tool: &SOCKPERF,
        measured: "TCP, 64 B round trip",
        cell: r#"
            pattern = "rr"
            transport = "tcp"
            size = 64
            lead_in = "400ms"
            options = { io = "send" }"#,
        run: |place| programs::sockperf(place, SockperfSocket::Tcp, 64, ComparedFigure::Mean),
        does: "Calls sendto and recvfrom with an address each, and reads the processor's clock around every round trip.",
        ..USUAL
    },
    ToolComparison {
        tool: &SOCKPERF,
        measured: "TCP, 64 B, median",
        cell: r#"
            pattern = "rr"
            transport = "tcp"
            size = 64
            lead_in = "400ms"
            options = { io = "send" }"#,
        figure: ComparedFigure::Median,
        run: |place| programs::sockperf(place, SockperfSocket::Tcp, 64, ComparedFigure::Median),
        does: "As for the mean; ipcost reads the system's clock around every round trip, too.",
        ..USUAL
    },
    ToolComparison {
        tool: &SOCKPERF,
        measured: "UDP, 64 B round trip",
        cell: r#"
            pattern = "rr"
            transport = "udp"
            size = 64
            lead_in = "400ms"
            options = { io = "send" }"#,
        run: |place| programs::sockperf(place, SockperfSocket::Udp, 64, ComparedFigure::Mean),
        does: "Never calls connect, so that sendto names the address and finds the way there for every datagram.",
        ..USUAL
    },
    ToolComparison {
        tool: &SOCKPERF,
        measured: "Unix, 64 B round trip",
        cell: r#"
            pattern = "rr"
            transport = "unix"
            size = 64
            lead_in = "400ms"
            options = { io = "send" }"#,
        run: |place| programs::sockperf(place, SockperfSocket::Unix, 64, ComparedFigure::Mean),
        does: "As over TCP.",
        unfit: || {
            let help = "sockperf pp --help 2>&1 | grep -qi 'unix domain'";
            (!succeeds(&["sh", "-c", help])).then_some("this sockperf has no Unix sockets; 3.9 and later do")
        },
        ..USUAL
    },
    ToolComparison {
        tool: &QPERF,
        measured: "TCP, 64 B round trip",
        cell: r#"
            pattern = "rr"
            transport = "tcp"
            size = 64
            options = { tcp_nodelay = false }"#,
        run: |place| programs::qperf_latency(place, "tcp_lat", 64),
        does: "Reports half a round trip, doubled here. Its server's socket is one of IPv6 that also takes IPv4.",
        ..USUAL
    },
    ToolComparison {
        tool: &QPERF,
        measured: "UDP, 64 B round trip",
        cell: r#"
            pattern = "rr"
            transport = "udp"
            size = 64"#,
        run: |place| programs::qperf_latency(place, "udp_lat", 64),
        does: "As over TCP; its server never calls connect, and answers with recvfrom and sendto on an IPv6 socket.",
        ..USUAL
    },
    ToolComparison {
        tool: &QPERF,
        measured: "TCP, 64 KiB stream",
        cell: r#"
            pattern = "stream"
            transport = "tcp"
            size = 65536"#,
        run: |place| programs::qperf_stream(place, 65_536),
        does: "Nothing but the server's IPv6 socket: a write and reads of 64 KiB, Nagle's algorithm on.",
        ..USUAL
    },
    ToolComparison {
        measured: "cubic, 64 KiB stream",
        cell: r#"
            pattern = "stream"
            transport = "tcp"
            size = 65536
            options = { io = "poll", steady = true, tcp_congestion = "cubic" }"#,
        run: |place| programs::iperf3(place, 65_536, Some("cubic")),
        ..TRANSFER
    },
    ToolComparison {
        measured: "bbr, 64 KiB stream",
        cell: r#"
            pattern = "stream"
            transport = "tcp"
            size = 65536
            options = { io = "poll", steady = true, tcp_congestion = "bbr" }"#,
        run: |place| programs::iperf3(place, 65_536, Some("bbr")),
        ..TRANSFER
    },
    ToolComparison {
        measured: "TCP, 128 KiB stream",
        cell: r#"
            pattern = "stream"
            transport = "tcp"
            size = 131072
            options = { io = "poll" }"#,
        run: |place| programs::iperf3(place, 131_072, None),
        ..TRANSFER
    },
    ToolComparison {
        measured: "Unix, 41 B INCR",
        cell: r#"
            pattern = "rr"
            transport = "unix"
            size = 41
            reply = 13
            client = "redis"
            server = "redis""#,
        run: |place| programs::redis_benchmark(place, true),
        ..INCR
    },
    ToolComparison {
        measured: "TCP, 41 B INCR",
        cell: r#"
            pattern = "rr"
            transport = "tcp"
            size = 41
            reply = 13
            client = "redis"
            server = "redis"
            options = { tcp_nodelay = true }"#,
        run: |place| programs::redis_benchmark(place, false),
        ..INCR
    },
    ToolComparison {
        measured: "Unix, 64 KiB stream",
        cell: r#"
            pattern = "stream"
            transport = "unix"
            size = 65536
            client = "socat-started"
            server = "socat-started""#,
        run: |place| programs::socat(place, "unix", 65_536),
        ..MOVED
    },
    ToolComparison {
        measured: "TCP, 64 KiB stream",
        cell: r#"
            pattern = "stream"
            transport = "tcp"
            size = 65536
            client = "socat-started"
            server = "socat-started""#,
        run: |place| programs::socat(place, "tcp", 65_536),
        ..MOVED
    },
    ToolComparison {
        measured: "pipe, 64 KiB stream",
        cell: r#"
            pattern = "stream"
            transport = "pipe"
            size = 65536
            client = "socat-started"
            server = "socat-started""#,
        run: |place| programs::socat(place, "pipe", 65_536),
        ..MOVED
    },
];

const TRANSFER: ToolComparison = ToolComparison {
    tool: &IPERF3,
    does: "Calls pselect6 where ipcost calls poll, before each block to read and before every tenth to write.",
    ..USUAL
};

const INCR: ToolComparison = ToolComparison {
    tool: &REDIS_BENCHMARK,
    does: "Waits twice a request, to write and to read, and changes what it waits for.",
    differs: Some("5 epoll_ctl and 2 epoll_wait a request; ipcost's client only writes and reads"),
    ..USUAL
};

const MOVED: ToolComparison = ToolComparison {
    tool: &SOCAT,
    does: "Nothing: ipcost's peer runs two socats, too. It times them from when both have started; here two lengths are timed.",
    ..USUAL
};
