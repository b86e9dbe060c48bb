//! The table of what was planted and what was named, and the totals.

use std::fmt::{Display, Formatter};

use ipcost_model::units::percent;

use super::judge::{PlantTrial, Remedy};
use super::plants::Plant;
use super::run::Explained;
use crate::table::TextTable;

const NOTHING: &str = "nothing";

/// A plant in a peer.
pub struct PlantRow {
    plant: &'static str,
    what: &'static str,
    expected: String,
    is_control: bool,
    peer: String,
    trials: Vec<PlantTrial>,
    ratios: Vec<f64>,
    /// What the last explanation named, in its order, and how it went.
    last: String,
    failures: Vec<String>,
    /// Why it was not run.
    pub skipped: Option<String>,
}

impl PlantRow {
    /// One that has not been run.
    pub fn new(plant: &Plant, peer: &str) -> Self {
        let names: Vec<String> = plant.accepts.iter().map(|blame| blame.words()).collect();
        Self {
            plant: plant.name,
            what: plant.what,
            expected: if plant.is_control() { NOTHING.to_owned() } else { names.join(" or ") },
            is_control: plant.is_control(),
            peer: peer.to_owned(),
            trials: Vec::new(),
            ratios: Vec::new(),
            last: String::new(),
            failures: Vec::new(),
            skipped: None,
        }
    }

    pub fn add(&mut self, trial: PlantTrial, explained: &Explained) {
        let codes: Vec<&str> = explained.causes.iter().map(|cause| cause.code.as_str()).collect();
        let named = if codes.is_empty() { NOTHING.to_owned() } else { codes.join(", ") };
        let others = explained.others.map_or("unknown".to_owned(), percent);
        self.last = format!("{named}; others took {others}; {} s", explained.took.as_secs());
        self.ratios.extend(explained.ratio);
        self.trials.push(trial);
    }

    /// Adds a run that gave no explanation.
    pub fn add_failure(&mut self, trial: PlantTrial, reason: String) {
        self.trials.push(trial);
        self.failures.push(reason);
    }

    fn count(&self, is_so: impl Fn(&PlantTrial) -> bool) -> usize {
        self.trials.iter().filter(|trial| is_so(trial)).count()
    }

    /// A line for while the rest is running.
    pub fn progress(&self) -> String {
        let begin = format!("{} in {}", self.plant, self.peer);
        if let Some(reason) = &self.skipped {
            return format!("{begin}: skipped: {reason}");
        }
        if let Some(reason) = self.failures.last() {
            return format!("{begin}: failed: {reason}");
        }
        let verdict = self.trials.last().map_or("", |trial| self.verdict(trial));
        format!("{begin}: {verdict} ({})", self.last)
    }

    fn verdict(&self, trial: &PlantTrial) -> &'static str {
        match trial {
            trial if !trial.absent.is_empty() => "blamed something absent",
            _ if self.is_control => "rightly nothing",
            trial if trial.first => "named first",
            trial if trial.named => "named",
            _ => "not named",
        }
    }

    fn cells(&self) -> [String; 9] {
        let (runs, first, named) = if self.skipped.is_some() {
            ("–".to_owned(), "–".to_owned(), "–".to_owned())
        } else if self.is_control {
            (self.trials.len().to_string(), "–".to_owned(), "–".to_owned())
        } else {
            let counts =
                [self.trials.len(), self.count(|trial| trial.first), self.count(|trial| trial.named)];
            counts.map(|count| count.to_string()).into()
        };
        let absent = list(self.trials.iter().flat_map(|trial| &trial.absent));
        let notes = self.skipped.iter().map(|reason| format!("skipped: {reason}"));
        let notes = notes.chain(self.failures.iter().map(|reason| format!("failed: {reason}")));
        let last = notes.collect::<Vec<_>>().join("; ");
        [
            self.what.to_owned(),
            self.peer.clone(),
            self.expected.clone(),
            times_text(&self.ratios),
            runs,
            first,
            named,
            list(self.trials.iter().flat_map(|trial| &trial.of_machine)),
            match (absent.is_empty(), last.is_empty()) {
                (true, true) => NOTHING.to_owned(),
                (true, false) => last,
                (false, true) => absent,
                (false, false) => format!("{absent}; {last}"),
            },
        ]
    }
}

