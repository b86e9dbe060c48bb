//! The programs that run on this machine, and what they say to each other: `ipcost watch`.

mod conversation_figures;
mod conversation_state;
mod description;
mod evidence;
mod findings;
mod history;
mod leads;
mod observation;
mod observer;
mod page;
mod pair;
mod proc_table;
mod record;
mod redact;
mod sampled;
mod sampling;
mod slow;
mod state;
mod tcp_table;
mod unseen;
mod what_if;

pub use self::conversation_figures::ConversationFigures;
pub use self::observation::{Beyond, Observation, WatchError};
pub use self::observer::{WatchObserver, waits};
pub use self::page::{CHOSEN, ConversationRow, page, rows, shown_page, what_if_page};
pub use self::pair::{CLOSELY, PairError, TracedPair, look_closely, trace_calls};
pub use self::record::*;
pub use self::sampling::Window;
pub use self::slow::*;
pub use self::state::{Suspects, WatchState};
pub use self::what_if::{WhatIf, WhatIfCell, WhatIfError, WhatIfRecord};

#[cfg(test)]
mod tests;
