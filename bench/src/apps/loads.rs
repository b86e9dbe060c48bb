//! The servers, what they are asked, and the tools that ask the same. Another server is one entry of [`SERVERS`].

use anyhow::Result;
use ipcost_features::app::find;
use ipcost_model::Pattern;

use super::server::ServerSocket;
use super::{SubjectAt, clients};
use crate::tools::{ComparedTool, REDIS_BENCHMARK};
use crate::verdict::Reason;

const PGBENCH: ComparedTool = ComparedTool { name: "pgbench", programs: &[("pgbench", "postgresql")] };
const SYSBENCH: ComparedTool = ComparedTool { name: "sysbench", programs: &[("sysbench", "sysbench")] };
const H2LOAD: ComparedTool = ComparedTool { name: "h2load", programs: &[("h2load", "nghttp2-client")] };

/// The least that databases are asked.
const SELECT: &str = "SELECT 1";
/// What a private Redis holds a value of 1000 bytes for.
const GET: &str = "GET ipcost:typical";
/// A file of 4096 bytes of a private nginx.
const PAGE: &str = "GET /typical";

/// A kind of server, and its loads.
pub struct Tested {
    /// As `ipcost app` takes it.
    pub kind: &'static str,
    /// What ipcost asks besides the least, or the least.
    pub request: &'static str,
    pub loads: &'static [ServerLoad],
}

/// One load, of one client.
pub struct ServerLoad {
    pub request: &'static str,
    pub pattern: Pattern,
    /// Requests that are sent before the first reply is read.
    pub pipeline: u64,
    pub tool: &'static ComparedTool,
    /// Why the ratios may differ by more than the margin.
    pub differs: Option<Reason>,
    /// Runs the tool once over a socket; the result is nanoseconds a request.
    pub run: fn(&ServerLoad, &SubjectAt<'_>, ServerSocket) -> Result<f64>,
}

/// All servers, in the order of the table.
pub const SERVERS: &[Tested] = &[
    Tested {
        kind: "postgres",
        request: SELECT,
        loads: &[
            ServerLoad {
                request: SELECT,
                tool: &PGBENCH,
                differs: WOKEN_TWICE,
                run: clients::pgbench,
                ..KEPT
            },
            ServerLoad {
                request: SELECT,
                tool: &SYSBENCH,
                differs: WOKEN_TWICE,
                run: clients::sysbench_postgres,
                ..KEPT
            },
            ServerLoad {
                request: SELECT,
                pattern: Pattern::Connect,
                tool: &PGBENCH,
                run: clients::pgbench,
                ..KEPT
            },
        ],
    },
    Tested {
        kind: "mariadb",
        request: SELECT,
        loads: &[ServerLoad {
            request: SELECT,
            tool: &SYSBENCH,
            differs: WOKEN_TWICE,
            run: clients::sysbench_mariadb,
            ..KEPT
        }],
    },
    Tested {
        kind: "redis",
        request: GET,
        loads: &[
            ServerLoad { request: "PING", ..KEPT },
            ServerLoad { request: GET, ..KEPT },
            ServerLoad { request: "PING", pattern: Pattern::Connect, ..KEPT },
            ServerLoad { request: "PING", pipeline: 16, differs: WOKEN_TWICE, ..KEPT },
        ],
    },
    Tested {
        kind: "http",
        request: PAGE,
        loads: &[ServerLoad { request: PAGE, tool: &H2LOAD, run: clients::h2load, ..KEPT }],
    },
];

/// What most have in common.
const KEPT: ServerLoad = ServerLoad {
    request: "",
    pattern: Pattern::Rr,
    pipeline: 1,
    tool: &REDIS_BENCHMARK,
    differs: None,
    run: clients::redis_benchmark,
};

/// Traced as `sched_waking`: when the server reads a request, the kernel's `unix_write_space` wakes a client that blocks in `recv`,
/// but not one that waits in `poll` or `epoll_wait` for data.
const WOKEN_TWICE: Option<Reason> = Some(Reason::Above(
    "ipcost's client blocks in recv, and over a Unix socket the kernel wakes it once for nothing when the server reads; \
     the tool waits in poll, which avoids that",
));

impl Tested {
    /// Why a load cannot be measured here.
    pub fn lacks(&self, load: &ServerLoad) -> Option<String> {
        match find(self.kind) {
            Ok(kind) => kind.unavailable().or_else(|| load.tool.lacks()),
            Err(error) => Some(error.to_string()),
        }
    }

    /// A load in words.
    pub fn name(&self, load: &ServerLoad) -> String {
        let connection = if load.pattern == Pattern::Connect { ", a connection for each" } else { "" };
        let pipeline =
            if load.pipeline > 1 { format!(", {} in one go", load.pipeline) } else { String::new() };
        format!("{}: {}{connection}{pipeline}", self.kind, load.request)
    }
}
