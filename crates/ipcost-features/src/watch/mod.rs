//! The programs that run on this machine, and what they say to each other: `ipcost watch`.

mod findings;
mod gather;
mod page;
mod pair;
mod record;
mod redact;
mod sampled;
mod sampling;
mod sums;
mod tell;
mod watching;
mod ways;
mod what_if;

pub use self::gather::{Eyes, Look, WatchError, waits};
pub use self::page::{CHOSEN, Row, page, rows, what_if_page};
pub use self::pair::{CLOSELY, Pair, PairError, look_closely, trace_calls};
pub use self::record::*;
pub use self::sampling::{Sampling, Window};
pub use self::watching::Watching;
pub use self::what_if::{WhatIf, WhatIfCell, WhatIfError, WhatIfRecord};

#[cfg(test)]
mod tests;
