//! The measured side: a peer that plays client or server in one cell.
//!
//! [`run`] is the built-in peer. It is started as a process of its own and speaks the control protocol on its
//! standard input and output like any other peer; nothing about it is special to the engine.
//!
//! A batch's loop does what a plain program would do and nothing else: no clock is read per operation unless
//! latency is asked for, nothing is allocated, and with one worker there is one thread.

mod connect;
mod crew;
mod error;
mod floor;
mod meter;
mod moving;
mod pages;
mod payload;
mod roles;
mod rr;
mod session;
mod stream;
mod work;

pub use error::PeerError;
pub use session::run;
