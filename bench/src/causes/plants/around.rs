//! What lies in a cell's options, its placement, or the system around it.

use super::needs::Need;
use super::{PLAIN, Plant, PlantMethod, READS, SWITCHES, WRITES};
use crate::causes::judge::any;

/// Plants around the sides.
pub(super) const PLANTS: &[Plant] = &[
    Plant {
        name: "nagle",
        what: "a client that sends a header and a body without TCP_NODELAY",
        work: "rr/tcp/200/c1",
        way: PlantMethod::Options("/tcp_nodelay=false,writes=2,writes_by=client"),
        accepts: &[any("nagle")],
        company: &[SWITCHES, WRITES, READS],
        ..PLAIN
    },
    Plant {
        name: "nagle-server",
        what: "a server that does",
        work: "rr/tcp/200/c1",
        way: PlantMethod::Options("/tcp_nodelay=false,writes=2,writes_by=server"),
        accepts: &[any("nagle")],
        company: &[SWITCHES, WRITES, READS],
        ..PLAIN
    },
    Plant {
        name: "small-buffer",
        what: "a pipe of 4 KiB under messages of 64 KiB",
        work: "stream/pipe/65536/c1",
        way: PlantMethod::Options("/pipe_size=4096"),
        accepts: &[any("small-buffer")],
        company: &[SWITCHES, WRITES, READS, any("one-core")],
        ..PLAIN
    },
    Plant {
        name: "small-socket-buffer",
        what: "a socket buffer of 64 KiB, less than the default, under messages of 1 MiB",
        work: "rr/socketpair/1048576/c1",
        way: PlantMethod::Options("/so_sndbuf=65536"),
        accepts: &[any("small-buffer")],
        company: &[SWITCHES, WRITES, READS, any("one-core")],
        ..PLAIN
    },
    Plant {
        name: "message-reads",
        what: "a stream is read a message of 1500 B at a time, though more lies ready",
        work: "stream/tcp/1500/c1/together",
        way: PlantMethod::Options("/recv_buffer=1500"),
        accepts: &[any("small-reads")],
        company: &[READS],
        already: &[any("one-core"), any("nagle")],
        ..PLAIN
    },
    Plant {
        name: "small-reads",
        what: "a stream is read 512 B at a time",
        work: "stream/unix/65536/c1",
        way: PlantMethod::Options("/recv_buffer=512"),
        accepts: &[any("small-reads")],
        company: &[READS],
        ..PLAIN
    },
    Plant {
        name: "descriptor-table",
        what: "threads share a table of descriptors",
        work: "stream/pipe/64/c1/together",
        way: PlantMethod::Against("/descriptor_table=shared"),
        accepts: &[any("descriptor-table")],
        already: &[any("one-core")],
        needs: &[Need::NotPython],
        ..PLAIN
    },
    Plant {
        name: "one-core",
        what: "both sides of a stream on one core",
        work: "stream/unix/4096/c1",
        way: PlantMethod::Placement("/together"),
        accepts: &[any("one-core")],
        company: &[SWITCHES],
        needs: &[Need::Cores],
        ..PLAIN
    },
    Plant {
        name: "hand-over",
        what: "a round trip across two cores, against one",
        way: PlantMethod::Placements("/apart", "/together"),
        accepts: &[any("hand-over")],
        needs: &[Need::Cores],
        ..PLAIN
    },
    Plant {
        name: "cpu-quota",
        what: "a quota of 0.2 processors",
        way: PlantMethod::Quota(0.2),
        accepts: &[any("cpu-quota")],
        needs: &[Need::Quotas],
        ..PLAIN
    },
    Plant {
        name: "busy-neighbour",
        what: "two processes that take the processors in bursts",
        way: PlantMethod::Hogs(2),
        accepts: &[any("busy-neighbour")],
        ..PLAIN
    },
    Plant {
        name: "firewall",
        what: "a rule that tracks connections of loopback",
        work: "rr/tcp/64/c1",
        way: PlantMethod::Namespace(
            "nft add table ip t; nft add chain ip t c '{ type filter hook input priority 0; }'; \
             nft add rule ip t c ct state established counter",
            "",
        ),
        accepts: &[any("firewall")],
        needs: &[Need::Namespaces, Need::Firewall],
        ..PLAIN
    },
    Plant {
        name: "backlog",
        what: "a listener's queue of one, and 24 clients",
        work: "connect/tcp/64/c24",
        way: PlantMethod::Namespace("echo 1 > /proc/sys/net/core/somaxconn", ""),
        accepts: &[any("backlog")],
        needs: &[Need::Namespaces],
        ..PLAIN
    },
    Plant {
        name: "ports",
        what: "a hundred local ports",
        work: "connect/tcp/64/c1",
        way: PlantMethod::Namespace(
            "echo '50000 50100' > /proc/sys/net/ipv4/ip_local_port_range; \
             echo 0 > /proc/sys/net/ipv4/tcp_tw_reuse",
            "/closes_first=client,spread_sources=false",
        ),
        accepts: &[any("ports")],
        needs: &[Need::Namespaces],
        ..PLAIN
    },
    Plant {
        name: "none-stream",
        what: "nothing, a stream over TCP",
        work: "stream/tcp/1500/c1/apart",
        way: PlantMethod::Nothing,
        // The end of every burst waits, which the explanation says is to be left.
        already: &[any("nagle")],
        ..PLAIN
    },
    Plant { name: "none", what: "nothing, over a Unix socket", way: PlantMethod::Nothing, ..PLAIN },
    Plant {
        name: "none-tcp",
        what: "nothing, over TCP",
        work: "rr/tcp/64/c1",
        way: PlantMethod::Nothing,
        ..PLAIN
    },
];
