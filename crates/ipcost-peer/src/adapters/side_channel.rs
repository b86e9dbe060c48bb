//! A side channel between the two sides of an adapter, for use while the program they drive is idle.

use std::path::Path;
use std::thread;
use std::time::Duration;

use ipcost_model::protocol::Address;
use ipcost_model::{Cell, Options, Pattern};
use ipcost_sys::driven_program;
use ipcost_sys::transport::{self, Connection, Rendezvous, Server, Transport};

use crate::adapters::{refused, system};
use crate::{JoinedReports, Order, PeerError, Prepared, Role, RoleState, Workers, receive_all, send_all};

/// The member of a server's address with the side channel.
const MEMBER: &str = "beside";
/// How long the other side, which knows best why it is gone, has to report it first.
const LAST_WORDS: Duration = Duration::from_millis(100);

/// A name without a file: a server that was there already may have its socket where this peer may not create one.
fn names() -> Result<&'static dyn Transport, PeerError> {
    transport::find("unix-abstract").ok_or_else(|| refused("there are no abstract names here"))
}

fn cell_beside(cell: &Cell) -> Cell {
    Cell { pattern: Pattern::Rr, concurrency: 1, options: Options::default(), ..cell.clone() }
}

/// Waits for the client at a private name, which is added to the server's address.
pub fn offer(cell: &Cell, address: &mut Address) -> Result<Box<dyn Server>, PeerError> {
    let cell = cell_beside(cell);
    let place = Rendezvous { dir: Path::new(""), name: "beside", cell: &cell };
    let server = names()?.serve(&names()?.provision(&place)?.server, &cell)?;
    address.insert(MEMBER.to_owned(), server.address().into());
    Ok(server)
}

/// Whether a server's address has a side channel.
pub fn is_offered(address: &Address) -> bool {
    address.contains_key(MEMBER)
}

/// Connects to the server's side channel.
pub fn reach(cell: &Cell, address: &Address) -> Result<Words, PeerError> {
    let Some(beside) = address.get(MEMBER).and_then(|beside| beside.as_object()) else {
        return Err(refused(format!(
            "the server's address has no connection {MEMBER}, so it is not a peer of the same kind; give both sides the same"
        )));
    };
    let mut client = names()?.reach(beside, &cell_beside(cell), 0)?;
    Ok(Words(client.connect()?))
}

/// A client's role: its workers, and a word to the other side after each batch.
pub fn client(workers: Workers, count: u32, words: Words) -> Result<Prepared, PeerError> {
    let part = RoleState::Playing(Box::new(SideChannelClient { workers, count: count.into(), words }));
    Ok(Prepared { address: Address::new(), effective: Vec::new(), part })
}

struct SideChannelClient {
    workers: Workers,
    /// How many they are.
    count: u64,
    words: Words,
}

impl Role for SideChannelClient {
    fn run(&mut self, order: Order) -> Result<JoinedReports, PeerError> {
        let (together, _) = self.workers.run(Order { ops: order.ops / self.count, ..order })?;
        // After reading the clock and the usage.
        self.words.say_done()?;
        Ok(together)
    }
}

/// One-byte messages, over a connection that nothing else uses at that time.
pub struct Words(pub Connection);

impl Words {
    /// Messages over the accepted channel.
    pub fn over(channels: Vec<Connection>) -> Result<Self, PeerError> {
        channels.into_iter().next().map(Self).ok_or_else(|| refused("no peer has connected"))
    }

    /// Messages over the client's side channel. Any user of this machine can connect to such a name.
    pub fn of_client(channels: Vec<Connection>) -> Result<Self, PeerError> {
        let Self(connection) = Self::over(channels)?;
        let action = "cannot tell who has connected";
        if driven_program::is_a_strangers(&connection).map_err(system(action))? {
            return Err(refused("another user has connected instead of the client"));
        }
        Ok(Self(connection))
    }

    /// Sends a message; returns whether the other side is still there.
    pub fn say(&mut self) -> bool {
        send_all(&mut self.0, b"w").is_ok()
    }

    /// The same at the end of a batch, when the other side must be there.
    pub fn say_done(&mut self) -> Result<(), PeerError> {
        self.say().then_some(()).ok_or_else(|| refused("the server's side ended before the batch did"))
    }

    /// Waits for a message; returns whether one came.
    pub fn hear(&mut self) -> bool {
        receive_all(&mut self.0, &mut [0]).is_ok()
    }
}

/// Gives the other side time to report first why it is gone.
pub fn let_others_speak() {
    thread::sleep(LAST_WORDS);
}
