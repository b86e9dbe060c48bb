//! The connections of conversations, as what their ends call on.

use std::collections::HashMap;
use std::net::SocketAddr;

use ipcost_sys::observed::{CalledOn, Held, TcpState};

use super::super::conversation_state::ConversationKey;
use super::super::leads::{Leads, pipes};
use super::super::observation::Observation;
use super::super::proc_table::{ProcId, ProcTable};

/// A connection between two processes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Connection {
    pub key: ConversationKey,
    /// The client's process and the server's.
    pub processes: [ProcId; 2],
    /// All that have either end: who was forked may use what was inherited.
    pub holders: Vec<u32>,
    /// What the client writes to and reads from, then the server.
    pub client: [CalledOn; 2],
    pub server: [CalledOn; 2],
}

/// Those of an observation, over TCP, Unix sockets, and pairs of pipes.
pub(crate) fn connections(seen: &Observation, leads: &Leads, procs: &ProcTable) -> Vec<Connection> {
    let mut found = Vec::new();
    let mut holders: HashMap<u32, Vec<u32>> = HashMap::new();
    for (id, program) in procs.live() {
        for (_, held) in program.held.iter().flatten() {
            if let Held::Socket(inode) = held
                && leads.sockets.contains_key(inode)
            {
                holders.entry(*inode).or_default().push(id.pid);
            }
        }
    }
    let mut add = |client: u32, server: u32| {
        let (Some((key, true)), Some((other, false))) =
            (leads.sockets.get(&client), leads.sockets.get(&server))
        else {
            return;
        };
        if key != other {
            return;
        }
        if let (Some(one), Some(two)) = (key.client.process(), key.server.process()) {
            let of = |inode: u32| holders.get(&inode).into_iter().flatten().copied();
            let holders = of(client).chain(of(server)).collect();
            let [client, server] = [client, server].map(|inode| [CalledOn::Socket(inode); 2]);
            found.push(Connection { key: key.clone(), processes: [one, two], holders, client, server });
        }
    };
    for socket in &seen.unix {
        if let Some(peer) = socket.peer {
            add(socket.inode, peer);
        }
    }
    let connected = seen.tcp.iter().filter(|socket| socket.state == TcpState::Connected && socket.inode != 0);
    let mut by_addresses: HashMap<(SocketAddr, SocketAddr), Vec<u32>> = HashMap::new();
    for socket in connected.clone() {
        by_addresses.entry((socket.local, socket.remote)).or_default().push(socket.inode);
    }
    for socket in connected {
        // In several networks there may be several of these addresses.
        if let Some([server]) = by_addresses.get(&(socket.remote, socket.local)).map(Vec::as_slice) {
            add(socket.inode, *server);
        }
    }
    found.extend(pairs_of_pipes(procs));
    found
}

/// Two processes of which each writes what the other one reads. The client is the parent of the other one, or began later.
fn pairs_of_pipes(procs: &ProcTable) -> Vec<Connection> {
    let mut ways: HashMap<(ProcId, ProcId), Vec<(u64, ConversationKey)>> = HashMap::new();
    for pipe in pipes(procs).into_iter().filter(|pipe| !pipe.is_for_errors) {
        if let (Some(from), Some(to)) = (pipe.key.client.process(), pipe.key.server.process()) {
            ways.entry((from, to)).or_default().push((pipe.inode, pipe.key));
        }
    }
    let parent = |id: ProcId| procs.get(id).map(|known| known.program.parent);
    let mut found = Vec::new();
    for ((from, to), there) in &ways {
        // Of several pipes one way, it cannot be told which belong together.
        let ([(there, key)], Some([(back, _)])) =
            (there.as_slice(), ways.get(&(*to, *from)).map(Vec::as_slice))
        else {
            continue;
        };
        let is_client = match (parent(*to) == Some(from.pid), parent(*from) == Some(to.pid)) {
            (true, _) => true,
            (_, true) => false,
            _ => (from.started, from.pid) > (to.started, to.pid),
        };
        if is_client {
            let [there, back] = [*there, *back].map(CalledOn::Pipe);
            found.push(Connection {
                key: key.clone(),
                processes: [*from, *to],
                holders: vec![from.pid, to.pid],
                client: [there, back],
                server: [back, there],
            });
        }
    }
    found
}
