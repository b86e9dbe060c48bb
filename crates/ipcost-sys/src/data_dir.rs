//! Where this program keeps what it cannot create again.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;

use crate::system::{driven_program, user_dirs};

/// The variable that names [`of_runs_at_work`] instead.
const RUN_DIR: &str = "IPCOST_RUN_DIR";

/// For saved runs: `$IPCOST_DATA_DIR`, `$XDG_DATA_HOME/ipcost`, or below where the system keeps data, such as
/// `~/.local/share`; `None` if none of these is set.
pub fn of_user() -> Option<PathBuf> {
    chosen(["IPCOST_DATA_DIR", "XDG_DATA_HOME"].map(env::var_os), user_dirs::data())
}

/// For what runs at work have changed: `$IPCOST_RUN_DIR`, `/run/ipcost` for root, else with the saved runs.
pub fn of_runs_at_work() -> Option<PathBuf> {
    let given = env::var_os(RUN_DIR).map(PathBuf::from).filter(|path| path.is_absolute());
    let of_root = || driven_program::is_root().then(|| PathBuf::from("/run/ipcost"));
    given.or_else(of_root).or_else(of_user)
}

/// By the XDG base directory specification, a path that is not absolute counts as none.
fn chosen([own, xdg]: [Option<OsString>; 2], usual: Option<PathBuf>) -> Option<PathBuf> {
    let own = own.filter(|value| !value.is_empty()).map(PathBuf::from);
    let xdg = xdg.map(PathBuf::from).filter(|path| path.is_absolute());
    own.or_else(|| Some(xdg.or(usual)?.join("ipcost")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_is_where_users_expect_it() {
        let usual = || Some("/home/me/.local/share".into());
        let dir = |own: &str, xdg: &str| chosen([own, xdg].map(|value| Some(value.into())), usual());
        assert_eq!(dir("", "/x"), Some("/x/ipcost".into()));
        assert_eq!(dir("", "relative"), Some("/home/me/.local/share/ipcost".into()));
        assert_eq!(dir("mine", "/x"), Some("mine".into()));
        assert_eq!(chosen([None, None], None), None);
    }
}
