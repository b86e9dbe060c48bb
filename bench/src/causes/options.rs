//! What the command takes.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail, ensure};
use ipcost_model::units::parse_duration;

use super::peers::NAMES;
use super::plants;

/// How long the timed part of each explanation may take: all of them take less than 15 minutes then.
const USUAL_BUDGET: Duration = Duration::from_secs(12);
/// On one core a round trip always takes the same time. Where the scheduler decides, it takes ten times as long in some
/// epochs, with a plant or without.
const PLACEMENTS: [&str; 3] = ["together", "free", "apart"];

/// What was asked for.
#[derive(Debug)]
pub struct CausesOptions {
    /// The peers in which causes are planted.
    pub peers: Vec<String>,
    /// The plants, by name; all of them if empty.
    only: Vec<String>,
    pub times: u32,
    /// What every other seed is drawn from.
    pub seed: u64,
    /// How long the timed part of each explanation may take.
    pub budget: Duration,
    /// Where the two processes of a cell run, if its plant does not say.
    pub placement: String,
    /// Whether another process takes a core in bursts meanwhile.
    pub beside_hog: bool,
    /// Whether the table is for a page.
    pub markdown: bool,
}

impl CausesOptions {
    /// Reads the words after the command.
    pub fn read(words: &[&str]) -> Result<Self> {
        let mut options = Self {
            peers: vec!["native".to_owned()],
            only: Vec::new(),
            times: 1,
            seed: seed_of_now(),
            budget: USUAL_BUDGET,
            placement: PLACEMENTS[0].to_owned(),
            beside_hog: false,
            markdown: false,
        };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let mut value = || words.next().with_context(|| format!("{word} takes a value"));
            match *word {
                "--peers" => options.peers = list(value()?, &NAMES)?,
                "--only" => {
                    options.only = list(value()?, &plants::all().map(|plant| plant.name).collect::<Vec<_>>())?
                }
                "--times" => options.times = value()?.parse().context("--times takes a number")?,
                "--seed" => options.seed = value()?.parse().context("--seed takes a number")?,
                "--budget" => options.budget = duration(value()?)?,
                "--placement" => options.placement = one(value()?, &PLACEMENTS)?,
                "--beside-hog" => options.beside_hog = true,
                "--markdown" => options.markdown = true,
                _ => bail!("bench causes has no option {word}"),
            }
        }
        ensure!(options.times > 0, "--times takes at least 1");
        Ok(options)
    }

    /// Whether a plant was asked for.
    pub fn wants(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| only == name)
    }
}

fn seed_of_now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::from(since.subsec_nanos()) ^ since.as_secs()
}

fn duration(text: &str) -> Result<Duration> {
    parse_duration(text).map_err(|error| anyhow::anyhow!("--budget: {error}"))
}

fn one(text: &str, known: &[&str]) -> Result<String> {
    ensure!(known.contains(&text), "{text} is none of {}", known.join(", "));
    Ok(text.to_owned())
}

fn list(text: &str, known: &[&str]) -> Result<Vec<String>> {
    text.split(',').map(|name| one(name, known)).collect()
}

#[cfg(test)]
mod tests {
    use super::CausesOptions;

    #[test]
    fn words_become_options() {
        let options = CausesOptions::read(&[
            "--peers", "c,python", "--only", "fdatasync", "--times", "3", "--seed", "7",
        ])
        .unwrap();
        assert_eq!(
            (options.peers, options.times, options.seed),
            (vec!["c".to_owned(), "python".to_owned()], 3, 7)
        );
        assert!(CausesOptions::read(&[]).unwrap().wants("spin"));
        let only = CausesOptions::read(&["--only", "fdatasync"]).unwrap();
        assert!(only.wants("fdatasync") && !only.wants("spin"));
    }

    #[test]
    fn mistakes_are_refused() {
        for words in [
            &["--peers", "cobol"][..],
            &["--only", "moon"],
            &["--times", "0"],
            &["--times"],
            &["--budget", "soon"],
            &["fdatasync"],
        ] {
            assert!(CausesOptions::read(words).is_err(), "{words:?}");
        }
    }
}
