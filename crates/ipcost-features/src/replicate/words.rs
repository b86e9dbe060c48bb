//! The words of a ledger: what is known of its claims, and what else is to be said of them.

use std::ops::Deref;

use ipcost_model::units::{counted, duration_of, duration_text};
use ipcost_model::{Document, escaped};

use crate::replicate::{ReplicatedClaim, ReplicatedRun, ReplicationRecord, claim_words};
use ipcost_model::ClaimVerdict;

/// What was run, how long it took, and where.
pub(super) fn how(run: &ReplicatedRun) -> String {
    let under = run.condition.as_ref().map_or_else(String::new, |condition| format!(", {condition}"));
    if run.epochs == 0 {
        return format!("{}: {}{under}; not measured", run.software, run.about);
    }
    let took = duration_text(duration_of(run.elapsed_s));
    let network = if run.own_network { ", in a network of its own" } else { "" };
    format!("{}: {}{under}; {} in {took}{network}", run.software, run.about, counted(run.epochs, "epoch"))
}

/// Which congestion control TCP uses here, where a claim is about TCP: streams turn on it.
pub(super) fn congestion(record: &ReplicationRecord, document: &Document) -> Option<String> {
    let mut tests = record.claims.iter().flat_map(|claim| &claim.tests);
    let about_tcp = tests.any(|test| test.about.to_lowercase().contains("tcp"));
    let name = document.host.tcp_congestion().filter(|_| about_tcp)?;
    Some(format!("TCP here: under {}, unless a condition says otherwise.", escaped(name)))
}

/// What a table of tests has no room for: why a test decides nothing, and system calls by name.
pub(super) fn remarks(claim: &ReplicatedClaim) -> Vec<String> {
    let contradicted = claim.tests.iter().filter_map(|test| {
        let otherwise = test.contradicted.as_ref()?;
        Some(format!("{} decides nothing: the article's own method says otherwise, {otherwise}", test.about))
    });
    let details = claim.tests.iter().filter_map(|test| {
        let detail = test.detail.as_ref()?;
        Some(format!("{} ({}): {detail}: {}", test.about, test.software, test.word))
    });
    contradicted.chain(details).collect()
}

/// What is to be said of a claim besides what is known of it, each with what it is.
pub(super) fn notes(claim: &ReplicatedClaim) -> Vec<(&'static str, String)> {
    let factors: Vec<String> = claim.on.iter().map(|on| claim_words::factor_name(on)).collect();
    let depends = if factors.len() > 1 { ipcost_model::and_joined(&factors) } else { String::new() };
    let is_undecided = claim.word.is_open() || claim.word == ClaimVerdict::NotTested;
    let all = [
        ("here", Some(claim.sentence.as_str())),
        ("depends on", Some(depends.as_str())),
        ("published", claim.published.as_deref()),
        ("what differs", claim.why.as_deref()),
        ("what to do", claim.advice.as_deref()),
        ("behind it", claim.behind.as_deref()),
        ("to decide it", claim.takes.as_deref().filter(|_| is_undecided)),
    ];
    all.into_iter()
        .filter_map(|(what, note)| Some((what, note?.to_owned())))
        .filter(|(_, note)| !note.is_empty())
        .collect()
}

/// What is known of a claim, with what it depends on and what that is limited to.
pub(super) fn word(claim: &ReplicatedClaim) -> String {
    let is_known = !matches!(claim.word, ClaimVerdict::Open | ClaimVerdict::NotTested);
    let limit = claim.limit.as_deref().filter(|_| is_known);
    let limit = limit.map_or_else(String::new, |limit| format!(" {limit}"));
    format!("{}{limit}", brief(claim))
}

/// What is known of a claim, with what it depends on.
pub(super) fn brief(claim: &ReplicatedClaim) -> String {
    match (claim.word, claim.size, claim.on.first()) {
        (ClaimVerdict::Depends, _, Some(on)) => format!("depends on {}", claim_words::factor_name(on)),
        // Of two things that it asserts, one is so, and the other is not.
        (ClaimVerdict::Depends, _, None) => "holds in part".to_owned(),
        (ClaimVerdict::Holds, Some(size), _) if size != ClaimVerdict::Holds => {
            "holds in direction".to_owned()
        }
        (word, ..) => word.to_string(),
    }
}

/// How many claims hold, fail and so on, and how long that took.
pub(super) fn counts(records: &[impl Deref<Target = ReplicationRecord>]) -> String {
    let claims = || records.iter().flat_map(|record| &record.claims);
    let verdicts: Vec<ClaimVerdict> = claims().map(|claim| claim.word).collect();
    let fields = || records.iter().filter_map(|record| record.fields);
    let (decided, of) = fields().fold((0, 0), |sum, it| (sum.0 + it.decided, sum.1 + it.of));
    let decided = match of {
        0 => String::new(),
        of => {
            format!("{decided} of {of} comparisons decided, of which at most 5 % are expected to be wrong; ")
        }
    };
    let took: f64 = records.iter().flat_map(|record| &record.runs).map(|run| run.elapsed_s).sum();
    format!(
        "{}; {decided}measured in {}.",
        ClaimVerdict::summary(verdicts.iter().copied()),
        duration_text(duration_of(took))
    )
}
