//! What the floors of a hand-over have in common: a shared word that the two sides hand back and forth.

use std::io;
use std::sync::atomic::AtomicU32;

use ipcost_model::protocol::Address;
use serde::{Deserialize, Serialize};

use super::inherited::{InheritedClient, InheritedServer, number, take};
use super::{Channel, Client, Connection, Provision, Server, TransportError, from_address, to_address};
use crate::Context;
use crate::shared_word::{self, SharedWord};

/// How a side hands the word over, and waits until it has it back.
pub trait HandOver: Send + Sync + 'static {
    /// The word has just been written: whoever waits for it is to notice.
    ///
    /// # Errors
    /// The system's answer.
    fn tell(word: &AtomicU32) -> io::Result<()>;

    /// Waits until the word is no longer `seen`; what it is then.
    ///
    /// # Errors
    /// The system's answer, or that the engine is gone.
    fn wait(word: &AtomicU32, seen: u32) -> io::Result<u32>;
}

/// Memory that the process has inherited.
#[derive(Serialize, Deserialize)]
struct Memory {
    memory_fd: i32,
}

/// Makes the word; both sides inherit a descriptor of it.
pub fn provision() -> Result<Provision, TransportError> {
    let server = shared_word::create()?;
    let client = server.try_clone().context(|| "cannot share memory with the client".to_owned())?;
    let address = |memory_fd| to_address(&Memory { memory_fd });
    Ok(Provision {
        server: address(number(&server)),
        client: Some(address(number(&client))),
        server_inherits: vec![server],
        client_inherits: vec![client],
        ..Provision::default()
    })
}

/// The server's end.
pub fn serve<M: HandOver>(
    transport: &'static str,
    address: &Address,
) -> Result<Box<dyn Server>, TransportError> {
    Ok(Box::new(InheritedServer::new(address, vec![hands::<M>(transport, address)?])))
}

/// The client's end.
pub fn reach<M: HandOver>(
    transport: &'static str,
    address: &Address,
) -> Result<Box<dyn Client>, TransportError> {
    Ok(Box::new(InheritedClient::new(hands::<M>(transport, address)?)))
}

fn hands<M: HandOver>(transport: &'static str, address: &Address) -> Result<Hands<M>, TransportError> {
    let Memory { memory_fd } = from_address(transport, address)?;
    Ok(Hands::new(SharedWord::map(take(memory_fd)?)?))
}

/// One side. What it sends is the number that the word becomes, four bytes in the machine's order, and what it
/// receives the number that the other side has made of it. The two take turns.
struct Hands<M> {
    word: SharedWord,
    /// What the word was when this side had it last.
    last: u32,
    manner: std::marker::PhantomData<M>,
}

impl<M> Hands<M> {
    fn new(word: SharedWord) -> Self {
        Self { word, last: 0, manner: std::marker::PhantomData }
    }
}

impl<M: HandOver> Channel for Hands<M> {
    #[inline]
    fn send(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let number: [u8; 4] = bytes.try_into().map_err(|_| not_a_number())?;
        self.last = u32::from_ne_bytes(number);
        self.word.store(self.last, std::sync::atomic::Ordering::Release);
        M::tell(&self.word)?;
        Ok(number.len())
    }

    #[inline]
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let number: &mut [u8; 4] = buffer.try_into().map_err(|_| not_a_number())?;
        self.last = M::wait(&self.word, self.last)?;
        *number = self.last.to_ne_bytes();
        Ok(number.len())
    }
}

impl<M: HandOver> From<Hands<M>> for Connection {
    fn from(hands: Hands<M>) -> Self {
        Self::Other(Box::new(hands))
    }
}

fn not_a_number() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "a hand-over carries a number of four bytes")
}

/// Two sides of one word, for tests.
#[cfg(test)]
pub fn pair<M: HandOver>() -> Result<[Box<dyn Channel>; 2], crate::SysError> {
    let memory = shared_word::create()?;
    let side = || Ok(Box::new(Hands::<M>::new(SharedWord::map(&memory)?)) as Box<dyn Channel>);
    Ok([side()?, side()?])
}
