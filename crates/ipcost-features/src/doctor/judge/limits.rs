//! Descriptors, buffers, queues.

use ipcost_lab::rules;
use ipcost_model::facts::{LimitFacts, USUAL_PIPE_BYTES};
use ipcost_model::units::size_text;

use super::{CheckResult, DoctorCheck, check, known};

/// About what the default suite needs.
const LEAST_FILES: u64 = 300;
/// Enough for a thousand connections at once.
const ENOUGH_FILES: u64 = 8_192;
/// What kernels come with.
const PIPE_MAX_SIZE: u64 = 1_048_576;
const PIPE_PAGES: u64 = 16_384;
const SOCKET_BUFFER: u64 = 212_992;
const SOMAXCONN: u64 = 4_096;
/// Below this, the buffers of TCP are what limits a stream over loopback, bytes.
const TCP_BUFFER: u64 = 4_194_304;
/// Below this, connections at any concurrency run into the queue's end.
const SHORT_QUEUE: u64 = 128;

pub const CHECKS: &[DoctorCheck] = &[
    check(&rules::OPEN_FILES, |facts| known(facts.limits.open_files_limit, open_files)),
    check(&rules::PIPE_SIZE, |facts| {
        known(facts.limits.pipe_max_size, |size| match size < PIPE_MAX_SIZE {
            true => CheckResult::note(format!("at most {}", size_text(size)))
                .command(format!("sysctl -w fs.pipe-max-size={PIPE_MAX_SIZE}")),
            false => CheckResult::good(size_text(size)),
        })
    }),
    check(&rules::PIPE_PAGES, |facts| {
        let limits = &facts.limits;
        known(limits.pipe_user_pages_soft, |pages| match pages {
            _ if limits.new_pipe_bytes.is_some_and(|bytes| bytes < USUAL_PIPE_BYTES) => {
                let held: u64 = limits.pipe_holders.iter().map(|(_, pages)| pages).sum();
                let most = limits.pipe_holders.first();
                let most = most.map_or_else(String::new, |(name, pages)| format!(", {pages} of them {name}"));
                let size = size_text(limits.new_pipe_bytes.unwrap_or_default());
                CheckResult::bends(format!("a new pipe holds {size}: this user has {held} pages in pipes{most}, and {pages} are allowed"))
                    .advice("end what holds them, or raise fs.pipe-user-pages-soft")
            }
            1..PIPE_PAGES => {
                CheckResult::note(format!("{pages} pages, {} pipes of the usual size", pages / 16))
                    .command(format!("sysctl -w fs.pipe-user-pages-soft={PIPE_PAGES}"))
            }
            0 => CheckResult::good("no limit"),
            pages => CheckResult::good(format!("{pages} pages")),
        })
    }),
    check(&rules::SOCKET_BUFFERS, |facts| {
        let both = facts.limits.wmem_max.zip(facts.limits.rmem_max);
        known(both, |(send, receive)| match send.min(receive) < SOCKET_BUFFER {
            true => CheckResult::note(format!(
                "at most {} to send, {} to receive",
                size_text(send),
                size_text(receive)
            ))
            .command(format!(
                "sysctl -w net.core.wmem_max={SOCKET_BUFFER} net.core.rmem_max={SOCKET_BUFFER}"
            )),
            false => CheckResult::good(size_text(send.min(receive))),
        })
    }),
    check(&rules::TCP_BUFFERS, |facts| tcp_buffers(&facts.limits)),
    check(&rules::LEFT_CHANGED, |facts| {
        vec![match &facts.left_changed {
            Some(left) => CheckResult::bends(left.clone())
                .advice("any command that measures undoes what it can, and says how to undo the rest"),
            None => CheckResult::good("none"),
        }]
    }),
    check(&rules::LISTEN_QUEUE, |facts| {
        known(facts.limits.somaxconn, |longest| {
            let raise = format!("sysctl -w net.core.somaxconn={SOMAXCONN}");
            match longest {
                0..SHORT_QUEUE => CheckResult::bends(format!("at most {longest}")).command(raise),
                SHORT_QUEUE..SOMAXCONN => CheckResult::note(format!("at most {longest}"))
                    .command(raise)
                    .advice("it matters where more clients than that connect at once"),
                _ => CheckResult::good(longest.to_string()),
            }
        })
    }),
    check(&rules::SYN_QUEUE, |facts| {
        known(facts.limits.tcp_max_syn_backlog, |longest| match longest < SHORT_QUEUE {
            true => CheckResult::bends(format!("at most {longest}"))
                .command("sysctl -w net.ipv4.tcp_max_syn_backlog=1024"),
            false => CheckResult::good(longest.to_string()),
        })
    }),
];

fn open_files(limit: u64) -> CheckResult {
    let raise = |answer: CheckResult| {
        answer.command(format!("ulimit -n {ENOUGH_FILES}")).advice(
            "ulimit acts in the shell that starts ipcost; beyond the hard limit it takes root, or limits.conf and a new login",
        )
    };
    match limit {
        0..LEAST_FILES => raise(CheckResult::missing(format!(
            "at most {limit}, and the default suite needs about {LEAST_FILES}"
        ))),
        LEAST_FILES..ENOUGH_FILES => raise(CheckResult::note(format!("at most {limit}"))),
        _ => CheckResult::good(limit.to_string()),
    }
}

fn tcp_buffers(limits: &LimitFacts) -> Vec<CheckResult> {
    known(limits.tcp_wmem.zip(limits.tcp_rmem), |([_, _, send], [_, _, receive])| {
        match send.min(receive) < TCP_BUFFER {
            true => CheckResult::bends(format!(
                "at most {} to send, {} to receive",
                size_text(send),
                size_text(receive)
            ))
            .command(
                "sysctl -w net.ipv4.tcp_wmem='4096 16384 4194304' net.ipv4.tcp_rmem='4096 131072 6291456'",
            ),
            false => CheckResult::good(format!("{} and more", size_text(send.min(receive)))),
        }
    })
}
