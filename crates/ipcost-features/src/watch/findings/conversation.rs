//! What is wrong with one conversation.

use std::net::SocketAddr;

use ipcost_lab::rules::{self, Rule};
use ipcost_model::facts::USUAL_PIPE_BYTES;
use ipcost_model::units::{counted, percent};
use ipcost_report::numbers::{rate, throughput};

use super::{Found, LEAST_CALLS, WAITS_FOR_QUEUE, finding, name};
use crate::watch::conversation_state::{ConversationKey, ConversationState, place};
use crate::watch::proc_table::ProcState;
use crate::watch::sampled::Moved;
use crate::watch::state::WatchState;
use crate::watch::{Conversation, ConversationPattern, Flow, Party, WatchFinding, WatchedTransport};

/// The share of the time that a sender has to wait for its reader.
const WAITS: f64 = 0.5;
/// Fewer samples of where processes wait say nothing about shares.
const LEAST_WAIT_SAMPLES: u32 = 5;
/// Connections a second from which on it matters that each carries one request.
const CONNECTIONS_PER_S: f64 = 1.0;
/// Bytes a second from which on it matters how a stream is sent.
const STREAM_BYTES_PER_S: f64 = 1e6;
/// A reader that asks for so much less at a time than is written.
const SMALL_READ: f64 = 0.25;
/// Messages longer than this are written in pieces for good reasons, bytes.
const SHORT_MESSAGE: u64 = 16 * 1024;
/// The share of calls that have to find nothing, and how many there have to be a second.
const EMPTY_SHARE: f64 = 0.5;
const EMPTY_PER_S: f64 = 100.0;
/// The share of reads that have to ask for the header of a TLS record.
const HEADERS_SHARE: f64 = 0.3;
/// Calls a second from which on names are resolved in a loop: one look-up makes some ten.
const LOOKUPS_PER_S: f64 = 10.0;
/// A stream that is written in smaller pieces, and so often a second, would be the same in fewer calls; bytes.
const SMALL_WRITE: f64 = 1024.0;
const SMALL_WRITES_PER_S: f64 = 5_000.0;
/// What a writer's buffer would collect, bytes.
const BUFFER: f64 = 65_536.0;
/// What a call, a connection and a look-up take about, seconds: findings come in the order of what they cost, and no figure is made of it.
const CALL_S: f64 = 0.3e-6;
const CONNECTION_S: f64 = 30e-6;
const LOOKUP_S: f64 = 100e-6;
/// How near a user's pages in pipes have to be to their limit: some may be gone since.
const NEAR_LIMIT: f64 = 0.9;
/// The port of name servers.
const DOMAIN: &str = ":53";

const ONE_LOOKUP: &str = "look a name up once and keep its address, or the connection";

/// A conversation with what is known of it.
pub(super) struct ConversationFindings<'a> {
    pub watch: &'a WatchState,
    pub key: &'a ConversationKey,
    pub state: &'a ConversationState,
    pub figures: &'a Conversation,
}