/// How many times the time without it, the median of runs.
fn times_text(ratios: &[f64]) -> String {
    match ipcost_stats::median(ratios) {
        Some(ratio) if ratio >= 10.0 => format!("{ratio:.0}"),
        Some(ratio) => format!("{ratio:.2}"),
        None => "–".to_owned(),
    }
}

/// Each once, with how often if more than once.
fn list<'a>(names: impl Iterator<Item = &'a String>) -> String {
    let mut counted: Vec<(&str, usize)> = Vec::new();
    for name in names {
        match counted.iter_mut().find(|(known, _)| known == name) {
            Some((_, count)) => *count += 1,
            None => counted.push((name, 1)),
        }
    }
    let words = counted.into_iter().map(|(name, count)| match count {
        1 => name.to_owned(),
        _ => format!("{name} ×{count}"),
    });
    words.collect::<Vec<_>>().join(", ")
}

/// The rows, as they are shown.
pub fn table(rows: &[PlantRow]) -> TextTable<9> {
    TextTable {
        header: [
            "planted", "peer", "code", "times slower", "runs", "named first", "named", "of the machine",
            "blamed although absent",
        ],
        numbers: 3..7,
        rows: rows.iter().map(PlantRow::cells).collect(),
    }
}

/// What all rows come to.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct PlantTotals {
    plants: usize,
    runs: usize,
    first: usize,
    named: usize,
    absent: usize,
    skipped: usize,
    helped: usize,
    no_difference: usize,
    harmed: usize,
    control_runs: usize,
    control_blamed: Vec<String>,
}

impl PlantTotals {
    /// Skipped rows are counted as skipped and nothing else.
    pub fn of(rows: &[PlantRow]) -> Self {
        let mut totals = Self::default();
        for row in rows {
            let remedies = row.trials.iter().flat_map(|trial| &trial.remedies);
            for remedy in remedies {
                match remedy {
                    Remedy::Helps => totals.helped += 1,
                    Remedy::Neither | Remedy::TakenBack => totals.no_difference += 1,
                    Remedy::Harms => totals.harmed += 1,
                }
            }
            let blamed: Vec<String> = row.trials.iter().flat_map(|trial| trial.absent.clone()).collect();
            if row.skipped.is_some() {
                totals.skipped += 1;
            } else if row.is_control {
                totals.control_runs += row.trials.len();
                totals.control_blamed.extend(blamed);
                totals.control_blamed.extend(row.failures.iter().cloned());
            } else {
                totals.plants += 1;
                totals.runs += row.trials.len();
                totals.first += row.count(|trial| trial.first);
                totals.named += row.count(|trial| trial.named);
                totals.absent += blamed.len();
            }
        }
        totals
    }

    /// What was not named, or blamed although absent, and remedies that do harm.
    pub fn flaws(&self) -> usize {
        self.runs - self.named + self.absent + self.control_blamed.len() + self.harmed
    }

    /// Whether everything was named and nothing else blamed.
    pub fn is_flawless(&self) -> bool {
        self.flaws() == 0
    }
}

