//! ipcost's figures: `ipcost app` with a server of the user's own, as a user would start it.

use anyhow::{Context, Result, bail, ensure};
use ipcost_features::answers::answer_as;
use ipcost_features::app::{App, Saving};
use ipcost_model::read_document;

use super::loads::{ServerLoad, Tested};
use super::{LoadTimes, SubjectAt};
use crate::common::ipcost;
use crate::processes::output_of;
use xtask::shell::path_text;

/// Epochs of a turn: about as long as the tools run.
const EPOCHS: &str = "3";

/// What it answers for all loads of a server. It and its peers are placed as the tools are.
pub fn answer(tested: &Tested, at: &SubjectAt<'_>) -> Result<App> {
    let program = ipcost();
    let tcp = format!("127.0.0.1:{}", at.server.port);
    let mut words = vec![path_text(&program)?, "app", at.kind.name, "--unix", &at.server.path, "--tcp", &tcp];
    words.extend(["--epochs", EPOCHS, "--concurrency", "1", "--quiet", "--no-save", "--json", "-"]);
    words.extend(["--request", tested.request]);
    if let Some((user, database)) = at.kind.private_login {
        words.extend(["--user", user, "--database", database]);
    }
    let document = read_document(output_of(Some(at.client), &words)?.as_bytes())?;
    Ok(*answer_as(&document)?.context("the document has no answer")?)
}

/// Its figures for a load.
pub fn times(answer: &App, load: &ServerLoad) -> Result<LoadTimes> {
    let is_of = |saving: &&Saving| {
        saving.request == load.request
            && saving.pattern == load.pattern
            && saving.pipeline == load.pipeline
            && saving.ran.is_none()
    };
    let found: Vec<&Saving> = answer.savings.iter().filter(is_of).collect();
    let [saving] = found[..] else { bail!("{} savings for {}", found.len(), load.request) };
    let Saving { unix_ns, tcp_ns, ratio, .. } = saving;
    ensure!(ratio.median > 0.0, "its ratio is {}", ratio.median);
    Ok(LoadTimes { unix_ns: *unix_ns, tcp_ns: *tcp_ns, ratio: ratio.median })
}
