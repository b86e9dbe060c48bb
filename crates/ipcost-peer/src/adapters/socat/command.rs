//! The command lines of two socats.

use std::fmt::Write;

use ipcost_model::Cell;
use ipcost_model::protocol::Address;

use crate::PeerError;

/// The argument that excludes socat's start-up from the time.
pub const STARTED: &str = "--started";

/// The route of bytes from one socat to the other.
pub struct Route {
    pub cell: Cell,
    /// Whether both are started before the time begins, on a connection made by the peers.
    pub started: bool,
    pub address: Address,
}

impl Route {
    /// Whether the address has everything that the programs' arguments need.
    pub fn check(&self) -> Result<(), PeerError> {
        let member = match self.cell.transport.as_str() {
            "unix" => "path",
            "tcp" => "host",
            _ => return Ok(()),
        };
        if self.address.get(member).is_some_and(|value| value.is_string()) {
            return Ok(());
        }
        Err(PeerError::Protocol(format!("the address of {} has no text \"{member}\"", self.cell.transport)))
    }

    /// Whether the transport makes connections.
    pub fn connects(&self) -> bool {
        matches!(self.cell.transport.as_str(), "unix" | "tcp")
    }

    /// Whether the programs open their ends themselves.
    fn opened_by_programs(&self) -> bool {
        !self.started && self.cell.transport != "pipe"
    }

    /// Whether the peers need their own connection, since the programs make a new one in every batch.
    pub fn has_beside(&self) -> bool {
        self.opened_by_programs() && self.connects()
    }

    /// Whether the programs inherit the peers' ends.
    pub fn lends_ends(&self) -> bool {
        !self.opened_by_programs()
    }

    /// A path of the address.
    pub fn path(&self) -> &str {
        let member = if self.cell.transport == "fifo" { "to_server" } else { "path" };
        self.address.get(member).and_then(|path| path.as_str()).unwrap_or_default()
    }

    /// Host and port of the address.
    pub fn host_and_port(&self) -> (&str, u64) {
        let host = self.address.get("host").and_then(|host| host.as_str()).unwrap_or_default();
        (host, self.address.get("port").and_then(|port| port.as_u64()).unwrap_or_default())
    }

    /// The sender's arguments; it sends `bytes` zeros, or its input if the payload is checked.
    pub fn sender(&self, bytes: Option<u64>) -> Vec<String> {
        let from = match bytes {
            Some(bytes) => format!("OPEN:/dev/zero,readbytes={bytes}"),
            None => "STDIN".to_owned(),
        };
        let to = match self.cell.transport.as_str() {
            // The connection is for the next batch too, so this program must not shut it down.
            _ if self.lends_ends() => if self.connects() { "STDOUT,shut-none" } else { "STDOUT" }.to_owned(),
            "fifo" => format!("OPEN:{},wronly", escaped(self.path())),
            "unix" => format!("UNIX-CONNECT:{}{}", escaped(self.path()), self.buffers("")),
            _ => {
                let (host, port) = self.host_and_port();
                format!("TCP4:{host}:{port}{}{}{}", self.nodelay(), self.congestion(), self.buffers(""))
            }
        };
        self.complete(from, to)
    }

    /// The receiver's arguments. It stops after `bytes` if its input has no end: pipes, FIFOs and connections for the
    /// next batch too are held open.
    pub fn receiver(&self, bytes: u64, checked: bool) -> Vec<String> {
        let mut from = match self.cell.transport.as_str() {
            _ if self.lends_ends() => {
                format!("STDIN,readbytes={bytes}{}", if self.connects() { ",shut-none" } else { "" })
            }
            "fifo" => format!("OPEN:{},rdonly,readbytes={bytes}", escaped(self.path())),
            // Unix sockets do not inherit their listener's buffers.
            "unix" => format!("UNIX-LISTEN:{}{}", escaped(self.path()), self.buffers("-late")),
            _ => {
                let (host, port) = self.host_and_port();
                let (nodelay, buffers) = (self.nodelay(), self.buffers(""));
                format!("TCP4-LISTEN:{port},bind={host},reuseaddr{nodelay}{buffers}")
            }
        };
        if let Some(backlog) = self.cell.options.backlog().filter(|_| self.has_beside()) {
            let _ = write!(from, ",backlog={backlog}");
        }
        self.complete(from, if checked { "STDOUT" } else { "OPEN:/dev/null" }.to_owned())
    }

