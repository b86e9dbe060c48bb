//! The programs that run on this machine, and what they say to each other: `ipcost watch`.

mod findings;
mod gather;
mod judge;
mod page;
mod record;
mod sampled;
mod sampling;
mod what_if;

pub use self::gather::{Eyes, Look, WatchError, waits};
pub use self::judge::Watching;
pub use self::page::page;
pub use self::record::*;
pub use self::sampling::{Sampling, Window};
pub use self::what_if::{WhatIf, WhatIfCell, WhatIfError, WhatIfRecord};
