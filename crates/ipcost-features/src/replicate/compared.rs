//! What a test compares, and at which load: its place in the table of a claim.

use std::collections::BTreeMap;

use ipcost_model::{Pattern, PlannedCell, Point, Quantity};
use serde::{Deserialize, Serialize};

use super::named_cells::{cells_of, quantity_of};
use super::table::{about_size, load_text};
use super::{ClaimTest, Condition, Replication, figure};
use crate::claims::Selector;

/// What a test compares: two sides under the same load, or one alone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Compared {
    /// The numerator, by what tells it from the other side: a transport, options, a program.
    pub a: String,
    /// The denominator; null where one side is judged alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub b: Option<String>,
    /// How messages go.
    pub pattern: Pattern,
    /// What of the load all sides have in common: `size` in bytes, `concurrency`, `pipeline`.
    pub load: BTreeMap<String, u64>,
    /// Whether a real server answers, with work of its own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub real_server: bool,
    /// The ratio by the article's own figures, where it has both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<f64>,
}

/// What a condition sets, by name: `placement`, options, `peers`.
pub type ConditionSettings = BTreeMap<String, String>;

/// What the condition of a claim sets.
pub(super) fn settings(condition: &Condition) -> ConditionSettings {
    let placement = condition.placement.map(|placement| ("placement".to_owned(), placement.to_string()));
    let options = condition.options.iter().map(|(name, value)| (name.to_string(), value.to_string()));
    let peers: Vec<&str> = condition.peers.values().map(String::as_str).collect();
    let peers = (!peers.is_empty()).then(|| ("peers".to_owned(), peers.join(", ")));
    placement.into_iter().chain(options).chain(peers).collect()
}

/// What an experiment says of its cells.
pub(super) struct Article<'a> {
    cells: &'a [PlannedCell],
    /// Costs by its own figures, in any unit: the cell, the quantity, the cost.
    costs: Vec<(usize, Quantity, f64)>,
    /// The names of its real servers.
    servers: Vec<&'a str>,
}

impl<'a> Article<'a> {
    /// Of the published cells of a run.
    pub(super) fn of(replication: &'a Replication, cells: &'a [PlannedCell]) -> Self {
        let peers = replication.runs.iter().flat_map(|run| run.peers.keys());
        Self {
            cells,
            costs: figure::published_costs(replication, cells),
            servers: peers.map(String::as_str).collect(),
        }
    }

    /// Of messages of one size, a byte costs as much as a message, relative to another.
    fn cost(&self, cell: usize, quantity: &Quantity, is_of_one_size: bool) -> Option<f64> {
        let is_same = |of: &Quantity| match is_of_one_size {
            true => of.measure == quantity.measure,
            false => of == quantity,
        };
        self.costs.iter().find(|(known, of, _)| *known == cell && is_same(of)).map(|(.., cost)| *cost)
    }
}

impl Compared {
    /// What a test compares among published cells; `None` where it names none of them.
    pub(super) fn of(test: &ClaimTest, article: &Article<'_>) -> Option<Self> {
        let cells = article.cells;
        // Calls are compared by name, whatever the load.
        if test.same_system_calls {
            return None;
        }
        let found = cells_of(test, cells)?;
        let loads: Vec<BTreeMap<String, u64>> =
            found.iter().map(|index| load(&cells[*index].point)).collect();
        let mut common = loads[0].clone();
        common.retain(|name, value| loads.iter().all(|load| load.get(name) == Some(value)));
        let a = &cells[found[0]];
        // Of four cells, the first two are one gain, and the last two the other.
        let (name_a, name_b) = match (&found[..], &test.b) {
            ([_, index], Some(side)) => {
                // Labels are names already.
                let labels = test.a.label.clone().zip(side.label.clone());
                let quantities = [quantity_of(test, &test.a), quantity_of(test, side)];
                let (a, b) = labels.unwrap_or_else(|| names(a, &cells[*index], &quantities));
                (a, Some(b))
            }
            _ => (a.point.transport.clone(), None),
        };
        let published = match (&test.b, &found[..]) {
            (Some(b), [of_a, of_b]) => {
                let is_of_one_size = common.contains_key("size");
                let cost = |cell: usize, side: &Selector| {
                    article.cost(cell, &quantity_of(test, side), is_of_one_size)
                };
                cost(*of_a, &test.a).zip(cost(*of_b, b)).map(|(a, b)| a / b)
            }
            _ => None,
        };
        let real_server = article.servers.contains(&a.point.server.as_str());
        Some(Self { a: name_a, b: name_b, pattern: a.point.pattern, load: common, real_server, published })
    }
}

fn load(point: &Point) -> BTreeMap<String, u64> {
    let pipeline = point.options.pipeline().map(|pipeline| ("pipeline".to_owned(), pipeline));
    let own = [("size", point.size), ("concurrency", u64::from(point.concurrency))];
    own.into_iter().map(|(name, value)| (name.to_owned(), value)).chain(pipeline).collect()
}

/// What tells two cells apart, each in its own words: the first of the things in which readers would name them.
fn names(a: &PlannedCell, b: &PlannedCell, quantities: &[Quantity; 2]) -> (String, String) {
    let set = |of: &PlannedCell, other: &PlannedCell| -> Vec<(String, String)> {
        let own = of.point.options.iter().filter(|(name, value)| {
            !other.point.options.iter().any(|(known, other)| (known, other) == (*name, *value))
        });
        own.map(|(name, value)| (name.to_string(), value.to_string())).collect()
    };
    let listed = |set: &[(String, String)]| {
        let all: Vec<String> = set.iter().map(|(name, value)| format!("{name}={value}")).collect();
        if all.is_empty() { "default".to_owned() } else { all.join(" ") }
    };
    let options = match (&set(a, b)[..], &set(b, a)[..]) {
        // The name of the option is said once.
        ([(name, of_a)], [(other, of_b)]) if name == other => (format!("{name} {of_a}"), of_b.clone()),
        (of_a, of_b) => (listed(of_a), listed(of_b)),
    };
    // Loads of several transports may be compared, each with its own.
    let of_transport = |load: String, other: String| match load == other {
        true => (load, other),
        false => (format!("{} {load}", a.point.transport), other),
    };
    let pairs = [
        (a.point.transport.clone(), b.point.transport.clone()),
        of_transport(about_size(a.point.size), about_size(b.point.size)),
        of_transport(
            load_text("concurrency", a.point.concurrency.into()),
            load_text("concurrency", b.point.concurrency.into()),
        ),
        (a.point.client.clone(), b.point.client.clone()),
        (a.point.server.clone(), b.point.server.clone()),
        options,
        (quantities[0].to_string(), quantities[1].to_string()),
        (a.point.placement.to_string(), b.point.placement.to_string()),
    ];
    pairs.into_iter().find(|(a, b)| a != b).unwrap_or_else(|| (a.label.clone(), b.label.clone()))
}