impl Display for PlantTotals {
    fn fmt(&self, out: &mut Formatter<'_>) -> std::fmt::Result {
        let runs = if self.runs == self.plants { String::new() } else { format!(" in {} runs", self.runs) };
        let plants = if self.plants == 1 { "plant" } else { "plants" };
        write!(
            out,
            "{} {plants}{runs}: {} named first, {} named, {} blamed although absent",
            self.plants, self.first, self.named, self.absent
        )?;
        if self.skipped > 0 {
            write!(out, "; {} skipped", self.skipped)?;
        }
        let tried = self.helped + self.no_difference + self.harmed;
        if tried > 0 {
            let none = if self.harmed == 0 { "none".to_owned() } else { self.harmed.to_string() };
            write!(
                out,
                "\n{tried} remedies tried: {} helped, {} changed nothing or were taken back, {none} harmful",
                self.helped, self.no_difference
            )?;
        }
        if self.control_runs > 0 {
            let blamed = list(self.control_blamed.iter());
            let blamed = if blamed.is_empty() { NOTHING } else { &blamed };
            write!(out, "\nnothing planted ({}×): {blamed}", self.control_runs)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{PlantRow, PlantTotals, table};
    use crate::causes::judge::{PlantTrial, Remedy};
    use crate::causes::plants;

    fn row(plant: &str, trials: Vec<PlantTrial>) -> PlantRow {
        let plant = plants::all().find(|known| known.name == plant).unwrap();
        PlantRow { trials, ..PlantRow::new(plant, "native") }
    }

    fn trial(first: bool, named: bool, absent: &[&str]) -> PlantTrial {
        PlantTrial {
            first,
            named,
            of_machine: Vec::new(),
            remedies: Vec::new(),
            absent: absent.iter().map(|&code| code.to_owned()).collect(),
        }
    }

    fn skipped(plant: &str) -> PlantRow {
        PlantRow { skipped: Some("no root".to_owned()), ..row(plant, Vec::new()) }
    }

    #[test]
    fn the_table_shows_counts_and_reasons() {
        let mut slow = row("spin", vec![trial(true, true, &[]), trial(false, true, &["tls"])]);
        slow.ratios = vec![11.0, 13.0];
        let mut failed = row("getppid", Vec::new());
        failed.add_failure(PlantTrial::default(), "seed 7: no".to_owned());
        let rows = [slow, skipped("firewall"), failed, row("none", vec![trial(false, false, &[])])];
        let lines = table(&rows).markdown();
        assert_eq!(lines[2], "| 30 to 60 µs of computing | native | runtime | 12 | 2 | 1 | 2 |  | tls |");
        assert!(lines[3].ends_with("| firewall | – | – | – | – |  | skipped: no root |"), "{}", lines[3]);
        assert!(
            lines[4].ends_with("| more-calls (getppid) | – | 1 | 0 | 0 |  | failed: seed 7: no |"),
            "{}",
            lines[4]
        );
        assert!(lines[5].ends_with("| nothing | – | 1 | – | – |  | nothing |"), "{}", lines[5]);
    }

    #[test]
    fn totals_leave_out_what_was_skipped() {
        let rows = [
            row("spin", vec![trial(true, true, &[])]),
            row("open", vec![trial(false, true, &["tls"])]),
            row("mmap", vec![trial(false, false, &[])]),
            skipped("firewall"),
            row("none", vec![trial(false, false, &[])]),
        ];
        let totals = PlantTotals::of(&rows);
        assert_eq!(
            totals.to_string(),
            "3 plants: 1 named first, 2 named, 1 blamed although absent; 1 skipped\nnothing planted (1×): nothing"
        );
        assert_eq!((totals.flaws(), totals.is_flawless()), (2, false));
    }

    #[test]
    fn a_remedy_that_does_harm_is_a_flaw() {
        let after = |remedies: &[Remedy]| {
            let trial = PlantTrial { remedies: remedies.to_vec(), ..trial(true, true, &[]) };
            PlantTotals::of(&[row("nagle", vec![trial])])
        };
        let good = after(&[Remedy::Helps, Remedy::TakenBack]);
        assert!(good.is_flawless());
        let said = "2 remedies tried: 1 helped, 1 changed nothing or were taken back, none harmful";
        assert!(good.to_string().ends_with(said), "{good}");
        assert_eq!(after(&[Remedy::Harms]).flaws(), 1);
    }

    #[test]
    fn runs_are_shown_where_they_are_not_one_each() {
        let flawless = PlantTotals::of(&[row("spin", vec![trial(true, true, &[]); 3])]);
        assert_eq!(
            flawless.to_string(),
            "1 plant in 3 runs: 3 named first, 3 named, 0 blamed although absent"
        );
        assert!(flawless.is_flawless());
    }
}
