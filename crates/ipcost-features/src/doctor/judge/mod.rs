//! From facts about a machine to findings: what bends results here, and what to do about it.
//!
//! A [`Check`] is an entry of one table: what it looks at, why that matters, and a pure function of the facts.
//! Whatever a machine does not tell gives no finding and no guess.

mod limits;
mod network;
mod permissions;
mod processor;
mod scheduler;
#[cfg(test)]
mod tests;
mod tools;

use ipcost_lab::rules::Rule;
use ipcost_model::facts::MachineFacts;

use crate::doctor::{Finding, State, Topic};

/// One thing that is looked at.
#[derive(Debug, Clone, Copy)]
pub struct DoctorCheck {
    /// The rule, which says what is looked at and why.
    pub rule: Rule,
    /// What the facts come to; nothing where they are not known.
    judge: fn(&MachineFacts) -> Vec<CheckResult>,
}

const fn check(rule: &Rule, judge: fn(&MachineFacts) -> Vec<CheckResult>) -> DoctorCheck {
    DoctorCheck { rule: *rule, judge }
}

/// Every check with its topic, in the order of the report.
pub fn checks() -> impl Iterator<Item = (Topic, &'static DoctorCheck)> {
    [
        (Topic::Processor, processor::CHECKS),
        (Topic::Scheduler, scheduler::CHECKS),
        (Topic::Limits, limits::CHECKS),
        (Topic::Network, network::CHECKS),
        (Topic::Permissions, permissions::CHECKS),
        (Topic::Tools, tools::CHECKS),
    ]
    .into_iter()
    .flat_map(|(topic, checks)| checks.iter().map(move |check| (topic, check)))
}

/// What the facts come to, and the codes of what is not known.
pub fn examine(facts: &MachineFacts) -> (Vec<Finding>, Vec<String>) {
    let (mut findings, mut unknown) = (Vec::new(), Vec::new());
    for (topic, check) in checks() {
        let answers = (check.judge)(facts);
        if answers.is_empty() {
            unknown.push(check.rule.code.to_owned());
        }
        findings.extend(answers.into_iter().map(|answer| answer.finding(topic, check)));
    }
    (findings, unknown)
}

/// What a check answers: a finding without what is the same for all machines.
#[derive(Debug, Clone)]
struct CheckResult {
    state: State,
    found: String,
    aside: Option<String>,
    command: Option<String>,
    advice: Option<String>,
}

impl CheckResult {
    fn new(state: State, found: impl Into<String>) -> Self {
        Self { state, found: found.into(), aside: None, command: None, advice: None }
    }

    fn good(found: impl Into<String>) -> Self {
        Self::new(State::Good, found)
    }

    fn note(found: impl Into<String>) -> Self {
        Self::new(State::Note, found)
    }

    fn bends(found: impl Into<String>) -> Self {
        Self::new(State::Bends, found)
    }

    fn missing(found: impl Into<String>) -> Self {
        Self::new(State::Missing, found)
    }

    fn command(self, command: impl Into<String>) -> Self {
        Self { command: Some(command.into()), ..self }
    }

    fn advice(self, advice: impl Into<String>) -> Self {
        Self { advice: Some(advice.into()), ..self }
    }

    fn finding(self, topic: Topic, check: &DoctorCheck) -> Finding {
        Finding {
            code: check.rule.code.to_owned(),
            topic,
            state: self.state,
            found: self.found,
            aside: self.aside,
            why: check.rule.why.to_owned(),
            command: self.command,
            advice: self.advice,
        }
    }
}

impl From<CheckResult> for Vec<CheckResult> {
    fn from(answer: CheckResult) -> Self {
        vec![answer]
    }
}

/// A judge's answer from something that may not be known.
fn known<T>(fact: Option<T>, judge: impl FnOnce(T) -> CheckResult) -> Vec<CheckResult> {
    fact.map(judge).into_iter().collect()
}
