//! Where one transport overtakes another: `ipcost sweep`.

mod judge;
mod layout;
mod record;
mod sizes;
pub mod words;
mod work;

pub use self::judge::*;
pub use self::layout::layout_job;
pub(crate) use self::layout::layout_table;
pub use self::record::*;
pub use self::sizes::{SizeRequest, Swept, sizes};
pub use self::work::work_job;
pub(crate) use self::work::work_table;
