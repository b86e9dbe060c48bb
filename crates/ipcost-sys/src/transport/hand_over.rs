//! Common parts of the hand-over floors: a shared word that the two sides hand back and forth.

use std::io;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU32, Ordering};

use ipcost_model::protocol::Address;
use serde::{Deserialize, Serialize};

use super::inherited::{InheritedClient, InheritedServer, number, take};
use super::part::{FloorPartLoop, HandOver};
use super::{Client, Connection, Provision, Server, from_address, to_address};
use crate::shared_word::{self, SharedWord};
use crate::{Context, SysError};

/// How one side signals that the other has the word, and waits for it.
pub trait Signal: Send + Sync + 'static {
    /// Signals that the word has just been written.
    fn signal(word: &AtomicU32) -> io::Result<()>;

    /// Waits until the word is no longer `seen`; returns its new value.
    fn wait(word: &AtomicU32, seen: u32) -> io::Result<u32>;
}

#[derive(Serialize, Deserialize)]
struct Memory {
    memory_fd: i32,
}

/// Creates the word; each side inherits a descriptor for it.
pub fn provision() -> Result<Provision, SysError> {
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

pub fn serve<S: Signal>(transport: &'static str, address: &Address) -> Result<Box<dyn Server>, SysError> {
    Ok(Box::new(InheritedServer::new(address, vec![hands::<S>(transport, address)?])))
}

pub fn reach<S: Signal>(transport: &'static str, address: &Address) -> Result<Box<dyn Client>, SysError> {
    Ok(Box::new(InheritedClient::new(hands::<S>(transport, address)?)))
}

fn hands<S: Signal>(transport: &'static str, address: &Address) -> Result<Hands<S>, SysError> {
    let Memory { memory_fd } = from_address(transport, address)?;
    Ok(Hands::new(SharedWord::map(take(memory_fd)?)?))
}

struct Hands<S> {
    word: SharedWord,
    /// The word's value when this side last had it.
    last: u32,
    signal: PhantomData<S>,
}

impl<S> Hands<S> {
    fn new(word: SharedWord) -> Self {
        Self { word, last: 0, signal: PhantomData }
    }
}

impl<S: Signal> HandOver for Hands<S> {
    #[inline]
    fn give(&mut self, number: u32) -> io::Result<()> {
        self.last = number;
        self.word.store(number, Ordering::Release);
        S::signal(&self.word)
    }

    #[inline]
    fn take(&mut self) -> io::Result<u32> {
        self.last = S::wait(&self.word, self.last)?;
        Ok(self.last)
    }
}

impl<S: Signal> From<Hands<S>> for Connection {
    fn from(hands: Hands<S>) -> Self {
        Self::FloorPart(FloorPartLoop::HandOver(Box::new(hands)))
    }
}

/// Two sides of one word, for tests.
#[cfg(test)]
pub fn pair<S: Signal>() -> Result<[Box<dyn HandOver>; 2], crate::SysError> {
    let memory = shared_word::create()?;
    let side = || Ok(Box::new(Hands::<S>::new(SharedWord::map(&memory)?)) as Box<dyn HandOver>);
    Ok([side()?, side()?])
}
