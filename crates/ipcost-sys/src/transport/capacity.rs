//! How many bytes may be in flight between the two sides: the buffers' sizes (`tcp(7)`, `socket(7)`, `pipe(7)`).

use ipcost_model::Cell;

use crate::facts::text::{number, numbers};

/// A pipe's default capacity, bytes.
const PIPE_BYTES: u64 = 65_536;

/// Both buffers of a TCP connection, which grow up to a limit unless set.
pub fn tcp(cell: &Cell) -> Option<u64> {
    let most = |limits: &str| numbers::<3>(limits).map(|[_, _, most]| most);
    let send = cell.options.so_sndbuf().map(|bytes| 2 * bytes);
    let receive = cell.options.so_rcvbuf().map(|bytes| 2 * bytes);
    Some(
        send.or_else(|| most("/proc/sys/net/ipv4/tcp_wmem"))?
            + receive.or_else(|| most("/proc/sys/net/ipv4/tcp_rmem"))?,
    )
}

/// A Unix socket's: data in flight counts against the sender only.
pub fn unix(cell: &Cell) -> Option<u64> {
    let most = number("/proc/sys/net/core/wmem_max").unwrap_or(u64::MAX / 2);
    let send = cell.options.so_sndbuf().map(|bytes| 2 * bytes.min(most));
    send.or_else(|| number("/proc/sys/net/core/wmem_default"))
}

pub fn pipe(cell: &Cell) -> Option<u64> {
    Some(cell.options.pipe_size().unwrap_or(PIPE_BYTES))
}
