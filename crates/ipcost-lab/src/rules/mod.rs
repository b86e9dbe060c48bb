//! One table of all that is looked at: what it is, why it matters, from which value on it counts, who says so, and how
//! it is known to matter. Warnings of runs, the doctor and explanations take codes, thresholds and words from here.

use ipcost_model::Warning;

/// A run of entries: a constant for each, and all in their order.
macro_rules! rules {
    ($($name:ident = $code:literal, $about:literal, $why:literal, $from:literal, [$($place:ident),+], $basis:literal;)+) => {
        $(
            #[doc = $about]
            pub const $name: Rule = Rule {
                code: $code,
                about: $about,
                why: $why,
                from: $from,
                places: &[$(RuleSource::$place),+],
                basis: $basis,
            };
        )+
        pub(super) const ALL: &[Rule] = &[$($name),+];
    };
}

mod causes;
mod found;
mod machine;
mod run;
mod running;
mod thresholds;

pub use self::causes::*;
pub use self::found::*;
pub use self::machine::*;
pub use self::run::*;
pub use self::running::*;
pub use self::thresholds::*;

/// Who says that a rule applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleSource {
    /// A warning or note of a run.
    Warning,
    /// `ipcost doctor`.
    Doctor,
    /// `ipcost explain`.
    Explain,
    /// `ipcost watch`.
    Watch,
}

/// Something that is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    pub code: &'static str,
    /// What is looked at, in short.
    pub about: &'static str,
    /// Why it matters, in a sentence.
    pub why: &'static str,
    /// From which value on it counts.
    pub from: &'static str,
    pub places: &'static [RuleSource],
    /// How it is known to matter: a measurement, a planted case in a test, or a source.
    pub basis: &'static str,
}

/// Every rule: of the machine, of runs, of cells, of programs that run.
pub fn all() -> impl Iterator<Item = &'static Rule> {
    [machine::ALL, run::ALL, causes::ALL, running::ALL].into_iter().flatten()
}

/// That a rule applies: what was found, and what to do.
#[derive(Debug, Clone, PartialEq)]
pub struct AppliedRule {
    pub rule: Rule,
    /// What was found, with its figures.
    pub found: String,
    /// What to do, or what to take into account; empty if there is nothing to say.
    pub remedy: String,
    /// Whether there is nothing to do about it: the figures hold, and the reader should only know.
    pub is_note: bool,
}

impl AppliedRule {
    /// A finding of the rule.
    pub fn new(rule: Rule, found: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { rule, found: found.into(), remedy: remedy.into(), is_note: false }
    }

    /// Both in one line.
    pub fn sentence(&self) -> String {
        match self.remedy.as_str() {
            "" => self.found.clone(),
            remedy => format!("{}; {remedy}", self.found),
        }
    }

    /// The code and the text of the document.
    pub fn warning(&self) -> Warning {
        Warning { code: self.rule.code.to_owned(), message: self.sentence() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/rules.md");

    fn row(rule: &Rule) -> String {
        let said = |place| if rule.places.contains(&place) { "✓" } else { "" };
        let [warning, doctor, explain, watch] =
            [RuleSource::Warning, RuleSource::Doctor, RuleSource::Explain, RuleSource::Watch].map(said);
        let basis = match rule.basis.split_once("https://") {
            Some((before, address)) => format!("{before}[{0}](https://{0})", address.trim_end_matches('/')),
            None => rule.basis.to_owned(),
        };
        let Rule { code, about, why, from, .. } = rule;
        format!(
            "| `{code}` | {about} | {from} | {warning} | {doctor} | {explain} | {watch} | {why} | {basis} |"
        )
    }

    #[test]
    fn the_page_in_the_docs_has_the_table() {
        let page = std::fs::read_to_string(PAGE).unwrap();
        let (before, _) = page.split_once("| `").unwrap();
        let rows: Vec<String> = all().map(row).collect();
        let whole = format!("{before}{}\n", rows.join("\n"));
        if std::env::var_os("IPCOST_WRITE_DOCS").is_some() {
            std::fs::write(PAGE, &whole).unwrap();
        }
        assert!(page == whole, "docs/reference/rules.md is not this table; IPCOST_WRITE_DOCS=1 writes it");
    }

    #[test]
    fn codes_are_unique_and_entries_complete() {
        let mut codes: Vec<&str> = all().map(|rule| rule.code).collect();
        let count = codes.len();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), count);
        for rule in all() {
            assert!(rule.why.ends_with('.') && !rule.about.ends_with('.'), "{}", rule.code);
            assert!(!rule.from.is_empty() && !rule.basis.is_empty(), "{}", rule.code);
        }
    }
}
