//! Files that were read, and which of them count.

use std::collections::BTreeMap;

use super::record::Skipped;

/// Of files that are not counted, so many are named.
const MOST_SKIPPED: usize = 1000;
/// Why an older document does not count.
const OLDER: &str = "another document of the same host is newer";

/// Files that were read, one after the other; one may hold several documents.
#[derive(Debug, Default)]
pub(crate) struct FleetFiles {
    /// How many were read.
    pub read: u64,
    /// Those that are not counted; at most the first thousand.
    pub skipped: Vec<Skipped>,
    /// How many are not counted.
    pub skipped_files: u64,
    last_read: String,
    last_skipped: String,
}

impl FleetFiles {
    /// Counts a file, once for all of its documents.
    pub fn read(&mut self, file: &str) {
        if self.last_read != file {
            self.read += 1;
            file.clone_into(&mut self.last_read);
        }
    }

    /// Does not count a file, for this reason.
    pub fn skip(&mut self, file: &str, reason: String) {
        if self.last_skipped == file {
            return;
        }
        file.clone_into(&mut self.last_skipped);
        self.skipped_files += 1;
        if self.skipped.len() < MOST_SKIPPED {
            self.skipped.push(Skipped { file: file.to_owned(), reason });
        }
    }

    /// Keeps the newest of each key, and does not count the other; `of` gives the file and when its run started.
    pub fn keep_newest<K: Ord, T>(
        &mut self,
        newest: &mut BTreeMap<K, T>,
        key: K,
        one: T,
        of: impl Fn(&T) -> (&str, &str),
    ) {
        let older = match newest.remove(&key) {
            Some(known) if of(&known).1 > of(&one).1 => {
                newest.insert(key, known);
                Some(one)
            }
            known => {
                newest.insert(key, one);
                known
            }
        };
        if let Some(older) = older {
            self.skip(of(&older).0, OLDER.to_owned());
        }
    }
}
