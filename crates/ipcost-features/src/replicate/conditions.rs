//! Conditions that an article left open or fixed, set otherwise: the same cells on one core or on two, with or without an
//! option. Each is measured in a run of its own, against itself.

use std::collections::BTreeMap;
use std::time::Duration;

use ipcost_model::job::duration;
use ipcost_model::{
    Matrix, ModelError, OptionName, OptionValue, Placement, PlannedCell, Point, parse_cell_id,
};
use serde::Deserialize;

use crate::FeatureError;

use super::{ClaimTest, Replication, Software, System};

/// A condition under which cells are measured besides what was published.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Condition {
    /// In words that follow a verdict, such as `on one core`.
    pub name: String,
    /// Where the processes run, if the article let the scheduler choose.
    #[serde(default)]
    pub placement: Option<Placement>,
    /// Peers in place of others: servers with other settings, or other ways to ask them.
    #[serde(default)]
    pub peers: BTreeMap<String, String>,
    /// Options of the cells that they act on.
    #[serde(default)]
    pub options: BTreeMap<OptionName, OptionValue>,
    /// How long a batch is meant to last; at most 100 ms if the article's run says more.
    #[serde(default, with = "duration")]
    pub batch: Option<Duration>,
    /// The systems on which it is measured; all where none is named.
    #[serde(default)]
    pub os: Vec<System>,
}

impl Condition {
    /// The published cell under this condition.
    pub fn of(&self, published: &Point) -> Point {
        let mut point = published.clone();
        if let Some(placement) = self.placement.filter(|_| point.placement == Placement::Free) {
            point.placement = placement;
        }
        for peer in [&mut point.client, &mut point.server] {
            if let Some(other) = self.peers.get(peer) {
                peer.clone_from(other);
            }
        }
        let acting: Vec<OptionName> = self.acting(&point).collect();
        for name in acting {
            point.options.insert(name, self.options[&name].clone());
        }
        point
    }

    /// The options that act on a cell.
    fn acting(&self, point: &Point) -> impl Iterator<Item = OptionName> {
        let transport = ipcost_sys::transport::find(&point.transport);
        let acts = move |name: &OptionName| {
            transport.is_some_and(|known| name.spec().acts_on(known.capabilities(), point.pattern))
        };
        self.options.keys().copied().filter(acts)
    }

    fn acts_on(&self, point: &Point) -> bool {
        self.acting(point).next().is_some()
    }
}

/// As published, which is `None`, then under each condition.
pub(super) fn published_and<'a>(conditions: &[&'a Condition]) -> impl Iterator<Item = Option<&'a Condition>> {
    std::iter::once(None).chain(conditions.iter().copied().map(Some))
}

/// A published cell as it was published, or under a condition.
pub(super) fn point_under(condition: Option<&Condition>, published: &Point) -> Point {
    condition.map_or_else(|| published.clone(), |condition| condition.of(published))
}

/// Whether a test is decided under conditions, too: system calls are the same under each, and what decides nothing is
/// measured as published only.
pub(super) fn is_conditional(test: &ClaimTest, software: Software) -> bool {
    test.decides_by_interval() && test.under_conditions && test.is_for(software)
}

/// The cells of a test among the published ones, if the condition changes one of them, and an option of it, if it has any, acts on one:
/// what it does besides, such as to place them, another condition does alone.
pub(super) fn cells_under<'a>(
    condition: &Condition,
    test: &ClaimTest,
    published: &'a [PlannedCell],
) -> Option<Vec<&'a PlannedCell>> {
    let cells: Vec<&PlannedCell> = test
        .sides()
        .map(|side| side.find(published).ok().map(|index| &published[index]))
        .collect::<Option<_>>()?;
    let changes = cells.iter().any(|cell| condition.of(&cell.point) != cell.point);
    let acts = condition.options.is_empty() || cells.iter().any(|cell| condition.acts_on(&cell.point));
    (changes && acts).then_some(cells)
}

/// The cells that a condition needs for the claims of a replication, each as a matrix of its own.
pub fn cells(
    replication: &Replication,
    condition: &Condition,
    software: Software,
    published: &[PlannedCell],
) -> Result<Vec<Matrix>, FeatureError> {
    let mut found: Vec<Matrix> = Vec::new();
    for test in replication.claims.iter().flat_map(|claim| &claim.tests) {
        if !is_conditional(test, software) {
            continue;
        }
        for cell in cells_under(condition, test, published).into_iter().flatten() {
            let point = condition.of(&cell.point);
            let parsed = parse_cell_id(&point.id())?;
            let matrix = Matrix { lead_in: cell.lead_in, ..parsed };
            if !found.contains(&matrix) {
                found.push(matrix);
            }
        }
    }
    if found.is_empty() {
        return Err(FeatureError::ConditionIdle(condition.name.clone()));
    }
    Ok(found)
}

/// Checks the conditions of a replication by themselves.
pub(super) fn check(replication: &Replication) -> Result<(), FeatureError> {
    for (index, condition) in replication.conditions.iter().enumerate() {
        let name = &condition.name;
        if condition.placement.is_none() && condition.options.is_empty() && condition.peers.is_empty() {
            return Err(FeatureError::ConditionEmpty(name.clone()));
        }
        for (option, value) in &condition.options {
            let wrong = |reason: ModelError| FeatureError::from(reason).at(format!("condition \"{name}\""));
            option.spec().check(value.clone()).map_err(wrong)?;
        }
        if replication.conditions[..index].iter().any(|other| other.name == *name) {
            return Err(FeatureError::ConditionTwice(name.clone()));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_is_none_of_a_test_on_which_its_options_do_not_act() {
        let job = ipcost_model::parse_job(
            "[[cells]]\npattern = \"stream\"\ntransport = [\"unix\", \"pipe\", \"tcp\"]\nplacement = \"free\"\n",
        );
        let cells = ipcost_lab::lab::cells_anywhere(&job.unwrap(), &[]).unwrap().cells;
        let cubic = "options = { tcp_congestion = \"cubic\" }";
        let is_under = |options: &str, a: &str| {
            let condition = format!("name = \"x\"\nplacement = \"together\"\n{options}");
            let test = format!(
                "about = \"\"\nbelow = 1.0\na = {{ transport = \"{a}\" }}\nb = {{ transport = \"unix\" }}"
            );
            let (condition, test) = (toml::from_str(&condition).unwrap(), toml::from_str(&test).unwrap());
            cells_under(&condition, &test, &cells).is_some()
        };
        assert!(is_under("", "pipe") && is_under("", "tcp") && is_under(cubic, "tcp"));
        assert!(!is_under(cubic, "pipe"), "both are measured on one core without it");
    }

    #[test]
    fn a_condition_puts_peers_in_the_place_of_others() {
        let condition: Condition =
            toml::from_str("name = \"with a longer queue\"\npeers = { a = \"b\" }").unwrap();
        let published = Point {
            client: "a".to_owned(),
            server: "c".to_owned(),
            ..Point::free(ipcost_model::Cell::new(ipcost_model::Pattern::Rr, "unix", 1))
        };
        let under = condition.of(&published);
        assert_eq!((under.client.as_str(), under.server.as_str()), ("b", "c"));
    }
}
