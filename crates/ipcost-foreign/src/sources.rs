//! The sources embedded in the binary, compressed, with their paths under `peers/`.

use std::io::Read;
use std::sync::LazyLock;

use flate2::read::DeflateDecoder;

/// The sources, one after the other.
static ALL: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let mut all = Vec::new();
    let packed: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/sources.deflate"));
    DeflateDecoder::new(packed).read_to_end(&mut all).expect("the build packed them");
    all
});

/// A directory under `peers/`.
#[derive(Debug, Clone, Copy)]
pub struct Directory {
    pub name: &'static str,
    /// Its files, in order of path.
    pub files: &'static [File],
}

#[derive(Debug, Clone, Copy)]
pub struct File {
    /// Its path in its directory.
    pub path: &'static str,
    pub(crate) content: Content,
}

/// Where the content of a source is.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Content {
    /// Among all sources, from here to there.
    Packed(usize, usize),
    /// Of a toy in tests.
    #[cfg(test)]
    Plain(&'static [u8]),
}

impl File {
    pub fn bytes(&self) -> &'static [u8] {
        match self.content {
            Content::Packed(start, end) => &ALL[start..end],
            #[cfg(test)]
            Content::Plain(bytes) => bytes,
        }
    }
}

/// Every directory, in order of name.
pub static DIRECTORIES: &[Directory] = include!(concat!(env!("OUT_DIR"), "/sources.rs"));

pub fn directory(name: &str) -> Option<&'static Directory> {
    DIRECTORIES.iter().find(|directory| directory.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_travel_and_their_tests_and_leavings_do_not() {
        let paths = |name: &str| -> Vec<&str> {
            directory(name).unwrap().files.iter().map(|file| file.path).collect()
        };
        assert!(paths("c").contains(&"main.c") && paths("c").contains(&"json.h"));
        assert!(
            paths("go").contains(&"go.mod") && !paths("go").iter().any(|path| path.ends_with("_test.go"))
        );
        assert!(paths("python").contains(&"peer/session.py"));
        for file in DIRECTORIES.iter().flat_map(|directory| directory.files) {
            assert!(
                !file.path.contains("__pycache__") && !file.bytes().starts_with(b"\x7fELF"),
                "{}",
                file.path
            );
        }
    }
}