impl ConversationFindings<'_> {
    pub fn all(&self) -> Vec<Found> {
        let small_pipe = self.small_pipe();
        // A pipe gives no more than it holds.
        let asks_for_little = |is_client| self.small_reads(is_client).filter(|_| small_pipe.is_none());
        let of_samples: Vec<Found> = [true, false]
            .into_iter()
            .flat_map(|is_client| {
                [
                    asks_for_little(is_client),
                    self.pieces(is_client),
                    self.small_writes(is_client),
                    self.tls(is_client),
                ]
            })
            .flatten()
            .chain(self.name_server())
            .chain([true, false].into_iter().flat_map(|is_client| self.of_process(is_client)))
            .collect();
        let connections = self.connection_each().into_iter();
        connections
            .chain(self.held_up())
            .chain(self.congestion_control())
            .chain(small_pipe)
            .chain([true, false].into_iter().filter_map(|is_client| self.blocked(is_client)))
            .chain(self.nagle())
            .chain(self.dropped())
            .chain(of_samples)
            .collect()
    }

    /// A finding about one side, with what it costs: the share of the time, or of a processor.
    fn found(&self, rule: &Rule, is_client: bool, lost: f64, text: String, remedy: &str) -> Found {
        let address = Some(self.figures.address.clone());
        let finding = finding(rule, self.party(is_client).pid, address, text, remedy);
        Found { side: self.key.side(is_client).clone(), lost, finding }
    }

    fn party(&self, is_client: bool) -> &Party {
        if is_client { &self.figures.client } else { &self.figures.server }
    }

    fn name(&self, is_client: bool) -> String {
        name(self.party(is_client))
    }

    fn is_stream(&self) -> bool {
        self.figures.manner == Some(ConversationPattern::Stream)
    }

    fn connection_each(&self) -> Option<Found> {
        let per_s = self.figures.opened_per_s;
        let is_so = self.figures.manner == Some(ConversationPattern::Connections);
        (is_so && per_s >= CONNECTIONS_PER_S).then(|| {
            let text = format!(
                "{} opens connections to {}, {}, and asks little over each",
                self.name(true),
                self.name(false),
                rate(per_s)
            );
            let remedy = "keep connections open and use them again (a pool, keep-alive)";
            self.found(&rules::CONNECTION_EACH, true, per_s * CONNECTION_S, text, remedy)
        })
    }

    /// Streams over TCP that their readers hold up.
    fn held_up(&self) -> Vec<Found> {
        let shares =
            self.figures.tcp.iter().flat_map(|tcp| [(true, tcp.there_held_up), (false, tcp.back_held_up)]);
        let slow = shares.filter(|(_, share)| *share >= WAITS);
        slow.map(|(is_client, share)| self.slow_reader(is_client, share)).collect()
    }

    fn slow_reader(&self, is_writer_client: bool, share: f64) -> Found {
        let text = format!(
            "{} waits {} of the time for {} to read: the reader is the slower side",
            self.name(is_writer_client),
            percent(share.min(1.0)),
            self.name(!is_writer_client)
        );
        let remedy = "look into the reader (what it does between its reads); a larger buffer helps only against bursts";
        self.found(&rules::SLOW_READER, !is_writer_client, share, text, remedy)
    }

    fn congestion_control(&self) -> Option<Found> {
        let tcp = self.figures.tcp.as_ref()?;
        let moved = |flow: Option<Flow>| flow.map_or(0.0, |flow| flow.bytes_per_s);
        let (there, back) = (moved(self.figures.there), moved(self.figures.back));
        // Where the reader is slow, it is not the pacing that holds a stream up.
        let is_held_up = tcp.there_held_up.max(tcp.back_held_up) >= WAITS;
        let is_stream = self.is_stream() && there.max(back) >= STREAM_BYTES_PER_S;
        (tcp.congestion == "bbr" && is_stream && !is_held_up).then(|| {
            let is_client = there > back;
            let text = format!(
                "bbr paces what {} sends over loopback, {}",
                self.name(is_client),
                throughput(there.max(back))
            );
            let remedy = "set cubic for it (TCP_CONGESTION, or congctl lock cubic on a route to 127.0.0.0/8), or for all: sysctl -w net.ipv4.tcp_congestion_control=cubic";
            // How much it paces is not known; it is most of the time of such a stream.
            self.found(&rules::CONGESTION_CONTROL, is_client, WAITS, text, remedy)
        })
    }

    /// What is wrong with a pipe that holds less than pipes do, since its user has too many pages in others.
    fn small_pipe(&self) -> Option<Found> {
        let evidence = &self.watch.evidence;
        let bytes = self.state.open.as_ref()?.pipe_bytes.filter(|bytes| *bytes < USUAL_PIPE_BYTES)?;
        let limit = evidence.pipe_pages_limit?;
        let moves = self.figures.there.is_some_and(|there| there.bytes > 0);
        let user = self.watch.procs.get(self.key.client.process()?)?.program.user;
        let (pages, most, of_most) = *evidence.pipe_pages.get(&user)?;
        (moves && pages as f64 >= NEAR_LIMIT * limit as f64).then(|| {
            let text = format!(
                "the pipe from {} to {} holds {bytes} B at a time in place of 64 KiB: their user has {pages} pages in pipes, {of_most} of them {}, and fs.pipe-user-pages-soft allows {limit}",
                self.name(true),
                self.name(false),
                self.watch.name(most.pid)
            );
            let remedy =
                "end what holds them, or raise fs.pipe-user-pages-soft; pipes that are there keep their size";
            // What it costs is not known: several times as many calls and switches as there would be.
            self.found(&rules::PIPE_PAGES, true, WAITS, text, remedy)
        })
    }

    /// That a writer was often found waiting for room.
    fn blocked(&self, is_client: bool) -> Option<Found> {
        let all = self.state.wait_samples;
        let share = f64::from(self.state.blocked[place(is_client)]) / f64::from(all);
        if all < LEAST_WAIT_SAMPLES {
            return None;
        }
        if self.figures.medium == WatchedTransport::UnixDgram && share >= WAITS_FOR_QUEUE {
            let text = format!(
                "{} waits {} of the time for room in the queue of {}",
                self.name(is_client),
                percent(share),
                self.name(!is_client)
            );
            let remedy = "read faster, or lengthen the queue (net.unix.max_dgram_qlen)";
            return Some(self.found(&rules::DATAGRAM_QUEUE, !is_client, share, text, remedy));
        }
        (share >= WAITS).then(|| self.slow_reader(is_client, share))
    }

    /// Less than a segment that waits for a delayed acknowledgement, as `explain` recognises it.
    fn nagle(&self) -> Option<Found> {
        let seconds = self.state.watched_for.as_secs_f64();
        let [by_client, by_server] = &self.state.held_back;
        let is_client = by_client.ns >= by_server.ns;
        let (held, moved, what) = match is_client {
            true => (by_client, self.figures.there, "request"),
            false => (by_server, self.figures.back, "reply"),
        };
        let share = held.ns as f64 / 1e9 / seconds.max(1e-9);
        if held.waits == 0 || share < rules::LEAST_HELD_BACK {
            return None;
        }
        let ms = held.ns as f64 / held.waits as f64 / 1e6;
        // Where few wait, that is what the others do not show.
        let all = self.figures.requests_per_s.unwrap_or_default() * seconds;
        let each = all / held.waits as f64;
        let of = if each >= 2.0 { format!(", one {what} of {each:.0}") } else { String::new() };
        let sizes = moved.and_then(|flow| flow.message_bytes).map_or_else(String::new, |sizes| {
            format!(
                "; half of them have at most {:.0} B, one in a hundred more than {:.0} B",
                sizes.median, sizes.p99
            )
        });
        let name = self.name(is_client);
        let text = format!(
            "{name} {}: {} in {seconds:.1} s less than a segment waited {ms:.0} ms for an acknowledgement{of}{sizes}",
            rules::holds_back(held.nodelay),
            counted(held.waits, "time"),
        );
        let remedy = format!("set TCP_NODELAY in {name}, or write each {what} with one call");
        Some(self.found(&rules::NAGLE, is_client, share, text, &remedy))
    }

    fn dropped(&self) -> Option<Found> {
        if self.figures.medium != WatchedTransport::Udp {
            return None;
        }
        let dropped = *self.watch.evidence.dropped.get(&self.key.server.process()?)?;
        let text = format!(
            "{} for {} were dropped, since it reads more slowly than they come",
            counted(dropped, "datagram"),
            self.name(false)
        );
        let remedy = "read faster, or give the socket a larger buffer (SO_RCVBUF, net.core.rmem_max)";
        // What is lost has to be sent again, or is missed.
        Some(self.found(&rules::DATAGRAM_QUEUE, false, WAITS, text, remedy))
    }

    /// What calls of a side have taken and given, by samples.
    fn moved(&self, is_client: bool) -> (&Moved, &Moved) {
        let end = &self.state.sampled[place(is_client)];
        (&end.taken, &end.given)
    }

    fn small_reads(&self, is_client: bool) -> Option<Found> {
        let ((taken, _), (_, written)) = (self.moved(is_client), self.moved(!is_client));
        let (read, written) = (mean_bytes(taken), mean_bytes(written));
        let is_small = read > 0.0 && read <= SMALL_READ * written;
        (taken.call_sizes.count() >= LEAST_CALLS && is_small).then(|| {
            let text = format!(
                "{} reads {read:.0} B at a time of what {} writes {written:.0} B at a time",
                self.name(is_client),
                self.name(!is_client)
            );
            self.of_calls(&rules::SMALL_READS, is_client, taken, text, "read into a larger buffer")
        })
    }

    /// A finding that costs the calls with which so much was moved.
    fn of_calls(&self, rule: &Rule, is_client: bool, moved: &Moved, text: String, remedy: &str) -> Found {
        self.found(rule, is_client, moved.sum.calls / self.watch.seconds() * CALL_S, text, remedy)
    }

    fn pieces(&self, is_client: bool) -> Option<Found> {
        let (_, given) = self.moved(is_client);
        let is_short = given.sizes.quantile(0.5).is_some_and(|bytes| bytes <= SHORT_MESSAGE);
        let is_in_pieces = given.messages >= LEAST_CALLS && given.in_pieces * 2 >= given.messages;
        (is_in_pieces && is_short).then(|| {
            let text = format!(
                "{} writes a {} to {} with {:.1} calls",
                self.name(is_client),
                if is_client { "request" } else { "reply" },
                self.name(!is_client),
                given.calls_of_messages as f64 / given.messages as f64
            );
            let remedy = "collect it in a buffer, or hand all parts to one writev() or sendmsg()";
            self.of_calls(&rules::PIECES, is_client, given, text, remedy)
        })
    }

    fn small_writes(&self, is_client: bool) -> Option<Found> {
        let (_, given) = self.moved(is_client);
        // A sample of very many calls misses some; where all are counted, it is not asked.
        let counted = self.state.counted[place(is_client)].given;
        let is_counted =
            self.watch.counts_calls && self.figures.medium != WatchedTransport::Tcp && counted.calls > 0;
        let (written, calls) = match is_counted {
            true => (counted.bytes as f64 / counted.calls as f64, counted.calls as f64),
            false => (mean_bytes(given), given.sum.calls),
        };
        let per_s = calls / self.watch.seconds();
        let is_many = given.call_sizes.count() >= LEAST_CALLS && per_s >= SMALL_WRITES_PER_S;
        (self.is_stream() && is_many && written <= SMALL_WRITE).then(|| {
            let text = format!(
                "{} writes {written:.0} B at a time to {}, {}; a buffer of 64 KiB would make that {}",
                self.name(is_client),
                self.name(!is_client),
                rate(per_s),
                rate(per_s * written / BUFFER)
            );
            let remedy = "write through a buffer (setvbuf, BufWriter, bufio)";
            self.found(&rules::SMALL_WRITES, is_client, per_s * CALL_S, text, remedy)
        })
    }

    fn tls(&self, is_client: bool) -> Option<Found> {
        let (taken, _) = self.moved(is_client);
        let reads = taken.call_sizes.count();
        let is_tcp = self.figures.medium == WatchedTransport::Tcp;
        let of_headers = taken.headers as f64 / reads as f64;
        let reads_headers = reads >= LEAST_CALLS && of_headers >= HEADERS_SHARE;
        (is_tcp && reads_headers && is_loopback(&self.figures.address)).then(|| {
            let text = format!(
                "{} speaks TLS with {} over loopback: {} of its reads ask for the 5 B of a record's header",
                self.name(is_client),
                self.name(!is_client),
                percent(of_headers)
            );
            let remedy = "a Unix socket needs no encryption: the kernel keeps others out by the permissions of its path";
            self.of_calls(&rules::TLS, is_client, taken, text, remedy)
        })
    }

    fn name_server(&self) -> Option<Found> {
        let Conversation { medium, address, .. } = self.figures;
        let asks = self.figures.requests_per_s.unwrap_or_default();
        (*medium == WatchedTransport::Udp && address.ends_with(DOMAIN) && asks >= 1.0).then(|| {
            let text = format!("{} looks names up, {} at {address}", self.name(true), rate(asks));
            self.found(&rules::NAME_RESOLUTION, true, asks * LOOKUP_S, text, ONE_LOOKUP)
        })
    }

    /// What a side does wherever it talks.
    fn of_process(&self, is_client: bool) -> Vec<Found> {
        let known = self.key.side(is_client).process().and_then(|id| self.watch.procs.get(id));
        let found = known.into_iter().flat_map(|known| {
            [self.lookups(is_client, known), self.empty_polls(is_client, known)].into_iter().flatten()
        });
        let anywhere =
            |found: Found| Found { finding: WatchFinding { address: None, ..found.finding }, ..found };
        found.map(anywhere).collect()
    }

    fn lookups(&self, is_client: bool, known: &ProcState) -> Option<Found> {
        let per_s = known.lookups as f64 / self.watch.traced_for.as_secs_f64().max(1e-9);
        (per_s >= LOOKUPS_PER_S).then(|| {
            let calls = rate(per_s);
            let name = self.name(is_client);
            let text = format!("{name} resolves names: {calls} calls for that while it was traced");
            self.found(&rules::NAME_RESOLUTION, is_client, per_s * LOOKUP_S, text, ONE_LOOKUP)
        })
    }

    fn empty_polls(&self, is_client: bool, known: &ProcState) -> Option<Found> {
        let process = &known.sampled;
        let per_s = process.empty / self.watch.seconds();
        (process.empty >= EMPTY_SHARE * process.calls && per_s >= EMPTY_PER_S).then(|| {
            let text = format!(
                "{} polls without result: {} of its calls return nothing, {}",
                self.name(is_client),
                percent(process.empty / process.calls),
                rate(per_s)
            );
            let remedy =
                "wait in poll() or epoll_wait() with a time-out, and read until less comes than was asked for";
            self.found(&rules::EMPTY_POLLS, is_client, per_s * CALL_S, text, remedy)
        })
    }
}

fn mean_bytes(moved: &Moved) -> f64 {
    moved.sum.bytes / moved.sum.calls.max(1e-9)
}

fn is_loopback(address: &str) -> bool {
    address.parse().is_ok_and(|at: SocketAddr| at.ip().is_loopback())
}
