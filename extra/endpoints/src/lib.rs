//! Common parts of peers that use a library's sockets, named by URLs: `ipc://` for `unix`, `tcp://` for `tcp`.
//!
//! Every worker has its own socket on either side, and the server tells the client their URLs.

use std::collections::VecDeque;
use std::io;
use std::marker::PhantomData;
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use ipcost_model::protocol::Address;
use ipcost_model::{Capabilities, Cell, Delivery, Pattern};
use ipcost_peer::Library;
use ipcost_sys::transport::{
    Channel, Client, Connection, Provision, Rendezvous, Server, Transport, Waitable,
};
use ipcost_sys::{Context, SysError};
use serde_json::{Value, json};

/// How long a call waits before it checks for the other side: libraries wait for ever for one that is gone.
pub const PATIENCE: Duration = Duration::from_secs(1);

/// The error for one that does not.
pub fn ended() -> io::Error {
    ipcost_peer::ended()
}

/// A library's socket. One send is one message.
pub trait Endpoint: Channel + Sized + 'static {
    /// The patterns that it supports.
    const PATTERNS: &'static [Pattern] = &[Pattern::Rr, Pattern::Stream];

    /// Listens; returns the resulting URL.
    fn listen(url: &str, pattern: Pattern) -> io::Result<(Self, String)>;

    fn dial(url: &str, pattern: Pattern) -> io::Result<Self>;
}

/// Runs a library's peer on standard input and output.
pub fn play<E: Endpoint>(name: &'static str, runtime: String) -> ExitCode {
    let transports: &'static [&'static dyn Transport] = Box::leak(Box::new([
        &const { Over::<E>::new(&UNIX) } as &dyn Transport,
        &const { Over::<E>::new(&TCP) },
    ]));
    let library = Library { name, runtime, transports, patterns: E::PATTERNS };
    if ipcost_peer::run(Ok(Box::new(library))) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

const UNIX: Capabilities = Capabilities { name: "unix", ..LIBRARY };
const TCP: Capabilities = Capabilities { name: "tcp", ..LIBRARY };
const LIBRARY: Capabilities =
    Capabilities { summary: "a library's sockets", delivery: Delivery::Message, ..Capabilities::PLAIN };

/// The key of the server's URLs, one for each worker.
const URLS: &str = "urls";

struct Over<E> {
    capabilities: &'static Capabilities,
    endpoint: PhantomData<fn() -> E>,
}

impl<E> Over<E> {
    const fn new(capabilities: &'static Capabilities) -> Self {
        Self { capabilities, endpoint: PhantomData }
    }

    /// Where a worker's socket listens.
    fn url(&self, address: &Address, worker: u32) -> Result<String, SysError> {
        let text = |key, missing| {
            let value = address.get(key).and_then(Value::as_str);
            value.ok_or(SysError::Invalid(missing))
        };
        if self.capabilities.name == TCP.name {
            return Ok(format!("tcp://{}:0", text("host", "the address has no host")?));
        }
        let path = text("path", "the address has no path")?;
        Ok(if worker == 0 { format!("ipc://{path}") } else { format!("ipc://{path}.{worker}") })
    }
}

impl<E: Endpoint> Transport for Over<E> {
    fn capabilities(&self) -> &'static Capabilities {
        self.capabilities
    }

    fn provision(&self, _place: &Rendezvous<'_>) -> Result<Provision, SysError> {
        Err(SysError::Invalid("the engine provides for its own transports"))
    }

    fn serve(&self, address: &Address, cell: &Cell) -> Result<Box<dyn Server>, SysError> {
        let (mut endpoints, mut urls) = (VecDeque::new(), Vec::new());
        for worker in 0..cell.concurrency {
            let url = self.url(address, worker)?;
            let (endpoint, bound) = E::listen(&url, cell.pattern).context(|| url.clone())?;
            endpoints.push_back(endpoint);
            urls.push(bound);
        }
        let mut address = address.clone();
        address.insert(URLS.to_owned(), json!(urls));
        Ok(Box::new(Listening { address, endpoints: Mutex::new(endpoints) }))
    }

    fn reach(&self, address: &Address, cell: &Cell, worker: u32) -> Result<Box<dyn Client>, SysError> {
        let urls = address.get(URLS).and_then(Value::as_array);
        let url = urls.and_then(|urls| urls.get(worker as usize)).and_then(Value::as_str);
        let missing = SysError::Invalid("the server is not a peer of the same library");
        Ok(Box::new(Dialling::<E> {
            url: url.ok_or(missing)?.to_owned(),
            pattern: cell.pattern,
            endpoint: PhantomData,
        }))
    }
}

struct Listening<E> {
    address: Address,
    endpoints: Mutex<VecDeque<E>>,
}

impl<E: Endpoint> Server for Listening<E> {
    fn address(&self) -> Address {
        self.address.clone()
    }

    fn try_accept(&mut self) -> Result<Option<Connection>, SysError> {
        let next = self.endpoints.get_mut().unwrap_or_else(PoisonError::into_inner).pop_front();
        Ok(next.map(|endpoint| Connection::Other(Box::new(endpoint))))
    }

    fn accept(&self) -> io::Result<Connection> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn waiting(&self) -> Option<Waitable<'_>> {
        None
    }
}

struct Dialling<E> {
    url: String,
    pattern: Pattern,
    endpoint: PhantomData<fn() -> E>,
}

impl<E: Endpoint> Client for Dialling<E> {
    fn connect(&mut self) -> Result<Connection, SysError> {
        let endpoint = E::dial(&self.url, self.pattern).context(|| self.url.clone())?;
        Ok(Connection::Other(Box::new(endpoint)))
    }
}

/// The length of a message that is copied out whole.
pub fn whole(length: usize, buffer: &[u8]) -> io::Result<usize> {
    if length <= buffer.len() {
        return Ok(length);
    }
    Err(io::Error::other(format!("a message of {length} bytes came where {} were expected", buffer.len())))
}
