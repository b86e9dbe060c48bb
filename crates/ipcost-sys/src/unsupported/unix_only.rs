//! What Windows lacks.

use std::fs::File;
use std::io;
use std::path::Path;
use std::time::Duration;

use ipcost_model::Cell;

use super::unsupported;
use crate::system::descriptor::Descriptor;
use crate::transport::Effective;
use crate::{Context, SysError};

/// The cheapest system call: unknown here.
pub mod cheapest_call {
    pub const LACKS: Option<&'static str> =
        Some("no system call of this system is known to do next to nothing");

    stubs! { unreachable!("the floor is not offered here"); fn call(); }
}

pub mod fifo {
    use super::*;

    const REASON: &str = "Windows has no FIFOs; its named pipes are the transport npipe";
    pub const LACKS: Option<&'static str> = Some(REASON);

    stubs! { Err(unsupported(REASON));
        fn make(_: &Path) -> io::Result<()>;
        fn open_to_read(_: &Path) -> io::Result<Descriptor>;
        fn try_open_to_write(_: &Path) -> io::Result<Option<Descriptor>>;
        fn open_to_write(_: &Path) -> io::Result<Descriptor>;
    }
    stubs! { Err(unsupported(REASON)).context(|| "cannot set the capacity of a FIFO".to_owned());
        fn set_buffer(_: &Descriptor, _: &Cell) -> Result<Option<Effective>, SysError>;
    }
}

/// Single keys of a terminal: tables are shown once.
pub mod keys {
    use super::*;

    #[derive(Debug)]
    pub struct Keys;

    impl Keys {
        stubs! { None; fn listen() -> Option<Self>; }

        pub fn pressed(&mut self, within: Duration) -> Option<u8> {
            std::thread::sleep(within);
            None
        }
    }
}

/// Workers that are copies of this process.
pub mod worker {
    use super::*;
    pub use crate::contract::Link;

    /// A worker as its parent sees it: what it reads and what it writes.
    #[derive(Debug)]
    pub struct Worker {
        pub orders: File,
        pub answers: File,
    }

    /// A copy of this process that runs its task at the end.
    #[derive(Debug)]
    pub struct Keeper(std::convert::Infallible);

    impl Keeper {
        stubs! { absent(); fn start(_: impl FnOnce()) -> Result<Self, SysError>; }
    }

    stubs! { absent();
        fn wait_any(_: &[&Worker]) -> Result<usize, SysError>;
        fn start(_: impl FnOnce(Link)) -> Result<Worker, SysError>;
    }

    fn absent<T>() -> Result<T, SysError> {
        let reason = "this system cannot copy a process (fork); leave out workers=processes";
        Err::<T, _>(unsupported(reason)).context(|| "cannot start a worker process".to_owned())
    }
}
