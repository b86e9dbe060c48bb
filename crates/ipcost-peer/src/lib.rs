//! The measured side: a peer that plays client or server in one cell.
//!
//! [`run`] runs a [`Peer`] as a separate process that speaks the control protocol on its standard input and output.
//! [`Native`] is the built-in one; the engine does not treat it specially. Peers that drive real programs are in
//! [`adapters`].
//!
//! A batch's loop does what a plain program would do and nothing else: it reads the clock per operation only if latency
//! is asked for, allocates nothing, and uses one thread for one worker.

pub mod adapters;
mod buffer;
mod connect;
mod error;
mod floor;
mod library;
mod meter;
mod moving;
mod native;
mod pace;
mod payload;
mod roles;
mod rr;
mod session;
mod stream;
mod work;
mod workers;

pub use buffer::{Buffer, offsets_of};
pub use error::{PeerError, ended};
pub use library::Library;
pub use meter::{Distribution, LatencyTally, Meter, Metering, Unmetered};
pub use moving::{receive_all, send_all};
pub use native::Native;
pub use pace::{Draws, Paced, Pacing};
pub use payload::{CheckedPayload, Payload};
pub use session::{Gathering, Peer, Prepared, Role, RoleState, run};
pub use work::{Order, Report, Work, WorkKind};
pub use workers::{DescriptorTable, JoinedReports, Workers};
