//! What collectors of results want to know besides the document.

use ipcost_model::Document;
use ipcost_report::conbench::{Commit, render};

/// The results for Conbench, under the commit that the environment names, if it names one.
pub fn conbench(document: &Document) -> String {
    render(document, commit(|name| std::env::var(name).ok()).as_ref())
}

/// The commit by the variables that Conbench's own clients read; without a repository and a hash there is none.
fn commit(variable: impl Fn(&str) -> Option<String>) -> Option<Commit> {
    let set = |name: &str| variable(&format!("CONBENCH_PROJECT_{name}")).filter(|value| !value.is_empty());
    Some(Commit {
        repository: set("REPOSITORY")?,
        commit: set("COMMIT")?,
        pr_number: set("PR_NUMBER").and_then(|number| number.parse().ok()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_has_a_repository_and_a_hash() {
        let of = |known: &[(&str, &str)]| {
            commit(|name| {
                let found = known.iter().find(|(key, _)| name.ends_with(key));
                found.map(|(_, value)| (*value).to_owned())
            })
        };
        let both = [("_REPOSITORY", "r"), ("_COMMIT", "c"), ("_PR_NUMBER", "12")];
        assert_eq!(of(&both).map(|commit| commit.pr_number), Some(Some(12)));
        assert_eq!(of(&both[..1]), None);
        assert_eq!(of(&[("_REPOSITORY", ""), ("_COMMIT", "c")]), None);
    }
}
