//! The workflows of GitHub: what they run is named exactly, and code of others runs where nothing can be published.

use std::fs;

use anyhow::{Result, ensure};

use crate::shell::root;

/// What runs code of dependencies: build scripts, tests, installers.
const RUNS_CODE_OF_OTHERS: [&str; 9] = [
    "cargo build", "cargo check", "cargo install", "cargo package", "cargo run", "cargo test", "cargo xtask",
    "pip install", "npm install",
];
/// What a job needs to publish something.
const CAN_PUBLISH: [&str; 3] = ["id-token: write", "CARGO_REGISTRY_TOKEN", "secrets."];
const RELEASE: &str = "release.yml";

pub fn check() -> Result<()> {
    let mut wrong = Vec::new();
    for entry in fs::read_dir(root().join(".github/workflows"))? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        wrong.extend(problems(&name, &fs::read_to_string(&path)?));
    }
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

fn problems(name: &str, text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let mut say =
            |problem: &str| problems.push(format!("{name}:{}: {problem}: {}", number + 1, line.trim()));
        let line = line.trim().trim_start_matches("- ");
        if line.strip_prefix("uses: ").is_some_and(|action| !is_pinned(action)) {
            say("name the action by its commit");
        }
        if name != RELEASE || line.starts_with('#') {
            continue;
        }
        if line.strip_prefix("node-version:").is_some_and(|version| version.matches('.').count() != 2) {
            say("name the version (X.Y.Z)");
        }
        if line.contains("toolchain install") && !line.contains("toolchain install 1.") {
            say("name the version of Rust");
        }
        if line.contains("cargo install") && !line.contains("--version =") {
            say("name the version (--version =X.Y.Z)");
        }
        let installs = line.contains("pip\" install") || line.contains("pip install");
        if installs && !line.contains("--require-hashes") {
            say("name versions and their hashes (--require-hashes --requirement FILE)");
        }
    }
    for job in jobs(text) {
        let has =
            |word: &str| job.iter().any(|(_, line)| !line.trim().starts_with('#') && line.contains(word));
        if name == RELEASE && has("cargo ") && !has("rustup default 1.") {
            let (number, line) = job[0];
            problems.push(format!(
                "{name}:{number}: cargo is of any version; name that of Rust: {}",
                line.trim()
            ));
        }
        if !job.iter().any(|(_, line)| CAN_PUBLISH.iter().any(|mark| line.contains(mark))) {
            continue;
        }
        for (number, line) in job {
            let runs = RUNS_CODE_OF_OTHERS.iter().any(|command| line.contains(command))
                || line.contains("cargo publish") && !line.contains("--no-verify");
            if runs && !line.trim().starts_with('#') {
                problems.push(format!(
                    "{name}:{number}: this runs code of others in a job that can publish: {}",
                    line.trim()
                ));
            }
        }
    }
    problems
}

/// Whether a commit names an action: forty digits after the `@`; one of this repository needs none.
fn is_pinned(action: &str) -> bool {
    let action = action.split(" #").next().unwrap_or_default().trim();
    let commit = action.split_once('@').map(|(_, commit)| commit);
    action.starts_with("./")
        || commit
            .is_some_and(|commit| commit.len() == 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// The lines of each job, with their numbers: jobs are two columns in.
fn jobs(text: &str) -> Vec<Vec<(usize, &str)>> {
    let mut jobs: Vec<Vec<(usize, &str)>> = Vec::new();
    for (index, line) in text.lines().enumerate().skip_while(|(_, line)| *line != "jobs:").skip(1) {
        let begins = line.starts_with("  ") && !line.starts_with("   ") && line.trim_end().ends_with(':');
        if begins {
            jobs.push(Vec::new());
        }
        if let Some(job) = jobs.last_mut() {
            job.push((index + 1, line));
        }
    }
    jobs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_steps(permissions: &str, steps: &str) -> Vec<String> {
        let rust = "      - run: rustup default 1.95.0\n";
        problems(
            RELEASE,
            &format!("jobs:\n  one:\n    permissions:\n      {permissions}\n    steps:\n{rust}{steps}"),
        )
    }

    #[test]
    fn a_job_that_takes_any_rust_is_found() {
        let with = |steps: &str| problems(RELEASE, &format!("jobs:\n  one:\n    steps:\n{steps}")).len();
        let runs = "      - run: cargo pkgid\n";
        assert_eq!(with(runs), 1);
        assert_eq!(with(&format!("      - run: rustup default 1.95.0\n{runs}")), 0);
        assert_eq!(with("      # cargo is not run\n"), 0);
    }

    #[test]
    fn an_action_without_a_commit_is_found() {
        let pinned = "      - uses: a/b@3d3c42e5aac5ba805825da76410c181273ba90b1 # v7\n      - uses: ./own\n";
        assert!(of_steps("contents: read", pinned).is_empty());
        for wrong in ["a/b@v7", "a/b@release/v1", "a/b", "a/b@3d3c42e"] {
            assert_eq!(of_steps("contents: read", &format!("      - uses: {wrong}\n")).len(), 1, "{wrong}");
        }
    }

    #[test]
    fn code_of_others_in_a_job_that_can_publish_is_found() {
        let build = "      - run: cargo package --workspace --locked\n";
        assert!(of_steps("contents: read", build).is_empty());
        assert_eq!(of_steps("id-token: write", build).len(), 1);
        assert_eq!(of_steps("id-token: write", "      - run: cargo publish --locked\n").len(), 1);
        assert!(of_steps("id-token: write", "      - run: cargo publish --no-verify\n").is_empty());
        let token = "      - run: cargo test\n        env:\n          CARGO_REGISTRY_TOKEN: x\n";
        assert_eq!(of_steps("contents: read", token).len(), 1);
    }

    #[test]
    fn a_tool_without_a_version_is_found() {
        for (wrong, right) in [
            ("rustup toolchain install stable", "rustup toolchain install 1.95.0"),
            ("cargo install --locked x", "cargo install --locked --version =1.2.3 x"),
            ("pip install x==1.2", "pip install --require-hashes --requirement x.txt"),
        ] {
            assert_eq!(of_steps("contents: read", &format!("      - run: {wrong}\n")).len(), 1, "{wrong}");
            assert!(of_steps("contents: read", &format!("      - run: {right}\n")).is_empty(), "{right}");
        }
    }

    #[test]
    fn the_workflows_here_are_right() {
        check().unwrap();
    }
}
