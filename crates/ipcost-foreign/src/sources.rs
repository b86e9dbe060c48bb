//! The sources embedded in the binary, with their paths under `peers/`.

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
    pub bytes: &'static [u8],
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
                !file.path.contains("__pycache__") && !file.bytes.starts_with(b"\x7fELF"),
                "{}",
                file.path
            );
        }
    }
}
