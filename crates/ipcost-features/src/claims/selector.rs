//! Naming a cell by what distinguishes it.

use std::collections::BTreeMap;
use std::fmt;

use ipcost_model::{
    CellRecord, OptionValue, Placement, PlannedCell, Point, PointProperty, Quantity, unknown,
};
use serde::de::{DeserializeSeed, Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::FeatureError;

/// Names one cell of a run by what distinguishes it: a label, columns of the cell, options.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Selector {
    pub label: Option<String>,
    /// Values of [`Point::COLUMNS`], in their order.
    pub columns: Vec<(&'static str, String)>,
    /// Whether it has no options.
    pub plain: bool,
    pub options: BTreeMap<String, OptionValue>,
    /// What is taken of it.
    pub measure: Option<Quantity>,
}

/// What is not a column.
const OTHERS: [&str; 4] = ["label", "plain", "options", "measure"];

fn columns() -> impl Iterator<Item = PointProperty> {
    Point::COLUMNS.into_iter().filter(|column| !OTHERS.contains(&column.name))
}

impl<'de> Deserialize<'de> for Selector {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(SelectorVisitor)
    }
}

struct SelectorVisitor;

impl<'de> Visitor<'de> for SelectorVisitor {
    type Value = Selector;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table such as { transport = \"unix\", size = 64 }")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Selector, A::Error> {
        let mut selector = Selector::default();
        let mut given = BTreeMap::new();
        // Keys and values are checked as they are read, so that an error has their place in the file.
        while let Some(SelectorKey(key)) = map.next_key()? {
            match key {
                "label" => selector.label = Some(map.next_value()?),
                "plain" => selector.plain = map.next_value()?,
                "options" => selector.options = map.next_value()?,
                "measure" => selector.measure = Some(map.next_value()?),
                name => {
                    let column = columns().find(|column| column.name == name).expect("keys are checked");
                    given.insert(name, map.next_value_seed(ValueOf(column))?);
                }
            }
        }
        selector.columns =
            columns().filter_map(|column| Some((column.name, given.remove(column.name)?))).collect();
        Ok(selector)
    }
}

struct SelectorKey(&'static str);

impl<'de> Deserialize<'de> for SelectorKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        let known: Vec<&'static str> = columns().map(|column| column.name).chain(OTHERS).collect();
        match known.iter().find(|known| **known == name) {
            Some(known) => Ok(Self(known)),
            None => Err(D::Error::custom(unknown("key", &name, known))),
        }
    }
}

/// A number or a text, as the column writes it.
struct ValueOf(PointProperty);

impl<'de> DeserializeSeed<'de> for ValueOf {
    type Value = String;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<String, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Value {
            Number(u64),
            Text(String),
        }
        let text = match Value::deserialize(deserializer)? {
            Value::Number(number) => number.to_string(),
            Value::Text(text) => text,
        };
        (self.0.read)(&text).map_err(D::Error::custom)
    }
}

impl Selector {
    fn fits(&self, label: &str, point: &Point) -> bool {
        self.label.as_ref().is_none_or(|wanted| wanted == label)
            && self.columns.iter().all(|(name, value)| {
                Point::COLUMNS.iter().any(|column| column.name == *name && (column.value)(point) == *value)
            })
            && (!self.plain || point.options.iter().next().is_none())
            && self.options.iter().all(|(name, value)| {
                point.options.iter().any(|(option, has)| option.spec().name == name && has == value)
            })
    }

    /// The one cell that it names; of several, the plainest: where the scheduler chooses, and with the fewest options.
    pub(crate) fn find(&self, cells: &[PlannedCell]) -> Result<usize, FeatureError> {
        self.find_any(cells)?.ok_or_else(|| FeatureError::NoCell(self.to_string()))
    }

    /// [`Selector::find`], where there may be none.
    pub(crate) fn find_any(&self, cells: &[PlannedCell]) -> Result<Option<usize>, FeatureError> {
        self.plainest(cells, |cell| (&cell.id, &cell.label, &cell.point))
    }

    /// [`Selector::find_any`] among the cells of a document.
    pub(crate) fn find_record(&self, cells: &[CellRecord]) -> Result<Option<usize>, FeatureError> {
        self.plainest(cells, |cell| (&cell.id, &cell.label, &cell.point))
    }

    fn plainest<C>(
        &self,
        cells: &[C],
        parts: impl Fn(&C) -> (&String, &String, &Point),
    ) -> Result<Option<usize>, FeatureError> {
        let plainness = |index: &usize| {
            let (_, _, point) = parts(&cells[*index]);
            (point.placement != Placement::Free, point.options.iter().count())
        };
        let fits = |index: &usize| {
            let (_, label, point) = parts(&cells[*index]);
            self.fits(label, point)
        };
        let mut found: Vec<usize> = (0..cells.len()).filter(fits).collect();
        found.sort_by_key(plainness);
        match found[..] {
            [] => Ok(None),
            [one, other, ..] if plainness(&one) == plainness(&other) => {
                let [one, other] = [one, other].map(|index| parts(&cells[index]).0.clone());
                Err(FeatureError::SelectsTwo { selector: self.to_string(), one, other })
            }
            [plainest, ..] => Ok(Some(plainest)),
        }
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let label = self.label.iter().map(|label| format!("label {label}"));
        let columns = self.columns.iter().map(|(name, value)| format!("{name} {value}"));
        let plain = self.plain.then(|| "without options".to_owned());
        let options = self.options.iter().map(|(name, value)| format!("{name}={value}"));
        let parts: Vec<String> = label.chain(columns).chain(plain).chain(options).collect();
        f.write_str(&if parts.is_empty() { "anything".to_owned() } else { parts.join(", ") })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_column_names_a_cell_and_a_wrong_key_or_value_is_named() {
        let selector: Selector =
            toml::from_str("size = \"4KiB\"\ntransport = \"unix\"\nplacement = \"apart\"").unwrap();
        assert_eq!(selector.to_string(), "transport unix, size 4096, placement apart");
        for (wrong, part) in [
            ("sizes = 4", "did you mean \"size\""),
            ("pattern = \"connec\"", "did you mean \"connect\""),
            ("size = \"x\"", "x"),
        ] {
            let error = toml::from_str::<Selector>(wrong).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }
}
