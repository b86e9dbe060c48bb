//! `[figure]` of a replication: where its published values are, and which cells are measured for them.

use std::collections::BTreeMap;

use ipcost_model::{FigureKind, FigurePlace, FigureUnit};
use serde::Deserialize;
use serde_json::Value;

use super::super::System;
use crate::FeatureError;
use crate::claims::Selector;

/// The picture of a published experiment.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FigureSpec {
    pub title: String,
    /// How the article drew it, or would have.
    pub kind: FigureKind,
    /// Of the values, unless a panel has its own.
    pub unit: FigureUnit,
    /// Whether the axis of values is logarithmic.
    #[serde(default)]
    pub logarithmic: bool,
    /// What its places are.
    pub across: String,
    /// What readers have to know about the values, in a sentence.
    #[serde(default)]
    pub note: Option<String>,
    pub panels: Vec<PanelSpec>,
}

/// A part of the picture.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "PanelTable")]
pub struct PanelSpec {
    pub title: String,
    /// Of its values, unless they have the figure's.
    pub unit: Option<FigureUnit>,
    /// Its places, from left to right.
    pub places: Vec<FigurePlace>,
    pub series: Vec<FigureSeries>,
}

/// Values that belong together.
#[derive(Debug, Clone, PartialEq)]
pub struct FigureSeries {
    pub label: String,
    /// The systems on which it is shown; all where none is named.
    pub os: Vec<System>,
    /// A point for each place of the panel.
    pub points: Vec<FigurePoint>,
}

/// A value of a series.
#[derive(Debug, Clone, PartialEq)]
pub struct FigurePoint {
    /// Where the published value is, as a JSON pointer into `results`: a number, or a list of repetitions, of which the
    /// median counts.
    pub published: Option<String>,
    /// The cell that is measured for it, and its quantity.
    pub cell: Selector,
    /// The published value is the time of so many operations of each worker; of one where it is not said.
    pub operations_per_worker: Option<u64>,
}

impl FigureSpec {
    /// Keeps what belongs to a system.
    pub fn retain(&mut self, belongs: &impl Fn(&[System]) -> bool) {
        for panel in &mut self.panels {
            panel.series.retain(|series| belongs(&series.os));
        }
    }
}

/// A panel as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PanelTable {
    #[serde(default)]
    title: String,
    #[serde(default)]
    unit: Option<FigureUnit>,
    /// The key of selectors in which its places differ; `values` has what they have there.
    #[serde(default)]
    differ_in: Option<String>,
    #[serde(default)]
    values: Vec<Value>,
    /// The names of its places, if they are not the values.
    #[serde(default)]
    labels: Vec<String>,
    series: Vec<SeriesTable>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SeriesTable {
    label: String,
    #[serde(default)]
    os: Vec<System>,
    /// A pointer to a list with a number for each place, or a list of pointers, one for each place.
    #[serde(default)]
    published: Option<Pointers>,
    /// What its cells have in common.
    cell: BTreeMap<String, Value>,
    #[serde(default)]
    operations_per_worker: Option<u64>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Pointers {
    List(String),
    Each(Vec<String>),
}

impl TryFrom<PanelTable> for PanelSpec {
    type Error = FeatureError;

    fn try_from(table: PanelTable) -> Result<Self, FeatureError> {
        let PanelTable { title, unit, differ_in, values, labels, series } = table;
        if differ_in.is_some() == values.is_empty() {
            return Err(FeatureError::ValuesAlone);
        }
        if !labels.is_empty() && labels.len() != values.len() {
            return Err(FeatureError::Labels { labels: labels.len(), values: values.len() });
        }
        let shown = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let place = |(index, value): (usize, &Value)| FigurePlace {
            label: labels.get(index).cloned().unwrap_or_else(|| shown(value)),
            at: value.as_f64(),
        };
        let mut places: Vec<FigurePlace> = values.iter().enumerate().map(place).collect();
        if places.is_empty() {
            // All of its series have one value.
            places.push(FigurePlace { label: String::new(), at: None });
        }
        let series = series.into_iter().map(|series| series.resolved(differ_in.as_deref(), &values));
        Ok(Self { title, unit, places, series: series.collect::<Result<_, _>>()? })
    }
}

impl SeriesTable {
    fn resolved(self, differ_in: Option<&str>, values: &[Value]) -> Result<FigureSeries, FeatureError> {
        let count = values.len().max(1);
        if let Some(Pointers::Each(pointers)) = &self.published
            && pointers.len() != count
        {
            let wrong = FeatureError::Pointers { pointers: pointers.len(), places: count };
            return Err(wrong.at(self.label));
        }
        let point = |index: usize| -> Result<FigurePoint, FeatureError> {
            let mut cell = self.cell.clone();
            if let Some((key, value)) = differ_in.zip(values.get(index)) {
                cell.insert(key.to_owned(), value.clone());
            }
            let cell = serde_json::to_value(cell).and_then(serde_json::from_value);
            let published = match &self.published {
                Some(Pointers::List(list)) => Some(format!("{list}/{index}")),
                Some(Pointers::Each(pointers)) => pointers.get(index).cloned(),
                None => None,
            };
            Ok(FigurePoint {
                published,
                cell: cell.map_err(|error| FeatureError::Json(error).at(&self.label))?,
                operations_per_worker: self.operations_per_worker,
            })
        };
        let points = (0..count).map(point).collect::<Result<_, _>>()?;
        Ok(FigureSeries { label: self.label, os: self.os, points })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SERIES: &str = "[[series]]\nlabel = \"unix\"\ncell = { transport = \"unix\" }\n";

    #[test]
    fn a_series_has_a_point_for_each_place() {
        let text = format!("differ_in = \"size\"\nvalues = [1, 64]\n{SERIES}published = \"/unix\"");
        let panel: PanelSpec = toml::from_str(&text).unwrap();
        let points: Vec<(Option<&str>, String)> = panel.series[0]
            .points
            .iter()
            .map(|point| (point.published.as_deref(), point.cell.to_string()))
            .collect();
        assert_eq!(
            points,
            [
                (Some("/unix/0"), "transport unix, size 1".to_owned()),
                (Some("/unix/1"), "transport unix, size 64".to_owned())
            ]
        );
        assert_eq!((panel.places[1].label.as_str(), panel.places[1].at), ("64", Some(64.0)));
    }

    #[test]
    fn mistakes_are_named() {
        for (text, part) in [
            (format!("values = [1]\n{SERIES}"), "belong together"),
            (format!("differ_in = \"sise\"\nvalues = [1]\n{SERIES}"), "did you mean \"size\""),
            (
                format!("differ_in = \"size\"\nvalues = [1]\nlabels = [\"a\", \"b\"]\n{SERIES}"),
                "2 labels for 1",
            ),
            (format!("{SERIES}published = [\"/a\", \"/b\"]"), "2 pointers for 1"),
            (format!("{SERIES}publisht = \"/a\""), "publisht"),
        ] {
            let error = toml::from_str::<PanelSpec>(&text).unwrap_err();
            assert!(error.message().contains(part), "{error}");
        }
    }
}
