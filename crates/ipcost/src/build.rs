//! The build of this program: version, commit, target, profile.

use std::sync::LazyLock;

use ipcost_model::Tool;

/// The build, as records name it.
pub fn tool() -> Tool {
    let known = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    Tool {
        commit: known(env!("IPCOST_BUILD_COMMIT")),
        commit_date: known(env!("IPCOST_BUILD_COMMIT_DATE")),
        target: known(env!("IPCOST_BUILD_TARGET")),
        profile: known(env!("IPCOST_BUILD_PROFILE")),
        ..Tool::of_version(env!("CARGO_PKG_VERSION"))
    }
}

/// What `--version` prints after the name.
pub fn version() -> &'static str {
    static VERSION: LazyLock<String> = LazyLock::new(|| tool().build());
    &VERSION
}
