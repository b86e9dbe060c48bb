//! Where one transport overtakes another: `ipcost sweep`.

mod judge;
mod layout;
mod page;
mod record;
mod sizes;
pub mod words;
mod work;

pub use self::judge::*;
pub use self::layout::{layout_job, page_of_layout};
pub use self::page::{page_of_cores, page_of_sizes};
pub use self::record::*;
pub use self::sizes::{SizeRequest, Swept, sizes};
pub use self::work::{page_of_work, work_job};
