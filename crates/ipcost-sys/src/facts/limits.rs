//! Descriptors, buffers, queues.

use ipcost_model::facts::{LimitFacts, USUAL_PIPE_BYTES};

use super::text::{number, numbers};
use crate::limits::most_descriptors;
use crate::running;

pub fn limits() -> LimitFacts {
    let new_pipe_bytes = running::new_pipe_bytes();
    let is_small = new_pipe_bytes.is_some_and(|bytes| bytes < USUAL_PIPE_BYTES);
    LimitFacts {
        new_pipe_bytes,
        pipe_holders: if is_small { running::pipe_pages() } else { Vec::new() },
        // A run raises the soft limit to this one.
        open_files_limit: most_descriptors(),
        pipe_max_size: number("/proc/sys/fs/pipe-max-size"),
        pipe_user_pages_soft: number("/proc/sys/fs/pipe-user-pages-soft"),
        rmem_max: number("/proc/sys/net/core/rmem_max"),
        wmem_max: number("/proc/sys/net/core/wmem_max"),
        tcp_rmem: numbers("/proc/sys/net/ipv4/tcp_rmem"),
        tcp_wmem: numbers("/proc/sys/net/ipv4/tcp_wmem"),
        somaxconn: number("/proc/sys/net/core/somaxconn"),
        max_dgram_qlen: number("/proc/sys/net/unix/max_dgram_qlen"),
        tcp_max_syn_backlog: number("/proc/sys/net/ipv4/tcp_max_syn_backlog"),
    }
}
