//! Many documents in the order in which they were given.

use std::path::{Path, PathBuf};
use std::sync::mpsc::sync_channel;
use std::thread;

use anyhow::Context;
use ipcost_model::Document;

use crate::documents;
use crate::exit::Problem;

/// How many documents a reader may be ahead.
const AHEAD: usize = 1;

/// A document to read.
pub struct GivenDocuments {
    /// As it was given, or a path.
    pub name: String,
    /// Whether it was found in a directory, where other files may be.
    pub is_found: bool,
}

impl GivenDocuments {
    /// Of runs and directories; the documents of a directory by name, without those of directories in it.
    pub fn all(runs: &[String]) -> anyhow::Result<Vec<Self>> {
        let mut all = Vec::new();
        for run in runs {
            if Path::new(run).is_dir() {
                let found = documents_in(Path::new(run)).with_context(|| format!("cannot read {run}"))?;
                all.extend(found.into_iter().map(|name| Self { name, is_found: true }));
            } else {
                all.push(Self { name: run.clone(), is_found: false });
            }
        }
        Ok(all)
    }

    pub fn document(&self) -> anyhow::Result<Document> {
        if self.is_found { documents::load_found(&self.name) } else { documents::load(&self.name) }
    }

    /// Its document, or those that stand for a file of answers.
    pub fn documents(&self) -> anyhow::Result<Vec<Document>> {
        documents::load_all(&self.name, self.is_found)
    }
}

fn documents_in(dir: &Path) -> std::io::Result<Vec<String>> {
    let entries = std::fs::read_dir(dir)?.collect::<Result<Vec<_>, _>>()?;
    let mut paths: Vec<PathBuf> = entries.into_iter().map(|entry| entry.path()).collect();
    paths.sort();
    let names =
        paths.into_iter().filter(|path| !path.is_dir()).filter_map(|path| Some(path.to_str()?.to_owned()));
    Ok(names.filter(|name| name.ends_with(".json") || name.ends_with(".json.gz")).collect())
}

/// Uses what is read of each, or the reason why it cannot be read. They are read on all cores; each core reads every so-many-th, so that few
/// are held.
pub fn each<T: Send>(
    all: &[GivenDocuments],
    read: impl Fn(&GivenDocuments) -> anyhow::Result<T> + Sync,
    mut used: impl FnMut(&GivenDocuments, anyhow::Result<T>) -> Result<(), Problem>,
) -> Result<(), Problem> {
    let readers = thread::available_parallelism().map_or(1, |cores| cores.get().min(all.len().max(1)));
    let read = &read;
    thread::scope(|scope| {
        let queues: Vec<_> = (0..readers)
            .map(|reader| {
                let (sender, queue) = sync_channel(AHEAD);
                scope.spawn(move || {
                    let own = all.iter().skip(reader).step_by(readers);
                    for given in own {
                        // Once one could not be used, no more are wanted.
                        if sender.send(read(given)).is_err() {
                            break;
                        }
                    }
                });
                queue
            })
            .collect();
        for (given, queue) in all.iter().zip(queues.iter().cycle()) {
            match queue.recv() {
                Ok(document) => used(given, document)?,
                Err(_) => return Err(Problem::failed(anyhow::anyhow!("{} could not be read", given.name))),
            }
        }
        Ok(())
    })
}