    fn complete(&self, from: String, to: String) -> Vec<String> {
        vec!["-u".to_owned(), "-b".to_owned(), self.cell.size.to_string(), from, to]
    }

    fn nodelay(&self) -> &'static str {
        if self.cell.options.sets_nodelay(self.cell.pattern) { ",nodelay" } else { "" }
    }

    /// socat has no name for it, and takes any option of a socket by its numbers: IPPROTO_TCP and TCP_CONGESTION. It decides how
    /// fast the side that sends may; the receiver needs none.
    fn congestion(&self) -> String {
        let name = self.cell.options.tcp_congestion();
        name.map(|name| format!(",setsockopt-string=6:13:{name}")).unwrap_or_default()
    }

    fn buffers(&self, when: &str) -> String {
        let set = |bytes: Option<u64>, name: &str| {
            bytes.map(|bytes| format!(",{name}{when}={bytes}")).unwrap_or_default()
        };
        set(self.cell.options.so_sndbuf(), "so-sndbuf") + &set(self.cell.options.so_rcvbuf(), "so-rcvbuf")
    }
}

/// A backslash escapes characters that separate words in an address (`socat(1)`).
fn escaped(path: &str) -> String {
    let mut text = String::new();
    for letter in path.chars() {
        if letter.is_ascii() && !letter.is_ascii_alphanumeric() && !"/._-".contains(letter) {
            text.push('\\');
        }
        text.push(letter);
    }
    text
}

#[cfg(test)]
mod tests {
    use ipcost_model::{OptionValue, Pattern};
    use serde_json::json;

    use super::*;

    fn route(transport: &str, started: bool, address: serde_json::Value) -> Route {
        let cell = Cell::new(Pattern::Stream, transport, 100);
        Route { cell, started, address: address.as_object().cloned().unwrap() }
    }

    #[test]
    fn command_lines_are_as_published() {
        let tcp = json!({ "host": "127.0.0.1", "port": 4000 });
        for (route, sender, receiver) in [
            (route("pipe", false, json!({})), "STDOUT", "STDIN,readbytes=900"),
            (
                route("fifo", false, json!({ "to_server": "/tmp/a b" })),
                "OPEN:/tmp/a\\ b,wronly",
                "OPEN:/tmp/a\\ b,rdonly,readbytes=900",
            ),
            (route("unix", false, json!({ "path": "/tmp/s" })), "UNIX-CONNECT:/tmp/s", "UNIX-LISTEN:/tmp/s"),
            (
                route("tcp", false, tcp.clone()),
                "TCP4:127.0.0.1:4000",
                "TCP4-LISTEN:4000,bind=127.0.0.1,reuseaddr",
            ),
            (route("tcp", true, tcp.clone()), "STDOUT,shut-none", "STDIN,readbytes=900,shut-none"),
        ] {
            let zero = "OPEN:/dev/zero,readbytes=900";
            assert_eq!(route.sender(Some(900)), ["-u", "-b", "100", zero, sender]);
            assert_eq!(route.receiver(900, false), ["-u", "-b", "100", receiver, "OPEN:/dev/null"]);
        }
        let mut set = route("tcp", false, tcp);
        for (name, value) in [("backlog", 7), ("so_rcvbuf", 4096)] {
            set.cell.options.set(name, OptionValue::Int(value)).unwrap();
        }
        set.cell.options.set("tcp_nodelay", OptionValue::Bool(true)).unwrap();
        set.cell.options.set("tcp_congestion", OptionValue::Text("cubic".to_owned())).unwrap();
        let connects = "TCP4:127.0.0.1:4000,nodelay,setsockopt-string=6:13:cubic,so-rcvbuf=4096";
        assert_eq!(set.sender(None)[3..], ["STDIN", connects]);
        let listens = "TCP4-LISTEN:4000,bind=127.0.0.1,reuseaddr,nodelay,so-rcvbuf=4096,backlog=7";
        assert_eq!(set.receiver(900, true)[3..], [listens, "STDOUT"]);
    }
}
