//! Whether a setting, a library or a build changes anything: two arms in one run, `ipcost ab`.

mod judge;
mod paired;
mod question;

pub use self::judge::comparison;
pub(crate) use self::paired::{ArmPair, PairedArms, pairs};
pub use self::question::{ArmsQuestion, plan, question};
